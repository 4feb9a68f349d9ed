"""The frame of the ledger: one record per claim, and what its verdict must satisfy.

A row says where a source prints something, what it prints, what `scaling` gives for it, and what follows from the two.
`gives` is an expression, never a typed number; `expressions` reads it from the module, for the page and the tests.
"""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from scaling import units

AGREES, ROUNDING, CONVENTION, ERRATUM, UNSTATED = "agrees", "rounding", "convention", "erratum", "unstated"
VERDICTS: Mapping[str, str] = {
    AGREES: "within 0.5 %, or a sentence that holds",
    ROUNDING: "off by more than 0.5 % and at most 2 %",
    CONVENTION: "off by more than 0.5 %, and within 2 % once counted the source's own way",
    ERRATUM: "off by more than 2 %, or a sentence that does not hold",
    UNSTATED: "a sentence that the source does not print, but needs or leaves open; it may hold or not",
}
EXACT, ROUNDED = 0.005, 0.02
_SLACK = 1e-9  # so that a ratio of exactly 1.005 is not decided by the last bit


class Edition(NamedTuple):
    """One state of a source: its short name, what it is, which state, and its date."""

    name: str
    what: str
    state: str
    date: str


TEXT = Edition("the text", "chapter 12 of the Chinese companion", "519-line edition", "read 2026-11")
PART8 = Edition("part 8", "How to Scale Your Model, part 8", "commit c7b3aab", "2025-08-26")
FIRST8 = Edition("part 8, first edition", "the same in its oldest public state", "commit 0819a7d", "2025-02-18")
PART7 = Edition("part 7", "How to Scale Your Model, part 7", "commit c7b3aab", "2025-08-26")
EDITIONS = (TEXT, PART8, FIRST8, PART7)

_UNITS: Mapping[str, float] = {
    **{name: getattr(units, name) for name in ("kB", "MB", "GB", "TB", "us", "ms")},
    **dict.fromkeys(("", "x", "B", "s", "B/s", "FLOP/s", "FLOP/USD", "USD/h", "ways", "layers", "heads"), 1.0),
    **dict.fromkeys(("chips", "card", "cards", "sequences", "requests", "tokens", "parameters"), 1.0),
    **dict.fromkeys(("token/s", "token/s per chip", "query/s", "query/s per chip"), 1.0),
    **{"TB/s": units.TB, "B parameters": 1e9, "K tokens": 1024.0, "%": 0.01, "token/ms per chip": 1 / units.ms},
}
_QUANTITY = re.compile(r"[~≈]?(\d[\d,]*(?:\.\d+)?(?:e\d+)?) ?(.*)")


def quantity(printed: str) -> tuple[float, float, str]:
    """A printed number in base units, the size of its unit, and the unit: ``"5.3 GB"`` is 5.3e9, 1e9, GB."""
    match = _QUANTITY.fullmatch(printed)
    if not match or match[2] not in _UNITS:
        raise ValueError(f"printed must be a number with a known unit, such as '5.3 GB', not {printed!r}.")
    size = _UNITS[match[2]]
    return float(match[1].replace(",", "")) * size, size, match[2]


