"""What a server measures, set against the roofline, and what to change."""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from scaling._checks import in_line, shown
from scaling.deployment import ROOFLINE, Deployment
from scaling.engines.metrics import Metrics
from scaling.engines.pool import chip_token_bytes, weights_on_chip
from scaling.engines.rules import Engine, as_run
from scaling.engines.sglang import SGLANG
from scaling.engines.vllm import VLLM
from scaling.latency import decode_step, prefill_floor, prefill_time
from scaling.throughput import balanced_batch, plateau
from scaling.units import ms

# Chapters that explain a finding.
MEMORY, LATENCY, THROUGHPUT = "02_memory.ipynb", "03_latency.ipynb", "04_throughput.ipynb"
PREFILL, SERVING = "07_prefill_disaggregation.ipynb", "09_sglang.ipynb"

# Thresholds. Each says how far from the roofline a value may lie for reasons that it leaves out.

#: Engines reach 60 to 80 % of the bandwidth and launch kernels on top: a step takes up to twice its roofline.
SLOW_STEP = 2.0
#: Steps that are all slow have a mean near their median; half as long again is what single ones add.
SKEWED = 1.5
#: Prefill reaches 40 to 60 % of the FLOP/s, and a request waits for the step that runs: four times it is usual.
SLOW_FIRST_TOKEN = 4.0
#: Nobody notices a first token that comes sooner than this. [s]
FAST_FIRST_TOKEN = 0.2
#: A tenth of the pool is turnover; beyond this, requests wait for others to finish or are thrown out.
FULL_POOL = 0.9
#: A queue of a tenth of the running requests comes and goes with the arrivals.
LONG_QUEUE = 0.1
#: One request in a hundred that is processed twice costs a hundredth of the prefill.
RETRACTED = 0.01
#: Ten per cent above the critical batch is within the error of where it lies.
OVER_BALANCE = 1.1
#: A batch below a tenth of what is useful leaves nine tenths of the throughput unused.
UNDER_USED = 0.1
#: Below a twentieth the prefix cache does nothing, which matters for prompts long enough to share a part. [tokens]
FEW_HITS, LONG_PROMPT = 0.05, 1024
#: The embeddings that a step does not read, rounded data sheets and boost clocks beat a floor by less than this.
BEATEN = 0.95


class Finding(NamedTuple):
    """One thing that stands out: a `measured` value and what it is set `against`, both in `unit`; what to do.

    `advice` is one sentence, `see` the file of the chapter, `severity` how far the value is beyond its threshold.
    """

    what: str
    measured: float
    against: float
    unit: str
    advice: str
    see: str
    severity: float

    def __str__(self) -> str:
        numbers = ""
        if not math.isnan(self.measured):
            numbers = f": {in_words(self.measured, self.unit)} against {in_words(self.against, self.unit)}"
        return f"{self.what}{numbers}. {self.advice} (See {self.see}.)"


def in_words(value: float, unit: str) -> str:
    """A value with its unit, for a sentence."""
    if unit == "s":
        return f"{value:.3g} s" if value >= 1 else f"{value / ms:.3g} ms"
    if unit == "share":
        return f"{value:.1%}"
    return f"{value:,.0f} {unit}".rstrip()


class _View(NamedTuple):
    """A page as one replica of the deployment sees it, at the roofline."""

    d: Deployment
    m: Metrics
    batch: float
    context: float

    @property
    def step(self) -> float:
        """A decode step of the running batch on the serial roofline. [s]"""
        return float(decode_step(self.d, max(1.0, self.batch), self.context).total)

    @property
    def floor(self) -> float:
        """A token of the running batch that no schedule gives sooner: several come of a step when drafts are right."""
        return float(decode_step(self.d, max(1.0, self.batch), self.context).floor) / self.per_step

    @property
    def per_step(self) -> float:
        return max(1.0, self.m.tokens_per_step or 1.0)

    @property
    def engine(self) -> Engine:
        return SGLANG if self.m.engine == "sglang" else VLLM

    @property
    def pool(self) -> float | None:
        return None if self.m.pool_tokens is None else self.m.pool_tokens / self.m.replicas

    @property
    def room(self) -> float:
        """Sequences as long as those running that memory could hold."""
        if self.m.cache_usage:
            return self.batch / self.m.cache_usage
        return self.pool / self.context if self.pool and self.context else math.inf

    @property
    def tpot(self) -> float | None:
        """Seconds a token of one sequence: the mean, or else what batch and throughput say."""
        if self.m.tpot is not None and self.m.tpot.mean > 0:
            return self.m.tpot.mean
        return self.m.running / self.m.throughput if self.m.running and self.m.throughput else None

    @property
    def more_memory(self) -> str:
        narrow = self.d.kv_per_token <= self.d.model.kv_bytes_per_token("fp8") * self.d.kv_copies
        return (
            "use more chips"
            if narrow
            else f"store the cache in FP8 ({self.engine.cache} {self.engine.kv_word('fp8')}), or use more chips"
        )


