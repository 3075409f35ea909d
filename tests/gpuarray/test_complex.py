"""Complex arrays against NumPy: layouts, parts, numbers, reductions, conversions."""

import gpuarray
import numpy as np
import pytest
from gpuarray.dtypes import DTYPES
from gpuarray.errors import BadType, Unsupported
from judge import assert_same, quietly
from layouts import LAYOUTS, pair, values

WIDTHS = ["complex64", "complex128"]
REDUCTIONS = ("sum", "prod", "mean", "max", "min", "any", "all")


@pytest.fixture(params=WIDTHS)
def dtype(request, context):
    """A complex dtype that the device holds; the other one it must refuse by name."""
    if request.param == "complex128" and not context.has_double:
        with pytest.raises(Unsupported, match="which complex128 needs"):
            gpuarray.empty(3, request.param, context)
        pytest.skip(f"{context.name} has no double precision")
    return request.param


def part_of(dtype):
    return "float32" if dtype == "complex64" else "float64"


# ---- complex numbers as real ones ----

LOST = {
    "astype": lambda z, r: z.astype("float32"),
    "to integers": lambda z, r: z.astype("int32"),
    "none at all": lambda z, r: z[:0].astype("float32"),
    "assignment": lambda z, r: r.__setitem__(slice(None), z),
    "of a mask": lambda z, r: r.__setitem__(r == 0, z),
    "at places": lambda z, r: r.__setitem__([1, 0], z[:2]),
    "put": lambda z, r: type(r) is np.ndarray or gpuarray.put(r, [0], z[:1]),
    "out": lambda z, r: np.add(z, z, out=r, casting="unsafe"),
    "sum": lambda z, r: z.sum(dtype="float32"),
}


@pytest.mark.parametrize("name", LOST)
def test_imaginary_parts_are_lost_with_numpys_warning(context, name):
    host = np.array([1 + 2j, 3, 4j], "complex64")
    z = gpuarray.asarray(host, context=context)
    r = gpuarray.zeros(3, "float32", context)
    numbers = np.zeros(3, "float32")
    if name != "put":
        with pytest.warns(np.exceptions.ComplexWarning):
            expected = LOST[name](host, numbers)
    with pytest.warns(np.exceptions.ComplexWarning, match="imaginary") as told:
        got = LOST[name](z, r)
    assert [one.filename for one in told] == [__file__]
    if isinstance(got, gpuarray.Array) and name != "put":
        assert_same(got, expected)
    elif name != "put":
        assert_same(r, numbers)


def test_parts_and_truth_of_complex_numbers_are_taken_without_a_word(context):
    z = gpuarray.asarray(np.array([0, 2j], "complex64"), context=context)
    assert_same(z.astype(bool), np.array([False, True]))
    assert_same(z.real, np.zeros(2, "float32"))
    assert_same(z.astype("complex64", copy=False), np.array([0, 2j], "complex64"))
    assert_same(abs(z), np.array([0, 2], "float32"))


# ---- values over layouts ----


@pytest.mark.oclgrind
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout(context, layout):
    host, device = pair(layout, "complex64", context)
    assert_same(-device, -host, exact=True)
    assert_same(device + device, host + host, exact=True)
    assert_same(device.copy(), host.copy(), exact=True)
    assert_same(abs(device), abs(host))


def test_operators(context, dtype):
    host, other = values(dtype, (4, 5)), values(dtype, (5,), seed=1)
    a, b = (gpuarray.asarray(x, context=context) for x in (host, other))
    assert_same(a - b, host - other, exact=True)
    assert_same(a * b, host * other)
    assert_same(a / b, host / other)
    assert_same(a**2, host**2)
    assert_same(b**0.5, other**0.5)
    assert_same(a == b, host == other)
    assert_same(a < b, host < other)
    a *= b
    assert_same(a, host * other)


def test_products_and_quotients_overflow_where_their_results_do(context, dtype):
    limit = float(np.finfo(dtype).max)
    large, small = limit / 4 * (1 + 1j), (1 + 1j) / limit
    host = np.array([large, small, 3 + 4j], dtype)
    device = gpuarray.asarray(host, context=context)
    ones = np.array(np.ones(3), dtype)
    assert_same(device / device, ones)
    assert_same(abs(device), quietly(np.abs, host))
    assert_same(gpuarray.sqrt(device) ** 2, host)


