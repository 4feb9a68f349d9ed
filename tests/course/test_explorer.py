"""The explorer shows what `scaling` computes: at every position of the page's grid, and at any other with a kernel."""

import base64
import json
import math
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scaling
from scaling import H100, LLAMA3_8B, LLAMA3_70B, TPU_V5E, Deployment, parallel_sizes
from scaling.course.plots import TERMS
from scaling.throughput import balanced_batch
from scaling.units import ms, number
from tests.conftest import tool
from tests.paths import ROOT

pytest.importorskip("anywidget")
from scaling.course.widgets.explorer import BATCHES, CONTEXTS, LARGEST_GRID, Explorer

WIDGETS = Path(scaling.__file__).parent / "course" / "widgets"
CHIPS, MODELS, DTYPES, KV = (H100, TPU_V5E), (LLAMA3_8B, LLAMA3_70B), ("bf16", "int4", "fp8"), ("bf16", "int8")
G, MFU = 256, 0.5
NAMES = [
    *("weights", "compute", "matmul", "cache", "rate", "chip_hours", "plateau", "critical", "whole_critical", "need"),
    *("max_batch", "memory", "weight_bytes", "cache_bytes", "prefill", "prefill_attention", "ratio", "leaving"),
]


@pytest.fixture(scope="module")
def explorer() -> Explorer:
    views = ("step", "front", "prefill")
    return Explorer("x", chips=CHIPS, models=MODELS, weights=DTYPES, kv=KV, show=views, mfu=MFU, decode_tokens=G)


def deployments() -> Iterator[Deployment]:
    for chip in CHIPS:
        for model in MODELS:
            for n in parallel_sizes(model, chip):
                for weights in DTYPES:
                    for kv in KV:
                        yield Deployment(model=model, chip=chip, chips=n, weights=weights, kv=kv)


def computed(d: Deployment, batch: Any, context: Any) -> list[Any]:
    """What the formulas give, in the order of `explorer_positions.mjs`: step time, longest term, fits, then NAMES."""
    step = scaling.decode_step(d, batch, context)
    prefill = scaling.prefill_time(d, context, mfu=MFU)
    return [
        *(step.total, np.vectorize(list(TERMS).index)(step.longest), scaling.fits(d, batch, context)),
        *(step.weights, step.compute, step.matmul, step.cache),
        scaling.tokens_per_second_per_chip(d, batch, context),
        scaling.cost_per_million_tokens(d, batch, context, price=1.0),
        *(scaling.plateau(d, context) / d.chips, balanced_batch(d), math.ceil(balanced_batch(d))),
        scaling.min_chips(d, batch, context),
        *(scaling.max_batch(d, context), d.memory, scaling.weight_bytes(d), scaling.cache_bytes(d, batch, context)),
        *(prefill, scaling.prefill_time(d, context, mfu=MFU, attention=True)),
        scaling.prefill_decode_ratio(prefill, step.total, batch, G),
        scaling.eviction_rate(batch, context, G).sequences,
    ]


def test_the_page_shows_what_scaling_computes_at_every_position(explorer: Explorer) -> None:
    state = {"axes": explorer.axes, "tables": explorer.tables, "names": NAMES}
    state["grid"] = base64.b64encode(explorer.grid).decode()
    script = ROOT / "tests" / "pages" / "js" / "explorer_positions.mjs"
    done = subprocess.run(
        [tool("node"), str(script)], input=json.dumps(state).encode(), capture_output=True, check=True
    )
    shape = (len(CONTEXTS), len(BATCHES), 3 + len(NAMES))
    shown = np.frombuffer(done.stdout, "<f4").reshape(-1, *shape)
    everywhere = list(deployments())
    assert len(shown) == len(everywhere)
    batch, context = np.array(BATCHES, float)[None, :], np.array(CONTEXTS, float)[:, None]
    for got, d in zip(shown, everywhere, strict=True):
        for i, want in enumerate(computed(d, batch, context)):
            what = f"{['total', 'longest', 'fits', *NAMES][i]} of {d.model.name} on {d.chips} {d.chip.name}"
            np.testing.assert_allclose(got[..., i], np.broadcast_to(want, shape[:2]), rtol=3e-7, err_msg=what)


