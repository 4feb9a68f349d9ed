"""When does arithmetic take longer than reading? Intensities, the critical batch, and what a dollar buys of either."""

from collections.abc import Callable

from scaling._array import Array, divide
from scaling._checks import nonnegative, record, shown, whole
from scaling.chips import Chip
from scaling.models import Model
from scaling.units import dtype_bytes, hour


def ridge_point(chip: Chip, compute: str = "bf16") -> float:
    """Arithmetic intensity at which a chip is exactly balanced: ``ridge = C / W``. [FLOP/B]

    Leaves out that neither peak is ever quite reached: errs high where arithmetic falls shorter of its peak.

    Raises ``ValueError`` for a compute dtype that the chip has no rate for.
    Source: Williams, Waterman, Patterson, *Roofline*, CACM 52(4), 2009 (doi 10.1145/1498765.1498785).
    """
    record("chip", chip, Chip)
    C, W = chip.rate(compute), chip.bandwidth
    return C / W


def critical_batch(
    chip: Chip, weights: str = "bf16", compute: str = "bf16", *, matmul: tuple[int, int] | None = None
) -> float:
    """Batch at which multiplying by the weights takes as long as reading them: ``B_crit = C b_w / (2 W)``. [sequences]

    With ``matmul=(D, F)`` the bf16 activations that go in and out of one D x F matmul are read and written too:
    ``B_crit = C D F b_w / (2 D F W - C b_act (D + F))``.

    Leaves out those activations unless asked for them: errs low by a few percent.

    Raises ``ValueError`` for an unknown dtype, for a compute dtype the chip has no rate for, and for a matmul so thin
    that it never becomes compute bound.
    Source: scaling-book part 7, and part 1 for the activations.
    """
    record("chip", chip, Chip)
    C, W, b_w = chip.rate(compute), chip.bandwidth, dtype_bytes(weights, "weights")
    if matmul is None:
        return C * b_w / (2 * W)
    if not isinstance(matmul, tuple) or len(matmul) != 2:
        raise ValueError(f"matmul must be a pair of widths, (D, F), not {shown(matmul)}.")
    D, F = (whole("matmul", width) for width in matmul)
    b_act = dtype_bytes("bf16")
    spare = 2.0 * D * F * W - C * (D + F) * b_act
    if spare <= 0:
        raise ValueError(f"matmul must be wide enough to become compute bound on {chip.name}, not {matmul!r}.")
    return C * D * F * b_w / spare


def attention_flops(model: Model, context: Array) -> Array:
    """FLOPs of attention scores and values for one decoded token: ``FLOP = 4 S H L Q``. [FLOP per token]

    Layers with a window look at what they keep. With a latent cache each head multiplies by the vectors as they are.

    `context`: S, cached already. [tokens per sequence]

    Leaves out the softmax: errs low by about one in H, the size of a head.

    Raises ``ValueError`` for a negative context.
    Source: scaling-book part 4.
    """
    record("model", model, Model)
    S, L, H = model.cached_tokens(nonnegative("context", context)), model.layers, model.head_dim
    if model.latent is not None:
        return 2.0 * S * model.q_heads * (model.latent.numbers + model.latent.kv_rank) * L
    return 4.0 * S * model.q_heads * H * L


def causal_flops(model: Model, tokens: Array) -> Array:
    """FLOPs of attention scores and values for a whole prompt: ``FLOP = 2 S^2 H L Q``. [FLOP]

    Token i attends to the i before it, so a prompt needs half of what all pairs would, and less where windows end.

    `tokens`: of the prompt, S. [tokens]

    Leaves out the softmax, and each token's attention to itself: errs low by about one in H and one in S.

    Raises ``ValueError`` for negative tokens.
    Source: scaling-book part 4.
    """
    record("model", model, Model)
    S, L, H = nonnegative("tokens", tokens), model.layers, model.head_dim
    if model.latent is not None:  # heads have keys and values of their own while a prompt is read
        return 1.0 * S * S * model.q_heads * (H + model.latent.value_dim) * L
    every = 2.0 * S * S * model.q_heads * H * L
    if model.window is None:
        return every
    passed = model.window.beyond(S)  # of S^2 pairs twice over, those further apart than the window
    return every - 2.0 * passed * passed * model.q_heads * H * model.window.layers


