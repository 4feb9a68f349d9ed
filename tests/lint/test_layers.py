"""The shape of the package: imports run downwards, importing is light, and every formula says what it is."""

import ast
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest
from floors import FORMULAS, GROUPS

from tests.paths import ROOT

PACKAGE = ROOT / "scaling"

RANK = {module: rank for rank, group in enumerate(GROUPS) for module in group}

FILES = sorted(PACKAGE.rglob("*.py"))


def module_of(path: Path) -> str:
    """`scaling/engines/vllm.py` belongs to the module `engines`."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imported(tree: ast.AST, path: Path) -> set[str]:
    """Every module named in an import, also inside functions; names relative to the file are made absolute."""
    names: set[str] = set()
    package = ("scaling", *path.relative_to(PACKAGE).parts[:-1])
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = (
                ".".join([*package[: len(package) - node.level + 1], node.module or ""]) if node.level else node.module
            )
            names.add(base.rstrip("."))
            if base.rstrip(".") == "scaling":
                names.update(f"scaling.{alias.name}" for alias in node.names)
    return names


def climbs(source: str, path: Path) -> list[str]:
    """The imports of a file that do not run downwards."""
    module = module_of(path)
    own = imported(ast.parse(source), path)
    targets = {name.split(".")[1] for name in own if name.startswith("scaling.")}
    return sorted(target for target in targets - {module} if not RANK.get(target, sys.maxsize) < RANK[module])


def ids(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@pytest.mark.parametrize("path", FILES, ids=ids)
def test_imports_run_downwards(path: Path) -> None:
    if path == PACKAGE / "__init__.py":
        return
    assert module_of(path) in RANK, f"{module_of(path)} has no floor: give it one in book/_site/ext/floors.py"
    assert climbs(path.read_text(encoding="utf-8"), path) == []


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("memory.py", "from scaling.latency import decode_step"),
        ("memory.py", "import scaling.throughput"),
        ("memory.py", "from scaling import pareto"),
        ("memory.py", "from . import plots"),
        ("memory.py", "from .plots import lines"),
        ("memory.py", "def f():\n    from scaling.course.widgets import Quizzes"),
        ("engines/vllm.py", "from ..cli import main"),
        ("course/tables.py", "from scaling.engines import sglang"),
        ("sharding.py", "from scaling.latency import StepTime"),
        ("units.py", "from scaling.chips import H100"),
        ("pareto.py", "from scaling.nowhere import x"),
    ],
)
def test_a_climbing_import_is_seen(module: str, line: str) -> None:
    assert climbs(line, PACKAGE / module) != []


@pytest.mark.parametrize("path", FILES, ids=ids)
def test_nothing_imports_the_book_or_the_tests(path: Path) -> None:
    names = {name.split(".")[0] for name in imported(ast.parse(path.read_text(encoding="utf-8")), path)}
    assert not names & {"book", "quizzes", "tests"}


@pytest.mark.parametrize("path", FILES, ids=ids)
def test_modules_are_short(path: Path) -> None:
    """300 lines is the aim; a module that does one thing, with all that belongs to it, may have a third more."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


# Names ---------------------------------------------------------------------------------------------------------------

NAMES = {
    "chips": "Chip H100 H200 B200 A100 A100_40 GH200 H20 L40S L4 A10G RTX_4090 RTX_5090 MI300X MI325X "
    "TPU_V5E TPU_V5P TPU_V6E TPU_IRONWOOD",
    "layers": "Window Latent Experts",
    "models": "Model LLAMA2_7B LLAMA2_13B LLAMA2_70B LLAMA3_8B LLAMA3_70B LLAMA3_405B LLAMA31_8B LLAMA31_70B "
    "LLAMA32_1B LLAMA32_3B LLAMA33_70B from_hf_config",
    "deployment": "Deployment Efficiency ROOFLINE",
    "memory": "weight_bytes cache_bytes cache_budget fits max_batch min_chips",
    "roofline": "critical_batch",
    "latency": "StepTime decode_step prefill_time",
    "throughput": "tokens_per_second queries_per_second plateau best_batch cost_per_million_tokens",
    "pareto": "front",
    "sharding": "tp_limit collective_time",
    "disaggregation": "eviction_rate prefill_decode_ratio transfer_time",
    "batching": "timeline",
    "prefix": "saved_bytes PrefixTree",
}


@pytest.mark.parametrize(("module", "name"), [(m, n) for m, names in NAMES.items() for n in names.split()])
def test_name_is_where_the_design_says(module: str, name: str) -> None:
    import scaling

    value = getattr(importlib.import_module(f"scaling.{module}"), name)
    assert getattr(scaling, name) is value


# Whose public functions, classes and records stand in the root.
COLUMN = (
    "chips layers models deployment memory roofline sharding latency throughput pareto disaggregation prefix batching"
)


