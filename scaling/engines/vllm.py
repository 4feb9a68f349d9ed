"""vLLM: the launch command, the pool of the KV cache, and what its metrics page says."""

from scaling._checks import flag, share, whole
from scaling.deployment import Deployment
from scaling.engines import options
from scaling.engines.command import Command, Option
from scaling.engines.diagnosis import diagnose as diagnose
from scaling.engines.metrics import read_metrics as read_metrics
from scaling.engines.pool import vllm_pool as kv_pool
from scaling.engines.rules import Engine, check, checkpoint_of, context_in, copies, gb, running_cap, sized
from scaling.memory import weight_bytes
from scaling.units import GiB

__all__ = ["VLLM", "default_step_tokens", "diagnose", "kv_pool", "launch_command", "read_metrics"]

UTILIZATION = 0.92

VLLM = Engine(
    name="vLLM",
    version="0.33.0",
    date="2026-11-01",
    weights=("bf16", "fp16", "fp8", "int8", "int4", "fp4"),
    kv={
        "bf16": "bfloat16",
        "fp8": "fp8_e4m3",
        "int8": "int8_per_token_head",
        "int4": "int4_per_token_head",
        "fp4": "nvfp4",
    },
    # The name fp8 alone has come to mean a checkpoint that is stored in FP8 already.
    online="fp8_per_tensor",
    kv_flag="auto, bfloat16, fp8_e4m3, fp8_e5m2, int8_per_token_head and others",
)


def default_step_tokens(d: Deployment) -> int:
    """Tokens of one step, decode and prefill together, if nobody says otherwise. [tokens]

    Source: vLLM 0.33.0, the server's default of ``--max-num-batched-tokens``.
    """
    M = d.chip.device_memory / GiB
    if M >= 160:
        return 16_384
    return 8192 if M >= 70 and not d.chip.name.startswith("A100") else 2048


def launch_command(
    d: Deployment,
    *,
    model_path: str | None = None,
    context: int | None = None,
    max_running: int | None = None,
    max_step: float | None = None,
    gpu_memory_utilization: float | None = None,
    max_num_batched_tokens: int | None = None,
    replicas: int = 1,
    host: str | None = None,
    port: int | None = None,
    quantized: bool = False,
) -> Command:
    """The command that starts vLLM on this deployment, with a reason for each flag. Defaults are not written.

    `context`: tokens that a sequence may grow to; the cap on running sequences follows from it. [tokens]
    `max_step`: longest decode step allowed, the TPOT limit. [s] `max_running`: a cap of one's own. [sequences]
    `gpu_memory_utilization`: share of a GPU's memory for everything, activations too; the deployment's `usable` leaves
    them out and is not handed on. [-] `max_num_batched_tokens`: of one step. [tokens]
    `quantized`: the checkpoint at `model_path` is stored in the deployment's weight dtype already.

    Raises ``ValueError`` that says what to change if vLLM would not start with this deployment.
    Source: vLLM 0.33.0; tests/data/engine_flags.json.
    """
    check(VLLM, d)
    path = checkpoint_of(d, model_path, quantized=flag("quantized", quantized))
    asked = gpu_memory_utilization is not None
    utilization = float(share("gpu_memory_utilization", gpu_memory_utilization)) if asked else UTILIZATION
    # vLLM does not start if one request of the longest length does not fit.
    longest = context_in(d, context) or d.model.context_window
    run = sized(d, min(utilization, d.usable), longest, knob="gpu_memory_utilization")
    R, cap = copies(d, replicas), running_cap(run, context, max_running, max_step)
    flags = [
        *options.ways("--tensor-parallel-size", run),
        *options.replicas("--data-parallel-size", d, R),
        *options.dtypes(VLLM, d, quantized=quantized),
    ]
    if asked:
        each = weight_bytes(d) / d.chips
        rest = f"{gb(utilization * d.chip.memory - each)} for activations, CUDA graphs and cache"
        why = f"of all memory, for everything: {gb(each)} of weights on each GPU and {rest}"
        flags.append(Option("--gpu-memory-utilization", f"{utilization:g}", why))
    flags += options.longest("--max-model-len", d, longest)
    if cap:
        flags.append(Option("--max-num-seqs", str(cap.sequences), cap.why))
    if max_num_batched_tokens is not None:
        flags.append(_step_tokens(d, whole("max_num_batched_tokens", max_num_batched_tokens)))
    scales = ("each token and head has a scale on top of those bytes",) if d.kv in ("int8", "int4") else ()
    return Command(
        engine=VLLM.name,
        version=VLLM.version,
        date=VLLM.date,
        program=("vllm", "serve", path),
        options=(*flags, *options.listening(host, port, 8000)),
        notes=(*options.notes(d), *scales, "chunked prefill, prefix caching and the page /metrics are on by default"),
    )


def _step_tokens(d: Deployment, tokens: int) -> Option:
    why = "of one step, decode and prefill together, more of them raise the activation peak"
    if tokens == default_step_tokens(d):
        why = f"the default on {d.chip.name} already, {why}"
    return Option("--max-num-batched-tokens", str(tokens), why)
