"""Laws: what holds for every input, whichever numbers a formula is given. Arguments have the symbols of the book."""

# ruff: noqa: N803

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings, strategies as st

from scaling import disaggregation, memory, pareto, roofline, sharding, throughput
from scaling.chips import H100, TPU_V5E
from scaling.deployment import ROOFLINE, Deployment, Efficiency, parallel_sizes
from scaling.latency import StepTime, decode_step, prefill_time
from scaling.memory import cache_bytes, fits, max_batch, min_chips, weight_bytes
from scaling.models import LLAMA3_70B
from scaling.throughput import best_batch, plateau, tokens_per_second, tokens_per_second_per_chip
from tests.formulas import ROWS, Case
from tests.scaling import strategies as given_

ULP = 1e-12  # what rounding may cost

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")  # no division by zero goes unnoticed

HALF = {"fp32": "bf16", "bf16": "int8", "fp16": "fp8", "fp8": "fp4", "int8": "int4"}

POD = Deployment(model=LLAMA3_70B, chip=TPU_V5E, chips=16, weights="int8", kv="int8")
NODE = Deployment(model=LLAMA3_70B, chip=H100, chips=8, efficiency=Efficiency(links=0.7, layer_seconds=1e-6))


class Numbers:
    """The world that the rows of `tests/formulas.py` are called with: four numbers or arrays, by the book's letters."""

    def __init__(self, d: Deployment, B: Any, S: Any, G: Any, x: Any, least: int = 0) -> None:
        self.d, self.model, self.chip, self.other = d, d.model, d.chip, H100
        self.D, self.F, self.W = d.model.d_model, d.model.d_ff, d.chip.bandwidth
        self.varying = {"B": B + least, "N": B + 1, "requests": B, "S": S, "S_prompt": S, "G": G, "hops": G}
        self.varying |= dict.fromkeys(("MFU", "hop", "price", "price_other", "limit", "T_prompt"), x)
        self.varying |= {"T_given": 2 * x, "queries": 1000 * x, "net": 1e9 * x}
        self.asked: set[str] = set()

    def __getattr__(self, letter: str) -> Any:
        if letter.startswith("_") or letter not in self.varying:
            raise AttributeError(f"give {letter!r} a value in Numbers of {__file__}, or the row its `no_arrays`")
        self.asked.add(letter)
        return self.varying[letter]


Trial = Callable[[Deployment, Any, Any, Any, Any], dict[str, Any]]


def trial(case: Case) -> Trial:
    """A case as a function of the same four numbers; its result by the names of its fields."""

    def of(d: Deployment, B: Any, S: Any, G: Any, x: Any) -> dict[str, Any]:
        value = case.call(Numbers(d, B, S, G, x, case.least))
        return value._asdict() if hasattr(value, "_asdict") else {"": value}

    return of


def varies(case: Case) -> bool:
    """Whether anything that the case is given can be an array."""
    world = Numbers(NODE, 32, 8192, 512, 0.5)
    case.call(world)
    return bool(world.asked)


# Every call of a formula with an argument that can be an array.
BROADCASTING: dict[str, Trial] = {
    f"{row.short}, {case.label}".rstrip(", "): trial(case)
    for row in ROWS
    if not row.no_arrays
    for case in row.cases
    if varies(case)
}

every_function = pytest.mark.parametrize("name", BROADCASTING)
few = settings(max_examples=6)  # as many functions are tried, each on a whole grid

grids = st.tuples(
    st.lists(given_.batches, min_size=1, max_size=3),
    st.lists(given_.contexts, min_size=1, max_size=3),
    st.lists(st.integers(0, 5000), min_size=1, max_size=2),
    st.lists(given_.shares, min_size=1, max_size=2),
)


