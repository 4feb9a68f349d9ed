"""Where mutants come from: small changes to the source text, one at a time. Nothing here writes a file.

mutmut changes what stands in functions. Here is what it leaves alone: module level, properties, flags.
"""

import ast
import difflib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

Edit = tuple[int, int, str]  # start, end, text in its place

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


class Source:
    """A text, its syntax tree, and the places of the nodes in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)
        lines = text.splitlines(keepends=True)
        self._lines = [line.encode() for line in lines]
        self._starts = [0]
        for line in lines:
            self._starts.append(self._starts[-1] + len(line))

    def _at(self, line: int, column: int) -> int:
        return self._starts[line - 1] + len(self._lines[line - 1][:column].decode())

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Start and end of a node; `ast` counts bytes, texts count characters."""
        assert isinstance(node, (ast.expr, ast.stmt, ast.keyword))
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._at(node.lineno, node.col_offset), self._at(node.end_lineno, node.end_col_offset)

    def part(self, node: ast.AST) -> str:
        """The text of a node."""
        start, end = self.span(node)
        return self.text[start:end]

    def spots(self) -> Iterator[Spot]:
        """Every node but annotations, docstrings and what stands inside f-strings (Python 3.11 misplaces that)."""
        todo: list[Spot] = [Spot(self.tree, ())]
        while todo:
            node, above = todo.pop()
            yield Spot(node, above)
            skip = {id(getattr(node, name, None)) for name in ("annotation", "returns")}
            if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
                continue
            inner = [child for child in ast.iter_child_nodes(node) if id(child) not in skip]
            todo += [Spot(child, (*above, node)) for child in reversed(inner)]

    def _between(self, left: ast.AST, right: ast.AST, op: ast.AST) -> Iterator[Edit]:
        if type(op) in _SWAP:
            old, new = _SWAP[type(op)]
            start, end = self.span(left)[1], self.span(right)[0]
            words = re.escape(old).replace(r"\ ", r"\s+")
            found = re.search(rf"\b{words}\b" if old[0].isalpha() else words, self.text[start:end])
            if found:
                yield start + found.start(), start + found.end(), new

    def edits(self, node: ast.AST, words: str = "") -> Iterator[Edit]:
        """The changes at one node: operators swapped, numbers moved a little, branches and conditions turned round.

        Of the strings only those that match `words` are changed.
        """
        if isinstance(node, ast.BinOp):
            yield from self._between(node.left, node.right, node.op)
        elif isinstance(node, ast.BoolOp):
            for left, right in zip(node.values, node.values[1:], strict=False):
                yield from self._between(left, right, node.op)
        elif isinstance(node, ast.Compare):
            for left, right, op in zip([node.left, *node.comparators], node.comparators, node.ops, strict=False):
                yield from self._between(left, right, op)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
            yield (*self.span(node), self.part(node.operand))
        elif isinstance(node, ast.IfExp):
            yield (*self.span(node), f"({self.part(node.body)})")
            yield (*self.span(node), f"({self.part(node.orelse)})")
        elif isinstance(node, ast.Constant):
            value = node.value
            if isinstance(value, bool):
                yield (*self.span(node), str(not value))
            elif isinstance(value, int):
                yield (*self.span(node), str(value + 1))
            elif isinstance(value, float):
                yield (*self.span(node), repr(value * 1.01 if value else 1.0))
            elif isinstance(value, str) and words and re.fullmatch(words, value):
                yield (*self.span(node), '"XX"')


def where(spot: Spot) -> str:
    """The function or the assignment that a node stands in."""
    names = [n.name for n in spot.above if isinstance(n, (ast.FunctionDef, ast.ClassDef))]
    if not any(isinstance(n, ast.FunctionDef) for n in spot.above):
        for node in (*spot.above, spot.node):
            if isinstance(node, (ast.Assign, ast.AnnAssign)):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                names.append(ast.unparse(target).strip("()"))
                break
    return ".".join(names) or "module"


def lines(before: str, after: str) -> tuple[str, str]:
    """The lines that differ, each side in one line."""
    old, new = before.splitlines(), after.splitlines()
    ops = [op for op in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if op[0] != "equal"]
    gone = [line.strip() for _, a, b, _, _ in ops for line in old[a:b]]
    come = [line.strip() for _, _, _, a, b in ops for line in new[a:b]]
    return " ".join(gone), " ".join(come)


def made(kind: str, path: str, place: str, source: Source, edit: Edit) -> Mutant:
    """The mutant that an edit gives."""
    start, end, new = edit
    first = source.text.rfind("\n", 0, start) + 1
    last = (source.text + "\n").find("\n", end)
    old = [source.text[first:last], source.text[first:start] + new + source.text[end:last]]
    gone, come = (" ".join(line.strip() for line in part.splitlines()) for part in old)
    return Mutant(kind, path, place, gone, come, source.text[:start] + new + source.text[end:])


def in_mutmut_s_reach(spot: Spot) -> bool:
    """Whether mutmut changes this node: it does in functions and methods without a decorator."""
    for i, node in enumerate(spot.above):
        if isinstance(node, ast.FunctionDef):
            plain = {"staticmethod", "classmethod"} >= {ast.unparse(d) for d in node.decorator_list}
            return plain and all(isinstance(n, (ast.Module, ast.ClassDef)) for n in spot.above[:i])
    return False


def in_no_function(spot: Spot) -> bool:
    """Whether a node belongs to the module itself, or to the fields of a class."""
    return not any(isinstance(node, (ast.FunctionDef, ast.Lambda)) for node in spot.above)


def of_module(kind: str, root: Path, path: str, wanted: Callable[[Spot], bool], words: str = "") -> Iterator[Mutant]:
    """Every change of a module at the nodes that are `wanted`; of its strings those that match `words`."""
    source = Source((root / path).read_text(encoding="utf-8"))
    for spot in source.spots():
        if wanted(spot):
            for edit in source.edits(spot.node, words):
                yield made(kind, path, where(spot), source, edit)
