"""What strangers hand in, made from bytes, and what must hold of the answer.

A target makes an input from bytes (libFuzzer grows them, Hypothesis shrinks them) and checks the answer: a value of the
kind that the documentation promises, or one plain sentence. Neither may take a second of the processor's time.
"""

import contextlib
import io
import json
import math
import select
import shutil
import signal
import subprocess
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from decimal import Decimal
from fractions import Fraction
from functools import cache, cached_property
from itertools import pairwise, product
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from scaling import cli
from scaling._checks import shown
from scaling.batching import Request
from scaling.chips import CATALOGUE, H100, Chip
from scaling.deployment import Deployment, Efficiency
from scaling.engines import diagnose
from scaling.engines.metrics import Histogram, Metrics, read_metrics
from scaling.models import LLAMA3_8B, LLAMA3_70B, Model, from_hf_config
from tests.paths import BOOK

T = TypeVar("T")
HERE = Path(__file__).parent
DATA = BOOK / "data"
LIMIT = 1.0  # seconds of the processor's time


class Source:
    """Choices read off bytes, one after the other. When they run out, the first of everything is chosen."""

    def __init__(self, data: bytes) -> None:
        self._bytes = iter(data)

    def below(self, n: int) -> int:
        """A whole number from 0 to n - 1."""
        value = next(self._bytes, 0)
        if n > 256:
            value = 256 * value + next(self._bytes, 0)
        return value % n

    def pick(self, items: Sequence[T]) -> T:
        return items[self.below(len(items))]

    def some(self, items: Sequence[T], most: int) -> list[T]:
        return [self.pick(items) for _ in range(self.below(most + 1))]

    def text(self, most: int) -> str:
        return "".join(self.some(PIECES, most))


class Target(NamedTuple):
    """How an input is made, and what is checked of it."""

    make: Callable[[Source], Any]
    check: Callable[[Any], None]


class TooLong(BaseException):
    """Not an `Exception`, so that no handler on the way takes it for a wrong input."""


def _stop(*_: object) -> None:
    raise TooLong


@cache
def _clock() -> Callable[[float], Any]:
    """Sets the alarm, where the system has one for the processor's time."""
    if not hasattr(signal, "setitimer"):
        return lambda seconds: None
    signal.signal(signal.SIGVTALRM, _stop)
    return lambda seconds: signal.setitimer(signal.ITIMER_VIRTUAL, seconds)


@contextlib.contextmanager
def in_time() -> Iterator[None]:
    """Stop what takes longer than `LIMIT`, where that can be done, and refuse it afterwards anywhere."""
    alarm, start = _clock(), time.process_time()
    alarm(LIMIT)
    try:
        yield
    except TooLong as error:  # pytest cannot show the frames that an alarm stops in
        frames = [frame.f_code.co_name for frame, _ in traceback.walk_tb(error.__traceback__)]
        raise AssertionError(f"over {LIMIT} s of the processor's time in {', '.join(frames[1:])}") from None
    finally:
        alarm(0)
    assert time.process_time() - start < LIMIT, "over a second of the processor's time"


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


# Answers to quiz questions -------------------------------------------------------------------------------------------

SHARED = {"prompt": "?", "hints": ["one", "two", "three"], "solution": "s"}
SIZES = {
    "kB": {"B": 1, "kB": 1e3, "MB": 1e6, "GiB": 2.0**30, "KiB": 1024, "bytes": 1},
    "ms": {"s": 1, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "min": 60},
    "tokens/s per card": {"tokens/s": 1, "tokens per second": 1, "tokens/ms": 1e3},
    "%": {"%": 0.01, "percent": 0.01},
    "USD/million tokens": {"USD per million tokens": 1e-6, "$/1M tokens": 1e-6},
    "sequences": {"": 1, "sequences": 1, "seqs": 1},
    "": {"": 1, "x": 1},
    **{"FLOP/USD": {}, "FLOP/B": {}, "GB/s": {}, "USD/h": {}, "sequences per step": {}, "ways": {}},
}
_TRAP = {"value": 81920.0, "feedback": "Half of it: the values are missing."}
NUMERIC = [
    {"id": f"00-{i}", "kind": "numeric", "unit": unit, "answer": 163840.0, "rtol": rtol}
    | {"right": "All of it.", "traps": [_TRAP], **SHARED}
    for i, (unit, rtol) in enumerate(product(SIZES, (0.02, 0.0)))
]
_OPTIONS = [{"text": name, "feedback": f"About {name}, this.", "correct": name in "bc"} for name in "abcd"]
OTHERS = [
    {"id": "00-s", "kind": "single", "options": _OPTIONS[:2] + _OPTIONS[3:], **SHARED},
    {"id": "00-m", "kind": "multiple", "options": _OPTIONS, **SHARED},
    {
        "id": "00-o",
        "kind": "ordering",
        "items": list("abc"),
        "right": "All in order.",
        "other": "Not in order.",
        "traps": [],
        **SHARED,
    },
]
WIDE = str.maketrans("0123456789.,%", "０１２３４５６７８９．，％")
SPELLINGS: tuple[Callable[[float], str], ...] = (
    lambda v: repr(v),
    lambda v: f"{v:.12g}",
    lambda v: f"{v:,.6f}",
    lambda v: f"{v:.9e}",
    lambda v: f"{v:.9E}".translate(WIDE),
    lambda v: f"≈ {v:,.5f}".replace(",", "\u202f"),
    lambda v: "{:.9f} × 10^{}".format(*_split(v)),
    lambda v: "about {:.9f}*10**{:+d}".format(*_split(v)),
)


