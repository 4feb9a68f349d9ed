"""Model shapes, and the counts that follow from them. No count is typed: each is computed from the shape."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from scaling._array import Array
from scaling._checks import finite, flag, label, positive, record, shown, whole
from scaling._records import Frozen, Record, replace
from scaling.layers import Experts, Latent, Window
from scaling.units import dtype_bytes

if TYPE_CHECKING:
    from os import PathLike


BIASES = ("qkv", "output", "sinks", "mlp", "norm", "head")


_COUNTS = ("layers", "d_model", "d_ff", "q_heads", "kv_heads", "head_dim", "vocab", "context_window", "norms")


class Model(Record):
    """A decoder. Unless told otherwise a dense one: gated MLP, attention over all earlier tokens, two RMSNorms a layer.

    Fields: `layers` L, `d_model` D, `d_ff` F, `q_heads`, `kv_heads` K, `head_dim` H, `vocab` V (all counts);
    `nominal_params` is the number in the name (70e9), `context_window` the longest context it was made for. [tokens]
    What else its layers have: `window` attention in some, `latent` attention in all, `experts` in some, whose width
    stands there, while `d_ff` is of the other layers. With a latent cache `kv_heads` is 1: no head has its own.
    `gated`: three matrices in an MLP, else two. `norms`: a layer. `qk_norm`: each head of queries and keys has one too.
    `tied_embeddings`: one table for both embeddings. `biases`: of ``"qkv"``, the ``"output"`` of attention, ``"mlp"``,
    ``"norm"`` (LayerNorm has one) and ``"head"``; ``"sinks"`` are a number for each query head.
    `tower_bytes`: what lies in memory beside the decoder, such as the part that sees images. [B]
    `stored`: dtype of the weights in the model's own checkpoint. `checkpoints`: the published checkpoint of each dtype.

    Raises ``ValueError`` for a count below 1, query heads that the KV heads do not divide, an unknown dtype or bias, or
    parts for more layers than there are.
    """

    name: str
    layers: int
    d_model: int
    d_ff: int
    q_heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    nominal_params: float
    context_window: int
    window: Window | None = None
    latent: Latent | None = None
    experts: Experts | None = None
    gated: bool = True
    norms: int = 2
    qk_norm: bool = False
    tied_embeddings: bool = False
    biases: tuple[str, ...] = ()
    tower_bytes: float = 0.0
    stored: str = "bf16"
    checkpoints: Mapping[str, str] = Frozen({})
    source: str = ""
    date: str = ""

    def __post_init__(self) -> None:
        label("Model.name", self.name)
        for name in (
            "layers",
            "d_model",
            "d_ff",
            "q_heads",
            "kv_heads",
            "head_dim",
            "vocab",
            "context_window",
            "norms",
        ):
            object.__setattr__(self, name, whole(f"Model.{name}", getattr(self, name)))
        positive("Model.nominal_params", self.nominal_params)
        finite("Model.tower_bytes", self.tower_bytes)
        for name in ("tied_embeddings", "qk_norm", "gated"):
            flag(f"Model.{name}", getattr(self, name))
        dtype_bytes(self.stored, "Model.stored")
        if not isinstance(self.checkpoints, Mapping):
            raise ValueError(
                f"Model.checkpoints must map a dtype to the name of a checkpoint, not {shown(self.checkpoints)}."
            )
        for dtype, checkpoint in self.checkpoints.items():
            dtype_bytes(dtype, "Model.checkpoints")
            label(f"Model.checkpoints[{dtype!r}]", checkpoint)
        object.__setattr__(self, "checkpoints", Frozen(self.checkpoints))
        if self.q_heads % self.kv_heads:
            raise ValueError(
                f"Model.q_heads must be a multiple of Model.kv_heads, not {self.q_heads} over {self.kv_heads}."
            )
        self._check_parts()

    def _check_parts(self) -> None:
        if not isinstance(self.biases, tuple) or not set(self.biases) <= set(BIASES):
            raise ValueError(f"Model.biases must be a tuple of {', '.join(BIASES)}, not {shown(self.biases)}.")
        for name, kind in (("window", Window), ("latent", Latent), ("experts", Experts)):
            part: Any = getattr(self, name)
            if part is None:
                continue
            record(f"Model.{name}", part, kind)
            if name != "latent" and part.layers > self.layers:
                raise ValueError(
                    f"Model.{name}.layers must be at most Model.layers, {self.layers}, not {shown(part.layers)}."
                )
        if self.latent is not None and (self.window is not None or self.kv_heads != 1):
            raise ValueError("Model.latent must stand in every layer: with no window, and with 1 for Model.kv_heads.")

    @cached_property
    def attention_params(self) -> int:
        """Parameters of the query, key, value and output projections, all layers."""
        L, D, K, H = self.layers, self.d_model, self.kv_heads, self.head_dim
        if self.latent is not None:
            return L * self.latent.params(D, self.q_heads)
        return L * (2 * D * self.q_heads * H + 2 * D * K * H)

    @cached_property
    def mlp_params(self) -> int:
        """Parameters of the gate, up and down projections, all layers and all experts."""
        matrix, e = (3 if self.gated else 2) * self.d_model, self.experts
        if e is None:
            return self.layers * matrix * self.d_ff
        of_experts = e.layers * matrix * (e.routed * e.d_ff + e.shared_d_ff)
        return (self.layers - e.layers) * matrix * self.d_ff + of_experts

    @cached_property
    def router_params(self) -> int:
        """Parameters by which a token chooses its experts, all layers."""
        e = self.experts
        return 0 if e is None else e.layers * e.routed * (self.d_model + e.router_bias)

    @cached_property
    def routed_params(self) -> int:
        """Parameters of all the experts that a token may pass by."""
        e = self.experts
        if e is None:
            return 0
        return e.layers * e.routed * ((3 if self.gated else 2) * self.d_model * e.d_ff + self._mlp_bias(e.d_ff))

    def _mlp_bias(self, d_ff: int) -> int:
        """Biases of one MLP of this width."""
        return (2 if self.gated else 1) * d_ff + self.d_model if "mlp" in self.biases else 0

    @cached_property
    def vocab_params(self) -> int:
        """Parameters of the input and output embeddings (one table when they are tied)."""
        return (1 if self.tied_embeddings else 2) * self.vocab * self.d_model

    @cached_property
    def norm_params(self) -> int:
        """Weights of the norms: those of each layer and a final one, with `qk_norm` those of queries and keys."""
        of_heads = 2 * self.layers * self.head_dim if self.qk_norm else 0
        of_latents = 0 if self.latent is None else self.layers * self.latent.norms
        return (self.norms * self.layers + 1) * self.d_model + of_heads + of_latents

    @cached_property
    def bias_params(self) -> int:
        """Biases, all layers and all experts: none unless `biases` names them."""
        L, D, K, H, e = self.layers, self.d_model, self.kv_heads, self.head_dim, self.experts
        each = {"qkv": (self.q_heads + 2 * K) * H, "output": D, "sinks": self.q_heads, "norm": self.norms * D}
        once = {"norm": D, "head": self.vocab}
        named = sum(L * each.get(name, 0) + once.get(name, 0) for name in self.biases)
        if e is None:
            return named + L * self._mlp_bias(self.d_ff)
        of_experts = e.layers * (
            e.routed * self._mlp_bias(e.d_ff) + self._mlp_bias(e.shared_d_ff) * bool(e.shared_d_ff)
        )
        return named + (L - e.layers) * self._mlp_bias(self.d_ff) + of_experts

    @cached_property
    def params(self) -> int:
        """Exact parameter count: ``P = L (2 D Q H + 2 D K H) + 3 L D F + 2 V D + (2 L + 1) D``. [parameters]

        That is a dense model's: attention, MLP, embeddings (with V D in place of 2 V D when they are tied) and norms.
        What else a model has is counted from the fields that say so: experts, all of them, and their router, a latent's
        projections, biases, more norms. The tower and what only training or speculation uses is left out.

        Exact for the published checkpoints of LLaMA 3 and of every family that `from_hf_config` reads.

        Source: scaling-book part 4, *Counting parameters*.
        """
        matrices = self.attention_params + self.mlp_params + self.router_params
        return matrices + self.vocab_params + self.norm_params + self.bias_params

    @cached_property
    def active_params(self) -> int:
        """Parameters that one token passes: `params`, less the experts that it does not choose. [parameters]

        With both embeddings, as `params`; some model cards leave the input embedding out.
        """
        e = self.experts
        return self.params if e is None else self.params - self.routed_params * (e.routed - e.active) // e.routed

    @cached_property
    def matmul_params(self) -> int:
        """Parameters of the matrices that decode steps multiply by: attention, MLP and the output embedding.

        A dense model's step reads all of them, a mixture's those experts that its batch chose. The input embedding is a
        lookup of one row per sequence, norms and biases are vectors: all are left out.
        """
        return self.attention_params + self.mlp_params + self.router_params + self.vocab * self.d_model

    @cached_property
    def token_d_ff(self) -> int:
        """Width of the widest MLP, counting all the experts that one token passes together."""
        e = self.experts
        if e is None:
            return self.d_ff
        return max(e.active * e.d_ff + e.shared_d_ff, self.d_ff if e.layers < self.layers else 0)

    def kv_bytes_per_token(self, dtype: str = "bf16") -> float:
        """Cache bytes that one token occupies: ``kv = 2 L K H b_kv``. [B per token]

        A key and a value per layer, KV head and head element; a latent cache has one vector per layer instead. A token
        that has left a window occupies less: `cached_tokens` says how many a sequence keeps.

        Leaves out the scales of a quantised cache: errs low.

        Raises ``ValueError`` for an unknown dtype.
        Source: scaling-book part 7, *KV caches*; for a latent cache arXiv 2405.04434.
        """
        L, K, H, b = self.layers, self.kv_heads, self.head_dim, dtype_bytes(dtype)
        if self.latent is not None:
            return L * self.latent.numbers * b
        return 2 * L * K * H * b

    def cached_tokens(self, context: Array) -> Array:
        """Tokens that a sequence of this context keeps in the cache, a mean over the layers. [tokens per sequence]

        All of them, unless some layers have a window; times `kv_bytes_per_token` it is the cache of a sequence.
        """
        if self.window is None:
            return context
        return 1.0 * context - self.window.beyond(context) * self.window.layers / self.layers

    def refuse_windows(self, name: str, why: str) -> None:
        """Refuse a model whose cache isn't the same for each token.

        Raises ``ValueError`` that names the argument and the model.
        """
        if self.window is not None:
            raise ValueError(f"{name} must be of a model without window attention, {why}, not {self.name}.")

    def window_note(self, context: float) -> str:
        """A sentence for a `context` beyond the window, the tokens that the model was made for; else empty."""
        if context <= self.context_window:
            return ""
        return f"{self.name} was made for {self.context_window:,} tokens at most, not {context:,}."


def from_hf_config(config: "Mapping[str, Any] | str | PathLike[str]") -> Model:
    """A `Model` from a Hugging Face ``config.json``, given as a path or as the dictionary it holds.

    Known are the architectures in `scaling._hf_config.FAMILIES`; a dictionary without a type is read as LLaMA 3's if it
    has LLaMA's entries only. `Model.stored` comes from ``quantization_config``, else from ``torch_dtype``, else it is
    bf16. Of a model that sees images the decoder is read, and of its tower what `Model.tower_bytes` says.

    Raises ``FileNotFoundError`` for a missing file, and ``ValueError`` for a file that is not a JSON object, for a
    missing entry (it is named), for a value that is not a usable count, and for an architecture or an entry (it is
    named too) that makes the model another than `Model` describes, or of which nobody here knows that it does not.
    """
    from scaling._hf_config import fields_of  # only who reads a file waits for the reader

    sized = Model(nominal_params=1.0, **fields_of(config))
    return replace(sized, nominal_params=float(sized.params))


def _llama2(name: str, nominal: float, checkpoint: str, **shape: Any) -> Model:
    return Model(
        name=name,
        nominal_params=nominal,
        context_window=4096,
        head_dim=128,
        vocab=32_000,
        checkpoints={"bf16": checkpoint},
        source="Llama 2, arXiv 2307.09288; published config.json",
        date="2023-07",
        **shape,
    )


_chat = "meta-llama/Llama-2-{}-chat-hf".format
_7b = dict(layers=32, d_model=4096, d_ff=11_008, q_heads=32, kv_heads=32)
_13b = dict(layers=40, d_model=5120, d_ff=13_824, q_heads=40, kv_heads=40)
_70b = dict(layers=80, d_model=8192, d_ff=28_672, q_heads=64, kv_heads=8)
LLAMA2_7B = _llama2("LLaMA 2-7B", 7e9, _chat("7b"), **_7b)
LLAMA2_13B = _llama2("LLaMA 2-13B", 13e9, _chat("13b"), **_13b)
LLAMA2_70B = _llama2("LLaMA 2-70B", 70e9, _chat("70b"), **_70b)

_HERD = "The Llama 3 Herd of Models, arXiv 2407.21783, table 3; published config.json"


def _llama3(name: str, nominal: float, window: int, checkpoints: dict[str, str], **shape: Any) -> Model:
    return Model(
        name=name,
        nominal_params=nominal,
        context_window=window,
        kv_heads=8,
        head_dim=128,
        vocab=128_256,
        checkpoints=checkpoints,
        source=_HERD,
        date="2024-07",
        **shape,
    )


# Checkpoints: those of the instruction-tuned models, by the names that engines download them under, read 2026-11.
LLAMA3_8B = _llama3(
    name="LLaMA 3-8B",
    nominal=8e9,
    window=8192,
    layers=32,
    d_model=4096,
    d_ff=14_336,
    q_heads=32,
    checkpoints={"bf16": "meta-llama/Meta-Llama-3-8B-Instruct", "fp8": "RedHatAI/Meta-Llama-3-8B-Instruct-FP8"},
)
LLAMA3_70B = _llama3(
    name="LLaMA 3-70B",
    nominal=70e9,
    window=8192,
    layers=80,
    d_model=8192,
    d_ff=28_672,
    q_heads=64,
    checkpoints={"bf16": "meta-llama/Meta-Llama-3-70B-Instruct", "fp8": "RedHatAI/Meta-Llama-3-70B-Instruct-FP8"},
)
# This size came with 3.1: there is no older one, and none of 3.3.
LLAMA3_405B = _llama3(
    name="LLaMA 3-405B",
    nominal=405e9,
    window=131_072,
    layers=126,
    d_model=16_384,
    d_ff=53_248,
    q_heads=128,
    checkpoints={
        "bf16": "meta-llama/Llama-3.1-405B-Instruct",
        # Meta's own is in the format of FBGEMM, which engines have given up.
        "fp8": "RedHatAI/Meta-Llama-3.1-405B-Instruct-FP8",
        "int4": "hugging-quants/Meta-Llama-3.1-405B-Instruct-AWQ-INT4",
    },
)

# 3.1 and 3.3 have the matrices of 3, trained on: a longer window and other checkpoints are all that differs here.
LLAMA31_8B = replace(
    LLAMA3_8B,
    name="LLaMA 3.1-8B",
    context_window=131_072,
    checkpoints={
        "bf16": "meta-llama/Llama-3.1-8B-Instruct",
        "fp8": "RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8",
        "int8": "RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w8a8",
        "int4": "hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4",
    },
)
LLAMA31_70B = replace(
    LLAMA3_70B,
    name="LLaMA 3.1-70B",
    context_window=131_072,
    checkpoints={
        "bf16": "meta-llama/Llama-3.1-70B-Instruct",
        "fp8": "RedHatAI/Meta-Llama-3.1-70B-Instruct-FP8",
        "int8": "RedHatAI/Meta-Llama-3.1-70B-Instruct-quantized.w8a8",
        "int4": "hugging-quants/Meta-Llama-3.1-70B-Instruct-AWQ-INT4",
    },
)
_SMALL = dict(source="published config.json of Llama-3.2", date="2024-09")
LLAMA32_1B = replace(
    LLAMA31_8B,
    name="LLaMA 3.2-1B",
    nominal_params=1e9,
    **dict(layers=16, d_model=2048, d_ff=8192, head_dim=64, tied_embeddings=True),
    checkpoints={"bf16": "meta-llama/Llama-3.2-1B-Instruct", "fp8": "RedHatAI/Llama-3.2-1B-Instruct-FP8"},
    **_SMALL,
)
LLAMA32_3B = replace(
    LLAMA32_1B,
    name="LLaMA 3.2-3B",
    nominal_params=3e9,
    **dict(layers=28, d_model=3072, q_heads=24, head_dim=128),
    checkpoints={"bf16": "meta-llama/Llama-3.2-3B-Instruct", "fp8": "RedHatAI/Llama-3.2-3B-Instruct-FP8"},
)
LLAMA33_70B = replace(
    LLAMA31_70B,
    name="LLaMA 3.3-70B",
    checkpoints={
        "bf16": "meta-llama/Llama-3.3-70B-Instruct",
        "fp8": "RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic",
        "int8": "RedHatAI/Llama-3.3-70B-Instruct-quantized.w8a8",
        "int4": "casperhansen/llama-3.3-70b-instruct-awq",
    },
    source="published config.json of Llama-3.3-70B-Instruct",
    date="2024-12",
)
