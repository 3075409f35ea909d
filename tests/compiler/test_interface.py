"""Functions as they are called: defaults, names, forms of outputs, kept values."""

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import In, OrderedUpdates, Out, Param, function, shared
from gpuarray.compiler.function import mode_of

pytestmark = pytest.mark.usefixtures("on_context")


def vector(n, seed=0):
    return np.random.RandomState(seed).uniform(-2, 2, n).astype("float32")


def test_an_input_may_have_a_value_that_a_call_leaves_out():
    x, y, w = T.vector("x"), T.scalar("y"), T.scalar("w")
    f = function([x, In(y, value=1), In(w, value=2, name="weight")], (x + y) * w)
    assert f([1, 2]).tolist() == [4, 6]
    assert f([1, 2], 0).tolist() == [2, 4]
    assert f([1, 2], weight=3).tolist() == [6, 9]
    assert f(x=[1, 2], y=3, weight=1).tolist() == [4, 5]
    f["weight"] = 10
    assert f([1, 2]).tolist() == [20, 30]
    assert f["weight"] == f[w] == f.value[w] == 10
    assert f.value["y"] == 1 and "y" in f and "x" not in f
    older = function([x, Param(y, default=1, name="other")], x + y)
    assert older([1, 2], other=5).tolist() == [6, 7] and older["other"] == 1
    with pytest.raises(KeyError, match="nothing is kept for 'x'"):
        f["x"]
    with pytest.raises(TypeError, match="axes, expected 0"):
        f["y"] = [1, 2]


def test_a_name_is_the_variables_unless_another_or_none_is_asked_for():
    x, y = T.scalar("x"), T.scalar("y")
    for given, called in (
        (In(y), "y"),
        (In(y, name="z"), "z"),
        (In(y, name="z", autoname=False), "z"),
        (In(y, autoname=False), None),
    ):
        f = function([x, given], x - y)
        for name in ("y", "z"):
            if name == called:
                assert f(5, **{name: 2}) == 3
                continue
            with pytest.raises(TypeError, match=name):
                f(5, **{name: 2})
        assert f(5, 2) == 3


def test_an_input_may_have_a_next_value():
    state, step = T.scalar("state"), T.scalar("step")
    count = function([step, In(state, value=0, update=state + step)], state)
    assert [float(count(2)) for _ in range(3)] == [0, 2, 4]
    assert count["state"] == 6
    assert count(1, 100) == 100
    assert count["state"] == 101
    back = function(
        [step, In(state, value=count.container[state], update=state - step)], state
    )
    assert back(1) == 101 and count(0) == 100
    count[state] = 5
    assert back(0) == 5


def test_an_implicit_input_is_never_given():
    x, state = T.scalar("x"), T.scalar("state")
    f = function([In(state, value=3, implicit=True), x], state * x)
    assert f(2) == 6
    with pytest.raises(TypeError, match="expected 1: x"):
        f(2, 3)
    with pytest.raises(TypeError, match="expected 1: x"):
        f(2, state=3)


def test_an_input_of_a_shape_may_have_a_value():
    x, n = T.vector("x"), T.lscalar("n")
    f = function([x, In(n, value=2)], x.reshape((n, -1)))
    assert f(vector(6)).shape == (2, 3)
    assert f(vector(6), 3).shape == (3, 2)
    three = gpuarray.asarray(np.array(3), context=f.context)
    assert f(vector(6), three).shape == (3, 2)


def test_each_input_says_what_it_takes():
    x = T.fvector("x")
    strict = function([In(x, strict=True)], x + 1)
    assert strict(vector(3)).dtype == np.float32
    for wrong in ([1.0, 2.0], np.ones(2, "float16"), 3):
        with pytest.raises(TypeError, match="the input is strict"):
            strict(wrong)
    lossy = function([In(x, allow_downcast=True)], x + 1)
    assert lossy(np.array([0.1])).dtype == np.float32
    exact = function([In(x, allow_downcast=False)], x + 1, allow_input_downcast=True)
    with pytest.raises(TypeError, match="does not fit"):
        exact(np.array([0.1]))
    assert exact([1.5]).tolist() == [2.5]


def test_trusted_input_is_not_checked():
    x = T.fvector("x")
    f = function([x], x + 1)
    f.trust_input = True
    assert np.array_equal(f(vector(4)), vector(4) + 1)


