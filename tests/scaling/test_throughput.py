import math
from dataclasses import replace

import numpy as np
import pytest

from scaling import throughput
from scaling.latency import decode_step
from scaling.memory import max_batch
from scaling.throughput import (
    balanced_batch,
    batch_at_step,
    best_batch,
    cache_over_compute_context,
    cache_over_weights_tokens,
    compute_ceiling,
    cost_per_hour,
    cost_per_million_tokens,
    largest_batch,
    mfu,
    plateau,
    prefill_chips,
    queries_per_second,
    queries_per_second_per_chip,
    replicas_for,
    tokens_per_second,
    tokens_per_second_per_chip,
)
from tests.scaling.toys import MEASURED, TOY, TOY_CHIP

# In fp32 the toy reads 39520 B a step. It multiplies for as long at 8 sequences: 2 x 116029 / 29261 = 7.93.
WIDE = replace(TOY, weights="fp32")

# 5 sequences of 41 tokens: (39520 + 5 x 25584) / 29261
STEP = 167_440 / 29_261


def test_tokens_per_second_by_hand() -> None:
    assert tokens_per_second(WIDE, 5, 41) == pytest.approx(5 / STEP, rel=1e-12)


def test_tokens_per_second_per_chip_by_hand() -> None:
    assert tokens_per_second_per_chip(WIDE, 5, 41) == pytest.approx(5 / STEP / 29, rel=1e-12)


def test_queries_per_second_by_hand() -> None:
    assert queries_per_second(WIDE, 5, 41, 7) == pytest.approx(5 / STEP / 7, rel=1e-12)


def test_queries_per_second_per_chip_by_hand() -> None:
    assert queries_per_second_per_chip(WIDE, 5, 41, 7) == pytest.approx(5 / STEP / 7 / 29, rel=1e-12)


def test_mfu_by_hand() -> None:
    # 2 x 9880 x 5 over 29 x 4001 x the step
    assert mfu(WIDE, 5, 41) == pytest.approx(98_800 / 116_029 / STEP, rel=1e-12)


def test_mfu_is_against_the_peak() -> None:
    """An engine that reaches a quarter of the FLOP/s, and nothing else to wait for, has an MFU of a quarter."""
    quarter = replace(TOY, efficiency=replace(MEASURED, links=None, layer_seconds=0))
    assert mfu(quarter, 10_000, 0) == pytest.approx(0.25, rel=1e-12)
    assert mfu(TOY, 10_000, 0) == pytest.approx(1, rel=1e-12)


def test_compute_ceiling_by_hand() -> None:
    assert compute_ceiling(TOY) == pytest.approx(116_029 / 19_760, rel=1e-12)
    assert compute_ceiling(replace(TOY, efficiency=MEASURED)) == pytest.approx(116_029 / 19_760 / 4, rel=1e-12)


def test_plateau_by_hand() -> None:
    # 41 x 624 / 29261 + 2 x 9880 / 116029 seconds a sequence
    assert plateau(WIDE, 41) == pytest.approx(1 / (25_584 / 29_261 + 19_760 / 116_029), rel=1e-12)
    assert plateau(WIDE, 0) == pytest.approx(compute_ceiling(WIDE), rel=1e-12)


def test_plateau_with_collectives_by_hand() -> None:
    # + 4 x 3 x 2 x 5 / 303 / 0.2 a sequence, of which each of 29 chips has its own
    sent = 120 * 28 / 29 / 303 / 0.2
    slow = 2 * 25_584 / 29_261 + 4 * 19_760 / 116_029 + sent
    assert plateau(replace(WIDE, efficiency=MEASURED), 41) == pytest.approx(1 / slow, rel=1e-12)
    hidden = replace(MEASURED, hidden=True)  # what takes longer of the two: the links
    assert plateau(replace(WIDE, efficiency=hidden), 41) == pytest.approx(1 / (2 * 25_584 / 29_261 + sent), rel=1e-12)


def test_balanced_batch_by_hand() -> None:
    assert balanced_batch(WIDE) == pytest.approx(2 * 116_029 / 29_261, rel=1e-12)
    assert balanced_batch(TOY) == pytest.approx(116_029 / 29_261 / 4, rel=1e-12)
    assert balanced_batch(replace(WIDE, efficiency=MEASURED)) == pytest.approx(116_029 / 29_261, rel=1e-12)


def test_cache_over_weights_tokens_by_hand() -> None:
    assert cache_over_weights_tokens(WIDE) == pytest.approx(39_520 / 624, rel=1e-12)


def test_cache_over_compute_context_by_hand() -> None:
    # 2 x 9880 / 116029 seconds of arithmetic a sequence, 624 / 29261 seconds of reading a token
    assert cache_over_compute_context(WIDE) == pytest.approx(19_760 / 116_029 / (624 / 29_261), rel=1e-12)


