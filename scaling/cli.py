"""``python -m scaling``: the size and speed of one model on one chip, from its ``config.json`` or its name."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

from scaling import chips, models
from scaling._checks import in_line
from scaling.deployment import Deployment, parallel_sizes
from scaling.latency import decode_step
from scaling.memory import max_batch, min_chips, weight_bytes
from scaling.units import DTYPE_BYTES, GB, kB, ms, number

CHIPS = {name.lower(): chip for name, chip in vars(chips).items() if any(chip is c for c in chips.CATALOGUE)}
MODELS = {"8b": models.LLAMA3_8B, "70b": models.LLAMA3_70B, "405b": models.LLAMA3_405B}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line instead of the whole usage."""
        sys.exit(_refuse(f"{message} (--help lists what there is)"))


def _refuse(message: object) -> int:
    print(f"scaling: {in_line(' '.join(str(message).split()), 300)}", file=sys.stderr)
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m scaling",
        description="How large a model is, the fewest chips that hold it, and how long a decode step takes.",
        epilog="Example: python -m scaling 70b --chip h100 --weights fp8 --kv fp8 --batch 32 --context 8192",
    )
    parser.add_argument("model", help=f"{', '.join(MODELS)}, or the path of a Hugging Face config.json")
    parser.add_argument("--chip", choices=CHIPS, default="h100", help="default: %(default)s")
    parser.add_argument("--weights", choices=DTYPE_BYTES, default="bf16", help="default: %(default)s")
    parser.add_argument("--kv", choices=DTYPE_BYTES, default="bf16", help="default: %(default)s")
    parser.add_argument("--batch", type=int, default=1, help="sequences decoded together; default: %(default)s")
    parser.add_argument("--context", type=int, default=8192, help="tokens per sequence; default: %(default)s")
    return parser


def report(d: Deployment, batch: int, context: int) -> str:
    """The answer as text, on the fewest chips that hold the batch.

    Raises ``ValueError`` for a negative batch or context.
    """
    lines = [
        f"{d.model.name}: {d.model.params:,} parameters, {number(weight_bytes(d) / GB)} GB in {d.weights}",
        f"KV cache: {number(d.model.kv_bytes_per_token(d.kv) / kB)} kB per token in {d.kv}",
    ]
    held = f"{batch:,} {'sequence' if batch == 1 else 'sequences'} of {context:,} tokens"
    fewest = min_chips(d, batch, context)
    if not fewest:
        most = max(parallel_sizes(d.model, d.chip), default=0)
        lines.append(f"No number of {d.chip.name} that can share the model (at most {most}) holds {held}.")
        return "\n".join(lines)
    d = replace(d, chips=fewest)
    step = decode_step(d, batch, context)
    lines += [
        f"Fewest {d.chip.name} for {held}: {fewest} (up to {number(max_batch(d, context))} fit)",
        f"Decode step there, one kernel after another: {number(step.total / ms)} ms; the longest term is the "
        f"{step.longest}. No schedule takes less than {number(step.floor / ms)} ms",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; 2 and one line for input that makes no sense."""
    given = _parser().parse_args(arguments)
    try:
        model = MODELS.get(given.model.lower()) or models.from_hf_config(given.model)
        d = Deployment(model=model, chip=CHIPS[given.chip], weights=given.weights, kv=given.kv)
        print(report(d, given.batch, given.context))
    except FileNotFoundError as error:
        return _refuse(f"{error}: give {', '.join(MODELS)} or the path of a config.json.")
    except (ValueError, OSError) as error:
        return _refuse(error)
    return 0
