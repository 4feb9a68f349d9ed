"""vLLM: the launch command and the pool of the KV cache."""

from math import inf

from scaling._array import Array, ceil, maximum, minimum
from scaling._checks import flag, positive, share, whole
from scaling.deployment import Deployment
from scaling.engines.command import Command, Flag, command_of
from scaling.engines.pool import KvPool, loaded_weight_bytes, pool_from_bytes, ranks
from scaling.engines.rules import Engine, checkpoint_of, context_in, gb, refuse_unsupported, running_cap, sized
from scaling.memory import weight_bytes
from scaling.units import GiB

UTILIZATION = 0.92  # its own default

VLLM = Engine(
    name="vLLM",
    version="0.33.0",
    date="2026-11-01",
    program=("vllm", "serve"),
    port=8000,
    weights=("bf16", "fp16", "fp8", "int8", "int4", "fp4"),
    kv=(
        ("bf16", "bfloat16"),
        ("fp8", "fp8_e4m3"),
        ("int8", "int8_per_token_head"),
        ("int4", "int4_per_token_head"),
        ("fp4", "nvfp4"),
    ),
    # The name fp8 alone has come to mean a checkpoint that is stored in FP8 already.
    online="fp8_per_tensor",
    kv_words="auto, bfloat16, fp8_e4m3, fp8_e5m2, int8_per_token_head and others",
    ways="--tensor-parallel-size",
    replicas="--data-parallel-size",
    cache="--kv-cache-dtype",
    memory="--gpu-memory-utilization",
    longest="--max-model-len",
    cap="--max-num-seqs",
    chunk="--max-num-batched-tokens",
    graphs="--enforce-eager is not set",
    prefix="--enable-prefix-caching is on",
    mixed="a smaller --max-num-batched-tokens",
)


def default_step_tokens(d: Deployment) -> int:
    """Tokens of one step, decode and prefill together, if nobody says otherwise. [tokens]

    Source: vLLM 0.33.0, the server's default of ``--max-num-batched-tokens``.
    """
    M = d.chip.device_memory / GiB
    if M >= 160:
        return 16_384
    # vLLM asks whether the name has "a100" in it; of GPUs that large, the A100 is the one without FP8 arithmetic.
    return 8192 if M >= 70 and "fp8" in d.chip.flops else 2048


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
    `max_running`: a cap of one's own. [sequences]
    `max_step`: longest decode step allowed, the TPOT limit. [s]
    `gpu_memory_utilization`: share of a GPU's memory for everything, activations too; the deployment's `usable` leaves
    them out and is not handed on. [-]
    `max_num_batched_tokens`: of one step. [tokens]
    `replicas`: full copies side by side.
    `quantized`: the checkpoint at `model_path` is stored in the deployment's weight dtype already.

    Raises ``ValueError`` that says what to change if vLLM would not start with this deployment.
    Source: vLLM 0.33.0; tests/data/engine_flags.json.
    """
    refuse_unsupported(VLLM, d)
    path = checkpoint_of(d, model_path, quantized=flag("quantized", quantized))
    asked = None if gpu_memory_utilization is None else share("gpu_memory_utilization", gpu_memory_utilization)
    # vLLM does not start if one request of the longest length does not fit.
    longest = context_in(d, context) or d.model.context_window
    run = sized(d, min(UTILIZATION if asked is None else asked, d.usable), longest, knob="gpu_memory_utilization")
    return command_of(
        VLLM,
        run,
        program=(*VLLM.program, path),
        memory=[] if asked is None else [_utilization(d, asked)],
        longest=longest,
        cap=running_cap(run, context, max_running, max_step),
        last=[] if max_num_batched_tokens is None else [_step_tokens(d, max_num_batched_tokens)],
        replicas=replicas,
        quantized=quantized,
        host=host,
        port=port,
        notes=[
            *(["each token and head has a scale on top of those bytes"] if d.kv in ("int8", "int4") else []),
            "chunked prefill, prefix caching and the page /metrics are on by default",
        ],
    )


def _utilization(d: Deployment, share: float) -> Flag:
    each = weight_bytes(d) / d.chips
    rest = f"{gb(share * d.chip.memory - each)} for activations, CUDA graphs and cache"
    why = f"of all memory, for everything: {gb(each)} of weights on each GPU and {rest}"
    return Flag(VLLM.memory, f"{share:g}", why)


def _step_tokens(d: Deployment, asked: int) -> Flag:
    tokens = whole("max_num_batched_tokens", asked)
    why = "of one step, decode and prefill together, more of them raise the activation peak"
    if tokens == default_step_tokens(d):
        why = f"the default on {d.chip.name} already, {why}"
    return Flag(VLLM.chunk, str(tokens), why)


def vllm_pool(
    d: Deployment,
    *,
    non_torch: Array,
    activation_peak: Array,
    graphs: Array = 0.0,
    total_memory: Array = None,
    gpu_memory_utilization: Array = 0.92,
    weights: Array = None,
    block_size: int = 16,
    max_model_len: int | None = None,
    token_bytes: float | None = None,
) -> KvPool:
    """Tokens in vLLM's pool, which is a share of the whole memory less all that is not cache. [tokens]

    ::

        pool = u total - weights - activations - graphs - the rest    tokens = page * floor(pool / (page * token_bytes))

    The rank with the least room decides.
    `total_memory`: of the device, as it reports. [B per chip]
    `gpu_memory_utilization`: share u of it for **everything**. [-]
    `weights`: as loaded; `loaded_weight_bytes` if not given. [B per chip]
    `non_torch`: the rest, NCCL and the driver, 0.1 to 0.6 GiB in the logs, 5.7 GiB with 8 ways on H200. [B per chip]
    `activation_peak`: profiled at the token budget of a step, 1 to 10 GiB. [B per chip]
    `graphs`: subtracted since 0.21.0. [B per chip]
    `block_size`: of a page. [tokens]
    `max_model_len`: of one request; the model's window if not given. [tokens per sequence]

    Exact for what a start-up log states; what it does not state has to be estimated, which errs both ways.

    Raises ``ValueError`` for nonsense; a pool without room is a value with a negative `budget`.
    Source: vLLM 0.6 to 0.33.0, its code and start-up logs.
    """
    fraction = share("gpu_memory_utilization", gpu_memory_utilization)
    block = whole("block_size", block_size)
    window = d.model.context_window if max_model_len is None else whole("max_model_len", max_model_len)
    given = {
        "total_memory": d.chip.device_memory if total_memory is None else total_memory,
        "weights": loaded_weight_bytes(d) if weights is None else weights,
        "non_torch": non_torch,
        "activation_peak": activation_peak,
        "graphs": graphs,
    }
    least: Array = inf
    needed: Array = 0.0
    for total, *taken in ranks(given):
        total, used = positive("total_memory", total), sum(taken)
        least = minimum(least, ceil(total * fraction) - used)
        needed = maximum(needed, used / total)
    pool = pool_from_bytes(d, least, page_size=block, context=window, token_bytes=token_bytes)
    return pool._replace(fraction=fraction, minimum_fraction=needed)


kv_pool = vllm_pool
