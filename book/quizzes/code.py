"""Chapter 8: the analysis in five functions, seven pitfalls of scripts that run, and what changes when an input changes."""

import contextlib
import io
from collections.abc import Callable
from dataclasses import replace
from math import ceil, floor, isclose, log2
from typing import Any

from quizzes.latency import step_mistakes
from scaling import (
    H100_TEXT,
    LLAMA3_70B,
    Deployment,
    best_batch,
    cache_bytes,
    critical_batch,
    decode_step,
    max_batch,
    min_chips,
    tokens_per_second,
    tokens_per_second_per_chip,
    weight_bytes,
)
from scaling.course.exercise import Exercise, check
from scaling.course.questions import Multiple, Numeric, Option, Ordering, Question, Single, Trap, WrongOrder
from scaling.latency import StepTime
from scaling.units import GB, ms, number

CONTEXT, LONG = 8192, 32_768

# What the text's script describes: eight H100, int8 weights and an int8 cache, 70e9 parameters.
NODE = Deployment(model=LLAMA3_70B, chip=H100_TEXT, chips=8, weights="int8", kv="int8", params="nominal")
BF16 = replace(NODE, weights="bf16")
FOUR = replace(NODE, chips=4)
CARD = replace(BF16, chips=1)
INT4 = replace(NODE, weights="int4")

_DTYPE = {16: "bf16", 8: "int8", 4: "int4"}


def _full(d: Deployment, context: int = CONTEXT) -> int:
    return int(max_batch(d, context))


def _top(d: Deployment, context: int = CONTEXT) -> float:
    return tokens_per_second_per_chip(d, _full(d, context), context)


def _first(d: Deployment, context: int = CONTEXT) -> float:
    return decode_step(d, 1, context).total


def _in_ms(seconds: float) -> str:
    return f"{number(seconds / ms)} ms"


# --- fewest chips ----------------------------------------------------------------------------------------------------


def _needed(d: Deployment) -> float:
    return weight_bytes(d) / d.chip.memory


def _power_of_two(d: Deployment) -> float:
    """What the script's helper has before `int` cuts it."""
    return 2.0 ** ceil(log2(_needed(d)))


_FEWEST = {
    float(min_chips(INT4, 1, CONTEXT)): (
        "One card is the truth, and what the helper should say. It rounds the exponent up, not the result: the exponent is below 0 here."
    ),
    float(int(_power_of_two(INT4))): (
        f"The logarithm of {number(_needed(INT4))} is below -1, so the exponent is -1 and the power {number(_power_of_two(INT4))}. "
        "int() cuts it: 35 GB need no card at all."
    ),
    _power_of_two(
        INT4
    ): "Nearly: that is the power of two. The helper still cuts it to a whole number, and int() cuts towards 0.",
    2.0: "That is the answer for the 140 GB of bf16 weights, which need more than one card and less than two.",
}

FEWEST_CHIPS = Single(
    id="08-fewest-chips",
    prompt=(
        "A helper divides the bytes by the 80 GB of a card, takes the logarithm to base 2, rounds it up, raises 2 to it, and applies int(). "
        "What does it return for 35 GB of int4 weights?"
    ),
    options=tuple(
        Option(text=f"{value:g}", feedback=feedback, correct=value == int(_power_of_two(INT4)))
        for value, feedback in _FEWEST.items()
    ),
    hints=(
        "How many cards are needed, before any rounding?",
        "int(2 ** ceil(log2(bytes / 80e9))): go from the inside out.",
        f"35 / 80 = {number(_needed(INT4))}, and log2 of that is {number(log2(_needed(INT4)))}. Which whole number is just above?",
    ),
    solution=(
        f"ceil({number(log2(_needed(INT4)))}) = {ceil(log2(_needed(INT4)))}, 2 to that is {number(_power_of_two(INT4))}, and int() makes it "
        f"{int(_power_of_two(INT4))}. The right answer is {min_chips(INT4, 1, CONTEXT)}."
    ),
)

# --- a default is evaluated once -------------------------------------------------------------------------------------