def test_matrix_products(context, dtype):
    host, other = values(dtype, (4, 5)), values(dtype, (5, 3), seed=1)
    a, b = (gpuarray.asarray(x, context=context) for x in (host, other))
    assert_same(a @ b, host @ other)
    assert_same(a[0] @ b, host[0] @ other)
    assert_same(a[0] @ a[1], host[0] @ host[1])


# ---- parts ----


@pytest.mark.parametrize("layout", LAYOUTS)
def test_parts_are_views(context, dtype, layout):
    host, device = pair(layout, dtype, context)
    assert_same(device.real, host.real, exact=True)
    assert_same(device.imag, host.imag, exact=True)
    if host.size:
        assert gpuarray.may_share_memory(device.real, device)
        assert device.imag.strides == device.strides


def test_parts_can_be_set(context, dtype):
    host = values(dtype, (4, 3))
    device = gpuarray.asarray(host, context=context)
    host.real[1:] = 7
    device.real[1:] = 7
    host.imag = host.real * 2
    device.imag = device.real * 2
    assert_same(device, host, exact=True)
    with pytest.raises(BadType, match="float32 has no imaginary parts"):
        gpuarray.zeros(2, "float32", context).imag = 1


def test_parts_of_a_real_array(context):
    host = values("float32", (5,))
    device = gpuarray.asarray(host, context=context)
    assert device.real is device
    assert_same(device.imag, host.imag, exact=True)
    assert device.conj() is device
    assert_same(gpuarray.angle(device), np.angle(host))


def test_functions_of_parts(context, dtype):
    host = values(dtype, (11,))
    device = gpuarray.asarray(host, context=context)
    assert_same(device.conj(), host.conj(), exact=True)
    assert_same(gpuarray.conjugate(device), host.conj(), exact=True)
    assert_same(gpuarray.real(device), host.real, exact=True)
    assert_same(gpuarray.imag(device), host.imag, exact=True)
    assert_same(gpuarray.angle(device), np.angle(host))
    assert (device * device.conj()).imag.dtype == part_of(dtype)


# ---- numbers and dtypes ----


def test_numbers_promote_as_in_numpy(context):
    single, whole = values("float32", (6,)), values("int8", (6,))
    numbers = [1j, 2 - 0.5j, np.complex64(1 + 1j)]
    for host in (single, single.astype("complex64")):
        device = gpuarray.asarray(host, context=context)
        for number in [*numbers, 2, 0.5, True]:
            assert_same(device + number, host + number)
            assert_same(number * device, number * host)
        assert_same(device == 1j, host == 1j)
    if context.has_double:
        on_device = gpuarray.asarray(whole, context=context)
        assert_same(on_device + 1j, whole + 1j)
        device = gpuarray.asarray(single, context=context)
        assert_same(device + np.complex128(1j), single + np.complex128(1j))
        wide = gpuarray.asarray(single.astype("float64"), context=context)
        assert_same(wide * 1j, single.astype("float64") * 1j)


def test_arrays_promote_as_in_numpy(context):
    host = values("complex64", (6,))
    device = gpuarray.asarray(host, context=context)
    for other in ("bool", "int16", "float16", "float32"):
        right = values(other, (6,), seed=1)
        on_device = gpuarray.asarray(right, context=context)
        assert_same(device * on_device, host * right)
        assert_same(on_device - device, right - host)
    if context.has_double:
        right = values("float64", (6,), seed=1)
        on_device = gpuarray.asarray(right, context=context)
        assert_same(device * on_device, host * right)


def test_where_and_clip(context):
    host, other = values("complex64", (6,)), values("complex64", (6,), seed=1)
    a, b = (gpuarray.asarray(x, context=context) for x in (host, other))
    assert_same(gpuarray.where(a < b, a, b), np.where(host < other, host, other))
    assert_same(gpuarray.where(a - a.real, a, 0), np.where(host - host.real, host, 0))
    assert_same(gpuarray.where(a.real > 0, 1j, a), np.where(host.real > 0, 1j, host))
    low, high = -1 - 1j, 2 + 1j
    assert_same(a.clip(low, high), host.clip(low, high))


