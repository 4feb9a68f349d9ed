"""The look of tables and traps, carried by each: a notebook has no other place for it. The site serves it once."""

from pathlib import Path

CSS = (Path(__file__).parent / "outputs.css").read_text(encoding="utf-8")
STYLE = f'<style class="scaling-style">{CSS.replace(chr(10), "")}</style>'
