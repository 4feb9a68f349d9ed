"""Chapter 2: what weights and cache weigh, and how many cards and sequences follow."""

from dataclasses import replace
from math import floor
from typing import Any

from scaling import (
    H100_TEXT,
    LLAMA3_8B,
    LLAMA3_70B,
    LLAMA3_405B,
    Deployment,
    cache_budget,
    cache_bytes,
    fits,
    max_batch,
    min_chips,
    parallel_sizes,
    weight_bytes,
)
from scaling.course.exercise import Exercise
from scaling.course.questions import Multiple, Numeric, Option, Ordering, Question, Single, WrongOrder
from scaling.memory import grouped_weight_bytes
from scaling.units import DTYPE_BYTES, GB, GiB, KiB, kB, number

# Every query head with a key and a value of its own: multi-head attention, which the 70B model does not use.
MULTI_HEAD = replace(LLAMA3_70B, kv_heads=LLAMA3_70B.q_heads)

BATCH, CONTEXT, LONG = 32, 8192, 32_768

# The pop quiz of the text: one card, int8 cache, nominal parameters.
ONE_CARD = Deployment(model=LLAMA3_70B, chip=H100_TEXT, weights="bf16", kv="int8", params="nominal")
INT4 = replace(ONE_CARD, weights="int4")
CARD = H100_TEXT.memory
POP_CACHE = cache_bytes(ONE_CARD, BATCH, CONTEXT)
INT4_FILE = grouped_weight_bytes(LLAMA3_70B)

# Eight cards at a memory fraction of 0.85, weights and cache both in bf16.
NODE = replace(ONE_CARD, chips=8, kv="bf16", usable=0.85)

KV = {dtype: LLAMA3_70B.kv_bytes_per_token(dtype) for dtype in ("bf16", "int8", "int4")}
LONG_SEQUENCE = cache_bytes(ONE_CARD, 1, LONG)


def _gb(value: float) -> str:
    return f"{number(value / GB)} GB"


_CARDS = {
    2: (
        f"Two cards hold the weights, {_gb(weight_bytes(ONE_CARD))} of {_gb(2 * CARD)}, and that is where you stopped. "
        f"The cache of this batch needs another {_gb(POP_CACHE)}."
    ),
    3: (
        f"Three cards have room for {_gb(weight_bytes(ONE_CARD) + POP_CACHE)}. But each card must take the same number of "
        f"heads, and 3 divides neither {LLAMA3_70B.q_heads} query heads nor {LLAMA3_70B.kv_heads} KV heads."
    ),
    4: (
        f"Capacity asks for 3 cards; the next size that splits {LLAMA3_70B.q_heads} query heads and "
        f"{LLAMA3_70B.kv_heads} KV heads evenly is 4. It leaves {_gb(4 * CARD - weight_bytes(ONE_CARD) - POP_CACHE)} free."
    ),
    6: (
        f"Six is what an even number of cards suggests, but evenness is not the rule: {LLAMA3_70B.q_heads} query heads over "
        f"6 cards leave {LLAMA3_70B.q_heads % 6} over, and {LLAMA3_70B.kv_heads} KV heads leave {LLAMA3_70B.kv_heads % 6}."
    ),
    8: (
        "A full node works, but nothing forces you to rent one: four cards hold this load, and the heads divide. "
        "Take eight for speed or for a larger batch, not because you must."
    ),
}
_FEWEST = min_chips(ONE_CARD, BATCH, CONTEXT)

# Four rows that are not sorted by the size of the model.
_ROWS = sorted(
    (model.kv_bytes_per_token(dtype), f"{model.name}, {dtype} cache")
    for model, dtype in ((LLAMA3_405B, "int8"), (LLAMA3_8B, "int8"), (LLAMA3_70B, "bf16"), (LLAMA3_70B, "int8"))
)
_BY_CACHE = tuple(name for _, name in _ROWS)
_BY_MODEL = tuple(
    f"{model.name}, {dtype} cache"
    for model, dtype in ((LLAMA3_8B, "int8"), (LLAMA3_70B, "int8"), (LLAMA3_70B, "bf16"), (LLAMA3_405B, "int8"))
)
_DEEPER = LLAMA3_405B.kv_bytes_per_token("int8") / LLAMA3_8B.kv_bytes_per_token("int8")
_LARGER = LLAMA3_405B.params / LLAMA3_8B.params

