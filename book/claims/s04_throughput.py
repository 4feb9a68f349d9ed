"""12.4, throughput: the critical batch, the smallest slices, twice the chips, and what the ceiling is worth."""

from dataclasses import replace
from statistics import mean, median

from claims.ledger import AGREES, CONVENTION, ERRATUM, FIRST8, PART8, ROUNDING, UNSTATED, Load, Section, claim
from scaling.chips import H100_TEXT, TPU_V5E, TPU_V5E_TEXT
from scaling.course.tables import number as n
from scaling.deployment import Deployment
from scaling.disaggregation import eviction_rate
from scaling.engines import megatron
from scaling.latency import decode_step
from scaling.memory import cache_budget, fits, max_batch, min_chips, weight_bytes
from scaling.models import LLAMA3_70B
from scaling.roofline import critical_batch
from scaling.throughput import compute_ceiling, mfu, plateau, queries_per_second, queries_per_second_per_chip
from scaling.units import ms

use = Load(context=8192, output=512)
bf16 = Deployment(model=LLAMA3_70B, chip=TPU_V5E_TEXT, chips=16, params="nominal")
int8 = replace(bf16, weights="int8", kv="int8", chips=8)
int4 = replace(bf16, weights="int4", kv="int4", chips=4)
SLICES = (bf16, int8, int4)
node = replace(bf16, chip=H100_TEXT, chips=8, kv="int8")
node_int8 = replace(node, weights="int8")
started = megatron.launch_command(replace(node, kv="bf16", params="exact"), checkpoint="checkpoint", max_running=64)
least, largest = 10, 30  # per cent of the ceiling: what line 143 calls usual
ANSWERS = (128, 256, 512, 1024, 4096)  # the five of chapter 4, with a long tail


def twice(d: Deployment) -> Deployment:
    """The same with twice the chips."""
    return replace(d, chips=2 * d.chips)


def most(d: Deployment) -> int:
    """The largest batch that fits."""
    return max_batch(d, use.context)


def rate(d: Deployment) -> float:
    """Queries a second and chip, at the largest batch that fits."""
    return queries_per_second_per_chip(d, most(d), use.context, use.output)


def fixed(d: Deployment) -> float:
    """The same with a step of 19 ms, whatever the batch."""
    return eviction_rate(most(d), 0, use.output).sequences / (19 * ms) / d.chips


def gain(d: Deployment) -> float:
    """What twice the chips add to the rate of each."""
    return rate(twice(d)) / rate(d) - 1


def share(context: int, d: Deployment = node_int8) -> float:
    """What the cache leaves of the ceiling at any batch."""
    return plateau(d, context) / compute_ceiling(d)


def work(compute: str) -> float:
    """FLOP of one token with the arithmetic in a dtype."""
    d = replace(node, compute=compute)
    return decode_step(d, 1, 0).compute * d.flops


