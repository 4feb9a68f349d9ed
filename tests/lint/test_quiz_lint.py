"""The words of the banks: nothing gives the right option away, every answer is explained in plain sentences, and what a
question asks for stands on its chapter's page.

Each rule is a function that lists what breaks it, so that a bad bank can show that it is able to.
"""

import ast
import importlib
import inspect
import json
import re
import types
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scaling.chips import Chip
from scaling.course.questions import Multiple, Numeric, Option, Ordering, Question, Single
from scaling.deployment import Deployment
from scaling.models import Model
from tests.pages.test_quizzes import (
    BOOK,
    NAMES,
    TOY_MULTIPLE,
    TOY_NUMERIC,
    TOY_ORDERING,
    TOY_SINGLE,
    Case,
    every_question,
    graded,
    load,
    pages,
)

# ---- Nothing gives the right option away ----

CHANCE = 0.05  # a count of right options is refused if chance alone gives one as far out less often than this


def tails(chances: Iterable[float], seen: int) -> tuple[float, float]:
    """The probability of `seen` or fewer, and of `seen` or more, among independent events of these chances."""
    counts = [1.0]
    for p in chances:
        counts = [(1 - p) * a + p * b for a, b in zip([*counts, 0.0], [0.0, *counts], strict=True)]
    return sum(counts[: seen + 1]), sum(counts[seen:])


def right_of(question: Single) -> int:
    return next(i for i, option in enumerate(question.options) if option.correct)


def crowded_places(questions: Iterable[Question]) -> list[str]:
    """Places that hold the right option of a single choice more or less often than chance would have it."""
    singles = [question for question in questions if isinstance(question, Single)]
    bad = []
    for place in range(max((len(question.options) for question in singles), default=0)):
        chances = [1 / len(question.options) for question in singles if place < len(question.options)]
        seen = sum(right_of(question) == place for question in singles)
        if min(tails(chances, seen)) < CHANCE:
            bad.append(
                f"place {place + 1} is right in {seen} of {len(chances)} questions; by chance {sum(chances):.1f}"
            )
    return bad


def telling_lengths(questions: Iterable[Question]) -> list[str]:
    """Whether the right option is the longest, or the shortest, more often than chance would have it."""
    singles = [question for question in questions if isinstance(question, Single)]
    bad = []
    for word, extreme in (("longest", max), ("shortest", min)):
        seen, chances = 0, []
        for question in singles:
            sizes = [len(option.text) for option in question.options]
            if sizes.count(extreme(sizes)) == 1:  # where several are, none stands out
                chances.append(1 / len(sizes))
                seen += sizes[right_of(question)] == extreme(sizes)
        if tails(chances, seen)[1] < CHANCE:
            bad.append(
                f"the right option is the {word} in {seen} of {len(chances)} questions; by chance {sum(chances):.1f}"
            )
    pairs = [
        len(right.text) > len(wrong.text)
        for question in questions
        if isinstance(question, Multiple)
        for right in question.options
        for wrong in question.options
        if right.correct and not wrong.correct
    ]
    if pairs and not 0.35 <= sum(pairs) / len(pairs) <= 0.65:
        bad.append(
            f"of a right and a wrong option to tick the right one is longer in {sum(pairs)} of {len(pairs)} pairs"
        )
    return bad


def same_pattern(questions: Iterable[Question]) -> list[str]:
    """Multiple choices in which what to tick lies the same way too often: a third of them at most."""
    patterns = [tuple(o.correct for o in question.options) for question in questions if isinstance(question, Multiple)]
    return [
        f"{patterns.count(pattern)} of {len(patterns)} multiple choices have the right options at the same places"
        for pattern in sorted(set(patterns))
        if patterns.count(pattern) > max(1, len(patterns) / 3)
    ]


# ---- Every answer is explained ----

FEWEST_WORDS = 3
BEGINS_SMALL = re.compile(r"[a-z]+\d|kv\b|[a-z_]+ =|[a-z_]+[_(.]")  # int8, kv, a formula, a name in code
OPENING = re.compile(
    r"(correct|incorrect|right|wrong|false|congratulations|well done|sorry|oops|unfortunately)\b(?!-)|"
    r"(yes|no|true|not quite|good|great|nice|perfect|indeed|almost|exactly( so| right)?)\s*[,.!:;]",
    re.I,
)


