"""12.7, prefill, what leaves the cache, and how many servers of each kind."""

from dataclasses import replace
from statistics import mean, median

from claims.ledger import AGREES, ERRATUM, PART8, UNSTATED, Load, Section, claim
from scaling.batching import Request, timeline
from scaling.chips import H100_TEXT, TPU_V5E_TEXT
from scaling.course.tables import number as n
from scaling.deployment import Deployment
from scaling.disaggregation import eviction_rate, prefill_decode_ratio, transfer_time
from scaling.latency import decode_step, prefill_time
from scaling.memory import max_batch
from scaling.models import LLAMA3_8B, LLAMA3_70B
from scaling.roofline import critical_batch
from scaling.units import GB, ms

d = Deployment(model=LLAMA3_70B, chip=TPU_V5E_TEXT, chips=16, params="nominal")
node = replace(d, chip=H100_TEXT, chips=8)
prompt = Load(context=8192, mfu=0.4)
turnover = Load(batch=32, context=8192, output=4096)
pools = Load(batch=32, context=8192, output=512)
full = max_batch(d, prompt.context)
T_move = transfer_time(LLAMA3_70B, prompt.context, 50 * GB)  # over one 400 Gb/s network card
T_prefill = prefill_time(d, prompt.context, mfu=prompt.mfu)
speculated = prefill_time(replace(d, model=LLAMA3_8B), prompt.context, mfu=prompt.mfu) + T_prefill / 2
printed_ratio = prefill_decode_ratio(910 * ms, 19 * ms, pools.batch, pools.output)
late = [Request(prompt=1024, output=64), Request(prompt=prompt.context, output=64, arrival=0.5)]
leaves = eviction_rate(turnover.batch, turnover.context, turnover.output)
ANSWERS = (64, 128, 256, 512, 1024, 2048, 4096)  # lengths as skewed as answers are


def ratio(batch: int, output: float = pools.output) -> float:
    """Prefill servers for a decode server, with the step of that very batch."""
    return prefill_decode_ratio(T_prefill, decode_step(d, batch, prompt.context).total, batch, output)


def step_time(new: int, decoding: int, cached: int) -> float:
    """A step that reads so many prompt tokens and decodes so many sequences."""
    decode = decode_step(d, decoding, cached / decoding).total if decoding else 0.0
    return prefill_time(d, new, mfu=prompt.mfu) + decode


def longest_gap(policy: str) -> float:
    """Longest time from token to token of a request, while a long prompt arrives."""
    move = (lambda tokens: transfer_time(LLAMA3_70B, tokens, 50 * GB)) if policy == "disaggregated" else None
    run = timeline(late, policy=policy, step_time=step_time, max_batch=2, transfer_time=move)
    return run.times[0].longest_gap


