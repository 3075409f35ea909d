"""Sparse matrices in functions: arguments, results, state, loops, branches, files."""

import pickle
import re

import gpuarray
import numpy as np
import pytest
import scipy.sparse as sp
from cases_sparse import drawn, matrix
from gpuarray.compiler import (
    DebugMode,
    In,
    NanGuardMode,
    OpFromGraph,
    clone,
    config,
    function,
    grad,
    load,
    scan,
    shared,
    sparse as S,
    sparse_grad,
    tensor as T,
)
from gpuarray.compiler.derivatives import reverse
from gpuarray.compiler.gradient import Rop
from gpuarray.compiler.graph.traverse import clone_replace, toposort
from gpuarray.compiler.ifelse import ifelse

A, B, V = matrix(6, 4, "csr", 1), matrix(6, 4, "csr", 2), drawn(4)


@pytest.fixture(autouse=True)
def in_double(on_context):
    with config.use(floatX="float64"):
        yield


@pytest.fixture
def x():
    return S.csr_matrix("x")


@pytest.fixture
def y():
    return S.csr_matrix("y")


@pytest.fixture
def w():
    return T.dvector("w")


def same(found, wanted):
    found, wanted = (m.toarray() if sp.issparse(m) else m for m in (found, wanted))
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-12, atol=1e-14)


# ---- arguments and results ----


def test_arguments(x, w):
    f = function([x, w], S.dot(x, w))
    for value in (A, sp.csr_array(A), A.tocsc(), A.tocoo(), A.astype("float32")):
        np.testing.assert_allclose(f(value, V), value @ V, rtol=1e-6)
    same(f(w=V, x=A), A @ V)
    single = S.csr_matrix("single", "float32")
    g = function([single], S.sp_sum(single), allow_input_downcast=True)
    np.testing.assert_allclose(g(A), A.sum(), rtol=1e-6)
    roomy = A.copy()
    roomy.data = np.append(A.data, 9)
    roomy.indices = np.append(A.indices, np.int32(3))
    same(function([x], S.sp_sum(x))(roomy), A.sum())
    same(f(matrix(9, 4, "csr"), V), matrix(9, 4, "csr") @ V)
    assert repr(f).startswith("<function test_symbolic_sparse_functions.py:")
    assert [v.name for v in f.variables] == ["x", "w"]


def test_defaults_and_forms(x, y, w):
    f = function([x, In(y, value=B)], {"sum": x + y, "rows": x.shape[0]})
    assert f(A)["rows"] == 6
    same(f(A)["sum"], A + B)
    same(f(A, y=A)["sum"], 2 * A)
    same(f(A, output_subset=["sum"])[0], A + B)
    g = function([x, w], [S.sqr(x), w, x])
    assert [type(r).__name__ for r in g(A, V)] == [
        "csr_matrix",
        "ndarray",
        "csr_matrix",
    ]
    only, last = g(A, V, output_subset=[1, 2])
    same(only, V)
    same(last, A)


def test_results_on_the_device(x, y, context):
    f = function([x], S.sqr(x), on_device=True)
    result = f(A)
    assert isinstance(result, gpuarray.sparse.csr_array)
    assert result.context is context
    same(f(result).get(), A.multiply(A).multiply(A).multiply(A))
    added = function([x, y], x + y, on_device=True)
    total = added(result, B)
    for array in (total, added(total, total)):  # none of them is looked at
        assert array._pattern.knowledge.sure_flags is not None
    same(total.get(), A.multiply(A) + B)
    places, two = T.ivector("places"), np.array([0, 1, 2], "int32")
    made = function([places], S.CSR(np.ones(2), places, two, (2, 3)), on_device=True)
    assert made([2, 0]).nnz == 2
    with pytest.raises(IndexError, match="index 3 at place 1"):
        made([2, 3])
    moved = function([x], x.transfer(None))(A)
    assert isinstance(moved, gpuarray.sparse.csr_array)
    same(moved.get(), A)


def test_updated_input(x):
    f = function([In(x, value=A, update=x * 2.0)], S.sp_sum(x))
    np.testing.assert_allclose([f(), f(), f(B), f()], np.array([1, 2, 0, 0]) * A.sum()
                               + np.array([0, 0, 1, 2]) * B.sum())  # fmt: skip


def test_arrays_of_numpy_leave_operators_to_matrices(x):
    dense = drawn(6, 4)
    results = [dense + x, dense - x, dense * x, dense.T @ x, dense > x]
    found = function([x], results)(A)
    wanted = [dense + A, dense - A, A.multiply(dense), dense.T @ A, dense > A.toarray()]
    for one, other in zip(found, wanted, strict=True):
        same(one, np.asarray(other) if not sp.issparse(other) else other)


