"""Integers that the host must know, steps that are functions, plans that pause."""

import re
from pathlib import Path
from typing import ClassVar

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import Mode, Op, function, plan_steps, shared
from gpuarray.compiler.errors import AssertError
from gpuarray.compiler.gpukernels import lowers, step_function
from gpuarray.compiler.graph.core import Apply, as_variable
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ifelse import ifelse
from gpuarray.compiler.ops.variables.basic import as_tensor_variable
from gpuarray.compiler.plan_stages import is_whole

ROOT = Path(__file__).resolve().parents[2]


class First(Op):
    """The first ``n`` elements of a vector; ``recorded`` says how it is lowered."""

    __props__ = ("recorded",)
    view_map: ClassVar = {0: [0]}

    def __init__(self, recorded=True):
        self.recorded = recorded

    def make_node(self, x, n):
        x, n = as_variable(x), as_tensor_variable(n)
        return Apply(self, [x, n], [TensorType(x.dtype, (False,))()])

    def host_inputs(self, node):
        return (1,)

    def reference(self, x, n):
        return x[: int(n)]


CALLS = []


@step_function("test: first")
def first(x, n):
    CALLS.append(n)
    return x[:n]


@lowers(First)
def lower_first(op, node, k):
    k.call(node, "test: first", node.inputs, recorded=op.recorded)


@pytest.fixture(autouse=True)
def no_calls():
    CALLS.clear()


X = np.arange(10.0)


@pytest.mark.parametrize("recorded", [True, False])
def test_an_integer_input_settles_a_shape(recorded, context):
    x, n = T.dvector("x"), T.iscalar("n")
    with gpuarray.context(context):
        f = function([x, n], [First(recorded)(x * 2, n + 1) + 1, n * 3])
        for count in (3, 5, 3):
            part, tripled = f(X, count)
            np.testing.assert_array_equal(part, X[: count + 1] * 2 + 1)
            assert tripled == 3 * count and tripled.dtype == np.int32
    # What is recorded is called once for each set of integers, the rest at each call.
    again = [] if recorded else [4]
    assert [*CALLS] == [4, 6, *again]


def test_an_integer_that_the_device_computes_is_read(context):
    x, v = T.dvector("x"), T.lvector("v")
    with gpuarray.context(context):
        f = function([x, v], First()(x + 1, v.sum()).sum())
        assert "read" in str(f.plan) and "waits" in str(f.plan)
        for values in ([1, 2], [4, 0, 0], [0]):
            assert f(X, np.array(values)) == (X[: sum(values)] + 1).sum()


def test_a_shared_integer_is_read(context):
    n = shared(np.int64(2), name="n")
    x = T.dvector("x")
    with gpuarray.context(context):
        f = function([x], First()(x, n), updates={n: n + 1})
        assert [len(f(X)) for _ in range(3)] == [2, 3, 4]


def test_a_reshape_to_a_vector_of_lengths(context):
    x, v = T.dvector("x"), T.lvector("v")
    with gpuarray.context(context):
        f = function([x, v], (x * 2).reshape(v, ndim=2).T)
        np.testing.assert_array_equal(f(X, [5, 2]), (X * 2).reshape(5, 2).T)
        with pytest.raises(ValueError, match="holds 3 lengths, expected 2") as caught:
            f(X, [5, 2, 1])
        assert "in function: Reshape{2}" in caught.value.__notes__[-1]
        np.testing.assert_array_equal(f(X, [2, 5]), (X * 2).reshape(2, 5).T)


def test_a_read_tells_of_wrong_indices_before_it(context):
    x, places = T.dvector("x"), T.lvector("places")
    w = shared(np.ones(3), name="w")
    with gpuarray.context(context):
        picked = x[places].sum()  # the line
        f = function([x, places], First()(x, T.cast(picked, "int64")), updates={w: -w})
        assert len(f(X, [1, 2])) == 3
        with pytest.raises(IndexError, match="index 22 is out of bounds") as caught:
            f(X, [1, 22])
        assert "# the line" in caught.value.__notes__[-1]
        np.testing.assert_array_equal(w.get_value(), [-1, -1, -1])
        assert len(f(X, [1, 2])) == 3


def test_lengths_cross_a_pause(context):
    x, y = T.dmatrix("x"), T.dvector("y")
    with gpuarray.context(context):
        picked = First(False)(y, x.shape[0] * 2)
        f = function([x, y], picked.reshape((x.shape[0], 2)) + x.shape[1])
        found = f(np.zeros((3, 4)), X)
    np.testing.assert_array_equal(found, X[:6].reshape(3, 2) + 4)


