"""Sparse arrays: construction, conversion, products; scipy is the judge."""

import pickle

import gpuarray
import numpy as np
import pytest
import scipy.sparse as sp
from gpuarray import sparse
from judge import assert_same
from sparse_arrays import FORMATS, host, hosts, messy, on, same

CLASSES = {name: getattr(sparse, f"{name}_array") for name in FORMATS}


def dense(shape, dtype="float32", seed=1):
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


# ---- construction ----


def test_dense_arrays_become_sparse(context):
    for array in hosts():
        D = array.toarray()
        made = CLASSES[array.format]
        for source in (gpuarray.asarray(D, context=context), D, D.tolist()):
            if D.size == 0 and isinstance(source, list):
                continue
            same(made(source, dtype="float32", context=context), array)


def test_scipy_s_arrays_and_back(context):
    for array in hosts():
        A = on(context, array)
        same(A, array)
        back = A.get()
        assert type(back) is type(array) and back.dtype == array.dtype
        assert (back.toarray() == array.toarray()).all()
        assert A.nnz == array.nnz
        assert pickle.loads(pickle.dumps(A)).get().toarray().tolist() == (
            array.toarray().tolist()
        )
    other = host((5, 7)).tobsr((1, 1))
    same(sparse.csr_array(other, context=context), other.tocsr())
    matrix = sp.csr_matrix(host((5, 7)))
    same(sparse.csc_array(matrix, context=context), sp.csc_array(matrix))


def test_three_arrays_and_coordinates(context):
    for format in ("csr", "csc"):
        array = messy((6, 9), format)
        parts = array.data, array.indices, array.indptr
        for index in ("int32", "int64", "uint8"):
            three = parts[0], parts[1].astype(index), parts[2].astype(index)
            A = CLASSES[format](three, shape=(6, 9), context=context)
            assert A.indices.dtype == "int32"
            same(A, array)
            shared = tuple(gpuarray.asarray(part, context=context) for part in three)
            A = CLASSES[format](shared, shape=(6, 9))
            assert A.indices.dtype == ("int32" if index == "int32" else "int64")
            assert gpuarray.may_share_memory(A.data, shared[0])
            same(A, array)
            same(CLASSES[format](three, context=context), CLASS_OF[format](parts))
    array = messy((6, 9))
    coordinates = array.data, (array.row, array.col)
    for format in FORMATS:
        A = CLASSES[format](coordinates, shape=(6, 9), context=context)
        same(A, array.asformat(format))
        assert A.has_canonical_format == (format != "coo")
    same(sparse.coo_array(coordinates, context=context), sp.coo_array(coordinates))


CLASS_OF = {"csr": sp.csr_array, "csc": sp.csc_array}


def test_empty_arrays_and_options(context):
    for format in FORMATS:
        A = CLASSES[format]((3, 4), context=context)
        assert A.nnz == 0 and A.shape == (3, 4) and A.dtype == "float64"
        same(A, sp.coo_array((3, 4)).asformat(format))
        B = CLASSES[format](A, dtype="int32", copy=True)
        assert B.dtype == "int32" and B.data is not A.data
    a = host((5, 7))
    room = [np.append(part, [9, 9]).astype(part.dtype) for part in (a.data, a.indices)]
    A = sparse.csr_array((*room, a.indptr), (5, 7), context=context)
    same(A, a)  # arrays may have room behind the values
    assert sparse.csr_array(A)._values is A._values
    assert not gpuarray.may_share_memory(sparse.csr_array(A, copy=True).data, A.data)
    null = sparse.csr_array(A, context="null")
    assert null.context is gpuarray.context("null") and null.data.tolist() == (
        A.data.tolist()
    )


class Tensor:
    """What a sparse tensor of PyTorch has."""

    def __init__(self, layout, shape, **parts):
        self.layout, self.shape = f"torch.{layout}", shape
        for name, part in parts.items():
            setattr(self, name, lambda part=part: part)


