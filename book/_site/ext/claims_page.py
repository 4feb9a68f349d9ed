"""The ledger of claims as plain HTML: ``{claims} rules``, ``editions``, ``counts`` and ``table`` on its page.

In a sentence ``{claims}`erratum` `` is the number of the text's rows with that verdict, ``stated`` of all it says.

The page is whole without a script. ``claims.js`` adds the filters, and is loaded on that page only.
"""

import re
import sys
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxRole

sys.path.insert(0, str(Path(__file__).parents[2]))  # the folder of `claims`

from claims import FILES, SECTIONS, ledger
from scaling.course.tables import table
from scaling.units import number

PAGE = "book/appendix/claims"
SIGNS = {ledger.AGREES: "✓", ledger.ROUNDING: "≈", ledger.CONVENTION: "⇄", ledger.ERRATUM: "✗", ledger.UNSTATED: "?"}
Link = Callable[[str], str | None]


def anchor(heading: str) -> str:
    """The id that a page gives a heading."""
    return nodes.make_id(heading)


def shown(value: float | bool, printed: str) -> str:
    """A value in the unit of the printed number; for a sentence, whether it holds."""
    if isinstance(value, bool):
        return "holds" if value else "does not hold"
    _, size, unit = ledger.quantity(printed)
    if re.search(r"\de\d", printed) and value / size >= 1e6:
        mantissa, exponent = f"{value / size:.3e}".split("e")
        return f"{mantissa}e{int(exponent)} {unit}"
    whole = size == 1 and float(value).is_integer()
    return f"{number(int(value) if whole else value / size)} {unit}".strip()


def cell(label: str, *parts: str) -> str:
    """A cell that says which column it is from, for narrow screens."""
    return f'<td data-label="{escape(label)}">{"".join(parts)}</td>'


def row(c: ledger.Claim, expression: str, chapter: str) -> str:
    """One claim. `chapter`: the link to what explains it."""
    place = escape(c.place if c.edition is ledger.TEXT else f"{c.edition.name}, {c.place}")
    own = "" if c.convention is None else f"<br>their way: {escape(shown(c.convention, c.printed))}"
    ratio = f"<span>{number(c.ratio)}</span>" if c.printed else ""
    return (
        f'<tr id="claim-{escape(c.id)}" data-verdict="{c.verdict}"><th scope="row"><a href="#claim-{escape(c.id)}">'
        f"{escape(c.says)}</a><small>{place}</small></th>"
        + cell("Printed", f"<span>{escape(c.printed) or 'in words'}</span>")
        + cell(
            "scaling gives", f"<span>{escape(shown(c.gives, c.printed))}{own}<code>{escape(expression)}</code></span>"
        )
        + cell("Ratio", ratio)
        + cell("Verdict", f'<span class="claims-{c.verdict}">{SIGNS[c.verdict]} {c.verdict}</span>')
        + cell("Why", f"<span>{escape(c.why)} {chapter}</span>")
        + "</tr>"
    )


def chapter_link(section: ledger.Section, heading: str, link: Link) -> str:
    """A link to the chapter of a section, to a heading of it when one is named."""
    text = f"{int(section.chapter[:2])}.\u00a0{heading or section.title}"
    address = link(f"book/{section.chapter}")
    if address is None:
        return f"<small>{escape(text)}</small>"
    return f'<a href="{escape(address)}{"#" + anchor(heading) if heading else ""}">{escape(text)}</a>'