def feedbacks(question: Question) -> list[str]:
    if isinstance(question, (Single, Multiple)):
        return [option.feedback for option in question.options]
    texts = [question.right, *(trap.feedback for trap in question.traps)]
    return [*texts, question.other] if isinstance(question, Ordering) else texts


def unexplained(question: Question) -> list[str]:
    """Feedback that is missing, short, said twice, or not prose."""
    texts = feedbacks(question)
    bad = [f"{text!r} has fewer than {FEWEST_WORDS} words" for text in texts if len(text.split()) < FEWEST_WORDS]
    bad += [f"{text!r} is said twice" for text in sorted({t for t in texts if texts.count(t) > 1})]
    for text in [question.prompt, *question.hints, question.solution, *texts]:
        if re.search(r"\bnan\b|[{}]|\d{9}\.\d|\d\.\d{8}", text) or not text.isprintable():
            bad.append(f"{text!r} holds what is no prose")
    for text in [question.prompt, question.solution, *texts]:
        small = text[0].islower() and text is not question.solution and not BEGINS_SMALL.match(text)  # it may be a list
        if text[-1] not in ".?" or small:
            bad.append(f"{text!r} is no sentence: begin it with a capital and end it with a point")
    if not isinstance(question, (Single, Multiple)) and not question.traps:
        bad.append("no known mistake has feedback of its own")
    return [f"{question.id}: {what}" for what in bad]


def verdicts(question: Question) -> list[str]:
    """Feedback that opens with a verdict, which the page has said already, and not with a reason."""
    return [
        f"{question.id}: the page has said already whether it is right, so begin with the reason: {text!r}"
        for text in feedbacks(question)
        if OPENING.match(text)
    ]


def numbers(text: str) -> list[str]:
    return [found.rstrip(".,") for found in re.findall(r"\d[\d,]*\.?\d*(?:e[+-]?\d+)?", text)]


def given_away(questions: Iterable[Question]) -> list[str]:
    """Hints that hold the answer, in the unit of the question."""
    typed = [
        Case(question, f"{number} {question.unit}", "right", hint)
        for question in questions
        if isinstance(question, Numeric)
        for hint in question.hints
        for number in numbers(hint)
    ]
    return [
        f"{case.question.id}: {case.answer} in {case.feedback!r}"
        for case, verdict in zip(typed, graded(typed), strict=True)
        if verdict["outcome"] == "right"
    ]


# ---- Plain to read ----

LONGEST_SENTENCE = 28  # words between . ? ! ; and :
HARDEST_TEXT, HARDEST_BANK = 11.0, 5.0  # years of school, by Flesch and Kincaid


def texts(question: Question) -> list[str]:
    choices = [option.text for option in question.options] if isinstance(question, (Single, Multiple)) else []
    return [question.prompt, *question.hints, question.solution, *feedbacks(question), *choices]


def sentences(text: str) -> list[str]:
    return [part for part in re.split(r"(?<=[.?!;:])\s+", text) if part.strip()]


def syllables(word: str) -> int:
    stem = word if word.endswith("le") else re.sub(r"(es|ed|e)$", "", word)
    return max(1, len(re.findall("[aeiouy]+", stem)))


def school_years(parts: Iterable[str]) -> float:
    """The grade of Flesch and Kincaid. Numbers and symbols count as no words."""
    split = [re.findall(r"[a-z][a-z'’-]*", sentence.lower()) for text in parts for sentence in sentences(text)]
    words = [word for sentence in split for word in sentence]
    if not words:
        return 0.0
    return 0.39 * len(words) / len(split) + 11.8 * sum(map(syllables, words)) / len(words) - 15.59


