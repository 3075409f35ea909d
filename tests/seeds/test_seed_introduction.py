"""The programs of the "Introduction" (2011): a network by hand and by expressions."""

import gpuarray.compiler as T
import gpuarray.compiler.tensor as TT
import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("on_context")

BATCH, LR = 60, 0.001


def data():
    rng = np.random.RandomState(1)
    x, y = rng.rand(240, 784), rng.rand(240, 10)
    return x, y, rng.normal(0, 0.1, (784, 500)), rng.normal(0, 0.1, (500, 10))


def in_numpy(steps):
    x, y, w, v = data()
    b, c = np.zeros(500), np.zeros(10)
    errors = []
    for i in range(steps):
        x_i = x[i * BATCH : (i + 1) * BATCH]
        y_i = y[i * BATCH : (i + 1) * BATCH]
        hidout = np.tanh(np.dot(x_i, w) + b)
        outout = np.tanh(np.dot(hidout, v) + c)
        g_outout = outout - y_i
        errors.append(0.5 * np.sum(g_outout**2))
        g_outin = g_outout * (1.0 - outout**2)
        g_hidout = np.dot(g_outin, v.T)
        g_hidin = g_hidout * (1 - hidout**2)
        b -= LR * np.sum(g_hidin, axis=0)
        c -= LR * np.sum(g_outin, axis=0)
        w -= LR * np.dot(x_i.T, g_hidin)
        v -= LR * np.dot(hidout.T, g_outin)
    return errors, [w, b, v, c]


def in_expressions(steps):
    x, y, w_start, v_start = data()

    # symbol declarations
    sx = TT.matrix()
    sy = TT.matrix()
    w = T.shared(w_start)
    b = T.shared(np.zeros(500))
    v = T.shared(v_start)
    c = T.shared(np.zeros(10))

    # symbolic expression-building
    outout = TT.tanh(TT.dot(TT.tanh(TT.dot(sx, w) + b), v) + c)
    err = 0.5 * TT.sum((outout - sy) ** 2)
    gw, gb, gv, gc = TT.grad(err, [w, b, v, c])

    # compile a fast training function
    train = T.function(
        [sx, sy],
        err,
        updates={w: w - LR * gw, b: b - LR * gb, v: v - LR * gv, c: c - LR * gc},
    )

    # now do the computations
    errors = []
    for i in range(steps):
        x_i = x[i * BATCH : (i + 1) * BATCH]
        y_i = y[i * BATCH : (i + 1) * BATCH]
        errors.append(train(x_i, y_i))
    return errors, [each.get_value() for each in (w, b, v, c)]


def test_the_network_in_numpy_and_in_expressions_learn_the_same():
    expected, state = in_numpy(4)
    errors, found = in_expressions(4)
    np.testing.assert_allclose(errors, expected, rtol=1e-9)
    for got, each in zip(found, state, strict=True):
        np.testing.assert_allclose(got, each, rtol=1e-7, atol=1e-9)


def test_arrays_have_the_properties_of_the_slide(on_context):
    import gpuarray

    a = gpuarray.asarray(np.random.RandomState(0).rand(3, 4, 5), context=on_context)
    a32 = a.astype("float32")
    assert (a.ndim, a.shape, a.size) == (3, (3, 4, 5), 60)
    assert (a.dtype, a32.dtype) == ("float64", "float32")
    assert (a.itemsize, a.strides) == (8, (160, 40, 8))
