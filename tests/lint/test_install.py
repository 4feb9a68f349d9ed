"""What is promised about installing: which Pythons and machines, from which lock, and what make does of it."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.conftest import tool
from tests.paths import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
WORKFLOW = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCKS = {
    "book": "requirements.txt",
    "tests": "tests/requirements.txt",
    "mutation": "tests/strength/mutants/requirements.txt",
}

OLDEST, NEWEST = map(int, re.search(r"Python 3\.(\d+) to 3\.(\d+)", README).groups())
# In the README's words, each with what the resolver calls it.
MACHINES = {
    "Linux (x86-64 and ARM)": ("x86_64-manylinux_2_28", "aarch64-manylinux_2_28"),
    "macOS (Apple and Intel)": ("aarch64-apple-darwin", "x86_64-apple-darwin"),
    "Windows (x86-64)": ("x86_64-pc-windows-msvc",),
}


def names(lock: str) -> set[str]:
    """The packages of a lock."""
    return set(re.findall(r"^([a-z0-9-]+)==", (ROOT / lock).read_text(encoding="utf-8"), re.MULTILINE))


# The promise ---------------------------------------------------------------------------------------------------------


def test_every_place_says_the_same_pythons() -> None:
    assert PROJECT["project"]["requires-python"] == f">=3.{OLDEST},<3.{NEWEST + 1}"
    assert f"(3, {OLDEST}) <= sys.version_info[:2] <= (3, {NEWEST})" in MAKEFILE
    assert f'python: ["3.{OLDEST}", "3.{NEWEST}"]' in WORKFLOW, "test the oldest and the newest"
    assert f"--python-version 3.{OLDEST} " in MAKEFILE, "the locks are resolved from the oldest on"
    assert PROJECT["tool"]["ruff"]["target-version"] == f"py3{OLDEST}"
    assert PROJECT["tool"]["mypy"]["python_version"] == f"3.{OLDEST}"


@pytest.mark.parametrize("version", [(3, OLDEST - 1), (3, OLDEST), (3, NEWEST), (3, NEWEST + 1)], ids=str)
def test_make_refuses_any_other_python_in_one_sentence(version: tuple[int, int]) -> None:
    check = re.search(r"\$\(PYTHON\) -c 'import sys; (.*)'$", MAKEFILE, re.MULTILINE)[1]
    code = f"import sys; sys.version_info = {(*version, 1)}; {check}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == (OLDEST <= version[1] <= NEWEST)
    if done.returncode:
        assert re.fullmatch(f"Python 3.{OLDEST} to 3.{NEWEST} is needed, this is 3.{version[1]}; .*\n", done.stderr)


class Resolver:
    """uv, with a cache of its own: it asks the registry once for all that the locks name, and then knows it."""

    LOCKS = (LOCKS["book"], LOCKS["tests"])

    def __init__(self, cache: Path) -> None:
        beside = Path(sys.executable).parent / "uv"
        self.command = [str(beside) if beside.exists() else tool("uv"), "pip", "compile", "--quiet"]
        self.environment = os.environ | {"UV_CACHE_DIR": str(cache), "UV_HTTP_RETRIES": "1"}

    def problem(self, *arguments: str) -> str:
        """What uv has to say against a resolution; nothing if there is one."""
        options: dict[str, Any] = {"cwd": ROOT, "env": self.environment, "capture_output": True, "text": True}
        done = subprocess.run([*self.command, *arguments], check=False, **options)
        return (done.stderr or "uv failed") if done.returncode else ""

    def missing_wheels(self, python: str, machine: str) -> str:
        """What cannot be installed without a compiler there, of the locks for the book and for the tests."""
        options = ["--offline", "--no-deps", "--only-binary", ":all:", "--python-version", python]
        return self.problem(*options, "--python-platform", machine, *self.LOCKS, "-o", os.devnull)


@pytest.fixture(scope="module")
def resolver(tmp_path_factory: pytest.TempPathFactory) -> Resolver:
    """One that has asked. Without a network the test is skipped, and on a build machine it fails."""
    asked = Resolver(tmp_path_factory.mktemp("uv"))
    options = ["--universal", "--no-deps", "--python-version", f"3.{OLDEST}"]
    problem = asked.problem(*options, *asked.LOCKS, "-o", os.devnull)
    if "Failed to fetch" in problem and not os.environ.get("CI"):
        pytest.skip("the package registry cannot be reached")
    assert not problem, problem
    return asked


@pytest.mark.parametrize("python", [f"3.{minor}" for minor in range(OLDEST, NEWEST + 1)])
def test_every_promised_machine_needs_no_compiler(python: str, resolver: Resolver) -> None:
    """Where a package has no wheel, ask for another version of it in pyproject, or promise less."""
    for words, machines in MACHINES.items():
        assert words in README
        for machine in machines:
            assert resolver.missing_wheels(python, machine) == "", f"Python {python} on {machine}"


@pytest.mark.parametrize("python", [f"3.{OLDEST - 1}", f"3.{NEWEST + 1}"])
def test_no_other_python_could_be_promised(python: str, resolver: Resolver) -> None:
    machine = MACHINES["Linux (x86-64 and ARM)"][0]
    assert resolver.missing_wheels(python, machine), (
        f"Python {python} has all wheels: promise it in README, pyproject, Makefile"
    )


# The locks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("group", LOCKS)
def test_a_lock_is_what_make_lock_would_write(group: str, resolver: Resolver, tmp_path: Path) -> None:
    """A package that pyproject asks for otherwise than the lock has it: run `make lock`."""
    recipe = re.search(rf"^\t\$\(LOCK\) (--group {group} .*)-o {LOCKS[group]}$", MAKEFILE, re.MULTILINE)[1]
    options = re.search(r"^LOCK := \$\(BIN\)/uv pip compile (.*) \$\(UPGRADE\)$", MAKEFILE, re.MULTILINE)[1]
    copy = tmp_path / "lock.txt"
    shutil.copy(ROOT / LOCKS[group], copy)
    assert resolver.problem(*options.split(), *recipe.split(), "-o", str(copy)) == ""
    assert copy.read_text() == (ROOT / LOCKS[group]).read_text(), "run `make lock`"


@pytest.mark.parametrize("lock", LOCKS.values())
def test_every_package_is_pinned_and_has_its_hashes(lock: str) -> None:
    entries = re.split(r"\n(?! )", (ROOT / lock).read_text(encoding="utf-8").strip())
    assert all(re.match(r"[a-z0-9-]+==\S+ .*\\\n +--hash=sha256:[0-9a-f]{64}", entry) for entry in entries)


def test_a_reader_does_not_install_what_only_tests_need() -> None:
    chosen = {re.match(r"[a-z0-9-]+", entry)[0] for entry in PROJECT["dependency-groups"]["tests"]}
    # nbval runs notebooks for a reader, and brings pytest; the theme brings beautifulsoup4.
    assert chosen & names(LOCKS["book"]) <= {"pytest", "beautifulsoup4"}
    assert "nbval" in names(LOCKS["book"])


def modules(source: str) -> set[str]:
    """The top modules that a piece of code imports."""
    tree = ast.walk(ast.parse(source))
    found = [[a.name for a in n.names] if isinstance(n, ast.Import) else [n.module] for n in tree if is_import(n)]
    return {name.partition(".")[0] for group in found for name in group}


def is_import(node: ast.AST) -> bool:
    return isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and not node.level)


@pytest.mark.parametrize("path", sorted((ROOT / "book").glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_chapter_runs_in_the_environment_of_a_reader(path: Path) -> None:
    """What an extra brings is imported by the cell that uses it, so that no other cell fails without."""
    own = {"scaling", "quizzes", "claims"} | sys.stdlib_module_names
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            more = modules(cell.source) - own - names(LOCKS["book"])
            assert more <= {"dask"} and (not more or "da." in cell.source), f"{more} is not in requirements.txt"


def test_no_test_waits_for_a_package_that_no_lock_has() -> None:
    """Else it would be skipped everywhere, and what it holds would be a promise only."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")]
    asked = {
        name.partition(".")[0].replace("_", "-")
        for text in texts
        for name in re.findall(r'importorskip\("([\w.]+)"', text)
    }
    assert "jax" in asked and asked <= names(LOCKS["tests"]) | names(LOCKS["book"])


