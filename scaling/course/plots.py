"""The look of the book's figures, in one place: one colour, hatch and dash per meaning, on screen and in print.

Figures are SVG with a fixed hash salt and no date, so that the same numbers give the same bytes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from scaling.batching import Span, Timeline
from scaling.latency import StepTime
from scaling.units import number

# Okabe and Ito's palette: told apart by readers with any common colour blindness, and by hatch in print.
TERMS: Mapping[str, tuple[str, str]] = {
    "weights": ("#0072B2", ""),
    "compute": ("#E69F00", "///"),
    "cache": ("#009E73", "..."),
    "collectives": ("#CC79A7", "xxx"),
    "overhead": ("#8C8C8C", "\\\\\\"),
}

# What a request does, in colours that no term has: colour, hatch, height of the bar, name in the legend.
KINDS: Mapping[str, tuple[str, str, float, str]] = {
    "prefill": ("#D55E00", "////", 0.74, "prefill"),
    "decode": ("#56B4E9", "", 0.74, "decode"),
    "mixed": ("#5D3A9B", "xxxx", 0.74, "decode, beside a prefill"),
    "transfer": ("#3B3B3B", "||||", 0.74, "transfer"),
    "held": ("#F2F2F2", "....", 0.74, "finished, keeps its place"),
    "wait": ("#C8C8C8", "", 0.16, "waits"),
}

_LINES = (
    ("#0072B2", "-", "o"),
    ("#D55E00", "--", "s"),
    ("#009E73", "-.", "^"),
    ("#CC79A7", ":", "D"),
    ("#8C6D00", (0, (5, 1, 1, 1, 1, 1)), "v"),
)

_EDGE: Any = {"edgecolor": "white", "linewidth": 0.5}

SIZE = (5.4, 3.4)  # narrow, so that labels stay readable when a phone shrinks the figure

_STYLE: Any = {
    "figure.figsize": SIZE,
    "figure.constrained_layout.use": True,
    "figure.facecolor": "white",
    "font.size": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "hatch.linewidth": 0.5,
    "legend.frameon": False,
    "legend.fontsize": 9.5,
    "legend.handlelength": 2.8,
    "lines.linewidth": 2,
    "svg.hashsalt": "scaling",
    "svg.fonttype": "path",
}


def use_book_style() -> None:
    """Set the figure style, and byte-stable SVG output in notebooks. Call it once, in a notebook's first cell."""
    from IPython import get_ipython
    from matplotlib_inline.backend_inline import set_matplotlib_formats
    from matplotlib_inline.config import InlineBackend

    # From the defaults, and in a notebook with the inline backend whatever MPLBACKEND says: neither a variable nor a
    # settings file of the machine (matplotlibrc, a profile of IPython) may change a figure or leave it out.
    mpl.rcdefaults()
    inline = InlineBackend.instance()
    inline.rc, inline.close_figures = {}, True
    inline.print_figure_kwargs.clear()
    shell = get_ipython()
    if hasattr(shell, "kernel"):
        shell.run_line_magic("matplotlib", "inline")
    mpl.rcParams.update(_STYLE)
    set_matplotlib_formats("svg", bbox_inches="tight", metadata={"Date": None})


def _labels(ax: Axes, title: str, xlabel: str, ylabel: str, log: str) -> Axes:
    ax.set(title=title, xlabel=xlabel, ylabel=ylabel)
    if "x" in log:
        ax.set_xscale("log", base=2)
        ax.xaxis.set_major_formatter(lambda x, _: short(x))
    if "y" in log:
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(_plain)
        ax.yaxis.set_minor_formatter(_sparse)
    return ax


def _plain(value: float, _: float = 0) -> str:
    return f"{value:g}"


def _sparse(value: float, _: float = 0) -> str:
    """Labels for minor ticks of a log axis: only the 2s and 5s, so that they never crowd."""
    return _plain(value) if f"{value:.0e}"[0] in "25" else ""


def short(value: float) -> str:
    """A tick label: 8192 as 8K, 131072 as 128K, anything else as it is."""
    return f"{value / 1024:g}K" if value >= 1024 and value % 1024 == 0 else f"{value:g}"


