"""Joining, making, sorting arrays: what the table of cases cannot say."""

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from evaluate import evaluate
from gpuarray.compiler import config, function
from gpuarray.compiler.ops.creation.diagonals import AllocDiag
from gpuarray.compiler.plan import Call, LaunchStep


@pytest.fixture
def on_context(context):
    with config.use(device=context.name):
        yield context


x, m = T.dvector("x"), T.dmatrix("m")
i, n = T.lscalar("i"), T.lvector("n")

A, B = np.ones((2, 3)), np.ones((3, 3))

FOUND_LATER = [
    (lambda: T.join(1, m, m.T), {m: A}, ValueError, "concatenation axis"),
    (lambda: T.split(x, [1, 1])[0], {x: A[0]}, ValueError, "sum up to it"),
    (
        lambda: T.split(x, n, 3)[0],
        {x: A[0], n: np.array([4, -2, 1])},
        ValueError,
        "sum",
    ),
    (lambda: T.repeat(x, n), {x: A[0], n: np.array([1, 2])}, ValueError, "repeats"),
    (lambda: T.repeat(x, n), {x: A[0], n: np.array([1, 2, -1])}, ValueError, "or more"),
    (lambda: T.specify_shape(m, (3, 2)), {m: A}, ValueError, "expected .3, 2."),
    (lambda: m.squeeze(0), {m: A}, ValueError, "length 2, expected 1"),
    (lambda: AllocDiag()(x, 2, 2), {x: A[0]}, ValueError, "3 elements for a diagonal"),
    (lambda: T.topk(x, 4), {x: A[0]}, ValueError, "kth is 4 for axis 0 of length 3"),
    (lambda: T.topk(x, -i), {x: A[0], i: np.array(4)}, ValueError, "kth is -4"),
    (lambda: T.pad(x, 2, "edge"), {x: A[0][:0]}, IndexError, "out of bounds"),
    (
        lambda: T.bincount(n, assert_nonneg=True),
        {n: np.array([1, -1])},
        ValueError,
        "an element is below 0",
    ),
    (
        lambda: T.ravel_multi_index((n, n), (3, 2)),
        {n: np.array([1, 2])},
        IndexError,
        "out of bounds",
    ),
    (
        lambda: T.unravel_index(n, (3, 2))[0],
        {n: np.array([1, -1])},
        IndexError,
        "out of bounds",
    ),
]


@pytest.mark.parametrize(
    ("make", "values", "kind", "text"),
    FOUND_LATER,
    ids=[f"{number}_{each[3]}" for number, each in enumerate(FOUND_LATER)],
)
def test_a_mistake_of_values_is_named_when_it_runs(make, values, kind, text):
    built = make()
    with pytest.raises(kind, match=text):
        evaluate(built, values)


DTYPES = ["bool", "int8", "uint8", "int32", "uint32", "int64", "uint64"]
DTYPES += ["float16", "float32", "float64", "bfloat16", "complex64", "complex128"]

# What moves or orders elements keeps their dtype.
KEEPING = {
    "join": (lambda x: T.join(0, x, x), lambda x: np.concatenate([x, x])),
    "split": (lambda x: T.split(x, [1, 4])[1], lambda x: x[1:]),
    "tile": (lambda x: T.tile(x, 2), lambda x: np.tile(x, 2)),
    "repeat": (lambda x: T.repeat(x, 2), lambda x: np.repeat(x, 2)),
    "repeat_each": (
        lambda x: T.repeat(x, [0, 1, 2, 0, 1]),
        lambda x: np.repeat(x, [0, 1, 2, 0, 1]),
    ),
    "roll": (lambda x: T.roll(x, 2), lambda x: np.roll(x, 2)),
    "pad": (lambda x: T.pad(x, 1), lambda x: np.pad(x, 1)),
    "pad_wrap": (lambda x: T.pad(x, 2, "wrap"), lambda x: np.pad(x, 2, "wrap")),
    "diag": (lambda x: T.diag(x, 1), lambda x: np.diag(x, 1)),
    "tril": (lambda x: T.tril(T.diag(x)), np.diag),
    "alloc": (lambda x: T.alloc(x, 2, 5), lambda x: np.stack([x, x])),
    "sort": (T.sort, np.sort),
    "topk": (lambda x: T.topk(x, 2), lambda x: np.sort(x)[::-1][:2]),
    "unique": (T.unique, np.unique),
}


