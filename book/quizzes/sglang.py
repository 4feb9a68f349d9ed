"""Questions and exercise of chapter 9, SGLang in practice. Every key and every trap is computed."""

import shlex
from dataclasses import replace
from math import ceil, floor
from pathlib import Path

from scaling import H100_TEXT, LLAMA3_8B, LLAMA3_70B, Deployment, decode_step, prefill_time, weight_bytes
from scaling.course.exercise import Exercise
from scaling.course.questions import Multiple, Numeric, Option, Ordering, Question, Single, Trap, WrongOrder
from scaling.engines import sglang
from scaling.prefix import saved_bytes
from scaling.units import GB, MB, GiB, KiB, MiB, kB, ms, number

# The node of the text: eight H100, everything in bf16 unless a flag says otherwise.
NODE = Deployment(model=LLAMA3_70B, chip=H100_TEXT, chips=8, params="nominal")
BYTE_KV = replace(NODE, kv="fp8")
MFU, CHUNK, CONTEXT = 0.4, 8192, 8192
SAMPLE = (Path(__file__).parents[1] / "data" / "metrics_sglang.txt").read_text(encoding="utf-8")

# --- the shell -------------------------------------------------------------------------------------------------------

SHARE, CAP = 0.85, 256
_LINE = f"launch --mem-fraction-static {SHARE} \\   # share of the memory"
_words = shlex.split(_LINE, comments=True)

BACKSLASH = Single(
    id="09-backslash",
    prompt=(
        f"A command spans two lines. The first is: --mem-fraction-static {SHARE}, a backslash, three blanks, and a comment "
        f"that begins with #. The second is: --max-running-requests {CAP}. You paste it into bash. What happens?"
    ),
    options=(
        Option(
            text="Both lines become one command: the shell skips the comment and goes on",
            correct=_words[-1] == str(SHARE),
            feedback="Only a backslash at the very end of a line joins it to the next. Here a blank comes after it.",
        ),
        Option(
            text="The first line runs, with a blank as an extra argument; the second fails on its own",
            correct=_words[-1] == " ",
            feedback=(
                "The backslash escapes the blank after it, the comment ends the line, and nothing joins it to the next. "
                f"The last argument of the first line is {_words[-1]!r}."
            ),
        ),
        Option(
            text="Nothing runs: bash finds the syntax error first and says in which line it is",
            feedback="There is none to find. An escaped blank is a legal argument and a line may end in a comment.",
        ),
        Option(
            text="Both lines become one command, and the comment's words are passed on as arguments",
            correct=len(_words) > 4,
            feedback="A # at the start of a word begins a comment, and the shell drops the rest of that line.",
        ),
    ),
    hints=(
        "What does a backslash do to the one character that follows it?",
        "Before a line break it joins two lines. Before a blank it makes the blank part of a word.",
        "The character after this backslash is a blank.",
    ),
    solution=(
        f"The shell splits the first line into {len(_words)} words; the last is {_words[-1]!r}. The engine refuses it as an "
        "unknown argument. The second line then runs alone, and there is no program called --max-running-requests."
    ),
)

# --- the cache's dtype -----------------------------------------------------------------------------------------------

_default = NODE.kv_per_token

DEFAULT_KV = Single(
    id="09-default-kv",
    prompt="SGLang loads LLaMA 3-70B from a checkpoint stored in FP8, with --tp-size 8 and no flag for the cache. How large is the cache of one token, all GPUs together?",
    options=tuple(
        Option(text=f"{number(round(size))} bytes", correct=size == _default, feedback=feedback)
        for size, feedback in (
            (
                BYTE_KV.kv_per_token,
                "That is a byte for each number. FP8 weights do not bring an FP8 cache: each has a flag of its own.",
            ),
            (
                _default,
                "The default, auto, keeps the dtype of the activations, bf16: two bytes. One byte needs --kv-cache-dtype "
                "fp8_e4m3.",
            ),
            (
                _default / NODE.chips,
                "That is the share of one GPU: each holds one of the eight KV heads. The question asks for all of them.",
            ),
            (
                _default * NODE.model.q_heads / NODE.model.kv_heads,
                "That would be 64 KV heads, one for each query head. This model shares 8 among them.",
            ),
        )
    ),
    hints=(
        "Which dtype does the cache have if no flag names one?",
        "kv = 2 L K H b, with b the bytes of the activations' dtype.",
        "2 x 80 layers x 8 heads x 128 numbers, and two bytes for each.",
    ),
    solution=f"2 x 80 x 8 x 128 x 2 = {number(round(_default))} B. With an FP8 cache it would be {number(round(BYTE_KV.kv_per_token))} B.",
)