def hard_to_read(questions: Sequence[Question]) -> list[str]:
    bad = [
        f"{question.id}: {len(sentence.split())} words: {sentence!r}"
        for question in questions
        for text in texts(question)
        for sentence in sentences(text)
        if len(sentence.split()) > LONGEST_SENTENCE
    ]
    bad += [
        f"{question.id}: {school_years([text]):.1f} years of school: {text!r}"
        for question in questions
        for text in texts(question)
        if len(text.split()) >= 12 and school_years([text]) > HARDEST_TEXT
    ]
    years = school_years(text for question in questions for text in texts(question))
    return [*bad, *([f"the bank asks for {years:.1f} years of school"] if years > HARDEST_BANK else [])]


# ---- Answerable from its chapter ----

RECORDS = (Chip, Model, Deployment)
METHODS = {name for record in RECORDS for name, value in vars(record).items() if inspect.isfunction(value)} - {
    name for name in dir(object)
}
HELPERS = {"number", "replace"}
# What any reader of English knows, though no page says it.
EVERYDAY = set(
    """
    applies decisions deployed digits forward gigabytes highest however load logarithm lowest order plus
    single spans spread stay subtracts throughout tick tune unsaid whose occupy idle insertion
    """.split()
)


def formulas(source: str) -> dict[str, set[str]]:
    """By question, the functions and methods of `scaling` that its key is computed with, also through names above."""
    tree = ast.parse(source)
    imported: dict[str, tuple[str, str]] = {}
    names: dict[str, ast.AST] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "scaling":
            imported |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            names[node.name] = node
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value:
            bound = node.targets if isinstance(node, ast.Assign) else [node.target]
            for part in (part for target in bound for part in ast.walk(target) if isinstance(part, ast.Name)):
                names.setdefault(part.id, node.value)

    def called(node: ast.AST, seen: frozenset[str]) -> set[str]:
        found: set[str] = set()
        for part in ast.walk(node):
            if isinstance(part, ast.Attribute) and part.attr in METHODS:
                found.add(part.attr)
            elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id in imported:
                found |= _function(_imported(*imported[part.value.id]), part.attr)
            elif isinstance(part, ast.Name) and part.id in imported:
                module, name = imported[part.id]
                found |= _function(importlib.import_module(module), name)
            elif isinstance(part, ast.Name) and part.id in names and part.id not in seen:
                found |= called(names[part.id], seen | {part.id})
        return found - HELPERS

    kinds = {"Single", "Multiple", "Ordering", "Numeric"}
    keys: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in kinds:
            fields = {keyword.arg: keyword.value for keyword in node.keywords}
            parts = [fields[name] for name in ("answer", "items") if name in fields]
            if "options" in fields:
                options = [p for p in ast.walk(fields["options"]) if isinstance(p, ast.Call)]
                parts += [k.value for p in options for k in p.keywords if k.arg == "correct"]
            keys[ast.literal_eval(fields["id"])] = set().union(*(called(part, frozenset()) for part in parts), set())
    return keys


def _imported(module: str, name: str) -> Any:
    whole = importlib.import_module(module)
    return getattr(whole, name) if hasattr(whole, name) else importlib.import_module(f"{module}.{name}")


def _function(owner: Any, name: str) -> set[str]:
    return {name} if isinstance(owner, types.ModuleType) and inspect.isfunction(getattr(owner, name, None)) else set()