def numbers(dtype):
    return np.array([3, 0, 7, 3, 1]).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", KEEPING)
def test_what_moves_elements_keeps_their_dtype(name, dtype):
    build, expected = KEEPING[name]
    variable = T.vector("v", dtype=dtype)
    found = evaluate(build(variable), {variable: numbers(dtype)})
    right = expected(numbers(dtype))
    assert found.dtype == right.dtype == dtype
    np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize("dtype", DTYPES)
def test_places_are_of_64_bits_and_sums_keep_the_dtype(dtype):
    v = T.vector("v", dtype=dtype)
    array = numbers(dtype)
    order = evaluate(T.argsort(v), {v: array})
    assert order.dtype == "int64"
    np.testing.assert_array_equal(order, np.argsort(array, kind="stable"))
    total = evaluate(T.cumsum(v), {v: array})
    assert total.dtype == ("int64" if dtype == "bool" else dtype)
    np.testing.assert_array_equal(total, np.cumsum(array).astype(total.dtype))
    places = evaluate(T.searchsorted(T.sort(v), v), {v: array})
    np.testing.assert_array_equal(places, np.searchsorted(np.sort(array), array))


def test_a_join_of_two_dtypes_holds_both():
    kinds = [("int8", "uint8", "int16"), ("int32", "float32", "float64")]
    kinds += [("bool", "float16", "float16"), ("int64", "uint64", "float64")]
    for one, other, joint in kinds:
        joined = T.join(0, T.vector(dtype=one), T.vector(dtype=other))
        assert joined.dtype == joint
        assert T.stack([T.scalar(dtype=one), T.scalar(dtype=other)]).dtype == joint


def test_lengths_known_now_are_known_to_the_types():
    c, r = T.dcol("c"), T.drow("r")
    assert T.join(0, m, r).broadcastable == (False, False)
    assert T.join(1, m, r).broadcastable == (True, False)
    assert T.join(1, c, c).broadcastable == (False, False)
    assert [p.broadcastable for p in T.split(x, [1, i], 2)] == [(True,), (False,)]
    assert T.stack([r, r], axis=1).broadcastable == (True, False, False)
    assert T.alloc(1.0, 1, i).broadcastable == (True, False)
    assert T.arange(1).broadcastable == (True,)
    assert T.topk(m, 1).broadcastable == (False, True)
    assert T.tile(r, (1, 2)).broadcastable == (True, False)
    assert T.repeat(c, 3, 0).broadcastable == (False, True)
    assert T.specify_shape(m, (1, i)).broadcastable == (True, False)
    assert T.diag(T.tensor("float64", (True,))).broadcastable == (True, True)
    assert T.eye(1, i).broadcastable == (True, False)


def test_what_does_nothing_is_the_variable_itself():
    assert T.join(0, x) is x
    assert T.tile(x, 1) is x
    assert T.repeat(x, 1) is x
    assert T.roll(x, 0) is x
    assert T.pad(x, 0) is x
    assert T.pad(x, 0, "edge") is x
    assert T.diff(x, 0) is x
    assert T.moveaxis(m, 0, 0) is m
    assert T.squeeze(m) is m
    assert T.cpu_contiguous(x) is x
    assert T.atleast_1d(x) is x


def test_arange_takes_the_dtype_that_holds_its_arguments():
    scalars = {d: T.scalar(dtype=d) for d in ("int8", "uint8", "uint64", "float32")}
    assert T.arange(scalars["int8"]).dtype == "int64"
    assert T.arange(scalars["uint8"], scalars["int8"]).dtype == "int64"
    assert T.arange(scalars["uint64"], scalars["uint64"] + 1, scalars["uint64"]).dtype
    assert T.arange(scalars["float32"]).dtype == "float32"
    assert T.arange(T.dscalar()).dtype == "float64"
    assert T.arange(3, dtype="floatX").dtype == "float64"


def test_grids_of_known_lengths_are_constants_of_their_lengths():
    first, second = T.mgrid[0:2, 1:4]
    np.testing.assert_array_equal(evaluate(first), np.mgrid[0:2, 1:4][0])
    np.testing.assert_array_equal(evaluate(second), np.mgrid[0:2, 1:4][1])
    (line,) = T.ogrid[5:0:-2]
    np.testing.assert_array_equal(evaluate(line), [5, 3, 1])


