"""Which requirements of lengths follow from others, and which a graph has."""

import gpuarray.compiler.tensor as T
import pytest
from gpuarray.compiler.graph.core import constant
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.requirements import equal, within
from gpuarray.compiler.ifelse import ifelse
from gpuarray.compiler.ops.shape.shape import Shape
from gpuarray.compiler.ops.variables.basic import MakeVector
from gpuarray.compiler.rewrites.engine import requirements
from gpuarray.compiler.rewrites.engine.requirements import Points, Required
from rule_conditions import sub

x, y, z = T.dvectors("x", "y", "z")
X, r = T.dmatrix("X"), T.drow("r")
n, m = T.lscalars("n", "m")
a = T.dscalar("a")
LENGTHS = {"x": x.shape[0], "y": y.shape[0], "z": z.shape[0]}
SCOPE = LENGTHS | {"X0": X.shape[0], "X1": X.shape[1], "n": n, "m": m}
EXP, JOINED, PART = T.exp(x), T.join(0, x, y), x[2:]
OF_COMPUTED = {EXP: (x.shape[0],), JOINED: (x.shape[0] + y.shape[0],)}
SCOPE |= {"exp": EXP.shape[0], "joined": JOINED.shape[0], "part": PART.shape[0]}
SCOPE |= {"maximum": T.maximum, "sum": T.sum, "sub": sub, "shape": Shape()(X)}
SCOPE |= {"made": MakeVector("int64")(n, m), "wide": n.dimshuffle("x")}
SCOPE |= {"known": constant([3, 4])}
k = T.lvector("k")
SCOPE |= {"k": k, "max": T.max, "total": T.sum(k // (1 + abs(k)))}


def required(text):
    """The requirements of a text: ``x == y; 2 in x``."""
    found = []
    for each in filter(None, text.split("; ")):
        relation, sign = (equal, " == ") if " == " in each else (within, " in ")
        left, right = (eval(side, SCOPE) for side in each.split(sign))
        found += relation(integer(left), integer(right))
    return found


def integer(value):
    return constant(value, "int64") if isinstance(value, int) else value


FOLLOWS = {
    ("total in x", "total in x"): True,
    ("sum(k + 1) in x", "max(k + 1) in x"): False,
    ("", "x == y"): False,
    ("x == y", "x == y"): True,
    ("x == y", "y == x"): True,
    ("x == y", "x == z"): False,
    ("x == y; y == z", "x == z"): True,
    ("z == y; x == y", "x == z"): True,
    ("x == 3; y == 3", "x == y"): True,
    ("3 == x; y == 3", "y == x"): True,
    ("x == 3; y == 4", "x == y"): False,
    ("x == 3", "x == 4"): False,
    ("x == n", "x == n"): True,
    ("x == n; n == y", "x == y"): True,
    ("x == n", "x == m"): False,
    ("X0 == x", "X1 == x"): False,
    ("", "exp == x"): True,
    ("", "part == x"): False,
    ("", "joined == x + y"): True,
    ("", "joined == x"): False,
    ("x == y", "joined == x + x"): True,
    ("", "x + y == y + x"): True,
    ("", "x + x == 2 * x"): True,
    ("", "x + x == 3 * x"): False,
    ("", "n == n + 0"): True,
    ("", "n == 0 - n"): False,
    ("", "maximum(x, 0) == x"): True,
    ("", "maximum(n, 0) == n"): False,
    ("x + 1 == y + n", "x + 1 == y + n"): True,
    ("x + 1 == y + n", "x + 2 == y + n"): False,
    ("", "sub(made, 0) == n"): True,
    ("", "sub(made, 1) == n"): False,
    ("", "sub(made, 1) == m"): True,
    ("", "sub(made, -1) == m"): True,
    ("", "sub(made, -2) == n"): True,
    ("", "sub(made, 2) == n"): False,
    ("", "sub(made, n) == n"): False,
    ("", "sub(sub(made, slice(1, None)), 0) == m"): True,
    ("", "sub(sub(made, slice(1, None)), 0) == n"): False,
    ("", "sub(made + 1, 0) == n + 1"): True,
    ("", "sub(made + made, 1) == 2 * m"): True,
    ("", "sub(made + wide, 1) == m + n"): True,
    ("", "sub(known, 1) == 4"): True,
    ("", "sub(known + wide, 0) == n + 3"): True,
    ("", "sum(made) == n + m"): True,
    ("", "sum(made) == n"): False,
    ("", "sub(shape, 0) == X0"): True,
    ("", "sub(shape, 1) == X1"): True,
    ("", "sub(shape, 0) == X1"): False,
    ("X0 == x", "sub(shape, 0) == x"): True,
    ("", "sum(shape) == X0 + X1"): True,
    ("", "2 in x"): False,
    ("", "2 in 3"): True,
    ("", "3 in 3"): False,
    ("", "-3 in 3"): True,
    ("", "-4 in 3"): False,
    ("x == 3", "2 in x"): True,
    ("x == 3", "3 in x"): False,
    ("x == 3", "-3 in x"): True,
    ("x == 3", "-4 in x"): False,
    ("5 in x", "3 in x"): True,
    ("5 in x", "5 in x"): True,
    ("5 in x", "6 in x"): False,
    ("5 in x", "-6 in x"): True,
    ("5 in x", "-7 in x"): False,
    ("-2 in x", "1 in x"): True,
    ("-2 in x", "2 in x"): False,
    ("5 in x; 2 in x", "5 in x"): True,
    ("5 in x", "2 in y"): False,
    ("5 in x; x == y", "2 in y"): True,
    ("n in x", "n in x"): True,
    ("n in x", "m in x"): False,
    ("n in x", "n in y"): False,
    ("n in x", "n + 1 in x"): False,
    ("n in x", "1 in x"): False,
    ("n in x; x == y", "n in y"): True,
    ("n + 1 in x", "n + 1 in x"): True,
    ("5 in exp", "5 in x"): True,
}


@pytest.mark.parametrize(("assumed", "wanted"), FOLLOWS)
def test_a_requirement_follows_from_others(assumed, wanted):
    (asked,) = required(wanted)
    assert (
        Points(OF_COMPUTED, required(assumed)).implies(asked)
        is FOLLOWS[assumed, wanted]
    )
    late = Points(OF_COMPUTED, [])
    late.implies(asked)
    for each in required(assumed):
        late.assume(each)
    assert late.implies(asked) is FOLLOWS[assumed, wanted]


PLAIN = [
    (n, n),
    (x.shape[0], (x, 0)),
    (EXP.shape[0], (x, 0)),
    (PART.shape[0], (PART, 0)),
    (constant(3), 3),
    (constant([3]), None),
    (x.shape[0] + 1, None),
    (r.shape[0], 1),
]


@pytest.mark.parametrize("place", range(len(PLAIN)))
def test_a_plain_length_is_that_of_a_leaf(place):
    variable, wanted = PLAIN[place]
    found = Points(OF_COMPUTED, []).plain(variable)
    assert found is wanted or found == wanted


KNOWN = [
    (constant(3), True),
    (n, True),
    (m, False),
    (x.shape[0], True),
    (z.shape[0], False),
    (n + x.shape[0], True),
    (n + m, False),
    (n + z.shape[0], False),
    (T.minimum(n, 3) * x.shape[0], True),
    (T.sum(T.lvector("k")), False),
]


@pytest.mark.parametrize("place", range(len(KNOWN)))
def test_a_length_is_known_that_costs_nothing(place):
    variable, wanted = KNOWN[place]
    fgraph = FunctionGraph([x, y, n, a], [x + y, n])
    assert requirements.is_known(variable, fgraph) is wanted


def relations(*outputs):
    fgraph = FunctionGraph([x, y, X, n, a], list(outputs))
    return [each.wanted.relation for each in Required(fgraph).found]


def test_a_graph_requires_what_its_nodes_do_where_they_are_always_needed():
    assert relations(x + y) == ["equal"]
    assert relations(x + y, T.exp(x) * y) == ["equal"]
    assert relations(T.exp(x)) == []
    assert relations(x[n]) == ["within"]
    assert relations(T.dot(X, x)) == ["equal"]
    assert relations(ifelse(a, x + y, x)) == []
    assert relations(ifelse(a, x + y, x), x + y) == ["equal"]
    assert relations(X.shape, x.shape[0]) == []


def test_what_is_missing_is_told_by_the_lengths_of_leaves():
    fgraph = FunctionGraph([x, y], [T.zeros(EXP.shape) + y])
    missing = requirements.Missing(fgraph)
    fgraph.redirect("output", 0, T.neg(y), "test")
    missing.seen(fgraph)
    (lost,) = missing.found
    assert [length.owner.inputs[0] for length in lost.wanted[1:]] == [x, y]


SUBTENSORS = [
    (x[1], 1), (x[n], None), (x[1:], (1, None, None)), (x[n:], None),
    (X[1], 1), (X[1, 2], None), (x[::-2], (None, None, -2)),
]  # fmt: skip


@pytest.mark.parametrize("place", range(len(SUBTENSORS)))
def test_the_only_part_of_an_index_may_be_known(place):
    variable, wanted = SUBTENSORS[place]
    assert requirements.constant_part(variable.owner) == wanted


def test_keys_that_are_one_are_known_by_their_constant():
    same = {}
    assert requirements.joined(same, "a", "b")
    assert not requirements.joined(same, "b", "a")
    assert requirements.joined(same, 3, "b")
    assert requirements.joined(same, "c", 3)
    assert {requirements.root(same, each) for each in "abc"} == {3}
    assert not requirements.joined(same, 4, "a")
    assert not requirements.joined(same, 4, 5)
    assert requirements.root(same, "d") == "d"
    assert len(set(requirements.NUMBERS)) == len(requirements.NUMBERS)
