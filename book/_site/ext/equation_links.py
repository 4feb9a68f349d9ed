"""Which functions compute an equation of a page. Nobody writes it down: it follows from the docstrings and the cells.

First come the formulas whose docstring has the same expression. If there are none, those that define a name in it, and
those called in the cells below it that need nothing else than what it has. If there are none either, what the cells up
to the next equation call.
"""

import ast
from collections.abc import Iterable

from docstrings import Formula
from equations import SYMBOL, Node, fingerprint, telling
from from_tex import relations, symbols
from uses import Names

MOST = 4


class Links:
    """The formulas, ready to be looked up."""

    def __init__(self, formulas: Iterable[Formula]) -> None:
        self.formulas = list(formulas)
        self.names = Names(self.formulas)
        self.by_path = self.names.by_path
        self.definers: dict[str, list[str]] = {}
        self.said: dict[str, list[Node]] = {}
        for formula in self.formulas:
            for relation in formula.equations:
                if relation.signs == ("=",) and relation.sides[0].kind == "name":
                    self.definers.setdefault(relation.sides[0].text, []).append(formula.path)
                    self.said.setdefault(relation.sides[0].text, []).append(relation.sides[1])
        # What a name means, where all docstrings that define it agree: T_cache, kv, QPS, but not B or "tokens".
        self.meanings = {name: nodes[0] for name, nodes in self.said.items() if len(set(map(fingerprint, nodes))) == 1}
        self.meanings = {
            name: node for name, node in self.meanings.items() if len(name) > 1 and name not in node.names()
        }
        self.literally: dict[tuple[float, ...], list[str]] = {}
        self.in_full: dict[tuple[float, ...], list[str]] = {}
        for formula in self.formulas:
            for side in [side for relation in formula.equations for side in relation.sides if telling(side)]:
                self.literally.setdefault(fingerprint(side), []).append(formula.path)
                self.in_full.setdefault(self.key(side), []).append(formula.path)

    def key(self, side: Node) -> tuple[float, ...]:
        """The fingerprint of an expression with every name that has one meaning put in full."""
        return fingerprint(side, self.meanings)

    def of(self, tex: str, called: Iterable[str] = ()) -> list[Formula]:
        """The formulas behind a display equation. `called`: paths of those that the cells below it call."""
        parts = relations(tex)
        told = [side for relation in parts for side in relation.sides if telling(side)]
        found = [path for side in told for path in self.literally.get(fingerprint(side), [])]
        found = found or [path for side in told for path in self.in_full.get(self.key(side), [])]
        if not found:
            names = {name for relation in parts for name in relation.names} or set(symbols(tex))
            defined = [relation.sides[0].text for relation in parts if relation.sides[0].kind == "name"]
            derived = sorted(name for name in names if "_" in name or not SYMBOL.match(name))
            found = [path for name in defined + derived for path in self.definers.get(name, [])]
            found += [path for path in called if self._needs(path) and self._needs(path) <= names]
        found = found or list(called)
        return [self.by_path[path] for path in dict.fromkeys(found)][:MOST]

    def _needs(self, path: str) -> set[str]:
        """The names on the right side of a formula's first equation."""
        first = self.by_path[path].equations[:1]
        return {name for relation in first for name in relation.sides[-1].names()}

    def called(self, code: str, aliases: dict[str, str]) -> list[str]:
        """Paths of the formulas that a cell calls; nothing for a cell that is not plain Python."""
        try:
            tree = ast.parse(code)
        except SyntaxError:
            return []
        aliases.update(self.names.aliases(tree))
        return list(dict.fromkeys(use.path for use in self.names.uses(tree, aliases)))
