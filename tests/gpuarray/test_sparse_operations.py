"""Operations of two sparse matrices, samples and systems, against scipy."""

import gpuarray
import numpy as np
import pytest
import scipy.sparse as sp
from gpuarray._native import check, ffi, lib
from judge import assert_same
from scipy.sparse.linalg import spsolve_triangular
from sparse_calls import Matrix, dense_of, read
from test_sparse import UNIQUE, drawn, scales

PAIRS = [
    # rows, columns, densities
    (5, 7, 0.4, 0.6),
    (90, 300, 0.1, 0.05),
    (1, 3000, 0.9, 0.3),
    (3000, 1, 0.5, 0.1),
    (3, 3, 0, 0.5),
    (3, 3, 0.5, 0),
    (0, 4, 0, 0),
    (4, 0, 0, 0),
]


def drawn_pairs(context, turned=False):
    """Two matrices of one shape (or transposed), CSR and CSC, of both index types."""
    for (rows, columns, *densities), name, index in zip(
        PAIRS * 2,
        ["csr", "csc"] * 8,
        ["int32"] * 4 + ["int64"] * 4 + ["int64"] * 4 + ["int32"] * 4,
        strict=True,
    ):
        shapes = (rows, columns), (columns, rows) if turned else (rows, columns)
        hosts = [
            drawn(shape, density, format=name, seed=seed)
            for seed, (shape, density) in enumerate(zip(shapes, densities, strict=True))
        ]
        for host in hosts:
            host.sort_indices()
        yield *hosts, *(Matrix.of(host, context, index) for host in hosts)


def test_sums_and_products_of_elements(context):
    for x, y, a, b in drawn_pairs(context):
        total = Matrix.made(lib.GpuSparse_add, a.struct, b.struct, ffi.NULL, ffi.NULL)
        assert total.flags() == UNIQUE
        assert total.host().nnz == len(set(places(x)) | set(places(y)))
        assert_same(total.host().toarray(), (x + y).toarray(), exact=True)
        args = a.struct, b.struct, *scales(2, -3)
        total = Matrix.made(lib.GpuSparse_add, *args)
        assert_same(total.host().toarray(), (2 * x - 3 * y).toarray(), exact=True)
        both = Matrix.made(lib.GpuSparse_multiply, a.struct, b.struct)
        assert both.flags() == UNIQUE
        assert both.host().nnz == len(set(places(x)) & set(places(y)))
        assert_same(both.host().toarray(), (x * y).toarray(), exact=True)
        for code, result in (
            (lib.GA_SPARSE_MAXIMUM, x.maximum(y)),
            (lib.GA_SPARSE_GREATER, x > y),
        ):
            combined = Matrix.made(lib.GpuSparse_combine, a.struct, b.struct, code)
            assert combined.flags() == UNIQUE
            assert combined.host().nnz == total.host().nnz
            assert_same(combined.host().toarray(), result.toarray(), exact=True)


def places(host):
    listed = host.tocoo()
    return zip(listed.row.tolist(), listed.col.tolist(), strict=True)


def test_products_of_matrices(context):
    for x, y, a, b in drawn_pairs(context, turned=True):
        made = Matrix.made(lib.GpuSparse_spgemm, a.struct, b.struct)
        assert made.flags() == UNIQUE
        assert made.struct.format == a.struct.format
        assert_same(made.host().toarray(), (x @ y).toarray(), exact=True)


def test_duplicates_are_summed(context):
    rng = np.random.default_rng(4)
    for rows, columns, n in [(3, 4, 50), (200, 5, 3000), (1, 1, 40), (6, 9, 0)]:
        listed = rng.integers(0, max(rows, 1), n), rng.integers(0, max(columns, 1), n)
        values = rng.integers(1, 9, n).astype("float32")
        host = sp.coo_array((values, listed), (rows, columns))
        for number in (lib.GA_SPARSE_CSR, lib.GA_SPARSE_CSC, lib.GA_SPARSE_COO):
            given = Matrix.of(host, context, "int64")
            matrix = Matrix.made(lib.GpuSparse_convert, given.struct, number)
            made = Matrix.made(lib.GpuSparse_sum_duplicates, matrix.struct)
            assert made.flags() == UNIQUE
            assert made.host().nnz == len(set(places(host)))
            assert_same(made.host().toarray(), host.toarray(), exact=True)


