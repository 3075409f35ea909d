"""Calls of the array package, one for each kernel text, dtype and form."""

from __future__ import annotations

import itertools

import gpuarray
import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
from gpuarray._kernels.apply import apply_row
from gpuarray._kernels.codegen import resolve
from gpuarray._native import check, ffi, lib
from gpuarray._random.table import DISTRIBUTIONS
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray.compiler.random import RandomStreams
from gpuarray.compiler.sandbox.rng_mrg import MRG_RandomStreams
from gpuarray.dtypes import DTYPES, as_dtype
from gpuarray.errors import BadType, BadValue
from gpuarray.scalars import SCALARS

MIXED = [
    ("int64", "uint64"),
    ("uint64", "int64"),
    ("float32", "int32"),
    ("float16", "float32"),
    ("float64", "float16"),
    ("uint8", "int8"),
    ("bool", "float32"),
    ("int16", "bool"),
    ("bfloat16", "float32"),
    ("bfloat16", "int8"),
    ("complex64", "float32"),
    ("complex64", "float64"),
    ("int32", "complex64"),
]
NUMBERS = ("bool", "int8", "uint64", "float16", "bfloat16", "float32", "complex64")
FLOATS = ("float16", "float32", "float64")
PRODUCTS = [d for d in DTYPES if d.kind in "fc" or d.name == "bfloat16"]
RANKS = 6


def empty(shape, dtype="float32"):
    """An array on the null device, whose memory nobody touches."""
    return gpuarray.empty(shape, dtype, context="null")


def gaps(ndim, dtype="float32", lengths=(5, 4, 3, 2, 3, 2)):
    """An array of which no two axes are walked as one."""
    return empty([2 * n for n in lengths[:ndim]], dtype)[(slice(None, None, 2),) * ndim]


# ---- elementwise ----


def dtypes_of(arity):
    """The combinations of dtypes that rows of ``arity`` operands are tested on."""
    yield from ((dtype,) * arity for dtype in DTYPES)
    if arity == 2:
        yield from (tuple(map(as_dtype, pair)) for pair in MIXED)
    if arity == 3:
        yield from ((np.dtype(bool), dtype, dtype) for dtype in DTYPES)


def rows():
    """Every row of the table on every dtype, as one block and strided."""
    for row in SCALARS.values():
        for dtypes in dtypes_of(row.arity):
            try:
                resolve(row, dtypes)
            except BadType:
                continue
            apply_row(row, [empty(12, dtype) for dtype in dtypes])
            apply_row(row, [gaps(2, dtype) for dtype in dtypes])


def numbers():
    """Rows of two operands of which one is a Python number."""
    for row in SCALARS.values():
        if row.arity != 2:
            continue
        for dtype, value in itertools.product(NUMBERS, (True, 1, 1.5, 2j)):
            array = empty(12, dtype)
            for pair in ((array, value), (value, array)):
                try:
                    apply_row(row, pair)
                except BadType:
                    continue


def layouts():
    """Every kind of elementwise kernel, of operands of one size and of several."""
    for dtype in ("int8", "float16", "float32", "float64"):
        for ndim in range(1, RANKS + 1):
            a, b = gaps(ndim, dtype), gaps(ndim)
            _ = a + b, a + 2, a + a[:1], b + b.transpose().copy().transpose()
            a *= a[:1]
        square = empty((128, 96), dtype)
        _ = square + square[0], square + square[:, :1], square + square[:1, :1]
        _ = square + empty((96, 128)).T, square[1:, 3:] * 2, square.T + square.T
        cube = empty((64, 64, 64), dtype)
        _ = cube + cube.transpose(2, 1, 0), cube.transpose(1, 2, 0) + empty(64)
        far = empty((2, 2**31), "int8")[:, :: 2**30]  # 64-bit positions
        _ = far + empty((2, 2), dtype), far.astype(dtype), (far > 0).sum(0)
        long = empty((2049, 2048), dtype)
        _ = long + long[:, :1], ((long - long[:, :1]) > 0).sum(1)


