"""SGLang: the launch command, the pool of the KV cache, and what its metrics page says."""

from typing import Any

from scaling._checks import flag, share, shown, whole
from scaling.deployment import Deployment
from scaling.engines import options
from scaling.engines.command import Command, Option
from scaling.engines.diagnosis import diagnose as diagnose
from scaling.engines.loading import default_chunk, default_mem_fraction
from scaling.engines.metrics import read_metrics as read_metrics
from scaling.engines.pool import sglang_pool as kv_pool
from scaling.engines.rules import Engine, check, checkpoint_of, context_in, copies, gb, running_cap, sized
from scaling.latency import prefill_time
from scaling.units import ms

__all__ = ["SGLANG", "default_chunk", "diagnose", "disaggregated", "kv_pool", "launch_command", "read_metrics"]

SGLANG = Engine(
    name="SGLang",
    version="0.5.23",
    date="2026-10-30",
    weights=("bf16", "fp16", "fp8", "int8", "int4", "fp4"),
    kv={"bf16": "bf16", "fp8": "fp8_e4m3", "fp4": "nvfp4"},
    kv_flag="auto, bf16, bfloat16, fp8_e4m3, fp8_e5m2, mxfp8, nvfp4 and fp4_mx_block16",
    online="fp8",
    kv_hint=" Choose kv='fp8' for fp8_e4m3, one byte a number.",
)


def launch_command(
    d: Deployment,
    *,
    model_path: str | None = None,
    context: int | None = None,
    max_running: int | None = None,
    max_step: float | None = None,
    mem_fraction_static: float | None = None,
    chunked_prefill: int | None = None,
    mixed_chunk: bool = False,
    replicas: int = 1,
    metrics: bool = True,
    host: str | None = None,
    port: int | None = None,
    quantized: bool = False,
    role: str | None = None,
) -> Command:
    """The command that starts SGLang on this deployment, with a reason for each flag. Defaults are not written.

    `context`: tokens that a sequence may grow to; the cap on running sequences follows from it. [tokens]
    `max_step`: longest decode step allowed, the TPOT limit. [s] `max_running`: a cap of one's own. [sequences]
    `mem_fraction_static`: share of the free memory for weights and cache; the deployment's `usable` if that is below 1,
    else SGLang's own choice. [-] `chunked_prefill`: tokens of a prefill chunk. `quantized`: the checkpoint at
    `model_path` is stored in the deployment's weight dtype already. `role`: "prefill" or "decode" of a pair of servers.

    Raises ``ValueError`` that says what to change if SGLang would not start with this deployment.
    Source: SGLang 0.5.23; tests/data/engine_flags.json.
    """
    check(SGLANG, d)
    path = checkpoint_of(d, model_path, quantized=flag("quantized", quantized))
    fraction = _fraction(d, mem_fraction_static, chunked_prefill)
    run = sized(d, fraction, context, knob="mem_fraction_static")
    S, R, cap = context_in(d, context), copies(d, replicas), running_cap(run, context, max_running, max_step)
    flags = [
        Option("--model-path", path),
        *options.ways("--tp-size", run),
        *options.replicas("--dp-size", d, R),
        *options.dtypes(SGLANG, d, quantized=quantized),
    ]
    notes = options.notes(d)
    if mem_fraction_static is not None or d.usable < 1:
        flags.append(options.memory_share("--mem-fraction-static", fraction, run))
    else:
        notes.append(
            f"left alone, SGLang takes a memory fraction of about {fraction:.3g}, with which the numbers reckon"
        )
    flags += options.longest("--context-length", d, S)
    if cap and role != "prefill":
        flags.append(Option("--max-running-requests", str(cap.sequences), cap.why))
    if chunked_prefill is not None:
        flags.append(_chunk(d, whole("chunked_prefill", chunked_prefill), S, mixed_chunk))
    if flag("mixed_chunk", mixed_chunk):
        flags.append(
            Option("--enable-mixed-chunk", None, "decode steps share a batch with prefill chunks, off by default")
        )
    if role is not None:
        flags.append(_role(d, role, S))
        notes.append(
            "the other server and a router in front have to be started too, each server on a machine of its own"
        )
    if flag("metrics", metrics):
        flags.append(Option("--enable-metrics", None, "the page /metrics for Prometheus, off by default"))
    return Command(
        engine=SGLANG.name,
        version=SGLANG.version,
        date=SGLANG.date,
        program=("python", "-m", "sglang.launch_server"),
        options=(*flags, *options.listening(host, port, 30_000)),
        notes=tuple(notes),
    )


def _fraction(d: Deployment, asked: float | None, chunk: int | None) -> float:
    if asked is not None:
        if share("mem_fraction_static", asked) < 1:
            return float(asked)
        raise ValueError("mem_fraction_static must be below 1, not 1: activations and CUDA graphs need room too.")
    return d.usable if d.usable < 1 else float(default_mem_fraction(d, chunked_prefill=chunk))


def _role(d: Deployment, role: str, context: int) -> Option:
    moved = gb(d.model.kv_bytes_per_token(d.kv) * (context or d.model.context_window))
    why = {
        "prefill": f"reads prompts and sends their cache on, up to {moved} for each",
        "decode": f"takes finished prompts over, up to {moved} of cache for each, and decodes them",
    }
    if role not in why:
        raise ValueError(f"role must be prefill or decode, not {shown(role)}.")
    return Option("--disaggregation-mode", role, why[role])


def _chunk(d: Deployment, chunk: int, context: int, mixed: bool) -> Option:
    takes = f"a chunk takes {float(prefill_time(d, chunk)) / ms:.3g} ms at the least"
    longest = context or d.model.context_window
    if chunk >= longest:
        why = f"no prompt is longer than {longest:,} tokens, so none is split"
    elif mixed:
        why = f"{takes}, and the decode steps in its batch wait that long"
    else:
        why = f"{takes}, all chunks of a prompt run before the next decode step, so this only bounds activation memory"
    if chunk == default_chunk(d):
        why = f"the default on {d.chip.name} already, {why}"
    return Option("--chunked-prefill-size", str(chunk), why)


def disaggregated(
    prefill: Deployment,
    decode: Deployment,
    *,
    context: int,
    max_running: int | None = None,
    max_step: float | None = None,
    **both: Any,
) -> tuple[Command, Command]:
    """The commands of a prefill server and of a decode server, each for a machine of its own.

    `max_running` and `max_step` are for the decode server; `both`: further arguments of `launch_command`, for each.

    Raises ``ValueError`` if the two do not hold the same model in the same dtypes, or for what either refuses.
    Source: SGLang 0.5.23; tests/data/engine_flags.json.
    """
    for field in ("model", "weights", "kv"):
        one, other = getattr(prefill, field), getattr(decode, field)
        if one != other:
            said = " and ".join(str(getattr(value, "name", value)) for value in (one, other))
            raise ValueError(f"{field} must be the same on both servers, not {said}.")
    return (
        launch_command(prefill, context=context, role="prefill", **both),
        launch_command(decode, context=context, role="decode", max_running=max_running, max_step=max_step, **both),
    )
