"""Each formula derived a second time, from what is read, done and sent, and held against what the package computes.

SymPy builds a formula here from its beginnings: shapes of matrices, an addition and a multiplication for each weight
and token, bytes over bandwidth, two times set equal and solved. The package is called with symbols in place of numbers,
and the difference must simplify to zero. Every formula is tried with plain numbers too, all of them odd ones; where it
rounds or chooses, only so. And each equation that a docstring writes must come to what is derived.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

import equations
import pytest
import sympy as sp
from docstrings import formulas

from scaling import disaggregation, latency, memory, pareto, prefix, roofline, sharding, throughput, units
from scaling.chips import H100_TEXT, TPU_V5E_TEXT
from scaling.deployment import Deployment, Efficiency
from scaling.engines import megatron, mini_sglang, pool, sglang, vllm
from scaling.models import LLAMA3_8B, LLAMA3_70B, LLAMA3_405B
from tests.scaling.symbolic import ALL, IN_LAYERS, NAMES, REST, World, bare, compiled, point, s, symbolic

FORMULAS = {formula.path: formula for formula in formulas()}
POINTS = range(12)
x, n = sp.symbols("x n", positive=True)

# Beginnings -----------------------------------------------------------------------------------------------------------

HOUR, BYTE, MILLION = 60 * 60, 8, 10**6


def product_flop(rows: Any, inner: Any, columns: Any) -> Any:
    """Each number of a product of two matrices takes `inner` multiplications, and as many additions."""
    return rows * columns * (inner + inner)


def equal(one: Any, other: Any) -> Any:
    """The x for which two times, sizes or rates are equal."""
    (found,) = sp.solve(sp.Eq(one, other), x)
    return found


def to_all(total: Any) -> Any:
    """Bytes that each of many chips receives when a tensor is gathered, or summed up and scattered: all but its own."""
    return sp.limit(total * (n - 1) / n, n, sp.oo)


KV = s.L * (s.K * s.H + s.K * s.H) * s.b_kv  # a key and a value in each layer
HELD = KV * s.copies
WEIGHTS = s.P * s.b_w
FIT = s.N * s.M * s.u
MOST = sp.floor(sp.Max(0, equal(WEIGHTS + x * s.S * HELD, FIT)))
ATTENTION = s.L * s.Q * (product_flop(1, s.H, s.S) + product_flop(1, s.S, s.H))  # scores and values, for one token
LINK = s.W_axis + s.W_axis + s.W_axis
MOVED = to_all(s.B * s.D * s.b_act)
PROMPT = product_flop(s.S, s.P_step, 1)


@dataclass(frozen=True)
class Step:
    """A decode step, as a bound or as measured: the peaks times their shares, links and a cost per layer counted."""

    measured: bool = False

    def terms(self, batch: Any = s.B, context: Any = s.S) -> dict[str, Any]:
        """Each byte is read by one chip, each weight meets each token on one chip, and each layer sends four times."""
        read = s.N * s.W * (s.share_W if self.measured else 1)
        done = s.N * s.C * (s.share_C if self.measured else 1)
        return {
            "weights": s.P_step * s.b_w / read,
            "compute": product_flop(batch, s.P_step, 1) / done,
            "cache": batch * context * HELD / read,
            "collectives": s.L * 4 * MOVED.subs(s.B, batch) / (LINK * s.share_link) if self.measured else sp.Integer(0),
            "overhead": s.L * s.seconds if self.measured else sp.Integer(0),
        }

    @property
    def total(self) -> Any:
        """Reading and multiplying go on at the same time; all else comes one after the other."""
        t = self.terms()
        return sp.Max(t["weights"], t["compute"]) + t["cache"] + t["collectives"] + t["overhead"]

    @property
    def balanced(self) -> Any:
        """Batch at which both take as long."""
        return equal(self.terms(x)["weights"], self.terms(x)["compute"])

    def batch_in(self, limit: Any) -> Any:
        """Largest batch whose step ends in time, whichever of the two is the longer."""
        return _batch_in(self, limit)

    def lasting(self, value: Any) -> Any:
        """An expression of the time of a step, which is derived first."""
        return value.subs(s.T_given, self.total)


@cache
def _batch_in(step: Step, limit: Any) -> Any:
    t = step.terms(x)
    rest = t["cache"] + t["collectives"] + t["overhead"]
    found = [equal(rest + t[longer], limit) for longer in ("weights", "compute")]
    return sp.Max(0, sp.Min(*found, evaluate=False), evaluate=False)


def in_pages(size: Any) -> dict[str, Any]:
    """So many bytes on a chip, and the tokens of the whole pages in them."""
    page = s.group * s.token_bytes
    return {"pool": size, "tokens": s.group * sp.floor(sp.Max(0, size) / page)}


SGLANG = equal(x + (s.free_before - s.MFU * s.free_before), s.free_after)  # what is to stay free stays free
MINI = equal(x + (s.free_before - s.free_after), sp.floor(s.MFU * s.free_before))
VLLM = sp.ceiling(s.u * s.free_before) - (s.queries + s.requests + s.hops + s.price)


def of_pool(found: Any) -> dict[str, Any]:
    return {"pool": found.budget, "tokens": found.tokens}


def around_loading(w: World) -> dict[str, Any]:
    names = {"free_before_load": "free_before", "free_after_load": "free_after", "page_size": "group"}
    return {name: w.number(letter) for name, letter in (names | {"token_bytes": "token_bytes"}).items()}


# What is derived ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Derived:
    """A formula as it is called in a world, and as it follows from the beginnings; `rounds`: at points only."""

    path: str
    call: Callable[[World], Any]
    derive: Callable[[Step], Any]
    rounds: bool = False


def on(function: Callable[..., Any], *names: str, of: str = "d", **options: str) -> Callable[[World], Any]:
    """The function of a record and of the numbers named."""
    first = [of] if of else []
    return lambda w: function(
        *(getattr(w, name) for name in [*first, *names]), **{key: getattr(w, name) for key, name in options.items()}
    )


def _d(function: Callable[..., Any], call: Any, derive: Callable[[Step], Any], rounds: bool = False) -> Derived:
    names = call if isinstance(call, str) else ""
    made = on(function, *names.split()) if isinstance(call, str) else call
    return Derived(f"{function.__module__}.{function.__qualname__}", made, derive, rounds)


DERIVED = [
    Derived("scaling.models.Model.params", lambda w: w.model.params, lambda t: ALL),
    Derived("scaling.models.Model.kv_bytes_per_token", lambda w: w.model.kv_bytes_per_token("int8"), lambda t: KV),
    # What fits
    _d(memory.weight_bytes, "", lambda t: WEIGHTS),
    _d(
        memory.grouped_weight_bytes,
        on(memory.grouped_weight_bytes, of="model", **{o: o for o in ("bits", "group", "scale_bits", "zero_bits")}),
        lambda t: (IN_LAYERS * s.bits + IN_LAYERS / s.group * (s.scale_bits + s.zero_bits) + REST * 16) / BYTE,
    ),
    _d(memory.cache_bytes, "B S", lambda t: s.B * s.S * HELD),
    _d(memory.cache_budget, "", lambda t: sp.Max(0, FIT - WEIGHTS)),
    _d(memory.fits, "B S", lambda t: WEIGHTS + s.B * s.S * HELD <= FIT),
    _d(memory.max_batch, "S", lambda t: MOST, rounds=True),
    _d(
        memory.activation_bytes,
        on(memory.activation_bytes, "B", of="model"),
        lambda t: {
            "residual": s.B * s.D * s.b_act,
            "mlp": (s.B * s.F + s.B * s.F) * s.b_act,
            "logits": s.B * s.V * s.b_logits,
        },
    ),
    _d(
        prefix.saved_bytes,
        lambda w: prefix.saved_bytes(w.model, w.S, w.requests, kv="int8"),
        lambda t: sp.Max(0, s.requests - 1) * s.S * KV,
    ),
    # Arithmetic against reading
    _d(roofline.ridge_point, on(roofline.ridge_point, of="chip"), lambda t: equal(x / s.C, 1 / s.W)),
    _d(
        roofline.critical_batch,
        lambda w: roofline.critical_batch(w.chip, "int4"),
        lambda t: equal(WEIGHTS / s.W, product_flop(x, s.P, 1) / s.C),
    ),
    _d(
        roofline.critical_batch,
        lambda w: roofline.critical_batch(replace(w.chip, bandwidth=1000 * w.W), "int4", matmul=(w.D, w.F)),
        lambda t: equal(
            (s.D * s.F * s.b_w + x * (s.D + s.F) * s.b_act) / (1000 * s.W), product_flop(x, s.D, s.F) / s.C
        ),
        rounds=True,  # the widths are made whole
    ),
    _d(roofline.attention_flops, on(roofline.attention_flops, "S", of="model"), lambda t: ATTENTION),
    _d(
        roofline.attention_intensity,
        lambda w: roofline.attention_intensity(w.model, "int8"),
        lambda t: ATTENTION / (s.S * KV),
    ),
    *(
        _d(function, on(function, of="chip"), lambda t, bought=bought: bought / s.price)
        for function, bought in (
            (roofline.flops_per_dollar, s.C * HOUR),
            (roofline.bandwidth_per_dollar, s.W * HOUR),
            (roofline.memory_per_dollar_hour, s.M),
        )
    ),
    _d(
        roofline.breakeven_price,
        lambda w: roofline.breakeven_price(w.chip, w.other, roofline.flops_per_dollar),
        lambda t: equal(s.C * HOUR / x, s.C_other * HOUR / s.price_other),
    ),
    # Splitting
    _d(sharding.link_bandwidth, on(sharding.link_bandwidth, of="chip"), lambda t: LINK),
    _d(
        sharding.link_bandwidth,
        lambda w: sharding.link_bandwidth(w.chip, wrap=True),
        lambda t: LINK + LINK,  # both ways round the ring
    ),
    _d(
        sharding.matmul_collective_time,
        on(sharding.matmul_collective_time, "B", "D", of="chip"),
        lambda t: MOVED / LINK,
    ),
    _d(
        sharding.collective_time,
        "B",
        lambda t: s.L * 2 * (MOVED + MOVED) / (LINK * (s.share_link if t.measured else 1)),
    ),
    _d(
        sharding.hop_time,
        lambda w: sharding.hop_time(w.model, w.hops, hop=w.hop),
        lambda t: s.L * (2 + 2) * s.hops * s.hop,
    ),
    _d(
        sharding.tp_limit,
        lambda w: sharding.tp_limit(w.chip, w.F, weights="int4"),
        lambda t: equal(product_flop(s.B, s.D, s.F) / (x * s.C), MOVED / LINK),
    ),
    _d(
        sharding.tp_limit,
        lambda w: sharding.tp_limit(w.chip, w.F, batch=w.B, weights="int4"),
        lambda t: equal(s.D * s.F * s.b_w / (x * s.W), MOVED / LINK),
    ),
    # Times
    _d(latency.decode_step, "B S", lambda t: t.terms()),
    _d(latency.decode_step, lambda w: latency.decode_step(w.d, w.B, w.S).total, lambda t: t.total),
    _d(
        latency.matmul_time,
        "B D F",
        lambda t: {
            "weights": s.D * s.F * s.b_w / (s.N * s.W * (s.share_W if t.measured else 1)),
            "compute": product_flop(s.B, s.D, s.F) / (s.N * s.C * (s.share_C if t.measured else 1)),
            **dict.fromkeys(("cache", "collectives", "overhead"), sp.Integer(0)),
        },
    ),
    _d(latency.prefill_time, "S", lambda t: PROMPT / (s.N * s.C * (s.share_C if t.measured else 1))),
    _d(latency.prefill_time, on(latency.prefill_time, "S", mfu="MFU"), lambda t: PROMPT / (s.N * s.C * s.MFU)),
    _d(
        latency.prefill_time,
        lambda w: latency.prefill_time(w.d, w.S, mfu=w.MFU, attention=True),
        # Token x of the prompt attends to the x before it.
        lambda t: (PROMPT + sp.integrate(ATTENTION.subs(s.S, x), (x, 0, s.S))) / (s.N * s.C * s.MFU),
    ),
    # Rates
    _d(throughput.tokens_per_second, "B S", lambda t: s.B * 1 / t.total),
    _d(throughput.tokens_per_second_per_chip, "B S", lambda t: s.B * 1 / t.total / s.N),
    # Those present are the rate times the stay.
    _d(throughput.queries_per_second, "B S G", lambda t: t.lasting(equal(x * s.G * s.T_given, s.B))),
    _d(throughput.queries_per_second_per_chip, "B S G", lambda t: t.lasting(equal(x * s.N * s.G * s.T_given, s.B))),
    _d(throughput.mfu, "B S", lambda t: product_flop(s.B, s.P_step, 1) / (t.total * s.N * s.C)),
    _d(throughput.compute_ceiling, "", lambda t: sp.limit(x / t.terms(x)["compute"], x, sp.oo)),
    _d(
        throughput.plateau,
        "S",
        # Far beyond the balanced batch arithmetic is the longer of the two.
        lambda t: sp.limit(x / sum(value for name, value in t.terms(x).items() if name != "weights"), x, sp.oo),
    ),
    _d(throughput.balanced_batch, "", lambda t: t.balanced),
    _d(throughput.cache_over_weights_tokens, "", lambda t: equal(x * HELD / s.W, s.P_step * s.b_w / s.W)),
    _d(
        throughput.cache_over_compute_context,
        "",
        lambda t: equal(t.terms(context=x)["cache"], t.terms()["compute"]),
    ),
    _d(throughput.batch_at_step, "S T_given", lambda t: t.batch_in(s.T_given), rounds=True),
    _d(
        throughput.largest_batch,
        on(throughput.largest_batch, "S", max_step="limit"),
        lambda t: sp.Min(MOST, sp.floor(t.batch_in(s.limit)), evaluate=False),
        rounds=True,
    ),
    _d(
        throughput.best_batch,
        on(throughput.best_batch, "S", max_step="limit"),
        lambda t: sp.Min(sp.ceiling(t.balanced), MOST, sp.floor(t.batch_in(s.limit)), evaluate=False),
        rounds=True,
    ),
    _d(
        throughput.cost_per_million_tokens,
        on(throughput.cost_per_million_tokens, "B", "S", price="price"),
        lambda t: t.lasting(equal(x * s.B / s.T_given, MILLION)) * s.N * s.price / HOUR,
    ),
    _d(
        throughput.replicas_for,
        on(throughput.replicas_for, "queries", "B", "S", "G"),
        lambda t: sp.ceiling(t.lasting(equal(x * s.B / (s.G * s.T_given), s.queries))),
        rounds=True,
    ),
    _d(
        throughput.prefill_chips,
        on(throughput.prefill_chips, "queries", "S", mfu="MFU"),
        lambda t: sp.ceiling(equal(x * s.C * s.MFU, s.queries * PROMPT)),
        rounds=True,
    ),
    _d(throughput.cost_per_hour, on(throughput.cost_per_hour, "N", of="chip"), lambda t: s.N * s.price),
    # Prefill apart from decode
    _d(
        disaggregation.eviction_rate,
        on(disaggregation.eviction_rate, "B", "S_prompt", "G", of=""),
        lambda t: {
            "sequences": equal(x * s.G, s.B),
            "tokens": equal(x * s.G, s.B) * (s.S_prompt + s.G),
            "share": equal(x * s.G, s.B) / s.B,
        },
    ),
    _d(
        disaggregation.prefill_decode_ratio,
        on(disaggregation.prefill_decode_ratio, "T_prompt", "T_given", "B", "G", of=""),
        lambda t: equal(x / s.T_prompt, s.B / (s.G * s.T_given)),  # as many prompts readied as answers finished
    ),
    _d(
        disaggregation.transfer_time,
        lambda w: disaggregation.transfer_time(w.model, w.S, w.net, kv="int8"),
        lambda t: s.S * KV / s.net,
    ),
    # What engines give to the cache
    _d(
        sglang.sglang_pool,
        lambda w: of_pool(sglang.sglang_pool(w.d, **around_loading(w), mem_fraction_static=w.MFU)),
        lambda t: in_pages(SGLANG),
        rounds=True,
    ),
    _d(
        mini_sglang.mini_sglang_pool,
        lambda w: of_pool(mini_sglang.mini_sglang_pool(w.d, **around_loading(w), memory_ratio=w.MFU)),
        lambda t: in_pages(MINI),
        rounds=True,
    ),
    _d(
        vllm.vllm_pool,
        lambda w: of_pool(
            vllm.vllm_pool(
                w.d,
                total_memory=w.free_before,
                gpu_memory_utilization=w.u,
                weights=w.queries,
                activation_peak=w.requests,
                graphs=w.hops,
                non_torch=w.price,
                token_bytes=w.token_bytes,
                block_size=w.group,
            )
        ),
        lambda t: in_pages(VLLM),
        rounds=True,
    ),
    _d(
        megatron.megatron_pool,
        lambda w: of_pool(
            megatron.megatron_pool(w.d, buffer=w.free_after, token_bytes=w.token_bytes, block_size=w.group)
        ),
        lambda t: in_pages(s.free_after) | {"tokens": in_pages(s.free_after)["tokens"] - s.group},  # the dummy
        rounds=True,
    ),
    _d(
        pool.pool_from_bytes,
        lambda w: of_pool(pool.pool_from_bytes(w.d, w.free_after, token_bytes=w.token_bytes, page_size=w.group)),
        lambda t: in_pages(s.free_after),
        rounds=True,
    ),
    _d(
        pool.chip_token_bytes,
        lambda w: {str(at): pool.chip_token_bytes(replace(w.d, chips=n)) for at, n in (("1", 1), ("Q", w.Q))},
        lambda t: {"1": KV, "Q": KV / s.K},  # a whole head at least
        rounds=True,
    ),
    _d(
        pool.loaded_weight_bytes,
        on(pool.loaded_weight_bytes),
        # The rest in two bytes each; keys' and values' matrices once for each head, then once for each chip.
        lambda t: (
            ((s.P - REST) * s.b_w + REST * 2 + s.L * 2 * (sp.Max(s.K, s.N, evaluate=False) - s.K) * s.D * s.H * s.b_w)
            / s.N
        ),
        rounds=True,
    ),
]
IDS = [f"{one.path.partition('scaling.')[2]}-{i}" for i, one in enumerate(DERIVED)]


def fields(value: Any) -> dict[str, Any]:
    """The parts of a result by name."""
    return value._asdict() if hasattr(value, "_asdict") else value if isinstance(value, dict) else {"": value}


def difference(one: Any, other: Any) -> Any:
    """Zero when two expressions, or two inequalities, are the same."""
    if isinstance(one, sp.core.relational.Relational):
        assert one.func == other.func
        one, other = one.lhs - one.rhs, other.lhs - other.rhs
    return sp.simplify(sp.together(one - other))


@pytest.mark.parametrize("i", [i for i, one in enumerate(DERIVED) if not one.rounds], ids=lambda i: IDS[i])
def test_the_package_computes_what_follows_from_bytes_and_flop(i: int, monkeypatch: pytest.MonkeyPatch) -> None:
    one = DERIVED[i]
    for measured in (False, True):
        world = symbolic(measured)
        monkeypatch.setattr(units, "DTYPE_BYTES", world.dtypes)
        computed, derived = fields(one.call(world)), fields(one.derive(Step(measured)))
        assert computed.keys() == derived.keys()
        for name, value in derived.items():
            mine = sp.sympify(value).subs({s.P_step: s.P, s.copies: 1})
            theirs = bare(computed[name]).subs(s.N > 1, sp.true)  # one chip sends nothing
            assert difference(theirs, mine) == 0, f"{one.path} {name} is {theirs}, derived is {mine}"


@cache
def as_numbers(i: int, measured: bool) -> dict[str, Callable[[World], Any]]:
    """What is derived, as functions of plain numbers."""
    return {name: compiled(value) for name, value in fields(DERIVED[i].derive(Step(measured))).items()}


@pytest.mark.parametrize("i", range(len(DERIVED)), ids=IDS)
def test_plain_numbers_give_the_same(i: int) -> None:
    seen = set()
    for number in POINTS:
        world = point(number)
        computed = fields(DERIVED[i].call(world))
        for name, value in as_numbers(i, world.measured).items():
            assert computed[name] == pytest.approx(value(world), rel=1e-12), f"{IDS[i]} {name} at point {number}"
            seen.add(float(computed[name]))
    assert len(seen) > 1, f"{IDS[i]} is the same at every point: nothing can be seen of it"


# What chooses from a list is derived by trying ------------------------------------------------------------------------


@pytest.mark.parametrize("model", [LLAMA3_8B, LLAMA3_70B, LLAMA3_405B], ids=lambda model: model.name)
def test_fewest_chips_by_trying_every_number(model: Any) -> None:
    """scaling.memory.min_chips"""
    found = set()
    for chip, (weights, kv, usable), batch, context in itertools.product(
        (H100_TEXT, TPU_V5E_TEXT), (("bf16", "bf16", 1.0), ("int4", "int8", 0.83)), (0, 1, 37), (977, 31_013)
    ):
        d = Deployment(model=model, chip=chip, weights=weights, kv=kv, usable=usable)
        b_w, b_kv = units.DTYPE_BYTES[weights], units.DTYPE_BYTES[kv]
        need = model.params * b_w + batch * context * model.layers * 2 * model.kv_heads * model.head_dim * b_kv
        heads, whole = model.kv_heads, (model.q_heads, model.d_ff)
        for chips in range(1, chip.fast_domain + 1):
            sold = not chip.slices or chips in chip.slices
            even = not any(size % chips for size in whole) and (heads % chips == 0 or chips % heads == 0)
            if sold and even and need <= chips * chip.memory * usable:
                break
        else:
            chips = 0
        found.add(chips)
        assert memory.min_chips(d, batch, context) == chips
    assert len(found) > 2


@pytest.mark.parametrize("layer_seconds", [0.0, 3e-5])
def test_front_by_looking_at_every_batch(layer_seconds: float) -> None:
    """scaling.pareto.front"""
    d = Deployment(model=LLAMA3_8B, chip=H100_TEXT, weights="int8", kv="int8", params="nominal")
    d = replace(d, efficiency=Efficiency(layer_seconds=layer_seconds))
    for context in (1009, 8191, 100_003):
        exact = {name: Fraction(getattr(d, name)) for name in ("step_params", "kv_per_token", "bandwidth", "flops")}
        P, kv, NW, NC = exact.values()
        most, best, batches = memory.max_batch(d, context), Fraction(0), []
        for B in range(1, most + 1):
            step = B * context * kv / NW + max(P / NW, 2 * B * P / NC) + d.model.layers * Fraction(layer_seconds)
            if B / step > best:  # a longer step must bring more
                best = B / step
                batches.append(B)
        found = pareto.front(d, context)
        assert list(found.batch) == batches
        assert found.tokens_per_second_per_chip[-1] == pytest.approx(float(best), rel=1e-12)
        assert found.step == pytest.approx([latency.decode_step(d, B, context).total for B in batches], rel=1e-12)


@pytest.mark.parametrize("shape", [(2, 3), (4, 4), (8, 2), (5,), (1, 1), (3, 4, 2)])
@pytest.mark.parametrize("wrap", [False, True])
def test_hops_by_walking_the_slice(shape: tuple[int, ...], wrap: bool) -> None:
    """scaling.sharding.slice_hops"""

    def beside(chip: tuple[int, ...]) -> Any:
        for axis, size in enumerate(shape):
            for to in (chip[axis] - 1, chip[axis] + 1):
                if wrap or 0 <= to < size:
                    yield (*chip[:axis], to % size, *chip[axis + 1 :])

    longest = 0
    for start in itertools.product(*map(range, shape)):
        far, here = {start: 0}, [start]
        for chip in here:
            for other in beside(chip):
                if other not in far:
                    far[other] = far[chip] + 1
                    here.append(other)
        longest = max(longest, *far.values())
    assert sharding.slice_hops(shape, wrap=wrap) == longest


TRIED = {f.__doc__: f for f in (test_fewest_chips_by_trying_every_number, test_front_by_looking_at_every_batch)}
TRIED[test_hops_by_walking_the_slice.__doc__] = test_hops_by_walking_the_slice


def test_every_formula_is_derived() -> None:
    assert {one.path for one in DERIVED} | set(TRIED) == set(FORMULAS)


# Equations of the docstrings ------------------------------------------------------------------------------------------

# What a name of an equation means where it is an argument of the function, or where the call above differs.
OWN: dict[str, dict[str, Any]] = {
    "batch_at_step": {"T_step": s.T_given},
    "prefill_decode_ratio": {"T_step": s.T_given, "T_prefill": s.T_prompt},
    "transfer_time": {"W_link": s.net},
    "critical_batch": {"W": 1000 * s.W},
    "sglang_pool": {"pool": SGLANG},
    "mini_sglang_pool": {"pool": MINI},
    "vllm_pool": {
        "total": s.free_before,
        "weights": s.queries,
        "activations": s.requests,
        "graphs": s.hops,
        "the rest": s.price,
        "pool": VLLM,
    },
    "megatron_pool": {"buffer": s.free_after},
    "pool_from_bytes": {"budget": s.free_after},
    "chip_token_bytes": {"N": s.Q},
}


@cache
def meanings() -> dict[str, Any]:
    """Every name that an equation may have."""
    t, most = Step(), sp.Symbol("most", positive=True)
    within = t.batch_in(s.limit)
    values: dict[str, Any] = {name: getattr(s, name) for name in NAMES} | {f"T_{k}": v for k, v in t.terms().items()}
    values |= {"T_step": t.total, "T_prefill": PROMPT / (s.N * s.C * s.MFU), "T_hop": s.hop, "kv": HELD, "W_link": LINK}
    values |= {"P_layers": IN_LAYERS, "P_rest": REST, "axes": 3, "link_bandwidth": s.W_axis, "links": 1}
    values |= {"m": s.MFU, "page": s.group}
    values |= {"QPS": s.B / (s.G * t.total), "max_batch": MOST, "balanced_batch": t.balanced, "batch_at_step": within}
    values |= {"largest_batch": sp.Min(most, sp.floor(within), evaluate=False).subs(most, MOST)}
    return values


@cache
def meaning(name: str, short: str = "") -> Callable[[World], Any]:
    """What a name of a formula's equations comes to, in plain numbers."""
    return compiled(OWN[short][name]) if name in OWN.get(short, {}) else compiled(meanings()[name])


