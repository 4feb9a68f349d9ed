"""What a reader sees: the measure, the edges, contrast, what is said, code on a phone, and paper."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.pages.browser.answering import CHAPTERS, answer, one_of_each, questions, quiz, ready, uncover

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def tab(chromium: Any) -> Iterator[Any]:
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    yield context.new_page()
    context.close()


@pytest.fixture(scope="module", params=sorted(CHAPTERS))
def page(request: pytest.FixtureRequest, tab: Any, site: str) -> Any:
    tab.set_viewport_size({"width": 1440, "height": 900})
    tab.emulate_media(color_scheme="light", media="screen")
    tab.goto(f"{site}/book/{request.param}.html")
    ready(tab)
    tab.evaluate("document.fonts.ready")
    tab.chapter = request.param
    return tab


# Characters of each full line of a paragraph: all but its last.
LINES = """() => [...document.querySelectorAll('article section > p:not(.margin-note)')].flatMap((p) => {
  if (p.querySelector('.katex, code')) return [];
  const found = new Map(), range = document.createRange();
  const walk = document.createTreeWalker(p, NodeFilter.SHOW_TEXT);
  for (let text; (text = walk.nextNode()); )
    for (let i = 0; i < text.length; i++) {
      range.setStart(text, i); range.setEnd(text, i + 1);
      const y = Math.round(range.getBoundingClientRect().bottom / 8);
      found.set(y, (found.get(y) ?? 0) + 1);
    }
  return [...found.values()].slice(0, -1);
})"""


def test_a_line_is_neither_long_nor_short(page: Any) -> None:
    lines = sorted(page.evaluate(LINES))
    assert len(lines) > 10
    assert 60 <= lines[len(lines) // 2] <= 80 and lines[int(0.98 * len(lines))] <= 90, lines


EDGES = """() => {
  const blocks = 'p:not(.margin-note), h2, h3, .scaling-widget, .scroll-table, svg.figure, figcaption, .cell_input pre'
    + ', blockquote, details:not(.hide), .katex-display, .scaling-trap';
  return [...document.querySelectorAll('article :is(' + blocks + ')')]
    .filter((e) => e.checkVisibility()
      && !e.parentElement.closest(blocks + ', li, td, th, figcaption, details, .cell_output:has(.scaling-widget)'))
    .map((e) => {
      const { left, right } = e.getBoundingClientRect(), { borderLeftWidth, paddingLeft } = getComputedStyle(e);
      const hangs = e.tagName === 'PRE' ? parseFloat(borderLeftWidth) + parseFloat(paddingLeft) : 0;
      return [e.className.baseVal ?? e.className ?? '', e.tagName, Math.round(left + hangs), Math.round(right)];
    });
}"""


def test_every_block_has_the_same_edges(page: Any) -> None:
    blocks = page.evaluate(EDGES)
    assert len(blocks) > 20
    left, right = blocks[0][2:]
    assert 660 <= right - left <= 730
    assert [block for block in blocks if abs(block[2] - left) > 1 or abs(block[3] - right) > 1] == []


def test_notes_stand_in_the_margin_and_on_nothing_else(page: Any) -> None:
    over = """() => {
      const right = document.querySelector('article h1').getBoundingClientRect().right;
      const [toc] = document.querySelectorAll('.bd-sidebar-secondary .page-toc');
      const boxes = [...document.querySelectorAll('article .margin-note')].map((e) => e.getBoundingClientRect());
      const below = toc.getBoundingClientRect().bottom;
      return boxes.filter((b, i) => b.left < right || b.right > innerWidth || b.top < below
        || (i && b.top < boxes[i - 1].bottom)).map((b) => [b.left, b.top, b.right]);
    }"""
    uncover(page)  # what lies under a cover has no place yet
    assert page.evaluate(over) == []


# Every mark of a figure against what lies under it: the page, or the bar that it is drawn on.
MARKS = """(least) => {
  const c = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const light = (colour) => {
    c.clearRect(0, 0, 1, 1); c.fillStyle = colour; c.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...c.getImageData(0, 0, 1, 1).data].map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  const quiet = new Set(['--rule', '--paper'].map((name) => {
    document.body.style.setProperty('outline-color', `var(${name})`);
    return getComputedStyle(document.body).outlineColor;
  }));
  document.body.style.removeProperty('outline-color');
  const found = new Map();
  for (const e of document.querySelectorAll('svg.figure :is(path, use, text, rect)')) {
    if (e.closest('clipPath, pattern path')) continue;
    const look = getComputedStyle(e);
    for (const colour of [look.fill, look.stroke]) {
      if (!/^rgb/.test(colour) || /, 0\\)/.test(colour) || quiet.has(colour)) continue;
      const there = light(colour), ratio = (Math.max(there, paper) + 0.05) / (Math.min(there, paper) + 0.05);
      found.set(colour + e.tagName, Math.round(100 * ratio) / 100);
    }
  }
  return [found.size, [...found].filter(([key, ratio]) => ratio < (key.endsWith('text') ? 4.5 : least))];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_mark_of_a_figure_stands_out(page: Any, scheme: str) -> None:
    page.evaluate("scheme => { document.documentElement.dataset.theme = scheme }", scheme)
    count, pale = page.evaluate(MARKS, 3)
    page.evaluate("document.documentElement.dataset.theme = 'light'")
    assert count > 3 and pale == []


