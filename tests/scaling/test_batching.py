"""Schedules by hand: a prompt token takes 1 s, a step that decodes 10 s more, so every time is a whole number."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from scaling import batching
from scaling.batching import POLICIES, Request, RequestTimes, Span, Timeline, timeline
from tests.scaling import records

Calls = list[tuple[int, int, int]]


def seconds(prefill_tokens: int, decode_batch: int, cached_tokens: int) -> float:
    return prefill_tokens + (10 if decode_batch else 0)


def run(requests: list[Request], policy: str, **options: Any) -> Timeline:
    given: dict[str, Any] = {"step_time": seconds, "max_batch": 2, "chunk": 8, "transfer_time": float}
    return timeline(requests, policy=policy, **given | options)


def tokens(t: Timeline) -> list[tuple[float, ...]]:
    return [one.tokens for one in t.times]


def calls(t: Timeline) -> Calls:
    return [(s.prefill_tokens, s.decode_batch, s.cached_tokens) for s in t.steps]


A, B, C = Request(prompt=4, output=3), Request(prompt=2, output=2), Request(prompt=3, output=2)


# Each policy ---------------------------------------------------------------------------------------------------------


def test_static() -> None:
    """A and B together; B keeps its place, and its three tokens are read, while A gets its last one; then C."""
    t = run([A, B, C], "static", chunk=4)
    assert calls(t) == [(6, 0, 0), (0, 2, 6), (0, 2, 8), (3, 0, 0), (0, 1, 3)]
    assert tokens(t) == [(6, 16, 26), (6, 16), (29, 39)]
    assert t.peak_tokens == 6 + 3
    assert [s.kind for s in t.spans if s.request == 1] == ["prefill", "decode", "held"]
    assert t.spans[-3:] == (
        Span(0, 26, "wait", 2, 0, "server"),
        Span(26, 29, "prefill", 2, 3, "server"),
        Span(29, 39, "decode", 2, 1, "server"),
    )


def test_continuous() -> None:
    """The chunk is full after A; B follows at once. When B is done C's prefill goes first, and A waits for it."""
    t = run([A, B, C], "continuous", chunk=4)
    assert calls(t) == [(4, 0, 0), (2, 0, 0), (0, 2, 6), (3, 0, 0), (0, 2, 8)]
    assert tokens(t) == [(4, 16, 29), (6, 16), (19, 29)]
    assert t.peak_tokens == 6 + 4
    assert [(s.start, s.end, s.kind) for s in t.spans if s.request == 0] == [
        *((0, 4, "prefill"), (4, 6, "wait"), (6, 16, "decode"), (16, 19, "wait"), (19, 29, "decode")),
    ]


def test_chunked() -> None:
    """A's second token shares a step with B's prompt. C gets what two tokens leave of the budget: 1, then 2 more."""
    t = run([A, B, Request(prompt=3, output=1)], "chunked", chunk=3, max_batch=3)
    assert calls(t) == [(3, 0, 0), (3, 0, 3), (1, 2, 6), (2, 1, 6)]
    assert [s.kind for s in t.steps] == ["prefill", "prefill", "mixed", "mixed"]
    assert tokens(t) == [(6, 17, 29), (6, 17), (29,)]
    assert [(s.start, s.end, s.kind) for s in t.spans if s.request == 2] == [
        *((0, 6, "wait"), (6, 17, "prefill"), (17, 29, "prefill")),
    ]
    assert [s.kind for s in t.spans if s.request == 0] == ["prefill", "prefill", "mixed", "mixed"]
    assert t.peak_tokens == 6 + 3 and t.makespan == 29


def test_disaggregated() -> None:
    """The link takes 1 s a token, one cache after the other; the decode server has two places, so C waits for one."""
    t = run([A, B, C], "disaggregated", chunk=4)
    assert [(s.server, s.start, s.end) for s in t.steps] == [
        *(("prefill", 0, 4), ("prefill", 4, 8), ("prefill", 8, 9)),
        *(("decode", 8, 18), ("decode", 18, 28), ("decode", 28, 38)),
    ]
    assert calls(t) == [(4, 0, 0), (4, 0, 0), (1, 0, 2), (0, 1, 4), (0, 2, 7), (0, 1, 3)]
    assert tokens(t) == [(8, 18, 28), (10, 28), (13, 38)]
    assert [tuple(s) for s in t.spans if s.request == 2] == [
        (0, 4, "wait", 2, 0, "prefill"),
        (4, 8, "prefill", 2, 2, "prefill"),
        (8, 9, "prefill", 2, 1, "prefill"),
        (9, 10, "wait", 2, 0, "link"),
        (10, 13, "transfer", 2, 3, "link"),
        (13, 28, "wait", 2, 0, "decode"),
        (28, 38, "decode", 2, 1, "decode"),
    ]
    assert t.peak_tokens == 6 + 3 + 3  # A and B at 18 s, and room for the prompt of C


