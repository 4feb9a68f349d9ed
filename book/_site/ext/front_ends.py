"""The widgets' scripts and styles, once for the whole site, each loaded only by the pages that have such a widget.

A page opened from a folder may load no module, so each front end becomes a classic script that registers what it
exports; ``hydrate.js`` finds it there by the name that the widget's HTML gives.
"""

import re
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parents[3]))  # the folder of `scaling`

from scaling.course.widgets import Explorer, Quiz, Sweep
from scaling.course.widgets._base import HERE, StaticWidget

FRONT_ENDS: dict[str, type[StaticWidget]] = {widget.front_end(): widget for widget in (Quiz, Explorer, Sweep)}


def classic(name: str, module: str) -> str:
    """A module as a classic script. Its exports must begin a line, the default one must be its last statement."""
    # A quarter of the scripts are comments, for those who read the files; no page loads them.
    code = re.sub(r"^ *(?://[^\n]*|/\*\*[\s\S]*?\*/)\n", "", module, flags=re.MULTILINE)
    body, found = re.subn(r"^export default (?=[^;]*;\s*\Z)", "return ", code, flags=re.MULTILINE)
    body = re.sub(r"^export (?=(async |)(function|class|const|let)\b)", "", body, flags=re.MULTILINE)
    if found != 1 or re.search(r"^(import|export)\b", body, re.MULTILINE):
        raise ValueError(f"{name}.js must import nothing, export only what it defines, and end in its default export.")
    return f'(globalThis.scalingFrontEnds ??= {{}}).{name} = (() => {{\n"use strict";\n{body}}})();\n'


def files() -> dict[str, str]:
    """Name and text of each file that the site gets."""
    scripts = {f"{name}.js": classic(name, widget._esm) for name, widget in FRONT_ENDS.items()}
    styles = {style for widget in FRONT_ENDS.values() for style in widget.styles}
    return scripts | {style: (HERE / style).read_text(encoding="utf-8") for style in sorted(styles)}


def _write(app: Sphinx) -> None:
    folder = Path(app.outdir, "_static")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in app.config.front_ends.items():
        (folder / name).write_text(text, encoding="utf-8")


def _load(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    names = dict.fromkeys(
        re.findall(r'<div class="scaling-fallback"[^>]* data-front-end="(\w+)"', context.get("body", ""))
    )
    for style in dict.fromkeys(style for name in names for style in FRONT_ENDS[name].styles):
        app.add_css_file(style)
    # Before all other deferred scripts, so that questions do not wait for them.
    for script in [*names, "hydrate"] if names else []:
        app.add_js_file(f"{script}.js", loading_method="defer", priority=100)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx. The files are a setting, so that every page is written again when one of them changes."""
    app.add_config_value("front_ends", files(), "html")
    app.connect("builder-inited", _write)
    app.connect("html-page-context", _load)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
