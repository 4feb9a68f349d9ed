"""What the widgets share: their front ends by file, and what a notebook and the site keep of a widget.

With a kernel anywidget sends script and style along. Without one there is only the HTML output: the widget as text, and
what it holds as JSON, from which the site starts the script that it has of each kind. So no notebook stores a script.
"""

import json
import re
from base64 import b64encode
from html import escape
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import traitlets as t

HERE = Path(__file__).parent


def load(*names: str) -> str:
    """The text of files that lie beside this module, one after the other. Scripts join into one, and import nothing."""
    text = "\n".join((HERE / name).read_text(encoding="utf-8") for name in names)
    return re.sub(r'^import [^;]* from "\./\w+\.js";\n', "", text, flags=re.MULTILINE)


class StaticWidget(anywidget.AnyWidget):
    """A widget that leaves plain HTML behind for readers without a kernel or without JavaScript.

    `key` names it on its page. A subclass gives `fallback`, and by file name its `scripts` (the last has the default
    export, and gives the front end its name) and `styles`.
    """

    scripts: ClassVar[tuple[str, ...]] = ()
    styles: ClassVar[tuple[str, ...]] = ()

    key = t.Unicode().tag(sync=True)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        if "scripts" in vars(cls):  # not in the class that traitlets makes of an instance, whose `_esm` is a trait
            cls._esm, cls._css = load(*cls.scripts), load(*cls.styles)
        super().__init_subclass__(**kwargs)

    @classmethod
    def front_end(cls) -> str:
        """What the site calls the script that shows this widget."""
        return Path(cls.scripts[-1]).stem

    def fallback(self) -> str:
        """The HTML to show in place of the widget: every text escaped, the same on each run."""
        raise NotImplementedError

    def data(self) -> dict[str, Any]:
        """What the widget itself holds and shares with its front end, without what every widget of Jupyter has."""
        own = set(self.trait_names(sync=True)) - set(anywidget.AnyWidget.class_trait_names())
        return {name: getattr(self, name) for name in sorted(own) if not name.startswith("_")}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.key!r})"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        bundle, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        names = f'data-widget="{type(self).__name__.lower()}" data-front-end="{self.front_end()}"'
        # One value a line, for those who review a changed notebook; no "<", since "</script>" in a text would end it.
        text = json.dumps(self.data(), indent=0, ensure_ascii=False, default=_bytes).replace("<", r"\u003c")
        html = (
            f'<div class="scaling-fallback" {names} data-id="{escape(self.key)}">{self.fallback()}'
            f'<script type="application/json">{text}</script></div>'
        )
        return {**bundle, "text/html": html}, metadata


def _bytes(value: object) -> dict[str, str]:
    """Bytes as JSON: the site's script knows them by this one name."""
    if not isinstance(value, bytes):
        raise TypeError(f"a widget's data must be plain or bytes, not {type(value).__name__}.")
    return {"base64": b64encode(value).decode()}
