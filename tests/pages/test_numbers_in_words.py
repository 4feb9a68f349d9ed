"""Numbers in sentences against the numbers beside them: what no cell, question or ledger row gives is red.

A number of a sentence, heading, caption or alt text must be printed, rounded as the sentence rounds it, by one of the
three code cells before it or by the next (a question is one), or stand in their code. What comes from further away in
the chapter, or follows by a sum, says so in the cell's metadata: `"numbers": {"19 % more": "43.1 / 36.2 - 1"}`. The
phrase must be in the text, its number must be what the sum gives, and the sum's numbers are looked up in the whole
chapter. A value that is no sum is an excuse, as in `"numbers": {"2.5": "measured elsewhere, see the link"}`, of which a
chapter has few.
"""

import ast
import json
import operator
import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.paths import ROOT

HELD: tuple[str, ...] = ("09", "11", "12", "14")
NOTEBOOKS = [path for path in sorted((ROOT / "book").glob("[0-9]*.ipynb")) if path.stem[:2] in HELD]
EXCUSES = 6  # a chapter

# Reading numbers ----------------------------------------------------------------------------------------------------

_POWER = re.compile(r"(?:\\times|×|x|\\cdot)\s*10\^?\{?(-?\d+)\}?")
_NUMBER = re.compile(r"(?<![\w.,^_{/-])[-−]?(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(?:[eE]([+-]?\d+))?(?![\d^])")
_PLAIN = {
    0.0,
    1.0,
    2.0,
    10.0,
    100.0,
    1000.0,
    1024.0,
    3600.0,
}  # seconds of an hour, a kilo, per cent: nobody computes them
# Names that have digits but count nothing.
_NAMES = re.compile(
    r"^#+ \d+\. |\b[Aa]bout \d+ minutes(?:, \d+ with)?|`[^`]*`|\]\([^)]*\)|<[^>]*>|\$\$.*?\$\$"
    r"|\b(?:chapter|section|figure|problem|part|question|exercise)s? \d+(?:\.\d+)?(?:(?:, | and | to )\d+)*"
    r"|\bLLaMA[- ]?\d(?:\.\d)?(?:-\d+B)?|\b\d+(?:\.\d+)?B\b|\b[A-Za-z]+\d+[\w.]*"
    r"|\b\d{4}-\d{2}-\d{2}\b|\b\d+[a-z]\w+|\b(?:19|20)\d\d\b",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)


class Number(NamedTuple):
    shown: str
    value: float
    slack: float  # how far a value may lie from it and still be rounded to it
    after: str  # what stands behind it: a per cent sign, a K
    at: int


def _slack(whole: str, decimals: str) -> float:
    """Half of the last digit shown; of a round number such as 2,900 half of its last telling one, of two at least."""
    if decimals:
        return 0.5 * 10.0 ** -(len(decimals) - 1)
    digits = whole.replace(",", "")
    zeros = min(len(digits) - len(digits.rstrip("0")), max(0, len(digits) - 2))
    return 0.5 * 10.0**zeros


def numbers(text: str) -> Iterator[Number]:
    for found in _NUMBER.finditer(text):
        whole, decimals, power = found.group(1), found.group(2) or "", found.group(3)
        after = text[found.end() : found.end() + 24].replace("\\,", " ").replace("{,}", "").lstrip(" \\~\u00a0\u202f")
        scale = 10.0 ** int(power) if power else 1.0
        if times := _POWER.match(after):
            scale, after = scale * 10.0 ** int(times.group(1)), after[times.end() :]
        value = float(whole.replace(",", "") + decimals)
        yield Number(found.group().strip(), value * scale, _slack(whole, decimals) * scale, after, found.start())


def told(text: str) -> Iterator[Number]:
    """The numbers of a text for people, without the names that have digits."""
    text = text.replace("{,}", ",").replace("\\%", "%")
    yield from numbers(_NAMES.sub(lambda name: " " * len(name.group()), text))


