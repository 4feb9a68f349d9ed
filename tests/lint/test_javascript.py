"""The scripts: linted, formatted and type-checked by the tools that package-lock.json pins, and short."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.conftest import tool
from tests.paths import ROOT

SCRIPTS = [*(ROOT / "scaling").rglob("*.js"), *(ROOT / "book" / "_site").glob("*.js")]
MARKUP = r"\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval|new Function)\b"


def run(name: str, *arguments: str) -> None:
    """Run one of the pinned tools, which `npm ci` puts into node_modules."""
    tool("node")
    program = ROOT / "node_modules" / ".bin" / name
    if not program.exists():
        reason = f"needs {name}: run npm ci in {ROOT}"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    done = subprocess.run([str(program), *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{name} {' '.join(arguments)}:\n{done.stdout}{done.stderr}"


def test_biome_finds_nothing_and_would_format_nothing() -> None:
    """Functions of more than 40 lines are among what it finds. `npx biome check --write` formats."""
    run("biome", "ci", "--error-on-warnings", "--max-diagnostics=50")


def test_the_types_that_the_comments_give_hold() -> None:
    run("tsc", "--pretty", "false")


def long_lines(path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [f"{path.name}:{i}" for i, line in enumerate(lines, 1) if len(line) > 120]


def test_no_line_is_longer_than_120_characters() -> None:
    """The formatter breaks code, and leaves comments as they are."""
    assert [place for path in SCRIPTS for place in long_lines(path)] == []


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_texts_are_set_as_text_never_as_markup(path: Path) -> None:
    assert re.findall(MARKUP, path.read_text(encoding="utf-8")) == []