def spread(grid: tuple[list[Any], ...], kind: str = "f8") -> tuple[Any, ...]:
    """Four arrays, one an axis; the shares stay floats."""
    B, S, G, x = grid
    return (
        np.array(B, kind)[:, None, None, None],
        np.array(S, kind)[:, None, None],
        np.array(G, kind)[:, None],
        np.array(x),
    )


def scalars(f: Trial, d: Deployment, grid: tuple[list[Any], ...]) -> dict[str, np.ndarray]:
    """Each field of the result, one plain call a point of the grid."""
    points = [f(d, *point) for point in itertools.product(*grid)]
    shape = [len(axis) for axis in grid]
    return {field: np.array([point[field] for point in points], float).reshape(shape) for field in points[0]}


def same(a: Any, b: Any) -> None:
    np.testing.assert_allclose(np.asarray(a, float), np.asarray(b, float), rtol=ULP, atol=0)


# Arrays ---------------------------------------------------------------------------------------------------------------


@every_function
@few
@given(d=given_.deployments(), grid=grids)
def test_array_equals_scalars(name: str, d: Deployment, grid: tuple[list[Any], ...]) -> None:
    result, expected = BROADCASTING[name](d, *spread(grid)), scalars(BROADCASTING[name], d, grid)
    for field, values in expected.items():
        same(np.broadcast_to(result[field], values.shape), values)


@every_function
@pytest.mark.parametrize("kind", ["i4", "i8"])
@few
@given(d=given_.deployments(), grid=grids)
@example(d=POD, grid=([40_000], [131_072], [5000], [0.5]))  # their product is beyond 32 bits
def test_integers_do_not_overflow(name: str, kind: str, d: Deployment, grid: tuple[list[Any], ...]) -> None:
    whole, floats = (BROADCASTING[name](d, *spread(grid, one)) for one in (kind, "f8"))
    for field, values in floats.items():
        same(whole[field], values)


@every_function
def test_scalar_in_scalar_out(name: str) -> None:
    for d in (POD, NODE):
        assert {type(value) for value in BROADCASTING[name](d, 32, 8192, 512, 0.5).values()} <= {int, float, bool}


GRID = ([0, 1, 32, 2000], [0, 512, 8192, 200_000], [1, 512], [0.003, 0.02, 1.0])


@every_function
@pytest.mark.parametrize("d", [POD, NODE], ids=["pod", "node"])
def test_dask_equals_numpy(name: str, d: Deployment) -> None:
    dask = pytest.importorskip("dask.array")
    arrays = spread(GRID)
    lazy = BROADCASTING[name](d, *(dask.from_array(a, chunks=2) for a in arrays))
    for field, now in BROADCASTING[name](d, *arrays).items():
        assert isinstance(lazy[field], dask.Array) or np.ndim(now) == 0, f"{field} computed before it was asked for"
        with np.errstate(divide="ignore", invalid="ignore"):  # computed later, where `divide` cannot hush it
            same(dask.asarray(lazy[field]).compute(scheduler="synchronous"), now)


def test_the_bound_of_dask_arrays() -> None:
    dask = pytest.importorskip("dask.array")
    B, S, _, _ = spread(GRID)
    lazy = decode_step(POD, dask.from_array(B, chunks=2), dask.from_array(S, chunks=2)).longest
    assert lazy.compute(scheduler="synchronous").tolist() == decode_step(POD, B, S).longest.tolist()


@every_function
def test_jax_equals_numpy(name: str) -> None:
    jax = pytest.importorskip("jax")
    arrays = spread(GRID)
    expected = BROADCASTING[name](POD, *arrays)
    for f in (BROADCASTING[name], jax.jit(BROADCASTING[name], static_argnums=0)):
        for field, value in f(POD, *map(jax.numpy.asarray, arrays)).items():
            np.testing.assert_allclose(np.asarray(value, float), expected[field], rtol=1e-4)


