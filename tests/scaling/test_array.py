import math
from sys import float_info
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from scaling import _array as xp, _checks

NAN, INF = math.nan, math.inf


def same(a: object, b: object) -> None:
    np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def test_scalars_stay_python() -> None:
    assert xp.maximum(2, 3.5) == 3.5
    assert xp.maximum(5.0, 3.5) == 5.0
    assert xp.minimum(2, 3.5) == 2
    assert type(xp.maximum(2.0, 3.0)) is float
    assert (xp.floor(2.7), xp.ceil(2.1)) == (2, 3)
    assert (type(xp.floor(2.7)), type(xp.ceil(2.1))) == (int, int)
    assert (xp.floor(INF), xp.ceil(INF)) == (INF, INF)
    assert math.isnan(xp.floor(NAN)) and math.isnan(xp.ceil(NAN))
    assert (xp.where(True, "a", "b"), xp.where(False, "a", "b")) == ("a", "b")


@pytest.mark.parametrize("function", [xp.maximum, xp.minimum])
def test_nan_propagates_from_both_sides(function) -> None:
    assert math.isnan(function(NAN, 1.0))
    assert math.isnan(function(1.0, NAN))
    assert math.isnan(function(1, NAN))


def test_arrays() -> None:
    a, b = np.array([1.0, 5.0, NAN]), np.array([3.0, 2.0, 1.0])
    same(xp.maximum(a, b), [3, 5, NAN])
    same(xp.minimum(a, b), [1, 2, NAN])
    same(xp.maximum(a, 2), [2, 5, NAN])
    same(xp.where(b > 1.5, a, b), [1, 5, 1])
    same(xp.floor(np.array([1.5, -0.5, INF])), [1, -1, INF])
    same(xp.ceil(np.array([1.5, -0.5, INF])), [2, 0, INF])


def test_divide_over_zero_is_infinite_and_silent(recwarn) -> None:
    assert xp.divide(7, 2) == 3.5
    assert (xp.divide(7, 0), xp.divide(-7, 0)) == (INF, -INF)
    assert math.isnan(xp.divide(0, 0))
    same(xp.divide(np.array([7, -7, 0, 8]), np.array([0, 0, 0, 2])), [INF, -INF, NAN, 4])
    assert not recwarn.list


def test_namespace() -> None:
    dask = pytest.importorskip("dask.array")
    assert xp.namespace(1, 2.0) is np
    assert xp.namespace(np.array([1]), np.float64(2)) is np
    lazy = xp.maximum(dask.from_array(np.arange(4), chunks=2), 2)
    assert isinstance(lazy, dask.Array)
    same(lazy.compute(), [2, 2, 2, 3])


def test_of_two_equals_the_first_is_taken() -> None:
    assert type(xp.maximum(2, 2.0)) is type(xp.minimum(2, 2.0)) is int
    assert type(xp.maximum(2.0, 2)) is type(xp.minimum(2.0, 2)) is float


class Foreign:
    """An array of some other library, which says by name what it was asked for."""

    def __array_namespace__(self) -> SimpleNamespace:
        def asked(name: str) -> Any:
            return lambda *values: (name, *values)

        names = ("maximum", "minimum", "where", "floor", "ceil", "true_divide")
        return SimpleNamespace(__name__="foreign", **{name: asked(name) for name in names})


def test_an_array_of_another_library_is_left_to_it_wherever_it_stands() -> None:
    other, ours = Foreign(), np.array([1.0])
    for name, function in (("maximum", xp.maximum), ("minimum", xp.minimum), ("true_divide", xp.divide)):
        assert function(other, 2.0) == (name, other, 2.0)
        assert function(2.0, other) == (name, 2.0, other)
        assert function(ours, other)[0] == name
    assert xp.floor(other) == ("floor", other)
    assert xp.ceil(other) == ("ceil", other)
    for values in ((other, 1, 2), (ours, other, 2), (ours, 1, other)):
        assert xp.where(*values)[0] == "where"


class Strange:
    """Something with a dtype."""

    def __init__(self, kind: str | None, namespace: bool) -> None:
        self.dtype = SimpleNamespace(**{} if kind is None else {"kind": kind})
        if namespace:
            self.__array_namespace__ = lambda: None  # type: ignore[method-assign, assignment]


def test_an_array_is_what_says_so() -> None:
    for kind, numbers in ((None, True), ("u", True), ("c", False), ("", False)):
        assert _checks._numeric(Strange(kind, namespace=True)) is numbers
        assert _checks._numeric(Strange(kind, namespace=False)) is False


