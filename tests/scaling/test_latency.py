import math
from dataclasses import replace

import numpy as np
import pytest

from scaling.chips import TPU_V5E
from scaling.deployment import Deployment
from scaling.latency import StepTime, decode_step, matmul_time, mixed_step, prefill_floor, prefill_time
from scaling.models import LLAMA3_8B, LLAMA3_70B, Model
from scaling.units import ms
from tests.scaling.toys import MEASURED, TOY

WEIGHTS, COMPUTE, CACHE = 4940 / 29_261, 612_560 / 116_029, 793_104 / 29_261


def test_decode_step_by_hand() -> None:
    step = decode_step(TOY, 31, 41)
    assert step.weights == pytest.approx(WEIGHTS, rel=1e-12)  # 4940 / (29 x 1009)
    assert step.compute == pytest.approx(COMPUTE, rel=1e-12)  # 2 x 31 x 9880 / (29 x 4001)
    assert step.cache == pytest.approx(CACHE, rel=1e-12)  # 31 x 41 x 624 / (29 x 1009)
    assert (step.collectives, step.overhead) == (0, 0)
    assert step.matmul == step.compute
    assert step.total == pytest.approx(COMPUTE + CACHE, rel=1e-12)
    assert step.longest == "cache"


def test_reading_weights_and_multiplying_overlap() -> None:
    """A small batch reads for longer than it multiplies: 4 x 9880 / 29261 against 3 x 2 x 9880 / 116029."""
    step = decode_step(replace(TOY, weights="fp32"), 3, 0)
    assert step.total == step.matmul == pytest.approx(39_520 / 29_261, rel=1e-12)
    assert step.compute == pytest.approx(59_280 / 116_029, rel=1e-12)
    assert step.longest == "weights"


def test_large_batch_is_compute_bound() -> None:
    step = decode_step(TOY, 31, 0)
    assert step.total == step.compute == pytest.approx(COMPUTE, rel=1e-12)
    assert (step.cache, step.longest) == (0, "compute")


def test_efficiency_by_hand() -> None:
    step = decode_step(replace(TOY, efficiency=MEASURED), 31, 41)
    assert step.weights == pytest.approx(2 * WEIGHTS, rel=1e-12)
    assert step.compute == pytest.approx(4 * COMPUTE, rel=1e-12)
    assert step.cache == pytest.approx(2 * CACHE, rel=1e-12)
    # 4 collectives x 3 layers x 2 B x 31 x 5 over three axes of 101 B/s, of which a fifth is reached, from 28 of 29
    assert step.collectives == pytest.approx(3720 * 28 / 29 / 303 / 0.2, rel=1e-12)
    assert step.overhead == 2.25  # 3 layers x 0.75 s
    assert step.total == pytest.approx(4 * COMPUTE + 2 * CACHE + 18_600 * 28 / 29 / 303 + 2.25, rel=1e-12)
    assert step.longest == "collectives"


def test_streamed_parameters_by_hand() -> None:
    step = decode_step(replace(TOY, params="streamed"), 31, 41)
    assert step.weights == pytest.approx(4880 / 29_261, rel=1e-12)  # 9760 x 0.5
    assert step.compute == pytest.approx(2 * 31 * 9760 / 116_029, rel=1e-12)


def test_copies_of_kv_heads_are_read() -> None:
    assert decode_step(replace(TOY, kv_split="heads"), 31, 41).cache == pytest.approx(14.5 * CACHE, rel=1e-12)


def test_matmul_time_by_hand() -> None:
    """11 x 13 weights of half a byte over 29261 B/s, and 2 FLOP for each weight and sequence over 116029 FLOP/s."""
    one = matmul_time(TOY, 3, 11, 13)
    assert one == StepTime(71.5 / 29_261, 858 / 116_029, 0.0)
    assert one.total == one.matmul == 858 / 116_029 and one.longest == "compute"
    assert matmul_time(replace(TOY, efficiency=MEASURED), 3, 11, 13).weights == 71.5 / 14_630.5
    np.testing.assert_array_equal(matmul_time(TOY, np.array([3, 0]), 11, 13).compute, [858 / 116_029, 0])


def test_a_step_without_terms() -> None:
    step = StepTime(2, 3, 5, 7, 11)
    assert step.without("compute") == StepTime(2, 0, 5, 7, 11)
    assert step.without("weights", "cache") == StepTime(0, 3, 0, 7, 11)
    assert step.without() == step
    assert step.without("compute").total == 25  # 2 + 5 + 7 + 11


