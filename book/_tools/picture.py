"""Takes the README's picture from a built site, so that it shows what the site shows.

Usage: python book/_tools/picture.py _build/html

The picture keeps a hash of the words of the page that it was taken from; a test compares it with today's.
Needs Chromium and the packages of the tests.
"""

import hashlib
import io
import shutil
import sys
from pathlib import Path

from bs4 import BeautifulSoup
from PIL import Image, PngImagePlugin

PICTURE = Path(__file__).parents[2] / ".github" / "page.png"
KEY = "words"
SIZE = {"width": 1280, "height": 900}


def words(site: Path) -> str:
    """A hash of what stands in the picture: the contents at the side, and the page down to its second heading."""
    soup = BeautifulSoup((site / "book" / "index.html").read_text(encoding="utf-8"), "html.parser")
    for script in soup.select("script, style"):
        script.decompose()
    side = [link.get_text() for link in soup.select(".bd-links a")]
    article = soup.select_one("article section")
    if not side or article is None:
        raise ValueError(f"{site} must hold the site's landing page, with contents at its side and a first section.")
    top = [part.get_text(" ") for part in article.find_all(recursive=False) if part.name != "section"]
    return hashlib.sha256(" ".join(" ".join([*side, *top]).split()).encode()).hexdigest()


def taken_from(picture: Path) -> str:
    """The hash that a picture keeps, "" where it keeps none."""
    with Image.open(picture) as image:
        return str(image.info.get(KEY, ""))


def take(site: Path, out: Path) -> None:
    """Photographs the landing page at its start and keeps the hash beside the pixels."""
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport=SIZE, color_scheme="light")  # type: ignore[arg-type]
        page.goto((site / "book" / "index.html").absolute().as_uri())
        page.wait_for_selector("html[data-widgets=ready]", state="attached")
        page.evaluate("document.fonts.ready")
        pixels = page.screenshot()
        browser.close()
    info = PngImagePlugin.PngInfo()
    info.add_text(KEY, words(site))
    image = Image.open(io.BytesIO(pixels)).convert("RGB").quantize(128)
    image.save(out, pnginfo=info, optimize=True)


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1], "book", "index.html").is_file():
        sys.exit("Usage: python book/_tools/picture.py _build/html  (a folder with a built site; make book builds one)")
    take(Path(sys.argv[1]), PICTURE)
    print(f"wrote {PICTURE}")
