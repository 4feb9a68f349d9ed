"""How the site is made light: formulas typeset at build time, styles joined, icons cut out, images with sizes."""

from pathlib import Path

import dukpy
import lean
import maths
import pytest
import unused_styles


def test_a_formula_is_typeset_with_what_a_screen_reader_reads() -> None:
    html = maths.typeset(r"T = \frac{P\,b_w}{N W}", display=True)
    assert "katex-display" in html and "<math" in html and "mfrac" in html
    assert "katex-display" not in maths.typeset("T")


@pytest.mark.parametrize("latex", [r"\frac{1", r"\nosuch{x}", "a_b_c", r"x } </script>"])
def test_wrong_latex_is_an_error_that_names_itself(latex: str) -> None:
    with pytest.raises(maths.WrongLatexError, match=r"KaTeX parse error"):
        maths.typeset(latex)


def test_text_in_a_formula_never_becomes_markup() -> None:
    assert "<img" not in maths.typeset(r"\text{<img src=x onerror=alert(1)>}")


def test_the_style_of_formulas_is_of_the_katex_that_sets_them() -> None:
    version = dukpy.evaljs(f"var self = globalThis;{maths.KATEX.read_text(encoding='utf-8')}; katex.version")
    css = (Path(lean.__file__).parents[1] / "katex" / "katex.min.css").read_text(encoding="utf-8")
    assert f'content:"{version}"' in css


def test_joined_styles_find_their_files(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    awesome = '/*!\n * Font Awesome Free 6 */.fa{x:y}.fa-a:before{content:"\\e1"}'
    (tmp_path / "basic.css").write_text("a { background: url(file.png) url('data:image/x,url(#f)') }")
    (tmp_path / "styles").mkdir()
    (tmp_path / "styles" / "pydata-sphinx-theme.css").write_text(f"b{{c:d}}{awesome}e{{f:g}}")
    (tmp_path / "deep" / "x.css").write_text('x { src: url("fonts/y.woff2") url(../z.svg) }')
    css = lean.join(tmp_path, [*lean.THEME, "deep/x.css"])
    assert "url(./file.png)" in css and "url('data:image/x,url(#f)')" in css
    assert 'url("deep/fonts/y.woff2") url(deep/../z.svg)' in css
    assert "b{c:d}e{f:g}" in css
    (tmp_path / "deep" / "x.css").write_text('@import "other.css";')
    with pytest.raises(ValueError, match=r"deep/x\.css must import no other style"):
        lean.join(tmp_path, ["deep/x.css"])


def test_another_theme_is_told_where_its_icons_are_not_found() -> None:
    with pytest.raises(ValueError, match="Font Awesome once"):
        lean.without_icons("b{c:d}")


def test_images_get_their_sizes(tmp_path: Path) -> None:
    (tmp_path / "a.svg").write_text('<svg viewBox="0 0 396.5 20"></svg>')
    assert lean.sized('<img alt="A" src="a.svg" />', tmp_path) == (
        '<img alt="A" loading="lazy" decoding="async" width="396" height="20" src="a.svg" />'
    )
    for other in ('<img alt="A" width="3" src="a.svg">', '<img alt="A" src="b.svg">'):
        assert lean.sized(other, tmp_path) == other


@pytest.mark.parametrize(
    ("css", "left"),
    [
        (".a, .gone > p { x: y }", ".a{x: y}"),
        (".gone .a { x: y }", ""),
        ("p:not(.gone), .a:is(.gone, .b) { x: y }", "p:not(.gone),.a:is(.gone, .b){x: y}"),
        ("@media print { .gone { x: y } .a { x: y } }", "@media print{.a{x: y}}"),
        ("@supports (a: b) { #gone { x: y } }", ""),
        ("@font-face { src: url(gone) }", "@font-face { src: url(gone) }"),
    ],
)
def test_a_rule_goes_when_no_page_has_its_names(css: str, left: str) -> None:
    assert unused_styles.pruned(css, {"a", "b"}) == left


def test_a_name_counts_as_used_when_a_page_or_a_script_has_it(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text('<p class="a b-c">')
    (tmp_path / "own.js").write_text("node.classList.add('d')")
    (tmp_path / "bootstrap.js").write_text("'carousel'")
    assert {"a", "b-c", "d", "show"} <= unused_styles.words(tmp_path) and "carousel" not in unused_styles.words(
        tmp_path
    )
