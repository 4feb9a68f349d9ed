"""Metrics pages: the values of real layouts, ranks and replicas put together, and one clear error for anything else."""

import math
import sys
import time
from collections.abc import Iterable

import pytest
import sample_metrics

from scaling.engines import sglang, vllm
from scaling.engines.metrics import Histogram, read_metrics
from tests.paths import BOOK, ROOT

DATA = BOOK / "data"
SGLANG = (DATA / "metrics_sglang.txt").read_text(encoding="utf-8")
VLLM = (DATA / "metrics_vllm.txt").read_text(encoding="utf-8")
MODEL = "RedHatAI/Meta-Llama-3-70B-Instruct-FP8"
NAN, INF = math.nan, math.inf


def page(*lines: str, engine: str = "sglang") -> str:
    return "".join(f"{engine}:{line}\n" for line in lines)


def histogram(name: str, counts: dict[str, float], total: float, labels: str = "") -> list[str]:
    between = "," if labels else ""
    buckets = [f'{name}_bucket{{le="{le}"{between}{labels}}} {count}' for le, count in counts.items()]
    return [*buckets, f"{name}_count{{{labels}}} {list(counts.values())[-1]}", f"{name}_sum{{{labels}}} {total}"]


# The samples ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sample_metrics.PAGES)
def test_the_samples_are_what_a_schedule_gives(name: str) -> None:
    assert (DATA / name).read_text(encoding="utf-8") == sample_metrics.PAGES[name](), (
        "run PYTHONPATH=. python book/_tools/sample_metrics.py"
    )


@pytest.mark.parametrize("text", [SGLANG, VLLM], ids=["sglang", "vllm"])
def test_a_sample_is_possible(text: str) -> None:
    """What it says of itself agrees: requests, tokens in use, counters and histograms are of the same requests."""
    m = read_metrics(text)
    assert m.model == MODEL and m.replicas == 1
    assert m.running and m.waiting and m.started and m.requests and m.pool_tokens and m.cache_usage
    assert m.started == m.requests + m.running  # who has a first token is finished or running
    # What is shared is in use once, whoever reads it: so what is in use gives less than what each request reads.
    assert m.mean_context and m.mean_prompt and m.mean_prompt - sample_metrics.SHARED < m.mean_context < 8192
    assert m.ttft is not None and m.tpot is not None and m.ttft.count == m.started
    assert m.generation_tokens
    if m.engine == "vllm":
        assert m.tpot.count == m.generation_tokens - m.started  # a gap before every token but the first
    else:
        assert m.used_tokens and m.cached_tokens_in_step
        assert m.used_tokens / m.pool_tokens == pytest.approx(m.cache_usage, abs=1e-4)
        assert m.cached_tokens_in_step - m.used_tokens == sample_metrics.SHARED * (m.running - 1)
        assert m.queue is not None and m.queue.mean < m.ttft.mean


def test_the_pool_of_a_sample_is_the_engines_own() -> None:
    for text, engine in ((SGLANG, sglang), (VLLM, vllm)):
        assert read_metrics(text).pool_tokens == engine.expected_pool(sample_metrics.NODE).tokens


@pytest.mark.parametrize("text", [SGLANG, VLLM])
def test_layout_does_not_matter(text: str) -> None:
    expected = read_metrics(text)
    shuffled = "\n".join(reversed([line for line in text.splitlines() if line[0] != "#"])) + "\n"
    assert read_metrics(shuffled) == expected
    assert read_metrics(text.replace("\n", "\r\n")) == expected
    assert read_metrics("\ufeff\n\n" + text) == expected
    assert read_metrics(text.encode()) == expected
    assert read_metrics(text.removesuffix("\n")) == expected
    assert read_metrics("\n".join(f"    {line}" for line in text.splitlines())) == expected
    assert read_metrics(text.replace("{", '{new_label="a, b=\\"c\\"} {",')) == expected
    assert read_metrics(text + "# TYPE go_info gauge\ngo_info{a} strange line\nprocess_cpu 3\n# EOF") == expected
    underscored = text.replace("sglang:", "sglang_").replace("vllm:", "vllm_")
    assert read_metrics(underscored) == expected


