"""What the class of an architecture takes where a ``config.json`` says nothing, and what it has without saying it."""

from collections.abc import Callable, Mapping
from typing import Any

from scaling._records import Record

_NONE: frozenset[str] = frozenset()


def _every(entries: Mapping[str, Any], layers: int) -> int:
    return layers


def _all_but(key: str, default: int) -> Callable[[Mapping[str, Any], int], int]:
    """All layers but each n-th, counted from the first: the last of every n sees all tokens."""

    def closed(entries: Mapping[str, Any], layers: int) -> int:
        said = next((entries[name] for name in (key, f"_{key}") if entries.get(name) is not None), default)
        if isinstance(said, bool) or not isinstance(said, int) or said < 1:
            raise ValueError(f"{key} must be a whole number of at least 1, not {said!r}.")
        return layers - layers // said

    return closed


def _from(entries: Mapping[str, Any], layers: int) -> int:
    """The layers above `max_window_layers`, as in Qwen."""
    said = entries.get("max_window_layers", 28)
    if isinstance(said, bool) or not isinstance(said, int) or said < 0:
        raise ValueError(f"max_window_layers must be a whole number of at least 0, not {said!r}.")
    return max(0, layers - said)


def _turned(entries: Mapping[str, Any], layers: int) -> int:
    """The layers of LLaMA 4 that turn positions look at their chunk; `no_rope_layers` marks them with 1."""
    marks = entries.get("no_rope_layers")
    if not marks:
        return _all_but("no_rope_layer_interval", 4)(entries, layers)
    if not isinstance(marks, (list, tuple)) or len(marks) != layers or any(mark not in (0, 1) for mark in marks):
        raise ValueError(f"no_rope_layers must hold 0 or 1 for each of {layers} layers, not {marks!r}.")
    return sum(marks)


class Family(Record):
    """An architecture.

    `kind`, `closed`: how ``layer_types`` calls layers with a window, and how many there are where it does not say;
    `sliding`, `slides`: the window, and whether it counts, where nothing is said. `experts`, `latent`: how its entries
    name them. `words`: entries that only its configs have.
    Source: the configuration classes of transformers 5.24.0, read 2026-11.
    """

    architecture: str
    window: int = 0
    kv_heads: int | None = None  # None: as many as query heads
    head_dim: int | None = None  # None: D / Q
    vocab: int | None = None
    d_ff: str = "intermediate_size"
    d_ff_default: int | None = None
    tied: bool = False
    biases: tuple[str, ...] = ()
    qk_norm: bool = False
    gated: bool = True
    norms: int = 2
    kind: str = ""
    closed: Callable[[Mapping[str, Any], int], int] = _every
    sliding: int | None = None
    slides: bool = True
    experts: str = ""
    latent: bool = False
    words: frozenset[str] = _NONE


def _words(*of: str) -> frozenset[str]:
    return frozenset(" ".join(of).split())


_SLIDES = "sliding_attention"
_MIXTURE = "num_experts_per_tok output_router_logits router_aux_loss_coef router_jitter_noise norm_topk_prob"
_GEMMA = """query_pre_attn_scalar attn_logit_softcapping final_logit_softcapping cache_implementation
    sliding_window_pattern _sliding_window_pattern rope_local_base_freq use_bidirectional_attention"""
_QWEN_MOE = "num_experts moe_intermediate_size mlp_only_layers decoder_sparse_step"
_LLAMA4 = """num_local_experts attention_chunk_size interleave_moe_layer_step intermediate_size_mlp use_qk_norm
    no_rope_layers no_rope_layer_interval attn_temperature_tuning attn_scale floor_scale for_llm_compressor
    moe_layers"""
_GPT_OSS = "num_local_experts experts_per_token swiglu_limit initial_context_length attention_bias"
_DEEPSEEK = """aux_loss_alpha ep_size first_k_dense_replace kv_lora_rank moe_intermediate_size moe_layer_freq n_group
    n_routed_experts n_shared_experts num_nextn_predict_layers q_lora_rank qk_nope_head_dim qk_rope_head_dim
    routed_scaling_factor scoring_func seq_aux topk_group topk_method v_head_dim"""

