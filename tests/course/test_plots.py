"""Figures: the same numbers give the same bytes, other numbers give others, and every term has a look of its own."""

import io
import itertools
from collections.abc import Callable, Iterator

import pytest

from scaling import batching
from scaling.latency import StepTime

mpl = pytest.importorskip("matplotlib")
mpl.use("Agg")  # no display is needed, and none is opened
plt = pytest.importorskip("matplotlib.pyplot")
inline = pytest.importorskip("matplotlib_inline.backend_inline")

from scaling.course import plots  # noqa: E402


@pytest.fixture(autouse=True)
def formats(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """The book's style, and what it asks of a notebook (which is not there)."""
    asked: list[object] = []
    monkeypatch.setattr(inline, "set_matplotlib_formats", lambda *names, **options: asked.append((names, options)))
    with mpl.rc_context():
        plots.use_book_style()
        yield asked
    plt.close("all")


def svg(ax: object) -> bytes:
    file = io.BytesIO()
    ax.figure.savefig(file, format="svg", metadata={"Date": None})  # type: ignore[attr-defined]
    return file.getvalue()


X = [1, 2, 4, 8192]
LABELS = {"title": "Title", "xlabel": "batch", "ylabel": "ms"}


def lines(y: float = 5.0) -> bytes:
    return svg(plots.lines(X, {"a": [1, 2, 3, y], "b": [2, 3, 5, 7]}, log="xy", markers=True, **LABELS))


def bars(y: float = 5.0) -> bytes:
    return svg(plots.bars(["H100", "v5e"], {"a": [1, y], "b": [2, 3]}, title="Title", ylabel="USD"))


STEP = StepTime(2e-3, [1e-3, 1.5e-3, 3e-3, 5e-3], [1e-3, 2e-3, 3e-3, 4e-3], [1e-4] * 4, 7e-4)


def stacked(y: float = 4e-3) -> bytes:
    return svg(plots.stacked_step(X, STEP._replace(cache=[1e-3, 2e-3, 3e-3, y]), title="Title", xlabel="batch"))


def marked(x: float = 2.0) -> bytes:
    ax = plots.lines(X, {"a": [1, 2, 3, 5]}, **LABELS)
    plots.mark(ax, x, "critical")
    plots.level(ax, 3.0, "plateau")
    return svg(ax)


REQUESTS = [batching.Request(prompt=4, output=6, name="A"), batching.Request(prompt=3, output=6)]


def seconds(prefill_tokens: int, decode_batch: int, cached_tokens: int) -> float:
    return prefill_tokens + (10 if decode_batch else 0)


def schedule(policy: str = "continuous", pool: int = 13) -> batching.Timeline:
    options = {"step_time": seconds, "max_batch": 2, "chunk": 4, "reserve": 0.1, "transfer_time": float}
    return batching.timeline(REQUESTS, policy=policy, pool=pool, **options)


def schedules(pool: float = 13) -> bytes:
    given = {policy: schedule(policy, int(pool)) for policy in batching.POLICIES}
    return svg(plots.timeline(given, title="Title", unit=1, unit_name="s")[0])


@pytest.mark.parametrize("draw", [lines, bars, stacked, marked, schedules])
def test_bytes_are_stable(draw: Callable[..., bytes]) -> None:
    first = draw()
    assert draw() == first
    assert b"<dc:date>" not in first


@pytest.mark.parametrize(
    ("draw", "other"), [(lines, 5.2), (bars, 5.2), (stacked, 4.2e-3), (marked, 2.2), (schedules, 14)]
)
def test_other_numbers_give_other_bytes(draw: Callable[..., bytes], other: float) -> None:
    assert draw(other) != draw()


def test_notebooks_store_svg_without_a_date(formats: list[object]) -> None:
    assert formats == [(("svg",), {"bbox_inches": None, "metadata": {"Date": None}})]


def test_every_term_has_its_own_colour_and_hatch() -> None:
    assert tuple(plots.TERMS) == StepTime._fields
    colours, hatches = zip(*plots.TERMS.values(), strict=True)
    assert len(set(colours)) == len(set(hatches)) == len(StepTime._fields)


def luminance(colour: str) -> float:
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in mpl.colors.to_rgb(colour))
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def test_terms_stand_out_from_white() -> None:
    for colour, _ in plots.TERMS.values():
        assert 1.05 / (luminance(colour) + 0.05) > 2


