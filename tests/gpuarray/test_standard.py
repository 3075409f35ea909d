"""The Python array API standard's names, dtypes and rules, under the package itself.

The suite of data-apis, which is the judge of the rest, is run apart from this one.
"""

import math

import array_api_compat
import gpuarray
import numpy as np
import pytest
from gpuarray._core import opening
from gpuarray.config import Config
from judge import assert_same
from layouts import values

DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"),
    *("uint64", "float32", "float64", "complex64", "complex128"),
)
FUNCTIONS = """
    abs acos acosh add all any arange argmax argmin argsort asarray asin asinh astype
    atan atan2 atanh bitwise_and bitwise_invert bitwise_left_shift bitwise_or
    bitwise_right_shift bitwise_xor broadcast_arrays broadcast_shapes broadcast_to
    can_cast ceil clip concat conj copysign cos cosh count_nonzero cumulative_prod
    cumulative_sum diff divide empty empty_like equal exp expand_dims expm1 eye finfo
    flip floor floor_divide from_dlpack full full_like greater greater_equal hypot iinfo
    imag isdtype isfinite isin isinf isnan less less_equal linspace log log10 log1p log2
    logaddexp logical_and logical_not logical_or logical_xor matmul matrix_transpose max
    maximum mean meshgrid min minimum moveaxis multiply negative nextafter nonzero
    not_equal ones ones_like permute_dims positive pow prod real reciprocal remainder
    repeat reshape result_type roll round searchsorted sign signbit sin sinh sort sqrt
    square squeeze stack std subtract sum take take_along_axis tan tanh tensordot tile
    tril triu trunc unique_all unique_counts unique_inverse unique_values unstack var
    vecdot where zeros zeros_like __array_namespace_info__
"""


def test_every_name_is_there():
    assert gpuarray.__array_api_version__ == "2025.12"
    missing = [n for n in FUNCTIONS.split() if not callable(getattr(gpuarray, n, None))]
    assert not missing
    assert (gpuarray.e, gpuarray.pi) == (math.e, math.pi)
    assert gpuarray.inf == math.inf
    assert math.isnan(gpuarray.nan)
    assert gpuarray.newaxis is None


def test_the_namespace(null):
    array = gpuarray.zeros(2, context=null)
    assert array.__array_namespace__() is gpuarray
    assert array.__array_namespace__(api_version="2025.12") is gpuarray
    with pytest.raises(ValueError, match=r"version '1999\.1'"):
        array.__array_namespace__(api_version="1999.1")


def test_the_compatibility_layer_has_nothing_to_add(first_context, null):
    """By it other libraries find an array's namespace and device."""
    array = gpuarray.zeros((3, 4), context=first_context)
    assert array_api_compat.is_array_api_obj(array)
    assert array_api_compat.is_writeable_array(array)
    assert not array_api_compat.is_lazy_array(array)
    assert array_api_compat.array_namespace(array, None, 1.0) is gpuarray
    assert array_api_compat.device(array) is first_context
    assert array_api_compat.to_device(array, "null").device is null
    assert array_api_compat.size(array) == 12


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_are_equal_to_an_arrays(null, name):
    dtype = getattr(gpuarray, name)
    array = gpuarray.empty(3, dtype=dtype, device=null)
    assert array.dtype == dtype
    assert gpuarray.isdtype(dtype, dtype)
    assert gpuarray.result_type(dtype, array) == dtype
    assert gpuarray.can_cast(array, dtype)


def test_kinds_of_dtypes():
    for name in DTYPES:
        for kind in ("bool", "integral", "real floating", ("bool", "numeric")):
            expected = np.isdtype(np.dtype(name), kind)
            assert gpuarray.isdtype(name, kind) == expected
    assert gpuarray.isdtype("float16", "real floating")
    assert not gpuarray.isdtype("float16", ("bool", "float32"))
    with pytest.raises(ValueError, match="'numbers'"):
        gpuarray.isdtype("float32", "numbers")


