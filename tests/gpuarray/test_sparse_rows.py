"""Rows of sparse matrices that are long, wide, without order or one after another."""

import gpuarray
import numpy as np
import pytest
import scipy.sparse as sp
from gpuarray._native import check, ffi, lib
from judge import assert_same
from scipy.sparse.linalg import spsolve_triangular
from sparse_calls import Matrix, dense_of, read
from test_sparse import UNIQUE, drawn

LENGTHS = 0, 1, 31, 32, 33, 64, 65, 700, 3


def unordered(dtype="float32", columns=400, seed=8):
    """Rows of those lengths, in no order, with duplicates; values tell their place."""
    rng = np.random.default_rng(seed)
    n = sum(LENGTHS)
    indptr = np.cumsum((0, *LENGTHS))
    values = np.arange(1, n + 1).astype(dtype)
    parts = values, rng.integers(0, columns, n), indptr
    return sp.csr_array(parts, (len(LENGTHS), columns))


@pytest.mark.parametrize("index", ["int32", "int64"])
def test_rows_are_sorted_stably(context, index):
    for name, shape in (("csr", (9, 400)), ("csc", (400, 9)), ("coo", (9, 400))):
        rows = unordered()
        host = rows if name == "csr" else rows.T if name == "csc" else rows.tocoo()
        made = Matrix.made(lib.GpuSparse_sort, Matrix.of(host, context, index).struct)
        assert made.flags() == lib.GA_SPARSE_SORTED
        assert made.host().shape == shape
        expected = []
        for begin, end in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
            order = np.argsort(rows.indices[begin:end], kind="stable")
            expected.append(rows.data[begin:end][order])
        assert_same(made.host().data, np.concatenate(expected), exact=True)


def test_long_rows_become_dense(context):
    host = unordered()
    for ordered in (False, True):
        given = host if not ordered else host.sorted_indices()
        matrix = Matrix.of(given, context)
        for order in (0, 1):
            made = dense_of(lib.GpuSparse_to_dense, matrix.struct, order)
            assert_same(made, host.toarray(), exact=True)


def test_products_of_wide_matrices(context):
    """Columns that need one more level of marks, on processors."""
    rng = np.random.default_rng(9)
    wide, n = 2**21, 2**19
    listed = rng.integers(0, 20, n), rng.integers(0, wide, n)
    right = sp.coo_array((rng.integers(1, 4, n).astype("float32"), listed), (20, wide))
    left = drawn((6, 20), 0.3)
    a, b = (Matrix.of(x, context) for x in (left, right.tocsr()))
    made = Matrix.made(lib.GpuSparse_spgemm, a.struct, b.struct)
    assert made.flags() == UNIQUE
    assert abs(made.host() - left @ right.tocsr()).nnz == 0


@pytest.mark.oclgrind
def test_sums_by_halves(context):
    """As plans take them."""
    hosts = [
        drawn((40, 30), density, seed=seed) for seed, density in ((1, 0.2), (2, 0.3))
    ]
    for host in hosts:
        host.sort_indices()
    a, b = (Matrix.of(host, context) for host in hosts)
    found = ffi.gc(ffi.new("GpuArray *"), lib.GpuArray_clear)
    check(lib.GpuSparse_match(found, a.struct, b.struct))
    shared = (hosts[0] * hosts[1]).nnz
    null, rest = ffi.NULL, (found, hosts[0].nnz + hosts[1].nnz - shared)
    total = Matrix.made(lib.GpuSparse_add_fill, a.struct, b.struct, null, null, *rest)
    assert total.flags() == UNIQUE
    assert_same(total.host().toarray(), (hosts[0] + hosts[1]).toarray(), exact=True)
    both = Matrix.made(lib.GpuSparse_multiply_fill, a.struct, b.struct, found, shared)
    assert both.flags() == UNIQUE
    assert_same(both.host().toarray(), (hosts[0] * hosts[1]).toarray(), exact=True)
    args = a.struct, b.struct, lib.GA_SPARSE_GREATER
    combined = Matrix.made(lib.GpuSparse_combine, *args)
    assert_same(combined.host().toarray(), (hosts[0] > hosts[1]).toarray(), exact=True)


