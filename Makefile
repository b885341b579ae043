# The verbs of Tourney. `make help` lists them.

.DEFAULT_GOAL := help
SHELL := /bin/sh
PYTHON ?= python3
BIN := .venv/bin
RUN_STAMP := .venv/.installed-run
DEV_STAMP := .venv/.installed-dev

help:  ## list the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(RUN_STAMP)  ## start everything: web server, worker, embedded model (Ctrl-C stops it)
	@exec $(BIN)/python manage.py run

test: $(DEV_STAMP)  ## the tests, without those that need minutes, a browser or a cluster
	@$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not embedded and not browser and not schema and not vllm and not faults"

test-embedded: $(DEV_STAMP)  ## battles, a conversation and the notebook of MT-bench on the real embedded model
	@$(BIN)/python -m pytest -m embedded

test-exports: $(RUN_STAMP) .venv-exports/.installed  ## load every exported file with datasets and trl, and train two steps
	@rm -rf .venv-exports/files
	@PYTHONPATH=. $(BIN)/python tests/exports/make.py .venv-exports/files
	@.venv-exports/bin/python tests/exports/check.py .venv-exports/files

test-vllm: $(DEV_STAMP) .venv-vllm/.installed  ## run a real vLLM on the CPU: battle, conversation, MT-bench, sleep, a kill (3.4 GB, minutes)
	@$(BIN)/python -m pytest -m vllm tests/vllm

test-faults: $(DEV_STAMP)  ## kill each part of a cluster under load, and print what people noticed
	@$(BIN)/python -m pytest -m faults tests/faults

loadtest: $(DEV_STAMP)  ## how many people one machine takes, with a cluster of its own on loopback
	@$(BIN)/python -m tests.cluster.loadtest

lint: $(DEV_STAMP)  ## format, types, layers, templates, migrations, API schema
	@$(BIN)/python -m ruff format --check .
	@$(BIN)/python -m ruff check .
	@$(BIN)/python -m mypy
	@$(BIN)/lint-imports
	@git ls-files '*.html' | xargs $(BIN)/djade --check --target-version 5.2
	@$(BIN)/python manage.py makemigrations --check --dry-run
	@$(BIN)/python manage.py spectacular --validate --fail-on-warn --file .venv/openapi.yaml
	@diff -u docs/openapi.yaml .venv/openapi.yaml || { echo "docs/openapi.yaml is out of date: run make docs"; exit 1; }

format: $(DEV_STAMP)  ## bring code and templates into shape
	@$(BIN)/python -m ruff check --fix .
	@$(BIN)/python -m ruff format .
	@git ls-files '*.html' | xargs $(BIN)/djade --target-version 5.2

bench: $(DEV_STAMP)  ## the benchmarks: streaming, adapters, limits, ratings, pairing, exports, imports, refusals, evaluations, injections, experiments, turns
	@$(BIN)/python -m benchmarks.streaming
	@$(BIN)/python -m benchmarks.adapters
	@$(BIN)/python -m benchmarks.limits
	@$(BIN)/python -m benchmarks.evaluations
	@$(BIN)/python -m benchmarks.ratings
	@$(BIN)/python -m benchmarks.pairing
	@$(BIN)/python -m benchmarks.exports
	@$(BIN)/python -m benchmarks.imports
	@$(BIN)/python -m benchmarks.refusals
	@$(BIN)/python -m benchmarks.experiments
	@$(BIN)/python -m benchmarks.turns
	@$(BIN)/python -m benchmarks.injections

docs: $(DEV_STAMP)  ## write docs/openapi.yaml anew from the code
	@$(BIN)/python manage.py spectacular --validate --fail-on-warn --file docs/openapi.yaml

embedded: $(RUN_STAMP)  ## install the embedded model again
	@sh deploy/install.sh embedded

clean:  ## remove what was installed and cached; the data in var/ stays
	rm -rf .venv .venv-exports .venv-vllm .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage htmlcov test-results
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(RUN_STAMP): requirements.txt requirements-embedded.txt deploy/constraints.txt deploy/install.sh
	@PYTHON="$(PYTHON)" sh deploy/install.sh run
	@touch $@

# Several gigabytes, for torch comes with it; so it is no part of make test.
.venv-exports/.installed: tests/exports/requirements.txt
	@$(PYTHON) -m venv --clear .venv-exports
	@.venv-exports/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

.venv-vllm/.installed: deploy/install_vllm.sh
	@PYTHON="$(PYTHON)" sh deploy/install_vllm.sh cpu .venv-vllm
	@touch $@

$(DEV_STAMP): requirements-dev.txt $(RUN_STAMP)
	@PYTHON="$(PYTHON)" sh deploy/install.sh dev
	@touch $@

.PHONY: help run test test-embedded test-exports test-vllm test-faults loadtest lint format bench docs embedded clean
