"""Runs a graph by its ops' NumPy references, in shared memory as an executor would.

An op that overwrites an input really does, and a view is a view; so a wrong order or a
wrong in-place choice shows as wrong values.
"""

import numpy as np
from gpuarray.compiler.graph.core import Constant


def run_graph(fgraph, values, order=None):
    """The outputs for values of the inputs; inputs that may be overwritten are."""
    known = {variable: np.array(value) for variable, value in values.items()}
    for node in fgraph.toposort() if order is None else order:
        arrays = [
            np.asarray(v.data) if isinstance(v, Constant) else known[v]
            for v in node.inputs
        ]
        with np.errstate(all="ignore"):
            results = node.op.evaluate(node, arrays)
        for out, result in zip(node.outputs, results, strict=True):
            assert np.asarray(result).dtype == out.type.dtype, node
            assert np.ndim(result) == out.type.ndim, node
            known[out] = np.asarray(result)
    return [v.data if isinstance(v, Constant) else known[v] for v in fgraph.outputs]
