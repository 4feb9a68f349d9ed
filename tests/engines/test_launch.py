"""Launch commands: what they print is what a shell runs, every flag exists, and what would not start is refused."""

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import scaling
from scaling import (
    A100,
    B200,
    CATALOGUE,
    GB200,
    H100,
    H200,
    L40S,
    LLAMA3_8B,
    LLAMA3_70B,
    LLAMA3_405B,
    LLAMA31_8B,
    LLAMA31_70B,
    LLAMA33_70B,
    MI300X,
    TPU_V5E,
    Deployment,
    Efficiency,
    Model,
    decode_step,
    weight_bytes,
)
from scaling.engines import Command, megatron, mini_sglang, sglang, vllm
from scaling.engines.command import Flag, benchmark_command, cross_check
from scaling.engines.pool import free_memory
from scaling.units import DTYPE_BYTES, GB, GiB, ms
from tests.paths import ROOT

TABLES = json.loads((ROOT / "tests/data/engine_flags.json").read_text(encoding="utf-8"))["engines"]
TABLE = {
    engine: {name: entry for entry in table["flags"] for name in (entry["flag"], *entry["aliases"])}
    for engine, table in TABLES.items()
}
ENGINES = {"SGLang": "sglang", "vLLM": "vllm", "Megatron-LM": "megatron", "Mini-SGLang": "mini_sglang"}

B70 = Deployment(model=LLAMA3_70B, chip=H100, chips=8, usable=0.85)
B8 = Deployment(model=LLAMA3_8B, chip=H100)


def start_megatron(d: Deployment, **asked: Any) -> Command:
    return megatron.launch_command(d, checkpoint="checkpoints/llama", **asked)


START: dict[str, Callable[..., Command]] = {
    "sglang": sglang.launch_command,
    "vllm": vllm.launch_command,
    "megatron": start_megatron,
    "mini_sglang": mini_sglang.launch_command,
}

# Paths that would mean something else to a shell if they were not quoted.
PATHS = [
    "models/with blank",
    "it's",
    'say "hi"',
    "$HOME/$(touch oops)/`touch oops`",
    "a;b&c|d>e<f(g)",
    "back\\slash\\",
    "#hash",
    "a # b",
    "~user",
    "*?[x]{1,2}",
    "!history!",
    "=zsh",
    "über/模型",
    "%s%d",
]


def grid() -> list[Command]:
    """Deployments of many kinds, each with plain and with every option."""
    commands = [sglang.launch_command(B8, model_path=path) for path in PATHS]
    commands += [vllm.launch_command(B8, model_path=path) for path in PATHS]
    commands += [start_megatron(replace(B8, chips=2), model_path=path) for path in PATHS]
    for chip in (H100, H200, B200, A100, L40S, MI300X):
        for model in (LLAMA3_8B, LLAMA3_70B, LLAMA3_405B):
            for chips in (2, 8) if chip is H100 else (4,):
                for weights, kv in (("bf16", "bf16"), ("fp8", "fp8")):
                    d = Deployment(model=model, chip=chip, chips=chips, weights=weights, kv=kv, usable=0.9)
                    for start in START.values():
                        for asked in ({}, {"context": 4096}):
                            try:
                                commands.append(start(d, **asked))
                            except ValueError:
                                continue
    fp8 = replace(B70, chips=4, weights="fp8", kv="fp8", usable=1.0)
    commands.append(
        sglang.launch_command(
            fp8,
            context=4096,
            max_running=64,
            mem_fraction_static=0.875,
            chunked_prefill=2048,
            mixed_chunk=True,
            replicas=2,
            metrics=False,
            host="0.0.0.0",
            port=30001,
        )
    )
    commands += sglang.disaggregated(
        B70, replace(B70, chips=4, usable=0.95), context=8192, max_step=0.03, transfer="nixl", ib_device="mlx5_0"
    )
    commands += [engine.launch_command(replace(B70, weights="fp8"), model_path="org/bf16") for engine in (sglang, vllm)]
    large = Deployment(model=LLAMA3_405B, chip=H100, chips=16)
    for rank in (0, 1):
        for engine in (sglang, vllm):
            commands.append(engine.launch_command(large, context=8192, stages=2, head="10.0.0.1:20000", rank=rank))
        commands.append(vllm.launch_command(large, context=8192, head="10.0.0.1:20000", rank=rank))
    for kv in ("int8", "int4", "fp8"):
        commands.append(vllm.launch_command(replace(fp8, kv=kv), replicas=2, gpu_memory_utilization=0.95, port=80))
    for engine in (sglang, vllm):
        fp4 = Deployment(model=LLAMA3_70B, chip=B200, weights="fp4", kv="fp4", compute="fp4")
        commands.append(engine.launch_command(fp4, model_path="org/llama-fp4", context=2048))
        half = Deployment(model=LLAMA3_70B, chip=A100, weights="int4", kv="fp16", compute="fp16")
        commands.append(engine.launch_command(half, model_path="org/llama-awq", max_running=8))
        commands.append(engine.launch_command(replace(half, kv="bf16"), model_path="org/llama-awq"))
    commands.append(
        vllm.launch_command(fp8, max_num_batched_tokens=4096, quantized=True, model_path="org/fp8", host="::1")
    )
    commands.append(
        mini_sglang.launch_command(replace(B8, weights="fp16", compute="fp16", kv="fp16"), memory_ratio=0.8)
    )
    commands.append(mini_sglang.launch_command(B8, chunked_prefill=4096, max_running=8, port=1920))
    commands.append(start_megatron(replace(B8, usable=1.0), buffer=20 * GiB, context=2048, port=5001))
    return commands


