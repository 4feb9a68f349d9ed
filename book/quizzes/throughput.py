"""Chapter 4: the critical batch, what slices hold and deliver, the plateau, and the best batch."""

from dataclasses import replace
from math import isclose
from typing import Any

from quizzes import memory
from scaling import (
    H100_TEXT,
    LLAMA3_70B,
    TPU_V5E_TEXT,
    Deployment,
    cache_bytes,
    critical_batch,
    decode_step,
    max_batch,
    mfu,
    plateau,
    queries_per_second,
    queries_per_second_per_chip,
    tokens_per_second_per_chip,
    weight_bytes,
)
from scaling.course.exercise import Exercise
from scaling.course.questions import Multiple, Numeric, Option, Ordering, Question, Sharper, Single, Trap, WrongOrder
from scaling.units import GB, GiB, ms, number

CONTEXT, ANSWER = 8192, 512


def _slice(dtype: str, chips: int) -> Deployment:
    """Weights and cache in one dtype, arithmetic in bf16, nominal parameters, as the tables of the text have it."""
    return Deployment(
        model=LLAMA3_70B, chip=TPU_V5E_TEXT, chips=chips, weights=dtype, kv=dtype, compute="bf16", params="nominal"
    )


# The smallest v5e slices that hold LLaMA 3-70B.
BF16, INT8, INT4 = _slice("bf16", 16), _slice("int8", 8), _slice("int4", 4)

# Eight H100 with int8 weights and an int8 cache.
NODE = Deployment(model=LLAMA3_70B, chip=H100_TEXT, chips=8, weights="int8", kv="int8", params="nominal")
CARD = replace(NODE, chips=1)


def _full(d: Deployment) -> int:
    return int(max_batch(d, CONTEXT))


def _qps(d: Deployment) -> float:
    return queries_per_second_per_chip(d, _full(d), CONTEXT, ANSWER)


def _gain(d: Deployment) -> float:
    return _qps(replace(d, chips=2 * d.chips)) / _qps(d) - 1


def _mfu(d: Deployment) -> float:
    return mfu(d, _full(d), CONTEXT)


def _share(value: float) -> str:
    return f"{number(100 * value)} %"


_DTYPE_OF = {LLAMA3_70B.kv_bytes_per_token(dtype): dtype for dtype in ("bf16", "int8", "int4")}


def _card(kv: float) -> Deployment:
    return replace(CARD, kv=_DTYPE_OF[kv])


def _plateau(*, context: int, kv: float) -> float:
    return plateau(_card(kv), context)


def _costs(case: dict[str, Any]) -> tuple[float, float]:
    """Seconds of cache and of arithmetic that one token takes on one card."""
    one = decode_step(_card(case["kv"]), 1, case["context"])
    return one.cache, one.compute


PLATEAU_EXERCISE = Exercise(
    _plateau,
    cases=tuple(
        {"context": context, "kv": LLAMA3_70B.kv_bytes_per_token(dtype)}
        for context, dtype in ((8192, "int8"), (2048, "int8"), (32_768, "bf16"))
    ),
    mistakes={
        "arithmetic alone, C / 2P. Each token also reads the cache of its own sequence, and nothing shares that.": lambda **a: (
            1 / _costs(a)[1]
        ),
        "the cache alone. Each token is also multiplied by every weight.": lambda **a: 1 / _costs(a)[0],
        "two rates are added. Add the times, then invert.": lambda **a: 1 / _costs(a)[0] + 1 / _costs(a)[1],
        "you took the slower of two rates, as with perfect overlap. Here cache and arithmetic take turns: their times add up.": lambda **a: (
            1 / max(_costs(a))
        ),
        "seconds per token. A rate is one over that.": lambda **a: sum(_costs(a)),
        "one FLOP per parameter. A multiplication and an addition make two.": lambda **a: (
            1 / (_costs(a)[0] + _costs(a)[1] / 2)
        ),
        "keys and values are counted twice: the bytes of a token hold both already.": lambda **a: (
            1 / (2 * _costs(a)[0] + _costs(a)[1])
        ),
        "the weights are read for every token. The batch shares that reading, and in a large one it vanishes.": (
            lambda **a: tokens_per_second_per_chip(_card(a["kv"]), 1, a["context"])
        ),
    },
)
# --- critical batch --------------------------------------------------------------------------------------------------

_h100 = {w: critical_batch(H100_TEXT, w) for w in ("bf16", "int8", "int4")}

