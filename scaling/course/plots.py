"""The look of the book's figures, in one place: one colour, hatch and dash per meaning, on screen and in print.

Figures are SVG with a fixed hash salt and no date, so that the same numbers give the same bytes. Their text stays text,
measured in the face that the site serves; their colours are those of ``PALETTE`` alone, which the site replaces by
variables of the same names, so that a figure turns dark with its page.
"""

from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib import font_manager
from matplotlib.axes import Axes

from scaling.batching import Span, Timeline
from scaling.latency import StepTime
from scaling.units import number

# Each colour on light paper and on dark. Marks have 3:1 on either, all but `rule`, which only guides the eye.
# Weights, compute and cache can be told apart by readers with any common colour blindness, and by hatch in print.
PALETTE: Mapping[str, tuple[str, str]] = {
    "paper": ("#fdfcf9", "#15181c"),
    "ink": ("#22262b", "#e4e2dc"),
    "soft": ("#5f6872", "#a2a7ad"),
    "rule": ("#e2ded4", "#33383e"),
    "weights": ("#1f6fb4", "#6db1ea"),
    "compute": ("#c87800", "#f0ab45"),
    "cache": ("#1a8a5f", "#5fcb9d"),
    "collectives": ("#a84a83", "#e59ac6"),
    "overhead": ("#7a8087", "#a9aeb4"),
    # The same for letters, which need 4.5:1.
    "weights-ink": ("#1b66a8", "#6db1ea"),
    "compute-ink": ("#955800", "#f0ab45"),
    "cache-ink": ("#157048", "#5fcb9d"),
    "trap": ("#b5412a", "#f2937a"),
    "accent": ("#1f5fa8", "#8fbef0"),
    "series-1": ("#39424d", "#d3d6da"),
    "series-2": ("#b8432a", "#f2937a"),
    "series-3": ("#7b56b3", "#bfa3ee"),
    "series-4": ("#5f7d1f", "#b3cf6b"),
    "series-5": ("#0f7f8c", "#63c9d3"),
    "prefill": ("#c2501f", "#f0875a"),
    "decode": ("#3d86bf", "#7cc0ef"),
    "mixed": ("#6b4aa8", "#b79df0"),
    "transfer": ("#4a4f55", "#c9ced4"),
    "held": ("#8a7f6b", "#b0a68f"),
    "wait": ("#888d94", "#7b828a"),
}
COLOURS: Mapping[str, str] = {name: light for name, (light, _) in PALETTE.items()}

# Hatches are of straight lines: one of dots is a hundred times as many bytes in every figure that has it.
TERMS: Mapping[str, tuple[str, str]] = {
    "weights": (COLOURS["weights"], ""),
    "compute": (COLOURS["compute"], "///"),
    "cache": (COLOURS["cache"], "\\\\\\"),
    "collectives": (COLOURS["collectives"], "xxx"),
    "overhead": (COLOURS["overhead"], "---"),
}

# What a request does, in colours that no term has: colour, hatch, height of the bar, name in the legend.
KINDS: Mapping[str, tuple[str, str, float, str]] = {
    "prefill": (COLOURS["prefill"], "////", 0.74, "prefill"),
    "decode": (COLOURS["decode"], "", 0.74, "decode"),
    "mixed": (COLOURS["mixed"], "xxxx", 0.74, "decode, beside a prefill"),
    "transfer": (COLOURS["transfer"], "||||", 0.74, "transfer"),
    "held": (COLOURS["held"], "----", 0.74, "finished, keeps its place"),
    "wait": (COLOURS["wait"], "", 0.16, "waits"),
}

_LINES = (
    (COLOURS["series-1"], "-", "o"),
    (COLOURS["series-2"], "--", "s"),
    (COLOURS["series-3"], "-.", "^"),
    (COLOURS["series-4"], ":", "D"),
    (COLOURS["series-5"], (0, (5, 1, 1, 1, 1, 1)), "v"),
)

