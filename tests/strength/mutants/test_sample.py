"""A few mutants of each kind in every run of the tests (`make mutation` tries them all), and the gate on trial."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.strength.mutants import gate
from tests.strength.mutants.operators import (
    Mutant,
    Source,
    in_mutmut_s_reach,
    of_bank,
    of_claims,
    of_module,
    of_notebook,
)
from tests.strength.mutants.trial import ROOT, Verdict

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
    assert sum(int(killed) for *_, killed in rows) >= 20
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
RED = "def test():\n    assert False\n"
ACCEPTED = """
[[because]]
reason = "Nobody asks."
mutants = [
    { path = "scaling/box.py", where = "KILO", old = "KILO = 1e3", new = "KILO = 1010.0" },
]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for folder in ("scaling", "tests", "tests/scaling", "tests/strength", "tests/strength/mutants"):
        (root / folder).mkdir(parents=True)
        (root / folder / "__init__.py").write_text("")
    for name in ("gate.py", "trial.py", "operators.py"):
        shutil.copy2(HERE / name, root / "tests/strength/mutants")
    (root / "scaling/box.py").write_text(FORMULA)
    (root / "tests/scaling/test_published.py").write_text("def test():\n    assert True\n")
    (root / "pyproject.toml").write_text(
        '[tool.mutmut]\nonly_mutate = ["scaling/box.py"]\n'
        'pytest_add_cli_args_test_selection = ["tests/scaling/test_box.py"]\n'
    )
    return root


def tried(project: Path, test: str) -> subprocess.CompletedProcess[str]:
    (project / "tests/scaling/test_box.py").write_text(test)
    return run("formulas", "--only", "box", at=project)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_survivor_is_named_and_what_a_test_notices_is_not(project: Path) -> None:
    before = contents(project / "scaling")
    done = tried(project, WEAK)
    assert done.returncode == 1 and done.stdout.count("UNEXPLAINED") == 2, done.stdout + done.stderr
    assert "scaling/box.py, Box.length\n    - return 2 * KILO\n    + return 3 * KILO\n" in done.stdout
    assert re.search(r"formulas +3 +1 +0 +2 +33\.3 %", done.stdout)  # half of it is less than 2000
    assert contents(project / "scaling") == before


def test_tests_that_are_red_without_a_mutant_prove_nothing(project: Path) -> None:
    done = tried(project, RED)
    assert done.returncode == 2 and "red without any mutant" in done.stdout


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_leaves_nothing_behind(project: Path, tmp_path: Path, how: signal.Signals) -> None:
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
        start_new_session=True,
    )
    until = time.monotonic() + 60
    while not (started.exists() and started.read_text()) and time.monotonic() < until:
        time.sleep(0.05)
    (os.killpg if how == signal.SIGINT else os.kill)(running.pid, how)  # Ctrl-C reaches the whole group
    said, _ = running.communicate(timeout=60)
    assert running.returncode == 130 and "stopped; nothing is left behind" in said
    assert list(scratch.iterdir()) == [] and contents(project) == before
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)


def test_without_mutmut_one_line_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "mutmut", None)
    assert gate.main(["formulas"]) == 2
    assert capsys.readouterr().out == (
        "mutmut is missing: `make mutation` installs it, or pip install -r tests/strength/mutants/requirements.txt\n"
    )


def test_an_accepted_mutant_that_is_killed_or_gone_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    one = Mutant("formulas", "scaling/box.py", "KILO", "KILO = 1e3", "KILO = 1010.0", "")
    cases = (([0], 0, "accepted, 1: Nobody asks."), ([1], 1, "STALE"), ([], 1, "STALE"))
    for stages, code, said in cases:
        verdicts = gate.Verdicts({one.key: "Nobody asks."})
        verdicts.seconds["formulas"], verdicts.total["formulas"] = 1.0, 99
        verdicts.take(Verdict(one, stage) for stage in stages)
        assert verdicts.report(whole=["formulas"]) == code
        assert said in capsys.readouterr().out
    assert gate.Verdicts({one.key: "Nobody asks."}).report(whole=["plots"]) == 0


def test_a_low_score_of_the_formulas_is_a_failure_even_if_explained(capsys: pytest.CaptureFixture[str]) -> None:
    some = [Mutant("formulas", "scaling/box.py", "KILO", "KILO = 1e3", f"KILO = {i}", "") for i in range(100)]
    for killed, code in ((94, 1), (95, 0)):
        verdicts = gate.Verdicts({m.key: "Nobody asks." for m in some[killed:]})
        verdicts.seconds["formulas"] = 1.0
        verdicts.take(Verdict(m, int(i < killed)) for i, m in enumerate(some))
        assert verdicts.report(whole=["formulas"]) == code
        assert ("must be 95 % or better" in capsys.readouterr().out) is bool(code)


