"""What a user reads who makes a mistake in an expression: class and text."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import (
    CompilerError,
    Constant,
    GpuArrayType,
    Op,
    TensorType,
    shared,
)
from gpuarray.compiler.ops.broadcast.broadcast import Rebroadcast
from gpuarray.compiler.ops.elemwise.elemwise import Cast, Elemwise
from gpuarray.compiler.ops.linalg.linalg import Gemv
from gpuarray.compiler.ops.reduce.reduce import Reduce
from gpuarray.compiler.ops.shape.shape import Shape_i
from gpuarray.compiler.ops.variables.basic import MakeVector
from gpuarray.compiler.ops.variables.transfer import GpuFromHost, GpuToGpu, HostFromGpu
from gpuarray.scalars import SCALARS

x, m, n = T.dvector("x"), T.dmatrix("m"), T.ivector("n")

MISTAKES = [
    (lambda: x + "a", TypeError, "given 'a', a str; expected a variable, a number"),
    (lambda: x + None, TypeError, "given None"),
    (lambda: x + np.array([1, "a"]), TypeError, "expected a variable, a number"),
    (lambda: T.exp(x, x), TypeError, "given 2 operands, expected 1"),
    (lambda: x & 1, TypeError, "bitwise_and: not offered for float64 and int8"),
    (lambda: T.gt(x, 0) - T.gt(x, 0), TypeError, "sub: not offered for bool and bool"),
    (lambda: bool(x > 0), TypeError, r"T.switch\(condition, a, b\)"),
    (lambda: list(x), TypeError, "iteration: the length of x is not known"),
    (lambda: x.dimshuffle(1), ValueError, "axis 1 is not among 1 axes"),
    (lambda: m.dimshuffle(0, 0), ValueError, "an axis stands twice"),
    (lambda: m.dimshuffle(0), ValueError, "leaves out axis 1"),
    (lambda: m.dimshuffle(0, "y"), ValueError, "'y'"),
    (lambda: m.transpose(0), ValueError, "do not name all 2 axes"),
    (lambda: T.transpose(m, 1.5), TypeError, "transpose: axis is 1.5, a float"),
    (lambda: T.transpose(m, [0, "b"]), TypeError, "transpose: axis is 'b', a str"),
    (lambda: m.swapaxes(0, 2), ValueError, "swapaxes: axis 2"),
    (lambda: m.reshape((-1, -1)), ValueError, "at most one is -1"),
    (lambda: T.flatten(m, 1.5), TypeError, "flatten: ndim is 1.5, a float"),
    (lambda: T.shape_padleft(m, "a"), TypeError, "shape_padleft: n_ones is 'a'"),
    (lambda: T.shape_padright(m, "a"), TypeError, "shape_padright: n_ones is 'a'"),
    (lambda: T.atleast_nd(m, "a"), TypeError, "atleast_nd: n is 'a', a str"),
    (lambda: T.tile(m, 2, ndim="a"), TypeError, "tile: ndim is 'a', a str"),
    (lambda: T.as_tensor_variable(m, ndim=1.5), TypeError, "ndim is 1.5, a float"),
    (lambda: T.round(m, [1]), ValueError, "round: mode=.1.; it takes"),
    (lambda: T.pad(m, 1, [1]), ValueError, "pad: mode is .1., expected one of"),
    (lambda: T.cast(m, x), TypeError, "dtype: x is no dtype"),
    (lambda: shared([[1], [2, 3]]), ValueError, "shared: given .*inhomogeneous"),
    (lambda: m.reshape(T.constant([-1, -1])), ValueError, "lengths are not negative"),
    (lambda: m.reshape(T.constant([-2, 3])), ValueError, "lengths are not negative"),
    (lambda: m.reshape((2, -3)), ValueError, "lengths are not negative"),
    (lambda: m.reshape((2.5, 2)), TypeError, "expected integers"),
    (lambda: m.reshape(n), ValueError, "give ndim"),
    (lambda: m.reshape((2, 3), ndim=3), TypeError, "has 2 lengths, expected ndim=3"),
    (lambda: m.flatten(3), ValueError, "flatten: ndim=3 is not between 1 and 2"),
    (lambda: T.broadcast_to(m, (3,)), TypeError, "broadcast_to"),
    (lambda: T.broadcast_to(m, n), ValueError, "give ndim"),
    (lambda: m.sum(axis=2), ValueError, "sum: axis 2 is not among 2 axes"),
    (lambda: m.sum(axis=(0, -2)), ValueError, "sum: an axis stands twice"),
    (lambda: m.sum(axis=0.5), TypeError, r"axis is 0\.5, a float"),
    (lambda: m.mean(dtype="int32"), TypeError, "mean: dtype int32 has no fractions"),
    (lambda: Reduce("sub", (0,)), ValueError, "no reduction folds 'sub'"),
    (lambda: Reduce("add", (2,))(m), ValueError, "are not among 2 axes"),
    (lambda: Gemv()(x, m, n), TypeError, "one dtype"),
    (lambda: Gemv()(n, T.imatrix(), n), TypeError, "expected floats"),
    (lambda: MakeVector()(x, 1), TypeError, "expected scalars"),
    (lambda: Shape_i(1)(x), ValueError, "has no axis 1"),
    (lambda: Rebroadcast((True,))(m), TypeError, "expected 1 axes"),
    (lambda: T.constant(m), TypeError, "no number or array|expected a variable"),
    (lambda: T.constant([1, 2], ndim=0), ValueError, "at most ndim=0"),
    (lambda: T.constant("a"), TypeError, "constant: given 'a'"),
    (lambda: T.vector("x", dtype="float12"), TypeError, "'float12' is no dtype"),
    (lambda: T.vector("x", dtype=object), TypeError, "object is not offered"),
    (lambda: T.vector("x", dtype="U3"), TypeError, "is not offered"),
    (lambda: T.vector(3), TypeError, "the name is 3, expected a string"),
    (lambda: T.constant(1.0, name=3), TypeError, "the name is 3, expected a string"),
    (lambda: shared(1.0, 3), TypeError, "the name is 3, expected a string"),
    (lambda: shared("a", 3), TypeError, "the name is 3, expected a string"),
    (lambda: T.cast(x, "nonsense"), TypeError, "'nonsense' is no dtype"),
    (lambda: Cast("object"), TypeError, "object is not offered"),
    (lambda: T.nonsense, AttributeError, "nonsense"),
    (
        lambda: GpuFromHost()(GpuArrayType("f4", ())()),
        TypeError,
        "an array of the host",
    ),
    (lambda: HostFromGpu()(x), TypeError, "an array of a context"),
    (lambda: GpuToGpu("a")(x), TypeError, "an array of a context"),
    (lambda: GpuArrayType("f4", (), "cpu"), ValueError, "'cpu' is the host"),
    (lambda: TensorType("f4", (False,)).filter(x), TypeError, "given the symbolic x"),
    (lambda: Constant(x.type, np.ones((2, 2))), TypeError, "has 2 axes, expected 1"),
    (lambda: Op()(x), NotImplementedError, "neither infer nor make_node"),
    (lambda: shared(x), TypeError, "given the variable x"),
]


@pytest.mark.parametrize(("mistake", "kind", "text"), MISTAKES)
def test_a_mistake_is_told(mistake, kind, text):
    with pytest.raises(kind, match=text) as caught:
        mistake()
    assert isinstance(caught.value, CompilerError | AttributeError)
    assert len(str(caught.value).splitlines()) <= 15


def test_an_op_without_reference_says_what_to_define():
    class Opaque(Op):
        __props__ = ()

        def infer(self, given):
            return given

    with pytest.raises(NotImplementedError, match=r"define reference\(self"):
        Opaque().reference(np.ones(3))


def test_an_axis_that_does_not_broadcast_does_not_repeat():
    op = Elemwise(SCALARS["add"])
    node = op.make_node(m, T.dmatrix())
    with pytest.raises(ValueError, match=r"\(3, 4\) and \(1, 4\) differ on axis 0"):
        op.evaluate(node, [np.ones((3, 4)), np.ones((1, 4))])
    rebroadcast = Rebroadcast((True, False))
    with pytest.raises(ValueError, match="axis 0 has length 3, expected 1"):
        rebroadcast.reference(np.ones((3, 4)))
    node = T.broadcast_to(m, (3, 4)).owner
    with pytest.raises(ValueError, match="it does not broadcast"):
        node.op.evaluate(node, [np.ones((1, 4)), np.array([3, 4])])
