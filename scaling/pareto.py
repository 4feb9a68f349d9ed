"""The latency-throughput front: the batches that no other batch beats on both counts."""

from typing import NamedTuple

from scaling.deployment import Deployment
from scaling.latency import decode_step
from scaling.throughput import best_batch


class Front(NamedTuple):
    """Points of the front, fastest first; all three tuples have one entry per batch."""

    batch: tuple[int, ...]
    step: tuple[float, ...]
    tokens_per_second_per_chip: tuple[float, ...]


def front(d: Deployment, context: float) -> Front:
    """Batch [sequences], step time [s] and throughput [token/s per chip] along the front.

    Every batch from 1 to `best_batch`: below it throughput still grows, beyond it only the step does.
    Plain numbers only, one context at a time. Empty when not even one sequence fits.

    Raises ``ValueError`` for a negative context. Source: audit of chapter 12, section 12.5.
    """
    batches = tuple(range(1, int(best_batch(d, context)) + 1))
    steps = tuple(decode_step(d, B, context).total for B in batches)
    rates = tuple(B / (d.chips * T) for B, T in zip(batches, steps, strict=True))
    return Front(batches, steps, rates)
