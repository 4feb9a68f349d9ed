"""The three outcomes of `check`, and that nothing a reader writes stops the lesson."""

from collections.abc import Callable

import numpy as np
import pytest

from scaling.course.exercise import Exercise, check

CASES = [{"batch": 3, "context": 5}, {"batch": 7, "context": 11}]


def reference(batch: float, context: float) -> float:
    return 2.0 * batch * context


def said(capsys: pytest.CaptureFixture[str]) -> str:
    out = capsys.readouterr()
    assert not out.err
    return out.out


@pytest.mark.parametrize("nothing", [..., None])
def test_not_attempted(nothing: object, capsys) -> None:
    check(lambda batch, context: nothing, reference, CASES)
    assert said(capsys).startswith("Not attempted yet")


def test_right(capsys) -> None:
    check(lambda batch, context: context * batch * 2, reference, CASES)
    assert said(capsys) == "Right on all 2 inputs.\n"
    check(reference, reference, CASES[:1])
    assert said(capsys) == "Right on all 1 input.\n"


def test_rounding_is_right_but_a_per_mille_is_not(capsys) -> None:
    check(lambda batch, context: 2 * batch * context * (1 + 1e-9), reference, CASES)
    assert said(capsys).startswith("Right")
    check(lambda batch, context: 2 * batch * context * 1.001, reference, CASES)
    assert said(capsys).startswith("Not yet")


def test_wrong_shows_the_first_input_that_differs(capsys) -> None:
    check(lambda batch, context: 30 if batch == 3 else 77, reference, CASES)
    out = said(capsys)
    assert "With batch=7, context=11: yours 77, expected 154 (ratio 0.5). 1 of 2 inputs are right already." in out


@pytest.mark.parametrize(
    ("factor", "cause"),
    [
        (2, "a factor 2 too many"),
        (0.5, "a factor 2 short"),
        (8, "8 times too large"),
        (1 / 8, "8 times too small"),
        (1000, "1000 times too large"),
        (1 / 1000, "1000 times too small"),
        (1e9, "a billion times too large"),
        (1e-9, "a billion times too small"),
        (2**30 / 1e9, "7.4 % too large: GiB"),
        (1e9 / 2**30, "6.9 % too small: GB"),
        (3.7, "No known mistake gives this number"),
    ],
)
def test_ratio_has_a_name(factor: float, cause: str, capsys) -> None:
    check(lambda batch, context: factor * reference(batch, context), reference, CASES)
    out = said(capsys)
    assert cause in out and not out.endswith(("?.\n", "..\n"))


def test_catalogued_mistake_goes_before_the_ratio(capsys) -> None:
    mistakes = {
        "You left out the context.": lambda batch, context: 2.0 * batch,
        "You left out the factor for K and V.": lambda batch, context: batch * context,
    }
    check(lambda batch, context: batch * context, *Exercise(reference, CASES, mistakes))
    assert "Likely cause: You left out the factor for K and V." in said(capsys)


def test_mistake_must_agree_on_every_input(capsys) -> None:
    mistakes = {"always six": lambda batch, context: 6}
    check(lambda batch, context: 6 if batch == 3 else 7, reference, CASES, mistakes)
    assert "always six" not in said(capsys)


@pytest.mark.parametrize("stop", [ZeroDivisionError("division by zero"), KeyError("x"), RecursionError("too deep")])
def test_function_that_stops(stop: Exception, capsys) -> None:
    def mine(batch: float, context: float) -> float:
        raise stop

    check(mine, reference, CASES)
    out = said(capsys)
    assert f"your function stopped with {type(stop).__name__}" in out
    assert "Traceback" not in out and "this number" not in out
    assert out.endswith("\nMend that first: it has returned nothing to compare yet.\n")


