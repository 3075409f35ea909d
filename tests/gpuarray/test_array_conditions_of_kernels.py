"""Both sides of conditions in BLAS by its names, own kernels and NumPy's dispatch."""

import gpuarray
import numpy as np
import pytest
from calls import moved
from gpuarray import blas
from gpuarray.errors import BadArgument, BadType, BadValue, GpuArrayError
from judge import assert_same

RANDOM = np.random.default_rng(17)
M, N = RANDOM.normal(size=(3, 4)), RANDOM.normal(size=(4, 2))
X, Y = RANDOM.normal(size=4), RANDOM.normal(size=3)
Z = M + 1j * M[::-1]
STACK, OTHERS = RANDOM.normal(size=(2, 3, 4)), RANDOM.normal(size=(2, 4, 5))


@pytest.fixture
def on(first_context):
    """Arrays on a context."""
    return lambda *hosts: tuple(moved(host, first_context) for host in hosts)


# ---- BLAS by its names ----


def test_products_of_matrices_with_all_their_arguments(on):
    m, n, z = on(M, N, Z)
    for how, stored in (
        (False, Z),
        ("N", Z),
        (True, Z.T),
        ("T", Z.T),
        ("C", Z.conj().T),
    ):
        a, b = on(np.ascontiguousarray(stored), np.ascontiguousarray(Z.T))
        assert_same(gpuarray.gemm(2.0, a, b, trans_a=how), 2 * Z @ Z.T)
        assert_same(gpuarray.gemm(2.0, b, a, trans_b=how), 2 * Z.T @ Z)
    assert_same(gpuarray.gemm(0.5, m, n), 0.5 * M @ N)
    (c,) = on(np.ones((3, 2)))
    made = gpuarray.gemm(1.0, m, n, 2.0, c)
    assert_same(made, M @ N + 2)
    assert_same(c, np.ones((3, 2)))
    assert gpuarray.gemm(1.0, m, n, 2.0, c, overwrite_c=True) is c
    assert_same(c, M @ N + 2)
    assert_same(gpuarray.gemm(1j, z, z, trans_b="C"), 1j * Z @ Z.conj().T)
    s, o = on(STACK, OTHERS)
    assert_same(blas.gemmBatch_3d(2.0, s, o), 2 * STACK @ OTHERS)
    assert_same(blas.gemmBatch_3d(1.0, s, o[:1]), STACK @ OTHERS[:1])
    assert_same(blas.gemmBatch_3d(1.0, s[:1], o), STACK[:1] @ OTHERS)
    assert_same(
        blas.gemmBatch_3d(1.0, s, s, trans_b=True), STACK @ STACK.swapaxes(1, 2)
    )
    assert_same(blas.gemmBatch_3d(1.0, s, s, trans_a="T"), STACK.swapaxes(1, 2) @ STACK)
    (c,) = on(np.ones((2, 3, 5)))
    assert_same(blas.gemmBatch_3d(1.0, s, o, -1.0, c), STACK @ OTHERS - 1)
    assert blas.gemmBatch_3d(1.0, s, o, -1.0, c, overwrite_c=True) is c
    assert_same(c, STACK @ OTHERS - 1)