def shown(path: Path) -> str:
    """What a page shows: prose, code, printed results and tables, alt texts and captions. Not its quizzes."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        parts += ["".join(cell["source"]), json.dumps(cell["metadata"], ensure_ascii=False)]
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if not any("widget" in kind for kind in data):
                parts += ["".join(output.get("text", "")), "".join(data.get("text/plain", ""))]
                parts.append(re.sub("<[^>]*>", " ", "".join(data.get("text/html", ""))))
    return "\n".join(parts)


ENDINGS = ("ations", "ation", "ings", "ing", "ions", "ion", "ies", "ers", "ed", "er", "es", "ly", "or", "e", "s", "y")


def stem(word: str) -> str:
    """A word without its ending, so that singular and plural, splits and splitting are one."""
    word = word.lower()
    ending = next((e for e in ENDINGS if word.endswith(e) and len(word) - len(e) >= 3), "")
    word = word.removesuffix(ending)
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


def stems(text: str) -> dict[str, str]:
    """The words of a text by their stems. Identifiers and flags are the words that they are made of."""
    return {stem(word): word for word in re.findall("[A-Za-z][A-Za-z0-9]*", text.replace("_", " "))}


def untaught(question: Question, known: dict[str, str]) -> list[str]:
    """Words of the question and of its right options that neither its page nor an earlier one has."""
    asked = [question.prompt]
    if isinstance(question, (Single, Multiple)):
        asked += [option.text for option in question.options if option.correct]
    elif isinstance(question, Ordering):
        asked += question.items
    words = {part: word for text in asked for part, word in stems(text).items()}
    return [
        f"{question.id}: {words[part]!r} stands on no page up to its own: say it with the page's words, or if every "
        "reader knows it add it to EVERYDAY in tests/lint/test_quiz_lint.py"
        for part in sorted(words.keys() - known.keys())
        if words[part].lower() not in EVERYDAY
    ]


def missing_formulas(source: str, page: str) -> list[str]:
    """Functions that a key is computed with and that the page neither calls nor mentions."""
    return [
        f"{key}: its key is computed with {name}, which its page does not name: show it there"
        for key, found in formulas(source).items()
        for name in sorted(found)
        if not re.search(rf"\b{name}\b", page)
    ]


# ---- The banks ----


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


ALL_TOGETHER = [crowded_places, telling_lengths, same_pattern, given_away]
ONE_BY_ONE = [unexplained, verdicts]


@pytest.mark.parametrize("rule", ALL_TOGETHER)
def test_all_banks_together(rule: Callable[[list[Question]], list[str]]) -> None:
    assert rule(every_question()) == []


@pytest.mark.parametrize("rule", ONE_BY_ONE)
def test_each_question(rule: Callable[[Question], list[str]], name: str) -> None:
    assert [said for question in load(name).QUESTIONS for said in rule(question)] == []


def test_the_bank_is_plain_to_read(name: str) -> None:
    assert hard_to_read(load(name).QUESTIONS) == []


def test_the_key_uses_what_the_page_uses(name: str) -> None:
    source = (BOOK / "quizzes" / f"{name}.py").read_text(encoding="utf-8")
    for page in pages(name):
        assert missing_formulas(source, shown(page)) == []


def chapters() -> list[tuple[Path, str]]:
    """The pages in the order of the book, each with its bank."""
    return sorted((page, name) for name in NAMES for page in pages(name))


def test_the_words_of_a_question_are_taught_before_it() -> None:
    known = stems(
        "\n".join(path.read_text(encoding="utf-8") for path in (BOOK / "index.md", BOOK / "appendix/symbols.md"))
    )
    used: set[str] = set()
    bad: list[str] = []
    for page, name in chapters():
        known |= stems(shown(page))
        for question in load(name).QUESTIONS:
            bad += untaught(question, known)
            used |= {word.lower() for text in texts(question) for word in re.findall("[A-Za-z]+", text)}
    assert not bad, bad[0]
    idle = sorted(EVERYDAY - used)
    assert not idle, f"take these out of EVERYDAY in tests/lint/test_quiz_lint.py, no question has them: {idle}"


# ---- The rules themselves: each must be able to fail ----

LONG = "The right one, which says a good deal more than the others do"


def single(*options: str, right: int) -> Single:
    made = tuple(
        Option(text=text, feedback=f"A reason of six words, {text}.", correct=i == right)
        for i, text in enumerate(options)
    )
    return replace(TOY_SINGLE, options=made)


def test_chance_by_hand() -> None:
    assert tails([0.5, 0.5], 2) == (1.0, 0.25) and tails([0.5, 0.5], 0) == (0.25, 1.0)
    low, high = tails([0.25] * 4 + [0.5], 1)
    assert low == pytest.approx(0.75**4 / 2 + 4 * 0.25 * 0.75**3 / 2 + 0.75**4 / 2) and high == pytest.approx(
        1 - 0.75**4 / 2
    )


def test_a_crowded_place_is_seen() -> None:
    fair = [single("aa", "bb", "cc", "dd", right=i % 4) for i in range(12)]
    assert crowded_places(fair) == []
    crowded = [single("aa", "bb", "cc", "dd", right=[2, 2, 2, 0, 1, 3][i % 6]) for i in range(24)]
    assert crowded_places(crowded) == ["place 3 is right in 12 of 24 questions; by chance 6.0"]
    never = [single("aa", "bb", "cc", right=i % 2) for i in range(12)]
    assert any(said.startswith("place 3 is right in 0 of 12") for said in crowded_places(never))


def test_a_telling_length_is_seen() -> None:
    fair = [single("a" * 9, "b" * 3, "c" * 5, right=i % 3) for i in range(12)]
    assert telling_lengths(fair) == []
    assert "is the longest in 6 of 6" in telling_lengths([single("a", LONG, "c", right=1)] * 6)[0]
    assert "is the shortest in 6 of 6" in telling_lengths([single("a word", "b", "a term", right=1)] * 6)[0]
    longer = replace(
        TOY_MULTIPLE, options=tuple(replace(o, text=o.text + LONG * o.correct) for o in TOY_MULTIPLE.options)
    )
    assert "the right one is longer in 4 of 4 pairs" in telling_lengths([longer])[0]


def test_the_same_pattern_is_seen() -> None:
    turned = replace(TOY_MULTIPLE, options=TOY_MULTIPLE.options[::-1])
    other = replace(TOY_MULTIPLE, options=TOY_MULTIPLE.options[1:])
    assert same_pattern([TOY_MULTIPLE, turned, other]) == []
    assert same_pattern([TOY_MULTIPLE, TOY_MULTIPLE, TOY_MULTIPLE, turned])[0].startswith("3 of 4 multiple choices")


GOOD: Any = replace(
    TOY_NUMERIC,
    prompt="How many bytes does it take?",
    right="Two tensors for each of the layers.",
    traps=(replace(TOY_NUMERIC.traps[0], feedback="Half of it, as the values are missing."),),
    solution="Two times eighty times more.",
)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"right": "Two tensors."}, "fewer than 3 words"),
        ({"right": GOOD.traps[0].feedback}, "said twice"),
        ({"right": "It is nan bytes for all of them."}, "no prose"),
        ({"right": "It is {x} bytes for all of them."}, "no prose"),
        ({"solution": "It is 0.30000000000000004 of all the bytes."}, "no prose"),
        ({"right": "two tensors for each of the layers."}, "no sentence"),
        ({"prompt": "How many bytes"}, "no sentence"),
        ({"traps": ()}, "no known mistake"),
    ],
)
def test_an_answer_that_is_not_explained_is_seen(change: dict[str, Any], said: str) -> None:
    assert unexplained(GOOD) == []
    assert said in " ".join(unexplained(replace(GOOD, **change)))


def test_an_ordering_without_traps_is_seen() -> None:
    whole = {
        "prompt": "Which comes first?",
        "right": "One after the other, as the sum says.",
        "other": "Look at the two sums once more.",
    }
    assert any("no known mistake" in said for said in unexplained(replace(TOY_ORDERING, traps=(), **whole)))


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        *((text, True) for text in ("Correct, it is.", "Wrong: it is half.", "Exactly so.", "No. It is not.")),
        *((text, False) for text in ("No card holds it.", "Rightmost.", "Exactly half of it: the values are missing.")),
    ],
)
def test_a_verdict_is_seen(text: str, is_one: bool) -> None:
    assert bool(verdicts(replace(GOOD, right=text))) is is_one


@pytest.mark.parametrize(
    "text", ["You forgot V.", "int8 halves the bytes that every step has to read.", "kv = 2 L K H b: half is missing."]
)
def test_a_plain_sentence_passes(text: str) -> None:
    assert unexplained(replace(GOOD, right=text)) == []


def test_a_hint_that_holds_the_answer_is_seen() -> None:
    assert given_away([GOOD]) == []
    (said,) = given_away([replace(GOOD, hints=("one", "two", "It is 163.84, or 7 more."))])
    assert said.startswith("99-n: 163.84 kB in ")


def test_what_is_hard_to_read_is_seen() -> None:
    assert hard_to_read([GOOD]) == []
    assert "29 words" in hard_to_read([replace(GOOD, right="a b " * 14 + "c.")])[0]
    assert hard_to_read([replace(GOOD, right="a b " * 13 + "a b: " + "a b " * 14)]) == []
    heavy = (
        "Considerations of infrastructure necessitate systematic differentiation " + "of heterogeneous utilisation " * 3
    )
    said = hard_to_read([replace(GOOD, right=heavy)])
    assert "years of school: " in said[0] and said[-1].startswith("the bank asks for ")


def test_years_of_school_by_hand() -> None:
    assert [syllables(word) for word in ("cat", "table", "cache", "bytes", "memory", "attention", "the")] == [
        1,
        2,
        1,
        1,
        3,
        3,
        1,
    ]
    # nine words, two sentences, eleven syllables
    assert school_years(["The cat sat there. It read a table, quickly."]) == pytest.approx(
        0.39 * 4.5 + 11.8 * 11 / 9 - 15.59
    )


BAD_BANK = """
from scaling import fits, memory
from scaling.engines import sglang
from scaling.latency import decode_step as step
from scaling.models import LLAMA3_8B
from scaling.course.questions import Numeric, Option, Single