def test_outputs_come_in_the_form_that_they_are_asked_in():
    x = T.vector("x")
    f = function([x], {"double": x * 2, "sum": x.sum()})
    found = f(vector(3))
    assert list(found) == ["double", "sum"]
    np.testing.assert_allclose(found["double"], 2 * vector(3))
    assert function([x], [x])(vector(3))[0].shape == (3,)
    assert function([x], (x,))(vector(3))[0].shape == (3,)
    assert function([x], None, on_unused_input="ignore")(vector(3)) == []
    assert function([x], {}, on_unused_input="ignore")(vector(3)) == {}


def test_outputs_stay_on_the_device_where_the_program_says(on_context):
    x = T.vector("x")
    one, two = function([x], [Out(x * 2, on_device=True), x * 3])(vector(3))
    assert isinstance(one, gpuarray.Array) and one.context is on_context
    assert isinstance(two, np.ndarray)
    kept = function([x], {"a": x * 2, "b": x}, on_device=True)(vector(3))
    assert all(isinstance(each, gpuarray.Array) for each in kept.values())
    np.testing.assert_allclose(np.asarray(kept["b"]), vector(3))


def test_some_outputs_can_be_asked_for_and_the_others_cost_nothing():
    x, w = T.vector("x"), shared(np.float32(0))
    f = function([x], [x + 1, T.exp(x), T.dot(x, x)], updates={w: w + 1})
    assert [each.shape for each in f(vector(3), output_subset=[2, 0])] == [(), (3,)]
    assert f(vector(3), output_subset=[]) == []
    assert len(f(vector(3), output_subset=None)) == 3
    assert w.get_value() == 3
    assert f._with_outputs((0,)).plan.launches() < f.plan.launches()
    g = function([x], {"a": x + 1, "b": x * 2})
    assert list(g(vector(3), output_subset=["b"])) == ["b"]
    for wrong in ([3], [0, 0], ["a"]):
        with pytest.raises(ValueError, match=r"output_subset=.*expected some of"):
            f(vector(3), output_subset=wrong)


def test_some_outputs_have_their_own_constants_alone():
    x, k = T.vector("x"), vector(900, 1)
    f = function([x], [T.dot(x, T.constant(k)), T.sum(x[:2] * k[:2]), x[:3] + k[:3]])
    v = vector(900)
    whole = f(v)
    for places in ([0], [1], [2], [2, 0]):
        for got, right in zip(f(v, output_subset=places), places, strict=True):
            np.testing.assert_array_equal(got, whole[right])
        part = f._with_outputs(tuple(places)).plan
        kept = {number for number, _ in part.constants}
        assert kept <= {each for step in part.steps for each in step.reads}
    assert len(f._with_outputs((0,)).plan.constants) < len(f.plan.constants)


def test_shared_variables_bring_their_updates_along():
    count, other = shared(np.float32(0), name="count"), shared(np.float32(10))
    count.default_update = count + other
    other.default_update = other * 2
    f = function([], count)
    assert [float(f()) for _ in range(3)] == [0, 10, 30]
    assert other.get_value() == 80
    function([], count, no_default_updates=True)()
    assert count.get_value() == 70
    function([], count, no_default_updates=[other])()
    assert count.get_value() == 150 and other.get_value() == 80
    function([], count, updates={count: count - 150})()
    assert count.get_value() == 0 and other.get_value() == 80
    function([], other + 1, updates=[(count, count * 1)])()
    assert other.get_value() == 160


def test_updates_can_be_gathered():
    w, u = shared(vector(3)), shared(vector(3, 1))
    both = OrderedUpdates({w: w + 1}) + OrderedUpdates([(u, w * 2)])
    function([], updates=both)()
    np.testing.assert_allclose(w.get_value(), vector(3) + 1)
    np.testing.assert_allclose(u.get_value(), vector(3) * 2)
    with pytest.raises(KeyError, match="is updated already"):
        both.update([(w, w + 2)])
    with pytest.raises(TypeError, match="no shared variable"):
        OrderedUpdates({T.vector("x"): w})


def test_values_that_are_no_variables_take_the_type_of_what_they_update():
    w, n = shared(vector(3)), shared(np.int32(3))
    function([], updates={w: [1, 2, 3], n: 7})()
    assert w.get_value().tolist() == [1, 2, 3] and w.get_value().dtype == np.float32
    assert n.get_value() == 7 and n.get_value().dtype == np.int32
    with pytest.raises(TypeError, match="the update of"):
        function([], updates={n: 2.5})