def test_products_of_vectors_with_all_their_arguments(on):
    m, x, y, z = on(M, X, Y, Z)
    assert_same(blas.dot(x, x), X @ X)
    (out,) = on(np.array(7.0))
    assert_same(blas.dot(x, x, out), X @ X)
    assert float(out) == 7
    assert blas.dot(x, x, out, overwrite_z=True) is out
    assert_same(out, X @ X)
    assert_same(gpuarray.gemv(2.0, m, x), 2 * M @ X)
    assert_same(gpuarray.gemv(2.0, m, y, trans_a=True), 2 * Y @ M)
    assert_same(gpuarray.gemv(1.0, z, on(Y + 0j)[0], trans_a="C"), Z.conj().T @ Y)
    (out,) = on(np.ones(3))
    assert_same(gpuarray.gemv(1.0, m, x, 3.0, out), M @ X + 3)
    assert_same(out, np.ones(3))
    assert gpuarray.gemv(1.0, m, x, 3.0, out, overwrite_y=True) is out
    assert_same(out, M @ X + 3)
    assert_same(gpuarray.ger(2.0, y, x), 2 * np.outer(Y, X))
    (out,) = on(np.ones((3, 4)))
    assert_same(gpuarray.ger(1.0, y, x, out), np.outer(Y, X) + 1)
    assert_same(out, np.ones((3, 4)))
    assert gpuarray.ger(1.0, y, x, out, True) is out
    assert_same(out, np.outer(Y, X) + 1)
    v, w = on(Z[0], Z[1])
    assert_same(gpuarray.ger(1.0, v, w), np.outer(Z[0], Z[1]))
    assert_same(gpuarray.ger(1.0, v, w, conjugate=True), np.outer(Z[0], Z[1].conj()))
    told = M @ N + Y[:2]
    m, n, b = on(M, N, Y[:2].copy())
    assert_same(blas.gemm_bias(m, n, b), told)
    assert_same(blas.gemm_bias(m, n, b, relu=True), np.maximum(told, 0))
    m, n = on(M.T.copy(), N.T.copy())
    assert_same(blas.gemm_bias(m, n, b, trans_a=True, trans_b="T"), told)


def test_products_refuse_what_does_not_fit(on, first_context):
    m, n, x, y, s = on(M, N, X, Y, STACK)
    far = m.transfer("null")
    for call, kind, fact in (
        (lambda: gpuarray.gemm(1.0, m, N), BadType, "gemm: got ndarray.*context='"),
        (lambda: gpuarray.gemm(1.0, M, N), BadType, r"use gpuarray.asarray\(x\)$"),
        (lambda: gpuarray.gemm(1.0, m, far), BadValue, "gemm: the operands are on"),
        (
            lambda: gpuarray.gemm(1.0, m, n, 1.0),
            BadValue,
            "beta is 1.0 and there is no",
        ),
        (lambda: gpuarray.gemm(1.0, m, x), BadType, r"shape \(4,\), expected 2 axes"),
        (lambda: gpuarray.gemm(1.0, s, m), BadType, r"shape \(2, 3, 4\), expected 2"),
        (lambda: gpuarray.gemm(1.0, m, n, 0.0, M), BadType, "gemm: got ndarray"),
        (lambda: gpuarray.gemm(1.0, m, n, trans_a="X"), BadValue, "trans: got 'X'"),
        (lambda: gpuarray.gemm(1.0, m, m), BadValue, "gemm"),
        (lambda: gpuarray.gemv(1.0, m, m), BadType, "expected 1 axis"),
        (lambda: gpuarray.gemv(1.0, x, x), BadType, "gemv: .*expected 2 axes"),
        (lambda: gpuarray.gemv(1.0, m, y), BadValue, "gemv"),
        (lambda: gpuarray.gemv(1.0, m, x, 0, Y), BadType, "gemv: got ndarray"),
        (lambda: gpuarray.gemv(1.0, m, x, 2), BadValue, "gemv: beta is 2"),
        (lambda: blas.dot(x, m), BadType, "dot: .*expected 1 axis"),
        (lambda: blas.dot(m, x), BadType, "dot: .*expected 1 axis"),
        (lambda: blas.dot(x, x, y), BadType, "dot: .*expected 0 axes"),
        (lambda: blas.dot(x, y), BadValue, "dot"),
        (lambda: blas.dot(x, x, X), BadType, "dot: got ndarray"),
        (lambda: gpuarray.ger(1.0, m, x), BadType, "ger: .*expected 1 axis"),
        (lambda: gpuarray.ger(1.0, x, m), BadType, "ger: .*expected 1 axis"),
        (lambda: gpuarray.ger(1.0, x, x, M), BadType, "ger: got ndarray"),
        (lambda: blas.gemmBatch_3d(1.0, s, m), BadType, "expected 3 axes"),
        (lambda: blas.gemmBatch_3d(1.0, m, s), BadType, "expected 3 axes"),
        (lambda: blas.gemmBatch_3d(1.0, s, s, 0.0, M), BadType, "got ndarray"),
        (lambda: blas.gemm_bias(m, n, m), BadType, "gemm_bias: .*expected 1 axis"),
        (lambda: blas.gemm_bias(s, n, x), BadType, "gemm_bias: .*expected 2 axes"),
        (lambda: blas.gemm_bias(m, n, X), BadType, "gemm_bias: got ndarray"),
    ):
        with pytest.raises(kind, match=fact) as caught:
            call()
        assert type(caught.value) is kind


