"""Predict first: no cell after a question shows its number in the open."""

import json
import re
from collections.abc import Iterator
from typing import Any

import covers
import pytest

from scaling.course.questions import Numeric
from tests.pages.browser.answering import CHAPTERS, SIZES, questions
from tests.paths import BOOK

REACH = 4  # cells: with their tables and figures about a screen
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")


def visible(cell: dict[str, Any]) -> str:
    """What a cell shows on the site before anything is opened."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return re.sub(r"<details>.*?</details>", "", source, flags=re.S)
    code = source if {"idea", "exercise"} & set(cell["metadata"].get("tags", [])) else ""
    texts = [code]
    for output in cell["outputs"]:
        data = output.get("data", {"text/plain": output.get("text", "")})
        shown = next((data[kind] for kind in ("image/svg+xml", "text/html", "text/plain") if kind in data), "")
        plain = re.sub(r"<(style|script|defs).*?</\1>", "", "".join(shown), flags=re.S)
        texts.append(re.sub(r"<[^>]*>", " ", plain))
    return "\n".join(texts)


def until_heading(cell: dict[str, Any]) -> str:
    """What it shows of the section that it begins in."""
    head, text = covers.heading(cell), visible(cell)
    return text[: text.index(head)] if head else text


def gives_away(text: str, question: Numeric) -> str:
    """The answer as the text prints it, "" where it does not: three digits that agree, or the count with its unit."""
    answer = question.answer / SIZES.get(question.unit, 1.0)
    for found in NUMBER.finditer(text):
        value = float(found[0].replace(",", ""))
        digits = len(found[0].replace(",", "").replace(".", "").lstrip("0"))
        close = abs(value - answer) <= 0.005 * abs(answer)
        named = value == answer and re.match(rf"\s*{re.escape(question.unit)}", text[found.end() :])
        if (close and digits >= 3) or (named and question.unit):
            return found[0]
    return ""


def exposed(cells: list[dict[str, Any]], asked: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Each question, its number, and a cell of its section that shows that number uncovered."""
    for place, cell in enumerate(cells):
        found = re.match(r'quiz\("([\w-]+)"\)', "".join(cell["source"]))
        question = asked.get(found[1]) if found else None
        if not isinstance(question, Numeric):
            continue
        for later in cells[place + 1 : place + 1 + REACH]:
            shown = "" if "quiz" in "".join(later["source"])[:4] else gives_away(until_heading(later), question)
            if shown and question.id not in covers.answered(later):
                yield question.id, shown, later
            if covers.heading(later):
                break


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_no_answer_stands_in_the_open(chapter: str) -> None:
    cells = json.loads((BOOK / f"{chapter}.ipynb").read_text(encoding="utf-8"))["cells"]
    open_ones = [
        f"{shown} answers {id} in cell {cell['id']}: give that cell the tag answers:{id}, and a heading its own cell"
        for id, shown, cell in exposed(cells, {question.id: question for question in questions(chapter)})
    ]
    assert not open_ones, "\n".join(open_ones)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_cell_answers_questions_that_stand_above_it(chapter: str) -> None:
    """Or it would stay covered for ever."""
    asked: set[str] = set()
    for cell in json.loads((BOOK / f"{chapter}.ipynb").read_text(encoding="utf-8"))["cells"]:
        assert set(covers.answered(cell)) <= asked, f"{cell['id']} answers what is not asked above it"
        asked |= set(re.findall(r'^quiz\("([\w-]+)"\)', "".join(cell["source"]), re.M))


def test_neighbours_that_answer_the_same_share_a_cover_and_headings_are_refused() -> None:
    def cell(source: str, *tags: str) -> dict[str, Any]:
        return {"cell_type": "markdown", "metadata": {"tags": list(tags)}, "source": source}

    run = [cell("a", "answers:q"), cell("b", "answers:q"), cell("c"), cell("d", "answers:r", "answers:q")]
    sources = [c["source"] for c in json.loads(covers.covered(json.dumps({"cells": run})))["cells"]]
    opening = '<div class="answers" data-answers="{}">'
    assert sources == [opening.format("q"), "a", "b", "</div>", "c", opening.format("q r"), "d", "</div>"]
    with pytest.raises(ValueError, match="must have no heading"):
        covers.covered(json.dumps({"cells": [cell("text\n\n## Head", "answers:q")]}))