def test_rows_and_columns_are_taken(context):
    rng = np.random.default_rng(5)
    for x, _, a, _ in drawn_pairs(context):
        for axis in (0, 1):
            length = x.shape[axis]
            taken = rng.integers(-length, length, 3 * length if length < 9 else 40)
            indices = gpuarray.asarray(taken.astype("int32"), context=context)
            made = Matrix.made(lib.GpuSparse_take, a.struct, indices.struct, axis)
            made.flags()
            assert made.struct.format == a.struct.format
            expected = np.take(x.toarray(), taken, axis)
            assert_same(made.host().toarray(), expected, exact=True)
    wrong = gpuarray.asarray(np.array([1, 7]), context=context)
    matrix = Matrix.of(drawn((5, 7), 0.4), context)
    with pytest.raises(gpuarray.BadIndex, match="7"):
        Matrix.made(lib.GpuSparse_take, matrix.struct, wrong.struct, 0)


def test_dense_matrices_at_places(context):
    rng = np.random.default_rng(6)
    for name in ("csr", "csc", "coo"):
        host = drawn((60, 70), 0.1, format=name)
        matrix, listed = Matrix.of(host, context), host.tocoo()
        for depth in (0, 1, 5, 70):
            x = rng.integers(-4, 5, (60, depth)).astype("float32")
            y = np.asfortranarray(rng.integers(-4, 5, (depth, 70)).astype("float32"))
            left, right = [gpuarray.asarray(part, context=context) for part in (x, y)]
            out = gpuarray.asarray(np.ones(host.nnz, "float32"), context=context)
            args = matrix.struct, left.struct, right.struct
            check(lib.GpuSparse_sddmm(out.struct, *args, ffi.NULL, ffi.NULL))
            expected = (x @ y)[listed.row, listed.col]
            assert_same(np.asarray(out), expected, exact=True)
            check(lib.GpuSparse_sddmm(out.struct, *args, *scales(2, 3)))
            assert_same(np.asarray(out), 5 * expected, exact=True)
        for shape in ((60, 70), (70,), (60, 1), ()):
            d = rng.random(shape)
            dense = gpuarray.asarray(d, context=context)
            made = dense_of(lib.GpuSparse_sample, matrix.struct, dense.struct)
            expected = np.broadcast_to(d, (60, 70))[listed.row, listed.col]
            assert_same(made, expected, exact=True)


def test_triangular_systems(context):
    rng = np.random.default_rng(7)
    host = (drawn((50, 50), 0.2, "float64") / 50 + sp.eye_array(50) * 2).tocsr()
    for name in ("csr", "csc"):
        matrix = Matrix.of(host.asformat(name), context)
        for lower, unit, width in ((1, 0, 3), (0, 0, None), (1, 1, 1), (0, 1, 3)):
            b = rng.random(50 if width is None else (50, width))
            x = gpuarray.asarray(np.asfortranarray(b), context=context)
            flags = (not lower) * lib.GA_SPARSE_UPPER | unit * lib.GA_SPARSE_UNIT
            check(lib.GpuSparse_solve(x.struct, matrix.struct, flags))
            part = (sp.tril if lower else sp.triu)(host).tocsr()
            expected = spsolve_triangular(
                part, b, bool(lower), unit_diagonal=bool(unit)
            )
            assert_same(np.asarray(x), expected, rtol=1e-10)


def test_what_does_not_fit_is_refused(context):
    a, b = (Matrix.of(drawn((5, 7), 0.4, format=f), context) for f in ("csr", "csc"))
    c = Matrix.of(drawn((7, 5), 0.4), context, "int64")
    twice = sp.csr_array((np.ones(2, "float32"), [1, 1], [0, 2, 2, 2, 2, 2]), (5, 7))
    d = Matrix.of(twice, context)

    def refused(error, text, call, *args):
        with pytest.raises(error, match=text):
            Matrix.made(call, *args)

    two = ffi.NULL, ffi.NULL
    bad, kind = gpuarray.BadValue, gpuarray.BadType
    refused(bad, "two CSR or two CSC", lib.GpuSparse_add, a.struct, b.struct, *two)
    refused(kind, "one of indices", lib.GpuSparse_multiply, a.struct, c.struct)
    refused(bad, "as many rows", lib.GpuSparse_spgemm, a.struct, a.struct)
    text = "call GpuSparse_sum_duplicates first"
    refused(bad, text, lib.GpuSparse_add, a.struct, d.struct, *two)


