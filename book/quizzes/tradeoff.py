"""Questions and exercises of chapter 5, latency against throughput. Every key and every trap is computed."""

from dataclasses import replace

from quizzes.latency import step_exercise
from scaling import (
    LLAMA3_70B,
    TPU_V5E_TEXT,
    Deployment,
    decode_step,
    max_batch,
    plateau,
    tokens_per_second,
)
from scaling.course.exercise import Exercise
from scaling.course.questions import Multiple, Numeric, Option, Ordering, Question, Single, Trap, WrongOrder
from scaling.throughput import balanced_batch, batch_at_step, cache_over_compute_context, cache_over_weights_tokens
from scaling.units import GB, TFLOP, ms, number

# Sixteen v5e with int8 weights, an int8 cache, bf16 arithmetic and the constants of the text.
SLICE = Deployment(model=LLAMA3_70B, chip=TPU_V5E_TEXT, chips=16, weights="int8", kv="int8", params="nominal")
WIDE_KV = replace(SLICE, kv="bf16")
HALF_KV = replace(SLICE, kv="int4")  # the same bytes as an int8 cache that keeps only keys or only values
ONE_CHIP = replace(SLICE, chips=1)
ALL_HEADS = replace(SLICE, model=replace(LLAMA3_70B, kv_heads=LLAMA3_70B.q_heads))
CONTEXT = 8192
TEXT_THRESHOLD = 2048.0  # tokens above which, says the text, the cache always takes longer than arithmetic

_SLICE = "LLaMA 3-70B (70e9 parameters) runs on 16 TPU v5e with int8 weights, an int8 KV cache and bf16 arithmetic."


def _ms(seconds: float) -> str:
    return f"{number(seconds / ms)} ms"


_first = decode_step(SLICE, 1, CONTEXT)
_crit = balanced_batch(SLICE)
_cache_batch = cache_over_weights_tokens(SLICE) / CONTEXT
_twice_batch = batch_at_step(SLICE, CONTEXT, 2 * _first.total)
_full = max_batch(SLICE, CONTEXT)

# --- the order of events ---------------------------------------------------------------------------------------------

_EVENTS = {
    "reading the cache takes longer than reading the weights": _cache_batch,
    "the step takes twice as long as with one sequence": _twice_batch,
    "arithmetic takes longer than reading the weights": _crit,
    "the memory is full": float(_full),
}
_CACHE, _TWICE, _COMPUTE, _FULL = _EVENTS

ORDER = Ordering(
    id="05-order-of-events",
    prompt=f"{_SLICE} Every sequence has {CONTEXT:,} tokens. The batch grows from 1. What happens first, second, third, last?",
    items=tuple(sorted(_EVENTS, key=_EVENTS.__getitem__)),
    right=(
        f"Batches {number(_cache_batch)}, {number(_twice_batch)}, {number(_crit)} and {_full}. The critical batch knows "
        "nothing of the cache, and the cache comes first."
    ),
    other=(
        f"One sequence reads {_ms(_first.cache)} of cache and multiplies for {_ms(_first.compute)}; the weights take "
        f"{_ms(_first.weights)}. Find the batch for each event from these three."
    ),
    traps=(
        WrongOrder(
            order=(_COMPUTE, _CACHE, _TWICE, _FULL),
            feedback=(
                "You put the critical batch first, as if only weights and arithmetic were in the race. At this length "
                f"the cache grows {number(_first.cache / _first.compute)} times as fast as arithmetic, so it gets there sooner."
            ),
        ),
        WrongOrder(
            order=(_CACHE, _COMPUTE, _TWICE, _FULL),
            feedback=(
                "You kept the step near its floor until arithmetic takes over. The cache is added to the weights, not "
                "hidden behind them: when it equals them, the step has all but doubled."
            ),
        ),
        WrongOrder(
            order=(_FULL, _CACHE, _TWICE, _COMPUTE),
            feedback=(
                f"Beside {SLICE.memory / GB:g} GB of memory, 70 GB of weights are small: {_full} sequences fit, and "
                "the other three events come before."
            ),
        ),
    ),
    hints=(
        "For each event write down two things that are equal at that moment.",
        "T_cache = T_weights; T_step(B) = 2 T_step(1); B = C b_w / (2 W); B S kv = the free memory.",
        f"The weights take {_ms(_first.weights)} at any batch; one sequence adds {_ms(_first.cache)} of cache.",
    ),
    solution=(
        f"The cache passes the weights at batch {number(_cache_batch)}, the step has doubled at {number(_twice_batch)}, "
        f"arithmetic passes the weights at {number(_crit)}, and {_full} sequences fill the memory."
    ),
)