_DTYPE_OF = {DTYPE_BYTES[dtype]: dtype for dtype in ("bf16", "int8", "int4")}


def _cache(
    *, layers: int, q_heads: int, kv_heads: int, head_dim: int, number_bytes: float, batch: int, context: int
) -> float:
    shape = replace(LLAMA3_70B, layers=layers, q_heads=q_heads, kv_heads=kv_heads, head_dim=head_dim)
    return cache_bytes(Deployment(model=shape, chip=H100_TEXT, kv=_DTYPE_OF[number_bytes]), batch, context)


CACHE = Exercise(
    _cache,
    cases=tuple(
        {
            "layers": model.layers,
            "q_heads": model.q_heads,
            "kv_heads": model.kv_heads,
            "head_dim": model.head_dim,
            "number_bytes": DTYPE_BYTES[dtype],
            "batch": batch,
            "context": context,
        }
        for model, dtype, batch, context in (
            (LLAMA3_70B, "int8", 32, 8192),
            (LLAMA3_8B, "int4", 5, 3000),
            (replace(LLAMA3_405B, kv_heads=16), "bf16", 7, 131_072),  # made up: elsewhere 8 heads look like 8 bits
        )
    ),
    mistakes={
        "you counted keys or values alone. Attention reads both, so both are kept.": lambda **a: _cache(**a) / 2,
        "you used the query heads, or the whole width D. Queries are not kept: only the KV heads are.": lambda **a: (
            _cache(**{**a, "kv_heads": a["q_heads"]})
        ),
        "you used the query heads for each KV head. It is the KV heads themselves that are kept.": lambda **a: _cache(
            **{**a, "kv_heads": a["q_heads"] // a["kv_heads"]}
        ),
        "you counted one KV head. All of them are kept.": lambda **a: _cache(**a) / a["kv_heads"],
        "you counted one number for each head. A key has as many as the head is wide, and so has a value.": lambda **a: (
            _cache(**a) / a["head_dim"]
        ),
        "that is one layer. Every layer keeps its own keys and values.": lambda **a: _cache(**a) / a["layers"],
        "that is one sequence. Each sequence of the batch has a cache of its own.": lambda **a: _cache(
            **{**a, "batch": 1}
        ),
        "that is one token. The cache keeps every token of the context.": lambda **a: _cache(**{**a, "context": 1}),
        "you took bits for bytes, and a byte has 8 of them.": lambda **a: 8 * _cache(**a),
        "you divided by 8 bits, and the numbers are bytes already.": lambda **a: _cache(**a) / 8,
        "you took one byte per number, whatever the dtype.": lambda **a: _cache(**{**a, "number_bytes": 1.0}),
    },
)

# What the dtype, and the names of the units, invite beside those.
_token = {"layers": 80, "q_heads": 64, "kv_heads": 8, "head_dim": 128, "number_bytes": 1.0, "batch": 1}


def _two_bytes(size: float) -> dict[str, float]:
    return {"that is the bf16 cache, two bytes a number. An int8 number is one byte.": 2 * size}


_KV_DTYPE = {size: dtype for dtype, size in KV.items()}


def _node(*, chips: int, memory: float, usable: float, weights: float, kv_per_token: float, context: int) -> Deployment:
    return Deployment(
        model=replace(LLAMA3_70B, nominal_params=weights / DTYPE_BYTES["int8"]),
        chip=replace(H100_TEXT, memory=memory),
        chips=chips,
        weights="int8",
        kv=_KV_DTYPE[kv_per_token],
        params="nominal",
        usable=usable,
    )


def _sequences(**case: Any) -> int:
    return max_batch(_node(**case), case["context"])


def _quotient(**case: Any) -> float:
    d = _node(**case)
    return (d.memory - weight_bytes(d)) / cache_bytes(d, 1, case["context"])


def _reserve_last(**case: Any) -> int:
    full = {**case, "usable": 1.0}
    return max(0, floor(case["usable"] * _quotient(**full)))


# As the text does it: 20 GB kept back, sequences of 4,096 tokens rounded down to tens, and half as many of 8,192.
_kept_back = 8 * CARD - weight_bytes(NODE) - 20 * GB
_rounded_down = _kept_back / cache_bytes(replace(NODE, kv="int8"), 1, CONTEXT / 2) // 10 * 10

SEQUENCES = Exercise(
    _sequences,
    cases=tuple(
        {
            "chips": chips,
            "memory": CARD,
            "usable": usable,
            "weights": weight_bytes(replace(ONE_CARD, weights=weights)),
            "kv_per_token": KV[kv],
            "context": context,
        }
        for chips, usable, weights, kv, context in (
            (8, 0.85, "bf16", "bf16", 8192),
            (2, 0.9, "int8", "int8", 4096),
            (1, 1.0, "bf16", "int8", 8192),
        )
    ),
    mistakes={
        "a negative number of sequences. When the weights do not fit, the answer is 0.": lambda **a: floor(
            _quotient(**a)
        ),
        "a negative number of sequences, cut towards 0. When the weights do not fit, the answer is 0.": lambda **a: int(
            _quotient(**a)
        ),
        "you did not round the quotient. Part of a sequence cannot be served: round down.": lambda **a: max(
            0.0, _quotient(**a)
        ),
        "not rounded, and below zero when the weights do not fit. Round down, and stop at 0.": _quotient,
        "you rounded up. The last sequence would not fit: round down.": lambda **a: max(0, floor(_quotient(**a)) + 1),
        "you rounded to the nearest. Where that is up, the last sequence does not fit: round down.": lambda **a: max(
            0, round(_quotient(**a))
        ),
        "you forgot the reserve: only a share of the memory may be filled.": lambda **a: _sequences(
            **{**a, "usable": 1.0}
        ),
        "the reserve is forgotten, and so is the case where nothing fits, whose answer is 0.": lambda **a: floor(
            _quotient(**{**a, "usable": 1.0})
        ),
        "you forgot the weights: they occupy the memory before any cache does.": lambda **a: _sequences(
            **{**a, "weights": 1.0}
        ),
        "you took the share of what the weights leave. It is a share of the whole memory.": _reserve_last,
        "you took one card's memory only. A sequence is spread over all the chips.": lambda **a: _sequences(
            **{**a, "chips": 1}
        ),
        "you put all the weights on every chip. The chips share them.": lambda **a: _sequences(
            **{**a, "weights": a["chips"] * a["weights"]}
        ),
        "that is how many tokens fit. A sequence has a whole context of them.": lambda **a: _sequences(
            **{**a, "context": 1}
        ),
    },
)

QUESTIONS: tuple[Question, ...] = (
    Numeric(
        id="02-kv-per-token",
        prompt="LLaMA 3-70B keeps its cache in int8. How many bytes does one token of one sequence occupy? Give three digits.",
        answer=KV["int8"],
        unit="B",
        rtol=0.005,  # close enough to tell 163,840 from 160,000, wide enough for 164 kB
        right=(
            f"A key and a value for each of {LLAMA3_70B.layers} layers, {LLAMA3_70B.kv_heads} KV heads and "
            f"{LLAMA3_70B.head_dim} elements, one byte each. That is exactly {number(KV['int8'] / KiB)} KiB."
        ),
        traps=CACHE.traps(
            {
                **_two_bytes(KV["int8"]),
                "you took four bytes a number, as in fp32. An int8 number is one byte.": 4 * KV["int8"],
                "you gave all 64 query heads a cache, in bf16. Only the 8 KV heads keep one, in int8 here.": (
                    MULTI_HEAD.kv_bytes_per_token("bf16")
                ),
                f"that is {number(KV['int8'] / KiB)} times 1,000. The right figure is {number(KV['int8'] / KiB)} KiB, "
                f"and a KiB is {number(int(KiB))} bytes.": KV["int8"] / KiB * kB,
            },
            rtol=0.005,
            **_token,
            context=1,
        ),
        hints=(
            "Ask what one layer must remember of one token.",
            "kv = 2 L K H b: keys and values, layers, KV heads, head size, bytes per number.",
            f"One layer keeps 2 x {LLAMA3_70B.kv_heads} x {LLAMA3_70B.head_dim} numbers. There are {LLAMA3_70B.layers} layers.",
        ),
        solution=(
            f"2 x {LLAMA3_70B.layers} x {LLAMA3_70B.kv_heads} x {LLAMA3_70B.head_dim} x 1 B = {number(KV['int8'])} B, "
            f"which is {number(KV['int8'] / KiB)} KiB, or {number(KV['int8'] / kB, 5)} kB."
        ),
    ),
    Numeric(
        id="02-one-sequence",
        prompt="One sequence of 32,768 tokens on LLaMA 3-70B, int8 cache. How many GB does its cache take? Give three digits.",
        answer=LONG_SEQUENCE,
        unit="GB",
        rtol=0.005,  # the text's 5.3 is 1.3 % off, and has feedback of its own
        right=(
            f"{number(KV['int8'])} B a token, kept through to the end. In binary units it is exactly "
            f"{number(LONG_SEQUENCE / GiB)} GiB: two right numbers, two names."
        ),
        traps=CACHE.traps(
            {
                **_two_bytes(LONG_SEQUENCE),
                "the number is right in GiB. You called it GB, and a GB is "
                f"{number(100 * (1 - GB / GiB), 2)} % smaller: divide the bytes by 10^9.": LONG_SEQUENCE / GiB * GB,
                "you multiplied 160,000 B by the tokens. A token takes 160 KiB, which is 163,840 B.": (
                    KV["int8"] / KiB * kB * LONG
                ),
                "you rounded the bytes of a token first: 162 kB would give it. "
                f"{number(KV['int8'])} B give {number(100 * (KV['int8'] / (162 * kB) - 1), 2)} % more.": 162
                * kB
                * LONG,
            },
            rtol=0.005,
            **_token,
            context=LONG,
        ),
        hints=(
            "You know the bytes of one token. A sequence keeps all its tokens.",
            "Cache of one sequence = S kv. Divide by 10^9 for GB.",
            f"32,768 x {number(KV['int8'])} B, then divide by 1,000,000,000.",
        ),
        solution=(
            f"32,768 x {number(KV['int8'])} B = {number(int(LONG_SEQUENCE))} B = {_gb(LONG_SEQUENCE)} = "
            f"{number(LONG_SEQUENCE / GiB)} GiB."
        ),
    ),
    Ordering(
        id="02-kv-order",
        prompt="Put these in order of cache bytes per token, smallest first.",
        items=_BY_CACHE,
        right=(
            "Depth and dtype decide. K and H are the same in all three models, so only the layers differ: "
            f"405B has {number(_LARGER)} times the parameters of 8B and {number(_DEEPER)} times its cache per token. "
            "One step of dtype outweighs the step from 70B to 405B."
        ),
        other="Compare layers times bytes per number: nothing else in 2 L K H b differs between these models.",
        traps=(
            WrongOrder(
                order=_BY_MODEL,
                feedback=(
                    "You sorted by the size of the model. The cache follows the layers and the dtype, not the parameters: "
                    f"{LLAMA3_405B.layers} layers of one byte are fewer bytes than {LLAMA3_70B.layers} layers of two."
                ),
            ),
            WrongOrder(
                order=_BY_CACHE[::-1], feedback="The order is right but runs backwards: the smallest comes first."
            ),
        ),
        hints=(
            "Which letters of 2 L K H b differ between the three models?",
            "K = 8 and H = 128 in all of them. Compare L times b.",
            f"L is {LLAMA3_8B.layers}, {LLAMA3_70B.layers} and {LLAMA3_405B.layers}; b is 1 in int8 and 2 in bf16.",
        ),
        solution="; ".join(f"{name}: {number(value)} B" for value, name in _ROWS) + ".",
    ),
    Single(
        id="02-fewest-cards",
        prompt=(
            "LLaMA 3-70B in bf16, 32 sequences of 8,192 tokens, int8 cache, cards of 80 GB with tensor parallelism. "
            "What is the smallest number of H100s that can be deployed?"
        ),
        options=tuple(
            Option(text=f"{n} cards", feedback=feedback, correct=n == _FEWEST) for n, feedback in _CARDS.items()
        ),
        hints=(
            "Two conditions: the bytes must fit, and the heads must divide.",
            "Bytes: P b_w + B S kv. Heads: the cards must divide 64 query heads and 8 KV heads.",
            f"Weights {_gb(weight_bytes(ONE_CARD))} plus cache {_gb(POP_CACHE)}. Divide by 80 GB, then look for a size that divides 64 and 8.",
        ),
        solution=(
            f"{_gb(weight_bytes(ONE_CARD) + POP_CACHE)} over 80 GB is {number((weight_bytes(ONE_CARD) + POP_CACHE) / CARD)}, "
            f"so 3 by capacity. The sizes that this model allows are {', '.join(map(str, parallel_sizes(LLAMA3_70B, H100_TEXT)))}: {_FEWEST}."
        ),
    ),
    Single(
        id="02-int4-one-card",
        prompt=(
            "An int4 model of 35 GB plus 42.95 GB of int8 cache, for 32 sequences of 8,192 tokens: "
            "can one 80 GB card serve this load?"
        ),
        options=(
            Option(
                text="Yes: the sum is below 80 GB, so the card holds everything that is needed",
                correct=bool(fits(INT4, BATCH, CONTEXT)) and INT4_FILE + POP_CACHE <= CARD,
                feedback=(
                    f"The sum does leave {_gb(cache_budget(INT4) - POP_CACHE)}. But a real int4 file weighs more than half a byte per parameter: "
                    f"with scales and 16-bit embeddings it is {_gb(INT4_FILE)}, and the runtime wants gigabytes too."
                ),
            ),
            Option(
                text="No: what is left is too little for scales, embeddings and runtime",
                correct=bool(INT4_FILE + POP_CACHE > CARD),
                feedback=(
                    f"Only {_gb(cache_budget(INT4) - POP_CACHE)} remain, {number(100 * (1 - (weight_bytes(INT4) + POP_CACHE) / CARD), 2)} % of the card. "
                    f"A real int4 file is {number((INT4_FILE - weight_bytes(INT4)) / GB)} GB heavier than 35 GB before the runtime takes its share."
                ),
            ),
            Option(
                text="Yes, if the cache is kept in bf16, which needs no scales",
                correct=bool(fits(replace(INT4, kv="bf16"), BATCH, CONTEXT)),
                feedback=(
                    f"That is the wrong direction: bf16 doubles the cache, to {_gb(cache_bytes(replace(INT4, kv='bf16'), BATCH, CONTEXT))}, "
                    "more than the card on its own."
                ),
            ),
            Option(
                text="No: the weights alone are more than the card holds, before any runtime",
                correct=bool(weight_bytes(INT4) > CARD),
                feedback=(
                    f"70e9 numbers of 4 bits are 280e9 bits, and {_gb(weight_bytes(INT4))}. Divide bits by 8 before you compare with bytes."
                ),
            ),
        ),
        hints=(
            "Compute what is left, then ask what else must live on the card.",
            "Left = memory - P b_w - B S kv. A quantised file also holds scales, zero points and tensors in 16 bits.",
            f"Left on paper: 80 - 35 - 42.95 GB. One scale and zero point serve 128 weights; the embeddings are {_gb(2 * LLAMA3_70B.vocab_params)} in 16 bits.",
        ),
        solution=(
            f"On paper {_gb(weight_bytes(INT4) + POP_CACHE)}. With a group-quantised file {_gb(INT4_FILE)} + {_gb(POP_CACHE)} = "
            f"{_gb(INT4_FILE + POP_CACHE)}, above 80 GB, and nothing of the runtime is counted yet."
        ),
    ),
    Numeric(
        id="02-budget-8xh100",
        prompt=(
            "Eight H100s of 80 GB, LLaMA 3-70B with bf16 weights and a bf16 cache. Weights and cache may fill 85 % of the memory. "
            "How many sequences of 8,192 tokens fit?"
        ),
        answer=max_batch(NODE, CONTEXT),
        unit="sequences",
        rtol=0,
        right=(
            f"{_gb(NODE.memory)} usable, {_gb(weight_bytes(NODE))} of weights, so {_gb(cache_budget(NODE))} of cache. "
            "The text gets 355: it keeps back 20 GB only, and its cache is int8."
        ),
        traps=SEQUENCES.traps(
            {
                "twice too many: an int8 cache, or keys without values. In bf16 each of the two takes two bytes a number.": (
                    max_batch(replace(NODE, kv="int8"), CONTEXT)
                ),
                "two slips: an int8 cache instead of bf16, and no reserve.": max_batch(
                    replace(NODE, kv="int8", usable=1.0), CONTEXT
                ),
                "you kept back 20 GB in place of 15 %, and took an int8 cache.": floor(
                    _kept_back / cache_bytes(replace(NODE, kv="int8"), 1, CONTEXT)
                ),
                "that is the text's number: it keeps back 20 GB in place of 15 %, takes an int8 cache, and rounds on the way.": (
                    _rounded_down / 2
                ),
                "you kept back 20 GB. 15 % of 640 GB are 96.": floor(_kept_back / cache_bytes(NODE, 1, CONTEXT)),
                "you divided GB by GiB. A sequence takes 2.5 GiB, which is 7 % more in GB: use one unit throughout.": floor(
                    cache_budget(NODE) / GB / (cache_bytes(NODE, 1, CONTEXT) / GiB)
                ),
                "you took one byte for a weight. Weights in bf16 have two: 140 GB, not 70.": max_batch(
                    replace(NODE, weights="int8"), CONTEXT
                ),
                "that is one card's share. Each sequence is spread over all eight, so the budget is that of all eight.": floor(
                    max_batch(NODE, CONTEXT) / NODE.chips
                ),
            },
            rtol=0,
            without=("negative", "below zero", "where nothing fits", "nearest", "weights on every chip"),
            chips=8,
            memory=CARD,
            usable=0.85,
            weights=weight_bytes(NODE),
            kv_per_token=KV["bf16"],
            context=CONTEXT,
        ),
        hints=(
            "Find what the cache may take, then divide by the cache of one sequence.",
            "B = (0.85 N M - P b_w) / (S kv), rounded down.",
            f"0.85 x 640 GB - 140 GB of budget; one sequence takes 8,192 x {number(KV['bf16'])} B.",
        ),
        solution=(
            f"Budget {_gb(cache_budget(NODE))}, one sequence {_gb(cache_bytes(NODE, 1, CONTEXT))}, "
            f"quotient {number(cache_budget(NODE) / cache_bytes(NODE, 1, CONTEXT))}: {max_batch(NODE, CONTEXT)} sequences."
        ),
    ),
    Multiple(
        id="02-what-else",
        prompt=(
            "A server decodes with int4 weights on several cards. Which of these sit in GPU memory, but are not counted by "
            "P b_w for the weights plus B S kv for the cache? Tick all."
        ),
        options=(
            Option(
                text="CUDA context and captured CUDA graphs",
                correct=True,
                feedback="The driver's context and the recorded graphs hold memory for as long as the server lives.",
            ),
            Option(
                text="Gradients",
                feedback="Gradients belong to training. A server never runs a backward pass.",
            ),
            Option(
                text="Activations and logits of the running batch",
                correct=True,
                feedback="Activations and logits peak in a long prefill: engines reserve for the worst batch they may meet.",
            ),
            Option(
                text="Scales and zero points of quantised weights",
                correct=True,
                feedback="Each group of weights has a scale and a zero point. Bits times parameters does not count them.",
            ),
            Option(
                text="Optimiser state",
                feedback="That is a habit from training. Nothing is updated in serving, so there are no moments to keep.",
            ),
            Option(
                text="Buffers for collectives between cards",
                correct=True,
                feedback="Where a model is split, the links are fed from buffers, on every card.",
            ),
        ),
        hints=(
            "Ask of each: would the server need it to compute the next token?",
            "Counted already: P b_w and B S kv. Training keeps more than serving does.",
            "Two of the six are only needed to change the weights.",
        ),
        solution=(
            "Context and graphs, activations and logits, scales and zero points, and collective buffers. "
            "Gradients and optimiser state exist in training only."
        ),
    ),
)