def test_lines_differ_in_colour_and_in_dash() -> None:
    series = {str(i): [i, i + 1] for i in range(5)}
    drawn = plots.lines([1, 2], series, markers=True, **LABELS).get_lines()
    assert [line.get_label() for line in drawn] == list(series)
    for a, b in itertools.combinations(drawn, 2):
        assert a.get_color() != b.get_color()
        assert a.get_marker() != b.get_marker()
    assert len({str(line._dash_pattern) for line in drawn}) == 5


def test_no_series_is_left_out() -> None:
    """There are five looks: a sixth line must be refused, not dropped."""
    with pytest.raises(ValueError):
        plots.lines([1, 2], {str(i): [i, i + 1] for i in range(6)}, **LABELS)
    with pytest.raises(ValueError):
        plots.bars(["H100"], {str(i): [i] for i in range(6)}, title="Title", ylabel="ms")


def test_stack_is_the_step_time() -> None:
    """Cache, collectives and overhead lie on the longer of weights and compute: the top is the total."""
    ax = plots.stacked_step(X, STEP, title="Title", xlabel="batch")
    tops = [max(bar.get_y() + bar.get_height() for bars in ax.containers for bar in [bars[i]]) for i in range(4)]
    totals = [StepTime(2e-3, STEP.compute[i], STEP.cache[i], 1e-4, 7e-4).total * 1e3 for i in range(4)]
    assert tops == pytest.approx(totals)
    looks = {bars.get_label(): (bars[0].get_facecolor(), bars[0].get_hatch() or "") for bars in ax.containers}
    assert looks == {name: (mpl.colors.to_rgba(colour), hatch) for name, (colour, hatch) in plots.TERMS.items()}


def test_terms_of_no_length_are_not_drawn() -> None:
    ax = plots.stacked_step([1, 2], StepTime(2e-3, [1e-3, 1.5e-3], 0.0), title="Title", xlabel="batch")
    assert [bars.get_label() for bars in ax.containers] == ["weights"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"),
        (512, "512"),
        (1024, "1K"),
        (8192, "8K"),
        (131_072, "128K"),
        (1000, "1000"),
        (1536, "1536"),
        (0.5, "0.5"),
    ],
)
def test_short(value: float, text: str) -> None:
    assert plots.short(value) == text


def test_axes_say_what_they_show() -> None:
    ax = plots.lines(X, {"a": [1, 2, 3, 5]}, log="x", **LABELS)
    assert (ax.get_title(loc="left"), ax.get_xlabel(), ax.get_ylabel()) == ("Title", "batch", "ms")
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "linear")
    assert ax.get_legend() is None  # one line needs none
    ax = plots.stacked_step(X, STEP, title="Title", xlabel="batch")
    assert ax.get_ylabel() == "step time (ms)"
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", "4", "8K"]


def test_a_mark_says_where_it_is() -> None:
    ax = plots.lines(X, {"a": [1, 2, 3, 5]}, **LABELS)
    plots.mark(ax, 8192)
    plots.mark(ax, 2, "")
    assert [label.get_text() for label in ax.texts] == ["8,192", ""]


# Timelines -----------------------------------------------------------------------------------------------------------


def boxes(ax: object) -> list[tuple[int, float, float, str]]:
    """Row, left, right and colour of each bar."""
    bars = [b for b in ax.patches if b.get_width()]  # type: ignore[attr-defined]
    rows = [(round(b.get_y() + b.get_height() / 2), b.get_x(), b.get_x() + b.get_width()) for b in bars]
    return [(*row, mpl.colors.to_hex(b.get_facecolor())) for row, b in zip(rows, bars, strict=True)]


