"""Tables for people: right in a notebook, on a page, on a phone and in a terminal."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from scaling.units import number


class Table:
    """Rows under a header. Notebooks show it as HTML that scrolls inside its box; ``print`` shows aligned text."""

    def __init__(self, header: Sequence[str], rows: Iterable[Sequence[Any]], caption: str) -> None:
        self.header = [str(name) for name in header]
        if not self.header:
            raise ValueError("header must name at least one column, not be empty.")
        self.rows = [[number(cell) for cell in row] for row in rows]
        self.caption = str(caption)
        for row in self.rows:
            if len(row) != len(self.header):
                raise ValueError(f"rows must have {len(self.header)} cells, as the header has, not {len(row)}: {row}.")

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


def _row(cells: Sequence[str]) -> str:
    first, *rest = map(escape, cells)
    return f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>'


def table(header: Sequence[str], rows: Iterable[Sequence[Any]], caption: str) -> Table:
    """A table of `rows` under `header`. Numbers are shown with `number`; text as it is.

    Raises ``ValueError`` for a row that is longer or shorter than the header, and for a cell that is neither a number
    nor text.
    """
    return Table(header, rows, caption)
