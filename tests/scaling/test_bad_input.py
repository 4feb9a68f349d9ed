"""Nonsense gets one clear sentence wherever it is handed in, and a reader's code never stops the lesson."""

import json
import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scaling import _checks as xp, latency, memory, pareto, roofline, sharding
from scaling.batching import Request
from scaling.chips import GB200, H100
from scaling.course.exercise import check
from scaling.course.questions import Numeric, Option, Ordering, Single, Trap, WrongOrder
from scaling.course.tables import table
from scaling.deployment import Efficiency, parallel_sizes
from scaling.models import LLAMA3_70B, from_hf_config
from scaling.units import number
from tests.scaling.toys import TOY, TOY_CHIP, TOY_MODEL

NAN, INF = math.nan, math.inf
HUGE = pytest.param(10**5000, id="huge")
ONES = np.array([1, 1])


def sentence(call: Callable[[], Any], *parts: str) -> None:
    """The call is refused in one short line that ends in a full stop and says all the parts."""
    with pytest.raises(ValueError) as error:
        call()
    said = str(error.value)
    assert said.endswith(".") and "\n" not in said and len(said) < 300
    for part in parts:
        assert part in said


# Numbers -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [xp.nonnegative, xp.finite, xp.positive, xp.count, xp.share, xp.whole])
@pytest.mark.parametrize("huge", [HUGE, 10**400, -(10**400)])
def test_a_whole_number_beyond_any_float_is_refused(rule: Callable[[str, Any], Any], huge: int) -> None:
    sentence(lambda: rule("batch", huge), "batch must be ", "not a whole number beyond any float")


def test_a_count_has_an_end() -> None:
    assert xp.count("chips", 10**15) == 10**15
    for much in (10**15 + 1, 1e308):
        sentence(
            lambda much=much: xp.count("chips", much), "chips must be a whole number of at least 1 and at most 10^15"
        )
    sentence(lambda: replace(TOY_MODEL, layers=10**300), "Model.layers", "at most 10^15")


@pytest.mark.parametrize("bad", [np.array([1.5, 2]), np.array([1, 1e16]), np.array([1, INF])])
def test_an_array_of_counts_holds_whole_numbers(bad: Any) -> None:
    sentence(lambda: replace(TOY, chips=bad), "chips must be a ", repr(bad))


@pytest.mark.parametrize("bad", [np.full((40, 40), -1), [-1] * 1000, "x\ny" * 100])
def test_a_long_value_is_cut_to_one_line(bad: Any) -> None:
    sentence(lambda: xp.nonnegative("batch", bad), "...")


def test_a_value_without_words_is_named_by_its_type() -> None:
    class Mute:
        def __repr__(self) -> str:
            raise RuntimeError

    deep: list[Any] = []
    for _ in range(10_000):
        deep = [deep]
    for bad, said in ((Mute(), "a Mute"), (deep, "a list"), ((10**5000,), "a tuple")):
        sentence(lambda bad=bad: xp.positive("batch", bad), f"not {said} that cannot be shown.")


def test_a_text_within_a_sentence_prints_and_ends() -> None:
    assert xp.in_line("a name  of parts", 16) == "a name  of parts"
    assert xp.in_line("a name of parts!", 15) == "a name of pa..."
    assert xp.in_line(" a\n\x1b[31m\u202eb \ud800 ") == "a [31m b"
    assert len(xp.in_line("x" * 200)) == 100 and len(xp.in_line("x" * 100)) == 100


@pytest.mark.parametrize("bad", [None, 5, b"name", "two\nlines", "\x1b[31m", "x" * 101])
def test_a_name_is_a_text_of_one_line(bad: Any) -> None:
    said = f"name must be a text of one line and at most 100 characters, not {xp.shown(bad)}."
    sentence(lambda: replace(TOY_CHIP, name=bad), f"Chip.{said}")
    sentence(lambda: replace(TOY_MODEL, name=bad), f"Model.{said}")
    assert replace(TOY_CHIP, name="x" * 100).name == "x" * 100


def test_a_bool_of_either_numpy_is_one() -> None:
    older = type("bool_", (), {"__repr__": lambda self: "older"})()  # what NumPy called its own up to version 1
    for value in (True, False, np.True_, older):
        assert xp.flag("metrics", value) is value
    sentence(lambda: xp.flag("metrics", type("boolean", (), {"__repr__": lambda _: "no"})()), "metrics must be True or")


