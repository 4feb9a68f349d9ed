"""The landing page and a reader's progress in a real Chromium: the explorer, the cards, rings, My answers."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from scaling import (
    H100,
    LLAMA3_70B,
    Deployment,
    cost_per_million_tokens,
    decode_step,
    tokens_per_second,
)
from scaling.units import ms, number
from tests.pages.browser.answering import CHAPTERS, answer, questions, quiz, ready

pytestmark = pytest.mark.browser
HOME = Deployment(model=LLAMA3_70B, chip=H100, chips=8, weights="fp8", kv="fp8")


def numbers(page: Any) -> list[str]:
    return [re.sub(r"[^\d.,].*", "", text, flags=re.S) for text in page.locator(".sx-hero dd").all_inner_texts()]


def expected(batch: int) -> list[str]:
    shown = (
        decode_step(HOME, batch, 8192).total / ms,
        tokens_per_second(HOME, batch, 8192),
        cost_per_million_tokens(HOME, batch, 8192),
    )
    return [number(round(value), 6) if value >= 100 else number(value, 3) for value in shown]


def test_the_landing_page_is_an_explorer_and_a_way_in(chromium: Any, site: str) -> None:
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page, got = context.new_page(), []
    page.on("response", lambda response: got.append(response))
    page.goto(f"{site}/index.html", wait_until="networkidle")
    ready(page)
    weight = sum(len(gzip.compress(response.body())) for response in got if response.status == 200)
    assert weight < 200_000, f"the landing page weighs {weight:,} bytes over the wire"
    assert numbers(page) == expected(64)
    slider = page.get_by_label("Batch, slider")
    slider.press("ArrowRight")
    assert numbers(page) == expected(128)
    large = page.locator(".sx-hero dd").first
    assert large.is_visible() and large.evaluate("node => parseFloat(getComputedStyle(node).fontSize)") >= 32
    assert not page.locator(".pr-start").get_by_text("Continue").count(), "nobody was anywhere yet"
    cards = page.locator(".pr-cards a")
    assert cards.count() == len(CHAPTERS)
    for card in cards.all():
        card.scroll_into_view_if_needed()
        picture = card.locator("img")
        picture.evaluate("node => node.decode()")
        assert picture.evaluate("node => node.naturalWidth") > 0 and picture.get_attribute("loading") == "lazy"
    page.locator(".pr-start a").first.click()
    assert page.url.endswith("/02_memory.html")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{site}/index.html")
    ready(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()


def test_progress_is_counted_kept_exported_cleared_and_brought_back(chromium: Any, site: str, tmp_path: Path) -> None:
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    page, bank = context.new_page(), questions("02_memory")
    page.goto(f"{site}/book/02_memory.html")
    ready(page)
    ring = page.locator(".bd-sidebar-primary a.current .pr-ring")
    answer(quiz(page, bank[0]), bank[0], right=True)
    count = f"1 of {len(bank)} answered right"
    assert ring.get_attribute("aria-label") == count and ring.is_visible()
    assert page.locator(".pr-top a").inner_text() == count
    assert page.locator(".pr-bar [data-outcome=right]").count() == 1
    page.locator("#recap").scroll_into_view_if_needed()
    page.evaluate("document.getElementById('recap').scrollIntoView()")
    # The place is kept when the page rests, which on a busy machine takes a while.
    page.wait_for_function("JSON.parse(localStorage.getItem('scaling/place') ?? '{}').at")
    page.goto(f"{site}/index.html")
    ready(page)
    assert page.locator(".pr-cards .pr-ring").first.get_attribute("aria-label") == count
    page.get_by_role("link", name="Continue where you were").click()
    assert "/02_memory.html#" in page.url

    page.evaluate("localStorage.setItem('scaling/quiz/02-strange', '<b>')")
    page.locator(".pr-top a").click()
    row = page.locator(".pr-list tr", has_text="2. Memory")
    assert count in row.inner_text()
    assert "1 stored entry is not ours" in page.locator(".pr-list").inner_text()
    page.evaluate('localStorage.setItem(\'scaling/hardware\', \'{"chip":"H200","chips":4,"model":"LLAMA3_8B"}\')')
    page.reload()
    mine = page.get_by_text("Your hardware: 4 x H200 for LLAMA3_8B.")
    mine.get_by_role("button", name="Forget it").click()
    assert not mine.count() and page.evaluate("localStorage.getItem('scaling/hardware')") is None
    with page.expect_download() as saved:
        page.get_by_role("button", name="Export").click()
    file = tmp_path / "answers.json"
    saved.value.save_as(file)
    assert list(json.loads(file.read_text())["entries"]) == [f"scaling/quiz/{bank[0].id}"]
    page.get_by_role("button", name="Clear all").click()
    assert f"0 of {len(bank)}" in row.inner_text()
    assert page.evaluate("localStorage.getItem('scaling/quiz/02-strange')") == "<b>", "not ours to clear"
    page.get_by_role("button", name="Undo").click()
    assert count in row.inner_text()
    page.get_by_role("button", name="Clear all").click()
    nonsense = tmp_path / "nonsense.json"
    nonsense.write_text("<script>alert(1)</script>")
    for path, said, shown in ((nonsense, "holds no answers", "0 of"), (file, "1 entry taken", count)):
        page.locator("input[type=file]").set_input_files(path)
        page.get_by_text(said).wait_for()
        assert shown in row.inner_text()
    context.close()
