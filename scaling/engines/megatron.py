"""Megatron-LM's dynamic inference server: the launch command and the pool of the KV cache."""

import math

from scaling._checks import positive
from scaling.deployment import Deployment
from scaling.engines.command import Command, Flag, command_of
from scaling.engines.pool import (
    KvPool,
    free_memory,
    megatron_pool as kv_pool,
    pool_from_bytes,
    weights_on_chip,
)
from scaling.engines.rules import Engine, context_in, refuse_unsupported, start_of
from scaling.engines.running import expectation, running_cap
from scaling.engines.words import gb, no_flag
from scaling.units import GiB

BUFFER = 40 * GiB
_SERVER = "examples/inference/launch_inference_server.py"

MEGATRON = Engine(
    name="Megatron-LM",
    version="core 0.20.0 dev at d98e8a64ddf3",
    date="2026-08-22",
    program=("torchrun",),
    port=5000,
    vendors=("NVIDIA",),
    weights=("bf16",),
    ways="--tensor-model-parallel-size",
    memory="--inference-dynamic-batching-buffer-size-gb",
    cap="--inference-dynamic-batching-max-requests",
)


def launch_command(
    d: Deployment,
    *,
    checkpoint: str,
    model_path: str | None = None,
    context: int | None = None,
    mean: float | None = None,
    max_running: int | None = None,
    max_step: float | None = None,
    buffer: float | None = None,
    port: int | None = None,
) -> Command:
    """The command that starts Megatron-LM's dynamic server, to be run in its repository, with a reason for each flag.

    `checkpoint`: folder of the weights in Megatron's own format.
    `model_path`: where the tokenizer comes from.
    `context`: tokens that the longest sequence may grow to. [tokens]
    `mean`: tokens that a running sequence has on average, for what to expect; `context` if not given. [tokens]
    `max_running`: a cap of one's own. [sequences]
    `max_step`: longest decode step promised, TPOT; the cap that keeps it follows. [s]
    `buffer`: of the KV cache on each GPU; if not given, what the deployment's `usable` leaves beside the weights, or,
    where that is 1, Megatron's own 40 GiB. [B]

    Raises ``ValueError`` that says what to change if the server would not start with this deployment.
    Source: Megatron-LM at d98e8a64ddf3; tests/data/engine_flags.json.
    """
    refuse_unsupported(MEGATRON, d)
    load, asked = no_flag("checkpoint", checkpoint), None if buffer is None else float(positive("buffer", buffer))
    _refuse_large_buffer(d, asked)
    start = start_of(
        MEGATRON, d, lambda one: _pool_beside_weights(one, asked), model_path=model_path, context=context, mean=mean
    )
    cap = running_cap(start, max_running, max_step)
    size = _buffer_size(start.d, asked)
    return command_of(
        MEGATRON,
        start,
        # Before Blackwell, Megatron refuses to start tensor parallelism without this.
        program=("env", "CUDA_DEVICE_MAX_CONNECTIONS=1", *MEGATRON.program) if start.d.chips > 1 else (),
        first=[
            Flag("--nproc-per-node", str(start.d.chips), "one process for each GPU, which python alone does not start"),
            Flag(_SERVER),
            Flag("--load", load),
            Flag("--use-checkpoint-args", None, "takes the shape of the model from the checkpoint"),
            Flag("--bf16"),
        ],
        memory=[
            Flag("--tokenizer-type", "HuggingFaceTokenizer"),
            Flag("--tokenizer-model", start.checkpoint.name),
            Flag("--micro-batch-size", "1", "asked for by the parser, which training shares, and without effect here"),
            _longest(d, context),
            *([_buffer(start.d, size)] if size != BUFFER or buffer is not None else []),
        ],
        cap=cap,
        port=port,
        notes=[
            *expectation(start, cap.sequences if cap else None, promised=None if cap else max_step),
            "to be run in the Megatron-LM repository, on a checkpoint converted to its own format",
        ],
    )


def _buffer_size(d: Deployment, asked: float | None) -> float:
    """Bytes of the cache's buffer on each GPU: as asked, what `usable` leaves beside the weights, or Megatron's own."""
    if asked is not None or d.usable == 1:
        return BUFFER if asked is None else asked
    # Rounded down to a tenth of a GiB, so that the flag is short and never more than there is.
    return math.floor((d.usable * free_memory(d) - weights_on_chip(d)) / GiB * 10) / 10 * GiB


def _pool_beside_weights(d: Deployment, asked: float | None) -> KvPool:
    """Megatron's pool; empty where weights and buffer do not fit together, which the engine would not check."""
    size, left = _buffer_size(d, asked), free_memory(d) - weights_on_chip(d)
    return kv_pool(d, buffer=size) if 0 < size <= left else pool_from_bytes(d, min(size, left - size))


def _refuse_large_buffer(d: Deployment, asked: float | None) -> None:
    size, each = _buffer_size(d, asked), weights_on_chip(d)
    if 0 < free_memory(d) - each < size:
        raise ValueError(
            f"buffer must be at most {(free_memory(d) - each) / GiB:.3g} GiB beside {gb(each)} of weights on each "
            f"{d.chip.name}, not {size / GiB:.4g} GiB: give buffer, or a deployment with usable below 1."
        )


def _longest(d: Deployment, context: int | None) -> Flag:
    """Always written, since Megatron's own 2,560 is no model's."""
    why = f"2,560 by default, {d.model.name} was made for {d.model.context_window:,}"
    longest = context_in(d, context) or d.model.context_window
    return Flag("--inference-max-seq-length", str(longest), f"no sequence grows beyond it, {why}")


def _buffer(d: Deployment, size: float) -> Flag:
    beside = f"beside {gb(weights_on_chip(d))} of weights, 40 by default"
    return Flag(MEGATRON.memory, f"{size / GiB:.6g}", f"{size / GiB:.4g} GiB of KV cache on each GPU, {beside}")
