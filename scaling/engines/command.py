"""A launch command as data: its arguments, the reason for each flag, and text that any shell takes as it is."""

import math
import re
import shlex
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import Any, NamedTuple

from scaling._checks import shown, whole
from scaling.deployment import ROOFLINE, Deployment
from scaling.engines.pool import weights_on_chip
from scaling.engines.rules import Engine, Start, along_network, as_run, checkpoint_of, copies, is_blackwell, model_dtype
from scaling.engines.running import Cap, counted
from scaling.engines.words import gb, in_ms, no_flag, plain_text
from scaling.latency import decode_step, prefill_time
from scaling.memory import weight_bytes

_WIDTH = 79
# A shell that knows no comments when typed into (zsh, as it comes) must still pass over a comment unharmed.
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
        said = [f"{' '.join(filter(None, option[:2]))}: {option.why}" for option in self.options if option.why]
        comments = [line for text in (self._whose, *said, *self.notes) for line in _comment(text)]
        return "\n".join([*comments, self._lines])

    @property
    def _whose(self) -> str:
        return f"{self.engine} {self.version}, flags as of {self.date}"

    @property
    def _lines(self) -> str:
        rows = [self.program, *(tuple(filter(None, option[:2])) for option in self.options)]
        return " \\\n  ".join(" ".join(map(_quoted, row)) for row in rows)

    def __str__(self) -> str:
        return self.shell

    def _repr_html_(self) -> str:
        """The command to copy, and the reasons one click away."""
        reasons = "".join(f"<dt><code>{escape(flag)}</code></dt><dd>{escape(why)}</dd>" for flag, why in self.reasons)
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        return (
            f'<div class="scaling-command"><div class="highlight"><pre>{escape(self._lines)}</pre></div>'
            f"<details><summary>{escape(self._whose)}: why each flag, and what to expect</summary>"
            f"<dl>{reasons}</dl><ul>{notes}</ul></details></div>"
        )


def _quoted(word: str) -> str:
    # zsh reads a leading = as "where is this program".
    return f"'{word}'" if word.startswith("=") and shlex.quote(word) == word else shlex.quote(word)


def _comment(text: str) -> list[str]:
    plain = " ".join(_UNSAFE_IN_COMMENT.sub(" ", text).split())
    return textwrap.wrap(plain, _WIDTH, initial_indent="# ", subsequent_indent="#   ", break_long_words=False)


class CrossCheck(NamedTuple):
    """A check of flags against each other that an engine makes at its start: where in its source, what must hold."""

    where: str
    holds: Callable[[Mapping[str, Any]], bool]
    sentence: str


def cross_check(engine: Engine, checks: tuple[CrossCheck, ...], flags: Mapping[str, Any]) -> None:
    """Refuse flags that the engine would refuse at its start.

    Raises ``ValueError`` with the check's sentence, filled in, and where it stands in the engine's source.
    """
    for check in checks:
        if not check.holds(flags):
            place = f"{engine.name} {engine.version}, {check.where}"
            raise ValueError(f"{check.sentence.format_map(flags)}, as {place} asks at its start.")


# Flags ----------------------------------------------------------------------------------------------------------------


