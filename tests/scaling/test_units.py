import numpy as np
import pytest

from scaling import units
from scaling._checks import whole
from scaling.units import number


def test_prefixes() -> None:
    assert (units.kB, units.MB, units.GB, units.TB) == (1e3, 1e6, 1e9, 1e12)
    assert (units.KiB, units.MiB, units.GiB, units.TiB) == (1024, 1024**2, 1024**3, 1024**4)
    assert (units.us, units.ms, units.minute, units.hour) == (1e-6, 1e-3, 60, 3600)
    assert (units.GFLOP, units.TFLOP, units.PFLOP) == (1e9, 1e12, 1e15)


def test_prefixes_are_floats() -> None:
    """An integer prefix would let 32 bit arrays overflow."""
    prefixes = {name: value for name, value in vars(units).items() if isinstance(value, (int, float))}
    assert len(prefixes) == 15
    assert all(type(value) is float for value in prefixes.values())


@pytest.mark.parametrize(
    ("dtype", "size"),
    [("fp32", 4), ("bf16", 2), ("fp16", 2), ("fp8", 1), ("int8", 1), ("int4", 0.5), ("fp4", 0.5)],
)
def test_dtype_bytes(dtype: str, size: float) -> None:
    assert units.dtype_bytes(dtype) == size


def test_every_dtype_is_tested_and_fixed() -> None:
    assert set(units.DTYPE_BYTES) == {"fp32", "bf16", "fp16", "fp8", "int8", "int4", "fp4"}
    with pytest.raises(TypeError):
        units.DTYPE_BYTES["int3"] = 0.375  # type: ignore[index]


@pytest.mark.parametrize("bad", ["int3", "BF16", "", None, 2, ["bf16"]])
def test_unknown_dtype(bad: object) -> None:
    with pytest.raises(ValueError) as error:
        units.dtype_bytes(bad, "kv")  # type: ignore[arg-type]
    message = str(error.value)
    assert message.startswith("kv must be one of")
    assert repr(bad) in message
    assert all(dtype in message for dtype in units.DTYPE_BYTES)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (163_840, "163,840"),
        (70_553_706_496, "70,553,706,496"),
        (-5, "-5"),
        (5.38427, "5.384"),
        (53.8427, "53.84"),
        (538.427, "538.4"),
        (5384.27, "5,384"),
        (538_427.0, "538,427"),
        (0.0538427, "0.05384"),
        (0.00538427, "0.005384"),
        (0.000538427, "5.384e-4"),
        (1.5e12, "1.500e12"),
        (999_999_999_999.0, "999,999,999,999"),
        (-2.5, "-2.500"),
        (float("nan"), "–"),
        (float("inf"), "∞"),
        (float("-inf"), "-∞"),
        ("H100", "H100"),
        (True, "yes"),
        (False, "no"),
        (np.bool_(True), "yes"),
        (np.float64(5.38427), "5.384"),
    ],
)
def test_number(value: object, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize("value", [9.9999, 99.999, 999.99, 0.99999, 1.00001])
def test_rounding_up_keeps_the_value(value: float) -> None:
    assert float(number(value).replace(",", "")) == pytest.approx(value, rel=6e-4)


def test_digits() -> None:
    assert number(5.38427, 2) == "5.4"
    assert number(538_427.0, 2) == "538,427"


def test_a_span_of_time_is_no_count_and_digits_are_at_least_one() -> None:
    with pytest.raises(ValueError, match="batch must be a whole number"):
        whole("batch", np.timedelta64(5))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="digits must be a whole number of at least 1, not 0"):
        number(1.5, digits=0)
