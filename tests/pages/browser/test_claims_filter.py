"""The ledger of claims in a real Chromium: filters, keyboard, links to rows, phone, dark, no script, from a folder."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser
Open = Callable[..., Any]


@pytest.fixture
def open_ledger(chromium: Any, site: str) -> Iterator[Open]:
    """Opens the page; at the end no request may have gone elsewhere and nothing may have gone wrong."""
    contexts, trouble = [], []

    def open_it(query: str = "", width: int = 1280, scheme: str = "light", address: str = "", **options: Any) -> Any:
        context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("request", lambda r: trouble.append(r.url) if r.url.startswith("http") and site not in r.url else None)
        page.goto((address or f"{site}/book/appendix/claims.html") + query)
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert not trouble, trouble


def shown(page: Any) -> list[str]:
    """Verdicts of the rows that can be seen."""
    return page.evaluate(
        "[...document.querySelectorAll('tr[data-verdict]')].filter(e => e.offsetParent).map(e => e.dataset.verdict)"
    )


def sections(page: Any) -> list[str]:
    return page.evaluate(
        "[...document.querySelectorAll('tbody[data-section]')].filter(e => e.offsetParent).map(e => e.dataset.section)"
    )


def said(page: Any) -> str:
    return page.get_by_role("status").inner_text()


def test_filters_by_verdict_and_section(open_ledger: Open) -> None:
    page = open_ledger()
    everything = shown(page)
    assert said(page) == f"{len(everything)} of {len(everything)} claims shown."
    page.get_by_role("combobox", name="Verdict").select_option("erratum")
    errata = shown(page)
    assert set(errata) == {"erratum"} and len(errata) == everything.count("erratum")
    assert said(page) == f"{len(errata)} of {len(everything)} claims shown."
    page.get_by_role("combobox", name="Section").select_option("12.2")
    assert sections(page) == ["12.2"] and 0 < len(shown(page)) < len(errata)
    assert said(page).startswith(f"{len(shown(page))} of ")
    page.get_by_role("button", name="Show all").click()
    assert shown(page) == everything
    page.get_by_role("combobox", name="Verdict").select_option("unstated")
    assert set(shown(page)) == {"unstated"} and len(shown(page)) == everything.count("unstated")


def test_by_keyboard_alone(open_ledger: Open) -> None:
    page = open_ledger()
    page.get_by_role("combobox", name="Verdict").focus()
    page.keyboard.type("conv")
    page.keyboard.press("Tab")
    page.keyboard.type("12.4")
    assert set(shown(page)) == {"convention"} and sections(page) == ["12.4"]
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert len(sections(page)) == 10
    assert page.evaluate("document.activeElement === document.querySelector('.claims-filter select')"), "focus is lost"


def test_a_link_can_ask_for_a_filter_and_a_link_to_a_row_shows_it(open_ledger: Open) -> None:
    page = open_ledger("?verdict=erratum&section=12.2")
    assert set(shown(page)) == {"erratum"} and sections(page) == ["12.2"]
    page.evaluate("location.hash = 'claim-3-floor'")
    page.wait_for_function("document.getElementById('claim-3-floor').offsetParent")
    assert page.locator("#claim-3-floor").is_visible() and len(sections(page)) == 10
    assert len(sections(open_ledger("?verdict=nonsense&section=%3Cb%3E"))) == 10


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_the_rows_are_stacked_and_nothing_sticks_out(scheme: str, open_ledger: Open) -> None:
    page = open_ledger(width=390, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    row = page.locator("#claim-2-kv-token-kb")
    boxes = [cell.bounding_box() for cell in row.locator("th, td").all()]
    assert all(lower["y"] >= upper["y"] + upper["height"] - 1 for upper, lower in pairwise(boxes))
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= 390 for box in boxes)
    label = row.locator("td").first.evaluate("e => getComputedStyle(e, '::before').content")
    assert label == '"Printed"'


def test_without_javascript_it_is_a_plain_table(open_ledger: Open) -> None:
    page = open_ledger(java_script_enabled=False)
    assert page.locator("tr[data-verdict]").count() == page.locator("tr[data-verdict]:visible").count() > 300
    assert page.locator(".claims-filter").count() == 0
    assert page.get_by_role("columnheader", name="Verdict").is_visible()


def test_from_a_folder_without_a_server(built: Path, open_ledger: Open) -> None:
    page = open_ledger("?verdict=rounding", address=(built / "book" / "appendix" / "claims.html").as_uri())
    assert set(shown(page)) == {"rounding"}


def test_an_address_that_is_no_address_is_ignored(open_ledger: Open) -> None:
    assert len(sections(open_ledger("#%"))) == 10, "open_ledger finds what went wrong"
