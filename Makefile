# `make` alone lists what there is.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
TYPESCRIPT := examples/hosts/typescript
GO := examples/hosts/go
PLUGIN := examples/dsh-plugin
# The program that clients try, and where it keeps what it may forget.
TRIED := SESSIONREF="$(CURDIR)/$(BIN)/sessionref" SESSIONREF_CACHE_DIR="$(CURDIR)/$(VENV)/tmp/cache"
# Nothing is left outside this folder: what pip, Go and the tests would keep elsewhere is kept here.
export PIP_CACHE_DIR := $(CURDIR)/$(VENV)/.pip-cache
export GOCACHE := $(CURDIR)/$(VENV)/.go-cache
export GOPATH := $(CURDIR)/$(VENV)/.go
# Go fetches nothing, no setting of yours decides, and its race detector (which needs C) is there.
export GOENV := off
export GOFLAGS :=
export GOPROXY := off
export GOTOOLCHAIN := local
export CGO_ENABLED := 1

SECONDS ?= 600

.PHONY: help install demo test test-clients test-versions fuzz bench soak check format schemas clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): pyproject.toml sidecar/sessionref/__init__.py
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	@touch $@

install: $(READY) ## make .venv with the program and what its tests need

demo: install ## show the main job on the wire; ROOT=DIR runs it on your own sessions
	@$(BIN)/python examples/demo.py $(if $(ROOT),--root "$(ROOT)")

test: install ## run the tests (Python only); EXPLORE=1 with other examples in each run
	@mkdir -p $(VENV)/tmp
	@TMPDIR=$(CURDIR)/$(VENV)/tmp $(if $(EXPLORE),EXPLORE=1) $(BIN)/python -m pytest

test-clients: install ## run the tests of other hosts and of editors; needs node, nvim, emacs, go, chromium
	@for each in node npm nvim emacs go gcc chromium; do command -v $$each >/dev/null || { \
		echo "make test-clients: there is no $$each; Debian has it all: nodejs npm neovim" \
			"emacs-nox elpa-eglot elpa-markdown-mode golang-go gcc libc6-dev chromium" >&2; \
		exit 1; }; done
	@npm ci --prefix tests/clients --silent --no-fund --no-audit
	@$(TRIED) node --test tests/clients/*.test.mjs
	@npm ci --prefix $(TYPESCRIPT) --silent --no-fund --no-audit
	@npm run --prefix $(TYPESCRIPT) --silent check
	@$(TRIED) npm test --prefix $(TYPESCRIPT) --silent
	@npm ci --prefix $(PLUGIN) --silent --no-fund --no-audit
	@$(TRIED) CHROMIUM="$$(command -v chromium)" npm test --prefix $(PLUGIN) --silent
	@badly="$$(gofmt -l $(GO))" && if test -n "$$badly"; then \
		echo "gofmt would change:" $$badly >&2; exit 1; fi
	@cd $(GO) && go vet ./...
	@mkdir -p $(VENV)/tmp
	@cd $(GO) && TMPDIR="$(CURDIR)/$(VENV)/tmp" $(TRIED) go test -race -count=1 -v ./...

test-versions: ## run the tests on every Python here, with lowest and newest dependencies; ONLY=3.13
	@ONLY="$(ONLY)" PYTHON="$(PYTHON)" .ci/versions

$(VENV)/.ready-to-fuzz: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --group fuzz
	@touch $@

fuzz: $(VENV)/.ready-to-fuzz ## fuzz all that reads bytes of others, SECONDS=600 in all; ONLY=NAME for one
	@PYTHONPATH=tests $(BIN)/python -m fuzz --seconds $(SECONDS) --keep $(VENV)/fuzz \
		$(if $(ONLY),--only $(ONLY))

bench: install ## measure, beside floors; QUICK=1 for a minute's worth, ONLY=NAME for one group
	@$(BIN)/python -m benchmarks $(if $(ONLY),--only $(ONLY)) \
		$(if $(QUICK),--quick,$(if $(ONLY),,--out benchmarks/results))

soak: install ## keep the program busy for SECONDS=600 and see that nothing is lost, or grows
	@$(BIN)/python -m benchmarks.soak --seconds $(SECONDS)

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
	rm -rf tests/clients/node_modules $(TYPESCRIPT)/node_modules $(TYPESCRIPT)/build
	rm -rf $(VENV) .venv-versions benchmarks/.cache .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
