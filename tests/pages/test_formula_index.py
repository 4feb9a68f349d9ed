"""The formula index: complete, made from the docstrings, and two clicks from every equation of a page."""

import re
from pathlib import Path

import floors
import pytest
from api_reference import as_rest, modules
from bs4 import BeautifulSoup, Tag
from docstrings import PACKAGE, Formula, formulas
from equations import aligned, parse
from formula_index import inline, repository_link
from uses import ROOT, function_in, shown_test

FORMULAS = formulas()
NOTEBOOKS = sorted((ROOT / "book").glob("*.ipynb"))
FIELDS = ("Symbols", "Validity", "Function", "Test", "Chapters", "Source")
DIRECTION = re.compile(r"\berrs? (?:low|high|both ways)\b", re.IGNORECASE)

every_formula = pytest.mark.parametrize("formula", FORMULAS, ids=lambda formula: formula.path)


def page(built: Path, name: str) -> BeautifulSoup:
    return BeautifulSoup((built / "book" / f"{name}.html").read_text(encoding="utf-8"), "html.parser")


@pytest.fixture(scope="module")
def index(built: Path) -> BeautifulSoup:
    return page(built, "appendix/formulas")


@pytest.fixture(scope="module")
def reference(built: Path) -> BeautifulSoup:
    return page(built, "appendix/api")


# The docstrings ------------------------------------------------------------------------------------------------------


@every_formula
def test_docstring_has_every_field(formula: Formula) -> None:
    assert formula.equations, "no equation, such as ``T = P b_w / W``"
    assert len(formula.summary) > 20 and "``" not in formula.summary.replace("``True``", "")
    assert all(formula.units.values()), f"no unit in square brackets: {formula.units}"
    said = formula.validity
    assert said.startswith("Exact") or DIRECTION.search(said), (
        f"says not what it leaves out, and how that errs: {said!r}"
    )
    assert len(formula.source) > 10 and "tests/" not in formula.source, (
        f"a source a reader can open: {formula.source!r}"
    )
    _, *package, module = formula.module.split(".")
    place = "tests/engines" if package else f"tests/scaling/test_{module}.py"
    assert shown_test(formula), f"give {place} a test whose name begins with test_{formula.short}"


def test_every_public_function_of_a_formula_module_is_in_the_index() -> None:
    found = {formula.path for formula in FORMULAS}
    for module in floors.FORMULAS:
        names = re.findall(r"^def ([a-z]\w*)\(", (PACKAGE / f"{module}.py").read_text(encoding="utf-8"), re.MULTILINE)
        assert {f"scaling.{module}.{name}" for name in names} <= found
    assert len(found) >= 55 and len({formula.anchor for formula in FORMULAS}) == len(FORMULAS)


# The pages -----------------------------------------------------------------------------------------------------------


@every_formula
def test_entry_leads_to_function_and_source(formula: Formula, index: BeautifulSoup, reference: BeautifulSoup) -> None:
    """An equation's link is the first click (`lint/test_equations.py`); these are the second."""
    entry = index.find(id=formula.anchor)
    assert isinstance(entry, Tag)
    address = field(entry, "Function").select_one("a")["href"]
    assert address.startswith("api.html#") and reference.find(id=address.partition("#")[2])


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_line_below_an_equation_is_a_link_that_works(notebook: Path, built: Path, index: BeautifulSoup) -> None:
    for block in page(built, notebook.stem).select("article div.math + p"):
        if block.get_text().startswith("In code: "):
            links = [a["href"].partition("#") for a in block.select("a")]
            assert links and all(there == "appendix/formulas.html" and index.find(id=at) for there, _, at in links)


def field(entry: Tag, name: str) -> Tag:
    for term in entry.select("dl.formula > dt"):
        if term.get_text().strip(" :\n") == name:
            return term.find_next_sibling("dd")
    raise AssertionError(f"{entry.get('id')} has no field {name}")