@pytest.mark.parametrize("path", sorted({one.path for one in DERIVED}))
def test_the_equations_of_a_docstring_say_the_same(path: str) -> None:
    formula, indices = FORMULAS[path], [i for i, one in enumerate(DERIVED) if one.path == path]
    assert formula.equations
    for relation, number in itertools.product(formula.equations, POINTS):
        world = point(number, plain=True)
        own = formula.short if formula.short != "critical_batch" or "D" in relation.names else ""

        def of(name: str, own: str = own, world: World = world) -> Any:
            return meaning(name, own)(world)

        derived = [value(world) for i in indices for value in as_numbers(i, False).values()]
        right = equations.value(relation.sides[-1], of)
        if relation.signs == ("<=",):
            assert (equations.value(relation.sides[0], of) <= right) in derived
            continue
        if "per chip" in relation.names[0] and not path.endswith("per_chip"):
            right *= world.N
        assert any(max(0, right) == pytest.approx(value, rel=1e-9) for value in derived), (
            f"{path}: {relation.tex} comes to {right}, derived is {derived}"
        )


def test_the_equations_of_what_is_tried_say_the_same() -> None:
    hops = FORMULAS["scaling.sharding.slice_hops"].equations
    for shape, relation, wrap in (((5, 7), hops[0], False), ((4, 8), hops[1], True)):
        sizes = dict(zip(("N_x", "N_y"), shape, strict=True))
        assert equations.value(relation.sides[1], sizes.__getitem__) == sharding.slice_hops(shape, wrap=wrap)
    rate = FORMULAS["scaling.throughput.tokens_per_second_per_chip"].equations[0].sides[1]
    assert FORMULAS["scaling.pareto.front"].equations[0].sides[1] == rate
    fits = FORMULAS["scaling.memory.fits"].equations
    assert FORMULAS["scaling.memory.min_chips"].equations == fits