CRITICAL_H100 = Numeric(
    id="04-critical-h100",
    prompt=(
        "H100: 3.35 TB/s and 990 TFLOP/s in bf16. Weights are stored in int8, the arithmetic is bf16. "
        "At which batch does multiplying take as long as reading the weights?"
    ),
    answer=_h100["int8"],
    unit="sequences",
    right="A weight is read as one byte and used for two FLOPs per sequence: half the bytes of bf16, so half the batch.",
    traps=(
        Trap(
            value=_h100["bf16"],
            feedback=(
                "Twice too many. Either you read two bytes a weight, as for bf16, or you took the int8 rate. Or you counted "
                "one FLOP per weight where a multiplication and an addition make two."
            ),
        ),
        Trap(
            value=critical_batch(H100_TEXT, "bf16", "int8"),
            feedback=(
                "Four times too many. Either the dtypes are the other way round (here the bytes are int8 and the rate is bf16), "
                "or you multiplied by the 2 that divides: two FLOPs per weight make the chip busy sooner."
            ),
        ),
        Trap(
            value=_h100["int4"],
            feedback="That is int4, or a factor 2 taken off twice. An int8 weight is one whole byte.",
        ),
        Trap(
            value=1 / _h100["int8"],
            feedback="Upside down: that is W over C. A faster C needs a larger batch to be busy, so C goes on top.",
        ),
    ),
    hints=(
        "Two times must be equal: reading the weights, and multiplying by them.",
        "P b_w / W = 2 B P / C. The parameters cancel: B = C b_w / (2 W).",
        "b_w = 1 B, C = 990e12 FLOP/s, W = 3.35e12 B/s.",
    ),
    solution=f"990e12 x 1 / (2 x 3.35e12) = {number(_h100['int8'])} sequences.",
)

_v5e = critical_batch(TPU_V5E_TEXT, "int8", "int8")

CRITICAL_V5E = Numeric(
    id="04-critical-v5e",
    prompt=(
        "TPU v5e: 810 GB/s, 197 TFLOP/s in bf16, 394 in int8. Now weights and arithmetic are both int8. "
        "What is the critical batch?"
    ),
    answer=_v5e,
    unit="sequences",
    rtol=0.03,
    right="Half the bytes and twice the rate: the two halvings cancel, and the batch is that of bf16 with bf16.",
    traps=(
        Trap(
            value=critical_batch(TPU_V5E_TEXT, "int8", "bf16"),
            feedback="That is bf16 arithmetic. The int8 units are twice as fast, so they need twice the batch to be busy.",
        ),
        Trap(
            value=critical_batch(TPU_V5E_TEXT, "bf16", "int8"),
            feedback=(
                "Twice too many. Either you read two bytes a weight, as for bf16, or you counted one FLOP per weight and "
                "sequence where a multiplication and an addition make two."
            ),
        ),
        Trap(
            value=_v5e / 4,
            feedback="You halved where the rate doubles: a faster unit must be given more work per byte, not less.",
        ),
        Trap(
            value=2 * critical_batch(TPU_V5E_TEXT, "bf16", "int8"),
            feedback="You multiplied by the 2 that divides: each weight gives two FLOPs of work per sequence, so fewer sequences are needed.",
        ),
        Trap(
            value=1 / _v5e,
            feedback="Upside down: that is W over C. A faster C needs a larger batch to be busy, so C goes on top.",
        ),
    ),
    hints=(
        "Two dtypes enter: one sets the bytes of a weight, the other the rate.",
        "B = C b_w / (2 W), with C the rate of the arithmetic's dtype.",
        "C = 394e12 FLOP/s, b_w = 1 B, W = 810e9 B/s.",
    ),
    solution=f"394e12 x 1 / (2 x 810e9) = {number(_v5e)} sequences, as for bf16 weights with bf16 arithmetic.",
)

# --- what fits -------------------------------------------------------------------------------------------------------

_sequence = cache_bytes(BF16, 1, CONTEXT)

