"""The banks: nothing gives an answer away, every answer is explained, and a key is computed with what its page names.

Each rule is a function that lists what breaks it, so that a bad bank can show that it is able to.
"""

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

from scaling.course.questions import Multiple, Numeric, Option, Ordering, Question, Single
from tests.pages.test_quizzes import (
    NAMES,
    TOY_MULTIPLE,
    TOY_NUMERIC,
    TOY_ORDERING,
    TOY_SINGLE,
    Case,
    every_question,
    graded,
    load,
    pages,
)
from tests.paths import BOOK

# ---- Nothing gives the right option away ----

CHANCE = 0.05  # a count of right options is refused if chance alone gives one as far out less often than this


def tails(chances: Iterable[float], seen: int) -> tuple[float, float]:
    """The probability of `seen` or fewer, and of `seen` or more, among independent events of these chances."""
    counts = [1.0]
    for p in chances:
        counts = [(1 - p) * a + p * b for a, b in zip([*counts, 0.0], [0.0, *counts], strict=True)]
    return sum(counts[: seen + 1]), sum(counts[seen:])


def right_of(question: Single) -> int:
    return next(i for i, option in enumerate(question.options) if option.correct)


def crowded_places(questions: Iterable[Question]) -> list[str]:
    """Places that hold the right option of a single choice more or less often than chance would have it."""
    singles = [question for question in questions if isinstance(question, Single)]
    bad = []
    for place in range(max((len(question.options) for question in singles), default=0)):
        chances = [1 / len(question.options) for question in singles if place < len(question.options)]
        seen = sum(right_of(question) == place for question in singles)
        if min(tails(chances, seen)) < CHANCE:
            bad.append(
                f"place {place + 1} is right in {seen} of {len(chances)} questions; by chance {sum(chances):.1f}"
            )
    return bad


def telling_lengths(questions: Iterable[Question]) -> list[str]:
    """Whether the right option is the longest, or the shortest, more often than chance would have it."""
    singles = [question for question in questions if isinstance(question, Single)]
    bad = []
    for word, extreme in (("longest", max), ("shortest", min)):
        seen, chances = 0, []
        for question in singles:
            sizes = [len(option.text) for option in question.options]
            if sizes.count(extreme(sizes)) == 1:  # where several are, none stands out
                chances.append(1 / len(sizes))
                seen += sizes[right_of(question)] == extreme(sizes)
        if tails(chances, seen)[1] < CHANCE:
            bad.append(
                f"the right option is the {word} in {seen} of {len(chances)} questions; by chance {sum(chances):.1f}"
            )
    pairs = [
        len(right.text) > len(wrong.text)
        for question in questions
        if isinstance(question, Multiple)
        for right in question.options
        for wrong in question.options
        if right.correct and not wrong.correct
    ]
    if pairs and not 0.35 <= sum(pairs) / len(pairs) <= 0.65:
        bad.append(
            f"of a right and a wrong option to tick the right one is longer in {sum(pairs)} of {len(pairs)} pairs"
        )
    return bad


def same_pattern(questions: Iterable[Question]) -> list[str]:
    """Multiple choices in which what to tick lies the same way too often: a third of them at most."""
    patterns = [tuple(o.correct for o in question.options) for question in questions if isinstance(question, Multiple)]
    return [
        f"{patterns.count(pattern)} of {len(patterns)} multiple choices have the right options at the same places"
        for pattern in sorted(set(patterns))
        if patterns.count(pattern) > max(1, len(patterns) / 3)
    ]


# ---- Every answer is explained ----

VERDICT = re.compile(r"(?:correct|incorrect|right|wrong|false|yes|no|true|exactly( so)?)[,.!:;]", re.I)


def feedbacks(question: Question) -> list[str]:
    if isinstance(question, (Single, Multiple)):
        return [option.feedback for option in question.options]
    texts = [question.right, *(trap.feedback for trap in question.traps)]
    return [*texts, question.other] if isinstance(question, Ordering) else texts


def unexplained(question: Question) -> list[str]:
    """Feedback that is missing, said twice, no prose, or only the verdict that the page has said already."""
    texts = feedbacks(question)
    bad = [f"{text!r} has fewer than 3 words" for text in texts if len(text.split()) < 3]
    bad += [f"{text!r} is said twice" for text in sorted({t for t in texts if texts.count(t) > 1})]
    bad += [f"{text!r} opens with a verdict: begin with the reason" for text in texts if VERDICT.match(text)]
    for text in [question.prompt, *question.hints, question.solution, *texts]:
        if re.search(r"\bnan\b|[{}]|\d{9}\.\d|\d\.\d{8}", text) or not text.isprintable():
            bad.append(f"{text!r} holds what is no prose")
    if not isinstance(question, (Single, Multiple)) and not question.traps:
        bad.append("no known mistake has feedback of its own")
    return [f"{question.id}: {what}" for what in bad]


def numbers(text: str) -> list[str]:
    return [found.rstrip(".,") for found in re.findall(r"\d[\d,]*\.?\d*(?:e[+-]?\d+)?", text)]


