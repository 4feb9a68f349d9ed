"""One letter, one meaning: reads the table of symbols, and says where a page or a function departs from it.

The rules are mechanical. A symbol that stands in a formula must be in the table. The words beside a symbol must not be
those that the table gives to another one. A symbol handed to a function must be the one of that argument. A symbol
inside a function must be unpacked from what the table says it is.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from docstrings import Formula
from equations import SYMBOL
from from_tex import symbols

PAGE = Path(__file__).parents[2] / "appendix" / "symbols.md"

_CHECKS = ("nonnegative", "positive", "finite", "count", "whole", "share")
_OPEN = re.compile(r"subscript says")
_FOREIGN = re.compile(r"\b(?:texts?|books?|papers?|sources?)\b[^.]*\b(?:write|call)s?\b")
_SKIP = "is are be the a an it its one all each every of times equals".split()


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    symbols: tuple[str, ...]
    meaning: str
    words: frozenset[str]  # of the text, without their endings; those in backticks are names in code
    names: frozenset[str]
    unit: str
    any_subscript: bool


@dataclass(frozen=True)
class Table:
    """The table of symbols."""

    rows: tuple[Row, ...]

    @cached_property
    def by_symbol(self) -> dict[str, Row]:
        """Row of each symbol."""
        return {symbol: row for row in self.rows for symbol in row.symbols}

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """Every word that means one of the symbols."""
        return frozenset().union(*(row.words for row in self.rows))

    def row(self, symbol: str) -> Row | None:
        """The line that a symbol falls under, its own or that of a letter which takes any subscript."""
        if symbol in self.by_symbol:
            return self.by_symbol[symbol]
        base = self.by_symbol.get(symbol.partition("_")[0])
        return base if base and base.any_subscript and "_" in symbol else None

    def unit(self, name: str) -> str:
        """Unit of an argument that is called so, or nothing."""
        return next((row.unit for row in self.rows if name in row.names), "")


def read(text: str) -> Table:
    """The first table of the page with four columns."""
    rows = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) != 4 or not cells[0].startswith("$"):
            continue
        names = re.findall(r"`([^`]*)`", cells[2])
        words = [word for part in re.findall(r"\*([^*]+)\*", cells[1]) for word in part.split()]
        rows.append(
            Row(
                symbols=tuple("".join(symbols(one)) for one in re.findall(r"\$([^$]+)\$", cells[0])),
                meaning=cells[1],
                words=frozenset([*map(stem, words), *(f"`{normal(name).rpartition('.')[2]}`" for name in names)]),
                names=frozenset(normal(name) for name in names),
                unit=cells[3].replace("–", "-"),
                any_subscript=bool(re.search(r"subscript says", cells[1])),
            )
        )
    return Table(tuple(rows))


def stem(word: str) -> str:
    """A word without its ending, so that singular and plural are one; a name in code stays as it is."""
    word = word.strip("*_()").lower()
    if word.startswith("`") or len(word) < 4 or "/" in word:
        return word
    return re.sub(r"ie$|y$", "y", word.removesuffix("s"))


def normal(code: str) -> str:
    """A piece of code as the table writes it: ``chip.rate(...)`` for any call of it, but each dtype for itself."""
    if code.startswith("dtype_bytes("):
        return re.sub(r"(?<=\w),.*\)", ")", code)
    return re.sub(r"\(.*\)", "(...)", code, flags=re.DOTALL)


# Text ----------------------------------------------------------------------------------------------------------------


def page_errors(table: Table, text: str) -> list[str]:
    """What is wrong with the formulas and the prose of a page in Markdown."""
    text = re.sub(r"```.*?```", " ", text, flags=re.DOTALL)
    found = []
    for tex_text in re.findall(r"\$\$(.+?)\$\$|(?<![\\\w])\$([^$\n]+)\$", re.sub(r"`[^`\n]*`", " ", text), re.DOTALL):
        whole = tex_text[0] or tex_text[1]
        found += [
            f"{name} is not in the table of symbols: {whole.strip()}" for name in symbols(whole) if not table.row(name)
        ]
    prose = re.sub(r"\$\$.+?\$\$", " . ", text, flags=re.DOTALL)
    for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z*>$(\"])", prose.replace("\n", " ")):
        if not _FOREIGN.search(sentence):
            found += list(_beside(table, sentence))
    return found


def _beside(table: Table, sentence: str) -> Iterator[str]:
    """Symbols with a word beside them that belongs to another one, and none that is their own."""
    pieces = re.split(r"(?<![\\\w])\$([^$]+)\$", sentence)
    for i in range(1, len(pieces), 2):
        names = symbols(pieces[i])
        row = table.row(names[0]) if len(names) == 1 else None
        if row is None or re.search(r"[=<>/+\d^(]|\\frac", pieces[i]):
            continue
        after = re.split(r"[^\w\s`*/(-]|\b(?:per|of|in|on|for|from|with|that|which|and|or|as)\b", pieces[i + 1])[0]
        before = re.split(r"[^\w\s`*/-]", pieces[i - 1])[-1]
        told = [_first(table, after.split()), _first(table, before.split()[::-1])]
        words = [word for word in told if word]
        if words and not any(stem(word) in row.words for word in words):
            yield f"{names[0]} is {row.meaning!r}, but stands beside {words[0]!r}: {sentence.strip()[:160]}"


def _first(table: Table, words: list[str]) -> str:
    """The nearest word that says something, or after an "is the" one of the two nearest, if it means a symbol."""
    telling = [word for word in words if word.lower() not in _SKIP]
    nearest = telling[: 2 if words[:1] and words[0].lower() in ("is", "are", "the") else 1]
    return next((word for word in nearest if stem(word) in table.vocabulary), "")


def docstring_errors(table: Table, formula: Formula) -> list[str]:
    """Symbols of a docstring's equations that are not in the table, and arguments with another's symbol."""
    names = [name for relation in formula.equations for name in relation.names if SYMBOL.match(name)]
    found = [f"{formula.path}: {name} is not in the table of symbols" for name in names if not table.row(name)]
    for argument, letter in re.findall(r"(?<!`)`(\w+)` ([A-Z](?:_\w+)?)\b(?! [a-z]+s? of)", formula.text):
        row = table.row(letter)
        if argument in formula.arguments and (row is None or argument not in _tails(row)):
            found.append(f"{formula.path}: argument {argument!r} has the symbol {letter}")
    return found


# Code ----------------------------------------------------------------------------------------------------------------


def use_errors(table: Table, tree: ast.AST, arguments: dict[str, tuple[str, ...]]) -> list[str]:
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
            row = _of_code(table, symbol.id) if isinstance(symbol, ast.Name) else None
            if row and isinstance(symbol, ast.Name) and not _may_be(table, symbol.id, other):
                found.append(f"{symbol.id} is {row.meaning!r}, but is {how} {other!r}")
    return found


def _may_be(table: Table, symbol: str, name: str) -> bool:
    """Whether the table gives this name to the symbol, to its letter, or to nobody."""
    rows = (table.row(symbol), table.row(symbol.partition("_")[0]))
    return any(row and name in _tails(row) for row in rows) or not any(name in _tails(row) for row in table.rows)


def _paired(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Each name of an assignment with its own value; names that share one value, taken apart, are left out."""
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
        elif not isinstance(target, ast.Tuple):
            yield target, node.value


