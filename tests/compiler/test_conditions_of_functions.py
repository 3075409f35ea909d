"""How functions are made, called and copied, on both sides of the conditions."""

import pickle
import threading
import warnings

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from evaluate import evaluate
from gpuarray.compiler import (
    Apply,
    In,
    Op,
    OrderedUpdates,
    Out,
    Param,
    clone,
    config,
    function,
    load,
    shared,
)
from gpuarray.compiler.function import givens
from gpuarray.compiler.graph.core import Constant
from gpuarray.compiler.graph.types import TensorType, generic
from written import rows

FLOAT = shared(np.float32(1.0), name="FLOAT")
VECTOR = shared(np.ones(3, "float32"), name="VECTOR")
NAMES = {
    "FLOAT": FLOAT,
    "In": In,
    "OrderedUpdates": OrderedUpdates,
    "T": T,
    "VECTOR": VECTOR,
    "clone": clone,
    "function": function,
    "np": np,
}

MISTAKES = rows("""
function(x, x) !! GraphTypeError !! the inputs are x, expected a list of variables
function([x, x], x) !! GraphValueError !! x is an input twice
function([In(x), x], x) !! GraphValueError !! x is an input twice
function([3], x) !! GraphTypeError !! input 0 is 3, expected a symbolic variable
function([x, 'y'], x) !! GraphTypeError !! input 1 is 'y'
function([VECTOR], VECTOR) !! GraphTypeError !! input 0 is the shared variable VECTOR
function([T.constant(1)], x) !! GraphTypeError !! input 0 is the constant
function([In(x, implicit=True)], x) !! GraphTypeError !! the input x is implicit
function([In(x, update=x + 1)], x) !! GraphTypeError !! the input x is updated
function([In(x, value=[[1]])], x) !! GraphTypeError !! the value of the input x
function([x], {1: x}) !! GraphTypeError !! the outputs have the key 1
function([x], [x, 'y']) !! GraphArgumentError !! function: output 1:
function([], y) !! MissingInputError !! y
function([x, y], x) !! UnusedInputError !! the input y is not used by any output
function([x, y], x, on_unused_input='no') !! GraphValueError !! on_unused_input='no'
function([x], x + y) !! MissingInputError !! y
function([x], x, mode='FAST') !! GraphValueError !! function: mode='FAST' is not known
function([x], x, mode=3) !! GraphValueError !! mode=3 is not known; there are
function([x], x, updates={x: x}) !! GraphTypeError !! x is updated but is no shared
function([x], x, updates=[(VECTOR, x), (VECTOR, x)]) !! GraphValueError !! names VECTOR
    twice
function([x], x, updates=[VECTOR]) !! GraphTypeError !! updates holds VECTOR
function([x], x, updates=[(VECTOR, x, x)]) !! GraphTypeError !! updates holds (
function([x], x, updates={'w': x}) !! GraphTypeError !! for 'w', a str; expected a
function([x], x, updates={VECTOR: x.sum()}) !! GraphTypeError !! reduce it, or give it
    axes
function([x], x, updates={VECTOR: T.cast(x, 'float64')}) !! GraphTypeError !! cast it
    with .astype('float32')
function([x], x, updates={VECTOR: T.addbroadcast(x, 0)}) !! GraphTypeError !! the
    axes that broadcast must do so
function([x], x, updates={VECTOR: [[1, 2]]}) !! GraphTypeError !! the update of
    VECTOR
function([x], x, no_default_updates=3) !! GraphTypeError !! no_default_updates=3
function([x], x, no_default_updates=[x]) !! GraphTypeError !! no_default_updates=[x]
function([x], x, givens=[x]) !! GraphTypeError !! givens holds x
function([x], x, givens={x: x.sum()}) !! GraphTypeError !! which does not fit; convert
function([x], x, givens={x: T.cast(x, 'float64')}) !! GraphTypeError !! does not fit
function([x], x + y, givens={x: y, y: x}) !! GraphValueError !! circle: x needs y
    needs x
function([x], x, givens=[(x, y), (x, y)]) !! GraphValueError !! names x twice
function([x], x, givens={x: 'a'}) !! GraphTypeError !! x of TensorType
clone(3) !! GraphTypeError !! clone: given 3, expected variables
clone([x, 3]) !! GraphTypeError !! clone: given 3, expected variables
clone(x, {x: x.sum()}) !! GraphTypeError !! which does not fit
OrderedUpdates({x: 1}) !! GraphTypeError !! x is no shared variable
OrderedUpdates(w=1) !! GraphTypeError !! w is a name
OrderedUpdates([(FLOAT, 1), (FLOAT, 2)]) !! UpdateTwiceError !! FLOAT is updated already
function([x], x).copy(swap={FLOAT: FLOAT}) !! GraphValueError !! FLOAT is to be swapped,
    but
function([], VECTOR * 2).copy(swap={VECTOR: FLOAT}) !! GraphTypeError !! cannot be
    swapped for FLOAT
function([], VECTOR * 2).copy(swap={VECTOR: x}) !! GraphTypeError !! cannot be swapped
    for x
function([], VECTOR * 2).copy(profile=True) !! GraphValueError !! the function has none
    to begin
function([x], x, name='f')() !! GraphTypeError !! f: given 0 inputs by position,
    expected 1: x
function([x], x, name='f')([1], [2]) !! GraphTypeError !! f: given 2 inputs by position
function([x], x, name='f')(y=[1]) !! GraphTypeError !! given 0 inputs by position and y
    by name
function([x, In(y, value=[1])], x + y, name='f')() !! GraphTypeError !! expected 2: x, y
    (or its value)
function([x], x, name='f')([1], x=[1]) !! GraphTypeError !! f: given 1 inputs by
    position and x by name
function([x], x, name='f')([[1]]) !! GraphTypeError !! f: input 0 (x):
function([x, y], x + y, name='f')([1], 'a') !! GraphTypeError !! f: input 1 (y):
function([x], x, name='f')(np.zeros(3)) !! GraphTypeError !! float64
function([In(x, strict=True)], x)([1, 2]) !! GraphTypeError !! input 0 (x)
function([In(x, strict=True)], x)(np.zeros(2)) !! GraphTypeError !! input 0 (x)
function([x], {'a': x})([1], output_subset=['b']) !! GraphValueError !!
    output_subset=['b']; expected some of ['a']
function([x], [x, -x])([1], output_subset=[0, 0]) !! GraphValueError !! each once
function([x], [x, -x])([1], output_subset=[2]) !! GraphValueError !! some of [0, 1]
function([x], x)['x'] !! GraphKeyError !! nothing is kept for 'x'; there are values of
    nothing
function([x], x * FLOAT)['y'] !! GraphKeyError !! there are values of 'FLOAT'
""")


