"""ifelse: only the branch that is taken is computed, forwards and backwards."""

from __future__ import annotations

import pickle

import gpuarray
import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray._core.profiling import profile
from gpuarray.compiler import plan as p
from gpuarray.compiler.compile import as_op
from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.executor import NativePlan
from gpuarray.compiler.gradient import verify_grad
from gpuarray.compiler.ifelse import IfElse, ifelse
from gpuarray.compiler.plan import LaunchStep

X = np.arange(6.0).reshape(2, 3)
Y = np.full((2, 3), 2.0)


def close(found, right):
    """Whether an array, here or on a device, has the values."""
    return np.allclose(np.asarray(found), right)


@pytest.fixture(autouse=True)
def on_first_context(first_context):
    """What is lazy does not depend on the device."""
    with theano.config.use(device=first_context.name):
        yield


class Counter:
    """An op on matrices that counts how often it is computed."""

    def __init__(self):
        self.calls = 0

        @as_op([T.dmatrix], [T.dmatrix])
        def counted(x):
            self.calls += 1
            return x * 3

        self.op = counted


def labels(function, *args):
    """What one call of a function launches, by label."""
    function(*args)
    with profile(function.context) as found:
        function(*args)
    return [span.label for span in found.spans if span.kind in ("launch", "library")]


def test_one_branch_is_launched():
    n, x, y = T.iscalar("n"), T.dmatrix("x"), T.dmatrix("y")
    f = theano.function([n, x, y], ifelse(n, T.exp(x), T.tanh(y)), on_device=True)
    assert close(f(1, X, Y), np.exp(X))
    assert close(f(0, X, Y), np.tanh(Y))
    assert labels(f, 7, X, Y) == ["exp"]
    assert labels(f, 0, X, Y) == ["tanh"]


def test_what_only_a_branch_needs_is_not_computed_and_the_rest_is():
    n, x = T.iscalar("n"), T.dmatrix("x")
    shared = T.sqrt(x)
    counter = Counter()
    f = theano.function(
        [n, x], [ifelse(n, counter.op(shared) + 1, x), shared], mode="FAST_COMPILE"
    )
    assert close(f(0, X)[0], X) and counter.calls == 0
    assert close(f(1, X)[0], np.sqrt(X) * 3 + 1) and counter.calls == 1
    assert close(f(0, X)[1], np.sqrt(X)) and counter.calls == 1


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE", "DebugMode", None])
def test_nested_conditions_that_the_device_computes(mode):
    n, c, x = T.iscalar("n"), T.dscalar("c"), T.dmatrix("x")
    counter = Counter()
    inner = ifelse(T.gt(counter.op(x).sum(), c), x * 2, x * 4)
    chosen = theano.Mode(optimizer=None) if mode is None else mode
    f = theano.function([n, c, x], ifelse(n, inner + 1, T.exp(x)), mode=chosen)
    assert close(f(0, 1.0, X), np.exp(X)) and counter.calls == 0
    assert close(f(1, 1.0, X), X * 2 + 1)
    before = counter.calls
    assert close(f(1, 1e3, X), X * 4 + 1) and counter.calls > before
    before = counter.calls
    assert close(f(0, 1.0, X), np.exp(X)) and counter.calls == before


def test_a_condition_is_bound_by_its_truth_not_by_its_value():
    n, x, y = T.lscalar("n"), T.dmatrix("x"), T.dmatrix("y")
    f = theano.function([n, x, y], ifelse(T.eq(n % 3, 0), x + 1, T.exp(y)))
    for i in range(9):
        assert close(f(i, X, Y), X + 1 if i % 3 == 0 else np.exp(Y))
    assert f.info()["n_binds"] == 2


def test_an_integer_that_settles_a_shape_too_binds_by_its_value():
    n, x = T.lscalar("n"), T.dmatrix("x")
    f = theano.function([n, x], ifelse(n > 2, x, x + 1)[:, :n].sum(axis=0))
    for i in (1, 2, 3):
        assert close(f(i, X), ((X if i > 2 else X + 1)[:, :i]).sum(axis=0))
    assert f.info()["n_binds"] == 3


