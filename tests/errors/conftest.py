"""An array for the tests of messages."""

import gpuarray
import pytest


@pytest.fixture
def a(null):
    return gpuarray.zeros((3, 4), "float32", null)