# --- where the cache passes the weights ------------------------------------------------------------------------------

PASSES = Numeric(
    id="05-cache-passes-weights",
    prompt=(
        f"{_SLICE} It has 80 layers, 8 KV heads and head size 128. Every sequence has {CONTEXT:,} tokens. "
        "From which batch on does a step read more cache than weights?"
    ),
    answer=_cache_batch,
    unit="sequences",
    rtol=0.015,  # tells it from the batch at which the step has doubled
    right="Both are reads from the same memory, so bandwidth and chips cancel: the weights' bytes over one sequence's bytes.",
    traps=(
        Trap(
            value=cache_over_weights_tokens(HALF_KV) / CONTEXT,
            feedback=(
                "Twice too many. Either the cache has keys but no values, and every head keeps both; or the weights have two "
                "bytes each, and int8 has one."
            ),
        ),
        Trap(
            value=cache_over_weights_tokens(WIDE_KV) / CONTEXT,
            feedback="You took two bytes per cached number. That is a bf16 cache; this one is int8.",
        ),
        Trap(
            value=_twice_batch,
            feedback="That is where the step has doubled. The step of one sequence has a cache to read as well.",
        ),
        Trap(
            value=_crit,
            feedback="That is the critical batch, where arithmetic passes the weights. The question is about the cache.",
        ),
        Trap(
            value=decode_step(ONE_CHIP, 1, CONTEXT).weights / _first.cache,
            feedback="You spread the cache over 16 chips but not the weights. Both are spread, so the 16 cancels.",
        ),
        Trap(
            value=cache_over_weights_tokens(ALL_HEADS) / CONTEXT,
            feedback="You cached all 64 query heads. Grouped-query attention keeps only 8 KV heads.",
        ),
        Trap(
            value=cache_over_weights_tokens(SLICE),
            feedback="Those are cached tokens, over all sequences. The question asks for sequences: how many tokens has each?",
        ),
    ),
    hints=(
        "Compare bytes with bytes: everything else is the same for both.",
        "P b_w = B S kv, solved for B, with kv = 2 L K H b.",
        f"The weights are 70e9 bytes; kv is 2 x 80 x 8 x 128 x 1 = {number(int(SLICE.kv_per_token))} bytes.",
    ),
    solution=(
        f"70e9 B / ({CONTEXT:,} x {number(int(SLICE.kv_per_token))} B) = {number(_cache_batch)} sequences, or "
        f"{number(cache_over_weights_tokens(SLICE))} tokens of cache, however they are spread over sequences."
    ),
)

# --- the step at batch 64 --------------------------------------------------------------------------------------------

_B = 64  # far from the critical batch: near it reading and multiplying the weights take the same time
_step = decode_step(SLICE, _B, CONTEXT)

