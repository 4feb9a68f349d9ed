"""Equations as pages write them, in TeX: as the same tree that a docstring's becomes, so that equal ones are found."""

import re
import zlib
from collections.abc import Callable, Mapping

from equations import SYMBOL, Node, NotAnEquationError, Relation, Value, parse, value

_SPLIT = re.compile(r"\\qquad|\\quad|\\iff|\\Rightarrow|\\Longrightarrow|\\implies|\\\\|&")
_DROP = re.compile(r"\\(?:,|;|:|!|displaystyle|left(?![a-z])|right(?![a-z])|[Bb]igg?[lr]?(?![a-z]))|~")
_GROUP = r"(\{(?:[^{}]|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\})*\})"
_FRACTION = re.compile(rf"\\[td]?frac\s*{_GROUP}\s*{_GROUP}")
_BRACE = re.compile(rf"\\(?:under|over)brace\s*{_GROUP}\s*[_^]\s*{_GROUP}")
_UNIT = re.compile(r"\\ \s*\\text\s*\{[^{}]*\}")
_WORD = re.compile(r"\\(?:text|mathrm|operatorname)\s*\{([^{}]*)\}")
_BELOW = re.compile(r"\s*_\s*(?:@([^@]*)@|\{\s*@?([^{}@]*)@?\s*\}|(\w))")
_APPLIED = re.compile(r"_\\text\s*\{\w+\}\(")
_SIGN = re.compile(r"(\\leq?(?![a-z])|\\geq?(?![a-z])|[=<>])")


def relations(text: str) -> list[Relation]:
    """The relations in a display equation; what is no arithmetic (a limit, a sum, words alone) is left out."""
    found = []
    for part in _SPLIT.split(_UNIT.sub(r" \\quad ", text.strip().rstrip(".,"))):
        pieces = _SIGN.split(part)
        sides: list[Node] = []
        signs: list[str] = []
        for i in range(0, len(pieces), 2):
            try:
                node = parse(plain(pieces[i])).sides[0]
            except NotAnEquationError:
                continue
            if sides:
                signs.append({r"\l": "<=", r"\g": ">="}.get(pieces[i - 1][:2], pieces[i - 1]))
            sides.append(node)
        if any(SYMBOL.match(name) for side in sides for name in side.names()):
            found.append(Relation(tuple(sides), tuple(signs)))
    return found


def plain(text: str) -> str:
    """TeX arithmetic in the notation of the docstrings; ``NotAnEquationError`` if it is more than arithmetic."""
    if _APPLIED.search(text):
        raise NotAnEquationError(f"a function of its own in {text!r}")
    text = _DROP.sub(" ", text).replace("{,}", "").replace("\\ ", " ")
    text = re.sub(r"\\[td]?frac\s*(\d)\s*(\d)", r"((\1)/(\2))", text)
    for _ in range(6):  # from the outside in
        text = _FRACTION.sub(lambda m: f"(({m[1][1:-1]})/({m[2][1:-1]}))", text)
        text = _BRACE.sub(lambda m: f"({m[1][1:-1]})", text)
    text = re.sub(r"\\l(floor|ceil)(.*?)\\r\1", r" @\1@(\2) ", text, flags=re.DOTALL)
    text = _WORD.sub(r" @\1@ ", text)
    text = re.sub(r"\\(max|min)(?![a-z])", r" @\1@ ", text)
    text = _BELOW.sub(lambda m: "_" + re.sub(r"\W+", "", m[1] or m[2] or m[3]) + " ", text)
    text = re.sub(r"\^\s*\{([^{}]*)\}", r"^(\1)", re.sub(r"\\(?:cdot|times)", " ", text))
    if "\\" in text:
        raise NotAnEquationError(f"cannot read {text!r}")
    pieces = re.split(r"@([^@]*)@", text.replace("{", " ").replace("}", " "))
    for i in range(0, len(pieces), 2):  # outside words each letter is a symbol of its own, with what stands below it
        pieces[i] = re.sub(r"_\w+|kv|[A-Za-z]", lambda m: m[0] if m[0][0] == "_" else f" {m[0]}", pieces[i])
    return "".join(f" {piece}" if i % 2 else piece for i, piece in enumerate(pieces))


# Functions that forget nothing of what they are given, and mind no order where max and min mind none.
_OPEN: Mapping[str, Callable[..., Value]] = {
    "max": lambda *parts: sum(part**3 for part in parts),
    "min": lambda *parts: sum(part**5 for part in parts),
    "floor": lambda part: part + 0.25,
    "ceil": lambda part: part + 0.75,
}


def fingerprint(node: Node, known: Mapping[str, Node] | None = None) -> tuple[float, ...]:
    """Values at three made-up points, the same for the same name everywhere: equal for equal expressions.

    A name that is `known` has the value of its expression.
    """
    meanings = known or {}

    def at(point: int) -> float:
        def of(name: str) -> float:
            if name in meanings:
                return float(value(meanings[name], of, _OPEN))
            return 1.5 + zlib.crc32(f"{name}/{point}".encode()) / 2**32

        return float(value(node, of, _OPEN))

    return tuple(float(f"{at(point):.9e}") for point in range(3))


def telling(node: Node) -> bool:
    """Whether an expression has more than one name, so that finding it again means something."""
    return len(set(node.names())) > 1