# fmt: off
SECTION = Section("12.7", "Prefill and disaggregation", "07_prefill_disaggregation", (
    claim("7-compute", "269", "", prompt.context > critical_batch(TPU_V5E_TEXT), AGREES,
          "Prefill is bound by compute", "A prompt of that length is far above the critical batch.",
          see="How long a prompt takes"),
    claim("7-prompt", "271:8", "8 K tokens", prompt.context, AGREES,
          "Prompt", "An input.", see="How long a prompt takes"),
    claim("7-910", "271:910", "910 ms", T_prefill, AGREES,
          "Prefill of it",
          f"On 16 v5e at 40 %. On eight H100 it is {n(prefill_time(node, prompt.context, mfu=prompt.mfu) / ms)}.",
          see="How long a prompt takes"),
    claim("7-19", "271:19", "19 ms", decode_step(d, full, prompt.context).total, ERRATUM,
          "One decode step", f"Cut from a full memory's, at batch {full}.",
          see="How long a prompt takes"),
    claim("7-longer", "271", "", T_prefill > 10 * decode_step(d, full, prompt.context).total, AGREES,
          "Prefill takes far longer than a step",
          "But it sets 8,192 tokens of one request against one token of every request.",
          see="How long a prompt takes"),
    claim("7-p", "277:8192", "8192 tokens", turnover.context, AGREES,
          "Prompt", "An input.", see="What leaves in a step"),
    claim("7-g", "277:4096", "4096 tokens", turnover.output, AGREES,
          "Tokens generated", "An input.", see="What leaves in a step"),
    claim("7-b", "277:32", "32 sequences", turnover.batch, AGREES,
          "Batch", "An input.", see="What leaves in a step"),
    claim("7-median", "277", "",
          eviction_rate(1, 0, median(ANSWERS)).sequences <= eviction_rate(1, 0, mean(ANSWERS)).sequences, ERRATUM,
          "Median lengths give the rate", "Rates follow the mean, which is larger for skewed lengths.",
          see="How many servers of each kind"),
    claim("7-96", "279:96", "~96 tokens", leaves.tokens, AGREES,
          "Tokens freed in a step",
          "Right for what leaves. What resides is shorter on average: half of the answer is still to come.",
          see="What leaves in a step"),
    claim("7-share", "279:0.78", "0.78 %", leaves.share, ERRATUM,
          "Share of the sequences that finish in a step",
          f"It is {n(leaves.sequences)} sequences, one in {n(1 / leaves.sequences)} steps: not a share of the batch.",
          see="What leaves in a step"),
    claim("7-free", "285", "", T_move < T_prefill, UNSTATED,
          "To pass the cache on takes less time than to make it",
          f"In bf16 {n(T_move / ms)} ms a prompt over one network card. The balance below leaves it out.",
          see="Moving the cache"),
    claim("7-kinds", "289", "", decode_step(d, full, prompt.context).longest in ("weights", "cache"), AGREES,
          "Prefill wants arithmetic, decode wants bandwidth and memory",
          "Reading is the longest part of a decode step.", see="A chip for each pool"),
    claim("7-apart", "290", "", longest_gap("disaggregated") < longest_gap("continuous"), AGREES,
          "Apart, a prefill does not hold up decode",
          f"While such a prompt is read, the longest gap is {n(longest_gap('disaggregated') / ms)} ms; on one server "
          f"{n(longest_gap('continuous') / ms)}.", see="Two kinds of work on one server"),
    claim("7-chips", "295:16", "16 chips", d.chips, AGREES,
          "Chips of a server", "An input.", see="How many servers of each kind"),
    claim("7-512", "299:512", "512 tokens", pools.output, AGREES,
          "Tokens generated", "An input; above it was 4,096.", see="How many servers of each kind"),
    claim("7-32", "300:32", "32 sequences", pools.batch, AGREES,
          "Batch of a decode server", "An input, and not that of the 19 ms.", see="How many servers of each kind"),
    claim("7-three", "302:3", "3 x", ratio(pools.batch), ERRATUM,
          "Prefill servers for a decode server",
          f"From its own inputs {n(printed_ratio)}. But the 19 ms belong to batch {full}: that needs {n(ratio(full))}.",
          see="How many servers of each kind"),
    claim("7-bottleneck", "302", "", ratio(pools.batch) > 1, AGREES,
          "So prefill is the bottleneck of the system",
          "Server for server, yes. In this proportion both pools are busy all the time, and there is none.",
          see="How many servers of each kind"),
    claim("7-bottleneck-long", "302", "", ratio(turnover.batch, turnover.output) > 1, UNSTATED,
          "So it is with the 4,096 tokens of above",
          f"There the ratio is {n(ratio(turnover.batch, turnover.output))}: decode needs the more servers.",
          see="How many servers of each kind"),
    claim("7-caching", "302", "", prefill_time(d, prompt.context // 2, mfu=prompt.mfu) < T_prefill, AGREES,
          "Prompt caching is worth its while", "A cached half is half the work.", see="The prefill that is never done"),
    claim("7-speculative", "302", "", speculated < T_prefill, AGREES,
          "So is speculative prefilling",
          f"If 8B reads the prompt first and leaves half of it, {n(speculated / ms)} ms. The answer may change.",
          see="The prefill that is never done"),

    claim("7-8-40", "prefill, question 1", "40 %", prompt.mfu, AGREES,
          "Share of the FLOPs that prefill reaches", "An assumption.", edition=PART8),
    claim("7-8-prefill", "prefill, question 1", "0.91 s", T_prefill, AGREES,
          "Prefill of 8,192 tokens", "2 P S over N C MFU.", edition=PART8),
    claim("7-8-p", "prefill, question 2", "8192 tokens", turnover.context, AGREES,
          "Prompt", "An input.", edition=PART8),
    claim("7-8-g", "prefill, question 2", "4096 tokens", turnover.output, AGREES,
          "Tokens generated", "An input.", edition=PART8),
    claim("7-8-b", "prefill, question 2", "32 sequences", turnover.batch, AGREES,
          "Batch", "An input.", edition=PART8),
    claim("7-8-96", "prefill, question 2", "96 tokens", leaves.tokens, AGREES,
          "Tokens evicted in a step", "B (S + G) / G.", edition=PART8),
    claim("7-8-prefill-ms", "prefill, question 3", "910 ms", T_prefill, AGREES,
          "Prefill of 8,192 tokens", "As above.", edition=PART8),
    claim("7-8-19", "prefill, question 3", "19 ms", decode_step(d, full, prompt.context).total, ERRATUM,
          "One decode step", "Cut.", edition=PART8),
    claim("7-8-43", "prefill, question 3", "43 sequences", full, AGREES,
          "Batch of that step", "Called 32 in the next formula.", edition=PART8),
    claim("7-8-512", "prefill, question 3", "512 tokens", pools.output, AGREES,
          "Tokens generated", "An input.", edition=PART8),
    claim("7-8-3", "prefill, question 3", "3 x", ratio(pools.batch), ERRATUM,
          "Prefill servers for a decode server", "A batch of 32 with the step of 43.", edition=PART8),
))
