"""The ledger of claims: no verdict contradicts its ratio, no number of the text is without a row, no value is typed."""

import ast
import builtins
import json
import re
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

import pytest

from scaling import units
from tests.paths import ROOT

claims, claims_page, ledger, source_numbers = map(
    import_module, ("claims", "claims_page", "claims.ledger", "source_numbers")
)
FILES, SECTIONS = claims.FILES, claims.SECTIONS
Claim, claim, fault, quantity = ledger.Claim, ledger.claim, ledger.fault, ledger.quantity
AGREES, ROUNDING, CONVENTION, ERRATUM, UNSTATED = ledger.VERDICTS

INVENTORY: dict[str, Any] = json.loads((ROOT / "tests" / "data" / "source_numbers.json").read_text(encoding="utf-8"))
ROWS = [(name, c) for name, section in SECTIONS.items() for c in section.claims]
IDS = [c.id for _, c in ROWS]
each_section = pytest.mark.parametrize("name", SECTIONS)


def numbers(number: str) -> list[str]:
    """What a section must account for: all that it claims and all that it takes as given, each once."""
    return [key for key, kind, *_ in INVENTORY["sections"][number]["numbers"] if kind in ("claim", "input")]


# The verdicts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [c for _, c in ROWS], ids=IDS)
def test_verdict_follows_from_the_ratio(row: Any) -> None:
    assert fault(row) == ""


def made(printed: str, gives: float | bool, verdict: str, convention: float | bool | None = None) -> Any:
    return claim("0-made", "1:1", printed, gives, verdict, "Says", "Why.", convention=convention)


@pytest.mark.parametrize(
    ("printed", "gives", "convention", "right"),
    [
        ("100 ms", 0.1, None, AGREES),
        ("100 ms", 0.0996, None, AGREES),
        ("100 ms", 0.099, None, ROUNDING),
        ("100 ms", 0.101, None, ROUNDING),
        ("100 ms", 0.05, None, ERRATUM),
        ("100 ms", 0.0978, None, ERRATUM),
        ("100 ms", 0.05, 0.0985, CONVENTION),
        ("100 ms", 0.099, 0.1, CONVENTION),
        ("", True, None, AGREES),
        ("", False, None, ERRATUM),
        ("", False, True, CONVENTION),
    ],
)
def test_one_verdict_is_right_and_the_others_are_refused(
    printed: str, gives: float | bool, convention: float | bool | None, right: str
) -> None:
    row = made(printed, gives, right, convention)
    assert fault(row) == ""
    a_persons = set() if printed or convention else {UNSTATED}  # whether a sentence is the source's own, a person says
    for wrong in {*ledger.VERDICTS, "fine"} - {right} - a_persons:
        assert fault(replace(row, verdict=wrong)), f"{wrong} passes for {row}"


@pytest.mark.parametrize(
    "row",
    [
        made("100 ms", 0.05, CONVENTION),  # no convention given
        made("100 ms", 0.05, CONVENTION, 0.09),  # which does not explain it
        made("100 ms", 0.1, AGREES, 0.1),  # nothing to explain
        made("100 ms", True, AGREES),
        made("", 0.1, AGREES),
        made("100 ms", 0.05, UNSTATED),  # what is printed is stated
        made("", False, UNSTATED, True),
    ],
)
def test_an_unexplained_deviation_is_refused(row: Any) -> None:
    assert fault(row)


@pytest.mark.parametrize("holds", [True, False])
def test_a_sentence_that_nobody_printed_is_unstated_whether_it_holds_or_not(holds: bool) -> None:
    assert fault(made("", holds, UNSTATED)) == ""


@pytest.mark.parametrize(
    ("printed", "value"),
    [("5.3 GB", 5.3e9), ("~480 GB", 480e9), ("163,840 B", 163_840), ("8 K tokens", 8192), ("0.78 %", 0.0078), ("2", 2)],
)
def test_printed_numbers_are_read_in_base_units(printed: str, value: float) -> None:
    assert quantity(printed)[0] == pytest.approx(value)


@pytest.mark.parametrize("printed", ["", "GB", "5.3 apples", "5.3  GB", "about 5 GB"])
def test_what_is_no_quantity_is_refused(printed: str) -> None:
    with pytest.raises(ValueError, match="printed must be"):
        quantity(printed)


# The inventory --------------------------------------------------------------------------------------------------------


def test_the_inventory_is_in_order() -> None:
    pattern = re.compile(INVENTORY["pattern"])
    starts = [section["line"] for section in INVENTORY["sections"].values()]
    assert starts == sorted(starts) and INVENTORY["source"] and INVENTORY["edition"] and INVENTORY["date"]
    for (number, section), end in zip(INVENTORY["sections"].items(), [*starts[1:], 10_000], strict=True):
        keys = [key for key, *_ in section["numbers"]]
        assert len(keys) == len(set(keys)), number
        for key, kind, *note in section["numbers"]:
            line, token = key.split("#")[0].split(":")
            assert section["line"] <= int(line) < end and pattern.fullmatch(token), key
            assert kind in INVENTORY["kinds"], key
            assert bool(note) is (kind in ("repeat", "label")), f"{key} lacks a reason"
            if kind == "repeat":
                assert note[0] in numbers(number), f"{key} repeats {note[0]}, which is no number of {number}"


