"""The explorers that a chapter makes in one line: what each asks, and that it shows what `scaling` computes."""

import gzip
from typing import Any

import pytest

import scaling
from scaling import H100, LLAMA3_70B, Deployment
from scaling.units import us

pytest.importorskip("anywidget")
from scaling.course import explore_batch, explore_launch, explore_memory, explore_splitting
from scaling.engines import sglang, vllm

HOME = Deployment(model=LLAMA3_70B, chip=H100, chips=8, weights="fp8", kv="fp8")
LAUNCH = explore_launch("x", sglang.launch_command)
ROOM = "room by the whole memory, sequences"


def test_the_memory_asks_for_the_room_at_the_home_case() -> None:
    widget = explore_memory("x")
    assert (widget.assumed["asks"], widget.show) == ("max_batch", ["memory"])
    assert widget.figures(widget.start)["max_batch"] == scaling.max_batch(HOME, 8192)
    assert "Room for" in widget.fallback() and "Step time" not in widget.fallback(), "chapter 2 knows no step yet"


def test_the_batch_asks_for_a_rate_in_the_arithmetic_of_an_engine() -> None:
    widget = explore_batch("x")
    assert (widget.assumed["asks"], widget.start["batch"]) == ("rate", 64)
    assert HOME.compute == "fp8"
    figures = widget.figures(widget.start)
    assert figures["rate"] == pytest.approx(scaling.tokens_per_second_per_chip(HOME, 64, 8192))
    assert figures["compute"] == pytest.approx(scaling.decode_step(HOME, 64, 8192).compute)


def test_splitting_asks_for_the_links() -> None:
    got = explore_splitting("x").outcome(ways=4, batch=256, dtype="bf16")
    D = LLAMA3_70B.d_model
    link = scaling.matmul_collective_time(H100, 256, D, chips=4)
    one = scaling.matmul_time(Deployment(model=LLAMA3_70B, chip=H100, chips=4), 256, D, LLAMA3_70B.d_ff)
    limits = [scaling.tp_limit(H100, LLAMA3_70B.d_ff, batch=batch) for batch in (256, None)]
    want = [link / us, one.weights / us, one.compute / us, max(link, one.weights, one.compute) / us, *limits]
    assert list(got.values()) == pytest.approx(want)


def test_a_launch_shows_the_command_and_what_the_engine_refuses_in_its_words() -> None:
    got = LAUNCH.outcome(context=4096)
    assert got["the command"] == str(sglang.launch_command(HOME, context=4096))
    assert got[ROOM] == scaling.max_batch(HOME, 4096)
    refused = LAUNCH.outcome(chips=1, dtype="bf16 weights, bf16 cache")
    one = Deployment(model=LLAMA3_70B, chip=H100)
    with pytest.raises(ValueError) as error:
        sglang.launch_command(one, context=8192)
    assert refused["the command"] == f"No server: {error.value}"
    assert "<pre># SGLang" in LAUNCH.fallback()
    other = explore_launch("y", vllm.launch_command, contexts=(2048, 8192))
    assert "vllm serve" in other.outcome()["the command"]


@pytest.mark.parametrize("widget", [explore_memory("a"), explore_batch("b"), explore_splitting("c"), LAUNCH])
def test_each_asks_first_and_is_light_enough_for_a_chapter(widget: Any) -> None:
    assert widget.predict.endswith("?") and str(scaling.max_batch(HOME, 8192)) not in widget.predict
    html = widget._repr_mimebundle_()[0]["text/html"]
    assert len(gzip.compress(html.encode())) < 40_000
