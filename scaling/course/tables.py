"""Tables for people: right in a notebook, on a page, on a phone and in a terminal."""

from collections.abc import Iterable, Mapping
from html import escape
from itertools import repeat
from typing import Any

from scaling._checks import shown
from scaling.units import number


def table(columns: Mapping[str, Any], caption: str) -> "Table":
    """A table of named columns: ``table({"batch": B, "step, ms": step / ms}, "Decode step")``.

    `columns`: by name, what stands below it: an array, a list or anything else that holds one cell a row; a single
    number or text stands in every row. Numbers are shown with `number`, text as it is.
    `caption`: what the table shows.

    Raises ``ValueError`` for no column, no row, columns of unequal length, arrays of more than one dimension, and a
    cell that is neither a number nor text.
    """
    return Table(columns, caption)


class Table:
    """Rows under a header. Notebooks show it as HTML that scrolls inside its box; ``print`` shows aligned text."""

    def __init__(self, columns: Mapping[str, Any], caption: str) -> None:
        if not isinstance(columns, Mapping) or not columns:
            raise ValueError(f"columns must map at least one name to its cells, not {shown(columns)}.")
        self.header = [str(name) for name in columns]
        self.rows = _rows({str(name): _cells(name, given) for name, given in columns.items()})
        self.caption = str(caption)

    def __repr__(self) -> str:
        cells = [self.header, *self.rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]) for line in cells]
        return "\n".join([self.caption, *lines])

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col">{escape(name)}</th>' for name in self.header)
        body = "".join(map(_row, self.rows))
        label = escape(self.caption, quote=True)
        return (
            f'<div class="scroll-table" tabindex="0" role="region" aria-label="{label}"><table class="table">'
            f"<caption>{escape(self.caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )


def _cells(name: str, given: Any) -> str | list[str]:
    """The cells of a column as text: one for every row, or a list with one a row."""
    try:
        if isinstance(given, str) or not isinstance(given, Iterable) or getattr(given, "ndim", 1) == 0:
            return number(given)
        return [number(cell) for cell in given]
    except ValueError as error:
        raise ValueError(f"column {str(name)!r}: {error}") from None


def _rows(columns: Mapping[str, str | list[str]]) -> list[list[str]]:
    lengths = {name: len(cells) for name, cells in columns.items() if isinstance(cells, list)}
    if len(set(lengths.values())) > 1:
        each = ", ".join(f"{name!r} {length}" for name, length in lengths.items())
        raise ValueError(f"columns must be equally long, not {each}.")
    rows = next(iter(lengths.values()), 1)
    if not rows:
        raise ValueError(f"columns must hold at least one row, not none: {', '.join(map(repr, columns))}.")
    each_row = (cells if isinstance(cells, list) else repeat(cells, rows) for cells in columns.values())
    return [list(cells) for cells in zip(*each_row, strict=True)]


def _row(cells: list[str]) -> str:
    first, *rest = map(escape, cells)
    return f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>'
