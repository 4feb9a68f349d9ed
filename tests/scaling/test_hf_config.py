"""`from_hf_config`: the published counts of known families, and a sentence that names what is not understood."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from scaling.chips import H100
from scaling.deployment import Deployment
from scaling.engines.pool import loaded_weight_bytes
from scaling.layers import Window
from scaling.memory import weight_bytes
from scaling.models import LLAMA3_8B, LLAMA3_70B, LLAMA3_405B, Model, from_hf_config
from tests.paths import DATA

FILES = DATA / "configs"
FAMILIES = json.loads((FILES / "families.json").read_text(encoding="utf-8"))
COUNTS = ("layers", "d_model", "d_ff", "q_heads", "kv_heads", "head_dim", "vocab", "context_window")
EXACT = {LLAMA3_8B: 8_030_261_248, LLAMA3_70B: 70_553_706_496, LLAMA3_405B: 405_853_388_800}


def config(layers: int, d_model: int, d_ff: int, q_heads: int, **others: object) -> dict[str, object]:
    shape = {"num_hidden_layers": layers, "hidden_size": d_model, "intermediate_size": d_ff}
    heads = {"num_attention_heads": q_heads, "num_key_value_heads": 8}
    return {"model_type": "llama", **shape, **heads, "vocab_size": 128_256, "max_position_embeddings": 8192, **others}


CONFIGS = {
    LLAMA3_8B: config(32, 4096, 14_336, 32),
    LLAMA3_70B: config(80, 8192, 28_672, 64),
    LLAMA3_405B: config(126, 16_384, 53_248, 128, max_position_embeddings=131_072),
}


@pytest.mark.parametrize("model", CONFIGS, ids=lambda model: model.name)
@pytest.mark.parametrize("form", ["dict", "str", "Path"])
def test_llama3_config(model: Model, form: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIGS[model]))
    read = from_hf_config({"dict": CONFIGS[model], "str": str(path), "Path": path}[form])
    assert read.params == EXACT[model]
    assert read.nominal_params == EXACT[model]
    assert {f: getattr(read, f) for f in COUNTS} == {f: getattr(model, f) for f in COUNTS}
    assert not read.tied_embeddings


def test_config_defaults() -> None:
    entries = {"num_hidden_layers": 3, "hidden_size": 110, "intermediate_size": 7, "num_attention_heads": 11}
    plain = from_hf_config({**entries, "vocab_size": 17, "num_key_value_heads": None})
    assert (plain.kv_heads, plain.head_dim) == (11, 10)  # no grouping, and 110 / 11
    assert (plain.tied_embeddings, plain.context_window) == (False, 8192)
    assert (plain.name, plain.source) == ("model", "config")
    with pytest.raises(ValueError) as error:
        from_hf_config({**entries, "vocab_size": 17, "hidden_size": 115})
    assert str(error.value) == (
        "config must have a 'hidden_size' that its 'num_attention_heads' divide, or say its 'head_dim', "
        "not 115 over 11."
    )
    more = {"head_dim": 13, "tie_word_embeddings": True, "max_position_embeddings": 19, "_name_or_path": "org/toy"}
    full = from_hf_config({**entries, "vocab_size": 17, **more})
    assert (full.head_dim, full.tied_embeddings, full.context_window, full.name) == (13, True, 19, "org/toy")


def test_a_config_in_a_file_has_its_name(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(CONFIGS[LLAMA3_8B]))
    assert (from_hf_config(path).name, from_hf_config(path).source) == ("mine.json", "config mine.json")
    path.write_text(json.dumps(CONFIGS[LLAMA3_8B] | {"num_experts": 8}))
    with pytest.raises(ValueError, match=r"^config mine\.json must be of a model without 'num_experts' \(8\)\.$"):
        from_hf_config(path)
    with pytest.raises(ValueError, match=r"^config must be of a model without 'num_experts' \(8\)\.$"):
        from_hf_config(CONFIGS[LLAMA3_8B] | {"num_experts": 8})


@pytest.mark.parametrize("none", [None, 0, 0.0, False])
def test_a_model_with_no_experts_is_dense(none: object) -> None:
    assert from_hf_config(CONFIGS[LLAMA3_8B] | {"num_experts": none}).params == EXACT[LLAMA3_8B]
    for some in (1, 8, True, "8", [8]):
        with pytest.raises(ValueError, match="must be of a model without 'num_experts'"):
            from_hf_config(CONFIGS[LLAMA3_8B] | {"num_experts": some})


# Families -----------------------------------------------------------------------------------------------------------

# What a config says is known of all 22; of DeepSeek the checkpoint has scales and a layer for speculation besides.
ACTIVE = {name: family["active"] for name, family in FAMILIES.items() if "active" in family}
# Layers with a window, and the window.
WINDOWS = {
    **{"Mistral-7B-v0.1": (32, 4096), "Phi-3-mini-4k": (32, 2047), "Gemma-2-9B": (21, 4096), "Gemma-2-27B": (23, 4096)},
    **{"Gemma-3-12B": (40, 1024), "Gemma-3-27B": (52, 1024), "gpt-oss-120b": (18, 128), "gpt-oss-20b": (12, 128)},
    **{"Llama-4-Scout-17B-16E": (36, 8192), "Llama-4-Maverick-17B-128E": (36, 8192)},
}


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_a_known_family_has_its_published_counts(name: str) -> None:
    family = FAMILIES[name]
    read = from_hf_config(family["config"])
    assert (read.params, read.active_params) == (family["params"], ACTIVE.get(name, family["params"]))
    assert read.kv_bytes_per_token() == family["kv"]
    assert (read.window and (read.window.layers, read.window.tokens)) == WINDOWS.get(name)
    layers, window = WINDOWS.get(name, (0, 1))
    for context in (1, window, window + 1, 1_000_000):  # each layer's own sum
        kept = (read.layers - layers) * context + layers * min(context, window)
        cache = read.kv_bytes_per_token("fp8") * read.cached_tokens(context)
        assert cache == pytest.approx(family["kv"] / 2 / read.layers * kept, rel=1e-12)


def test_what_sees_images_lies_beside_the_decoder() -> None:
    published = {"Gemma-3-12B": 12_187_325_040, "Llama-4-Scout-17B-16E": 108_641_793_536}
    scout = FAMILIES["Llama-4-Scout-17B-16E"]["config"] | {"vision_config": LLAMA4_VISION}
    for name, entries in (("Gemma-3-12B", FAMILIES["Gemma-3-12B"]["config"]), ("Llama-4-Scout-17B-16E", scout)):
        read = from_hf_config(entries)
        assert read.params + read.tower_bytes / 2 == published[name]
        assert weight_bytes(Deployment(model=read, chip=H100)) == 2 * published[name]
    with pytest.raises(ValueError, match=r"must have a 'vision_config' of siglip_vision_model or llama4_vision_model"):
        from_hf_config(scout | {"vision_config": {"model_type": "clip_vision_model"}})
    with pytest.raises(ValueError, match=r"has no entry 'patch_size' in its 'vision_config'"):
        from_hf_config(scout | {"vision_config": LLAMA4_VISION | {"patch_size": None}})
    with pytest.raises(ValueError, match=r"^config has the entry 'audio_config' "):
        from_hf_config(scout | {"audio_config": {}})


# By the tower's own class in transformers 5.24.0.
LLAMA4_VISION = {
    **{"model_type": "llama4_vision_model", "hidden_size": 1408, "intermediate_size": 5632, "num_hidden_layers": 34},
    **{"num_attention_heads": 16, "patch_size": 14, "image_size": 336, "vision_output_dim": 4096},
}


@pytest.mark.parametrize(("name", "longest"), [("Mistral-7B-v0.1", 4096), ("Phi-3-mini-4k", 2047)])
def test_a_window_that_never_closes_is_none(name: str, longest: int) -> None:
    read = from_hf_config(FAMILIES[name]["config"] | {"max_position_embeddings": longest})
    assert (read.params, read.context_window, read.window) == (FAMILIES[name]["params"], longest, None)
    assert from_hf_config(FAMILIES[name]["config"] | {"max_position_embeddings": longest + 1}).window


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("DeepSeek-V3", {"q_lora_rank": None}, "has no entry 'q_lora_rank'"),
    ("DeepSeek-V3", {"moe_layer_freq": 2}, "must have a 'moe_layer_freq' of 1, not 2"),
    ("DeepSeek-V3", {"num_experts_per_tok": 257}, "Experts.active must be at most the 256 routed, not 257"),
    ("DeepSeek-V3", {"index_topk": 2048}, "has the entry 'index_topk'"),
    ("Qwen3-235B-A22B", {"num_experts": None}, "has no entry 'num_experts'"),
    ("Qwen3-235B-A22B", {"shared_expert_intermediate_size": 8}, "without 'shared_expert_intermediate_size'"),
    (
        "gpt-oss-20b",
        {"layer_types": ["full_attention"]},
        "or 'sliding_attention' for each of 24 layers",
    ),
    ("gpt-oss-20b", {"attention_bias": False}, "must have the 'attention_bias'"),
    ("gpt-oss-20b", {"quantization_config": {"quant_method": "mxfp4"}}, "must say in 'quantization_config'"),
    ("Gemma-2-9B", {"sliding_window_pattern": 0}, "sliding_window_pattern must be a whole number of at least 1, not 0"),
    ("Mixtral-8x7B", {"num_local_experts": "8"}, "num_local_experts must be"),
]


@pytest.mark.parametrize(("name", "entry", "said"), WRONG, ids=str)
def test_an_entry_of_such_a_family_that_cannot_be_is_named(name: str, entry: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        from_hf_config(FAMILIES[name]["config"] | entry)


def case(name: str) -> dict[str, Any]:
    return json.loads((FILES / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nemotron-h-8b", "not of 'model_type' 'nemotron_h'."),
        ("bamba-9b", "not of 'model_type' 'bamba'."),
        ("bert-base", "not of 'model_type' 'bert'."),
    ],
)
def test_a_model_of_another_kind_is_refused(name: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        from_hf_config(FILES / f"{name}.json")


@pytest.mark.parametrize(
    ("name", "key"), [("nemotron-h-8b", "hybrid_override_pattern"), ("bamba-9b", "attn_layer_ind")]
)
def test_the_same_entries_without_a_type_are_refused_too(name: str, key: str) -> None:
    with pytest.raises(ValueError, match=f"^config must be of a model without '{key}"):
        from_hf_config(case(name) | {"model_type": None})


@pytest.mark.parametrize(
    ("name", "params", "context", "cache"),
    [
        ("phi-2", 2_779_683_840, 2048, 2048 * 327_680),  # two matrices, biases, one LayerNorm a layer
        ("mistral-7b-v0.1", 7_241_732_096, 32_768, 4096 * 131_072),
        ("gemma-3-27b-text", 27_009_346_304, 131_072, 10 * 131_072 * 8192 + 52 * 1024 * 8192),
    ],
)
def test_a_model_that_is_not_llama_is_counted_as_what_it_is(name: str, params: int, context: int, cache: int) -> None:
    read = from_hf_config(FILES / f"{name}.json")
    assert (read.params, read.kv_bytes_per_token() * read.cached_tokens(context)) == (params, cache)


def test_gemma_ties_its_embeddings_without_saying_so() -> None:
    gemma = from_hf_config(case("gemma-7b"))
    assert gemma.params == 8_537_680_896  # 28 x 276,830,208 + 256,000 x 3,072 + 3,072
    assert gemma.kv_bytes_per_token() == 458_752
    untied = from_hf_config(case("gemma-7b") | {"tie_word_embeddings": False})
    assert untied.params - gemma.params == 256_000 * 3072


def test_an_fp8_checkpoint_is_said() -> None:
    read = from_hf_config(case("llama-8b-fp8"))
    assert (read.stored, read.params) == ("fp8", 8_030_261_248)
    # 6,979,321,856 weights of one byte; embeddings, head and norms stay in bf16: 1,050,939,392 of two.
    as_stored = Deployment(model=read, chip=H100, weights=read.stored)
    assert loaded_weight_bytes(as_stored) == 6_979_321_856 + 2 * 1_050_939_392


QUANTISED = [
    ({"quant_method": "fp8"}, "fp8"),
    ({"quant_method": "fbgemm_fp8", "modules_to_not_convert": ["lm_head"]}, "fp8"),
    ({"quant_method": "modelopt", "quant_algo": "FP8"}, "fp8"),
    ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "fp4"),
    ({"quant_method": "awq", "bits": 4}, "int4"),
    ({"quant_method": "gptq", "bits": 8}, "int8"),
    *(
        ({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": weights}}}, dtype)
        for weights, dtype in (
            ({"num_bits": 8, "type": "float"}, "fp8"),
            ({"num_bits": 8, "type": "int"}, "int8"),
            ({"num_bits": 4, "type": "int"}, "int4"),
            ({"num_bits": 4, "type": "float"}, "fp4"),
        )
    ),
]


@pytest.mark.parametrize(("said", "dtype"), QUANTISED)
def test_how_a_checkpoint_is_stored(said: dict[str, Any], dtype: str) -> None:
    assert from_hf_config(CONFIGS[LLAMA3_8B] | {"quantization_config": said}).stored == dtype


@pytest.mark.parametrize(
    ("entry", "dtype"),
    [
        ({}, "bf16"),
        ({"torch_dtype": "float16"}, "fp16"),
        ({"dtype": "float32"}, "fp32"),
        ({"torch_dtype": "torch.bfloat16", "quantization_config": None}, "bf16"),
    ],
)
def test_the_dtype_of_a_checkpoint_that_is_not_quantised(entry: dict[str, Any], dtype: str) -> None:
    assert from_hf_config(CONFIGS[LLAMA3_8B] | entry).stored == dtype


def compressed(group: dict[str, Any] | None = None, **others: object) -> dict[str, Any]:
    weights = {"num_bits": 4, "type": "int", "group_size": 128, "strategy": "group"}
    part = {"weights": weights, "targets": ["Linear"], "input_activations": None} | (group or {})
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": part}, **others}


PLAIN: list[dict[str, Any]] = [
    {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": True, "lm_head": False, "dynamic": None},
    {"quant_method": "awq", "bits": 4, "group_size": 128, "version": "gemm", "zero_point": True},
    {
        **{"quant_method": "fp8", "weight_block_size": [128, 128]},
        "modules_to_not_convert": ["lm_head", "model.layers.0.input_layernorm"],
    },
    compressed(ignore=["re:.*lm_head"]),
    compressed(ignore=["lm_head"], sparsity_config={}, format="pack-quantized"),
]


@pytest.mark.parametrize("said", PLAIN, ids=str)
def test_the_plain_form_of_a_quantisation_is_read(said: dict[str, Any]) -> None:
    dtype = "fp8" if said["quant_method"] == "fp8" else "int4"
    assert from_hf_config(CONFIGS[LLAMA3_8B] | {"quantization_config": said}).stored == dtype


MIXED: list[tuple[dict[str, Any], str]] = [
    *(
        ({"quant_method": method, "bits": 4, "group_size": size}, "group_size")
        for method in ("awq", "gptq")
        for size in (32, 64, -1)
    ),
    ({"quant_method": "gptq", "bits": 4, "lm_head": True}, "lm_head"),
    ({"quant_method": "gptq", "bits": 4, "dynamic": {r"+:.*\.down_proj": {"bits": 8}}}, "dynamic"),
    ({"quant_method": "fp8", "modules_to_not_convert": ["lm_head", "model.layers.0.mlp"]}, "modules_to_not_convert"),
    ({"quant_method": "fp8", "weight_block_size": [1, 128]}, "weight_block_size"),
    ({"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 32}, "group_size"),
    (compressed(ignore=["lm_head", r"re:.*down_proj"]), "ignore"),
    (compressed(ignore=["re:.*mlp.*|model.lm_head"]), "ignore"),
    (compressed(sparsity_config={"format": "sparse-24"}), "sparsity_config"),
    (compressed({"targets": ["re:.*mlp.*"]}), "config_groups.group_0.targets"),
    (
        compressed({"weights": {"num_bits": 4, "type": "int", "strategy": "channel"}}),
        "config_groups.group_0.weights.strategy",
    ),
    (
        compressed({"weights": {"num_bits": 4, "type": "int", "group_size": 32}}),
        "config_groups.group_0.weights.group_size",
    ),
]


@pytest.mark.parametrize(("said", "key"), MIXED, ids=str)
def test_a_quantisation_of_some_matrices_or_other_groups_is_refused_by_name(said: dict[str, Any], key: str) -> None:
    with pytest.raises(ValueError, match=f"^config must say in 'quantization_config' .*, without '{re.escape(key)}' "):
        from_hf_config(CONFIGS[LLAMA3_8B] | {"quantization_config": said})


EIGHT, FOUR = ({"weights": {"num_bits": bits, "type": "int"}} for bits in (8, 4))


@pytest.mark.parametrize(
    "said",
    [
        {"quant_method": "hqq"},
        {"quant_method": "awq"},
        {"quant_method": "gptq", "bits": 3},
        {"quant_method": "compressed-tensors"},
        {"quant_method": "compressed-tensors", "config_groups": {"a": None}},
        {"quant_method": "compressed-tensors", "config_groups": {"a": EIGHT, "b": FOUR}},
        {"quant_method": "modelopt", "quant_algo": "MIXED"},
        {"quant_method": "modelopt", "quant_algo": "FP8", "config_groups": {"a": FOUR}},
        {"bits": 4},
        "fp8",
    ],
)
def test_a_quantisation_that_is_not_known_is_refused(said: object) -> None:
    with pytest.raises(ValueError, match=r"^config must say in 'quantization_config' that all"):
        from_hf_config(CONFIGS[LLAMA3_8B] | {"quantization_config": said})
    with pytest.raises(ValueError, match=r"^config must have a 'torch_dtype' of .*, not 'int3'\.$"):
        from_hf_config(CONFIGS[LLAMA3_8B] | {"torch_dtype": "int3"})


@pytest.mark.parametrize(
    "entry",
    [
        {"attention_bias": True},
        {"mlp_bias": True},
        {"kv_lora_rank": 512},
        {"num_local_experts": 8},
        {"n_routed_experts": 8},
        {"ffn_config": {"moe_num_experts": 16}},
        {"text_config": {"hidden_size": 8}},
        {"block_configs": [{"attention": {}}]},
        {"is_encoder_decoder": True},
        {"attention_chunk_size": 8192},
        {"layer_types": ["full_attention", "sliding_attention"]},
        {"layer_types": "mamba"},
        {"sliding_window": 4096},
    ],
    ids=str,
)
def test_an_entry_that_changes_a_count_is_refused_by_name(entry: dict[str, Any]) -> None:
    (key,) = entry
    for kind in ("llama", None):
        with pytest.raises(ValueError, match=f"^config (must|has) .*'{key}'"):
            from_hf_config(CONFIGS[LLAMA3_8B] | {"model_type": kind} | entry)


UNKNOWN: list[dict[str, Any]] = [
    *(
        {key: 4}
        for key in """adapter_size attention_layers attention_window attn_window_size cache_implementation
        full_attention_interval head_dim_v interleaved_sliding_window linear_num_key_heads num_layers
        num_medusa_heads qk_layernorm qk_rope_head_dim sliding_window_size something_new state_size swa_layers
        window_size""".split()
    ),
    *({key: ["linear"]} for key in ("block_types", "layers_block_type", "local_attention")),
    *({key: [8] * 32} for key in ("intermediate_size_per_layer", "num_key_value_heads_per_layer")),
    {"use_gated_mlp": False},
    {"num_layers": 99},
]


@pytest.mark.parametrize("entry", UNKNOWN, ids=str)
def test_an_entry_that_is_not_known_is_refused_by_name(entry: dict[str, Any]) -> None:
    (key,) = entry
    with pytest.raises(ValueError, match=f"^config (must be of a model without|has the entry) '{key}' "):
        from_hf_config(CONFIGS[LLAMA3_8B] | entry)
    with pytest.raises(ValueError, match=f"^config .* '{key}' "):
        from_hf_config(CONFIGS[LLAMA3_8B] | {"model_type": None} | entry)
    assert from_hf_config(CONFIGS[LLAMA3_8B] | {key: None}).params == EXACT[LLAMA3_8B]


HARMLESS = {
    "rope_scaling": {"rope_type": "llama3", "factor": 8.0},
    "attention_bias": False,
    "layer_types": ["full_attention"] * 32,
    "sliding_window": None,
    "num_experts": 0,
    "torch_dtype": "bfloat16",
    "hidden_act": "silu",
}


@pytest.mark.parametrize("kind", ["llama", None])
def test_an_entry_that_changes_nothing_is_fine(kind: str | None) -> None:
    assert from_hf_config(CONFIGS[LLAMA3_8B] | HARMLESS | {"model_type": kind}).params == EXACT[LLAMA3_8B]


@pytest.mark.parametrize(
    "entry", [{"temperature": 0.6}, {"hidden_act": "gelu_new"}, {"partial_rotary_factor": 0.5}], ids=str
)
def test_without_a_type_nothing_but_llamas_entries_is_read(entry: dict[str, Any]) -> None:
    """Whoever writes a shape by hand means LLaMA's; nobody says what an entry means that LLaMA's configs don't have."""
    (key,) = entry
    bare = CONFIGS[LLAMA3_8B] | {"model_type": None} | entry
    with pytest.raises(ValueError, match=f"^config must say its 'model_type', or .* not '{key}' "):
        from_hf_config(bare)
    for said in ({"model_type": "llama"}, {"architectures": ["LlamaForCausalLM"]}):
        assert from_hf_config(bare | said).params == EXACT[LLAMA3_8B]


