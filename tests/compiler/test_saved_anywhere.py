"""Saved functions tell of arguments that do not fit, and what loops in files say.

`test_clients` runs saved functions of every family at shapes that Python never saw.
"""

import re
from pathlib import Path

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from families import small as drawn
from gpuarray.compiler import config, function, plan as p
from gpuarray.compiler.derivatives.batching_fallback import MapRows
from gpuarray.compiler.function.anywhere import DEPTH, bodies_of, body_of, places_of
from gpuarray.compiler.function.saving import lowered_for_file
from gpuarray.compiler.gpukernels.bodies import UNFOLDS
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.nnet.nnet import Softmax, Spread
from gpuarray.compiler.ops.sorting.sorting import TopK
from gpuarray.compiler.placement import place
from gpuarray.compiler.schedule import lowered

F32 = "float32"


def test_lengths_that_do_not_fit_are_told(first_context, tmp_path):
    x, v, i = T.fmatrix("x"), T.fvector("v"), T.lvector("i")
    functions = {
        "mis-match": ([x, v], T.inc_subtensor(x[:, 1], v), [drawn(3, 5), drawn(4)]),
        "topk: kth": ([v], T.topk(v, 7), [drawn(3)]),
        "split: sizes": ([v], T.split(v, [2, 2], 2), [drawn(3)]),
    }
    with config.use(floatX=F32, device=first_context.name):
        for text, (inputs, outputs, arguments) in functions.items():
            function(inputs, outputs).save(tmp_path / "f", graph=False)
            g = gpuarray.load_function(tmp_path / "f", first_context)
            with pytest.raises(ValueError, match=text):
                g(*arguments)
        function([x, i], x[i]).save(tmp_path / "f", graph=False)
        g = gpuarray.load_function(tmp_path / "f", first_context)
        with pytest.raises(IndexError, match="index 9"):
            g(drawn(3, 5), np.array([0, 9]))
            first_context.sync()


LISTED = [
    "map_rows(%0: float32[n, n], %1: int)",
    "  dim       %2: int <- dim(%0)  [axis 0]",
    (
        "  loop      %3: float32[n, n], %4: int64[n, n] <- map_rows(%2, %0, %1)"
        "  [row of %0, same %1]"
    ),
    "            topk(%0: float32[n], %1: int)",
]
"""The first lines of the body of `topk_of_rows`: the last one begins a turn's."""


def topk_of_rows():
    x, k = T.fmatrix("x"), T.lscalar("k")
    return function([x, k], MapRows(TopK(0), (True, False))(x, k))


def test_a_loop_is_listed_with_its_body_and_compared_by_it(first_context):
    with config.use(device=first_context.name):
        made, again = (topk_of_rows() for _ in range(2))
    found = [
        bodies_of(lowered_for_file(f), f.plan.steps).bodies[0].plan
        for f in (made, again)
    ]
    assert str(found[0]).splitlines()[: len(LISTED)] == LISTED
    assert found[0] == found[1] and len(set(found)) == 1
    loop = next(step for step in found[0].steps if isinstance(step, p.LoopStep))
    other = p.LoopStep("map_rows", "", loop.outs, loop.ins, takes="rs", body=loop.body)
    assert other == loop
    body = p.BodyPlan(p.Plan("turn", loop.body.plan.values[:2], 2, (), (), (0,)))
    other = p.LoopStep("map_rows", "", loop.outs, loop.ins, takes="rs", body=body)
    assert other != loop


def test_rows_that_do_not_fit_are_told(first_context, tmp_path):
    x, i = T.fmatrix("x"), T.lmatrix("i")
    both = MapRows(x[0][i[0]].owner.op, (True, True))(x, i)
    with config.use(device=first_context.name):
        topk_of_rows().save(tmp_path / "topk", graph=False)
        function([x, i], both).save(tmp_path / "both", graph=False)
    f = gpuarray.load_function(tmp_path / "topk", first_context)
    with pytest.raises(ValueError, match="topk: kth"):
        f(drawn(3, 4), 5)
    f = gpuarray.load_function(tmp_path / "both", first_context)
    places = np.array([[0, 1], [2, 2], [3, 0]])
    given = drawn(3, 4)
    np.testing.assert_array_equal(
        f(given, places), np.take_along_axis(given, places, 1)
    )
    with pytest.raises(ValueError, match="input 1 has 2 rows, expected 3"):
        f(given, places[:2])