def test_casts_by_their_letters(x):
    assert [S.icast(x).dtype, S.fcast(x).dtype, S.zcast(x).dtype] == [
        "int32",
        "float32",
        "complex128",
    ]


# ---- shared variables ----


def test_shared(x, w):
    s = shared(A, "s")
    assert isinstance(s, S.SparseSharedVariable)
    f = function([w], S.dot(s, w))
    same(f(V), A @ V)
    s.set_value(matrix(3, 4, "csr"))
    same(f(V), matrix(3, 4, "csr") @ V)
    add = function([x], [], updates={s: x + x})
    add(B)
    same(s.get_value(), 2 * B)
    assert isinstance(s.get_value(), sp.csr_matrix)
    inside = s.get_value(return_internal_type=True)
    assert isinstance(inside, gpuarray.sparse.csr_array)
    s.zero()
    assert s.get_value().nnz == B.nnz
    assert s.get_value().sum() == 0


def test_descent(w):
    s = shared(A, "s")
    cost = (S.structured_dot(s, w) ** 2).sum()
    step = grad(cost, s) * 0.01
    f = function([w], cost, updates={s: s - step})
    assert not re.search("copy|broadcast", str(f.plan))  # values alone change
    costs = [float(f(V)) for _ in range(4)]
    assert costs == sorted(costs, reverse=True)
    left = A.copy()
    for wanted in costs:
        np.testing.assert_allclose(((left @ V) ** 2).sum(), wanted)
        slope = 2 * np.outer(left @ V, V)
        left = left - 0.01 * (left != 0).multiply(slope)
    same(s.get_value(), left)


def test_rows_of_a_dense_matrix():
    """As Theano's programs mark them; the update changes those rows alone."""
    table, rows = shared(drawn(50, 3), "table"), T.lvector("rows")
    before = table.get_value()
    cost = (sparse_grad(table[rows]) ** 2).sum()
    f = function([rows], cost, updates={table: table - 0.1 * grad(cost, table)})
    assert any("inc_subtensor" in step.label for step in f.plan.steps)
    f(np.array([4, 1, 4]))
    np.add.at(before, [4, 1, 4], -0.2 * before[[4, 1, 4]])
    same(table.get_value(), before)
    with pytest.raises(TypeError, match="expected rows of an array by a vector"):
        sparse_grad(table)


def test_swapped(w):
    s, other = shared(A, "s"), shared(B, "other")
    f = function([w], S.dot(s, w))
    same(f.copy(swap={s: other})(V), B @ V)
    with pytest.raises(TypeError, match="cannot be swapped for"):
        f.copy(swap={s: shared(V)})


# ---- givens, branches, loops ----


def test_givens(x, y, w):
    f = function([y], S.sp_sum(x), givens={x: y * 3.0})
    np.testing.assert_allclose(f(A), 3 * A.sum())
    np.testing.assert_allclose(function([], S.sp_sum(x), givens={x: A})(), A.sum())
    same(function([y, w], clone(S.dot(x, w), {x: y}))(B, V), B @ V)
    with pytest.raises(TypeError, match="does not fit"):
        function([y], S.sp_sum(x), givens={x: y.T})


def test_branches(x, y, w):
    c = T.iscalar("c")
    f = function([c, x, y], ifelse(c, x, y))
    same(f(1, A, B), A)
    same(f(0, A, B), B)
    cost = ifelse(c, S.structured_dot(x, w).sum(), S.sp_sum(S.sqr(x)))
    g = function([c, x, w], grad(cost, x))
    same(g(1, A, V), (A != 0).multiply(V))
    same(g(0, A, V), 2 * A)


def test_loop(x, w):
    square = matrix(4, 4, "csr", 7)
    powers, _ = scan(lambda p: S.structured_dot(x, p), outputs_info=[w], n_steps=3)
    f = function([x, w], [powers[-1], grad(powers[-1].sum(), x)])
    found, slope = f(square, V)
    same(found, square @ (square @ (square @ V)))
    ones = np.ones(4)
    back = [ones, square.T @ ones, square.T @ (square.T @ ones)]
    ahead = [square @ (square @ V), square @ V, V]
    wanted = sum(np.outer(g, p) for g, p in zip(back, ahead, strict=True))
    same(slope, (square != 0).multiply(wanted))
    assert not any(step.pauses for step in f.plan.steps)


