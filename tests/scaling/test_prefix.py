"""Shared prefixes: the bytes by hand, the tree by hand, and the laws of the tree against a plain set of prefixes."""

from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from scaling.models import LLAMA3_70B
from scaling.prefix import PrefixTree, saved_bytes
from tests.scaling.toys import TOY_MODEL

# Bytes ---------------------------------------------------------------------------------------------------------------


def test_saved_bytes_by_hand() -> None:
    """One token is 156 numbers; 7 requests need 6 copies less of 11 tokens."""
    assert saved_bytes(TOY_MODEL, 11, 7, kv="int8") == 156 * 11 * 6
    assert saved_bytes(TOY_MODEL, 11, 7) == 2 * 156 * 11 * 6


def test_a_hundred_requests_save_ninety_nine_copies() -> None:
    assert saved_bytes(LLAMA3_70B, 2048, 100, kv="int8") == 33_218_887_680
    assert saved_bytes(LLAMA3_70B, 2048, 100) == 66_437_775_360


def test_nothing_is_saved_alone() -> None:
    assert [saved_bytes(LLAMA3_70B, 2048, n) for n in (0, 1)] == [0, 0]
    assert saved_bytes(LLAMA3_70B, 0, 100) == 0


def test_saved_bytes_broadcasts() -> None:
    tokens, requests = np.array([0, 512, 2048]), np.array([[0], [1], [100]])
    grid = saved_bytes(LLAMA3_70B, tokens, requests, kv="int8")
    assert grid.tolist() == [[saved_bytes(LLAMA3_70B, int(t), int(r[0]), kv="int8") for t in tokens] for r in requests]


# The tree ------------------------------------------------------------------------------------------------------------


def test_three_requests_with_a_common_beginning() -> None:
    tree = PrefixTree()
    assert tree.hit_rate == 0 and tree.match("the cat sat") == 0
    assert [tree.insert(s) for s in ("the cat sat", "the cow", "a dog", "the cat sat", "the c")] == [11, 2, 5, 0, 0]
    assert tree.tokens == 18
    assert [tree.match(s) for s in ("the cat slept", "the cow", "the", "dog", "")] == [9, 7, 3, 0, 0]
    assert tree.hit_rate == (9 + 7 + 3) / (11 + 13 + 7 + 3 + 3)
    assert str(tree).splitlines() == [
        *("'the' (3)", "  ' c' (2)", "    'at s' (4)", "      'at' (2)", "    'ow' (2)", "'a dog' (5)"),
    ]


def test_only_whole_pages_are_kept_and_found() -> None:
    tree = PrefixTree(page_size=4)
    assert tree.insert(range(11)) == 8
    assert [tree.match(range(n)) for n in (3, 4, 7, 8, 11)] == [0, 4, 4, 8, 8]
    assert tree.match([0, 1, 2, 3, 4, 5, 99]) == 4
    assert tree.insert([0, 1, 2, 3, 4, 99, 6, 7]) == 4  # shares one page, though the fifth token is equal too
    assert tree.tokens == 12
    assert tree.insert(range(3)) == 0


def test_words_are_shown_with_spaces_and_cut_when_they_are_many() -> None:
    tree = PrefixTree()
    assert str(tree) == ""
    tree.insert(("You", "are", "helpful"))
    tree.lock(("You", "are"))
    assert str(tree) == "You are (2, locked)\n  helpful (1)"
    tree = PrefixTree()
    tree.insert(range(100, 200))
    assert str(tree) == "100 101 102 103 ... 196 197 198 199 (100)"
    for n, shown in ((9, "0 1 2 3 4 5 6 7 8"), (10, "0 1 2 3 ... 6 7 8 9")):  # cut where that is shorter
        tree = PrefixTree()
        tree.insert(range(n))
        assert str(tree) == f"{shown} ({n})"
    text = "abcdefghijklmnopqrstuvwxyzabcdefghijkl"
    for n, shown in ((37, text[:37]), (38, f"{text[:18]} ... {text[-18:]}")):
        tree = PrefixTree()
        tree.insert(text[:n])
        assert str(tree) == f"{shown!r} ({n})"
    tree = PrefixTree()
    tree.insert("You are a helpful assistant. Answer in one word.")
    assert str(tree) == "'You are a helpful  ... nswer in one word.' (48)"


def test_the_least_recently_used_leaf_goes_first() -> None:
    tree = PrefixTree()
    for text in ("abc", "abd", "xyz"):
        tree.insert(text)
    tree.match("abc")
    assert tree.evict(1) == 1 and tree.match("abd") == 2  # "d", before "xyz" and "c": but that was a look at "ab"
    assert tree.evict(2) == 3 and tree.match("xyz") == 0  # a leaf goes as a whole
    assert tree.evict(2) == 3 and tree.tokens == 0  # "c", and then "ab", which has become a leaf
    assert tree.evict(1) == 0
    assert tree.evict(0) == 0


def test_what_is_locked_stays_with_all_that_leads_to_it() -> None:
    tree = PrefixTree()
    tree.insert("abcd")
    assert tree.lock("abxx") == 2
    assert tree.lock("abxx") == 2
    assert tree.evict(100) == 2 and tree.match("abcd") == 2
    tree.unlock("ab")
    assert tree.evict(100) == 0
    tree.unlock("ab")
    assert tree.evict(100) == 2 and tree.tokens == 0


