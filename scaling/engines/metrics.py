"""What an engine says of itself: the Prometheus text of its metrics page, read into names that all engines share."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from sys import float_info
from typing import Any

from scaling._checks import in_line, positive, shown

_HOW = (
    "get it with `curl http://127.0.0.1:30000/metrics` from SGLang started with --enable-metrics, or with "
    "`curl http://127.0.0.1:8000/metrics` from vLLM"
)

# A page of a hundred replicas is as long as this, and no label comes near such a line: the parser takes a time that
# grows with the square of a line, so that with these bounds no text takes a second.
_LONGEST_TEXT, _LONGEST_LINE = 2**20, 20_000
_MOST = 1e18  # no server has counted so far: a larger value is none

Labels = frozenset[tuple[str, str]]
Series = Mapping[Labels, float]  # the values of one metric, by the labels that tell its series apart


@dataclass(frozen=True)
class Histogram:
    """Observations by upper bound: `buckets` of (bound, observations up to it), the last infinite; their `sum`. [s]"""

    buckets: tuple[tuple[float, float], ...]
    count: float
    sum: float

    @property
    def mean(self) -> float:
        """Mean of the observations; exact, whatever the buckets. NaN without observations."""
        return self.sum / self.count if self.count else math.nan

    def quantile(self, q: float) -> float:
        """Value that a share `q` of the observations does not exceed, as Prometheus' ``histogram_quantile`` has it.

        Observations count as evenly spread within a bucket, whose width is the error. Beyond the last finite bound it
        is that bound; NaN without observations.

        Raises ``ValueError`` for a share outside 0 to 1.
        """
        if isinstance(q, bool) or not isinstance(q, (int, float)) or not 0 <= q <= 1:
            raise ValueError(f"q must be a share of 0 to 1, not {shown(q)}.")
        if not self.count or len(self.buckets) < 2:
            return math.nan
        rank, start, below = q * self.count, min(0.0, self.buckets[0][0]), 0.0
        for bound, up_to in self.buckets[:-1]:
            if up_to >= rank and up_to > below:
                return start + (bound - start) * (rank - below) / (up_to - below)
            start, below = bound, up_to
        return start


@dataclass(frozen=True, kw_only=True)
class Metrics:
    """A metrics page. What it does not say, or says as NaN, is None.

    Now: `running` and `waiting` requests; `cache_usage`, the share of the pool that requests use (of several replicas
    the fullest); `pool_tokens`, `used_tokens`; `cached_tokens_in_step`, read by a decode step; `throughput`. [token/s]
    Since the start: `requests` finished, `started` (with a first token), `retractions` (vLLM: preemptions),
    `prompt_tokens` and the `prompts` that these are of, `generation_tokens`, and of the tokens looked up in the prefix
    cache, `looked_up`, those found, `found`; `prefix_hit_rate` is their share.
    Latencies [s], since the start: `ttft`, `tpot` (a token, also where several come at once), `queue`.
    `tokens_per_step`: of one sequence, above 1 with speculative decoding. `accepted`: share of the drafted tokens.
    `replicas`: parts of the page with a batch of their own; the numbers are of all of them together.
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
    found: float | None = None
    looked_up: float | None = None
    retractions: float | None = None
    requests: float | None = None
    started: float | None = None
    prompts: float | None = None
    prompt_tokens: float | None = None
    generation_tokens: float | None = None
    tokens_per_step: float | None = None
    accepted: float | None = None
    ttft: Histogram | None = None
    tpot: Histogram | None = None
    queue: Histogram | None = None

    @property
    def mean_context(self) -> float | None:
        """Tokens that a running request has in the cache, on average now; None if the page does not tell."""
        held = self.cached_tokens_in_step or self.used_tokens
        if not held and self.cache_usage is not None and self.pool_tokens is not None:
            held = self.cache_usage * self.pool_tokens
        return _ratio(held, self.running)

    @property
    def mean_prompt(self) -> float | None:
        """Prompt tokens of a request, on average since the start."""
        return _ratio(self.prompt_tokens, self.prompts)

    def since(self, earlier: "Metrics", seconds: float | None = None) -> "Metrics":
        """What counters and histograms gained since an `earlier` page of the same server; gauges are those of now.

        `seconds` between the two pages, if known, give the throughput. [s]

        Raises ``ValueError`` for a page of another model or engine, or one that has counted more.
        """
        if not isinstance(earlier, Metrics) or (earlier.engine, earlier.model) != (self.engine, self.model):
            raise ValueError(f"earlier must be Metrics of the same engine and model, not {shown(earlier)}.")
        if any((getattr(earlier, name) or 0.0) > (getattr(self, name) or 0.0) for name in _COUNTED):
            raise ValueError("earlier must be a page of before, of a server that was not started anew in between.")
        gained = {name: _less(getattr(self, name), getattr(earlier, name)) for name in (*_COUNTED, *_HISTOGRAMS)}
        if seconds is not None and gained["generation_tokens"] is not None:
            gained["throughput"] = gained["generation_tokens"] / positive("seconds", seconds)
        rate = _ratio(gained["found"], gained["looked_up"])
        return replace(self, **gained, prefix_hit_rate=self.prefix_hit_rate if rate is None else min(1.0, rate))


