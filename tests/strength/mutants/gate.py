"""The mutation gate: break one thing at a time, and demand that a test goes red.

    python -m tests.strength.mutants.gate                    everything (make mutation)
    python -m tests.strength.mutants.gate catalogue engines  only these kinds
    python -m tests.strength.mutants.gate --sample 4         a few of each kind, without mutmut (part of make test)

Functions of the formula modules are mutmut's work, as ``[tool.mutmut]`` of pyproject.toml says; what mutmut leaves
alone, the numbers of the catalogue and the flags of the engines are done here. Survivors that are accepted stand in
accepted.toml, each with its reason; one that is killed after all is reported too. Everything happens in copies in a
temporary folder, which goes when the run ends or is stopped.
"""

import argparse
import hashlib
import importlib
import importlib.util
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from tests.paths import ROOT
from tests.strength.mutants import operators, trial
from tests.strength.mutants.operators import Mutant, Spot
from tests.strength.mutants.trial import Verdict, settings

Key = tuple[str, str, str, str]

KINDS = ("formulas", "catalogue", "engines")
CATALOGUES = ("scaling/chips.py", "scaling/models.py")
NO_FLAGS = ("metrics", "diagnosis")  # engines' modules that read a page and write no command
FLAG = r"--[a-z][\w-]*|[a-z]+[\d_][\w-]*"  # a flag, or one of its values: --tp-size, fp8_e4m3
LEAST = 95.0  # percent of the mutants in formula modules that tests must see
# What a worker loads once, before it forks a process for each mutant. Nothing of this project is among them.
PRELOAD = ("pytest", "hypothesis", "numpy")


# The mutants of each kind ---------------------------------------------------------------------------------------------


def files(pattern: str) -> list[str]:
    """Paths in the tree that match, in order."""
    found = (p.relative_to(ROOT).as_posix() for p in ROOT.glob(pattern) if not p.stem.startswith("__"))
    return sorted(found)


def mutants(kind: str, *, everything: bool = False) -> Iterator[Mutant]:
    """The mutants of a kind; of the formulas also those that are mutmut's work, if `everything`."""
    if kind == "formulas":
        for path in sorted({path for pattern in settings()["only_mutate"] for path in files(pattern)}):
            yield from operators.of_module(kind, ROOT, path, partial(_formula, path=path, everything=everything))
    elif kind == "catalogue":
        for path in CATALOGUES:
            yield from operators.of_module(kind, ROOT, path, operators.in_no_function)
    else:
        for path in files("scaling/engines/*.py"):
            if Path(path).stem not in NO_FLAGS:
                yield from operators.of_module(kind, ROOT, path, lambda spot: True, words=FLAG)


def _formula(spot: Spot, *, path: str, everything: bool) -> bool:
    if path in CATALOGUES and operators.in_no_function(spot):
        return False
    return everything or not operators.in_mutmut_s_reach(spot)


