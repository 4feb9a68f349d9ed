"""Questions and exercises of chapter 3, latency. Every key and every trap is computed."""

from collections.abc import Callable
from dataclasses import replace

from scaling import (
    H100_TEXT,
    LLAMA3_70B,
    Deployment,
    cache_over_compute_context,
    critical_batch,
    decode_step,
    max_batch,
    prefill_time,
)
from scaling.course.exercise import Exercise
from scaling.course.questions import Multiple, Numeric, Option, Ordering, Question, Sharper, Single, Trap, WrongOrder
from scaling.latency import StepTime
from scaling.roofline import attention_intensity, ridge_point
from scaling.units import GB, TB, TFLOP, ms, number

# Eight H100 with bf16 weights, an int8 cache and the constants of the text.
NODE = Deployment(model=LLAMA3_70B, chip=H100_TEXT, chips=8, kv="int8", params="nominal")
ONE = replace(NODE, chips=1)
INT8 = replace(NODE, weights="int8")
PROMPT, MFU = 2048, 0.4


def _ms(seconds: float) -> str:
    return f"{number(seconds / ms)} ms"


# --- exercises -------------------------------------------------------------------------------------------------------


def prefill_exercise(d: Deployment) -> Exercise:
    """The time of a prefill on some of the deployment's chips."""

    def took(chips: int, tokens: int, mfu: float) -> float:
        return prefill_time(replace(d, chips=chips), tokens, mfu=mfu)

    return Exercise(
        took,
        cases=(
            {"chips": 8, "tokens": 2048, "mfu": 0.4},
            {"chips": 8, "tokens": 512, "mfu": 0.9},
            {"chips": 4, "tokens": 8192, "mfu": 0.5},
        ),
        mistakes={
            "you counted one FLOP per parameter and token; a multiplication and an addition make two.": (
                lambda chips, tokens, mfu: took(chips, tokens, mfu) / 2
            ),
            "six FLOPs per parameter and token belong to training, with its backward pass. A forward pass takes two.": (
                lambda chips, tokens, mfu: 3 * took(chips, tokens, mfu)
            ),
            "you multiplied the time by the MFU. It scales the rate, and the rate stands below the line: divide by it.": (
                lambda chips, tokens, mfu: took(chips, tokens, 1.0) * mfu
            ),
            "the MFU is not in it: this is the time at the full peak.": lambda chips, tokens, mfu: took(
                chips, tokens, 1.0
            ),
            "you divided by the MFU twice.": lambda chips, tokens, mfu: took(chips, tokens, mfu) / mfu,
            "you took the MFU in percent. 40 % is 0.4.": lambda chips, tokens, mfu: took(chips, tokens, mfu) / 100,
            "you took the rate of one chip. The chips share the work, so their rates add up.": (
                lambda chips, tokens, mfu: took(1, tokens, mfu)
            ),
            "two slips: one chip alone, and its full peak.": lambda chips, tokens, mfu: took(1, tokens, 1.0),
            "you divided by the chips twice: their FLOP/s are counted together already.": (
                lambda chips, tokens, mfu: took(chips, tokens, mfu) / chips
            ),
            "two slips: one FLOP per parameter and token where there are two, and the full peak.": (
                lambda chips, tokens, mfu: took(chips, tokens, 1.0) / 2
            ),
            "that is one token. All those of the prompt must pass before the first one comes out.": (
                lambda chips, tokens, mfu: took(chips, 1, mfu)
            ),
        },
    )


PREFILL_TIME = prefill_exercise(NODE)

