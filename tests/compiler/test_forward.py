"""The R-operator against finite differences in float64: rows, cases, programs."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from cases import CASES, f64
from evaluate import evaluate
from gpuarray.compiler import Lop, Op, Rop, grad, hessian, jacobian
from gpuarray.compiler.errors import (
    DisconnectedInputError,
    GraphTypeError,
    GraphValueError,
    NoGradientError,
    NullTypeGradError,
)
from gpuarray.compiler.gradient import (
    DisconnectedType,
    disconnected_grad,
    grad_clip,
    grad_scale,
    undefined_grad,
    zero_grad,
)
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.graph.traverse import ancestors, toposort
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.scalars import SCALARS
from test_gradient import FLOAT_ROWS, WITHOUT, row_case

STEP = 1e-6


def assert_directions_agree(build, arrays, variables, rtol=1e-5, atol=1e-6):
    """J v by the R-operator against the change of `build(*variables)` along v."""
    built = build(*variables)
    outputs = list(built) if isinstance(built, (list, tuple)) else [built]
    outputs = [each for each in outputs if each.dtype == "float64"]
    floats = [each for each in variables if each.dtype == "float64"]
    values = dict(zip(variables, arrays, strict=True))
    rng = np.random.default_rng(11)
    along = {each: rng.uniform(-1, 1, values[each].shape) for each in floats}
    points = [each.type(f"v{i}") for i, each in enumerate(floats)]
    moved = Rop(outputs, floats, points, disconnected_outputs="ignore")
    ends = [
        evaluate(
            outputs, values | {x: values[x] + sign * STEP * along[x] for x in floats}
        )
        for sign in (1, -1)
    ]
    given = dict(zip(points, along.values(), strict=True))
    found = evaluate(moved, values | given)
    for output, value, high, low in zip(outputs, found, *ends, strict=True):
        assert value.dtype == output.dtype
        assert value.shape == high.shape
        np.testing.assert_allclose(
            value, (high - low) / (2 * STEP), rtol, atol, err_msg=str(output)
        )
    return moved


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.has_gradient], ids=lambda case: case.name
)
def test_the_direction_through_an_op_agrees_with_finite_differences(case):
    variables = case.variables()
    if "float64" not in {each.dtype for each in variables}:
        pytest.skip("no float64 input to move")
    assert_directions_agree(case.build, case.arrays, variables)


@pytest.mark.parametrize("name", [n for n in FLOAT_ROWS if n not in WITHOUT])
def test_the_direction_through_a_row_agrees_with_finite_differences(name):
    arrays, variables = row_case(name)
    assert_directions_agree(Elemwise(SCALARS[name]), arrays, variables, rtol=2e-5)


def test_a_program_s_direction_is_what_its_gradient_says():
    x, w, b = T.dmatrix("x"), T.dmatrix("w"), T.dvector("b")
    arrays = [f64(5, 3), f64(3, 4) / 3, f64(4)]

    def network(x, w, b):
        hidden = T.tanh(T.dot(x, w) + b)
        return [hidden, (hidden**2).sum(axis=1), hidden.max(axis=0), hidden.mean()]

    assert_directions_agree(network, arrays, [x, w, b])


def test_the_places_of_the_gradients_are_gone():
    x, v = T.dvector("x"), T.dvector("v")
    y = T.exp(x.reshape((2, -1))).sum(axis=0) * x.max()
    names = {each.name for each in ancestors([Rop(y, x, v)])}
    assert not {name for name in names if name and name.startswith("u")}


def test_the_graph_grows_with_the_number_of_nodes():
    x, v = T.dvector("x"), T.dvector("v")
    sizes = []
    for count in (50, 100):
        y = x
        for _ in range(count):
            y = T.tanh(y) + x
        sizes.append(len(toposort([Rop(y, x, v)])))
    assert sizes[1] < 2.1 * sizes[0]


def test_lop_and_rop_agree_on_a_symmetric_jacobian():
    x = T.dvector("x")
    values = {x: np.array([1.0, 2, 3])}
    expected = [2, 8, 18]
    np.testing.assert_allclose(evaluate(Rop(x**2, x, x), values), expected)
    np.testing.assert_allclose(evaluate(Lop(x**2, x, x), values), expected)


def test_a_hessian_times_a_vector_in_both_recipes():
    x, v = T.dvector("x"), T.dvector("v")
    cost = T.sum(x**3 + T.sin(x[0]) * x)
    gradient = grad(cost, x)
    forward = Rop(gradient, x, v)
    backward = grad(T.sum(gradient * v), x)
    values = {x: f64(4), v: f64(4)[::-1].copy()}
    np.testing.assert_allclose(*evaluate([forward, backward], values), rtol=1e-10)


def test_results_are_shaped_as_the_expressions_and_directions_may_be_left_out():
    x, y, v = T.dvector("x"), T.dvector("y"), T.dvector("v")
    values = {x: f64(3), y: f64(3), v: f64(3)}
    assert isinstance(Rop((x * y,), [x, y], [v, None]), tuple)
    (only_x,) = Rop([x * y], [x, y], [v, None])
    np.testing.assert_allclose(evaluate(only_x, values), f64(3) ** 2)
    both = Rop(x * y, [x, y], [v, 1.0 * v])
    np.testing.assert_allclose(evaluate(both, values), 2 * f64(3) ** 2)


def test_variables_on_the_way_may_move_too():
    x, v = T.dvector("x"), T.dvector("v")
    y = T.exp(x)
    moved = Rop(y * x, [x, y], [v, None])  # through y, too: x moves it
    values = {x: f64(3), v: np.ones(3)}
    np.testing.assert_allclose(evaluate(moved, values), np.exp(f64(3)) * (1 + f64(3)))
    held = Rop(y * x, [y], [v])
    np.testing.assert_allclose(evaluate(held, values), f64(3))


def test_marks_move_forward_as_they_say():
    x, v = T.dvector("x"), T.dvector("v")
    values = {x: f64(3), v: np.full(3, 5.0)}
    through = {grad_clip(x, -1, 1): 5, grad_scale(x, 3): 5, zero_grad(x): 0}
    for marked, expected in through.items():
        found = evaluate(Rop(marked * 2, x, v), values)
        np.testing.assert_array_equal(found, [2 * expected] * 3)
    stopped = disconnected_grad(x) * 2
    with pytest.raises(DisconnectedInputError, match="depends on none"):
        Rop(stopped, x, v)
    assert Rop(stopped, x, v, "ignore", "None") is None
    absent = Rop(stopped, x, v, "ignore", "Disconnected")
    assert isinstance(absent.type, DisconnectedType)
    zeros = Rop([stopped, x], x, v, "ignore")[0]
    np.testing.assert_array_equal(evaluate(zeros, values), [0, 0, 0])
    with pytest.raises(NullTypeGradError, match="undefined_grad was put there"):
        Rop(undefined_grad(x) * 2, x, v)


class Doubled(Op):
    """Knows its own R_op, which differs from what its gradient says."""

    __props__ = ()

    def infer(self, x):
        return x

    def reference(self, x):
        return 2 * x

    def grad(self, inputs, output_gradients):
        return [2 * output_gradients[0]]

    def R_op(self, inputs, eval_points):
        return [None if eval_points[0] is None else 20 * eval_points[0]]


def test_an_op_s_own_r_op_is_honoured():
    x, v = T.dvector("x"), T.dvector("v")
    moved = Rop(Doubled()(x) + x, x, v)
    np.testing.assert_array_equal(evaluate(moved, {x: f64(3), v: np.ones(3)}), [21] * 3)

    class Undecided(Doubled):
        def R_op(self, inputs, eval_points):
            raise NotImplementedError

    moved = Rop(Undecided()(x) + x, x, v)
    np.testing.assert_array_equal(evaluate(moved, {x: f64(3), v: np.ones(3)}), [3] * 3)

    class Wrong(Doubled):
        def R_op(self, inputs, eval_points):
            return [eval_points[0], eval_points[0]]

    with pytest.raises(ValueError, match="Wrong gives 2 directions for 1 outputs"):
        Rop(Wrong()(x), x, v)


def test_an_op_of_several_outputs_moves_those_that_are_connected():
    class SumAndFirst(Op):
        __props__ = ()

        def make_node(self, x, y):
            return Apply(self, [x, y], [x.type(), x.type()])

        def reference(self, x, y):
            return x + y, 3 * x

        def connection_pattern(self, node):
            return [[True, True], [True, False]]

        def lop(self, inputs, outputs, output_gradients):
            s, first = output_gradients
            to_x = 0 * inputs[0] if s is None else s
            return [to_x if first is None else to_x + 3 * first, s]

    x, y, v = T.dvector("x"), T.dvector("y"), T.dvector("v")
    total, first = SumAndFirst()(x, y)
    values = {x: f64(3), y: f64(3), v: np.ones(3)}
    np.testing.assert_array_equal(evaluate(Rop(total, y, v), values), [1, 1, 1])
    np.testing.assert_array_equal(evaluate(Rop(first, x, v), values), [3, 3, 3])
    with pytest.raises(DisconnectedInputError):
        Rop(first, y, v)
    with pytest.raises(DisconnectedInputError):
        grad(first.sum(), y)


def test_what_cannot_be_moved_is_told():
    x, m, n, v = T.dvector("x"), T.dmatrix("m"), T.ivector("n"), T.dvector("v")
    with pytest.raises(GraphValueError, match="given 2 eval_points for 1 variables"):
        Rop(x * 2, x, [v, v])
    with pytest.raises(GraphValueError, match="expected 1 axes"):
        Rop(x * 2, x, m)
    with pytest.raises(GraphTypeError, match="only real numbers move"):
        Rop(x * n, n, v)
    with pytest.raises(GraphTypeError, match="expected variables"):
        Rop(3.0, x, v)
    with pytest.raises(GraphValueError, match="disconnected_outputs='maybe'"):
        Rop(x, x, v, "maybe")

    class Opaque(Op):
        __props__ = ()

        def infer(self, x):
            return x

    with pytest.raises(NoGradientError, match=r"Rop: Opaque.*no gradient") as caught:
        Rop(Opaque()(x), x, v)
    assert __file__ in str(caught.value)


STEPS = [
    lambda x, y: x + y,
    lambda x, y: x * T.sin(y),
    lambda x, y: T.dot(x, y) / 3,
    lambda x, y: T.tanh(x).T,
    lambda x, y: x - x.mean(axis=0),
    lambda x, y: T.nnet.softmax(x) * y,
    lambda x, y: T.cumsum(x, axis=0) / 2,
    lambda x, y: T.sort(x, axis=1),
    lambda x, y: T.outer(x[0], T.tanh(y[:, 1])),
    lambda x, y: T.where(T.gt(x, y), x, T.exp(-(y**2))),
    lambda x, y: x[np.array([2, 0, 2])] + y[::-1],
    lambda x, y: T.concatenate([x[:1], y[1:]]),
    lambda x, y: T.set_subtensor(x[1], y.max(axis=0)),
    lambda x, y: x.reshape((9,))[::-1].reshape((3, 3)) * y.sum(),
    lambda x, y: T.sqrt(1 + x**2) / (2 + T.cos(y)),
]


@pytest.mark.parametrize("seed", range(40))
def test_forwards_and_backwards_are_adjoint(seed):
    """w (J v) = (w J) v, and the Jacobian's rows say the same."""
    rng = np.random.default_rng(seed)
    x, v, w = T.dmatrix("x"), T.dmatrix("v"), T.dmatrix("w")
    known = [x, T.tanh(x) + 0.5]
    for _ in range(8):
        step = STEPS[rng.integers(len(STEPS))]
        known.append(step(known[rng.integers(len(known))], known[-1]))
    y = known[-1]
    values = {each: rng.uniform(-1, 1, (3, 3)) for each in (x, v, w)}
    forward, back, matrix, again = evaluate(
        [
            Rop(y, x, v, "ignore"),
            Lop(y, x, w, disconnected_inputs="ignore"),
            jacobian(y, x, disconnected_inputs="ignore"),
            Rop(Lop(y, x, w, disconnected_inputs="ignore"), x, v, "ignore"),
        ],
        values,
    )
    np.testing.assert_allclose(
        (values[w] * forward).sum(), (back * values[v]).sum(), rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(
        np.tensordot(matrix, values[v], 2), forward, rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(
        np.tensordot(values[w], matrix, 2), back, rtol=1e-9, atol=1e-9
    )
    cost = (y * w).sum()
    hess = evaluate(hessian(cost, x, disconnected_inputs="ignore"), values)
    np.testing.assert_allclose(
        np.tensordot(hess, values[v], 2), again, rtol=1e-8, atol=1e-8
    )


def test_a_direction_that_is_given_stays_on_the_way_through_its_node():
    x, v, u = T.dvector("x"), T.dvector("v"), T.dvector("u")
    first, second = T.split(x, [1, 2], 2)
    values = {x: f64(3), v: f64(3) + 1, u: np.array([7.0])}
    expected = 7.0 * values[x][1:] + values[x][0] * values[v][1:]
    for y in (first.sum() * second, second * first.sum()):
        pushed = Rop(y, [x, first], [v, u])
        np.testing.assert_allclose(evaluate(pushed, values), expected)


class Both(Op):
    """Twice and three times the array, the second of which moves nothing."""

    def infer(self, x):
        return [x, x]

    def reference(self, x):
        return [2 * x, 3 * x]

    def R_op(self, inputs, directions):
        return [2 * directions[0], None]


def test_an_op_says_that_a_result_does_not_move():
    x, v = T.dvector("x"), T.dvector("v")
    first, second = Both()(x)
    values = {x: f64(3), v: f64(3)}
    np.testing.assert_array_equal(evaluate(Rop(first, x, v), values), 2 * f64(3))
    moved = Rop(first + second, x, v)
    np.testing.assert_array_equal(evaluate(moved, values), 2 * f64(3))
    still = Rop(second, x, v, "ignore")
    np.testing.assert_array_equal(evaluate(still, values), np.zeros(3))


class Constantly(Op):
    """The array as it is, of which the direction is said to be one number."""

    __props__ = ("said",)

    def __init__(self, said):
        self.said = said

    def infer(self, x):
        return x

    def reference(self, x):
        return x

    def R_op(self, inputs, directions):
        return [self.said]


@pytest.mark.parametrize("said", [2.0, 3, np.float32(2.0)])
def test_an_op_may_give_a_number_as_its_direction(said):
    x, v = T.dvector("x"), T.dvector("v")
    pushed = Rop(Constantly(said)(x), x, v)
    assert pushed.type == x.type
    found = evaluate(pushed, {x: f64(3), v: f64(3)})
    np.testing.assert_array_equal(found, np.full(3, said))


def test_what_is_undefined_stays_so_through_an_op_s_own_r_op():
    x, v = T.dvector("x"), T.dvector("v")
    first, second = Both()(undefined_grad(x))
    for result in (first, second, first * 2):
        with pytest.raises(NullTypeGradError, match="undefined_grad was put there"):
            Rop(result, x, v)


class Refuses(Op):
    """The array as it is; it raises where it is asked for its gradient."""

    __props__ = ("error",)

    def __init__(self, error):
        self.error = error

    def infer(self, x):
        return x

    def reference(self, x):
        return x

    def grad(self, m, g, y, x):
        raise self.error


@pytest.mark.parametrize("error", [NotImplementedError, TypeError, ValueError])
def test_who_needs_no_gradient_of_an_op_is_not_told_that_it_has_none(error):
    x, y, v = T.dvector("x"), T.dvector("y"), T.dvector("v")
    refused = Refuses(error)(y)
    still = T.cast(T.cast(x, "int64"), "float64") * refused
    values = {x: f64(3), y: f64(3), v: f64(3)}
    for zeros in (grad(still.sum(), x), Rop(still, x, v)):
        np.testing.assert_array_equal(evaluate(zeros, values), np.zeros(3))
    with pytest.raises(error):
        grad(still.sum(), y)


def test_a_mask_alone_moves_nothing():
    x, y, v = T.dvector("x"), T.dvector("y"), T.dvector("v")
    masked = Elemwise(SCALARS["where_nonzero"])(x, y)
    values = {x: np.array([0.0, 1.0, 2.0]), y: f64(3), v: f64(3)}
    for wrt, expected in ((x, 0 * values[v]), (y, values[v] * [0, 1, 1])):
        direction = Rop(masked, wrt, v, "ignore")
        np.testing.assert_array_equal(evaluate(direction, values), expected)


def test_an_op_gives_its_directions_as_a_tuple_or_a_list():
    class Pair(Op):
        __props__ = ("kind",)

        def __init__(self, kind):
            self.kind = kind

        def infer(self, x):
            return [x, x]

        def reference(self, x):
            return [2 * x, 3 * x]

        def R_op(self, inputs, directions):
            return self.kind([2 * directions[0], 3 * directions[0]])

    x, v = T.dvector("x"), T.dvector("v")
    for kind in (list, tuple):
        for output, times in zip(Pair(kind)(x), (2, 3), strict=True):
            found = evaluate(Rop(output, x, v), {x: f64(3), v: f64(3)})
            np.testing.assert_array_equal(found, times * f64(3))
