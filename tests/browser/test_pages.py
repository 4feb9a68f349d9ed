"""The built pages in a real Chromium with the network off: quizzes, figures in the dark, no script, no server."""

import importlib
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scaling.questions import Multiple, Numeric, Ordering, Question, Single
from scaling.units import GB, hour, ms, us

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "book"))
CHAPTERS = {
    path.stem: re.findall(r"from quizzes import (\w+) as bank", path.read_text(encoding="utf-8"))[0]
    for path in sorted((ROOT / "book").glob("*.ipynb"))
}
pytestmark = pytest.mark.browser


def questions(chapter: str) -> tuple[Question, ...]:
    return importlib.import_module(f"quizzes.{CHAPTERS[chapter]}").QUESTIONS


@pytest.fixture
def open_page(chromium: Any, site: str) -> Iterator[Callable[..., Any]]:
    """Opens a page of the site; at the end no request may have gone elsewhere and nothing may have gone wrong."""
    contexts, trouble = [], []

    def watch(page: Any) -> Any:
        page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
        page.on("console", lambda message: trouble.append(message.text) if message.type == "error" else None)
        page.on("request", lambda r: trouble.append(r.url) if r.url.startswith("http") and site not in r.url else None)
        return page

    def open_it(name: str, width: int = 1280, scheme: str = "light", address: str = "", **options: Any) -> Any:
        context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **options)
        contexts.append(context)
        page = watch(context.new_page())
        page.goto(address or f"{site}/book/{name}.html")
        if name in CHAPTERS and options.get("java_script_enabled", True):
            page.wait_for_selector("html[data-widgets=ready]", state="attached")
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert not trouble, trouble


def quiz(page: Any, question: Question) -> Any:
    texts = page.locator(".sw-quiz").all_inner_texts()
    place = next(i for i, text in enumerate(texts) if said(question.prompt) in said(text))
    return page.locator(".sw-quiz").nth(place)


def status(widget: Any) -> str:
    return " ".join(widget.locator(".sw-status").inner_text().split())


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


SIZES = {"ms": ms, "us": us, "GB": GB, "USD/h": 1 / hour}


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


@pytest.fixture(scope="module")
def tab(chromium: Any) -> Iterator[Any]:
    """One page for all chapters: what the site has in common is loaded once."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    tab = context.new_page()
    tab.trouble = []
    tab.on("pageerror", lambda error: tab.trouble.append(f"error: {error}"))
    tab.on("console", lambda message: tab.trouble.append(message.text) if message.type == "error" else None)
    yield tab
    context.close()


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_question_of_each_kind_answered_not_at_all_wrong_and_right(chapter: str, tab: Any, site: str) -> None:
    tab.goto(f"{site}/book/{chapter}.html")
    tab.wait_for_selector("html[data-widgets=ready]", state="attached")
    bank = questions(chapter)
    assert tab.locator(".sw-quiz").count() == len(bank)
    some = one_of_each(bank)
    for question in some:
        widget = quiz(tab, question)
        widget.locator(".sw-main").click()
        assert "Not checked" in status(widget)
        feedback = answer(widget, question, right=False)
        assert "Not yet" in status(widget) and feedback in status(widget)
        feedback = answer(widget, question, right=True)
        assert status(widget).startswith("✓ Right.") and feedback in status(widget)
    assert f"{len(some)} of {len(bank)} answered right" in tab.locator(".sw-progress").inner_text()
    assert tab.trouble == []


def test_answers_are_remembered_until_they_are_cleared(open_page: Callable[..., Any]) -> None:
    page, bank = open_page("07_prefill_disaggregation"), questions("07_prefill_disaggregation")
    answer(quiz(page, bank[0]), bank[0], right=True)
    page.reload()
    page.wait_for_selector("html[data-widgets=ready]", state="attached")
    progress = page.locator(".sw-progress")
    assert status(quiz(page, bank[0])).startswith("✓ Right."), "the answer was not remembered"
    progress.get_by_role("button", name="Clear my answers").click()
    progress.get_by_role("button", name="Keep them").click()
    assert f"1 of {len(bank)}" in progress.inner_text()
    progress.get_by_role("button", name="Clear my answers").click()
    progress.get_by_role("button", name="Yes, clear them").click()
    assert f"0 of {len(bank)}" in progress.inner_text()
    assert status(quiz(page, bank[0])) == ""


NONSENSE = ["", "   ", "abc", "5 apples", "1e999", "9" * 10_000, "<img src=x onerror=alert(1)>", "NaN", "-", "1,2,3,4"]


def test_nonsense_gets_a_friendly_sentence_and_changes_nothing(open_page: Callable[..., Any]) -> None:
    page = open_page("02_memory")
    question = next(q for q in questions("02_memory") if isinstance(q, Numeric))
    widget = quiz(page, question)
    for text in NONSENSE:
        widget.locator("[type=text]").fill(text)
        widget.locator(".sw-main").click()
        assert "Not checked" in status(widget) and 30 < len(status(widget)) < 400, text[:50]
        assert page.locator(".sw-quiz img").count() == 0
    assert "0 of" in page.locator(".sw-progress").inner_text()


def test_hints_then_the_solution(open_page: Callable[..., Any]) -> None:
    page = open_page("03_latency")
    question = questions("03_latency")[0]
    widget = quiz(page, question)
    assert widget.get_by_role("button", name="Show solution").is_disabled()
    for step, hint in enumerate(question.hints, 1):
        widget.get_by_role("button", name=f"Hint {step} of 3").click()
        assert said(hint) in said(widget.locator(".sw-help").inner_text())
    widget.get_by_role("button", name="Show solution").click()
    assert said(question.solution) in said(widget.locator(".sw-help").inner_text())
    widget.get_by_role("button", name="Start again").click()
    assert widget.locator(".sw-help").inner_text() == ""


def test_by_keyboard_alone(open_page: Callable[..., Any]) -> None:
    page = open_page("02_memory")
    question = next(q for q in questions("02_memory") if isinstance(q, Single))
    widget = quiz(page, question)
    widget.get_by_role("radio").first.focus()
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    assert "Right" in status(widget) or "Not yet" in status(widget)


def test_figures_turn_dark_with_the_page(open_page: Callable[..., Any]) -> None:
    look = "e => [getComputedStyle(e).filter, getComputedStyle(e).backgroundColor]"
    light = open_page("03_latency").locator(".cell_output img").first.evaluate(look)
    dark = open_page("03_latency", scheme="dark").locator(".cell_output img").first.evaluate(look)
    assert light[0] == "none" and "invert" in dark[0]


def test_without_javascript_the_question_and_a_folded_solution_are_there(open_page: Callable[..., Any]) -> None:
    page = open_page("07_prefill_disaggregation", java_script_enabled=False)
    for question in questions("07_prefill_disaggregation"):
        block = page.locator(f".scaling-fallback[data-id='{question.id}']")
        assert said(question.prompt) in said(block.inner_text())
        assert not block.locator("details p").is_visible()
        block.locator("summary").click()
        assert said(question.solution) in said(block.inner_text())


def test_from_a_folder_without_a_server(built: Path, open_page: Callable[..., Any]) -> None:
    page = open_page("02_memory", address=(built / "book" / "02_memory.html").as_uri())
    question = questions("02_memory")[0]
    answer(quiz(page, question), question, right=True)
    assert status(quiz(page, question)).startswith("✓ Right.")
    assert page.locator(".katex").count() > 5