def test_the_tables_hold_every_figure_on_its_own_axes(explorer: Explorer) -> None:
    assert [name for name, _, _ in explorer.tables] == NAMES
    values, offset = np.frombuffer(explorer.grid, "<f4"), 0
    tables = {}
    for name, axes, lengths in explorer.tables:
        assert len(axes) == len(lengths)
        size = int(np.prod(lengths))
        tables[name] = values[offset : offset + size].reshape(lengths)
        offset += size
    assert offset == len(values)
    assert np.isfinite(values).all()
    d = Deployment(model=LLAMA3_70B, chip=H100, chips=4, weights="int4")
    place = len(parallel_sizes(LLAMA3_8B, H100)) + parallel_sizes(LLAMA3_70B, H100).index(4)
    assert tables["weights"][place, 1] == pytest.approx(scaling.decode_step(d, 1, 1).weights, rel=1e-6)


def test_the_kernel_answers_for_values_between_the_stored_ones(explorer: Explorer) -> None:
    position = {"chip": "H100", "model": "LLAMA3_70B", "chips": 8, "weights": "bf16", "kv": "int8", "price": None}
    explorer.request = {**position, "context": 5000, "batch": 43, "id": 1}
    d = Deployment(model=LLAMA3_70B, chip=H100, chips=8, kv="int8")
    want = computed(d, 43, 5000)[3:]
    assert explorer.exact["id"] == 1
    assert [explorer.exact["at"][name] for name in NAMES] == pytest.approx(want, rel=1e-12)
    assert len(explorer.exact["front"]) == len(BATCHES)
    assert explorer.exact["front"][0]["cache"] == pytest.approx(scaling.decode_step(d, 1, 5000).cache)
    json.dumps(explorer.exact)


@pytest.mark.parametrize(
    "bad",
    [{"batch": -3}, {"batch": 0}, {"batch": "many"}, {"context": 1.5}, {"chip": "Z"}, {"kv": "fp0"}, {"chips": None}],
)
def test_the_kernel_answers_an_impossible_request_in_words(explorer: Explorer, bad: dict[str, Any]) -> None:
    position = {"chip": "H100", "model": "LLAMA3_70B", "chips": 8, "weights": "bf16", "kv": "int8"}
    explorer.request = {**position, "context": 5000, "batch": 43, **bad, "id": 2}
    assert set(explorer.exact) == {"id", "error"}
    assert explorer.exact["error"]


def test_the_same_choices_give_the_same_bytes_and_no_address() -> None:
    one, two = (Explorer("a", chips=[H100], models=[LLAMA3_70B]) for _ in range(2))
    assert one.grid == two.grid
    assert (one.axes, one.tables, one.start, one.fallback()) == (two.axes, two.tables, two.start, two.fallback())
    assert repr(one) == "Explorer('a')"


@pytest.mark.parametrize("show", [("step", "front"), ("step", "front", "prefill")])
def test_what_a_page_holds_stays_under_300_kb(show: tuple[str, ...]) -> None:
    widget = Explorer("a", show=show)
    html = widget._repr_mimebundle_()[0]["text/html"]
    assert base64.b64encode(widget.grid).decode() in html
    assert len(html) < len(widget.grid) * 4 / 3 + 12_000
    assert LARGEST_GRID * 4 / 3 + 12_000 < 300_000


def test_what_the_start_leaves_out_is_the_nearest_on_offer() -> None:
    widget = Explorer("a", chips=[H100], models=[LLAMA3_70B], contexts=[1024, 4096], batches=[48, 64])
    assert (widget.start["context"], widget.start["batch"], widget.start["chips"]) == (4096, 48, 8)
    assert Explorer("a", contexts=[4096, 16384, 65536]).start["context"] in (4096, 16384)  # as far, by ratio