def test_timestamps_and_no_labels() -> None:
    m = read_metrics("sglang:num_running_reqs 3 1796200000000\nsglang:num_queue_reqs 2.0 1796200000000")
    assert (m.running, m.waiting, m.model) == (3, 2, None)
    assert read_metrics('vllm:num_requests_running{engine="0"} 4').running == 4


# Names, old and new --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["inter_token_latency", "time_per_output_token", "request_time_per_output_token"])
@pytest.mark.parametrize("engine", ["sglang", "vllm"])
def test_names_of_the_time_per_token(engine: str, name: str) -> None:
    m = read_metrics(page(*histogram(f"{name}_seconds", {"0.1": 2, "+Inf": 4}, 0.6), engine=engine))
    assert m.tpot == Histogram(((0.1, 2), (INF, 4)), 4, 0.6)


def test_the_newest_name_with_observations_counts() -> None:
    old = histogram("time_per_output_token_seconds", {"0.1": 3, "+Inf": 3}, 0.9)
    new = histogram("inter_token_latency_seconds", {"0.1": 5, "+Inf": 5}, 0.5)
    empty = histogram("inter_token_latency_seconds", {"0.1": 0, "+Inf": 0}, 0)
    for lines, count in (((*old, *new), 5), ((*old, *empty), 3), (tuple(empty), 0)):
        tpot = read_metrics(page(*lines)).tpot
        assert tpot is not None and tpot.count == count


def test_older_vllm() -> None:
    text = page(
        'gpu_cache_usage_perc{model_name="m"} 0.5',
        'gpu_prefix_cache_queries_total{model_name="m"} 50.0',
        'gpu_prefix_cache_hits_total{model_name="m"} 20.0',
        'avg_generation_throughput_toks_per_s{model_name="m"} 123.5',
        engine="vllm",
    )
    m = read_metrics(text)
    assert (m.cache_usage, m.prefix_hit_rate, m.throughput) == (0.5, 0.4, 123.5)
    assert (
        read_metrics(page("gpu_prefix_cache_hit_rate 0.25", "num_requests_running 1", engine="vllm")).prefix_hit_rate
        == 0.25
    )


def test_older_sglang() -> None:
    m = read_metrics(
        page("cache_hit_rate 0.3", "prompt_tokens_total 0.0", "num_used_tokens 90.0", "num_running_reqs 3.0")
    )
    assert m.prefix_hit_rate == 0.3 and m.mean_context == 30  # no prompts counted: the last report


def test_read_by_a_step_goes_before_in_use() -> None:
    m = read_metrics(page("decode_sum_seq_lens 60", "num_used_tokens 90", "num_running_reqs 3"))
    assert m.cached_tokens_in_step == 60 and m.mean_context == 20
    assert read_metrics(page("num_running_reqs 0", "num_used_tokens 90")).mean_context is None


def test_pool_of_vllm_in_labels() -> None:
    size = 'cache_config_info{block_size="16",num_gpu_blocks="100",kv_cache_size_tokens="1500",engine="%s"} 1.0'
    assert read_metrics(page(size % 0, engine="vllm")).pool_tokens == 1500  # hybrid models: not the product
    assert read_metrics(page(size % 0, size % 1, engine="vllm")).pool_tokens == 3000
    for labels in ('block_size="16",num_gpu_blocks="None"', 'block_size="16"', 'num_gpu_blocks="inf",block_size="16"'):
        text = page("num_requests_running 1", f"cache_config_info{{{labels}}} 1.0", engine="vllm")
        assert read_metrics(text).pool_tokens is None


# Several series ------------------------------------------------------------------------------------------------------


def ranks(name: str, values: Iterable[float], label: str = "tp_rank") -> list[str]:
    return [f'{name}{{model_name="m",pp_rank="0",{label}="{i}"}} {value}' for i, value in enumerate(values)]