def test_arrays_of_other_libraries(context):
    array = host((5, 7))
    parts = array.data, array.indices, array.indptr
    values, indices, indptr = (gpuarray.asarray(p, context=context) for p in parts)
    tensor = Tensor(
        "sparse_csr", (5, 7), values=values, col_indices=indices, crow_indices=indptr
    )
    A = sparse.csr_array(tensor)
    assert gpuarray.may_share_memory(A.data, values)
    same(A, array)
    turned = Tensor(
        "sparse_csc", (7, 5), values=values, row_indices=indices, ccol_indices=indptr
    )
    same(sparse.csc_array(turned), array.T)
    with pytest.raises(gpuarray.Unsupported, match="to_sparse_csr"):
        sparse.csr_array(Tensor("sparse_bsr", (5, 7)))


def test_what_is_wrong_is_named(context):
    def refused(kind, text, *args, **options):
        with pytest.raises(kind, match=text):
            sparse.csr_array(*args, **options, context=context)

    data, value = np.ones(3, "float32"), gpuarray.BadValue
    three = data, [0, 5, 1], [0, 2, 3]
    refused(gpuarray.BadIndex, "csr_array.* 5 at place 1 .* 3 col", three, (2, 3))
    wide = data, np.array([0, 2**40, 1]), [0, 2, 3]
    refused(gpuarray.BadIndex, "index 1099511627776 at place 1", wide, (2, 3))
    refused(value, "indptr descends", (data, [0, 1, 1], [0, 3, 2, 3]))
    refused(
        gpuarray.BadValue, "3 numbers, expected 5", (data, [0] * 3, [0, 2, 3]), (4, 3)
    )
    refused(value, "3 data, but 2 ind", (data, [0, 1], [0, 2]), (1, 3))
    refused(
        gpuarray.BadType, "of float64, expected", (data, [0.0, 1, 2], [0, 3]), (1, 3)
    )
    refused(gpuarray.BadIndex, "at place 0", (data, ([7, 0, 1], [0, 0, 0])), (2, 3))
    refused(value, "shape", host((5, 7)), (7, 5))
    refused(gpuarray.BadType, "tuple of 4", (1.0, 2, 3, 4))
    refused(value, "two axes", np.zeros((2, 2, 2)))
    refused(gpuarray.Unsupported, "coo_array alone", np.zeros(3))
    with pytest.raises(gpuarray.NotConstructible):
        sparse.sparray()
    A = on(context, host((5, 7)))
    A.indices[2] = 9
    with pytest.raises(gpuarray.BadIndex, match="index 9 at place 2"):
        A.check_format()
    for call in (lambda: len(A), lambda: np.asarray(A)):
        with pytest.raises(gpuarray.BadType):
            call()
    with pytest.raises(gpuarray.Unsupported, match="by scipy"):
        A.tolil()
    with pytest.raises(AttributeError, match="did you mean 'tocsr'"):
        A.tocsrr()


# ---- conversion ----


def test_formats_are_converted(context):
    for array in hosts():
        A = on(context, array)
        for format in FORMATS:
            same(A.asformat(format), array.asformat(format))
            assert getattr(A, f"to{format}")().format == format
        same(A.T, array.T)
        same(A.transpose(copy=True), array.T)
        assert_same(A.toarray("F"), array.toarray(), exact=True)
        assert A.toarray("F").flags.f_contiguous
    with pytest.raises(gpuarray.Unsupported, match="by scipy"):
        A.asformat("lil")


def test_dense_arrays_of_many_rows(context):
    for columns in (1, 8, 21):
        for format in FORMATS:
            for a in (host((70, columns), format=format), messy((70, columns), format)):
                device = on(context, a)
                gpuarray.full((70, columns), 7, "float32", context=context).sync()
                assert_same(device.toarray(), a.toarray(), exact=True)


def test_indices_are_sorted_and_duplicates_summed(context):
    for format in FORMATS:
        array = messy((6, 9), format)
        A = on(context, array)
        assert not A.has_canonical_format and not A.has_sorted_indices
        B = A.sorted_indices() if format == "coo" else A.copy()
        B.sort_indices()
        assert B.has_sorted_indices and B.nnz == array.nnz
        same(B, array)
        A.sum_duplicates()
        array.sum_duplicates()
        assert A.has_canonical_format
        assert A.nnz == array.nnz
        same(A, array)
        A.eliminate_zeros()
        array.eliminate_zeros()
        assert A.nnz == array.nnz
        same(A, array)


