"""Questions and the exercise of chapter 12, beyond the dense model. Every key and every trap is computed."""

import math
from dataclasses import replace
from pathlib import Path

from scaling import H100, LLAMA3_70B, Deployment, cache_bytes, decode_step, from_hf_config, min_chips, weight_bytes
from scaling.course.exercise import Exercise
from scaling.course.questions import Multiple, Numeric, Option, Ordering, Question, Single, Trap, WrongOrder
from scaling.throughput import balanced_batch
from scaling.units import GB, ms, number

_DATA = Path(__file__).parents[1] / "data"
MIXTURE = from_hf_config(_DATA / "qwen3-235b-a22b.json")
LATENT = from_hf_config(_DATA / "deepseek-v3.json")
WINDOWS = from_hf_config(_DATA / "gemma-3-27b.json")
HOME = Deployment(model=LLAMA3_70B, chip=H100, chips=8, weights="fp8", kv="fp8")
SWAP = replace(HOME, model=MIXTURE)

assert MIXTURE.experts is not None  # for who checks types
_E, _k, _layers = MIXTURE.experts.routed, MIXTURE.experts.active, MIXTURE.experts.layers
_SAYS = f"Qwen3-235B-A22B has {number(MIXTURE.params / 1e9)}e9 parameters, of which a token uses {number(MIXTURE.active_params / 1e9)}e9."

# --- what has to fit -------------------------------------------------------------------------------------------------

_fewest = int(min_chips(replace(SWAP, chips=1), 1, 8192))
_bytes = weight_bytes(SWAP) / GB


def _cards(n: int, feedback: str) -> Option:
    return Option(text=f"{n} H100", correct=n == _fewest, feedback=feedback)


FIT = Single(
    id="12-must-fit",
    prompt=(
        f"{_SAYS} Its weights are stored in fp8. What is the smallest number of H100, of 80 GB each, that holds them and one "
        "sequence of 8,192 tokens? Cards come in 1, 2, 4 or 8."
    ),
    options=(
        _cards(1, "That holds what one token uses. The next token chooses other experts, and they have to be there."),
        _cards(2, f"{2 * H100.memory / GB:.0f} GB are less than the weights, whatever a single token uses of them."),
        _cards(
            4,
            f"All experts have to be there: {number(_bytes)} GB, of the {4 * H100.memory / GB:.0f} that four cards have.",
        ),
        _cards(8, "They would fit there too, with room for many sequences. One sequence needs less."),
    ),
    hints=(
        "Which parameters must be in memory: those of one token, or those of any token?",
        "A weight has one byte in fp8.",
        f"{number(MIXTURE.params / 1e9)}e9 parameters are about {number(MIXTURE.params / GB)} GB.",
    ),
    solution=f"All {number(_bytes)} GB must fit. Three cards would do, but they do not share the heads evenly: {_fewest}.",
)

# --- how many experts a batch reads ----------------------------------------------------------------------------------

_B = 16
_idle = MIXTURE.experts.idle(_B)

READ = Numeric(
    id="12-experts-read",
    prompt=(
        f"In each layer of Qwen3-235B a router sends every token to {_k} of {_E} experts, which we take for equally likely. "
        f"A step decodes {_B} sequences. Of how many experts in a layer does it read the weights, on average? "
        "Answer in per cent of them."
    ),
    answer=1 - _idle,
    unit="%",
    right=f"Each token misses an expert with probability {1 - _k / _E:g}; all {_B} miss it with that to the power of {_B}.",
    traps=(
        Trap(
            value=float(min(_E, _B * _k)) / _E,
            feedback=f"{_B} x {_k} choices would reach all {_E} if no two tokens chose the same. Some do.",
        ),
        Trap(value=_k / _E, feedback="That is what one token chooses. Sixteen tokens choose different experts."),
        Trap(value=_idle, feedback="That is the share that nobody chose. The rest is read."),
        Trap(
            value=1 - (1 - 1 / _E) ** _B,
            feedback=f"You let each token choose one expert. Each chooses {_k}.",
        ),
    ),
    hints=(
        "Turn it round: how likely is it that an expert is not chosen by anybody?",
        "One token misses an expert with probability 1 - k / E, and B tokens do so independently.",
        f"1 - {_k} / {_E} = {1 - _k / _E:g}, to the power of {_B}.",
    ),
    solution=f"1 - {1 - _k / _E:g}^{_B} = {100 * (1 - _idle):.1f} %, or {number(_E * (1 - _idle))} of {_E} experts.",
)

# --- whose step is shorter -------------------------------------------------------------------------------------------


def _users(batch: int) -> Option:
    ours, theirs = (decode_step(d, batch, 8192).total / ms for d in (SWAP, HOME))
    read = 100 * (1 - MIXTURE.experts.idle(batch)) if MIXTURE.experts else 0.0
    said = (
        f"The mixture takes {number(ours)} ms and reads {read:.0f} % of its experts; LLaMA takes {number(theirs)} ms."
    )
    return Option(text=f"{batch} user{'s' if batch > 1 else ''}", correct=ours < theirs, feedback=said)


SHORTER = Multiple(
    id="12-shorter-step",
    prompt=(
        f"Eight H100, fp8, 8,192 tokens a sequence. {_SAYS} With how many users is its decode step shorter than that of "
        "LLaMA 3-70B?"
    ),
    options=(_users(20), _users(1), _users(64), _users(4), _users(400)),
    hints=(
        "What does each of the two read, and what does each keep in the cache?",
        "The mixture reads 1 - (1 - k / E)^B of its experts; a token takes "
        f"{MIXTURE.kv_bytes_per_token('fp8'):,.0f} B of its cache and {LLAMA3_70B.kv_bytes_per_token('fp8'):,.0f} B of LLaMA's.",
        "At 20 users LLaMA reads 71 GB of weights, the mixture nearly three quarters of 235.",
    ),
    solution=(
        "With 1 and 4 users few experts are awake. With 20 and 64 the mixture reads more weights than LLaMA has. With 400 it "
        "reads all of them, but its smaller cache has made up for it."
    ),
)

