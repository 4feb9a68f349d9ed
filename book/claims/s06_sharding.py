"""12.6, sharding for generation: what can be split, how far, and the worked case of 32 chips."""

from dataclasses import replace

from claims.ledger import AGREES, CONVENTION, ERRATUM, FIRST8, PART8, ROUNDING, UNSTATED, Load, Section, claim
from scaling.chips import H100_TEXT, TPU_V5E_TEXT, TPU_V5P_TEXT
from scaling.course.tables import number as n
from scaling.deployment import Deployment, parallel_sizes
from scaling.latency import decode_step
from scaling.memory import fits, max_batch, weight_bytes
from scaling.models import LLAMA3_70B, LLAMA3_405B
from scaling.sharding import collective_time, link_bandwidth, matmul_collective_time, tp_limit
from scaling.throughput import tokens_per_second
from scaling.units import GB, dtype_bytes, ms, us

D, F = LLAMA3_70B.d_model, LLAMA3_70B.d_ff
TPU, GPU = TPU_V5E_TEXT, H100_TEXT
NIC = 50 * GB  # one way, a 400 Gb/s network card for each GPU
d = Deployment(model=LLAMA3_70B, chip=TPU, chips=32, params="nominal")
half = replace(d, chips=16)
node = Deployment(model=LLAMA3_70B, chip=GPU, chips=8, params="nominal")
pair = replace(node, chips=16)
pure = replace(pair, kv_split="heads")  # nothing but tensor parallelism: the batch is not split, heads are copied
big = Deployment(model=LLAMA3_405B, chip=GPU, chips=8)
case = Load(batch=64, context=8192)
B, S = case.batch, case.context
# One matmul as a model of its own: its weights are all that a step reads and multiplies.
matmul = replace(d, model=replace(LLAMA3_70B, nominal_params=float(D * F)))
T_ring = matmul_collective_time(TPU, B, D, axes=1, wrap=True)
T_line = matmul_collective_time(TPU, B, D, axes=1)  # as a 4x8 slice of v5e has it: no axis of it wraps around
T_read = decode_step(matmul, B, 0).weights
int8_limit = tp_limit(TPU, F, batch=B, axes=1, wrap=True, weights="int8")
shared = 2 * tokens_per_second(node, B / 2, S) / tokens_per_second(node, B, S)


def full(d: Deployment) -> float:
    """Tokens a second at the largest batch that fits."""
    return tokens_per_second(d, max_batch(d, S), S)


def with_links(d: Deployment) -> float:
    """A step and its transfers over both axes, one after the other."""
    return decode_step(d, B, S).total + collective_time(d, B)


def per_token(chip_time: float, chip_link: float) -> float:
    """Bytes moved for one sequence and one unit of width."""
    return chip_time * chip_link / (B * D)


