"""Numbers in the texts of questions: each typed one is a given, the key, a trap, or what a sum beside it gives.

What a bank computes into a text needs no test. A typed number must be one of these: a figure of a chip, model or dtype
that the question names; an input or constant in the bank's code; the key or the value of a trap, in any unit; a number
that the bank computes elsewhere in the question; or the result of a sum in the text, as in "0.85 x 640 - 140 = 404".
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import pytest

from scaling import chips, models
from scaling.course.questions import KINDS, Numeric, Question
from tests.pages.test_numbers_in_words import Number, holds, told, worked
from tests.pages.test_quizzes import NAMES, load
from tests.paths import BOOK

SCALES = (1.0, 1e3, 1e6, 1e9, 1e12, 1e15, 1e-3, 1e-6, 1e-9, 2.0**10, 2.0**20, 2.0**30, 0.01)
UNITS = [one / other for one in SCALES for other in SCALES]  # a sum in GB and ms, its result in TB/s
EVERYWHERE = {0.5, 3.0, 4.0, 8.0, 16.0, 2.0**30, 1e9}  # bytes and bits of a number, a GB and a GiB


def strings(value: Any) -> Iterator[str]:
    """All texts of a question as a reader meets them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list, tuple)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings(item)


def figures(record: Any) -> set[float]:
    """The numbers of a chip's or a model's record, in bytes or GB, FLOP or TFLOP."""
    plain = [getattr(record, name) for name in dir(record) if not name.startswith("_")]
    plain += (
        [*record.flops.values()]
        if hasattr(record, "flops")
        else [record.kv_bytes_per_token(d) for d in ("bf16", "fp8", "int4")]
    )
    known = [float(value) for value in plain if isinstance(value, (int, float)) and not isinstance(value, bool)]
    return {value / scale for value in known for scale in (1, 1e9, 1e12)}


RECORDS = [r for module in (chips, models) for r in vars(module).values() if isinstance(r, (chips.Chip, models.Model))]


def named(text: str) -> set[float]:
    """The figures of every chip and model that a text names: H100, v5e, LLaMA 3-70B or 70B."""
    names = [(record.name.removeprefix("TPU ").removeprefix("LLaMA 3-"), record) for record in RECORDS]
    return set().union(*(figures(record) for name, record in names if name.split(" (")[0] in text))


def sums(text: str) -> Iterator[tuple[float, Number]]:
    """(value, printed result) of each sum of plain numbers in a text; units between them are skipped."""
    for left, right in re.findall(r"([^=;:]*\d[^=;:]*)= ?(?=([^=]*))", text):
        result = next(told(right[:30]), None)
        term = re.sub(r"^.*?(?:, |\. (?=[A-Z])|[a-z]{4,} )(?=[\d(])", "", left.replace("over", "/"))
        term = re.sub(r"(?<=\d),(?=\d)", "", re.sub(r"\bx\b", "*", term))
        term = re.sub(r"\b[A-Za-zµ%]+(?:/[A-Za-z]+)?(?=[\s)]|$)|%", "", term).strip(" ,.")
        if result and re.search(r"\d\S* [-+*/] ", term) and (value := worked(term)) is not None:
            yield value, result


def wrong_sums(text: str) -> list[str]:
    """Sums that do not give what is printed behind them, in any unit."""
    return [
        f"{result.shown} after a sum that gives {value:.6g}"
        for value, result in sums(text)
        if not any(abs(value * u - result.value) <= max(result.slack, 2e-3 * result.value) for u in UNITS)
    ]


def _literals(node: ast.AST) -> Iterator[ast.Constant]:
    """The plain numbers in code."""
    yield from (part for part in ast.walk(node) if isinstance(part, ast.Constant) and type(part.value) in (int, float))


def typed(name: str) -> Iterator[tuple[str, list[str], set[float]]]:
    """(id, typed texts, typed values in code) of each question of a bank, from its source."""
    tree = ast.parse((BOOK / "quizzes" / f"{name}.py").read_text(encoding="utf-8"))
    shared = {float(part.value) for node in tree.body if not isinstance(node, ast.Expr) for part in _literals(node)}
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and ast.unparse(call.func) in {kind.__name__ for kind in KINDS}:
            parts = [node.value for node in ast.walk(call) if isinstance(node, ast.Constant)]
            known = next(k.value.value for k in call.keywords if k.arg == "id" and isinstance(k.value, ast.Constant))
            texts = [part for part in parts if isinstance(part, str) and part != known]
            yield (
                known,
                texts,
                shared | {part / scale for part in parts if type(part) in (int, float) for scale in SCALES},
            )


def evidence(question: Question, texts: list[str]) -> set[float]:
    """What the records, the key, the traps and the computed parts of the texts give."""
    said = list(strings(asdict(question)))
    values = EVERYWHERE | named(" ".join(said))
    if isinstance(question, Numeric):
        keys = [question.answer, *(trap.value for trap in (*question.traps, *question.sharper))]
        values |= {key / scale for key in keys for scale in SCALES}
    shown = Counter(number.value for text in said for number in told(text))
    shown.subtract(Counter(number.value for text in texts for number in told(text)))
    values |= {value for value, times in shown.items() if times > 0}
    return values | {value for text in said for value, _ in sums(text)}


HELD: tuple[str, ...] = ("sglang", "reality", "beyond", "machine")


@pytest.mark.parametrize("name", [name for name in NAMES if name in HELD])
def test_typed_numbers_of_questions_are_given_or_follow(name: str) -> None:
    bank, wrong = {question.id: question for question in load(name).QUESTIONS}, []
    for known, texts, values in typed(name):
        near = values | evidence(bank[known], texts)
        wrong += [f"{known}: {n.shown} in {text!r}" for text in texts for n in told(text) if not holds(n, near)]
        wrong += [
            f"{known}: {fault} in {text!r}" for text in strings(asdict(bank[known])) for fault in wrong_sums(text)
        ]
    assert not wrong, "\n".join([f"{len(wrong)} typed numbers that nothing gives:", *wrong])


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("0.85 x 640 GB - 140 GB = 404 GB.", 0),
        ("0.85 x 640 GB - 140 GB = 440 GB.", 1),
        ("5,368,709,120 B / 8 = 671 MB = 0.625 GiB.", 0),
        ("1,000 / 28.83 = 34.69, so 35 nodes.", 0),
        ("1,000 / 28.83 = 36.49, so 35 nodes.", 1),
        ("K = 8 and H = 128.", 0),
    ],
)
def test_a_sum_that_does_not_come_out_is_seen(text: str, wrong: int) -> None:
    assert len(wrong_sums(text)) == wrong
