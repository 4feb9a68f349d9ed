"""Prefixes as plain floats: multiply in (``80 * GB``), divide out (``t / ms``).

Everything in this package is in SI base units: bytes, seconds, FLOP, dollars and their quotients.
Decimal (GB) and binary (GiB) prefixes are both here and are never mixed.
"""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from scaling._array import plain
from scaling._checks import shown, whole

kB, MB, GB, TB = 1e3, 1e6, 1e9, 1e12
KiB, MiB, GiB, TiB = 2.0**10, 2.0**20, 2.0**30, 2.0**40

us, ms = 1e-6, 1e-3
minute, hour = 60.0, 3600.0

GFLOP, TFLOP, PFLOP = 1e9, 1e12, 1e15

DTYPE_BYTES: Mapping[str, float] = MappingProxyType(
    {"fp32": 4.0, "bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0, "int4": 0.5, "fp4": 0.5}
)


def dtype_bytes(dtype: str, field: str = "dtype") -> float:
    """Bytes of one number stored as `dtype`. [B]

    `field` is the name that an error message uses.

    Raises ``ValueError`` for a name that is not in ``DTYPE_BYTES``.
    """
    try:
        return DTYPE_BYTES[dtype]
    except (KeyError, TypeError):
        allowed = ", ".join(DTYPE_BYTES)
        raise ValueError(f"{field} must be one of {allowed}, not {shown(dtype)}.") from None


def number(value: Any, digits: int = 4) -> str:
    """A number for people: `digits` significant digits, thousands separated, no exponent between 0.001 and 1e12.

    Whole numbers keep all their digits. Text passes; True and False become yes and no.

    Raises ``ValueError`` for anything else, and for `digits` below 1.
    """
    value, digits = plain(value), whole("digits", digits)
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    try:
        if isinstance(value, int):
            return f"{value:,}"
        value = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"a cell must be a number, text, True or False, not {shown(value)}.") from None
    if value != value or value in (float("inf"), float("-inf")):
        return "∞" if value > 0 else "-∞" if value < 0 else "–"
    if value == 0:
        return "0"
    if not 1e-3 <= abs(value) < 1e12:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    rounded = float(f"{value:.{digits - 1}e}")
    decimals = digits - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{max(0, decimals)}f}" if decimals > 0 else f"{value:,.0f}"
