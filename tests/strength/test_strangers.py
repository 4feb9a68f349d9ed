"""What strangers hand in: each input is answered as promised or refused in one sentence, within a second.

Eight thousand of them in every run of the tests, a hundred thousand by ``make fuzz``. What once broke a rule is in
`FOUND`, and is tried each time.
"""

import contextlib
import gc
import io
import json
import math
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, fields, replace
from decimal import Decimal
from functools import cached_property
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from scaling import cli
from scaling._checks import in_line, shown
from scaling.batching import Request
from scaling.chips import CATALOGUE, H100
from scaling.course.questions import Multiple, Numeric, Option, Ordering, Single, Trap, as_data
from scaling.deployment import Deployment, Efficiency
from scaling.engines import diagnose
from scaling.engines.metrics import Histogram, read_metrics
from scaling.models import LLAMA3_8B, LLAMA3_70B, Model, from_hf_config
from tests.conftest import tool
from tests.paths import BOOK

HERE = Path(__file__).parent


def many(share: float) -> Any:
    """So many times the examples of an ordinary law: a thousand of each thirty, in an ordinary run."""
    return settings(max_examples=int(share * settings.default.max_examples))  # type: ignore[union-attr]


@contextlib.contextmanager
def in_time() -> Iterator[None]:
    """What takes a second of the processor's time is refused; the clock on the wall also counts the others."""
    gc.disable()  # after many examples a look through all that Hypothesis remembers takes as long
    start = time.process_time()
    try:
        yield
    finally:
        gc.enable()
    assert time.process_time() - start < 1, "over a second of the processor's time"


def sentence(text: str, *, most: int = 320) -> None:
    """One line of plain text that ends like a sentence and is not too long."""
    assert text.isprintable(), f"more than one line, or what no terminal should get: {text!r}"
    assert 10 <= len(text) <= most, f"{len(text)} characters: {text!r}"
    assert text.rstrip("”)")[-1:] in (".", "!", "?"), f"no sentence: {text!r}"


PIECES = (
    *"0123456789.,_'+-eE xX×*/^% ()$<>&\"`~≈#{}[]=:;|\\@!?", "GB", "KiB", "kB", "ms", " s", " per ", "tokens", "bits",
    "million", "1e5", "1e-400", "1e400", "0x10", "NaN", "-Infinity", "null", "true", "<b>", "</script>",
    "<img src=x onerror=alert(1)>", "&lt;", "javascript:", "\u200b", "\u202e", "\ufeff", "\u0660", "１", "，", "．",
    "％", "⁵", "⁻", "½", "五", "∞", "µ", "\u0301" * 9, "constructor", "__proto__", "\0", "\ud800", "\udc00", "🍎",
    "\n", "\r", "\t", "\x1b[31m", "\x7f", "\x85", "\u2028", "9" * 40, "9" * 400, "1" * 5000, "x" * 400,
    "../" * 9, "%s%n", "-",
)  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


@st.composite
def spoilt(draw: st.DrawFn, text: str, pieces: st.SearchStrategy[str] = texts) -> str:
    """The text with up to two pieces of it replaced."""
    for _ in range(draw(st.integers(0, 2))):
        at, gone = draw(st.integers(0, len(text))), draw(st.integers(0, 9))
        text = text[:at] + draw(pieces) + text[at + gone :]
    return text


@st.composite
def written(draw: st.DrawFn, text: str) -> bytes:
    """The text as a file holds it, now and then cut off."""
    encoding = draw(st.sampled_from(["utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1"]))
    return text.encode(encoding, "replace")[: draw(st.none() | st.integers(0, 99))]


# Records -------------------------------------------------------------------------------------------------------------


