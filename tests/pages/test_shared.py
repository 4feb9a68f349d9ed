"""How pages look from elsewhere: described, pictured, at one address, and with a way to answer back."""

import os
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import shared
import yaml
from bs4 import BeautifulSoup
from site_links import doubted, site_address

from tests.pages.test_site import PAGES
from tests.paths import ROOT


def head(path: Path) -> dict[str, str]:
    soup = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
    return {str(tag.get("name") or tag.get("property")): str(tag.get("content")) for tag in soup.select("head meta")}


def test_every_page_has_a_description_of_its_own(built: Path) -> None:
    told = [head(built / f"{page}.html") for page in PAGES]
    texts = [one["description"] for one in told]
    assert len(set(texts)) == len(PAGES) and all(40 < len(text) <= 201 for text in texts), texts
    assert not [text for text in texts if re.search(r"[\\${}<]", text)], "TeX or markup in a description"
    assert all(one["og:title"] and one["og:description"] == one["description"] for one in told)


def test_the_address_of_the_site() -> None:
    assert site_address({}) == site_address({"GITHUB_REPOSITORY": "nonsense"}) == ""
    assert site_address({"GITHUB_REPOSITORY": "Some/Course"}) == "https://some.github.io/course/"
    assert site_address({"GITHUB_REPOSITORY": "some/some.github.io"}) == "https://some.github.io/"
    assert site_address({"SITE_ADDRESS": "https://a.b/c", "GITHUB_REPOSITORY": "a/b"}) == "https://a.b/c/"
    elsewhere = {"GITHUB_REPOSITORY": "some/course", "GITHUB_SERVER_URL": "https://git.firm.example"}
    assert site_address(elsewhere) == ""
    for bad in ("a.b", "ftp://a.b", 'https://a.b/"><script>', "https://"):
        with pytest.raises(ValueError, match=r"SITE_ADDRESS must be the address of the site, https://\.\.\., not "):
            site_address({"SITE_ADDRESS": bad})


def test_addresses_that_must_be_whole_appear_only_when_the_site_has_one(built: Path) -> None:
    known = "SITE" in os.environ and bool(site_address(dict(os.environ)))
    meta = head(built / "book" / "02_memory.html")
    assert ("og:image" in meta, (built / "sitemap.xml").exists()) == (known, known)


def test_a_link_below_each_table_asks_about_that_table() -> None:
    table = '<div class="scroll-table" role="region" aria-label="A &amp; B, 5 %"><table><tr></tr></table></div>'
    html = doubted(f"<p>x</p>{table}<p>y</p>{table}", "https://github.com/a/b", "2. Memory")
    links = [str(a["href"]) for a in BeautifulSoup(html, "html.parser").select("p.doubt > a")]
    assert len(links) == 2 and links[0].startswith("https://github.com/a/b/issues/new?")
    assert parse_qs(urlsplit(links[0]).query)["title"] == ["2. Memory: A & B, 5 %"]
    assert html.startswith("<p>x</p>") and "<p>y</p>" in html


def test_the_picture_of_a_link_has_its_size_and_its_words_fit(built: Path) -> None:
    png = (built / shared.CARD).read_bytes()
    assert (int.from_bytes(png[16:20]), int.from_bytes(png[20:24])) == (1200, 630) and len(png) < 200_000
    figure = shared.card()
    figure.canvas.draw()
    for text in figure.texts:
        box = text.get_window_extent()
        assert box.x0 >= 0 and box.x1 <= 1160, text.get_text()
    assert not any(re.search(r"\d+\.\d ms", text.get_text()) is None for text in figure.axes[0].texts)


def test_the_root_is_the_landing_page(built: Path) -> None:
    root, landing = (
        BeautifulSoup((built / name).read_text(encoding="utf-8"), "html.parser")
        for name in ("index.html", "book/index.html")
    )
    assert root.get_text() == landing.get_text() and not root.select("meta[http-equiv]")
    assert root.html["data-content_root"] == "./"
    for tag in root.select("[href], [src], [action]"):
        parts = urlsplit(str(tag.get("href") or tag.get("src") or tag.get("action")))
        if not parts.scheme and parts.path:
            assert (built / parts.path).exists(), str(tag)[:200]


def test_a_wrong_address_leads_on_from_any_depth(built: Path) -> None:
    soup = BeautifulSoup((built / "404.html").read_text(encoding="utf-8"), "html.parser")
    known = site_address(dict(os.environ)) if "SITE" in os.environ else ""
    assert soup.base["href"] == (known or "/")
    assert soup.select_one("form.bd-search") and soup.select("article a[href]")
    html = (built / "404.html").read_text(encoding="utf-8")
    assert html.index("<base") < html.index("stylesheet"), "what comes before the base is not found"


def test_every_page_says_its_edition_and_how_to_cite_it(built: Path) -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    for page in PAGES:
        text = BeautifulSoup((built / f"{page}.html").read_text(encoding="utf-8"), "html.parser").get_text()
        assert f"Edition {citation['version']}," in text and "CC BY 4.0" in text and "MIT" in text, page
        assert shared.bibtex(citation) in text, page
    assert re.fullmatch(r"@misc\{[\w-]+,\n(  \w+ = \{.+\},\n){4}\}", shared.bibtex(citation))
