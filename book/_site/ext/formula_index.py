"""The formula index, built from the docstrings.

``{formula-index}`` fills its page: for every formula its equation, symbols, code, test, chapters, validity and source.
Nothing there is written by hand. A build that knows the repository links each test to it.
"""

import ast
import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from docstrings import Formula, formulas
from docutils import nodes
from docutils.parsers.rst import Directive
from equations import SYMBOL, aligned
from site_links import repository_options
from sphinx import addnodes
from sphinx.application import Sphinx
from symbols import PAGE, read
from uses import chapters, function_in, shown_test

ROOT = Path(__file__).parents[3]
INDEX = "book/appendix/formulas"

# Where the parts of How to Scale Your Model are.
_BOOK = "https://jax-ml.github.io/scaling-book/"
_PARTS = "roofline tpus sharding transformers training applied-training inference applied-inference".split()
_PARTS += "profiling jax-stuff conclusion gpus".split()
_INLINE = re.compile(
    r"(?P<code>``[^`]+``|`[^`]+`)|\*\*(?P<strong>[^*]+)\*\*|\*(?P<em>[^*]+)\*"
    r"|(?P<part>(?:scaling-book )?part (?P<number>\d+))|(?P<arxiv>arXiv (?P<paper>\d{4}\.\d{5}))"
    r"|(?P<doi>doi (?P<id>10\.\S+\w))"
)


@cache
def package() -> list[Formula]:
    """Every formula, read once a build."""
    return formulas()


# Nodes ---------------------------------------------------------------------------------------------------------------


def inline(text: str) -> list[nodes.Node]:
    """A sentence of a docstring: code, emphasis, and links to formulas, parts of the book and papers."""
    anchors = {name: formula for formula in package() for name in (formula.short, formula.path[8:], formula.path)}
    found: list[nodes.Node] = []
    last = 0
    for match in _INLINE.finditer(text):
        found.append(nodes.Text(text[last : match.start()]))
        last = match.end()
        if match["code"]:
            name = match["code"].strip("`")
            literal = nodes.literal("", name)
            target = anchors.get(name) if not match["code"].startswith("``") else None
            found.append(nodes.reference("", "", literal, refid=target.anchor, internal=True) if target else literal)
        elif match["strong"]:
            found.append(nodes.strong("", match["strong"]))
        elif match["em"]:
            found.append(nodes.emphasis("", match["em"]))
        elif match["part"]:
            page = _PARTS[int(match["number"]) - 1]
            found.append(nodes.reference("", match["part"], refuri=f"{_BOOK}{page}/"))
        elif match["arxiv"]:
            found.append(nodes.reference("", match["arxiv"], refuri=f"https://arxiv.org/abs/{match['paper']}"))
        else:
            found.append(nodes.reference("", match["doi"], refuri=f"https://doi.org/{match['id']}"))
    return [*found, nodes.Text(text[last:])]


def _math(latex: str) -> nodes.math_block:
    return nodes.math_block(latex, latex, nowrap=False, number=None)


def _equations(formula: Formula) -> nodes.math_block:
    return _math(aligned(formula.equations))


def _symbols(formula: Formula) -> Iterator[nodes.Node]:
    table = read(PAGE.read_text(encoding="utf-8"))
    names = dict.fromkeys(name for relation in formula.equations for name in relation.names if SYMBOL.match(name))
    rows: dict[str, list[str]] = {}
    for name in names:
        row = table.row(name)
        if row:
            rows.setdefault(re.split(r"[;:,(]", row.meaning)[0].replace("*", "").strip(), []).append(name)
    if not rows:
        yield nodes.Text("none: its words are the arguments")
    for i, (meaning, own) in enumerate(rows.items()):
        yield nodes.Text("; " if i else "")
        for j, name in enumerate(own):
            yield nodes.Text(", " if j else "")
            yield from _letter(name)
        yield nodes.Text(f" {meaning}")


def _letter(name: str) -> Iterator[nodes.Node]:
    """A symbol as text: so many as there are here would take a page of formulas a while to set."""
    base, _, below = name.partition("_")
    yield nodes.Text(base) if len(base) > 1 else nodes.emphasis("", base)
    if below:
        yield nodes.subscript("", below)


def _field(name: str, *content: nodes.Node) -> nodes.field:
    return nodes.field("", nodes.field_name("", name), nodes.field_body("", nodes.paragraph("", "", *content)))