def test_givens_replace_each_other_in_order():
    a, b, c = map(T.vector, "abc")
    f = function([c], a * 2, givens=[(a, b + 1), (b, c * 10)])
    np.testing.assert_allclose(f([1, 2]), [22, 42])
    x, data = T.vector("x"), shared(vector(6).reshape(2, 3))
    g = function([], x.sum(), givens={x: data.sum(axis=0)})
    np.testing.assert_allclose(g(), vector(6).sum(), rtol=1e-5)
    h = function([], x * 2, givens={x: [1, 1, 1]})
    assert h().tolist() == [2, 2, 2]


def test_givens_of_another_type_are_taken_where_the_program_says_so():
    x, n = T.fvector("x"), T.ivector("n")
    with pytest.raises(TypeError, match="rebuild_strict=False"):
        function([n], x + 1, givens={x: n})
    f = function([n], x + 1, givens={x: n}, rebuild_strict=False)
    assert f(np.array([1, 2], "int32")).dtype == np.int32


def test_batches_are_picked_from_a_shared_data_set():
    data = vector(24).reshape(8, 3)
    x, i, images = T.matrix("x"), T.lscalar("i"), shared(data)
    f = function([i], x.sum(axis=1), givens={x: images[i * 2 : (i + 1) * 2]})
    for batch in range(4):
        expected = data[2 * batch : 2 * batch + 2].sum(axis=1)
        np.testing.assert_allclose(f(batch), expected, rtol=1e-5)


def test_a_function_has_the_name_of_its_line_and_lists_what_it_uses():
    x, w = T.vector("x"), shared(vector(3), name="w")
    u = shared(np.float32(0), name="u")
    f = function([x], x + w, updates={u: x.sum()})
    assert f.name.startswith("test_interface.py:")
    assert function([x], x, name="f").name == "f"
    assert f.get_shared() == [w, u]
    assert f["w"].tolist() == vector(3).tolist()
    assert [str(each) for each in f.inputs] == ["x"]
    assert f.variables == [x]
    f(vector(3))
    f.free()
    f.sync_shared()
    np.testing.assert_allclose(f(vector(3)), 2 * vector(3))
    assert f.maker.mode == mode_of("FAST_RUN")


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE", None])
def test_modes_change_no_value(mode):
    x = T.vector("x")
    f = function([x], T.log(1 + T.exp(x)).sum(), mode=mode)
    np.testing.assert_allclose(f(vector(9)), np.logaddexp(0, vector(9)).sum(), 1e-5)


NUMBERS = [0.1, 2.0, 3, 300, True, np.float64(0.1), np.float32(0.5), np.int64(4)]


def outcome(call, number, **options):
    """What a call gives, or that it refuses."""
    try:
        return np.asarray(call(number, **options)).item()
    except (TypeError, ValueError, OverflowError):
        return "refused"


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8"])
def test_an_input_takes_what_its_type_takes_as_it_is_asked(dtype):
    """The input says before the function whether digits may be lost."""
    for mine in (None, True, False):
        for of_all in (None, True, False):
            x = T.scalar("x", dtype)
            taken = In(x, allow_downcast=mine)
            f = function([taken], x, allow_input_downcast=of_all)
            asked = of_all if mine is None else mine
            for number in NUMBERS:
                right = outcome(x.type.filter, number, allow_downcast=asked)
                assert outcome(f, number) == right, (mine, of_all, number)
    strict = function([In(x, strict=True)], x)
    for number in NUMBERS:
        right = outcome(x.type.filter, number, strict=True)
        assert outcome(strict, number) == right, number


def test_a_value_without_a_name_is_found_by_its_variable_alone():
    x, y, w = T.scalar("x"), T.scalar("y"), shared(np.float32(3))
    f = function([x, In(y, value=2, autoname=False)], (x + y) * w)
    assert None not in f and "y" not in f
    assert f[y] == 2 and f[w] == 3
    with pytest.raises(KeyError):
        f[None]


def test_a_variable_may_be_given_as_a_list_of_others():
    x, a, b = T.vector("x"), T.scalar("a"), T.scalar("b")
    assert function([a, b], x * 2, givens={x: [a, b]})(1, 4).tolist() == [2, 8]
    assert function([], x * 2, givens={x: [1, 4]})().tolist() == [2, 8]
