"""What every engine asks of a deployment before it starts, and what it then has room for."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from scaling._checks import flag, positive, shown, whole
from scaling.deployment import Deployment, parallel_sizes
from scaling.engines.pool import KvPool, stage_of, weights_on_chip
from scaling.engines.words import gb, no_flag
from scaling.latency import decode_step

# The arithmetic that engines do with weights stored in each dtype.
_ARITHMETIC = {
    "bf16": ("bf16",),
    "fp16": ("fp16", "bf16"),  # the second is what a record names unless told: the engine does not ask it
    "fp8": ("fp8", "bf16"),
    "int8": ("int8", "bf16", "fp16"),
    "int4": ("bf16", "fp16"),
    "fp4": ("fp4", "bf16"),
}

# In the format of FBGEMM, which vLLM 0.33.0 refuses as deprecated (model_executor/layers/quantization/__init__.py line
# 53, config/model.py line 1481) and no file of SGLang 0.5.23 names. Their attention and two layers are in bf16.
_UNREAD = ("meta-llama/Llama-3.1-405B-FP8", "meta-llama/Llama-3.1-405B-Instruct-FP8")


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
    `ways`, `stages`, `replicas`, `memory`, `longest`, `cap`, `chunk`: its flags; empty where it has none or a rule of
    its own.
    `cache`: its flag for the dtype of the cache.
    `benchmark`: the start of its own benchmark, with what makes every request as long as asked.
    `open`: whether it listens on every address, and asks for no key.
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
    open: bool = False

    def kv_word(self, dtype: str) -> str:
        """What the engine calls a dtype of the cache."""
        return dict(self.kv)[dtype]


class Checkpoint(NamedTuple):
    """Where the weights come from: its `name`, and whether it is `stored` in the deployment's dtype already."""

    name: str
    stored: bool


