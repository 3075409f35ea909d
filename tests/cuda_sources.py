"""Makes the library generate its CUDA kernels on the null device, which runs none.

Run by ``test_cuda_sources.py`` with GPUARRAY_DUMP_KERNELS set to a folder: the library
writes every source that it generates there. The null device describes itself as a card,
so these are the sources that CUDA gets.
"""

from __future__ import annotations

import contextlib
import tempfile
from unittest import mock

import check1
import check2
import gpuarray
import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import logreg
import numpy as np
import simple
from cases import CASES
from cuda_arrays import (
    casts,
    distributions,
    draws,
    folds,
    layouts,
    numbers,
    numbers_at_random,
    own,
    picks,
    products,
    reductions,
    rows,
    scans,
    searches,
    sorts,
    sparse_matrices,
)
from cuda_layers import (
    convolutions,
    neighbourhoods,
    normalisations,
    pools,
    samples,
    sequences,
    transforms,
)
from gpuarray._core.context import Context
from gpuarray.compiler.errors import AssertError
from gpuarray.compiler.scan_module import until
from gpuarray.compiler.tensor import fft, nlinalg, slinalg
from gpuarray.errors import BadIndex, LinAlgError
from own_ops import scan_rows, sine_and_cosine, windows

# ---- compiled functions ----


# Cases between places that are not here, and of lengths that only running tells.
ELSEWHERE = ("arange_float", "bincount", "tile_vector", "transfer")


def is_elsewhere(case):
    """Whether a case needs what only running gives; a mask picks nothing here."""
    return case.name.startswith(ELSEWHERE) or "_mask" in case.name


def cases():
    """Each op's test case and its gradient, compiled and run."""
    for case in CASES:
        if is_elsewhere(case):
            continue
        variables = case.variables()
        outputs = case.build(*variables)
        outputs = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
        if case.has_gradient:
            cost = sum(T.sum(T.sqr(output)) for output in outputs)
            real = [v for v in variables if v.dtype.startswith("float")]
            outputs += theano.grad(cost, real, disconnected_inputs="ignore")
        f = theano.function(variables, outputs, on_unused_input="ignore")
        # Of what nothing computed.
        with contextlib.suppress(LinAlgError, AssertError, BadIndex):
            f(*case.arrays)


def kernels_of_ops():
    """Ops of the short way."""
    for dtype in ("float16", "bfloat16", "float32", "float64"):
        x, w = T.tensor(dtype, (False, False)), T.tensor(dtype, (False,))
        matrix, vector = (np.zeros((3,) * v.ndim, v.type.numpy_dtype) for v in (x, w))
        theano.function([w], windows(w, w[:2], 2))(vector)
        theano.function([x], [scan_rows(x), *sine_and_cosine(x)])(matrix)


def totals():
    """The gradients of a layer norm of rows that are long and many.

    With little local memory items have some of the totals in registers.
    """
    for dtype in ("float16", "float32"):
        with theano.config.use(floatX=dtype):
            x, upstream = T.matrix("x"), T.matrix("upstream")
            gain = T.vector("gain")
            centred = x - x.mean(axis=1, keepdims=True)
            scale = T.sqrt(T.sqr(centred).mean(axis=1, keepdims=True) + 1e-3)
            cost = (centred / scale * gain * upstream).sum()
            norm = theano.function([x, upstream, gain], T.grad(cost, [x, gain]))
            matrix = np.zeros((1600, 2100), dtype)
            norm(matrix, matrix, matrix[0])
            matrix = np.zeros((1600, 2104), dtype)
            with mock.patch.object(Context, "local_memory", 8 << 10):
                norm(matrix, matrix, matrix[0])


def loops():
    """Loops in one kernel: of rows that are read ahead, of several ranks, of ends."""
    for dtype in ("float16", "float32", "float64", "int64", "complex64", "bool"):
        x, s = T.tensor(dtype, (False, False)), T.tensor(dtype, (False,))
        out, _ = theano.scan(lambda r, s: s * r, x, s)
        f = theano.function([x, s], [out, out[-1]])
        f(np.zeros((9, 3), x.type.numpy_dtype), np.zeros(3, x.type.numpy_dtype))
        if dtype == "bool":
            continue
        total, _ = theano.scan(lambda r, s, t: [s * r + r, t + s], x, [s, s])
        f = theano.function([x, s], [total[0], total[1][-1]])  # in chunks
        f(np.zeros((2100, 3), x.type.numpy_dtype), np.zeros(3, x.type.numpy_dtype))
    a, b, c = T.scalar(), T.vector(), T.matrix()
    outs, _ = theano.scan(
        lambda a, b, c: ([a + 1, b * a, T.erf(c) - b], until(a > 9)),
        outputs_info=[a, b, c],
        n_steps=20,
    )
    f = theano.function([a, b, c], outs)
    f(0, np.zeros(3, b.dtype), np.zeros((2, 3), c.dtype))
    for fold in (T.sum, T.max, T.mean):
        out, _ = theano.scan(
            lambda s, fold=fold: (s / fold(s), until(T.all(s > 0))),
            outputs_info=b,
            n_steps=9,
        )
        theano.function([b], out[-1])(np.zeros(3, b.dtype))


