"""Linear algebra in compiled functions: on contexts, in plans, through gradients."""

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from cases import cases_products
from evaluate import evaluate
from gpuarray.compiler import function, grad, shared
from gpuarray.compiler.ops.linalg.linalg import Gemm, Gemv
from gpuarray.compiler.ops.linalg.products import BatchedGemm, Ger
from gpuarray.errors import HostNotice

regular, spd = cases_products.regular, cases_products.spd
pytestmark = pytest.mark.filterwarnings(f"ignore::{HostNotice.__module__}.HostNotice")


def test_a_gaussian_likelihood_is_maximal_where_its_gradient_says(context):
    """Cholesky, substitution, a determinant and their gradients in one function."""
    covariance, x = T.dmatrix("covariance"), T.dmatrix("x")
    factor = T.slinalg.cholesky(covariance)
    white = T.slinalg.solve_lower_triangular(factor, x.T)
    entropy = x.shape[0] * T.log(T.nlinalg.det(covariance))
    cost = (white**2).sum() + entropy
    with gpuarray.context(context):
        f = function([covariance, x], [cost, grad(cost, covariance)])
        values = np.random.default_rng(3).normal(size=(20, 3)) * [1, 2, 3]
        best = values.T @ values / 20
        cost_of_best, slope = f(best, values)
        # The factor reads one triangle, the determinant both: their sum counts.
        np.testing.assert_allclose(slope + slope.T, np.zeros((3, 3)), atol=1e-10)
        _, logarithm = np.linalg.slogdet(best)
        np.testing.assert_allclose(cost_of_best, 60 + 20 * logarithm)
        assert f(best + 0.1 * np.eye(3), values)[0] > cost_of_best


def test_least_squares_three_ways_agree(context):
    a, b = T.dmatrix("a"), T.dvector("b")
    by_inverse = T.dot(T.nlinalg.matrix_inverse(T.dot(a.T, a)), T.dot(a.T, b))
    q, r = T.nlinalg.qr(a)
    by_factors = T.slinalg.solve_upper_triangular(r, T.dot(q.T, b))
    outputs = [by_inverse, by_factors, T.nlinalg.lstsq(a, b)[0]]
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(9, 4)), rng.normal(size=9)
    with gpuarray.context(context):
        f = function([a, b], outputs)
        assert "inv" not in [step.label for step in f.plan.steps]
        for found in f(x, y):
            np.testing.assert_allclose(found, np.linalg.lstsq(x, y)[0], rtol=1e-9)


def test_a_singular_matrix_is_told(context):
    x = T.dmatrix("x")
    with gpuarray.context(context):
        f = function([x], T.nlinalg.matrix_inverse(x))
        np.testing.assert_allclose(f(2 * np.eye(2)), np.eye(2) / 2)
        with pytest.raises(np.linalg.LinAlgError):
            f(np.zeros((2, 2)))
        g = function([x], T.slinalg.cholesky(x, on_error="nan"))
        assert np.isnan(g(-np.eye(2))).all()
        np.testing.assert_allclose(g(4 * np.eye(2)), 2 * np.eye(2))


