"""The pools of the engines: by hand, against what engines printed, and what happens when there is no room."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scaling.chips import A100, B200, H100, H200
from scaling.deployment import Deployment
from scaling.engines import megatron, mini_sglang, sglang, vllm
from scaling.engines.pool import (
    KvPool,
    chip_token_bytes,
    free_memory,
    loaded_weight_bytes,
    megatron_pool,
    mini_sglang_pool,
    parallel_ways,
    pool_from_bytes,
    sglang_pool,
    vllm_pool,
    weights_on_chip,
)
from scaling.engines.sglang import default_chunk, default_mem_fraction
from scaling.models import LLAMA3_8B, LLAMA3_70B, LLAMA3_405B, Model, from_hf_config
from scaling.units import GiB, MiB
from tests.paths import DATA
from tests.scaling.toys import TOY, TOY_CHIP

FILE = json.loads((DATA / "real_logs.json").read_text(encoding="utf-8"))
LOGS: list[dict[str, Any]] = FILE["logs"]
COMPUTED = [log for log in LOGS if "function" in log]

# By hand: 2 x 3 layers x 13 x 4 B = 312 B a KV head and token; 2 KV heads.
TWO = replace(TOY, chips=2)
# 5701 free before, 3001 after: 3001 - 5701 x (1 - 0.75) = 1575.75 B, which holds 5 tokens of 312 B.
AROUND = {"free_before_load": 5701, "free_after_load": 3001, "mem_fraction_static": 0.75}
# 7001 x 0.75 = 5250.75 -> 5251, less 2003 + 101 + 499 + 53 = 2656: 2595 B.
PARTS = {"total_memory": 7001, "weights": 2003, "non_torch": 101, "activation_peak": 499, "graphs": 53}


# Logs ----------------------------------------------------------------------------------------------------------------


def deployment_of(log: dict[str, Any]) -> Deployment:
    """A shape without a vocabulary is an attention shape: with the loaded weights given, the rest does not matter."""
    shape = FILE["shapes"][log["shape"]]
    if "vocab_size" in shape:
        model = from_hf_config(shape)
    else:
        filler = {"hidden_size": 1, "intermediate_size": 1, "vocab_size": 1}
        model = from_hf_config({**filler, **shape})
    weights = log["weights"] if log["weights"] in ("bf16", "fp16", "fp8", "int8") else "bf16"
    kv = log["kv"] if log["kv"] in ("bf16", "fp8") else "bf16"
    return Deployment(model=model, chip=H100, chips=log["chips"] or 1, weights=weights, kv=kv)


IN_GIB = {"budget", "free_before_load", "free_after_load", "weights", "non_torch", "activation_peak", "total_memory"}


def scaled(name: str, value: Any) -> Any:
    if name not in IN_GIB:
        return value
    return [part * GiB for part in value] if isinstance(value, list) else value * GiB


POOLS = {f.__name__: f for f in (sglang_pool, vllm_pool, mini_sglang_pool, megatron_pool, pool_from_bytes)}


def pool_of(log: dict[str, Any]) -> KvPool:
    arguments = {name: scaled(name, value) for name, value in log["arguments"].items()}
    return POOLS[log["function"]](deployment_of(log), **arguments)


@pytest.mark.parametrize("log", COMPUTED, ids=lambda log: log["id"])
def test_pool_is_what_the_engine_printed(log: dict[str, Any]) -> None:
    out, printed = pool_of(log), log["printed"]
    if "budget_gib" in printed:
        off = abs(out.budget / GiB - printed["budget_gib"])
        assert off <= max(0.01 * abs(printed["budget_gib"]), log.get("half_digit_gib", 0.0))
    if "tokens" in printed:
        assert out.tokens == pytest.approx(printed["tokens"], rel=0.01)
    if "pages" in printed:
        assert out.pages == pytest.approx(printed["pages"], rel=0.01)
    if "concurrency" in printed:
        assert out.concurrency == pytest.approx(printed["concurrency"], rel=0.01)
    assert {"budget_gib", "tokens"} & set(printed)


def test_each_log_is_computed_or_has_a_reason() -> None:
    ids = [log["id"] for log in LOGS]
    assert len(ids) == len(set(ids)) == 39
    for log in LOGS:
        assert ("function" in log) != ("reason" in log), log["id"]
        assert log["source"] and log["date"] and log.get("reason", "a reason")
    high = [log for log in LOGS if log["rated"] == "high"]
    assert len(high) == 22
    assert [log["id"] for log in LOGS if "half_digit_gib" in log] == ["vllm-16570"]
    assert sorted(log["id"] for log in high if "reason" in log) == [
        "llmservingsim-4090",
        "vllm-12569",
        "vllm-21348-vllm",
        "vllm-27508",
    ]


@pytest.mark.parametrize(
    "log", [log for log in LOGS if "reason" in log and "printed" in log], ids=lambda log: log["id"]
)
def test_concurrency_is_tokens_over_context(log: dict[str, Any]) -> None:
    printed = log["printed"]
    d = Deployment(model=LLAMA3_8B, chip=H100)
    room = printed["tokens"] * chip_token_bytes(d)
    out = pool_from_bytes(d, room, page_size=16, context=printed["context"])
    assert out.tokens == printed["tokens"]
    assert out.concurrency == pytest.approx(printed["concurrency"], abs=0.006)


def with_weights() -> list[dict[str, Any]]:
    """Logs of vLLM, which prints what the weights take; SGLang prints what is free before and after."""
    said = [log for log in LOGS if "vocab_size" in FILE["shapes"].get(log.get("shape"), {})]
    named = [log for log in said if "weights" in log.get("arguments", {}) or "weights_gib" in log]
    return [log for log in named if log.get("weights_printed", True) and log["engine"] != "sglang"]


@pytest.mark.parametrize("log", with_weights(), ids=lambda log: log["id"])
def test_loaded_weights_are_what_the_engine_printed(log: dict[str, Any]) -> None:
    printed = log.get("weights_gib") or log["arguments"]["weights"]
    computed = loaded_weight_bytes(deployment_of(log)) / GiB
    assert computed <= printed + 0.005  # scales and buffers come on top
    assert computed == pytest.approx(printed, rel=0.005)


def loaded_by_sglang() -> list[tuple[dict[str, Any], float]]:
    """Logs of SGLang that show what loading a known shape took, with it. [GiB]"""
    took = []
    for log in LOGS:
        if log["engine"] != "sglang" or "vocab_size" not in FILE["shapes"].get(log.get("shape"), {}):
            continue
        given = log["arguments"]
        if "free_before_load" in given:
            took.append((log, given["free_before_load"] - given["free_after_load"]))
        elif "weights_gib" in log:
            took.append((log, log["weights_gib"]))
    return took


@pytest.mark.parametrize(
    ("log", "took"), loaded_by_sglang(), ids=lambda value: value["id"] if isinstance(value, dict) else ""
)
def test_sglang_takes_weights_and_buffers(log: dict[str, Any], took: float) -> None:
    """Bytes of the weights alone are up to 1.9 percent short of what loading takes from the free memory."""
    d = deployment_of(log)
    pool = sglang.expected_pool(d, mem_fraction_static=0.5)
    expected = (0.5 * free_memory(d) - pool.budget) / GiB
    assert expected == pytest.approx(took, rel=0.005)
    assert loaded_weight_bytes(d) / GiB < took


def test_enough_logs_of_sglang_show_it() -> None:
    assert len(loaded_by_sglang()) == 5
    assert max(took / (loaded_weight_bytes(deployment_of(log)) / GiB) for log, took in loaded_by_sglang()) > 1.018


MEASURED = [log for log in LOGS if log["id"].startswith("llmd-") and "activation_peak" in log.get("arguments", {})]


@pytest.mark.parametrize("log", MEASURED, ids=lambda log: log["id"])
def test_the_peak_of_vllm_is_the_logits_of_all_sequences(log: dict[str, Any]) -> None:
    """The same for 0.6 and for 70 billion parameters; H100 runs 1,024 sequences by default."""
    shape = FILE["shapes"][log["shape"]]
    model = replace(LLAMA3_8B, vocab=shape.get("vocab_size", 151_936))  # Qwen3's, where the shape has none
    peak = vllm.activation_peak(replace(deployment_of(log), model=model), 1024)
    assert peak / GiB == pytest.approx(log["arguments"]["activation_peak"], rel=0.02)


def test_vllm_would_not_start_where_it_did_not() -> None:
    """70B in FP8 on one H100 at 0.9: the log ended at -1.44 GiB for the cache."""
    (log,) = (log for log in LOGS if log["id"] == "llmd-70B-fp8-tp1-fail")
    pool = vllm.expected_pool(Deployment(model=LLAMA3_70B, chip=H100, weights="fp8"), gpu_memory_utilization=0.9)
    assert pool.tokens == 0 and pool.budget / GiB == pytest.approx(log["printed"]["budget_gib"], abs=0.5)


# By hand -------------------------------------------------------------------------------------------------------------


def test_sglang_pool_by_hand() -> None:
    out = sglang_pool(TWO, **AROUND, context=3)
    assert out.budget == pytest.approx(1575.75, rel=1e-12)
    assert (out.tokens, out.pages, out.page_size, out.token_bytes) == (5, 5, 1, 312)
    assert (out.per_chip_bytes, out.bytes) == (5 * 312, 2 * 5 * 312)
    assert out.concurrency == pytest.approx(5 / 3)
    assert out.fits and out.fraction == 0.75 and out.context == 3
    assert out.minimum_fraction == pytest.approx(1 - 3001 / 5701, rel=1e-12)
    assert sglang_pool(TWO, **AROUND).context == 19  # the window of the model


def test_sglang_pages_and_cap() -> None:
    paged = sglang_pool(TWO, **AROUND, page_size=2, context=3)
    assert (paged.pages, paged.tokens) == (2, 4)
    assert paged.concurrency == 1  # a request of 3 takes 2 pages
    assert sglang_pool(TWO, **AROUND, page_size=2, max_total_tokens=3).tokens == 2
    assert sglang_pool(TWO, **AROUND, max_total_tokens=4).tokens == 4
    assert sglang_pool(TWO, **AROUND, max_total_tokens=99).tokens == 5


def test_a_page_is_a_token_if_nothing_is_said() -> None:
    assert sglang_pool(TWO, **AROUND).page_size == 1
    assert mini_sglang_pool(TWO, free_before_load=5701, free_after_load=5001).page_size == 1
    assert pool_from_bytes(TWO, 3 * 312).tokens == pool_from_bytes(TWO, 3 * 312).pages == 3


def test_pool_from_bytes_holds_one_request_where_one_is_all_that_fits() -> None:
    assert pool_from_bytes(TWO, 3 * 312, context=3).fits and not pool_from_bytes(TWO, 3 * 312, context=4).fits


def test_loading_that_takes_nothing_leaves_all() -> None:
    assert sglang_pool(TWO, free_before_load=624, free_after_load=624, mem_fraction_static=1.0).tokens == 2
    many = np.array([624, 936])
    assert sglang_pool(TWO, free_before_load=many, free_after_load=many, mem_fraction_static=1.0).tokens.tolist() == [
        2,
        3,
    ]


def test_vllm_pool_by_hand() -> None:
    out = vllm_pool(TWO, **PARTS, gpu_memory_utilization=0.75, block_size=2, max_model_len=5)
    assert out.budget == 2595
    assert (out.pages, out.tokens) == (4, 8)  # 624 B a block
    assert out.concurrency == pytest.approx(4 / 3)  # 5 tokens take 3 blocks
    assert out.minimum_fraction == pytest.approx(2656 / 7001, rel=1e-12)
    assert vllm_pool(TWO, **PARTS).fraction == 0.92 and vllm_pool(TWO, **PARTS).page_size == 16


def test_mini_sglang_pool_by_hand() -> None:
    # floor(0.75 x 5701) - 2700 = 4275 - 2700 = 1575 B
    arguments = {"free_before_load": 5701, "free_after_load": 3001, "memory_ratio": 0.75}
    out = mini_sglang_pool(TWO, **arguments, page_size=2)
    assert (out.budget, out.pages, out.tokens) == (1575, 2, 4)
    assert out.minimum_fraction == pytest.approx(1 - 3001 / 5701, rel=1e-12)
    assert mini_sglang_pool(TWO, free_before_load=5701, free_after_load=3001).fraction == 0.9


def test_megatron_pool_by_hand() -> None:
    out = megatron_pool(TWO, buffer=7001, block_size=4, context=9)  # 1248 B a block: 5, of which one is a dummy
    assert (out.pages, out.tokens, out.budget) == (4, 16, 7001)
    assert out.concurrency == pytest.approx(4 / 3)
    assert math.isnan(out.fraction) and math.isnan(out.minimum_fraction)
    assert megatron_pool(TWO, buffer=1, block_size=4).pages == 1  # it takes two blocks whatever the buffer
    usual = megatron_pool(Deployment(model=LLAMA3_70B, chip=H100, chips=8))
    assert (usual.budget, usual.page_size, usual.pages) == (40 * GiB, 256, 4095)


def test_chip_token_bytes_by_hand() -> None:
    one, two, many = (replace(TOY, chips=n) for n in (1, 2, 22))
    assert [chip_token_bytes(d) for d in (one, two, many)] == [624, 312, 312]
    assert sglang_pool(many, **AROUND).bytes == 11 * sglang_pool(two, **AROUND).bytes
    assert pool_from_bytes(many, 3120).tokens == pool_from_bytes(two, 3120).tokens == 10


def test_ways() -> None:
    assert parallel_ways(LLAMA3_70B) == (1, 2, 4, 8, 16, 32, 64)
    assert parallel_ways(TOY.model) == (1, 2, 22)
    with pytest.raises(ValueError, match=r"^chips must be a number of ways .*: 1, 2, 4, 8, 16, 32, 64, not 6\.$"):
        sglang.expected_pool(Deployment(model=LLAMA3_70B, chip=H100, chips=6))


def test_loaded_weight_bytes_by_hand() -> None:
    # int4: 9880 x 0.5 B, and 170 + 35 parameters that stay at 2 B, so 1.5 B more each.
    assert loaded_weight_bytes(replace(TOY, chips=2)) == pytest.approx((4940 + 307.5) / 2, rel=1e-12)
    # 22 ways hold the key and value projections, 2 x 3 x 5 x 2 x 13 = 780 x 0.5 B, 11 times.
    assert loaded_weight_bytes(replace(TOY, chips=22)) == pytest.approx((4940 + 307.5 + 10 * 390) / 22, rel=1e-12)
    assert loaded_weight_bytes(replace(TWO, weights="bf16")) == weights_on_chip(replace(TWO, weights="bf16")) == 9880
    assert loaded_weight_bytes(replace(TWO, weights="fp32")) == 2 * 9880
    # The 9675 of the layers have 20 bits more for every 128.
    scales = 9675 * 20 / 128 / 8
    assert weights_on_chip(TWO) == pytest.approx((4940 + 307.5 + scales) / 2, rel=1e-12)


def test_weights_come_from_the_deployment_if_not_given() -> None:
    loaded, memory = loaded_weight_bytes(TWO), TOY_CHIP.device_memory
    assert sglang_pool(TWO, mem_fraction_static=0.8) == sglang_pool(
        TWO, free_before_load=memory, free_after_load=memory - loaded, mem_fraction_static=0.8
    )
    assert sglang_pool(TWO, mem_fraction_static=0.8, weights=2003).budget == pytest.approx(0.8 * memory - 2003)
    bare = vllm_pool(TWO, non_torch=101, activation_peak=499)
    assert bare.budget == pytest.approx(math.ceil(0.92 * memory) - loaded - 600, rel=1e-12)


def test_fractions_mean_different_things() -> None:
    """The same 0.9 gives SGLang the larger pool: activations come out of its other tenth."""
    d = Deployment(model=LLAMA3_8B, chip=H100)
    free = 78.81 * GiB
    one = sglang_pool(d, free_before_load=free, mem_fraction_static=0.9)
    other = vllm_pool(
        d, total_memory=79.18 * GiB, gpu_memory_utilization=0.9, non_torch=0.13 * GiB, activation_peak=4.76 * GiB
    )
    assert one.tokens > 1.08 * other.tokens


# No room -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [sglang_pool, mini_sglang_pool])
def test_no_room_is_a_negative_budget(function: Any) -> None:
    name = "mem_fraction_static" if function is sglang_pool else "memory_ratio"
    around = {"free_before_load": 79.0 * GiB, "free_after_load": 11.0 * GiB}
    d = Deployment(model=LLAMA3_70B, chip=H100, weights="fp8")
    out = function(d, **around, **{name: 0.8})
    assert out.budget == pytest.approx((0.8 * 79 - 68) * GiB, rel=1e-6)
    assert (out.tokens, out.pages, out.bytes, out.concurrency, out.fits) == (0, 0, 0, 0, False)
    assert function(d, **around, **{name: out.minimum_fraction * 0.999}).budget < 0
    assert function(d, **around, **{name: out.minimum_fraction * 1.001}).budget > 0
    assert str(out) == "no room: the budget of the pool is -4.80 GiB a chip; the fraction, 0.800, must be above 0.861"


def test_no_room_in_vllm() -> None:
    arguments = {**PARTS, "weights": 6007}
    out = vllm_pool(TWO, **arguments, gpu_memory_utilization=0.9)
    assert out.budget == 6301 - 6660 and out.tokens == 0
    assert vllm_pool(TWO, **arguments, gpu_memory_utilization=out.minimum_fraction * 1.001).budget > 0
    assert vllm_pool(TWO, **arguments, gpu_memory_utilization=out.minimum_fraction * 0.999).budget < 0


def test_weights_larger_than_the_memory() -> None:
    out = sglang.expected_pool(Deployment(model=LLAMA3_70B, chip=H100))
    assert out.tokens == 0 and out.budget < -60 * GiB and out.minimum_fraction > 1
    assert not out.fits


def test_said_in_one_line() -> None:
    d = Deployment(model=LLAMA3_8B, chip=H100)
    full = sglang_pool(d, free_before_load=78.81 * GiB, free_after_load=63.72 * GiB, mem_fraction_static=0.88)
    assert str(full) == "444,520 tokens, 54.26 GiB a chip, 54.26 requests of 8,192 tokens"
    assert str(pool_from_bytes(d, -GiB)) == "no room: the budget of the pool is -1.00 GiB a chip"
    assert str(pool_from_bytes(d, np.array([GiB, 2 * GiB]))).startswith("KvPool(tokens=array([ 8192., 16384.])")


# Ranks and arrays ----------------------------------------------------------------------------------------------------


def test_the_rank_with_the_least_room_decides() -> None:
    out = vllm_pool(TWO, **{**PARTS, "non_torch": [101, 401, 211]}, gpu_memory_utilization=0.75)
    assert out.budget == 2595 - 300
    assert out.minimum_fraction == pytest.approx(2956 / 7001)
    shuffled = {"free_before_load": (6007, 5701), "free_after_load": (3001, 3303), "mem_fraction_static": 0.75}
    assert sglang_pool(TWO, **shuffled) == sglang_pool(TWO, **AROUND)
    most = mini_sglang_pool(TWO, free_before_load=[5701, 5003], free_after_load=[2003, 3001], memory_ratio=0.75)
    assert most.budget == 1575


def test_ranks_must_agree_in_number() -> None:
    with pytest.raises(ValueError, match=r"^weights and non_torch must hold one value per rank, .*: weights has 2, "):
        vllm_pool(TWO, **{**PARTS, "weights": [1, 2], "non_torch": [1, 2, 3]})
    with pytest.raises(ValueError, match="must hold one value per rank"):
        sglang_pool(TWO, mem_fraction_static=0.8, free_before_load=[])


def test_arrays_broadcast() -> None:
    fractions = np.array([0.5, 0.75, 0.9])
    arguments = {"free_before_load": 5701, "free_after_load": 3001}
    out = sglang_pool(TWO, **arguments, mem_fraction_static=fractions, page_size=2)
    each = [sglang_pool(TWO, **arguments, mem_fraction_static=float(f), page_size=2) for f in fractions]
    for name in ("tokens", "bytes", "budget", "concurrency", "pages"):
        assert getattr(out, name).tolist() == [getattr(one, name) for one in each]
    assert out.fits.tolist() == [one.fits for one in each]
    across = vllm_pool(TWO, **{**PARTS, "activation_peak": np.array([[0], [499]])}, gpu_memory_utilization=fractions)
    assert across.tokens.shape == (2, 3)


# SGLang's own fraction ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mib", "chips", "said"), [(81_559, 8, 0.812), (81_559, 4, 0.819), (81_559, 1, 0.83), (143_771, 8, 0.893)]
)
def test_automatic_fraction(mib: int, chips: int, said: float) -> None:
    """The values tabulated with the rule for SGLang 0.5.23."""
    d = Deployment(model=LLAMA3_70B, chip=replace(H100, device_memory=mib * MiB), chips=chips)
    assert default_mem_fraction(d) == said
    assert sglang.expected_pool(d).fraction == said


def test_automatic_fraction_follows_its_terms() -> None:
    d = Deployment(model=LLAMA3_70B, chip=H100, chips=8)
    # 512 + 1.5 x 2048 + 1024 + 1024 + 336 = 5968 MiB, but at least 10240 are kept back above 60 GiB.
    memory = H100.device_memory / MiB
    assert default_mem_fraction(d, chunked_prefill=2048) == round(1 - 10_240 / memory, 3)
    few = replace(d, chip=replace(H100, device_memory=60_000 * MiB))  # below the floor
    kept = 512 + 1.5 * 2048 + 1024 + 2 * 160
    assert default_mem_fraction(few, chunked_prefill=1) == round(1 - kept / 60_000, 3)  # at least 2,048 tokens count
    assert default_mem_fraction(d, chunked_prefill=16_384) < default_mem_fraction(d)
    small = Deployment(model=LLAMA3_8B, chip=replace(A100, device_memory=40_960 * MiB))
    assert default_mem_fraction(small) == round(1 - (512 + 6144 + 128 + 64 + 400) / 40_960, 3)
    assert default_mem_fraction(replace(small, chip=replace(A100, device_memory=1000 * MiB))) == 0
    for chip in (H200, B200):
        assert 0.8 < default_mem_fraction(replace(d, chip=chip)) < 0.95
    at, above = (replace(small, chip=replace(H100, device_memory=mib * MiB)) for mib in (61_440, 61_441))
    least = round(1 - 10_240 / 61_441, 3)  # from one MiB above 60 GiB on
    assert default_mem_fraction(above, chunked_prefill=2048) == least
    assert default_mem_fraction(at, chunked_prefill=2048) > least


def test_the_fraction_follows_role_cap_and_stages() -> None:
    """By hand: 512 MiB, 1.5 a token, 128 a way, 2 a sequence in a graph, 8 a prefill graph, on eight ways."""
    d = Deployment(model=LLAMA3_70B, chip=replace(H100, device_memory=81_559 * MiB), chips=8)

    def kept(mib: float) -> float:
        return round(1 - max(mib, 10_240) / 81_559, 3)

    assert default_mem_fraction(d, max_running=142) == kept(512 + 12_288 + 1024 + 284 + 464)
    assert default_mem_fraction(d, max_running=600) == default_mem_fraction(d)
    assert default_mem_fraction(d, role="prefill") == kept(512 + 12_288 + 1024 + 464)
    assert default_mem_fraction(d, role="decode") == kept(512 + 3072 + 1024 + 1024) == 0.874
    # A decode server reserves for its running requests in place of a chunk.
    assert default_mem_fraction(d, role="decode", max_running=8000) == kept(512 + 12_000 + 1024 + 1024)
    assert default_mem_fraction(d, stages=2) == kept(512 + 12_288 + 2048 + 1024)
    assert default_mem_fraction(d, chunked_prefill=16_384) == kept(512 + 24_576 + 1024 + 1024 + 8 * 74)


# GPU memory in MiB up to which; tokens of a chunk; decode batch in a graph below four ways, and from four on.
SGLANG_BY_MEMORY = (
    (20_480, 2048, 8, 8),
    (35_840, 4096, 48, 160),
    (61_440, 4096, 32, 160),
    (163_840, 8192, 256, 512),
    (math.inf, 16_384, 512, 512),
)


# Three digits of a fraction hide a MiB or two: it shows where the last digit changes, so many memories are tried.
MEMORIES = [mib for edge in (20_480, 35_840, 61_440, 163_840) for mib in range(edge - 100, edge + 100)]
MEMORIES += [*range(61_600, 62_400, 3), *range(250_000, 253_000, 10)]


@pytest.mark.parametrize("ways", [1, 3, 4, 8])
@pytest.mark.parametrize("asked", [None, 2048])
def test_automatic_fraction_on_either_side_of_each_step(ways: int, asked: int | None) -> None:
    for memory in MEMORIES:
        _, usual, few, many = next(row for row in SGLANG_BY_MEMORY if memory < row[0])
        graphs = {2048: 42, 4096: 50, 8192: 58, 16_384: 74}[asked or usual]
        kept = 512 + 1.5 * (asked or usual) + 128 * ways + 2 * (few if ways < 4 else many) + 8 * graphs
        kept = max(kept, 10_240) if memory > 61_440 else kept
        d = replace(TOY, chip=replace(TOY_CHIP, device_memory=memory * MiB), chips=ways)
        assert default_mem_fraction(d, chunked_prefill=asked) == round((memory - kept) / memory, 3)
        assert default_chunk(d) == usual


# Nonsense -------------------------------------------------------------------------------------------------------------

HALF = {"mem_fraction_static": 0.5}
BAD = [
    (
        lambda v: sglang_pool(TWO, mem_fraction_static=0.8, free_before_load=v),
        "free_before_load",
        [0, -1, math.nan, math.inf, "80 GB", True],
    ),
    (
        lambda v: sglang_pool(TWO, mem_fraction_static=0.8, free_after_load=v),
        "free_after_load",
        [-1, math.nan, math.inf, "80", 10_010],
    ),
    (lambda v: sglang_pool(TWO, mem_fraction_static=v), "mem_fraction_static", [0, 1.5, -0.1, math.nan, "0.9"]),
    (lambda v: sglang_pool(TWO, **HALF, weights=v), "weights", [-1, math.nan, "1"]),
    (lambda v: sglang_pool(TWO, **HALF, page_size=v), "page_size", [0, -1, 1.5, None, "1"]),
    (lambda v: sglang_pool(TWO, **HALF, context=v), "context", [0, -1, 1.5, "1"]),
    (lambda v: sglang_pool(TWO, **HALF, token_bytes=v), "token_bytes", [0, -1, math.nan, "1"]),
    (lambda v: sglang_pool(TWO, **HALF, max_total_tokens=v), "max_total_tokens", [-1, "1", None]),
    (lambda v: mini_sglang_pool(TWO, memory_ratio=v), "memory_ratio", [0, 1.5, None]),
    (lambda v: vllm_pool(TWO, non_torch=v, activation_peak=0), "non_torch", [-1, math.nan, None, [1, "2"]]),
    (lambda v: vllm_pool(TWO, non_torch=0, activation_peak=v), "activation_peak", [-1, math.inf, None]),
    (lambda v: vllm_pool(TWO, **{**PARTS, "graphs": v}), "graphs", [-1, None]),
    (lambda v: vllm_pool(TWO, **{**PARTS, "total_memory": v}), "total_memory", [-1, 0, math.nan]),
    (lambda v: vllm_pool(TWO, **PARTS, gpu_memory_utilization=v), "gpu_memory_utilization", [0, 90, None]),
    (lambda v: vllm_pool(TWO, **PARTS, block_size=v), "block_size", [0, 1.5]),
    (lambda v: vllm_pool(TWO, **PARTS, max_model_len=v), "max_model_len", [0, 1.5]),
    (lambda v: megatron_pool(TWO, buffer=v), "buffer", [0, -1, math.nan, None]),
    (lambda v: megatron_pool(TWO, block_size=v), "block_size", [0, 1.5]),
    (lambda v: pool_from_bytes(TWO, v), "budget", [math.nan, math.inf, -math.inf, None, "1"]),
    (lambda v: default_mem_fraction(TWO, chunked_prefill=v), "chunked_prefill", [0, -1, math.nan]),
    (lambda v: default_mem_fraction(TWO, max_running=v), "max_running", [0, -1, 1.5]),
    (lambda v: default_mem_fraction(TWO, role=v), "role", ["both", 1, ""]),
]


@pytest.mark.parametrize(("call", "name", "values"), BAD, ids=[f"{i}-{name}" for i, (_, name, _) in enumerate(BAD)])
def test_nonsense_is_refused_in_one_sentence(call: Any, name: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(ValueError, match=rf"^{name}\b.* must be .*\.$") as error:
            call(value)
        assert "\n" not in str(error.value) and len(str(error.value)) < 200


def test_what_was_loaded_is_given_once() -> None:
    with pytest.raises(ValueError, match="free_after_load and weights must not both be given"):
        sglang_pool(TWO, mem_fraction_static=0.8, free_after_load=1, weights=1)


def test_large_models_keep_whole_numbers() -> None:
    d = Deployment(model=LLAMA3_405B, chip=B200, chips=8, weights="fp8")
    out = sglang_pool(d, mem_fraction_static=0.8, page_size=64)
    assert isinstance(d.model, Model) and isinstance(out.tokens, int) and out.tokens % 64 == 0
    assert out.per_chip_bytes <= out.budget < out.per_chip_bytes + 64 * out.token_bytes


@pytest.mark.parametrize("engine", [sglang, vllm, mini_sglang, megatron])
def test_a_pool_is_of_a_deployment(engine: Any) -> None:
    given: dict[Any, dict[str, Any]] = {
        sglang: {"mem_fraction_static": 0.8},
        vllm: {"non_torch": 0, "activation_peak": 0},
    }
    calls = [lambda: engine.kv_pool(LLAMA3_8B, **given.get(engine, {}))]
    calls += [lambda: engine.expected_pool(LLAMA3_8B)] if engine in given else []
    for call in calls:
        with pytest.raises(ValueError, match=r"^d must be a Deployment record, not [^\n]*\.$"):
            call()
