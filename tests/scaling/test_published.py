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
    EVALUATORS,
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


@covers("arch.*.params.exact_over_nominal")
def exact_over_nominal(i: Inputs, name: list[str]) -> float:
    d = deployment_of(i)
    return memory.weight_bytes(replace(d, params="exact")) / memory.weight_bytes(d)


# 12.1 ---------------------------------------------------------------------------------------------------------------


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


@covers("fit.*.bf16.total_bytes", "fit.*.int8.total_bytes", "fit.*.int4.total_bytes")
def total_bytes(i: Inputs, name: list[str]) -> float:
    d = deployment_of(i)
    return memory.weight_bytes(d) + memory.cache_bytes(d, i["B"], i["S"])


def filled(i: Inputs, chips: int = 1) -> Deployment:
    """Weights that fill the entry's total to the byte, and no cache."""
    return deployment_of({"params": i["total"], "bytes_per_param": 1, "hbm_bytes": i["hbm_bytes"], "n": chips})


@covers("fit.*.min_gpus_pow2", "fit.*.min_slice")
def fewest_allowed(i: Inputs, name: list[str]) -> float:
    d = filled(i) if "total" in i else deployment_of(i)
    return memory.min_chips(d if name[1] == "v5e" else replace(d, chip=replace(H100_TEXT, memory=d.chip.memory)), 0, 0)


@covers("fit.*.min_chips")
def chips_unrounded(i: Inputs, name: list[str]) -> float:
    d = deployment_of(i)
    return memory.weight_bytes(d) / d.memory


def group_quantised(i: Inputs, **changes: Any) -> Deployment:
    """A deployment whose weights weigh what the package says that a 4 bit checkpoint with groups of 128 does."""
    size = memory.grouped_weight_bytes(LLAMA3_70B)
    assert size == i["weights"]
    return deployment_of(i | {"params": size, "bytes_per_param": 1}, **changes)


@covers("fit.*.int4_g128.*.total_bytes")
def group_quantised_total(i: Inputs, name: list[str]) -> float:
    d = group_quantised(i)
    return memory.weight_bytes(d) + memory.cache_bytes(d, i["B"], i["S"])


@covers("budget.8h100.bf16.*")
def sequences_in_budget(i: Inputs, name: list[str]) -> float:
    """Eight H100 of which so much is usable that the entry's budget is left beside 140 GB of weights."""
    node = deployment_of(i, chip=H100_TEXT, chips=8)
    d = replace(node, usable=(i["kv_budget"] + memory.weight_bytes(node)) / node.memory)
    assert memory.cache_budget(d) == pytest.approx(i["kv_budget"])
    return memory.max_batch(d, i["S"])


# 12.3 ---------------------------------------------------------------------------------------------------------------


@covers("decode_floor.*.matmul_only")
def floor_streamed(i: Inputs, name: list[str]) -> float:
    d = deployment_of(i, params="streamed")
    assert d.step_params == i["params"]
    return latency.decode_step(d, 1, 0).weights


@covers("attn.*.prefill_flops_share.*")
def attention_share(i: Inputs, name: list[str]) -> float:
    d = deployment_of(i, model=replace(model_of(i), q_heads=i["N"]))
    return latency.prefill_time(d, i["T"], attention=True) / latency.prefill_time(d, i["T"]) - 1


# 12.4 ---------------------------------------------------------------------------------------------------------------


@covers("bcrit.h100.*", "bcrit.v5e.*c", "bcrit.v5e.*.bw*", "bcrit.vendor.*")
def critical_batch(i: Inputs, name: list[str]) -> float:
    compute = "int8" if name[2].endswith("int8c") else "bf16"
    chip = replace(chip_of(i), flops={compute: i["flops"]})
    return roofline.critical_batch(chip, DTYPE[i["bytes_per_param"]], compute)


def at_max(i: Inputs) -> tuple[Deployment, float, float]:
    d = deployment_of(i)
    return d, i.get("B") or memory.max_batch(d, i["S"]), i["S"]


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


# 12.5 ---------------------------------------------------------------------------------------------------------------


@covers("tradeoff.*.batch_at_2x")
def batch_at_twice_the_step(i: Inputs, name: list[str]) -> float:
    d = deployment_of(i)
    return throughput.batch_at_step(d, i["S"], 2 * latency.decode_step(d, 1, i["S"]).total)


def cost_cut(i: Inputs, batch: float) -> float:
    d = deployment_of(i, chip=replace(chip_of(i), price=1.2))
    return throughput.cost_per_million_tokens(d, 1, i["S"]) / throughput.cost_per_million_tokens(d, batch, i["S"])


