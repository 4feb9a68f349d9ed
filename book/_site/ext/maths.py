"""Formulas are typeset when the site is built: pages load no script for them, and wrong LaTeX is a warning.

KaTeX itself, as it lies in ``sphinxcontrib-katex``, runs in a small JavaScript engine from a wheel; no Node is needed.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import dukpy
import sphinxcontrib.katex
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

KATEX = Path(sphinxcontrib.katex.__file__).with_name("katex.min.js")
log = logging.getLogger(__name__)


class WrongLatexError(ValueError):
    """What KaTeX says against a formula."""


@cache
def _engine() -> Any:
    engine = dukpy.JSInterpreter()
    engine.evaljs("var self = globalThis;" + KATEX.read_text(encoding="utf-8") + "; null")
    return engine


@cache
def typeset(latex: str, display: bool = False) -> str:
    """A formula as HTML, with MathML for screen readers. Raises `WrongLatexError`, a ``ValueError``."""
    options = {"displayMode": display, "throwOnError": True, "strict": "ignore"}
    call = f"katex.renderToString({json.dumps(latex)}, {json.dumps(options)})"
    done = _engine().evaljs(f"(() => {{ try {{ return [{call}, ''] }} catch (e) {{ return ['', String(e)] }} }})()")
    if done[1]:
        raise WrongLatexError(done[1])
    return str(done[0])


def _typeset(node: nodes.math | nodes.math_block, display: bool) -> str:
    try:
        return typeset(node.astext(), display)
    except WrongLatexError as error:
        log.warning("wrong LaTeX, %s", error, location=node)
        return ""


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(f'<span class="math">{_typeset(node, display=False)}</span>')
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    number = f'<span class="eqno">({get_node_equation_number(writer, node)})</span>' if node["number"] else ""
    writer.body.append(
        writer.starttag(node, "div", "", CLASS="math") + number + _typeset(node, display=True) + "</div>\n"
    )
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_html_math_renderer("typeset", inline_renderers=(_inline, None), block_renderers=(_block, None))
    app.add_css_file("katex/katex.min.css", priority=150)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
