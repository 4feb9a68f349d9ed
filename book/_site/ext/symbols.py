"""The table of symbols: one letter, one meaning. What a letter means and its unit are read here from its page."""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

PAGE = Path(__file__).parents[2] / "appendix" / "symbols.md"

_GROUP = r"(\{(?:[^{}]|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\})*\})"
_BRACE = re.compile(rf"\\(?:under|over)brace\s*{_GROUP}\s*[_^]\s*{_GROUP}")
_WORD = re.compile(r"\\(?:text|mathrm|operatorname)\s*\{([^{}]*)\}")


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    symbols: tuple[str, ...]
    meaning: str
    names: frozenset[str]
    unit: str
    any_subscript: bool


@dataclass(frozen=True)
class Table:
    """The table of symbols."""

    rows: tuple[Row, ...]

    @cached_property
    def by_symbol(self) -> dict[str, Row]:
        """Row of each symbol."""
        return {symbol: row for row in self.rows for symbol in row.symbols}

    def row(self, symbol: str) -> Row | None:
        """The line that a symbol falls under, its own or that of a letter which takes any subscript."""
        if symbol in self.by_symbol:
            return self.by_symbol[symbol]
        base = self.by_symbol.get(symbol.partition("_")[0])
        return base if base and base.any_subscript and "_" in symbol else None

    def unit(self, name: str) -> str:
        """Unit of an argument that is called so, or nothing."""
        return next((row.unit for row in self.rows if name in row.names), "")


def read(text: str) -> Table:
    """The first table of the page with four columns."""
    rows = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) != 4 or not cells[0].startswith("$"):
            continue
        names = re.findall(r"`([^`]*)`", cells[2])
        rows.append(
            Row(
                symbols=tuple("".join(symbols(one)) for one in re.findall(r"\$([^$]+)\$", cells[0])),
                meaning=cells[1],
                names=frozenset(normal(name) for name in names),
                unit=cells[3].replace("–", "-"),
                any_subscript=bool(re.search(r"subscript says", cells[1])),
            )
        )
    return Table(tuple(rows))


def normal(code: str) -> str:
    """A piece of code as the table writes it: ``chip.rate(...)`` for any call of it, but each dtype for itself."""
    if code.startswith("dtype_bytes("):
        return re.sub(r"(?<=\w),.*\)", ")", code)
    return re.sub(r"\(.*\)", "(...)", code, flags=re.DOTALL)


def symbols(text: str) -> list[str]:
    """Every symbol in any TeX, as ``T_step`` or ``b_w``. Upright words are none, but for kv; in italics that is k v."""
    for _ in range(3):
        text = _BRACE.sub(r"\1", text)
    text = re.sub(r"\s*_\s*(?:\\text\s*)?\{(\w+)\}", r"_\1", re.sub(r"\\lim\s*_", " ", text))
    text = re.sub(r"\\text\s*\{kv\}", " @ ", text)
    text = re.sub(rf"{_WORD.pattern}(?:_\w+)?", " ", text)
    text = re.sub(r"\\(?:begin|end)\s*\{\w+\}|\\[A-Za-z]+|\\.|\d+(?:\.\d+)?e-?\d+", " ", text)
    found = re.findall(r"(?:@|[A-Za-z])(?:_\w+)?", text)
    return [name.replace("@", "kv") for name in found]