def long_rows(rng, rows, columns, n):
    """Most values in a few rows, and thousands of rows without any."""
    at = (rows * rng.random(n) ** 8).astype(int)
    places = at, rng.integers(0, columns, n)
    host = sp.coo_array((np.ones(n, "float32"), places), (rows, columns)).tocsr()
    host.sum_duplicates()
    host.data[:] = rng.random(host.nnz)
    return host


@pytest.mark.parametrize("index", ["int32", "int64"])
def test_sums_of_several_parts(context, index):
    """Long rows are cut, and equal places not."""
    rng = np.random.default_rng(5)
    for rows, columns in ((1, 9000), (3000, 500), (20000, 40)):
        hosts = [long_rows(rng, rows, columns, 5000) for _ in range(2)]
        a, b = (Matrix.of(host, context, index) for host in hosts)
        found = ffi.gc(ffi.new("GpuArray *"), lib.GpuArray_clear)
        check(lib.GpuSparse_match(found, a.struct, b.struct))
        expected = hosts[0] + hosts[1], hosts[0] * hosts[1]
        null = ffi.NULL
        n = hosts[0].nnz + hosts[1].nnz - expected[1].nnz
        args = a.struct, b.struct, null, null, found, n
        made = (
            Matrix.made(lib.GpuSparse_add_fill, *args),
            Matrix.made(lib.GpuSparse_multiply_fill, *args[:2], found, expected[1].nnz),
        )
        for one, host in zip(made, expected, strict=True):
            assert one.flags() == UNIQUE
            for name in ("data", "indices", "indptr"):
                assert np.array_equal(getattr(one.host(), name), getattr(host, name))


def test_flaws_of_merged_rows_are_named(context):
    good = Matrix.of(sp.csr_array(np.eye(3, dtype="float32")), context)
    one = np.ones(3, "float32")
    for indices, indptr, error, text in (
        ([1, 0, 2], [0, 2, 2, 3], gpuarray.BadValue, "not sorted or has duplicates"),
        ([1, 1, 2], [0, 2, 2, 3], gpuarray.BadValue, "not sorted or has duplicates"),
        ([0, 1, 3], [0, 1, 2, 3], gpuarray.BadIndex, "index 3 at place 2"),
        ([0, -1, 2], [0, 1, 2, 3], gpuarray.BadIndex, "index -1 at place 1"),
        ([0, 1, 2], [0, 2, 1, 3], gpuarray.BadValue, "descends from 2 to 1"),
        ([0, 1, 2], [0, 1, 2, 2], gpuarray.BadValue, "indptr is 2 at place 3"),
    ):
        parts = [one, np.array(indices, "int32"), np.array(indptr, "int32")]
        bad = Matrix.set("csr", (3, 3), parts, context)
        for pair in ((good, bad), (bad, good)):
            with pytest.raises(error, match=text):
                Matrix.made(lib.GpuSparse_multiply, *(m.struct for m in pair))


def test_values_out_of_range_count_for_nothing(context):
    values = np.array([1, 2, 4, 8], "float32")
    indices, indptr = np.array([0, 3, 2, -1], "int32"), np.array([0, 2, 3, 4], "int32")
    dense = np.array([[1, 0, 0], [0, 0, 4], [0, 0, 0]], "float32")
    for name in ("csr", "csc"):
        matrix = Matrix.set(name, (3, 3), [values, indices, indptr], context)
        expected = dense if name == "csr" else dense.T
        made = dense_of(lib.GpuSparse_to_dense, matrix.struct, 0)
        assert_same(made, expected, exact=True)
        y = gpuarray.empty(3, "float32", context=context)
        for axis in (0, 1):
            check(lib.GpuSparse_sum(y.struct, matrix.struct, axis))
            assert_same(np.asarray(y), expected.sum(axis), exact=True)
        for shape in (3, (3, 2)):
            x = gpuarray.ones(shape, "float32", context=context)
            product = gpuarray.empty(shape, "float32", context=context)
            call = lib.GpuSparse_matmul
            check(call(product.struct, matrix.struct, x.struct, ffi.NULL, ffi.NULL))
            assert_same(np.asarray(product), expected @ np.asarray(x), exact=True)