# Make ----------------------------------------------------------------------------------------------------------------


def make(folder: Path, *arguments: str, **environment: str) -> str:
    """What make would do in a folder, with both streams."""
    command = [tool("make"), "--no-print-directory", *arguments]
    # A test that make started has make's own variables.
    clean = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "PYTHONPATH")}
    done = subprocess.run(
        command,
        cwd=folder,
        env=clean | environment,
        text=True,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return done.stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with what make looks at, as it is after a first `make test`."""
    folder = tmp_path / "with space"
    for lock in ("Makefile", *LOCKS.values()):
        (folder / lock).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / lock, folder / lock)
    (folder / ".venv" / "bin").mkdir(parents=True)
    (folder / ".venv" / "bin" / "python").touch()
    (folder / ".venv" / ".folder").write_text(f"{folder.resolve() / '.venv'}\n")
    for stamp in (".reader", ".tests"):
        (folder / ".venv" / stamp).touch()
    return folder


def test_what_is_installed_is_left_alone(checkout: Path) -> None:
    assert "pip" not in make(checkout, "-n", "book", "test", "lab", "notebooks", "check")


def test_book_and_lab_need_the_lock_of_the_reader_only(checkout: Path) -> None:
    shutil.rmtree(checkout / ".venv")
    assert "tests/requirements.txt" not in make(checkout, "-n", "book", "lab")
    assert "-r tests/requirements.txt" in make(checkout, "-n", "test")


def test_a_copied_or_moved_folder_gets_an_environment_of_its_own(checkout: Path) -> None:
    moved = checkout.rename(checkout.with_name("moved"))
    shutil.copytree(moved, moved.with_name("copy"), symlinks=True)
    for folder in (moved, moved.with_name("copy")):
        assert "-m venv --clear .venv" in make(folder, "-n", "book"), folder


def test_an_environment_that_is_a_link_is_used_as_it_is(checkout: Path) -> None:
    other = checkout.with_name("other")
    shutil.copytree(checkout, other)
    shutil.rmtree(other / ".venv")
    (other / ".venv").symlink_to(checkout / ".venv")
    said = make(other, "-n", "book", "test", "mutation", "clean")
    assert "pip" not in said and "-m venv" not in said and ".venv/bin/jupyter-book build" in said
    shutil.rmtree(checkout / ".venv")
    said = make(other, "book")
    assert ".venv is a link to a folder without an environment" in said and len(said.splitlines()) == 1
    ignored = subprocess.run(["git", "check-ignore", "-q", ".venv"], cwd=ROOT, check=False)
    assert ignored.returncode in (0, 128) and ".venv" in (ROOT / ".gitignore").read_text().splitlines()


def test_make_takes_this_folders_code_and_no_other_backend(checkout: Path) -> None:
    with (checkout / "Makefile").open("a") as file:
        file.write("\nsay: ; @env\n")
    said = make(checkout, "say", PYTHONPATH="/elsewhere", MPLBACKEND="Agg").splitlines()
    assert f"PYTHONPATH={checkout.resolve()}" in said
    assert not [line for line in said if line.startswith("MPLBACKEND")]


def test_the_site_is_built_from_nothing_each_time(checkout: Path) -> None:
    """Sphinx would leave the side bar of unchanged pages, and what it copies, as they were."""
    assert make(checkout, "-n", "book").splitlines()[:2] == [
        "rm -rf _build",
        ".venv/bin/jupyter-book build . -W -n --keep-going --quiet",
    ]


def test_the_way_without_make_is_what_make_does(checkout: Path) -> None:
    """The README's three lines, in a POSIX spelling, are the recipe of make but for checks and stamps."""
    shutil.rmtree(checkout / ".venv")
    block = re.search(r"^Without make.*\n\n((?:    .*\n)+)", README, re.MULTILINE)[1]
    lines = [line.strip().replace("\\", "/").replace("/Scripts/", "/bin/") for line in block.splitlines()]
    done = [
        line
        for line in make(checkout, "-n", "lab", PYTHON="python").splitlines()
        if "-m venv" in line or "-m pip" in line
    ]
    plain = [re.sub(r" --(quiet|require-hashes|clear)\b", "", line) for line in done]
    assert len(lines) == 3 and lines == plain


# The machine ---------------------------------------------------------------------------------------------------------

PAGE = """\
import scaling; print(scaling.__file__)
from scaling.course import plots; plots.use_book_style()
plots.lines([1, 2], {"a": [1, 2]}, title="a title", xlabel="x", ylabel="y");
plots.plt.show()  # draws again what was not closed"""
LEAKS = {
    "matplotlibrc": "font.family: serif\naxes.titlesize: 20\nbackend: agg\n",
    "profile_default/ipython_config.py": """
c.InlineBackend.rc = {'axes.titlecolor': 'red'}
c.InlineBackend.close_figures = False
c.InlineBackend.figure_formats = {'png'}
c.InlineBackend.print_figure_kwargs = {'pad_inches': 2}
""",
}


def outputs(notebook: nbformat.NotebookNode) -> list[dict[str, Any]]:
    return [output for cell in notebook.cells for output in cell.outputs]


def test_a_kernel_runs_this_folder_and_draws_whatever_the_machine_is_set_to(tmp_path: Path) -> None:
    """As `make notebooks` runs a page, which hides the machine, and as a reader's JupyterLab does, which does not."""
    quiet = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MPLBACKEND")}
    cells = [nbformat.v4.new_code_cell(line, id=f"page-{i}") for i, line in enumerate(PAGE.splitlines())]
    lab, path = nbformat.v4.new_notebook(cells=cells), tmp_path / "page.ipynb"
    nbformat.write(lab, path)
    command = [sys.executable, str(ROOT / "book" / "_tools" / "execute.py"), str(path)]
    subprocess.run(command, env=quiet | {"MPLBACKEND": "Agg"}, check=True, capture_output=True)
    made = outputs(nbformat.read(path, as_version=4))
    assert made[0].text == f"{ROOT / 'scaling' / '__init__.py'}\n"
    assert [next(iter(output["data"])) for output in made[1:]] == ["image/svg+xml"]
    for name, text in LEAKS.items():
        (tmp_path / "leaks" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "leaks" / name).write_text(text)
    leaks = str(tmp_path / "leaks")
    for variables in ({"MPLBACKEND": "Agg"}, {"MATPLOTLIBRC": leaks, "IPYTHONDIR": leaks}):
        NotebookClient(lab, kernel_name="python3").execute(env=quiet | {"PYTHONPATH": str(ROOT)} | variables)
        assert outputs(lab) == made, variables


def test_nbval_runs_this_folder_too() -> None:
    """Its kernels have what pytest was started with: `make test` sets the path; by hand it may be another's code."""
    code = "import scaling; print(scaling.__file__)"
    done = subprocess.run([sys.executable, "-c", code], cwd="/", capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).is_relative_to(ROOT), f"start pytest with PYTHONPATH={ROOT}, or by make test"


# Orphans -------------------------------------------------------------------------------------------------------------


def orphans(folder: Path) -> list[str]:
    """Files with tests that neither pytest's name for a test nor Node's is given to, or that lie where no one looks."""
    skipped = PROJECT["tool"]["pytest"]["ini_options"]["norecursedirs"]
    lost = []
    for path in [*folder.rglob("*.py"), *folder.rglob("*.mjs"), *folder.rglob("*.js")]:
        parts = path.relative_to(folder).parts
        if parts[0].startswith(".") or {"node_modules", "_build"} & set(parts):
            continue
        text = path.read_text(encoding="utf-8")
        python = path.suffix == ".py"
        if re.search(r"^(async )?def test_" if python else r"""from ["']node:test["']""", text, re.MULTILINE):
            named = re.fullmatch(r"test_.*\.py" if python else r".*\.test\.mjs", path.name)
            hidden = any(part in skipped or part.startswith(".") for part in parts)
            if not named or hidden or parts[0] != "tests":
                lost.append("/".join(parts))
    return lost


def test_every_file_with_tests_is_run_by_make_test() -> None:
    assert orphans(ROOT) == []
    assert PROJECT["tool"]["pytest"]["ini_options"]["testpaths"] == ["book", "tests"]
    recipe = re.search(r"^test: .*\n\t(.*)$", MAKEFILE, re.MULTILINE)[1]
    for word in ("--ignore", "--deselect", " -k", " -m ", "tests/"):
        assert (
            word not in recipe.split("-m pytest")[1] and word not in PROJECT["tool"]["pytest"]["ini_options"]["addopts"]
        )
    assert not [path for path in (ROOT / "tests").rglob("conftest.py") if "collect_ignore" in path.read_text()]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tests/scaling/units.py", "def test_x(): pass\n"),
        ("tests/js/grader.mjs", 'import { test } from "node:test";\n'),
        ("book/_tools/test_x.py", "def test_x(): pass\n"),
        ("tests/_build2/.hidden/test_x.py", "def test_x(): pass\n"),
    ],
)
def test_an_orphan_is_seen(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text(text)
    assert orphans(tmp_path) == [name]