@given(d=given_.deployments(), chips=st.lists(st.integers(1, 512), min_size=1, max_size=4))
def test_array_of_chips_equals_scalars(d: Deployment, chips: list[int]) -> None:
    many = replace(d, chips=np.array(chips))
    for f in (lambda d: decode_step(d, 32, 8192).total, lambda d: max_batch(d, 8192), lambda d: plateau(d, 8192)):
        same(np.broadcast_to(f(many), (len(chips),)), [f(replace(d, chips=n)) for n in chips])


# Sizes ----------------------------------------------------------------------------------------------------------------


def sizes_up(d: Deployment, k: float) -> Deployment:
    """Every size in bytes k times as large: memory, bandwidth, links and (by their dtypes) weights and cache."""
    wider = {half: whole for whole, half in HALF.items()}
    chip = d.chip
    bigger = {name: k * getattr(chip, name) for name in ("memory", "device_memory", "bandwidth")}
    return replace(d, chip=replace(chip, **bigger), weights=wider[d.weights], kv=wider[d.kv])


@given(d=given_.deployments(), B=given_.batches, S=given_.contexts)
def test_bytes_cancel_in_seconds(d: Deployment, B: int, S: int) -> None:
    """With twice the bytes in every number and twice the bytes per second, no time changes."""
    assume(d.weights in HALF.values() and d.kv in HALF.values())
    d = replace(d, layout="label")  # what an engine loads keeps its embeddings in 16 bits
    double = sizes_up(d, 2.0)
    assert decode_step(double, B, S) == pytest.approx(decode_step(d, B, S), rel=ULP)
    assert max_batch(double, S) == max_batch(d, S)
    assert min_chips(double, B, S) == min_chips(d, B, S)
    assert fits(double, B, S) == fits(d, B, S)
    assert best_batch(double, S) == best_batch(d, S)
    assert roofline.critical_batch(double.chip, double.weights, d.compute) == pytest.approx(
        roofline.critical_batch(d.chip, d.weights, d.compute), rel=ULP
    )
    same(cache_bytes(double, B, S), 2 * cache_bytes(d, B, S))
    same(weight_bytes(double), 2 * weight_bytes(d))


@given(chip=given_.chips, B=given_.some_batches, k=st.sampled_from([2, 4]))
def test_bytes_cancel_in_links(chip: Any, B: int, k: int) -> None:
    faster = replace(chip, link_bandwidth=k * chip.link_bandwidth, bandwidth=k * chip.bandwidth)
    one, many = ("int8", {2: "bf16", 4: "fp32"}[k])
    same(
        sharding.matmul_collective_time(faster, B, 4096, activations=many),
        sharding.matmul_collective_time(chip, B, 4096, activations=one),
    )
    for batch in (None, B):
        same(
            sharding.tp_limit(faster, 14_336, batch=batch, weights=many, activations=many),
            sharding.tp_limit(chip, 14_336, batch=batch, weights=one, activations=one),
        )
    same(
        disaggregation.transfer_time(LLAMA3_70B, B, k * 1e9, kv=many),
        disaggregation.transfer_time(LLAMA3_70B, B, 1e9, kv=one),
    )


@given(d=given_.deployments(), B=given_.some_batches, S=given_.some_contexts, k=st.floats(0.1, 10))
def test_flops_cancel_in_seconds(d: Deployment, B: int, S: int, k: float) -> None:
    """At k times the arithmetic rate the compute term is k times as short, and no other is."""
    faster = replace(d, chip=replace(d.chip, flops={name: k * rate for name, rate in d.chip.flops.items()}))
    before, after = decode_step(d, B, S), decode_step(faster, B, S)
    same(after.compute, before.compute / k)
    assert after._replace(compute=0) == before._replace(compute=0)
    free = replace(d.efficiency, links=None, layer_seconds=0.0)
    slow, fast = (prefill_time(replace(x, efficiency=free), S, attention=True) for x in (d, faster))
    same(fast, slow / k)