def test_ranks_of_one_replica_count_once() -> None:
    m = read_metrics(
        page(
            *ranks("num_running_reqs", [7, 7, 7, 6]),  # one rank is a step behind
            *ranks("token_usage", [0.5, 0.5, 0.5, 0.5]),
            *ranks("gen_throughput", [90, 90, 90, 90]),
            *ranks("num_retracted_requests_total", [2, 2, 2, 2]),
            *ranks("num_queue_reqs", [3, 3, 3, 3], "moe_ep_rank"),
            *ranks("max_total_num_tokens", [11, 11], "pid"),
        )
    )
    assert (m.running, m.cache_usage, m.throughput, m.retractions, m.waiting) == (7, 0.5, 90, 2, 3)
    assert m.pool_tokens == 11 and m.replicas == 1


def test_replicas_are_added_up() -> None:
    lines = [
        f'{name}{{dp_rank="{dp}",tp_rank="{tp}"}} {value + dp}'
        for name, value in (("num_running_reqs", 10), ("num_queue_reqs", 3), ("max_total_num_tokens", 100))
        for dp in range(2)
        for tp in range(4)
    ]
    usage = ['token_usage{dp_rank="0",tp_rank="0"} 0.4', 'token_usage{dp_rank="1",tp_rank="0"} 0.8']
    m = read_metrics(page(*lines, *usage))
    assert (m.running, m.waiting, m.pool_tokens, m.replicas) == (21, 7, 201, 2)
    assert m.cache_usage == 0.8  # the fullest queues first
    vllm = page('num_requests_running{engine="0"} 4', 'num_requests_running{engine="1"} 5', engine="vllm")
    assert read_metrics(vllm).running == 9 and read_metrics(vllm).replicas == 2


def test_priorities_have_a_total() -> None:
    lines = [f'num_queue_reqs{{priority="{p}"}} {n}' for p, n in (("", 9), ("1", 4), ("5", 5))]
    assert read_metrics(page(*lines)).waiting == 9
    assert read_metrics(page(*lines[1:])).waiting == 9
    counted = [f'num_requests_total{{priority="{p}"}} {n}' for p, n in (("", 2), ("1", 4))]
    assert read_metrics(page(*counted)).requests == 6  # counters have no total: each request is in one of them


def test_parts_of_the_traffic_are_added_up() -> None:
    m = read_metrics(
        page(
            'prompt_tokens_total{is_streaming="true"} 100',
            'prompt_tokens_total{is_streaming="false"} 20',
            'cached_tokens_total{cache_source="device"} 20',
            'cached_tokens_total{cache_source="host"} 3',
            'cached_tokens_total{cache_source="total"} 7',  # of requests without a source
            *histogram("time_to_first_token_seconds", {"0.1": 2, "1.0": 4, "+Inf": 5}, 3.0, 'is_streaming="true"'),
            *histogram("time_to_first_token_seconds", {"0.1": 1, "1.0": 1, "+Inf": 1}, 0.1, 'is_streaming="false"'),
        )
    )
    assert m.prompt_tokens == 120 and m.prefix_hit_rate == 0.25
    assert m.ttft == Histogram(((0.1, 3), (1.0, 5), (INF, 6)), 6, 3.1)


def test_histograms_of_ranks_and_of_other_bounds() -> None:
    name = "queue_time_seconds"
    same = [histogram(name, {"1": n, "2": 4, "+Inf": n + 4}, 9.0 + n, f'tp_rank="{n}"') for n in (1, 2)]
    m = read_metrics(page(*same[0], *same[1]))
    assert m.queue == Histogram(((1, 2), (2, 4), (INF, 6)), 6, 11.0)  # the rank that saw more
    other = histogram(name, {"2": 3, "4": 7, "+Inf": 8}, 20.0, 'dp_rank="1"')
    both = read_metrics(page(*same[0], *other)).queue
    assert both == Histogram(((2, 7), (INF, 13)), 13, 30.0)  # the bounds that both have


