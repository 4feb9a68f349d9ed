"""12.3, latency: prefill, the decode floor, and the whole step."""

from dataclasses import replace

from claims.ledger import AGREES, CONVENTION, ERRATUM, PART8, ROUNDING, UNSTATED, Load, Section, claim
from scaling.chips import H100_TEXT, TPU_V5E_TEXT
from scaling.course.tables import number as n
from scaling.deployment import ROOFLINE, Deployment
from scaling.latency import decode_step, prefill_time
from scaling.memory import cache_bytes, fits, weight_bytes
from scaling.models import LLAMA3_70B
from scaling.roofline import critical_batch
from scaling.sharding import collective_time
from scaling.throughput import tokens_per_second, tokens_per_second_per_chip
from scaling.units import KiB, kB, ms

node = Deployment(model=LLAMA3_70B, chip=H100_TEXT, chips=8, kv="int8", params="nominal")
int8 = replace(node, weights="int8")
slice8 = replace(int8, chip=TPU_V5E_TEXT)
slice16 = replace(slice8, chips=16)
prompt = Load(context=2048, mfu=0.4)
one, big, quiz = Load(batch=1), Load(batch=64, context=32_768), Load(batch=32, context=8192)
spared = 1 - replace(node, params="streamed").step_params / node.model.params  # of the weights, in a step


def attention(context: int) -> float:
    """What attention adds to a prefill, as a share."""
    return prefill_time(node, context, attention=True) / prefill_time(node, context) - 1


def light(d: Deployment) -> float:
    """The step of the quiz as part 8 counts it: 160 thousand bytes of cache a token for 160 KiB."""
    return (weight_bytes(d) + cache_bytes(d, quiz.batch, quiz.context) * kB / KiB) / d.bandwidth


