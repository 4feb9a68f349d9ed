"""Mini-SGLang, the teaching version of SGLang: the launch command and the pool of the KV cache."""

from scaling._array import Array, floor
from scaling._checks import share, whole
from scaling.deployment import Deployment
from scaling.engines.command import Command, Flag, command_of, memory_share
from scaling.engines.pool import KvPool, around_loading, pool_from_bytes
from scaling.engines.rules import Engine, checkpoint_of, refuse_unsupported, running_cap, sized

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
    max_running: int | None = None,
    max_step: float | None = None,
    memory_ratio: float | None = None,
    chunked_prefill: int | None = None,
    port: int | None = None,
) -> Command:
    """The command that starts Mini-SGLang on this deployment, with a reason for each flag. Defaults are not written.

    `context`: tokens that a sequence may grow to; the cap on running sequences follows from it. [tokens]
    `max_running`: a cap of one's own. [sequences]
    `max_step`: longest decode step allowed, the TPOT limit. [s]
    `memory_ratio`: share of the free memory for weights and cache; the deployment's `usable` if that is below 1. [-]
    `chunked_prefill`: of one prefill chunk. [tokens]

    Raises ``ValueError`` that says what to change if Mini-SGLang would not start with this deployment.
    Source: Mini-SGLang at 20fcd7f3c6a1; tests/data/engine_flags.json.
    """
    refuse_unsupported(MINI_SGLANG, d)
    path = checkpoint_of(d, model_path, quantized=False)
    asked = memory_ratio if memory_ratio is not None else d.usable if d.usable < 1 else None
    ratio = MEMORY_RATIO if asked is None else float(share("memory_ratio", asked))
    run = sized(d, ratio, context, knob="memory_ratio")
    cap = running_cap(run, context, max_running, max_step)
    chunk = None if chunked_prefill is None else whole("chunked_prefill", chunked_prefill)
    already = f", {CHUNK} is the default already" if chunk == CHUNK else ""
    return command_of(
        MINI_SGLANG,
        run,
        first=[Flag("--model", path)],
        memory=[memory_share(MINI_SGLANG, ratio, run)] if memory_ratio is not None or ratio != MEMORY_RATIO else (),
        cap=cap if cap and (max_running is not None or cap.sequences != MAX_RUNNING) else None,
        last=[Flag(MINI_SGLANG.chunk, str(chunk), f"tokens of a prefill chunk{already}")] if chunk else (),
        port=port,
        notes=["there is no page /metrics"],
    )


def mini_sglang_pool(
    d: Deployment,
    *,
    free_before_load: Array = None,
    memory_ratio: Array = 0.9,
    free_after_load: Array = None,
    weights: Array = None,
    page_size: int = 1,
    context: int | None = None,
    token_bytes: float | None = None,
) -> KvPool:
    """Tokens in Mini-SGLang's pool, which is a share of the free memory less what loading took. [tokens]

    ::

        pool = floor(m free_before) - (free_before - free_after)    tokens = page * floor(pool / (page * token_bytes))

    The arguments are those of `sglang_pool`, except that of several ranks the one with the **most** free memory counts;
    ranks that differ by more than 2 GiB are refused by the engine. `memory_ratio`: the share m. [-] It needs two pages
    to start.

    Leaves out what activations and graphs need, as `sglang_pool` does: errs high.

    Raises ``ValueError`` for nonsense; a pool without room is a value with a negative `budget`.
    Source: mini-sglang, python/minisgl/engine/engine.py, 2026-03.
    """
    before, after = around_loading(d, max, free_before_load, free_after_load, weights)
    fraction = share("memory_ratio", memory_ratio)
    budget = floor(fraction * before) - (before - after)
    pool = pool_from_bytes(d, budget, page_size=page_size, context=context, token_bytes=token_bytes)
    return pool._replace(fraction=fraction, minimum_fraction=1.0 - after / before)


kv_pool = mini_sglang_pool
