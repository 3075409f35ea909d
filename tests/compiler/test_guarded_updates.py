"""Shared variables keep their values where the device finds an index out of bounds."""

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from cases import f32, f64
from gpuarray.compiler import config, function, load, scan, shared
from gpuarray.compiler.ifelse import ifelse
from gpuarray.compiler.ops.control.guarded_updates import Reports
from gpuarray.compiler.ops.slicing.subtensor import Change

GOOD, BAD = np.array([0, 2, 1]), np.array([0, 7, 1])


def check_kept(context, f, variables, *others):
    """Good calls change all variables; a bad one, and those after it, change none."""
    before = [v.get_value() for v in variables]
    f(GOOD, *others)
    good = [v.get_value() for v in variables]
    assert all((a != b).any() for a, b in zip(before, good, strict=True))
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        f(BAD, *others)
        f(GOOD, *others)
        context.sync()
    for variable, value in zip(variables, good, strict=True):
        np.testing.assert_array_equal(variable.get_value(), value)
    f(GOOD, *others)
    context.sync()
    again = [v.get_value() for v in variables]
    assert all((a != b).any() for a, b in zip(good, again, strict=True))


def counts(f):
    """How many nodes of a function read the count of reports."""
    return sum(isinstance(n.op, Reports) for n in f.maker.fgraph.apply_nodes)


def test_a_classifier_with_a_label_that_is_no_class(context):
    with gpuarray.context(context):
        x, y = T.fmatrix("x"), T.lvector("y")
        w, b = shared(f32(4, 3), name="w"), shared(f32(3), name="b")
        p = T.nnet.softmax(T.dot(x, w) + b)
        cost = -T.mean(T.log(p)[T.arange(y.shape[0]), y])
        steps = [(v, v - np.float32(0.5) * T.grad(cost, v)) for v in (w, b)]
        f = function([y, x], cost, updates=steps)
        check_kept(context, f, [w, b], f32(3, 4))
        assert counts(f) == 1
        assert not f.plan.confirms


def test_momentum_counters_and_numbers(context):
    with gpuarray.context(context):
        i = T.lvector("i")
        w, v = shared(f64(5), name="w"), shared(f64(5) + 1, name="v")
        t, total = shared(0, name="t"), shared(0.0, name="total")
        new = 0.9 * v - 0.1 * w[i].sum()
        updates = [(v, new), (w, w + new), (t, t + 1), (total, total + w[i].sum())]
        f = function([i], [], updates=updates)
        check_kept(context, f, [w, v, t, total])
        assert not f.plan.confirms


def test_an_embedding_is_changed_where_it_is(context):
    with gpuarray.context(context):
        i, table = T.lvector("i"), shared(f64(5, 3), name="table")
        rows = table[i]
        cost = (rows**2).sum()
        f = function(
            [i], cost, updates={table: T.inc_subtensor(rows, -0.1 * T.grad(cost, rows))}
        )
        (change,) = [n for n in f.maker.fgraph.apply_nodes if isinstance(n.op, Change)]
        assert change.op.destroy_map == {0: [0]}
        check_kept(context, f, [table])


@pytest.mark.parametrize("set_or_inc", [T.set_subtensor, T.inc_subtensor])
def test_an_index_that_only_the_change_has(context, set_or_inc):
    with gpuarray.context(context):
        i, a = T.lvector("i"), shared(f64(5, 3), name="a")
        b = shared(f64(2, 5), name="b")
        updates = {
            a: set_or_inc(a[i], a.sum() + 1.5),
            b: set_or_inc(b[:, i], b.sum() + 2.5),
        }
        f = function([i], [], updates=updates)
        check_kept(context, f, [a, b])
        assert not f.plan.confirms