def diagnose(d: Deployment, metrics: Metrics) -> tuple[Finding, ...]:
    """What stands out on a metrics page of deployment `d`: mismatches, then causes, then what follows; never empty.

    Each measured value is set against the roofline of one replica, whatever the efficiency of `d`, in the arithmetic
    that the engine does: the time of a step against `decode_step` at the running batch and its mean context, the time
    to the first token against `prefill_time` of the prompt tokens that were not cached, without attention: beyond some
    8,192 tokens the comparison takes a prompt's own arithmetic for delay. A value that beats its floor is a mismatch:
    the server is not the one described. Latencies are means since the start, the batch is the one of now: read the page
    under a steady load, or give the difference of two, see `Metrics.since`.

    Raises ``ValueError`` for anything but a `Deployment` and `Metrics`.
    """
    for name, value, kind in (("d", d, Deployment), ("metrics", metrics, Metrics)):
        if not isinstance(value, kind):
            raise ValueError(f"{name} must be a {kind.__name__} record, not {shown(value)}.")
    engine = SGLANG if metrics.engine == "sglang" else VLLM
    d = as_run(engine, replace(d, efficiency=ROOFLINE))
    view = _View(d, metrics, (metrics.running or 0.0) / metrics.replicas, metrics.mean_context or 0.0)
    ranked = [
        (rank, -finding.severity, finding)
        for rank, looks in enumerate(_LOOKS)
        for look in looks
        if (finding := look(view))
    ]
    return tuple(finding for _, _, finding in sorted(ranked, key=lambda one: one[:2])) or (_nothing(view),)


def _mismatch(what: str, measured: float, floor: float, unit: str, advice: str, see: str) -> Finding:
    """First of all findings: while the description is wrong, all other findings mean nothing."""
    return Finding(f"Mismatch, {what}", measured, floor, unit, advice, see, math.inf)


def _other_model(v: _View) -> Finding | None:
    said = re.findall(r"(?<![\w.])(\d+(?:\.\d+)?)[bB](?![a-zA-Z])", v.m.model or "")
    named, described = (float(said[0]) if len(said) == 1 else 0.0), v.d.model.nominal_params / 1e9
    # Names are rounded, 8B for 8.03, and a name of one's own has no size in it.
    if not named or abs(named / described - 1) < 0.1 or v.m.model in v.d.model.checkpoints.values():
        return None
    advice = f"The page is of {in_line(v.m.model or '', 60)}, not of {v.d.model.name}: describe what serves it."
    return _mismatch("billion parameters by name", named, described, "", advice, MEMORY)


def _too_long(v: _View) -> Finding | None:
    window = float(v.d.model.context_window)
    if v.context <= window / BEATEN:
        return None
    advice = (
        f"No sequence of {v.d.model.name} grows that long, so the page is of another model, or what is in use is not "
        "the running requests' alone."
    )
    return Finding(
        "Tokens of a running request, beyond the window", v.context, window, "tokens", advice, MEMORY, math.inf
    )


def _too_fast(v: _View) -> Finding | None:
    measured, floor = v.tpot, float(decode_step(v.d, 1, 0).floor) / v.per_step
    if measured is None or measured >= BEATEN * v.floor:
        return None
    if measured < BEATEN * floor:
        advice = (
            "Not even the weights can be read that fast, so the server is not the one described: check chips, chip and "
            "dtype of the weights."
        )
        return _mismatch("time per output token", measured, floor, "s", advice, LATENCY)
    advice = (
        "The running batch cannot be decoded that fast: either it was smaller before, as the mean counts from "
        "the start, or chips, chip or dtypes are not as described."
    )
    return Finding("Mismatch, time per output token", measured, v.floor, "s", advice, LATENCY, v.floor / measured)


