import math
from dataclasses import replace

import numpy as np
import pytest

from scaling.chips import H100_TEXT, TPU_V5E_TEXT
from scaling.deployment import Deployment
from scaling.memory import (
    activation_bytes,
    cache_budget,
    cache_bytes,
    fits,
    grouped_weight_bytes,
    max_batch,
    min_chips,
    weight_bytes,
)
from scaling.models import LLAMA3_70B
from tests.scaling.toys import TOY, TOY_CHIP, TOY_MODEL


def test_weight_bytes_by_hand() -> None:
    assert weight_bytes(TOY) == 4940  # 9880 x 0.5
    assert weight_bytes(replace(TOY, weights="fp32")) == 39_520
    assert weight_bytes(replace(TOY, params="nominal")) == 3959.5  # 7919 x 0.5
    assert weight_bytes(replace(TOY, params="streamed")) == 4940  # all of them are stored
    assert weight_bytes(replace(TOY, chips=31)) == 4940  # whole deployment


def test_grouped_weight_bytes_by_hand() -> None:
    # 9675 quantised: 4 bits and 20/128 bits of scale and zero point, over 8; 205 others at 2 B
    assert grouped_weight_bytes(TOY_MODEL) == pytest.approx(9675 * (4 + 20 / 128) / 8 + 410, rel=1e-12)
    assert grouped_weight_bytes(TOY_MODEL, bits=3, group=31, scale_bits=11, zero_bits=2) == pytest.approx(
        9675 * (3 + 13 / 31) / 8 + 410, rel=1e-12
    )


def test_cache_bytes_by_hand() -> None:
    assert cache_bytes(TOY, 31, 41) == 793_104  # 31 x 41 x 624
    assert cache_bytes(replace(TOY, kv="int4"), 31, 41) == 99_138  # 31 x 41 x 78
    assert cache_bytes(replace(TOY, kv_split="heads"), 31, 41) == 11_500_008  # 14.5 copies
    assert cache_bytes(TOY, 0, 41) == cache_bytes(TOY, 31, 0) == 0


def test_cache_budget_by_hand() -> None:
    assert cache_budget(TOY) == 285_263  # 29 x 10007 - 4940
    assert cache_budget(replace(TOY, usable=0.5)) == 140_161.5  # 145101.5 - 4940
    assert cache_budget(replace(TOY, chips=1, weights="fp32")) == 0  # 10007 - 39520: never below nothing


def test_fits_by_hand() -> None:
    # 11 sequences of 41 tokens: 281424 of 285263; 12: 307008
    assert fits(TOY, 11, 41) is True
    assert fits(TOY, 12, 41) is False
    exactly = replace(TOY, chips=1, weights="int4", chip=replace(TOY_CHIP, memory=4940 + 624 * 7))
    assert fits(exactly, 7, 1) is True  # to the last byte
    assert fits(exactly, 1, 8) is False


def test_max_batch_by_hand() -> None:
    assert max_batch(TOY, 41) == 11  # 285263 / 25584 = 11.15
    assert max_batch(replace(TOY, usable=0.5), 41) == 5  # 140161.5 / 25584 = 5.48
    assert max_batch(replace(TOY, kv_split="heads"), 41) == 0  # 285263 / 370968
    assert type(max_batch(TOY, 41)) is int


def test_max_batch_where_nothing_fits() -> None:
    small = replace(TOY, chips=1, weights="fp32")
    assert max_batch(small, 41) == max_batch(small, 0) == 0
    assert max_batch(TOY, 0) == math.inf  # no cache is needed
    full = replace(TOY, usable=weight_bytes(TOY) / TOY.memory)  # to the last byte
    assert full.memory == weight_bytes(full)
    assert (max_batch(full, 41), max_batch(full, 0)) == (0, math.inf)
    assert fits(full, 10**9, 0) and not fits(full, 1, 41)
    np.testing.assert_array_equal(max_batch(TOY, np.array([0, 41, 10**9])), [math.inf, 11, 0])


