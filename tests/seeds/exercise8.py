"""What ops of exercises 8 compute, whichever library they use."""

import gpuarray
import gpuarray.compiler as theano
import numpy


def check_two_matrices(times):
    x, y = theano.tensor.fmatrices("xy")
    f = theano.function([x, y], times(x, y))
    a, b = numpy.random.RandomState(0).rand(2, 20, 10).astype("float32")
    assert numpy.allclose(f(a, b), a * b)


def check_two_outputs(sum_and_difference):
    x, y = theano.tensor.fmatrices("xy")
    total, difference = sum_and_difference(x, y)
    f = theano.function([x, y], [total, difference])
    a, b = numpy.random.RandomState(0).rand(2, 20, 10).astype("float32")
    for got, expected in zip(f(a, b), (a + b, a - b), strict=True):
        assert numpy.allclose(got, expected)
    g = theano.function([x, y], theano.grad((total * difference).sum(), [x, y]))
    for got, expected in zip(g(a, b), (2 * a, -2 * b), strict=True):
        assert numpy.allclose(got, expected, rtol=1e-5)


def check_strides(double, context):
    x = theano.tensor.fmatrix()
    f = theano.function([x], double(x))
    xv = numpy.random.RandomState(0).rand(20, 10).astype("float32")
    ours = gpuarray.asarray(xv, context=context)
    for view in (numpy.s_[:], numpy.s_[1:, ::2], numpy.s_[::-1, 3:], numpy.s_[:0]):
        assert numpy.allclose(f(ours[view]), 2 * xv[view])
    assert numpy.allclose(f(ours.T), 2 * xv.T)
