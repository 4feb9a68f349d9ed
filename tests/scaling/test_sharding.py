import itertools
from dataclasses import replace

import numpy as np
import pytest

from scaling.chips import H100, TPU_V5E_TEXT
from scaling.deployment import ROOFLINE, Deployment, Efficiency
from scaling.latency import decode_step, mixed_step, prefill_time
from scaling.models import LLAMA3_405B
from scaling.sharding import (
    across_machines,
    collective_time,
    hop_time,
    link_bandwidth,
    matmul_collective_time,
    slice_hops,
    tp_limit,
)
from scaling.throughput import largest_batch
from scaling.units import ms
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


def test_across_machines_by_hand() -> None:
    """Eight cards of 50 GB/s: 800 GB/s between two machines, where NVLink's 450 binds; 400 between very many."""
    assert across_machines(H100, 2, 50e9) == 450e9
    assert across_machines(H100, 2, 25e9) == 8 * 25e9 * 2
    assert across_machines(H100, 16, 50e9) == pytest.approx(8 * 50e9 * 16 / 15, rel=1e-12)
    assert across_machines(H100, 1, 1) == 450e9  # nothing crosses
    for bad in (0, 2.5, "2"):
        with pytest.raises(ValueError, match=r"^machines must be a whole number of at least 1"):
            across_machines(H100, bad, 50e9)
    with pytest.raises(ValueError, match=r"^bandwidth must be a finite number above 0, not 0"):
        across_machines(H100, 2, 0)


def test_matmul_collective_time_by_hand() -> None:
    assert matmul_collective_time(TOY_CHIP, 31, 5) == pytest.approx(310 / 303, rel=1e-12)  # 2 x 31 x 5
    assert matmul_collective_time(TOY_CHIP, 31, 5, axes=2, wrap=True) == pytest.approx(310 / 404, rel=1e-12)
    assert matmul_collective_time(TOY_CHIP, 31, 5, activations="fp32") == pytest.approx(620 / 303, rel=1e-12)
    # Of four chips each has a quarter already; one has all.
    shared = matmul_collective_time(TOY_CHIP, 31, 5, chips=np.array([1, 2, 4]))
    np.testing.assert_allclose(shared, [0, 155 / 303, 232.5 / 303], rtol=1e-12)


def test_collective_time_by_hand() -> None:
    sent = 3720 * 28 / 29  # 4 x 3 layers x 310, less what each of 29 chips has
    assert collective_time(TOY, 31) == pytest.approx(sent / 303, rel=1e-12)
    assert collective_time(replace(TOY, axes=1, wrap=True), 31) == pytest.approx(sent / 202, rel=1e-12)
    slow = replace(TOY, efficiency=MEASURED)
    assert collective_time(slow, 31) == pytest.approx(5 * sent / 303, rel=1e-12)
    started = replace(slow, efficiency=replace(MEASURED, start=0.5))
    assert collective_time(started, 31) == pytest.approx(5 * sent / 303 + 6, rel=1e-12)  # 4 x 3 starts
    assert collective_time(replace(started, chips=1), 31) == 0


def test_one_chip_sends_nothing() -> None:
    assert collective_time(replace(TOY, chips=1), 31) == 0
    assert collective_time(replace(TOY, chips=2), 31) > 0
    some = collective_time(replace(TOY, chips=np.array([1, 2, 29])), 31)
    np.testing.assert_allclose(some, [0, 1860 / 303, 3720 * 28 / 29 / 303])


def test_collectives_behind_the_matmuls() -> None:
    """What the matmuls hide costs nothing: a step waits for the longer of the two."""
    linked = replace(TOY, efficiency=Efficiency(links=1.0, start=0.01))
    hidden = replace(linked, efficiency=replace(linked.efficiency, hidden=True))
    for d in (hidden, replace(hidden, compute="bf16", chip=replace(TOY_CHIP, link_bandwidth=9999))):
        step, links = decode_step(d, 31, 41), collective_time(d, 31)
        assert step.collectives == links
        assert step.total == pytest.approx(step.cache + max(step.matmul, links), rel=1e-12)
        assert step.without("cache").total == pytest.approx(max(step.matmul, links), rel=1e-12)
    assert step.matmul > links and decode_step(hidden, 31, 0).longest == "collectives"
    assert prefill_time(d, 43) == prefill_time(replace(d, efficiency=ROOFLINE), 43)
    assert prefill_time(hidden, 43) == pytest.approx(collective_time(hidden, 43), rel=1e-12)
    assert mixed_step(hidden, 31, 41, 43).total == pytest.approx(step.cache + collective_time(hidden, 74), rel=1e-12)


def test_the_batch_of_a_step_with_collectives() -> None:
    """Problem 3 of chapter 10: 15 ms on 64 v5e; one after another 54 or 32 sequences fit, overlapped twice as many."""
    pod = Deployment(model=LLAMA3_405B, chip=TPU_V5E_TEXT, chips=64, weights="int8", kv="int8", params="nominal")
    found = {}
    for wrap, hidden in itertools.product((True, False), (False, True)):
        d = replace(pod, wrap=wrap, efficiency=Efficiency(links=1.0, hidden=hidden))
        found[wrap, hidden] = B = largest_batch(d, 8192, max_step=15 * ms)
        assert decode_step(d, B, 8192).total <= 15 * ms < decode_step(d, B + 1, 8192).total
    assert list(found.values()) == [54, 114, 32, 67]


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
        lambda: replace(TOY, axes=bad),
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


def test_a_deployment_keeps_its_axes_as_an_int() -> None:
    axes = replace(TOY, axes=2.0).axes  # type: ignore[arg-type]
    assert axes == 2 and type(axes) is int
    assert replace(TOY, axes=None).axes is None