@pytest.mark.parametrize("bad", [np.float64, float, np.ma.masked, np.array([(1, 2.0)], dtype="i,f")])
def test_what_only_looks_like_a_number_is_none(bad: Any) -> None:
    sentence(lambda: replace(TOY, chips=bad), "chips must be a ")
    sentence(lambda: replace(TOY_CHIP, memory=bad), "Chip.memory must be a finite number above 0, not ")


@pytest.mark.parametrize("bad", [np.array([1.0, 2.0]), np.array([]), np.array([[0.5]])])
def test_an_arrival_is_one_number(bad: Any) -> None:
    sentence(lambda: Request(prompt=1, output=1, arrival=bad), "Request.arrival must be a single number of at least 0")
    assert Request(prompt=1, output=1, arrival=np.array(0.5)).arrival == 0.5  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [np.ones((9, 9)), "x" * 999, 10**400])
def test_a_dtype_is_a_short_word(bad: Any) -> None:
    sentence(lambda: replace(TOY, kv=bad), "kv must be one of ")
    sentence(lambda: replace(TOY, compute=bad), "compute must be one of ")


def test_half_precision_is_refused_before_it_overflows() -> None:
    sentence(lambda: memory.cache_bytes(TOY, np.array([60_000], dtype=np.float16), 8192), "batch must be", "float16")


@pytest.mark.parametrize("one", [np.int32(7), np.uint8(7), np.array(7), 7.0])
def test_the_counts_of_a_model_and_a_chip_become_plain_ints(one: Any) -> None:
    model = replace(TOY_MODEL, d_ff=one, head_dim=one, vocab=one)
    assert model.params == replace(TOY_MODEL, d_ff=7, head_dim=7, vocab=7).params and type(model.params) is int
    assert type(replace(TOY_CHIP, fast_domain=one).fast_domain) is int


def test_float_heads_do_not_break_the_sizes() -> None:
    assert parallel_sizes(replace(LLAMA3_70B, q_heads=64.0), GB200) == parallel_sizes(LLAMA3_70B, GB200)


@pytest.mark.parametrize("field", ["layers", "q_heads", "kv_heads", "vocab", "context_window"])
def test_a_count_of_a_model_is_no_array(field: str) -> None:
    sentence(lambda: replace(TOY_MODEL, **{field: ONES}), f"Model.{field} must be a single whole number", repr(ONES))


# Words, flags, pairs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", ["no", "false", 0, 1, None, [], ONES, NAN])
def test_a_flag_is_true_or_false(bad: Any) -> None:
    sentence(lambda: sharding.link_bandwidth(TOY_CHIP, wrap=bad), f"wrap must be True or False, not {bad!r}.")
    sentence(lambda: latency.prefill_time(TOY, 3, attention=bad), f"attention must be True or False, not {bad!r}.")
    sentence(lambda: replace(TOY_MODEL, tied_embeddings=bad), "Model.tied_embeddings must be True or False")


def test_a_flag_may_be_numpy_s() -> None:
    wrapped = sharding.link_bandwidth(TOY_CHIP, wrap=True)
    assert sharding.link_bandwidth(TOY_CHIP, wrap=np.bool_(True)) == wrapped  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [ONES, True, [1], "1", 0, NAN])
def test_axes_are_one_number(bad: Any) -> None:
    sentence(
        lambda: sharding.link_bandwidth(TOY_CHIP, axes=bad), "axes must be a whole number from 1 to 3 on toy", repr(bad)
    )


def test_axes_may_be_numpy_s() -> None:
    assert sharding.link_bandwidth(TOY_CHIP, axes=np.int64(2)) == sharding.link_bandwidth(TOY_CHIP, axes=2)


@pytest.mark.parametrize("field", ["params", "kv_split"])
def test_a_convention_is_a_word(field: str) -> None:
    sentence(lambda: replace(TOY, **{field: ONES}), f"{field} must be one of ", repr(ONES))


@pytest.mark.parametrize(
    "bad", [5, "ab", (5,), (5, 6, 7), [5, 6], {}, (-50, -60), (0, 9), (1.5, 9), (NAN, 9), (ONES, 9)]
)
def test_a_matmul_is_a_pair_of_widths(bad: Any) -> None:
    sentence(lambda: roofline.critical_batch(H100, matmul=bad), "matmul must be a ")


