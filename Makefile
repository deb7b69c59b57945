# Two commands do all the set-up: `make check` runs the main job, `make test` the test suite. `make test-all` adds what
# takes long: all cases of the tests that run some by default, more and random examples, more schedules and rounds.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
GROUPS := test lint build
CONSTRAINTS :=

# Hundreds of tests start a Python of their own: without bytecode, each compiles all modules anew. What tests of one
# module share is made once if one worker runs them all: work is handed over only when a worker has none left. Some tests
# wait for most of their time: there is one worker more than cores.
WORKERS = $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

.PHONY: check test test-all test-python test-lowest lint types build docs release bench clean

check: $(STAMP)
	$(BIN)/kcache check --reference

test: $(STAMP)
	$(PYTEST)

test-all: $(STAMP)
	KCACHE_HYPOTHESIS_PROFILE=nightly $(PYTEST) -o timeout=3600

# With another Python: make test-python PY=python3.14t. Each has an environment of its own, .venv-3.14t.
test-python:
	$(MAKE) test PYTHON=$(PY) GROUPS=test VENV=.venv-$$($(PY) -c 'import sys; print("%d.%d" % sys.version_info[:2] + sys.abiflags)')

# With the lowest version of each package that kcache itself needs.
test-lowest: .venv-lowest/constraints.txt
	$(MAKE) test GROUPS=test VENV=.venv-lowest CONSTRAINTS=$<

.venv-lowest/constraints.txt: pyproject.toml .ci/lowest_versions.py
	@mkdir -p $(@D)
	$(PYTHON) .ci/lowest_versions.py > $@

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy
	$(BIN)/pyright

build: $(STAMP)
	$(BIN)/python -m build --outdir dist .

docs: $(STAMP)
	$(BIN)/pip install --quiet --group docs
	$(BIN)/python docs/generate.py --check
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --config-file docs/site/mkdocs.yml

# Checks what would be published, and publishes it: docs/releasing.md.
VERSION = $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' kcache/__init__.py)
release: $(STAMP)
	test -z "$$(git status --porcelain)" || { echo "commit what you have changed first"; exit 1; }
	git tag --points-at HEAD | grep -qx "v$(VERSION)" || { echo "this commit needs the tag v$(VERSION)"; exit 1; }
	rm -rf dist
	$(MAKE) build
	$(BIN)/twine check --strict dist/*
	$(BIN)/twine upload dist/*

bench: $(STAMP)
	$(BIN)/pip install --quiet --group bench
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf $(VENV) .venv-* dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kcache needs Python 3.11 or newer; say make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet $(CONSTRAINTS:%=--constraint %) --editable . $(GROUPS:%=--group %)
	@touch $(STAMP)