class Odd:
    """A value to hand in, which a report can show even where it cannot be shown itself."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return shown(self.value)


class Unspeakable:
    """Cannot be shown or compared."""

    def __repr__(self) -> str:
        raise RuntimeError("not shown")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not compared")

    __hash__ = None  # type: ignore[assignment]


class ManyLines:
    def __repr__(self) -> str:
        return "many\n" * 99


DEEP: list[Any] = []
for _ in range(100_000):
    DEEP = [DEEP]
HUGE = 10**5000

ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 7, 1.5, 2**31, 10**15, 10**16, 10**400, -HUGE, 1e308, -1e308, 5e-324, 0.1,
    math.nan, math.inf, -math.inf, -0.0, "", " ", "x", "7", "nan", "bf16", "exact", "BF16", "a\nb", "\x1b[31m",
    "<b>x</b>", "\ud800", "\u202e", "x" * 9999, b"7", bytearray(9), 1j, Decimal("NaN"), Decimal("sNaN"), Decimal(1),
    [], [1] * 999, [HUGE], (), (1,), (1, 2), (HUGE,), (math.nan,), ("a\n",), {}, {"bf16": 1e12}, {"bf16": math.nan},
    {"bf16": "x"}, {1: 2}, {"x\n": 1}, {(): 1}, set(), range(3), object(), int, np.float64, len, Unspeakable(),
    ManyLines(), DEEP, np.int8(-1), np.int8(7), np.uint64(2**64 - 1), np.float32("nan"), np.float16(1), np.bool_(True),
    np.longdouble(2) ** 16000, np.complex64(1), np.str_("7"), np.datetime64("2026-11-01"), np.array(5), np.array(0.5),
    np.array([]), np.array([1, 2]), np.array([0.5, math.nan]), np.array([[1.5]]), np.ones((40, 40)),
    -np.ones((40, 40)), np.array(["a"]), np.array([None]), np.ma.masked, np.ma.array([1, 2], mask=[0, 1]),
    np.array([(1, 2.0)], dtype="i,f"), np.dtype("f8"), Path("x"), H100, LLAMA3_8B, Efficiency(),
)  # fmt: skip
DEPLOYMENT = Deployment(model=LLAMA3_70B, chip=H100, chips=8)
BASES = (H100, LLAMA3_8B, DEPLOYMENT, Efficiency(links=0.5), Request(prompt=3, output=2))
named_chips = st.builds(replace, st.sampled_from(CATALOGUE), name=texts.map(in_line))
odd = st.one_of(st.sampled_from(ODD), texts, named_chips).map(Odd)


@st.composite
def records(draw: st.DrawFn) -> tuple[Any, dict[str, Any]]:
    base = draw(st.sampled_from(BASES))
    names = st.sampled_from([field.name for field in fields(base)])
    return base, draw(st.dictionaries(names, odd, min_size=1, max_size=3))


def check_record(record: tuple[Any, dict[str, Odd]]) -> None:
    base, changes = record
    with in_time(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = replace(base, **{name: value.value for name, value in changes.items()})
        except ValueError as error:
            sentence(str(error))
            assert any(field.name in str(error) for field in fields(base)), f"no field is named: {error}"
            return
        for name, value in vars(type(base)).items():
            if isinstance(value, (property, cached_property)):
                with contextlib.suppress(ValueError):  # arrays of shapes that do not go together
                    getattr(made, name)


# Model configurations and the command --------------------------------------------------------------------------------

CONFIG: dict[str, Any] = {
    "num_hidden_layers": 80, "hidden_size": 8192, "intermediate_size": 28672, "num_attention_heads": 64,
    "num_key_value_heads": 8, "vocab_size": 128256, "head_dim": 128, "max_position_embeddings": 131072,
    "tie_word_embeddings": False, "_name_or_path": "a model", "num_experts": None,
}  # fmt: skip
GONE = Odd("this entry is left out")
keys = st.sampled_from(list(CONFIG))
entries = st.dictionaries(keys, odd | st.integers(0, 65_536).map(Odd) | st.just(GONE), max_size=3)
plain = st.none() | st.booleans() | st.integers() | texts | st.just([1]) | st.just({"a": []})
files = (
    st.dictionaries(keys, plain, max_size=3)
    .map(lambda some: json.dumps(CONFIG | some))
    .flatmap(lambda text: spoilt(text, texts | st.sampled_from(["9" * 6000, "[" * 99_999, "1e999", '"', "}"])))
    .flatmap(written)
)


def config_with(some: dict[str, Odd]) -> dict[str, Any]:
    return {k: v for k, v in (CONFIG | {k: v.value for k, v in some.items()}).items() if v is not GONE.value}


def check_config(config: Any) -> None:
    with in_time():
        try:
            model = from_hf_config(config)
        except FileNotFoundError as error:
            assert isinstance(config, (str, Path)) and len(str(error)) < 400 and "\n" not in str(error), str(error)
            return
        except ValueError as error:
            sentence(str(error))
            return
        assert isinstance(model, Model) and model.params > 0
        assert model.name.isprintable() and 0 < len(model.name) <= 100, model.name


words = texts | st.sampled_from(
    ["1e5", "-1", "0", "9" * 400, "1" * 5000, "--help", "-h", "--", "32", "fp8", "h200", "/", "/dev/null", "x" * 300]
)
flags = st.sampled_from(["--chip", "--weights", "--kv", "--batch", "--context", "--con", "--b=7", "--help"]) | words


def check_command(arguments: list[str]) -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")
    with in_time(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = cli.main(arguments)
        except SystemExit as stop:
            code = stop.code  # type: ignore[assignment]
    for stream in (out, err):
        stream.flush()
    said, refused = (stream.buffer.getvalue().decode("utf-8") for stream in (out, err))  # type: ignore[attr-defined]
    assert code in (0, 1, 2), code
    if code < 2:
        assert not refused and said.endswith("\n") and len(said) < 4000, (said, refused)
        assert all(line.isprintable() for line in said.splitlines()) and "\r" not in said, said
        assert "usage:" in said or 2 <= said.count("\n") <= 5, said
    else:
        assert not said and refused.startswith("scaling: ") and refused.endswith("\n"), (said, refused)
        assert refused[:-1].isprintable() and len(refused) < 320, refused


# Metrics pages -------------------------------------------------------------------------------------------------------

PAGES = tuple((BOOK / f"data/metrics_{name}.txt").read_text(encoding="utf-8") for name in ("sglang", "vllm"))
METRICS = [[part.splitlines()[1:] for part in page.split("# HELP ")[1:]] for page in PAGES]
LINES = (
    'sglang:num_running_reqs{dp_rank="1"} 7', "sglang_num_queue_reqs 3.0 1796200000000", "sglang:token_usage NaN",
    "vllm:num_requests_running 1e999", 'sglang:x_bucket{le="low"} 1', 'sglang:x_bucket{le="nan"} 1',
    'sglang:time_to_first_token_seconds_bucket{le="-1"} 9', "# EOF", "# HELP", "# TYPE a a a",
    'vllm:cache_config_info{block_size="inf",num_gpu_blocks="-1",kv_cache_size_tokens="1e400"} 1', "process_cpu 3",
    "", "\ufeff", "<html>", "{}", 'sglang:num_running_reqs{model_name="other"} 3', 'sglang:a{b="\\"c\\\\",d="\\n"} 1',
    "sglang:", "vllm_", "sglang:a{} 1 # {} 2", 'sglang:a{"b"} 1',
)  # fmt: skip
NUMBERS = "0|-1|NaN|+Inf|-Inf|1e308|-0.0|5e-324|1_0|0x1|1e||1,5|½|1 2 3|\u0661".split("|")


@st.composite
def metrics_pages(draw: st.DrawFn) -> str | bytes:
    some = st.lists(st.sampled_from(draw(st.sampled_from(METRICS))), min_size=1, max_size=6)
    lines = [line for metric in draw(some) for line in metric]
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(lines) - 1))
        line = lines[at]
        changes = st.sampled_from([
            [], [line, draw(st.sampled_from([*lines, *LINES]))], [line.replace("{", '{dp_rank="1",', 1), line],
            [f"{line.rpartition(' ')[0]} {draw(st.sampled_from(NUMBERS))}"], [draw(spoilt(line))],
            [line.replace("sglang", "vllm")], [line.replace("vllm:", "sglang:")],
        ])  # fmt: skip
        lines[at : at + 1] = draw(changes)
        lines = lines or [""]
    text = draw(st.sampled_from(["\n", "\n", "\r\n", "\n\n"])).join(lines) + draw(st.sampled_from(["\n", "", "\0"]))
    return draw(st.just(text) | written(text))


def check_page(page: str | bytes) -> None:
    with in_time():
        try:
            metrics = read_metrics(page)
        except ValueError as error:
            sentence(str(error), most=400)
            assert str(error).startswith(("text must ", "model must ")), str(error)
            return
    assert metrics.engine in ("sglang", "vllm") and metrics.replicas >= 1
    for name, value in asdict(metrics).items():
        if isinstance(value, float):
            assert 0 <= value < (1.001 if name == "prefix_hit_rate" else math.inf), (name, value)
    with in_time():
        for histogram in (metrics.ttft, metrics.tpot, metrics.queue):
            if histogram is not None:
                check_histogram(histogram)
        assert all(value is None or 0 <= value < math.inf for value in (metrics.mean_context, metrics.mean_prompt))
        for finding in diagnose(DEPLOYMENT, metrics):
            assert str(finding).isprintable() and len(str(finding)) < 500, str(finding)


def check_histogram(histogram: Histogram) -> None:
    bounds, counts = zip(*histogram.buckets, strict=True)
    assert bounds[-1] == math.inf and list(bounds) == sorted(set(bounds)) and list(counts) == sorted(counts)
    assert histogram.count == counts[-1] >= 0
    values = [histogram.quantile(q / 4) for q in range(5)]
    assert all(math.isnan(v) for v in values) or all(a <= b for a, b in pairwise(values)), values
    assert isinstance(histogram.mean, float)


# Answers to quiz questions -------------------------------------------------------------------------------------------

SHARED: dict[str, Any] = {"prompt": "?", "hints": ("one", "two", "three"), "solution": "s"}
# Each unit with what people write for it, and its size in the base.
SIZES: dict[str, dict[str, float]] = {
    "kB": {"B": 1, "kB": 1e3, "MB": 1e6, "GiB": 2.0**30, "KiB": 1024, "bytes": 1},
    "ms": {"s": 1, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "min": 60},
    "tokens/s per card": {"tokens/s": 1, "tokens per second": 1, "tokens/ms": 1e3},
    "%": {"%": 0.01, "percent": 0.01},
    "USD/million tokens": {"USD per million tokens": 1e-6, "$/1M tokens": 1e-6},
    "sequences": {"": 1, "sequences": 1, "seqs": 1},
    "": {"": 1, "x": 1},
    **{"FLOP/USD": {}, "FLOP/B": {}, "GB/s": {}, "USD/h": {}, "sequences per step": {}, "ways": {}},
}
ANSWER = 163_840.0
TRAP = Trap(value=ANSWER / 2, feedback="Half of it: the values are missing.")
RIGHT = "All of it, the keys and the values."
NUMERIC = [
    Numeric(
        id=f"00-{i}",
        unit=unit,
        answer=ANSWER + 0.5 * bool(rtol),
        rtol=rtol,
        right=RIGHT,
        traps=(TRAP,),
        **SHARED,
    )
    for i, (unit, rtol) in enumerate(product(SIZES, (0.02, 0.0)))
]
OPTIONS = tuple(Option(text=name, feedback=f"About {name}, this.", correct=name in "bc") for name in "abcd")
OTHERS = (
    Single(id="00-s", options=(*OPTIONS[:2], OPTIONS[3]), **SHARED),
    Multiple(id="00-m", options=OPTIONS, **SHARED),
    Ordering(id="00-o", items=("a", "b", "c"), right="All in order.", other="Not in order.", **SHARED),
)
WIDE = str.maketrans("0123456789.,%", "０１２３４５６７８９．，％")
SPELLINGS: tuple[Callable[[float], str], ...] = (
    repr, "{:.12g}".format, "{:,.6f}".format, "{:.9e}".format, lambda v: f"{v:.9E}".translate(WIDE),
    lambda v: f"≈ {v:,.5f}".replace(",", "\u202f"),
    lambda v: "about {}*10**{:+d}".format(*_split(v)), lambda v: "{} × 10^{}".format(*_split(v)),
)  # fmt: skip


def _split(value: float) -> tuple[str, int]:
    digits, power = f"{value:.9e}".split("e")
    return digits, int(power)


things = [None, True, 0, 1, -1, 1.5, 1e300, "", "1", "½", [], [0], [1, 2], [[0]], {"length": 3}, {"a": {}}]
jsons = st.sampled_from(things) | st.lists(st.sampled_from("abc"), max_size=4) | st.lists(st.integers(0, 4), max_size=4)
kept = st.fixed_dictionaries(
    {"of": st.sampled_from(["this", 7]), "answer": jsons, "outcome": st.sampled_from(["right", "wrong", 1])}
    | {"attempts": jsons}
)


@st.composite
def as_people_write(draw: st.DrawFn) -> tuple[Any, str, str, str]:
    """An answer that is right, or three times too much."""
    question = draw(st.sampled_from([q for q in NUMERIC if SIZES[q.unit] and q.rtol]))
    unit, size = draw(st.sampled_from(list(SIZES[question.unit].items())))
    factor, spelling = draw(st.sampled_from([1, 3])), draw(st.sampled_from(SPELLINGS))
    number = spelling(factor * question.answer / size)
    return question, f"{number} {unit}", "typed", "right" if factor == 1 else "wrong"


numeric = st.sampled_from(NUMERIC)
ends = st.sampled_from(["e3 ", " kB", "/7 "])
nearly = st.builds("{}{}{}".format, st.integers(0, 9999), ends, texts)
any_question = st.sampled_from([*NUMERIC, *OTHERS])
answers = st.one_of(
    as_people_write(),
    st.tuples(st.sampled_from(OTHERS), jsons, st.just(""), st.none()),
    st.tuples(any_question, kept.map(json.dumps) | texts, st.just("kept"), st.none()),
    st.tuples(numeric, nearly | texts, st.sampled_from(["", "typed"]), st.none()),
)


@pytest.fixture(scope="module")
def grader() -> Iterator[Callable[[Any], dict[str, Any]]]:
    """The quiz's own grader and page, in a process of Node that answers line by line."""
    command = [tool("node"), str(HERE / "answers.mjs")]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "encoding": "utf-8"}
    with subprocess.Popen(command, bufsize=1, **pipes) as process:
        assert process.stdin and process.stdout

        def ask(task: Any) -> dict[str, Any]:
            process.stdin.write(json.dumps(task) + "\n")  # type: ignore[union-attr]
            return json.loads(process.stdout.readline())  # type: ignore[union-attr]

        yield ask
        process.kill()


