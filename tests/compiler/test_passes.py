"""Every pass over a graph tells whether it changed anything."""

from collections import defaultdict

import gpuarray.compiler.tensor as T
from gpuarray.compiler import rewrites
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.ifelse import ifelse
from gpuarray.compiler.rewrites.engine import PASSES, Log
from random_drawing import Drawn, quiet

A, B, v, k, n = (
    T.dmatrix("A"),
    T.dmatrix("B"),
    T.dvector("v"),
    T.lvector("k"),
    T.lscalar("n"),
)
h = T.tanh(A)
PROGRAMS = {
    "a chain": [T.exp(A * 2) + 1],
    "nothing to fuse": [T.exp(A)],
    "a map of a reduction": [T.sqr(A).max(axis=0)],
    "a reduction alone": [A.max(axis=0)],
    "siblings": [A.max(axis=0), A.min(axis=0)],
    "an argument and its value": [A.max(axis=0), T.argmax(A, axis=0)],
    "an argument alone": [T.argmax(A, axis=0)],
    "a softmax": [T.nnet.softmax(A)],
    "rows taken": [T.tanh(A[k]) + 1],
    "of several shapes": [T.exp(A), T.exp(v)],
    "transposed": [T.exp(A).T * T.dot(B, A)],
    "computed again": [(1 - h * h) * T.dot(h, B)],
    "overwritten": [T.dot(A, B) * v],
    "rows that may not be there": [A + A[k].sum(axis=0)],
    "a choice": [ifelse(n > 0, T.exp(A), T.exp(B))],
}  # fmt: skip


def said(fgraph, found):
    """What each pass after blas says, and whether the graph's log is longer."""
    rewrites.optimize(fgraph, ["canonicalize", "simplify", "specialize", "blas"])
    for phase in ("fuse", "inplace"):
        for each in PASSES[phase]:
            before = len(fgraph.log)
            answer = each.run(fgraph, Log())
            assert answer == (len(fgraph.log) > before), each.name
            found[each.name].add(answer)


def test_a_pass_tells_whether_it_changed_the_graph():
    found = defaultdict(set)
    for outputs in PROGRAMS.values():
        fgraph = FunctionGraph([A, B, v, k, n], outputs)
        if outputs[0].type == A.type:
            fgraph.destroyable = {A: 0}
        said(fgraph, found)
    for seed in range(60):
        with quiet():
            drawn = Drawn(seed)
            said(FunctionGraph(drawn.inputs, drawn.outputs), found)
    assert found == {
        each.name: {True, False} for phase in PASSES for each in PASSES[phase]
    }
