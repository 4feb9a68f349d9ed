"""The fit is what is stored, its stated error is the one on publishers that it has not seen, and bad rows are told."""

import math
from dataclasses import replace
from statistics import median

import numpy as np
import pytest

from scaling import calibration, chips
from scaling.calibration import FITTED, SPREAD, efficiency, errors, estimate, off, unseen, usable
from scaling.chips import H100, MI300X
from scaling.deployment import Deployment
from scaling.latency import decode_step
from scaling.layers import Experts
from scaling.measurements import COLUMNS, Measurement, measurements, predicted, seconds, sources, unusable
from scaling.models import LLAMA3_70B

EIGHT = Experts(layers=80, routed=8, active=2, d_ff=28_672)
HOME = Deployment(model=LLAMA3_70B, chip=H100, chips=8, weights="fp8", kv="fp8")

# What the fit leaves on unseen publishers, in percent: pooled, as a median of publishers, of NVIDIA's chips, of AMD's.
STATED = {"pooled": 9.0, "publishers": 12.5, "NVIDIA": 7.4, "AMD": 23.5}


# The data -------------------------------------------------------------------------------------------------------------


def test_no_row_is_lost() -> None:
    """A row more or less, or another value, changes a count or the sum of all logarithms."""
    rows = list(measurements())
    assert len(rows) == 1097 and {row.source for row in rows} == set(sources())
    of_publisher = {name: sum(row.publisher == name for row in rows) for name in {row.publisher for row in rows}}
    assert of_publisher == {
        **{"NVIDIA": 515, "Microsoft": 256, "MLCommons": 130, "dstack": 74, "AWS": 48, "AMD": 40},
        **{"Google": 14, "OpenPPL": 12, "sfc-gh-zhwang": 6, "vLLM": 2},
    }
    assert sum(math.log(row.value) for row in rows) == pytest.approx(SUM, rel=1e-12)
    assert len(usable()) == 431
    assert {unusable(row) for row in rows} == {
        *("", "shape or chip", "lengths", "unoptimised", "starved", "batch", "fp4"),
    }


SUM = 7217.933616828942

GOOD = "dstack,2024-11,vLLM,0.6,LLaMA-3.1-8B,H100-SXM,2,2,1,fp8,fp8,128,128,4,static,output_tokens_per_s,500,"


def read(row: str) -> list[Measurement]:
    return list(measurements([",".join(COLUMNS), GOOD, row]))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (",500,", ",0,", "line 3: value must be a number from 0.001 to 1e\\+08, not '0'"),
        (",500,", ",nan,", "line 3: value must be a number"),
        (",500,", ",,", "line 3: value must be a number"),
        (",4,static", ",,static", "line 3: batch must be a number from 1 to 100000, not ''"),
        (",2,2,1,", ",2,3,1,", "line 3: tp must divide the chips, 2, not 3"),
        (",128,128,", ",-1,128,", "line 3: input must be a whole number from 1"),
        (",128,128,", ",128,1.5,", "line 3: output must be a whole number from 1"),
        ("dstack", "nobody", "line 3: source must be one of"),
        ("output_tokens_per_s", "tokens", "line 3: metric must be one of output_tokens_per_s, tpot_ms, ttft_ms"),
        (",fp8,fp8,", ",fp7,fp8,", "line 3: weights must be one of"),
        ("vLLM", "", "line 3: engine must not be empty"),
        (",500,", ",500", "line 3: a row must have 18 fields, not 17"),
    ],
)
def test_a_bad_row_is_refused_by_its_line(old: str, new: str, message: str) -> None:
    assert len(read(GOOD)) == 2
    with pytest.raises(ValueError, match=message):
        read(GOOD.replace(old, new, 1))


def test_other_columns_are_refused() -> None:
    with pytest.raises(ValueError, match="line 1: the columns must be source,date"):
        list(measurements(["a,b"]))


# The fit --------------------------------------------------------------------------------------------------------------