def test_what_is_said_is_seen(page: Any) -> None:
    """Feedback, hints, solutions, captions and cells' outputs: a style that hides them all must be red."""
    question = one_of_each(questions(page.chapter))[0]
    uncover(page)
    widget = quiz(page, question)
    answer(widget, question, right=False)
    widget.get_by_role("button", name="Hint 1 of 3").click()
    seen = [
        widget.locator(".sw-status"),
        widget.locator(".sw-help p").first,
        page.locator("figcaption").locator("visible=true").first,
    ]
    seen += [page.locator(one).locator("visible=true").first for one in (".scroll-table td", ".caption-number")]
    for one in seen:
        one.scroll_into_view_if_needed()
        box = one.bounding_box()
        assert one.is_visible() and box and box["width"] > 20 and box["height"] > 10
        assert float(one.evaluate("e => getComputedStyle(e).opacity")) > 0.5
    assert page.locator(".scaling-fallback").count() == 0, "a question stands twice"


def test_code_is_folded_and_what_is_shown_fits(page: Any) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    cells = """(tag) => [...document.querySelectorAll(`.cell${tag} .cell_input pre`)]
      .filter((e) => e.checkVisibility()).map((e) => [e.scrollWidth - e.clientWidth, e.textContent.slice(0, 60)])"""
    assert page.evaluate(cells, ".tag_hide-input") == []
    assert [wide for wide in page.evaluate(cells, "") if wide[0] > 0] == []
    assert (
        page.evaluate("""() => [...document.querySelectorAll('.cell.tag_hide-input details.hide > summary')]
      .filter((e) => e.getBoundingClientRect().height > 34).length""")
        == 0
    ), "a fold is one quiet line"
    page.set_viewport_size({"width": 1440, "height": 900})


def test_on_a_phone_code_scrolls_and_keeps_its_lines(page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    broken = """() => [...document.querySelectorAll('article pre')].filter((e) => e.checkVisibility())
      .filter((e) => getComputedStyle(e).whiteSpace !== 'pre' || getComputedStyle(e).overflowX !== 'auto').length"""
    assert page.evaluate(broken) == 0
    flags = r"""() => [...document.querySelectorAll('article p code .pre')]
      .filter((e) => /^--[\w-]{1,30}$/.test(e.textContent) && e.getBoundingClientRect().height > 30)
      .map((e) => e.textContent)"""
    assert page.evaluate(flags) == []
    page.set_viewport_size({"width": 1440, "height": 900})


def test_on_paper(page: Any) -> None:
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.emulate_media(media="print")
    seen = "(s) => [...document.querySelectorAll(s)].filter((e) => e.checkVisibility()).length"
    try:
        assert page.evaluate(seen, "article h1") == 1, "the title"
        assert page.evaluate(seen, "article .tag_hide-input .cell_input pre, article input[type=text]") == 0
        folded = "article section > details:not(.hide) > :not(summary)"
        assert page.evaluate(seen, folded) == page.locator(folded).count(), "solutions"
        assert page.evaluate("getComputedStyle(document.body).color") == "rgb(34, 38, 43)"
    finally:
        page.emulate_media(media="screen")
        page.evaluate("document.documentElement.dataset.theme = 'light'")