def test_products_of_each_pair_of_dtypes_have_a_kernel(on):
    counts = np.arange(12).reshape(3, 4) % 5
    for one in ("int32", "uint8", "bool", "int64", "float16", "float32", "complex64"):
        for other in ("int32", "uint8", "bool", "float32"):
            a, b = counts.astype(one), counts.T.astype(other)
            made = np.asarray(gpuarray.matmul(*on(a, b)))
            told = a @ b
            assert made.dtype == told.dtype
            np.testing.assert_allclose(made, told, 1e-3)
            vectors = np.asarray(gpuarray.vecdot(*on(a, counts.astype(other))))
            np.testing.assert_allclose(
                vectors, np.vecdot(a, counts.astype(other)), 1e-3
            )


# ---- kernels of one's own ----

TWICE = """
KERNEL void twice(GLOBAL_MEM float *x, ga_size x_off, ga_uint n) {
  x = (GLOBAL_MEM float *)((GLOBAL_MEM char *)x + x_off);
  const ga_uint i = GID_0 * LDIM_0 + LID_0;
  if (i < n) x[i] *= 2;
}
KERNEL void whole(GLOBAL_MEM float *x, ga_uint n) {
  const ga_uint i = GID_0 * LDIM_0 + LID_0;
  if (i < n) x[i] *= 2;
}
"""


def test_a_raw_kernel_takes_views_where_it_is_told_of_their_offset(on, first_context):
    host = np.arange(6, dtype="float32")
    (x,) = on(host)
    twice = gpuarray.RawKernel(TWICE, "twice")
    twice(x[2:], 3, n=4)
    twice(x, x.offset, 1, n=6)
    twice(x, 1, blocks=1, threads=8)
    assert_same(x, np.array([0, 1, 4, 6, 8, 5], "float32"))
    whole = gpuarray.RawKernel(TWICE, "whole", context=first_context)
    whole(x, 2, n=2)
    assert_same(x, np.array([0, 2, 4, 6, 8, 5], "float32"))
    assert repr(whole) == "<gpuarray kernel 'whole'>"
    for call, kind, fact in (
        (lambda: whole(x[1:], 2, n=2), BadValue, "x is a view that begins 4 bytes"),
        (lambda: whole(x, n=2), BadType, "whole: 1 arguments, expected 2: x, n"),
        (lambda: twice(x, n=2), BadType, "twice: 1 arguments, expected 2: x, n"),
        (lambda: twice(x, 0, 1, 2, n=2), BadType, "4 arguments, expected 2: x, n"),
        (lambda: twice(x, x.transfer("null"), 1, n=2), GpuArrayError, ""),
    ):
        with pytest.raises(kind, match=fact or None):
            call()


def test_a_kernel_without_arrays_is_of_the_context_it_is_given(null):
    for given, told in ((None, None), ("null", null), (null, null)):
        kernel = gpuarray.RawKernel("KERNEL void f(ga_uint n) {}", "f", context=given)
        assert kernel.context is told