def systems():
    """Lower triangular matrices: a chain, blocks of all lengths, one long row."""
    n = 1500
    chain = sp.diags_array([np.full(n, 2.0), np.ones(n - 1)], offsets=[0, -1])
    yield chain.tocsr()
    rng = np.random.default_rng(10)
    some = sp.random_array((n, n), density=0.01, rng=rng)
    yield (sp.tril(some, -1) + 3 * sp.eye_array(n)).tocsr()
    arrow = sp.lil_array((n, n))
    arrow.setdiag(2)
    arrow[:, 0] = 2
    arrow[n - 200, : n - 199] = rng.random(n - 199) + 1
    yield arrow.tocsr()


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_long_triangular_systems(context, dtype):
    rng = np.random.default_rng(11)
    for host in systems():
        host = host.astype(dtype)
        for given, flags in (
            (host, 0),
            (host[::-1, ::-1].tocsr(), lib.GA_SPARSE_UPPER),
        ):
            matrix = Matrix.of(given, context)
            for width in (None, 11):
                shape = (1500,) if width is None else (1500, width)
                b = rng.random(shape).astype(dtype)
                x = gpuarray.asarray(b, context=context)
                check(lib.GpuSparse_solve(x.struct, matrix.struct, flags))
                expected = spsolve_triangular(given, b, flags == 0)
                tolerance = 1e-10 if dtype == "float64" else 1e-4
                assert_same(np.asarray(x), expected.astype(dtype), rtol=tolerance)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_few_columns_by_vectors(context, dtype):
    """Columns in whole vectors, single ones, and what is left; both sides."""
    rng = np.random.default_rng(12)
    host = drawn((70, 90), 0.2, dtype)
    matrix = Matrix.of(host, context)
    turned = Matrix.made(lib.GpuSparse_transpose, matrix.struct)
    for width in (1, 2, 7, 8, 9, 16, 31, 33, 45):
        x = rng.integers(-4, 5, (90, width)).astype(dtype)
        given = gpuarray.asarray(x, context=context)
        for order in ("C", "F"):
            y = gpuarray.ones((70, width), dtype, order=order, context=context)
            for beta, expected in ((0, host @ x), (2, 3 * (host @ x))):
                factors = ffi.NULL, ffi.new("double[2]", [beta, 0])
                args = matrix.struct, given.struct, *factors
                check(lib.GpuSparse_matmul(y.struct, *args))
                assert_same(np.asarray(y), expected, exact=True)
            left = gpuarray.ones((width, 70), dtype, order=order, context=context)
            args = given.T, turned.struct, *factors
            check(lib.GpuSparse_rmatmul(left.struct, args[0].struct, *args[1:]))
            assert_same(np.asarray(left), (host @ x + 2).T.astype(dtype), exact=True)


@pytest.mark.parametrize("dtype", ["bool", "int64", "float32"])
def test_extremes_of_lines(context, dtype):
    """Of stored values alone; nan wins, and lines without values have the identity."""
    host = drawn((30, 40), 0.2, "float64")
    host.data *= np.where(np.arange(host.nnz) % 3, 1, -1)
    host.data = abs(host.data).astype(dtype) if dtype in "bool uint8" else host.data
    host = sp.csr_array((host.data.astype(dtype), host.indices, host.indptr), (30, 40))
    if dtype == "float32":
        host.data[7] = np.nan
    info = np.finfo(dtype) if "float" in dtype else None
    for name, call in (("max", lib.GpuSparse_max), ("min", lib.GpuSparse_min)):
        fold = getattr(np, name)
        if dtype == "bool":
            empty = name == "min"
        elif info:
            empty = -np.inf if name == "max" else np.inf
        else:
            ints = np.iinfo(dtype)
            empty = ints.min if name == "max" else ints.max
        for axis in (0, 1):
            lines = host.tocsc() if axis == 0 else host
            parts = np.split(lines.data, lines.indptr[1:-1])
            expected = [fold(part) if part.size else empty for part in parts]
            matrix = Matrix.of(host, context)
            y = gpuarray.empty(host.shape[1 - axis], dtype, context=context)
            check(call(y.struct, matrix.struct, axis))
            assert_same(np.asarray(y), np.array(expected, dtype), exact=True)


