"""One letter, one meaning: every page and every formula is held against the table of symbols.

The rules are mechanical. A symbol that stands in a formula must be in the table. The words beside a symbol must not be
those that the table gives to another one. A symbol handed to a function must be the one of that argument. A symbol
inside a function must be unpacked from what the table says it is.
"""

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import symbols as table
from docstrings import Formula, formulas
from equations import SYMBOL
from symbols import Row, normal, symbols

from tests.paths import BOOK

TABLE = table.read(table.PAGE.read_text(encoding="utf-8"))
NOTEBOOKS = sorted(BOOK.glob("*.ipynb"))
PAGES = [*NOTEBOOKS, *sorted(BOOK.glob("*.md")), *sorted((BOOK / "appendix").glob("*.md"))]
FORMULAS = formulas()

_CHECKS = ("nonnegative", "positive", "finite", "count", "whole", "share")
_FOREIGN = re.compile(r"\b(?:texts?|books?|papers?|sources?)\b[^.]*\b(?:write|call)s?\b")
_SKIP = "is are be the a an it its one all each every of times equals".split()


def stem(word: str) -> str:
    """A word without its ending, so that singular and plural are one; a name in code stays as it is."""
    word = word.strip("*_()").lower()
    if word.startswith("`") or len(word) < 4 or "/" in word:
        return word
    return re.sub(r"ie$|y$", "y", word.removesuffix("s"))


@cache
def words_of(row: Row) -> frozenset[str]:
    """What a letter is called: the words in italics without their endings, and names in code in backticks."""
    words = [word for part in re.findall(r"\*([^*]+)\*", row.meaning) for word in part.split()]
    return frozenset([*map(stem, words), *(f"`{name.rpartition('.')[2]}`" for name in row.names)])


VOCABULARY = frozenset().union(*map(words_of, TABLE.rows))


def cells(path: Path, kind: str) -> list[str]:
    if path.suffix == ".md":
        return [path.read_text(encoding="utf-8")] if kind == "markdown" else []
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in found if cell["cell_type"] == kind]


def arguments(tree: ast.AST) -> dict[str, tuple[str, ...]]:
    """Arguments of the formulas, by the names that this code has for them."""
    known = {formula.short: formula.arguments for formula in FORMULAS}
    handed = [alias for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names]
    return known | {alias.asname: known[alias.name] for alias in handed if alias.asname and alias.name in known}


# Text ----------------------------------------------------------------------------------------------------------------


def page_errors(text: str) -> list[str]:
    """What is wrong with the formulas and the prose of a page in Markdown."""
    text = re.sub(r"```.*?```", " ", text, flags=re.DOTALL)
    found = []
    for tex_text in re.findall(r"\$\$(.+?)\$\$|(?<![\\\w])\$([^$\n]+)\$", re.sub(r"`[^`\n]*`", " ", text), re.DOTALL):
        whole = tex_text[0] or tex_text[1]
        found += [
            f"{name} is not in the table of symbols: {whole.strip()}" for name in symbols(whole) if not TABLE.row(name)
        ]
    prose = re.sub(r"\$\$.+?\$\$", " . ", text, flags=re.DOTALL)
    for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z*>$(\"])", prose.replace("\n", " ")):
        if not _FOREIGN.search(sentence):
            found += _beside(sentence)
    return found


def _beside(sentence: str) -> Iterator[str]:
    """Symbols with a word beside them that belongs to another one, and none that is their own."""
    pieces = re.split(r"(?<![\\\w])\$([^$]+)\$", sentence)
    for i in range(1, len(pieces), 2):
        names = symbols(pieces[i])
        row = TABLE.row(names[0]) if len(names) == 1 else None
        if row is None or re.search(r"[=<>/+\d^(]|\\frac", pieces[i]):
            continue
        after = re.split(r"[^\w\s`*/(-]|\b(?:per|of|in|on|for|from|with|that|which|and|or|as)\b", pieces[i + 1])[0]
        before = re.split(r"[^\w\s`*/-]", pieces[i - 1])[-1]
        told = [_first(after.split()), _first(before.split()[::-1])]
        words = [word for word in told if word]
        if words and not any(stem(word) in words_of(row) for word in words):
            yield f"{names[0]} is {row.meaning!r}, but stands beside {words[0]!r}: {sentence.strip()[:160]}"


def _first(words: list[str]) -> str:
    """The nearest word that says something, or after an "is the" one of the two nearest, if it means a symbol."""
    telling = [word for word in words if word.lower() not in _SKIP]
    nearest = telling[: 2 if words[:1] and words[0].lower() in ("is", "are", "the") else 1]
    return next((word for word in nearest if stem(word) in VOCABULARY), "")


def docstring_errors(formula: Formula) -> list[str]:
    """Symbols of a docstring's equations that are not in the table, and arguments with another's symbol."""
    names = [name for relation in formula.equations for name in relation.names if SYMBOL.match(name)]
    found = [f"{formula.path}: {name} is not in the table of symbols" for name in names if not TABLE.row(name)]
    for argument, letter in re.findall(r"(?<!`)`(\w+)` ([A-Z](?:_\w+)?)\b(?! [a-z]+s? of)", formula.text):
        row = TABLE.row(letter)
        if argument in formula.arguments and (row is None or argument not in _tails(row)):
            found.append(f"{formula.path}: argument {argument!r} has the symbol {letter}")
    return found