COMMANDS = grid()
SHELLS = ["bash", "dash", "sh", "zsh"]


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[list[list[str]], str, int]]:
    """Run a script with stubs in place of the engines; give what each stub was called with, the errors, the status."""
    folder = tmp_path_factory.mktemp("stubs")
    record = folder / "record"
    for name in ("python", "sglang", "vllm", "torchrun"):
        path = folder / name
        path.write_text(f"#!/bin/sh\nprintf '%s\\0' {name} \"$@\" >> '{record}'\nprintf '\\1' >> '{record}'\n")
        path.chmod(0o755)

    def run(script: str, *shell: str, typed: bool = False) -> tuple[list[list[str]], str, int]:
        record.write_bytes(b"")
        path = folder / "script"
        path.write_text(script + "\n", encoding="utf-8")
        done = subprocess.run(
            [*shell] if typed else [*shell, str(path)],
            input=script + "\n" if typed else None,
            env={"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder), "LC_ALL": "C.UTF-8"},
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=60,
            start_new_session=typed,  # an interactive shell must not take the terminal
        )
        calls = record.read_text(encoding="utf-8").split("\1")[:-1]
        assert not (folder / "oops").exists(), "a path was run as a command"
        return [call.split("\0")[:-1] for call in calls], done.stderr, done.returncode

    return run


def as_called(command: Command) -> list[str]:
    """The arguments as the program gets them: `env` has set its variables and is gone."""
    words = list(command.arguments)
    return words[2:] if words[0] == "env" else words


# What is printed is what runs ----------------------------------------------------------------------------------------


def test_the_grid_is_a_grid() -> None:
    assert len(COMMANDS) > 150
    assert {command.engine for command in COMMANDS} == {*ENGINES, "SGLang router"}
    assert {flag for command in COMMANDS for flag in command.flags} >= {
        "--dp-size", "--disaggregation-mode", "--max-model-len", "--memory-ratio", "--quantization", "--kv-cache-dtype"
    }  # fmt: skip


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_is_run_as_its_arguments(shell: str, stub: Any) -> None:
    found = shutil.which(shell)
    if not found:
        pytest.skip(f"{shell} is not on this machine")
    if shell == "sh" and Path(found).resolve().name in SHELLS[:2]:
        pytest.skip(f"sh is {Path(found).resolve().name} here, which runs them too")
    script = "\n".join(map(str, COMMANDS))
    calls, errors, status = stub(script, shell, "-n")
    assert (calls, errors, status) == ([], "", 0)
    calls, errors, status = stub(script, shell)
    assert (errors, status) == ("", 0)
    assert calls == [as_called(command) for command in COMMANDS]


def test_bash_is_on_this_machine() -> None:
    assert shutil.which("bash") and shutil.which("sh")


def test_typed_into_a_shell_without_comments_the_command_still_runs(stub: Any) -> None:
    """As zsh does out of the box: each comment line is then an unknown command, and no more than that."""
    some = COMMANDS[:: len(COMMANDS) // 12]
    script = "\n".join(["shopt -u interactive_comments", *map(str, some)])
    calls, errors, _ = stub(script, "bash", "--norc", "--noprofile", "-i", typed=True)
    assert calls == [as_called(command) for command in some]
    comments = sum(line.startswith("#") for command in some for line in str(command).splitlines())
    assert errors.count("#: command not found") == comments


def test_round_trips_through_shlex() -> None:
    for command in COMMANDS:
        assert shlex.split(command.line) == list(command.arguments)
        joined = str(command).replace("\\\n", "")
        assert shlex.split(joined.splitlines()[-1]) == list(command.arguments)
        assert shlex.join(command.arguments) == command.line or "=zsh" in command.line


def test_a_leading_equals_sign_is_quoted_for_zsh() -> None:
    assert any(" '=zsh'" in command.line and " '=zsh'" in str(command) for command in COMMANDS)


def test_nothing_follows_a_backslash_and_comments_come_first() -> None:
    for command in COMMANDS:
        lines = str(command).splitlines()
        kinds = [line.startswith("#") for line in lines]
        assert kinds == sorted(kinds, reverse=True) and kinds[0] and not kinds[-1]
        below = lines[kinds.index(False) :]
        assert all(line.endswith(" \\") for line in below[:-1])
        assert not any(line != line.rstrip() for line in lines)
        assert all(len(line) <= 100 for line in lines[: kinds.index(False)])
        assert len(below) == 1 + len(command.options)


def test_comments_hold_nothing_that_a_shell_acts_on() -> None:
    for command in COMMANDS:
        head = [line for line in str(command).splitlines() if line.startswith("#")]
        assert all(re.fullmatch(r"#( [\w .,:%/+-]+)", line) for line in head), head
        for _, why in command.reasons:
            assert re.fullmatch(r"[\w .,:%/+-]+", why), why  # nothing was lost on the way to the comment


def test_names_of_ones_own_cannot_break_a_comment(stub: Any) -> None:
    evil = replace(LLAMA3_70B, name="x'; touch oops; (#")
    d = replace(B70, model=evil, chip=replace(H100, name="$(touch oops)`"))
    command = sglang.launch_command(d, model_path="m", context=4096)
    calls, errors, status = stub(str(command), "bash")
    assert calls == [list(command.arguments)] and (errors, status) == ("", 0)


# The text's own command, in the same stub: a test of the test.
BROKEN = """\
python -m sglang.launch_server \\
  --tp-size 8 \\
  --mem-fraction-static 0.85 \\        # 85 % for weights and cache
  --chunked-prefill-size 8192 \\       # chunked prefill
  --context-length 8192               # longest context"""


@pytest.mark.parametrize("shell", ["bash", "sh"])
def test_a_comment_after_a_backslash_breaks_the_command(shell: str, stub: Any) -> None:
    _, errors, status = stub(BROKEN, shell, "-n")
    assert (errors, status) == ("", 0)  # which is why -n alone proves little
    calls, errors, status = stub(BROKEN, shell)
    assert calls == [["python", "-m", "sglang.launch_server", "--tp-size", "8", "--mem-fraction-static", "0.85", " "]]
    assert status == 127 and "--chunked-prefill-size" in errors and "not found" in errors


@pytest.mark.parametrize("bad", ["a\nb", "a\tb", "a\0b", "a\x1b[31m", "", "\u2028", "\udc80", None, 7])
def test_what_a_shell_cannot_be_given_is_refused(bad: Any) -> None:
    if bad is not None:
        with pytest.raises(ValueError, match=r"^model_path must be text without line breaks"):
            sglang.launch_command(B8, model_path=bad)
    with pytest.raises(ValueError, match=r"^checkpoint must be text"):
        megatron.launch_command(B8, checkpoint=bad)
    with pytest.raises(ValueError, match=r"^an argument must be text"):
        Command(engine="e", version="1", date="d", program=("a", bad))


@given(st.text(st.characters(exclude_categories=("C", "Zl", "Zp")), min_size=1).filter(str.isprintable))
@settings(max_examples=40, deadline=None)
def test_any_printable_path_survives(path: str) -> None:
    if path.startswith("-") or ":" in path:
        with pytest.raises(ValueError, match=r"must not start with a hyphen|must not hold a colon"):
            sglang.launch_command(B8, model_path=path)
    else:
        command = sglang.launch_command(B8, model_path=path)
        assert shlex.split(command.line)[3] == path == command.flags["--model-path"]


# Flags ---------------------------------------------------------------------------------------------------------------

# Written even where they are the default: someone asked, or the machines have to be told apart.
ASKED = {"--port", "--host", "--model-path", "--node-rank"}
SERVERS = [command for command in COMMANDS if command.engine in ENGINES]


def holds(entry: dict[str, Any], value: str | None) -> bool:
    """Whether the flag takes this value."""
    kind = entry["type"]
    if kind == "flag" or value is None:
        return kind == "flag" and value is None
    if "choices" in entry:
        return value in entry["choices"]
    if kind == "rank":
        return value.isdecimal()
    if kind == "int":
        return re.fullmatch(r"[1-9]\d*", value) is not None
    if kind in ("float", "share"):
        return float(value) > 0 and (kind == "float" or float(value) < 1)
    return kind == "str"


def test_every_flag_is_in_the_table_and_takes_its_value() -> None:
    for command in SERVERS:
        table = TABLE[ENGINES[command.engine]]
        bare = {option.flag for option in command.options if not option.flag.startswith("-")}
        assert bare <= {"examples/inference/launch_inference_server.py"}
        for flag, value in command.flags.items():
            assert flag in table, f"{command.engine} has no {flag}"
            entry = table[flag]
            assert entry["status"] == "ok", flag
            assert holds(entry, value), (flag, value)
            if flag not in ASKED and command.engine != "Megatron-LM":
                assert value is None or str(entry["default"]) != value, f"{flag} {value} changes nothing"


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--tp-size", "0"),
        ("--tp-size", "2.5"),
        ("--kv-cache-dtype", "int8"),
        ("--mem-fraction-static", "1"),
        ("--enable-metrics", "true"),
        ("--port", None),
    ],
)
def test_a_value_that_a_flag_does_not_take_is_seen(flag: str, value: str | None) -> None:
    assert not holds(TABLE["sglang"][flag], value)


def test_the_table_knows_what_is_gone() -> None:
    assert TABLE["sglang"]["--cuda-graph-max-bs"]["status"] == "removed"
    assert TABLE["megatron"]["--max-tokens-to-oom"]["status"] == "inert"
    assert "int8" not in TABLE["sglang"]["--kv-cache-dtype"]["choices"]


def test_version_and_date_are_the_tables() -> None:
    for command in SERVERS:
        table = TABLES[ENGINES[command.engine]]
        assert (command.version, command.date) == (table["version"], table["date"])
        assert str(command).startswith(f"# {command.engine} {command.version}, flags as of {command.date}\n")
        # A positional model stands where the table says MODEL.
        words = zip(as_called(command), table["program"], strict=False)
        assert all(word == said or said == "MODEL" for word, said in words)


def test_every_flag_but_the_self_explaining_has_a_reason() -> None:
    silent = {"--model-path", "--model", "--load", "--bf16", "--tokenizer-type", "--tokenizer-model"}
    for command in SERVERS:
        assert set(command.flags) - set(dict(command.reasons)) <= silent


# A deployment's own flags --------------------------------------------------------------------------------------------


def test_a_plain_deployment_gets_no_more_than_it_needs() -> None:
    assert sglang.launch_command(replace(B8), metrics=False).flags == {
        "--model-path": "meta-llama/Meta-Llama-3-8B-Instruct"
    }
    assert vllm.launch_command(B8).arguments == ("vllm", "serve", "meta-llama/Meta-Llama-3-8B-Instruct")
    assert mini_sglang.launch_command(replace(B8, chips=4)).arguments == (
        *("python", "-m", "minisgl", "--model", "meta-llama/Meta-Llama-3-8B-Instruct", "--tp-size", "4"),
    )


