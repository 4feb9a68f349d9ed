"""Rates: tokens and queries per second, the plateau, the best batch, and what a million tokens cost.

Every function is for the whole deployment unless its name says per chip. A batch larger than memory holds is not
refused here: ask `memory.fits` or `memory.max_batch`.
"""

import math

from scaling._array import Array, ceil, divide, down, floor, maximum, minimum, up, where
from scaling._checks import flag, nonnegative, record
from scaling.chips import Chip
from scaling.deployment import Deployment
from scaling.latency import decode_step, prefill_time
from scaling.memory import max_batch
from scaling.sharding import collective_time
from scaling.units import hour

_MOST = 1e15  # sequences, more than any limit lets in: half of infinity is no batch to try
_ROUNDS = 100  # each halves what is not known, from 1e15 down to a part in 1e15


def tokens_per_second(d: Deployment, batch: Array, context: Array) -> Array:
    """Tokens decoded per second, whole deployment: ``tokens per second = B / T_step``. [token/s]

    Exact for the step it is given: errs high where `latency.decode_step` errs low.

    Raises ``ValueError`` for a negative batch or context. Source: scaling-book part 8.
    """
    B = nonnegative("batch", batch)
    return B / decode_step(d, B, context).total


def tokens_per_second_per_chip(d: Deployment, batch: Array, context: Array) -> Array:
    """Tokens decoded per second and chip: ``tokens per second and chip = B / (N T_step)``. [token/s per chip]

    Exact for the step it is given: errs high where `latency.decode_step` errs low.

    Raises ``ValueError`` for a negative batch or context. Source: scaling-book part 8.
    """
    return tokens_per_second(d, batch, context) / d.chips


def queries_per_second(d: Deployment, batch: Array, context: Array, decode_tokens: Array) -> Array:
    """Queries finished per second, whole deployment: ``QPS = B / (T_step G)``. [query/s]

    `decode_tokens`: G, **mean** tokens generated per query (a median understates the load). [tokens per sequence]
    Leaves out prefill, and the places that stand empty between two sequences: errs high.

    Raises ``ValueError`` for a negative batch or context. Source: scaling-book part 8.
    """
    G = nonnegative("decode_tokens", decode_tokens)
    return divide(tokens_per_second(d, batch, context), G)


def queries_per_second_per_chip(d: Deployment, batch: Array, context: Array, decode_tokens: Array) -> Array:
    """Queries finished per second and chip: ``QPS per chip = B / (N T_step G)``. [query/s per chip]

    `decode_tokens`: G, as in `queries_per_second`. [tokens per sequence]
    Leaves out prefill, and the places that stand empty between two sequences: errs high.

    Raises ``ValueError`` for a negative batch or context. Source: scaling-book part 8.
    """
    return queries_per_second(d, batch, context, decode_tokens) / d.chips


def mfu(d: Deployment, batch: Array, context: Array) -> Array:
    """Model FLOPs utilisation of a decode step, against the peak: ``MFU = 2 B P / (N C T_step)``. [-]

    Of a mixture of experts P is what one token passes.

    Leaves out attention's FLOPs, which the model needs too: errs low for long contexts.

    Raises ``ValueError`` for a negative batch or context. Source: PaLM, appendix B (arXiv 2204.02311).
    """
    record("d", d, Deployment)
    P, peak = d.active_params, 1.0 * d.chips * d.chip.rate(d.compute)
    return 2.0 * P * tokens_per_second(d, batch, context) / peak


def compute_ceiling(d: Deployment) -> Array:
    """Tokens per second if arithmetic were all there is: ``ceiling = N C / (2 P)``. [token/s]

    Leaves out every byte that is read: errs high.

    Source: scaling-book part 8.
    """
    record("d", d, Deployment)
    P, NC = d.active_params, d.flops
    return NC / (2.0 * P)


def plateau(d: Deployment, context: Array, *, overlapped: bool = False) -> Array:
    """Throughput that a larger batch no longer raises, whole deployment. [token/s]

    Kernels that run one after another reach ``plateau = N / (S kv / W + 2 P / C)`` at the critical batch, and keep it
    beyond, since cache and arithmetic both grow with the batch. Of each chip: ``plateau per chip = 1 / (S kv / W + 2 P
    / C)``. With a cost per layer it is only approached.

    `context`: S. [tokens per sequence]
    `overlapped`: the limit of the floor instead, with the peaks and P_min of `latency.decode_step`: no schedule and no
    batch exceeds ``plateau = N / max(S kv / W, 2 P_min / C)``, about twice as much at most.

    Leaves out whether so large a batch fits, see `best_batch`: errs high where it does not.

    Raises ``ValueError`` for a negative context. Source: the limit of `tokens_per_second` for a large batch.
    """
    one = decode_step(d, 1.0, context)
    if flag("overlapped", overlapped):
        # The weights, read once for all, weigh nothing in a batch without end.
        S = d.model.cached_tokens(nonnegative("context", context))
        cache = 1.0 * S * d.model.kv_bytes_per_token(d.kv) / d.peak_bandwidth
        return 1.0 / maximum(cache, 2.0 * d.least_active_params / d.peak_flops)
    sent, _ = _links(d)
    return 1.0 / (one.cache + (maximum(one.compute, sent) if d.efficiency.hidden else one.compute + sent))


