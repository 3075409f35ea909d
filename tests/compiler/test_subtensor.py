"""Indexing beyond the table of cases: on devices, in updates, out of bounds."""

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from cases import cases_index, f64
from evaluate import evaluate
from gpuarray.compiler import function, rewrites, shared
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.printing import pprint
from gpuarray.compiler.graph.types import DTYPES
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.shape.shape import Shape_i
from gpuarray.compiler.ops.slicing.subtensor import Change, IncSubtensor, Subtensor
from gpuarray.compiler.ops.variables.basic import MakeVector
from run_graph import run_graph


@pytest.mark.parametrize("case", cases_index.OF_INDEXING, ids=lambda case: case.name)
def test_a_case_of_indexing_runs_on_a_device(case, context):
    variables = case.variables()
    outputs = case.build(*variables)
    right = case.expected(*case.arrays)
    several = isinstance(outputs, list)
    with gpuarray.context(context):
        run = function(variables, outputs, on_unused_input="ignore")
        found = run(*case.arrays)
    for value, wanted in zip(
        found if several else [found], right if several else [right], strict=True
    ):
        assert value.dtype == np.asarray(wanted).dtype
        np.testing.assert_allclose(value, wanted, rtol=1e-12)


# ---- how an index is written and printed ----


def test_an_index_prints_as_theanos():
    x, i, j = T.dmatrix("x"), T.lscalar("i"), T.iscalar("j")
    printed = {
        "Subtensor{int64}": x[0],
        "Subtensor{int64, ::}": x[i, :],
        "Subtensor{int64, int32}": x[-1, j],
        "Subtensor{::, int64:int32:}": x[:, i:j],
        "Subtensor{::int64}": x[::-1],
        "IncSubtensor{Inc;int64}": T.inc_subtensor(x[0], 1),
        "IncSubtensor{Set;::, int64:int64:}": T.set_subtensor(x[:, i:5], 1),
        "IncSubtensor{InplaceSet;:int64:}": T.set_subtensor(x[:2], 1, inplace=True),
        "AdvancedSubtensor1": x[[0, 1]],
        "AdvancedSubtensor": x[:, [0, 1]],
        "AdvancedBooleanSubtensor": x[x > 0],
        "AdvancedIncSubtensor1{no_inplace,inc}": T.inc_subtensor(x[[0, 1]], 1),
        "AdvancedIncSubtensor1{inplace,set}": T.set_subtensor(x[[0]], 1, inplace=True),
        "AdvancedIncSubtensor{inplace=False,  set_instead_of_inc=True}": (
            T.set_subtensor(x[:, [0]], 1)
        ),
    }
    for text, variable in printed.items():
        assert str(variable.owner.op) == text
    assert pprint(x[1:, i] * x[0, ::-1]) == "(x[1:, i] * x[0, ::-1])"
    assert pprint(T.inc_subtensor(x[i], x[j])) == "inc_subtensor(x[i], x[j])"


def test_only_axes_sure_to_have_length_1_broadcast():
    x, row, i = T.dtensor3("x"), T.drow("row"), T.lscalar("i")
    k = T.lvector("k")
    for part, pattern in {
        x[0:1]: (False, False, False),  # the axis may be empty
        row[0:1]: (True, False),
        row[:, 0]: (True,),
        row[-1:]: (True, False),
        row[1:]: (False, False),
        row[:i]: (False, False),
        row[::-1]: (True, False),
        x[None, 0]: (True, False, False),
        x[[0]]: (True, False, False),
        x[:, [0], k]: (False, False),
        x[k[:, None], :, [[0, 1]]]: (False, False, False),
        x[[[1]], :, [[0]]]: (True, True, False),
        x[x > 0]: (False,),
    }.items():
        assert part.broadcastable == pattern, part.owner


def test_an_index_stays_on_the_device_of_a_view():
    x = T.fmatrix("x").transfer("null")
    assert x[0, 1:].type.context_name == "null"