def scope():
    x, y = T.fvector("x"), T.fvector("y")
    return {**NAMES, "x": x, "y": y}


@pytest.mark.parametrize("row", MISTAKES, ids=lambda row: row.partition(" !! ")[0])
@pytest.mark.usefixtures("on_null")
def test_a_mistake_with_a_function_is_told(row):
    text, kind, fact = row.split(" !! ")
    with pytest.raises(Exception) as error:
        eval(text, scope())
    assert type(error.value).__name__ == kind
    assert fact in str(error.value)


@pytest.mark.usefixtures("on_null")
def test_an_object_of_python_is_computed_by_no_function():
    with pytest.raises(TypeError, match="g is of the type Generic"):
        function([generic("g")], [], on_unused_input="ignore")


@pytest.mark.usefixtures("on_null")
def test_an_unused_input_is_warned_of_or_ignored():
    x, y = T.fvector("x"), T.fvector("y")
    with pytest.warns(UserWarning, match="the input y is not used"):
        function([x, y], x, on_unused_input="warn")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function([x, y], x, on_unused_input="ignore")
    with pytest.raises(ValueError, match="an input of its own and givens"):
        function([x, x * 2], x * 2)


def test_an_older_way_to_say_an_input_passes_everything_on():
    x = T.fvector("x")
    told = Param(x, 1, "n", True, True, True, True, True)
    assert told.variable is x
    assert (told.value, told.name, told.called) == (1, "n", "n")
    assert told.mutable is told.strict is told.allow_downcast is True
    assert told.implicit is told.borrow is True
    plain = Param(x)
    assert (plain.value, plain.name, plain.called) == (None, None, "x")
    assert plain.mutable is plain.strict is False
    assert plain.allow_downcast is plain.implicit is plain.borrow is None
    assert In(x, autoname=False).called is None
    assert str(In(x, name="n")) == "n"
    assert str(In(T.fvector())) == "<TensorType(float32, vector)>"


