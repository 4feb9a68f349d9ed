"""Schedules: which requests share a step, and when each token comes. A timeline of a few requests, exact.

The rules are those of the engines; the seconds come from the caller, as ``step_time(prefill_tokens, decode_batch,
cached_tokens)``, so that no formula lives here.

A prompt of p tokens puts p tokens into the cache, and its last one gives the first output token; each decode step then
puts in one token and gives the next. A request of G output tokens is one prefill and G - 1 decode steps, and ends with
p + G - 1 tokens in the cache.
"""

from scaling.batching.policies import POLICIES as POLICIES
from scaling.batching.records import (
    SPAN_KINDS as SPAN_KINDS,
    Request as Request,
    RequestTimes as RequestTimes,
    Span as Span,
    Step as Step,
    Timeline as Timeline,
)
from scaling.batching.schedule import timeline as timeline