def test_the_condition_waits_only_where_the_device_computes_it():
    n, a, x, y = T.iscalar("n"), T.dscalar("a"), T.dmatrix("x"), T.dmatrix("y")
    known = theano.function([n, x, y], ifelse(n, x + 1, y + 1), on_device=True)
    computed = theano.function([a, x, y], ifelse(a < 1, x + 1, y + 1), on_device=True)
    assert not any(isinstance(step, p.Read) for step in known.plan.steps)
    assert sum(isinstance(step, p.Read) for step in computed.plan.steps) == 1
    known(1, X, Y)
    before = known.context.waits
    known(1, X, Y)
    assert known.context.waits == before
    assert close(computed(0.5, X, Y), X + 1)
    before = known.context.waits
    result = computed(1.5, X, Y)
    assert known.context.waits == before + 1
    assert close(result, Y + 1)


CONDITIONS = {
    "float": lambda x: T.gt(x.sum(), 7),
    "int": lambda x: T.cast(x.sum() > 7, "int64") * 5,
    "shared": lambda x: theano.shared(np.int8(1)) * (x.sum() > 7),
}


@pytest.mark.parametrize("kind", CONDITIONS)
def test_a_condition_of_the_device_costs_no_return_to_python(kind):
    x = T.dmatrix("x")
    f = theano.function(
        [x], ifelse(CONDITIONS[kind](x), T.exp(x), T.tanh(x)), on_device=True
    )
    assert isinstance(f._executable.whole, NativePlan)
    assert sum(isinstance(step, p.Read) for step in f.plan.steps) == 1
    for given, right in [(X, np.exp(X)), (-X, np.tanh(-X)), (X, np.exp(X))]:
        assert close(f(given), right)
    assert "exp" in labels(f, X) and "tanh" not in labels(f, X)
    assert "tanh" in labels(f, -X) and "exp" not in labels(f, -X)
    # Before the wait, and each side after it; or all at once, where the device chooses.
    assert f.info()["n_binds"] == (1 if f.context.kind == "cuda" else 3)


def test_a_device_whose_graphs_choose_is_not_waited_for():
    x, y = T.dmatrix("x"), T.dmatrix("y")
    w = theano.shared(np.ones((2, 3)), name="w")
    f = theano.function(
        [x, y],
        ifelse(x.sum() > 7, T.dot(T.exp(x), y.T), T.tanh(y)[:, :2]),
        updates={w: ifelse(T.gt(y.max(), 0), w - y, w)},
        on_device=True,
    )
    on_device = [
        (gpuarray.asarray(a, context=f.context), gpuarray.asarray(b, context=f.context))
        for a, b in [(X, Y), (-X, Y), (X, -Y)]
    ]
    right = np.ones((2, 3))
    for i in range(24):
        a, b = (np.asarray(each) for each in on_device[i % 3])
        before = f.context.waits
        result = f(*on_device[i % 3])
        waits = f.context.waits - before
        if i >= 18:  # where memory comes back, graphs run
            assert waits == (0 if f.context.kind == "cuda" else 2)
        assert close(result, np.exp(a) @ b.T if a.sum() > 7 else np.tanh(b)[:, :2])
        right = right - b if b.max() > 0 else right
        assert close(w.get_value(), right)


def test_sides_of_two_shapes_by_a_condition_of_the_device():
    x, y = T.dmatrix("x"), T.dmatrix("y")
    f = theano.function([x, y], ifelse(x.sum() > 7, T.exp(x), T.tanh(y)))
    for i in range(20):
        a, b = (X, Y[:1]) if i % 3 else (-X, Y)
        assert close(f(a, b), np.exp(a) if i % 3 else np.tanh(b))


def test_updates_by_a_condition_of_the_device():
    x = T.dmatrix("x")
    w = theano.shared(np.ones((2, 3)), name="w")
    n = theano.shared(0, name="n")
    large = T.gt((w * x).sum(), 0)
    f = theano.function(
        [x], w.sum(), updates={w: ifelse(large, w + x, w * 2), n: n + large}
    )
    assert isinstance(f._executable.whole, NativePlan)
    right, count = np.ones((2, 3)), 0
    for given in (X, -X, X, X, -X):
        taken = (right * given).sum() > 0
        assert close(f(given), right.sum())
        right = right + given if taken else right * 2
        count += taken
        assert close(w.get_value(), right) and n.get_value() == count


