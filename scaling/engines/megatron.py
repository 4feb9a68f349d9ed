"""Megatron-LM's dynamic inference server: the launch command and the pool of the KV cache."""

import math

from scaling._array import Array, maximum
from scaling._checks import positive, whole
from scaling.deployment import Deployment
from scaling.engines.command import Command, Flag, command_of
from scaling.engines.pool import KvPool, filled, pool_from_bytes
from scaling.engines.rules import Engine, checkpoint_of, context_in, gb, path_in, refuse_unsupported, running_cap, sized
from scaling.memory import weight_bytes
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
    max_running: int | None = None,
    max_step: float | None = None,
    buffer: float | None = None,
    port: int | None = None,
) -> Command:
    """The command that starts Megatron-LM's dynamic server, to be run in its repository, with a reason for each flag.

    `checkpoint`: folder of the weights in Megatron's own format.
    `model_path`: where the tokenizer comes from.
    `context`: tokens that a sequence may grow to; the cap on running sequences follows from it. [tokens]
    `max_running`: a cap of one's own. [sequences]
    `max_step`: longest decode step allowed, the TPOT limit. [s]
    `buffer`: of the KV cache on each GPU; if not given, what the deployment's `usable` leaves beside the weights, or,
    where that is 1, Megatron's own 40 GiB. [B]

    Raises ``ValueError`` that says what to change if the server would not start with this deployment.
    Source: Megatron-LM at d98e8a64ddf3; tests/data/engine_flags.json.
    """
    refuse_unsupported(MEGATRON, d)
    tokenizer, load = checkpoint_of(d, model_path, quantized=False), path_in("checkpoint", checkpoint)
    run, size = _with_buffer(d, context, buffer)
    return command_of(
        MEGATRON,
        run,
        # Before Blackwell, Megatron refuses to start tensor parallelism without this.
        program=("env", "CUDA_DEVICE_MAX_CONNECTIONS=1", *MEGATRON.program) if run.chips > 1 else (),
        first=[
            Flag("--nproc-per-node", str(run.chips), "one process for each GPU, which python alone does not start"),
            Flag(_SERVER),
            Flag("--load", load),
            Flag("--use-checkpoint-args", None, "takes the shape of the model from the checkpoint"),
            Flag("--bf16"),
        ],
        memory=[
            Flag("--tokenizer-type", "HuggingFaceTokenizer"),
            Flag("--tokenizer-model", tokenizer),
            Flag("--micro-batch-size", "1", "asked for by the parser, which training shares, and without effect here"),
            _longest(d, context),
            *([_buffer(d, size)] if size != BUFFER or buffer is not None else []),
        ],
        cap=running_cap(run, context, max_running, max_step),
        port=port,
        notes=["to be run in the Megatron-LM repository, on a checkpoint converted to its own format"],
    )


def _longest(d: Deployment, context: int | None) -> Flag:
    """Always written, since Megatron's own 2,560 is no model's."""
    why = f"2,560 by default, {d.model.name} was made for {d.model.context_window:,}"
    longest = context_in(d, context) or d.model.context_window
    return Flag("--inference-max-seq-length", str(longest), f"no sequence grows beyond it, {why}")


def _buffer(d: Deployment, size: float) -> Flag:
    beside = f"beside {gb(weight_bytes(d) / d.chips)} of weights, 40 by default"
    why = f"{size / GiB:.4g} GiB of KV cache on each GPU, {beside}"
    return Flag(MEGATRON.memory, f"{size / GiB:.6g}", why)


def _with_buffer(d: Deployment, context: int | None, buffer: float | None) -> tuple[Deployment, float]:
    """The deployment as Megatron fills it, and the bytes of the cache's buffer on each GPU."""
    each, M = weight_bytes(d) / d.chips, d.chip.memory
    if buffer is None and d.usable < 1:
        sized(d, d.usable, context, knob="usable")
        # Rounded down to a tenth of a GiB, so that the flag is short and never more than there is.
        size = math.floor((d.usable * M - each) / GiB * 10) / 10 * GiB
    else:
        size = BUFFER if buffer is None else float(positive("buffer", buffer))
    if each + size > M:
        sized(d, 1.0, context)
        raise ValueError(
            f"buffer must be at most {(M - each) / GiB:.3g} GiB beside {gb(each)} of weights on each {d.chip.name}, "
            f"not {size / GiB:.4g} GiB: give buffer, or a deployment with usable below 1 that it follows from."
        )
    return sized(d, (each + size) / M, context), size


def megatron_pool(
    d: Deployment,
    *,
    buffer: Array = 40 * GiB,
    block_size: int = 256,
    context: int | None = None,
    token_bytes: float | None = None,
) -> KvPool:
    """Tokens in Megatron's pool, a buffer of fixed size, of which one block is kept as a dummy. [tokens]

    ::

        tokens = page * (max(2, floor(buffer / (page * token_bytes))) - 1)

    `buffer`: ``--inference-dynamic-batching-buffer-size-gb`` times a GiB; it does not follow from the memory.
    [B per chip] `block_size`: of a page. [tokens] The cache is kept in the dtype of the parameters: set `kv` to it.

    Leaves out whether the buffer fits beside the weights, which nothing checks: errs high.

    Raises ``ValueError`` for nonsense.
    Source: Megatron-LM, megatron/core/inference/contexts/dynamic_context.py, 2026.
    """
    size, block = positive("buffer", buffer), whole("block_size", block_size)
    pool = pool_from_bytes(d, size, page_size=block, context=context, token_bytes=token_bytes)
    return filled(d, pool, maximum(2, pool.pages) - 1)


kv_pool = megatron_pool
