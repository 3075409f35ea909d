"""An error is of every class that NumPy raises for the same call of arrays.

And of the one that Theano raises, where a program of Theano's could rely on it.
"""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import CompilerError, Mode, config, function, grad, shared
from gpuarray.errors import GpuArrayError

VALUES = {
    "A": np.arange(12.0).reshape(3, 4),
    "B": np.arange(12.0).reshape(3, 4) > 3,
    "C": np.arange(24.0).reshape(2, 3, 4),
    "M": np.eye(3),
    "N": np.array([3, 0, 1]),
    "S": np.float64(2.0),
    "V": np.arange(4.0),
    "W": np.arange(5.0),
    "Z": np.arange(12.0).reshape(3, 4) * 1j,
}
"""The arrays of a call, by their names in its text."""

ALONG_AN_AXIS = """
m.sum(A, axis={})
m.prod(A, axis={})
m.mean(A, axis={})
m.max(A, axis={})
m.min(A, axis={})
m.any(A, axis={})
m.all(A, axis={})
m.argmax(A, axis={})
m.argmin(A, axis={})
m.var(A, axis={})
m.std(A, axis={})
m.ptp(A, axis={})
m.cumsum(A, axis={})
m.cumprod(A, axis={})
m.sort(A, axis={})
m.argsort(A, axis={})
m.diff(A, axis={})
m.squeeze(A, axis={})
m.repeat(A, 2, axis={})
m.take(A, [0], axis={})
m.roll(A, 1, axis={})
m.expand_dims(A, {})
m.concatenate([A, A], axis={})
m.stack([A, A], axis={})
m.swapaxes(A, 0, {})
m.moveaxis(A, 0, {})
m.rollaxis(A, {})
m.compress([True], A, axis={})
m.diagonal(A, 0, 0, {})
m.trace(A, 0, 0, {})
m.unique(A, axis={})
m.take_along_axis(A, np.array([[0]]), axis={})
m.tensordot(A, A, axes=[[{}], [0]])
m.transpose(A, (0, {}))
A.sum({})
A.max(axis={})
A.swapaxes(0, {})
A.repeat(2, {})
A.diagonal(0, 0, {})
A.argmax({})
A.cumsum({})
A.sort({})
A.argsort({})
A.transpose(0, {})
"""

