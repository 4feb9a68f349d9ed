"""The quiz widget's Python side: traits, the HTML that stays where no script runs, and errors a reader can act on."""

import json
import subprocess
import sys
from html.parser import HTMLParser
from itertools import permutations
from typing import Any

import pytest

from scaling.course.questions import Multiple, Numeric, Option, Ordering, Question, Single, WrongOrder

pytest.importorskip("anywidget")
import traitlets

from scaling.course.widgets import Progress, Quiz, Quizzes
from scaling.course.widgets.quiz import shown_order

SHARED: dict[str, Any] = {"prompt": "Which?", "hints": ("one", "two", "three"), "solution": "This."}
OPTIONS = tuple(Option(text=t, feedback=f"about {t}", correct=t == "a") for t in "abc")
ORDERING = Ordering(id="99-o", items=("w", "x", "y", "z"), right="yes", other="no", **SHARED)
BANK: tuple[Question, ...] = (
    Single(id="99-s", options=OPTIONS, **SHARED),
    Multiple(id="99-m", options=OPTIONS, **SHARED),
    ORDERING,
    Numeric(id="99-n", answer=5.0, unit="kB", right="yes", **SHARED),
)


class Tags(HTMLParser):
    """The tags and texts of some HTML, in order; what a script holds, apart."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.data: list[str] = []
        self.feed(html)
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        (self.data if self.open[-1] == "script" else self.texts).append(data)


def html(widget: Any) -> str:
    return widget._repr_mimebundle_()[0]["text/html"]


@pytest.mark.parametrize("question", BANK, ids=lambda q: q.id)
def test_a_quiz_starts_unattempted_and_holds_its_question(question: Question) -> None:
    quiz = Quiz(question)
    assert (quiz.key, quiz.kind, quiz.answer, quiz.outcome, quiz.attempts, quiz.cause) == (
        question.id,
        "quiz",
        None,
        "",
        0,
        "",
    )
    state = quiz.get_state()
    assert state["question"]["id"] == state["key"] == question.id
    assert "export default" in state["_esm"] and ".scaling-widget" in state["_css"]


def test_the_question_is_fixed_and_the_outcome_one_of_three() -> None:
    quiz = Quiz(BANK[0])
    with pytest.raises(traitlets.TraitError):
        quiz.question = {}
    with pytest.raises(traitlets.TraitError):
        quiz.outcome = "maybe"
    quiz.answer, quiz.outcome = [0, 2], "wrong"
    quiz.answer, quiz.outcome = None, ""


def test_repr_holds_no_address() -> None:
    assert repr(Quiz(BANK[0])) == "Quiz('99-s')"
    assert repr(Quizzes(BANK).progress()) == "Progress('99-progress')"


@pytest.mark.parametrize("question", BANK, ids=lambda q: q.id)
def test_the_fallback_is_the_question_with_its_solution_folded(question: Question) -> None:
    quiz = Quiz(question)
    bundle = quiz._repr_mimebundle_()[0]
    assert bundle["text/plain"] == repr(quiz) and "application/vnd.jupyter.widget-view+json" in bundle
    parsed = Tags(bundle["text/html"])
    names = {"data-widget": "quiz", "data-front-end": "quiz", "data-id": question.id}
    assert parsed.tags[0] == ("div", {"class": "scaling-fallback", **names})
    assert [tag for tag, _ in parsed.tags if tag in ("details", "summary")] == ["details", "summary"]
    assert parsed.texts[0] == "Which?" and parsed.texts[-2:] == ["Solution", "This."]
    assert html(Quiz(question)) == bundle["text/html"]  # nothing random
    assert " id=" not in bundle["text/html"]


def test_the_fallback_shows_the_choices() -> None:
    assert Tags(html(Quiz(BANK[0]))).texts == ["Which?", "a", "b", "c", "Solution", "This."]
    assert Tags(html(Quiz(BANK[3]))).texts == ["Which?", "Answer in kB.", "Solution", "This."]
    shown = Tags(html(Quiz(ORDERING))).texts[1:-2]
    assert shown == Quiz(ORDERING).question["shown"] and shown != list(ORDERING.items)


@pytest.mark.parametrize("question", BANK, ids=lambda q: q.id)
def test_the_html_holds_what_the_widget_does_and_no_front_end(question: Question) -> None:
    quiz = Quiz(question)
    (text,) = Tags(html(quiz)).data
    names = ["answer", "attempts", "cause", "key", "kind", "outcome", "question"]
    assert json.loads(text) == json.loads(json.dumps({name: getattr(quiz, name) for name in names}))
    assert "export default" not in html(quiz)


def test_texts_stay_texts() -> None:
    evil = '</p><script>alert(1)</script><img src=x onerror="alert(1)">&amp;'
    options = (Option(text=evil, feedback=evil, correct=True), *OPTIONS[1:])
    parsed = Tags(html(Quiz(Single(id='99-"><b>', prompt=evil, hints=("a", "b", "c"), solution=evil, options=options))))
    assert {tag for tag, _ in parsed.tags} == {"div", "p", "strong", "ul", "li", "details", "summary", "script"}
    assert json.loads(parsed.data[0])["question"]["prompt"] == evil
    assert parsed.tags[0][1]["data-id"] == '99-"><b>'
    assert [text for text in parsed.texts if evil == text] == [evil] * 3
    assert [attributes for tag, attributes in parsed.tags if tag == "script"] == [{"type": "application/json"}]


@pytest.mark.parametrize("count", [3, 4, 5, 7])
def test_the_shown_order_is_neither_right_nor_a_known_mistake(count: int) -> None:
    items = tuple("abcdefg"[:count])
    for number in range(20):
        trap = WrongOrder(order=items[::-1], feedback="backwards")
        question = Ordering(id=f"99-{number}", items=items, right="yes", other="no", traps=(trap,), **SHARED)
        shown = shown_order(question)
        assert sorted(shown) == sorted(items) and shown not in (items, items[::-1])
        assert shown_order(question) == shown


def test_the_shown_order_is_wrong_even_where_every_wrong_order_is_known() -> None:
    traps = tuple(WrongOrder(order=o, feedback="f") for o in permutations("abc") if o != ("a", "b", "c"))
    question = Ordering(id="99-o", items=("a", "b", "c"), right="yes", other="no", traps=traps, **SHARED)
    assert shown_order(question) != question.items


def test_running_a_cell_again_shows_the_same_widget() -> None:
    quiz = Quizzes(BANK)
    assert quiz("99-s") is quiz("99-s")
    assert quiz("99-s") is not quiz("99-m")


@pytest.mark.parametrize("wrong", ["99-x", "", "99-S", None, 3, "<b>"])
def test_an_unknown_id_is_told_in_one_sentence(wrong: Any) -> None:
    with pytest.raises(ValueError) as error:
        Quizzes(BANK)(wrong)
    assert str(error.value) == f"id must be one of 99-s, 99-m, 99-o, 99-n, not {wrong!r}."


def test_a_bank_with_two_questions_of_one_id_is_refused() -> None:
    with pytest.raises(ValueError, match="must differ"):
        Quizzes((BANK[0], BANK[0]))


def test_progress_counts_the_bank() -> None:
    progress = Quizzes(BANK).progress()
    assert isinstance(progress, Progress)
    assert (progress.ids, progress.kind) == (["99-s", "99-m", "99-o", "99-n"], "progress")
    assert Tags(html(progress)).tags[0][1] == {
        "class": "scaling-fallback",
        "data-widget": "progress",
        "data-front-end": "quiz",
        "data-id": "99-progress",
    }
    assert "4 questions" in html(progress)


def fresh(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_the_package_loads_no_widget() -> None:
    assert fresh(
        "import sys, scaling.course.widgets; print('anywidget' in sys.modules, dir(scaling.course.widgets))"
    ) == (
        "False ['Explorer', 'Progress', 'Quiz', 'Quizzes', 'Sweep', "
        "'explore_batch', 'explore_launch', 'explore_memory', 'explore_splitting']"
    )


def test_without_the_widget_packages_the_error_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['anywidget'] = None\n"
        "try:\n    from scaling.course.widgets import Quiz\nexcept ImportError as error:\n    print(error)"
    )
    assert fresh(code) == "Quiz needs the package anywidget: install it with pip install anywidget."


def test_an_unknown_name_is_an_attribute_error() -> None:
    import scaling.course.widgets

    with pytest.raises(AttributeError, match="Quizz'"):
        _ = scaling.course.widgets.Quizz
