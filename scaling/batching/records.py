"""What goes into a schedule, and what comes out."""

import math
from typing import NamedTuple

from scaling._checks import finite, shown, whole
from scaling._records import Record

SPAN_KINDS = ("prefill", "decode", "mixed", "transfer", "wait", "held")


class Request(Record):
    """One query: `prompt` tokens in, `output` tokens out, `arrival` on the clock of the timeline. [s]

    Raises ``ValueError`` for a prompt or output below 1, or an arrival that is negative or not finite.
    """

    prompt: int
    output: int
    arrival: float = 0.0
    name: str = ""

    def __post_init__(self) -> None:
        for field in ("prompt", "output"):
            object.__setattr__(self, field, whole(f"Request.{field}", getattr(self, field)))
        if getattr(self.arrival, "ndim", 0):
            raise ValueError(f"Request.arrival must be a single number of at least 0, not {shown(self.arrival)}.")
        object.__setattr__(self, "arrival", float(finite("Request.arrival", self.arrival)))
        if not isinstance(self.name, str):
            raise ValueError(f"Request.name must be a text, not {shown(self.name)}.")

    @property
    def size(self) -> int:
        """Cached tokens when its last token comes: that one is never put into the cache. [tokens]"""
        return self.prompt + self.output - 1


class Span(NamedTuple):
    """What one request does from `start` to `end` [s]. `kind` is one of `SPAN_KINDS`, `request` the place in the list.

    ``prefill``: its prompt, or a chunk of it, is processed. ``decode``: it gets a token. ``mixed``: it gets a token, in
    a step that also carries somebody's chunk. ``transfer``: its cache moves. ``wait``: nothing happens to it.
    ``held``: it is finished, and keeps its place until its whole batch is (static only).

    `tokens`: those that enter the cache (for a transfer, those that move).
    """

    start: float
    end: float
    kind: str
    request: int
    tokens: int
    server: str


class Step(NamedTuple):
    """One forward pass of one server [s], and the three numbers that `step_time` was given for it. [tokens]"""

    start: float
    end: float
    server: str
    prefill_tokens: int
    decode_batch: int
    cached_tokens: int

    @property
    def kind(self) -> str:
        """``prefill``, ``decode`` or ``mixed``."""
        if self.prefill_tokens:
            return "mixed" if self.decode_batch else "prefill"
        return "decode"


class RequestTimes(NamedTuple):
    """When the tokens of one request came. [s]

    `tokens`: the time of each output token. `preempted`: each time at which a full pool threw the request out.
    `recomputed`: tokens that had to be put into the cache again for that. [tokens]
    """

    arrival: float
    tokens: tuple[float, ...]
    preempted: tuple[float, ...] = ()
    recomputed: int = 0

    @property
    def first_token(self) -> float:
        """When the first token came. [s]"""
        return self.tokens[0]

    @property
    def last_token(self) -> float:
        """When the last token came. [s]"""
        return self.tokens[-1]

    @property
    def ttft(self) -> float:
        """Time to first token, from arrival: waiting, prefill and, when disaggregated, the transfer. [s]"""
        return self.first_token - self.arrival

    @property
    def tpot(self) -> float:
        """Mean time per output token after the first; NaN when there is only one. [s]"""
        after = len(self.tokens) - 1
        return (self.last_token - self.first_token) / after if after else math.nan

    @property
    def longest_gap(self) -> float:
        """Longest time from one token to the next, the stall that a mean hides; 0 when there is only one. [s]"""
        pairs = zip(self.tokens, self.tokens[1:], strict=False)
        return max((later - earlier for earlier, later in pairs), default=0.0)

    @property
    def latency(self) -> float:
        """From arrival to the last token. [s]"""
        return self.last_token - self.arrival


class Timeline(NamedTuple):
    """What a policy makes of a list of requests.

    `times`: one entry per request, in the order given. `spans`: request by request, without gaps from arrival to the
    last token. `steps`: in order of time. `peak_tokens`: most tokens ever in the cache of one server.
    """

    policy: str
    requests: tuple[Request, ...]
    times: tuple[RequestTimes, ...]
    spans: tuple[Span, ...]
    steps: tuple[Step, ...]
    peak_tokens: int

    @property
    def makespan(self) -> float:
        """From the first arrival to the last token of all. [s]"""
        return max(t.last_token for t in self.times) - min(t.arrival for t in self.times)
