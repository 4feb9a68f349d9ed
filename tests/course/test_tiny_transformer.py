"""The small transformer does what a naive one does, moves the bytes the book counts, and is flat before it rises."""

import json
from typing import Any

import numpy as np
import pytest

from scaling.course.tiny_transformer import LAB, TinyTransformer, chip_of, this_machine
from scaling.deployment import Deployment
from scaling.latency import decode_step
from scaling.models import Model
from scaling.throughput import balanced_batch
from tests.paths import ROOT

SMALL = Model(
    **dict(name="small", layers=2, d_model=12, d_ff=20, q_heads=6, kv_heads=2, head_dim=4, vocab=11),
    nominal_params=1.0,
    context_window=64,
)
LARGE = Model(
    **dict(name="large", layers=2, d_model=1024, d_ff=4096, q_heads=16, kv_heads=4, head_dim=64, vocab=8192),
    nominal_params=1.0,
    context_window=4096,
)


def naive(t: TinyTransformer, token: int, x: Any) -> Any:
    """One sequence, one head and one position at a time, in double precision."""
    m = t.model

    def norm(x: Any) -> Any:
        return x / np.sqrt((x @ x) / len(x) + 1e-6)

    for layer, (qkv, out, up, down) in enumerate(t.layers):
        all_heads = norm(x) @ qkv
        heads = []
        for h in range(m.q_heads):
            q, g = all_heads[h * m.head_dim : (h + 1) * m.head_dim], h // (m.q_heads // m.kv_heads)
            own = [all_heads[(m.q_heads + i * m.kv_heads + g) * m.head_dim :][: m.head_dim] for i in (0, 1)]
            keys, values = (np.vstack([t.cache[layer, i, token, g, :-1], own[i]]) for i in (0, 1))
            weights = np.array([np.exp(q @ k / m.head_dim**0.5) for k in keys])
            heads.append(weights @ values / weights.sum())
        x = x + np.concatenate(heads) @ out
        gate, value = (norm(x) @ up)[: m.d_ff], (norm(x) @ up)[m.d_ff :]
        x = x + (gate / (1 + np.exp(-gate)) * value) @ down
    return norm(x) @ t.head


def test_a_step_is_that_of_a_naive_transformer() -> None:
    t = TinyTransformer(SMALL, batch=3, context=5)
    x = np.random.default_rng(1).standard_normal((3, SMALL.d_model))
    expected = np.array([naive(t, i, row) for i, row in enumerate(x)])
    assert t.step(x.astype(np.float32)) == pytest.approx(expected, rel=2e-4, abs=2e-4)


def test_it_holds_the_numbers_that_the_book_counts() -> None:
    t = TinyTransformer(SMALL, batch=3, context=5)
    assert sum(w.size for layer in t.layers for w in layer) + t.head.size == SMALL.matmul_params
    assert t.cache.nbytes == 3 * 5 * SMALL.kv_bytes_per_token("fp32")


def test_the_stored_run_is_flat_then_rises_where_the_formula_says() -> None:
    """A stored run and not one of today: times of a busy machine, as one that runs tests is, prove nothing."""
    run = json.loads((ROOT / "book" / "data" / "lab_cpu.json").read_text(encoding="utf-8"))
    seconds = {int(batch): time for batch, time in run["batch"].items()}
    d = Deployment(model=LAB, chip=chip_of(run), weights="fp32", kv="fp32", compute="fp32", params="streamed")
    # Where the line of a large batch, proportional to it, meets the level of a small one.
    crossing = 256 * seconds[2] / seconds[256]
    assert 0.5 < crossing / balanced_batch(d) < 2
    assert seconds[8] < 1.6 * seconds[2] and seconds[256] > 4 * seconds[2]
    assert 0.4 < seconds[256] / decode_step(d, 256, 16).total < 2.5


def test_a_run_of_today_has_the_same_form() -> None:
    """What even a busy machine shows: a large batch takes longer, by far less than it is larger."""
    small, large = (TinyTransformer(LARGE, batch, 16).seconds(5) for batch in (2, 512))
    assert 1.5 * small < large < 256 * small
    chip = this_machine(megabytes=64, width=512, repeats=3)
    assert 1e8 < chip.bandwidth < 1e13 and 1e9 < chip.flops["fp32"] < 1e15
