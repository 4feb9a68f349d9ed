# One command each, from nothing: every target makes .venv first if it is missing.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
MUTATION := .venv/.ready-mutation
NOTEBOOKS := $(sort $(wildcard book/*.ipynb))

.PHONY: help book test lab notebooks check bench mutation fuzz clean
help:
	@echo "make book       build the site into _build/html"
	@echo "make test       run every test (the site is built on the way)"
	@echo "make lab        open the notebooks in JupyterLab"
	@echo "make notebooks  re-execute the notebooks and store their outputs"
	@echo "make check      lint, types and layers only"
	@echo "make bench      time the formulas"
	@echo "make mutation   break every formula, constant, plot, key and flag once, and demand a red test (an hour)"
	@echo "make fuzz       a million odd inputs"

$(READY): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version.split()[0])'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --requirement requirements.txt
	@touch $(READY)

book: $(READY)
	$(BIN)/jupyter-book build . -W -n --keep-going --quiet
	@echo "Open _build/html/index.html in a browser."

test: $(READY)
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

lab: $(READY)
	$(BIN)/jupyter lab --notebook-dir=book

notebooks: $(READY)
	$(BIN)/python book/_tools/execute.py $(NOTEBOOKS)

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/lint/test_layers.py tests/lint/test_javascript.py

bench: $(READY)
	$(BIN)/python -m tests.strength.bench

$(MUTATION): $(READY) tests/strength/mutants/requirements.txt
	$(BIN)/python -m pip install --quiet --requirement tests/strength/mutants/requirements.txt
	@touch $(MUTATION)

mutation: $(MUTATION)
	$(BIN)/python -m tests.strength.mutants.gate

fuzz: $(READY)
	$(BIN)/python -m tests.strength.fuzz.run

clean:
	rm -rf _build .venv
