"""Evaluators of the worked problems, section 12.10 of data/published.json. See evaluators.py."""

import itertools
import math
from dataclasses import replace

from scaling import latency, memory, sharding, throughput
from scaling.chips import H100_TEXT, TPU_V5E_TEXT
from scaling.deployment import Deployment, Efficiency
from scaling.models import LLAMA3_8B, LLAMA3_405B
from scaling.units import us
from tests.scaling.evaluators import DTYPE, EVALUATORS, Inputs, chip_of, covers, deployment_of, model_of

# Q1 -----------------------------------------------------------------------------------------------------------------


@covers("q1a.flops_per_token", "q1a.flops_per_token.exact")
def flops_per_token(i: Inputs, name: list[str]) -> float:
    """One token's arithmetic, on a chip that does one FLOP a second, takes as many seconds."""
    slow = replace(TPU_V5E_TEXT, flops={"bf16": 1.0})
    if name[-1] == "exact":
        assert LLAMA3_405B.params == i["params"]
        return latency.decode_step(Deployment(model=LLAMA3_405B, chip=slow), 1, 0).compute
    return latency.decode_step(deployment_of(i, chip=slow), 1, 0).compute


# Q2 -----------------------------------------------------------------------------------------------------------------


@covers("q2b.kv_per_token")
def kv_per_token(i: Inputs, name: list[str]) -> float:
    dtype = DTYPE[i["bytes"]]
    assert model_of(i).kv_bytes_per_token(dtype) == LLAMA3_8B.kv_bytes_per_token(dtype)
    return model_of(i).kv_bytes_per_token(dtype)


@covers("q2d.total_bytes")
def total(i: Inputs, name: list[str]) -> float:
    """The whole of problem 2: weights, 240 sequences of 8192 tokens, and their logits."""
    d = Deployment(model=LLAMA3_8B, chip=TPU_V5E_TEXT, weights="int8", kv="int8", params="nominal")
    parts = memory.weight_bytes(d), memory.cache_bytes(d, 240, 8192), memory.activation_bytes(LLAMA3_8B, 240).logits
    assert parts == (i["params"], i["kv"], i["act"])
    return sum(parts)


def filled(i: Inputs) -> Deployment:
    """Weights that fill the entry's bytes, and no cache."""
    return deployment_of({"params": i.get("total", i.get("params")), "bytes_per_param": 1, "hbm_bytes": i["hbm_bytes"]})


# Q3 -----------------------------------------------------------------------------------------------------------------


@covers("q3b.*.max_batch")
def batch_under_limit(i: Inputs, name: list[str]) -> float:
    return throughput.largest_batch(deployment_of(i), i["S"], max_step=i["limit_s"])


@covers("q3b.ici_per_seq.wrap")
def collectives_of_one_sequence(i: Inputs, name: list[str]) -> float:
    assert i["bytes"] == 2
    ring = replace(TPU_V5E_TEXT, link_bandwidth=i["w_ici"] / 2)  # the entry counts both directions of an axis
    return 4 * i["L"] * sharding.matmul_collective_time(ring, 1, i["D"], axes=i["axes"], wrap=True)


@covers("q3b.s8192.max_batch.serial_nowrap")
def batch_with_collectives(i: Inputs, name: list[str]) -> float:
    d = deployment_of(i, efficiency=Efficiency(links=1.0))
    own = d.chips / (d.chips - 1)  # the entry leaves out that each chip has its own part
    assert math.isclose(latency.decode_step(d, 1, 0).collectives * own, i["ici_s_per_seq"])
    return throughput.largest_batch(d, i["S"], max_step=i["limit_s"])


@covers("q3c.hop_latency.*")
def travel(i: Inputs, name: list[str]) -> float:
    shape = {"n32": (4, 8), "n64": (8, 8)}[name[-1]]
    assert (sharding.slice_hops(shape), i["collectives"]) == (i["hops"], 4)
    return sharding.hop_time(replace(LLAMA3_405B, layers=i["L"]), i["hops"], hop=i["t_hop"])