def test_the_largest_whole_number_is_that_of_a_float() -> None:
    largest = int(float_info.max)
    assert _checks.positive("x", largest) == largest
    with pytest.raises(ValueError, match=r"^x must be a finite number above 0, not a whole number beyond any float\.$"):
        _checks.positive("x", largest + 1)


def test_only_numbers_become_plain() -> None:
    for value in (np.float64(2.5), np.array(2.5)):
        assert type(xp.plain(value)) is float and xp.plain(value) == 2.5
    for value in ("a", None, np.array([2.5]), np.add):
        assert xp.plain(value) is value


def test_a_value_is_shown_on_one_line_of_a_hundred_letters() -> None:
    assert _checks.shown("x" * 98) == repr("x" * 98)  # a hundred with the quotes
    assert _checks.shown("x" * 99) == repr("x" * 99)[:97] + "..." and len(_checks.shown("x" * 99)) == 100
    assert _checks.shown(np.array([[1, 2], [3, 4]])) == "array([[1, 2], [3, 4]])"
    largest = int(float_info.max)
    assert _checks.shown(largest).startswith("17976931348623157") and _checks.shown(-largest).startswith(
        "-17976931348623157"
    )
    assert _checks.shown(largest + 1) == _checks.shown(-largest - 1) == "a whole number beyond any float"


@pytest.mark.parametrize(
    "good", [0, 0.0, 7, 1e300, INF, np.float32(3), np.int32(4), np.array([0, 1]), np.zeros((2, 2))]
)
def test_nonnegative_passes_the_value_on(good: object) -> None:
    assert _checks.nonnegative("batch", good) is good


@pytest.mark.parametrize("bad", [NAN, np.float32("nan"), np.array([1.0, NAN])])
def test_nan_is_no_number(bad: object) -> None:
    """Of NaN no formula could say whether it fits: what is not known has to be left out before one asks."""
    for rule in (_checks.nonnegative, _checks.finite, _checks.positive, _checks.share, _checks.count):
        with pytest.raises(ValueError, match=r"^batch must be .*nan"):
            rule("batch", bad)


NOT_NUMBERS = ["3", b"3", None, True, [1, 2], {}, np.array(["a"]), np.array([True]), np.array([1j])]


@pytest.mark.parametrize("bad", [-1, -0.5, -INF, np.array([1, -1]), np.float64(-2), *NOT_NUMBERS])
def test_nonnegative_refuses(bad: object) -> None:
    with pytest.raises(
        ValueError, match=r"^batch must be a number, or an array of numbers, of at least 0, not "
    ) as error:
        _checks.nonnegative("batch", bad)
    assert repr(bad) in str(error.value)


@pytest.mark.parametrize("good", [1, 0.5, np.int64(3), np.array([1, 2.5])])
def test_positive_passes_the_value_on(good: object) -> None:
    assert _checks.positive("memory", good) is good


@pytest.mark.parametrize("bad", [0, -1, NAN, INF, np.array([1, 0]), np.array([1, NAN]), *NOT_NUMBERS])
def test_positive_refuses(bad: object) -> None:
    with pytest.raises(ValueError, match=r"^memory must be a finite number above 0, not ") as error:
        _checks.positive("memory", bad)
    assert repr(bad) in str(error.value)


@pytest.mark.parametrize("bad", [0, -3, 0.5, 2.5, NAN, INF, True])
def test_count_refuses(bad: object) -> None:
    with pytest.raises(ValueError, match=r"^chips must be a whole number of at least 1, not ") as error:
        _checks.count("chips", bad)
    assert repr(bad) in str(error.value)


@pytest.mark.parametrize("bad", ["3", None, [4], np.array([1, 0])])
def test_count_refuses_what_is_no_number(bad: object) -> None:
    with pytest.raises(ValueError, match=r"^chips must be a whole number of at least 1(, or an array of such)?, not "):
        _checks.count("chips", bad)


@pytest.mark.parametrize("good", [1, 8, 4.0, np.array([1, 2, 4])])
def test_count_passes_the_value_on(good: object) -> None:
    found = _checks.count("chips", good)
    assert found is good or (found == good and type(found) is int)


@pytest.mark.parametrize("good", [1, 1e-9, 0.5, np.array([0.25, 1.0])])
def test_share_passes_the_value_on(good: object) -> None:
    assert _checks.share("usable", good) is good


@pytest.mark.parametrize("bad", [0, -0.5, 1.0001, NAN, INF, np.array([0.5, 0]), np.array([0.5, 1.5]), *NOT_NUMBERS])
def test_share_refuses(bad: object) -> None:
    with pytest.raises(ValueError, match=r"^usable must be a share above 0 and at most 1, not ") as error:
        _checks.share("usable", bad)
    assert repr(bad) in str(error.value)