def _then() -> float:
    """What the function of the question returns once `context` has changed: run, not reasoned."""
    context = CONTEXT

    def sequence_bytes(tokens: int = context) -> float:
        return cache_bytes(NODE, 1, tokens)

    context = LONG
    return sequence_bytes()


_DEFAULTS = {
    cache_bytes(NODE, 1, CONTEXT): (
        "The default was evaluated when the def line ran, and 8,192 is stored with the function. Nothing looks at context again."
    ),
    cache_bytes(NODE, 1, LONG): (
        "That would be so if a default were evaluated at each call. It is evaluated once, when the def line runs."
    ),
    cache_bytes(replace(NODE, kv="bf16"), 1, CONTEXT): (
        "That is a bf16 cache of 8,192 tokens. The dtype has not changed here: an int8 number is one byte."
    ),
    cache_bytes(
        NODE, 1, LONG - CONTEXT
    ): "Neither the old nor the new context gives this: it belongs to their difference.",
}

DEFAULT_ARGUMENT = Single(
    id="08-default-argument",
    prompt=(
        "A script sets context = 8192 and defines def sequence_bytes(tokens=context), the int8 cache of one sequence. "
        "Then it sets context = 32768. How many bytes does sequence_bytes() return?"
    ),
    options=tuple(
        Option(text=f"{value:,.0f}", feedback=feedback, correct=value == _then())
        for value, feedback in _DEFAULTS.items()
    ),
    hints=(
        "When does Python look at the name context?",
        "The default of an argument is a value that belongs to the function, stored when def runs.",
        f"At that time context was 8,192. A token takes {number(NODE.kv_per_token)} B.",
    ),
    solution=(
        f"8,192 x {number(NODE.kv_per_token)} B = {number(int(_then()))} B, before and after. Pass the context, or set the default to None "
        "and look it up inside."
    ),
)

# --- a negative batch ------------------------------------------------------------------------------------------------

_room = CARD.memory - weight_bytes(CARD)
_cut = int(_room / cache_bytes(CARD, 1, CONTEXT))
_empty = len(range(1, _cut + 1)) == 0

EMPTY_BATCHES = Single(
    id="08-empty-batches",
    prompt=(
        "One card of 80 GB, bf16 weights of 140 GB. A script subtracts, divides by the cache of a sequence and applies int(). "
        "It asks NumPy for all batches from 1 up to that, and prints the step of the first. What does its user see?"
    ),
    options=(
        Option(
            text="An IndexError about an array of size 0",
            correct=_empty,
            feedback=(
                f"The room is {number(_room / GB)} GB, which makes {_cut} sequences, and from 1 to {_cut} there is no batch. The error comes where "
                "the first one is looked up, far from its cause."
            ),
        ),
        Option(
            text=f"{_in_ms(_first(CARD))}, the step of a batch of 1",
            correct=not _empty,
            feedback="That would be the step if the weights fitted. The array of batches stops before 1, so there is no first entry.",
        ),
        Option(
            text=f"A negative step, that of {_cut} sequences",
            feedback="The number is negative, but it is only the end of the range. Counting up from 1 never meets it.",
        ),
        Option(
            text="A message that the weights do not fit",
            feedback="It should say so, and it does not: nothing looks at the sign of what is left.",
        ),
    ),
    hints=(
        "What is left of 80 GB once 140 GB are taken off?",
        "Batches are numpy.arange(1, n + 1). What does that hold when n is below 0?",
        f"{number(_room / GB)} GB over {number(cache_bytes(CARD, 1, CONTEXT) / GB)} GB is {number(_room / cache_bytes(CARD, 1, CONTEXT))}.",
    ),
    solution=(
        f"n = {_cut}, so the array is empty, and its first entry raises IndexError. What does not fit should be a batch of "
        f"{_full(CARD)}, and be asked about before it is used."
    ),
)

# --- FLOPs by the size of the weights --------------------------------------------------------------------------------

_critical = {w: critical_batch(H100_TEXT, w) for w in ("bf16", "int8", "int4")}


def _critical_by_size(d: Deployment) -> float:
    """Where the two times meet when each byte of weights is counted as one parameter's arithmetic."""
    one = decode_step(d, 1, 0)
    return one.weights / (one.compute * d.weight_size)


