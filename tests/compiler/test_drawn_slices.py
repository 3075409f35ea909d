"""Slices of slices that are drawn, between multiples of parts of lengths.

Values and gradients are those of NumPy and of the graph as written, at lengths that the
unit divides and that it does not, at 0, and past the end.
"""

import random

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import grad, rewrites
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.traverse import evaluated
from run_graph import run_graph

LENGTHS = [(12, 12), (13, 12), (12, 4), (3, 12), (7, 2), (0, 6), (5, 0)]
"""Lengths of the array that is cut, and of the one that the units are parts of."""


class DrawnSlices:
    """Cuts of an array, with a function between them: of symbols or of numbers."""

    def __init__(self, seed):
        self.pick = random.Random(seed)
        self.part = self.pick.choice([1, 2, 3, 4])
        self.axis = self.pick.choice([0, 1])
        self.cuts = [self.cut() for _ in range(self.pick.randint(1, 3))]
        self.depths = [self.pick.randint(1, 3) for _ in range(3)]
        self.paths = [
            [self.cut() for _ in range(depth)]
            for depth in self.depths[: self.pick.randint(2, 3)]
        ]

    def cut(self):
        """The bounds of a slice: numbers, multiples of the unit, or the input."""
        start, stop = sorted(self.pick.sample(range(5), 2))
        kind = self.pick.choice(["units", "units", "units", "numbers", "mixed", "open"])
        if kind == "numbers":
            return start, stop
        if kind == "open":
            return ("units", start), None
        if kind == "mixed":
            return start, self.pick.choice([("units", stop), "n", -1])
        return ("units", start), ("units", stop)

    def taken(self, x, unit, n, cut):
        """A slice of x."""

        def bound(part):
            if part == "n":
                return n
            return part[1] * unit if isinstance(part, tuple) else part

        key = slice(*map(bound, cut))
        return x[key] if self.axis == 0 else x[:, key]

    def results(self, names, x, y, n):
        """What is cut of the same sum, each time with a function of its own."""
        unit = y.shape[self.axis] // self.part
        whole = self.taken(names.exp(x * 0.5) + x, unit, n, self.cuts[0])
        functions = names.sin, names.tanh, names.sqrt
        found = []
        for path, function in zip(self.paths, functions, strict=False):
            part = whole
            for cut in path:
                part = self.taken(part, unit, n, cut)
            found.append(function(part))
        return found


def rewritten(inputs, outputs):
    """A function of arrays: the graph after all rewrites, by its ops' references."""
    graph = FunctionGraph(inputs, outputs)
    rewrites.optimize(graph, keep_requirements=True)

    def call(arrays):
        return run_graph(graph, dict(zip(graph.inputs, arrays, strict=True)))

    return call


@pytest.mark.parametrize("seed", range(60))
def test_drawn_slices_are_those_of_numpy(seed):
    drawn = DrawnSlices(seed)
    inputs = x, y, n = T.dmatrix("x"), T.dmatrix("y"), T.lscalar("n")
    outputs = drawn.results(T, x, y, n)
    slope = grad(sum((k + 1) * (out**2).sum() for k, out in enumerate(outputs)), x)
    values, slopes = rewritten(inputs, outputs), rewritten(inputs, [slope])
    rng = np.random.default_rng(seed)
    for lengths in LENGTHS:
        shapes = [(k, 3) if drawn.axis == 0 else (3, k) for k in lengths]
        arrays = [rng.uniform(0.2, 1, shape) for shape in shapes]
        arrays.append(np.int64(rng.integers(0, 9)))
        expected = drawn.results(np, *arrays)
        for value, wanted in zip(values(arrays), expected, strict=True):
            np.testing.assert_allclose(value, wanted, rtol=1e-12, strict=True)
        as_written = evaluated([slope], dict(zip(inputs, arrays, strict=True)))
        np.testing.assert_allclose(
            slopes(arrays)[0], as_written[0], rtol=1e-10, strict=True
        )