def test_factors_give_back_what_was_factored(context):
    x = T.dmatrix("x")
    q, r = T.nlinalg.qr(x)
    u, s, vh = T.nlinalg.svd(x, full_matrices=False)
    positive = T.dot(x, x.T) + T.eye(3)
    w, v = T.nlinalg.eigh(positive)
    complex_w, complex_v = T.nlinalg.eig(x)
    with gpuarray.context(context):
        f = function(
            [x],
            [
                T.dot(q, r),
                T.dot(u * s, vh),
                T.dot(T.dot(v * w, v.T), T.nlinalg.pinv(positive)),
                T.dot(x, complex_v) - complex_v * complex_w,
                T.dot(T.slinalg.expm(x), T.slinalg.expm(-x)),
            ],
        )
        value = regular(3, 3)
        same, again, one, nothing, unit = f(value)
    np.testing.assert_allclose(same, value, rtol=1e-10)
    np.testing.assert_allclose(again, value, rtol=1e-10)
    np.testing.assert_allclose(one, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(nothing, np.zeros((3, 3)), atol=1e-9)
    np.testing.assert_allclose(unit, np.eye(3), atol=1e-9)


@pytest.mark.parametrize("shape", [(2, 8), (3, 4, 5)])
def test_a_transform_and_back_is_where_it_began(context, shape):
    x = T.tensor("float32", (False,) * len(shape))
    values = np.random.default_rng(2).normal(size=shape).astype("f4")
    with gpuarray.context(context):
        for norm in (None, "ortho"):
            spectrum = T.fft.rfft(x, norm)
            back = T.fft.irfft(spectrum, norm, is_odd=shape[-1] % 2 == 1)
            f = function([x], [back, grad((spectrum**2).sum(), x)])
            found, slope = f(values)
            np.testing.assert_allclose(found, values, atol=1e-6)
            assert slope.shape == values.shape


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_blas_ops_run_in_place_and_not_in_every_float(context, dtype):
    rng = np.random.default_rng(4)
    tolerance = {"float16": 1e-2, "float32": 1e-5, "float64": 1e-13}[dtype]
    arrays = {n: rng.normal(size=s).astype(dtype) for n, s in SHAPES.items()}
    variables = {
        name: T.tensor(dtype, (False,) * array.ndim) for name, array in arrays.items()
    }
    for op, names in OPS:
        exact = op.reference(*(arrays[name].astype("f8") for name in names))
        with gpuarray.context(context):
            inputs = [variables[name] for name in names]
            f = function(inputs, op(*inputs))
            found = f(*(arrays[name] for name in names))
            target = shared(arrays[names[0]])
            update = op(target, *inputs[1:])
            g = function(inputs[1:], [], updates=[(target, update)])
            assert "in place" in str(g.plan)
            g(*(arrays[name] for name in names[1:]))
        scale = abs(exact).max()
        for value in (found, target.get_value()):
            assert value.dtype == dtype
            np.testing.assert_allclose(value / scale, exact / scale, atol=tolerance)


SHAPES = {
    "v": (3,),
    "w": (4,),
    "A": (3, 4),
    "B": (4, 2),
    "C": (3, 2),
    "P": (2, 3, 4),
    "Q": (2, 4, 2),
    "R": (2, 3, 2),
}
OPS = [
    (Gemv(0.5, 2.0), "vAw"),
    (Gemm(0.5, 2.0), "CAB"),
    (Ger(0.5), "Avw"),
    (BatchedGemm(0.5, 2.0), "RPQ"),
]


def test_a_positive_matrix_has_one_inverse_in_a_stack_or_alone(context):
    stack = np.stack([spd(3), 2 * spd(3)])
    x = T.dtensor3("x")
    with gpuarray.context(context):
        f = function([x], [T.nlinalg.matrix_inverse(x), T.nlinalg.det(x)])
        inverses, determinants = f(stack)
    np.testing.assert_allclose(inverses @ stack, np.stack([np.eye(3)] * 2), atol=1e-9)
    np.testing.assert_allclose(determinants, np.linalg.det(stack))


def test_narrow_products_of_a_step_hold_for_every_batch(context):
    """Those that GPUs have kernels of their own for, some of them in parts."""
    x, d = T.fmatrix("x"), T.fmatrix("d")
    w = np.random.default_rng(2).normal(size=(90, 7)).astype("float32")
    outputs = [T.dot(x, w), T.dot(d, w.T), T.dot(x.T, d), T.dot(d.T, x) * 2]
    with gpuarray.context(context):
        f = function([x, d], outputs)
        for seed, batch in enumerate((60, 3000, 60, 60, 3000)):
            rng = np.random.default_rng(seed)
            a, b = (rng.normal(size=(batch, n)).astype("float32") for n in (90, 7))
            wanted = a @ w, b @ w.T, a.T @ b, 2 * b.T @ a
            for found, want in zip(f(a, b), wanted, strict=True):
                np.testing.assert_allclose(found, want, atol=1e-6 * batch**0.5 * 40)


SINGULAR = {
    "rank 2": np.arange(9.0).reshape(3, 3) - 4,
    "a zero pivot": np.diag([0.0, 3, 5]),
    "rank 1": np.ones((3, 3)),
    "nothing": np.zeros((3, 3)),
    "one element": np.zeros((1, 1)),
    "nilpotent": np.array([[0.0, 1], [0, 0]]),
    "small": np.array([[1.0, 2], [2, 4]]) * 1e-10,
    "stacked": np.array([[[1.0, 2], [2, 4]], [[1, 2], [3, 4]]]),
}


def cofactors(x):
    """Determinants of what is left without a row and a column, with their signs."""
    found = np.empty(x.shape)
    for *batch, i, j in np.ndindex(x.shape):
        rest = np.delete(np.delete(x[tuple(batch)], i, 0), j, 1)
        found[(*batch, i, j)] = (-1) ** (i + j) * np.linalg.det(rest)
    return found


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SINGULAR)
def test_the_gradient_of_the_determinant_of_a_singular_matrix(name, dtype):
    value = SINGULAR[name].astype(dtype)
    x = T.tensor(dtype, (False,) * value.ndim)
    slope = evaluate(grad(T.nlinalg.det(x).sum(), x), {x: value})
    wanted = cofactors(SINGULAR[name])
    scale = abs(SINGULAR[name]).max() ** (value.shape[-1] - 1)
    atol = 100 * np.finfo(dtype).eps * max(scale, np.finfo(dtype).eps)
    np.testing.assert_allclose(
        slope, wanted, 1e-4 if dtype == "float32" else 1e-9, atol
    )


def test_the_second_derivative_of_a_determinant_of_a_singular_matrix():
    x, d = T.dmatrices("x", "d")
    slope = grad(T.nlinalg.det(x), x)
    value = np.diag([0.0, 0, 2])
    moved = evaluate(T.Rop(slope, x, d), {x: value, d: np.diag([1.0, 0, 0])})
    np.testing.assert_allclose(moved, np.diag([0.0, 2, 0]), atol=1e-9)
