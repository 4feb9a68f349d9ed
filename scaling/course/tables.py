"""Tables for people: right in a notebook, on a page, on a phone and in a terminal."""

import math
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any, NamedTuple

from scaling._array import plain
from scaling._checks import shown, whole
from scaling.course._look import STYLE
from scaling.latency import StepTime
from scaling.units import number


def table(columns: Mapping[str, Any], caption: str, *, digits: int = 3) -> "Table":
    """A table of named columns: ``table({"batch": B, "step, ms": step / ms}, "Decode step")``.

    `columns`: by name, what stands below it: an array, a list or anything else that holds one cell a row; a single
    number or text stands in every row. Text is shown as it is.
    `caption`: what the table shows.
    `digits`: significant digits of computed numbers. A column has one precision; whole numbers, and columns of numbers
    that are short as they are (10.8, 0.88), stay as given.

    Raises ``ValueError`` for no column, no row, columns of unequal length, arrays of more than one dimension, a cell
    that is neither a number nor text, and `digits` below 1.
    """
    return Table(columns, caption, whole("digits", digits))


class Cell(NamedTuple):
    """What a cell shows, and what it lacks at its right to have its point below the others'."""

    text: str
    pad: str = ""


class Table:
    """Rows under a header. Notebooks show it as HTML that scrolls inside its box; ``print`` shows aligned text."""

    def __init__(self, columns: Mapping[str, Any], caption: str, digits: int = 3) -> None:
        if not isinstance(columns, Mapping) or not columns:
            raise ValueError(f"columns must map at least one name to its cells, not {shown(columns)}.")
        self.header = [str(name) for name in columns]
        self.caption = str(caption)
        values = _of_one_length({str(name): _values(given) for name, given in columns.items()})
        self._columns = [_column(name, cells, digits) for name, cells in values.items()]
        self.rows = [[cell.text for cell in row] for row in zip(*self._columns, strict=True)]

    def __repr__(self) -> str:
        padded = [[name, *(text + " " * len(pad) for text, pad in column)] for name, column in self._named()]
        padded = [column if i == 0 else _trimmed(column) for i, column in enumerate(padded)]
        widths = [max(map(len, column)) for column in padded]
        rows = zip(*padded, strict=True)
        lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]
        return "\n".join([self.caption, *(line.rstrip() for line in lines)])

    def _named(self) -> Iterable[tuple[str, list[Cell]]]:
        return zip(self.header, self._columns, strict=True)

    def _repr_html_(self) -> str:
        sides = [_side(column) for column in self._columns]
        head = "".join(
            f'<th{_looks(name, side)} scope="col">{escape(name)}</th>' if name.strip() else "<td></td>"
            for name, side in zip(self.header, sides, strict=True)
        )
        body = "".join(_row(row, sides) for row in zip(*self._columns, strict=True))
        label = escape(self.caption, quote=True)
        return (
            f'{STYLE}<div class="scroll-table" tabindex="0" role="region" aria-label="{label}"><table>'
            f"<caption>{escape(self.caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )


def _values(given: Any) -> Any:
    """The values of a column: one for every row, or a list with one a row."""
    if isinstance(given, str) or not isinstance(given, Iterable) or getattr(given, "ndim", 1) == 0:
        return plain(given)
    return [plain(cell) for cell in given]


def _of_one_length(columns: dict[str, Any]) -> dict[str, list[Any]]:
    lengths = {name: len(cells) for name, cells in columns.items() if isinstance(cells, list)}
    if len(set(lengths.values())) > 1:
        each = ", ".join(f"{name!r} {length}" for name, length in lengths.items())
        raise ValueError(f"columns must be equally long, not {each}.")
    rows = next(iter(lengths.values()), 1)
    if not rows:
        raise ValueError(f"columns must hold at least one row, not none: {', '.join(map(repr, columns))}.")
    return {name: cells if isinstance(cells, list) else [cells] * rows for name, cells in columns.items()}


def _column(name: str, values: list[Any], digits: int) -> list[Cell]:
    """The cells of a column, with one precision."""
    try:
        texts = [number(value, digits) for value in values]
    except ValueError as error:
        raise ValueError(f"column {name!r}: {error}") from None
    measured = [float(v) for v in values if _is_measured(v)]
    given = all(float(f"{value:.{digits}g}") == value for value in measured)
    decimals = 0 if given else _decimals(measured, digits)
    for i, value in enumerate(values):
        if _is_measured(value):
            texts[i] = _text(float(value), digits, _decimals_given(float(value)) if given else decimals)
        elif isinstance(value, float) and value.is_integer() and abs(value) < 1e12:
            texts[i] = f"{value:,.0f}"
    tails = [text.partition(".")[2] for text in texts]
    longest = max(tails, key=len) if measured else ""
    return [
        Cell(text, _pad(tail, longest) if isinstance(value, (int, float)) and not isinstance(value, bool) else "")
        for text, tail, value in zip(texts, tails, values, strict=True)
    ]


def _is_measured(value: Any) -> bool:
    """Whether a number has decimals, and a size that is printed without an exponent."""
    return isinstance(value, float) and 1e-3 <= abs(value) < 1e12 and not value.is_integer()


def _decimals_given(value: float) -> int:
    """Decimals of a number as one would type it: one of 10.8, none of 37, many of 1 / 3."""
    return len(f"{value:.12f}".rstrip("0").partition(".")[2])


def _decimals(values: list[float], digits: int) -> int:
    """Decimals of a column: what the smallest needs for its digits, but no more than one digit more of the largest."""
    needed = [max(0, digits - 1 - math.floor(math.log10(abs(value)))) for value in values]
    return min(max(needed), min(needed) + 1 if min(needed) else 0)


def _text(value: float, digits: int, decimals: int) -> str:
    """A number with the decimals of its column; with its own where it would lose all but one digit."""
    if abs(value) < 10 ** (1 - decimals):
        return number(value, max(1, digits - 1))
    rounded = value if abs(value) < 10**digits else float(f"{value:.{digits - 1}e}")
    return f"{rounded:,.{decimals}f}"


def _pad(tail: str, longest: str) -> str:
    return "" if len(tail) >= len(longest) else ("" if tail else ".") + "0" * (len(longest) - len(tail))


def _trimmed(column: list[str]) -> list[str]:
    """A column of text without the blanks at its right that all its cells have."""
    spare = min(len(cell) - len(cell.rstrip()) for cell in column[1:])
    return [column[0], *(cell[: len(cell) - spare] for cell in column[1:])]


def _side(column: list[Cell]) -> str:
    """Words stand at the left, numbers and what is said in their place at the right."""
    return "" if any(text[:1].isdigit() or text[:1] in "-–∞" for text, _ in column) else "left"


def _looks(text: str, side: str) -> str:
    """The class of a cell: its side, and the term of a step that it begins with."""
    word = text.partition(" ")[0].rstrip(",")
    names = " ".join(filter(None, (side, word if word in StepTime._fields else "")))
    return f' class="{names}"' if names else ""


def _row(row: tuple[Cell, ...], sides: list[str]) -> str:
    first, *rest = row
    cells = [f'<th{_looks(first.text, "")} scope="row">{escape(first.text)}</th>']
    for (text, pad), side in zip(rest, sides[1:], strict=True):
        cells.append(f"<td{_looks('', side)}{f' data-pad={pad!r}' if pad else ''}>{escape(text)}</td>")
    return f"<tr>{''.join(cells)}</tr>"