def holds(number: Number, values: set[float]) -> bool:
    """Whether one of these values is this number, rounded as it is shown (as a share, when it is in per cent)."""
    if number.value in _PLAIN:
        return True
    factors = [1.0]
    if number.after.startswith("%"):
        factors = [1.0, 0.01]
    elif re.match(r"K\b", number.after):
        factors = [1.0, 1024.0]
    return any(abs(v - f * number.value) <= f * number.slack * (1 + 1e-9) + 1e-12 for f in factors for v in values)


# Reading cells ------------------------------------------------------------------------------------------------------

Cell = dict[str, Any]


def source(cell: Cell) -> str:
    return "".join(cell["source"])


def printed(cell: Cell) -> str:
    """All that a code cell shows: text, tables, questions with their solutions, words in figures."""
    texts = []
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        texts.append("".join(output.get("text", "")))
        html, svg = "".join(data.get("text/html", "")), "".join(data.get("image/svg+xml", ""))
        html = re.sub(r"<(script|style)\b.*?</\1>", " ", html, flags=re.DOTALL)
        svg = " ".join(re.findall(r"<text[^>]*>(.*?)</text>", svg, re.DOTALL))
        texts.append("" if html else "".join(data.get("text/plain", "")))
        texts += [unescape(re.sub(r"<[^>]*>", " ", part)) for part in (html, svg)]
    return " ".join(texts)


@cache
def _values(text: str) -> frozenset[float]:
    text = text.replace("\u2009", "").replace("−", "-").replace("_", "")
    return frozenset(sign * n.value for n in numbers(text) for sign in (1, -1))


def given(cell: Cell) -> frozenset[float]:
    """The values that a code cell states, computed or as inputs."""
    return _values(printed(cell)) | _values(re.sub(r"(?<=\d)_(?=\d)", "", source(cell)))


def figure_texts(cell: Cell) -> list[str]:
    mystnb = cell["metadata"].get("mystnb", {})
    return [mystnb.get("figure", {}).get("caption", ""), mystnb.get("image", {}).get("alt", "")]


def beside(cells: list[Cell], at: int) -> set[float]:
    """What the last three code cells up to this one give, and the next one: what a reader has on the screen.

    A cell further away is farther than a reader looks, and each cell more makes it likelier that a wrong number fits.
    """
    code = [i for i, c in enumerate(cells) if c["cell_type"] == "code"]
    near = [i for i in code if i <= at][-3:] + [i for i in code if i > at][:1]
    return set().union(*(given(cells[i]) for i in near))


def anywhere(cells: list[Cell]) -> set[float]:
    return set().union(*(given(c) for c in cells if c["cell_type"] == "code"))


# Sums ---------------------------------------------------------------------------------------------------------------

_SIGNS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


def total(node: ast.AST) -> float:
    """What a sum of plain numbers gives; anything else is a ValueError."""
    match node:
        case ast.Expression(body=body):
            return total(body)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _SIGNS:
            return float(_SIGNS[type(sign)](total(left), total(right)))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -total(operand)
        case ast.Constant(value=int() | float() as number):
            return float(number)
    raise ValueError("this is no sum")


def worked(sum_: str) -> float | None:
    """The value of a sum, or None for words, which are an excuse."""
    try:
        return total(ast.parse(sum_, mode="eval"))
    except (SyntaxError, ValueError):
        return None


_RATIOS = {"twice": 2, "doubl": 2, "tripl": 3, "three times": 3, "four times": 4, "ten times": 10, "tenfold": 10}
_RATIOS |= {"halv": 0.5, "half": 0.5, "a third": 1 / 3, "a quarter": 0.25}


def _ratio(phrase: str) -> float | None:
    return next((value for word, value in _RATIOS.items() if word in phrase.lower()), None)


