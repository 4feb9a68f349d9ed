"""Cells that run where they are read: an editor for each cell with the tag `exercise` or `try`, and what Python needs.

Of the package, the banks and their data the build makes one archive, the same bytes from the same files. Python itself
lies in ``book/_site/py``.
"""

import ast
import json
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from sphinx.application import Sphinx

ROOT = Path(__file__).parents[3]
TAGS = ("exercise", "try")
# What the page shows by other means, and what needs packages that are not in it.
LEFT_OUT = ("scaling/course/widgets/", "scaling/course/plots.py", "scaling/__main__.py")


class Runs(NamedTuple):
    """A cell that runs in the page: its name, what runs before it, and the line that checks it ("" where none does)."""

    name: str
    before: str
    check: str


def running(notebook: Path) -> list[Runs]:
    """The cells of a notebook that run in its page, in order.

    An exercise is named after its chapter and its entry in the bank, "02-cache"; another cell has its id for a name.
    """
    cells = [c for c in json.loads(notebook.read_text(encoding="utf-8"))["cells"] if c["cell_type"] == "code"]
    above: list[ast.stmt] = []
    found = []
    for cell in cells:
        body = ast.parse("".join(cell["source"])).body
        tags = set(cell["metadata"].get("tags", [])) & set(TAGS)
        if tags:
            check = ast.unparse(body[-1]) if "exercise" in tags else ""
            exercise = re.fullmatch(r"check\(\w+, \*bank\.(\w+)\)", check)
            if check and not exercise:
                raise ValueError(f"{notebook.name}: an exercise ends in check(NAME, *bank.EXERCISE), not in {check!r}.")
            name = f"{notebook.name[:2]}-{exercise[1].lower().replace('_', '-')}" if exercise else str(cell["id"])
            found.append(Runs(name, _needed(above, [] if check else body), check))
        above += body
    return found


def _needed(above: list[ast.stmt], body: list[ast.stmt]) -> str:
    """Every import above a cell, which its reader may want, and of the rest what the names in the cell come from."""
    wanted = _names(body, ast.Load)
    kept: list[ast.stmt] = []
    for statement in reversed(above):
        imports = isinstance(statement, (ast.Import, ast.ImportFrom))
        if imports or wanted & _names([statement], ast.Store):
            kept.append(statement)
            wanted |= _names([statement], ast.Load)
    return "\n".join(ast.unparse(statement) for statement in reversed(kept))


def _names(statements: Iterable[ast.stmt], how: type[ast.expr_context]) -> set[str]:
    """The names that statements read (``ast.Load``) or bind (``ast.Store``)."""
    every = [node for statement in statements for node in ast.walk(statement)]
    names = {node.id for node in every if isinstance(node, ast.Name) and isinstance(node.ctx, how)}
    defined = {node.name for node in every if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    return names | (defined if how is ast.Store else set())


def archive(path: Path) -> None:
    """Write the archive. Sorted, and of one date, so that it changes only with what is in it."""
    cells = {
        one.name: {"before": one.before, "check": one.check}
        for notebook in sorted((ROOT / "book").glob("*.ipynb"))
        for one in running(notebook)
    }
    files = {"lab.py": (ROOT / "book/_site/py/lab.py").read_bytes(), "cells.json": json.dumps(cells, indent=1).encode()}
    for pattern in ("scaling/**/*.py", "scaling/data/*", "scaling/course/*.css", "book/quizzes/*.py", "book/data/*"):
        for file in ROOT.glob(pattern):
            if file.is_file() and not (name := file.relative_to(ROOT).as_posix()).startswith(LEFT_OUT):
                files[name] = file.read_bytes()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name in sorted(files):
            book.writestr(zipfile.ZipInfo(name), files[name], zipfile.ZIP_DEFLATED, 9)


def _name(app: Sphinx, doctree: nodes.document) -> None:
    """Give the cells of a page that run the ids by which the editor, and links, know them."""
    cells = [n for n in doctree.findall(nodes.container) if {f"tag_{tag}" for tag in TAGS} & set(n.get("classes", ()))]
    if cells:
        for node, one in zip(cells, running(Path(app.env.doc2path(app.env.docname))), strict=True):
            node["ids"].append(f"code-{one.name}")


def _load(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """`data-python` asks for Python alone, for a form that calls it."""
    body = context.get("body", "")
    editors = 'id="code-' in body
    if editors or "data-python" in body:
        app.add_js_file("lab.js", loading_method="defer", priority=190)
    if editors:
        app.add_js_file("editor.js", loading_method="defer", priority=195)
        app.add_css_file("widgets.css")
        app.add_css_file("editor.css")


def _finish(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        archive(Path(app.outdir, "_static", "py", "book.zip"))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("doctree-read", _name)
    app.connect("html-page-context", _load)
    app.connect("build-finished", _finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
