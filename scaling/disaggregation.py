"""Prefill and decode on separate servers: how many of each, what turns over, and what moving the cache costs."""

from typing import NamedTuple

from scaling._array import Array, divide
from scaling._checks import nonnegative, record
from scaling.models import Model
from scaling.units import dtype_bytes


class Eviction(NamedTuple):
    """What leaves a continuously batched decode server in one step, on average.

    `sequences`: that finish. [sequences]
    `tokens`: of the cache that they free. [tokens]
    `share`: of the batch. [-]
    """

    sequences: Array
    tokens: Array
    share: Array


def eviction_rate(batch: Array, prompt_tokens: Array, decode_tokens: Array) -> Eviction:
    """What a decode server turns over in a step: sequences, cached tokens, and the share of the batch.

    ::

        sequences per step = B / G    tokens per step = B (S_prompt + G) / G    share = 1 / G

    `batch`: B. [sequences]
    `prompt_tokens`: S_prompt. [tokens per sequence]
    `decode_tokens`: G, mean tokens generated per query, so a sequence stays G steps. [tokens per sequence]

    A sequence leaves with its final length; the average resident length, which memory and step time see, is
    S_prompt + G / 2.

    Exact on average over a long time at full batch; errs high while places stand empty.

    Raises ``ValueError`` for a negative argument. Source: scaling-book part 8; Little's law.
    """
    B, prompt, G = (
        nonnegative("batch", batch),
        nonnegative("prompt_tokens", prompt_tokens),
        nonnegative("decode_tokens", decode_tokens),
    )
    return Eviction(divide(1.0 * B, G), divide(1.0 * B * (1.0 * prompt + G), G), divide(1.0, G))


def prefill_decode_ratio(prefill: Array, step: Array, batch: Array, decode_tokens: Array) -> Array:
    """Prefill servers that keep one decode server busy. [servers per server]

    ``prefill servers / decode servers = T_prefill B / (T_step G)``: a decode server finishes B / (T_step G) queries a
    second, a prefill server starts 1 / T_prefill.

    `prefill`: seconds per prompt. [s per query]
    `step`: seconds per decode step **at this batch**. [s]
    `batch`: B. [sequences]
    `decode_tokens`: G, mean tokens generated per query. [tokens per sequence]

    Leaves out queues and whole servers: errs low where the load comes in bursts.

    Raises ``ValueError`` for a negative argument. Source: scaling-book part 8; DistServe, arXiv 2401.09670.
    """
    T_prefill, T_step = nonnegative("prefill", prefill), nonnegative("step", step)
    B, G = nonnegative("batch", batch), nonnegative("decode_tokens", decode_tokens)
    return divide(1.0 * T_prefill * B, 1.0 * T_step * G)


def transfer_time(model: Model, tokens: Array, bandwidth: Array, *, kv: str = "bf16") -> Array:
    """Time to move one prompt's cache from a prefill to a decode server: ``T_transfer = S kv / W_link``. [s]

    `tokens`: S, of the prompt. [tokens]
    `bandwidth`: of the link, or of all the links that carry a share of it. [B/s]

    Leaves out latency, and overlap with the prefill itself (layers can be sent as they are done): errs both ways.

    Raises ``ValueError`` for negative tokens or bandwidth, or an unknown dtype.
    Source: cache bytes over link bandwidth; Splitwise, arXiv 2311.18677.
    """
    record("model", model, Model)
    S, W_link = model.cached_tokens(nonnegative("tokens", tokens)), nonnegative("bandwidth", bandwidth)
    dtype_bytes(kv, "kv")  # refused by the name that it has here
    return divide(1.0 * S * model.kv_bytes_per_token(kv), W_link)
