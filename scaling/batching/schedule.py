"""The clock: an arrival, the end of a step or of a transfer is an event; after each, idle servers plan a step."""

import heapq
import math
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count as numbers
from typing import TypeAlias

from scaling._array import plain
from scaling._checks import finite, share, shown, whole
from scaling.batching.policies import PLANS, POLICIES, Job, Limits, Plan, Server
from scaling.batching.records import Request, RequestTimes, Span, Step, Timeline

StepSeconds: TypeAlias = Callable[[int, int, int], float]
TransferSeconds: TypeAlias = Callable[[int], float]

_MOST_STEPS = 100_000


def timeline(
    requests: Sequence[Request],
    *,
    policy: str,
    step_time: StepSeconds,
    max_batch: int,
    pool: float = math.inf,
    chunk: float = 8192,
    transfer_time: TransferSeconds | None = None,
    reserve: float = 0.7,
) -> Timeline:
    """Who runs when, under one of `POLICIES`. First come, first served: nobody overtakes one that has to wait for room.

    ``static``: a batch of what has arrived, prefilled in one step; all its places are kept, and cost, until the
    longest is done.

    ``continuous``: SGLang's default. Prefill goes first, a long prompt's chunks back to back; running requests wait.
    A newcomer needs room for all that it will hold, beside what the running ones hold and `reserve` of what they may
    still add. When the pool is full, the request with the fewest output tokens (among those, the longest prompt) is
    retracted: it goes to the end of the queue, and its prompt and output are prefilled again.

    ``chunked``: vLLM V1; SGLang's mixed chunks share a step alike. A step has a budget of `chunk` tokens: one for each
    running request, the rest for prompts. A newcomer needs room for its prompt. When the pool is full, the last to come
    is preempted: it goes to the front of the queue, and its prompt and output are prefilled again.

    ``disaggregated``: one server prefills, one link moves one cache after the other, another server decodes. A prompt
    starts when the decode server has room for all that the request will hold (SGLang: for 512 output tokens), so nobody
    is thrown out. The first token is made by the prefill server, and seen when the cache has arrived.

    `step_time`: seconds of a step with so many prompt tokens, decoding sequences, and cached tokens that it reads
    (those of the decoding sequences, and the earlier chunks of a prompt). [s]
    `max_batch`: most requests on a server; for disaggregated, on the decode server. [sequences]
    `pool`: what the cache of one server holds. [tokens]
    `chunk`: most prompt tokens of a prefill step, and all tokens of a chunked one; static does not ask. [tokens]
    `transfer_time`: seconds to move a prompt of so many tokens; none if not given. Disaggregated only. [s]
    `reserve`: SGLang's new-token ratio. It starts at 0.7 and sinks to 0.1 within 600 decode steps; here it is constant.
    With 1 nobody is ever retracted, as in Mini-SGLang. Continuous only. [-]

    Of requests that are all there at the start, with a prefill time proportional to its tokens, nobody thrown out, and
    a decode time that grows with the batch and adds a fixed time per cached token, ``continuous`` gives the last token
    no later than ``static``. A single request can be later, since it waits for the prefill of others; and a cost per
    prefill step, of which there are more, or arrivals in the middle of a step, can turn the order round.

    Leaves out pages, shared prefixes, and the time that scheduling takes: errs low.

    Raises ``ValueError`` for an unknown policy, a request that the pool cannot hold even alone, a chunk too small for a
    token of each running request, more steps than a picture can show, or a number that is none.
    Source: the schedulers of SGLang 0.5.23, vLLM 0.33.0 and Mini-SGLang (2026-03).
    """
    if policy not in POLICIES:
        raise ValueError(f"policy must be one of {', '.join(POLICIES)}, not {shown(policy)}.")
    if not callable(step_time):
        raise ValueError(f"step_time must be a function of three counts that gives seconds, not {shown(step_time)}.")
    if transfer_time is not None and not callable(transfer_time):
        raise ValueError(f"transfer_time must be a function of a count that gives seconds, not {shown(transfer_time)}.")
    if not isinstance(requests, Sequence) or not requests or not all(isinstance(r, Request) for r in requests):
        raise ValueError(f"requests must be a list of one Request or more, not {shown(requests)}.")
    if getattr(reserve, "ndim", 0):
        raise ValueError(f"reserve must be a single share, not {shown(reserve)}.")
    limits = Limits(
        max_batch=whole("max_batch", max_batch),
        pool=_most("pool", pool),
        chunk=_most("chunk", chunk),
        reserve=share("reserve", reserve),
    )
    largest = max(r.size for r in requests)
    if largest > limits.pool:
        raise ValueError(f"pool must hold the largest request, {largest} tokens at its end, not {shown(pool)}.")
    if policy == "chunked" and limits.chunk < limits.max_batch:
        raise ValueError(
            f"chunk must be at least max_batch ({max_batch}), a token of each running request, not {chunk}."
        )
    if sum(r.output + r.prompt / limits.chunk for r in requests) > _MOST_STEPS:
        raise ValueError(f"requests must need at most {_MOST_STEPS:,} steps: a timeline is for a few of them.")
    return _Run(tuple(requests), policy, limits, step_time, transfer_time).timeline()


