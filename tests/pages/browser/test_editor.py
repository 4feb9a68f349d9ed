"""Exercises run where they are read, in a real Chromium under the strict policy, with the site's own Python."""

import gzip
import hashlib
import http.server
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest
from playwright.sync_api import expect
from policy import header, policy
from python_in_page import archive, running

from tests.pages.test_quizzes import exercises, place
from tests.paths import BOOK

pytestmark = pytest.mark.browser
PY = BOOK / "_site" / "py"
EXERCISES = [(f"{p.values[0].name[:2]}-{p.values[1].lower().replace('_', '-')}", *p.values) for p in exercises()]
# What readers write that is no answer.
STOPPED = {
    "endless": "while True:\n    pass",
    "loud": "while True:\n    print('all work and no play')",
    "syntax": "def my_cache(layers:\n    return 1",
    "name": "number = 1\nnumbr + 1",
    "exit": "import sys\nsys.exit('bye')",
    "deep": "def f():\n    return f()\nf()",
    "markup": "print('<img src=x onerror=alert(1)>')\nraise ValueError('<b>bold</b>')",
    "megabyte": "def my_cache(**case):\n    print('x' * 10**6)",
}


class _Strict(http.server.SimpleHTTPRequestHandler):
    policy = ""
    missing: ClassVar[set[str]] = set()

    def do_GET(self) -> None:
        if self.path.rsplit("/", 1)[-1] in self.missing:
            self.send_error(404)
        else:
            super().do_GET()

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", self.policy)
        super().end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def strict(built: Path) -> Iterator[str]:
    _Strict.policy = header(policy(built))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(_Strict, directory=str(built)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def page(chromium: Any, strict: str) -> Iterator[Any]:
    """Chapter 2 in one tab, whose Python starts once; what it asks for is written down."""
    context = chromium.new_context()
    page = context.new_page()
    page.asked, page.trouble = [], []
    page.clock.install()  # ten seconds of patience need not last ten seconds
    context.on("request", lambda request: page.asked.append(request.url))
    page.on("pageerror", lambda error: page.trouble.append(str(error)))
    page.goto(f"{strict}/book/02_memory.html")
    yield page
    assert page.trouble == []
    assert [url for url in page.asked if not url.startswith((strict, "data:"))] == []
    context.close()


def editor(page: Any, name: str) -> Any:
    return page.locator(f"#code-{name}")


def ran(cell: Any, timeout: float = 30_000) -> str:
    """What is said once a run is over."""
    expect(cell.get_by_role("button", name="Run")).not_to_have_attribute("aria-disabled", "true", timeout=timeout)
    expect(cell.locator(".sw-status")).to_be_visible()
    return str(cell.locator(".sw-status").inner_text())


def test_by_keyboard_alone_and_remembered(page: Any) -> None:
    """Nothing of Python is asked for before the reader asks; the right answer is kept over a new visit."""
    cell = editor(page, "02-cache")
    assert not [url for url in page.asked if "/py/" in url]
    field = cell.get_by_role("textbox")
    assert "my_cache" in cell.locator("label").inner_text() and "check(" not in field.input_value()
    field.focus()
    page.keyboard.press("Control+End")
    page.keyboard.press("Shift+Home")
    page.keyboard.type("    for _ in range(1):")
    page.keyboard.press("Enter")
    page.keyboard.type("size = 2 * layers * kv_heads * head_dim * number_bytes")
    page.keyboard.press("Enter")
    for _ in range(4):
        page.keyboard.press("Backspace")
    page.keyboard.type("return size * batch * context")
    page.keyboard.press("Control+Enter")
    assert ran(cell) == "✓ Right on all 3 inputs.", "solved by keys alone"
    assert page.evaluate("document.activeElement.tagName") == "TEXTAREA"
    text = field.input_value()
    assert text.endswith(
        "        size = 2 * layers * kv_heads * head_dim * number_bytes\n    return size * batch * context"
    )
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Run", "Tab leaves the field"
    kept = json.loads(page.evaluate("localStorage['scaling/code/02-cache']"))
    assert kept == {"source": text, "solved": True}
    page.reload()
    expect(cell.get_by_text("✓ solved")).to_be_visible()
    assert field.input_value() == text
    cell.get_by_role("button", name="Reset").click()
    assert field.input_value().endswith("return ...")


def test_every_exercise_stub_solution_and_each_mistake(page: Any) -> None:
    """What the page answers for each: as it is, solved, and with the functions of the bank's mistakes."""
    tries = [(name, "open", "", place(path, a).stub.split("\n\n\ncheck(")[0]) for name, path, a, _ in EXERCISES]
    tries += [(name, "right", "Right on all", place(path, a).solution) for name, path, a, _ in EXERCISES]
    for name, path, attribute, exercise in EXERCISES:
        said = next(iter(exercise.mistakes))
        slip = f"{place(path, attribute).function} = bank.{attribute}.mistakes[{said!r}]"
        tries.append((name, "wrong", f"Likely cause: {said}", slip))
    answers = page.evaluate(
        "async (tries) => { const all = [];"
        "for (const [cell,,, source] of tries) all.push(await scalingLab.call('run', {cell, source})); return all; }",
        tries,
    )
    assert len(tries) == 3 * len(EXERCISES) >= 3
    off = [
        (name, outcome, answer)
        for (name, outcome, said, _), answer in zip(tries, answers, strict=True)
        if answer["outcome"] != outcome or said not in answer["said"]
    ]
    assert off == []


def test_code_that_fails_is_told_and_kept(page: Any) -> None:
    cell = editor(page, "02-cache")
    told = {}
    for name, source in STOPPED.items():
        cell.get_by_role("textbox").fill(source)
        cell.get_by_role("textbox").press("Shift+Enter")
        if name == "endless":
            expect(cell.locator(".sw-status")).to_have_text("Running …")
            page.clock.fast_forward(11_000)
        told[name] = ran(cell)
        assert cell.get_by_role("textbox").input_value() == source
        assert json.loads(page.evaluate("localStorage['scaling/code/02-cache']"))["source"] == source
    assert told["endless"] == "Stopped after 10 seconds. Does a loop never end? Your text is kept."
    assert "prints too much" in told["loud"] and "prints too much" in told["megabyte"]
    assert told["syntax"].startswith("Line 1. Python cannot read this: ")
    assert told["name"].startswith("Line 2. NameError: name 'numbr' is not defined")
    assert told["exit"] == "Line 2. SystemExit: bye"
    assert "recursion" in told["deep"]
    assert told["markup"] == "Line 2. ValueError: <b>bold</b>"
    assert len(cell.locator(".sw-printed").inner_text()) == 20_000
    assert page.locator(".sw-code :is(img, b)").count() == 0
    assert cell.bounding_box()["height"] < 900


def test_kept_text_that_is_not_ours_is_nothing(page: Any) -> None:
    for nonsense in ("", "null", "[1]", "{", '{"source": 7, "solved": "yes"}'):
        page.evaluate("text => localStorage.setItem('scaling/code/02-sequences', text)", nonsense)
        page.reload()
        cell = editor(page, "02-sequences")
        assert cell.get_by_role("textbox").input_value().endswith("return ...")
        assert not cell.get_by_text("✓ solved").is_visible()


def failing(chromium: Any, site: str) -> str:
    """What the first press says to a reader who has nothing from a visit before."""
    context = chromium.new_context()
    page = context.new_page()
    page.goto(f"{site}/book/02_memory.html")
    cell = editor(page, "02-sequences")
    cell.get_by_role("button", name="Run").click()
    said = ran(cell)
    context.close()
    return said


def test_what_keeps_python_from_starting_is_named(chromium: Any, strict: str) -> None:
    whole = _Strict.policy
    try:
        _Strict.missing.add("pyodide.asm.wasm.packed")
        said = failing(chromium, strict)
        assert said.startswith("Python could not start here: pyodide.asm.wasm.packed did not arrive (404).")
        _Strict.missing = {"worker.mjs"}
        assert failing(chromium, strict).startswith("Python could not start here: a file is missing")
        _Strict.missing = set()
        _Strict.policy = whole.replace("'wasm-unsafe-eval' ", "")
        assert "does not allow WebAssembly" in failing(chromium, strict)
    finally:
        _Strict.missing, _Strict.policy = set(), whole
    assert failing(chromium, strict).startswith("Not attempted yet")


def test_from_a_folder_one_sentence_says_what_to_do(chromium: Any, built: Path) -> None:
    page = chromium.new_page()
    page.goto((built / "book" / "02_memory.html").as_uri())
    cell = editor(page, "02-cache")
    cell.get_by_role("button", name="Run").click()
    assert "only when the page comes from a web server" in ran(cell) and "python -m http.server" in ran(cell)
    page.close()


def test_without_a_script_the_stub_and_its_output_stay(chromium: Any, site: str) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}/book/02_memory.html")
    text = editor(page, "02-cache").inner_text()
    assert "def my_cache(" in text and "Not attempted yet" in text and "run the cell" not in text
    context.close()


