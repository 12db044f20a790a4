# Every target sets up what it needs: `make test` and `make demo` work as the first command in a fresh clone.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LIGHT := $(VENV)/.light
READY := $(VENV)/.ready
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMBA_NUM_THREADS=1

PYTEST := python -m pytest -n auto --dist worksteal
JOBS ?= $(shell nproc)

.PHONY: help demo explain examples check test lint format wheel without-torch coverage oldest mutants docs pictures bench results clean

help:  ## say what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */  make \1\t/' | expand -t 22

define install  # the package with these extras
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
  { echo "mergebo needs Python 3.11 or later; say which with: make PYTHON=python3.11 ..."; exit 1; }
$(PYTHON) -m venv $(VENV)
$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$(1)]'
endef

# What a user has: far less than what it takes to develop, which includes it.
$(LIGHT): pyproject.toml constraints.txt
	$(call install,plot)
	@touch $@

$(READY): pyproject.toml constraints.txt
	$(call install,dev)
	@touch $(LIGHT) $@

demo: $(LIGHT)  ## show the framework, then optimise a drill tour with four methods and draw it
	$(BIN)/python examples/sorting_kernels.py
	$(ONE_THREAD) $(BIN)/python examples/tour.py

explain: $(LIGHT)  ## optimise a drill tour, say what the results say, and draw docs/images/explain.png
	$(ONE_THREAD) $(BIN)/python examples/explain.py --out docs/images/explain.png

GALLERY := order_of_addition compiler_passes warehouse_routing sorting_network botorch_loop optuna_study
examples: $(READY)  ## run the examples of the gallery and draw their pictures in docs/images
	for each in $(GALLERY); do $(ONE_THREAD) $(BIN)/python examples/$$each.py --out docs/images/$$(echo $$each | tr _ -).png || exit 1; done

check: lint  ## check style and types and run the fast tests, in less than a minute
	$(ONE_THREAD) $(BIN)/python -m pytest -q -m 'not slow' tests

test: $(READY)  ## run the whole test suite
	$(ONE_THREAD) $(BIN)/$(PYTEST)

lint: $(READY)  ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)  ## put the code into the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

wheel: $(READY)  ## build the wheel, install it in an environment of its own and try it there
	$(ONE_THREAD) .ci/wheel $(abspath $(BIN))/python

without-torch:  ## run the tests in an environment of its own that has no torch
	$(ONE_THREAD) .ci/without-torch $(PYTHON)

coverage: $(READY)  ## run the tests and fail if less than 95 % of the code is run; takes half as long again
	$(ONE_THREAD) $(BIN)/$(PYTEST) --cov

OLDEST := build/oldest
TESTS ?= tests
oldest: $(READY)  ## run the tests with the oldest versions that pyproject.toml allows; some of them: TESTS=tests/test_cli.py
	$(BIN)/python -m venv --clear $(OLDEST)
	$(BIN)/python .ci/oldest > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check -c $(OLDEST)/constraints.txt \
	  -e '.[all,testing]' ioh pytest-xdist
	@# Old versions call deprecated functions of each other; these warnings are not errors here.
	$(ONE_THREAD) NUMBA_CACHE_DIR=$(abspath $(OLDEST))/numba $(OLDEST)/bin/$(PYTEST) \
	  -W ignore::DeprecationWarning $(TESTS)

SAMPLE ?= 300
mutants: $(READY)  ## change the code of sorting and acquisition in small ways and see that the tests notice (a quarter of an hour)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade --target build/mutants 'mutmut==3.8.0' 'pytest<9.2'
	$(ONE_THREAD) PYTHONPATH=build/mutants $(BIN)/python .ci/mutants $(SAMPLE)

docs: $(READY)  ## build the site in build/site; warnings are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo build/site/index.html

pictures: $(READY)  ## draw the pictures of the docs that explain orders, ranks and merge sort
	$(BIN)/python docs/pictures.py

bench: $(READY)  ## measure speed and memory on one thread; tables, and JSON in benchmarks/results
	for part in sorting problems optimizers auto samplers; do $(ONE_THREAD) $(BIN)/python benchmarks/$$part.py || exit 1; done

RUN := $(BIN)/mergebo bench run --jobs $(JOBS)
LOW := n=(15|20|30|50)
results: $(READY)  ## run what is missing in docs/results (hours, if it is empty) and write its reports again
	$(RUN) --suite paper-low --seeds 0-9 --out docs/results/paper-low
	$(RUN) --suite paper-high --seeds 0-4 --out docs/results/paper-high
	$(RUN) --suite numbering --out docs/results/numbering
	$(RUN) --suite holdout --methods auto,bops-h,random,local-search,genetic --out docs/results/holdout
	$(RUN) --suite holdout --methods mergebo,optuna-tpe --only '$(LOW)' --out docs/results/holdout
	$(RUN) --suite large --methods auto,random,local-search --out docs/results/large
	$(RUN) --suite thief --out docs/results/thief
	for suite in paper-low paper-high numbering holdout large thief; do $(BIN)/mergebo bench report docs/results/$$suite || exit 1; done

clean:  ## remove the virtual environment and everything generated
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
