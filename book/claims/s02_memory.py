"""12.2, memory: weights, cache, the smallest machine, and the budget of eight cards."""

from dataclasses import replace
from itertools import count

from claims.ledger import AGREES, CONVENTION, ERRATUM, FIRST8, PART8, ROUNDING, UNSTATED, Load, Section, claim
from scaling.chips import H100_TEXT, TPU_V5E_TEXT
from scaling.course.tables import number as n
from scaling.deployment import Deployment, parallel_sizes
from scaling.memory import cache_budget, cache_bytes, fits, grouped_weight_bytes, max_batch, min_chips, weight_bytes
from scaling.models import LLAMA3_70B
from scaling.throughput import mfu
from scaling.units import GB, KiB, kB

M = LLAMA3_70B
bf16 = Deployment(model=M, chip=H100_TEXT, chips=4, kv="int8", params="nominal")
int8 = replace(bf16, weights="int8", chips=2)
int4 = replace(bf16, weights="int4", chips=1)
node = replace(bf16, chips=8)
v5e = replace(int8, chip=TPU_V5E_TEXT, chips=8)
quiz = Load(batch=32, context=8192)
short, long = Load(context=4096), Load(context=32_768)
usual = 10  # per cent of the ceiling: the least that 12.4 calls usual
checkpoint = grouped_weight_bytes(M)
reserved = replace(node, usable=(480 * GB + weight_bytes(node)) / node.memory)


def total(d: Deployment, load: Load) -> float:
    """Weights and cache."""
    return weight_bytes(d) + cache_bytes(d, load.batch, load.context)


def by_capacity(d: Deployment, load: Load) -> int:
    """Fewest chips by bytes alone, whether or not the model can be split that many ways."""
    return next(n for n in count(1) if fits(replace(d, chips=n), load.batch, load.context))


