"""The sample metrics pages of the book: what a server that a schedule describes would say of itself.

    PYTHONPATH=. python book/_tools/sample_metrics.py        writes book/data/metrics_*.txt

Names, labels and buckets are the engines'; the values come from one schedule each, so that running requests, pool,
counters and histograms are of the same requests. A test holds that the pages are those that this writes.
"""

import random
from bisect import bisect
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from scaling import H100, LLAMA3_70B, Deployment
from scaling.batching import Request, Timeline, timeline
from scaling.deployment import Efficiency
from scaling.engines import sglang, vllm
from scaling.latency import mixed_step

DATA = Path(__file__).parents[1] / "data"
MODEL = LLAMA3_70B.checkpoints["fp8"]

# Shares of the peaks that engines reach, and the launch of kernels: a step takes about twice its floor.
USUAL = Efficiency(bandwidth=0.75, flops=0.45, layer_seconds=2e-5)
NODE = Deployment(model=LLAMA3_70B, chip=H100, chips=8, weights="fp8", kv="fp8", efficiency=USUAL)
RATE, SECONDS, WAITING = 12.0, 18, 3  # requests a second, and for how long; in the queue when the page is taken
AFTER, BETWEEN = 15.0, 10.0  # how long the server runs by then, and how much earlier the page before was taken [s]
SHARED = 768  # tokens that every prompt begins with, found in the prefix cache by all but the first request

TTFT = {
    "sglang": (0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400),
    "vllm": (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160),
}
ITL = {
    "sglang": (
        0.002,
        0.004,
        0.006,
        0.008,
        0.01,
        0.015,
        0.02,
        0.025,
        0.03,
        0.035,
        0.04,
        0.06,
        0.08,
        0.1,
        0.2,
        0.4,
        1,
        2,
    ),
    "vllm": (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80),
}


def requests(rate: float, seconds: float, seed: int) -> list[Request]:
    """Requests that arrive at random, `rate` a second; `prompt` is what the prefix cache does not have of it."""
    draw, now, found = random.Random(seed), 0.0, []
    while (now := now + draw.expovariate(rate)) < seconds:
        prompt, output = round(draw.lognormvariate(7.75, 0.5)), round(draw.lognormvariate(5.8, 0.5))
        found.append(Request(prompt=min(prompt, 5600), output=min(output, 1500), arrival=now))
    return found


def step_time(prefill: int, decode: int, cached: int) -> float:
    """Seconds of one step: what it reads of the cache has the shared beginning, too."""
    context = cached / decode + SHARED if decode else 0.0
    return float(mixed_step(NODE, decode, context, prefill).total)


class Page:
    """What has happened up to `now`, the end of a decode step. [s]"""

    def __init__(self, run: Timeline, now: float) -> None:
        self.run, self.now = run, now
        self.pairs = list(zip(run.requests, run.times, strict=True))
        begun: dict[int, float] = {}
        for span in run.spans:
            if span.kind != "wait":
                begun.setdefault(span.request, span.start)
        self.prefills = [begun[i] for i in range(len(run.times))]
        self.started = [(r, t) for r, t in self.pairs if t.first_token <= now]
        self.finished = [(r, t) for r, t in self.started if t.last_token <= now]
        self.running = [(r, t) for r, t in self.started if t.last_token > now]
        self.waiting = sum(t.arrival <= now < start for (_, t), start in zip(self.pairs, self.prefills, strict=True))

    def tokens(self, times: Any) -> list[float]:
        """When the tokens of a request came, up to now."""
        return list(times.tokens[: bisect(times.tokens, self.now)])

    @property
    def read(self) -> int:
        """Cached tokens that the next decode step reads: the last token of each request is not there yet."""
        return sum(SHARED + r.prompt + len(self.tokens(t)) - 1 for r, t in self.running)

    @property
    def used(self) -> int:
        """Cached tokens that requests use; their shared beginning is stored once."""
        return self.read - SHARED * (len(self.running) - 1)

    @property
    def gaps(self) -> list[float]:
        """Times from one token to the next, of all requests. [s]"""
        return [b - a for _, t in self.started for a, b in pairwise(self.tokens(t))]

    def prompts(self, of: Sequence[tuple[Request, Any]]) -> int:
        """Prompt tokens of these requests."""
        return sum(r.prompt + SHARED for r, _ in of)

    @property
    def last_hit_rate(self) -> float:
        """Share of the prompt tokens of the last prefill that the prefix cache had."""
        begun = [(start, r) for (r, _), start in zip(self.pairs, self.prefills, strict=True) if start <= self.now]
        last = [r for start, r in begun if start == max(start for start, _ in begun)]
        return SHARED * len(last) / self.prompts([(r, None) for r in last])

    def throughput(self, seconds: float = 2.0) -> float:
        """Tokens a second, lately."""
        new = sum(self.now - seconds < at for _, t in self.started for at in self.tokens(t)[1:])
        return new / seconds


