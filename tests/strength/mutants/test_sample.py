"""A few mutants of each kind in every run of the tests; `make mutation` tries them all."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.paths import ROOT
from tests.strength.mutants import gate


def test_a_sample_of_mutants_is_seen_and_the_unchanged_tree_is_green() -> None:
    command = [sys.executable, "-m", "tests.strength.mutants.gate", "--jobs", "1", "--sample", "3"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = re.findall(r"^(\w+) +3 mutants +0 alive +0 left +100\.0 %", done.stdout, re.M)
    assert rows == list(gate.KINDS)


def test_what_no_test_notices_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "stages", lambda _: [["tests/scaling/test_units.py"]])
    seen, other = [m for m in gate.mutants("formulas", everything=True) if m.path == "scaling/units.py"][:2]
    harmless = replace(other, text=(ROOT / other.path).read_text(encoding="utf-8"))
    assert gate.tried([seen, harmless], tmp_path, 1) == [harmless]
    assert gate.report("formulas", 2, [harmless], {}, whole=False)
    assert not gate.report("formulas", 2, [harmless], {other.key: "a reason"}, whole=False)
    assert gate.report("formulas", 2, [harmless], {other.key: "a reason", seen.key: "killed by now"}, whole=True)
