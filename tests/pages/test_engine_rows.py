"""What an engine's benchmark prints becomes rows that the package reads; no engine runs here."""

import sys

import engine_rows
import gpu_lab
import pytest

from scaling.measurements import COLUMNS, measurements

PRINTED = """
============ Serving Benchmark Result ============
Successful requests:                     32
Benchmark duration (s):                  10.52
Output token throughput (tok/s):         778.71
Total Token throughput (tok/s):          2336.12
---------------Time to First Token----------------
Mean TTFT (ms):                          102.31
Mean TPOT (ms):                          9.84
==================================================
"""


def test_rows_are_what_the_package_reads() -> None:
    words = "vllm --source vllm-ci --model LLaMA-3.1-8B --chip H100-SXM --version 0.33.0".split()
    asked: list[list[str]] = []

    def run(command: list[str]) -> str:
        asked.append(command)
        return PRINTED

    lines = [",".join(row) for row in engine_rows.rows(engine_rows.arguments(words), run)]
    read = list(measurements([",".join(COLUMNS), *lines]))
    assert len(read) == 2 * len(asked) == 2 * len(engine_rows.GRID)
    assert (read[0].value, read[1].value, read[0].engine, read[0].mode) == (778.71, 9.84, "vLLM", "serving")
    assert " ".join(asked[1]).endswith(
        "--random-input-len 512 --random-output-len 256 --num-prompts 32 --max-concurrency 8"
    )


def test_an_output_without_the_metric_is_told() -> None:
    with pytest.raises(ValueError, match="has no line 'Mean TPOT"):
        engine_rows.values(PRINTED.replace("Mean TPOT", "Median TPOT"))


def test_without_pytorch_or_a_gpu_the_lab_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(SystemExit, match="gpu_lab needs PyTorch and an NVIDIA GPU"):
        gpu_lab.main()
