"""SGLang: the launch commands, the pool of the KV cache, and the benchmark."""

import math
import re
from dataclasses import replace
from typing import Any

from scaling._checks import flag, share, shown, whole
from scaling.deployment import Deployment
from scaling.engines.command import (
    Command,
    CrossCheck,
    Flag,
    address_of,
    command_of,
    cross_check,
    machine_flags,
    memory_share,
)
from scaling.engines.pool import free_memory, sglang_pool, stage_of, weights_on_chip
from scaling.engines.rules import Engine, Start, machines, share_of, start_of
from scaling.engines.running import Cap, expectation, running_cap
from scaling.engines.sglang_memory import (
    METADATA,
    default_chunk as default_chunk,
    default_mem_fraction as default_mem_fraction,
    expected_pool as expected_pool,
    recorded_batch,
)
from scaling.engines.words import gb, in_ms, no_flag
from scaling.latency import prefill_time

kv_pool = sglang_pool

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
    _refuse_large_chunk(d, asked, chunked_prefill, stages)

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
    cross_check(SGLANG, CROSS_CHECKS, _checked(found, replicas))
    return command_of(
        SGLANG,
        found,
        first=[Flag("--model-path", _served(found.checkpoint.name))],
        memory=[*_across(found, head, rank), *([] if asked is None else [memory_share(SGLANG, asked, found)])],
        longest=found.longest,
        cap=None if role == "prefill" else cap,
        last=_last(found, chunked_prefill, flag("mixed_chunk", mixed_chunk), role, flag("metrics", metrics)),
        replicas=replicas,
        host=host,
        port=port,
        rank=rank,
        notes=[
            *([_left_alone(found)] if asked is None else []),
            *([] if role is None or host is not None else [_REACHED]),
            *([] if role == "prefill" else _expected(found, cap, replicas, max_step)),
        ],
    )


_MIXED = "decode steps share a batch with prefill chunks, off by default"
_METRICS = "the page /metrics for Prometheus, off by default"
_REACHED = "a server of a pair registers under the address in --host, at which the other has to reach it"


def _checked(start: Start, replicas: int) -> dict[str, int]:
    """The flags by the names that `CROSS_CHECKS` give them."""
    known = {"ways": start.ways, "stages": start.stages, "machines": start.machines}
    return {**known, "replicas": whole("replicas", replicas)}


def _last(start: Start, chunk: int | None, mixed: bool, role: str | None, metrics: bool) -> list[Flag]:
    """Chunks, the role in a pair and the page of metrics."""
    return [
        *([] if chunk is None else [_chunk(start, chunk, mixed)]),
        *([Flag("--enable-mixed-chunk", None, _MIXED)] if mixed else []),
        *([] if role is None else [_role(start, role)]),
        *([Flag("--enable-metrics", None, _METRICS)] if metrics else []),
    ]


def _left_alone(start: Start) -> str:
    fraction = float(start.pool.fraction)
    return f"left alone, SGLang takes a memory fraction of about {fraction:.3g}, from which the numbers follow"


def _expected(start: Start, cap: Cap | None, replicas: int, max_step: float | None) -> list[str]:
    """What to expect of a full pool, and whether its batch is beyond the graphs that SGLang records by itself.

    Source: SGLang 0.5.23, srt/model_executor/runner/decode_cuda_graph_runner.py line 887.
    """
    most = cap.sequences if cap else None
    said = expectation(start, most, copies=replicas, promised=None if cap else max_step)
    B, recorded = min(start.held, most or start.held), recorded_batch(stage_of(start.d, start.stages))
    if B > recorded:
        said.append(f"graphs are recorded up to {recorded} sequences: --cuda-graph-max-bs-decode {B} covers the batch")
    return said


def _served(path: str) -> str:
    """`path`, under which the model is served.

    Raises ``ValueError`` for a colon, which SGLang keeps for adapters (srt/arg_groups/validation_hook.py line 215).
    """
    if ":" in path and not path.lower().startswith(("s3://", "gs://", "az://")):
        raise ValueError(f"model_path must not hold a colon for SGLang, which reads an adapter after it, not {path}.")
    return path