def casts():
    """Conversions between all dtypes; copies, fills and assignments of all of them."""
    for target, source in itertools.product(DTYPES, DTYPES):
        flat, strided = empty(30, source), gaps(2, source)
        flat.astype(target), strided.astype(target), strided.T.astype(target)
        gaps(2, target)[...] = flat[:4]
    for dtype in DTYPES:
        for ndim in range(RANKS):
            gaps(ndim, dtype).copy()
        gaps(2, dtype)[...] = 1
        gaps(2, dtype).fill(1)
        gpuarray.full(12, 1, dtype, context="null")


# ---- reductions and products ----


def reductions():
    """Every reduction of every dtype, over rows, columns, all, several axes at once."""
    names = ("sum", "prod", "max", "min", "any", "all", "mean")
    for name, dtype in itertools.product(names, DTYPES):
        for shape in ((2000, 3), (3, 2000), (300, 300)):
            for axis in (None, 0, 1):
                getattr(empty(shape, dtype), name)(axis=axis)
    for name, dtype in itertools.product(("sum", "max"), ("int8", *FLOATS)):
        for axis in (None, 0, 4, (0, 2), (1, 3), (0, 2, 4)):
            getattr(gaps(5, dtype), name)(axis=axis)
    for name, dtype in itertools.product(("argmax", "argmin", "ptp"), DTYPES):
        if name == "ptp" and dtype.kind == "b":
            continue
        for axis in (None, 0, 1):
            getattr(empty((300, 3000), dtype), name)(axis=axis)
            getattr(gaps(3, dtype), name)(axis=axis)
    for name, dtype in itertools.product(("sum", "prod", "mean"), FLOATS):
        getattr(empty((30, 40), "int32"), name)(axis=0, dtype=dtype)
        getattr(empty(2**21, "float16"), name)(dtype=dtype)


def products():
    """Products of matrices and vectors; the null device has no BLAS but ours."""
    for dtype in (*FLOATS, "int32", "bool"):
        a, b = empty((70, 50), dtype), empty((50, 90), dtype)
        _ = a @ b, a.T @ a, b @ b.T, b.T @ a.T, a[::2] @ b[:, ::3]
        _ = a @ b[:, 0], a.T @ a[:, 0], a[0] @ b, a[0] @ b[:, 0]
        _ = empty((3, 4, 5), dtype) @ empty((5, 6), dtype)
    for dtype, n in itertools.product(PRODUCTS, (2304, 1024, 64)):
        a, b = empty((n, 48), dtype), empty((48, n), dtype)
        _ = a @ b, a @ a.T, b.T @ b, b.T @ a.T, a[:, ::2] @ b[::2], a[:9] @ b
        _ = empty((1024, 4096), dtype) @ empty(4096, dtype)
        _ = empty((48, 9000), dtype).T @ empty(48, dtype), a[:9] @ a[0], a.T @ b[0]
        _ = empty(99_999, dtype) @ empty(99_999, dtype)
    for dtype, n in itertools.product(PRODUCTS, (2, 10, 16)):
        a, b = empty((64, 4096), dtype), empty((4096, n), dtype)
        _ = a @ b, a[:, :n] @ b[:64].T


def scans():
    """Scans of every dtype along rows and columns, in one pass and in one tile."""
    for name, dtype in itertools.product(("cumsum", "cumprod", "cummax"), DTYPES):
        if name == "cummax" and dtype.kind == "c":
            continue
        for shape, axis in (((9,), 0), ((2**21,), 0), ((9, 99), 0), ((2**16, 99), 0)):
            getattr(empty(shape, dtype), name)(axis)
        getattr(empty((99, 9), dtype), name)(1)
    for axis in range(5):
        gaps(5).cumsum(axis)
    empty(2**31 + 9, "int8").cumsum(dtype="int8")


