"""Records from the inputs of published numbers, and the register of the evaluators that compute them.

An evaluator builds the records from an entry's inputs and calls the package; it repeats no formula.
"""

import fnmatch
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from scaling.chips import TPU_V5E_TEXT, Chip
from scaling.deployment import Deployment
from scaling.models import LLAMA3_8B, LLAMA3_70B, LLAMA3_405B, Model

Inputs = dict[str, Any]
EVALUATORS: dict[str, Callable[[Inputs, list[str]], float]] = {}

DTYPE = {4: "fp32", 2: "bf16", 1: "int8", 0.5: "int4"}
MODELS = {"8b": LLAMA3_8B, "70b": LLAMA3_70B, "405b": LLAMA3_405B}
SHARED = {"L": "layers", "D": "d_model", "F": "d_ff", "N": "q_heads", "K": "kv_heads", "H": "head_dim", "V": "vocab"}


def covers(*patterns: str) -> Callable[[Callable[[Inputs, list[str]], float]], Any]:
    """Register an evaluator, called with the inputs and the parts of the id, for ids of these shapes."""

    def register(evaluator: Callable[[Inputs, list[str]], float]) -> Any:
        EVALUATORS.update(dict.fromkeys(patterns, evaluator))
        return evaluator

    return register


def evaluators(entry_id: str) -> list[Callable[[Inputs, list[str]], float]]:
    return [evaluator for pattern, evaluator in EVALUATORS.items() if fnmatch.fnmatchcase(entry_id, pattern)]


# Records from inputs ------------------------------------------------------------------------------------------------


def chip_of(i: Inputs) -> Chip:
    """A chip with the entry's constants; what the entry does not give comes from the text's v5e and plays no part."""
    given = {
        "memory": i.get("hbm_bytes"),
        "bandwidth": i.get("hbm_bw"),
        "flops": next(({"bf16": i[name]} for name in ("flops", "flops_bf16") if name in i), None),
        "price": i.get("usd_per_hour"),
    }
    return replace(TPU_V5E_TEXT, **{field: value for field, value in given.items() if value is not None})


def model_of(i: Inputs) -> Model:
    """A model with the entry's shape and count. A bare size of the cache per token becomes one layer, one head."""
    shape = {
        field: i[letter] for letter, field in SHARED.items() if letter in i and not (letter == "N" and "K" not in i)
    }
    shape |= {"tied_embeddings": i["tied_embeddings"]} if "tied_embeddings" in i else {}
    kv = i.get("kv_per_token")
    if kv == 100_000:  # 2 x 50 layers x 8 heads x 125 x 1 B
        shape |= {"layers": 50, "kv_heads": 8, "head_dim": 125}
    like = LLAMA3_405B if kv == 258_048 else LLAMA3_70B
    return replace(like, nominal_params=i.get("params", i.get("nominal", 70e9)), **shape)


def kv_dtype(i: Inputs) -> str:
    """The cache's dtype: said outright, or read off the size of one token of the 70B or the 405B model."""
    if "kv_per_token" in i:
        return {163_840: "int8", 327_680: "bf16", 100_000: "int8", 258_048: "int8"}[int(i["kv_per_token"])]
    return DTYPE[i.get("bytes_kv", i.get("bytes", 2))]


def deployment_of(i: Inputs, **changes: Any) -> Deployment:
    fields: Inputs = {
        "model": model_of(i),
        "chip": chip_of(i),
        "chips": i.get("n", 1),
        "weights": DTYPE[i.get("bytes_per_param", 2)],
        "kv": kv_dtype(i),
        "params": "nominal",
        "layout": "label",
    }
    return Deployment(**fields | changes)


def crossing(f: Callable[[float], float], low: float, high: float) -> float:
    """Where a falling or rising function of the package passes zero."""
    rising = f(high) > f(low)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if (f(middle) > 0) == rising else (middle, high)
    return (low + high) / 2
