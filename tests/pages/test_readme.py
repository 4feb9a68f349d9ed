"""The README's example prints what the README says, and the README stays short."""

import re
import subprocess
import sys

from tests.paths import ROOT

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    return re.search(rf"```{language}\n(.*?)```", TEXT, re.S).group(1)


def test_the_example_prints_what_is_said() -> None:
    done = subprocess.run([sys.executable, "-c", block("python")], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout == block("text")


def test_it_is_short_and_its_links_lead_somewhere() -> None:
    assert len(TEXT.splitlines()) < 80
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", TEXT):
        assert (ROOT / target).exists(), target
