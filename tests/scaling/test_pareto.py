from dataclasses import replace

import numpy as np
import pytest

from scaling.deployment import Efficiency
from scaling.memory import max_batch
from scaling.pareto import front
from scaling.throughput import best_batch
from tests.scaling.toys import MEASURED, TOY

WIDE = replace(TOY, weights="fp32")


def test_front_by_hand() -> None:
    # Up to 7 sequences the weights (39520 B) bind; the eighth multiplies for longer: 8 x 19760 / 116029.
    points = front(WIDE, 41)
    steps = [(39_520 + 25_584 * B) / 29_261 for B in range(1, 8)] + [8 * (25_584 / 29_261 + 19_760 / 116_029)]
    assert points.batch == (1, 2, 3, 4, 5, 6, 7, 8)
    assert points.step == pytest.approx(steps, rel=1e-12)
    rates = [B / 29 / step for B, step in zip(range(1, 9), steps, strict=True)]
    assert points.tokens_per_second_per_chip == pytest.approx(rates, rel=1e-12)


def test_memory_ends_the_front() -> None:
    assert front(WIDE, 53).batch[-1] == 7


def test_nothing_fits() -> None:
    assert front(WIDE, 10**6) == ((), (), ())


def test_without_context() -> None:
    assert front(WIDE, 0).batch[-1] == 8


def test_a_cost_per_layer_takes_the_front_on_to_all_that_fit() -> None:
    slow = replace(WIDE, efficiency=MEASURED)
    assert front(slow, 41).batch == tuple(range(1, max_batch(slow, 41) + 1))
    assert max_batch(slow, 41) > best_batch(slow, 41)
    with pytest.raises(ValueError, match=r"^front needs one finite context above 0 .*, not 0\.$"):
        front(slow, 0)  # no cache, so any batch fits
    with pytest.raises(ValueError, match=r"^front needs .* no arrays, not "):
        front(replace(WIDE, efficiency=Efficiency(layer_seconds=0.5)), np.array([41, 53]))


@pytest.mark.parametrize("bad", [-1, "8", None])
def test_bad_context(bad: object) -> None:
    with pytest.raises(ValueError, match=r"^context must be a number.* of at least 0, not "):
        front(TOY, bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("context", [1e-6, 1e-300])
def test_a_front_of_too_many_points_is_refused_before_it_is_counted(context: float) -> None:
    with pytest.raises(ValueError, match=r"at most 100,000 points, not the .* of context 1e-"):
        front(replace(WIDE, efficiency=MEASURED), context)
