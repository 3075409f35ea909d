"""Runs a graph node by node with each op's NumPy reference: the judge of every test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gpuarray.compiler.graph.core import Constant, Variable
from gpuarray.compiler.graph.traverse import inputs_of, toposort
from gpuarray.compiler.shared import SharedVariable


def evaluate(outputs: Any, values: Mapping[Variable, Any] | None = None) -> Any:
    """The values of `outputs` (a variable or a list) for the given values of leaves.

    What each op computes must have the type that the graph says.
    """
    single = isinstance(outputs, Variable)
    asked: Sequence[Variable] = [outputs] if single else list(outputs)
    known = {
        leaf: leaf_value(leaf, values or {}) for leaf in leaves(asked, values or {})
    }
    for node in toposort(asked, blockers=list(values or {})):
        results = node.op.evaluate(node, [known[each] for each in node.inputs])
        assert len(results) == len(node.outputs), node
        for output, result in zip(node.outputs, results, strict=True):
            assert_type(node, output.type, result)
            known.setdefault(output, result)
    found = [known[each] for each in asked]
    return found[0] if single else found


def leaves(outputs: Sequence[Variable], values: Mapping[Variable, Any]):
    return [*inputs_of(outputs, blockers=list(values)), *values]


def leaf_value(leaf: Variable, values: Mapping[Variable, Any]) -> Any:
    if leaf in values:
        return leaf.type.filter(values[leaf])
    if isinstance(leaf, Constant):
        return leaf.data
    assert isinstance(leaf, SharedVariable), f"no value for {leaf}"
    return leaf.get_value(borrow=True)


def assert_type(node: Any, kind: Any, result: Any) -> None:
    assert isinstance(result, np.ndarray), f"{node} gives a {type(result)}"
    assert result.dtype == kind.dtype, f"{node} gives {result.dtype}, not {kind}"
    assert result.ndim == kind.ndim, f"{node} gives {result.ndim} axes, not {kind}"
    for length, flag in zip(result.shape, kind.broadcastable, strict=True):
        assert not flag or length == 1, f"{node} gives {result.shape}, not {kind}"


def finite_differences(function, arrays, step=1e-6):
    """The gradient of the scalar `function(*arrays)`, by central differences."""
    gradients = []
    for index, array in enumerate(arrays):
        gradient = np.zeros(array.shape)
        for place in np.ndindex(array.shape):
            ends = []
            for sign in (1, -1):
                moved = [each.copy() for each in arrays]
                moved[index][place] += sign * step
                ends.append(float(function(*moved)))
            gradient[place] = (ends[0] - ends[1]) / (2 * step)
        gradients.append(gradient)
    return gradients