def _split(value: float) -> tuple[float, int]:
    power = math.floor(math.log10(abs(value)))
    return value / 10.0**power, power


class Answer(NamedTuple):
    """An answer, how it gets in, and the outcome where it is known beforehand."""

    question: dict[str, Any]
    answer: Any
    how: str = ""
    outcome: str | None = None


def make_answer(source: Source) -> Answer:
    way = source.below(8)
    question = source.pick(NUMERIC)
    if way == 0:  # as people write it, right or three times too much
        question = source.pick([q for q in NUMERIC if SIZES[q["unit"]] and q["rtol"]])
        unit, size = source.pick(list(SIZES[question["unit"]].items()))
        factor = source.pick([1, 3])
        written = source.pick(SPELLINGS)(factor * question["answer"] / size)
        return Answer(question, f"{written} {unit}", "typed", "right" if factor == 1 else "wrong")
    if way == 1:
        return Answer(
            source.pick(OTHERS), source.pick([_json(source), source.some("abc", 4), source.some(range(5), 4)])
        )
    if way == 2:
        kept = {
            "of": source.pick(["this", "this", 7]),  # the wording that was answered
            "answer": _json(source),
            "outcome": source.pick(["right", "wrong", 1]),
            "attempts": _json(source),
        }
        return Answer(source.pick([question, *OTHERS]), source.pick([json.dumps(kept), source.text(12)]), "kept")
    number = source.pick(["", *(f"{source.below(9999)}{end}" for end in (" ", "e3 ", f" {question['unit']}", "/7 "))])
    return Answer(question, number + source.text(source.pick([1, 2, 3, 12])), source.pick(["", "typed"]))


def _json(source: Source) -> Any:
    return source.pick(
        [None, True, 0, 1, -1, 1.5, 1e300, "", "1", source.text(4), [], [0], [1, 2], [[0]], {"length": 3}, {"a": {}}]
    )


