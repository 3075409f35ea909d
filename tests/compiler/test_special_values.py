"""Every row compiled, at special values of every dtype, against NumPy."""

import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import rewrites
from gpuarray.compiler.graph.core import constant
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.ops.elemwise import Elemwise, loop_dtypes
from gpuarray.scalars import SCALARS
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
        (row, loop)
        for row, loop in rows_for(tuple(x.dtype for x in arrays))
        if on_context.has_double or "float64" not in compiled_dtypes(row, arrays)
    ]
    outputs = [Elemwise(row)(*variables) for row, _ in rows]
    found = theano.function(variables, outputs, mode=mode)(*arrays)
    for (row, loop), got in zip(rows, found, strict=True):
        expected = reference(row, loop, arrays)
        expected = expected.astype(compiled_dtypes(row, arrays)[-1])
        assert_agrees(row, got, expected, defined(row, arrays, expected))


def compiled_dtypes(row, arrays):
    return loop_dtypes(row, [each.dtype.name for each in arrays])


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
