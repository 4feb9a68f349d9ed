"""Questions and exercises of chapter 11, estimates and measurements. Every key and every trap is computed."""

from dataclasses import replace
from statistics import median

from scaling import H100, LLAMA3_70B, Deployment, decode_step
from scaling.calibration import BANDWIDTH, efficiency, usable
from scaling.course.exercise import Exercise
from scaling.course.questions import Multiple, Numeric, Option, Ordering, Question, Single, Trap, WrongOrder
from scaling.measurements import least, seconds
from scaling.units import ms, number, us

HOME = Deployment(model=LLAMA3_70B, chip=H100, chips=8, weights="fp8", kv="fp8", params="streamed")
REACHED = efficiency(H100)

# --- what share of the floor an engine reaches -------------------------------------------------------------------------

_shares = [least(row) / seconds(row) for row in usable()]
_middle, _best = median(_shares), max(_shares)

SHARE = Single(
    id="11-share",
    prompt="Take every published rate or latency of engines since 2024 and divide the floor by it. The middle one of them reaches how much of the floor?",
    options=(
        Option(
            text="about a quarter",
            feedback=f"It is {_middle:.0%}. Launches, exchanges between cards and arithmetic below the peak take the rest.",
            correct=0.2 < _middle < 0.3,
        ),
        Option(
            text="about six tenths",
            feedback=f"Few rows come so far: the middle one is at {_middle:.0%}. Engines pay for every layer, whatever the batch.",
            correct=0.55 < _middle < 0.65,
        ),
        Option(
            text="about nine tenths",
            feedback=f"The best row of all reaches {_best:.0%}, on a slow card where launches hide behind reading.",
            correct=0.85 < _middle,
        ),
    ),
    hints=(
        "The floor hides the shorter of two works and asks nothing for launches.",
        "Think of a 70B step on eight cards: reading takes some 3 ms, and there are 80 layers.",
        "A layer that costs 100 µs more than its bytes adds 8 ms to that step.",
    ),
    solution=f"The middle row reaches {_middle:.0%} of the floor, the best {_best:.0%}.",
)

# --- what layers cost --------------------------------------------------------------------------------------------------

_layers = HOME.model.layers
_fixed = _layers * (REACHED.layer_seconds + 4 * REACHED.start)

LAYERS = Numeric(
    id="11-fixed-cost",
    prompt=(
        f"The fit says {number(REACHED.layer_seconds / us)} µs a layer, and {number(REACHED.start / us)} µs to start a gather or a scatter, "
        "of which each layer has four. LLaMA 3-70B has 80 layers. What do layers and starts add to every step on 8 cards?"
    ),
    answer=_fixed,
    unit="ms",
    right="It is there at batch 1 and at batch 100: this is why small batches on many cards are so far from the floor.",
    traps=(
        Trap(
            value=_layers * REACHED.layer_seconds,
            feedback="The layers alone. On more than one card each layer starts four collectives.",
        ),
        Trap(
            value=_layers * (REACHED.layer_seconds + REACHED.start),
            feedback="One start a layer. The attention block and the MLP each gather and scatter once: four.",
        ),
        Trap(value=_layers * 4 * REACHED.start, feedback="The starts alone. Each layer also has its own cost."),
        Trap(
            value=8 * _fixed, feedback="You added the cost of eight cards. They work side by side: the step waits once."
        ),
    ),
    hints=(
        "A cost per layer and four starts per layer, times the layers.",
        "80 (layer + 4 start).",
        f"4 starts take {number(4 * REACHED.start / us)} µs.",
    ),
    solution=f"80 x ({number(REACHED.layer_seconds / us)} + 4 x {number(REACHED.start / us)}) µs = {number(_fixed / ms)} ms.",
)

# --- what is longest ---------------------------------------------------------------------------------------------------

_step = decode_step(replace(HOME, efficiency=REACHED), 32, 8192)
_TERMS = {
    "a fixed cost per layer": _step.overhead,
    "reading the weights": _step.weights,
    "collectives": _step.collectives,
    "reading the cache": _step.cache,
}
_OVERHEAD, _WEIGHTS, _SENT, _CACHE = _TERMS