def test_vectors_tell_their_length():
    assert T.get_vector_length(m.shape) == 2
    assert T.get_vector_length(T.stack([i, i, i])) == 3
    assert T.get_vector_length(T.constant([1, 2])) == 2
    assert T.is_flat(m.flatten())
    assert T.is_flat(T.dtensor3().flatten(2), 2)
    assert not T.is_flat(m)
    assert not T.is_flat(m, 2)


def test_splits_and_diagonals_are_views():
    a = np.arange(12.0).reshape(3, 4)
    for view in (
        *T.split(m, [1, 3], axis=1),
        m.diagonal(1),
        T.specify_shape(m, (3, 4)),
    ):
        assert view.owner.op.view_map[view.index] == [0]
        (*_, found) = [evaluate(view, {m: a})]
        assert np.shares_memory(found, a)


def test_the_gradient_of_a_split_fills_what_is_not_used_with_zeros():
    parts = T.split(x, [1, 2], axis=0)
    gradient = T.grad((parts[1] ** 2).sum(), x)
    np.testing.assert_array_equal(
        evaluate(gradient, {x: np.array([1.0, 2, 3])}), [0, 4, 6]
    )


def test_gradients_of_gradients():
    a = np.array([0.3, -1.2, 0.7, 2.0])
    for build in (
        lambda x: T.sort(x) * np.arange(4.0),
        lambda x: T.cumprod(x),
        lambda x: T.cumsum(x**2),
        lambda x: T.repeat(x, [1, 0, 2, 3]) ** 2,
        lambda x: T.topk(x, 2) ** 3,
        lambda x: T.diag(x) ** 2,
        lambda x: T.join(0, x, x**2),
        lambda x: T.tile(x, 2) ** 3,
        lambda x: T.pad(x, 2, "reflect") ** 2,
        lambda x: T.roll(x, 1) * x,
    ):
        cost = (build(x) ** 2).sum()
        (first,) = T.grad(cost, [x])
        weights = np.array([1.0, -2.0, 0.5, 3.0])
        second = evaluate(T.grad((first * weights).sum(), x), {x: a})
        step = 1e-6
        for k in range(4):
            moved = [a.copy(), a.copy()]
            moved[0][k] += step
            moved[1][k] -= step
            ends = [(evaluate(first, {x: b}) * weights).sum() for b in moved]
            slope = (ends[0] - ends[1]) / (2 * step)
            np.testing.assert_allclose(second[k], slope, rtol=1e-5, atol=1e-6)


def test_the_gradient_of_unique_goes_to_the_first_of_each():
    gradient = T.grad((T.unique(x) * T.constant([1.0, 10.0])).sum(), x)
    found = evaluate(gradient, {x: np.array([3.0, 2.0, 3.0, 2.0])})
    np.testing.assert_array_equal(found, [10, 1, 0, 0])


def test_a_shape_of_these_computes_no_value():
    for built, length in (
        (T.join(0, x, T.exp(x)), 6),
        (T.sort(T.exp(x)), 3),
        (T.cumsum(x), 3),
        (T.repeat(x, 4), 12),
        (T.arange(x.shape[0]), 3),
        (T.split(x, [1, 2])[1], 2),
    ):
        told = built.owner.op.infer_shape(
            built.owner, [tuple(each.shape) for each in built.owner.inputs]
        )[built.index][0]
        assert evaluate(told, {x: np.ones(3)}) == length


# ---- conversions ----


def test_numbers_that_are_known_now_are_found():
    a = T.dscalar("a")
    known = T.get_scalar_constant_value
    assert known(3) == 3
    assert known(T.constant([[2.5]])) == 2.5
    assert known(T.zeros((2, 3))) == 0
    assert known(T.fill(m, 4)) == 4
    assert known(T.cast(T.constant(2.5), "int32")) == 2
    assert known(T.as_tensor_variable([a, 2.0, 3.0])[1]) == 2
    assert known(T.constant(2) + T.constant(3)) == 5
    assert known(T.drow().shape[0]) == 1
    assert T.constant(7).get_scalar_constant_value() == 7
    for unknown in (
        a,
        T.constant([1, 2]),
        T.as_tensor_variable([a, 2.0])[0],
        m.shape[0],
    ):
        with pytest.raises(ValueError, match="is no number that is known"):
            known(unknown)
    with pytest.raises(ValueError, match="is no number"):
        known(T.constant(2) + T.constant(3), elemwise=False)
    assert T.extract_constant(a) is a
    assert T.extract_constant(T.constant(2)) == 2