def test_several_models() -> None:
    lines = ['num_running_reqs{model_name="a"} 1', 'num_running_reqs{model_name="b"} 2', "num_queue_reqs 5"]
    with pytest.raises(ValueError, match=r"^model must be given for a page with several: a, b\.$"):
        read_metrics(page(*lines))
    m = read_metrics(page(*lines), model="b")
    assert (m.running, m.waiting, m.model) == (2, 5, "b")
    with pytest.raises(ValueError, match=r"^model must be one that the page names, a, b, not 'c'\.$"):
        read_metrics(page(*lines), model="c")
    with pytest.raises(ValueError, match=r"which names none, not 'c'"):
        read_metrics(page(lines[2]), model="c")


# Histograms ----------------------------------------------------------------------------------------------------------


def test_quantiles_by_hand() -> None:
    h = Histogram(((2.0, 3.0), (5.0, 3.0), (11.0, 10.0), (INF, 13.0)), 13.0, 101.0)
    assert h.mean == pytest.approx(101 / 13)
    assert h.quantile(0) == 0
    assert h.quantile(1.3 / 13) == pytest.approx(2 * 1.3 / 3)
    assert h.quantile(3 / 13) == pytest.approx(2)
    assert h.quantile(6.5 / 13) == pytest.approx(5 + 6 * 3.5 / 7)  # the empty bucket from 2 to 5 is skipped
    assert h.quantile(10 / 13) == pytest.approx(11)
    assert h.quantile(0.9) == h.quantile(1) == 11  # beyond the last bound nothing is known
    below = Histogram(((-1.0, 2.0), (1.0, 4.0), (INF, 4.0)), 4.0, 0.0)
    assert below.quantile(0.25) == -1 and below.quantile(0.75) == pytest.approx(0)


def test_quantile_without_observations_or_bounds() -> None:
    for h in (
        Histogram(((1.0, 0.0), (INF, 0.0)), 0.0, 0.0),
        Histogram(((INF, 3.0),), 3.0, 6.0),
        Histogram((), 0.0, 0.0),
    ):
        assert math.isnan(h.quantile(0.5))
    assert math.isnan(Histogram((), 0.0, 0.0).mean) and Histogram(((INF, 3.0),), 3.0, 6.0).mean == 2


@pytest.mark.parametrize("q", [-0.1, 1.1, NAN, "0.5", None, True])
def test_bad_share(q: object) -> None:
    with pytest.raises(ValueError, match=r"^q must be a share of 0 to 1, not "):
        Histogram(((1.0, 1.0), (INF, 1.0)), 1.0, 1.0).quantile(q)  # type: ignore[arg-type]


def test_what_the_client_library_writes() -> None:
    """A page written by the library that both engines write theirs with."""
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram as Written, generate_latest

    registry = CollectorRegistry()
    Gauge("vllm:num_requests_running", "now", ["model_name"], registry=registry).labels('a "b", c\\d').set(11)
    Counter("vllm:prompt_tokens", "all", registry=registry).inc(2**53)
    h = Written("vllm:time_to_first_token_seconds", "first", buckets=(0.1, 0.5, 1), registry=registry)
    Written("vllm:iteration_tokens_total", "a histogram of that name", registry=registry).observe(3)
    Gauge("vllm:kv_cache_usage_perc", "share", registry=registry).set(NAN)
    for value in (0.05, 0.3, 0.3, 2.0):
        h.observe(value)
    m = read_metrics(generate_latest(registry))
    assert (m.running, m.model, m.prompt_tokens, m.cache_usage) == (11, 'a "b", c\\d', 2**53, None)
    assert m.ttft == Histogram(((0.1, 1), (0.5, 3), (1, 3), (INF, 4)), 4, pytest.approx(2.65))


