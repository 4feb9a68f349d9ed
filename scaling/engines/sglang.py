"""SGLang: the launch command and the pool of the KV cache."""

from math import inf
from typing import Any

from scaling._array import Array, floor, minimum
from scaling._checks import flag, nonnegative, positive, share, shown, whole
from scaling.deployment import Deployment
from scaling.engines.command import Command, Flag, command_of, memory_share
from scaling.engines.pool import KvPool, around_loading, filled, pool_from_bytes
from scaling.engines.rules import Engine, checkpoint_of, context_in, gb, in_ms, refuse_unsupported, running_cap, sized
from scaling.latency import prefill_time
from scaling.units import MiB

SGLANG = Engine(
    name="SGLang",
    version="0.5.23",
    date="2026-10-30",
    program=("python", "-m", "sglang.launch_server"),
    port=30_000,
    weights=("bf16", "fp16", "fp8", "int8", "int4", "fp4"),
    kv=(("bf16", "bf16"), ("fp8", "fp8_e4m3"), ("fp4", "nvfp4")),
    kv_words="auto, bf16, bfloat16, fp8_e4m3, fp8_e5m2, mxfp8, nvfp4 and fp4_mx_block16",
    online="fp8",
    kv_hint=" Choose kv='fp8' for fp8_e4m3, one byte a number.",
    ways="--tp-size",
    replicas="--dp-size",
    cache="--kv-cache-dtype",
    memory="--mem-fraction-static",
    longest="--context-length",
    cap="--max-running-requests",
    chunk="--chunked-prefill-size",
    graphs="--cuda-graph-max-bs-decode covers the batch",
    prefix="--disable-radix-cache is not set",
    mixed="a smaller --chunked-prefill-size together with --enable-mixed-chunk",
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
    `max_running`: a cap of one's own. [sequences]
    `max_step`: longest decode step allowed, the TPOT limit. [s]
    `mem_fraction_static`: share of the free memory for weights and cache; the deployment's `usable` if that is below 1,
    else SGLang's own choice. [-]
    `chunked_prefill`: of one prefill chunk. [tokens]
    `mixed_chunk`: whether decode steps share a batch with prefill chunks.
    `replicas`: full copies side by side.
    `metrics`: whether to have the page ``/metrics``.
    `quantized`: the checkpoint at `model_path` is stored in the deployment's weight dtype already.
    `role`: "prefill" or "decode" of a pair of servers.

    Raises ``ValueError`` that says what to change if SGLang would not start with this deployment.
    Source: SGLang 0.5.23; tests/data/engine_flags.json.
    """
    refuse_unsupported(SGLANG, d)
    path = checkpoint_of(d, model_path, quantized=flag("quantized", quantized))
    fraction = _fraction(d, mem_fraction_static, chunked_prefill)
    run, S = sized(d, fraction, context, knob="mem_fraction_static"), context_in(d, context)
    cap = running_cap(run, context, max_running, max_step)
    last = [] if chunked_prefill is None else [_chunk(d, whole("chunked_prefill", chunked_prefill), S, mixed_chunk)]
    if flag("mixed_chunk", mixed_chunk):
        last.append(
            Flag("--enable-mixed-chunk", None, "decode steps share a batch with prefill chunks, off by default")
        )
    if role is not None:
        last.append(_role(d, role, S))
    if flag("metrics", metrics):
        last.append(Flag("--enable-metrics", None, "the page /metrics for Prometheus, off by default"))
    chosen = mem_fraction_static is not None or d.usable < 1
    left = f"left alone, SGLang takes a memory fraction of about {fraction:.3g}, with which the numbers reckon"
    pair = "the other server and a router in front have to be started too, each server on a machine of its own"
    return command_of(
        SGLANG,
        run,
        first=[Flag("--model-path", path)],
        memory=[memory_share(SGLANG, fraction, run)] if chosen else [],
        longest=S,
        cap=None if role == "prefill" else cap,
        last=last,
        replicas=replicas,
        quantized=quantized,
        host=host,
        port=port,
        notes=[*([] if chosen else [left]), *([pair] if role is not None else [])],
    )


def _fraction(d: Deployment, asked: float | None, chunk: int | None) -> float:
    """The share of the free memory for weights and pool: as asked, the deployment's, or SGLang's own."""
    if asked is not None:
        if share("mem_fraction_static", asked) < 1:
            return float(asked)
        raise ValueError("mem_fraction_static must be below 1, not 1: activations and CUDA graphs need room too.")
    return d.usable if d.usable < 1 else float(default_mem_fraction(d, chunked_prefill=chunk))


def _role(d: Deployment, role: str, context: int) -> Flag:
    moved = gb(d.model.kv_bytes_per_token(d.kv) * (context or d.model.context_window))
    why = {
        "prefill": f"reads prompts and sends their cache on, up to {moved} for each",
        "decode": f"takes finished prompts over, up to {moved} of cache for each, and decodes them",
    }
    if role not in why:
        raise ValueError(f"role must be prefill or decode, not {shown(role)}.")
    return Flag("--disaggregation-mode", role, why[role])


def _chunk(d: Deployment, chunk: int, context: int, mixed: bool) -> Flag:
    takes = f"a chunk takes {in_ms(prefill_time(d, chunk))} at the least"
    longest = context or d.model.context_window
    if chunk >= longest:
        why = f"no prompt is longer than {longest:,} tokens, so none is split"
    elif mixed:
        why = f"{takes}, and the decode steps in its batch wait that long"
    else:
        why = f"{takes}, all chunks of a prompt run before the next decode step, so this only bounds activation memory"
    if chunk == default_chunk(d):
        why = f"the default on {d.chip.name} already, {why}"
    return Flag(SGLANG.chunk, str(chunk), why)


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


# SGLang's own choices by the memory of a GPU below which they hold [MiB]: tokens of a prefill chunk, largest decode
# batch that is recorded in a graph below 4 ways, and from 4 ways on.
_BY_MEMORY = (
    (20_480, 2048, 8, 8),
    (35_840, 4096, 48, 160),
    (61_440, 4096, 32, 160),
    (163_840, 8192, 256, 512),
    (inf, 16_384, 512, 512),
)
_PREFILL_GRAPHS = 58


def default_chunk(d: Deployment) -> int:
    """Tokens of one prefill chunk if nobody says otherwise: SGLang goes by the memory that the GPU reports. [tokens]

    Source: SGLang 0.5.23, the default of ``--chunked-prefill-size``.
    """
    return next(chunk for below, chunk, _, _ in _BY_MEMORY if d.chip.device_memory / MiB < below)


def default_mem_fraction(d: Deployment, *, chunked_prefill: float | None = None) -> float:
    """SGLang's own choice of ``--mem-fraction-static``, as an estimate. [-]

    What it keeps back, in MiB: ``512 + 1.5 max(chunk, 2048) + 128 N + 2 graph batch + 8 graphs``, at least 10240 above
    60 GiB. The constants move between releases, and other features keep back more: pass the fraction where it is known.

    Raises ``ValueError`` for a chunk that is not above 0.
    Source: SGLang 0.5.23, automatic setting of the fraction.
    """
    N, memory = whole("chips", d.chips), d.chip.device_memory / MiB
    _, usual, few, many = next(row for row in _BY_MEMORY if memory < row[0])
    chunk = usual if chunked_prefill is None else positive("chunked_prefill", chunked_prefill)
    reserve = 512 + 1.5 * max(chunk, 2048) + 128 * N + 2 * (few if N < 4 else many) + 8 * _PREFILL_GRAPHS
    if memory > 60 * 1024:
        reserve = max(reserve, 10_240)
    return max(0.0, round((memory - reserve) / memory, 3))


def sglang_pool(
    d: Deployment,
    *,
    free_before_load: Array = None,
    mem_fraction_static: Array = None,
    free_after_load: Array = None,
    weights: Array = None,
    page_size: int = 1,
    max_total_tokens: float = inf,
    context: int | None = None,
    token_bytes: float | None = None,
) -> KvPool:
    """Tokens in SGLang's pool, which is what loading left, less the share of the free memory that is to stay. [tokens]

    ::

        pool = free_after - (1 - m) free_before    tokens = page * floor(pool / (page * token_bytes))

    `free_before_load`, `free_after_load`: free memory around loading, the least of the ranks [B per chip]; if not
    given, what the device reports (the runtime takes some of it: errs high), and that less `weights`.
    `weights`: as loaded; `loaded_weight_bytes` if not given. [B per chip]
    `mem_fraction_static`: share m of the memory **free before loading**, for weights and pool; else SGLang's own. [-]
    `page_size`, `max_total_tokens`: of a page, and of the pool at most. [tokens]
    `context`: of one request for `concurrency`; the model's window if not given. [tokens per sequence]
    `token_bytes`: for a cache that `Model` does not describe, such as a latent one. [B/token per chip]

    Leaves out activations, graphs and communication, which take the rest of the memory if it is enough: errs high.

    Raises ``ValueError`` for nonsense; a pool without room is a value with a negative `budget`.
    Source: SGLang 0.3.0 to 0.5.23, its code and start-up logs.
    """
    before, after = around_loading(d, min, free_before_load, free_after_load, weights)
    known = mem_fraction_static is not None
    fraction = share("mem_fraction_static", mem_fraction_static) if known else default_mem_fraction(d)
    pool = pool_from_bytes(
        d, after - before * (1.0 - fraction), page_size=page_size, context=context, token_bytes=token_bytes
    )
    capped = minimum(pool.pages, floor(nonnegative("max_total_tokens", max_total_tokens) / page_size))
    return filled(d, pool, capped)._replace(fraction=fraction, minimum_fraction=1.0 - after / before)


kv_pool = sglang_pool
