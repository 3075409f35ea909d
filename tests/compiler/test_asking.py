"""Which rules are asked of which nodes, and when they are asked again."""

import pytest
from gpuarray.compiler import rewrites, tensor as T
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.rewrites import passes
from gpuarray.compiler.rewrites.engine import engine
from gpuarray.compiler.rewrites.engine.engine import Fixpoint, Log


@pytest.fixture(autouse=True)
def no_other_rules(monkeypatch):
    monkeypatch.setattr(passes, "PASSES", ())
    monkeypatch.setattr(passes, "RULES", {phase: [] for phase in passes.RULES})


class Asked:
    """Counts how often a rule is asked about nodes of each name."""

    def __init__(self):
        self.names = []

    def note(self, node):
        self.names.append(str(node.op).partition("{")[2].partition(",")[0])

    def count(self, name):
        return self.names.count(name)


@pytest.fixture
def asked():
    return Asked()


def watching(asked, phase="simplify"):
    @engine.rewrite(phase=phase, ops=["exp", "sin", "tanh"])
    def watch(node):
        """exp(x) -> exp(x)"""
        asked.note(node)

    return watch


def turning(row, into, phase="simplify"):
    @engine.rewrite(phase=phase, ops=[row])
    def turn(node):
        """tanh(x) -> cos(x)"""
        return into(*node.inputs)

    return turn


def test_a_rule_is_asked_once_of_what_stays(asked):
    x = T.dvector("x")
    fgraph = FunctionGraph([x], [T.sin(T.exp(x))])
    Fixpoint(fgraph, [watching(asked)], Log()).run()
    assert (asked.count("exp"), asked.count("sin")) == (1, 1)


def test_a_rule_is_asked_again_however_far_behind_something_changed(asked):
    x = T.dvector("x")
    deep = T.exp(T.log(T.sin(T.sqrt(T.tanh(x)))))
    fgraph = FunctionGraph([x], [deep, T.exp(x)])
    # What is new is looked at when everything else has been.
    twice = [turning("sqrt", T.expm1), turning("expm1", T.cos)]
    Fixpoint(fgraph, [watching(asked), *twice], Log()).run()
    assert asked.count("tanh") == 1
    assert asked.count("sin") == 2
    assert asked.count("exp") == 2 + 1  # of the one on x once


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_a_rule_sees_what_a_late_change_leaves(depth):
    """The rule looks far behind a node, at what is rewritten when it was asked."""

    @engine.rewrite(phase="simplify", ops=["exp"])
    def see_cosine(node):
        """exp(x) -> exp(x)"""
        below = node.inputs[0]
        for _ in range(depth):
            below = below.owner.inputs[0]
        return T.log1p(node.inputs[0]) if "cos" in str(below.owner.op) else None

    x = T.dvector("x")
    below = T.expm1(x)
    for _ in range(depth):
        below = T.arctan(below)
    fgraph = FunctionGraph([x], [T.exp(below)])
    twice = [turning("expm1", T.tanh), turning("tanh", T.cos)]
    Fixpoint(fgraph, [see_cosine, *twice], Log()).run()
    names = [str(node.op) for node in fgraph.toposort()]
    assert "log1p" in names[-1]
    assert "cos" in names[0]


def test_a_rule_that_sees_the_graph_is_asked_after_any_change():
    @engine.rewrite(phase="simplify", ops=["sin"])
    def only_reader(node, fgraph):
        """sin(x) -> sin(x)"""
        return T.cos(*node.inputs) if len(fgraph.clients[node.inputs[0]]) == 1 else None

    def second(_, y):
        return y

    x, y = T.dvector("x"), T.dvector("y")
    inner = T.exp(x)
    fgraph = FunctionGraph([x, y], [T.sin(inner), inner * y])
    Fixpoint(fgraph, [only_reader, turning("mul", second)], Log()).run()
    assert "cos" in str(fgraph.outputs[0].owner.op)


def test_what_rested_in_a_phase_is_not_asked_in_the_next_unless_something_changes(
    asked,
):
    passes.RULES["canonicalize"].append(watching(asked, "canonicalize"))
    passes.RULES["specialize"].append(turning("sqrt", T.cos, "specialize"))
    x = T.dvector("x")
    rewrites.optimize(FunctionGraph([x], [T.sin(T.exp(x))]))
    assert (asked.count("exp"), asked.count("sin")) == (1, 1)
    asked.names.clear()
    fgraph = FunctionGraph([x], [T.sin(T.sqrt(T.exp(x)))])
    rewrites.optimize(fgraph)
    assert (asked.count("exp"), asked.count("sin")) == (1, 2)


def test_the_order_is_that_of_the_graph_as_it_is():
    x = T.dvector("x")
    inner = T.exp(x)
    fgraph = FunctionGraph([x], [T.sin(inner)])
    first = fgraph.toposort()
    first.clear()  # a list of the caller's own
    assert [node.op for node in fgraph.toposort()] == [
        inner.owner.op,
        fgraph.outputs[0].owner.op,
    ]
    fgraph.replace(fgraph.outputs[0].owner.inputs[0], T.cos(T.sqrt(x)))
    assert len(fgraph.toposort()) == 3
    fgraph.check()
