"""One row a formula: how it is called, how it follows from bytes and FLOP, and what it is exempt from, and why.

The laws (arrays of any library, `scaling/test_laws.py`), the dimensions (`test_dimensions.py`) and the second
derivation (`test_derivations.py`) are all parametrised from here; `lint/test_formulas.py` is red without a row.

To add a formula: a row with its path below `scaling`, and a case for each way to call it. A case is called with a world
`w` that has the records (`w.d`, `w.chip`, `w.model`) and a number for each letter of the book (`w.B`, `w.S`), and must
give every argument that has a unit somewhere. It is derived from `t`, which knows the same letters and what takes how
long (`scaling/symbolic.py`); `t.x` is the unknown that `t.equal` solves for. A case that is not derived says in `tried`
which test of `test_derivations.py` comes to the result otherwise.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from scaling import disaggregation, latency, memory, pareto, prefix, roofline, sharding, throughput
from scaling.engines import pool

HOUR, BITS, MILLION = 60 * 60, 8, 10**6


@dataclass(frozen=True)
class Case:
    """A way to call a formula, and the expression it must come to, or one for each field."""

    call: Callable[[Any], Any]
    derive: Callable[[Any], Any] | None = None
    label: str = ""
    rounds: bool = False  # it rounds or chooses: held against what is derived at points, not as an expression
    names: Callable[[Any], Mapping[str, Any]] = lambda t: {}  # what names of the docstring's equation mean in this call
    tried: str = ""  # the test that comes to the same otherwise, where nothing is derived
    least: int = 0  # the smallest batch that has an answer


@dataclass(frozen=True)
class Row:
    """A formula, its cases and its exemptions."""

    path: str
    cases: tuple[Case, ...]
    no_arrays: str = ""  # why it takes plain numbers only
    no_step: bool = False  # nothing here is a step, so sequences and tokens are counted apart
    numbers: Mapping[str, float] = field(default_factory=dict)  # letters by which more of the dimensions is seen
    nearly: float = 1e-9  # how far the power of a unit may be off: where something is rounded, or two sums grow apart
    unseen: Mapping[str, str] = field(default_factory=dict)  # base unit, or "base, label": why it is not tried
    own_units: Mapping[str, str] = field(default_factory=dict)  # arguments with another unit than elsewhere, and why
    fields_left: tuple[str, ...] = ()  # fields that are zero here, or none

    @property
    def short(self) -> str:
        """Its name without module and class."""
        return self.path.rpartition(".")[2]


def row(path: str, *cases: Case | tuple[Any, ...], **exempt: Any) -> Row:
    """A row; a case may be written as the tuple of its call, its derivation and its label."""
    return Row(path, tuple(one if isinstance(one, Case) else Case(*one) for one in cases), **exempt)


engine = partial(row, no_arrays="a server is sized once, with plain numbers", no_step=True, nearly=1e-3)
whole = {"nearly": 2e-2}  # whole sequences and chips


def budget_and_tokens(found: Any) -> dict[str, Any]:
    """What is derived of a pool."""
    return {"pool": found.budget, "tokens": found.tokens}


def in_pages(t: Any, size: Any) -> dict[str, Any]:
    """So many bytes on a chip, and the tokens of the whole pages in them."""
    return {"pool": size, "tokens": t.group * t.floor(t.max(0, size) / (t.group * t.token_bytes))}


def around_loading(w: Any, **loaded: Any) -> dict[str, Any]:
    """Arguments of an engine that looks at the free memory before and after loading, or at what is `loaded`."""
    pages = {"page_size": w.group, "token_bytes": w.token_bytes, "context": w.window}
    return {"free_before_load": w.free_before, **(loaded or {"free_after_load": w.free_after}), **pages}


def sglang_budget(t: Any) -> Any:
    """What is to stay free stays free."""
    return t.equal(t.x + (t.free_before - t.MFU * t.free_before), t.free_after)


def mini_sglang_budget(t: Any) -> Any:
    """What loading has taken counts as used."""
    return t.equal(t.x + (t.free_before - t.free_after), t.floor(t.MFU * t.free_before))


# The parts of vLLM's memory, by their names in the equation and by letters that nothing else here uses.
VLLM = {"weights": "queries", "activations": "requests", "graphs": "hops", "the rest": "price"}


def vllm_budget(t: Any) -> Any:
    """A share of everything, less what is no cache."""
    return t.ceil(t.u * t.free_before) - sum(getattr(t, letter) for letter in VLLM.values())


ROWS = (
    # Sizes
    row("models.Model.params", (lambda w: w.model.params, lambda t: t.every), nearly=1e-4),
    row(
        "models.Model.kv_bytes_per_token", (lambda w: w.model.kv_bytes_per_token("int8"), lambda t: t.kv), no_step=True
    ),
    row("memory.weight_bytes", (lambda w: memory.weight_bytes(w.d), lambda t: t.weights), no_step=True),
    row(
        "memory.grouped_weight_bytes",
        (
            lambda w: memory.grouped_weight_bytes(
                w.model, bits=w.bits, group=w.group, scale_bits=w.scale_bits, zero_bits=w.zero_bits
            ),
            lambda t: (t.layers * t.bits + t.layers / t.group * (t.scale_bits + t.zero_bits) + t.rest * 16) / BITS,
        ),
        no_arrays="the layout of a checkpoint is a few plain numbers",
        unseen={"everything": "bits of a weight, and the two bytes of the rest, are pure numbers here"},
    ),
    row(
        "memory.cache_bytes", (lambda w: memory.cache_bytes(w.d, w.B, w.S), lambda t: t.B * t.S * t.held), no_step=True
    ),
    row(
        "memory.cache_budget",
        (lambda w: memory.cache_budget(w.d), lambda t: t.max(0, t.room - t.weights)),
        no_step=True,
    ),
    row(
        "memory.fits",
        (lambda w: memory.fits(w.d, w.B, w.S), lambda t: t.weights + t.B * t.S * t.held <= t.room),
        no_step=True,
        numbers={"B": 12_500},  # what just fits
    ),
    row(
        "memory.max_batch",
        Case(lambda w: memory.max_batch(w.d, w.S), lambda t: t.most, rounds=True),
        no_step=True,
        **whole,
    ),
    row(
        "memory.min_chips",
        Case(lambda w: memory.min_chips(w.d, w.B, w.S), tried="test_fewest_chips_by_trying_every_number"),
        no_step=True,
        numbers={"B": 90},  # fits in one fast domain
        unseen={"chip": "the sizes that a model can be split into are given, whatever a chip is"},
    ),
    row(
        "memory.activation_bytes",
        (
            lambda w: memory.activation_bytes(w.model, w.B),
            lambda t: {
                "residual": t.B * t.D * t.b_act,
                "mlp": (t.B * t.F + t.B * t.F) * t.b_act,
                "logits": t.B * t.V * t.b_logits,
            },
        ),
        unseen={"parameter": "widths of activations: two of the three are made larger with the parameters"},
    ),
    row(
        "prefix.saved_bytes",
        (
            lambda w: prefix.saved_bytes(w.model, w.S, w.requests, kv="int8"),
            lambda t: t.max(0, t.requests - 1) * t.S * t.kv,
        ),
        own_units={"prefix_tokens": "one prefix, whoever shares it"},
    ),
    # Arithmetic against reading
    row(
        "roofline.ridge_point",
        (lambda w: roofline.ridge_point(w.chip), lambda t: t.equal(t.x / t.C, 1 / t.W)),
        no_step=True,
    ),
    row(
        "roofline.critical_batch",
        (
            lambda w: roofline.critical_batch(w.chip, "int4"),
            lambda t: t.equal(t.weights / t.W, t.product_flop(t.x, t.P, 1) / t.C),
        ),
        Case(
            # Small widths, of a chip that reads fast enough for there to be a batch at all.
            lambda w: roofline.critical_batch(replace(w.chip, bandwidth=1000 * w.W), "int4", matmul=(w.D, w.F)),
            lambda t: t.equal(
                (t.D * t.F * t.b_w + t.x * (t.D + t.F) * t.b_act) / (1000 * t.W), t.product_flop(t.x, t.D, t.F) / t.C
            ),
            "matmul",
            rounds=True,  # the widths are made whole
            names=lambda t: {"W": 1000 * t.W},
        ),
        unseen={"parameter, matmul": "parameters are the product of the two widths, activations their sum"},
    ),
    row("roofline.attention_flops", (lambda w: roofline.attention_flops(w.model, w.S), lambda t: t.attention)),
    row(
        "roofline.causal_flops",
        (lambda w: roofline.causal_flops(w.model, w.S), lambda t: t.over_a_prompt(t.attention)),
        unseen={"token": "each token meets each other, so it grows with their square"},
    ),
    row(
        "roofline.attention_intensity",
        (lambda w: roofline.attention_intensity(w.model, "int8"), lambda t: t.attention / (t.S * t.kv)),
    ),
    row(
        "roofline.flops_per_dollar",
        (lambda w: roofline.flops_per_dollar(w.chip), lambda t: t.C * HOUR / t.price),
        (
            lambda w: roofline.flops_per_dollar(w.chip, price=w.price_other),
            lambda t: t.C * HOUR / t.price_other,
            "price",
        ),
    ),
    row(
        "roofline.bandwidth_per_dollar",
        (lambda w: roofline.bandwidth_per_dollar(w.chip), lambda t: t.W * HOUR / t.price),
        (
            lambda w: roofline.bandwidth_per_dollar(w.chip, price=w.price_other),
            lambda t: t.W * HOUR / t.price_other,
            "price",
        ),
        no_step=True,
    ),
    row(
        "roofline.memory_per_dollar_hour",
        (lambda w: roofline.memory_per_dollar_hour(w.chip), lambda t: t.M / t.price),
        (
            lambda w: roofline.memory_per_dollar_hour(w.chip, price=w.price_other),
            lambda t: t.M / t.price_other,
            "price",
        ),
        no_step=True,
    ),
    row(
        "roofline.breakeven_price",
        (
            lambda w: roofline.breakeven_price(w.chip, w.other, roofline.flops_per_dollar),
            lambda t: t.equal(t.C * HOUR / t.x, t.C_other * HOUR / t.price_other),
        ),
        (
            lambda w: roofline.breakeven_price(w.chip, w.other, roofline.flops_per_dollar, price=w.price),
            lambda t: t.equal(t.C * HOUR / t.x, t.C_other * HOUR / t.price),
            "price",
        ),
    ),
    # Splitting
    row(
        "sharding.link_bandwidth",
        (lambda w: sharding.link_bandwidth(w.chip), lambda t: t.link),
        (lambda w: sharding.link_bandwidth(w.chip, wrap=True), lambda t: t.link + t.link, "wrap"),  # both ways round
    ),
    row(
        "sharding.across_machines",
        Case(
            lambda w: sharding.across_machines(w.chip, 2, w.net),
            lambda t: t.min(t.link, 8 * 2 * t.net),  # half of what eight chips have to say
            rounds=True,
            names=lambda t: {"link_bandwidth": t.link, "cards": 8, "machines": 2, "W_link": t.net},
        ),
        unseen={"chip": "a machine has eight of them, however they are counted"},
    ),
    row(
        "sharding.matmul_collective_time",
        (lambda w: sharding.matmul_collective_time(w.chip, w.B, w.D), lambda t: t.moved / t.link),
        (
            lambda w: sharding.matmul_collective_time(w.chip, w.B, w.D, chips=w.N),
            lambda t: t.moved * (t.N - 1) / (t.N * t.link),
            "chips",
        ),
    ),
    row(
        "sharding.collective_time",
        (
            lambda w: sharding.collective_time(w.d, w.B),
            # The attention block and the MLP each gather from all the others, and scatter to them.
            lambda t: (
                t.L
                * 2
                * (
                    2 * t.moved * (t.N - 1) / (t.N * t.link * (t.share_link if t.measured else 1))
                    + (2 * t.start if t.measured else 0)
                )
            ),
        ),
    ),
    row(
        "sharding.slice_hops",
        Case(lambda w: sharding.slice_hops((8, 8)), tried="test_hops_by_walking_the_slice"),
        no_arrays="a slice has a shape of a few whole numbers",
    ),
    row(
        "sharding.hop_time",
        (lambda w: sharding.hop_time(w.model, w.hops, hop=w.hop), lambda t: t.L * (2 + 2) * t.hops * t.hop),
    ),
    row(
        "sharding.tp_limit",
        (
            lambda w: sharding.tp_limit(w.chip, w.F, weights="int4"),
            lambda t: t.equal(t.product_flop(t.B, t.D, t.F) / (t.x * t.C), t.moved / t.link),
        ),
        Case(
            lambda w: sharding.tp_limit(w.chip, w.F, batch=w.B, weights="int4"),
            lambda t: t.equal(t.D * t.F * t.b_w / (t.x * t.W), t.moved / t.link),
            "batch",
            least=1,
        ),
    ),
    # Times
    row(
        "latency.decode_step",
        (lambda w: latency.decode_step(w.d, w.B, w.S), lambda t: t.terms()),
        (lambda w: latency.decode_step(w.d, w.B, w.S).total, lambda t: t.total, "total"),
        (
            lambda w: latency.decode_step(w.d, w.B, w.S).matmul,
            lambda t: t.max(t.terms()["weights"], t.terms()["compute"]),
            "matmul",
        ),
        Case(
            lambda w: latency.decode_step(w.d, w.B, w.S).floor,
            lambda t: t.floor_of(t.P_min * t.b_w + t.B * t.S * t.kv, t.product_flop(t.B, t.P_min, 1)),
            "floor",
            rounds=True,  # it takes the smaller of two counts
        ),
    ),
    row(
        "latency.matmul_time",
        (
            lambda w: latency.matmul_time(w.d, w.B, w.D, w.F),
            lambda t: {
                "weights": t.D * t.F * t.b_w / t.read,
                "compute": t.product_flop(t.B, t.D, t.F) / t.done,
                **dict.fromkeys(("cache", "collectives", "overhead"), 0),
            },
        ),
        (
            lambda w: latency.matmul_time(w.d, w.B, w.D, w.F).floor,
            lambda t: t.floor_of(t.D * t.F * t.b_w, t.product_flop(t.B, t.D, t.F)),
            "floor",
        ),
        fields_left=("cache", "collectives", "overhead"),
    ),
    row(
        "latency.prefill_time",
        (lambda w: latency.prefill_time(w.d, w.S), lambda t: t.prompt / t.done + t.beside(t.S)),
        (
            lambda w: latency.prefill_time(w.d, w.S, mfu=w.MFU),
            lambda t: t.prompt / (t.N * t.C * t.MFU) + t.beside(t.S),
            "mfu",
        ),
        (
            lambda w: latency.prefill_time(w.d, w.S, mfu=w.MFU, attention=True),
            lambda t: (t.prompt + t.over_a_prompt(t.attention)) / (t.N * t.C * t.MFU) + t.beside(t.S),
            "attention",
        ),
        unseen={"token, attention": "each token meets each other, so this term grows with their square"},
    ),
    row(
        "latency.prefill_floor",
        Case(
            lambda w: latency.prefill_floor(w.d, w.S, batch=w.B),
            # Every token meets every matrix but the head, which the last one meets; and half of the others' keys.
            lambda t: t.floor_of(
                t.P_min * t.b_w,
                t.B
                * (
                    t.product_flop(t.S, t.P_min - t.V * t.D, 1)
                    + t.product_flop(1, t.V, t.D)
                    + t.over_a_prompt(t.attention)
                ),
            ),
            rounds=True,  # it takes the smaller of two counts
        ),
        unseen={
            "token": "each token meets each other, so a part grows with their square",
            "parameter": "widths are not multiplied alike",
        },
    ),
    row(
        "latency.mixed_step",
        (
            lambda w: latency.mixed_step(w.d, w.B, w.S, w.S_prompt, mfu=w.MFU),
            lambda t: (
                t.terms()
                | {
                    "compute": t.product_flop(t.B + t.S_prompt, t.P_step, 1) / (t.N * t.C * t.MFU),
                    "collectives": t.terms(t.B + t.S_prompt)["collectives"],
                }
            ),
        ),
        Case(
            lambda w: latency.mixed_step(w.d, w.B, w.S, w.S_prompt).total,
            lambda t: (
                t.terms()["cache"]
                + t.max(t.terms()["weights"], t.terms(t.B + t.S_prompt)["compute"])
                + t.beside(t.B + t.S_prompt)
            ),
            "total",
            names=lambda t: {"MFU": t.share_C if t.measured else 1},
        ),
        Case(
            lambda w: latency.mixed_step(w.d, w.B, w.S, w.S_prompt).floor,
            lambda t: t.floor_of(t.P_min * t.b_w + t.B * t.S * t.kv, t.product_flop(t.B + t.S_prompt, t.P_min, 1)),
            "floor",
            rounds=True,  # it takes the smaller of two counts
        ),
    ),
    # Rates
    row(
        "throughput.tokens_per_second",
        (lambda w: throughput.tokens_per_second(w.d, w.B, w.S), lambda t: t.B * 1 / t.total),
    ),
    row(
        "throughput.tokens_per_second_per_chip",
        (lambda w: throughput.tokens_per_second_per_chip(w.d, w.B, w.S), lambda t: t.B * 1 / t.total / t.N),
    ),
    # Those present are the rate times the stay.
    row(
        "throughput.queries_per_second",
        (
            lambda w: throughput.queries_per_second(w.d, w.B, w.S, w.G),
            lambda t: t.lasting(t.equal(t.x * t.G * t.T_given, t.B)),
        ),
    ),
    row(
        "throughput.queries_per_second_per_chip",
        (
            lambda w: throughput.queries_per_second_per_chip(w.d, w.B, w.S, w.G),
            lambda t: t.lasting(t.equal(t.x * t.N * t.G * t.T_given, t.B)),
        ),
    ),
    row(
        "throughput.mfu",
        (lambda w: throughput.mfu(w.d, w.B, w.S), lambda t: t.product_flop(t.B, t.P_step, 1) / (t.total * t.N * t.C)),
    ),
    row(
        "throughput.compute_ceiling",
        (lambda w: throughput.compute_ceiling(w.d), lambda t: t.endless(t.x / t.terms(t.x)["compute"])),
    ),
    row(
        "throughput.plateau",
        (
            lambda w: throughput.plateau(w.d, w.S),
            # Far beyond the balanced batch arithmetic is the longer of the two.
            lambda t: t.endless(t.x / sum(value for name, value in t.terms(t.x).items() if name != "weights")),
        ),
        Case(
            lambda w: throughput.plateau(w.d, w.S, overlapped=True),
            lambda t: 1 / t.floor_of(t.S * t.kv, t.product_flop(1, t.P_min, 1)),
            "overlapped",
            rounds=True,  # it takes the smaller of two counts
        ),
    ),
    row("throughput.balanced_batch", (lambda w: throughput.balanced_batch(w.d), lambda t: t.balanced)),
    row(
        "throughput.full_batch",
        Case(lambda w: throughput.full_batch(w.d), lambda t: t.ceil(t.balanced), rounds=True),
        **whole,
    ),
    row(
        "throughput.cache_over_weights_tokens",
        (
            lambda w: throughput.cache_over_weights_tokens(w.d),
            lambda t: t.equal(t.x * t.held / t.W, t.P_step * t.b_w / t.W),
        ),
    ),
    row(
        "throughput.cache_over_compute_context",
        (
            lambda w: throughput.cache_over_compute_context(w.d),
            lambda t: t.equal(t.terms(context=t.x)["cache"], t.terms()["compute"]),
        ),
    ),
    row(
        "throughput.batch_at_step",
        Case(
            lambda w: throughput.batch_at_step(w.d, w.S, w.T_given),
            lambda t: t.batch_in(t.T_given),
            rounds=True,
            names=lambda t: {"T_step": t.T_given},
        ),
    ),
    row(
        "throughput.largest_batch",
        Case(lambda w: throughput.largest_batch(w.d, w.S), lambda t: t.most, rounds=True),
        Case(
            lambda w: throughput.largest_batch(w.d, w.S, max_step=w.limit),
            lambda t: t.min(t.most, t.floor(t.batch_in(t.limit))),
            "max_step",
            rounds=True,
        ),
        **whole,
    ),
    row(
        "throughput.best_batch",
        Case(lambda w: throughput.best_batch(w.d, w.S), lambda t: t.min(t.ceil(t.balanced), t.most), rounds=True),
        Case(
            lambda w: throughput.best_batch(w.d, w.S, max_step=w.limit),
            lambda t: t.min(t.ceil(t.balanced), t.most, t.floor(t.batch_in(t.limit))),
            "max_step",
            rounds=True,
        ),
        **whole,
    ),
    row(
        "throughput.cost_per_million_tokens",
        (
            lambda w: throughput.cost_per_million_tokens(w.d, w.B, w.S),
            lambda t: t.lasting(t.equal(t.x * t.B / t.T_given, MILLION)) * t.N * t.price / HOUR,
        ),
        (
            lambda w: throughput.cost_per_million_tokens(w.d, w.B, w.S, price=w.price_other),
            lambda t: t.lasting(t.equal(t.x * t.B / t.T_given, MILLION)) * t.N * t.price_other / HOUR,
            "price",
        ),
    ),
    row(
        "throughput.replicas_for",
        Case(
            lambda w: throughput.replicas_for(w.d, w.queries, w.B, w.S, w.G),
            lambda t: t.ceil(t.lasting(t.equal(t.x * t.B / (t.G * t.T_given), t.queries))),
            rounds=True,
            least=1,
        ),
        **whole,
    ),
    row(
        "throughput.prefill_chips",
        Case(
            lambda w: throughput.prefill_chips(w.d, w.queries, w.S),
            lambda t: t.ceil(t.queries * t.N * (t.prompt / t.done + t.beside(t.S))),
            rounds=True,
        ),
        Case(
            lambda w: throughput.prefill_chips(w.d, w.queries, w.S, mfu=w.MFU),
            lambda t: t.ceil(t.queries * t.N * (t.prompt / (t.N * t.C * t.MFU) + t.beside(t.S))),
            "mfu",
            rounds=True,
        ),
        **whole,
    ),
    row(
        "throughput.cost_per_hour",
        (lambda w: throughput.cost_per_hour(w.chip, w.N), lambda t: t.N * t.price),
        (lambda w: throughput.cost_per_hour(w.chip, w.N, price=w.price_other), lambda t: t.N * t.price_other, "price"),
        no_step=True,
    ),
    row(
        "pareto.front",
        Case(lambda w: pareto.front(w.d, w.S), tried="test_front_by_looking_at_every_batch"),
        no_arrays="a list of batches for one context: its length depends on the context",
        numbers={"S": 90_000},
        unseen=dict.fromkeys(("token", "sequence"), "a front lists whole batches, so a finer one has more points"),
    ),
    # Prefill apart from decode
    row(
        "disaggregation.eviction_rate",
        (
            lambda w: disaggregation.eviction_rate(w.B, w.S_prompt, w.G),
            lambda t: {
                "sequences": t.equal(t.x * t.G, t.B),
                "tokens": t.equal(t.x * t.G, t.B) * (t.S_prompt + t.G),
                "share": t.equal(t.x * t.G, t.B) / t.B,
            },
        ),
    ),
    row(
        "disaggregation.prefill_decode_ratio",
        Case(
            lambda w: disaggregation.prefill_decode_ratio(w.T_prompt, w.T_given, w.B, w.G),
            lambda t: t.equal(t.x / t.T_prompt, t.B / (t.G * t.T_given)),  # as many prompts readied as answers finished
            names=lambda t: {"T_step": t.T_given, "T_prefill": t.T_prompt},
        ),
        own_units={"prefill": "a prompt is one query's"},
    ),
    row(
        "disaggregation.transfer_time",
        Case(
            lambda w: disaggregation.transfer_time(w.model, w.S, w.net, kv="int8"),
            lambda t: t.S * t.kv / t.net,
            names=lambda t: {"W_link": t.net},
        ),
        no_step=True,
    ),
    # What engines give to the cache
    engine(
        "engines.pool.sglang_pool",
        Case(
            lambda w: budget_and_tokens(pool.sglang_pool(w.d, **around_loading(w), mem_fraction_static=w.MFU)),
            lambda t: in_pages(t, sglang_budget(t)),
            rounds=True,
            names=lambda t: {"pool": sglang_budget(t)},
        ),
        Case(
            lambda w: budget_and_tokens(
                pool.sglang_pool(w.d, **around_loading(w, weights=w.queries), mem_fraction_static=w.MFU)
            ),
            lambda t: in_pages(t, t.MFU * t.free_before - t.queries),
            "weights",
            rounds=True,
            names=lambda t: {"pool": t.MFU * t.free_before - t.queries},
        ),
        Case(
            lambda w: budget_and_tokens(
                pool.sglang_pool(w.d, **around_loading(w), mem_fraction_static=w.MFU, max_total_tokens=w.most_tokens)
            ),
            lambda t: {
                "pool": sglang_budget(t),
                "tokens": t.min(in_pages(t, sglang_budget(t))["tokens"], t.group * t.floor(t.most_tokens / t.group)),
            },
            "capped",
            rounds=True,
            names=lambda t: {"pool": sglang_budget(t)},
        ),
        numbers={"queries": 4e9},
    ),
    engine(
        "engines.pool.mini_sglang_pool",
        Case(
            lambda w: budget_and_tokens(pool.mini_sglang_pool(w.d, **around_loading(w), memory_ratio=w.MFU)),
            lambda t: in_pages(t, mini_sglang_budget(t)),
            rounds=True,
            names=lambda t: {"pool": mini_sglang_budget(t)},
        ),
    ),
    engine(
        "engines.pool.vllm_pool",
        Case(
            lambda w: budget_and_tokens(
                pool.vllm_pool(
                    w.d,
                    total_memory=w.free_before,
                    gpu_memory_utilization=w.u,
                    weights=w.queries,
                    activation_peak=w.requests,
                    graphs=w.hops,
                    non_torch=w.price,
                    token_bytes=w.token_bytes,
                    block_size=w.group,
                    max_model_len=w.window,
                )
            ),
            lambda t: in_pages(t, vllm_budget(t)),
            rounds=True,
            names=lambda t: {
                "total": t.free_before,
                "pool": vllm_budget(t),
                **{name: getattr(t, letter) for name, letter in VLLM.items()},
            },
        ),
        numbers={"queries": 35e9, "requests": 3e9, "hops": 2e9, "price": 1e9},
    ),
    engine(
        "engines.pool.megatron_pool",
        Case(
            lambda w: budget_and_tokens(
                pool.megatron_pool(
                    w.d, buffer=w.free_after, token_bytes=w.token_bytes, block_size=w.group, context=w.window
                )
            ),
            # One block is a dummy.
            lambda t: in_pages(t, t.free_after) | {"tokens": in_pages(t, t.free_after)["tokens"] - t.group},
            rounds=True,
            names=lambda t: {"buffer": t.free_after},
        ),
        fields_left=("fraction", "minimum_fraction"),
    ),
    engine(
        "engines.pool.pool_from_bytes",
        Case(
            lambda w: budget_and_tokens(
                pool.pool_from_bytes(w.d, w.free_after, token_bytes=w.token_bytes, page_size=w.group, context=w.window)
            ),
            lambda t: in_pages(t, t.free_after),
            rounds=True,
            names=lambda t: {"budget": t.free_after},
        ),
        fields_left=("fraction", "minimum_fraction"),
    ),
    engine(
        "engines.pool.chip_token_bytes",
        Case(
            lambda w: {str(at): pool.chip_token_bytes(replace(w.d, chips=n)) for at, n in (("1", 1), ("Q", w.Q))},
            lambda t: {"1": t.kv, "Q": t.kv / t.K},  # a whole head at least
            rounds=True,
            names=lambda t: {"N": t.Q},
        ),
    ),
    engine(
        "engines.pool.loaded_weight_bytes",
        Case(
            lambda w: pool.loaded_weight_bytes(w.d),
            # The rest in two bytes each; keys' and values' matrices once for each head, then once for each chip.
            lambda t: (
                ((t.P - t.rest) * t.b_w + t.rest * 2 + t.L * 2 * (t.max(t.K, t.N) - t.K) * t.D * t.H * t.b_w) / t.N
            ),
            rounds=True,
        ),
        unseen=dict.fromkeys(("B", "parameter"), "the two bytes of embeddings and norms are written out"),
    ),
)