# fmt: off
SECTION = Section("12.4", "Throughput", "04_throughput", (
    claim("4-crossover", "89", "", critical_batch(H100_TEXT, "int8") != critical_batch(H100_TEXT, "int8", "int8"),
          AGREES,
          "The critical batch depends on the dtypes of weights and arithmetic", "On both: C b_w / (2 W).",
          see="The critical batch"),
    claim("4-halves", "91", "", 2 * critical_batch(H100_TEXT, "int8") == critical_batch(H100_TEXT), AGREES,
          "int8 weights with bf16 arithmetic halve the critical batch", "Half the bytes for the same FLOP.",
          see="The critical batch"),
    claim("4-two", "95:2", "2", work("bf16") / node.step_params, AGREES,
          "FLOP of a weight for each sequence", "A multiplication and an addition.", see="The critical batch"),
    claim("4-count", "95", "", work("bf16") != work("int8"), ERRATUM,
          "The precision of the arithmetic sets the number of FLOP",
          "It sets their rate. The count knows no precision.", see="The critical batch"),
    claim("4-bytes", "98", "", weight_bytes(node) == 2 * weight_bytes(node_int8), AGREES,
          "int8 weights halve the bytes read", "Those of the weights. The input, B D, is small beside them.",
          see="The critical batch"),
    claim("4-context", "102:8192", "8192 tokens", use.context, AGREES,
          "Context", "An input.", see="What fits"),
    claim("4-h100", "104:80", "80 GB", H100_TEXT.memory, AGREES,
          "Memory of one H100", "The catalogue's number.", see="What fits"),
    claim("4-v5e", "106:16", "16 GB", TPU_V5E_TEXT.memory, AGREES,
          "Memory of one v5e", "The catalogue's number.", see="What fits"),
    claim("4-four", "110:4", "4 chips", min_chips(int4, 1, use.context), AGREES,
          "Smallest v5e slice for int4", "By the nominal four bits a weight.", see="What fits"),
    claim("4-43", "110:43", "~43 sequences", most(int4), AGREES,
          "Largest batch on it", "With an int4 cache as well.", see="What fits"),
    claim("4-43-exact", "110", "", fits(replace(int4, params="exact"), most(int4), use.context), UNSTATED,
          "43 fit with the exact parameter count",
          f"Then {most(replace(int4, params='exact'))} fit, still about 43: the slice is full to the edge.",
          see="What fits"),
    claim("4-43-cache", "110", "", fits(replace(int4, kv="int8"), most(int4), use.context), UNSTATED,
          "int4 weights are enough for 43",
          f"With the int8 cache of 12.2 the slice holds {most(replace(int4, kv='int8'))}.",
          see="What fits"),
    claim("4-60", "110:60", "60 sequences", critical_batch(TPU_V5E_TEXT, "int4"), ROUNDING,
          "Critical batch, int4 weights", "The bandwidth decides the last digit.", see="The critical batch"),
    claim("4-far-below", "110", "", most(int4) < critical_batch(TPU_V5E_TEXT, "int4") / 2, ERRATUM,
          "43 is far below critical",
          f"It is {n(100 * most(int4) / critical_batch(TPU_V5E_TEXT, 'int4'), 2)} % of it.",
          see="What fits"),
    claim("4-utilisation", "110", "", 100 * mfu(int4, most(int4), use.context) < least, ERRATUM,
          "This slice makes extremely poor use of its FLOPs",
          f"An MFU of {n(100 * mfu(int4, most(int4), use.context))} %, of at most "
          f"{n(100 * share(use.context, int4))} at this context. The text calls {least} to "
          f"{largest} usual.",
          see="What fits"),
    claim("4-not-best", "110", "", rate(twice(int4)) > rate(int4), AGREES,
          "The smallest slice is not the best", "Twice the chips do more, each.", see="Twice the chips"),
    claim("4-output", "114:512", "512 tokens", use.output, AGREES,
          "Tokens generated", "An input.", see="Queries per second"),
    claim("4-median", "114", "",
          eviction_rate(1, 0, median(ANSWERS)).sequences <= eviction_rate(1, 0, mean(ANSWERS)).sequences, ERRATUM,
          "The median length gives the rate",
          "Rates follow the mean; answers are skewed, so the median promises too much.",
          see="Queries per second"),
    claim("4-19", "114:19", "19 ms", TPU_V5E_TEXT.memory / TPU_V5E_TEXT.bandwidth, ERRATUM,
          "A full memory read once",
          f"Cut, not rounded. The step of those 43 takes {n(decode_step(int4, most(int4), use.context).total / ms)}.",
          see="Queries per second"),
    claim("4-twice", "118:2", "2 x", twice(int8).chips / int8.chips, AGREES,
          "More chips", "An input.", see="Twice the chips"),
    claim("4-all-cache", "118", "", cache_budget(twice(bf16)) - cache_budget(bf16) == bf16.memory, AGREES,
          "All of the added memory goes to the cache", "The weights are there already.", see="Twice the chips"),
    claim("4-gain", "120:60", "~60 %", gain(bf16), ROUNDING,
          "Gain in QPS a chip, bf16", "Right for this dtype.", see="Twice the chips"),
    claim("4-gain-all", "120", "", min(map(gain, SLICES)) > 0.55, ERRATUM,
          "The same gain for every dtype",
          f"int8 gains {n(100 * gain(int8))} %, int4 {n(100 * gain(int4))} %: past the critical batch the step grows.",
          see="Twice the chips"),
    claim("4-saturates", "120", "", rate(twice(twice(int8))) < 1.001 * rate(twice(int8)), AGREES,
          "Further chips gain less, and nothing past the critical batch", "From there on throughput is flat.",
          see="The plateau"),
    claim("4-torchrun", "127", "", "torchrun" not in started.program, ERRATUM,
          "python alone starts eight ways", "Eight ranks need eight processes, which torchrun starts.",
          see="Practice: Megatron-LM"),
    claim("4-tp", "128:8", "8 ways", node.chips, AGREES,
          "Ways of the Megatron command", "An input.", see="Practice: Megatron-LM"),
    claim("4-oom", "135:8192", "8192", LLAMA3_70B.context_window, AGREES,
          "Limit of prompt and generated tokens together",
          "The model's window. Nothing has read this flag since October 2025.", see="Practice: Megatron-LM"),
    claim("4-pipeline", "137", "", decode_step(twice(node), 1, 0).weights < decode_step(node, 1, 0).weights, AGREES,
          "Tensor parallelism shares out the reading of the weights", "Each chip reads its part at the same time.",
          see="Practice: Megatron-LM"),
    claim("4-stages", "137", "", decode_step(replace(node, chips=1), 1, 0).weights > decode_step(node, 1, 0).weights,
          AGREES,
          "A pipeline adds latency", "Its stages read one after another: for a single token, as slowly as one card.",
          see="Practice: Megatron-LM"),
    claim("4-megatron", "137", "", not any("dynamic-batching" in flag for flag in started.flags), ERRATUM,
          "Megatron has no continuous batching and no paged cache",
          "It has both since March 2025, with flags of their own.", see="Practice: Megatron-LM"),
    claim("4-never", "143", "", most(node) < critical_batch(H100_TEXT), ERRATUM,
          "Memory keeps the batch far below critical",
          f"True of the bf16 slice, {most(bf16)} of {n(critical_batch(TPU_V5E_TEXT))}. The eight H100 of 12.2 hold "
          f"{most(node)}, and {n(critical_batch(H100_TEXT))} are critical.",
          see="The plateau"),
    claim("4-10-30", "143:10 143:30", "", least <= 100 * share(use.context) <= largest, AGREES,
          "10 to 30 % of the ceiling is usual",
          f"At the section's 8,192 tokens {n(100 * share(use.context))} % on H100 and "
          f"{n(100 * share(use.context, int8))} on v5e, both from the critical batch on.",
          see="The plateau"),
    claim("4-10-30-always", "143", "", all(least <= 100 * share(S) <= largest for S in (2048, 32_768)), UNSTATED,
          "It is the same at other contexts",
          f"{n(100 * share(2048))} % at 2,048 tokens, {n(100 * share(32_768))} at 32,768: the cache sets it.",
          see="The plateau"),

    claim("4-8-240", "throughput, question 1", "240 sequences", critical_batch(TPU_V5E_TEXT), ROUNDING,
          "Critical batch, bf16", "With the sheet's bandwidth it is nearer.", edition=PART8),
    claim("4-8-120", "throughput, question 1", "120 sequences", critical_batch(TPU_V5E_TEXT, "int8"), ROUNDING,
          "Critical batch, int8 weights", "Half of it.", edition=PART8),
    claim("4-8-240-int8", "throughput, question 1", "240 sequences", critical_batch(TPU_V5E_TEXT, "int8", "int8"),
          ROUNDING,
          "Critical batch, int8 weights and arithmetic", "Half the bytes, twice the rate.", edition=PART8),
    claim("4-8-int8-flops", "throughput, question 1", "3.94e14 FLOP/s", TPU_V5E_TEXT.rate("int8"), AGREES,
          "v5e, int8", f"The sheet has {n(TPU_V5E.rate('int8') / 1e12)} tera.", edition=PART8),
    claim("4-8a-60", "first question", "60 sequences", critical_batch(TPU_V5E_TEXT, "int4"), ROUNDING,
          "Critical batch, int4 weights", "The text took this number over.", edition=FIRST8),
    claim("4-8-w-bf16", "table of slices", "140 GB", weight_bytes(bf16), AGREES,
          "Weights, bf16", "Nominal count.", edition=PART8),
    claim("4-8-w-int8", "table of slices", "70 GB", weight_bytes(int8), AGREES,
          "Weights, int8", "Nominal count.", edition=PART8),
    claim("4-8-w-int4", "table of slices", "35 GB", weight_bytes(int4), AGREES,
          "Weights, int4", "Nominal count.", edition=PART8),
    claim("4-8-kv-bf16", "table of slices", "324 kB", LLAMA3_70B.kv_bytes_per_token("bf16"), ROUNDING,
          "Cache of a token, bf16", "Twice 162.", edition=PART8),
    claim("4-8-kv-int8", "table of slices", "162 kB", LLAMA3_70B.kv_bytes_per_token("int8"), ROUNDING,
          "Cache of a token, int8", "Neither kB nor KiB.", edition=PART8),
    claim("4-8-kv-int4", "table of slices", "81 kB", LLAMA3_70B.kv_bytes_per_token("int4"), ROUNDING,
          "Cache of a token, int4", "Half of 162. Few engines have a 4-bit cache.", edition=PART8),
    claim("4-8-n-bf16", "table of slices", "8.75 chips", weight_bytes(bf16) / TPU_V5E_TEXT.memory, AGREES,
          "Chips for the weights, bf16", "A quotient.", edition=PART8),
    claim("4-8-n-int8", "table of slices", "4.38 chips", weight_bytes(int8) / TPU_V5E_TEXT.memory, AGREES,
          "Chips for the weights, int8", "A quotient.", edition=PART8),
    claim("4-8-n-int4", "table of slices", "2.81 chips", weight_bytes(int4) / TPU_V5E_TEXT.memory, ERRATUM,
          "Chips for the weights, int4", "Left over from the weights of the first edition.", edition=PART8),
    claim("4-8-s-bf16", "table of slices", "16 chips", min_chips(bf16, 1, use.context), AGREES,
          "Smallest slice, bf16", "4x4.", edition=PART8),
    claim("4-8-s-int8", "table of slices", "8 chips", min_chips(int8, 1, use.context), AGREES,
          "Smallest slice, int8", "4x2.", edition=PART8),
    claim("4-8-s-int4", "table of slices", "4 chips", min_chips(int4, 1, use.context), AGREES,
          "Smallest slice, int4", "2x2.", edition=PART8),
    claim("4-8-r-bf16", "table of slices", "116 GB", cache_budget(bf16), AGREES,
          "Left for the cache, bf16", "Memory less weights.", edition=PART8),
    claim("4-8-r-int8", "table of slices", "58 GB", cache_budget(int8), AGREES,
          "Left for the cache, int8", "Memory less weights.", edition=PART8),
    claim("4-8-r-int4", "table of slices", "29 GB", cache_budget(int4), AGREES,
          "Left for the cache, int4", "Memory less weights.", edition=PART8),
    claim("4-8-b-bf16", "table of slices", "43 sequences", most(bf16), AGREES,
          "Caches of 8,192 tokens, bf16", f"With an int8 cache {most(replace(bf16, kv='int8'))}.", edition=PART8),
    claim("4-8-b-int8", "table of slices", "43 sequences", most(int8), AGREES,
          "Caches of 8,192 tokens, int8", "The ratios are the same.", edition=PART8),
    claim("4-8-b-int4", "table of slices", "43 sequences", most(int4), AGREES,
          "Caches of 8,192 tokens, int4", "The ratios are the same.", edition=PART8),
    claim("4-8-19", "question on the step", "19 ms", TPU_V5E.memory / TPU_V5E.bandwidth, ERRATUM,
          "A full memory read once", "Cut, not rounded.", edition=PART8),
    claim("4-8-9s", "question on the step", "9 s", use.output * decode_step(bf16, most(bf16), use.context).total,
          ERRATUM,
          "512 steps", "Cut, like the 19 ms.", edition=PART8),
    claim("4-8-10ms", "question on the step", "10 ms", decode_step(int4, 1, 0).weights, ERRATUM,
          "Least step of the int4 slice", "Cut once more.", edition=PART8),
    claim("4-8-q", "question on QPS", "4.42 query/s", queries_per_second(bf16, most(bf16), use.context, use.output),
          CONVENTION,
          "Queries a second of the slice", "With the 19 ms.", edition=PART8, convention=fixed(bf16) * bf16.chips),
    claim("4-8-q-bf16", "table of QPS", "0.27 query/s per chip", rate(bf16), ROUNDING,
          "QPS a chip, bf16", "To two digits.", edition=PART8),
    claim("4-8-q-int8", "table of QPS", "0.55 query/s per chip", rate(int8), CONVENTION,
          "QPS a chip, int8", "With the 19 ms.", edition=PART8, convention=fixed(int8)),
    claim("4-8-q-int4", "table of QPS", "1.11 query/s per chip", rate(int4), CONVENTION,
          "QPS a chip, int4", "With the 19 ms.", edition=PART8, convention=fixed(int4)),
    claim("4-8-372", "twice the slice", "372 GB", cache_budget(twice(bf16)), AGREES,
          "Left for the cache on 4x8", "Memory less weights.", edition=PART8),
    claim("4-8-140", "twice the slice", "140 sequences", most(twice(bf16)), ROUNDING,
          "Largest batch on 4x8", "From its own 324 kB a token.", edition=PART8),
    claim("4-8-14", "twice the slice", "14.39 query/s", rate(twice(bf16)) * twice(bf16).chips, CONVENTION,
          "Queries a second of 4x8", "With the 19 ms and 140 sequences.", edition=PART8,
          convention=eviction_rate(140, 0, use.output).sequences / (19 * ms)),
    claim("4-8-d-bf16", "twice the slice", "0.44 query/s per chip", rate(twice(bf16)), CONVENTION,
          "QPS a chip on 4x8, bf16", "With the 19 ms.", edition=PART8, convention=fixed(twice(bf16))),
    claim("4-8-d-int8", "twice the slice", "0.90 query/s per chip", rate(twice(int8)), ERRATUM,
          "QPS a chip on 4x4, int8", "138 sequences are past the critical batch: the step is longer.", edition=PART8),
    claim("4-8-d-int4", "twice the slice", "1.80 query/s per chip", rate(twice(int4)), ERRATUM,
          "QPS a chip on 2x4, int4", "Far past the critical batch: arithmetic takes the place of the weights.",
          edition=PART8),
    claim("4-8a-q-int8", "table of QPS", "0.66 query/s per chip", rate(int8), ERRATUM,
          "QPS a chip, int8", "From 52 caches where 43 fit.", edition=FIRST8),
    claim("4-8a-q-int4", "table of QPS", "1.72 query/s per chip", rate(int4), ERRATUM,
          "QPS a chip, int4", "From 67 caches where 43 fit.", edition=FIRST8),
    claim("4-8a-b-int8", "table of slices", "52 sequences", most(int8), ERRATUM,
          "Caches of 8,192 tokens, int8", "From 10 GB too many left.", edition=FIRST8),
    claim("4-8a-b-int4", "table of slices", "67 sequences", most(int4), ERRATUM,
          "Caches of 8,192 tokens, int4", "Not even from its own 19 GB and 81 kB.", edition=FIRST8),
))
