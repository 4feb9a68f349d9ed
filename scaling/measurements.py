"""What engines were measured to do: published rows, each with its source, read one by one and checked.

The data are `scaling/data/measurements.csv` and `sources.csv`; `scaling/data/README.md` says where they come from.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

from scaling._array import minimum
from scaling._checks import shown, word
from scaling._records import replace
from scaling.chips import A10G, A100, A100_40, B200, GB200, GH200, H100, H200, L40S, MI300X, MI325X, Chip
from scaling.deployment import ROOFLINE, Deployment, Efficiency
from scaling.latency import StepTime, decode_step, mixed_step, prefill_floor
from scaling.memory import cache_budget
from scaling.models import LLAMA2_7B, LLAMA2_13B, LLAMA2_70B, LLAMA3_8B, LLAMA3_70B, LLAMA3_405B, Model
from scaling.roofline import causal_flops
from scaling.throughput import plateau
from scaling.units import ms

METRICS = ("output_tokens_per_s", "tpot_ms", "ttft_ms")
MODES = ("static", "serving", "max")
FLAWS = ("", "lengths", "unoptimised", "starved", "batch")
DTYPES = ("bf16", "fp16", "fp8", "int8", "fp4")
COLUMNS = (
    "source date engine version model chip chips tp pp weights kv input output batch mode metric value flaw"
).split()

# Chips and models by the names of the data.
CHIPS: dict[str, Chip] = {
    **{"H100-SXM": H100, "H200-SXM": H200, "GH200-96": GH200, "B200": B200, "GB200": GB200},
    **{"A100-80": A100, "A100-40": A100_40, "A10G": A10G, "L40S": L40S, "MI300X": MI300X, "MI325X": MI325X},
}
MODELS: dict[str, Model] = {
    **dict.fromkeys(("LLaMA-1-7B", "LLaMA-2-7B"), LLAMA2_7B),
    **dict.fromkeys(("LLaMA-1-13B", "LLaMA-2-13B"), LLAMA2_13B),
    "LLaMA-2-70B": LLAMA2_70B,
    "Mistral-7B": replace(LLAMA3_8B, name="Mistral-7B", vocab=32_000),
    **dict.fromkeys(("LLaMA-3-8B", "LLaMA-3.1-8B"), LLAMA3_8B),
    **dict.fromkeys(("LLaMA-3-70B", "LLaMA-3.1-70B", "LLaMA-3.3-70B"), LLAMA3_70B),
    "LLaMA-3.1-405B": LLAMA3_405B,
}

# What an engine gives to weights and cache of what the device reports, and how many sequences it takes at most: the
# defaults of vLLM and TensorRT-LLM, from 0.9 to 0.95 and from 1,024 to 2,048; the fit hardly depends on either.
POOL = 0.9
MOST = 2048


class Measurement(NamedTuple):
    """One published number.

    `chips` are all those of the measurement, `tp` of them share each layer. `input` and `output` are mean lengths of
    prompt and answer. [tokens] `batch` is 0 where the engine took what it could hold. `value` has the unit that the
    metric says; `flaw` is why nothing can be learned from it, empty if something can.
    """

    source: str
    date: str
    engine: str
    version: str
    model: str
    chip: str
    chips: int
    tp: int
    pp: int
    weights: str
    kv: str
    input: int
    output: int
    batch: float
    mode: str
    metric: str
    value: float
    flaw: str

    @property
    def publisher(self) -> str:
        """Who published it: several documents may be of one publisher."""
        return sources()[self.source].publisher

    @property
    def group(self) -> str:
        """Decode where a step was timed, prefill where a prompt was, both where whole requests were."""
        return {"tpot_ms": "decode", "ttft_ms": "prefill"}.get(self.metric, "both")


class Source(NamedTuple):
    """A document that rows were taken from."""

    source: str
    publisher: str
    title: str
    url: str


def _lines(name: str) -> Iterator[str]:
    from importlib.resources import files

    with files("scaling").joinpath("data", name).open(encoding="utf-8") as file:
        yield from file


@cache
def sources() -> dict[str, Source]:
    """The documents by their short names."""
    from csv import reader

    rows = reader(_lines("sources.csv"))
    next(rows)
    return {row[0]: Source(*row) for row in rows}


def measurements(lines: Iterable[str] | None = None) -> Iterator[Measurement]:
    """The rows one by one: of the package's own data, or of `lines` in the same form.

    Raises ``ValueError`` that names the line, the field, the value given and what is allowed.
    """
    from csv import reader

    rows = reader(_lines("measurements.csv") if lines is None else lines)
    if next(rows, None) != COLUMNS:
        raise ValueError(f"line 1: the columns must be {','.join(COLUMNS)}.")
    for row in rows:
        try:
            yield _measurement(row)
        except ValueError as error:
            raise ValueError(f"line {rows.line_num}: {error}") from None


def _measurement(row: list[str]) -> Measurement:
    if len(row) != len(COLUMNS):
        raise ValueError(f"a row must have {len(COLUMNS)} fields, not {len(row)}.")
    text = dict(zip(COLUMNS, row, strict=True))
    for name in ("date", "engine", "model", "chip"):
        if not text[name]:
            raise ValueError(f"{name} must not be empty.")
    word("source", text["source"], tuple(sources()))
    word("weights", text["weights"], DTYPES)
    word("kv", text["kv"], ("", *DTYPES))
    word("mode", text["mode"], MODES)
    word("metric", text["metric"], METRICS)
    word("flaw", text["flaw"], FLAWS)
    values: dict[str, Any] = dict(text)
    for name in ("chips", "tp", "pp", "input", "output"):
        values[name] = _number(name, text[name], 1, 1e6, whole=True)
    values["value"] = _number("value", text["value"], 1e-3, 1e8)
    values["batch"] = 0.0 if text["mode"] == "max" and not text["batch"] else _number("batch", text["batch"], 1, 1e5)
    if values["chips"] % values["tp"]:
        raise ValueError(f"tp must divide the chips, {values['chips']}, not {values['tp']}.")
    return Measurement(**values)


def _number(name: str, text: str, least: float, most: float, *, whole: bool = False) -> float:
    kind = "a whole number" if whole else "a number"
    try:
        value = int(text) if whole else float(text)
    except ValueError:
        value = -1.0
    if not least <= value <= most:
        raise ValueError(f"{name} must be {kind} from {least:g} to {most:g}, not {shown(text)}.")
    return value


def deployment(row: Measurement, efficiency: Efficiency = ROOFLINE) -> Deployment:
    """What the row was measured on: one copy of the model, with the memory that an engine gives to weights and cache.

    A cache whose dtype is not stated has 8 bits beside fp8 weights, and 16 otherwise. The step reads and multiplies
    the streamed parameters.
    """
    weights, chip = row.weights.replace("fp16", "bf16"), CHIPS[row.chip]
    return Deployment(
        model=MODELS[row.model],
        chip=replace(chip, memory=chip.device_memory),
        chips=row.tp,
        weights=weights,
        kv=row.kv.replace("fp16", "bf16") or ("fp8" if weights == "fp8" else "bf16"),
        params="streamed",
        usable=POOL,
        efficiency=efficiency,
    )


def sequences(row: Measurement) -> float:
    """The batch: as stated, or where the engine took all that it could what memory holds at full length, up to `MOST`.

    Of a sequence whole: prompt and answer are reserved, as TensorRT-LLM does unless told otherwise.
    """
    return row.batch or max(1.0, float(minimum(_held(row), MOST)))


def _held(row: Measurement) -> float:
    d = deployment(row)
    return float(cache_budget(d) / ((row.input + row.output) * d.kv_per_token))


def unusable(row: Measurement) -> str:
    """Why no estimate can be held to this row, in a word or two; empty if it can."""
    if row.model not in MODELS or row.chip not in CHIPS:
        return "shape or chip"
    if row.flaw:
        return row.flaw
    if row.weights == "fp4" or row.pp > 1:
        return "fp4" if row.weights == "fp4" else "pipeline"
    if row.engine == "HuggingFace" or row.engine == "Triton (FasterTransformer)":
        return "unoptimised"
    return "starved" if row.batch > _held(row) else ""


def seconds(row: Measurement) -> float:
    """What the row's number says, as a time: of a token, of a prompt, or of a whole batch from prompt to last token."""
    if row.metric != "output_tokens_per_s":
        return row.value * ms
    copies = row.chips / (row.tp * row.pp)
    return copies * sequences(row) * row.output / row.value


