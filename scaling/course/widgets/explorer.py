"""The explorer: a deployment with handles. Every value it shows is computed here, with the formulas of `scaling`.

A page without a kernel carries the values in one float32 grid, in which each figure lies only along the axes that it
depends on. With a kernel the same figures are computed for any batch and context that the reader asks for.
"""

import math
import re
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from html import escape
from itertools import pairwise, product
from typing import Any, TypeAlias

import traitlets as t

from scaling import chips as _chips, models as _models
from scaling._array import plain
from scaling._checks import count, positive, shown, whole, word
from scaling.chips import H100, H200, MI300X, TPU_V5E, Chip
from scaling.course.tables import table
from scaling.course.widgets._base import StaticWidget
from scaling.deployment import Deployment, parallel_sizes
from scaling.disaggregation import eviction_rate, prefill_decode_ratio
from scaling.latency import decode_step, prefill_time
from scaling.memory import cache_bytes, fits, max_batch, min_chips, weight_bytes
from scaling.models import LLAMA3_8B, LLAMA3_70B, Model
from scaling.throughput import (
    balanced_batch,
    cost_per_million_tokens,
    plateau,
    tokens_per_second_per_chip as rate_per_chip,
)
from scaling.units import GB, dtype_bytes, ms, number

Figure: TypeAlias = tuple[str, Callable[[Deployment, float, float], Any]]

BATCHES = (1, 2, 3, 4, 6, 8, 12, 16, 24, *(m * 2**k for k in range(3, 8) for m in (4, 5, 6)), 1024)
CONTEXTS = tuple(1024 * 2**k for k in range(8))
VIEWS = ("hero", "memory", "step", "front", "prefill")
ASKS = ("total", "rate", "max_batch")
LARGEST_GRID = 180_000  # bytes: as base64, with its texts, an explorer stays under 300 KB

# Each figure with the axes it depends on. "place" is chip, model and number of chips; "pair" is chip and model: what is
# counted per chip does not depend on how many there are. "tokens" is batch times context: the cache knows no other.
_STEP: Mapping[str, Figure] = {
    "weights": ("place weights", lambda d, b, s: decode_step(d, b, s).weights),
    "compute": ("place weights batch", lambda d, b, s: decode_step(d, b, s).compute),
    "matmul": ("place weights batch", lambda d, b, s: decode_step(d, b, s).matmul),
    "cache": ("place kv tokens", lambda d, b, s: decode_step(d, b, s).cache),
    "rate": ("pair weights kv context batch", rate_per_chip),
    "chip_hours": ("pair weights kv context batch", lambda d, b, s: cost_per_million_tokens(d, b, s, price=1.0)),
    "plateau": ("pair weights kv context", lambda d, b, s: plateau(d, s) / d.chips),
    "critical": ("pair weights", lambda d, b, s: balanced_batch(d)),
    "whole_critical": ("pair weights", lambda d, b, s: math.ceil(balanced_batch(d))),
    "need": ("pair weights kv tokens", min_chips),
    "max_batch": ("place weights kv context", lambda d, b, s: max_batch(d, s)),
    "memory": ("place", lambda d, b, s: d.memory),
    "weight_bytes": ("pair weights", lambda d, b, s: weight_bytes(d)),
    "cache_bytes": ("pair kv tokens", cache_bytes),
}

_BYTES = ("need", "max_batch", "memory", "weight_bytes", "cache_bytes")  # all that the view of the memory shows


def _prefill(mfu: float, decode_tokens: float) -> dict[str, Figure]:
    def ratio(d: Deployment, batch: float, context: float) -> Any:
        prompt, step = prefill_time(d, context, mfu=mfu), decode_step(d, batch, context).total
        return prefill_decode_ratio(prompt, step, batch, decode_tokens)

    return {
        "prefill": ("place weights context", lambda d, b, s: prefill_time(d, s, mfu=mfu)),
        "prefill_attention": ("place weights context", lambda d, b, s: prefill_time(d, s, mfu=mfu, attention=True)),
        "ratio": ("pair weights kv context batch", ratio),
        "leaving": ("batch", lambda d, b, s: eviction_rate(b, s, decode_tokens).sequences),
    }