def test_what_was_updated_before_the_condition_stays_where_a_branch_fails():
    x, y = T.dmatrix("x"), T.dmatrix("y")
    w = theano.shared(np.ones((2, 3)), name="w")
    new = w + x
    chosen = ifelse(new.sum() > 0, T.dot(new, y), new)
    f = theano.function([x, y], chosen.sum(), updates={w: new})
    assert close(f(X, X.T), ((1 + X) @ X.T).sum()) and close(w.get_value(), 1 + X)
    with pytest.raises(ValueError, match=r"dot|gemm|inner"):
        f(X, X)
    assert close(w.get_value(), 1 + X)
    assert close(f(-9 * X, X), (1 - 8 * X).sum()) and close(w.get_value(), 1 - 8 * X)


def test_several_results():
    n, x, y = T.iscalar("n"), T.dmatrix("x"), T.dvector("y")
    one, two = ifelse(n, [x + 1, y * 2], (x - 1, y * 3), name="both")
    assert str(one.owner.op) == "if{both}" and one.owner is two.owner
    f = theano.function([n, x, y], [one, two])
    for i in (0, 1):
        first, second = f(i, X, Y[0])
        assert close(first, X + (1 if i else -1))
        assert close(second, Y[0] * (2 if i else 3))
    assert ifelse(n, [], []) == []


def test_results_are_the_callers_own():
    n, x, y = T.iscalar("n"), T.dmatrix("x"), T.dmatrix("y")
    f = theano.function([n, x, y], ifelse(n, x, y), on_device=True)
    a, b = (
        gpuarray.asarray(X, context=f.context),
        gpuarray.asarray(Y, context=f.context),
    )
    result = f(1, a, b)
    result += 1
    assert close(a, X) and close(f(0, a, b), Y)


def test_what_follows_a_choice_overwrites_neither_side():
    n, x = T.iscalar("n"), T.dmatrix("x")
    e, t = T.exp(x), T.tanh(x)
    chosen = ifelse(n, e, t)
    f = theano.function([n, x], [chosen * 2 + 1, e, t, T.log(chosen + 3)])
    for i in (0, 1):
        want = np.exp(X) if i else np.tanh(X)
        found = f(i, X)
        for got, right in zip(
            found, [want * 2 + 1, np.exp(X), np.tanh(X), np.log(want + 3)], strict=True
        ):
            assert close(got, right)


@pytest.mark.parametrize("is_of_the_device", [False, True])
def test_both_sides_overwrite_what_they_read(is_of_the_device):
    n, x = T.iscalar("n"), T.dmatrix("x")
    read = T.dot(x, x.T)
    condition = T.gt(x[0, 0], 1) if is_of_the_device else n
    chosen = ifelse(condition, T.exp(read), T.tanh(read) + read.sum())
    f = theano.function([n, x], [chosen, x.sum()], on_unused_input="ignore")
    over = [node for node in f.maker.fgraph.toposort() if node.op.destroy_map]
    assert len([node for node in over if node.inputs[0].owner is not None]) == 2
    for turn in (0, 1, 1, 0):
        value = X / 9 + 2 * turn
        r = value @ value.T
        found, _ = f(turn, value)
        assert close(found, np.exp(r) if turn else np.tanh(r) + r.sum())


def test_a_shared_variable_is_updated_on_one_side():
    n = T.iscalar("n")
    s = theano.shared(np.zeros(3), name="s")
    t = theano.shared(np.ones(3), name="t")
    f = theano.function(
        [n], [], updates=[(s, ifelse(n, s + t, s)), (t, ifelse(n, s, t))]
    )
    for i, (first, second) in [(0, (0, 1)), (1, (1, 0)), (1, (1, 1)), (0, (1, 1))]:
        f(i)
        assert close(s.get_value(), first) and close(t.get_value(), second)


def test_the_gradient_of_the_branch_not_taken_is_zero_and_not_computed():
    n, x = T.iscalar("n"), T.dmatrix("x")
    w = theano.shared(np.ones((3, 3)), name="w")
    cost = ifelse(n, T.exp(T.dot(x, w)).sum(), (w**2).sum())
    by_w, by_x = theano.grad(cost, [w, x])
    f = theano.function([n, x], [by_w, by_x], on_device=True)
    e = np.exp(X @ np.ones((3, 3)))
    for got, right in zip(f(1, X), [X.T @ e, e @ np.ones((3, 3))], strict=True):
        assert close(got, right)
    for got, right in zip(f(0, X), [2 * np.ones((3, 3)), X * 0], strict=True):
        assert close(got, right)
    assert "exp" in labels(f, 1, X) and labels(f, 1, X).count("gemm") == 3
    assert not {"exp", "gemm"} & set(labels(f, 0, X))


