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

    `key`: unique on its page. `sliders`: for each argument a label, a unit and the values to slide over, ascending;
    values in words make a menu.
    `compute`: called with every combination by name; gives a mapping of outcomes to numbers, always the same outcomes.
    The first outcome is a number, others may be words, such as a command.
    An outcome may end in a unit after a comma, as ``"H100 for decode, chips"``: bars of one unit share one scale.
    `start`: the position it opens at; the first value of each slider not named. `predict`: a question to answer with
    the first outcome, at the start, before the outcomes appear; empty for none.

    Raises ``ValueError`` for a slider without two values in order, for a start that is not among the values, for
    outcomes that are not numbers or not the same everywhere, and for more combinations than a page can carry.
    """

    scripts = ("dom.js", "hardware.js", "sweep.js")
    styles = ("widgets.css", "explorer.css", "sweep.css")

    sliders: t.List[Any] = t.List().tag(sync=True)
    outcomes: t.List[Any] = t.List().tag(sync=True)
    texts: t.List[Any] = t.List().tag(sync=True)
    grid = t.Bytes().tag(sync=True)
    start: t.List[Any] = t.List().tag(sync=True)
    predict = t.Unicode().tag(sync=True)

    def __init__(
        self,
        key: str,
        *,
        sliders: Mapping[str, tuple[str, str, Sequence[float] | Sequence[str]]],
        compute: Callable[..., Mapping[str, Any]],
        start: Mapping[str, float | str] | None = None,
        predict: str = "",
    ) -> None:
        if not isinstance(sliders, Mapping) or not sliders:
            raise ValueError(
                f"sliders must map at least one argument to a label, a unit and values, not {shown(sliders)}."
            )
        self._sliders = {name: _slider(name, given) for name, given in sliders.items()}
        self._names: list[str] = []
        self._texts: dict[
            str, list[str]
        ] = {}  # of each outcome in words, those that it takes; the grid has their places
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
            texts=[self._texts.get(name, []) for name in self._names],
            grid=struct.pack(f"<{size * len(self._names)}f", *(value for row in rows for value in row)),
            start=at,
            predict=predict,
        )

    def _start(self, given: Mapping[str, float | str]) -> list[int]:
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
        values = [self._number(name, value) for name, value in given.items()]
        for name, value in zip(given, values, strict=True):
            if isinstance(value, bool) or not isinstance(value, (int, float)) or _LARGEST < abs(value) < math.inf:
                raise ValueError(f"the outcome {name!r} must be a number that 32 bits hold, not {shown(value)}.")
        return values

    def _number(self, name: str, value: Any) -> Any:
        """The value as the grid holds it: of words their place among all that this outcome takes."""
        if not isinstance(value, str) or name == self._names[0]:
            return plain(value)
        texts = self._texts.setdefault(name, [])
        if value not in texts:
            texts.append(value)
        return texts.index(value)

    def outcome(self, **position: float | str) -> dict[str, Any]:
        """The outcomes at a position; sliders not named stay at the start. Raises ``ValueError`` as the start does."""
        names = [*self._sliders]
        begin = {name: self._sliders[name][2][i] for name, i in zip(names, self.start, strict=True)}
        row = zip(self._names, self._rows[tuple(self._start(begin | position))], strict=True)
        return {name: self._texts[name][int(value)] if name in self._texts else value for name, value in row}

    def fallback(self) -> str:
        """The start, and each slider at its two ends, as one table: for readers without JavaScript."""
        begin = zip(self._sliders.values(), self.start, strict=True)
        at = ", ".join(_worded(label, unit, values[i]) for (label, unit, values), i in begin)
        numbers = [name for name in self._names if name not in self._texts]
        columns = dict(zip(("Position", *numbers), zip(*self._ends(numbers), strict=True), strict=True))
        html: str = table(columns, f"Start: {at}; then one slider moved")._repr_html_()
        asked = f"<p><strong>{escape(self.predict)}</strong></p>" if self.predict else ""
        begun = self.outcome()
        said = "".join(f"<pre>{escape(begun[name])}</pre>" for name in self._texts)
        return f"{asked}{html}{said}<p>The positions between these ends need JavaScript.</p>"

    def _ends(self, names: Sequence[str]) -> Iterable[tuple[Any, ...]]:
        def numbers(**position: Any) -> list[Any]:
            outcome = self.outcome(**position)
            return [outcome[name] for name in names]

        yield ("start", *numbers())
        for (name, (label, unit, values)), at in zip(self._sliders.items(), self.start, strict=True):
            for i in sorted({0, len(values) - 1} - {at}):
                yield (_worded(label, unit, values[i]), *numbers(**{name: values[i]}))


def _worded(label: str, unit: str, value: float | str) -> str:
    if isinstance(value, str):
        return f"{label} {value}"
    return f"{label} {number(value)} {unit}".rstrip()


def _slider(name: str, given: Any) -> tuple[str, str, tuple[Any, ...]]:
    """A slider's label, unit and values, if they are such."""
    if not isinstance(given, (tuple, list)) or len(given) != 3 or not all(isinstance(text, str) for text in given[:2]):
        raise ValueError(f"sliders[{name!r}] must be a label, a unit and values, not {shown(given)}.")
    label, unit, some = given
    if isinstance(some, (tuple, list)) and some and all(isinstance(value, str) and value for value in some):
        if len(set(some)) < len(some):
            raise ValueError(f"sliders[{name!r}] must have words that differ, not {shown(some)}.")
        return label, unit, tuple(some)
    values = tuple(plain(value) for value in some)
    numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) and math.isfinite(v) for v in values)
    if len(values) < 2 or not numbers or any(a >= b for a, b in pairwise(values)):
        raise ValueError(f"sliders[{name!r}] must have two or more finite values, ascending, not {shown(some)}.")
    return label, unit, values


def _label(name: str) -> tuple[str, str]:
    """An outcome's label and its unit, which is what follows the last comma."""
    label, _, unit = name.rpartition(", ")
    return (label, unit) if label else (name, "")