def _refuse_large_chunk(d: Deployment, asked: float | None, chunk: int | None, stages: int) -> None:
    """Refuse a prefill chunk for which SGLang, left alone, keeps back the room of the weights."""
    if asked is not None or chunk is None:
        return
    one = stage_of(replace(d, chips=whole("chips", d.chips)), stages)
    kept, usual = default_mem_fraction(one, chunked_prefill=whole("chunked_prefill", chunk)), default_mem_fraction(one)
    need = weights_on_chip(one) / free_memory(one)
    if kept < need < usual:
        raise ValueError(
            f"chunked_prefill must be smaller than {chunk:,} tokens, for which SGLang keeps back all but {kept:.3g} of "
            f"the memory of {d.chip.name}: choose {default_chunk(d):,}, its own, or give mem_fraction_static."
        )


def _fraction_in(d: Deployment, asked: float | None) -> float | None:
    """The share of the free memory for weights and pool: as asked, the deployment's, or None for SGLang's own."""
    usable = share_of(d)
    if asked is None:
        return usable if usable < 1 else None
    most = math.floor((1 - METADATA / free_memory(d)) * 1000) / 1000
    if share("mem_fraction_static", asked) <= most:
        return float(asked)
    raise ValueError(
        f"mem_fraction_static must be at most {most:g} on {d.chip.name}, not {shown(asked)}: activations and CUDA "
        f"graphs need room too."
    )


def _across(start: Start, head: str | None, rank: int) -> list[Flag]:
    """The flags of several machines."""
    if not (machines := machine_flags(start, head, rank)):
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
    for name, d in (("prefill", prefill), ("decode", decode)):
        if machines(d) > 1 or {"head", "rank", "stages"} & set(both):
            raise ValueError(f"{name} must be one machine: a pair of servers over several each is not built here.")
    for field in ("model", "weights", "kv"):
        one, other = getattr(prefill, field), getattr(decode, field)
        if one != other:
            said = " and ".join(str(getattr(value, "name", value)) for value in (one, other))
            raise ValueError(f"{field} must be the same on both servers, not {said}.")
    if transfer not in TRANSFERS:
        raise ValueError(f"transfer must be one of {', '.join(TRANSFERS)}, not {shown(transfer)}.")
    if transfer == "mooncake_tcp" and ib_device is not None:
        raise ValueError(f"ib_device must not be given for mooncake_tcp, which uses none, not {shown(ib_device)}.")
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
    package = "nixl" if transfer == "nixl" else "mooncake-transfer-engine"
    notes = [f"a package carries the cache: pip install {package}"]
    if prefill.chips != decode.chips:
        notes.append("SGLang warns that its speed is not guaranteed where the two differ in tensor parallelism")
    notes.append("decode meets prefill at port 8998 of the prefill server: open it, and --port to the router")
    first, second = (
        replace(server, options=(*server.options, *more), notes=(*server.notes, *notes)) for server in servers
    )
    port = both.get("port") or SGLANG.port
    return first, second, _router([f"http://{host}:{port}" for host in _two(hosts)])


def _two(hosts: Any) -> list[str]:
    """The two hosts, IPv6 in brackets as an address on the web has it.

    Raises ``ValueError`` for anything but the names of two machines.
    """
    if not isinstance(hosts, (tuple, list)) or len(hosts) != 2:
        raise ValueError(f"hosts must be a pair, of the prefill and of the decode server, not {shown(hosts)}.")
    plain = [no_flag("hosts", host).strip("[]") for host in hosts]
    for host in plain:
        if not (re.fullmatch(r"[\w.-]+", host) or (host.count(":") > 1 and re.fullmatch(r"[\da-fA-F:.]+", host))):
            raise ValueError(f"hosts must be names or addresses without scheme, port or path, not {shown(host)}.")
    if plain[0] == plain[1]:
        raise ValueError(f"hosts must be two machines, as both servers take the same port, not {plain[0]} twice.")
    return [f"[{host}]" if ":" in host else host for host in plain]


def _router(addresses: list[str]) -> Command:
    return Command(
        engine="SGLang router",
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
