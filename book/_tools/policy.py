"""The strictest Content-Security-Policy under which a built site works: print it for the server that hosts the site.

Usage: python book/_tools/policy.py _build/html
"""

import base64
import hashlib
import sys
from collections.abc import Iterable
from pathlib import Path

from bs4 import BeautifulSoup

Policy = dict[str, list[str]]


def _hashes(texts: Iterable[str]) -> list[str]:
    digests = (hashlib.sha256(text.encode()).digest() for text in texts)
    return sorted({f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests})


def policy(site: Path) -> Policy:
    """Directive by directive, what the pages of `site` need beyond ``default-src 'self'``.

    * Each inline script and each ``onclick`` is the theme's own and is allowed by its hash, not all of them at once.
    * WebAssembly, which is what Python in the page is.
    * Inline styles: widths that KaTeX computes for each formula.
    * ``data:`` for images: the filter that turns figures dark; from a folder no page may use one that is in a file.
    """
    scripts: set[str] = set()
    handlers: set[str] = set()
    for page in sorted(site.rglob("*.html")):
        soup = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
        inline = [tag for tag in soup.select("script:not([src])") if "json" not in str(tag.get("type", ""))]
        scripts.update(tag.string or "" for tag in inline)
        handlers.update(str(tag["onclick"]) for tag in soup.select("[onclick]"))
    return {
        "default-src": ["'self'"],
        "script-src": ["'self'", "'unsafe-hashes'", "'wasm-unsafe-eval'", *_hashes(scripts | handlers)],
        "style-src": ["'self'", "'unsafe-inline'"],
        "img-src": ["'self'", "data:"],
    }


def header(directives: Policy) -> str:
    """The value of the header."""
    return "; ".join(" ".join([name, *sources]) for name, sources in directives.items())


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1], "index.html").is_file():
        sys.exit("Usage: python book/_tools/policy.py _build/html  (a folder with a built site; make book builds one)")
    print(header(policy(Path(sys.argv[1]))))
