"""What every engine asks of a deployment before it starts, and what it then has room for."""

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from scaling._checks import flag, positive, shown, whole
from scaling.deployment import Deployment, parallel_sizes
from scaling.engines.pool import KvPool, stage_of, weights_on_chip
from scaling.latency import decode_step
from scaling.units import GB, ms

# The arithmetic that engines do with weights stored in each dtype.
_ARITHMETIC = {
    "bf16": ("bf16",),
    "fp16": ("fp16",),
    "fp8": ("fp8", "bf16"),
    "int8": ("int8", "bf16", "fp16"),
    "int4": ("bf16", "fp16"),
    "fp4": ("fp4", "bf16"),
}

# Published checkpoints that keep attention, and so many whole layers, in 16 bits: a log of Meta's printed 56.77 GiB.
_WIDE_LAYERS = {"meta-llama/Llama-3.1-405B-Instruct-FP8": 2}
# For engines that do not read the first: the same model, every matrix of its layers in FP8.
_IN_ANOTHER_FORMAT = {"meta-llama/Llama-3.1-405B-Instruct-FP8": "RedHatAI/Meta-Llama-3.1-405B-Instruct-FP8"}


@dataclass(frozen=True, kw_only=True)
class Engine:
    """What one engine takes: the dtypes it knows by its own words, and what its flags are called.

    `name`, `version`, `date`: whose flags these are, and when that version's flags were current.
    `program`: what starts it.
    `host`, `port`: where it listens unless told otherwise; `host` is empty for every address of the machine.
    `vendors`: whose chips it runs on.
    `weights`: dtypes of weights that it loads.
    `kv`: dtypes of the cache beside the model's own, each in a pair with the engine's word for it.
    `kv_words`, `kv_hint`: the words that its flag takes, and what to choose in place of one that it does not know.
    `online`: its word for weights quantised to FP8 while loading.
    `unread`: published checkpoints whose format it does not read.
    `ways`, `stages`, `replicas`, `memory`, `longest`, `cap`, `chunk`: its flags; empty where it has none or a rule of
    its own.
    `cache`: its flag for the dtype of the cache.
    `benchmark`: the start of its own benchmark, with what makes every request as long as asked.
    `splits_cache`: whether it can spread the cache over more ways than there are KV heads.
    `graphs`, `prefix`, `mixed`: what to look at when steps are slow, prompts are not found, or steps are held up.
    """

    name: str
    version: str
    date: str
    program: tuple[str, ...]
    host: str = ""
    port: int
    vendors: tuple[str, ...] = ("NVIDIA", "AMD")
    weights: tuple[str, ...]
    kv: tuple[tuple[str, str], ...] = ()
    kv_words: str = ""
    kv_hint: str = ""
    online: str = ""
    unread: tuple[str, ...] = ()
    ways: str
    stages: str = ""
    replicas: str = ""
    cache: str = ""
    memory: str = ""
    longest: str = ""
    cap: str
    chunk: str = ""
    graphs: str = ""
    prefix: str = ""
    mixed: str = ""
    benchmark: tuple[str, ...] = ()
    splits_cache: bool = False

    def kv_word(self, dtype: str) -> str:
        """What the engine calls a dtype of the cache."""
        return dict(self.kv)[dtype]


class Checkpoint(NamedTuple):
    """Where the weights come from: its `name`, whether it is `stored` in the deployment's dtype already, and the share
    of the layers' matrices that it keeps in 16 bits all the same, `wide`.
    """

    name: str
    stored: bool
    wide: float = 0.0


