"""The built site under a strict Content-Security-Policy: it works, and each thing that the policy adds is needed."""

import http.server
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import TimeoutError

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "book" / "_tools"))
from policy import Policy, header, policy  # noqa: E402

PAGES = ["book/index", "search", *(f"book/{path.stem}" for path in sorted((ROOT / "book").glob("*.ipynb")))]
PAGES += [f"book/appendix/{path.stem}" for path in sorted((ROOT / "book" / "appendix").glob("*.*"))]
WATCH = """window.refused = []; addEventListener('securitypolicyviolation',
  (e) => refused.push(`${e.violatedDirective} ${e.blockedURI} ${e.sample}`));"""
pytestmark = pytest.mark.browser


class _Strict(http.server.SimpleHTTPRequestHandler):
    policy: Policy

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", header(type(self).policy))
        super().end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def strict(built: Path) -> Iterator[tuple[str, type[_Strict]]]:
    """The site behind a server that sends the policy; the policy can be changed between visits."""
    _Strict.policy = policy(built)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(_Strict, directory=str(built)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", _Strict
    server.shutdown()


def refused(chromium: Any, address: str, press: str = "") -> list[str]:
    """What the browser refuses on a page, up to the moment when its widgets and formulas are there."""
    context = chromium.new_context()
    try:
        page = context.new_page()
        page.add_init_script(WATCH)
        page.goto(address)
        if page.locator(".scaling-fallback").count():
            try:
                page.wait_for_selector("html[data-widgets=ready]", state="attached", timeout=5000)
            except TimeoutError:
                return ["the widgets did not start", *page.evaluate("refused")]
        if press:
            page.locator(press).first.evaluate("e => e.click()")
        return page.evaluate("refused")
    finally:
        context.close()


@pytest.mark.parametrize("name", PAGES)
def test_pages_work_under_the_policy(name: str, strict: tuple[str, Any], chromium: Any) -> None:
    address, _ = strict
    assert refused(chromium, f"{address}/{name}.html") == []


def test_the_policy_is_no_wider_than_it_must_be(strict: tuple[str, Any], chromium: Any) -> None:
    address, handler = strict
    whole, visit = handler.policy, partial(refused, chromium, f"{address}/book/02_memory.html", "[onclick]")
    assert visit() == []
    needed = [("script-src", "blob:"), ("script-src", "'unsafe-hashes'"), ("style-src", "'unsafe-inline'")]
    try:
        for name, source in needed:
            handler.policy = {**whole, name: [other for other in whole[name] if other != source]}
            assert visit(), f"{name} {source} is not needed"
        handler.policy = {**whole, "script-src": [s for s in whole["script-src"] if not s.startswith("'sha256-")]}
        assert len([text for text in visit() if text.startswith("script-src")]) > 3
    finally:
        handler.policy = whole


def test_hosts_can_print_the_policy(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<script>one()</script><script src='a.js'></script><a onclick='two()'></a>")
    for folder, code in ((tmp_path, 0), (tmp_path / "nowhere", 1)):
        tool = [sys.executable, str(ROOT / "book" / "_tools" / "policy.py"), str(folder)]
        done = subprocess.run(tool, capture_output=True, text=True, check=False)
        assert done.returncode == code and "Traceback" not in done.stderr
        assert done.stderr.startswith("Usage:") if code else done.stdout.count("'sha256-") == 2
