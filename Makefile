# Needs Python >= 3.11 and make; everything else goes into .venv, which is filled once and again when setup.cfg or the
# pinned versions change. `make test PYTHON=python3.12 VENV=.venv-3.12` takes another Python.

.PHONY: help version demo test core check lint types nightly peers engines coverage versions newest constraints bench docs site dist clean
.DEFAULT_GOAL := help

VENV := .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
PY := $(BIN)/python

# The first Python on the PATH that is new enough; `make PYTHON=...` chooses another one.
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in python3 python python3.14 python3.13 python3.12 python3.11; do \
	$$p -c "$(NEW_ENOUGH)" >/dev/null 2>&1 && echo $$p && break; done)
# What is installed comes from here: one file for each Python, `PINS=` for the newest of everything.
VERSION := $(if $(PYTHON),$(shell "$(PYTHON)" -c "import sys; print('%d.%d' % sys.version_info[:2])"))
PINS := $(wildcard .ci/constraints/$(VERSION).txt)
# Bytecode is made for what is imported, when it is first imported, not for all that is installed (6 of 11 s).
PIP := $(PY) -m pip install --quiet --no-compile --disable-pip-version-check $(if $(PINS),--constraint $(PINS))
export PYTHONDONTWRITEBYTECODE :=

help:  ## this list
	@awk -F ':.*  ## ' '/^[a-z]+:.*  ## / {printf "  make %-12s%s\n", $$1, $$2}' Makefile

demo: $(VENV)/demo.stamp  ## gradients and pictures of an example, and a network that learns digits
	$(PY) -m autoflow --demo

test: $(VENV)/dev.stamp  ## everything that CI runs
	$(PYTEST) $(TOGETHER)

core: $(VENV)/test.stamp  ## what depends on the versions of Python and NumPy, in under a minute
	$(PYTEST) $(TOGETHER) -m "not slow and not thorough" $(CORE)

check: $(if $(ROOM),$(VENV)/dev.stamp,lint)  ## for daily work, under two minutes; ROOM=compiler: that room's tests
	$(if $(ROOM),$(if $(OF_ROOM),,$(error no tests of a room '$(ROOM)')))$(PYTEST) $(TOGETHER) -m "not slow" $(OF_ROOM)

lint: $(VENV)/dev.stamp types  ## ruff and mypy
	$(PY) -m ruff check
	$(PY) -m ruff format --check

types: $(VENV)/dev.stamp
	$(PY) -m mypy

nightly: $(VENV)/dev.stamp $(VENV)/nightly.stamp  ## the full sets, with a table of stages at the end
	.ci/nightly $(VENV)

peers:  ## gradients and optimisers beside PyTorch, JAX, autograd and MyGrad, on the CPU; lists what cannot be had
	.ci/peers

engines: $(VENV)/engines.stamp  ## af.data_parallel on loky, Dask, MPI and Zarr
	AUTOFLOW_NIGHTLY=1 $(PYTEST) -n 0 -m engines tests/test_parallel_engines.py

coverage:  ## which lines of autoflow the suite runs, by folder; fails below the floor of setup.cfg
	.ci/coverage

versions:  ## the whole suite on every Python >= 3.11 that is found, and on the oldest NumPy
	.ci/versions test

version:
	@echo $(VERSION)

newest:  ## the whole suite with the newest of everything: what will break? Decides nothing
	rm -rf .venv-newest
	$(MAKE) test VENV=.venv-newest PINS= || echo "These versions break something: see above."
	.venv-newest/bin/python -m pip list --outdated --disable-pip-version-check

constraints:  ## pin the newest versions of everything, for each Python that is found
	"$(PYTHON)" .ci/constraints.py

bench: $(VENV)/bench.stamp  ## times beside the peers
	$(PY) benchmarks/compare.py --markdown
	$(PY) benchmarks/compare.py --markdown --cold
	$(PY) benchmarks/more_workloads.py
	$(PY) benchmarks/more_workloads.py --cold
	$(PY) benchmarks/curves.py

figures:  ## the figures of README.md and docs/speed.md, on a quiet machine, with the peers that are installed: 5 minutes
	$(PY) benchmarks/compare.py --rounds 5 --markdown
	$(PY) benchmarks/more_workloads.py --repeats 12 --impl autoflow compiled llvm torch jax-jit

docs: $(VENV)/docs.stamp  ## the API reference in build/docs, from the docstrings, beginning with docs/tasks.md
	PYTHONPATH=. $(PY) docs/make_api.py build/docs

site: $(VENV)/site.stamp  ## the site in build/site: playground, lessons, documentation. Fetches Pyodide once
	-$(MAKE) --no-print-directory $(VENV)/lab.stamp
	PYTHONPATH=. $(PY) site/make.py build/site

# An egg-info of an earlier build has a list of files, which setuptools would add to those of today.
dist: $(VENV)/release.stamp  ## wheel and sdist in dist, checked; TAG=v0.2.0 make dist: also for that tag
	rm -rf dist build/lib build/bdist.* autoflow.egg-info
	$(PY) -m build --no-isolation
	$(PY) .ci/check_dist.py "$$TAG"

clean:  ## remove whatever can be made again
	rm -rf $(VENV) .venv-* build dist demo *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

# One thread of BLAS in each of the test processes: more would fight for the same cores.
PYTEST := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(PY) -m pytest

# In as many processes as there are processors. Each begins with its share of the files, so that what a file prepares is
# prepared once; who is done takes over from the others.
TOGETHER := -n auto --dist worksteal

# The tests of a room: a folder, or files whose names begin so.
OF_ROOM = $(if $(ROOM),$(wildcard tests/$(ROOM) tests/test_$(ROOM).py tests/test_$(ROOM)_*.py))

# The files of the core suite.
CORE := $(addprefix tests/,$(shell cat .ci/core.txt))

# VENV/NAME.stamp: the extra NAME is installed. (autoflow itself is used from here, not copied.)
$(VENV)/%.stamp: $(VENV)/made.stamp setup.cfg pyproject.toml
	$(PIP) --no-build-isolation --editable ".[$*]"
	@echo done > $@

$(VENV)/made.stamp: $(PINS)
	@test -n "$(PYTHON)" || { echo "autoflow needs Python 3.11 or newer: none found. Try make PYTHON=/path/to/python"; exit 1; }
	$(if $(PINS),,@echo "No pinned versions: the newest are installed.")
	"$(PYTHON)" -m venv $(VENV)
	$(PIP) --upgrade pip setuptools
	@echo done > $@

.PRECIOUS: $(VENV)/%.stamp
