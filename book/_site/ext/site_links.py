"""What the site needs where a build knows its addresses; elsewhere no link is made, so none points nowhere.

GitHub Actions sets ``GITHUB_REPOSITORY`` (owner/name), and the site is then at the address of its Pages;
``SITE_ADDRESS`` names another. Known are then: where to report a number, where a
notebook runs, and each page's one address.
"""

import os
import re
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from sphinx.application import Sphinx

WRONG = "I get ... where the page prints ...; what I computed it from: ..."


def repository_options(environment: dict[str, str]) -> dict[str, Any]:
    """Theme options for edit, issue and Colab links, or nothing when the repository is not known."""
    name = environment.get("GITHUB_REPOSITORY", "")
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        return {}
    server = environment.get("GITHUB_SERVER_URL") or "https://github.com"
    options = {
        "repository_url": f"{server}/{name}",
        "repository_branch": environment.get("GITHUB_REF_NAME") or "main",
        "use_repository_button": True,
        "use_issues_button": True,
        "use_edit_page_button": True,
    }
    colab = {"launch_buttons": {"colab_url": "https://colab.research.google.com"}}
    return options | (colab if server == "https://github.com" else {})


def site_address(environment: dict[str, str]) -> str:
    """Where the site is, with a slash at its end, or nothing. Raises ``ValueError`` for what is no web address."""
    told = environment.get("SITE_ADDRESS", "").strip()
    if told:
        if (
            urlsplit(told).scheme not in ("https", "http")
            or not urlsplit(told).netloc
            or re.search(r"[\s\"<>?#]", told)
        ):
            raise ValueError(f"SITE_ADDRESS must be the address of the site, https://..., not {told!r}.")
        return told.rstrip("/") + "/"
    if (
        not repository_options(environment)
        or environment.get("GITHUB_SERVER_URL", "https://github.com") != "https://github.com"
    ):
        return ""
    owner, name = environment["GITHUB_REPOSITORY"].lower().split("/")
    return f"https://{owner}.github.io/" + ("" if name == f"{owner}.github.io" else f"{name}/")


def doubted(body: str, repository: str, title: str) -> str:
    """A page with a link below each table of results, to a report that names the page and the table."""

    def one(found: re.Match[str]) -> str:
        asked = urlencode({"title": f"{title}: {unescape(found[2])}", "body": WRONG}).replace("&", "&amp;")
        link = f'<a href="{repository}/issues/new?{asked}">Found a wrong number?</a>'
        return f'{found[1]}<p class="doubt">{link}</p>'

    return re.sub(
        r'(<div class="scroll-table"[^>]* aria-label="([^"]*)">.*?</table>\s*</div>)', one, body, flags=re.DOTALL
    )


def _apply(app: Sphinx, config: Any) -> None:
    options = repository_options(dict(os.environ))
    config.html_theme_options = {**config.html_theme_options, **options}
    config.html_baseurl = site_address(dict(os.environ))


def _doubt(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    repository = app.config.html_theme_options.get("repository_url")
    if repository and "body" in context:
        context["body"] = doubted(context["body"], repository, re.sub(r"<[^>]+>", "", context.get("title", "")))


def _sitemap(app: Sphinx, error: Exception | None) -> None:
    address = app.config.html_baseurl
    if address and not error and app.builder.format == "html":
        pages = "".join(f"<url><loc>{address}{page}.html</loc></url>" for page in sorted(app.env.found_docs))
        text = f'<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{pages}</urlset>\n'
        Path(app.outdir, "sitemap.xml").write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx, before the theme reads its options."""
    app.connect("config-inited", _apply, priority=1)
    app.connect("html-page-context", _doubt)
    app.connect("build-finished", _sitemap)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
