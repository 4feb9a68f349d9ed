"""The terms of a step have their colours in equations, too: ``T_weights`` is blue wherever it stands.

The sources hold plain TeX, which JupyterLab shows as well. Here each such letter gets the light colour of its term, as
TeX knows colours; ``book.css`` gives that, and so the letter, the term's variable.
"""

import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parents[3]))  # the folder of `scaling`

from scaling.course.plots import COLOURS, TERMS

_WORDS = {**{name: name for name in TERMS}, "coll": "collectives"}
_LETTER = re.compile(r"T_(?:\\text|\\mathrm)?\{(" + "|".join(_WORDS) + r")\}")


def coloured(tex: str) -> str:
    """TeX with the letters of the terms in their colours."""
    return _LETTER.sub(lambda found: rf"\textcolor{{{COLOURS[_WORDS[found[1]]]}}}{{{found[0]}}}", tex)


def _colour(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    for node in [*doctree.findall(nodes.math), *doctree.findall(nodes.math_block)]:
        tex = coloured(node.astext())
        if tex != node.astext():
            node.children = [nodes.Text(tex)]
            node.rawsource = tex


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("doctree-resolved", _colour, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