# Values that are none ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-Inf", "-1.0", "1e308", "1e999", "9" * 400])
def test_values_that_are_none(value: str) -> None:
    m = read_metrics(page(f"token_usage {value}", f"prompt_tokens_total {value}", "num_running_reqs 2.0"))
    assert (m.cache_usage, m.prompt_tokens, m.running) == (None, None, 2)
    one_rank = page(f'num_queue_reqs{{tp_rank="0"}} {value}', 'num_queue_reqs{tp_rank="1"} 4.0')
    assert read_metrics(one_rank).waiting == 4
    broken = page(*histogram("time_to_first_token_seconds", {"0.1": 1, "+Inf": 2}, 1.0)).replace(" 1\n", f" {value}\n")
    assert read_metrics(broken + page("num_running_reqs 2.0")).ttft is None
    summed = page(*histogram("time_to_first_token_seconds", {"0.1": 1, "+Inf": 2}, 7.0)).replace(" 7.0", " NaN")
    ttft = read_metrics(summed).ttft
    assert ttft is not None and math.isnan(ttft.mean) and ttft.quantile(0.5) == pytest.approx(0.1)


def test_counts_that_fall_are_levelled() -> None:
    m = read_metrics(page(*histogram("time_to_first_token_seconds", {"0.1": 5, "1": 4, "+Inf": 6}, 1.0)))
    assert m.ttft is not None and m.ttft.buckets == ((0.1, 5), (1, 5), (INF, 6))


# Anything else -------------------------------------------------------------------------------------------------------

