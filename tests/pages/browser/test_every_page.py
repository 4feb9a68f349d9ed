"""Every page of the site, opened once: strict policy, a phone's width, questions answered, axe-core, light and dark."""

import http.server
import importlib.util
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import TimeoutError
from policy import Policy, header, policy

from tests.pages.browser.answering import CHAPTERS, answer, one_of_each, questions, quiz, ready, status, uncover
from tests.paths import ROOT

PAGES = ["search", "genindex", "404", "index"]
PAGES += [f"book/{path.stem}" for path in sorted((ROOT / "book").glob("*.ipynb"))]
PAGES += [f"book/appendix/{path.stem}" for path in sorted((ROOT / "book" / "appendix").glob("*.*"))]
pytestmark = pytest.mark.browser

WATCH = """window.refused = []; addEventListener('securitypolicyviolation',
  (e) => refused.push(`${e.violatedDirective} ${e.blockedURI} ${e.sample}`));"""


class _Strict(http.server.SimpleHTTPRequestHandler):
    policy: Policy

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", header(type(self).policy))
        super().end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def strict(built: Path) -> Iterator[str]:
    """The site behind a server that sends the policy, which can be changed between visits."""
    _Strict.policy = policy(built)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(_Strict, directory=str(built)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def axe() -> str:
    found = importlib.util.find_spec("axe_playwright_python")
    assert found and found.submodule_search_locations
    return (Path(found.submodule_search_locations[0]) / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def tab(chromium: Any) -> Iterator[Any]:
    context = chromium.new_context()
    tab = context.new_page()
    tab.trouble = []
    tab.on("pageerror", lambda error: tab.trouble.append(f"error: {error}"))
    tab.on("console", lambda message: tab.trouble.append(message.text) if message.type == "error" else None)
    tab.add_init_script(WATCH)
    tab.add_init_script(axe() + "; axe.configure({rules: [{id: 'color-contrast', selector: '[data-look]'}]})")
    yield tab
    context.close()


def visit(tab: Any, address: str, press: str = "") -> list[str]:
    """Opens a page; what the browser refuses until its widgets are there and it has been dark."""
    tab.set_viewport_size({"width": 1280, "height": 900})
    tab.emulate_media(color_scheme="light")
    tab.goto(address)
    if tab.locator(".scaling-fallback").count():
        try:
            ready(tab, timeout=15_000)
        except TimeoutError:
            return ["the widgets did not start", *tab.evaluate("refused")]
    if press:
        tab.locator(press).first.evaluate("e => e.click()")
    tab.emulate_media(color_scheme="dark")
    tab.evaluate("() => new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(painted)))")
    tab.emulate_media(color_scheme="light")
    return tab.evaluate("refused")


@pytest.fixture(scope="module", params=PAGES)
def page(request: pytest.FixtureRequest, tab: Any, strict: str) -> Any:
    tab.trouble.clear()
    tab.refused = visit(tab, f"{strict}/{request.param}.html")
    return tab


def test_works_under_the_policy(page: Any) -> None:
    assert page.refused == []


def test_nothing_sticks_out_on_a_phone_or_a_tablet(page: Any) -> None:
    for width in (1024, 800, 320, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = page.evaluate(
        """() => [...document.querySelectorAll('.scaling-widget, .scroll-table, svg.figure, article table')]
        .map(e => e.closest('.scroll-table, .pst-scrollable-table-container, .sx-table') ?? e)
        .filter(e => e.getBoundingClientRect().right > 391).map(e => e.className || e.alt)"""
    )
    page.set_viewport_size({"width": 1280, "height": 900})
    assert wide == []


def test_a_caption_is_seen_wherever_its_picture_is(page: Any) -> None:
    uncover(page)
    pictures, hidden = page.evaluate(
        """() => {
          const seen = (e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true });
          const figures = [...document.querySelectorAll('article figure:has(figcaption)')]
            .filter((figure) => seen(figure.querySelector('img, svg, table')));
          const captions = figures.map((figure) => figure.querySelector('figcaption'));
          return [figures.length, captions.filter((e) => !seen(e)).map((e) => e.textContent)];
        }"""
    )
    assert hidden == []
    assert pictures or page.url.rpartition("/")[2].removesuffix(".html") not in CHAPTERS


def test_a_question_of_each_kind_answered_not_at_all_wrong_and_right(page: Any) -> None:
    chapter = page.url.rpartition("/")[2].removesuffix(".html")
    bank = questions(chapter) if chapter in CHAPTERS else ()
    assert page.locator(".sw-quiz").count() == len(bank)
    some = one_of_each(bank)
    for question in some:
        widget = quiz(page, question)
        widget.locator(".sw-main").click()
        assert "Not checked" in status(widget)
        feedback = answer(widget, question, right=False)
        assert "Not yet" in status(widget) and feedback in status(widget)
        feedback = answer(widget, question, right=True)
        assert status(widget).startswith("✓ Right.") and feedback in status(widget)
    if bank:
        assert f"{len(some)} of {len(bank)} answered right" in page.locator(".sw-progress").inner_text()
    assert page.trouble == []


# What the theme does itself, by rule and element: why it stays.
THEMES_OWN: dict[tuple[str, str], str] = {}

# A page has thousands of elements, most of which are like the one before: rows of a table, words of a program, entries
# of an index. Some of each are looked at, and of the texts that look alike, same colours all the way up, size and
# weight, one.
THIN = """() => {
  document.head.insertAdjacentHTML('beforeend', '<style>* { transition: none !important; }</style>');
  const alike = 'tbody tr:nth-child(n + 9), section:has(> dl.formula):nth-of-type(n + 4)'
    + ', dl.py:nth-of-type(n + 4), .genindextable li:nth-child(n + 4)';
  document.querySelectorAll(alike).forEach((e) => e.remove());
  const seen = new Set();
  for (const e of document.querySelectorAll('.highlight pre span')) {
    if (seen.has(e.className)) e.replaceWith(...e.childNodes);
    seen.add(e.className);
  }
}"""
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
RUN = """(options) => axe.run({resultTypes: ['violations'], preload: false, ...options}).then(
  (result) => result.violations.filter((v) => ['serious', 'critical'].includes(v.impact))
  .flatMap((v) => v.nodes.map((n) => [v.id, n.target.join(' '), n.html.slice(0, 160)])))"""


def findings(page: Any) -> list[list[str]]:
    """Serious and critical ones; of the dark, which differs in colours alone, those of contrast."""
    page.evaluate(THIN)
    found = []
    for scheme, options in (("light", {}), ("dark", {"runOnly": ["color-contrast"]})):
        page.emulate_media(color_scheme=scheme)
        page.evaluate(ONE_OF_EACH_LOOK)
        found += [[f"{rule}, {scheme}", *rest] for rule, *rest in page.evaluate(RUN, options)]
    return [one for one in found if (one[0].split(",")[0], one[1]) not in THEMES_OWN]


def test_nothing_serious_for_those_who_see_or_hear_otherwise(page: Any) -> None:
    for widget in page.locator(".sw-quiz").all()[:2]:  # a message of each, and a hint, are looked at too
        widget.locator("button.sw-main").click()
        widget.get_by_role("button", name="Hint 1 of 3").click()
    assert findings(page) == []


def test_what_is_serious_is_seen(tab: Any, strict: str) -> None:
    visit(tab, f"{strict}/book/appendix/symbols.html")
    tab.evaluate(
        """() => document.querySelector('article').insertAdjacentHTML('afterbegin',
          '<img src="x.svg"><p style="color: #bbb; background: #fff">pale</p><button></button>')"""
    )
    seen = {rule for rule, *_ in findings(tab)}
    assert {"image-alt, light", "button-name, light", "color-contrast, light", "color-contrast, dark"} <= seen


def test_the_policy_is_no_wider_than_it_must_be(strict: str, chromium: Any) -> None:
    whole = _Strict.policy

    def refused() -> list[str]:
        context = chromium.new_context()  # with nothing from the visit before
        page = context.new_page()
        page.add_init_script(WATCH)
        seen = visit(page, f"{strict}/book/07_prefill_disaggregation.html", "[onclick]")
        context.close()
        return seen

    assert refused() == []
    needed = [("script-src", "'unsafe-hashes'"), ("style-src", "'unsafe-inline'"), ("img-src", "data:")]
    try:
        for name, source in needed:
            _Strict.policy = {**whole, name: [other for other in whole[name] if other != source]}
            assert refused(), f"{name} {source} is not needed"
        _Strict.policy = {**whole, "script-src": [s for s in whole["script-src"] if not s.startswith("'sha256-")]}
        assert len([text for text in refused() if text.startswith("script-src")]) > 3
    finally:
        _Strict.policy = whole


def test_hosts_can_print_the_policy(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<script>one()</script><script src='a.js'></script><a onclick='two()'></a>")
    for folder, code in ((tmp_path, 0), (tmp_path / "nowhere", 1)):
        tool = [sys.executable, str(ROOT / "book" / "_tools" / "policy.py"), str(folder)]
        done = subprocess.run(tool, capture_output=True, text=True, check=False)
        assert done.returncode == code and "Traceback" not in done.stderr
        assert done.stderr.startswith("Usage:") if code else done.stdout.count("'sha256-") == 2
