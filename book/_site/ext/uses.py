"""Who uses a formula: which names of the package a piece of code reads, and where, without running it."""

import ast
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from docstrings import PACKAGE, Formula

ROOT = Path(__file__).parents[3]
_A_MODEL = re.compile(r"(?:model|\bLLAMA3\w*|\bm)\Z", re.IGNORECASE)


@dataclass(frozen=True)
class Use:
    """A formula that code names: its path, the line, and the function of the code that it is in."""

    path: str
    line: int
    inside: str


class Names:
    """The formulas by every name that code can have for them."""

    def __init__(self, formulas: Iterable[Formula]) -> None:
        self.by_path = {formula.path: formula for formula in formulas}
        self.methods = {formula.short: formula.path for formula in self.by_path.values() if formula.method}
        # `from scaling import decode_step`: the package hands on what its modules define, and modules what others do.
        self.top = {formula.name: formula.path for formula in self.by_path.values() if not formula.method}
        self.handed = {}
        for path in PACKAGE.rglob("*.py"):
            module = ".".join(part for part in path.relative_to(ROOT).with_suffix("").parts if part != "__init__")
            for alias, target in self.aliases(ast.parse(path.read_text(encoding="utf-8"))).items():
                self.handed[f"{module}.{alias}"] = target

    def aliases(self, tree: ast.AST) -> dict[str, str]:
        """What the imports of a piece of code call modules and formulas."""
        found: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for name in node.names:
                    if name.name.partition(".")[0] == "scaling":
                        found[name.asname or "scaling"] = name.name if name.asname else "scaling"
            elif isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "scaling":
                for name in node.names:
                    found[name.asname or name.name] = f"{node.module}.{name.name}"
        return found

    def resolve(self, node: ast.expr, aliases: dict[str, str]) -> str:
        """Path of the formula that an expression names, or nothing."""
        if isinstance(node, ast.Attribute) and node.attr in self.methods and _A_MODEL.search(ast.unparse(node.value)):
            return self.methods[node.attr]
        parts = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in aliases:
            return ""
        path = ".".join([aliases[node.id], *reversed(parts)])
        path = self.handed.get(path, path)
        if path in self.by_path:
            return path
        return self.top.get(path.removeprefix("scaling."), "")

    def uses(self, tree: ast.AST, aliases: dict[str, str] | None = None) -> Iterator[Use]:
        """Every formula that the code reads, in the order of the lines."""
        known = self.aliases(tree) if aliases is None else aliases
        found = []
        for node, inside in _walk(tree, ""):
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
                path = self.resolve(node, known)
                if path:
                    found.append(Use(path, node.lineno, inside))
        return iter(sorted(found, key=lambda use: use.line))


def _walk(node: ast.AST, inside: str) -> Iterator[tuple[ast.AST, str]]:
    for child in ast.iter_child_nodes(node):
        yield child, inside
        below = child.name if isinstance(child, ast.FunctionDef) and not inside else inside
        yield from _walk(child, below)


class Users:
    """The tests and the chapters that name each formula."""

    def __init__(self, formulas: Iterable[Formula]) -> None:
        self.names = Names(formulas)

    @cached_property
    def found(self) -> dict[str, list[tuple[Path, Use]]]:
        """File and place of every use, by the formula's path."""
        found: dict[str, list[tuple[Path, Use]]] = {path: [] for path in self.names.by_path}
        for path in [*sorted((ROOT / "tests").rglob("test_*.py")), *sorted((ROOT / "book").glob("*.ipynb"))]:
            for use in self.names.uses(code_of(path)):
                found[use.path].append((path, use))
        return found

    def test(self, formula: Formula) -> tuple[Path, str] | None:
        """File and name of the test that shows best what it does: by hand rather than by law, beside its module."""
        own = f"test_{formula.module.rpartition('.')[2]}"
        words = [word for word in formula.short.split("_") if len(word) > 4]

        def rank(found: tuple[Path, Use]) -> tuple[bool, ...]:
            path, use = found
            named = formula.short in use.inside
            about = named or any(word in use.inside for word in words)
            return (path.stem != own, "by_hand" not in use.inside, not named, not about, "unit" not in path.parts)

        tests = [one for one in self.found[formula.path] if one[1].inside.startswith("test_")]
        if not tests:
            return None
        path, use = min(tests, key=rank)
        return path, use.inside

    def chapters(self, formula: Formula) -> list[str]:
        """Pages whose code names the formula."""
        return list(dict.fromkeys(path.stem for path, _ in self.found[formula.path] if path.suffix == ".ipynb"))


def code_of(path: Path) -> ast.Module:
    """The code of a module, or of a notebook."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
        text = "\n".join("".join(cell["source"]) for cell in cells)
    return ast.parse(text)


def function_in(path: Path, name: str) -> tuple[str, int]:
    """A function of a file with its decorators, and the line it begins at."""
    text = path.read_text(encoding="utf-8")
    node = next(n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.name == name)
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return "\n".join(text.splitlines()[first - 1 : node.end_lineno]), first
