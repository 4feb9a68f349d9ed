"""The README's example prints what the README says, the landing page's runs, and the README stays short."""

import re
import subprocess
import sys

from tests.paths import ROOT

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def block(language: str, text: str = TEXT) -> str:
    return re.search(rf"```{language}\n(.*?)```", text, re.S).group(1)


def test_the_example_prints_what_is_said() -> None:
    done = subprocess.run([sys.executable, "-c", block("python")], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout == block("text")


def test_the_landing_page_ends_with_a_launch_line() -> None:
    snippet = block("python", (ROOT / "book" / "index.md").read_text(encoding="utf-8"))
    done = subprocess.run([sys.executable, "-c", snippet], capture_output=True, text=True, cwd=ROOT, check=True)
    assert "sglang serve" in done.stdout and "# --tp-size 8: " in done.stdout  # the line, and a reason for a flag


def test_it_is_short_and_its_links_lead_somewhere() -> None:
    assert len(TEXT.splitlines()) < 80
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", TEXT):
        assert (ROOT / target).exists(), target
