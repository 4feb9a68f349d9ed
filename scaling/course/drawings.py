"""Drawings in one hand: what a step, a cache, a split matrix, two pools, a shared prefix and pages look like, to scale.

Each function takes records or numbers of the package and gives a `Drawing`, which a notebook shows as SVG. Lengths are
to scale wherever a drawing has numbers. Colours are those of the terms; a page names its own by CSS variables.
"""

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from scaling._checks import count, nonnegative, positive
from scaling.deployment import Deployment
from scaling.latency import decode_step
from scaling.models import Model
from scaling.units import GB, ms, number, us

WIDTH = 704.0  # the measure of a page, in pixels: a drawing is as wide as the text
ACROSS = WIDTH / 4  # between figures in display size, and words below a bar

# Where no page names the colours, as in JupyterLab, these are used: the light ones of `plots.PALETTE`.
COLOURS = {
    "weights": "#1f6fb4",
    "compute": "#c87800",
    "cache": "#1a8a5f",
    "collectives": "#a84a83",
    "overhead": "#7a8087",
    "weights-ink": "#1b66a8",
    "compute-ink": "#955800",
    "cache-ink": "#157048",
    "ink": "#22262b",
    "soft": "#5f6872",
    "rule": "#e2ded4",
    "paper": "#fdfcf9",
}


# Letters need more contrast than marks.
LETTERS = {"weights": "weights-ink", "compute": "compute-ink", "cache": "cache-ink", "overhead": "soft"}


class Drawing(NamedTuple):
    """An SVG drawing, `height` pixels high and as wide as the text."""

    name: str
    height: float
    parts: Sequence[str]

    def _repr_svg_(self) -> str:
        size = f'viewBox="0 0 {WIDTH:g} {self.height:g}" width="{WIDTH:g}" height="{self.height:g}"'
        font = 'font-family="\'Source Sans 3\', system-ui, sans-serif" font-size="15"'
        sheet = f'<rect width="{WIDTH:g}" height="{self.height:g}" style="fill:{_colour("paper")}"/>'
        return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>', sheet, *self.parts, "</svg>"])

    def __repr__(self) -> str:
        return f"Drawing: {self.name}"


def _colour(name: str) -> str:
    return f"var(--{name}, {COLOURS[name]})"


def _rect(x: float, y: float, w: float, h: float, colour: str, fade: float = 1.0, line: str = "none") -> str:
    stroke = "" if line == "none" else f";stroke:{_colour(line)}"
    style = f"fill:{_colour(colour)};fill-opacity:{fade:g}{stroke}"
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(w, 0.0):.1f}" height="{h:.1f}" rx="2" style="{style}"/>'


def _text(
    x: float, y: float, words: str, colour: str = "ink", *, at: str = "start", size: float = 15, bold: bool = False
) -> str:
    weight = ' font-weight="600"' if bold else ""
    style = f"font-size: {size:g}px;fill:{_colour(LETTERS.get(colour, colour))}"  # where a page looks
    where = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{at}"'
    return f'<text {where}{weight} style="{style}">{escape(words)}</text>'


def _line(
    points: Iterable[tuple[float, float]], colour: str = "soft", *, dashes: bool = False, head: bool = False
) -> str:
    """A line through the points, with an arrow's head at its end where asked for."""
    through = list(points)
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in through)
    if head:
        (a, b), (x, y) = through[-2:]
        length = max(((x - a) ** 2 + (y - b) ** 2) ** 0.5, 1e-9)
        u, v = 7 * (x - a) / length, 7 * (y - b) / length
        path += f"M{x - u - v / 2:.1f} {y - v + u / 2:.1f}L{x:.1f} {y:.1f}L{x - u + v / 2:.1f} {y - v - u / 2:.1f}"
    dash = ";stroke-dasharray:2 3" if dashes else ""
    return f'<path d="{path}" style="fill:none;stroke-width:1.5;stroke:{_colour(colour)}{dash}"/>'