@pytest.mark.parametrize("bad", ["total", "flops", "", None, 3, ["compute"]])
def test_only_a_term_can_be_left_out(bad: object) -> None:
    with pytest.raises(ValueError) as error:
        StepTime(2, 3, 5).without(bad)  # type: ignore[arg-type]
    said = f"terms must be one of weights, compute, cache, collectives, overhead, not {bad!r}."
    assert str(error.value) == said


@pytest.mark.parametrize("term", StepTime._fields)
def test_bound_names_the_longest_term(term: str) -> None:
    terms = dict.fromkeys(StepTime._fields, 2.0) | {term: 3.0}
    assert StepTime(**terms).longest == term
    arrays = StepTime(**{name: np.array([value, 2.0]) for name, value in terms.items()})
    assert arrays.longest.tolist() == [term, "weights"]  # a tie goes to the first


def test_total_by_hand() -> None:
    assert StepTime(2, 3, 5, 7, 11).total == 26  # 3 + 5 + 7 + 11
    assert StepTime(13, 3, 5, 7, 11).total == 36
    assert StepTime(2, 3, 5).total == 8


def test_book_example() -> None:
    """LLaMA 3-70B in int8 on 16 TPU v5e, 32 sequences of 8192 tokens: 5.38 and 3.28 ms."""
    pod = Deployment(model=LLAMA3_70B, chip=TPU_V5E, chips=16, weights="int8", kv="int8")
    step = decode_step(pod, 32, 8192)
    assert step.weights / ms == pytest.approx(5.384, rel=1e-3)
    assert step.compute / ms == pytest.approx(1.4325, rel=1e-3)
    assert step.cache / ms == pytest.approx(3.2776, rel=1e-3)
    assert step.total / ms == pytest.approx(8.662, rel=1e-3)


def test_terms_broadcast() -> None:
    step = decode_step(TOY, np.array([[1], [2]]), np.array([3, 5, 7]))
    assert np.shape(step.weights) == ()
    assert step.compute.shape == (2, 1)
    assert step.cache.shape == step.total.shape == step.longest.shape == (2, 3)


def test_scalar_in_scalar_out() -> None:
    step = decode_step(TOY, 31, 41)
    assert all(type(term) is float for term in (*step, step.matmul, step.total))
    assert type(step.longest) is str
    assert type(prefill_time(TOY, 43)) is float


def test_prefill_time_by_hand() -> None:
    assert prefill_time(TOY, 43) == pytest.approx(849_680 / 116_029, rel=1e-12)  # 2 x 9880 x 43
    assert prefill_time(TOY, 43, mfu=0.2) == pytest.approx(5 * 849_680 / 116_029, rel=1e-12)
    # + 2 x 43 x 43 x 22 x 13 x 3 = 3172884
    assert prefill_time(TOY, 43, attention=True) == pytest.approx(4_022_564 / 116_029, rel=1e-12)
    assert prefill_time(replace(TOY, params="streamed"), 43) == pytest.approx(2 * 9760 * 43 / 116_029, rel=1e-12)
    assert prefill_time(TOY, 0, attention=True) == 0


def test_mfu_replaces_the_efficiency() -> None:
    measured = replace(TOY, efficiency=MEASURED)
    # A fifth of the links for 4 x 3 x 2 B x 43 x 5 over 303 B/s, and 0.75 s for each of 3 layers, whatever the MFU.
    beside = 5160 * 28 / 29 / 303 / 0.2 + 2.25
    assert prefill_time(measured, 43) == pytest.approx(4 * 849_680 / 116_029 + beside, rel=1e-12)
    assert prefill_time(measured, 43, mfu=1) == pytest.approx(849_680 / 116_029 + beside, rel=1e-12)


def test_prefill_floor_by_hand() -> None:
    # 43 tokens meet 9760 - 85 parameters, the last one the head: 2 x (9675 x 43 + 85); attention as in prefill_time.
    assert prefill_floor(TOY, 43) == pytest.approx((832_050 + 170 + 3_172_884) / 116_029, rel=1e-12)
    assert prefill_floor(TOY, 43, batch=3) == pytest.approx(3 * prefill_floor(TOY, 43), rel=1e-12)
    wide = replace(TOY, weights="fp32")  # a prompt of one token waits for 9760 x 4 B
    assert prefill_floor(wide, 1) == prefill_floor(wide, 1, batch=2) == pytest.approx(39_040 / 29_261, rel=1e-12)
    assert prefill_floor(TOY, 0) == prefill_floor(TOY, 43, batch=0) == 0
    assert prefill_floor(replace(TOY, efficiency=MEASURED), 43) == prefill_floor(TOY, 43)


