"""Sparse arrays of diagonals, blocks, random places and files, against scipy's."""

import io

import gpuarray
import numpy as np
import pytest
import scipy.sparse as sp
from gpuarray import sparse
from judge import assert_same
from sparse_arrays import FORMATS, host, messy, on, same


def test_diagonals(context):
    for m, n, k in ((3, 3, 0), (3, 5, 2), (4, 2, -1), (2, 2, 0), (0, 3, 0)):
        ours = sparse.eye_array(m, n, k=k, dtype="float32", context=context)
        same(ours, sp.eye_array(m, n, k=k, dtype="float32").tocsr())
    diagonals = [np.array(x, "float32") for x in ([1, 2, 3], [4, 5], [6, 7])]
    offsets = [0, 1, -1]
    given = [gpuarray.asarray(x, context=context) for x in diagonals]
    for format in FORMATS:
        ours = sparse.diags_array(given, offsets=offsets, format=format)
        same(ours, sp.diags_array(diagonals, offsets=offsets, format=format))
    one = np.ones(1, "float32")
    ours = sparse.diags_array([one, one], offsets=[0, 2], shape=(3, 4), context=context)
    same(ours, sp.diags_array([one, one], offsets=[0, 2], shape=(3, 4)).tocsr())
    same(
        sparse.diags_array(given[1], offsets=1),
        sp.diags_array([4.0, 5], offsets=1, dtype="float32").tocsr(),
    )
    long = [np.arange(1, 6, dtype="float32")] * 3
    spread = {"offsets": [-1, 0, 2], "shape": (4, 5)}
    ours = sparse.diags_array(long, **spread, context=context)
    same(ours, sp.diags_array(long, **spread).tocsr())
    with pytest.raises(gpuarray.BadValue, match="2 numbers for the diagonal 0"):
        sparse.diags_array(given[1], shape=(3, 3))
    with pytest.raises(gpuarray.BadValue, match="none of them twice"):
        sparse.diags_array([one, one], offsets=[1, 1], shape=(3, 4), context=context)


def test_blocks(context):
    for format in FORMATS:
        a, b = host((3, 4), format=format), host((3, 4), format=format, seed=1)
        A, B = on(context, a), on(context, b)
        for name in ("hstack", "vstack", "block_diag"):
            ours, theirs = (getattr(x, name) for x in (sparse, sp))
            same(ours([A, B, A]), theirs([a, b, a]), format=format != "coo")
        blocks = [[A, None], [B, A], [None, B]]
        mixed = [[a, None], [b, a], [None, b]]
        same(sparse.block_array(blocks), sp.block_array(mixed))
        same(
            sparse.block_array(blocks, format="csc"),
            sp.block_array(mixed, format="csc"),
        )
        same(sparse.kron(A, B), sp.kron(a, b), format=False)
        rows, columns, values = sparse.find(on(context, messy((6, 9), format)))
        expected = sp.find(messy((6, 9), format))
        for ours, theirs in zip((rows, columns, values), expected, strict=True):
            assert ours.get().tolist() == theirs.tolist()
        for name in ("hstack", "vstack", "block_diag"):  # of rows, which are vectors
            ours, theirs = (getattr(x, name) for x in (sparse, sp))
            same(ours([A[0], A[2]]), theirs([a[0], a[2]]), format=False)
        same(sparse.block_diag([A, [1, 2]]), sp.block_diag([a, [1, 2]]), exact=False)
        square = host((4, 4), format=format)
        summed = sparse.kronsum(on(context, square), on(context, square[:2, :2]))
        same(summed, sp.kronsum(square, square[:2, :2]))
    same(sparse.vstack([A, B.toarray()]), sp.vstack([a, b.toarray()]), format=False)
    number = gpuarray.asarray(3, "float32", context=context)
    same(sparse.block_diag([A, number]), sp.block_diag([a, np.float32(3)], "coo"))
    with pytest.raises(gpuarray.BadValue, match=r"blocks of row 0 .* \[2, 3\]"):
        sparse.hstack([A, A[:2]])
    with pytest.raises(gpuarray.BadValue, match=r"kronsum: an array of shape \(3, 4\)"):
        sparse.kronsum(A, A)
    with pytest.raises(gpuarray.BadValue, match="all blocks of column 1"):
        sparse.block_array([[A, None]])


def test_random_places(context):
    for shape, density in (((30, 20), 0.1), ((5, 4), 1), ((4, 3), 0), ((50, 40), 0.2)):
        A = sparse.random_array(shape, density=density, rng=3, context=context)
        assert A.shape == shape and A.nnz == round(density * shape[0] * shape[1])
        A.check_format()
        assert A.has_canonical_format and A.format == "coo"
        B = sparse.random_array(shape, density=density, rng=3, context=context)
        assert (A.get() != B.get()).nnz == 0
    counts = sum(
        sparse.random_array((10, 10), density=0.2, rng=i, context=context)
        .get()
        .astype(bool)
        .toarray()
        .astype(int)
        for i in range(60)
    )
    assert abs(counts[:, :5].sum() - 600) < 120 and abs(counts[:5].sum() - 600) < 120
    ones = sparse.random_array(
        (9, 9),
        density=0.2,
        format="csr",
        rng=1,
        context=context,
        data_sampler=lambda size: gpuarray.ones(size, "int32", context),
    )
    assert ones.dtype == "int32" and ones.sum().item() == 16


def test_files_are_scipy_s(context, tmp_path):
    for format in FORMATS:
        array = host((5, 7), format=format)
        A = on(context, array)
        sparse.save_npz(tmp_path / "ours", A, compressed=format == "csr")
        read = sp.load_npz(tmp_path / "ours.npz")
        assert type(read) is type(array)
        assert_same(read.toarray(), array.toarray())
        sp.save_npz(tmp_path / "theirs.npz", array)
        same(sparse.load_npz(tmp_path / "theirs.npz", context=context), array)
    vector = sp.coo_array(np.array([0, 3, 0, 1.0], "float32"))
    file = io.BytesIO()
    sparse.save_npz(file, on(context, vector))
    file.seek(0)
    same(sparse.load_npz(file, context=context), vector)
    sp.save_npz(tmp_path / "blocks.npz", host((4, 4)).tobsr())
    with pytest.raises(gpuarray.Unsupported, match=r"scipy\.sparse\.load_npz"):
        sparse.load_npz(tmp_path / "blocks.npz", context=context)
    np.savez(tmp_path / "others.npz", a=np.zeros(2))
    with pytest.raises(gpuarray.BadValue, match="no sparse array"):
        sparse.load_npz(tmp_path / "others.npz", context=context)