def check_answer(grader: Callable[[Any], dict[str, Any]], answer: tuple[Any, Any, str, str | None]) -> None:
    question, given, how, outcome = answer
    verdict = grader([as_data(question), given, how])
    assert "error" not in verdict, verdict["error"]
    assert verdict["seconds"] < 1, verdict
    if how:
        assert verdict["untouched"], "the answer changed the page"
    if how == "kept":
        assert verdict["said"] == "" or verdict["said"].startswith(("✓ Right. ", "✗ Not yet. ")), verdict
        return
    sentence(verdict["say"])
    assert verdict["outcome"] in ("", "wrong", "right") and outcome in (None, verdict["outcome"]), verdict
    assert how == "" or verdict["said"].endswith(f". {verdict['say']}"), verdict
    if isinstance(question, Numeric) and verdict["outcome"] == "right":
        assert any(c.isdigit() for c in given), verdict


# The laws, and what was found by them ---------------------------------------------------------------------------------


@many(100)
@given(records())
def test_a_record_is_made_or_names_its_field(record: tuple[Any, dict[str, Odd]]) -> None:
    check_record(record)


@many(20)
@given(entries)
def test_a_configuration_is_read_or_refused(some: dict[str, Odd]) -> None:
    check_config(config_with(some))


@many(20)
@given(files)
def test_a_configuration_s_file_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "strange.json"
    path.write_bytes(text)
    check_config(path)