def test_a_limit_checks_every_dtype_it_is_given() -> None:
    sentence(lambda: sharding.tp_limit(TOY_CHIP, 7, batch=3, compute="fp4"), "compute must be one of bf16, int8 on toy")


def test_a_batch_of_zero_never_waits_for_the_links(recwarn: Any) -> None:
    assert sharding.tp_limit(TOY_CHIP, 7, batch=0) == INF
    one = sharding.tp_limit(TOY_CHIP, 7, batch=1)
    np.testing.assert_array_equal(sharding.tp_limit(TOY_CHIP, 7, batch=np.array([0, 1])), [INF, one])
    assert not recwarn.list


@pytest.mark.parametrize("bad", [ONES, np.array([5.0])])
def test_a_front_is_of_one_finite_context(bad: Any) -> None:
    sentence(lambda: pareto.front(TOY, bad), "front needs one finite context", repr(bad))


def test_a_cost_per_layer_may_be_an_array_but_holds_times() -> None:
    times = np.array([0.0, 0.5])
    slow = replace(TOY, efficiency=Efficiency(layer_seconds=times))
    np.testing.assert_array_equal(latency.decode_step(slow, 1, 1).overhead, 3 * times)
    for bad in (np.array([0, NAN]), np.array([0, INF]), np.array([0, -1])):
        sentence(
            lambda bad=bad: Efficiency(layer_seconds=bad), "Efficiency.layer_seconds must be a finite number", repr(bad)
        )


# Configs and the command ---------------------------------------------------------------------------------------------

CONFIG: dict[str, Any] = {
    **{"num_hidden_layers": 80, "hidden_size": 8192, "intermediate_size": 28672, "vocab_size": 128256},
    **{"num_attention_heads": 64, "num_key_value_heads": 8},
}


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"tie_word_embeddings": "false"}, "tie_word_embeddings must be True or False, not 'false'."),
        ({"num_hidden_layers": 10**400}, "num_hidden_layers must be"),
        ({"hidden_size": 10**300}, "hidden_size must be"),
        ({"num_attention_heads": [64]}, "num_attention_heads must be"),
    ],
)
def test_a_config_with_nonsense(entry: dict[str, Any], said: str) -> None:
    sentence(lambda: from_hf_config(CONFIG | entry), said)


@pytest.mark.parametrize("bad", [None, 70, 1.5, b"70b", ["config.json"]])
def test_a_config_is_a_mapping_or_a_path(bad: Any) -> None:
    sentence(lambda: from_hf_config(bad), f"config must be a mapping or the path of a config.json, not {bad!r}.")


def test_a_path_that_no_file_can_have() -> None:
    for path in ("x" * 9999, "a\0b"):
        with pytest.raises(FileNotFoundError, match="there is no config file at ") as error:
            from_hf_config(path)
        assert len(str(error.value)) < 300 and str(error.value).isprintable()


@pytest.mark.parametrize(("said", "name"), [("a\n\x1bmodel", "a model"), (5, "model"), ("m" * 200, "m" * 97 + "...")])
def test_the_name_in_a_config_becomes_one_line(said: Any, name: str) -> None:
    assert from_hf_config(CONFIG | {"_name_or_path": said}).name == name


