"""The built pages in a real Chromium with the network off: quizzes, figures in the dark, no script, no server."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from scaling.course.plots import PALETTE
from scaling.course.questions import Numeric, Single
from tests.pages.browser.answering import CHAPTERS, answer, help_of, questions, quiz, ready, said, status

pytestmark = pytest.mark.browser


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
            ready(page)
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert not trouble, trouble


def test_answers_are_remembered_until_they_are_cleared(open_page: Callable[..., Any]) -> None:
    page, bank = open_page("07_prefill_disaggregation"), questions("07_prefill_disaggregation")
    answer(quiz(page, bank[0]), bank[0], right=True)
    page.reload()
    ready(page)
    progress = page.locator(".sw-progress")
    assert status(quiz(page, bank[0])).startswith("✓ Right."), "the answer was not remembered"
    progress.get_by_role("button", name="Clear my answers").click()
    progress.get_by_role("button", name="Keep them").click()
    assert f"1 of {len(bank)}" in progress.inner_text()
    progress.get_by_role("button", name="Clear my answers").click()
    progress.get_by_role("button", name="Yes, clear them").click()
    assert f"0 of {len(bank)}" in progress.inner_text()
    assert status(quiz(page, bank[0])) == ""


def test_an_answer_is_covered_until_its_question_is_answered_or_skipped(open_page: Callable[..., Any]) -> None:
    page, bank = open_page("02_memory"), {q.id: q for q in questions("02_memory")}
    places = page.locator("[data-answers]")
    first, last = places.first, places.last
    ids = (first.get_attribute("data-answers") or "").split()
    words = first.locator("p:not(.answers-cover)").first
    expect(words).to_be_hidden()
    expect(first.get_by_role("button", name="show it")).to_be_visible()
    assert first.bounding_box()["height"] < 100, "one line, however long the answer is"
    for right, id in enumerate(ids):  # wrong is answered, too
        expect(words).to_be_hidden()
        answer(quiz(page, bank[id]), bank[id], right=bool(right))
    expect(words).to_be_visible()
    expect(first.locator(".answers-cover")).to_be_hidden()
    last.get_by_role("button", name="show it").press("Enter")
    assert last.evaluate("e => e === document.activeElement && e.hasAttribute('data-open')")
    page.reload()
    ready(page)
    expect(words).to_be_visible()
    expect(last.locator(".answers-cover")).to_be_visible()
    page.emulate_media(media="print")
    expect(last.locator(".answers-cover")).to_be_hidden()
    expect(last.locator("> :not(.answers-cover)").first).to_be_visible()


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


def test_a_quiz_does_not_grow_under_the_thumb(open_page: Callable[..., Any]) -> None:
    page = open_page("02_memory", width=390)
    widget = page.locator(".sw-quiz").filter(has=page.locator("[type=text]")).first
    again, height = widget.locator("button.sw-quiet"), widget.bounding_box()["height"]
    expect(again).to_be_hidden()
    widget.locator("[type=text]").fill("1")
    expect(again).to_be_visible()
    assert widget.bounding_box()["height"] == height


@pytest.mark.parametrize(("right", "mark"), [(True, "✓"), (False, "✗ not this")])
def test_the_option_that_was_chosen_is_marked(right: bool, mark: str, open_page: Callable[..., Any]) -> None:
    page = open_page("02_memory")
    question = next(q for q in questions("02_memory") if isinstance(q, Single))
    widget = quiz(page, question)
    answer(widget, question, right)
    chosen = next(i for i, option in enumerate(question.options) if option.correct is right)
    expected = [mark if i == chosen else "" for i in range(len(question.options))]
    assert widget.locator(".sw-mark").all_inner_texts() == expected


def test_hints_then_the_solution(open_page: Callable[..., Any]) -> None:
    page = open_page("03_latency")
    question = questions("03_latency")[0]
    widget = quiz(page, question)
    assert widget.get_by_role("button", name="Show solution").is_disabled()
    for step, hint in enumerate(question.hints, 1):
        widget.get_by_role("button", name=f"Hint {step} of 3").click()
        assert said(hint) in help_of(widget)
    widget.get_by_role("button", name="Show solution").click()
    assert said(question.solution) in help_of(widget)
    widget.get_by_role("button", name="Start again").click()
    assert help_of(widget) == ""


def test_by_keyboard_alone(open_page: Callable[..., Any]) -> None:
    page = open_page("02_memory")
    question = next(q for q in questions("02_memory") if isinstance(q, Single))
    widget = quiz(page, question)
    widget.get_by_role("radio").first.focus()
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    assert "Right" in status(widget) or "Not yet" in status(widget)


def test_figures_turn_dark_with_the_page(open_page: Callable[..., Any]) -> None:
    look = "e => [getComputedStyle(e).fill, getComputedStyle(document.body).backgroundColor]"
    for scheme in ("light", "dark"):
        ground, page = open_page("03_latency", scheme=scheme).locator("svg.figure path").first.evaluate(look)
        assert ground == page == rgb(PALETTE["paper"][scheme == "dark"])


def rgb(colour: str) -> str:
    return f"rgb({', '.join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))})"


def test_without_javascript_the_question_and_a_folded_solution_are_there(open_page: Callable[..., Any]) -> None:
    page = open_page("07_prefill_disaggregation", java_script_enabled=False)
    for question in questions("07_prefill_disaggregation"):
        block = page.locator(f".scaling-fallback[data-id='{question.id}']")
        assert said(question.prompt) in said(block.inner_text())
        assert not block.locator("details p").is_visible()
        block.locator("summary").click()
        assert said(question.solution) in said(block.inner_text())


@pytest.mark.parametrize("width", [1280, 390])
def test_a_link_to_a_heading_ends_there(width: int, open_page: Callable[..., Any], site: str) -> None:
    """The widgets above it start later, and are taller than what stood in for them."""
    page = open_page("02_memory", width, address=f"{site}/book/02_memory.html#what-else-sits-in-memory")
    place = "() => document.querySelector(':target > h2').getBoundingClientRect().top"
    page.wait_for_timeout(1000)
    assert 40 < page.evaluate(place) < 120
    page.mouse.wheel(0, -5000)
    page.wait_for_timeout(300)
    page.reload()
    ready(page)
    assert page.evaluate(place) > 900  # where the reader had gone


def test_from_a_folder_without_a_server(built: Path, open_page: Callable[..., Any]) -> None:
    page = open_page("02_memory", address=(built / "book" / "02_memory.html").as_uri())
    question = questions("02_memory")[0]
    answer(quiz(page, question), question, right=True)
    assert status(quiz(page, question)).startswith("✓ Right.")
    assert page.locator(".katex").count() > 5