# fmt: off
SECTION = Section("12.6", "Sharding for generation", "06_sharding", (
    claim("6-dp", "221", "", 2 * tokens_per_second(node, B / 2, S) <= tokens_per_second(node, B, S), ERRATUM,
          "Data parallelism does not apply in inference",
          f"Two replicas share {B} sequences at {n(shared)} times the rate. Independent requests are a reason for it.",
          see="Other ways to use chips"),
    claim("6-pp-slow", "222", "", decode_step(node, B, S).weights > decode_step(pair, B, S).weights, AGREES,
          "A pipeline is slow, as a step passes its stages in turn",
          "Slower than as many ways: two stages of 8 take the time of 8 ways, not of 16. Nor are they slower than 8.",
          see="Other ways to use chips"),
    claim("6-pp", "222", "", fits(big, 1, 1), UNSTATED,
          "One node holds every model, so no pipeline is needed",
          f"The largest model has {n(weight_bytes(big) / GB)} GB in bf16: no node holds it, two stages do.",
          see="Other ways to use chips"),
    claim("6-tp-only", "223", "", full(pure) > 2 * full(node), ERRATUM,
          "Tensor parallelism is the only feasible way",
          f"Full, two replicas of 8 give {n(2 * full(node))} tokens/s; 16 ways {n(full(pure))}, or {n(full(pair))} if "
          "each chip keeps its own sequences: data parallelism again.",
          see="Other ways to use chips"),
    claim("6-tp", "223", "", decode_step(pair, B, S).weights < decode_step(node, B, S).weights, AGREES,
          "It lowers the latency, as each chip reads less", "Half the bytes on twice the chips.",
          see="What tensor parallelism moves"),
    claim("6-heads", "223", "", replace(half, kv_split="heads").kv_copies == 1, UNSTATED,
          "The cache splits over all chips, as the weights do",
          "There are 8 KV heads: on 16 chips each is stored twice, unless the batch is split as well.",
          see="The cache has eight heads"),
    claim("6-2bd", "227:2", "2", 2 * per_token(T_ring, link_bandwidth(TPU, axes=1, wrap=True)), CONVENTION,
          "Bytes of an AllReduce after every matmul, for each B D",
          "A pair of matmuls shares one: an AllGather and a ReduceScatter, this much each.",
          convention=per_token(T_ring, link_bandwidth(TPU, axes=1, wrap=True)),
          see="What tensor parallelism moves"),
    claim("6-node", "233:8", "8 cards", GPU.fast_domain, AGREES,
          "GPUs that NVLink joins", "In a node; an NVL72 rack joins more.", see="Beyond the node"),
    claim("6-ib", "233:10", "10 x", link_bandwidth(GPU) / NIC, ERRATUM,
          "NVLink over the network, per GPU",
          f"And eight cards leave the node together: then it is {n(link_bandwidth(GPU) / (8 * NIC))} times.",
          see="Beyond the node"),
    claim("6-limit", "233:8#2", "8 ways", max(parallel_sizes(LLAMA3_70B, GPU)), AGREES,
          "Usual limit of a GPU's tensor parallelism",
          f"Where NVLink ends, and as many KV heads; its bandwidth alone would allow {n(tp_limit(GPU, F))}.",
          see="Beyond the node"),
    claim("6-pod", "233", "", max(parallel_sizes(LLAMA3_70B, TPU)) >= TPU.fast_domain, ERRATUM,
          "A TPU can go on to the whole pod",
          f"Its links can; the query heads stop at {max(parallel_sizes(LLAMA3_70B, TPU))}, and at a large batch "
          f"arithmetic waits beyond {n(tp_limit(TPU, F, wrap=True))} ways.",
          see="GPU against TPU"),
    claim("6-relaxed", "237", "", tp_limit(TPU, F, batch=B, wrap=True) > tp_limit(TPU, F, wrap=True), AGREES,
          "At a small batch the limit is higher", "Reading leaves the links more time.",
          see="How far: against reading"),
    claim("6-memory-bound", "239", "", decode_step(d, B, S).weights > decode_step(d, B, S).compute, AGREES,
          "At a small batch reading takes longer than arithmetic", "Below the critical batch.",
          see="How far: against reading"),
    claim("6-lower", "240", "", with_links(d) < with_links(half), AGREES,
          "Even with its transfers, the step gets shorter with more ways",
          f"From {n(with_links(half) / ms)} ms on 16 chips to {n(with_links(d) / ms)} on 32, if nothing overlaps.",
          see="A worked case: 32 chips"),
    claim("6-eight", "241:8", "8", F / tp_limit(TPU, F, batch=1, axes=1, wrap=True), ERRATUM,
          "The 8 of a rough estimate, F / (8 B)",
          f"Memory over link bandwidth, bf16 weights, one ring. On NVLink it is {n(F / tp_limit(GPU, F, batch=1))}.",
          see="How far: against reading"),
    claim("6-32", "245:32", "32 chips", d.chips, AGREES,
          "Chips of the case", "An input: 4 x 8.", see="A worked case: 32 chips"),
    claim("6-26", "249:26", "26 ways", tp_limit(TPU, F, axes=2, wrap=True), ROUNDING,
          "Limit against arithmetic",
          f"Of two rings. A slice this small has none: {n(tp_limit(TPU, F, axes=1, wrap=True))} ways.",
          see="How far: against arithmetic"),
    claim("6-bound", "249", "", d.chips > tp_limit(TPU, F, axes=2, wrap=True), AGREES,
          "32 ways wait for the links when compute bound", "Beyond either limit.", see="A worked case: 32 chips"),
    claim("6-64", "251:64", "64 sequences", case.batch, AGREES,
          "Batch of the case", "An input.", see="A worked case: 32 chips"),
    claim("6-56", "251:56", "56 ways", tp_limit(TPU, F, batch=B, axes=1, wrap=True), ERRATUM,
          "Limit against reading", f"The 8 is a 9. With int8 weights it is {n(int8_limit)}, below 32.",
          see="How far: against reading"),
    claim("6-f", "251:28672", "28672", F, AGREES,
          "Width of the MLP", "The model's shape.", see="A worked case: 32 chips"),
    claim("6-d", "251:8192", "8192", D, AGREES,
          "Width of the model", "The model's shape.", see="A worked case: 32 chips"),
    claim("6-b-act", "253:2", "2 B", dtype_bytes("bf16"), AGREES,
          "Bytes of an activation", "bf16.", see="A worked case: 32 chips"),
    claim("6-link", "253:9", "9e10 B/s", link_bandwidth(TPU, axes=1, wrap=True), AGREES,
          "Link bandwidth", "Both directions of one axis: of a ring.", see="A worked case: 32 chips"),
    claim("6-t-ici", "253:11", "11 us", T_ring, ERRATUM,
          "Time on the links", f"Cut from 11.65, of a ring. One axis without wrap-around takes {n(T_line / us)}.",
          see="A worked case: 32 chips"),
    claim("6-b-w", "255:2", "2 B", d.weight_size, AGREES,
          "Bytes of a weight", "bf16.", see="A worked case: 32 chips"),
    claim("6-bandwidth", "255:8.1", "8.1e11 B/s", TPU.bandwidth, AGREES,
          "Memory bandwidth", "The least step of 12.5 implies more.", see="A worked case: 32 chips"),
    claim("6-t-hbm", "255:18", "18 us", T_read, ROUNDING,
          "Time to read one matrix", "To two digits.", see="A worked case: 32 chips"),
    claim("6-flop", "257:2", "2", decode_step(matmul, 1, 0).compute * d.flops / (D * F), AGREES,
          "FLOP of a weight for each sequence", "A multiplication and an addition.", see="A worked case: 32 chips"),
    claim("6-flops", "257:1.97", "1.97e14 FLOP/s", TPU.rate("bf16"), AGREES,
          "Arithmetic rate", "The catalogue's number.", see="A worked case: 32 chips"),
    claim("6-t-flops", "257:4.8", "4.8 us", decode_step(matmul, B, 0).compute, ROUNDING,
          "Time to multiply", "To two digits.", see="A worked case: 32 chips"),
    claim("6-fine", "259", "", matmul_collective_time(TPU, B, D, axes=2) < T_read, AGREES,
          "Reading is the longest, so 4x8 will do",
          "If both axes carry it: no ring closes, so each counts once, and two make the 9e10. Hops are left out.",
          see="A worked case: 32 chips"),
    claim("6-same", "259", "",
          tokens_per_second(d, B, S) / d.chips == tokens_per_second(half, B, S) / half.chips, AGREES,
          "4x4 gives the same throughput per chip", "At the same batch, and free links.",
          see="A worked case: 32 chips"),
    claim("6-same-full", "259", "", full(d) / d.chips == full(half) / half.chips, UNSTATED,
          "So it does with each slice at its largest batch",
          f"No, as 12.4 says: then 4x8 gives {n(full(d) / full(half) / 2)} times as much. At 8,192 tokens in bf16 "
          f"{max_batch(half, S)} fit a 4x4.", see="A worked case: 32 chips"),
    claim("6-halved", "259", "", 2 * decode_step(d, B, S).total == decode_step(half, B, S).total, AGREES,
          "4x8 halves the latency", "At the same batch, and free links.", see="A worked case: 32 chips"),

    claim("6-8-2200", "sharding, limit", "2200", TPU.rate("bf16") / link_bandwidth(TPU, axes=1, wrap=True), ROUNDING,
          "FLOP for each byte on a ring", "To two digits.", edition=PART8),
    claim("6-8-26", "sharding, limit", "26 ways", tp_limit(TPU, F, axes=2, wrap=True), ROUNDING,
          "Limit against arithmetic", "Of two rings.", edition=PART8),
    claim("6-8-f", "sharding, limit", "28,672", F, AGREES,
          "Width of the MLP", "The model's shape.", edition=PART8),
    claim("6-8-eight", "sharding, small batch", "8", F / tp_limit(TPU, F, batch=1, axes=1, wrap=True), ERRATUM,
          "The 8 of F / (8 B)", "Memory over link bandwidth.", edition=PART8),
    claim("6-8-56", "sharding, small batch", "56 ways", tp_limit(TPU, F, batch=B, axes=1, wrap=True), ERRATUM,
          "Limit against reading", "From that 8.", edition=PART8),
    claim("6-8-t-ici", "sharding, check", "11 us", T_ring, ERRATUM,
          "Time on the links", "Cut, and of a ring.", edition=PART8),
    claim("6-8-t-hbm", "sharding, check", "18 us", T_read, ROUNDING,
          "Time to read one matrix", "To two digits.", edition=PART8),
    claim("6-8-t-flops", "sharding, check", "4 us", decode_step(matmul, B, 0).compute, ERRATUM,
          "Time to multiply", "Cut to one digit.", edition=PART8),
    claim("6-8a-2550", "sharding, limit", "2550", TPU.rate("bf16") / link_bandwidth(TPU, axes=1, wrap=True),
          CONVENTION,
          "FLOP for each byte on a ring", "It is that of v5p.", edition=FIRST8,
          convention=TPU_V5P_TEXT.rate("bf16") / link_bandwidth(TPU_V5P_TEXT, axes=1, wrap=True)),
    claim("6-8a-22", "sharding, limit", "22 ways", tp_limit(TPU, F, axes=2, wrap=True), ERRATUM,
          "Limit against arithmetic", "From the links of v5p, and cut.", edition=FIRST8),
))