def terms(row: Measurement, efficiency: Efficiency = ROOFLINE) -> tuple[float, StepTime, float, StepTime]:
    """How many steps, such a step, how many passes over the prompts, such a pass: what the row's time is made of.

    A rate is of whole requests: the batch's prompts once, then a step for each token of the answer, at the mean
    context, since a step grows evenly with it. Where requests come and go, as many prompts as answers end in the same
    time; so it holds for a token's time under load, too.
    """
    d, B, S, G = deployment(row, efficiency), sequences(row), row.input, row.output
    step, prompts = decode_step(d, B, S + G / 2), mixed_step(d, 0, 0, B * S)
    prompts = prompts._replace(compute=prompts.compute + B * causal_flops(d.model, S) / d.flops)
    if row.metric == "ttft_ms":
        return 0.0, step, 1.0, prompts
    if row.metric == "tpot_ms":
        return 1.0, step, 1 / G if row.mode == "serving" else 0.0, prompts
    return float(G), step, 1.0, prompts


def predicted(row: Measurement, efficiency: Efficiency = ROOFLINE) -> float:
    """Time of the row by the serial law: its steps, and its passes over the prompts, one after another. [s]"""
    steps, step, passes, prompts = terms(row, efficiency)
    return float(steps * step.total + passes * prompts.total)


def least(row: Measurement) -> float:
    """Time of the row at the floor: of its steps or of its prompts, whichever is longer, since the two may overlap. [s]

    Steps are taken at the prompt's length, their shortest; without a stated batch at the best rate of any.
    """
    d, B, S = deployment(row), sequences(row), row.input
    steps, _, passes, _ = terms(row)
    step = decode_step(d, B, S).floor if row.batch else B / plateau(d, S, overlapped=True)
    return float(max(steps * step, passes * prefill_floor(d, S, batch=B)))