def test_limits_of_dtypes(null):
    for dtype in ("float16", "float32", "complex128"):
        ours, theirs = gpuarray.finfo(dtype), np.finfo(dtype)
        for name in ("bits", "eps", "max", "min", "smallest_normal", "tiny", "nmant"):
            got = getattr(ours, name)
            assert type(got) in (int, float)
            assert got == getattr(theirs, name)
        assert ours.dtype == theirs.dtype
    array = gpuarray.zeros(1, "int16", null)
    assert gpuarray.iinfo(array).max == 2**15 - 1
    with pytest.raises(ValueError, match="use finfo"):
        gpuarray.iinfo("float32")
    with pytest.raises(ValueError, match="use iinfo"):
        gpuarray.finfo(array)


def test_limits_of_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert gpuarray.finfo("bfloat16").eps == float(ml_dtypes.finfo("bfloat16").eps)
    assert gpuarray.isdtype("bfloat16", "real floating")
    assert gpuarray.can_cast("bfloat16", "float32")
    assert not gpuarray.can_cast("bfloat16", "float16")
    assert not gpuarray.can_cast("float32", "bfloat16")
    assert gpuarray.can_cast("float32", "bfloat16", "same_kind")


def test_promotion():
    assert gpuarray.result_type("int8", "uint8") == "int16"
    assert gpuarray.result_type("float32", 1.5) == "float32"
    assert gpuarray.result_type("int8", True) == "int8"
    assert gpuarray.result_type("float32", 1j) == "complex64"
    with pytest.raises(ValueError, match="got nothing"):
        gpuarray.result_type()


def test_what_the_package_says_of_itself(first_context):
    info = gpuarray.__array_namespace_info__()
    assert info.capabilities()["max dimensions"] == 32
    with first_context.as_default():
        assert info.default_device() is first_context
        assert first_context in info.devices()
        assert gpuarray.zeros(1).device is first_context
        assert (
            info.default_dtypes()["indexing"]
            == gpuarray.argmax(gpuarray.zeros(2)).dtype
        )
        assert info.dtypes(kind="bool") == {"bool": np.dtype(bool)}
    floats = info.dtypes(device=first_context, kind=("real floating",))
    assert next(iter(floats)) == "float32"
    assert gpuarray.zeros(1, device=first_context).dtype == list(floats)[-1]


def test_devices(first_context, null):
    array = gpuarray.asarray([1.0, 2.0], device=first_context)
    assert array.device is first_context
    assert array.to_device(first_context) is array
    moved = array.to_device("null")
    assert moved.device is null
    np.testing.assert_array_equal(np.asarray(moved), [1, 2])
    assert gpuarray.astype(array, gpuarray.int8, device="null").device is null
    for make in ("zeros_like", "empty_like"):
        assert getattr(gpuarray, make)(array, device=null).device is null
    assert gpuarray.ones_like(moved, device=first_context).device is first_context
    with pytest.raises(NotImplementedError, match="stream"):
        array.to_device(null, stream=1)
    with pytest.raises(TypeError, match="one thing"):
        gpuarray.zeros(1, context=null, device=null)


def test_made_arrays(context):
    device = {"device": context}
    for got, expected in (
        (gpuarray.arange(5, **device), np.arange(5)),
        (gpuarray.arange(1, 4, 0.5, **device), np.arange(1, 4, 0.5)),
        (gpuarray.arange(3, stop=-3, step=-2, **device), np.arange(3, -3, -2)),
        (gpuarray.linspace(0, 1, 5, **device), np.linspace(0, 1, 5)),
        (gpuarray.linspace(0, 1, num=3, endpoint=False, **device), np.arange(3) / 3),
        (gpuarray.logspace(0, 2, 3, **device), np.logspace(0, 2, 3)),
        (gpuarray.geomspace(1, 8, 4, **device), np.geomspace(1, 8, 4)),
        (gpuarray.eye(3, k=-1, dtype="int8", **device), np.eye(3, k=-1, dtype="int8")),
        (gpuarray.identity(2, **device), np.identity(2)),
        (gpuarray.full((2,), True, **device), np.full(2, True)),
        (gpuarray.full(2, 3, **device), np.full(2, 3)),
        (gpuarray.array([1, 2], ndmin=3, **device), np.array([1, 2], ndmin=3)),
    ):
        assert_same(got, expected)
    assert gpuarray.linspace(0, 1, 5, retstep=True, **device)[1] == 0.25