def claims_table(link: Link) -> str:
    """All claims, one group of rows a section, after a group of links to the sections."""
    heads = ("Claim", "Printed", "<code>scaling</code> gives", "Ratio", "Verdict", "Why, and where it is explained")
    parts = ["".join(f'<th scope="col">{head}</th>' for head in heads)]
    for name, section in SECTIONS.items():
        source, own = FILES[name], ledger.expressions(FILES[name])
        title = f"{section.number} {section.title}"
        parts.append(
            f'<tbody data-section="{section.number}"><tr class="claims-section"><th colspan="6" scope="rowgroup" '
            f'id="section-{section.number.replace(".", "-")}">{escape(title)}<details><summary>What the names in the '
            f"expressions stand for</summary><pre>{escape(ledger.setup(source))}</pre></details></th></tr>"
            + "".join(row(c, own[c.id], chapter_link(section, c.see, link)) for c in section.claims)
            + "</tbody>"
        )
    jumps = " ".join(
        f'<a href="#section-{s.number.replace(".", "-")}">{s.number}&nbsp;{escape(s.title)}</a>'
        for s in SECTIONS.values()
    )
    return (
        f'<nav class="claims-sections" aria-label="Sections of the ledger">{jumps}</nav>'
        f'<table class="claims-table"><caption>Every number, in the order of the text</caption>'
        f"<thead><tr>{parts[0]}</tr></thead>{''.join(parts[1:])}</table>"
    )


def counts(link: Link) -> str:
    """How many rows of each section of the text have which verdict, and how many of the English book."""
    said = {
        f"{s.number} {s.title}": [c.verdict for c in s.claims if c.edition is ledger.TEXT] for s in SECTIONS.values()
    }
    every = [c for s in SECTIONS.values() for c in s.claims]
    said["The text"] = [c.verdict for c in every if c.edition is ledger.TEXT]
    said["The English book"] = [c.verdict for c in every if c.edition is not ledger.TEXT]
    said["Both"] = [c.verdict for c in every]
    columns: dict[str, Any] = {"Section": said}
    for verdict in ledger.VERDICTS:
        columns[verdict] = [verdicts.count(verdict) for verdicts in said.values()]
    columns["rows"] = [len(verdicts) for verdicts in said.values()]
    return table(columns, "Rows by section and verdict")._repr_html_()


def count(what: str) -> int:
    """How many rows of the text have a verdict; ``stated``: all but the unstated."""
    verdicts = [c.verdict for s in SECTIONS.values() for c in s.claims if c.edition is ledger.TEXT]
    if what == "stated":
        return len(verdicts) - verdicts.count(ledger.UNSTATED)
    if what not in ledger.VERDICTS:
        raise ValueError(f"a count of claims is of stated, {', '.join(ledger.VERDICTS)}, not of {what!r}.")
    return verdicts.count(what)


def rules(link: Link) -> str:
    """What a verdict means."""
    lines = "".join(f"<dt>{SIGNS[v]} {v}</dt><dd>{escape(rule)}</dd>" for v, rule in ledger.VERDICTS.items())
    return f'<dl class="claims-rules">{lines}</dl>'


def editions(link: Link) -> str:
    """Which state of each source was read."""
    lines = "".join(
        f"<li><strong>{escape(e.name)}</strong>: {escape(f'{e.what}, {e.state}, {e.date}')}</li>"
        for e in ledger.EDITIONS
    )
    return f"<ul>{lines}</ul>"


PARTS: dict[str, Callable[[Link], str]] = {
    "rules": rules,
    "editions": editions,
    "counts": counts,
    "table": claims_table,
}


def depend(env: BuildEnvironment) -> None:
    """Have the page read again when a module of the ledger changes."""
    for path in (Path(ledger.__file__), *FILES.values()):
        env.note_dependency(str(path))


class Claims(Directive):
    """A part of the ledger."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The part, as raw HTML."""
        env = self.state.document.settings.env
        depend(env)

        def link(docname: str) -> str | None:
            known = docname in env.found_docs
            return env.app.builder.get_relative_uri(env.docname, docname) if known else None

        return [nodes.raw("", PARTS[self.arguments[0]](link), format="html")]


class Count(SphinxRole):
    """The number of the text's rows with a verdict, in a sentence."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """The number, as text."""
        depend(self.env)
        return [nodes.Text(f"{count(self.text):,}")], []


def _assets(app: Sphinx, pagename: str, *_: Any) -> None:
    if pagename == PAGE:
        app.add_css_file("claims.css")
        app.add_js_file("claims.js", loading_method="defer")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_directive("claims", Claims)
    app.add_role("claims", Count())
    app.connect("html-page-context", _assets)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
