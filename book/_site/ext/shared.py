"""How a page looks from elsewhere: in a list of search results, in a message that links it, at a wrong address.

Each page gets a description and what a shared link shows; the site a picture for that, a page for wrong addresses, a
colophon, and the landing page at its root.
"""

import posixpath
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from search_index import text_of
from sphinx.application import Sphinx

from scaling import H100, LLAMA3_70B, Deployment, decode_step
from scaling.course.plots import TERMS
from scaling.units import ms

CITATION = Path(__file__).parents[3] / "CITATION.cff"
LANDING = "book/index"
CARD = "_static/card.png"
LONGEST = 200  # letters of a description that search engines show


def description(doctree: nodes.document) -> str:
    """The first paragraph of a page, or as many of its sentences as are shown."""
    first = next((text_of(p) for p in doctree.findall(nodes.paragraph) if text_of(p)), "")
    if len(first) <= LONGEST:
        return first
    cut = first[:LONGEST]
    sentences = cut.rpartition(". ")[0]
    return f"{sentences}." if sentences else cut.rpartition(" ")[0] + " …"


def bibtex(citation: dict[str, Any]) -> str:
    """How to cite the edition."""
    authors = " and ".join(f"{{{author['name']}}}" for author in citation["authors"])
    rows = {"title": citation["title"], "author": authors, "year": str(citation["date-released"])[:4]}
    rows |= {"note": f"Edition {citation['version']}"}
    lines = "\n".join(f"  {name} = {{{value}}}," for name, value in rows.items())
    return f"@misc{{serving-llama3-by-the-numbers,\n{lines}\n}}"


def card() -> Figure:
    """The picture of a shared link, 1200 by 630: the title, and one decode step of the home case, to scale."""
    figure = Figure(figsize=(12, 6.3), dpi=100, facecolor="white")
    FigureCanvasAgg(figure)
    home = Deployment(model=LLAMA3_70B, chip=H100, chips=8, weights="fp8", kv="fp8")
    step = decode_step(home, 64, 8192)
    figure.text(0.06, 0.74, "Serving LLaMA 3, by the Numbers", fontsize=37, weight="bold", color="#20262e")
    figure.text(0.06, 0.63, "How large, how fast, how dear: every number computed.", fontsize=25, color="#48566b")
    axes = figure.add_axes((0.06, 0.24, 0.88, 0.22))
    left = 0.0
    for name in ("weights", "cache"):
        width = getattr(step, name) / ms
        axes.barh(0, width, left=left, color=TERMS[name][0], height=0.8)
        axes.text(left + width / 2, 0, f"{name}\n{width:.1f} ms", ha="center", va="center", fontsize=24, color="white")
        left += width
    axes.set(xlim=(0, left), ylim=(-0.5, 0.5))
    axes.axis("off")
    said = "One decode step of LLaMA 3-70B on 8 H100: fp8, 64 sequences of 8,192 tokens, at the peaks"
    figure.text(0.06, 0.14, said, fontsize=16, color="#48566b")
    return figure


def at_root(html: str, page: str) -> str:
    """The HTML of a page as it must read at the root of the site: its own addresses are as seen from there."""
    folder = posixpath.dirname(page)

    def one(found: re.Match[str]) -> str:
        path, mark, rest = found[3].partition("#")
        moved = posixpath.normpath(posixpath.join(folder, path)) if path else ""
        return f'{found[1]}{found[2]}="{moved}{mark}{rest}"'

    local = r'(<[^>]*?\s)(href|src|action)="(?![a-z]+:|/|#)([^"]*)"'
    return re.sub(local, one, html).replace('data-content_root="../"', 'data-content_root="./"')


def _tell(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    context["description"] = description(doctree) if doctree else ""
    address = app.config.html_baseurl
    context["card"] = f"{address}{CARD}" if address else ""
    if pagename == LANDING and address:
        context["pageurl"] = address
    citation = yaml.safe_load(CITATION.read_text(encoding="utf-8"))
    released = date.fromisoformat(str(citation["date-released"]))
    context["edition"], context["released"] = citation["version"], f"{released.day} {released:%B %Y}"
    context["bibtex"] = bibtex(citation)


def _lost(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    yield "404", {"base": app.config.html_baseurl or "/"}, "404.html"


def _finish(app: Sphinx, error: Exception | None) -> None:
    if error or app.builder.name != "html":
        return
    card().savefig(Path(app.outdir, CARD), metadata={"Software": None})
    landing = Path(app.outdir, f"{LANDING}.html")
    if landing.exists():
        Path(app.outdir, "index.html").write_text(
            at_root(landing.read_text(encoding="utf-8"), LANDING), encoding="utf-8"
        )


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx; the root is copied when the landing page is as it stays."""
    app.add_css_file("colophon.css")
    app.connect("html-page-context", _tell)
    app.connect("html-collect-pages", _lost)
    app.connect("build-finished", _finish, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
