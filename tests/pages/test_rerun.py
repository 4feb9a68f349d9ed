"""Run all cells, then each again, from the last to the first: every one gives what the page shows."""

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.paths import ROOT

NOTEBOOKS = sorted((ROOT / "book").glob("*.ipynb"))
LIVE = "application/vnd.jupyter.widget-view+json"  # a widget's id in its kernel: not stored, new each time


def shown(cell: Any) -> list[Any]:
    """What a reader sees below a cell."""
    data = [{kind: text for kind, text in out.get("data", {}).items() if kind != LIVE} for out in cell.outputs]
    texts = [(out.get("name"), out.get("text"), out.get("ename"), out.get("evalue")) for out in cell.outputs]
    return list(zip(texts, data, strict=True))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_cell_run_again_after_all_others_gives_the_same(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    stored = {cell.id: shown(cell) for cell in notebook.cells if cell.cell_type == "code"}
    options = {"timeout": 120, "allow_errors": True, "coalesce_streams": True}
    client = NotebookClient(notebook, resources={"metadata": {"path": str(path.parent)}}, **options)
    with client.setup_kernel():
        cells = [(i, cell) for i, cell in enumerate(notebook.cells) if cell.id in stored]
        for i, cell in [*cells, *reversed(cells)]:
            client.execute_cell(cell, i)
            again = shown(cell)
            assert again == stored[cell.id], f"{cell.id} gives {again}: two cells bind a name that it reads"
