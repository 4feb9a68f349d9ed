"""Chapter 8: the five solutions of the page, and any mixture with those of the bank, give the curve of `scaling`."""

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from quizzes import code as bank
from scaling import tokens_per_second_per_chip
from scaling.course.exercise import check
from tests.paths import BOOK

NAMES = ("my_weight_bytes", "my_cache_bytes", "my_max_batch", "my_step", "my_throughput")
CELLS = json.loads((BOOK / "08_roofline_code.ipynb").read_text(encoding="utf-8"))["cells"]


def solutions() -> list[Callable[..., Any]]:
    space: dict[str, Any] = {}
    for cell in CELLS:
        for block in re.findall(r"<summary>Solution</summary>\s*```python\n(.*?)```", "".join(cell["source"]), re.S):
            exec(block, space)
    return [space[name] for name in NAMES]


def curve(mine: list[Callable[..., Any]]) -> tuple[list[float], str]:
    """The page's own chain, run with these functions, and what it says of them."""
    (cell,) = [source for c in CELLS if "bank.working(" in (source := "".join(c["source"]))]
    chain = cell[: cell.index("same = ")]
    space = {"bank": bank, "S": bank.CONTEXT, **dict(zip(NAMES, mine, strict=True))}
    exec(chain, space)
    return space["rates"], space["said"]


def open_stub(*_: Any, **__: Any) -> Any:
    return ...


def wrong(*_: Any, **__: Any) -> float:
    return 1.0


@pytest.mark.parametrize("right", [0b11111, 0b00000, 0b10101, 0b01010])
def test_the_chain_is_the_curve(right: int) -> None:
    mine = [f if right >> i & 1 else (open_stub, wrong)[i % 2] for i, f in enumerate(solutions())]
    rates, said = curve(mine)
    assert said.startswith(f"Yours: {right.bit_count()} of 5.")
    B = np.arange(1, len(rates) + 1)
    assert len(B) == 424
    assert np.allclose(rates, tokens_per_second_per_chip(bank.NODE, B, bank.CONTEXT), rtol=1e-12)


def test_a_function_that_is_not_right_does_not_reach_the_chain() -> None:
    exercises = (bank.WEIGHT_BYTES, bank.CACHE_BYTES, bank.MAX_BATCH, bank.STEP, bank.THROUGHPUT)
    chain, _ = bank.working(*[wrong] * 5)
    assert chain == [exercise.reference for exercise in exercises]
    mine = solutions()
    assert bank.working(*mine) == (mine, "Yours: 5 of 5.")


def test_no_exercise_can_be_passed_with_the_mistake_of_a_bug_of_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    """A batch below zero, a wired-in byte of cache and FLOPs by the size of the weights each fail, and are named."""
    named = {
        "below zero": (bank.MAX_BATCH, lambda chips, weights, sequence: int((chips * 80e9 - weights) / sequence)),
        "wired in": (bank.CACHE_BYTES, lambda batch, context, bits: 2 * 80 * 8 * 128 * batch * context),
        "by the bytes of the weights": (
            bank.STEP,
            lambda chips, batch, weights, cache: (
                cache / (chips * 3.35e12) + max(weights / (chips * 3.35e12), 2 * batch * weights / (chips * 990e12))
            ),
        ),
    }
    for said, (exercise, mine) in named.items():
        check(mine, *exercise)
        assert said in capsys.readouterr().out