def public(module: ModuleType) -> dict[str, Any]:
    """What a module offers: functions and classes defined in it, or in a part of it, and its records."""
    from scaling._records import Record

    def offered(value: Any) -> bool:
        if isinstance(value, (FunctionType, type)):
            return f"{value.__module__}.".startswith(f"{module.__name__}.")
        return all(isinstance(one, Record) for one in (value if isinstance(value, tuple) and value else [value]))

    return {name: value for name, value in vars(module).items() if not name.startswith("_") and offered(value)}


def exported() -> dict[str, Any]:
    import scaling

    return {
        name: value for name, value in vars(scaling).items() if name[0] != "_" and not isinstance(value, ModuleType)
    }


@pytest.mark.parametrize("module", COLUMN.split())
def test_the_root_has_every_formula_and_record(module: str) -> None:
    home, root = importlib.import_module(f"scaling.{module}"), exported()
    missing = [name for name, value in public(home).items() if root.get(name) is not value]
    assert missing == [], f"add to scaling/__init__.py: from scaling.{module} import " + ", ".join(
        f"{name} as {name}" for name in missing
    )


def test_the_root_has_nothing_else() -> None:
    homes = [importlib.import_module(f"scaling.{module}") for module in COLUMN.split()]
    offered = {name for home in homes for name in public(home)}
    assert sorted(set(exported()) - offered) == [], "remove these from scaling/__init__.py"
    assert "decode_step" in offered and "H100" in offered and "CATALOGUE" in offered and len(offered) > 80


def test_modules_are_reached_from_the_root() -> None:
    import scaling
    from scaling import course, engines

    assert scaling.memory is importlib.import_module("scaling.memory")
    assert (course.__name__, engines.__name__) == ("scaling.course", "scaling.engines")
    with pytest.raises(AttributeError, match="module 'scaling' has no attribute 'nothing'"):
        scaling.nothing  # noqa: B018


# Import --------------------------------------------------------------------------------------------------------------

SNIPPET = """
import sys, time
before = set(sys.modules)
start = time.process_time()
import {module}
seconds = time.process_time() - start
print(seconds, *set(sys.modules) - before)
"""


def run(module: str = "scaling") -> tuple[float, set[str]]:
    """Seconds of processor time that an import takes, and the modules that it loads."""
    done = subprocess.run(
        [sys.executable, "-c", SNIPPET.format(module=module)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        # Whoever has imported the package once has its bytecode.
        env={name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
    )
    seconds, *loaded = done.stdout.split()
    return float(seconds), set(loaded)


def test_import_needs_the_standard_library_only() -> None:
    loaded = run()[1]
    assert "scaling.throughput" in loaded
    assert {name.partition(".")[0] for name in loaded} - set(sys.stdlib_module_names) == {"scaling"}
    assert loaded & {"scaling.engines", "scaling.course"} == set()


# What the formulas can do without. A time is another on each machine and each day, what is loaded is not.
DEAR = {"argparse", "dataclasses", "inspect", "json", "pathlib", "scaling._hf_config"}


@pytest.mark.parametrize(("module", "may"), [("scaling", set()), ("scaling.cli", {"argparse"})])
def test_an_import_loads_nothing_dear(module: str, may: set[str]) -> None:
    assert run(module)[1] & DEAR == may, (
        "import it in the function that needs it; in place of dataclasses there is Record, in scaling/_records.py"
    )


def test_import_is_fast() -> None:
    """In processor time, so that a busy machine says the same."""
    assert any(run()[0] < 0.05 for _ in range(12)), "no run of twelve took less than 0.05 s"


# Docstrings ----------------------------------------------------------------------------------------------------------


def public_functions() -> list[tuple[str, ast.FunctionDef]]:
    found = []
    for module in FORMULAS:
        body = ast.parse((PACKAGE / f"{module}.py").read_text(encoding="utf-8")).body
        found += [(module, n) for n in body if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")]
    return found


CHECKS = {"nonnegative", "positive", "count", "share", "dtype_bytes", "rate"}


def may_raise(function: ast.FunctionDef) -> bool:
    """Whether the body raises, or calls one of the checks, itself."""
    nodes = list(ast.walk(function))
    calls = {
        n.func.id if isinstance(n.func, ast.Name) else getattr(n.func, "attr", "")
        for n in nodes
        if isinstance(n, ast.Call)
    }
    return bool(calls & (CHECKS - {"rate"})) or any(isinstance(n, ast.Raise) for n in nodes)


@pytest.mark.parametrize(("module", "function"), public_functions(), ids=lambda v: getattr(v, "name", v))
def test_docstring_says_unit_source_and_errors(module: str, function: ast.FunctionDef) -> None:
    text = ast.get_docstring(function) or ""
    assert text, "no docstring"
    if ast.unparse(function.returns or ast.Constant(None)) in ("Array", "float"):
        if "mask" not in text:
            assert re.search(r"\[[^\]]+\]", text), "no unit in square brackets"
    if may_raise(function):
        assert "Raises ``ValueError``" in text
    assert re.search(r"Source: \S+", text), "no source"
