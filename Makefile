# make demo: trains the example on a device. make test: the whole suite. CONTEXT=cuda0 picks a device.

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
	$(BIN)/python benchmarks/run.py $(if $(CONTEXT),--context $(CONTEXT))

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.demo: $(VENV)/bin/python $(SOURCES)
	$(BIN)/python -m pip install --quiet --progress-bar=off ".[cpu]" scikit-learn
	touch $@

$(VENV)/.test: $(VENV)/bin/python $(SOURCES)
	$(BIN)/python -m pip install --quiet --progress-bar=off ".[cpu,test]"
	touch $@

$(VENV)/.bench: $(VENV)/bin/python $(SOURCES)
	$(BIN)/python -m pip install --quiet --progress-bar=off ".[cpu,bench]"
	touch $@

clean:
	rm -rf $(VENV) build dist
