"""What gradients are made of: terms that fit, masks of choices, what is refused."""

from dataclasses import replace

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from evaluate import evaluate
from gpuarray.compiler import gradient
from gpuarray.compiler.config import config
from gpuarray.compiler.derivatives import choices, node
from gpuarray.compiler.derivatives.batching_indexing import leading
from gpuarray.compiler.graph.core import constant
from gpuarray.compiler.graph.disconnected import DisconnectedType, NullType
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.traverse import same_graph
from gpuarray.compiler.ops.broadcast.broadcast import broadcast_to
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.index.advanced import ARRAY, MASK
from gpuarray.compiler.ops.slicing.subtensor import FULL
from gpuarray.scalars import SCALARS
from run_graph import run_graph

x, y, z = T.dvectors("xyz")
X, r, f, c = T.dmatrix("X"), T.drow("r"), T.fvector("f"), T.zvector("c")
b, d = T.vector("b", "bool"), T.vector("d", "bool")
i, k, a = T.ivector("i"), T.lvector("k"), T.dscalar("a")
VALUES = {
    x: [1.0, 2.0], y: [3.0, -1.0], z: [0.5, 4.0], X: [[1.0, 2.0], [3.0, 4.0]],
    r: [[5.0, 6.0]], f: [1.5, 2.5], c: [1 + 2j, 3 - 1j], b: [True, False],
    d: [False, True], i: [2, 3], k: [4, 5], a: 7.0,
}  # fmt: skip


def value_of(variable):
    given = {v: np.array(value, v.type.dtype) for v, value in VALUES.items()}
    return run_graph(FunctionGraph(list(given), [variable]), given)[0]


FITTED = {
    "itself": (x, y, "float64", [1, 2]),
    "summed over an axis of length 1": (X, r, "float64", [[4, 6]]),
    "summed over axes that are not there": (r, T.drow("s"), "float64", [[5, 6]]),
    "repeated": (r, X, "float64", [[5, 6], [5, 6]]),
    "with axes on its left": (x, X, "float64", [[1, 2], [1, 2]]),
    "a number": (3.0, x, "float64", [3, 3]),
    "a number for one": (2, a, "float64", 2),
    "narrowed": (x, f, "float32", [1, 2]),
    "the real part": (c, x, "float64", [1, 3]),
    "the real part for integers": (c, i, "float32", [1, 3]),
    "complex": (x, c, "complex128", [1, 2]),
    "of integers, as it comes": (x, i, "float64", [1, 2]),
    "of integers, of integers": (k, i, "float32", [4, 5]),
}


@pytest.mark.parametrize("name", FITTED)
def test_a_term_is_put_into_the_type_of_its_variable(name):
    term, variable, dtype, wanted = FITTED[name]
    with config.use(floatX="float32"):
        found = node.fitted(term, variable)
    assert found.type == variable.type.clone(dtype=dtype)
    if variable.type == getattr(term, "type", None):
        assert found is term
    np.testing.assert_array_equal(value_of(found), wanted)


@pytest.mark.parametrize(("term", "variable"), [(X, x), (x, a)])
def test_a_term_of_more_axes_does_not_fit(term, variable):
    with pytest.raises(TypeError, match=f"has {term.type.ndim} axes"):
        node.fitted(term, variable)


null, other_null = NullType("one")(), NullType("two")()
zeros = constant(np.zeros(1))


def masked(mask, value):
    return T.where(mask, value, zeros)


def factored(factor, value):
    return math.FUNCTIONS["where_nonzero"](factor, value)


SUMS = {
    "none before": (None, y, y),
    "no one can tell": (x, null, null),
    "no one could tell": (null, y, null),
    "the latest says why": (null, other_null, other_null),
    "plain": (x, y, x + y),
    "one condition": (masked(b, x), masked(b, y), T.where(b, x + y, zeros)),
    "one condition that fails": (
        T.where(b, zeros, x),
        T.where(b, zeros, y),
        T.where(b, zeros, x + y),
    ),
    "two conditions": (masked(b, x), masked(d, y), masked(b, x) + masked(d, y)),
    "both sides": (
        masked(b, x),
        T.where(b, zeros, y),
        masked(b, x) + T.where(b, zeros, y),
    ),
    "one factor": (factored(x, y), factored(x, z), factored(x, y + z)),
    "two factors": (factored(x, y), factored(y, z), factored(x, y) + factored(y, z)),
    "a factor and a condition": (
        factored(x, y),
        masked(b, z),
        factored(x, y) + masked(b, z),
    ),
    "one of them": (masked(b, x), y, masked(b, x) + y),
}


