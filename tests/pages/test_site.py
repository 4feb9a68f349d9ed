"""The built site, read as HTML: nothing from elsewhere, everything named, nothing too heavy."""

import gzip
import json
import os
import re
import subprocess
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import cell_outputs
import front_ends
import inline_figures
import picture
import pytest
import term_letters
import yaml
from bs4 import BeautifulSoup
from site_links import repository_options

from scaling.course import trap
from scaling.course._look import CSS
from scaling.course.plots import COLOURS, TERMS
from tests.conftest import tool
from tests.paths import ROOT

TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
PAGES = [TOC["root"], *(chapter["file"] for part in TOC["parts"] for chapter in part["chapters"])]
NOTEBOOKS = sorted((ROOT / "book").glob("*.ipynb"))
HEAVIEST = 0.3e6


@cache
def read(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


@pytest.fixture(params=PAGES)
def page(request: pytest.FixtureRequest, built: Path) -> tuple[Path, BeautifulSoup]:
    path = built / f"{request.param}.html"
    return path, read(path)


def loaded(soup: BeautifulSoup) -> list[str]:
    """Addresses that a browser fetches by itself."""
    tags = soup.select("script[src], img[src], iframe[src], source[src], link[href]")
    passive = {"canonical", "next", "prev", "index", "search", "author"}
    return [t.get("src") or t["href"] for t in tags if not passive & set(t.get("rel") or [])]


def test_every_notebook_is_in_the_table_of_contents() -> None:
    assert {f"book/{path.stem}" for path in NOTEBOOKS} <= set(PAGES)


def test_each_chapter_says_the_next_one_that_the_contents_have() -> None:
    path = [file for file in PAGES if (ROOT / f"{file}.ipynb").exists() or file.endswith("symbols")]
    for file, after in pairwise(path[: path.index("book/appendix/symbols") + 1]):
        cells = json.loads((ROOT / f"{file}.ipynb").read_text(encoding="utf-8"))["cells"]
        prose = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
        said = re.findall(r"Next: \[[^]]+\]\(([\w/]+)\.\w+\)", prose)
        assert said == [after.removeprefix("book/")], f"{file} sends its readers elsewhere than its button"


def test_nothing_is_fetched_from_another_host(page: tuple[Path, BeautifulSoup]) -> None:
    path, soup = page
    assert [address for address in loaded(soup) if urlsplit(address).netloc] == []
    styles = [path.parent / unquote(urlsplit(a).path) for a in loaded(soup) if urlsplit(a).path.endswith(".css")]
    for style in styles:
        text = style.read_text(encoding="utf-8")
        assert not re.search(r"(@import|url\()\s*['\"]?(https?:)?//", text), style.name


def test_every_local_address_exists(page: tuple[Path, BeautifulSoup]) -> None:
    path, soup = page
    links = loaded(soup) + [a["href"] for a in soup.select("a[href]")]
    for address in links:
        parts = urlsplit(address)
        if parts.scheme or parts.netloc or not parts.path:
            continue
        target = (path.parent / unquote(parts.path)).resolve()
        assert target.exists(), f"{path.name} points to {address}"


def test_figures_have_real_alt_texts(page: tuple[Path, BeautifulSoup]) -> None:
    path, soup = page
    assert not soup.select("article :not(.pr-cards *) > img[src$='.svg']"), "a figure stands in its page"
    for figure in soup.select("article img, article svg.figure"):
        alt = figure.get("alt", figure.get("aria-label", ""))
        assert len(alt) > 30 and not re.search(r"_images|[0-9a-f]{16}|\.(svg|png)", alt), f"{path.name}: alt {alt!r}"
        assert figure.name == "img" or figure["role"] == "img"


def test_every_plot_has_a_caption(page: tuple[Path, BeautifulSoup]) -> None:
    path, soup = page
    plots = soup.select("article .cell_output svg.figure")
    for plot in plots:
        caption = plot.find_parent("figure").find("figcaption")
        assert caption and len(caption.get_text(strip=True)) > 20, f"{path.name}: {plot['aria-label']}"
    assert plots or path.stem not in {notebook.stem for notebook in NOTEBOOKS}


def test_a_figure_has_the_colours_and_the_face_of_its_page(page: tuple[Path, BeautifulSoup]) -> None:
    _, soup = page
    for figure in soup.select("article svg.figure"):
        markup = str(figure)
        assert set(re.findall(r"#[0-9a-fA-F]{6}", markup)) == set(), "a colour that is not in plots.PALETTE"
        assert set(re.findall(r"var\(--([\w-]+)\)", markup)) <= set(inline_figures.PALETTE)
        assert "font-family" not in markup and figure.select("text")
        used = set(re.findall(r"(?:href=.|url\()#([\w-]+)", markup))
        assert used == {tag["id"] for tag in figure.select("[id]")}


@pytest.mark.parametrize(
    "svg",
    [
        "<p></p>",
        "<svg></svg>",
        '<svg viewBox="0 0 1 1"><script>1</script></svg>',
        '<svg viewBox="0 0 1 1"><g onload="a()"/></svg>',
    ],
)
def test_what_is_no_figure_is_refused(svg: str) -> None:
    with pytest.raises(ValueError, match=r"^a figure must be an SVG with a viewBox and without a script\.$"):
        inline_figures.inline(svg, "alt", "a")


def test_a_trap_leads_to_its_row(built: Path) -> None:
    known = cell_outputs.claims()
    row = sorted(known)[0]
    html = trap("It is so.", believed=1, measured=2, unit="GB", row=row)._repr_html_()
    shown = BeautifulSoup(cell_outputs.on_a_page(html, "appendix/claims.html", known), "html.parser")
    address = shown.select_one("a")["href"]
    ledger = read(built / "book" / address.partition("#")[0])
    assert ledger.find(id=address.partition("#")[2]) and not shown.select("style, [data-row]")
    with pytest.raises(ValueError, match=r"^row must be an id of the ledger, not 'nothing'\.$"):
        cell_outputs.on_a_page(html.replace(row, "nothing"), "appendix/claims.html", known)


def test_styles_of_cells_stand_once_in_the_site(page: tuple[Path, BeautifulSoup], built: Path) -> None:
    _, soup = page
    assert not soup.select("style.scaling-style")
    style = (built / "_static" / "site.css").read_text(encoding="utf-8")
    plain = re.sub(r"\s", "", style)
    assert plain.count(re.sub(r"\s", "", CSS.splitlines()[0])) == 1
    assert plain.count(re.sub(r"\s", "", inline_figures.colours())) == 1


def test_the_letters_of_the_terms_have_their_colours() -> None:
    weights, cache = rf"\textcolor{{{COLOURS['weights']}}}", rf"\textcolor{{{COLOURS['cache']}}}"
    assert term_letters.coloured(r"T_\text{step} = T_\text{cache} + T_{weights}") == (
        rf"T_\text{{step}} = {cache}{{T_\text{{cache}}}} + {weights}{{T_{{weights}}}}"
    )
    style = (ROOT / "book" / "_site" / "book.css").read_text(encoding="utf-8")
    for name, (colour, _) in TERMS.items():
        assert f'[style*="{colour}"]' in style, f"{name} has no colour on the site"


def test_the_picture_of_the_readme_shows_today_s_page(built: Path) -> None:
    said = "make book, then python book/_tools/picture.py _build/html: the landing page or the contents have changed"
    assert picture.taken_from(picture.PICTURE) == picture.words(built), said


def test_one_main_heading_and_unique_ids(page: tuple[Path, BeautifulSoup]) -> None:
    path, soup = page
    assert len(soup.find_all("h1")) == 1
    ids = Counter(tag["id"] for tag in soup.select("[id]"))
    twice = {one for one, times in ids.items() if times > 1}
    assert not twice, f"{path.name}: {twice}"


def test_controls_have_labels(page: tuple[Path, BeautifulSoup]) -> None:
    _, soup = page
    for control in soup.select("article input, article select, article textarea, article button"):
        named = control.get("aria-label") or control.get("title") or control.get_text(strip=True)
        assert named or control.find_parent("label") or soup.select(f"label[for='{control.get('id')}']"), str(control)


def test_language_and_description_of_the_document(page: tuple[Path, BeautifulSoup]) -> None:
    _, soup = page
    assert soup.html["lang"] == "en"
    assert soup.select_one("meta[name=viewport]")
    assert soup.select_one("link[rel~=icon]")


def test_pages_are_light(page: tuple[Path, BeautifulSoup]) -> None:
    path, soup = page
    files = {(path.parent / unquote(urlsplit(address).path)).resolve() for address in loaded(soup)}
    total = sum(len(gzip.compress(file.read_bytes())) for file in {path, *files} if file.is_file())
    assert total < HEAVIEST, f"{path.name} weighs {total / 1e6:.2f} MB gzipped"


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda p: p.stem)
def test_the_download_button_gives_the_notebook(notebook: Path, built: Path) -> None:
    soup = read(built / "book" / f"{notebook.stem}.html")
    links = [a["href"] for a in soup.select("a[href$='.ipynb']") if "download" in " ".join(a.get("class", []))]
    assert links
    given = (built / "book" / links[0]).resolve().read_text(encoding="utf-8")
    assert json.loads(given) == json.loads(notebook.read_text(encoding="utf-8"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda p: p.stem)
def test_widgets_leave_a_question_that_can_be_read_without_javascript(notebook: Path, built: Path) -> None:
    soup = read(built / "book" / f"{notebook.stem}.html")
    source = notebook.read_text(encoding="utf-8")
    quizzes = soup.select(".scaling-fallback[data-widget=quiz]")
    assert len(quizzes) == len(set(re.findall(r'quiz\(\\"(.+?)\\"\)', source))) >= 5
    for quiz in quizzes:
        assert len(quiz.get_text(strip=True)) > 80
        assert quiz.select_one("details summary")


def test_each_front_end_stands_once_in_the_site(built: Path) -> None:
    html = "".join(path.read_text(encoding="utf-8") for path in built.rglob("*.html"))
    for name, text in front_ends.files().items():
        assert (built / "_static" / name).read_text(encoding="utf-8") == text
        longest = max(text.splitlines(), key=len)
        assert len(longest) > 60 and longest not in html, f"{name} stands in a page"
    assert not list(built.rglob("*.py")), "the site publishes its own tools"


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_page_loads_the_front_ends_of_its_widgets_and_no_other(notebook: Path, built: Path) -> None:
    soup = read(built / "book" / f"{notebook.stem}.html")
    used = {fallback["data-front-end"] for fallback in soup.select(".scaling-fallback")}
    fetched = {Path(urlsplit(address).path).name for address in loaded(soup)}
    styles = {style for name in used for style in front_ends.FRONT_ENDS[name].styles}
    assert fetched & set(front_ends.files()) == {f"{name}.js" for name in used} | styles
    assert used and "hydrate.js" in fetched


def test_a_module_becomes_a_script_that_registers_it() -> None:
    module = (
        "// Toy.\nexport const one = 1;\n/** Adds\n * one. */\nexport function two() {\n  return one + 1; // more\n}\n"
    )
    script = front_ends.classic("toy", f"{module}\nexport default {{ render: two }};\n")
    command = [tool("node"), "--eval", f"{script}console.log(scalingFrontEnds.toy.render())"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "2\n"
    assert not {"Toy", "Adds", "one."} & set(re.findall(r"[\w.]+", script)), "comments stay in the files"


@pytest.mark.parametrize(
    "module",
    [
        "export const render = 1;",
        "export default { a };\nconst a = 1;",
        "import { h } from './dom.js';\nexport default {};",
        "export { h };\nexport default {};",
        "export default {};\nexport default {};",
    ],
)
def test_a_module_that_cannot_become_one_is_refused(module: str) -> None:
    with pytest.raises(ValueError, match=r"toy\.js must import nothing"):
        front_ends.classic("toy", module)


def test_links_to_the_repository_appear_only_when_it_is_known(built: Path) -> None:
    assert repository_options({}) == repository_options({"GITHUB_REPOSITORY": "nonsense"}) == {}
    known = repository_options({"GITHUB_REPOSITORY": "someone/course"})
    assert known["repository_url"] == "https://github.com/someone/course"
    assert set(known["launch_buttons"]) == {"colab_url"}
    text = (built / "book" / "02_memory.html").read_text(encoding="utf-8")
    # A site to be published is built where the repository is known; one that the tests build is not told.
    told = "SITE" in os.environ and bool(repository_options(os.environ))
    assert ("issues/new" in text, "/edit/" in text) == (told, told)