def command_of(
    engine: Engine,
    start: Start,
    *,
    program: tuple[str, ...] = (),
    first: Iterable[Flag] = (),
    memory: Iterable[Flag] = (),
    longest: int = 0,
    cap: Cap | None = None,
    last: Iterable[Flag] = (),
    replicas: int = 1,
    host: str | None = None,
    port: int | None = None,
    rank: int = 0,
    notes: Iterable[str] = (),
) -> Command:
    """The command that starts `engine`: the flags that engines share, and between them what is the engine's own.

    `program`: in place of the engine's own.
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
            *_ways(engine, start),
            *_replicas(engine, start, replicas),
            *_dtypes(engine, start),
            *memory,
            *_longest(engine, start.d, longest),
            *([Flag(engine.cap, str(cap.sequences), cap.why)] if cap else []),
            *last,
            *_listening(engine, host, port),
        ),
        notes=(*_weights_and_cache(engine, start), *_surroundings(engine, start, host, rank), *notes),
    )


def _ways(engine: Engine, start: Start) -> list[Flag]:
    """Tensor parallelism and pipeline stages; nothing on one chip."""
    d = start.d
    if d.chips == 1:
        return []
    ways = d.chips // start.stages
    what = f"and one sequence of {start.needed:,} tokens" if start.needed else "as loaded"
    need = f"{gb(start.weights)} of weights {what} need at least {start.fewest} {d.chip.name}"
    if not math.isnan(start.least):
        need += f" at {start.least:.3g} of their memory"
    shortest = in_ms(start.timed.step_bytes / start.timed.peak_bandwidth)
    read = f"Each of {d.chips} reads {gb(d.step_bytes / d.chips)} a step, in {shortest} at the least"
    if d.model.experts is not None:
        read += ": that is a step which wakes every expert"
    flags = [Flag(engine.ways, str(ways), f"{need}. {read}")] if ways > 1 else []
    if start.stages > 1:
        why = f"{start.stages} stages, each with its share of the layers, one after the other: a token visits them all"
        flags.append(Flag(engine.stages, str(start.stages), why))
    return flags


def _replicas(engine: Engine, start: Start, number: int) -> list[Flag]:
    """Data parallelism, full copies side by side; nothing for one copy."""
    R = copies(start.d, number)
    if R == 1:
        return []
    why = f"{R} full copies on {R * start.d.chips} GPUs"
    return [Flag(engine.replicas, str(R), f"{why}: {R} times the throughput, a step is as long")]


def _dtypes(engine: Engine, start: Start) -> list[Flag]:
    """Arithmetic, weights and cache, where they are not what the checkpoint gives by itself."""
    d, flags = start.d, []
    own = model_dtype(d)
    if own == "fp16":
        flags.append(Flag("--dtype", "float16", "arithmetic and activations in fp16 in place of bf16"))
    if not start.checkpoint.stored:
        stored, kept = gb(weight_bytes(replace(d, weights="bf16"))), gb(weights_on_chip(d) * d.chips)
        why = f"loads the bf16 checkpoint of {stored} and keeps its linear weights in one byte each"
        flags.append(Flag("--quantization", engine.online, f"{why}, {kept} with embedding and head still in bf16"))
    if d.kv != own:
        kv, plain = d.model.kv_bytes_per_token(d.kv), d.model.kv_bytes_per_token(own)
        why = f"{kv:,.0f} B per token in place of {plain:,.0f}, as the default keeps {own}"
        if d.kv == "fp8":
            why += ". Without scales in the checkpoint it runs at a scale of 1, so check the accuracy"
        flags.append(Flag(engine.cache, engine.kv_word(d.kv), why))
    return flags


def memory_share(engine: Engine, share: float, start: Start) -> Flag:
    """The share of the free memory that weights and pool may fill."""
    weights = gb(weights_on_chip(start.d))
    why = f"of the memory free before loading, for weights and cache: {weights} and {gb(start.pool.budget)} on each GPU"
    return Flag(engine.memory, f"{share:g}", f"{why}, the rest is for activations and CUDA graphs")


def _longest(engine: Engine, d: Deployment, longest: int) -> list[Flag]:
    """The longest sequence; nothing where that is the model's own, or the engine has a rule of its own."""
    if not engine.longest or not 0 < longest < d.model.context_window:
        return []
    why = f"no sequence grows beyond it, {d.model.name} could go to {d.model.context_window:,}"
    return [Flag(engine.longest, str(longest), why)]


def _listening(engine: Engine, host: str | None, port: int | None) -> list[Flag]:
    """Where the server listens, if that was asked for."""
    flags = []
    if host is not None:
        default = f", {engine.host} by default" if engine.host else ""
        flags.append(Flag("--host", no_flag("host", host), f"the address to listen on{default}"))
    if port is not None:
        flags.append(Flag("--port", str(a_port("port", port)), f"the port to listen on, {engine.port} by default"))
    return flags


def a_port(name: str, port: int) -> int:
    """`port` as a whole number.

    Raises ``ValueError`` for one that is none from 1 to 65535.
    """
    if whole(name, port) > 65_535:
        raise ValueError(f"{name} must be a whole number from 1 to 65535, not {shown(port)}.")
    return int(port)


