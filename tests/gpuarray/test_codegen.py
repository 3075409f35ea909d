"""C text of scalar operations and dtypes: NumPy decides the types."""

import doctest

import gpuarray.codegen
import gpuarray.dtypes
import numpy as np
import pytest
from gpuarray._native import lib, text
from gpuarray.codegen import identity_text, literal, resolve, scalar_expression
from gpuarray.dtypes import DTYPES, TYPES, as_dtype, work_ctype
from gpuarray.errors import BadType
from gpuarray.scalars import SCALARS


@pytest.mark.parametrize("module", [gpuarray, gpuarray.codegen, gpuarray.dtypes])
def test_docstrings_run(module):
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("row", TYPES, ids=lambda row: str(row.dtype))
def test_the_dtype_table_is_the_library_s(row):
    entry = lib.gpuarray_get_type(row.typecode)
    assert text(entry.cluda_name) == row.c_name
    assert entry.size == row.dtype.itemsize == lib.gpuarray_get_elsize(row.typecode)


def test_a_dtype_of_the_other_byte_order_means_the_native_one():
    assert as_dtype(">f4") == np.dtype("float32")


@pytest.mark.parametrize("dtype", ["complex64", "U3", "M8[s]", object, "longdouble"])
def test_a_dtype_that_no_device_holds_is_refused(dtype):
    with pytest.raises(BadType, match="is not offered; these are: bool, int8"):
        as_dtype(dtype)


@pytest.mark.parametrize("row", SCALARS.values(), ids=lambda row: row.name)
def test_the_result_has_numpy_s_dtype(row):
    for a in DTYPES:
        for b in DTYPES:
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
@pytest.mark.parametrize("weak", [int, float])
def test_python_numbers_are_weak(name, weak):
    row = SCALARS[name]
    for dtype in DTYPES:
        expected = row.reference(np.ones(1, dtype), weak(1)).dtype
        assert resolve(row, (dtype, weak)).result == expected


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_no_double_in_kernels_without_a_double_operand(dtype):
    for row in SCALARS.values():
        try:
            loop = resolve(row, (dtype,) * row.arity)
        except BadType:
            continue
        if np.dtype("f8") in (*loop.operands, loop.result):
            continue
        operands = [(name, dtype) for name in "xyz"[: row.arity]]
        found = scalar_expression(row, operands)
        assert "double" not in found.text + found.support
        assert "{" not in found.text


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_literals_keep_every_bit(dtype):
    if dtype.kind == "f":
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
