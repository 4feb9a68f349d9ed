"""One letter, one meaning: every page and every formula is held against the table of symbols."""

import ast
import json
import re
from pathlib import Path

import pytest
import symbols
from docstrings import Formula, formulas
from uses import Names

BOOK = Path(__file__).parents[2] / "book"
TABLE = symbols.read(symbols.PAGE.read_text(encoding="utf-8"))
NOTEBOOKS = sorted(BOOK.glob("*.ipynb"))
PAGES = [*NOTEBOOKS, *sorted(BOOK.glob("*.md")), *sorted((BOOK / "appendix").glob("*.md"))]
FORMULAS = formulas()
NAMES = Names(FORMULAS)


def cells(path: Path, kind: str) -> list[str]:
    if path.suffix == ".md":
        return [path.read_text(encoding="utf-8")] if kind == "markdown" else []
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in found if cell["cell_type"] == kind]


def arguments(tree: ast.AST) -> dict[str, tuple[str, ...]]:
    """Arguments of the formulas, by the names that this code has for them."""
    known = {formula.short: formula.arguments for formula in FORMULAS}
    for alias, path in NAMES.aliases(tree).items():
        target = NAMES.by_path.get(path) or NAMES.by_path.get(NAMES.top.get(path.removeprefix("scaling."), ""))
        if target:
            known[alias] = target.arguments
    return known


def test_a_symbol_has_one_line_in_the_table_and_one_name_belongs_to_one_letter() -> None:
    every = [symbol for row in TABLE.rows for symbol in row.symbols]
    assert len(every) == len(set(every)) >= 28
    assert all(row.meaning and row.words and row.names and row.unit for row in TABLE.rows)
    owners: dict[str, list[str]] = {}
    for row in TABLE.rows:
        for name in row.names:
            owners.setdefault(name, []).append(row.symbols[0])
    # One token of each sequence passes in a step, so `tokens` is B there and S in a prefill.
    assert {name: own for name, own in owners.items() if len(own) > 1} == {"tokens": ["B", "S"]}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_page_uses_the_symbols_of_the_table(path: Path) -> None:
    assert symbols.page_errors(TABLE, "\n\n".join(cells(path, "markdown"))) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_code_of_a_page_uses_the_symbols_of_the_table(path: Path) -> None:
    tree = ast.parse("\n\n".join(cells(path, "code")))
    assert symbols.use_errors(TABLE, tree, arguments(tree)) == []


@pytest.mark.parametrize("formula", FORMULAS, ids=lambda formula: formula.path)
def test_formula_uses_the_symbols_of_the_table(formula: Formula) -> None:
    assert symbols.docstring_errors(TABLE, formula) == []
    tree = ast.parse(formula.code)
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef))
    assert symbols.code_errors(TABLE, function) == []
    assert symbols.use_errors(TABLE, tree, arguments(tree)) == []


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
        ("It takes $E / W$ seconds.", "E is not in the table"),
        (r"$$T = \frac{B S kv}{N W}$$", "k is not in the table"),  # in italics kv is k times v
        (r"$$W_\text{disk} = 2$$", "W_disk is not in the table"),
        ("The matrix $A$ is wide.", "A is not in the table"),
    ],
)
def test_a_page_with_a_second_sense_is_refused(text: str, said: str) -> None:
    found = symbols.page_errors(TABLE, f"# A page\n\nWith $B$ sequences of $S$ tokens.\n\n{text}\n")
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
    assert symbols.page_errors(TABLE, text) == []


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
    assert len(symbols.use_errors(TABLE, tree, arguments(tree))) == wrong


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
    assert len(symbols.code_errors(TABLE, function)) == wrong


def test_a_docstring_with_a_letter_of_its_own_is_refused() -> None:
    text = "Time. [s]\n\n``T = Z b_w / W``\n\n`batch` S [sequences]; `context` S [tokens]."
    found = symbols.docstring_errors(TABLE, Formula("scaling.x", "f", text, "", 1, ("batch", "context")))
    assert [re.sub(".*f: ", "", one) for one in found] == [
        "Z is not in the table of symbols",
        "argument 'batch' has the symbol S",
    ]
