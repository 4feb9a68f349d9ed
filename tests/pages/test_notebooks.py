"""What strict nbval cannot see: notebooks with cleared outputs, live widget views, PNG plots, traces of a machine."""

import importlib.util
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import cells
import pytest

from tests.paths import ROOT

NOTEBOOKS = sorted((ROOT / "book").glob("*.ipynb"))
EXECUTE = ROOT / "book" / "_tools" / "execute.py"


@pytest.fixture(params=NOTEBOOKS, ids=lambda p: p.stem)
def notebook(request: pytest.FixtureRequest) -> dict[str, Any]:
    return json.loads(request.param.read_text(encoding="utf-8"))


def code(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [c for c in notebook["cells"] if c["cell_type"] == "code" and "".join(c["source"]).strip()]


def outputs(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [output for cell in code(notebook) for output in cell["outputs"]]


def test_every_code_cell_was_run(notebook: dict[str, Any]) -> None:
    counts = [cell["execution_count"] for cell in code(notebook)]
    assert counts == list(range(1, len(counts) + 1)), "cells were added or run alone: run make notebooks"


def test_no_cell_failed_or_warned(notebook: dict[str, Any]) -> None:
    for output in outputs(notebook):
        assert output["output_type"] != "error"
        assert output.get("name") != "stderr", output


def test_plots_are_svg_which_nbval_compares(notebook: dict[str, Any]) -> None:
    assert not [output for output in outputs(notebook) if "image/png" in output.get("data", {})]
    assert sum("image/svg+xml" in output.get("data", {}) for output in outputs(notebook)) >= 2


def test_a_widget_is_stored_as_html_alone(notebook: dict[str, Any]) -> None:
    """Its data is in the HTML, which nbval compares; a stored view without its kernel is an error in JupyterLab."""
    assert "widgets" not in notebook["metadata"]
    widgets = [
        o["data"] for o in outputs(notebook) if "scaling-fallback" in "".join(o.get("data", {}).get("text/html", ""))
    ]
    assert widgets and all(set(data) == {"text/html", "text/plain"} for data in widgets), "run make notebooks"
    assert not [text for data in widgets if "export default" in (text := "".join(data["text/html"]))]


def test_cells_that_only_ask_show_no_code_on_the_site(notebook: dict[str, Any]) -> None:
    for cell in code(notebook):
        if re.match(r"quiz(\(|\.progress)", source := "".join(cell["source"])):
            assert "remove-input" in cell["metadata"].get("tags", []), f"{source}: give the cell the tag remove-input"


def test_code_is_folded_unless_it_is_the_idea(notebook: dict[str, Any]) -> None:
    """On the site and in JupyterLab; it stays one click away."""
    for cell in code(notebook):
        tags, hidden = cell["metadata"].get("tags", []), cell["metadata"].get("jupyter", {}).get("source_hidden", False)
        assert hidden is not bool({"idea", "exercise"} & set(tags)), f"{cell['id']}: run make notebooks"
        assert "hide-input" not in tags, f"{cell['id']}: the build folds what JupyterLab folds"


def test_a_page_folds_what_jupyterlab_folds() -> None:
    def tags(*given: str, **jupyter: bool) -> list[str]:
        cell = {"cell_type": "code", "metadata": {"tags": list(given), "jupyter": jupyter}}
        return json.loads(cells.folded(json.dumps({"cells": [cell]})))["cells"][0]["metadata"]["tags"]

    assert tags(source_hidden=True) == ["hide-input"]
    assert tags("idea") == ["idea"] and tags("remove-input", source_hidden=True) == ["remove-input"]


def test_code_fits_its_box(notebook: dict[str, Any]) -> None:
    """At 1280 pixels a line of more than 88 characters wraps, and goes on at the margin: it reads as broken Python."""
    wide = [line for cell in code(notebook) for line in "".join(cell["source"]).splitlines() if len(line) > 88]
    assert not wide, "\n".join(["break these lines:", *wide])


def test_no_mark_in_a_plot_is_typed(notebook: dict[str, Any]) -> None:
    """A number beside a line in a plot comes from the value at which the line stands."""
    typed = r"plots\.(?:mark|level)\([^\n]*, \"[\d.,]+(?: %)?\""
    assert not [found for cell in code(notebook) for found in re.findall(typed, "".join(cell["source"]))]


def test_no_trace_of_a_machine(notebook: dict[str, Any]) -> None:
    for output in outputs(notebook):
        text = json.dumps(output.get("data") or output.get("text", ""))
        assert not re.search(r"0x[0-9a-f]{8,}|/home/|/root/|/tmp/|/Users/|Warning:", text), text[:300]


def test_pages_are_short_and_readable_in_plain_jupyter(notebook: dict[str, Any]) -> None:
    prose = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "markdown"]
    assert sum(len(text.split()) for text in prose) <= 2000
    assert sum(text.count("\n# ") + text.startswith("# ") for text in prose if "```" not in text) == 1
    for text in prose:
        assert not re.search(r"^:::|^```\{|\{(ref|numref|eq|glue|doc|cite)[:}]", text, re.M), text[:200]


def test_links_between_pages_lead_somewhere(notebook: dict[str, Any]) -> None:
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", "".join(cell["source"])):
                assert (ROOT / "book" / target).exists(), target


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """The tool behind `make notebooks`, as a module."""
    spec = importlib.util.spec_from_file_location("execute", EXECUTE)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["missing.ipynb", "folder", "notes.md", "broken.ipynb", "x" * 5000 + ".ipynb"])