def test_loop_over_an_expression(x, w):
    def body(p, m):
        return S.dot(m, p)

    powers, _ = scan(body, outputs_info=[w], n_steps=2, non_sequences=[S.sqr(x)])
    square = matrix(4, 4, "csr", 7)
    twice = square.multiply(square)
    same(function([x, w], powers[-1])(square, V), twice @ (twice @ V))


def test_gradients_of_branches(x, y, w):
    """Zeros of the other branch need its shape; places that both have are no choice."""
    c, n = T.iscalar("c"), T.iscalar("n")
    dense = grad(ifelse(c, S.dot(x, w).sum(), w.sum()), x)
    stored = grad((S.structured_dot(ifelse(n, x + y, S.sqr(x)), w) ** 2).sum(), x)
    f = function([c, n, x, y, w], [dense, stored])
    product = next(
        line for line in str(f.plan).splitlines() if "[n, n] <- mul(" in line
    )
    assert product.endswith("when c")
    assert "sparse_sort" not in str(f.plan)
    for is_taken in (1, 0):
        found, slopes = f(is_taken, is_taken, A, B, V)
        same(found, is_taken * np.outer(np.ones(6), V))
        value = A + B if is_taken else A.multiply(A)
        by_value = 2 * np.outer(value @ V, V)
        wanted = by_value if is_taken else by_value * 2 * A.toarray()
        same(slopes, (A != 0).multiply(wanted))


def test_loop_over_a_matrix_of_an_inner_graph(x, w):
    """It is opened after the loop is."""
    tripled = OpFromGraph([x], [x * 3.0])(x)

    def body(p):
        return S.dot(S.tanh(tripled) + tripled, p)

    powers, _ = scan(body, outputs_info=[w], n_steps=2)
    square = matrix(4, 4, "csr", 7)
    total = (3 * square).tanh() + 3 * square
    same(function([x, w], powers[-1])(square, V), total @ (total @ V))


def test_forward_mode(x, w):
    dx, dw = S.csr_matrix("dx"), T.dvector("dw")
    along = Rop(S.dot(x, w), [x, w], [dx, dw])
    same(function([x, w, dx, dw], along)(A, V, B, 2 * V), B @ V + A @ (2 * V))
    element = Rop(S.dense_from_sparse(S.sqr(x)), x, dx)
    same(function([x, dx], element)(A, A), 2 * A.multiply(A))


def test_gradients_of_chains_are_written_in_linear_time(x, y, monkeypatch):
    """Of an operation's gradient its own graph is copied, not all behind it."""
    counts = []

    def copy(outputs, known):
        counts.append(len(toposort(outputs, blockers=known)))
        return clone_replace(outputs, known)

    monkeypatch.setattr(reverse, "clone_replace", copy)
    most = []
    for length in (2, 8):
        z = x
        for _ in range(length):
            z = S.sqr(z + y) * y
        counts.clear()
        grad(S.sp_sum(z, sparse_grad=True), x)
        most.append(max(counts))
    assert most[0] == most[1]


# ---- files, pickles, modes ----


def test_files(x, w, tmp_path):
    s = shared(B, "s")
    f = function([x, w], [S.dot(x, w), S.sqr(x), S.dot(s, w)], updates={s: s * 2.0})
    f.save(tmp_path / "f.plan")
    g = load(tmp_path / "f.plan")
    other = matrix(9, 4, "csr", 8)
    product, squared, kept = g(other, V)
    same(product, other @ V)
    same(squared, other.multiply(other))
    same(kept, B @ V)
    same(g(x=A, w=V)[2], 2 * B @ V)
    with pytest.raises(TypeError, match="expected a sparse matrix"):
        g(np.eye(4), V)
    plain = gpuarray.load_function(tmp_path / "f.plan")
    results = plain(other.data, other.indices, other.indptr, 4, V)
    same(results[0], other @ V)


def test_pickles(x, w):
    f = function([x, w], [S.dot(x, w), S.sqr(x)])
    g = pickle.loads(pickle.dumps(f))
    same(g(A, V)[0], A @ V)
    graph, value, s = pickle.loads(
        pickle.dumps((S.dot(x, w), S.constant(A), shared(B, "s")))
    )
    assert str(graph.owner.inputs[0].type) == "Sparse[float64, csr]"
    same(value.data, A)
    same(s.get_value(), B)


