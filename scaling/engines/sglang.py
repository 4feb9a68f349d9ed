"""SGLang: the launch commands, the pool of the KV cache, and the benchmark."""

from dataclasses import replace
from math import inf
from typing import Any

from scaling._array import Array
from scaling._checks import flag, positive, share, shown, whole
from scaling.deployment import Deployment
from scaling.engines.command import (
    Command,
    CrossCheck,
    Flag,
    address_of,
    command_of,
    cross_check,
    expectation,
    machine_flags,
    memory_share,
    running_cap,
)
from scaling.engines.pool import KvPool, free_memory, sglang_pool as kv_pool, weights_on_chip
from scaling.engines.rules import Engine, Start, share_of, start_of
from scaling.engines.words import gb, in_ms, no_flag
from scaling.latency import prefill_time
from scaling.units import GiB, MiB

SGLANG = Engine(
    name="SGLang",
    version="0.5.23",
    date="2026-10-30",
    program=("sglang", "serve"),
    host="127.0.0.1",
    port=30_000,
    weights=("bf16", "fp16", "fp8", "int8", "int4", "fp4"),
    kv=(("bf16", "bf16"), ("fp8", "fp8_e4m3"), ("fp4", "nvfp4")),
    kv_words="auto, bf16, bfloat16, fp8_e4m3, fp8_e5m2, mxfp8, nvfp4 and fp4_mx_block16",
    kv_hint=" Choose kv='fp8' for fp8_e4m3, one byte a number.",
    online="fp8",
    ways="--tp-size",
    stages="--pp-size",
    replicas="--dp-size",
    cache="--kv-cache-dtype",
    memory="--mem-fraction-static",
    longest="--context-length",
    cap="--max-running-requests",
    chunk="--chunked-prefill-size",
    graphs="--cuda-graph-max-bs-decode covers the batch",
    prefix="--disable-radix-cache is not set",
    mixed="a smaller --chunked-prefill-size together with --enable-mixed-chunk",
    # Without the last two, lengths are drawn from one token up.
    benchmark=(*"python -m sglang.benchmark.serving --backend sglang".split(), "--random-range-ratio", "1"),
)

# What SGLang refuses at its start, by file and line of 0.5.23.
CROSS_CHECKS = (
    CrossCheck(
        "srt/arg_groups/validation_hook.py line 179",
        lambda f: f["ways"] * f["stages"] % f["machines"] == 0,
        "machines must share the {stages} stages of {ways} ways evenly, not {machines}",
    ),
    CrossCheck(
        "srt/arg_groups/validation_hook.py line 199",
        lambda f: f["replicas"] == 1 or f["machines"] == 1,
        "replicas must be 1 over {machines} machines, not {replicas}",
    ),
)