def test_a_path_that_is_no_notebook_gets_one_line_and_exit_code_2(
    name: str, tool: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "notes.md").write_text("# notes")
    (tmp_path / "broken.ipynb").write_text("{ not json")
    before = {p: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}
    assert tool.main([str(tmp_path / name)]) == 2
    said = capsys.readouterr().err
    assert len(said.strip().splitlines()) == 1 and name[:100] in said
    assert {p: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()} == before


def notebook_of(source: str, path: Path) -> bytes:
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": source, "outputs": [], "execution_count": None}
    path.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return path.read_bytes()


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("1 / 0", "a cell failed with ZeroDivisionError: division by zero"),
        ("raise ValueError('one\\ntwo')", "a cell failed with ValueError: one two"),
        ("import os; os._exit(3)", "Kernel died"),
    ],
)
def test_a_cell_that_fails_leaves_the_file_unchanged(
    source: str, said: str, tool: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad é.ipynb"
    before = notebook_of(source, path)
    assert tool.main([str(path)]) == 1
    told = capsys.readouterr().err
    assert f"{path} is unchanged: {said}" in told and "Traceback" not in told
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_a_disk_that_fails_leaves_the_file_unchanged_and_nothing_beside_it(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "page.ipynb"
    before = notebook_of("1", path)

    def fail(*_: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(tool.os, "replace", fail)
    with pytest.raises(OSError, match="full"):
        tool._replace(path, "{}")
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_an_interrupted_run_leaves_the_file_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "slow.ipynb"
    before = notebook_of(f"open({str(tmp_path / 'started')!r}, 'w'); import time; time.sleep(60)", path)
    running = subprocess.Popen([sys.executable, str(EXECUTE), str(path)], stderr=subprocess.PIPE, text=True)
    for _ in range(300):
        if (tmp_path / "started").exists():
            break
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 1 and said.rstrip().splitlines()[-1].startswith("execute: ")
    assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["slow.ipynb", "started"]


def test_a_link_to_a_notebook_stays_a_link(tool: ModuleType, tmp_path: Path) -> None:
    path, link = tmp_path / "page.ipynb", tmp_path / "link.ipynb"
    before = notebook_of("print(1)", path)
    link.symlink_to(path)
    assert tool.main([str(link)]) == 0
    assert link.is_symlink() and path.read_bytes() != before


def test_executing_again_gives_the_same_bytes(tmp_path: Path) -> None:
    source = NOTEBOOKS[0]
    (tmp_path / "quizzes").symlink_to(ROOT / "book" / "quizzes")
    copy = tmp_path / source.name
    copy.write_bytes(source.read_bytes())
    done = subprocess.run([sys.executable, str(EXECUTE), str(copy)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert copy.read_bytes() == source.read_bytes(), (
        f"{source.name} is stored otherwise than it runs: run make notebooks"
    )
