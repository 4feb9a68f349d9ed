"""Mini-SGLang, the teaching version of SGLang: the launch command and the pool of the KV cache."""

from scaling._checks import share, whole
from scaling.deployment import Deployment
from scaling.engines import options
from scaling.engines.command import Command, Option
from scaling.engines.pool import mini_sglang_pool as kv_pool
from scaling.engines.rules import Engine, check, checkpoint_of, running_cap, sized

__all__ = ["MINI_SGLANG", "kv_pool", "launch_command"]

MEMORY_RATIO, MAX_RUNNING, CHUNK = 0.9, 256, 8192

MINI_SGLANG = Engine(
    name="Mini-SGLang",
    version="commit 20fcd7f3c6a1",
    date="2026-03-13",
    weights=("bf16", "fp16"),
    kv={},
    nvidia=True,
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
    `max_step`: longest decode step allowed, the TPOT limit. [s] `max_running`: a cap of one's own. [sequences]
    `memory_ratio`: share of the free memory for weights and cache; the deployment's `usable` if that is below 1. [-]

    Raises ``ValueError`` that says what to change if Mini-SGLang would not start with this deployment.
    Source: Mini-SGLang at 20fcd7f3c6a1; tests/data/engine_flags.json.
    """
    check(MINI_SGLANG, d)
    path = checkpoint_of(d, model_path, quantized=False)
    asked = memory_ratio if memory_ratio is not None else d.usable if d.usable < 1 else None
    ratio = MEMORY_RATIO if asked is None else float(share("memory_ratio", asked))
    run = sized(d, ratio, context, knob="memory_ratio")
    cap = running_cap(run, context, max_running, max_step)
    flags = [
        Option("--model", path),
        *options.ways("--tp-size", run),
        *options.dtypes(MINI_SGLANG, d, quantized=False),
    ]
    if memory_ratio is not None or ratio != MEMORY_RATIO:
        flags.append(options.memory_share("--memory-ratio", ratio, run))
    if cap and (max_running is not None or cap.sequences != MAX_RUNNING):
        flags.append(Option("--max-running-requests", str(cap.sequences), cap.why))
    if chunked_prefill is not None:
        chunk = whole("chunked_prefill", chunked_prefill)
        already = f", {CHUNK} is the default already" if chunk == CHUNK else ""
        flags.append(Option("--max-prefill-length", str(chunk), f"tokens of a prefill chunk{already}"))
    return Command(
        engine=MINI_SGLANG.name,
        version=MINI_SGLANG.version,
        date=MINI_SGLANG.date,
        program=("python", "-m", "minisgl"),
        options=(*flags, *options.listening(None, port, 1919)),
        notes=(*options.notes(d), "there is no page /metrics"),
    )