# fmt: off
SECTION = Section("12.3", "Latency", "03_latency", (
    claim("3-complete", "50", "", collective_time(node, one.batch) == 0, ERRATUM,
          "Three terms are the complete step",
          "Eight cards also exchange activations, twice a layer. The package adds that only when the links are given.",
          see="Three rungs: floor, roofline, estimate"),
    claim("3-prefill-compute", "58", "", prompt.context > critical_batch(H100_TEXT), AGREES,
          "Prefill is bound by compute", "A prompt of that length is far above the critical batch.",
          see="Prefill: waiting for arithmetic"),
    claim("3-attention", "60", "", attention(prompt.context) <= 0.02, UNSTATED,
          "The prefill formula may leave attention out",
          f"It adds {n(100 * attention(prompt.context))} % at this prompt, but "
          f"{n(100 * attention(8192))} % at 8,192 tokens, and more beyond.",
          see="Attention is missing from the formula"),
    claim("3-prompt", "60:2048", "2048 tokens", prompt.context, AGREES,
          "Prompt", "An input.", see="Prefill: waiting for arithmetic"),
    claim("3-cards", "60:8", "8 cards", node.chips, AGREES,
          "Cards", "An input.", see="Prefill: waiting for arithmetic"),
    claim("3-mfu", "60:40", "40 %", prompt.mfu, AGREES,
          "Share of the FLOPs that prefill reaches", "An assumption, and a fair one.",
          see="Prefill: waiting for arithmetic"),
    claim("3-peak", "62:100", "100 %", ROOFLINE.flops, AGREES,
          "The same, ideally", "The roofline.", see="Prefill: waiting for arithmetic"),
    claim("3-prefill", "62:36", "36 ms", prefill_time(node, prompt.context), ROUNDING,
          "Prefill at the peak",
          f"At 40 % it is {n(prefill_time(node, prompt.context, mfu=prompt.mfu) / ms)}; our copy lacks that number.",
          see="Prefill: waiting for arithmetic"),
    claim("3-small-batch", "66", "", decode_step(node, one.batch, 8192).longest == "weights", AGREES,
          "A small batch is bound by memory", "The weights are the longest term.", see="Decode: a floor made of bytes"),
    claim("3-bandwidth", "68:3.35", "3.35 TB/s", H100_TEXT.bandwidth, AGREES,
          "Bandwidth of one H100", "The catalogue's number.", see="Decode: a floor made of bytes"),
    claim("3-node-bandwidth", "68:26.8", "26.8 TB/s", node.bandwidth, AGREES,
          "Bandwidth of eight", "8 x 3.35.", see="Decode: a floor made of bytes"),
    claim("3-one-stream", "70:192", "~192 token/s", tokens_per_second(node, one.batch, 0), AGREES,
          "One stream", "Rounded to 5.2 ms first and inverted afterwards.", see="Decode: a floor made of bytes"),
    claim("3-all-weights", "74", "", spared < 0.02, AGREES,
          "A step reads all the weights", f"All but the input embedding, a lookup: {n(100 * spared, 2)} % less.",
          see="Decode: a floor made of bytes"),
    claim("3-floor", "76:5.2", "5.2 ms", decode_step(node, one.batch, 0).total, AGREES,
          "Least time of a step, bf16", "Right as the least time of a step.", see="Decode: a floor made of bytes"),
    claim("3-one-token", "76", "", decode_step(node, 2, 0).total / 2 >= decode_step(node, 1, 0).total, UNSTATED,
          "A step yields one token, so none takes less than that",
          "With speculation a step can yield more: where one guess is right, two tokens share it.",
          see="Decode: a floor made of bytes"),
    claim("3-batch-1", "76:1", "1", one.batch, AGREES,
          "Batch of that floor", "An input.", see="Decode: a floor made of bytes"),
    claim("3-floor-int8", "77:2.6", "2.6 ms", decode_step(int8, one.batch, 0).total, AGREES,
          "Least time of a step, int8", "Half the bytes.", see="What int8 weights buy"),
    claim("3-halved", "77", "", 2 * decode_step(int8, 1, 0).total == decode_step(node, 1, 0).total, AGREES,
          "int8 halves the floor", "Half the bytes.", see="What int8 weights buy"),
    claim("3-cache-grows", "81", "",
          decode_step(node, 2, 64).cache > decode_step(node, 1, 64).cache < decode_step(node, 1, 128).cache, AGREES,
          "Batch and context make the cache's time noticeable", "It is proportional to both.",
          see="When the cache takes over"),
    claim("3-cache-rules", "83", "",
          fits(node, big.batch, big.context) and decode_step(node, big.batch, big.context).longest == "cache", AGREES,
          "At a large batch and a long context the cache rules",
          f"At {big.batch} sequences of 32K, which fit, it is the longest term.", see="When the cache takes over"),

    claim("3-8-critical", "question 3", "120 sequences", critical_batch(TPU_V5E_TEXT, "int8"), ROUNDING,
          "Critical batch, int8 weights, bf16 compute", "The rounding of the bandwidth decides the last digits.",
          edition=PART8),
    claim("3-8-below", "question 3", "", quiz.batch < critical_batch(TPU_V5E_TEXT, "int8"), AGREES,
          "Batch 32 is deep in the memory-bound regime", "A quarter of the critical batch.", edition=PART8),
    claim("3-8-bandwidth", "question 3", "8.1e11 B/s", TPU_V5E_TEXT.bandwidth, AGREES,
          "Bandwidth of one v5e", "The code of the same page has another value, the data sheet a third.",
          edition=PART8),
    claim("3-8-step", "question 3", "17 ms", decode_step(slice8, quiz.batch, quiz.context).total, CONVENTION,
          "Step on 4x2 at batch 32", "To two digits; with kB for KiB it is nearer.", edition=PART8,
          convention=light(slice8)),
    claim("3-8-tokens", "question 3", "1882 token/s", tokens_per_second(slice8, quiz.batch, quiz.context), CONVENTION,
          "Throughput of that step", "32 over the 17 ms, rounded before dividing.", edition=PART8,
          convention=quiz.batch / light(slice8)),
    claim("3-8-per-chip", "question 3", "235 token/s per chip",
          tokens_per_second_per_chip(slice8, quiz.batch, quiz.context), CONVENTION,
          "The same per chip", "An eighth of it.", edition=PART8, convention=quiz.batch / light(slice8) / slice8.chips),
    claim("3-8-16", "question 3", "8.5 ms", decode_step(slice16, quiz.batch, quiz.context).total, CONVENTION,
          "Step on 4x4 at batch 32", "Half of the 17.", edition=PART8, convention=light(slice16)),
    claim("3-8-same", "question 3", "",
          tokens_per_second_per_chip(slice16, 32, 8192) == tokens_per_second_per_chip(slice8, 32, 8192), AGREES,
          "Throughput per chip stays the same on 4x4", "At the same batch, and free links.", edition=PART8),
))
