"""Times the formulas: ``make bench``.

Times of whole processes are their own processor time, the least of several runs, and are given less a bare start of the
same interpreter: that alone takes 15 to 60 ms and says nothing about the package.
"""

import os
import subprocess
import sys
import timeit

from tests.paths import ROOT

_GRID = """
from scaling import LLAMA3_70B, TPU_V5E, Deployment, decode_step
deployments = [
    Deployment(model=LLAMA3_70B, chip=TPU_V5E, chips=chips, weights=dtype, kv=dtype)
    for chips in (4, 8, 16, 32, 64) for dtype in ("bf16", "int8", "fp16", "int4")
]
"""

# 20 deployments (chips x dtype) x 25 batches x 20 contexts = 10,000 points.
SWEEPS = {
    "plain": _GRID
    + """
total = sum(decode_step(d, B, S).total for d in deployments for B in range(1, 26) for S in range(0, 20_480, 1024))
""",
    "numpy": _GRID
    + """
import numpy as np
B, S = np.arange(1, 26)[:, None], np.arange(0, 20_480, 1024)
total = sum(float(decode_step(d, B, S).total.sum()) for d in deployments)
""",
}
BARE = {"plain": "pass", "numpy": "import numpy"}


def process_seconds(code: str) -> float:
    """Processor time of a whole Python process that runs `code`, user and system."""
    # Whoever has imported the package once has its bytecode.
    own = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env={**own, "OPENBLAS_NUM_THREADS": "1"})
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"the timed process ended with {process.returncode}")
    return used.ru_utime + used.ru_stime


def sweep_seconds(kind: str, target: float = 0.0, runs: int = 9) -> tuple[float, float]:
    """Seconds of a bare start, and what 10,000 points take beyond it: the least of `runs`, or of fewer if below target.

    Both are run in turns, so that a machine that is busy for a while is busy for both.
    """
    bare = whole = float("inf")
    for done in range(1, runs + 1):
        bare, whole = min(bare, process_seconds(BARE[kind])), min(whole, process_seconds(SWEEPS[kind]))
        if done >= 3 and whole - bare < target:
            break
    return bare, whole - bare


def sweep_sum(kind: str) -> float:
    """What a sweep adds up to, so that both can be seen to do the same work."""
    names: dict[str, float] = {}
    exec(SWEEPS[kind], names)
    return names["total"]


def seconds_per_step(repeat: int = 7, number: int = 4000) -> float:
    """Seconds of one `decode_step` of plain numbers."""
    from scaling import H100, LLAMA3_70B, Deployment, decode_step

    d = Deployment(model=LLAMA3_70B, chip=H100, chips=8)
    return min(timeit.repeat(lambda: decode_step(d, 32, 8192), repeat=repeat, number=number)) / number


def main() -> None:
    rows = [("one decode_step of plain numbers", f"{seconds_per_step() * 1e6:8.2f} us")]
    for kind in SWEEPS:
        bare, beyond = sweep_seconds(kind)
        rows.append((f"a bare start ({BARE[kind]})", f"{bare * 1e3:8.1f} ms"))
        rows.append((f"10,000 points, {kind}, beyond the bare start", f"{beyond * 1e3:8.1f} ms"))
    width = max(len(label) for label, _ in rows)
    for label, value in rows:
        print(f"{label:<{width}}  {value}")


if __name__ == "__main__":
    main()