def test_parts_of_a_shape_are_known():
    x = T.dtensor3("x")
    assert x.reshape(x.shape[1:][::-1], ndim=2).ndim == 2
    assert x.flatten().reshape((x.shape[0], *x.shape[1:])).ndim == 3
    assert [str(each.owner.op) for each in x.shape] == [
        "Shape_i{0}",
        "Shape_i{1}",
        "Shape_i{2}",
    ]
    made = T.as_tensor_variable([T.dscalar(), T.dscalar()])
    assert T.set_subtensor(made[0], 1.0).ndim == 1


def test_what_has_a_known_length_can_be_iterated_over():
    x = T.drow("x")
    (only,) = x
    assert only.ndim == 1
    first, second = T.constant(f64(2, 3))
    np.testing.assert_array_equal(evaluate(first + second), f64(2, 3).sum(0))
    assert [each.ndim for each in T.dmatrix().nonzero()] == [1, 1]


def test_shapes_of_parts_are_told_without_computing_them():
    given, i, j = T.dmatrix("x"), T.lscalar("i"), T.lscalar("j")
    k = T.lvector("k")
    x = T.dot(given, given)
    parts = [x[i:j], x[1:-1, ::-2], x[:, 5:1:-2], x[-i:, :j], x[3], given[1:]]
    parts += [x[[0, 2]], x[:, k], T.inc_subtensor(x[i], 1), x[i:, k]]
    values = {given: f64(7, 7), i: np.array(2), j: np.array(5), k: np.array([0, 3])}
    for part in parts:
        fgraph = FunctionGraph([given, i, j, k], [T.exp(part).shape])
        rewrites.optimize(fgraph)
        for node in fgraph.apply_nodes:
            assert isinstance(node.op, Elemwise | MakeVector | Shape_i) or (
                isinstance(node.op, Subtensor) and node.inputs[0] is given
            )
        np.testing.assert_array_equal(
            run_graph(fgraph, values)[0], evaluate(part, values).shape
        )


# ---- gradients ----


@pytest.mark.parametrize(
    "key", ["1", "i, ::-1", "1:, i", "k", ":, k", "k, k", "x > 0.3"]
)
def test_gradients_of_second_order(key):
    x, v = T.dmatrix("x"), T.dmatrix("v")
    i, k = T.lscalar("i"), T.lvector("k")
    values = {x: f64(4, 4) / 9, v: f64(4, 4), i: np.array(2), k: np.array([1, 3, 1])}

    def part(given):
        return eval(f"given[{key}]", {"given": given, "i": i, "k": k, "x": x})

    cost = (part(x) ** 3).sum() + (T.set_subtensor(part(x**2), 0.5) * x).sum()
    first = T.grad(cost, x)
    second = T.grad((first * v).sum(), x)
    step = 1e-5
    ends = [
        evaluate(first, {**values, x: values[x] + sign * step * values[v]})
        for sign in (1, -1)
    ]
    np.testing.assert_allclose(
        evaluate(second, values), (ends[0] - ends[1]) / (2 * step), atol=1e-6
    )


def test_an_element_of_a_vector_of_elements_is_set_in_that_vector():
    v, n = T.lvector("v"), T.lscalar("n")
    changed = T.set_subtensor(T.stack([v[0], n])[0], 5)
    assert evaluate(changed, {v: [1, 2, 3], n: 9}).tolist() == [5, 9]


def test_the_gradient_of_values_set_in_one_place_flows_to_the_last():
    x, y = T.dvector("x"), T.dvector("y")
    k = T.lvector("k")
    changed = T.set_subtensor(x[k], y)
    values = {x: f64(3), y: f64(4), k: np.array([0, 2, 0, 2])}
    to_x, to_y = evaluate(T.grad((changed * [1, 2, 3]).sum(), [x, y]), values)
    np.testing.assert_array_equal(to_x, [0, 2, 0])
    np.testing.assert_array_equal(to_y, [0, 0, 1, 3])


# ---- functions ----


