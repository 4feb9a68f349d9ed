import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from scaling.chips import H100_TEXT, TPU_V5E_TEXT
from scaling.roofline import (
    attention_flops,
    attention_intensity,
    bandwidth_per_dollar,
    breakeven_price,
    causal_flops,
    critical_batch,
    flops_per_dollar,
    memory_per_dollar_hour,
    ridge_point,
)
from scaling.units import GB
from tests.scaling.toys import TOY_CHIP, TOY_MODEL


def test_causal_flops_by_hand() -> None:
    assert causal_flops(TOY_MODEL, 43) == 3_172_884  # 2 x 43 x 43 x 22 x 13 x 3
    assert causal_flops(TOY_MODEL, 0) == 0


def test_ridge_point_by_hand() -> None:
    assert ridge_point(TOY_CHIP) == 2003 / 1009
    assert ridge_point(TOY_CHIP, "int8") == 4001 / 1009


def test_critical_batch_by_hand() -> None:
    assert critical_batch(TOY_CHIP) == 2003 / 1009  # 2003 x 2 / (2 x 1009)
    assert critical_batch(TOY_CHIP, "int4", "int8") == pytest.approx(4001 / 4 / 1009, rel=1e-12)
    assert critical_batch(TOY_CHIP, "fp32") == pytest.approx(2 * 2003 / 1009, rel=1e-12)


def test_critical_batch_with_activations_by_hand() -> None:
    # D = 131, F = 137: D F = 17947, D + F = 268. Reading (17947 b_w + 2 B 268) / 1009 takes as long as 2 B 17947 / 2003
    # at B = 2003 x 17947 b_w / (2 x 17947 x 1009 - 2 x 2003 x 268) = 35947841 b_w / 35143438
    assert critical_batch(TOY_CHIP, "int4", matmul=(131, 137)) == pytest.approx(35_947_841 / 2 / 35_143_438, rel=1e-12)
    assert critical_batch(TOY_CHIP, "fp32", matmul=(131, 137)) == pytest.approx(35_947_841 * 4 / 35_143_438, rel=1e-12)
    assert critical_batch(TOY_CHIP, matmul=(131, 137)) > critical_batch(TOY_CHIP)


def test_how_wide_is_wide_enough() -> None:
    # D = F = 2: spare = 2 x 4 x W - C x 4 x 2 = 8 (W - C)
    def square(bandwidth: float) -> float:
        return critical_batch(replace(TOY_CHIP, bandwidth=bandwidth), matmul=(2, 2))

    with pytest.raises(ValueError, match="wide enough"):
        square(2003)
    assert square(2003.0625) == 2003 * 4 * 2 / 0.5


@pytest.mark.parametrize("bad", [(3,), (3, 4, 5), [3, 4], 3])
def test_a_matmul_has_two_widths(bad: object) -> None:
    with pytest.raises(ValueError) as error:
        critical_batch(TOY_CHIP, matmul=bad)  # type: ignore[arg-type]
    assert str(error.value) == f"matmul must be a pair of widths, (D, F), not {bad!r}."


def test_attention_flops_by_hand() -> None:
    assert attention_flops(TOY_MODEL, 41) == 140_712  # 4 x 41 x 22 x 13 x 3
    np.testing.assert_array_equal(attention_flops(TOY_MODEL, np.array([0, 41])), [0, 140_712])


def test_attention_intensity_by_hand() -> None:
    assert attention_intensity(TOY_MODEL) == 11  # 2 x 11 heads over 2 B
    assert attention_intensity(TOY_MODEL, "int4") == 44


@pytest.mark.parametrize("thin", [(1, 1), (3, 2), (1, 10**6)])
def test_too_thin_to_bind(thin: tuple[int, int]) -> None:
    with pytest.raises(ValueError) as error:
        critical_batch(TOY_CHIP, matmul=thin)
    assert str(error.value) == f"matmul must be wide enough to become compute bound on toy, not {thin!r}."


def test_unknown_dtypes() -> None:
    with pytest.raises(ValueError, match=r"^weights must be one of .*, not 'int3'"):
        critical_batch(TOY_CHIP, "int3")
    with pytest.raises(ValueError, match=r"^compute must be one of bf16, int8 on toy, not 'fp8'"):
        critical_batch(TOY_CHIP, "int8", "fp8")
    with pytest.raises(ValueError, match=r"^compute must be one of bf16, int8 on toy, not 'int3'"):
        ridge_point(TOY_CHIP, "int3")
    with pytest.raises(ValueError, match=r"^kv must be one of .*, not 'int3'"):
        attention_intensity(TOY_MODEL, "int3")
    with pytest.raises(ValueError, match=r"^context must be .* at least 0, not -1"):
        attention_flops(TOY_MODEL, -1)


