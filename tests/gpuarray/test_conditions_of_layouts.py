"""Both sides of conditions in arrays themselves: layouts, views, flags and dtypes."""

import gpuarray
import numpy as np
import pytest
from calls import moved
from gpuarray.errors import (
    BadIndex,
    BadType,
    BadValue,
    NeedsCopy,
    NotConstructible,
    NotInPlace,
    Unsupported,
)
from judge import assert_same

RANDOM = np.random.default_rng(14)
A = RANDOM.normal(size=(2, 3, 4))
M = RANDOM.normal(size=(3, 5))
V = np.array([3.0, 1.0, 2.0, 1.0, 5.0])
NUMBER = np.array(2.5)


def test_an_array_of_the_same_dtype_is_new_unless_told(first_context):
    a = moved(M, first_context)
    for made in (a.astype("float64"), a.astype("float64", "C", True)):
        assert made is not a
        assert not gpuarray.may_share_memory(made, a)
    assert a.astype("float64", copy=False) is a
    assert a.astype("float64", casting=False) is a
    assert a.astype("float32", copy=False) is not a
    assert a.astype("float64", "F", copy=False).flags.f_contiguous
    assert a.astype("float64", "C", copy=False) is a
    assert a.T.astype("float64", "K", copy=False).flags.f_contiguous
    assert a.T.astype("float32").flags.f_contiguous
    assert a.T.astype("float32", "C").flags.c_contiguous
    with pytest.raises(BadType, match="float64 is not converted to int32 by the rule"):
        a.astype("int32", casting="same_kind")
    with pytest.raises(BadValue, match="order: got 'Z'"):
        a.astype("int32", "Z")


def test_an_element_by_itself(first_context):
    a, one = moved(V, first_context), moved(V[:1], first_context)
    assert (a.item(1), a.item(-1), one.item(), one.item(0)) == (1.0, 5.0, 3.0, 3.0)
    assert moved(M, first_context).item(1, 2) == M[1, 2]
    with pytest.raises(BadValue, match="has 5 elements, expected one"):
        a.item()
    for convert in (float, int, complex):
        assert convert(one) == 3
        with pytest.raises(BadType, match=r"array of shape \(5,\) is not one number"):
            convert(a)
    with pytest.raises(BadType, match="index: an array of float64 is not an integer"):
        range(4)[one]
    assert range(4)[moved(np.array(2), first_context)] == 2
    with pytest.raises(BadValue, match=r"truth of an array of shape \(5,\) is ambig"):
        bool(a)
    assert bool(one)
    assert not bool(moved(np.zeros((1, 1)), first_context))
    with pytest.raises(BadType, match="a 0-d array has no length"):
        len(moved(NUMBER, first_context))
    assert len(moved(M, first_context)) == 3


def test_all_of_a_buffer_is_the_base_of_a_part(first_context):
    a = gpuarray.zeros(4, "float64", first_context)
    assert a.base is None
    assert a[1:].base.shape == (4,)
    assert (a[1:].base.offset, a[1:].offset) == (0, 8)
    apart = a.strided((1,), (8,), 4)  # between two elements
    assert (apart.base.shape, apart.base.offset) == ((3,), 4)