OTHER = {
    "empty": ("", "not ''"),
    "blank": (" \n\t\r\n ", "not ' \\n"),
    "html": ("<!DOCTYPE html>\n<html><body>404 Not Found</body></html>\n", "starts with '<!DOCTYPE html>'"),
    "json": ('{"detail": "Not Found"}', "starts with '{"),
    "nul": ("sglang:num_running_reqs 3\x00\n", "damaged or cut off"),
    "bytes": (bytes(range(256)), "without a metric of SGLang or vLLM"),
    "gzip": (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", "without a metric of SGLang or vLLM"),
    "utf-16": (SGLANG.encode("utf-16"), "without a metric of SGLang or vLLM"),
    "number": (37, "not 37"),
    "none": (None, "not None"),
    "path": (DATA / "metrics_sglang.txt", "Path("),
    "file name": ("metrics_sglang.txt", "without a metric of SGLang or vLLM, which starts with 'metrics_sglang.txt'"),
    "curl": ("curl: (7) Failed to connect to 127.0.0.1 port 30000\n", "starts with 'curl: (7)"),
    "other exporter": ("# TYPE process_cpu gauge\nprocess_cpu 3\n", "without a metric of SGLang or vLLM"),
    "router": ("# TYPE sgl_router_requests counter\nsgl_router_requests 3\n", "without a metric of SGLang or vLLM"),
    "no value": ("sglang:num_running_reqs\n", "damaged or cut off in the line 'sglang:num_running_reqs'"),
    "open quote": ('sglang:num_running_reqs{a="b} 3\n', "damaged or cut off"),
    "open brace": ('sglang:num_running_reqs{a="b" 3\n', "damaged or cut off"),
    "two labels": ('sglang:num_running_reqs{a="b",a="c"} 3\n', "damaged or cut off"),
    "word": ("sglang:num_running_reqs many\n", "damaged or cut off"),
    "bound": ('sglang:queue_time_seconds_bucket{le="low"} 1\nsglang:queue_time_seconds_sum 1\n', "bound 'low'"),
    "long line": (f'sglang:num_running_reqs{{a="{"b" * 20_000}"}} 3\n', "a line of 20,"),
    "long text": ("#" * (2**20 + 1), "a text of 1,048,577 characters"),
}


@pytest.mark.parametrize(("text", "said"), OTHER.values(), ids=OTHER)
def test_anything_else_gets_one_clear_error(text: str | bytes, said: str) -> None:
    with pytest.raises(ValueError) as error:
        read_metrics(text)
    message = str(error.value)
    assert message.startswith("text must be the whole metrics page of an engine, not ") and said in message
    assert "curl http://127.0.0.1:30000/metrics" in message and "--enable-metrics" in message
    assert "\n" not in message and len(message) < 320 and message.endswith(".")


def test_pages_without_what_is_needed() -> None:
    with pytest.raises(ValueError, match="must be the metrics page of one server"):
        read_metrics(SGLANG + VLLM)
    with pytest.raises(ValueError, match=r"^text must hold a metric that is known of sglang, .*not 'new_thing'\.$"):
        read_metrics(page("new_thing 3.0"))


@pytest.mark.parametrize("text", [SGLANG, VLLM], ids=["sglang", "vllm"])
def test_two_pages_together_are_refused(text: str) -> None:
    """Whether they are of two servers or of one at two times: their values cannot be told apart."""
    for second in (text, text.replace(" 112.0", " 12.0").replace(" 109.0", " 12.0")):
        with pytest.raises(ValueError, match=r"not two pages together: the line '.*' is there twice"):
            read_metrics(text + second)


def test_a_histogram_that_lacks_its_end() -> None:
    lines = histogram("time_to_first_token_seconds", {"0.1": 1, "+Inf": 2}, 1.0)
    for missing in (1, 3):  # the infinite bucket, the sum
        with pytest.raises(ValueError, match="its histogram time_to_first_token_seconds is not complete"):
            read_metrics(page(*lines[:missing], *lines[missing + 1 :]))
    assert read_metrics(page(*lines[:2], lines[3])).ttft is not None  # the count is that of the infinite bucket


ODD = {
    "backslashes": 'sglang:x{a="' + "\\" * 19_000 + '"} 1\n',
    "quotes": 'sglang:x{a="' + '\\"' * 9_500 + '"} 1\n',
    "open quotes": "sglang:x{a=" + '"' * 19_000 + "} 1\n",
    "commas": "sglang:x{" + "," * 19_000 + "} 1\n",
    "labels": "sglang:x{" + ",".join(f'a{i}="1"' for i in range(1500)) + "} 1\n",
    "braces": "sglang:x" + "{" * 19_000,
    "blanks": "sglang:x" + " " * 19_000 + "1\n",
    "digits": "sglang:x " + "9" * 19_000 + "\n",
    "name": "sglang:" + "x" * 19_000 + " 1\n",
    "underscores": "_" * 10**6,
    "short lines": "\n" * 10**6,
    "bounds": "".join(f'sglang:x_bucket{{le="{i}"}} 1\n' for i in range(3000)) + "sglang:x_sum 1\n",
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_odd_text_does_not_hang(text: str) -> None:
    start = time.process_time()
    with pytest.raises(ValueError, match=r"^text must"):
        read_metrics(text)
    assert time.process_time() - start < 1


def test_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "prometheus_client"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(ImportError, match=r"^read_metrics needs the package prometheus_client: install it with pip "):
        read_metrics(SGLANG)


def test_a_share_is_at_most_all() -> None:
    more = page("prefix_cache_hits_total 30.0", "prefix_cache_queries_total 20.0", engine="vllm")
    assert read_metrics(more).prefix_hit_rate == 1.0
    assert read_metrics(page("cache_hit_rate 1.5", "num_running_reqs 1.0")).prefix_hit_rate == 1.0
    assert read_metrics(page("num_running_reqs 5e-324", "num_used_tokens 7.0")).mean_context is None


# Populations, replicas, drafts, two pages -----------------------------------------------------------------------------

CASES = ROOT / "tests" / "data" / "cases"


def case(name: str) -> str:
    return (CASES / f"metrics-{name}.txt").read_text(encoding="utf-8")


def test_prompt_tokens_are_divided_by_the_requests_that_they_are_of() -> None:
    """A prompt counts with its first token and a request at its end: 208,000 tokens are of 208 requests, not of 8."""
    m = read_metrics(case("vllm-many-in-flight"))
    assert (m.requests, m.started, m.mean_prompt) == (8, 208, 1000)
    finished = page(
        "num_requests_total 8.0",
        "prompt_tokens_total 8000.0",
        *histogram("time_to_first_token_seconds", {"1.0": 208, "+Inf": 208}, 20.8),
    )
    assert read_metrics(finished).mean_prompt == 1000  # SGLang counts both at the end


def test_speculative_decoding_is_seen() -> None:
    m = read_metrics(case("vllm-speculative"))
    assert m.tokens_per_step == 3 and m.tpot is not None
    assert m.tpot.mean == pytest.approx(0.01) and m.tpot.buckets[1] == (pytest.approx(0.05 / 3), 1000)
    more = read_metrics(case("vllm-speculative") + "vllm:spec_decode_num_draft_tokens_total 4000.0\n")
    assert more.accepted == 0.5
    lines = histogram("inter_token_latency_seconds", {"0.1": 2, "+Inf": 4}, 0.6)
    sg = read_metrics(page("spec_accept_length 2.5", "spec_accept_rate 0.6", *lines))
    assert (sg.tokens_per_step, sg.accepted) == (2.5, 0.6)
    assert sg.tpot is not None and sg.tpot.mean == pytest.approx(0.15)  # divided by the server already
    assert read_metrics(page("spec_accept_length 0.0", "num_running_reqs 1")).tokens_per_step is None


@pytest.mark.parametrize("label", ["worker_addr", "pod", "instance", "server", "ReplicaId", "anything"])
def test_replicas_are_told_apart_by_any_label(label: str) -> None:
    lines = [f'num_running_reqs{{tp_rank="{t}",{label}="{i}"}} {20 + i}' for i in (0, 4) for t in (0, 1)]
    m = read_metrics(page(*lines))
    assert (m.replicas, m.running) == (2, 44)


def test_two_workers_and_ray() -> None:
    m = read_metrics(case("sglang-two-workers"))
    assert (m.replicas, m.running, m.pool_tokens, m.throughput) == (2, 44, 880_000, 3400)
    ray = read_metrics(case("ray-serve"))
    assert (ray.engine, ray.replicas, ray.running, ray.cache_usage) == ("vllm", 2, 12, 0.6)


def test_a_percent_is_not_a_share() -> None:
    with pytest.raises(ValueError, match=r"not one whose share of the pool in use is 47, as if it were per cent"):
        read_metrics(page("kv_cache_usage_perc 47.0", engine="vllm"))
    assert read_metrics(page("kv_cache_usage_perc 1.0", engine="vllm")).cache_usage == 1.0


def test_two_pages_give_what_happened_between() -> None:
    def at(finished: int, fast: int, slow: int) -> str:
        times = {"0.1": fast, "1.0": fast + slow, "+Inf": fast + slow}
        return page(
            f"num_requests_total {finished}", f"prompt_tokens_total {1000 * finished}", "num_running_reqs 7",
            f"cached_tokens_total {10 * finished * finished}", f"generation_tokens_total {300 * finished}",
            *histogram("time_to_first_token_seconds", times, 0.05 * fast + 0.5 * slow),
        )  # fmt: skip

    before, now = read_metrics(at(10, 10, 0)), read_metrics(at(30, 10, 20))
    between = now.since(before, 60)
    assert (between.requests, between.started, between.running) == (20, 20, 7)
    assert between.ttft is not None and between.ttft.mean == pytest.approx(0.5) and now.ttft != between.ttft
    assert between.ttft.buckets == ((0.1, 0), (1.0, 20), (INF, 20))
    assert between.mean_prompt == 1000 and between.throughput == pytest.approx(100)
    assert between.prefix_hit_rate == pytest.approx((9000 - 1000) / 20_000)
    assert now.since(before).throughput is None
    with pytest.raises(ValueError, match=r"^earlier must be a page of before, of a server that was not started anew"):
        before.since(now)
    with pytest.raises(ValueError, match=r"^earlier must be Metrics of the same engine and model"):
        now.since(read_metrics(VLLM))
    with pytest.raises(ValueError, match=r"^seconds must be"):
        now.since(before, 0)
