"""``make fuzz``: a million inputs from strangers, each answered as promised or refused in a sentence.

With atheris the inputs grow towards code that no input has reached yet; where there is none they are random. An input
that breaks a rule is kept, with the command that tries it again.
"""

import argparse
import contextlib
import os
import random
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from tests.paths import ROOT

KEPT = ROOT / "_build" / "fuzz"
SHARES = {"answer": 0.35, "record": 0.39, "config": 0.15, "page": 0.08, "command": 0.03}
LONGEST = 400  # bytes of an input: more choices than any target makes


class Once:
    """Try one input after the other; say how far it is; at the first that breaks a rule keep it and stop."""

    def __init__(self, name: str, inputs: int, check: Callable[[bytes], None]) -> None:
        self.name, self.inputs, self.check, self.done = name, inputs, check, 0
        self.start = self.told = time.monotonic()

    def __call__(self, data: bytes) -> None:
        try:
            self.check(data)
        except KeyboardInterrupt:
            os._exit(130)
        except BaseException:
            traceback.print_exc()
            kept = KEPT / f"{self.name}-{sha256(data).hexdigest()[:10]}"
            kept.write_bytes(data)
            path = kept.relative_to(ROOT) if kept.is_relative_to(ROOT) else kept
            print(f"{self.name}: input {self.done + 1:,} breaks a rule. It is kept; try it again with", file=sys.stderr)
            print(f"  {sys.executable} -m tests.strength.fuzz.run --replay {path}", file=sys.stderr, flush=True)
            os._exit(1)  # the fuzzer would take a minute to say the same
        self.done += 1
        if time.monotonic() - self.told > 5 or self.done == self.inputs:
            self.told = time.monotonic()
            rate = self.done / max(1e-9, self.told - self.start)
            print(f"{self.name}: {self.done:,} of {self.inputs:,} inputs, {rate:,.0f} a second", flush=True)


def one_target(name: str, inputs: int, seed: int) -> None:
    """All inputs of one target, in this process; it ends with 1 at the first that breaks a rule."""
    try:
        import atheris
    except ImportError:
        atheris = None
    watched = ["scaling", "prometheus_client", "tests.strength.fuzz.targets"]
    with atheris.instrument_imports(include=watched) if atheris else contextlib.nullcontext():
        from tests.strength.fuzz.targets import Source, run
    once = Once(name, inputs, lambda data: run(name, Source(data)))
    generator = random.Random(seed)
    if atheris:
        seeds = tempfile.mkdtemp()
        for i in range(min(300, inputs // 4)):
            (Path(seeds) / str(i)).write_bytes(generator.randbytes(1 + generator.randrange(LONGEST)))
        options = {"runs": inputs, "seed": seed, "max_len": LONGEST, "len_control": 0, "verbosity": 0}
        options |= {"timeout": 120, "artifact_prefix": f"{KEPT}/{name}-"}  # for what no alarm of ours stops
        atheris.Setup([sys.argv[0], *(f"-{name}={value}" for name, value in options.items()), seeds], once)
        atheris.Fuzz()  # ends the process
    for _ in range(inputs):
        once(generator.randbytes(generator.randrange(LONGEST)))


def replay(path: Path) -> None:
    """Try a kept input again; the name of its file starts with that of its target."""
    from tests.strength.fuzz.targets import Source, run

    run(path.name.partition("-")[0], Source(path.read_bytes()))
    print(f"{path}: breaks no rule.")


def main() -> int:
    """Each target in a process of its own, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=1_000_000, help="of all targets together; default: %(default)s")
    parser.add_argument("--target", choices=SHARES, action="append", help="only this one; may be repeated")
    parser.add_argument("--seed", type=int, default=random.randrange(1, 2**31), help="default: another one each time")
    parser.add_argument("--replay", type=Path, help="a kept input to try again")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.replay:
        replay(given.replay)
        return 0
    names = given.target or list(SHARES)
    if given.here:
        one_target(names[0], given.inputs, given.seed)
        return 0
    print(f"{given.inputs:,} inputs, seed {given.seed}", flush=True)
    KEPT.mkdir(parents=True, exist_ok=True)
    total = sum(SHARES[name] for name in names)
    codes = {}
    for name in names:
        inputs = str(max(1, round(given.inputs * SHARES[name] / total)))
        command = [sys.executable, "-m", "tests.strength.fuzz.run", "--here", "--target", name, "--inputs", inputs]
        command += ["--seed", str(given.seed)]
        log = KEPT / f"{name}.log"
        # The fuzzer ends without clearing up, so what it and the target write lies in a folder of ours.
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder, log.open("wb") as errors:
            env = {**os.environ, "TMPDIR": folder}
            codes[name] = subprocess.run(command, cwd=ROOT, env=env, stderr=errors, check=False).returncode
        if codes[name]:
            print("\n".join(log.read_text(errors="replace").splitlines()[-25:]), flush=True)
    broken = [name for name, code in codes.items() if code]
    print(f"A rule is broken: {', '.join(broken)}." if broken else "No input breaks a rule.")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