# --- the critical batch ----------------------------------------------------------------------------------------------

_dense, _crit = balanced_batch(HOME), balanced_batch(SWAP)
_share = MIXTURE.params / MIXTURE.active_params


def _batch(value: float, feedback: str) -> Option:
    return Option(text=f"about {float(f'{value:.2g}'):,.0f}", correct=abs(value / _crit - 1) < 0.1, feedback=feedback)


CRITICAL = Single(
    id="12-critical-batch",
    prompt=(
        f"On H100 with fp8 weights and arithmetic the critical batch of a dense model is {number(round(_dense))}. {_SAYS} "
        "At which batch does its arithmetic catch up with reading its weights?"
    ),
    options=(
        _batch(
            _crit, "Each weight that is read serves a fraction of the batch, so it takes as many times more sequences."
        ),
        _batch(
            _dense / _share,
            "That would be so if the bytes stayed and the arithmetic grew. It is the arithmetic that shrinks.",
        ),
        _batch(
            _dense,
            "For a dense model it is a property of the chip alone. Here only a few sequences use each weight that is read.",
        ),
        _batch(
            _dense * _E / _k,
            "That is of the experts alone. Attention and embeddings are used by every token, as in a dense model.",
        ),
    ),
    hints=(
        "Which of the two terms shrinks when a token uses a tenth of the parameters?",
        "In a large batch all P are read and 2 B P_active FLOP are done.",
        f"P / P_active = {number(_share)}.",
    ),
    solution=f"{number(round(_dense))} x {number(_share)} = {number(round(_crit))} sequences.",
)

# --- the caches ------------------------------------------------------------------------------------------------------

_LONG = 131_072
_NAMED = {
    "LLaMA 3.1-70B: 80 layers, 8 KV heads of 128": LLAMA3_70B,
    "Qwen3-235B: 94 layers, 4 KV heads of 128": MIXTURE,
    "Gemma 3 27B: 62 layers, 16 KV heads of 128, all but 10 with a window of 1,024": WINDOWS,
    "DeepSeek-V3: 61 layers, one vector of 576 numbers in each": LATENT,
}
_sizes = {
    text: float(cache_bytes(Deployment(model=model, chip=H100, kv="fp8"), 1, _LONG)) for text, model in _NAMED.items()
}
_order = tuple(sorted(_sizes, key=_sizes.__getitem__))
_llama, _qwen, _gemma, _deepseek = _NAMED
_gb = {text: number(size / GB) for text, size in _sizes.items()}

CACHES = Ordering(
    id="12-caches",
    prompt=f"One sequence of {_LONG:,} tokens, cache in fp8. Which model keeps the smallest cache, and which the largest?",
    items=_order,
    right=f"{', '.join(_gb[text] for text in _order)} GB. Neither layers nor parameters decide, but what a layer keeps.",
    other="Multiply, layer by layer, the tokens that it keeps by the numbers that it keeps of each.",
    traps=(
        WrongOrder(
            order=tuple(sorted(_NAMED, key=lambda text: _NAMED[text].params)),
            feedback="That is the order of the parameters. The cache does not know of them.",
        ),
        WrongOrder(
            order=(_deepseek, _qwen, _llama, _gemma),
            feedback="You let every layer of Gemma keep every token. All but ten keep the last 1,024.",
        ),
        WrongOrder(
            order=(_gemma, _deepseek, _qwen, _llama),
            feedback=f"Close: windows leave Gemma {_gb[_gemma]} GB, nearly all in its ten full layers, and DeepSeek {_gb[_deepseek]}.",
        ),
    ),
    hints=(
        "Count for each layer: tokens kept, times numbers kept of a token.",
        "A KV head keeps a key and a value of 128 numbers; a window keeps 1,024 tokens.",
        f"LLaMA: 80 x 2 x 8 x 128 x {_LONG:,} bytes = {_gb[_llama]} GB.",
    ),
    solution="; ".join(f"{text.partition(':')[0]} {_gb[text]} GB" for text in _order) + ".",
)

QUESTIONS: tuple[Question, ...] = (FIT, READ, SHORTER, CRITICAL, CACHES)

# --- exercise --------------------------------------------------------------------------------------------------------

BATCH_FOR_SHARE = Exercise(
    reference=lambda share, routed, active: math.log(1 - share) / math.log(1 - active / routed),
    cases=(
        {"share": 0.9, "routed": 128, "active": 8},
        {"share": 0.5, "routed": 8, "active": 2},
        {"share": 0.99, "routed": 256, "active": 8},
    ),
    mistakes={
        "that would be enough if no two tokens chose the same expert; some do.": (
            lambda share, routed, active: share * routed / active
        ),
        "that is where so many experts are idle; the share is of those that are read.": (
            lambda share, routed, active: math.log(share) / math.log(1 - active / routed)
        ),
        "the base of the power is what a token misses, 1 - k / E, not what it chooses.": (
            lambda share, routed, active: math.log(1 - share) / math.log(active / routed)
        ),
        "you let each token choose one expert; it chooses k.": (
            lambda share, routed, active: math.log(1 - share) / math.log(1 - 1 / routed)
        ),
    },
)
