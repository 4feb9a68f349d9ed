"""Where mutants come from: small changes to the source text, one at a time. Nothing here writes a file.

mutmut changes what stands in functions. Here is what it leaves alone: module level, properties, flags.
"""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

_SWAP: dict[type[ast.AST], tuple[str, str]] = {
    **{ast.Mult: ("*", "/"), ast.Div: ("/", "*"), ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Pow: ("**", "*")},
    **{ast.FloorDiv: ("//", "/"), ast.Mod: ("%", "/"), ast.BitOr: ("|", "&"), ast.BitAnd: ("&", "|")},
    **{ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">")},
    **{ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is")},
    **{ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"), ast.And: ("and", "or"), ast.Or: ("or", "and")},
}


@dataclass(frozen=True)
class Mutant:
    """One change. `text` is the whole file with it; `old` and `new` its lines."""

    kind: str
    path: str
    where: str
    old: str
    new: str
    text: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What names the mutant in the list of accepted ones: no line numbers, which move."""
        return self.path, self.where, self.old, self.new

    def __str__(self) -> str:
        return f"{self.path}, {self.where}\n    - {self.old}\n    + {self.new}"


class Spot(NamedTuple):
    """A node of the tree with all that it stands in, outermost first."""

    node: ast.AST
    above: tuple[ast.AST, ...]

    @property
    def functions(self) -> list[ast.FunctionDef | ast.Lambda]:
        """The functions that the node stands in."""
        return [node for node in self.above if isinstance(node, (ast.FunctionDef, ast.Lambda))]

    @property
    def in_mutmut_s_reach(self) -> bool:
        """Whether mutmut changes this node: it does in functions and methods without a decorator."""
        outer = next((i for i, node in enumerate(self.above) if isinstance(node, ast.FunctionDef)), None)
        if outer is None:
            return False
        plain = all(ast.unparse(d) in ("staticmethod", "classmethod") for d in self.above[outer].decorator_list)  # type: ignore[attr-defined]
        return plain and all(isinstance(node, (ast.Module, ast.ClassDef)) for node in self.above[:outer])

    @property
    def where(self) -> str:
        """The function or the assignment that the node stands in."""
        names = [node.name for node in self.above if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
        assigned = [node for node in (*self.above, self.node) if isinstance(node, (ast.Assign, ast.AnnAssign))]
        if assigned and not any(isinstance(node, ast.FunctionDef) for node in self.above):
            first = assigned[0]
            names.append(ast.unparse(first.targets[0] if isinstance(first, ast.Assign) else first.target).strip("()"))
        return ".".join(names) or "module"


def spots(node: ast.AST, above: tuple[ast.AST, ...] = ()) -> Iterator[Spot]:
    """Every node but annotations, docstrings and what stands inside f-strings (Python 3.11 misplaces that)."""
    yield Spot(node, above)
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
        return
    typed = (getattr(node, "annotation", None), getattr(node, "returns", None))
    for child in ast.iter_child_nodes(node):
        if child not in typed:
            yield from spots(child, (*above, node))


def edits(text: bytes, node: ast.AST, words: str) -> Iterator[tuple[int, int, str]]:
    """The changes at one node: operators swapped, numbers moved a little, conditions turned round.

    Each as start, end and the text in its place. Of the strings only those that match `words` are changed.
    """
    starts = [0, *accumulate(len(line) for line in text.splitlines(keepends=True))]

    def begin(part: ast.expr) -> int:
        return starts[part.lineno - 1] + part.col_offset

    def end(part: ast.expr) -> int:
        return starts[(part.end_lineno or 0) - 1] + (part.end_col_offset or 0)

    def between(parts: list[ast.expr], ops: list[ast.AST]) -> Iterator[tuple[int, int, str]]:
        for left, right, op in zip(parts, parts[1:], ops, strict=False):
            old, new = _SWAP.get(type(op), ("", ""))
            pattern = rf"\b{old}\b".replace(" ", r"\s+") if old.isascii() and old[:1].isalpha() else re.escape(old)
            found = re.search(pattern.encode(), text[end(left) : begin(right)])
            if old and found:
                yield end(left) + found.start(), end(left) + found.end(), new

    match node:
        case ast.BinOp():
            yield from between([node.left, node.right], [node.op])
        case ast.BoolOp():
            yield from between(node.values, [node.op] * len(node.values))
        case ast.Compare():
            yield from between([node.left, *node.comparators], list(node.ops))
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield begin(node), end(node), text[begin(node.operand) : end(node.operand)].decode()
        case ast.IfExp():
            for branch in (node.body, node.orelse):
                yield begin(node), end(node), f"({text[begin(branch) : end(branch)].decode()})"
        case ast.Constant(value=bool(value)):
            yield begin(node), end(node), str(not value)
        case ast.Constant(value=int(value)):
            yield begin(node), end(node), str(value + 1)
        case ast.Constant(value=float(value)):
            yield begin(node), end(node), repr(value * 1.01 if value else 1.0)
        case ast.Constant(value=str(value)) if words and re.fullmatch(words, value):
            yield begin(node), end(node), '"XX"'


def of_module(kind: str, root: Path, path: str, wanted: Callable[[Spot], bool], words: str = "") -> Iterator[Mutant]:
    """Every change of a module at the nodes that are `wanted`; of its strings those that match `words`."""
    text = (root / path).read_bytes()
    for spot in spots(ast.parse(text)):
        for start, end, new in edits(text, spot.node, words) if wanted(spot) else ():
            changed = text[:start] + new.encode() + text[end:]
            first, last = text.rfind(b"\n", 0, start) + 1, len(text) - (text + b"\n").find(b"\n", end)
            sides = (part[first : len(part) - last].decode().splitlines() for part in (text, changed))
            gone, come = (" ".join(map(str.strip, lines)) for lines in sides)
            yield Mutant(kind, path, spot.where, gone, come, changed.decode())
