"""bfloat16: a storage type, computed in float; NumPy knows it through ml_dtypes."""

import subprocess
import sys

import gpuarray
import ml_dtypes
import numpy as np
import pytest
from gpuarray._native import ARRAY, check, ffi, lib
from gpuarray.array import Array
from gpuarray.dtypes import as_dtype, kind_of
from gpuarray.errors import BadType
from judge import assert_same, quietly
from layouts import LAYOUTS, pair, values

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def rounded(host):
    """Bits of float32 values rounded to the nearest bfloat16, ties to even."""
    bits = host.view("uint32").astype("uint64")
    near = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(host), (bits >> 16) | 0x40, near).astype("uint16")


def awkward():
    """float32 values of every magnitude, ties among them, and what is no number."""
    random = np.random.default_rng(3)
    bits = random.integers(0, 2**32, 4000, dtype=np.uint32)
    ties = (random.integers(0, 2**16, 500, dtype=np.uint32) << 16) | 0x8000
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 3.4e38], "float32")
    return np.concatenate([bits.view("float32"), ties.view("float32"), special])


def test_the_names_mean_the_dtype():
    assert gpuarray.bfloat16 is ml_dtypes.bfloat16
    assert as_dtype("bfloat16") == as_dtype(gpuarray.bfloat16) == BFLOAT16
    assert gpuarray.dtype_to_typecode("bfloat16") == lib.GA_BFLOAT16 == 17
    assert gpuarray.dtype_to_ctype("bfloat16") == "ga_bfloat16"
    assert kind_of(BFLOAT16) == "f"


WITHOUT = """
import sys
sys.modules["ml_dtypes"] = None  # as if it were not installed
import gpuarray
for make in (lambda: gpuarray.bfloat16, lambda: gpuarray.zeros(3, "bfloat16", "null")):
    try:
        make()
    except ImportError as error:
        assert "pip install ml_dtypes" in str(error), error
    else:
        raise SystemExit("no error")
assert gpuarray.zeros(3, "float16", "null").dtype == "float16"
"""


def test_without_ml_dtypes_one_error_says_what_to_install():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def convert(context, host, source, target):
    """The elements converted by the library alone, which knows types by their codes."""
    struct = ffi.new(ARRAY)
    device = gpuarray.asarray(host, context=context)
    device.struct.typecode = source
    check(lib.GpuArray_astype(struct, device.struct, target, lib.GA_C_ORDER))
    device.struct.typecode = device.typecode
    return struct


def test_the_library_rounds_to_the_nearest_even(context):
    host = awkward()
    struct = convert(context, host, lib.GA_FLOAT, lib.GA_BFLOAT16)
    assert struct.typecode == lib.GA_BFLOAT16
    struct.typecode = lib.GA_USHORT
    bits = Array.wrap(struct, context, np.dtype("uint16"), lib.GA_USHORT)
    got, wanted = np.asarray(bits), rounded(host)
    nan = np.isnan(host)
    np.testing.assert_array_equal(got[~nan], wanted[~nan])
    assert np.isnan(got[nan].view(BFLOAT16).astype("float32")).all()


def test_the_library_widens_every_value(context):
    bits = np.arange(2**16, dtype="uint16")
    struct = convert(context, bits, lib.GA_BFLOAT16, lib.GA_FLOAT)
    wide = Array.wrap(struct, context, np.dtype("float32"), lib.GA_FLOAT)
    expected = (bits.astype("uint32") << 16).view("float32")
    np.testing.assert_array_equal(np.asarray(wide), expected)


@pytest.mark.oclgrind
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout(context, layout):
    host, device = pair(layout, BFLOAT16, context)
    assert_same(-device, -host, exact=True)
    assert_same(device + device, host + host, exact=True)
    assert_same(device.copy(), host.copy(), exact=True)


