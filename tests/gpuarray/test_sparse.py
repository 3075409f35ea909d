"""Sparse matrices of the C library, against scipy's."""

import itertools

import gpuarray
import numpy as np
import pytest
import scipy.sparse as sp
from gpuarray._native import check, ffi, lib
from gpuarray.dtypes import DTYPES, as_dtype
from judge import assert_same
from sparse_calls import FORMATS, Matrix, dense_of

SHAPES = [
    # rows, columns, density
    (5, 7, 0.4),
    (300, 200, 0.05),
    (1, 5000, 0.9),
    (5000, 1, 0.5),
    (0, 4, 0),
    (4, 0, 0),
    (3, 3, 0),
]
UNIQUE = lib.GA_SPARSE_SORTED | lib.GA_SPARSE_UNIQUE


def drawn(shape, density, dtype="float32", format="csr", seed=0):
    """A matrix of small integers, whose values are in no order if it is COO."""
    rng = np.random.default_rng(seed)
    listed = sp.random_array(shape, density=density, format="coo", rng=rng)
    order = rng.permutation(listed.nnz)
    values = rng.integers(1, 5, listed.nnz).astype(dtype)
    places = listed.row[order], listed.col[order]
    return sp.coo_array((values, places), shape).asformat(format)


def scales(*numbers):
    return [ffi.new("double[2]", [number, 0]) for number in numbers]


def drawn_matrices(context):
    """Matrices of every shape, format and index type, with what they are."""
    for rows, columns, density in SHAPES:
        for name in FORMATS:
            host = drawn((rows, columns), density, format=name)
            for index in ("int32", "int64"):
                yield host, Matrix.of(host, context, index)


def test_formats_are_converted(context):
    for host, matrix in drawn_matrices(context):
        dense = host.toarray()
        matrix.flags()
        for number in FORMATS.values():
            other = Matrix.made(lib.GpuSparse_convert, matrix.struct, number)
            other.flags()
            assert other.struct.format == number
            assert_same(other.host().toarray(), dense, exact=True)
            ordered = Matrix.made(lib.GpuSparse_sort, other.struct)
            assert ordered.flags() == UNIQUE
            assert_same(ordered.host().toarray(), dense, exact=True)
        turned = Matrix.made(lib.GpuSparse_transpose, matrix.struct)
        turned.flags()
        assert_same(turned.host().toarray(), dense.T, exact=True)


def test_values_keep_their_order_in_a_row(context):
    rows, columns = np.array([1, 0, 1, 1, 0]), np.array([3, 2, 0, 3, 2])
    host = sp.coo_array((np.arange(5.0, dtype="float32"), (rows, columns)), (2, 4))
    matrix = Matrix.of(host, context)
    compressed = Matrix.made(lib.GpuSparse_convert, matrix.struct, FORMATS["csr"])
    assert compressed.host().data.tolist() == [1, 4, 0, 2, 3]
    assert compressed.flags() == 0
    ordered = Matrix.made(lib.GpuSparse_sort, compressed.struct)
    assert ordered.host().data.tolist() == [1, 4, 2, 0, 3]
    assert ordered.flags() == lib.GA_SPARSE_SORTED


def test_dense(context):
    for host, matrix in drawn_matrices(context):
        dense = host.toarray()
        for order in (0, 1):
            made = dense_of(lib.GpuSparse_to_dense, matrix.struct, order)
            assert_same(made, dense, exact=True)
        array = gpuarray.asarray(np.asfortranarray(dense), context=context)
        s = matrix.struct
        for source in (array, gpuarray.asarray(dense, context=context)):
            index = s.indices.typecode
            args = source.struct, s.format, index
            sparse = Matrix.made(lib.GpuSparse_from_dense, *args)
            assert sparse.flags() == UNIQUE
            assert_same(sparse.host().toarray(), dense, exact=True)


def product(matrix, host, x, context):
    """Both products of a matrix with a dense one, scaled and added to."""
    given, turned = (
        gpuarray.asarray(x, context=context),
        gpuarray.asarray(x.T, context=context),
    )
    result, dtype = (host.toarray() @ x).astype(x.dtype), x.dtype
    y = gpuarray.asarray(np.ones(result.shape, dtype), context=context)
    null = ffi.NULL
    check(lib.GpuSparse_matmul(y.struct, matrix.struct, given.struct, null, null))
    assert_same(np.asarray(y), result, rtol=1e-5)
    two, three = scales(2, 3)
    check(lib.GpuSparse_matmul(y.struct, matrix.struct, given.struct, two, three))
    assert_same(np.asarray(y), ((2 + 3) * result).astype(dtype), rtol=1e-5)
    left = gpuarray.asarray(np.ones(result.T.shape, dtype), context=context)
    other = Matrix.made(lib.GpuSparse_transpose, matrix.struct)
    check(lib.GpuSparse_rmatmul(left.struct, turned.struct, other.struct, null, null))
    assert_same(np.asarray(left), result.T, rtol=1e-5)


