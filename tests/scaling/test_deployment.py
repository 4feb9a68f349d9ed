import copy
import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scaling.chips import A100, B200, GB200, H100, L40S, TPU_V5E, TPU_V5P, Chip
from scaling.deployment import ROOFLINE, Deployment, Efficiency, parallel_sizes
from scaling.memory import max_batch, min_chips, weight_bytes
from scaling.models import LLAMA3_8B, LLAMA3_70B, LLAMA3_405B
from scaling.throughput import best_batch
from tests.scaling import records
from tests.scaling.toys import MEASURED, TOY, TOY_CHIP, TOY_MODEL


def test_defaults() -> None:
    d = Deployment(model=LLAMA3_70B, chip=H100)
    assert (d.chips, d.weights, d.kv, d.compute) == (1, "bf16", "bf16", "bf16")
    assert (d.params, d.usable, d.kv_split, d.efficiency) == ("exact", 1.0, "even", ROOFLINE)
    assert (d.layout, d.reserve) == ("loaded", 0)


@pytest.mark.parametrize(
    ("chip", "weights", "compute"),
    [
        (H100, "fp8", "fp8"),
        (H100, "int8", "bf16"),
        (H100, "int4", "bf16"),
        (H100, "fp4", "bf16"),  # H100 has no such rate
        (B200, "fp4", "fp4"),
        (A100, "fp8", "bf16"),
        (TPU_V5E, "fp8", "bf16"),
        (H100, "fp16", "bf16"),
    ],
)
def test_the_arithmetic_is_the_engines_unless_given(chip: Chip, weights: str, compute: str) -> None:
    d = Deployment(model=LLAMA3_70B, chip=chip, weights=weights)
    assert d.compute == compute and d.flops == chip.rate(compute)
    # What nobody gave is chosen again, what somebody gave is kept.
    assert replace(Deployment(model=LLAMA3_70B, chip=H100, weights="fp8"), chip=chip, weights=weights) == d
    assert replace(d, weights="bf16").compute == "bf16"
    given = Deployment(model=LLAMA3_70B, chip=chip, weights=weights, compute="fp16" if "fp16" in chip.flops else "bf16")
    assert replace(given, weights="fp8").compute == given.compute
    for copied in (copy.deepcopy(d), pickle.loads(pickle.dumps(d))):
        assert copied == d and replace(copied, weights="bf16").compute == "bf16"


def test_fp8_weights_are_worth_twice_the_batch() -> None:
    """A server that multiplies in FP8 is on its plateau at 296 sequences, not at 148."""
    d = Deployment(model=LLAMA3_70B, chip=H100, chips=8, weights="fp8", kv="fp8")
    assert (best_batch(d, 2048), best_batch(replace(d, compute="bf16"), 2048)) == (296, 148)


def test_memory_holds_what_an_engine_loads_unless_a_label_is_asked_for() -> None:
    """70B in FP8 on one H100 is no server: what loads leaves no room for one sequence at 0.92 of 80 GB."""
    d = Deployment(model=LLAMA3_70B, chip=H100, weights="fp8", usable=0.92)
    assert weight_bytes(d) == 68_451_041_280 + 2 * 2_102_665_216
    assert (max_batch(d, 8192), max_batch(replace(d, layout="label"), 8192)) == (0, 1)
    assert (min_chips(d, 1, 8192), min_chips(replace(d, layout="label"), 1, 8192)) == (2, 1)
    l40s = Deployment(model=LLAMA3_70B, chip=L40S, weights="int4", usable=0.92)
    assert (max_batch(l40s, 8192), max_batch(replace(l40s, layout="label"), 8192)) == (1, 3)
    nominal = replace(d, params="nominal")
    assert (nominal.layout, weight_bytes(nominal)) == ("label", 70e9)
    assert replace(nominal, params="exact") == d


def test_roofline_takes_nothing_off() -> None:
    assert (ROOFLINE.bandwidth, ROOFLINE.flops, ROOFLINE.layer_seconds, ROOFLINE.links) == (1, 1, 0, None)


def test_sums_by_hand() -> None:
    assert TOY.stored_params == TOY.step_params == 9880
    assert TOY.weight_size == 0.5
    assert TOY.kv_per_token == 624  # 156 x 4
    assert TOY.memory == 290_203  # 29 x 10007
    assert TOY.bandwidth == 29_261  # 29 x 1009
    assert TOY.flops == 116_029  # 29 x 4001, the rate of int8


