"""The search of the site: its sections, terms and functions, each with the words that a reader sees, in one script.

Left out are code, TeX and solutions. A script and not JSON, since a page opened from a folder may fetch nothing.
``search.js`` ranks: what a word means comes before where it is used.
"""

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

SYMBOLS = "book/appendix/symbols"
LISTS = ("book/appendix/formulas", "book/appendix/api")  # of names in code
INDEX = "_static/search-index.js"
_NOT_READ = (nodes.math_block, nodes.literal_block, nodes.comment, nodes.image, addnodes.desc, addnodes.toctree)


def clean(text: str) -> str:
    """Words in one line."""
    return " ".join(text.split())


def seen(html: str) -> str:
    """The words of raw HTML, without scripts, code, and whatever is folded away, such as a solution."""
    html = re.sub(r"<(script|style|svg|details|pre|code)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]+>", " ", html))


def letter(tex: str) -> str:
    """A symbol or a short formula as a reader would type it: ``B_crit``."""
    tex = re.sub(r"\\(?:text|mathrm|textcolor\{[^}]*\})", "", tex)
    return re.sub(r"[{}$\\]|\\[ ,;]", "", tex) if len(tex) < 24 and "\\" not in tex else ""


# Code, and what the letters of an equation mean, which the page of symbols says.
_ASIDE = {"cell_input", "letters"}


def words(node: nodes.Node) -> Iterator[str]:
    """What is read of a node; sections inside it are entries of their own."""
    if isinstance(node, nodes.Text):
        yield node.astext()
    elif isinstance(node, nodes.math):
        yield letter(node.astext())
    elif isinstance(node, (*_NOT_READ, nodes.section)) or _ASIDE & set(node.get("classes", ())):
        yield " "
    elif isinstance(node, nodes.raw):
        yield seen(node.astext()) if "html" in node.get("format", "") else ""
    else:
        for child in node.children:
            yield from words(child)
        if isinstance(node, nodes.TextElement | nodes.entry) and not isinstance(node, nodes.Inline):
            yield " "


def text_of(*some: nodes.Node) -> str:
    """All words of some nodes."""
    return clean("".join(word for node in some for word in words(node)))


def _entry(kind: str, page: str, place: str, title: str, text: str) -> dict[str, str]:
    return {"kind": kind, "page": page, "place": place, "title": title, "text": text}


def _terms(section: nodes.section, page: str, place: str) -> Iterator[dict[str, str]]:
    for row in section.findall(nodes.row):
        cells = [text_of(cell) for cell in row.findall(nodes.entry)]
        if isinstance(row.parent, nodes.tbody) and len(cells) > 1 and cells[0]:
            yield _entry("term", page, place, cells[0], cells[1])


def entries(docname: str, doctree: nodes.document) -> list[dict[str, str]]:
    """A page's own: its sections, the names that it describes, the terms that it defines."""
    found = []
    top: nodes.section | None = next(iter(doctree.findall(nodes.section)), None)
    page = text_of(top[0]) if top else docname
    for section in doctree.findall(nodes.section):
        place = "" if section is top else section["ids"][0]
        kind = "code" if docname in LISTS and section is not top else "section"
        read = [part for part in section[1:] if kind == "section" or isinstance(part, nodes.paragraph)]
        found.append(_entry(kind, page, place, text_of(section[0]), text_of(*read)))
        if docname == SYMBOLS and "terms" in section["ids"] + ["terms"] * ("symbols" in section["ids"]):
            found += _terms(section, page, place)
    for described in doctree.findall(addnodes.desc):
        for signature in described.findall(addnodes.desc_signature):
            if signature.parent is described and signature["ids"]:
                first = next(iter(described[-1].findall(nodes.paragraph)), None)
                name = signature["ids"][0].rpartition(".")[2]
                found.append(_entry("code", page, signature["ids"][0], name, text_of(first) if first else ""))
    return found


def _collect(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    if doctree is not None:
        app.config.search_entries[pagename] = entries(pagename, doctree)
    if pagename == "search":
        app.add_css_file("search.css")


def _page(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    yield "search", {}, "search.html"


def _write(app: Sphinx, error: Exception | None) -> None:
    """Pages that were not written again keep what they had."""
    if error or app.builder.format != "html":
        return
    path = Path(app.outdir, INDEX)
    old = json.loads(path.read_text(encoding="utf-8").partition("=")[2]) if path.exists() else {}
    merged = {page: found for page, found in (old | app.config.search_entries).items() if page in app.env.found_docs}
    text = json.dumps(merged, ensure_ascii=False, separators=(",", ":"))
    path.write_text(f"globalThis.scalingSearch={text}", encoding="utf-8")


def _own(app: Sphinx) -> None:
    """In place of Sphinx's index, which holds import lines, TeX and solutions, and knows pages only."""
    app.builder.search = False  # type: ignore[attr-defined]
    app.config.search_entries = {}


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("builder-inited", _own)
    app.connect("html-page-context", _collect, priority=800)
    app.connect("html-collect-pages", _page)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