# What a dollar buys: 3600 s of a rate over a price, and the price at which two chips draw level ----------------------

OTHER = replace(TOY_CHIP, memory=20_011, bandwidth=1_511, flops={"bf16": 5_003, "int8": 7_001}, price=41)


def test_flops_per_dollar_by_hand() -> None:
    assert flops_per_dollar(TOY_CHIP) == pytest.approx(7_210_800 / 37)  # 2003 x 3600
    assert flops_per_dollar(TOY_CHIP, "int8") == pytest.approx(14_403_600 / 37)  # 4001 x 3600
    assert flops_per_dollar(TOY_CHIP, price=43) == pytest.approx(7_210_800 / 43)


def test_bandwidth_per_dollar_by_hand() -> None:
    assert bandwidth_per_dollar(TOY_CHIP) == pytest.approx(3_632_400 / 37)  # 1009 x 3600
    assert bandwidth_per_dollar(TOY_CHIP, price=43) == pytest.approx(3_632_400 / 43)


def test_memory_per_dollar_hour_by_hand() -> None:
    assert memory_per_dollar_hour(TOY_CHIP) == pytest.approx(10_007 / 37)  # the label's bytes, not the device's 10009
    assert memory_per_dollar_hour(TOY_CHIP, price=43) == pytest.approx(10_007 / 43)


def test_breakeven_price_by_hand() -> None:
    assert breakeven_price(TOY_CHIP, OTHER, flops_per_dollar) == pytest.approx(2003 / 5003 * 41)
    assert breakeven_price(TOY_CHIP, OTHER, bandwidth_per_dollar) == pytest.approx(1009 / 1511 * 41)
    assert breakeven_price(TOY_CHIP, OTHER, memory_per_dollar_hour) == pytest.approx(10_007 / 20_011 * 41)
    assert breakeven_price(TOY_CHIP, OTHER, flops_per_dollar, price=43) == pytest.approx(2003 / 5003 * 43)
    int8 = partial(flops_per_dollar, compute="int8")
    assert breakeven_price(TOY_CHIP, OTHER, int8) == pytest.approx(4001 / 7001 * 41)


@pytest.mark.parametrize(
    ("measure", "price"), [(flops_per_dollar, 6.030), (bandwidth_per_dollar, 4.963), (memory_per_dollar_hour, 6.000)]
)
def test_h100_against_v5e_as_published(measure, price) -> None:  # type: ignore[no-untyped-def]
    level = breakeven_price(H100_TEXT, TPU_V5E_TEXT, measure)
    assert level == pytest.approx(price, rel=1e-4)
    assert measure(H100_TEXT, price=level) == pytest.approx(measure(TPU_V5E_TEXT))
    assert measure(H100_TEXT, price=0.99 * level) > measure(TPU_V5E_TEXT) > measure(H100_TEXT, price=1.01 * level)


def test_published_gigabytes_for_a_dollar_per_hour() -> None:
    assert memory_per_dollar_hour(H100_TEXT) / GB == pytest.approx(7.407, rel=1e-4)
    assert memory_per_dollar_hour(TPU_V5E_TEXT) / GB == pytest.approx(13.33, rel=1e-3)


@pytest.mark.parametrize("measure", [flops_per_dollar, bandwidth_per_dollar, memory_per_dollar_hour])
def test_prices_broadcast_and_odd_ones_have_an_answer(measure) -> None:  # type: ignore[no-untyped-def]
    prices = np.array([[2.0, 3.0], [5.0, 7.0]])
    np.testing.assert_allclose(measure(TOY_CHIP, price=prices) * prices, measure(TOY_CHIP, price=1.0))
    assert measure(TOY_CHIP, price=0.0) == math.inf
    assert math.isnan(measure(replace(TOY_CHIP, price=math.nan)))  # no public price: no value, not an error
    with pytest.raises(ValueError, match=r"price must be a number.*of at least 0, not -1\.0"):
        measure(TOY_CHIP, price=-1.0)
    with pytest.raises(ValueError, match="price must be a number"):
        breakeven_price(TOY_CHIP, OTHER, measure, price=-1.0)


def test_a_rate_the_chip_has_not_is_named() -> None:
    with pytest.raises(ValueError, match="compute must be one of bf16, int8 on toy, not 'fp4'"):
        flops_per_dollar(TOY_CHIP, "fp4")