MAX_BATCH = Numeric(
    id="04-max-batch",
    prompt=(
        "LLaMA 3-70B (70e9 parameters, 80 layers, 8 KV heads of size 128) on 16 TPU v5e of 16 GB, weights and cache both in bf16. "
        f"How many sequences of {CONTEXT:,} tokens fit?"
    ),
    answer=_full(BF16),
    unit="sequences",
    rtol=0,
    right=(
        f"{number((BF16.memory - weight_bytes(BF16)) / GB)} GB are left, and a sequence takes {number(_sequence / GB)} GB. With the exact "
        f"parameters it is {_full(replace(BF16, params='exact'))}: this number sits on an edge."
    ),
    traps=memory.SEQUENCES.traps(
        {
            "those are int8 weights, one byte each. In bf16 they take 140 GB.": _full(replace(BF16, weights="int8")),
            "you cached keys and values for all 64 query heads. They share 8 KV heads, and only those are cached.": _full(
                replace(BF16, model=replace(LLAMA3_70B, kv_heads=LLAMA3_70B.q_heads))
            ),
            "twice too many: that is an int8 cache, or the factor 2 for keys and values is missing.": _full(
                replace(BF16, kv="int8")
            ),
            "you took 16 GiB a chip. The course counts 16 GB, and bytes of cache in GB too: never mix the two.": _full(
                replace(BF16, chip=replace(TPU_V5E_TEXT, memory=16 * GiB))
            ),
            "you divided the weights by the cache of a sequence. Divide what the weights leave.": int(
                weight_bytes(BF16) // _sequence
            ),
            "those are the GB that int8 weights leave on eight chips. Here the weights are bf16, on 16 chips.": (
                INT8.memory - weight_bytes(INT8)
            )
            / GB,
        },
        rtol=0,
        without=("negative", "below zero", "weights on every chip"),
        chips=16,
        memory=TPU_V5E_TEXT.memory,
        usable=1.0,
        weights=weight_bytes(BF16),
        kv_per_token=LLAMA3_70B.kv_bytes_per_token("bf16"),
        context=CONTEXT,
    ),
    sharper=(
        Sharper(
            value=_full(replace(BF16, params="exact")),
            feedback=f"You took the exact parameters. With 70e9 it is {_full(BF16)}, on an edge.",
        ),
    ),
    hints=(
        "Find what the weights leave, then divide by the cache of one sequence.",
        "B = (N M - P b_w) / (S kv), rounded down, with kv = 2 L K H b_kv.",
        f"N M = 256 GB, P b_w = 140 GB, kv = {number(BF16.kv_per_token)} B.",
    ),
    solution=(
        f"(256 - 140) GB / ({CONTEXT:,} x {number(BF16.kv_per_token)} B) = "
        f"{number((BF16.memory - weight_bytes(BF16)) / _sequence)}, so {_full(BF16)} sequences."
    ),
)

# --- MFU of the smallest slices --------------------------------------------------------------------------------------

_NAMES = {"bf16 on a 4x4 slice": BF16, "int8 on a 4x2 slice": INT8, "int4 on a 2x2 slice": INT4}
_BY_MFU = tuple(sorted(_NAMES, key=lambda name: _mfu(_NAMES[name])))

MFU_ORDER = Ordering(
    id="04-mfu-order",
    prompt=(
        "Each dtype on its smallest v5e slice, with as many sequences of 8,192 tokens as fit. "
        "Order by MFU, the share of the peak FLOP/s that is used, lowest first."
    ),
    items=_BY_MFU,
    right=(
        f"All three hold {_full(INT4)} sequences and need about the same time for a step. The same work on a quarter of the chips uses "
        f"four times the share of each: {', '.join(_share(_mfu(_NAMES[name])) for name in _BY_MFU)}."
    ),
    other=(
        f"All three run {_full(INT4)} sequences in about {number(decode_step(INT4, _full(INT4), CONTEXT).total / ms, 3)} ms. "
        "The work is the same, so count the chips that share it."
    ),
    traps=(
        WrongOrder(
            order=_BY_MFU[::-1],
            feedback=(
                "The text calls the int4 slice's use of its FLOPs very low. Its batch is small, but so is its critical batch: "
                f"{_full(INT4)} of {number(critical_batch(TPU_V5E_TEXT, 'int4'))}. The bf16 slice has the same batch against "
                f"{number(critical_batch(TPU_V5E_TEXT, 'bf16'))}."
            ),
        ),
    ),
    hints=(
        "MFU is FLOPs done over FLOPs possible in the time of a step.",
        "MFU = 2 B P / (N C T_step). Which letters differ between the three?",
        f"B is {_full(INT4)} in all three, and T_step is nearly the same. N is 16, 8 and 4.",
    ),
    solution="; ".join(f"{name}: {_share(_mfu(_NAMES[name]))}" for name in _BY_MFU) + ".",
)

# --- doubling --------------------------------------------------------------------------------------------------------

