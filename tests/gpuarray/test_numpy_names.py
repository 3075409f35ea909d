"""Names that programs written for NumPy have: dtypes, printing, questions to arrays."""

import gpuarray
import numpy as np
import pytest
from families import DTYPES
from gpuarray._names import OF_NUMPY
from gpuarray.dtypes import as_dtype
from gpuarray.errors import BadType


def test_dtypes_and_questions_to_them_are_numpys():
    for name in OF_NUMPY:
        assert getattr(gpuarray, name) is getattr(np, name)
    assert gpuarray.issubdtype(gpuarray.float32, gpuarray.floating)
    assert gpuarray.dtype("f4") == gpuarray.zeros(1, "f4", "null").dtype


def test_an_array_is_an_ndarray(null):
    assert isinstance(gpuarray.zeros(2, context=null), gpuarray.ndarray)


@pytest.mark.parametrize("function", [gpuarray.iscomplexobj, gpuarray.isrealobj])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_dtype_is_complex_or_real(null, function, dtype):
    host = np.zeros(2, as_dtype(dtype))
    theirs = getattr(np, function.__name__)
    assert function(gpuarray.asarray(host, context=null)) == theirs(host)


GEOMETRIES = [np.zeros(()), np.zeros(3), np.zeros((2, 0)), np.zeros((2, 3)).T]


@pytest.mark.parametrize("host", GEOMETRIES)
@pytest.mark.parametrize("name", ["ndim", "shape", "size", "isfortran"])
def test_geometry_is_numpys(null, name, host):
    ours, theirs = getattr(gpuarray, name), getattr(np, name)
    device = gpuarray.asarray(host, context=null)
    assert ours(device) == theirs(device) == theirs(host)
    if name != "isfortran":
        assert ours(host) == theirs(host) and ours(host.tolist()) == theirs(host)
    if name == "size" and host.ndim:
        assert [ours(device, k) for k in (0, -1)] == [theirs(host, k) for k in (0, -1)]
        with pytest.raises(IndexError, match="size: axis 2 is out of bounds"):
            ours(device, 2)


@pytest.mark.parametrize("first", DTYPES)
def test_promotion_of_two_is_numpys(first):
    for second in DTYPES:
        pair = as_dtype(first), as_dtype(second)
        found = gpuarray.promote_types(*pair)
        if "bfloat16" not in (first, second):
            assert found == np.promote_types(*pair)
        assert found == gpuarray.promote_types(*pair[::-1])
    with pytest.raises(BadType, match="promote_types"):
        gpuarray.promote_types(first, "datetime64[s]")


NUMBERS = [0, 255, 256, -1, 1.5, 1e300, True, 2j, np.int64(3)]


def test_the_smallest_dtype_of_a_number_is_numpys(null):
    for number in NUMBERS:
        expected = np.min_scalar_type(number)
        assert gpuarray.min_scalar_type(number) == expected
        host = np.asarray(number)
        device = gpuarray.asarray(host, context=null)
        assert gpuarray.min_scalar_type(device) == np.min_scalar_type(host) == expected
        assert gpuarray.min_scalar_type(device[None]) == host.dtype


def test_the_common_type_of_arrays_is_numpys(null):
    kinds = [name for name in DTYPES if name not in ("bool", "bfloat16")]
    hosts = [np.zeros(2, kind) for kind in kinds]
    for one in hosts:
        for other in hosts:
            pair = gpuarray.asarray(one, context=null), other
            assert gpuarray.common_type(*pair) is np.common_type(one, other)
    with pytest.raises(BadType, match="common_type"):
        gpuarray.common_type(gpuarray.zeros(2, "bool", null))


def test_shared_memory_needs_arrays(null):
    with pytest.raises(BadType, match="expected a gpuarray array"):
        gpuarray.shares_memory(gpuarray.zeros(2, context=null), [1])


def test_arrays_print_by_numpys_options(null):
    host = np.array([1 / 3, 2 / 3])
    device = gpuarray.asarray(host, context=null)
    with gpuarray.printoptions(precision=2):
        assert str(device) == str(host)