_EDGE: Any = {"edgecolor": COLOURS["paper"], "linewidth": 0.5}

FONTS = sorted((Path(__file__).parent / "fonts").glob("*.ttf"))
FACE = "Course Sans"  # a subset of Source Sans 3, under another name as its licence asks

SIZE = (6.2, 3.5)  # narrow, so that labels stay readable when a phone shrinks the figure

_STYLE: Any = {
    "figure.figsize": SIZE,
    "figure.constrained_layout.use": True,
    "figure.facecolor": COLOURS["paper"],
    "axes.facecolor": COLOURS["paper"],
    "savefig.facecolor": COLOURS["paper"],
    "font.family": [FACE, "sans-serif"],
    "font.sans-serif": ["DejaVu Sans"],  # for a letter that the subset lacks
    "font.size": 10,
    "text.color": COLOURS["ink"],
    "axes.titlelocation": "left",
    "axes.titlesize": 11.5,
    "axes.titleweight": "bold",
    "axes.labelcolor": COLOURS["soft"],
    "axes.edgecolor": COLOURS["soft"],
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": COLOURS["rule"],
    "grid.linewidth": 0.7,
    "xtick.color": COLOURS["soft"],
    "ytick.color": COLOURS["soft"],
    "xtick.major.size": 3,
    "ytick.major.size": 0,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "hatch.linewidth": 0.5,
    "legend.frameon": False,
    "legend.fontsize": 9.5,
    "legend.handlelength": 2.8,
    "lines.linewidth": 2,
    "svg.hashsalt": "scaling",
    "svg.fonttype": "none",
}


def use_book_style() -> None:
    """Set the figure style, and byte-stable SVG output in notebooks. Call it once, in a notebook's first cell."""
    from IPython import get_ipython
    from matplotlib_inline.backend_inline import set_matplotlib_formats
    from matplotlib_inline.config import InlineBackend

    # From the defaults, and in a notebook with the inline backend whatever MPLBACKEND says: neither a variable nor a
    # settings file of the machine (matplotlibrc, a profile of IPython) may change a figure or leave it out.
    mpl.rcdefaults()
    for font in FONTS:
        font_manager.fontManager.addfont(str(font))
    inline = InlineBackend.instance()
    inline.rc, inline.close_figures = {}, True
    inline.print_figure_kwargs.clear()
    shell = get_ipython()
    if hasattr(shell, "kernel"):
        shell.run_line_magic("matplotlib", "inline")
    mpl.rcParams.update(_STYLE)
    set_matplotlib_formats("svg", bbox_inches=None, metadata={"Date": None})  # whole, so that all have one scale


def _labels(ax: Axes, title: str, xlabel: str, ylabel: str, log: str) -> Axes:
    """Title and labels; the one of the y-axis lies above it, where it can be read without turning one's head."""
    ax.set_title(title, pad=22 if ylabel else 8)
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel, rotation=0, ha="left", va="bottom")
    ax.yaxis.set_label_coords(0, 1.025)
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
    terms: Sequence[str] = (),
) -> Axes:
    """One line per entry of `series`, told apart by colour and dash. `log` is ``""``, ``"x"``, ``"y"`` or ``"xy"``.

    Each is named where it ends. `terms` says which term of a step each shows, for its colour; a name may begin with it.
    Returns the axes, so that a cell can add a `mark`; end the cell with ``plt.show()``.

    Raises ``ValueError`` for more lines than there are looks.
    """
    _told_apart("series", series)
    _, ax = plt.subplots()
    for (name, y), term, (own, dash, marker) in zip(series.items(), terms or series, _LINES, strict=False):
        colour = TERMS.get(term.split()[0], (own,))[0]
        ax.plot(x, y, color=colour, linestyle=dash, marker=marker if markers else "", markersize=5, label=name)
    _labels(ax, title, xlabel, ylabel, log)
    if len(series) > 1:
        _name_at_the_end(ax)
    return ax


