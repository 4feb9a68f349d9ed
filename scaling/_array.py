"""The one place that knows about array libraries.

Formulas are written with operators and with the functions here. Plain numbers stay plain and need no import;
NumPy arrays broadcast; Dask arrays pass through NumPy's ufuncs; JAX arrays go to ``jax.numpy``.
"""

import math
from typing import Any, TypeAlias

# A number or an array of any library: what broadcasts has no narrower static type.
Array: TypeAlias = Any


def _scalar(value: Array) -> bool:
    return isinstance(value, (int, float))


def namespace(*values: Array) -> Any:
    """The array library to use: the first argument's own one if it is not NumPy's, else NumPy."""
    import numpy

    for value in values:
        own = getattr(value, "__array_namespace__", None)
        if own is not None and not isinstance(value, (numpy.ndarray, numpy.generic)):
            return own()
    return numpy


def maximum(a: Array, b: Array) -> Array:
    """The larger of two, elementwise. NaN propagates."""
    if a.__class__ is float is b.__class__ or (_scalar(a) and _scalar(b)):
        return a if a >= b or a != a else b
    return namespace(a, b).maximum(a, b)


def minimum(a: Array, b: Array) -> Array:
    """The smaller of two, elementwise. NaN propagates."""
    if _scalar(a) and _scalar(b):
        return a if a <= b or a != a else b
    return namespace(a, b).minimum(a, b)


def where(condition: Array, a: Array, b: Array) -> Array:
    """`a` where the condition holds, else `b`, elementwise."""
    if isinstance(condition, bool):
        return a if condition else b
    return namespace(condition, a, b).where(condition, a, b)


def floor(a: Array) -> Array:
    """Largest whole number not above `a`; an ``int`` for a plain finite number."""
    if _scalar(a):
        return math.floor(a) if math.isfinite(a) else a
    return namespace(a).floor(a)


def ceil(a: Array) -> Array:
    """Smallest whole number not below `a`; an ``int`` for a plain finite number."""
    if _scalar(a):
        return math.ceil(a) if math.isfinite(a) else a
    return namespace(a).ceil(a)


def divide(a: Array, b: Array) -> Array:
    """The quotient, with a positive number over zero read as infinity, for plain numbers as for arrays."""
    if _scalar(a) and _scalar(b):
        return a / b if b else (math.copysign(math.inf, a) if a else math.nan)
    xp = namespace(a, b)
    if xp.__name__ == "numpy":
        with xp.errstate(divide="ignore", invalid="ignore"):
            return xp.true_divide(a, b)
    return xp.true_divide(a, b)


def _holds(value: Array, rule: str) -> bool:
    """Whether every element of a concrete value obeys the rule. Lazy and traced arrays are not looked into."""
    if _scalar(value):
        return value > 0 if rule == "positive" else not value < 0
    if type(value).__module__.partition(".")[0] == "numpy":
        return bool((value > 0).all()) if rule == "positive" else not bool((value < 0).any())
    return True


def _numeric(value: Array) -> bool:
    if isinstance(value, (bool, str, bytes)) or value is None:
        return False
    if _scalar(value):
        return True
    dtype = getattr(value, "dtype", None)
    return dtype is not None and getattr(dtype, "kind", "f") in "iuf"


def nonnegative(name: str, value: Array) -> Array:
    """`value` unchanged if it is a number or an array of numbers with none below zero.

    Raises ``ValueError`` that names the argument, the value given and what is allowed. NaN passes.
    """
    if value.__class__ is float or value.__class__ is int:
        if not value < 0:
            return value
    elif _numeric(value) and _holds(value, "nonnegative"):
        return value
    raise ValueError(f"{name} must be a number, or an array of numbers, of at least 0, not {value!r}.")


def positive(name: str, value: Array) -> Array:
    """`value` unchanged if it is a finite number, or an array of numbers, all above zero.

    Raises ``ValueError`` that names the field, the value given and what is allowed.
    """
    finite = not _scalar(value) or math.isfinite(value)
    if _numeric(value) and finite and _holds(value, "positive"):
        return value
    raise ValueError(f"{name} must be a finite number above 0, not {value!r}.")


def count(name: str, value: Array) -> Array:
    """`value` unchanged if it is a whole number of at least 1 (or an array of positive numbers).

    Raises ``ValueError`` that names the field, the value given and what is allowed.
    """
    if _scalar(value) and (isinstance(value, bool) or not math.isfinite(value) or value < 1 or value != int(value)):
        raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}.")
    return positive(name, value)


def share(name: str, value: Array) -> Array:
    """`value` unchanged if it lies above 0 and not above 1.

    Raises ``ValueError`` that names the field, the value given and what is allowed.
    """
    if not (_numeric(value) and _holds(value, "positive") and _holds(1.0 - value, "nonnegative")):
        raise ValueError(f"{name} must be a share above 0 and at most 1, not {value!r}.")
    return value
