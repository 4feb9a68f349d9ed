"""What every engine asks of a deployment before it starts, and how many sequences it should run at once."""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

from scaling._checks import positive, shown, whole
from scaling.deployment import Deployment, parallel_sizes
from scaling.latency import decode_step
from scaling.memory import cache_budget, fits, max_batch, weight_bytes
from scaling.throughput import best_batch, full_batch
from scaling.units import GB, ms

# What the catalogue's models are called where engines download them.
_CHECKPOINTS = {
    "LLaMA 3-8B": "meta-llama/Meta-Llama-3-8B-Instruct",
    "LLaMA 3-70B": "meta-llama/Meta-Llama-3-70B-Instruct",
    "LLaMA 3-405B": "meta-llama/Llama-3.1-405B-Instruct",
}
# The arithmetic that engines do with weights stored in each dtype.
_ARITHMETIC = {
    "bf16": ("bf16",),
    "fp16": ("fp16",),
    "fp8": ("fp8", "bf16"),
    "int8": ("int8", "bf16", "fp16"),
    "int4": ("bf16", "fp16"),
    "fp4": ("fp4", "bf16"),
}


@dataclass(frozen=True, kw_only=True)
class Engine:
    """What one engine takes: the dtypes it knows by its own words, and what its flags are called.

    `name`, `version`, `date`: whose flags these are, and when that version's flags were current.
    `program`: what starts it.
    `port`: where it listens unless told otherwise.
    `vendors`: whose chips it runs on.
    `weights`: dtypes of weights that it loads.
    `kv`: dtypes of the cache beside the model's own, each in a pair with the engine's word for it.
    `kv_words`, `kv_hint`: the words that its flag takes, and what to choose in place of one that it does not know.
    `online`: its word for weights quantised to FP8 while loading.
    `ways`, `replicas`, `memory`, `longest`, `cap`, `chunk`: its flags; empty where it has none or a rule of its own.
    `cache`: its flag for the dtype of the cache.
    `graphs`, `prefix`, `mixed`: what to look at when steps are slow, prompts are not found, or steps are held up.
    """

    name: str
    version: str
    date: str
    program: tuple[str, ...]
    port: int
    vendors: tuple[str, ...] = ("NVIDIA", "AMD")
    weights: tuple[str, ...]
    kv: tuple[tuple[str, str], ...] = ()
    kv_words: str = ""
    kv_hint: str = ""
    online: str = ""
    ways: str
    replicas: str = ""
    cache: str = ""
    memory: str = ""
    longest: str = ""
    cap: str
    chunk: str = ""
    graphs: str = ""
    prefix: str = ""
    mixed: str = ""

    def kv_word(self, dtype: str) -> str:
        """What the engine calls a dtype of the cache."""
        return dict(self.kv)[dtype]


def refuse_unsupported(engine: Engine, d: Deployment) -> None:
    """Refuse chips, ways of tensor parallelism and dtypes that the engine does not have.

    Raises ``ValueError`` that names the field, the value and what to choose instead.
    """
    if not isinstance(d, Deployment):
        raise ValueError(f"d must be a Deployment record, not {shown(d)}.")
    if getattr(d.usable, "ndim", 0):
        raise ValueError(f"usable must be a single share for a launch command, not {shown(d.usable)}.")
    _refuse_chips(engine, d)
    _refuse_dtypes(engine, d)


def _refuse_chips(engine: Engine, d: Deployment) -> None:
    chip, model = d.chip, d.model
    if chip.vendor not in engine.vendors:
        kind = f"a GPU of {_or(engine.vendors)}"
        raise ValueError(f"chip must be {kind} for {engine.name}, such as H100 SXM, not {chip.name}.")
    N, allowed = whole("chips", d.chips), sizes(d)
    if N not in allowed:
        raise ValueError(
            f"chips must be one of {', '.join(map(str, allowed))}, not {N}: tensor parallelism shares out the "
            f"{model.q_heads} query heads and {model.kv_heads} KV heads of {model.name} evenly, "
            f"in one machine of at most {_machine(d)} {chip.name}."
        )


