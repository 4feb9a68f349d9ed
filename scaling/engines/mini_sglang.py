"""Mini-SGLang, the teaching version of SGLang: the launch command and the pool of the KV cache."""

from scaling._checks import share, whole
from scaling.deployment import Deployment
from scaling.engines.command import Command, Flag, command_of, memory_share
from scaling.engines.pool import free_memory, mini_sglang_pool as kv_pool
from scaling.engines.rules import Engine, share_of, start_of
from scaling.engines.running import expectation, running_cap

# Its own defaults of the share of the free memory, of the cap, and of the tokens of a prefill chunk.
MEMORY_RATIO, MAX_RUNNING, CHUNK = 0.9, 256, 8192

MINI_SGLANG = Engine(
    name="Mini-SGLang",
    version="commit 20fcd7f3c6a1",
    date="2026-03-13",
    program=("python", "-m", "minisgl"),
    port=1919,
    vendors=("NVIDIA",),
    weights=("bf16", "fp16"),
    ways="--tp-size",
    memory="--memory-ratio",
    cap="--max-running-requests",
    chunk="--max-prefill-length",
)


def launch_command(
    d: Deployment,
    *,
    model_path: str | None = None,
    context: int | None = None,
    mean: float | None = None,
    max_running: int | None = None,
    max_step: float | None = None,
    memory_ratio: float | None = None,
    chunked_prefill: int | None = None,
    port: int | None = None,
) -> Command:
    """The command that starts Mini-SGLang on this deployment, with a reason for each flag. Defaults are not written.

    `context`: tokens that the longest sequence may grow to. [tokens]
    `mean`: tokens that a running sequence has on average, for what to expect; `context` if not given. [tokens]
    `max_running`: a cap of one's own. [sequences]
    `max_step`: longest decode step promised, TPOT; the cap that keeps it follows. [s]
    `memory_ratio`: share of the free memory for weights and cache; the deployment's `usable` if that is below 1. [-]
    `chunked_prefill`: of one prefill chunk. [tokens]

    Raises ``ValueError`` that says what to change if Mini-SGLang would not start with this deployment.
    Source: Mini-SGLang at 20fcd7f3c6a1; tests/data/engine_flags.json.
    """
    asked = memory_ratio if memory_ratio is not None else d.usable if share_of(d) < 1 else None
    ratio = MEMORY_RATIO if asked is None else float(share("memory_ratio", asked))
    start = start_of(
        MINI_SGLANG,
        d,
        lambda one: kv_pool(one, free_before_load=free_memory(one), memory_ratio=ratio),
        model_path=model_path,
        context=context,
        mean=mean,
        knob="memory_ratio",
    )
    chunk = None if chunked_prefill is None else whole("chunked_prefill", chunked_prefill)
    already = f", {CHUNK} is the default already" if chunk == CHUNK else ""
    cap = running_cap(start, max_running, max_step)
    return command_of(
        MINI_SGLANG,
        start,
        first=[Flag("--model", start.checkpoint.name)],
        memory=[memory_share(MINI_SGLANG, ratio, start)] if memory_ratio is not None or ratio != MEMORY_RATIO else (),
        cap=cap if cap and (max_running is not None or cap.sequences != MAX_RUNNING) else None,
        last=[Flag(MINI_SGLANG.chunk, str(chunk), f"tokens of a prefill chunk{already}")] if chunk else (),
        port=port,
        notes=[
            *expectation(start, cap.sequences if cap else MAX_RUNNING, promised=None if cap else max_step),
            "there is no page /metrics",
        ],
    )
