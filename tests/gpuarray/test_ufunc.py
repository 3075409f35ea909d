"""The functions of the table as ufuncs: options, folds, pairs of results."""

import inspect
import pickle

import gpuarray
import numpy as np
import pytest
from gpuarray._ufunc import elementwise
from gpuarray.errors import BadIndex, BadType, BadValue, ReadOnly
from judge import assert_same, quietly
from layouts import LAYOUTS, pair, values

SHAPE = (4, 5, 3)
ASSOCIATE = [
    "add",
    "multiply",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "logical_and",
    "logical_or",
    "logical_xor",
    "hypot",
    "logaddexp",
]
BITWISE = ["bitwise_and", "bitwise_or", "bitwise_xor"]
FROM_THE_LEFT = ["subtract", "true_divide", "copysign"]


def both(name):
    return getattr(gpuarray, name), getattr(np, name)


def on(context, host):
    return gpuarray.asarray(host, context=context)


def operand(name):
    host = values("int32" if name.startswith("bitwise") else "float32", SHAPE)
    return np.abs(host) % 3 + 1 if name in ("multiply", "true_divide") else host


# ---- calls ----


def test_what_a_function_says_of_itself():
    add = gpuarray.add
    assert isinstance(add, elementwise.Ufunc)
    assert (add.nin, add.nout, add.nargs, add.identity) == (2, 1, 3, 0)
    assert add.__name__ == "add"
    assert repr(add) == "<gpuarray ufunc 'add'>"
    assert "ff->f" in add.types and "OO->O" not in add.types
    assert add.ntypes == len(add.types)
    assert (
        add.__doc__.startswith("The sum.") and ">>> print(gpuarray.add(" in add.__doc__
    )
    assert gpuarray.maximum.identity is None
    assert gpuarray.exp.nin == 1
    assert (
        gpuarray.mul.__name__ == "multiply" and gpuarray.sigmoid.__name__ == "sigmoid"
    )
    assert pickle.loads(pickle.dumps(add)) is add


@pytest.mark.oclgrind
@pytest.mark.parametrize("layout", ["c_order", "step", "permuted", "empty"])
def test_a_mask_says_what_is_computed(context, layout):
    host, device = pair(layout, "float32", context)
    mask = host > 0
    out = np.full(host.shape, 7, "float32")
    expected = np.multiply(host, host, out=out.copy(), where=mask)
    got = gpuarray.multiply(device, device, out=on(context, out), where=device > 0)
    assert_same(got, expected, exact=True)
    new = gpuarray.multiply(device, device, where=device > 0)
    assert_same(new, np.where(mask, expected, np.float32(0)), exact=True)


def test_a_mask_broadcasts_and_may_be_a_truth_value(context):
    host = values("float32", SHAPE)
    device = on(context, host)
    row = np.array([True, False, True])
    out = np.zeros(SHAPE, "float16")
    expected = np.negative(host, out=out.copy(), where=row)
    got = gpuarray.negative(device, out=on(context, out), where=on(context, row))
    assert_same(got, expected)
    assert_same(gpuarray.add(device, 1, where=False), np.zeros(SHAPE, "float32"))
    assert_same(gpuarray.add(device, 1, where=True), host + 1)
    with pytest.raises(TypeError, match="where is of int32, expected a gpuarray array"):
        gpuarray.add(device, 1, where=device.astype("int32"))
    with pytest.raises(TypeError, match="put it on the device first"):
        gpuarray.add(device, 1, where=row)


def test_dtype_chooses_the_loop(context):
    whole = on(context, np.arange(1, 7, dtype="int32"))
    assert_same(
        gpuarray.add(whole, whole, dtype="float32"),
        np.add(np.arange(1, 7), np.arange(1, 7), dtype="float32"),
    )
    assert_same(
        gpuarray.exp(whole, dtype="float32"), np.exp(np.arange(1, 7), dtype="float32")
    )
    assert_same(
        gpuarray.subtract(whole, 3, dtype="int8"),
        np.subtract(np.arange(1, 7, dtype="int32"), 3, dtype="int8"),
    )
    with pytest.raises(TypeError, match="exp: no loop"):
        gpuarray.exp(whole, dtype="int32")


