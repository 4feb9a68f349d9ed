"""The floor of a step: the serial roofline takes longer, an estimate longer still, and nothing measured takes less."""

# ruff: noqa: N803

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from scaling.chips import H100, H100_TEXT
from scaling.deployment import ROOFLINE, Deployment
from scaling.latency import StepTime, decode_step, mixed_step, prefill_floor, prefill_time
from scaling.measurements import least, measurements, seconds, unusable
from scaling.models import LLAMA3_8B, LLAMA3_70B, LLAMA3_405B, Model
from scaling.throughput import plateau, tokens_per_second
from scaling.units import ms
from tests.scaling import strategies as given_
from tests.scaling.toys import MEASURED, TOY

ULP = 1e-12  # what rounding may cost

# The matmuls of the toy: 9760 parameters, 4880 B in int4. All chips: 29,261 B/s and 116,029 FLOP/s.
READ, DONE = 29_261, 116_029


def test_floor_by_hand() -> None:
    step = decode_step(TOY, 31, 41)  # 31 x 41 x 624 B of cache
    assert step.floor == pytest.approx((4880 + 793_104) / READ, rel=1e-12)
    assert decode_step(TOY, 31, 0).floor == pytest.approx(2 * 31 * 9760 / DONE, rel=1e-12)
    # It takes the peaks, and each KV head once, whatever the deployment says.
    assert decode_step(replace(TOY, efficiency=MEASURED), 31, 41).floor == step.floor
    assert decode_step(replace(TOY, kv_split="heads"), 31, 41).floor == step.floor
    # 7919 parameters by name are fewer than the matmuls have.
    assert decode_step(replace(TOY, params="nominal"), 31, 0).floor == pytest.approx(2 * 31 * 7919 / DONE, rel=1e-12)


def test_what_no_step_has_to_read() -> None:
    """The input embedding: 7.0 % of what 8B in bf16 would read if all of its parameters counted."""
    step = decode_step(Deployment(model=LLAMA3_8B, chip=H100), 1, 0)
    assert step.total / step.floor == pytest.approx(1.070, abs=5e-4)


def test_reading_the_cache_hides_behind_arithmetic_or_the_other_way_round() -> None:
    """8 H100, batch 424 at 8,192 tokens: 28.73 ms one after another, 23.83 overlapped; at 2,891 tokens twice."""
    node = Deployment(model=LLAMA3_70B, chip=H100_TEXT, chips=8, weights="int8", kv="int8", params="nominal")
    step = decode_step(node, 424, 8192)
    assert (step.total / ms, step.floor / ms) == pytest.approx((28.73, 23.83), abs=0.005)
    ratios = {S: plateau(node, S, overlapped=True) / plateau(node, S) for S in (512, 2048, 2891, 8192, 32_768)}
    assert max(ratios, key=lambda S: ratios[S]) == 2891 and ratios[2891] == pytest.approx(2, abs=1e-3)
    assert ratios[8192] == pytest.approx(1.353, abs=1e-3)


def test_terms_put_together_by_hand_have_no_floor() -> None:
    step = decode_step(TOY, 31, 41)
    assert step.floor > 0 and len(step) == len(step._fields) == 5
    assert step.without("cache").floor == StepTime(2, 3, 5).floor == 0


@pytest.mark.parametrize(("model", "more"), [(LLAMA3_8B, 10.8), (LLAMA3_70B, 1.09), (LLAMA3_405B, -0.005)])
def test_what_no_prompt_has_to_multiply(model: Model, more: float) -> None:
    """Both embeddings on every token of 2,048, against attention that a prefill leaves out unless asked."""
    d = Deployment(model=model, chip=H100, chips=8)
    assert 100 * (prefill_time(d, 2048) / prefill_floor(d, 2048) - 1) == pytest.approx(more, abs=0.01)


# Laws -----------------------------------------------------------------------------------------------------------------


def below(less: Any, more: Any) -> bool:
    return bool((np.asarray(less) <= np.asarray(more) * (1 + ULP)).all())


@given(d=given_.deployments(), B=given_.batches, S=given_.contexts, T=given_.contexts)
def test_floor_serial_estimate(d: Deployment, B: int, S: int, T: int) -> None:
    """For numbers, and for arrays of them."""
    serial = replace(d, efficiency=ROOFLINE)
    grids = np.array([0, 1, B])[:, None], np.array([0, 1, S])
    for batch, context in ((B, S), grids):
        for step in (decode_step, lambda d, batch, context: mixed_step(d, batch, context, T)):
            assert below(step(d, batch, context).floor, step(serial, batch, context).total)
            assert below(step(serial, batch, context).total, step(d, batch, context).total)
            assert np.array_equal(step(d, batch, context).floor, step(serial, batch, context).floor)
    for tokens in (T, np.array([0, 1, T])):
        read = decode_step(serial, 0, 0).weights  # which a prefill time leaves out
        assert below(prefill_floor(d, tokens), np.maximum(read, prefill_time(serial, tokens, attention=True)))
        assert below(prefill_time(serial, tokens, attention=True), prefill_time(d, tokens, attention=True))


@given(d=given_.deployments(), B=given_.some_batches, S=given_.contexts)
def test_no_batch_and_no_schedule_exceeds_the_overlapped_plateau(d: Deployment, B: int, S: int) -> None:
    serial = replace(d, efficiency=ROOFLINE)
    limit = plateau(d, S, overlapped=True)
    assert below(B / decode_step(d, B, S).floor, limit)
    assert below(tokens_per_second(d, B, S), limit)
    if d.kv_split == "even" and d.params == "streamed":  # nothing but the overlap tells the two apart
        assert below(limit, 2 * plateau(serial, S))


# Measurements ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "rows", "closest"),
    [("tpot_ms", 150, 0.64), ("ttft_ms", 99, 0.67), ("output_tokens_per_s", 494, 0.85)],
)
def test_nothing_measured_beats_the_floor(metric: str, rows: int, closest: float) -> None:
    # An unoptimised path, a starved cache or fp4 is no guide to an estimate, and still no faster than the floor.
    rows_of = [row for row in measurements() if row.metric == metric]
    shares = [least(row) / seconds(row) for row in rows_of if unusable(row) in ("", "unoptimised", "starved", "fp4")]
    assert len(shares) == rows
    assert max(shares) < 1
    assert max(shares) == pytest.approx(closest, abs=0.01)  # near enough that a floor a fifth too high would show