class Start(NamedTuple):
    """What a launch line stands on.

    `d`: the deployment as the engine runs it. `pool`: what it makes of the memory, on each chip of one stage.
    `longest`, `mean`: of one sequence, and of a running one; 0 if nothing was said. [tokens]
    `fewest`, `least`: chips that hold the weights and `needed`, and the share of their memory that is used there. [-]
    `needed`: of the one sequence that has to fit; 0 if no length was asked for. [tokens]
    """

    d: Deployment
    checkpoint: Checkpoint
    pool: KvPool
    longest: int
    mean: float
    stages: int
    machines: int
    fewest: int
    least: float
    needed: int

    @property
    def ways(self) -> int:
        """Of tensor parallelism, in each stage."""
        return self.d.chips // self.stages

    @property
    def held(self) -> int:
        """Sequences of the mean length in the pool."""
        return int(self.pool.tokens // self.mean) if self.mean else 0

    @property
    def weights(self) -> float:
        """Bytes of the weights as loaded, once. [B]"""
        return weights_on_chip(replace(self.d, chips=1))

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
    pool_of: Callable[[Deployment], KvPool],
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
        return pool_of(stage_of(replace(run, chips=chips), parts))

    if (made := pool(run.chips, stages)).tokens < max(1, need):
        raise _too_little(engine, run, pool, stages, need, knob)
    tried = ((n * stages, pool(n * stages, stages)) for n in sizes(d))
    fewest, least = next(((n, p) for n, p in tried if p.tokens >= max(1, need)), (run.chips, made))
    mean = _mean_in(mean, S, need)
    return Start(run, checkpoint, made, S, mean, stages, machines(run), fewest, float(least.fraction), need)


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
    own = d.weights == "fp16" or (d.weights == "fp8" and "fp8" in d.chip.flops)
    compute = d.weights if own else d.compute
    # FlashAttention 3 refuses an FP8 query beside keys in bf16, which is how vLLM 0.33.0 calls it for a split cache
    # (v1/attention/backends/flash_attn.py line 1468); the kernels for int8 and int4, and those of AMD, split none.
    splits = engine.splits_cache and d.kv in ("bf16", "fp16") and d.chip.vendor == "NVIDIA"
    split = d.kv_split if splits else "heads"
    return replace(d, compute=compute, params="streamed", layout="loaded", kv_split=split)


def _too_little(
    engine: Engine,
    d: Deployment,
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
    weights = gb(weights_on_chip(replace(d, chips=1)))
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
        allowed = [n * stages for n in parallel_sizes(model, replace(chip, fast_domain=model.q_heads))]
    if N not in allowed:
        across = "; over several machines give head, the address and port of the first" if engine.stages else ""
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
    if d.compute == "int8" and is_blackwell(d):
        raise ValueError(
            f"weights must not be multiplied in int8 on {d.chip.name}: {engine.name} {engine.version} has no "
            f"kernel for it on Blackwell. Choose weights in fp8, not int8."
        )
    if "fp4" in (d.weights, d.kv) and "fp4" not in d.chip.flops:
        raise ValueError(f"chip must have FP4 arithmetic for weights or cache in fp4, such as B200, not {d.chip.name}.")
    caches = (model_dtype(d), *(dtype for dtype, _ in engine.kv if dtype != model_dtype(d)))
    if d.kv not in caches:
        words = f", whose flag takes {engine.kv_words}" if engine.kv_words else ", which has no flag for it"
        raise ValueError(f"kv must be {_or(caches)} for {engine.name}{words}, not {shown(d.kv)}.{engine.kv_hint}")


def is_blackwell(d: Deployment) -> bool:
    """Whether the chips are of NVIDIA's Blackwell."""
    # Of NVIDIA's GPUs those with FP4 arithmetic. int8: CutlassInt8ScaledMMLinearKernel of vLLM claims all of CUDA, and
    # its library then says "Int8 not supported on SM100"; int8_scaled_mm of sgl-kernel is written for SM75 to SM90.
    return d.chip.vendor == "NVIDIA" and "fp4" in d.chip.flops


def sizes(d: Deployment) -> list[int]:
    """Ways of tensor parallelism that the model allows within one machine, ascending."""
    return [n for n in parallel_sizes(d.model, d.chip) if n <= _machine(d)]


def machines(d: Deployment) -> int:
    """Machines that the chips of the deployment fill."""
    return math.ceil(whole("chips", d.chips) / _machine(d))


def along_network(d: Deployment, stages: int) -> int:
    """Machines that share every layer, and so gather it over the network between them."""
    return math.ceil(d.chips / stages / _machine(d))


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


def checkpoint_of(engine: Engine, d: Deployment, model_path: str | None, *, quantized: bool = False) -> Checkpoint:
    """Where the weights come from: `model_path`, or the published checkpoint of the model in the deployment's dtype.

    Weights in FP8 can also be made from the published bf16 ones while loading.

    Raises ``ValueError`` if a path is needed and none was given, or if the engine does not read what it names.
    """
    plain = d.weights in ("bf16", "fp16")
    if model_path is not None:
        path = no_flag("model_path", model_path)
        if path.rstrip("/") in _UNREAD:
            raise ValueError(
                f"model_path must be in a format that {engine.name} {engine.version} reads, such as "
                f"RedHatAI/Meta-Llama-3.1-405B-Instruct-FP8, not {path}, which is in the one of FBGEMM."
            )
        return Checkpoint(path, plain or quantized or d.weights != "fp8")
    published, m = d.model.checkpoints, d.model
    if name := published.get("bf16" if plain else d.weights, ""):
        return Checkpoint(name, True)
    if d.weights == "fp8" and "bf16" in published and not quantized:
        return Checkpoint(published["bf16"], False)
    if published and not plain:
        raise ValueError(
            f"model_path must name a checkpoint stored in {d.weights}: none is listed here for {m.name}, and engines "
            "do not make one from bf16 while loading."
        )
    raise ValueError(f"model_path must be given for {m.name}, whose published checkpoint is not listed here.")