def test_every_span_is_drawn_in_its_row_and_colour() -> None:
    t = schedule()
    (ax,) = plots.timeline(t, title="Title", unit=1, unit_name="s")
    assert boxes(ax) == [(s.request, s.start, s.end, plots.KINDS[s.kind][0]) for s in t.spans]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["A", "2"]
    assert ax.yaxis_inverted() and ax.get_xlabel() == "time (s)"
    first, thrown = ax.get_lines()
    assert first.get_xydata().tolist() == [[one.first_token, row] for row, one in enumerate(t.times)]
    assert thrown.get_xydata().tolist() == [[t.times[0].preempted[0], 0]]
    assert ax.figure.get_suptitle() == "Title"
    legend = [text.get_text() for text in ax.figure.legends[0].get_texts()]
    assert legend == ["prefill", "decode", "waits", "first token", "thrown out"]


def test_time_is_in_the_unit_asked_for() -> None:
    (ax,) = plots.timeline(schedule(), title="Title")
    assert ax.get_xlabel() == "time (ms)"
    assert max(right for _, _, right, _ in boxes(ax)) == pytest.approx(1000 * schedule().makespan)


def test_timelines_below_one_another_share_the_time_axis() -> None:
    given = {policy: schedule(policy) for policy in batching.POLICIES}
    axes = plots.timeline(given, title="Title", unit=1, unit_name="s")
    assert [ax.get_title(loc="left") for ax in axes] == list(given)
    assert len({ax.get_xlim() for ax in axes}) == 1
    assert [ax.xaxis.get_tick_params()["labelbottom"] for ax in axes] == [False, False, False, True]
    assert axes[0].get_xlim()[1] > max(t.spans[-1].end for t in given.values())
    assert [ax.get_xlabel() for ax in axes] == ["", "", "", "time (s)"]
    tops = [ax.get_position().y0 for ax in axes]
    assert tops == sorted(tops, reverse=True)


def test_short_steps_are_drawn_as_one_bar() -> None:
    """A hundred steps would be a hundred white lines; a long step keeps its own bar, and no time is lost."""
    many = batching.timeline(
        [batching.Request(prompt=500, output=101)], policy="static", step_time=lambda p, b, c: p + b, max_batch=1
    )
    (ax,) = plots.timeline(many, title="Title", unit=1)
    assert [box[:3] for box in boxes(ax)] == [(0, 0, 500), (0, 500, 600)]


def test_a_place_kept_is_one_box() -> None:
    t = batching.timeline(
        [batching.Request(prompt=1, output=n) for n in (1, 4)], policy="static", step_time=seconds, max_batch=2
    )
    (ax,) = plots.timeline(t, title="Title", unit=1)
    assert [box for box in boxes(ax) if box[0] == 0][-1] == (0, 2, 32, plots.KINDS["held"][0])


def test_every_kind_has_a_look_of_its_own_that_no_term_has() -> None:
    assert set(plots.KINDS) == set(batching.SPAN_KINDS)
    colours, _, _, labels = zip(*plots.KINDS.values(), strict=True)
    assert len(set(colours)) == len(set(labels)) == len(plots.KINDS)
    assert not set(colours) & {colour for colour, _ in plots.TERMS.values()}
    told_by_hatch = [plots.KINDS[kind][1] for kind in ("prefill", "decode", "mixed", "transfer", "held")]
    assert len(set(told_by_hatch)) == 5 and plots.KINDS["wait"][2] < 0.5
    for kind in ("prefill", "decode", "mixed", "transfer"):
        assert 1.05 / (luminance(plots.KINDS[kind][0]) + 0.05) > 2


def test_a_timeline_of_no_time_and_none_at_all() -> None:
    t = batching.timeline(REQUESTS, policy="static", step_time=lambda *_: 0, max_batch=2)
    assert len(plots.timeline(t, title="Title")) == 1
    with pytest.raises(ValueError, match=r"given must be a timeline, or at least one by name, not an empty mapping\."):
        plots.timeline({}, title="Title")
