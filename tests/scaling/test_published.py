"""Published numbers: every entry of data/published.json, computed by `scaling` from the entry's own inputs.

An evaluator builds the records from the inputs and calls the package; it repeats no formula. Where the package has no
function of that very name, the evaluator asks a function that contains the quantity (a full memory is read in the step
of a model that fills it) or searches with one (the batch whose step is twice as long).
"""

import itertools
import json
from dataclasses import replace
from typing import Any

import pytest

from scaling import disaggregation, latency, memory, prefix, roofline, sharding, throughput
from scaling.chips import CATALOGUE, H100_TEXT, TPU_V5E_TEXT, Chip
from scaling.deployment import Deployment
from scaling.models import LLAMA3_70B
from scaling.units import GB, GiB, hour, ms
from tests.paths import DATA
from tests.scaling import published_problems  # noqa: F401  registers the evaluators of section 12.10
from tests.scaling.evaluators import (
    DTYPE,
    MODELS,
    Inputs,
    chip_of,
    covers,
    crossing,
    deployment_of,
    evaluators,
    kv_dtype,
    model_of,
)

FILE = json.loads((DATA / "published.json").read_text(encoding="utf-8"))
ENTRIES = FILE["entries"]

# arch ---------------------------------------------------------------------------------------------------------------

COUNTS = {
    "params.exact": "params",
    "params.attn": "attention_params",
    "params.mlp": "mlp_params",
    "params.vocab": "vocab_params",
    "params.norm": "norm_params",
    "params.matmul": "matmul_params",
}


@covers("arch.*.params.exact", "arch.*.params.attn", "arch.*.params.mlp", "arch.*.params.vocab")
@covers("arch.*.params.norm", "arch.*.params.matmul")
def parameters(i: Inputs, name: list[str]) -> float:
    count = COUNTS[".".join(name[2:])]
    assert getattr(MODELS[name[1]], count) == getattr(model_of(i), count)  # the catalogue has the published shape
    return getattr(model_of(i), count)


@covers("arch.*.mlp_share")
def mlp_share(i: Inputs, name: list[str]) -> float:
    return model_of(i).mlp_params / model_of(i).params


@covers("arch.*.params.exact_over_nominal")
def exact_over_nominal(i: Inputs, name: list[str]) -> float:
    d = deployment_of(i)
    return memory.weight_bytes(replace(d, params="exact")) / memory.weight_bytes(d)


@covers("arch.*.gqa_group")
def gqa_group(i: Inputs, name: list[str]) -> float:
    return roofline.attention_intensity(model_of(i), "bf16")  # 2 FLOP x heads per KV head over 2 bytes


# 12.1 ---------------------------------------------------------------------------------------------------------------


@covers("hw.*.flops_per_usd")
def flops_per_usd(i: Inputs, name: list[str]) -> float:
    return roofline.flops_per_dollar(chip_of(i))


@covers("hw.*.hbm_bytes_per_usd")
def bytes_per_usd(i: Inputs, name: list[str]) -> float:
    return roofline.bandwidth_per_dollar(chip_of(i))


@covers("hw.*.flops_rate_per_usd_hour")
def rate_per_usd_hour(i: Inputs, name: list[str]) -> float:
    return roofline.flops_per_dollar(chip_of(i)) / hour


@covers("hw.*.hbm_gb_per_usd_hour")
def capacity_per_usd_hour(i: Inputs, name: list[str]) -> float:
    return roofline.memory_per_dollar_hour(chip_of(i)) / GB


@covers("hw.*.breakeven_price.*")
def breakeven_price(i: Inputs, name: list[str]) -> float:
    measure, field, key = {
        "flops": (roofline.flops_per_dollar, "flops", "flops"),
        "bw": (roofline.bandwidth_per_dollar, "bandwidth", "bw"),
        "hbm": (roofline.memory_per_dollar_hour, "memory", "hbm"),
    }[name[-1]]

    def chip(which: str) -> Chip:
        value = i[f"{key}_{which}"]
        return replace(TPU_V5E_TEXT, **{field: {"bf16": value} if field == "flops" else value})

    return roofline.breakeven_price(chip("h100"), chip("v5e"), measure, price=i["usd_v5e"])


# 12.2 ---------------------------------------------------------------------------------------------------------------