def test_a_complex_result_is_not_stored_as_a_real_one(context):
    device = gpuarray.ones(3, "float32", context)
    with pytest.raises(BadType, match="cannot be stored as float32"):
        device += 1j
    with pytest.raises(BadType, match=r"floor_divide: no loop for \(complex64"):
        device.astype("complex64") // 2
    with pytest.raises(BadType, match="values of complex128 for an array of float32"):
        device[1] = 1j
    with pytest.raises(TypeError):
        float(device.astype("complex64")[0])


@pytest.mark.filterwarnings("ignore:Casting complex:numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("other", DTYPES, ids=str)
def test_conversions(context, other):
    host = values("complex64", (3, 7))
    if other.kind == "u":
        host = abs(host.real) + host.imag * np.complex64(1j)
    if other in ("float64", "complex128") and not context.has_double:
        pytest.skip(f"{context.name} has no double precision")
    device = gpuarray.asarray(host, context=context)
    real = host if other.kind in "bc" else host.real
    assert_same(device.astype(other), real.astype(other), exact=True)
    back = values(other, (7, 3)).T
    on_device = gpuarray.asarray(back, context=context)[:, ::2]
    assert_same(
        on_device.astype("complex64"), back[:, ::2].astype("complex64"), exact=True
    )


def test_making_and_reading(context, dtype):
    host = values(dtype, (2, 3))
    device = gpuarray.asarray(host.tolist(), dtype, context)
    assert_same(device, host, exact=True)
    assert device.tolist() == host.tolist()
    assert device[1, 2].item() == complex(device[1, 2]) == host[1, 2]
    assert str(device) == str(host)
    text = np.array2string(host, separator=", ", prefix="array(")
    assert repr(device) == f"array({text}, dtype={dtype}, context={context.name!r})"
    assert_same(gpuarray.zeros(3, dtype, context), np.zeros(3, dtype), exact=True)
    assert_same(gpuarray.ones(3, dtype, context), np.ones(3, dtype), exact=True)
    assert_same(gpuarray.eye(3, dtype=dtype, context=context), np.eye(3, dtype=dtype))
    full = gpuarray.full((2, 2), 1 - 2j, dtype, context)
    assert_same(full, np.full((2, 2), 1 - 2j, dtype), exact=True)
    full[0] = 3j
    assert full[0, 1].item() == 3j and full[1, 1].item() == 1 - 2j
    assert bool(full[0, 0])


# ---- reductions ----


@pytest.mark.parametrize("name", REDUCTIONS)
def test_every_reduction(context, dtype, name):
    host = values(dtype, (4, 9))
    host[1, 1] = 0
    if name == "prod":
        host = (host / 4 + 1)[:, :3]
    device = gpuarray.asarray(host, context=context)
    for axis in (None, 0, -1):
        assert_same(getattr(device, name)(axis=axis), getattr(host, name)(axis=axis))
    assert_same(getattr(device[::-1, ::2], name)(0), getattr(host[::-1, ::2], name)(0))


def test_a_long_sum(context):
    host = values("complex64", (3, 70001))
    device = gpuarray.asarray(host, context=context)
    for axis in (None, 0, 1):
        assert_same(device.sum(axis), host.sum(axis), rtol=2e-3)


# ---- kernels of users ----

SOURCE = """#include "cluda.h"
#include "cluda.h" /* a second time does no harm */
KERNEL void turn(GLOBAL_MEM ga_cfloat *x, ga_cfloat by, ga_size n) {
  const ga_size i = GID_0 * LDIM_0 + LID_0;
  if (i < n)
    x[i] = ga_cadd(ga_cmul(x[i], by), ga_complex((ga_float)1, (ga_float)0));
}
"""


def test_a_user_s_kernel_computes_with_complex_numbers(context):
    host = values("complex64", (100,))
    device = gpuarray.asarray(host, context=context)
    types = [gpuarray.Array, "complex64", gpuarray.SIZE]
    kernel = gpuarray.GpuKernel(SOURCE, "turn", types, context)
    kernel(device, 1j, 100, n=100)
    assert_same(device, host * np.complex64(1j) + 1)