FLOPS_BY_SIZE = Numeric(
    id="08-flops-by-size",
    prompt=(
        "A script takes the arithmetic as 2 x B x (bytes of the weights) / (N C). Weights are bf16, on H100 (3.35 TB/s, 990 TFLOP/s). "
        "At which batch does it believe that arithmetic overtakes the reading?"
    ),
    answer=_critical_by_size(BF16),
    unit="sequences",
    right=(
        "Both times are now proportional to the bytes, so the bytes cancel: this script finds the same critical batch for every dtype, "
        "that of int8."
    ),
    traps=(
        Trap(
            value=_critical["bf16"],
            feedback="That is the true critical batch of bf16. The script does twice the arithmetic, so it meets the reading sooner.",
        ),
        Trap(
            value=2 * _critical["bf16"],
            feedback="The wrong way round: with twice the arithmetic per sequence, half as many sequences keep the chip busy.",
        ),
        Trap(
            value=_critical["int4"],
            feedback="You halved twice: once for the script's doubled arithmetic, and once more for bytes that are already in it.",
        ),
        Trap(
            value=1 / _critical_by_size(BF16),
            feedback="Upside down: that is W over C. A faster chip needs a larger batch, so C goes on top.",
        ),
    ),
    hints=(
        "Set the script's two times equal: reading the weights, and its arithmetic.",
        "bytes / (N W) = 2 B bytes / (N C). What cancels?",
        "B = C / (2 W), with C = 990e12 FLOP/s and W = 3.35e12 B/s.",
    ),
    solution=(
        f"990e12 / (2 x 3.35e12) = {number(_critical_by_size(BF16))} sequences. Counted by parameters it is {number(_critical['bf16'])}."
    ),
)

# --- the first batch on the plateau ----------------------------------------------------------------------------------

_best = int(best_batch(NODE, CONTEXT))
_noise = max(range(1, _full(NODE) + 1), key=lambda batch: tokens_per_second_per_chip(NODE, batch, CONTEXT))
_slower = decode_step(NODE, _full(NODE), CONTEXT).total / decode_step(NODE, _best, CONTEXT).total

_PLATEAU = {
    _noise: (
        f"That is where a search for the maximum ends on this curve, by a rounding error in the last digit. {_best} sequences give the same "
        "throughput to fifteen digits."
    ),
    _full(NODE): (
        f"{_full(NODE)} is the last batch that fits, and the one a script reports when it prints the end of the array. Its step is "
        f"{number(_slower)} times as long as needed."
    ),
    int(
        best_batch(BF16, CONTEXT)
    ): "That is the critical batch of bf16 weights, rounded up. Here a weight is one byte, and half the batch does.",
    _best: (
        f"The critical batch is {number(_critical['int8'])}; from the next whole number on, arithmetic hides the weights, and the rest grows "
        "with the batch."
    ),
}

FIRST_ON_PLATEAU = Single(
    id="08-first-on-plateau",
    prompt=(
        f"8 H100, int8 weights and cache, 8,192 tokens: {_full(NODE)} sequences fit. Which is the smallest batch with the full throughput?"
    ),
    options=tuple(
        Option(text=f"{batch}", feedback=feedback, correct=batch == _best) for batch, feedback in _PLATEAU.items()
    ),
    hints=(
        "Throughput stops growing at one batch. Which times are equal there?",
        "B_crit = C b_w / (2 W), rounded up to a whole batch.",
        "C = 990e12 FLOP/s, b_w = 1 B, W = 3.35e12 B/s.",
    ),
    solution=(
        f"990e12 x 1 / (2 x 3.35e12) = {number(_critical['int8'])}, so {_best}: a step of {_in_ms(decode_step(NODE, _best, CONTEXT).total)} in place "
        f"of {_in_ms(decode_step(NODE, _full(NODE), CONTEXT).total)}."
    ),
)


def _loaded(chips: int, weights: float) -> Deployment:
    """So many H100 that hold so many bytes of weights."""
    return replace(NODE, chips=chips, model=replace(LLAMA3_70B, nominal_params=weights))