def test_arithmetic_rounds_once(context):
    host, other = values("float32", (200,)), values("float32", (200,), seed=1)
    host, other = host.astype(BFLOAT16), other.astype(BFLOAT16)
    a, b = (gpuarray.asarray(x, context=context) for x in (host, other))
    for got, wanted in (
        (a * b, quietly(np.multiply, host, other)),
        (a - b, host - other),
        (a < b, host < other),
        (gpuarray.maximum(a, b), np.maximum(host, other)),
    ):
        assert_same(got, wanted, exact=True)
    assert_same(gpuarray.exp(a / 8), np.exp(host / BFLOAT16.type(8)))
    a += b
    assert_same(a, host + other, exact=True)


def test_numbers_take_the_array_s_dtype(context):
    host = values("float32", (50,)).astype(BFLOAT16)
    device = gpuarray.asarray(host, context=context)
    tenth = BFLOAT16.type(0.1)
    for got in (device * 0.1, 0.1 * device, device * tenth):
        assert_same(got, host * tenth, exact=True)
    assert_same(device + 3, host + BFLOAT16.type(3), exact=True)
    assert_same(device**2, host * host, exact=True)
    wide = gpuarray.asarray(values("float32", (50,)), context=context)
    assert (device + wide).dtype == np.float32
    assert (device + device.astype("float16")).dtype == np.float32
    assert (device + np.float32(1)).dtype == np.float32
    assert (device * 1j).dtype == np.complex64
    device *= wide
    assert device.dtype == BFLOAT16
    with pytest.raises(BadType, match="cannot be stored as bfloat16"):
        device += 1j


@pytest.mark.parametrize("other", ["bool", "int8", "uint16", "int32", "float16"])
def test_conversions(context, other):
    host = np.abs(values("float32", (9, 4))).astype(BFLOAT16)
    device = gpuarray.asarray(host, context=context)
    assert_same(device.astype(other), host.astype(other), exact=True)
    back = device.astype(other).T.astype("bfloat16")
    assert_same(back, host.astype(other).T.astype(BFLOAT16), exact=True)


def test_making_and_reading(context):
    device = gpuarray.full((2, 3), 0.1, "bfloat16", context)
    device[1] = 7
    host = np.asarray(device)
    assert host.dtype == BFLOAT16 and host.tolist()[1] == [7, 7, 7]
    assert float(device[0, 0]) == float(BFLOAT16.type(0.1))
    assert repr(device).endswith(f"dtype=bfloat16, context={context.name!r})")
    counted = gpuarray.arange(5, dtype="bfloat16", context=context)
    assert_same(counted, np.arange(5).astype(BFLOAT16), exact=True)


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod", "any", "all"])
def test_reductions_accumulate_in_float(context, name):
    wide = values("float32", (40, 70))
    wide = (wide / 8 + 1)[:, :5] if name == "prod" else wide
    host = wide.astype(BFLOAT16)
    device = gpuarray.asarray(host, context=context)
    for axis in (None, 0, 1):
        exact = getattr(host.astype("float32"), name)(axis=axis)
        expected = exact if name in ("any", "all") else exact.astype(BFLOAT16)
        assert_same(getattr(device, name)(axis=axis), expected)


SOURCE = """#include "cluda.h"
KERNEL void halve(GLOBAL_MEM ga_bfloat16 *x, ga_size n) {
  const ga_size i = GID_0 * LDIM_0 + LID_0;
  if (i < n)
    x[i] = ga_float2bfloat16(ga_bfloat162float(x[i]) / 2);
}
"""


def test_a_user_s_kernel_has_the_words(context):
    host = values("float32", (30,)).astype(BFLOAT16)
    device = gpuarray.asarray(host, context=context)
    types = [gpuarray.Array, gpuarray.SIZE]
    gpuarray.GpuKernel(SOURCE, "halve", types, context)(device, 30, n=30)
    assert_same(device, host / BFLOAT16.type(2), exact=True)
