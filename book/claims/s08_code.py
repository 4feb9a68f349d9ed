"""12.8, the code: its constants, what its functions do at the edges, and what its printed maximum is worth."""

import math
from collections.abc import Callable
from dataclasses import replace

from claims.ledger import AGREES, CONVENTION, ERRATUM, PART8, ROUNDING, UNSTATED, Load, Section, claim
from scaling.chips import H100_TEXT, TPU_V5E_TEXT
from scaling.course.tables import number as n
from scaling.deployment import Deployment, parallel_sizes
from scaling.latency import decode_step
from scaling.memory import cache_bytes, fits, max_batch, min_chips, weight_bytes
from scaling.models import LLAMA3_70B
from scaling.roofline import attention_intensity, ridge_point
from scaling.throughput import best_batch, plateau, tokens_per_second
from scaling.units import KiB, kB, ms

M = LLAMA3_70B
d = Deployment(model=M, chip=H100_TEXT, chips=8, weights="int8", kv="int8", params="nominal")
wide = replace(d, weights="bf16")  # what the one line changes
bf16 = replace(wide, kv="bf16")
fewer = replace(d, chips=4)
int4 = replace(d, weights="int4", chips=1)
case, changed = Load(context=8192), Load(context=32_768)
S = case.context
first, last, last_wide = best_batch(d, S), max_batch(d, S), max_batch(wide, S)
quick, slow = decode_step(d, first, S).total, decode_step(d, last, S).total
tpu = replace(d, chip=TPU_V5E_TEXT, chips=16)


def power_of_two(size: float) -> int:
    """The text's way to the number of cards: two to the rounded logarithm, cut to a whole number."""
    return int(2 ** math.ceil(math.log2(size / H100_TEXT.memory)))


def unchecked_batch(d: Deployment, context: int) -> int:
    """The text's largest batch: the quotient, whatever its sign."""
    return int((d.memory - weight_bytes(d)) / cache_bytes(replace(d, kv="int8"), 1, context))


def with_default() -> Callable[..., float]:
    """The text's way to a context: a default, bound where the function is defined."""
    length = S

    def cache(batch: int, context: int = length) -> float:
        return cache_bytes(d, batch, context)

    length = changed.context
    return cache


def plotted(d: Deployment, context: int) -> int:
    """The batches that part 8 draws: the place of the last that fits in steps of four, taken for its value."""
    return max(place for place, batch in enumerate(range(1, 1024, 4)) if fits(d, batch, context))


def flop_of_bytes(d: Deployment) -> float:
    """Part 8's FLOP of a token, counted from the bytes of the weights, over the right ones."""
    return 2 * weight_bytes(d) / (decode_step(d, 1, 0).compute * d.flops)


