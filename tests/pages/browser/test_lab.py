"""A real JupyterLab: run all cells, answer in the page, and read the answer back in Python."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from quizzes.memory import QUESTIONS
from tests.paths import ROOT

QUESTION = "02-kv-per-token"
pytestmark = pytest.mark.browser


def cell(source: str) -> dict[str, Any]:
    return {"cell_type": "code", "metadata": {}, "source": source, "outputs": [], "execution_count": None}


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[str]:
    """JupyterLab on a notebook: a chapter's own first cell, a quiz, an explorer, and a cell with the quiz's state."""
    chapter = json.loads((ROOT / "book" / "02_memory.ipynb").read_text(encoding="utf-8"))
    code = [c for c in chapter["cells"] if c["cell_type"] == "code"]
    question = f'quiz("{QUESTION}")'
    stored = next(c for c in code if "".join(c["source"]) == question)
    state = f"q = {question}; print('state:', q.answer, q.outcome, q.attempts)"
    explorer = cell("from scaling.course import explore_memory\n\nexplore_memory('x')")
    cells = [cell("".join(code[0]["source"])), stored, explorer, cell(state)]
    notebook = {
        **chapter,
        "cells": cells,
        "metadata": {"kernelspec": chapter["metadata"]["kernelspec"]},
    }
    (tmp_path / "try.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    (tmp_path / "quizzes").symlink_to(ROOT / "book" / "quizzes")
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=0"]
    command += ["--IdentityProvider.token=", f"--ServerApp.root_dir={tmp_path}"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    try:
        for line in server.stderr:  # ends when the server does
            if found := re.search(r"http://127\.0\.0\.1:(\d+)/lab", line):
                yield f"http://127.0.0.1:{found[1]}/lab/tree/try.ipynb"
                break
        else:
            pytest.fail("JupyterLab did not start")
    finally:
        server.terminate()
        server.wait(20)


def run_all(page: Any) -> None:
    """Run all cells, and wait until the last one is done.

    *Idle* says no more than that the kernel has answered its first message; what it is sent now it may still start on
    much later, and the first cell imports for as long as a busy machine needs. What JupyterLab does promise: a cell
    that was sent shows [*] at once, and its number when its reply has come; and the messages that make a widget come
    before the output that shows it. So a click that did nothing is told from a cell that takes its time.
    """
    prompts = page.locator(".jp-Notebook .jp-CodeCell .jp-InputPrompt")
    page.locator(".jp-Notebook").get_by_text("quiz(").first.click()
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    expect(prompts.last).to_have_text(re.compile(r"\[(\*|4)\]"), timeout=60_000)
    expect(prompts.last).to_have_text("[4]:", timeout=300_000)


def test_run_all_answer_and_read_the_state_back(lab: str, chromium: Any) -> None:
    question = next(q for q in QUESTIONS if q.id == QUESTION)
    page = chromium.new_context(viewport={"width": 1200, "height": 900}).new_page()
    page.set_default_timeout(60_000)
    page.goto(lab)
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for()  # before that, "Run All" may find no kernel to run on
    stored = page.locator(".jp-Notebook .jp-OutputArea-output").first
    expect(stored).to_contain_text(question.prompt)  # as text, from the notebook alone
    expect(stored.get_by_text("Solution", exact=True)).to_be_visible()
    run_all(page)
    widget = page.locator(".sw-quiz")
    expect(widget).to_be_visible(timeout=60_000)
    expect(page.locator(".scaling-fallback")).to_have_count(0)
    widget.get_by_role("textbox").fill(f"{question.traps[0].value!r} B")
    widget.get_by_role("button", name="Check").click()
    widget.get_by_text("Not yet").wait_for()
    widget.get_by_role("textbox").fill(f"{question.answer!r} B")
    widget.get_by_role("textbox").press("Enter")  # the browser alone submits nothing on Enter here
    widget.get_by_text("Right.").wait_for()
    page.locator(".jp-Notebook .jp-Cell").last.locator(".cm-content").click(position={"x": 10, "y": 10})
    page.keyboard.press("Control+Enter")
    page.get_by_text(re.compile(r"state: \S+ B right 2")).wait_for()
    assert page.locator(".sw-quiz").count() == 1
    explorer = page.locator(".explorer")
    explorer.get_by_role("button", name="Skip").click()
    label = explorer.locator("dt", has_text="Fewest chips")
    assert label.bounding_box()["height"] < 30, "JupyterLab's own style would squeeze labels into a narrow column"
    page.context.close()