# ---- What the page gets ----


def test_every_exercise_has_the_tag_and_an_editor(built: Path) -> None:
    names = {one.name for path in BOOK.glob("*.ipynb") for one in running(path) if one.check}
    assert names == {name for name, *_ in EXERCISES}, "give a cell that ends in check(...) the tag exercise"
    html = "".join(path.read_text(encoding="utf-8") for path in (built / "book").glob("*.html"))
    assert [name for name in names if html.count(f'id="code-{name}"') != 1] == []


def test_the_archive_is_the_same_each_time(built: Path, tmp_path: Path) -> None:
    archive(tmp_path / "book.zip")
    made = (tmp_path / "book.zip").read_bytes()
    assert made == (built / "_static" / "py" / "book.zip").read_bytes()
    assert len(made) < 300_000


def test_the_runtime_is_what_npm_gave_and_the_bar_knows_its_size(built: Path) -> None:
    lines = (PY / "sha256sums").read_text(encoding="utf-8").splitlines()
    given = {}
    for digest, name in (line.split() for line in lines):
        packed = PY / f"{name}.packed"
        content = gzip.decompress(packed.read_bytes()) if packed.exists() else (PY / name).read_bytes()
        given[name] = hashlib.sha256(content).hexdigest() == digest
    assert given == dict.fromkeys(["pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip"], True)
    counted = ("pyodide.asm.wasm.packed", "python_stdlib.zip", "book.zip")
    total = sum((built / "_static" / "py" / name).stat().st_size for name in counted)
    said = float((BOOK / "_site" / "lab.js").read_text(encoding="utf-8").split("const TOTAL = ")[1].split(";")[0])
    assert said == pytest.approx(total, rel=0.03)