def test_mixed_step_reads_the_weights_once() -> None:
    # 31 sequences and 43 tokens: (31 + 43) x 2 x 9760 or, with both embeddings, 9880 parameters
    step = mixed_step(TOY, 31, 41, 43)
    assert step.compute == pytest.approx(2 * 74 * 9880 / 116_029, rel=1e-12)
    assert step[::2][:2] == decode_step(TOY, 31, 41)[::2][:2]  # weights and cache
    assert step.floor == pytest.approx(max((4880 + 793_104) / 29_261, 2 * 74 * 9760 / 116_029), rel=1e-12)
    wide = replace(TOY, weights="fp32")  # three sequences and a token beside them hide behind one reading
    assert mixed_step(wide, 3, 41, 1).total == decode_step(wide, 3, 41).total
    assert mixed_step(TOY, 31, 41, 0) == decode_step(TOY, 31, 41)
    assert mixed_step(TOY, 31, 41, 43, mfu=0.4).compute == pytest.approx(step.compute / 0.4, rel=1e-12)
    slow = replace(TOY, efficiency=MEASURED)
    both = decode_step(slow, 74, 0)
    assert mixed_step(slow, 31, 41, 43)[3:] == (both.collectives, both.overhead)


@pytest.mark.parametrize("bad", [0, -0.4, 1.01, math.nan, math.inf, "0.4", True, np.array([0.4, 1.4])])
def test_bad_mfu(bad: object) -> None:
    with pytest.raises(ValueError) as error:
        prefill_time(TOY, 43, mfu=bad)
    assert str(error.value) == f"mfu must be a share above 0 and at most 1, not {bad!r}."


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda bad: decode_step(TOY, bad, 41), "batch"),
        (lambda bad: decode_step(TOY, 31, bad), "context"),
        (lambda bad: prefill_time(TOY, bad), "tokens"),
    ],
)
@pytest.mark.parametrize("bad", [-1, -0.5, np.array([1, -1]), "8", None])
def test_bad_argument(call, name: str, bad: object) -> None:
    with pytest.raises(ValueError, match=rf"^{name} must be a number.* of at least 0, not ") as error:
        call(bad)
    assert repr(bad) in str(error.value)


def test_zeros_are_fine() -> None:
    assert decode_step(TOY, 0, 0).total == pytest.approx(WEIGHTS, rel=1e-12)


def test_a_step_with_another_term_hides_what_it_hid() -> None:
    """Links of 50 s behind a matmul of 3 s: 50 s and not 53."""
    step = StepTime(2.0, 3.0, 0.0, 50.0)
    step._hidden = True
    slower = step._replace(overhead=7.0)
    assert (step.total, slower.total, slower.floor) == (50.0, 57.0, 0.0)


@pytest.mark.parametrize(("m", "tokens", "low"), [
    (LLAMA3_70B, 8192, 0.07), (LLAMA3_8B, 8192, 0.12), (LLAMA3_70B, 131_072, 0.55), (LLAMA3_8B, 131_072, 0.68),
])  # fmt: skip
def test_attention_is_so_much_of_a_long_prompt(m: Model, tokens: int, low: float) -> None:
    """The sizes that the docstring names."""
    d = Deployment(model=m, chip=TPU_V5E)
    assert 1 - prefill_time(d, tokens) / prefill_time(d, tokens, attention=True) == pytest.approx(low, abs=0.005)


@pytest.mark.parametrize(("m", "weights", "low"), [
    (LLAMA3_70B, "int4", 0.063), (LLAMA3_8B, "int4", 0.141), (LLAMA3_70B, "fp4", 0.131), (LLAMA3_8B, "fp4", 0.193),
    (LLAMA3_70B, "fp8", 0.0), (LLAMA3_8B, "fp8", 0.0),
])  # fmt: skip
def test_scales_and_the_head_are_so_much_of_the_weights(m: Model, weights: str, low: float) -> None:
    """The sizes that the docstring names: what is loaded of the matmul parameters, against P b_w."""
    d = Deployment(model=m, chip=TPU_V5E, weights=weights)
    read = decode_step(replace(d, params="streamed"), 1, 0).weights
    assert 1 - decode_step(d, 1, 0).weights / read == pytest.approx(low, abs=0.0005)
