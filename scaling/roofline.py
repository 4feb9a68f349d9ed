"""When does arithmetic take longer than reading? Intensities and the critical batch."""

from scaling._array import Array, nonnegative
from scaling.chips import Chip
from scaling.models import Model
from scaling.units import dtype_bytes


def ridge_point(chip: Chip, compute: str = "bf16") -> float:
    """Arithmetic intensity at which a chip is exactly balanced: ``C / W``. [FLOP/B]

    Raises ``ValueError`` for a compute dtype that the chip has no rate for.
    Source: Williams, Waterman, Patterson, *Roofline*, CACM 52(4), 2009.
    """
    C, W = chip.rate(compute), chip.bandwidth
    return C / W


def critical_batch(
    chip: Chip, weights: str = "bf16", compute: str = "bf16", *, matmul: tuple[int, int] | None = None
) -> float:
    """Batch at which multiplying by the weights takes as long as reading them: ``B_crit = C b_w / (2 W)``. [sequences]

    With ``matmul=(D, F)`` the bf16 activations that go in and out of one D x F matmul are read and written too:
    ``B = C D F b_w / (2 D F W - 2 C (D + F))``; without, the answer errs low by a few percent.

    Raises ``ValueError`` for an unknown dtype, for a compute dtype the chip has no rate for, and for a matmul so thin
    that it never becomes compute bound.
    Source: scaling-book part 7; audit of chapter 12, section 12.4.
    """
    C, W, b_w = chip.rate(compute), chip.bandwidth, dtype_bytes(weights, "weights")
    if matmul is None:
        return C * b_w / (2 * W)
    D, F = matmul
    b_act = dtype_bytes("bf16")
    spare = 2.0 * D * F * W - C * (D + F) * b_act
    if spare <= 0:
        raise ValueError(f"matmul must be wide enough to become compute bound on {chip.name}, not {matmul!r}.")
    return C * D * F * b_w / spare


def attention_flops(model: Model, context: Array) -> Array:
    """FLOPs of attention scores and values for one decoded token: ``4 S H L`` times the query heads. [FLOP]

    Raises ``ValueError`` for a negative context.
    Source: scaling-book part 4; audit of chapter 12, section 12.3.
    """
    S, L, H = nonnegative("context", context), model.layers, model.head_dim
    return 4.0 * S * model.q_heads * H * L


def attention_intensity(model: Model, kv: str = "bf16") -> float:
    """Arithmetic intensity of decode attention: ``2 (query heads / K) / b_kv``, whatever batch or context. [FLOP/B]

    Far below every chip's ridge point, which is why the cache term is a reading time.

    Raises ``ValueError`` for an unknown dtype.
    Source: audit of chapter 12, section 12.3.
    """
    return 2 * (model.q_heads / model.kv_heads) / dtype_bytes(kv, "kv")
