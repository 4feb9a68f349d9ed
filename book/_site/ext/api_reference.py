"""The API reference, from the docstrings as they are: plain text with names in backticks, no markup of Sphinx.

Names in single backticks become links where they are names of the package, equations become formulas, and lines that
begin with an argument become a list. ``.. scaling-api::`` fills the page, one section a module.
"""

import ast
import inspect
import re
from functools import cache
from pathlib import Path
from typing import Any

from docstrings import formulas, is_equation
from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from equations import aligned, parse
from floors import rank
from sphinx.application import Sphinx
from sphinx.util.nodes import nested_parse_with_titles

PACKAGE = Path(__file__).parents[3] / "scaling"
HIDDEN = ("__main__", "cli")


def modules() -> list[str]:
    """Every module a reader may import, the formulas first, in the order of the floors."""
    paths = [path.relative_to(PACKAGE).with_suffix("") for path in PACKAGE.rglob("*.py")]
    names = {".".join(part for part in path.parts if part != "__init__") for path in paths} - {""}
    shown = [name for name in names if not any(part.startswith("_") or part in HIDDEN for part in name.split("."))]
    return sorted(shown, key=lambda name: (rank(name), name))


@cache
def known() -> dict[str, str]:
    """Role and target of each public name, by the ways that a docstring may write it."""
    found: dict[str, str] = {}
    for module in reversed(modules()):
        path = PACKAGE.joinpath(*module.split("."))
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        own = {module, f"scaling.{module}"}
        found |= dict.fromkeys(own, f":py:mod:`{module} <scaling.{module}>`")
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name[0] != "_" and ast.get_docstring(node):
                role = "func" if isinstance(node, ast.FunctionDef) else "class"
                target = f":py:{role}:`{node.name} <scaling.{module}.{node.name}>`"
                found |= dict.fromkeys((node.name, f"{module}.{node.name}", f"scaling.{module}.{node.name}"), target)
    return found


def as_rest(text: str, own: frozenset[str] = frozenset()) -> str:
    """A docstring of the package as reStructuredText. `own`: its name and its arguments, which are no links."""
    found: list[str] = []
    block: list[str] = []
    for part in [*re.split(r"\n[ \t]*\n", text.strip("\n")), ""]:
        if found and found[-1].rstrip().endswith("::") and part.startswith(" "):
            block.append(part)
            continue
        if block:
            announced = found.pop().rstrip().removesuffix("::").rstrip()
            formulas = _formulas("\n".join(block))
            announced = f"{announced}:" if announced and formulas else announced if formulas else f"{announced}::"
            found += [one for one in (announced, formulas or "\n\n".join(block)) if one]
            block = []
        found.append(_roles(_listed(part), own))
    return "\n\n".join(found).rstrip()


def _formulas(block: str) -> str:
    """A block of equations; nothing for another block."""
    pieces = [piece for line in block.splitlines() for piece in re.split(r"\s{2,}", line.strip()) if piece]
    return f".. math:: {aligned([parse(piece) for piece in pieces])}" if all(map(is_equation, pieces)) else ""


_ITEM = re.compile(r"`\w+`(?:, `\w+`)*:")
_AFTER = re.compile(r"(?:Leaves out|Exact|Raises|Source|Without|Where)\b")


def _listed(part: str) -> str:
    """A paragraph with its arguments as a list."""
    chunks: list[list[str]] = [[]]
    for line in part.splitlines():
        item = bool(_ITEM.match(line))
        if item or (_AFTER.match(line) and chunks[-1][:1] and _ITEM.match(chunks[-1][0])):
            chunks.append([])
        chunks[-1].append(line)
    shown = ["\n  ".join([f"* {c[0]}", *c[1:]]) if c and _ITEM.match(c[0]) else "\n".join(c) for c in chunks if c]
    return "\n\n".join(shown)


def _roles(text: str, own: frozenset[str]) -> str:
    """Equations as formulas, names of the package as links, other code as code."""

    def shown(match: re.Match[str]) -> str:
        code, name = match[1], match[2]
        if name:
            role = known().get(name, "")
            return role if role and name not in own else f"``{name}``"
        inside = re.sub(r"\s+", " ", code)
        return f":math:`{parse(inside).tex}`" if is_equation(inside) else match[0]

    return re.sub(r"``([^`]+)``|(?<![:\w])`([^`<>]+)`", shown, text)


def rewrite(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """What autodoc has read, made ready for its parser; a formula leads to its entry in the index."""
    arguments = set(inspect.signature(obj).parameters) if what in ("function", "method", "class") else set()
    text = as_rest("\n".join(lines), frozenset(arguments | {name.rpartition(".")[2]}))
    if anchor := _anchors().get(name):
        text += f"\n\n`In the formula index <formulas.html#{anchor}>`__"
    lines[:] = [*text.split("\n"), ""]


@cache
def _anchors() -> dict[str, str]:
    return {formula.path: formula.anchor for formula in formulas()}


def skip(app: Sphinx, what: str, name: str, obj: Any, skipped: bool, options: Any) -> bool | None:
    """Fields of tuples have no docstring of their own."""
    return True if type(obj).__name__ == "_tuplegetter" else None


class ScalingApi(Directive):
    """The whole package."""

    def run(self) -> list[nodes.Node]:
        """One section a module, by autodoc."""
        known.cache_clear()
        text: list[str] = []
        for module in modules():
            title = f"``{module}``"
            text += [title, "-" * len(title), "", f".. automodule:: scaling.{module}", "   :members:", ""]
        parent = nodes.section()
        parent.document = self.state.document
        nested_parse_with_titles(self.state, StringList(text, source="api"), parent, self.content_offset)
        return parent.children


def _settings(app: Sphinx, config: Any) -> None:
    config.autodoc_typehints = "none"
    config.autodoc_member_order = "bysource"
    config.autodoc_preserve_defaults = True  # a default by its name, not a record with all its fields
    config.add_module_names = False
    config.python_use_unqualified_type_names = True


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.setup_extension("sphinx.ext.autodoc")
    app.add_directive("scaling-api", ScalingApi)
    app.connect("config-inited", _settings)
    app.connect("autodoc-process-docstring", rewrite)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
