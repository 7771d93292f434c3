# make train    train the default GPT and write a sample           ARGS="--model lstm --steps 500"
# make test     run every test                                     ARGS="-k attention -x"
# make fuzz     the fuzz targets of tests/fuzz, long             FUZZ=50
# make lint     ruff, and mypy on an installed copy
# make docs     write docs/ops.md and docs/architecture.svg from the code
# make pages    build the pages of tinytensor/pages from their sources, with node and npm
# make stubs    write the .pyi files, which editors read, from the registry of ops
# make bench    measure beside other frameworks                    ARGS="gpt-S lstm"  ARGS=--quick
# make comparison   six ways to read a sequence: docs/comparison.md   ARGS=--quick
# make gallery  the ten pages to step through, with pictures: docs/gallery
# make clean    delete the environment, builds and caches
#
# Everything happens in $(VENV), made once by $(PYTHON) -m venv. A stamp file for each set of
# packages is newer than pyproject.toml, so a second call installs nothing.

PYTHON ?= python3
VENV ?= .venv
BENCH_VENV ?= build/bench/venv
ARGS ?=
FUZZ ?= 50
PY := $(VENV)/bin/python

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help train test fuzz lint docs pages stubs bench comparison gallery clean install install-test install-dev

help:
	@echo "make train [ARGS=\"--model lstm --data my.txt --steps 500\"]   train a model, show a sample"
	@echo "make test  [ARGS=\"-k attention -x\"]                          run every test"
	@echo "make fuzz  [FUZZ=50]                                         hostile input, fifty times as much"
	@echo "make lint                                                    ruff, then mypy"
	@echo "make docs                                                    write the pages made from code"
	@echo "make pages                                                   build the pages, with node and npm"
	@echo "make stubs                                                   write what editors read of the ops"
	@echo "make bench [ARGS=\"gpt-S lstm\"]                               measure beside PyTorch, JAX, ..."
	@echo "make comparison                                              write docs/comparison.md, measured"
	@echo "make gallery                                                 write docs/gallery, ten pages to step through"
	@echo "make clean                                                   delete $(VENV), builds, caches"
	@echo
	@echo "Other settings: PYTHON=python3.12 (makes the environment), VENV=.venv312 (its folder)."

train: install
	@$(PY) -m tinytensor train $(ARGS)

test: install-test
	@$(PY) -m pytest $(ARGS)

fuzz: install-test
	@TINYTENSOR_FUZZ="$(FUZZ)" $(PY) -m pytest -s tests/fuzz $(ARGS)

lint: install-dev
	@$(PY) -m ruff check .
	@rm -rf build/typecheck build/lib build/bdist.*
	@$(PY) -m pip install --quiet --no-deps --target build/typecheck .
	@cd build/typecheck && $(abspath $(PY)) -m mypy --config-file ../../pyproject.toml -p tinytensor

docs: install
	@$(PY) -c "from tinytensor.explain.page import page; print(page(), end='')" > docs/ops.md
	@$(PY) docs/architecture.py

# In a copy, so that no node_modules lies among the sources.
pages:
	@rm -rf build/pages && mkdir -p build && cp -R tinytensor/pages/src build/pages
	@cd build/pages && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@node build/pages/build.mjs tinytensor/pages/built

stubs: install
	@$(PY) .ci/stubs.py

# The frameworks to compare with have an environment of their own. PyTorch's CPU build is enough:
# where pip would take the large CUDA one, name the index that pytorch.org gives for the CPU, as
# PIP_EXTRA_INDEX_URL.
bench:
	@mkdir -p "$(dir $(BENCH_VENV))"
	@$(MAKE) --no-print-directory install VENV="$(BENCH_VENV)"
	@$(MAKE) --no-print-directory "$(BENCH_VENV)/.installed-bench" VENV="$(BENCH_VENV)"
	@"$(BENCH_VENV)/bin/python" -m benchmarks $(ARGS)

comparison: install
	@$(PY) lessons/comparison.py $(ARGS)

# Graphviz, and Playwright, which takes the pictures, come with these extras; Chromium does not.
gallery: install
	@$(PY) -m pip install --quiet --disable-pip-version-check --editable ".[draw,browser]"
	@$(PY) lessons/gallery.py --pictures $(ARGS)

install: $(VENV)/.installed
install-test: $(VENV)/.installed-test
install-dev: $(VENV)/.installed-dev

# Without the environment's own pip the folder is of no use, hence the removal of half a one.
$(VENV)/.made:
	@command -v "$(PYTHON)" >/dev/null || { \
	  echo "There is no '$(PYTHON)' here: install Python 3.11 or later, or name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "tinytensor needs Python 3.11 or later; '$(PYTHON)' is $$("$(PYTHON)" -V 2>&1). Name another: make PYTHON=python3.12" >&2; exit 1; }
	@echo "Making $(VENV) with $$("$(PYTHON)" -V)"
	@"$(PYTHON)" -m venv "$(VENV)" >"$(VENV).log" 2>&1 && $(PY) -m pip --version >/dev/null 2>&1 || { \
	  cat "$(VENV).log" >&2; rm -rf "$(VENV)" "$(VENV).log"; \
	  echo >&2; \
	  echo "'$(PYTHON) -m venv' failed, most likely because venv or ensurepip is not installed." >&2; \
	  echo "  Debian, Ubuntu:  sudo apt install python3-venv" >&2; \
	  echo "  elsewhere:       a full Python 3.11+ from your system or python.org, then make PYTHON=/path/to/python3" >&2; \
	  exit 1; }
	@rm -f "$(VENV).log"
	@touch $@

$(VENV)/.installed: pyproject.toml | $(VENV)/.made
	@echo "Installing tinytensor into $(VENV)"
	@$(PY) -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed-test: pyproject.toml | $(VENV)/.made
	@echo "Installing tinytensor and what its tests need into $(VENV)"
	@$(PY) -m pip install --quiet --disable-pip-version-check --editable ".[test]"
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-dev: pyproject.toml | $(VENV)/.made
	@echo "Installing tinytensor, ruff and mypy into $(VENV)"
	@$(PY) -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-bench: pyproject.toml | $(VENV)/.installed
	@echo "Installing the frameworks to compare with into $(VENV)"
	@if $(PY) -m benchmarks.install; then touch $@; else echo "The others are measured; the next call tries again."; fi

clean:
	rm -rf $(VENV) $(VENV).log build dist *.egg-info .pytest_cache .hypothesis .mypy_cache .ruff_cache
	find tinytensor nn models train tests -name __pycache__ -type d -prune -exec rm -rf {} +
