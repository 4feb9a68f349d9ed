"""The book as one page, from which the PDF is printed: every chapter, sound links, solutions at the end."""

import importlib
import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from tests.paths import BOOK

pdf = importlib.import_module("pdf")


def test_the_book_on_paper_has_every_chapter_in_order_and_its_solutions_last(built: Path) -> None:
    soup = BeautifulSoup(pdf.joined(built), "html.parser")
    titles = [title.get_text() for title in soup.select("h1")]
    chapters = [int(found[1]) for title in titles if (found := re.match(r"(\d+)\. ", title))]
    assert sorted(chapters) == sorted(int(path.stem[:2]) for path in BOOK.glob("[0-9]*.ipynb"))
    assert titles[0].startswith("Serving LLaMA 3") and titles[-1] == "Solutions"
    ids = [node["id"] for node in soup.select("[id]")]
    assert len(ids) == len(set(ids))
    lost = [a["href"] for a in soup.select("a[href^='#']") if a["href"][1:] not in ids]
    assert not lost, lost[:10]
    *pages, last = soup.select(".book-page")
    assert not [d for page in pages for d in page.select("details summary") if d.get_text(strip=True) == "Solution"]
    questions = sum(len(page.select(".scaling-fallback[data-widget=quiz]")) for page in pages)
    assert len(last.select("strong")) >= questions > 50
    pictures = [node["src"] for node in soup.select("img[src]") if not node["src"].startswith("data:")]
    assert pictures and all((built / src).is_file() for src in pictures)


@pytest.mark.parametrize("arguments", [[], ["nowhere", "x.pdf"]])
def test_what_is_no_site_gets_one_sentence(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert pdf.main(arguments) == 2
    assert capsys.readouterr().err.strip() and not Path("x.pdf").exists()