CATALOGUE_MODELS = [LLAMA3_8B, LLAMA3_70B, LLAMA3_405B, LLAMA31_8B, LLAMA31_70B, LLAMA33_70B]


@pytest.mark.parametrize("model", CATALOGUE_MODELS, ids=lambda model: model.name)
def test_the_published_checkpoint_of_the_dtype_is_loaded_as_it_is(model: Model) -> None:
    """Nobody who can download eight bits downloads sixteen and makes eight of them at every start."""
    for weights, name in model.checkpoints.items():
        for start in (sglang.launch_command, vllm.launch_command):
            command = start(Deployment(model=model, chip=H200, chips=8, weights=weights), context=4096)
            assert name in command.arguments
            assert "--quantization" not in command.flags


def test_a_checkpoint_in_a_format_that_no_engine_reads_is_refused() -> None:
    """Meta's FP8 checkpoint of 405B is FBGEMM's: vLLM 0.33.0 refuses the format, no file of SGLang 0.5.23 names it."""
    d = Deployment(model=LLAMA3_405B, chip=H200, chips=8, weights="fp8")
    for start in (sglang.launch_command, vllm.launch_command):
        assert "RedHatAI/Meta-Llama-3.1-405B-Instruct-FP8" in start(d, context=8192).arguments
        for name in ("meta-llama/Llama-3.1-405B-Instruct-FP8", "meta-llama/Llama-3.1-405B-FP8/"):
            refused(lambda s=start, n=name: s(d, model_path=n, quantized=True), "model_path must be in a format", name)


def test_a_model_without_a_published_checkpoint_needs_a_path() -> None:
    other = replace(LLAMA3_8B, name="Other 8B", checkpoints={})
    with pytest.raises(ValueError, match=r"^model_path must be given for Other 8B"):
        sglang.launch_command(replace(B8, model=other))
    with pytest.raises(
        ValueError, match=r"^model_path must name a checkpoint stored in int8: none is listed here for "
    ):
        vllm.launch_command(replace(B8, weights="int8"))


def test_weights_of_a_path_are_made_fp8_while_loading_unless_they_are() -> None:
    fp8 = replace(B70, weights="fp8")
    assert sglang.launch_command(fp8, model_path="m").flags["--quantization"] == "fp8"
    # vLLM 0.33.0 takes the bare name for checkpoints in FP8 only.
    assert vllm.launch_command(fp8, model_path="m").flags["--quantization"] == "fp8_per_tensor"
    why = dict(sglang.launch_command(fp8, model_path="m").reasons)["--quantization"]
    # 68.45e9 linear weights of a byte, and 2 x 1.0507e9 + 1.3e6 of two: the embedding, the head, the norms.
    stored = (80 * (2 * 8192 * 8192 + 2 * 8192 * 1024 + 3 * 8192 * 28_672) + 2 * (2 * 128_256 + 161) * 8192) / GB
    assert why.startswith("loads the bf16 checkpoint of 141 GB") and f" {stored:.3g} GB with embedding" in why
    only_bf16 = replace(fp8, model=replace(LLAMA3_70B, checkpoints={"bf16": "org/bf16"}))
    for start in (sglang.launch_command, vllm.launch_command):
        assert "--quantization" not in start(fp8, model_path="org/llama-fp8", quantized=True).flags
        assert "--quantization" not in start(replace(fp8, weights="int4"), model_path="org/llama-awq").flags
        made = start(only_bf16)
        assert "org/bf16" in made.arguments and "--quantization" in made.flags
        with pytest.raises(ValueError, match=r"^model_path must name a checkpoint stored in fp8"):
            start(only_bf16, quantized=True)


def test_a_path_may_be_a_path() -> None:
    command = sglang.launch_command(B8, model_path=Path("models") / "8b")  # type: ignore[arg-type]
    assert command.flags["--model-path"] == "models/8b"


@pytest.mark.parametrize("start", [sglang.launch_command, vllm.launch_command])
def test_a_host_that_is_a_flag_is_refused(start: Callable[..., Command]) -> None:
    with pytest.raises(ValueError, match=r"^host must not start with a hyphen, .* not '--trust-remote-code'\.$"):
        start(B8, host="--trust-remote-code")


def test_where_nobody_else_reaches_it_is_said() -> None:
    """SGLang listens on the machine itself unless told otherwise; vLLM on every address."""
    assert any("127.0.0.1 only" in note for note in sglang.launch_command(B8).notes)
    assert not any("127.0.0.1" in note for note in sglang.launch_command(B8, host="0.0.0.0").notes)
    assert "127.0.0.1 by default" in dict(sglang.launch_command(B8, host="0.0.0.0").reasons)["--host"]
    assert not any("127.0.0.1" in note for note in vllm.launch_command(B8).notes)


def test_the_cache_dtype_is_the_engines_word_for_it() -> None:
    for kv, word in (("fp8", "fp8_e4m3"), ("bf16", None)):
        assert sglang.launch_command(replace(B70, kv=kv)).flags.get("--kv-cache-dtype") == word
    for kv, word in (
        ("fp8", "fp8_e4m3"),
        ("int8", "int8_per_token_head"),
        ("int4", "int4_per_token_head"),
        ("bf16", None),
    ):
        assert vllm.launch_command(replace(B70, kv=kv)).flags.get("--kv-cache-dtype") == word
    why = dict(sglang.launch_command(replace(B70, kv="fp8")).reasons)["--kv-cache-dtype"]
    assert "163,840 B per token in place of 327,680" in why
    assert "the cache stays in bf16, the default: 327,680 B per token" in sglang.launch_command(B70).notes


def test_the_reason_for_the_ways_states_weights_and_step() -> None:
    for n in (4, 8):
        why = dict(sglang.launch_command(replace(B70, chips=n), context=8192).reasons)["--tp-size"]
        read = LLAMA3_70B.matmul_params * 2 / n  # the input embedding is looked up, not read
        assert why == (
            f"141 GB of weights and one sequence of 8,192 tokens need at least 4 H100 SXM at 0.85 of their memory. "
            f"Each of {n} reads {read / GB:.3g} GB a step, in {read / H100.bandwidth / ms:.3g} ms at the least"
        )
    assert "need at least 2" in dict(sglang.launch_command(replace(B70, usable=0.9)).reasons)["--tp-size"]


def test_the_memory_share_is_the_deployments_or_ones_own() -> None:
    plain = replace(B70, usable=1.0)
    assert sglang.launch_command(B70).flags["--mem-fraction-static"] == "0.85"
    why = dict(sglang.launch_command(B70).reasons)["--mem-fraction-static"]
    pool = sglang.expected_pool(B70, mem_fraction_static=0.85)
    assert f"17.6 GB and {pool.budget / GB:.3g} GB on each GPU" in why
    assert sglang.launch_command(B70, mem_fraction_static=0.9).flags["--mem-fraction-static"] == "0.9"
    alone = sglang.launch_command(plain)
    assert "--mem-fraction-static" not in alone.flags and any("about 0.812" in note for note in alone.notes)
    assert mini_sglang.launch_command(B70).flags["--memory-ratio"] == "0.85"
    assert "--memory-ratio" not in mini_sglang.launch_command(plain).flags
    # vLLM's share holds the activations too, so the deployment's is not handed on.
    assert "--gpu-memory-utilization" not in vllm.launch_command(B70).flags
    assert vllm.launch_command(B70, gpu_memory_utilization=0.95).flags["--gpu-memory-utilization"] == "0.95"


# How many at once ----------------------------------------------------------------------------------------------------


def cap(command: Command) -> tuple[int, str]:
    for flag in ("--max-running-requests", "--max-num-seqs", "--inference-dynamic-batching-max-requests"):
        if flag in command.flags:
            return int(command.flags[flag] or 0), dict(command.reasons)[flag]
    return 0, ""


def held(command: Command) -> int:
    """Sequences that the command says the pool holds."""
    (found,) = [m for note in command.notes if (m := re.search(r"holds ([\d,]+) sequences? of", note))]
    return int(found[1].replace(",", ""))


@pytest.mark.parametrize("engine", START)
def test_no_cap_follows_from_the_longest_length(engine: str) -> None:
    """Engines admit by tokens: a cap of pool over longest length leaves most of the pool empty."""
    for asked in ({}, {"context": 8192}, {"context": 8192, "mean": 1024}):
        assert cap(START[engine](B70, **asked)) == (0, "")


