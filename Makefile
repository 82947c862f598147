# Every target sets up what it needs: a virtual environment in .venv with the package and its extras.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Two workers suit the two cores that the suite is sized for; PYTEST_ARGS="-n 0 -x" runs it in one process.
PYTEST_ARGS ?= -n 2

.PHONY: help demo test slow bench reproduce-quick docs check format clean

help:
	@echo "make demo    train 45 networks on handwritten digits and save the model"
	@echo "make test    run the tests"
	@echo "make slow    run the long tests"
	@echo "make bench   the decomposition beside the monolithic model and the paper; BEMI_DATA names the data folder"
	@echo "make reproduce-quick   a small version of all of the paper's tables and figures: runs/quick/report.md"
	@echo "make docs    the documentation as a site: site/index.html"
	@echo "make check   linter, formatter and types"
	@echo "make format  rewrite the code in the project's format"

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("bemi needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,docs,gurobi,scip,cpsat]'
	@# Compiled loops are cached on disk; having them ready keeps the first run short.
	$(BIN)/python -c 'from bemi.engines.decomposition import prepare; prepare()'
	touch $@

demo: $(READY)
	$(BIN)/python examples/digits.py

test: $(READY)
	$(BIN)/python -m pytest $(PYTEST_ARGS)

slow: $(READY)
	BEMI_FRESH_EXAMPLES=1 $(BIN)/python -m pytest -m slow $(PYTEST_ARGS)

bench: $(READY)
	$(BIN)/python -m benchmarks.run $(BENCH_ARGS)

reproduce-quick: $(READY)
	$(BIN)/bemi reproduce all --quick --run runs/quick
	$(BIN)/bemi report runs/quick/[aeflnt]* -o runs/quick/report.md

docs: $(READY)
	@# The variable silences an announcement of the theme's makers; warnings about these pages are errors.
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache
