"""Every row of the case table on every context, on inputs of every layout."""

import zlib

import gpuarray
import gpuarray.compiler as theano
import numpy as np
import pytest
from cases import CASES
from gpuarray.compiler import config

# What a device cannot do is said by the array package's own tests.
pytestmark = pytest.mark.filterwarnings("ignore::gpuarray.HostNotice")


def contiguous(array, context):
    return gpuarray.asarray(array, context=context)


def column_major(array, context):
    return gpuarray.asarray(np.asarray(array, order="F"), context=context)


def backwards(array, context):
    """The axes in reverse, of an array whose axes are in reverse."""
    every = (slice(None, None, -1),) * array.ndim
    return gpuarray.asarray(array[every].copy(), context=context)[every]


def stepped(array, context):
    """Every second element of a longer array, from the second on."""
    wide = np.zeros([2 * length + 1 for length in array.shape], array.dtype)
    inner = (slice(1, None, 2),) * array.ndim
    wide[inner] = array
    return gpuarray.asarray(wide, context=context)[inner]


LAYOUTS = (contiguous, column_major, backwards, stepped)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_op_computes_on_a_device_what_numpy_does(case, context):
    if not context.has_double and any(
        np.dtype(array.dtype) in ("float64", "complex128") for array in case.arrays
    ):
        pytest.skip(f"{context.device_name} has no float64")
    variables = case.variables()
    built = case.build(*variables)
    layout = LAYOUTS[zlib.crc32(case.name.encode()) % len(LAYOUTS)]
    names = f"a->{context.name};b->{context.name}"
    with config.use(device=context.name, contexts=names):
        f = theano.function(variables, built, on_unused_input="ignore")
        found = f(*(layout(array, context) for array in case.arrays))
    expected = case.expected(*case.arrays)
    if not isinstance(expected, tuple):
        found, expected = (found,), (expected,)
    for value, right in zip(found, expected, strict=True):
        assert value.shape == np.shape(right)
        assert value.dtype == np.asarray(right).dtype
        narrow = value.dtype.name in ("float32", "complex64", "float16", "bfloat16")
        rtol, atol = (2e-4, 1e-5) if narrow else (1e-6, 1e-9)
        if value.dtype.kind == "V":
            value, right = value.astype("float32"), np.asarray(right).astype("float32")
            rtol = 2e-2
        np.testing.assert_allclose(value, right, rtol=rtol, atol=atol)
