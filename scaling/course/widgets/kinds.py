"""Explorers that a chapter makes in one line, each with a question first, at the course's home case.

The home case is LLaMA 3-70B on 8 H100 with weights, cache and arithmetic in fp8, at 8,192 tokens.
"""

import math
from collections.abc import Callable
from typing import Any

from scaling.chips import H100, H200, MI300X, TPU_V5E, Chip
from scaling.course.widgets.explorer import Explorer
from scaling.course.widgets.sweep import Sweep
from scaling.deployment import Deployment
from scaling.latency import matmul_time
from scaling.memory import max_batch
from scaling.models import LLAMA3_8B, LLAMA3_70B, LLAMA3_405B, Model
from scaling.sharding import matmul_collective_time, tp_limit
from scaling.units import us

HOME: dict[str, Any] = {"chip": H100, "model": LLAMA3_70B, "chips": 8, "weights": "fp8", "kv": "fp8", "context": 8192}
_DTYPES: dict[str, Any] = {"weights": ("fp8", "bf16", "int4"), "kv": ("fp8", "bf16")}


def explore_memory(key: str, *, predict: str = "", **options: Any) -> Explorer:
    """What fits: chips, model, dtypes, batch and context against the memory. `options`: of `Explorer`.

    Asks for the room at the home case, in sequences.
    """
    asked = predict or "LLaMA 3-70B on 8 H100, weights and cache in fp8, 8,192 tokens each: how many sequences fit?"
    made = {"chips": (H100, H200, MI300X, TPU_V5E), "models": (LLAMA3_70B, LLAMA3_8B, LLAMA3_405B), **_DTYPES}
    return Explorer(key, **{**made, "show": ("memory",), "asks": "max_batch", "start": HOME, **options}, predict=asked)


def explore_batch(key: str, *, predict: str = "", **options: Any) -> Explorer:
    """What a batch brings: the front from the fastest step to full memory. `options`: of `Explorer`.

    Asks for the tokens per second of one chip at the home case, with 64 sequences.
    """
    asked = predict or "LLaMA 3-70B on 8 H100, all in fp8, 64 sequences of 8,192: how many tokens/s does one chip give?"
    made = {"chips": (H100, H200, MI300X), "models": (LLAMA3_70B, LLAMA3_8B), **_DTYPES, "show": ("front",)}
    return Explorer(key, **{**made, "asks": "rate", "start": {**HOME, "batch": 64}, **options}, predict=asked)


def explore_splitting(
    key: str,
    *,
    predict: str = "",
    model: Model = LLAMA3_70B,
    chips: tuple[Chip, ...] = (H100, TPU_V5E, MI300X),
    weights: tuple[str, ...] = ("int8", "bf16", "int4"),
    batches: tuple[int, ...] = (1, 4, 16, 64, 256, 1024),
    ways: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64),
) -> Sweep:
    """What splitting a layer over more chips does to one matrix of the MLP: read, multiplied, and sent.

    `model`: whose MLP is split. `chips`, `weights`: to choose from; the arithmetic is in bf16, so are the activations.
    `batches`, `ways`: to slide over. Links are those of one fast domain, beyond its size too; no axis wraps around.
    Asks for the time on the links at the first chip, 8 ways and 64 sequences.
    """
    named = {chip.name: chip for chip in chips}
    D, F = model.d_model, model.d_ff

    def split(chip: str, dtype: str, ways: int, batch: int) -> dict[str, float]:
        d = Deployment(model=model, chip=named[chip], chips=ways, weights=dtype, compute="bf16")
        step, link = matmul_time(d, batch, D, F), matmul_collective_time(d.chip, batch, D, chips=ways)
        against = tp_limit(d.chip, F, batch=batch, weights=dtype)
        return {
            "sending the activations, us": link / us,
            "reading the weights, us": step.weights / us,
            "arithmetic, us": step.compute / us,
            "all of it, overlapped, us": max(step.total, link) / us,
            "ways until the links are slower than reading, ways": against,
            "ways until they are slower than arithmetic, ways": tp_limit(d.chip, F),
        }

    first = chips[0].name
    asked = predict or f"One MLP matrix of {model.name} on 8 {first}, a batch of 64: how long are the links busy?"
    return Sweep(
        key,
        sliders={
            "chip": ("Chip", "", tuple(named)),
            "dtype": ("Weights", "", weights),
            "ways": ("Ways", "", ways),
            "batch": ("Batch", "", batches),
        },
        compute=split,
        start={"chip": first, "dtype": weights[0], "ways": 8, "batch": 64},
        predict=asked,
    )


def explore_launch(
    key: str,
    command: Callable[..., Any],
    *,
    predict: str = "",
    models: tuple[Model, ...] = (LLAMA3_70B, LLAMA3_8B),
    chips: tuple[Chip, ...] = (H100, H200, MI300X),
    counts: tuple[int, ...] = (1, 2, 4, 8),
    dtypes: tuple[tuple[str, str], ...] = (("fp8", "fp8"), ("bf16", "bf16")),
    contexts: tuple[int, ...] = (2048, 4096, 8192),
) -> Sweep:
    """The command that starts a server, for a deployment that the reader chooses.

    `command`: gives it for a deployment and a `context`, such as `scaling.engines.sglang.launch_command`; what it
    refuses with a ``ValueError`` is shown as that sentence. `dtypes`: of weights and cache.
    Asks for the room by the whole memory at the home case, in sequences.
    """
    model_of, chip_of = {m.name: m for m in models}, {c.name: c for c in chips}
    pairs = {f"{w} weights, {kv} cache": (w, kv) for w, kv in dtypes}

    def launch(model: str, chip: str, chips: int, dtype: str, context: int) -> dict[str, float | str]:
        weights, kv = pairs[dtype]
        d = Deployment(model=model_of[model], chip=chip_of[chip], chips=chips, weights=weights, kv=kv)
        try:
            line = str(command(d, context=context))
        except ValueError as error:
            return {"room by the whole memory, sequences": math.nan, "the command": f"No server: {error}"}
        return {"room by the whole memory, sequences": max_batch(d, context), "the command": line}

    start = {"model": models[0].name, "chip": chips[0].name, "dtype": next(iter(pairs))}
    asked = predict or (
        f"{models[0].name} on 8 {chips[0].name}, {start['dtype']}, sequences of 8,192 tokens: how many fit?"
    )
    return Sweep(
        key,
        sliders={
            "model": ("Model", "", tuple(model_of)),
            "chip": ("Chip", "", tuple(chip_of)),
            "dtype": ("Stored as", "", tuple(pairs)),
            "chips": ("Chips", "", counts),
            "context": ("Longest sequence", "tokens", contexts),
        },
        compute=launch,
        start={**start, "chips": 8, "context": 8192},
        predict=asked,
    )
