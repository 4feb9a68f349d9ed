"""The ledger of claims, one module a section: where a source prints a number, and what `scaling` gives for it."""

from importlib import import_module
from pathlib import Path

from claims.ledger import Section

FILES = {path.stem: path for path in sorted(Path(__file__).parent.glob("s[0-9]*.py"))}
SECTIONS: dict[str, Section] = {name: import_module(f"claims.{name}").SECTION for name in FILES}