def _named(argument: str, records: Sequence[Any], kind: type) -> dict[str, Any]:
    """The records by what the page calls them, if they are such and can be told apart."""
    if not records or not all(isinstance(record, kind) for record in records):
        raise ValueError(
            f"{argument} must hold at least one {kind.__name__} record and nothing else, not {shown(records)}."
        )
    named = {_name(record): record for record in records}
    if len(named) < len(records):
        names = [record.name for record in records]
        raise ValueError(f"{argument} must have names that differ, not {shown(names)}: replace(record, name=...).")
    return named


def _ascending(argument: str, values: Sequence[int]) -> tuple[int, ...]:
    """The values of a slider: it looks up a place between two of them."""
    numbers = tuple(whole(argument, value) for value in values)
    if not numbers or any(a >= b for a, b in pairwise(numbers)):
        raise ValueError(f"{argument} must be whole numbers in ascending order, none twice, not {shown(values)}.")
    return numbers


def _nearest(values: Sequence[int], wanted: int) -> int:
    return min(values, key=lambda value: abs(math.log(value / wanted)))


def _name(record: Chip | Model) -> str:
    """What the record is called in the catalogue, or its own name in characters that an address may hold."""
    for key, value in {**vars(_chips), **vars(_models)}.items():
        if value == record:
            return str(key)
    return re.sub(r"[^A-Za-z0-9]+", "-", record.name).strip("-")


def _smaller(offered: Sequence[str]) -> dict[str, str]:
    """For each dtype the first one offered that is smaller, where there is one: what the explorer may advise."""
    pairs = product(offered, reversed(offered))
    return {dtype: other for dtype, other in pairs if dtype_bytes(other) < dtype_bytes(dtype)}