def _figures(y: float, facts: Sequence[tuple[str, str]]) -> list[str]:
    """Numbers in display size, each with what it is below it."""
    numerals = [_text(i * ACROSS, y, value, size=27, bold=True) for i, (value, _) in enumerate(facts)]
    return numerals + [_text(i * ACROSS, y + 22, words, "soft", size=14) for i, (_, words) in enumerate(facts)]


def step_bar(d: Deployment, batch: int, context: int) -> Drawing:
    """One decode step to scale: weights and multiplication side by side, then the caches, and what comes out."""
    step = decode_step(d, count("batch", batch), count("context", context))
    scale = WIDTH / step.total
    turn, y, lane = scale * step.matmul, 10.0, 30.0
    rest = step.total - step.matmul - step.cache
    parts = [
        _rect(0, y, scale * step.weights, lane, "weights"),
        _rect(0, y + lane + 3, scale * step.compute, lane, "compute"),
        _rect(turn + 3, y, scale * step.cache - 3, 2 * lane + 3, "cache"),
    ]
    if rest > 0:
        parts.append(_rect(turn + scale * step.cache + 3, y, scale * rest - 3, 2 * lane + 3, "overhead"))
    shown = [("fetch the weights", "weights", step.weights), ("multiply", "compute", step.compute)]
    shown += [("read the caches", "cache", step.cache), ("links, launches", "overhead", rest)]
    for i, (words, colour, seconds) in enumerate(one for one in shown if one[2] > 0):
        parts += [_text(i * ACROSS, 98, words, colour, bold=True)]
        parts += [_text(i * ACROSS, 117, _short_time(seconds), "soft", size=14)]
    facts = [
        (_short_time(step.total), "a step"),
        (f"{batch:,}", "token comes out" if batch == 1 else "tokens come out"),
        (_short_time(step.total / batch), "a token"),
    ]
    return Drawing("a decode step", 200, parts + _figures(162, facts))


def _short_time(seconds: float) -> str:
    return f"{number(seconds / ms, 2)} ms" if seconds >= ms else f"{number(seconds / us, 2)} µs"


def kv_cache(model: Model, dtype: str = "fp8", tokens: int = 12) -> Drawing:
    """What one sequence leaves in memory: per layer and KV head a key and a value a token; the newest stands out."""
    tokens, heads = min(count("tokens", tokens), 12), min(model.kv_heads, 8)
    cell, left, top = 28.0, 104.0, 42.0
    right, bottom = left + tokens * cell, top + heads * cell
    # Three sheets behind one another stand for the layers.
    sheets = [(left + 9 * depth - 6, top - 9 * depth - 6) for depth in (2, 1, 0)]
    parts = [_rect(x, y, tokens * cell + 8, heads * cell + 8, "paper", line="rule") for x, y in sheets]
    for row in range(heads):
        y = top + row * cell
        parts.append(_text(left - 14, y + 17, f"KV head {row + 1}", "soft", at="end", size=13))
        for column in range(tokens):
            x, fade = left + column * cell, 1.0 if column == tokens - 1 else 0.45
            parts += [_rect(x, y, 11, 24, "cache", fade), _rect(x + 12, y, 11, 24, "cache", 0.7 * fade)]
    beside = right + 40
    parts += [
        _text(beside, top + 12, f"{model.layers} layers,", bold=True),
        _text(beside, top + 31, "one behind the other", "soft", size=14),
        _text(beside, top + 78, "Each cell: a key and a value,", "soft", size=14),
        _text(beside, top + 97, f"{model.head_dim} numbers each", "soft", size=14),
        _text(left, bottom + 26, "tokens so far", "soft", size=14),
        _line([(left + 96, bottom + 21), (right - 40, bottom + 21)], head=True),
        _text(right - 30, bottom + 26, "the newest", "cache", bold=True),
    ]
    numbers = f"2 × {model.layers} × {model.kv_heads} × {model.head_dim}"
    facts = [(f"{model.kv_bytes_per_token(dtype):,.0f} B", f"a token: {numbers} numbers in {dtype}")]
    return Drawing("a KV cache", bottom + 98, parts + _figures(bottom + 68, facts))