@many(20)
@given(metrics_pages())
def test_a_page_is_read_or_refused(page: str | bytes) -> None:
    check_page(page)


@many(10)
@given(st.sampled_from(["70b", "8B"]) | words, st.lists(flags, max_size=6))
def test_a_command_answers_or_refuses_in_a_line(model: str, arguments: list[str]) -> None:
    check_command([model, *arguments])


@many(100)
@given(answer=answers)
def test_an_answer_is_graded_or_sent_back(grader: Any, answer: Any) -> None:
    check_answer(grader, answer)


def _record(base: Any, **odd: Any) -> Callable[[], None]:
    return lambda: check_record((base, {name: Odd(value) for name, value in odd.items()}))


_LONG_NAMES = "".join(f'sglang:num_running_reqs{{model_name="{"m" * 900}\u202e{i}"}} 1\n' for i in range(3))
_POOL = 'vllm:num_requests_running 1\nvllm:cache_config_info{{{}="{}",block_size="16"}} 1\n'

FOUND: dict[str, Callable[[], None]] = {
    "a name that does not print": lambda: check_page('sglang:a\u200bb_bucket{le="1"} 1\n'),
    "long names of models": lambda: check_page(_LONG_NAMES),
    "more requests than atoms": lambda: check_page("sglang:num_running_reqs 1e308\n"),
    "more hits than questions": lambda: check_page(
        "vllm:prefix_cache_hits_total 9.0\nvllm:prefix_cache_queries_total 5e-324\n"
    ),
    "an endless pool": lambda: check_page(_POOL.format("kv_cache_size_tokens", "1e400")),
    "a pool beyond any float": lambda: check_page(_POOL.format("num_gpu_blocks", "9" * 400)),
    "hardly a request": lambda: check_page("sglang:num_running_reqs 5e-324\nsglang:num_used_tokens 7.0\n"),
    # These took up to half a minute.
    "two hundred thousand values": lambda: check_page("".join(f'sglang:a{{i="{i}"}} 1\n' for i in range(200_000))),
    "a long page": lambda: check_page(PAGES[0] * 1500),
    "many backslashes": lambda: check_page('sglang:x{a="' + '\\"' * 450_000 + '"} 1\n'),
    # No field was named, there was no sentence, or the error was of another kind.
    "digits in a list": _record(Efficiency(), bandwidth=[HUGE]),
    "no words": _record(H100, memory=Unspeakable()),
    "no words for a price": _record(H100, price=Unspeakable()),
    "no price": _record(H100, price=np.array([])),
    "no words for a dtype": _record(DEPLOYMENT, kv=Unspeakable()),
    "nested too deep": _record(LLAMA3_8B, vocab=DEEP),
    "a masked number": _record(LLAMA3_8B, layers=np.ma.masked),
    "the type of a number": _record(DEPLOYMENT, chips=np.float64),
    "an array of arrivals": _record(Request(prompt=3, output=2), arrival=np.array([1, 2])),
    "a dtype of many lines": _record(DEPLOYMENT, kv=np.ones((40, 40))),
    "another of many lines": _record(DEPLOYMENT, compute=ManyLines()),
    "a long dtype": _record(DEPLOYMENT, weights="x" * 9999),
    "no mapping": lambda: check_config(None),
    "a path too long": lambda: check_config("x" * 9999),
    "a path of two lines": lambda: check_config("a\nb\x1b"),
    "an array of experts": lambda: check_config(CONFIG | {"num_experts": np.array([1, 2])}),
    "a name of many digits": lambda: check_config(CONFIG | {"_name_or_path": HUGE}),
    "a long name": lambda: check_config(CONFIG | {"_name_or_path": "m\u202e" * 9999}),
    "colours": lambda: check_command(["\x1b[31m70b"]),
}


@pytest.mark.parametrize("check", FOUND.values(), ids=FOUND)
def test_what_was_found_stays_found(check: Callable[[], None]) -> None:
    check()


# The grader quoted what turns the line around, breaks it or shows nothing, and cut an emoji in half.
@pytest.mark.parametrize("typed", ["'½\udc00\r", "\u202e5 kB", "a" + "🍎" * 40])
def test_what_was_typed_stays_found(grader: Any, typed: str) -> None:
    check_answer(grader, (NUMERIC[0], typed, "typed", None))
