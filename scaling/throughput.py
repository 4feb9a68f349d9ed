"""Rates: tokens and queries per second, the plateau, the best batch, and what a million tokens cost.

Every function is for the whole deployment unless its name says per chip. A batch larger than memory holds is not
refused here: ask `memory.fits` or `memory.max_batch`.
"""

import math

from scaling._array import Array, ceil, divide, floor, maximum, minimum, nonnegative, where
from scaling.deployment import Deployment
from scaling.latency import decode_step
from scaling.memory import max_batch
from scaling.units import hour


def tokens_per_second(d: Deployment, batch: Array, context: Array) -> Array:
    """Tokens decoded per second, whole deployment: ``B / T_step``. [token/s]

    Raises ``ValueError`` for a negative batch or context. Source: scaling-book part 8.
    """
    return batch / decode_step(d, batch, context).total


def tokens_per_second_per_chip(d: Deployment, batch: Array, context: Array) -> Array:
    """Tokens decoded per second and chip: ``B / (N T_step)``. [token/s]

    Raises ``ValueError`` for a negative batch or context. Source: scaling-book part 8.
    """
    return tokens_per_second(d, batch, context) / d.chips


def queries_per_second(d: Deployment, batch: Array, context: Array, decode_tokens: Array) -> Array:
    """Queries finished per second, whole deployment: ``B / (T_step G)``. [query/s]

    `decode_tokens` G: **mean** tokens generated per query (a median understates the load). Prefill is left out.

    Raises ``ValueError`` for a negative batch or context. Source: scaling-book part 8.
    """
    G = nonnegative("decode_tokens", decode_tokens)
    return divide(tokens_per_second(d, batch, context), G)


def queries_per_second_per_chip(d: Deployment, batch: Array, context: Array, decode_tokens: Array) -> Array:
    """Queries finished per second and chip: ``B / (N T_step G)``. [query/s]

    Raises ``ValueError`` for a negative batch or context. Source: scaling-book part 8.
    """
    return queries_per_second(d, batch, context, decode_tokens) / d.chips


def mfu(d: Deployment, batch: Array, context: Array) -> Array:
    """Model FLOPs utilisation of a decode step: ``2 B P / (N C T_step)``, against the peak. [-]

    Raises ``ValueError`` for a negative batch or context. Source: Chowdhery et al., PaLM, 2022, appendix B.
    """
    P, peak = d.step_params, 1.0 * d.chips * d.chip.rate(d.compute)
    return 2.0 * P * tokens_per_second(d, batch, context) / peak


def compute_ceiling(d: Deployment) -> Array:
    """Tokens per second if arithmetic were all there is: ``N C / (2 P)``. [token/s]

    Source: scaling-book part 8.
    """
    P, NC = d.step_params, d.flops
    return NC / (2.0 * P)


def plateau(d: Deployment, context: Array) -> Array:
    """Throughput that no batch exceeds, whole deployment: ``N / (S kv / W + 2 P / C)``. [token/s]

    Reached at the critical batch and flat beyond it, since cache and arithmetic both grow with the batch.
    With a cost per layer it is only approached. Memory is not asked: see `best_batch`.

    Raises ``ValueError`` for a negative context. Source: tests/data/published.json, section 12.4.
    """
    one = decode_step(d, 1.0, context)
    return 1.0 / (one.cache + one.compute + one.collectives)


def balanced_batch(d: Deployment) -> Array:
    """Batch at which this deployment's arithmetic takes as long as reading its weights. [sequences]

    `roofline.critical_batch` for the deployment's own dtypes, parameter convention and efficiency.

    Source: scaling-book part 7; tests/data/published.json, section 12.4.
    """
    one = decode_step(d, 1.0, 0.0)
    return one.weights / one.compute


def cache_over_weights_tokens(d: Deployment) -> Array:
    """Cached tokens, batch times context, above which reading the cache takes longer than reading the weights. [tokens]

    ``P b_w / kv``, whatever the chip and however many: both are reads from the same memory.

    Source: tests/data/published.json, section 12.5.
    """
    one = decode_step(d, 1.0, 1.0)
    return one.weights / one.cache


def cache_over_compute_context(d: Deployment) -> Array:
    """Context above which reading the cache takes longer than arithmetic, at every batch. [tokens]

    ``2 P W / (C kv)``: both terms are proportional to the batch, so it cancels.

    Source: tests/data/published.json, section 12.5.
    """
    one = decode_step(d, 1.0, 1.0)
    return one.compute / one.cache


def batch_at_step(d: Deployment, context: Array, step: Array) -> Array:
    """Batch whose step takes `step` seconds, not rounded: `latency.decode_step` solved for the batch. [sequences]

    ::

        B = min((T_step - T_weights) / t_cache, T_step / (t_cache + t_compute))    t = a term at batch 1

    0 when the step is too short to read the weights. Memory is not asked: see `memory.max_batch`.

    Raises ``ValueError`` for a negative context or step. Source: tests/data/published.json, section 12.5.
    """
    one = decode_step(d, 1.0, context)
    rest = nonnegative("step", step) - one.overhead
    each, spare = one.cache + one.collectives, rest - one.weights
    # Without a cache to read, a step that only just holds the weights holds any batch up to the critical one.
    with_weights = where(each == 0, where(spare < 0, 0.0, math.inf), divide(spare, each))
    with_compute = rest / (each + one.compute)
    return maximum(0.0, minimum(with_weights, with_compute))


def best_batch(d: Deployment, context: Array, *, max_step: Array = math.inf) -> Array:
    """Smallest batch with full throughput, or the largest that memory and the step limit allow. [sequences]

    ``min(ceil(B_crit), max_batch, B at which T_step = max_step)``. More only adds latency (with a cost per layer, which
    more sequences share, it also adds a little throughput). 0 when nothing is possible.

    `max_step`: longest step allowed (the TPOT limit). [s]

    Raises ``ValueError`` for a negative context or limit. Source: tests/data/published.json, section 12.4.
    """
    nonnegative("max_step", max_step)
    # Rounding must not cost a whole sequence when the limit is exactly a batch's own step.
    within_limit = floor(batch_at_step(d, context, max_step * (1 + 1e-12)))
    best = minimum(minimum(ceil(balanced_batch(d) * (1 - 1e-12)), max_batch(d, context)), within_limit)
    return maximum(0, best)


def cost_per_million_tokens(d: Deployment, batch: Array, context: Array, *, price: Array | None = None) -> Array:
    """What a million decoded tokens cost. [USD]

    `price`: per chip; the chip's own if not given. [USD/h] Prefill and idle time are left out: both err low.

    Raises ``ValueError`` for a negative batch, context or price. Source: price per hour over tokens per hour.
    """
    price = d.chip.price if price is None else nonnegative("price", price)
    per_second = 1.0 * d.chips * price / hour
    return divide(per_second * 1e6, tokens_per_second(d, batch, context))