def tensor_parallel(ways: int = 4) -> Drawing:
    """The two matrices of an MLP over cards: columns of the first, rows of the second, and one sum at the end."""
    ways = min(count("ways", ways), 8)
    row, top, high = 54.0, 58.0, 40.0
    x_in, x_up, x_mid, x_down, x_out = 0.0, 116.0, 288.0, 384.0, 532.0
    columns = ("activations", "columns of W_in", "its share", "rows of W_out", "a partial sum")
    parts = [
        _text(x, 34, words, "soft", size=14)
        for x, words in zip((x_in, x_up, x_mid, x_down, x_out), columns, strict=True)
    ]
    for card in range(ways):
        y = top + card * row
        parts += [
            _text(WIDTH, y + 25, f"card {card + 1}", at="end", bold=True),
            _rect(x_in, y + 6, 80, 28, "overhead", 0.45),
            _rect(x_up, y, 130, high, "weights", 0.25),
            _rect(x_up + 130 * card / ways, y, 130 / ways, high, "weights"),
            _rect(x_mid, y + 6, 80 / ways, 28, "overhead", 0.75),
            _rect(x_down, y, 110, high, "weights", 0.25),
            _rect(x_down, y + high * card / ways, 110, high / ways, "weights"),
            _rect(x_out, y + 6, 80, 28, "collectives", 0.5),
        ]
        signs = ((98.0, "×"), (267.0, "="), (366.0, "×"), (513.0, "="))
        parts += [_text(x, y + 25, sign, "soft", at="middle") for x, sign in signs]
    bottom = top + ways * row
    parts += [
        _line([(x_out + 40, top - 8), (x_out + 40, bottom + 2)], "collectives", dashes=True),
        _text(
            x_out + 80,
            bottom + 22,
            "AllReduce: add the partial sums, give all to all",
            "collectives",
            at="end",
            bold=True,
        ),
        _text(0, bottom + 22, "each card has them whole", "soft", size=14),
    ]
    return Drawing("a split MLP", bottom + 36, parts)


def two_pools(prefill: int, decode: int, cache_bytes: float, seconds: float) -> Drawing:
    """Servers that only read prompts, servers that only write answers, and the cache that travels between them."""
    positive("cache_bytes", cache_bytes)
    nonnegative("seconds", seconds)
    parts = [
        *_pool(0, count("prefill", prefill), "prefill", "compute", "reads the prompt"),
        *_pool(474, count("decode", decode), "decode", "weights", "writes the answer"),
        _line([(236, 105), (468, 105)], "cache", head=True),
        _rect(300, 88, 100, 34, "cache"),
        _text(350, 110, f"{number(cache_bytes / GB, 3)} GB", "paper", at="middle", bold=True),
        _text(350, 76, "the KV cache", "cache", at="middle", bold=True),
        _text(350, 144, f"on its way {_short_time(seconds)}", "soft", at="middle", size=14),
        _line([(115, 8), (115, 36)], head=True),
        _text(126, 20, "a prompt", "soft", size=14),
        _line([(589, 36), (589, 8)], head=True),
        _text(580, 20, "tokens, one by one", "soft", at="end", size=14),
    ]
    return Drawing("two pools", 182, parts)


