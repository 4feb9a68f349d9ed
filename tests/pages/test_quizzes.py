"""The banks, held to their rules: keys are computed, every mistake has feedback of its own, pages and banks agree.

Verdicts come from the grader that readers use, under Node.
"""

import ast
import contextlib
import importlib
import io
import json
import re
import subprocess
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from scaling.course.exercise import Exercise, _same, check
from scaling.course.questions import (
    KINDS,
    Multiple,
    Numeric,
    Option,
    Ordering,
    Question,
    Single,
    Trap,
    WrongOrder,
    as_data,
)
from tests.conftest import tool
from tests.paths import BOOK

JS = Path(__file__).parent / "js"
NAMES = sorted(path.stem for path in (BOOK / "quizzes").glob("*.py") if path.stem != "__init__")


class Case(NamedTuple):
    """An answer, its verdict, and the feedback that the verdict must end with."""

    question: Question
    answer: Any
    outcome: str
    feedback: str


def cases(question: Question) -> Iterator[Case]:
    """Every answer that the question has words for."""
    if isinstance(question, Numeric):
        yield Case(question, {"base": question.answer}, "right", question.right)
        for sharper in question.sharper:
            yield Case(question, {"base": sharper.value}, "right", sharper.feedback)
        for trap in question.traps:
            yield Case(question, {"base": trap.value}, "wrong", trap.feedback)
    elif isinstance(question, Ordering):
        yield Case(question, list(question.items), "right", question.right)
        known = [question.items, *(trap.order for trap in question.traps)]
        for trap in question.traps:
            yield Case(question, list(trap.order), "wrong", trap.feedback)
        for i in range(len(question.items) - 1):
            order = [*question.items[:i], question.items[i + 1], question.items[i], *question.items[i + 2 :]]
            if tuple(order) not in known:
                yield Case(question, order, "wrong", question.other)
    elif isinstance(question, Single):
        for i, option in enumerate(question.options):
            yield Case(question, i, "right" if option.correct else "wrong", option.feedback)
    else:
        right = [i for i, option in enumerate(question.options) if option.correct]
        yield Case(question, right, "right", question.options[right[-1]].feedback)
        for i, option in enumerate(question.options):
            if not option.correct:
                yield Case(question, [*right, i], "wrong", option.feedback)
            elif len(right) > 1:
                yield Case(
                    question, [j for j in right if j != i], "wrong", "What you chose belongs here, and 1 more does."
                )


def graded(asked: list[Case]) -> list[dict[str, Any]]:
    tasks = json.dumps([{"question": as_data(case.question), "answer": case.answer} for case in asked])
    command = [tool("node"), str(JS / "grade_banks.mjs")]
    done = subprocess.run(command, input=tasks, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def misgraded(questions: tuple[Question, ...]) -> list[str]:
    asked = [case for question in questions for case in cases(question)]
    return [
        f"{case.question.id}, {case.answer}: {verdict['outcome']!r}, {verdict['say']!r} in place of {case.feedback!r}"
        for case, verdict in zip(asked, graded(asked), strict=True)
        if verdict["outcome"] != case.outcome or not verdict["say"].endswith(case.feedback)
    ]


def typed_keys(source: str) -> list[str]:
    """Keys and values of traps that are written down as numbers and not computed."""
    return [
        f"line {node.value.lineno}: {node.arg}={ast.unparse(node.value)}"
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call) and ast.unparse(call.func).split(".")[-1] in ("Numeric", "Trap", "Sharper")
        for node in call.keywords
        if node.arg in ("answer", "value")
        and not any(isinstance(part, (ast.Call, ast.Name)) for part in ast.walk(node.value))
    ]


def load(name: str) -> ModuleType:
    return importlib.import_module(f"quizzes.{name}")


def every_question() -> list[Question]:
    return [question for name in NAMES for question in load(name).QUESTIONS]


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def questions(name: str) -> tuple[Question, ...]:
    return load(name).QUESTIONS


def pages(name: str) -> list[Path]:
    """The notebooks that use the bank."""
    return [path for path in sorted(BOOK.glob("*.ipynb")) if f"from quizzes import {name} as bank" in path.read_text()]


def sources(path: Path, kind: str) -> list[str]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == kind]