# What a reader may make of the three times of a step. Each is a function of the times as they are, and some need those
# of one chip or of one sequence as well.
_Wrong = Callable[[StepTime, StepTime, StepTime], float]
_STEPS: dict[str, _Wrong] = {
    "you summed all three. A matmul multiplies one tile of weights while the next is on its way: of those two only the longer counts.": (
        lambda step, chip, one: step.weights + step.compute + step.cache
    ),
    "you took the longest of the three. Attention takes turns with the matmuls, so the cache is added.": (
        lambda step, chip, one: max(step.weights, step.compute, step.cache)
    ),
    "you hid the arithmetic behind both reads. That is the floor, which needs perfect overlap; here attention takes turns with the matmuls.": (
        lambda step, chip, one: max(step.weights + step.cache, step.compute)
    ),
    "you took the shorter of reading the weights and multiplying. One waits for the longer.": (
        lambda step, chip, one: step.cache + min(step.weights, step.compute)
    ),
    "you always took reading the weights, or the arithmetic of one sequence. Above the critical batch that of all takes longer.": (
        lambda step, chip, one: step.cache + step.weights
    ),
    "you always took the arithmetic. Below the critical batch reading the weights takes longer.": (
        lambda step, chip, one: step.cache + step.compute
    ),
    "you left out the cache: every step reads all of it.": lambda step, chip, one: max(step.weights, step.compute),
    "that is the cache alone. The weights are read in the same step.": lambda step, chip, one: step.cache,
    "you counted one FLOP per parameter and sequence; a multiplication and an addition make two.": (
        lambda step, chip, one: step.cache + max(step.weights, step.compute / 2)
    ),
    "you halved the bytes of the weights: look at their dtype.": (
        lambda step, chip, one: step.cache + max(step.weights / 2, step.compute)
    ),
    "you doubled the bytes of the weights: look at their dtype.": (
        lambda step, chip, one: step.cache + max(2 * step.weights, step.compute)
    ),
    "you doubled the cache: its bytes per token hold keys and values already.": (
        lambda step, chip, one: 2 * step.cache + max(step.weights, step.compute)
    ),
    "you took keys or values alone. Each head keeps both.": (
        lambda step, chip, one: step.cache / 2 + max(step.weights, step.compute)
    ),
    "that is one chip alone. All of them read and multiply their share at the same time.": (
        lambda step, chip, one: chip.cache + max(chip.weights, chip.compute)
    ),
    "you took the bandwidth of one chip. All chips read their share at the same time.": (
        lambda step, chip, one: chip.cache + max(chip.weights, step.compute)
    ),
    "you took the FLOP/s of one chip. All chips multiply their share at the same time.": (
        lambda step, chip, one: step.cache + max(step.weights, chip.compute)
    ),
    "you took the cache of one sequence. Every sequence of the batch has its own.": (
        lambda step, chip, one: one.cache + max(step.weights, step.compute)
    ),
    "you read the weights once for each sequence. The batch shares that read.": (
        lambda step, chip, one: step.cache + max(step.weights * step.compute / one.compute, step.compute)
    ),
}


def step_mistakes(times: Callable[..., tuple[StepTime, StepTime, StepTime]]) -> dict[str, Callable[..., float]]:
    """The mistakes of an exercise whose arguments `times` turns into the step as it is, on one chip, of one sequence."""

    def mistake(wrong: _Wrong) -> Callable[..., float]:
        return lambda **case: wrong(*times(**case))

    return {said: mistake(wrong) for said, wrong in _STEPS.items()}


def step_exercise(d: Deployment) -> Exercise:
    """The time of a decode step on some of the deployment's chips."""

    def took(chips: int, batch: float, context: float) -> StepTime:
        return decode_step(replace(d, chips=chips), batch, context)

    def times(chips: int, batch: float, context: float) -> tuple[StepTime, StepTime, StepTime]:
        return took(chips, batch, context), took(1, batch, context), took(chips, 1, context)

    return Exercise(
        lambda chips, batch, context: took(chips, batch, context).total,
        cases=(
            {"chips": 8, "batch": 1, "context": 2048},
            {"chips": 8, "batch": 128, "context": 8192},
            {"chips": 8, "batch": 1024, "context": 2048},
            {"chips": 4, "batch": 400, "context": 4096},
        ),
        mistakes={
            **step_mistakes(times),
            "you took the cache of one token per sequence. A step reads the whole context.": (
                lambda chips, batch, context: took(chips, batch, 1).cache + took(chips, batch, context).matmul
            ),
        },
    )