@pytest.fixture
def parts(on_context):
    """A function of two inputs, with values for one, and its outputs by name."""
    x, y = T.fvector("x"), T.fvector("y")
    w = shared(np.zeros(3, "float32"), name="w")
    f = function(
        [x, In(y, value=np.ones(3, "float32"))],
        {"sum": x + y, "left": x - y},
        updates={w: w + x},
    )
    return f, w


GIVEN = np.array([1, 2, 3], "float32")


def test_outputs_by_name_and_some_of_them(parts):
    f, w = parts
    made = f(GIVEN)
    assert list(made) == ["sum", "left"]
    assert made["left"].tolist() == [0, 1, 2]
    assert f(GIVEN, output_subset=["left"]).keys() == {"left"}
    assert f(GIVEN, output_subset=[]) == {}
    assert f(GIVEN, output_subset=None).keys() == made.keys()
    assert w.get_value().tolist() == [4, 8, 12]


def test_a_copy_shares_what_it_is_not_told_to_swap(parts):
    f, w = parts
    other = shared(np.full(3, 5, "float32"), name="other")
    same, swapped = f.copy(), f.copy(swap={w: other})
    still = f.copy(delete_updates=True)
    f["y"] = [2, 2, 2]
    for each, left in ((f, -1), (same, 0), (swapped, 0), (still, 0)):
        assert each(GIVEN)["left"][0] == left
    assert w.get_value().tolist() == [2, 4, 6]
    assert other.get_value().tolist() == [6, 7, 8]
    assert f.get_shared() == [w] and swapped.get_shared() == [other]
    assert f.copy(name="g").name == "g" and f.copy().name == f.name
    f.trust_input = True
    assert f.copy().trust_input
    assert not same.trust_input


def test_a_copy_of_what_runs_on_copies_does_so_too(on_context):
    """The plan overwrites the value, which stays where updates are deleted."""
    x, w = T.fvector("x"), shared(np.zeros(3, "float32"), name="w")
    f = function([x], w + x, updates={w: w + x})
    still = f.copy(delete_updates=True)
    other = shared(np.ones(3, "float32"))
    moved = still.copy(swap={w: other})
    for _ in range(2):
        assert still(GIVEN).tolist() == [1, 2, 3]
        assert moved(GIVEN).tolist() == [2, 3, 4]
    assert other.get_value().tolist() == [1, 1, 1]
    assert w.get_value().tolist() == [0, 0, 0]


def test_a_pickle_keeps_how_a_function_is_called(parts):
    f, _ = parts
    f.trust_input = True
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(f, protocol)).name == f.name
    again = pickle.loads(pickle.dumps(f))
    assert again.trust_input and again.name == f.name
    assert repr(again) == repr(f) and "(x, y) on" in repr(f)
    assert again(GIVEN)["sum"].tolist() == [2, 3, 4]
    assert [v.name for v in again.variables] == ["x", "y"]
    assert [i.name for i in again.inputs] == [None, None]


