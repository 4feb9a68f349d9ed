"""What the numbers are called: a floor is a bound, and the serial roofline, which engines that overlap beat, is none.

Searched are the sentences of the package, the pages, the banks, the ledger, the widgets and the README. A sentence that
has a word for a bound must name the floor or the overlap, or mean another bound by one of a few phrases.
"""

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.paths import BOOK, ROOT

BOUND = re.compile(
    r"\bbound(?:s|ed|ing)?\b|\b(?:never|cannot be|not) beaten\b|\bat best\b|\bat the least\b"
    r"|\bno (?:engine|schedule|server|batch)\b[^.]*\b(?:beats?|exceeds?|faster)\b",
    re.IGNORECASE,
)
THE_FLOOR = re.compile(r"\bfloors?\b|\boverlap", re.IGNORECASE)

# Phrases that mean another bound, or none, and why they may stand.
OTHERS = {
    r"\bbound (?:by|where|there)\b": "what limits a phase, or gives a default its value",
    r"\b(?:compute|memory|communications?|comms)[- ]bound\b": "what limits a phase",
    r"\bbounds (?:activation memory|the memory|their sum)": "a flag that limits memory or a sum",
    r"\breads [^.]* a step, in … at the least": "bytes at the peak, whatever else happens meanwhile",
}
FILES = {"scaling/engines/metrics.py": "the bounds of a histogram's buckets"}


def sentences(text: str) -> Iterator[str]:
    """A text cut at full stops, semicolons, blank lines, and where an item, a row or a cell ends."""
    for part in re.split(r"(?<=[.!?;])\s+|\n\s*\n|\n\s*(?=[*#|>-])|\|", text):
        yield " ".join(part.split())


def called_a_bound(text: str) -> list[str]:
    """Sentences that call a number a bound which is no floor."""
    other = re.compile("|".join([r"`[^`]*`", *OTHERS]), re.IGNORECASE)  # a name in code is no word
    return [s for s in sentences(text) if BOUND.search(other.sub("", s)) and not THE_FLOOR.search(s)]


def words_of_python(source: str) -> str:
    """Texts and comments, a blank line between any two; what is put into a text is an ellipsis."""
    nodes = list(ast.walk(ast.parse(source)))
    made = [node for node in nodes if isinstance(node, ast.JoinedStr)]
    parts = {id(part) for node in made for part in node.values}
    words = ["".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values) for node in made]
    plain = [node for node in nodes if isinstance(node, ast.Constant) and id(node) not in parts]
    words += [node.value for node in plain if isinstance(node.value, str) and " " in node.value]  # else it is a name
    last = -1
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            said, follows = token.string.lstrip("#: "), token.start[0] == last + 1
            words[-1:] = [f"{words[-1]} {said}"] if follows else [*words[-1:], said]
            last = token.start[0]
    return "\n\n".join(words)


def words_of_notebook(text: str) -> str:
    words = []
    for cell in json.loads(text)["cells"]:
        source, shown = "".join(cell["source"]), cell["metadata"].get("mystnb", {})
        words.append(source if cell["cell_type"] == "markdown" else words_of_python(source))
        words += [shown.get("figure", {}).get("caption", ""), shown.get("image", {}).get("alt", "")]
    return "\n\n".join(words)


def words_of_javascript(text: str) -> str:
    return "\n\n".join(re.findall(r"//[^\n]*|/\*.*?\*/|\"[^\"\n]*\"|(?<=`)[^`]*(?=`)", text, re.S))


WORDS = {
    ".py": words_of_python,
    ".ipynb": words_of_notebook,
    ".js": words_of_javascript,
    ".md": lambda text: re.sub(r"```.*?```", "", text, flags=re.S),
}
SEARCHED = [
    ROOT / "README.md",
    *sorted(path for folder in (ROOT / "scaling", BOOK) for path in folder.rglob("*") if path.suffix in WORDS),
]


@pytest.mark.parametrize("path", SEARCHED, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_a_floor_is_called_a_bound(path: Path) -> None:
    if str(path.relative_to(ROOT)) not in FILES:
        found = called_a_bound(WORDS[path.suffix](path.read_text(encoding="utf-8")))
        assert not found, f"say floor, serial roofline or estimate: {found}"


def test_each_exception_is_needed() -> None:
    texts = {str(path.relative_to(ROOT)): WORDS[path.suffix](path.read_text(encoding="utf-8")) for path in SEARCHED}
    assert [name for name in FILES if not called_a_bound(texts[name])] == []
    everything = "\n".join(" ".join(text.split()) for text in texts.values())
    assert [phrase for phrase in OTHERS if not re.search(phrase, everything, re.IGNORECASE)] == []


@pytest.mark.parametrize(
    "wrong",
    [
        "The bound is never beaten. The floor is.",
        "No engine beats the serial roofline.",
        "A roofline says how fast a step can be at best.",
        "Numbers are lower bounds.",
        "Which throughput does no batch exceed?",
        "a step takes 20 ms at the least",
    ],
)
def test_a_wrong_word_is_seen_wherever_it_stands(wrong: str) -> None:
    cells = [{"cell_type": "markdown", "source": [wrong], "metadata": {}}]
    caption = [{"cell_type": "code", "source": [], "metadata": {"mystnb": {"figure": {"caption": wrong}}}}]
    assert called_a_bound(wrong)
    assert called_a_bound(words_of_python(f'x = f"{{y}} {wrong}"'))
    assert called_a_bound(words_of_python(f"x = 1  # {wrong}"))
    assert called_a_bound(words_of_javascript(f"x = `${{y}} {wrong}`;"))
    assert called_a_bound(words_of_notebook(json.dumps({"cells": cells})))
    assert called_a_bound(words_of_notebook(json.dumps({"cells": caption})))


@pytest.mark.parametrize(
    "right",
    [
        "No schedule beats the floor.",
        "Decode is bound by memory.",
        "At its best batch a step takes 10 ms.",
        "`bound` is the name of a field.",
    ],
)
def test_a_right_word_passes(right: str) -> None:
    assert not called_a_bound(right)