def test_conventions_by_hand() -> None:
    nominal, streamed = replace(TOY, params="nominal"), replace(TOY, params="streamed")
    assert (nominal.stored_params, nominal.step_params) == (7919, 7919)
    assert (streamed.stored_params, streamed.step_params) == (9880, 9760)
    assert replace(TOY, usable=0.5).memory == 145_101.5
    assert replace(TOY, compute="bf16").flops == 58_087  # 29 x 2003


def test_efficiency_by_hand() -> None:
    measured = replace(TOY, efficiency=MEASURED)
    assert measured.bandwidth == 14_630.5  # 29261 x 0.5
    assert measured.flops == 29_007.25  # 116029 x 0.25
    assert measured.memory == TOY.memory


def test_copies_of_kv_heads_by_hand() -> None:
    assert TOY.kv_copies == 1
    heads = replace(TOY, kv_split="heads")
    assert heads.kv_copies == 14.5  # 29 chips for 2 heads
    assert heads.kv_per_token == 9048  # 624 x 14.5
    assert replace(heads, chips=2).kv_copies == replace(heads, chips=1).kv_copies == 1


def test_chips_may_be_an_array() -> None:
    chips = np.array([1, 2, 29])
    many = replace(TOY, chips=chips, kv_split="heads")
    np.testing.assert_allclose(many.memory, [10_007, 20_014, 290_203])
    np.testing.assert_allclose(many.kv_copies, [1, 1, 14.5])


@pytest.mark.parametrize(
    ("model", "chip", "sizes"),
    [
        (LLAMA3_70B, H100, (1, 2, 4, 8)),
        (LLAMA3_70B, TPU_V5E, (1, 4, 8, 16, 32, 64)),  # as many as there are query heads
        (LLAMA3_70B, TPU_V5P, (4, 8, 16, 32, 64)),
        (LLAMA3_8B, GB200, (1, 2, 4, 8, 16, 32)),
        (LLAMA3_405B, GB200, (1, 2, 4, 8, 16, 32, 64)),  # 128 heads, but 72 chips
        (TOY_MODEL, TOY_CHIP, (1,)),  # 22 heads and a width of 7 share no divisor
    ],
)
def test_parallel_sizes(model, chip, sizes) -> None:
    assert parallel_sizes(model, chip) == sizes


def test_parallel_sizes_rule_by_rule() -> None:
    """24 heads: 1 2 3 4 6 8 12 24. A width of 72 takes them all; 6 KV heads take 1 2 3 6 12 24."""
    model = replace(TOY_MODEL, q_heads=24, kv_heads=6, d_ff=72)
    assert parallel_sizes(model, TOY_CHIP) == (1, 2, 3, 6, 12, 24)
    assert parallel_sizes(model, replace(TOY_CHIP, fast_domain=17)) == (1, 2, 3, 6, 12)
    assert parallel_sizes(model, replace(TOY_CHIP, slices=(1, 4, 6, 24))) == (1, 6, 24)
    assert parallel_sizes(replace(model, d_ff=6), TOY_CHIP) == (1, 2, 3, 6)
    assert parallel_sizes(model, replace(TOY_CHIP, fast_domain=11)) == (1, 2, 3, 6)  # 12 is one too many
    assert parallel_sizes(model, replace(TOY_CHIP, fast_domain=12)) == (1, 2, 3, 6, 12)


@pytest.mark.parametrize("bad", [0, -1, 2.5, math.nan, math.inf, "8", None, True, [8]])
def test_bad_chips(bad: object) -> None:
    with pytest.raises(ValueError, match=r"^chips must be a .*(of at least 1|above 0), not ") as error:
        replace(TOY, chips=bad)  # type: ignore[arg-type]
    assert repr(bad) in str(error.value)


@pytest.mark.parametrize("field", ["weights", "kv"])
@pytest.mark.parametrize("bad", ["int3", "BF16", "", None, 2, ["int8"]])
def test_bad_dtype(field: str, bad: object) -> None:
    with pytest.raises(ValueError) as error:
        replace(TOY, **{field: bad})
    assert str(error.value) == f"{field} must be one of fp32, bf16, fp16, fp8, int8, int4, fp4, not {bad!r}."


@pytest.mark.parametrize("bad", ["fp8", "int3", None, 2, ["int8"]])
def test_chip_without_a_rate(bad: object) -> None:
    with pytest.raises(ValueError) as error:
        replace(TOY, compute=bad)  # type: ignore[arg-type]
    assert str(error.value) == f"compute must be one of bf16, int8 on toy, not {bad!r}."


@pytest.mark.parametrize("bad", [0, -0.5, 1.5, math.nan, math.inf, "0.9", None, True])
def test_bad_usable(bad: object) -> None:
    with pytest.raises(ValueError) as error:
        replace(TOY, usable=bad)  # type: ignore[arg-type]
    assert str(error.value) == f"usable must be a share above 0 and at most 1, not {bad!r}."


