"""Dimensions: every public formula has the unit that its docstring says, in bytes, seconds, dollars, tokens and FLOP.

Nothing here knows a formula. Each call of `tests/formulas.py` is made once, and what the formula is given is noted.
Then one base unit at a time is made four times smaller, so that every number counted in it becomes four times larger:
in the records, and in the arguments by the unit that the docstring gives them. The result must grow as the unit in its
own square brackets says. First of all an argument must have the unit that others of its name have.

Three numbers carry a unit that is not written. A parameter and a token make two FLOP, so FLOP scale as parameters times
tokens. A step gives each sequence one token, so in a step sequences scale as tokens do, and a context, in tokens per
sequence, is a pure number. And what is true of one chip is per chip.
"""

import importlib
import inspect
import math
import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest
import symbols
from docstrings import Formula, formulas

from scaling import units
from scaling.chips import H100, Chip
from scaling.deployment import Deployment, Efficiency
from scaling.models import LLAMA3_70B, Model
from tests.formulas import ROWS, Case, Row

TIMES = 4.0
BASES = ("B", "s", "USD", "token", "sequence", "parameter", "chip")
SAME = {
    "h": "s",
    "query": "sequence",
    "way": "chip",
    "hop": "",
    "server": "",
    "replica": "",
    "million": "",
    "request": "",
}
FORMULAS = {formula.path.removeprefix("scaling."): formula for formula in formulas()}
TABLE = symbols.read(symbols.PAGE.read_text(encoding="utf-8"))


def exponents(unit: str) -> dict[str, int]:
    """``{"B": 1, "s": -1}`` of "B/s"; text after a comma explains and does not count."""
    found = dict.fromkeys(BASES, 0)

    def add(text: str, sign: int) -> None:
        over, *under = text.split("/")
        for word, power in [(w, sign) for w in over.split()] + [(w, -sign) for part in under for w in part.split()]:
            base = word if word in ("s", "B") else re.sub("ies$", "y", word).removesuffix("s")
            base = SAME.get(base, base)
            if base == "FLOP":
                found["parameter"] += power
                found["token"] += power
            elif base not in ("", "-", "1"):
                found[base] += power

    first, *rest = unit.partition(",")[0].split(" per ")
    add(first, 1)
    for part in rest:
        add(part, -1)
    return found


class World:
    """Records and numbers with some base units made smaller."""

    def __init__(self, bases: tuple[str, ...]) -> None:
        self.bases = bases
        grown = self.factor
        self.model = replace(
            LLAMA3_70B,
            nominal_params=70e9 * grown("parameter"),
            head_dim=int(128 * grown("parameter")),
            d_ff=int(28_672 * grown("parameter")),
            vocab=int(128_256 * grown("parameter")),
            checkpoints={},
        )
        own = grown("1 per chip")
        self.chip = replace(
            H100,
            memory=80e9 * grown("B") * own,
            device_memory=85e9 * grown("B") * own,
            bandwidth=3e12 * grown("B/s") * own,
            flops={"bf16": 7.7e15 * grown("FLOP/s") * own},
            link_bandwidth=4e11 * grown("B/s"),
            link_axes=3,
            price=3.0 * grown("USD/s") * own,
        )
        self.other = replace(self.chip, flops={"bf16": 3 * self.chip.rate("bf16")}, price=2 * self.chip.price)
        self.deployment = Deployment(
            model=self.model,
            chip=self.chip,
            chips=int(96 * grown("chip")),
            weights="int4",
            kv="int8",
            params="nominal",
            usable=0.9,
            efficiency=Efficiency(bandwidth=0.8, flops=0.7, links=0.5, layer_seconds=2e-7 * grown("s")),
        )
        # A stored weight, a cached number, a number sent or kept: each in a dtype of its own.
        number = "B per token"
        self.dtypes = {
            "int4": 0.5 * grown("B per parameter"),
            "int8": 1.0 * grown(number) / grown("parameter"),
            "bf16": 2.0 * grown(number),
            "fp32": 4.0 * grown("B per token") / grown("parameter"),
        }

    def factor(self, unit: str) -> float:
        found = exponents(unit)
        return math.prod(TIMES ** found[base] for base in self.bases)

    def given(self, formula: Formula, name: str, value: Any, before: "World") -> Any:
        """What the formula is given here as the argument that was `value` in the world before."""
        if isinstance(value, (Chip, Model)):
            return self.other if value is before.other else self.chip if isinstance(value, Chip) else self.model
        if isinstance(value, Deployment):
            return replace(self.deployment, chips=int(value.chips * self.factor("chip")))
        if name in ("d_model", "d_ff"):
            return getattr(self.model, name)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return value
        unit = unit_of(formula, name)
        assert unit, f"{formula.path}: say the unit of `{name}` in square brackets in its docstring"
        return value * self.factor(f"{unit} per chip" if name == "price" else unit)  # as a chip's own price is


