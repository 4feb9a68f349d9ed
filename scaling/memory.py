"""What fits: bytes of weights and cache, and the batches and chip counts that follow."""

import math
from typing import NamedTuple

from scaling._array import Array, divide, floor, maximum, where
from scaling._checks import count, nonnegative, record
from scaling._records import replace
from scaling.deployment import Deployment, parallel_sizes
from scaling.models import Model
from scaling.units import dtype_bytes


def weight_bytes(d: Deployment) -> float:
    """Bytes of the weights, whole deployment: ``weights = P b_w``. [B]

    Of a mixture all experts, since the next token may choose any; a tower that sees images is added as it is.
    With the deployment's layout ``"loaded"`` b_w is a mean: of the layers in `weights`, scales included,
    and of the rest in at least 16 bits.

    Leaves out, with the layout ``"label"``, the scales and what is kept in a wider dtype: errs low, for LLaMA 3-70B by
    3 % in fp8 and by 13 % in int4.

    Source: scaling-book part 8.
    """
    record("d", d, Deployment)
    return d.stored_bytes


def grouped_weight_bytes(
    model: Model, *, bits: float = 4, group: int = 128, scale_bits: float = 16, zero_bits: float = 4
) -> float:
    """Bytes of a group-quantised checkpoint: what an int4 file really weighs. [B]

    ``weights = P_layers (bits + (scale_bits + zero_bits) / group) / 8 + 2 P_rest``: in the matrices of the layers every
    `group` weights share one scale and one zero point; embeddings and norms, the rest, stay in 16 bits.

    Leaves out padding and the file's header, so it errs low by less than a thousandth.

    Raises ``ValueError`` for a negative number of bits or a group below 1.
    Source: the layout of AWQ (arXiv 2306.00978) and GPTQ (arXiv 2210.17323) checkpoints with group size 128.
    """
    record("model", model, Model)
    bits, group = nonnegative("bits", bits), count("group", group)
    shared: float = 1.0 * nonnegative("scale_bits", scale_bits) + nonnegative("zero_bits", zero_bits)
    quantised = model.attention_params + model.mlp_params
    wide = model.params - quantised
    return quantised * (bits + shared / group) / 8 + wide * 2.0


def cache_bytes(d: Deployment, batch: Array, context: Array) -> Array:
    """Bytes of the KV cache, whole deployment: ``cache = B S kv``. [B]

    Layers with a window keep the last tokens only, so S is then the mean of what the layers keep.

    `batch`: B, broadcasts with the context. [sequences]
    `context`: S. [tokens per sequence]

    Leaves out the partly filled last page of a paged cache, so it errs low by at most one page per sequence.

    Raises ``ValueError`` for a negative batch or context.
    Source: scaling-book part 7, *KV caches*.
    """
    record("d", d, Deployment)
    B, S, kv = nonnegative("batch", batch), d.model.cached_tokens(nonnegative("context", context)), d.kv_per_token
    return 1.0 * B * S * kv


def cache_budget(d: Deployment) -> Array:
    """Bytes left for the cache beside the weights: ``budget = max(0, u N M - P b_w)``. [B]

    0 when the weights alone do not fit. Leaves out activations, CUDA graphs and the runtime, unless `usable` (u)
    reserves for them: errs high.

    Source: scaling-book part 8.
    """
    record("d", d, Deployment)
    return maximum(0.0, d.memory - weight_bytes(d))


def fits(d: Deployment, batch: Array, context: Array) -> Array:
    """Whether weights and cache fit, ``P b_w + B S kv <= u N M``: a bool, or a mask of the broadcast shape. [-]

    Leaves out what `cache_budget` leaves out: errs high, towards "fits".

    Raises ``ValueError`` for a negative batch or context.
    Source: scaling-book part 8.
    """
    return weight_bytes(d) + cache_bytes(d, batch, context) <= d.memory


def max_batch(d: Deployment, context: Array) -> Array:
    """Most sequences of the context's length that fit: ``B = floor((u N M - P b_w) / (S kv))``. [sequences]

    0 when nothing fits (also when the weights alone do not); infinite at a context of 0, which needs no cache.
    An ``int`` for a plain number. Leaves out what `cache_budget` leaves out: errs high.

    Raises ``ValueError`` for a negative context.
    Source: scaling-book part 8.
    """
    record("d", d, Deployment)
    S, kv, budget = d.model.cached_tokens(nonnegative("context", context)), d.kv_per_token, cache_budget(d)
    each = 1.0 * S * kv
    if_loaded = where(each == 0, math.inf, divide(budget, each))
    return where(d.memory >= weight_bytes(d), floor(if_loaded), 0)


def min_chips(d: Deployment, batch: Array, context: Array) -> Array:
    """Fewest chips that hold weights and cache: the least N for which this is so. [chips]

    ``P b_w + B S kv <= u N M``, among the sizes that model and chip allow (`scaling.deployment.parallel_sizes`); 0 when
    none does. All of the deployment matters but its own `chips`.

    Leaves out what `cache_budget` leaves out: errs low.

    Raises ``ValueError`` for a negative batch or context.
    Source: scaling-book part 8, minimum topologies.
    """
    record("d", d, Deployment)
    B, S = nonnegative("batch", batch), nonnegative("context", context)
    fewest: Array = 0
    for n in reversed(parallel_sizes(d.model, d.chip)):
        fewest = where(fits(replace(d, chips=n), B, S), n, fewest)
    return fewest


class Activations(NamedTuple):
    """The largest working tensors of a step. [B] One layer is alive at a time, so none is multiplied by the layers."""

    residual: Array
    mlp: Array
    logits: Array


def activation_bytes(model: Model, tokens: Array, *, activations: str = "bf16", logits: str = "fp32") -> Activations:
    """Bytes of the residual stream, of the gate and up outputs of one layer's MLP or chosen experts, and of the logits.
    [B]

    ::

        residual = b_act B D    mlp = 2 b_act B F    logits = b_logits B V

    `tokens`: B, that pass the model together: the batch of a decode step, or the prompt of a prefill, of which only the
    last token needs logits. [sequences]
    `activations`, `logits`: dtypes.

    Leaves out attention's workspace, graphs and buffers: errs low.

    Raises ``ValueError`` for negative tokens or an unknown dtype.
    Source: the shapes of a gated MLP and of the output embedding.
    """
    record("model", model, Model)
    B, D, F, V = nonnegative("tokens", tokens), model.d_model, model.token_d_ff, model.vocab
    b, b_logits = dtype_bytes(activations, "activations"), dtype_bytes(logits, "logits")
    return Activations(b * B * D, 2 * b * B * F, b_logits * B * V)
