"""The explorer on the built pages: moved, shared, printed as a table, on a phone, and fast enough."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "book"))
CHAPTERS = [p.stem for p in sorted((ROOT / "book").glob("*.ipynb")) if "Explorer(" in p.read_text(encoding="utf-8")]
pytestmark = pytest.mark.browser


@pytest.fixture
def open_explorer(chromium: Any, site: str) -> Any:
    contexts: list[Any] = []

    def open_it(chapter: str, width: int = 1280, scheme: str = "light", address: str = "") -> tuple[Any, Any]:
        context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.goto(address or f"{site}/book/{chapter}.html")
        page.wait_for_selector("html[data-widgets=ready]", state="attached")
        explorer = page.locator(".scaling-widget.explorer")
        if "sx-waiting" in explorer.get_attribute("class"):
            explorer.get_by_role("button", name=re.compile("show me|skip", re.I)).last.click()
        return page, explorer

    yield open_it
    for context in contexts:
        context.close()


def test_three_chapters_have_one() -> None:
    assert CHAPTERS == ["03_latency", "05_tradeoff", "07_prefill_disaggregation"]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_moving_a_slider_changes_what_is_said_and_the_address(chapter: str, open_explorer: Any) -> None:
    page, explorer = open_explorer(chapter)
    before = explorer.inner_text()
    slider = explorer.get_by_label("Batch, slider")
    slider.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.wait_for_timeout(600)
    after = explorer.inner_text()
    assert after != before
    assert "batch:" in page.url
    _, again = open_explorer(chapter, address=page.url)
    assert again.get_by_label("Batch, slider").input_value() == slider.input_value()


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_redraw_takes_less_than_a_frame(chapter: str, open_explorer: Any) -> None:
    page, explorer = open_explorer(chapter)
    slider = explorer.get_by_label("Context, slider")
    slider.focus()
    times = []
    for key in ["ArrowRight", "ArrowLeft"] * 10:
        page.keyboard.press(key)
        page.wait_for_timeout(30)
        times.append(float(explorer.get_attribute("data-redraw-ms")))
    assert sorted(times)[len(times) // 2] < 16, times


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_on_a_phone_nothing_sticks_out(chapter: str, scheme: str, open_explorer: Any) -> None:
    page, explorer = open_explorer(chapter, width=390, scheme=scheme)
    box = explorer.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 390
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_what_does_not_fit_says_what_would(chapter: str, open_explorer: Any) -> None:
    page, explorer = open_explorer(chapter)
    for name in ("Context, slider", "Batch, slider"):
        explorer.get_by_label(name).focus()
        page.keyboard.press("End")
    page.wait_for_timeout(600)
    assert explorer.get_attribute("data-infeasible") is not None
    assert re.search("fits on|does not fit", explorer.locator(".sx-say").inner_text(), re.I)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_values_can_be_read_as_a_table(chapter: str, open_explorer: Any) -> None:
    _, explorer = open_explorer(chapter)
    explorer.locator("summary").first.click()
    explorer.locator("table tr").nth(4).wait_for()


@pytest.mark.parametrize(
    "hash", ["#ex-03-latency=chip:nonsense,batch:-5,price:abc", "#ex-03-latency=", "#ex-03-latency=batch:1e999"]
)
def test_a_nonsense_address_is_ignored(hash: str, open_explorer: Any, site: str) -> None:
    _, plain = open_explorer("03_latency")
    _, odd = open_explorer("03_latency", address=f"{site}/book/03_latency.html{hash}")
    assert odd.get_by_label("Batch, slider").input_value() == plain.get_by_label("Batch, slider").input_value()