def test_products(context):
    rng = np.random.default_rng(1)
    for host, matrix in drawn_matrices(context):
        for width in (None, 1, 3, 70):
            shape = host.shape[1:] if width is None else (host.shape[1], width)
            x = rng.integers(-4, 5, shape).astype("float32")
            product(matrix, host, x, context)
            product(matrix, host, np.asfortranarray(x), context)


def test_long_rows(context):
    host = sp.lil_array((300, 40000), dtype="float32")
    host[7] = np.arange(40000) % 5 + 1
    host[8, 3] = 2
    host[299] = np.arange(40000) % 3 + 1
    host = host.tocsr()
    matrix = Matrix.of(host, context)
    for width in (None, 2):
        shape = (40000,) if width is None else (40000, width)
        x = np.random.default_rng(2).integers(-4, 5, shape).astype("float32")
        product(matrix, host, x, context)


def test_sums_and_diagonals(context):
    for host, matrix in drawn_matrices(context):
        dense = host.toarray()
        for axis in (0, 1):
            y = gpuarray.empty(host.shape[1 - axis], "float32", context=context)
            check(lib.GpuSparse_sum(y.struct, matrix.struct, axis))
            assert_same(np.asarray(y), dense.sum(axis), exact=True)
        for offset in (0, 1, -1, 3, -4):
            inside = -host.shape[0] <= offset <= host.shape[1]
            expected = np.diagonal(dense, offset) if inside else np.zeros(0, "float32")
            y = gpuarray.empty(expected.shape, "float32", context=context)
            check(lib.GpuSparse_diagonal(y.struct, matrix.struct, offset))
            assert_same(np.asarray(y), expected, exact=True)


def test_every_dtype(context):
    for dtype in DTYPES:
        if dtype.name in ("float16", "bfloat16"):
            continue
        host = drawn((40, 30), 0.2, dtype)
        matrix = Matrix.of(host, context)
        x = np.random.default_rng(3).integers(0, 4, 30).astype(dtype)
        product(matrix, host, x, context)
        made = dense_of(lib.GpuSparse_to_dense, matrix.struct, 0)
        assert_same(made, host.toarray(), exact=True)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_types_of_storage(context, dtype):
    dtype = as_dtype(dtype)
    host = drawn((40, 30), 0.2)
    x = np.random.default_rng(3).integers(0, 4, 30).astype("float32")
    parts = [host.data.astype(dtype), host.indices, host.indptr]
    matrix = Matrix.set("csr", host.shape, parts, context)
    y = gpuarray.empty(40, dtype, context=context)
    given = gpuarray.asarray(x.astype(dtype), context=context)
    args = matrix.struct, given.struct, ffi.NULL, ffi.NULL
    check(lib.GpuSparse_matmul(y.struct, *args))
    assert_same(np.asarray(y.astype("float32")), host @ x, rtol=1e-2)


def test_what_is_wrong_is_named(context):
    good = [np.ones(4, "float32"), np.array([0, 2, 1, 1]), np.array([0, 2, 2, 4])]

    def refused(change, text, format="csr", shape=(3, 3)):
        parts = [part.copy() for part in good]
        change(parts)
        parts[1:] = [part.astype("int32") for part in parts[1:]]
        matrix = Matrix.set(format, shape, parts, context)
        with pytest.raises((gpuarray.BadIndex, gpuarray.BadValue), match=text):
            matrix.flags()

    refused(lambda p: p[1].__setitem__(2, 3), "index 3 at place 2 is out of 3 columns")
    refused(lambda p: p[1].__setitem__(0, -1), "index -1 at place 0 is out of 3 col")
    refused(
        lambda p: p[1].__setitem__(0, 5), "index 5 at place 0 is out of 3 rows", "csc"
    )
    refused(lambda p: p[2].__setitem__(1, 3), "indptr descends from 3 to 2 at place 2")
    refused(lambda p: p[2].__setitem__(3, 3), "indptr is 3 at place 3, expected 4")
    refused(lambda p: p[2].__setitem__(0, 1), "indptr is 1 at place 0, expected 0")
    refused(lambda p: None, "index 4 at place 3 is out of 3 rows", "coo")


def told(indptr, indices):
    """The flags of compressed rows, by NumPy."""
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    within = rows[1:] == rows[:-1]
    steps = np.diff(np.asarray(indices, "int64"))[within]
    is_sorted = bool(np.all(steps >= 0))
    return is_sorted * lib.GA_SPARSE_SORTED | bool(np.all(steps > 0)) * UNIQUE


