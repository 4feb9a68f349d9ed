"""Each formula derived a second time, from what is read, done and sent, and held against what the package computes.

SymPy builds a formula from its beginnings (the rows of `tests/formulas.py`): shapes of matrices, an addition and a
multiplication for each weight and token, bytes over bandwidth, two times set equal and solved. The package is called
with symbols in place of numbers, and the difference must simplify to zero. Every formula is tried with plain numbers
too, all of them odd ones; where it rounds or chooses, only so. And each equation that a docstring writes must come to
what is derived.
"""

import itertools
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import equations
import pytest
import sympy as sp
from docstrings import formulas

from scaling import latency, memory, pareto, sharding, units
from scaling.chips import H100_TEXT, TPU_V5E_TEXT
from scaling.deployment import Deployment, Efficiency
from scaling.models import LLAMA3_8B, LLAMA3_70B, LLAMA3_405B
from tests.formulas import ROWS, Case, Row
from tests.scaling.symbolic import IN_LAYERS, NAMES, REST, Step, World, bare, compiled, point, s, symbolic

FORMULAS = {formula.path: formula for formula in formulas()}
POINTS = range(12)
DERIVED: dict[str, Case] = {}  # by the row's path and the case's label
for _row in ROWS:
    DERIVED |= {f"{_row.path}, {case.label}".rstrip(", "): case for case in _row.cases if case.derive}


def fields(value: Any) -> dict[str, Any]:
    """The parts of a result by name."""
    return value._asdict() if hasattr(value, "_asdict") else value if isinstance(value, dict) else {"": value}


def difference(one: Any, other: Any) -> Any:
    """Zero when two expressions, or two inequalities, are the same."""
    if isinstance(one, sp.core.relational.Relational):
        assert one.func == other.func
        one, other = one.lhs - one.rhs, other.lhs - other.rhs
    return sp.simplify(sp.together(one - other))


@pytest.mark.parametrize("name", [name for name, case in DERIVED.items() if not case.rounds])
def test_the_package_computes_what_follows_from_bytes_and_flop(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = DERIVED[name]
    for measured in (False, True):
        world = symbolic(measured)
        monkeypatch.setattr(units, "DTYPE_BYTES", world.dtypes)
        computed, derived = fields(case.call(world)), fields(case.derive(Step(measured)))
        assert computed.keys() == derived.keys()
        for part, value in derived.items():
            mine = sp.sympify(value).subs({s.P_step: s.P, s.copies: 1})
            theirs = bare(computed[part]).subs(s.N > 1, sp.true)  # one chip sends nothing
            assert difference(theirs, mine) == 0, f"{name} {part} is {theirs}, derived is {mine}"


@cache
def as_numbers(name: str, measured: bool) -> dict[str, Callable[[World], Any]]:
    """What is derived, as functions of plain numbers."""
    return {part: compiled(value) for part, value in fields(DERIVED[name].derive(Step(measured))).items()}


@pytest.mark.parametrize("name", DERIVED)
def test_plain_numbers_give_the_same(name: str) -> None:
    seen = set()
    for number in POINTS:
        world = point(number)
        computed = fields(DERIVED[name].call(world))
        for part, value in as_numbers(name, world.measured).items():
            assert computed[part] == pytest.approx(value(world), rel=1e-12), f"{name}, {part} at point {number}"
            seen.add(float(computed[part]))
    assert len(seen) > 1, f"{name} is the same at every point: nothing can be seen of it"


# What chooses from a list is derived by trying ------------------------------------------------------------------------


@pytest.mark.parametrize("model", [LLAMA3_8B, LLAMA3_70B, LLAMA3_405B], ids=lambda model: model.name)
def test_fewest_chips_by_trying_every_number(model: Any) -> None:
    found = set()
    for chip, (weights, kv, usable), batch, context in itertools.product(
        (H100_TEXT, TPU_V5E_TEXT), (("bf16", "bf16", 1.0), ("int4", "int8", 0.83)), (0, 1, 37), (977, 31_013)
    ):
        d = Deployment(model=model, chip=chip, weights=weights, kv=kv, usable=usable, layout="label")
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


def test_what_is_not_derived_is_tried() -> None:
    tried = {case.tried for row in ROWS for case in row.cases if not case.derive}
    assert len(tried) == 3 and tried <= globals().keys(), "a case needs `derive`, or in `tried` the name of a test here"


# Equations of the docstrings ------------------------------------------------------------------------------------------


@cache
def meanings() -> dict[str, Any]:
    """Every name that an equation may have."""
    t, most = Step(), sp.Symbol("most", positive=True)
    within = t.batch_in(s.limit)
    values: dict[str, Any] = {name: getattr(s, name) for name in NAMES} | {f"T_{k}": v for k, v in t.terms().items()}
    values |= {"T_step": t.total, "T_prefill": t.prompt / (s.N * s.C * s.MFU), "T_hop": s.hop}
    values |= {"kv": t.held, "W_link": t.link, "link_bandwidth": s.W_axis, "axes": 3, "links": 1, "start": 0}
    values |= {"P_min": t.P_min, "P_layers": IN_LAYERS, "P_rest": REST, "m": s.MFU, "page": s.group}
    values |= {"QPS": s.B / (s.G * t.total), "max_batch": t.most, "balanced_batch": t.balanced, "batch_at_step": within}
    values |= {"largest_batch": sp.Min(most, sp.floor(within), evaluate=False).subs(most, t.most)}
    return values


@cache
def meaning(name: str, case: str) -> Callable[[World], Any]:
    """What a name of a formula's equations comes to in a case, in plain numbers."""
    own = DERIVED[case].names(Step())
    assert name in own or name in meanings(), f"say in tests/formulas.py, as `names`, what {name!r} of {case} means"
    return compiled(own[name] if name in own else meanings()[name])


@pytest.mark.parametrize("row", [row for row in ROWS if row.cases[0].derive], ids=lambda row: row.path)
def test_the_equations_of_a_docstring_say_the_same(row: Row) -> None:
    equations_of = FORMULAS[f"scaling.{row.path}"].equations
    assert equations_of
    for relation, number in itertools.product(equations_of, POINTS):
        world, sides = point(number, plain=True), []
        for name in [name for name in DERIVED if name.split(",")[0] == row.path]:
            derived = [value(world) for value in as_numbers(name, False).values()]

            def of(letter: str, name: str = name, world: World = world) -> Any:
                return meaning(letter, name)(world)

            right = equations.value(relation.sides[-1], of)
            if "per chip" in relation.names[0] and not row.path.endswith("per_chip"):
                right *= world.N
            small = relation.signs == ("<=",) and equations.value(relation.sides[0], of) <= right
            sides.append((small if relation.signs == ("<=",) else max(0, right), derived))
        assert any(right == pytest.approx(value, rel=1e-9) for right, derived in sides for value in derived), (
            f"{row.path}: {relation.tex} comes to {sides[0][0]}, derived is {sides[0][1]}"
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