def _too_soon(v: _View) -> Finding | None:
    ttft, tokens = v.m.ttft, _uncached(v)
    # The means are of the same requests only if nearly all are in both.
    if tokens is None or ttft is None or not 0.5 <= ttft.count / (v.m.prompts or math.inf) <= 2:
        return None
    floor = float(prefill_floor(v.d, tokens))
    if ttft.mean >= BEATEN * floor:
        return None
    advice = (
        "Prompts of that length cannot be processed that fast, so the server is not the one described: check chips, "
        "chip and dtype of the arithmetic."
    )
    return _mismatch("time to first token", ttft.mean, floor, "s", advice, LATENCY)


def _too_much(v: _View) -> Finding | None:
    measured, most = v.m.throughput, float(plateau(v.d, v.context, overlapped=True)) * v.per_step * v.m.replicas
    if not measured or measured * BEATEN <= most:
        return None
    advice = (
        "No batch of this context gives that many tokens a second, so the server is not the one described: check "
        "chips, replicas and dtypes."
    )
    return _mismatch("throughput", measured, most, "token/s", advice, THROUGHPUT)


def _too_large(v: _View) -> Finding | None:
    room = max(0.0, v.d.chip.device_memory - weights_on_chip(v.d)) / chip_token_bytes(v.d)
    if v.pool is None or v.pool * BEATEN <= room:
        return None
    advice = (
        "The chips described cannot hold such a pool beside the weights: check chips and chip, and whether weights and "
        "cache take fewer bytes than described."
    )
    return _mismatch("size of the KV pool", v.pool, room, "tokens", advice, MEMORY)


def _retracted(v: _View) -> Finding | None:
    share = v.m.retractions / v.m.started if v.m.retractions and v.m.started else 0.0
    if share < RETRACTED:
        return None
    advice = (
        f"The pool runs full, and requests that lose their cache are processed again: lower {v.engine.cap} below "
        f"{max(1.0, v.batch):,.0f}, or {v.more_memory}."
    )
    return Finding("Requests thrown out of the cache", share, 0.0, "share", advice, MEMORY, share / RETRACTED)


def _full(v: _View) -> Finding | None:
    usage, waiting = v.m.cache_usage or 0.0, v.m.waiting or 0.0
    if usage < FULL_POOL:
        return None
    advice = (
        f"Memory limits the batch to about {v.room:,.0f} sequences of the present length, and {waiting:,.0f} requests "
        f"wait: {v.more_memory}, or raise {v.engine.memory} if memory stays free."
    )
    severity = usage / FULL_POOL + waiting / max(1.0, v.m.running or 0.0)
    return Finding("Use of the KV pool", usage, 1.0, "share", advice, MEMORY, severity)


def _queue(v: _View) -> Finding | None:
    waiting, running = v.m.waiting or 0.0, v.m.running
    if running is None or (v.m.cache_usage or 0.0) >= FULL_POOL or waiting <= LONG_QUEUE * running:
        return None
    balanced = float(balanced_batch(v.d))
    though = "" if v.m.cache_usage is None else " though the pool has room for more"
    advice = (
        f"They wait{though}: raise {v.engine.cap} if it is reached; if not, prefill does not keep up, and needs more "
        "chips, fewer tokens or servers of its own."
    )
    if v.batch >= balanced:
        advice = "The batch is past the critical one, where a larger one is no faster: add replicas."
    spare, severity = max(0.0, min(v.room, balanced) - v.batch), waiting / max(1.0, LONG_QUEUE * running)
    return Finding("Requests waiting", waiting / v.m.replicas, spare, "sequences", advice, PREFILL, severity)


def _uncached(v: _View) -> float | None:
    """Tokens of the mean prompt, less what the prefix cache had of it."""
    if not v.m.mean_prompt or v.m.ttft is None or not v.m.ttft.mean > 0:
        return None
    return v.m.mean_prompt * (1.0 - min(1.0, v.m.prefix_hit_rate or 0.0))


