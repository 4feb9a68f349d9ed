"""One mutant at a time, in a copy of the tree: a forked process runs the tests that should notice, and is judged."""

import ast
import json
import os
import re
import resource
import shutil
import signal
import sys
import time
import tomllib
import traceback
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tests.strength.mutants.operators import Mutant

ROOT = Path(__file__).parents[3]
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
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mutmut"]


def formula_tests() -> Tests:
    """What mutmut runs: files of tests, and single tests left out."""
    return tuple(settings()["pytest_add_cli_args_test_selection"])


@cache
def _about(path: str) -> Tests:
    """The unit tests that use a module or its package, its own first."""
    *_, package, stem = ("scaling", *Path(path).with_suffix("").parts[1:])
    top = Path(path).with_suffix("").parts[1]
    found = []
    for test in (ROOT / "tests").glob("*/test_*.py"):
        text = test.read_text(encoding="utf-8")
        if re.search(rf"scaling\.{top}\b|from scaling import .*\b{top}\b", text):
            own = (f"test_{stem}.py", f"test_{package}.py")
            found.append(
                (test.name not in own, -len(re.findall(rf"\b{stem}\b", text)), test.relative_to(ROOT).as_posix())
            )
    return tuple(name for _, _, name in sorted(found))


def stages(mutant: Mutant) -> list[Tests]:
    """What to run, the likeliest to notice first; a later stage only if all before it stay green."""
    if mutant.kind in ("formulas", "catalogue"):
        first = [name for name in _about(mutant.path) if name in formula_tests()][:1]
        return [(*first, "tests/scaling/test_published.py"), formula_tests()]
    if mutant.kind == "quizzes":
        file, bank = "tests/pages/test_quizzes.py", Path(mutant.path).stem
        rules = (file, "-k", f"{bank} and not stores_today")
        stored = (f"{file}::test_the_page_stores_today_s_questions_unanswered[{bank}]",)
        return [rules, stored] if mutant.role == "key" else [stored, rules]
    if mutant.kind == "engines":
        return [(name,) for name in _about(mutant.path)]
    return [("tests/pages/test_claims.py",)]


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


# Plots: one kernel for all the mutants of a notebook ------------------------------------------------------------------


class _Failed:
    """Writes down which code cells failed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cells: dict[str, bool] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        number = report.nodeid.rpartition("Cell ")[2]
        self.cells[number] = self.cells.get(number, False) or report.failed

    def pytest_sessionfinish(self) -> None:
        self.path.write_text(json.dumps(self.cells))


def drawn(mutants: list[Mutant]) -> list[Verdict]:
    """Strict nbval on a notebook in which each plot is followed by its mutants, and by itself once more.

    The plot itself has to pass both times: a mutant that leaves something behind for the next would be noticed.
    """
    path, failed = _tree / mutants[0].path, _Failed(_tree.with_suffix(".json"))
    original = path.read_text(encoding="utf-8")
    book = json.loads(original)
    by_cell = defaultdict(list)
    for mutant in mutants:
        _sound(mutant)
        by_cell[mutant.cell].append(mutant)
    cells: list[dict[str, Any]] = []
    tried: dict[str, Mutant | None] = {}
    for i, cell in enumerate(book["cells"][: max(by_cell) + 1]):
        source = "".join(cell["source"])
        if cell["cell_type"] != "code" or source.startswith(("quiz(", "quiz.")):
            continue
        versions: list[Mutant | None] = [None, *by_cell[i], None] if i in by_cell else [None]
        for mutant in versions:
            if i in by_cell:
                tried[str(len(cells))] = mutant
            cells.append({**cell, "source": mutant.text if mutant else source, "id": f"c{len(cells)}"})
    try:
        _write(path, json.dumps({**book, "cells": cells}))
        options = ("-p", "nbval.plugin", "--nbval", "--nbval-cell-timeout=60")
        pytest_in_the_copy((*options, mutants[0].path), [failed])
        red = json.loads(failed.path.read_text())
    finally:
        _write(path, original)
    if wrong := [number for number, mutant in tried.items() if mutant is None and red[number]]:
        raise RuntimeError(
            f"{mutants[0].path}: plots that nobody changed fail, code cells {', '.join(wrong)} of the copy"
        )
    return [Verdict(mutant, int(red[number])) for number, mutant in tried.items() if mutant]