# Architectures whose parameter counts are tested against published totals. All others are refused by name.
FAMILIES = {
    "llama": Family(architecture="LlamaForCausalLM", window=2048),
    "mistral": Family(architecture="MistralForCausalLM", window=131_072, kv_heads=8, sliding=4096, kind=_SLIDES),
    "phi3": Family(architecture="Phi3ForCausalLM", window=4096, kind=_SLIDES),
    "qwen2": Family(
        architecture="Qwen2ForCausalLM",
        window=32_768,
        kv_heads=32,
        biases=("qkv",),
        slides=False,
        kind=_SLIDES,
        closed=_from,
    ),
    "qwen3": Family(
        architecture="Qwen3ForCausalLM",
        window=32_768,
        kv_heads=32,
        head_dim=128,
        qk_norm=True,
        slides=False,
        kind=_SLIDES,
        closed=_from,
    ),
    "gemma": Family(architecture="GemmaForCausalLM", window=8192, kv_heads=16, head_dim=256, tied=True),
    "gemma2": Family(
        architecture="Gemma2ForCausalLM",
        window=8192,
        kv_heads=4,
        head_dim=256,
        tied=True,
        norms=4,
        sliding=4096,
        kind=_SLIDES,
        closed=_all_but("sliding_window_pattern", 2),
        words=_words(_GEMMA),
    ),
    "gemma3_text": Family(
        architecture="Gemma3ForCausalLM",
        window=131_072,
        kv_heads=4,
        head_dim=256,
        vocab=262_208,
        tied=True,
        norms=4,
        qk_norm=True,
        sliding=4096,
        kind=_SLIDES,
        closed=_all_but("sliding_window_pattern", 6),
        words=_words(_GEMMA),
    ),
    "phi": Family(
        architecture="PhiForCausalLM",
        window=2048,
        gated=False,
        norms=1,
        words=_words("layer_norm_eps"),
        biases=("qkv", "output", "mlp", "norm", "head"),
    ),
    "mixtral": Family(
        architecture="MixtralForCausalLM",
        window=131_072,
        kv_heads=8,
        kind=_SLIDES,
        experts="mixtral",
        words=_words(_MIXTURE, "num_local_experts"),
    ),
    "qwen3_moe": Family(
        architecture="Qwen3MoeForCausalLM",
        window=32_768,
        kv_heads=4,
        qk_norm=True,
        slides=False,
        kind=_SLIDES,
        closed=_from,
        experts="qwen3_moe",
        words=_words(_MIXTURE, _QWEN_MOE),
    ),
    "deepseek_v3": Family(
        architecture="DeepseekV3ForCausalLM",
        window=4096,
        latent=True,
        experts="deepseek_v3",
        words=_words(_MIXTURE, _DEEPSEEK),
    ),
    "llama4_text": Family(
        architecture="Llama4ForCausalLM",
        window=131_072,
        kv_heads=8,
        head_dim=128,
        vocab=202_048,
        sliding=8192,
        kind="chunked_attention",
        closed=_turned,
        experts="llama4_text",
        d_ff="intermediate_size_mlp",
        d_ff_default=16_384,
        words=_words(_MIXTURE, _LLAMA4),
    ),
    "gpt_oss": Family(
        architecture="GptOssForCausalLM",
        window=131_072,
        kv_heads=8,
        head_dim=64,
        sliding=128,
        kind=_SLIDES,
        closed=_all_but("sliding_window_pattern", 2),
        experts="gpt_oss",
        biases=("qkv", "output", "sinks", "mlp"),
        words=_words(
            _MIXTURE, "num_local_experts experts_per_token swiglu_limit initial_context_length attention_bias"
        ),
    ),
}
# Models that see images too: their decoder has entries of its own, under ``text_config``.
_IMAGES = """text_config vision_config mm_tokens_per_image boi_token_index eoi_token_index image_token_index
    boi_token_id eoi_token_id image_token_id"""
NESTED = {
    "gemma3": Family(architecture="Gemma3ForConditionalGeneration", words=_words(_IMAGES)),
    "llama4": Family(architecture="Llama4ForConditionalGeneration", words=_words(_IMAGES)),
}
# A shape that somebody writes down by hand rarely says its type. It means LLaMA 3's if it uses nothing but these words.
BY_HAND = Family(architecture="", window=8192)
WORDS = frozenset(
    """_name_or_path attention_bias attention_dropout bos_token_id dtype eos_token_id head_dim hidden_act
    hidden_size initializer_range intermediate_size layer_types max_position_embeddings mlp_bias num_attention_heads
    num_hidden_layers num_key_value_heads pad_token_id pretraining_tp quantization_config rms_norm_eps
    rope_parameters rope_scaling rope_theta sliding_window tie_word_embeddings torch_dtype transformers_version
    use_cache use_sliding_window vocab_size""".split()
)
# What else the configs of known architectures say without changing a count: how positions are turned, dropout, which
# tokens begin and end, how to generate, which code and files go along.
HARMLESS = WORDS | frozenset(
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
