"""What the site needs beyond its configuration: links to the repository, when a build knows where that is.

GitHub Actions sets ``GITHUB_REPOSITORY`` (owner/name). Elsewhere no link is made, so none points nowhere.
"""

import os
import re
from typing import Any

from sphinx.application import Sphinx


def repository_options(environment: dict[str, str]) -> dict[str, Any]:
    """Theme options for edit and issue links, or nothing when the repository is not known."""
    name = environment.get("GITHUB_REPOSITORY", "")
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        return {}
    server = environment.get("GITHUB_SERVER_URL") or "https://github.com"
    return {
        "repository_url": f"{server}/{name}",
        "repository_branch": environment.get("GITHUB_REF_NAME") or "main",
        "use_repository_button": True,
        "use_issues_button": True,
        "use_edit_page_button": True,
    }


def _apply(app: Sphinx, config: Any) -> None:
    config.html_theme_options = {**config.html_theme_options, **repository_options(dict(os.environ))}


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx, before the theme reads its options."""
    app.connect("config-inited", _apply, priority=1)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
