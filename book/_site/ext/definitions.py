"""What a letter or a term means, where it is first read: terms lead to their definition, letters stand by equations.

Both are read from the page of symbols and terms. In a chapter the first use of a term, and of a letter that stands
alone, is a link to its line there; ``terms.js`` shows the meaning on hovering, on focus or on a tap. The letters of an
equation that are new in the chapter are listed in the margin, or below it on a narrow screen.
"""

import re
from collections.abc import Iterator
from functools import cache
from html import escape
from typing import Any, NamedTuple

from docutils import nodes
from maths import typeset
from sphinx.application import Sphinx
from symbols import PAGE, symbols

SYMBOLS = "book/appendix/symbols"


class Definition(NamedTuple):
    """A line of the page of symbols and terms."""

    place: str
    meaning: str
    tex: str = ""


class Defined(nodes.Inline, nodes.TextElement):  # type: ignore[misc] # docutils has no types
    """A first use: `place` and `meaning` of what it names."""


def _plain(text: str) -> str:
    """Markdown as plain words; formulas in it keep their TeX's letters."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\$([^$]*)\$", lambda tex: re.sub(r"\\[,;]|\\text|[{}$]", "", tex[1]), text)
    return " ".join(re.sub(r"[*`]", "", text).split())


def _lines(columns: int) -> Iterator[list[str]]:
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) == columns and not set(cells[0]) <= set("-: "):
            yield cells


def place(name: str) -> str:
    """The anchor of a letter's or a term's line."""
    return "def-" + re.sub(r"\W+", "-", name).strip("-")  # case counts: M is not m


@cache
def letters() -> dict[str, Definition]:
    """By symbol, such as ``B_crit``: what the table says of it up to its first semicolon, and its unit."""
    found: dict[str, Definition] = {}
    for shown, meaning, _, unit in _lines(4):
        for tex in re.findall(r"\$([^$]+)\$", shown):
            if len(named := symbols(tex)) != 1:
                continue  # a product, such as N W
            said = _plain(meaning.partition(";")[0])
            said += "" if unit in "–-" or unit in said else f", in {_plain(unit)}"
            found[named[0]] = Definition(place("letter " + named[0].replace("_", "-")), said, tex)
    return {name: one for name, one in found.items() if name != "T"}


@cache
def terms() -> dict[str, Definition]:
    """By each name of a term: ``TTFT, time to first token`` has two."""
    text = PAGE.read_text(encoding="utf-8").partition("## Terms")[2]
    found: dict[str, Definition] = {}
    for name, meaning in re.findall(r"^\| ([^|]+?) \| ([^|]+?) \|$", text, re.MULTILINE):
        if name != "Term" and not set(name) <= set("-"):
            found |= {one.strip(): Definition(place(name), _plain(meaning)) for one in name.split(",")}
    return found


@cache
def _pattern() -> re.Pattern[str]:
    names = sorted(terms(), key=len, reverse=True)
    either = [
        name if name.isupper() else f"[{name[0].upper()}{name[0].lower()}]{re.escape(name[1:])}" for name in names
    ]
    return re.compile(r"(?<![\w-])(" + "|".join(either) + r")(?![\w-])")


def _named(text: str) -> Definition:
    return next(one for name, one in terms().items() if name.lower() == text.lower())


def _link(definition: Definition, *children: nodes.Node) -> Defined:
    return Defined("", "", *children, place=definition.place, meaning=definition.meaning)


def _first_terms(paragraph: nodes.paragraph, seen: set[str]) -> None:
    for node in list(paragraph.findall(nodes.Text)):
        if not isinstance(node.parent, (nodes.paragraph, nodes.emphasis)):
            continue
        parts, at = [], 0
        for found in _pattern().finditer(text := node.astext()):
            definition = _named(found[1])
            if definition.place not in seen:
                seen.add(definition.place)
                parts += [nodes.Text(text[at : found.start()]), _link(definition, nodes.Text(found[1]))]
                at = found.end()
        if parts:
            node.parent.replace(node, [*parts, nodes.Text(text[at:])])


def _first_letters(paragraph: nodes.paragraph, seen: set[str]) -> None:
    for node in list(paragraph.findall(nodes.math)):
        names = symbols(node.astext())
        definition = letters().get(names[0]) if len(names) == 1 else None
        alone = not re.search(r"[=<>+*/\d]|frac|cdot", node.astext())
        if definition and alone and isinstance(node.parent, nodes.paragraph) and definition.place not in seen:
            seen.add(definition.place)
            node.parent.replace(node, _link(definition, node.deepcopy()))


def _beside(equation: nodes.math_block, seen: set[str]) -> None:
    """List the letters of an equation that no earlier one had."""
    new = [name for name in dict.fromkeys(symbols(equation.astext())) if name in letters() and name not in seen]
    seen.update(new)
    lines = [
        f'<div><span class="math">{typeset(letters()[name].tex)}</span> {escape(letters()[name].meaning)}</div>'
        for name in new
    ]
    if lines:
        note = nodes.raw(
            "", f'<div class="margin-note letters">{"".join(lines)}</div>', format="html", classes=["letters"]
        )
        equation.parent.insert(equation.parent.index(equation) + 1, note)


def _define(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    if docname == SYMBOLS:
        _anchors(doctree)
    elif re.search(r"/\d\d_", docname):
        seen: set[str] = set()
        listed: set[str] = set()
        for node in list(doctree.findall(lambda n: isinstance(n, (nodes.paragraph, nodes.math_block)))):
            if isinstance(node, nodes.math_block):
                if isinstance(node.parent, nodes.section):
                    _beside(node, listed)
            elif "margin-note" not in node["classes"] and not isinstance(node.parent, nodes.entry):
                _first_terms(node, seen)
                _first_letters(node, seen)


def _anchors(doctree: nodes.document) -> None:
    for row in doctree.findall(nodes.row):
        if len(row) not in (2, 4) or not isinstance(row.parent, nodes.tbody):
            continue
        first = row[0]
        tex = [node.astext() for node in first.findall(nodes.math)]
        lone = [found[0] for one in tex if len(row) == 4 and len(found := symbols(one)) == 1]
        named = [letters()[name].place for name in lone if name in letters()]
        if not tex and first.astext().partition(",")[0] in terms():
            named = [terms()[first.astext().partition(",")[0]].place]
        row["ids"] += [name for name in dict.fromkeys(named) if name not in row["ids"]]


def _visit(writer: Any, node: Defined) -> None:
    page = writer.builder.get_relative_uri(writer.builder.current_docname, SYMBOLS)
    href, meaning = f"{page}#{node['place']}", node["meaning"]
    # A letter is a picture to a screen reader's list of links: it is called by what it means.
    label = "" if node.astext() and not node.next_node(nodes.math) else f' aria-label="{escape(meaning)}"'
    writer.body.append(f'<a class="term" href="{escape(href)}" data-meaning="{escape(meaning)}"{label}>')


def _depart(writer: Any, node: Defined) -> None:
    writer.body.append("</a>")


def _load(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    if 'class="term"' in context.get("body", ""):
        app.add_js_file("terms.js", loading_method="defer", priority=700)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx, after references are resolved and before letters get their colours."""
    app.add_node(Defined, html=(_visit, _depart))
    app.connect("doctree-resolved", _define, priority=300)
    app.connect("html-page-context", _load)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
