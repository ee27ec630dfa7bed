# Two commands do everything from a clean clone: `make run` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
SOURCES := pyproject.toml
CAMPAIGN ?= examples/batio3.yaml
PYTEST_ARGS ?= -n 2

.DEFAULT_GOAL := help
.PHONY: help run test lint format benchmarks package clean

help: ## Show what there is to make
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "labenv needs Python 3.11 or newer; name one with 'make PYTHON=/path/to/python3 ...'" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.run: $(VENV)/.made $(SOURCES)
	@echo "Installing labenv into $(VENV) (about a minute the first time) ..."
	$(PIP) install -e '.[bayesian]'
	@touch $@

# torch goes first and pinned, so that a CPU build lying at hand is taken before Stable-Baselines3
# asks for any torch at all.
$(VENV)/.test: $(VENV)/.made $(SOURCES)
	@echo "Installing labenv with its test dependencies into $(VENV) ..."
	$(PIP) install torch==2.13.0
	$(PIP) install -e '.[test,rl,mlip,moe,calphad]'
	@touch $@

# The types of the optional parts can only be checked where those are installed.
$(VENV)/.lint: $(VENV)/.test
	$(PIP) install -e '.[lint]'
	@touch $@

run: $(VENV)/.run ## Run the BaTiO3 campaign on the simulated lab; prints a summary, writes a report
	$(BIN)/labenv run $(CAMPAIGN)

test: $(VENV)/.test ## Run all tests
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(VENV)/.lint ## Check style, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy --python-executable $(BIN)/python
	$(BIN)/pyright --pythonpath $(BIN)/python

format: $(VENV)/.lint ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

benchmarks: $(VENV)/.test ## Measure speed and accuracy, each beside its peer
	for script in benchmarks/*.py; do $(BIN)/python $$script || exit 1; done

package: $(VENV)/.made ## Build the sdist and, from it, the wheel; import the wheel in a bare environment
	$(PIP) install build
	rm -rf dist build/package-check
	$(BIN)/python -m build --outdir dist .
	$(PYTHON) -m venv build/package-check
	build/package-check/bin/python -m pip --disable-pip-version-check --quiet install dist/labenv-*.whl
	cd build && package-check/bin/python -c 'import labenv, labenv_instruments, labenv_schemas'
	cd build && package-check/bin/labenv --help > /dev/null

clean: ## Remove what make made, but no results
	rm -rf $(VENV) build dist