# --- the pool --------------------------------------------------------------------------------------------------------

BEFORE, AFTER, STATIC = 78.81, 63.72, 0.88  # of a public start-up log, in GiB
_ONE = Deployment(model=LLAMA3_8B, chip=H100_TEXT)
_token = _ONE.kv_per_token


def _pool(before: float = BEFORE, after: float = AFTER, fraction: float = STATIC, unit: float = GiB) -> float:
    """Tokens of the pool, not rounded."""
    sizes = {"free_before_load": before * unit, "free_after_load": after * unit}
    return float(sglang.kv_pool(_ONE, mem_fraction_static=fraction, **sizes).budget / _token)


POOL = Numeric(
    id="09-pool",
    prompt=(
        f"LLaMA 3.1-8B in bf16 on one H100. SGLang's log says: {BEFORE} GiB free before loading, {AFTER} GiB after. "
        f"The fraction is {STATIC}, and a token takes 131,072 bytes of cache. How many tokens does the pool hold? Give three digits."
    ),
    answer=_pool(),
    unit="tokens",
    rtol=0.005,
    right=(
        "The fraction counts what was free before loading; the weights are inside it. The server that printed this log "
        "had 444,500: the rest is the rounding of two printed numbers."
    ),
    traps=(
        Trap(
            value=_pool(before=AFTER),
            feedback="You took the fraction of what was free after loading. It is of the memory free before.",
        ),
        Trap(
            value=_pool(after=BEFORE),
            feedback="You left the weights out. What is free after loading is what they left.",
        ),
        Trap(
            value=_pool(fraction=1.0),
            feedback="You gave all that is left to the cache. A share of 1 - fraction stays free, for activations and graphs.",
        ),
        Trap(
            value=_pool(unit=GB),
            feedback="You read GiB as GB. The engine says GB in its log and means GiB, of 1,073,741,824 bytes.",
        ),
        Trap(
            value=2 * _pool(),
            feedback="Twice too many: a one-byte cache, or only the keys. The bytes of a token hold keys and values.",
        ),
        Trap(
            value=_pool() / 2,
            feedback="Half of it: keys and values are counted twice. The bytes of a token hold both.",
        ),
        Trap(
            value=(STATIC * 80 * GiB - weight_bytes(_ONE)) / _token,
            feedback="You took 80 GiB for the free memory, the name of the card. The log says what was free.",
        ),
    ),
    hints=(
        "What may weights and cache fill together, and how much of it do the weights take?",
        "rest = free after - free before x (1 - fraction). The pool is rest over the bytes of one token.",
        f"{AFTER} - {BEFORE} x {1 - STATIC:.2f}, in GiB of 1,073,741,824 bytes.",
    ),
    solution=(
        f"{AFTER} - {BEFORE} x {1 - STATIC:.2f} = {number(_pool() * _token / GiB)} GiB. "
        f"Over 131,072 B that is {number(floor(_pool()))} tokens."
    ),
)

# --- the same number, another meaning --------------------------------------------------------------------------------

REPORTED = 0.90, 0.93  # of vLLM and of SGLang, vllm-project/vllm issue 21348

FRACTION = Single(
    id="09-fraction",
    prompt=(
        "You move from SGLang with --mem-fraction-static 0.9 to vLLM with --gpu-memory-utilization 0.9, on the same GPUs "
        "with the same model. What happens to the room for the cache?"
    ),
    options=(
        Option(
            text="It shrinks: vLLM's share must hold activations and graphs as well",
            correct=True,
            feedback=(
                "SGLang's holds weights and cache only. One public report has half the tokens in vLLM on the same machine, with "
                f"fractions as close as {REPORTED[0]:.2f} and {REPORTED[1]:.2f}."
            ),
        ),
        Option(
            text="It grows: vLLM counts all the memory, SGLang only what is free before loading, which is less",
            feedback="The base is a little larger, by well under a GiB. But several GiB of activations come out of the share.",
        ),
        Option(
            text="It stays as it is: both name the share of the memory that the server may use",
            feedback="Only vLLM's does. What SGLang's names leaves activations and graphs outside.",
        ),
        Option(
            text="It cannot be compared: vLLM sizes its cache in blocks and SGLang in single tokens",
            feedback="A block of 16 tokens rounds the pool by less than a block. Both pools can be counted in tokens.",
        ),
    ),
    hints=(
        "What else lives in a GPU's memory, and on which side of the fraction is it?",
        "SGLang: weights + cache = fraction of the free memory. vLLM: everything = fraction of the total.",
        "In vLLM, take weights, activations and graphs from the share; what remains is the cache.",
    ),
    solution=(
        "In vLLM the cache gets what is left of the share after weights, activations and graphs; in SGLang after the "
        "weights alone. So 0.9 in vLLM leaves less, and 0.9 in SGLang may leave too little for a long prefill."
    ),
)

