"""The latency-throughput front: the batches that no other batch beats on both counts."""

import math
from typing import NamedTuple

from scaling._checks import record, shown
from scaling.deployment import Deployment
from scaling.latency import decode_step
from scaling.memory import max_batch
from scaling.throughput import best_batch

_MOST_POINTS = 100_000  # some tenths of a second, and more than any curve shows


class Front(NamedTuple):
    """Points of the front, fastest first; all three tuples have one entry per batch.

    `batch`: sequences decoded together. [sequences]
    `step`: time of a decode step. [s]
    `tokens_per_second_per_chip`: rate at that batch. [token/s per chip]
    """

    batch: tuple[int, ...]
    step: tuple[float, ...]
    tokens_per_second_per_chip: tuple[float, ...]


def front(d: Deployment, context: float) -> Front:
    """Batches, steps and rates along the front: ``tokens per second and chip = B / (N T_step)``.

    Every batch from 1 to `best_batch`: below it throughput still grows, beyond it only the step does. With a cost per
    layer or a start of the links it grows as long as more sequences fit, and the front goes on to `max_batch`.
    Plain numbers only, one context above 0 at a time. Empty when not even one sequence fits.

    Exact for the steps of `latency.decode_step`: an engine that overlaps cache and arithmetic goes beyond it.

    Raises ``ValueError`` for an array, for a context that is negative or not finite, and for more than 100,000 points.
    Source: scaling-book part 8, its latency-throughput curve.
    """
    record("d", d, Deployment)
    shared = d.efficiency.layer_seconds or (d.efficiency.links is not None and d.efficiency.start)
    last = max_batch(d, context) if shared else best_batch(d, context)
    if getattr(last, "ndim", 0) or not last < math.inf:
        raise ValueError(f"front needs one finite context above 0 and one deployment, no arrays, not {shown(context)}.")
    if last > _MOST_POINTS:
        raise ValueError(
            f"front must have at most {_MOST_POINTS:,} points, not the {float(last):.3g} of context {shown(context)}."
        )
    batches = tuple(range(1, int(last) + 1))
    steps = tuple(decode_step(d, B, context).total for B in batches)
    rates = tuple(B / (d.chips * T) for B, T in zip(batches, steps, strict=True))
    return Front(batches, steps, rates)