STEP = Numeric(
    id="05-step-at-64",
    prompt=(
        f"{_SLICE} A chip reads {TPU_V5E_TEXT.bandwidth / GB:g} GB/s and does {TPU_V5E_TEXT.rate('bf16') / TFLOP:g} "
        f"TFLOP/s; a token takes {number(int(SLICE.kv_per_token))} bytes of cache. How long is a decode step of {_B} sequences "
        f"with {CONTEXT:,} tokens each?"
    ),
    answer=_step.total,
    unit="ms",
    right=(
        f"The cache, {_ms(_step.cache)}, plus the longer of weights and arithmetic, {_ms(_step.matmul)}: "
        f"{number(_step.total / _first.total)} times the step of one sequence."
    ),
    traps=step_exercise(SLICE).traps(
        {
            "that is reading the weights, which takes the same time at every batch. The cache comes on top and grows "
            "with each sequence.": _step.weights,
            "you left out the cache, and added two terms that overlap.": _step.weights + _step.compute,
        },
        without=(
            "halved the bytes of the weights",
            "cache of one sequence",
            "cache of one token",
            "bandwidth of one chip",
        ),
        chips=16,
        batch=_B,
        context=CONTEXT,
    ),
    hints=(
        "Three terms, of which two overlap.",
        "T_step = T_cache + max(T_weights, T_compute).",
        f"T_weights = 70e9 B / (16 x {TPU_V5E_TEXT.bandwidth / GB:g} GB/s) = {_ms(_step.weights)}.",
    ),
    solution=(
        f"Weights {_ms(_step.weights)}, arithmetic {_ms(_step.compute)}, cache {_ms(_step.cache)}. "
        f"{_ms(_step.cache)} + {_ms(_step.matmul)} = {_ms(_step.total)}."
    ),
)

# --- the unit of the front -------------------------------------------------------------------------------------------

_SHORT = 1024
_rate = plateau(SLICE, _SHORT)
_UNITS = {
    "tokens per millisecond and chip": (
        _rate * ms / SLICE.chips,
        f"This is the one that is near 1. At {CONTEXT:,} tokens it tops out at {number(plateau(SLICE, CONTEXT) * ms / SLICE.chips)}.",
    ),
    "tokens per second and chip": (
        _rate / SLICE.chips,
        "The text writes this unit beside the axis, and it is a thousand times too small.",
    ),
    "tokens per millisecond, all 16 chips together": (
        _rate * ms,
        "Right unit of time, wrong share: the axis is per chip, so divide by 16.",
    ),
    "tokens per microsecond and chip": (
        _rate * ms * ms / SLICE.chips,
        "One step of a thousand too far: a chip needs about a millisecond, not a microsecond, for a token.",
    ),
}

UNIT = Single(
    id="05-unit-of-the-front",
    prompt=(
        f"{_SLICE} A throughput curve for a context of {_SHORT:,} tokens flattens near 1.0. In which unit is its axis?"
    ),
    options=tuple(
        Option(text=unit, correct=0.5 < value < 2, feedback=f"There it would flatten at {number(value)}. {said}")
        for unit, (value, said) in _UNITS.items()
    ),
    hints=(
        "Work out the throughput per chip once, roughly, and see in which unit it is about 1.",
        "Many sequences share a step: throughput per chip is B / (N T_step).",
        f"At batch 122 the step is {_ms(decode_step(SLICE, 122, _SHORT).total)}: divide 122 tokens by it, then by 16 chips.",
    ),
    solution=(
        f"The plateau at {_SHORT:,} tokens is {number(_rate / SLICE.chips)} tokens/s per chip, that is "
        f"{number(_rate * ms / SLICE.chips)} tokens/ms per chip."
    ),
)

# --- twice the latency -----------------------------------------------------------------------------------------------


def _cut(batch: float, context: float = CONTEXT) -> float:
    return tokens_per_second(SLICE, batch, context) / tokens_per_second(SLICE, 1, context)


_at_twice = _cut(_twice_batch)


def _cheaper(text: str, value: float, feedback: str) -> Option:
    return Option(text=text, correct=abs(value / _at_twice - 1) < 0.02, feedback=feedback)