@pytest.mark.parametrize("engine", START)
def test_the_mean_length_sets_what_to_expect_and_the_longest_what_is_allowed(engine: str) -> None:
    longest, mean = START[engine](B70, context=4096), START[engine](B70, context=4096, mean=1024)
    assert longest.arguments == mean.arguments
    assert held(mean) // 4 in (held(longest), held(longest) - 1, held(longest) + 1) and held(longest) > 100
    with pytest.raises(ValueError, match=r"^mean must be at most 4,096 tokens, the longest of a sequence, not 4097\.$"):
        START[engine](B70, context=4096, mean=4097)


def test_a_cap_of_ones_own_says_what_the_pool_holds() -> None:
    pool = sglang.expected_pool(B70, mem_fraction_static=0.85).tokens // 8192
    n, why = cap(sglang.launch_command(B70, context=8192, max_running=256))
    assert n == 256 and f"holds {pool} sequences" in why and "evicted" in why
    n, why = cap(sglang.launch_command(B70, context=8192, max_running=64))
    assert n == 64 and "evicted" not in why
    assert cap(sglang.launch_command(B70, max_running=7)) == (7, "as asked for")


def test_a_promised_step_caps() -> None:
    run = replace(B70, params="streamed", usable=1.0)
    for start in (sglang.launch_command, vllm.launch_command):
        n, why = cap(start(B70, context=8192, max_step=10 * ms))
        assert 0 < n < 150
        assert decode_step(run, n, 8192).total <= 10 * ms < decode_step(run, n + 1, 8192).total
        assert f"a step of {n} sequences" in why and "limit of 10 ms" in why
        more, _ = cap(start(B70, context=8192, mean=2048, max_step=10 * ms))
        assert decode_step(run, more, 2048).total <= 10 * ms < decode_step(run, more + 1, 2048).total


def test_a_promise_that_the_pool_keeps_by_itself_needs_no_cap() -> None:
    assert cap(sglang.launch_command(B70, context=8192, max_step=1.0)) == (0, "")


def test_a_batch_at_the_limit_is_within_it() -> None:
    run = replace(B70, params="streamed", usable=1.0)
    limit = float(decode_step(run, 41, 8192).total)
    assert cap(sglang.launch_command(B70, context=8192, max_step=limit))[0] == 41
    one = float(decode_step(run, 1, 8192).total)
    assert cap(sglang.launch_command(B70, context=8192, max_step=one))[0] == 1


# One pool ------------------------------------------------------------------------------------------------------------


def said_pool(command: Command) -> int:
    """Tokens of the pool by the command."""
    (found,) = [m for note in command.notes if (m := re.search(r"the pool (?:of|has) about ([\d,]+) tokens", note))]
    return int(found[1].replace(",", ""))


def test_the_pool_of_a_line_is_the_engines_own() -> None:
    d = replace(B70, usable=1.0)
    assert said_pool(sglang.launch_command(d)) == sglang.expected_pool(d).tokens
    assert said_pool(vllm.launch_command(d)) == vllm.expected_pool(d).tokens
    asked = {"mem_fraction_static": 0.8, "chunked_prefill": 4096}
    assert said_pool(sglang.launch_command(d, **asked)) == sglang.expected_pool(d, **asked).tokens
    u = {"gpu_memory_utilization": 0.8}
    assert said_pool(vllm.launch_command(d, **u)) == vllm.expected_pool(d, **u).tokens


def test_a_cap_makes_the_pool_larger() -> None:
    """SGLang records smaller graphs, vLLM warms up fewer logits: the line's own cap is in the line's own numbers."""
    d = replace(B70, usable=1.0)
    for engine, name in ((sglang, "max_running"), (vllm, "max_num_seqs")):
        capped = engine.launch_command(d, context=8192, max_running=142)
        assert said_pool(capped) == engine.expected_pool(d, **{name: 142}).tokens > engine.expected_pool(d).tokens
        promised = engine.launch_command(d, context=8192, max_step=10 * ms)
        n, _ = cap(promised)
        assert said_pool(promised) == engine.expected_pool(d, **{name: n}).tokens
    assert any("about 0.821" in note for note in sglang.launch_command(d, max_running=142).notes)


def test_the_roles_of_a_pair_keep_back_different_shares() -> None:
    d = replace(B70, usable=1.0)
    prefill, decode, _ = sglang.disaggregated(d, d, context=8192)
    assert any("about 0.824" in note for note in prefill.notes)
    assert any("about 0.874" in note for note in decode.notes)
    assert said_pool(decode) == sglang.expected_pool(d, role="decode").tokens


def test_fp8_weights_multiply_in_fp8_where_the_chip_does() -> None:
    """Whatever arithmetic the record names: the engine does not ask it."""
    for start in (sglang.launch_command, vllm.launch_command):
        notes = [start(replace(B70, weights="fp8", kv="fp8", compute=c), context=8192).notes for c in ("bf16", "fp8")]
        assert notes[0] == notes[1] and any("from 300 sequences on arithmetic" in note for note in notes[0])
        a100 = start(replace(B70, weights="fp8", chip=A100), context=8192, mean=1024)
        assert any("from 78 sequences on arithmetic" in note for note in a100.notes)


def test_heads_stored_twice_count_twice() -> None:
    few = replace(LLAMA3_70B, kv_heads=2, name="few")
    d = replace(B70, model=few)
    once = sglang.launch_command(replace(d, chips=2, chip=H200), model_path="m")
    assert said_pool(once) > 0
    pool = sglang.expected_pool(replace(d, kv_split="heads"), mem_fraction_static=0.85)
    assert said_pool(sglang.launch_command(d, model_path="m")) == pool.tokens
    assert pool.token_bytes * 8 == 4 * few.kv_bytes_per_token("bf16")


def test_the_context_is_a_limit_only_below_the_models_own() -> None:
    for engine, flag in (("sglang", "--context-length"), ("vllm", "--max-model-len")):
        assert flag not in START[engine](B70, context=8192).flags
        assert START[engine](B70, context=8191).flags[flag] == "8191"
    assert start_megatron(B70).flags["--inference-max-seq-length"] == "8192"
    assert start_megatron(B70, context=1000).flags["--inference-max-seq-length"] == "1000"


# Several machines ----------------------------------------------------------------------------------------------------

LARGE = Deployment(model=LLAMA3_405B, chip=H100, chips=16)
TWO: dict[str, Any] = {"context": 8192, "head": "10.0.0.1:20000"}


def test_two_machines_in_two_stages() -> None:
    """405B in bf16, 812 GB, in two machines of 640: eight ways in each, one after the other."""
    one, other = (sglang.launch_command(LARGE, **TWO, stages=2, rank=rank) for rank in (0, 1))
    wanted = {"--tp-size": "8", "--pp-size": "2", "--nnodes": "2", "--dist-init-addr": "10.0.0.1:20000"}
    assert wanted.items() <= one.flags.items() and wanted.items() <= other.flags.items()
    assert (one.flags["--node-rank"], other.flags["--node-rank"]) == ("0", "1")
    one, other = (vllm.launch_command(LARGE, **TWO, stages=2, rank=rank) for rank in (0, 1))
    wanted = {"--tensor-parallel-size": "8", "--pipeline-parallel-size": "2", "--nnodes": "2"}
    wanted |= {"--master-addr": "10.0.0.1", "--master-port": "20000"}
    assert wanted.items() <= one.flags.items()
    assert "--headless" not in one.flags and "--headless" in other.flags


def test_a_token_visits_every_stage() -> None:
    """Two stages of eight chips, each half of the weights: as long as eight chips would take for all of them."""
    eight = replace(LARGE, chips=8, params="streamed", chip=replace(H100, memory=160 * GB, device_memory=170 * GB))
    took = re.search(r"then takes ([\d.]+) ms", " ".join(vllm.launch_command(LARGE, **TWO, stages=2).notes))
    n = held(vllm.launch_command(LARGE, **TWO, stages=2))
    step = decode_step(eight, 1, 0).weights + n * 8192 * LARGE.kv_per_token / (16 * H100.bandwidth)
    assert took and float(took[1]) == pytest.approx(step / ms, rel=0.005)