def test_disaggregated_prefill_waits_for_room_on_the_decode_server() -> None:
    """A will hold 6 tokens and B 3: with room for 8, B's prompt starts only when A has ended, at 28 s."""
    t = run([A, B], "disaggregated", pool=8)
    assert tokens(t) == [(8, 18, 28), (28 + 2 + 2, 42)]
    assert tokens(run([A, B], "disaggregated", pool=9)) == [(10, 20, 30), (12, 30)]
    assert t.peak_tokens == 6


def test_a_single_token_gives_its_room_back_when_it_lands() -> None:
    """Its cache has arrived and nothing is left to decode: the next prompt starts, though the decode server is busy."""
    requests = [Request(prompt=p, output=n, arrival=at) for p, n, at in ((1, 9, 0), (10, 1, 2), (8, 1, 2))]
    t = run(requests, "disaggregated", pool=19, chunk=10, transfer_time=None)
    assert tokens(t) == [(1, *range(11, 91, 10)), (12,), (20,)]
    assert t.peak_tokens == 3 + 10


def test_a_transfer_that_is_not_given_takes_no_time() -> None:
    assert tokens(run([A, B], "disaggregated", transfer_time=None)) == [(6, 16, 26), (6, 16)]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_server_with_nothing_to_do_waits_for_the_next_arrival(policy: str) -> None:
    late = Request(prompt=2, output=2, arrival=100)
    t = run([late, A], policy, transfer_time=None)
    assert tokens(t) == [(102, 112), (4, 14, 24)]
    assert [one.ttft for one in t.times] == [2, 4]
    assert t.makespan == 112 and t.spans[0].start == 100
    assert run([late], policy, transfer_time=None).makespan == 12


# A full pool ---------------------------------------------------------------------------------------------------------

LONG, SHORT, LAST = Request(prompt=4, output=6), Request(prompt=3, output=6), Request(prompt=1, output=1)
TIGHT: dict[str, Any] = {"pool": 13, "reserve": 0.1}  # 9 and 8 tokens at their ends do not go in together


def test_retraction() -> None:
    """Full after four tokens each, 7 + 6. Both have as many: the longer prompt goes, behind the one that waits."""
    t = run([LONG, SHORT, LAST], "continuous", **TIGHT)
    assert tokens(t) == [(4, 17, 27, 37, 66, 76), (7, 17, 27, 37, 47, 58), (48,)]
    assert t.times[0] == RequestTimes(0, (4, 17, 27, 37, 66, 76), preempted=(37,), recomputed=7)
    assert [(s.start, s.kind, s.tokens) for s in t.spans if s.request == 0 and s.start > 30] == [
        *((37, "wait", 0), (58, "prefill", 4 + 4), (66, "decode", 1)),
    ]
    assert [one.recomputed for one in t.times[1:]] == [0, 0]
    assert t.peak_tokens == 13


def test_retraction_takes_the_fewest_output_tokens_before_the_longest_prompt() -> None:
    """The third has the shortest prompt of all, but came last: it has 3 tokens when the others have 5."""
    late = Request(prompt=2, output=6, arrival=18)
    t = run([LONG, SHORT, late], "continuous", max_batch=3, pool=19, reserve=0.01)
    assert [len(one.preempted) for one in t.times] == [0, 0, 1]
    # Among equals, the last to come.
    t = run([SHORT, SHORT], "continuous", pool=12, reserve=0.1)
    assert [len(one.preempted) for one in t.times] == [0, 1]


def test_preemption() -> None:
    """Full after four tokens each: the last goes, to the front, so the one that waits does not overtake it."""
    t = run([LONG, SHORT, LAST], "chunked", **TIGHT)
    assert tokens(t) == [(7, 17, 27, 37, 47, 57), (7, 17, 27, 37, 65, 75), (65,)]
    assert t.times[1] == RequestTimes(0, (7, 17, 27, 37, 65, 75), preempted=(37,), recomputed=6)
    assert calls(t)[-3:] == [(0, 1, 8), (7 + 1, 0, 0), (0, 1, 7)]
    assert t.peak_tokens == 13


def test_the_last_can_be_its_own_victim() -> None:
    """A's token takes the 9th and last place: B, next in the step, finds none, and goes."""
    t = run([Request(prompt=4, output=4), Request(prompt=4, output=2)], "chunked", pool=9)
    assert calls(t)[:3] == [(8, 0, 0), (0, 1, 4), (0, 1, 5)]
    assert [len(one.preempted) for one in t.times] == [0, 1]