@pytest.mark.parametrize("field", ["weights", "kv"])
@given(d=given_.deployments(), B=given_.some_batches, S=given_.some_contexts)
def test_half_a_dtype_halves_its_own_term_and_no_other(field: str, d: Deployment, B: int, S: int) -> None:
    assume(getattr(d, field) in HALF)
    term = {"weights": "weights", "kv": "cache"}[field]
    d = replace(d, layout="label")  # as loaded, embeddings do not become narrower
    before, after = decode_step(d, B, S), decode_step(replace(d, **{field: HALF[getattr(d, field)]}), B, S)
    same(getattr(after, term), getattr(before, term) / 2)
    assert after._replace(**{term: 0}) == before._replace(**{term: 0})


@given(d=given_.deployments(), B=given_.some_batches, S=given_.some_contexts)
def test_compute_dtype_changes_the_compute_term_alone(d: Deployment, B: int, S: int) -> None:
    chip = replace(d.chip, flops={"bf16": 1e15, "int8": 2e15})
    before, after = (decode_step(replace(d, chip=chip, compute=c), B, S) for c in ("bf16", "int8"))
    same(after.compute, before.compute / 2)
    assert after._replace(compute=0) == before._replace(compute=0)


# Time -----------------------------------------------------------------------------------------------------------------


@given(d=given_.deployments(), B=given_.batches, S=given_.contexts, more=st.integers(1, 512))
def test_more_chips_are_never_slower(d: Deployment, B: int, S: int, more: int) -> None:
    """Collectives apart: they begin with the second chip."""
    d = replace(d, efficiency=replace(d.efficiency, links=None))
    bigger = replace(d, chips=d.chips + more)
    assert decode_step(bigger, B, S).total <= decode_step(d, B, S).total * (1 + ULP)
    assert prefill_time(bigger, S) <= prefill_time(d, S)
    assert decode_step(bigger, B, S).collectives == decode_step(d, B, S).collectives == 0


@given(d=given_.deployments(even=True), B=given_.batches, S=given_.contexts)
def test_twice_the_chips_halve_every_term(d: Deployment, B: int, S: int) -> None:
    d = replace(d, efficiency=replace(d.efficiency, links=None, layer_seconds=0.0))
    double = replace(d, chips=2 * d.chips)
    same(decode_step(double, B, S), np.array(decode_step(d, B, S)) / 2)
    same(plateau(double, S), 2 * plateau(d, S))


@given(d=given_.deployments(), B=given_.batches, S=given_.contexts)
def test_total_is_never_below_a_term_or_a_sum_that_must_be_waited_for(d: Deployment, B: int, S: int) -> None:
    step = decode_step(d, B, S)
    assert all(step.total >= term for term in step)
    assert step.total >= step.cache + step.weights
    assert step.total >= step.cache + step.compute
    assert step.total >= (max if d.efficiency.hidden else sum)((step.matmul, step.collectives))
    assert step.total <= sum(step) * (1 + ULP)
    assert getattr(step, step.longest) == max(step)
    assert step.matmul == max(step.weights, step.compute)


@given(d=given_.deployments(), B=given_.batches, S=given_.contexts)
def test_no_step_beats_the_wires_or_the_arithmetic(d: Deployment, B: int, S: int) -> None:
    """Bounds that no step passes: all bytes once over the memory, all FLOPs once over the peak."""
    step = decode_step(d, B, S)
    peak = d.chips * d.chip.bandwidth
    read = d.step_params * d.weight_size + cache_bytes(d, B, S)
    assert step.total >= read / peak * (1 - ULP)
    assert step.total >= 2 * B * d.step_params / (d.chips * d.chip.rate(d.compute)) * (1 - ULP)


