"""Bilinear upsampling of arrays: fractions, layouts and dtypes against NumPy."""

import gpuarray
import numpy as np
import pytest
from gpuarray._nn.upsampling import bilinear_upsampling, upsampling_grad
from gpuarray.errors import BadType, BadValue
from upsampled import interpolated

RTOL = {"float64": 1e-12, "float32": 1e-5, "float16": 4e-3, "bfloat16": 3e-2}
RATIOS = {1: ((1, 1),) * 2, 2: ((2, 1),) * 2, (5, 3): ((5, 3),) * 2}
RATIOS |= {((3, 1), (2, 3)): ((3, 1), (2, 3)), ((4, 6), (7, 2)): ((2, 3), (7, 2))}


def laid_out(host, context):
    """Channels last in memory, rows backwards."""
    packed = np.ascontiguousarray(host.transpose(0, 2, 3, 1)[:, ::-1])
    return gpuarray.asarray(packed, context=context)[:, ::-1].transpose(0, 3, 1, 2)


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("dtype", RTOL)
def test_images_and_their_gradient(ratio, dtype, context):
    random = np.random.default_rng(3)
    for shape in ((2, 3, 4, 5), (1, 1, 1, 9), (2, 0, 3, 3)):
        x = random.normal(size=shape).astype(dtype)
        right = interpolated(x.astype("float64"), *RATIOS[ratio])
        y = bilinear_upsampling(laid_out(x, context), ratio)
        assert str(y.dtype) == dtype
        rtol = RTOL[dtype]
        got = np.asarray(y).astype("float64")
        np.testing.assert_allclose(got, right, rtol, 2 * rtol)
        # the gradient is the transposed map
        g = random.normal(size=y.shape).astype(dtype)
        found = upsampling_grad(laid_out(g, context), shape[2:], ratio)
        assert found.shape == shape
        ones = np.eye(shape[2] * shape[3]).reshape(-1, 1, *shape[2:])
        columns = interpolated(ones, *RATIOS[ratio])[:, 0]
        right = np.einsum("bcyx,iyx->bci", g.astype("float64"), columns).reshape(shape)
        got = np.asarray(found).astype("float64")
        np.testing.assert_allclose(got, right, rtol, 8 * rtol)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda a: bilinear_upsampling(a[0], 2), BadValue, "expected 4 axes"),
        (lambda a: bilinear_upsampling(a, 0), BadValue, "ratio is 0, expected"),
        (lambda a: bilinear_upsampling(a, 1.5), BadType, "ratio is 1.5, expected"),
        (lambda a: bilinear_upsampling(a, (2, 1, 1)), BadType, "expected an integer"),
        (lambda a: bilinear_upsampling(a.astype("int32"), 2), BadType, "int32"),
        (lambda a: upsampling_grad(a, (3, 3), 2), BadValue, r"expected the shape"),
        (lambda a: bilinear_upsampling(np.ones(3), 2), BadType, "got ndarray"),
    ],
)
def test_errors(first_context, call, error, text):
    with pytest.raises(error, match=text):
        call(gpuarray.zeros((1, 1, 2, 2), "float32", device=first_context))
