"""Where a formula is tested, and which chapters name it.

The test of `scaling.memory.max_batch` is the first of `tests/scaling/test_memory.py` whose name begins with
``test_max_batch``, one by hand before others; of a formula of an engine, of any file of `tests/engines`.
"""

import ast
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from docstrings import Formula, formulas

ROOT = Path(__file__).parents[3]


@cache
def _functions(path: Path) -> dict[str, ast.FunctionDef]:
    tree = ast.parse(path.read_text(encoding="utf-8")) if path.exists() else ast.Module([], [])
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


@cache
def _shorts() -> tuple[str, ...]:
    return tuple(sorted((formula.short for formula in formulas()), key=len, reverse=True))


def is_about(test: str, short: str) -> bool:
    """Whether a test is named for a formula, and for none with a longer name that begins the same."""
    return next((s for s in _shorts() if f"{test}_".startswith(f"test_{s}_")), "") == short


def tests(formula: Formula) -> Iterator[tuple[Path, str]]:
    """Every test that is named for a formula: its file and its name."""
    _, *package, module = formula.module.split(".")
    folder = ROOT / "tests" / ("engines" if package else "scaling")
    own = folder / f"test_{module}.py"
    for path in [own, *sorted(folder.glob("test_*.py"))] if package else [own]:
        yield from ((path, name) for name in _functions(path) if is_about(name, formula.short))


def shown_test(formula: Formula) -> tuple[Path, str] | None:
    """The test that the index shows."""
    return min(tests(formula), key=lambda found: "by_hand" not in found[1], default=None)


def chapters(formula: Formula) -> list[str]:
    """Pages whose code names the formula."""
    return [path.stem for path in sorted((ROOT / "book").glob("*.ipynb")) if formula.short in _named(path)]


@cache
def _named(path: Path) -> frozenset[str]:
    """The names that the code of a notebook imports or reads, less those that it gives itself."""
    cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    nodes = list(ast.walk(ast.parse("\n".join("".join(cell["source"]) for cell in cells))))
    imported = {alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}
    names = [node for node in nodes if isinstance(node, ast.Name)]
    own = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    read = {node.id for node in names} | {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return frozenset(imported | (read - own))


def function_in(path: Path, name: str) -> tuple[str, int]:
    """A function of a file with its decorators, and the line it begins at."""
    node = _functions(path)[name]
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return "\n".join(path.read_text(encoding="utf-8").splitlines()[first - 1 : node.end_lineno]), first
