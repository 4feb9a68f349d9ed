"""What stands out on a metrics page: each finding with its numbers, ranked, and none on a healthy one."""

import math
from dataclasses import replace
from typing import Any

import pytest

from scaling.chips import H100
from scaling.deployment import Deployment, Efficiency
from scaling.engines import diagnosis
from scaling.engines.diagnosis import Finding, diagnose
from scaling.engines.failures import start_failure
from scaling.engines.metrics import Histogram, Metrics, read_metrics
from scaling.engines.sglang import SGLANG
from scaling.engines.vllm import VLLM
from scaling.latency import decode_step, prefill_floor, prefill_time
from scaling.models import LLAMA3_8B, LLAMA3_70B
from scaling.throughput import balanced_batch, plateau
from tests.paths import BOOK, DATA

D = Deployment(model=LLAMA3_70B, chip=H100, chips=8)
HOME = replace(D, weights="fp8", kv="fp8")  # of the sample pages
PAGES = {name: read_metrics((BOOK / "data" / f"metrics_{name}.txt").read_text("utf-8")) for name in ("sglang", "vllm")}

# As an engine runs it: the input embedding is not read.
RUN = replace(D, params="streamed", kv_split="heads")
STEP = float(decode_step(RUN, 100, 2048).total)
FLOOR = float(decode_step(RUN, 1, 0).floor)


def times(mean: float, count: float = 1000.0, *, median: float | None = None) -> Histogram:
    """A histogram with this mean whose median lies at the upper end of its first bucket."""
    bound = mean if median is None else median
    return Histogram(((bound, count / 2), (1000 * mean, count), (math.inf, count)), count, mean * count)


HEALTHY = Metrics(
    engine="sglang",
    model="m",
    running=100,
    waiting=3,
    cache_usage=0.2,
    pool_tokens=1_024_000,
    used_tokens=204_800,
    throughput=100 / (1.6 * STEP),
    prefix_hit_rate=0.5,
    retractions=1,
    requests=1000,
    started=1000,
    prompts=1000,
    prompt_tokens=2_000_000,
    generation_tokens=500_000,
    ttft=times(0.08),
    tpot=times(1.6 * STEP),
    queue=times(0.01),
)


def findings(**changes: Any) -> tuple[Finding, ...]:
    return diagnose(D, replace(HEALTHY, **changes))


def the_one(what: str, **changes: Any) -> Finding:
    found = findings(**changes)
    assert [finding.what for finding in found if finding.what.startswith(what)] == [found[0].what], found
    return found[0]


# Nothing -------------------------------------------------------------------------------------------------------------


def test_a_healthy_page() -> None:
    (only,) = findings()
    assert only.what.startswith("Nothing stands out")
    assert (only.measured, only.against, only.unit) == (pytest.approx(1.6 * STEP), pytest.approx(STEP), "s")


@pytest.mark.parametrize("engine", ["sglang", "vllm"])
def test_a_page_that_says_little(engine: str) -> None:
    for metrics in (Metrics(engine=engine), Metrics(engine=engine, running=0, waiting=0, cache_usage=0.0)):
        (only,) = diagnose(D, metrics)
        assert only.what.startswith("Nothing") and math.isnan(only.measured) and "nan" not in str(only)
    for name in ("running", "cache_usage", "pool_tokens", "used_tokens", "throughput", "requests", "prompt_tokens"):
        assert findings(**{name: None})[0].what.startswith("Nothing"), name


def test_an_idle_server_is_not_judged_by_its_past() -> None:
    """Without a running batch nobody knows at which batch the mean was taken."""
    assert findings(running=0, waiting=0, tpot=None, throughput=None)[0].what == "Nothing stands out"
    (only,) = findings(running=0, waiting=0, cache_usage=0.0, used_tokens=0, throughput=0.0, tpot=times(9 * FLOOR))
    assert only.what.startswith("Nothing") and math.isnan(only.measured)


def test_thresholds_are_open() -> None:
    quiet = {
        "tpot": times(diagnosis.SLOW_STEP * STEP * 0.999),
        "retractions": 1000 * diagnosis.RETRACTED * 0.999,
        "waiting": 100 * diagnosis.LONG_QUEUE,
        "cache_usage": diagnosis.FULL_POOL * 0.999,
        "ttft": times(diagnosis.FAST_FIRST_TOKEN),
    }
    for name, value in quiet.items():
        assert findings(**{name: value})[0].what.startswith("Nothing"), name
    loud = {
        "tpot": times(diagnosis.SLOW_STEP * STEP * 1.001),
        "retractions": 1000 * diagnosis.RETRACTED,
        "waiting": 100 * diagnosis.LONG_QUEUE + 1,
        "cache_usage": diagnosis.FULL_POOL,
        "ttft": times(diagnosis.FAST_FIRST_TOKEN * 1.001),
    }
    for name, value in loud.items():
        assert len(findings(**{name: value})) == 1 and findings(**{name: value})[0].severity > 0.99, name


