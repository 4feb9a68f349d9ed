"""What fits: bytes of weights and cache, and the batches and chip counts that follow."""

from dataclasses import replace

from scaling._array import Array, count, divide, floor, maximum, nonnegative, where
from scaling.deployment import Deployment, parallel_sizes
from scaling.models import Model


def weight_bytes(d: Deployment) -> float:
    """Bytes of the weights, whole deployment: ``P b_w``. [B]

    Leaves out quantisation scales and tensors kept in a wider dtype (see `grouped_weight_bytes`), so it errs low for
    int4. Source: scaling-book part 8, *Serving LLaMA 3-70B*.
    """
    P, b_w = d.stored_params, d.weight_size
    return P * b_w


def grouped_weight_bytes(
    model: Model, *, bits: float = 4, group: int = 128, scale_bits: float = 16, zero_bits: float = 4
) -> float:
    """Bytes of a group-quantised checkpoint: what an int4 file really weighs. [B]

    Every `group` matmul weights share one scale and one zero point; embeddings and norms stay in 16 bits.

    Raises ``ValueError`` for a negative number of bits or a group below 1.
    Source: the AWQ/GPTQ checkpoint layout with group size 128; tests/data/published.json, section 12.2.
    """
    for name, value in (("bits", bits), ("scale_bits", scale_bits), ("zero_bits", zero_bits)):
        nonnegative(name, value)
    count("group", group)
    quantised = model.attention_params + model.mlp_params
    wide = model.vocab_params + model.norm_params
    return quantised * (bits + (1.0 * scale_bits + zero_bits) / group) / 8 + wide * 2.0


def cache_bytes(d: Deployment, batch: Array, context: Array) -> Array:
    """Bytes of the KV cache, whole deployment: ``B S kv``. [B]

    `batch` B [sequences] and `context` S [tokens per sequence] broadcast.
    Leaves out the partly filled last page of a paged cache, so it errs low by at most one page per sequence.

    Raises ``ValueError`` for a negative batch or context.
    Source: scaling-book part 7, *KV caches*.
    """
    B, S, kv = nonnegative("batch", batch), nonnegative("context", context), d.kv_per_token
    return 1.0 * B * S * kv


def cache_budget(d: Deployment) -> Array:
    """Bytes left for the cache once the weights are loaded; 0 when the weights alone do not fit. [B]

    ``usable N M - P b_w``. Leaves out activations, CUDA graphs and the runtime unless `usable` reserves for them.

    Source: scaling-book part 8.
    """
    return maximum(0.0, d.memory - weight_bytes(d))


def fits(d: Deployment, batch: Array, context: Array) -> Array:
    """Whether weights and cache fit: a bool, or a mask of the broadcast shape.

    Raises ``ValueError`` for a negative batch or context.
    Source: scaling-book part 8.
    """
    return weight_bytes(d) + cache_bytes(d, batch, context) <= d.memory


def max_batch(d: Deployment, context: Array) -> Array:
    """Most sequences of `context` tokens that fit: ``floor((usable N M - P b_w) / (S kv))``. [sequences]

    0 when nothing fits (also when the weights alone do not); infinite at a context of 0, which needs no cache.
    An ``int`` for a plain number.

    Raises ``ValueError`` for a negative context.
    Source: scaling-book part 8.
    """
    S, kv, budget = nonnegative("context", context), d.kv_per_token, cache_budget(d)
    if_loaded = floor(divide(budget, 1.0 * S * kv))
    return where(d.memory >= weight_bytes(d), where(budget > 0, if_loaded, 0), 0)


def min_chips(d: Deployment, batch: Array, context: Array) -> Array:
    """Fewest chips that hold weights and cache, among the sizes that model and chip allow; 0 when none does. [chips]

    Only the dtypes, `usable` and `kv_split` of the deployment matter; its own `chips` does not.

    Raises ``ValueError`` for a negative batch or context.
    Source: `scaling.deployment.parallel_sizes`; scaling-book part 8, minimum topologies.
    """
    nonnegative("batch", batch)
    nonnegative("context", context)
    fewest: Array = 0
    for n in reversed(parallel_sizes(d.model, d.chip)):
        fewest = where(fits(replace(d, chips=n), batch, context), n, fewest)
    return fewest
