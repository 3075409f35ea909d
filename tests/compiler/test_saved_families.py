"""What saved linear algebra refuses, and what saved functions assert.

`test_clients` runs saved functions of every family at shapes that Python never saw.
"""

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, load, shared
from gpuarray.compiler.ifelse import ifelse
from gpuarray.compiler.tensor import nlinalg, slinalg


def test_matrices_that_fail_are_told(first_context, tmp_path):
    a = T.dmatrix("a")
    failing = {
        "singular": (nlinalg.matrix_inverse(a), np.ones((3, 3))),
        "positive definite": (slinalg.cholesky(a), -np.eye(2)),
        "solve": (slinalg.solve(a, a), np.zeros((2, 2))),
        "eigh": (nlinalg.eigh(a)[0], np.full((2, 2), np.nan)),
        "svd": (nlinalg.svd(a, compute_uv=False), np.full((2, 2), np.nan)),
    }
    with config.use(device=first_context.name):
        for text, (output, argument) in failing.items():
            function([a], output).save(tmp_path / "f", graph=False)
            f = gpuarray.load_function(tmp_path / "f", first_context)
            with pytest.raises(np.linalg.LinAlgError, match=text):
                np.asarray(f(argument))
                first_context.sync()
        function([a], nlinalg.matrix_inverse(a)).save(tmp_path / "f", graph=False)
        f = gpuarray.load_function(tmp_path / "f", first_context)
        with pytest.raises(ValueError, match="square"):
            f(np.ones((2, 3)))


def asserted(folder, context):
    """A saved function that counts its calls: of positive numbers, and an integer."""
    x, n = T.dvector("x"), T.lscalar("n")
    calls = shared(np.zeros(3), name="calls")
    positive = T.opt.Assert("x is positive")(x, T.all(x > 0), n < 9)
    with config.use(device=context.name):
        f = function([x, n], positive * 2, updates={calls: calls + 1}, name="f")
    f.save(folder / "f", graph=False)
    return f


@pytest.mark.filterwarnings("error")
def test_what_a_function_asserts_its_file_asserts(context, tmp_path):
    f = asserted(tmp_path, context)
    for each in (f, gpuarray.load_function(tmp_path / "f", context)):
        for wrong, n in (([-1.0, 1.0], 1), ([1.0], 9), ([1.0, 0.0], 20)):
            with pytest.raises(AssertionError, match="x is positive") as caught:
                each(wrong, n)
            assert isinstance(caught.value, gpuarray.FailedAssertion)
        np.testing.assert_array_equal(each([1.0, 2.0], 8), [2, 4])
        np.testing.assert_array_equal(each([], 8), [])
    np.testing.assert_array_equal(load(tmp_path / "f", context)([3.0], 1), [6])


def test_a_failed_assertion_leaves_what_is_kept(context, tmp_path):
    asserted(tmp_path, context)
    f = gpuarray.load_function(tmp_path / "f", context)
    f([1.0], 1)
    with pytest.raises(AssertionError):
        f([-1.0], 1)
    np.testing.assert_array_equal(f["calls"], [1, 1, 1])
    f([1.0], 1)
    np.testing.assert_array_equal(f["calls"], [2, 2, 2])


def test_a_value_that_is_asserted_stays_as_it_was(context, tmp_path):
    x, w = T.dvector("x"), shared(np.zeros(2), name="w")
    with config.use(device=context.name):
        f = function([x], updates={w: T.opt.Assert("grows")(w + x, T.all(x > 0))})
    f.save(tmp_path / "f", graph=False)
    f = gpuarray.load_function(tmp_path / "f", context)
    f([1.0, 2.0])
    with pytest.raises(AssertionError, match="grows"):
        f([1.0, -2.0])
    np.testing.assert_array_equal(f["w"], [1, 2])
    f([1.0, 1.0])
    np.testing.assert_array_equal(f["w"], [2, 3])


def test_assertions_in_a_branch_that_is_not_taken_are_none(first_context, tmp_path):
    x = T.dvector("x")
    checked = T.opt.Assert("no sums")(x * 2, x.sum() > 100)
    with config.use(device=first_context.name):
        f = function([x], ifelse(x.sum() > 10, checked, x))
    f.save(tmp_path / "f", graph=False)
    f = gpuarray.load_function(tmp_path / "f", first_context)
    np.testing.assert_array_equal(f([1.0]), [1])
    np.testing.assert_array_equal(f([101.0]), [202])
    with pytest.raises(AssertionError, match="no sums"):
        f([11.0])
