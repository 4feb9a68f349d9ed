"""Traps: what a sensible person may believe, and what is measured, side by side and as a ratio."""

import math
import re
from dataclasses import dataclass
from html import escape
from typing import Any

from scaling._checks import shown
from scaling.course._look import STYLE
from scaling.units import number


def trap(belief: str, *, believed: float, measured: float, unit: str, row: str) -> "Trap":
    """A belief, the number that follows from it, and the number that is computed.

    `belief`: a sentence that a sensible person may say, such as ``"Int8 weights halve the work of a step."``
    `believed`: the number that it comes to, in `unit`
    `measured`: the number that the cell computes, in the same unit
    `unit`: what both are counted in, such as ``"GB"``; empty for plain counts
    `row`: the id of the ledger's row that treats it

    Raises ``ValueError`` for an empty belief, a number that is not finite and above 0, and a row that is no id.
    """
    return Trap(belief, believed, measured, unit, row)


@dataclass(frozen=True)
class Trap:
    """What `trap` gives. Notebooks show it as HTML; on the site its row is a link to the ledger."""

    belief: str
    believed: float
    measured: float
    unit: str
    row: str

    def __post_init__(self) -> None:
        for field in ("believed", "measured"):
            value = getattr(self, field)
            if not _is_size(value):
                raise ValueError(f"{field} must be a finite number above 0, not {shown(value)}.")
        if not isinstance(self.belief, str) or not self.belief.strip():
            raise ValueError(f"belief must be a sentence, not {shown(self.belief)}.")
        if not isinstance(self.unit, str):
            raise ValueError(f"unit must be text, such as 'GB', not {shown(self.unit)}.")
        if not isinstance(self.row, str) or not re.fullmatch(r"[\w.-]+", self.row):
            raise ValueError(f"row must be the id of a row of the ledger, not {shown(self.row)}.")

    @property
    def ratio(self) -> str:
        """How far the measured number lies from the belief: a factor, or a percentage when that is small."""
        factor = self.measured / self.believed
        if 0.8 < factor < 1.25:
            return f"{100 * (factor - 1):+.2g} %".replace("-", "−")
        return f"× {number(factor, 2)}" if factor > 1 else f"÷ {number(1 / factor, 2)}"

    def _numbers(self) -> tuple[str, str]:
        return tuple(f"{number(value, 3)} {self.unit}".strip() for value in (self.believed, self.measured))  # type: ignore[return-value]

    def __repr__(self) -> str:
        believed, measured = self._numbers()
        return f"One may believe: {self.belief}\nbelieved {believed}, measured {measured}: {self.ratio}"

    def _repr_html_(self) -> str:
        believed, measured = self._numbers()
        return (
            f'{STYLE}<div class="scaling-trap"><p><b>One may believe</b><q>{escape(self.belief)}</q></p>'
            f"<p><b>Believed</b><s>{escape(believed)}</s></p><p><b>Measured</b><strong>{escape(measured)}</strong></p>"
            f'<p class="ratio">{escape(self.ratio)}</p>'
            f'<p class="row"><span data-row="{escape(self.row)}">Ledger: {escape(self.row)}</span></p></div>'
        )


def _is_size(value: Any) -> bool:
    try:
        return not isinstance(value, (str, bool)) and math.isfinite(value) and value > 0
    except (TypeError, ValueError):
        return False