def test_casting_says_what_may_be_stored(context):
    host = values("float32", (7,))
    device, out = on(context, host), gpuarray.zeros(7, "int16", context)
    with pytest.raises(TypeError, match="cannot be stored as int16, the dtype of out"):
        gpuarray.add(device, device, out=out)
    gpuarray.add(device, device, out=out, casting="unsafe")
    assert_same(out, (host + host).astype("int16"))
    small = gpuarray.zeros(7, "float16", context)
    with pytest.raises(TypeError, match="'safe'"):
        gpuarray.add(device, device, out=small, casting="safe")


def test_an_output_may_stand_in_a_tuple_or_behind_the_operands(context):
    host = values("float32", (5,))
    device = on(context, host)
    for give in (
        lambda out: gpuarray.add(device, 2.5, out),
        lambda out: gpuarray.add(device, 2.5, out=(out,)),
        lambda out: gpuarray.add(2.5, device, out=out),
    ):
        out = gpuarray.empty(5, "float32", context)
        assert give(out) is out
        assert_same(out, host + np.float32(2.5), exact=True)
    out = gpuarray.empty(5, "float32", context)
    assert gpuarray.exp(device, out) is out
    assert_same(out, np.exp(host))


def test_bad_calls_say_what_is_wrong(context):
    device = on(context, values("float32", (5,)))
    with pytest.raises(TypeError, match="unexpected keyword argument 'foo'"):
        gpuarray.add(device, 1, foo=2)
    with pytest.raises(TypeError):
        gpuarray.add(device)
    with pytest.raises(TypeError, match="out is ndarray"):
        gpuarray.add(device, 1, out=np.zeros(5))
    with pytest.raises(ReadOnly):
        gpuarray.add(device, 1, out=device.broadcast_to((2, 5)))
    with pytest.raises(TypeError, match="no operand is a gpuarray array"):
        gpuarray.add([1], 2)
    with pytest.raises(TypeError, match="3 outputs, expected a tuple of 1"):
        gpuarray.add(device, 1, out=(device, device, device))
    assert_same(device + 0, np.asarray(device))


def test_arrays_without_axes_are_numbers(context):
    host = values("float32", (5,))
    device = on(context, host)
    for number in (np.array(2.5, "float32"), np.array(3, "int16")):
        assert_same(device * number, host * number)
        assert_same(gpuarray.subtract(number, device), number - host)


# ---- folds ----


@pytest.mark.parametrize("name", ASSOCIATE + BITWISE)
def test_reduce(context, name):
    ours, theirs = both(name)
    host = operand(name)
    device = on(context, host)
    for axis in (0, 1, -1, None, (0, 2)):
        assert_same(ours.reduce(device, axis=axis), theirs.reduce(host, axis=axis))
    assert_same(
        ours.reduce(device, 1, keepdims=True), theirs.reduce(host, 1, keepdims=True)
    )
    mask = host > 0
    expected = theirs.reduce(host, axis=1, where=mask, initial=2)
    assert_same(ours.reduce(device, axis=1, where=device > 0, initial=2), expected)


@pytest.mark.parametrize("name", ASSOCIATE + BITWISE + FROM_THE_LEFT)
def test_accumulate_and_reduceat(context, name):
    ours, theirs = both(name)
    host = operand(name)
    device = on(context, host)
    for axis in (0, 1, -1):
        assert_same(
            ours.accumulate(device, axis=axis), theirs.accumulate(host, axis=axis)
        )
    assert_same(
        ours.reduceat(device, [0, 3, 1], axis=1),
        theirs.reduceat(host, [0, 3, 1], axis=1),
    )


