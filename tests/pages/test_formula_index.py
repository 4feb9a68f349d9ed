"""The formula index: complete, made from the docstrings, and two clicks from every equation of a page."""

import json
import re
from pathlib import Path

import floors
import pytest
from api_reference import as_rest, modules
from bs4 import BeautifulSoup, Tag
from docstrings import PACKAGE, Formula, formulas
from equation_links import Links
from equations import NotAnEquationError, aligned, fingerprint, parse, telling, value
from formula_index import inline, repository_link
from from_tex import relations
from uses import ROOT, Users, function_in

FORMULAS = formulas()
LINKS = Links(FORMULAS)
USERS = Users(FORMULAS)
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
    assert USERS.test(formula), "no test names it"


def test_every_public_function_of_a_formula_module_is_in_the_index() -> None:
    found = {formula.path for formula in FORMULAS}
    for module in floors.FORMULAS:
        names = re.findall(r"^def ([a-z]\w*)\(", (PACKAGE / f"{module}.py").read_text(encoding="utf-8"), re.MULTILINE)
        assert {f"scaling.{module}.{name}" for name in names} <= found
    assert len(found) >= 55 and len({formula.anchor for formula in FORMULAS}) == len(FORMULAS)


# The pages -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_each_equation_leads_to_function_test_and_source_in_two_clicks(
    notebook: Path, built: Path, index: BeautifulSoup, reference: BeautifulSoup
) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    written = sum("".join(cell["source"]).count("$$") // 2 for cell in cells if cell["cell_type"] == "markdown")
    blocks = page(built, notebook.stem).select("article div.math")
    assert len(blocks) == written
    for block in blocks:
        row = block.find_next_sibling()
        while row and "math" in (row.get("class") or []):  # a row is shared
            row = row.find_next_sibling()
        assert row and "formula-links" in (row.get("class") or []), f"no way to the code from {block.get_text()}"
        links = [a["href"] for a in row.select("a")]
        assert 1 <= len(links) <= 4
        for link in links:  # the first click
            there, _, anchor = link.partition("#")
            assert there == "appendix/formulas.html"
            entry = index.find(id=anchor)
            assert isinstance(entry, Tag), f"{link} is not in the index"
            function, test, source = (field(entry, name) for name in ("Function", "Test", "Source"))
            address = function.select_one("a")["href"]  # and the second
            assert address.startswith("api.html#") and reference.find(id=address.partition("#")[2])
            assert (ROOT / test.get_text().split(",")[0].strip()).exists() and source.get_text(strip=True)


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
    path, name = USERS.test(formula) or (Path(), "")
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
    path, name = USERS.test(LINKS.by_path["scaling.latency.decode_step"]) or (Path(), "")
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


# Equations that say the same only in the case that the page speaks of.
SPECIAL = {"B_crit = C / W": "in bf16, where a weight has two bytes"}


def contradictions(text: str) -> list[str]:
    """Equations of a page that define a name otherwise than its docstring."""
    found = []
    pieces = re.findall(
        r"\$\$(.+?)\$\$|(?<![\\\w$])\$([^$\n]+)\$", re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.S), re.S
    )
    for relation in [relation for display, inside in pieces for relation in relations(display or inside)]:
        left, *right = relation.sides
        said = LINKS.said.get(left.text, []) if left.kind == "name" else []
        known = {LINKS.key(side) for side in said if "_" in left.text or left.text in LINKS.meanings}
        told = [LINKS.key(side) for side in right if telling(side)]
        if known and told and not known & set(told):
            found.append(relation.tex)
    return found


@pytest.mark.parametrize("path", [*NOTEBOOKS, *(ROOT / "book").rglob("*.md")], ids=lambda path: path.stem)
def test_a_page_defines_nothing_otherwise_than_the_docstring(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        text = "\n\n".join("".join(c["source"]) for c in json.loads(text)["cells"] if c["cell_type"] == "markdown")
    assert [tex for tex in contradictions(text) if tex not in {parse(special).tex for special in SPECIAL}] == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (r"$$T_\text{compute} = \frac{3 B P}{N C}$$", 1),
        (r"so $B_\text{crit} = C\,b_w / W$ it is", 1),
        (r"$$\text{kv} = 2\,L\,K\,H$$ and $$T_\text{step} = T_\text{cache} + T_\text{weights} + T_\text{compute}$$", 2),
        (r"$$T_\text{compute} = \frac{2 B P}{N C} \qquad T_\text{cache} = \frac{\text{kv}\,B\,S}{N W}$$", 0),
        (r"$T_\text{other} = 2 B$ and $G = 512$ and $T_\text{step} = 19$ ms", 0),
    ],
)
def test_a_page_that_defines_a_name_otherwise_is_refused(text: str, wrong: int) -> None:
    assert len(contradictions(text)) == wrong


