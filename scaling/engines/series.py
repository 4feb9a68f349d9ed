"""The text of a metrics page as numbers: values by name and labels, and histograms with their means and quantiles."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from sys import float_info

from scaling._checks import in_line, shown

ENGINES = ("sglang", "vllm")

# A page of a hundred replicas is as long as this. With these bounds no text takes a second.
_LONGEST_TEXT = 2**20
_LONGEST_LINE = 20_000
_MOST_SAMPLES = 20_000
_MOST_BACKSLASHES = 10_000

_NEVER_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffd]")

_HOW = (
    "get it with `curl http://127.0.0.1:30000/metrics` from SGLang started with --enable-metrics, or with "
    "`curl http://127.0.0.1:8000/metrics` from vLLM"
)

Labels = frozenset[tuple[str, str]]
# The values of one metric, by the labels that tell its series apart.
Series = Mapping[Labels, float]


@dataclass(frozen=True)
class Histogram:
    """Observations by upper bound: `buckets` of (bound, observations up to it), the last bound infinite.

    `count` observations with the sum `sum`, in the unit of the metric: seconds for latencies.
    """

    buckets: tuple[tuple[float, float], ...]
    count: float
    sum: float

    @property
    def mean(self) -> float:
        """Mean of the observations; exact, whatever the buckets. NaN without observations."""
        return self.sum / self.count if self.count else math.nan

    def quantile(self, q: float) -> float:
        """Value that a share `q` of the observations does not exceed, as Prometheus' ``histogram_quantile`` has it.

        Observations count as evenly spread within a bucket, whose width is the error. Beyond the last finite bound it
        is that bound; NaN without observations.

        Raises ``ValueError`` for a share outside 0 to 1.
        """
        if isinstance(q, bool) or not isinstance(q, (int, float)) or not 0 <= q <= 1:
            raise ValueError(f"q must be a share of 0 to 1, not {shown(q)}.")
        if not self.count or len(self.buckets) < 2:
            return math.nan
        rank, start, below = q * self.count, min(0.0, self.buckets[0][0]), 0.0
        for bound, up_to in self.buckets[:-1]:
            if up_to >= rank and up_to > below:
                return start + (bound - start) * (rank - below) / (up_to - below)
            start, below = bound, up_to
        return start


def read_series(text: str | bytes) -> tuple[str, dict[str, Series]]:
    """The engine, and its metrics by name without the prefix. Lines of anything else on the page are left out.

    Raises ``ValueError`` that says what was given instead of a whole metrics page, and how to get one; ``ImportError``
    without the package prometheus_client.
    """
    page = _as_page(text)
    found: dict[str, dict[Labels, float]] = {}
    engines, samples = set(), 0
    for line in map(str.strip, page.split("\n")):
        engine = line.partition("_")[0].partition(":")[0]
        if engine in ENGINES and line[len(engine) : len(engine) + 1] in (":", "_"):
            name, labels, value = _sample(line)
            engines.add(engine)
            samples += 1
            if samples > _MOST_SAMPLES:
                raise _refused(f"a text with over {_MOST_SAMPLES:,} values")
            found.setdefault(name[len(engine) + 1 :], {})[labels] = value
    if not engines:
        raise _refused(f"a text without a metric of SGLang or vLLM, which starts with {_start(page)}")
    if len(engines) > 1:
        raise ValueError("text must be the metrics page of one server, not those of SGLang and vLLM together.")
    if not page.endswith("\n"):
        _must_end_whole([line for line in page.split("\n") if line.strip()])
    for name in [name.removesuffix("_bucket") for name in found if name.endswith("_bucket")]:
        _must_be_whole(name, found)
    return engines.pop(), dict(found)


def _refused(given: str) -> ValueError:
    return ValueError(f"text must be the whole metrics page of an engine, not {given}: {_HOW}.")


def _start(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return repr(line if len(line) <= 40 else f"{line[:37]}...")


def _as_page(text: str | bytes) -> str:
    """The text with plain line ends, if it can be a metrics page at all."""
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise _refused("binary data") from None
    if not isinstance(text, str):
        raise _refused(shown(text))
    if len(text) > _LONGEST_TEXT:
        raise _refused(f"a text of {len(text):,} characters")
    escapes = text.count("\\")
    if escapes > _MOST_BACKSLASHES:
        raise _refused(f"a text with {escapes:,} backslashes")
    page = text.removeprefix("\ufeff").replace("\r\n", "\n")
    bare = page.strip()
    if not bare:
        raise _refused("an empty text")
    if _NEVER_TEXT.search(page):
        raise _refused("binary data")
    if bare[0] == "<":
        raise _refused(f"an HTML page, which starts with {_start(bare)}")
    if bare[0] in "{[":
        raise _refused(f"JSON, which starts with {_start(bare)}")
    return page


def _sample(line: str) -> tuple[str, Labels, float]:
    """Name, labels and value of one line."""
    try:
        from prometheus_client.parser import text_string_to_metric_families
    except ModuleNotFoundError as error:
        raise ImportError(
            "read_metrics needs the package prometheus_client: install it with pip install prometheus-client."
        ) from error
    if len(line) > _LONGEST_LINE:
        raise _refused(f"a text with a line of {len(line):,} characters, {_start(line)}")
    try:
        ((sample,),) = (family.samples for family in text_string_to_metric_families(line + "\n"))
        value = math.inf if abs(sample.value) > float_info.max else float(sample.value)
        return sample.name, frozenset(sample.labels.items()), value
    except Exception:  # whatever the parser trips over, the line is not one of a metrics page
        raise _refused(f"a text that is damaged or cut off in the line {_start(line)}") from None


_WHOLE_VALUE = re.compile(r"[+-]?(?:\d+|\d+\.\d+|\d+(?:\.\d+)?e[+-]\d\d+|Inf)|NaN")
_COUNTED = ("_total", "_count", "_bucket", "_tokens", "_reqs")


def _must_end_whole(lines: list[str]) -> None:
    """Refuse a last line, which has no line end, if the end of its value may be missing too."""
    last, values = lines[-1], [line.split()[-1] for line in lines if not line.startswith("#")]
    name, value = re.split(r"[{\s]", last, maxsplit=1)[0], last.split()[-1]
    whole = last == "# EOF" or (_WHOLE_VALUE.fullmatch(value) and not last.startswith("#"))
    # Of 0.73 nobody can tell whether it was 0.7312, or of 1.5 whether it was 1.5e+06: on a page as engines write it,
    # with comments, and for what is a count, only a whole number is safe.
    if whole and value[-1].isdigit() and (len(values) < len(lines) or name.endswith(_COUNTED)):
        whole = float(value) % 1 == 0
    if whole and value.isdigit() and len(values) > 1:
        whole = any(other.isdigit() for other in values[:-1])  # where all others are written as 12.0, a 12 is cut
    if not whole:
        raise _refused(f"a text that is cut off in the line {_start(last)}, or lacks its last line break")


def _must_be_whole(name: str, found: Mapping[str, Series]) -> None:
    """Refuse a histogram without an infinite bucket and a sum in each of its series."""
    bounds = [split_bound(labels) for labels in found[f"{name}_bucket"]]
    every = {rest for rest, bound in bounds if bound is not None}
    whole = {rest for rest, bound in bounds if bound == math.inf} & found.get(f"{name}_sum", {}).keys()
    if every - whole:
        raise _refused(f"a text that is cut off: its histogram {in_line(name, 50)} is not complete")


def split_bound(labels: Labels) -> tuple[Labels, float | None]:
    """The labels of a bucket without its upper bound, and that bound; None if they name none."""
    for item in labels:
        if item[0] == "le":
            try:
                return labels - {item}, float(item[1])
            except ValueError:
                raise _refused(f"a text with a histogram bound {shown(item[1])}") from None
    return labels, None