@pytest.mark.parametrize(
    ("field", "allowed"),
    [("params", "exact, nominal, streamed"), ("kv_split", "even, heads"), ("layout", "label, loaded")],
)
@pytest.mark.parametrize("bad", ["all", "", None, 1, []])
def test_bad_convention(field: str, allowed: str, bad: object) -> None:
    with pytest.raises(ValueError) as error:
        replace(TOY, **{field: bad})
    assert str(error.value) == f"{field} must be one of {allowed}, not {bad!r}."


@pytest.mark.parametrize(("field", "kind"), [("model", "Model"), ("chip", "Chip"), ("efficiency", "Efficiency")])
@pytest.mark.parametrize("bad", ["LLaMA", None, 70e9, {}])
def test_bad_record(field: str, kind: str, bad: object) -> None:
    with pytest.raises(ValueError) as error:
        replace(TOY, **{field: bad})
    assert str(error.value) == f"{field} must be a {kind} record, not {bad!r}."


def test_a_reserve_is_kept_of_each_chip() -> None:
    kept = replace(TOY, usable=0.5, reserve=3)
    assert kept.memory == 145_014.5  # 29 x (10007 x 0.5 - 3)
    assert replace(TOY, reserve=10_006).memory == 29 and replace(TOY, reserve=10_008).memory == 0
    np.testing.assert_allclose(replace(TOY, reserve=np.array([0, 10_006.0])).memory, [290_203, 29])


@pytest.mark.parametrize("bad", [-1, -0.5, math.nan, math.inf, "3 GB", None, True, [3]])
def test_bad_reserve(bad: object) -> None:
    with pytest.raises(ValueError) as error:
        replace(TOY, reserve=bad)  # type: ignore[arg-type]
    assert str(error.value) == f"reserve must be a finite number of at least 0, not {bad!r}."


@pytest.mark.parametrize(
    ("weights", "stored", "read"),
    [
        # 9675 weights in the layers' matrices; 205 others in memory, of which a step multiplies the output table's 85.
        ("bf16", 19_760, 19_520),  # 2 x 9880, 2 x 9760
        ("fp32", 39_520, 39_040),
        ("int8", 10_085, 9_845),  # 9675 + 2 x 205, 9675 + 2 x 85
        ("fp8", 10_085, 9_845),
        ("int4", 9675 * 4.15625 / 8 + 410, 9675 * 4.15625 / 8 + 170),  # 20 bits more for each 128
        ("fp4", 9675 * 4.5 / 8 + 410, 9675 * 4.5 / 8 + 170),  # 8 bits more for each 16
    ],
)
def test_loaded_weights_by_hand(weights: str, stored: float, read: float) -> None:
    d = replace(TOY, weights=weights, layout="loaded", params="streamed")
    assert (d.stored_bytes, d.step_bytes) == (stored, read)
    exact = replace(d, params="exact")
    assert (exact.stored_bytes, exact.step_bytes) == (stored, 9880 * exact.weight_size)


def test_a_label_is_parameters_times_the_size() -> None:
    assert TOY.stored_bytes == TOY.step_bytes == 4940
    assert replace(TOY, params="streamed").step_bytes == 4880
    assert replace(TOY, params="nominal").stored_bytes == 3959.5


def test_nominal_weights_have_no_layout() -> None:
    with pytest.raises(
        ValueError, match=r"^params must be exact or streamed for layout 'loaded', .*, not 'nominal'\.$"
    ):
        replace(TOY, params="nominal", layout="loaded")


@pytest.mark.parametrize("field", ["bandwidth", "flops", "links"])
@pytest.mark.parametrize("bad", [0, -0.5, 1.5, math.nan, math.inf, "0.9", True])
def test_bad_efficiency_share(field: str, bad: object) -> None:
    with pytest.raises(ValueError) as error:
        Efficiency(**{field: bad})
    assert str(error.value) == f"Efficiency.{field} must be a share above 0 and at most 1, not {bad!r}."


@pytest.mark.parametrize("bad", [-1e-6, -math.inf, math.inf, math.nan, "1 us", None, True])
def test_bad_layer_seconds(bad: object) -> None:
    with pytest.raises(ValueError, match=r"^Efficiency.layer_seconds must be a .*, not ") as error:
        Efficiency(layer_seconds=bad)  # type: ignore[arg-type]
    assert repr(bad) in str(error.value)


@pytest.mark.parametrize("record", [TOY, TOY_CHIP, TOY_MODEL, MEASURED], ids=lambda r: type(r).__name__)
def test_records_are_frozen_and_take_keywords(record: Any) -> None:
    records.check(record)
