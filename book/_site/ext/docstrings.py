"""What the package says of itself: every public formula with its equation, units, validity and source.

Read from the source files, nothing is imported. A docstring is the only place where these are written; the formula
index, the tests of dimensions and the derivations all read them here.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from equations import NotAnEquationError, Relation, parse
from floors import FORMULAS, rank

PACKAGE = Path(__file__).parents[3] / "scaling"

_EQUATION = re.compile(r"\s(?:=|<=|>=|<|>)\s")
_UNIT = re.compile(r"\[([^\]]+)\]")
_SENTENCES = re.compile(r"(?:(?<=\s)|^)(Leaves out|Exact)\b.*", re.DOTALL)
_END = re.compile(r"(?:(?<=\s)|^)(?:Raises ``|Source:).*", re.DOTALL)


@dataclass(frozen=True)
class Formula:
    """A public function or method, and what its docstring says."""

    module: str
    name: str
    text: str
    code: str
    line: int
    arguments: tuple[str, ...] = ()
    result: "Result | None" = None
    method: bool = False
    strict: bool = True
    anchor: str = field(default="", compare=False)

    @property
    def path(self) -> str:
        """Where Python finds it, ``scaling.latency.decode_step``."""
        return f"{self.module}.{self.name}"

    @property
    def short(self) -> str:
        """Name without the class."""
        return self.name.rpartition(".")[2]

    @cached_property
    def paragraphs(self) -> list[str]:
        """The docstring's paragraphs, each on one line; a block of equations is one of them."""
        return [re.sub(r"\s*\n\s*", "\n", part.strip()) for part in re.split(r"\n\s*\n", self.text) if part.strip()]

    @property
    def summary(self) -> str:
        """The quantity in plain words: the first paragraph without its equations and its unit."""
        text = re.sub(r"(?:[:,] )?``[^`]*``", lambda m: "" if _EQUATION.search(m[0]) else m[0], self.first)
        return re.sub(r"\s+([.,:;])", r"\1", _UNIT.sub("", text)).strip().rstrip(".:").replace("..", ".") + "."

    @property
    def first(self) -> str:
        """The first paragraph."""
        return self.paragraphs[0].replace("\n", " ") if self.paragraphs else ""

    @cached_property
    def equations(self) -> list[Relation]:
        """Every relation in double backticks or in a block."""
        return [parse(text) for text in equation_texts(self.text)]

    @property
    def unit(self) -> str:
        """What stands in square brackets at the end of the first paragraph."""
        found = _UNIT.findall(self.first)
        return found[-1] if found else ""

    @property
    def units(self) -> dict[str, str]:
        """Unit of the result, or of each field where the result has fields."""
        if self.result:
            return {name: self.result.units.get(name) or self.unit for name in self.result.fields}
        return {"": self.unit}

    @property
    def argument_units(self) -> dict[str, str]:
        """Units of the arguments that the docstring gives one."""
        return argument_units(self.text, self.arguments)

    @property
    def validity(self) -> str:
        """What the formula leaves out and how that errs, or that it is exact."""
        for part in self.paragraphs[1:]:
            found = _SENTENCES.search(_END.sub("", part.replace("\n", " ")))
            if found:
                return found[0].strip()
        return ""

    @property
    def source(self) -> str:
        """Where it comes from."""
        found = re.search(r"Source:\s*(.+?)\.?\s*\Z", "\n".join(self.paragraphs), re.DOTALL)
        return found[1].replace("\n", " ") if found else ""


@dataclass(frozen=True)
class Result:
    """A record that a formula gives back."""

    name: str
    fields: tuple[str, ...]
    units: dict[str, str]


def argument_units(text: str, names: tuple[str, ...]) -> dict[str, str]:
    """``{"batch": "sequences"}`` of "`batch` B [sequences]" or "`price`: per chip. [USD/h]", below the first paragraph.

    The unit is the first one after the name and before the next name; names joined by a comma share theirs.
    """
    found: dict[str, str] = {}
    known = "|".join(map(re.escape, names))
    for part in re.split(r"\n\s*\n", text)[1:] if names else []:
        pieces = re.split(rf"(?<!`)`({known})`(?!`)", part)
        waiting: list[str] = []
        for name, rest in zip(pieces[1::2], pieces[2::2], strict=True):
            waiting.append(name)
            unit = _UNIT.search(rest)
            if unit:
                found = dict.fromkeys(waiting, unit[1]) | found
            if unit or not re.fullmatch(r",\s*", rest):
                waiting = []
    return found