def test_a_preemption_can_hit_a_prompt_half_way() -> None:
    """B starts when its 6 tokens find room, one at a time beside A's; A fills the pool first, and B starts again."""
    t = run([Request(prompt=2, output=9), Request(prompt=6, output=1)], "chunked", pool=10, chunk=2)
    assert len(t.times[1].preempted) == 1 and t.times[1].recomputed == 4
    assert calls(t)[:6] == [(2, 0, 0), (1, 1, 2), (1, 1, 4), (1, 1, 6), (1, 1, 8), (0, 1, 6)]


def test_reserving_all_output_retracts_nobody() -> None:
    t = run([LONG, SHORT, LAST], "continuous", pool=13, reserve=1)
    assert [len(one.preempted) for one in t.times] == [0, 0, 0]
    assert t.times[1].first_token == 4 + 50 + 3 + 1  # only when LONG has ended, with LAST in the same chunk


def test_admission_counts_a_newcomer_in_full() -> None:
    """A holds 4 and may add 2, of which 0.7 are kept: B, 3 in the end, needs a pool of 8.4, and so 9."""
    assert run([A, B], "continuous", pool=9).times[1].first_token == 6
    assert run([A, B], "continuous", pool=8).times[1].first_token > 6
    # Prompts of the same step count in full: A's 6 and B's 3.
    assert calls(run([A, B], "continuous", pool=9))[0] == (6, 0, 0)
    assert calls(run([A, B], "continuous", pool=8, reserve=0.5))[0] == (4, 0, 0)


def test_static_takes_only_what_fits_to_the_end() -> None:
    assert calls(run([A, B], "static", pool=9))[0] == (6, 0, 0)
    assert calls(run([A, B], "static", pool=8))[0] == (4, 0, 0)


def test_chunked_takes_a_prompt_that_fills_the_pool_and_none_beyond() -> None:
    one = Request(prompt=4, output=1)
    assert calls(run([one, one], "chunked", pool=8))[0] == (8, 0, 0)
    assert calls(run([one, one], "chunked", pool=7))[0] == (4, 0, 0)


@pytest.mark.parametrize("policy", POLICIES)
def test_nobody_overtakes(policy: str) -> None:
    """B does not fit beside A, and C, which would, stays behind B."""
    t = run([Request(prompt=4, output=3), Request(prompt=6, output=2), Request(prompt=1, output=1)], policy, pool=8)
    assert t.times[2].first_token >= t.times[1].first_token > t.times[0].last_token
    assert t.peak_tokens <= 8


# What comes out ------------------------------------------------------------------------------------------------------


def test_a_chunk_has_8192_tokens_if_nothing_is_said() -> None:
    t = timeline([Request(prompt=10_000, output=1)], policy="chunked", step_time=seconds, max_batch=1)
    assert calls(t) == [(8192, 0, 0), (1808, 0, 8192)]


def test_as_many_steps_as_a_picture_can_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching.schedule, "_MOST_STEPS", 4)
    assert len(run([Request(prompt=8, output=3)], "chunked").steps) == 3
    with pytest.raises(ValueError, match=r"^requests must need at most 4 steps"):
        run([Request(prompt=8, output=4)], "chunked")


def test_an_arrival_is_a_plain_float() -> None:
    for given in (2, np.float32(2), np.array(2)):
        arrival = Request(prompt=1, output=1, arrival=given).arrival  # type: ignore[arg-type]
        assert type(arrival) is float and arrival == 2


def test_requests_are_frozen_and_take_keywords_only() -> None:
    records.check(Request(prompt=1, output=1))
    assert Request(prompt=1, output=1.0) == Request(prompt=1, output=1, arrival=0.0)  # type: ignore[arg-type]


def test_times_of_a_request() -> None:
    one = RequestTimes(5.0, (8.0, 10.0, 17.0))
    assert one == RequestTimes(5.0, (8.0, 10.0, 17.0), preempted=(), recomputed=0)
    assert (one.first_token, one.last_token, one.ttft, one.latency) == (8, 17, 3, 12)
    assert (one.tpot, one.longest_gap) == (4.5, 7)
    assert math.isnan(RequestTimes(5.0, (8.0,)).tpot) and RequestTimes(5.0, (8.0,)).longest_gap == 0


def test_one_fixed_cost_per_prefill_step_can_make_continuous_later() -> None:
    """The law that continuous is never later than static needs a prefill time proportional to its tokens."""
    ones = [Request(prompt=1, output=n) for n in (2, 1, 1, 1)]

    def fixed(*_: int) -> float:
        return 1

    assert run(ones, "static", step_time=fixed).makespan == 3
    assert run(ones, "continuous", step_time=fixed).makespan == 4
    assert run(ones, "chunked", step_time=fixed).makespan == 3


