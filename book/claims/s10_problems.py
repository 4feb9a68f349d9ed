"""12.10, the worked problems: what they give, and what they leave open. Our copy of the text lacks its answers."""

from dataclasses import replace

from claims.ledger import AGREES, ERRATUM, PART7, UNSTATED, Load, Section, claim
from scaling.chips import H100_TEXT, TPU_V5E_TEXT
from scaling.course.tables import number as n
from scaling.deployment import Deployment
from scaling.latency import decode_step
from scaling.memory import min_chips
from scaling.models import LLAMA3_8B, LLAMA3_70B, LLAMA3_405B
from scaling.throughput import largest_batch, prefill_chips, replicas_for
from scaling.units import GiB, ms

q1 = Deployment(model=LLAMA3_405B, chip=TPU_V5E_TEXT, chips=64, weights="int8", kv="int8", params="nominal")
q2 = replace(q1, model=LLAMA3_8B, chips=16)
q4 = replace(q1, model=LLAMA3_70B, chip=H100_TEXT, chips=8)
small, big, one = Load(batch=240, context=8192), Load(context=8192), Load(batch=1)
LIMIT, RATE = 15 * ms, 1000  # the step of Q3, the queries a second of Q4
by_gib = replace(q2, chip=replace(TPU_V5E_TEXT, memory=16 * GiB))
in_gb, in_gib = (min_chips(d, small.batch, small.context) for d in (q2, by_gib))
decode_chips = q4.chips * replicas_for(q4, RATE, largest_batch(q4, big.context), big.context, 512)
reading_chips = prefill_chips(q4, RATE, big.context, mfu=0.4)
other = replace(LLAMA3_70B, layers=64, d_model=4096, q_heads=32, kv_heads=8, head_dim=256)  # the exercise of part 7


def in_limit(context: int) -> int:
    """The batch of Q3."""
    return largest_batch(q1, context, max_step=LIMIT)


# fmt: off
SECTION = Section("12.10", "Worked problems, key points, further reading", "10_worked_problems", (
    claim("10-405b", "473:405#2", "405B parameters", LLAMA3_405B.nominal_params, AGREES,
          "Parameters of Q1", f"Nominal; exact, {LLAMA3_405B.params:,}.", see="Problem 1: the least a step can take"),
    claim("10-comms", "479", "", decode_step(q1, 1, 0).longest == "weights", AGREES,
          "Bound by communication means by memory",
          "The text says so; part 8 leaves open whether links are meant. The batch of 1 has to be said, too.",
          see="Problem 1: the least a step can take"),
    claim("10-240", "483:240", "240 sequences", small.batch, AGREES,
          "Batch of Q2", "An input.", see="Problem 2: memory"),
    claim("10-8192", "483:8192", "8192 tokens", small.context, AGREES,
          "Context of Q2", "An input.", see="Problem 2: memory"),
    claim("10-layers", "487:32", "32 layers", LLAMA3_8B.layers, AGREES,
          "Layers", "The model's shape.", see="Problem 2: memory"),
    claim("10-kv-heads", "487:8#2", "8 heads", LLAMA3_8B.kv_heads, AGREES,
          "KV heads", "The model's shape.", see="Problem 2: memory"),
    claim("10-head", "487:128", "128", LLAMA3_8B.head_dim, AGREES,
          "Size of a head", "The model's shape.", see="Problem 2: memory"),
    claim("10-slice", "491", "", in_gib == in_gb, UNSTATED,
          "GB or GiB does not matter to Q2",
          f"16 GB give {in_gb} chips, 16 GiB on paper {in_gib}: the unit decides.",
          see="Problem 2: memory"),
    claim("10-15", "495:15", "15 ms", LIMIT, AGREES,
          "Limit of Q3", "An input.", see="Problem 3: 15 ms a token"),
    claim("10-one", "497:1", "1", one.batch, AGREES,
          "Batch of the least latency", "An input.", see="Problem 3: 15 ms a token"),
    claim("10-64", "499:64", "64 chips", q1.chips, AGREES,
          "Chips of Q3", "An input.", see="Problem 3: 15 ms a token"),
    claim("10-context", "499", "", in_limit(2048) == in_limit(131_072), UNSTATED,
          "The context does not matter to Q3",
          f"From {in_limit(2048)} sequences of 2,048 tokens to {in_limit(131_072)} of 131,072.",
          see="Problem 3: 15 ms a token"),
    claim("10-8k", "505:8", "8 K tokens", big.context, AGREES,
          "Context of Q4", "An input.", see="Problem 4: a thousand queries a second"),
    claim("10-1000", "505:1000", "1000 query/s", RATE, AGREES,
          "Load of Q4", "An input.", see="Problem 4: a thousand queries a second"),
    claim("10-decode-only", "505", "", reading_chips < decode_chips, UNSTATED,
          "Most of the cards of Q4 decode",
          f"With 512 tokens an answer {decode_chips} decode; to read the prompts takes {n(reading_chips)} more.",
          see="Problem 4: a thousand queries a second"),

    claim("10-7-kv", "worked problems, question 1", "131 kB", other.kv_bytes_per_token("int8"), ERRATUM,
          "Cache of a token, 64 layers, 8 heads of 256",
          "The factor 2 for keys and values was forgotten. Corrected later.", edition=PART7),
))
