"""Chapter 10's sliders, built: dragged, keyed, reset, guessed, on a phone. They show what `scaling` says."""

from collections.abc import Iterator
from typing import Any

import pytest

from scaling import H100_TEXT, LLAMA3_70B, TPU_V5E_TEXT, Deployment
from scaling.throughput import cost_per_hour, largest_batch, prefill_chips, replicas_for
from scaling.units import ms, number
from tests.pages.browser.answering import ready

pytestmark = pytest.mark.browser
START = {"answer": 512, "limit": 30, "found": 0, "price": 10.8}


def expected(*, answer: float, limit: float, found: float, price: float) -> dict[str, str]:
    """The page's outcomes, from the formulas alone, as the page writes them."""
    told: dict[str, str] = {}
    for name, chip, chips, usd in (("H100", H100_TEXT, 8, price), ("v5e", TPU_V5E_TEXT, 16, 1.2)):
        d = Deployment(model=LLAMA3_70B, chip=chip, chips=chips, weights="int8", kv="int8", params="nominal")
        decode = chips * replicas_for(d, 1000, largest_batch(d, 8192, max_step=limit * ms), 8192, answer)
        prefill = prefill_chips(d, 1000, 8192 * (1 - found / 100), mfu=0.4)
        told[f"{name} fleet"] = f"{number(round(cost_per_hour(chip, decode + prefill, price=usd)))} USD/h"
        told[f"{name} for decode"] = f"{number(int(decode))} chips"
        told[f"{name} for prefill"] = f"{number(int(prefill))} chips"
    return told


def shown(sweep: Any) -> dict[str, str]:
    rows = [row.locator("th, td").all_inner_texts() for row in sweep.locator("tbody tr").all()]
    return {label.strip(): " ".join(value.split()) for label, value, _ in rows}


def agrees(sweep: Any, **position: float) -> None:
    told = shown(sweep)
    for label, value in expected(**{**START, **position}).items():
        assert told[label] == value, (label, position)


@pytest.fixture(scope="module")
def opened(chromium: Any, site: str) -> Iterator[Any]:
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(f"{site}/book/10_worked_problems.html")
    ready(page)
    yield page
    context.close()


@pytest.fixture
def sweep(opened: Any) -> Any:
    """The sliders at their start, past the question."""
    opened.set_viewport_size({"width": 1280, "height": 900})
    widget = opened.locator(".scaling-widget.sweep")
    skip = widget.get_by_role("button", name="Skip")
    if skip.is_visible():
        skip.click()
    widget.get_by_role("button", name="Reset").click()
    return widget


def test_a_guess_comes_first_and_is_compared(chromium: Any, site: str) -> None:
    page = chromium.new_page()
    page.goto(f"{site}/book/10_worked_problems.html")
    widget = page.locator(".scaling-widget.sweep")
    widget.locator("form.sx-predict input").fill("2")
    assert not widget.locator("tbody").is_visible() and not widget.get_by_role("slider").first.is_visible()
    widget.locator("form.sx-predict input").press("Enter")
    assert "You guessed 2;" in widget.locator(".sx-predict").inner_text()
    assert widget.locator("tbody").is_visible()
    page.close()


def test_the_start(sweep: Any) -> None:
    agrees(sweep)
    assert {row.locator("td").last.inner_text() for row in sweep.locator("tbody tr").all()} == {"1"}


def test_keys_move_every_slider(sweep: Any) -> None:
    moves = {"Answer": {"answer": 4096}, "Prompt found in a cache": {"found": 100}}
    position: dict[str, float] = {}
    for label, move in moves.items():
        sweep.get_by_label(label).press("End")
        agrees(sweep, **(position := position | move))
    sweep.get_by_label("Price of an H100").press("ArrowLeft")
    agrees(sweep, **(position := position | {"price": 8}))
    sweep.get_by_label("Longest step").press("Home")
    agrees(sweep, **(position := position | {"limit": 6}))
    assert sweep.get_by_label("Longest step").get_attribute("aria-valuetext") == "6 ms"
    sweep.page.wait_for_timeout(500)  # the live region speaks when the slider rests
    said = sweep.get_by_role("status").inner_text()
    assert all(f"{label} {value}" in said for label, value in expected(**position).items())
    sweep.get_by_role("button", name="Reset").click()
    agrees(sweep)


def test_a_slider_can_be_dragged(sweep: Any) -> None:
    slider = sweep.get_by_label("Prompt found in a cache")
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    mouse, y = sweep.page.mouse, box["y"] + box["height"] / 2
    mouse.move(box["x"] + 6, y)
    mouse.down()
    mouse.move(box["x"] + box["width"] - 4, y, steps=5)
    mouse.up()
    agrees(sweep, found=100)


def test_bars_share_a_scale_per_unit(sweep: Any) -> None:
    bars = sweep.locator(".sp-bar > span").evaluate_all("all => all.map(e => parseFloat(e.style.width))")
    told = shown(sweep)
    widths = dict(zip(told, bars, strict=True))
    chips = {label: float(value.split()[0].replace(",", "")) for label, value in told.items() if "chips" in value}
    for label, value in chips.items():
        assert widths[label] == pytest.approx(100 * value / max(chips.values()), abs=0.1)


def test_on_a_phone_nothing_sticks_out(sweep: Any) -> None:
    sweep.page.set_viewport_size({"width": 390, "height": 900})
    for scheme in ("light", "dark"):
        sweep.page.emulate_media(color_scheme=scheme)
        box = sweep.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390
        assert all(slider.bounding_box()["height"] >= 38 for slider in sweep.get_by_role("slider").all())
    sweep.page.emulate_media(color_scheme="light")


def test_without_javascript_there_is_a_table(chromium: Any, site: str) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}/book/10_worked_problems.html")
    text = page.locator(".scaling-fallback[data-widget=sweep]").inner_text()
    assert "Price of an H100 2 USD/h" in text and "Answer 4,096 tokens" in text
    context.close()
