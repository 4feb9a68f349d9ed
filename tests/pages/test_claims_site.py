"""The ledger on the built site: every link of a row ends at a heading, and only its own page loads its files."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup


@pytest.fixture
def page(built: Path) -> tuple[Path, BeautifulSoup]:
    path = built / "book" / "appendix" / "claims.html"
    return path, BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def test_links_of_the_rows_end_at_headings(page: tuple[Path, BeautifulSoup]) -> None:
    path, soup = page
    links = {a["href"] for a in soup.select(".claims-table td a, .claims-sections a, .claims-table th > a")}
    assert len(links) > 300
    ids = {path: {tag["id"] for tag in soup.select("[id]")}}
    for link in sorted(links):
        parts = urlsplit(link)
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if target not in ids:
            read = BeautifulSoup(target.read_text(encoding="utf-8"), "html.parser")
            ids[target] = {tag["id"] for tag in read.select("[id]")}
        assert not parts.fragment or unquote(parts.fragment) in ids[target], link


def test_every_row_links_to_a_chapter(page: tuple[Path, BeautifulSoup]) -> None:
    rows = page[1].select("tr[data-verdict]")
    assert len(rows) > 300 and all(row.select("td a[href*='.html']") for row in rows)


def test_the_landing_page_counts_what_the_ledger_counts(page: tuple[Path, BeautifulSoup]) -> None:
    counted = [[cell.get_text() for cell in row.select("th, td")] for row in page[1].select("table tr")]
    verdicts = next(row for row in counted if row[0] == "Section")
    text = dict(zip(verdicts, next(row for row in counted if row[0] == "The text"), strict=True))
    landing = BeautifulSoup((page[0].parents[1] / "index.html").read_text(encoding="utf-8"), "html.parser")
    said = " ".join(landing.select_one("article").get_text().split())
    assert f"{text['agrees']} agree, " in said and f"{text['erratum']} do not hold" in said
    assert f"{text['unstated']} things more that the text leaves unsaid" in said


def test_it_needs_nothing_inline(page: tuple[Path, BeautifulSoup]) -> None:
    assert not page[1].select("article [style], article script, article [onclick]")
    assert page[1].select("script[src*='claims.js']") and page[1].select("link[href*='claims.css']")


def test_other_pages_do_without_its_files(built: Path) -> None:
    text = (built / "book" / "02_memory.html").read_text(encoding="utf-8")
    assert "claims.js" not in text and "claims.css" not in text
