"""NumPy's functions and ufuncs called with our arrays; what may be copied unasked."""

import gpuarray
import numpy as np
import pytest
from gpuarray.config import Config
from gpuarray.errors import BadType, BadValue
from judge import assert_same
from layouts import values


@pytest.fixture
def x(context):
    return gpuarray.asarray(values("float32", (3, 4)), context=context)


def ours(found):
    assert isinstance(found, gpuarray.Array)
    return found


def test_ufuncs_lead_to_ours(x):
    host = x.get()
    assert_same(ours(np.exp(x)), np.exp(host))
    assert_same(ours(np.add(x, 1.5)), host + np.float32(1.5))
    assert_same(ours(np.add.reduce(x)), host.sum(0))
    assert_same(ours(np.maximum.accumulate(x, axis=1)), np.maximum.accumulate(host, 1))
    assert_same(ours(np.multiply.outer(x[0], x[1])), np.outer(host[0], host[1]))
    out = gpuarray.empty((3, 4), "float32", x.context)
    assert np.add(x, x, out=out) is out
    assert_same(out, host + host)
    assert np.negative(x, out=out, where=x > 0) is out
    whole, part = np.modf(x)
    assert_same(ours(whole) + ours(part), host)
    np.add.at(out, [0, 0], 1)
    assert_same(ours(np.matmul(x, x.T)), host @ host.T)


@pytest.mark.parametrize("name", ["allclose", "array_equal", "array_equiv"])
def test_whole_comparisons_take_an_array_of_the_host(x, name):
    host, compare = x.get(), getattr(np, name)
    assert compare(x, host) is True and compare(host, x) is True
    assert compare(x, host + 1) is False and compare(host + 1, x) is False


def test_functions_lead_to_ours(x):
    host = x.get()
    assert_same(ours(np.sum(x, axis=1)), host.sum(1))
    assert_same(ours(np.concatenate([x, x])), np.concatenate([host, host]))
    assert_same(ours(np.where(x > 0, x, 0)), np.where(host > 0, host, 0))
    assert_same(ours(np.linalg.norm(x)), np.linalg.norm(host))
    assert_same(ours(np.cumsum(x)), np.cumsum(host))
    assert np.shape(x) == (3, 4) and np.ndim(x) == 2
    assert np.size(x) == 12 and np.size(x, 1) == 4
    assert not np.iscomplexobj(x) and np.isrealobj(x)
    assert np.may_share_memory(x, x[1:]) and not np.may_share_memory(x, host)
    assert np.array_repr(x) == repr(x)
    copy = gpuarray.zeros((3, 4), "float32", x.context)
    np.copyto(copy, x, where=x > 0)
    assert_same(copy, np.where(host > 0, host, 0))


def test_numbers_and_arrays_without_axes_may_stand_beside(x):
    host = x.get()
    number = np.float32(2.5)
    assert_same(ours(number * x), number * host)
    assert_same(ours(number - x), number - host)
    assert_same(ours(np.array(number) / x), number / host)
    assert_same(ours(np.float32(0) < x), host > 0)


def test_arrays_of_the_host_are_refused_with_the_mend(x):
    host = x.get()
    mend = r"put it on the device first: gpuarray.asarray\(x, context="
    for call in (
        lambda: np.add(x, host),
        lambda: host + x,
        lambda: x + host,
        lambda: host == x,
        lambda: np.maximum(host, x),
    ):
        with pytest.raises(BadType, match=mend):
            call()
    with pytest.raises(BadType, match="out is ndarray"):
        np.add(x, x, out=host)
    with pytest.raises(BadType, match=r"by dst\[...\] = x.get\(\)"):
        np.copyto(host, x)
    with pytest.raises(TypeError):
        np.concatenate([x, host])


def test_what_there_is_not_says_so(x):
    for call, name in (
        (lambda: np.roots(x), "roots"),
        (lambda: np.isnat(x), "isnat"),
        (lambda: np.poly(x), "poly"),
    ):
        with pytest.raises(BadType, match=f"numpy.{name} is not offered .*asarray"):
            call()


def test_other_libraries_arrays_are_left_to_them(x):
    class Theirs:
        def __array_ufunc__(self, ufunc, method, *inputs, **options):
            return "theirs"

    assert np.add(x, Theirs()) == "theirs"
    assert x.__array_function__(np.sum, (Theirs,), (x,), {}) is NotImplemented