DECODE_STEP = step_exercise(NODE)

# --- prefill ---------------------------------------------------------------------------------------------------------

_prefill = prefill_time(NODE, PROMPT, mfu=MFU)
_prefill_peak = prefill_time(NODE, PROMPT)

PREFILL = Numeric(
    id="03-prefill",
    prompt=(
        f"A prompt of {PROMPT:,} tokens reaches an idle LLaMA 3-70B (70e9 parameters) on 8 H100 (990 TFLOP/s each). "
        "The engine reaches 40 % of the peak. How long does the prefill take?"
    ),
    answer=_prefill,
    unit="ms",
    right="Two FLOPs per parameter and token, over the rate that is really reached: 40 % of eight cards' peak.",
    traps=PREFILL_TIME.traps(
        {
            "that is the time to read the weights once. All tokens of the prompt share that read, and multiplying for "
            f"{PROMPT:,} of them takes longer.": decode_step(NODE, 1, 0).weights,
            "you read the weights once per token, as in decode. A prompt is known in advance: its tokens share one "
            "read.": PROMPT * decode_step(NODE, 1, 0).weights,
        },
        chips=8,
        tokens=PROMPT,
        mfu=MFU,
    ),
    sharper=(
        Sharper(
            value=prefill_time(NODE, PROMPT, mfu=MFU, attention=True),
            feedback=f"You counted attention's own arithmetic too. Without it the prefill takes {_ms(_prefill)}.",
        ),
        Sharper(
            value=prefill_time(replace(NODE, params="exact"), PROMPT, mfu=MFU),
            feedback=f"You took the exact parameters. With 70e9 the prefill takes {_ms(_prefill)}.",
        ),
    ),
    hints=(
        "A prefill handles all tokens of the prompt at once, so what counts is arithmetic, not reading.",
        "Time is FLOPs over FLOP/s: 2 P S over N C MFU.",
        f"The FLOPs are 2 x 70e9 x {PROMPT:,}; the rate is 8 x {number(H100_TEXT.rate('bf16') / TFLOP)} TFLOP/s x 0.4.",
    ),
    solution=(
        f"2 x 70e9 x {PROMPT:,} = {number(2 * NODE.step_params * PROMPT / TFLOP)} TFLOP, over "
        f"{number(NODE.flops * MFU / TFLOP)} TFLOP/s, is {_ms(_prefill)}. At the full peak it would be {_ms(_prefill_peak)}."
    ),
)

# --- the floor -------------------------------------------------------------------------------------------------------

_floor = decode_step(NODE, 1, 0).weights
_exact_floor = decode_step(replace(NODE, params="exact"), 1, 0).weights

FLOOR = Numeric(
    id="03-decode-floor",
    prompt=(
        "LLaMA 3-70B (70e9 parameters) in bf16 runs on 8 H100 with 3.35 TB/s of memory bandwidth each. "
        "Every decode step, at any batch size, reads these weights once. How long does that take at the peaks?"
    ),
    answer=_floor,
    unit="ms",
    right="Every step reads every weight once, and eight memories deliver them side by side.",
    traps=(
        Trap(
            value=decode_step(ONE, 1, 0).weights,
            feedback=(
                "Eight times too long. If you used one card's bandwidth: each card reads its eighth, all at the same time. "
                "If you took 16 bits for 16 bytes: they are two."
            ),
        ),
        Trap(
            value=decode_step(INT8, 1, 0).weights,
            feedback="You took one byte per weight, which is int8. A bf16 weight is 16 bits, two bytes.",
        ),
        Trap(
            value=2 * _floor,
            feedback=(
                "You read the weights twice. The factor 2 belongs to the FLOPs, a multiplication and an addition; "
                "one read serves both."
            ),
        ),
        Trap(
            value=_floor / NODE.chips,
            feedback="You divided by 8 twice: once in the weights per card and once more in the total bandwidth.",
        ),
        Trap(
            value=decode_step(NODE, 1, 0).compute,
            feedback="That is the arithmetic for one sequence. Reading the weights takes far longer, and the step waits for it.",
        ),
        Trap(
            value=H100_TEXT.memory / H100_TEXT.bandwidth,
            feedback="That is the time to read a full card of 80 GB. A step reads what is stored: the weights, an eighth of them on each card.",
        ),
        Trap(
            value=decode_step(replace(NODE, weights="int4"), 1, 0).weights,
            feedback="That is a quarter: int4, half a byte for each weight. In bf16 a weight has two bytes.",
        ),
    ),
    sharper=(
        Sharper(
            value=_exact_floor,
            feedback=f"You took the exact parameters. With 70e9 the step takes {_ms(_floor)}.",
        ),
    ),
    hints=(
        "With one sequence the arithmetic is negligible: look at what has to be read.",
        "Bytes of the weights over the bandwidth of all cards: P b_w over N W.",
        f"The weights are {number(NODE.step_params * NODE.weight_size / GB)} GB.",
    ),
    solution=(
        f"{number(NODE.step_params * NODE.weight_size / GB)} GB over {number(NODE.bandwidth / TB)} TB/s "
        f"is {_ms(_floor)} per step, {number(1 / _floor)} steps per second."
    ),
)