def sorts():
    """Sorts of every dtype, of short rows and long ones, and the first few."""
    for dtype, length in itertools.product(DTYPES, (100, 10_000)):
        a = empty((3, length), dtype)
        _ = gpuarray.sort(a), a.argsort(), a.topk(5)
        for other in ("bool", "float16", "float32", "int64"):
            gpuarray.sort_pairs(a, empty((3, length), other))
    _ = empty(2**30 + 9, "int8").argsort()
    _ = gpuarray.random.default_rng(1, "null").permutation(5000)


def picks():
    """Elements by index arrays and masks: all words, types of indices, ranks, modes."""
    signed, unsigned = ("int8", "int16", "int32", "int64"), ("uint8", "uint64")
    one = [empty(7, dtype) for dtype in (*signed, *unsigned)]
    for dtype in (*DTYPES, "complex128"):
        flat, rows, deep = empty(9, dtype), empty((9, 64), dtype), gaps(4, dtype)
        for array, i in itertools.product((flat, rows, rows[:, 1:], deep), one[2:4]):
            _ = array[i], array[..., i]
            array[i] = array[:1]
            array[..., i] = empty((*array.shape[:-1], 7), dtype)
        gpuarray.add_at(rows, one[2], empty((7, 64), dtype))
        gpuarray.add_at(deep, (one[3], one[3]), empty(1, dtype))
        _ = gpuarray.nonzero(flat), gpuarray.nonzero(deep), deep[empty(5, "bool")]
        rows[empty((9, 64), "bool")] = 0
        _ = flat[empty(9, "bool")], deep[empty(deep.shape, "bool")]
        _ = flat[empty(18, "bool")[::2]], deep[gaps(4, "bool") != 0]
        many = empty(500, "int64")
        gpuarray.add_at(rows, many, empty((500, 64), dtype))
        gpuarray.add_at(flat, many, empty(500, dtype), any_order=True)
    for i, mode in itertools.product(one, ("raise", "wrap", "clip")):
        gpuarray.take(rows, i, 0, mode=mode)
        gpuarray.put(flat, i, empty(7, flat.dtype), mode=mode)
    many = gaps(6)[one[0], :, one[1], :, one[2], one[3]]
    many[empty((7, 1), "int32"), empty(3, "int64")] = 1
    far = empty((2**20, 2**12), "int8")  # 64-bit positions
    _ = far[one[2]], far[:, one[2]], gpuarray.nonzero(far)
    far[one[2]] = empty((7, 2**12), "int8")


def numbers_at_random():
    """Random numbers of every dtype, as one block and strided."""
    rng = gpuarray.random.default_rng(1, "null")
    for dtype in DTYPES:
        for out in (empty(9, dtype), gaps(1, dtype), gaps(3, dtype)):
            calls = (
                lambda out: rng.random(out=out),
                lambda out: rng.normal(out=out),
                lambda out: rng.exponential(out=out),
                lambda out: rng.bits(out=out),
                lambda out: rng.integers(0, 2 if out.dtype == bool else 9, out=out),
                lambda out: rng.bernoulli(0.5, out=out),
            )
            for call in calls:
                try:
                    call(out)
                except BadType:
                    continue
    for out in (empty(9, "int64"), gaps(2, "uint64")):
        rng.integers(0, 2**40, out=out)
    rng.random(out=empty((2**20, 2**12), "float32")[:, ::2])


def distributions():
    """Draws from every distribution: in float by scalars, in double by arrays."""
    rng = gpuarray.random.default_rng(1, "null")
    given = {1.0: 1.5}  # zipf's
    for name, row in DISTRIBUTIONS.items():
        single, double = ("f4", "f8") if row.kind == "f" else ("i4", "i8")
        values = [given.get(p.least, 1.0 if p.whole else 0.5) for p in row.parameters]
        rng._draw(name, values, 9, single, None)
        arrays = [empty((3, 1), "f8") for _ in values]
        rng._draw(name, arrays, (3, 4), double, None)