@pytest.mark.oclgrind
@pytest.mark.parametrize("name", FROM_THE_LEFT)
def test_what_does_not_associate_is_folded_from_the_left(context, name):
    ours, theirs = both(name)
    host = operand(name)
    device = on(context, host)
    for axis in (0, 1, 2):
        assert_same(ours.reduce(device, axis=axis), theirs.reduce(host, axis=axis))
    with pytest.raises(ValueError, match="give one axis"):
        ours.reduce(device, axis=(0, 1))
    with pytest.raises(ValueError, match="no elements"):
        ours.reduce(device[:0])


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float16", "int64"])
def test_folds_have_numpy_s_dtypes(context, dtype):
    host = values(dtype, (6, 4))
    device = on(context, host)
    for name in ("add", "multiply", "maximum", "logical_or"):
        ours, theirs = both(name)
        expected = quietly(theirs.reduce, host)
        assert_same(ours.reduce(device), expected, rtol=1e-2)
        expected = quietly(theirs.accumulate, host)
        assert_same(ours.accumulate(device), expected, rtol=1e-2)
    assert_same(
        gpuarray.add.reduce(device, dtype="float32"),
        np.add.reduce(host, dtype="float32"),
        rtol=1e-3,
    )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_folds_of_every_layout(context, layout):
    host, device = pair(layout, "int32", context)
    if host.ndim == 0:
        assert_same(gpuarray.add.reduce(device), np.add.reduce(host))
        with pytest.raises(BadType, match="without axes"):
            gpuarray.add.accumulate(device)
        return
    assert_same(gpuarray.add.reduce(device), np.add.reduce(host))
    assert_same(
        gpuarray.bitwise_xor.accumulate(device), np.bitwise_xor.accumulate(host)
    )
    assert_same(gpuarray.subtract.accumulate(device), np.subtract.accumulate(host))


def test_what_no_elements_give(context):
    nothing = np.zeros((0, 3), "float32")
    device = on(context, nothing)
    for name in ("add", "multiply", "logaddexp", "hypot", "logical_and"):
        ours, theirs = both(name)
        assert_same(ours.reduce(device), theirs.reduce(nothing))
    with pytest.raises(ValueError):
        gpuarray.maximum.reduce(device)
    assert_same(
        gpuarray.maximum.reduce(device, initial=5),
        np.maximum.reduce(nothing, initial=5),
    )
    with pytest.raises(BadValue, match="give initial= as well"):
        gpuarray.maximum.reduce(device, where=device > 0)


def test_folds_into_an_output(context):
    host = values("float32", (6, 4))
    device = on(context, host)
    out = gpuarray.empty(4, "float32", context)
    assert gpuarray.add.reduce(device, out=out) is out
    assert_same(out, host.sum(0))
    full = gpuarray.empty((6, 4), "float32", context)
    assert gpuarray.maximum.accumulate(device, out=(full,)) is full
    assert_same(full, np.maximum.accumulate(host))
    with pytest.raises(BadValue, match=r"out has shape \(4,\), expected \(6,\)"):
        gpuarray.add.reduce(device, 1, out=out)


def test_only_functions_of_two_operands_are_folded(context):
    device = on(context, values("float32", (6,)))
    for call in (
        gpuarray.exp.reduce,
        gpuarray.divmod.accumulate,
    ):
        with pytest.raises(ValueError, match="only functions of two operands"):
            call(device)
    with pytest.raises(TypeError, match="lt: float32 is not folded"):
        gpuarray.less.reduce(device)


def test_indices_of_reduceat_are_checked(context):
    device = on(context, values("float32", (6,)))
    with pytest.raises(BadIndex, match="of an axis of length 6"):
        gpuarray.add.reduceat(device, [0, 6])
    gpuarray.add.reduceat(device, on(context, np.array([0, 6])))
    with pytest.raises(BadIndex):
        context.sync()
    expected = np.add.reduceat(np.asarray(device), [1, 4])
    assert_same(gpuarray.add.reduceat(device, on(context, np.array([1, 4]))), expected)


def test_outer(context):
    left, right = values("float32", (3, 2)), values("float32", (4,), seed=1)
    a, b = on(context, left), on(context, right)
    assert_same(gpuarray.multiply.outer(a, b), np.multiply.outer(left, right))
    assert_same(gpuarray.subtract.outer(b, 2), np.subtract.outer(right, np.float32(2)))


