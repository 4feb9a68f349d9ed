"""What splitting costs: link bandwidth, collectives, and how far tensor parallelism reaches."""

from scaling._array import Array, divide, minimum, where
from scaling._checks import count, flag, nonnegative, positive, record, shown, whole
from scaling.chips import Chip
from scaling.deployment import Deployment
from scaling.models import Model
from scaling.units import dtype_bytes, us


def link_bandwidth(chip: Chip, *, axes: int | None = None, wrap: bool = False) -> float:
    """Bytes per second at which one chip can pass a shard on: ``W_link = axes * link_bandwidth``. [B/s]

    Twice that, ``W_link = 2 axes * link_bandwidth``, where the axes wrap around.

    `axes`: how many torus axes carry the collective (default: all the chip has; an NVLink switch counts as one).
    `wrap`: whether the axes close into rings, so that both directions work at once.

    Leaves out packet headers and protocol: errs high by about a fifth. Public all-reduce runs reach some 370 of 450
    GB/s on H100, and 230 to 240 of 300 on A100.

    Raises ``ValueError`` for axes the chip does not have.
    Source: scaling-book part 2 (TPU) and part 12 (GPU); what is reached, public runs of nccl-tests.
    """
    record("chip", chip, Chip)
    return chip.axes(axes) * chip.link_bandwidth * (2 if flag("wrap", wrap) else 1)


def across_machines(chip: Chip, machines: Array, bandwidth: Array) -> Array:
    """Bytes per second at which one chip can pass a shard on to chips in several machines. [B/s]

    ``W = min(link_bandwidth, cards * W_link * machines / (machines - 1))``: the chips of a machine share out what has
    to leave it, each over a network card of its own, W_link, and pass it on inside. Of two machines each has half
    already, so half crosses; of many, nearly all.

    `machines`: that share every layer; within one, nothing crosses. [-]
    `bandwidth`: one way, of the network card of each chip, W_link. [B/s]

    Leaves out protocol, and that the two parts run one after the other where an engine does not overlap them: errs
    high.

    Raises ``ValueError`` for less than one machine, or no bandwidth.
    Source: hierarchical collectives, scaling-book part 12 (GPU).
    """
    record("chip", chip, Chip)
    machines, W_link = count("machines", machines), positive("bandwidth", bandwidth)
    return minimum(link_bandwidth(chip), divide(1.0 * chip.machine * W_link * machines, machines - 1.0))


def matmul_collective_time(
    chip: Chip,
    batch: Array,
    d_model: int,
    *,
    chips: Array | None = None,
    axes: int | None = None,
    wrap: bool = False,
    activations: str = "bf16",
) -> Array:
    """Time that tensor parallelism moves activations for one matmul: ``T_link = b_act B D / W_link``. [s]

    One AllGather and one ReduceScatter serve a pair of matmuls, so each matmul carries one of the two. Of N chips each
    has an N-th already: ``T_link = b_act B D (N - 1) / (N W_link)``.

    `batch`: B. [sequences]
    `d_model`: width D of what is sent.
    `chips`: N that share the matrix; so many that the factor is 1 if not given. [chips]
    `axes`, `wrap`: as in `link_bandwidth`. `activations`: dtype of what is sent.

    Leaves out the start, and hops on the way: errs low.

    Raises ``ValueError`` for a negative batch, a width or a number of chips below 1, an unknown dtype or axes the chip
    does not have.
    Source: scaling-book part 5, *Tensor parallelism*.
    """
    B, D, b_act = nonnegative("batch", batch), count("d_model", d_model), dtype_bytes(activations, "activations")
    T_link = b_act * B * D / link_bandwidth(chip, axes=axes, wrap=wrap)
    if chips is None:
        return T_link
    N = count("chips", chips)
    return T_link * (N - 1.0) / N


def collective_time(d: Deployment, batch: Array) -> Array:
    """Time of a decode step's collectives, four per layer. [s]

    ``T_collectives = 4 L (b_act B D (N - 1) / (N links W_link) + start)``: the attention block and the MLP each gather
    and scatter once. 0 on one chip. A deployment with free links is charged the full link rate, since this function was
    asked for the time, and no start.

    `batch`: B. [sequences]

    Leaves out hops on the way, and assumes the fast domain's links beyond its size too: both err low.

    Raises ``ValueError`` for a negative batch.
    Source: scaling-book part 5, *Tensor parallelism*.
    """
    record("d", d, Deployment)
    L, N, efficiency = d.model.layers, d.chips, d.efficiency
    links = 1.0 if efficiency.links is None else efficiency.links
    one = matmul_collective_time(d.chip, batch, d.model.d_model, chips=N, axes=d.axes, wrap=d.wrap)
    return where(N > 1, 4.0 * L * (one / links + efficiency.start), 0.0 * one)


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