LETTERS = {
    **{"B": 7000.0, "S": 3000.0, "G": 500.0, "S_prompt": 3000.0, "requests": 90.0, "queries": 60_000.0, "N": 640.0},
    **{"T_given": 0.2, "limit": 0.2, "T_prompt": 0.7, "hop": 1e-6, "hops": 21.0, "MFU": 0.4, "u": 0.95},
    **{"price": 5.0, "price_other": 5.0, "net": 5e10, "D": 8192, "F": 28_672, "Q": 64, "W": 3e12},
    **{"free_before": 78e9, "free_after": 74e9, "token_bytes": 80e3, "group": 16, "window": 8192},
    **{"most_tokens": 60_000.0, "bits": 4.0, "scale_bits": 16.0, "zero_bits": 4.0},
}


class Letters:
    """The world that a row is called with: the records of a `World`, and a number for each letter."""

    def __init__(self, row: Row, world: World) -> None:
        # An engine accepts ways that split the heads: two, and four times as many.
        self.d = replace(world.deployment, chips=2) if row.path.startswith("engines") else world.deployment
        self.model, self.chip, self.other = world.model, world.chip, world.other
        self.numbers = LETTERS | dict(row.numbers)

    def __getattr__(self, letter: str) -> float:
        assert letter in self.numbers, f"give {letter!r} a number in LETTERS of {__file__}"
        return self.numbers[letter]


def elsewhere(formula: Formula, name: str) -> list[str]:
    """The units that an argument of this name has in other formulas and in the table of symbols."""
    said = [other.argument_units.get(name, "") for other in FORMULAS.values() if other != formula]
    return list(dict.fromkeys(unit for unit in (*said, *(r.unit for r in TABLE.rows if name in r.names)) if unit))


def unit_of(formula: Formula, name: str) -> str:
    """Unit of an argument: as its docstring says, or the only one that the name has elsewhere."""
    known = elsewhere(formula, name)
    return formula.argument_units.get(name) or (known[0] if len(set(map(str, map(exponents, known)))) == 1 else "")