@given(d=given_.deployments(), B=given_.batches, S=given_.contexts)
def test_an_estimate_is_never_shorter_than_the_serial_roofline(d: Deployment, B: int, S: int) -> None:
    serial = replace(d, efficiency=ROOFLINE)
    for fastest, real in zip(decode_step(serial, B, S), decode_step(d, B, S), strict=True):
        assert fastest <= real
    assert decode_step(serial, B, S).total <= decode_step(d, B, S).total
    assert prefill_time(serial, S, attention=True) <= prefill_time(d, S, attention=True)
    assert plateau(serial, S) >= plateau(d, S)
    assert throughput.mfu(d, B, S) <= throughput.mfu(serial, B, S) * (1 + ULP)
    assert throughput.mfu(serial, B, S) <= 1 + ULP


@pytest.mark.parametrize("field", ["bandwidth", "flops"])
@given(d=given_.deployments(), B=given_.some_batches, S=given_.some_contexts, share=given_.shares)
def test_efficiency_is_a_slower_chip(field: str, d: Deployment, B: int, S: int, share: float) -> None:
    e = replace(d.efficiency, bandwidth=1.0, flops=1.0)
    d = replace(d, efficiency=e)
    if field == "bandwidth":
        slower = replace(d.chip, bandwidth=share * d.chip.bandwidth)
    else:
        slower = replace(d.chip, flops={name: share * rate for name, rate in d.chip.flops.items()})
    derated = decode_step(replace(d, efficiency=replace(e, **{field: share})), B, S)
    same(derated, decode_step(replace(d, chip=slower), B, S))


@given(d=given_.deployments(), B=given_.batches, S=given_.contexts, more=st.integers(1, 1000))
def test_a_longer_context_or_a_larger_batch_is_never_faster(d: Deployment, B: int, S: int, more: int) -> None:
    total = decode_step(d, B, S).total
    assert decode_step(d, B + more, S).total >= total
    assert decode_step(d, B, S + more).total >= total
    assert prefill_time(d, S + more) > prefill_time(d, S)
    assert prefill_time(d, S, attention=True) >= prefill_time(d, S)
    assert cache_bytes(d, B + more, S) >= cache_bytes(d, B, S)


@given(d=given_.deployments(), B=given_.batches, S=given_.contexts)
def test_cache_is_linear_in_batch_times_context(d: Deployment, B: int, S: int) -> None:
    same(decode_step(d, B, S).cache, decode_step(d, 1, B * S).cache)
    same(decode_step(d, B, S).cache, decode_step(d, B * S, 1).cache)
    same(cache_bytes(d, 2 * B, S), cache_bytes(d, B, 2 * S))


@given(d=given_.deployments(), B=given_.some_batches)
def test_links_are_shared_by_the_axes(d: Deployment, B: int) -> None:
    for axes in range(1, d.chip.link_axes + 1):
        free = replace(d, efficiency=replace(d.efficiency, start=0.0), wrap=False)
        one = sharding.collective_time(replace(free, axes=1), B)
        same(sharding.collective_time(replace(free, axes=axes), B), one / axes)
        same(sharding.collective_time(replace(free, axes=axes, wrap=True), B), one / axes / 2)
        assert sharding.tp_limit(d.chip, 4096, axes=axes) == pytest.approx(
            axes * sharding.tp_limit(d.chip, 4096, axes=1)
        )
    D, L = d.model.d_model, d.model.layers
    one = sharding.matmul_collective_time(d.chip, B, D, chips=d.chips, axes=d.axes, wrap=d.wrap)
    starts = 0.0 if d.chips == 1 else 4 * L * d.efficiency.start
    same(sharding.collective_time(d, B), 4 * L * one / (d.efficiency.links or 1.0) + starts)


# What fits ------------------------------------------------------------------------------------------------------------


@given(d=given_.deployments(), S=given_.some_contexts)
def test_max_batch_is_the_last_that_fits(d: Deployment, S: int) -> None:
    most = max_batch(d, S)
    assert most >= 0
    assert not fits(d, most + 1, S)
    if most:
        assert fits(d, most, S)


