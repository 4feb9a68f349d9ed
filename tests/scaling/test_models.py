import ast
import copy
import inspect
import math
import pickle
from dataclasses import replace
from typing import Any

import pytest

from scaling import models
from scaling.models import (
    LLAMA3_8B,
    LLAMA3_70B,
    LLAMA3_405B,
    LLAMA31_8B,
    LLAMA31_70B,
    LLAMA33_70B,
    Model,
)
from tests.scaling.toys import TOY_MODEL

COUNTS = ("layers", "d_model", "d_ff", "q_heads", "kv_heads", "head_dim", "vocab", "context_window")


def test_params_by_hand() -> None:
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


def test_biases_and_norms_of_heads_by_hand() -> None:
    biased = replace(TOY_MODEL, biases=("qkv",))
    assert biased.bias_params == 1014  # 3 x (22 + 2 x 2) x 13
    assert biased.params == 9880 + 1014
    normed = replace(TOY_MODEL, qk_norm=True)
    assert normed.norm_params == 35 + 78  # 2 x 3 x 13
    assert normed.params == 9880 + 78
    assert biased.matmul_params == normed.matmul_params == TOY_MODEL.matmul_params


@pytest.mark.parametrize(("dtype", "size"), [("fp32", 624), ("bf16", 312), ("int8", 156), ("int4", 78)])
def test_kv_bytes_per_token_by_hand(dtype: str, size: float) -> None:
    assert TOY_MODEL.kv_bytes_per_token(dtype) == size  # 2 x 3 x 2 x 13 x b


def test_kv_bytes_per_token_is_bf16_unless_said() -> None:
    assert TOY_MODEL.kv_bytes_per_token() == 312
    with pytest.raises(ValueError, match=r"dtype must be one of .*, not 'int3'"):
        TOY_MODEL.kv_bytes_per_token("int3")


EXACT = {
    **{LLAMA3_8B: 8_030_261_248, LLAMA3_70B: 70_553_706_496, LLAMA3_405B: 405_853_388_800},
    **{models.LLAMA2_7B: 6_738_415_616, models.LLAMA2_13B: 13_015_864_320, models.LLAMA2_70B: 68_976_648_192},
    **{models.LLAMA32_1B: 1_235_814_400, models.LLAMA32_3B: 3_212_749_824},
}


@pytest.mark.parametrize("model", EXACT, ids=lambda model: model.name)
def test_catalogue_counts_are_exact_and_computed(model: Model) -> None:
    assert model.params == EXACT[model]
    assert type(model.params) is int
    small = model.params < 4e9  # where a round number in the name is far off
    assert model.nominal_params == pytest.approx(model.params, rel=0.2 if small else 0.04)
    assert model.source and model.date


@pytest.mark.parametrize(
    ("model", "nominal", "window", "kv"),
    [
        *[(LLAMA3_8B, 8e9, 8192, 131_072), (LLAMA3_70B, 70e9, 8192, 327_680), (LLAMA3_405B, 405e9, 131_072, 516_096)],
        *[(models.LLAMA2_7B, 7e9, 4096, 524_288), (models.LLAMA2_13B, 13e9, 4096, 819_200)],
        *[(models.LLAMA2_70B, 70e9, 4096, 327_680)],
        *[(models.LLAMA32_1B, 1e9, 131_072, 32_768), (models.LLAMA32_3B, 3e9, 131_072, 114_688)],
    ],
)
def test_catalogue(model: Model, nominal: float, window: int, kv: float) -> None:
    assert (model.nominal_params, model.context_window) == (nominal, window)
    assert model.kv_bytes_per_token() == kv


def test_no_count_is_typed() -> None:
    """The source holds shapes only: no number in it is near any count that a shape gives."""
    typed = [n.value for n in ast.walk(ast.parse(inspect.getsource(models))) if isinstance(n, ast.Constant)]
    numbers = [n for n in typed if isinstance(n, (int, float)) and not isinstance(n, bool)]
    nominal = {1e9, 3e9, 7e9, 8e9, 13e9, 70e9, 405e9}
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


