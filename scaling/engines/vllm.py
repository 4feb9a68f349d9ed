"""vLLM: the launch command and the pool of the KV cache."""

import math

from scaling._array import Array
from scaling._checks import record, share, shown, whole
from scaling.deployment import Deployment
from scaling.engines.command import (
    Command,
    CrossCheck,
    Flag,
    address_of,
    command_of,
    cross_check,
    machine_flags,
)
from scaling.engines.pool import KvPool, chip_token_bytes, free_memory, vllm_pool as kv_pool, weights_on_chip
from scaling.engines.rules import Engine, Start, as_run, is_blackwell, share_of, start_of
from scaling.engines.running import expectation, running_cap
from scaling.engines.words import gb
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
    stages="--pipeline-parallel-size",
    replicas="--data-parallel-size",
    cache="--kv-cache-dtype",
    memory="--gpu-memory-utilization",
    longest="--max-model-len",
    cap="--max-num-seqs",
    chunk="--max-num-batched-tokens",
    graphs="--enforce-eager is not set",
    prefix="--enable-prefix-caching is on",
    mixed="a smaller --max-num-batched-tokens",
    benchmark=("vllm", "bench", "serve"),
    splits_cache=True,
    open=True,
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


def default_sequences(d: Deployment) -> int:
    """Sequences that run at once at the most if nobody says otherwise. [sequences]

    Source: vLLM 0.33.0, the server's default of ``--max-num-seqs``.
    """
    return 256 if default_step_tokens(d) == 2048 else 1024


