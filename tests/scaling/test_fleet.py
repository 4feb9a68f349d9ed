"""What the worked problems need: batches under a limit, replicas, prefill chips, cost; activations; hops."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scaling.latency import decode_step
from scaling.memory import activation_bytes, max_batch
from scaling.sharding import collective_time, hop_time, slice_hops
from scaling.throughput import (
    batch_at_step,
    best_batch,
    cost_per_hour,
    largest_batch,
    prefill_chips,
    queries_per_second,
    replicas_for,
)
from tests.scaling.toys import MEASURED, TOY, TOY_CHIP, TOY_MODEL

# In fp32 the toy reads 39520 B a step; 5 sequences of 41 tokens: (39520 + 5 x 25584) / 29261
WIDE = replace(TOY, weights="fp32")
STEP = 167_440 / 29_261


def test_largest_batch_by_hand() -> None:
    # (290203 - 39520) / 25584 = 9.8 sequences fit; the critical batch is 8 and does not count here
    assert largest_batch(WIDE, 41) == max_batch(WIDE, 41) == 9 > best_batch(WIDE, 41) == 8
    assert largest_batch(WIDE, 41, max_step=STEP) == 5  # a batch's own step is enough for it
    assert largest_batch(WIDE, 41, max_step=STEP * 0.999) == 4
    assert largest_batch(WIDE, 41, max_step=39_520 / 29_261 * 0.999) == 0


def test_largest_batch_is_the_last_whose_step_keeps_the_limit() -> None:
    for limit in (1.5, 3.0, 7.0, 9.5):
        B = largest_batch(WIDE, 41, max_step=limit)
        assert B == 0 or decode_step(WIDE, B, 41).total <= limit
        assert B == max_batch(WIDE, 41) or decode_step(WIDE, B + 1, 41).total > limit
        assert B <= batch_at_step(WIDE, 41, limit)


def test_a_batch_s_own_step_is_enough_for_it_whatever_rounding_does() -> None:
    for S in (1, 3, 7, 19, 41):
        for B in range(1, max_batch(WIDE, S) + 1):
            assert largest_batch(WIDE, S, max_step=decode_step(WIDE, B, S).total) == B


def test_replicas_by_hand() -> None:
    # 5 sequences finish every 7 steps; 1000 a second need 1000 x 7 x STEP / 5 = 8011.2 copies
    assert 1000 * 7 * STEP / 5 == pytest.approx(8011.2, abs=0.1)
    assert replicas_for(WIDE, 1000, 5, 41, 7) == 8012
    assert replicas_for(WIDE, 0, 5, 41, 7) == 0
    assert replicas_for(WIDE, 1000, 0, 41, 7) == math.inf


def test_a_fleet_of_exactly_enough_is_enough() -> None:
    for n in (1, 3, 7, 35, 1001):
        assert replicas_for(WIDE, n * queries_per_second(WIDE, 5, 41, 7), 5, 41, 7) == n


def test_prefill_chips_by_hand() -> None:
    # 2 x 9880 x 11 FLOP a prompt on chips of 4001 FLOP/s: 54.33 chip seconds; 13 a second: 706.2; at a fifth 3531.3
    assert prefill_chips(TOY, 13, 11) == 707
    assert prefill_chips(TOY, 13, 11, mfu=0.2) == 3532
    assert prefill_chips(replace(TOY, chips=1), 13, 11) == 707, "the size of a server cancels"
    assert prefill_chips(TOY, 13, 0) == 0


def test_prompts_that_keep_so_many_chips_busy_need_no_chip_more() -> None:
    one = 4001 / (2 * 9880 * 11)  # queries a second that one chip reads
    assert [prefill_chips(TOY, n * one, 11) for n in range(1, 200)] == list(range(1, 200))
    assert prefill_chips(TOY, 7 * one * (1 + 1e-9), 11) == 8


def test_cost_per_hour_by_hand() -> None:
    assert cost_per_hour(TOY_CHIP, 29) == 29 * 37
    assert cost_per_hour(TOY_CHIP, 29, price=2.5) == 72.5


def test_activations_by_hand() -> None:
    # D 5, F 7, V 17, B 29: 2 x 29 x 5, 2 x 2 x 29 x 7, 4 x 29 x 17
    assert activation_bytes(TOY_MODEL, 29) == (290, 812, 1972)
    assert activation_bytes(TOY_MODEL, 29, activations="fp32", logits="bf16") == (580, 1624, 986)
    for field in ("activations", "logits"):
        with pytest.raises(ValueError, match=rf"^{field} must be one of .*, not 'int3'\.$"):
            activation_bytes(TOY_MODEL, 29, **{field: "int3"})


def test_hops_by_hand() -> None:
    assert [slice_hops((4, 8)), slice_hops((8, 8)), slice_hops((16, 16), wrap=True)] == [3 + 7, 14, 16]
    assert slice_hops((5, 3), wrap=True) == 3, "half way round a ring of five is two hops"
    assert slice_hops((1,)) == 0
    for bad in ((), [4, 8], 8):
        with pytest.raises(ValueError) as error:
            slice_hops(bad)  # type: ignore[arg-type]
        assert str(error.value) == f"shape must be a tuple of chips along each axis, not {bad!r}."
    assert hop_time(TOY_MODEL, 11, hop=0.5) == 4 * 3 * 11 * 0.5
    assert hop_time(TOY_MODEL, 11) == pytest.approx(132e-6)


def test_arrays_broadcast_and_equal_scalars() -> None:
    B, S, q = np.array([1, 5, 9]), np.array([[1], [41]]), np.array([1, 1000, 13])
    limit = np.array([1.5, STEP, 9.5])
    for f in (
        lambda b, s, q, limit: replicas_for(WIDE, q, b, s, 7),
        lambda b, s, q, limit: prefill_chips(WIDE, q, s),
        lambda b, s, q, limit: largest_batch(WIDE, s, max_step=limit),
    ):
        whole = f(B, S, q, limit)
        assert whole.shape == (2, 3)
        for i in range(2):
            for j in range(3):
                assert whole[i, j] == f(int(B[j]), int(S[i, 0]), int(q[j]), float(limit[j]))
    assert activation_bytes(TOY_MODEL, B).mlp.tolist() == [28, 140, 252]
    assert hop_time(TOY_MODEL, B).shape == (3,)


def test_a_slower_engine_needs_more_replicas_and_more_prefill() -> None:
    slow = replace(WIDE, efficiency=MEASURED)
    assert replicas_for(slow, 1000, 5, 41, 7) > replicas_for(WIDE, 1000, 5, 41, 7)
    assert prefill_chips(slow, 13, 11) == math.ceil(4 * 13 * 2 * 9880 * 11 / 4001)
    assert collective_time(slow, 1) > 0


BAD: list[Any] = [
    (lambda: replicas_for(WIDE, -1, 5, 41, 7), "queries"),
    (lambda: replicas_for(WIDE, 1, 5, 41, -7), "decode_tokens"),
    (lambda: prefill_chips(WIDE, -1, 11), "queries"),
    (lambda: prefill_chips(WIDE, 1, 11, mfu=2), "mfu"),
    (lambda: cost_per_hour(TOY_CHIP, -1), "chips"),
    (lambda: cost_per_hour(TOY_CHIP, 1, price=-1), "price"),
    (lambda: largest_batch(WIDE, 41, max_step=-1), "max_step"),
    (lambda: activation_bytes(TOY_MODEL, -1), "tokens"),
    (lambda: activation_bytes(TOY_MODEL, 1, logits="fp3"), "logits"),
    (lambda: slice_hops((4, 0)), "shape"),
    (lambda: slice_hops([4, 8]), "shape"),
    (lambda: slice_hops(()), "shape"),
    (lambda: slice_hops((4, 8), wrap="no"), "wrap"),
    (lambda: hop_time(TOY_MODEL, -1), "hops"),
    (lambda: hop_time(TOY_MODEL, 1, hop=-1), "hop"),
]


@pytest.mark.parametrize(("call", "named"), BAD)
def test_nonsense_is_refused_by_name(call: Any, named: str) -> None:
    with pytest.raises(ValueError, match=rf"^{named}\b.* must be .*, not .*\.$"):
        call()