# Latencies -----------------------------------------------------------------------------------------------------------


def test_time_per_token() -> None:
    one = the_one("Time per output token", tpot=times(3 * STEP))
    assert (one.measured, one.against, one.unit) == (pytest.approx(3 * STEP), pytest.approx(STEP), "s")
    assert one.what.endswith("at 100 sequences of 2,048 tokens")
    assert "All steps are slow" in one.advice and SGLANG.graphs in one.advice
    assert one.see == "03_latency.ipynb" and one.severity == pytest.approx(1.5)


def test_single_steps_that_are_held_up() -> None:
    one = the_one("Time per output token", tpot=times(3 * STEP, median=1.2 * STEP))
    assert "single steps" in one.advice and "--enable-mixed-chunk" in one.advice
    assert one.see == "07_prefill_disaggregation.ipynb"


def test_the_batch_of_one_replica_counts() -> None:
    two = replace(HEALTHY, running=200, used_tokens=409_600, pool_tokens=2_048_000, throughput=None, replicas=2)
    (only,) = diagnose(D, two)
    assert only.against == pytest.approx(STEP)
    assert len(diagnose(D, replace(two, replicas=1))) == 1  # 200 sequences: a longer step, and still no finding


def test_tokens_read_by_a_step_set_the_context() -> None:
    slow = times(3 * STEP)
    exact = the_one("Time per output token", tpot=slow, cached_tokens_in_step=100 * 1024)
    assert exact.against == pytest.approx(float(decode_step(RUN, 100, 1024).total))
    usage = the_one("Time per output token", tpot=slow, used_tokens=None)
    assert usage.against == pytest.approx(STEP)  # 0.2 of the pool over 100 sequences


def test_step_from_batch_and_throughput() -> None:
    one = the_one("Time per output token", tpot=None, throughput=100 / (3 * STEP))
    assert one.measured == pytest.approx(3 * STEP) and "All steps" in one.advice


def test_time_to_first_token() -> None:
    bound = float(prefill_time(RUN, 1000))  # 2000 tokens a prompt, half of them cached
    one = the_one("Time to first token", ttft=times(0.9))
    assert (one.measured, one.against) == (pytest.approx(0.9), pytest.approx(bound))
    assert one.advice.startswith("Prefill is slow") and one.see == "07_prefill_disaggregation.ipynb"
    assert the_one("Time to first token", ttft=times(0.9), queue=times(0.6)).advice.startswith("600 ms of it")
    assert the_one("Time to first token", ttft=times(0.9), queue=None).advice.startswith("Requests wait in the queue")
    assert the_one("Time to first token", ttft=times(0.9), queue=None, waiting=0).advice.startswith("Prefill is slow")
    long = findings(ttft=times(0.9), prompt_tokens=64_000_000)  # 64,000 tokens: 0.57 s at the least
    assert long[0].what.startswith("Nothing")


def test_few_hits_matter_for_long_prompts_that_are_slow() -> None:
    slow, few = {"ttft": times(0.9)}, {"prefix_hit_rate": 0.01}
    both = findings(**slow, **few)
    assert [finding.what.split(",")[0] for finding in both] == [
        "Time to first token",
        "Prompt tokens found in the cache",
    ]
    assert both[1].measured == 0.01 and both[1].unit == "share" and "--disable-radix-cache" in both[1].advice
    assert len(findings(**slow, **few, prompt_tokens=500_000)) == 1  # 500 tokens a prompt share little
    assert findings(**few)[0].what.startswith("Nothing")


# Memory, queue, batch ------------------------------------------------------------------------------------------------


def test_full_pool() -> None:
    one = the_one("Use of the KV pool", cache_usage=0.95, waiting=50)
    assert (one.measured, one.against, one.unit, one.see) == (0.95, 1.0, "share", "02_memory.ipynb")
    assert "about 105 sequences" in one.advice and "50 requests wait" in one.advice
    assert "--kv-cache-dtype fp8_e4m3" in one.advice and "--mem-fraction-static" in one.advice
    narrow = diagnose(replace(D, kv="fp8"), replace(HEALTHY, cache_usage=0.95))[0]
    assert "fp8" not in narrow.advice and "use more chips" in narrow.advice