@given(d=given_.deployments(), B=given_.batches, S=given_.contexts)
def test_budget_weights_and_cache_fill_the_memory(d: Deployment, B: int, S: int) -> None:
    budget = memory.cache_budget(d)
    assert budget >= 0
    if weight_bytes(d) <= d.memory:
        same(budget + weight_bytes(d), d.memory)
        assert fits(d, 0, S)
    else:
        assert budget == 0
        assert not fits(d, B, S)
        assert max_batch(d, S) == 0


@given(d=given_.deployments(), B=given_.batches, S=given_.contexts)
def test_min_chips_is_the_least_allowed_size_that_holds(d: Deployment, B: int, S: int) -> None:
    least = min_chips(d, B, S)
    sizes = parallel_sizes(d.model, d.chip)
    held = [n for n in sizes if fits(replace(d, chips=n), B, S)]
    assert least == (held[0] if held else 0)
    assert least in (0, *sizes)
    for n in range(1, 20):  # nothing smaller that divides the heads evenly holds it either
        if n < least and n in sizes:
            assert not fits(replace(d, chips=n), B, S)


@given(model=given_.models, chip=given_.chips)
def test_parallel_sizes_split_evenly(model: Any, chip: Any) -> None:
    sizes = parallel_sizes(model, chip)
    assert list(sizes) == sorted(set(sizes))
    for n in sizes:
        assert model.q_heads % n == model.d_ff % n == 0 and n <= chip.fast_domain
        assert model.kv_heads % n == 0 or n % model.kv_heads == 0
        assert n in chip.slices if chip.slices else True
    if not chip.slices:
        assert 1 in sizes


# Rates ----------------------------------------------------------------------------------------------------------------


@given(d=given_.deployments(), B=given_.some_batches, S=given_.contexts, more=st.integers(1, 500))
def test_throughput_never_falls_with_batch_and_never_passes_the_plateau(
    d: Deployment, B: int, S: int, more: int
) -> None:
    few, many, most = tokens_per_second(d, B, S), tokens_per_second(d, B + more, S), plateau(d, S)
    assert few <= many * (1 + ULP)
    assert many <= most * (1 + ULP)
    if d.efficiency.layer_seconds == d.efficiency.start == 0 and not d.efficiency.hidden:
        if B >= throughput.balanced_batch(d):
            same(few, most)
        else:
            assert few < most


@given(d=given_.deployments(), S=given_.contexts)
def test_plateau_lies_below_the_arithmetic_alone(d: Deployment, S: int) -> None:
    assert plateau(d, S) <= throughput.compute_ceiling(d) * (1 + ULP)
    if d.efficiency.links is None:
        same(plateau(d, 0), throughput.compute_ceiling(d))


@given(d=given_.deployments(), S=given_.contexts)
def test_best_batch_is_the_smallest_with_full_throughput(d: Deployment, S: int) -> None:
    # A cost per step is shared by more and more sequences, and hidden links may be what fills a step first.
    d = replace(d, efficiency=replace(d.efficiency, layer_seconds=0.0, start=0.0, hidden=False))
    best, most = best_batch(d, S), max_batch(d, S)
    assert 0 <= best <= most
    if best < most:  # capacity allows: the plateau is reached, and one less does not reach it
        same(tokens_per_second(d, best, S), plateau(d, S))
    if best > 1:
        assert tokens_per_second(d, best - 1, S) < plateau(d, S)


@given(d=given_.deployments(), S=given_.contexts, B=given_.some_batches)
def test_best_batch_keeps_the_step_limit(d: Deployment, S: int, B: int) -> None:
    limit = decode_step(d, B, S).total
    free, best = best_batch(d, S), best_batch(d, S, max_step=limit)
    assert best <= free
    assert best >= min(B, free)  # the limit is a step that B itself keeps
    if best:
        assert decode_step(d, best, S).total <= limit * (1 + 1e-9)
    if best < free:
        assert decode_step(d, best + 1, S).total > limit * (1 - 1e-9)


