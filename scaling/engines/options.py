"""The flags that engines share, each with the numbers that ask for it."""

from dataclasses import replace

from scaling._checks import shown, whole
from scaling.deployment import Deployment
from scaling.engines.command import Option, plain_text
from scaling.engines.loading import loaded_weight_bytes
from scaling.engines.rules import Engine, gb, in_ms, model_dtype, sizes
from scaling.latency import decode_step
from scaling.memory import cache_budget, weight_bytes


def ways(flag: str, run: Deployment) -> list[Option]:
    """Tensor parallelism; nothing on one chip. `run`: the deployment as sized."""
    if run.chips == 1:
        return []
    fewest = next(n for n in sizes(run) if cache_budget(replace(run, chips=n)) > 0)
    read = float(decode_step(run, 1, 0).weights)
    whole_model, part, chip = gb(weight_bytes(run)), gb(weight_bytes(run) / run.chips), run.chip.name
    need = f"{whole_model} of weights need at least {fewest} {chip} at {run.usable:.3g} of their memory"
    return [
        Option(flag, str(run.chips), f"{need}. Each of {run.chips} reads {part} a step, in {in_ms(read)} at the least")
    ]


def replicas(flag: str, d: Deployment, number: int) -> list[Option]:
    """Data parallelism, full copies side by side; nothing for one copy."""
    if number == 1:
        return []
    why = f"{number} full copies on {number * d.chips} GPUs"
    return [Option(flag, str(number), f"{why}: {number} times the throughput, a step is as long")]


def dtypes(engine: Engine, d: Deployment, *, quantized: bool) -> list[Option]:
    """Arithmetic, weights and cache, where they are not what the bf16 checkpoint gives by itself."""
    options = []
    if model_dtype(d) == "fp16":
        options.append(Option("--dtype", "float16", "arithmetic and activations in fp16 in place of bf16"))
    if d.weights == "fp8" and not quantized:
        stored, kept = gb(weight_bytes(replace(d, weights="bf16"))), gb(float(loaded_weight_bytes(d)) * d.chips)
        why = f"loads the bf16 checkpoint of {stored} and keeps its linear weights in one byte each"
        options.append(Option("--quantization", engine.online, f"{why}, {kept} with embedding and head still in bf16"))
    if d.kv != model_dtype(d):
        kv, plain = d.model.kv_bytes_per_token(d.kv), d.model.kv_bytes_per_token(model_dtype(d))
        why = f"{kv:,.0f} B per token in place of {plain:,.0f}"
        options.append(Option("--kv-cache-dtype", engine.kv[d.kv], f"{why}, as the default keeps {model_dtype(d)}"))
    return options


def memory_share(flag: str, value: float, run: Deployment) -> Option:
    """The share of the free memory that weights and cache may fill."""
    weights, cache = weight_bytes(run) / run.chips, float(cache_budget(run)) / run.chips
    return Option(
        flag,
        f"{value:g}",
        f"of the memory free before loading, for weights and cache: {gb(weights)} and {gb(cache)} on each GPU, "
        "the rest is for activations and CUDA graphs",
    )


def longest(flag: str, d: Deployment, context: int) -> list[Option]:
    """The longest sequence; nothing where that is the model's own."""
    if not 0 < context < d.model.context_window:
        return []
    why = f"no sequence grows beyond it, {d.model.name} could go to {d.model.context_window:,}"
    return [Option(flag, str(context), why)]


def listening(host: str | None, port: int | None, default: int) -> list[Option]:
    """Where the server listens, if that was asked for."""
    options = []
    if host is not None:
        options.append(Option("--host", plain_text("host", host), "the address to listen on"))
    if port is not None:
        if whole("port", port) > 65_535:
            raise ValueError(f"port must be a whole number from 1 to 65535, not {shown(port)}.")
        options.append(Option("--port", str(int(port)), f"the port to listen on, {default} by default"))
    return options


def notes(d: Deployment) -> list[str]:
    """What a reader of the numbers should know although no flag says it."""
    said = []
    if d.weights == "fp8" and d.compute != "fp8" and "fp8" in d.chip.flops:
        faster = d.chip.rate("fp8") / d.chip.rate(d.compute)
        said.append(
            f"{d.chip.name} multiplies FP8 weights in FP8, {faster:.3g} times the {d.compute} rate counted here"
        )
    if d.kv == model_dtype(d):
        said.append(f"the cache stays in {d.kv}, the default: {d.model.kv_bytes_per_token(d.kv):,.0f} B per token")
    return said
