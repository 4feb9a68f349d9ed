"""Model shapes, and the counts that follow from them. No count is typed: each is computed from the shape."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from scaling._checks import flag, label, positive, shown, whole
from scaling._records import Frozen, Record, replace
from scaling.units import dtype_bytes

if TYPE_CHECKING:
    from os import PathLike


class Model(Record):
    """A dense decoder: gated MLP (three matrices), grouped-query attention over all earlier tokens, RMSNorm.

    Fields: `layers` L, `d_model` D, `d_ff` F, `q_heads`, `kv_heads` K, `head_dim` H, `vocab` V (all counts);
    `nominal_params` is the number in the name (70e9), `context_window` the longest context it was made for. [tokens]
    `tied_embeddings`: one table for both embeddings. `qkv_bias`: queries, keys and values have a bias. `qk_norm`: each
    head of queries and keys is normalised.
    `stored`: dtype of the weights in the model's own checkpoint. `checkpoints`: the published checkpoint of each dtype.

    Raises ``ValueError`` for a count below 1, query heads that the KV heads do not divide, or an unknown dtype.
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
    tied_embeddings: bool = False
    qkv_bias: bool = False
    qk_norm: bool = False
    stored: str = "bf16"
    checkpoints: Mapping[str, str] = Frozen({})
    source: str = ""
    date: str = ""

    def __post_init__(self) -> None:
        label("Model.name", self.name)
        for name in ("layers", "d_model", "d_ff", "q_heads", "kv_heads", "head_dim", "vocab", "context_window"):
            object.__setattr__(self, name, whole(f"Model.{name}", getattr(self, name)))
        positive("Model.nominal_params", self.nominal_params)
        for name in ("tied_embeddings", "qkv_bias", "qk_norm"):
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

    @cached_property
    def attention_params(self) -> int:
        """Parameters of the query, key, value and output projections, all layers."""
        L, D, K, H = self.layers, self.d_model, self.kv_heads, self.head_dim
        return L * (2 * D * self.q_heads * H + 2 * D * K * H)

    @cached_property
    def mlp_params(self) -> int:
        """Parameters of the gate, up and down projections, all layers."""
        return self.layers * 3 * self.d_model * self.d_ff

    @cached_property
    def vocab_params(self) -> int:
        """Parameters of the input and output embeddings (one table when they are tied)."""
        return (1 if self.tied_embeddings else 2) * self.vocab * self.d_model

    @cached_property
    def norm_params(self) -> int:
        """RMSNorm weights: two per layer and a final one, and with `qk_norm` one for queries and one for keys."""
        of_heads = 2 * self.layers * self.head_dim if self.qk_norm else 0
        return (2 * self.layers + 1) * self.d_model + of_heads

    @cached_property
    def bias_params(self) -> int:
        """Biases of queries, keys and values, all layers: none unless `qkv_bias`."""
        return self.layers * (self.q_heads + 2 * self.kv_heads) * self.head_dim if self.qkv_bias else 0

    @cached_property
    def params(self) -> int:
        """Exact parameter count: ``P = L (2 D Q H + 2 D K H) + 3 L D F + 2 V D + (2 L + 1) D``. [parameters]

        Attention, MLP, embeddings (with V D in place of 2 V D when they are tied) and norms; where a family has them,
        the biases, L (Q + 2 K) H, and the norms of queries and keys, 2 L H.

        Exact for the published checkpoints of LLaMA 3 and of every family that `from_hf_config` reads.

        Source: scaling-book part 4, *Counting parameters*.
        """
        return self.attention_params + self.mlp_params + self.vocab_params + self.norm_params + self.bias_params

    @cached_property
    def matmul_params(self) -> int:
        """Parameters that every decode step reads and multiplies: attention, MLP and the output embedding.

        The input embedding is a lookup of one row per sequence, norms and biases are vectors: all are left out.
        """
        return self.attention_params + self.mlp_params + self.vocab * self.d_model

    def kv_bytes_per_token(self, dtype: str = "bf16") -> float:
        """Cache bytes that one token occupies: ``kv = 2 L K H b_kv``. [B per token]

        A key and a value per layer, KV head and head element. Leaves out the scales of a quantised cache: errs low.

        Raises ``ValueError`` for an unknown dtype.
        Source: scaling-book part 7, *KV caches*.
        """
        L, K, H, b = self.layers, self.kv_heads, self.head_dim, dtype_bytes(dtype)
        return 2 * L * K * H * b

    def window_note(self, context: float) -> str:
        """A sentence for a `context` beyond the window, the tokens that the model was made for; else empty."""
        if context <= self.context_window:
            return ""
        return f"{self.name} was made for {self.context_window:,} tokens at most, not {context:,}."


def from_hf_config(config: "Mapping[str, Any] | str | PathLike[str]") -> Model:
    """A `Model` from a Hugging Face ``config.json``, given as a path or as the dictionary it holds.

    Known are llama, mistral, phi3, qwen2, qwen3 and gemma; a dictionary without a type is read as LLaMA 3's if it has
    LLaMA's entries only. `Model.stored` comes from ``quantization_config``, else from ``torch_dtype``, else it is bf16.

    Raises ``FileNotFoundError`` for a missing file, and ``ValueError`` for a file that is not a JSON object, for a
    missing entry (it is named), for a value that is not a usable count, and for an architecture or an entry (it is
    named too) that makes the model another than `Model` describes, or of which nobody here knows that it does not.
    """
    from scaling._hf_config import fields_of  # only who reads a file waits for the reader

    sized = Model(nominal_params=1.0, **fields_of(config))
    return replace(sized, nominal_params=float(sized.params))


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