_COUNTED = tuple("found looked_up retractions requests started prompts prompt_tokens generation_tokens".split())

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
    "ttft": ("time_to_first_token",),
    "tpot": ("inter_token_latency", "time_per_output_token", "request_time_per_output_token"),
    "queue": ("queue_time", "request_queue_time"),
}
_USAGE = ("token_usage", "kv_cache_usage_perc", "gpu_cache_usage_perc")
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
    engine, found = _series_of(text)
    model = _the_model(found.values(), model)
    page = _Page({name: _of_model(series, model) for name, series in found.items()})
    out: dict[str, float | Histogram | None] = {}
    out |= {field: page.gauge(names, sum) for field, names in _GAUGES.items()}
    out |= {field: page.counter(names) for field, names in _COUNTERS.items()}
    out |= {field: page.histogram(names) for field, names in _HISTOGRAMS.items()}
    out["cache_usage"] = usage = page.gauge(_USAGE, max)
    if usage is not None and usage > 1.000001:  # no engine writes per cent, whatever the metric is called
        raise _refused(f"one whose share of the pool in use is {usage:g}, as if it were per cent")
    out |= page.hits() | page.drafts()
    out["pool_tokens"] = page.pool_in_labels() if out["pool_tokens"] is None else out["pool_tokens"]
    if all(value is None for value in out.values()):
        names = shown(", ".join(sorted(found)))
        raise ValueError(f"text must hold a metric that is known of {engine}, such as running requests, not {names}.")
    return _one_population(Metrics(engine=engine, model=model, replicas=page.replicas(), **out))  # type: ignore[arg-type]


def _one_population(m: Metrics) -> Metrics:
    """Each counter beside the requests that it counts, and the time of a token where several come at once.

    vLLM adds up a prompt's tokens with its first token, SGLang when the request is finished; vLLM's time between tokens
    is of a step, whatever it gives, SGLang's is divided already.
    """
    started = m.ttft.count if m.ttft is not None else m.requests
    if m.engine == "sglang":
        return replace(m, started=started, prompts=m.requests)
    k, tpot = m.tokens_per_step or 1.0, m.tpot
    if tpot is not None:
        tpot = Histogram(tuple((bound / k, up_to) for bound, up_to in tpot.buckets), tpot.count, tpot.sum / k)
    return replace(m, started=started, prompts=started, tpot=tpot)


def _less(now: Any, before: Any) -> Any:
    """What a counter or a histogram gained; None where one of the pages does not have it."""
    if now is None or before is None or not isinstance(now, Histogram):
        return None if now is None or before is None else now - before
    below = dict(before.buckets)
    buckets = tuple((bound, max(0.0, up_to - below[bound])) for bound, up_to in now.buckets if bound in below)
    return Histogram(buckets, now.count - before.count, now.sum - before.sum)


# From text to values by name and labels -------------------------------------------------------------------------------

