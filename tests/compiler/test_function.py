"""Compiled functions on every context: values, types, updates, transfers, shapes."""

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import In, Out, config, function, shared

pytestmark = pytest.mark.usefixtures("on_context")


def vector(n, seed=0, dtype="float32"):
    return np.random.RandomState(seed).uniform(-2, 2, n).astype(dtype)


def test_the_first_example_of_the_tutorial():
    a = T.vector("a")
    f = function([a], a + a**10)
    assert f([0, 1, 2]).tolist() == [0, 2, 1026]
    (node,) = [n for n in f.maker.fgraph.toposort() if isinstance(n.op, T.Elemwise)]
    assert "pow" not in str(node.op)
    assert f.plan.launches() == 1


def test_one_output_is_an_array_a_list_a_list_and_none_an_empty_list():
    x = T.vector("x")
    assert isinstance(function([x], x * 2)(vector(3)), np.ndarray)
    assert len(function([x], [x * 2, x + 1])(vector(3))) == 2
    count = shared(np.float32(0))
    assert function([x], updates={count: count + x.sum()})(vector(3)) == []


def test_results_stay_on_the_device_where_they_are_transferred(on_context):
    x = T.vector("x")
    result = function([x], T.exp(x).transfer(None))(vector(5))
    assert isinstance(result, gpuarray.Array)
    assert result.context.name == on_context.name
    np.testing.assert_allclose(np.asarray(result), np.exp(vector(5)), rtol=1e-6)


def test_a_transfer_by_the_context_s_own_name_is_the_same_place(on_context):
    x = T.vector("x")
    f = function([x], T.exp(x).transfer(on_context.name))
    assert isinstance(f(vector(5)), gpuarray.Array)
    names = [type(n.op).__name__ for n in f.maker.fgraph.toposort()]
    assert names == ["GpuFromHost", "GpuElemwise"]


def test_device_arrays_are_taken_as_they_are(on_context):
    x = T.vector("x")
    f = function([x], x.sum())
    array = gpuarray.asarray(vector(100), context=on_context)
    np.testing.assert_allclose(f(array), vector(100).sum(), atol=1e-5)
    np.testing.assert_allclose(f(array[::2]), vector(100)[::2].sum(), atol=1e-5)
    np.testing.assert_allclose(f(array[::-1]), vector(100).sum(), atol=1e-5)


def test_updates_change_shared_variables_after_the_outputs_are_computed():
    count = shared(np.float32(1), name="count")
    f = function([], count * 2, updates={count: count + 1})
    assert [float(f()) for _ in range(3)] == [2, 4, 6]
    assert count.get_value() == 4


def test_two_variables_can_swap():
    a, b = shared(vector(4, 1)), shared(vector(4, 2))
    function([], updates=[(a, b), (b, a)])()
    assert np.array_equal(a.get_value(), vector(4, 2))
    assert np.array_equal(b.get_value(), vector(4, 1))
    function([], updates=[(a, a + 1)])()
    assert np.array_equal(b.get_value(), vector(4, 1))


def test_a_result_is_not_overwritten_by_the_next_call():
    w = shared(vector(1000))
    f = function([], [w.transfer(None), (w + 1).transfer(None)], updates={w: w * 2})
    first, second = f()
    f()
    assert np.array_equal(np.asarray(first), vector(1000))
    assert np.array_equal(np.asarray(second), vector(1000) + 1)


def test_an_input_on_the_device_is_never_written(on_context):
    x, w = T.vector("x"), shared(vector(50))
    f = function([x], [T.exp(x + 1), x.transfer(None)], updates={w: w + x})
    array = gpuarray.asarray(vector(50, 3), context=on_context)
    _, same = f(array)
    same += 1
    assert np.array_equal(np.asarray(array), vector(50, 3))


def test_a_shared_value_may_be_an_input_of_its_own_update():
    w = shared(vector(6))
    x = T.vector("x")
    f = function([x], updates={w: w + 2 * x})
    f(w.get_value())
    inside = w.get_value(borrow=True, return_internal_type=True)
    np.testing.assert_allclose(w.get_value(), 3 * vector(6), rtol=1e-6)
    f(inside)
    np.testing.assert_allclose(w.get_value(), 9 * vector(6), rtol=1e-6)