def test_ends_that_are_arrays(context):
    """They are read, and what is made is where they are."""
    ends = np.float32(1), np.float32(4)
    here = [gpuarray.asarray(end, context=context) for end in ends]
    for name in ("arange", "linspace", "logspace", "geomspace"):
        got = getattr(gpuarray, name)(*here)
        assert got.context is context
        assert_same(got, getattr(np, name)(*ends))
    assert_same(np.linspace(*here, 3), np.linspace(*ends, 3))
    rows = np.array([[0.0, 1.0], [5.0, 6.0]])
    device = gpuarray.asarray(rows, context=context)
    assert_same(gpuarray.linspace(*device, 4), np.linspace(*rows, 4))
    counts, edges = np.histogram(device, 3, (here[0], here[1]))
    expected = np.histogram(rows, 3, ends)
    assert_same(counts, expected[0])
    assert_same(edges, expected[1])


def test_like_another(context):
    host = values("int16", (4, 3)).T
    device = gpuarray.asarray(host, context=context)
    assert_same(gpuarray.full_like(device, 7), np.full_like(host, 7))
    wide = gpuarray.ones_like(device, dtype=gpuarray.float32, shape=(2,))
    assert_same(wide, np.ones_like(host, dtype="float32", shape=(2,)))
    assert gpuarray.zeros_like(device).flags.f_contiguous
    assert gpuarray.zeros_like(device, order="C").flags.c_contiguous
    assert gpuarray.asarray(device, order="C").flags.c_contiguous
    assert gpuarray.asarray(device, order="F") is device
    assert_same(gpuarray.copy(device), host)


def test_python_numbers_of_arrays(context):
    def one(value, dtype=None):
        return gpuarray.asarray(value, dtype, context)

    assert int(one(3.7)) == 3
    assert float(one(2)) == 2.0
    assert complex(one(1 + 2j)) == 1 + 2j
    assert bool(one(0)) is False
    assert [10, 20, 30][one(1)] == 20
    with pytest.raises(TypeError):
        float(one(1 + 2j))
    with pytest.raises(TypeError):
        one(1.0).__index__()
    with pytest.raises(TypeError):
        int(one([1, 2]))
    with pytest.raises(ValueError, match="ambiguous"):
        bool(one([1, 2]))


def test_in_place_operators(context):
    host = values("int32", (5, 3))
    device = gpuarray.asarray(host, context=context)
    other = np.arange(1, 4, dtype="int32")
    device_other = gpuarray.asarray(other, context=context)
    same = device
    for step in ("+=", "-=", "*=", "//=", "%=", "&=", "|=", "^=", "<<=", ">>="):
        names = {"a": host, "b": other, "x": device, "y": device_other}
        exec(f"a {step} b; x {step} y", names)
        assert names["x"] is same
        assert_same(device, host)
    with pytest.raises(TypeError, match="same_kind"):
        device += 1.5
    with pytest.raises(ValueError, match="shape"):
        device_other += device


@pytest.mark.parametrize("function", ["hypot", "atan2", "copysign", "nextafter"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_functions_of_two_floats(context, function, dtype):
    ends = [0.0, -0.0, 1.0, -1.5, 2.0, np.inf, -np.inf, np.nan, 65504, 6e-8, 6.1e-5]
    a, b = np.meshgrid(np.array(ends, dtype), np.array(ends, dtype))
    got = getattr(gpuarray, function)(
        gpuarray.asarray(a, context=context), gpuarray.asarray(b, context=context)
    )
    names = {"atan2": "arctan2"}
    with np.errstate(all="ignore"):
        expected = getattr(np, names.get(function, function))(a, b)
    assert_same(got, expected, exact=function in ("copysign", "nextafter"))


def test_without_a_default_device(null, monkeypatch):
    monkeypatch.setattr(opening, "settings", lambda: Config(device="cuda99"))
    gpuarray.set_default_context(None)
    with pytest.raises(gpuarray.GpuArrayError, match="cuda"):
        gpuarray.zeros(3)
