"""The references: complete, all on their page, and every paper that a page or a formula names is among them."""

import re
from pathlib import Path

import pytest
from pybtex.database import Entry, parse_file

from tests.paths import ROOT

ENTRIES: dict[str, Entry] = dict(parse_file(ROOT / "book" / "references.bib").entries)
PAGE = (ROOT / "book" / "appendix" / "references.md").read_text(encoding="utf-8")
PAPERS = {entry.fields["eprint"] for entry in ENTRIES.values() if "eprint" in entry.fields}


@pytest.mark.parametrize("key", ENTRIES)
def test_an_entry_says_who_what_when_and_where(key: str) -> None:
    entry = ENTRIES[key]
    assert entry.persons["author"] and len(entry.fields["title"]) > 10
    assert 2000 <= int(entry.fields["year"]) <= 2026
    assert {"doi", "eprint", "url"} & set(entry.fields), "no link"
    if "eprint" in entry.fields:
        assert re.fullmatch(r"\d{4}\.\d{5}", entry.fields["eprint"]) and entry.fields["archiveprefix"] == "arXiv"
    assert key.startswith(entry.persons["author"][0].last_names[0].lower()) and entry.fields["year"] in key


def test_each_entry_stands_under_exactly_one_heading() -> None:
    shown = re.findall(r':filter: keywords % "(\w+)"', PAGE)
    assert len(set(shown)) == len(shown) == PAGE.count("```{bibliography}")
    assert {entry.fields["keywords"] for entry in ENTRIES.values()} == set(shown)


def test_no_paper_is_listed_twice() -> None:
    for field in ("doi", "eprint", "title"):
        given = [entry.fields[field] for entry in ENTRIES.values() if field in entry.fields]
        assert len(set(given)) == len(given)


def test_every_paper_that_is_named_is_listed() -> None:
    files = [*(ROOT / "scaling").rglob("*.py"), *(ROOT / "book").rglob("*.md"), *(ROOT / "book").glob("*.ipynb")]
    files += (ROOT / "book" / "quizzes").glob("*.py")
    named = {
        found: path.name
        for path in files
        for found in re.findall(r"arxiv(?:\.org/\w+/|[: ])\s*(\d{4}\.\d{5})", path.read_text(encoding="utf-8"), re.I)
    }
    assert len(named) >= 8
    assert {paper: where for paper, where in named.items() if paper not in PAPERS} == {}


def test_the_page_shows_every_entry_with_its_link(built: Path) -> None:
    html = (built / "book" / "appendix" / "references.html").read_text(encoding="utf-8")
    for entry in ENTRIES.values():
        for field, address in (("eprint", "arxiv.org/abs/"), ("doi", "doi.org/"), ("url", "")):
            if field in entry.fields:
                assert f"{address}{entry.fields[field]}" in html
