"""One mutant at a time, in a copy of the tree: a forked process runs the tests that should notice, and is judged."""

import ast
import os
import resource
import shutil
import signal
import sys
import time
import tomllib
import traceback
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tests.paths import ROOT
from tests.strength.mutants.operators import Mutant

# Seconds that the tests may take: processor time of the first stage, of a later one, and by the clock. A mutant that
# hangs is seen by that.
FIRST, LATER, CLOCK = 30, 150, 900

Tests = tuple[str, ...]


class Verdict(NamedTuple):
    """What became of a mutant: the number of the stage that saw it, from 1, or 0; and the test that did."""

    mutant: Mutant
    stage: int
    test: str = ""


@cache
def settings() -> dict[str, Any]:
    """Where the formula modules and their tests are named: ``[tool.mutmut]`` of pyproject.toml."""
    said: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mutmut"]
    return said


def stages(mutant: Mutant) -> list[Tests]:
    """What to run: the test file of the module's own name, then all of them. The second only if the first is green."""
    parts = Path(mutant.path).with_suffix("").parts[1:]
    folder = "engines" if mutant.kind == "engines" else "scaling"
    own = [f"tests/{folder}/test_{part}.py" for part in reversed(parts)]
    first = [name for name in own if (ROOT / name).exists()][:1]
    everything = (
        ("tests/engines",) if mutant.kind == "engines" else tuple(settings()["pytest_add_cli_args_test_selection"])
    )
    return [(name,) for name in first] + [everything]


_ours: list[int] = []  # processes that were forked here and still run
_clock = 10**9  # each file written here gets a time of its own, so that no stale bytecode is used for it
_tree = Path()  # the copy that this worker changes


def copied(target: Path) -> Path:
    """A copy of what the tests need."""
    target.mkdir(parents=True)
    junk = shutil.ignore_patterns("__pycache__", ".*", "node_modules", "_build")
    for name in ("scaling", "book", "tests"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target / name, ignore=junk)
    for path in ROOT.iterdir():
        if path.is_file() and path.suffix in (".toml", ".yml", ".md", ".txt"):
            shutil.copy2(path, target)
    return target


def start(folder: str) -> None:
    """Make a copy of the tree for this worker."""
    global _tree
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A worker that waits for its next mutant dies of the signal itself: a handler might never get to run there.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _tree = copied(Path(folder) / f"worker{os.getpid()}")


def _stop(*_: object) -> None:
    for pid in _ours:
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    os._exit(143)


def _write(path: Path, text: str) -> None:
    global _clock
    path.write_text(text, encoding="utf-8")
    _clock += 1
    os.utime(path, (_clock, _clock))


def _log() -> Path:
    return _tree.with_suffix(".txt")


def _child(tests: Iterable[str], plugins: list[Any], seconds: int) -> int:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    out = os.open(_log(), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(out, stream)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    os.chdir(_tree)
    sys.path.insert(0, str(_tree))
    # What the gate has loaded of the tree it runs in would be taken for the copy's.
    for name in [name for name in sys.modules if name.partition(".")[0] in ("scaling", "tests")]:
        del sys.modules[name]
    os.environ.update(PYTHONPATH=str(_tree), PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    # Laws try the same inputs each time, and look for no smaller example when they fail.
    os.environ["LAWS"] = "mutation"
    import pytest

    always = ["-q", "-p", "no:cacheprovider", "--rootdir", str(_tree), "-o", "addopts=", "--tb=short"]
    return int(pytest.main([*always, *tests], plugins))


def pytest_in_the_copy(tests: Iterable[str], plugins: list[Any], *, seconds: int = LATER) -> int:
    """Run pytest in a forked process: its exit code, negative when it was stopped. What it prints goes to a file."""
    signal.signal(signal.SIGTERM, _stop)
    pid = os.fork()
    if not pid:
        code = 99
        try:
            code = _child(tests, plugins, seconds)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    _ours.append(pid)
    until = time.monotonic() + CLOCK
    done, status = os.waitpid(pid, os.WNOHANG)
    while not done:
        if time.monotonic() > until:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
        done, status = os.waitpid(pid, os.WNOHANG)
    _ours.remove(pid)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    code = os.waitstatus_to_exitcode(status)
    # No tests, a fault of the gate, wrong arguments: none of them is a verdict. A test whose file does not load is one.
    said = _log().read_text()
    if code in (5, 99) or (code == 4 and "ERROR collecting" not in said):
        raise RuntimeError(f"pytest ended with {code} on {' '.join(tests)}:\n{said[-3000:]}")
    return code


def green(tests: Tests) -> tuple[Tests, str]:
    """What the tests print when they are red without any mutant; nothing when they are green."""
    code = pytest_in_the_copy(("-x", *tests), [])
    return tests, _log().read_text()[-3000:] or f"exit code {code}" if code else ""


def _sound(mutant: Mutant) -> None:
    """A text that is no Python would go red whatever the tests are."""
    try:
        ast.parse(mutant.text)
    except SyntaxError as error:
        raise RuntimeError(f"a mutant is no Python: {mutant}") from error


class _First:
    """Writes down the first test, or file of tests, that failed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.path.write_text("")

    def _note(self, report: Any) -> None:
        if report.failed and not self.path.read_text():
            self.path.write_text(report.nodeid)

    pytest_runtest_logreport = pytest_collectreport = _note


def judged(mutant: Mutant) -> Verdict:
    """Try a mutant, stage by stage, until a test notices."""
    _sound(mutant)
    path = _tree / mutant.path
    original = path.read_text(encoding="utf-8")
    try:
        _write(path, mutant.text)
        for number, tests in enumerate(stages(mutant), 1):
            first = _First(_tree.with_suffix(".first"))
            seconds = FIRST if number == 1 else LATER
            if pytest_in_the_copy(("-x", *tests), [first], seconds=seconds):
                return Verdict(mutant, number, first.path.read_text())
        return Verdict(mutant, 0)
    finally:
        _write(path, original)