def test_views_of_other_dtypes_and_shapes(first_context):
    host = np.arange(24, dtype="int32").reshape(2, 12)
    a = moved(host, first_context)
    for dtype in ("int16", "uint8", "int64", "float32", "complex64", "complex128"):
        assert_same(a.view(dtype), host.view(dtype), exact=True)
    assert_same(a[:, :1].view("int16"), host[:, :1].copy().view("int16"), exact=True)
    assert a.view(gpuarray.Array).dtype == a.dtype
    for view, dtype, fact in (
        (a[:, ::2], "int16", "has strides of 8 bytes"),
        (a[:, :3], "int64", "12 bytes, which int64 of 8 does not divide"),
        (a[0, 0, ...], "int16", "got int16 for a 0-d array of int32"),
        (a[:, 1:3], "int64", "do not lie at multiples of 8 bytes"),
    ):
        with pytest.raises(BadValue, match=fact):
            view.view(dtype)
    with pytest.raises(BadType, match="view: cls is 3, expected a class of arrays"):
        a.view("int32", 3)
    for shape in ((24,), (4, 6), (-1,), (3, -1), (2, -1, 3), (1, 24, 1)):
        for order in ("C", "F"):
            told = host.reshape(shape, order=order)
            assert_same(a.reshape(shape, order=order), told, exact=True)
            assert_same(a.reshape(*shape, order=order), told, exact=True)
            assert_same(a.reshape(shape, order), told, exact=True)
        assert_same(a.T.reshape(shape), host.T.reshape(shape), exact=True)
        assert_same(a.T.reshape(shape, order="A"), host.T.reshape(shape, order="A"))
    assert gpuarray.may_share_memory(a.reshape(24), a)
    assert not gpuarray.may_share_memory(a.reshape(24, copy=True), a)
    with pytest.raises(NeedsCopy, match=r"reshape of \(12, 2\) to \(24,\)"):
        a.T.reshape(24, copy=False)
    for shape, fact in (
        ((-1, -1), r"more than one length of \(-1, -1\) is -1"),
        ((5, -1), r"24 elements of shape \(2, 12\) do not fit \(5, -1\)"),
        ((0, -1), r"do not fit \(0, -1\)"),
        ((-2,), r"negative length in shape \(-2,\)"),
        ((1,) * 33, "33 dimensions; at most 32"),
        ((5,), r"has 24 elements, the new"),
    ):
        with pytest.raises(BadValue, match=fact):
            a.reshape(shape)
    with pytest.raises(BadType, match="is not an integer or a sequence of integers"):
        a.reshape(2.5, 4)
    a.shape = 4, 6
    assert_same(a, host.reshape(4, 6))
    with pytest.raises(NotInPlace, match=r"use a.reshape\(\(24,\)\)"):
        a.T.shape = 24


def test_axes_in_other_orders(first_context):
    a = moved(A, first_context)
    for axes in ((), (None,), ((2, 0, 1),), (2, 0, 1), (-1, 0, 1), ([0, 1, 2],)):
        assert_same(a.transpose(*axes), A.transpose(*axes), exact=True)
    assert_same(a.mT, A.swapaxes(-1, -2), exact=True)
    assert_same(a.T, A.T, exact=True)
    for axes, kind, fact in (
        ((0, 1), BadValue, "transpose: got 2 axes, expected 3"),
        ((0, 1, 1), BadValue, r"an axis is repeated in \(0, 1, 1\)"),
        ((0, 1, -2), BadValue, r"an axis is repeated in \(0, 1, -2\)"),
        ((0, 1, 3), BadIndex, "transpose: axis 3 is out of bounds for 3"),
    ):
        with pytest.raises(kind, match=fact):
            a.transpose(*axes)
    with pytest.raises(BadValue, match=r"mT: got an array of shape \(5,\), expected 2"):
        moved(V, first_context).mT  # noqa: B018
    assert a.dimshuffle(2, "x", 0, -2).shape == (4, 1, 2, 3)
    a.strides = (8, 16, 48)
    assert a.strides == (8, 16, 48)
    told = np.lib.stride_tricks.as_strided(A, A.shape, (8, 16, 48))
    assert_same(a, told, exact=True)
    for steps, fact in (
        ((8, 16), r"strides: 2 of them for shape \(2, 3, 4\)"),
        ((8, 16, 64), "from byte 0 to 240 of a buffer of 192"),
        ((-8, 16, 48), "from byte -8 to"),
    ):
        with pytest.raises(BadValue, match=fact):
            a.strides = steps


def test_a_diagonal_that_is_not_there_begins_within_the_array(first_context):
    a = moved(M, first_context)
    for offset in (-9, -3, 5, 40):
        found = gpuarray.diagonal(a, offset)
        assert (found.shape, found.offset) == ((0,), 0)


