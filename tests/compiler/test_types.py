"""Types: patterns of axes, what they print, take and refuse."""

import pickle

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import (
    GpuArrayType,
    TensorType,
    config,
)

# Types.


def test_types_are_values():
    a, b = TensorType("float32", (False,)), TensorType(np.float32, [False])
    assert a == b
    assert hash(a) == hash(b)
    assert a != TensorType("float32", (True,))
    assert GpuArrayType("f4", (), "a") != GpuArrayType("f4", (), "b")
    assert a != GpuArrayType("float32", (False,))
    assert pickle.loads(pickle.dumps(a)) == a


PATTERNS = {
    (): "scalar",
    (False,): "vector",
    (True,): "(True,)",
    (False, False): "matrix",
    (True, False): "row",
    (False, True): "col",
    (True, True): "(True, True)",
    (False,) * 3: "3D",
    (True, False, True): "(True, False, True)",
}


def test_types_print_as_theano_prints_them():
    for pattern, name in PATTERNS.items():
        assert str(TensorType("float32", pattern)) == f"TensorType(float32, {name})"
        gpu = GpuArrayType("float32", pattern, "cuda0")
        assert str(gpu) == f"GpuArrayType<cuda0>(float32, {name})"


def test_a_type_of_a_context_takes_arrays_there(first_context):
    on_null = GpuArrayType("float64", (False,), "null")
    of_device = GpuArrayType("float64", (False,), first_context.name)
    for kind, others in ((on_null, of_device), (of_device, on_null)):
        with others.context.as_default():
            for value in (np.ones(2), others.value_zeros((2,))):
                found = kind.on_context(value)
                assert found.context is kind.context is not others.context
                np.testing.assert_array_equal(found, np.asarray(value))


def test_a_type_of_a_context_stays_there(null, first_context):
    kind = GpuArrayType("float32", (True, False), "null")
    assert kind.clone() == kind
    assert kind.clone("int8") == GpuArrayType("int8", (True, False), "null")
    assert kind.clone(broadcastable=()) == GpuArrayType("float32", (), "null")
    assert kind.host == TensorType("float32", (True, False))
    with first_context.as_default():
        made = kind.value_zeros((1, 3))
    assert made.context is null and made.dtype == "float32" and made.shape == (1, 3)
    with pytest.raises(ValueError, match="'cpu' is the host, not a context"):
        GpuArrayType("float32", (), "cpu")


def test_a_type_of_a_context_checks_what_it_is_given(null):
    kind = GpuArrayType("float32", (True, False), "null")
    given = gpuarray.zeros((1, 3), "float32", context=null)
    assert kind.filter(given) is given
    for value in ([[1.5, 2]], np.ones((1, 2), "int16")):
        found = kind.filter(value)
        assert type(found) is np.ndarray and found.dtype == "float32"
    assert kind.filter(np.array([[1e300]]), allow_downcast=True).dtype == "float32"
    with pytest.raises(TypeError, match="the input is strict"):
        kind.filter(np.ones((1, 2), "int16"), strict=True)
    for shape, dtype, fact in (
        ((2, 3), "float32", "length 2 on axis 0, expected 1"),
        ((3,), "float32", "an array of float32"),
        ((1, 3), "float64", "given an array of dtype float64, .*astype"),
    ):
        with pytest.raises(TypeError, match=fact):
            kind.filter(gpuarray.zeros(shape, dtype, context=null))


def test_a_dtype_that_is_not_offered_is_refused():
    for dtype in ("longdouble", "S3", "nonsense", object):
        with pytest.raises(TypeError):
            TensorType(dtype, ())


def test_filter_accepts_what_loses_nothing():
    vector = TensorType("float32", (False,))
    array = np.arange(3, dtype="float32")
    assert vector.filter(array) is array
    for value in ([1.5, 2.0], np.arange(3, dtype="int16"), np.ones(2, "f2"), [1, 2]):
        found = vector.filter(value)
        assert found.dtype == "float32"
        np.testing.assert_array_equal(found, value)
    assert vector.filter(np.array([1e300]), allow_downcast=True).dtype == "float32"
    with config.use(floatX="float32"):
        assert TensorType("float32", ()).filter(0.1).dtype == "float32"
    assert TensorType("int32", ()).filter(2.0) == 2


@pytest.mark.parametrize(
    "value",
    [
        np.array([0.1, 0.2]),
        [0.1],
        np.ones((2, 2), "f4"),
        np.array(["a"]),
        "text",
        None,
        [[1], [2, 3]],
        T.vector(),
        np.array([1], "c8"),
    ],
    ids=str,
)
def test_filter_refuses_what_would_lose_or_does_not_fit(value):
    with pytest.raises((TypeError, ValueError)):
        TensorType("float32", (False,)).filter(value)


def test_filter_checks_axes_that_broadcast():
    row = TensorType("float64", (True, False))
    assert row.filter(np.ones((1, 3))).shape == (1, 3)
    with pytest.raises(TypeError, match="length 2 on axis 0, expected 1"):
        row.filter(np.ones((2, 3)))