def noted(row: Row, case: Case, monkeypatch: pytest.MonkeyPatch) -> tuple[Callable[..., Any], dict[str, Any]]:
    """The function of a formula, and what a case gives it; a method is a function of its record."""
    letters, formula = Letters(row, World(())), FORMULAS[row.path]
    if formula.method:

        def of(model: Model) -> Any:
            letters.model = model
            return case.call(letters)

        return of, {"model": letters.model}
    module, calls = importlib.import_module(formula.module), []
    function = getattr(module, formula.name)

    def note(*args: Any, **kwargs: Any) -> Any:
        calls.append(inspect.signature(function).bind(*args, **kwargs).arguments)
        return function(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(module, formula.name, note)
        case.call(letters)
    assert calls, f"{row.path}: its row does not call it"
    return function, calls[0]


def parts(row: Row, value: Any) -> list[tuple[str, str, float]]:
    """Name, unit and value of the result, or of each of its fields."""
    formula = FORMULAS[row.path]
    if not formula.result:
        return [("", formula.unit, float(value))]
    flat = [(name, unit, getattr(value, name)) for name, unit in formula.units.items() if name not in row.fields_left]
    return [(name, unit, float(one[-1] if isinstance(one, tuple) else one)) for name, unit, one in flat]


CALLS = {
    f"{row.path}, {case.label}".rstrip(", "): (row, case)
    for row in ROWS
    if "everything" not in row.unseen
    for case in row.cases
}


def worlds(row: Row, case: Case) -> Iterator[tuple[str, ...]]:
    """The units to be made smaller, one after the other; in a step sequences grow as tokens do."""
    left = {place.partition(", ")[0] for place in row.unseen if place.partition(", ")[2] in ("", case.label)}
    for base in BASES:
        if base not in left and (row.no_step or base != "sequence"):
            yield ("token", "sequence") if base == "token" and not row.no_step else (base,)


@pytest.mark.parametrize("name", CALLS)
def test_a_formula_has_the_unit_that_its_docstring_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    row, case = CALLS[name]
    formula, (function, given), before = FORMULAS[row.path], noted(row, case, monkeypatch), World(())

    def computed(world: World) -> list[tuple[str, str, float]]:
        monkeypatch.setattr(units, "DTYPE_BYTES", world.dtypes)
        return parts(row, function(**{key: world.given(formula, key, one, before) for key, one in given.items()}))

    odd = odd_arguments(row)
    assert not odd, odd[0]
    plain = computed(before)
    for bases in worlds(row, case):
        world = World(bases)
        for (field, unit, old), (_, _, new) in zip(plain, computed(world), strict=True):
            assert unit, f"{name} says no unit{' of ' + field if field else ''}"
            assert old > 0 and math.isfinite(old), f"{name} {field} is {old} here: give the row `numbers` to see more"
            said = math.log(world.factor(unit), TIMES)
            grew = math.log(new / old, TIMES) if new else -math.inf
            # Of N chips each sends to N - 1: no power of N, but nearly one.
            nearly = max(row.nearly, 1e-2) if bases == ("chip",) else row.nearly
            assert abs(grew - said) < nearly, (
                f"{name} {field}: [{unit}] says {' and '.join(bases)} to the power {said:g}, computed is {grew:g}. "
                f"Its arguments are { {key: unit_of(formula, key) for key in given} }: is one of them wrong?"
            )


def odd_arguments(row: Row) -> list[str]:
    """Arguments whose unit is none that the same name has elsewhere."""
    formula = FORMULAS[row.path]
    return [
        f"the argument `{name}` of {row.path} has the unit [{unit}], elsewhere [{'], ['.join(known)}]: correct it, or "
        f"give the row in tests/formulas.py an entry of `own_units`"
        for name, unit in formula.argument_units.items()
        if (known := elsewhere(formula, name)) and name not in row.own_units
        if exponents(unit) not in map(exponents, known)
    ]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.path)
def test_every_argument_with_a_unit_is_given(row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {name for case in row.cases for name in noted(row, case, monkeypatch)[1]}
    never = FORMULAS[row.path].argument_units.keys() - given
    assert not never, (
        f"{row.path} in tests/formulas.py: no case gives {sorted(never)}, so nothing is seen of their units"
    )


@pytest.mark.parametrize(
    ("unit", "found"),
    [
        ("B", {"B": 1}),
        ("FLOP/USD", {"parameter": 1, "token": 1, "USD": -1}),
        ("B per USD/h", {"B": 1, "USD": -1, "s": 1}),
        ("token/s per chip", {"token": 1, "s": -1, "chip": -1}),
        ("sequences, whole deployment", {"sequence": 1}),
        ("USD per million tokens", {"USD": 1, "token": -1}),
        ("servers per server", {}),
        ("-", {}),
    ],
)
def test_units_are_read(unit: str, found: dict[str, int]) -> None:
    assert {base: power for base, power in exponents(unit).items() if power} == found


@pytest.mark.parametrize(
    ("path", "right", "wrong", "said"),
    [
        ("latency.prefill_time", "]", "]", ""),
        ("latency.prefill_time", "[s]", "[B/s]", r"\[B/s\] says B to the power 1, computed is 0"),
        ("memory.cache_bytes", "[B]", "[s]", r"\[s\] says B to the power 0, computed is 1"),
        ("throughput.queries_per_second", "[tokens per sequence]", "[tokens]", "the argument `decode_tokens` of "),
        ("disaggregation.eviction_rate", "[sequences]", "[s]", "the argument `batch` of "),
    ],
)
def test_a_wrong_unit_is_seen(path: str, right: str, wrong: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    formula = FORMULAS[path]
    assert right in formula.text
    monkeypatch.setitem(FORMULAS, path, replace(formula, text=formula.text.replace(right, wrong, 1)))
    with pytest.raises(AssertionError, match=said) if said else nullcontext():
        test_a_formula_has_the_unit_that_its_docstring_says(path, monkeypatch)
