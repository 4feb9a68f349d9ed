"""What each engine's command says, word for word, and where its rules change: tests/data/launch_commands.sh."""

import json
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from typing import Any

import pytest

from scaling import A100, B200, GB200, H100, LLAMA3_8B, LLAMA3_70B, LLAMA3_405B, MI300X, TPU_V5E, Chip, Deployment
from scaling.engines import Command, megatron, mini_sglang, sglang, vllm, words
from scaling.engines.command import benchmark_command
from scaling.engines.pool import free_memory, loaded_weight_bytes
from scaling.units import GB, GiB, ms
from tests.paths import BOOK, DATA
from tests.scaling import records

SCRIPT = DATA / "launch_commands.sh"

B70 = Deployment(model=LLAMA3_70B, chip=H100, chips=8, usable=0.85)
B8 = Deployment(model=LLAMA3_8B, chip=H100)
FP8 = replace(B70, chips=4, weights="fp8", kv="fp8", usable=1.0)
FP16 = replace(B70, weights="fp16", compute="fp16", kv="fp16", usable=0.9)
PAGES: dict[str, Any] = {"model_path": "org/model", "context": 4096}
LARGE = Deployment(model=LLAMA3_405B, chip=H100, chips=16)
TWO: dict[str, Any] = {"context": 8192, "stages": 2, "head": "10.0.0.1:20000"}
LOAD: dict[str, Any] = {"prompt": 1024, "answer": 256, "concurrency": 64}
HERE: dict[str, Any] = {"host": "0.0.0.0", "port": 30001}

COMMANDS: dict[str, Callable[[], Command]] = {
    "sglang, nothing asked": lambda: sglang.launch_command(replace(B70, usable=1.0)),
    "sglang, everything": lambda: sglang.launch_command(
        FP8, **PAGES, **HERE, max_running=64, mem_fraction_static=0.875, chunked_prefill=2048, mixed_chunk=True,
        replicas=2, role="decode",
    ),
    "sglang, the prefill of a pair": lambda: sglang.launch_command(B70, role="prefill", max_running=8, metrics=False),
    "sglang, the second of two machines": lambda: sglang.launch_command(LARGE, **TWO, rank=1),
    "sglang, fp16": lambda: sglang.launch_command(FP16, context=8192, max_step=30 * ms, chunked_prefill=8192),
    "sglang, stored in fp8": lambda: sglang.launch_command(FP8, model_path="org/fp8", quantized=True),
    "vllm, nothing asked": lambda: vllm.launch_command(B8),
    "vllm, everything": lambda: vllm.launch_command(
        replace(FP8, kv="int8"), **PAGES, **HERE, max_running=64, gpu_memory_utilization=0.95,
        max_num_batched_tokens=8192, replicas=2,
    ),
    "vllm, a cache of four bits": lambda: vllm.launch_command(replace(B70, kv="int4"), context=8192),
    "vllm, a promised step": lambda: vllm.launch_command(FP8, context=8192, mean=2048, max_step=15 * ms),
    "vllm, the second of two machines": lambda: vllm.launch_command(LARGE, **TWO, rank=1),
    "vllm, sixteen ways": lambda: vllm.launch_command(LARGE, context=8192, head="10.0.0.1:20000"),
    "vllm, fp16": lambda: vllm.launch_command(FP16, max_num_batched_tokens=4096),
    "megatron, nothing asked": lambda: megatron.launch_command(B8, checkpoint="checkpoints/8b"),
    "megatron, everything": lambda: megatron.launch_command(
        replace(B70, chips=4), checkpoint="checkpoints/70b", **PAGES, max_running=8, buffer=30 * GiB, port=5001
    ),
    "megatron, two ways": lambda: megatron.launch_command(replace(B8, chips=2), checkpoint="c", context=8192),
    "mini_sglang, nothing asked": lambda: mini_sglang.launch_command(B8),
    "mini_sglang, everything": lambda: mini_sglang.launch_command(
        FP16, **PAGES, max_running=300, memory_ratio=0.8, chunked_prefill=4096, port=1920
    ),
    "mini_sglang, its own chunk": lambda: mini_sglang.launch_command(B70, chunked_prefill=8192),
    "the decode of a pair": lambda: sglang.disaggregated(FP8, FP8, context=8192, transfer="nixl")[1],
    "the router of a pair": lambda: sglang.disaggregated(FP8, FP8, context=8192)[2],
    "the benchmark of sglang": lambda: benchmark_command(sglang.SGLANG, FP8, **LOAD),
    "the benchmark of vllm": lambda: benchmark_command(vllm.VLLM, FP8, **LOAD),
}  # fmt: skip


