"""Checks a reader's function against a reference, and says which mistake it looks like.

An exercise owns the mistakes of its formula: a question on the same formula has them as its traps.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from scaling._array import plain
from scaling.course.questions import RTOL as ROUNDING, Trap

RTOL = 1e-6

# A constant ratio between two answers usually has a name.
_RATIOS: tuple[tuple[float, str], ...] = (
    (2.0, "a factor 2 too many: something that is counted already was counted once more."),
    (1 / 2, "a factor 2 short: something that comes twice was counted once."),
    (8.0, "8 times too large: bits for bytes, or one of eight where all eight do the work?"),
    (1 / 8, "8 times too small: divided by 8 bits where it was in bytes, or one of eight for all of them?"),
    (1e3, "1000 times too large: a unit prefix, such as ms where seconds were asked."),
    (1e-3, "1000 times too small: a unit prefix, such as s where milliseconds were asked."),
    (1e9, "a billion times too large: the answer is in bytes where GB were asked, or the other way round."),
    (1e-9, "a billion times too small: the answer is in GB where bytes were asked."),
    (2.0**-30, "the answer is in GiB where bytes were asked."),
    (2**30 / 1e9, "7.4 % too large: GiB (2^30 bytes) where GB (10^9) was meant."),
    (1e9 / 2**30, "6.9 % too small: GB (10^9 bytes) where GiB (2^30) was meant."),
)


class Exercise(NamedTuple):
    """A reference, the inputs to try, and the mistakes worth naming: ``check(mine, *exercise)``.

    `mistakes`: what to say of a mistake, mapped to the function a reader would then have written. Some input must tell
    each of them from the reference and from every other.
    """

    reference: Callable[..., Any]
    cases: Sequence[Mapping[str, Any]]
    mistakes: Mapping[str, Callable[..., Any]] = {}

    def traps(
        self,
        also: Mapping[str, float] | None = None,
        *,
        rtol: float = ROUNDING,
        without: Sequence[str] = (),
        **case: Any,
    ) -> tuple[Trap, ...]:
        """The traps of a question that asks for the reference at one input, whose tolerance is `rtol`.

        `also`: what to say of numbers that only this question invites. `without`: words of the mistakes that nobody
        makes here. Mistakes that give one number share a trap; what is no mistake at this input is left out.

        Raises ``ValueError`` where no mistake has one of the words.
        """
        if unknown := [words for words in without if not any(words in said for said in self.mistakes)]:
            raise ValueError(f"without must hold words of the exercise's mistakes, not {unknown[0]!r}.")
        mistakes = {said: f for said, f in self.mistakes.items() if not any(words in said for words in without)}
        known = [(said, plain(mistake(**case))) for said, mistake in mistakes.items()]
        right = self.reference(**case)
        found: list[tuple[float, list[str]]] = []
        for said, value in [*known, *(also or {}).items()]:
            if math.isclose(value, right, rel_tol=1e-9):
                continue
            twins = (texts for other, texts in found if math.isclose(other, value, rel_tol=max(rtol, 1e-9)))
            same = next(twins, None)
            if same is None:
                found.append((value, [said]))
            else:
                same.append(said)
        return tuple(Trap(value=value, feedback=_either(texts)) for value, texts in found)


def _either(texts: Sequence[str]) -> str:
    """One sentence as it is; several, of which any may apply, told apart."""
    said = [f"{text[0].upper()}{text[1:]}" for text in texts]
    return said[0] if len(said) == 1 else " Or: ".join([f"Either: {said[0]}", *said[1:]])


class Verdict(NamedTuple):
    """`outcome`: "open" (not attempted), "right" or "wrong"; `said`: the same in words, with the likely cause."""

    outcome: str
    said: str


def check(
    mine: Callable[..., Any],
    reference: Callable[..., Any],
    cases: Sequence[Mapping[str, Any]],
    mistakes: Mapping[str, Callable[..., Any]] | None = None,
) -> None:
    """Print what `judge` says: not attempted, right, or wrong with the first differing input and its likely cause."""
    print(judge(mine, reference, cases, mistakes).said)


def judge(
    mine: Callable[..., Any],
    reference: Callable[..., Any],
    cases: Sequence[Mapping[str, Any]],
    mistakes: Mapping[str, Callable[..., Any]] | None = None,
) -> Verdict:
    """One of three outcomes: not attempted, right, or wrong with the first differing input and its likely cause.

    `cases`: keyword arguments for each call. `mistakes`: what to say, mapped to the function a reader would then have
    written; the first one that agrees with `mine` on every case is named.

    Nothing that the reader's function does raises here. Raises ``ValueError`` for an empty list of cases.
    """
    if not cases:
        raise ValueError("cases must hold at least one dictionary of arguments, not be empty.")
    answers = [_answer(mine, case) for case in cases]
    if all(answer is None or answer is ... for answer in answers):
        return Verdict("open", "Not attempted yet: replace the ... with your own formula.")
    expectations = [reference(**case) for case in cases]
    right = sum(map(_same, answers, expectations))
    for case, answer, expected in zip(cases, answers, expectations, strict=True):
        if not _same(answer, expected):
            others = f" {right} of {len(cases)} inputs are right already." if right else ""
            cause = _no_number(case, answer, expected) or _cause(answers, cases, answer, expected, mistakes or {})
            return Verdict("wrong", f"{_wrong(case, answer, expected)}{others}\n{cause}")
    inputs = "input" if len(cases) == 1 else "inputs"
    return Verdict("right", f"Right on all {len(cases)} {inputs}.")


def _answer(mine: Callable[..., Any], case: Mapping[str, Any]) -> Any:
    try:
        return plain(mine(**case))
    except (Exception, SystemExit) as error:  # a reader's code may fail in any way; the lesson goes on
        return error


def _same(answer: Any, expected: Any) -> bool:
    expected = plain(expected)
    if isinstance(answer, (bool, str)) or isinstance(expected, (bool, str)):
        return type(answer) is type(expected) and bool(answer == expected)
    try:
        # a whole number of things is right or wrong; a measure may be rounded
        return math.isclose(_number(answer), _number(expected), rel_tol=1e-12 if isinstance(expected, int) else RTOL)
    except Exception:  # not a number, in one way or another
        return False


def _ratio(answer: Any, expected: Any) -> float:
    try:
        return _number(answer) / _number(expected)
    except Exception:  # not a number, or over zero
        return math.nan


def _number(value: Any) -> float:
    if isinstance(value, (str, bytes, bytearray)):
        raise TypeError("text is not a number, also when it reads like one")
    return float(value)


def _wrong(case: Mapping[str, Any], answer: Any, expected: Any) -> str:
    inputs = ", ".join(f"{name}={value!r}" for name, value in case.items())
    if isinstance(answer, (Exception, SystemExit)):
        said = _clipped(lambda: f"{type(answer).__name__}: {answer}", answer, 200)
        return f"Not yet. With {inputs}: your function stopped with {said}"
    if answer is None or answer is ...:
        return f"Not yet. With {inputs}: your function returned {answer!r}, expected {_short(expected)}."
    ratio = _ratio(answer, expected)
    compared = f" (ratio {ratio:.4g})" if math.isfinite(ratio) else ""
    return f"Not yet. With {inputs}: yours {_short(answer)}, expected {_short(expected)}{compared}."


def _short(value: Any) -> str:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return _clipped(lambda: f"{value:.6g}" if is_number else repr(value), value, 60)


def _clipped(write: Callable[[], str], value: Any, longest: int) -> str:
    """What `write` says of the value, on one line and not too long."""
    try:
        text = " ".join(write().split())
    except Exception as error:  # a whole number beyond any float, or an object that cannot show itself
        text = f"a value of type {type(value).__name__} that cannot be shown ({type(error).__name__})"
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def _no_number(case: Mapping[str, Any], answer: Any, expected: Any) -> str:
    """What to do about an answer that cannot be compared with the expected one; empty if it can."""
    if isinstance(answer, (NameError, TypeError)):  # the commonest: a symbol in place of the argument's own name
        return f"It is called with these arguments: {', '.join(case)}. Use their names."
    if isinstance(answer, (Exception, SystemExit)):
        return "Mend that first: it has returned nothing to compare yet."
    wanted, kind = _kind(plain(expected)), _kind(answer)
    return "" if kind == wanted else f"Return {wanted}, not {kind}."


def _kind(value: Any) -> str:
    if value is None or value is ...:
        return "nothing"
    if isinstance(value, bool):
        return "True or False"
    if isinstance(value, (str, bytes, bytearray)):
        return "text"
    try:
        float(value)
    except OverflowError:  # a whole number beyond any float is a number
        pass
    except Exception:  # whatever it does instead of being a number
        return f"a value of type {type(value).__name__}"
    return "a number"


def _cause(
    answers: Sequence[Any],
    cases: Sequence[Mapping[str, Any]],
    answer: Any,
    expected: Any,
    mistakes: Mapping[str, Callable[..., Any]],
) -> str:
    for said, mistake in mistakes.items():
        if all(_same(a, mistake(**case)) for a, case in zip(answers, cases, strict=True)):
            return f"Likely cause: {said}"
    if rounded := _rounded(answer, expected):
        return f"Likely cause: {rounded}"
    ratio = _ratio(answer, expected)
    for known, said in _RATIOS:
        if math.isclose(ratio, known, rel_tol=1e-3):
            return f"Likely cause: {said}"
    return "No known mistake gives this number: compare your units, then your factors, one at a time."


def _rounded(answer: Any, expected: Any) -> str:
    """What to say where only the rounding differs, empty otherwise."""
    try:
        mine, right = _number(answer), _number(expected)
        near = abs(mine - right) <= 1 and abs(right) >= 1
    except Exception:  # beyond any float
        return ""
    if isinstance(expected, int) and near:
        return "the rounding. The answer is a whole number: which way must it be rounded, and when?"
    if near and mine.is_integer():
        return "the answer is rounded. Return the number as it comes."
    return ""
