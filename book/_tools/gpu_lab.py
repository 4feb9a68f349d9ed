"""The lab of chapter 14 on an NVIDIA GPU with PyTorch: random weights of LLaMA 3-8B's shape, in bf16.

    python book/_tools/gpu_lab.py          writes book/data/lab_gpu.json, with machine, date and versions

It needs 17 GB of the card and a minute. Never run here, where there is no GPU.
"""

import json
import platform
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

from scaling.models import LLAMA3_8B

BATCHES, CONTEXTS = (1, 2, 8, 32, 128, 256, 512), (16, 1024, 4096, 8192)
TARGET = Path(__file__).parents[1] / "data" / "lab_gpu.json"


def best(torch: Any, work: Callable[[], Any], repeats: int = 10) -> float:
    """Least time of some runs by the card's own clock. [s]"""
    work()
    times: list[float] = []
    for _ in range(repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / 1000)
    return min(times)


def layers(torch: Any) -> list[tuple[Any, ...]]:
    """Of each layer: queries, keys and values; output; gate and up; down. Then the head alone."""
    m = LLAMA3_8B
    heads = (m.q_heads + 2 * m.kv_heads) * m.head_dim
    shapes = ((m.d_model, heads), (m.q_heads * m.head_dim, m.d_model), (m.d_model, 2 * m.d_ff), (m.d_ff, m.d_model))
    made = [tuple(torch.randn(s, device="cuda", dtype=torch.bfloat16) / 64 for s in shapes) for _ in range(m.layers)]
    return [*made, (torch.randn((m.d_model, m.vocab), device="cuda", dtype=torch.bfloat16) / 64,)]


def seconds(torch: Any, weights: list[tuple[Any, ...]], batch: int, context: int) -> float:
    """Time of a decode step, over a cache of random keys and values. [s]"""
    m, f = LLAMA3_8B, torch.nn.functional
    kept = torch.randn((m.layers, 2, batch, m.kv_heads, context, m.head_dim), device="cuda", dtype=torch.bfloat16)
    x0 = torch.ones((batch, m.d_model), device="cuda", dtype=torch.bfloat16)

    def step() -> Any:
        x = x0
        for (qkv, out, up, down), (keys, values) in zip(weights[:-1], kept, strict=True):
            q = (f.rms_norm(x, (m.d_model,)) @ qkv)[:, : m.q_heads * m.head_dim]
            q = q.reshape(batch, m.kv_heads, m.q_heads // m.kv_heads, m.head_dim)
            x = x + f.scaled_dot_product_attention(q, keys, values).reshape(batch, -1) @ out
            gate, value = (f.rms_norm(x, (m.d_model,)) @ up).chunk(2, dim=1)
            x = x + (f.silu(gate) * value) @ down
        return f.rms_norm(x, (m.d_model,)) @ weights[-1][0]

    return best(torch, step)


def main() -> None:
    """Measure and write."""
    try:
        import torch  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise SystemExit("gpu_lab needs PyTorch and an NVIDIA GPU; chapter 14 runs on any processor.") from None
    if not torch.cuda.is_available():
        raise SystemExit("gpu_lab needs an NVIDIA GPU; chapter 14 runs on any processor.")
    square = torch.ones((8192, 8192), device="cuda", dtype=torch.bfloat16)
    long = torch.ones(2_000_000_000, device="cuda", dtype=torch.bfloat16)
    run = {
        "machine": torch.cuda.get_device_name(),
        "date": date.today().isoformat(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "bandwidth": long.nbytes / best(torch, long.sum),
        "flops": 2.0 * 8192**3 / best(torch, lambda: square @ square),
    }
    del long
    with torch.inference_mode():
        weights = layers(torch)
        run["batch"] = {B: seconds(torch, weights, B, 16) for B in BATCHES}
        run["context"] = {S: seconds(torch, weights, 8, S) for S in CONTEXTS}
    TARGET.write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {TARGET}")


if __name__ == "__main__":
    main()