def given_away(questions: Iterable[Question]) -> list[str]:
    """Hints that hold the answer, in the unit of the question."""
    typed = [
        Case(question, f"{number} {question.unit}", "right", hint)
        for question in questions
        if isinstance(question, Numeric)
        for hint in question.hints
        for number in numbers(hint)
    ]
    return [
        f"{case.question.id}: {case.answer} in {case.feedback!r}"
        for case, verdict in zip(typed, graded(typed), strict=True)
        if verdict["outcome"] == "right"
    ]


def unnamed(source: str, page: str) -> set[str]:
    """Names of `scaling` that a key is computed with directly and that its page neither calls nor mentions."""
    tree = ast.parse(source)
    ours = {alias.asname or alias.name: alias.name for node in ast.walk(tree) for alias in _imported(node)}
    keys = [part for part in ast.walk(tree) if isinstance(part, ast.keyword) and part.arg in KEYS]
    used = {ours.get(part.id) for key in keys for part in ast.walk(key.value) if isinstance(part, ast.Name)}
    return {name for name in used - {None, "number"} if not re.search(rf"\b{name}\b", page)}


KEYS = ("answer", "items", "correct")


def _imported(node: ast.AST) -> list[ast.alias]:
    return node.names if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("scaling") else []


# ---- The banks ----


@pytest.mark.parametrize("rule", [crowded_places, telling_lengths, same_pattern, given_away])
def test_all_banks_together(rule: Callable[[list[Question]], list[str]]) -> None:
    assert rule(every_question()) == []


@pytest.mark.parametrize("name", NAMES)
def test_each_question_is_explained(name: str) -> None:
    assert [said for question in load(name).QUESTIONS for said in unexplained(question)] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_page_names_what_its_questions_are_computed_with(name: str) -> None:
    source = (BOOK / "quizzes" / f"{name}.py").read_text(encoding="utf-8")
    for page in pages(name):
        assert unnamed(source, page.read_text(encoding="utf-8")) == set(), f"show them in {page.name}"


# ---- The rules themselves: each must be able to fail ----


def single(*options: str, right: int) -> Single:
    made = (Option(text=text, feedback=text, correct=i == right) for i, text in enumerate(options))
    return replace(TOY_SINGLE, options=tuple(made))


LONGER = tuple(replace(o, text=o.text + "and more" * o.correct) for o in TOY_MULTIPLE.options)
FAIR = [single("a" * 9, "b" * 3, "c" * 5, right=i % 3) for i in range(12)]
TURNED = replace(TOY_MULTIPLE, options=TOY_MULTIPLE.options[::-1])


@pytest.mark.parametrize(
    ("rule", "good", "bad", "said"),
    [
        (crowded_places, FAIR, [single("a", "b", "c", right=1)] * 12, "place 2 is right in 12 of 12"),
        (crowded_places, FAIR, [single("a", "b", "c", right=i % 2) for i in range(12)], "place 3 is right in 0 of 12"),
        (telling_lengths, FAIR, [single("a", "long", "c", right=1)] * 6, "is the longest in 6 of 6"),
        (telling_lengths, FAIR, [single("long", "b", "term", right=1)] * 6, "is the shortest in 6 of 6"),
        (telling_lengths, FAIR, [replace(TOY_MULTIPLE, options=LONGER)], "the right one is longer in 4 of 4 pairs"),
        (same_pattern, [TOY_MULTIPLE, TURNED], [TOY_MULTIPLE, TOY_MULTIPLE, TURNED], "2 of 3 multiple choices"),
        (given_away, [TOY_NUMERIC], [replace(TOY_NUMERIC, hints=("a", "b", "163.84, or 7."))], "99-n: 163.84 kB in "),
    ],
)
def test_what_gives_an_answer_away_is_seen(
    rule: Callable[[Iterable[Question]], list[str]], good: list[Question], bad: list[Question], said: str
) -> None:
    assert rule(good) == []
    assert said in " ".join(rule(bad))


GOOD = replace(
    TOY_NUMERIC,
    right="Two tensors for each of the layers.",
    traps=(replace(TOY_NUMERIC.traps[0], feedback="Half of it, as the values are missing."),),
)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (replace(GOOD, right="Two tensors."), "fewer than 3 words"),
        (replace(GOOD, right=GOOD.traps[0].feedback), "said twice"),
        (replace(GOOD, right="Correct, it is so."), "opens with a verdict"),
        (replace(GOOD, right="It is nan bytes for all of them."), "no prose"),
        (replace(GOOD, right="It is {x} bytes for all of them."), "no prose"),
        (replace(GOOD, solution="It is 0.30000000000000004 of all the bytes."), "no prose"),
        (replace(GOOD, traps=()), "no known mistake"),
        (replace(TOY_ORDERING, traps=()), "no known mistake"),
    ],
)
def test_an_answer_that_is_not_explained_is_seen(question: Question, said: str) -> None:
    assert unexplained(GOOD) == []
    assert said in " ".join(unexplained(question))


def test_a_function_that_the_page_lacks_is_seen() -> None:
    bank = "from scaling import decode_step as step, plateau\nNumeric(answer=step(d, 1, 8).total, hints=plateau(d))"
    assert unnamed(bank, "decode_step(d, 1, 8)") == set() and unnamed(bank, "decode_steps, plateau") == {"decode_step"}
