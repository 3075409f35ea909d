"""Every pass over a graph tells whether it changed anything."""

import importlib
import pkgutil

import gpuarray.compiler.tensor as T
import pytest
from gpuarray.compiler import rewrites
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.ifelse import ifelse
from gpuarray.compiler.rewrites.engine.engine import GraphPass, Log, Rule
from gpuarray.compiler.rewrites.passes import PASSES, PHASES, all_rewrites
from random_drawing import Drawn, quiet

A, B, v, k, n = (
    T.dmatrix("A"),
    T.dmatrix("B"),
    T.dvector("v"),
    T.lvector("k"),
    T.lscalar("n"),
)
h = T.tanh(A)
FUSED, OVER = "fuse_elementwise", "overwrite_dying_inputs"
MOVED = "move_axes_before_computing"
PROGRAMS = {
    "a chain": ([T.exp(A * 2) + 1], {FUSED, OVER}),
    "nothing to fuse": ([T.exp(A)], {OVER}),
    "a map of a reduction": ([T.sqr(A).max(axis=0)], {FUSED}),
    "a reduction alone": ([A.max(axis=0)], set()),
    "siblings": ([A.max(axis=0), A.min(axis=0)], {"fuse_sibling_reductions"}),
    "an argument, its value": ([A.max(axis=0), T.argmax(A, axis=0)], {"fuse_extrema"}),
    "an argument alone": ([T.argmax(A, axis=0)], set()),
    "a softmax": ([T.nnet.softmax(A)], {"fuse_rows", OVER}),
    "rows taken": ([T.tanh(A[k]) + 1], {"fuse_rows"}),
    "of several shapes": ([T.exp(A), T.exp(v)], {"fuse_results", OVER}),
    "transposed": ([T.exp(A).T * T.dot(B, A)], {MOVED, FUSED, OVER}),
    "computed again": ([(1 - h * h) * T.dot(h, B)], {FUSED, OVER}),
    "overwritten": ([T.dot(A, B) * v], {OVER}),
    "rows that may be missing": ([A + A[k].sum(axis=0)], {"keep_values", OVER}),
    "a choice": ([ifelse(n > 0, T.exp(A), T.exp(B))], {OVER}),
}  # fmt: skip


BEFORE = ["canonicalize", "simplify", "specialize", "blas"]


def told(fgraph):
    """The passes that change a graph, each held to what it tells."""
    rewrites.optimize(fgraph, BEFORE)
    found = set()
    for each in PASSES:
        before = len(fgraph.log)
        is_changed = each.run(fgraph, Log())
        assert is_changed == (len(fgraph.log) > before), each.name
        found |= {each.name} if is_changed else set()
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_pass_tells_whether_it_changed_the_graph(name):
    outputs, passes = PROGRAMS[name]
    fgraph = FunctionGraph([A, B, v, k, n], outputs)
    if fgraph.outputs[0].type == A.type:
        fgraph.destroyable = {A: 0}
    assert told(fgraph) == passes


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_a_pass_tells_whether_it_changed_a_drawn_graph(first):
    for seed in range(first, first + 10):
        with quiet():
            drawn = Drawn(seed)
            fgraph = FunctionGraph(drawn.inputs, drawn.outputs)
        assert told(fgraph) <= {each.name for each in PASSES}


def test_passes_stand_in_the_order_of_their_phases():
    phases = [phase.name for phase in PHASES]
    places = [phases.index(graph_pass.phase) for graph_pass in PASSES]
    assert places == sorted(places)


def test_every_rule_and_pass_that_is_written_is_applied():
    applied = set(map(id, all_rewrites()))
    for _, name, _ in pkgutil.walk_packages(rewrites.__path__, f"{rewrites.__name__}."):
        values = vars(importlib.import_module(name)).values()
        written = [each for each in values if isinstance(each, Rule | GraphPass)]
        assert all(id(each) in applied for each in written), name
