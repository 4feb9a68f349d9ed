import re

import pytest

from scaling.course import trap
from scaling.course._look import CSS
from scaling.course.plots import PALETTE

GIVEN = {"believed": 78, "measured": 82.7234, "unit": "GB", "row": "02-int4-one-card"}


@pytest.mark.parametrize(
    ("believed", "measured", "ratio"),
    [
        (1, 1000, "× 1,000"),
        (295.4, 147.7, "÷ 2.0"),
        (2, 3, "× 1.5"),
        (78, 82.7234, "+6.1 %"),
        (100, 95, "−5 %"),
        (5, 5, "+0 %"),
    ],
)
def test_the_ratio(believed: float, measured: float, ratio: str) -> None:
    assert trap("It is so.", **GIVEN | {"believed": believed, "measured": measured}).ratio == ratio


def test_what_is_shown() -> None:
    one = trap("A file of <4 bits> fits.", **GIVEN)
    html = one._repr_html_()
    assert html.count("<style") == 1 and "<q>A file of &lt;4 bits&gt; fits.</q>" in html
    assert "<s>78 GB</s>" in html and "<strong>82.7 GB</strong>" in html and '<p class="ratio">+6.1 %</p>' in html
    assert repr(one) == "One may believe: A file of <4 bits> fits.\nbelieved 78 GB, measured 82.7 GB: +6.1 %"


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), "78", None, True, [1, 2]])
@pytest.mark.parametrize("field", ["believed", "measured"])
def test_a_size_is_a_number(field: str, bad: object) -> None:
    with pytest.raises(ValueError, match=rf"^{field} must be a finite number above 0, not .*\.$"):
        trap("It is so.", **GIVEN | {field: bad})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("field", "bad"), [("belief", " "), ("belief", None), ("unit", 3), ("row", "a b"), ("row", "<x>")]
)
def test_texts(field: str, bad: object) -> None:
    with pytest.raises(ValueError, match=rf"^{field} must be "):
        trap(**{"belief": "It is so.", **GIVEN, field: bad})  # type: ignore[arg-type]


def test_the_style_has_the_colours_of_the_figures() -> None:
    """In JupyterLab no variable is set, so that each stands with its two colours."""
    found = re.findall(r"var\(--([\w-]+),light-dark\((#\w+),(#\w+)\)\)", CSS)
    assert {name for name, *_ in found} == {"weights-ink", "compute-ink", "cache-ink", "trap"}
    assert all(PALETTE[name] == tuple(pair) for name, *pair in found)
