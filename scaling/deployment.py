"""What is deployed: a model on so many chips, stored and computed in which dtypes, at which efficiency."""

from functools import cached_property

from scaling._array import Array, maximum, minimum
from scaling._checks import count, finite, flag, record, share, word
from scaling._records import Record
from scaling.chips import Chip
from scaling.models import Model
from scaling.units import dtype_bytes


class Efficiency(Record):
    """What share of the peaks a real engine reaches. The default, `ROOFLINE`, takes the peaks and free links.

    `bandwidth`, `flops`: shares of the chip's memory bandwidth and FLOP/s. [-]
    `layer_seconds`: fixed cost per layer per step (kernel launches, norms). [s]
    `links`: share of the link bandwidth; ``None`` leaves the collectives out, whatever the next two say. [-]
    `start`: of a gather or a scatter, until its first byte moves; an all-reduce is one of each. [s]
    `hidden`: whether collectives hide behind the matmuls, as far as those last.

    Raises ``ValueError`` for a share outside (0, 1] or a negative time.
    """

    bandwidth: float = 1.0
    flops: float = 1.0
    layer_seconds: float = 0.0
    links: float | None = None
    start: float = 0.0
    hidden: bool = False
    source: str = ""
    date: str = ""

    def __post_init__(self) -> None:
        share("Efficiency.bandwidth", self.bandwidth)
        share("Efficiency.flops", self.flops)
        finite("Efficiency.layer_seconds", self.layer_seconds)
        if self.links is not None:
            share("Efficiency.links", self.links)
        finite("Efficiency.start", self.start)
        flag("Efficiency.hidden", self.hidden)


ROOFLINE = Efficiency()

PARAMS = ("exact", "nominal", "streamed")
KV_SPLIT = ("even", "heads")
LAYOUTS = ("label", "loaded")

# Bits of one weight in a layer's matrix as an engine loads it, its share of the group's scale and zero point included.
_LOADED_BITS = {
    "int4": 4 + (16 + 4) / 128,  # AWQ and GPTQ, groups of 128: see `memory.grouped_weight_bytes`
    "fp4": 4 + 8 / 16,  # NVFP4, groups of 16 with a scale in FP8
}


class _Default(str):
    """A word that nobody gave: ``dataclasses.replace`` of another field chooses it again."""

    __slots__ = ()


