"""Equations of the pages against those of the docstrings: linked to the right one, and never defined otherwise."""

import json
import re
from pathlib import Path
from string import ascii_letters

import pytest
from docstrings import Formula, formulas
from equations import Node, NotAnEquationError, parse, value
from symbols import symbols

from tests.lint.tex import fingerprint, relations, telling
from tests.paths import ROOT

NOTEBOOKS = sorted((ROOT / "book").glob("*.ipynb"))
PAGES = [*NOTEBOOKS, *sorted((ROOT / "book").rglob("*.md"))]
FORMULAS = {formula.anchor: formula for formula in formulas()}

# What a name is said to be, by all docstrings that define it; and what it means where they agree: T_cache, kv, QPS, but
# not B, and not "tokens".
SAID: dict[str, list[Node]] = {}
for _relation in [relation for formula in FORMULAS.values() for relation in formula.equations]:
    if _relation.signs == ("=",) and _relation.sides[0].kind == "name":
        SAID.setdefault(_relation.sides[0].text, []).append(_relation.sides[1])
MEANINGS = {
    name: nodes[0]
    for name, nodes in SAID.items()
    if len(set(map(fingerprint, nodes))) == 1 and len(name) > 1 and name not in nodes[0].names()
}


# In LLaMA 3 the query heads together are as wide as the model, which chapter 2 uses before it has a name for them.
AS_WIDE = {"Q": parse("D / H").sides[0]}


def key(side: Node, also: dict[str, Node] | None = None) -> tuple[float, ...]:
    """The fingerprint of an expression with every name that has one meaning put in full."""
    return fingerprint(side, MEANINGS | (also or {}))


def text_of(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        text = "\n\n".join("".join(c["source"]) for c in json.loads(text)["cells"] if c["cell_type"] == "markdown")
    return text


# Links ---------------------------------------------------------------------------------------------------------------

_LINK = re.compile(r"\[([\w ]+)\]\((?:appendix/)?formulas\.md#([\w.]+)\)")
_SHOWN = re.compile(r"((?:\$\$.+?\$\$\s*)+)([^\n]*)", re.DOTALL)


def has(formula: Formula, shown: list[str]) -> bool:
    """Whether a docstring has an expression of these equations, or else defines a name in them."""
    told = [relation for tex in shown for relation in relations(tex)]
    for also in ({}, AS_WIDE):
        own, theirs = (
            {key(side, also) for relation in some for side in relation.sides if telling(side)}
            for some in (formula.equations, told)
        )
        if own & theirs:
            return True
    names = {name for relation in told for name in relation.names} | {name for tex in shown for name in symbols(tex)}
    return any(relation.sides[0].text in names - set(ascii_letters) for relation in formula.equations)


def wrong_links(text: str) -> list[str]:
    """Display equations without a line below that links a formula, and links to a formula that does not have it."""
    found = []
    for shown, line in _SHOWN.findall(text):
        anchors = [anchor for _, anchor in _LINK.findall(line)] if line.startswith("In code: ") else []
        tex = " ".join(shown.split())
        if not anchors:
            found.append(f"below {tex} put a line: In code: [max_batch](appendix/formulas.md#max_batch)")
        for anchor in anchors:
            if anchor not in FORMULAS:
                found.append(f"{anchor} is no formula of the index: {line}")
            elif not has(FORMULAS[anchor], re.findall(r"\$\$(.+?)\$\$", shown, re.DOTALL)):
                found.append(f"the docstring of {anchor} does not have the equation that it is linked from: {tex}")
    return found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_each_equation_is_linked_to_a_formula_that_has_it(path: Path) -> None:
    assert wrong_links(text_of(path)) == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("In code: [prefill_time](appendix/formulas.md#prefill_time)", ""),
        ("In code: [plateau](appendix/formulas.md#plateau)", "the docstring of plateau does not have"),
        ("In code: [prefill](appendix/formulas.md#prefill)", "prefill is no formula"),
        ("Then it waits.", "put a line"),
    ],
)
def test_a_wrong_link_is_seen(line: str, said: str) -> None:
    found = wrong_links(r"$$T_\text{prefill} = \frac{2 P S}{N C \cdot \text{MFU}}$$" + f"\n\n{line}\n\nMore.")
    assert len(found) == bool(said) and (not said or said in found[0])


# Definitions ---------------------------------------------------------------------------------------------------------

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
        said = SAID.get(left.text, []) if left.kind == "name" else []
        known = {key(side) for side in said if "_" in left.text or left.text in MEANINGS}
        told = [key(side) for side in right if telling(side)]
        if known and told and not known & set(told):
            found.append(relation.tex)
    return found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_defines_nothing_otherwise_than_the_docstring(path: Path) -> None:
    assert [
        tex for tex in contradictions(text_of(path)) if tex not in {parse(special).tex for special in SPECIAL}
    ] == []


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


# Reading -------------------------------------------------------------------------------------------------------------


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