def test_flags_are_told_of_rows_that_begin_anywhere(context):
    rng = np.random.default_rng(3)
    seen = set()
    for rows, most, columns in (
        (1, 9, 40),
        (50, 1, 9),
        (900, 4, 300),
        (40, 300, 10**6),
    ):
        for turn in range(6):
            lengths = rng.integers(0, most + 1, rows) * (rng.random(rows) < 0.7)
            indptr = np.concatenate([[0], np.cumsum(lengths)])
            indices = rng.integers(0, columns, indptr[-1])
            for row in range(rows) if turn < 4 else ():
                indices[indptr[row] : indptr[row + 1]].sort()
            if turn < 2:  # duplicates only by chance
                indices = (np.arange(indptr[-1]) * 7) % columns
                for row in range(rows):
                    indices[indptr[row] : indptr[row + 1]].sort()
            for index in ("int32", "int64"):
                parts = np.zeros(indptr[-1], "float32"), indices, indptr
                parts = [parts[0], *(part.astype(index) for part in parts[1:])]
                matrix = Matrix.set("csr", (rows, columns), parts, context)
                seen.add(matrix.flags())
                assert matrix.flags() == told(indptr, indices)
    assert seen == {0, lib.GA_SPARSE_SORTED, UNIQUE}


def test_rows_are_found_behind_thousands_of_empty_ones(context):
    rng = np.random.default_rng(4)
    lengths = np.zeros(30000, int)
    lengths[:3], lengths[17000:17900], lengths[29990] = 700, 5, 3000
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype("int32")
    parts = np.arange(indptr[-1]), rng.integers(0, 400, indptr[-1]), indptr
    for index in ("int32", "int64"):
        given = [parts[0].astype("float32"), *(p.astype(index) for p in parts[1:])]
        host = sp.csr_array(tuple(given), (30000, 400))
        matrix = Matrix.set("csr", host.shape, given, context)
        turned = Matrix.made(lib.GpuSparse_convert, matrix.struct, FORMATS["csc"])
        expected = host.tocsc()
        assert_same(turned.host().indptr, expected.indptr.astype(index), exact=True)
        assert_same(turned.host().indices, expected.indices.astype(index), exact=True)
        assert_same(turned.host().data, expected.data, exact=True)
        ordered = Matrix.made(lib.GpuSparse_sort, matrix.struct).host()
        order = np.lexsort((given[1], np.repeat(np.arange(30000), lengths)))
        assert_same(ordered.data, given[0][order], exact=True)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_rounding_is_bounded_by_the_number_of_terms(context, dtype):
    """Sums in float32, rounded once: below the error of any order of the terms."""
    dtype = as_dtype(dtype)
    lengths = np.array([0, 1, 5, 100, 1000, 3, 20000, 17, 4099])
    indptr, columns = np.cumsum([0, *lengths]), 500
    rng = np.random.default_rng(13)
    values = rng.standard_normal(indptr[-1]).astype("float32").astype(dtype)
    indices = rng.integers(0, columns, indptr[-1]).astype("int32")
    x = rng.standard_normal(columns).astype("float32").astype(dtype)
    parts = [values, indices, indptr.astype("int32")]
    matrix = Matrix.set("csr", (len(lengths), columns), parts, context)
    y = gpuarray.empty(len(lengths), dtype, context=context)
    given = gpuarray.asarray(x, context=context)
    check(lib.GpuSparse_matmul(y.struct, matrix.struct, given.struct, *[ffi.NULL] * 2))
    product = np.asarray(y.astype("float64"))
    check(lib.GpuSparse_sum(y.struct, matrix.struct, 1))
    total = np.asarray(y.astype("float64"))
    wide, other = values.astype("float64"), x.astype("float64")[indices]
    own = 0 if dtype == np.float32 else 2.0 ** (-11 if dtype == np.float16 else -8)
    for got, terms in ((product, wide * other), (total, wide)):
        rows = [terms[a:b] for a, b in itertools.pairwise(indptr)]
        exact = np.array([row.sum() for row in rows])
        size = np.array([abs(row).sum() for row in rows])
        bound = (lengths + 1) * 2.0**-24 * size + own * abs(exact) * 1.01
        assert (abs(got - exact) <= bound).all(), (got - exact, bound)


def test_products_of_arrays_that_begin_anywhere(context):
    rng = np.random.default_rng(5)
    indptr = np.concatenate([[0], np.cumsum(rng.integers(0, 70, 300))]).astype("int32")
    indices = rng.integers(0, 300, indptr[-1]).astype("int32")
    values = rng.integers(1, 5, indptr[-1]).astype("float32")
    x = rng.integers(-4, 5, 300).astype("float32")
    host = sp.csr_array((values, indices, indptr), (300, 300))
    for skipped in (0, 3, 4):
        parts = []
        for part in (values, indices, indptr):
            longer = np.concatenate([np.zeros(skipped, part.dtype), part])
            parts.append(gpuarray.asarray(longer, context=context)[skipped:])
        structs = [part.struct for part in parts]
        matrix = Matrix.made(lib.GpuSparse_set, FORMATS["csr"], 300, 300, *structs)
        product(matrix, host, x, context)
