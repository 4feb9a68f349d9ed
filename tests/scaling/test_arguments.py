"""Every argument of every function in the root: what it takes, and the one sentence for all else.

The functions and their arguments are read from the package, so a new one is tried here without being named. A required
number of a new name needs a value in `GOOD`.
"""

import inspect
import math
from collections.abc import Callable
from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import scaling
from scaling import roofline
from scaling.batching import Request
from tests.scaling.toys import TOY, TOY_CHIP, TOY_MODEL

RECORDS: dict[str, Any] = {"d": TOY, "chip": TOY_CHIP, "other": TOY_CHIP, "model": TOY_MODEL}
GOOD: dict[str, Any] = {
    **RECORDS,
    "measure": roofline.flops_per_dollar,
    "batch": 3,
    "context": 5,
    "tokens": 5,
    "prompt_tokens": 5,
    "decode_tokens": 7,
    "prefix_tokens": 5,
    "requests": 3,
    "queries": 2,
    "bandwidth": 1e9,
    "d_model": 5,
    "d_ff": 7,
    "hops": 3,
    "shape": (2, 3),
    "step": 0.5,
    "prefill": 0.5,
    "chips": 2,
    "machines": 2,
}
# What has a default, as a number that it may be given in its place.
OPTIONAL = {"price": 5.0, "max_step": 1.0, "mfu": 0.5, "hop": 1e-6}
# Words, flags and shapes, which are tried in test_bad_input.
WORDS = "weights kv compute activations logits attention overlapped wrap axes matmul shape measure".split()
LAYOUT = ("bits", "group", "scale_bits", "zero_bits")
OTHERS = {"timeline": "it takes a list of requests, see test_batching", "from_hf_config": "see test_hf_config"}
PLAIN = {("front", "context"): "a front is listed batch by batch"}

FUNCTIONS = {
    name: function
    for name, function in vars(scaling).items()
    if isinstance(function, FunctionType) and name not in OTHERS
}


def given(function: Callable[..., Any]) -> dict[str, Any]:
    """Good values for every argument that must be given."""
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.default is inspect.Parameter.empty:
            assert name in GOOD, f"give GOOD in {__file__} a value for {name!r} of {function.__name__}"
            found[name] = GOOD[name]
    return found


def arguments(wanted: Callable[[str], bool]) -> list[tuple[str, str]]:
    return [
        (name, argument)
        for name, function in FUNCTIONS.items()
        for argument in inspect.signature(function).parameters
        if wanted(argument)
    ]


WITH_RECORDS = arguments(lambda name: name in RECORDS)
NUMBERS = arguments(lambda name: name not in RECORDS and name not in WORDS)
ARRAYS = [pair for pair in NUMBERS if pair not in PLAIN]


def refused(name: str, argument: str, value: Any) -> str:
    """What is said of a value, in one short line."""
    with pytest.raises(ValueError) as error:
        FUNCTIONS[name](**{**given(FUNCTIONS[name]), argument: value})
    said = str(error.value)
    assert said.endswith(".") and "\n" not in said and len(said) < 300
    return said


# Records -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "argument"), WITH_RECORDS)
def test_a_function_says_which_record_it_wants(name: str, argument: str) -> None:
    kind = type(RECORDS[argument])
    for bad in ("h100", None, 5, {}, object(), Request(prompt=1, output=1), TOY, TOY_CHIP, TOY_MODEL, kind):
        if not isinstance(bad, kind):
            assert refused(name, argument, bad).startswith(f"{argument} must be a {kind.__name__} record, not ")


def test_most_functions_take_a_record() -> None:
    assert len(WITH_RECORDS) > 45
    assert {name for name, _ in WITH_RECORDS} >= {"weight_bytes", "parallel_sizes", "breakeven_price", "front"}


@pytest.mark.parametrize("bad", [5, None, "flops_per_dollar", TOY])
def test_a_measure_is_a_function(bad: Any) -> None:
    assert refused("breakeven_price", "measure", bad).startswith("measure must be a function such as flops_per_dollar")


# Numbers -------------------------------------------------------------------------------------------------------------


class Column:
    """A column of a table, as pandas and polars have: NumPy can read it, and its own arithmetic is not NumPy's."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)
        self.dtype = object()

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self.values, dtype)


class Unread(Column):
    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise TypeError("on another device")


def call(name: str, argument: str, value: Any) -> Any:
    return FUNCTIONS[name](**{**given(FUNCTIONS[name]), argument: value})


def same(a: Any, b: Any) -> None:
    """Field by field, where there are fields."""
    for one, other in zip(a, b, strict=True) if hasattr(a, "_fields") else [(a, b)]:
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize(("name", "argument"), ARRAYS)
def test_a_column_of_a_table_is_an_array(name: str, argument: str) -> None:
    some = np.array([1, 1]) * {**GOOD, **OPTIONAL, **dict.fromkeys(LAYOUT, 4)}[argument]
    expected, found = (call(name, argument, kind(some)) for kind in (np.array, Column))
    assert type(found) is type(expected)
    same(found, expected)


NONE: list[Any] = [-1, -math.inf, math.nan, "3", True, [1, 2], object(), np.float32("nan"), np.ma.masked]
NONE += [np.array([1, -1]), np.array([1, math.nan]), np.array(["a"]), np.array([1], np.float16), np.array([1j])]
NONE += [np.ma.array([1, 2], mask=[0, 1]), np.array([[1, 2]]).view(np.matrix)]
NONE += [Column([1, -1]), Column([math.nan]), Column(["a"]), Column([None]), Unread([1])]


@pytest.mark.parametrize(("name", "argument"), NUMBERS)
def test_what_is_no_number_is_refused_by_name(name: str, argument: str) -> None:
    for bad in NONE:
        assert refused(name, argument, bad).startswith(f"{argument} must be "), bad


def test_most_functions_take_numbers() -> None:
    assert len(NUMBERS) > 60 and ("decode_step", "batch") in NUMBERS and ("tp_limit", "batch") in NUMBERS


@pytest.mark.parametrize("name", sorted({name for name, argument in ARRAYS if argument != "mfu"}))
@pytest.mark.parametrize("kind", ["i1", "u1", "i2", "u2", "i4", "u4", "i8"])
def test_integers_of_any_size_do_not_overflow(name: str, kind: str) -> None:
    """All the numbers of a call are large ones of their kind, in the records too."""
    most = np.iinfo(kind).max
    large = np.array([min(most, 10**15) // 2, min(most, 10**9)], kind)  # counts end at 10^15
    numbers = [argument for of, argument in ARRAYS if of == name and argument != "mfu"]
    fleet = {"d": replace(TOY, chips=large, reserve=np.array([1, 100], kind))} if "d" in given(FUNCTIONS[name]) else {}
    asked = {**given(FUNCTIONS[name]), **fleet, **dict.fromkeys(numbers, large)}
    plain = {**asked, **dict.fromkeys(numbers, large.astype(float))}
    if fleet:
        plain["d"] = replace(TOY, chips=large.astype(float), reserve=np.array([1.0, 100.0]))
    same(FUNCTIONS[name](**asked), FUNCTIONS[name](**plain))


def test_a_record_takes_a_column_too() -> None:
    columns = replace(TOY, chips=Column([1, 2]), usable=Column([0.5, 1]))
    assert columns == replace(TOY, chips=np.array([1, 2]), usable=np.array([0.5, 1]))
    np.testing.assert_allclose(columns.memory, [5003.5, 20_014])
