"""Ten thousand inputs from strangers: each is answered as promised, or refused in one sentence, within a second.

A million of them: ``make fuzz``. An input that once broke a rule is in `FOUND`, and is tried each time.
"""

import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from scaling.batching import Request
from scaling.chips import Chip
from scaling.deployment import Deployment, Efficiency
from scaling.models import Model, from_hf_config
from tests.conftest import tool
from tests.paths import ROOT
from tests.strength.fuzz import run as runner, targets
from tests.strength.fuzz.targets import (
    BASES,
    CONFIG,
    DEEP,
    NUMERIC,
    PAGES,
    TARGETS,
    Answer,
    Command,
    Grader,
    ManyLines,
    Record,
    Source,
    TooLong,
    Unspeakable,
)

EACH = {"answer": 4000, "record": 4000, "config": 1200, "page": 600, "command": 200}
AT_ONCE = 50


def test_all_targets_get_their_share_of_ten_thousand() -> None:
    assert sum(EACH.values()) >= 10_000
    assert set(EACH) == set(TARGETS) == set(runner.SHARES) and math.isclose(sum(runner.SHARES.values()), 1)


@pytest.mark.parametrize("name", EACH)
def test_inputs_from_strangers(name: str) -> None:
    if name == "answer":
        tool("node")

    @settings(max_examples=EACH[name] // AT_ONCE)
    @given(st.binary(min_size=30 * AT_ONCE, max_size=60 * AT_ONCE))
    def try_them(data: bytes) -> None:
        source = Source(data)
        if name == "answer":  # one message to Node for all of them
            return targets.check_answers([targets.make_answer(source) for _ in range(AT_ONCE)])
        for _ in range(AT_ONCE):
            targets.run(name, source)

    try_them()


# What was found ------------------------------------------------------------------------------------------------------


def _record(cls: type, **odd: Any) -> Record:
    return Record(cls, {**BASES[cls], **odd})


_KB = NUMERIC[0]
_LONG_NAME = "".join(f'sglang:num_running_reqs{{model_name="{"m" * 900}\u202e{i}"}} 1\n' for i in range(3))
_HUGE = 10**5000

FOUND: dict[str, tuple[str, Any]] = {
    # The grader quoted what turns the line around, breaks it or shows nothing, and cut an emoji in half.
    "control characters": ("answer", Answer(_KB, "'½\udc00\r", "typed")),
    "turned around": ("answer", Answer(_KB, "\u202e5 kB", "typed")),
    "half an emoji": ("answer", Answer(_KB, "a" + "🍎" * 40, "typed")),
    "a name that does not print": ("page", 'sglang:a\u200bb_bucket{le="1"} 1\n'),
    "long names of models": ("page", _LONG_NAME),
    "more requests than atoms": ("page", "sglang:num_running_reqs 1e308\n"),
    "more hits than questions": ("page", "vllm:prefix_cache_hits_total 9.0\nvllm:prefix_cache_queries_total 5e-324\n"),
    "hardly a request": ("page", "sglang:num_running_reqs 5e-324\nsglang:num_used_tokens 7.0\n"),
    # These took up to half a minute.
    "a million values": ("page", "sglang:a 1\n" * 1_000_000),
    "a long page": ("page", PAGES[0] * 1500),
    "many backslashes": ("page", ('sglang:x{a="' + '\\"' * 9000 + '"} 1\n') * 900),
    # No field was named, there was no sentence, or the error was of another kind.
    "digits in a list": ("record", _record(Efficiency, bandwidth=[_HUGE])),
    "no words": ("record", _record(Chip, memory=Unspeakable())),
    "no words for a dtype": ("record", _record(Deployment, kv=Unspeakable())),
    "nested too deep": ("record", _record(Model, vocab=DEEP)),
    "a masked number": ("record", _record(Model, layers=np.ma.masked)),
    "the type of a number": ("record", _record(Deployment, chips=np.float64)),
    "an array of arrivals": ("record", _record(Request, arrival=np.array([1, 2]))),
    "a dtype of many lines": ("record", _record(Deployment, kv=np.ones((40, 40)))),
    "another of many lines": ("record", _record(Deployment, compute=ManyLines())),
    "a long dtype": ("record", _record(Deployment, weights="x" * 9999)),
    "no mapping": ("config", None),
    "bytes": ("config", b"70b"),
    "a path too long": ("config", "x" * 9999),
    "a path of two lines": ("config", "a\nb\x1b"),
    "an array of experts": ("config", CONFIG | {"num_experts": np.array([1, 2])}),
    "a name of many digits": ("config", CONFIG | {"_name_or_path": _HUGE}),
    "a long name": ("config", CONFIG | {"_name_or_path": "m\u202e" * 9999}),
    "colours": ("command", Command(["\x1b[31m70b"], b"")),
}  # fmt: skip


@pytest.mark.parametrize(("name", "given"), FOUND.values(), ids=FOUND)
def test_what_was_found_stays_found(name: str, given: Any) -> None:
    if name == "answer":
        tool("node")
    TARGETS[name].check(given)


def test_a_file_of_weights_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    with path.open("wb") as file:
        file.truncate(10**10)
    with pytest.raises(ValueError, match=r"must be a config\.json, not a file of 10,000,000,000 bytes\.$"):
        from_hf_config(path)


# The rules themselves: each must be able to fail ----------------------------------------------------------------------

GOOD = "one line that ends like a sentence."


def _raise(error: Exception) -> Callable[..., Any]:
    def broken(*_: Any, **__: Any) -> None:
        raise error

    return broken


@pytest.mark.parametrize(
    "said",
    ["", "two\nlines.", "no end", "short.", "x" * 400 + ".", "\x1b[31mred, which it is.", "turned \u202earound it is."],
)
def test_what_is_no_sentence(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    targets.sentence(GOOD)
    with pytest.raises(AssertionError):
        targets.sentence(said)
    monkeypatch.setattr(targets, "read_metrics", _raise(ValueError(f"text must {said}\n")))
    with pytest.raises(AssertionError):
        targets.check_page("")


def _hang(*_: Any, **__: Any) -> None:
    while True:
        try:
            sum(range(1000))
        except Exception:
            continue


@pytest.mark.parametrize(
    ("target", "function", "broken"),
    [
        ("page", "read_metrics", _raise(KeyError("le"))),
        ("page", "read_metrics", _raise(ValueError(GOOD))),  # does not say what must be otherwise
        ("page", "diagnose", _raise(ZeroDivisionError())),
        ("config", "from_hf_config", lambda _: None),
        ("config", "from_hf_config", _hang),
    ],
)
def test_a_broken_reader_is_seen(target: str, function: str, broken: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, function, broken)
    monkeypatch.setattr(targets, "LIMIT", 0.05)
    with pytest.raises((AssertionError, ArithmeticError, LookupError, TooLong)) as error:
        targets.run(target, Source(b"\0\1"))
    assert any(f"what the target '{target}' was given: " in note for note in error.value.__notes__)


@pytest.mark.parametrize(
    "broken",
    [
        lambda arguments: print("scaling: two\nlines", file=sys.stderr) or 2,
        lambda arguments: print("\x1b[31m\nred") or 0,
        lambda arguments: [][1],
    ],
)
def test_a_broken_command_is_seen(broken: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets.cli, "main", broken)
    with pytest.raises((AssertionError, IndexError)):
        targets.check_command(Command(["70b"], b""))


@pytest.mark.parametrize("error", [TypeError("no"), ValueError(GOOD)])
def test_a_broken_record_is_seen(error: Exception) -> None:
    with pytest.raises((AssertionError, TypeError)):
        targets.check_record(Record(_raise(error), {"memory": 1}))  # type: ignore[arg-type]


WIDGETS = ROOT / "scaling" / "course" / "widgets"
BREAKS = {
    "markup": ("status.replaceChildren(", "status.innerHTML = why; status.replaceChildren("),
    "control characters": ("[\\p{C}\\p{Z}]+", "[Q]+"),
    "a wrong verdict": ("near(question.answer) <= rtol", "near(question.answer) <= 9"),
    "a hang": ("const rtol = M", "for (let i = 0; i < 8e7; i++); const rtol = M"),
}


@pytest.mark.parametrize(("whole", "broken"), BREAKS.values(), ids=BREAKS)
def test_a_broken_quiz_is_seen(whole: str, broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool("node")
    (tmp_path / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    sources = {name: (WIDGETS / name).read_text(encoding="utf-8") for name in ("dom.js", "grading.js", "quiz.js")}
    assert sum(whole in source for source in sources.values()) == 1
    for name, source in sources.items():
        (tmp_path / name).write_text(source.replace(whole, broken), encoding="utf-8")
    grader = Grader(str(tmp_path), patience=2)
    monkeypatch.setattr(targets, "grader", grader)
    monkeypatch.setattr(targets, "LIMIT", 0.05)
    typed = [Answer(_KB, text, "typed") for text in ("<b>", "\u202e", "b" * 400)]
    known = [Answer(_KB, "163.84 kB", "typed", "right"), Answer(_KB, "500 kB", "typed", "wrong")]
    try:
        with pytest.raises((AssertionError, TooLong)):
            targets.check_answers([*typed, *known])
    finally:
        grader.close()


def test_the_fuzzer_keeps_what_breaks_a_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """In a process of its own: atheris, where there is one, takes over the process that it runs in."""
    code = (
        "import sys, pathlib; from tests.strength.fuzz import run; run.KEPT = pathlib.Path(sys.argv.pop(1));"
        "import scaling.cli; scaling.cli.report = lambda *_: 'a\\nb\\nc\\x1b'; sys.exit(run.main())"
    )
    arguments = ["--here", "--target", "command", "--inputs", "4000", "--seed", "1"]
    command, env = [sys.executable, "-c", code, str(tmp_path), *arguments], {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=env)
    (kept,) = tmp_path.glob("command-*")
    assert done.returncode == 1 and f"--replay {kept}" in done.stderr and "was given: Command(" in done.stderr
    runner.replay(kept)
    assert capsys.readouterr().out.endswith("breaks no rule.\n")
    monkeypatch.setattr(targets.cli, "report", lambda *_: "a\nb\nc\x1b")
    with pytest.raises(AssertionError):
        runner.replay(kept)
