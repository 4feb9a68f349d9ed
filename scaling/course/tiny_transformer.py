"""A decoder-only transformer small enough to read: one decode step, in NumPy, that moves every byte the book counts.

Weights are random: what a step takes does not depend on what it says. Grouped-query attention, a gated MLP and RMSNorm,
without positions, which cost nothing to speak of.
"""

from time import perf_counter
from typing import Any

import numpy as np

from scaling._records import replace
from scaling.chips import Chip
from scaling.models import Model


class TinyTransformer:
    """Random weights of a `Model`'s shape, and a cache for `batch` sequences of up to `context` tokens, in fp32.

    One fused matrix a layer for queries, keys and values, and one for gate and up, as engines have.
    """

    def __init__(self, model: Model, batch: int, context: int, *, seed: int = 0) -> None:
        rng, m = np.random.default_rng(seed), model
        self.model, self.batch, self.context = model, batch, context
        self.heads = (m.q_heads + 2 * m.kv_heads) * m.head_dim

        def matrix(rows: int, columns: int) -> Any:
            return rng.standard_normal((rows, columns), dtype=np.float32) / np.float32(rows) ** 0.5

        self.layers = [
            (
                matrix(m.d_model, self.heads),
                matrix(m.q_heads * m.head_dim, m.d_model),
                matrix(m.d_model, 2 * m.d_ff),
                matrix(m.d_ff, m.d_model),
            )
            for _ in range(m.layers)
        ]
        self.head = matrix(m.d_model, m.vocab)
        shape = (m.layers, 2, batch, m.kv_heads, context, m.head_dim)
        self.cache = rng.standard_normal(shape, dtype=np.float32)

    def step(self, x: Any) -> Any:
        """Logits of the next token of each sequence, for its last token's vector; the cache's last place is written."""
        for layer, (qkv, out, up, down) in enumerate(self.layers):
            x = x + self._attention(layer, _norm(x) @ qkv) @ out
            gate, value = np.split(_norm(x) @ up, 2, axis=1)
            x = x + (gate / (1 + np.exp(-gate)) * value) @ down
        return _norm(x) @ self.head

    def _attention(self, layer: int, qkv: Any) -> Any:
        m, B = self.model, self.batch
        q, k, v = np.split(qkv, (m.q_heads * m.head_dim, (m.q_heads + m.kv_heads) * m.head_dim), axis=1)
        keys, values = self.cache[layer]
        keys[:, :, -1], values[:, :, -1] = (t.reshape(B, m.kv_heads, m.head_dim) for t in (k, v))
        # The query heads of a group share one reading of their keys and values.
        q = q.reshape(B, m.kv_heads, m.q_heads // m.kv_heads, m.head_dim)
        scores = q @ keys.swapaxes(2, 3) / np.float32(m.head_dim) ** 0.5
        share = np.exp(scores - scores.max(axis=3, keepdims=True))
        mixed = (share / share.sum(axis=3, keepdims=True)) @ values
        return mixed.reshape(B, -1)

    def seconds(self, repeats: int = 5) -> float:
        """Time of a step: the best of some, since all that disturbs a machine makes it slower. [s]"""
        x = np.ones((self.batch, self.model.d_model), dtype=np.float32)
        return best_of(lambda: self.step(x), repeats)


def _norm(x: Any) -> Any:
    return x / np.sqrt((x * x).mean(axis=1, keepdims=True) + np.float32(1e-6))


def best_of(work: Any, repeats: int) -> float:
    """Least time of some runs, after one that nobody times. [s]"""
    work()
    times = []
    for _ in range(repeats):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return min(times)


def this_machine(*, megabytes: int = 256, width: int = 1536, repeats: int = 7) -> Chip:
    """The computer at hand as a `Chip`: what NumPy reads from memory and multiplies in a second, in fp32.

    The bandwidth is that of a matrix, larger than any cache, times four vectors: it is read once, by the kernel that a
    batch takes. A single vector has a kernel of its own, up to three times as fast, which no batch from 2 on gets.
    """
    rows = megabytes * 1_000_000 // (4 * 4096)
    matrix, few = np.ones((4096, rows), np.float32), np.ones((4, 4096), np.float32)
    bandwidth = matrix.nbytes / best_of(lambda: few @ matrix, repeats)
    square = np.ones((width, width), np.float32)
    flops = 2.0 * width**3 / best_of(lambda: square @ square, repeats)
    return replace(_ANY, bandwidth=bandwidth, flops={"fp32": flops, "bf16": flops})


# Only bandwidth and rate are measured; the rest of the record is not asked here.
_ANY = Chip(
    name="this machine",
    vendor="other",
    memory=8e9,
    device_memory=8e9,
    bandwidth=1.0,
    flops={"bf16": 1.0},
    link_bandwidth=1.0,
    fast_domain=1,
    machine=1,
    source="measured by scaling.course.tiny_transformer",
)


LAB = Model(
    name="small decoder",
    layers=4,
    d_model=1024,
    d_ff=4096,
    q_heads=16,
    kv_heads=4,
    head_dim=64,
    vocab=8192,
    nominal_params=1.0,
    context_window=8192,
)
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
CONTEXTS = (16, 512, 1024, 2048, 4096)


def measure(repeats: int = 7) -> dict[str, Any]:
    """The lab on this computer: its bandwidth and rate, and steps of `LAB` over `BATCHES` and, at batch 8, `CONTEXTS`.

    Some 300 MB of memory, and half a minute.
    """
    import platform
    from datetime import date

    chip = this_machine()
    return {
        "machine": _processor(),
        "date": date.today().isoformat(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "bandwidth": chip.bandwidth,
        "flops": chip.flops["fp32"],
        "batch": {B: TinyTransformer(LAB, B, 16).seconds(repeats) for B in BATCHES},
        "context": {S: TinyTransformer(LAB, 8, S).seconds(repeats) for S in CONTEXTS},
    }


def _processor() -> str:
    """What the system calls its processor, and how many of its cores are there."""
    import os
    import platform

    name = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            named = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
        name = named[0] if named else name
    return f"{name}, {os.cpu_count()} cores"


def chip_of(run: dict[str, Any]) -> Chip:
    """The `Chip` of a run of `measure`."""
    rates = {"fp32": run["flops"], "bf16": run["flops"]}
    return replace(_ANY, name=f"{run['machine']}"[:100], bandwidth=run["bandwidth"], flops=rates)