@pytest.mark.parametrize("name", ["set_subtensor", "inc_subtensor"])
def test_a_wrong_index_is_told_by_the_name_of_the_change(context, name):
    with gpuarray.context(context):
        i, a = T.lvector("i"), shared(f64(5, 3), name="a")
        change = getattr(T, name)
        calls = [
            function([i], [], updates={a: change(a[i], 1.0)}),  # the line
            function([i], change(a[i], 1.0)),  # the line
        ]
        for f in calls:
            with pytest.raises(IndexError) as caught:
                f([7])
                f.sync()
            assert str(caught.value).endswith(f"({name})")
            assert "# the line" in caught.value.__notes__[0]


def test_a_product_added_to_a_matrix(context):
    with gpuarray.context(context):
        i, x = T.lvector("i"), T.fmatrix("x")
        w, u = shared(f32(3, 3), name="w"), shared(f32(3), name="u")
        picked = x[i]
        updates = {
            w: w + np.float32(0.1) * T.dot(x.T, picked),
            u: u - T.dot(x.T, picked[:, 0]),
        }
        f = function([i, x], [], updates=updates)
        check_kept(context, f, [w, u], f32(3, 3) + 1)
        assert not f.plan.confirms


@pytest.mark.parametrize("axes", ["spatial", "per-activation"])
def test_running_averages_beside_labels(context, axes):
    """Of batch norm: vectors that are computed with the axes of the maps."""
    with gpuarray.context(context):
        x, y = T.ftensor4("x"), T.lvector("y")
        shape = (2,) if axes == "spatial" else (2, 4, 5)
        kept = [shared(f32(*shape) + np.float32(i)) for i in range(4)]
        gain, bias, mean, var = kept
        maps, _, _, *moved = T.nnet.bn.batch_normalization_train(
            x, gain, bias, axes, running_mean=mean, running_var=var
        )
        w = shared(f32(2, 3), name="w")
        p = T.nnet.softmax(T.dot((maps * maps).mean((2, 3)), w))
        cost = T.nnet.categorical_crossentropy(p, y).mean()
        steps = [(v, v - np.float32(0.5) * T.grad(cost, v)) for v in (gain, bias, w)]
        f = function([y, x], cost, updates=[(mean, moved[0]), (var, moved[1]), *steps])
        check_kept(context, f, [*kept, w], f32(3, 2, 4, 5))
        assert not f.plan.confirms


def test_an_update_of_axes_that_change_places(context):
    with gpuarray.context(context):
        i = T.lvector("i")
        w = shared(f64(3, 4), name="w")
        f = function([i], [], updates=[(w, 2 * w.T + w[i].sum())])
        f(GOOD)
        np.testing.assert_allclose(w.get_value(), 2 * f64(3, 4).T + f64(3, 4).sum())


def test_values_that_change_places_and_shapes(context):
    with gpuarray.context(context):
        i, x = T.lvector("i"), T.dvector("x")
        a, b = shared(f64(3), name="a"), shared(f64(3) + 9, name="b")
        grown = shared(f64(3), name="grown")
        updates = [(a, b), (b, a), (grown, T.concatenate([grown, x]))]
        f = function([i, x], x[i].sum(), updates=updates)
        with pytest.raises(IndexError, match="index 7"):
            f(BAD, f64(3))
        np.testing.assert_array_equal(a.get_value(), f64(3))
        np.testing.assert_array_equal(b.get_value(), f64(3) + 9)
        assert grown.get_value().shape == (3,)
        f(GOOD, f64(3))
        np.testing.assert_array_equal(a.get_value(), f64(3) + 9)
        assert grown.get_value().shape == (6,)
        assert f.plan.confirms  # for a plan cannot tell the new value's shape


def test_a_new_value_that_a_wrong_index_is_found_in(context):
    with gpuarray.context(context):
        i, w = T.lvector("i"), shared(f64(3), name="w")
        f = function([i], (w + 1)[i].sum(), updates={w: w + 1})
        with pytest.raises(IndexError, match="index 7"):
            f(BAD)
        np.testing.assert_array_equal(w.get_value(), f64(3))
        f(GOOD)
        np.testing.assert_array_equal(w.get_value(), f64(3) + 1)


