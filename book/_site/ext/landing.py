"""The landing page's live parts, and what every page knows of a reader's progress.

``{hero}`` is an explorer, computed here. ``{cards}`` has a line a chapter, ``page | its question | its figure``; the
pictures are the figures' own lines and areas, without their text.
``course.js`` tells the script which questions are where.
"""

import json
import re
import sys
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parents[3]))  # the folder of `scaling`

from front_ends import classic

from scaling import H100, H200, LLAMA3_8B, LLAMA3_70B, MI300X
from scaling.course.widgets import Explorer
from scaling.course.widgets._base import HERE, load

BOOK = Path(__file__).parents[2]
SVG = "http://www.w3.org/2000/svg"
GROUND = ("patch_1", "patch_2")  # of the figure and of its axes: a card has a ground of its own, light or dark
ElementTree.register_namespace("", SVG)
ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")


class Chapter(NamedTuple):
    """A page with questions."""

    page: str
    title: str
    ids: tuple[str, ...]


@cache
def notebook(page: str) -> dict[str, Any]:
    """The stored notebook of a chapter."""
    stored: dict[str, Any] = json.loads((BOOK / f"{page}.ipynb").read_text(encoding="utf-8"))
    return stored


def chapters() -> tuple[Chapter, ...]:
    """Every chapter, with the ids of its questions in their order."""
    found = []
    for path in sorted(BOOK.glob("*.ipynb")):
        cells = ["".join(cell["source"]) for cell in notebook(path.stem)["cells"]]
        ids = (one for cell in cells for one in re.findall(r'^quiz\("([\w-]+)"\)', cell, re.MULTILINE))
        found.append(Chapter(path.stem, cells[0].partition("\n")[0].lstrip("# "), tuple(dict.fromkeys(ids))))
    return tuple(found)


def files() -> dict[str, str]:
    """Name and text of what every page loads."""
    course = json.dumps([one._asdict() for one in chapters()], ensure_ascii=False).replace("<", r"\u003c")
    return {
        "course.js": f"globalThis.scalingCourse = {course};\n",
        "progress.js": classic("progress", load("dom.js", "hardware.js", "progress.js"))
        + "scalingFrontEnds.progress.start();\n",
        "progress.css": (HERE / "progress.css").read_text(encoding="utf-8"),
    }


def hero() -> Explorer:
    """The explorer of the landing page: fewer choices than a chapter's, so that the page stays light."""
    batches = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
    home = {"chip": H100, "model": LLAMA3_70B, "chips": 8, "context": 8192, "batch": 64}
    return Explorer(
        "home",
        chips=(H100, H200, MI300X),
        models=(LLAMA3_70B, LLAMA3_8B),
        contexts=(2048, 4096, 8192, 16_384, 32_768, 65_536),
        weights=("fp8", "bf16"),
        kv=("fp8",),
        batches=batches,
        start=home,
        show=("hero", "step"),
    )


def figure(page: str, name: str) -> tuple[str, str]:
    """A figure of a chapter, as SVG without its text, and its alternative text."""
    for cell in notebook(page)["cells"]:
        tags = cell["metadata"].get("mystnb", {})
        if tags.get("figure", {}).get("name") == name:
            svgs = [one["data"]["image/svg+xml"] for one in cell["outputs"] if "image/svg+xml" in one.get("data", {})]
            return _bare("".join(svgs[0])), tags["image"]["alt"]
    raise ValueError(f"cards: {page} must have the figure {name!r}: see the `mystnb` metadata of its cells.")


def _bare(svg: str) -> str:
    """The drawing alone: at the size of a card no word of it can be read, and words are most of its weight."""
    root = ElementTree.fromstring(svg)
    for parent in list(root.iter()):
        for child in list(parent):
            text = child.get("id", "").startswith(("text_", "legend")) or child.get("id") in GROUND
            if text or child.tag in (f"{{{SVG}}}metadata", f"{{{SVG}}}text"):
                parent.remove(child)
    # A tenth of a point is less than a pixel here, and digits are what is left of the weight.
    return re.sub(r"(\d\.\d)\d+", r"\1", ElementTree.tostring(root, encoding="unicode"))


def _size(svg: str) -> str:
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    if not box:
        raise ValueError("cards: a figure must have a viewBox from 0 0.")
    return f'width="{float(box[1]):.0f}" height="{float(box[2]):.0f}"'


class Hero(Directive):
    """The explorer."""

    def run(self) -> list[nodes.Node]:
        """The widget's HTML, which `front_ends` finds."""
        return [nodes.raw("", hero()._repr_mimebundle_()[0]["text/html"], format="html")]


class Cards(Directive):
    """A card a chapter."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """The cards as a list of links."""
        titles = {one.page: one.title for one in chapters()}
        cards = []
        for line in self.content:
            page, question, name = (part.strip() for part in line.split("|"))
            svg, alt = figure(page, name)
            cards.append(
                f'<li><a href="{page}.html" aria-label="{escape(titles[page])}: {escape(question)}">'
                f'<img src="../_static/thumbs/{page}.svg" loading="lazy" {_size(svg)} alt="{escape(alt)}">'
                f"<strong>{escape(titles[page])}</strong><span>{escape(question)}</span></a></li>"
            )
            folder = Path(self.state.document.settings.env.app.outdir, "_static", "thumbs")
            (folder / f"{page}.svg").write_text(svg, encoding="utf-8")
        return [nodes.raw("", f'<ul class="pr-cards">{"".join(cards)}</ul>', format="html")]


def _write(app: Sphinx) -> None:
    folder = Path(app.outdir, "_static")
    (folder / "thumbs").mkdir(parents=True, exist_ok=True)
    for name, text in app.config.landing_files.items():
        (folder / name).write_text(text, encoding="utf-8")


def _load(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    for script in ("course.js", "progress.js"):
        app.add_js_file(script, loading_method="defer", priority=300)
    if 'data-widget="quiz"' in context.get("body", ""):
        context["body"] = context["body"].replace("</h1>", '</h1>\n<div class="pr-top"></div>', 1)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx. The files are a setting, so that every page is written again when one of them changes."""
    app.add_config_value("landing_files", files(), "html")
    app.add_css_file("progress.css")
    app.add_directive("hero", Hero)
    app.add_directive("cards", Cards)
    app.connect("builder-inited", _write)
    app.connect("html-page-context", _load)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
