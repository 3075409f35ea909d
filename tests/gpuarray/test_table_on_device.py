"""Every row of the table on every dtype, on the device, against NumPy.

The rows of one operand type are computed by one kernel with many outputs: the
expressions are what is tested here, and a kernel per row and dtype would take an hour
to build.
"""

import numpy as np
import pytest
from gpuarray.dtypes import DOUBLES, DTYPES, kind_of
from many_rows import compute
from rows import assert_agrees, defined, reference, rows_for, special_values

MIXED = [
    ("int64", "uint64"),
    ("uint64", "int64"),
    ("float32", "int32"),
    ("float16", "float32"),
    ("uint8", "int8"),
    ("bool", "float32"),
    ("complex64", "float32"),
    ("int16", "complex64"),
    ("complex64", "float64"),
    ("bfloat16", "float32"),
    ("bfloat16", "int8"),
    ("bfloat16", "float16"),
]
THREES = ["float32", "float16", "bfloat16", "int32", "uint8", "bool", "complex64"]


def run(context, operands):
    found = list(rows_for(tuple(x.dtype for x in operands)))
    if not context.has_double:
        found = [
            (r, p) for r, p in found if DOUBLES.isdisjoint((*p.operands, p.result))
        ]
    rows = [row for row, _ in found]
    assert rows
    results = compute(context, rows, operands)
    for (row, loop), got in zip(found, results, strict=True):
        expected = reference(row, loop, operands)
        assert_agrees(row, got, expected, defined(row, operands, expected))


def skip_if_not_held(context, dtype):
    if dtype in DOUBLES and not context.has_double:
        pytest.skip(f"{context.name} has no double precision, which {dtype} needs")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rows_of_one_operand(context, dtype):
    skip_if_not_held(context, dtype)
    x = special_values(dtype)
    if kind_of(dtype) == "f":
        x = np.concatenate([x, np.linspace(-6, 6, 101).astype(dtype)])
    if dtype.kind == "c":
        more = np.random.default_rng(0).normal(0, 2, (2, 300))
        x = np.concatenate([x, (more[0] + 1j * more[1]).astype(dtype)])
    run(context, [x])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rows_of_two_operands(context, dtype):
    skip_if_not_held(context, dtype)
    step = 3 if dtype.kind == "c" else 1
    x, y = np.meshgrid(special_values(dtype)[::step], special_values(dtype)[::step])
    run(context, [x.ravel(), y.ravel()])


@pytest.mark.parametrize("dtypes", MIXED, ids="-".join)
def test_rows_of_two_dtypes(context, dtypes):
    x, y = np.meshgrid(*map(special_values, dtypes))
    run(context, [x.ravel(), y.ravel()])


@pytest.mark.parametrize("dtype", THREES)
def test_rows_of_three_operands(context, dtype):
    x = special_values(dtype)
    if x.dtype.kind == "c":
        x = x[::4]
    x, y, z = np.meshgrid(x, x[::-2], x[::3])
    run(context, [x.ravel(), y.ravel(), z.ravel()])