def test_beyond_the_kv_heads_the_cache_is_split_or_copied() -> None:
    split = vllm.launch_command(LARGE, **TWO)
    assert split.flags["--decode-context-parallel-size"] == "2" and split.flags["--tensor-parallel-size"] == "16"
    copied = vllm.launch_command(replace(LARGE, kv_split="heads"), **TWO)
    assert "--decode-context-parallel-size" not in copied.flags
    assert said_pool(split) == pytest.approx(2 * said_pool(copied), rel=1e-3)
    # With a cache in 8 or 4 bits, and on AMD, vLLM has no kernel that splits it.
    for d in (*(replace(LARGE, kv=kv) for kv in ("fp8", "int8", "int4")), replace(LARGE, chip=MI300X)):
        line = vllm.launch_command(d, **TWO)
        assert "--decode-context-parallel-size" not in line.flags
        assert "16 ways share 8 KV heads: each is stored 2 times" in line.notes
        assert said_pool(line) == said_pool(vllm.launch_command(replace(d, kv_split="heads"), **TWO))
    assert "16 ways share 8 KV heads: each is stored 2 times" in sglang.launch_command(LARGE, **TWO).notes
    assert not any("is stored" in note for note in split.notes)
    # SGLang's own --dcp-size is for latent caches, and --attn-dp-size is not wired for LLaMA: neither is offered.
    assert not {"--dcp-size", "--attn-dp-size"} & set(sglang.launch_command(LARGE, **TWO).flags)


def test_machines_that_do_not_know_each_other_are_refused() -> None:
    asked = {"context": 8192, "stages": 2}
    for start in (sglang.launch_command, vllm.launch_command):
        refused(lambda start=start: start(LARGE, **asked), "head must be given", "2 machines", "10.0.0.1:20000")
        refused(lambda start=start: start(LARGE, context=8192), "over several machines give head")
        for head in ("10.0.0.1", ":1", "-x:1", "host:port", "a:0", "a:99999", "fd00::1:20000", "http://a:1"):
            refused(lambda start=start, head=head: start(LARGE, **asked, head=head), "head must")
        for rank in (-1, 2, True, "0"):
            refused(lambda start=start, rank=rank: start(LARGE, **TWO, stages=2, rank=rank), "rank must be a whole")
        refused(lambda start=start: start(replace(LARGE, chips=12), **TWO, stages=2), "chips must be one of", "not 12")
    for start in (start_megatron, mini_sglang.launch_command):
        refused(lambda start=start: start(LARGE), "chips must be one of 1, 2, 4, 8, not 16")


def test_what_one_machine_does_not_hold_is_sent_to_two() -> None:
    for start in (sglang.launch_command, vllm.launch_command):
        refused(lambda start=start: start(replace(LARGE, chips=8), context=8192), "use 16 chips in 2 stages")


# Flags against each other --------------------------------------------------------------------------------------------

FLAGS = {
    "sequences": 256, "tokens": 8192, "replicas": 1, "stages": 1, "ways": 8, "machines": 1, "split": 1, "heads": 64,
    "kv_heads": 8,
}  # fmt: skip
# By file and line of the engine: flags on its good side, and on its bad.
SIDES: dict[str, tuple[dict[str, int], dict[str, int]]] = {
    "config/scheduler.py line 331": ({"sequences": 256, "tokens": 256}, {"sequences": 257, "tokens": 256}),
    "engine/arg_utils.py line 2406": ({"stages": 2, "machines": 2}, {"stages": 1, "ways": 8, "machines": 3}),
    "config/model.py line 1576": ({"ways": 16, "split": 2}, {"ways": 8, "split": 2}),
    "config/model.py line 1586": ({"ways": 32, "split": 4}, {"ways": 16, "split": 4}),
    "config/model.py line 1596": ({"ways": 64, "split": 8}, {"ways": 64, "split": 6}),
    "srt/arg_groups/validation_hook.py line 179": ({"stages": 2, "machines": 2}, {"ways": 8, "machines": 3}),
    "srt/arg_groups/validation_hook.py line 199": ({"replicas": 2, "machines": 1}, {"replicas": 2, "machines": 2}),
}
CHECKS = [(engine, check) for engine in (sglang, vllm) for check in engine.CROSS_CHECKS]


@pytest.mark.parametrize(("engine", "check"), CHECKS, ids=[check.where for _, check in CHECKS])
def test_flags_are_judged_against_each_other_as_the_engine_does(engine: Any, check: Any) -> None:
    good, bad = SIDES[check.where]
    record = engine.SGLANG if engine is sglang else engine.VLLM
    cross_check(record, (check,), FLAGS | good)
    refused(lambda: cross_check(record, (check,), FLAGS | bad), record.version, check.where)


def test_a_budget_below_the_sequences_is_refused_and_a_default_bends() -> None:
    command = vllm.launch_command(B8, context=1024, max_num_batched_tokens=256)
    assert cap(command) == (0, "") and any("256 run at once" in note for note in command.notes)
    vllm.launch_command(B8, context=1024, max_num_batched_tokens=256, max_running=256)
    refused(
        lambda: vllm.launch_command(B8, context=1024, max_num_batched_tokens=256, max_running=296),
        "max_num_batched_tokens must be at least the 296 sequences", "not 256", "config/scheduler.py line 331",
    )  # fmt: skip
    refused(lambda: vllm.launch_command(B8, max_running=8193), "at least the 8193 sequences", "not 8192")


def test_replicas_stay_on_one_machine() -> None:
    refused(lambda: sglang.launch_command(LARGE, **TWO, stages=2, replicas=2), "replicas must be 1 over 2 machines")


# Chunks, replicas, pairs ---------------------------------------------------------------------------------------------


def chunk(d: Deployment, **asked: Any) -> str:
    return dict(sglang.launch_command(d, **asked).reasons)["--chunked-prefill-size"]


def test_the_reason_for_a_chunk_says_when_it_does_nothing() -> None:
    assert chunk(B70, chunked_prefill=8192) == (
        "the default on H100 SXM already, no prompt is longer than 8,192 tokens, so none is split"
    )
    assert "only bounds activation memory" in chunk(B70, chunked_prefill=2048)
    assert "decode steps in its batch wait" in chunk(B70, chunked_prefill=2048, mixed_chunk=True)
    # 2 x 69.50e9 x 2048 / (8 x 989.5e12) s: the input embedding is no matmul
    assert "takes 36 ms at the peak FLOP/s" in chunk(B70, chunked_prefill=2048)


def test_default_chunks_follow_the_memory_of_the_gpu() -> None:
    sizes = {L40S: 4096, A100: 8192, H100: 8192, H200: 8192, B200: 16_384, MI300X: 16_384}
    assert {chip: sglang.default_chunk(replace(B8, chip=chip)) for chip in sizes} == sizes
    small = replace(L40S, device_memory=16 * GiB)
    assert sglang.default_chunk(replace(B8, chip=small)) == 2048
    tokens = {L40S: 2048, A100: 2048, H100: 8192, H200: 8192, B200: 16_384, MI300X: 16_384}
    assert {chip: vllm.default_step_tokens(replace(B8, chip=chip)) for chip in tokens} == tokens
    why = dict(vllm.launch_command(B70, max_num_batched_tokens=8192).reasons)["--max-num-batched-tokens"]
    assert why.startswith("the default on H100 SXM already")


def test_replicas_are_full_copies_on_one_machine() -> None:
    d = replace(B70, chips=4)
    for start, flag in ((sglang.launch_command, "--dp-size"), (vllm.launch_command, "--data-parallel-size")):
        command = start(d, replicas=2)
        assert command.flags[flag] == "2" and "2 full copies on 8 GPUs" in dict(command.reasons)[flag]
        assert flag not in start(d).flags
        with pytest.raises(ValueError, match=r"^replicas must be at most 2 with 4 chips each .* not 3: start more"):
            start(d, replicas=3)
        with pytest.raises(ValueError, match=r"^replicas must be at most 1 with 8 chips each .* not 2: start more"):
            start(replace(d, chips=8), replicas=2)


