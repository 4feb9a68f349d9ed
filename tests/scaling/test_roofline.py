from dataclasses import replace

import numpy as np
import pytest

from scaling.roofline import attention_flops, attention_intensity, critical_batch, ridge_point
from tests.scaling.toys import TOY_CHIP, TOY_MODEL


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


def test_attention_by_hand() -> None:
    assert attention_flops(TOY_MODEL, 41) == 140_712  # 4 x 41 x 22 x 13 x 3
    np.testing.assert_array_equal(attention_flops(TOY_MODEL, np.array([0, 41])), [0, 140_712])
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
