"""Figures stand in the page itself, so that they take its typeface and its colours, in the light and in the dark.

An SVG that a cell or a page shows is read, freed of what only a file needs, and put where its image was. Each colour of
``scaling.course.plots.PALETTE`` becomes the variable of its name; ``colours.css``, which is written from the same
palette, says what that is.
"""

import re
import sys
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parents[3]))  # the folder of `scaling`

from scaling.course.plots import PALETTE

STYLE = "colours.css"
_NAMES = {light: name for name, (light, _) in PALETTE.items()}
_NOT_FOR_A_PAGE = re.compile(
    r"<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->|<metadata>.*?</metadata>|<style.*?</style>", re.DOTALL
)


def colours() -> str:
    """The palette as variables: light, dark where the page is dark, and light on paper."""
    light, dark = ("".join(f" --{name}: {pair[i]};" for name, pair in PALETTE.items()) for i in (0, 1))
    return (
        f':root {{{light} }}\nhtml[data-theme="dark"] {{{dark} }}\n'
        f'@media (prefers-color-scheme: dark) {{ html[data-theme="auto"] {{{dark} }} }}\n'
        f"@media print {{ html[data-theme]:root {{{light} }} }}\n"
    )


def inline(svg: str, alt: str, key: str) -> str:
    """An SVG file as an element of a page: `alt` is what is read aloud, `key` makes its ids its own.

    Raises ``ValueError`` for a file that is no SVG or holds a script.
    """
    body = re.sub(r"\s*\n\s*", " ", _NOT_FOR_A_PAGE.sub("", svg)).strip()
    found = re.fullmatch(r"<svg\b[^>]*?viewBox=\"([^\"]+)\"([^>]*)>(.*)</svg>", body)
    if not found or re.search(r"<script|\son\w+=|javascript:", body, re.IGNORECASE):
        raise ValueError("a figure must be an SVG with a viewBox and without a script.")
    box, inner = found[1], _own_ids(found[3], key)
    inner = re.sub(r' transform="rotate\(-?0 [^"]*"|<defs>\s*</defs>| (?=/?>)', "", inner)
    inner = re.sub(r'(fill|stroke)="(#[0-9a-fA-F]{6})"', r'style="\1: \2"', inner)
    inner = re.sub(r'style="([^"]*)"', lambda style: f'style="{_style(style[1])}"', inner)
    inner = re.sub(r">\s+<", "><", inner)
    width, height = box.split()[2:]
    return (
        f'<svg class="figure" role="img" aria-label="{escape(alt)}" viewBox="{box}" width="{width}" height="{height}">'
        f"{inner}</svg>"
    )


def _own_ids(inner: str, key: str) -> str:
    """Only ids that something refers to, each with the figure's key before it."""
    used = set(re.findall(r'(?:href="|url\()#([^")]+)', inner))
    inner = re.sub(r' id="([^"]*)"', lambda one: f' id="{key}-{one[1]}"' if one[1] in used else "", inner)
    return re.sub(r'(?:xlink:)?(href="|url\()#', rf"\1#{key}-", inner)


def _style(style: str) -> str:
    """A style with variables for colours; of a font its size and weight, since the page gives the face."""
    size = re.search(r"\bfont(?:-size)?: [^;]*?([\d.]+)px", style)
    weight = re.search(r"\bfont(?:-weight)?: (?:[a-z]+ )*?(\d00|bold)\b", style)
    parts = [part.strip() for part in style.split(";") if part.strip() and not re.match(r"\s*font", part)]
    parts += [f"--size: {size[1]}px"] if size else []
    parts += [f"font-weight: {weight[1]}"] if weight else []
    text = "; ".join(parts)
    return re.sub(
        r"#[0-9a-f]{6}\b", lambda found: f"var(--{_NAMES[found[0]]})" if found[0] in _NAMES else found[0], text
    )


def _replace(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    if app.builder.format != "html":
        return
    for i, image in enumerate(list(doctree.findall(nodes.image))):
        path = Path(app.srcdir, image["uri"])
        if path.suffix == ".svg":
            markup = inline(path.read_text(encoding="utf-8"), image.get("alt", ""), f"figure-{i}")
            image.replace_self(nodes.raw("", markup, format="html"))


def _write(app: Sphinx) -> None:
    folder = Path(app.outdir, "_static")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / STYLE).write_text(app.config.colours, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx. The palette is a setting, so that every page is written again when it changes."""
    app.add_config_value("colours", colours(), "html")
    app.add_css_file(STYLE, priority=100)
    app.connect("builder-inited", _write)
    app.connect("doctree-resolved", _replace)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
