"""Where things are. The one place that counts folders upwards."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
BOOK = ROOT / "book"
DATA = ROOT / "tests" / "data"