class Load(NamedTuple):
    """What a question gives: the inputs that the rows after it are computed with."""

    batch: int = 1
    context: int = 0
    output: int = 0
    mfu: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One number or one quantitative sentence of a source.

    `at`: where. In the text, a line and what it covers there, ``"20:163,840"``; in other editions, words.
    `printed`: the number, nothing more; empty for a sentence.
    `gives`: the value from `scaling` in base units; for a sentence, whether it holds.
    `convention`: the same, counted the source's own way.
    `see`: the heading of the chapter that explains it.
    """

    id: str
    at: str
    printed: str
    gives: float | bool
    verdict: str
    says: str
    why: str
    convention: float | bool | None = None
    see: str = ""
    edition: Edition = TEXT

    @property
    def value(self) -> float:
        """The printed number in base units."""
        return quantity(self.printed)[0]

    @property
    def ratio(self) -> float:
        """Printed over given."""
        return self.value / self.gives

    @property
    def covers(self) -> tuple[str, ...]:
        """The numbers of the text that this row accounts for, as the inventory names them."""
        return tuple(key for key in self.at.split() if ":" in key) if self.edition is TEXT else ()

    @property
    def place(self) -> str:
        """Where it stands, for people."""
        return f"line {self.at.split(':')[0].split()[0]}" if self.edition is TEXT else self.at


def claim(
    id: str,
    at: str,
    printed: str,
    gives: float | bool,
    verdict: str,
    says: str,
    why: str,
    *,
    edition: Edition = TEXT,
    convention: float | bool | None = None,
    see: str = "",
) -> Claim:
    """A row, written short."""
    told = {"at": at, "printed": printed, "verdict": verdict, "says": says, "why": why, "see": see}
    return Claim(id=id, gives=gives, convention=convention, edition=edition, **told)


class Section(NamedTuple):
    """One section of the text, the chapter that mirrors it, and its rows."""

    number: str
    title: str
    chapter: str
    claims: tuple[Claim, ...]


def off(value: float | bool, printed: str) -> float:
    """How far the printed number is from a value; for a sentence, 0 when it holds and infinite when not."""
    if isinstance(value, bool):
        return 0.0 if value else float("inf")
    return abs(quantity(printed)[0] / value - 1)


def fault(c: Claim) -> str:
    """What contradicts the verdict; empty when nothing does."""
    if c.verdict not in VERDICTS:
        return f"verdict {c.verdict!r} is none of {', '.join(VERDICTS)}"
    if isinstance(c.gives, bool) is bool(c.printed):
        return "a sentence has no number printed, and a number is not a truth value"
    found = off(c.gives, c.printed)
    own = float("inf") if c.convention is None else off(c.convention, c.printed)
    right = {
        AGREES: found <= EXACT + _SLACK,
        ROUNDING: EXACT + _SLACK < found <= ROUNDED,
        CONVENTION: found > EXACT + _SLACK and own <= ROUNDED,
        ERRATUM: found > ROUNDED,
        UNSTATED: not c.printed,  # a number that is printed is stated
    }[c.verdict]
    if right and (c.convention is None or c.verdict == CONVENTION):
        return ""
    if right:
        return "only the verdict convention gives a convention"
    said = f"ratio {c.ratio:.4f}" if c.printed else f"holds is {c.gives}"
    return f"{said} contradicts {c.verdict!r}, which is {VERDICTS[c.verdict]}"


def _text(lines: list[bytes], node: ast.expr) -> str:
    """The source of a node, on one line."""
    parts = lines[node.lineno - 1 : node.end_lineno]
    parts[-1] = parts[-1][: node.end_col_offset]
    parts[0] = parts[0][node.col_offset :]
    return " ".join(part.decode().strip() for part in parts)


def expressions(module: Path) -> dict[str, str]:
    """The source of `gives` for each row of a module, by the row's id."""
    source = module.read_bytes()
    lines = source.splitlines()
    rows = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    rows = (node for node in rows if isinstance(node.func, ast.Name) and node.func.id == "claim")
    return {ast.literal_eval(node.args[0]): _text(lines, node.args[3]) for node in rows}


def setup(module: Path) -> str:
    """What the expressions of a module stand on: its code before the rows, without this frame."""
    source = module.read_text(encoding="utf-8")
    lines = source.splitlines()
    kept = [
        "\n".join(lines[node.lineno - 1 : node.end_lineno])
        for node in ast.parse(source).body
        if not isinstance(node, ast.Expr)
        and not (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "SECTION")
        and not (isinstance(node, ast.ImportFrom) and node.module == "claims.ledger")
    ]
    return "\n".join(kept)
