"""Quiz questions as records. A bank is a module that holds them; widgets show them; tests hold them to rules.

Keys and traps are values that the bank computed with this package. Every option and every trap has its own feedback.
Texts are plain text: they are set as text, never as markup.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, TypeAlias

from scaling._checks import flag, shown

RTOL = 0.02

# What comes whole. An answer that is a whole number of these has no tolerance: 278 GPUs are no 280, and a limit that
# 143 sequences break is not kept by "about 142".
COUNTED = frozenset("sequences tokens chips GPUs cards nodes servers slices steps ways queries users".split())


def _text(field: str, value: object) -> None:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{field} must be a sentence, not {shown(value)}.")


def _tuple(field: str, value: object, kind: type) -> None:
    if not isinstance(value, tuple) or not all(isinstance(item, kind) for item in value):
        raise ValueError(f"{field} must be a tuple of {kind.__name__}, not {shown(value)}.")


def _number(field: str, value: float) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 1e300:
        raise ValueError(f"{field} must be a finite number, not {shown(value)}.")


@dataclass(frozen=True, kw_only=True)
class Option:
    """One choice, whether it is right, and what to tell the reader who takes it."""

    text: str
    feedback: str
    correct: bool = False

    def __post_init__(self) -> None:
        _text("Option.text", self.text)
        _text("Option.feedback", self.feedback)
        flag("Option.correct", self.correct)


@dataclass(frozen=True, kw_only=True)
class Trap:
    """A wrong number that a known mistake gives, and what to tell the reader who gives it."""

    value: float
    feedback: str

    def __post_init__(self) -> None:
        _number(f"{type(self).__name__}.value", self.value)
        _text(f"{type(self).__name__}.feedback", self.feedback)


class Sharper(Trap):
    """A number that counts more than the question asks for, and what it counts."""


@dataclass(frozen=True, kw_only=True)
class WrongOrder:
    """An order that a known mistake gives, and what to tell the reader who gives it."""

    order: tuple[str, ...]
    feedback: str

    def __post_init__(self) -> None:
        _tuple("WrongOrder.order", self.order, str)
        _text("WrongOrder.feedback", self.feedback)


@dataclass(frozen=True, kw_only=True)
class _Question:
    """What all kinds share.

    `id`: stable, chapter and topic, such as ``"02-kv-per-token"``; answers are remembered under it.
    `hints`: three, each a step nearer: which quantity, which formula, the first line of the working.
    `solution`: the worked answer, shown last.
    """

    id: str
    prompt: str
    hints: tuple[str, str, str]
    solution: str

    def __post_init__(self) -> None:
        for field in ("id", "prompt", "solution"):
            _text(f"{type(self).__name__}.{field}", getattr(self, field))
        _tuple(f"hints of question {self.id}", self.hints, str)
        if len(self.hints) != 3:
            raise ValueError(f"hints of question {self.id} must be three sentences, not {len(self.hints)}.")
        for hint in self.hints:
            _text(f"a hint of question {self.id}", hint)


@dataclass(frozen=True, kw_only=True)
class _Choice(_Question):
    options: tuple[Option, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        _tuple(f"options of question {self.id}", self.options, Option)
        if len({option.text for option in self.options}) < len(self.options):
            raise ValueError(f"options of question {self.id} must differ from one another.")


@dataclass(frozen=True, kw_only=True)
class Single(_Choice):
    """Exactly one of the options is right."""

    def __post_init__(self) -> None:
        super().__post_init__()
        right = sum(option.correct for option in self.options)
        if right != 1 or len(self.options) < 3:
            raise ValueError(f"options of question {self.id} must be three or more with one right, not {right} right.")


@dataclass(frozen=True, kw_only=True)
class Multiple(_Choice):
    """Some of the options are right: at least one, not all."""

    def __post_init__(self) -> None:
        super().__post_init__()
        right = sum(option.correct for option in self.options)
        if not 0 < right < len(self.options):
            raise ValueError(
                f"options of question {self.id} must be right in part, not {right} of {len(self.options)}."
            )


@dataclass(frozen=True, kw_only=True)
class Ordering(_Question):
    """Put the items in order. `items` are given in the right order; `right` is said of it, `other` of any wrong order
    that is not one of the `traps`.
    """

    items: tuple[str, ...]
    right: str
    other: str
    traps: tuple[WrongOrder, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        _text("Ordering.right", self.right)
        _text("Ordering.other", self.other)
        _tuple(f"items of question {self.id}", self.items, str)
        _tuple(f"traps of question {self.id}", self.traps, WrongOrder)
        if len(set(self.items)) < 3 or len(set(self.items)) < len(self.items):
            raise ValueError(f"items of question {self.id} must be three or more that differ.")
        for trap in self.traps:
            if sorted(trap.order) != sorted(self.items) or trap.order == self.items:
                raise ValueError(f"a trap of question {self.id} must be another order of the same items.")


@dataclass(frozen=True, kw_only=True)
class Numeric(_Question):
    """A number with a unit.

    `answer` and the values of `traps` and `sharper` are in the unit's base (bytes for ``"GB"``, seconds for ``"ms"``);
    `unit` is the one that answers are shown in. `rtol`: relative tolerance; 0 asks for the exact number, as it must
    where that is a whole number of things. `right` is said of it. `sharper`: numbers that count more than the question
    asks for; they are right too, and what they count is said of them.
    """

    answer: float
    unit: str
    right: str
    traps: tuple[Trap, ...] = ()
    sharper: tuple[Sharper, ...] = ()
    rtol: float = RTOL

    def __post_init__(self) -> None:
        super().__post_init__()
        _text("Numeric.right", self.right)
        _tuple(f"traps of question {self.id}", self.traps, Trap)
        _tuple(f"sharper answers of question {self.id}", self.sharper, Sharper)
        for field in ("answer", "rtol"):
            _number(f"{field} of question {self.id}", getattr(self, field))
        if self.answer == 0:
            raise ValueError(f"answer of question {self.id} must be a finite number other than 0, not {self.answer!r}.")
        if not isinstance(self.unit, str):
            raise ValueError(f"unit of question {self.id} must be text, not {shown(self.unit)}.")
        if not 0 <= self.rtol < 1:
            raise ValueError(f"rtol of question {self.id} must be at least 0 and below 1, not {self.rtol!r}.")
        if self.rtol and self.counts:
            raise ValueError(
                f"rtol of question {self.id} must be 0, since its answer is a whole number of {self.unit}, "
                f"not {self.rtol!r}."
            )
        right = [self.answer, *(one.value for one in self.sharper)]
        wrong = [trap.value for trap in self.traps]
        for one, other in [*product(right, wrong), *combinations(wrong, 2)]:
            if abs(other - one) <= 2 * self.rtol * max(abs(one), abs(other)):
                raise ValueError(
                    f"traps of question {self.id} must be apart from what is right and from each other by more than "
                    f"the tolerance, not {one!r} and {other!r}."
                )

    @property
    def counts(self) -> bool:
        """Whether the answer is a whole number of things that come whole."""
        return float(self.answer).is_integer() and self.unit.partition(" ")[0] in COUNTED


Question: TypeAlias = Single | Multiple | Ordering | Numeric

KINDS = {Single: "single", Multiple: "multiple", Ordering: "ordering", Numeric: "numeric"}


def as_data(question: Question) -> dict[str, Any]:
    """The question as plain JSON data, which is what a widget's front end reads."""
    from dataclasses import asdict

    return {"kind": KINDS[type(question)], **asdict(question)}


def by_id(questions: tuple[Question, ...]) -> Mapping[str, Question]:
    """The bank as a mapping. Raises ``ValueError`` when two questions share an id."""
    bank = {question.id: question for question in questions}
    if len(bank) < len(questions):
        raise ValueError("ids of the questions in a bank must differ.")
    return bank