# Code ----------------------------------------------------------------------------------------------------------------


def use_errors(tree: ast.AST, arguments: dict[str, tuple[str, ...]]) -> list[str]:
    """Symbols that code hands to a function as something else, or takes from a field that is something else.

    `arguments`: names of the arguments of each function, by what the code calls it.
    """
    found = []
    for node in ast.walk(tree):
        pairs: list[tuple[ast.expr, str, str]] = []
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            known = arguments.get(name, ())
            pairs += [(value, one, f"given to {name} as") for one, value in zip(known, node.args, strict=False)]
            pairs += [(k.value, k.arg, f"given to {name} as") for k in node.keywords if k.arg in known]
        elif isinstance(node, ast.Assign):
            for target, value in _paired(node):
                if isinstance(value, ast.Attribute):
                    pairs.append((target, value.attr, "taken from"))
        for symbol, other, how in pairs:
            row = _of_code(symbol.id) if isinstance(symbol, ast.Name) else None
            if row and isinstance(symbol, ast.Name) and not _may_be(symbol.id, other):
                found.append(f"{symbol.id} is {row.meaning!r}, but is {how} {other!r}")
    return found


def _may_be(symbol: str, name: str) -> bool:
    """Whether the table gives this name to the symbol, to its letter, or to nobody."""
    rows = (TABLE.row(symbol), TABLE.row(symbol.partition("_")[0]))
    return any(row and name in _tails(row) for row in rows) or not any(name in _tails(row) for row in TABLE.rows)


