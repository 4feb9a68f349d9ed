"""The explorer on the built pages: moved, shared, read as a table, on a phone, and fast enough."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from scaling import H100, LLAMA3_70B, TPU_V5E_TEXT, Deployment, decode_step
from scaling.units import ms
from tests.paths import ROOT

CHAPTERS = [p.stem for p in sorted((ROOT / "book").glob("*.ipynb")) if "Explorer(" in p.read_text(encoding="utf-8")]
ROOTS = ".scaling-widget.explorer"
pytestmark = pytest.mark.browser


def ready(page: Any, address: str) -> Any:
    """The explorer of the page at this address, past its question."""
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("html[data-widgets=ready]", state="attached")
    explorer = page.locator(ROOTS)
    if "sx-waiting" in explorer.get_attribute("class"):
        explorer.get_by_role("button", name="Skip").click()
    return explorer


@pytest.fixture(scope="module", params=CHAPTERS)
def opened(request: pytest.FixtureRequest, chromium: Any, site: str) -> Iterator[tuple[Any, str]]:
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    address = f"{site}/book/{request.param}.html"
    ready(page, address)
    yield page, address
    context.close()


@pytest.fixture
def explorer(opened: tuple[Any, str]) -> Any:
    """The explorer at its start position, on a desktop."""
    page, _ = opened
    page.set_viewport_size({"width": 1280, "height": 900})
    page.locator(ROOTS).get_by_role("button", name="Reset").click()
    return page.locator(ROOTS)


def press(slider: Any, *keys: str) -> None:
    slider.focus()
    for key in keys:
        slider.press(key)
    slider.page.wait_for_timeout(500)  # the address and the live region follow the last move after a pause


def test_five_chapters_have_one() -> None:
    names = ["02_memory", "03_latency", "04_throughput", "05_tradeoff", "07_prefill_disaggregation"]
    assert names == CHAPTERS


def test_moving_a_slider_changes_what_is_said_and_the_address(explorer: Any, opened: tuple[Any, str]) -> None:
    page, _ = opened
    before, slider = explorer.inner_text(), explorer.get_by_label("Batch, slider")
    press(slider, "ArrowRight", "ArrowRight", "ArrowRight")
    assert explorer.inner_text() != before
    assert "batch:" in page.url
    moved = slider.input_value()
    again = ready(page, page.url)
    assert again.get_by_label("Batch, slider").input_value() == moved


def test_a_redraw_takes_less_than_a_frame(explorer: Any) -> None:
    slider, times = explorer.get_by_label("Context, slider"), []
    slider.focus()
    for key in ["ArrowLeft", "ArrowRight"] * 10:
        slider.press(key)
        explorer.page.wait_for_timeout(30)
        times.append(float(explorer.get_attribute("data-redraw-ms")))
    assert sorted(times)[len(times) // 2] < 16, times


def test_on_a_phone_nothing_sticks_out(explorer: Any) -> None:
    explorer.page.set_viewport_size({"width": 390, "height": 900})
    slider = explorer.get_by_label("Batch, slider")
    explorer.locator("dl").evaluate("node => scrollTo(0, node.getBoundingClientRect().top + scrollY - 300)")
    top = slider.bounding_box()["y"]
    assert 0 <= top < 250, "the sliders stay in view over what they move"
    at_top = "node => { const b = node.getBoundingClientRect(); return document.elementFromPoint(b.x + 9, b.y + 9) }"
    assert slider.evaluate(f"node => ({at_top})(node) === node"), "and nothing covers them"
    box = explorer.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 390
    assert explorer.page.evaluate("document.documentElement.scrollWidth") <= 390


def test_what_does_not_fit_says_what_would(explorer: Any) -> None:
    press(explorer.get_by_label("Context, slider"), "End")
    press(explorer.get_by_label("Batch, slider"), "End")
    assert explorer.get_attribute("data-infeasible") is not None
    assert re.search("fits on|does not fit", explorer.locator(".sx-say").inner_text(), re.I)


def test_a_guess_comes_first_and_is_judged_where_it_was_asked(chromium: Any, site: str) -> None:
    page = chromium.new_page()
    page.goto(f"{site}/book/05_tradeoff.html")
    page.wait_for_selector("html[data-widgets=ready]", state="attached")
    v5e = Deployment(model=LLAMA3_70B, chip=TPU_V5E_TEXT, chips=16, weights="int8", kv="int8", params="nominal")
    explorer, truth = page.locator(ROOTS), decode_step(v5e, 32, 32_768).total / ms
    guess = explorer.get_by_label("Your guess for the step time")
    for hidden in (".sx-handles", ".sx-tools", ".sx-answer"):
        assert not explorer.locator(hidden).is_visible(), "what would answer or change the question"
    guess.press("Enter")
    assert not explorer.locator(".sx-answer").is_visible(), "nothing was guessed"
    guess.fill(f"{truth:.3g}")
    guess.press("Enter")
    assert "Your guess is within 5 %." in explorer.locator(".sx-predict").inner_text()
    assert explorer.locator(".sx-answer").is_visible() and explorer.get_by_label("Batch, slider").is_visible()
    page.close()


def test_a_skipped_question_leaves_the_keyboard_at_the_first_handle(chromium: Any, site: str) -> None:
    page = chromium.new_page()
    page.goto(f"{site}/book/05_tradeoff.html")
    page.locator(ROOTS).get_by_role("button", name="Skip").press("Enter")
    assert page.evaluate("document.activeElement.name") == "model"
    page.close()


def test_a_link_opens_at_its_place_and_its_price(chromium: Any, site: str) -> None:
    page = chromium.new_page()
    page.goto(f"{site}/book/05_tradeoff.html#ex-05-tradeoff=chip:H100_TEXT,batch:64,price:9.5")
    page.wait_for_selector("html[data-widgets=ready]", state="attached")
    explorer = page.locator(ROOTS)
    assert not explorer.locator(".sx-predict").count()
    assert explorer.locator("[name=chip]").input_value() == "H100_TEXT"
    assert explorer.locator("[name=price]").input_value() == "9.5"
    explorer.locator("[name=chip]").select_option("TPU_V5E_TEXT")
    assert explorer.locator("[name=price]").input_value() == "1.2", "another chip has another price"
    page.close()


def test_values_can_be_read_as_a_table(explorer: Any) -> None:
    explorer.locator("summary").first.click()
    explorer.locator("table tr").nth(4).wait_for()


def test_a_nonsense_address_is_ignored(chromium: Any, site: str) -> None:
    page = chromium.new_page()
    address = f"{site}/book/03_latency.html"
    start = ready(page, address).get_by_label("Batch, slider").input_value()
    for place in ("chip:nonsense,batch:-5,price:abc", "batch:1e999,batch"):
        explorer = ready(page, f"{address}#ex-03-latency={place}")
        assert explorer.get_by_label("Batch, slider").input_value() == start
        assert "which is not on offer here" in explorer.locator(".sx-remark").inner_text()
    page.close()


def test_my_hardware_is_kept_and_every_explorer_starts_there(chromium: Any, site: str) -> None:
    context = chromium.new_context()
    page = context.new_page()
    explorer = ready(page, f"{site}/book/03_latency.html")
    explorer.locator("[name=chip]").select_option("H200")
    explorer.locator("[name=price]").fill("2.25")
    explorer.locator("[name=price]").press("Enter")
    explorer.get_by_role("button", name="Make this my hardware").click()
    assert explorer.locator(".sx-told").inner_text().startswith("Kept in this browser")
    page.goto(f"{site}/book/03_latency.html")
    explorer = page.locator(ROOTS)
    guess = explorer.get_by_label("Your guess for the step time")
    guess.fill(f"{decode_step(Deployment(model=LLAMA3_70B, chip=H100, chips=8, kv='int8'), 16, 32_768).total / ms:.3g}")
    guess.press("Enter")
    assert "within 5 %" in explorer.locator(".sx-predict").inner_text(), "judged where it was asked"
    assert explorer.locator("[name=chip]").input_value() == "H200"
    assert explorer.locator("[name=price]").input_value() == "2.25"
    assert explorer.locator(".sx-remark").inner_text() == "This is your hardware: 8 x H200 SXM."
    explorer = ready(page, f"{site}/book/05_tradeoff.html")
    assert "H200, is not among the chips here" in explorer.locator(".sx-remark").inner_text()
    page.goto(f"{site}/book/09_sglang.html")
    page.locator(".sweep").get_by_role("button", name="Skip").click()
    assert page.locator(".sweep select").nth(1).evaluate("node => node.selectedOptions[0].text") == "H200 SXM"
    page.evaluate("localStorage.setItem('scaling/hardware', '<b>not ours</b>')")
    assert ready(page, f"{site}/book/03_latency.html").locator("[name=chip]").input_value() == "H100"
    context.close()