class Start(NamedTuple):
    """What a launch line stands on.

    `d`: the deployment as the engine runs it. `pool`: what it makes of the memory, on each chip of one stage.
    `longest`, `mean`: of one sequence, and of a running one; 0 if nothing was said. [tokens]
    """

    d: Deployment
    checkpoint: Checkpoint
    pool: KvPool
    longest: int
    mean: float
    stages: int
    machines: int
    fewest: int

    @property
    def held(self) -> int:
        """Sequences of the mean length in the pool."""
        return int(self.pool.tokens // self.mean) if self.mean else 0

    @property
    def weights(self) -> float:
        """Bytes of the weights as loaded, once. [B]"""
        return weights_on_chip(replace(self.d, chips=1), wide=self.checkpoint.wide)

    def step(self, batch: float) -> float:
        """What a decode step of the mean length takes by the serial roofline. [s]

        A token visits all stages; while one of them works on a part of the batch, the others have theirs.
        """
        return self.stages * float(decode_step(self.timed, batch / self.stages, self.mean).total)

    @property
    def timed(self) -> Deployment:
        """One stage, with its share of the head."""
        one = stage_of(self.d, self.stages)
        return replace(one, model=replace(one.model, vocab=max(1, one.model.vocab // self.stages)))


def start_of(
    engine: Engine,
    d: Deployment,
    pool_of: Callable[[Deployment, Checkpoint], KvPool],
    *,
    model_path: str | None,
    quantized: bool = False,
    context: int | None,
    mean: float | None,
    stages: int = 1,
    head: str | None = None,
    whole_window: bool = False,
    knob: str = "",
) -> Start:
    """The deployment as `engine` starts it.

    `pool_of`: the engine's own rule, for the chips of one stage. `knob`: the argument that gives it more memory.
    `whole_window`: whether one sequence of the longest length has to fit.

    Raises ``ValueError`` that says what to change if the engine would not start.
    """
    refuse_unsupported(engine, d, stages, head)
    run = as_run(engine, replace(d, chips=whole("chips", d.chips)))
    checkpoint = checkpoint_of(engine, run, model_path, quantized=flag("quantized", quantized))
    S = context_in(d, context)
    need = S or (d.model.context_window if whole_window else 0)

    def pool(chips: int, parts: int) -> KvPool:
        return pool_of(stage_of(replace(run, chips=chips), parts), checkpoint)

    if (made := pool(run.chips, stages)).tokens < max(1, need):
        raise _too_little(engine, run, checkpoint, pool, stages, need, knob)
    enough = (n * stages for n in sizes(d) if pool(n * stages, stages).tokens >= max(1, need))
    return Start(run, checkpoint, made, S, _mean_in(mean, S, need), stages, machines(run), next(enough, run.chips))


def share_of(d: Deployment) -> float:
    """The deployment's share of the memory, `usable`.

    Raises ``ValueError`` for anything but a deployment with a single one.
    """
    if not isinstance(d, Deployment):
        raise ValueError(f"d must be a Deployment record, not {shown(d)}.")
    if getattr(d.usable, "ndim", 0):
        raise ValueError(f"usable must be a single share for a launch command, not {shown(d.usable)}.")
    return float(d.usable)


def as_run(engine: Engine, d: Deployment) -> Deployment:
    """The same deployment as engines load and multiply it, whatever convention its numbers are given in."""
    compute = "fp8" if d.weights == "fp8" and "fp8" in d.chip.flops else d.compute
    split = d.kv_split if engine.splits_cache else "heads"
    return replace(d, compute=compute, params="streamed", layout="loaded", kv_split=split)


def _too_little(
    engine: Engine,
    d: Deployment,
    checkpoint: Checkpoint,
    pool: Callable[[int, int], KvPool],
    stages: int,
    need: int,
    knob: str,
) -> ValueError:
    """The refusal of weights, or of one sequence, that the memory does not hold, with the way out."""
    made, M = pool(d.chips, stages), d.chip.device_memory
    enough = [n * stages for n in sizes(d) if pool(n * stages, stages).tokens >= max(1, need)]
    change = f"use {enough[0]} chips" if enough else "store the weights in fewer bytes, or take chips with more memory"
    if not enough and engine.stages:
        full = max(sizes(d))
        more = [s for s in (2, 4, 8) if s > stages and pool(full * s, s).tokens >= max(1, need)]
        change = f"use {full * more[0]} chips in {more[0]} stages, one after the other" if more else change
    least = made.minimum_fraction + need * made.token_bytes / M
    if knob and made.fraction < least < 0.95:  # beyond, activations and graphs find no room beside weights and cache
        change += f", or raise {knob} above {math.ceil(least * 100) / 100:g}"
    cache = f" and one sequence of {need:,} tokens" if need else ""
    weights = gb(weights_on_chip(replace(d, chips=1), wide=checkpoint.wide))
    share = "" if math.isnan(made.fraction) else f" at {made.fraction:.3g} of the memory"
    return ValueError(
        f"chips must be more than {d.chips}: {weights} of weights as loaded{cache} do not fit into what {engine.name} "
        f"has for them on {d.chips} {d.chip.name}{share}; {change}."
    )


# What is refused ------------------------------------------------------------------------------------------------------


def refuse_unsupported(engine: Engine, d: Deployment, stages: int = 1, head: str | None = None) -> None:
    """Refuse chips, ways of parallelism and dtypes that the engine does not have.

    Raises ``ValueError`` that names the field, the value and what to choose instead.
    """
    share_of(d)
    _refuse_chips(engine, d, whole("stages", stages), head)
    _refuse_dtypes(engine, d)


def _refuse_chips(engine: Engine, d: Deployment, stages: int, head: str | None) -> None:
    chip, model = d.chip, d.model
    if chip.vendor not in engine.vendors:
        kind = f"a GPU of {_or(engine.vendors)}"
        raise ValueError(f"chip must be {kind} for {engine.name}, such as H100 SXM, not {chip.name}.")
    N = whole("chips", d.chips)
    if stages > 1 and not engine.stages:
        raise ValueError(f"stages must be 1 for {engine.name}, whose pipeline stages are not built here, not {stages}.")
    allowed = [n * stages for n in sizes(d)]
    if head is not None and engine.stages:  # several machines: tensor parallelism may go across them, too
        allowed = [n * stages for n in range(1, model.q_heads + 1) if _splits(d, n)]
    if N not in allowed:
        across = "; over several machines give stages, and head, the address of the first" if engine.stages else ""
        raise ValueError(
            f"chips must be one of {', '.join(map(str, allowed))}, not {N}: tensor parallelism shares out the "
            f"{model.q_heads} query heads and {model.kv_heads} KV heads of {model.name} evenly, "
            f"in one machine of at most {_machine(d)} {chip.name}{across}."
        )
    if machines(d) > 1 and head is None:
        raise ValueError(
            f"head must be given for {N} {chip.name} in {machines(d)} machines: the address and port of the first, "
            f"such as 10.0.0.1:20000, at which the others find it."
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


def machines(d: Deployment) -> int:
    """Machines that the chips of the deployment fill."""
    return math.ceil(whole("chips", d.chips) / _machine(d))


def _splits(d: Deployment, ways: int) -> bool:
    m = d.model
    heads = m.q_heads % ways == 0 and (m.kv_heads % ways == 0 or ways % m.kv_heads == 0)
    return heads and m.d_ff % ways == 0


def _machine(d: Deployment) -> int:
    return min(d.chip.fast_domain, d.chip.machine)


def _or(words: tuple[str, ...]) -> str:
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def model_dtype(d: Deployment) -> str:
    """The 16-bit dtype that activations, and by default the cache, are in."""
    return "fp16" if "fp16" in (d.weights, d.compute) else "bf16"


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


def _mean_in(mean: float | None, context: int, longest: int) -> float:
    """`mean`, or the longest length that was given; 0 where nothing was."""
    if mean is None:
        return float(context)
    S = float(positive("mean", mean))
    if longest and S > longest:
        raise ValueError(f"mean must be at most {longest:,} tokens, the longest of a sequence, not {shown(mean)}.")
    return S


def copies(d: Deployment, replicas: int) -> int:
    """`replicas` as a whole number that one machine holds.

    Raises ``ValueError`` if it does not.
    """
    R, most = whole("replicas", replicas), max(1, _machine(d) // d.chips)
    if R <= most:
        return R
    raise ValueError(
        f"replicas must be at most {most} with {d.chips} chips each on one machine, not {R}: start more machines, "
        f"each with this command, and put a router in front."
    )


# Words ----------------------------------------------------------------------------------------------------------------


def in_ms(seconds: float) -> str:
    """Seconds in milliseconds, for a reason."""
    return f"{seconds / ms:.3g} ms"


def gb(size: float) -> str:
    """Bytes in decimal gigabytes, for a reason."""
    return f"{size / GB:,.0f} GB" if size >= 99.5 * GB else f"{size / GB:.3g} GB"


def plain_text(name: str, value: Any) -> str:
    """`value`, a text or a path, as text, if a shell can be given it: not empty, without control characters.

    Raises ``ValueError`` that names the argument, the value given and what is allowed.
    """
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    if isinstance(text, str) and text and text.isprintable():
        return text
    raise ValueError(f"{name} must be text without line breaks or other control characters, not {shown(value)}.")


def no_flag(name: str, value: Any) -> str:
    """`value` as text, if a program does not read it as one of its flags.

    Raises ``ValueError`` for one that starts with a hyphen, and for control characters.
    """
    text = plain_text(name, value)
    if text.startswith("-"):
        raise ValueError(f"{name} must not start with a hyphen, which a program reads as a flag, not {shown(text)}.")
    return text


def checkpoint_of(engine: Engine, d: Deployment, model_path: str | None, *, quantized: bool = False) -> Checkpoint:
    """Where the weights come from: `model_path`, or the published checkpoint of the model in the deployment's dtype.

    Weights in FP8 can also be made from the published bf16 ones while loading.

    Raises ``ValueError`` if a path is needed and none was given.
    """
    plain = d.weights in ("bf16", "fp16")
    if model_path is not None:
        return Checkpoint(no_flag("model_path", model_path), plain or quantized or d.weights != "fp8")
    published, m = d.model.checkpoints, d.model
    name = published.get("bf16" if plain else d.weights, "")
    name = _IN_ANOTHER_FORMAT[name] if name in engine.unread else name
    if name:
        wide = m.attention_params + _WIDE_LAYERS[name] * m.mlp_params / m.layers if name in _WIDE_LAYERS else 0.0
        return Checkpoint(name, True, wide / (m.attention_params + m.mlp_params))
    if d.weights == "fp8" and "bf16" in published and not quantized:
        return Checkpoint(published["bf16"], False)
    if published and not plain:
        raise ValueError(
            f"model_path must name a checkpoint stored in {d.weights}: none is listed here for {m.name}, and engines "
            "do not make one from bf16 while loading."
        )
    raise ValueError(f"model_path must be given for {m.name}, whose published checkpoint is not listed here.")