def _told_apart(field: str, given: Mapping[str, Any]) -> None:
    if not 0 < len(given) <= len(_LINES):
        raise ValueError(f"{field} must be 1 to {len(_LINES)}, to be told apart by colour and dash, not {len(given)}.")


def lines(
    x: Sequence[float],
    series: Mapping[str, Sequence[float]],
    *,
    title: str,
    xlabel: str,
    ylabel: str,
    log: str = "",
    markers: bool = False,
) -> Axes:
    """One line per entry of `series`, told apart by colour and dash. `log` is ``""``, ``"x"``, ``"y"`` or ``"xy"``.

    Returns the axes, so that a cell can add a `mark`; end the cell with ``plt.show()``.

    Raises ``ValueError`` for more lines than there are looks.
    """
    _told_apart("series", series)
    _, ax = plt.subplots()
    for (name, y), (colour, dash, marker) in zip(series.items(), _LINES, strict=False):
        ax.plot(x, y, color=colour, linestyle=dash, marker=marker if markers else "", markersize=5, label=name)
    if len(series) > 1:
        ax.legend()
    return _labels(ax, title, xlabel, ylabel, log)


def stacked_step(
    x: Sequence[float], step: StepTime, *, title: str, xlabel: str, unit: float = 1e-3, unit_name: str = "ms"
) -> Axes:
    """Stacked bars of what a decode step consists of: cache on top of the longer of weights and compute.

    The shorter of the two is hidden behind the longer, and drawn as a white line across the bar: it costs no time.
    `step` holds one entry per `x` (terms that do not vary are repeated).
    """
    _, ax = plt.subplots()
    positions = range(len(x))

    def spread(term: Any) -> list[float]:
        return [float(v) / unit for v in (term if hasattr(term, "__len__") else [term] * len(x))]

    weights, compute = spread(step.weights), spread(step.compute)
    heights = {
        "weights": [w if w >= c else 0.0 for w, c in zip(weights, compute, strict=True)],
        "compute": [c if c > w else 0.0 for w, c in zip(weights, compute, strict=True)],
        **{name: spread(getattr(step, name)) for name in ("cache", "collectives", "overhead")},
    }
    base = [0.0] * len(x)
    for name, height in heights.items():
        if any(height):
            colour, hatch = TERMS[name]
            ax.bar(positions, height, bottom=base, color=colour, hatch=hatch, label=name, **_EDGE)
            base = [b + h for b, h in zip(base, height, strict=True)]
    hidden = [min(w, c) for w, c in zip(weights, compute, strict=True)]
    ax.hlines(hidden, [p - 0.4 for p in positions], [p + 0.4 for p in positions], color="white", linewidth=1.5)
    ax.set_xticks(list(positions), [short(v) for v in x])
    ax.grid(axis="x", visible=False)
    ax.legend()
    return _labels(ax, title, xlabel, f"step time ({unit_name})", "")


def bars(
    names: Sequence[str], groups: Mapping[str, Sequence[float]], *, title: str, ylabel: str, log: str = ""
) -> Axes:
    """Grouped bars: one group per name, one bar in it per entry of `groups`.

    Raises ``ValueError`` for more bars in a group than there are looks.
    """
    _told_apart("groups", groups)
    _, ax = plt.subplots()
    width = 0.8 / len(groups)
    hatches = ("", "///", "...", "xxx", "\\\\\\")
    for i, (label, heights) in enumerate(groups.items()):
        at = [p + (i - (len(groups) - 1) / 2) * width for p in range(len(names))]
        ax.bar(at, heights, width, color=_LINES[i][0], hatch=hatches[i], label=label, **_EDGE)
    ax.set_xticks(range(len(names)), names)
    ax.grid(axis="x", visible=False)
    if len(groups) > 1:
        ax.legend()
    return _labels(ax, title, "", ylabel, log)


