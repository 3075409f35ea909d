"""The steps of bodies: what is computed once, under which conditions, and of what."""

import pytest
from gpuarray.compiler import plan as p
from gpuarray.compiler.gpukernels.bodies import Steps
from gpuarray.compiler.gpukernels.calls import needs_of, step_function
from gpuarray.compiler.ops.fused.row_steps import Fold


@pytest.fixture
def steps():
    """Steps of a matrix of one row, a vector, and an integer."""
    matrix = p.ArrayValue("float32", (True, False))
    return Steps([matrix, p.ArrayValue("int8", (False,)), p.IntValue()], [matrix])


def test_an_integer_is_computed_once(steps):
    zero, one = steps.integer(0), steps.integer(1)
    assert steps.integer(0) == zero != one
    length = steps.length(0, 1)
    assert steps.length(0, 1) == length != steps.length(0, 0)
    total = steps.arithmetic("add", length, one)
    assert steps.arithmetic("add", length, one) == total
    assert steps.arithmetic("add", one, length) != total
    assert steps.arithmetic("sub", length, one) != total
    assert steps.device("processors") == steps.device("processors")
    assert steps.device("processors") != steps.device("max_threads")


def test_what_is_computed_under_a_condition_is_not_known_beside_it(steps):
    one = steps.integer(1)
    with steps.under(2, True):
        inside = steps.arithmetic("add", one, 2)
        two = steps.integer(2)
        with steps.under(one, False):
            assert steps.arithmetic("add", one, 2) != inside
            assert steps.steps[-1].when == ((2, True), (one, False))
        assert steps.arithmetic("add", one, 2) != inside
        assert steps.steps[-1].when == ((2, True),)
        with steps.only(()):
            free = steps.arithmetic("sub", one, 2)
    assert steps.integer(2) == two
    assert steps.arithmetic("sub", one, 2) == free
    made = next(step for step in steps.steps if step.outs == (two,))
    assert made.when == ()
    with steps.under(2, True):
        assert steps.arithmetic("sub", one, 2) == free
    assert steps.arithmetic("add", one, 2) != inside
    assert steps.steps[-1].when == ()


def test_views_know_the_axes_of_length_1(steps):
    for form, integers, told in (
        ((), [], (True, False)),
        (((),), [], (True, False)),
        (((), ()), [], (True, False)),
        ((("start",),), [2], (False, False)),
        (((), ("stop",)), [2], (True, False)),
        ((None,), [2], (False,)),
        (((), None), [2], (True,)),
        ((None, ()), [2], (False,)),
    ):
        made = steps.index(0, form, integers)
        assert steps.array(made).broadcastable == told
        assert steps.array(made).dtype == "float32"
    for pattern, told in (
        ((1, 0), (False, True)),
        ((-1, 1), (True, False)),
        ((1, -1, 0), (False, True, True)),
    ):
        assert steps.array(steps.view(0, pattern)).broadcastable == told
    assert steps.array(steps.reshape(0, [2])).broadcastable == (False,)
    assert steps.array(steps.broadcast(0, [2, 2, 2])).broadcastable == (False,) * 3
    assert steps.joint([(True,), (True, True), (False,)]) == (True, False)
    assert steps.joint([(True, False), (True,)]) == (True, False)


def test_launches_and_reductions_know_the_dtypes_of_what_they_read(steps):
    made = steps.launch(
        [0, 1, 2], ["int8", "bool"], "", label="l", names=("x", "y", "n")
    )
    launch = steps.steps[-1]
    assert launch.in_dtypes == ("float32", "int8", "int64")
    assert launch.out_names == ("o0", "o1") and launch.inplace == (-1, -1)
    assert [steps.array(made + i).dtype for i in (0, 1)] == ["int8", "bool"]
    assert steps.array(made).broadcastable == (True, False)
    steps.launch([0], ["int8"], "", label="l", names=("x",), inplace=(0,))
    assert steps.steps[-1].inplace == (0,)
    folds = [Fold(monoid, 0, "int64", "float64") for monoid in ("add", "maximum")]
    texts = [("x", "float32"), ("x", "float32")]
    first = steps.reduction(folds, texts, ["x"], [0], (1,), lines=["a", "b"])
    step = steps.steps[-1]
    assert (step.axes, step.prologue, step.acc_dtype) == ((1,), "a\nb", "float64")
    assert len(step.more) == 1 and step.identity != step.more[0].identity
    assert steps.array(first).broadcastable == (True,)
    assert steps.array(first + 1).dtype == "int64"
    steps.reduction(folds[:1], texts[:1], ["x"], [0], (0,))
    assert steps.array(steps.steps[-1].outs[0]).broadcastable == (False,)
    added = steps.row("add", 0, 1)
    assert steps.array(added).dtype == "float32"
    assert steps.steps[-1].label == "add" and "x + " in steps.steps[-1].expr


def test_checks_are_called_as_the_operation_that_their_text_begins_with(steps):
    count = len(steps.steps)
    steps.require(0, [], "split: no")
    assert len(steps.steps) == count
    for text, label in (("split: no", "split"), ("no", "require")):
        steps.require(0, [2], text)
        step = steps.steps[-1]
        assert (step.label, step.texts, step.ins) == (label, (text,), (0, 2))
    steps.same_length(0, 2, steps.integer(1), "in rows: ")
    assert steps.steps[-1].name == "length" and steps.steps[-1].ins[:2] == (0, 2)
    steps.at_most(0, 2, steps.integer(1))
    assert steps.steps[-1].name == "at_most"


def test_a_cast_to_its_own_dtype_is_nothing(steps):
    assert steps.cast(0, "float32") == 0
    made = steps.cast(0, "float64")
    assert steps.array(made) == p.ArrayValue("float64", (True, False))
    assert steps.is_array(0) and not steps.is_array(2)
    assert steps.array(steps.choose(2, 0, made)).dtype == "float32"
    assert steps.array(steps.copy(0)) == steps.array(0)
    assert isinstance(steps.values[steps.read(0)], p.IntValue)
    whole = steps.plan("body", [made])
    assert (whole.name, whole.n_inputs, whole.outputs) == ("body", 3, (made,))
    assert len(whole.values) == len(steps.values) and whole.constants == ()


@pytest.mark.parametrize(
    ("register", "name"), [(step_function, "arange"), (needs_of, "extremum")]
)
def test_a_name_is_registered_once(register, name):
    with pytest.raises(ValueError, match="registered already"):
        register(name)(print)
