"""12.5, latency against throughput: the three terms, the front, and what a long context changes."""

from dataclasses import replace

from claims.ledger import AGREES, CONVENTION, ERRATUM, PART8, ROUNDING, UNSTATED, Load, Section, claim
from scaling.batching import Request, timeline
from scaling.chips import H100_TEXT, TPU_V5E, TPU_V5E_TEXT
from scaling.course.tables import number as n
from scaling.deployment import Deployment
from scaling.engines import megatron
from scaling.latency import decode_step
from scaling.memory import cache_budget, cache_bytes, fits, max_batch
from scaling.models import LLAMA3_70B
from scaling.throughput import (
    balanced_batch,
    batch_at_step,
    best_batch,
    cache_over_compute_context,
    cache_over_weights_tokens,
    cost_per_million_tokens,
    plateau,
    tokens_per_second,
)
from scaling.units import ms

d = Deployment(model=LLAMA3_70B, chip=TPU_V5E_TEXT, chips=16, weights="int8", kv="int8", params="nominal")
faster = replace(d, chip=replace(TPU_V5E_TEXT, bandwidth=8.2e11))  # the bandwidth in the code of part 8
case, long, one = Load(context=8192), Load(context=32_768), Load(batch=1)
S = case.context
window = 4096  # tokens that a sliding window keeps, as in Mistral 7B
started = megatron.launch_command(
    Deployment(model=LLAMA3_70B, chip=H100_TEXT, chips=8), checkpoint="checkpoint", max_running=64
)
alone, at_120 = decode_step(d, 1, S).total, decode_step(d, 120, S)
best, passes = best_batch(d, S), cache_over_weights_tokens(d)  # passes: tokens whose cache takes as long as the weights
three = [Request(prompt=64, output=length) for length in (8, 64, 8)]


def kept(heads: int, kv: str) -> float:
    """Bytes of cache of a token, with other KV heads or another dtype."""
    return replace(d.model, kv_heads=heads).kv_bytes_per_token(kv)


def cheaper(batch: float, context: int) -> float:
    """How many times a token costs less in a batch than alone."""
    return cost_per_million_tokens(d, 1, context) / cost_per_million_tokens(d, batch, context)


def cheaper_at_twice(context: int) -> float:
    """The same in the batch whose step is twice as long."""
    return cheaper(batch_at_step(d, context, 2 * decode_step(d, 1, context).total), context)


def done(policy: str) -> float:
    """When the three are done, two places, steps of one second."""
    return timeline(three, policy=policy, step_time=lambda *tokens: 1.0, max_batch=2).makespan


