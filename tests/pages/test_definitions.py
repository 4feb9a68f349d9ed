"""First uses of terms lead to what they mean, letters stand beside their equations, and a reader sees both."""

import importlib
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup

from tests.paths import BOOK

definitions = importlib.import_module("definitions")
CHAPTERS = [path.stem for path in sorted(BOOK.glob("[0-9]*.ipynb"))]


def page(built: Path, name: str) -> BeautifulSoup:
    return BeautifulSoup((built / "book" / f"{name}.html").read_text(encoding="utf-8"), "html.parser")


def test_a_letter_and_a_term_say_what_the_table_says() -> None:
    assert definitions.letters()["B_crit"].meaning == "critical batch, in sequences"
    assert definitions.letters()["W"].meaning == "memory bandwidth of one chip, in B/s"
    assert definitions.letters()["N"].meaning.startswith("chips that share")
    assert definitions.terms()["TTFT"] == definitions.terms()["time to first token"]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_first_uses_lead_to_the_line_that_defines_them(built: Path, chapter: str) -> None:
    places = {node["id"] for node in page(built, "appendix/symbols").select("tr[id]")}
    links = page(built, chapter).select("a.term")
    named = [str(link["href"]).partition("#")[2] for link in links]
    assert len(named) == len(set(named)) > 1, "each once"
    assert set(named) <= places and all(link["data-meaning"] for link in links)


def test_each_letter_of_an_equation_is_listed_once_a_chapter(built: Path) -> None:
    listed = [line.get_text() for line in page(built, "04_throughput").select(".letters > div")]
    assert len(listed) == len(set(listed)) > 3 and any("critical batch" in line for line in listed)


def test_a_meaning_is_seen_by_pointer_key_and_finger_and_goes_away(chromium: Any, site: str) -> None:
    context = chromium.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    page.goto(f"{site}/book/04_throughput.html")
    term, box = page.locator("a.term").first, page.locator("#term-meaning")
    term.scroll_into_view_if_needed()
    for show in (term.hover, term.focus, term.tap):
        show()
        assert box.is_visible() and box.inner_text() == term.get_attribute("data-meaning")
        assert term.get_attribute("aria-describedby") == "term-meaning"
        size = box.bounding_box()
        assert size["x"] >= 0 and size["x"] + size["width"] <= 390
        page.keyboard.press("Escape")
        assert not box.is_visible()
        page.mouse.move(5, 5)
        page.evaluate("document.activeElement.blur()")
    term.tap()
    term.tap()
    page.wait_for_url("**/appendix/symbols.html#def-*")
    context.close()