@pytest.mark.parametrize("name", SUMS)
def test_gradients_of_one_variable_add_up(name):
    before, term, wanted = SUMS[name]
    assert same_graph(node.total(before, term, x), wanted)


def test_gradients_of_two_types_have_no_mask_in_common():
    narrow = T.where(b, f, constant(np.zeros(1, "float32")))
    assert choices.added(masked(b, x), narrow) is None


def test_a_row_that_rounds_is_not_zero_wherever_small_operands_are():
    rounded = replace(SCALARS["mul"], reference=lambda a, b: a + np.trunc(b))
    assert not choices.annihilates(rounded, 0)


ANNIHILATED = {
    ("mul", 0): True, ("mul", 1): True, ("true_div", 0): True, ("true_div", 1): False,
    ("add", 0): False, ("sub", 1): False, ("power", 0): False, ("maximum", 0): False,
    ("logical_and", 0): True, ("arctan2", 0): False, ("bitwise_and", 0): False,
}  # fmt: skip


@pytest.mark.parametrize(("row", "place"), ANNIHILATED)
def test_a_row_is_zero_wherever_an_operand_is(row, place):
    assert choices.annihilates(SCALARS[row], place) is ANNIHILATED[row, place]


OWN_MASKS = [
    (x, False),
    (masked(b, x), True),
    (factored(x, y), True),
    (-masked(b, x), True),
    (masked(b, x) + y, True),
    (y - masked(b, x), True),
    (2.0 * masked(b, x), True),
    (masked(b, x) / 2.0, True),
    (-(masked(b, x) / 2.0 + y), True),
    (masked(b, x).dimshuffle("x", 0), True),
    (T.cast(T.cast(masked(b, x), "float32"), "float64"), True),
    (y * masked(b, x), False),
    (masked(b, x) / y, False),
    (T.exp(masked(b, x)), False),
]


@pytest.mark.parametrize("place", range(len(OWN_MASKS)))
def test_a_product_is_taken_under_the_mask_of_a_term_that_has_one(place):
    """Where a factor of the gradient is under a mask, so is the gradient itself."""
    term, is_masked = OWN_MASKS[place]
    g = factored(z, term)
    wanted = factored(g, g * y) if is_masked else factored(z, term * y)
    assert same_graph(choices.times(g, y), wanted)
    wanted = factored(g, g / y) if is_masked else factored(z, term / y)
    assert same_graph(choices.over(g, y), wanted)


ZEROS = [
    (x, False),
    (zeros, True),
    (constant(np.array([0.0, 1.0])), False),
    (constant(np.array([0.0, -0.0])), True),
    (zeros.dimshuffle("x", 0), True),
    (broadcast_to(zeros, (3,)), True),
    (broadcast_to(a, (3,)), False),
    (T.cast(zeros, "float32"), True),
    (T.zeros_like(x), True),
    (T.ones_like(x), False),
    (T.exp(zeros), False),
    (-zeros, False),
    (T.dot(x, zeros), False),
    (T.where(constant(True), zeros, x), True),
    (T.where(constant(False), zeros, x), False),
    (x * zeros, False),
]


@pytest.mark.parametrize("place", range(len(ZEROS)))
def test_an_expression_is_zeros_by_construction(place):
    variable, wanted = ZEROS[place]
    assert choices.is_zeros(variable) is wanted