def script() -> dict[str, str]:
    """The stored commands by name."""
    parts = re.split(r"^## (.+)\n", SCRIPT.read_text(encoding="utf-8"), flags=re.M)
    return {name: text.strip() for name, text in zip(parts[1::2], parts[2::2], strict=True)}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_word_for_word(name: str) -> None:
    assert str(COMMANDS[name]()) == script()[name]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_notebook_shows_the_command_to_copy_and_every_reason(name: str) -> None:
    command = COMMANDS[name]()
    html = command._repr_html_()
    shown = unescape(re.search("<pre>(.*?)</pre>", html, re.DOTALL)[1])  # type: ignore[index]
    assert shlex.split(shown.replace("\\\n", "")) == list(command.arguments) and "#" not in shown
    assert [unescape(why) for why in re.findall("<dd>(.*?)</dd>", html)] == [why for _, why in command.reasons]
    assert [unescape(note) for note in re.findall("<li>(.*?)</li>", html)] == list(command.notes)


def test_the_flags_that_chapter_9_names_are_in_the_table() -> None:
    engines = json.loads((DATA / "engine_flags.json").read_text(encoding="utf-8"))["engines"]
    known = {one["flag"] for engine in engines.values() for one in engine["flags"] if one["status"] == "ok"}
    cells = json.loads((BOOK / "09_sglang.ipynb").read_text(encoding="utf-8"))["cells"]
    prose = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", prose))
    assert len(named) > 10 and named <= known, f"not in engine_flags.json: {sorted(named - known)}"


def test_no_path_becomes_markup() -> None:
    assert "<b>" not in sglang.launch_command(B8, model_path="<b>/model")._repr_html_()


def test_every_stored_command_is_asked_for() -> None:
    assert list(script()) == list(COMMANDS)


# Where the rules change -----------------------------------------------------------------------------------------------


def test_the_step_of_vllm_follows_from_the_memory() -> None:
    sizes = {159.9: 8192, 160: 16_384, 70: 8192, 69.9: 2048}
    for size, tokens in sizes.items():
        assert vllm.default_step_tokens(replace(B70, chip=replace(H100, device_memory=size * GiB))) == tokens
    large = replace(A100, device_memory=80 * GiB)
    assert vllm.default_step_tokens(replace(B70, chip=large)) == 2048


def test_what_is_given_is_named_when_it_is_wrong() -> None:
    for start, name in (
        (sglang.launch_command, "chunked_prefill"),
        (mini_sglang.launch_command, "chunked_prefill"),
        (vllm.launch_command, "max_num_batched_tokens"),
    ):
        asked: dict[str, Any] = {name: 0.5}
        with pytest.raises(ValueError, match=rf"^{name} must be a whole number of at least 1, not 0\.5\.$"):
            start(B70, **asked)
        for context in (None, 8192):
            with pytest.raises(ValueError, match=r"^max_running must be a whole number of at least 1, not 0\.5\.$"):
                start(B70, context=context, max_running=0.5)  # type: ignore[arg-type]


def test_the_share_to_raise_is_named_and_counts_the_sequence() -> None:
    tight = replace(B70, chips=2, usable=0.84)  # 70.6 GB of weights in 84.6 that are free: 0.838 with SGLang's buffers
    for start, name in ((sglang.launch_command, "mem_fraction_static"), (mini_sglang.launch_command, "memory_ratio")):
        with pytest.raises(ValueError, match=rf"; use 4 chips, or raise {name} above 0\.86\.$"):
            start(tight, context=8192)
    with pytest.raises(ValueError, match=r"; use 4 chips, or raise gpu_memory_utilization above 0\.92\.$"):
        vllm.launch_command(tight, context=8192, gpu_memory_utilization=0.9)
    with pytest.raises(ValueError, match=r"; use 4 chips\.$"):
        megatron.launch_command(tight, checkpoint="c", context=8192)
    with pytest.raises(ValueError, match=r" of weights as loaded do not fit into "):
        sglang.launch_command(replace(B70, chips=1))  # no context was given, so none is spoken of