# fmt: off
SECTION = Section("12.8", "Roofline code", "08_roofline_code", (
    claim("8-chips", "311:8", "8 cards", d.chips, AGREES,
          "num_chips", "An input.", see="One: bytes of the weights"),
    claim("8-byte", "312:1", "1 B", d.weight_size, AGREES,
          "bytes_per_param", "int8.", see="One: bytes of the weights"),
    claim("8-params", "313:70e9", "70e9 parameters", M.nominal_params, AGREES,
          "param_count", f"Nominal; exact, {M.params:,}.", see="One: bytes of the weights"),
    claim("8-context", "315:8192", "8192 tokens", case.context, AGREES,
          "sequence_length", "An input.", see="Two: bytes of the cache"),
    claim("8-bandwidth", "317:3.35e12", "3.35e12 B/s", H100_TEXT.bandwidth, AGREES,
          "hbm_bandwidth", "The catalogue's number.", see="Four: the step"),
    claim("8-flops", "318:9.9e14", "9.9e14 FLOP/s", H100_TEXT.rate("bf16"), AGREES,
          "flops", "The sheet says 989.5e12, dense.", see="Four: the step"),
    claim("8-default", "321", "", with_default()(1) == cache_bytes(d, 1, changed.context), UNSTATED,
          "A sequence_length set later changes the cache, too",
          "Edited and run again, yes. Set after the definition, no: the default was bound there.",
          see="Two: bytes of the cache"),
    claim("8-two", "323:2", "2", M.kv_bytes_per_token("int8") / (M.layers * M.kv_heads * M.head_dim), AGREES,
          "Factor of the cache", "A key and a value.", see="Two: bytes of the cache"),
    claim("8-head", "323:128", "128", M.head_dim, AGREES,
          "Size of a head, as a literal", "The model's shape.", see="Two: bytes of the cache"),
    claim("8-kv-heads", "323:8", "8 heads", M.kv_heads, AGREES,
          "KV heads, as a literal", "The model's shape.", see="Two: bytes of the cache"),
    claim("8-layers", "323:80", "80 layers", M.layers, AGREES,
          "Layers, as a literal", "The model's shape.", see="Two: bytes of the cache"),
    claim("8-kv-byte", "323:1", "1 B", M.kv_bytes_per_token(d.kv) / (2 * M.layers * M.kv_heads * M.head_dim), AGREES,
          "Bytes of a cached number, in a comment", "int8, whatever the weights.", see="Two: bytes of the cache"),
    claim("8-memory", "326:80e9", "80e9 B", H100_TEXT.memory, AGREES,
          "hbm_per_chip", "The catalogue's number.", see="Three: what fits"),
    claim("8-base", "328:2", "2", parallel_sizes(M, H100_TEXT)[1], AGREES,
          "Base of the sizes", "The sizes in a node are powers of it.", see="One: bytes of the weights"),
    claim("8-topology", "328", "", power_of_two(weight_bytes(int4)) == min_chips(int4, 0, 0), ERRATUM,
          "min_topology gives the fewest cards",
          f"Below half a card it gives {power_of_two(weight_bytes(int4))}. And nothing calls it.",
          see="One: bytes of the weights"),
    claim("8-160", "334:160", "160 kB", M.kv_bytes_per_token("int8"), CONVENTION,
          "Cache of one token, in a comment", "KiB, written as KB. The product beside it is right.",
          convention=M.kv_bytes_per_token("int8") * kB / KiB, see="Two: bytes of the cache"),
    claim("8-negative", "335", "", unchecked_batch(replace(bf16, chips=1), S) >= 0, UNSTATED,
          "get_max_batch_size gives a batch where the weights do not fit",
          f"On one card, bf16: {unchecked_batch(replace(bf16, chips=1), S)}, and the program fails lines later.",
          see="Three: what fits"),
    claim("8-attention", "343", "", attention_intensity(M, "int8") < ridge_point(H100_TEXT), AGREES,
          "Attention is always bound by bandwidth", "Its intensity is far below what balances the chip.",
          see="Four: the step"),
    claim("8-load", "346", "", decode_step(d, 1, S).weights == decode_step(d, 400, S).weights, AGREES,
          "Loading the weights does not depend on the batch", "P b_w over N W.", see="Four: the step"),
    claim("8-flop", "350:2", "2", decode_step(d, 1, 0).compute * d.flops / d.step_params, AGREES,
          "FLOP of a weight for each sequence", "A multiplication and an addition.", see="Four: the step"),
    claim("8-total", "356", "",
          decode_step(d, 300, S).total == decode_step(d, 300, S).cache + decode_step(d, 300, S).matmul, AGREES,
          "The step is the cache plus the longer of the two others",
          "As in `scaling`, and unlike the sentence of 12.5.", see="Four: the step"),
    claim("8-most", "363", "", math.isclose(tokens_per_second(d, last, S), plateau(d, S)), AGREES,
          "The last entry is the largest throughput",
          f"{first} sequences give it too, in {n(quick / ms)} ms in place of {n(slow / ms)}.",
          see="The end of the array"),
    claim("8-32768", "369:32768", "32768 tokens", changed.context, AGREES,
          "Practice 1: another sequence_length",
          f"The batch falls to {max_batch(d, changed.context)} from {max_batch(d, S)}.",
          see="Three practice questions"),
    claim("8-bytes", "370:2#2", "2 B", bf16.weight_size, AGREES,
          "Practice 2: another bytes_per_param", "An input.", see="Three practice questions"),
    claim("8-bf16", "370", "", cache_bytes(wide, 1, S) == cache_bytes(bf16, 1, S), UNSTATED,
          "The cache becomes bf16, too",
          "The weights only: the byte of the cache is typed into a product, twice.",
          see="Better questions"),
    claim("8-same", "370", "",
          not math.isclose(tokens_per_second(d, last, S), tokens_per_second(wide, last_wide, S)), UNSTATED,
          "The largest throughput changes",
          f"{last} and {last_wide} are both past the critical batch, so it stays. The least latency is "
          f"{n(decode_step(wide, 1, S).total / decode_step(d, 1, S).total)} times as long.",
          see="Three practice questions"),
    claim("8-4", "371:4", "4 cards", fewer.chips, AGREES,
          "Practice 3: fewer cards", f"The floor doubles, the batch falls to {max_batch(fewer, S)}.",
          see="Three practice questions"),

    claim("8-8-chips", "its code", "16 chips", tpu.chips, AGREES,
          "num_chips", "An input.", edition=PART8),
    claim("8-8-params", "its code", "70e9 B", weight_bytes(tpu), AGREES,
          "param_size", "int8, nominal.", edition=PART8),
    claim("8-8-context", "its code", "8192 tokens", case.context, AGREES,
          "sequence_length", "An input.", edition=PART8),
    claim("8-8-bandwidth", "its code", "8.20e11 B/s", TPU_V5E_TEXT.bandwidth, ROUNDING,
          "hbm_bandwidth", "Its prose has this value.", edition=PART8),
    claim("8-8-flops", "its code", "1.97e14 FLOP/s", TPU_V5E_TEXT.rate("bf16"), AGREES,
          "flops", "As on the sheet.", edition=PART8),
    claim("8-8-count", "its code", "", flop_of_bytes(tpu) == 1, AGREES,
          "2 * param_size is the FLOP of a token", "param_size is in bytes: in int8 there are as many as parameters.",
          edition=PART8, see="One: bytes of the weights"),
    claim("8-8-count-bf16", "its code", "", flop_of_bytes(replace(tpu, weights="bf16")) == 1, UNSTATED,
          "So it is in other dtypes",
          f"In bf16 it would be {n(flop_of_bytes(replace(tpu, weights='bf16')))} times too much. Its first edition and "
          "the text have param_count.", edition=PART8, see="One: bytes of the weights"),
    claim("8-8-plotted", "its code", "", plotted(tpu, S) == max_batch(tpu, S), ERRATUM,
          "It draws every batch that fits",
          f"It stops at {plotted(tpu, S)} of {max_batch(tpu, S)}: an index of one array cuts another.", edition=PART8,
          see="The end of the array"),
))