def test_givens_replace_variables():
    x, y = T.vector("x"), T.vector("y")
    f = function([y], x * 2, givens={x: y + 1})
    np.testing.assert_allclose(f(vector(3)), (vector(3) + 1) * 2, rtol=1e-6)


def test_inputs_can_be_given_by_name():
    x, y = T.vector("x"), T.vector("y")
    f = function([In(x), In(y, name="other")], Out(x - y, borrow=True))
    expected = vector(3, 1) - vector(3, 2)
    assert np.array_equal(f(vector(3, 1), other=vector(3, 2)), expected)
    with pytest.raises(TypeError, match="expected 2"):
        f(vector(3), z=vector(3))


def test_another_size_compiles_no_kernel(on_context):
    x, w = T.matrix("x"), shared(vector(5))
    f = function([x], [T.tanh(T.dot(x, w)), (x * x).sum(axis=1)])
    f(np.ones((7, 5), "float32"))
    before = on_context.cache_info().compiled
    for rows in (1, 2, 100, 1000, 3):
        data = vector(rows * 5, rows).reshape(rows, 5)
        y, squares = f(data)
        np.testing.assert_allclose(y, np.tanh(data @ vector(5)), rtol=2e-5, atol=1e-6)
        np.testing.assert_allclose(squares, (data * data).sum(1), rtol=1e-5)
    assert on_context.cache_info().compiled == before


def test_a_known_size_is_bound_once():
    x = T.vector("x")
    f = function([x], x + 1)
    for n in (3, 4, 3, 4, 3):
        f(vector(n))
    assert f.info()["n_binds"] == 2


@pytest.mark.parametrize("shape", [(), (0,), (1,), (5,)])
def test_sums_and_maxima_of_vectors_of_all_sizes(shape):
    x = T.tensor("float32", [False] * len(shape))
    data = np.asarray(np.random.RandomState(0).rand(*shape), "float32")
    np.testing.assert_allclose(function([x], x.sum())(data), data.sum(), rtol=1e-6)
    largest = function([x], x.max())
    if data.size:
        np.testing.assert_allclose(largest(data), data.max(), rtol=1e-6)
    else:
        with pytest.raises(ValueError, match="no elements to reduce"):
            largest(data)


def test_what_has_no_elements_is_told_with_the_context(on_context):
    x = T.dmatrix("x")
    for result in (T.argmax(x, axis=0), T.argmin(x, axis=0), T.max(x, axis=0)):
        with pytest.raises(ValueError, match=f" on {on_context.name}: .*no elements"):
            function([x], result)(np.zeros((0, 4)))


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
@pytest.mark.parametrize(
    "made",
    [
        lambda i: T.zeros((i,)),
        lambda i: T.ones((i, 1)) * 2,
        lambda i: T.ones((i, 2)).sum(),
        lambda i: T.alloc(T.exp(T.cast(i, "float64")), i),
        lambda i: T.broadcast_to(T.arange(3), (i, 3)),
    ],
)
def test_a_length_that_comes_out_negative_is_refused(made, mode):
    i = T.lscalar("i")
    kept = shared(np.arange(3.0))
    f = function([i], made(i), updates={kept: T.zeros((i + 1,), "float64")}, mode=mode)
    f(1)
    for length in (-1, -2):
        with pytest.raises(
            ValueError, match=f"new shape has length {length}, expected 0 or more"
        ):
            f(length)
        assert kept.get_value().tolist() == [0, 0]


def test_reductions_over_any_axes():
    x = T.tensor3("x")
    data = np.random.RandomState(0).rand(3, 4, 5).astype("float32")
    axes = [None, 0, 1, 2, (0, 1), (0, 2), (1, 2)]
    sums = function([x], [x.sum(axis=a) for a in axes])(data)
    means = function([x], [T.mean(x.T, axis=a) for a in axes])(data)
    for axis, total, mean in zip(axes, sums, means, strict=True):
        np.testing.assert_allclose(total, data.sum(axis=axis), rtol=1e-5)
        np.testing.assert_allclose(mean, data.T.mean(axis=axis), rtol=1e-5)