def examples():
    """The functions of the example programs."""
    train, predict = logreg.build(64, np.random.RandomState(0))
    images, labels = np.zeros((200, 64), "float32"), np.zeros(200, "float32")
    train(images, labels)
    predict(images)
    check1.main(1)
    check2.main(1)
    simple.main()


def perceptron():
    """A training step of a network with a hidden layer, by cross-entropy and decay."""
    random = np.random.RandomState(0)
    x, y = T.matrix("x"), T.matrix("y")
    shapes = [(64, 32), (32,), (32, 10), (10,)]
    weights = [theano.shared(random.randn(*s).astype(x.dtype)) for s in shapes]
    w1, b1, w2, b2 = weights
    for activate in (T.tanh, T.sigmoid):
        scores = T.dot(activate(T.dot(x, w1) + b1), w2) + b2
        e = T.exp(scores - scores.max(axis=1, keepdims=True))
        p = e / e.sum(axis=1, keepdims=True)
        decay = sum((w**2).sum() for w in weights)
        cost = -(y * T.log(p)).sum(axis=1).mean() + 0.001 * decay
        gradients = T.grad(cost, weights)
        step = theano.function(
            [x, y],
            [cost, p.transfer(None)],
            updates=[(w, w - 0.1 * g) for w, g in zip(weights, gradients, strict=True)],
        )
        step(np.zeros((100, 64), x.dtype), np.zeros((100, 10), x.dtype))


def read_convolutions():
    """Convolutions with what alone reads them, by each kernel that computes both."""
    for dtype in ("float16", theano.config.floatX):
        for image, filters, groups in (
            ((2, 9, 18, 18), (16, 9, 3, 3), 1),
            ((1, 256, 4, 4), (8, 256, 3, 3), 1),
            ((2, 4, 18, 18), (4, 1, 3, 3), 4),
        ):
            x, w = T.tensor4("x", dtype=dtype), T.tensor4("w", dtype=dtype)
            b = T.vector("b", dtype=dtype)
            y = T.nnet.conv2d(x, w, num_groups=groups)
            f = theano.function(
                [x, w, b], T.nnet.relu(y + b.dimshuffle("x", 0, "x", "x"))
            )
            f(*(np.zeros(n, dtype) for n in (image, filters, filters[:1])))


def of_files():
    """The library's own factorizations, searches and transforms, which files have."""
    a, z = T.matrix("a"), T.zmatrix("z")
    factorized = [
        result
        for x in (a, z)
        for result in (
            nlinalg.matrix_inverse(x),
            nlinalg.det(x),
            slinalg.cholesky(x),
            nlinalg.qr(x)[0],
            nlinalg.eigh(x)[0],
            nlinalg.svd(x)[0],
            nlinalg.pinv(x),
            slinalg.expm(x),
            nlinalg.eig(x)[0],
        )
    ]
    results = [*factorized, T.extra_ops.searchsorted(a[0], a), fft.rfft(a)]
    with tempfile.TemporaryDirectory() as folder:
        for number, result in enumerate(results):
            path = f"{folder}/{number}"
            f = theano.function([a, z], result, on_unused_input="ignore")
            f.save(path, graph=False)
            loaded = gpuarray.load_function(path, gpuarray.context("null"))
            loaded(np.eye(3, dtype=a.dtype), np.eye(3, dtype=z.dtype))


def main() -> None:
    """Make all sources."""
    gpuarray.context("null").runs_dry = True
    for make in (
        rows,
        numbers,
        layouts,
        casts,
        reductions,
        products,
        scans,
        sorts,
        picks,
        numbers_at_random,
        distributions,
        searches,
        sparse_matrices,
        neighbourhoods,
        sequences,
        transforms,
        convolutions,
        pools,
        normalisations,
        samples,
        folds,
        own,
    ):
        make()
    for float_dtype in ("float32", "float64"):
        with theano.config.use(device="null", floatX=float_dtype):
            for make in (
                cases,
                kernels_of_ops,
                totals,
                examples,
                perceptron,
                read_convolutions,
                loops,
                of_files,
                draws,
            ):
                make()


if __name__ == "__main__":
    main()
