"""The one place that knows about array libraries.

Formulas are written with operators and with the functions here. Plain numbers stay plain and need no import;
NumPy arrays broadcast; Dask arrays pass through NumPy's ufuncs; JAX arrays go to ``jax.numpy``.
"""

import math
from typing import Any, TypeAlias

# A number or an array of any library: what broadcasts has no narrower static type.
Array: TypeAlias = Any


def scalar(value: Array) -> bool:
    """Whether it is one of Python's own numbers."""
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
    if a.__class__ is float is b.__class__ or (scalar(a) and scalar(b)):
        return a if a >= b or a != a else b
    return namespace(a, b).maximum(a, b)


def minimum(a: Array, b: Array) -> Array:
    """The smaller of two, elementwise. NaN propagates."""
    if scalar(a) and scalar(b):
        return a if a <= b or a != a else b
    return namespace(a, b).minimum(a, b)


def where(condition: Array, a: Array, b: Array) -> Array:
    """`a` where the condition holds, else `b`, elementwise."""
    if isinstance(condition, bool):
        return a if condition else b
    return namespace(condition, a, b).where(condition, a, b)


def floor(a: Array) -> Array:
    """Largest whole number not above `a`; an ``int`` for a plain finite number."""
    if scalar(a):
        return math.floor(a) if math.isfinite(a) else a
    return namespace(a).floor(a)


def ceil(a: Array) -> Array:
    """Smallest whole number not below `a`; an ``int`` for a plain finite number."""
    if scalar(a):
        return math.ceil(a) if math.isfinite(a) else a
    return namespace(a).ceil(a)


def divide(a: Array, b: Array) -> Array:
    """The quotient, with a positive number over zero read as infinity, for plain numbers as for arrays."""
    if scalar(a) and scalar(b):
        return a / b if b else (math.copysign(math.inf, a) if a else math.nan)
    xp = namespace(a, b)
    if xp.__name__ == "numpy":
        with xp.errstate(divide="ignore", invalid="ignore"):
            return xp.true_divide(a, b)
    return xp.true_divide(a, b)


def plain(value: Any) -> Any:
    """NumPy's scalars and arrays of no dimension as Python's own numbers; anything else as it is."""
    if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:
        return value.item()
    return value
