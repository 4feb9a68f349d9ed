"""Sharing the cache of a common prefix: the bytes it saves, and the radix tree that finds what is there already."""

from collections.abc import Hashable, Iterator, Sequence

from scaling._array import Array, maximum
from scaling._checks import nonnegative, record, shown, whole
from scaling.models import Model
from scaling.units import dtype_bytes


def saved_bytes(model: Model, prefix_tokens: Array, requests: Array, *, kv: str = "bf16") -> Array:
    """Cache bytes saved when requests share a prefix, of which one copy stays: ``saved = (requests - 1) S kv``. [B]

    `prefix_tokens`: S, broadcasts with the requests. [tokens]
    `requests`: those in the cache at the same time. [-]

    Leaves out that only whole pages are shared: errs high, by less than a page per request.

    Raises ``ValueError`` for a negative argument, an unknown dtype or a model with windows.
    Source: Zheng et al., SGLang (RadixAttention), arXiv 2312.07104.
    """
    record("model", model, Model)
    S, copies = nonnegative("prefix_tokens", prefix_tokens), nonnegative("requests", requests)
    dtype_bytes(kv, "kv")  # refused by the name that it has here
    model.refuse_windows("model", "which keeps a prefix in some layers only")
    return maximum(0.0, copies - 1.0) * S * model.kv_bytes_per_token(kv)


class _Node:
    """A run of whole pages. `locks`: how many running requests stand on it; `used`: when it was last walked over."""

    used: int

    def __init__(self, tokens: tuple[Hashable, ...], locks: int = 0) -> None:
        self.tokens, self.locks = tokens, locks
        self.children: dict[tuple[Hashable, ...], _Node] = {}


class PrefixTree:
    """What a radix cache holds, in tokens: sequences that begin alike share the nodes of their common prefix.

    ::

        tree = PrefixTree()
        tree.insert("the cat sat")      # 11 new tokens: any sequence of hashable tokens will do
        tree.match("the cow")           # 5: "the c" is cached
        tree.insert("the cow")          # 2 new tokens

    Only whole pages are kept, matched, locked and evicted. An engine still processes the last token of a prompt that is
    cached from end to end: it needs the output there.

    Raises ``ValueError`` for a page size that is not a whole number of at least 1.
    Source: Zheng et al., SGLang, 2024; SGLang 0.5.23, ``radix_cache.py``.
    """

    def __init__(self, page_size: int = 1) -> None:
        self.page_size = whole("page_size", page_size)
        self.tokens = 0  #: stored
        self.asked = 0  #: in all calls of `match`
        self.found = 0  #: of those, cached
        self._root, self._clock = _Node(()), 0

    @property
    def hit_rate(self) -> float:
        """Share of the tokens asked for with `match` that were there; 0 before the first. [-]"""
        return self.found / self.asked if self.asked else 0.0

    def match(self, tokens: Sequence[Hashable]) -> int:
        """Length of the longest cached prefix. Counts in the hit rate, and as a use. [tokens]"""
        found = sum(len(node.tokens) for node in self._walk(tokens))
        self.asked += len(tokens)
        self.found += found
        return found

    def insert(self, tokens: Sequence[Hashable]) -> int:
        """Store a sequence, down to whole pages; what is there already is shared. Returns the tokens added. [tokens]"""
        path = self._walk(tokens)
        there = sum(len(node.tokens) for node in path)
        rest = tuple(tokens[there : len(tokens) - len(tokens) % self.page_size])
        if rest:
            parent = path[-1] if path else self._root
            parent.children[rest[: self.page_size]] = leaf = _Node(rest)
            leaf.used = self._clock
            self.tokens += len(rest)
        return len(rest)

    def lock(self, tokens: Sequence[Hashable]) -> int:
        """Keep the cached prefix of a running request from being evicted; returns its length. [tokens]"""
        path = self._walk(tokens)
        for node in path:
            node.locks += 1
        return sum(len(node.tokens) for node in path)

    def unlock(self, tokens: Sequence[Hashable]) -> None:
        """Undo one `lock`. `tokens` must be exactly the prefix that was locked: cut the request to that length.

        Raises ``ValueError`` for tokens that are not locked.
        """
        path = self._walk(tokens)
        if sum(len(node.tokens) for node in path) < len(tokens) or not all(node.locks for node in path):
            raise ValueError(f"tokens must be a prefix that is locked, not {shown(tokens)}.")
        for node in path:
            node.locks -= 1

    def evict(self, tokens: float) -> int:
        """Free at least so many tokens, leaf by leaf, the least recently used first; returns how many it was. [tokens]

        A leaf goes as a whole. What is locked stays, and so does all that leads to something that stays: the result can
        be less than asked for.

        Raises ``ValueError`` for a negative number.
        """
        nonnegative("tokens", tokens)
        before = self.tokens
        while before - self.tokens < tokens and (
            leaves := [pair for pair in self._nodes() if not pair[1].children and not pair[1].locks]
        ):
            parent, leaf = min(leaves, key=lambda pair: pair[1].used)
            del parent.children[leaf.tokens[: self.page_size]]
            self.tokens -= len(leaf.tokens)
        return before - self.tokens

    def __str__(self) -> str:
        """One line a node: its tokens and their number, indented below what it continues."""
        letters = all(isinstance(t, str) and len(t) == 1 for _, node in self._nodes() for t in node.tokens)
        return "\n".join(_lines(self._root, 0, "" if letters else " "))

    def _nodes(self) -> list[tuple[_Node, _Node]]:
        """Every node but the root, after the one that it continues."""
        found = [(self._root, child) for child in self._root.children.values()]
        for _, node in found:
            found.extend((node, child) for child in node.children.values())
        return found

    def _walk(self, tokens: Sequence[Hashable]) -> list[_Node]:
        """The nodes of the longest cached prefix. The last is split where that prefix ends. Counts as a use of each."""
        path, node, rest, page = [], self._root, _hashable(tokens), self.page_size
        self._clock += 1
        while child := node.children.get(rest[:page]):
            shared = 0
            while rest[shared : shared + page] == child.tokens[shared : shared + page] != ():
                shared += page
            node = child if shared == len(child.tokens) else self._split(node, child, shared)
            node.used = self._clock
            path.append(node)
            rest = rest[shared:]
        return path

    def _split(self, parent: _Node, node: _Node, length: int) -> _Node:
        """Cut a node in two, and return the upper one. What stood on the node stands on both: the locks are copied."""
        upper = _Node(node.tokens[:length], locks=node.locks)
        parent.children[upper.tokens[: self.page_size]] = upper
        node.tokens = node.tokens[length:]
        upper.children[node.tokens[: self.page_size]] = node
        return upper


def _lines(node: _Node, depth: int, glue: str) -> Iterator[str]:
    for child in node.children.values():
        tokens, ends = [str(token) for token in child.tokens], 4 if glue else 18
        if len(tokens) > 2 * ends + 1:
            tokens[ends:-ends] = ["..." if glue else " ... "]
        text = glue.join(tokens)
        yield f"{'  ' * depth}{text if glue else repr(text)} ({len(child.tokens)}{', locked' if child.locks else ''})"
        yield from _lines(child, depth + 1, glue)


def _hashable(tokens: Sequence[Hashable]) -> tuple[Hashable, ...]:
    try:
        hash(cut := tuple(tokens))
    except TypeError:
        raise ValueError(f"tokens must be a sequence of numbers, texts or the like, not {shown(tokens)}.") from None
    return cut