def timeline(
    given: Timeline | Mapping[str, Timeline], *, title: str, unit: float = 1e-3, unit_name: str = "ms"
) -> tuple[Axes, ...]:
    """One row per request and what happens in it; a triangle at its first token, a cross where it is thrown out.

    Several timelines, given by name, are drawn below one another on one time axis. Steps too short to be told apart are
    drawn as one bar. Returns the axes of each, from above; end the cell with ``plt.show()``.

    Raises ``ValueError`` for no timeline at all.
    """
    panels = given if isinstance(given, Mapping) else {"": given}
    if not panels:
        raise ValueError("given must be a timeline, or at least one by name, not an empty mapping.")
    heights = [0.34 * len(t.requests) + 0.3 for t in panels.values()]
    options: Any = {"height_ratios": heights, "figsize": (SIZE[0], sum(heights) + 1.3), "layout": "constrained"}
    figure, rows = plt.subplots(len(panels), sharex=True, squeeze=False, **options)
    axes, shown = tuple(rows[:, 0]), {}
    end = max(span.end for t in panels.values() for span in t.spans) or unit
    for ax, (name, one) in zip(axes, panels.items(), strict=True):
        for span in _joined(one.spans, 0.012 * end):
            colour, hatch, height, label = KINDS[span.kind]
            look = _EDGE if span.kind != "held" else _EDGE | {"edgecolor": "#777777"}
            left, width = span.start / unit, (span.end - span.start) / unit
            shown[label] = ax.barh(span.request, width, height, left=left, color=colour, hatch=hatch, **look)
        first = [t.first_token / unit for t in one.times]
        edge: Any = {"linestyle": "", "color": "black", "markeredgecolor": "white", "markeredgewidth": 0.7}
        (shown["first token"],) = ax.plot(first, range(len(first)), marker="v", markersize=7, **edge)
        thrown = [(time / unit, row) for row, t in enumerate(one.times) for time in t.preempted]
        if thrown:
            (shown["thrown out"],) = ax.plot(*zip(*thrown, strict=True), marker="X", markersize=8, **edge)
        ax.set_title(name, loc="left", fontsize="medium")
        ax.set_yticks(range(len(first)), [r.name or str(i + 1) for i, r in enumerate(one.requests)])
        ax.set(xlim=(0, 1.02 * end / unit), ylim=(len(first) - 0.5, -0.5))
        ax.grid(axis="y", visible=False)
    axes[-1].set_xlabel(f"time ({unit_name})")
    figure.suptitle(title, fontsize=mpl.rcParams["axes.titlesize"])
    labels = [label for label in (*(k[-1] for k in KINDS.values()), "first token", "thrown out") if label in shown]
    figure.legend([shown[label] for label in labels], labels, loc="outside lower center", ncols=2)
    return axes


def _joined(spans: Sequence[Span], shortest: float) -> list[Span]:
    """The spans, each joined to the one before, of the same kind, if it is too short to be seen by itself."""
    joined: list[Span] = []
    for span in spans:
        short = span.end - span.start < shortest or span.kind == "held"
        if short and joined and joined[-1][1:4] == (span.start, span.kind, span.request):
            joined[-1] = joined[-1]._replace(end=span.end)
        else:
            joined.append(span)
    return joined


_GUIDE: Any = {"color": "#555555", "linewidth": 1, "linestyle": (0, (2, 2))}


def mark(ax: Axes, x: float, text: str | None = None, *, height: float = 0.96) -> None:
    """A thin vertical line at `x` with a short label beside it (`x` itself if not given), `height` of the way up."""
    ax.axvline(x, **_GUIDE)
    place: Any = {"xycoords": ("data", "axes fraction"), "xytext": (4, 0), "textcoords": "offset points"}
    ax.annotate(number(x) if text is None else text, (x, height), va="top", fontsize=9.5, **place)


def level(ax: Axes, y: float, text: str) -> None:
    """A thin horizontal line at `y` with a short label above it at the left."""
    ax.axhline(y, **_GUIDE)
    place: Any = {"xycoords": ("axes fraction", "data"), "xytext": (0, 3), "textcoords": "offset points"}
    ax.annotate(text, (0.02, y), va="bottom", fontsize=9.5, **place)
