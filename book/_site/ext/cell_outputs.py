"""Tables and traps on the site: their style is served once, and a trap's row is a link to the ledger."""

import re
import sys
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

sys.path.insert(0, str(Path(__file__).parents[3]))  # the folder of `scaling`
sys.path.insert(0, str(Path(__file__).parents[2]))  # the folder of `claims`

from claims import SECTIONS
from scaling.course._look import CSS, STYLE

LEDGER = "book/appendix/claims"
FILE = "outputs.css"
_ROW = re.compile(r'<span data-row="([^"]*)">[^<]*</span>')
_log = logging.getLogger(__name__)


def claims() -> set[str]:
    """The ids of all rows of the ledger."""
    return {claim.id for section in SECTIONS.values() for claim in section.claims}


def on_a_page(html: str, ledger: str, known: set[str]) -> str:
    """Output of a cell without its own style, and with links to the ledger, which lies at `ledger`.

    Raises ``ValueError`` for a row that the ledger does not have.
    """

    def link(found: re.Match[str]) -> str:
        if found[1] not in known:
            raise ValueError(f"row must be an id of the ledger, not {found[1]!r}.")
        return f'<a href="{escape(ledger)}#claim-{found[1]}">In the ledger</a>'

    return _ROW.sub(link, html.replace(STYLE, ""))


def _adapt(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    if app.builder.format != "html":
        return
    ledger, known = app.builder.get_relative_uri(docname, LEDGER), claims()
    for raw in list(doctree.findall(nodes.raw)):
        if STYLE in raw.astext() or _ROW.search(raw.astext()):
            try:
                raw.replace_self(nodes.raw("", on_a_page(raw.astext(), ledger, known), format="html"))
            except ValueError as error:
                _log.warning("%s: %s", docname, error)


def _write(app: Sphinx) -> None:
    folder = Path(app.outdir, "_static")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE).write_text(app.config.output_style, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx. The style is a setting, so that every page is written again when it changes."""
    app.add_config_value("output_style", CSS, "html")
    app.add_css_file(FILE, priority=300)
    app.connect("builder-inited", _write)
    app.connect("doctree-resolved", _adapt)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