def _weights_and_cache(engine: Engine, start: Start) -> list[str]:
    """What a reader of the numbers should know of weights and cache although no flag says it."""
    d, notes, ways = start.d, [], start.ways
    if start.checkpoint.name.startswith("meta-llama/"):
        notes.append("meta-llama repositories are gated: set HF_TOKEN of an account let in")
    if start.checkpoint.stored and d.weights == "fp8" and "fp8" in d.chip.flops:
        notes.append("the checkpoint is stored in FP8: no flag is needed to load it")
    if d.weights == "fp8" and "fp8" not in d.chip.flops:
        notes.append(
            f"{d.chip.name} has no FP8 arithmetic: the weights are stored in FP8 and computed in {model_dtype(d)}"
        )
    if d.weights == "int8" and is_blackwell(d):
        notes.append("a checkpoint that multiplies in int8, W8A8, does not run on Blackwell: this one must be W8A16")
    if d.kv_split == "heads" and (stored := ways // d.model.kv_heads) > 1:
        notes.append(f"{ways} ways share {d.model.kv_heads} KV heads: each is stored {stored} times")
    if d.kv == model_dtype(d):
        notes.append(f"the cache stays in {d.kv}, the default: {d.model.kv_bytes_per_token(d.kv):,.0f} B per token")
    return notes


def _surroundings(engine: Engine, start: Start, host: str | None, rank: int) -> list[str]:
    """What the machines around the command have to give."""
    d, notes = start.d, []
    if along_network(d, start.stages) > 1:
        notes.append("tensor parallelism crosses machines: stages, one a machine, are usual")
    if start.machines > 1:
        last = start.machines - 1
        notes.append(f"one such command a machine, ranks 0 to {last}, with NCCL_SOCKET_IFNAME set")
    if d.chips > 1 and engine.stages:
        notes.append("in docker add --ipc host: the processes of the GPUs share memory")
    if engine.host and host is None and not rank:
        notes.append(f"listens on {engine.host} only: in a container or for other machines add --host 0.0.0.0")
    if engine.open and host is None and not rank:
        notes.append("listens on every address without a key: see --host and --api-key")
    return notes


def address_of(head: str | None) -> tuple[str, str]:
    """The address and the port of the first of several machines.

    Raises ``ValueError`` for anything but the two with a colon between them, IPv6 in brackets.
    """
    address, _, port = no_flag("head", head).rpartition(":")
    bare = ":" in address and not (address.startswith("[") and address.endswith("]"))
    if not address or bare or "/" in address or not port.isdecimal() or not 1 <= int(port) <= 65_535:
        raise ValueError(
            f"head must be an address and a port of 1 to 65535, such as 10.0.0.1:20000 or (for IPv6) [fd00::1]:20000, "
            f"not {shown(head)}."
        )
    return address, port


def machine_flags(start: Start, head: str | None, rank: int) -> list[Flag]:
    """Which of several machines a command is for; nothing for one.

    Raises ``ValueError`` for a rank that is no whole number from 0 to one below the number of machines, and for either
    where there is one machine.
    """
    if start.machines == 1:
        if head is not None or rank:
            name, given = ("head", head) if head is not None else ("rank", rank)
            raise ValueError(f"{name} must not be given for {start.d.chips} chips in one machine, not {shown(given)}.")
        return []
    if isinstance(rank, bool) or not isinstance(rank, int) or not 0 <= rank < start.machines:
        raise ValueError(f"rank must be a whole number from 0 to {start.machines - 1}, not {shown(rank)}.")
    each = start.d.chips // start.machines
    return [
        Flag("--nnodes", str(start.machines), f"{start.machines} machines of {each} GPUs"),
        Flag("--node-rank", str(rank), "which of them this command is for, from 0"),
    ]


def benchmark_command(
    engine: Engine,
    d: Deployment,
    *,
    prompt: int,
    answer: int,
    concurrency: int,
    model_path: str | None = None,
    host: str = "127.0.0.1",
    port: int | None = None,
) -> Command:
    """The engine's own benchmark of a running server, such as ``SGLANG``'s, and the least that it can print.

    `prompt`, `answer`: of each request. [tokens]
    `concurrency`: requests at once. [sequences]

    Raises ``ValueError`` for a number below 1, or an engine without a benchmark.
    Source: SGLang 0.5.23, ``sglang.benchmark.serving``; vLLM 0.33.0, ``vllm bench serve``.
    """
    if not engine.benchmark:
        raise ValueError(f"engine must be one with a benchmark of its own, SGLang or vLLM, not {engine.name}.")
    S, G, B = whole("prompt", prompt), whole("answer", answer), whole("concurrency", concurrency)
    run = as_run(engine, d)
    step = in_ms(decode_step(replace(run, efficiency=ROOFLINE), B, S + G / 2).total)
    return Command(
        engine=engine.name,
        version=engine.version,
        date=engine.date,
        program=engine.benchmark,
        options=(
            Flag("--model", checkpoint_of(engine, run, model_path).name),
            Flag("--dataset-name", "random", "prompts of random words, so that no prefix cache helps"),
            Flag("--random-input-len", str(S)),
            Flag("--random-output-len", str(G)),
            Flag("--max-concurrency", str(B), "requests at once, the batch of the step below"),
            Flag("--num-prompts", str(10 * B), "ten for each of them, so that start and end weigh little"),
            Flag("--host", no_flag("host", host)),
            Flag("--port", str(engine.port if port is None else a_port("port", port))),
        ),
        notes=(
            f"its median TPOT: {step} by the serial roofline, for {counted(B, S + G / 2)} on average",
            f"its median TTFT: {in_ms(prefill_time(run, S))} at the peak FLOP/s, for one prompt alone",
        ),
    )
