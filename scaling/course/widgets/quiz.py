"""The quiz widgets. The front end, ``quiz.js``, renders and grades; nothing is graded here."""

from collections.abc import Mapping
from hashlib import sha256
from html import escape
from itertools import permutations
from typing import Any

import traitlets as t

from scaling.course.questions import Numeric, Ordering, Question, as_data, by_id
from scaling.course.widgets._base import StaticWidget


def shown_order(question: Ordering) -> tuple[str, ...]:
    """The items as the reader first sees them: always the same, and neither the right order nor a known wrong one."""
    mixed = sorted(question.items, key=lambda item: sha256(f"{question.id} {item}".encode()).digest())
    known = {question.items, *(trap.order for trap in question.traps)}
    return next((order for order in permutations(mixed) if order not in known), tuple(reversed(question.items)))


class Quiz(StaticWidget):
    """One question. The reader's last graded answer is in the traits, and setting them back to nothing starts again.

    `answer`: index of the option, list of indexes, list of items, or the text typed; None when not attempted.
    `outcome`: ``""`` when not attempted, ``"wrong"`` or ``"right"``. `cause`: the feedback given.
    """

    scripts = ("dom.js", "grading.js", "quiz.js")
    styles = ("widgets.css",)

    kind = t.Unicode("quiz").tag(sync=True)
    question = t.Dict(read_only=True).tag(sync=True)
    answer = t.Any(None, allow_none=True).tag(sync=True)
    outcome = t.Enum(["", "wrong", "right"], "").tag(sync=True)
    attempts = t.Int(0).tag(sync=True)
    cause = t.Unicode("").tag(sync=True)

    def __init__(self, question: Question) -> None:
        self._question = question
        super().__init__(key=question.id)

    @t.default("question")
    def _data(self) -> dict[str, Any]:
        question = self._question
        shown = {"shown": list(shown_order(question))} if isinstance(question, Ordering) else {}
        return {**as_data(question), **shown}

    def fallback(self) -> str:
        """The question, its options or items, and the solution folded away."""
        question = self._question
        if isinstance(question, Numeric):
            body = f"<p>Answer in {escape(question.unit)}.</p>" if question.unit else ""
        elif isinstance(question, Ordering):
            body = _list("ol", shown_order(question))
        else:
            body = _list("ul", [option.text for option in question.options])
        return (
            f"<p><strong>{escape(question.prompt)}</strong></p>{body}"
            f"<details><summary>Solution</summary><p>{escape(question.solution)}</p></details>"
        )


def _list(tag: str, texts: list[str] | tuple[str, ...]) -> str:
    return f"<{tag}>{''.join(f'<li>{escape(text)}</li>' for text in texts)}</{tag}>"


class Progress(StaticWidget):
    """How many of the questions `ids` the reader has answered right, and a button that clears these answers."""

    scripts = ("dom.js", "grading.js", "quiz.js")
    styles = ("widgets.css",)

    kind = t.Unicode("progress").tag(sync=True)
    ids = t.List(t.Unicode()).tag(sync=True)

    def fallback(self) -> str:
        """How many questions there are."""
        return f"<p>{len(self.ids)} questions on this page. Answers are checked when JavaScript is on.</p>"


class Quizzes:
    """A bank of questions; calling it with an id gives that question's widget, the same one each time."""

    def __init__(self, questions: tuple[Question, ...]) -> None:
        self._bank: Mapping[str, Question] = by_id(questions)
        self._shown: dict[str, Quiz] = {}

    def __call__(self, id: str) -> Quiz:
        """The widget of the question `id`. Raises ``ValueError`` when the bank has no such question."""
        if id not in self._bank:
            raise ValueError(f"id must be one of {', '.join(self._bank)}, not {id!r}.")
        if id not in self._shown:
            self._shown[id] = Quiz(self._bank[id])
        return self._shown[id]

    def progress(self) -> Progress:
        """The widget that counts this bank's right answers."""
        first = next(iter(self._bank), "")
        return Progress(key=f"{first.partition('-')[0]}-progress", ids=list(self._bank))