@covers("weights.*.nominal", "weights.*.exact")
def weights(i: Inputs, name: list[str]) -> float:
    d = deployment_of(i, model=MODELS[name[1]], params=name[-1])
    assert d.stored_params == i["params"]
    return memory.weight_bytes(d)


@covers("kv.*.per_token")
def kv_per_token(i: Inputs, name: list[str]) -> float:
    assert model_of(i).kv_bytes_per_token() == MODELS[name[1]].kv_bytes_per_token()
    return model_of(i).kv_bytes_per_token(kv_dtype(i))


@covers("kv.*.per_seq.[0-9]*[0-9]", "fit.*.kv_bytes")
def cache(i: Inputs, name: list[str]) -> float:
    return memory.cache_bytes(deployment_of(i), i.get("B", 1), i["S"])


@covers("kv.*.per_seq.*.gib")
def cache_gib(i: Inputs, name: list[str]) -> float:
    return cache(i, name) / GiB


@covers("fit.*.bf16.total_bytes", "fit.*.int8.total_bytes", "fit.*.int4.total_bytes")
def total_bytes(i: Inputs, name: list[str]) -> float:
    d = deployment_of(i)
    return memory.weight_bytes(d) + memory.cache_bytes(d, i["B"], i["S"])


def filled(i: Inputs, chips: int = 1) -> Deployment:
    """Weights that fill the entry's total to the byte, and no cache."""
    return deployment_of({"params": i["total"], "bytes_per_param": 1, "hbm_bytes": i["hbm_bytes"], "n": chips})


@covers("fit.*.min_gpus")
def fewest_by_capacity(i: Inputs, name: list[str]) -> float:
    return next(n for n in itertools.count(1) if memory.fits(filled(i, n), 0, 0))


@covers("fit.*.min_gpus_pow2", "fit.*.min_slice")
def fewest_allowed(i: Inputs, name: list[str]) -> float:
    d = filled(i) if "total" in i else deployment_of(i)
    return memory.min_chips(d if name[1] == "v5e" else replace(d, chip=replace(H100_TEXT, memory=d.chip.memory)), 0, 0)


@covers("fit.*.min_chips")
def chips_unrounded(i: Inputs, name: list[str]) -> float:
    d = deployment_of(i)
    return memory.weight_bytes(d) / d.memory


@covers("fit.*.headroom_bytes")
def headroom(i: Inputs, name: list[str]) -> float:
    return memory.cache_budget(filled(i, i["n"]))


def group_quantised(i: Inputs, **changes: Any) -> Deployment:
    """A deployment whose weights weigh what the package says that a 4 bit checkpoint with groups of 128 does."""
    size = memory.grouped_weight_bytes(LLAMA3_70B)
    assert size == i["weights"]
    return deployment_of(i | {"params": size, "bytes_per_param": 1}, **changes)


@covers("fit.*.int4_g128.*.total_bytes")
def group_quantised_total(i: Inputs, name: list[str]) -> float:
    d = group_quantised(i)
    return memory.weight_bytes(d) + memory.cache_bytes(d, i["B"], i["S"])


@covers("fit.*.int4_g128.max_batch_90pct")
def group_quantised_batch(i: Inputs, name: list[str]) -> float:
    return memory.max_batch(group_quantised(i, usable=i["frac"]), i["S"])


@covers("budget.8h100.bf16.*")
def sequences_in_budget(i: Inputs, name: list[str]) -> float:
    """Eight H100 of which so much is usable that the entry's budget is left beside 140 GB of weights."""
    node = deployment_of(i, chip=H100_TEXT, chips=8)
    d = replace(node, usable=(i["kv_budget"] + memory.weight_bytes(node)) / node.memory)
    assert memory.cache_budget(d) == pytest.approx(i["kv_budget"])
    return memory.max_batch(d, i["S"])


# 12.3 ---------------------------------------------------------------------------------------------------------------


@covers("prefill.70b.*")
def prefill(i: Inputs, name: list[str]) -> float:
    return latency.prefill_time(deployment_of(i), i["T"], mfu=i["mfu"])


@covers("decode_floor.*.tok_s")
def one_stream(i: Inputs, name: list[str]) -> float:
    return throughput.tokens_per_second(deployment_of(i), 1, 0)


