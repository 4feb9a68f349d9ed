"""The mutation gate: break one thing at a time, and demand that a test goes red.

    python -m tests.strength.mutants.gate                    everything (make mutation)
    python -m tests.strength.mutants.gate catalogue engines  only these kinds
    python -m tests.strength.mutants.gate --sample 4         a few of each kind, without mutmut (part of make test)

Functions of the formula modules are mutmut's work, as ``[tool.mutmut]`` of pyproject.toml says; what mutmut leaves
alone, the numbers of the catalogue and the flags of the engines are done here. Survivors that are accepted stand in
accepted.toml, each with its reason; one that is killed after all is reported too. Everything happens in copies in a
temporary folder.
"""

import argparse
import ast
import difflib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from queue import SimpleQueue

from tests.paths import ROOT
from tests.strength.mutants.operators import Mutant, of_module

Key = tuple[str, str, str, str]

KINDS = ("formulas", "catalogue", "engines")
CATALOGUES = ("scaling/chips.py", "scaling/models.py")
LEFT_OUT = ("__init__", "metrics", "diagnosis")  # lists of names; engines' modules that read a page, write no command
FLAG = r"--[a-z][\w-]*|[a-z]+[\d_][\w-]*"  # a flag, or one of its values: --tp-size, fp8_e4m3
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mutmut"]
HANGS = 900  # seconds by the clock, on a machine that may be busy; a mutant that takes longer is seen by that


# The mutants of each kind ---------------------------------------------------------------------------------------------


def mutants(kind: str, *, everything: bool = False) -> Iterator[Mutant]:
    """The mutants of a kind; of the formulas also those that are mutmut's work, if `everything`."""
    patterns = {"formulas": SETTINGS["only_mutate"], "catalogue": CATALOGUES, "engines": ["scaling/engines/*.py"]}
    found = {path for pattern in patterns[kind] for path in ROOT.glob(pattern) if path.stem not in LEFT_OUT}
    for path in sorted(path.relative_to(ROOT).as_posix() for path in found):
        if kind == "engines":
            yield from of_module(kind, ROOT, path, lambda spot: True, words=FLAG)
        elif kind == "catalogue":
            yield from of_module(kind, ROOT, path, lambda spot: not spot.functions)
        else:
            records = path in CATALOGUES
            yield from of_module(
                kind,
                ROOT,
                path,
                lambda spot, records=records: (
                    (spot.functions or not records)  # type: ignore[misc]
                    and (everything or not spot.in_mutmut_s_reach)
                ),
            )


def sample(kind: str, size: int, known: Collection[Key]) -> list[Mutant]:
    """The same few mutants as long as the sources stay the same, and others when they change."""
    pool = [m for m in mutants(kind, everything=True) if m.key not in known]
    return sorted(pool, key=lambda m: hashlib.sha256("".join(m.key).encode()).digest())[:size]


# One at a time --------------------------------------------------------------------------------------------------------


def stages(mutant: Mutant) -> list[list[str]]:
    """What to run: the test file of the module's own name, then all of them."""
    folder = "engines" if mutant.kind == "engines" else "scaling"
    own = [f"tests/{folder}/test_{part}.py" for part in reversed(Path(mutant.path).with_suffix("").parts[1:])]
    every = ["tests/engines"] if mutant.kind == "engines" else SETTINGS["pytest_add_cli_args_test_selection"]
    return [*[[name] for name in own if (ROOT / name).exists()][:1], every]