@pytest.mark.parametrize("mode", [DebugMode(), NanGuardMode(), "FAST_COMPILE"], ids=str)
def test_modes(x, y, w, mode):
    results = [S.dot(x + y, w), x * y, S.hstack([x, y], "csr")[1:3], S.clean(x)]
    found = function([x, y, w], results, mode=mode)(A, B, V)
    wanted = (A + B) @ V, A.multiply(B), sp.hstack([A, B], "csr")[1:3], A
    for one, other in zip(found, wanted, strict=True):
        same(one, other)


def test_test_values(w):
    with config.use(compute_test_value="raise"):
        x = S.csr_matrix("x")
        x.tag.test_value, w.tag.test_value = A, V
        same(S.dot(S.sqr(x), w).tag.test_value, A.multiply(A) @ V)
        assert (x + x).tag.test_value.nnz == A.nnz


def test_nothing_becomes_dense(x, y, w):
    cost = (S.structured_dot(S.sqr(x) + y, w) ** 2).sum() + S.sp_sum(x * y)
    f = function([x, y, w], grad(cost, [x, y]))
    assert not any("dense" in step.label for step in f.plan.steps)
    dense = function([x], S.dense_from_sparse(x) * 2)
    assert any("dense" in step.label for step in dense.plan.steps)


def test_gradients_of_products_are_sampled(x, w):
    """A dense gradient is made where the program asks for it, and nowhere else."""
    m = T.dmatrix("m")
    of_vector = (S.dot(S.sqr(x), w) ** 2).sum()
    of_matrix = (S.dot(S.sqr(x), m) ** 2).sum() + S.sp_sum(S.sqr(x))
    f = function([x, w, m], grad(of_vector + of_matrix, x))
    labels = [step.label for step in f.plan.steps]
    assert "gemm" not in labels and "broadcast_to" not in labels
    assert labels.count("sparse_sampled") == 2
    many = drawn(4, 3)
    squared = A.multiply(A)
    slope = np.outer(2 * (squared @ V), V) + 2 * (squared @ many) @ many.T + 1
    same(f(A, V, many), 2 * A.multiply(slope))


def test_matrices_of_the_same_places_need_no_merge(x, w):
    s = shared(A, "s")
    cost = (S.structured_dot(s, w) ** 2).sum()
    step = function([w], [], updates={s: s - grad(cost, s) * 0.01})
    add = function([x], [x + x * 2.0, x * S.sqr(x), x - S.tanh(x)])
    for f in (step, add):
        assert not any("match" in step.label for step in f.plan.steps)
    messy = sp.csr_matrix(
        (np.arange(1.0, 5), np.array([1, 0, 0, 1]), np.array([0, 4, 4])), (2, 2)
    )
    for value in (A, messy):
        total, product, rest = add(value)
        same(total, 3 * value)
        value = sp.csr_matrix(value.toarray())
        same(product, value.multiply(value).multiply(value))
        same(rest, value - value.tanh())


def test_printing(x, w):
    assert str(S.constant(A)) == f"SparseConstant{{6x4, {A.nnz} stored}}"
    assert str(x.type) == repr(x.type) == "Sparse[float64, csr]"
    assert str(S.dot(x, w)) == "Dot.0"


def test_constants(w):
    same(function([w], S.dot(A, w))(V), A @ V)
    same(function([w], S.dot(S.as_sparse(B), w))(V), B @ V)


@pytest.mark.parametrize("inner", [S.dot, S.true_dot, S.structured_dot])
def test_a_product_by_a_vector_has_no_inner_matrix(inner):
    """Nor a dense gradient of it, which would be of 160 GB."""
    n, single = 200_000, "float32"
    x, y, v = S.csr_matrix("x", single), S.csr_matrix("y", single), T.fvector("v")
    a = sp.random(n, 3, density=1e-4, random_state=1, format="csr", dtype=single)
    b = sp.random(3, n, density=1e-4, random_state=2, format="csr", dtype=single)
    ones = np.ones(n, single)
    for made, expected, of_rows in (
        (S.dot(inner(x, y), v), a @ (b @ ones), b @ ones),
        (S.dot(v, inner(x, y)), (ones @ a) @ b, b @ ones),
    ):
        f = function([x, y, v], [made, *grad(made.sum(), [x, y])])
        product, *slopes = f(a, b, ones)
        assert np.allclose(product, expected)
        wanted = np.outer(ones, of_rows), np.outer(a.T @ ones, ones)
        for slope, other, host in zip(slopes, wanted, (a, b), strict=True):
            dense = slope.toarray() if sp.issparse(slope) else np.asarray(slope)
            assert np.allclose(dense[host.nonzero()], other[host.nonzero()])