@covers("decode_floor.*.matmul_only")
def floor_streamed(i: Inputs, name: list[str]) -> float:
    d = deployment_of(i, params="streamed")
    assert d.step_params == i["params"]
    return latency.decode_step(d, 1, 0).weights


@covers("decode_floor.*.bf16", "decode_floor.*.int8", "decode_floor.*.int4")
def floor(i: Inputs, name: list[str]) -> float:
    return latency.decode_step(deployment_of(i), 1, 0).total


@covers("decode.*.t_kv", "break.*.b[0-9]*.t_kv", "break.*.t_kv_per_seq.*")
def t_kv(i: Inputs, name: list[str]) -> float:
    return latency.decode_step(deployment_of(i), i.get("B", 1), i["S"]).cache


@covers("decode.*.t_param", "break.*.t_param", "break.*.t_param.*")
def t_param(i: Inputs, name: list[str]) -> float:
    return latency.decode_step(deployment_of(i), i.get("B", 1), i.get("S", 0)).weights


@covers("decode.*.t_flops", "break.*.t_flops", "break.*.t_flops_per_seq")
def t_flops(i: Inputs, name: list[str]) -> float:
    return latency.decode_step(deployment_of(i), i.get("B", 1), i["S"]).compute


@covers("decode.*.step", "break.*.step", "longctx.*.step_at_max.*", "popquiz.*")
def step(i: Inputs, name: list[str]) -> float:
    return latency.decode_step(deployment_of(i), i["B"], i["S"]).total


@covers("attn.*.decode_flops_per_token.*")
def attention_flops(i: Inputs, name: list[str]) -> float:
    return roofline.attention_flops(replace(LLAMA3_70B, layers=i["L"], q_heads=i["N"], head_dim=i["H"]), i["S"])


@covers("attn.*.prefill_flops_share.*")
def attention_share(i: Inputs, name: list[str]) -> float:
    d = deployment_of(i, model=replace(model_of(i), q_heads=i["N"]))
    return latency.prefill_time(d, i["T"], attention=True) / latency.prefill_time(d, i["T"]) - 1


@covers("attn.*.decode_intensity.*")
def attention_intensity(i: Inputs, name: list[str]) -> float:
    return roofline.attention_intensity(model_of(i), DTYPE[i["bytes"]])


# 12.4 ---------------------------------------------------------------------------------------------------------------


@covers("bcrit.h100.*", "bcrit.v5e.*c", "bcrit.v5e.*.bw*", "bcrit.vendor.*")
def critical_batch(i: Inputs, name: list[str]) -> float:
    compute = "int8" if name[2].endswith("int8c") else "bf16"
    chip = replace(chip_of(i), flops={compute: i["flops"]})
    return roofline.critical_batch(chip, DTYPE[i["bytes_per_param"]], compute)


@covers("bcrit.*.with_activations.*")
def critical_batch_with_activations(i: Inputs, name: list[str]) -> float:
    return roofline.critical_batch(chip_of(i), matmul=(i["D"], i["F"]))


@covers("v5e.*.free_bytes")
def free_bytes(i: Inputs, name: list[str]) -> float:
    return memory.cache_budget(deployment_of(i))


@covers("v5e.*.max_batch", "break.*.max_batch.*", "longctx.*.max_batch.*", "h100.max_batch.*")
def max_batch(i: Inputs, name: list[str]) -> float:
    return memory.max_batch(deployment_of(i), i["S"])


def at_max(i: Inputs) -> tuple[Deployment, float, float]:
    d = deployment_of(i)
    return d, i.get("B") or memory.max_batch(d, i["S"]), i["S"]


@covers("v5e.*.step")
def step_at_max(i: Inputs, name: list[str]) -> float:
    return latency.decode_step(*at_max(i)).total


@covers("v5e.*.mfu")
def mfu_at_max(i: Inputs, name: list[str]) -> float:
    return throughput.mfu(*at_max(i))


@covers("v5e.*.tok_s_chip", "break.*.tok_s_chip", "longctx.*.tok_s_chip_at_max.*")
def tokens_per_chip(i: Inputs, name: list[str]) -> float:
    return throughput.tokens_per_second_per_chip(*at_max(i))


