"""Questions of chapter 14, the lab. Every key and every trap is computed from the stored run."""

import json
from pathlib import Path

from scaling import Deployment, balanced_batch, decode_step
from scaling.course.questions import Multiple, Numeric, Option, Ordering, Question, Single, Trap, WrongOrder
from scaling.course.tiny_transformer import LAB, chip_of
from scaling.units import GB, ms, number

RUN = json.loads((Path(__file__).parents[1] / "data" / "lab_cpu.json").read_text(encoding="utf-8"))
CHIP = chip_of(RUN)
SMALL = Deployment(model=LAB, chip=CHIP, weights="fp32", kv="fp32", compute="fp32", params="streamed")

_W, _C = CHIP.bandwidth, CHIP.rate("fp32")
_crit, _weights = balanced_batch(SMALL), decode_step(SMALL, 1, 0).weights
_given = f"{number(_W / GB)} GB/s and {number(_C / 1e9)} GFLOP/s"

CRITICAL = Numeric(
    id="14-critical",
    prompt=f"A computer reads and multiplies {_given}, in fp32. At which batch does multiplying take as long as reading the weights?",
    answer=_crit,
    unit="sequences",
    right="The formula of the big chips, with smaller numbers on both sides.",
    traps=(
        Trap(value=_crit / 2, feedback="Two bytes a weight. In fp32 it has four."),
        Trap(value=_crit / 4, feedback="One byte a weight. In fp32 it has four."),
        Trap(value=_crit * 2, feedback="One FLOP a weight. A multiplication and an addition make two."),
    ),
    hints=("Two times are equal.", "B = C b_w / (2 W).", "b_w is 4 bytes."),
    solution=f"{number(_C / 1e9)} x 4 / (2 x {number(_W / GB)}) = {number(_crit)} sequences.",
)

WEIGHTS = Numeric(
    id="14-weights",
    prompt=f"A model's matrices have {number(LAB.matmul_params / 1e6)} million parameters in fp32. How long does the computer, with {number(_W / GB)} GB/s, read them?",
    answer=_weights,
    unit="ms",
    right="This is the level that the steps of small batches share.",
    traps=(
        Trap(value=_weights / 4, feedback="One byte a parameter. In fp32 it has four."),
        Trap(value=_weights / 2, feedback="Two bytes a parameter. In fp32 it has four."),
        Trap(value=_weights * 8, feedback="Bits for bytes: GB/s counts bytes."),
    ),
    hints=("Bytes over bandwidth.", "4 P / W.", f"The bytes are {number(SMALL.step_bytes / 1e6)} MB."),
    solution=f"{number(SMALL.step_bytes / 1e6)} MB / {number(_W / GB)} GB/s = {number(_weights / ms)} ms.",
)

_times = {f"batch {B}": decode_step(SMALL, B, S).total for B, S in ((4, 16), (64, 16), (256, 16))}

STEPS = Ordering(
    id="14-steps",
    prompt=f"With a critical batch of {_crit:.0f} and 16 tokens each, which step is shortest? Order from short to long.",
    items=tuple(sorted(_times, key=_times.__getitem__)),
    right="Level below the critical batch, in proportion to the batch above it.",
    other="Above the critical batch more sequences take longer; none takes less than the reading.",
    traps=(
        WrongOrder(
            order=("batch 256", "batch 64", "batch 4"),
            feedback="That is the order of time for each token. A step of more sequences is never shorter.",
        ),
    ),
    hints=("Below the critical batch nothing changes.", "Above it, T = 2 B P / C.", "Batch 4 is below it."),
    solution=", ".join(f"{name}: {number(value / ms)} ms" for name, value in sorted(_times.items(), key=lambda t: t[1]))
    + ".",
)

BEST = Single(
    id="14-best-of-many",
    prompt="You time the same step seven times and get seven numbers. Which one do you keep?",
    options=(
        Option(text="the mean", feedback="One interruption by another program spoils it."),
        Option(text="the shortest", feedback="What else a computer does can only make a step longer.", correct=True),
        Option(text="the first", feedback="The first also loads what the others find in the processor's caches."),
    ),
    hints=("What can make a step faster than it is?", "Nothing can; much can make it slower.", "Take the least."),
    solution="The shortest: all disturbances lengthen a step.",
)

MOVES = Multiple(
    id="14-what-moves",
    prompt="What raises the critical batch of a computer?",
    options=(
        Option(text="faster arithmetic", feedback="C stands on top.", correct=True),
        Option(text="slower memory", feedback="W stands below. Not that you would want it.", correct=True),
        Option(text="a model with more layers", feedback="Parameters cancel: each is read and multiplied alike."),
        Option(text="a second computer of the same kind", feedback="Both rates double, and cancel."),
    ),
    hints=("Write it down.", "C b_w / (2 W).", "Neither P nor N is in it."),
    solution="Faster arithmetic and slower memory; layers and further computers cancel.",
)

QUESTIONS: tuple[Question, ...] = (CRITICAL, WEIGHTS, STEPS, BEST, MOVES)