# --- what int8 weights change ----------------------------------------------------------------------------------------


def _halves(before: float, after: float) -> bool:
    return abs(after / before - 0.5) < 1e-9


_B, _S = 128, 8192
_bf16, _int8 = decode_step(NODE, _B, _S), decode_step(INT8, _B, _S)

INT8_WEIGHTS = Multiple(
    id="03-int8-weights",
    prompt=(
        "You store the weights in int8 instead of bf16. Arithmetic stays in bf16 and the cache keeps its dtype. "
        "Which of these become half as large? Tick all."
    ),
    options=(
        Option(
            text="time to multiply by the weights in a decode step",
            correct=_halves(_bf16.compute, _int8.compute),
            feedback=(
                "The weights are widened to bf16 before the multiplication, so FLOPs and FLOP/s stay the same. "
                "'int8 is twice as fast' holds for reading, not for this arithmetic."
            ),
        ),
        Option(
            text="time to read the weights in a decode step",
            correct=_halves(_bf16.weights, _int8.weights),
            feedback=f"One byte instead of two travels per weight: {_ms(_bf16.weights)} become {_ms(_int8.weights)}.",
        ),
        Option(
            text="time to read the cache in a decode step",
            correct=_halves(_bf16.cache, _int8.cache),
            feedback="The cache has a dtype of its own. Weights and cache are quantised separately.",
        ),
        Option(
            text="critical batch, from which arithmetic takes longer than reading the weights",
            correct=_halves(critical_batch(H100_TEXT, "bf16"), critical_batch(H100_TEXT, "int8")),
            feedback=(
                "Reading got twice as fast and arithmetic did not, so they balance at half the batch: "
                f"{number(critical_batch(H100_TEXT, 'bf16'))} becomes {number(critical_batch(H100_TEXT, 'int8'))}."
            ),
        ),
        Option(
            text=f"prefill time of a prompt of {_S:,} tokens",
            correct=_halves(prefill_time(NODE, _S), prefill_time(INT8, _S)),
            feedback="A long prefill is bound by arithmetic, and the arithmetic is still bf16.",
        ),
    ),
    hints=(
        "Ask of each quantity whether the bytes of a stored weight appear in it.",
        "P b_w / (N W), 2 B P / (N C), B S kv / (N W), C b_w / (2 W), 2 P S / (N C): look for b_w.",
        "b_w goes from 2 bytes to 1. C, W and kv stay as they are.",
    ),
    solution=(
        "Only two of the five contain b_w: reading the weights, P b_w / (N W), and the critical batch, C b_w / (2 W). "
        f"The whole step at batch {_B} and context {_S:,} falls from {_ms(_bf16.total)} to {_ms(_int8.total)}, not to half."
    ),
)

# --- the cache term --------------------------------------------------------------------------------------------------

