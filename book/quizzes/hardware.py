"""Questions and the exercise of chapter 1, hardware. Every key and every trap is computed."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from scaling import H100_TEXT, LLAMA3_70B, TPU_V5E_TEXT, TPU_V5P_TEXT, Chip, Deployment
from scaling.course.exercise import Exercise
from scaling.course.questions import Multiple, Numeric, Option, Ordering, Question, Single, Trap, WrongOrder
from scaling.roofline import bandwidth_per_dollar, breakeven_price, flops_per_dollar, memory_per_dollar_hour
from scaling.throughput import cost_per_million_tokens, mfu
from scaling.units import GB, TB, TFLOP, hour, minute, number

# The chips of the text, at its prices of February 2025.
NAMES = {H100_TEXT: "H100", TPU_V5P_TEXT: "TPU v5p", TPU_V5E_TEXT: "TPU v5e"}
CHIPS = tuple(NAMES)


def _best(measure: Callable[..., Any]) -> Chip:
    return max(CHIPS, key=measure)


def _per_dollar(chip: Chip) -> str:
    return f"{number(bandwidth_per_dollar(chip))} B/USD"


def _times(field: str) -> str:
    return number(getattr(H100_TEXT, field) / getattr(TPU_V5E_TEXT, field), 2)


# --- the exercise, whose mistakes are those of the first question too ----------------------------------------------------


def _flops(*, bf16: float, int8: float, price: float) -> float:
    return flops_per_dollar(replace(H100_TEXT, flops={"bf16": bf16, "int8": int8}), price=price)


PER_DOLLAR = Exercise(
    _flops,
    cases=tuple(
        {"bf16": chip.rate("bf16"), "int8": chip.rate("int8"), "price": price}
        for chip, price in ((TPU_V5E_TEXT, 1.2), (H100_TEXT, 10.8), (TPU_V5P_TEXT, 4.2))
    ),
    mistakes={
        "3,600 is missing: the rate is per second, the price per hour. Some tables do print FLOP/s per USD/h.": (
            lambda **a: _flops(**a) / hour
        ),
        "you multiplied by the price, so a dearer chip came out better. Divide by it.": lambda **a: (
            _flops(**a) * a["price"] ** 2
        ),
        "you multiplied by the price, so a dearer chip came out better; and 3,600 is missing too.": lambda **a: (
            _flops(**a) * a["price"] ** 2 / hour
        ),
        "that is the int8 rate. This arithmetic is bf16, whatever the dtype of the weights.": lambda **a: _flops(
            **{**a, "bf16": a["int8"]}
        ),
        "that is the int8 rate, and 3,600 is missing too.": lambda **a: _flops(**{**a, "bf16": a["int8"]}) / hour,
        "you took a day's seconds. The price is per hour, which has 3,600.": lambda **a: 24 * _flops(**a),
        "you took 60 for the hour: it has 60 minutes, of 60 seconds each.": lambda **a: _flops(**a) * minute / hour,
        "you took 60 x 3,600 for the hour. It has 3,600 seconds.": lambda **a: _flops(**a) * hour / minute,
        "you divided by 3,600 where you should multiply: a dollar lasts many seconds, and each brings a full rate.": (
            lambda **a: _flops(**a) / hour**2
        ),
        "the price is forgotten: this is what an hour buys.": lambda **a: _flops(**{**a, "price": 1.0}),
        "those are TFLOP. A TFLOP is 10^12 FLOP, and FLOP were asked.": lambda **a: _flops(**a) / TFLOP,
        "upside down: those are dollars per FLOP.": lambda **a: 1 / _flops(**a),
    },
)

# --- FLOP per dollar -------------------------------------------------------------------------------------------------

_v5e = flops_per_dollar(TPU_V5E_TEXT)

FLOP_PER_DOLLAR = Numeric(
    id="01-flops-per-dollar",
    prompt=(
        f"A TPU v5e does {number(TPU_V5E_TEXT.rate('bf16') / TFLOP)} TFLOP/s in bf16 and costs {number(TPU_V5E_TEXT.price)} USD per hour. "
        "How many bf16 FLOP does one dollar buy at the peak rate?"
    ),
    answer=_v5e,
    unit="FLOP/USD",
    right="A rate times the seconds that a dollar lasts. Seconds and hours have cancelled, so what is left is a number of operations.",
    traps=PER_DOLLAR.traps(bf16=TPU_V5E_TEXT.rate("bf16"), int8=TPU_V5E_TEXT.rate("int8"), price=TPU_V5E_TEXT.price),
    hints=(
        "How many seconds of the chip does a dollar rent?",
        "FLOP per dollar is 3600 C / price.",
        f"A dollar lasts 3,600 / {number(TPU_V5E_TEXT.price)} seconds.",
    ),
    solution=(
        f"A dollar lasts {number(hour / TPU_V5E_TEXT.price)} s. At {number(TPU_V5E_TEXT.rate('bf16') / TFLOP)} TFLOP/s "
        f"that makes {number(_v5e)} FLOP."
    ),
)

# --- bandwidth per dollar --------------------------------------------------------------------------------------------

_BANDWIDTH = {
    TPU_V5E_TEXT: f"{_per_dollar(TPU_V5E_TEXT)}. It is the slowest chip of the three, and the cheapest by more than that.",
    H100_TEXT: (
        f"The H100 reads fastest per chip, but it costs {_times('price')} times a v5e for {_times('bandwidth')} times the bandwidth: "
        f"{_per_dollar(H100_TEXT)} is the least of the three."
    ),
    TPU_V5P_TEXT: (
        f"Close: {_per_dollar(TPU_V5P_TEXT)}, against {_per_dollar(TPU_V5E_TEXT)} on v5e. What the v5p leads in is memory per dollar."
    ),
}

CHEAPEST_BANDWIDTH = Single(
    id="01-cheapest-bandwidth",
    prompt="At these prices (10.8, 4.2 and 1.2 USD/h), on which chip does a dollar read the most bytes from memory?",
    options=(
        *(
            Option(text=NAMES[chip], feedback=feedback, correct=chip is _best(bandwidth_per_dollar))
            for chip, feedback in _BANDWIDTH.items()
        ),
        Option(
            text="The same on all three",
            correct=len({bandwidth_per_dollar(chip) for chip in CHIPS}) == 1,
            feedback="That would need prices in proportion to bandwidth. Sellers do not set them so: the ratio varies by more than two.",
        ),
    ),
    hints=(
        "Fastest chip and cheapest byte are two questions.",
        "Bytes per dollar are 3600 W / price.",
        "The 3,600 is common, so compare 3.35 / 10.8, 2.765 / 4.2 and 0.81 / 1.2.",
    ),
    solution="; ".join(f"{NAMES[chip]}: {_per_dollar(chip)}" for chip in CHIPS) + ".",
)

# --- memory per dollar -----------------------------------------------------------------------------------------------


def _names(by: Callable[[Chip], Any], *, descending: bool = True) -> tuple[str, ...]:
    return tuple(NAMES[chip] for chip in sorted(CHIPS, key=by, reverse=descending))


MEMORY_ORDER = Ordering(
    id="01-memory-order",
    prompt="Order by the gigabytes that a dollar per hour rents, most first, at chapter 1's prices.",
    items=_names(memory_per_dollar_hour),
    right="Capacity over price. The chip with the least memory comes second, since it costs the least too.",
    other="Divide each chip's memory by its price per hour, then sort by the quotient.",
    traps=(
        WrongOrder(
            order=_names(lambda chip: chip.memory),
            feedback=(
                f"You sorted by memory per chip. The H100 holds {_times('memory')} times what a v5e holds, and costs {_times('price')} times as much."
            ),
        ),
        WrongOrder(
            order=_names(lambda chip: chip.price),
            feedback="You put the strongest chip first: the order of price, and of bandwidth per chip. Divide by the price.",
        ),
        WrongOrder(
            order=_names(lambda chip: chip.price, descending=False),
            feedback="You sorted by price, cheapest first. Cheap chips hold little: look at the quotient.",
        ),
        WrongOrder(
            order=_names(memory_per_dollar_hour, descending=False),
            feedback="The quotients are right, but the order runs backwards: most gigabytes first.",
        ),
    ),
    hints=(
        "Two columns of the data sheet decide: memory and price.",
        "M / price, in GB per USD/h.",
        "95 / 4.2, 80 / 10.8 and 16 / 1.2.",
    ),
    solution="; ".join(
        f"{NAMES[chip]}: {number(memory_per_dollar_hour(chip) / GB)} GB per USD/h"
        for chip in sorted(CHIPS, key=memory_per_dollar_hour, reverse=True)
    )
    + ".",
)

# --- what is true at these prices ------------------------------------------------------------------------------------

_ONE = {
    chip: Deployment(model=LLAMA3_70B, chip=chip, chips=chips, kv="int8", params="nominal")
    for chip, chips in ((H100_TEXT, 8), (TPU_V5E_TEXT, 16))
}
_CONTEXT = 8192
_costs = {chip: cost_per_million_tokens(d, 1, _CONTEXT) for chip, d in _ONE.items()}
_dearer = _costs[H100_TEXT] / _costs[TPU_V5E_TEXT]
_flops_ratio, _bytes_ratio, _memory_ratio = (
    measure(TPU_V5E_TEXT) / measure(H100_TEXT)
    for measure in (flops_per_dollar, bandwidth_per_dollar, memory_per_dollar_hour)
)


def _same(a: float, b: float) -> bool:
    return abs(a / b - 1) < 1e-6


TRUE_CLAIMS = Multiple(
    id="01-true-claims",
    prompt="H100, TPU v5p and TPU v5e at chapter 1's prices. Which of these are true? Tick all.",
    options=(
        Option(
            text="The H100 has the highest bandwidth per chip",
            correct=max(CHIPS, key=lambda chip: chip.bandwidth) is H100_TEXT,
            feedback=f"An H100 reads {number(H100_TEXT.bandwidth / TB)} TB/s, the most of the three.",
        ),
        Option(
            text="The H100 has the highest bandwidth per dollar",
            correct=_best(bandwidth_per_dollar) is H100_TEXT,
            feedback=f"That is per-chip thinking. A dollar reads {number(_bytes_ratio)} times as much on v5e.",
        ),
        Option(
            text="The v5e gives the most FLOP per dollar",
            correct=_best(flops_per_dollar) is TPU_V5E_TEXT,
            feedback=f"A v5e does {number(flops_per_dollar(TPU_V5E_TEXT))} FLOP/USD, {number(_flops_ratio)} times the H100's.",
        ),
        Option(
            text="FLOP per dollar alone is enough to rank chips for decode",
            correct=_same(_dearer, _flops_ratio),
            feedback=(
                f"At batch 1 a decode step uses {number(100 * mfu(_ONE[H100_TEXT], 1, _CONTEXT), 2)} % of the FLOP it rents. "
                f"Tokens are {number(_dearer)} times as expensive on H100, the ratio of bandwidth per dollar, not {number(_flops_ratio)}."
            ),
        ),
        Option(
            text="The v5p gives the most memory per dollar",
            correct=_best(memory_per_dollar_hour) is TPU_V5P_TEXT,
            feedback=f"A v5p has {number(memory_per_dollar_hour(TPU_V5P_TEXT) / GB)} GB per USD/h: three measures, and not the same winner in each.",
        ),
    ),
    hints=(
        "Ask of each claim: per chip, or per dollar? And does the step wait for that resource?",
        "3600 C / price, 3600 W / price, M / price; and for the claim about decode, the share of its FLOP that a step uses.",
        "10.8, 4.2 and 1.2 USD/h; 3.35, 2.765 and 0.81 TB/s; 80, 95 and 16 GB.",
    ),
    solution=(
        "True: most bandwidth per chip on H100, most FLOP per dollar on v5e, most memory per dollar on v5p. "
        "The other two confuse a chip with a dollar, and FLOP with bytes."
    ),
)

# --- what a decoded token costs --------------------------------------------------------------------------------------

DECODE_COST = Single(
    id="01-decode-cost",
    prompt=(
        "LLaMA 3-70B decodes for a single user, once on H100s (10.8 USD/h each) and once on v5e (1.2 USD/h each). "
        "All chips run at their peak rates. How many times as expensive is a token on H100?"
    ),
    options=(
        Option(
            text=f"{number(H100_TEXT.price / TPU_V5E_TEXT.price)} times: the ratio of the prices per hour",
            correct=_same(_dearer, H100_TEXT.price / TPU_V5E_TEXT.price),
            feedback="An hour of an H100 costs that much more, but its tokens come sooner. Divide by what the hour delivers.",
        ),
        Option(
            text=f"{number(_flops_ratio)} times: the ratio of FLOP per dollar",
            correct=_same(_dearer, _flops_ratio),
            feedback="That would hold if arithmetic set the pace. At batch 1 the step waits for the weights, and nearly all FLOP idle.",
        ),
        Option(
            text=f"{number(_memory_ratio)} times: the ratio of GB per USD/h",
            correct=_same(_dearer, _memory_ratio),
            feedback="Memory decides how many users fit, and so how many share a step. Here it is one user on either machine.",
        ),
        Option(
            text=f"{number(_bytes_ratio)} times: the ratio of bytes read per dollar",
            correct=_same(_dearer, _bytes_ratio),
            feedback="At batch 1 a step is a read of weights and cache. A token costs its bytes, at the price of a byte.",
        ),
        Option(
            text=f"{number(TPU_V5E_TEXT.bandwidth / H100_TEXT.bandwidth)} times, so it is cheaper: the H100 reads faster",
            correct=_same(_dearer, TPU_V5E_TEXT.bandwidth / H100_TEXT.bandwidth),
            feedback=f"That is the ratio of the times on one chip each. It leaves out that one hour costs {_times('price')} times the other.",
        ),
    ),
    hints=(
        "At batch 1, what does a step wait for?",
        "Cost = price per second x T_step, and T_step is bytes over N W. The number of chips N cancels.",
        "Both machines read the same bytes per token. So compare price / W: 10.8 / 3.35 with 1.2 / 0.81.",
    ),
    solution=(
        f"A million tokens at batch 1 and {_CONTEXT:,} tokens of context cost {number(_costs[H100_TEXT])} USD on H100 and "
        f"{number(_costs[TPU_V5E_TEXT])} USD on v5e: {number(_dearer)} times."
    ),
)

# --- the price at which the ranking flips ----------------------------------------------------------------------------

_level = breakeven_price(H100_TEXT, TPU_V5E_TEXT, flops_per_dollar)

FLIP = Numeric(
    id="01-flip-price",
    prompt=(
        "A v5e costs 1.2 USD/h and does 197 TFLOP/s in bf16; an H100 does 990. "
        "At which price of an H100 does a dollar buy as many FLOP on either?"
    ),
    answer=_level / hour,
    unit="USD/h",
    rtol=0.006,  # tells 990 / 197 without the price from the level of the bandwidths, 1.2 % below it
    right="As many times the price as it is times as fast. Below that price the H100 is the better buy, above it the v5e.",
    traps=(
        Trap(
            value=breakeven_price(H100_TEXT, TPU_V5E_TEXT, bandwidth_per_dollar) / hour,
            feedback="That is where the bandwidths per dollar draw level: you took 3.35 over 0.81. Here it is FLOP.",
        ),
        Trap(
            value=breakeven_price(TPU_V5E_TEXT, H100_TEXT, flops_per_dollar, price=TPU_V5E_TEXT.price) / hour,
            feedback="The ratio is upside down: the faster chip came out cheaper than the slower one.",
        ),
        Trap(
            value=_level / TPU_V5E_TEXT.price / hour,
            feedback="That is how many times as fast the H100 is: a ratio, not yet a price. Its price may be that many times the v5e's.",
        ),
        Trap(
            value=H100_TEXT.price / hour,
            feedback="That is the list price, at which the H100 gives far fewer FLOP for a dollar. Solve for the price instead.",
        ),
        Trap(
            value=breakeven_price(TPU_V5E_TEXT, H100_TEXT, flops_per_dollar) / hour,
            feedback="You solved for the v5e's price, with the H100 at 10.8 USD/h. The v5e's is given; solve for the H100's.",
        ),
        Trap(
            value=breakeven_price(H100_TEXT, TPU_V5E_TEXT, flops_per_dollar)
            * H100_TEXT.rate("int8")
            / H100_TEXT.rate("bf16")
            / hour,
            feedback="You compared the H100's int8 rate with the v5e's bf16 rate. Compare like with like.",
        ),
    ),
    hints=(
        "Set one chip's FLOP per dollar equal to the other's.",
        "C / price of one = C / price of the other; the seconds cancel.",
        "The price you look for is 1.2 USD/h times the ratio of 990 and 197, the right way up.",
    ),
    solution=f"1.2 x 990 / 197 = {number(_level)} USD/h. The list price of 10.8 lies above it, so v5e leads there.",
)

QUESTIONS: tuple[Question, ...] = (
    FLOP_PER_DOLLAR,
    CHEAPEST_BANDWIDTH,
    MEMORY_ORDER,
    DECODE_COST,
    TRUE_CLAIMS,
    FLIP,
)