TWICE = Single(
    id="05-twice-the-latency",
    prompt=(
        f"{_SLICE} Sequences have {CONTEXT:,} tokens. You serve one sequence, and now raise the batch until the step takes "
        "twice as long. By how much does a token get cheaper?"
    ),
    options=(
        _cheaper(
            "about 100 times",
            100.0,
            f"That is the text's number. At {CONTEXT:,} tokens no batch at all reaches it; the most is "
            f"{number(plateau(SLICE, CONTEXT) / tokens_per_second(SLICE, 1, CONTEXT))} times.",
        ),
        _cheaper(
            f"about {_twice_batch:.0f} times",
            _twice_batch,
            "That is how many more tokens one step makes. But the step takes twice as long, so a chip-hour holds half as many.",
        ),
        _cheaper(
            f"about {_at_twice:.0f} times",
            _at_twice,
            f"{number(_twice_batch)} tokens per step instead of one, at half as many steps per hour.",
        ),
        _cheaper(
            "about 2 times",
            2.0,
            "Twice the latency for half the price would be plain proportion. Here the weights, once read, serve everybody: "
            "the exchange is much better than that.",
        ),
    ),
    hints=(
        "The price of a token is chip time per token.",
        "Tokens per second are B / T_step: compare them at the two batches.",
        f"The step of one sequence is {_ms(_first.total)}; each sequence more adds {_ms(_first.cache)}. "
        "Find the batch at twice that step.",
    ),
    solution=(
        f"{_ms(2 * _first.total)} hold {number(_twice_batch)} sequences. {number(_twice_batch)} tokens in twice the time are "
        f"{number(_at_twice)} times as many per second, so each costs {number(_at_twice)} times less."
    ),
)

# --- the cache against arithmetic ------------------------------------------------------------------------------------

THRESHOLD = Numeric(
    id="05-cache-over-compute",
    prompt=(
        f"{_SLICE} A chip reads {TPU_V5E_TEXT.bandwidth / GB:g} GB/s and does {TPU_V5E_TEXT.rate('bf16') / TFLOP:g} "
        f"TFLOP/s; the model has 80 layers, 8 KV heads and head size 128. Above which context does a sequence spend "
        "longer on reading its cache than on multiplying by the weights?"
    ),
    answer=cache_over_compute_context(SLICE),
    unit="tokens",
    rtol=0.03,
    right="Both terms grow with the batch and shrink with the chips, so neither is in the answer: only the context decides.",
    traps=(
        Trap(
            value=TEXT_THRESHOLD,
            feedback=(
                "That is the text's number. There a sequence still multiplies for longer than it reads its cache. Set the two "
                "times equal and solve for the context."
            ),
        ),
        Trap(
            value=cache_over_compute_context(HALF_KV),
            feedback="A factor 2 is missing in the cache: each head keeps a key and a value for each token.",
        ),
        Trap(
            value=cache_over_compute_context(WIDE_KV),
            feedback=(
                "Half of it. Either the cache was counted in bf16, or the arithmetic at the int8 rate, or with one FLOP per "
                "parameter: there are two, at the bf16 rate."
            ),
        ),
        Trap(
            value=cache_over_compute_context(ALL_HEADS),
            feedback="You cached all 64 query heads. Grouped-query attention keeps only 8 KV heads.",
        ),
        Trap(
            value=cache_over_weights_tokens(SLICE),
            feedback="That is where the cache passes the weights, for one sequence. The question is about arithmetic.",
        ),
        Trap(
            value=decode_step(ONE_CHIP, 1, 1).compute / decode_step(SLICE, 1, 1).cache,
            feedback="You spread the cache over 16 chips but not the arithmetic. Both are spread, so the 16 cancels.",
        ),
    ),
    hints=(
        "Set two of the three terms equal. Which two?",
        "B S kv / (N W) = 2 B P / (N C), solved for S.",
        f"B and N cancel: S = 2 P W / (C kv), and 2 P is {2 * SLICE.step_params:.1e} FLOP.",
    ),
    solution=(
        f"2 x 70e9 x {TPU_V5E_TEXT.bandwidth / GB:g}e9 / ({TPU_V5E_TEXT.rate('bf16') / TFLOP:g}e12 x "
        f"{number(int(SLICE.kv_per_token))}) = {number(cache_over_compute_context(SLICE))} tokens."
    ),
)

# --- where the cache is the longest term -----------------------------------------------------------------------------


def _place(batch: int, context: int) -> Option:
    step = decode_step(SLICE, batch, context)
    terms = f"Batch {batch:,}, context {context:,}: weights {_ms(step.weights)}, arithmetic {_ms(step.compute)}, cache {_ms(step.cache)}."
    if step.longest == "cache":
        said = "Enough tokens in all, and enough in each: the cache is longer than both."
    elif step.longest == "compute":
        said = "Enough tokens in all, but each sequence is short: arithmetic grows faster than the cache."
    else:
        said = f"{batch * context:,} tokens in all are fewer than {number(cache_over_weights_tokens(SLICE))}: the weights win."
    return Option(
        text=f"batch {batch:,}, context {context:,}", correct=step.longest == "cache", feedback=f"{terms} {said}"
    )