def test_only_what_a_cell_needs_runs_before_it(tmp_path: Path) -> None:
    sources = ["import math\nimport numpy as np", "far = np.zeros(3)\nhalf = 1 / 2", "x = 2\ny = x * half", "y + 1"]
    cells = [{"cell_type": "code", "id": f"c{i}", "metadata": {}, "source": text} for i, text in enumerate(sources)]
    cells[3]["metadata"] = {"tags": ["try"]}
    path = tmp_path / "99_toy.ipynb"
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    expected = "import math\nimport numpy as np\nhalf = 1 / 2\nx = 2\ny = x * half"
    assert running(path) == [("c3", expected, "")]
    cells[3]["metadata"] = {"tags": ["exercise"]}
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    with pytest.raises(ValueError, match="an exercise ends in check"):
        running(path)


def test_the_value_of_a_last_line_is_shown_and_what_is_not_in_the_page_is_left_out(tmp_path: Path) -> None:
    """A line to try, as the worker runs it, with no package but the archive's."""
    archive(tmp_path / "book.zip")
    subprocess.run([sys.executable, "-m", "zipfile", "-e", "book.zip", "."], cwd=tmp_path, check=True)
    before = "import nowhere\nfrom math import pi\nfrom scaling import LLAMA3_70B"
    (tmp_path / "cells.json").write_text(json.dumps({"t": {"before": before, "check": ""}}), encoding="utf-8")
    code = 'from lab import call; print(call(\'run\', \'{"cell": "t", "source": "k = LLAMA3_70B.layers\\\\nk + 1"}\'))'
    command = [sys.executable, "-S", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, check=True)
    assert json.loads(done.stdout) == {"value": {"printed": "81\n", "outcome": "", "said": ""}}