def test_a_single_request_can_be_later_when_continuous() -> None:
    static, continuous = (run([A, B, C], policy, chunk=4) for policy in ("static", "continuous"))
    assert continuous.makespan < static.makespan
    assert continuous.times[0].last_token > static.times[0].last_token


def test_names_and_kinds() -> None:
    assert POLICIES == ("static", "continuous", "chunked", "disaggregated")
    kinds = {s.kind for policy in POLICIES for s in run([A, B, C], policy, chunk=2).spans}
    assert kinds == set(batching.SPAN_KINDS)
    assert Request(prompt=np.int64(3), output=2.0, arrival=1).prompt == 3  # type: ignore[arg-type]


@pytest.mark.parametrize("policy", POLICIES)
def test_steps_may_take_no_time(policy: str) -> None:
    t = run([A, B, C], policy, step_time=lambda *_: 0, transfer_time=None)
    assert tokens(t) == [(0, 0, 0), (0, 0), (0, 0)]
    assert t.makespan == 0


def test_step_times_can_be_numpys() -> None:
    t = run([A, B, C], "chunked", step_time=lambda p, b, c: np.asarray(seconds(p, b, c)))
    assert t == run([A, B, C], "chunked")
    assert type(t.makespan) is float


# Bad input -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: run([A], "fifo"), "policy must be one of static, continuous, chunked, disaggregated, not 'fifo'"),
        (lambda: run([A], []), "policy must be one of "),  # type: ignore[arg-type]
        (lambda: run([], "static"), "requests must be a list of one Request or more, not []"),
        (lambda: run(A, "static"), "requests must be a list of one Request or more, not Request("),  # type: ignore[arg-type]
        (lambda: run([A, 3], "static"), "requests must be a list of one Request or more"),  # type: ignore[list-item]
        (lambda: run([A, B], "static", pool=5), "pool must hold the largest request, 6 tokens at its end, not 5"),
        (lambda: run([A], "static", pool=math.nan), "pool must be a whole number of at least 1, not nan"),
        (lambda: run([A], "static", max_batch=0), "max_batch must be a whole number of at least 1, not 0"),
        (lambda: run([A], "chunked", chunk=0), "chunk must be a whole number of at least 1, not 0"),
        (lambda: run([A], "chunked", chunk=2, max_batch=3), "chunk must be at least max_batch (3)"),
        (lambda: run([A], "continuous", reserve=0), "reserve must be a share above 0 and at most 1, not 0"),
        (lambda: run([A], "continuous", reserve=np.array([0.1, 0.2])), "reserve must be a single share, not array"),
        (
            lambda: run([A], "static", step_time=1.0),
            "step_time must be a function of three counts that gives seconds, not 1.0.",
        ),
        (lambda: run([A], "static", step_time=lambda *_: -1.0), "step_time must be a finite number of at least 0"),
        (lambda: run([A], "static", step_time=lambda *_: math.nan), "step_time must be a finite number"),
        (lambda: run([A], "disaggregated", transfer_time=lambda _: math.inf), "transfer_time must be a finite number"),
        (
            lambda: run([A], "disaggregated", transfer_time=1.0),
            "transfer_time must be a function of a count that gives seconds, not 1.0.",
        ),
        (lambda: run([Request(prompt=1, output=10**9)], "static"), "requests must need at most 100,000 steps"),
        (lambda: run([Request(prompt=10**9, output=1)], "continuous"), "requests must need at most 100,000 steps"),
        (lambda: Request(prompt=0, output=1), "Request.prompt must be a whole number of at least 1, not 0"),
        (lambda: Request(prompt=1, output=1.5), "Request.output must be a whole number of at least 1, not 1.5"),  # type: ignore[arg-type]
        (lambda: Request(prompt=1, output=1, arrival=-1), "Request.arrival must be a finite number of at least 0"),
        (lambda: Request(prompt=1, output=1, arrival=math.inf), "Request.arrival must be a finite number"),
        (
            lambda: Request(prompt=1, output=1, arrival=np.array([1.5])),  # type: ignore[arg-type]
            "Request.arrival must be a single number of at least 0, not array([1.5]).",
        ),
        (lambda: Request(prompt=1, output=1, name=3), "Request.name must be a text, not 3"),  # type: ignore[arg-type]
    ],
)
def test_bad_input_gets_one_sentence(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(ValueError) as error:
        call()
    assert said in str(error.value)
    assert str(error.value).endswith(".") and "\n" not in str(error.value)