_CB, _CS = 32, 32_768
_cache = decode_step(NODE, _CB, _CS).cache

CACHE_TIME = Numeric(
    id="03-cache-time",
    prompt=(
        f"LLaMA 3-70B (80 layers, 8 KV heads, head size 128) keeps {_CB} sequences of {_CS:,} tokens in an int8 cache, "
        "spread over 8 H100 (3.35 TB/s each). How long does a decode step spend reading the cache?"
    ),
    answer=_cache,
    unit="ms",
    right="Every sequence owns its cache, so nothing is shared and the time grows with batch times context.",
    traps=(
        Trap(
            value=decode_step(NODE, 1, _CS).cache,
            feedback=f"That is one sequence. The weights are shared by the batch, the cache is not: all {_CB} are read.",
        ),
        Trap(
            value=_cache / 2,
            feedback="A factor 2 is missing: each head keeps a key and a value for every token.",
        ),
        Trap(
            value=decode_step(replace(NODE, kv="bf16"), _CB, _CS).cache,
            feedback="That is a bf16 cache, two bytes per number. The cache here is int8.",
        ),
        Trap(
            value=decode_step(ONE, _CB, _CS).cache,
            feedback=(
                "Eight times too long. If you used one card's bandwidth: the cache is spread over eight, which read at the same "
                "time. If you counted 64 query heads: only the 8 KV heads are kept."
            ),
        ),
        Trap(
            value=_cache / LLAMA3_70B.layers,
            feedback=f"That is one layer. Each of the {LLAMA3_70B.layers} layers has a cache of its own, and a step reads them all.",
        ),
        Trap(
            value=_cache + decode_step(NODE, _CB, _CS).matmul,
            feedback="That is the whole step. The question asks for the cache alone, without reading the weights.",
        ),
    ),
    hints=(
        "You need the bytes of the whole cache and the bandwidth of all cards.",
        "B S kv over N W, with kv = 2 L K H b per token.",
        f"kv is 2 x 80 x 8 x 128 x 1 = {number(int(NODE.kv_per_token))} bytes.",
    ),
    solution=(
        f"{_CB} x {_CS:,} x {number(int(NODE.kv_per_token))} B = {number(_CB * _CS * NODE.kv_per_token / GB)} GB, over "
        f"{number(NODE.bandwidth / TB)} TB/s, is {_ms(_cache)}. Reading the weights takes {_ms(_floor)}."
    ),
)

# --- the whole step --------------------------------------------------------------------------------------------------

_FULL, _SHORT = 400, 4096
_full = decode_step(NODE, _FULL, _SHORT)

STEP = Numeric(
    id="03-step-time",
    prompt=(
        f"On 8 H100, at batch {_FULL} and context {_SHORT:,}, a decode step reads the weights for {_ms(_full.weights)}. "
        f"It multiplies for {_ms(_full.compute)} and reads the cache for {_ms(_full.cache)}. How long is the step?"
    ),
    answer=_full.total,
    unit="ms",
    right="Weights and arithmetic overlap, the cache waits its turn: the cache plus the longer of the other two.",
    traps=DECODE_STEP.traps(
        {
            "that is reading the weights. At this batch the arithmetic is longer, and the cache comes on top.": _full.weights,
            "you left out the cache, and added two terms that overlap.": _full.weights + _full.compute,
        },
        without=("dtype", "FLOP", "chip", "one sequence.", "one token", "once for each", "keys"),  # the times are given
        chips=8,
        batch=_FULL,
        context=_SHORT,
    ),
    hints=(
        "Which of the three happen at the same time?",
        "T_step = T_cache + max(T_weights, T_compute).",
        f"The longer of {_ms(_full.weights)} and {_ms(_full.compute)} is {_ms(_full.matmul)}; one term is still missing.",
    ),
    solution=f"{_ms(_full.cache)} + {_ms(_full.matmul)} = {_ms(_full.total)}; reading the weights hides behind the arithmetic.",
)

# --- below the floor -------------------------------------------------------------------------------------------------

