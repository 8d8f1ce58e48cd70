# Builds its own virtual environment; needs Python 3.11 or newer and make, and no root.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help demo test test-shielded test-long chaos lint types bench evals docs system pins clean

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
# What Python compiles is kept for the next process, whatever the shell says.
export PYTHONDONTWRITEBYTECODE :=
# Sandbox, browser and Chinese fonts; nothing fails without them.
SYSTEM_PACKAGES := bubblewrap chromium fonts-noto-cjk postgresql

help: ## Show the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml constraints.txt Makefile
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; name it with make PYTHON=/path/to/python3." >&2; exit 1; }
	@echo "Setting up $(VENV) …"
	@$(PYTHON) -m venv $(VENV) || { echo "Python's venv module is incomplete; on Debian and Ubuntu install python3-venv." >&2; exit 1; }
	@$(PIP) install --upgrade pip
	@$(PIP) install --constraint constraints.txt --editable '.[charts,dev,otel,pdf,postgres,s3,server]'
	@touch $@

demo: $(STAMP) ## Run the demonstration
	@$(BIN)/python examples/demo.py

# Who is done takes over tests of others, so that no core waits for the largest file.
DIST = -n auto --maxprocesses 4 --dist worksteal
PYTEST = $(BIN)/python -m pytest $(DIST)

test: $(STAMP) ## Run the tests on all cores (ARGS="-k name" chooses)
	@$(PYTEST) -m "not long and not chaos" $(ARGS)

test-shielded: $(STAMP) ## Run the tests that name a system program or a font as if there were none
	@$(BIN)/python tools/shielded.py $(DIST) -m "not long and not chaos" $(ARGS)

test-long: $(STAMP) ## Run what takes longer: fuzzing, load, floors of quality
	@$(PYTEST) -m "long or hypothesis" --hypothesis-profile thorough $(ARGS)

chaos: $(STAMP) ## Kill and freeze workers for minutes (a quarter of an hour, or more)
	@$(BIN)/python -m pytest -n 0 -m chaos --log-cli-level=WARNING $(ARGS)

lint: $(STAMP) ## Check style and formatting
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check . || { echo "Run $(BIN)/ruff format ." >&2; exit 1; }
	@$(BIN)/python tools/count_tokens.py --sum

types: $(STAMP) ## Check types
	@$(BIN)/mypy --no-error-summary

bench: $(STAMP) ## Measure, and print
	@$(BIN)/python -m benchmarks

evals: $(STAMP) ## Measure quality against evals/floors.json (DATA=folder names the sets)
	@$(BIN)/python -m evals $(if $(DATA),--data $(DATA))

docs: $(STAMP) ## Write docs/reference anew from the code
	@$(BIN)/python tools/make_reference.py

system: ## Install system programs where possible (never fails)
	@missing=""; for package in $(SYSTEM_PACKAGES); do \
		dpkg -s $$package >/dev/null 2>&1 || missing="$$missing $$package"; done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if ! command -v apt-get >/dev/null 2>&1; then \
		echo "Install these with your system's package manager:$$missing"; exit 0; fi; \
	if [ "$$(id -u)" = 0 ]; then as_root=""; \
	elif sudo -n true >/dev/null 2>&1; then as_root="sudo -n"; \
	else echo "Not allowed to install. Please run: sudo apt-get install$$missing"; exit 0; fi; \
	$$as_root apt-get update -qq >/dev/null 2>&1; \
	for package in $$missing; do \
		$$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$package >/dev/null 2>&1 \
			|| echo "Could not install $$package; tests that need it are skipped."; done

pins: ## Write constraints.txt from what is installed in .venv
	@$(BIN)/python tools/pin_versions.py

clean: ## Remove the environment and caches
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