def _refuse_dtypes(engine: Engine, d: Deployment) -> None:
    if d.weights not in engine.weights:
        raise ValueError(f"weights must be {_or(engine.weights)} for {engine.name}, not {shown(d.weights)}.")
    if d.compute not in _ARITHMETIC[d.weights]:
        raise ValueError(
            f"compute must be {_or(_ARITHMETIC[d.weights])} for weights in {d.weights}, as engines multiply them, "
            f"not {shown(d.compute)}."
        )
    if "fp4" in (d.weights, d.kv) and "fp4" not in d.chip.flops:
        raise ValueError(f"chip must have FP4 arithmetic for weights or cache in fp4, such as B200, not {d.chip.name}.")
    caches = (model_dtype(d), *(dtype for dtype, _ in engine.kv if dtype != model_dtype(d)))
    if d.kv not in caches:
        words = f", whose flag takes {engine.kv_words}" if engine.kv_words else ", which has no flag for it"
        raise ValueError(f"kv must be {_or(caches)} for {engine.name}{words}, not {shown(d.kv)}.{engine.kv_hint}")


def sizes(d: Deployment) -> list[int]:
    """Ways of tensor parallelism that the model allows within one machine, ascending."""
    return [n for n in parallel_sizes(d.model, d.chip) if n <= _machine(d)]


def _machine(d: Deployment) -> int:
    return min(d.chip.fast_domain, d.chip.machine)


def _or(words: tuple[str, ...]) -> str:
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def model_dtype(d: Deployment) -> str:
    """The 16-bit dtype that activations, and by default the cache, are in."""
    return "fp16" if "fp16" in (d.weights, d.compute) else "bf16"


def sized(d: Deployment, share: float, context: int | None, *, knob: str = "") -> Deployment:
    """The deployment as the engine fills it: `share` of each chip's memory, no KV head split between chips.

    Raises ``ValueError`` if the weights, and one sequence of `context` tokens if given, do not fit; it says on how many
    chips they would, or names the `knob` to turn.
    """
    as_run = replace(d, chips=whole("chips", d.chips), usable=share, kv_split="heads")
    S = context_in(d, context)
    if bool(fits(as_run, 1, S)) and cache_budget(as_run) > 0:
        return as_run
    enough = [
        n for n in sizes(d) if fits(replace(as_run, chips=n), 1, S) and cache_budget(replace(as_run, chips=n)) > 0
    ]
    change = f"use {enough[0]} chips" if enough else "store the weights in fewer bytes, or take chips with more memory"
    least = (weight_bytes(d) + d.model.kv_bytes_per_token(d.kv) * S) / (d.chips * d.chip.memory)
    if knob and least < 0.95:  # beyond, activations and graphs find no room beside weights and cache
        change += f", or raise {knob} above {math.ceil(least * 100) / 100:g}"
    cache = f" and one sequence of {S:,} tokens" if S else ""
    raise ValueError(
        f"chips must be more than {d.chips}: {gb(weight_bytes(d))} of weights{cache} do not fit into the "
        f"{gb(as_run.memory)} that {d.chips} {d.chip.name} have for them at {share:g} of the memory; {change}."
    )


def context_in(d: Deployment, context: int | None) -> int:
    """`context` as a whole number; 0 if none was given.

    Raises ``ValueError`` if it is longer than the model was made for.
    """
    if context is None:
        return 0
    S = whole("context", context)
    if S > d.model.context_window:
        raise ValueError(
            f"context must be at most {d.model.context_window:,} tokens, the longest that {d.model.name} was made for, "
            f"not {S:,}."
        )
    return S


def copies(d: Deployment, replicas: int) -> int:
    """`replicas` as a whole number that one machine holds.

    Raises ``ValueError`` if it does not.
    """
    R, most = whole("replicas", replicas), _machine(d) // d.chips
    if R > most:
        raise ValueError(
            f"replicas must be at most {most} with {d.chips} chips each on one machine, not {R}: start more machines, "
            f"each with this command, and put a router in front."
        )
    return R


class Cap(NamedTuple):
    """How many sequences to run at once, and why so many."""

    sequences: int
    why: str


