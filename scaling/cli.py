"""``python -m scaling``: the size and speed of one model on one chip, from its ``config.json`` or its name."""

import argparse
import math
import os
import sys
from collections.abc import Sequence
from functools import partial
from typing import NoReturn, TextIO

from scaling import chips
from scaling._checks import in_line
from scaling._records import replace
from scaling.deployment import Deployment, parallel_sizes
from scaling.latency import decode_step
from scaling.memory import cache_bytes, max_batch, min_chips, weight_bytes
from scaling.models import (
    LLAMA3_8B,
    LLAMA3_70B,
    LLAMA3_405B,
    LLAMA31_8B,
    LLAMA31_70B,
    LLAMA33_70B,
    Model,
    from_hf_config,
)
from scaling.units import DTYPE_BYTES, GB, kB, ms, number

CHIPS = {name.lower(): chip for name, chip in vars(chips).items() if any(chip is c for c in chips.CATALOGUE)}
MODELS = {
    **{"8b": LLAMA3_8B, "70b": LLAMA3_70B, "405b": LLAMA3_405B},
    **{"3.1-8b": LLAMA31_8B, "3.1-70b": LLAMA31_70B, "3.3-70b": LLAMA33_70B},
}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line instead of the whole usage."""
        sys.exit(_refuse(f"{message} (--help lists what there is)"))


def _refuse(message: object) -> int:
    try:
        _print(f"scaling: {in_line(' '.join(str(message).split()), 300)}", sys.stderr)
    except OSError:
        pass  # nobody hears it: the exit code says it still
    return 2


def _print(text: str, file: TextIO | None) -> None:
    """Print what the terminal's own letters can say, and the rest as escapes.

    Raises ``OSError`` when it cannot be written.
    """
    if file is None:  # Python's word for an output that was closed before it started
        raise OSError("there is no output to print to.")
    encoding = file.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), file=file, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m scaling",
        description="How large a model is, the fewest chips that hold it, and how long a decode step takes.",
        epilog="Example: python -m scaling 70b --chip h100 --weights fp8 --kv fp8 --batch 32 --context 8192",
        # To ask the terminal for its width, argparse loads five modules of compression on every start.
        formatter_class=partial(argparse.HelpFormatter, width=100),
    )
    parser.add_argument("model", help=f"{', '.join(MODELS)}, or the path of a Hugging Face config.json or its folder")
    parser.add_argument("--chip", type=str.lower, choices=CHIPS, default="h100", help="default: %(default)s")
    parser.add_argument("--weights", type=str.lower, choices=DTYPE_BYTES, help="default: as the model is stored")
    parser.add_argument("--kv", type=str.lower, choices=DTYPE_BYTES, default="bf16", help="default: %(default)s")
    parser.add_argument("--batch", type=int, default=1, help="sequences decoded together; default: %(default)s")
    parser.add_argument("--context", type=int, default=8192, help="tokens per sequence; default: %(default)s")
    return parser


def report(d: Deployment, batch: int, context: int) -> tuple[str, bool]:
    """The answer as text, on the fewest chips that hold the batch, and whether any number of them does.

    Raises ``ValueError`` for a negative batch or context.
    """
    lines = [
        f"{d.model.name}: {d.model.params:,} parameters, {number(weight_bytes(d) / GB)} GB in {d.weights}",
        f"KV cache: {number(d.model.kv_bytes_per_token(d.kv) / kB)} kB per token in {d.kv}",
    ]
    if (window := d.model.window) is not None:
        stop = f"{window.layers} of {d.model.layers} layers keep the last {window.tokens:,} tokens"
        lines.append(f"{stop}: {number(cache_bytes(d, 1, context) / GB)} GB for one sequence of {context:,}")
    if note := d.model.window_note(context):
        lines.append(f"Note: {note}")
    held = f"{batch:,} {'sequence' if batch == 1 else 'sequences'} of {context:,} tokens"
    fewest = min_chips(d, batch, context)
    if not fewest:
        most = max(parallel_sizes(d.model, d.chip), default=0)
        # More machines may hold it, as stages of a pipeline: scaling.engines starts them.
        where = f"within one domain of fast links, where at most {most} share the model"
        lines.append(
            f"No number of {d.chip.name} holds {held} {where}. Several machines in stages are not counted here."
        )
        return "\n".join(lines), False
    d = replace(d, chips=fewest)
    step, most = decode_step(d, batch, context), max_batch(d, context)
    room = f"up to {number(most)} fit" if most < math.inf else "no tokens need no cache: any number fits"
    lines += [
        f"Fewest {d.chip.name} for {held}: {fewest} ({room})",
        f"Decode step there, one kernel after another: {number(step.total / ms)} ms; the longest term is the "
        f"{step.longest}. No schedule takes less than {number(step.floor / ms)} ms",
    ]
    return "\n".join(lines), True


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report. 1 when no number of chips holds the batch; 2 and one line for input that makes no sense."""
    given = _parser().parse_args(arguments)
    try:
        model = _model(given.model)
        d = Deployment(model=model, chip=CHIPS[given.chip], weights=given.weights or model.stored, kv=given.kv)
        text, held = report(d, given.batch, given.context)
        _print(text, sys.stdout)
        return 0 if held else 1
    except BrokenPipeError:
        # Whoever reads has had enough. Python would complain once more when it closes the pipe itself.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except FileNotFoundError as error:
        return _refuse(f"{error}: give {', '.join(MODELS)} or the path of a config.json.")
    except (ValueError, OSError) as error:
        return _refuse(error)


def _model(given: str) -> Model:
    if given.lower() in MODELS:
        return MODELS[given.lower()]
    config = os.path.join(given, "config.json")
    return from_hf_config(config if os.path.isfile(config) else given)