HOLDING = [
    (x, False),
    (constant(np.ones(2)), False),
    (constant(np.array([0.0, 1.0])), True),
    (x > y, True),
    (T.cast(b, "float64"), True),
    (masked(b, x), True),
    (T.where(b, x, y), False),
    (T.where(b, x, masked(d, y)), True),
    (T.where(constant(True), x, zeros), False),
    (factored(x, y), True),
    (masked(b, x) * y, True),
    (y * masked(b, x), True),
    (masked(b, x) / y, True),
    (y / masked(b, x), False),
    (masked(b, x) + y, False),
    (masked(b, x) + masked(d, y), True),
    (masked(b, x) + 1.0, False),
    (T.sqrt(masked(b, x)), True),
    (T.exp(masked(b, x)), False),
    (-masked(b, x), True),
    (masked(b, x).dimshuffle("x", 0), True),
    (T.sum(x), False),
    (T.dot(X, masked(b, x)), True),
    (x[k], False),
    (T.inc_subtensor(T.zeros_like(x)[0], a), True),
]


@pytest.mark.parametrize("place", range(len(HOLDING)))
def test_an_expression_holds_zeros_of_choices(place):
    variable, wanted = HOLDING[place]
    assert choices.holds_zeros(variable) is wanted


REFUSED = {
    "a cost that is a number": (lambda: T.grad(2.0, x), TypeError, "a float"),
    "a cost of several": (lambda: T.grad(x, x), TypeError, "must be a scalar"),
    "a complex cost": (lambda: T.grad(c.sum(), c), TypeError, "real numbers"),
    "no cost": (lambda: T.grad(None, x), ValueError, "cost is None"),
    "no variable": (lambda: T.grad(x.sum(), 3), TypeError, "wrt holds 3, a int"),
    "one of them": (lambda: T.grad(x.sum(), [x, "y"]), TypeError, "'y', a str"),
    "a constant": (
        lambda: T.grad(x.sum(), x, consider_constant=[1]),
        TypeError,
        "constants holds 1",
    ),
    "a policy": (
        lambda: T.grad(x.sum(), x, disconnected_inputs="no"),
        ValueError,
        "disconnected_inputs='no'",
    ),
    "a form": (
        lambda: T.grad(x.sum(), x, return_disconnected="no"),
        ValueError,
        "return_disconnected='no'",
    ),
    "nulls": (
        lambda: T.grad(x.sum(), x, null_gradients="no"),
        ValueError,
        "null_gradients='no'; it takes 'raise' or 'return'",
    ),
    "another variable": (lambda: T.grad(x.sum(), y), ValueError, "y is disconnected"),
    "an integer": (lambda: T.grad(x.sum(), i), ValueError, "no gradient flows to it"),
    "known axes": (
        lambda: T.grad(None, x, known_grads={x * 2: a}),
        TypeError,
        "expected 1 axes",
    ),
    "points": (
        lambda: T.Lop([x, y], x, [x]),
        ValueError,
        "given 1 eval_points for 2 expressions",
    ),
    "neither start nor cost": (
        lambda: gradient.subgraph_grad([x], [y]),
        ValueError,
        "give start, or cost, or both",
    ),
    "directions": (
        lambda: T.Rop(x * y, [x, y], [x]),
        ValueError,
        "given 1 eval_points for 2 variables",
    ),
    "axes of a direction": (lambda: T.Rop(x, x, a), ValueError, "expected 1 axes"),
    "integers that move": (lambda: T.Rop(x[i], i, i), TypeError, "only real numbers"),
    "what does not move": (lambda: T.Rop(y, x, x), ValueError, "none of the variables"),
    "integers of what moves": (
        lambda: T.Rop(T.cast(x, "int32"), x, x),
        ValueError,
        "none of the variables",
    ),
    "an option of Rop": (
        lambda: T.Rop(x, x, x, disconnected_outputs="no"),
        ValueError,
        "disconnected_outputs='no'",
    ),
    "rows of integers": (
        lambda: T.jacobian(i, x),
        TypeError,
        "integers have no gradient",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_gradient_is_refused(name):
    call, kind, fact = REFUSED[name]
    with pytest.raises(kind, match=fact):
        call()


ABSENT = [
    ("zero", y, lambda g: g.type == y.type and not value_of(g).any()),
    ("zero", i, lambda g: g.type.dtype == "float32" and not value_of(g).any()),
    ("None", y, lambda g: g is None),
    ("NONE", y, lambda g: g is None),
    ("Disconnected", y, lambda g: g.type.dtype == "disconnected"),
]


@pytest.mark.parametrize(("form", "variable", "is_wanted"), ABSENT)
def test_a_gradient_that_is_absent_has_the_form_that_is_asked_for(
    form, variable, is_wanted
):
    with config.use(floatX="float32"):
        found = T.grad(
            x.sum(),
            variable,
            disconnected_inputs="ignore",
            return_disconnected=form,
        )
    assert is_wanted(found)


MOVED = {
    "a product": (x * y, [x, y], [z, x], z * y + x * x),
    "of one that moves": (x * y, [x, y], [z, None], z * y),
    "a constant": (T.constant([1.0, 2.0]), x, z, T.zeros_like(x)),
    "by integers": (T.floor(x) * 1.0, x, z, T.zeros_like(x)),
    "itself": (x, x, z, z),
    "of another dtype": (x * 2, x, f, 2 * f),
}


@pytest.mark.parametrize("name", MOVED)
def test_a_direction_moves_an_expression(name):
    expression, variables, directions, wanted = MOVED[name]
    found = T.Rop(expression, variables, directions)
    assert found.type == expression.type or name == "a constant"
    np.testing.assert_array_equal(value_of(found), value_of(wanted))


@pytest.mark.parametrize("form", ["zero", "None", "Disconnected"])
def test_what_does_not_move_has_the_form_that_is_asked_for(form):
    found = T.Rop(
        [y, x * 2], x, z, disconnected_outputs="ignore", return_disconnected=form
    )
    kinds = {"zero": y.type, "Disconnected": DisconnectedType()}
    assert getattr(found[0], "type", None) == kinds.get(form)
    np.testing.assert_array_equal(value_of(found[1]), value_of(z * 2))


MATRIX, MASKS = T.lmatrix("K"), T.matrix("B", "bool")
LEADING = [
    ((ARRAY, ARRAY, FULL), [k, k], 0),
    ((FULL, ARRAY, ARRAY), [k, k], 0),
    ((ARRAY, FULL), [k], 0),
    ((ARRAY, FULL, ARRAY), [k, k], 1),
    ((ARRAY, FULL, ARRAY), [k, MATRIX], 2),
    ((MASK, FULL, ARRAY), [MASKS, k], 1),
    ((ARRAY, FULL, MASK), [MATRIX, b], 2),
]


@pytest.mark.parametrize(("entries", "index", "wanted"), LEADING)
def test_axes_of_arrays_stand_first_where_slices_are_between(entries, index, wanted):
    assert leading(entries, index) == wanted


def test_a_disconnected_variable_is_told_of():
    with pytest.warns(UserWarning, match="y is disconnected"):
        found = T.grad(x.sum(), [x, y], disconnected_inputs="warn")
    assert not value_of(found[1]).any()


@pytest.mark.parametrize(
    ("cost_name", "name", "add_names", "wanted"),
    [
        ("cost", "v", True, "(dcost/dv)"),
        ("cost", "v", False, None),
        (None, "v", True, None),
        ("cost", None, True, None),
    ],
)
def test_a_gradient_is_called_by_the_names_of_both(cost_name, name, add_names, wanted):
    v = T.dvector(name)
    cost = (v**2).sum()
    cost.name = cost_name
    assert T.grad(cost, v, add_names=add_names).name == wanted


def test_a_masked_part_added_to_an_array_hides_no_other_element():
    a, b, c = T.dvectors("a", "b", "c")
    masked = T.switch(a > 0, b, 0.0)
    g = T.inc_subtensor(c[:2], masked)
    values = {a: [0.0, 1.0], b: [5.0, 6.0], c: [1.0, 2.0, 3.0]}
    found = evaluate(choices.times(g, T.exp(c)), values)
    np.testing.assert_allclose(found, np.array([1.0, 8.0, 3.0]) * np.exp([1, 2, 3]))