# The next token and one guessed ahead: two positions of one sequence in a step, which share its cache.
_pair = decode_step(NODE, 2, PROMPT / 2)

BELOW = Single(
    id="03-below-the-floor",
    prompt=(
        "One user waits for tokens from a model on fixed hardware, with the weights in a fixed dtype. What can bring the "
        "time per output token below P b_w / (N W)?"
    ),
    options=(
        Option(
            text="a larger batch, so that more sequences share each read of the weights",
            correct=decode_step(NODE, _B, PROMPT).total < _floor,
            feedback=(
                "Sharing the read makes a token cheaper, not sooner: each sequence still gets one token per step, and "
                f"the step grows, to {_ms(decode_step(NODE, _B, PROMPT).total)} at batch {_B}."
            ),
        ),
        Option(
            text="continuous batching, which fills free places at once",
            feedback="It raises throughput and shortens queues. A step still reads every weight and gives one token.",
        ),
        Option(
            text="speculative decoding",
            correct=_pair.total / 2 < _floor,
            feedback=(
                "The floor is per step. When guesses are accepted, one step yields several tokens: checking one guess "
                f"along costs {_ms(_pair.total)} for two tokens, {_ms(_pair.total / 2)} each if it is accepted."
            ),
        ),
        Option(
            text="a KV cache with fewer bits",
            correct=decode_step(replace(NODE, kv="fp4"), 1, PROMPT).total < _floor,
            feedback=(
                "This shortens the cache term, which comes on top of the floor. The floor itself contains only the "
                "weights."
            ),
        ),
    ),
    hints=(
        "P b_w / (N W) is the time of something. Of a token, or of a step?",
        "Time per token is time per step over tokens per step and sequence.",
        "Go through the options: which one changes how many tokens a step gives to the same user?",
    ),
    solution=(
        f"Reading the weights takes {_ms(_floor)} per step. Batching and the cache dtype leave one token per step and "
        "sequence. Speculative decoding checks several guessed tokens in one step, so a lucky step yields more than one."
    ),
)

# --- the order of the terms ------------------------------------------------------------------------------------------

_NAMES = {"weights": "reading the weights", "compute": "multiplying by the weights", "cache": "reading the cache"}
_ORDER = tuple(_NAMES[name] for name in sorted(_NAMES, key=lambda name: -getattr(_bf16, name)))

TERM_ORDER = Ordering(
    id="03-term-order",
    prompt=(
        f"LLaMA 3-70B in bf16 with an int8 cache on 8 H100 decodes {_B} sequences of {_S:,} tokens. Put the terms of the "
        "step in order, the longest first."
    ),
    items=_ORDER,
    right=(
        f"The cache takes {_ms(_bf16.cache)}, the weights {_ms(_bf16.weights)}, the arithmetic {_ms(_bf16.compute)}: "
        "at this batch and length the cache has overtaken the weights."
    ),
    other=(
        f"Batch {_B} is below the critical batch of {number(critical_batch(H100_TEXT))}, so arithmetic is shorter than "
        "reading the weights; then compare the bytes of the cache with those of the weights."
    ),
    traps=(
        WrongOrder(
            order=(_NAMES["weights"], _NAMES["cache"], _NAMES["compute"]),
            feedback=(
                "That is the order at a smaller batch. The weights are read once for all, the cache once per sequence: "
                f"{number(_B * _S * NODE.kv_per_token / GB)} GB of cache against "
                f"{number(NODE.step_params * NODE.weight_size / GB)} GB of weights."
            ),
        ),
        WrongOrder(
            order=(_NAMES["cache"], _NAMES["compute"], _NAMES["weights"]),
            feedback=(
                f"Arithmetic overtakes the weights only from batch {number(critical_batch(H100_TEXT))} on, "
                f"and the batch is {_B}."
            ),
        ),
        WrongOrder(
            order=(_NAMES["compute"], _NAMES["weights"], _NAMES["cache"]),
            feedback=(
                "That is how training looks. Here a step multiplies for one token per sequence only, while each "
                "sequence's whole past is read."
            ),
        ),
    ),
    hints=(
        "Compare bytes first: weights and cache share the same bandwidth.",
        "P b_w against B S kv for the reads; B against the critical batch for the arithmetic.",
        f"The weights are {number(NODE.step_params * NODE.weight_size / GB)} GB; one token of cache is "
        f"{number(int(NODE.kv_per_token))} B.",
    ),
    solution=(
        f"Cache {_ms(_bf16.cache)}, weights {_ms(_bf16.weights)}, arithmetic {_ms(_bf16.compute)}. Attention's own "
        f"arithmetic hides behind its reading: {number(attention_intensity(LLAMA3_70B, 'int8'))} FLOP per byte against "
        f"the chip's {number(ridge_point(H100_TEXT))}."
    ),
)

