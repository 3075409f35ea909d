"""Every row compiled, at special values of every dtype, against NumPy."""

import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray._kernels.codegen import resolve
from gpuarray.compiler import Mode, rewrites
from gpuarray.compiler.errors import GraphTypeError
from gpuarray.compiler.graph.core import constant
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise, loop_dtypes
from gpuarray.scalars import SCALARS
from judge import quietly
from rows import assert_agrees, defined, reference, rows_for, special_values
from run_graph import run_graph

DTYPES = ["bool", "int8", "uint8", "int64", "float16", "float32", "float64"]
MODES = ["FAST_RUN", "FAST_COMPILE"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("arity", [1, 2])
def test_a_compiled_row_gives_what_numpy_gives(arity, dtype, mode, on_context):
    if dtype == "float64" and not on_context.has_double:
        pytest.skip(f"{on_context.device_name} has no float64")
    grid = np.meshgrid(*[special_values(dtype)] * arity)
    arrays = [each.ravel() for each in grid]
    variables = [T.tensor(dtype, (False,)) for _ in arrays]
    rows = [
        row
        for row, _ in rows_for(tuple(x.dtype for x in arrays))
        if on_context.has_double or "float64" not in compiled_dtypes(row, arrays)
    ]
    outputs = [Elemwise(row)(*variables) for row in rows]
    found = theano.function(variables, outputs, mode=mode)(*arrays)
    for row, got in zip(rows, found, strict=True):
        *given, dtype = compiled_dtypes(row, arrays)
        operands = [x.astype(to) for x, to in zip(arrays, given, strict=True)]
        loop = resolve(row, tuple(x.dtype for x in operands))
        expected = reference(row, loop, operands).astype(dtype)
        assert_agrees(row, got, expected, defined(row, operands, expected))


def compiled_dtypes(row, arrays):
    return loop_dtypes(row, [each.dtype.name for each in arrays])


# Theano's `upgrade_to_float`.
FLOAT_OF = {"bool": "float32", "int8": "float32", "uint8": "float32"}
FLOAT_OF |= {"int16": "float32", "uint16": "float32"}
FLOAT_OF |= {"int32": "float64", "uint32": "float64"}
FLOAT_OF |= {"int64": "float64", "uint64": "float64"}


@pytest.mark.parametrize("dtype", FLOAT_OF)
def test_floats_that_integers_become_are_theanos(dtype, on_context):
    """Of any row; NumPy gives float16 of 8 bits, and integers of ceil and the like."""
    if not on_context.has_double and FLOAT_OF[dtype] == "float64":
        pytest.skip(f"{on_context.device_name} has no float64")
    x = T.tensor(dtype, (False,))
    host = np.array([0, 1], dtype)
    rows = [row for row in SCALARS.values() if row.arity == 1 and row.result == "float"]
    rows += [row for row in SCALARS.values() if row.floats_integers]
    outputs = [Elemwise(row)(x) for row in rows]
    for row, got in zip(rows, theano.function([x], outputs)(host), strict=True):
        operand = host.astype(FLOAT_OF[dtype])
        expected = quietly(row.reference, operand)
        assert got.dtype == FLOAT_OF[dtype], row.name
        assert_agrees(row, got, expected, defined(row, [operand], expected))
    for row in SCALARS.values():
        try:
            dtypes = loop_dtypes(row, [dtype] * row.arity)
        except GraphTypeError:
            continue
        assert "float16" not in dtypes, row.name


def test_the_inverse_of_integers_is_not_truncated(on_context):
    for mode in ("FAST_RUN", "FAST_COMPILE", Mode(optimizer=None), "DebugMode"):
        for dtype in ("int8", "uint16", "int32"):
            x = T.tensor(dtype, (False,))
            y = theano.function([x], [T.inv(x), x * T.inv(x), T.ceil(x)], mode=mode)
            host = np.array([1, 2, 4], dtype)
            inverse, product, whole = y(host)
            np.testing.assert_array_equal(inverse, [1, 0.5, 0.25])
            np.testing.assert_array_equal(product, [1, 1, 1])
            assert inverse.dtype == product.dtype == whole.dtype == FLOAT_OF[dtype]


def test_a_half_beside_integers_stays_one():
    h, i = T.tensor("float16", (False,)), T.tensor("int8", (False,))
    assert T.arctan2(h, i).dtype == T.exp(h).dtype == "float16"
    assert T.arctan2(i, i).dtype == "float32"


@pytest.mark.parametrize("name", [n for n, row in SCALARS.items() if row.arity == 2])
def test_no_rewrite_changes_a_row_beside_a_special_constant(name):
    """Each value on either side of the row, and the row of a variable and itself."""
    for dtype in DTYPES:
        row, values = SCALARS[name], special_values(dtype)
        judge(row, values, values[0], lambda x, _: (x, x))
        for value in values:
            if (name, value) != ("power", 0.5):  # the square root, as of NumPy's **
                judge(row, values, value, lambda x, c: (x, c))
            judge(row, values, value, lambda x, c: (c, x))


def judge(row, values, value, order):
    """The row of ``values`` and a constant, rewritten, against NumPy."""
    arrays = order(values, np.full_like(values, value))
    found = [loop for each, loop in rows_for((values.dtype,) * 2) if each is row]
    if not found:  # the row has no loop for the dtype, or what it has converts
        return
    x = T.tensor(values.dtype.name, (False,))
    y = Elemwise(row)(*order(x, constant(value, values.dtype.name)))
    fgraph = FunctionGraph([x], [y])
    rewrites.optimize(fgraph)
    (got,) = run_graph(fgraph, {fgraph.inputs[0]: values})
    expected = reference(row, found[0], arrays).astype(y.type.dtype)
    told = f"of {values.dtype} by {value}: {fgraph.outputs[0].owner}"
    keep = defined(row, arrays, expected)
    # Which sign a zero has is not kept by the rules of sums and powers.
    assert_agrees(row, got, expected, keep, told, signs=False)


EVERY_MODE = ["FAST_RUN", "FAST_COMPILE", Mode(optimizer=None), "DebugMode"]


@pytest.mark.parametrize("mode", EVERY_MODE, ids=str)
def test_what_is_no_number_is_not_cancelled(mode, on_context):
    """v * 0, v - v and v / v are nan where v is nan or infinite, as in NumPy."""
    v = T.fvector("v")
    host = np.array([0.0, 1.0, -2.0, np.nan, np.inf, -np.inf], "float32")
    programs = (
        *(lambda x: x * 0, lambda x: 0 * x, lambda x: x - x, lambda x: x / x),
        *(lambda x: x + (-x), lambda x: x - x + x, lambda x: x * 0 + 1),
        *(lambda x: 0 / x, lambda x: x * x / x, lambda x: x // x, lambda x: x % x),
    )
    found = theano.function([v], [program(v) for program in programs], mode=mode)(host)
    for program, got in zip(programs, found, strict=True):
        np.testing.assert_array_equal(got, quietly(program, host))


@pytest.mark.parametrize("mode", EVERY_MODE, ids=str)
@pytest.mark.parametrize("limits", [(1, 3), (3, 1), (2, 2)])
def test_the_gradient_of_clip_goes_where_its_value_comes_from(limits, mode, on_context):
    """min(max(x, low), high): of limits in the wrong order it is the upper one."""
    x, (low, high) = T.fvector("x"), T.fscalars("low", "high")
    y = T.clip(x, low, high)
    f = theano.function(
        [x, low, high], [y, *T.grad(y.sum(), [x, low, high])], mode=mode
    )
    host = np.array([0.0, 1.5, 2.5, 4.0, -np.inf, np.inf], "float32")
    value, to_x, to_low, to_high = f(host, *limits)
    np.testing.assert_array_equal(value, np.clip(host, *limits))
    inside = (limits[0] < host) & (host < limits[1])
    np.testing.assert_array_equal(to_x, inside)
    is_high = (host > limits[1]) | (limits[0] > limits[1])
    np.testing.assert_array_equal(to_high, is_high.sum())
    np.testing.assert_array_equal(to_low, (~inside & ~is_high).sum())
