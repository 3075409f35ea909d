"""Functions of parts on several contexts: one plan, with copies as steps."""

import io
import pickle

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, grad, scan, shared
from gpuarray.compiler.ifelse import ifelse
from gpuarray.compiler.plan import (
    Dim,
    HostInt,
    IntOp,
    Read,
    ReportsStep,
    TransferStep,
)
from gpuarray.compiler.plan_order import ordered
from gpuarray.compiler.plan_stages import is_whole
from loops import loop_steps
from two_contexts import named, two_devices, two_of_one_device

RNG = np.random.RandomState(3)
X, Y = RNG.randn(6, 5), RNG.randn(6, 3)
V, W = RNG.randn(5, 4) / 2, RNG.randn(4, 3) / 2
RATE = 0.1


@pytest.fixture(params=[two_devices, two_of_one_device], ids=["devices", "contexts"])
def two(request):
    """Two contexts as dev0 and dev1; the first is the default one."""
    with named(request.param()) as found:
        yield found


class Trained:
    """A step of training a network of two layers, each on a context, and its result."""

    def __init__(self, places, **options):
        self.v = shared(V, "v", target=places[0])
        self.w = shared(W, "w", target=places[1])
        x, y = T.dmatrix("x"), T.dmatrix("y")
        hidden = T.tanh(T.dot(x, self.v)).transfer(places[1])
        cost = T.sqr(T.dot(hidden, self.w) - y.transfer(places[1])).sum()
        updates = [(p, p - RATE * grad(cost, p)) for p in (self.v, self.w)]
        cost = cost.transfer("cpu")
        self.step = function([x, y], cost, updates=updates, **options)

    def check(self, times=3):
        """Hold some steps against NumPy's."""
        v, w = V, W
        for _ in range(times):
            hidden = np.tanh(X @ v)
            error = hidden @ w - Y
            np.testing.assert_allclose(self.step(X, Y), (error**2).sum(), rtol=1e-10)
            of_hidden = 2 * error @ w.T * (1 - hidden**2)
            v, w = v - RATE * X.T @ of_hidden, w - RATE * hidden.T @ (2 * error)
        np.testing.assert_allclose(self.v.get_value(), v, rtol=1e-9)
        np.testing.assert_allclose(self.w.get_value(), w, rtol=1e-9)


def parts_of(plan):
    """The contexts of the runs of steps between copies, in order."""
    parts = [[]]
    places = plan.places()
    for step in plan.steps:
        if isinstance(step, TransferStep):
            parts.append([])
        elif not isinstance(step, HostInt | IntOp):
            at = places[step.ins[0]] if isinstance(step, Dim) else step.place
            if not parts[-1] or parts[-1][-1] != at:
                parts[-1].append(at)
    return [part for part in parts if part]


def test_two_layers_on_two_contexts(two):
    trained = Trained(["dev0", "dev1"])
    trained.check()
    assert is_whole(trained.step.plan)
    assert trained.v.container.value.context is two[0]
    assert trained.w.container.value.context is two[1]
    # Forth, and the gradient back; each layer's update beside or behind that.
    assert parts_of(trained.step.plan) == [[None], ["dev1"], ["dev1", None]]
    moved = [s for s in trained.step.plan.steps if isinstance(s, TransferStep)]
    assert [s.place for s in moved] == ["dev1", None]


@pytest.mark.parametrize("mode", ["DebugMode", "FAST_COMPILE"])
def test_two_layers_in_other_modes(two, mode):
    Trained(["dev0", "dev1"], mode=mode).check(2)


def test_two_layers_with_memory_that_stays(two):
    with config.use(allow_gc=False):
        Trained(["dev0", "dev1"]).check(4)


def test_two_layers_from_a_pickle(two):
    trained = Trained(["dev0", "dev1"])
    again = pickle.loads(pickle.dumps(trained.step))
    np.testing.assert_allclose(again(X, Y), trained.step(X, Y))


def test_copies_and_their_contexts_are_in_a_profile(two):
    trained = Trained(["dev0", "dev1"], profile=True)
    trained.check()
    file = io.StringIO()
    trained.step.profile.summary(file)
    stats = trained.step.profile
    for place in ("dev0", "dev1"):
        assert f"GpuToGpu<{place}>" in file.getvalue()
        timed = {
            str(node.op): seconds
            for node, seconds in stats.apply_time.items()
            if getattr(node.outputs[0].type, "context_name", None) == place
        }
        assert all(seconds > 0 for name, seconds in timed.items() if "Dot" in name)
        assert any("Gemm" in name for name in timed)


