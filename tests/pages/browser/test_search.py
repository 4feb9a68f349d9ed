"""The search as a reader uses it: what a word means first, then the section that treats it; and nothing that spoils."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.pages.browser.answering import CHAPTERS, questions, said

pytestmark = pytest.mark.browser

# What is typed, the first hit, and one that must be among the first four.
QUERIES = {
    "KV cache": ("KV cache", "KV cache: what one token leaves behind"),
    "critical batch": ("Critical batch", "The critical batch"),
    "tensor parallelism": ("Tensor parallelism", "What tensor parallelism moves"),
    "TTFT": ("TTFT, time to first token", "Prefill: waiting for arithmetic"),
    "rooflines": ("Roofline", "Three rungs: floor, roofline, estimate"),
    "disaggregation": ("Disaggregation", "7. Prefill and disaggregation"),
    "b_crit": ("B_crit", "B_crit"),
    "decode_step": ("decode_step", "The one model of a decode step"),
    "speculative decoding": ("Speculative decoding", "Decode: a floor made of bytes"),
    "plateau": ("The plateau", "plateau"),
}


@pytest.fixture(scope="module")
def tab(chromium: Any) -> Any:
    context = chromium.new_context()
    tab = context.new_page()
    tab.trouble = []
    tab.on("pageerror", lambda error: tab.trouble.append(str(error)))
    tab.on("console", lambda message: tab.trouble.append(message.text) if message.type == "error" else None)
    yield tab
    context.close()


def search(tab: Any, built: Path, query: str) -> list[str]:
    """Titles of the hits, from a folder, through the box that Ctrl+K opens on any page."""
    tab.goto((built / "book" / "appendix" / "references.html").as_uri())
    tab.keyboard.press("Control+k")
    tab.locator("dialog[open] input").fill(query)
    tab.keyboard.press("Enter")
    tab.locator("#search-results [role=status]").wait_for()
    return tab.locator("#search-results li > a").all_inner_texts()


@pytest.mark.parametrize("query", QUERIES)
def test_ten_queries_find_the_definition_and_the_section(query: str, tab: Any, built: Path) -> None:
    first, also = QUERIES[query]
    found = search(tab, built, query)
    assert found[0] == first and also in found[:4], found[:6]
    assert tab.locator("#search-results li mark").count() >= 1
    tab.locator("#search-results li > a").filter(has_text=also).first.click()
    tab.wait_for_url(lambda url: "search.html" not in url)
    assert tab.locator("h1").count() == 1
    assert tab.evaluate("!location.hash || document.querySelector(':target') !== null"), tab.url
    assert tab.trouble == []


@pytest.mark.parametrize("query", ["", "qwertz uiop", "<img src=x onerror=alert(1)>", "((", "qwertz " * 90])
def test_odd_queries_get_a_sentence(query: str, tab: Any, built: Path) -> None:
    found = search(tab, built, query)
    assert found == [] and len(tab.locator("[role=status]").inner_text()) > 30
    assert tab.locator("#search-results img").count() == 0 and tab.trouble == []


def test_the_index_has_what_is_read_and_nothing_that_spoils_it(built: Path) -> None:
    text = (built / "_static" / "search-index.js").read_text(encoding="utf-8").partition("=")[2]
    index = {
        page: [entry["title"] + " " + entry["text"] for entry in found] for page, found in json.loads(text).items()
    }
    for page, texts in index.items():
        whole = " ".join(texts)
        for never in ("import ", r"\frac", r"\text", "tests/scaling/test_latency.py", "</"):
            assert never not in whole.replace("Import it", ""), f"{page} has {never}"
    for chapter in CHAPTERS:
        whole = said(" ".join(index[f"book/{chapter}"]))
        for question in questions(chapter):
            assert said(question.prompt) in whole
            assert said(question.solution) not in whole
