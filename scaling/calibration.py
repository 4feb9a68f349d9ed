"""What engines take, not what hardware allows: an `Efficiency` fitted to published measurements, and its error.

`estimate` needs the standard library alone and reads no data; fitting it anew and testing it need NumPy. The test of
an estimate is a publisher whose rows the fit has not seen.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple

from scaling._array import Array
from scaling._checks import record, shown
from scaling._records import replace
from scaling.chips import Chip
from scaling.deployment import Deployment, Efficiency
from scaling.latency import StepTime, decode_step
from scaling.measurements import CHIPS, POOL, Measurement, measurements, seconds, terms, unusable
from scaling.memory import fits

OLD = "2024"  # engines of earlier years, without graphs and fused kernels, are no guide to today's
BANDWIDTH = 0.85  # set, not fitted: any share from 0.8 to 1 does as well, with another cost per layer
# What is fitted: four numbers for all chips, and what the share of the FLOPs is multiplied by elsewhere than on Hopper.
COMMON = ("flops", "layer_seconds", "start", "links")
OTHERS = ("Ampere", "Ada", "CDNA 3")
# Where the fit starts, and what it leaves for a reason only. 0.6 is what large matmuls reach alone; the rest are round
# numbers, and chips are alike. The first four are held as by five rows each, what tells chips apart as by half a row.
# Without that hold three small publishers alone would set the share of the FLOPs: unseen rows are then 16 % off, not 9.
START = (0.6, 100e-6, 5e-6, 0.5, 1.0, 1.0, 1.0)
HELD = (5.0, 5.0, 5.0, 5.0, 0.5, 0.5, 0.5)
SMOOTH = 1e-3  # below an error of a thousandth, squares in place of absolute values: then there is one best fit

# The fit to all usable rows, and how far the middle 80 % of rows of unseen publishers lie from it, as a factor: what
# `python -m scaling.calibration` prints. A test fits again.
FITTED: tuple[float, ...] = (
    0.566996288830006,
    9.320742449323034e-05,
    5.141249364737652e-06,
    0.5019229526847375,
    1.1952261569296154,
    0.8257328481978311,
    0.3038718097173791,
)
SPREAD: dict[str, float] = {"NVIDIA": 1.1825011092387283, "AMD": 1.3905115184671524}


# Whose rows speak for a chip: those of a measured one with the same arithmetic.
_FAMILIES = {"H100-SXM": "Hopper", "A100-80": "Ampere", "A10G": "Ampere", "L40S": "Ada", "MI300X": "CDNA 3"}


class Estimate(NamedTuple):
    """A step of an engine of today: four of five measured ones lie between `low` and `high`. [s]"""

    low: Array
    median: Array
    high: Array


class Error(NamedTuple):
    """How far off: median of the absolute errors, what 80 % of them stay within, median of predicted over measured."""

    name: str
    rows: int
    median: float
    most: float
    ratio: float


def family(chip: Chip) -> str:
    """The family whose rows speak for this chip: the one of a measured chip with the same arithmetic.

    Raises ``ValueError`` for a chip without usable measurements.
    """
    record("chip", chip, Chip)
    for name, own in _FAMILIES.items():
        measured = CHIPS[name].flops
        # Rounded rates, such as 990 TFLOP/s for 989.5, are of the same chip.
        if all(abs(chip.flops.get(dtype, 0.0) / rate - 1) < 0.01 for dtype, rate in measured.items()):
            return own
    raise ValueError(f"chip must be one with usable measurements (H100, H200, A100, L40S, MI300X), not {chip.name}.")


def efficiency(chip: Chip, fitted: Iterable[float] = FITTED) -> Efficiency:
    """What engines since 2024 reach on this chip, by published measurements.

    Raises ``ValueError`` for a chip without usable measurements.
    """
    flops, layer_seconds, start, links, *others = fitted
    own = family(chip)
    return Efficiency(
        bandwidth=BANDWIDTH,
        flops=flops * dict(zip(OTHERS, others, strict=True)).get(own, 1.0),
        layer_seconds=layer_seconds,
        links=links,
        start=start,
        source="published measurements of engines of 2024 and 2025, scaling/data",
        date="2026-11",
    )


def estimate(d: Deployment, batch: Array, context: Array) -> Estimate:
    """Time of a decode step on an engine of today, and the interval that 80 % of unseen measurements fell into. [s]

    The serial law of `latency.decode_step` with the `efficiency` of the chip, whatever the deployment's own, over the
    parameters that a step reads.

    `batch`: sequences, broadcasts with the context. [sequences, whole deployment]
    `context`: cached already. [tokens per sequence]

    Raises ``ValueError`` where measurements refute an estimate or there are none: another chip, a model that is not
    dense, int4, int8 or fp4, more than 8 chips, and a batch that the engine's pool does not hold.
    """
    record("d", d, Deployment)
    if d.model.window or d.model.latent or d.model.experts:
        raise ValueError(f"model must be dense with full attention, as the measured ones, not {d.model.name}.")
    for field in ("weights", "kv"):
        if getattr(d, field) not in ("bf16", "fp16", "fp8"):
            raise ValueError(f"{field} must be bf16, fp16 or fp8 to be estimated, not {getattr(d, field)!r}.")
    if not isinstance(d.chips, int) or d.chips > 8:
        raise ValueError(f"chips must be 1 to 8, as in the measurements, not {shown(d.chips)}.")
    chip, reached = replace(d.chip, memory=d.chip.device_memory), efficiency(d.chip)
    d = replace(d, chip=chip, params="streamed", layout="loaded", usable=POOL, reserve=0.0, efficiency=reached)
    held = fits(d, batch, context)
    if not (held.all() if hasattr(held, "all") else held):
        raise ValueError(
            f"batch must fit with its context into what the engine keeps for the cache, not {shown(batch)}."
        )
    median, spread = decode_step(d, batch, context).total, SPREAD[d.chip.vendor]
    return Estimate(median / spread, median, median * spread)


# The fit --------------------------------------------------------------------------------------------------------------


@cache
def usable() -> tuple[Measurement, ...]:
    """The rows that an estimate is held to: engines since 2024, lengths stated, nothing starved or unoptimised."""
    return tuple(row for row in measurements() if row.date >= OLD and not unusable(row))


class _Rows:
    """The terms of many rows, once, as arrays at the peaks: their time is then a few products for any efficiency."""

    def __init__(self, rows: Iterable[Measurement]) -> None:
        import numpy as np

        self.rows = tuple(rows)
        peaks = Efficiency(links=1.0)
        parts = [terms(row, peaks) for row in self.rows]
        self.steps, self.passes = (np.array([part[i] for part in parts]) for i in (0, 2))
        self.step = np.array([step[:4] for _, step, _, _ in parts]).T
        self.prompts = np.array([prompts[:4] for *_, prompts in parts]).T
        self.layers = np.array([_layers(row) for row in self.rows])
        self.several = np.array([row.tp > 1 for row in self.rows])
        families = [family(CHIPS[row.chip]) for row in self.rows]
        self.families = np.array([[own == other for other in OTHERS] for own in families], float)
        self.measured = np.log([seconds(row) for row in self.rows])
        documents = Counter(row.source for row in self.rows)
        # A document of 220 rows says more than one of 8, but not 27 times as much.
        self.weight = np.array([documents[row.source] ** -0.5 for row in self.rows])

    def predicted(self, x: Any) -> Any:
        """Logarithms of the times, for the logarithms of what is fitted."""
        import numpy as np

        flops, layer, start, links = np.exp(x[:4])
        share = flops * np.exp(self.families @ x[4:])
        fixed = self.layers * (layer + 4 * start * self.several)
        total = 0.0
        for times, (weights, compute, kept, sent) in ((self.steps, self.step), (self.passes, self.prompts)):
            step = StepTime(weights / BANDWIDTH, compute / share, kept / BANDWIDTH, sent / links, fixed)
            total = total + times * step.total
        return np.log(total)


def _layers(row: Measurement) -> int:
    from scaling.measurements import MODELS

    return MODELS[row.model].layers


def fit(rows: Iterable[Measurement] | None = None) -> tuple[float, ...]:
    """The numbers of `FITTED` for these rows, or for all usable ones: least absolute errors of the logarithm.

    Weighted by document, each by the root of its rows; the numbers are held to `START` by `HELD`. Newton's steps on
    reweighted squares, shortened until the sum falls, until it falls no more: the same rows give the same numbers.
    """
    import numpy as np

    data = _Rows(usable() if rows is None else rows)
    middle, hold = np.log(START), np.array(HELD)
    x = middle.copy()

    def cost(x: Any) -> float:
        off = data.predicted(x) - data.measured
        return float(data.weight @ np.hypot(off, SMOOTH) + hold @ (x - middle) ** 2 / 2)

    best, damping = cost(x), 1e-3
    for _ in range(400):
        slope = _slopes(data.predicted, x)
        off = data.predicted(x) - data.measured
        pull = data.weight / np.hypot(off, SMOOTH)
        curve = slope.T @ (pull[:, None] * slope) + np.diag(hold)
        down = slope.T @ (pull * off) + hold * (x - middle)
        step = np.linalg.solve(curve + damping * np.diag(np.diag(curve)), -down)
        then = cost(x + step)
        if then < best:
            x, best, damping = x + step, then, max(damping / 5, 1e-12)
        else:
            damping *= 4
        if damping > 1e9 or abs(step).max() < 1e-13:
            break
    return tuple(float(value) for value in np.exp(x))


def _slopes(function: Callable[[Any], Any], x: Any) -> Any:
    import numpy as np

    small = 1e-6 * np.eye(len(x))
    return np.stack([(function(x + h) - function(x - h)) / 2e-6 for h in small], axis=1)


# Its error ------------------------------------------------------------------------------------------------------------


@cache
def unseen() -> tuple[tuple[Measurement, float], ...]:
    """Each usable row, and log of predicted over measured by a fit to the rows of all other publishers."""
    rows = usable()
    found: dict[Measurement, float] = {}
    for publisher in dict.fromkeys(row.publisher for row in rows):
        x = fit(row for row in rows if row.publisher != publisher)
        own = [row for row in rows if row.publisher == publisher]
        found.update(zip(own, off(own, x), strict=True))
    return tuple((row, found[row]) for row in rows)


def off(rows: Iterable[Measurement], fitted: Iterable[float] = FITTED) -> list[float]:
    """Log of predicted over measured time, of each row."""
    import numpy as np

    data = _Rows(rows)
    return [float(value) for value in data.predicted(np.log(tuple(fitted))) - data.measured]


def errors(by: Callable[[Measurement], str], pairs: Iterable[tuple[Measurement, float]] | None = None) -> list[Error]:
    """Errors of unseen rows by what a function says of a row, such as ``lambda row: row.publisher``."""
    import numpy as np

    groups: dict[str, list[float]] = {}
    for row, value in unseen() if pairs is None else pairs:
        groups.setdefault(by(row), []).append(value)
    found = []
    for name, values in sorted(groups.items()):
        size = abs(np.expm1(values))
        middle, most = (float(np.quantile(size, share)) for share in (0.5, 0.8))
        found.append(Error(name, len(values), middle, most, float(np.exp(np.median(values)))))
    return found


def spread(pairs: Iterable[tuple[Measurement, float]]) -> float:
    """The factor within which 80 % of these rows lie, each weighted as in the fit."""
    import numpy as np

    rows = list(pairs)
    documents = Counter(row.source for row, _ in rows)
    size = np.abs([value for _, value in rows])
    order = np.argsort(size, kind="stable")
    share = np.cumsum([documents[rows[i][0].source] ** -0.5 for i in order])
    return float(np.exp(size[order][np.searchsorted(share, 0.8 * share[-1])]))


def spreads() -> dict[str, float]:
    """`SPREAD` anew: the factor for the chips of each vendor."""
    return {
        vendor: spread([pair for pair in unseen() if CHIPS[pair[0].chip].vendor == vendor])
        for vendor in ("NVIDIA", "AMD")
    }


def covered() -> float:
    """Share of rows within an interval made from the errors at all other publishers."""
    inside = 0
    for row, value in unseen():
        vendor = CHIPS[row.chip].vendor
        inside += abs(value) <= _log_spread_without(row.publisher, vendor)
    return inside / len(unseen())


@cache
def _log_spread_without(publisher: str, vendor: str) -> float:
    from math import log

    others = [pair for pair in unseen() if pair[0].publisher != publisher and CHIPS[pair[0].chip].vendor == vendor]
    return log(spread(others))


if __name__ == "__main__":
    print(f"FITTED = {fit()}\nSPREAD = {spreads()}")