def test_values_are_kept_by_a_mask(context):
    rng = np.random.default_rng(14)
    for shape, density in (
        ((5, 7), 0.4),
        ((300, 200), 0.05),
        ((1, 900), 0.9),
        ((3, 3), 0),
    ):
        for name in ("csr", "csc", "coo"):
            host = drawn(shape, density, format=name)
            matrix = Matrix.of(host, context)
            listed = host.tocoo()
            for mask in (rng.random(host.nnz) < 0.3, np.ones(host.nnz, bool)):
                given = gpuarray.asarray(mask, context=context)
                made = Matrix.made(lib.GpuSparse_keep, matrix.struct, given.struct)
                made.flags()
                expected = sp.coo_array(
                    (listed.data[mask], (listed.row[mask], listed.col[mask])), shape
                )
                assert made.struct.format == matrix.struct.format
                assert_same(made.host().data, listed.data[mask], exact=True)
                assert_same(made.host().toarray(), expected.toarray(), exact=True)
                counts = ffi.gc(ffi.new("GpuArray *"), lib.GpuArray_clear)
                check(lib.GpuSparse_keep_count(counts, matrix.struct, given.struct))
                args = matrix.struct, counts, mask.sum()
                halves = Matrix.made(lib.GpuSparse_keep_fill, *args)
                assert_same(halves.host().toarray(), expected.toarray(), exact=True)
    wrong = gpuarray.ones(3, "bool", context=context)
    matrix = Matrix.of(drawn((5, 7), 0.4), context)
    with pytest.raises(gpuarray.BadValue, match="one for each value"):
        Matrix.made(lib.GpuSparse_keep, matrix.struct, wrong.struct)
    with pytest.raises(gpuarray.BadType, match="mask"):
        Matrix.made(lib.GpuSparse_keep, matrix.struct, matrix_values(matrix, context))


def matrix_values(matrix, context):
    return gpuarray.zeros(
        matrix.struct.values.dimensions[0], "float32", context=context
    ).struct


@pytest.mark.parametrize("dtype", ["bool", "float16", "float64", "complex128"])
def test_values_of_every_size_are_copied(context, dtype):
    """Rows by index, and values by a mask: whole vectors, and what is left of a row."""
    host = unordered()
    host = sp.csr_array(
        (host.data.astype(dtype), host.indices, host.indptr), host.shape
    )
    matrix = Matrix.of(host, context)
    taken = np.array([7, 2, 2, -1, 6, 0])
    indices = gpuarray.asarray(taken, context=context)
    made = Matrix.made(lib.GpuSparse_take, matrix.struct, indices.struct, 0)
    rows = [slice(*host.indptr[i : i + 2]) for i in taken % len(LENGTHS)]
    for got, given in (
        (made.struct.values, host.data),
        (made.struct.indices, host.indices.astype("int32")),
    ):
        expected = np.concatenate([given[row] for row in rows])
        assert_same(read(got), expected.astype(given.dtype), exact=True)
    mask = host.indices % 3 == 0
    given = gpuarray.asarray(mask, context=context)
    kept = Matrix.made(lib.GpuSparse_keep, matrix.struct, given.struct)
    assert_same(read(kept.struct.values), host.data[mask], exact=True)
    host.data[::3] = -0.0
    matrix = Matrix.of(host, context)
    kept = Matrix.made(lib.GpuSparse_keep, matrix.struct, ffi.NULL)
    is_set = host.data != 0
    assert_same(read(kept.struct.values), host.data[is_set], exact=True)
    again = Matrix.made(lib.GpuSparse_keep, kept.struct, ffi.NULL)
    values = (ffi.addressof(matrix.struct.values) for matrix in (again, kept))
    assert lib.GpuArray_share(*values)
