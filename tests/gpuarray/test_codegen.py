"""C text of scalar operations and dtypes: NumPy decides the types."""

import contextlib
import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
from gpuarray._kernels.codegen import identity_text, literal, resolve, scalar_expression
from gpuarray._native import lib, text
from gpuarray.dtypes import (
    DOUBLES,
    DTYPES,
    TYPES,
    as_dtype,
    kind_of,
    parts_dtype,
    work_ctype,
)
from gpuarray.errors import BadType
from gpuarray.scalars import SCALARS


@pytest.mark.parametrize("row", TYPES, ids=lambda row: str(row.dtype))
def test_the_dtype_table_is_the_library_s(row):
    entry = lib.gpuarray_get_type(row.typecode)
    assert text(entry.cluda_name) == row.c_name
    assert entry.size == row.dtype.itemsize == lib.gpuarray_get_elsize(row.typecode)


def test_loops_are_of_as_many_operands_as_the_row():
    wrong = replace(SCALARS["exp"], reference=abs, typed_as=np.add)
    with pytest.raises(BadType, match="add takes 2 operands"):
        resolve(wrong, (np.dtype("float32"),))
    with pytest.raises(BadType, match="exp: 2 operands, expected 1"):
        resolve(SCALARS["exp"], (np.dtype("float32"),) * 2)


def test_a_dtype_of_the_other_byte_order_means_the_native_one():
    assert as_dtype(">f4") == np.dtype("float32")


@pytest.mark.parametrize("dtype", ["clongdouble", "U3", "M8[s]", object, "longdouble"])
def test_a_dtype_that_no_device_holds_is_refused(dtype):
    with pytest.raises(BadType, match="is not offered; these are: bool, int8"):
        as_dtype(dtype)


BFLOAT16 = as_dtype("bfloat16")
OF_NUMPY = [dtype for dtype in DTYPES if dtype != BFLOAT16]


@pytest.mark.parametrize("row", SCALARS.values(), ids=lambda row: row.name)
def test_the_result_has_numpy_s_dtype(row):
    for a in OF_NUMPY:
        for b in OF_NUMPY:
            dtypes = (a, b, b)[: row.arity]
            sample = [np.ones(1, dtype) for dtype in dtypes]
            try:
                with np.errstate(all="ignore"):
                    expected = row.reference(*sample).dtype
            except TypeError:
                with pytest.raises(BadType, match=row.name):
                    resolve(row, dtypes)
            else:
                assert resolve(row, dtypes).result == expected, dtypes


@pytest.mark.parametrize("name", ["add", "true_div", "lt", "power", "maximum"])
@pytest.mark.parametrize("weak", [int, float, complex])
def test_python_numbers_are_weak(name, weak):
    row = SCALARS[name]
    for dtype in OF_NUMPY:
        expected = row.loops(np.ones(1, dtype), weak(1)).dtype
        assert resolve(row, (dtype, weak)).result == expected


@pytest.mark.parametrize("row", SCALARS.values(), ids=lambda row: row.name)
def test_bfloat16_promotes_as_float16_does(row):
    half, single = np.dtype("float16"), np.dtype("float32")
    for other in [*OF_NUMPY, BFLOAT16, int, float, complex]:
        if other == half:
            continue
        known = half if other == BFLOAT16 else other
        for place in range(row.arity):
            given, meant = [other] * row.arity, [known] * row.arity
            given[place], meant[place] = BFLOAT16, half
            try:
                result = resolve(row, tuple(meant)).result
            except BadType:
                with pytest.raises(BadType, match=row.name):
                    resolve(row, tuple(given))
                continue
            of_condition = row.joins and place not in row.joins and other != BFLOAT16
            wanted = BFLOAT16 if result == half and not of_condition else result
            assert resolve(row, tuple(given)).result == wanted
    if row.name == "add":
        assert resolve(row, (half, BFLOAT16)).result == single


def test_what_is_not_defined_for_complex_numbers_says_so():
    for name in ("relu", "sigmoid", "erf", "gamma", "psi"):
        with pytest.raises(BadType, match=f"{name}: no loop for .complex64.: it is"):
            resolve(SCALARS[name], (np.dtype("complex64"),))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_no_double_in_kernels_without_a_double_operand(dtype):
    for row in SCALARS.values():
        try:
            loop = resolve(row, (dtype,) * row.arity)
        except BadType:
            continue
        if not DOUBLES.isdisjoint((*loop.operands, loop.result)):
            continue
        operands = [(name, dtype) for name in "xyz"[: row.arity]]
        found = scalar_expression(row, operands)
        assert "double" not in found.text + found.support
        assert "{" not in found.text


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_literals_keep_every_bit(dtype):
    if dtype.kind == "c":
        parts = parts_dtype(dtype)
        x, y = literal(0.1, parts), literal(-2, parts)
        assert literal(complex(0.1, -2), dtype) == f"ga_complex({x}, {y})"
    elif kind_of(dtype) == "f":
        cast = literal(0.1, dtype)
        number = cast[cast.index(")(") + 2 : -1].rstrip("f")
        assert float.fromhex(number) == float(dtype.type(0.1))
        assert f"({work_ctype(dtype)})" in cast
        assert "INFINITY" in literal(-np.inf, dtype)
    else:
        assert "1" in literal(1, dtype)


def test_the_smallest_integer_is_written_without_overflow():
    assert identity_text(SCALARS["maximum"], np.dtype("int64")) == (
        "(ga_long)((-9223372036854775807L - 1))"
    )


def test_wrong_arity_is_refused():
    with pytest.raises(BadType, match="add: 1 operands, expected 2"):
        resolve(SCALARS["add"], (np.dtype("f4"),))


@pytest.mark.parametrize("row", SCALARS.values(), ids=lambda row: row.name)
def test_no_complex_number_is_made_by_a_cast(row):
    # CUDA, whose complex numbers are structures, has no such cast.
    texts = []
    for dtypes in itertools.product(DTYPES, repeat=row.arity):
        if not any(dtype.kind == "c" for dtype in dtypes):
            continue
        with contextlib.suppress(BadType):
            operands = [(f"x[{i}]", dtype) for i, dtype in enumerate(dtypes)]
            found = scalar_expression(row, operands)
            texts += [found.text, found.support]
    casts = [text for text in texts if re.search(r"\(ga_c(float|double)\)", text)]
    assert not casts
