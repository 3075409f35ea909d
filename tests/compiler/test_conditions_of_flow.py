"""What flows back through ops that are made of functions, graphs and conditions."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from evaluate import evaluate
from gpuarray.compiler import OpFromGraph, Rop, as_op, config, generic, grad, shared
from gpuarray.compiler.errors import NoGradientError
from gpuarray.compiler.gradient import (
    consider_constant,
    disconnected_grad,
    grad_clip,
    grad_scale,
    zero_grad,
)
from gpuarray.compiler.graph.core import constant
from gpuarray.compiler.graph.traverse import same_graph
from gpuarray.compiler.ifelse import ifelse
from gpuarray.compiler.ops.custom.fromgraph import inlined
from gpuarray.compiler.ops.slicing.requirements import Requires
from gpuarray.compiler.printing import Print
from gpuarray.compiler.tensor.opt import Assert


def slope(cost, x, value):
    return evaluate(grad(cost, x, disconnected_inputs="ignore"), {x: np.asarray(value)})


def test_marks_change_gradients_and_no_values():
    x = T.dscalar("x")
    for mark, told in (
        (zero_grad, 0),
        (consider_constant, 0),
        (disconnected_grad, 0),
        (lambda v: grad_clip(v, -1, 2), 2),
        (lambda v: grad_clip(v, -1, 200), 12),
        (lambda v: grad_clip(-v, -1, 2), -2),
        (lambda v: grad_scale(v, 0.25), 3),
    ):
        marked = mark(x)
        assert abs(evaluate(marked, {x: 2.0})) == 2.0
        assert slope((marked**3).sum(), x, 2.0) == told
    assert slope(-(grad_clip(x, -1, 2) ** 3), x, 2.0) == -1


def test_a_branch_that_is_not_taken_gets_zeros():
    c, x, y = T.iscalar("c"), T.dvector("x"), T.dvector("y")
    first, second = ifelse(c, [x, y], [y * 2, x * 3])
    values = {x: np.array([1.0, 2.0]), y: np.array([3.0, 4.0])}
    for condition, outputs, slopes in (
        (1, [[1, 2], [3, 4]], [[1, 1], [5, 5]]),
        (0, [[6, 8], [3, 6]], [[15, 15], [2, 2]]),
    ):
        given = {c: condition, **values}
        assert [each.tolist() for each in evaluate([first, second], given)] == outputs
        slopes_of = grad((first + 5 * second).sum(), [x, y])
        assert [each.tolist() for each in evaluate(slopes_of, given)] == slopes
    assert first.owner.op.connection_pattern(first.owner) == [
        *([True, True], [True, False], [False, True], [True, False], [False, True])
    ]
    alone = grad(first.sum(), [x, y])
    found = evaluate(alone, {c: 0, **values})
    assert [each.tolist() for each in found] == [[0, 0], [2, 2]]


@pytest.mark.parametrize("choose", [ifelse, T.switch])
def test_the_gradient_by_a_condition_is_zero(choose):
    x, w = T.dscalar("x"), T.dvector("w")
    cost = choose(T.gt(w.sum() * x, 0), T.constant(0.0), T.constant(1.0))
    slopes = evaluate(grad(cost, [x, w]), {x: 2.0, w: np.ones(3)})
    assert [each.tolist() for each in slopes] == [0, [0, 0, 0]]


@pytest.mark.parametrize(
    ("condition", "taken"),
    [(2, 1), (-1, 1), (0, 2), (0.5, 1), (0.0, 2), (np.uint64(3), 1)],
)
def test_a_condition_is_true_unless_it_is_zero(condition, taken):
    value = np.asarray(condition)
    c, x, y = T.tensor(value.dtype, ()), T.dscalar("x"), T.dscalar("y")
    assert evaluate(ifelse(c, x, y), {c: value, x: 1.0, y: 2.0}) == taken
    assert ifelse(c, [], []) == []
    assert isinstance(ifelse(c, [x], [y]), list) and not isinstance(
        ifelse(c, x, y), list
    )


def test_an_op_of_a_graph_takes_what_fits():
    x, y = T.dvector("x"), T.dscalar("y")
    op = OpFromGraph([x, y], [x * y, y], name="scaled")
    assert str(op) == "scaled" and str(OpFromGraph([x], [x])) == "OpFromGraph"
    made = op(T.ivector("i"), 2)
    assert [each.dtype for each in made] == ["float64", "float64"]
    assert made[0].owner.inputs[1].dtype == "float64"
    op(T.TensorType("float64", (True,))(), y)
    row = T.drow("row")
    of_rows = OpFromGraph([row], [row * 2])
    assert of_rows(T.frow("r")).type == row.type
    with pytest.raises(
        TypeError, match=r"for row, expected TensorType\(float64, row\)"
    ):
        of_rows(T.fmatrix())
    for wrong, fact in (
        ((x,), "given 1 inputs, expected 2"),
        ((y, y), "for x, expected"),
    ):
        with pytest.raises(TypeError, match=fact):
            op(*wrong)
    anything = OpFromGraph([x, generic()], [x * 2], on_unused_input="ignore")
    assert anything(x, y).owner.inputs == [x, y]  # what is no array is taken as it is


def test_what_an_op_of_a_graph_is_connected_to():
    x, y, z = T.dscalars("x", "y", "z")
    op = OpFromGraph([x, y, z], [x * y, y + 1])
    assert op.connection_pattern(None) == [[True, False], [True, True], [False, False]]
    made = x * 2
    op = OpFromGraph([x, made], [made + 1, x + made, x])
    assert op.connection_pattern(None) == [[False, True, True], [True, True, False]]
    w = shared(2.0)
    seen = OpFromGraph([x], [x * w, x])
    assert seen.connection_pattern(None) == [[True, True], [True, True]]
    told = OpFromGraph([x], [x], connection_pattern=[[False]])
    assert told.connection_pattern(None) == [[False]]
    with pytest.warns(UserWarning, match="the input z is not used"):
        OpFromGraph([x, z], [x], on_unused_input="warn")
    with pytest.raises(ValueError, match="the input z is not used"):
        OpFromGraph([x, z], [x], on_unused_input="raise")
    for arguments, fact in (
        (([x, 3], [x]), "given 3, expected lists"),
        (([x], [3]), "given 3, expected lists"),
        (([x, x], [x]), "an input twice"),
        (([x], [x + y]), "y is needed, but it is no input"),
    ):
        with pytest.raises((TypeError, ValueError), match=fact):
            OpFromGraph(*arguments)
    with pytest.raises(ValueError, match="lop_overrides and grad_overrides"):
        OpFromGraph([x], [x], lop_overrides=[None], grad_overrides=[None])


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        ({}, (3, 2)),
        ({"lop_overrides": lambda ins, outs, gs: [gs[0] * 10, None]}, (10, 0)),
        ({"lop_overrides": ["default", lambda i, o, g: g[0] * 7]}, (3, 7)),
        ({"grad_overrides": lambda ins, gs: [gs[0] * 5, ins[0]]}, (5, 2)),
        ({"grad_overrides": [lambda i, g: i[1] * 2, "default"]}, (6, 2)),
        ({"lop_overrides": [None, "default"]}, (0, 2)),
    ],
)
def test_gradients_of_an_op_of_a_graph_are_overridden(overrides, told):
    x, y = T.dscalar("x"), T.dscalar("y")
    made = OpFromGraph([x, y], [x * y], **overrides)(x, y)
    slopes = grad(made, [x, y], disconnected_inputs="ignore")
    assert tuple(evaluate(slopes, {x: 2.0, y: 3.0})) == told


def test_an_override_is_given_zeros_for_an_output_that_nothing_reads():
    x, y = T.dscalar("x"), T.dscalar("y")
    op = OpFromGraph([x, y], [x * y, y], lop_overrides=lambda i, o, gs: [gs[0], -gs[1]])
    slopes = grad(op(x, y)[0], [x, y])
    assert evaluate(slopes, {x: 2.0, y: 3.0}) == [1, 0]


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        (["default"], (2, 3)),
        ([lambda i, o, g: g[0] * 5], (5, 0)),
        (lambda i, o, g: [g[0] * 7], (7, 0)),
    ],
)
def test_overrides_say_nothing_of_what_the_graph_holds(overrides, told):
    x, w = T.dscalar("x"), shared(2.0)
    made = OpFromGraph([x], [x * w], lop_overrides=overrides)(x)
    slopes = grad(made, [x, w], disconnected_inputs="ignore")
    assert tuple(evaluate(slopes, {x: 3.0, w: 2.0})) == told


def test_an_op_of_a_graph_is_its_graph_where_it_is_computed():
    x = T.dscalar("x")
    inner = OpFromGraph([x], [x * 2])
    made = OpFromGraph([x], [inner(x) + 1])(x)
    made.name = "made"
    outputs = inlined([made, T.exp(inner(x)), T.exp(x), x])
    wanted = [x * 2 + 1, T.exp(x * 2), T.exp(x), x]
    assert all(map(same_graph, outputs, wanted))
    assert outputs[0].name == "made"


def test_overrides_are_as_many_as_the_inputs():
    x, y = T.dscalar("x"), T.dscalar("y")
    wrong = OpFromGraph([x, y], [x * y], lop_overrides=[None])(x, y)
    with pytest.raises(ValueError, match="the overrides give 1 variables, expected 2"):
        grad(wrong, x)


def test_factors_without_a_gradient_say_so():
    x = T.dmatrix("x")
    q, r = T.nlinalg.qr(x, "complete")
    u, _, vh = T.nlinalg.svd(x)
    solved, rest, _, singular = T.nlinalg.lstsq(x, T.dvector("y"))
    for cost, fact in (
        (q.sum(), "only the modes 'reduced' and 'r' have a gradient"),
        (r.sum(), "only the modes"),
        (u.sum(), "U and Vh have a gradient with full_matrices=False only"),
        (vh.sum(), "U and Vh have a gradient"),
        (rest.sum(), "only the solution has a gradient"),
        (solved.sum() + singular.sum(), "only the solution has a gradient"),
    ):
        with pytest.raises(NoGradientError, match=fact):
            grad(cost, x)


def test_a_function_of_numpys_is_an_op_of_its_types():
    @as_op(
        [T.dvector, T.dvector("x")], T.dmatrix, lambda node, shapes: [[*shapes[0], 2]]
    )
    def pairs(x, y):
        return np.stack([x, y], 1)

    @as_op(T.dvector, [T.dvector, T.dscalar.make_variable])
    def both(x):
        return [x, np.asarray(x.sum())]

    x = T.dvector("x")
    value = np.array([1.0, 2.0])
    assert evaluate(pairs(x, x), {x: value}).tolist() == [[1, 1], [2, 2]]
    node = pairs(x, x).owner
    told = node.op.infer_shape(node, [[constant(2)], [constant(2)]])
    assert isinstance(told[0], tuple) and told[0][1] == 2
    assert [each.tolist() for each in evaluate(both(x), {x: value})] == [[1, 2], 3]
    assert str(pairs) == "FromFunctionOp{pairs}"


def test_what_is_shown_and_asserted(capsys):
    x = T.dvector("x")
    shown = Print("v:", ("shape", "min"))(x)
    assert evaluate(shown, {x: np.array([2.0, 1.0])}).tolist() == [2, 1]
    assert capsys.readouterr().out == "v: shape = (2,)\nv: min = 1.0\n"
    seen = []
    evaluate(Print(global_fn=lambda op, value: seen.append(value))(x), {x: [1.0]})
    assert [each.tolist() for each in seen] == [[1.0]]
    op = Assert("both hold")
    checked = op(x, x.sum() > 0, x[0] > 1)
    for value, holds in (([2.0], True), ([1.0], False), ([2.0, -3.0], False)):
        if holds:
            assert evaluate(checked, {x: value}).tolist() == value
            continue
        with pytest.raises(AssertionError, match="both hold"):
            evaluate(checked, {x: value})
    node = checked.owner
    assert op.connection_pattern(node) == [[True], [False], [False]]
    assert not op.do_constant_folding(node)
    assert not shown.owner.op.do_constant_folding(shown.owner)


@pytest.mark.parametrize("policy", ["custom", "numpy+floatX"])
@pytest.mark.parametrize("floatx", ["float32", "float64"])
def test_what_is_widened_without_need_follows_the_policy(policy, floatx):
    narrow = policy == "numpy+floatX" and floatx == "float32"
    told = "float32" if narrow else "float64"
    with config.use(cast_policy=policy, floatX=floatx):
        i, f, d = T.ivector(), T.fvector(), T.dvector()
        assert (i + f).dtype == T.concatenate([i, f]).dtype == told
        assert T.stack([i[0], f[0]]).dtype == told
        assert (i + d).dtype == T.concatenate([f, d]).dtype == "float64"
        n, c = T.lvector(), T.cvector()
        assert (i + n).dtype == T.concatenate([i, n]).dtype == "int64"
        assert (n + c).dtype == T.concatenate([n, c]).dtype == "complex128"
        assert (f + f).dtype == "float32"
        assert T.arange(i[0], f[0]).dtype == (
            floatx if policy == "numpy+floatX" else "float64"
        )
        assert T.arange(i[0], d[0]).dtype == "float64"
        assert (i / i).dtype == floatx
        for division, kind in (("int", "int32"), ("floatX", floatx)):
            with config.use(int_division=division):
                assert (i / i).dtype == kind
        with (
            config.use(int_division="raise"),
            pytest.raises(TypeError, match="write //"),
        ):
            i / i


def test_directions_go_through_what_changes_gradients_only():
    x, v = T.dscalar("x"), T.dscalar("v")
    for made, told in (
        (zero_grad(x) * x, 6.0),
        (grad_clip(x, -0.5, 0.5) * x, 12.0),
        (grad_scale(x, 0.25) * x, 12.0),
        (disconnected_grad(x) * x, 6.0),
        (Print(global_fn=lambda op, value: None)(x) * x, 12.0),
        (Assert()(x, x > 0) * x, 12.0),
        (ifelse(T.constant(1), x * x, x), 12.0),
        (ifelse(T.constant(0), x * x, x), 3.0),
        (ifelse(T.constant(1), x, T.constant(2.0)), 3.0),
        (ifelse(T.constant(0), x, T.constant(2.0)), 0.0),
    ):
        assert evaluate(Rop(made, x, v), {x: 2.0, v: 3.0}) == told


@pytest.mark.parametrize(
    ("overrides", "told", "told_of_one"),
    [
        (
            lambda inputs, points: [inputs[0] * points[1], points[0] * 7],
            (30.0, 21.0),
            (30.0, 0.0),
        ),
        ([lambda inputs, points: points[0] * 5, None], (15.0, 0.0), (0.0, 0.0)),
    ],
)
def test_directions_of_an_op_of_a_graph_are_overridden(overrides, told, told_of_one):
    x, y = T.dscalars("x", "y")
    op = OpFromGraph([x, y], [x * y, y], rop_overrides=overrides)
    outputs = op(x, y)
    found = Rop(outputs, [x, y], [T.constant(3.0), T.constant(15.0)])
    values = evaluate([each for each in found], {x: 2.0, y: 5.0})
    assert tuple(values) == told
    alone = Rop(outputs, [y], [T.constant(15.0)])
    assert tuple(evaluate(alone, {x: 2.0, y: 5.0})) == told_of_one
    plain = OpFromGraph([x, y], [x * y])(x, y)
    moved = Rop(plain, [x, y], [T.constant(3.0), T.constant(15.0)])
    assert evaluate(moved, {x: 2.0, y: 5.0}) == 45.0


def test_what_is_required_of_lengths_is_no_part_of_a_gradient():
    x, n, k = T.dvector("x"), T.lscalar("n"), T.lscalar("k")
    for relation, called, right, error in (
        ("equal", "dot", 3, ValueError),
        ("within", "index", 2, IndexError),
    ):
        op = Requires(relation, called)
        made = op(x, n, k)
        values = {x: np.ones(2), n: right - (relation == "within"), k: right}
        assert evaluate(made, values).tolist() == [1, 1]
        assert evaluate(grad(made.sum(), x), values).tolist() == [1, 1]
        assert op.connection_pattern(made.owner) == [[True], [False], [False]]
        assert str(op) == f"Requires{{{relation}}}"
        with pytest.raises(error, match=r"lengths 4 and 3 do not fit|index 2 is out"):
            evaluate(made, {**values, n: right + (relation == "equal")})
    assert Requires("equal", "a") != Requires("equal", "b") != Requires("within", "b")