def test_the_fit_is_what_is_stored() -> None:
    assert calibration.fit() == pytest.approx(FITTED, rel=1e-9)
    assert calibration.spreads() == pytest.approx(SPREAD, rel=1e-9)


def test_the_fit_is_the_least_sum() -> None:
    """No number can be changed by a thousandth for a smaller sum of errors and holds."""
    rows = usable()
    count = {row.source: sum(other.source == row.source for other in rows) for row in rows}

    def cost(x: list[float]) -> float:
        size = np.hypot(off(rows, x), calibration.SMOOTH)
        holds = zip(calibration.HELD, x, calibration.START, strict=True)
        return sum(s / count[r.source] ** 0.5 for s, r in zip(size, rows, strict=True)) + sum(
            hold / 2 * math.log(value / start) ** 2 for hold, value, start in holds
        )

    best = cost(list(FITTED))
    for i in range(len(FITTED)):
        for factor in (0.999, 1.001):
            assert cost([value * (factor if i == j else 1) for j, value in enumerate(FITTED)]) > best


def test_the_fit_uses_the_formulas_of_the_book() -> None:
    """Row by row with `decode_step` of a deployment with this efficiency: the same as all at once."""
    rows = usable()[::7]
    one_by_one = [math.log(predicted(row, efficiency(calibration.CHIPS[row.chip])) / seconds(row)) for row in rows]
    assert off(rows) == pytest.approx(one_by_one, abs=1e-12)


def test_the_stated_error_is_the_one_on_unseen_publishers() -> None:
    """As it stands in `STATED`, so a tenth more is red; where it falls, state the new one."""
    of_publisher = [error.median for error in errors(lambda row: row.publisher)]
    found = {
        "pooled": errors(lambda row: "")[0].median,
        "publishers": median(of_publisher),
        **{e.name: e.median for e in errors(lambda row: calibration.CHIPS[row.chip].vendor)},
    }
    assert {name: 100 * value for name, value in found.items()} == pytest.approx(STATED, abs=0.1)
    assert len(unseen()) == len(usable()) and min(error.rows for error in errors(lambda row: row.publisher)) == 2


def test_four_of_five_unseen_rows_lie_in_the_interval() -> None:
    assert 0.75 < calibration.covered() < 0.87


# The estimate ---------------------------------------------------------------------------------------------------------


def test_estimate() -> None:
    low, middle, high = estimate(HOME, 64, 8192)
    assert middle / low == high / middle == pytest.approx(SPREAD["NVIDIA"])
    assert middle > decode_step(HOME, 64, 8192).floor
    mi300x = estimate(replace(HOME, chip=MI300X), 64, 8192)
    assert mi300x.high / mi300x.low > 1.3 * high / low
    many = estimate(HOME, np.array([1, 64]), 8192)
    assert many.median[1] == pytest.approx(middle, rel=1e-12)


@pytest.mark.parametrize(
    ("change", "batch", "message"),
    [
        ({"chip": chips.B200, "weights": "fp4"}, 1, "weights must be bf16, fp16 or fp8 to be estimated, not 'fp4'"),
        ({"weights": "int4"}, 1, "weights must be bf16"),
        ({"kv": "int8"}, 1, "kv must be bf16"),
        ({"chip": chips.B200}, 1, "chip must be one with usable measurements .* not B200"),
        ({"chip": chips.TPU_V5E}, 1, "chip must be one with usable measurements"),
        ({"model": replace(LLAMA3_70B, experts=EIGHT)}, 1, "model must be dense with full attention"),
        ({"chips": 16}, 1, "chips must be 1 to 8, as in the measurements, not 16"),
        ({}, 5000, "batch must fit with its context into what the engine keeps for the cache, not 5000"),
        ({}, -1, "batch must be a number"),
    ],
)
def test_where_measurements_refute_it_nothing_is_estimated(change: dict[str, object], batch: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        estimate(replace(HOME, **change), batch, 8192)  # type: ignore[arg-type]
