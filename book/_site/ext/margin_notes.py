"""What stands beside the text on a wide screen: where a formula is in code, and paragraphs that begin with *Note:*."""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

_NOTE = re.compile(r"(In code|Note|Source):\s")


def _mark(app: Sphinx, doctree: nodes.document) -> None:
    for paragraph in doctree.findall(nodes.paragraph):
        if isinstance(paragraph.parent, (nodes.section, nodes.document)) and _NOTE.match(paragraph.astext()):
            paragraph["classes"].append("margin-note")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("doctree-read", _mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