LARGEST = Multiple(
    id="05-cache-largest",
    prompt=f"{_SLICE} At which of these is the cache the longest of the three terms of a step?",
    options=(
        _place(1, 131_072),
        _place(64, 8192),
        _place(200, 2048),
        _place(16, 32_768),
        _place(32, 8192),
    ),
    hints=(
        "The cache has two rivals. Check it against each of them.",
        "Against the weights, batch times context counts; against arithmetic, the context alone.",
        f"B S must be above {number(cache_over_weights_tokens(SLICE))}, and S above "
        f"{number(cache_over_compute_context(SLICE))}. Take the first: 1 x 131,072.",
    ),
    solution=(
        f"Both conditions hold at batch 64 with 8,192 tokens ({64 * 8192:,} in all) and at batch 16 with 32,768 "
        f"({16 * 32_768:,}). One very long sequence and 32 of 8,192 lose to the weights, 200 short ones to arithmetic."
    ),
)

QUESTIONS: tuple[Question, ...] = (STEP, ORDER, UNIT, TWICE, PASSES, THRESHOLD, LARGEST)

# --- exercises -------------------------------------------------------------------------------------------------------


def _step_cut(batch: float, context: float) -> float:
    return decode_step(SLICE, batch, context).total / decode_step(SLICE, 1, context).total


COST_CUT = Exercise(
    reference=lambda batch, context: _cut(batch, context),
    cases=(
        {"batch": 54, "context": 8192},
        {"batch": 122, "context": 2048},
        {"batch": 15, "context": 32_768},
        {"batch": 138, "context": 8192},
    ),
    mistakes={
        "you counted the tokens of a step and forgot that the step got longer; compare tokens per second.": (
            lambda batch, context: batch
        ),
        "half the batch is right only where the step takes just twice as long; compare tokens per second.": (
            lambda batch, context: batch / 2
        ),
        "that is how much longer the step takes, which is the price in latency; the gain in cost is missing.": _step_cut,
        "the ratio of the two steps is upside down: a longer step makes a token dearer, not cheaper.": (
            lambda batch, context: batch * _step_cut(batch, context)
        ),
        "that is the new cost as a share of the old; how many times cheaper is one over it.": (
            lambda batch, context: 1 / _cut(batch, context)
        ),
    },
)


def _twice(context: float) -> float:
    return 2 * decode_step(SLICE, 1, context).total


def _reading_only(context: float) -> float:
    one = decode_step(SLICE, 1, context)
    return (_twice(context) - one.weights) / one.cache


def _compute_only(context: float) -> float:
    one = decode_step(SLICE, 1, context)
    return _twice(context) / (one.cache + one.compute)


def _summed(context: float) -> float:
    one = decode_step(SLICE, 1, context)
    return (_twice(context) - one.weights) / (one.cache + one.compute)


BATCH_AT_TWICE = Exercise(
    reference=lambda context: batch_at_step(SLICE, context, _twice(context)),
    cases=({"context": 8192}, {"context": 512}, {"context": 32_768}, {"context": 2048}),
    mistakes={
        "right while reading the weights is the longer part, but with short contexts arithmetic takes over first; "
        "solve that case too and take the smaller batch.": _reading_only,
        "right once arithmetic is the longer part, but with long contexts the step doubles before; "
        "solve the other case too and take the smaller batch.": _compute_only,
        "you solved cache + weights + compute. Of the last two only the longer counts.": _summed,
        "you took the larger of the two batches; the step is as long as the case that comes first makes it.": (
            lambda context: max(_reading_only(context), _compute_only(context))
        ),
        "that is where the cache equals the weights. The first step has one sequence's cache in it already.": (
            lambda context: cache_over_weights_tokens(SLICE) / context
        ),
    },
)
