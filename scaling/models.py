"""Model shapes, and the counts that follow from them. No count is typed: each is computed from the shape."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from scaling._checks import flag, in_line, label, positive, shown, whole
from scaling._records import Record
from scaling.units import dtype_bytes

if TYPE_CHECKING:
    from os import PathLike


@dataclass(frozen=True, kw_only=True, eq=False)
class Model(Record):
    """A dense decoder: gated MLP (three matrices), grouped-query attention, RMSNorm, no biases.

    Fields: `layers` L, `d_model` D, `d_ff` F, `q_heads`, `kv_heads` K, `head_dim` H, `vocab` V (all counts);
    `nominal_params` is the number in the name (70e9), `context_window` the longest context it was made for. [tokens]

    Raises ``ValueError`` for a count below 1, or query heads that the KV heads do not divide.
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
    source: str = ""
    date: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        label("Model.name", self.name)
        for name in ("layers", "d_model", "d_ff", "q_heads", "kv_heads", "head_dim", "vocab", "context_window"):
            object.__setattr__(self, name, whole(f"Model.{name}", getattr(self, name)))
        positive("Model.nominal_params", self.nominal_params)
        flag("Model.tied_embeddings", self.tied_embeddings)
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
        """RMSNorm weights: two per layer and a final one."""
        return (2 * self.layers + 1) * self.d_model

    @cached_property
    def params(self) -> int:
        """Exact parameter count: ``P = L (2 D Q H + 2 D K H) + 3 L D F + 2 V D + (2 L + 1) D``. [parameters]

        Attention, MLP, embeddings (with V D in place of 2 V D when they are tied) and norms.

        Exact for the published checkpoints of LLaMA 3.

        Source: scaling-book part 4, *Counting parameters*.
        """
        return self.attention_params + self.mlp_params + self.vocab_params + self.norm_params

    @cached_property
    def matmul_params(self) -> int:
        """Parameters that every decode step reads and multiplies: attention, MLP and the output embedding.

        The input embedding is a lookup of one row per sequence, and the norms are vectors: both are left out.
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


_LARGEST_FILE = 10**7  # bytes; a config.json has a few thousand

# Entries of models that are not what `Model` describes: mixtures of experts, and caches of a latent vector.
_NOT_DENSE = ("num_local_experts", "num_experts", "n_routed_experts", "kv_lora_rank")


def from_hf_config(config: "Mapping[str, Any] | str | PathLike[str]") -> Model:
    """A `Model` from a Hugging Face ``config.json``, given as a path or as the dictionary it holds.

    Raises ``FileNotFoundError`` for a missing file, and ``ValueError`` for a file that is not a JSON object, for a
    missing entry (it is named), for a value that is not a usable count or for a model that is not dense.
    """
    if not isinstance(config, (Mapping, str)) and not hasattr(config, "__fspath__"):
        raise ValueError(f"config must be a mapping or the path of a config.json, not {shown(config)}.")
    # Reading files is the one thing here that needs more than arithmetic, so it loads its modules only then.
    entries, name = (config, "") if isinstance(config, Mapping) else _read_json(config)

    def get(key: str, default: Any = None) -> Any:
        value = entries.get(key)
        if value is None:
            value = default
        if value is None:
            raise ValueError(f"config{' ' + name if name else ''} has no entry {key!r}, which a model shape needs.")
        return value

    for key in _NOT_DENSE:
        value = entries.get(key)
        if value is not None and not (isinstance(value, (int, float)) and value == 0):
            raise ValueError(f"config{' ' + name if name else ''} must be of a dense model, without {key!r}.")
    q_heads = whole("num_attention_heads", get("num_attention_heads"))
    d_model = whole("hidden_size", get("hidden_size"))
    shape: dict[str, Any] = dict(
        layers=get("num_hidden_layers"),
        d_model=d_model,
        d_ff=get("intermediate_size"),
        q_heads=q_heads,
        kv_heads=get("num_key_value_heads", q_heads),
        head_dim=get("head_dim", d_model // q_heads),
        vocab=get("vocab_size"),
        tied_embeddings=get("tie_word_embeddings", False),
        context_window=get("max_position_embeddings", 8192),
        source=f"config {name}".strip(),
    )
    said = entries.get("_name_or_path")
    title = in_line(said) if isinstance(said, str) else ""
    sized = Model(name=title or name or "model", nominal_params=1.0, **shape)
    return replace(sized, nominal_params=float(sized.params))


def _read_json(given: "str | PathLike[str]") -> tuple[Mapping[str, Any], str]:
    import json
    from pathlib import Path

    path = Path(given)
    where = in_line(str(path), 200)
    try:
        found = path.is_file()
    except OSError:  # such as a name that is too long for any file
        found = False
    if not found:
        raise FileNotFoundError(f"there is no config file at {where}")
    if path.stat().st_size > _LARGEST_FILE:  # the weights, say
        raise ValueError(f"{where} must be a config.json, not a file of {path.stat().st_size:,} bytes.")
    try:
        entries = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where} is not a JSON file: {error}.") from None
    if not isinstance(entries, dict):
        raise ValueError(f"{where} must hold a JSON object with the model's shape, not a {type(entries).__name__}.")
    return entries, in_line(path.name)


def _llama3(name: str, nominal: float, window: int, **shape: Any) -> Model:
    return Model(
        name=name,
        nominal_params=nominal,
        context_window=window,
        kv_heads=8,
        head_dim=128,
        vocab=128_256,
        source="The Llama 3 Herd of Models, arXiv 2407.21783, table 3; published config.json",
        date="2024-07",
        **shape,
    )


LLAMA3_8B = _llama3("LLaMA 3-8B", 8e9, 8192, layers=32, d_model=4096, d_ff=14_336, q_heads=32)
LLAMA3_70B = _llama3("LLaMA 3-70B", 70e9, 8192, layers=80, d_model=8192, d_ff=28_672, q_heads=64)
LLAMA3_405B = _llama3("LLaMA 3-405B", 405e9, 131_072, layers=126, d_model=16_384, d_ff=53_248, q_heads=128)
