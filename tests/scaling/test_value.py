"""What a dollar buys, by hand: 3600 s of a rate over a price, and the price at which two chips draw level."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from scaling import breakeven_price
from scaling.chips import H100_TEXT, TPU_V5E_TEXT
from scaling.roofline import bandwidth_per_dollar, flops_per_dollar, memory_per_dollar_hour
from scaling.units import GB
from tests.scaling.toys import TOY_CHIP

OTHER = replace(TOY_CHIP, memory=20_011, bandwidth=1_511, flops={"bf16": 5_003, "int8": 7_001}, price=41)


def test_arithmetic_of_a_dollar() -> None:
    assert flops_per_dollar(TOY_CHIP) == pytest.approx(7_210_800 / 37)  # 2003 x 3600
    assert flops_per_dollar(TOY_CHIP, "int8") == pytest.approx(14_403_600 / 37)  # 4001 x 3600
    assert flops_per_dollar(TOY_CHIP, price=43) == pytest.approx(7_210_800 / 43)


def test_bytes_of_a_dollar() -> None:
    assert bandwidth_per_dollar(TOY_CHIP) == pytest.approx(3_632_400 / 37)  # 1009 x 3600
    assert bandwidth_per_dollar(TOY_CHIP, price=43) == pytest.approx(3_632_400 / 43)


def test_memory_of_a_dollar_per_hour() -> None:
    assert memory_per_dollar_hour(TOY_CHIP) == pytest.approx(10_007 / 37)  # the label's bytes, not the device's 10009
    assert memory_per_dollar_hour(TOY_CHIP, price=43) == pytest.approx(10_007 / 43)


def test_prices_at_which_two_chips_draw_level() -> None:
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
