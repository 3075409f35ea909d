"""The seeds' programs run on the context tested, with floatX=float64 as by default."""

import pytest
from gpuarray.compiler import config


@pytest.fixture
def on_context(context):
    with config.use(floatX="float64", device=context.name):
        yield context
