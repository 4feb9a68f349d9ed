"""A few mutants of each kind in every run of the tests (`make mutation` tries them all), and the gate on trial."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.paths import ROOT
from tests.strength.mutants import gate

HERE = Path(__file__).parent

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the gate needs a system with fork")


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "tests.strength.mutants.gate", "--jobs", "1", *arguments]


def run(*arguments: str, at: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), cwd=at, capture_output=True, text=True, check=False, timeout=300)


# The sample -----------------------------------------------------------------------------------------------------------


def test_a_sample_of_mutants_is_seen_and_the_unchanged_tree_is_green() -> None:
    done = run("--sample", "4")
    assert done.returncode == 0, done.stdout + done.stderr  # 2 if anything is red without a mutant
    rows = re.findall(r"^(\w+) +(\d+) +(\d+) +\d+ +\d+ +100\.0 %", done.stdout, re.M)
    assert [kind for kind, *_ in rows] == list(gate.KINDS)
    assert sum(int(killed) for *_, killed in rows) >= 10
    assert "SURVIVED" not in done.stdout


# The gate on a project of one formula ---------------------------------------------------------------------------------

FORMULA = """
from functools import cached_property

KILO = 1e3


class Box:
    @cached_property
    def length(self) -> float:
        return 2 * KILO
"""
WEAK = "from scaling.box import *\n\ndef test():\n    assert Box().length >= 2000\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for folder in ("scaling", "tests", "tests/scaling", "tests/strength", "tests/strength/mutants"):
        (root / folder).mkdir(parents=True)
        (root / folder / "__init__.py").write_text("")
    for name in ("gate.py", "trial.py", "operators.py"):
        shutil.copy2(HERE / name, root / "tests/strength/mutants")
    shutil.copy2(ROOT / "tests/paths.py", root / "tests")
    (root / "scaling/box.py").write_text(FORMULA)
    (root / "tests/scaling/test_published.py").write_text("def test():\n    assert True\n")
    (root / "pyproject.toml").write_text(
        '[tool.mutmut]\nonly_mutate = ["scaling/box.py"]\n'
        'pytest_add_cli_args_test_selection = ["tests/scaling/test_box.py"]\n'
    )
    return root


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_survivor_is_named_and_what_a_test_notices_is_not(project: Path) -> None:
    test, before = project / "tests/scaling/test_box.py", contents(project / "scaling")
    test.write_text(WEAK)
    done = run("formulas", "--only", "box", at=project)
    assert done.returncode == 1 and done.stdout.count("UNEXPLAINED") == 2, done.stdout + done.stderr
    assert "scaling/box.py, Box.length\n    - return 2 * KILO\n    + return 3 * KILO\n" in done.stdout
    assert re.search(r"formulas +3 +1 +0 +2 +33\.3 %", done.stdout)  # half of it is less than 2000
    assert contents(project / "scaling") == before
    test.write_text("def test():\n    assert False\n")
    done = run("formulas", "--only", "box", at=project)
    assert done.returncode == 2 and "red without any mutant" in done.stdout


def test_a_run_that_is_stopped_leaves_nothing_behind(project: Path, tmp_path: Path) -> None:
    started, scratch = tmp_path / "started", tmp_path / "scratch"
    scratch.mkdir()
    (project / "tests/scaling/test_box.py").write_text(
        f"import os, time\ndef test():\n    open({str(started)!r}, 'w').write(str(os.getpid()))\n    time.sleep(60)\n"
    )
    before = contents(project)
    running = subprocess.Popen(
        command("formulas", "--only", "box"),
        cwd=project,
        env={**os.environ, "TMPDIR": str(scratch), "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 60
    while not (started.exists() and started.read_text()) and time.monotonic() < until:
        time.sleep(0.05)
    running.terminate()
    said, _ = running.communicate(timeout=60)
    assert running.returncode == 130 and "stopped; nothing is left behind" in said
    assert list(scratch.iterdir()) == [] and contents(project) == before
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)