class Grader:
    """A quiz's own grader and page, in one process of Node that answers line by line; without a folder, the book's."""

    def __init__(self, *quiz: str, patience: float = 60) -> None:
        self.quiz, self.patience = quiz, patience

    @cached_property
    def process(self) -> subprocess.Popen[str]:
        command = [shutil.which("node") or "node", str(HERE / "answers.mjs"), *self.quiz]
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", bufsize=1
        )

    def __call__(self, tasks: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin and stdout
        stdin.write(json.dumps(tasks) + "\n")
        stdin.flush()
        if not select.select([stdout], [], [], self.patience)[0]:  # by the clock on the wall: the machine may be busy
            self.close()
            raise TooLong(f"no answer from the grader in {self.patience} s")
        return json.loads(stdout.readline())

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        del self.process


grader = Grader()


def check_answers(given: list[Answer]) -> None:
    for answer, verdict in zip(given, grader([(a.question, a.answer, a.how) for a in given]), strict=True):
        try:
            check_verdict(answer, verdict)
        except AssertionError as error:
            raise AssertionError(f"{answer}: {error}") from error


def check_verdict(given: Answer, verdict: dict[str, Any]) -> None:
    assert "error" not in verdict, verdict["error"]
    assert verdict["seconds"] < LIMIT, verdict
    if given.how:
        assert verdict["untouched"], "the answer changed the page"
    if given.how == "kept":
        assert verdict["said"] == "" or verdict["said"].startswith(("✓ Right. ", "✗ Not yet. ")), verdict
        return
    sentence(verdict["say"])
    assert verdict["outcome"] in ("", "wrong", "right") and given.outcome in (None, verdict["outcome"]), verdict
    assert given.how == "" or verdict["said"].endswith(f". {verdict['say']}"), verdict
    if given.question["kind"] == "numeric" and verdict["outcome"] == "right":
        assert any(c.isdigit() for c in given.answer), verdict


# Metrics pages -------------------------------------------------------------------------------------------------------

PAGES = tuple((DATA / f"metrics_{name}.txt").read_text(encoding="utf-8") for name in ("sglang", "vllm"))
METRICS = tuple(tuple(part.splitlines()[1:] for part in page.split("# HELP ")[1:]) for page in PAGES)
LINES = (
    'sglang:num_running_reqs{dp_rank="1"} 7', "sglang_num_queue_reqs 3.0 1796200000000", "sglang:token_usage NaN",
    "vllm:num_requests_running 1e999", 'sglang:x_bucket{le="low"} 1', 'sglang:x_bucket{le="nan"} 1',
    'sglang:time_to_first_token_seconds_bucket{le="-1"} 9', "# EOF", "# HELP", "# TYPE a a a",
    'vllm:cache_config_info{block_size="inf",num_gpu_blocks="-1",kv_cache_size_tokens="1e400"} 1', "process_cpu 3",
    "", "\ufeff", "<html>", "{}", 'sglang:num_running_reqs{model_name="other"} 3', 'sglang:a{b="\\"c\\\\",d="\\n"} 1',
    "sglang:", "vllm_", "sglang:a{} 1 # {} 2", 'sglang:a{"b"} 1',
)  # fmt: skip
NUMBERS = (
    "0",
    "-1",
    "NaN",
    "+Inf",
    "-Inf",
    "1e308",
    "-0.0",
    "5e-324",
    "1_0",
    "0x1",
    "1e",
    "",
    "1,5",
    "½",
    "1 2 3",
    "\u0661",
)
PAGE_DEPLOYMENT = Deployment(model=LLAMA3_70B, chip=H100, chips=8)


def make_page(source: Source) -> str | bytes:
    lines = [line for metric in source.some(source.pick(METRICS), 6) for line in metric] or [""]
    for _ in range(source.pick([0, 1, 1, 2, 2, 3, 6])):
        at = source.below(len(lines))
        lines[at : at + 1] = _instead(lines[at], lines, source)
        lines = lines or [""]
    text = source.pick(["\n", "\n", "\r\n", "\n\n"]).join(lines) + source.pick([*"\n\n\n\n\n\0 ", ""])
    if source.below(8):
        return text
    return text.encode(source.pick(["utf-8", "utf-16", "latin-1"]), "replace")[source.below(3) :]


def _instead(line: str, lines: list[str], source: Source) -> list[str]:
    """What stands in place of a line."""
    change, cut = source.below(9), source.below(len(line) + 1)
    changes: tuple[Callable[[], list[str]], ...] = (
        lambda: [],
        lambda: [line, source.pick(lines)],
        lambda: [line, source.pick(LINES)],
        lambda: [f"{line.rpartition(' ')[0]} {source.pick(NUMBERS)}"],
        lambda: [line.replace("{", '{dp_rank="1",', 1), line],
        lambda: [line[:cut] + source.text(3) + line[cut:]],
        lambda: [line[:cut] + line[cut + 1 + source.below(9) :]],
        lambda: [line[:cut]],
        lambda: [line.replace("sglang", "vllm") if source.below(2) else line.replace("vllm:", "sglang:")],
    )
    return changes[change]()


def check_page(page: str | bytes) -> None:
    with in_time():
        try:
            metrics = read_metrics(page)
        except ValueError as error:
            said = str(error)
            sentence(said, most=400)
            assert said.startswith(("text must ", "model must ")), said
            return
    assert isinstance(metrics, Metrics) and metrics.engine in ("sglang", "vllm") and metrics.replicas >= 1
    for name, value in asdict(metrics).items():
        if isinstance(value, float):
            assert 0 <= value < (1.001 if name == "prefix_hit_rate" else math.inf), (name, value)
    with in_time():
        for histogram in (metrics.ttft, metrics.tpot, metrics.queue):
            if histogram is not None:
                check_histogram(histogram)
        assert all(value is None or 0 <= value < math.inf for value in (metrics.mean_context, metrics.mean_prompt))
        for finding in diagnose(PAGE_DEPLOYMENT, metrics):
            assert str(finding).isprintable() and len(str(finding)) < 500, str(finding)


def check_histogram(histogram: Histogram) -> None:
    bounds, counts = zip(*histogram.buckets, strict=True)
    assert bounds[-1] == math.inf and list(bounds) == sorted(set(bounds)) and list(counts) == sorted(counts)
    assert histogram.count == counts[-1] >= 0
    values = [histogram.quantile(q / 4) for q in range(5)]
    assert all(math.isnan(v) for v in values) or all(a <= b for a, b in pairwise(values)), values
    assert isinstance(histogram.mean, float)


# Records -------------------------------------------------------------------------------------------------------------


class Unspeakable:
    """Cannot be shown or compared."""

    def __repr__(self) -> str:
        raise RuntimeError("not shown")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not compared")

    __hash__ = None  # type: ignore[assignment]


class ManyLines:
    """Shown over many lines."""

    def __repr__(self) -> str:
        return "many\n" * 99


DEEP: list[Any] = []
for _ in range(100_000):
    DEEP = [DEEP]

ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 7, 1.5, 2**31, 10**15, 10**16, 10**400, -(10**5000), 1e308, -1e308, 5e-324, 0.1,
    math.nan, math.inf, -math.inf, -0.0, "", " ", "x", "7", "nan", "bf16", "exact", "BF16", "a\nb", "\x1b[31m",
    "<b>x</b>", "\ud800", "\u202e", "x" * 9999, b"7", bytearray(9), 1j, Decimal("NaN"), Decimal("sNaN"), Decimal(1),
    Fraction(1, 3), [], [1] * 999, [10**5000], (), (1,), (1, 2), (10**5000,), (math.nan,), ("a\n",), {},
    {"bf16": 1e12}, {"bf16": math.nan}, {"bf16": "x"}, {1: 2}, {"x\n": 1}, {(): 1}, MappingProxyType({"fp8": 2.0}),
    set(), range(3), object(), int, np.float64, len, Unspeakable(), ManyLines(), DEEP, np.int8(-1), np.int8(7),
    np.uint64(2**64 - 1), np.float32("nan"), np.float16(1), np.bool_(True), np.float64(0.5),
    np.longdouble(2) ** 16000, np.complex64(1), np.str_("7"), np.datetime64("2026-11-01"), np.array(5), np.array(0.5),
    np.array([]), np.array([1, 2]), np.array([0.5, math.nan]), np.array([[1.5]]), np.ones((40, 40)),
    -np.ones((40, 40)), np.array(["a"]), np.array([None]), np.ma.masked, np.ma.array([1, 2], mask=[0, 1]),
    np.array([(1, 2.0)], dtype="i,f"), np.dtype("f8"), Path("x"), H100, LLAMA3_8B, Efficiency(),
)  # fmt: skip
BASES: dict[type, Mapping[str, Any]] = {
    cls: {field.name: getattr(base, field.name) for field in fields(base)}
    for cls, base in (
        (Chip, H100),
        (Model, LLAMA3_8B),
        (Deployment, PAGE_DEPLOYMENT),
        (Efficiency, Efficiency(links=0.5)),
        (Request, Request(prompt=3, output=2)),
    )
}
_NAMES = ("name", "source", "date", "price_source")