@pytest.mark.parametrize("mine", [lambda b: b, lambda batch, context: B * context])  # noqa: F821
def test_names_that_are_not_the_arguments(mine: Callable[..., float], capsys) -> None:
    check(mine, reference, CASES)
    out = said(capsys)
    assert "your function stopped with TypeError" in out or "your function stopped with NameError: name 'B'" in out
    assert out.endswith("\nIt is called with these arguments: batch, context. Use their names.\n")


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        *((text, "text") for text in ("30", "abc", b"30", "x" * 10_000)),
        *(([30], "a value of type list"), ({}, "a value of type dict"), (np.array([1, 2]), "a value of type ndarray")),
        *((30j, "a value of type complex"), (object(), "a value of type object"), (True, "True or False")),
    ],
)
def test_answer_that_is_no_number(answer: object, kind: str, capsys) -> None:
    check(lambda batch, context: answer, lambda batch, context: 1.0, CASES[:1])
    out = said(capsys)
    assert out.startswith("Not yet") and len(out) < 400
    assert out.endswith(f"\nReturn a number, not {kind}.\n")


@pytest.mark.parametrize("answer", [float("nan"), float("inf"), 10**400, -1])
def test_number_that_no_mistake_gives(answer: float, capsys) -> None:
    check(lambda batch, context: answer, lambda batch, context: 1.0, CASES[:1])
    out = said(capsys)
    assert out.startswith("Not yet") and len(out) < 400
    assert "No known mistake gives this number" in out


def test_half_attempted(capsys) -> None:
    check(lambda batch, context: None if batch == 7 else 30, reference, CASES)
    out = said(capsys)
    assert "your function returned None, expected 154" in out
    assert out.endswith("\nReturn a number, not nothing.\n")


def test_true_and_false(capsys) -> None:
    check(lambda batch, context: batch > 5, lambda batch, context: batch > 5, CASES)
    assert said(capsys).startswith("Right")
    check(lambda batch, context: 1, lambda batch, context: True, CASES)
    assert said(capsys).endswith("\nReturn True or False, not a number.\n")


def test_infinite_and_zero(capsys) -> None:
    check(lambda batch, context: 0, lambda batch, context: 0.0, CASES)
    assert said(capsys).startswith("Right")
    check(lambda batch, context: 3, lambda batch, context: 0.0, CASES)
    assert "yours 3, expected 0." in said(capsys)


@pytest.mark.parametrize(("answer", "right"), [(1_000_000, True), (1e6, True), (1_000_001, False), (1e6 + 0.25, False)])
def test_a_whole_number_is_exact(answer: float, right: bool, capsys) -> None:
    check(lambda batch, context: answer, lambda batch, context: 1_000_000, CASES)
    out = said(capsys)
    assert out.startswith("Right") if right else "Likely cause: the rounding. The answer is a whole number" in out


def test_a_rounded_measure_is_told(capsys) -> None:
    check(lambda batch, context: int(batch * 1.7), lambda batch, context: batch * 1.7, CASES)
    assert "Likely cause: the answer is rounded." in said(capsys)
    check(lambda batch, context: batch * 1.7 + 0.5, lambda batch, context: batch * 1.7, CASES)
    assert "rounded" not in said(capsys)


SHARED = Exercise(
    reference,
    CASES,
    {
        "the 2 is missing.": lambda batch, context: batch * context,
        "one of the two.": lambda batch, context: batch * context * 1.01,
        "the context is missing.": lambda batch, context: 2.0 * batch,
    },
)


def test_a_question_has_the_mistakes_of_its_exercise() -> None:
    traps = SHARED.traps({"Tripled.": 90.0}, batch=3, context=5)
    assert [(trap.value, trap.feedback) for trap in traps] == [
        (15, "Either: The 2 is missing. Or: One of the two."),  # nearer to each other than the tolerance tells
        (6, "The context is missing."),
        (90, "Tripled."),
    ]
    exact = SHARED.traps(rtol=0, without=("context",), batch=3, context=5)
    assert [trap.feedback for trap in exact] == ["The 2 is missing.", "One of the two."]


def test_what_is_no_mistake_at_the_input_is_no_trap() -> None:
    assert [trap.value for trap in SHARED.traps(batch=3, context=1)] == [3]
    with pytest.raises(ValueError, match=r"without must hold words of the exercise's mistakes, not 'heads'\."):
        SHARED.traps(without=("context", "heads"), batch=3, context=1)


def test_no_cases() -> None:
    with pytest.raises(ValueError, match=r"^cases must hold at least one dictionary of arguments"):
        check(reference, reference, [])