def _fold(title: str, code: str) -> list[nodes.Node]:
    block = nodes.literal_block(code, code, language="python")
    opening = f"<details class='formula-code'><summary>{title}</summary>"
    return [nodes.raw("", opening, format="html"), block, nodes.raw("", "</details>", format="html")]


def _code_link(formula: Formula) -> addnodes.pending_xref:
    kind = "func" if not formula.method else "attr" if len(formula.arguments) == 0 else "meth"
    return addnodes.pending_xref(
        "",
        nodes.literal("", formula.path),
        refdomain="py",
        reftype=kind,
        reftarget=formula.path,
        refexplicit=True,
        refwarn=True,
    )


def repository_link(path: Path, line: int) -> str:
    """Address of a line of a file, where the build knows the repository; else nothing."""
    options = repository_options(dict(os.environ))
    if not options:
        return ""
    return (
        f"{options['repository_url']}/blob/{options['repository_branch']}/{path.relative_to(ROOT).as_posix()}#L{line}"
    )


def _test_field(formula: Formula) -> tuple[nodes.field, list[nodes.Node]]:
    found = shown_test(formula)
    if not found:
        return _field("Test", nodes.Text("none yet")), []
    path, name = found
    code, line = function_in(path, name)
    shown = [nodes.literal("", path.relative_to(ROOT).as_posix()), nodes.Text(", "), nodes.literal("", name)]
    address = repository_link(path, line)
    content = [nodes.reference("", "", *shown, refuri=address)] if address else shown
    return _field("Test", *content), _fold("The test", code)


def _chapters(formula: Formula, docs: Iterable[str]) -> list[nodes.Node]:
    found: list[nodes.Node] = []
    for stem in [stem for stem in chapters(formula) if f"book/{stem}" in docs]:
        found.append(nodes.Text(", " if found else ""))
        found.append(
            addnodes.pending_xref(
                "",
                nodes.inline(),
                refdomain="std",
                reftype="doc",
                reftarget=f"/book/{stem}",
                refexplicit=False,
                refwarn=True,
            )
        )
    return found or [nodes.Text("none by name")]


def entry(formula: Formula, docs: Iterable[str]) -> nodes.section:
    """One formula of the index."""
    section = nodes.section("", nodes.title("", "", nodes.literal("", formula.name)), ids=[formula.anchor])
    section["names"] = [formula.anchor]
    units = list(dict.fromkeys(formula.units.values()))
    section += nodes.paragraph(
        "", "", *inline(formula.summary), nodes.Text(f" [{', '.join(units)}]" if any(units) else "")
    )
    section += _equations(formula)
    test, fold = _test_field(formula)
    section += nodes.field_list(
        "",
        _field("Symbols", *_symbols(formula)),
        _field("Validity", *inline(formula.validity)),
        _field("Function", _code_link(formula)),
        test,
        _field("Chapters", *_chapters(formula, docs)),
        _field("Source", *inline(formula.source)),
        classes=["formula"],
    )
    section.extend([*_fold("The code", formula.code), *fold])
    return section


class FormulaIndex(Directive):
    """Every formula, module by module."""

    def run(self) -> list[nodes.Node]:
        """One section a module, one below it for each formula."""
        env = self.state.document.settings.env
        for path in (ROOT / "scaling").rglob("*.py"):
            env.note_dependency(str(path))
        package.cache_clear()
        found: list[nodes.Node] = []
        for module in dict.fromkeys(formula.module for formula in package()):
            text = ast.get_docstring(ast.parse(_module(module).read_text(encoding="utf-8"))) or ""
            section = nodes.section(
                "", nodes.title("", ": ".join(module.split(".")[1:]).capitalize()), ids=[f"module-{module}"]
            )
            section["names"] = [f"module-{module}"]
            section += nodes.paragraph("", "", *inline(text.split("\n\n")[0]))
            section.extend(entry(formula, env.found_docs) for formula in package() if formula.module == module)
            found.append(section)
        return found


def _module(name: str) -> Path:
    path = ROOT.joinpath(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def offer_anchors(app: Sphinx, doctree: nodes.document) -> None:
    """Let pages link an entry as they link a heading: MyST looks for headings only."""
    if app.env.docname == INDEX:
        slugs = app.env.metadata[INDEX].setdefault("myst_slugs", {})
        slugs.update({formula.anchor: (0, formula.anchor, formula.name) for formula in package()})


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_directive("formula-index", FormulaIndex)
    app.connect("doctree-read", offer_anchors)
    app.add_css_file("formulas.css")
    app.setup_extension("api_reference")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