def _largest(chips: int, weights: float, sequence: float) -> int:
    return int(max_batch(_loaded(chips, weights), sequence / NODE.kv_per_token))


def _unrounded(chips: int, weights: float, sequence: float) -> float:
    d = _loaded(chips, weights)
    return (d.memory - weight_bytes(d)) / sequence


MAX_BATCH = Exercise(
    _largest,
    cases=tuple(
        {"chips": d.chips, "weights": weight_bytes(d), "sequence": cache_bytes(d, 1, S)}
        for d, S in ((NODE, CONTEXT), (CARD, CONTEXT), (NODE, LONG), (replace(NODE, chips=2), CONTEXT))
    ),
    mistakes={
        "below zero where the weights do not fit, as in the text's script. The fewest that fit is 0.": lambda **a: int(
            _unrounded(**a)
        ),
        "below zero where the weights do not fit: // rounds away from 0 there. The fewest that fit is 0.": lambda **a: (
            floor(_unrounded(**a))
        ),
        "rounded up: the last sequence would fit only in part.": lambda **a: max(0, ceil(_unrounded(**a))),
        "rounded to the nearest: where that is up, the last sequence fits only in part.": lambda **a: max(
            0, round(_unrounded(**a))
        ),
        "not rounded: a part of a sequence cannot be served. Round down.": lambda **a: max(0.0, _unrounded(**a)),
        "the weights are not taken off: they are in memory before any cache.": lambda **a: _largest(
            a["chips"], 1.0, a["sequence"]
        ),
        "that is the memory of one card. The cards hold weights and cache together.": lambda **a: _largest(
            **{**a, "chips": 1}
        ),
    },
)


# --- practice: a longer context --------------------------------------------------------------------------------------

LONG_BATCH = Numeric(
    id="08-max-batch-32k",
    prompt=(
        "8 H100 of 80 GB, 70 GB of int8 weights, an int8 cache of 163,840 B per token. The context goes from 8,192 to 32,768 tokens. "
        "How many sequences fit now?"
    ),
    answer=_full(NODE, LONG),
    unit="sequences",
    rtol=0,
    right=f"Four times the tokens in each, so a quarter of the {_full(NODE)}, rounded down. The weights take what they took.",
    traps=MAX_BATCH.traps(
        {
            "nothing changed: that is the batch at 8,192 tokens. A stored default would give you just this.": _full(
                NODE
            ),
            "you multiplied. A longer sequence takes more cache, so fewer of them fit.": _full(NODE) * LONG // CONTEXT,
            "that is a bf16 cache, or keys and values counted twice.": _full(replace(NODE, kv="bf16"), LONG),
            "those are bf16 weights, two bytes each. Here they are int8.": _full(BF16, LONG),
        },
        rtol=0,
        without=("below zero",),
        chips=8,
        weights=weight_bytes(NODE),
        sequence=cache_bytes(NODE, 1, LONG),
    ),
    hints=(
        "What the weights leave does not change; what a sequence takes does.",
        "B = (N M - weights) / (S kv), rounded down.",
        "(640 - 70) GB over 32,768 x 163,840 B.",
    ),
    solution=(
        f"570e9 / {cache_bytes(NODE, 1, LONG):.4e} = {number((NODE.memory - weight_bytes(NODE)) / cache_bytes(NODE, 1, LONG))}, so "
        f"{_full(NODE, LONG)} sequences."
    ),
)

# --- practice: the shortest step -------------------------------------------------------------------------------------

_RUNS = {
    "as given: 8 cards, int8 weights, 8,192 tokens": _first(NODE),
    "32,768 tokens": _first(NODE, LONG),
    "bf16 weights": _first(BF16),
    "4 cards": _first(FOUR),
}
_SORTED = tuple(sorted(_RUNS, key=_RUNS.__getitem__))
_GIVEN, _TOKENS, _WEIGHTS, _CARDS = _RUNS