def _tails(row: Row) -> set[str]:
    return {name.rpartition(".")[2] for name in row.names}


def _of_code(table: Table, name: str) -> Row | None:
    """Row of a name in code; small letters are ordinary names there, unless something stands below them."""
    return table.row(name) if SYMBOL.match(name) and (len(name) > 1 or name.isupper()) else None


def code_errors(table: Table, function: ast.FunctionDef) -> list[str]:
    """Symbols in a function that are not unpacked from what the table says, or are not in it."""
    found: list[str] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for name, value in _paired(node):
                if isinstance(name, ast.Name) and _is_symbol(table, name.id):
                    found += _assigned(table, function.name, name.id, unwrapped(value))
    return found


def _is_symbol(table: Table, name: str) -> bool:
    """Whether a local name is meant as a symbol: a capital, NW, T_step, b_w or kv, but no word and no small letter."""
    return (name in table.by_symbol and len(name) > 1) or bool(re.match(r"[A-Z](?:_\w+)?\Z|[A-Z]{2}\Z", name))


def _assigned(table: Table, function: str, name: str, value: str) -> Iterator[str]:
    row = table.row(name)
    if row is None:
        yield f"{function}: {name} is not in the table of symbols"
    elif (
        value
        and value not in row.names
        and not (row.any_subscript and _free(table, value))
        and not _literal(name, value)
    ):
        yield f"{function}: {name} is {row.meaning!r}, but is made from {value!r}"


def _literal(name: str, value: str) -> bool:
    """Bytes of a dtype that is written out."""
    return name.startswith("b_") and value.startswith("dtype_bytes('")


def _free(table: Table, value: str) -> bool:
    """Whether no other symbol claims this piece of code."""
    return not any(value in row.names for row in table.rows)


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