class Tree:
    """A copy of what the tests need, in which one file at a time is another."""

    clock = count(10**9)  # each file written here gets a time of its own, so that no stale bytecode is used for it

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True)
        junk = shutil.ignore_patterns("__pycache__", ".*", "node_modules", "_build")
        for path in ROOT.iterdir():
            if path.name in ("scaling", "book", "tests"):
                shutil.copytree(path, root / path.name, ignore=junk)
            elif path.suffix in (".toml", ".yml", ".md", ".txt"):
                shutil.copy2(path, root)

    def write(self, path: str, text: str) -> None:
        """Put a text in place of a file's."""
        (self.root / path).write_text(text, encoding="utf-8")
        os.utime(self.root / path, (now := next(self.clock), now))

    def red(self, tests: Iterable[str]) -> list[str]:
        """The tests, or files of tests, that fail."""
        # Laws try the same inputs each time, and look for no smaller example when they fail.
        env = {**os.environ, "PYTHONPATH": str(self.root), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "LAWS": "mutation"}
        last = self.root / ".pytest_cache/v/cache/lastfailed"
        last.unlink(missing_ok=True)
        command = [sys.executable, "-m", "pytest", "-xq", "--rootdir", str(self.root), "-o", "addopts=", *tests]
        try:
            done = subprocess.run(
                command, cwd=self.root, env=env, capture_output=True, text=True, check=False, timeout=HANGS
            )
        except subprocess.TimeoutExpired:
            return ["over time"]
        failed = list(json.loads(last.read_text())) if last.exists() else []
        if done.returncode and not failed:  # a fault of the gate, wrong arguments, no tests: none of them is a verdict
            raise RuntimeError(f"pytest ended with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return failed

    def noticed(self, mutant: Mutant) -> str:
        """The first test that goes red; nothing if none does."""
        ast.parse(mutant.text)  # what is no Python would go red whatever the tests are
        original = (ROOT / mutant.path).read_text(encoding="utf-8")
        try:
            self.write(mutant.path, mutant.text)
            return next((failed[0] for tests in stages(mutant) if (failed := self.red(tests))), "")
        finally:
            self.write(mutant.path, original)


def tried(some: Collection[Mutant], folder: Path, jobs: int) -> list[Mutant]:
    """The mutants that no test notices. Those that do must be green without one, or nothing is learnt."""
    free: SimpleQueue[Tree] = SimpleQueue()
    for job in range(min(jobs, len(some))):
        free.put(Tree(Path(tempfile.mkdtemp(dir=folder)) / str(job)))
    seen: set[str] = set()

    def survives(mutant: Mutant) -> bool:
        tree = free.get()
        try:
            test = tree.noticed(mutant)
        finally:
            free.put(tree)
        seen.update({test} - {"", "over time"})
        print(f"  {'killed' if test else 'SURVIVED'}: {mutant}\n    {test}", flush=True)
        return not test

    with ThreadPoolExecutor(jobs) as pool:
        alive = [m for m, lives in zip(some, pool.map(survives, some), strict=True) if lives]
    if seen and (red := free.get().red(sorted(seen))):
        raise RuntimeError(f"red without any mutant, so nothing can be learnt: {red}")
    return alive


# mutmut ---------------------------------------------------------------------------------------------------------------


def by_mutmut(folder: Path, jobs: int) -> tuple[int, list[Mutant]]:
    """Run mutmut in a copy: how many mutants it made, and as changed files those that no test clearly saw."""
    tree = Tree(folder / "mutmut").root
    tool = str(Path(sys.executable).with_name("mutmut"))
    env = {**os.environ, "LAWS": "mutation"}

    def ask(*arguments: str, quiet: bool = True) -> str:
        return subprocess.run([tool, *arguments], cwd=tree, env=env, capture_output=quiet, text=True, check=True).stdout

    ask("run", "--max-children", str(jobs), quiet=False)
    ask("export-cicd-stats")
    total = json.loads((tree / "mutants/mutmut-cicd-stats.json").read_text())["total"]
    left = []
    for name in re.findall(
        r"^\s*(\S+): (?:survived|no tests|not checked|suspicious|timeout|segfault)$", ask("results"), re.M
    ):
        changed = re.search(r"^--- (\S+)", ask("show", name), re.M)
        assert changed, name
        path = tree / changed[1]
        original = path.read_text(encoding="utf-8")
        ask("apply", name)
        text = path.read_text(encoding="utf-8")
        path.write_text(original, encoding="utf-8")
        place = re.sub(r"^.*\.(x_|xǁ)|__mutmut_\d+$", "", name).replace("ǁ", ".")
        left.append(Mutant("formulas", changed[1], place, *_lines(original, text), text))
    return total, left


def _lines(before: str, after: str) -> tuple[str, str]:
    """The lines that differ, each side in one line."""
    old, new = before.splitlines(), after.splitlines()
    ops = [op for op in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if op[0] != "equal"]
    gone = [line.strip() for _, a, b, _, _ in ops for line in old[a:b]]
    come = [line.strip() for _, _, _, a, b in ops for line in new[a:b]]
    return " ".join(gone), " ".join(come)


# The run --------------------------------------------------------------------------------------------------------------


def accepted() -> dict[Key, str]:
    """The survivors that are accepted, and why."""
    groups = tomllib.loads(Path(__file__).with_name("accepted.toml").read_text(encoding="utf-8"))["because"]
    return {(m["path"], m["where"], m["old"], m["new"]): group["reason"] for group in groups for m in group["mutants"]}


def report(kind: str, total: int, alive: list[Mutant], known: dict[Key, str], whole: bool) -> bool:
    """Print what survived, with the reasons; whether something is left to explain."""
    reasons: dict[str, list[Mutant]] = defaultdict(list)
    for mutant in alive:
        reasons[known.get(mutant.key, "")].append(mutant)
    left = reasons.pop("", [])
    for reason, group in sorted(reasons.items()):
        print(f"\naccepted, {len(group)}: {reason}", *(f"  {m}" for m in group), sep="\n")
    print(*(f"\nUNEXPLAINED: {mutant}" for mutant in left), sep="\n")
    of_kind = [key for key in known if ("/engines/" in key[0]) == (kind == "engines") and kind != "catalogue"]
    stale = [key for key in of_kind if whole and key not in {m.key for m in alive}]
    print(*(f"\nSTALE: accepted, but gone or killed now: {key}" for key in stale), sep="\n")
    score = 100 * (1 - len(alive) / total)
    print(f"{kind:<12}{total:>9} mutants{len(alive):>6} alive{len(left):>6} left{score:>7.1f} %", flush=True)
    return bool(left or stale)


def go(kinds: list[str], size: int, only: str, jobs: int, folder: Path) -> int:
    """Try the mutants of the kinds; 0 when all of them are seen or explained."""
    known, bad = accepted(), False
    for kind in kinds:
        here = sample(kind, size, known) if size else [m for m in mutants(kind) if only in str(m)]
        total, alive = len(here), tried(here, folder, jobs)
        if kind == "formulas" and not size and not only:
            more, left = by_mutmut(folder, jobs)
            total += more
            alive += [m for m in left if m.key in known]
            # mutmut turns a mutant on when all is imported; what has run by then is tried again, from the start.
            alive += tried([m for m in left if m.key not in known], folder, jobs)
        bad |= report(kind, total, alive, known, whole=not size and not only)
    return int(bad)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Break one thing at a time, and demand that a test goes red.")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"which of {', '.join(KINDS)}; all if none is named")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="only N mutants of each kind, no mutmut")
    parser.add_argument("--only", default="", metavar="TEXT", help="only mutants whose description holds the text")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="so many at a time; default %(default)s")
    asked = parser.parse_args()
    if unknown := set(asked.kinds) - set(KINDS):
        parser.error(f"KIND must be one of {', '.join(KINDS)}, not {', '.join(unknown)}")
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        return go(asked.kinds or list(KINDS), asked.sample, asked.only, asked.jobs, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