_DOUBLE = replace(INT4, chips=2 * INT4.chips)
_before, _after = (decode_step(d, _full(d), CONTEXT) for d in (INT4, _DOUBLE))
_batches = _full(_DOUBLE) / _full(INT4)
_GAINS = {
    _gain(BF16): (
        f"That is the bf16 slice, and the text gives it to all three. It keeps the step at its old length. But {_full(_DOUBLE)} sequences are "
        f"past the critical {number(critical_batch(TPU_V5E_TEXT, 'int4'))}: arithmetic takes over, and the step grows to {number(_after.total / ms)} ms."
    ),
    _batches - 1: (
        "That is the growth of the batch alone. Twice the chips share the gain, and the step is "
        f"{number(_after.total / _before.total)} times as long: divide by both."
    ),
    _gain(INT4): (
        f"The batch grows {number(_batches)} times, the chips 2 times and the step {number(_after.total / _before.total)} times, because "
        f"{_full(_DOUBLE)} sequences are past the critical batch of {number(critical_batch(TPU_V5E_TEXT, 'int4'))}."
    ),
    0.0: (
        f"It does rise. At {_full(INT4)} sequences the weights are still the longer part of the matmul, so there is something left to share: "
        "more sequences for the same reading. Only past the plateau does nothing change."
    ),
}

DOUBLING = Single(
    id="04-doubling",
    prompt=(
        "The int4 model (weights and cache in int4) moves from 4 to 8 v5e chips, and all new memory goes to more sequences of 8,192 tokens. "
        "By how much do queries per second and chip rise?"
    ),
    options=tuple(
        Option(
            text=f"By about {100 * gain:.0f} %" if gain else "Not at all",
            feedback=feedback,
            correct=gain == _gain(INT4),
        )
        for gain, feedback in _GAINS.items()
    ),
    hints=(
        "Find both batches, then both step times. Is the longer part of the matmul still the weights?",
        "QPS per chip = B / (N T_step G), and T_step = T_cache + max(T_weights, T_compute).",
        f"B goes from {_full(INT4)} to {_full(_DOUBLE)}; the critical batch is {number(critical_batch(TPU_V5E_TEXT, 'int4'))}.",
    ),
    solution=(
        f"Steps of {number(_before.total / ms)} and {number(_after.total / ms)} ms give {number(_qps(INT4))} and {number(_qps(_DOUBLE))} "
        f"queries/s per chip: {_share(_gain(INT4))} more."
    ),
)

# --- plateau ---------------------------------------------------------------------------------------------------------

_one = decode_step(CARD, 1, CONTEXT)
_top = plateau(CARD, CONTEXT)

PLATEAU = Numeric(
    id="04-plateau",
    prompt=(
        "H100 (3.35 TB/s, 990 TFLOP/s in bf16), LLaMA 3-70B (70e9 parameters), int8 cache of 163,840 B per token. "
        f"At {CONTEXT:,} tokens of context, which throughput does one card approach as the batch grows, where cache and arithmetic take turns?"
    ),
    answer=_top,
    unit="tokens/s per card",
    right="Each further token costs the reading of one cache and one pass of arithmetic, in turn. The weights are shared by ever more and drop out.",
    traps=PLATEAU_EXERCISE.traps(
        {
            "that is a node of eight cards. The question asks for one.": plateau(NODE, CONTEXT),
            "that is a bf16 cache. Here it is int8, and 163,840 B already count keys and values.": plateau(
                replace(CARD, kv="bf16"), CONTEXT
            ),
            "half a cache: the factor 2 for keys and values is missing. The 163,840 B have it already.": plateau(
                replace(CARD, kv="int4"), CONTEXT
            ),
        },
        context=CONTEXT,
        kv=LLAMA3_70B.kv_bytes_per_token("int8"),
    ),
    hints=(
        "What does one more sequence cost, when the batch is huge? Two times.",
        "Plateau per chip = 1 / (S kv / W + 2 P / C).",
        "S kv / W = 8,192 x 163,840 / 3.35e12 s, and 2 P / C = 140e9 / 990e12 s. Add them, then invert.",
    ),
    solution=(
        f"{number(_one.cache / ms)} ms of cache and {number(_one.compute / ms)} ms of arithmetic a token: "
        f"1 / {number((_one.cache + _one.compute) / ms)} ms = {number(_top)} tokens/s per card."
    ),
)

# --- past the critical batch -----------------------------------------------------------------------------------------

_B = critical_batch(H100_TEXT, "int8")
_steps = [decode_step(NODE, n * _B, CONTEXT).total for n in (1, 2)]
_rates = [tokens_per_second_per_chip(NODE, n * _B, CONTEXT) for n in (1, 2)]
_uses = [mfu(NODE, n * _B, CONTEXT) for n in (1, 2)]
_caches = [cache_bytes(NODE, n * _B, CONTEXT) for n in (1, 2)]


def _times(pair: list[float], factor: float) -> bool:
    return isclose(pair[1], factor * pair[0])