def attention_intensity(model: Model, kv: str = "bf16") -> float:
    """Arithmetic intensity of decode attention, whatever batch or context: ``intensity = 2 Q / (K b_kv)``. [FLOP/B]

    Far below every chip's ridge point, which is why the cache term is a reading time. With a latent cache all heads
    share one vector and the intensity is hundreds: there the cache term may be a time of arithmetic.
    Leaves out reading the queries and writing the result: errs high, the less the longer the context.

    Raises ``ValueError`` for an unknown dtype.
    Source: scaling-book part 7; for grouped queries arXiv 2305.13245.
    """
    record("model", model, Model)
    if model.latent is not None:
        one, b_kv = model.latent, dtype_bytes(kv, "kv")
        return 2 * model.q_heads * (one.numbers + one.kv_rank) / (one.numbers * b_kv)
    return 2 * (model.q_heads / model.kv_heads) / dtype_bytes(kv, "kv")


def flops_per_dollar(chip: Chip, compute: str = "bf16", *, price: Array | None = None) -> Array:
    """Dense arithmetic that a dollar rents, at the peak rate: ``FLOP per dollar = 3600 C / price``. [FLOP/USD]

    `price`: per chip; the chip's own if not given. [USD/h]

    What limits long prefills. Some tables print FLOP/s per USD/h under the same name, 3600 times less.

    Leaves out that decode at small batch uses next to none of it: errs high, as every peak.

    Raises ``ValueError`` for a compute dtype the chip has no rate for and for a negative price.
    Source: scaling-book part 8.
    """
    record("chip", chip, Chip)
    return divide(hour * chip.rate(compute), _price(chip, price))


def bandwidth_per_dollar(chip: Chip, *, price: Array | None = None) -> Array:
    """Bytes that a dollar streams from memory, at the peak rate: ``bytes per dollar = 3600 W / price``. [B/USD]

    `price`: per chip; the chip's own if not given. [USD/h]

    What decides the price of a token while reading is the longer part of a decode step.

    Leaves out how much of the peak an engine reaches: errs high, as every peak.

    Raises ``ValueError`` for a negative price. Source: data sheet over list price; for FLOP, scaling-book part 8.
    """
    record("chip", chip, Chip)
    return divide(hour * chip.bandwidth, _price(chip, price))


def memory_per_dollar_hour(chip: Chip, *, price: Array | None = None) -> Array:
    """Bytes of memory held for each dollar per hour: ``bytes per dollar and hour = M / price``. [B per USD/h]

    `price`: per chip; the chip's own if not given. [USD/h]

    Whole chips are not asked: see `memory.min_chips`.

    Leaves out what the runtime keeps of the memory on the label: errs high.

    Raises ``ValueError`` for a negative price. Source: data sheet over list price; for FLOP, scaling-book part 8.
    """
    record("chip", chip, Chip)
    return divide(chip.memory, _price(chip, price))


def breakeven_price(chip: Chip, other: Chip, measure: Callable[..., Array], *, price: Array | None = None) -> Array:
    """Price at which a dollar buys as much of either chip: ``price_level = price_other C / C_other``. [USD/h per chip]

    Below it `chip` is the better buy, above it `other`. With W or M for C, as the measure says.

    `measure`: `flops_per_dollar`, `bandwidth_per_dollar` or `memory_per_dollar_hour`, which all fall as 1 / price.
    `price`: of the other chip; its own if not given. [USD/h]

    Exact for one measure; a machine that needs more than one of the three has a price in between.

    Raises ``ValueError`` for a negative price. Source: `flops_per_dollar` of two chips set equal.
    """
    if not callable(measure):
        raise ValueError(f"measure must be a function such as flops_per_dollar, not {shown(measure)}.")
    return divide(measure(record("chip", chip, Chip), price=1.0), measure(record("other", other, Chip), price=price))


def _price(chip: Chip, price: Array | None) -> Array:
    return chip.price if price is None else nonnegative("price", price)