def test_what_comes_from_a_pickle_or_a_file_is_where_it_is_asked_for(parts, tmp_path):
    f, _ = parts
    again = pickle.loads(pickle.dumps(f)).copy(name="again")  # before it is loaded
    assert again.name == "again"
    assert again(GIVEN)["sum"].tolist() == [2, 3, 4]
    f.save(tmp_path / "f")
    with config.use(device="null"):
        there = load(tmp_path / "f", f.context)
        by_name = load(tmp_path / "f", f.context.name)
        for each in (there, by_name):
            assert each(GIVEN)["left"].tolist() == [0, 1, 2]
    assert load(tmp_path / "f")(GIVEN)["left"].tolist() == [0, 1, 2]


class Lock:
    """What cannot be pickled, as this error says."""

    def __init__(self, error):
        self.error = error

    def __reduce__(self):
        raise self.error("a lock")


class Locked(Op):
    """An op that cannot be pickled, since it holds a lock."""

    __props__ = ()

    def __init__(self, lock):
        self.lock = lock

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = inputs[0] + 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "lock", [threading.Lock(), Lock(AttributeError), Lock(pickle.PicklingError)]
)
def test_what_cannot_be_pickled_is_not_saved(on_context, tmp_path, lock):
    x = T.fvector("x")
    f = function([x], Locked(lock)(x), name="f")
    assert f(GIVEN).tolist() == [2, 3, 4]
    with pytest.raises(ValueError, match=r"save: f: .* cannot be pickled: .*lock"):
        f.save(tmp_path / "f")
    assert not (tmp_path / "f").exists()


def test_what_becomes_of_inputs_and_shared_variables_is_told(on_context):
    x, y = T.fvector("x"), T.fvector("y")
    w = shared(np.zeros(3, "float32"), name="w")
    v = shared(np.zeros(3, "float32"), name="v")
    step = In(y, value=GIVEN, update=y + x)
    f = function([x, step], [x + w, y], updates={w: w + x, v: x})
    # Outputs 0 and 1; then the new values of w (input 2), v, which no one reads, and y.
    assert f.next_values == {2: 2, 4: 1}
    assert f.get_shared() == [w, v]
    assert [each.tolist() for each in f(GIVEN)] == [[1, 2, 3], [1, 2, 3]]
    assert [each.tolist() for each in f(GIVEN)] == [[2, 4, 6], [2, 4, 6]]
    assert v.get_value().tolist() == [1, 2, 3] and f["y"].tolist() == [3, 6, 9]
    assert f(GIVEN, y=GIVEN)[1].tolist() == [1, 2, 3]
    f.free()
    assert f.info()["n_bindings"] == 0


@pytest.mark.parametrize("on_device", [0, 1, None])
def test_outputs_stay_where_they_are_asked_for(on_context, on_device):
    x = T.fvector("x")
    outputs = [Out(x + 1, on_device=i == on_device) for i in (0, 1)]
    made = function([x], outputs)(GIVEN)
    assert [isinstance(each, np.ndarray) for each in made] == [
        i != on_device for i in (0, 1)
    ]
    assert [np.asarray(each).tolist() for each in made] == [[2, 3, 4]] * 2


@pytest.mark.parametrize("own", [None, True, False])
@pytest.mark.parametrize("all_", [None, True, False])
@pytest.mark.parametrize("value", [0.5, 0.1, np.float64(0.1), [0.1], 2])
def test_digits_are_lost_where_the_input_or_else_the_function_says(
    on_context, own, all_, value
):
    x = T.fscalar("x") if np.ndim(value) == 0 else T.fvector("x")
    f = function([In(x, allow_downcast=own)], x + 1, allow_input_downcast=all_)
    allowed = all_ if own is None else own
    exact = bool(np.all(np.asarray(value, "float32") == np.asarray(value, "float64")))
    # float32 is floatX here, so a Python float may lose digits where nothing is said.
    if exact or allowed or (allowed is None and type(value) is float):
        np.testing.assert_array_equal(f(value), np.float32(value) + np.float32(1))
    else:
        with pytest.raises(TypeError, match=r"input 0 \(x\)"):
            f(value)


