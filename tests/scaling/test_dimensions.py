"""Dimensions: every public formula has the unit that its docstring says, in bytes, seconds, dollars, tokens and FLOP.

Nothing here knows a formula. One base unit at a time is made four times smaller, so that every number counted in it
becomes four times larger: in the records, and in the arguments by the unit that the docstring gives them. The result
must grow as the unit in its own square brackets says.

Three numbers carry a unit that is not written. A parameter and a token make two FLOP, so FLOP scale as parameters times
tokens. A step gives each sequence one token, so in a step sequences scale as tokens do, and a context, in tokens per
sequence, is a pure number. And what is true of one chip is per chip.
"""

import importlib
import inspect
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
import symbols
from docstrings import Formula, formulas

from scaling import roofline, units
from scaling.chips import H100
from scaling.deployment import Deployment, Efficiency
from scaling.models import LLAMA3_70B

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
FORMULAS = {formula.path: formula for formula in formulas()}
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
        # An engine accepts ways that split the heads: two, and four times as many.
        self.replica = replace(self.deployment, chips=int(2 * grown("chip")))
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

    def argument(self, formula: Formula, name: str) -> float:
        unit = formula.argument_units.get(name) or _as_sglang(formula).get(name) or TABLE.unit(name)
        assert unit, f"{formula.path} says no unit of {name!r}, nor does the table of symbols"
        number = OWN.get((formula.short, name), VALUES.get(name, 0.0))
        return number * self.factor(f"{unit} per chip" if name == "price" else unit)  # as a chip's own price is


def _as_sglang(formula: Formula) -> dict[str, str]:
    """Units of the arguments that are "those of `sglang_pool`"."""
    like = "those of `sglang_pool`" in " ".join(formula.text.split())
    return FORMULAS["scaling.engines.sglang.sglang_pool"].argument_units if like else {}


# A value for each argument that is a number: large enough that rounding to whole sequences is small.
VALUES: dict[str, float] = {
    "batch": 7000.0,
    "context": 3000.0,
    "tokens": 8000.0,
    "prompt_tokens": 3000.0,
    "decode_tokens": 500.0,
    "prefix_tokens": 2000.0,
    "requests": 90.0,
    "queries": 60_000.0,
    "price": 5.0,
    "step": 0.2,
    "max_step": 0.2,
    "prefill": 0.7,
    "bandwidth": 5e10,
    "mfu": 0.4,
    "hops": 21.0,
    "hop": 1e-6,
    "chips": 640.0,
    "free_before_load": 78e9,
    "free_after_load": 44e9,
    "total_memory": 80e9,
    "non_torch": 1e9,
    "activation_peak": 3e9,
    "graphs": 2e9,
    "buffer": 40e9,
    "budget": 30e9,
    "mem_fraction_static": 0.9,
    "memory_ratio": 0.85,
    "gpu_memory_utilization": 0.95,
    "page_size": 16.0,
    "block_size": 64.0,
    "max_total_tokens": 60_000.0,
    "max_model_len": 8192.0,
}
# Where it takes less to see something: what just fits, and what fits on the chips of one fast domain.
OWN: dict[tuple[str, str], float] = {
    ("fits", "batch"): 12_500.0,
    ("min_chips", "batch"): 90.0,
    ("front", "context"): 90_000.0,
    **{(f"{engine}_pool", "context"): 8192.0 for engine in ("sglang", "mini_sglang", "megatron")},
    ("pool_from_bytes", "context"): 8192.0,
    ("vllm_pool", "weights"): 35e9,
}
RECORDS: dict[str, Callable[[World], Any]] = {
    "d": lambda w: w.deployment,
    "chip": lambda w: w.chip,
    "other": lambda w: replace(w.chip, flops={"bf16": 3 * w.chip.rate("bf16")}, price=2 * w.chip.price),
    "model": lambda w: w.model,
    "self": lambda w: w.model,
    "measure": lambda w: roofline.flops_per_dollar,
    "d_model": lambda w: w.model.d_model,
    "d_ff": lambda w: w.model.d_ff,
    "kv": lambda w: "int8",
    "weights": lambda w: "int4",
    "dtype": lambda w: "int8",
    "logits": lambda w: "fp32",
    "shape": lambda w: (8, 8),
}
POOLS = {"sglang_pool", "mini_sglang_pool", "vllm_pool", "megatron_pool", "pool_from_bytes"}
ZERO = {"matmul_time": ("cache", "collectives", "overhead")}  # terms that a matmul alone does not have
NO_FRACTION = {"megatron_pool", "pool_from_bytes"}
ROUNDED = {"max_batch", "best_batch", "largest_batch", "replicas_for", "prefill_chips"}  # to a whole number
# Norms and biases do not grow with the widths that the test makes larger: three parameters in a hundred thousand.
NEARLY = dict.fromkeys(POOLS, 1e-3) | {"params": 1e-4, "grouped_weight_bytes": 1e-4} | dict.fromkeys(ROUNDED, 2e-2)

# Where sequences and tokens need not grow together: nothing here is a step.
NO_STEP = {"cache_bytes", "cache_budget", "weight_bytes", "fits", "max_batch", "min_chips", "kv_bytes_per_token"}
NO_STEP |= {"transfer_time", "ridge_point", "memory_per_dollar_hour", "bandwidth_per_dollar", "cost_per_hour"}
NO_STEP |= POOLS | {"chip_token_bytes", "loaded_weight_bytes"}

