"""Execute notebooks in place and make the result byte-stable: the same inputs give the same file.

Usage: python book/_tools/execute.py NOTEBOOK...
"""

import hashlib
import os
import re
import sys
import tempfile
import time
from asyncio import CancelledError
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

SHOWN = {"idea", "exercise"}  # tags of cells whose code a reader is to see; that of any other is folded away
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


def normalised(notebook: nbformat.NotebookNode, name: str) -> nbformat.NotebookNode:
    """The notebook without what differs from run to run: times, and widgets that have lost their kernel.

    A widget's HTML says all that the site needs of it. Stored without its kernel, a live view would be an error message
    in JupyterLab, in the place of that HTML.
    """
    notebook.metadata.pop("widgets", None)
    notebook.metadata["language_info"] = {"name": "python"}
    notebook.metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    prefix = name.replace("_", "-")
    for cell in notebook.cells:
        if not cell.get("id", "").startswith(prefix):  # a new cell: its id stays when its text changes
            cell["id"] = f"{prefix}-{hashlib.sha256(cell.source.encode()).hexdigest()[:8]}"
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            _fold(cell)
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(WIDGET_VIEW, None)
    return notebook


def _fold(cell: nbformat.NotebookNode) -> None:
    """Hide the code in JupyterLab, and with it on the site, unless the cell's tags say that it is to be seen."""
    jupyter = {name: value for name, value in cell.metadata.pop("jupyter", {}).items() if name != "source_hidden"}
    if not SHOWN.intersection(cell.metadata.get("tags", [])):
        jupyter["source_hidden"] = True
    if jupyter:
        cell.metadata["jupyter"] = jupyter


def execute(path: Path) -> None:
    """Run the notebook from its own folder and replace the file only when it ran to its end."""
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(path.parent)}}
    options: dict[str, Any] = {
        "timeout": 120,
        "record_timing": False,
        "coalesce_streams": True,
        "kernel_name": "python3",
    }
    client = NotebookClient(notebook, resources=resources, **options)
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as told:
        try:
            client.execute(stderr=told, env=_environment())
        except CellExecutionError:
            raise
        except Exception as error:  # only a kernel that failed itself has said something worth passing on
            told.seek(0)
            raise RuntimeError(" ".join([str(error), *told.read().splitlines()[-1:]])) from error
    _replace(path.resolve(), nbformat.writes(normalised(notebook, path.stem)) + "\n")


def _environment() -> dict[str, str]:
    """What a kernel is told: the package of this folder, whichever is installed, and figures that stay in the page."""
    environment = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    return environment | {"PYTHONPATH": str(Path(__file__).parents[2])}


def _replace(path: Path, text: str) -> None:
    """Write beside the file, then move into place: it is never half written, and nothing else is left behind."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".tmp", delete=False, encoding="utf-8") as file:
        try:
            file.write(text)
            file.close()
            os.chmod(file.name, path.stat().st_mode & 0o777)
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


def _said(error: BaseException) -> str:
    """What went wrong, on one line."""
    if isinstance(error, CellExecutionError):
        text = f"a cell failed with {error.ename}: {error.evalue}"
    else:
        text = str(error) or f"the run was stopped ({type(error).__name__})"
    return " ".join(re.sub(r"\x1b\[[0-9;]*m", "", text).split())[:300]


def main(arguments: list[str]) -> int:
    """Execute the notebooks named; 2 for a path that is no notebook, 1 for one that did not run to its end, else 0."""
    if not arguments or set(arguments) & {"-h", "--help"}:
        print("Usage: python book/_tools/execute.py NOTEBOOK...  (such as book/02_memory.ipynb)")
        return 0 if arguments else 2
    paths = [Path(argument) for argument in arguments]
    for path in paths:
        if path.suffix != ".ipynb" or not os.path.isfile(path):
            print(f"execute: there is no notebook at {path}; give paths that end in .ipynb.", file=sys.stderr)
            return 2
        try:
            nbformat.read(path, as_version=4)
        except Exception as error:
            print(f"execute: {path} is not a readable notebook: {_said(error)}", file=sys.stderr)
            return 2
    for path in paths:
        start = time.perf_counter()
        try:
            execute(path)
        except Exception as error:  # a cell, the kernel or the disk: none of them may cost the file
            print(f"execute: {path} is unchanged: {_said(error)}", file=sys.stderr)
            return 1
        print(f"{path}  {time.perf_counter() - start:.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (KeyboardInterrupt, CancelledError):
        sys.exit("execute: stopped; a notebook that had not run to its end is unchanged.")