def _paired(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Each name of an assignment with its own value; names that share one value, taken apart, are left out."""
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
        elif not isinstance(target, ast.Tuple):
            yield target, node.value


def _tails(row: Row) -> set[str]:
    return {name.rpartition(".")[2] for name in row.names}


def _of_code(name: str) -> Row | None:
    """Row of a name in code; small letters are ordinary names there, unless something stands below them."""
    return TABLE.row(name) if SYMBOL.match(name) and (len(name) > 1 or name.isupper()) else None


def code_errors(function: ast.FunctionDef) -> list[str]:
    """Symbols in a function that are not unpacked from what the table says, or are not in it."""
    found: list[str] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for name, value in _paired(node):
                if isinstance(name, ast.Name) and _is_symbol(name.id):
                    found += _assigned(function.name, name.id, unwrapped(value))
    return found


def _is_symbol(name: str) -> bool:
    """Whether a local name is meant as a symbol: a capital, NW, T_step, b_w or kv, but no word and no small letter."""
    return (name in TABLE.by_symbol and len(name) > 1) or bool(re.match(r"[A-Z](?:_\w+)?\Z|[A-Z]{2}\Z", name))


def _assigned(function: str, name: str, value: str) -> Iterator[str]:
    row = TABLE.row(name)
    if row is None:
        yield f"{function}: {name} is not in the table of symbols"
    elif value and value not in row.names and not (row.any_subscript and _free(value)) and not _literal(name, value):
        yield f"{function}: {name} is {row.meaning!r}, but is made from {value!r}"


def _literal(name: str, value: str) -> bool:
    """Bytes of a dtype that is written out."""
    return name.startswith("b_") and value.startswith("dtype_bytes('")


def _free(value: str) -> bool:
    """Whether no other symbol claims this piece of code."""
    return not any(value in row.names for row in TABLE.rows)


def unwrapped(value: ast.expr) -> str:
    """The code a symbol is made from, without the check around it, and `d.model.layers` as `model.layers`."""
    if (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Name)
        and value.func.id in _CHECKS
        and len(value.args) > 1
    ):
        return unwrapped(value.args[1])
    text = normal(ast.unparse(value))
    return re.sub(r"^self\.", "model.", re.sub(r"^\w+\.(?=(?:model|chip)\.)", "", text))


# The pages and the formulas -------------------------------------------------------------------------------------------


def test_a_symbol_has_one_line_in_the_table_and_one_name_belongs_to_one_letter() -> None:
    every = [symbol for row in TABLE.rows for symbol in row.symbols]
    assert len(every) == len(set(every)) >= 28
    assert all(row.meaning and words_of(row) and row.names and row.unit for row in TABLE.rows)
    owners: dict[str, list[str]] = {}
    for row in TABLE.rows:
        for name in row.names:
            owners.setdefault(name, []).append(row.symbols[0])
    # One token of each sequence passes in a step, so `tokens` is B there and S in a prefill.
    assert {name: own for name, own in owners.items() if len(own) > 1} == {"tokens": ["B", "S"]}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_page_uses_the_symbols_of_the_table(path: Path) -> None:
    assert page_errors("\n\n".join(cells(path, "markdown"))) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_code_of_a_page_uses_the_symbols_of_the_table(path: Path) -> None:
    tree = ast.parse("\n\n".join(cells(path, "code")))
    assert use_errors(tree, arguments(tree)) == []


@pytest.mark.parametrize("formula", FORMULAS, ids=lambda formula: formula.path)
def test_formula_uses_the_symbols_of_the_table(formula: Formula) -> None:
    assert docstring_errors(formula) == []
    tree = ast.parse(formula.code)
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef))
    assert code_errors(function) == []
    assert use_errors(tree, arguments(tree)) == []


# A check that cannot fail is a defect: each of these is one page, cell or function that gives a letter two senses.


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Each of $N$ parameters is read once.", "N is"),
        ("The batch $S$ doubles.", "S is"),
        ("$T$ tokens take a while.", "T is"),
        ("Here $P$ is the prompt, in tokens.", "P is"),
        ("With $K$ query heads of size $H$,", "K is"),
        ("A model with $H$ layers reads more.", "H is"),
        ("The width $F$ (`d_ff`) and the layers $D$.", "D is"),
        ("It has $L$ `kv_heads`.", "L is"),
        ("The context of $B$ is long.", "B is"),
        ("It has $W$ parameters.", "W is"),
        ("$G$ chips share it.", "G is"),
        ("$b_w$ is the bandwidth of one chip.", "b_w is"),
        ("$$X = 2 P$$", "X is not in the table"),
        ("It takes $J / W$ seconds.", "J is not in the table"),
        (r"$$T = \frac{B S kv}{N W}$$", "v is not in the table"),  # in italics kv is k times v
        (r"$$W_\text{disk} = 2$$", "W_disk is not in the table"),
        ("The matrix $A$ is wide.", "A is not in the table"),
    ],
)
def test_a_page_with_a_second_sense_is_refused(text: str, said: str) -> None:
    found = page_errors(f"# A page\n\nWith $B$ sequences of $S$ tokens.\n\n{text}\n")
    assert found and said in found[0], found


@pytest.mark.parametrize(
    "text",
    [
        r"$$T_\text{step} = \underbrace{\frac{B\,S\,\text{kv}}{N W}}_{\text{cache}} + \max(T_\text{a}, T_\text{b})$$",
        "A prompt of $S$ tokens, an answer of $G$ tokens, a batch of $B$ sequences.",
        "Some texts write $K$ for the size of a head.",
        "`$X` is a shell variable; $u$ is the usable share.",
        r"$$P = \lim_{B \to \infty} 2 \cdot 10^9 \quad \text{for all of them}$$",
        "The parameters $P$, the chips $N$, the layers $L$, and $V$, the vocabulary.",
    ],
)
def test_a_page_with_one_sense_each_passes(text: str) -> None:
    assert page_errors(text) == []


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        ("decode_step(d, S, B)", 2),
        ("decode_step(d, batch=G, context=S)", 1),
        ("qps(d, B, G, S)", 2),
        ("max_batch(d, N)", 1),
        ("tp_limit(chip, D)", 1),
        ("L, D = m.layers, m.d_ff", 1),
        ("W = chip.memory", 1),
        ("qps(d, B_crit, S, G) + decode_step(d, 8, 2048).total + tp_limit(chip, F)", 0),
        ("B, S = 32, 8192\nD = m.d_model", 0),
    ],
)
def test_code_that_hands_on_a_letter_as_something_else_is_refused(code: str, wrong: int) -> None:
    tree = ast.parse(f"from scaling import queries_per_second_per_chip as qps\n{code}")
    assert len(use_errors(tree, arguments(tree))) == wrong


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ('B, S = nonnegative("batch", batch), nonnegative("context", context)', 0),
        ('B, S = nonnegative("context", context), nonnegative("batch", batch)', 2),
        ("C, W = chip.rate(compute), chip.bandwidth", 0),
        ("C, W = chip.bandwidth, chip.rate(compute)", 2),
        ("NW, NC = d.flops, d.bandwidth", 2),
        ("b_w, b_act = dtype_bytes(activations), dtype_bytes(weights)", 2),
        ("P, K = model.params, model.q_heads", 1),
        ("L, H = self.layers, d.model.head_dim", 0),
        ("T_step = step", 0),
        ("T_step = d.bandwidth", 1),
        ("X = 2.0 * batch", 1),
        ("work = 2.0 * batch", 0),
    ],
)
def test_a_function_that_unpacks_a_letter_from_something_else_is_refused(body: str, wrong: int) -> None:
    function = ast.parse(f"def f():\n    {body}").body[0]
    assert isinstance(function, ast.FunctionDef)
    assert len(code_errors(function)) == wrong


def test_a_docstring_with_a_letter_of_its_own_is_refused() -> None:
    text = "Time. [s]\n\n``T = Z b_w / W``\n\n`batch` S [sequences]; `context` S [tokens]."
    found = docstring_errors(Formula("scaling.x", "f", text, "", 1, ("batch", "context")))
    assert [re.sub(".*f: ", "", one) for one in found] == [
        "Z is not in the table of symbols",
        "argument 'batch' has the symbol S",
    ]