CALLS = """
m.transpose(A, (0, 0))
m.transpose(A, (0,))
m.transpose(A, (0, 1, 2))
m.dot(A, A)
m.matmul(A, A)
m.dot(A, W)
m.dot(V, W)
m.inner(V, W)
m.vdot(V, W)
A @ S
m.matmul(S, A)
A @ A
A + W
A * C[:, :2]
m.maximum(V, W)
V < W
m.concatenate([A, V])
m.concatenate([A, C])
m.concatenate([])
m.stack([])
m.stack([V, W])
m.concatenate([A, A.T])
m.stack([A, V])
m.concatenate([S, S])
m.concatenate(A, A)
m.reshape(A, (5, 2))
m.reshape(A, (-1, 5))
m.reshape(A, (-1, -1))
m.reshape(A, 'a')
m.reshape(A, (2.5, 4))
A[5]
A[0, 7]
A[0, 0, 0]
A['a']
A[1.5]
A[[0, 9]]
A[..., ...]
A[N, N, N]
A[B[:2]]
A[B.T]
A[V]
A[::0]
A[1.5:]
A['a':]
S[0]
V[-9]
A[np.array([0.5])]
A[[0, 1], [0, 1, 2]]
m.take(A, 9, axis=0)
m.take(A, [0], mode='no')
m.choose(N, [N, N])
m.choose(A, [A, A])
m.arange('a')
m.arange(0, 1, 0)
m.zeros((-1,))
m.zeros('a')
m.zeros((2.5,))
m.zeros(3, 'nothing')
m.ones(-1)
m.eye(-1)
m.eye('a')
m.linspace(0, 1, -1)
m.identity('a')
m.diag(C)
m.diag(S)
m.diagonal(V)
m.trace(V)
m.diagonal(A, 0, 0, 0)
m.trace(A, 0, 1, 1)
m.tril(S)
m.kron('a', A)
m.outer('a', A)
m.tensordot(A, A, axes=3)
m.tensordot(A, A, axes=1)
m.tensordot(A, A, axes=[[0], [1]])
m.tensordot(A, A, axes=[[0, 1], [0]])
m.repeat(A, -1)
m.repeat(A, [1, 2])
m.repeat(A, 'a')
m.tile(A, -1)
m.tile(A, 'a')
m.tile(A, 1.5)
m.roll(A, 'a')
m.clip(A, 'a', 1)
m.exp('a')
m.exp([1, [2]])
m.bitwise_and(A, A)
A & A
A << A
~A
m.invert(A)
m.floor(Z)
m.ceil(Z)
Z % Z
Z // Z
m.maximum(A, 'a')
A + 'a'
A + None
A ** 'a'
A + {}
A.astype('nothing')
A < 'a'
m.where(A > 0, A, W)
m.broadcast_to(A, (2, 2))
m.broadcast_to(A, (4,))
m.broadcast_to(A, 'a')
m.broadcast_to(A, (-1, 4))
m.squeeze(A, 0)
m.expand_dims(A, (0, 0))
m.moveaxis(A, [0, 1], 0)
m.moveaxis(A, [0, 0], [0, 1])
m.bincount(N - 1)
m.bincount(A)
m.bincount(V)
m.bincount(N, weights=V)
m.bincount(N, minlength=-1)
m.searchsorted(A, 1.0)
m.searchsorted(V, 1.0, side='no')
m.unravel_index(N, (1, 1))
m.unravel_index(V, (2, 2))
m.ravel_multi_index((N, N), (1, 1))
m.ravel_multi_index((N,), (1, 1))
m.compress([True] * 9, V)
m.nonzero(S)
m.sort(A, axis=0, kind='no')
m.sort(S)
m.sum(A, dtype='no')
m.mean(A, dtype='no')
m.max(A[:0])
m.argmax(A[:0])
m.min(A[:0], axis=0)
m.pad(A, -1)
m.pad(A, 'a')
m.pad(A, 1, mode='no')
m.pad(A, ((1, 1),) * 3)
m.pad(A, 1.5)
m.diff(S)
m.diff(A, -1)
m.cumsum(A, axis=7)
m.fill_diagonal(V, 0)
m.fill_diagonal(C, 0)
A.transpose(0, 5)
A.transpose(0, 0)
A.reshape(7)
A.reshape((7, 2))
A.sum(9)
A.max(axis=-3)
A.swapaxes(0, 2)
A.take([40])
A.repeat(2, 5)
A.dot(W)
A.diagonal(0, 0, 3)
A.argmax(4)
A.squeeze(0)
A.cumsum(4)
A.sort(9)
A.argsort(9)
A.choose([A])
A.trace(0, 0, 0)
m.linalg.inv(A)
m.linalg.inv(V)
m.linalg.det(A)
m.linalg.det(V)
m.linalg.eigh(A)
m.linalg.cholesky(A)
m.linalg.solve(M, W)
m.linalg.solve(A, V)
m.linalg.inv(M * 0)
m.linalg.cholesky(-M)
m.linalg.svd(V)
m.linalg.qr(V)
m.linalg.norm(A, ord='no')
m.linalg.norm(A, axis=7)
m.linalg.norm(C, axis=(0, 1, 2))
m.linalg.matrix_power(A, 2)
m.linalg.matrix_power(M, 1.5)
m.linalg.pinv(V)
m.linalg.solve(M * 0, M)
m.linalg.matrix_power(M, 'a')
m.linalg.qr(A, mode='no')
m.linalg.tensorinv(A)
m.linalg.tensorsolve(A, V)
m.linalg.lstsq(A, V)
m.linalg.eigvalsh(A)
m.sum(A, 0, 0, 0, 0, 0, 0, 0, 0, 0)
m.dot(A)
m.exp()
m.exp(A, A, A)
m.add(A)
m.concatenate()
m.zeros()
m.sum(A, axes=0)
A.sum(nothing=1)
m.where(A, A)
m.dot(None, A)
m.exp(None)
m.concatenate([A, None])
m.stack([A, 'a'])
m.put_along_axis(A, np.array([[9]]), 1.0, 1)
m.take_along_axis(A, np.array([0]), 1)
m.take_along_axis(A, np.array([[9]]), 1)
m.take_along_axis(A, np.array([[0.5]]), 1)
m.isclose(A, W)
m.allclose(A, W)
m.outer(A, 'a')
m.cov(C)
m.i0('a')
m.ldexp(A, A)
m.gcd(A, A)
m.left_shift(A, 1)
len(S)
list(S)
m.ptp(A, axis=9)
"""
"""Calls that NumPy refuses: ``m`` is NumPy, or else the compiler's language."""

TAKEN_HERE = {
    "m.diag(C)": "the diagonals of the first two axes, as Theano's",
    "m.fill_diagonal(C, 0)": "lengths are compared by nobody yet",
}
"""Calls that NumPy refuses and the compiler takes, and what it makes of them."""

OF_LENGTHS = {
    "m.linalg.matrix_power(A, 2)": "found by the product, when the program runs",
    "m.linalg.tensorsolve(A, V)": "found by the reshape, when the program runs",
}
"""Errors that are ValueError alone: of lengths that the graph does not know."""

BASES = (
    *(ValueError, IndexError, TypeError, KeyError, ZeroDivisionError),
    np.linalg.LinAlgError,
)


class Language:
    """`T` with its functions of matrices where NumPy has them."""

    class linalg:
        pass

    def __getattr__(self, name):
        return getattr(T, name)


for module in (T.nlinalg, T.slinalg):
    for name in module.__all__:
        setattr(Language.linalg, name, staticmethod(getattr(module, name)))


@pytest.fixture
def on_context(context):
    with config.use(device=context.name):
        yield


