"""Prints the whole book, solutions at the end, from a built site into one PDF.

Usage: python book/_tools/pdf.py _build/html book.pdf

The pages come in the order of the contents, as they read without a script. Links between them stay links. Needs
Chromium and the packages of the tests; no LaTeX.
"""

import re
import shutil
import sys
import tempfile
from pathlib import Path, PurePosixPath
from posixpath import normpath
from urllib.parse import unquote

from bs4 import BeautifulSoup, Tag

# What is looked up on a screen, by a filter or a search, and would be hundreds of sheets.
LEFT_OUT = {"book/appendix/api", "book/appendix/claims", "book/my_answers"}
STYLE = """
  body { margin: 0; background: #fff; } article { max-width: none !important; }
  .book-page { break-before: page; } .book-page:first-child { break-before: auto; }
  :is(.headerlink, .copybtn, .toggle-button, script, .pr-start, .pr-cards, button, input) { display: none !important; }
  .answers { visibility: visible !important; height: auto !important; }
"""


def order(soup: BeautifulSoup) -> list[str]:
    """The pages as the side bar of the landing page lists them, without their ending."""
    links = [str(link.get("href", "")) for link in soup.select(".bd-links a.reference.internal")]
    pages = [normpath(str(PurePosixPath("book", link.partition("#")[0]))) for link in links if link.endswith(".html")]
    return ["book/index", *(page.removesuffix(".html") for page in dict.fromkeys(pages))]


def anchor(page: str, name: str = "") -> str:
    """An id that is unique in the joined book."""
    return re.sub(r"[^\w.-]", "-", f"{page}--{name}" if name else page)


def chapter(site: Path, page: str, pages: list[str]) -> tuple[Tag, list[Tag]]:
    """The article of a page with addresses as seen from the site's root, and its solutions, taken out of it."""
    soup = BeautifulSoup((site / f"{page}.html").read_text(encoding="utf-8"), "html.parser")
    article = soup.select_one("article.bd-article") or soup.select_one("article")
    if article is None:
        raise ValueError(f"{page}.html of the site must have an article.")
    folder = PurePosixPath(page).parent
    for node in article.select("[id]"):
        node["id"] = anchor(page, str(node["id"]))
    for node, name in [(n, a) for a in ("src", "href") for n in article.select(f"[{a}]")]:
        node[name] = _address(str(node[name]), folder, page, pages)
    solutions = []
    for details in article.select("details"):
        if str(details.summary and details.summary.get_text(strip=True)).startswith("Solution"):
            question = details.find_parent(class_="scaling-fallback")
            asked = question.find("p") if question else details.find_previous(["h2", "h3"])
            words = asked.get_text(" ", strip=True).rstrip("# ") if asked else page
            solutions.append(_solution(soup, words, details.extract()))
    for details in article.select("details:not(.hide)"):
        details["open"] = ""
    article.name, article["class"], article["id"] = "div", "bd-article book-page", anchor(page)
    return article, solutions


def _address(address: str, folder: PurePosixPath, page: str, pages: list[str]) -> str:
    if re.match(r"[a-z]+:|//", address):
        return address
    path, _, name = address.partition("#")
    there = normpath(str(folder / unquote(path))) if path else f"{page}.html"
    if there.removesuffix(".html") in pages:
        return "#" + anchor(there.removesuffix(".html"), name)
    return there


def _solution(soup: BeautifulSoup, asked: str, details: Tag) -> Tag:
    """A solution under the words of its question, for the end of the book."""
    box, question, strong = (soup.new_tag(name) for name in ("div", "p", "strong"))
    strong.string = asked
    question.append(strong)
    box.append(question)
    box.extend([part for part in details.contents if not (isinstance(part, Tag) and part.name == "summary")])
    return box


def joined(site: Path) -> str:
    """The book as one page of HTML."""
    landing = BeautifulSoup((site / "book" / "index.html").read_text(encoding="utf-8"), "html.parser")
    pages = [page for page in order(landing) if page not in LEFT_OUT]
    book, answers = landing.new_tag("main"), landing.new_tag("div", attrs={"class": "bd-article book-page"})
    heading = landing.new_tag("h1")
    heading.string = "Solutions"
    answers.append(heading)
    for page in pages:
        article, solutions = chapter(site, page, pages)
        book.append(article)
        if solutions:
            title = landing.new_tag("h2")
            title.string = (article.find("h1") or article).get_text().rstrip("#")
            answers.extend([title, *solutions])
    book.append(answers)
    name = str(landing.title.string if landing.title else "").partition(" — ")[0]
    return (
        f'<!doctype html><html lang="en" data-theme="light" data-mode="light"><head><meta charset="utf-8">'
        f'<title>{name}</title><link rel="stylesheet" href="_static/site.css"><style>{STYLE}</style></head>'
        f"<body>{book}</body></html>"
    )


def write(site: Path, out: Path) -> None:
    """Join, print, and replace `out` when all is well."""
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        raise ValueError("a PDF is printed by Chromium, and none is installed: look for chromium or google-chrome.")
    print("joining the pages ...", flush=True)
    page_html = site / "book-as-one-page.html"
    page_html.write_text(joined(site), encoding="utf-8")
    print("printing, some 20 seconds ...", flush=True)
    foot = '<div style="width:100%;text-align:center;font-size:8px;color:#666"><span class="pageNumber"></span></div>'
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_context(java_script_enabled=False).new_page()
        page.goto(page_html.absolute().as_uri())
        page.pdf(
            path=f"{folder}/book.pdf", format="A4", print_background=True, outline=True, tagged=True,
            display_header_footer=True, header_template="<span></span>", footer_template=foot,
            margin={"top": "18mm", "bottom": "18mm", "left": "20mm", "right": "20mm"},
        )  # fmt: skip
        browser.close()
        shutil.move(f"{folder}/book.pdf", out)
    page_html.unlink()
    print(f"{out}: {out.stat().st_size / 1e6:.1f} MB", flush=True)


def main(arguments: list[str]) -> int:
    """Exit code 2 with one line for a site that is not there."""
    try:
        site, out = (Path(one) for one in arguments)
        if not (site / "book" / "index.html").is_file():
            raise ValueError(f"{site} must be a built site: run make book first.")
        write(site, out)
    except ValueError as error:
        print(str(error) if len(arguments) == 2 else __doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