def test_a_pair_of_servers_and_the_router() -> None:
    one, other, router = sglang.disaggregated(
        B70, replace(B70, chips=4, usable=0.95), context=8192, max_running=16, port=30001, hosts=("a", "b")
    )
    assert one.flags["--disaggregation-mode"] == "prefill" and "--max-running-requests" not in one.flags
    assert other.flags["--disaggregation-mode"] == "decode" and other.flags["--max-running-requests"] == "16"
    assert one.flags["--port"] == other.flags["--port"] == "30001"
    assert one.flags["--host"] == other.flags["--host"] == "0.0.0.0"  # the router is on another machine
    assert "2.68 GB" in dict(one.reasons)["--disaggregation-mode"]  # 8192 x 327680 B
    assert router.flags["--prefill"] == "http://a:30001" and router.flags["--decode"] == "http://b:30001"
    assert "--pd-disaggregation" in router.flags and any("sglang-router" in note for note in router.notes)
    assert "--disaggregation-transfer-backend" not in one.flags  # mooncake, the default
    for server in sglang.disaggregated(B70, B70, context=8192, transfer="nixl", ib_device="mlx5_0")[:2]:
        assert server.flags["--disaggregation-transfer-backend"] == "nixl"
        assert server.flags["--disaggregation-ib-device"] == "mlx5_0"
    for field, value in (("kv", "fp8"), ("weights", "fp8"), ("model", LLAMA3_8B)):
        with pytest.raises(ValueError, match=rf"^{field} must be the same on both servers, not .* and .*\.$"):
            sglang.disaggregated(B70, replace(B70, **{field: value}), context=8192)
    with pytest.raises(ValueError, match=r"^role must be prefill or decode, not 'both'\.$"):
        sglang.launch_command(B70, role="both")
    with pytest.raises(ValueError, match=r"^transfer must be one of mooncake, nixl, mooncake_tcp, not 'tcp'\.$"):
        sglang.disaggregated(B70, B70, context=8192, transfer="tcp")


def test_the_benchmark_of_an_engine_stands_beside_the_roofline() -> None:
    asked: dict[str, Any] = {"prompt": 1024, "answer": 256, "concurrency": 64}
    one, other = (benchmark_command(engine, B70, **asked) for engine in (sglang.SGLANG, vllm.VLLM))
    for command in (one, other):
        flags = {"--random-input-len": "1024", "--random-output-len": "256", "--max-concurrency": "64"}
        assert flags.items() <= command.flags.items()
        step = decode_step(replace(B70, params="streamed"), 64, 1024 + 128).total
        assert f"{step / ms:.3g} ms by the serial roofline, for 64 sequences of 1,152 tokens" in command.notes[0]
    # In SGLang a ratio of 0, the default, draws lengths from one token up; in vLLM it is the spread around the length.
    assert one.arguments[:7] == tuple(
        "python -m sglang.benchmark.serving --backend sglang --random-range-ratio 1".split()
    )
    assert other.arguments[:3] == ("vllm", "bench", "serve") and "--random-range-ratio" not in other.arguments
    assert (one.flags["--port"], other.flags["--port"]) == ("30000", "8000")
    refused(lambda: benchmark_command(megatron.MEGATRON, B70, **asked), "engine must be one with a benchmark")


def test_megatron_starts_one_process_a_gpu() -> None:
    command = start_megatron(B70)
    assert command.arguments[:5] == ("env", "CUDA_DEVICE_MAX_CONNECTIONS=1", "torchrun", "--nproc-per-node", "8")
    assert command.flags["--tensor-model-parallel-size"] == "8"
    assert start_megatron(replace(B8, usable=0.9)).arguments[0] == "torchrun"


def test_megatrons_buffer_is_what_the_weights_leave() -> None:
    flag = "--inference-dynamic-batching-buffer-size-gb"
    left = (0.85 * free_memory(B70) - weight_bytes(B70) / 8) / GiB
    assert start_megatron(B70).flags[flag] == f"{int(left * 10) / 10:g}"
    assert flag not in start_megatron(replace(B70, usable=1.0)).flags  # 40 GiB, its own
    assert start_megatron(replace(B70, usable=1.0), buffer=30 * GiB).flags[flag] == "30"
    tight = replace(B70, chips=2, usable=1.0)
    with pytest.raises(ValueError, match=r"^buffer must be at most 13 GiB beside 70.6 GB of weights .* not 40 GiB"):
        start_megatron(tight)
    assert start_megatron(tight, buffer=8 * GiB).flags[flag] == "8"


def test_head_and_rank_are_for_several_machines() -> None:
    for start in (sglang.launch_command, vllm.launch_command):
        refused(lambda s=start: s(B8, head="a:1"), "head must not be given for 1 chips in one machine, not 'a:1'")
        refused(lambda s=start: s(B8, rank=1), "rank must not be given", "not 1")
        second = start(LARGE, **TWO, stages=2, rank=1)
        assert not any("listens" in note for note in second.notes)
        assert any("ranks 0 to 1" in note and "NCCL_SOCKET_IFNAME" in note for note in second.notes)
    six = vllm.launch_command(LARGE, **TWO | {"head": "[fd00::1]:20000"})
    assert (six.flags["--master-addr"], six.flags["--master-port"]) == ("fd00::1", "20000")
    assert any("stages, one a machine, are usual" in note for note in six.notes)
    assert not any("are usual" in note for note in vllm.launch_command(LARGE, **TWO, stages=2).notes)
    there = sglang.launch_command(LARGE, **TWO | {"head": "[fd00::1]:20000"}).flags["--dist-init-addr"]
    assert there == "[fd00::1]:20000"


def test_steps_are_counted_by_the_efficiency_and_say_what_is_left_out() -> None:
    linked = replace(B70, efficiency=Efficiency(links=0.8, start=5e-6))
    plain, counted = (vllm.launch_command(d, context=8192, max_step=15 * ms) for d in (B70, linked))
    assert "by the serial roofline without collectives" in cap(plain)[1]
    assert "at the efficiency given" in cap(counted)[1] and "without" not in cap(counted)[1]
    assert cap(counted)[0] < cap(plain)[0]
    assert "without collectives" not in str(vllm.launch_command(B8, context=8192))
    slow = replace(B70, efficiency=Efficiency(bandwidth=0.5))
    flag = "--tensor-parallel-size"
    assert dict(vllm.launch_command(slow).reasons)[flag] == dict(vllm.launch_command(B70).reasons)[flag]


def test_a_promise_is_in_seconds_and_what_needs_no_cap_is_said() -> None:
    for start in START.values():
        refused(lambda s=start: s(B70, context=8192, max_step=10), "max_step must be at most 1, in seconds, not 10")
        assert any("limit of 900 ms, so no cap" in note for note in start(B70, context=8192, max_step=0.9).notes)


def test_batches_beyond_the_graphs_say_so() -> None:
    asked: dict[str, Any] = {"context": 8192, "mean": 2048}
    (note,) = (n for n in sglang.launch_command(B70, **asked).notes if "graphs" in n)
    assert note == "graphs are recorded up to 512 sequences: --cuda-graph-max-bs-decode 642 covers the batch"
    assert not any("graphs are" in n for n in sglang.launch_command(B70, **asked, max_running=512).notes)
    l40s = Deployment(model=LLAMA3_8B, chip=L40S)
    assert any("up to 32 sequences" in n for n in sglang.launch_command(l40s, context=1024).notes)
    (note,) = (n for n in vllm.launch_command(B70, **asked).notes if "graphs" in n)
    assert "up to 512" in note and "--max-cudagraph-capture-size" in note
    assert not any("graphs are" in n for n in vllm.launch_command(B70, **asked, max_running=512).notes)
    b200 = vllm.launch_command(replace(B70, chip=B200), context=2048, max_running=1000)
    assert not any("graphs are" in n for n in b200.notes)


def test_a_small_budget_has_a_small_cap_in_the_pool() -> None:
    few = vllm.launch_command(B8, max_num_batched_tokens=512)
    assert said_pool(few) == vllm.expected_pool(B8, max_num_seqs=512).tokens > vllm.expected_pool(B8).tokens


def test_the_numbers_of_copies_are_of_each() -> None:
    d = replace(B70, chips=4)
    for start in (sglang.launch_command, vllm.launch_command):
        assert "in each copy" in " ".join(start(d, context=8192, replicas=2).notes)
        assert "in each copy" not in " ".join(start(d, context=8192).notes)