@pytest.mark.parametrize("field", ["tied_embeddings", "gated", "qk_norm"])
def test_bad_flag(field: str) -> None:
    with pytest.raises(ValueError, match=rf"^Model\.{field} must be True or False, not 'no'\.$"):
        replace(TOY_MODEL, **{field: "no"})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"stored": "int3"}, "Model.stored must be one of "),
        ({"checkpoints": {"int3": "a/b"}}, "Model.checkpoints must be one of "),
        ({"checkpoints": {"fp8": 8}}, "Model.checkpoints['fp8'] must be a text of one line"),
        ({"checkpoints": ["a/b"]}, "Model.checkpoints must map a dtype to the name of a checkpoint, not ['a/b']."),
    ],
)
def test_bad_checkpoints(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError) as error:
        replace(TOY_MODEL, **given)
    assert str(error.value).startswith(said)


def test_nobody_changes_the_checkpoints_of_a_model() -> None:
    mine = {"fp8": "a/b"}
    model = replace(TOY_MODEL, checkpoints=mine)
    mine["fp8"] = "c/d"
    assert model.checkpoints == {"fp8": "a/b"}
    assert not hasattr(model.checkpoints, "__setitem__") and not hasattr(model.checkpoints, "update")
    for copied in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert copied.checkpoints == model.checkpoints and hash(copied.checkpoints) == hash(model.checkpoints)


# The catalogue ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("newer", "older", "name"),
    [
        (LLAMA31_8B, LLAMA3_8B, "LLaMA 3.1-8B"),
        (LLAMA31_70B, LLAMA3_70B, "LLaMA 3.1-70B"),
        (LLAMA33_70B, LLAMA3_70B, "LLaMA 3.3-70B"),
    ],
    ids=lambda given: getattr(given, "name", None),
)
def test_newer_llamas_have_the_same_matrices_and_another_window(newer: Model, older: Model, name: str) -> None:
    assert (newer.name, newer.context_window) == (name, 131_072)
    assert newer.params == older.params and newer.kv_bytes_per_token() == older.kv_bytes_per_token()
    for dtype in set(newer.checkpoints) & set(older.checkpoints):
        assert newer.checkpoints[dtype] != older.checkpoints[dtype]


@pytest.mark.parametrize("model", [m for m in vars(models).values() if isinstance(m, Model)], ids=lambda m: m.name)
def test_checkpoints_are_of_the_model_and_the_dtype(model: Model) -> None:
    """The version and the size stand in the name, and beside bf16 how it is stored."""
    version, size = model.name.removeprefix("LLaMA ").split("-")
    words = {"bf16": "", "fp8": "fp8", "int8": "w8a8", "int4": "awq"}
    first, tuned = ("chat-hf", {"bf16"}) if version == "2" else ("instruct", {"bf16", "fp8"})
    assert tuned <= set(model.checkpoints)
    for dtype, name in model.checkpoints.items():
        wanted = "3.1" if model is LLAMA3_405B else version
        assert f"llama-{wanted}-{size}-{first}".lower() in name.lower() and words[dtype] in name.lower()


def test_a_context_beyond_the_window_is_said() -> None:
    assert LLAMA3_70B.window_note(8192) == LLAMA33_70B.window_note(131_072) == ""
    assert LLAMA3_70B.window_note(131_072) == "LLaMA 3-70B was made for 8,192 tokens at most, not 131,072."


def test_where_and_when_the_catalogue_was_read() -> None:
    said = "The Llama 3 Herd of Models, arXiv 2407.21783, table 3; published config.json"
    for model in (LLAMA3_8B, LLAMA3_70B, LLAMA3_405B):
        assert (model.source, model.date) == (said, "2024-07")