def test_updates_are_kept_where_a_later_part_fails(two):
    v, w = shared(V, target="dev0"), shared(W, target="dev1")
    x, n = T.dmatrix("x"), T.iscalar("n")
    moved = T.dot(x, v).transfer("dev1")
    late = T.dot(moved, w).reshape((n, 2)).transfer("dev0") * 2
    f = function([x, n], late, updates=[(v, v * 2), (w, w * 3)], on_device=True)
    f(X, 9)
    for _ in range(2):
        with pytest.raises(ValueError, match="reshape"):
            f(X, 8)
        np.testing.assert_array_equal(v.get_value(), V * 2)
        np.testing.assert_array_equal(w.get_value(), W * 3)
    np.testing.assert_allclose(
        np.asarray(f(X, 9)), 2 * (X @ (V * 2) @ (W * 3)).reshape(9, 2)
    )


def test_a_branch_by_what_another_context_computed(two):
    a, b = shared(X, target="dev0"), shared(Y, target="dev1")
    most = T.dscalar("most")
    side = T.gt(b.sum(), most).transfer("dev0")
    f = function([most], ifelse(side, T.exp(a), T.dot(b * 2, b.T)[:, :5] + a))
    np.testing.assert_allclose(f(Y.sum() - 1), np.exp(X))
    np.testing.assert_allclose(f(Y.sum() + 1), (Y * 2 @ Y.T)[:, :5] + X)


def test_views_and_lengths_cross(two):
    a, b = shared(X, target="dev0"), shared(Y, target="dev1")
    n = T.iscalar("n")
    part = a[:n, ::-1].T.transfer("dev1")
    f = function([n], [part + b.shape[0], b[: part.shape[0]] * part.shape[1]])
    for count in (4, 2):
        first, second = f(count)
        np.testing.assert_allclose(first, X[:count, ::-1].T + 6)
        np.testing.assert_allclose(second, Y[:5] * count)


def test_an_index_error_on_another_context_keeps_updates(two):
    a, b = shared(X, target="dev0"), shared(Y, target="dev1")
    places = T.lvector("places")
    picked = b[places.transfer("dev1")].sum(0)
    f = function([places], picked, updates=[(a, a + 1), (b, b * 2)])
    np.testing.assert_allclose(f([1, 2]), Y[[1, 2]].sum(0))
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        f([1, 9])
    np.testing.assert_array_equal(a.get_value(), X + 1)
    np.testing.assert_array_equal(b.get_value(), Y * 2)


# ---- loops ----


def recurrent(places):
    """A recurrent network whose output layer is on a context of its own."""
    u, v = shared(V, target=places[0]), shared(np.eye(4) / 2, target=places[0])
    w = shared(W, target=places[1])
    x = T.dmatrix("x")

    def turn(row, before, u, v, w):
        after = T.tanh(T.dot(row, u) + T.dot(before, v))
        return after, T.dot(after.transfer(places[1]), w).transfer("cpu")

    first = T.zeros((4,), "float64")
    (states, outs), _ = scan(turn, x, [first, None], non_sequences=[u, v, w])
    return x, states, outs, [u, v, w]


def test_what_a_body_reads_on_another_context_is_brought_at_once(two):
    """The output layer and its gradient leave the loops: these are on one context."""
    x, states, outs, weights = recurrent(["dev0", "dev1"])
    f = function([x], [states, outs, *grad((outs**2).sum(), weights)])
    assert loop_steps(f) and not any(step.by_host for step in loop_steps(f))
    assert sum(isinstance(step, TransferStep) for step in f.plan.steps) == 3
    h, rows = np.zeros(4), []
    for row in X:
        h = np.tanh(row @ V + h @ np.eye(4) / 2)
        rows.append(h)
    got = f(X)
    np.testing.assert_allclose(got[0], rows)
    np.testing.assert_allclose(got[1], np.array(rows) @ W)
    x, states, outs, weights = recurrent(["dev0", "dev0"])
    alone = function([x], [states, outs, *grad((outs**2).sum(), weights)])
    for here, there in zip(alone(X), got, strict=True):
        np.testing.assert_allclose(there, here, rtol=1e-10)


