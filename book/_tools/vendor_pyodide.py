"""Fetch Python for the page from npm into book/_site/py: for whoever takes a newer version; `make pyodide` runs it.

The list sha256sums holds what npm gave, file by file; a test compares the repository with it.
"""

import gzip
import hashlib
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VERSION = "314.0.7"
FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
HERE = Path(__file__).parents[1] / "_site" / "py"


def main() -> None:
    """Pack, unpack, list. npm itself compares what it gets with the sum that its registry gives."""
    sums = []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", "--silent", f"pyodide@{VERSION}"], cwd=folder, check=True)
        with tarfile.open(next(Path(folder).glob("*.tgz"))) as package:
            for name in FILES:
                file = package.extractfile(f"package/{name}")
                if file is None:
                    sys.exit(f"pyodide {VERSION} has no {name}.")
                given = file.read()
                sums.append(f"{hashlib.sha256(given).hexdigest()}  {name}\n")
                if name.endswith(".wasm"):  # 9.6 MB, and not every host compresses it; the worker unpacks it
                    name, given = f"{name}.packed", gzip.compress(given, 9, mtime=0)
                (HERE / name).write_bytes(given)
    (HERE / "sha256sums").write_text("".join(sums), encoding="utf-8")


if __name__ == "__main__":
    main()