LEFT_OUT = {
    (
        "grouped_weight_bytes",
        "B",
    ): "its arguments are bits of a parameter, and the two bytes of the rest are written out",
    ("grouped_weight_bytes", "parameter"): "as for bytes",
    ("loaded_weight_bytes", "B"): "the two bytes of embeddings and norms are written out",
    ("loaded_weight_bytes", "parameter"): "as for bytes",
    ("min_chips", "chip"): "the sizes that a model can be split into are given, whatever a chip is",
    ("front", "token"): "a front lists whole batches, so a finer one has more points",
    ("front", "sequence"): "as for tokens",
    ("prefill_time, attention", "token"): "each token meets each other, so this term grows with their square",
    ("activation_bytes", "parameter"): "widths of activations: two of the three are made larger with the parameters",
    ("critical_batch, matmul", "parameter"): "parameters are the product of the two widths, activations their sum",
}
EXTRA: dict[str, tuple[str, dict[str, Any]]] = {
    "prefill_time, attention": ("scaling.latency.prefill_time", {"attention": True}),
    "critical_batch, matmul": ("scaling.roofline.critical_batch", {"matmul": (8192, 28_672)}),
    "link_bandwidth, wrap": ("scaling.sharding.link_bandwidth", {"wrap": True}),
}


def calls() -> Iterator[tuple[str, str, bool, dict[str, Any]]]:
    """Each formula with what must be given, and again with every number that can be."""
    for path, formula in FORMULAS.items():
        optional = [p.name for p in signature(path).values() if p.default is None and is_number(formula, p.name)]
        if formula.short not in POOLS:  # what an engine is not told it takes from constants
            yield formula.short, path, False, {}
        if optional:
            yield f"{formula.short}, {' '.join(optional)}", path, True, {}
    for name, (path, options) in EXTRA.items():
        yield name, path, False, options


def function(path: str) -> Callable[..., Any]:
    formula = FORMULAS[path]
    value: Any = importlib.import_module(formula.module)
    for part in formula.name.split("."):
        value = inspect.getattr_static(value, part) if isinstance(value, type) else getattr(value, part)
    return getattr(value, "func", value)  # a cached property's own function


def signature(path: str) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(function(path)).parameters)


def is_number(formula: Formula, name: str) -> bool:
    return (formula.short, name) in OWN or name in VALUES


def computed(path: str, world: World, everything: bool, options: dict[str, Any]) -> Any:
    """The formula in this world: records by the names of the arguments, numbers by their units."""
    given = dict(options)
    for name, parameter in signature(path).items():
        if name in given:
            continue
        if is_number(FORMULAS[path], name) and not (parameter.default is None and not everything):
            given[name] = world.argument(FORMULAS[path], name)
        elif name == "d" and path.startswith("scaling.engines"):
            given[name] = world.replica
        elif name in RECORDS and not (name == "weights" and FORMULAS[path].short in POOLS):
            given[name] = RECORDS[name](world)
        else:
            assert parameter.default is not inspect.Parameter.empty, f"give VALUES a number for {name!r} of {path}"
    return function(path)(**given)


def parts(formula: Formula, value: Any) -> list[tuple[str, str, float]]:
    """Name, unit and value of the result, or of each of its fields."""
    if formula.result:
        without = {"fraction", "minimum_fraction"} if formula.short in NO_FRACTION else ZERO.get(formula.short, ())
        flat = [(name, unit, getattr(value, name)) for name, unit in formula.units.items() if name not in without]
        return [(name, unit, float(one[-1] if isinstance(one, tuple) else one)) for name, unit, one in flat]
    return [("", formula.unit, float(value))]


CALLS = list(calls())


@pytest.mark.parametrize(("name", "path", "everything", "options"), CALLS, ids=[name for name, *_ in CALLS])
def test_a_formula_has_the_unit_that_its_docstring_says(
    name: str, path: str, everything: bool, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    formula = FORMULAS[path]
    before: list[tuple[str, str, float]] = []
    tied = formula.short not in NO_STEP
    for bases in [(), *((base,) for base in BASES if not (tied and base == "sequence"))]:
        if tied and bases == ("token",):
            bases = ("token", "sequence")
        if any((name, base) in LEFT_OUT for base in bases):
            continue
        world = World(bases)
        monkeypatch.setattr(units, "DTYPE_BYTES", world.dtypes)
        after = parts(formula, computed(path, world, everything, options))
        before = before or after
        for (field, unit, old), (_, _, new) in zip(before, after, strict=True):
            assert unit, f"{path} says no unit{' of ' + field if field else ''}"
            assert old > 0 and math.isfinite(old), f"{path} {field} is {old} here: nothing can be seen of it"
            said = math.log(world.factor(unit), TIMES)
            grew = math.log(new / old, TIMES) if new else -math.inf
            assert abs(grew - said) < NEARLY.get(formula.short, 1e-9), (
                f"{path} {field}: [{unit}] says {' and '.join(bases)} to the power {said:g}, computed is {grew:g}"
            )


def test_every_function_of_a_formula_module_is_tried() -> None:
    tried = {path for _, path, _, _ in CALLS}
    assert tried == {f.path for f in formulas()} and len(tried) >= 50


def test_left_out_is_what_exists() -> None:
    names = {name for name, *_ in CALLS}
    assert {name for name, _ in LEFT_OUT} <= names
    assert NO_STEP | ROUNDED <= {formula.short for formula in FORMULAS.values()}


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


def test_a_wrong_unit_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check bites: decode_step with B/s in its brackets, and cache_bytes in seconds."""
    for path, wrong in (("scaling.latency.prefill_time", "B/s"), ("scaling.memory.cache_bytes", "s")):
        formula = FORMULAS[path]
        other = replace(formula, text=formula.text.replace(f"[{formula.unit}]", f"[{wrong}]", 1))
        monkeypatch.setitem(FORMULAS, path, other)
        with pytest.raises(AssertionError, match="says B to the power"):
            test_a_formula_has_the_unit_that_its_docstring_says(formula.short, path, False, {}, monkeypatch)
