"""Serving engines: from a deployment to a launch command, and from a metrics page back to the deployment's bounds.

One module for each engine: `sglang`, `vllm`, `megatron`, `mini_sglang`. The names below are loaded when first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "command": ("Command",),
    "pool": ("KvPool",),
    "metrics": ("Metrics", "read_metrics"),
    "diagnosis": ("Finding", "diagnose"),
}
_ENGINES = ("megatron", "mini_sglang", "sglang", "vllm")
_MODULE = {name: module for module, names in _HOME.items() for name in names}
__all__ = sorted((*_MODULE, *_ENGINES))


def __getattr__(name: str) -> Any:
    if name in _MODULE:
        value = getattr(import_module(f"scaling.engines.{_MODULE[name]}"), name)
        globals()[name] = value
        return value
    if name in _ENGINES:
        return import_module(f"scaling.engines.{name}")
    raise AttributeError(f"module 'scaling.engines' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)


if TYPE_CHECKING:
    from scaling.engines import (
        megatron as megatron,
        mini_sglang as mini_sglang,
        sglang as sglang,
        vllm as vllm,
    )
    from scaling.engines.command import Command as Command
    from scaling.engines.diagnosis import Finding as Finding, diagnose as diagnose
    from scaling.engines.metrics import Metrics as Metrics, read_metrics as read_metrics
    from scaling.engines.pool import KvPool as KvPool