def test_a_variable_that_nothing_reads(context):
    with gpuarray.context(context):
        i, w, last = T.lvector("i"), shared(f64(3), name="w"), shared(0.0, name="last")
        f = function([i], [], updates=[(w, w + 1), (last, w[i].sum())])
        check_kept(context, f, [w, last])
        assert not f.plan.confirms


def test_under_conditions(context):
    with gpuarray.context(context):
        i, c, x = T.lvector("i"), T.lscalar("c"), T.dvector("x")
        w = shared(f64(3), name="w")
        new = ifelse(c, w + x[i], w)
        f = function([i, c, x], [], updates={w: new})
        check_kept(context, f, [w], 1, f64(3) + 1)
        before = w.get_value()
        f(BAD, 0, f64(3))  # the branch is not taken
        context.sync()
        np.testing.assert_array_equal(w.get_value(), before)
        on_device = function([i, x], [], updates={w: ifelse(x.sum() > 0, w + x[i], w)})
        check_kept(context, on_device, [w], f64(3) + 1)


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE", "DebugMode"])
def test_in_every_mode(context, mode):
    with gpuarray.context(context):
        i, x = T.lvector("i"), T.dvector("x")
        w = shared(f64(3), name="w")
        f = function([i, x], [], updates={w: w + x[i]}, mode=mode)
        check_kept(context, f, [w], f64(3) + 1)


def test_blocking_and_profiled(context):
    with gpuarray.context(context):
        i, x = T.lvector("i"), T.dvector("x")
        w = shared(f64(3), name="w")
        f = function([i, x], [], updates={w: w + x[i]}, profile=True)
        check_kept(context, f, [w], f64(3) + 1)
        with config.use(launch_blocking=True):
            g = function([i, x], [], updates={w: w + x[i]})
            check_kept(context, g, [w], f64(3) + 1)


def test_what_is_loaded(context, tmp_path):
    with gpuarray.context(context):
        i, x = T.lvector("i"), T.dvector("x")
        w, grown = shared(f64(3), name="w"), shared(f64(3), name="grown")
        f = function(
            [i, x],
            [],
            updates=[(w, w + x[i]), (grown, T.concatenate([grown, x[i]]))],
        )
        f(GOOD, f64(3))
        grown.set_value(f64(3))
        f.save(tmp_path / "f.plan")
        w.set_value(f64(3))
        g = function([i, x], x.sum(), updates={w: w + x[i]})
        g(GOOD, f64(3))
        g.save(tmp_path / "g.plan")
        for path in ("f.plan", "g.plan"):
            for loader in (load, lambda p: gpuarray.load_function(p, context)):
                loaded = loader(tmp_path / path)
                before = {name: np.asarray(loaded[name]) for name in loaded.values}
                with pytest.raises(IndexError, match="index 7"):
                    loaded(BAD, f64(3))
                    context.sync()
                for name, value in before.items():
                    np.testing.assert_array_equal(np.asarray(loaded[name]), value)
                loaded(GOOD, f64(3) + 1)
                context.sync()
                assert (np.asarray(loaded["w"]) != before["w"]).any()


def test_functions_without_such_an_index_choose_nothing(context):
    with gpuarray.context(context):
        x, w = T.dvector("x"), shared(f64(3), name="w")
        f = function([x], [], updates={w: w + x})
        assert counts(f) == 0
        assert not f.plan.confirms


def test_an_index_in_a_loop(context):
    with gpuarray.context(context):
        places = T.lvector("places")
        w, total = shared(f64(3), name="w"), shared(0.0, name="total")
        states, _ = scan(
            lambda i, s, w: T.tanh(s + w[i]), places, T.zeros((), "float64"), w
        )
        updates = [(w, w * 2), (total, total + states[-1])]
        check_kept(context, function([places], states, updates=updates), [w, total])