def test_a_reduction_kernel_has_all_that_its_texts_say(on):
    m, x = on(M, X)
    make = gpuarray.ReductionKernel
    norm = make("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
    for axis, keep in (
        (None, False),
        (0, False),
        (1, True),
        ((0, 1), True),
        (-1, False),
    ):
        told = np.sqrt((M * M).sum(axis, keepdims=keep))
        assert_same(norm(m, axis=axis, keepdims=keep), told)
    out = gpuarray.zeros(4, "float64", m.context)
    assert norm(m, out, axis=0) is out
    assert_same(out, np.sqrt((M * M).sum(0)))
    assert norm(m, out=out, axis=0) is out
    mean = make("T x", "float32 y", "x", "a + b", "y = a / _in_ind.size()", "0",
                reduce_type="float64")  # fmt: skip
    assert_same(mean(m, axis=1), M.mean(1).astype("float32"))
    scaled = make("T x, float64 s", "float64 y", "SCALE(x) * s", "a + b", "y = a / n",
     "0",
                  preamble="#define SCALE(x) (3 * (x))")  # fmt: skip
    assert_same(scaled(m, 0.5), 1.5 * M.mean())
    assert_same(scaled(x, m, axis=0), 3 * (X * M).mean(0))
    assert repr(norm) == "<gpuarray kernel 'norm'>"
    for call, kind, fact in (
        (lambda: make("T x", "T y, T z", "x", "a", "y = a", 0), BadValue, "one output"),
        (lambda: make("", "T y", "1", "a", "y = a", 0), BadValue, "expected inputs"),
        (lambda: make("raw T x", "T y", "1", "a", "y = a", 0), BadValue, "raw param"),
        (lambda: norm(), BadType, "norm: 0 arguments, expected 1"),
        (lambda: norm(2.0), BadType, "norm: no argument is a gpuarray array"),
        (lambda: norm("x"), BadType, "norm: an argument is of str"),
        (lambda: norm(m, out=out), BadValue, r"out has shape \(4,\), expected \(\)"),
        (lambda: norm(m, axis=2), GpuArrayError, "norm: axis 2 is out of bounds"),
        (lambda: norm(m, axis=(0, 0)), BadValue, "norm: an axis is given twice"),
    ):
        with pytest.raises(kind, match=fact):
            call()


# ---- NumPy's functions of our arrays ----


def test_numpys_functions_of_arrays_of_the_device(on):
    m, x = on(M, X)
    assert np.shape(m) == (3, 4)
    assert np.ndim(m) == 2
    assert (np.size(m), np.size(m, 0), np.size(m, 1)) == (12, 3, 4)
    assert (np.iscomplexobj(m), np.isrealobj(m)) == (False, True)
    (z,) = on(Z)
    assert (np.iscomplexobj(z), np.isrealobj(z)) == (True, False)
    assert np.array_repr(x) == repr(x)
    assert np.array_str(x) == str(x)
    assert np.may_share_memory(m, m[1:])
    assert not np.may_share_memory(m, x)
    assert not np.may_share_memory(m, M)
    assert np.shares_memory(m, m[1:, 1:])
    assert not np.shares_memory(m[:, ::2], m[:, 1::2])
    assert np.may_share_memory(m[:, ::2], m[:, 1::2])
    assert not np.shares_memory(m, M)
    assert_same(np.sum(m, axis=0), M.sum(0))
    assert_same(np.linalg.norm(m), np.linalg.norm(M))
    assert_same(np.fft.fft(x), np.fft.fft(X))
    out = gpuarray.zeros((3, 2), "float64", m.context)
    assert np.matmul(m, on(N)[0], out=out) is out
    assert_same(out, M @ N)
    assert_same(np.add(m, 1), M + 1)
    out = gpuarray.zeros(M.shape, "float64", m.context)
    assert np.add(m, 1, out=out) is out
    assert np.spacing(m, out=out) is out
    assert_same(out, np.spacing(M))
    assert_same(np.add.reduce(m, axis=1), M.sum(1))
    assert_same(np.add.outer(x, x), np.add.outer(X, X))
    assert_same(np.power.outer(x * x, x), np.power.outer(X * X, X))
    np.copyto(out, m, where=m > 0)
    assert_same(out, np.where(M > 0, M, np.spacing(M)))
    np.copyto(out, 3)
    assert_same(out, np.full(M.shape, 3.0))
    (whole,) = on(np.zeros(2, int))
    for call, kind, fact in (
        (
            lambda: np.copyto(M.copy(), m),
            BadType,
            "copyto: the array to store in is of ndarray",
        ),
        (lambda: np.copyto(whole, 1.5), BadType, "copyto|second"),
        (lambda: np.add(m, M), BadType, "an operand is a NumPy array of shape"),
        (lambda: np.busday_count(m, m), TypeError, ""),
        (lambda: np.lib.stride_tricks.sliding_window_view(m, 2), GpuArrayError, ""),
    ):
        with pytest.raises(kind, match=fact or None):
            call()
    before = gpuarray.set_implicit_conversion(True)
    try:
        host = M.copy()
        assert np.add(host, m, out=host) is host
        np.testing.assert_array_equal(host, M + M)
        host += m
        np.testing.assert_array_equal(host, M + M + M)
        assert_same(np.multiply(M, m), M * M)
        with pytest.raises(BadType, match="where and a NumPy array as out"):
            np.add(m, m, out=host, where=m > 0)
    finally:
        gpuarray.set_implicit_conversion(before)


def test_functions_along_an_axis(on):
    (a,) = on(STACK)
    for axis in (0, 1, -1):
        for function in (
            lambda v: v.max(),
            lambda v: v[:2] * 2,
            lambda v: v[:, None] + v,
        ):
            made = gpuarray.apply_along_axis(function, axis, a)
            assert_same(made, np.apply_along_axis(function, axis, STACK))
    made = gpuarray.apply_along_axis(lambda v, k, s=1: v.sum() * k * s, 1, a, 2, s=3)
    assert_same(made, STACK.sum(1) * 6)
    (v,) = on(X)
    assert_same(gpuarray.apply_along_axis(lambda v: v.sum(), 0, v), X.sum())
    for axes in ((0, 1), 2, [-1, 0]):
        assert_same(gpuarray.apply_over_axes(gpuarray.sum, a, axes),
                    np.apply_over_axes(np.sum, STACK, axes))  # fmt: skip
    with pytest.raises(BadValue, match=r"shape \(2, 0, 4\) has no vector"):
        gpuarray.apply_along_axis(lambda v: v, 2, a[:, :0])
    with pytest.raises(BadValue, match="an array of 1 axes for one of 3"):
        gpuarray.apply_over_axes(lambda x, axis: x.ravel(), a, 0)
    flat = a.flat
    assert (len(flat), float(flat[5])) == (24, STACK.flat[5])
    assert_same(flat[2:9:3], STACK.flat[2:9:3])
    assert [float(x) for x in a[:1, :1].flat] == list(STACK[0, 0])
    assert_same(flat.copy(), STACK.ravel())
    np.testing.assert_array_equal(np.asarray(flat), STACK.ravel())
    for device, host in ((a, STACK.copy()), (on(STACK)[0].T, STACK.copy().T)):
        device.flat[1:3], host.flat[1:3] = 7, 7
        assert_same(device, host)
        device.flat, host.flat = on(X)[0], X
        assert_same(device, host)
        device.flat = host.flat = 2
        assert_same(device, host)


def test_an_argument_error_says_which_array_is_meant(on):
    m, _ = on(M, X)
    with pytest.raises(
        BadArgument, match=r"sum: out has shape \(3,\), expected \(4,\)"
    ):
        np.sum(m, axis=0, out=gpuarray.zeros(3, "float64", m.context))