def equation_texts(text: str) -> Iterator[str]:
    """The equations of a docstring, as it writes them."""
    block = False
    for part in re.split(r"\n\s*\n", text):
        if block and (part.startswith(" ") or part.startswith("\n ")):
            for line in part.splitlines():
                pieces = re.split(r"\s{2,}", line.strip())
                yield from (piece for piece in pieces if is_equation(piece))
            continue
        block = part.rstrip().endswith("::")
        for span in re.findall(r"``(.+?)``", part.replace("\n", " "), re.DOTALL):
            if is_equation(span):
                yield re.sub(r"\s+", " ", span)


def is_equation(text: str) -> bool:
    """Whether a piece of code is a relation that can be read."""
    if not _EQUATION.search(text):
        return False
    try:
        return len(parse(text).sides) > 1
    except NotAnEquationError:
        return False


def _code(source: str, node: ast.FunctionDef) -> str:
    """The function without its docstring and without decorators."""
    lines = source.splitlines()
    head = lines[node.lineno - 1 : node.body[0].lineno - 1]
    rest = lines[(node.body[0].end_lineno or 0) : node.end_lineno]
    text = [line[node.col_offset :] for line in head + rest]
    return "\n".join(text).strip("\n")


def _results(tree: ast.Module) -> dict[str, Result]:
    found: dict[str, Result] = {}
    for node in tree.body:
        bases = [ast.unparse(base) for base in node.bases] if isinstance(node, ast.ClassDef) else []
        if isinstance(node, ast.ClassDef) and any(base == "NamedTuple" or base in found for base in bases):
            inherited = [name for base in bases if base in found for name in found[base].fields]
            own = [
                n.target.id
                for n in node.body
                if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name) and n.target.id[0] != "_"
            ]
            names = (*inherited, *own)
            text = ast.get_docstring(node) or ""
            units = argument_units(text, names)
            every = _UNIT.search(text)
            if every and not units:
                units = dict.fromkeys(names, every[1])
            found[node.name] = Result(node.name, names, units)
    return found


def _read(path: Path) -> Iterator[Formula]:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    module = ".".join(["scaling", *(part for part in parts if part != "__init__")])
    strict = parts[0] in FORMULAS
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    results = _results(tree)
    owners: list[ast.Module | ast.ClassDef] = [tree]
    for owner in [*owners, *(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name[0] != "_")]:
        method = isinstance(owner, ast.ClassDef)
        for node in owner.body:
            if not isinstance(node, ast.FunctionDef) or node.name[0] == "_":
                continue
            text = ast.get_docstring(node) or ""
            if (strict and not method) or (not (strict and method) and any(equation_texts(text))):
                args = [
                    a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs) if a.arg != "self"
                ]
                yield Formula(
                    module=module,
                    name=f"{owner.name}.{node.name}" if isinstance(owner, ast.ClassDef) else node.name,
                    text=text,
                    code=_code(source, node),
                    line=node.lineno,
                    arguments=tuple(args),
                    result=results.get(ast.unparse(node.returns)) if node.returns else None,
                    method=method,
                    strict=strict,
                )


def formulas() -> list[Formula]:
    """Every formula of the package, module by module in the order of the floors, as each file has them."""
    paths = [path for path in sorted(PACKAGE.rglob("*.py")) if "__pycache__" not in path.parts]
    paths.sort(key=lambda path: rank(path.relative_to(PACKAGE).with_suffix("").parts[0]))
    found = [formula for path in paths for formula in _read(path)]
    twice = Counter(formula.name for formula in found)
    for one in found:
        last = one.module.rpartition(".")[2]
        object.__setattr__(one, "anchor", one.name if twice[one.name] == 1 else f"{last}.{one.name}")
    return found