def write(
    engine: str,
    gauges: dict[str, float],
    counters: dict[str, float],
    histograms: dict[str, Iterable[float]],
    labels: dict[str, dict[str, str]],
) -> str:
    """The page in the format of the client library that both engines use."""
    registry = CollectorRegistry()
    for name, value in gauges.items():
        own = labels.get(name, labels["gauge"])
        Gauge(f"{engine}:{name}", name.replace("_", " "), list(own), registry=registry).labels(**own).set(value)
    for name, value in counters.items():
        own = labels.get(name, labels["counter"])
        Counter(f"{engine}:{name}", name.replace("_", " "), list(own), registry=registry).labels(**own).inc(value)
    for name, values in histograms.items():
        own = labels.get(name, labels["counter"])
        bounds = ITL[engine] if name.startswith("inter") else TTFT[engine]
        seen = Histogram(f"{engine}:{name}", name.replace("_", " "), list(own), buckets=bounds, registry=registry)
        for value in values:
            seen.labels(**own).observe(value)
    lines = generate_latest(registry).decode().splitlines()
    kept = [line for line in lines if "_created" not in line]  # the moment of the start, which nobody reads here
    head = f"# What {engine} says of itself, as book/_tools/sample_metrics.py computes it from a schedule."
    return "\n".join([head, *kept]) + "\n"


def sglang_page(before: float = 0.0) -> str:
    """SGLang at a moderate load, or so many seconds before: prefills go first, and the decode steps wait for them."""
    pool = sglang.expected_pool(NODE)
    run = timeline(
        requests(RATE, SECONDS, 12), policy="continuous", step_time=step_time, max_batch=512, pool=int(pool.tokens)
    )
    page = _busy(run, AFTER)
    if before:
        page = Page(run, max(step.end for step in run.steps if step.end <= page.now - before))
    tokens, common = int(pool.tokens), {"engine_type": "unified", "model_name": MODEL}
    scheduler = {**common, **dict.fromkeys(("moe_ep_rank", "pp_rank", "tp_rank"), "0")}
    stream = {**common, "is_streaming": "true"}
    return write(
        "sglang",
        {
            "num_running_reqs": len(page.running),
            "num_queue_reqs": page.waiting,
            "num_used_tokens": page.used,
            "token_usage": round(page.used / tokens, 4),
            "max_total_num_tokens": tokens,
            "decode_sum_seq_lens": page.read,
            "gen_throughput": round(page.throughput(), 2),
            "cache_hit_rate": round(page.last_hit_rate, 4),
        },
        {
            "num_retracted_requests_total": sum(len(t.preempted) for _, t in page.pairs),
            "num_requests_total": len(page.finished),
            "prompt_tokens_total": page.prompts(page.finished),
            "generation_tokens_total": sum(r.output for r, _ in page.finished),
            "cached_tokens_total": SHARED * (len(page.finished) - 1),
        },
        {
            "time_to_first_token_seconds": [t.ttft for _, t in page.started],
            "inter_token_latency_seconds": page.gaps,
            "queue_time_seconds": [
                start - t.arrival for (_, t), start in zip(page.pairs, page.prefills, strict=True) if start <= page.now
            ],
        },
        {
            "gauge": scheduler,
            "counter": stream,
            "num_retracted_requests_total": scheduler,
            "cached_tokens_total": {**common, "cache_source": "device"},
            "inter_token_latency_seconds": common,
            "queue_time_seconds": scheduler,
        },
    )


def vllm_page() -> str:
    """VLLM at the same load: prefill and decode share a step of at most so many tokens."""
    pool = vllm.expected_pool(NODE)
    chunk = vllm.default_step_tokens(NODE)
    run = timeline(
        requests(RATE, SECONDS, 12),
        policy="chunked",
        step_time=step_time,
        max_batch=1024,
        pool=int(pool.tokens),
        chunk=chunk,
    )
    page = _busy(run, AFTER)
    common = {"engine": "0", "model_name": MODEL}
    config = {"block_size": "16", "cache_dtype": "auto", "enable_prefix_caching": "True", "engine": "0"}
    config |= {"gpu_memory_utilization": f"{vllm.UTILIZATION}", "num_gpu_blocks": f"{int(pool.pages)}"}
    return write(
        "vllm",
        {
            "num_requests_running": len(page.running),
            "num_requests_waiting": page.waiting,
            "kv_cache_usage_perc": round(page.used / int(pool.tokens), 4),
            "cache_config_info": 1,
        },
        {
            "num_preemptions_total": sum(len(t.preempted) for _, t in page.pairs),
            "prompt_tokens_total": page.prompts(page.started),
            "generation_tokens_total": sum(len(page.tokens(t)) for _, t in page.started),
            "request_success_total": len(page.finished),
            "prefix_cache_queries_total": page.prompts(page.started),
            "prefix_cache_hits_total": SHARED * (len(page.started) - 1),
        },
        {
            "time_to_first_token_seconds": [t.ttft for _, t in page.started],
            "inter_token_latency_seconds": page.gaps,
        },
        {
            "gauge": common,
            "counter": common,
            "cache_config_info": config,
            "request_success_total": {**common, "finished_reason": "stop"},
        },
    )


def _busy(run: Timeline, after: float) -> Page:
    """The page at the end of the first step after that moment when some requests wait."""
    pages = (Page(run, step.end) for step in run.steps if step.end > after)
    return next(page for page in pages if page.waiting >= WAITING)


PAGES = {
    "metrics_sglang.txt": sglang_page,
    "metrics_sglang_before.txt": lambda: sglang_page(BETWEEN),
    "metrics_vllm.txt": vllm_page,
}

if __name__ == "__main__":
    for name, page_of in PAGES.items():
        (DATA / name).write_text(page_of(), encoding="utf-8")
