"""Print, for which the plan pauses, and assert, which the library checks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from gpuarray._kernels.codegen import convert
from gpuarray.array import Array
from gpuarray.compiler.gpukernels.bodies import Steps, body_of
from gpuarray.compiler.gpukernels.calls import step_function
from gpuarray.compiler.gpukernels.registry import Lowerer, lowers
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.ops.control.debugging import Assert, Print, Require


@lowers(Print, Assert, Require)
def lower(op: Print | Assert, node: Apply, k: Lowerer) -> None:
    """Lower to a step that waits for the value; its result is the array itself."""
    name = "print" if isinstance(op, Print) else "assert"
    k.call(node, name, node.inputs, {"op": op}, recorded=False)


@step_function("print")
def print_array(x: Array, *, op: Print) -> Array:
    """Print the value of ``x`` and return ``x``."""
    op.show(np.asarray(x))
    return x


@body_of("assert")
def assert_steps(s: Steps, x: int, *conditions: int, op: Assert) -> int:
    """Return ``x``, after a check by the library, which waits for arrays."""
    arrays = [condition for condition in conditions if s.is_array(condition)]
    integers = [condition for condition in conditions if not s.is_array(condition)]
    if arrays:
        integers.append(s.read(all_true(s, arrays)))
    name = "require" if isinstance(op, Require) else "assert"
    s.check(name, x, integers, op.msg)
    return x


def all_true(s: Steps, conditions: Sequence[int]) -> int:
    """Return the logical and of device scalars, as one device scalar."""
    names = tuple(f"c{number}" for number in range(len(conditions)))
    texts = [
        convert(name, np.dtype(s.array(condition).dtype), np.dtype("bool"))
        for name, condition in zip(names, conditions, strict=True)
    ]
    expr = f"o0 = {' && '.join(texts)};"
    return s.launch(conditions, ["bool"], expr, label="assert", names=names)