UNFOLDED = {
    "nothing deeper": (T.exp, 0, False),
    "of steps of the library": (T.exp, 1, True),
    "of a function that has a body": (T.sort, 2, True),
    "of a function whose body is too deep": (T.sort, 1, False),
    "of what the plan pauses for": (T.nlinalg.matrix_inverse, 2, False),
}


@pytest.mark.parametrize("name", UNFOLDED)
def test_a_function_has_a_body_if_all_that_it_is_made_of_has(name, monkeypatch):
    made, depth, has_body = UNFOLDED[name]
    monkeypatch.setitem(UNFOLDS, Softmax, lambda op, inputs: [made(*inputs)])
    x = T.fmatrix("x")
    graph = FunctionGraph([x], [Softmax(1)(x)])
    whole = lowered(place(graph, None, [x], range(1)), "f")
    found = bodies_of(whole, whole.plan.steps, depth)
    assert list(found.bodies) == ([0] if has_body else [])
    assert found.without == (() if has_body else whole.plan.steps)


def test_bodies_are_as_deep_as_a_file_holds_them():
    header = Path(__file__).parents[2] / "libgpuarray-py/c/saving/plan_file.h"
    (deepest,) = re.findall(r"#define GA_PLAN_DEPTH (\d+)", header.read_text())
    assert int(deepest) == DEPTH


def test_what_the_plan_pauses_for_has_no_body():
    x = T.fmatrix("x")
    graph = FunctionGraph([x], [T.nlinalg.matrix_inverse(x)])
    whole = lowered(place(graph, None, [x], range(1)), "f")
    assert any(isinstance(s, p.Call) and not s.recorded for s in whole.plan.steps)
    found = bodies_of(whole, whole.plan.steps)
    assert not found.bodies and not found.without


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint16"])
def test_a_body_is_of_variables_of_the_operations_own_types(dtype, monkeypatch):
    seen = []

    def noting(op, inputs):
        seen.append([each.type for each in inputs])
        return [inputs[0] * T.cast(inputs[2], "float32") + inputs[1][:1].sum()]

    monkeypatch.setitem(UNFOLDS, Spread, noting)
    g, y = TensorType("float32", (True,))("g"), T.lvector("y")
    n = TensorType(dtype, ())("n")
    for last in (n, T.constant(np.array(5, dtype))):
        node = Spread().make_node(g, y, last)
        graph = FunctionGraph([g, y, n], node.outputs)
        whole = lowered(place(graph, None, [g, y], range(1), integers=[n]), "f")
        steps = enumerate(whole.plan.steps)
        ((number, step),) = [each for each in steps if each[1].label == "spread"]
        assert body_of(step, whole, whole.nodes[number], 1) is not None
        types = seen.pop(), [each.type for each in node.inputs]
        made, wanted = ([(t.dtype, t.broadcastable) for t in each] for each in types)
        assert made == wanted


g, y, n = T.fvector("g"), T.lvector("y"), T.lscalar("n")
TAKEN = {
    "an input": ((g, y, n), [0, 1, 2]),
    "a constant": ((g, y, 5), [0, 1, None]),
    "a length": ((g, y, g.shape[0]), [0, 1, 2]),
    "what is read": ((g, y, y.sum()), [0, 1, 2]),
    "a vector of constants": ((g, T.constant([0, 1]), n), [0, 1, 2]),
}


@pytest.mark.parametrize("name", TAKEN)
def test_a_function_takes_what_its_node_does_but_for_constants(name):
    inputs, places = TAKEN[name]
    graph = FunctionGraph([g, y, n], [Spread()(*inputs)])
    whole = lowered(place(graph, None, [g, y], range(1), integers=[n]), "f")
    ((number, step),) = [
        each for each in enumerate(whole.plan.steps) if each[1].label == "spread"
    ]
    node = whole.nodes[number]
    assert places_of(step, whole, node) == places
    body = bodies_of(whole, whole.plan.steps).bodies[number]
    assert body.plan.n_inputs == len(step.ins) == 3
    assert body_of(step, whole, node, 4) is not None
    assert body_of(step, whole, None, 4) is None
