"""What splitting costs: link bandwidth, collectives, and how far tensor parallelism reaches."""

from scaling._array import Array, divide, where
from scaling._checks import count, flag, nonnegative, record, shown, whole
from scaling.chips import Chip
from scaling.deployment import Deployment
from scaling.models import Model
from scaling.units import dtype_bytes, us


def link_bandwidth(chip: Chip, *, axes: int | None = None, wrap: bool = False) -> float:
    """Bytes per second at which one chip can pass a shard on: ``W_link = axes * link_bandwidth``. [B/s]

    Twice that, ``W_link = 2 axes * link_bandwidth``, where the axes wrap around.

    `axes`: how many torus axes carry the collective (default: all the chip has; an NVLink switch counts as one).
    `wrap`: whether the axes close into rings, so that both directions work at once.

    Leaves out packet headers and protocol: errs high by several percent.

    Raises ``ValueError`` for axes the chip does not have.
    Source: scaling-book part 2 (TPU) and part 12 (GPU).
    """
    record("chip", chip, Chip)
    axes = chip.link_axes if axes is None else axes
    if isinstance(axes, bool) or hasattr(axes, "__len__") or axes not in range(1, chip.link_axes + 1):
        raise ValueError(f"axes must be a whole number from 1 to {chip.link_axes} on {chip.name}, not {shown(axes)}.")
    return axes * chip.link_bandwidth * (2 if flag("wrap", wrap) else 1)


def matmul_collective_time(
    chip: Chip, batch: Array, d_model: int, *, axes: int | None = None, wrap: bool = False, activations: str = "bf16"
) -> Array:
    """Time that tensor parallelism moves activations for one matmul: ``T_link = b_act B D / W_link``. [s]

    One AllGather and one ReduceScatter serve a pair of matmuls, so each matmul carries one of the two.
    Leaves out hop latency and the factor (N - 1) / N: the first errs low, the second high by 1 / N.

    Raises ``ValueError`` for a negative batch, a width below 1, an unknown dtype or axes the chip does not have.
    Source: scaling-book part 5, *Tensor parallelism*.
    """
    B, D, b_act = nonnegative("batch", batch), count("d_model", d_model), dtype_bytes(activations, "activations")
    return b_act * B * D / link_bandwidth(chip, axes=axes, wrap=wrap)


def collective_time(d: Deployment, batch: Array, *, axes: int | None = None, wrap: bool = False) -> Array:
    """Time of a decode step's collectives, four per layer: ``T_collectives = 4 L b_act B D / (links W_link)``. [s]

    The attention block and the MLP each gather and scatter once. 0 on one chip. The efficiency's link share, `links`,
    applies; a deployment with free links is charged the full link rate, since this function was asked for the time.
    Leaves out hop latency, and assumes the fast domain's links beyond its size too: both err low.

    Raises ``ValueError`` for a negative batch or axes the chip does not have.
    Source: scaling-book part 5, *Tensor parallelism*.
    """
    record("d", d, Deployment)
    L, D = d.model.layers, d.model.d_model
    links = 1.0 if d.efficiency.links is None else d.efficiency.links
    one = matmul_collective_time(d.chip, batch, D, axes=axes, wrap=wrap)
    return where(d.chips > 1, 4 * L * one / links, 0.0 * one)


def slice_hops(shape: tuple[int, ...], *, wrap: bool = False) -> int:
    """Links from one end of a slice to the other: ``hops = N_x + N_y - 2`` on two axes. [hops]

    Where both close to rings half way round is far enough: ``hops = (N_x + N_y) / 2``.

    `shape`: chips along each axis, such as ``(8, 8)``. [chips]

    Exact for a torus or a mesh; an odd ring is rounded down.

    Raises ``ValueError`` for a shape that is not a tuple of whole numbers.
    Source: scaling-book part 2, TPU networking.
    """
    if not isinstance(shape, tuple) or not shape:
        raise ValueError(f"shape must be a tuple of chips along each axis, not {shown(shape)}.")
    sizes = [whole("shape", n) for n in shape]
    return sum(n // 2 for n in sizes) if flag("wrap", wrap) else sum(n - 1 for n in sizes)


def hop_time(model: Model, hops: Array, *, hop: Array = 1 * us) -> Array:
    """Time that signals travel in one decode step, four collectives per layer: ``T_travel = 4 L hops T_hop``. [s]

    `hops`: links from one end of the slice to the other, see `slice_hops`. [hops]
    `hop`: time of one link, T_hop. [s]
    `collective_time` counts bytes and leaves this out; at small batches this is the longer of the two.

    Leaves out overlap with reading and arithmetic: errs high.

    Raises ``ValueError`` for a negative argument.
    Source: scaling-book part 3, latency of a hop.
    """
    record("model", model, Model)
    L, t_hop = model.layers, nonnegative("hop", hop)
    return 4.0 * L * nonnegative("hops", hops) * t_hop


def tp_limit(
    chip: Chip,
    d_ff: int,
    *,
    batch: Array | None = None,
    axes: int | None = None,
    wrap: bool = False,
    weights: str = "bf16",
    activations: str = "bf16",
    compute: str = "bf16",
) -> Array:
    """Ways of tensor parallelism beyond which a matmul waits for the links. [ways]

    Without a batch, against arithmetic: ``Y = 2 F W_link / (C b_act)``.
    With one, against reading the weights: ``Y = F b_w W_link / (B b_act W)``; infinite for a batch of 0.

    Leaves out hop latency, and how many KV heads there are to split: both lower the limit, so it errs high.

    Raises ``ValueError`` for a width below 1, a negative batch, an unknown dtype, a missing compute rate or axes the
    chip lacks.
    Source: scaling-book part 8, and part 7 where memory binds.
    """
    record("chip", chip, Chip)
    F, W_link = count("d_ff", d_ff), link_bandwidth(chip, axes=axes, wrap=wrap)
    b_w, b_act = dtype_bytes(weights, "weights"), dtype_bytes(activations, "activations")
    C, W = chip.rate(compute), chip.bandwidth
    if batch is None:
        return 2.0 * F * W_link / (C * b_act)
    B = nonnegative("batch", batch)
    return divide(F * b_w * W_link, 1.0 * B * b_act * W)
