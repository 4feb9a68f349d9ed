"""The one place that knows about array libraries.

Formulas are written with operators and with the functions here. Plain numbers stay plain and need no import;
NumPy arrays broadcast; Dask arrays pass through NumPy's ufuncs; JAX arrays go to ``jax.numpy``; the columns of pandas,
polars and xarray become NumPy arrays, see `known`.
"""

import math
from typing import Any, TypeAlias

# A number or an array of any library: what broadcasts has no narrower static type.
Array: TypeAlias = Any


def scalar(value: Array) -> bool:
    """Whether it is one of Python's own numbers."""
    return isinstance(value, (int, float))


def library(value: Array) -> str:
    """Name of the package that its type comes from."""
    return type(value).__module__.partition(".")[0]


def usable(value: Array) -> bool:
    """Whether the functions here take it as it is: a number, or an array of NumPy, Dask or with its own namespace."""
    return library(value) in ("builtins", "numpy", "dask") or hasattr(value, "__array_namespace__")


def known(value: Array) -> Array:
    """`value` as something that the functions here take, where it can be told from what it says of itself.

    Numbers, arrays of NumPy and Dask, and arrays with a namespace of their own, such as JAX's, stay as they are. What
    NumPy can read becomes an array of NumPy: a column of a table keeps its numbers and loses its index.
    """
    if scalar(value) or usable(value) or not hasattr(value, "__array__"):
        return value
    import numpy

    try:
        return numpy.asarray(value)
    except (TypeError, ValueError):  # it said that it could and cannot: the check that follows refuses it by name
        return value


def namespace(*values: Array) -> Any:
    """The array library to use: the first argument's own one if it is not NumPy's, else NumPy."""
    import numpy

    for value in values:
        own = getattr(value, "__array_namespace__", None)
        if own is not None and not isinstance(value, (numpy.ndarray, numpy.generic)):
            return own()
    return numpy


def with_words(value: Array) -> Array:
    """`value` as an array that words can be chosen by: NumPy's for JAX's, which holds numbers only.

    Raises ``ValueError`` for a traced array, which has no numbers yet.
    """
    if scalar(value) or library(value) in ("numpy", "dask"):
        return value
    import numpy

    try:
        return numpy.asarray(value)
    except TypeError:
        raise ValueError("the name of a term must be asked for outside of jit, not of a traced array.") from None


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


# Far above what rounding costs (some 1e-16 each time) and far below a whole sequence in any batch.
_SLACK = 1e-12


def up(a: Array) -> Array:
    """A hair more: a quotient that is meant to be whole must not lose a unit to rounding when it is rounded down."""
    return a * (1 + _SLACK)


def down(a: Array) -> Array:
    """A hair less, before rounding up."""
    return a * (1 - _SLACK)


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
    # A span of time without a unit would come out as an int.
    if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0 and value.dtype.kind not in "mM":
        return value.item()
    return value
