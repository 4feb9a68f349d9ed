"""A Hugging Face ``config.json``, read as the fields of a `scaling.models.Model`: what is not understood is refused."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scaling._checks import flag, in_line, shown, whole
from scaling._records import Record

if TYPE_CHECKING:
    from os import PathLike

_LARGEST_FILE = 10**7  # bytes; a config.json has a few thousand


class _Family(Record):
    """What the class of an architecture takes where a config says nothing, and what it has without ever saying it.

    Source: the configuration classes of transformers 5.24.0, read 2026-11.
    """

    architecture: str
    window: int
    kv_heads: int | None = None  # None: as many as query heads
    head_dim: int | None = None  # None: D / Q
    tied: bool = False
    qkv_bias: bool = False
    qk_norm: bool = False
    sliding: int | None = None
    slides: bool = True  # whether a sliding window counts when the config doesn't say


# Architectures whose parameter counts are tested against published totals. All others are refused by name.
_FAMILIES = {
    "llama": _Family(architecture="LlamaForCausalLM", window=2048),
    "mistral": _Family(architecture="MistralForCausalLM", window=131_072, kv_heads=8, sliding=4096),
    "phi3": _Family(architecture="Phi3ForCausalLM", window=4096),
    "qwen2": _Family(architecture="Qwen2ForCausalLM", window=32_768, kv_heads=32, qkv_bias=True, slides=False),
    "qwen3": _Family(
        architecture="Qwen3ForCausalLM", window=32_768, kv_heads=32, head_dim=128, qk_norm=True, slides=False
    ),
    "gemma": _Family(architecture="GemmaForCausalLM", window=8192, kv_heads=16, head_dim=256, tied=True),
}
# A shape that somebody writes down by hand rarely says its type. It means LLaMA 3's if it uses nothing but these words.
_BY_HAND = _Family(architecture="", window=8192)
_WORDS = frozenset(
    """_name_or_path attention_bias attention_dropout bos_token_id dtype eos_token_id head_dim hidden_act
    hidden_size initializer_range intermediate_size layer_types max_position_embeddings mlp_bias num_attention_heads
    num_hidden_layers num_key_value_heads pad_token_id pretraining_tp quantization_config rms_norm_eps
    rope_parameters rope_scaling rope_theta sliding_window tie_word_embeddings torch_dtype transformers_version
    use_cache use_sliding_window vocab_size""".split()
)
# What else the configs of known architectures say without changing a count: how positions are turned, dropout, which
# tokens begin and end, how to generate, which code and files go along.
_HARMLESS = _WORDS | frozenset(
    """_attn_implementation _attn_implementation_autoset architectures attn_implementation auto_map bad_words_ids
    begin_suppress_tokens chunk_size_feed_forward decoder_start_token_id diversity_penalty do_sample early_stopping
    embd_pdrop exponential_decay_length_penalty finetuning_task forced_bos_token_id forced_eos_token_id
    hidden_activation id2label is_decoder label2id length_penalty max_length max_window_layers min_length model_type
    no_repeat_ngram_size num_beam_groups num_beams num_return_sequences original_max_position_embeddings
    output_attentions output_hidden_states output_scores partial_rotary_factor prefix problem_type
    remove_invalid_values repetition_penalty resid_pdrop return_dict return_dict_in_generate rope_interleaved
    rope_type sep_token_id suppress_tokens task_specific_params temperature tf_legacy_loss tokenizer_class top_k top_p
    torchscript typical_p unk_token_id unsloth_fixed unsloth_version use_bfloat16 use_mrope""".split()
)
# Parts of the names of entries that change a count, in one architecture or another, where they say more than "none".
# Only of these does "false" or "0" say that the model has no such thing; of other names nobody knows.
_CHANGES = """adapter audio bias block_configs chunk conv_ cross_attention encoder expert hybrid kv_shared latent
    layer_indices lora mamba medusa moe mtp nextn pattern pruned qk_layernorm qk_norm ssm v_head_dim vision""".split()


def fields_of(config: "Mapping[str, Any] | str | PathLike[str]") -> dict[str, Any]:
    """The fields of a `Model` that a configuration says, `nominal_params` and what only a catalogue knows left out.

    Raises what `scaling.models.from_hf_config` raises.
    """
    if not isinstance(config, (Mapping, str)) and not hasattr(config, "__fspath__"):
        raise ValueError(f"config must be a mapping or the path of a config.json, not {shown(config)}.")
    entries, name = (config, "") if isinstance(config, Mapping) else _read_json(config)
    where = f"config {name}".strip()
    family = _family(entries, where)
    _refuse_other_shapes(entries, where)
    _refuse_other_words(entries, family, where)
    _refuse_windows(entries, family, where)
    said = entries.get("_name_or_path")
    title = in_line(said) if isinstance(said, str) else ""
    return {"name": title or name or "model", "source": where, **_shape(entries, family, where)}


def _family(entries: Mapping[str, Any], where: str) -> _Family:
    """The architecture that a config names.

    Raises ``ValueError`` for one that is not known here.
    """
    kind, classes = entries.get("model_type"), entries.get("architectures")
    if kind is None and not _says(classes):
        return _BY_HAND
    for known, family in _FAMILIES.items():
        if kind in (None, known) and (not _says(classes) or classes == [family.architecture]):
            return family
    told = [f"{key!r} {shown(entries[key])}" for key in ("model_type", "architectures") if _says(entries.get(key))]
    raise ValueError(
        f"{where} must be of an architecture known here ({', '.join(_FAMILIES)}), not of {' and '.join(told)}."
    )


def _says(value: Any) -> bool:
    """Whether an entry says anything: null, false, zero and what is empty say that the model has no such thing."""
    return value is not None and not (isinstance(value, (int, float, str, list, tuple, Mapping)) and not value)


def _refuse_other_shapes(entries: Mapping[str, Any], where: str) -> None:
    """Refuse entries that change a count in a way that `Model` does not describe.

    Raises ``ValueError`` that names the entry and its value.
    """
    for key, value in entries.items():
        if _says(value) and _changes(key):
            raise ValueError(f"{where} must be of a dense model, without {shown(key)} ({shown(value)}).")


def _changes(key: Any) -> bool:
    return key != "chunk_size_feed_forward" and any(part in str(key).lower() for part in _CHANGES)


def _refuse_other_words(entries: Mapping[str, Any], family: _Family, where: str) -> None:
    """Refuse entries that nobody here has read about; without a type, all that LLaMA's configs do not have.

    Raises ``ValueError`` that names the entry and its value.
    """
    by_hand = family is _BY_HAND
    for key, value in entries.items():
        known = key in (_WORDS if by_hand else _HARMLESS) or (_changes(key) and not _says(value))
        if by_hand and _says(value) and (not known or (key == "hidden_act" and value != "silu")):
            raise ValueError(
                f"{where} must say its 'model_type', or have nothing but what LLaMA's configs have, "
                f"not {shown(key)} ({shown(value)})."
            )
        # Null alone never says anything. "use_gated_mlp": false would change a count.
        if value is not None and not known and not (by_hand and key in _HARMLESS):
            raise ValueError(
                f"{where} has the entry {shown(key)} ({shown(value)}), which is not known to leave the counts as they "
                f"are: it must have none but those known here."
            )


def _refuse_windows(entries: Mapping[str, Any], family: _Family, where: str) -> None:
    """Refuse layers that look at the last tokens only: their cache stops growing, which `Model` does not describe.

    Raises ``ValueError`` that names the entry and its value.
    """
    kinds = entries.get("layer_types")
    others = [kind for kind in kinds if kind != "full_attention"] if isinstance(kinds, (list, tuple)) else kinds
    if _says(others):
        raise ValueError(f"{where} must have full attention in every layer, not 'layer_types' {shown(kinds)}.")
    window = entries.get("sliding_window", family.sliding)
    slides = entries.get("use_sliding_window", family.slides)
    longest = _count(entries, where, "max_position_embeddings", family.window)
    # A window as long as the longest context never closes: Phi-3-mini-128k has one.
    if _says(slides) and _says(window) and whole("sliding_window", window) < longest:
        raise ValueError(
            f"{where} must have attention over all tokens, not a 'sliding_window' of {window:,} for contexts of up to "
            f"{longest:,}: the cache stops growing there."
        )


def _get(entries: Mapping[str, Any], where: str, key: str, default: Any = None) -> Any:
    """An entry, or what stands in for one that is left out or null.

    Raises ``ValueError`` that names an entry which nothing stands in for.
    """
    value = entries.get(key)
    if value is None:
        value = default
    if value is None:
        raise ValueError(f"{where} has no entry {key!r}, which a model shape needs.")
    return value


def _shape(entries: Mapping[str, Any], family: _Family, where: str) -> dict[str, Any]:
    """The counts and flags of a `Model`, each from its entry or from what the family's class takes instead.

    Raises ``ValueError`` for a missing entry, a value that is no count, and heads that do not divide the width.
    """
    q_heads = _count(entries, where, "num_attention_heads")
    d_model = _count(entries, where, "hidden_size")
    if entries.get("head_dim") is None and not family.head_dim and d_model % q_heads:
        raise ValueError(
            f"{where} must have a 'hidden_size' that its 'num_attention_heads' divide, or say its 'head_dim', "
            f"not {d_model} over {q_heads}."
        )
    said_null = "num_key_value_heads" in entries  # which means "as many as query heads"; left out means the default
    kv_heads = _count(entries, where, "num_key_value_heads", q_heads if said_null else family.kv_heads or q_heads)
    if q_heads % kv_heads:
        raise ValueError(
            f"{where} must have 'num_attention_heads' that are a multiple of its 'num_key_value_heads', "
            f"not {q_heads} over {kv_heads}."
        )
    return dict(
        layers=_count(entries, where, "num_hidden_layers"),
        d_model=d_model,
        d_ff=_count(entries, where, "intermediate_size"),
        q_heads=q_heads,
        kv_heads=kv_heads,
        head_dim=_count(entries, where, "head_dim", family.head_dim or d_model // q_heads),
        vocab=_count(entries, where, "vocab_size"),
        tied_embeddings=flag("tie_word_embeddings", _get(entries, where, "tie_word_embeddings", family.tied)),
        qkv_bias=family.qkv_bias,
        qk_norm=family.qk_norm,
        context_window=_count(entries, where, "max_position_embeddings", family.window),
        stored=_stored(entries, where),
    )


def _count(entries: Mapping[str, Any], where: str, key: str, default: int | None = None) -> int:
    """A count, named by its key in the config: who reads the error has that file open, not `Model`."""
    return whole(key, _get(entries, where, key, default))


_TORCH = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}
# Entries of `quantization_config` that leave every matrix in the same dtype, whatever they say: how scales were found,
# how activations and the cache are rounded, which tool wrote them.
_SAME_WEIGHTS = frozenset(
    """activation_scale_ub activation_scheme batch_size bits block_name_to_quantize cache_block_outputs
    checkpoint_format config_groups damp_auto_increment damp_percent dataset desc_act disable_exllama exllama_config
    fmt format global_compression_ratio kv_cache_quant_algo kv_cache_scheme max_input_length meta model_file_base_name
    model_name_or_path model_seqlen module_name_preceding_first_block pack_dtype pad_token_id producer
    quant_algo quant_method quantization_status static_groups sym tokenizer true_sequential use_cuda_fp16 use_exllama
    version zero_point""".split()
)
_SAME_GROUP = frozenset(["weights", "input_activations", "output_activations", "targets", "format"])
_SAME_SCALES = frozenset(
    "actorder dynamic num_bits observer observer_kwargs scale_dtype strategy symmetric type zp_dtype".split()
)
_EXEMPT = ("modules_to_not_convert", "ignore", "exclude_modules")  # modules that stay as they were
# Modules that no method packs, so that naming them changes nothing: the head, the embeddings and the norms.
_UNPACKED = ("lm_head", "embed_tokens", "norm", "input_layernorm", "post_attention_layernorm", "q_norm", "k_norm")
_GROUP = {"float 4": 16}  # weights that share a scale; 128 for all others, as `scaling.deployment` counts their bits
_PACKED = {"float 8": "fp8", "int 8": "int8", "float 4": "fp4", "int 4": "int4"}


def _stored(entries: Mapping[str, Any], where: str) -> str:
    """The dtype in which a checkpoint holds the weights of its matrices.

    Raises ``ValueError`` for a method of quantisation, or a dtype, that is not known here.
    """
    said = entries.get("quantization_config")
    if not _says(said):
        torch = str(entries.get("torch_dtype") or entries.get("dtype") or "bfloat16").removeprefix("torch.")
        if torch not in _TORCH:
            raise ValueError(f"{where} must have a 'torch_dtype' of {', '.join(_TORCH)}, not {shown(torch)}.")
        return _TORCH[torch]
    kinds = _kinds(said) if isinstance(said, Mapping) else []
    if not isinstance(said, Mapping) or len(set(kinds)) != 1 or kinds[0] not in _PACKED:
        raise ValueError(
            f"{where} must say in 'quantization_config' that all its weights have 4 or 8 bits, in a way known here "
            f"(awq, gptq, fp8, fbgemm_fp8, compressed-tensors, modelopt), not {shown(said)}."
        )
    _refuse_mixed(said, kinds[0], where)
    return _PACKED[kinds[0]]


def _refuse_mixed(said: Mapping[str, Any], kind: str, where: str) -> None:
    """Refuse a quantisation that leaves some matrices out, or has groups of another size than bytes are counted for.

    Raises ``ValueError`` that names the entry and its value.
    """
    group = _GROUP.get(kind, 128)
    groups = said.get("config_groups")
    parts = [("", said, _SAME_WEIGHTS)]
    for name, part in groups.items() if isinstance(groups, Mapping) else ():
        parts.append((f"config_groups.{name}.", part, _SAME_GROUP))
        parts.append((f"config_groups.{name}.weights.", _weights(part), _SAME_SCALES))
    for at, entries, known in parts:
        for key, value in entries.items():
            if value is None or value is False or value in ([], {}):
                continue
            if not _same(key, value, known, kind):
                raise ValueError(
                    f"{where} must say in 'quantization_config' that all weights but the head's are stored alike, "
                    f"in groups of {group} where it has groups, without {shown(at + str(key))} ({shown(value)})."
                )


def _same(key: Any, value: Any, known: frozenset[str], kind: str) -> bool:
    """Whether an entry of a quantisation leaves all matrices alike, and in the form that bytes are counted for."""
    if key == "group_size":
        return bool(value == _GROUP.get(kind, 128))
    if key == "strategy" and kind.endswith(" 4"):  # a scale for a whole channel would be fewer bits
        return value in ("group", "tensor_group")
    if key in ("weight_block_size", "block_structure"):  # of fp8: a scale of 4 bytes for 16,384 weights
        return value in ([128, 128], (128, 128))
    if key in _EXEMPT:
        return isinstance(value, (list, tuple)) and all(_unpacked(str(name)) for name in value)
    if key == "targets":
        return value in (["Linear"], ("Linear",), "Linear")
    return key in known


def _unpacked(name: str) -> bool:
    """Whether a module is one of `_UNPACKED`, by its name or by a pattern that is nothing but "anything" before it."""
    *above, last = name.removeprefix("re:.*").split(".")
    return last in _UNPACKED and all(part.isalnum() for part in above)


def _kinds(said: Mapping[str, Any]) -> list[str]:
    """Kind and bits of the weights, as each method of quantisation writes them; empty where it is not known."""
    method, algorithm = said.get("quant_method"), said.get("quant_algo")
    if method in ("awq", "gptq"):
        return [f"int {said.get('bits')}"]
    groups = said.get("config_groups")
    weights = [_weights(group) for group in groups.values()] if isinstance(groups, Mapping) else []
    kinds = [f"{weight.get('type')} {weight.get('num_bits')}" for weight in weights]
    if method in ("fp8", "fbgemm_fp8") or (method == "modelopt" and algorithm == "FP8"):
        return ["float 8", *kinds]
    if method == "modelopt" and algorithm == "NVFP4":
        return ["float 4", *kinds]
    return kinds if method == "compressed-tensors" else []


def _weights(group: Any) -> Mapping[str, Any]:
    weights = group.get("weights") if isinstance(group, Mapping) else None
    return weights if isinstance(weights, Mapping) else {}


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
