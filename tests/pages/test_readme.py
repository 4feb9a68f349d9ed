"""The papers at the root are true: what the README's example prints, the landing page's snippet, places, floors."""

import re
import subprocess
import sys

import pytest
from floors import FLOORS

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


@pytest.mark.parametrize("name", ["README.md", "DESIGN.md", "CONTRIBUTING.md"])
def test_every_place_that_is_named_is_there(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    places = re.findall(r"`((?:\.?\w+/)[\w./]*|\w+\.(?:toml|txt|yml|md))`", text)
    assert len(places) > 2
    for place in places:
        if not re.search("NN_topic|NAME", place):
            assert (ROOT / place).exists(), f"{name} speaks of {place}, which is not there"


def test_the_design_draws_every_folder_and_the_floors() -> None:
    text = (ROOT / "DESIGN.md").read_text(encoding="utf-8")
    drawn = re.search(r"## Floors.*?\n\n((?:    [^\n]+\n)+)", text, re.DOTALL)[1]
    assert tuple(line.strip() for line in drawn.splitlines()) == FLOORS
    for top in ("scaling", "book", "tests"):
        for folder in (ROOT / top).iterdir():
            if folder.is_dir() and not folder.name.startswith((".", "__pycache__")) and folder.name != "batching":
                assert f"`{top}/{folder.name}/`" in text, f"DESIGN.md does not say what {top}/{folder.name} is for"