@given(d=given_.deployments(), S=given_.some_contexts, B=given_.some_batches)
def test_batch_at_step_solves_the_step(d: Deployment, S: int, B: int) -> None:
    same(np.round(throughput.batch_at_step(d, S, decode_step(d, B, S).total), 6), B)


@given(d=given_.deployments(measured=False), B=given_.some_batches, S=given_.some_contexts)
def test_crossings_are_where_the_terms_meet(d: Deployment, B: int, S: int) -> None:
    d = replace(d, layout="label")  # as `critical_batch` counts the weights
    step = decode_step(d, throughput.cache_over_weights_tokens(d) / S, S)
    same(step.cache, step.weights)
    step = decode_step(d, B, throughput.cache_over_compute_context(d))
    same(step.cache, step.compute)
    step = decode_step(d, throughput.balanced_batch(d), S)
    same(step.compute, step.weights)
    same(throughput.balanced_batch(d), roofline.critical_batch(d.chip, d.weights, d.compute))


@given(
    d=given_.deployments(), B=given_.some_batches, S=given_.contexts, G=st.integers(1, 5000), price=st.floats(0.1, 20)
)
def test_rates_and_costs_agree_with_one_another(d: Deployment, B: int, S: int, G: int, price: float) -> None:
    rate = tokens_per_second(d, B, S)
    same(rate * decode_step(d, B, S).total, B)
    same(tokens_per_second_per_chip(d, B, S) * d.chips, rate)
    same(throughput.queries_per_second(d, B, S, G) * G, rate)
    same(throughput.queries_per_second_per_chip(d, B, S, G) * d.chips * G, rate)
    same(throughput.mfu(d, B, S) * d.chips * d.chip.rate(d.compute), 2 * d.step_params * rate)
    cost = throughput.cost_per_million_tokens(d, B, S, price=price)
    same(cost * rate * 3600, 1e6 * d.chips * price)
    same(throughput.cost_per_million_tokens(d, B, S), cost * d.chip.price / price)


@given(chip=given_.chips, model=given_.models, price=st.floats(0.1, 20))
def test_a_dollar_buys_what_the_price_of_a_token_says(chip: Any, model: Any, price: float) -> None:
    """Where one resource binds alone, tokens x what each needs of it, over their cost, is what a dollar buys."""
    d = Deployment(model=model, chip=chip)
    for batch, needed, buys in (
        (1e9, 2.0 * model.params, roofline.flops_per_dollar(chip, price=price)),
        (1e-9, 1e9 * weight_bytes(d), roofline.bandwidth_per_dollar(chip, price=price)),
    ):
        same(1e6 * needed / throughput.cost_per_million_tokens(d, batch, 0, price=price), buys)
    for measure in (roofline.flops_per_dollar, roofline.bandwidth_per_dollar, roofline.memory_per_dollar_hour):
        even = roofline.breakeven_price(chip, H100, measure, price=price)
        same(measure(chip, price=even), measure(H100, price=price))


# The front ------------------------------------------------------------------------------------------------------------


@given(d=given_.deployments(measured=False), S=given_.some_contexts)
def test_front_is_monotone(d: Deployment, S: int) -> None:
    assume(best_batch(d, S) < 2000)
    points = pareto.front(d, S)
    assert points.batch == tuple(range(1, best_batch(d, S) + 1))
    assert (np.diff(points.step) > 0).all()
    assert (np.diff(points.tokens_per_second_per_chip) > 0).all()
    B = np.array(points.batch)
    same(points.step, decode_step(d, B, S).total)
    same(points.tokens_per_second_per_chip, tokens_per_second_per_chip(d, B, S))


