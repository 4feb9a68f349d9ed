"""Which failure a start-up log ends in, and its cure."""

from typing import NamedTuple

from scaling._checks import shown
from scaling.engines.sglang import SGLANG
from scaling.engines.vllm import VLLM


class StartFailure(NamedTuple):
    """A failure at the start: what the engine `says`, what it `means`, and its `cure`."""

    engine: str
    says: str
    means: str
    cure: str


_NO_POOL = "The pool found no room beside the weights, within its share of the memory."
_NO_REST = "What lies outside that share, activations and graphs, found no room."
_MORE = "or take more GPUs, or weights in fewer bytes."
_WARMING = "CUDA out of memory occurred when warming up sampler"
#: Both are called out of memory, and their cures are opposite. SGLang 0.5.23, srt/model_executor/pool_configurator.py
#: line 96 and runner_backend_utils/__init__.py line 14; vLLM 0.33.0, v1/core/kv_cache_planning.py line 58 and
#: v1/worker/gpu_model_runner.py line 5930.
START_FAILURES = (
    StartFailure("sglang", "Please try to increase --mem-fraction-static", _NO_POOL, f"Raise {SGLANG.memory}, {_MORE}"),
    StartFailure("sglang", "set --mem-fraction-static to a smaller value", _NO_REST, f"Lower {SGLANG.memory}."),
    StartFailure("vllm", "No available memory for the cache blocks", _NO_POOL, f"Raise {VLLM.memory}, {_MORE}"),
    StartFailure("vllm", _WARMING, _NO_REST, f"Lower {VLLM.cap} or {VLLM.memory}."),
)


def start_failure(log: str) -> StartFailure | None:
    """Which of the failures a start-up log ends in; None for any other.

    Raises ``ValueError`` for anything but text.
    """
    if not isinstance(log, str):
        raise ValueError(f"log must be the text of a start-up log, not {shown(log)}.")
    return max((one for one in START_FAILURES if one.says in log), key=lambda one: log.rfind(one.says), default=None)