@pytest.mark.parametrize("name", ["add", "subtract", "maximum", "power"])
def test_at_does_what_is_repeated_in_order(context, name):
    ours, theirs = both(name)
    host = np.abs(values("float32", SHAPE)) + 1
    given = np.abs(values("float32", (6, 5, 3), seed=1)) % 2
    places = np.array([3, 0, 3, 3, 1, 0])
    device, expected = on(context, host), host.copy()
    ours.at(device, on(context, places), on(context, given))
    theirs.at(expected, places, given)
    assert_same(device, expected, rtol=1e-4)
    ours.at(device, (slice(None), [1, 1, 4]), 2)
    theirs.at(expected, (slice(None), [1, 1, 4]), 2)
    assert_same(device, expected, rtol=1e-4)


@pytest.mark.oclgrind
def test_at_of_other_layouts_and_of_one_operand(context):
    host = values("int32", (5, 4))
    device, expected = on(context, host), host.copy()
    gpuarray.negative.at(device.T, [0, 0, 2])
    np.negative.at(expected.T, [0, 0, 2])
    assert_same(device, expected)
    with pytest.raises(TypeError, match="cannot be stored as int32"):
        gpuarray.add.at(device, [0], 1.5)
    with pytest.raises(TypeError, match="1 more operands"):
        gpuarray.add.at(device, [0])
    with pytest.raises(ReadOnly):
        gpuarray.add.at(device.broadcast_to((2, 5, 4)), [0], 1)


# ---- two results ----


@pytest.mark.parametrize("name", ["modf", "frexp"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "int8"])
def test_parts_of_numbers(context, name, dtype):
    ours, theirs = both(name)
    host = values(dtype, (9,))
    if dtype != "int8":
        host[:4] = 0.0, -0.0, np.inf, np.nan
    device = on(context, host)
    if theirs(host)[0].dtype == np.float64 and not context.has_double:
        pytest.skip("the device has no float64")
    for got, expected in zip(ours(device), theirs(host), strict=True):
        assert_same(got, expected, exact=True)
        assert (np.signbit(np.asarray(got)) == np.signbit(expected)).all()


@pytest.mark.parametrize("name", ["divmod", "modf", "frexp"])
def test_the_signature_names_operands_and_outputs(name):
    operands = ["x1", "x2"] if name == "divmod" else ["x"]
    signature = inspect.signature(getattr(gpuarray, name))
    names = list(signature.parameters)
    assert names[: len(operands) + 4] == [*operands, "out1", "out2", "out", "where"]


def test_two_outputs(context):
    host = values("int32", (9,))
    device = on(context, host)
    outs = gpuarray.empty(9, "int32", context), gpuarray.empty(9, "int32", context)
    got = gpuarray.divmod(device, 4, out=outs)
    assert got[0] is outs[0] and got[1] is outs[1]
    for one, expected in zip(outs, np.divmod(host, 4), strict=True):
        assert_same(one, expected)
    first, second = gpuarray.divmod(device, 4, out=(device, None))
    assert first is device
    assert_same(first, host // 4)
    assert_same(second, host % 4)
    with pytest.raises(TypeError, match="1 outputs, expected a tuple of 2"):
        gpuarray.divmod(device, 4, out=(device,))


@pytest.mark.parametrize("name", ["add", "maximum", "subtract", "logical_or"])
def test_folds_of_a_number_have_its_only_axis_or_none(first_context, name):
    host = np.array(3.0, "float32")
    device = on(first_context, host)
    ours, theirs = getattr(gpuarray, name), getattr(np, name)
    for axis in (None, 0, -1, ()):
        assert_same(ours.reduce(device, axis=axis), theirs.reduce(host, axis=axis))
    for axis in (1, -2, (0, 0)):
        with pytest.raises(ValueError):
            theirs.reduce(host, axis=axis)
        with pytest.raises(ValueError):
            ours.reduce(device, axis=axis)


@pytest.mark.parametrize("options", [{"initial": 5}, {"where": True, "initial": 0}])
def test_a_fold_in_its_order_has_no_other_beginning(first_context, options):
    device = on(first_context, values("float32", (6,)))
    with pytest.raises(TypeError, match="offered for functions that associate"):
        gpuarray.subtract.reduce(device, **options)
    with pytest.raises(ValueError, match="give initial= as well"):
        gpuarray.subtract.reduce(device, where=device > 0)