@covers("v5e.*.qps_per_chip.roofline")
def queries_per_chip(i: Inputs, name: list[str]) -> float:
    return throughput.queries_per_second_per_chip(*at_max(i), i["decode_len"])


@covers("v5e.*.qps_per_chip.19ms")
def queries_per_chip_fixed_step(i: Inputs, name: list[str]) -> float:
    return disaggregation.eviction_rate(i["B"], 0, i["decode_len"]).sequences / i["step"] / i["n"]


@covers("*.fill_hbm_time", "*.fill_hbm_time.bw*")
def full_memory(i: Inputs, name: list[str]) -> float:
    d = deployment_of(i | {"params": i["hbm_bytes"], "bytes_per_param": 1})
    assert memory.weight_bytes(d) == d.memory
    return latency.decode_step(d, 1, 0).weights


@covers("throughput_cap.*")
def ceiling(i: Inputs, name: list[str]) -> float:
    return throughput.compute_ceiling(deployment_of(i))


@covers("plateau.*")
def plateau(i: Inputs, name: list[str]) -> float:
    return throughput.plateau(deployment_of(i), i["S"])


@covers("plateau_share.*")
def plateau_share(i: Inputs, name: list[str]) -> float:
    return plateau(i, name) / ceiling(i, name)


# 12.5 ---------------------------------------------------------------------------------------------------------------


@covers("tradeoff.*.batch_at_2x")
def batch_at_twice_the_step(i: Inputs, name: list[str]) -> float:
    d = deployment_of(i)
    return throughput.batch_at_step(d, i["S"], 2 * latency.decode_step(d, 1, i["S"]).total)


def cost_cut(i: Inputs, batch: float) -> float:
    d = deployment_of(i, chip=replace(chip_of(i), price=1.2))
    return throughput.cost_per_million_tokens(d, 1, i["S"]) / throughput.cost_per_million_tokens(d, batch, i["S"])


@covers("tradeoff.*.cost_cut_at_2x")
def cost_cut_at_twice_the_step(i: Inputs, name: list[str]) -> float:
    return cost_cut(i, batch_at_twice_the_step(i, name))


@covers("tradeoff.*.cost_cut_max")
def largest_cost_cut(i: Inputs, name: list[str]) -> float:
    d = deployment_of(i)
    return throughput.plateau(d, i["S"]) / throughput.tokens_per_second(d, 1, i["S"])


@covers("tradeoff.*.max_context_for_100x")
def longest_context_for_100x(i: Inputs, name: list[str]) -> float:
    return crossing(lambda context: largest_cost_cut(i | {"S": context}, name) - 100, 1, 1e5)


@covers("kv_gt_flops.context.*")
def context_where_cache_exceeds_compute(i: Inputs, name: list[str]) -> float:
    return throughput.cache_over_compute_context(deployment_of(i))


