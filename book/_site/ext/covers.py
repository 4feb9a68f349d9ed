"""What would answer a question is kept together on the page, so that ``hydrate.js`` can cover it until then.

A cell with the tag ``answers:ID``, code or markdown, answers the question ID. Neighbours that answer the same questions
become one ``div``. Without a script it covers nothing.
"""

import json
import re
from html import escape
from itertools import groupby
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging

PREFIX = "answers:"
_log = logging.getLogger(__name__)


def answered(cell: dict[str, Any]) -> tuple[str, ...]:
    """The questions that a cell answers."""
    return tuple(sorted(tag.removeprefix(PREFIX) for tag in cell["metadata"].get("tags", []) if tag.startswith(PREFIX)))


def heading(cell: dict[str, Any]) -> str:
    """The first heading of a cell, "" where it has none."""
    source = re.sub(r"^```.*?^```", "", "".join(cell["source"]), flags=re.M | re.S)
    found = re.search(r"^#+ .*", source, re.M) if cell["cell_type"] == "markdown" else None
    return found[0] if found else ""


def _html(text: str, place: int) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": f"answers-{place}", "metadata": {}, "source": text}


def covered(notebook: str) -> str:
    """A notebook's text with a ``div`` around each run of cells that answer the same questions.

    Raises ``ValueError`` for a heading in such a cell: a section cannot lie half in a ``div``.
    """
    content = json.loads(notebook)
    cells: list[dict[str, Any]] = []
    for ids, run in groupby(content["cells"], answered):
        own = list(run)
        if ids and (found := next(filter(None, map(heading, own)), "")):
            raise ValueError(f"a cell that answers {ids[0]} must have no heading, not {found!r}: split it there.")
        opening = _html(f'<div class="answers" data-answers="{escape(" ".join(ids))}">', len(cells))
        cells += [opening, *own, _html("</div>", len(cells) + 1)] if ids else own
    return json.dumps({**content, "cells": cells})


def _cover(app: Sphinx, docname: str, source: list[str]) -> None:
    if app.env.doc2path(docname).endswith(".ipynb"):
        try:
            source[0] = covered(source[0])
        except ValueError as error:
            _log.warning("%s: %s", docname, error)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("source-read", _cover)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
