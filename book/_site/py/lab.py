"""Runs in the page: what a reader typed, and the functions that a page may call. JSON goes in and comes out.

The build puts this file, the package and the banks into book.zip, with cells.json: what each cell of a chapter needs.
"""

import ast
import io
import json
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

from scaling.course.exercise import judge

HERE = Path(__file__).parent
YOURS = "<your code>"
LONGEST = 20_000  # characters: a few hundred lines, more than anybody reads below an exercise


class TooLong(BaseException):
    """More was printed than is shown. No exercise's ``except Exception`` may swallow it."""


class _Printed(io.StringIO):
    def write(self, text: str) -> int:
        room = LONGEST - self.tell()
        super().write(text[:room])
        if len(text) > room:
            raise TooLong
        return len(text)


def run(source: str, cell: str) -> dict[str, str]:
    """Run a reader's text in place of a cell.

    Gives `printed`; `said`, the verdict or what went wrong, in words; and `outcome`: "right", "wrong", "open" (not
    attempted), "error", "stopped", or "" where nothing is judged.
    """
    about = _cells()[cell]
    printed = _Printed()
    with redirect_stdout(printed), redirect_stderr(printed):
        try:
            outcome, said = _run(source, **about)
        except TooLong:
            outcome = "stopped"
            said = f"Stopped: your code prints too much. The first {LONGEST:,} characters are below."
        except BaseException as error:  # a reader's code may fail in any way, and may ask Python to exit
            outcome, said = "error", _went_wrong(error)
    return {"printed": printed.getvalue(), "outcome": outcome, "said": said}


def _cells() -> dict[str, dict[str, str]]:
    cells: dict[str, dict[str, str]] = json.loads((HERE / "cells.json").read_text(encoding="utf-8"))
    return cells


def _run(source: str, before: str, check: str) -> tuple[str, str]:
    space: dict[str, Any] = {"__name__": "__main__"}
    yours = ast.parse(source, YOURS)
    for statement in ast.parse(before).body:
        with suppress(ImportError):  # NumPy, figures and widgets are not in the page
            exec(compile(ast.Module([statement], []), "<chapter>", "exec"), space)
    shown = yours.body.pop() if not check and yours.body and isinstance(yours.body[-1], ast.Expr) else None
    exec(compile(yours, YOURS, "exec"), space)
    if isinstance(shown, ast.Expr):  # as in a notebook, the value of the last line is shown
        value = eval(compile(ast.Expression(shown.value), YOURS, "eval"), space)
        if value is not None:
            print(repr(value))
    if not check:
        return "", ""
    name = check.partition("(")[2].partition(",")[0]
    if name not in space:
        return "error", f"Your code defines no {name}. Keep this name: it is what is checked."
    return tuple(eval(check, {**space, "check": judge}))


def _went_wrong(error: BaseException) -> str:
    """One line: where in the reader's text, and what Python says of it."""
    line, trace = None, error.__traceback__
    while trace:
        line = trace.tb_lineno if trace.tb_frame.f_code.co_filename == YOURS else line
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and error.filename == YOURS:
        line, said = error.lineno, f"Python cannot read this: {error.msg}."
    else:
        said = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    return f"Line {line}. {said}" if line else said


# What a page may call, by name; arguments and results are plain.
FUNCTIONS: dict[str, Callable[..., Any]] = {"run": run}


def call(name: str, args: str) -> str:
    """Call one of these with a JSON object of arguments. Gives {"value": ...} or {"error": one sentence}, as JSON."""
    try:
        return json.dumps({"value": FUNCTIONS[name](**json.loads(args))})
    except ValueError as error:
        return json.dumps({"error": str(error)})