class Deployment(Record):
    """One copy of a model on `chips` chips that share every layer, and of a mixture every expert.

    Experts spread whole over the chips, expert parallelism, are not modelled: chips would wait for the busiest one.

    `weights`, `kv`: dtypes of the stored weights and of the cache.
    `compute`: dtype of the arithmetic. Unless given what an engine would use: fp8 and fp4 weights multiply in their own
    dtype on a chip that has the rate, everything else in bf16.
    `params`: ``"exact"``; ``"nominal"`` (the 70e9 of the text); ``"streamed"`` (memory holds the exact count, a step
    reads and multiplies only the matmul parameters).
    `layout`: ``"label"``, where every weight has the size of `weights`; ``"loaded"``, what an engine loads: so are the
    matrices of the layers, in int4 and fp4 with the scales of their groups; embeddings and norms have at least 16 bits.
    Memory always counts so; a step only with ``"streamed"`` parameters, else it reads P b_w by the label. Unless given
    ``"loaded"``, and ``"label"`` for nominal parameters, which are no matrices.
    `usable`: share of the memory that weights and cache may fill. [-]
    `reserve`: of each chip, kept from weights and cache beyond that. [B]
    `kv_split`: ``"even"`` spreads the cache over all chips; ``"heads"`` never splits a KV head, so beyond `kv_heads`
    chips each head is stored more than once, and a latent cache, which has no heads, on each chip.
    `axes`, `wrap`: how many axes of a torus carry the collectives, all unless given, and whether they close into rings.

    Raises ``ValueError`` that names the field, the value and what is allowed.
    """

    model: Model
    chip: Chip
    chips: int = 1
    weights: str = "bf16"
    kv: str = "bf16"
    compute: str = _Default()
    params: str = "exact"
    layout: str = _Default()
    usable: float = 1.0
    reserve: float = 0.0
    kv_split: str = "even"
    axes: int | None = None
    wrap: bool = False
    efficiency: Efficiency = ROOFLINE

    def __post_init__(self) -> None:
        record("model", self.model, Model)
        record("chip", self.chip, Chip)
        record("efficiency", self.efficiency, Efficiency)
        object.__setattr__(self, "chips", count("chips", self.chips))
        dtype_bytes(self.weights, "weights")
        dtype_bytes(self.kv, "kv")
        word("params", self.params, PARAMS)
        own = self.weights in ("fp8", "fp4") and self.weights in self.chip.flops
        self._unless_given("compute", self.weights if own else "bf16")
        self._unless_given("layout", "label" if self.params == "nominal" else "loaded")
        self.chip.rate(self.compute)
        share("usable", self.usable)
        finite("reserve", self.reserve)
        word("kv_split", self.kv_split, KV_SPLIT)
        word("layout", self.layout, LAYOUTS)
        flag("wrap", self.wrap)
        if self.axes is not None:
            object.__setattr__(self, "axes", self.chip.axes(self.axes))
        if self.layout == "loaded" and self.params == "nominal":
            raise ValueError(
                "params must be exact or streamed for layout 'loaded', which counts matrices, not 'nominal'."
            )

    def _unless_given(self, field: str, value: str) -> None:
        if isinstance(getattr(self, field), _Default):
            object.__setattr__(self, field, _Default(value))

    @cached_property
    def stored_params(self) -> float:
        """Parameters in memory."""
        return self.model.nominal_params if self.params == "nominal" else float(self.model.params)

    @cached_property
    def step_params(self) -> float:
        """Parameters that a decode step of very many sequences reads, P; all but a mixture multiply by as many."""
        return float(self.model.matmul_params) if self.params == "streamed" else self.stored_params

    @cached_property
    def least_params(self) -> float:
        """Parameters that no decode step can do without, P_min: those of the matmuls, or the nominal count if less."""
        least: float = minimum(self.step_params, 1.0 * self.model.matmul_params)
        return least

    @cached_property
    def active_params(self) -> float:
        """Parameters that one token is multiplied by: P, less the experts that it passes by."""
        return self.step_params - self.idle_params

    @cached_property
    def least_active_params(self) -> float:
        """Parameters of the matrices that one token is multiplied by, or the nominal count of them if less."""
        return self.least_params - self.idle_params

    @cached_property
    def idle_params(self) -> float:
        """Parameters of the experts that one token passes by; 0 for a dense model."""
        e = self.model.experts
        return 0.0 if e is None else self.model.routed_params * (1.0 - e.active / e.routed)

    @cached_property
    def weight_size(self) -> float:
        """Bytes of one stored weight by its dtype, b_w. [B]"""
        return dtype_bytes(self.weights)

    @cached_property
    def stored_bytes(self) -> float:
        """Weights in memory. [B]"""
        return self._weight_bytes(self.stored_params) + self.model.tower_bytes

    @cached_property
    def step_bytes(self) -> float:
        """Weights that a decode step reads: P b_w by the label, or what is loaded of the streamed parameters. [B]

        Of a mixture all experts, which only a large batch reads: `read_bytes` takes the batch.
        """
        # Counted by the label, both embeddings of an 8-bit model weigh as much as the head alone in 16 bits, which is
        # all of the two that a step reads: what is loaded of both would be too much by 3 % for 70B, by 13 % for 8B.
        streamed = self.params == "streamed"
        return self._weight_bytes(self.step_params) if streamed else self.step_params * self.weight_size

    def read_bytes(self, tokens: Array) -> Array:
        """Weights that a step of so many tokens reads: of a mixture the experts that it chooses, a mean. [B]"""
        e = self.model.experts
        if e is None:
            return self.step_bytes
        streamed = self.params == "streamed" and self.layout == "loaded"
        each = _LOADED_BITS.get(self.weights, 8 * self.weight_size) / 8 if streamed else self.weight_size
        return self.step_bytes - self.model.routed_params * each * e.idle(tokens)

    def least_bytes(self, tokens: Array) -> Array:
        """Weights that no step of so many tokens can do without, none of them wider than the label says. [B]"""
        e, least = self.model.experts, self.least_params * self.weight_size
        return least if e is None else least - self.model.routed_params * self.weight_size * e.idle(tokens)

    def _weight_bytes(self, params: float) -> float:
        """Bytes of so many weights, those of the layers' matrices among them. [B]"""
        b_w = self.weight_size
        if self.layout == "label":
            return params * b_w
        matrices = self.model.attention_params + self.model.mlp_params
        return matrices * _LOADED_BITS.get(self.weights, 8 * b_w) / 8 + (params - matrices) * max(2.0, b_w)

    @cached_property
    def kv_per_token(self) -> Array:
        """Cache bytes that one token occupies over the whole deployment, copies included, before a window ends. [B]"""
        return self.model.kv_bytes_per_token(self.kv) * self.kv_copies

    @cached_property
    def kv_copies(self) -> Array:
        """How often each KV head is stored. [-]"""
        if self.kv_split == "even":
            return 1.0
        return maximum(1.0, self.chips / self.model.kv_heads)

    @cached_property
    def memory(self) -> Array:
        """Bytes that weights and cache may fill, all chips; 0 when the reserve takes more than there is. [B]"""
        usable = 1.0 * self.chips * self.chip.memory * self.usable
        return maximum(0.0, usable - 1.0 * self.chips * self.reserve)

    @cached_property
    def peak_bandwidth(self) -> Array:
        """Memory bandwidth of all chips, N W, at its peak. [B/s]"""
        return 1.0 * self.chips * self.chip.bandwidth

    @cached_property
    def peak_flops(self) -> Array:
        """Arithmetic rate of all chips in the compute dtype, N C, at its peak. [FLOP/s]"""
        return 1.0 * self.chips * self.chip.rate(self.compute)

    @cached_property
    def bandwidth(self) -> Array:
        """Memory bandwidth of all chips, N W, times the efficiency. [B/s]"""
        return self.peak_bandwidth * self.efficiency.bandwidth

    @cached_property
    def weight_seconds(self) -> Array:
        """Time in which a step reads all weights: a dense model's, for every batch and context. [s]"""
        return self.step_bytes / self.bandwidth

    def read_seconds(self, tokens: Array) -> Array:
        """Time in which a step of so many tokens reads its weights. [s]"""
        return self.weight_seconds if self.model.experts is None else self.read_bytes(tokens) / self.bandwidth

    @cached_property
    def layer_seconds(self) -> Array:
        """Fixed cost of all layers in a step. [s]"""
        return self.model.layers * self.efficiency.layer_seconds

    @cached_property
    def flops(self) -> Array:
        """Arithmetic rate of all chips in the compute dtype, N C, times the efficiency. [FLOP/s]"""
        return self.peak_flops * self.efficiency.flops


def parallel_sizes(model: Model, chip: Chip) -> tuple[int, ...]:
    """Numbers of chips that tensor parallelism can use for this model within the chip's fast domain, ascending.

    A size must divide the query heads and the width of the MLP and of each expert, must divide the KV heads or be a
    multiple of them (heads are then stored more than once, or the cache is split over the batch), and must be a slice
    that the chip is sold in.
    """
    record("model", model, Model)
    record("chip", chip, Chip)
    return tuple(
        n
        for n in range(1, min(model.q_heads, chip.fast_domain) + 1)
        if model.q_heads % n == 0
        and model.d_ff % n == 0
        and (model.experts is None or model.experts.d_ff % n == 0)
        and (model.kv_heads % n == 0 or n % model.kv_heads == 0)
        and (not chip.slices or n in chip.slices)
    )
