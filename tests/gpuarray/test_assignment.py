"""Elements set by ``copyto``, ``putmask``, ``place``, ``fill_diagonal``; ``choose``."""

import gpuarray
import numpy as np
import pytest
from differential import on, outcome
from gpuarray.errors import BadIndex, BadType, BadValue, ReadOnly
from judge import assert_same

LAYOUTS = {
    "C": lambda a: a,
    "F": np.asfortranarray,
    "reversed": lambda a: a[::-1, ::-1],
    "steps": lambda a: np.repeat(a, 2, 1)[:, ::2],
    "empty": lambda a: a[:, :0],
}


def stored(context, name, host, *arguments, **options):
    """The array and NumPy's after a call; the two exceptions, if both raise."""
    theirs, ours = host.copy("K"), on(context, host)
    moved = [on(context, x) if isinstance(x, np.ndarray) else x for x in arguments]
    named = {
        k: on(context, v) if isinstance(v, np.ndarray) else v
        for k, v in options.items()
    }
    expected = outcome(getattr(np, name), (theirs, *arguments), options)
    got = outcome(getattr(gpuarray, name), (ours, *moved), named)
    if isinstance(expected, Exception):
        assert isinstance(got, type(expected)), (got, expected)
        assert isinstance(got, gpuarray.GpuArrayError)
        return got
    assert got is None and expected is None
    assert_same(ours, theirs)
    dispatched = on(context, host)
    getattr(np, name)(dispatched, *moved, **named)
    assert_same(dispatched, theirs)
    return None


@pytest.fixture(params=LAYOUTS)
def host(request):
    return LAYOUTS[request.param](np.arange(12, dtype="float32").reshape(3, 4))


VALUES = [7, [1.5], [-1, -2, -3], list(range(30)), [], np.arange(12).reshape(3, 4) / 4]


@pytest.mark.parametrize("name", ["putmask", "place"])
@pytest.mark.parametrize("values", VALUES, ids=str)
def test_values_are_repeated_where_a_mask_is_true(context, host, name, values):
    if isinstance(values, np.ndarray):
        values = values.astype("float32")
    masks = (host > 4, (host % 3).tolist(), host[::-1] > 4)
    for mask in masks if np.size(values) == 0 else (*masks, host < 0):
        stored(context, name, host, mask, values)


@pytest.mark.parametrize("name", ["putmask", "place"])
def test_what_cannot_be_stored_by_a_mask_is_refused(context, name):
    host, mask = np.arange(4, dtype="int32"), np.array([True, False, True, False])
    said = stored(context, name, host, mask, np.array([1.5]))
    assert isinstance(said, BadType) and "convert them with astype" in str(said)
    said = stored(context, name, host, mask[:3], 1)
    assert isinstance(said, BadValue) and "mask has 3 elements, the array 4" in str(
        said
    )
    for wrong in (2j, 1 << 40):
        assert stored(context, name, host, mask, wrong)
    with pytest.raises(ReadOnly, match=f"{name}: the array is read-only"):
        getattr(gpuarray, name)(on(context, host)[0], [True], 1)
    with pytest.raises(BadType, match=r"store in one of the host by dst\[...\]"):
        getattr(gpuarray, name)(host, mask, 1)


def test_copies_keep_to_the_rule_of_casting(context, host):
    for source in (1, 2.5, np.float32(3), [[1.0], [2.0], [3.0]], host[::-1] * 2):
        stored(context, "copyto", host, source)
    stored(context, "copyto", host, 5, where=host > 3)
    stored(context, "copyto", host, host * 2, where=[[True], [False], [True]])
    whole = host.astype("int16")
    for source in (2.5, host, 1 << 20):
        assert stored(context, "copyto", whole, source)
    stored(context, "copyto", whole, host * 1.5, casting="unsafe")


SHAPES = [(3, 3), (2, 5), (5, 2), (9, 3), (2, 2, 2), (0, 3), (3, 0), (4,), (2, 3, 2)]


