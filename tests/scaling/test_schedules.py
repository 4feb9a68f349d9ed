"""Laws of every schedule: whatever the requests, the limits and the times of a step. All times are whole numbers."""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import pytest
from hypothesis import given, strategies as st

from scaling.batching import POLICIES, Request, Span, Timeline, timeline

ONE_SERVER = ("static", "continuous", "chunked")
WORK = ("prefill", "decode", "mixed")

policies = st.sampled_from(POLICIES)


class Case(NamedTuple):
    """Requests and limits; the times of a step are `fixed` for any, and so much for each of the three counts."""

    requests: tuple[Request, ...]
    max_batch: int
    pool: float
    chunk: float
    reserve: float
    costs: tuple[int, int, int, int]
    link: int

    def step_time(self, prefill_tokens: int, decode_batch: int, cached_tokens: int) -> float:
        fixed, *each = self.costs
        return fixed + sum(c * n for c, n in zip(each, (prefill_tokens, decode_batch, cached_tokens), strict=True))

    def run(self, policy: str, **other: Any) -> Timeline:
        options: dict[str, Any] = {"step_time": self.step_time, "transfer_time": lambda tokens: self.link * tokens}
        options |= {name: getattr(self, name) for name in ("max_batch", "pool", "chunk", "reserve")}
        options |= {"requests": self.requests} | other
        return timeline(options.pop("requests"), policy=policy, **options)


@st.composite
def cases(draw: st.DrawFn, *, together: bool = False, crowded: bool | None = None) -> Case:
    """`together`: all are there at the start. `crowded`: the pool is finite, and often full."""
    arrivals = st.just(0.0) if together else st.integers(0, 60).map(float)
    requests = st.builds(Request, prompt=st.integers(1, 20), output=st.integers(1, 9), arrival=arrivals)
    some = tuple(draw(st.lists(requests, min_size=1, max_size=7)))
    max_batch = draw(st.integers(1, 5))
    largest = max(r.size for r in some)
    crowded = draw(st.booleans()) if crowded is None else crowded
    return Case(
        requests=some,
        max_batch=max_batch,
        pool=draw(st.integers(largest, 2 * largest)) if crowded else math.inf,
        chunk=draw(st.integers(max_batch, 30) | st.just(math.inf)),
        reserve=draw(st.sampled_from([0.01, 0.3, 0.7, 1.0])),
        costs=draw(st.tuples(st.integers(1, 9), st.integers(1, 3), st.integers(0, 3), st.integers(0, 1))),
        link=draw(st.integers(0, 3)),
    )


def spans_of(t: Timeline, index: int) -> list[Span]:
    return [span for span in t.spans if span.request == index]


def work_of(t: Timeline, index: int) -> list[Span]:
    return [span for span in spans_of(t, index) if span.kind in WORK]


def cached(t: Timeline, index: int, now: float) -> int:
    """Tokens that a request has in the cache once the step that starts now is under way, as its spans tell it."""
    spans, since = spans_of(t, index), max((p for p in t.times[index].preempted if p <= now), default=0.0)
    return sum(s.tokens for s in spans if since <= s.start <= now) if spans[-1].end > now else 0


# Every schedule ------------------------------------------------------------------------------------------------------


def no_token_before_its_prefill(case: Case, t: Timeline) -> None:
    """Whoever decodes has all its prompt and all its earlier output in the cache, also after a preemption."""
    for index, (request, times) in enumerate(zip(t.requests, t.times, strict=True)):
        cached, made, thrown = 0, 0, [*times.preempted]
        for span in work_of(t, index):
            if thrown and thrown[0] <= span.start:
                thrown, cached = thrown[1:], 0
                assert span.kind == "prefill"
            if span.kind != "prefill":
                assert request.prompt + made - cached == span.tokens == 1
            cached += span.tokens
            assert cached <= request.prompt + made
            if cached == request.prompt + made:
                assert times.tokens[made] == span.end or (t.policy == "disaggregated" and not made)
                assert times.tokens[made] >= span.end
                made += 1
        assert made == request.output == len(times.tokens)


def work_is_conserved(case: Case, t: Timeline) -> None:
    """What is put into the cache is the prompt and all output but the last token, and what was thrown out, again."""
    for index, (request, times) in enumerate(zip(t.requests, t.times, strict=True)):
        work = work_of(t, index)
        assert sum(span.tokens for span in work) == request.size + times.recomputed
        assert bool(times.preempted) == bool(times.recomputed)
        if not times.preempted:
            assert sum(span.kind != "prefill" for span in work) == request.output - 1
        moved = [(s.tokens, s.end - s.start) for s in spans_of(t, index) if s.kind == "transfer"]
        assert moved == [(request.prompt, case.link * request.prompt)] * (t.policy == "disaggregated")