def test_the_gradient_through_nested_branches():
    n, m, x = T.iscalar("n"), T.iscalar("m"), T.dmatrix("x")
    a = ifelse(m, T.exp(x), T.sqr(x) * 3)
    cost = ifelse(n, a.sum(), (x * T.dot(x, x.T).sum()).sum())
    g = theano.function([n, m, x], theano.grad(cost, x), on_device=True)
    assert close(g(1, 1, X), np.exp(X))
    assert close(g(1, 0, X), 6 * X)
    assert not {"gemm", "gemv"} & set(labels(g, 1, 0, X))


@pytest.mark.parametrize("taken", [0, 1])
def test_gradients_by_finite_differences(taken):
    n = T.constant(taken)

    def expression(x, y):
        return ifelse(T.as_tensor_variable(n) + 0, T.exp(x) * y, T.sin(x * y))

    verify_grad(expression, [X / 4, Y / 2], rng=np.random.RandomState(1))


def test_directions_go_through_the_branch_that_is_taken():
    n, x, v = T.iscalar("n"), T.dmatrix("x"), T.dmatrix("v")
    result = theano.Rop(ifelse(n, T.exp(x), x**2), x, v)
    f = theano.function([n, x, v], result, on_device=True)
    assert close(f(1, X, Y), np.exp(X) * Y)
    assert close(f(0, X, Y), 2 * X * Y)
    assert len(labels(f, 1, X, Y)) == len(labels(f, 0, X, Y)) == 1


def test_jacobians_go_through_the_branch_that_is_taken():
    n, x, v = T.iscalar("n"), T.dvector("x"), T.dvector("v")
    f = theano.function(
        [n, x, v], theano.gradient.jacobian(ifelse(n, T.exp(x), x * v), x)
    )
    assert close(f(1, X[1], Y[0]), np.diag(np.exp(X[1])))
    assert close(f(0, X[1], Y[0]), np.diag(Y[0]))


def test_a_condition_by_row_chooses_for_each_row():
    x = T.dvector("x")
    chosen = ifelse(x.sum() > 1, x * 2, x**2)
    f = theano.function([x], theano.gradient.hessian(chosen.sum(), x))
    assert close(f(X[1]), np.zeros((3, 3)))
    assert close(f(-X[1]), 2 * np.eye(3))


def test_lengths_that_both_branches_have_need_no_branch():
    n, x, y = T.iscalar("n"), T.dmatrix("x"), T.dmatrix("y")
    same = theano.function([n, x], ifelse(n, T.exp(x), T.tanh(x)).shape)
    assert not any(
        isinstance(step, LaunchStep) and step.when for step in same.plan.steps
    )
    other = theano.function([n, x, y], ifelse(n, x, y).shape[0])
    assert not any(isinstance(step, p.Choose) for step in other.plan.steps)
    assert (other(1, X, Y[:1]), other(0, X, Y[:1])) == (2, 1)
    deep = theano.function([n, x, y], ifelse(n, T.exp(x), T.tanh(y)).shape)
    assert list(deep(1, X, Y[:1])) == [2, 3] and list(deep(0, X, Y[:1])) == [1, 3]


def test_nothing_is_fused_across_branches():
    n, x = T.iscalar("n"), T.dmatrix("x")
    f = theano.function([n, x], ifelse(n, T.exp(x) + 1, T.tanh(x) * 2) + x)
    launches = [step for step in f.plan.steps if isinstance(step, LaunchStep)]
    assert sorted(len(step.when) for step in launches) == [0, 1, 1]
    assert str(f.plan).count("  when not n") == 1


def test_equal_nodes_of_two_branches_are_one_that_is_always_there():
    n, x = T.iscalar("n"), T.dmatrix("x")
    e = T.exp(x)
    f = theano.function([n, x], ifelse(n, T.dot(e, e.T), T.exp(x)[:, :2]))
    always = [s for s in f.plan.steps if isinstance(s, LaunchStep) and not s.when]
    assert len(always) == 1
    assert close(f(0, X), np.exp(X)[:, :2])
    assert close(f(1, X), np.exp(X) @ np.exp(X).T)


def test_a_plan_with_branches_prints_compares_and_pickles():
    n, x = T.iscalar("n"), T.dmatrix("x")
    f = theano.function([n, x], ifelse(n, T.exp(x), x + 1), name="f")
    again = pickle.loads(pickle.dumps(f.plan))
    assert again == f.plan and hash(again) == hash(f.plan)
    without = pickle.loads(pickle.dumps(f))
    assert close(without(1, X), np.exp(X)) and close(without(0, X), X + 1)
    text = str(f.plan)
    assert "choose" in text and "when n" in text and "when not n" in text
    assert "if{}" in theano.printing.debugprint(f, file="str")