def test_a_minibatch_of_shared_data(context):
    data, target = f64(10, 3), np.arange(10.0)
    index, x, y = T.lscalar("index"), T.dmatrix("x"), T.dvector("y")
    with gpuarray.context(context):
        whole, wanted = shared(data, name="data"), shared(target, name="target")
        f = function(
            [index],
            ((x.sum(axis=1) - y) ** 2).mean(),
            givens={
                x: whole[index * 4 : (index + 1) * 4],
                y: wanted[index * 4 : (index + 1) * 4],
            },
        )
        for batch in (0, 1, 2, 0):
            part = slice(batch * 4, (batch + 1) * 4)
            right = ((data[part].sum(1) - target[part]) ** 2).mean()
            np.testing.assert_allclose(f(batch), right, rtol=1e-12)
        assert f.info()["n_binds"] < 3  # not one for each batch


def test_basic_indexing_launches_nothing(context):
    x, i = T.dmatrix("x"), T.lscalar("i")
    with gpuarray.context(context):
        f = function([x, i], x[i:, ::-1].sum())
        assert f(f64(3, 4), 1) == pytest.approx(f64(3, 4)[1:].sum())
        assert f.info()["n_launches"] == 1


def test_a_shared_array_is_changed_where_it_is(context):
    with gpuarray.context(context):
        table = shared(f64(5, 3), name="table")
        i, k, y = T.lscalar("i"), T.lvector("k"), T.dvector("y")
        for new, change in {
            T.set_subtensor(table[i], y): lambda a, i, k, y: a.__setitem__(i, y),
            T.inc_subtensor(table[i:, 1], 2.0): lambda a, i, k, y: np.add.at(
                a, (slice(i, None), 1), 2.0
            ),
            T.inc_subtensor(table[k], y): lambda a, i, k, y: np.add.at(a, k, y),
            T.set_subtensor(table[:, k], 0.0): lambda a, i, k, y: a.__setitem__(
                (slice(None), k), 0
            ),
        }.items():
            table.set_value(f64(5, 3))
            f = function([i, k, y], [], updates={table: new}, on_unused_input="ignore")
            nodes = f.maker.fgraph.apply_nodes
            (node,) = [n for n in nodes if isinstance(n.op, Change)]
            assert node.op.destroy_map == {0: [0]}
            wanted = f64(5, 3)
            for _ in range(2):
                f(2, np.array([1, 0, 1]), np.arange(3.0))
                change(wanted, 2, np.array([1, 0, 1]), np.arange(3.0))
                np.testing.assert_array_equal(table.get_value(), wanted)


def test_a_part_moved_within_its_array_is_not_overwritten_too_early(context):
    with gpuarray.context(context):
        x = shared(np.arange(6.0), name="x")
        f = function([], [], updates={x: T.set_subtensor(x[1:], x[:-1])})
        f()
        np.testing.assert_array_equal(x.get_value(), [0, 0, 1, 2, 3, 4])


def test_gradients_of_several_parts_meet_in_one_array():
    x = T.dmatrix("x")
    cost = sum((x[t] ** (t + 1)).sum() for t in range(5)) + x.sum()
    fgraph = FunctionGraph([x], [T.grad(cost, x)])
    rewrites.optimize(fgraph)
    changes = [n for n in fgraph.apply_nodes if isinstance(n.op, IncSubtensor)]
    assert len(changes) == 5
    assert sum(not n.op.inplace for n in changes) <= 1