def test_default_updates_run_unless_they_are_left_out(on_context):
    w, v = shared(np.float32(1), name="w"), shared(np.float32(1), name="v")
    w.default_update, v.default_update = w + v, v * 2
    for left_out, told in (
        (False, [4, 4]),
        (True, [1, 1]),
        ([w], [1, 1]),
        ([v], [3, 1]),
    ):
        w.set_value(np.float32(1))
        v.set_value(np.float32(1))
        f = function([], w * 1, no_default_updates=left_out)
        f(), f()
        assert [w.get_value(), v.get_value()] == told
    f = function([], w * 1, updates={w: w - 1})
    w.set_value(np.float32(1))
    assert [f(), f(), w.get_value()] == [1, 0, -1]


def test_givens_see_through_each_other(on_context):
    x, y, z = T.fvector("x"), T.fvector("y"), T.fvector("z")
    f = function([z], x + y, givens=[(x, y * 2), (y, z + 1)])
    assert f(GIVEN).tolist() == [6, 9, 12]
    g = function([x], x, givens={x: x + 10})
    assert g(GIVEN).tolist() == [11, 12, 13]
    h = function([z], x.sum(), givens={x: T.outer(z, z)}, rebuild_strict=False)
    assert h(GIVEN).tolist() == [6, 12, 18]
    k = function([], x * 1, givens={x: [1, 2]})
    assert k().tolist() == [1, 2]


def test_a_clone_has_nodes_and_maybe_leaves_of_its_own():
    x, y = T.fvector("x"), T.fvector("y")
    made = T.exp(x) * y
    assert clone(None) is None
    copy = clone(made)
    assert copy is not made and copy.owner.inputs[1] is y
    for options in ({"share_inputs": False}, {"copy_inputs": False}):
        apart = clone([made, x], **options)
        assert apart[0].owner.inputs[0].owner.inputs[0] is apart[1] is not x
    assert clone(made, copy_inputs=True).owner.inputs[1] is y
    both = clone([x, y], replace={x: y, y: x})
    assert both[0] is y and both[1] is x
    assert clone(x, replace=[(x, T.outer(x, x))], strict=False).ndim == 2


@pytest.mark.parametrize(("given", "place", "fits"), [
    (("float32", (False,)), ("float32", (False,)), True),
    (("float32", (True,)), ("float32", (False,)), True),
    (("float32", (False,)), ("float32", (True,)), False),
    (("float32", (True, False)), ("float32", (True, True)), False),
    (("float32", (True, True)), ("float32", (True, True)), True),
    (("float64", (True,)), ("float32", (True,)), False),
    (("float32", (True,)), ("float32", (True, True)), False),
])  # fmt: skip
def test_a_type_fits_a_place_of_its_dtype_and_axes(given, place, fits):
    kinds = [TensorType(dtype, pattern) for dtype, pattern in (given, place)]
    assert givens.fits(*kinds) is fits


def test_a_value_that_is_given_may_have_variables_in_it():
    x, a = T.dvector("x"), T.dscalar("a")
    for value in ([a, 1.0], (1.0, a), [a, a], [2.0, 1.0]):
        made = givens.value_for(x, value)
        assert isinstance(made, Constant) == (a not in value)
        np.testing.assert_array_equal(evaluate(made, {a: 2.0}), [
            2.0 if each is a else each for each in value
        ])  # fmt: skip


def test_a_function_is_loaded_where_functions_are_compiled_for(on_context, tmp_path):
    x = T.fvector("x")
    with config.use(device="null"):
        function([x], x * 2).save(tmp_path / "f")
        assert load(tmp_path / "f").context.name == "null"
    assert load(tmp_path / "f").context is on_context
    assert load(tmp_path / "f", "null").context.name == "null"
