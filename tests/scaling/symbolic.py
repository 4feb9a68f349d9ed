"""What formulas are derived from, and the package called with symbols in place of numbers, or odd plain numbers."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any

import sympy as sp

from scaling.chips import Chip
from scaling.deployment import Deployment, Efficiency
from scaling.models import LLAMA3_70B, Model

# Every number there is. P_step: the parameters that a step reads; copies: how often a KV head is stored.
LETTERS = "L D F H K Q V N W C M u B S G b_w b_kv b_act b_logits P P_step copies W_axis C_other S_prompt"
WORDS = "price price_other seconds start share_W share_C share_link requests queries bits scale_bits zero_bits group"
GIVEN = "T_given T_prompt hop hops MFU net limit free_before free_after token_bytes most_tokens window"
NAMES = f"{LETTERS} {WORDS} {GIVEN}".split()
s = SimpleNamespace(**{name: sp.Symbol(name, positive=True) for name in NAMES})


class Traced:
    """A SymPy expression that the package takes for an array of another library, and never looks into."""

    dtype = SimpleNamespace(kind="f")

    def __init__(self, of: Any) -> None:
        self.of = of

    def __array_namespace__(self) -> Any:
        return LIBRARY

    __hash__ = None  # type: ignore[assignment]


def bare(value: Any) -> Any:
    """The SymPy expression of whatever the package gave back; its floats are exact decimals."""
    if isinstance(value, Traced):
        return value.of
    if isinstance(value, float):
        return sp.oo if value == float("inf") else sp.Rational(str(value))
    return sp.sympify(value)


def _traced(value: Any) -> Any:
    return bool(value) if value is sp.true or value is sp.false else Traced(value)


def _operator(name: str, does: Callable[[Any, Any], Any]) -> None:
    setattr(Traced, f"__{name}__", lambda a, b: _traced(does(bare(a), bare(b))))
    setattr(Traced, f"__r{name}__", lambda a, b: _traced(does(bare(b), bare(a))))


_operator("add", lambda a, b: a + b)
_operator("sub", lambda a, b: a - b)
_operator("mul", lambda a, b: a * b)
_operator("truediv", lambda a, b: a / b)
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    _relation = getattr(sp, _name.title())
    setattr(Traced, f"__{_name}__", lambda a, b, relation=_relation: _traced(relation(bare(a), bare(b))))

LIBRARY = SimpleNamespace(
    __name__="symbols",
    maximum=lambda a, b: _traced(sp.Max(bare(a), bare(b))),
    minimum=lambda a, b: _traced(sp.Min(bare(a), bare(b))),
    floor=lambda a: _traced(sp.floor(bare(a))),
    ceil=lambda a: _traced(sp.ceiling(bare(a))),
    true_divide=lambda a, b: _traced(bare(a) / bare(b)),
    where=lambda c, a, b: _traced(sp.Piecewise((bare(a), bare(c)), (bare(b), True))),
)


class World:
    """The records of the package, made of the numbers that `number` gives for each name, and those numbers."""

    def __init__(self, number: Callable[[str], Any], measured: bool, **deployment: Any) -> None:
        self.measured, self.number = measured, number
        self.dtypes = {dtype: number(f"b_{of}") for dtype, of in _DTYPES.items()}
        self.model = _model(number)
        self.chip, self.other = _chip(number, "C", "price"), _chip(number, "C_other", "price_other")
        reached = Efficiency(
            bandwidth=number("share_W"),
            flops=number("share_C"),
            links=number("share_link"),
            layer_seconds=number("seconds"),
            start=number("start"),
        )
        self.d = Deployment(
            model=self.model,
            chip=self.chip,
            chips=number("N"),
            weights="int4",
            kv="int8",
            usable=number("u"),
            efficiency=reached if measured else Efficiency(),
            **{"params": "nominal", "layout": "label"} | deployment,
        )

    def __getattr__(self, name: str) -> Any:
        if name in NAMES:
            return self.number(name)
        raise AttributeError(name)


_DTYPES = {"int4": "w", "int8": "kv", "bf16": "act", "fp32": "logits"}


def _chip(number: Callable[[str], Any], rate: str, price: str) -> Chip:
    return Chip(
        name="odd",
        vendor="NVIDIA",
        memory=number("M"),
        device_memory=number("M"),
        bandwidth=number("W"),
        flops={"bf16": number(rate)},
        link_bandwidth=number("W_axis"),
        link_axes=3,
        fast_domain=64,
        price=number(price),
    )


def _model(number: Callable[[str], Any]) -> Model:
    """A record whose counts may be symbols; made through its own door it would turn them into whole numbers."""
    shape = dict(
        layers="L", d_model="D", d_ff="F", q_heads="Q", kv_heads="K", head_dim="H", vocab="V", nominal_params="P"
    )
    model = object.__new__(Model)
    for name in Model.__dataclass_fields__:
        object.__setattr__(model, name, number(shape[name]) if name in shape else getattr(LLAMA3_70B, name))
    return model


def symbolic(measured: bool) -> World:
    """A world of symbols."""
    return World(lambda name: Traced(getattr(s, name)), measured)


_PRIMES = [n for n in range(3, 400) if all(n % k for k in range(2, n))]


@cache
def point(i: int, plain: bool = False) -> World:
    """A world of plain numbers, odd and far apart.

    Every fourth one measured, every second one with copies of KV heads, and each convention of the parameters in turn;
    none of that when it is to be `plain`.
    """
    draw = random.Random(i)
    heads = draw.choice((2, 3, 5))
    number: dict[str, Any] = {name: draw.choice(_PRIMES) * draw.choice((0.37, 1.3, 7.1)) for name in NAMES}
    number |= {name: draw.choice(_PRIMES[:20]) for name in ("L", "D", "F", "H", "V", "N", "group")}
    number |= {"K": heads, "Q": heads * draw.choice(_PRIMES[:5]), "M": 1e5 * draw.choice(_PRIMES), "copies": 1}
    number |= {name: draw.choice((0.31, 0.53, 0.87)) for name in ("u", "share_W", "share_C", "share_link", "MFU")}
    number |= {"b_w": 0.5, "b_kv": 1.0, "b_act": 2.0, "b_logits": 4.0, "P": 7919.0 * draw.choice(_PRIMES)}
    number |= {"limit": 131.0 * draw.choice(_PRIMES), "T_given": 17.0 * draw.choice(_PRIMES)}
    number |= {"window": draw.choice(_PRIMES), "most_tokens": 1e4 * draw.choice(_PRIMES)}
    number["free_before"] = 1e5 * (400 + draw.choice(_PRIMES))
    number["free_after"] = 0.83 * number["free_before"]
    kinds = {"params": ("nominal", "exact", "streamed")[i % 3], "kv_split": ("even", "heads")[i % 2]}
    if plain:
        kinds = {}
    counts = {getattr(s, name): number[name] for name in "LDFHKQV"}
    if kinds.get("params", "nominal") != "nominal":
        number["P"] = int(ALL.subs(counts))
    number["P_step"] = int(STREAMED.subs(counts)) if kinds.get("params") == "streamed" else number["P"]
    if (
        kinds.get("kv_split") == "heads"
    ):  # a head is not split: beyond as many chips as heads, each chip still keeps one
        number["copies"] = max(1, number["N"] / heads)
    return World(number.__getitem__, i % 4 == 3 and not plain, **kinds)


# Shapes of the matrices: query, key, value, output; gate, up, down; and the tables at both ends.
MATRICES = [(s.D, s.Q * s.H), (s.D, s.K * s.H), (s.D, s.K * s.H), (s.Q * s.H, s.D), (s.D, s.F), (s.D, s.F), (s.F, s.D)]
IN_LAYERS = s.L * sum(rows * columns for rows, columns in MATRICES)
REST = 2 * s.V * s.D + (2 * s.L + 1) * s.D
ALL = IN_LAYERS + REST
STREAMED = IN_LAYERS + s.V * s.D  # the input table is looked up, and norms are no matrices


def compiled(value: Any) -> Callable[[World], Any]:
    """An expression as a function of a world of plain numbers."""
    used = sorted(sp.sympify(value).free_symbols, key=str)
    made = sp.lambdify(used, value, modules=["math"])
    return lambda world: made(*(world.number(symbol.name) for symbol in used))


# Beginnings -----------------------------------------------------------------------------------------------------------

_n = sp.Symbol("n", positive=True)


@dataclass(frozen=True)
class Step:
    """What a row of `tests/formulas.py` is derived from: letters, and what is read, done and sent in a decode step.

    As a bound or as measured: the peaks times their shares, links and a cost per layer counted.
    """

    measured: bool = False

    def __getattr__(self, letter: str) -> Any:
        if letter in NAMES:
            return getattr(s, letter)
        raise AttributeError(f"no letter {letter!r}: add it to the names of tests/scaling/symbolic.py")

    x = sp.Symbol("x", positive=True)
    every, layers, rest = ALL, IN_LAYERS, REST
    kv = s.L * (s.K * s.H + s.K * s.H) * s.b_kv  # a key and a value in each layer
    held = kv * s.copies
    weights = s.P * s.b_w
    room = s.N * s.M * s.u
    link = s.W_axis + s.W_axis + s.W_axis
    max, floor, ceil = staticmethod(sp.Max), staticmethod(sp.floor), staticmethod(sp.ceiling)

    @staticmethod
    def min(*values: Any) -> Any:
        """The smallest, left as it is: SymPy would take minutes to see which."""
        return sp.Min(*values, evaluate=False)

    @staticmethod
    def product_flop(rows: Any, inner: Any, columns: Any) -> Any:
        """Each number of a product of two matrices takes `inner` multiplications, and as many additions."""
        return rows * columns * (inner + inner)

    def equal(self, one: Any, other: Any) -> Any:
        """The x for which two times, sizes or rates are equal."""
        (found,) = sp.solve(sp.Eq(one, other), self.x)
        return found

    def endless(self, value: Any) -> Any:
        """What an expression of x comes to when x grows."""
        return sp.limit(value, self.x, sp.oo)

    def over_a_prompt(self, value: Any) -> Any:
        """Token x of a prompt attends to the x before it."""
        return sp.integrate(value.subs(s.S, self.x), (self.x, 0, s.S))

    @property
    def most(self) -> Any:
        """The largest batch that fits."""
        return sp.floor(sp.Max(0, self.equal(self.weights + self.x * s.S * self.held, self.room)))

    @property
    def attention(self) -> Any:
        """Scores and values, for one token."""
        return s.L * s.Q * (self.product_flop(1, s.H, s.S) + self.product_flop(1, s.S, s.H))

    @property
    def moved(self) -> Any:
        """Bytes that each of many chips receives when a batch is gathered, or summed and scattered: all but its own."""
        return sp.limit(s.B * s.D * s.b_act * (_n - 1) / _n, _n, sp.oo)

    @property
    def prompt(self) -> Any:
        """FLOP of a prompt."""
        return self.product_flop(s.S, s.P_step, 1)

    @property
    def read(self) -> Any:
        """Bytes that all chips read in a second."""
        return s.N * s.W * (s.share_W if self.measured else 1)

    @property
    def done(self) -> Any:
        """FLOP that all chips do in a second."""
        return s.N * s.C * (s.share_C if self.measured else 1)

    def terms(self, batch: Any = s.B, context: Any = s.S) -> dict[str, Any]:
        """Each byte is read by one chip, each weight meets each token on one chip, and each layer sends four times."""
        sent = s.L * 4 * (self.moved.subs(s.B, batch) * (s.N - 1) / (s.N * self.link * s.share_link) + s.start)
        return {
            "weights": s.P_step * s.b_w / self.read,
            "compute": self.product_flop(batch, s.P_step, 1) / self.done,
            "cache": batch * context * self.held / self.read,
            "collectives": sent if self.measured else sp.Integer(0),
            "overhead": s.L * s.seconds if self.measured else sp.Integer(0),
        }

    @property
    def P_min(self) -> Any:  # noqa: N802  as the docstrings write it
        """The matrices that a token has to meet, or so many parameters as there are by name if that is less."""
        return sp.Min(s.P_step, STREAMED, evaluate=False)

    @staticmethod
    def floor_of(size: Any, flop: Any) -> Any:
        """All reading or all arithmetic, whichever takes longer, at the peaks of all chips."""
        return sp.Max(size / (s.N * s.W), flop / (s.N * s.C), evaluate=False)

    def beside(self, batch: Any) -> Any:
        """What comes on top of reading and arithmetic: the links and what each layer costs."""
        return self.terms(batch)["collectives"] + self.terms(batch)["overhead"]

    @property
    def total(self) -> Any:
        """Reading and multiplying go on at the same time; all else comes one after the other."""
        t = self.terms()
        return sp.Max(t["weights"], t["compute"]) + t["cache"] + t["collectives"] + t["overhead"]

    @property
    def balanced(self) -> Any:
        """Batch at which both take as long."""
        return self.equal(self.terms(self.x)["weights"], self.terms(self.x)["compute"])

    def batch_in(self, limit: Any) -> Any:
        """Largest batch whose step ends in time, whichever of the two is the longer."""
        return _batch_in(self, limit)

    def lasting(self, value: Any) -> Any:
        """An expression of the time of a step, which is derived first."""
        return value.subs(s.T_given, self.total)


@cache
def _batch_in(step: Step, limit: Any) -> Any:
    t = step.terms(step.x)
    rest = t["cache"] + t["collectives"] + t["overhead"]
    found = [step.equal(rest + t[longer], limit) for longer in ("weights", "compute")]
    return sp.Max(0, sp.Min(*found, evaluate=False), evaluate=False)