@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_diagonals_are_filled(context, shape, wrap):
    host = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    for value in (-1, [-1, -2], np.arange(40, dtype="float32")):
        stored(context, "fill_diagonal", host, value, wrap)
        if host.ndim == 2:
            stored(context, "fill_diagonal", np.asfortranarray(host[::-1]), value, wrap)


CONDITIONS = {
    "two": lambda x: [x < 0, x > 2],
    "with the rest": lambda x: [x < 0, x > 2],
    "one by itself": lambda x: x > 0,
    "one by itself, and the rest": lambda x: x > 0,
    "that meet": lambda x: [x > -5, x > 2],
    "an array": lambda x: (np if isinstance(x, np.ndarray) else gpuarray).stack(
        [x < 0, x > 0]
    ),
}
FUNCTIONS = {
    "two": [lambda v: v * v, 7],
    "with the rest": [lambda v: -v, lambda v: v + 1, 100],
    "one by itself": [lambda v: v.sum()],
    "one by itself, and the rest": [3, lambda v: v / 2],
    "that meet": [1, lambda v: v],
    "an array": [lambda v: v, 5],
}


@pytest.mark.parametrize("kind", CONDITIONS)
@pytest.mark.parametrize("shape", [(), (7,), (2, 6), (0,)])
def test_functions_by_parts(context, kind, shape):
    host = (np.arange(np.prod(shape), dtype="float32") - 3).reshape(shape)
    expected = outcome(
        np.piecewise, (host, CONDITIONS[kind](host), FUNCTIONS[kind]), {}
    )
    device = on(context, host)
    arguments = device, CONDITIONS[kind](device), FUNCTIONS[kind]
    for function in (gpuarray.piecewise, np.piecewise):
        got = outcome(function, arguments, {})
        if not isinstance(expected, Exception):
            assert_same(got, expected)
        elif host.size:  # a matrix is several conditions
            assert isinstance(got, BadValue)


def test_functions_by_parts_take_arguments_and_are_as_many_as_conditions(null):
    device = gpuarray.zeros(2, context=null)
    with pytest.raises(BadValue, match="3 functions for 1 conditions"):
        gpuarray.piecewise(device, [[True, False]], [1, 2, 3])
    with pytest.raises(BadValue, match=r"a condition of shape \(1,\)"):
        gpuarray.piecewise(device, [[True]], [1])


def test_a_number_of_no_choice_is_told_of(context):
    device = gpuarray.arange(3, context=context)
    with pytest.raises(BadValue, match="got the number 2, expected 0 to 1"):
        gpuarray.choose([0, 1, 2], [device, 5])
    for wrong in ([0, 2, 0], [0, -1, 0]):
        gpuarray.choose(gpuarray.asarray(wrong, context=context), [device, 5])
        with pytest.raises(BadIndex):
            context.sync()
    with pytest.raises(BadType, match=r"use numpy\.choose"):
        gpuarray.choose([0], [[1]])


def test_choices_may_be_numbers_lists_and_a_method_and_go_to_out(context):
    host = np.array([[0, 1, 1], [1, 0, 0]])
    device = on(context, host)
    for choices in ([5, 7.5], [[1, 2, 3], -1], np.arange(6).reshape(2, 3)):
        moved = on(context, choices) if isinstance(choices, np.ndarray) else choices
        expected = np.choose(host, choices)
        assert_same(device.choose(moved), expected)
        assert_same(np.choose(device, moved), expected)
    out = gpuarray.zeros(host.shape, "int8", context)
    assert gpuarray.choose(device, [3, 4], out) is out
    assert_same(out, np.choose(host, [3, 4]).astype("int8"))
    with pytest.raises(TypeError, match=r"out has shape \(2,\), expected \(2, 3\)"):
        gpuarray.choose(device, [3, 4], out[:, 0])
