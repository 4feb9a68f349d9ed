"""A Hugging Face ``config.json``, read as the fields of a `scaling.models.Model`: what is not understood is refused."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scaling._checks import flag, in_line, shown, whole
from scaling._hf_families import BY_HAND, FAMILIES, HARMLESS, NESTED, WORDS, Family
from scaling._hf_parts import experts_of, latent_of, tower_of
from scaling._hf_stored import says, stored_in
from scaling.layers import Window

if TYPE_CHECKING:
    from os import PathLike

_LARGEST_FILE = 10**7  # bytes; a config.json has a few thousand
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
    said = entries.get("_name_or_path")
    title = in_line(said) if isinstance(said, str) else ""
    tower = 0
    if str(entries.get("model_type")) in NESTED:
        entries, tower = _inner(entries, where)
    family = _family(entries, where)
    _refuse_other_shapes(entries, family, where)
    _refuse_other_words(entries, family, where)
    shape = _shape(entries, family, where) | {"tower_bytes": 2.0 * tower}
    return {"name": title or name or "model", "source": where, **shape, **_parts(entries, family, shape, where)}


def _inner(entries: Mapping[str, Any], where: str) -> tuple[Mapping[str, Any], int]:
    """The decoder's own entries, of a model that sees images too, and the parameters of what sees.

    Raises ``ValueError`` for an entry that is not known here.
    """
    kind = entries["model_type"]
    outer, text = NESTED[kind], entries.get("text_config")
    for key, value in entries.items():
        if key not in HARMLESS and key not in outer.words and value is not None:
            raise ValueError(f"{where} has the entry {shown(key)} ({shown(value)}), which is not known here of {kind}.")
    if not isinstance(text, Mapping):
        raise ValueError(f"{where} must have a 'text_config' with the decoder's entries, not {shown(text)}.")
    if says(entries.get("architectures")) and entries["architectures"] != [outer.architecture]:
        _refuse_architecture(entries, where)
    passed_on = {key: entries[key] for key in ("torch_dtype", "dtype", "quantization_config") if key in entries}
    text = {"model_type": f"{kind}_text"} | passed_on | dict(text)
    return text, tower_of(entries, text, where)


def _family(entries: Mapping[str, Any], where: str) -> Family:
    """The architecture that a config names.

    Raises ``ValueError`` for one that is not known here.
    """
    kind, classes = entries.get("model_type"), entries.get("architectures")
    if kind is None and not says(classes):
        return BY_HAND
    for known, family in FAMILIES.items():
        if kind in (None, known) and (not says(classes) or classes == [family.architecture]):
            return family
    _refuse_architecture(entries, where)
    raise AssertionError


def _refuse_architecture(entries: Mapping[str, Any], where: str) -> None:
    told = [f"{key!r} {shown(entries[key])}" for key in ("model_type", "architectures") if says(entries.get(key))]
    known = ", ".join([*FAMILIES, *NESTED])
    raise ValueError(f"{where} must be of an architecture known here ({known}), not of {' and '.join(told)}.")


def _refuse_other_shapes(entries: Mapping[str, Any], family: Family, where: str) -> None:
    """Refuse entries that change a count in a way that nobody here has read about for this family.

    Raises ``ValueError`` that names the entry and its value.
    """
    for key, value in entries.items():
        if says(value) and _changes(key) and key not in family.words:
            raise ValueError(f"{where} must be of a model without {shown(key)} ({shown(value)}).")


def _changes(key: Any) -> bool:
    return key != "chunk_size_feed_forward" and any(part in str(key).lower() for part in _CHANGES)


def _refuse_other_words(entries: Mapping[str, Any], family: Family, where: str) -> None:
    """Refuse entries that nobody here has read about; without a type, all that LLaMA's configs do not have.

    Raises ``ValueError`` that names the entry and its value.
    """
    by_hand = family is BY_HAND
    for key, value in entries.items():
        known = key in (WORDS if by_hand else HARMLESS | family.words) or (_changes(key) and not says(value))
        if by_hand and says(value) and (not known or (key == "hidden_act" and value != "silu")):
            raise ValueError(
                f"{where} must say its 'model_type', or have nothing but what LLaMA's configs have, "
                f"not {shown(key)} ({shown(value)})."
            )
        # Null alone never says anything. "use_gated_mlp": false would change a count.
        if value is not None and not known and not (by_hand and key in HARMLESS):
            raise ValueError(
                f"{where} has the entry {shown(key)} ({shown(value)}), which is not known to leave the counts as they "
                f"are: it must have none but those known here."
            )


def _window(entries: Mapping[str, Any], family: Family, layers: int, longest: int, where: str) -> Window | None:
    """The layers that look at the last tokens only, whose cache stops growing there.

    Raises ``ValueError`` for windows of an architecture that is not known to have any, or layers of another kind.
    """
    key = "attention_chunk_size" if family.kind == "chunked_attention" else "sliding_window"
    window = entries.get(key, family.sliding)
    slides = entries.get("use_sliding_window", family.slides)
    kinds = entries.get("layer_types")
    if says(kinds):
        allowed = ("full_attention", family.kind)
        if not isinstance(kinds, (list, tuple)) or len(kinds) != layers or any(kind not in allowed for kind in kinds):
            raise ValueError(
                f"{where} must say in 'layer_types' {' or '.join(repr(kind) for kind in allowed if kind)} for each of "
                f"{layers} layers, not {shown(kinds)}."
            )
        closed = sum(kind != "full_attention" for kind in kinds)
    else:
        closed = family.closed(entries, layers)
    # A window as long as the longest context never closes: Phi-3-mini-128k has one.
    if not says(slides) or not says(window) or whole(key, window) >= longest or not closed:
        return None
    if not family.kind:
        raise ValueError(
            f"{where} must have attention over all tokens, not a {key!r} of {window:,} for contexts of up to "
            f"{longest:,}: its architecture is not known to have any."
        )
    return Window(tokens=window, layers=closed)


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


def _shape(entries: Mapping[str, Any], family: Family, where: str) -> dict[str, Any]:
    """The counts and flags of a `Model`, each from its entry or from what the family's class takes instead.

    Raises ``ValueError`` for a missing entry, a value that is no count, and heads that do not divide the width.
    """
    q_heads = _count(entries, where, "num_attention_heads")
    d_model = _count(entries, where, "hidden_size")
    if entries.get("head_dim") is None and not family.head_dim and not family.latent and d_model % q_heads:
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
        d_ff=_count(entries, where, family.d_ff, family.d_ff_default),
        q_heads=q_heads,
        kv_heads=kv_heads,
        head_dim=_count(entries, where, "head_dim", family.head_dim or d_model // q_heads),
        vocab=_count(entries, where, "vocab_size", family.vocab),
        tied_embeddings=flag("tie_word_embeddings", _get(entries, where, "tie_word_embeddings", family.tied)),
        biases=family.biases,
        qk_norm=family.qk_norm,
        gated=family.gated,
        norms=family.norms,
        context_window=_count(entries, where, "max_position_embeddings", family.window),
        stored=stored_in(entries, where),
    )


def _parts(entries: Mapping[str, Any], family: Family, shape: dict[str, Any], where: str) -> dict[str, Any]:
    """What stands in the layers beside or instead of a dense model's attention and MLP."""
    layers = shape["layers"]
    parts: dict[str, Any] = {"window": _window(entries, family, layers, shape["context_window"], where)}
    if family.experts:

        def count(key: str, default: int | None = None) -> int:
            return _count(entries, where, key, default)

        parts["experts"] = experts_of(family.experts, entries, layers, count, where)
    if family.latent:
        latent = latent_of(lambda key: _count(entries, where, key))
        parts |= {"latent": latent, "kv_heads": 1, "head_dim": latent.nope_dim + latent.rope_dim}
    return parts


def _count(entries: Mapping[str, Any], where: str, key: str, default: int | None = None) -> int:
    """A count, named by its key in the config: who reads the error has that file open, not `Model`."""
    return whole(key, _get(entries, where, key, default))


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
