"""Widgets that work in a live notebook and, with no kernel, on the static page. Each is loaded when first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_MODULE = {"Quiz": "quiz", "Quizzes": "quiz", "Progress": "quiz", "Explorer": "explorer", "Sweep": "sweep"}
_MODULE |= dict.fromkeys(("explore_memory", "explore_batch", "explore_splitting", "explore_launch"), "kinds")
__all__ = sorted(_MODULE)


def __getattr__(name: str) -> Any:
    if name not in _MODULE:
        raise AttributeError(f"module 'scaling.course.widgets' has no attribute {name!r}")
    try:
        module = import_module(f"scaling.course.widgets.{_MODULE[name]}")
    except ModuleNotFoundError as error:
        if error.name not in ("anywidget", "ipywidgets", "traitlets"):
            raise
        raise ImportError(f"{name} needs the package {error.name}: install it with pip install anywidget.") from error
    value = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)


if TYPE_CHECKING:
    from scaling.course.widgets.explorer import Explorer as Explorer
    from scaling.course.widgets.kinds import (
        explore_batch as explore_batch,
        explore_launch as explore_launch,
        explore_memory as explore_memory,
        explore_splitting as explore_splitting,
    )
    from scaling.course.widgets.quiz import Progress as Progress, Quiz as Quiz, Quizzes as Quizzes
    from scaling.course.widgets.sweep import Sweep as Sweep