# --- chunks ----------------------------------------------------------------------------------------------------------

_token_time = prefill_time(NODE, 1, mfu=MFU)
_spare = 6 * ms

BUDGET = Numeric(
    id="09-chunk-budget",
    prompt=(
        "A decode step takes 19 ms, and 25 ms are promised. A chunk of a prompt may fill the rest. On 8 H100 in bf16 at "
        "40 % MFU, 70e9 parameters: how many prompt tokens take 6 ms?"
    ),
    answer=_spare / _token_time,
    unit="tokens",
    rtol=0.03,
    right=(
        f"A chunk of {CHUNK:,} tokens, SGLang's default on this card, takes {number(prefill_time(NODE, CHUNK, mfu=MFU) / ms)} ms: "
        f"{number(prefill_time(NODE, CHUNK, mfu=MFU) / _spare)} times the 6 ms."
    ),
    traps=(
        Trap(
            value=_spare / prefill_time(NODE, 1, mfu=1.0),
            feedback=f"That is 100 % MFU. At {100 * MFU:.0f} % each token takes {1 / MFU:.1f} times as long.",
        ),
        Trap(
            value=2 * _spare / _token_time,
            feedback="Twice too many: a multiplication and an addition are two FLOP for each parameter and token.",
        ),
        Trap(
            value=25 * ms / _token_time,
            feedback="That fills all of the 25 ms. The decode step itself needs 19 of them.",
        ),
        Trap(
            value=19 * ms / _token_time,
            feedback="That fills the 19 ms of the decode step itself. The chunk has the 6 ms that are left.",
        ),
        Trap(
            value=_spare / prefill_time(replace(NODE, chips=1), 1, mfu=MFU),
            feedback="That is one GPU. All eight work on the chunk.",
        ),
        Trap(
            value=float(CHUNK),
            feedback=f"That is the flag's value. It takes {number(prefill_time(NODE, CHUNK, mfu=MFU) / ms)} ms.",
        ),
    ),
    hints=(
        "How long does one prompt token take?",
        "T = 2 P / (N C MFU) for each token.",
        "2 x 70e9 FLOP over 8 x 990e12 x 0.4 FLOP/s.",
    ),
    solution=(f"A token takes {number(_token_time * 1e6)} us, so 6 ms hold {number(_spare / _token_time)} tokens."),
)

_chunks = ceil(CONTEXT / CHUNK)
_chunk = prefill_time(NODE, CHUNK, mfu=MFU)
_step = decode_step(NODE, 32, CONTEXT).total

NO_CHUNK = Single(
    id="09-chunk-context",
    prompt=f"A server runs with --chunked-prefill-size {CHUNK} and --context-length {CONTEXT}. What does the chunk size do to a prompt that is read alone?",
    options=(
        Option(
            text="It cuts it in two, so decode steps come in between",
            correct=_chunks == 2,
            feedback=f"A prompt has at most {CONTEXT:,} tokens, so {_chunks} chunk holds it. And by default nothing comes in between.",
        ),
        Option(
            text="It keeps decode from waiting longer than a decode step",
            correct=_chunk <= _step,
            feedback=(
                f"A chunk of {CHUNK:,} tokens takes {number(_chunk / ms)} ms at 40 % MFU, and a decode step of 32 sequences "
                f"{number(_step / ms)} ms. Decode waits for the whole chunk."
            ),
        ),
        Option(
            text="It never cuts it: a prompt of this server is one chunk",
            correct=_chunks == 1,
            feedback=(
                "No prompt is longer than one chunk. Where several prompts share a batch, the flag bounds their sum, and can cut the last of them."
            ),
        ),
        Option(
            text="It refuses it if it is long, since the answer needs room too",
            feedback="A chunk is no limit on the length. The context length is, and it counts prompt and answer together.",
        ),
    ),
    hints=(
        "How long can a prompt be here?",
        "Chunks of a prompt = ceil(tokens / chunk size).",
        f"ceil({CONTEXT:,} / {CHUNK:,}).",
    ),
    solution=(
        f"The longest prompt has fewer than {CONTEXT:,} tokens: one chunk. {CHUNK:,} is also the default on a GPU of 80 GB, and "
        "8,192 tokens are this model's maximum, so neither flag changes anything."
    ),
)