class Explorer(StaticWidget):
    """Handles on a deployment, and its decode step, its front, its memory and its cost.

    `key`: unique on its page. `chips`, `models`: records to choose from. `weights`, `kv`: dtypes to choose from.
    `contexts`, `batches`: values to slide over, ascending; with a kernel the reader may type any other.
    `start`: the position it opens at; a mapping that may hold ``chip``, ``model`` (records), ``chips``, ``weights``,
    ``kv``, ``context``, ``batch`` and ``price`` [USD/h per chip]; what it leaves out is the first choice, or the value
    nearest to 8 chips, 8,192 tokens and 32 sequences. `show`: ``"step"``, ``"front"`` and ``"prefill"``; ``"memory"``
    for bytes alone, without times; ``"hero"`` for three numbers in display size.
    `predict`: a question to answer before the values appear; empty for none. `asks`: what it asks for, at the start:
    ``"total"``, a step time; ``"rate"``, tokens per second and chip; ``"max_batch"``, sequences that there is room for.
    `params`, `compute`: as in `Deployment`; unless given, the arithmetic is what an engine would use.
    `mfu`, `decode_tokens`: of the ``"prefill"`` view.

    Raises ``ValueError`` for an unknown view, records that cannot be told apart by name, values out of order, a start
    that is not among the choices, and for more choices than a page can carry.
    """

    scripts = tuple(f"{name}.js" for name in "dom figures places hardware state drawing parts explorer".split())
    styles = ("widgets.css", "explorer.css")

    axes = t.Dict().tag(sync=True)
    tables: t.List[Any] = t.List().tag(sync=True)
    grid = t.Bytes().tag(sync=True)
    start = t.Dict().tag(sync=True)
    show = t.List(t.Unicode()).tag(sync=True)
    predict = t.Unicode().tag(sync=True)
    assumed = t.Dict().tag(sync=True)
    request = t.Dict().tag(sync=True)
    exact = t.Dict().tag(sync=True)

    def __init__(
        self,
        key: str,
        *,
        chips: Sequence[Chip] = (H100, H200, MI300X, TPU_V5E),
        models: Sequence[Model] = (LLAMA3_70B, LLAMA3_8B),
        weights: Sequence[str] = ("bf16", "int8", "int4"),
        kv: Sequence[str] = ("bf16", "int8"),
        contexts: Sequence[int] = CONTEXTS,
        batches: Sequence[int] = BATCHES,
        start: Mapping[str, Any] | None = None,
        show: Sequence[str] = ("step", "front"),
        predict: str = "",
        asks: str = "total",
        params: str = "exact",
        compute: str = "",
        mfu: float = 0.4,
        decode_tokens: int = 512,
    ) -> None:
        if not set(show) <= set(VIEWS):
            raise ValueError(f"show must name views among {', '.join(VIEWS)}, not {show!r}.")
        word("asks", asks, ASKS)
        self._chips: dict[str, Chip] = _named("chips", chips, Chip)
        self._models: dict[str, Model] = _named("models", models, Model)
        self._dtypes = {"weights": tuple(weights), "kv": tuple(kv)}
        self._contexts, self._batches = _ascending("contexts", contexts), _ascending("batches", batches)
        given: dict[str, Any] = {"compute": compute} if compute else {}
        self._base = Deployment(model=models[0], chip=chips[0], params=params, **given)
        step = {name: _STEP[name] for name in _BYTES} if set(show) == {"memory"} else _STEP
        self._figures = {**step, **(_prefill(mfu, decode_tokens) if "prefill" in show else {})}
        layout, grid = self._grid()
        if len(grid) > LARGEST_GRID:
            raise ValueError(
                f"the choices must fit in a page: offer fewer chips, models or dtypes ({len(grid):,} bytes)."
            )
        super().__init__(
            key=key,
            axes=self._axes(),
            tables=layout,
            grid=grid,
            start=self._start(start or {}),
            show=list(show),
            predict=predict,
            assumed={"params": params, "compute": compute, "asks": asks, "mfu": mfu, "decode_tokens": decode_tokens},
        )

    def _sizes(self) -> list[list[tuple[int, ...]]]:
        return [[parallel_sizes(model, chip) for model in self._models.values()] for chip in self._chips.values()]

    def _axes(self) -> dict[str, Any]:
        """What the handles can be set to, as plain data; `tokens` is the place of batch times context on its axis."""
        tokens = sorted({B * S for B in self._batches for S in self._contexts})
        at = {value: i for i, value in enumerate(tokens)}
        prices = [None if math.isnan(chip.price) else chip.price for chip in self._chips.values()]
        return {
            "chip": list(self._chips),
            "model": list(self._models),
            "names": {key: record.name for records in (self._chips, self._models) for key, record in records.items()},
            "prices": prices,
            "sizes": [[list(sizes) for sizes in row] for row in self._sizes()],
            "weights": list(self._dtypes["weights"]),
            "kv": list(self._dtypes["kv"]),
            "smaller": {name: _smaller(offered) for name, offered in self._dtypes.items()},
            "context": list(self._contexts),
            "batch": list(self._batches),
            "tokens": [[at[B * S] for B in self._batches] for S in self._contexts],
        }

    def _start(self, given: Mapping[str, Any]) -> dict[str, Any]:
        if unknown := set(given) - {"chip", "model", "chips", *self._dtypes, "context", "batch", "price"}:
            raise ValueError(f"start has no entry {shown(sorted(unknown, key=str)[0])}.")
        records = {
            "chip": self._key("chip", self._chips, given),
            "model": self._key("model", self._models, given),
        }
        position: dict[str, Any] = {
            **records,
            **{name: values[0] for name, values in self._dtypes.items()},
            "context": _nearest(self._contexts, 8192),
            "batch": _nearest(self._batches, 32),
            **given,
            **records,
        }
        sizes = parallel_sizes(self._models[position["model"]], self._chips[position["chip"]])
        position.setdefault("chips", max(n for n in sizes if n <= max(8, sizes[0])))
        allowed = {"chips": sizes, **self._dtypes, "context": self._contexts, "batch": self._batches}
        for name, values in allowed.items():
            if position[name] not in values:
                raise ValueError(f"start[{name!r}] must be one of {list(values)}, not {shown(position[name])}.")
        if "price" in given:
            price = plain(given["price"])
            if not isinstance(price, (int, float)):
                raise ValueError(f"start['price'] must be a finite number above 0, not {shown(price)}.")
            position["price"] = float(positive("start['price']", price))
        return position

    def _key(self, name: str, offered: Mapping[str, Any], given: Mapping[str, Any]) -> str:
        """What the page calls the record that is given, or the first on offer."""
        record = given.get(name, next(iter(offered.values())))
        for key, one in offered.items():
            if one == record:
                return key
        names = ", ".join(one.name for one in offered.values())
        raise ValueError(f"start[{name!r}] must be one of the records offered, {names}, not {shown(record)}.")

    def _grid(self) -> tuple[list[Any], bytes]:
        """The figures' names, axes and lengths, and their values one after the other, the last axis fastest."""

        @cache
        def deployment(chip: Chip, model: Model, n: int, weights: str, kv: str) -> Deployment:
            return replace(self._base, chip=chip, model=model, chips=n, weights=weights, kv=kv)

        # For each number of cached tokens one batch and context that give it.
        pairs = {B * S: (B, S) for B in self._batches for S in self._contexts}
        cells = [
            (chip, model, sizes)
            for chip, row in zip(self._chips.values(), self._sizes(), strict=True)
            for model, sizes in zip(self._models.values(), row, strict=True)
        ]
        axis: dict[str, list[dict[str, Any]]] = {
            "place": [{"chip": c, "model": m, "n": n} for c, m, sizes in cells for n in sizes],
            "pair": [{"chip": c, "model": m, "n": sizes[0]} for c, m, sizes in cells],
            "weights": [{"weights": dtype} for dtype in self._dtypes["weights"]],
            "kv": [{"kv": dtype} for dtype in self._dtypes["kv"]],
            "context": [{"S": S} for S in self._contexts],
            "batch": [{"B": B} for B in self._batches],
            "tokens": [{"B": pairs[n][0], "S": pairs[n][1]} for n in sorted(pairs)],
        }
        anywhere = {name: value for entries in axis.values() for name, value in entries[0].items()}
        layout, values = [], []
        for figure, (depends, of) in self._figures.items():
            names = depends.split()
            layout.append([figure, names, [len(axis[name]) for name in names]])
            for steps in product(*(axis[name] for name in names)):
                at = dict(anywhere)
                for step in steps:
                    at |= step
                d = deployment(at["chip"], at["model"], at["n"], at["weights"], at["kv"])
                values.append(of(d, at["B"], at["S"]))
        return layout, struct.pack(f"<{len(values)}f", *values)

    def _deployment(self, position: Mapping[str, Any]) -> Deployment:
        names = {name: position[name] for name in ("chips", "weights", "kv")}
        chip, model = self._chips[position["chip"]], self._models[position["model"]]
        return replace(self._base, chip=chip, model=model, **names)

    def figures(self, position: Mapping[str, Any]) -> dict[str, float]:
        """Every figure at a position (any whole batch and context), keyed by name. SI base units."""
        d = self._deployment(position)
        return {name: float(of(d, position["batch"], position["context"])) for name, (_, of) in self._figures.items()}

    @t.observe("request")
    def _answer(self, change: Mapping[str, Any]) -> None:
        """Compute what the reader asked for, and the front through it. An impossible request is answered in words."""
        asked = change["new"]
        try:
            count("batch", asked["batch"])
            count("context", asked["context"])
            front = [self.figures({**asked, "batch": B}) for B in self._batches]
            self.exact = {"id": asked["id"], "at": self.figures(asked), "front": front}
        except (KeyError, TypeError, ValueError) as error:
            self.exact = {"id": asked.get("id"), "error": str(error)}

    def _rows(self) -> Iterable[tuple[str, str]]:
        at, f = self.start, self.figures(self.start)
        yield "Deployment", f"{self.axes['names'][at['model']]} on {at['chips']} x {self.axes['names'][at['chip']]}"
        yield "Weights, KV cache", f"{at['weights']}, {at['kv']}"
        yield "Context, batch", f"{at['context']:,} tokens, {at['batch']:,} sequences"
        yield "Memory", f"{number((f['weight_bytes'] + f['cache_bytes']) / GB)} of {number(f['memory'] / GB)} GB"
        if "rate" not in f:
            yield "Room for", f"{number(f['max_batch'])} sequences"
            return
        for name in ("weights", "compute", "cache"):
            yield f"Time of the {name} term", f"{number(f[name] / ms)} ms"
        yield "Step time", f"{number((f['matmul'] + f['cache']) / ms)} ms"
        yield "Throughput", f"{number(f['rate'])} tokens/s per chip"
        if "prefill" in self.show:
            yield "Prefill of the context", f"{number(f['prefill'])} s"
            yield "Prefill servers per decode server", number(f["ratio"])

    def fallback(self) -> str:
        """The starting position as a table, for readers without JavaScript."""
        d, batch, context = self._deployment(self.start), self.start["batch"], self.start["context"]
        longest = (
            "" if "rate" not in self._figures else f"The longest term is {decode_step(d, batch, context).longest}."
        )
        words = longest if fits(d, batch, context) else "This does not fit."
        quantities = dict(self._rows())
        columns = {"Quantity": quantities, "Value": quantities.values()}
        html: str = table(columns, "The explorer's starting position")._repr_html_()
        return f"{html}<p>{escape(words)} The sliders that change this need JavaScript.</p>"