def fault(phrase: str, sum_: str, text: str, values: set[float]) -> str:
    """What is wrong with a declared sum: its phrase is gone, its numbers are nowhere, or it gives another number."""
    if phrase not in text:
        return f'metadata "numbers" has "{phrase}", which the text no longer says'
    if (value := worked(sum_)) is None:
        return ""
    strays = [n.shown for n in numbers(sum_) if n.value not in _PLAIN and not holds(n, values)]
    if strays:
        return f'"{phrase}": {sum_} uses {", ".join(strays)}, which no cell of the chapter gives'
    said = next(told(phrase), None)
    ratio = _ratio(phrase)
    right = holds(said, {abs(value)}) if said else ratio is not None and abs(abs(value) / ratio - 1) < 0.15
    return "" if right else f'"{phrase}": {sum_} gives {value:.6g}'


def faults(text: str, declared: dict[str, str], near: set[float], far: set[float], strict: bool = False) -> list[str]:
    """All numbers of a text that nothing beside it gives, and sums that do not give what is said.

    `strict`: not even "doubles" goes without a sum, as in captions, which are read alone.
    """
    wrong = [said for phrase, sum_ in declared.items() if (said := fault(phrase, sum_, text, far))]
    for phrase in declared:
        text = text.replace(phrase, " ")
    wrong += [f'"{n.shown}" in "…{around(text, n)}…"' for n in told(text) if not holds(n, near)]
    if strict:
        wrong += [f'"{word}" needs a sum' for word in _RATIOS if re.search(rf"\b{word}", text, re.IGNORECASE)]
    return wrong


def around(text: str, number: Number) -> str:
    return " ".join(text[max(0, number.at - 40) : number.at + 40].split())


# The tests ----------------------------------------------------------------------------------------------------------


def said_by(cell: Cell) -> str:
    return source(cell) if cell["cell_type"] == "markdown" else " \n ".join(filter(None, figure_texts(cell)))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_numbers_of_sentences_are_given_beside_them(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    far = anywhere(cells)
    wrong, excuses = [], []
    for at, cell in enumerate(cells):
        declared = cell["metadata"].get("numbers", {})
        excuses += [phrase for phrase, sum_ in declared.items() if worked(sum_) is None]
        found = faults(said_by(cell), declared, beside(cells, at), far, strict=cell["cell_type"] == "code")
        wrong += [f"cell {at} ({cell['id']}): {fault_}" for fault_ in found]
    assert not wrong, "\n".join([f"{len(wrong)} numbers that nothing beside them gives:", *wrong])
    assert len(excuses) <= EXCUSES, f"{len(excuses)} numbers are excused: {excuses}"


@pytest.mark.parametrize(
    ("text", "declared", "wrong"),
    [
        ("A step takes 28.7 ms, a fifth of 143.", {}, 0),
        ("A step takes 82.7 ms.", {}, 1),
        ("It uses 12 % of 5,080 tokens.", {}, 0),
        ("It uses 21 % of 5,800 tokens.", {}, 2),
        ("An H100 in chapter 3, as of 2024: LLaMA 3-70B, `tp=8`.", {}, 0),
        ("That is 5.0 times as much.", {"5.0 times": "143 / 28.73"}, 0),
        ("That is 6.0 times as much.", {"6.0 times": "143 / 28.73"}, 1),
        ("That is 5.0 times as much.", {"5.0 times": "150 / 30"}, 1),
        ("That is half as much.", {"twice": "143 / 71.5"}, 1),
    ],
)
def test_wrong_numbers_are_seen(text: str, declared: dict[str, str], wrong: int) -> None:
    values = {28.7314, 28.73, 143.0, 0.1204, 5083.0}
    assert len(faults(text, declared, values, values)) == wrong


def test_a_caption_may_not_triple_what_doubles() -> None:
    values = {20.0, 40.0}
    assert not faults("The batch doubles it.", {"doubles": "40 / 20"}, values, values, strict=True)
    assert faults("The batch triples it.", {"triples": "40 / 20"}, values, values, strict=True)
    assert faults("The batch triples it.", {}, values, values, strict=True)
