"""The sweep: a few sliders over one calculation. Every combination is computed here, with the formulas of `scaling`.

A page without a kernel carries the outcomes of all combinations in one float32 grid; the browser computes nothing.
"""

import math
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from itertools import pairwise, product
from typing import Any

import traitlets as t

from scaling._array import plain
from scaling._checks import shown
from scaling.course.tables import table
from scaling.course.widgets._base import StaticWidget
from scaling.units import number

LARGEST_GRID = 180_000  # bytes: as base64, with its texts, under 300 KB
_LARGEST = 3e38


class Sweep(StaticWidget):
    """Sliders over the arguments of a function, and what it gives.

    `key`: unique on its page. `sliders`: for each argument a label, a unit and the values to slide over, ascending.
    `compute`: called with every combination by name; gives a mapping of outcomes to numbers, always the same outcomes.
    An outcome may end in a unit after a comma, as ``"H100 for decode, chips"``: bars of one unit share one scale.
    `start`: the position it opens at; the first value of each slider not named. `predict`: a question to answer with
    the first outcome, at the start, before the outcomes appear; empty for none.

    Raises ``ValueError`` for a slider without two values in order, for a start that is not among the values, for
    outcomes that are not numbers or not the same everywhere, and for more combinations than a page can carry.
    """

    scripts = ("dom.js", "sweep.js")
    styles = ("widgets.css", "explorer.css", "sweep.css")

    sliders: t.List[Any] = t.List().tag(sync=True)
    outcomes: t.List[Any] = t.List().tag(sync=True)
    grid = t.Bytes().tag(sync=True)
    start: t.List[Any] = t.List().tag(sync=True)
    predict = t.Unicode().tag(sync=True)

    def __init__(
        self,
        key: str,
        *,
        sliders: Mapping[str, tuple[str, str, Sequence[float]]],
        compute: Callable[..., Mapping[str, Any]],
        start: Mapping[str, float] | None = None,
        predict: str = "",
    ) -> None:
        if not isinstance(sliders, Mapping) or not sliders:
            raise ValueError(
                f"sliders must map at least one argument to a label, a unit and values, not {shown(sliders)}."
            )
        self._sliders = {name: _slider(name, given) for name, given in sliders.items()}
        self._names: list[str] = []
        at = self._start(start or {})
        lists = [values for _, _, values in self._sliders.values()]
        size = math.prod(map(len, lists))
        rows = []
        for place in product(*lists):
            rows.append(self._outcome(compute(**dict(zip(self._sliders, place, strict=True)))))
            if 4 * size * len(self._names) > LARGEST_GRID:
                raise ValueError(
                    f"the combinations must fit in a page: offer fewer values ({size:,} x {len(self._names)} outcomes)."
                )
        self._rows = dict(zip(product(*(range(len(values)) for values in lists)), rows, strict=True))
        super().__init__(
            key=key,
            sliders=[[label, unit, list(values)] for label, unit, values in self._sliders.values()],
            outcomes=[list(_label(name)) for name in self._names],
            grid=struct.pack(f"<{size * len(self._names)}f", *(value for row in rows for value in row)),
            start=at,
            predict=predict,
        )

    def _start(self, given: Mapping[str, float]) -> list[int]:
        if unknown := set(given) - set(self._sliders):
            raise ValueError(f"start must name sliders among {', '.join(self._sliders)}, not {sorted(unknown)[0]!r}.")
        at = []
        for name, (_, _, values) in self._sliders.items():
            value = given.get(name, values[0])
            if value not in values:
                raise ValueError(f"start[{name!r}] must be one of {list(values)}, not {shown(value)}.")
            at.append(values.index(value))
        return at

    def _outcome(self, given: Mapping[str, Any]) -> list[float]:
        """The numbers of one call; the first call says how they are called."""
        if not isinstance(given, Mapping) or not given:
            raise ValueError(f"compute must give a mapping of outcomes to numbers, not {shown(given)}.")
        self._names = self._names or list(given)
        if list(given) != self._names:
            raise ValueError(f"compute must give the same outcomes everywhere, {self._names}, not {list(given)}.")
        values: list[float] = [plain(value) for value in given.values()]
        for name, value in zip(given, values, strict=True):
            if isinstance(value, bool) or not isinstance(value, (int, float)) or _LARGEST < abs(value) < math.inf:
                raise ValueError(f"the outcome {name!r} must be a number that 32 bits hold, not {shown(value)}.")
        return values

    def outcome(self, **position: float) -> dict[str, float]:
        """The outcomes at a position; sliders not named stay at the start. Raises ``ValueError`` as the start does."""
        names = [*self._sliders]
        begin = {name: self._sliders[name][2][i] for name, i in zip(names, self.start, strict=True)}
        return dict(zip(self._names, self._rows[tuple(self._start(begin | position))], strict=True))

    def fallback(self) -> str:
        """The start, and each slider at its two ends, as one table: for readers without JavaScript."""
        begin = zip(self._sliders.values(), self.start, strict=True)
        at = ", ".join(_worded(label, unit, values[i]) for (label, unit, values), i in begin)
        columns = dict(zip(("Position", *self._names), zip(*self._ends(), strict=True), strict=True))
        html: str = table(columns, f"Start: {at}; then one slider moved")._repr_html_()
        asked = f"<p><strong>{escape(self.predict)}</strong></p>" if self.predict else ""
        return f"{asked}{html}<p>The positions between these ends need JavaScript.</p>"

    def _ends(self) -> Iterable[tuple[Any, ...]]:
        yield ("start", *self.outcome().values())
        for (name, (label, unit, values)), at in zip(self._sliders.items(), self.start, strict=True):
            for i in sorted({0, len(values) - 1} - {at}):
                yield (_worded(label, unit, values[i]), *self.outcome(**{name: values[i]}).values())


def _worded(label: str, unit: str, value: float) -> str:
    return f"{label} {number(value)} {unit}".rstrip()


def _slider(name: str, given: Any) -> tuple[str, str, tuple[float, ...]]:
    """A slider's label, unit and values, if they are such."""
    if not isinstance(given, (tuple, list)) or len(given) != 3 or not all(isinstance(text, str) for text in given[:2]):
        raise ValueError(f"sliders[{name!r}] must be a label, a unit and values, not {shown(given)}.")
    label, unit, some = given
    values = tuple(plain(value) for value in some)
    numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) and math.isfinite(v) for v in values)
    if len(values) < 2 or not numbers or any(a >= b for a, b in pairwise(values)):
        raise ValueError(f"sliders[{name!r}] must have two or more finite values, ascending, not {shown(some)}.")
    return label, unit, values


def _label(name: str) -> tuple[str, str]:
    """An outcome's label and its unit, which is what follows the last comma."""
    label, _, unit = name.rpartition(", ")
    return (label, unit) if label else (name, "")