def test_products_of_matrices_and_vectors():
    a, b, x = T.matrix("a"), T.matrix("b"), T.vector("x")
    rng = np.random.RandomState(0)
    va, vb, vx = (rng.rand(*s).astype("float32") for s in ((4, 6), (6, 3), (6,)))
    cases = {
        "ab": (T.dot(a, b), va @ vb),
        "bTaT": (T.dot(b.T, a.T), vb.T @ va.T),
        "ax": (T.dot(a, x), va @ vx),
        "xb": (T.dot(x, b), vx @ vb),
        "xx": (T.dot(x, x), vx @ vx),
        "scaled": (2 * T.dot(a, b) + 3 * T.dot(a, b), 5 * (va @ vb)),
    }
    f = function([a, b, x], [e for e, _ in cases.values()])
    for (name, (_, expected)), got in zip(cases.items(), f(va, vb, vx), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-5, err_msg=name)


def test_shapes_are_host_integers():
    x = T.matrix("x")
    f = function(
        [x], [x.shape, x.reshape((x.shape[1], -1)), x.reshape((-1,)) * x.shape[0]]
    )
    data = np.arange(6, dtype="float32").reshape(2, 3)
    shape, turned, flat = f(data)
    assert shape.tolist() == [2, 3] and shape.dtype == np.int64
    assert np.array_equal(turned, data.reshape(3, 2))
    assert np.array_equal(flat, data.ravel() * 2)


def test_rows_and_columns_broadcast_and_undeclared_axes_do_not():
    m, r, c = T.matrix("m"), T.row("r"), T.col("c")
    data = np.random.RandomState(0).rand(4, 5).astype("float32")
    f = function([m, r, c], m * r + c)
    np.testing.assert_allclose(
        f(data, data[:1], data[:, :1]), data * data[:1] + data[:, :1], rtol=1e-6
    )
    n = T.matrix("n")
    with pytest.raises(ValueError, match="not declared broadcastable"):
        function([m, n], m + n)(data, data[:1])


@pytest.mark.parametrize(
    "dtype", ["float16", "int8", "uint8", "int32", "int64", "bool"]
)
def test_other_dtypes(dtype):
    x = T.tensor(dtype, [False])
    data = np.array([0, 1, 1, 0, 3, 5]).astype(dtype)
    f = function([x], [x + x, T.exp(x), x.sum(), T.cast(x, "float32")])
    doubled, exp, total, cast = f(data)
    assert np.array_equal(doubled, data + data) and doubled.dtype == (data + data).dtype
    np.testing.assert_allclose(exp, np.exp(data), rtol=2e-3)
    least = "float16" if dtype == "float16" else "float32"
    assert exp.dtype == np.result_type(np.exp(data).dtype, least)
    assert total == data.sum() and total.dtype == data.sum().dtype
    assert np.array_equal(cast, data.astype("float32"))


def test_float64_where_the_device_has_it(on_context):
    if not on_context.has_double:
        pytest.skip(f"{on_context.device_name} has no float64")
    x = T.dvector("x")
    data = vector(1000, dtype="float64")
    np.testing.assert_allclose(
        function([x], T.log1p(T.exp(x)))(data), np.logaddexp(0, data)
    )


def test_outputs_may_be_constants(on_context):
    data = vector(4)
    f = function([], [T.constant(3.0), np.float32(2) + T.constant(3.0), data])
    three, five, array = f()
    assert three.shape == five.shape == () and (three, five) == (3, 5)
    assert np.array_equal(array, data)
    moved = function([], T.constant(data).transfer(None))
    result = moved()
    assert isinstance(result, gpuarray.Array)
    result += 1
    assert np.array_equal(np.asarray(moved()), data)