def launch_command(
    d: Deployment,
    *,
    model_path: str | None = None,
    context: int | None = None,
    mean: float | None = None,
    max_running: int | None = None,
    max_step: float | None = None,
    mem_fraction_static: float | None = None,
    chunked_prefill: int | None = None,
    mixed_chunk: bool = False,
    replicas: int = 1,
    stages: int = 1,
    head: str | None = None,
    rank: int = 0,
    metrics: bool = True,
    host: str | None = None,
    port: int | None = None,
    quantized: bool = False,
    role: str | None = None,
) -> Command:
    """The command that starts SGLang on this deployment, with a reason for each flag. Defaults are not written.

    `model_path`: of the checkpoint; the published one of the deployment's dtype if not given.
    `context`: tokens that the longest sequence may grow to. [tokens]
    `mean`: tokens that a running sequence has on average, for what to expect; `context` if not given. [tokens]
    `max_running`: a cap of one's own. [sequences]
    `max_step`: longest decode step promised, TPOT; the cap that keeps it follows. [s]
    `mem_fraction_static`: share of the free memory for weights and cache; the deployment's `usable` if that is below 1,
    else SGLang's own choice. [-]
    `chunked_prefill`: of one prefill chunk. [tokens]
    `mixed_chunk`: whether decode steps share a batch with prefill chunks.
    `replicas`: full copies side by side.
    `stages`: of a pipeline that shares the chips.
    `head`, `rank`: with several machines, the first one's address and port, and which one this command is for, from 0.
    `metrics`: whether to have the page ``/metrics``.
    `quantized`: the checkpoint at `model_path` is stored in the deployment's weight dtype already.
    `role`: "prefill" or "decode" of a pair of servers; see `disaggregated`.

    Raises ``ValueError`` that says what to change if SGLang would not start with this deployment.
    Source: SGLang 0.5.23; tests/data/engine_flags.json.
    """
    asked = _fraction_in(d, mem_fraction_static)

    def start(cap: int | None) -> Start:
        known: dict[str, Any] = {"mem_fraction_static": asked, "chunked_prefill": chunked_prefill}
        known |= {"role": role, "stages": stages, "max_running": cap}
        return start_of(
            SGLANG,
            d,
            lambda one: expected_pool(one, **known),
            model_path=model_path,
            quantized=quantized,
            context=context,
            mean=mean,
            stages=stages,
            head=head,
            knob="mem_fraction_static",
        )

    found = start(max_running)
    cap = running_cap(found, max_running, max_step)
    if cap and max_running is None:
        found = start(cap.sequences)  # a smaller batch needs smaller graphs, so the pool is larger
    flags = {"ways": found.d.chips // found.stages, "stages": found.stages, "machines": found.machines}
    cross_check(SGLANG, CROSS_CHECKS, {**flags, "replicas": whole("replicas", replicas)})
    fraction = float(found.pool.fraction)
    left = f"left alone, SGLang takes a memory fraction of about {fraction:.3g}, from which the numbers follow"
    return command_of(
        SGLANG,
        found,
        first=[Flag("--model-path", found.checkpoint.name)],
        memory=[*_across(found, head, rank), *([] if asked is None else [memory_share(SGLANG, fraction, found)])],
        longest=found.longest,
        cap=None if role == "prefill" else cap,
        last=[
            *([] if chunked_prefill is None else [_chunk(found, chunked_prefill, mixed_chunk)]),
            *([Flag("--enable-mixed-chunk", None, _MIXED)] if flag("mixed_chunk", mixed_chunk) else []),
            *([] if role is None else [_role(found, role)]),
            *([Flag("--enable-metrics", None, _METRICS)] if flag("metrics", metrics) else []),
        ],
        replicas=replicas,
        host=host,
        port=port,
        notes=[
            *([left] if asked is None else []),
            *([] if role == "prefill" else expectation(found, cap.sequences if cap else None)),
        ],
    )


_MIXED = "decode steps share a batch with prefill chunks, off by default"
_METRICS = "the page /metrics for Prometheus, off by default"


def _fraction_in(d: Deployment, asked: float | None) -> float | None:
    """The share of the free memory for weights and pool: as asked, the deployment's, or None for SGLang's own."""
    usable = share_of(d)
    if asked is not None:
        if share("mem_fraction_static", asked) < 1:
            return float(asked)
        raise ValueError("mem_fraction_static must be below 1, not 1: activations and CUDA graphs need room too.")
    return usable if usable < 1 else None


def _across(start: Start, head: str | None, rank: int) -> list[Flag]:
    """The flags of several machines."""
    if not (machines := machine_flags(start, rank)):
        return []
    why = "of the machine with rank 0, where the others find it"
    return [*machines, Flag("--dist-init-addr", ":".join(address_of(head)), why)]


def _role(start: Start, role: str) -> Flag:
    moved = gb(start.d.model.kv_bytes_per_token(start.d.kv) * (start.longest or start.d.model.context_window))
    why = {
        "prefill": f"reads prompts and sends their cache on, up to {moved} for each",
        "decode": f"takes finished prompts over, up to {moved} of cache for each, and decodes them",
    }
    return Flag("--disaggregation-mode", role, why[role])


def _chunk(start: Start, asked: int, mixed: bool) -> Flag:
    d, chunk = start.d, whole("chunked_prefill", asked)
    takes = f"a chunk takes {in_ms(prefill_time(d, chunk))} at the peak FLOP/s"
    longest = start.longest or d.model.context_window
    if chunk >= longest:
        why = f"no prompt is longer than {longest:,} tokens, so none is split"
    elif mixed:
        why = f"{takes}, and the decode steps in its batch wait that long"
    else:
        why = f"{takes}, all chunks of a prompt run before the next decode step, so this only bounds activation memory"
    if chunk == default_chunk(d):
        why = f"the default on {d.chip.name} already, {why}"
    return Flag(SGLANG.chunk, str(chunk), why)


TRANSFERS = ("mooncake", "nixl", "mooncake_tcp")


def disaggregated(
    prefill: Deployment,
    decode: Deployment,
    *,
    context: int,
    hosts: tuple[str, str] = ("prefill", "decode"),
    transfer: str = "mooncake",
    ib_device: str | None = None,
    max_running: int | None = None,
    max_step: float | None = None,
    **both: Any,
) -> tuple[Command, Command, Command]:
    """The commands of a prefill server, of a decode server and of the router in front, each for a machine of its own.

    `hosts`: names or addresses at which the router finds the two servers.
    `transfer`: how the cache travels: mooncake or nixl over RDMA, mooncake_tcp over plain Ethernet.
    `ib_device`: the network cards to use, such as mlx5_0; the transfer's own choice if not given.
    `max_running`, `max_step`: for the decode server. `both`: further arguments of `launch_command`, for each server.

    Raises ``ValueError`` if the two do not hold the same model in the same dtypes, or for what either refuses.
    Source: SGLang 0.5.23; tests/data/engine_flags.json.
    """
    for field in ("model", "weights", "kv"):
        one, other = getattr(prefill, field), getattr(decode, field)
        if one != other:
            said = " and ".join(str(getattr(value, "name", value)) for value in (one, other))
            raise ValueError(f"{field} must be the same on both servers, not {said}.")
    if transfer not in TRANSFERS:
        raise ValueError(f"transfer must be one of {', '.join(TRANSFERS)}, not {shown(transfer)}.")
    both = {"host": "0.0.0.0", "context": context, **both}  # the router comes from another machine
    travels = "how the cache travels, mooncake by default"
    more = [] if transfer == TRANSFERS[0] else [Flag("--disaggregation-transfer-backend", transfer, travels)]
    if ib_device is not None:
        more.append(
            Flag("--disaggregation-ib-device", no_flag("ib_device", ib_device), "the network cards that it uses")
        )
    servers = (
        launch_command(prefill, role="prefill", **both),
        launch_command(decode, role="decode", max_running=max_running, max_step=max_step, **both),
    )
    first, second = (replace(server, options=(*server.options, *more)) for server in servers)
    port = both.get("port") or SGLANG.port
    return first, second, _router([f"http://{no_flag('hosts', host)}:{port}" for host in hosts])


def _router(addresses: list[str]) -> Command:
    return Command(
        engine="SGLang's router",
        version="as of SGLang 0.5.23",
        date=SGLANG.date,
        program=("python", "-m", "sglang_router.launch_router"),
        options=(
            Flag(
                "--pd-disaggregation", None, "each request goes to a prefill server first and then to a decode server"
            ),
            Flag("--prefill", addresses[0]),
            Flag("--decode", addresses[1]),
            Flag("--host", "0.0.0.0", "the address to listen on"),
            Flag("--port", "8000"),
        ),
        notes=("a package of its own: pip install sglang-router",),
    )


# The pool -------------------------------------------------------------------------------------------------------------

# SGLang's own choices by the memory of a GPU below which they hold [MiB]: tokens of a prefill chunk, largest decode
# batch that is recorded in a graph below 4 ways, and from 4 ways on.
_BY_MEMORY = (
    (20_480, 2048, 8, 8),
    (35_840, 4096, 48, 160),
    (61_440, 4096, 32, 160),
    (163_840, 8192, 256, 512),
    (inf, 16_384, 512, 512),
)
# Token counts of a prefill that are recorded in a graph, up to the chunk, and then every 512.
_PREFILL_GRAPHS = (
    *(*range(4, 33, 4), *range(48, 257, 16), *range(288, 513, 32)),
    *(*range(576, 1025, 64), *range(1280, 4097, 256)),
)
# More than the weights goes when a model is loaded: five start-up logs show 0.06 to 0.21 GiB on one GPU, and 0.28 with
# four ways of tensor parallelism, which is the only such log.
_BUFFERS = {False: 0.135 * GiB, True: 0.28 * GiB}


def default_chunk(d: Deployment) -> int:
    """Tokens of one prefill chunk if nobody says otherwise: SGLang goes by the memory that the GPU reports. [tokens]

    Source: SGLang 0.5.23, the default of ``--chunked-prefill-size``.
    """
    return next(chunk for below, chunk, _, _ in _BY_MEMORY if d.chip.device_memory / MiB < below)


def default_mem_fraction(
    d: Deployment,
    *,
    chunked_prefill: float | None = None,
    max_running: int | None = None,
    role: str | None = None,
    stages: int = 1,
) -> float:
    """SGLang's own choice of ``--mem-fraction-static``, as an estimate. [-]

    What it keeps back, in MiB: ``512 + 1.5 max(tokens, 2048) + 128 N + 2 graph batch + 8 graphs``, at least 10240 above
    60 GiB. The constants move between releases, and other features keep back more: pass the fraction where it is known.

    `chunked_prefill`: of one prefill chunk; in place of it a decode server counts its running requests. [tokens]
    `max_running`: the cap, if one is set: no larger decode batch is then recorded in a graph. [sequences]
    `role`: "prefill" records no decode steps, "decode" no prefills.
    `stages`: of a pipeline, N counting the chips of all of them; with more than one no prefill is recorded.

    Raises ``ValueError`` for a number that is not above 0, or another role.
    Source: SGLang 0.5.23, srt/arg_groups/memory_hook.py, lines 62 to 388.
    """
    if role not in (None, "prefill", "decode"):
        raise ValueError(f"role must be prefill or decode, not {shown(role)}.")
    N, memory = whole("chips", d.chips), d.chip.device_memory / MiB
    _, usual, few, many = next(row for row in _BY_MEMORY if memory < row[0])
    chunk = usual if chunked_prefill is None else positive("chunked_prefill", chunked_prefill)
    batch = few if N < 4 else many
    running = batch if max_running is None else whole("max_running", max_running)
    recorded = min(batch, running)
    tokens = (recorded if max_running is None else running) if role == "decode" else chunk
    graphs = 0 if role == "decode" or stages > 1 else _prefill_graphs(chunk)
    reserve = 512 + 1.5 * max(tokens, 2048) + 128 * N * stages + 8 * graphs
    reserve += 0 if role == "prefill" else 2 * recorded
    if memory > 60 * 1024:
        reserve = max(reserve, 10_240)
    return max(0.0, round((memory - reserve) / memory, 3))


def _prefill_graphs(chunk: float) -> float:
    return float(sum(tokens <= chunk for tokens in _PREFILL_GRAPHS) + max(0.0, (chunk - 4096) // 512))


def expected_pool(
    d: Deployment,
    *,
    mem_fraction_static: Array = None,
    chunked_prefill: int | None = None,
    max_running: int | None = None,
    role: str | None = None,
    stages: int = 1,
) -> KvPool:
    """The pool that SGLang will make, before a log tells: `kv_pool` with an estimate of what a log would state.

    `mem_fraction_static`: share of the free memory for weights and pool; SGLang's own choice if not given. [-]
    `chunked_prefill`, `max_running`, `role`, `stages`: what that choice depends on, see `default_mem_fraction`.

    Raises ``ValueError`` for nonsense; a pool without room is a value with a negative `budget`.
    """
    own = default_mem_fraction(d, chunked_prefill=chunked_prefill, max_running=max_running, role=role, stages=stages)
    return kv_pool(
        d,
        free_before_load=free_memory(d),
        mem_fraction_static=own if mem_fraction_static is None else mem_fraction_static,
        weights=weights_on_chip(d) + _BUFFERS[d.chips > 1],
    )