def _pool(x: float, servers: int, name: str, colour: str, does: str) -> list[str]:
    """A box with a square for each server, up to sixteen."""
    squares = [(x + 14 + 25 * (i % 8), 104 + 26 * (i // 8)) for i in range(min(servers, 16))]
    return [
        _rect(x, 40, 230, 130, "paper", line=colour),
        _text(x + 14, 64, f"{servers:,} {name} server{'s' if servers > 1 else ''}", colour, bold=True),
        _text(x + 14, 84, does, "soft", size=14),
        *(_rect(left, top, 20, 20, colour, 0.75) for left, top in squares),
        *([_text(x + 216, 166, "…", colour, at="end", bold=True)] if servers > 16 else []),
    ]


def prefix_tree(shared: int, own: Sequence[int]) -> Drawing:
    """Requests that begin alike: the beginning stands once, in full colour; each request adds what is its own."""
    count("shared", shared)
    if not 2 <= len(own) <= 6:
        raise ValueError(f"own must be 2 to 6 lengths in tokens, not {len(own)}.")
    lengths = [count("own", tokens) for tokens in own]
    scale = (WIDTH - 120) / (shared + max(lengths))
    row, top = 36.0, 46.0
    middle = top + row * (len(lengths) - 1) / 2
    fork = scale * shared
    parts = [
        _text(0, 24, f"kept once: {shared:,} tokens that all {len(lengths)} begin with", "cache", bold=True),
        _rect(0, middle, fork - 28, 22, "cache"),
    ]
    for i, tokens in enumerate(lengths):
        y = top + i * row
        parts += [
            _line([(fork - 28, middle + 11), (fork - 6, y + 11), (fork, y + 11)], "cache"),
            _rect(fork, y, scale * tokens, 22, "cache", 0.45),
            _text(fork + scale * tokens + 8, y + 16, f"{tokens:,}", "soft", size=14),
        ]
    bottom = top + len(lengths) * row
    alone, together = len(lengths) * shared + sum(lengths), shared + sum(lengths)
    facts = [(f"{together:,}", "tokens in memory"), (f"{alone:,}", "without sharing")]
    return Drawing("a prefix tree", bottom + 62, parts + _figures(bottom + 30, facts))


def pages(lengths: Sequence[int], page: int = 16, total: int = 40) -> Drawing:
    """A pool cut into pages: a sequence takes a free one when its last is full, so only its last has a gap."""
    page, total = count("page", page), count("total", total)
    if not 1 <= len(lengths) <= 4:
        raise ValueError(f"lengths must be 1 to 4 numbers of tokens, not {len(lengths)}.")
    needs = [-(-count("lengths", tokens) // page) for tokens in lengths]
    if sum(needs) > total:
        raise ValueError(f"total must be at least {sum(needs)} pages for these sequences, not {total}.")
    # Sequences grow side by side and take pages in turn: so their pages lie mixed, which is the point.
    taken = sorted((turn, i) for i, pages_ in enumerate(needs) for turn in range(pages_))
    across, high, top = WIDTH / 10, 34.0, 40.0
    parts = [_text(0, 22, f"{total} pages of {page} tokens", bold=True)]
    parts += [_text(WIDTH, 22, "pale: free", "soft", at="end", size=14)]
    for place in range(total):
        x, y = (place % 10) * across, top + (place // 10) * high
        parts.append(_rect(x, y, across - 6, high - 6, "rule", 0.5))
        if place < len(taken):
            turn, i = taken[place]
            filled = min(1.0, (lengths[i] - turn * page) / page)
            parts.append(_rect(x, y, (across - 6) * filled, high - 6, "cache", (0.75, 0.55, 0.38, 0.22)[i]))
            parts.append(_text(x + 7, y + 19, f"{'ABCD'[i]}{turn + 1}", size=13, bold=True))
    bottom = top - (-total // 10) * high
    facts = [
        (f"{sum(lengths):,}", "tokens held"),
        (f"{sum(needs) * page - sum(lengths):,}", "slots in them empty"),
        (f"{total - sum(needs)}", "pages free"),
    ]
    return Drawing("pages of a pool", bottom + 62, parts + _figures(bottom + 30, facts))
