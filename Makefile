# Every target sets up what it needs: a virtual environment in .venv with the package and the extras of that target.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
TESTABLE := $(VENV)/.testable
DOCUMENTED := $(VENV)/.documented
# Two workers suit the two cores that the suite is sized for; PYTEST_ARGS="-n 0 -x" runs it in one process.
PYTEST_ARGS ?= -n 2 --dist worksteal
# Tests to run; all of them unless given.
TESTS ?=

.PHONY: help demo test test-lowest coverage slow bench reproduce-quick docs check format release clean

help:
	@echo "make demo    train FewBitClassifier and the paper's networks on handwritten digits, and save the first"
	@echo "make test    run the tests of the library and of the laboratory"
	@echo "make test-lowest   the same with the lowest versions of all dependencies; TESTS=tests/cli selects some, here and below"
	@echo "make coverage   which lines the tests run: htmlcov/index.html"
	@echo "make slow    run the long tests"
	@echo "make bench   all benchmarks, or BENCH_ARGS=\"table --pairs 5\"; BEMI_DATA names the data folder"
	@echo "make reproduce-quick   a small version of all of the paper's tables and figures: runs/quick/report.md"
	@echo "make docs    the documentation as a site: site/index.html"
	@echo "make check   linter, formatter and types"
	@echo "make release   wheel and sdist in dist/, and the tests with the wheel in an environment of its own"
	@echo "make format  rewrite the code in the project's format"

# A stamp for each set of packages: `make demo` installs what a user needs, and no test runner or site builder.
# Some tests measure time, so compiled loops are put into their cache first.
compile = tests/compile_loops.py
install = $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable

$(INSTALLED): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("bemi needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(install) .
	touch $@

$(TESTABLE): $(INSTALLED)
	$(install) '.[dev,gurobi,scip,cpsat]' --editable ./lab
	$(BIN)/python $(compile)
	touch $@

$(DOCUMENTED): $(INSTALLED)
	$(install) '.[docs]' --editable ./lab
	touch $@

demo: $(INSTALLED)
	$(BIN)/python examples/digits.py

test: $(TESTABLE)
	$(BIN)/python -m pytest $(PYTEST_ARGS) $(TESTS)

test-lowest:
	rm -rf $(VENV)-lowest
	$(PYTHON) -m venv $(VENV)-lowest
	$(VENV)-lowest/bin/python -m pip install --quiet --constraint constraints-lowest.txt --editable '.[test]' --editable ./lab
	$(VENV)-lowest/bin/python $(compile)
	$(VENV)-lowest/bin/python -m pytest $(PYTEST_ARGS) $(TESTS)

coverage: $(TESTABLE)
	$(BIN)/python -m pytest $(PYTEST_ARGS) --cov --cov-report=term:skip-covered --cov-report=html $(TESTS)

slow: $(TESTABLE)
	BEMI_FRESH_EXAMPLES=1 $(BIN)/python -m pytest -m slow $(PYTEST_ARGS)

bench: $(TESTABLE)
	$(BIN)/bemi-lab bench $(or $(BENCH_ARGS),all)

reproduce-quick: $(TESTABLE)
	$(BIN)/bemi-lab reproduce all --quick --run runs/quick
	$(BIN)/bemi-lab report runs/quick/[aeflnt]* -o runs/quick/report.md

docs: $(DOCUMENTED)
	@# Warnings are errors.  Examples whose script has not changed since the last build are not run again.
	$(BIN)/python -m sphinx -W --keep-going -q -d build/doctrees docs site

check: $(TESTABLE)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(TESTABLE)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The wheel is made from the sdist.  No test sees the source: only tests/ is on the path, and src/ is not.
release: $(TESTABLE)
	rm -rf dist $(VENV)-release
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*
	$(PYTHON) -m venv $(VENV)-release
	$(VENV)-release/bin/python -m pip install --quiet "$$(echo dist/*.whl)[test]" ./lab
	$(VENV)-release/bin/python $(compile)
	$(VENV)-release/bin/python -m pytest $(PYTEST_ARGS) $(TESTS)

clean:
	rm -rf $(VENV) $(VENV)-lowest $(VENV)-release dist htmlcov .coverage site build docs/gallery docs/sg_execution_times.rst .pytest_cache .mypy_cache .ruff_cache
