"""The sweep: every combination computed once, in the order that the page looks them up; bad choices refused by name."""

import base64
import json
import math
import struct
import subprocess
from itertools import product
from typing import Any

import numpy as np
import pytest

from scaling.units import number
from tests.conftest import tool
from tests.paths import ROOT

pytest.importorskip("anywidget")
from scaling.course.widgets import Sweep
from scaling.course.widgets.sweep import LARGEST_GRID

SLIDERS: Any = {"a": ("First", "tokens", (2, 3, 5)), "b": ("Second", "ms", (7, 11.5)), "c": ("Third", "", (13, 17))}


def toy(a: float, b: float, c: float) -> dict[str, float]:
    return {
        "sum": a + 100 * b + 10_000 * c,
        "ratio of a to b, chips": a / b,
        "a, b, then c, USD/h": c if a < 5 else math.nan,
    }


def sweep(**changes: Any) -> Sweep:
    return Sweep("99-toy", **{"sliders": SLIDERS, "compute": toy, "start": {"a": 3, "c": 17}, **changes})


def test_the_grid_has_every_combination_with_the_last_slider_fastest() -> None:
    values = np.frombuffer(sweep().grid, "<f4").reshape(3, 2, 2, 3)
    for (i, a), (j, b), (k, c) in product(*(enumerate(SLIDERS[name][2]) for name in "abc")):
        np.testing.assert_allclose(values[i, j, k], list(toy(a, b, c).values()), rtol=1e-6)


def test_labels_units_and_start() -> None:
    widget = sweep()
    assert widget.outcomes == [["sum", ""], ["ratio of a to b", "chips"], ["a, b, then c", "USD/h"]]
    assert widget.sliders == [["First", "tokens", [2, 3, 5]], ["Second", "ms", [7, 11.5]], ["Third", "", [13, 17]]]
    assert widget.start == [1, 0, 1]
    assert widget.outcome() == pytest.approx(toy(3, 7, 17))
    assert widget.outcome(b=11.5, c=13) == pytest.approx(toy(3, 11.5, 13))
    assert repr(widget) == "Sweep('99-toy')"


def test_the_page_looks_up_what_was_computed() -> None:
    """The front end's own look-up, at every position."""
    script = """
        import { text } from "node:stream/consumers";
        const { folder, grid, lengths, outcomes } = JSON.parse(await text(process.stdin));
        const { lookup, verdict } = await import(`${folder}/sweep.js`);
        const { number } = await import(`${folder}/dom.js`);
        const bytes = Buffer.from(grid, "base64"), values = new Float32Array(new Uint8Array(bytes).buffer), out = [];
        const walk = (at) => at.length === lengths.length ? out.push(...lookup(values, lengths, outcomes, at))
          : Array.from({ length: lengths[at.length] }, (_, i) => walk([...at, i]));
        walk([]);
        console.log(JSON.stringify({ grid: Buffer.from(Float32Array.from(out).buffer).toString("base64"),
          numbers: [0, 2.072, 14555, 0.1764, Infinity, NaN].map((x) => number(x)),
          said: [verdict(2, 4, ["cost", "USD/h"]), verdict(4, 4, ["ratio", ""]), verdict(3, 0, ["ratio", ""])] }));
    """
    widget = sweep()
    state = {
        "folder": str(ROOT / "scaling" / "course" / "widgets"),
        "grid": base64.b64encode(widget.grid).decode(),
        "lengths": [3, 2, 2],
        "outcomes": 3,
    }
    command = [tool("node"), "--input-type=module", "--eval", script]
    done = subprocess.run(command, input=json.dumps(state), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert base64.b64decode(told["grid"]) == widget.grid
    assert told["numbers"] == ["0", "2.072", "14,555", "0.1764", "∞", "–"]
    assert told["said"] == [
        "You guessed 2; cost is 4 USD/h. Your guess is 2 times too small.",
        "You guessed 4; ratio is 4. Your guess is within 5 %.",
        "You guessed 3; ratio is 0.",
    ]


def test_the_same_choices_give_the_same_bytes() -> None:
    one, two = sweep(), sweep()
    assert (one.grid, one.sliders, one.start, one.fallback()) == (two.grid, two.sliders, two.start, two.fallback())


def test_numpy_numbers_will_do() -> None:
    widget = sweep(
        sliders={"a": ("A", "", np.array([1, 2]))},
        compute=lambda a: {"twice": np.float64(2) * a},
        start={"a": np.int64(2)},
    )
    assert struct.unpack("<2f", widget.grid) == (2, 4)
    json.dumps([widget.sliders, widget.outcomes, widget.start])


def test_without_a_script_there_is_the_start_and_each_end() -> None:
    html = sweep(predict="How <many>?").fallback()
    assert "How &lt;many&gt;?" in html and "<many>" not in html
    for position in ({}, {"a": 2}, {"a": 5}, {"b": 11.5}, {"c": 13}):
        assert f"<td>{number(sweep().outcome(**position)['sum'])}</td>" in html
    assert html.count("<tr>") == 1 + 1 + 4, "an end at which the slider starts is not told twice"
    assert "First 3 tokens, Second 7 ms, Third 17" in html
    assert 'scope="row">Third 13<' in html


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sliders": {}}, "sliders must map"),
        ({"sliders": [1]}, "sliders must map"),
        ({"sliders": {"a": ("A", "ms")}}, r"sliders\['a'\] must be a label, a unit and values"),
        ({"sliders": {"a": ("A", None, (1, 2))}}, r"sliders\['a'\] must be a label"),
        ({"sliders": {"a": ("A", "", (1,))}}, r"sliders\['a'\] must have two or more"),
        ({"sliders": {"a": ("A", "", (2, 1))}}, "ascending"),
        ({"sliders": {"a": ("A", "", (1, math.inf))}}, "finite"),
        ({"sliders": {"a": ("A", "", ("x", 2))}}, "finite"),
        ({"sliders": {"a": ("A", "", ("x", "x"))}}, r"sliders\['a'\] must have words that differ"),
        ({"compute": lambda **_: {"words first": "x"}}, "must be a number"),
        ({"start": {"a": 4}}, r"start\['a'\] must be one of \[2, 3, 5\], not 4"),
        ({"start": {"z": 4}}, "start must name sliders among a, b, c, not 'z'"),
        ({"compute": lambda **_: {}}, "compute must give a mapping"),
        ({"compute": lambda **_: 3}, "compute must give a mapping"),
        ({"compute": lambda a, b, c: {f"is {a}": a}}, "same outcomes everywhere"),
        ({"compute": lambda **_: {"x": "text"}}, "'x' must be a number"),
        ({"compute": lambda **_: {"x": True}}, "'x' must be a number"),
        ({"compute": lambda **_: {"x": 1e300}}, "'x' must be a number that 32 bits hold"),
        ({"sliders": {"a": ("A", "", range(LARGEST_GRID))}, "compute": lambda a: {"x": a}, "start": {}}, "offer fewer"),
    ],
)
def test_nonsense_is_refused_by_name(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said) as error:
        sweep(**changes)
    assert str(error.value).endswith(".") and "\n" not in str(error.value)


def test_what_a_page_holds_stays_under_300_kb() -> None:
    html = sweep()._repr_mimebundle_()[0]["text/html"]
    assert len(html) < len(sweep().grid) * 4 / 3 + 12_000
    assert LARGEST_GRID * 4 / 3 + 12_000 < 300_000