def _links(d: Deployment) -> tuple[Array, Array]:
    """What each sequence of a batch adds to the time of the collectives, and what they take without any. [s]"""
    if d.efficiency.links is None:
        return 0.0, 0.0
    start = collective_time(d, 0.0)
    return collective_time(d, 1.0) - start, start


def balanced_batch(d: Deployment) -> Array:
    """Batch at which this deployment's arithmetic takes as long as reading its weights. [sequences]

    `roofline.critical_batch` for the deployment's own dtypes, parameter convention and efficiency:
    ``balanced_batch = B T_weights / T_compute``, whatever the batch B. A mixture of experts reads more weights the more
    sequences there are, so B is then the batch at which the two are equal, about P / P_active times a dense model's.

    Leaves out activations that are read and written: errs low by a few percent.

    Source: scaling-book part 7.
    """
    one = decode_step(d, 1.0, 0.0)
    if d.model.experts is None:
        return one.weights / one.compute
    batch = d.weight_seconds / one.compute  # with every expert read; each round comes down to the crossing
    for _ in range(_ROUNDS):
        batch = d.read_seconds(batch) / one.compute
    return batch


def full_batch(d: Deployment) -> Array:
    """Smallest batch with all the throughput there is, the first on the plateau. [sequences]

    ``full_batch = ceil(balanced_batch)``. More sequences only lengthen the step.

    Leaves out whether it fits, see `best_batch`, what `balanced_batch` leaves out, errs low by a few percent, and links
    that hide behind the matmuls and outlast them: errs high.

    Source: scaling-book part 7.
    """
    return ceil(down(balanced_batch(d)))


def cache_over_weights_tokens(d: Deployment) -> Array:
    """Cached tokens above which reading the cache takes longer than reading the weights: ``B S = P b_w / kv``. [tokens]

    Batch times context, whatever the chip and however many: both are reads from the same memory.

    Exact for the two terms of `latency.decode_step`.

    Source: those two terms set equal.
    """
    one = decode_step(_plain(d), 1.0, 1.0)
    return one.weights / one.cache


def cache_over_compute_context(d: Deployment) -> Array:
    """Context above which reading the cache takes longer than arithmetic: ``S = 2 P W / (C kv)``. [tokens per sequence]

    At every batch: both terms are proportional to it, so it cancels.

    Exact for the two terms of `latency.decode_step`.

    Source: those two terms set equal.
    """
    one = decode_step(_plain(d, experts=True), 1.0, 1.0)
    return one.compute / one.cache


def _plain(d: Deployment, *, experts: bool = False) -> Deployment:
    """The deployment, unless its cache or its weights do not grow in a straight line, so that no one number is it.

    Raises ``ValueError`` that names the model.
    """
    record("d", d, Deployment).model.refuse_windows("d", "whose cache stops growing")
    if not experts and d.model.experts is not None:
        raise ValueError(f"d must be of a model that reads all its weights in each step, not {d.model.name}.")
    return d


def batch_at_step(d: Deployment, context: Array, step: Array) -> Array:
    """Batch whose step takes so many seconds, not rounded: `latency.decode_step` solved for the batch. [sequences]

    ::

        B = min(N W (T_step - T_weights) / (S kv), N T_step / (S kv / W + 2 P / C))

    0 when the step is too short to read the weights. `step`: seconds, T_step. [s]

    Leaves out whether so large a batch fits, see `memory.max_batch`: errs high where it does not.

    Raises ``ValueError`` for a negative context or step. Source: `latency.decode_step`, solved for the batch.
    """
    one, (sent, start) = decode_step(d, 1.0, context), _links(d)
    if d.model.experts is not None:
        return _batch_of_mixture(d, context, nonnegative("step", step), 1.0 * step / (one.compute + one.cache))
    rest = nonnegative("step", step) - one.overhead
    if d.efficiency.hidden:  # the links are then a third that may take longest
        each, with_links = one.cache, divide(rest - start, one.cache + sent)
    else:
        each, rest, with_links = one.cache + sent, rest - start, math.inf
    spare = rest - one.weights
    # Without a cache to read, a step that only just holds the weights holds any batch up to the critical one.
    with_weights = where(each == 0, where(spare < 0, 0.0, math.inf), divide(spare, each))
    with_compute = rest / (each + one.compute)
    return maximum(0.0, minimum(minimum(with_weights, with_compute), with_links))