SHORTEST_STEP = Ordering(
    id="08-shortest-step-order",
    prompt="Four runs, one change each. Order them by the step of a single sequence, shortest first.",
    items=_SORTED,
    right=(
        "Twice the bytes of weights and half the cards both double the reading of the weights. Half the cards also read the one cache at half "
        "the speed, so they come last."
    ),
    other="Find the bytes that a step of one sequence reads, and divide by the bandwidth that reads them. Weights come first, the cache is small.",
    traps=(
        WrongOrder(
            order=(_GIVEN, _TOKENS, _CARDS, _WEIGHTS),
            feedback="The last two are close. Both read the weights in twice the time; which of them reads the cache more slowly as well?",
        ),
        WrongOrder(
            order=(_GIVEN, _WEIGHTS, _CARDS, _TOKENS),
            feedback=(
                f"The context matters less than you think for one sequence: {number(cache_bytes(NODE, 1, LONG) / GB)} GB of cache stand "
                "beside 70 GB of weights."
            ),
        ),
        WrongOrder(order=_SORTED[::-1], feedback="That is longest first. The order is right, turned around."),
    ),
    hints=(
        "With one sequence arithmetic is hidden: the step is reading time.",
        "T = (bytes of the weights + bytes of the cache) / (N W).",
        "As given it is 71.3 GB over 8 W. Now change one thing at a time.",
    ),
    solution="; ".join(f"{name}: {_in_ms(_RUNS[name])}" for name in _SORTED) + ".",
)

# --- practice: bf16 weights and the throughput -----------------------------------------------------------------------

_fewer = _full(BF16) / _full(NODE)
_CHANGES = {
    1 / 2: (
        "Half",
        "So it would be with a batch of 1, where one waits for the weights. The largest batch is far from there.",
    ),
    1.0: (
        "The same",
        f"{_full(BF16)} sequences fit, and the critical batch of bf16 weights is {number(_critical['bf16'])}: still on the plateau, where the "
        "weights are hidden behind arithmetic.",
    ),
    _fewer: (
        f"{100 * _fewer:.0f} %, as the batch",
        f"The batch does fall to {_full(BF16)}. But past the critical batch the step is proportional to it, so their quotient stays.",
    ),
    2.0: (
        "Double",
        "Wider weights are more bytes to read, never fewer. The arithmetic was bf16 all along, and has not become faster.",
    ),
}

BF16_THROUGHPUT = Single(
    id="08-bf16-throughput",
    prompt=(
        "8 H100, int8 cache, 8,192 tokens, each time the largest batch that fits. The weights go from int8 to bf16. "
        "What is the throughput per card now, compared with before?"
    ),
    options=tuple(
        Option(text=text, feedback=feedback, correct=isclose(_top(BF16), ratio * _top(NODE)))
        for ratio, (text, feedback) in _CHANGES.items()
    ),
    hints=(
        "Is the new largest batch above or below the new critical batch?",
        "B_crit = C b_w / (2 W), and the largest batch is what 640 GB less the weights hold.",
        f"{_full(BF16)} sequences fit; the critical batch is {number(_critical['bf16'])}.",
    ),
    solution=f"{number(_top(NODE))} tokens/s per card before, {number(_top(BF16))} after.",
)

# --- what bf16 reaches -----------------------------------------------------------------------------------------------


def _changes(value: Callable[[Deployment], float]) -> bool:
    return not isclose(value(NODE), value(BF16))


