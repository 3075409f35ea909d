"""Where expressions have edges: jumps, kinks, and points that are an exception.

Between points an expression is smooth if all that is piecewise constant is alike at
them: comparisons, integers and rounded numbers, in the expression and in the
derivatives of its rows, which is where a `maximum` or a `mod` has its own.
"""

from __future__ import annotations

import gpuarray.compiler.tensor as T
import numpy as np
from gpuarray.compiler.derivatives.node import M
from gpuarray.compiler.errors import CompilerError
from gpuarray.compiler.graph.traverse import toposort
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.scalars import PAIRS
from random_drawing import Values
from random_rounding import name_of, same

WHOLE = 2**53
"""From here on numbers have nothing behind the point."""


def has_edge(output, points):
    """Whether an expression may have an edge between some points.

    A point has the value of each variable that the expression is computed from.
    """
    values, known = [Values(point) for point in points], {}
    nodes = piecewise_constant(output)
    return any(moved(node.outputs[0], values, known).any() for node in nodes)


def moved(variable, values, known):
    """Where a variable differs between points, or would if it were not so large."""
    if variable in known:
        return known[variable]
    first, *others = (np.asarray(each.of(variable)) for each in values)
    if any(each.shape != first.shape for each in others):
        return np.array(True)
    found = ~np.logical_and.reduce([same(first, each) for each in others])
    node = variable.owner
    if node is not None and isinstance(node.op, Elemwise):
        is_lost = ~(np.abs(first) < WHOLE)
        for each in node.inputs:
            found = found | is_lost & moved(each, values, known)
    known[variable] = found
    return found


def piecewise_constant(output):
    """The nodes whose results jump or stay, of an expression and its derivatives."""
    rows = [node for node in toposort([output]) if name_of(node)]
    parts = [part for node in rows for part in (*flows(node), *other_part(node))]
    parts = [part for part in parts if part is not None]
    return [node for node in toposort([output, *parts]) if is_piecewise_constant(node)]


def is_piecewise_constant(node):
    if not node.outputs[0].type.dtype.startswith("float"):
        return True
    return bool(name_of(node)) and all(each is None for each in flows(node))


def flows(node):
    """What flows to the inputs of a row; the output, where it says nothing."""
    ones = T.ones_like(node.outputs[0])
    try:
        return node.op.pull_back(M, node.inputs, node.outputs, [ones])
    except (NotImplementedError, CompilerError):
        return node.outputs


def other_part(node):
    """The other result where NumPy's function has two: what is before the point."""
    for pair in PAIRS:
        names = [row.name for row in pair.rows]
        if name_of(node) in names:
            names.remove(name_of(node))
            return [getattr(T, names[0])(*node.inputs)]
    return []