def test_a_byte_order_mark_and_odd_names_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "my config é.json"
    path.write_text("\ufeff" + json.dumps(CONFIG), encoding="utf-8")
    assert from_hf_config(path).params == LLAMA3_70B.params


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "the following arguments are required: model"),
        (
            ["7b"],
            "there is no config file at 7b: give 8b, 70b, 405b, 3.1-8b, 3.1-70b, 3.3-70b or the path of a config.json.",
        ),
        (["a\nb"], "there is no config file at a b"),
        (["70b", "--chip", "abacus"], "invalid choice: 'abacus'"),
        (["70b", "--weights", "int3"], "invalid choice: 'int3'"),
        (["70b", "--batch", "1.5"], "invalid int value: '1.5'"),
        (["70b", "--batch", "9" * 400], "batch must be a number"),
        (["70b", "--context", "9" * 5000], "invalid int value"),
        (["70b", "--colour"], "unrecognized arguments: --colour"),
        (["70b", "80b"], "unrecognized arguments: 80b"),
        (["/"], "there is no config file at /"),
    ],
)
def test_the_command_says_one_line(arguments: list[str], said: str) -> None:
    command = [sys.executable, "-m", "scaling", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stdout == ""
    assert said in done.stderr and done.stderr.count("\n") == 1 and len(done.stderr) < 320


# Exercises -----------------------------------------------------------------------------------------------------------


class Hostile:
    """Cannot be shown, compared or turned into a number."""

    def __repr__(self) -> str:
        raise RuntimeError("not shown")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not compared")

    def __float__(self) -> float:
        raise RuntimeError("no number")

    __hash__ = None  # type: ignore[assignment]


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def outcome(mine: Any, expected: Any, capsys: pytest.CaptureFixture[str]) -> str:
    check(mine, lambda a: expected, [{"a": 1}])
    return capsys.readouterr().out


def stops(error: BaseException) -> Callable[..., Any]:
    def mine(a: int) -> None:
        raise error

    return mine


@pytest.mark.parametrize(
    "error", [SystemExit(3), MuteError(), ValueError("a\nb\n" * 500), RecursionError(), StopIteration()]
)
def test_a_function_that_stops_in_any_way(error: BaseException, capsys: pytest.CaptureFixture[str]) -> None:
    out = outcome(stops(error), 4.0, capsys)
    assert "your function stopped with " in out and type(error).__name__ in out
    assert len(out.splitlines()) == 2 and len(out) < 500


@pytest.mark.parametrize("mine", [..., None, 4.0, "4", int])
def test_what_is_no_function_of_these_arguments(mine: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert "your function stopped with TypeError" in outcome(mine, 4.0, capsys)


@pytest.mark.parametrize(
    "answer", [Hostile(), "4", "4.0", b"4", bytearray(b"4"), np.str_("4"), np.zeros((30, 30)), HUGE]
)
@pytest.mark.parametrize("expected", [4.0, True])
def test_an_answer_that_is_no_number_is_never_right(
    answer: Any, expected: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    out = outcome(lambda a: answer, expected, capsys)
    assert out.startswith("Not yet") and len(out.splitlines()) == 2 and len(out) < 300


@pytest.mark.parametrize(
    ("answer", "expected"), [(np.True_, True), (False, np.False_), (np.array(4.0), 4), (4, np.float32(4))]
)
def test_numpy_s_scalars_are_as_good_as_python_s(
    answer: Any, expected: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert outcome(lambda a: answer, expected, capsys).startswith("Right")


# Tables and questions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [None, [1], object(), 1j, ONES, HUGE])
def test_a_cell_is_a_number_or_text(bad: Any) -> None:
    sentence(lambda: table({"a": [bad]}, "t"), "column 'a': a cell must be a number, text, True or False, not ")


def test_a_table_has_a_column() -> None:
    sentence(lambda: table({}, "t"), "columns must map at least one name to its cells, not {}.")


def test_numpy_s_whole_numbers_keep_their_digits() -> None:
    assert [number(v) for v in (np.int32(5), np.array(163_840), np.float64(5), np.array(True))] == [
        "5",
        "163,840",
        "5.000",
        "yes",
    ]


SHARED: dict[str, Any] = {"id": "99-q", "prompt": "Why?", "hints": ("one", "two", "three"), "solution": "So."}
RIGHT, WRONG, OTHER = (Option(text=text, feedback="f", correct=text == "r") for text in "rwo")
RECORDS: dict[type, dict[str, Any]] = {
    Option: {"text": "t", "feedback": "f", "correct": True},
    Trap: {"value": 3.0, "feedback": "f"},
    WrongOrder: {"order": ("b", "a", "c"), "feedback": "f"},
    Single: {**SHARED, "options": (RIGHT, WRONG, OTHER)},
    Ordering: {**SHARED, "items": ("a", "b", "c"), "right": "r", "other": "o", "traps": ()},
    Numeric: {**SHARED, "answer": 5.0, "unit": "GB", "right": "r", "traps": (), "rtol": 0.02},
}


@pytest.mark.parametrize(("kind", "field"), [(kind, field) for kind, fields in RECORDS.items() for field in fields])
@pytest.mark.parametrize("bad", [None, 1j, NAN, ONES, {}, [1, 2, 3], ("a", 1, None), object(), HUGE])
def test_a_question_of_the_wrong_stuff_is_refused(kind: type, field: str, bad: Any) -> None:
    kind(**RECORDS[kind])
    sentence(lambda: kind(**{**RECORDS[kind], field: bad}), field, " must be ", ", not ")