@covers("kv_gt_param.batch.*")
def batch_where_cache_exceeds_weights(i: Inputs, name: list[str]) -> float:
    d = deployment_of(i)
    first = int(throughput.cache_over_weights_tokens(d) // i["S"]) + 1
    one = latency.decode_step(d, first, i["S"])
    assert one.cache > one.weights >= one.cache * (first - 1) / first
    return first


# 12.6 ---------------------------------------------------------------------------------------------------------------


def linked(i: Inputs) -> Chip:
    """A chip with the entry's links. The entries' w_ici counts both directions of an axis: a ring of half of it."""
    rate = i["w"] if "w" in i else i.get("w_ici", 90e9) / 2
    return replace(chip_of(i), link_bandwidth=rate)


@covers("tp.*.alpha")
def flops_per_link_byte(i: Inputs, name: list[str]) -> float:
    return 1000 / sharding.tp_limit(linked(i), 1000, axes=1, wrap=True)


@covers("tp.*.beta")
def memory_bytes_per_link_byte(i: Inputs, name: list[str]) -> float:
    return 1000 / sharding.tp_limit(linked(i), 1000, batch=1, axes=1, wrap="w_ici" in i)


@covers("tp.v5e.memory_limit.*")
def memory_bound_limit_torus(i: Inputs, name: list[str]) -> float:
    dtypes = {"weights": DTYPE[i["bytes_w"]], "activations": DTYPE[i["bytes_act"]]}
    assert memory_bytes_per_link_byte({"w_ici": 90e9, "hbm_bw": TPU_V5E_TEXT.bandwidth}, name) == pytest.approx(
        i["beta"]
    )
    return sharding.tp_limit(TPU_V5E_TEXT, i["F"], batch=i["B"], axes=i["axes"], wrap=True, **dtypes)


@covers("tp.h100.memory_limit.*", "tp.h100.limit.*")
def limit_switch(i: Inputs, name: list[str]) -> float:
    return sharding.tp_limit(replace(linked(i), link_axes=1), i["F"], batch=i.get("B"))


@covers("tp.v5e*.limit.*", "tp.v5e.compute_limit.*")
def compute_bound_limit_torus(i: Inputs, name: list[str]) -> float:
    return sharding.tp_limit(linked(i), i["F"], axes=i["axes"], wrap=True)


@covers("tp.*.t_ici.*")
def t_ici(i: Inputs, name: list[str]) -> float:
    return sharding.matmul_collective_time(linked(i), i["B"], i["D"], axes=i["axes"], wrap=True)


@covers("tp.*.t_hbm")
def t_hbm(i: Inputs, name: list[str]) -> float:
    one_matmul = {"params": i["D"] * i["F"], "bytes_per_param": i["bytes"], "n": i["Y"], "hbm_bw": i["hbm_bw"]}
    return latency.decode_step(deployment_of(one_matmul), 1, 0).weights


@covers("net.*")
def link_ratio(i: Inputs, name: list[str]) -> float:
    slow, fast = (linked({"w": i[link]}) for link in ("ib", "nvlink"))
    return sharding.matmul_collective_time(slow, 1, 1000) / sharding.matmul_collective_time(fast, 1, 1000)


@covers("kv.*.tp16_replicated.max_batch.*")
def max_batch_with_copies(i: Inputs, name: list[str]) -> float:
    d = deployment_of(i, kv_split="heads")
    assert d.model.kv_heads == i["kv_shards"]
    return memory.max_batch(d, i["S"])


# 12.7 ---------------------------------------------------------------------------------------------------------------


@covers("prefill_over_step.*")
def prefill_over_step(i: Inputs, name: list[str]) -> float:
    return disaggregation.prefill_decode_ratio(i["prefill"], i["step"], 1, 1)


@covers("evict.seqs_per_step")
def evicted(i: Inputs, name: list[str]) -> float:
    return disaggregation.eviction_rate(i["B"], 0, i["G"]).sequences


@covers("evict.steps_per_completion")
def steps_between(i: Inputs, name: list[str]) -> float:
    return 1 / disaggregation.eviction_rate(i["B"], 0, i["G"]).sequences


@covers("disagg.ratio.*")
def servers_per_server(i: Inputs, name: list[str]) -> float:
    return disaggregation.prefill_decode_ratio(i["t_prefill"], i["t_step"], i["B"], i["decode_len"])


@covers("disagg.kv_transfer.bf16_8192.*")
def transfer(i: Inputs, name: list[str]) -> float:
    assert memory.cache_bytes(deployment_of({}), 1, 8192) == i["kv_bytes"]
    return disaggregation.transfer_time(LLAMA3_70B, 8192, i["bw"])


# 12.8 ---------------------------------------------------------------------------------------------------------------


def run_of(i: Inputs) -> tuple[Deployment, float, float]:
    """What one run of the script describes: a deployment, the largest batch that fits, the context."""
    return at_max({**i, "n": i["num_chips"], "S": i["sequence_length"]})


@covers("code.*.min_latency")
def shortest_step(i: Inputs, name: list[str]) -> float:
    d, _, context = run_of(i)
    return latency.decode_step(d, 1, context).total / ms


@covers("code.*.latency_at_max")
def longest_step(i: Inputs, name: list[str]) -> float:
    return latency.decode_step(*run_of(i)).total / ms


@covers("code.*.throughput_at_max")
def throughput_of_the_largest(i: Inputs, name: list[str]) -> float:
    return throughput.tokens_per_second_per_chip(*run_of(i))


@covers("code.*.max_batch")
def largest(i: Inputs, name: list[str]) -> float:
    return run_of(i)[1]


@covers("code.best_batch.*")
def best(i: Inputs, name: list[str]) -> float:
    return throughput.best_batch(deployment_of(i, chip=replace(chip_of(i), memory=640 * GB)), 8192)


@covers("code.latency_at_best.*")
def step_of_the_best(i: Inputs, name: list[str]) -> float:
    d = deployment_of(i)
    assert throughput.best_batch(d, i["S"]) == i["B"]
    return latency.decode_step(d, i["B"], i["S"]).total / ms


# 12.9 ---------------------------------------------------------------------------------------------------------------


@covers("radix.prefix_bytes", "serve.*.256_requests.*")
def cache_of_requests(i: Inputs, name: list[str]) -> float:
    return memory.cache_bytes(deployment_of(i), i.get("B", 1), i.get("S", i.get("tokens")))


@covers("radix.saved_100", "radix.saved_100.bf16")
def saved_by_sharing(i: Inputs, name: list[str]) -> float:
    kv = "bf16" if name[-1] == "bf16" else "int8"
    return prefix.saved_bytes(LLAMA3_70B, i["prefix_bytes"] / LLAMA3_70B.kv_bytes_per_token(kv), i["requests"], kv=kv)


@covers("tp4.8b.bytes_per_gpu")
def weights_of_one_chip(i: Inputs, name: list[str]) -> float:
    return memory.weight_bytes(deployment_of(i)) / i["tp"]


@covers("tp4.8b.decode_floor")
def floor_of_four(i: Inputs, name: list[str]) -> float:
    return latency.decode_step(deployment_of(i, chips=i["tp"]), 1, 0).total


@covers("serve.*.kv_budget.*")
def budget_at_a_share(i: Inputs, name: list[str]) -> float:
    d = deployment_of(i | {"params": i["weights"], "bytes_per_param": 1}, usable=i["frac"])
    assert name[1] == "fp8_tp4" and d.weights == "int8"  # as large as fp8
    return memory.cache_budget(d)


# The tests ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry["id"] for entry in ENTRIES])
def test_published_value(entry: dict[str, Any]) -> None:
    found = evaluators(entry["id"])
    assert len(found) == 1, f"{entry['id']} needs exactly one evaluator, has {len(found)}"
    value = found[0](entry["inputs"], entry["id"].split("."))
    assert value == pytest.approx(entry["value"], rel=entry["rel_tol"], abs=0), entry["description"]


def test_every_section_is_here() -> None:
    per_section = {s: sum(e["section"] == s for e in ENTRIES) for s in {e["section"] for e in ENTRIES}}
    text = {"12.1": 9, "12.2": 39, "12.3": 21, "12.4": 54, "12.5": 47, "12.6": 14, "12.7": 8, "12.8": 15, "12.9": 7}
    assert per_section == {"arch": 18, **text, "12.10": 68}
    assert len({e["id"] for e in ENTRIES}) == len(ENTRIES)
    assert FILE["source"] and FILE["date"]


@pytest.mark.parametrize("vendor", ["a100_80g_sxm", "h200_sxm", "tpu_v5e"])
def test_catalogue_has_the_vendors_constants(vendor: str) -> None:
    """The file's data sheet numbers are the catalogue's own."""
    i = next(e["inputs"] for e in ENTRIES if e["id"] == f"bcrit.vendor.{vendor}.bf16")
    name = {"a100_80g_sxm": "A100 80GB SXM", "h200_sxm": "H200 SXM", "tpu_v5e": "TPU v5e"}[vendor]
    chip = next(chip for chip in CATALOGUE if chip.name == name)
    assert (chip.rate("bf16"), chip.bandwidth) == pytest.approx((i["flops"], i["hbm_bw"]))


def test_text_records_have_the_texts_constants() -> None:
    """The chapter's numbers for both chips, as printed there."""
    h100 = {"memory": 80e9, "bandwidth": 3.35e12, "link_bandwidth": 450e9, "price": 10.8}
    v5e = {"memory": 16e9, "bandwidth": 8.1e11, "link_bandwidth": 45e9, "price": 1.2}
    for chip, expected in ((H100_TEXT, h100), (TPU_V5E_TEXT, v5e)):
        assert {field: getattr(chip, field) for field in expected} == expected
    assert (H100_TEXT.rate("bf16"), H100_TEXT.rate("int8"), TPU_V5E_TEXT.rate("int8")) == (9.9e14, 1.98e15, 3.94e14)
