# `make` alone lists what there is.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help install demo test test-clients check format schemas clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): pyproject.toml sidecar/sessionref/__init__.py
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	@touch $@

install: $(READY) ## make .venv with the program and what its tests need

demo: install ## show the main job on the wire; ROOT=DIR runs it on your own sessions
	@$(BIN)/python examples/demo.py $(if $(ROOT),--root "$(ROOT)")

test: install ## run the tests (Python only)
	@$(BIN)/python -m pytest

test-clients: install ## run the tests of hosts in other languages; needs node, 18 or newer
	@command -v node >/dev/null || { \
		echo "make test-clients: there is no node; install it, 18 or newer (Debian: nodejs)" >&2; \
		exit 1; }
	@SESSIONREF="$(CURDIR)/$(BIN)/sessionref" node --test tests/clients/*.test.mjs

check: install ## format, lint, types, layers, schema drift
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python -m sessionref_protocol --check schemas

format: install ## format the code
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

schemas: install ## generate schemas/ from the types
	@$(BIN)/python -m sessionref_protocol schemas

clean: ## remove everything that was made
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