# fmt: off
SECTION = Section("12.2", "Memory", "02_memory", (
    claim("2-two", "20:2", "2", M.kv_bytes_per_token("int8") / (M.layers * M.kv_heads * M.head_dim), AGREES,
          "Factor of the cache formula", "A key and a value.", see="KV cache: what one token leaves behind"),
    claim("2-kv-heads", "20:8", "8 heads", M.kv_heads, AGREES,
          "KV heads", "The model's shape.", see="Where 70 billion numbers come from"),
    claim("2-head-size", "20:128", "128", M.head_dim, AGREES,
          "Size of a head", "The model's shape.", see="Where 70 billion numbers come from"),
    claim("2-layers", "20:80", "80 layers", M.layers, AGREES,
          "Layers", "The model's shape.", see="Where 70 billion numbers come from"),
    claim("2-notation", "20", "", r"K_v_\text".count("_") == 1, ERRATUM,
          "The cache formula as typeset",
          "Two subscripts on one letter: LaTeX refuses it. And K is the head size here, but the KV heads in part 8.",
          see="KV cache: what one token leaves behind"),
    claim("2-kv-token", "20:163,840", "163,840 B", M.kv_bytes_per_token("int8"), AGREES,
          "Cache of one token, int8", "2 L K H b, to the byte.", see="KV cache: what one token leaves behind"),
    claim("2-kv-token-kb", "20:160", "160 kB", M.kv_bytes_per_token("int8"), CONVENTION,
          "The same in kilobytes",
          f"KiB, written as KB. The 5.3 GB after it needs a third value, {n(5.3 * GB / long.context / kB, 3)}.",
          convention=M.kv_bytes_per_token("int8") * kB / KiB,
          see="KV cache: what one token leaves behind"),
    claim("2-32k", "22:32", "32 K tokens", long.context, AGREES,
          "Context of the example", "An input; K counts by the binary thousand.",
          see="KV cache: what one token leaves behind"),
    claim("2-32768", "22:32768", "32768 tokens", long.context, AGREES,
          "The same, in tokens", "An input.", see="KV cache: what one token leaves behind"),
    claim("2-window", "22", "", long.context <= M.context_window, UNSTATED,
          "The model that 12.9 launches takes 32K",
          "That checkpoint ends at 8,192 tokens; 3.1 has the shapes and goes on.",
          see="KV cache: what one token leaves behind"),
    claim("2-kv-32k", "22:5.3", "5.3 GB", cache_bytes(int8, 1, long.context), ROUNDING,
          "Cache of that sequence, int8", "The factors printed give less; 162e3 bytes a token give it.",
          see="KV cache: what one token leaves behind"),
    claim("2-h100", "28:80", "80 GB", H100_TEXT.memory, AGREES,
          "Memory of one H100", "The catalogue's number.", see="The smallest machine"),
    claim("2-quiz-batch", "28:32", "32 sequences", quiz.batch, AGREES,
          "Batch of the quiz", "An input.", see="The smallest machine"),
    claim("2-quiz-context", "28:8192", "8192 tokens", quiz.context, AGREES,
          "Context of the quiz", "An input, and all that the 3.0 checkpoint takes.", see="The smallest machine"),
    claim("2-kv-dtype", "28", "", [round(total(d, quiz) / GB) for d in (bf16, int8, int4)] == [183, 113, 78], AGREES,
          "The cache is int8, whatever the weights are", "Stated, and kept in all three rows.",
          see="Two dtypes, not one"),
    claim("2-w-bf16", "33:140", "140 GB", weight_bytes(bf16), AGREES,
          "Weights, bf16", f"The nominal count; exact, {n(weight_bytes(replace(bf16, params='exact')) / GB)}.",
          see="Weights: parameters times bytes"),
    claim("2-kv-8k", "33:1.34", "1.34 GB", cache_bytes(bf16, 1, quiz.context), AGREES,
          "Cache of one sequence, int8", "8,192 tokens of 163,840 bytes.", see="The smallest machine"),
    claim("2-kv-quiz", "33:42.8", "42.8 GB", cache_bytes(bf16, quiz.batch, quiz.context), AGREES,
          "Cache of 32 sequences", f"32 times the rounded 1.34 is {n(32 * 1.34)}, then cut to one decimal.",
          see="The smallest machine"),
    claim("2-t-bf16", "33:183", "183 GB", total(bf16, quiz), AGREES,
          "Weights and cache, bf16", "The sum of the two.", see="The smallest machine"),
    claim("2-n-bf16", "33:3", "3 cards", by_capacity(bf16, quiz), AGREES,
          "Fewest cards by bytes, bf16", f"{n(total(bf16, quiz) / H100_TEXT.memory)} cards' worth.",
          see="The smallest machine"),
    claim("2-tp-bf16", "33:4", "4 cards", min_chips(bf16, quiz.batch, quiz.context), AGREES,
          "Fewest usable cards, bf16", "The right number, for a reason given next.", see="Why not three cards"),
    claim("2-even", "33", "", 6 in parallel_sizes(M, H100_TEXT), ERRATUM,
          "Tensor parallelism needs an even number",
          "It must divide 64 query heads, the MLP width and the 8 KV heads: 6 is even and does not.",
          see="Why not three cards"),
    claim("2-w-int8", "34:70", "70 GB", weight_bytes(int8), AGREES,
          "Weights, int8", "Nominal count.", see="Weights: parameters times bytes"),
    claim("2-t-int8", "34:113", "113 GB", total(int8, quiz), AGREES,
          "Weights and cache, int8", "The sum of the two.", see="The smallest machine"),
    claim("2-n-int8", "34:2", "2 cards", by_capacity(int8, quiz), AGREES,
          "Fewest cards by bytes, int8", f"{n(total(int8, quiz) / H100_TEXT.memory)} cards' worth.",
          see="The smallest machine"),
    claim("2-tp-int8", "34:2#2", "2 ways", min_chips(int8, quiz.batch, quiz.context), AGREES,
          "Fewest usable cards, int8", "2 divides all heads.", see="Why not three cards"),
    claim("2-w-int4", "35:35", "35 GB", weight_bytes(int4), AGREES,
          "Weights, int4", f"Four bits a weight and nothing else; a real checkpoint weighs {n(checkpoint / GB)}.",
          see="The card that fits on paper"),
    claim("2-t-int4", "35:78", "78 GB", total(int4, quiz), AGREES,
          "Weights and cache, int4", "The sum of the two.", see="The card that fits on paper"),
    claim("2-n-int4", "35:1", "1 card", by_capacity(int4, quiz), AGREES,
          "Fewest cards by bytes, int4",
          f"By these two sums alone: {n((int4.memory - total(int4, quiz)) / GB)} GB are left.",
          see="The card that fits on paper"),
    claim("2-one-card", "37", "", checkpoint + cache_bytes(int4, quiz.batch, quiz.context) <= H100_TEXT.memory,
          ERRATUM,
          "int4 weights and 32 sequences of int8 cache fit on one H100",
          f"Scales, zero points and 16-bit embeddings: the weights are {n(checkpoint / GB)} GB, before any runtime.",
          see="The card that fits on paper"),
    claim("2-one-card-mfu", "37", "", 100 * mfu(int4, quiz.batch, quiz.context) < usual, ERRATUM,
          "One card at batch 32 makes extremely poor use of its FLOPs",
          f"{n(100 * mfu(int4, quiz.batch, quiz.context))} %, the best of the three rows. 12.4 calls that usual.",
          see="The card that fits on paper"),
    claim("2-cards", "39:8", "8 cards", node.chips, AGREES,
          "Cards of the budget", "An input.", see="A budget for eight cards"),
    claim("2-node-memory", "41:640", "640 GB", node.memory, AGREES,
          "Memory of eight cards", "8 x 80.", see="A budget for eight cards"),
    claim("2-budget", "44:480", "~480 GB", cache_budget(node), ERRATUM,
          "Left for cache and working memory",
          f"640 less 140 is {n(cache_budget(node) / GB, 3)}; the difference is not explained. "
          f"The fraction of 12.9 leaves {n(cache_budget(replace(node, usable=0.85)) / GB, 3)}.",
          see="A budget for eight cards"),
    claim("2-4096", "45:4096", "4096 tokens", short.context, AGREES,
          "First context", "An input.", see="A budget for eight cards"),
    claim("2-b-4096", "45:710", "~710 sequences", max_batch(node, short.context), CONVENTION,
          "Requests of 4,096 tokens", "From the 480 GB it is 715, from 500 it is 745.",
          convention=max_batch(reserved, short.context), see="A budget for eight cards"),
    claim("2-b-8192", "46:355", "~355 sequences", max_batch(node, quiz.context), CONVENTION,
          "Requests of 8,192 tokens", "From the 480 GB it is 357, from 500 it is 372.",
          convention=max_batch(reserved, quiz.context), see="A budget for eight cards"),

    claim("2-8-layers", "table of the shape", "80 layers", M.layers, AGREES,
          "Layers L", "The model's shape.", edition=PART8),
    claim("2-8-width", "table of the shape", "8,192", M.d_model, AGREES,
          "Width D", "The model's shape.", edition=PART8),
    claim("2-8-mlp", "table of the shape", "28,672", M.d_ff, AGREES,
          "MLP width F", "The model's shape.", edition=PART8),
    claim("2-8-q-heads", "table of the shape", "64 heads", M.q_heads, AGREES,
          "Query heads N", "The model's shape.", edition=PART8),
    claim("2-8-kv-heads", "table of the shape", "8 heads", M.kv_heads, AGREES,
          "KV heads K", "The model's shape.", edition=PART8),
    claim("2-8-head", "table of the shape", "128", M.head_dim, AGREES,
          "Head size H", "The model's shape.", edition=PART8),
    claim("2-8-vocab", "table of the shape", "128,256", M.vocab, AGREES,
          "Vocabulary V", "The model's shape.", edition=PART8),
    claim("2-8-kv-token", "question 1", "160 kB", M.kv_bytes_per_token("int8"), CONVENTION,
          "Cache of one token, int8", "160 KiB, written as kB.", edition=PART8,
          convention=M.kv_bytes_per_token("int8") * kB / KiB),
    claim("2-8-162", "question 1", "162e3 B", M.kv_bytes_per_token("int8"), ROUNDING,
          "The same, two lines later", "Neither 160 nor 163.84.", edition=PART8),
    claim("2-8-kv-32k", "question 1", "5.3 GB", cache_bytes(int8, 1, long.context), ROUNDING,
          "Cache of 32,768 tokens", "From 162e3 bytes a token.", edition=PART8),
    claim("2-8-kv-240", "question 1", "1.3 TB", cache_bytes(int8, 240, long.context), ROUNDING,
          "Cache of 240 such sequences", "To two digits.", edition=PART8),
    claim("2-8-chips", "question 1", "86 chips", by_capacity(v5e, Load(batch=240, context=long.context)), ROUNDING,
          "v5e chips that hold them with int8 weights", "The total was rounded up first.", edition=PART8),
    claim("2-8-kv-quiz", "question 2", "41.9 GB", cache_bytes(int8, quiz.batch, quiz.context), CONVENTION,
          "Cache of 32 sequences of 8,192", "Counted with 160 thousand bytes a token.", edition=PART8,
          convention=cache_bytes(int8, quiz.batch, quiz.context) * kB / KiB),
    claim("2-8-total", "question 2", "112 GB", total(int8, quiz), ROUNDING,
          "Weights and cache, int8", "With the cache of 41.9.", edition=PART8),
    claim("2-8-seven", "question 2", "7 chips", total(int8, quiz) / TPU_V5E_TEXT.memory, ROUNDING,
          "v5e chips, as a quotient", "Seven would not do.", edition=PART8),
    claim("2-8-slice", "question 2", "8 chips", min_chips(v5e, quiz.batch, quiz.context), AGREES,
          "The slice, 4x2", "Tight: cache and weights leave little.", edition=PART8),
    claim("2-8a-int4", "table of slices", "45 GB", weight_bytes(int4), ERRATUM,
          "Weights, int4", "Half a byte a weight. Corrected later.", edition=FIRST8,
          see="Weights: parameters times bytes"),
))