def test_flags_are_numpys(first_context):
    a = moved(A, first_context)
    for view, fortran, c in (
        (a, False, True),
        (a.T, True, False),
        (a[:, ::2], False, False),
    ):
        flags = view.flags
        assert (flags.f_contiguous, flags.c_contiguous) == (fortran, c)
        assert (flags.fortran, flags.contiguous) == (fortran, c)
        assert (flags.fnc, flags.farray, flags["FA"], flags["FARRAY"]) == (fortran,) * 4
        assert (flags.forc, flags["FORC"]) == (fortran or c,) * 2
        assert (flags.carray, flags["CA"], flags["IS_CARRAY"]) == (c,) * 3
        assert flags.writeable and flags.behaved and flags.aligned and flags.owndata
        assert not flags.updateifcopy and not flags["X"] and not flags["U"]
        assert flags[b"C"] == flags["IS_C_CONTIGUOUS"] == flags["CONTIGUOUS"] == c
        assert flags == type(flags)(flags.num) and flags != flags.num
        assert hash(flags) == hash(type(flags)(flags.num))
        assert f"F_CONTIGUOUS : {fortran}" in repr(flags)
    wide = gpuarray.broadcast_to(a, (2, *A.shape)).flags
    assert not wide.writeable and not wide.behaved and not wide.carray and not wide.forc
    odd = gpuarray.zeros(4, "float64", first_context).strided((1,), (8,), 4).flags
    assert not odd.aligned and not odd.behaved and odd.writeable
    with pytest.raises(KeyError, match="NONE"):
        wide["NONE"]


def test_copies_keep_or_change_the_order(first_context):
    a = moved(A, first_context)
    for order in ("C", "F", "A", "K", "c", "f", "a", "k", None):
        for device, host in ((a, A), (a.T, A.T), (a[::-1], A[::-1])):
            made, told = device.copy(order), host.copy((order or "A").upper())
            assert made.strides == told.strides or order in ("K", "k")
            assert_same(made, told, exact=True)
    with pytest.raises(BadValue, match="order: got 'Z', expected 'C', 'F', 'A' or 'K'"):
        a.copy("Z")
    for wrong in (3, ["C"]):
        with pytest.raises(BadValue, match="order: got "):
            a.copy(wrong)
    for host in (np.ones((3, 1), order="F"), np.ones((1, 3, 1)), np.ones((1, 1))):
        assert moved(host, first_context).strides == host.strides


def test_an_array_goes_to_a_context_and_to_the_host(first_context):
    a = moved(M, first_context)
    assert a.transfer(first_context) is a
    assert a.to_device(first_context.name) is a
    away = a.T.transfer("null")
    assert (away.context.name, away.strides) == ("null", a.T.strides)
    assert_same(away, M.T, exact=True)
    with pytest.raises(Unsupported, match="to_device: got stream 3"):
        a.to_device("null", stream=3)
    with pytest.raises(BadValue, match=r"on .* and null; bring one over first"):
        gpuarray.concatenate([a, a.transfer("null")])
    with pytest.raises(BadValue, match="the value is on null, the array on"):
        a[...] = a.transfer("null")
    with pytest.raises(NeedsCopy, match="copy=False"):
        np.asarray(a, copy=False)
    assert np.asarray(a, "float32").dtype == np.float32
    with pytest.raises(NotConstructible, match="arrays are made by"):
        gpuarray.Array()
    assert gpuarray.may_share_memory(a[:2], a[1:])
    assert not gpuarray.may_share_memory(a[:1], a[1:])
    with pytest.raises(BadType, match="may_share_memory: got ndarray"):
        gpuarray.may_share_memory(a, M)
    with pytest.raises(BadType, match="may_share_memory: got ndarray"):
        gpuarray.may_share_memory(M, a)
    large = RANDOM.normal(size=3000)  # in memory that the context keeps
    for part in (large, large[:2048], large[:2047]):
        assert_same(moved(part, first_context), part, exact=True)


# ---- what the package says of itself ----

NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64"
NAMES = (*NAMES.split(), "complex64", "complex128")


