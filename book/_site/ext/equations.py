"""Equations as docstrings write them: read, set in TeX, and given a value.

A docstring writes ``T_cache = B S kv / (N W)``: a space multiplies, ``/`` divides by the next factor only, and one
letter with an optional subscript is a symbol. Anything longer is a word.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add, mul, truediv
from typing import Any, TypeAlias

RELATIONS = {"=": "=", "<=": r"\le", ">=": r"\ge", "<": "<", ">": ">"}
FUNCTIONS = ("max", "min", "floor", "ceil")
SYMBOL = re.compile(r"(?:[A-Za-z]|kv)(?:_[A-Za-z0-9]+)?\Z")

_TOKEN = re.compile(r"\s*(?:(?P<number>\d+(?:\.\d+)?(?:e-?\d+)?)|(?P<name>[A-Za-z]\w*)|(?P<op><=|>=|[-+*/^(),=<>]))")


@dataclass(frozen=True)
class Node:
    """A number, a name, or an operation on parts: ``+``, ``-`` (of one part), ``*``, ``/``, ``^`` or a function."""

    kind: str
    text: str = ""
    parts: tuple["Node", ...] = ()

    def names(self) -> Iterator[str]:
        """Every symbol and word, from left to right."""
        if self.kind == "name":
            yield self.text
        for part in self.parts:
            yield from part.names()


@dataclass(frozen=True)
class Relation:
    """Sides joined by ``=`` or an inequality."""

    sides: tuple[Node, ...]
    signs: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """Every symbol and word once, in order."""
        return list(dict.fromkeys(name for side in self.sides for name in side.names()))

    @property
    def tex(self) -> str:
        """The relation in TeX."""
        shown = [tex(side) for side in self.sides]
        return shown[0] + "".join(f" {RELATIONS[s]} {t}" for s, t in zip(self.signs, shown[1:], strict=True))


class NotAnEquationError(ValueError):
    """The text cannot be read as an equation."""


class _Reader:
    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        place = 0
        while text[place:].strip():
            found = _TOKEN.match(text, place)
            if not found:
                raise NotAnEquationError(f"cannot read {text[place:]!r} in {text!r}")
            kind = str(found.lastgroup)
            value = found[kind]
            last = self.tokens[-1] if self.tokens else ("", "")
            if kind == "name" and last[0] == "name" and not (_special(value) or _special(last[1])):
                self.tokens[-1] = ("name", f"{last[1]} {value}")  # words that follow each other are one name
            else:
                self.tokens.append((kind, value))
            place = found.end()
        self.tokens.append(("end", ""))
        self.place = 0

    def peek(self) -> tuple[str, str]:
        return self.tokens[self.place]

    def take(self, *wanted: str) -> str:
        value = self.peek()[1]
        if self.peek()[0] == "end" or (wanted and value not in wanted):
            raise NotAnEquationError(f"found {value or 'the end'!r} where {wanted or 'more'} should be")
        self.place += 1
        return value

    def relation(self) -> Relation:
        sides, signs = [self.sum()], []
        while self.peek()[1] in RELATIONS:
            signs.append(self.take())
            sides.append(self.sum())
        if self.peek()[0] != "end":
            raise NotAnEquationError(f"cannot read on from {self.peek()[1]!r}")
        return Relation(tuple(sides), tuple(signs))

    def sum(self) -> Node:
        terms = [self.signed()]
        while self.peek()[1] in ("+", "-"):
            terms.append(self.signed(self.take()))
        return terms[0] if len(terms) == 1 else Node("+", parts=tuple(terms))

    def signed(self, sign: str = "+") -> Node:
        if self.peek()[1] == "-":
            sign = "-" if sign == "+" else "+"
            self.take()
        term = self.product()
        return Node("-", parts=(term,)) if sign == "-" else term

    def product(self) -> Node:
        value = self.power()
        while True:
            kind, token = self.peek()
            if token in ("/", "*"):
                self.take()
                value = Node(token, parts=(value, self.power()))
            elif kind in ("number", "name") or token == "(":
                value = Node("*", parts=(value, self.power()))
            else:
                return value

    def power(self) -> Node:
        base = self.atom()
        if self.peek()[1] != "^":
            return base
        self.take()
        return Node("^", parts=(base, self.atom()))

    def atom(self) -> Node:
        kind, token = self.peek()
        if token == "(":
            return self.inside()[0]
        self.take()
        if kind == "number":
            return Node("number", token)
        if kind != "name":
            raise NotAnEquationError(f"found {token!r} where a value should be")
        return Node(token, parts=self.inside()) if token in FUNCTIONS else Node("name", token)

    def inside(self) -> tuple[Node, ...]:
        self.take("(")
        parts = [self.sum()]
        while self.take(",", ")") == ",":
            parts.append(self.sum())
        return tuple(parts)


def _special(name: str) -> bool:
    return name in FUNCTIONS or bool(SYMBOL.match(name))


def parse(text: str) -> Relation:
    """The equation that a docstring writes; ``NotAnEquationError`` for anything else."""
    return _Reader(text).relation()


# Setting -------------------------------------------------------------------------------------------------------------


def name_tex(name: str) -> str:
    """A symbol in italics with its subscript; a word upright."""
    base, _, below = name.partition("_")
    if not SYMBOL.match(name):
        return rf"\text{{{name.replace('_', ' ')}}}"
    if len(below) > 1:
        below = "{kv}" if below == "kv" else rf"\text{{{below}}}"
    return (rf"\text{{{base}}}" if len(base) > 1 else base) + (f"_{below}" if below else "")


def tex(node: Node, inside: str = "") -> str:
    """The expression in TeX; `inside` is the operation it is a part of: ``^``, ``*``, ``/`` or a sign."""
    if node.kind == "number":
        mantissa, _, exponent = node.text.partition("e")
        return f"10^{{{exponent}}}" if exponent and mantissa == "1" else node.text
    if node.kind == "name":
        return name_tex(node.text)
    if node.kind in FUNCTIONS:
        parts = ",\\ ".join(tex(part) for part in node.parts)
        if node.kind in ("floor", "ceil"):
            return rf"\left\l{node.kind} {parts} \right\r{node.kind}"
        return rf"\{node.kind}\left({parts}\right)"
    if node.kind == "^":
        return f"{tex(node.parts[0], '^')}^{{{tex(node.parts[1])}}}"
    if node.kind == "/" and inside != "/":
        return rf"\frac{{{tex(node.parts[0], '/')}}}{{{tex(node.parts[1], '/')}}}"
    if node.kind == "/":  # a fraction in a fraction, on one line
        return f"{tex(node.parts[0], '*')} / {tex(node.parts[1], '^')}"
    if node.kind == "*":
        left, right = (tex(part, "/" if inside == "/" and part.kind == "*" else "*") for part in node.parts)
        dot = r" \cdot " if left.endswith("}") and right.startswith((r"\text", r"\left\l")) else r"\,"
        shown = left + (dot if left.startswith(r"\text") else r"\,") + right
        return rf"\left({shown}\right)" if inside == "^" else shown
    if node.kind == "-":
        return f"-{tex(node.parts[0], '*')}"
    shown = " + ".join(tex(part, inside if inside == "/" else "") for part in node.parts).replace("+ -", "- ")
    return rf"\left({shown}\right)" if inside in ("^", "*") else shown


def aligned(equations: list[Relation]) -> str:
    """One equation, or several below each other."""
    rows = [equation.tex for equation in equations]
    return (
        rows[0]
        if len(rows) == 1
        else r"\begin{aligned}" + r" \\[0.4em] ".join(f"& {r}" for r in rows) + r"\end{aligned}"
    )


# Values --------------------------------------------------------------------------------------------------------------

Value: TypeAlias = Any
PLAIN: Mapping[str, Callable[..., Value]] = {"max": max, "min": min, "floor": math.floor, "ceil": math.ceil}


def value(node: Node, of: Callable[[str], Value], functions: Mapping[str, Callable[..., Value]] = PLAIN) -> Value:
    """What the expression comes to when `of` gives each name its value; numbers are whole wherever they can be."""
    if node.kind == "number":
        number = float(node.text)
        return int(number) if number.is_integer() else number
    if node.kind == "name":
        return of(node.text)
    parts = [value(part, of, functions) for part in node.parts]
    if node.kind in functions:
        return functions[node.kind](*parts)
    if node.kind == "-":
        return -parts[0]
    operators: dict[str, Callable[[Value, Value], Value]] = {"+": add, "*": mul, "/": truediv, "^": pow}
    return reduce(operators[node.kind], parts)
