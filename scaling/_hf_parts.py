"""Experts, latent attention and towers, as the entries of each architecture's ``config.json`` say them."""

from collections.abc import Callable, Mapping
from typing import Any

from scaling._checks import shown, whole
from scaling.layers import Experts, Latent

Count = Callable[..., int]


def experts_of(kind: str, entries: Mapping[str, Any], layers: int, count: Count, where: str) -> Experts:
    """The experts of a family. `count` reads an entry, or refuses it by name.

    Raises ``ValueError`` for an entry that is missing or that is not known here.
    """
    return _EXPERTS[kind](entries, layers, count, where)


def _mixtral(entries: Mapping[str, Any], layers: int, count: Count, where: str) -> Experts:
    routed, active = count("num_local_experts", 8), count("num_experts_per_tok", 2)
    return Experts(layers=layers, routed=routed, active=active, d_ff=count("intermediate_size"))


def _gpt_oss(entries: Mapping[str, Any], layers: int, count: Count, where: str) -> Experts:
    if entries.get("attention_bias") is False:
        raise ValueError(f"{where} must have the 'attention_bias' that all of gpt_oss have, not False.")
    active = count("num_experts_per_tok", entries.get("experts_per_token", 4))
    routed, width = count("num_local_experts", 128), count("intermediate_size")
    return Experts(layers=layers, routed=routed, active=active, d_ff=width, router_bias=True)


def _qwen3_moe(entries: Mapping[str, Any], layers: int, count: Count, where: str) -> Experts:
    step, dense = count("decoder_sparse_step", 1), entries.get("mlp_only_layers") or []
    if not isinstance(dense, (list, tuple)):
        raise ValueError(f"{where} must have a list of layers in 'mlp_only_layers', not {shown(dense)}.")
    sparse = sum((i + 1) % step == 0 and i not in dense for i in range(layers))
    routed, active = count("num_experts"), count("num_experts_per_tok")
    return Experts(layers=sparse, routed=routed, active=active, d_ff=count("moe_intermediate_size"))


def _deepseek_v3(entries: Mapping[str, Any], layers: int, count: Count, where: str) -> Experts:
    """What predicts further tokens is left out: it serves speculation, and an engine loads it only for that.

    Raises ``ValueError`` for experts that are not in every layer after the first ones.
    """
    if count("moe_layer_freq", 1) != 1:
        raise ValueError(f"{where} must have a 'moe_layer_freq' of 1, not {shown(entries['moe_layer_freq'])}.")
    first, width = entries.get("first_k_dense_replace", 3), count("moe_intermediate_size")
    dense = whole("first_k_dense_replace", first) if first else 0
    routed, active, shared = count("n_routed_experts"), count("num_experts_per_tok"), count("n_shared_experts")
    sparse = layers - dense
    return Experts(
        layers=sparse, routed=routed, active=active, d_ff=width, shared_d_ff=shared * width, router_bias=True
    )


def _llama4_text(entries: Mapping[str, Any], layers: int, count: Count, where: str) -> Experts:
    """Each layer with experts has a shared one as wide as the others, which no entry says."""
    listed, width = entries.get("moe_layers"), count("intermediate_size")
    sparse = len(listed) if isinstance(listed, (list, tuple)) else layers // count("interleave_moe_layer_step", 1)
    routed, active = count("num_local_experts", 16), count("num_experts_per_tok", 1)
    return Experts(layers=sparse, routed=routed, active=active, d_ff=width, shared_d_ff=width)


_EXPERTS = {
    "mixtral": _mixtral,
    "gpt_oss": _gpt_oss,
    "qwen3_moe": _qwen3_moe,
    "deepseek_v3": _deepseek_v3,
    "llama4_text": _llama4_text,
}


def latent_of(count: Count) -> Latent:
    """Latent attention by the names of DeepSeek. `count` reads an entry, or refuses it by name."""
    return Latent(
        q_rank=count("q_lora_rank"),
        kv_rank=count("kv_lora_rank"),
        rope_dim=count("qk_rope_head_dim"),
        nope_dim=count("qk_nope_head_dim"),
        value_dim=count("v_head_dim"),
    )


def tower_of(entries: Mapping[str, Any], text: Mapping[str, Any], where: str) -> int:
    """Parameters of the tower that sees images and of its projector; 0 where a config leaves ``vision_config`` out.

    Raises ``ValueError`` for a tower that is not known here, or an entry of it that is missing.
    """
    said = entries.get("vision_config")
    if said is None:
        return 0
    kind = said.get("model_type") if isinstance(said, Mapping) else None
    if kind not in _TOWERS:
        raise ValueError(f"{where} must have a 'vision_config' of {' or '.join(_TOWERS)}, not {shown(said)}.")

    def count(key: str, default: int | None = None) -> int:
        value = said.get(key, default)
        if value is None:
            raise ValueError(f"{where} has no entry {key!r} in its 'vision_config', which a tower needs.")
        return whole(key, value)

    return _TOWERS[kind](count, whole("hidden_size", text.get("hidden_size")))


def _encoder(count: Count) -> tuple[int, int]:
    """Width of an encoder of images, and the parameters of its layers: four projections, two matrices, two norms."""
    D, F, L = count("hidden_size"), count("intermediate_size"), count("num_hidden_layers")
    return D, L * (4 * (D * D + D) + 2 * D * F + F + D + 4 * D)


def _siglip(count: Count, d_model: int) -> int:
    """SigLIP and the projector of Gemma 3."""
    (D, layers), patch = _encoder(count), count("patch_size")
    tokens = (count("image_size") // patch) ** 2
    return layers + 3 * patch * patch * D + D + tokens * D + 2 * D + D * d_model + D


def _llama4_tower(count: Count, d_model: int) -> int:
    """The encoder, the adapter that joins patches, and the projector of LLaMA 4."""
    (D, layers), patch = _encoder(count), count("patch_size")
    tokens = (count("image_size") // patch) ** 2 + 1  # one for the whole image
    squeezed, output = count("projector_input_dim", 4096), count("projector_output_dim", 4096)
    adapter = count("intermediate_size") * squeezed + squeezed * output
    return (
        layers + 3 * patch * patch * D + D + tokens * D + 4 * D + adapter + count("vision_output_dim", 4096) * d_model
    )


_TOWERS = {"siglip_vision_model": _siglip, "llama4_vision_model": _llama4_tower}