def test_what_others_write_is_noticed(context):
    A = on(context, host((1, 6), 0.9))
    assert A.has_canonical_format
    B = A * 2
    A.indices[:] = A.indices[::-1].copy()
    assert not A.has_sorted_indices and not B.has_sorted_indices
    A.has_sorted_indices = A.has_canonical_format = True  # they are looked at again
    assert not A.has_sorted_indices and not A.has_canonical_format


def test_texts(context):
    A = sparse.csr_array(host((2, 3), 0.5), context=context)
    assert repr(A).startswith("<Compressed Sparse Row sparse array of dtype 'float32'")
    assert f"shape (2, 3), context='{context.name}'" in repr(A)
    theirs = str(host((2, 3), 0.5)).split("\n")[2:]
    assert str(A).split("\n")[2:] == theirs
    large = str(sparse.coo_array(host((40, 40), 0.5), context=context)).split("\n")
    assert len(large) == 54 and large[28] == "  :\t:"


# ---- products ----


def test_products_with_dense_arrays(context):
    for array in hosts():
        A, (rows, columns) = on(context, array), array.shape
        array = array.tocsr()  # of COO and a vector scipy drops an axis of length 1
        for shape in ((columns,), (columns, 1), (columns, 5)):
            x = dense(shape)
            given = gpuarray.asarray(x, context=context)
            assert_same(A @ given, array @ x, exact=True)
            assert_same(A.dot(given), array @ x, exact=True)
            if array.nnz:
                turned = np.asfortranarray(x)
                given = gpuarray.asarray(turned, context=context)
                assert_same(A @ given, array @ x, exact=True)
        for shape in ((rows,), (3, rows)):
            x = dense(shape)
            assert_same(gpuarray.asarray(x, context=context) @ A, x @ array, exact=True)
    A, array = on(context, host((5, 7))), host((5, 7))
    assert_same(A @ gpuarray.ones(7, "int32", context), array @ np.ones(7, "int32"))
    with pytest.raises(gpuarray.BadValue, match="7 columns, but 5 rows"):
        A @ gpuarray.ones(5, "float32", context)
    with pytest.raises(gpuarray.BadValue, match="use \\*"):
        A @ 2
    with gpuarray.implicit_conversion(True):
        assert_same(A @ dense(7), array @ dense(7), exact=True)
        assert_same(dense((2, 5)) @ A, dense((2, 5)) @ array, exact=True)


def test_products_of_sparse_arrays(context):
    for array in hosts():
        A = on(context, array)
        for format in FORMATS:
            other = host((array.shape[1], 8), 0.3, format=format)
            product = A @ on(context, other)
            assert product.format == array.format
            same(product, (array @ other).asformat(array.format))
            assert product.has_canonical_format
    A = on(context, host((5, 7)))
    with pytest.raises(gpuarray.BadValue, match="7 columns, but 5 rows"):
        A @ A


def test_sparse_vectors(context):
    array = sp.coo_array(np.array([0, 3, 0, -1, 2], "float32"))
    other = sp.coo_array(np.array([1, 1, 0, 0, 2], "float32"))
    v, w = (sparse.coo_array(a, context=context) for a in (array, other))
    matrix = host((5, 7), 0.5)
    A = on(context, matrix)
    same(v, array)
    same(v + w, array + other, format=False)
    same(v * w, array * other, format=False)
    assert_same(v @ w, array @ other, exact=True)
    same(v @ A, array @ matrix, format=False)
    same(A.T @ v, matrix.T @ array, format=False)
    x = dense(5)
    assert_same(v @ gpuarray.asarray(x, context=context), array @ x, exact=True)
    assert_same(gpuarray.asarray(x, context=context) @ v, array @ x, exact=True)
    assert v.get().shape == (5,) and v.sum().item() == 4 and v.ndim == 1
    assert v[3].item() == -1 and v[1:].toarray().tolist() == [3, 0, -1, 2]
    same(sparse.coo_array(array.toarray(), context=context), array)


def test_products_of_two_types(context):
    a, b = host((5, 7), 0.5, "int32"), host((7, 6), 0.5, "float32")
    A, B = on(context, a), on(context, b)
    same(A @ B, (a @ b).astype("float64"))
    wide = tuple(
        gpuarray.asarray(x.astype("int64"), context=context)
        for x in (b.indices, b.indptr)
    )
    W = sparse.csr_array((B.data, *wide), shape=b.shape)
    same(A @ W, a @ b)
    same(W.T @ A.T, b.T @ a.T)
