"""Run an engine's own benchmark over a grid, and write rows in the form of scaling/data/measurements.csv.

    python book/_tools/engine_rows.py sglang --model LLaMA-3.1-8B --chip H100-SXM --chips 1 --version 0.5.23 > rows.csv

The server must be up. The source is `reader` until it is given another; it has to be in `scaling/data/sources.csv`
before the rows can be read. Never run here, where there is no GPU: what is tested is the command and what is read.
"""

import argparse
import csv
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import date

from scaling.measurements import COLUMNS

COMMANDS = {
    "sglang": "python -m sglang.bench_serving --backend sglang --dataset-name random --random-range-ratio 1",
    "vllm": "vllm bench serve --dataset-name random --ignore-eos",
}
FOUND = {"output_tokens_per_s": r"Output token throughput \(tok/s\)", "tpot_ms": r"Mean TPOT \(ms\)"}
GRID = [(batch, *lengths) for lengths in ((512, 256), (2048, 256), (8192, 256)) for batch in (1, 8, 32, 128)]


def command(engine: str, batch: int, prompt: int, answer: int) -> list[str]:
    """The benchmark with so many requests under way, four times as many in all."""
    sizes = f"--random-input-len {prompt} --random-output-len {answer}"
    return shlex.split(f"{COMMANDS[engine]} {sizes} --num-prompts {4 * batch} --max-concurrency {batch}")


def values(printed: str) -> dict[str, float]:
    """The metrics that a benchmark printed. Raises ``ValueError`` that names one that is missing."""
    found = {}
    for metric, words in FOUND.items():
        match = re.search(rf"^{words}:\s+([\d.]+)\s*$", printed, re.MULTILINE)
        if match is None:
            raise ValueError(f"the benchmark's output has no line {words!r}.")
        found[metric] = float(match[1])
    return found


def rows(given: argparse.Namespace, run: Callable[[list[str]], str]) -> Iterator[list[str]]:
    """A row for each metric and each point of the grid, in the order of the columns."""
    for batch, prompt, answer in GRID:
        for metric, value in values(run(command(given.engine, batch, prompt, answer))).items():
            row = {
                **dict(source=given.source, date=f"{date.today():%Y-%m}", version=given.version, model=given.model),
                **dict(engine={"sglang": "SGLang", "vllm": "vLLM"}[given.engine], chip=given.chip, pp="1", flaw=""),
                **dict(chips=given.chips, tp=given.chips, weights=given.weights, kv=given.kv, mode="serving"),
                **dict(input=prompt, output=answer, batch=batch, metric=metric, value=value),
            }
            yield [str(row[column]) for column in COLUMNS]


def arguments(argv: list[str]) -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description="Rows of scaling/data/measurements.csv from an engine's benchmark.")
    parser.add_argument("engine", choices=COMMANDS)
    for name, default in (("source", "reader"), ("weights", "bf16"), ("kv", "bf16"), ("chips", "1")):
        parser.add_argument(f"--{name}", default=default)
    for name in ("model", "chip", "version"):
        parser.add_argument(f"--{name}", required=True)
    return parser.parse_args(argv)


def _run(words: list[str]) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def main() -> None:
    """Write the rows as they come."""
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(COLUMNS)
    for row in rows(arguments(sys.argv[1:]), _run):
        out.writerow(row)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