# Some collectors write an underscore for the colon, and Ray puts its own name before.
_ENGINE = re.compile("(?:ray_)?(sglang|vllm)[:_]")


def _series_of(text: str | bytes) -> tuple[str, dict[str, Series]]:
    """The engine, and its metrics by name without the prefix. Lines of anything else on the page are left out."""
    page = text.decode("utf-8-sig", "replace") if isinstance(text, bytes) else text
    if not isinstance(page, str) or not page.strip():
        raise _refused(shown(page))
    if len(page) > _LONGEST_TEXT:
        raise _refused(f"a text of {len(page):,} characters")
    found: dict[str, dict[Labels, float]] = {}
    engines = set()
    for line in map(str.strip, page.removeprefix("\ufeff").split("\n")):
        if engine := _ENGINE.match(line):
            name, labels, value = _sample(line)
            engines.add(engine[1])
            series = found.setdefault(name[engine.end() :], {})
            if labels in series:
                raise _refused(f"two pages together: the line {_start(line)} is there twice")
            series[labels] = value
    if not engines:
        raise _refused(f"a text without a metric of SGLang or vLLM, which starts with {_start(page)}")
    if len(engines) > 1:
        raise ValueError("text must be the metrics page of one server, not those of SGLang and vLLM together.")
    return engines.pop(), dict(found)


def _sample(line: str) -> tuple[str, Labels, float]:
    """Name, labels and value of one line."""
    try:
        from prometheus_client.parser import text_string_to_metric_families
    except ModuleNotFoundError as error:
        raise ImportError(
            "read_metrics needs the package prometheus_client: install it with pip install prometheus-client."
        ) from error
    if len(line) > _LONGEST_LINE:
        raise _refused(f"a text with a line of {len(line):,} characters, {_start(line)}")
    try:
        ((sample,),) = (family.samples for family in text_string_to_metric_families(line + "\n"))
        value = math.inf if abs(sample.value) > float_info.max else float(sample.value)
        return sample.name, frozenset(sample.labels.items()), value
    except Exception:  # whatever the parser trips over, the line is not one of a metrics page
        raise _refused(f"a text that is damaged or cut off in the line {_start(line)}") from None


def _refused(given: str) -> ValueError:
    return ValueError(f"text must be the whole metrics page of an engine, not {given}: {_HOW}.")


def _start(text: str) -> str:
    return repr(in_line(text.strip().partition("\n")[0], 40))


# From values by name and labels to what the server does ---------------------------------------------------------------


def _the_model(pages: Iterable[Series], wanted: str | None) -> str | None:
    names = {value for series in pages for labels in series for key, value in labels if key == "model_name"}
    few = ", ".join(in_line(name, 40) or "''" for name in sorted(names)[:4]) + (", ..." if len(names) > 4 else "")
    if wanted is not None and wanted not in names:
        raise ValueError(f"model must be one that the page names, {few or 'which names none'}, not {shown(wanted)}.")
    if wanted is None and len(names) > 1:
        raise ValueError(f"model must be given for a page with several: {few}.")
    return wanted or next(iter(names), None)


def _of_model(series: Series, model: str | None) -> Series:
    return {labels: value for labels, value in series.items() if dict(labels).get("model_name", model) == model}


def _part(labels: Labels) -> Labels:
    """The labels without those of ranks and processes that repeat what others of their replica say."""
    return frozenset((k, v) for k, v in labels if k != "pid" and (not k.endswith("_rank") or k.endswith("dp_rank")))


def _ratio(a: float | None, b: float | None) -> float | None:
    return a / b if a is not None and b and a <= _MOST * b else None