def test_the_namespace_tells_its_dtypes_and_versions(first_context, monkeypatch):
    info = gpuarray.__array_namespace_info__()
    assert tuple(info.dtypes(device=first_context)) == NAMES
    of_kind = {kind: tuple(info.dtypes(kind=kind)) for kind in (
        "bool", "signed integer", "unsigned integer", "integral", "real floating",
        "complex floating", "numeric", ("bool", "real floating"))}  # fmt: skip
    assert of_kind == {
        "bool": NAMES[:1], "signed integer": NAMES[1:5], "unsigned integer": NAMES[5:9],
        "integral": NAMES[1:9], "real floating": NAMES[9:11], "numeric": NAMES[1:],
        "complex floating": NAMES[11:],
        ("bool", "real floating"): ("bool", *NAMES[9:11]),
    }  # fmt: skip
    assert info.capabilities() == np.__array_namespace_info__().capabilities() | {
        "max dimensions": 32
    }
    assert info.default_dtypes(device=first_context) == {
        "real floating": np.dtype("float64"),
        "complex floating": np.dtype("complex128"),
        "integral": np.dtype("int64"),
        "indexing": np.dtype("int64"),
    }
    singles = [name for name in NAMES if name not in ("float64", "complex128")]
    with monkeypatch.context() as patched:
        patched.setattr(type(first_context), "has_double", False)
        assert list(info.dtypes(device=first_context)) == singles
        floats = info.default_dtypes(device=first_context)
        assert floats["real floating"] == np.float32
        assert floats["complex floating"] == np.complex64
    a = gpuarray.zeros(1, context=first_context)
    for year in range(2021, 2026):
        assert a.__array_namespace__(api_version=f"{year}.12") is gpuarray
    assert a.__array_namespace__() is gpuarray
    with pytest.raises(BadValue, match="2020"):
        a.__array_namespace__(api_version="2020.12")


def test_dtypes_have_kinds_and_limits():
    for dtype, kind, told in (
        ("float32", "real floating", True), ("bfloat16", "real floating", True),
        ("float32", "complex floating", False), ("bool", "numeric", False),
        ("bool", "bool", True), ("int8", ("bool", "int8"), True),
        ("int8", "int16", False),
        ("uint8", "signed integer", False), ("uint8", "unsigned integer", True),
        ("complex64", ("integral", "complex floating"), True), ("int64", (), False),
    ):  # fmt: skip
        assert gpuarray.isdtype(dtype, kind) is told
    with pytest.raises(BadValue, match="isdtype: got 'whole', expected a dtype, or"):
        gpuarray.isdtype("int8", "whole")
    with pytest.raises(BadValue, match=r"isdtype: got \['bool'\], expected a dtype"):
        gpuarray.isdtype("bool", ["bool"])
    for dtype in ("float16", "float32", "float64", "complex64"):
        made, told = gpuarray.finfo(dtype), np.finfo(dtype)
        for name in made._fields:
            assert getattr(made, name) == getattr(told, name), name
        assert made.tiny == told.tiny
    assert gpuarray.finfo("bfloat16").max == 3.3895313892515355e38
    assert gpuarray.iinfo("uint16").max == 65535
    with pytest.raises(BadValue, match=r"int8 is no dtype of floats; use iinfo"):
        gpuarray.finfo("int8")
    with pytest.raises(BadValue, match="float32 is no dtype of integers; use finfo"):
        gpuarray.iinfo("float32")
    with pytest.raises(BadValue, match="bool is no dtype of integers"):
        gpuarray.iinfo("bool")


RULES = ("no", "equiv", "safe", "same_kind", "unsafe")


def test_casts_and_common_dtypes():
    for source in (*NAMES, "float16"):
        for target in (*NAMES, "float16"):
            for rule in RULES:
                told = np.can_cast(source, target, rule)
                assert gpuarray.can_cast(source, target, rule) is told
            told = np.result_type(source, target)
            assert gpuarray.result_type(source, target) == told
        for number in (True, 1, 1.5, 1j, np.float32(1), np.ones(2, "int8")):
            array = np.ones(1, source)
            told = np.result_type(array, number)
            assert gpuarray.result_type(source, number) == told
    brief = {
        ("bfloat16", "float32"): (False, False, True, True, True),
        ("float32", "bfloat16"): (False, False, False, True, True),
        ("int8", "bfloat16"): (False, False, True, True, True),
        ("int32", "bfloat16"): (False, False, False, True, True),
        ("float16", "bfloat16"): (False, False, False, True, True),
        ("bfloat16", "float16"): (False, False, False, True, True),
        ("bfloat16", "int32"): (False, False, False, False, True),
        ("bfloat16", "bfloat16"): (True,) * 5,
    }
    for (source, target), told in brief.items():
        found = tuple(gpuarray.can_cast(source, target, rule) for rule in RULES)
        assert found == told, (source, target)
    with pytest.raises(BadValue, match="result_type: got nothing"):
        gpuarray.result_type()
