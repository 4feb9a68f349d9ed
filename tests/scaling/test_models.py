import ast
import inspect
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from scaling import models
from scaling.models import LLAMA3_8B, LLAMA3_70B, LLAMA3_405B, Model, from_hf_config
from tests.scaling.toys import TOY_MODEL

COUNTS = ("layers", "d_model", "d_ff", "q_heads", "kv_heads", "head_dim", "vocab", "context_window")


def test_counts_by_hand() -> None:
    assert TOY_MODEL.attention_params == 9360  # 3 x (2 x 5 x 22 x 13 + 2 x 5 x 2 x 13)
    assert TOY_MODEL.mlp_params == 315  # 3 x 3 x 5 x 7
    assert TOY_MODEL.vocab_params == 170  # 2 x 17 x 5
    assert TOY_MODEL.norm_params == 35  # (2 x 3 + 1) x 5
    assert TOY_MODEL.params == 9880
    assert TOY_MODEL.matmul_params == 9760  # 9360 + 315 + 17 x 5


def test_tied_embeddings_are_stored_once_and_multiplied_once() -> None:
    tied = replace(TOY_MODEL, tied_embeddings=True)
    assert tied.vocab_params == 85
    assert tied.params == 9880 - 85
    assert tied.matmul_params == 9760


@pytest.mark.parametrize(("dtype", "size"), [("fp32", 624), ("bf16", 312), ("int8", 156), ("int4", 78)])
def test_kv_bytes_per_token_by_hand(dtype: str, size: float) -> None:
    assert TOY_MODEL.kv_bytes_per_token(dtype) == size  # 2 x 3 x 2 x 13 x b


def test_kv_bytes_per_token_is_bf16_unless_said() -> None:
    assert TOY_MODEL.kv_bytes_per_token() == 312
    with pytest.raises(ValueError, match=r"dtype must be one of .*, not 'int3'"):
        TOY_MODEL.kv_bytes_per_token("int3")


EXACT = {LLAMA3_8B: 8_030_261_248, LLAMA3_70B: 70_553_706_496, LLAMA3_405B: 405_853_388_800}


@pytest.mark.parametrize("model", EXACT, ids=lambda model: model.name)
def test_catalogue_counts_are_exact_and_computed(model: Model) -> None:
    assert model.params == EXACT[model]
    assert type(model.params) is int
    assert model.nominal_params == pytest.approx(model.params, rel=0.01)
    assert model.source and model.date


@pytest.mark.parametrize(
    ("model", "nominal", "window", "kv"),
    [(LLAMA3_8B, 8e9, 8192, 131_072), (LLAMA3_70B, 70e9, 8192, 327_680), (LLAMA3_405B, 405e9, 131_072, 516_096)],
)
def test_catalogue(model: Model, nominal: float, window: int, kv: float) -> None:
    assert (model.nominal_params, model.context_window) == (nominal, window)
    assert model.kv_bytes_per_token() == kv


def test_no_count_is_typed() -> None:
    """The source holds shapes only: no number in it is near any count that a shape gives."""
    typed = [n.value for n in ast.walk(ast.parse(inspect.getsource(models))) if isinstance(n, ast.Constant)]
    numbers = [n for n in typed if isinstance(n, (int, float)) and not isinstance(n, bool)]
    nominal = {8e9, 70e9, 405e9}
    assert nominal < set(numbers)
    assert max(n for n in numbers if n not in nominal) == 131_072


@pytest.mark.parametrize("field", COUNTS)
@pytest.mark.parametrize("bad", [0, -1, 2.5, math.nan, math.inf, "3", None, True, [3]])
def test_bad_count(field: str, bad: object) -> None:
    with pytest.raises(ValueError, match=rf"^Model.{field} must be a .*(of at least 1|above 0), not ") as error:
        replace(TOY_MODEL, **{field: bad})
    assert repr(bad) in str(error.value)


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, "70B", None, True])
def test_bad_nominal_params(bad: object) -> None:
    with pytest.raises(ValueError) as error:
        replace(TOY_MODEL, nominal_params=bad)  # type: ignore[arg-type]
    assert str(error.value) == f"Model.nominal_params must be a finite number above 0, not {bad!r}."


@pytest.mark.parametrize(("q_heads", "kv_heads"), [(22, 3), (3, 5), (64, 48)])
def test_heads_that_do_not_divide(q_heads: int, kv_heads: int) -> None:
    with pytest.raises(ValueError) as error:
        replace(TOY_MODEL, q_heads=q_heads, kv_heads=kv_heads)
    assert str(error.value) == f"Model.q_heads must be a multiple of Model.kv_heads, not {q_heads} over {kv_heads}."


# Hugging Face configs -----------------------------------------------------------------------------------------------


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
    uneven = from_hf_config({**entries, "vocab_size": 17, "hidden_size": 115})
    assert uneven.head_dim == 10  # as the library that writes such files divides
    more = {"head_dim": 13, "tie_word_embeddings": True, "max_position_embeddings": 19, "_name_or_path": "org/toy"}
    full = from_hf_config({**entries, "vocab_size": 17, **more})
    assert (full.head_dim, full.tied_embeddings, full.context_window, full.name) == (13, True, 19, "org/toy")


def test_a_config_in_a_file_has_its_name(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(CONFIGS[LLAMA3_8B]))
    assert (from_hf_config(path).name, from_hf_config(path).source) == ("mine.json", "config mine.json")
    path.write_text(json.dumps(CONFIGS[LLAMA3_8B] | {"num_experts": 8}))
    with pytest.raises(ValueError, match=r"^config mine\.json must be of a dense model, without 'num_experts'\.$"):
        from_hf_config(path)
    with pytest.raises(ValueError, match=r"^config must be of a dense model, without 'num_experts'\.$"):
        from_hf_config(CONFIGS[LLAMA3_8B] | {"num_experts": 8})


@pytest.mark.parametrize("none", [None, 0, 0.0, False])
def test_a_model_with_no_experts_is_dense(none: object) -> None:
    assert from_hf_config(CONFIGS[LLAMA3_8B] | {"num_experts": none}).params == EXACT[LLAMA3_8B]
    for some in (1, 8, True, "8", [8]):
        with pytest.raises(ValueError, match="must be of a dense model, without 'num_experts'"):
            from_hf_config(CONFIGS[LLAMA3_8B] | {"num_experts": some})


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
    with pytest.raises(ValueError, match=r" must be .*, not ") as error:
        from_hf_config(CONFIGS[LLAMA3_8B] | {key: bad})
    assert repr(bad) in str(error.value)


@pytest.mark.parametrize("bad", [None, 3, ["config.json"], 1.5])
def test_neither_path_nor_dictionary(bad: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        from_hf_config(bad)  # type: ignore[arg-type]


def test_where_and_when_the_catalogue_was_read() -> None:
    said = "The Llama 3 Herd of Models, arXiv 2407.21783, table 3; published config.json"
    for model in (LLAMA3_8B, LLAMA3_70B, LLAMA3_405B):
        assert (model.source, model.date) == (said, "2024-07")