def test_a_lock_outlives_the_splitting_of_its_node() -> None:
    tree = PrefixTree()
    tree.insert("abcdef")
    assert tree.lock("abcdef") == 6
    tree.insert("abcxyz")
    assert tree.evict(100) == 3 and tree.match("abcdef") == 6
    tree.unlock("abcdef")
    assert tree.evict(100) == 6


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: PrefixTree(0), "page_size must be a whole number of at least 1, not 0"),
        (lambda: PrefixTree().evict(-1), "tokens must be a number, or an array of numbers, of at least 0, not -1"),
        (lambda: PrefixTree().insert(3), "tokens must be a sequence of numbers, texts or the like, not 3"),  # type: ignore[arg-type]
        (lambda: PrefixTree().match([[1]]), "tokens must be a sequence of numbers, texts or the like, not [[1]]"),  # type: ignore[list-item]
        (lambda: PrefixTree().unlock("a"), "tokens must be a prefix that is locked, not 'a'"),
        (lambda: saved_bytes(LLAMA3_70B, -1, 1), "prefix_tokens must be a number"),
        (lambda: saved_bytes(LLAMA3_70B, 1, -1), "requests must be a number"),
        (lambda: saved_bytes(LLAMA3_70B, 1, 1, kv="int9"), "int9"),
    ],
)
def test_bad_input_gets_one_sentence(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(ValueError) as error:
        call()
    assert said in str(error.value) and str(error.value).endswith(".")


def test_unlocking_more_often_than_locking_is_refused() -> None:
    tree = PrefixTree()
    tree.insert("abc")
    tree.lock("abc")
    tree.unlock("abc")
    for text in ("abc", "abcd"):
        with pytest.raises(ValueError, match="locked"):
            tree.unlock(text)


# Laws ----------------------------------------------------------------------------------------------------------------

texts = st.text("ab", max_size=9)
pages = st.integers(1, 3)


def prefixes(text: str, page: int) -> list[str]:
    return [text[:n] for n in range(page, len(text) + 1, page)]


def stored(tree: PrefixTree, of: Iterable[str]) -> set[str]:
    """Which of these prefixes the tree holds; a copy is asked, since asking is a use."""
    copy = deepcopy(tree)
    return {text for text in of if copy.match(text) == len(text)}


@given(page=pages, some=st.lists(texts), asked=texts)
def test_the_tree_is_the_set_of_all_prefixes(page: int, some: list[str], asked: str) -> None:
    tree, union = PrefixTree(page), set[str]()
    for text in some:
        there = max((len(p) for p in prefixes(text, page) if p in union), default=0)
        assert tree.match(text) == there
        assert tree.insert(text) == len(text) // page * page - there
        assert tree.match(text) == len(text) // page * page
        assert tree.insert(text) == 0
        union.update(prefixes(text, page))
        assert tree.tokens == page * len(union)
    assert tree.match(asked) == max((len(p) for p in prefixes(asked, page) if p in union), default=0)
    assert 0 <= tree.hit_rate <= 1


@given(page=pages, some=st.lists(texts), data=st.data())
def test_the_order_of_insertion_does_not_matter(page: int, some: list[str], data: st.DataObject) -> None:
    one, other = PrefixTree(page), PrefixTree(page)
    added = sum(one.insert(text) for text in some)
    assert added == sum(other.insert(text) for text in data.draw(st.permutations(some))) == one.tokens == other.tokens


@given(page=pages, some=st.lists(st.tuples(st.sampled_from(["insert", "match", "lock", "unlock", "evict"]), texts)))
def test_eviction_never_breaks_what_remains(page: int, some: list[tuple[str, str]]) -> None:
    """In whatever order things are done: what is left has all its beginnings, what is locked is left, and what went had
    not been used since anything that is left and not locked.
    """
    tree, union, used, locked = PrefixTree(page), set[str](), dict[str, int](), list[str]()
    for time, (what, text) in enumerate(some):
        if what == "evict":
            freed, left = tree.evict(len(text)), stored(tree, union)
            kept = {p for one in locked for p in prefixes(one, page)}
            assert kept <= left
            assert all(shorter in left for one in left for shorter in prefixes(one, page))
            assert freed == page * (len(union) - len(left)) and tree.tokens == page * len(left)
            assert freed >= len(text) or left == kept
            last = max((used[p] for p in union - left), default=-1)
            assert all(last <= used[p] for p in left - kept)
            union = left
            continue
        if what == "unlock":
            if not locked:
                continue
            text = locked.pop(len(text) % len(locked))
            tree.unlock(text)
        elif what == "lock":
            text = text[: tree.lock(text)]
            locked.append(text)
        elif what == "insert":
            tree.insert(text)
            union.update(prefixes(text, page))
        else:
            tree.match(text)
        used |= {p: time for p in prefixes(text, page) if p in union}


def test_an_unknown_dtype_is_refused_by_the_name_it_has_here() -> None:
    with pytest.raises(ValueError, match="kv must be one of"):
        saved_bytes(TOY_MODEL, 1, 2, kv=None)  # type: ignore[arg-type]