def running_cap(d: Deployment, context: int | None, max_running: int | None, max_step: float | None) -> Cap | None:
    """The cap on running sequences of `context` tokens: memory, the critical batch or the step limit, the least.

    `max_running`: one's own cap, which goes first; the reason then says what would bind. `max_step` [s].

    Raises ``ValueError`` for a step limit that no batch meets, or one without a context to apply to.
    """
    if max_step is not None:
        positive("max_step", max_step)
        if context is None:
            raise ValueError("context must be given with max_step: how long a step takes depends on it.")
    if context is None:
        return None if max_running is None else Cap(whole("max_running", max_running), "as asked for")
    S = context_in(d, context)
    held = int(max_batch(d, S))
    room = f"Memory holds {held:,} sequences of {S:,} tokens"
    if max_running is not None:
        B = whole("max_running", max_running)
        return Cap(B, f"as asked for. {room}{', so at that length the rest wait or are evicted' if B > held else ''}")
    return _useful_cap(d, S, math.inf if max_step is None else max_step)


def _useful_cap(d: Deployment, context: int, limit: float) -> Cap:
    """The best batch of `context` tokens within a step limit [s], and what sets it: memory, arithmetic or the limit."""
    S = context
    B, held = int(best_batch(d, S, max_step=limit)), int(max_batch(d, S))
    # A critical batch of 250 that is computed as 250.00000000000003 is not 251.
    balanced = int(full_batch(d))
    if B < 1:
        shortest = math.ceil(float(decode_step(d, 1, S).total) / ms * 100) / 100
        raise ValueError(
            f"max_step must be at least {shortest:g} ms, the step of one sequence of {S:,} tokens on {d.chips} "
            f"{d.chip.name}, not {in_ms(limit)}: use more chips, or store the weights in fewer bytes."
        )
    if B == held:
        fill = f"{held:,} sequences of {S:,} tokens fill the {gb(cache_budget(d))} that the weights leave to the cache"
        return Cap(B, f"{fill}{f'. Arithmetic takes over at {balanced:,}' if balanced > held else ''}")
    room = f"Memory holds {held:,} sequences of {S:,} tokens"
    if B < balanced:
        took = f"a step of {B:,} sequences of {S:,} tokens takes {in_ms(decode_step(d, B, S).total)} at the least"
        return Cap(B, f"{took}, one more would pass the limit of {in_ms(limit)}. {room}")
    why = "from here on arithmetic takes longer than reading the weights, so more would only lengthen the step"
    return Cap(B, f"{why}. {room}")


def in_ms(seconds: float) -> str:
    """Seconds in milliseconds, for a reason."""
    return f"{seconds / ms:.3g} ms"


def plain_text(name: str, value: str) -> str:
    """`value` unchanged if a shell can be given it: text, not empty, without control characters.

    Raises ``ValueError`` that names the argument, the value given and what is allowed.
    """
    if isinstance(value, str) and value and value.isprintable():
        return value
    raise ValueError(f"{name} must be text without line breaks or other control characters, not {shown(value)}.")


def path_in(name: str, value: str) -> str:
    """`value` unchanged if it can be given to a program as a path.

    Raises ``ValueError`` for control characters, and for a leading hyphen.
    """
    if plain_text(name, value).startswith("-"):
        raise ValueError(f"{name} must not start with a hyphen, which a program reads as a flag, not {shown(value)}.")
    return value


def checkpoint_of(d: Deployment, model_path: str | None, *, quantized: bool) -> str:
    """Where the weights come from: `model_path`, or the published checkpoint of a catalogue model.

    Raises ``ValueError`` if a path is needed and none was given.
    """
    if model_path is not None:
        return path_in("model_path", model_path)
    if d.weights in ("int8", "int4", "fp4") or quantized:
        raise ValueError(
            f"model_path must name a checkpoint stored in {d.weights}: engines do not make one from bf16 while loading."
        )
    if d.model.name not in _CHECKPOINTS:
        raise ValueError(f"model_path must be given for {d.model.name}, whose published checkpoint is not listed here.")
    return _CHECKPOINTS[d.model.name]


def gb(size: float) -> str:
    """Bytes in decimal gigabytes, for a reason."""
    return f"{size / GB:,.0f} GB" if size >= 99.5 * GB else f"{size / GB:.3g} GB"