@given(d=given_.deployments(measured=False), S=given_.some_contexts, B=given_.some_batches)
def test_nothing_beats_the_front_on_both_counts(d: Deployment, S: int, B: int) -> None:
    assume(max_batch(d, S) > 0 and best_batch(d, S) < 2000)
    B = min(B, max_batch(d, S))
    points = pareto.front(d, S)
    steps, rates = np.array(points.step), np.array(points.tokens_per_second_per_chip)
    step, rate = decode_step(d, B, S).total, tokens_per_second_per_chip(d, B, S)
    assert not ((step < steps * (1 - ULP)) & (rate > rates * (1 + ULP))).any()
    assert ((steps <= step * (1 + ULP)) & (rates >= rate * (1 - ULP))).any()


# Turnover -------------------------------------------------------------------------------------------------------------


@given(
    d=given_.deployments(),
    B=given_.some_batches,
    S=given_.some_contexts,
    G=st.integers(1, 5000),
    T=given_.some_contexts,
)
def test_littles_law(d: Deployment, B: int, S: int, G: int, T: int) -> None:
    """Those inside are those that arrive a second, times the seconds each stays: B = rate x (G steps)."""
    step = decode_step(d, B, S).total
    out = disaggregation.eviction_rate(B, T, G)
    leaving = out.sequences / step
    same(leaving, throughput.queries_per_second(d, B, S, G))
    same(leaving * (G * step), B)
    same(out.share * B, out.sequences)
    same(out.tokens, out.sequences * (T + G))
    # Prefill servers start one prompt per prefill: their number is what leaves, times how long each prompt takes.
    prefill = prefill_time(d, T)
    same(disaggregation.prefill_decode_ratio(prefill, step, B, G), leaving * prefill)


# Bad input ------------------------------------------------------------------------------------------------------------

ARGUMENTS = {
    "batch": (
        *(memory.cache_bytes, memory.fits, memory.min_chips, decode_step, tokens_per_second),
        *(tokens_per_second_per_chip, throughput.mfu, throughput.cost_per_million_tokens),
    ),
    "context": (
        *(memory.cache_bytes, memory.fits, memory.min_chips, decode_step, tokens_per_second),
        *(tokens_per_second_per_chip, throughput.mfu, throughput.cost_per_million_tokens),
    ),
}


@pytest.mark.parametrize(("argument", "f"), [(name, f) for name, fs in ARGUMENTS.items() for f in fs])
@few
@given(
    d=given_.deployments(),
    good=st.integers(0, 1000),
    bad=st.one_of(st.integers(max_value=-1), st.floats(max_value=-1e-300, allow_nan=False)),
)
def test_negative_is_refused_by_name(
    argument: str, f: Callable[..., Any], d: Deployment, good: int, bad: float
) -> None:
    for value in (bad, np.array([good, float(bad)])):
        given_arguments = {"batch": good, "context": good} | {argument: value}
        with pytest.raises(ValueError, match=rf"^{argument} must be a number.* of at least 0, not ") as error:
            f(d, **given_arguments)
        assert repr(value) in str(error.value)


@every_function
@few
@given(d=given_.deployments())
def test_zeros_are_fine(name: str, d: Deployment) -> None:
    zeros = np.zeros(3)
    for values in ((0, 0, 0, 0.5), (zeros, zeros, zeros, 0.5), (0, 8192, 512, 0.5), (32, 0, 512, 0.5)):
        for field, value in BROADCASTING[name](d, *values).items():
            assert not (np.asarray(value, float) < 0).any(), f"{name} {field} is {value} for {values}"


@given(d=given_.deployments())
def test_nothing_is_read_of_no_cache(d: Deployment) -> None:
    assert decode_step(d, 0, 0).cache == decode_step(d, 32, 0).cache == decode_step(d, 0, 8192).cache == 0
    empty = decode_step(d, 0, 0)._replace(collectives=0.0)  # which start all the same
    assert empty.total == pytest.approx(empty.weights + empty.overhead)
    assert max_batch(d, 0) in (0, math.inf)
    assert isinstance(decode_step(d, 0, 0), StepTime)
