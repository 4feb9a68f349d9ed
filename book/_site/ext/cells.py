"""A page folds the code that JupyterLab folds: that of cells whose metadata say ``source_hidden``."""

import json
from typing import Any

from sphinx.application import Sphinx


def folded(notebook: str) -> str:
    """A notebook's text in which each cell with hidden code has the tag that folds it to one line of a page."""
    content = json.loads(notebook)
    for cell in content["cells"]:
        tags = cell["metadata"].get("tags", [])
        if cell["metadata"].get("jupyter", {}).get("source_hidden") and "remove-input" not in tags:
            cell["metadata"]["tags"] = [*tags, "hide-input"]
    return json.dumps(content)


def _fold(app: Sphinx, docname: str, source: list[str]) -> None:
    if app.env.doc2path(docname).endswith(".ipynb"):
        source[0] = folded(source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("source-read", _fold)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