def _most(name: str, value: float) -> float:
    return math.inf if value == math.inf else whole(name, value)


class _Run:
    """One schedule in the making."""

    def __init__(
        self,
        requests: tuple[Request, ...],
        policy: str,
        limits: Limits,
        step_time: StepSeconds,
        transfer_time: TransferSeconds | None,
    ) -> None:
        self.requests, self.policy, self.step_time, self.transfer_time = requests, policy, step_time, transfer_time
        self.queue: deque[Job] = deque()
        self.servers = {name: Server(limits, self.queue) for name in PLANS[policy]}
        if policy == "disaggregated":
            self.servers["prefill"].peer = self.servers["decode"]
        self.now = self.link_free = 0.0
        self.busy: dict[str, Plan] = {}
        self.steps: list[Step] = []
        self.events: list[tuple[float, int, Callable[[], None]]] = []
        self.order = numbers()

    def at(self, time: float, act: Callable[[], None]) -> None:
        """Do `act` at `time`; what falls on the same time is done in the order it was asked for."""
        heapq.heappush(self.events, (time, next(self.order), act))

    def timeline(self) -> Timeline:
        """Let the clock run until nothing is left to happen."""
        jobs, peak = [Job(request, index) for index, request in enumerate(self.requests)], 0
        for job in jobs:
            self.at(job.request.arrival, partial(self.queue.append, job))
        while self.events:
            self.now = self.events[0][0]
            while self.events and self.events[0][0] == self.now:
                heapq.heappop(self.events)[2]()
            for name, server in self.servers.items():
                server.now = self.now
                if name not in self.busy and (plan := PLANS[self.policy][name](server)):
                    self.start(name, plan)
            peak = max(peak, *(s.held + sum(n for _, n in self.busy.get(name, ())) for name, s in self.servers.items()))
        times = [RequestTimes(j.request.arrival, tuple(j.times), tuple(j.preempted), j.recomputed) for j in jobs]
        spans = [span for job in jobs for span in _without_gaps(job)]
        return Timeline(self.policy, self.requests, tuple(times), tuple(spans), tuple(self.steps), peak)

    def start(self, server: str, plan: Plan) -> None:
        """Begin a step."""
        numbers = (
            sum(tokens for job, tokens in plan if not job.decoding),
            sum(job.decoding for job, _ in plan),
            sum(job.cached for job, _ in plan),
        )
        seconds = finite("step_time", plain(self.step_time(*numbers)))
        step = Step(self.now, self.now + seconds, server, *numbers)
        self.steps.append(step)
        self.busy[server] = plan
        self.at(step.end, partial(self.finish, step))

    def finish(self, step: Step) -> None:
        """End a step: its tokens are in the cache, and whoever has none left to process gets an output token."""
        for job, tokens in self.busy.pop(step.server):
            kind = "prefill" if not job.decoding else step.kind if job.left else "held"
            job.spans.append(Span(step.start, step.end, kind, job.index, tokens, step.server))
            job.cached += tokens
            if not job.due:
                if self.policy == "disaggregated" and not job.decoding:
                    self.transfer(job)
                else:
                    self.token(job)

    def token(self, job: Job) -> None:
        """An output token comes."""
        job.times.append(self.now)
        job.decoding = True

    def transfer(self, job: Job) -> None:
        """Send the cache of a prompt over the link, once that is free."""
        tokens, seconds = job.request.prompt, 0.0
        if self.transfer_time is not None:
            seconds = finite("transfer_time", plain(self.transfer_time(tokens)))
        start = max(self.now, self.link_free)
        self.link_free = start + seconds
        job.spans.append(Span(start, self.link_free, "transfer", job.index, tokens, "link"))
        self.at(self.link_free, partial(self.land, job))

    def land(self, job: Job) -> None:
        """A cache has arrived: the first token is seen, and the prefill server has its room back."""
        self.servers["prefill"].running.remove(job)
        self.token(job)
        if not job.left:
            self.servers["decode"].landing.remove(job)


def _without_gaps(job: Job) -> list[Span]:
    """The spans of a job, with a wait wherever there was nothing."""
    spans, now = [], job.request.arrival
    for span in job.spans:
        if span.start > now:
            spans.append(Span(now, span.start, "wait", job.index, 0, span.server))
        spans.append(span)
        now = span.end
    return spans