def test_an_accepted_mutant_has_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "accepted.toml"
    path.write_text(ACCEPTED)
    key = ("scaling/box.py", "KILO", "KILO = 1e3", "KILO = 1010.0")
    assert gate.accepted(path) == {key: "Nobody asks."}
    path.write_text(ACCEPTED.replace("Nobody asks.", " "))
    with pytest.raises(RuntimeError, match="without a reason"):
        gate.accepted(path)
    known = gate.accepted(HERE / "accepted.toml")
    assert all(len(reason.split()) >= 4 and reason.endswith(".") for reason in known.values())


# Where the mutants come from ------------------------------------------------------------------------------------------


def changes(code: str) -> list[str]:
    source = Source(code)
    edits = [edit for spot in source.spots() for edit in source.edits(spot.node)]
    return sorted(source.text[:start] + new + source.text[end:] for start, end, new in edits)


@pytest.mark.parametrize(
    ("code", "mutants"),
    [
        ("a * (b + 1)", ["a * (b + 2)", "a * (b - 1)", "a / (b + 1)"]),
        ("x = 2.0 ** y", ["x = 2.0 * y", "x = 2.02 ** y"]),
        ("é <= b < c", ["é < b < c", "é <= b <= c"]),
        ("a and b is not c", ["a and b is c", "a or b is not c"]),
        ("b if not a else c", ["(b)", "(c)", "b if a else c"]),
        ("f(x, wrap=True)", ["f(x, wrap=False)"]),
        ("x: Literal[1] = -0.0", ["x: Literal[1] = -1.0", "x: Literal[1] = 0.0"]),
        ("def f(a: 3) -> 4:\n    '''5'''\n    return f'{a + 6}'", []),
    ],
)
def test_operators_and_numbers_are_changed_one_at_a_time(code: str, mutants: list[str]) -> None:
    assert changes(code) == mutants


def test_what_mutmut_does_is_left_to_it(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(
        "A = 1\nclass C:\n    b = 2\n    @property\n    def p(self): return 3\n    def q(self): return 4\n"
        "    @classmethod\n    def r(self): return 5\ndef s(): return 6\n"
    )
    left = of_module("formulas", tmp_path, "m.py", lambda spot: not in_mutmut_s_reach(spot))
    assert [(m.where, m.new) for m in left] == [
        ("A", "A = 2"),
        ("C.b", "b = 3"),
        ("C.p", "def p(self): return 4"),
    ]


def test_every_key_and_every_trap_is_changed(tmp_path: Path) -> None:
    (tmp_path / "bank.py").write_text(
        "Q = (Numeric(id='1-n', answer=f(2), traps=(Trap(value=g(3), feedback='x'),)),\n"
        "Ordering(id='1-o', items=ABC, traps=(WrongOrder(order=CAB),)),\n"
        "Single(id='1-s', options=(Option(text='a', correct=h() > 1), Option(text='b'))))\n"
    )
    found = [(m.where, m.role, m.new) for m in of_bank(tmp_path, "bank.py")]
    assert len(found) == 6
    for place, role, part in [
        ("1-n", "key", "answer=1.5 * (f(2))"),
        ("1-n", "trap", "value=1.5 * (g(3))"),
        ("1-o", "key", "items=tuple(ABC)[::-1]"),
        ("1-o", "trap", "order=(lambda o: (*o[1:], o[0]))(CAB)"),
        ("1-s", "key", "correct=not (h() > 1)"),
        ("1-s", "key", "Option(correct=True, text='b')"),
    ]:
        assert [one for one in found if one[:2] == (place, role) and part in one[2]]


def test_every_value_of_the_ledger_is_changed(tmp_path: Path) -> None:
    (tmp_path / "s01.py").write_text(
        "R = (claim('1-a', 'l', '5 GB', f(5), AGREES, convention=g(6)), claim('1-b', 'l', '', h() < 1, ERRATUM),\n"
        "claim('1-c', 'l', '5 GB', f(7), ERRATUM))\n"
    )
    found = [(m.where, m.new) for m in of_claims(tmp_path, "s01.py")]
    assert [place for place, _ in found] == ["1-a", "1-a", "1-b", "1-c"]
    parts = ("1.1 * (f(5))", "convention=1.1 * (g(6))", "not (h() < 1)", "ledger.quantity('5 GB')[0], ERRATUM")
    for (_, new), part in zip(found, parts, strict=True):
        assert part in new


def test_what_a_cell_draws_is_changed(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "code", "metadata": {}, "source": "x = 1"},
        {
            "cell_type": "code",
            "metadata": {"mystnb": {"figure": {"name": "fig-a"}}},
            "source": ["ax = plots.lines(x, y, title='t')\n", "plots.mark(ax, 10.0, f'{x}')\n", "plt.show()"],
        },
    ]
    (tmp_path / "n.ipynb").write_text(json.dumps({"cells": cells}))
    found = list(of_notebook(tmp_path, "n.ipynb"))
    assert {(m.where, m.cell) for m in found} == {("fig-a", 1)}
    assert [m.new for m in found] == [
        "ax = plots.lines(x, y)",
        'ax = plots.lines(x, y, title="XX")',
        "pass",
        "plots.mark(ax, 11.0, f'{x}')",
        "plots.mark(ax, 10.0, f'XX{x}')",
    ]