@every_formula
def test_entry_has_every_field(formula: Formula, index: BeautifulSoup) -> None:
    entry = index.find(id=formula.anchor)
    assert isinstance(entry, Tag)
    assert entry.select_one(":scope > div.math") and entry.select_one(":scope > h3 code").get_text() == formula.name
    for name in FIELDS:
        assert field(entry, name).get_text(strip=True), f"{name} is empty"
    folds = entry.select(":scope > details")
    path, name = shown_test(formula) or (Path(), "")
    assert [fold.summary.get_text() for fold in folds] == ["The code", "The test"]
    assert f"def {formula.short}(" in folds[0].get_text() and '"""' not in folds[0].get_text()
    assert function_in(path, name)[0].splitlines()[-1].strip() in folds[1].get_text()
    assert f"{path.relative_to(ROOT).as_posix()}, {name}" in field(entry, "Test").get_text()


def test_index_and_reference_are_whole(index: BeautifulSoup, reference: BeautifulSoup) -> None:
    anchors = [section["id"] for section in index.select("section section section")]
    assert anchors == [formula.anchor for formula in FORMULAS]
    ids = {tag["id"] for tag in reference.select("dt[id]")}
    assert {formula.path for formula in FORMULAS} <= ids
    assert {f"module-scaling.{name}" for name in modules()} <= {tag["id"] for tag in reference.select("[id]")}
    assert not reference.select(".problematic, .system-message") and "Alias for field" not in reference.get_text()


def test_tests_are_linked_only_where_the_repository_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    path, name = next(shown_test(formula) or (Path(), "") for formula in FORMULAS if formula.short == "decode_step")
    line = function_in(path, name)[1]
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    assert repository_link(path, line) == ""
    monkeypatch.setenv("GITHUB_REPOSITORY", "someone/course")
    monkeypatch.setenv("GITHUB_REF_NAME", "main")
    monkeypatch.delenv("GITHUB_SERVER_URL", raising=False)
    assert repository_link(path, line) == (
        f"https://github.com/someone/course/blob/main/tests/scaling/test_latency.py#L{line}"
    )
    assert path.read_text(encoding="utf-8").splitlines()[line - 1].startswith("def test_decode_step_by_hand")


# The rules -----------------------------------------------------------------------------------------------------------


def test_docstrings_become_restructured_text() -> None:
    text = """Time of a step: ``T = P b_w / W``. [s]

    ::

        T_a = P / W    T_b = B / C

        T = T_a + T_b

    `batch` B [sequences]. See `decode_step` and ``"exact"``.

    `price`: per chip; see `plateau`.
      [USD/h]
    Leaves out `nothing`. Source: a book.
    """
    said = as_rest("\n".join(line.removeprefix("    ") for line in text.splitlines()), frozenset({"decode_step"}))
    rows = aligned([parse(one) for one in ("T_a = P / W", "T_b = B / C", "T = T_a + T_b")])
    assert said == "\n\n".join(
        [
            r"Time of a step: :math:`T = \frac{P\,b_w}{W}`. [s]",
            f".. math:: {rows}",
            '``batch`` B [sequences]. See ``decode_step`` and ``"exact"``.',
            "* ``price``: per chip; see :py:func:`plateau <scaling.throughput.plateau>`.\n    [USD/h]",
            "Leaves out ``nothing``. Source: a book.",
        ]
    )
    assert as_rest("Run::\n\n    make test\n\nDone.") == "Run::\n\n    make test\n\nDone."


def test_sources_are_linked() -> None:
    found = inline("scaling-book part 8, *Serving*; part 7; arXiv 2401.09670 (doi 10.1145/1498765.1498785); `fits`.")
    links = [
        node["refuri"] if node.get("refuri") else f"#{node['refid']}"
        for node in found
        if hasattr(node, "attributes") and node.tagname == "reference"
    ]
    assert links == [
        "https://jax-ml.github.io/scaling-book/applied-inference/",
        "https://jax-ml.github.io/scaling-book/inference/",
        "https://arxiv.org/abs/2401.09670",
        "https://doi.org/10.1145/1498765.1498785",
        "#fits",
    ]