def test_integers_are_computed_on_the_host_as_the_device_would(context):
    n, m = T.bscalar("n"), T.lscalar("m")
    x = T.dvector("x")
    expressions = [
        n % 3,
        abs(-m),
        T.switch(T.lt(n, m), n, m),
        T.switch(T.ge(n, m) & T.neq(n, 2), m, n // 2),
        n * n,  # of int8: 12 * 12 wraps to -112
        T.cast(n * n, "uint8"),
        T.sgn(m) + T.maximum(n, m),
    ]
    with gpuarray.context(context):
        f = function([x, n, m], [*(First()(x, e) for e in expressions), *expressions])
        assert "read" not in str(f.plan)
        for given in ((1, 2), (12, 5), (3, 9)):
            found = f(np.arange(300.0), *given)
            for part, value in zip(found[:7], found[7:], strict=True):
                assert len(part) == len(range(300)[: int(value)])


@pytest.mark.parametrize(
    "expression",
    [
        lambda x: x[x > 2],
        lambda x: T.set_subtensor(x[x > 2], 0.0),
        lambda x: x.nonzero()[0],
        lambda x: T.unique(x),
        lambda x: T.opt.assert_op(x, T.gt(x.sum(), 0)),
    ],
    ids=["mask", "mask set", "nonzero", "unique", "assert"],
)
@pytest.mark.parametrize("on_side", [False, True], ids=["always", "on a side"])
def test_what_waits_does_not_return_to_python(expression, on_side, context):
    x = T.dvector("x")
    with gpuarray.context(context):
        result = expression(x)
        if on_side:
            result = ifelse(T.gt(x[0], -1), result, result * 0)
        f = function([x], result + 1)
        assert is_whole(f.plan)
        again = function([x], result + 1, mode="DebugMode")(X)
        np.testing.assert_array_equal(f(X), again)


def softmaxed(x):
    rows = T.nnet.softmax(x.dimshuffle("x", 0))
    return T.set_subtensor(rows[rows > 0.1], 7.0)


def twice(x):
    once = T.set_subtensor(x[x > 2], 0.0)
    return T.inc_subtensor(once[once < 2], 10.0)


PUTS = {
    "alone": lambda x: T.set_subtensor(x[x > 2], 0.0),
    "and read": lambda x: T.set_subtensor(x[x > 2], 0.0) + 1,
    "added": lambda x: T.inc_subtensor(x[x > 2], x[x > 2]) * 2,
    "in place": softmaxed,
    "twice": twice,
    "after a read": lambda x: T.set_subtensor(T.exp(x)[x > 2], x[x > 2]).sum(),
}


def from_file(f, path):
    f.save(path, graph=False)
    return gpuarray.load_function(path, context=f.context)


@pytest.mark.parametrize("put", PUTS.values(), ids=PUTS)
@pytest.mark.parametrize("is_saved", [False, True], ids=["", "saved"])
def test_what_is_put_at_a_mask_is_there(put, is_saved, context, tmp_path):
    x = T.dvector("x")
    with gpuarray.context(context):
        result = put(x)
        f = function([x], result)
        wanted = function([x], result, mode="DebugMode")(X)
    run = from_file(f, tmp_path / "f.ga") if is_saved else f
    for _ in range(3):  # the first runs may be kept apart
        given = X.copy()
        np.testing.assert_allclose(run(given), wanted, rtol=1e-12)
        np.testing.assert_array_equal(given, X)


PUT_BESIDE = {
    **PUTS,
    "computed": lambda x: T.set_subtensor((x * 2)[x > 2], 0.0),
    "a sum": lambda x: T.set_subtensor(T.outer(x, x).sum(0)[x > 2], 0.0),
    "a row": lambda x: T.inc_subtensor(T.outer(x, x)[x > 2], 1.0),
    "before": lambda x: First(False)(T.set_subtensor((x * 2)[x > 2], 1.0) + 1, 4),
}


@pytest.mark.parametrize("put", PUT_BESIDE.values(), ids=PUT_BESIDE)
def test_what_is_put_beside_a_step_of_the_host_is_there(put, context):
    x = T.dvector("x")
    with gpuarray.context(context):
        beside = First(recorded=False)(x, 3)
        results = [put(x), beside, put(beside)]
        f = function([x], results)
        wanted = function([x], results, mode=Mode(optimizer=None))(X)
    assert not is_whole(f.plan)
    given = X.copy()
    for got, right in zip(f(given), wanted, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-12)
    np.testing.assert_array_equal(given, X)


def test_overwritten_inputs_of_routines_are_those_of_the_library():
    """Of the table of routines: name, signature, params, texts, results, input."""
    table = (ROOT / "libgpuarray-py/c/routines/routines.c").read_text()
    table = table.replace("GA_PLAN_KERNEL", '"kernel"')
    rows = re.findall(r'{("\w+"), "[^"]*", \w+,\s+[^,]+, \d, ([^,]+),\s', table)
    found = {name.strip('"'): place for name, place in rows}
    assert len(found) > 25
    by_params = {name for name, place in found.items() if place == "GA_OVER_PARAMS"}
    assert by_params == set(plan_steps.OVERWRITTEN_BY_PARAMS)
    assert {
        name: int(place)
        for name, place in found.items()
        if name not in by_params and place != "-1"
    } == plan_steps.OVERWRITTEN
    assert set(plan_steps.VIEWED) <= set(found)


@pytest.mark.parametrize("is_saved", [False, True], ids=["", "saved"])
def test_a_value_is_updated_at_a_mask(is_saved, context, tmp_path):
    x = T.dvector("x")
    with gpuarray.context(context):
        w = shared(X.copy(), name="w")
        new = T.inc_subtensor(w[w < x], 10.0)
        f = function([x], new.sum(), updates={w: new})
    run = from_file(f, tmp_path / "f.ga") if is_saved else f
    wanted = X.copy()
    for limit in (3, 12, 20, 5):
        wanted[wanted < limit] += 10
        np.testing.assert_array_equal(run(np.full(10, float(limit))), wanted.sum())
    if not is_saved:
        np.testing.assert_array_equal(w.get_value(), wanted)


@pytest.mark.parametrize("beside", [False, True], ids=["", "beside a call"])
def test_the_first_call_updates_at_a_mask_and_then_all_elements(beside, context):
    x = T.dvector("x")
    with gpuarray.context(context):
        w = shared(X.copy(), name="w")
        new = T.inc_subtensor(w[w < x], 10.0) * 2
        outputs = [First(recorded=False)(x, 3)] if beside else []
        f = function([x], outputs, updates={w: new})
    wanted = X.copy()
    for limit in (3, 12, 40):
        wanted[wanted < limit] += 10
        wanted *= 2
        f(np.full(10, float(limit)))
        np.testing.assert_array_equal(w.get_value(), wanted)


@pytest.mark.parametrize("text", ["x is too large", "x: too large"])
def test_what_is_asserted_fails_as_before(text, context):
    x = T.dvector("x")
    with gpuarray.context(context):
        f = function([x], T.opt.Assert(text)(x, T.all(x < 5)) + 1)  # the line
        with pytest.raises(AssertError) as caught:
            f(X)
        assert str(caught.value) == text
        assert "# the line" in caught.value.__notes__[-1]
        assert len(f(X[:3])) == 3


def test_what_waits_names_its_line(context):
    x, keep = T.dvector("x"), T.bvector("keep")
    with gpuarray.context(context):
        f = function([x, keep], x[T.eq(keep, 1)] + 1)  # the line
        with pytest.raises(IndexError, match="mask of shape") as caught:
            f(X, [1, 0])
    (note,) = caught.value.__notes__
    assert "input 0, x: float64 of shape (10,)" in note
    assert "# the line" in note


def test_a_mask_has_the_length_of_its_axis(context):
    x, keep = T.dmatrix("x"), T.bvector("keep")
    with gpuarray.context(context):
        f = function([x, keep], x[:, T.eq(keep, 1)])
        assert f(np.ones((2, 3)), [1, 0, 1]).shape == (2, 2)
        text = r"a mask of shape \(2,\) does not fit axis 1 of length 3"
        with pytest.raises(IndexError, match=text):
            f(np.ones((2, 3)), [1, 0])


def test_an_error_of_a_function_names_the_line(context):
    class Broken(First):
        pass

    @lowers(Broken)
    def lower(op, node, k):
        k.call(node, "test: first", [node.inputs[0], node.inputs[0]])

    x = T.dvector("x")
    with gpuarray.context(context):
        f = function([x], Broken()(x, 3))  # the line
        with pytest.raises(Exception) as caught:
            f(X)
    assert "# the line" in caught.value.__notes__[0]