def arrays_of(call):
    names = compile(call, "call", "eval").co_names
    return {name: VALUES[name].copy() for name in names if name in VALUES}


def numpys_classes(call):
    """The builtin classes of what NumPy raises."""
    with np.errstate(all="ignore"), pytest.raises(Exception) as told:
        eval(call, {"m": np, "np": np, **arrays_of(call)})
    return tuple(each for each in BASES if isinstance(told.value, each))


def run(call):
    """Compile and run what the call gives."""
    arrays = arrays_of(call)
    symbols = {
        name: T.TensorType(array.dtype.name, (False,) * array.ndim)(name)
        for name, array in arrays.items()
    }
    made = eval(call, {"m": Language(), "np": np, **symbols})
    listed = list(made) if isinstance(made, (list, tuple)) else [made]
    compiled = function(
        list(symbols.values()),
        listed,
        mode=Mode(optimizer=None),
        on_unused_input="ignore",
    )
    return compiled(*arrays.values())


def lines(text):
    return [line for line in text.splitlines() if line]


AXES = [
    call.format(axis)
    for call in lines(ALONG_AN_AXIS)
    for axis in ("5", "-5", "'a'", "1.5")
]


@pytest.mark.parametrize("call", [*AXES, *lines(CALLS)])
@pytest.mark.filterwarnings("ignore::gpuarray.HostNotice")
def test_an_error_is_of_numpys_classes(call, on_context):
    expected = numpys_classes(call)
    assert expected, "NumPy's class is none of BASES"
    if call in TAKEN_HERE:
        run(call)
        return
    with pytest.raises((CompilerError, GpuArrayError, TypeError)) as told:
        run(call)
    if call in OF_LENGTHS:
        expected = (ValueError,)
    missing = [each for each in expected if not isinstance(told.value, each)]
    assert not missing, f"{type(told.value)}: {told.value}"


x, y, c = T.dmatrix("x"), T.dvector("y"), T.dtensor3("c")
i = T.lscalar("i")
VALUE = np.zeros((2, 3))


def result(made, *more, inputs=()):
    return function([x, *inputs], made)(VALUE, *more)


def assign():
    x[0] = 1


THEANOS = {
    "axis of join": (lambda: T.join(5, x, x), IndexError),
    "axis of stack": (lambda: T.stack([x, x], axis=5), IndexError),
    "axis of swapaxes": (lambda: x.swapaxes(0, 5), ValueError),
    "axis of sum": (lambda: x.sum(axis=5), ValueError),
    "axis of dimshuffle": (lambda: x.dimshuffle(0, 1, 5), ValueError),
    "dropped axis": (lambda: x.dimshuffle(0), ValueError),
    "kind of index": (lambda: x[1.5], TypeError),
    "number of indices": (lambda: x[0, 0, 0], IndexError),
    "index of a run": (lambda: result(x[i], 9, inputs=[i]), IndexError),
    "set_subtensor of no part": (lambda: T.set_subtensor(x, 0), TypeError),
    "assignment": (assign, TypeError),
    "cost of axes": (lambda: grad(x, x), TypeError),
    "cost without the variable": (lambda: grad(x.sum(), y), ValueError),
    "no number": (lambda: T.as_tensor_variable("a"), TypeError),
    "dtype": (lambda: T.tensor("no", (False,)), TypeError),
    "dtype of cast": (lambda: T.cast(x, "no"), TypeError),
    "missing input": (lambda: function([y], x), ValueError),
    "input twice": (lambda: function([x, x], x), ValueError),
    "unused input": (lambda: function([x, y], x), ValueError),
    "number of arguments": (lambda: function([x], x)(), TypeError),
    "axes of an argument": (lambda: function([x], x)(VALUE[0]), TypeError),
    "dtype of an argument": (lambda: function([x], x)(VALUE * 1j), TypeError),
    "name of an argument": (lambda: function([x], x)(z=VALUE), TypeError),
    "update of no shared": (lambda: function([x], x, updates=[(x, x)]), TypeError),
    "value of a variable": (lambda: shared(x), TypeError),
    "axes of a value": (lambda: shared(1.0).set_value([1.0]), TypeError),
    "specify_shape": (lambda: result(T.specify_shape(x, (5, 5))), AssertionError),
    "shapes": (lambda: result(x + x.T), ValueError),
    "product": (lambda: result(T.dot(x, x)), ValueError),
    "reshape": (lambda: result(x.reshape((4, 4))), ValueError),
    "axis that does not repeat": (lambda: result(T.addbroadcast(x, 0)), ValueError),
    "condition": (lambda: result(T.opt.Assert()(x, T.any(x))), AssertionError),
    "softmax of integers": (lambda: T.nnet.softmax(T.lmatrix()), ValueError),
    "attribute": (lambda: x.nothing, AttributeError),
}


@pytest.mark.parametrize("name", THEANOS)
def test_an_error_is_of_theanos_class(name, on_context):
    call, expected = THEANOS[name]
    with pytest.raises(expected):
        call()