LONGEST = Ordering(
    id="11-longest-term",
    prompt="An engine decodes LLaMA 3-70B in fp8 on 8 H100, 32 sequences of 8,192 tokens. Put its terms in order, the longest first.",
    items=tuple(sorted(_TERMS, key=lambda name: -_TERMS[name])),
    right="On eight cards the bytes are spread thin, and what no card can share comes first.",
    other="Compute each: bytes over the bandwidth that is reached, and the two costs that come with every layer.",
    traps=(
        WrongOrder(
            order=(_WEIGHTS, _CACHE, _SENT, _OVERHEAD),
            feedback=(
                "You put launches last, where the roofline has them. Eighty layers of some "
                f"{number(REACHED.layer_seconds / us, 2)} µs are longer than any reading here."
            ),
        ),
    ),
    hints=(
        "Which of the four do more cards not shorten?",
        "Weights and cache are bytes over 8 cards; a layer's cost is paid once a layer.",
        f"The weights take {number(_step.weights / ms)} ms.",
    ),
    solution=", ".join(f"{name} {number(value / ms)} ms" for name, value in sorted(_TERMS.items(), key=lambda t: -t[1]))
    + ".",
)

# --- where nothing is estimated ----------------------------------------------------------------------------------------

REFUSED = Multiple(
    id="11-refused",
    prompt="For which of these would you not trust the estimate?",
    options=(
        Option(
            text="weights in fp4 on B200",
            feedback="No fp4 row is used: their kernels changed from release to release.",
            correct=True,
        ),
        Option(
            text="more requests than the cache has room for",
            feedback="Right to doubt: then requests queue, and the time is the queue's.",
            correct=True,
        ),
        Option(
            text="LLaMA 3-8B in fp8 on one H100",
            feedback="There are many rows of just this, from several publishers.",
        ),
        Option(
            text="an engine of 2022",
            feedback="Without graphs and fused kernels a layer costs far more. Such rows are not in the fit.",
            correct=True,
        ),
    ),
    hints=(
        "What is not in the measurements cannot be in the fit.",
        "Three of the four are left out of the fit by name.",
        "The one that is left in is measured by several publishers.",
    ),
    solution="fp4, a starved cache and very old engines are refused; dense models in 8 or 16 bits on Hopper are where the rows are.",
)

# --- the exercise: your own cost per layer -----------------------------------------------------------------------------


def _cost(*, step: float, reading: float, layers: int) -> float:
    return (step - reading / BANDWIDTH) / layers


COST = Exercise(
    _cost,
    cases=(
        {"step": 4.5e-3, "reading": 2.24e-3, "layers": 32},
        {"step": 21e-3, "reading": 10.4e-3, "layers": 80},
        {"step": 23.7e-3, "reading": 9.5e-3, "layers": 126},
    ),
    mistakes={
        "reading at the peak. Engines reach 85 % of the bandwidth, so reading takes longer and leaves less to the layers.": lambda **a: (
            (a["step"] - a["reading"]) / a["layers"]
        ),
        "the share of the bandwidth is multiplied. A lower bandwidth makes reading longer: divide by it.": lambda **a: (
            (a["step"] - a["reading"] * BANDWIDTH) / a["layers"]
        ),
        "that is of all layers together.": lambda **a: a["layers"] * _cost(**a),
        "the whole step is shared out. Most of it is reading.": lambda **a: a["step"] / a["layers"],
    },
)

OWN_COST = Numeric(
    id="11-own-layer-cost",
    prompt=(
        "A 32-layer model on one card takes 4.5 ms a step at batch 1. Its bytes take 2.24 ms at the peak bandwidth, of which engines "
        "reach 85 %. What does a layer cost beyond reading?"
    ),
    answer=_cost(step=4.5e-3, reading=2.24e-3, layers=32),
    unit="us",
    right="Less than the fit's, as for other 8B rows at batch 1: the fit is of all batches.",
    traps=COST.traps(step=4.5e-3, reading=2.24e-3, layers=32, rtol=0.02),
    hints=(
        "Take from the step what reading takes, and share the rest among the layers.",
        "(step - reading / 0.85) / layers.",
        f"Reading takes {number(2.24 / BANDWIDTH)} ms.",
    ),
    solution=f"(4.5 - 2.24 / 0.85) ms / 32 = {number(_cost(step=4.5e-3, reading=2.24e-3, layers=32) / us)} µs.",
)

QUESTIONS: tuple[Question, ...] = (SHARE, LAYERS, LONGEST, OWN_COST, REFUSED)
