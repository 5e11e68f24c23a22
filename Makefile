# Everything runs in a virtual environment of its own, .venv, made on first use from Python and this file.
PYTHON ?= python3
SAMPLES ?= 500
VENV := .venv
BIN := $(VENV)/bin
comma := ,
export NUMBA_CACHE_DIR ?= $(CURDIR)/.numba_cache

.PHONY: help core wheel test test-python test-fast test-floor lint types format study bench bench-all bench-kernels bench-speed bench-training peers backends pictures docs clean

help:           ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## */\t/' | expand -t 18

# An editable install is a path to the sources. The build backend adds an import hook, which would not let the
# sources of another checkout come first (PYTHONPATH=src): it is taken out again.
SITE = $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
install = $(BIN)/python -m pip install --quiet $(2) --editable '.[$(1)]' && \
    echo $(CURDIR)/src > $(SITE)/_editable_skbc_softpenalty.pth

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(call install,test)
	@touch $@

# In place, beside its sources: what is installed in .venv is a path to them. Without a compiler, Python it is.
CORE := src/softpenalty/core
$(CORE)/built: $(VENV)/installed CMakeLists.txt $(wildcard $(CORE)/*.pyx $(CORE)/*.pxd)
	$(BIN)/cmake -S . -B build/core -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja \
	    -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python > /dev/null
	$(BIN)/cmake --build build/core
	rm -f $(CORE)/*.so  # whoever has them open keeps them
	cp build/core/*.so $(CORE)
	@touch $@

core: $(CORE)/built  ## build the compiled core in place

wheel: $(VENV)/installed  ## build a wheel: dist/
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

test: lint types  ## lint, check types, run every test, those of the solver with the core and without
	-$(MAKE) core
	$(BIN)/pytest -n 2
	$(MAKE) test-python

test-python: $(VENV)/installed  ## the solver's tests in Python, without the compiled core
	SOFTPENALTY_CORE=python $(BIN)/pytest -n 2 -q -m 'not slow' tests/solve tests/problem src/softpenalty/solve

test-fast: $(VENV)/installed  ## the tests that take seconds
	$(BIN)/pytest -n 2 -m 'not slow'

test-floor:     ## the library with the oldest dependencies that pyproject.toml allows
	$(PYTHON) -m venv .venv-floor
	.venv-floor/bin/python -m pip install --quiet numpy==2.0.* scipy==1.14.* array-api-compat==1.12.* piqp==0.6.0 \
	    pytest hypothesis mpmath cma matplotlib --editable .
	.venv-floor/bin/python -m pytest tests/formulas tests/problem tests/solve 'tests/docs/test_pages.py::test_page[README]'

lint: $(VENV)/installed  ## ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/installed  ## mypy, strict
	$(BIN)/mypy

format: $(VENV)/installed  ## let ruff rewrite what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

study: $(VENV)/installed  ## the paper's study; SAMPLES=50 for a quick look
	$(BIN)/softpenalty study --samples $(SAMPLES)

bench-kernels: $(VENV)/installed  ## speed and accuracy of the penalty functions
	$(BIN)/python benchmarks/speed/kernels.py

bench-speed: $(VENV)/peers core  ## own CPU time beside SLSQP's, NLopt's and others: benchmarks/SPEED.md
	$(BIN)/python -m benchmarks.speed.own_cpu

$(VENV)/peers: $(VENV)/installed
	$(call install,bench)
	@touch $@

peers: $(VENV)/peers  ## add the solvers that the benchmark compares with

bench: $(VENV)/peers  ## side by side with the peers on the Hock-Schittkowski problems: benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks.run --report

bench-all: $(VENV)/peers  ## all solvers, scaled variants, growing problems, and the rest of the collection
	$(BIN)/python -m benchmarks.run --solvers all --variants all
	$(BIN)/python -m benchmarks.run --set scaling --solvers softpenalty,slsqp
	$(BIN)/python -m benchmarks.run --set all --repeat 1 --outside --report

# The version is fixed because its plain CPU build is the one that installs without gigabytes of CUDA; in one
# command, so that nothing that needs PyTorch brings another one.
backends: $(VENV)/installed  ## add PyTorch, JAX and what trains with them, so that no test is skipped
	$(call install,training,'torch==2.13.0')

bench-training: backends  ## constrained training beside Cooper and mdmm: benchmarks/TRAINING.md
	$(BIN)/python -m benchmarks.training

# With PyTorch and JAX, because the reference imports what it describes; in one command, as above.
$(VENV)/docs: $(VENV)/installed
	$(call install,docs$(comma)training,'torch==2.13.0')
	@touch $@

docs: $(VENV)/docs  ## build the site, with every script of the gallery run: build/docs/index.html
	rm -rf build/docs  # no page of yesterday
	$(BIN)/sphinx-build -W --keep-going -q -d build/doctrees docs build/docs
	@echo "The site: build/docs/index.html"

pictures: $(VENV)/installed  ## draw the pictures of README and docs again
	$(BIN)/python docs/pictures.py

clean:          ## remove what the targets made
	rm -rf src/softpenalty/core/built src/softpenalty/core/*.so $(VENV) .venv-floor .numba_cache .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist \
	    docs/gallery docs/generated docs/reference docs/_static/explorer.html