def stored(path: Path) -> dict[str, dict[str, Any]]:
    """What the quizzes of a notebook hold, by id."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    html = [
        "".join(output.get("data", {}).get("text/html", "")) for cell in cells for output in cell.get("outputs", [])
    ]
    texts = [text for one in html for text in re.findall(r'<script type="application/json">(.*?)</script>', one, re.S)]
    return {data["key"]: data for text in texts if (data := json.loads(text)).get("kind") == "quiz"}


def test_there_are_banks() -> None:
    assert NAMES


def test_ids_differ_and_carry_their_chapter(name: str, questions: tuple[Question, ...]) -> None:
    everywhere = [question.id for question in every_question()]
    assert all(everywhere.count(question.id) == 1 for question in questions)
    assert all(re.fullmatch(r"\d\d(-[a-z0-9]+)+", question.id) for question in questions)
    chapters = {question.id[:2] for question in questions}
    assert len(chapters) == 1
    assert all(path.name[:2] in chapters for path in pages(name))


def test_five_questions_or_more_and_every_kind(questions: tuple[Question, ...]) -> None:
    assert len(questions) >= 5
    assert {type(question) for question in questions} == set(KINDS)


def test_the_key_is_right_and_each_mistake_gets_its_own_feedback(questions: tuple[Question, ...]) -> None:
    assert not misgraded(questions)


def test_the_number_of_the_worked_solution_is_right_in_the_unit_that_the_question_names(
    questions: tuple[Question, ...],
) -> None:
    for question in questions:
        if isinstance(question, Numeric):
            numbers = re.findall(r"\d[\d,]*\.?\d*(?:e[+-]?\d+)?", question.solution)
            typed = [Case(question, f"{n.rstrip('.,')} {question.unit}", "right", question.right) for n in numbers]
            outcomes = [verdict["outcome"] for verdict in graded(typed)]
            assert "right" in outcomes, f"{question.id}: none of {numbers} {question.unit} is graded right"


NEVER_ROUNDED = {"07-evicted"}


def test_a_whole_number_is_right_or_wrong_and_the_wrong_rounding_has_its_sentence(
    questions: tuple[Question, ...],
) -> None:
    for question in (q for q in questions if isinstance(q, Numeric) and q.counts):
        near = [question.answer + by for by in (-1, -0.5, -0.2, -0.01, 0.01, 0.2, 0.5, 1)]
        sharper = [one.value for one in question.sharper]
        beside = [f"{n!r} {question.unit}" for n in near if n not in sharper]
        verdicts = graded([Case(question, typed, "wrong", "") for typed in beside])
        assert [v["outcome"] for v in verdicts] == ["wrong"] * len(beside), question.id
        assert not any("keep more digits" in v["say"] for v in verdicts), "of a whole number there are no more digits"
        rounded = [trap for trap in question.traps if abs(trap.value / question.answer - 1) < 0.05]
        assert rounded or question.id in NEVER_ROUNDED, f"{question.id}: name what the wrong rounding gives"


def test_a_number_without_a_unit_is_in_the_unit_asked(questions: tuple[Question, ...]) -> None:
    asked = [case for q in questions if isinstance(q, Numeric) for case in cases(q)]
    bare = [case._replace(answer={**case.answer, "bare": True}) for case in asked]
    assert graded(bare) == graded(asked)


# The wrong answers that readers bring, from the text, from another chapter or by a slip that is easily made.
LIKELY = {
    "01-flops-per-dollar": ["1.64e14 FLOP", "9.85e15"],
    "02-kv-per-token": ["655,360", "2,621,440", "160 kB", "80 KiB"],
    "02-budget-8xh100": ["150.5", "151", "355", "357", "178", "301", "202"],
    "03-decode-floor": ["1.306", "2.61", "10.45", "0.653"],
    "03-prefill": ["271.5", "36.2", "724", "45.3"],
    "04-max-batch": ["52", "58", "44", "43.2"],
    "04-plateau": ["2,496", "7,071", "14,760"],
    "05-step-at-64": ["9.47", "14.87", "6.63", "18.7"],
    "05-cache-passes-weights": ["54", "104", "26"],
    "06-nvlink-limit": ["16", "11.87", "11.58", "8", "26.1"],
    "07-evicted": ["128", "64", "32"],
    "07-ratio": ["3.88", "3.26", "4", "0.334"],
    "07-ttft": ["362 ms", "363.9 ms", "454.8 ms", "1,819 ms", "2,274 ms"],
    "08-max-batch-32k": ["106.2", "107", "424", "119"],
    "09-pool": ["454,000", "222,260", "889,000", "414,000"],
    "09-chunk-budget": ["430", "566", "339"],
    "09-prefix-saved": ["32 GB", "30.9 GB", "33.55 GB", "0.336 GB"],
    "10-q3-batch": ["143", "142.8"],
    "10-q4-h100": ["277.5", "278", "272", "35"],
    "10-q4-v5e": ["608", "1,213", "1,200", "76", "1,120"],
}


def test_the_likely_wrong_answers_have_a_name() -> None:
    bank = {question.id: question for question in every_question()}
    asked = [Case(bank[key], typed, "wrong", "") for key, all_typed in LIKELY.items() for typed in all_typed]
    generic = [
        f"{case.question.id}, {case.answer}: {verdict['outcome']!r}, {verdict['say']}"
        for case, verdict in zip(asked, graded(asked), strict=True)
        if verdict["outcome"] != "wrong" or "A hint may help." in verdict["say"]
    ]
    assert generic == []


def test_keys_and_traps_are_computed(name: str) -> None:
    assert not typed_keys((BOOK / "quizzes" / f"{name}.py").read_text(encoding="utf-8"))


def test_the_page_asks_every_question_once_and_no_other(name: str, questions: tuple[Question, ...]) -> None:
    ids = {question.id for question in questions}
    for path in pages(name):
        asked = [i for source in sources(path, "code") for i in re.findall(r"\bquiz\(\s*[\"']([^\"']+)", source)]
        todo = [f'give {path.name} a cell quiz("{one}"), with the tag remove-input' for one in ids - set(asked)]
        todo += [f'{path.name} asks quiz("{one}"), which {name}.py does not have' for one in set(asked) - ids]
        todo += [f'{path.name} asks quiz("{one}") twice' for one in ids if asked.count(one) > 1]
        assert not todo, "; ".join(sorted(todo))


def test_the_page_stores_today_s_questions_unanswered(name: str, questions: tuple[Question, ...]) -> None:
    pytest.importorskip("anywidget")
    from scaling.course.widgets import Quiz

    for path in pages(name):
        states = stored(path)
        assert set(states) == {question.id for question in questions}, f"{path.name}: run make notebooks"
        for question in questions:
            today = json.loads(json.dumps(Quiz(question).data()))
            assert states[question.id] == today, f"{question.id}: run make notebooks"
            assert (today["answer"], today["outcome"], today["attempts"]) == (None, "", 0)


# ---- Exercises ----


def said(mine: Any, exercise: Exercise) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        check(mine, *exercise)
    return out.getvalue()


class Place(NamedTuple):
    """An exercise on its page: what runs before it, the cell with the stub, the name of its function, the solution."""

    before: str
    stub: str
    function: str
    solution: str


def place(path: Path, attribute: str) -> Place | None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    imports: list[str] = []
    for i, cell in enumerate(cells):
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            if found := re.search(rf"\bcheck\((\w+), \*bank\.{attribute}\)", source):
                after = "".join(cells[i + 1]["source"]) if i + 1 < len(cells) else ""
                folded = re.search(r"<details>\s*<summary>Solution</summary>(.*?)</details>", after, re.S)
                block = re.search(rf"```python\n([^`]*\bdef {found[1]}\(.*?)```", folded[1], re.S) if folded else None
                return Place("\n".join(imports), source, found[1], block[1] if block else "")
            imports += [ast.unparse(n) for n in ast.parse(source).body if isinstance(n, (ast.Import, ast.ImportFrom))]
    return None


def exercises() -> list[Any]:
    return [
        pytest.param(path, attribute, exercise, id=f"{name}-{attribute}")
        for name in NAMES
        for path in pages(name)
        for attribute, exercise in vars(load(name)).items()
        if isinstance(exercise, Exercise)
    ]


@pytest.mark.parametrize(("path", "attribute", "exercise"), exercises())
def test_the_exercise_is_open_as_shipped_and_right_when_solved(path: Path, attribute: str, exercise: Exercise) -> None:
    found = place(path, attribute)
    assert found, f"{path.name} has no cell with check(..., *bank.{attribute})"
    assert found.solution, f"the cell after check(..., *bank.{attribute}) must hold a folded solution that defines it"
    space: dict[str, Any] = {}
    exec(found.before, space)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(found.stub, space)
    assert out.getvalue().startswith("Not attempted")
    exec(found.solution, space)
    assert said(space[found.function], exercise).startswith("Right")


def confused(exercise: Exercise) -> list[str]:
    """Pairs of the reference and the mistakes that no case of the exercise tells apart, as `check` compares."""
    functions = {"the reference": exercise.reference, **exercise.mistakes}
    return [
        f"{one!r} and {other!r}"
        for (one, f), (other, g) in combinations(functions.items(), 2)
        if all(_same(g(**case), f(**case)) for case in exercise.cases)
    ]


@pytest.mark.parametrize(("path", "attribute", "exercise"), exercises())
def test_the_cases_tell_every_mistake_from_the_reference_and_from_the_others(
    path: Path, attribute: str, exercise: Exercise
) -> None:
    assert confused(exercise) == [], f"bank.{attribute} needs a case more"


@pytest.mark.parametrize(("path", "attribute", "exercise"), exercises())
def test_each_known_mistake_is_named(path: Path, attribute: str, exercise: Exercise) -> None:
    assert exercise.mistakes
    for cause, mistake in exercise.mistakes.items():
        assert f"Likely cause: {cause}" in said(mistake, exercise), cause


# ---- The rules themselves: each must be able to fail ----

SHARED: dict[str, Any] = {"prompt": "How much?", "hints": ("one", "two", "three"), "solution": "It is so."}
TOY_NUMERIC = Numeric(
    id="99-n", answer=163_840.0, unit="kB", right="yes", traps=(Trap(value=81_920.0, feedback="half"),), **SHARED
)
TOY_SINGLE = Single(
    id="99-s",
    options=(
        Option(text="a", feedback="no a"),
        Option(text="b", feedback="b", correct=True),
        Option(text="c", feedback="no c"),
    ),
    **SHARED,
)
TOY_MULTIPLE = Multiple(
    id="99-m",
    options=(*TOY_SINGLE.options, Option(text="d", feedback="and d", correct=True)),
    **SHARED,
)
TOY_ORDERING = Ordering(
    id="99-o",
    items=("a", "b", "c"),
    right="yes",
    other="no",
    traps=(WrongOrder(order=("c", "b", "a"), feedback="backwards"),),
    **SHARED,
)


def test_a_sound_bank_is_graded_as_it_says() -> None:
    toys: tuple[Question, ...] = (TOY_NUMERIC, TOY_SINGLE, TOY_MULTIPLE, TOY_ORDERING)
    assert misgraded(toys) == []
    assert [len(list(cases(toy))) for toy in toys] == [2, 3, 5, 4]


@pytest.mark.parametrize(
    "unit",
    ["B", "GiB", "ms", "%", "", "tokens/s", "USD/h", "FLOP/B", "FLOP/USD", "USD/million tokens", "chips", "ways"],
)
def test_every_unit_of_the_course_can_be_typed(unit: str) -> None:
    question = Numeric(id="99-u", answer=12_345.6, unit=unit, right="yes", **SHARED)
    assert misgraded((question,)) == []


def test_mistakes_that_no_case_tells_apart_are_seen() -> None:
    mistakes = {"doubled": lambda n: 2 * n, "squared": lambda n: n**2, "as it is": lambda n: float(n)}
    assert confused(Exercise(lambda n: n, [{"n": 2}, {"n": 3}], mistakes)) == ["'the reference' and 'as it is'"]
    assert "'doubled' and 'squared'" in confused(Exercise(lambda n: n, [{"n": 2}], mistakes))


def test_a_wrong_verdict_is_seen() -> None:
    asked = Case(TOY_NUMERIC, {"base": 163_840.0 * 3}, "right", "yes")
    assert graded([asked])[0]["outcome"] == "wrong"
    unknown = Numeric(id="99-x", answer=5.0, unit="Gbit", right="yes", **SHARED)
    with pytest.raises(AssertionError):
        misgraded((unknown,))


def test_a_typed_key_is_seen() -> None:
    assert typed_keys("Numeric(answer=163840, traps=(Trap(value=-5.0), Trap(value=2 * 3), Trap(value=f(1))))") == [
        "line 1: answer=163840",
        "line 1: value=-5.0",
        "line 1: value=2 * 3",
    ]
