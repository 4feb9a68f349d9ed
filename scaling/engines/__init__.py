"""Serving engines: from a deployment to a launch command, and from a metrics page back to its roofline.

One module for each engine: `sglang`, `vllm`, `megatron`, `mini_sglang`.
"""

from scaling.engines import megatron, mini_sglang, sglang, vllm
from scaling.engines.command import Command
from scaling.engines.diagnosis import Finding, diagnose
from scaling.engines.metrics import Metrics, read_metrics
from scaling.engines.pool import KvPool

__all__ = [
    "Command",
    "Finding",
    "KvPool",
    "Metrics",
    "diagnose",
    "megatron",
    "mini_sglang",
    "read_metrics",
    "sglang",
    "vllm",
]