def test_one_sequence_is_enough() -> None:
    d = replace(B70, chips=2)
    one = sglang.expected_pool(d, mem_fraction_static=0.86)  # 1.3 GiB for the cache, and a sequence takes 1.25
    assert one.tokens // 8192 == 1
    assert "holds 1 sequence of 8,192 tokens" in str(sglang.launch_command(d, context=8192, mem_fraction_static=0.86))
    with pytest.raises(ValueError, match="; use 4 chips"):
        sglang.launch_command(d, context=8192, mem_fraction_static=0.85)


def test_the_buffer_of_megatron_may_take_all_that_the_weights_leave() -> None:
    left = free_memory(B8) - loaded_weight_bytes(B8)
    assert f"{left / GiB:.4g} GiB" in str(megatron.launch_command(B8, checkpoint="c", buffer=left))
    with pytest.raises(ValueError, match=r"^buffer must be at most 63\.8 GiB"):
        megatron.launch_command(B8, checkpoint="c", buffer=left + 1)


def test_the_first_and_the_last_that_are_taken() -> None:
    assert sglang.launch_command(B70, context=1).flags["--context-length"] == "1"
    assert sglang.launch_command(B70, port=65_535).flags["--port"] == "65535"
    wide = replace(B70, chip=replace(H100, fast_domain=72), chips=16)
    with pytest.raises(ValueError, match="in one machine of at most 8 H100 SXM"):
        sglang.launch_command(wide)


def test_a_critical_batch_without_a_fraction_is_not_rounded_up() -> None:
    for factor in (1.0, 3.0, 0.7):  # C / W is 250 but for the last bit
        chip = replace(H100, bandwidth=4e12 * factor, flops={"bf16": 1e15 * factor})
        notes = sglang.launch_command(replace(B70, chip=chip, kv="fp8", usable=0.95), context=8192).notes
        assert "from 250 sequences on arithmetic takes longer than reading the weights" in notes


def test_who_runs_on_what() -> None:
    amd = replace(B70, chip=MI300X)
    assert sglang.launch_command(amd).flags["--tp-size"] == vllm.launch_command(amd).flags["--tensor-parallel-size"]
    for start, kind in (
        (sglang.launch_command, "a GPU of NVIDIA or AMD for"),
        (mini_sglang.launch_command, "a GPU of NVIDIA for"),
    ):
        with pytest.raises(ValueError, match=f"^chip must be {kind} "):
            start(replace(B70, chip=TPU_V5E))


def test_weights_of_four_bits_are_not_made_while_loading() -> None:
    four = Deployment(model=LLAMA3_70B, chip=B200, weights="fp4", kv="fp4", compute="fp4")
    for start in (sglang.launch_command, vllm.launch_command):
        with pytest.raises(ValueError, match=r"^model_path must name a checkpoint stored in fp4: "):
            start(four)


def test_sizes_have_three_digits_or_all_of_them() -> None:
    sizes = {99.4: "99.4 GB", 99.5: "100 GB", 141.1: "141 GB", 1234.0: "1,234 GB"}
    assert {size: words.gb(size * GB) for size in sizes} == sizes


def test_a_long_word_of_a_comment_stays_whole() -> None:
    word = "x" * 100
    command = Command(engine="E", version="1", date="2026", program=("e",), notes=(f"see {word}",))
    assert f"# see\n#   {word}\n" in str(command)


@pytest.mark.parametrize("record", [sglang.SGLANG, sglang.launch_command(B8)], ids=lambda r: type(r).__name__)
def test_records_are_frozen_and_take_keywords_only(record: Any) -> None:
    records.check(record)


@pytest.mark.parametrize("chip", [GB200, MI300X, A100, H100], ids=lambda chip: chip.name)
def test_another_name_changes_nothing(chip: Chip) -> None:
    """What a chip is stands in its record: whoever replaces a record, as its docstring advises, gives it a new name."""
    d = Deployment(model=LLAMA3_8B, chip=chip, chips=4)
    named = replace(d, chip=replace(chip, name="my own"))
    assert vllm.default_step_tokens(named) == vllm.default_step_tokens(d)
    for start in (sglang.launch_command, vllm.launch_command, mini_sglang.launch_command):
        for chips in (4, 8):
            both = []
            for one in (d, named):
                try:
                    both.append(start(replace(one, chips=chips)).line)
                except ValueError as error:
                    both.append(str(error).replace("my own", chip.name))
            assert both[0] == both[1]


@pytest.mark.parametrize("start", [sglang.launch_command, vllm.launch_command, mini_sglang.launch_command])
def test_half_of_sixteen_gpus_are_eight(start: Callable[..., Command]) -> None:
    assert " 8.0" not in str(start(replace(B8, chips=16 / 2)))
