"""What the course needs and a person who sizes a server does not: questions, exercises, tables, plots, widgets.

The widgets are loaded when first used: they need anywidget.
"""

from typing import TYPE_CHECKING, Any

from scaling.course.exercise import Exercise as Exercise, check as check
from scaling.course.tables import table as table

if TYPE_CHECKING:
    from scaling.course.widgets import Explorer as Explorer, Progress as Progress, Quizzes as Quizzes, Sweep as Sweep


def __getattr__(name: str) -> Any:
    if name in ("Explorer", "Progress", "Quizzes", "Sweep"):
        from scaling.course import widgets

        return getattr(widgets, name)
    raise AttributeError(f"module 'scaling.course' has no attribute {name!r}")
