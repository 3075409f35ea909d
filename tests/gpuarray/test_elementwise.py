"""Elementwise functions and operators: layouts, broadcasting, numbers, outputs."""

import operator

import gpuarray
import numpy as np
import pytest
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray.dtypes import DTYPES
from gpuarray.scalars import SCALARS
from judge import assert_same, quietly
from layouts import LAYOUTS, broadcast_pair, pair, values

PYTHON_OPERATORS = {
    row.name: getattr(operator, f"__{row.operator}__")
    for row in SCALARS.values()
    if row.operator
}


@pytest.mark.oclgrind
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_one_operand_of_every_layout(context, layout, dtype):
    host, device = pair(layout, dtype, context)
    assert_same(-device, -host, exact=True)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_is_loaded_and_stored(context, dtype):
    for layout in ("c_order", "negative_step", "column"):
        host, device = pair(layout, dtype, context)
        assert_same(
            gpuarray.maximum(device, device), np.maximum(host, host), exact=True
        )


@pytest.mark.oclgrind
def test_two_operands_of_every_pair_of_layouts(context):
    shape = (3, 5, 4)
    views = {
        "c_order": lambda a: a[:3, :, :4].copy(),
        "gaps": lambda a: a[:3, :, :4],
        "step": lambda a: (
            a[1:7:2, :, ::2][:, :, :4] if a.shape[2] > 6 else a[:3, :, :4]
        ),
        "negative_step": lambda a: a[2::-1, ::-1, 3::-1],
        "permuted": lambda a: a[:5, :3, :4].transpose(1, 0, 2),
        "fortran_order": lambda a: a[:4, :, :3].transpose().copy("F"),
        "last_axis_only": lambda a: a[0, 0, :4],
        "middle_axis_only": lambda a: a[0, :, :1],
        "first_axis_only": lambda a: a[:3, :1, :1],
        "one_element": lambda a: a[:1, :1, :1],
        "number": lambda a: a[1, 1, 1],
    }
    left, right = values("float32", seed=1), values("float32", seed=2)
    on_left = gpuarray.asarray(left, context=context)
    on_right = gpuarray.asarray(right, context=context)
    for one in views.values():
        for other in views.values():
            host = one(left) + other(right)
            assert_same(one(on_left) + other(on_right), host, exact=True)
            full = np.broadcast_to(host, shape)
            assert full.shape == shape


def test_a_repeated_view_is_an_operand_like_any_other(context):
    host, device = broadcast_pair("float32", context)
    other = values("float32", host.shape, seed=3)
    on_device = gpuarray.asarray(other, context=context)
    assert_same(device * on_device, host * other, exact=True)
    assert_same(-device, -host, exact=True)


@pytest.mark.oclgrind
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64"])
@pytest.mark.parametrize("length", [1, 2, 65, 130])
def test_every_second_element_up_to_the_end_of_the_buffer(context, dtype, length):
    """Processors load them with their neighbours, where there are such."""
    host = (np.arange(length) % 50 + 1).astype(dtype)
    device = gpuarray.asarray(host, context=context)
    for first in (0, 1):
        assert_same(device[first::2] + device[first::2], host[first::2] * 2, exact=True)
    if length > 2:
        device[1::2] = -device[: length - 1 : 2]
        host[1::2] = -host[: length - 1 : 2]
        assert_same(device, host, exact=True)


def test_exp_at_the_ends_of_its_range(context):
    host = np.array(
        [0, -0.0, 88.72, 88.73, 200, -87, -103.9, -104, -200, np.inf, -np.inf, np.nan],
        np.float32,
    )
    device = gpuarray.asarray(np.tile(host, 9), context=context)
    with np.errstate(over="ignore", under="ignore"):
        exact = np.exp(np.tile(host, 9).astype(np.float64)).astype(np.float32)
    # A device may flush subnormal results.
    got = np.asarray(gpuarray.exp(device))
    np.testing.assert_allclose(got, exact, rtol=3e-7, atol=1.2e-38)


@pytest.mark.parametrize("length", [1, 31, 257, 1009, 65537])
def test_prime_lengths_over_several_blocks(context, length):
    host = values("float32", (length,))
    device = gpuarray.asarray(host, context=context)
    assert_same(device * device, host * host, exact=True)
    assert_same(device[::-1] + device, host[::-1] + host, exact=True)


