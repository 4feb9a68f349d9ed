"""Checks of what is given, and the one sentence that refuses it: the name, what is allowed, what was given."""

import math
from collections.abc import Callable, Sequence
from sys import float_info
from typing import TypeVar

from scaling._array import Array, floor, known, library, plain, scalar, usable

_LARGEST = float_info.max
_MOST = 1e15  # more than any count here, and its products stay far below the largest float

Kind = TypeVar("Kind")

# The rules that values obey, written so that they hold for one number and elementwise.
_RULES: dict[str, Callable[[Array], Array]] = {
    "nonnegative": lambda value: value >= 0,
    "finite": lambda value: (value >= 0) & (value < math.inf),
    "positive": lambda value: (value > 0) & (value < math.inf),
    "share": lambda value: (value > 0) & (value <= 1),
    "whole": lambda value: (value >= 1) & (value <= _MOST) & (floor(value) == value),
}


def _obeys(value: Array, rule: str) -> bool:
    """Whether a value is numeric and all of it obeys the rule. Dask's and traced arrays are not looked into."""
    if not _numeric(value):
        return False
    if scalar(value):
        return bool(_RULES[rule](value))
    if library(value) == "dask":
        return True  # looking would compute what is only planned
    try:
        found = _RULES[rule](value)
        return bool(found.all() if hasattr(found, "all") else found)
    except TypeError:  # JAX has no numbers yet while it traces; NumPy's `masked` has a dtype and is no number
        return library(value) != "numpy"


def _numeric(value: Array) -> bool:
    if isinstance(value, (bool, type)):
        return False
    if scalar(value):
        return isinstance(value, float) or abs(value) <= _LARGEST
    if not usable(value) or type(value).__name__ in ("MaskedArray", "MaskedConstant", "matrix"):
        return False  # what is behind a mask would come out as an answer; `*` of a matrix is another product
    dtype = getattr(value, "dtype", None)
    # Half precision ends at 65504: a batch times a context would silently be infinite.
    return dtype is not None and getattr(dtype, "kind", "f") in ("i", "u", "f") and str(dtype) != "float16"


def shown(value: object) -> str:
    """What was given, for an error message: on one line and not too long."""
    if isinstance(value, int) and abs(value) > _LARGEST:
        return "a whole number beyond any float"
    try:
        lines = repr(value).splitlines()
    except Exception:  # nested too deep, numbers of too many digits, or no words of its own
        return f"a {type(value).__name__} that cannot be shown"
    return in_line(" ".join(line.strip() for line in lines))


def in_line(text: str, most: int = 100) -> str:
    """`text` as a part of a sentence: on one line, nothing in it that does not print, not too long."""
    if not text.isprintable():
        text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= most else f"{text[: most - 3]}..."


def nonnegative(name: str, value: Array) -> Array:
    """`value` if it is a number or an array of numbers with none below zero; see `scaling._array.known`.

    Raises ``ValueError`` that names the argument, the value given and what is allowed. NaN is no number.
    """
    # A sweep of plain numbers spends a fifth of its time here: a class is compared faster than `isinstance` asks.
    if (value.__class__ is float and value >= 0) or (value.__class__ is int and 0 <= value <= _LARGEST):
        return value
    value = known(value)
    if _obeys(value, "nonnegative"):
        return value
    raise ValueError(f"{name} must be a number, or an array of numbers, of at least 0, not {shown(value)}.")


_SAID = {
    "finite": "a finite number of at least 0",
    "positive": "a finite number above 0",
    "share": "a share above 0 and at most 1",
}


def _must(name: str, value: Array, rule: str) -> Array:
    value = known(value)
    if _obeys(value, rule):
        return value
    raise ValueError(f"{name} must be {_SAID[rule]}, not {shown(value)}.")


def finite(name: str, value: Array) -> Array:
    """`value` if it is a finite number, or an array of numbers, none below zero.

    Raises ``ValueError`` that names the field, the value given and what is allowed.
    """
    return _must(name, value, "finite")


def positive(name: str, value: Array) -> Array:
    """`value` if it is a finite number, or an array of numbers, all above zero.

    Raises ``ValueError`` that names the field, the value given and what is allowed.
    """
    return _must(name, value, "positive")


def count(name: str, value: Array) -> Array:
    """`value` if it is a whole number of at least 1 and at most 10^15, as an ``int``; an array of such unchanged.

    Raises ``ValueError`` that names the field, the value given and what is allowed.
    """
    value = plain(known(value))
    if _obeys(value, "whole"):
        # A command line with 8.0 GPUs is one that no engine takes.
        return int(value) if scalar(value) else value
    if getattr(value, "ndim", 0):
        raise ValueError(f"{name} must be a whole number of at least 1, or an array of such, not {shown(value)}.")
    most = " and at most 10^15" if scalar(value) and _MOST < value < math.inf else ""
    raise ValueError(f"{name} must be a whole number of at least 1{most}, not {shown(value)}.")


def whole(name: str, value: Array) -> int:
    """`value` as an ``int``, for what cannot be an array: no count that follows from it can then overflow.

    Raises ``ValueError`` that names the field, the value given and what is allowed.
    """
    if getattr(value, "ndim", 0):
        raise ValueError(f"{name} must be a single whole number of at least 1, not {shown(value)}.")
    return int(count(name, value))


def share(name: str, value: Array) -> Array:
    """`value` if it lies above 0 and not above 1.

    Raises ``ValueError`` that names the field, the value given and what is allowed.
    """
    return _must(name, value, "share")


def record(name: str, value: Kind, kind: type[Kind]) -> Kind:
    """`value` unchanged if it is such a record.

    Raises ``ValueError`` that names the argument, the value given and what is allowed.
    """
    if isinstance(value, kind):
        return value
    raise ValueError(f"{name} must be a {kind.__name__} record, not {shown(value)}.")


def label(name: str, value: str) -> str:
    """`value` unchanged if it is a text of one line that can stand in a sentence.

    Raises ``ValueError`` that names the field, the value given and what is allowed.
    """
    if isinstance(value, str) and value.isprintable() and len(value) <= 100:
        return value
    raise ValueError(f"{name} must be a text of one line and at most 100 characters, not {shown(value)}.")


def word(name: str, value: str, allowed: Sequence[str]) -> str:
    """`value` unchanged if it is one of the words allowed.

    Raises ``ValueError`` that names the field, the value given and what is allowed.
    """
    if isinstance(value, str) and value in allowed:
        return value
    raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {shown(value)}.")


def flag(name: str, value: bool) -> bool:
    """`value` unchanged if it is a bool: other languages' words for it, such as ``"false"``, count as true in Python.

    Raises ``ValueError`` that names the argument, the value given and what is allowed.
    """
    if type(value).__name__ in ("bool", "bool_"):  # Python's own and NumPy's
        return value
    raise ValueError(f"{name} must be True or False, not {shown(value)}.")