# 24 heads, 6 KV heads, width 72: 1, 2, 3, 6, 12 or 24 chips; 936 B a token in bf16 (2 x 3 x 6 x 13 x 2).
SIZED = Deployment(
    model=replace(TOY_MODEL, q_heads=24, kv_heads=6, d_ff=72),
    chip=replace(TOY_CHIP, fast_domain=17),
    params="nominal",
)


@pytest.mark.parametrize(
    ("batch", "chips"),
    [
        (0, 2),  # 15838 of 20014
        (5, 6),  # 15838 + 5 x 7 x 936 = 48598: five chips would do, six is the next size
        (11, 12),  # 87910
        (31, 0),  # 218950, and twelve hold 120084
    ],
)
def test_min_chips_by_hand(batch: int, chips: int) -> None:
    assert min_chips(SIZED, batch, 7) == chips
    assert min_chips(replace(SIZED, chips=24), batch, 7) == chips  # its own size plays no part


def test_min_chips_minds_usable_and_arrays() -> None:
    assert min_chips(replace(SIZED, usable=0.5), 0, 7) == 6  # 15838 / 5003.5 = 3.2
    np.testing.assert_array_equal(min_chips(SIZED, np.array([0, 5, 11, 31]), 7), [2, 6, 12, 0])


def test_min_chips_minds_copies_of_heads() -> None:
    # 16 chips for 8 heads store each twice: 138 sequences of 8192 tokens fit evenly, 69 in copies
    pod = Deployment(model=LLAMA3_70B, chip=TPU_V5E_TEXT, weights="int8", kv="int8", params="nominal")
    assert min_chips(pod, 138, 8192) == 16
    assert min_chips(replace(pod, kv_split="heads"), 69, 8192) == 16
    assert min_chips(replace(pod, kv_split="heads"), 138, 8192) == 0  # more chips only hold more copies


def test_published_78_gb_on_one_card() -> None:
    """The trap of section 12.2: int4 weights and 32 caches of 8192 tokens are 78 GB of a card's 80."""
    card = Deployment(model=LLAMA3_70B, chip=H100_TEXT, weights="int4", kv="int8", params="nominal")
    assert weight_bytes(card) + cache_bytes(card, 32, 8192) == pytest.approx(77.95e9, rel=1e-4)
    assert fits(card, 32, 8192) is True
    assert fits(replace(card, usable=0.9), 32, 8192) is False


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda bad: cache_bytes(TOY, bad, 41), "batch"),
        (lambda bad: cache_bytes(TOY, 31, bad), "context"),
        (lambda bad: fits(TOY, bad, 41), "batch"),
        (lambda bad: fits(TOY, 31, bad), "context"),
        (lambda bad: max_batch(TOY, bad), "context"),
        (lambda bad: min_chips(TOY, bad, 41), "batch"),
        (lambda bad: min_chips(TOY, 31, bad), "context"),
    ],
)
@pytest.mark.parametrize("bad", [-1, -0.5, np.array([1, -1]), "8", None])
def test_bad_argument(call, name: str, bad: object) -> None:
    with pytest.raises(ValueError, match=rf"^{name} must be a number.* of at least 0, not ") as error:
        call(bad)
    assert repr(bad) in str(error.value)


@pytest.mark.parametrize("field", ["bits", "group", "scale_bits", "zero_bits"])
def test_bad_group(field: str) -> None:
    with pytest.raises(ValueError, match=rf"^{field} must be .*, not -1"):
        grouped_weight_bytes(TOY_MODEL, **{field: -1})


def test_activation_bytes_by_hand() -> None:
    # D 5, F 7, V 17, B 29: 2 x 29 x 5, 2 x 2 x 29 x 7, 4 x 29 x 17
    assert activation_bytes(TOY_MODEL, 29) == (290, 812, 1972)
    assert activation_bytes(TOY_MODEL, 29, activations="fp32", logits="bf16") == (580, 1624, 986)
    for field in ("activations", "logits"):
        with pytest.raises(ValueError, match=rf"^{field} must be one of .*, not 'int3'\.$"):
            activation_bytes(TOY_MODEL, 29, **{field: "int3"})
    with pytest.raises(ValueError, match=r"^tokens must be .* at least 0, not -1"):
        activation_bytes(TOY_MODEL, -1)
