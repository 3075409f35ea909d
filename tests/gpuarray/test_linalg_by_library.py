"""``gpuarray.linalg`` where a vendor has a library of factorizations.

The tests of the functions themselves, with a library that NumPy stands for.
"""

import gpuarray
import numpy as np
import pytest
from gpuarray import linalg
from gpuarray._linalg import solvers
from gpuarray._native import lib
from test_linalg_functions import (  # noqa: F401 (they are collected here, too)
    matrices,
    put,
    test_cholesky,
    test_cholesky_reads_one_triangle,
    test_determinant_of_exchanged_rows_and_of_singular_matrices,
    test_eigenvalues_are_complex,
    test_eigenvalues_of_hermitian_matrices,
    test_every_layout,
    test_inverse_and_determinant,
    test_qr,
    test_solve,
    test_svd,
)
from test_linalg_mistakes import (  # noqa: F401
    test_a_matrix_without_a_solution_is_told_of_once,
)
from vendor_libraries import Solver


@pytest.fixture(autouse=True)
def library(context, monkeypatch):
    """A device whose vendor has the library."""
    if solvers.factorizes(context):
        pytest.skip("the device's own library is tested with the functions")
    monkeypatch.delitem(context._kernels, "solver")
    monkeypatch.setattr(solvers, "lib", Solver(context))
    assert solvers.factorizes(context)


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (2, 4, 4)], ids=str)
def test_raw_reflectors_are_those_of_lapack(context, dtype, shape):
    host = matrices(shape, dtype)
    for got, wanted in zip(
        linalg.qr(put(host, context), "raw"), np.linalg.qr(host, "raw"), strict=True
    ):
        np.testing.assert_allclose(got, wanted, rtol=1e-5)


def test_one_triangle_of_hermitian_matrices_is_read(context):
    low = np.array([[2, 0, 0], [1 - 1j, 3, 0], [0.5j, 1, 4]], "complex64")
    for host, uplo in ((low, "L"), (low.conj().T, "U")):
        x = put(host + 9 * np.tri(3, k=-1).T if uplo == "L" else host, context)
        wanted = np.linalg.eigvalsh(host, uplo)
        np.testing.assert_allclose(linalg.eigvalsh(x, uplo), wanted, rtol=1e-5)
        w, v = map(np.asarray, linalg.eigh(x, uplo))
        whole = low + low.conj().T - np.diag(low.diagonal())
        np.testing.assert_allclose(whole @ v, v * w, atol=1e-5)


def test_a_failure_is_told_by_the_operations_name():
    a = gpuarray.zeros((3, 3), context="null").T
    with pytest.raises(gpuarray.Unsupported, match=r"^inv: .*no installed vendor lib"):
        solvers._call("inv", lib.GpuArray_cholesky, a, lib.cb_lower, None)