def test_retractions() -> None:
    one = the_one("Requests thrown out", retractions=40)
    assert (one.measured, one.against) == (0.04, 0.0) and "--max-running-requests below 100" in one.advice
    assert findings(retractions=40, started=None)[0].what.startswith("Nothing")
    # Of those that have started, not of those that are done: most of them may still run.
    assert findings(retractions=9, requests=10)[0].what.startswith("Nothing")


def test_queue() -> None:
    one = the_one("Requests waiting", waiting=20)
    room = 100 / 0.2 - 100
    assert (one.measured, one.against) == (20, pytest.approx(min(room, float(balanced_batch(RUN)) - 100)))
    assert "though the pool has room" in one.advice and "--max-running-requests" in one.advice
    assert one.severity == pytest.approx(2)
    assert the_one("Requests waiting", waiting=20, cache_usage=0.8).against == pytest.approx(25)
    assert "room" not in the_one("Requests waiting", waiting=20, cache_usage=None).advice
    full = findings(waiting=20, cache_usage=0.95)
    assert [finding.what for finding in full] == ["Use of the KV pool"]  # says that they wait
    alone = findings(running=0, waiting=2, cache_usage=0.0, used_tokens=0, throughput=0.0)
    assert [finding.what for finding in alone] == ["Requests waiting"]


def test_batch_past_the_critical_one() -> None:
    balanced = float(balanced_batch(RUN))
    step = float(decode_step(RUN, 400, 512).total)
    changes = {"running": 400, "used_tokens": 204_800, "tpot": times(1.5 * step), "throughput": 400 / (1.5 * step)}
    one = the_one("Running batch", **changes)
    assert (one.measured, one.against) == (400, pytest.approx(balanced)) and f"to {math.ceil(balanced)}" in one.advice
    assert one.see == "04_throughput.ipynb"
    waits = findings(**changes, waiting=100)
    assert {finding.what for finding in waits} == {"Running batch", "Requests waiting"}
    assert any("past the critical one" in finding.advice for finding in waits)
    near = {"running": 1.05 * balanced, "throughput": None, "tpot": times(1.5 * step)}
    assert findings(**{**changes, **near})[0].what.startswith("Nothing")


def test_few_sequences() -> None:
    step = float(decode_step(RUN, 4, 2048).total)
    changes = {"running": 4, "used_tokens": 8192, "cache_usage": 0.008, "tpot": times(1.5 * step), "throughput": None}
    one = the_one("Running batch", **changes, waiting=0)
    assert (one.measured, one.against) == (4, pytest.approx(float(balanced_batch(RUN)))) and "fewer chips" in one.advice
    small = {**changes, "cache_usage": 0.2}  # long sequences: 20 are all that fit
    assert findings(**small, waiting=0)[0].what.startswith("Nothing")


# Mismatch ------------------------------------------------------------------------------------------------------------


def test_faster_than_the_weights_can_be_read() -> None:
    one = the_one("Mismatch, time per output token", tpot=times(0.5 * FLOOR))
    assert (one.measured, one.against) == (pytest.approx(0.5 * FLOOR), pytest.approx(FLOOR))
    assert one.severity == math.inf and "not the one described" in one.advice
    assert findings(tpot=times(0.96 * FLOOR))[0].what.startswith("Mismatch")  # of the batch, not of one sequence


def test_faster_than_the_running_batch() -> None:
    one = the_one("Mismatch, time per output token", tpot=times(0.9 * STEP))
    assert one.against == pytest.approx(STEP) and "smaller before" in one.advice and one.severity < math.inf


def test_sooner_than_prefill() -> None:
    soon = float(prefill_floor(RUN, 1000))
    one = the_one("Mismatch, time to first token", ttft=times(0.5 * soon))
    assert one.against == pytest.approx(soon)
    for count in (499, 2001):  # of other requests, maybe
        assert findings(ttft=times(0.5 * soon, count=count))[0].what.startswith("Nothing")
    assert findings(ttft=times(0.96 * soon))[0].what.startswith("Nothing")


def test_more_than_the_plateau() -> None:
    most = float(plateau(RUN, 2048, overlapped=True))
    one = the_one("Mismatch, throughput", throughput=1.1 * most)
    assert (one.measured, one.against, one.unit) == (pytest.approx(1.1 * most), pytest.approx(most), "token/s")