@pytest.mark.parametrize(
    "said",
    [
        {"model_type": "olmo2"},
        {"model_type": ["llama"]},
        {"model_type": 3},
        {"model_type": None, "architectures": ["MambaForCausalLM"]},
        {"architectures": ["LlamaForSequenceClassification"]},
        {"architectures": ["MistralForCausalLM"]},
        {"architectures": "LlamaForCausalLM"},
    ],
    ids=str,
)
def test_an_architecture_that_is_not_known_is_refused(said: dict[str, Any]) -> None:
    known = r"known here \(llama, mistral, .*, gpt_oss, gemma3, llama4\)"
    with pytest.raises(ValueError, match=f"^config must be of an architecture {known}, not of ") as error:
        from_hf_config(CONFIGS[LLAMA3_8B] | said)
    for key, value in said.items():
        assert value is None or f"{key!r} {value!r}" in str(error.value)


SMALL = {"hidden_size": 512, "num_hidden_layers": 2, "num_attention_heads": 64, "intermediate_size": 7, "vocab_size": 5}


@pytest.mark.parametrize(
    ("kind", "window", "kv_heads", "head_dim", "tied"),
    [
        ("llama", 2048, 64, 8, False),
        ("phi3", 4096, 64, 8, False),
        ("qwen2", 32_768, 32, 8, False),
        ("qwen3", 32_768, 32, 128, False),
        ("gemma", 8192, 16, 256, True),
    ],
)
def test_what_a_family_takes_when_its_config_says_nothing(
    kind: str, window: int, kv_heads: int, head_dim: int, tied: bool
) -> None:
    read = from_hf_config({**SMALL, "model_type": kind})
    assert (read.context_window, read.kv_heads, read.head_dim, read.tied_embeddings) == (
        window,
        kv_heads,
        head_dim,
        tied,
    )
    assert from_hf_config({**SMALL, "model_type": kind, "num_key_value_heads": None}).kv_heads == 64


