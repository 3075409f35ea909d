# make demo: trains the example on a device. make test: the whole suite. make bench: ours and the
# peers that are installed, BENCH='--rows "exp*"' for some rows. CONTEXT=cuda0 picks a device.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BUILD := build/c-tests
SOURCES := $(shell find libgpuarray-py compiler cmake -type f -not -path '*/__pycache__/*') \
           CMakeLists.txt pyproject.toml

.PHONY: demo test bench clean

demo: $(VENV)/.demo
	$(BIN)/python examples/logreg.py $(if $(CONTEXT),--context $(CONTEXT))

test: $(VENV)/.test
	BIN=$(BIN) BUILD=$(BUILD) CONTEXT="$(CONTEXT)" tests/run

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks.run --json build/bench$(if $(CONTEXT),-$(CONTEXT)).json \
	  $(if $(CONTEXT),--context $(CONTEXT)) $(BENCH)

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.demo: $(VENV)/bin/python $(SOURCES)
	@echo "Installing the package and what the example needs: minutes the first time"
	$(BIN)/python -m pip install --quiet --progress-bar=off ".[cpu]" scikit-learn
	touch $@

$(VENV)/.test: $(VENV)/bin/python $(SOURCES)
	@echo "Installing the package and what the tests need: minutes the first time"
	$(BIN)/python -m pip install --quiet --progress-bar=off \
	  --config-settings cmake.define.GPUARRAY_WERROR=ON ".[cpu,test]"
	touch $@

$(VENV)/.bench: $(VENV)/bin/python $(SOURCES)
	@echo "Installing the package and its peers: minutes the first time"
	$(BIN)/python -m pip install --quiet --progress-bar=off ".[cpu,bench]"
	touch $@

clean:
	rm -rf $(VENV) build dist