def test_an_update_by_a_constant_gives_it_anew_each_time():
    w, b = shared(vector(4)), shared(np.float32(3))
    reset = function([], updates={w: np.ones(4, "float32"), b: 1.0})
    count = function([], updates={w: w + 1, b: b + 1})
    for _ in range(2):
        reset()
        count()
        assert w.get_value().tolist() == [2, 2, 2, 2]
        assert b.get_value() == 2 and b.get_value().shape == ()


def test_one_expression_may_be_output_and_update_of_several_variables():
    w, u = shared(vector(4)), shared(vector(4))
    new = w + u
    f = function([], [new, new.transfer(None), new], updates=[(w, new), (u, new)])
    first, second, third = f()
    function([], updates={w: w * 0})()
    second += 1
    for result in (first, third, u.get_value(), np.asarray(second) - 1):
        np.testing.assert_allclose(result, 2 * vector(4), rtol=1e-6)
    assert not w.get_value().any()


def test_an_input_may_be_an_output_or_an_update(on_context):
    x, w = T.vector("x"), shared(vector(4))
    f = function([x], [x, x.transfer(None), x.T], updates={w: x})
    array = gpuarray.asarray(vector(4, 1), context=on_context)
    for result in f(array):
        assert np.array_equal(np.asarray(result), vector(4, 1))
    function([], updates={w: w + 1})()
    assert np.array_equal(np.asarray(array), vector(4, 1))


def test_a_transposed_variable_may_replace_itself():
    w = shared(np.arange(6, dtype="float32").reshape(2, 3))
    f = function([], w.sum(axis=0), updates={w: w.T})
    assert f().tolist() == [3, 5, 7]
    assert w.get_value().tolist() == [[0, 3], [1, 4], [2, 5]]
    assert f().tolist() == [3, 12]


def test_float16_variables_are_updated():
    w, x = shared(np.ones(3, "float16")), T.vector("x", dtype="float16")
    f = function([x], w.sum(), updates={w: w * 2 + x})
    assert [float(f(np.ones(3, "float16"))) for _ in range(3)] == [3, 9, 21]
    assert w.get_value().dtype == np.float16


def test_arrays_without_elements():
    x, m = T.vector("x"), T.matrix("m")
    f = function(
        [x, m],
        [T.exp(x), x.sum(), T.dot(x, x), T.dot(m, x), T.dot(x, m.T), m.T, x + m],
    )
    for rows, columns in ((0, 0), (3, 0), (0, 1)):
        vx, vm = np.ones(columns, "float32"), np.ones((rows, columns), "float32")
        expected = [
            np.exp(vx), vx.sum(), vx @ vx, vm @ vx, vx @ vm.T, vm.T, vx + vm
        ]  # fmt: skip
        for got, want in zip(f(vx, vm), expected, strict=True):
            assert got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-6)


def test_scalars_are_taken_from_python_and_numpy():
    s, i = T.scalar("s"), T.iscalar("i")
    f = function([s, i], [s * i, s])
    for given in ((2, 3), (2.0, np.int32(3)), (np.float32(2), np.array(3, "int32"))):
        product, same = f(*given)
        assert product.shape == same.shape == () and (product, same) == (6, 2)


def test_givens_replace_shared_variables_in_outputs_and_updates():
    w, u, x = shared(vector(3)), shared(vector(3, 1)), T.vector("x")
    assert np.array_equal(function([], w * 2, givens=[(w, u)])(), vector(3, 1) * 2)
    f = function([x], w * 2, givens={w: x}, updates={w: w + 1})
    assert np.array_equal(f(vector(3, 2)), vector(3, 2) * 2)
    assert np.array_equal(w.get_value(), vector(3, 2) + 1)


def test_arrays_are_repeated_by_broadcast_to():
    x, m, s = T.vector("x"), T.matrix("m"), T.scalar("s")
    data, rows = vector(4), np.ones((3, 4), "float32")
    wide = T.broadcast_to(x, (3, 4))
    f = function([x, m], [wide, wide.T + 1, T.dot(wide, x), T.broadcast_to(x, m.shape)])
    repeated, turned, product, same = f(data, rows)
    assert np.array_equal(repeated, np.broadcast_to(data, (3, 4)))
    assert np.array_equal(turned, np.broadcast_to(data, (3, 4)).T + 1)
    np.testing.assert_allclose(product, [data @ data] * 3, rtol=1e-5)
    assert np.array_equal(same, repeated)
    kept = function([s, m], T.broadcast_to(s, (m.shape[0], 2)).transfer(None))(1, rows)
    kept[0] = 5  # each element has a place of its own
    assert np.asarray(kept).tolist() == [[5, 5], [1, 1], [1, 1]]


