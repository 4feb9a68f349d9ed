import re
from html.parser import HTMLParser

import numpy as np
import pytest

from scaling.course._look import STYLE
from scaling.course.tables import table

COLUMNS = {"term": ["weights", "KV <cache>"], "ms": np.array([5.38427, 3.2776]), 'bytes "<raw>"': (70, 163_840)}


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_html() -> None:
    reader = Reader()
    reader.feed(table(COLUMNS, 'A "step" of <70B>')._repr_html_().removeprefix(STYLE))
    assert reader.texts == [
        *('A "step" of <70B>', "term", "ms", 'bytes "<raw>"'),
        *("weights", "5.38", "70", "KV <cache>", "3.28", "163,840"),
    ]
    outer, attributes = reader.tags[0]
    assert outer == "div" and attributes["aria-label"] == 'A "step" of <70B>'
    assert (attributes["role"], attributes["tabindex"]) == ("region", "0")  # scrolls, also from the keyboard
    assert [a["scope"] for tag, a in reader.tags if tag == "th"] == ["col"] * 3 + ["row"] * 2
    assert {tag for tag, _ in reader.tags} == {"div", "table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert ("th", {"class": "weights", "scope": "row"}) in reader.tags, "a term has its colour"


def test_a_corner_without_a_name_is_no_header() -> None:
    assert "<thead><tr><td></td><th" in table({"": ["a"], "x": [1]}, "t")._repr_html_()


def test_text() -> None:
    assert repr(table({"term": ["weights", "kv"], "ms": [5.38427, 10.0]}, "A step")) == (
        "A step\nterm        ms\nweights   5.38\nkv       10"
    )


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([10.8, 4.2, 1.2], ["10.8", "4.2", "1.2"]),  # as given
        ([37.0, 5, 0.88], ["37", "5", "0.88"]),
        ([0.33523, 14.7512, 10.0712], ["0.34", "14.75", "10.07"]),  # one precision
        ([1 / 3, 2.0, 5 / 3], ["0.333", "2", "1.667"]),
        ([0.017683, 117.4321, 22.51], ["0.018", "117", "23"]),  # nothing shrinks to a naught
        ([163_840.0, 29_134.71, 812.4], ["163,840", "29,100", "812"]),
        ([3.3e17, 1 / 3], ["3.30e17", "0.333"]),
        ([float("inf"), 1.23456], ["∞", "1.23"]),
        ([-1.23456, -12.3456], ["-1.23", "-12.35"]),
        ([True, "none"], ["yes", "none"]),
    ],
)
def test_a_column_has_one_precision_and_inputs_stay_as_given(values: list[object], shown: list[str]) -> None:
    assert [text for _, text in table({"row": "", "x": values}, "t").rows] == shown


def test_points_stand_below_one_another() -> None:
    html = table({"row": "", "x": [37.0, 5.25, 1 / 3, "none"]}, "t")._repr_html_()
    assert re.findall(r"<td(?: data-pad='([.0]*)')?>([^<]+)<", html) == [
        *((".000", "37"), ("", "5.250"), ("", "0.333"), ("", "none"))
    ]
    assert repr(table({"x": "", "y": [37.0, 5.25, 1 / 3]}, "t")).splitlines()[1:] == [
        "x       y",
        "   37",
        "    5.250",
        "    0.333",
    ]


def test_a_caller_can_ask_for_more_digits() -> None:
    assert table({"ms": [5.38427]}, "t", digits=4).rows == [["5.384"]]
    for bad in (0, -1, 2.5, "three", None):
        with pytest.raises(ValueError, match=r"^digits must be a whole number of at least 1, not "):
            table({"ms": [5.38427]}, "t", digits=bad)  # type: ignore[arg-type]


def test_a_single_value_stands_in_every_row() -> None:
    """A number, a text and an array of no dimension; what holds one cell a row may be any kind of list."""
    shape = {"batch": range(2), "of": {"a": 1, "b": 2}, "S": np.array(8192), "chip": "H100", "fits": True}
    assert table(shape, "t").rows == [["0", "a", "8,192", "H100", "yes"], ["1", "b", "8,192", "H100", "yes"]]
    assert table({"batch": (2 * i for i in range(3))}, "t").rows == [["0"], ["2"], ["4"]]
    assert table({"S": 8192, "ms": 1.5}, "t").rows == [["8,192", "1.5"]]


@pytest.mark.parametrize("ms", [[], [1.0], [1.0, 2.0, 3.0], np.ones(3)])
def test_columns_of_unequal_length(ms: object) -> None:
    said = rf"^columns must be equally long, not 'term' 2, 'ms' {len(ms)}\.$"  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=said):
        table({"term": ["weights", "cache"], "unit": "ms", "ms": ms}, "A step")


@pytest.mark.parametrize("none", [[], (), np.array([]), {}])
def test_a_table_has_a_row(none: object) -> None:
    with pytest.raises(ValueError, match=r"^columns must hold at least one row, not none: 'term', 'unit'\.$"):
        table({"term": none, "unit": "ms"}, "A step")


@pytest.mark.parametrize("columns", [{}, [], ["term"], "term", None, 3])
def test_columns_have_names(columns: object) -> None:
    with pytest.raises(ValueError, match=r"^columns must map at least one name to its cells, not "):
        table(columns, "A step")  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [None, [1, None], np.ones((2, 2)), 1j, [object()]])
def test_a_cell_is_a_number_or_text(bad: object) -> None:
    with pytest.raises(ValueError, match=r"^column 'ms': a cell must be a number, text, True or False, not "):
        table({"ms": bad}, "A step")