@covers("q3c.floor_with_hops.*")
def floor_with_travel(i: Inputs, name: list[str]) -> float:
    d = Deployment(model=LLAMA3_405B, chip=TPU_V5E_TEXT, chips=i["n"], weights="int8", params="nominal")
    hops = sharding.slice_hops((16, 16), wrap=True)
    return latency.decode_step(d, 1, 0).total + sharding.hop_time(d.model, hops, hop=1 * us)


# Q4 -----------------------------------------------------------------------------------------------------------------


@covers("q4.h100.tp[0-9].batch", "q4.v5e.4x[0-9].batch")
def batch_per_replica(i: Inputs, name: list[str]) -> float:
    return throughput.largest_batch(deployment_of(i), i["S"], max_step=i.get("limit_s", math.inf))


@covers("q4.*.qps_per_replica")
def queries_of_replica(i: Inputs, name: list[str]) -> float:
    d = deployment_of(i)
    return throughput.queries_per_second(d, batch_per_replica(i, name), i["S"], i["decode_len"])


@covers("q4.*.replicas")
def replicas(i: Inputs, name: list[str]) -> float:
    d = deployment_of(i)
    return throughput.replicas_for(d, i["qps"], batch_per_replica(i, name), i["S"], i["decode_len"])


@covers("q4.h100.tp[0-9].chips", "q4.sens.*.chips", "q4.slo*.chips")
def chips(i: Inputs, name: list[str]) -> float:
    return replicas(i, name) * i["n"]


@covers("q4.prefill.h100")
def prefill(i: Inputs, name: list[str]) -> float:
    assert H100_TEXT.rate("bf16") == i["flops"]
    return throughput.prefill_chips(deployment_of(i), i["qps"], i["T"], mfu=i["mfu"])


@covers("q4.h100.naive_fullhbm.qps_per_chip")
def queries_by_full_memory(i: Inputs, name: list[str]) -> float:
    """A step that only reads a whole memory: weights of that many bytes, no cache, arithmetic that takes no time."""
    chip = replace(H100_TEXT, flops={"bf16": 1e30})
    d = Deployment(
        model=replace(LLAMA3_8B, nominal_params=8 * chip.memory),
        chip=chip,
        chips=i["n"],
        weights="int8",
        params="nominal",
    )
    assert math.isclose(latency.decode_step(d, i["B"], 0).total, i["step"])
    return throughput.queries_per_second_per_chip(d, i["B"], 0, i["decode_len"])


# Those of one expression ---------------------------------------------------------------------------------------------

EVALUATORS |= {
    # Q2
    "q2a.param_bytes": lambda i, _: memory.weight_bytes(deployment_of(i)),
    "q2c.residual_bytes": lambda i, _: (
        memory.activation_bytes(model_of(i), i["B"], activations=DTYPE[i["bytes"]]).residual
    ),
    "q2c.mlp_hidden_bytes": lambda i, _: (
        memory.activation_bytes(model_of(i), i["B"], activations=DTYPE[i["bytes"]]).mlp
    ),
    "q2d.chips_unrounded": lambda i, _: memory.weight_bytes(filled(i)) / filled(i).memory,
    # Q3
    "q3.weights_only.min_chips": lambda i, _: next(
        n for n in itertools.count(1) if memory.fits(replace(filled(i), chips=n), 0, 0)
    ),
    "q3.weights_only.slice": lambda i, _: memory.min_chips(
        replace(filled(i), model=replace(LLAMA3_405B, nominal_params=i["params"])), 0, 0
    ),
    "q3a.floor.n[0-9]*": lambda i, _: latency.decode_step(deployment_of(i), 1, 0).total,
    "q3b.*.memory_batch": lambda i, _: memory.max_batch(deployment_of(i), i["S"]),
    "q3b.*.step": lambda i, name: latency.decode_step(deployment_of(i), batch_under_limit(i, name), i["S"]).total,
    "q3b.*.tok_s_chip": lambda i, name: throughput.tokens_per_second_per_chip(
        deployment_of(i), batch_under_limit(i, name), i["S"]
    ),
    # Q4
    "q4.*.step": lambda i, name: latency.decode_step(deployment_of(i), batch_per_replica(i, name), i["S"]).total,
    "q4.*.usd_per_hour": lambda i, name: throughput.cost_per_hour(
        chip_of(i | {"usd_per_hour": i["usd"]}), chips(i, name)
    ),
}