def test_many_dimensions(context):
    shape = (2, 1, 3, 1, 2, 2, 1, 2)
    host = values("float32", shape)
    device = gpuarray.asarray(host, context=context)
    turned = (7, 2, 0, 4, 6, 1, 3, 5)
    assert_same(
        device + device.transpose(turned)[:1, :1, :1, :1, :1, :1, :1, :1],
        host + host.transpose(turned)[:1, :1, :1, :1, :1, :1, :1, :1],
    )


@pytest.mark.parametrize("name", sorted(n for n in SCALARS if SCALARS[n].public))
def test_every_function_by_its_names(context, name):
    row = SCALARS[name]
    sample = values("int32" if "shift" in name else "float32", (11,))
    if name.startswith("bitwise") or name in ("invert", "gcd", "lcm"):
        sample = sample.astype("int32")
    if "shift" in name:
        sample = np.abs(sample) % 20
    operands = [sample, sample[::-1].copy(), sample[::2].repeat(2)[:11]][: row.arity]
    if name == "ldexp":  # NumPy takes integers only as powers of two
        operands[1] = operands[1].astype("int32")
    on_device = [gpuarray.asarray(x, context=context) for x in operands]
    expected = quietly(row.reference, *operands)
    assert_same(getattr(gpuarray, name)(*on_device), expected, rtol=5e-5)


def test_numpy_s_names_mean_the_same_functions():
    assert gpuarray.multiply is gpuarray.mul
    assert FUNCTIONS["absolute"] is FUNCTIONS["abs"]
    assert gpuarray.divide is gpuarray.true_div


# ---- operators ----


@pytest.mark.parametrize("name", sorted(PYTHON_OPERATORS))
def test_python_s_operators(context, name):
    apply = PYTHON_OPERATORS[name]
    dtype = "int32" if not quiet_float(apply, SCALARS[name].arity) else "float32"
    host, other = values(dtype, (6,)), np.abs(values(dtype, (6,), seed=1)) % 7 + 1
    if name == "power":
        host = np.abs(host)
    device, right = (gpuarray.asarray(x, context=context) for x in (host, other))
    if SCALARS[name].arity == 1:
        assert_same(apply(device), apply(host))
        return
    assert_same(apply(device, right), quietly(apply, host, other))
    assert_same(apply(device, 3), quietly(apply, host, 3))
    if name == "power" or "shift" in name:
        assert_same(apply(2, right), quietly(apply, 2, other))
    else:
        assert_same(apply(300, right), quietly(apply, 300, other))


def quiet_float(apply, arity):
    try:
        apply(*[np.ones(1, "f4")] * arity)
    except TypeError:
        return False
    return True


@pytest.mark.parametrize("dtype", ["float16", "float32", "uint8"])
def test_numbers_promote_as_in_numpy(context, dtype):
    host = values(dtype, (5,))
    device = gpuarray.asarray(host, context=context)
    numbers = [2, 0.5, True, np.float32(0.5), np.int64(3), np.float16(2), np.uint8(7)]
    if context.has_double:
        numbers.append(np.float64(0.1))
    for number in numbers:
        expected = host + number
        if expected.dtype == np.float64 and not context.has_double:
            continue
        assert_same(device + number, expected)
    assert_same(2 + device, 2 + host)
    assert_same(np.float32(0.5) + device, np.float32(0.5) + host)


def test_a_weak_float_is_rounded_to_the_array_s_dtype(context):
    host = np.ones(3, "float16")
    device = gpuarray.asarray(host, context=context)
    assert_same(device + 0.1, host + 0.1, exact=True)
    assert_same(device < 1.0001, host < 1.0001)


def test_integers_that_a_dtype_cannot_hold_compare_by_value(context):
    host = np.array([0, 5, 255], "uint8")
    device = gpuarray.asarray(host, context=context)
    for apply in (operator.lt, operator.ge, operator.eq, operator.ne):
        for number in (300, -1, 2**70, -(2**70)):
            assert_same(apply(device, number), apply(host, number))
            assert_same(
                gpuarray.where(apply(device, number), device, device), host, exact=True
            )


def test_unsigned_numbers_above_the_signed_range(context):
    host = np.array([0, 2**63, 2**64 - 1], "uint64")
    device = gpuarray.asarray(host, context=context)
    assert_same(device ^ (2**64 - 1), host ^ np.uint64(2**64 - 1))
    assert_same(device > 2**63, host > 2**63)


def test_small_exponents(context):
    host = values("float32", (6,))
    device = gpuarray.asarray(np.abs(host), context=context)
    for exponent in (2, 0.5, 3, -1.0):
        assert_same(device**exponent, np.abs(host) ** exponent)
    whole = np.arange(-3, 3, dtype="int32")
    assert_same(gpuarray.asarray(whole, context=context) ** 2, whole**2)