def test_a_profile_counts_what_was_computed():
    n, x = T.iscalar("n"), T.dmatrix("x")
    f = theano.function([n, x], ifelse(n, T.exp(x), T.tanh(x)), profile=True)
    for i in (1, 1, 0):
        f(i, X)
    counts = {str(a.op): c for a, c in f.profile.apply_callcount.items()}
    assert counts["GpuElemwise{exp,no_inplace}"] == 2
    assert counts["GpuElemwise{tanh,no_inplace}"] == 1
    assert counts["if{}"] == 3


def test_a_profile_of_a_condition_of_the_device():
    x = T.dmatrix("x")
    f = theano.function([x], ifelse(x.sum() > 7, T.exp(x), T.tanh(x)), profile=True)
    for given in (X, X, -X):
        f(given)
    counts = {str(a.op): c for a, c in f.profile.apply_callcount.items()}
    assert counts["GpuElemwise{exp,no_inplace}"] == 2
    assert counts["GpuElemwise{tanh,no_inplace}"] == 1
    assert not f.profile.on_host  # nothing is computed there


def test_an_error_in_a_branch_names_the_line_and_the_other_branch_works():
    n, x, y = T.iscalar("n"), T.dmatrix("x"), T.dmatrix("y")
    product = T.dot(x, y)  # the user's line
    f = theano.function([n, x, y], ifelse(n, product, x))
    assert close(f(0, X, Y), X)
    with pytest.raises(ValueError, match=r"dot|gemm") as caught:
        f(1, X, Y)
    notes = "\n".join(caught.value.__notes__)
    assert "test_lazy.py" in notes and "the user's line" in notes
    assert close(f(0, X, Y), X)


def test_a_subset_of_outputs_keeps_its_conditions():
    n, x = T.iscalar("n"), T.dmatrix("x")
    f = theano.function([n, x], [ifelse(n, T.exp(x), x), ifelse(n > 1, x, x * 2)])
    (second,) = f(1, X, output_subset=[1])
    assert close(second, X * 2)


def test_a_function_of_no_condition_but_a_constant_has_no_branch():
    x = T.dmatrix("x")
    f = theano.function([x], ifelse(T.constant(1), x + 1, T.exp(x)))
    assert not any(isinstance(s, p.Choose) for s in f.plan.steps)
    unoptimized = theano.function(
        [x], ifelse(T.constant(0), x + 1, T.exp(x)), mode=theano.Mode(optimizer=None)
    )
    assert close(f(X), X + 1) and close(unoptimized(X), np.exp(X))


def test_branches_are_brought_to_one_type():
    n, x = T.iscalar("n"), T.dmatrix("x")
    assert ifelse(n, x.sum(), 0.0).type == T.dscalar().type
    row = T.TensorType("float64", (True, False))("row")
    chosen = ifelse(n, x, row)
    assert chosen.type == x.type
    f = theano.function([n, x, row], chosen)
    assert f(1, X, X[:1]).shape == (2, 3) and f(0, X, X[:1]).shape == (1, 3)


def test_conditions_of_other_kinds():
    x = T.dmatrix("x")
    for kind, true, false in [("float64", 0.5, 0.0), ("bool", True, False)]:
        c = T.TensorType(kind, ())("c")
        f = theano.function([c, x], ifelse(c, x + 1, x))
        assert close(f(true, X), X + 1) and close(f(false, X), X)


def test_wrong_arguments_say_what_is_expected():
    n, x, y = T.iscalar("n"), T.dmatrix("x"), T.fmatrix("y")
    with pytest.raises(GraphTypeError, match="expected equal types"):
        ifelse(n, x, y)
    with pytest.raises(GraphTypeError, match="expected equal types"):
        ifelse(n, x, x.sum())
    with pytest.raises(GraphTypeError, match=r"expected a scalar; use switch"):
        ifelse(T.ivector("v"), x, x)
    with pytest.raises(GraphValueError, match="equally many"):
        ifelse(n, [x], [x, x])
    with pytest.raises(GraphValueError, match="one branch is a list"):
        ifelse(n, [x], x)
    with pytest.raises(GraphTypeError, match="for two branches of 1"):
        IfElse(1)(n, x)