def steps_are_what_requests_do_in_them(case: Case, t: Timeline) -> None:
    for step in t.steps:
        inside = [s for s in t.spans if (s.start, s.end, s.server) == step[:3] and s.kind in (*WORK, "held")]
        assert step.end - step.start == case.step_time(*step[3:])
        if step.start < step.end:
            assert step.prefill_tokens == sum(s.tokens for s in inside if s.kind == "prefill")
            assert step.decode_batch == sum(s.kind != "prefill" for s in inside)
            assert {s.kind for s in inside} - {"prefill", "held"} <= {step.kind}
    assert t.policy == "static" or "held" not in {s.kind for s in t.spans}


def limits_are_kept(case: Case, t: Timeline) -> None:
    for step in t.steps:
        assert step.decode_batch <= case.max_batch
        if t.policy == "chunked":
            assert step.prefill_tokens + step.decode_batch <= case.chunk
        else:
            assert step.kind != "mixed"
            assert t.policy == "static" or step.prefill_tokens <= case.chunk


def memory_is_never_above_the_pool(case: Case, t: Timeline) -> None:
    assert max(r.size for r in t.requests) <= t.peak_tokens <= case.pool
    if t.policy != "disaggregated":
        assert t.peak_tokens == max(sum(cached(t, i, step.start) for i in range(len(t.requests))) for step in t.steps)
    if t.policy in ("static", "disaggregated"):  # these keep room for the end of all that has begun
        begun = [work_of(t, i)[0].start for i in range(len(t.requests))]
        for now in begun:
            inside = [r for r, b, one in zip(t.requests, begun, t.times, strict=True) if b <= now < one.last_token]
            assert sum(r.size for r in inside) <= case.pool


def steps_never_overlap_on_one_server(case: Case, t: Timeline) -> None:
    moves = [span for span in t.spans if span.kind == "transfer"]
    for busy in (*([s for s in t.steps if s.server == name] for name in ("server", "prefill", "decode")), moves):
        assert all(a.end <= b.start for a, b in pairwise(sorted(busy)))
    assert list(t.steps) == sorted(t.steps, key=lambda step: step.start)


def spans_have_no_gaps(case: Case, t: Timeline) -> None:
    """From its arrival on, each request is somewhere, until its last token; only the static ones stay."""
    assert [index for index, _ in groupby(t.spans, lambda span: span.request)] == [*range(len(t.requests))]
    for index, times in enumerate(t.times):
        spans = spans_of(t, index)
        assert spans[0].start == times.arrival == t.requests[index].arrival
        assert all(a.end == b.start for a, b in pairwise(spans))
        assert [s.end for s in spans if s.kind != "held"][-1] == times.last_token
        assert all(s.start < s.end for s in spans if s.kind == "wait")


def a_server_rests_only_when_there_is_nothing_to_do(case: Case, t: Timeline) -> None:
    if t.policy == "disaggregated":
        return
    ends = [min(r.arrival for r in t.requests), *(step.end for step in t.steps)]
    for end, step in zip(ends, t.steps, strict=False):
        if end < step.start:
            assert not any(one.arrival <= end < one.last_token for one in t.times)
            assert any(one.arrival == step.start for one in t.times)


def first_tokens_come_in_the_order_of_arrival(case: Case, t: Timeline) -> None:
    if not any(one.preempted for one in t.times):
        first = [one.first_token for one in sorted(t.times, key=lambda one: one.arrival)]
        assert first == sorted(first)


LAWS: tuple[Callable[[Case, Timeline], None], ...] = (
    no_token_before_its_prefill,
    work_is_conserved,
    steps_are_what_requests_do_in_them,
    limits_are_kept,
    memory_is_never_above_the_pool,
    steps_never_overlap_on_one_server,
    spans_have_no_gaps,
    a_server_rests_only_when_there_is_nothing_to_do,
    first_tokens_come_in_the_order_of_arrival,
)


@pytest.mark.parametrize("policy", POLICIES)
@given(case=cases())
def test_every_schedule_obeys(policy: str, case: Case) -> None:
    t = case.run(policy)
    for law in LAWS:
        law(case, t)


# One schedule and another of the same policy -------------------------------------------------------------------------


@given(policy=policies, case=cases())
def test_alone_it_is_a_prefill_and_a_step_for_each_token_after_the_first(policy: str, case: Case) -> None:
    one = case.requests[0]
    t = case.run(policy, requests=[one])
    chunk = one.prompt if policy == "static" else int(min(case.chunk, one.prompt))
    cuts = [*range(0, one.prompt, chunk), one.prompt]
    times = [one.arrival + sum(case.step_time(b - a, 0, a) for a, b in pairwise(cuts))]
    times[0] += case.link * one.prompt if policy == "disaggregated" else 0
    for made in range(1, one.output):
        times.append(times[-1] + case.step_time(0, 1, one.prompt + made - 1))
    assert t.times[0].tokens == tuple(times)
    assert t.peak_tokens == one.size


@given(policy=policies, case=cases(crowded=True))
def test_nobody_is_thrown_out_without_need(policy: str, case: Case) -> None:
    """There is room for all, or all output is reserved, or the policy reserves it anyway."""
    safe = [case._replace(pool=sum(r.size for r in case.requests)).run(policy), case.run("continuous", reserve=1.0)]
    safe += [case.run(policy)] if policy in ("static", "disaggregated") else []
    assert not any(one.preempted for t in safe for one in t.times)