def draws():
    """Draws in elementwise kernels: of both reals, beside arrays of any layout."""
    streams, x = RandomStreams(1), T.matrix("x")
    for name, row in DISTRIBUTIONS.items():
        dtype = x.dtype if row.kind == "f" else "int32"
        parameters = (x[0, 0],) * len(row.parameters)
        drawn = getattr(streams, name)(*parameters, size=x.shape, dtype=dtype)
        theano.function([x], x + drawn)
    for dtype in ("float32", "float64"):
        x = T.TensorType(dtype, (False, False))("x")
        noise = streams.gumbel(size=x.shape, dtype=dtype)
        scores = x + streams.gumbel(size=x.shape, dtype=dtype)
        theano.function([x], [noise.sum(), T.exp(streams.normal(size=x.shape)).mean(0)])
        theano.function([x], [T.argmax(scores, 1), T.nnet.softmax(x + noise)])
        drawn = streams.beta(x, x, dtype=dtype).sum() + streams.gamma(x, x).sum()
        theano.function([x], T.grad(drawn, x))
    mixed = [streams.integers(0, 9, x.shape), streams.normal(size=x.shape)]
    theano.function([x], [sum(mixed) * x.T.sum(), streams.permutation(9)])
    former = MRG_RandomStreams(1)
    results = [former.uniform(x.shape, dtype=dtype) for dtype in FLOATS]
    results += [former.multinomial(n=2, pvals=x), former.choice(2, None, False, x)]
    theano.function([x], results)(np.ones((2, 3), x.dtype))


def searches():
    """Binary searches in vectors of every dtype, and the reductions of variances."""
    for dtype in DTYPES:
        for side in ("left", "right"):
            gpuarray.searchsorted(empty(9, dtype), empty((2, 3), dtype), side)
        for correction in (0, 1, 0.5):
            gpuarray.std(empty((4, 5), dtype), axis=0, correction=correction)
            gpuarray.var(empty((4, 5), dtype), correction=correction)


def sparse_matrices():
    """Sparse matrices of every dtype, and their forms by the lengths of rows."""
    for dtype in DTYPES:
        sparse(dtype, 40, 320)
    for n, width in ((40, 1), (10**6, 1), (10**6, 8), (10**6, 64)):
        sparse("float32", 40, n, width, "int64")


def sparse(dtype, rows, n, width=1, index="int32"):
    """What a matrix of ``n`` values goes through."""
    shape = [empty(n, dtype), empty(n, index), empty(rows + 1, index)]
    a, b, c = [ffi.gc(ffi.new("GpuSparse *"), lib.GpuSparse_clear) for _ in range(3)]
    x, y, d = (
        empty((rows, width), dtype),
        empty((rows, width), dtype),
        empty(rows, dtype),
    )
    dense = ffi.gc(ffi.new("GpuArray *"), lib.GpuArray_clear)
    check(lib.GpuSparse_set(a, 0, rows, rows, *(part.struct for part in shape)))
    check(lib.GpuSparse_matmul(y.struct, a, x.struct, ffi.NULL, ffi.NULL))
    check(lib.GpuSparse_sum(d.struct, a, 1))
    if d.dtype.kind != "c":
        check(lib.GpuSparse_max(d.struct, a, 1))
        check(lib.GpuSparse_min(d.struct, a, 1))
    check(lib.GpuSparse_diagonal(d.struct, a, 0))
    check(lib.GpuSparse_to_dense(dense, a, 0))
    lib.GpuSparse_check(ffi.NULL, a)  # fails: no kernel ran
    check(lib.GpuSparse_convert(b, a, lib.GA_SPARSE_CSC))
    check(lib.GpuSparse_sort(c, b))
    sparse_pairs(a, x, y, d, shape)


