from html.parser import HTMLParser

import pytest

from scaling.course.tables import table

ROWS = [("weights", 5.38427, 70), ("KV <cache>", 3.2776, 163_840)]


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
    reader.feed(table(["term", "ms", 'bytes "<raw>"'], ROWS, 'A "step" of <70B>')._repr_html_())
    assert reader.texts == [
        *('A "step" of <70B>', "term", "ms", 'bytes "<raw>"'),
        *("weights", "5.384", "70", "KV <cache>", "3.278", "163,840"),
    ]
    outer, attributes = reader.tags[0]
    assert outer == "div" and attributes["aria-label"] == 'A "step" of <70B>'
    assert (attributes["role"], attributes["tabindex"]) == ("region", "0")  # scrolls, also from the keyboard
    assert [a["scope"] for tag, a in reader.tags if tag == "th"] == ["col"] * 3 + ["row"] * 2
    assert {tag for tag, _ in reader.tags} == {"div", "table", "caption", "thead", "tbody", "tr", "th", "td"}


def test_text() -> None:
    assert repr(table(["term", "ms"], [("weights", 5.38427), ("kv", 10.0)], "A step")) == (
        "A step\nterm        ms\nweights  5.384\nkv       10.00"
    )


def test_rows_may_be_an_iterator_or_empty() -> None:
    assert table(["a", "b"], ((i, 2 * i) for i in range(2)), "t").rows == [["0", "0"], ["1", "2"]]
    assert repr(table(["a", "b"], [], "t")) == "t\na  b"


@pytest.mark.parametrize("row", [("weights",), ("weights", 1, 2)])
def test_row_of_another_length(row: tuple[object, ...]) -> None:
    with pytest.raises(ValueError, match=rf"^rows must have 2 cells, as the header has, not {len(row)}: ") as error:
        table(["term", "ms"], [row], "A step")
    assert "'weights'" in str(error.value)