def test_an_axis_declared_to_broadcast_must_have_length_1():
    m, n = T.matrix("m"), T.matrix("n")
    f = function([m, n], T.addbroadcast(m, 0) * n)
    row, data = np.ones((1, 3), "float32") * 2, np.ones((4, 3), "float32")
    assert np.array_equal(f(row, data), data * 2)
    with pytest.raises(ValueError, match="elements"):
        f(data, data)


def test_vectors_are_made_of_scalars_and_lengths():
    s, m = T.scalar("s"), T.matrix("m")
    data = np.ones((2, 3), "float32")
    make = T.as_tensor_variable
    f = function(
        [s, m], [make([s, s * 2, 1]), make([m.shape[0], s]), make([m.shape[1]])]
    )
    mixed, joined, lengths = f(5, data)
    assert mixed.tolist() == [5, 10, 1]
    assert joined.tolist() == [2, 5]
    assert lengths.tolist() == [3] and lengths.dtype == np.int64
    assert function([s], s.shape)(1).shape == (0,)


def test_a_context_has_the_names_that_the_program_maps(on_context):
    with config.use(device="null", contexts=f"dev0->{on_context.name}"):
        x, w = T.fvector("x"), shared(vector(3), target="dev0")
        f = function([x], T.exp(x).transfer("dev0"))
        g = function([x], x + w)
    assert f.context is g.context is on_context
    np.testing.assert_allclose(np.asarray(f(vector(3))), np.exp(vector(3)), rtol=1e-6)


def test_transfers_within_a_context_are_free(on_context):
    x = T.vector("x")
    f = function([x], T.exp(x).transfer(None).transfer(on_context.name))
    assert isinstance(f(vector(3)), gpuarray.Array)
    assert f.plan.launches() == 1


@pytest.mark.parametrize("rewrites", ["none", "safe", "all"])
def test_what_is_known_without_arrays_has_its_shape(rewrites):
    m = T.matrix("m")
    one = T.constant(np.full((1, 1), 3, "float32"))
    rows = m.shape[0].dimshuffle("x", "x")
    expressions = [one + one, one * m.shape[0], rows % 3, rows * 2.5, one.sum(axis=0)]
    with config.use(rewrites=rewrites):
        f = function([m], expressions)
    results = f(np.ones((2, 4), "float32"))
    expected = [[[6]], [[6]], [[2]], [[5]], [3]]
    for got, want in zip(results, expected, strict=True):
        assert got.tolist() == want


@pytest.mark.parametrize("settings", [{"rewrites": "none"}, {"fuse": False}])
def test_rewrites_change_no_value(settings):
    x, y, b = T.matrix("x"), T.vector("y"), T.scalar("b")
    cost = T.log(1 + T.exp(-T.dot(x, y) - b)).mean() + (y**2).sum()
    outputs = [cost, T.grad(cost, y)]
    with config.use(**settings):
        plain = function([x, y, b], outputs)
    data = vector(15).reshape(5, 3), vector(3), 0.5
    for got, want in zip(
        function([x, y, b], outputs)(*data), plain(*data), strict=True
    ):
        np.testing.assert_allclose(got, want, rtol=1e-5)


def test_two_shared_variables_of_one_array_go_their_own_ways(on_context):
    array = gpuarray.asarray(vector(5), context=on_context)
    a, b = shared(array, borrow=True), shared(array, borrow=True)
    function([], updates=[(a, a + 1), (b, b * 2)])()
    np.testing.assert_allclose(a.get_value(), vector(5) + 1, rtol=1e-6)
    np.testing.assert_allclose(b.get_value(), vector(5) * 2, rtol=1e-6)