def test_what_the_engines_refuse_at_their_start() -> None:
    refused(lambda: vllm.launch_command(B8, gpu_memory_utilization=1.0), "gpu_memory_utilization must be at most 0.992")
    vllm.launch_command(B8, gpu_memory_utilization=0.992)
    refused(lambda: sglang.launch_command(B8, mem_fraction_static=0.995), "mem_fraction_static must be at most 0.993")
    refused(lambda: sglang.launch_command(B8, model_path="org/m:v2"), "model_path must not hold a colon", "org/m:v2")
    sglang.launch_command(B8, model_path="s3://bucket/m")
    large = "chunked_prefill must be smaller than 65,536 tokens"
    refused(lambda: sglang.launch_command(B8, chunked_prefill=65_536), large, "choose 8,192")
    sglang.launch_command(B8, chunked_prefill=65_536, mem_fraction_static=0.8)


def test_fp16_weights_multiply_in_fp16_whatever_the_record_names() -> None:
    for start in (sglang.launch_command, vllm.launch_command):
        given, left = (start(replace(B70, weights="fp16", kv="fp16", compute=c)) for c in ("fp16", "bf16"))
        assert str(given) == str(left) and given.flags["--dtype"] == "float16"


def test_fp8_weights_without_fp8_arithmetic_are_said() -> None:
    said = "A100 80GB SXM has no FP8 arithmetic: the weights are stored in FP8 and computed in bf16"
    for start in (sglang.launch_command, vllm.launch_command):
        assert said in start(replace(B70, weights="fp8", chip=A100), context=4096).notes
        assert said not in start(replace(B70, weights="fp8"), context=4096).notes


def test_what_the_surroundings_have_to_give() -> None:
    token = "meta-llama repositories are gated: set HF_TOKEN of an account let in"
    for start in (sglang.launch_command, vllm.launch_command):
        assert token in start(B70).notes and token not in start(B70, model_path="m").notes
        docker = [any("--ipc host" in note for note in start(d).notes) for d in (B70, B8)]
        assert docker == [True, False]
    key = "listens on every address without a key: see --host and --api-key"
    assert key in vllm.launch_command(B8).notes and key not in vllm.launch_command(B8, host="127.0.0.1").notes


def test_the_fraction_of_the_fewest_chips_is_theirs() -> None:
    d = replace(B70, weights="fp8", usable=1.0)
    (at,) = re.findall(r"at ([\d.]+) of", dict(sglang.launch_command(d).reasons)["--tp-size"])
    assert at == f"{sglang.default_mem_fraction(replace(d, chips=2)):.3g}"


def test_hosts_of_a_pair_are_two_machines() -> None:
    def pair(hosts: Any, **asked: Any) -> Command:
        return sglang.disaggregated(B70, B70, context=8192, hosts=hosts, **asked)[2]

    for bad in (("a",), ("a", "b", "c"), "ab", ("http://a", "b"), ("a:1", "b"), ("a/x", "b"), ("a", "a")):
        refused(lambda bad=bad: pair(bad), "hosts must be")
    router = pair(("fd00::1", "[fd00::2]"))
    assert router.flags["--prefill"] == "http://[fd00::1]:30000"
    assert router.flags["--decode"] == "http://[fd00::2]:30000"
    tcp: dict[str, Any] = {"transfer": "mooncake_tcp", "ib_device": "mlx5_0"}
    refused(lambda: pair(("a", "b"), **tcp), "ib_device must not be given for mooncake_tcp")
    for asked in ({"head": "a:1"}, {"rank": 1}, {"stages": 2}):
        refused(lambda asked=asked: pair(("a", "b"), **asked), "prefill must be one machine", "not built")
    large = replace(B70, chips=16)
    refused(lambda: sglang.disaggregated(B70, large, context=8192), "decode must be one machine")


def test_a_pair_names_its_package_its_port_and_its_differences() -> None:
    for transfer, package in (("mooncake", "mooncake-transfer-engine"), ("nixl", "nixl")):
        one, other, _ = sglang.disaggregated(B70, B70, context=8192, transfer=transfer)
        for server in (one, other):
            assert f"a package carries the cache: pip install {package}" in server.notes
            assert any("port 8998" in note for note in server.notes)
            assert not any("guaranteed" in note for note in server.notes)
    for server in sglang.disaggregated(B70, replace(B70, chips=4), context=4096)[:2]:
        assert any("not guaranteed" in note for note in server.notes)
    alone = sglang.launch_command(B70, role="prefill")
    assert any("registers under the address in --host" in note for note in alone.notes)


# What would not start ------------------------------------------------------------------------------------------------

REFUSED = {
    "no TPU": (replace(B70, chip=TPU_V5E), {}, "chip must be a", "such as H100 SXM, not TPU v5e"),
    "heads": (replace(B70, chips=6), {}, "chips must be one of 1, 2, 4, 8, not 6", "64 query heads and 8 KV heads"),
    "machine": (replace(B70, chips=16), {}, "chips must be one of 1, 2, 4, 8, not 16", "at most 8 H100 SXM"),
    "tray": (replace(B70, chip=GB200), {}, "chips must be one of 1, 2, 4, not 8", "at most 4 GB200 NVL72"),
    "weights": (replace(B70, chips=1), {}, "chips must be more than 1: 141 GB of weights", "use 2 chips"),
    "never": (replace(B70, model=LLAMA3_405B, chip=L40S), {"context": 8192}, "812 GB of weights", "chips must be more"),
    "fp32": (replace(B70, weights="fp32"), {}, "weights must be ", "not 'fp32'"),
    "compute": (replace(B70, compute="fp8"), {}, "compute must be bf16 for weights in bf16", "not 'fp8'"),
    "kv fp32": (replace(B70, kv="fp32"), {}, "kv must be ", "not 'fp32'"),
    "kv fp16": (replace(B70, kv="fp16"), {}, "kv must be bf16", "not 'fp16'"),
    "window": (B70, {"context": 8193}, "context must be at most 8,192 tokens", "LLaMA 3-70B", "not 8,193"),
    "step": (
        B70,
        {"context": 8192, "max_step": 1 * ms},
        "max_step must be at least 5.29 ms",
        "not 1 ms",
        "use more chips",
    ),
    "step alone": (B70, {"max_step": 1.0}, "context or mean must be given with max_step"),
    "array": (replace(B70, usable=np.array([0.8, 0.9])), {}, "usable must be a single share"),
    "chips": (replace(B70, chips=np.array([4, 8])), {}, "chips must be a single whole number"),
    "half a port": (B70, {"port": 0.5}, "port must be a whole number"),
    "port": (B70, {"port": 65_536}, "port must be a whole number from 1 to 65535, not 65536"),
    "none running": (B70, {"max_running": 0}, "max_running must be a whole number of at least 1"),
    "negative": (B70, {"context": -1}, "context must be a whole number"),
    "no limit": (B70, {"context": 8, "max_step": 0.0}, "max_step must be a finite number above 0"),
}


@pytest.mark.parametrize("engine", START)
@pytest.mark.parametrize("cause", REFUSED)
def test_what_would_not_start_is_refused_with_the_way_out(engine: str, cause: str) -> None:
    d, asked, *parts = REFUSED[cause]
    refused(lambda: START[engine](d, **asked), *parts)


def refused(call: Callable[[], Any], *parts: str) -> None:
    """One clear sentence or two, on one line, that says all the parts."""
    with pytest.raises(ValueError) as error:
        call()
    said = str(error.value)
    assert said.endswith(".") and "\n" not in said and len(said) < 320, said
    for part in parts:
        assert part in said


def test_int8_cache_in_sglang_names_the_choices() -> None:
    for kv in ("int8", "int4"):
        refused(
            lambda kv=kv: sglang.launch_command(replace(B70, kv=kv)),
            "kv must be bf16, fp8 or fp4 for SGLang",
            "bf16, bfloat16, fp8_e4m3, fp8_e5m2",
            f"not '{kv}'",
            "Choose kv='fp8' for fp8_e4m3",
        )


def test_engines_without_quantised_weights_or_cache_say_so() -> None:
    refused(lambda: start_megatron(replace(B70, weights="fp8")), "weights must be bf16 for Megatron-LM, not 'fp8'")
    refused(lambda: mini_sglang.launch_command(replace(B70, kv="fp8")), "kv must be bf16 for Mini-SGLang", "no flag")
    for start in (start_megatron, mini_sglang.launch_command):
        refused(lambda start=start: start(replace(B70, chip=MI300X)), "chip must be a GPU of NVIDIA", "not MI300X")