def test_mistral_has_a_window_unless_it_says_that_it_has_none() -> None:
    assert from_hf_config({**SMALL, "model_type": "mistral"}).window == Window(tokens=4096, layers=2)
    assert from_hf_config({**SMALL, "model_type": "mistral", "sliding_window": None}).window is None


@pytest.mark.parametrize("kind", ["qwen2", "qwen3"])
def test_qwen_has_a_window_only_if_it_uses_it(kind: str) -> None:
    given = {**SMALL, "model_type": kind, "sliding_window": 4096}
    assert from_hf_config(given).window is None
    used = given | {"use_sliding_window": True}
    assert from_hf_config(used).window is None  # all layers are below the 28th
    assert from_hf_config(used | {"max_window_layers": 1}).window == Window(tokens=4096, layers=1)


# Files --------------------------------------------------------------------------------------------------------------


def test_a_long_path_is_shown_up_to_two_hundred_letters() -> None:
    for n, shown in ((200, "x" * 200), (201, "x" * 197 + "...")):
        with pytest.raises(FileNotFoundError) as error:
            from_hf_config("x" * n)
        assert str(error.value) == f"there is no config file at {shown}"


def test_a_file_of_weights_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    for size, said in (
        (10**7, "is not a JSON file"),
        (10**7 + 1, "must be a config.json, not a file of 10,000,001 bytes"),
    ):
        with path.open("wb") as file:
            file.truncate(size)
        with pytest.raises(ValueError, match=rf"model\.safetensors {said}"):
            from_hf_config(path)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no config file at .*nothing\.json"):
        from_hf_config(tmp_path / "nothing.json")
    with pytest.raises(FileNotFoundError):
        from_hf_config(str(tmp_path))  # a folder is not a file


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not a JSON file"),
        (b"<html></html>", "is not a JSON file"),
        (b'{"hidden_size": 4', "is not a JSON file"),
        (b"\xff\xfe\x00", "is not a JSON file"),
        (b'{"hidden_size": ' + b"9" * 6000 + b"}", "is not a JSON file"),
        (b"[" * 100_000, "is not a JSON file"),
        (b"[1, 2]", "must hold a JSON object with the model's shape, not a list"),
        (b'"llama"', "must hold a JSON object with the model's shape, not a str"),
        (b"null", "must hold a JSON object with the model's shape, not a NoneType"),
    ],
)
def test_file_that_is_no_config(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=said) as error:
        from_hf_config(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    "key", ["num_hidden_layers", "hidden_size", "intermediate_size", "num_attention_heads", "vocab_size"]
)
@pytest.mark.parametrize("how", ["left out", "null"])
def test_missing_entry_is_named(key: str, how: str, tmp_path: Path) -> None:
    entries = dict(CONFIGS[LLAMA3_8B]) | {key: None}
    if how == "left out":
        del entries[key]
    with pytest.raises(ValueError, match=f"config has no entry '{key}'"):
        from_hf_config(entries)
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(entries))
    with pytest.raises(ValueError, match=rf"config mine\.json has no entry '{key}'"):
        from_hf_config(path)


@pytest.mark.parametrize("key", [key for key in CONFIGS[LLAMA3_8B] if key != "model_type"])
@pytest.mark.parametrize("bad", [0, -4, 2.5, "many", [32], {}, True, math.nan, math.inf])
def test_unusable_entry(key: str, bad: object) -> None:
    with pytest.raises(ValueError, match=rf"^{key} must be .*, not ") as error:
        from_hf_config(CONFIGS[LLAMA3_8B] | {key: bad})
    assert repr(bad) in str(error.value)


def test_kv_heads_that_do_not_divide_are_named_as_the_config_names_them() -> None:
    with pytest.raises(ValueError) as error:
        from_hf_config(CONFIGS[LLAMA3_8B] | {"num_key_value_heads": 5})
    assert str(error.value) == (
        "config must have 'num_attention_heads' that are a multiple of its 'num_key_value_heads', not 32 over 5."
    )
