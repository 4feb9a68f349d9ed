"""The banks against a key that was worked out from the questions' texts, and knows nothing of how a bank computes.

A trap that is marked right, or an order that is typed the wrong way round, agrees with its own bank; not with this.
"""

import json
from dataclasses import replace
from typing import Any

import pytest

from scaling.course.questions import Numeric, Option, Ordering, Question
from tests.pages.test_quizzes import TOY_MULTIPLE, TOY_NUMERIC, TOY_ORDERING, Case, every_question, graded
from tests.paths import ROOT

FILE = "tests/data/quiz_answers.json"
KEY: dict[str, Any] = json.loads((ROOT / FILE).read_text(encoding="utf-8"))


def places(words: str, texts: tuple[str, ...]) -> list[int]:
    """Where the words stand; in none but the right one."""
    return [i for i, text in enumerate(texts) if words == text] or [i for i, text in enumerate(texts) if words in text]


def disagreement(question: Question, key: Any) -> str:
    """What a bank and the key say differently of a question; nothing when they agree."""
    if isinstance(question, Numeric):
        typed = f"{key} {question.unit}".strip()
        outcome = graded([Case(question, typed, "right", question.right)])[0]["outcome"]
        return "" if outcome == "right" else f"{typed} is {outcome}, the bank has {question.answer:g} in base units"
    ordering = isinstance(question, Ordering)
    texts = question.items if ordering else tuple(option.text for option in question.options)
    words = key["order"] if ordering else [key] if isinstance(key, str) else key
    found = [places(one, texts) for one in words]
    if wrong := [one for one, at in zip(words, found, strict=True) if len(at) != 1]:
        return f"{wrong} must each be words of one of {texts}"
    mine = [at for (at,) in found]
    theirs = list(range(len(texts))) if ordering else [i for i, o in enumerate(question.options) if o.correct]
    return "" if mine == theirs else f"the key has {[texts[i] for i in mine]}, the bank {[texts[i] for i in theirs]}"


@pytest.mark.parametrize("question", every_question(), ids=lambda question: question.id)
def test_the_bank_agrees_with_the_key(question: Question) -> None:
    assert question.id in KEY, f"work out {question.id} by hand, and write its answer to {FILE}"
    said = disagreement(question, KEY[question.id])
    assert not said, f"{question.id}: {said}; work it out again, and correct the bank or {FILE}"


def test_no_answer_is_left_over() -> None:
    gone = KEY.keys() - {question.id for question in every_question()} - {"about"}
    assert not gone, f"{FILE} answers what is not asked: {sorted(gone)}"


def test_a_wrong_bank_is_seen() -> None:
    turned = tuple(Option(text=o.text, feedback=o.feedback, correct=not o.correct) for o in TOY_MULTIPLE.options)
    right = [option.text for option in TOY_MULTIPLE.options if option.correct]
    assert not disagreement(TOY_MULTIPLE, right) and disagreement(replace(TOY_MULTIPLE, options=turned), right)
    order = {"order": list(TOY_ORDERING.items)}
    assert not disagreement(TOY_ORDERING, order)
    assert disagreement(replace(TOY_ORDERING, items=TOY_ORDERING.items[::-1], traps=()), order)
    assert not disagreement(TOY_NUMERIC, "163.84") and disagreement(TOY_NUMERIC, "81.92")
    assert "must each be words of one" in disagreement(TOY_ORDERING, {"order": ["", *TOY_ORDERING.items[1:]]})