# fmt: off
SECTION = Section("12.5", "Latency against throughput", "05_tradeoff", (
    claim("5-sum", "149", "", sum(at_120) == at_120.total, UNSTATED,
          "The three parts are summed",
          "The formula is missing in our copy; the code of 12.8 takes a maximum. "
          f"At batch 120 the sum is {n(sum(at_120) / ms)} ms, the step {n(at_120.total / ms)}.",
          see="Three terms, one step"),
    claim("5-weights", "153", "", decode_step(d, 1, S).weights == decode_step(d, 64, S).weights, AGREES,
          "Reading the weights does not depend on the batch", "P b_w over N W.", see="Three terms, one step"),
    claim("5-cache", "154", "", decode_step(d, 8, 2 * S).cache == decode_step(d, 16, S).cache, AGREES,
          "Reading the cache is proportional to batch and context", "B S kv over N W.", see="Three terms, one step"),
    claim("5-two", "155:2", "2", decode_step(d, 1, S).compute * d.flops / d.step_params, AGREES,
          "FLOP of a weight for each sequence", "A multiplication and an addition.", see="Three terms, one step"),
    claim("5-compute", "155", "", decode_step(d, 64, S).compute == 2 * decode_step(d, 32, S).compute, AGREES,
          "Arithmetic is proportional to the batch", "2 B P over N C.", see="Three terms, one step"),
    claim("5-chips", "157:16", "16 chips", d.chips, AGREES,
          "Chips of the case", "An input.", see="What happens as the batch grows"),
    claim("5-context", "157:8192", "8192 tokens", case.context, AGREES,
          "Context of the case", "An input.", see="What happens as the batch grows"),
    claim("5-120", "161:120", "120 sequences", balanced_batch(d), ROUNDING,
          "End of the first phase", "The critical batch, where arithmetic passes reading.",
          see="What happens as the batch grows"),
    claim("5-weights-time", "161:5.3", "5.3 ms", decode_step(d, 1, 0).weights, CONVENTION,
          "Time of the weights", "With the bandwidth of part 8's code; 12.6 has another.",
          convention=decode_step(faster, 1, 0).weights, see="What happens as the batch grows"),
    claim("5-constant", "161", "", at_120.total < 1.1 * alone, ERRATUM,
          "Up to there the latency hardly changes",
          f"It triples, to {n(at_120.total / ms)} ms: from batch {n(passes / S)} on the cache takes longest.",
          see="What happens as the batch grows"),
    claim("5-linear", "161", "", tokens_per_second(d, 120, S) > 0.9 * 120 * tokens_per_second(d, 1, S), ERRATUM,
          "Up to there throughput grows linearly",
          f"120 sequences give {n(tokens_per_second(d, 120, S) / tokens_per_second(d, 1, S))} times the tokens of one.",
          see="What happens as the batch grows"),
    claim("5-300", "162:300 163:300", "300 sequences", balanced_batch(d), ERRATUM,
          "End of a transition",
          "A maximum has a kink and no transition. 300 looks like the critical batch of an H100.",
          see="What happens as the batch grows"),
    claim("5-300-fits", "163", "", fits(d, 300, S), UNSTATED,
          "Such a batch fits", f"{max_batch(d, S)} do.",
          see="What happens as the batch grows"),
    claim("5-300-compute", "163", "", decode_step(d, 300, S).longest == "compute", ERRATUM,
          "Beyond it arithmetic rules", "At this context the cache takes longer than arithmetic, at every batch.",
          see="What happens as the batch grows"),
    claim("5-proportional", "163", "", decode_step(d, 600, S).total == 2 * decode_step(d, 300, S).total, AGREES,
          "There latency is proportional to the batch", "Cache and arithmetic both are, from the critical batch on.",
          see="What happens as the batch grows"),
    claim("5-flat", "163", "", abs(tokens_per_second(d, 300, S) / plateau(d, S) - 1) < 1e-9, AGREES,
          "At a large batch throughput is constant", "The batch cancels, from the critical one on.",
          see="What happens as the batch grows"),
    claim("5-32k", "165:32", "32 K tokens", long.context, AGREES,
          "Longer context", "An input.", see="Long context"),
    claim("5-four", "165:4", "4 x", decode_step(d, 8, long.context).cache / decode_step(d, 8, S).cache, AGREES,
          "Its cache takes longer", "At the same batch. At the largest that fits, it takes as long.",
          see="Long context"),
    claim("5-bottleneck", "165", "",
          decode_step(d, max_batch(d, long.context), long.context).longest == "cache", AGREES,
          "At 32K the cache may be the bottleneck",
          f"With the {max_batch(d, long.context)} sequences that fit, it is the longest term.", see="Long context"),
    claim("5-axis", "173:1.0", "1.0 token/s per chip", plateau(d, S) / d.chips, ERRATUM,
          "Where the chart's curve ends",
          "The axis is in tokens a millisecond: a factor of a thousand. And a curve that high has a shorter context.",
          see="The front"),
    claim("5-top", "173", "", decode_step(d, best, S).matmul == decode_step(d, best, S).compute, AGREES,
          "It flattens where it is bound by compute",
          f"Its matmuls are, from batch {best} and {n(decode_step(d, best, S).total / ms)} ms on. "
          "The longest term at 8,192 tokens is the cache.",
          see="The front"),
    claim("5-5ms", "189:5 189:10", "5 ms", alone, ERRATUM,
          "Latency of a single sequence; the 10 ms are twice that",
          "Round numbers, for a factor of 2. "
          f"With the bandwidth of the 5.3 it is {n(decode_step(faster, 1, S).total / ms)}.",
          see="Twice the latency, how much cheaper?"),
    claim("5-100", "189:100", "~100 x", cheaper_at_twice(S), ERRATUM,
          "So many times cheaper at twice the latency",
          f"At 2,048 tokens {n(cheaper_at_twice(2048))}. At 8,192 no batch makes it more than {n(cheaper(best, S))}.",
          see="Twice the latency, how much cheaper?"),
    claim("5-one", "190:1", "1", one.batch, AGREES,
          "A batch that production avoids", "An input.", see="Twice the latency, how much cheaper?"),
    claim("5-avoided", "190", "", cheaper(best, S) > 10, AGREES,
          "Batch 1 is hardly ever worth its price", "It costs tens of times more a token.",
          see="Twice the latency, how much cheaper?"),
    claim("5-grows", "194", "", decode_step(d, 8, long.context).cache > decode_step(d, 8, S).cache, AGREES,
          "Reading the cache grows with the context", "In proportion.", see="Long context"),
    claim("5-always", "196", "", decode_step(d, 1, long.context).longest == "cache", ERRATUM,
          "With a long context the cache always rules",
          f"A single sequence reads more weights than cache up to {n(passes / 1000)} thousand tokens.",
          see="Does the cache always win? Two thresholds"),
    claim("5-2048", "198:2048", "2048 tokens", cache_over_compute_context(d), ERRATUM,
          "Context from which the cache passes arithmetic",
          "Part 8 draws no length between this and the next power of two: of those it draws, it is true.",
          see="Does the cache always win? Two thresholds"),
    claim("5-smaller", "198", "",
          kept(1, "int8") < kept(8, "int4") < kept(8, "int8") < kept(8, "bf16") < kept(64, "bf16"), AGREES,
          "GQA, MQA and a quantised cache are what helps", "Fewer bytes a token.", see="Long context"),
    claim("5-compressed", "198", "", cache_bytes(d, 1, window) < cache_bytes(d, 1, long.context), AGREES,
          "So is a compressed cache",
          "A window or eviction keeps fewer tokens, a latent vector less of each; LLaMA 3 has no window and no latent.",
          see="Long context"),
    claim("5-static", "204", "", not any("dynamic-batching" in flag for flag in started.flags), ERRATUM,
          "Megatron-LM serves with static batches by default, from megatron/text_generation/api.py",
          "The script of 12.4 still does. The newer server batches dynamically, and that file is gone.",
          see="Keeping the batch full"),
    claim("5-wait", "213", "", done("static") > done("continuous"), AGREES,
          "In a static batch the short wait for the long", "And a place stays empty meanwhile.",
          see="Keeping the batch full"),

    claim("5-8-16", "the tradeoff", "16 ways", d.chips, AGREES,
          "Ways of tensor parallelism", "An input.", edition=PART8),
    claim("5-8-100", "the tradeoff", "~100 x", cheaper_at_twice(2048), ERRATUM,
          "So many times cheaper at twice the latency", "Even on the shortest curve that it draws.", edition=PART8),
    claim("5-8-least", "the tradeoff", "5.5 ms", alone, AGREES,
          "Latency at a small batch", "At 8,192 tokens.", edition=PART8),
    claim("5-8-20", "the tradeoff", "20 ms", decode_step(d, max_batch(d, S), S).total, CONVENTION,
          "Latency at the largest batch", "With the bandwidth of its code.", edition=PART8,
          convention=decode_step(faster, max_batch(d, S), S).total),
    claim("5-8-plateau", "the tradeoff", "~1 token/ms per chip", plateau(d, 2048) / d.chips, ERRATUM,
          "Plateau at 2,048 tokens", "A round number. The unit is right.", edition=PART8),
    claim("5-8-120", "the tradeoff", "120 sequences", balanced_batch(d), ROUNDING,
          "Batch of the plateau", "The critical batch.", edition=PART8),
    claim("5-8-never", "the tradeoff", "", not fits(d, balanced_batch(d), 2 * S), AGREES,
          "With a longer context the critical batch no longer fits",
          f"From {n(cache_budget(d) / d.kv_per_token / balanced_batch(d))} tokens on. Up to there it does.",
          edition=PART8),
    claim("5-8-2048", "the tradeoff", "2048 tokens", cache_over_compute_context(d), ERRATUM,
          "Context from which the cache passes arithmetic", "The next length that it draws lies above.", edition=PART8),
    claim("5-8-bandwidth", "its code", "8.20e11 B/s", TPU_V5E.bandwidth, AGREES,
          "Bandwidth of one v5e", "The sheet's, rounded.", edition=PART8),
))