def test_divmod(context):
    host = values("int32", (9,))
    device = gpuarray.asarray(host, context=context)
    for got, expected in zip(divmod(device, 7), divmod(host, 7), strict=True):
        assert_same(got, expected)
    for got, expected in zip(
        divmod(100, device), quietly(divmod, 100, host), strict=True
    ):
        assert_same(got, expected)


# ---- outputs ----


@pytest.mark.oclgrind
@pytest.mark.parametrize("layout", ["c_order", "step", "negative_step", "permuted"])
def test_in_place_operators_write_the_array(context, layout):
    host, device = pair(layout, "float32", context)
    host = host.copy()
    same = device
    same += 1.5
    same *= gpuarray.asarray(host[:1], context=context)
    assert same is device
    host2 = (host + np.float32(1.5)) * host[:1]
    assert_same(device, host2)


def test_an_overlapping_output_is_as_if_there_were_none(context):
    host = np.arange(20, dtype="float32")
    device = gpuarray.asarray(host, context=context)
    gpuarray.add(device[:-1], device[1:], out=device[1:])
    expected = host.copy()
    expected[1:] = host[:-1] + host[1:]
    assert_same(device, expected)
    reverse = gpuarray.asarray(host, context=context)
    reverse += reverse[::-1]
    assert_same(reverse, host + host[::-1])


def test_an_output_of_another_dtype_of_the_same_kind(context):
    host = values("float32", (8,))
    device = gpuarray.asarray(host, context=context)
    out = gpuarray.empty(8, "float16", context)
    assert gpuarray.mul(device, device, out=out) is out
    assert_same(out, (host * host).astype("float16"))
    small = gpuarray.asarray(np.arange(5, dtype="int16"), context=context)
    small += 1
    assert_same(small, np.arange(1, 6, dtype="int16"))


def test_where_and_clip_mix_arrays_and_numbers(context):
    host = values("float32", (4, 5))
    device = gpuarray.asarray(host, context=context)
    assert_same(gpuarray.where(device > 0, device, 0), np.where(host > 0, host, 0))
    assert_same(device.clip(-1, 1), host.clip(-1, 1))
    low = gpuarray.asarray(host[0], context=context)
    assert_same(gpuarray.clip(device, low, 2.0), np.clip(host, host[0], 2.0))


def test_any_number_has_a_truth_value(context):
    host = values("int8", (4, 5))
    device = gpuarray.asarray(host, context=context)
    for number in (0, 5, 0.0, 0.5, -3, float("nan")):
        result = gpuarray.logical_and(device, number)
        assert_same(result, np.logical_and(host, number))
    assert_same(gpuarray.where(0.5, device, 0), np.where(True, host, 0))


def test_no_double_is_made_of_single_operands(context):
    device = gpuarray.asarray(values("float32", (3,)), context=context)
    for result in (device * 2, device + 0.1, device**2, device / 3, device > 1.5):
        assert result.dtype != np.float64


def test_new_shapes_compile_nothing(context):
    def work(n, m):
        a = gpuarray.asarray(values("float32", (n, m)), context=context)
        (a + a[:1]).sum(0)

    work(5, 7)
    before = context.cache_info().compiled
    for n, m in ((2, 3), (11, 13), (40, 2), (3, 100)):
        work(n, m)
    assert context.cache_info().compiled == before


@pytest.mark.parametrize("dtype", ["int8", "int32", "float64", "float16"])
def test_lengths_around_those_of_vectors_and_chunks(context, dtype):
    """Full steps and what is left of a row, beside operands that repeat along it."""
    for n in (1, 2, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 4095, 4096, 4097, 8209):
        wide = np.arange(3 * n).reshape(3, n) % 7
        tall, flat = np.array([[3], [1], [2]]), np.arange(n) % 5
        hosts = [v.astype(dtype) for v in (wide, tall, flat)]
        a, b, c = (gpuarray.asarray(v, context=context) for v in hosts)
        assert_same(a * a, hosts[0] ** 2, exact=True)
        assert_same(a * b + c, hosts[0] * hosts[1] + hosts[2], exact=True)
        assert_same(a[::-1, ::-1] - b, hosts[0][::-1, ::-1] - hosts[1], exact=True)
        a *= b
        assert_same(a, hosts[0] * hosts[1], exact=True)
