"""Drawings to scale: a bar is as long as its term, a word says what the package computes, a page names the colours."""

import re
from xml.etree import ElementTree

import pytest

from scaling import H100, LLAMA3_70B, Deployment, Efficiency, decode_step
from scaling.course import drawings
from scaling.course.drawings import Drawing
from scaling.course.plots import PALETTE

NODE = Deployment(model=LLAMA3_70B, chip=H100, chips=8, weights="fp8", kv="fp8")
SLOW = Deployment(
    model=LLAMA3_70B, chip=H100, chips=8, weights="fp8", kv="fp8", efficiency=Efficiency(layer_seconds=2e-5)
)
ALL = {
    "step": drawings.step_bar(NODE, 20, 8192),
    "slow step": drawings.step_bar(SLOW, 400, 8192),
    "cache": drawings.kv_cache(LLAMA3_70B),
    "split": drawings.tensor_parallel(8),
    "pools": drawings.two_pools(17, 1, 1.34e9, 0.0268),
    "prefix": drawings.prefix_tree(6000, (1500, 700, 2400)),
    "pages": drawings.pages((150, 70, 100, 35)),
}


def bars(drawing: Drawing, colour: str) -> list[float]:
    """Widths of the rectangles in a term's colour."""
    return [float(w) for w in re.findall(rf'width="([\d.]+)"[^>]*style="fill:var\(--{colour},', drawing._repr_svg_())]


def words(drawing: Drawing) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", drawing._repr_svg_())


@pytest.mark.parametrize("drawing", ALL.values(), ids=ALL)
def test_a_drawing_is_sound_svg_in_its_sheet_whose_colours_a_page_can_name(drawing: Drawing) -> None:
    svg = drawing._repr_svg_()
    root = ElementTree.fromstring(svg)
    for part in root.iter("{http://www.w3.org/2000/svg}rect"):
        assert float(part.get("x", 0)) + float(part.get("width", 0)) <= drawings.WIDTH + 0.2
    for part in root.iter("{http://www.w3.org/2000/svg}text"):
        size = re.search(r"font-size: ([\d.]+)px;", part.get("style", ""))  # where `inline_figures` looks for it
        assert size, part.text
        wide = 0.52 * float(size[1]) * len(part.text or "")
        start = (
            float(part.get("x", 0)) - {"start": 0, "middle": wide / 2, "end": wide}[part.get("text-anchor", "start")]
        )
        assert -1 <= start and start + wide <= drawings.WIDTH + 1, part.text
        assert float(part.get("y", 0)) < drawing.height
    assert not re.findall(r"(?:fill|stroke):#", svg), "a colour that the dark cannot change"


def test_the_colours_are_those_of_figures_which_a_page_replaces() -> None:
    assert {name: PALETTE[name][0] for name in drawings.COLOURS} == drawings.COLOURS


@pytest.mark.parametrize(("d", "batch"), [(NODE, 1), (NODE, 20), (SLOW, 400)])
def test_the_bars_of_a_step_are_as_long_as_its_terms(d: Deployment, batch: int) -> None:
    step, drawing = decode_step(d, batch, 8192), drawings.step_bar(d, batch, 8192)
    for term in ("weights", "compute", "cache"):
        assert bars(drawing, term)[0] == pytest.approx(drawings.WIDTH * getattr(step, term) / step.total, abs=3.1)
    assert f"{batch:,}" in words(drawing)


def test_words_say_what_the_package_computes() -> None:
    assert "163,840 B" in words(ALL["cache"]) and "80 layers," in words(ALL["cache"])
    assert {"10,600", "22,600"} <= set(words(ALL["prefix"]))
    assert {"355", "45", "15"} <= set(words(ALL["pages"]))
    assert {"17 prefill servers", "1 decode server", "1.34 GB", "on its way 27 ms"} <= set(words(ALL["pools"]))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: drawings.step_bar(NODE, 0, 8192), "batch must be"),
        (lambda: drawings.pages((9999,)), "total must be at least 625 pages"),
        (lambda: drawings.pages(()), "lengths must be 1 to 4"),
        (lambda: drawings.prefix_tree(100, (1,)), "own must be 2 to 6"),
        (lambda: drawings.two_pools(1, 1, -1.0, 1.0), "cache_bytes must be"),
    ],
)
def test_nonsense_gets_one_sentence(make: object, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make()  # type: ignore[operator]