def test_scalars_are_arrays_without_axes():
    a = T.dscalar("a")
    assert T.scalar_from_tensor(a) is a
    assert T.tensor_from_scalar(a) is a
    with pytest.raises(TypeError, match="scalar_from_tensor: given x"):
        T.scalar_from_tensor(x)
    assert T.default(None, a) is a
    assert T.default(x, a) is x


def test_a_copy_is_another_variable_of_the_same_values():
    copied = x.copy("y")
    assert copied is not x
    assert copied.name == "y"
    np.testing.assert_array_equal(evaluate(copied, {x: A[0]}), A[0])


def test_lists_of_variables_are_stacked():
    rows = T.as_tensor_variable([x, x * 2])
    np.testing.assert_array_equal(evaluate(rows, {x: A[0]}), [A[0], 2 * A[0]])
    nested = T.as_tensor_variable([[i, 1], [2, i]])
    np.testing.assert_array_equal(evaluate(nested, {i: np.array(5)}), [[5, 1], [2, 5]])
    assert evaluate(T.dot([x, x], x), {x: A[0]}).shape == (2,)


def test_a_file_is_read_at_each_run(tmp_path, on_context):
    path = tmp_path / "array.npy"
    np.save(path, np.arange(3.0))
    loaded = T.load(str(path), "float64", (False,))
    f = function([], loaded * 2)
    np.testing.assert_array_equal(f(), [0, 2, 4])
    np.save(path, np.arange(4.0))
    np.testing.assert_array_equal(f(), [0, 2, 4, 6])
    np.save(path, np.arange(4))
    with pytest.raises(TypeError, match="holds int64, expected float64"):
        f()
    with pytest.raises(TypeError, match="mmap_mode is 'w'"):
        T.load(str(path), "float64", (False,), "w")


# ---- on the device ----


def test_lengths_that_the_device_computes_are_read_by_the_host(on_context):
    v = T.lvector("v")
    outs = [
        T.arange(v.sum()),
        T.concatenate(T.split(x, v, 3)[::-1]),
        T.repeat(x, v[:1].sum()),
        T.topk(x, v.max()),
        T.eye(v[0], v[2]),
        T.tile(x, v[0]),
    ]
    f = function([x, v], outs)
    for numbers in ([2, 0, 3], [1, 1, 3], [2, 0, 3]):
        v0 = np.array(numbers)
        a = np.arange(float(v0.sum()))
        found = f(a, v0)
        np.testing.assert_array_equal(found[0], np.arange(v0.sum()))
        parts = np.split(a, np.cumsum(v0)[:-1])
        np.testing.assert_array_equal(found[1], np.concatenate(parts[::-1]))
        np.testing.assert_array_equal(found[2], np.repeat(a, v0[0]))
        np.testing.assert_array_equal(found[3], np.sort(a)[::-1][: v0.max()])
        np.testing.assert_array_equal(found[4], np.eye(v0[0], v0[2]))
        np.testing.assert_array_equal(found[5], np.tile(a, v0[0]))


def test_parts_of_shared_memory_are_not_overwritten(on_context):
    first, second = T.split(x * 2, [1, 2], 2)
    f = function([x], [first + 1, second, T.diag(x).diagonal() * 3, x])
    a = np.arange(3.0)
    for _ in range(2):
        found = f(a)
        for value, right in zip(found, ([1], [2, 4], [0, 3, 6], a), strict=True):
            np.testing.assert_array_equal(value, right)


def test_views_that_begin_elsewhere_are_taken_where_they_begin(on_context):
    places = T.lvector("places")
    f = function(
        [x, places],
        [T.searchsorted(x, x + 0.5, sorter=places), T.sort(x), T.cumsum(x)],
    )
    whole = gpuarray.asarray(np.arange(100.0), context=on_context)
    order = gpuarray.asarray(np.arange(-8, 20), context=on_context)
    for start in (0, 4, 10, 3):
        a = np.arange(100.0)[start : start + 8]
        found = f(whole[start : start + 8], order[8:16])
        np.testing.assert_array_equal(found[0], np.arange(1, 9))
        np.testing.assert_array_equal(found[1], a)
        np.testing.assert_array_equal(found[2], np.cumsum(a))


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "complex64"]
)
@pytest.mark.parametrize("name", KEEPING)
def test_the_device_keeps_the_dtype_of_what_moves_elements(name, dtype, on_context):
    build, expected = KEEPING[name]
    variable = T.vector("v", dtype=dtype)
    array = numbers(dtype)
    found = function([variable], build(variable))(array)
    np.testing.assert_array_equal(found, expected(array))
    assert found.dtype == dtype