# --- shared prefixes -------------------------------------------------------------------------------------------------

PREFIX, USERS = 2048, 100
_saved = saved_bytes(LLAMA3_70B, PREFIX, USERS, kv="fp8")
_kib = LLAMA3_70B.kv_bytes_per_token("fp8") / KiB

SAVED = Numeric(
    id="09-prefix-saved",
    prompt=(
        f"{USERS} requests begin with the same system prompt of {PREFIX:,} tokens. LLaMA 3-70B keeps one byte for each number "
        "in the cache. How much memory does it save to store the prefix once?"
    ),
    answer=_saved,
    unit="GB",
    rtol=0.004,
    right=f"One copy must stay, so {USERS - 1} are saved. In bf16, SGLang's default, it would be {number(saved_bytes(LLAMA3_70B, PREFIX, USERS) / GB)} GB.",
    traps=(
        Trap(
            value=saved_bytes(LLAMA3_70B, PREFIX, USERS + 1, kv="fp8"),
            feedback=f"You saved all {USERS} copies. One has to stay.",
        ),
        Trap(
            value=saved_bytes(LLAMA3_70B, PREFIX, 2, kv="fp8"),
            feedback=f"That is one copy. {USERS} requests would hold {USERS} of them.",
        ),
        Trap(
            value=saved_bytes(LLAMA3_70B, PREFIX, USERS),
            feedback="That is two bytes for each number. The question gives one.",
        ),
        Trap(
            value=saved_bytes(LLAMA3_70B, PREFIX, USERS, kv="int4"),
            feedback="Half of it: each token keeps keys and values.",
        ),
        Trap(
            value=USERS * _saved / (USERS - 1) * MB / MiB,
            feedback="You took 320 MB for the prefix, and 100 copies. They are 320 MiB, and one copy stays.",
        ),
        Trap(
            value=_saved * GB / GiB,
            feedback="The number is right in GiB, and you called it GB. A GB is 7 % smaller: divide the bytes by 10^9.",
        ),
        Trap(
            value=_saved * kB / KiB,
            feedback=f"You took {_kib:.0f},000 B for a token. It takes {_kib:.0f} KiB, and a KiB is 1,024 bytes.",
        ),
    ),
    hints=(
        "How many copies are there without sharing, and how many with?",
        "saved = (requests - 1) x prefix tokens x kv.",
        f"{USERS - 1} x {PREFIX:,} x 163,840 B.",
    ),
    solution=f"{USERS - 1} x {PREFIX:,} x 163,840 B = {number(_saved / GB)} GB.",
)

# --- the metrics page ------------------------------------------------------------------------------------------------

METRICS = Multiple(
    id="09-metric-names",
    prompt="Which of these can you read on SGLang's page /metrics? Tick all.",
    options=tuple(
        Option(text=name, correct=f"\n{name}" in SAMPLE, feedback=feedback)
        for name, feedback in (
            (
                "sglang:avg_decode_latency",
                "There is no such name anywhere. The time per token is a histogram: sglang:inter_token_latency_seconds.",
            ),
            ("sglang:token_usage", "A gauge from 0 to 1: the share of the pool in use. Not a number of tokens."),
            (
                "sglang:time_to_first_token_seconds",
                "A histogram of TTFT, time in the queue included: a sum, a count and buckets, so mean and quantiles.",
            ),
            (
                "sglang:avg_prefill_latency",
                "There is no such name anywhere. Prefill shows in sglang:time_to_first_token_seconds.",
            ),
            (
                "sglang:cache_hit_rate",
                "A gauge, but only of the last prefill. For a rate over time divide two counters.",
            ),
        )
    ),
    hints=(
        "What is each: a value of this moment, a distribution, or a mean since the start?",
        "Prometheus pages hold gauges, counters, and histograms with a sum and a count.",
        "Two of the five exist nowhere in the engine.",
    ),
    solution=(
        "token_usage and cache_hit_rate are gauges and time_to_first_token_seconds is a histogram. Means come from "
        "a histogram's sum over its count; no avg_... is printed."
    ),
)