def test_a_table_is_trained_where_its_rows_are_named(context):
    with gpuarray.context(context):
        start = f64(6, 3)
        table, rate = shared(start, name="table"), 0.25
        k = T.lvector("k")
        cost = (table[k] ** 3).sum()
        f = function([k], cost, updates={table: table - rate * T.grad(cost, table)})
        nodes = f.maker.fgraph.apply_nodes
        (change,) = [node for node in nodes if isinstance(node.op, Change)]
        assert change.op.inplace
        readers = {client for client, _ in f.maker.fgraph.clients[change.inputs[0]]}
        assert len(readers) == 2  # the rows are taken, and changed
        places = np.array([4, 1, 4])
        f(places)
        np.add.at(start, places, -rate * 3 * f64(6, 3)[places] ** 2)
        np.testing.assert_allclose(table.get_value(), start, rtol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_is_read_set_and_added_to(dtype, context):
    x, y = T.matrix("x", dtype=dtype), T.vector("y", dtype=dtype)
    i, k = T.lscalar("i"), T.lvector("k")
    a = np.arange(12).reshape(3, 4).astype(dtype)
    b = np.arange(1, 5).astype(dtype)
    parts = {
        "x[i]": x[i],
        "x[k]": x[k],
        "x[:, i:]": x[:, i:].T[0],
        "mask": x[[True, False, True]],
    }
    with gpuarray.context(context):
        outputs = [*parts.values()]
        for part in (x[i], x[k]):
            outputs += [T.set_subtensor(part, y), T.inc_subtensor(part, y)]
        found = function([x, y, i, k], outputs)(a, b, 1, np.array([2, 0, 2]))
    wide = evaluate(outputs, {x: a, y: b, i: np.array(1), k: np.array([2, 0, 2])})
    for value, wanted in zip(found, wide, strict=True):
        assert value.dtype == dtype
        np.testing.assert_array_equal(value, wanted)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint64"])
def test_indices_of_every_integer_dtype(dtype, context):
    x, k, i = T.dmatrix("x"), T.vector("k", dtype=dtype), T.scalar("i", dtype=dtype)
    with gpuarray.context(context):
        f = function([x, k, i], [x[k], x[:, k], x[i], x[i:], x[i, k]])
        places, place = np.array([2, 0, 1], dtype), np.array(1, dtype)
        a = f64(3, 3)
        wanted = [a[places], a[:, places], a[1], a[1:], a[1, places]]
        for value, right in zip(f(a, places, place), wanted, strict=True):
            np.testing.assert_array_equal(value, right)


def test_an_index_that_the_device_computes(context):
    x, v = T.dmatrix("x"), T.lvector("v")
    with gpuarray.context(context):
        f = function([x, v], [x[v.max()], x[: v.sum(), v.min() :]])
        row, part = f(f64(4, 5), np.array([2, 1]))
        np.testing.assert_array_equal(row, f64(4, 5)[2])
        np.testing.assert_array_equal(part, f64(4, 5)[:3, 1:])


@pytest.mark.parametrize("pauses", [False, True])
def test_a_bound_that_no_signed_integer_holds_is_clipped(context, pauses):
    x, u = T.dvector("x"), T.tensor("uint64", (), "u")
    with gpuarray.context(context):
        y = T.unique(x) if pauses else x
        f = function([x, u], [y[:u], y[u:], y[::u], y[u::-1], y[1:u]])
        a = np.arange(4.0)
        for n in (np.uint64(n) for n in (1, 2**63 - 1, 2**63, 2**63 + 5, 2**64 - 1)):
            wanted = [a[:n], a[n:], a[::n], a[n::-1], a[1:n]]
            for value, right in zip(f(a, n), wanted, strict=True):
                np.testing.assert_array_equal(value, right)
        with pytest.raises(IndexError, match="is out of bounds"):
            function([x, u], y[u])(a, 2**64 - 1)


# ---- random indices ----


def random_key(rng, shape):
    """An index of an array of this shape, as NumPy takes it, nowhere out of bounds."""
    entries, axis = [], 0
    while axis < len(shape):
        kind = rng.choice(["int", "slice", "array", "mask", "new", "end", "full"])
        length = shape[axis]
        if length == 0 and kind in ("int", "array"):
            kind = "full"
        if kind == "end":
            break
        if kind == "new":
            entries.append(None)
            continue
        if kind == "int":
            entries.append(int(rng.integers(-length, length)))
        elif kind == "slice":
            parts = [int(each) for each in rng.integers(-length - 1, length + 2, 3)]
            parts[2] = parts[2] or None
            parts[:2] = [None if rng.random() < 0.3 else part for part in parts[:2]]
            entries.append(slice(*parts))
        elif kind == "array" and not any(isinstance(e, np.ndarray) for e in entries):
            entries.append(rng.integers(-length, length, int(rng.integers(1, 4))))
        elif kind == "mask" and not any(isinstance(e, np.ndarray) for e in entries):
            entries.append(rng.random(length) < 0.6)
        else:
            entries.append(slice(None))
        axis += 1
    if axis < len(shape) and rng.random() < 0.5:
        entries.append(Ellipsis)
    return tuple(entries)


def symbolic(rng, key):
    """The index with variables for some of its parts, and their values."""
    values = {}

    def part(value):
        if isinstance(value, slice):
            return slice(*map(part, (value.start, value.stop, value.step)))
        if value is None or value is Ellipsis or rng.random() < 0.5:
            return value
        array = np.asarray(value)
        variable = T.tensor(array.dtype, (False,) * array.ndim)
        values[variable] = array
        return variable

    return tuple(map(part, key)), values


@pytest.mark.parametrize("first", range(0, 300, 100))
def test_random_indices_read_set_and_add_as_numpy_does(first):
    for seed in range(first, first + 100):
        rng = np.random.default_rng(seed)
        shape = tuple(int(n) for n in rng.integers(0, 5, int(rng.integers(1, 5))))
        key = random_key(rng, shape)
        a = rng.normal(size=shape)
        read, values = symbolic(rng, key)
        x = T.tensor("float64", [n == 1 and rng.random() < 0.5 for n in shape], "x")
        y = T.tensor("float64", (False,) * a[key].ndim, "y")
        values |= {x: a, y: rng.normal(size=a[key].shape)}
        part = x[read]
        set_, added = a.copy(), a.copy()
        set_[key] = values[y]
        np.add.at(added, key, values[y])
        outputs = [
            part,
            T.set_subtensor(part, y),
            T.inc_subtensor(part, y),
            T.exp(x)[read] + 1.0,
            T.set_subtensor(part, y)[read],
            T.grad((T.exp(x)[read] * y).sum(), x),
        ]
        wanted = [a[key], set_, added, np.exp(a[key]) + 1, set_[key], None]
        wanted[-1] = np.zeros(shape)
        np.add.at(wanted[-1], key, values[y])
        wanted[-1] *= np.exp(a)
        fgraph = FunctionGraph(list(values), outputs)
        rewrites.optimize(fgraph)
        for found in (evaluate(outputs, values), run_graph(fgraph, values)):
            for value, right in zip(found, wanted, strict=True):
                assert value.shape == right.shape, f"seed {seed}: {key}"
                np.testing.assert_allclose(
                    value, right, rtol=1e-12, err_msg=f"seed {seed}: {key}"
                )


def test_the_names_of_theano_are_there():
    from gpuarray.compiler.tensor import subtensor

    for name in subtensor.__all__:
        assert getattr(T, name) is getattr(subtensor, name)
    x, i = T.dmatrix("x"), T.lscalar("i")
    assert T.Subtensor(x[i].owner.op.idx_list)(x, i).owner.op == x[i].owner.op


# ---- axes after a mask ----


@pytest.mark.parametrize("is_set", [False, True])
def test_an_axis_after_a_mask_is_the_one_that_is_checked(is_set, context):
    """A mask of two axes stands for two, so the constant is of the third."""
    x, m = T.dtensor3("x"), T.matrix("m", dtype="bool")
    host = np.arange(30.0).reshape(2, 3, 5)
    mask = np.array([[True, False, True], [False, True, False]])
    with gpuarray.context(context):
        for place in (4, -5, 5, -6):
            for index in (place, [place, 0, place]):
                part = x[m, index]
                f = function([x, m], T.set_subtensor(part, 7.0) if is_set else part)
                if place not in range(-5, 5):
                    with pytest.raises(IndexError):
                        f(host, mask)
                    continue
                expected = host[mask, index]
                if is_set:
                    expected = host.copy()
                    expected[mask, index] = 7
                np.testing.assert_array_equal(f(host, mask), expected)


def test_an_op_in_place_overwrites_its_array():
    x, y = T.dvectors("x", "y")
    node = IncSubtensor(Subtensor(["int64"]).idx_list, inplace=True)(x, y[0], 1).owner
    assert node.op.destroy_map == {0: [0]}
    assert node.op.as_set(True).destroy_map == {}