class Record(NamedTuple):
    """A record to construct with these fields."""

    cls: type
    given: dict[str, Any]


def make_record(source: Source) -> Record:
    cls = source.pick(list(BASES))
    given = dict(BASES[cls])
    for _ in range(1 + source.below(3)):
        given[source.pick(list(given))] = source.pick(ODD) if source.below(8) else source.text(4)
    if cls is Deployment and isinstance(given["chip"], Chip) and not source.below(4):
        with contextlib.suppress(ValueError):
            given["chip"] = replace(source.pick(CATALOGUE), name=source.text(3))
    return Record(cls, given)


def check_record(record: Record) -> None:
    with in_time(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = record.cls(**record.given)
        except ValueError as error:
            said = str(error)
            sentence(said)
            assert any(name in said for name in record.given), f"no field is named: {said}"
            return
        for name, value in vars(record.cls).items():
            if isinstance(value, (property, cached_property)):
                with contextlib.suppress(ValueError):  # arrays of shapes that do not go together
                    getattr(made, name)


# Model configurations and the command --------------------------------------------------------------------------------

CONFIG: dict[str, Any] = {
    "num_hidden_layers": 80, "hidden_size": 8192, "intermediate_size": 28672, "num_attention_heads": 64,
    "num_key_value_heads": 8, "vocab_size": 128256, "head_dim": 128, "max_position_embeddings": 131072,
    "tie_word_embeddings": False, "_name_or_path": "a model", "num_experts": None,
}  # fmt: skip


@cache
def folder() -> Path:
    """A place for the files that targets hand in, away at the end."""
    kept = tempfile.TemporaryDirectory(prefix="fuzz-")
    folder.kept = kept  # type: ignore[attr-defined]
    return Path(kept.name)


def make_entries(source: Source) -> Any:
    if not source.below(16):
        return source.pick(ODD)
    entries = dict(CONFIG)
    for _ in range(source.below(4)):
        key = source.pick(list(CONFIG))
        if source.below(4):
            entries[key] = (
                source.pick(ODD)
                if source.below(4)
                else source.pick([source.text(4), source.below(65536), [1], {"a": []}])
            )
        else:
            entries.pop(key, None)
    return entries


def make_file(source: Source) -> bytes:
    """The text of a configuration, most of them not quite."""
    entries = make_entries(source)
    try:
        text = json.dumps(entries, default=lambda odd: [1, 2])
    except (TypeError, ValueError, RecursionError):  # keys that are no text, numbers too long to write, nested too deep
        text = json.dumps(CONFIG)
    for _ in range(source.below(3)):
        at = source.below(len(text) + 1)
        text = (
            text[:at]
            + source.pick([source.text(3), "9" * 6000, "[" * 99_999, "1e999", '"', "}"])
            + text[at + source.below(4) :]
        )
    return text.encode(source.pick(["utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1"]), "replace")[
        : None if source.below(8) else source.below(99)
    ]


def make_config(source: Source) -> Any:
    return make_file(source) if source.below(3) == 0 else make_entries(source)


def check_config(config: Any) -> None:
    if isinstance(config, bytes):
        path = folder() / "config.json"
        path.write_bytes(config)
        config = path
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


class Command(NamedTuple):
    """Arguments; PATH stands for a file with this content."""

    arguments: list[str]
    content: bytes


def make_command(source: Source) -> Command:
    content = make_file(source) if source.below(2) else b"{}"
    odd = [
        source.text(5),
        "1e5",
        "-1",
        "0",
        "9" * 400,
        "1" * 5000,
        "",
        "--help",
        "-h",
        "--",
        "32",
        "fp8",
        "h200",
        "/",
        "/dev/null",
        "PATH",
        "x" * 300,
    ]
    arguments = [source.pick(["70b", "PATH", "8B", "PATH", source.pick(odd)])]
    for flag in source.some(
        ["--chip", "--weights", "--kv", "--batch", "--context", "--con", "--b=7", "--help", source.text(3)], 4
    ):
        arguments += [flag, source.pick(odd)] if source.below(4) else [flag]
    if not source.below(4):
        arguments.insert(source.below(len(arguments) + 1), source.pick(odd))
    return Command(arguments, content)


def check_command(command: Command) -> None:
    path = folder() / "config.json"
    path.write_bytes(command.content)
    arguments = [str(path) if argument == "PATH" else argument for argument in command.arguments]
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")
    with in_time(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = cli.main(arguments)
        except SystemExit as stop:
            code = stop.code  # type: ignore[assignment]
    said, refused = (_written(stream) for stream in (out, err))
    assert code in (0, 2), code
    if code == 0:
        assert not refused and said.endswith("\n") and len(said) < 4000, (said, refused)
        assert all(line.isprintable() for line in said.splitlines()) and "\r" not in said, said
        assert "usage:" in said or 2 <= said.count("\n") <= 4, said
    else:
        assert not said and refused.startswith("scaling: ") and refused.endswith("\n"), (said, refused)
        assert refused[:-1].isprintable() and len(refused) < 320, refused


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return stream.buffer.getvalue().decode("utf-8")  # type: ignore[attr-defined]


TARGETS = {
    "answer": Target(make_answer, lambda answer: check_answers([answer])),
    "page": Target(make_page, check_page),
    "record": Target(make_record, check_record),
    "config": Target(make_config, check_config),
    "command": Target(make_command, check_command),
}


def run(name: str, source: Source) -> None:
    """Make the next input of this target, and check it."""
    given = TARGETS[name].make(source)
    try:
        TARGETS[name].check(given)
    except BaseException as error:
        error.add_note(f"what the target {name!r} was given: {described(given)}")
        raise


def described(given: Any) -> str:
    """The input, also where part of it cannot be shown."""
    if isinstance(given, Record):
        changed = {k: v for k, v in given.given.items() if v is not BASES[given.cls][k]}
        return f"{given.cls.__name__} with " + ", ".join(f"{key}={shown(value)}" for key, value in changed.items())
    if isinstance(given, dict):
        return ", ".join(f"{shown(key)}: {shown(value)}" for key, value in given.items())
    return repr(given) if isinstance(given, (str, bytes, tuple)) else shown(given)
