"""What every test may ask for: laws that try the same inputs on each build machine, the built site, a browser."""

import fcntl
import http.server
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.paths import ROOT

_QUIET: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("dev", max_examples=30, **_QUIET)
settings.register_profile("ci", max_examples=30, derandomize=True, database=None, **_QUIET)
# `make fuzz`: other inputs each time, and many.
settings.register_profile("fuzz", max_examples=400, **_QUIET)
# While mutants are tried a law that fails has said enough: no smaller example is looked for.
settings.register_profile("mutation", settings.get_profile("ci"), phases=(Phase.explicit, Phase.generate))
settings.load_profile(os.environ.get("LAWS") or ("ci" if os.environ.get("CI") else "dev"))


def tool(*names: str) -> str:
    """Path of the first of these programs; without one the test is skipped, and on a build machine it fails."""
    for name in names:
        if found := shutil.which(name):
            return found
    reason = f"needs {' or '.join(names)}, which this machine does not have"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One file that needs the built site comes first, the others last: what needs none runs beside the build."""
    first: dict[Path, int] = {}
    for item in items:
        # Where no browser, kernel or site builder of others runs, any warning is ours.
        if any(item.path.is_relative_to(ROOT / "tests" / own) for own in ("scaling", "engines", "course", "lint")):
            item.add_marker(pytest.mark.filterwarnings("error"), append=False)
        if "built" in getattr(item, "fixturenames", ()):
            first.setdefault(item.path, len(first))
    items.sort(key=lambda item: {None: 1, 0: 0}.get(first.get(item.path), 2))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A red chapter says what to do about it."""
    report = yield
    if report.failed and type(item).__name__ == "IPyNbCell":
        said = (
            "The cell gives something else than what is stored. If it should: `make notebooks`, and commit the outputs."
        )
        report.sections.append(("What to do", said))
    return report


def _build(out: Path) -> None:
    command = [str(Path(sys.executable).parent / "jupyter-book"), "build", str(ROOT)]
    command += ["-W", "-n", "--keep-going", "--quiet", "--path-output", str(out)]
    env = {name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    said = "" if done.returncode == 0 else f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    (out / "said.txt").write_text(said, encoding="utf-8")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The site, built from the working tree with warnings as errors; its folder of HTML. Workers share one build.

    SITE names a folder that was built before, such as the one that is going to be published.
    """
    if folder := os.environ.get("SITE"):
        return ROOT / folder
    shared = tmp_path_factory.getbasetemp()
    out = (shared if worker_id == "master" else shared.parent) / "site"
    out.mkdir(exist_ok=True)
    with (out / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (out / "said.txt").exists():
            _build(out)
    said = (out / "said.txt").read_text(encoding="utf-8")
    assert not said, f"the site does not build:\n{said}"
    return out / "_build" / "html"


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="session")
def site(built: Path) -> Iterator[str]:
    """The built site on a local port."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(built)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A headless Chromium in which no name but the local one resolves: the network is off."""
    path = tool("chromium", "chromium-browser", "google-chrome")
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    flags += ["--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        yield browser
        browser.close()