def test_a_loop_that_names_a_context_only_inside(two):
    x = T.dmatrix("x")
    out, _ = scan(lambda row: T.exp(row.transfer("dev1")).transfer("dev0") + row, x)
    f = function([x], out)
    assert "dev1" in f.plan.places()
    np.testing.assert_allclose(f(X), np.exp(X) + X)
    np.testing.assert_allclose(f(X[:0]), X[:0])


def test_a_loop_beside_parts_on_another_context(two):
    a, b = shared(X, target="dev0"), shared(Y, target="dev1")
    sums, _ = scan(lambda row, s: s + row, a, T.zeros((5,), "float64"))
    f = function([], [sums[-1].transfer("dev1") * b[0, 0], T.exp(b)], on_device=True)
    first, second = f()
    assert first.context is second.context is two[1]
    np.testing.assert_allclose(np.asarray(first), X.sum(0) * Y[0, 0])
    np.testing.assert_allclose(np.asarray(second), np.exp(Y))


# ---- the order of steps ----


def plan_of(inputs, outputs, **options):
    return function(inputs, outputs, **options).plan


def test_what_a_copy_needs_runs_first(two):
    x = T.dmatrix("x")
    a = shared(X, target="dev0")
    beside = [T.exp(a + i).sum(i % 2) for i in range(3)]
    moved = T.tanh(x.transfer("dev0")).transfer("dev1") * 2
    plan = plan_of([x], [*beside, moved])
    (copy,) = [i for i, s in enumerate(plan.steps) if isinstance(s, TransferStep)]
    assert [step.label for step in plan.steps[:copy]] == ["tanh"]
    assert parts_of(plan) == [[None], [None, "dev1"]]


def test_lengths_of_one_context_place_nothing_there(two):
    """A mean divides by a length, and its gradient, too: both stay with the array."""
    a, b = shared(X, target="dev0"), shared(W, target="dev1")
    moved = (a[:, :4] * 2).transfer("dev1")
    cost = T.sqr(T.dot(moved, b)).mean()
    f = function([], [cost, grad(cost, a)])
    copies = [step for step in f.plan.steps if isinstance(step, TransferStep)]
    assert len(copies) == 2
    value, slope = f()
    product = X[:, :4] * 2 @ W
    np.testing.assert_allclose(value, (product**2).mean())
    np.testing.assert_allclose(slope[:, :4], 4 * product @ W.T / product.size)


def test_a_plan_in_order_stays_so(two):
    plan = Trained(["dev0", "dev1"]).step.plan
    assert ordered(plan) == list(range(len(plan.steps)))


def test_reads_and_counts_of_errors_keep_their_order(two):
    a, b = shared(X, target="dev0"), shared(Y, target="dev1")
    places, v = T.lvector("places"), T.lvector("v")
    length = (v.transfer("dev1").sum() + 0).transfer("dev0")
    f = function([places, v], [a[places], b[:length]], updates=[(a, a * 2)])
    steps = f.plan.steps
    reads = [i for i, step in enumerate(steps) if isinstance(step, Read)]
    copies = [i for i, step in enumerate(steps) if isinstance(step, TransferStep)]
    assert reads and copies and min(copies) < min(reads)
    assert not any(isinstance(step, ReportsStep) for step in steps)  # it waits instead
    first, second = f([0, 3], [2, 1])
    np.testing.assert_allclose(first, X[[0, 3]])
    np.testing.assert_allclose(second, Y[:3])


def test_what_no_context_comes_to_is_on_the_default_one(two):
    x = T.dmatrix("x")
    outputs = [T.exp(x), x.transfer("dev1"), (T.tanh(x) * 2).transfer("dev1")]
    f = function([x], outputs, on_device=True)
    own, moved, read = f(X)
    assert (own.context, moved.context, read.context) == (two[0], two[1], two[1])
    for found, expected in zip(
        (own, moved, read), (np.exp(X), X, np.tanh(X) * 2), strict=True
    ):
        np.testing.assert_allclose(found, expected)
    for outputs in (x.transfer("dev1"), T.exp(x).transfer("dev1") + x):
        f = function([x], outputs, on_device=True)
        assert f.context is two[1] and all(step.place is None for step in f.plan.steps)


def test_all_work_is_away_from_the_input(two):
    x = T.fmatrix("x")
    x.tag.target = "dev0"
    f = function([x], x.transfer("dev1") * 2, on_device=True)
    for place in two:
        for number in range(3):
            given = gpuarray.full((3, 2), number, "float32", place)
            found = f(given)
            assert found.context is two[1]
            assert np.array_equal(found, np.full((3, 2), 2.0 * number))
