"""Questions as records: what they hold, and what they refuse in one sentence."""

import dataclasses
import json
from typing import Any

import pytest

from scaling.course.questions import (
    Multiple,
    Numeric,
    Option,
    Ordering,
    Question,
    Sharper,
    Single,
    Trap,
    WrongOrder,
    as_data,
    by_id,
)

SHARED: dict[str, Any] = {"id": "99-q", "prompt": "Which?", "hints": ("one", "two", "three"), "solution": "This."}
RIGHT, WRONG, OTHER = (Option(text=t, feedback=f"about {t}", correct=t == "a") for t in "abc")
SINGLE = Single(options=(WRONG, RIGHT, OTHER), **SHARED)
NUMERIC = Numeric(answer=100.0, unit="B", right="yes", traps=(Trap(value=50.0, feedback="half"),), **SHARED)
ORDERING = Ordering(items=("a", "b", "c"), right="yes", other="no", **SHARED)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Option(text="", feedback="f"), "Option.text"),
        (lambda: Option(text="t", feedback=" "), "Option.feedback"),
        (lambda: Trap(value=1.0, feedback=""), "Trap.feedback"),
        (lambda: WrongOrder(order=("a", "b"), feedback=""), "WrongOrder.feedback"),
        (lambda: dataclasses.replace(SINGLE, id=""), "Single.id"),
        (lambda: dataclasses.replace(SINGLE, prompt=None), "Single.prompt"),
        (lambda: dataclasses.replace(SINGLE, solution=""), "Single.solution"),
        (lambda: dataclasses.replace(SINGLE, hints=("one", "two")), "three sentences, not 2"),
        (lambda: dataclasses.replace(SINGLE, hints=("one", "", "three")), "a hint of question 99-q"),
        (lambda: dataclasses.replace(SINGLE, options=(RIGHT, WRONG, WRONG)), "must differ"),
        (lambda: dataclasses.replace(SINGLE, options=(RIGHT, WRONG)), "three or more with one right"),
        (lambda: Single(options=(WRONG, OTHER, Option(text="d", feedback="f")), **SHARED), "not 0 right"),
        (lambda: Single(options=(RIGHT, WRONG, Option(text="d", feedback="f", correct=True)), **SHARED), "not 2 right"),
        (lambda: Multiple(options=(WRONG, OTHER), **SHARED), "not 0 of 2"),
        (lambda: Multiple(options=(RIGHT,), **SHARED), "not 1 of 1"),
        (lambda: dataclasses.replace(ORDERING, items=("a", "b")), "three or more that differ"),
        (lambda: dataclasses.replace(ORDERING, items=("a", "b", "b")), "three or more that differ"),
        (lambda: dataclasses.replace(ORDERING, right=""), "Ordering.right"),
        (lambda: dataclasses.replace(ORDERING, other=""), "Ordering.other"),
        (
            lambda: dataclasses.replace(ORDERING, traps=(WrongOrder(order=("a", "b", "c"), feedback="f"),)),
            "another order",
        ),
        (lambda: dataclasses.replace(ORDERING, traps=(WrongOrder(order=("a", "b"), feedback="f"),)), "another order"),
        (lambda: dataclasses.replace(NUMERIC, right=""), "Numeric.right"),
        (lambda: dataclasses.replace(NUMERIC, answer=0.0), "finite number other than 0, not 0.0"),
        (lambda: dataclasses.replace(NUMERIC, answer=float("nan")), "not nan"),
        (lambda: dataclasses.replace(NUMERIC, answer=float("-inf")), "not -inf"),
        (lambda: dataclasses.replace(NUMERIC, answer=51.0), "not 51.0 and 50.0"),
        (
            lambda: dataclasses.replace(NUMERIC, unit="GPUs"),
            "must be 0, since its answer is a whole number of GPUs, not 0.02",
        ),
        (lambda: dataclasses.replace(NUMERIC, unit="tokens per step"), "a whole number of tokens per step"),
        (lambda: dataclasses.replace(NUMERIC, sharper=(Sharper(value=50.5, feedback="f"),)), "not 50.5 and 50.0"),
        (lambda: Sharper(value=1.0, feedback=""), "Sharper.feedback"),
        (lambda: dataclasses.replace(NUMERIC, answer=50.0, rtol=0.0), "not 50.0 and 50.0"),
        (
            lambda: dataclasses.replace(NUMERIC, traps=(*NUMERIC.traps, Trap(value=49.0, feedback="f"))),
            "not 50.0 and 49.0",
        ),
    ],
)
def test_nonsense_is_refused_and_named(make: Any, said: str) -> None:
    with pytest.raises(ValueError) as error:
        make()
    assert said in str(error.value)


def test_traps_may_come_as_near_as_twice_the_tolerance() -> None:
    assert dataclasses.replace(NUMERIC, answer=52.1).answer == 52.1  # 2 x 2 % of 52.1 is 2.084 < 2.1
    with pytest.raises(ValueError):
        dataclasses.replace(NUMERIC, answer=52.0)  # 2.08 > 2


def test_what_is_no_whole_count_may_be_rounded_and_a_sharper_answer_may_be_near() -> None:
    assert not dataclasses.replace(NUMERIC, unit="tokens/s").counts
    assert not dataclasses.replace(NUMERIC, unit="GPUs", answer=100.5).counts
    assert dataclasses.replace(NUMERIC, unit="GPUs", rtol=0.0).counts
    assert dataclasses.replace(NUMERIC, sharper=(Sharper(value=100.5, feedback="You took all."),)).sharper


def test_records_are_frozen_and_take_keywords_only() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        SINGLE.prompt = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        Option("a", "b")  # type: ignore[misc]


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        (SINGLE, "single"),
        (Multiple(options=(RIGHT, WRONG), **SHARED), "multiple"),
        (ORDERING, "ordering"),
        (NUMERIC, "numeric"),
    ],
)
def test_as_data_is_plain_json_that_loses_nothing(question: Question, kind: str) -> None:
    data = json.loads(json.dumps(as_data(question)))
    assert data.pop("kind") == kind
    assert set(data) == {field.name for field in dataclasses.fields(question)}
    assert data["id"] == "99-q" and data["hints"] == ["one", "two", "three"]


def test_by_id_keeps_the_order_and_refuses_two_of_a_name() -> None:
    other = dataclasses.replace(NUMERIC, id="99-a")
    assert list(by_id((SINGLE, other))) == ["99-q", "99-a"]
    assert by_id(()) == {}
    with pytest.raises(ValueError, match="must differ"):
        by_id((SINGLE, NUMERIC))
