"""What the course needs and a person who sizes a server does not: questions, exercises, tables, traps, plots, widgets.

The widgets are loaded when first used: they need anywidget.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from scaling.course.exercise import Exercise as Exercise, check as check
from scaling.course.tables import table as table
from scaling.course.traps import trap as trap

if TYPE_CHECKING:
    from scaling.course.widgets import (
        Explorer as Explorer,
        Progress as Progress,
        Quizzes as Quizzes,
        Sweep as Sweep,
        explore_batch as explore_batch,
        explore_launch as explore_launch,
        explore_memory as explore_memory,
        explore_splitting as explore_splitting,
    )


def __getattr__(name: str) -> Any:
    widgets = import_module("scaling.course.widgets")
    if name in widgets.__all__:
        return getattr(widgets, name)
    raise AttributeError(f"module 'scaling.course' has no attribute {name!r}")