def test_a_text_is_compared_with_its_inventory() -> None:
    text = "one 8 x 80 GB\nnine\nB = 1,024, 2 x 9e14 and bf16 on v5e, 12.3, 2\n"
    found = ["1:8", "1:80", "3:1,024", "3:2", "3:9e14", "3:12.3", "3:2#2"]
    assert source_numbers.keys(text, INVENTORY["pattern"]) == found
    lists = {"pattern": INVENTORY["pattern"], "sections": {"1": {"numbers": [[key, "claim"] for key in found]}}}
    assert source_numbers.differences(text, lists) == []
    assert source_numbers.differences(text + "7", lists) == ["not in the inventory: 4:7"]
    assert source_numbers.differences(text.replace("80", "81"), lists) == [
        "not in the inventory: 1:81",
        "not in the text: 1:80",
    ]


def test_rows_stand_in_the_order_of_the_text() -> None:
    for section in SECTIONS.values():
        lines = [int(re.match(r"\d+", c.at)[0]) for c in section.claims if c.edition is ledger.TEXT]
        assert lines == sorted(lines), section.number


def test_every_section_of_the_text_is_here() -> None:
    assert [s.number for s in SECTIONS.values()] == [f"12.{i}" for i in range(1, 11)]
    assert [s.title for s in SECTIONS.values()] == [INVENTORY["sections"][s.number]["title"] for s in SECTIONS.values()]


@each_section
def test_every_number_has_a_row(name: str) -> None:
    section = SECTIONS[name]
    covered = [key for c in section.claims for key in c.covers]
    wanted = numbers(section.number)
    assert [key for key in wanted if key not in covered] == [], f"{section.number}: numbers without a row"
    assert [key for key in covered if key not in wanted] == [], f"{section.number}: rows for what is not there"
    assert len([c for c in section.claims if c.edition is ledger.TEXT]) >= len(wanted)


@each_section
def test_a_row_quotes_the_number_that_it_covers(name: str) -> None:
    for row in SECTIONS[name].claims:
        if row.printed and row.edition is ledger.TEXT:
            assert row.covers, f"{row.id}: a printed number of the text names its place"
            token = row.covers[0].split("#")[0].split(":")[1]
            quoted = row.printed.lstrip("~").split(" ")[0].removesuffix("B")
            assert token in (quoted, quoted.partition("e")[0]), row.id


# The rows -------------------------------------------------------------------------------------------------------------


CALLS = {
    ast.literal_eval(node.args[0]): node
    for path in FILES.values()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "claim"
}


def literals(node: ast.AST) -> list[float]:
    return [
        n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and type(n.value) in (int, float) and n.value > 2
    ]


PLAIN = {*dir(builtins), *(name for name, value in vars(units).items() if isinstance(value, float))}


@each_section
def test_a_value_is_computed_and_not_typed(name: str) -> None:
    for row in SECTIONS[name].claims:
        gives = CALLS[row.id].args[3]
        if row.printed:
            asked = {n.id for n in ast.walk(gives) if isinstance(n, ast.Name)} - PLAIN
            assert asked, f"{row.id}: nothing of the package is asked"
            sizes = (1.0, quantity(row.printed)[1])
            typed = [v for v in literals(gives) for size in sizes if abs(v * size / row.value - 1) < 0.02]
            assert not typed, f"{row.id}: the printed number stands in its own expression"


def test_ids_are_unique_and_say_their_section() -> None:
    assert len(set(IDS)) == len(IDS) == len(CALLS)
    for name, row in ROWS:
        assert re.fullmatch(rf"{int(name[1:3])}-[a-z0-9-]+", row.id), row.id


