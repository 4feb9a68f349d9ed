"""Questions and exercises of chapter 3, latency. Every key and every trap is computed."""

from dataclasses import replace

from scaling import H100_TEXT, LLAMA3_70B, Deployment, critical_batch, decode_step, prefill_time
from scaling.course.exercise import Exercise
from scaling.course.questions import Multiple, Numeric, Option, Ordering, Question, Single, Trap, WrongOrder
from scaling.roofline import attention_intensity, ridge_point
from scaling.units import GB, TB, TFLOP, ms, number

# Eight H100 with bf16 weights, an int8 cache and the constants of the text.
NODE = Deployment(model=LLAMA3_70B, chip=H100_TEXT, chips=8, kv="int8", params="nominal")
ONE = replace(NODE, chips=1)
INT8 = replace(NODE, weights="int8")
PROMPT, MFU = 2048, 0.4


def _ms(seconds: float) -> str:
    return f"{number(seconds / ms)} ms"


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
    traps=(
        Trap(
            value=_prefill_peak,
            feedback="That is the time at the full peak. An engine at 40 % needs 2.5 times as long.",
        ),
        Trap(
            value=_prefill_peak * MFU,
            feedback=(
                "You multiplied the time by 0.4, so a less efficient engine came out faster. The 40 % scales the rate, "
                "and the rate stands below the line: divide by it."
            ),
        ),
        Trap(
            value=_prefill / 2,
            feedback="You counted one FLOP per parameter and token. A multiplication and an addition make two.",
        ),
        Trap(
            value=prefill_time(ONE, PROMPT, mfu=MFU),
            feedback="That is one card alone. The eight cards share every matrix, so their rates add up.",
        ),
        Trap(
            value=prefill_time(ONE, PROMPT),
            feedback="Two slips: one card alone, and its full peak. Eight cards share the work, each at 40 % of its peak.",
        ),
        Trap(
            value=_prefill_peak / 2,
            feedback="Two slips: one FLOP per parameter and token where there are two, and the full peak in place of 40 %.",
        ),
        Trap(
            value=3 * _prefill,
            feedback="Six FLOPs per parameter and token belong to training, with its backward pass. A forward pass takes two.",
        ),
        Trap(
            value=decode_step(NODE, 1, 0).weights,
            feedback=(
                "That is the time to read the weights once. All tokens of the prompt share that read, and multiplying for "
                f"{PROMPT:,} of them takes longer."
            ),
        ),
        Trap(
            value=PROMPT * decode_step(NODE, 1, 0).weights,
            feedback="You read the weights once per token, as in decode. A prompt is known in advance: its tokens share one read.",
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

FLOOR = Numeric(
    id="03-decode-floor",
    prompt=(
        "LLaMA 3-70B (70e9 parameters) in bf16 runs on 8 H100 with 3.35 TB/s of memory bandwidth each. "
        "What is the shortest that a decode step can be, at any batch size?"
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
    traps=(
        Trap(
            value=_full.weights + _full.compute + _full.cache,
            feedback=(
                "You summed all three. A matmul multiplies one tile of weights while the next is on its way, so of those "
                "two only the longer counts."
            ),
        ),
        Trap(
            value=max(_full.weights, _full.compute, _full.cache),
            feedback=(
                "You took the longest of the three. Attention needs the result of the matmul before it, so reading the "
                "cache does not overlap with the matmuls: add it."
            ),
        ),
        Trap(
            value=_full.cache + min(_full.weights, _full.compute),
            feedback=(
                f"You let the arithmetic hide, and counted the two reads. Batch {_FULL} is above the critical batch of "
                f"{number(critical_batch(H100_TEXT))}: the arithmetic sets the pace, and reading the weights hides behind it."
            ),
        ),
        Trap(
            value=_full.matmul,
            feedback="That is the matmul part only. Attention reads the cache of every sequence as well.",
        ),
        Trap(
            value=_full.weights,
            feedback="That is the floor, reading the weights. At this batch the arithmetic is longer, and the cache comes on top.",
        ),
        Trap(
            value=_full.weights + _full.compute,
            feedback="You left out the cache, and added two terms that overlap.",
        ),
    ),
    hints=(
        "Which of the three happen at the same time?",
        "T_step = T_cache + max(T_weights, T_compute).",
        f"The longer of {_ms(_full.weights)} and {_ms(_full.compute)} is {_ms(_full.matmul)}; one term is still missing.",
    ),
    solution=f"{_ms(_full.cache)} + {_ms(_full.matmul)} = {_ms(_full.total)}; reading the weights hides behind the arithmetic.",
)

# --- below the floor -------------------------------------------------------------------------------------------------

_pair = decode_step(NODE, 2, PROMPT)  # two positions of one sequence in a step: the next token and one guessed ahead

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

QUESTIONS: tuple[Question, ...] = (PREFILL, FLOOR, BELOW, STEP, CACHE_TIME, TERM_ORDER, INT8_WEIGHTS)

# --- exercises -------------------------------------------------------------------------------------------------------


def _node(chips: int) -> Deployment:
    return replace(NODE, chips=chips)


PREFILL_TIME = Exercise(
    reference=lambda chips, tokens, mfu: prefill_time(_node(chips), tokens, mfu=mfu),
    cases=(
        {"chips": 8, "tokens": 2048, "mfu": 0.4},
        {"chips": 8, "tokens": 512, "mfu": 1.0},
        {"chips": 4, "tokens": 8192, "mfu": 0.5},
    ),
    mistakes={
        "one FLOP per parameter and token; a multiplication and an addition make two.": lambda chips, tokens, mfu: (
            prefill_time(_node(chips), tokens, mfu=mfu) / 2
        ),
        "the time was multiplied by the MFU; a lower MFU means a lower rate and a longer time.": (
            lambda chips, tokens, mfu: prefill_time(_node(chips), tokens) * mfu
        ),
        "the MFU is not in it, so this is the time at the full peak.": lambda chips, tokens, mfu: prefill_time(
            _node(chips), tokens
        ),
        "the rate of one chip; the chips share the work, so their rates add up.": lambda chips, tokens, mfu: (
            prefill_time(ONE, tokens, mfu=mfu)
        ),
    },
)


def _step(chips: int, batch: float, context: float):
    return decode_step(_node(chips), batch, context)


def _summed(chips: int, batch: float, context: float) -> float:
    step = _step(chips, batch, context)
    return step.weights + step.compute + step.cache


def _longest(chips: int, batch: float, context: float) -> float:
    step = _step(chips, batch, context)
    return max(step.weights, step.compute, step.cache)


def _one_flop(chips: int, batch: float, context: float) -> float:
    step = _step(chips, batch, context)
    return step._replace(compute=step.compute / 2).total


def _one_bandwidth(chips: int, batch: float, context: float) -> float:
    alone = decode_step(ONE, batch, context)
    return alone._replace(compute=_step(chips, batch, context).compute).total


def _one_sequence(chips: int, batch: float, context: float) -> float:
    return _step(chips, batch, context)._replace(cache=_step(chips, 1, context).cache).total


def _no_context(chips: int, batch: float, context: float) -> float:
    return _step(chips, batch, context)._replace(cache=_step(chips, batch, 1).cache).total


DECODE_STEP = Exercise(
    reference=lambda chips, batch, context: _step(chips, batch, context).total,
    cases=(
        {"chips": 8, "batch": 1, "context": 2048},
        {"chips": 8, "batch": 128, "context": 8192},
        {"chips": 8, "batch": 1024, "context": 2048},
        {"chips": 4, "batch": 400, "context": 4096},
    ),
    mistakes={
        "all three terms were summed; reading the weights and multiplying by them overlap, so take the longer.": _summed,
        "the longest of the three; attention does not overlap with the matmuls, so the cache is added.": _longest,
        "one FLOP per parameter and sequence; a multiplication and an addition make two.": _one_flop,
        "the bandwidth of one chip; all chips read their share at the same time.": _one_bandwidth,
        "the cache of one sequence; every sequence of the batch has its own.": _one_sequence,
        "the cache of one token per sequence; a step reads the whole context.": _no_context,
        "the arithmetic is not in it; above the critical batch it takes longer than the weights.": (
            lambda chips, batch, context: _step(chips, batch, context)._replace(compute=0.0).total
        ),
        "the cache is not in it.": lambda chips, batch, context: _step(chips, batch, context).matmul,
    },
)