@given(case=cases(together=True, crowded=True))
def test_the_first_to_come_is_never_preempted(case: Case) -> None:
    assert case.run("chunked").times[0].preempted == ()


@given(policy=policies, case=cases(), factor=st.integers(2, 5))
def test_when_all_times_grow_by_a_factor_so_does_every_token(policy: str, case: Case, factor: int) -> None:
    slower = case._replace(
        requests=tuple(replace(r, arrival=factor * r.arrival) for r in case.requests),
        costs=tuple(factor * c for c in case.costs),
        link=factor * case.link,
    )
    once, again = case.run(policy), slower.run(policy)
    assert [tuple(factor * x for x in one.tokens) for one in once.times] == [one.tokens for one in again.times]
    assert once.peak_tokens == again.peak_tokens


@given(policy=policies, case=cases(), data=st.data())
def test_the_order_of_the_list_matters_only_among_those_that_arrive_together(
    policy: str, case: Case, data: st.DataObject
) -> None:
    apart = [replace(r, arrival=5.0 * i, name=str(i)) for i, r in enumerate(case.requests)]
    mixed = data.draw(st.permutations(apart))
    once, again = case.run(policy, requests=apart), case.run(policy, requests=mixed)
    assert [once.times[int(r.name)] for r in mixed] == list(again.times)
    assert (once.steps, once.peak_tokens) == (again.steps, again.peak_tokens)


@given(policy=st.sampled_from(ONE_SERVER), case=cases(together=True, crowded=False), data=st.data())
def test_with_room_for_all_those_that_arrive_together_are_treated_alike(
    policy: str, case: Case, data: st.DataObject
) -> None:
    roomy = case._replace(max_batch=len(case.requests), chunk=math.inf)
    order = data.draw(st.permutations(range(len(case.requests))))
    once, again = roomy.run(policy), roomy.run(policy, requests=[case.requests[i] for i in order])
    assert [once.times[i] for i in order] == list(again.times)
    assert len({one.first_token for one in once.times}) == 1


# One policy against another ------------------------------------------------------------------------------------------


@given(case=cases(together=True, crowded=False), batch_times=st.lists(st.integers(0, 50), min_size=5, max_size=5))
def test_continuous_is_never_later_than_static(case: Case, batch_times: list[int]) -> None:
    """If prefill time is proportional to its tokens, and decode time grows with the batch, in any way, and by a fixed
    time per cached token.

    Both prefill for the same time. Count decode steps: by induction over the static batches, when static begins batch
    k, continuous has made no more steps to end all earlier batches and begin all of batch k. So step for step it has no
    larger a batch than static, and it reads each token's context once, where static reads some more.
    """
    grows = sorted(batch_times)

    def step_time(prefill_tokens: int, decode_batch: int, cached_tokens: int) -> float:
        if prefill_tokens:
            return case.costs[1] * prefill_tokens
        return grows[decode_batch - 1] + case.costs[3] * cached_tokens

    assert case.run("continuous", step_time=step_time).makespan <= case.run("static", step_time=step_time).makespan


@given(case=cases(together=True, crowded=True))
def test_continuous_is_never_later_than_static_in_a_small_pool(case: Case) -> None:
    """As above, if nobody is retracted, and each sequence adds a fixed time to a step: batches differ in size here."""
    fixed, prompt, sequence, cached = case.costs

    def step_time(p: int, b: int, c: int) -> float:
        return prompt * p if p else fixed + sequence * b + cached * c

    both = [case.run(policy, step_time=step_time, reserve=1.0) for policy in ("continuous", "static")]
    assert both[0].makespan <= both[1].makespan


@given(case=cases(together=True, crowded=False))
def test_chunked_is_never_later_than_static(case: Case) -> None:
    """If the budget holds every prompt: a prefill needs no step of its own, so a fixed time per step does no harm."""
    chunked, static = (case.run(policy, chunk=math.inf) for policy in ("chunked", "static"))
    assert len(chunked.steps) <= len(static.steps)
    assert chunked.makespan <= static.makespan


@given(case=cases(crowded=False))
def test_whoever_has_begun_to_decode_waits_for_nobody_when_chunked_or_disaggregated(case: Case) -> None:
    """With a place for each on the decode server, the wait there is for the step that runs when a cache arrives."""
    chunked = case.run("chunked")
    apart = case.run("disaggregated", max_batch=len(case.requests), chunk=math.inf)
    for t, index in ((t, index) for t in (chunked, apart) for index in range(len(case.requests))):
        waits = [s for s in spans_of(t, index) if s.kind == "wait" and s.end > t.times[index].first_token]
        assert len(waits) <= (t is apart)
        for wait in waits:
            assert wait.start == t.times[index].first_token
            assert any(s.start < wait.start < s.end == wait.end for s in t.steps if s.server == "decode")