def test_weights_are_multiplied_as_engines_do() -> None:
    allowed = {
        "bf16": {"bf16"},
        "fp16": {"fp16", "bf16"},
        "fp8": {"fp8", "bf16"},
        "int8": {"int8", "bf16", "fp16"},
        "int4": {"bf16", "fp16"},
        "fp4": {"fp4", "bf16"},
    }
    for weights, those in allowed.items():
        for compute in B200.flops:
            kv = "fp16" if "fp16" in (weights, compute) else "bf16"
            d = replace(B70, chip=B200, weights=weights, compute=compute, kv=kv)
            if compute == "int8" == weights:  # no kernel for it on Blackwell
                for start in (sglang.launch_command, vllm.launch_command):
                    refused(lambda d=d, s=start: s(d, model_path="m"), "in int8 on B200", "Choose weights in fp8")
                    start(replace(d, chip=H100), model_path="m")
            elif compute in those:
                noted = any("must be W8A16" in n for n in vllm.launch_command(d, model_path="m").notes)
                assert noted == (weights == "int8")
                sglang.launch_command(d, model_path="m")
            else:
                refused(lambda d=d: sglang.launch_command(d, model_path="m"), f"for weights in {d.weights}")


def test_fp4_needs_the_chip_for_it() -> None:
    for d in (replace(B70, kv="fp4"), replace(B70, weights="fp4")):
        refused(
            lambda d=d: sglang.launch_command(d, model_path="m"), "chip must have FP4", "such as B200", "not H100 SXM"
        )


CASES = Path(__file__).parents[1] / "data" / "cases"


def of_case(name: str) -> tuple[Deployment, dict[str, Any]]:
    case = json.loads((CASES / f"launch-{name}.json").read_text(encoding="utf-8"))
    model = {"8b": LLAMA3_8B, "70b": LLAMA3_70B}[case["model"]]
    (chip,) = (chip for chip in CATALOGUE if chip.name == case["chip"])
    d = Deployment(model=model, chip=chip, chips=case["chips"], weights=case.get("weights", "bf16"))
    return d, {key: case[key] for key in ("context", "max_num_batched_tokens") if key in case}


def test_70b_in_fp8_does_not_start_on_one_h100() -> None:
    """72.7 GB loaded and 2.7 GB of cache are more than 0.92 x 80 GB; the log of that start ended at -1.44 GiB."""
    d, asked = of_case("70b-fp8-one-h100")
    refused(lambda: vllm.launch_command(d, **asked), "chips must be more than 1: 72.7 GB of weights", "use 2 chips")
    vllm.launch_command(replace(d, chips=2), **asked)


def test_one_l40s_holds_one_sequence_of_70b_in_int4() -> None:
    """A real file of four bits weighs 39.8 GB, not 35.3: the scales of its groups."""
    d, asked = of_case("70b-int4-one-l40s")
    assert held(vllm.launch_command(d, **asked, model_path="org/awq")) == 1


def test_no_budget_is_below_the_cap() -> None:
    d, asked = of_case("budget-below-cap")
    assert cap(vllm.launch_command(d, **asked))[0] <= 256


def test_the_way_out_of_full_memory_leads_out() -> None:
    tight = replace(B70, chips=2, usable=1.0)
    refused(lambda: sglang.launch_command(tight), "use 4 chips, or raise mem_fraction_static above 0.84")
    sglang.launch_command(replace(tight, chips=4))
    sglang.launch_command(tight, mem_fraction_static=0.86)
    # vLLM has to hold one request of the longest length.
    start = partial(vllm.launch_command, tight, gpu_memory_utilization=0.89)
    refused(start, "and one sequence of 8,192 tokens", "use 4 chips")
    vllm.launch_command(tight, gpu_memory_utilization=0.93, context=512, max_running=64)


def test_shares_of_nonsense_are_refused() -> None:
    for bad in (0, 1.5, -0.1, "0.9"):
        refused(
            lambda bad=bad: sglang.launch_command(B70, mem_fraction_static=bad), "mem_fraction_static must be a share"
        )
        refused(lambda bad=bad: vllm.launch_command(B70, gpu_memory_utilization=bad), "gpu_memory_utilization must be")
        refused(lambda bad=bad: mini_sglang.launch_command(B70, memory_ratio=bad), "memory_ratio must be a share")
        refused(lambda bad=bad: start_megatron(B70, buffer=-1 if bad else 0), "buffer must be a finite number above 0")
    refused(lambda: sglang.launch_command(B70, mem_fraction_static=1), "mem_fraction_static must be at most 0.993")
    for name in ("metrics", "mixed_chunk", "quantized"):
        refused(lambda name=name: sglang.launch_command(B70, **{name: "no"}), f"{name} must be True or False")


GPUS = [chip for chip in CATALOGUE if not chip.slices]


@given(
    engine=st.sampled_from(sorted(START)),
    model=st.sampled_from([LLAMA3_8B, LLAMA3_70B, LLAMA3_405B]),
    chip=st.sampled_from(GPUS),
    chips=st.sampled_from([1, 2, 3, 4, 8, 16]),
    dtypes=st.tuples(*[st.sampled_from(sorted(DTYPE_BYTES))] * 2),
    usable=st.sampled_from([0.5, 0.85, 0.95, 1.0]),
    context=st.sampled_from([None, 1, 2048, 8192, 131_072]),
    data=st.data(),
)
@settings(max_examples=80, deadline=None)
def test_any_deployment_gives_a_command_or_one_sentence(
    engine: str, model: Any, chip: Any, chips: int, dtypes: Any, usable: float, context: Any, data: Any
) -> None:
    compute = data.draw(st.sampled_from(sorted(chip.flops)))
    weights, kv = dtypes
    d = Deployment(model=model, chip=chip, chips=chips, weights=weights, kv=kv, compute=compute, usable=usable)
    try:
        command = START[engine](d, model_path="m", context=context)
    except ValueError as error:
        assert str(error).endswith(".") and "\n" not in str(error) and len(str(error)) < 320
        if way_out := re.search(r"use (\d+) chips(?: in (\d) stages)?", str(error)):
            more = {"stages": int(way_out[2]), "head": "a:1"} if way_out[2] else {}
            START[engine](replace(d, chips=int(way_out[1])), model_path="m", context=context, **more)
        return
    table = TABLE[engine]
    for flag, value in command.flags.items():
        assert table[flag]["status"] == "ok" and holds(table[flag], value)
    assert shlex.split(command.line) == list(command.arguments)
    # What is started fits.
    assert weight_bytes(d) < d.chips * d.chip.device_memory


# The record ----------------------------------------------------------------------------------------------------------


def test_a_command_is_its_parts() -> None:
    command = Command(
        engine="E",
        version="1",
        date="2026-01-01",
        program=("e", "run"),
        options=(Flag("--a", "1 2", "why a"), Flag("x y"), Flag("--b")),
        notes=("that's (all)",),
    )
    assert command.arguments == ("e", "run", "--a", "1 2", "x y", "--b")
    assert command.flags == {"--a": "1 2", "--b": None}
    assert command.reasons == (("--a", "why a"),)
    assert command.line == "e run --a '1 2' 'x y' --b"
    assert (
        str(command)
        == command.shell
        == (
            "# E 1, flags as of 2026-01-01\n# --a 1 2: why a\n# that s all\ne run \\\n  --a '1 2' \\\n  'x y' \\\n  --b"
        )
    )


def test_the_package_gives_the_names() -> None:
    import scaling.engines as engines

    assert engines.Command is Command and engines.sglang is sglang
    assert all(getattr(engines, name) is not None for name in engines.__all__)


def test_a_mixture_reads_all_its_weights_only_when_every_expert_is_awake() -> None:
    experts = scaling.Experts(layers=80, routed=8, active=2, d_ff=7168)
    for model in (LLAMA3_70B, replace(LLAMA3_70B, experts=experts)):
        command = vllm.launch_command(Deployment(model=model, chip=H100, chips=8), context=8192, model_path="a/b")
        said = "which wakes every expert" in " ".join(str(command).replace("#", " ").split())
        assert said is (model.experts is not None)
