"""Megatron-LM's dynamic inference server: the launch command and the pool of the KV cache."""

import math

from scaling._checks import positive
from scaling.deployment import Deployment
from scaling.engines import options
from scaling.engines.command import Command, Option
from scaling.engines.pool import megatron_pool as kv_pool
from scaling.engines.rules import Engine, check, checkpoint_of, context_in, gb, path_in, running_cap, sized
from scaling.memory import weight_bytes
from scaling.units import GiB

__all__ = ["MEGATRON", "kv_pool", "launch_command"]

BUFFER = 40 * GiB
_SERVER = "examples/inference/launch_inference_server.py"

MEGATRON = Engine(
    name="Megatron-LM",
    version="core 0.20.0 dev at d98e8a64ddf3",
    date="2026-08-22",
    weights=("bf16",),
    kv={},
    nvidia=True,
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

    `checkpoint`: folder of the weights in Megatron's own format. `model_path`: where the tokenizer comes from.
    `context`: tokens that a sequence may grow to; the cap on running sequences follows from it. [tokens]
    `max_step`: longest decode step allowed, the TPOT limit. [s] `max_running`: a cap of one's own. [sequences]
    `buffer`: of the KV cache on each GPU; if not given, what the deployment's `usable` leaves beside the weights, or,
    where that is 1, Megatron's own 40 GiB. [B]

    Raises ``ValueError`` that says what to change if the server would not start with this deployment.
    Source: Megatron-LM at d98e8a64ddf3; tests/data/engine_flags.json.
    """
    check(MEGATRON, d)
    tokenizer = checkpoint_of(d, model_path, quantized=False)
    load = path_in("checkpoint", checkpoint)
    run, size = _with_buffer(d, context, buffer)
    S, cap = context_in(d, context) or d.model.context_window, running_cap(run, context, max_running, max_step)
    flags = [
        Option("--nproc-per-node", str(d.chips), "one process for each GPU, which python alone does not start"),
        Option(_SERVER),
        Option("--load", load),
        Option("--use-checkpoint-args", None, "takes the shape of the model from the checkpoint"),
        Option("--bf16"),
        *options.ways("--tensor-model-parallel-size", run),
        Option("--tokenizer-type", "HuggingFaceTokenizer"),
        Option("--tokenizer-model", tokenizer),
        Option("--micro-batch-size", "1", "asked for by the parser, which training shares, and without effect here"),
        Option("--inference-max-seq-length", str(S), f"no sequence grows beyond it, 2,560 by default, {_window(d)}"),
    ]
    if size != BUFFER or buffer is not None:
        beside = f"beside {gb(weight_bytes(d) / d.chips)} of weights, 40 by default"
        why = f"{size / GiB:.4g} GiB of KV cache on each GPU, {beside}"
        flags.append(Option("--inference-dynamic-batching-buffer-size-gb", f"{size / GiB:.6g}", why))
    if cap:
        flags.append(Option("--inference-dynamic-batching-max-requests", str(cap.sequences), cap.why))
    return Command(
        engine=MEGATRON.name,
        version=MEGATRON.version,
        date=MEGATRON.date,
        # Before Blackwell, Megatron refuses to start tensor parallelism without this.
        program=("env", "CUDA_DEVICE_MAX_CONNECTIONS=1", "torchrun") if d.chips > 1 else ("torchrun",),
        options=(*flags, *options.listening(None, port, 5000)),
        notes=(
            *options.notes(d),
            "to be run in the Megatron-LM repository, on a checkpoint converted to its own format",
        ),
    )


def _window(d: Deployment) -> str:
    return f"{d.model.name} was made for {d.model.context_window:,}"


def _with_buffer(d: Deployment, context: int | None, buffer: float | None) -> tuple[Deployment, float]:
    """The deployment as Megatron fills it, and the bytes of the cache's buffer on each GPU."""
    each, M = weight_bytes(d) / d.chips, d.chip.memory
    if buffer is None and d.usable < 1:
        sized(d, d.usable, context, knob="usable")
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
