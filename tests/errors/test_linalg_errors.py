"""What a user reads who makes a mistake in products, linear algebra and networks."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from evaluate import evaluate
from gpuarray.compiler import CompilerError, grad
from gpuarray.compiler.ops.linalg.linalg import Dot
from gpuarray.compiler.ops.linalg.products import BatchedDot, BatchedGemm, Ger
from gpuarray.compiler.ops.linalg.solving import Solve
from gpuarray.compiler.ops.nnet.nnet import LogSoftmax, Pick, Spread, pick, spread
from gpuarray.compiler.ops.reduce.argmax import Argmax

x, m, s, t, i = (
    T.dvector("x"),
    T.dmatrix("m"),
    T.dscalar("s"),
    T.dtensor3("t"),
    T.lvector("i"),
)
half = T.matrix("half", dtype="float16")

MISTAKES = [
    (lambda: Dot()(m, s), TypeError, "dot: given s of .*, expected 1 or 2 axes"),
    (lambda: T.matmul(m, s), TypeError, r"matmul: .*a scalar; use a \* b"),
    (lambda: T.tensordot(x, m, 2), ValueError, "tensordot: axes=2 for operands of 1"),
    (lambda: T.tensordot(x, m, "a"), TypeError, "tensordot: axes is 'a'"),
    (lambda: T.tensordot(m, m, [[0], [0, 1]]), ValueError, "1 axes of the first"),
    (lambda: T.tensordot(m, m, [[0, 0], [0, 1]]), ValueError, "they must differ"),
    (lambda: T.tensordot(m, m, [[2], [0]]), ValueError, "axis 2 is not among 2"),
    (lambda: T.batched_tensordot(t, t, [[0], [1]]), ValueError, "are the batch"),
    (lambda: T.batched_tensordot(t, t, 3), ValueError, "axes=3"),
    (lambda: T.batched_tensordot(s, t), TypeError, "expected a batch"),
    (lambda: T.batched_dot(s, t), TypeError, "batched_dot: given s"),
    (lambda: BatchedDot()(m, m), TypeError, "the same number of axes, 3 or more"),
    (lambda: BatchedGemm()(m, m, m), TypeError, r"expected \(3, 3, 3\) axes"),
    (lambda: Ger()(m, x, i), TypeError, "one dtype"),
    (lambda: x.norm("fro"), ValueError, "expected a number for vectors"),
    (lambda: T.nlinalg.norm(m, 3), ValueError, "norm: the order is 3, expected 1"),
    (lambda: T.nlinalg.norm(t, 2), ValueError, r"over the axes \(0, 1, 2\)"),
    (lambda: T.nlinalg.norm(m, axis=2), ValueError, "norm: axis 2 is not among"),
    (lambda: T.nlinalg.det(x), TypeError, "det: given x of .*, expected a matrix"),
    (lambda: T.nlinalg.det(half), TypeError, "det: given half .*: cast it"),
    (lambda: T.nlinalg.eigh(m, "X"), ValueError, "eigh: UPLO is 'X'"),
    (lambda: T.nlinalg.qr(m, "thin"), ValueError, "qr: mode is 'thin'"),
    (lambda: T.nlinalg.lstsq(t, x), TypeError, "lstsq: given .*, expected a matrix"),
    (lambda: T.nlinalg.lstsq(m, x, s), TypeError, "a number that is known now"),
    (lambda: T.nlinalg.matrix_power(m, 1.5), TypeError, "n is 1.5"),
    (lambda: T.nlinalg.matrix_power(x, 2), TypeError, "expected square matrices"),
    (lambda: T.nlinalg.matrix_dot(), TypeError, "given nothing"),
    (lambda: T.nlinalg.tensorinv(t, 3), ValueError, "ind is 3 for 3 axes"),
    (lambda: T.nlinalg.tensorsolve(m, t), ValueError, "expected fewer"),
    (lambda: T.slinalg.cholesky(m, on_error="no"), ValueError, "on_error is 'no'"),
    (lambda: T.slinalg.solve(m, s), TypeError, "expected a matrix and a vector"),
    (lambda: T.slinalg.solve(t, x), TypeError, "matrices on both sides"),
    (lambda: T.slinalg.solve(m, x, "her"), ValueError, "assume_a is 'her'"),
    (lambda: Solve("banded"), ValueError, "A_structure is 'banded'"),
    (lambda: T.fft.rfft(x), TypeError, "rfft: given x .*2 axes or more"),
    (lambda: T.fft.rfft(m, "forward"), ValueError, "rfft: norm is 'forward'"),
    (lambda: T.fft.rfft(half), TypeError, "expected floats"),
    (lambda: T.fft.irfft(m), TypeError, "3 axes or more"),
    (lambda: T.fft.irfft(t, is_odd=2), ValueError, "is_odd is 2"),
    (lambda: T.argmax(m, 2), ValueError, "argmax: axis 2 is not among 2 axes"),
    (lambda: T.argmin(m, (0, 0)), ValueError, "argmin: an axis stands twice"),
    (lambda: Argmax((3,))(m), ValueError, "lacks some of the axes"),
    (lambda: T.nnet.softmax(i), TypeError, "softmax: given i .*expected floats"),
    (lambda: T.nnet.softmax(s), TypeError, "at least 1 axis"),
    (lambda: T.nnet.logsoftmax(m, 2), ValueError, "logsoftmax: axis 2"),
    (lambda: LogSoftmax(2)(m), TypeError, "expected floats that have axis 2"),
    (lambda: pick(m, x), TypeError, "classes, are x .*expected integers of 1 axes"),
    (lambda: pick(s, i), TypeError, "expected rows"),
    (lambda: spread(m, i, 3), TypeError, "expected integers of 2 axes"),
    (
        lambda: T.nnet.categorical_crossentropy(m, t),
        TypeError,
        "a distribution for each row, or a class",
    ),
    (lambda: T.nnet.confusion_matrix(m, i), TypeError, "expected a vector"),
]


@pytest.mark.parametrize(("mistake", "kind", "text"), MISTAKES)
def test_a_mistake_is_told(mistake, kind, text):
    with pytest.raises(kind, match=text) as caught:
        mistake()
    assert isinstance(caught.value, CompilerError)


VALUES = {m: np.ones((3, 4)), i: np.array([0, 4, 1]), x: np.ones(2)}

AT_RUN = [
    (lambda: Pick()(m, i), IndexError, "places from 0 to 4 in rows of 4"),
    (lambda: Pick()(m, i[:2]), ValueError, r"rows of shape \(3, 4\) and places"),
    (lambda: Spread()(x, i[:2], 3), IndexError, "places from 0 to 4"),
    (lambda: Argmax((1,))(m[:, :0]), ValueError, "no elements over axes"),
    (lambda: T.dot(m, x), ValueError, "not aligned"),
    (lambda: T.nlinalg.matrix_inverse(m), np.linalg.LinAlgError, "square"),
    (lambda: T.slinalg.cholesky(-T.dot(m, m.T)), np.linalg.LinAlgError, "definite"),
    (lambda: T.slinalg.solve(T.dot(m, m.T), m), np.linalg.LinAlgError, "[Ss]ingular"),
]


@pytest.mark.parametrize(("build", "kind", "text"), AT_RUN)
def test_a_wrong_value_is_told(build, kind, text):
    with pytest.raises(kind, match=text):
        evaluate(build(), VALUES)


@pytest.mark.parametrize(
    "build",
    [
        lambda: T.real(T.nlinalg.eig(m)[0]).sum(),
        lambda: T.nlinalg.svd(m)[0].sum(),
        lambda: T.nlinalg.qr(m, "complete")[0].sum(),
        lambda: T.nlinalg.lstsq(m, x)[3].sum(),
    ],
)
def test_a_gradient_that_does_not_exist_is_told(build):
    with pytest.raises(NotImplementedError, match="gradient"):
        grad(build(), m)
