"""What a page asks of a slow line: one stylesheet for the site, scripts that wait, images of known size, no icon font.

The theme loads Font Awesome as a script and as a font. ``icons.css`` draws what is used; here the rest is cut out.
"""

import hashlib
import re
import shutil
from pathlib import Path, PurePosixPath
from typing import Any

from sphinx.application import Sphinx
from sphinx.builders.html._assets import _CascadingStyleSheet, _JavaScript
from unused_styles import pruned, words

THEME = ("basic.css", "styles/pydata-sphinx-theme.css")  # which the theme's layout loads by hand, not as a setting
JOINED = "site.css"
# The faces of the text, and of formulas where there are some, are asked for as soon as a page is read, not when its
# styles are: lines would wrap anew.
TEXT_FONTS = ("fonts/serif-regular.woff2", "fonts/sans-regular.woff2")
FONTS = ("katex/fonts/KaTeX_Main-Regular.woff2", "katex/fonts/KaTeX_Math-Italic.woff2")
NOT_ASKED_FOR = (
    "vendor",
    "locales",
    "styles/theme.css",
    "scripts/*fontawesome*",
    "scripts/*.map",
    "styles/*.map",
    "*webpack-macros.html",
)
_AWESOME = re.compile(r'/\*!\s*\* Font Awesome Free.*\.fa-[\w-]+:before\{content:"[^"]*"\}', re.DOTALL)


def without_icons(css: str) -> str:
    """The theme's style without the rules of Font Awesome. Raises ``ValueError`` where it has none: another theme."""
    lean, found = _AWESOME.subn("", css)
    if found != 1:
        raise ValueError("the theme's stylesheet must have the rules of Font Awesome once, to be cut out.")
    return lean


def join(static: Path, names: list[str]) -> str:
    """Stylesheets in one, their addresses as seen from the folder of all."""
    texts = []
    for name in names:
        text = (static / name).read_text(encoding="utf-8")
        text = without_icons(text) if name == THEME[1] else text
        if "@import" in text:
            raise ValueError(f"{name} must import no other style: joined with others it would not.")
        folder = PurePosixPath(name).parent
        texts.append(re.sub(r"url\((['\"]?)(?![a-z]+:|['\"#/])", rf"url(\1{folder}/", text))
    return "\n".join(texts)


def sized(html: str, folder: Path) -> str:
    """Images with width and height, from their files, which are fetched when the reader comes near."""

    def one(found: re.Match[str]) -> str:
        path = folder / found[2]
        if "width=" in found[0] or not path.is_file():
            return found[0]
        size = _size(path)
        where = f' width="{size[0]}" height="{size[1]}"' if size else ""
        return f'{found[1]} loading="lazy" decoding="async"{where} src="{found[2]}"'

    return re.sub(r'(<img\b[^>]*?) src="([^"]+\.svg)"', one, html)


def _size(path: Path) -> tuple[int, int] | None:
    box = re.search(r'viewBox="[\d.-]+ [\d.-]+ ([\d.]+) ([\d.]+)"', path.read_text(encoding="utf-8")[:2000])
    return (round(float(box[1])), round(float(box[2]))) if box else None


def _scripts(app: Sphinx, given: list[_JavaScript]) -> list[_JavaScript]:
    """All wait for the page, but the options, which inline scripts read: they come inline."""
    options = Path(app.outdir, "_static", "documentation_options.js").read_text(encoding="utf-8")
    found = []
    for script in given:
        attributes = dict(script.attributes)
        name = str(script.filename or "")
        if name.endswith("documentation_options.js"):
            found.append(_JavaScript("", priority=script.priority, body=options))
            continue
        if name:
            attributes["defer"] = "defer"
        found.append(_JavaScript(script.filename, priority=script.priority, **attributes))
    return found


def _common(app: Sphinx) -> list[_CascadingStyleSheet]:
    """The styles that every page loads, in their order."""
    builder: Any = app.builder
    return sorted(builder._orig_css_files, key=lambda css: css.priority)


def _load(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    common = _common(app)
    own = [css for css in context["css_files"] if css not in common]
    context["css_files"] = [_CascadingStyleSheet(f"_static/{JOINED}", priority=0), *own]
    context["script_files"] = _scripts(app, context["script_files"])
    # The landing page's equation is far below: `progress.css` has it drawn, and its fonts fetched, when it is near.
    typeset = 'class="katex"' in context.get("body", "") and pagename != app.config.root_doc
    context["fonts"] = TEXT_FONTS + FONTS if typeset else TEXT_FONTS


def _finish(app: Sphinx, error: Exception | None) -> None:
    """The themes write some of their styles last; only then can all be joined, and the pages be told which they are."""
    if error or app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    css = join(static, [*THEME, *(str(one.filename).removeprefix("_static/") for one in _common(app))])
    css = pruned(css, words(Path(app.outdir)))
    (static / JOINED).write_text(css, encoding="utf-8")
    version = hashlib.sha256(css.encode()).hexdigest()[:8]
    for page in Path(app.outdir).rglob("*.html"):
        html = sized(page.read_text(encoding="utf-8"), page.parent)
        page.write_text(re.sub(rf'/{re.escape(JOINED)}(\?v=\w+)?"', f'/{JOINED}?v={version}"', html), encoding="utf-8")
    for path in {path for pattern in NOT_ASKED_FOR for path in static.glob(pattern)}:
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx: after all others have said what a page loads."""
    app.add_css_file("icons.css", priority=600)
    app.connect("html-page-context", _load, priority=900)
    app.connect("build-finished", _finish, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