def sparse_pairs(a, x, y, d, shape):
    """What is made of two matrices, or of the places of one."""
    out, many = [ffi.gc(ffi.new("GpuSparse *"), lib.GpuSparse_clear) for _ in range(2)]
    counts, other, null = ffi.new("GpuArray[4]"), ffi.new("GpuArray *"), ffi.NULL
    n = shape[0].size
    values, left = empty(n, x.dtype), empty((y.shape[1], x.shape[0]), x.dtype)
    check(lib.GpuSparse_sddmm(values.struct, a, x.struct, left.struct, null, null))
    column = x[:, :1]
    check(lib.GpuSparse_sample(other, a, column.struct))
    if x.dtype.kind in "fc":
        for flags in range(4):
            check(lib.GpuSparse_solve(d.struct, a, flags))
    check(lib.GpuSparse_unique_count(counts, a))
    check(lib.GpuSparse_unique_fill(out, a, counts, n))
    lib.GpuSparse_clear(out)
    kept = ffi.new("GpuArray *")
    check(lib.GpuSparse_keep_count(kept, a, empty(n, "bool").struct))
    check(lib.GpuSparse_keep_fill(out, a, kept, n))
    lib.GpuSparse_clear(out)
    check(lib.GpuSparse_match(counts + 1, a, a))
    check(lib.GpuSparse_add_fill(out, a, a, null, null, counts + 1, n))
    lib.GpuSparse_clear(out)
    check(lib.GpuSparse_multiply_fill(out, a, a, counts + 1, n))
    lib.GpuSparse_clear(out)
    check(lib.GpuSparse_take_count(counts + 2, a, shape[1].struct, 0))
    check(lib.GpuSparse_take_fill(out, a, shape[1].struct, 0, counts + 2, n))
    lib.GpuSparse_clear(out)
    check(lib.GpuSparse_spgemm_count(counts + 3, a, a))
    check(lib.GpuSparse_spgemm_fill(many, a, a, counts + 3, n))
    lib.GpuSparse_clear(many)
    check(lib.GpuSparse_convert(out, a, lib.GA_SPARSE_COO))
    check(lib.GpuSparse_unique_count(other, out))
    check(lib.GpuSparse_unique_fill(many, out, other, n))


def folds():
    """Folds with every row of two operands, and what they do at repeated places."""
    for row in SCALARS.values():
        if row.arity != 2 or not isinstance(row.reference, np.ufunc):
            continue
        function = FUNCTIONS[row.name]
        for dtype in ("int16", "float16", "float32", "complex64"):
            a = empty((4, 5), dtype)
            for call in (
                lambda f=function, a=a: f.reduce(a),
                lambda f=function, a=a: f.reduce(a, where=a != 0, initial=1),
                lambda f=function, a=a: f.accumulate(a),
                lambda f=function, a=a: f.reduceat(a, [0, 2]),
                lambda f=function, a=a: f.at(a.copy(), [0, 0], a[:2]),
            ):
                try:
                    call()
                except (BadType, BadValue):
                    continue


def own():
    """Masks, fused functions, and kernels of users' expressions."""
    fused = gpuarray.fuse(
        lambda x, y: (gpuarray.exp(x * y) + x * x, (x > y) * y, x.astype("float16"))
    )
    product = gpuarray.ElementwiseKernel("T x, T y", "T z", "T t = x; z = t", "own")
    turned = gpuarray.ElementwiseKernel(
        "raw T x, T y", "T z", "z = x[n - 1 - i]", "own"
    )
    norm = gpuarray.ReductionKernel("T x", "T y", "x", "a > b ? a : b", "y = a", "0")
    for dtype in ("int8", "float16", "bfloat16", "float32", "float64"):
        x, y = empty(12, dtype), empty(12, dtype)
        fused(x, y), product(x, y), turned(x, y), norm(x)
        gpuarray.add(x, y, where=x > y)
        gpuarray.add(x, y, where=x > y, out=y)