def test_batch_at_step_by_hand() -> None:
    assert batch_at_step(WIDE, 41, STEP) == pytest.approx(5, rel=1e-9)
    assert batch_at_step(WIDE, 41, 4) == pytest.approx((4 * 29_261 - 39_520) / 25_584, rel=1e-12)
    # Past the critical batch: 20 s over 25584 / 29261 + 19760 / 116029 seconds a sequence
    assert batch_at_step(WIDE, 41, 20) == pytest.approx(20 / (25_584 / 29_261 + 19_760 / 116_029), rel=1e-12)
    assert batch_at_step(WIDE, 41, 1) == 0  # the weights alone take 1.35 s
    # The toy's 2.25 s of overhead and 1.91 s of collectives a sequence count too, and 12 starts
    sent = 120 * 28 / 29 / 303 / 0.2
    slow = replace(WIDE, efficiency=MEASURED)
    each = 2 * 25_584 / 29_261 + sent
    assert batch_at_step(slow, 41, 11) == pytest.approx((11 - 2.25 - 2 * 39_520 / 29_261) / each, rel=1e-12)
    started = replace(WIDE, efficiency=replace(MEASURED, start=0.1))
    assert batch_at_step(started, 41, 12.2) == pytest.approx(batch_at_step(slow, 41, 11), rel=1e-12)
    # Hidden, the links take the place of the weights as soon as they take longer.
    hidden = replace(WIDE, efficiency=replace(MEASURED, start=0.1, hidden=True))
    assert batch_at_step(hidden, 41, 20) == pytest.approx((20 - 2.25 - 1.2) / (2 * 25_584 / 29_261 + sent), rel=1e-12)


def test_batch_at_a_step_that_only_just_reads_the_weights() -> None:
    just = 39_520 / 29_261
    assert batch_at_step(WIDE, 0, just) == pytest.approx(2 * 116_029 / 29_261, rel=1e-12)  # no cache: the critical one
    assert batch_at_step(WIDE, 41, just) == 0
    assert batch_at_step(WIDE, 0, just * (1 - 1e-12)) == 0
    np.testing.assert_allclose(batch_at_step(WIDE, np.array([0, 41]), just), [2 * 116_029 / 29_261, 0])
    # A second of cache for each sequence is a cache like any other.
    second = 29_261 / 624
    assert batch_at_step(WIDE, second, just + 3) == pytest.approx(3, rel=1e-12)


def test_best_batch_by_hand() -> None:
    assert best_batch(WIDE, 41) == 8  # ceil(7.93), and 9 would fit
    assert best_batch(WIDE, 53) == 7  # 250683 / 33072 = 7.58: memory binds
    assert best_batch(WIDE, 10**6) == 0
    assert type(best_batch(WIDE, 41)) is int


def test_best_batch_within_a_step_limit_by_hand() -> None:
    assert best_batch(WIDE, 41, max_step=4) == 3  # (4 x 29261 - 39520) / 25584 = 3.03
    assert best_batch(WIDE, 41, max_step=STEP) == 5  # exactly its own step
    assert best_batch(WIDE, 41, max_step=STEP * 0.999) == 4
    # 8.35 s: reading the weights would allow 8.005 sequences, multiplying only 8.35 / 1.0446 = 7.99
    assert best_batch(WIDE, 41, max_step=8.35) == 7
    assert best_batch(WIDE, 41, max_step=1) == 0  # the weights alone take 1.35 s
    assert best_batch(WIDE, 41, max_step=0) == 0
    assert best_batch(WIDE, 41, max_step=1e9) == 8


def test_best_batch_without_a_cache() -> None:
    """With no context the step is 1.35 s for every batch up to the critical one."""
    assert best_batch(WIDE, 0) == 8
    assert best_batch(WIDE, 0, max_step=decode_step(WIDE, 1, 0).total) == 7  # 8 would take 1.36 s
    assert best_batch(WIDE, 0, max_step=1.35) == 0


def test_best_batch_minds_overhead_and_collectives() -> None:
    slow = replace(WIDE, efficiency=MEASURED)  # a critical batch of 3.97
    assert best_batch(slow, 41) == 4
    two = decode_step(slow, 2, 41).total
    assert best_batch(slow, 41, max_step=two) == 2
    assert best_batch(slow, 41, max_step=two * 0.999) == 1


def test_best_batch_of_arrays() -> None:
    np.testing.assert_array_equal(best_batch(WIDE, np.array([41, 53, 10**6])), [8, 7, 0])
    np.testing.assert_array_equal(best_batch(WIDE, 41, max_step=np.array([1, 4, 1e9])), [0, 3, 8])