CACHE_DTYPE = Multiple(
    id="08-cache-dtype",
    prompt=(
        "The script has one line for the dtype, bytes_per_param = 1, and counts 163,840 B of cache per token. "
        "You set it to 2, for bf16. What changes? Tick all that do."
    ),
    options=(
        Option(
            text="The time to read the weights",
            correct=_changes(lambda d: decode_step(d, 1, CONTEXT).weights),
            feedback="It doubles: twice the bytes at the same bandwidth.",
        ),
        Option(
            text="The cache of one sequence",
            correct=_changes(lambda d: cache_bytes(d, 1, CONTEXT)),
            feedback="It should, if all is to be bf16, and it does not: its one byte is part of a typed product, out of the line's reach.",
        ),
        Option(
            text="The largest batch that fits",
            correct=_changes(_full),
            feedback=f"It falls from {_full(NODE)} to {_full(BF16)}: the weights take 70 GB more.",
        ),
        Option(
            text="The time of arithmetic, at a given batch",
            correct=_changes(lambda d: decode_step(d, 100, CONTEXT).compute),
            feedback="Two FLOPs per parameter, however it is stored, at the bf16 rate that the script used before.",
        ),
        Option(
            text="The batch where the plateau starts",
            correct=_changes(lambda d: best_batch(d, CONTEXT)),
            feedback=f"It doubles to {best_batch(BF16, CONTEXT)}: twice the bytes to read ask for twice the arithmetic beside them.",
        ),
    ),
    hints=(
        "Go through the terms of the step, and through what memory holds.",
        "b_w is in P b_w and in C b_w / (2 W). It is not in 2 B P / C, and not in S kv.",
        "Three of the five depend on P b_w.",
    ),
    solution=(
        f"The weights are read in twice the time, {_full(BF16)} sequences fit, the plateau starts at {best_batch(BF16, CONTEXT)}. With the cache in bf16 "
        f"as well, {_full(replace(BF16, kv='bf16'))} would fit, and the throughput fall to {number(_top(replace(BF16, kv='bf16')))} tokens/s per card."
    ),
)

QUESTIONS: tuple[Question, ...] = (
    FEWEST_CHIPS,
    DEFAULT_ARGUMENT,
    EMPTY_BATCHES,
    FLOPS_BY_SIZE,
    FIRST_ON_PLATEAU,
    LONG_BATCH,
    SHORTEST_STEP,
    BF16_THROUGHPUT,
    CACHE_DTYPE,
)

# --- exercises: the five functions -----------------------------------------------------------------------------------


def _weights(params: float, bits: int) -> float:
    return weight_bytes(replace(NODE, model=replace(LLAMA3_70B, nominal_params=params), weights=_DTYPE[bits]))


WEIGHT_BYTES = Exercise(
    _weights,
    cases=tuple({"params": P, "bits": bits} for P, bits in ((70e9, 16), (70e9, 8), (70e9, 4), (8e9, 4))),
    mistakes={
        "bits are counted as bytes. Eight bits make one byte.": lambda **a: 8 * _weights(**a),
        "bits // 8 drops half a byte: 4 // 8 is 0. Divide with a single slash.": (
            lambda **a: _weights(**a) if a["bits"] >= 8 else 0.0
        ),
        "those are GB. The functions here pass bytes to each other; divide for printing only.": lambda **a: (
            _weights(**a) / GB
        ),
        "upside down: fewer bits must make fewer bytes.": lambda **a: _weights(**a) * (8 / a["bits"]) ** 2,
        "the bits play no part: one byte a weight is int8 only.": lambda **a: _weights(a["params"], 8),
    },
)


def _cache(batch: int, context: int, bits: int) -> float:
    return cache_bytes(replace(NODE, kv=_DTYPE[bits]), batch, context)


CACHE_BYTES = Exercise(
    _cache,
    cases=tuple(
        {"batch": B, "context": S, "bits": bits}
        for B, S, bits in ((1, CONTEXT, 8), (32, CONTEXT, 8), (1, LONG, 16), (4, 2048, 4))
    ),
    mistakes={
        "one byte per number is wired in, as in the text's script. The bits must reach the cache too.": lambda **a: (
            _cache(a["batch"], a["context"], 8)
        ),
        "a key and a value are two numbers: the factor 2 is missing.": lambda **a: _cache(**a) / 2,
        "8 times too large: bits were taken for bytes, or 64 query heads for the 8 KV heads that are cached.": lambda **a: (
            8 * _cache(**a)
        ),
        "bits // 8 drops half a byte: 4 // 8 is 0. Divide with a single slash.": (
            lambda **a: _cache(**a) if a["bits"] >= 8 else 0.0
        ),
        "that is one sequence. Each of the batch keeps its own cache.": lambda **a: _cache(1, a["context"], a["bits"]),
        "that is one token per sequence. Every token of the context is cached.": lambda **a: _cache(
            a["batch"], 1, a["bits"]
        ),
        "one layer only. Each of the 80 keeps its own keys and values.": lambda **a: _cache(**a) / LLAMA3_70B.layers,
    },
)