# What vLLM refuses at its start, by file and line of 0.33.0.
CROSS_CHECKS = (
    CrossCheck(
        "config/scheduler.py line 331",
        lambda f: f["tokens"] >= f["sequences"],
        "max_num_batched_tokens must be at least the {sequences} sequences that may run at once, not {tokens}",
    ),
    CrossCheck(
        "engine/arg_utils.py line 2406",
        lambda f: f["replicas"] * f["stages"] * f["ways"] % f["machines"] == 0,
        "machines must share the {stages} stages of {ways} ways evenly, not {machines}",
    ),
    CrossCheck(
        "config/model.py line 1576",
        lambda f: f["split"] == 1 or f["ways"] > f["kv_heads"],
        "the cache can be split only over more ways than the {kv_heads} KV heads, not over {ways}",
    ),
    CrossCheck(
        "config/model.py line 1586",
        lambda f: f["split"] <= max(1, f["ways"] // f["kv_heads"]),
        "the cache must be split into at most the ways over the {kv_heads} KV heads, not into {split} on {ways} ways",
    ),
    CrossCheck(
        "config/model.py line 1596",
        lambda f: f["heads"] // f["kv_heads"] % f["split"] == 0,
        "the cache must be split into a divisor of {heads} query heads over {kv_heads} KV heads, not {split}",
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
    gpu_memory_utilization: float | None = None,
    max_num_batched_tokens: int | None = None,
    replicas: int = 1,
    stages: int = 1,
    head: str | None = None,
    rank: int = 0,
    host: str | None = None,
    port: int | None = None,
    quantized: bool = False,
) -> Command:
    """The command that starts vLLM on this deployment, with a reason for each flag. Defaults are not written.

    `model_path`: of the checkpoint; the published one of the deployment's dtype if not given.
    `context`: tokens that the longest sequence may grow to. [tokens]
    `mean`: tokens that a running sequence has on average, for what to expect; `context` if not given. [tokens]
    `max_running`: a cap of one's own. [sequences]
    `max_step`: longest decode step promised, TPOT; the cap that keeps it follows. [s]
    `gpu_memory_utilization`: share of a GPU's memory for everything, activations too; the deployment's `usable` leaves
    them out and is not handed on. [-]
    `max_num_batched_tokens`: of one step. [tokens]
    `replicas`: full copies side by side.
    `stages`: of a pipeline that shares the chips.
    `head`, `rank`: with several machines, the first one's address and port, and which one this command is for, from 0.
    `quantized`: the checkpoint at `model_path` is stored in the deployment's weight dtype already.

    Raises ``ValueError`` that says what to change if vLLM would not start with this deployment.
    Source: vLLM 0.33.0; tests/data/engine_flags.json.
    """
    share_of(d)
    asked = _utilization_in(d, gpu_memory_utilization)

    def start(sequences: int) -> Start:
        u = UTILIZATION if asked is None else asked
        return start_of(
            VLLM,
            d,
            lambda one: expected_pool(one, gpu_memory_utilization=u, max_num_seqs=sequences),
            model_path=model_path,
            quantized=quantized,
            context=context,
            mean=mean,
            stages=stages,
            head=head,
            whole_window=True,  # vLLM does not start if one request of the longest length does not fit
            knob="gpu_memory_utilization",
        )

    sequences, tokens = _batch(d, max_running, max_num_batched_tokens)
    found = start(sequences)
    cap = running_cap(found, max_running, max_step)
    if cap and max_running is None:
        sequences = cap.sequences
        found = start(sequences)  # fewer sequences have fewer logits, so the pool is larger
    cross_check(VLLM, CROSS_CHECKS, _checked(found, sequences, tokens, replicas))
    return command_of(
        VLLM,
        found,
        program=(*VLLM.program, found.checkpoint.name),
        memory=[*_across(found, head, rank), *([] if asked is None else [_utilization(found, asked)])],
        longest=found.longest or d.model.context_window,
        cap=cap,
        last=[] if max_num_batched_tokens is None else [_step_tokens(d, tokens)],
        replicas=replicas,
        host=host,
        port=port,
        rank=rank,
        notes=_expected(found, sequences, replicas, None if cap else max_step),
    )


def _batch(d: Deployment, cap: int | None, asked: int | None) -> tuple[int, int]:
    """Sequences and tokens of a step at the most, as vLLM fills in what is not given."""
    tokens = default_step_tokens(d) if asked is None else whole("max_num_batched_tokens", asked)
    return (min(default_sequences(d), tokens) if cap is None else whole("max_running", cap)), tokens


def _utilization_in(d: Deployment, asked: float | None) -> float | None:
    """The share of the whole memory, if one was asked for.

    Raises ``ValueError`` for more than is free at the start (v1/worker/utils.py line 763).
    """
    if asked is None:
        return None
    free = free_memory(d) / d.chip.device_memory
    if share("gpu_memory_utilization", asked) <= free:
        return float(asked)
    raise ValueError(
        f"gpu_memory_utilization must be at most {math.floor(free * 1000) / 1000:g} on {d.chip.name}, not "
        f"{shown(asked)}: CUDA takes some of the memory first, and vLLM does not start where less is free."
    )


def _expected(start: Start, sequences: int, replicas: int, promised: float | None) -> list[str]:
    scales = ["each token and head has a scale on top of those bytes"] if start.d.kv in ("int8", "int4") else []
    said = expectation(start, sequences, copies=replicas, promised=promised)
    return [*scales, *said, *_captured(start, sequences)]


def _captured(start: Start, sequences: int) -> list[str]:
    """Where the batch to expect is beyond the graphs that vLLM captures.

    Source: vLLM 0.33.0, config/vllm.py, lines 2463 to 2470.
    """
    most, B = 1024 if is_blackwell(start.d) else 512, min(start.held, sequences)
    if B <= most:
        return []
    return [f"graphs are captured up to {most} sequences: --max-cudagraph-capture-size {B} covers the batch of {B:,}"]


def _checked(start: Start, sequences: int, tokens: int, replicas: int) -> dict[str, int]:
    """The flags by the names that `CROSS_CHECKS` give them."""
    d = start.d
    ways = d.chips // start.stages
    return {
        "sequences": sequences,
        "tokens": tokens,
        "replicas": whole("replicas", replicas),
        "stages": start.stages,
        "ways": ways,
        "machines": start.machines,
        "split": _split(d, ways),
        "heads": d.model.q_heads,
        "kv_heads": d.model.kv_heads,
    }


def _split(d: Deployment, ways: int) -> int:
    """Parts of the cache of one KV head, where the deployment spreads the cache over all chips and vLLM can."""
    return max(1, ways // d.model.kv_heads) if as_run(VLLM, d).kv_split == "even" else 1


def _across(start: Start, head: str | None, rank: int) -> list[Flag]:
    """A cache that is split beyond the KV heads, and the flags of several machines."""
    d, flags = start.d, []
    ways = d.chips // start.stages
    if (parts := _split(d, ways)) > 1:
        why = f"{ways} ways share {d.model.kv_heads} KV heads: without it each is stored {parts} times"
        flags.append(Flag("--decode-context-parallel-size", str(parts), why))
    if machines := machine_flags(start, head, rank):
        address, port = address_of(head)
        address = address.strip("[]")  # the port has a flag of its own, so IPv6 needs no brackets
        flags += [
            *machines,
            Flag("--master-addr", address, "of the machine with rank 0"),
            Flag("--master-port", port, "at which the others find it"),
        ]
        if rank:
            flags.append(Flag("--headless", None, "only the machine with rank 0 answers requests"))
    return flags


def _utilization(start: Start, share: float) -> Flag:
    each = weights_on_chip(start.d)
    rest = f"{gb(share * start.d.chip.device_memory - each)} for activations, CUDA graphs and cache"
    why = f"of all memory, for everything: {gb(each)} of weights on each GPU and {rest}"
    return Flag(VLLM.memory, f"{share:g}", why)


def _step_tokens(d: Deployment, tokens: int) -> Flag:
    why = "of one step, decode and prefill together, more of them raise the activation peak"
    if tokens == default_step_tokens(d):
        why = f"the default on {d.chip.name} already, {why}"
    return Flag(VLLM.chunk, str(tokens), why)


# Before the pool is made, sampling for as many sequences as may run is warmed up. In what llm-d measured with vLLM
# 0.11 that is the peak for 0.6, 8 and 32 billion parameters alike, 9.73 times the logits in fp32.
_LOGITS_COPIES = 9.73
_NON_TORCH = {False: 0.14 * GiB, True: 0.6 * GiB}  # on one GPU, and with the communicators of tensor parallelism
# Subtracted since 0.21.0. No log here states it: a guess, the order of what captured graphs take elsewhere.
_GRAPHS = 0.5 * GiB


def activation_peak(d: Deployment, sequences: float) -> float:
    """What vLLM's profile run finds at its peak beside the weights, an estimate: warming up the sampler. [B per chip]

    So many times the logits of all `sequences`, in fp32. What a long prefill needs is left out, where it is more.

    Source: docs/empirical-vllm-memory-results.md of llm-d-planner, vLLM 0.11.0, 2026.
    """
    return _LOGITS_COPIES * 4.0 * sequences * d.model.vocab


def expected_pool(
    d: Deployment,
    *,
    gpu_memory_utilization: Array = UTILIZATION,
    max_num_seqs: int | None = None,
) -> KvPool:
    """The pool that vLLM will make, before a log tells: `kv_pool` with an estimate of what a log would state.

    `gpu_memory_utilization`: share of the whole memory for everything. [-]
    `max_num_seqs`: sequences at once; vLLM's own choice if not given. [sequences]

    Raises ``ValueError`` for nonsense; a pool without room is a value with a negative `budget`.
    """
    record("d", d, Deployment)
    B = default_sequences(d) if max_num_seqs is None else whole("max_num_seqs", max_num_seqs)
    return kv_pool(
        d,
        gpu_memory_utilization=gpu_memory_utilization,
        weights=weights_on_chip(d),
        non_torch=_NON_TORCH[d.chips > 1],
        activation_peak=activation_peak(d, B),
        graphs=_GRAPHS,
        token_bytes=chip_token_bytes(d) / _split(d, d.chips),
    )