def test_start_takes_records_and_a_chip_of_ones_own() -> None:
    own = replace(H100, name="H100 (mine)", price=float("nan"))
    start = {
        "chip": own,
        "model": LLAMA3_70B,
        "chips": 4,
        "weights": "int8",
        "context": 1024,
        "batch": 43,
        "price": 2.0,
    }
    widget = Explorer("a", chips=[H100, own], models=[LLAMA3_70B], batches=[1, 43], start=start)
    assert widget.start["chip"] == "H100-mine"
    assert widget.axes["names"]["H100-mine"] == "H100 (mine)"
    assert widget.axes["prices"] == [H100.price, None]
    assert widget.axes["batch"] == [1, 43]
    assert widget.start["price"] == 2.0
    assert Explorer("a", chips=[TPU_V5E], models=[LLAMA3_70B]).start["chips"] == 8


PRICES = (-3, 0, float("nan"), float("inf"), "x", None, np.array([1.0, 2.0]))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"show": ("graph",)}, "show"),
        ({"start": {"chip": TPU_V5E}}, "start"),
        ({"start": {"chips": 3}}, "chips"),
        ({"start": {"batch": 43}}, "batch"),
        ({"start": {"weights": "fp8"}}, "weights"),
        ({"start": {"colour": 1}}, "colour"),
        ({"start": {"model": LLAMA3_8B}}, r"start\['model'\] must be one of the records offered, LLaMA 3-70B, not"),
        ({"contexts": [4096], "start": {"context": 8192}}, r"start\['context'\] must be one of \[4096\], not 8192"),
        *(({"start": {"price": bad}}, r"start\['price'\] must be a finite number above 0") for bad in PRICES),
        ({"chips": [replace(H100, price=1.0), replace(H100, price=9.0)]}, "chips must have names that differ"),
        ({"models": [LLAMA3_70B, LLAMA3_70B]}, "models must have names that differ"),
        ({"chips": ()}, "chips must hold at least one Chip record"),
        ({"chips": ["H100"]}, "chips must hold at least one Chip record and nothing else"),
        *(({"contexts": bad}, "contexts must be") for bad in ([2048, 1024], [1024, 1024], [], [0, 1024], [1.5], ["x"])),
        ({"batches": [2, 1]}, "batches must be whole numbers in ascending order, none twice"),
        ({"params": "rough"}, "params"),
        ({"chips": scaling.CATALOGUE[:6], "models": [LLAMA3_8B, LLAMA3_70B, scaling.LLAMA3_405B]}, "fewer"),
    ],
)
def test_nonsense_is_refused_by_name(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named) as error:
        Explorer("a", **{"chips": [H100], "models": [LLAMA3_70B], **options})
    assert str(error.value).endswith(".") and "\n" not in str(error.value)


def test_the_fallback_gives_the_starting_position_in_numbers() -> None:
    html = Explorer("a", chips=[H100], models=[LLAMA3_70B], start={"chips": 8, "batch": 32}).fallback()
    d = Deployment(model=LLAMA3_70B, chip=H100, chips=8)
    assert f">{number(scaling.decode_step(d, 32, 8192).total / ms)} ms<" in html
    assert "8 x H100 SXM" in html
    assert "does not fit" in Explorer("a", chips=[H100], models=[LLAMA3_70B], start={"chips": 1}).fallback()


def test_the_front_end_has_the_book_s_colours_and_hatches() -> None:
    script = (WIDGETS / "figures.js").read_text(encoding="utf-8")
    drawn = re.findall(r'^  (\w+): \{ colour: "(#\w+)", hatch: "(.*?)"', script, re.M)
    drawn = [(term, colour, hatch.replace(2 * "\\", "\\")) for term, colour, hatch in drawn]
    assert drawn == [(term, *TERMS[term]) for term in ("weights", "compute", "cache")]
