"""Where a test says no other, functions are compiled for the context, in float32."""

import pytest
from gpuarray.compiler import config
from gpuarray.compiler.function import make


@pytest.fixture
def on_context(context):
    with config.use(floatX="float32", device=context.name):
        yield context


@pytest.fixture
def on_null(request):
    """For what the host computes, where a test does not ask for a context."""
    if "on_context" in request.fixturenames:
        yield
        return
    with config.use(floatX="float32", device="null"):
        yield


@pytest.fixture
def new_plans(monkeypatch):
    """Plans are made anew, by what a test has changed: none is kept on disk."""
    monkeypatch.setattr(make, "key_of", lambda task: None)
