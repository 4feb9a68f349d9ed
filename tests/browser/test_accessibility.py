"""axe-core on every page, light and dark: nothing serious or critical that is ours."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ["search", "genindex", "book/index", *(f"book/{path.stem}" for path in sorted((ROOT / "book").glob("*.ipynb")))]
PAGES += [f"book/appendix/{path.stem}" for path in sorted((ROOT / "book" / "appendix").glob("*.*"))]
pytestmark = pytest.mark.browser

# What the theme does itself, by rule and element: why it stays.
THEMES_OWN: dict[tuple[str, str], str] = {}

# axe judges the contrast of each text by itself, and most look alike: one of each look is enough.
ONE_OF_EACH_LOOK = """() => {
  const seen = new Set();
  document.querySelectorAll('[data-look]').forEach((e) => e.removeAttribute('data-look'));
  for (const e of document.querySelectorAll('body *')) {
    if (!e.checkVisibility() || ![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
    const look = getComputedStyle(e), above = [];
    for (let p = e; p; p = p.parentElement) {
      const { backgroundColor, opacity } = getComputedStyle(p);
      above.push(backgroundColor, opacity);
    }
    const key = [look.color, look.fontSize, look.fontWeight, above].join();
    if (!seen.has(key)) e.setAttribute('data-look', '');
    seen.add(key);
  }
}"""
RUN = """([context, options]) => axe.run(context, {resultTypes: ['violations'], ...options}).then(
  (result) => result.violations.filter((v) => ['serious', 'critical'].includes(v.impact))
  .flatMap((v) => v.nodes.map((n) => [v.id, n.target.join(' '), n.html.slice(0, 160)])))"""


def axe() -> str:
    found = importlib.util.find_spec("axe_playwright_python")
    assert found and found.submodule_search_locations
    return (Path(found.submodule_search_locations[0]) / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(chromium: Any) -> Iterator[Any]:
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.add_init_script(axe())
    yield page
    context.close()


def findings(page: Any) -> list[list[str]]:
    """Serious and critical ones, of both colour schemes."""
    page.emulate_media(color_scheme="light")
    found = page.evaluate(RUN, ["body", {"rules": {"color-contrast": {"enabled": False}}}])
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.evaluate(ONE_OF_EACH_LOOK)
        contrast = page.evaluate(RUN, [{"include": [["[data-look]"]]}, {"runOnly": ["color-contrast"]}])
        found += [[f"{rule}, {scheme}", *rest] for rule, *rest in contrast]
    return [one for one in found if (one[0].split(",")[0], one[1]) not in THEMES_OWN]


@pytest.mark.parametrize("name", PAGES)
def test_nothing_serious(name: str, page: Any, site: str) -> None:
    page.emulate_media(color_scheme="light")
    page.goto(f"{site}/{name}.html")
    page.add_style_tag(content="* { transition: none !important; }")  # half-way colours are nobody's
    if page.locator(".scaling-fallback").count():
        page.wait_for_selector("html[data-widgets=ready]", state="attached")
        for quiz in page.locator(".sw-quiz").all()[:2]:  # a message of each quiz, and its hints, are looked at too
            quiz.get_by_role("button", name="Check").click()
            quiz.get_by_role("button", name="Hint 1 of 3").click()
    assert findings(page) == []


def test_what_is_serious_is_seen(page: Any, site: str) -> None:
    page.goto(f"{site}/book/appendix/symbols.html")
    page.evaluate(
        """() => document.querySelector('article').insertAdjacentHTML('afterbegin',
          '<img src="x.svg"><p style="color: #bbb; background: #fff">pale</p><button></button>')"""
    )
    seen = {rule for rule, *_ in findings(page)}
    assert {"image-alt", "button-name", "color-contrast, light", "color-contrast, dark"} <= seen