@covers("tradeoff.*.cost_cut_max")
def largest_cost_cut(i: Inputs, name: list[str]) -> float:
    d = deployment_of(i)
    return throughput.plateau(d, i["S"]) / throughput.tokens_per_second(d, 1, i["S"])


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


@covers("code.latency_at_best.*")
def step_of_the_best(i: Inputs, name: list[str]) -> float:
    d = deployment_of(i)
    assert throughput.best_batch(d, i["S"]) == i["B"]
    return latency.decode_step(d, i["B"], i["S"]).total / ms


# 12.9 ---------------------------------------------------------------------------------------------------------------


@covers("radix.saved_100", "radix.saved_100.bf16")
def saved_by_sharing(i: Inputs, name: list[str]) -> float:
    kv = "bf16" if name[-1] == "bf16" else "int8"
    return prefix.saved_bytes(LLAMA3_70B, i["prefix_bytes"] / LLAMA3_70B.kv_bytes_per_token(kv), i["requests"], kv=kv)


@covers("serve.*.kv_budget.*")
def budget_at_a_share(i: Inputs, name: list[str]) -> float:
    d = deployment_of(i | {"params": i["weights"], "bytes_per_param": 1}, usable=i["frac"])
    assert name[1] == "fp8_tp4" and d.weights == "int8"  # as large as fp8
    return memory.cache_budget(d)


# Those of one expression ---------------------------------------------------------------------------------------------