# --- when overlap pays -----------------------------------------------------------------------------------------------

_SHORTEST, _EVEN, _LONG, _LONGEST = 512, 3000, 8192, 32_768
_filled = {S: decode_step(INT8, max_batch(INT8, S), S) for S in (_SHORTEST, _EVEN, _LONG, _LONGEST)}


def _gain(context: int) -> float:
    """How many times as fast a step is with perfect overlap, memory filled."""
    return _filled[context].total / _filled[context].floor


def _pays_most(context: int) -> bool:
    return _gain(context) == max(map(_gain, _filled))


OVERLAP = Single(
    id="03-overlap",
    prompt=(
        "8 H100 hold LLaMA 3-70B with int8 weights, an int8 cache and as many sequences as fit; arithmetic is in bf16. "
        "From now on attention runs beside the matmuls, perfectly overlapped. At which context does the step gain most?"
    ),
    options=(
        Option(
            text=f"{_SHORTEST:,} tokens",
            correct=_pays_most(_SHORTEST),
            feedback=(
                f"Nearly all of this step is arithmetic, {_ms(_filled[_SHORTEST].compute)} of {_ms(_filled[_SHORTEST].total)}. "
                f"Hiding the cache behind it makes the step {number(_gain(_SHORTEST))} times as fast."
            ),
        ),
        Option(
            text=f"{_LONG:,} tokens",
            correct=_pays_most(_LONG),
            feedback=(
                f"The cache takes {_ms(_filled[_LONG].cache)} and the arithmetic {_ms(_filled[_LONG].compute)}. Only the "
                f"shorter can be hidden, and the step becomes {number(_gain(_LONG))} times as fast."
            ),
        ),
        Option(
            text=f"{_EVEN:,} tokens",
            correct=_pays_most(_EVEN),
            feedback=(
                f"Cache and arithmetic take nearly the same time, {_ms(_filled[_EVEN].cache)} and "
                f"{_ms(_filled[_EVEN].compute)}. One hides the other, and the step is {number(_gain(_EVEN))} times as fast."
            ),
        ),
        Option(
            text=f"{_LONGEST:,} tokens",
            correct=_pays_most(_LONGEST),
            feedback=(
                f"Memory holds {max_batch(INT8, _LONGEST)} sequences of that length, fewer than the critical batch. There the "
                "arithmetic hides behind reading the weights already."
            ),
        ),
    ),
    hints=(
        "Of two works that run side by side, the shorter one costs nothing. When is that a lot?",
        "For one sequence: S kv / (N W) of reading against 2 P / (N C) of arithmetic. When are they equal?",
        "The arithmetic is 140 GFLOP over 990 TFLOP/s a card. How many tokens of 163,840 B does it read meanwhile?",
    ),
    solution=(
        "Reading a sequence's cache takes as long as its arithmetic at S = 2 P W / (C kv), "
        f"{number(round(cache_over_compute_context(INT8)))} tokens here. The further from there, the less there is to hide."
    ),
)

QUESTIONS: tuple[Question, ...] = (PREFILL, FLOOR, BELOW, STEP, CACHE_TIME, TERM_ORDER, INT8_WEIGHTS, OVERLAP)