def lines(rng, lengths, columns, dtype):
    """Compressed rows of these lengths: in no order, with duplicates."""
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices = rng.integers(0, columns, indptr[-1])
    values = rng.integers(1, 4, indptr[-1]).astype(dtype)
    return values, indices, indptr


@pytest.mark.parametrize(
    ("dtype", "index"),
    [("float32", "int32"), ("float32", "int64"), ("float16", "int32")],
)
def test_products_of_rows_of_a_few_and_of_many_terms(context, dtype, index):
    rng = np.random.default_rng(9)
    many, few = rng.integers(0, 6, 300), rng.integers(0, 9, 500)
    many[[7, 9, 299]], few[3] = (900, 40, 3000), 2500
    shapes = (300, 500), (500, 70000)
    parts = [lines(rng, many, 500, dtype), lines(rng, few, 70000, dtype)]
    hosts, matrices = [], []
    for (values, *places), shape in zip(parts, shapes, strict=True):
        hosts.append(sp.csr_array((values.astype("float64"), *places), shape))
        given = [values, *(place.astype(index) for place in places)]
        matrices.append(Matrix.set("csr", shape, given, context))
    expected = hosts[0] @ hosts[1]
    expected.sort_indices()
    a, b = matrices
    made = Matrix.made(lib.GpuSparse_spgemm, a.struct, b.struct)
    struct = made.struct
    assert made.flags() == UNIQUE
    assert_same(read(struct.indptr), expected.indptr.astype(index), exact=True)
    assert_same(read(struct.indices), expected.indices.astype(index), exact=True)
    assert_same(read(struct.values), expected.data.astype(dtype), exact=True)


def test_terms_of_a_product_are_summed_in_order(context):
    rng = np.random.default_rng(10)
    values, indices, indptr = lines(rng, rng.integers(0, 90, 60), 50, "float32")
    factors = rng.choice([1, 2.0**24, -(2.0**24), 0.5], len(values)).astype("float32")
    ones, places, starts = lines(rng, np.full(50, 40), 11, "float32")
    ones = rng.choice([-1, 1], len(ones)).astype("float32")
    expected = np.zeros((60, 11), "float32")
    for row in range(60):
        for k in range(indptr[row], indptr[row + 1]):
            for at in range(starts[indices[k]], starts[indices[k] + 1]):
                expected[row, places[at]] += factors[k] * ones[at]
    a, b = (
        Matrix.set("csr", shape, [data, *(p.astype("int32") for p in rest)], context)
        for shape, data, *rest in (
            ((60, 50), factors, indices, indptr),
            ((50, 11), ones, places, starts),
        )
    )
    made = Matrix.made(lib.GpuSparse_spgemm, a.struct, b.struct)
    assert_same(made.host().toarray(), expected, exact=True)


def test_products_of_rows_of_256_terms(context):
    rng = np.random.default_rng(11)
    shapes, lengths = ((40, 90), (90, 200)), (np.r_[32, 33, [31] * 38], np.full(90, 8))
    parts = [
        lines(rng, own, shape[1], "float32")
        for own, shape in zip(lengths, shapes, strict=True)
    ]
    a, b = (
        Matrix.set("csr", shape, [data, *(p.astype("int32") for p in rest)], context)
        for shape, (data, *rest) in zip(shapes, parts, strict=True)
    )
    x, y = (sp.csr_array(part, s) for part, s in zip(parts, shapes, strict=True))
    made = Matrix.made(lib.GpuSparse_spgemm, a.struct, b.struct)
    assert made.flags() == UNIQUE
    assert_same(made.host().toarray(), (x @ y).toarray(), exact=True)
