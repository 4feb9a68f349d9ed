"""How long a step takes, in terms that can be looked at one by one."""

from typing import NamedTuple

from scaling._array import Array, maximum, where, with_words
from scaling._checks import count, flag, nonnegative, record, share, word
from scaling.deployment import Deployment
from scaling.sharding import collective_time


class StepTime(NamedTuple):
    """The terms of one decode step. [s] Each has the broadcast shape of what it depends on."""

    weights: Array
    compute: Array
    cache: Array
    collectives: Array = 0.0
    overhead: Array = 0.0

    def without(self, *terms: str) -> "StepTime":
        """The same step with these terms at 0, as if the chip did that in no time.

        Raises ``ValueError`` for what is no name of a term.
        """
        return self._replace(**{word("terms", term, self._fields): 0.0 for term in terms})

    @property
    def matmul(self) -> Array:
        """Reading the weights and multiplying by them overlap: the longer of the two. [s]"""
        return maximum(self.weights, self.compute)

    @property
    def total(self) -> Array:
        """``T_step = T_cache + max(T_weights, T_compute)``, plus collectives and overhead. [s]"""
        weights, compute, cache, collectives, overhead = self
        return cache + maximum(weights, compute) + collectives + overhead

    @property
    def bound(self) -> Array:
        """Name of the longest term: ``"weights"``, ``"compute"``, ``"cache"``, ``"collectives"`` or ``"overhead"``."""
        name, longest = "weights", with_words(self.weights)
        for other in self._fields[1:]:
            value = with_words(getattr(self, other))
            name = where(value > longest, other, name)
            longest = maximum(value, longest)
        return name


def decode_step(d: Deployment, batch: Array, context: Array) -> StepTime:
    """Time for every sequence of the batch to gain one token. [s]

    ::

        T_weights = P b_w / (N W)    T_compute = 2 B P / (N C)    T_cache = B S kv / (N W)

        T_step = T_cache + max(T_weights, T_compute)

    `batch` B [sequences, whole deployment] and `context` S [tokens per sequence, cached already] broadcast. Without
    speculation ``TPOT = T_step``.

    Leaves out attention FLOPs (hidden behind reading the cache), sampling and scheduling: errs low. Collectives and a
    cost per layer count only if the efficiency asks for them. With `ROOFLINE` every term is a lower bound.

    Raises ``ValueError`` for a negative batch or context.
    Source: scaling-book part 8.
    """
    record("d", d, Deployment)
    B, S, kv = nonnegative("batch", batch), nonnegative("context", context), d.kv_per_token
    P, read, NW, NC = d.step_params, d.step_bytes, d.bandwidth, d.flops
    efficiency = d.efficiency
    return StepTime(
        read / NW,
        2.0 * B * P / NC,
        1.0 * B * S * kv / NW,
        0.0 if efficiency.links is None else collective_time(d, B),
        d.model.layers * efficiency.layer_seconds,
    )


def matmul_time(d: Deployment, batch: Array, d_model: Array, d_ff: Array) -> StepTime:
    """Time of multiplying the batch by one matrix, D x F, spread over all the chips. [s]

    ::

        weights = D F b_w / (N W)    compute = 2 B D F / (N C)

    `batch` B [sequences]
    `d_model`, `d_ff`: the widths of the matrix, D and F; the deployment's own model is not asked.

    Leaves out reading and writing the activations, and the links: errs low.

    Raises ``ValueError`` for a negative batch or a width below 1.
    Source: scaling-book part 1, the roofline of a matmul.
    """
    record("d", d, Deployment)
    B, NW, NC = nonnegative("batch", batch), d.bandwidth, d.flops
    D, F = count("d_model", d_model), count("d_ff", d_ff)
    return StepTime(1.0 * D * F * d.weight_size / NW, 2.0 * B * D * F / NC, 0.0)


def prefill_time(d: Deployment, tokens: Array, *, mfu: Array | None = None, attention: bool = False) -> Array:
    """Time to process a prompt: ``T_prefill = 2 P S / (N C MFU)``. [s]

    `tokens`: prompt length S, or all the prompts' lengths together. [tokens]
    `mfu`: share of the peak FLOP/s reached, MFU; the efficiency's `flops` if not given. [-]
    `attention`: add causal attention, as for one single prompt: ``T_prefill = (2 P S + 2 S^2 H L Q) / (N C MFU)``.

    Without a queue ``TTFT = T_prefill``. Leaves out queueing, and reading the weights, which binds below the critical
    batch: both err low.

    Raises ``ValueError`` for negative tokens or an `mfu` outside (0, 1].
    Source: scaling-book part 7, and part 4 for attention.
    """
    record("d", d, Deployment)
    S, P = nonnegative("tokens", tokens), d.step_params
    work = 2.0 * P * S
    if flag("attention", attention):
        L, H = d.model.layers, d.model.head_dim
        work = work + 2.0 * S * S * d.model.q_heads * H * L
    if mfu is None:
        return work / d.flops
    return work / (1.0 * d.chips * d.chip.rate(d.compute) * share("mfu", mfu))