def sample(kind: str, size: int, known: Collection[Key]) -> list[Mutant]:
    """The same few mutants as long as the sources stay the same, and others when they change.

    All from two files, so that few tests have to be run unmutated too.
    """
    pool = [m for m in mutants(kind, everything=True) if m.key not in known]
    some = sorted({m.path for m in pool}, key=_lot)[:2]
    return [m for path in some for m in _lots(m for m in pool if m.path == path)[: size // len(some)]]


def _lots(some: Iterable[Mutant]) -> list[Mutant]:
    return sorted(some, key=lambda m: _lot("".join(m.key)))


def _lot(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# mutmut ---------------------------------------------------------------------------------------------------------------


def by_mutmut(folder: Path, jobs: int) -> tuple[int, list[Mutant]]:
    """Run mutmut in a copy: how many mutants it made, and as changed files those that no test clearly saw."""
    tree = trial.copied(folder / "mutmut")
    tool = str(Path(sys.executable).parent / "mutmut")
    env = {**os.environ, "LAWS": "mutation"}
    log = folder / "mutmut.txt"
    with log.open("w") as out:
        shown = None if sys.stdout.isatty() else out
        command = [tool, "run", "--max-children", str(jobs)]
        code = subprocess.run(command, cwd=tree, env=env, stdout=shown, stderr=shown, check=False).returncode
    if code:
        raise RuntimeError(f"mutmut ended with {code}:\n{log.read_text()[-3000:]}")

    def ask(*arguments: str) -> str:
        return subprocess.run([tool, *arguments], cwd=tree, env=env, capture_output=True, text=True, check=True).stdout

    ask("export-cicd-stats")
    total = json.loads((tree / "mutants/mutmut-cicd-stats.json").read_text())["total"]
    left = []
    for name, status in re.findall(
        r"^\s*(\S+): (survived|no tests|not checked|suspicious|timeout|segfault)$", ask("results"), re.M
    ):
        if status == "not checked":
            raise RuntimeError(f"mutmut did not get to {name}")
        shown_path = re.search(r"^--- (\S+)", ask("show", name), re.M)
        assert shown_path, name
        path = tree / shown_path[1]
        original = path.read_text(encoding="utf-8")
        ask("apply", name)
        text = path.read_text(encoding="utf-8")
        path.write_text(original, encoding="utf-8")
        place = re.sub(r"^.*\.(x_|xǁ)|__mutmut_\d+$", "", name).replace("ǁ", ".")
        left.append(Mutant("formulas", shown_path[1], place, *operators.lines(original, text), text))
    return total, left


# Verdicts -------------------------------------------------------------------------------------------------------------


def accepted(path: Path) -> dict[Key, str]:
    """The survivors that are accepted, and why."""
    if not path.exists():
        return {}
    found: dict[Key, str] = {}
    for group in tomllib.loads(path.read_text(encoding="utf-8")).get("because", []):
        if not group["reason"].strip():
            raise RuntimeError(f"{path.name} has an entry without a reason")
        for m in group["mutants"]:
            found[m["path"], m["where"], m["old"], m["new"]] = group["reason"]
    return found


def _kinds(path: str) -> set[str]:
    """The kinds that a file's mutants can be of."""
    if "/engines/" in path:
        return {"engines"}
    return {"formulas", "catalogue"} if path in CATALOGUES else {"formulas"}


class Verdicts:
    """What became of the mutants so far."""

    def __init__(self, known: dict[Key, str]) -> None:
        self.known = known
        self.total: Counter[str] = Counter()
        self.survivors: list[Mutant] = []
        self.tests: set[str] = set()
        self.seconds: dict[str, float] = {}

    def take(self, results: Iterable[Verdict], *, aloud: bool = False) -> None:
        """Count, and print what survives; all of it if `aloud`."""
        for mutant, stage, test in results:
            self.total[mutant.kind] += 1
            if not stage:
                self.survivors.append(mutant)
            if aloud or (not stage and mutant.key not in self.known):
                seen = f"\n    {test}" if test else ""
                print(f"  {'killed' if stage else 'SURVIVED'}: {mutant}{seen}", flush=True)
            if test:
                self.tests.add(test)
            if self.total[mutant.kind] % 100 == 0:
                print(f"  {self.total[mutant.kind]} tried", flush=True)

    def report(self, *, whole: Collection[str]) -> int:
        """Print what survived, with the reasons; 1 when something is left to explain. `whole`: kinds tried in full."""
        reasons: dict[str, list[Mutant]] = defaultdict(list)
        for mutant in self.survivors:
            reasons[self.known.get(mutant.key, "")].append(mutant)
        left = reasons.pop("", [])
        for reason, group in sorted(reasons.items()):
            print(f"\naccepted, {len(group)}: {reason}", *(f"  {m}" for m in group), sep="\n")
        for mutant in left:
            print(f"\nUNEXPLAINED: {mutant}")
        alive = {m.key for m in self.survivors}
        stale = [key for key in self.known if key not in alive and _kinds(key[0]) <= set(whole)]
        for path, place, old, new in stale:
            print(f"\nSTALE: accepted, but gone or killed now: {path}, {place}\n    - {old}\n    + {new}")
        print(f"\n{'kind':<12}{'mutants':>9}{'killed':>9}{'accepted':>10}{'left':>6}{'score':>9}{'seconds':>9}")
        low = False
        for kind, n in self.total.items():
            out = [m for m in self.survivors if m.kind == kind]
            unexplained = sum(m.key not in self.known for m in out)
            score = 100 * (1 - len(out) / n)
            low |= kind == "formulas" and kind in whole and score < LEAST
            row = f"{kind:<12}{n:>9}{n - len(out):>9}{len(out) - unexplained:>10}{unexplained:>6}{score:>7.1f} %"
            print(f"{row}{self.seconds[kind]:>9.0f}")
        if low:
            print(f"The score of the formulas must be {LEAST:g} % or better.")
        return int(bool(left or stale or low))


# The run --------------------------------------------------------------------------------------------------------------


def go(kinds: list[str], size: int, only: str, jobs: int, folder: Path) -> int:
    """Try the mutants of the kinds; 0 when all of them are seen or explained, 1 when not, 2 when nothing is learnt."""
    verdicts = Verdicts(accepted(Path(__file__).with_name("accepted.toml")))
    full = not size and not only
    for name in PRELOAD:
        with suppress(ImportError):
            importlib.import_module(name)
    with multiprocessing.get_context("fork").Pool(jobs, trial.start, (str(folder),)) as pool:
        for kind in kinds:
            begun = time.monotonic()
            here = sample(kind, size, verdicts.known) if size else [m for m in mutants(kind) if only in str(m)]
            print(f"{kind}: {len(here)} mutants", flush=True)
            # The tests must be green without a mutant: all of them, or of a sample those that saw something.
            tests = set() if size else {stage for m in here for stage in trial.stages(m)}
            if _red(pool.imap_unordered(trial.green, sorted(tests))):
                return 2
            verdicts.tests.clear()
            verdicts.take(pool.imap_unordered(trial.judged, here), aloud=bool(size))
            if size and _red(pool.imap_unordered(trial.green, _once_more(verdicts.tests))):
                return 2
            if kind == "formulas" and full:
                print("  mutmut on the functions", flush=True)
                total, left = by_mutmut(folder, jobs)
                verdicts.total[kind] += total - len(left)
                verdicts.take(Verdict(m, 0) for m in left if m.key in verdicts.known)
                # mutmut turns a mutant on when all is imported; what has run by then is tried again, from the start.
                again = [m for m in left if m.key not in verdicts.known]
                verdicts.take(pool.imap_unordered(trial.judged, again))
            verdicts.seconds[kind] = time.monotonic() - begun
    return verdicts.report(whole=kinds if full else ())


def _once_more(tests: Collection[str]) -> list[trial.Tests]:
    """Runs that have to be green without a mutant: the tests that saw one, and the files that could not be loaded."""
    single = tuple(sorted(test for test in tests if "::" in test))
    whole = tuple(sorted(test for test in tests if "::" not in test))
    return [run for run in (single, whole and ("--collect-only", *whole)) if run]


def _red(results: Iterable[tuple[trial.Tests, str]]) -> bool:
    for names, said in results:
        if said:
            print(f"red without any mutant, so nothing can be learnt: {' '.join(names)}\n{said}")
            return True
    return False


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def main(given: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Break one thing at a time, and demand that a test goes red.")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"which of {', '.join(KINDS)}; all if none is named")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="only N mutants of each kind, no mutmut")
    parser.add_argument("--only", default="", metavar="TEXT", help="only mutants whose description holds the text")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="so many at a time; default %(default)s")
    asked = parser.parse_args(given)
    if unknown := set(asked.kinds) - set(KINDS):
        parser.error(f"KIND must be one of {', '.join(KINDS)}, not {', '.join(unknown)}")
    kinds = [k for k in KINDS if k in (asked.kinds or KINDS) and next(mutants(k, everything=True), None)]
    if not hasattr(os, "fork"):
        print("the gate needs a system with fork: Linux, macOS, or WSL on Windows")
        return 2
    if "formulas" in kinds and not (asked.sample or asked.only) and importlib.util.find_spec("mutmut") is None:
        print(
            "mutmut is missing: `make mutation` installs it, or pip install -r tests/strength/mutants/requirements.txt"
        )
        return 2
    signal.signal(signal.SIGTERM, _interrupted)
    try:
        with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
            return go(kinds, asked.sample, asked.only, asked.jobs, Path(folder))
    except KeyboardInterrupt:
        print("\nstopped; nothing is left behind")
        return 130
    except RuntimeError as error:
        print(f"the gate itself failed: {error}")
        return 2


if __name__ == "__main__":
    sys.exit(main())
