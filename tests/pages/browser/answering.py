"""Answers the questions of a built page in a browser, as a reader does."""

import importlib
import re
from typing import Any

from playwright.sync_api import expect

from scaling.course.questions import Multiple, Ordering, Question, Single
from scaling.units import GB, hour, ms, us
from tests.paths import BOOK

CHAPTERS = {
    path.stem: re.findall(r"from quizzes import (\w+) as bank", path.read_text(encoding="utf-8"))[0]
    for path in sorted(BOOK.glob("*.ipynb"))
}


def questions(chapter: str) -> tuple[Question, ...]:
    return importlib.import_module(f"quizzes.{CHAPTERS[chapter]}").QUESTIONS


def quiz(page: Any, question: Question) -> Any:
    texts = page.locator(".sw-quiz").all_inner_texts()
    place = next(i for i, text in enumerate(texts) if said(question.prompt) in said(text))
    return page.locator(".sw-quiz").nth(place)


def status(widget: Any) -> str:
    """The feedback that is read, "" for none: the text of what a style hides is there too, but no reader has it."""
    return shown(widget.locator(".sw-status"))


def help_of(widget: Any) -> str:
    """The hints and the solution that are read, "" for none."""
    return shown(widget.locator(".sw-help"))


def shown(part: Any) -> str:
    text = said(part.text_content())
    if text:
        expect(part).to_be_visible()
        assert said(part.inner_text()).replace(" ", "") == text.replace(" ", ""), "a style hides a part of it"
    return said(part.inner_text())


def ready(page: Any, timeout: float = 30_000) -> None:
    """Waits until the widgets of a page have taken the place of their texts, which must then be gone."""
    page.wait_for_selector("html[data-widgets=ready]", state="attached", timeout=timeout)
    expect(page.locator(".scaling-fallback")).to_have_count(0)


def uncover(page: Any) -> None:
    """Show what questions cover, as a reader who skips them would."""
    while (button := page.get_by_role("button", name="show it", exact=True)).count():
        button.first.click()


def said(text: str) -> str:
    return " ".join(text.split())


def order(widget: Any, wanted: tuple[str, ...]) -> None:
    """Put the items in the wanted order with the buttons, as a keyboard user does."""
    for place, item in enumerate(wanted):
        for _ in wanted:
            shown = [text.strip() for text in widget.locator("li > span").all_inner_texts()]
            if shown.index(item) == place:
                break
            widget.get_by_role("button", name=f"Move up: {item}", exact=True).press("Enter")


SIZES = {"%": 0.01, "ms": ms, "us": us, "GB": GB, "USD/h": 1 / hour}


def answer(widget: Any, question: Question, right: bool) -> str:
    """Give a right or a known wrong answer; returns the feedback that it should get."""
    if isinstance(question, Single):
        choice = next(option for option in question.options if option.correct is right)
        widget.locator("[type=radio]").nth(question.options.index(choice)).check()
        feedback = choice.feedback
    elif isinstance(question, Multiple):
        chosen = [i for i, option in enumerate(question.options) if option.correct is right]
        for i in range(len(question.options)):
            widget.locator("[type=checkbox]").nth(i).set_checked(i in chosen)
        feedback = "" if right else question.options[chosen[0]].feedback
    elif isinstance(question, Ordering):
        trap = question.traps[0] if question.traps else None
        wanted = question.items if right else trap.order if trap else question.items[::-1]
        order(widget, wanted)
        feedback = question.right if right else trap.feedback if trap else question.other
    else:
        value = question.answer if right else question.traps[0].value
        size = SIZES.get(question.unit, 1.0)
        widget.locator("[type=text]").fill(f"{value / size!r} {question.unit}")
        feedback = "" if right else question.traps[0].feedback
    widget.locator(".sw-main").click()
    return said(feedback)


def one_of_each(bank: tuple[Question, ...]) -> list[Question]:
    """The last question of each kind; how each of them is graded, `test_quizzes` asks the same grader under Node."""
    return list({type(question): question for question in bank}.values())
