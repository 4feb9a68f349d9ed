import math

import numpy as np
import pytest

from scaling.disaggregation import eviction_rate, prefill_decode_ratio, transfer_time
from tests.scaling.toys import TOY_MODEL


def test_eviction_rate_by_hand() -> None:
    out = eviction_rate(31, 41, 7)
    assert out.sequences == pytest.approx(31 / 7, rel=1e-12)
    assert out.tokens == pytest.approx(31 * 48 / 7, rel=1e-12)  # each leaves with 41 + 7 tokens
    assert out.share == pytest.approx(1 / 7, rel=1e-12)


def test_prefill_decode_ratio_by_hand() -> None:
    assert prefill_decode_ratio(3, 7, 5, 11) == pytest.approx(15 / 77, rel=1e-12)  # 3 x 5 / (7 x 11)


def test_transfer_time_by_hand() -> None:
    assert transfer_time(TOY_MODEL, 41, 101) == pytest.approx(41 * 312 / 101, rel=1e-12)
    assert transfer_time(TOY_MODEL, 41, 101, kv="int4") == pytest.approx(41 * 78 / 101, rel=1e-12)


def test_zeros() -> None:
    assert eviction_rate(31, 41, 0).sequences == math.inf
    assert prefill_decode_ratio(3, 7, 5, 0) == math.inf
    assert prefill_decode_ratio(0, 7, 5, 11) == 0
    assert transfer_time(TOY_MODEL, 41, 0) == math.inf
    assert transfer_time(TOY_MODEL, 0, 101) == 0


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda bad: eviction_rate(bad, 41, 7), "batch"),
        (lambda bad: eviction_rate(31, bad, 7), "prompt_tokens"),
        (lambda bad: eviction_rate(31, 41, bad), "decode_tokens"),
        (lambda bad: prefill_decode_ratio(bad, 7, 5, 11), "prefill"),
        (lambda bad: prefill_decode_ratio(3, bad, 5, 11), "step"),
        (lambda bad: prefill_decode_ratio(3, 7, bad, 11), "batch"),
        (lambda bad: prefill_decode_ratio(3, 7, 5, bad), "decode_tokens"),
        (lambda bad: transfer_time(TOY_MODEL, bad, 101), "tokens"),
        (lambda bad: transfer_time(TOY_MODEL, 41, bad), "bandwidth"),
    ],
)
@pytest.mark.parametrize("bad", [-1, -0.5, np.array([1, -1]), "8", None])
def test_bad_argument(call, name: str, bad: object) -> None:
    with pytest.raises(ValueError, match=rf"^{name} must be a number.* of at least 0, not ") as error:
        call(bad)
    assert repr(bad) in str(error.value)


def test_unknown_dtype() -> None:
    with pytest.raises(ValueError, match=r"must be one of .*, not 'int3'"):
        transfer_time(TOY_MODEL, 41, 101, kv="int3")


def test_an_unknown_dtype_is_refused_by_the_name_it_has_here() -> None:
    with pytest.raises(ValueError, match="kv must be one of"):
        transfer_time(TOY_MODEL, 1, 1, kv=None)  # type: ignore[arg-type]