def _bounds(series: Series) -> dict[Labels, dict[float, float]]:
    """Observations by upper bound, for the labels of a series without the bound."""
    found: dict[Labels, dict[float, float]] = {}
    for labels, value in series.items():
        bound = dict(labels).get("le", "")
        try:
            found.setdefault(labels - {("le", bound)}, {})[float(bound)] = value
        except ValueError:
            raise _refused(f"a text with a histogram bound {shown(bound)}") from None
    return found


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

    def counter(self, names: Iterable[str]) -> float | None:
        """The parts added up."""
        parts = self.parts(names)
        return sum(parts.values()) if parts else None

    def gauge(self, names: Iterable[str], combine: Callable[[Iterable[float]], float]) -> float | None:
        """The parts combined. With priorities, SGLang states the total under the empty one and then each of them."""
        parts = self.parts(names)
        total = {labels: value for labels, value in parts.items() if ("priority", "") in labels}
        return combine((total or parts).values()) if parts else None

    def hits(self) -> dict[str, float | None]:
        """Prompt tokens found in the cache and looked up there, and their share: of the last report if need be."""
        for names in _HITS:
            found, asked = (self.counter((name,)) for name in names)
            if (
                rate := _ratio(found, asked)
            ) is not None:  # read while it counts, a page may have more hits than prompts
                return {"found": found, "looked_up": asked, "prefix_hit_rate": min(1.0, rate)}
        last = self.gauge(_LAST_HIT_RATE, max)
        return {"prefix_hit_rate": None if last is None else min(1.0, last)}

    def drafts(self) -> dict[str, float | None]:
        """Speculative decoding: tokens of a step of one sequence, and the share of the drafted ones that were taken."""
        taken = self.counter(("spec_decode_num_accepted_tokens_total",))
        each = _ratio(taken, self.counter(("spec_decode_num_drafts_total",)))
        accepted = _ratio(taken, self.counter(("spec_decode_num_draft_tokens_total",)))
        if each is not None:
            return {"tokens_per_step": 1.0 + each, "accepted": accepted}
        names = {"tokens_per_step": "spec_accept_length", "accepted": "spec_accept_rate"}
        return {field: self.gauge((name,), min) or None for field, name in names.items()}  # 0 where nothing is drafted

    def pool_in_labels(self) -> float | None:
        """Where vLLM states the size of its pool."""
        sizes = []
        for labels in map(dict, self.found.get("cache_config_info", {})):
            with suppress(KeyError, ValueError, OverflowError):  # of hybrid models the product is not the size
                size = labels.get("kv_cache_size_tokens")
                sizes.append(float(size or int(labels["num_gpu_blocks"]) * int(labels["block_size"])))
        sizes = [size for size in sizes if 0 <= size <= _MOST]
        return sum(sizes) if sizes else None

    def replicas(self) -> int:
        """How many data-parallel parts speak."""
        parts = self.parts(_GAUGES["running"]) or self.parts(_USAGE)
        return max(1, len({frozenset(item for item in labels if item[0] != "priority") for labels in parts}))

    def histogram(self, names: Iterable[str]) -> Histogram | None:
        """The first of these histograms that has observations."""
        every = [found for name in names if (found := self._histogram(name))]
        return next((found for found in every if found.count), every[0] if every else None)

    def _histogram(self, name: str) -> Histogram | None:
        """Per part the rank that saw most, the parts added up bucket by bucket."""
        sums = self.found.get(f"{name}_seconds_sum", {})
        parts: dict[Labels, tuple[dict[float, float], float]] = {}
        for labels, buckets in _bounds(self.found.get(f"{name}_seconds_bucket", {})).items():
            if math.inf not in buckets or labels not in sums:
                raise _refused(f"a text that is cut off: its histogram {name}_seconds is not complete")
            known = all(0 <= value <= _MOST for value in buckets.values())
            part, seen = _part(labels), buckets[math.inf]
            if known and (part not in parts or seen > parts[part][0][math.inf]):
                parts[part] = buckets, sums[labels]
        return _added(list(parts.values())) if parts else None


def _added(parts: list[tuple[dict[float, float], float]]) -> Histogram:
    """Histograms added over the bounds that all of them have."""
    bounds = sorted(set.intersection(*(set(buckets) for buckets, _ in parts)))
    counts: list[float] = []
    for bound in bounds:
        up_to = sum(buckets[bound] for buckets, _ in parts)
        counts.append(max([up_to, *counts[-1:]]))  # read while it counts, a page may be a step behind itself
    return Histogram(tuple(zip(bounds, counts, strict=True)), counts[-1], sum(total for _, total in parts))
