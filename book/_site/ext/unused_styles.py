"""Styles of which no page has the class: most of the theme's stylesheet, which every page would load.

A rule goes when each of its selectors names a class or an id that stands in no page and in no script of ours. What a
selector excludes or offers as a choice, as in ``:not(.a)`` and ``:is(.a, .b)``, is not looked at: such a rule stays.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tinycss2

# What Bootstrap's script sets while a menu opens or a page is searched: its own text names far more than is used.
_SET_BY_BOOTSTRAP = {"show", "showing", "hiding", "collapse", "collapsing", "fade", "active", "disabled"}
_NAME = re.compile(r"[.#](-?[A-Za-z_][\w-]*)")


def words(site: Path) -> set[str]:
    """Everything in pages and scripts that may be the name of a class or an id."""
    files = [*site.rglob("*.html"), *(path for path in site.rglob("*.js") if path.name != "bootstrap.js")]
    found = set(_SET_BY_BOOTSTRAP)
    for file in files:
        if file.name != "searchindex.js":
            found.update(re.findall(r"[\w-]+", file.read_text(encoding="utf-8", errors="ignore")))
    return found


def _is_used(selector: str, used: set[str]) -> bool:
    plain = re.sub(r":(?:not|is|where|has)\((?:[^()]|\([^()]*\))*\)|\[[^]]*\]", "", selector)
    return all(name in used for name in _NAME.findall(plain.replace("\\", "")))


def pruned(css: str, used: set[str]) -> str:
    """The stylesheet without the rules whose every selector names something that is not used."""
    return _rules(tinycss2.parse_stylesheet(css, skip_comments=True, skip_whitespace=True), used)


def _rules(rules: Iterable[Any], used: set[str]) -> str:
    kept = []
    for rule in rules:
        if rule.type == "qualified-rule":
            selectors = _selectors(tinycss2.serialize(rule.prelude))
            if left := [one for one in selectors if _is_used(one, used)]:
                kept.append(f"{','.join(left)}{{{tinycss2.serialize(rule.content).strip()}}}")
        elif rule.type == "at-rule" and rule.lower_at_keyword in ("media", "supports"):
            if inner := _rules(tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True), used):
                kept.append(f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude).rstrip()}{{{inner}}}")
        elif rule.type == "at-rule":
            kept.append(rule.serialize())
        elif rule.type == "error":
            raise ValueError(f"a stylesheet of the site cannot be read: {rule.message}.")
    return "\n".join(kept)


def _selectors(prelude: str) -> list[str]:
    """Split at the commas that are in no parentheses."""
    parts, depth, start = [], 0, 0
    for at, sign in enumerate(prelude):
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and depth == 0:
            parts.append(prelude[start:at])
            start = at + 1
    return [part.strip() for part in [*parts, prelude[start:]]]