# ---- implicit conversion ----


def test_asarray_copies_unless_it_is_forbidden(null):
    x = gpuarray.asarray(np.arange(3.0), context=null)
    assert_same(x, np.arange(3.0))
    with gpuarray.implicit_conversion(False):
        with pytest.raises(BadType, match=r"use x.get\(\) or gpuarray.asnumpy\(x\)"):
            np.asarray(x)
        with pytest.raises(BadType):
            np.array(x)
        with gpuarray.implicit_conversion(True):
            np.asarray(x)
        np.testing.assert_array_equal(x.get(), [0, 1, 2])
        np.testing.assert_array_equal(gpuarray.asnumpy(x), [0, 1, 2])
        assert gpuarray.asnumpy([1, 2]).tolist() == [1, 2]
        assert "0., 1., 2." in repr(x)
        assert float(x[1]) == 1.0 and x.tolist() == [0, 1, 2]
    np.asarray(x)


def test_a_process_may_forbid_it(null):
    x = gpuarray.asarray(np.arange(3.0), context=null)
    gpuarray.set_implicit_conversion(False)
    try:
        with pytest.raises(BadType):
            np.asarray(x)
    finally:
        gpuarray.set_implicit_conversion(None)
    np.asarray(x)


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "complex64"])
def test_operators_take_numpys_arrays_where_that_is_chosen(context, dtype):
    host, row = values(dtype, (3, 4)), values("float32", (4,), 1)
    device = gpuarray.asarray(host, context=context)
    mask = values("bool", (3, 4), 2)

    def calls(a, b):
        yield lambda: a + b
        yield lambda: b + a
        yield lambda: a * b
        yield lambda: a == b
        yield lambda: b != a
        yield lambda: np.add(a, b)
        yield lambda: np.add(b, a)
        yield lambda: np.multiply(a, b, where=mask, out=np.multiply(a, 0) * row)
        yield lambda: a @ b
        yield lambda: b @ a.T
        yield lambda: np.matmul(a, b)

    for one, theirs in zip(calls(device, row), calls(host, row), strict=True):
        with pytest.raises(BadType, match="set_implicit_conversion"):
            one()
        with gpuarray.implicit_conversion(True):
            found = one()
        assert isinstance(found, gpuarray.Array) and found.context is context
        assert_same(found, theirs(), rtol=1e-5)
    with gpuarray.implicit_conversion(True):
        if dtype != "bool":
            changed = device.copy()
            before = changed
            changed *= host
            assert changed is before
            assert_same(changed, host * host, rtol=1e-5)
        stored = kept = host.astype("complex128")
        stored += device
        assert stored is kept
        np.testing.assert_allclose(stored, host.astype("complex128") + host, rtol=1e-6)
        with pytest.raises(TypeError):
            whole = np.zeros((3, 4), "int8")
            whole += gpuarray.asarray(row, context=context)
        with pytest.raises(ValueError):
            device + row[:3]
    with pytest.raises(BadType):
        stored += device


def test_the_environment_may_forbid_it():
    variable = "GPUARRAY_IMPLICIT_CONVERSION"
    assert Config.from_environment({variable: "0"}).implicit_conversion is False
    assert Config.from_environment({variable: "1"}).implicit_conversion is True
    assert Config.from_environment({}).implicit_conversion is None
    with pytest.raises(BadValue, match="expected 0 or 1"):
        Config.from_environment({variable: "no"})


def test_get_keeps_the_order(null):
    host = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    got = gpuarray.asarray(host, context=null).get()
    assert got.flags.f_contiguous and (got == host).all()


def test_shared_memory_is_told_exactly(context):
    """Parts that lie between one another's ends have no element in common."""
    host = np.arange(12.0).reshape(3, 4)
    a = gpuarray.asarray(host, context=context)
    parts = [np.s_[:, ::2], np.s_[:, 1::2], np.s_[::-1], np.s_[1, 2:], np.s_[:0]]
    for one in parts:
        for other in parts:
            for ask in (np.shares_memory, np.may_share_memory):
                assert ask(a[one], a[other]) == ask(host[one], host[other])
    assert not np.shares_memory(a, host)
    assert not np.shares_memory(a, a.copy())