KV = LLAMA3_8B.kv_bytes_per_token("int8")
BATCH, UNUSED = 5, step

def _time():
    return step(d, BATCH, 3).total

A = Numeric(id="99-a", answer=_time() * 2, prompt=f"{memory.weight_bytes(d)}")
B = Single(id="99-b", options=tuple(Option(text=t, correct=fits(d, 1, t) or memory.max_batch(d, t)) for t in (1, 2)))
C = Numeric(id="99-c", answer=KV + sglang.kv_pool(d))
"""


def test_the_formulas_of_a_key_are_found() -> None:
    assert formulas(BAD_BANK) == {
        "99-a": {"decode_step"},
        "99-b": {"fits", "max_batch"},
        "99-c": {"kv_bytes_per_token", "kv_pool"},
    }


def test_a_formula_that_the_page_lacks_is_seen() -> None:
    assert missing_formulas(BAD_BANK, "decode_step, fits(d), max_batch, kv_bytes_per_token, sglang.kv_pool(d)") == []
    assert missing_formulas(BAD_BANK, "decode_steps, fits(d), max_batch kv_bytes_per_token") != []


def test_a_word_that_no_page_has_is_seen() -> None:
    known = stems("How many bytes do the caches take? It splits.")
    question = replace(GOOD, prompt="How many bytes does the cache take that is splitting? And the optimiser?")
    assert [said.split()[1] for said in untaught(question, known)] == [
        "'And'",
        "'does'",
        "'is'",
        "'optimiser'",
        "'that'",
    ]
    right = single("a cache", "the gradient", "bytes", right=1)
    assert untaught(replace(right, prompt="How many?"), known)[0].startswith("99-s: 'gradient' stands")
    order = replace(TOY_ORDERING, prompt="How?", items=("bytes", "Caches", "tokens"), traps=())
    assert untaught(order, known)[0].startswith("99-o: 'tokens' stands")


def test_a_page_shows_tables_but_not_its_quizzes(tmp_path: Path) -> None:
    def cell(**data: str) -> dict[str, Any]:
        return {"source": ["code"], "metadata": {"alt": "a curve"}, "outputs": [{"data": data}, {"text": ["printed"]}]}

    quiz = {"text/plain": "asked", "application/vnd.jupyter.widget-view+json": ""}
    page = {"cells": [cell(**{"text/html": "<b>tables</b>", "text/plain": "plain"}), cell(**quiz)]}
    path = tmp_path / "page.ipynb"
    path.write_text(json.dumps(page))
    words = set(re.findall(r"\w+", shown(path)))
    assert {"code", "curve", "tables", "plain", "printed"} <= words and not {"asked", "b"} & words