EVALUATORS |= {
    # arch
    "arch.*.mlp_share": lambda i, _: model_of(i).mlp_params / model_of(i).params,
    # 2 FLOP x heads per KV head over 2 bytes
    "arch.*.gqa_group": lambda i, _: roofline.attention_intensity(model_of(i), "bf16"),
    # 12.1
    "hw.*.flops_per_usd": lambda i, _: roofline.flops_per_dollar(chip_of(i)),
    "hw.*.hbm_bytes_per_usd": lambda i, _: roofline.bandwidth_per_dollar(chip_of(i)),
    "hw.*.flops_rate_per_usd_hour": lambda i, _: roofline.flops_per_dollar(chip_of(i)) / hour,
    "hw.*.hbm_gb_per_usd_hour": lambda i, _: roofline.memory_per_dollar_hour(chip_of(i)) / GB,
    # 12.2
    "kv.*.per_seq.*.gib": lambda i, name: cache(i, name) / GiB,
    "fit.*.min_gpus": lambda i, _: next(n for n in itertools.count(1) if memory.fits(filled(i, n), 0, 0)),
    "fit.*.headroom_bytes": lambda i, _: memory.cache_budget(filled(i, i["n"])),
    "fit.*.int4_g128.max_batch_90pct": lambda i, _: memory.max_batch(group_quantised(i, usable=i["frac"]), i["S"]),
    # 12.3
    "prefill.70b.*": lambda i, _: latency.prefill_time(deployment_of(i), i["T"], mfu=i["mfu"]),
    "decode_floor.*.tok_s": lambda i, _: throughput.tokens_per_second(deployment_of(i), 1, 0),
    **dict.fromkeys(
        ("decode_floor.*.bf16", "decode_floor.*.int8", "decode_floor.*.int4"),
        lambda i, _: latency.decode_step(deployment_of(i), 1, 0).total,
    ),
    **dict.fromkeys(
        ("decode.*.t_kv", "break.*.b[0-9]*.t_kv", "break.*.t_kv_per_seq.*"),
        lambda i, _: latency.decode_step(deployment_of(i), i.get("B", 1), i["S"]).cache,
    ),
    **dict.fromkeys(
        ("decode.*.t_param", "break.*.t_param", "break.*.t_param.*"),
        lambda i, _: latency.decode_step(deployment_of(i), i.get("B", 1), i.get("S", 0)).weights,
    ),
    **dict.fromkeys(
        ("decode.*.t_flops", "break.*.t_flops", "break.*.t_flops_per_seq"),
        lambda i, _: latency.decode_step(deployment_of(i), i.get("B", 1), i["S"]).compute,
    ),
    **dict.fromkeys(
        ("decode.*.step", "break.*.step", "longctx.*.step_at_max.*", "popquiz.*"),
        lambda i, _: latency.decode_step(deployment_of(i), i["B"], i["S"]).total,
    ),
    "attn.*.decode_flops_per_token.*": lambda i, _: roofline.attention_flops(
        replace(LLAMA3_70B, layers=i["L"], q_heads=i["N"], head_dim=i["H"]), i["S"]
    ),
    "attn.*.decode_intensity.*": lambda i, _: roofline.attention_intensity(model_of(i), DTYPE[i["bytes"]]),
    # 12.4
    "bcrit.*.with_activations.*": lambda i, _: roofline.critical_batch(chip_of(i), matmul=(i["D"], i["F"])),
    "v5e.*.free_bytes": lambda i, _: memory.cache_budget(deployment_of(i)),
    **dict.fromkeys(
        ("v5e.*.max_batch", "break.*.max_batch.*", "longctx.*.max_batch.*", "h100.max_batch.*"),
        lambda i, _: memory.max_batch(deployment_of(i), i["S"]),
    ),
    "v5e.*.step": lambda i, _: latency.decode_step(*at_max(i)).total,
    "v5e.*.mfu": lambda i, _: throughput.mfu(*at_max(i)),
    **dict.fromkeys(
        ("v5e.*.tok_s_chip", "break.*.tok_s_chip", "longctx.*.tok_s_chip_at_max.*"),
        lambda i, _: throughput.tokens_per_second_per_chip(*at_max(i)),
    ),
    "v5e.*.qps_per_chip.roofline": lambda i, _: throughput.queries_per_second_per_chip(*at_max(i), i["decode_len"]),
    "v5e.*.qps_per_chip.19ms": lambda i, _: (
        disaggregation.eviction_rate(i["B"], 0, i["decode_len"]).sequences / i["step"] / i["n"]
    ),
    "plateau_share.*": lambda i, name: plateau(i, name) / ceiling(i, name),
    # 12.5
    "tradeoff.*.cost_cut_at_2x": lambda i, name: cost_cut(i, batch_at_twice_the_step(i, name)),
    "tradeoff.*.max_context_for_100x": lambda i, name: crossing(
        lambda context: largest_cost_cut(i | {"S": context}, name) - 100, 1, 1e5
    ),
    "kv_gt_flops.context.*": lambda i, _: throughput.cache_over_compute_context(deployment_of(i)),
    # 12.6
    "tp.*.alpha": lambda i, _: 1000 / sharding.tp_limit(linked(i), 1000, axes=1, wrap=True),
    **dict.fromkeys(
        ("tp.h100.memory_limit.*", "tp.h100.limit.*"),
        lambda i, _: sharding.tp_limit(replace(linked(i), link_axes=1), i["F"], batch=i.get("B")),
    ),
    **dict.fromkeys(
        ("tp.v5e*.limit.*", "tp.v5e.compute_limit.*"),
        lambda i, _: sharding.tp_limit(linked(i), i["F"], axes=i["axes"], wrap=True),
    ),
    "tp.*.t_ici.*": lambda i, _: sharding.matmul_collective_time(linked(i), i["B"], i["D"], axes=i["axes"], wrap=True),
    # 12.7
    "prefill_over_step.*": lambda i, _: disaggregation.prefill_decode_ratio(i["prefill"], i["step"], 1, 1),
    "evict.seqs_per_step": lambda i, _: disaggregation.eviction_rate(i["B"], 0, i["G"]).sequences,
    "evict.steps_per_completion": lambda i, _: 1 / disaggregation.eviction_rate(i["B"], 0, i["G"]).sequences,
    "disagg.ratio.*": lambda i, _: disaggregation.prefill_decode_ratio(
        i["t_prefill"], i["t_step"], i["B"], i["decode_len"]
    ),
    # 12.8
    "code.*.latency_at_max": lambda i, _: latency.decode_step(*run_of(i)).total / ms,
    "code.*.throughput_at_max": lambda i, _: throughput.tokens_per_second_per_chip(*run_of(i)),
    "code.*.max_batch": lambda i, _: run_of(i)[1],
    "code.best_batch.*": lambda i, _: throughput.best_batch(
        deployment_of(i, chip=replace(chip_of(i), memory=640 * GB)), 8192
    ),
    # 12.9
    **dict.fromkeys(
        ("radix.prefix_bytes", "serve.*.256_requests.*"),
        lambda i, _: memory.cache_bytes(deployment_of(i), i.get("B", 1), i.get("S", i.get("tokens"))),
    ),
    "tp4.8b.bytes_per_gpu": lambda i, _: memory.weight_bytes(deployment_of(i)) / i["tp"],
    "tp4.8b.decode_floor": lambda i, _: latency.decode_step(deployment_of(i, chips=i["tp"]), 1, 0).total,
}


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
