"""Every JavaScript test of the repository, under Node's own runner."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.conftest import tool
from tests.paths import ROOT

TESTS = ROOT / "tests"
FILES = sorted(TESTS.rglob("*.test.mjs"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.removesuffix(".test.mjs"))
def test_under_node(path: Path) -> None:
    command = [tool("node"), "--test", "--test-reporter=tap", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    passed = re.search(r"^# pass (\d+)$", done.stdout, re.MULTILINE)
    assert passed and int(passed[1]) > 1, "Node calls a file without any test one that has passed"
