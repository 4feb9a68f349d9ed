"""In which dtype a checkpoint holds its weights, by the ``quantization_config`` of its ``config.json``."""

from collections.abc import Mapping
from typing import Any

from scaling._checks import shown


def says(value: Any) -> bool:
    """Whether an entry says anything: null, false, zero and what is empty say that the model has no such thing."""
    return value is not None and not (isinstance(value, (int, float, str, list, tuple, Mapping)) and not value)


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
# Of gpt-oss the experts have 4 bits, and 8 for each group of 32; the rest, a fiftieth of the weights, has 16. Counted
# as fp4 all through, in groups of 16, it comes out some 3 % too large for 120b and a tenth too large for 20b.
_MXFP4 = {
    "quant_method": "mxfp4",
    "modules_to_not_convert": [
        "model.layers.*.self_attn",
        "model.layers.*.mlp.router",
        "model.embed_tokens",
        "lm_head",
    ],
}
_PACKED = {"float 8": "fp8", "int 8": "int8", "float 4": "fp4", "int 4": "int4"}


def stored_in(entries: Mapping[str, Any], where: str) -> str:
    """The dtype in which a checkpoint holds the weights of its matrices.

    Raises ``ValueError`` for a method of quantisation, or a dtype, that is not known here.
    """
    said = entries.get("quantization_config")
    if not says(said):
        torch = str(entries.get("torch_dtype") or entries.get("dtype") or "bfloat16").removeprefix("torch.")
        if torch not in _TORCH:
            raise ValueError(f"{where} must have a 'torch_dtype' of {', '.join(_TORCH)}, not {shown(torch)}.")
        return _TORCH[torch]
    if said == _MXFP4 and entries.get("model_type") == "gpt_oss":
        return "fp4"
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