def test_more_tokens_than_the_memory_holds() -> None:
    one = the_one("Mismatch, size of the KV pool", pool_tokens=3_000_000)
    room = (H100.device_memory - 2 * LLAMA3_70B.params / 8) / (D.kv_per_token / 8)
    assert (one.measured, one.against) == (3_000_000, pytest.approx(room))
    assert "fewer bytes" in one.advice
    assert diagnose(replace(D, kv="fp8"), replace(HEALTHY, pool_tokens=3_000_000))[0].what.startswith("Nothing")
    unloaded = diagnose(replace(D, chips=1), HEALTHY)
    assert unloaded[0].what.startswith("Mismatch") and {finding.against for finding in unloaded} >= {0.0}


def test_a_mismatch_comes_first_and_the_rest_by_severity() -> None:
    found = findings(tpot=times(0.5 * FLOOR), retractions=900, waiting=90, cache_usage=0.5, ttft=times(30.0))
    whats = [finding.what.split(",")[0] for finding in found]
    assert whats == ["Mismatch", "Requests thrown out of the cache", "Time to first token", "Requests waiting"]
    assert found[2].severity > found[3].severity


# All of them ---------------------------------------------------------------------------------------------------------


def test_samples() -> None:
    (found,) = diagnose(HOME, PAGES["sglang"])
    assert str(found).startswith("Time per output token, mean at 126 sequences of 3,593 tokens: 22.8 ms against 5.4 ms")
    assert "single steps that are held up" in found.advice
    (of_vllm,) = diagnose(HOME, PAGES["vllm"])
    assert "single steps that are held up" in of_vllm.advice  # the median is 6.3 ms, the mean 21
    assert diagnose(D, PAGES["sglang"])[0].what == "Mismatch, size of the KV pool"  # it is of a cache in fp8
    one_card = diagnose(Deployment(model=LLAMA3_8B, chip=H100), PAGES["sglang"])
    assert one_card[0].what.startswith("Mismatch")


def test_a_page_of_another_size_is_of_another_model() -> None:
    first = diagnose(D, replace(HEALTHY, model="org/Llama-3.1-8B-Instruct"))[0]
    assert first.what == "Mismatch, billion parameters by name" and (first.measured, first.against) == (8, 70)
    assert str(first).startswith("Mismatch, billion parameters by name: 8 against 70. The page is of org/Llama-3.1-8B")
    for name in ("org/Llama-3.3-70B", "my-model", None, "70b", "8B-in-70B", "8Bit"):
        assert findings(model=name)[0].what.startswith("Nothing"), name


def test_causes_come_before_what_follows_from_them() -> None:
    """A full pool that throws requests out is why they wait, and why first tokens are late."""
    late = {"ttft": times(30.0), "waiting": 90, "tpot": times(30 * STEP), "queue": times(25.0)}
    whats = [finding.what for finding in findings(cache_usage=0.99, retractions=20, **late)]
    assert whats[:2] == ["Requests thrown out of the cache", "Use of the KV pool"]
    assert {what.split(",")[0] for what in whats[2:]} == {"Time to first token", "Time per output token"}


def test_a_context_beyond_the_window_is_said_and_not_cut() -> None:
    found = findings(used_tokens=100 * 30_000, tpot=times(1.0))
    assert found[0].what == "Tokens of a running request, beyond the window"
    assert (found[0].measured, found[0].against) == (30_000, 8192)
    (slow,) = (finding for finding in found if finding.what.startswith("Time per output token"))
    assert slow.against == pytest.approx(float(decode_step(RUN, 100, 30_000).total))
    assert findings(used_tokens=100 * 8192)[0].what != found[0].what


def test_fp8_weights_are_judged_in_fp8() -> None:
    d = replace(D, weights="fp8")
    metrics = replace(HEALTHY, running=1000, used_tokens=512_000, tpot=None, throughput=None)
    (batch,) = (f for f in diagnose(d, metrics) if f.what == "Running batch")
    assert diagnose(replace(d, compute="fp8"), metrics) == diagnose(d, metrics)
    assert batch.against == pytest.approx(
        float(balanced_batch(replace(RUN, weights="fp8", compute="fp8", layout="loaded")))
    )