PAST_CRITICAL = Multiple(
    id="04-past-critical",
    prompt="The batch grows from the critical batch to twice that, and everything still fits. What happens? Tick all that are true.",
    options=(
        Option(
            text="A step takes longer",
            correct=_steps[1] > _steps[0] * (1 + 1e-9),
            feedback="The step takes longer: both arithmetic and cache grow with the batch, and here nothing else is left.",
        ),
        Option(
            text="Tokens per second and chip double",
            correct=_times(_rates, 2),
            feedback=(
                "They would if the weights were still what one waits for. Past the critical batch a step that makes twice the tokens takes "
                f"{number(_steps[1] / _steps[0])} times as long."
            ),
        ),
        Option(
            text="Tokens per second and chip stay the same",
            correct=_times(_rates, 1),
            feedback="Tokens per second stay the same, twice the tokens in twice the time: that is the plateau.",
        ),
        Option(
            text="MFU doubles",
            correct=_times(_uses, 2),
            feedback="MFU is throughput over a constant, so it stays where it is. What keeps it low is the cache, not the batch.",
        ),
        Option(
            text="The cache needs twice the memory",
            correct=_times(_caches, 2),
            feedback="The cache doubles: every sequence keeps its own keys and values.",
        ),
    ),
    hints=(
        "Write the step without the weights: past the critical batch they are hidden.",
        "T_step = B (S kv / (N W) + 2 P / (N C)). What is B / T_step?",
        "T_step is proportional to B. So is the memory of the cache.",
    ),
    solution=(
        f"The step goes from {number(_steps[0] / ms)} to {number(_steps[1] / ms)} ms on 8 H100 at {CONTEXT:,} tokens, and the cache doubles. The throughput stays at "
        f"{number(_rates[0])} tokens/s per card, MFU at {_share(_uses[0])}."
    ),
)

QUESTIONS: tuple[Question, ...] = (
    CRITICAL_H100,
    CRITICAL_V5E,
    MAX_BATCH,
    MFU_ORDER,
    DOUBLING,
    PLATEAU,
    PAST_CRITICAL,
)

# --- exercises -------------------------------------------------------------------------------------------------------


def _queries(*, chips: int, batch: int, context: int, decode_tokens: int) -> float:
    return queries_per_second_per_chip(replace(INT4, chips=chips), batch, context, decode_tokens)


def _with_step(case: dict[str, Any], step: float) -> float:
    """Queries per second and chip if a step took `step`."""
    true = decode_step(replace(INT4, chips=case["chips"]), case["batch"], case["context"]).total
    return _queries(**case) * true / step


def _terms(case: dict[str, Any]) -> tuple[float, float, float]:
    weights, compute, cache, *_ = decode_step(replace(INT4, chips=case["chips"]), case["batch"], case["context"])
    return weights, compute, cache


QUERIES = Exercise(
    _queries,
    cases=tuple(
        {"chips": chips, "batch": batch, "context": context, "decode_tokens": decode_tokens}
        for chips, batch, context, decode_tokens in (
            (4, 43, 8192, 512),
            (8, 138, 8192, 512),
            (16, 90, 2048, 300),
        )
    ),
    mistakes={
        "the step is taken as a full memory over its bandwidth. Add up its terms instead: arithmetic may be the longer part.": (
            lambda **a: _with_step(a, INT4.memory / INT4.bandwidth)
        ),
        "the weights are always counted as the longer part of the matmul. Past the critical batch it is the arithmetic: take the larger.": (
            lambda **a: _with_step(a, _terms(a)[0] + _terms(a)[2])
        ),
        "the three terms are summed. Reading weights and multiplying by them overlap: take the larger of the two.": (
            lambda **a: _with_step(a, sum(_terms(a)))
        ),
        "the cache is inside the maximum. It is read in turn with the matmuls, so it is added.": (
            lambda **a: _with_step(a, max(_terms(a)))
        ),
        "the cache is forgotten: every step reads it.": lambda **a: _with_step(a, max(_terms(a)[:2])),
        "that is the whole slice. Divide by the chips.": lambda **a: queries_per_second(
            replace(INT4, chips=a["chips"]), a["batch"], a["context"], a["decode_tokens"]
        ),
        "those are tokens. A query is finished after decode_tokens of them.": lambda **a: _queries(
            **{**a, "decode_tokens": 1}
        ),
        "the step is that of one chip. The chips share the bytes and the FLOPs.": lambda **a: (
            _queries(**{**a, "chips": 1}) / a["chips"]
        ),
        "one FLOP per parameter and sequence. A multiplication and an addition make two.": (
            lambda **a: _with_step(a, max(_terms(a)[0], _terms(a)[1] / 2) + _terms(a)[2])
        ),
    },
)