def headings(chapter: str) -> list[str]:
    cells = json.loads((ROOT / "book" / f"{chapter}.ipynb").read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return re.findall(r"^#{1,4} (.+)$", text, re.MULTILINE)


@each_section
def test_rows_point_to_a_chapter_and_to_headings_that_it_has(name: str) -> None:
    section = SECTIONS[name]
    assert {c.see for c in section.claims} - {""} <= set(headings(section.chapter))
    assert [c.id for c in section.claims if c.edition is ledger.TEXT and not c.see] == [], (
        "the text's rows are explained"
    )


@each_section
def test_a_row_is_short_plain_and_in_english(name: str) -> None:
    for row in SECTIONS[name].claims:
        for text in (row.says, row.why):
            assert 0 < len(text) <= 150 and not re.search(r"[\n\u3000-\u9fff\uff00-\uffef]", text), row.id
        assert row.why.endswith(".") and not row.says.endswith("."), row.id


NO_RESULT = r"12\.\d+|\b(?:part|issue) \d|\b202\d\b|(?:bf|int|fp)\d+|[A-Z]\d+|v\d[ep]|\d+-bit|3\.[01]\b"


@cache
def shown_in(name: str) -> set[float]:
    """The numbers that a section prints, is given, or has as a result, in the unit of the row and in base units."""
    found = set(literals(ast.parse(FILES[name].read_text(encoding="utf-8"))))
    for c in SECTIONS[name].claims:
        if c.printed:
            size = quantity(c.printed)[1]
            values = [c.value, *(float(v) for v in (c.gives, c.convention) if v is not None)]
            found.update(v / s for v in values for s in (1.0, size))
    return found


@each_section
def test_numbers_in_the_words_of_a_row_are_shown_or_computed(name: str) -> None:
    """What an f-string computes is right by itself; a number typed into a row must be one that the section shows."""
    typed_in = []
    for row in SECTIONS[name].claims:
        words = CALLS[row.id].args[5:7]  # what it says, and why
        parts = [part for one in words for part in (one.values if isinstance(one, ast.JoinedStr) else [one])]
        typed = " ".join(str(part.value) for part in parts if isinstance(part, ast.Constant))
        for text in re.findall(r"\d(?:[\d,]*\d)?(?:\.\d+)?(?:e\d+)?", re.sub(NO_RESULT, "", typed)):
            value = float(text.replace(",", ""))
            if (value > 10 or "." in text) and not any(abs(value - v) <= 0.0006 * v for v in shown_in(name)):
                typed_in.append((row.id, text))
    assert typed_in == []


# The page -------------------------------------------------------------------------------------------------------------


def test_the_page_shows_every_row_once() -> None:
    html = claims_page.claims_table(lambda docname: f"../{docname.split('/')[-1]}.html")
    shown = re.findall(r'<tr id="claim-([^"]+)" data-verdict="([a-z]+)"', html)
    assert shown == [(c.id, c.verdict) for _, c in ROWS]
    assert len(re.findall(r"<tbody", html)) == len(SECTIONS)
    assert "style=" not in html and "<script" not in html


def test_a_link_goes_to_the_heading() -> None:
    section = SECTIONS["s02_memory"]
    link = claims_page.chapter_link(section, "Why not three cards", lambda docname: f"../{docname}.html")
    assert link == '<a href="../book/02_memory.html#why-not-three-cards">2.\u00a0Why not three cards</a>'
    assert "<a" not in claims_page.chapter_link(section, "Why not three cards", lambda docname: None)


def test_markup_in_a_row_is_text_on_the_page() -> None:
    row = replace(made("2", 2.0, AGREES), says="<b>x</b>", why="a < b.", edition=ledger.PART8, at="<i>")
    html = claims_page.row(row, "f('<')", "")
    assert "<b>" not in html and "<i>" not in html and "&lt;b&gt;" in html and "f(&#x27;&lt;&#x27;)" in html


def test_counts_add_up() -> None:
    html = claims_page.counts(lambda docname: None)
    cells = re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", html)
    width = len(ledger.VERDICTS) + 2
    head, *sections, text, book, everything = (cells[i : i + width] for i in range(0, len(cells), width))
    assert head == ["Section", *ledger.VERDICTS, "rows"] and len(sections) == len(SECTIONS)
    for column in range(1, width):
        assert sum(int(row[column]) for row in sections) == int(text[column])
        assert int(text[column]) + int(book[column]) == int(everything[column])
    for row in (*sections, text, book, everything):
        assert sum(map(int, row[1:-1])) == int(row[-1]), row[0]
    assert text[0] == "The text" and int(everything[-1]) == len(ROWS)


def test_a_count_in_a_sentence_is_the_one_of_the_table() -> None:
    text = [c.verdict for _, c in ROWS if c.edition is ledger.TEXT]
    assert {v: claims_page.count(v) for v in ledger.VERDICTS} == {v: text.count(v) for v in ledger.VERDICTS}
    assert claims_page.count("stated") == len(text) - text.count(UNSTATED)
    with pytest.raises(ValueError, match=r"stated, agrees, .*not of 'wrong'"):
        claims_page.count("wrong")


@pytest.mark.parametrize("page", ["README.md", "book/index.md", "book/appendix/claims.md"])
def test_no_page_types_how_many_claims_are_right_or_wrong(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    what = r"(?:that are wrong|do not hold|agree|errat|mistakes|claims|rows|conventions|unstated)"
    assert re.findall(rf"\b(?:[\d,]+|dozens?|hundreds?|scores) (?:of \w+ )?{what}", text) == []


def test_the_landing_page_counts_apart_what_the_text_does_not_say() -> None:
    text = (ROOT / "book" / "index.md").read_text(encoding="utf-8")
    assert {"stated", ERRATUM, UNSTATED} <= set(re.findall(r"\{claims\}`(\w+)`", text))


@each_section
def test_the_names_of_the_expressions_can_be_run_as_shown(name: str) -> None:
    space: dict[str, Any] = {}
    exec("from claims.ledger import *\n" + ledger.setup(FILES[name]), space)
    for id, expression in ledger.expressions(FILES[name]).items():
        value = eval(expression, space)
        assert value == next(c.gives for c in SECTIONS[name].claims if c.id == id)