def _first_token(v: _View) -> Finding | None:
    tokens, ttft = _uncached(v), v.m.ttft
    if tokens is None or ttft is None:
        return None
    roofline = float(prefill_time(v.d, tokens))
    slow = ttft.mean / max(roofline, FAST_FIRST_TOKEN / SLOW_FIRST_TOKEN) / SLOW_FIRST_TOKEN
    if slow <= 1:
        return None
    why = "Prefill is slow, or waits for decode steps"
    if v.m.queue is not None and v.m.queue.count:
        if v.m.queue.mean > ttft.mean / 2:
            why = f"{in_words(v.m.queue.mean, 's')} of it are spent in the queue"
    elif v.m.waiting:
        why = "Requests wait in the queue"
    advice = f"{why}: give prefill more chips or servers of its own, or find more of the prompts in the prefix cache."
    return Finding("Time to first token, mean", ttft.mean, roofline, "s", advice, PREFILL, slow)


def _hits(v: _View) -> Finding | None:
    rate, slow = v.m.prefix_hit_rate, _first_token(v)
    if rate is None or rate >= FEW_HITS or slow is None or (v.m.mean_prompt or 0.0) < LONG_PROMPT:
        return None
    advice = (
        "Hardly any of the long prompts is found in the prefix cache: put first what they share, and see that "
        f"{v.engine.prefix}."
    )
    return Finding("Prompt tokens found in the cache", rate, 1.0, "share", advice, SERVING, slow.severity / 2)


def _token(v: _View) -> Finding | None:
    roofline = v.step / v.per_step
    if v.tpot is None or not v.batch or v.tpot <= SLOW_STEP * roofline:
        return None
    median, see = v.m.tpot.quantile(0.5) if v.m.tpot is not None else math.nan, LATENCY
    advice = (
        f"All steps are slow, which memory does not explain: see that {v.engine.graphs} and that the links are those "
        "described, or try fewer ways of tensor parallelism."
    )
    if v.per_step > 1:
        taken = "" if v.m.accepted is None else f", of which {in_words(v.m.accepted, 'share')} are right"
        advice = f"Each step also drafts tokens{taken}, and checks them: compare with fewer drafts, and with none."
    elif median <= v.tpot / SKEWED:
        see = PREFILL
        advice = (
            f"The median is {in_words(median, 's')}, so it is single steps that are held up, as by prefill between "
            f"them: try {v.engine.mixed}."
        )
    at = f" at {v.batch:,.0f} sequences of {v.context:,.0f} tokens" if v.context else ""
    each = f", {v.per_step:.3g} a step" if v.per_step > 1 else ""
    severity = v.tpot / roofline / SLOW_STEP
    return Finding(f"Time per output token{each}, mean{at}", v.tpot, roofline, "s", advice, see, severity)


def _batch(v: _View) -> Finding | None:
    balanced = float(balanced_batch(v.d))
    useful = min(balanced, v.room)
    if v.batch > OVER_BALANCE * balanced:
        advice = (
            "Arithmetic takes longer than reading the weights, so more sequences give no more tokens a second, only "
            f"later ones: where that matters, lower {v.engine.cap} to {math.ceil(balanced):,} and add replicas."
        )
        severity = v.batch / (OVER_BALANCE * balanced)
        return Finding("Running batch", v.batch, balanced, "sequences", advice, THROUGHPUT, severity)
    if v.m.waiting or not 0 < v.batch < UNDER_USED * useful:
        return None
    advice = (
        "Each step reads all the weights for few sequences: send more requests here, or serve these with fewer chips "
        "if the time per token allows."
    )
    return Finding("Running batch", v.batch, useful, "sequences", advice, THROUGHPUT, UNDER_USED * useful / v.batch)


def _nothing(v: _View) -> Finding:
    measured = math.nan if v.tpot is None or not v.batch else v.tpot
    advice = "What the page tells lies no further from the roofline than usual: keep it to compare with."
    what = "Nothing stands out" if math.isnan(measured) else "Nothing stands out; time per output token"
    return Finding(what, measured, v.step, "s", advice, SERVING, 0.0)


# In the order of what has to be settled first: whether the page is this server's, why it is slow, how slow it is.
_LOOKS: tuple[tuple[Callable[[_View], Finding | None], ...], ...] = (
    (_other_model, _too_long, _too_fast, _too_soon, _too_much, _too_large),
    (_retracted, _full, _batch),
    (_queue, _first_token, _hits, _token),
)
