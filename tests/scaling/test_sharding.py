from dataclasses import replace

import numpy as np
import pytest

from scaling.sharding import collective_time, hop_time, link_bandwidth, matmul_collective_time, slice_hops, tp_limit
from tests.scaling.toys import MEASURED, TOY, TOY_CHIP, TOY_MODEL


@pytest.mark.parametrize(
    ("axes", "wrap", "expected"), [(None, False, 303), (1, False, 101), (2, False, 202), (2, True, 404), (3, True, 606)]
)
def test_link_bandwidth_by_hand(axes: int | None, wrap: bool, expected: float) -> None:
    assert link_bandwidth(TOY_CHIP, axes=axes, wrap=wrap) == expected


def test_all_axes_and_no_wrap_unless_said() -> None:
    assert link_bandwidth(TOY_CHIP) == 303
    assert link_bandwidth(TOY_CHIP, axes=2) == 202
    assert link_bandwidth(TOY_CHIP, wrap=True) == 606


def test_matmul_collective_time_by_hand() -> None:
    assert matmul_collective_time(TOY_CHIP, 31, 5) == pytest.approx(310 / 303, rel=1e-12)  # 2 x 31 x 5
    assert matmul_collective_time(TOY_CHIP, 31, 5, axes=2, wrap=True) == pytest.approx(310 / 404, rel=1e-12)
    assert matmul_collective_time(TOY_CHIP, 31, 5, activations="fp32") == pytest.approx(620 / 303, rel=1e-12)


def test_collective_time_by_hand() -> None:
    assert collective_time(TOY, 31) == pytest.approx(3720 / 303, rel=1e-12)  # 4 x 3 layers x 310
    assert collective_time(TOY, 31, axes=1, wrap=True) == pytest.approx(3720 / 202, rel=1e-12)
    assert collective_time(replace(TOY, efficiency=MEASURED), 31) == pytest.approx(18_600 / 303, rel=1e-12)


def test_one_chip_sends_nothing() -> None:
    assert collective_time(replace(TOY, chips=1), 31) == 0
    assert collective_time(replace(TOY, chips=2), 31) > 0
    some = collective_time(replace(TOY, chips=np.array([1, 2, 29])), 31)
    np.testing.assert_allclose(some, [0, 3720 / 303, 3720 / 303])


def test_tp_limit_against_arithmetic_by_hand() -> None:
    assert tp_limit(TOY_CHIP, 7) == pytest.approx(2 * 7 * 303 / (2003 * 2), rel=1e-12)
    limit = tp_limit(TOY_CHIP, 7, axes=2, wrap=True, activations="fp32", compute="int8", weights="int4")
    assert limit == pytest.approx(2 * 7 * 404 / (4001 * 4), rel=1e-12)


def test_tp_limit_against_reading_by_hand() -> None:
    assert tp_limit(TOY_CHIP, 7, batch=31) == pytest.approx(7 * 2 * 303 / (31 * 2 * 1009), rel=1e-12)
    limit = tp_limit(TOY_CHIP, 7, batch=31, weights="int4", activations="fp32", axes=1, wrap=True, compute="int8")
    assert limit == pytest.approx(7 * 0.5 * 202 / (31 * 4 * 1009), rel=1e-12)


def test_at_the_limit_links_and_arithmetic_take_as_long() -> None:
    """With as many chips as the limit says, one D x F matmul multiplies for as long as it sends."""
    ways = tp_limit(TOY_CHIP, 7)
    multiplying = 2 * 31 * 5 * 7 / (ways * 2003)
    assert matmul_collective_time(TOY_CHIP, 31, 5) == pytest.approx(multiplying, rel=1e-12)
    ways = tp_limit(TOY_CHIP, 7, batch=31, weights="int4")
    reading = 5 * 7 * 0.5 / (ways * 1009)
    assert matmul_collective_time(TOY_CHIP, 31, 5) == pytest.approx(reading, rel=1e-12)


@pytest.mark.parametrize("bad", [0, 4, -1, 1.5, "2", True + 3])
def test_axes_the_chip_lacks(bad: object) -> None:
    for call in (
        lambda: link_bandwidth(TOY_CHIP, axes=bad),
        lambda: matmul_collective_time(TOY_CHIP, 31, 5, axes=bad),
        lambda: collective_time(TOY, 31, axes=bad),
        lambda: tp_limit(TOY_CHIP, 7, axes=bad),
    ):
        with pytest.raises(ValueError) as error:
            call()
        assert str(error.value) == f"axes must be a whole number from 1 to 3 on toy, not {bad!r}."


@pytest.mark.parametrize(
    "call",
    [
        lambda bad: matmul_collective_time(TOY_CHIP, bad, 5),
        lambda bad: collective_time(TOY, bad),
        lambda bad: tp_limit(TOY_CHIP, 7, batch=bad),
    ],
)
@pytest.mark.parametrize("bad", [-1, np.array([1, -1]), "8"])
def test_bad_batch(call, bad: object) -> None:
    with pytest.raises(ValueError, match=r"^batch must be a number.* of at least 0, not ") as error:
        call(bad)
    assert repr(bad) in str(error.value)


@pytest.mark.parametrize("bad", [0, -5, "wide", None])
def test_bad_width(bad: object) -> None:
    with pytest.raises(ValueError, match=r"^d_model must be .*, not "):
        matmul_collective_time(TOY_CHIP, 31, bad)
    with pytest.raises(ValueError, match=r"^d_ff must be .*, not "):
        tp_limit(TOY_CHIP, bad)


def test_unknown_dtypes() -> None:
    for field in ("weights", "activations"):
        with pytest.raises(ValueError, match=rf"^{field} must be one of .*, not 'int3'"):
            tp_limit(TOY_CHIP, 7, batch=31, **{field: "int3"})
    with pytest.raises(ValueError, match=r"^activations must be one of .*, not 'int3'"):
        matmul_collective_time(TOY_CHIP, 31, 5, activations="int3")
    with pytest.raises(ValueError, match=r"^compute must be one of bf16, int8 on toy, not 'fp8'"):
        tp_limit(TOY_CHIP, 7, compute="fp8")


def test_slice_hops_by_hand() -> None:
    assert [slice_hops((4, 8)), slice_hops((8, 8)), slice_hops((16, 16), wrap=True)] == [3 + 7, 14, 16]
    assert slice_hops((5, 3), wrap=True) == 3, "half way round a ring of five is two hops"
    assert slice_hops((1,)) == 0
    for bad in ((), [4, 8], 8):
        with pytest.raises(ValueError) as error:
            slice_hops(bad)  # type: ignore[arg-type]
        assert str(error.value) == f"shape must be a tuple of chips along each axis, not {bad!r}."
    with pytest.raises(ValueError, match=r"^shape must be a whole number of at least 1, not 0"):
        slice_hops((4, 0))


def test_hop_time_by_hand() -> None:
    assert hop_time(TOY_MODEL, 11, hop=0.5) == 4 * 3 * 11 * 0.5
    assert hop_time(TOY_MODEL, 11) == pytest.approx(132e-6)
    for bad, named in (({"hops": -1}, "hops"), ({"hops": 1, "hop": -1}, "hop")):
        with pytest.raises(ValueError, match=rf"^{named} must be .* at least 0, not -1"):
            hop_time(TOY_MODEL, **bad)