def test_cost_per_million_tokens_by_hand() -> None:
    # 29 chips at 37 USD an hour for 10^6 / 5 steps
    assert cost_per_million_tokens(WIDE, 5, 41) == pytest.approx(29 * 37 / 3600 * 1e6 / 5 * STEP, rel=1e-12)
    assert cost_per_million_tokens(WIDE, 5, 41, price=2) == pytest.approx(29 * 2 / 3600 * 1e6 / 5 * STEP, rel=1e-12)
    assert cost_per_million_tokens(WIDE, 5, 41, price=0) == 0
    assert cost_per_million_tokens(WIDE, 0, 41) == math.inf


def test_cost_without_a_price_is_unknown() -> None:
    assert math.isnan(cost_per_million_tokens(replace(WIDE, chip=replace(WIDE.chip, price=math.nan)), 5, 41))


def test_zero_batch() -> None:
    assert tokens_per_second(WIDE, 0, 41) == 0
    assert queries_per_second(WIDE, 0, 41, 7) == 0
    assert mfu(WIDE, 0, 41) == 0


def test_no_tokens_to_decode() -> None:
    assert queries_per_second(WIDE, 5, 41, 0) == math.inf


@pytest.mark.parametrize(
    ("call", "name"),
    [
        *((lambda bad, f=f: f(TOY, bad, 41), "batch") for f in (tokens_per_second, mfu, cost_per_million_tokens)),
        *((lambda bad, f=f: f(TOY, 31, bad), "context") for f in (tokens_per_second, mfu, cost_per_million_tokens)),
        (lambda bad: tokens_per_second_per_chip(TOY, bad, 41), "batch"),
        (lambda bad: queries_per_second(TOY, bad, 41, 7), "batch"),
        (lambda bad: queries_per_second(TOY, 31, 41, bad), "decode_tokens"),
        (lambda bad: queries_per_second_per_chip(TOY, 31, 41, bad), "decode_tokens"),
        (lambda bad: plateau(TOY, bad), "context"),
        (lambda bad: batch_at_step(TOY, bad, 1), "context"),
        (lambda bad: batch_at_step(TOY, 41, bad), "step"),
        (lambda bad: best_batch(TOY, bad), "context"),
        (lambda bad: best_batch(TOY, 41, max_step=bad), "max_step"),
        (lambda bad: cost_per_million_tokens(TOY, 31, 41, price=bad), "price"),
        (lambda bad: largest_batch(TOY, 41, max_step=bad), "max_step"),
        (lambda bad: replicas_for(TOY, bad, 5, 41, 7), "queries"),
        (lambda bad: replicas_for(TOY, 1, 5, 41, bad), "decode_tokens"),
        (lambda bad: prefill_chips(TOY, bad, 11), "queries"),
        (lambda bad: cost_per_hour(TOY_CHIP, bad), "chips"),
        (lambda bad: cost_per_hour(TOY_CHIP, 1, price=bad), "price"),
    ],
)
@pytest.mark.parametrize("bad", [-1, -0.5, np.array([1, -1]), "8"])
def test_bad_argument(call, name: str, bad: object) -> None:
    with pytest.raises(ValueError, match=rf"^{name} must be a number.* of at least 0, not ") as error:
        call(bad)
    assert repr(bad) in str(error.value)


def test_the_module_says_whole_deployment() -> None:
    """A name that does not say per chip is for all of them: twice the chips at the same step give the same rate."""
    assert "whole deployment unless its name says per chip" in (throughput.__doc__ or "")


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


def test_replicas_for_by_hand() -> None:
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


def test_a_slower_engine_needs_more_replicas_and_more_prefill() -> None:
    slow = replace(WIDE, efficiency=MEASURED)
    assert replicas_for(slow, 1000, 5, 41, 7) > replicas_for(WIDE, 1000, 5, 41, 7)
    # Four times the arithmetic; on 29 chips, links and layers as in a step of 11.
    beside = decode_step(slow, 11, 0)
    more = 13 * slow.chips * (beside.collectives + beside.overhead)
    assert prefill_chips(slow, 13, 11) == math.ceil(4 * 13 * 2 * 9880 * 11 / 4001 + more)


def test_full_batch_by_hand() -> None:
    """4940 B over 29261 B/s is 0.99 times what 2 x 9880 FLOP over 116029 FLOP/s take: one sequence."""
    assert throughput.full_batch(TOY) == 1
    # C / (2 W) is exactly 7 for weights of a byte, whatever rounding makes of it.
    for k in (7, 49, 343):
        chip = replace(TOY.chip, flops={"int8": 2 * 1_009 * k})
        assert throughput.full_batch(replace(TOY, chip=chip, weights="int8")) == k
