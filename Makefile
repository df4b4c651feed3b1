# Two commands to know: `make demo` and `make test`. Everything they need goes into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: install demo test check bench bench-growth testenv conformance requirements facts crds deploy clean

install: $(INSTALLED)

demo: $(INSTALLED)
	@$(BIN)/python examples/demo.py

test: check testenv
	@echo "== tests"
	@$(BIN)/python -m pytest

check: $(INSTALLED)
	@echo "== ruff, mypy, import contracts"
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: $(INSTALLED)
	@$(BIN)/python -m bench
	@$(BIN)/python -m bench.members

# What one change costs, against how much there is that did not change.
bench-growth: $(INSTALLED)
	@$(BIN)/python -m bench.growth

# Builds the real Kubernetes, kwok, karmadactl and helm once; says so in one line where it cannot.
testenv: $(INSTALLED)
	@$(BIN)/python -m testenv build
	@$(BIN)/python -m testenv clients

# Runs Kubernetes' own tests, as far as they need no machines, against a plane (or: ON=member, ON=kubernetes).
ON ?= plane
conformance: $(INSTALLED)
	@$(BIN)/python -m testenv.conformance --on $(ON)

# Everything for this checkout; then, of the same versions, what an image needs at run time and to build the wheel.
LOCK := $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-annotate --no-header
requirements:
	@$(LOCK) --group dev pyproject.toml -o requirements.txt
	@$(LOCK) --constraint requirements.txt pyproject.toml -o deploy/requirements.txt
	@$(LOCK) --constraint requirements.txt --group build -o deploy/requirements-build.txt

facts: $(INSTALLED)
	@$(BIN)/python -m scripts.facts

# Prints Karmada's kinds and ours as definitions for a real kube-apiserver.
crds: $(INSTALLED)
	@$(BIN)/python -m scripts.crds

# Writes what of deploy/ follows from the product: definitions, rights, plain manifests.
deploy: $(INSTALLED)
	@$(BIN)/python -m scripts.deploy

clean:
	rm -rf $(VENV)

$(INSTALLED): requirements.txt pyproject.toml
	@echo "== installing into $(VENV) (once)" >&2
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Atoll needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 ...")'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
