"""What is said about a measurement: the numbers, the advice, and where it is explained."""

import math
from typing import NamedTuple

from scaling.units import ms

MEMORY, LATENCY, THROUGHPUT = "02_memory.ipynb", "03_latency.ipynb", "04_throughput.ipynb"
PREFILL, ENGINES = "07_prefill_disaggregation.ipynb", "09_sglang.ipynb"

FLAGS = {
    "sglang": {
        "cap": "--max-running-requests",
        "kv": "--kv-cache-dtype fp8_e4m3",
        "memory": "--mem-fraction-static",
        "chunk": "a smaller --chunked-prefill-size together with --enable-mixed-chunk",
        "graphs": "--cuda-graph-max-bs-decode covers the batch",
        "prefix": "--disable-radix-cache is not set",
    },
    "vllm": {
        "cap": "--max-num-seqs",
        "kv": "--kv-cache-dtype fp8",
        "memory": "--gpu-memory-utilization",
        "chunk": "a smaller --max-num-batched-tokens",
        "graphs": "--enforce-eager is not set",
        "prefix": "--enable-prefix-caching is on",
    },
}


class Finding(NamedTuple):
    """One thing that stands out: a `measured` value and the `bound` it is set against, both in `unit`; what to do.

    `advice` is one sentence, `see` the file of the chapter, `severity` how far the value is beyond its threshold.
    """

    what: str
    measured: float
    bound: float
    unit: str
    advice: str
    see: str
    severity: float

    def __str__(self) -> str:
        numbers = ""
        if not math.isnan(self.measured):
            numbers = f": {said(self.measured, self.unit)} against {said(self.bound, self.unit)}"
        return f"{self.what}{numbers}. {self.advice} (See {self.see}.)"


def said(value: float, unit: str) -> str:
    """A value with its unit, for a sentence."""
    if unit == "s":
        return f"{value:.3g} s" if value >= 1 else f"{value / ms:.3g} ms"
    if unit == "share":
        return f"{value:.1%}"
    return f"{value:,.0f} {unit}"
