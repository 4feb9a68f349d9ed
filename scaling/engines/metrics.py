"""What an engine says of itself: the Prometheus text of its metrics page, read into names that all engines share."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from scaling._checks import in_line, shown
from scaling.engines.series import Histogram as Histogram, Labels, Series, read_series, split_bound


@dataclass(frozen=True, kw_only=True)
class Metrics:
    """A metrics page. What it does not say, or says as NaN, is None.

    Now: `running` and `waiting` requests; `cache_usage`, the share of the pool that requests use (of several replicas
    the fullest); `pool_tokens`, `used_tokens`; `cached_tokens_in_step`, read by a decode step; `throughput`. [token/s]
    Since the start: `requests` finished, `retractions` (vLLM: preemptions), `prompt_tokens`, `generation_tokens`, and
    `prefix_hit_rate`, the share of prompt tokens found in the cache.
    Latencies [s], since the start: `ttft`, `tpot` (from token to token), `e2e`, `queue`.
    `replicas`: data-parallel parts on the page; the numbers are of all of them together.
    """

    engine: str
    model: str | None = None
    replicas: int = 1
    running: float | None = None
    waiting: float | None = None
    cache_usage: float | None = None
    pool_tokens: float | None = None
    used_tokens: float | None = None
    cached_tokens_in_step: float | None = None
    throughput: float | None = None
    prefix_hit_rate: float | None = None
    retractions: float | None = None
    requests: float | None = None
    prompt_tokens: float | None = None
    generation_tokens: float | None = None
    ttft: Histogram | None = None
    tpot: Histogram | None = None
    e2e: Histogram | None = None
    queue: Histogram | None = None

    @property
    def mean_context(self) -> float | None:
        """Tokens that a running request has in the cache, on average now; None if the page does not tell."""
        held = self.cached_tokens_in_step
        if not held:
            held = self.used_tokens or _times(self.cache_usage, self.pool_tokens)
        return _over(held, self.running)

    @property
    def mean_prompt(self) -> float | None:
        """Prompt tokens of a request, on average since the start."""
        return _over(self.prompt_tokens, self.requests)


# Newest name first: a page is read by the first of them that it has.
_GAUGES = {
    "running": ("num_running_reqs", "num_requests_running"),
    "waiting": ("num_queue_reqs", "num_requests_waiting"),
    "pool_tokens": ("max_total_num_tokens",),
    "used_tokens": ("num_used_tokens",),
    "cached_tokens_in_step": ("decode_sum_seq_lens",),
    "throughput": ("gen_throughput", "avg_generation_throughput_toks_per_s"),
}
_COUNTERS = {
    "retractions": ("num_retracted_requests_total", "num_preemptions_total"),
    "requests": ("num_requests_total", "request_success_total"),
    "prompt_tokens": ("prompt_tokens_total",),
    "generation_tokens": ("generation_tokens_total",),
}
_HISTOGRAMS = {
    "ttft": ("time_to_first_token_seconds",),
    "tpot": (
        "inter_token_latency_seconds",
        "time_per_output_token_seconds",
        "request_time_per_output_token_seconds",
    ),
    "e2e": ("e2e_request_latency_seconds",),
    "queue": ("queue_time_seconds", "request_queue_time_seconds"),
}
_USAGE = ("token_usage", "kv_cache_usage_perc", "gpu_cache_usage_perc")
_MOST = 1e18  # no server has counted so far: a larger value is none

# Cached prompt tokens, and the prompt tokens they are a share of.
_HITS = (
    ("cached_tokens_total", "prompt_tokens_total"),
    ("prefix_cache_hits_total", "prefix_cache_queries_total"),
    ("gpu_prefix_cache_hits_total", "gpu_prefix_cache_queries_total"),
)
_LAST_HIT_RATE = ("cache_hit_rate", "gpu_prefix_cache_hit_rate")


def read_metrics(text: str | bytes, *, model: str | None = None) -> Metrics:
    """The metrics of an SGLang or vLLM server from the text of its ``/metrics`` page, of old versions and new.

    Labels and metrics that are not known are passed over. Ranks that work on the same requests say the same thing and
    count once; replicas, and parts of the traffic, are added up. Histograms are added bucket by bucket.

    `model`: which one, by the label ``model_name``, if the page has several.

    Raises ``ValueError`` that says what was given instead of a whole page, and how to get one; ``ImportError`` without
    the package prometheus_client. Source: SGLang 0.5.23 and vLLM 0.33.0, with the older names.
    """
    engine, found = read_series(text)
    model = _the_model(found.values(), model)
    page = _Page({name: _of_model(series, model) for name, series in found.items()})
    out: dict[str, float | Histogram | None] = {}
    out |= {field: page.gauge(names, sum) for field, names in _GAUGES.items()}
    out |= {field: page.counter(names) for field, names in _COUNTERS.items()}
    out |= {field: page.histogram(names) for field, names in _HISTOGRAMS.items()}
    out["cache_usage"] = page.gauge(_USAGE, max)
    out["prefix_hit_rate"] = page.hit_rate()
    out["pool_tokens"] = page.pool_in_labels() if out["pool_tokens"] is None else out["pool_tokens"]
    if all(value is None for value in out.values()):
        names = ", ".join(sorted(found))
        raise ValueError(
            f"text must hold a metric that is known of {engine}, such as running requests, not {shown(names)}."
        )
    return Metrics(engine=engine, model=model, replicas=page.replicas(), **out)  # type: ignore[arg-type]


def _the_model(pages: Iterable[Series], wanted: str | None) -> str | None:
    names = {value for series in pages for labels in series for key, value in labels if key == "model_name"}
    if wanted is not None and wanted not in names:
        raise ValueError(f"model must be one that the page names, {_listed(names)}, not {shown(wanted)}.")
    if wanted is None and len(names) > 1:
        raise ValueError(f"model must be given for a page with several: {_listed(names)}.")
    return wanted or next(iter(names), None)


def _listed(names: set[str]) -> str:
    said = ", ".join(in_line(name, 40) or "''" for name in sorted(names)[:4])
    return said + (", ..." if len(names) > 4 else "") if names else "which names none"


def _of_model(series: Series, model: str | None) -> Series:
    return {
        labels: value for labels, value in series.items() if all(k != "model_name" or v == model for k, v in labels)
    }


def _part(labels: Labels) -> Labels:
    """The labels without those of ranks and processes that repeat what others of their replica say."""
    return frozenset((k, v) for k, v in labels if k != "pid" and (not k.endswith("_rank") or k.endswith("dp_rank")))


def _replica(labels: Labels) -> Labels:
    return frozenset((k, v) for k, v in labels if k == "engine" or k.endswith("dp_rank"))


def _times(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a * b


def _over(a: float | None, b: float | None) -> float | None:
    return a / b if a is not None and b and a <= _MOST * b else None


class _Page:
    """Metrics by name, of one model."""

    def __init__(self, found: dict[str, Series]) -> None:
        self.found = found

    def parts(self, names: Iterable[str]) -> dict[Labels, float]:
        """One value per part of the first of these metrics that has any: the largest that its ranks state."""
        for name in names:
            parts: dict[Labels, float] = {}
            for labels, value in self.found.get(name, {}).items():
                if 0 <= value <= _MOST:
                    parts[_part(labels)] = max(value, parts.get(_part(labels), 0.0))
            if parts:
                return parts
        return {}

    def gauge(self, names: Iterable[str], combine: Callable[[Iterable[float]], float]) -> float | None:
        """The parts combined. With priorities, SGLang states the total under the empty one and then each of them."""
        parts = self.parts(names)
        total = {labels: value for labels, value in parts.items() if ("priority", "") in labels}
        return combine((total or parts).values()) if parts else None

    def counter(self, names: Iterable[str]) -> float | None:
        parts = self.parts(names)
        return sum(parts.values()) if parts else None

    def hit_rate(self) -> float | None:
        """Since the start, from the counters; that of the last report if the page has nothing better."""
        for hits, asked in _HITS:
            rate = _over(self.counter((hits,)), self.counter((asked,)))
            if rate is not None:
                return min(1.0, rate)  # read while it counts, a page may have more hits than questions
        last = self.gauge(_LAST_HIT_RATE, max)
        return None if last is None else min(1.0, last)

    def pool_in_labels(self) -> float | None:
        """Where vLLM states the size of its pool."""
        sizes: dict[Labels, float] = {}
        for labels in self.found.get("cache_config_info", {}):
            said = dict(labels)
            try:
                tokens = float(said.get("kv_cache_size_tokens", "nan"))
                if math.isnan(tokens):
                    tokens = float(said["num_gpu_blocks"]) * float(said["block_size"])
            except (KeyError, ValueError):
                continue
            if 0 < tokens <= _MOST:
                sizes[_replica(labels)] = tokens
        return sum(sizes.values()) if sizes else None

    def replicas(self) -> int:
        """How many data-parallel parts speak."""
        parts = self.parts(_GAUGES["running"]) or self.parts(_USAGE)
        return max(1, len({_replica(labels) for labels in parts}))

    def histogram(self, names: Iterable[str]) -> Histogram | None:
        """The first of these histograms that has observations: per part the rank that saw most, the parts added up."""
        empty: Histogram | None = None
        for name in names:
            series: dict[Labels, dict[float, float]] = {}
            for labels, value in self.found.get(f"{name}_bucket", {}).items():
                rest, bound = split_bound(labels)
                if bound is not None and not math.isnan(bound):
                    series.setdefault(rest, {})[bound] = value
            parts: dict[Labels, tuple[dict[float, float], float]] = {}
            for labels, buckets in series.items():
                seen, whole = buckets[math.inf], all(0 <= value <= _MOST for value in buckets.values())
                if whole and (_part(labels) not in parts or seen > parts[_part(labels)][0][math.inf]):
                    parts[_part(labels)] = buckets, self.found[f"{name}_sum"][labels]
            if parts:
                added = _added(list(parts.values()))
                if added.count:
                    return added
                empty = empty or added
        return empty


def _added(parts: list[tuple[dict[float, float], float]]) -> Histogram:
    """Histograms added over the bounds that all of them have."""
    bounds = sorted(set.intersection(*(set(buckets) for buckets, _ in parts)))
    counts: list[float] = []
    for bound in bounds:
        up_to = sum(buckets[bound] for buckets, _ in parts)
        counts.append(max([up_to, *counts[-1:]]))  # read while it counts, a page may be a step behind itself
    return Histogram(tuple(zip(bounds, counts, strict=True)), counts[-1], sum(total for _, total in parts))