def test_speculative_decoding_is_judged_by_its_steps() -> None:
    """Three tokens of a step come three times as soon, and are no mismatch until they beat that."""
    quick = {"tpot": times(1.5 * STEP / 3), "throughput": None}
    assert findings(**quick)[0].what.startswith("Mismatch")
    assert findings(**quick, tokens_per_step=3.0)[0].what.startswith("Nothing")
    slow = the_one(
        "Time per output token, 3 a step", tpot=times(STEP), throughput=None, tokens_per_step=3.0, accepted=0.6
    )
    assert (
        slow.against == pytest.approx(STEP / 3) and "60.0% are right" in slow.advice and "fewer drafts" in slow.advice
    )


@pytest.mark.parametrize(
    ("name", "d"),
    [
        ("vllm-many-in-flight", Deployment(model=LLAMA3_8B, chip=H100)),
        ("vllm-speculative", D),
        ("sglang-two-workers", Deployment(model=LLAMA3_8B, chip=H100)),
    ],
)
def test_servers_that_are_those_described_are_no_mismatch(name: str, d: Deployment) -> None:
    metrics = read_metrics((DATA / "cases" / f"metrics-{name}.txt").read_text(encoding="utf-8"))
    found = diagnose(d, metrics)
    assert not any(finding.what.startswith("Mismatch") for finding in found)
    assert not any(words in finding.advice for finding in found for words in ("enforce-eager", "not the one described"))


# At the start --------------------------------------------------------------------------------------------------------


def test_out_of_memory_at_the_start_has_two_cures() -> None:
    pool = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: 0.7"
    graphs = "CUDA out of memory.\nPossible solutions:\n1. set --mem-fraction-static to a smaller value (e.g., 0.8)"
    for log, cure in ((pool, "Raise --mem-fraction-static"), (graphs, "Lower --mem-fraction-static")):
        found = start_failure(f"INFO loading\n{log}\n")
        assert found is not None and found.engine == "sglang" and found.cure.startswith(cure)
    full = start_failure(
        "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`"
    )
    logits = start_failure("CUDA out of memory occurred when warming up sampler with 1024 dummy requests.")
    assert full is not None and full.cure.startswith("Raise --gpu-memory-utilization")
    assert logits is not None and logits.cure.startswith("Lower --max-num-seqs")
    assert start_failure("all is well") is None
    with pytest.raises(ValueError, match=r"^log must be the text of a start-up log, not 7\.$"):
        start_failure(7)  # type: ignore[arg-type]


def test_the_bound_is_the_roofline_whatever_the_efficiency() -> None:
    derated = replace(HOME, efficiency=Efficiency(bandwidth=0.5, flops=0.5, layer_seconds=1e-5, links=0.5))
    assert diagnose(derated, PAGES["sglang"]) == diagnose(HOME, PAGES["sglang"])


LOUD = [
    {"tpot": times(3 * STEP)},
    {"tpot": times(3 * STEP, median=STEP)},
    {"tpot": times(0.9 * STEP)},
    {"tpot": times(0.5 * FLOOR)},
    {"ttft": times(0.9), "prefix_hit_rate": 0.0},
    {"ttft": times(1e-4)},
    {"cache_usage": 1.0},
    {"retractions": 400},
    {"waiting": 400},
    {"running": 1000, "waiting": 1000},
    {"running": 2, "waiting": 0, "used_tokens": 4096, "cache_usage": 0.004},
    {"throughput": 1e9, "pool_tokens": 1e9},
    {},
]


@pytest.mark.parametrize("changes", LOUD, ids=lambda changes: ", ".join(changes) or "healthy")
@pytest.mark.parametrize("engine", ["sglang", "vllm"])
def test_every_finding_is_one_plain_sentence(engine: str, changes: dict[str, Any]) -> None:
    for finding in findings(engine=engine, **changes):
        assert finding.advice[0].isupper() and finding.advice.endswith(".") and "\n" not in finding.advice
        assert ". " not in finding.advice and "nan" not in str(finding) and "inf" not in str(finding)
        assert (BOOK / finding.see).is_file()
        assert not math.isnan(finding.measured) and finding.against >= 0
        other = VLLM if engine == "sglang" else SGLANG
        assert not any(flag in finding.advice for flag in (other.cap, other.memory, other.chunk, other.graphs))


@pytest.mark.parametrize(("d", "metrics", "name"), [(LLAMA3_70B, HEALTHY, "d"), (D, "a page", "metrics")])
def test_other_records(d: Any, metrics: Any, name: str) -> None:
    with pytest.raises(ValueError, match=rf"^{name} must be a (Deployment|Metrics) record, not "):
        diagnose(d, metrics)