def _name_at_the_end(ax: Axes) -> None:
    """Each line's name stands where the line ends, in its colour, and moves when the limits of the axes do."""
    place: Any = {"xytext": (6, 0), "textcoords": "offset points", "va": "center", "annotation_clip": False}
    inks = {COLOURS[name]: COLOURS[f"{name}-ink"] for name in ("weights", "compute", "cache")}
    names = []
    for line in ax.get_lines():
        colour = str(line.get_color())
        ink = inks.get(colour, colour)
        names.append((line, ax.annotate(str(line.get_label()), (0, 0), color=ink, fontsize=9.5, **place)))

    def settle(changed: Axes) -> None:
        ends = [_last_seen(ax, line.get_xydata()) for line, _ in names]
        for (_, text), at, height in zip(names, ends, _apart([y for _, y in ends], 0.062), strict=True):
            text.xy, text.xycoords = (at[0], height), "axes fraction"

    for limit in ("xlim_changed", "ylim_changed"):
        ax.callbacks.connect(limit, settle)
    settle(ax)


def _last_seen(ax: Axes, points: Any) -> tuple[float, float]:
    """Where in the axes the last point of a line lies that can be seen, as fractions of width and height."""
    inside = ax.transScale + ax.transLimits
    seen = [inside.transform(point) for point in points if all(map(isfinite, point))]
    shown = [(x, y) for x, y in seen if -0.001 <= x <= 1.001 and -0.001 <= y <= 1.001]
    return max(shown or [(1.0, 0.5)], key=lambda at: at[0])


def _apart(heights: Sequence[float], least: float) -> list[float]:
    """The heights, moved as little as keeps them in order, and each `least` above the one below."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    groups: list[list[float]] = []  # centre and number of those that touch
    for i in order:
        groups.append([heights[i], 1])
        while len(groups) > 1 and groups[-1][0] - groups[-2][0] < least * (groups[-1][1] + groups[-2][1]) / 2:
            (a, m), (b, n) = groups[-2:]
            groups[-2:] = [[(a * m + b * n) / (m + n), m + n]]
    spread = [centre + least * (k - (n - 1) / 2) for centre, n in groups for k in range(int(n))]
    return [spread[order.index(i)] for i in range(len(heights))]


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
    ax.hlines(hidden, [p - 0.4 for p in positions], [p + 0.4 for p in positions], color=COLOURS["paper"], linewidth=1.5)
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
            left, width = span.start / unit, (span.end - span.start) / unit
            shown[label] = ax.barh(span.request, width, height, left=left, color=colour, hatch=hatch, **_EDGE)
        first = [t.first_token / unit for t in one.times]
        edge: Any = {
            "linestyle": "",
            "color": COLOURS["ink"],
            "markeredgecolor": COLOURS["paper"],
            "markeredgewidth": 0.7,
        }
        (shown["first token"],) = ax.plot(first, range(len(first)), marker="v", markersize=7, **edge)
        thrown = [(time / unit, row) for row, t in enumerate(one.times) for time in t.preempted]
        if thrown:
            (shown["thrown out"],) = ax.plot(*zip(*thrown, strict=True), marker="X", markersize=8, **edge)
        ax.set_title(name, fontsize="medium")
        ax.set_yticks(range(len(first)), [r.name or str(i + 1) for i, r in enumerate(one.requests)])
        ax.set(xlim=(0, 1.02 * end / unit), ylim=(len(first) - 0.5, -0.5))
        ax.grid(axis="y", visible=False)
    axes[-1].set_xlabel(f"time ({unit_name})")
    figure.suptitle(title, fontsize=mpl.rcParams["axes.titlesize"], fontweight="bold", x=0.01, ha="left")
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


_GUIDE: Any = {"color": COLOURS["soft"], "linewidth": 1, "linestyle": (0, (2, 2))}


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