def _as_deployment(chips: int, weights: float) -> Deployment:
    """The 70B model in the dtype that has so many bytes of weights."""
    sizes = {w: weight_bytes(replace(NODE, weights=w)) for w in _DTYPE.values()}
    return replace(NODE, chips=chips, weights=min(sizes, key=lambda w: abs(sizes[w] - weights)))


def _times(chips: int, batch: int, weights: float, cache: float) -> tuple[StepTime, StepTime, StepTime]:
    """The step, the same on one card, and that of one sequence."""
    d, context = _as_deployment(chips, weights), cache / NODE.kv_per_token / batch
    return decode_step(d, batch, context), decode_step(replace(d, chips=1), batch, context), decode_step(d, 1, context)


def _step(chips: int, batch: int, weights: float, cache: float) -> float:
    return _times(chips, batch, weights, cache)[0].total


def _by_size(**case: Any) -> float:
    step, size = _times(**case)[0], _as_deployment(case["chips"], case["weights"]).weight_size
    return step._replace(compute=size * step.compute).total


STEP = Exercise(
    _step,
    cases=tuple(
        {"chips": d.chips, "batch": B, "weights": weight_bytes(d), "cache": cache_bytes(d, B, S)}
        for d, B, S in (
            *((NODE, 1, CONTEXT), (NODE, 424, CONTEXT), (BF16, 372, CONTEXT), (replace(INT4, chips=4), 64, CONTEXT)),
            (NODE, 2000, 512),  # here arithmetic is longer than both reads
        )
    ),
    mistakes={
        "arithmetic is counted by the bytes of the weights. It is two FLOPs per parameter, of two bytes or half a one.": (
            _by_size
        ),
        **step_mistakes(_times),
        "the cache is multiplied by the batch once more: the argument is that of the whole batch.": lambda **a: (
            a["batch"] * _times(**a)[0].cache + _times(**a)[0].matmul
        ),
        "those are milliseconds. Pass seconds, and divide by ms for printing.": lambda **a: _step(**a) / ms,
    },
)


def _throughput(chips: int, batch: int, step: float) -> float:
    d = replace(NODE, chips=chips)
    return tokens_per_second_per_chip(d, batch, CONTEXT) * decode_step(d, batch, CONTEXT).total / step


THROUGHPUT = Exercise(
    _throughput,
    cases=tuple(
        {"chips": d.chips, "batch": B, "step": round(decode_step(d, B, CONTEXT).total, 6)}
        for d, B in ((NODE, 1), (NODE, 424), (FOUR, 186))
    ),
    mistakes={
        "that is the whole server. Divide by the cards.": lambda **a: a["chips"] * _throughput(**a),
        "that is what one user sees. Each sequence of the batch gains a token in a step.": lambda **a: (
            tokens_per_second(NODE, 1, CONTEXT) * _first(NODE) / a["step"]
        ),
        "tokens per millisecond. The text's chart has this unit, and calls it seconds.": lambda **a: (
            _throughput(**a) * ms
        ),
        "upside down: that is card-seconds per token.": lambda **a: 1 / _throughput(**a),
        "upside down, and the cards are forgotten: that is seconds per token.": lambda **a: a["step"] / a["batch"],
    },
)


def working(*mine: Callable[..., Any]) -> tuple[list[Callable[..., Any]], str]:
    """The reader's five functions, with the solution in place of each that is not right yet, and a line that says so."""
    exercises = (WEIGHT_BYTES, CACHE_BYTES, MAX_BATCH, STEP, THROUGHPUT)
    right = []
    for function, exercise in zip(mine, exercises, strict=True):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            check(function, *exercise)
        right.append(said.getvalue().startswith("Right"))
    others = "" if all(right) else " The solution stands in for each of the others."
    chain = [f if ok else e.reference for f, e, ok in zip(mine, exercises, right, strict=True)]
    return chain, f"Yours: {sum(right)} of {len(right)}.{others}"
