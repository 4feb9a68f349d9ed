"""Compare a text with the inventory of its numbers: what the inventory lacks, and what it has too many.

``python book/_tools/source_numbers.py TEXT`` for a new edition, before its rows are read again.
"""

import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

INVENTORY = Path(__file__).parents[2] / "tests" / "data" / "source_numbers.json"


def keys(text: str, pattern: str) -> list[str]:
    """Every number of a text, as ``line:token``, with #2, #3 for the same token again on one line."""
    found = []
    for line, words in enumerate(text.split("\n"), 1):
        seen: Counter[str] = Counter()
        for match in re.finditer(pattern, words):
            token = match[0].rstrip(",")
            seen[token] += 1
            found.append(f"{line}:{token}" + (f"#{seen[token]}" if seen[token] > 1 else ""))
    return found


def differences(text: str, inventory: dict[str, Any]) -> list[str]:
    """One line for each number that only one of the two has."""
    there = keys(text, inventory["pattern"])
    here = [number[0] for section in inventory["sections"].values() for number in section["numbers"]]
    return [f"not in the inventory: {key}" for key in there if key not in here] + [
        f"not in the text: {key}" for key in here if key not in there
    ]


if __name__ == "__main__":
    said = differences(Path(sys.argv[1]).read_text(encoding="utf-8"), json.loads(INVENTORY.read_text(encoding="utf-8")))
    print("\n".join(said) or "The inventory has every number of the text, and no other.")
    sys.exit(bool(said))
