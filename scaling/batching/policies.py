"""Who takes part in the next step: one short function a policy, with the rules of the engines."""

from collections import deque
from collections.abc import Callable, Mapping
from typing import TypeAlias

from scaling.batching.records import Request, Span


# `Job`, `Limits` and `Server` are plain classes: `dataclass` writes and compiles methods that nobody here calls, and
# every ``import scaling`` would wait for them.
class Job:
    """A request on its way."""

    def __init__(self, request: Request, index: int) -> None:
        self.request, self.index = request, index
        self.cached = self.recomputed = 0
        self.decoding = False
        self.preempted: list[float] = []
        self.times: list[float] = []
        self.spans: list[Span] = []

    @property
    def due(self) -> int:
        """Tokens to process before its next token comes: 1 while it decodes, all of them after a preemption."""
        return self.request.prompt + len(self.times) - self.cached

    @property
    def left(self) -> int:
        """Output tokens still to come."""
        return self.request.output - len(self.times)


class Limits:
    """What a policy may not exceed: see `scaling.batching.timeline`."""

    def __init__(self, *, max_batch: int, pool: float, chunk: float, reserve: float) -> None:
        self.max_batch, self.pool, self.chunk, self.reserve = max_batch, pool, chunk, reserve


# The jobs of one step, and how many tokens each puts into the cache.
Plan: TypeAlias = list[tuple[Job, int]]


class Server:
    """One pool of cache, and the requests that have tokens in it."""

    now: float  # the schedule sets the clock before it asks for a plan

    def __init__(self, limits: Limits, queue: deque[Job]) -> None:
        self.limits, self.queue = limits, queue
        self.running: list[Job] = []
        self.landing: list[Job] = []  # room is kept for their caches, which come from another server
        self.peer: Server | None = None  # the server that room is kept on

    @property
    def held(self) -> int:
        """Tokens in the cache, and room kept for prompts on their way."""
        return sum(job.cached for job in self.running) + sum(job.request.prompt for job in self.landing)

    def admit(self) -> Job:
        """Take the first of the queue."""
        self.running.append(self.queue.popleft())
        return self.running[-1]

    def drop_finished(self) -> None:
        """Forget what is finished: an engine keeps such tokens only as long as nobody needs the room."""
        self.running = [job for job in self.running if job.left]

    def preempt(self, job: Job) -> None:
        """Throw all its tokens out of the cache: prompt and output so far will be prefilled again."""
        self.running.remove(job)
        job.preempted.append(self.now)
        job.recomputed += job.cached
        job.cached, job.decoding = 0, False


def static(server: Server) -> Plan:
    """A batch of what has arrived; all its places are kept until the longest is done."""
    if any(job.left for job in server.running):
        return [(job, min(1, job.left)) for job in server.running]
    server.running, room = [], server.limits.pool
    while server.queue and len(server.running) < server.limits.max_batch and server.queue[0].request.size <= room:
        room -= server.admit().request.size
    return [(job, job.due) for job in server.running]


def continuous(server: Server) -> Plan:
    """Prefill if there is any to do, else decode; with a full pool, retract whoever has the fewest output tokens."""
    limits = server.limits
    server.drop_finished()

    def promised(job: Job) -> float:
        """Of one that runs, what it holds and a share of what it may still add; of one still in prefill, all."""
        return job.cached + limits.reserve * job.left if job.decoding else job.request.size

    def fits(job: Job) -> bool:
        taken = sum(map(promised, server.running))
        return len(server.running) < limits.max_batch and taken + job.request.size <= limits.pool

    if plan := _prefill(server, fits):
        return plan
    while server.held + len(server.running) > limits.pool:
        victim = min(reversed(server.running), key=lambda job: (len(job.times), -job.request.prompt))
        server.preempt(victim)
        server.queue.append(victim)
    return [(job, 1) for job in server.running]


def _prefill(server: Server, fits: Callable[[Job], bool]) -> Plan:
    """Prompts up to one chunk: first the one that was cut, then newcomers in order. Only the last is cut."""
    plan, budget = [], server.limits.chunk
    unfinished = [job for job in server.running if not job.decoding and job.due]
    while budget > 0 and (unfinished or (server.queue and fits(server.queue[0]))):
        job = unfinished.pop(0) if unfinished else server.admit()
        plan.append((job, int(min(job.due, budget))))
        budget -= plan[-1][1]
    return plan


def chunked(server: Server) -> Plan:
    """One budget of tokens: running requests first, newcomers with the rest; with a full pool, preempt the last."""
    limits, plan, budget = server.limits, [], server.limits.chunk
    server.drop_finished()
    used = server.held
    for job in list(server.running):
        tokens = int(min(job.due, budget))
        while job in server.running and used + tokens > limits.pool:
            used -= server.running[-1].cached
            server.queue.appendleft(server.running[-1])
            server.preempt(server.running[-1])
        if job in server.running:
            plan.append((job, tokens))
            used, budget = used + tokens, budget - tokens
    # Whoever has just been thrown out is first in the queue, and does not fit: it needs more than the room it gave.
    while server.queue and budget > 0 and len(server.running) < limits.max_batch:
        if used + server.queue[0].due > limits.pool:
            break
        job = server.admit()
        plan.append((job, int(min(job.due, budget))))
        used, budget = used + plan[-1][1], budget - plan[-1][1]
    return plan


def prefill_server(server: Server) -> Plan:
    """Prompts in order; one starts when the decode server has room for all that it will hold there, and keeps it."""
    decode = server.peer or server

    def fits(job: Job) -> bool:
        promised = {*server.running, *decode.landing, *decode.running}
        return sum(j.request.size for j in promised if j.left) + job.request.size <= server.limits.pool

    plan = _prefill(server, fits)
    decode.landing += [job for job, _ in plan if job not in decode.landing]
    return plan


def decode_server(server: Server) -> Plan:
    """A token for each request whose cache has arrived, as far as there are places."""
    server.drop_finished()
    arrived = [job for job in server.landing if job.decoding]
    for job in arrived[: server.limits.max_batch - len(server.running)]:
        server.landing.remove(job)
        server.running.append(job)
    return [(job, 1) for job in server.running]


# The servers of each policy, and who plans their steps.
PLANS: Mapping[str, Mapping[str, Callable[[Server], Plan]]] = {
    "static": {"server": static},
    "continuous": {"server": continuous},
    "chunked": {"server": chunked},
    "disaggregated": {"prefill": prefill_server, "decode": decode_server},
}
POLICIES = tuple(PLANS)