@pytest.mark.parametrize(
    ("make", "values", "kind", "text"),
    FOUND_LATER,
    ids=[f"{number}_{each[3]}" for number, each in enumerate(FOUND_LATER)],
)
def test_a_mistake_of_values_is_named_on_the_device(
    make, values, kind, text, on_context
):
    f = function(list(values), make())
    with pytest.raises(kind):
        f(*values.values())
        on_context.sync()


# How an array of 3 by 4 lies in memory.
LAYOUTS = {
    "c": lambda a: a,
    "f": lambda a: a.reshape(4, 3).T,
    "reversed": lambda a: a[::-1, ::-1],
    "offset": lambda a: a[:, 1:],
    "strided": lambda a: a[::2, ::3],
    "repeated": lambda a: a[:1].broadcast_to((3, 4)),
}

OF_MATRICES = {
    "join": (lambda x: T.join(1, x, x), lambda x: np.concatenate([x, x], 1)),
    "split": (lambda x: T.split(x, [1, x.shape[0] - 1], 2)[1], lambda x: x[1:]),
    "tile": (lambda x: T.tile(x, (2, 1)), lambda x: np.tile(x, (2, 1))),
    "repeat": (lambda x: T.repeat(x, 2, 0), lambda x: np.repeat(x, 2, 0)),
    "roll": (lambda x: T.roll(x, 1), lambda x: np.roll(x, 1)),
    "pad": (lambda x: T.pad(x, 1, "reflect"), lambda x: np.pad(x, 1, "reflect")),
    "diagonal": (T.diagonal, np.diagonal),
    "tril": (T.tril, np.tril),
    "sort": (lambda x: T.sort(x, 0), lambda x: np.sort(x, 0)),
    "argsort": (T.argsort, lambda x: np.argsort(x, kind="stable")),
    "topk": (lambda x: T.topk(x, 2, 0), lambda x: np.sort(x, 0)[::-1][:2]),
    "cumsum": (lambda x: T.cumsum(x, 1), lambda x: np.cumsum(x, 1)),
    "cumsum_flat": (T.cumsum, np.cumsum),
    "unique": (T.unique, np.unique),
    "searchsorted": (
        lambda x: T.searchsorted(T.sort(x[0]), x),
        lambda x: np.searchsorted(np.sort(x[0]), x),
    ),
    "specify_shape": (lambda x: T.specify_shape(x, x.shape) + 1, lambda x: x + 1),
}


@pytest.mark.parametrize("name", OF_MATRICES)
def test_every_layout_is_understood(name, on_context):
    build, expected = OF_MATRICES[name]
    f = function([m], build(m))
    values = np.random.default_rng(1).permutation(60) / 4.0
    for layout, shape in zip(
        LAYOUTS.values(), [(3, 4)] * 3 + [(3, 5), (5, 12), (3, 4)], strict=True
    ):
        whole = values[: np.prod(shape)].reshape(shape)
        view = layout(gpuarray.asarray(whole, context=on_context))
        np.testing.assert_array_equal(f(view), expected(np.asarray(view)))


def test_a_shape_computes_lengths_only(on_context):
    joined = T.join(0, x, T.exp(x))
    shapes = [T.sort(joined).shape, T.tile(joined, 3).shape, T.diag(T.exp(x)).shape]
    f = function([x], shapes)
    labels = {step.label for step in f.plan.steps if isinstance(step, LaunchStep)}
    assert labels == {"vector"}
    assert not any(isinstance(step, Call) for step in f.plan.steps)
    found = f(np.ones(3))
    for value, right in zip(found, ([6], [18], [3, 3]), strict=True):
        np.testing.assert_array_equal(value, right)


def test_joined_shapes_are_lengths():
    y = T.reshape(m, T.concatenate([m.shape[1:], [-1]]))
    assert y.ndim == 2
    np.testing.assert_array_equal(evaluate(y, {m: A}), A.reshape(3, 2))


def test_a_scan_without_an_axis_takes_a_vector():
    np.testing.assert_array_equal(evaluate(T.CumOp()(m), {m: A}), np.cumsum(A))
