# One command each, from nothing: every target first makes what it needs of the environment in .venv.
PYTHON ?= python3
BIN := .venv/bin
NOTEBOOKS := $(sort $(wildcard book/*.ipynb))

# Every process that is started from here, kernels too, takes the code of this folder, and draws as the book does.
export PYTHONPATH := $(CURDIR)
unexport MPLBACKEND

# A link is used as it is: whoever made it sees to it. The programs in .venv hold its path, so that they are made anew in a
# folder that was copied or moved.
ifneq ($(shell test -L .venv && echo link),link)
READER := .venv/.reader
TESTS := .venv/.tests
MUTANTS := .venv/.mutants
ifneq ($(shell cd .venv 2>/dev/null && pwd -P | cmp -s - .folder && echo same),same)
$(shell rm -f $(READER))
endif
else ifeq ($(wildcard $(BIN)/python),)
$(error .venv is a link to a folder without an environment; remove the link, and make fills a .venv of its own)
endif

.PHONY: help book pdf test lab notebooks check bench mutation fuzz lock pyodide clean
help:
	@echo "make book       build the site into _build/html"
	@echo "make pdf        print the whole book, solutions at the end, into book.pdf"
	@echo "make test       run every test (the site is built on the way)"
	@echo "make lab        open the notebooks in JupyterLab"
	@echo "make notebooks  re-execute the notebooks and store their outputs"
	@echo "make check      lint, types and layers only"
	@echo "make bench      time the formulas"
	@echo "make mutation   break every formula, constant and flag once, and demand a red test (an hour)"
	@echo "make fuzz       a hundred thousand odd inputs"
	@echo "make pyodide    fetch Python for the page again (needs npm; book/_tools/vendor_pyodide.py names the version)"
	@echo "make lock       write the locks from pyproject.toml (UPGRADE=--upgrade for the newest versions)"

ifdef READER
$(READER): requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(None if (3, 11) <= sys.version_info[:2] <= (3, 14) else "Python 3.11 to 3.14 is needed, this is %d.%d; name another as in: make book PYTHON=python3.13" % sys.version_info[:2])'
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@cd .venv && pwd -P > .folder && touch .reader

$(TESTS): $(READER) tests/requirements.txt
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.txt -r tests/requirements.txt
	@touch $(TESTS)

.venv/.%: tests/strength/%/requirements.txt $(TESTS)
	$(BIN)/python -m pip install --quiet --require-hashes -r $<
	@touch $@
endif

# From nothing each time: an older page would keep the side bar, the styles and the scripts of the time it was written.
book: $(READER)
	rm -rf _build
	$(BIN)/jupyter-book build . -W -n --keep-going --quiet
	@echo "Open _build/html/index.html in a browser."

pdf: book $(TESTS)
	$(BIN)/python book/_tools/pdf.py _build/html book.pdf

test: $(TESTS)
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

lab: $(READER)
	$(BIN)/jupyter lab --notebook-dir=book --LabApp.default_url=/lab/tree/02_memory.ipynb

notebooks: $(TESTS)
	$(BIN)/python book/_tools/execute.py $(NOTEBOOKS)

check: $(TESTS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/lint/test_layers.py tests/lint/test_javascript.py tests/lint/test_install.py

bench: $(TESTS)
	$(BIN)/python -m tests.strength.bench

mutation: $(MUTANTS)
	$(BIN)/python -m tests.strength.mutants.gate

fuzz: $(TESTS)
	LAWS=fuzz $(BIN)/python -m pytest tests/strength/test_strangers.py

LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header $(UPGRADE)
lock: $(TESTS)
	$(LOCK) --group book -o requirements.txt
	$(LOCK) --group tests -c requirements.txt -o tests/requirements.txt
	$(LOCK) --group mutation -c requirements.txt -c tests/requirements.txt -o tests/strength/mutants/requirements.txt

pyodide:
	$(PYTHON) book/_tools/vendor_pyodide.py

clean:
	rm -rf _build
	@test -L .venv || rm -rf .venv