def _batch_of_mixture(d: Deployment, context: Array, step: Array, most: Array) -> Array:
    """The batch whose step takes so long, between none and `most`, by halving: a step grows with its batch."""
    every, most = step == math.inf, minimum(most, _MOST)
    least: Array = 0.0 * most
    for _ in range(_ROUNDS):
        middle = (least + most) / 2.0
        within = decode_step(d, middle, context).total <= step
        least, most = where(within, middle, least), where(within, most, middle)
    return where(every, math.inf, least)


def largest_batch(d: Deployment, context: Array, *, max_step: Array = math.inf) -> Array:
    """Largest batch that memory and the step limit allow: ``B = min(max_batch, floor(batch_at_step))``. [sequences]

    Beyond the critical batch it has a longer step and no more throughput: see `best_batch`. 0 when nothing is possible.

    `max_step`: longest step allowed (the TPOT limit). [s]

    Leaves out what `memory.cache_budget` and `latency.decode_step` leave out: errs high.

    Raises ``ValueError`` for a negative context or limit. Source: the smaller of the two limits.
    """
    # The limit may be exactly a batch's own step.
    within_limit = floor(batch_at_step(d, context, up(nonnegative("max_step", max_step))))
    return minimum(max_batch(d, context), within_limit)


def best_batch(d: Deployment, context: Array, *, max_step: Array = math.inf) -> Array:
    """Smallest batch with full throughput, or the largest that memory and the step limit allow. [sequences]

    ``B = min(ceil(balanced_batch), largest_batch)``. More only adds latency (with a cost per layer, which more
    sequences share, it also adds a little throughput). 0 when nothing is possible.

    `max_step`: longest step allowed (the TPOT limit). [s]

    Leaves out what `memory.cache_budget` and `latency.decode_step` leave out: errs high.

    Raises ``ValueError`` for a negative context or limit. Source: scaling-book part 8, as one rule.
    """
    largest = largest_batch(d, context, max_step=max_step)
    return maximum(0, minimum(full_batch(d), largest))


def cost_per_million_tokens(d: Deployment, batch: Array, context: Array, *, price: Array | None = None) -> Array:
    """What a million decoded tokens cost: ``cost = 1e6 N price T_step / (3600 B)``. [USD per million tokens]

    `price`: per chip; the chip's own if not given. [USD/h]
    Leaves out prefill and idle time: both err low.

    Raises ``ValueError`` for a negative batch, context or price. Source: price per hour over tokens per hour.
    """
    record("d", d, Deployment)
    price = d.chip.price if price is None else nonnegative("price", price)
    per_second = 1.0 * d.chips * price / hour
    return divide(per_second * 1e6, tokens_per_second(d, batch, context))


def replicas_for(d: Deployment, queries: Array, batch: Array, context: Array, decode_tokens: Array) -> Array:
    """Copies of the deployment that finish so many queries per second: ``replicas = ceil(queries / QPS)``. [replicas]

    `queries`: to be finished, of the whole fleet. [query/s]
    `decode_tokens`: G, **mean** tokens generated per query. [tokens per sequence]
    Infinite when the batch is 0.

    Leaves out prefill, idle time and peaks of the load: every copy runs at this batch all the time. Errs low.

    Raises ``ValueError`` for a negative argument. Source: `queries_per_second`, rounded up to whole copies.
    """
    each = queries_per_second(d, batch, context, decode_tokens)
    return ceil(divide(down(nonnegative("queries", queries)), each))


def prefill_chips(d: Deployment, queries: Array, tokens: Array, *, mfu: Array | None = None) -> Array:
    """Chips that reading the prompts of so many queries keeps busy: ``chips = ceil(queries N T_prefill)``. [chips]

    `queries`: arriving at the whole fleet. [query/s]
    `tokens`: of each prompt, those that no cache holds already. [tokens per sequence]
    `mfu`: as in `latency.prefill_time`. [-]
    The number of chips cancels, so any size of server gives the same, as long as links and layers cost nothing.

    Leaves out queueing, and that servers come whole: errs low.

    Raises ``ValueError`` for a negative argument or an `mfu` outside (0, 1].
    Source: prompts that arrive in a second, times the time of one.
    """
    record("d", d, Deployment)
    N, T_prefill = d.chips, prefill_time(d, tokens, mfu=mfu)
    return ceil(down(1.0 * nonnegative("queries", queries) * N * T_prefill))


def cost_per_hour(chip: Chip, chips: Array, *, price: Array | None = None) -> Array:
    """What so many chips cost in an hour: ``cost = N price``. [USD/h]

    `chips`: N, of a whole fleet. [chips]
    `price`: per chip; the chip's own if not given. [USD/h]

    Exact for rented chips: power, staff and discounts are in the price or nowhere.

    Raises ``ValueError`` for a negative number of chips or price. Source: price per hour times chips.
    """
    record("chip", chip, Chip)
    price = chip.price if price is None else nonnegative("price", price)
    return 1.0 * nonnegative("chips", chips) * price
