"""A launch command as data: its arguments, the reason for each flag, and text that any shell takes as it is."""

import re
import shlex
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from scaling._checks import shown, whole
from scaling.deployment import Deployment
from scaling.engines.pool import loaded_weight_bytes
from scaling.engines.rules import Cap, Engine, copies, gb, in_ms, model_dtype, plain_text, sizes
from scaling.latency import decode_step
from scaling.memory import cache_budget, weight_bytes

_WIDTH = 79
# A shell that knows no comments when it is typed into (zsh, as it comes) must still pass over a comment unharmed.
_UNSAFE_IN_COMMENT = re.compile(r"[^\w .,:%/+-]")


class Flag(NamedTuple):
    """One flag (or one bare argument), its value if it takes one, and why it is there."""

    flag: str
    value: str | None = None
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Command:
    """What to type to start an engine.

    `engine`, `version`, `date`: whose flags these are, and when that version's flags were current.
    `program`: what comes first; `options`: every flag with its reason; `notes`: what the flags do not say.

    ``print(command)`` shows comment lines and the command below them; ``subprocess.run(command.arguments)`` runs it.

    Raises ``ValueError`` for an argument that is empty or holds a control character, such as a line break.
    """

    engine: str
    version: str
    date: str
    program: tuple[str, ...]
    options: tuple[Flag, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for argument in self.arguments:
            plain_text("an argument", argument)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The argument list, as a program gets it."""
        words = [word for option in self.options for word in option[:2] if word is not None]
        return (*self.program, *words)

    @property
    def flags(self) -> dict[str, str | None]:
        """Each flag with its value; None for a flag that takes none."""
        return {option.flag: option.value for option in self.options if option.flag.startswith("-")}

    @property
    def reasons(self) -> tuple[tuple[str, str], ...]:
        """Each option that has a reason, with it."""
        return tuple((option.flag, option.why) for option in self.options if option.why)

    @property
    def line(self) -> str:
        """The command on one line, quoted for sh, bash and zsh."""
        return " ".join(map(_quoted, self.arguments))

    @property
    def shell(self) -> str:
        """Comment lines, then the command, one option a line. Nothing follows a backslash, not even a blank."""
        head = f"{self.engine} {self.version}, flags as of {self.date}"
        said = [f"{' '.join(filter(None, option[:2]))}: {option.why}" for option in self.options if option.why]
        comments = [line for text in (head, *said, *self.notes) for line in _comment(text)]
        rows = [self.program, *(tuple(filter(None, option[:2])) for option in self.options)]
        command = " \\\n  ".join(" ".join(map(_quoted, row)) for row in rows)
        return "\n".join([*comments, command])

    def __str__(self) -> str:
        return self.shell


def _quoted(word: str) -> str:
    # zsh reads a leading = as "where is this program".
    return f"'{word}'" if word.startswith("=") and shlex.quote(word) == word else shlex.quote(word)


def _comment(text: str) -> list[str]:
    plain = " ".join(_UNSAFE_IN_COMMENT.sub(" ", text).split())
    return textwrap.wrap(plain, _WIDTH, initial_indent="# ", subsequent_indent="#   ", break_long_words=False)


def command_of(
    engine: Engine,
    run: Deployment,
    *,
    program: tuple[str, ...] = (),
    first: Iterable[Flag] = (),
    memory: Iterable[Flag] = (),
    longest: int = 0,
    cap: Cap | None = None,
    last: Iterable[Flag] = (),
    replicas: int = 1,
    quantized: bool = False,
    host: str | None = None,
    port: int | None = None,
    notes: Iterable[str] = (),
) -> Command:
    """The command that starts `engine`: the flags that engines share, and between them what is the engine's own.

    `run`: the deployment as the engine fills it. `program`: in place of the engine's own.
    `first`, `memory`, `last`: the engine's own flags before tensor parallelism, about memory, and after the cap.
    `longest`: of one sequence; 0 for the model's window. [tokens]
    """
    return Command(
        engine=engine.name,
        version=engine.version,
        date=engine.date,
        program=program or engine.program,
        options=(
            *first,
            *_ways(engine, run),
            *_replicas(engine, run, replicas),
            *_dtypes(engine, run, quantized=quantized),
            *memory,
            *_longest(engine, run, longest),
            *([Flag(engine.cap, str(cap.sequences), cap.why)] if cap else []),
            *last,
            *_listening(engine, host, port),
        ),
        notes=(*_notes(run), *notes),
    )


def _ways(engine: Engine, run: Deployment) -> list[Flag]:
    """Tensor parallelism; nothing on one chip."""
    if run.chips == 1:
        return []
    fewest = next(n for n in sizes(run) if cache_budget(replace(run, chips=n)) > 0)
    whole_model, part, chip = gb(weight_bytes(run)), gb(weight_bytes(run) / run.chips), run.chip.name
    need = f"{whole_model} of weights need at least {fewest} {chip} at {run.usable:.3g} of their memory"
    each = f"Each of {run.chips} reads {part} a step, in {in_ms(decode_step(run, 1, 0).weights)} at the least"
    return [Flag(engine.ways, str(run.chips), f"{need}. {each}")]


def _replicas(engine: Engine, run: Deployment, number: int) -> list[Flag]:
    """Data parallelism, full copies side by side; nothing for one copy."""
    R = copies(run, number)
    if R == 1:
        return []
    why = f"{R} full copies on {R * run.chips} GPUs"
    return [Flag(engine.replicas, str(R), f"{why}: {R} times the throughput, a step is as long")]


def _dtypes(engine: Engine, run: Deployment, *, quantized: bool) -> list[Flag]:
    """Arithmetic, weights and cache, where they are not what the bf16 checkpoint gives by itself."""
    flags, own = [], model_dtype(run)
    if own == "fp16":
        flags.append(Flag("--dtype", "float16", "arithmetic and activations in fp16 in place of bf16"))
    if run.weights == "fp8" and not quantized:
        stored, kept = gb(weight_bytes(replace(run, weights="bf16"))), gb(loaded_weight_bytes(run) * run.chips)
        why = f"loads the bf16 checkpoint of {stored} and keeps its linear weights in one byte each"
        flags.append(Flag("--quantization", engine.online, f"{why}, {kept} with embedding and head still in bf16"))
    if run.kv != own:
        kv, plain = run.model.kv_bytes_per_token(run.kv), run.model.kv_bytes_per_token(own)
        why = f"{kv:,.0f} B per token in place of {plain:,.0f}, as the default keeps {own}"
        flags.append(Flag(engine.cache, engine.kv_word(run.kv), why))
    return flags


def memory_share(engine: Engine, share: float, run: Deployment) -> Flag:
    """The share of the free memory that weights and cache may fill."""
    weights, cache = weight_bytes(run) / run.chips, cache_budget(run) / run.chips
    why = f"of the memory free before loading, for weights and cache: {gb(weights)} and {gb(cache)} on each GPU"
    return Flag(engine.memory, f"{share:g}", f"{why}, the rest is for activations and CUDA graphs")


def _longest(engine: Engine, run: Deployment, longest: int) -> list[Flag]:
    """The longest sequence; nothing where that is the model's own, or the engine has a rule of its own."""
    if not engine.longest or not 0 < longest < run.model.context_window:
        return []
    why = f"no sequence grows beyond it, {run.model.name} could go to {run.model.context_window:,}"
    return [Flag(engine.longest, str(longest), why)]


def _listening(engine: Engine, host: str | None, port: int | None) -> list[Flag]:
    """Where the server listens, if that was asked for."""
    flags = []
    if host is not None:
        flags.append(Flag("--host", plain_text("host", host), "the address to listen on"))
    if port is not None:
        if whole("port", port) > 65_535:
            raise ValueError(f"port must be a whole number from 1 to 65535, not {shown(port)}.")
        flags.append(Flag("--port", str(int(port)), f"the port to listen on, {engine.port} by default"))
    return flags


def _notes(run: Deployment) -> list[str]:
    """What a reader of the numbers should know although no flag says it."""
    notes = []
    if run.weights == "fp8" and run.compute != "fp8" and "fp8" in run.chip.flops:
        faster = f"{run.chip.rate('fp8') / run.chip.rate(run.compute):.3g} times the {run.compute} rate counted here"
        notes.append(f"{run.chip.name} multiplies FP8 weights in FP8, {faster}")
    if run.kv == model_dtype(run):
        notes.append(
            f"the cache stays in {run.kv}, the default: {run.model.kv_bytes_per_token(run.kv):,.0f} B per token"
        )
    return notes