# The rules -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tex", "called", "found"),
    [
        (r"T_\text{cache} = \frac{B\,S\,\text{kv}}{N W}", "", "decode_step"),
        (r"\frac{\text{kv}\,S\,B}{W\,N}", "", "decode_step"),  # in any order
        (r"B_\text{crit} = \frac{C\,b_w}{2\,W}", "plateau", "critical_batch"),
        (r"\text{plateau per chip} = \lim_{B \to \infty} x = \frac{1}{S\,\text{kv}/W + 2P/C}", "", "plateau"),
        (r"T_\text{answer} = \text{TTFT} + (G - 1)\,\text{TPOT}.", "", "prefill_time decode_step"),
        (
            r"S > \frac{2 P W}{C\,\text{kv}} \qquad B\,S > \frac{P\,b_w}{\text{kv}}",
            "",
            "cache_over_compute_context cache_over_weights_tokens",
        ),
        (
            r"\frac{B / T_\text{step}(B)}{1 / T_\text{step}(1)}",
            "tokens_per_second plateau",
            "decode_step tokens_per_second",
        ),
        (r"\frac{C\,b_w}{3\,W}", "plateau fits", "plateau fits"),  # no docstring has it: what the cells call
        (r"\frac{C\,b_w}{3\,W}", "", ""),
        (r"E = m\,c^2", "", ""),
    ],
)
def test_links_of_an_equation(tex: str, called: str, found: str) -> None:
    by_name = {formula.name: formula.path for formula in FORMULAS}
    assert {f.name for f in LINKS.of(tex, [by_name[name] for name in called.split()])} == set(found.split())


@pytest.mark.parametrize(
    ("text", "tex"),
    [
        ("T = P b_w / (N W)", r"T = \frac{P\,b_w}{N\,W}"),
        (
            "B = floor((u N M - P b_w) / (S kv))",
            r"B = \left\lfloor \frac{u\,N\,M - P\,b_w}{S\,\text{kv}} \right\rfloor",
        ),
        (
            "plateau per chip = 1 / (S kv / W + 2 P / C)",
            r"\text{plateau per chip} = \frac{1}{S\,\text{kv} / W + 2\,P / C}",
        ),
        ("T_step = T_cache + max(T_a, 2)", r"T_\text{step} = T_\text{cache} + \max\left(T_a,\ 2\right)"),
        ("P b_w + B S kv <= u N M", r"P\,b_w + B\,S\,\text{kv} \le u\,N\,M"),
        ("x = -a^2 (b - 1e6)", r"x = -a^{2}\,\left(b - 10^{6}\right)"),
    ],
)
def test_equations_are_read_and_set(text: str, tex: str) -> None:
    relation = parse(text)
    assert relation.tex == tex
    (again,) = relations(tex)
    assert [fingerprint(side) for side in again.sides] == [fingerprint(side) for side in relation.sides]


def test_equations_have_values() -> None:
    given = {"a": 3, "b": 5, "c": 2}
    for text, expected in {
        "a b / c a": 22.5,  # from left to right
        "a / (b c)": 0.3,
        "a - b - c": -4,
        "-a + 2 b^c": 47,
        "max(a, b) + min(a, b, c) + floor(b / c) + ceil(b / c)": 12,
    }.items():
        assert value(parse(text).sides[0], given.__getitem__) == expected
    assert fingerprint(parse("max(a, b) / c").sides[0]) == fingerprint(parse("max(b, a) / c").sides[0])
    assert fingerprint(parse("floor(a / b)").sides[0]) != fingerprint(parse("ceil(a / b)").sides[0])


@pytest.mark.parametrize("text", ["", "a +", "(a", "a = ?", "max(a", "a b)", ") a", "f'{x}'"])
def test_what_is_no_equation(text: str) -> None:
    with pytest.raises(NotAnEquationError):
        parse(text)


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
