"""What the widgets share: where their front ends lie, and what shows where no script runs."""

from html import escape
from pathlib import Path
from typing import Any

import anywidget
import traitlets as t


def load(*names: str) -> str:
    """The text of files that lie beside this module, one after the other."""
    here = Path(__file__).parent
    return "\n".join((here / name).read_text(encoding="utf-8") for name in names)


class StaticWidget(anywidget.AnyWidget):
    """A widget that leaves plain HTML behind for readers without a kernel or without JavaScript.

    `key` names it on its page: the script of the static site finds the saved state by it. A subclass gives `_esm`,
    `_css` and `fallback`.
    """

    key = t.Unicode().tag(sync=True)

    def fallback(self) -> str:
        """The HTML to show in place of the widget: every text escaped, the same on each run."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.key!r})"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        data, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        kind, key = type(self).__name__.lower(), escape(self.key)
        html = f'<div class="scaling-fallback" data-widget="{kind}" data-id="{key}">{self.fallback()}</div>'
        return {**data, "text/html": html}, metadata