# --- two pages -------------------------------------------------------------------------------------------------------


def _held_up(sum_before: float, count_before: float, sum_now: float, count_now: float, step_ms: float) -> float:
    return 1 - step_ms * ms * (count_now - count_before) / (sum_now - sum_before)


HELD_UP = Exercise(
    _held_up,
    cases=tuple(
        dict(zip(("sum_before", "count_before", "sum_now", "count_now", "step_ms"), case, strict=True))
        for case in (
            (300.0, 20_000, 900.0, 45_000, 8.0),
            (0.0, 0, 120.0, 12_000, 9.5),  # the earlier page is of the very start
            (5000.0, 400_000, 5600.0, 454_000, 10.0),  # hardly anything waits
        )
    ),
    mistakes={
        "you took the mean since the start. What happened between the two pages is the difference of the two.": (
            lambda sum_now, count_now, step_ms, **_: 1 - step_ms * ms * count_now / sum_now
        ),
        "you compared milliseconds with seconds: the sums of the histogram are in seconds.": lambda **a: _held_up(
            **{**a, "step_ms": a["step_ms"] / ms}
        ),
        "that is the share in which decoding went on. Asked is the rest.": lambda **a: 1 - _held_up(**a),
        "that is how much longer than a step the mean is, as a share of the step. Asked is the share of the mean.": (
            lambda **a: 1 / (1 - _held_up(**a)) - 1
        ),
        "that is in per cent. Return a share of 0 to 1.": lambda **a: 100 * _held_up(**a),
        "those are the seconds lost by all tokens. Divide by all the seconds between tokens.": lambda **a: (
            _held_up(**a) * (a["sum_now"] - a["sum_before"])
        ),
        "that is the mean time between tokens. Compare it with the step.": lambda **a: (
            (a["sum_now"] - a["sum_before"]) / (a["count_now"] - a["count_before"])
        ),
    },
)

# --- tuning ----------------------------------------------------------------------------------------------------------

_FIT, _SHARE, _DTYPE, _CAP, _CHUNKS = _ORDER = (
    "fit the weights: their dtype and --tp-size",
    "set the share of the memory for weights and cache",
    "choose the dtype of the cache: is that pool too small in bf16?",
    "if a step is promised, cap the running requests by it",
    "with mixed chunks, set their size from the promise on TPOT",
)

TUNING = Ordering(
    id="09-tuning-order",
    prompt="You tune a new server. Put the decisions in an order in which each needs only what was decided before it.",
    items=_ORDER,
    right="Each decision uses what the ones before it have fixed: weights leave a pool, the pool and its dtype give a batch, the batch gives a step.",
    other="Ask of each decision which number it needs. The pool needs the weights; the batch needs the pool and the bytes of a token.",
    traps=(
        WrongOrder(
            order=(_CAP, _FIT, _SHARE, _DTYPE, _CHUNKS),
            feedback="Before you cap the batch you must know how many sequences fit: that needs the pool and the cache's dtype.",
        ),
        WrongOrder(
            order=(_CHUNKS, _FIT, _SHARE, _DTYPE, _CAP),
            feedback="The chunk has to fit into what a step leaves of the promise, and the step depends on all the others.",
        ),
        WrongOrder(
            order=_ORDER[::-1], feedback="The order is right but runs backwards: first of all, the weights must fit."
        ),
    ),
    hints=(
        "What must hold before the server starts at all?",
        "The step follows from the batch, the batch from the pool and the bytes of a token, the pool from the weights.",
        "The chunk has to fit between the step and the promise. On what does the step depend?",
    ),
    solution="; ".join(_ORDER) + ".",
)

QUESTIONS: tuple[Question, ...] = (DEFAULT_KV, BACKSLASH, POOL, FRACTION, BUDGET, NO_CHUNK, SAVED, METRICS, TUNING)
