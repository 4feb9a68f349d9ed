"""How many sequences run at once: the cap of a promised step, and what to expect of a full pool."""

import math
from typing import NamedTuple

from scaling._checks import positive, shown, whole
from scaling.deployment import ROOFLINE
from scaling.engines.rules import Start
from scaling.engines.words import in_ms
from scaling.throughput import batch_at_step, full_batch
from scaling.units import ms


class Cap(NamedTuple):
    """How many sequences to run at once, and why so many."""

    sequences: int
    why: str


def running_cap(start: Start, max_running: int | None, max_step: float | None) -> Cap | None:
    """A cap on running sequences: one's own, or the most that keep a promised step; None where neither is asked for.

    The pool needs no cap: engines admit by tokens, and one from the longest length would leave most of it empty.
    `max_running`: one's own [sequences]; `max_step`: the promise, TPOT [s]. None, too, where the pool ends before it.

    Raises ``ValueError`` for a step limit that no batch meets, or one without a length to apply to.
    """
    d, S = start.d, start.mean
    if max_step is not None:
        if positive("max_step", max_step) > 1:  # no reader waits a second for each token
            raise ValueError(f"max_step must be at most 1, in seconds, not {shown(max_step)}: 10 ms are 0.01.")
        if not S:
            raise ValueError("context or mean must be given with max_step: how long a step takes depends on it.")
    if max_running is not None:
        B = whole("max_running", max_running)
        room = f". The pool holds {counted(start.held, S)}" if S else ""
        return Cap(
            B, f"as asked for{room}{', so at that length some wait or are evicted' if S and B > start.held else ''}"
        )
    if max_step is None:
        return None
    # Rounding must not cost a whole sequence where the limit is exactly a batch's own step.
    each = max_step * (1 + 1e-12) / start.stages
    B = int(batch_at_step(start.timed, S, each) * start.stages)
    if B < 1:
        shortest = math.ceil(start.step(1) / ms * 100) / 100
        raise ValueError(
            f"max_step must be at least {shortest:g} ms, the step of one sequence of {S:,.0f} tokens on {d.chips} "
            f"{d.chip.name}, not {in_ms(max_step)}: use more chips, or store the weights in fewer bytes."
        )
    if B >= start.held:
        return None
    took = f"a step of {counted(B, S)} takes {in_ms(start.step(B))} {law(start)}"
    return Cap(B, f"{took}, one more would pass the limit of {in_ms(max_step)}. The pool holds {start.held:,}")


def counted(number: int, tokens: float) -> str:
    """So many sequences of a length, in words."""
    return f"{number:,} {'sequence' if number == 1 else 'sequences'} of {tokens:,.0f} tokens"


def law(start: Start) -> str:
    """By which law a step is counted, and whether without its collectives, which then come on top."""
    eff = start.d.efficiency
    said = "by the serial roofline" if eff == ROOFLINE else "at the efficiency given"
    return said if eff.links is not None or start.ways == 1 else f"{said} without collectives"


def expectation(start: Start, most: int | None = None, *, copies: int = 1, promised: float | None = None) -> list[str]:
    """What to expect of a full pool, at the mean length where one is known.

    `most`: sequences at once. `copies`: each with such a pool. `promised`: a limit that asked for no cap. [s]
    """
    each = " in each copy" if copies > 1 else ""
    if not start.held:
        return [f"the pool has about {start.pool.tokens:,.0f} tokens{each}"]
    B = start.held
    pool = f"the pool of about {start.pool.tokens:,.0f} tokens{each} holds {counted(B, start.mean)}"
    if most is not None and most < B:
        pool, B = f"{pool}, of which {most:,} run at once", most
    T = start.step(B)
    said = f"{pool}: a step then takes {in_ms(T)} {law(start)}, for {B / T:,.0f} tokens a second{each}"
    if promised is not None:
        said += f". No batch in the pool passes the limit of {in_ms(promised)}, so no cap is needed"
    critical = int(full_batch(start.timed)) * start.stages
    slower = f"from {critical:,} sequences on arithmetic takes longer than reading the weights"
    return [said, slower] if B > critical else [said]
