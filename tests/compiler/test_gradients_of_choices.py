"""A derivative that a choice multiplies by zero is zero, whatever it is there."""

import random

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from evaluate import evaluate
from gpuarray.compiler import (
    Lop,
    Mode,
    Rop,
    config,
    function,
    grad,
    hessian,
    jacobian,
    shared,
)
from gpuarray.compiler.ifelse import ifelse
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.scalars import SCALARS
from test_gradient import FLOAT_ROWS, WITHOUT, row_case

MODES = ["FAST_RUN", "FAST_COMPILE", Mode(optimizer=None), "DebugMode"]
EDGES = [0.0, -1.0, 1.0, 1e4, -1e4, np.inf, -np.inf, np.nan]
N = 7  # that are chosen: as many points as `row_case` gives

keep = T.vector("keep", dtype="bool")
KEPT = np.arange(N + len(EDGES)) < N

CHOICES = {
    "switch": lambda y: T.switch(keep, y, 0.0),
    "a mask": lambda y: y[keep],
    "two choices": lambda y: T.switch(keep, y, 0.0) + y[:N].sum() / (N + len(EDGES)),
    "the other side": lambda y: T.switch(T.invert(keep), 3.0, y),
    "nan on the other side": lambda y: T.switch(keep, y, np.nan)[:N],
    "a slice": lambda y: y[:N],
    "places": lambda y: y[T.arange(N)],
    "what is set": lambda y: T.set_subtensor(y[N:], 0.5),
    "what is set by a mask": lambda y: T.set_subtensor(y[T.invert(keep)], 0.5),
    "a row of a matrix": lambda y: T.switch(keep, y.dimshuffle("x", 0), T.ones((2, 1))),
    "reversed": lambda y: y[::-1][len(EDGES) :],
    "joined": lambda y: T.join(0, y, y)[:N],
}
TIMES = {"two choices": 2, "a row of a matrix": 2}  # an element counts in the sum


def of_row(name):
    """A row's operands, the chosen values and those that are not, and its result."""
    arrays, variables = row_case(name)
    with np.errstate(invalid="ignore"):  # of integers
        outside = [
            np.roll(EDGES, place).astype(each.dtype)
            for place, each in enumerate(arrays)
        ]
    whole = [np.r_[a, b] for a, b in zip(arrays, outside, strict=True)]
    return arrays, whole, variables, Elemwise(SCALARS[name])(*variables)


def gradients_of_choices(y, variables):
    """By each float variable, through each choice."""
    floats = [each for each in variables if each.dtype == "float64"]
    return [
        gradient
        for choose in CHOICES.values()
        for gradient in grad(choose(y).sum(), floats, disconnected_inputs="ignore")
    ]


@pytest.mark.parametrize("name", [n for n in FLOAT_ROWS if n not in WITHOUT])
def test_what_is_not_chosen_has_no_gradient(name, context):
    arrays, whole, variables, y = of_row(name)
    floats = [each for each in variables if each.dtype == "float64"]
    alone = evaluate(
        grad(y.sum(), floats, disconnected_inputs="ignore"),
        dict(zip(variables, arrays, strict=True)),
    )
    gradients = gradients_of_choices(y, variables)
    with np.errstate(all="ignore"):
        by_host = evaluate(
            gradients, {keep: KEPT, **dict(zip(variables, whole, strict=True))}
        )
    compiled_of = list(CHOICES).index("two choices") + 1  # each way of masking once
    first = gradients[: compiled_of * len(floats)]
    with config.use(device=context.name):
        compiled = function([keep, *variables], first, on_unused_input="ignore")
    by_device = compiled(KEPT, *whole)
    for found in (by_host, by_device):
        for place, gradient in enumerate(found):
            choice = list(CHOICES)[place // len(floats)]
            expected = TIMES.get(choice, 1) * alone[place % len(floats)]
            given = np.asarray(gradient)
            assert not given[N:].any(), (choice, given)
            np.testing.assert_allclose(given[:N], expected, 1e-9, 1e-12, err_msg=choice)


v = T.dvector("v")
LOG = T.log(v)
PROGRAMS = {
    "log": (T.switch(v > 0, LOG, 0.0), [0, 2], [0, 0.5]),
    "root": (T.switch(v > 0, T.sqrt(v), 0.0), [0, 4], [0, 0.25]),
    "power": (T.switch(v > 0, v**0.5, 0.0), [0, 4], [0, 0.25]),
    "inverse": (T.switch(T.neq(v, 0), 1 / v, 0.0), [0, 2], [0, -0.25]),
    "entropy": (T.switch(v > 0, v * LOG, 0.0), [0, 1], [0, 1]),
    "elu": (T.switch(v > 0, v, T.exp(v) - 1), [0, 1000], [1, 1]),
    "no nan": (T.switch(T.isnan(v), 0.0, v**2), [np.nan, 3], [0, 6]),
    "mask": (LOG[v > 0], [0, 2], [0, 0.5]),
    "slice": (LOG[1:], [0, 2], [0, 0.5]),
    "maximum": (T.maximum(LOG, -1), [0, 2], [0, 0.5]),
    "minimum": (T.minimum(-LOG, 1), [0, 2], [0, -0.5]),
    "clip": (T.clip(LOG, -1, 1), [0, 2], [0, 0.5]),
    "greatest": (T.max(LOG), [0, 2], [0, 0.5]),
    "sorted": (T.sort(LOG)[1:], [0, 2], [0, 0.5]),
    "chain": (T.switch(v > 0, T.sqrt(T.sqrt(v) ** 3), 0), [0, 1], [0, 0.75]),
    "two choices": (
        T.switch(v > 0, LOG, 0) + T.switch(v > 1, LOG, 0),
        [0, 0.5, 2],
        [0, 2, 1],
    ),
    "chain of two choices": (
        T.switch(v > 0, T.log(T.maximum(LOG, 0.5)), 0),
        [0, 1, np.e],
        [0, 0, 1 / np.e],
    ),
    "a choice within": (
        T.sqrt(T.switch(v > 0, v, 0)) * (v > 0),
        [-1, 0, 4],
        [0, 0, 0.25],
    ),
    "factor of truth": (T.sqrt(v) * (v > 0), [0, 4], [0, 0.25]),
    "factor of a choice": (T.sqrt(v) * T.switch(v > 0, 2.0, 0.0), [0, 4], [0, 0.5]),
    "both sides": (T.switch(v > 0, LOG, T.log(-v)), [-2, 0.5], [-0.5, 2]),
    "branch": (
        ifelse(T.gt(v[0], 0), T.log(v).sum(), T.exp(v).sum()) + 0 * v,
        [0, 0],
        [2, 2],
    ),
    "product": (T.switch(T.isinf(v.prod()), 0, v.prod()), [np.inf, 2], [0, 0]),
    "first products": (T.cumprod(v)[:1], [3, np.inf], [1, 0]),
    "row of softmax": (
        T.switch(v > 0, T.nnet.softmax(v + T.log(v).min()), 0.0),
        [0, 0],
        [0, 0],
    ),
    "clipped gradient": (
        T.switch(v > 0, T.sqrt(T.nnet.relu(v) * 2), 0.0),
        [-1, 0, 2],
        [0, 0, 0.5],
    ),
}


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: getattr(mode, "name", mode))
def test_programs_have_no_gradient_where_nothing_is_chosen(context, mode):
    for name, (expression, values, expected) in PROGRAMS.items():
        with config.use(device=context.name):
            compiled = function([v], grad(expression.sum(), v), mode=mode)
        found = np.asarray(compiled(np.array(values, "float64")))
        np.testing.assert_allclose(found, expected, 1e-12, err_msg=name)


w, matrix = T.dvector("w"), T.dmatrix("matrix")
corner = T.switch(T.lt(T.arange(3), 2).dimshuffle(0, "x") & T.lt(T.arange(4), 2), 1, 0)
OUTSIDE = [0.0, np.nan, np.inf, -np.inf, -1.0, 1e300, -1e300, 0.0]
# Each gives a cost of the first two rows and columns of a matrix.
CORNERS = {
    "slice": lambda m: T.log(m)[:2, :2],
    "places": lambda m: T.sqrt(m)[[0, 1, 1], [1, 0, 0]],
    "rows and columns": lambda m: T.log(m)[[1, 0]][:, [0, 1]],
    "take": lambda m: T.log(m).take([0, 1, 5, 4]),
    "switch": lambda m: T.switch(corner, T.log(m) * m, 0.0),
    "transposed": lambda m: T.log(m).T[:2].flatten()[[0, 1, 3, 4]],
    "reshaped": lambda m: T.sqrt(m).reshape((6, 2))[:3:2],
    "sorted": lambda m: T.sort(T.switch(corner, T.sqrt(m), 9.0), axis=1)[:2, :2],
    "greatest": lambda m: T.max(T.switch(corner, T.log(m), -9.0), axis=1)[:2],
    "sum of chosen": lambda m: T.log(T.switch(corner, T.exp(m), 0).sum(axis=1)[:2]),
    "softmax of chosen": lambda m: T.log(
        T.nnet.softmax(T.switch(corner, m, -np.inf))[[0, 1], [1, 0]]
    ),
    "logsoftmax of chosen": lambda m: T.nnet.logsoftmax(T.switch(corner, m, -np.inf))[
        :2, :2
    ],
    "products": lambda m: T.cumprod(m, axis=1)[:2, :2],
    "product of chosen": lambda m: T.switch(corner, m, 1.0).prod(axis=1)[:2],
    "norms": lambda m: T.sqrt(T.sqr(T.switch(corner, m, 0.0)).sum(axis=1))[:2],
    "joined": lambda m: T.join(1, T.sqrt(m), T.log(m))[:2, [0, 1, 4, 5]],
    "stacked": lambda m: T.stack([T.log(m)[0, :2], T.sqrt(m)[1, :2]]),
    "repeated": lambda m: T.repeat(T.log(m), 2, axis=1)[:2, :4],
    "rolled": lambda m: T.roll(T.log(m), 1, axis=1)[:2, 1:3],
    "diagonal": lambda m: T.diagonal(T.log(m))[:2] + m[:2, :2],
    "set": lambda m: T.set_subtensor(T.log(m)[2:], 0.0)[:, :2][:3],
    "scaled rows": lambda m: (
        T.log(m) / T.switch(corner, m, 1).sum(axis=1).dimshuffle(0, "x")
    )[:2, :2],
    "mask of a comparison": lambda m: T.switch(corner, m, 4.0) ** 0.5 * T.eq(corner, 1),
    "branch": lambda m: ifelse(T.gt(m[0, 0], 0), T.log(m[:2, :2]), T.log(m)[1:, 2:]),
}


@pytest.mark.parametrize("name", CORNERS)
def test_what_a_cost_leaves_out_of_a_matrix_changes_no_gradient(name, context):
    gradient = grad(T.sqr(CORNERS[name](matrix)).sum(), matrix)
    is_chosen = np.zeros((3, 4), bool)
    is_chosen[:2, :2] = True
    usual = np.random.default_rng(5).uniform(0.5, 2, (3, 4))
    wild = usual.copy()
    wild[~is_chosen] = OUTSIDE
    expected = evaluate(gradient, {matrix: usual})
    assert expected[:2, :2].any() and not expected[~is_chosen].any()
    with config.use(device=context.name):
        compiled = function([matrix], gradient)
    with np.errstate(all="ignore"):
        by_host = evaluate(gradient, {matrix: wild})
    for found in (by_host, np.asarray(compiled(wild))):
        np.testing.assert_allclose(found, expected, 1e-12)


ONE = {each.__name__: each for each in (T.log, T.sqrt, T.exp, T.tanh, T.inv, T.log1p)}
ONE |= {"relu": T.nnet.relu, "softplus": T.nnet.softplus, "abs": T.abs_}
TWO = [T.add, T.mul, T.true_div, T.sub, T.pow]
ASKED = [
    lambda x: x > 0,
    lambda x: x < 1,
    lambda x: T.le(abs(x), 500),
    lambda x: T.neq(x, 1),
]


def drawn(random, depth):
    """A program of one variable: it builds either all sides, or what is chosen."""
    kind = random.random() if depth else 1.0
    if kind < 0.4:
        outer, inner = ONE[random.choice(list(ONE))], drawn(random, depth - 1)
        return lambda x, ask: outer(inner(x, ask))
    if kind < 0.65:
        outer = random.choice(TWO)
        a, b = drawn(random, depth - 1), drawn(random, depth - 1)
        return lambda x, ask: outer(a(x, ask), b(x, ask))
    if depth:
        asked = random.choice(ASKED)
        a, b = drawn(random, depth - 1), drawn(random, depth - 1)
        return lambda x, ask: ask(asked, lambda: a(x, ask), lambda: b(x, ask))
    number = random.choice([0.5, 2.0, -1.0, None, None, None, None])
    return lambda x, ask: x if number is None else x * 0 + number


@pytest.mark.parametrize("seed", range(40))
def test_a_gradient_through_choices_is_that_of_what_is_chosen(seed):
    program = drawn(random.Random(seed), 4)
    points = [0.0, 1.0, -1.0, 2.0, 0.5, -0.5, 1e3, -1e3]
    whole = program(v, lambda asked, a, b: T.switch(asked(v), a(), b()))
    with np.errstate(all="ignore"):
        found = evaluate(grad(whole.sum(), v), {v: points})
        for point, given in zip(points, found, strict=True):

            def taken(asked, a, b, point=point):
                is_first = evaluate(asked(T.constant(point)))
                return a() if is_first else b()

            alone = program(v, taken)
            slope = grad(alone.sum(), v)
            (value,), (expected,) = (evaluate(x, {v: [point]}) for x in (alone, slope))
            if np.isfinite(value) and not np.isnan(expected):
                np.testing.assert_allclose(given, expected, 1e-9, err_msg=str(point))


@pytest.mark.parametrize("optimizer", ["fast_run", None])
def test_choices_among_several_variables(context, optimizer):
    row = LOG.dimshuffle("x", 0)
    costs = [
        T.switch(v > 0, w / v, 0.0).sum(),
        T.switch(T.gt(matrix, 1), row * matrix, 0.0).sum(),
        T.switch(T.gt(v, 0).dimshuffle("x", 0), T.dot(matrix, T.diag(LOG)), 0).sum(),
    ]
    wrt = [v, w, matrix]
    gradients = [
        each
        for cost in costs[:2]
        for each in grad(cost, wrt, disconnected_inputs="ignore")
    ]
    values = {
        v: np.array([0.0, 2.0]),
        w: np.array([3.0, 5.0]),
        matrix: np.array([[1.0, 2.0], [0.5, 4.0]]),
    }
    with config.use(device=context.name):
        compiled = function(wrt, gradients, mode=Mode(optimizer=optimizer))
    found = list(map(np.asarray, compiled(*values.values())))
    log2 = np.log(2)
    expected = [
        [0, -1.25],
        [0, 0.5],
        np.zeros((2, 2)),
        [0, 3],
        [0, 0],
        [[0, log2], [0, log2]],
    ]
    for given, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(given, wanted, 1e-12)


LEAVING = {
    "switch": lambda x: T.switch(x > 0, x * T.log(x), 0.0),
    "slice": lambda x: (x * T.log(x))[1:],
    "two choices": lambda x: (
        T.switch(x > 0, T.log(x) ** 2, 0) + (T.log(x) * x)[1:].sum()
    ),
}


@pytest.mark.parametrize("name", LEAVING)
def test_second_derivatives_and_products_with_jacobians(name, context):
    x, d = T.dvector("x"), T.dvector("d")
    y = LEAVING[name](x)
    values = {x: np.array([0.0, 2.0]), d: np.array([0.3, 0.7])}
    outputs = [hessian(y.sum(), x), jacobian(y, x), Rop(y, x, d)]
    outputs += [Lop(y, x, y * 0 + d[1]), Rop(grad(y.sum(), x), x, d)]
    alone = T.dvector("alone")
    chosen = LEAVING[name](T.join(0, alone, alone))  # at a place where all is chosen
    second = evaluate(hessian(chosen.sum(), alone), {alone: [2.0]})
    with config.use(device=context.name):
        compiled = function([x, d], outputs)
    for results in (evaluate(outputs, values), compiled(*values.values())):
        of_x, rows, moved, back, moved_back = map(np.asarray, results)
        assert all(np.isfinite(each).all() for each in (of_x, rows, moved, back))
        assert not of_x[0].any() and not of_x[:, 0].any() and not rows[:, 0].any()
        np.testing.assert_allclose(moved, rows @ values[d], 1e-12)
        np.testing.assert_allclose(back, values[d][1] * rows.sum(0), 1e-12)
        np.testing.assert_allclose(moved_back, of_x @ values[d], 1e-12)
    assert np.isfinite(second).all()


def test_a_gradient_that_is_zero_by_chance_still_has_a_derivative():
    # Between two choices flows a gradient of 0 at x = 1, where it changes.
    inner = T.exp(v)
    shared_by_two = T.switch(v > 0, (inner - np.e) ** 2, 0) + T.switch(
        v > -5, (inner - np.e) ** 2, 0
    )
    (found,) = np.asarray(evaluate(hessian(shared_by_two.sum(), v), {v: [1.0]}))
    np.testing.assert_allclose(found, [4 * np.e**2], 1e-12)
    sliced = ((inner - np.e) ** 2)[:1]
    found = np.asarray(evaluate(hessian(sliced.sum(), v), {v: [1.0, 2.0]}))
    np.testing.assert_allclose(found, [[2 * np.e**2, 0], [0, 0]], 1e-12)


def test_off_the_diagonal_a_jacobian_is_zero():
    found = evaluate(jacobian(T.sqrt(v), v), {v: [0.0, 4.0]})
    np.testing.assert_array_equal(found, [[np.inf, 0], [0, 0.25]])


def test_complex_numbers_that_are_not_chosen():
    z = T.zvector("z")
    cost = T.switch(T.neq(T.abs_(z), 0), T.log(z), 0).real.sum()
    found = evaluate(grad(cost, z), {z: np.array([0, 2j])})
    np.testing.assert_allclose(found, [0, 0.5j], 1e-12)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: getattr(mode, "name", mode))
def test_costs_of_labels_where_other_classes_have_no_share(context, mode):
    p, x, y = T.dmatrix("p"), T.dmatrix("x"), T.ivector("y")
    by_hand = T.exp(x - x.max(axis=1, keepdims=True))
    by_hand = by_hand / by_hand.sum(axis=1, keepdims=True)
    rows = T.arange(y.shape[0])
    values = np.array([[0.0, 2000.0, 1.0], [3.0, 0.0, -2000.0]])
    labels = np.array([1, 0], "int32")
    share = np.exp(values - values.max(1, keepdims=True))
    share /= share.sum(1, keepdims=True)
    expected = share - np.eye(3)[labels]
    costs = [
        T.nnet.categorical_crossentropy(by_hand, y).sum(),
        -T.log(by_hand)[rows, y].sum(),
        -T.log(T.nnet.softmax(x))[rows, y].sum(),
        -T.log(T.nnet.softmax(x)[rows, y]).sum(),
    ]
    of_p = grad(T.nnet.categorical_crossentropy(p, y).sum(), p)
    masked = T.switch(T.gt(x, -1000), T.log(T.nnet.softmax(x)), 0.0)[rows, y].sum()
    outputs = [of_p, grad(masked, x), *(grad(cost, x) for cost in costs)]
    with config.use(device=context.name):
        compiled = function([p, x, y], outputs, mode=mode)
    found, of_masked, *others = map(
        np.asarray, compiled(np.array([[0.5, 0.5, 0.0], [1, 0, 0]]), values, labels)
    )
    np.testing.assert_array_equal(found, [[0, -2, 0], [-1, 0, 0]])
    np.testing.assert_allclose(of_masked, -expected, 1e-12, 1e-15)
    for each in others:
        np.testing.assert_allclose(each, expected, 1e-12, 1e-15)


def test_rows_that_are_masked_wholly_have_no_gradient():
    x, mask = T.dmatrix("x"), T.dmatrix("mask")
    scores = T.switch(mask, x, -np.inf)
    for normalised in (T.nnet.softmax, T.nnet.logsoftmax):
        cost = T.switch(mask, normalised(scores), 0.0).sum()
        found = evaluate(grad(cost, x), {x: np.ones((2, 2)), mask: [[0, 0], [1, 1]]})
        np.testing.assert_allclose(found, np.zeros((2, 2)), atol=1e-15)


def names_of_kernels(outputs, inputs):
    with config.use(floatX="float32", device="null"):
        return str(function(inputs, outputs).plan)


def test_gradients_that_no_choice_touches_have_no_masks():
    x, y = T.fmatrix("x"), T.fmatrix("y")
    a = shared(np.zeros((5, 4), "float32"))
    b = shared(np.zeros((4, 3), "float32"))
    hidden = T.tanh(T.dot(x, a))
    cost = ((T.nnet.softmax(T.dot(hidden, b)) - y) ** 2).mean()
    assert "where_nonzero" not in names_of_kernels(grad(cost, [a, b]), [x, y])
    p = T.nnet.sigmoid(T.dot(x, a).sum(axis=1, keepdims=True))
    cost = T.nnet.binary_crossentropy(p, y).mean()
    assert "where_nonzero" not in names_of_kernels([grad(cost, a)], [x, y])


def test_layers_of_relus_need_no_masks():
    x, y = T.fmatrix("x"), T.fmatrix("y")
    a = shared(np.zeros((5, 4), "float32"))
    b = shared(np.zeros((4, 3), "float32"))
    for relu in (
        T.nnet.relu,
        lambda z: T.maximum(z, 0),
        lambda z: T.switch(z > 0, z, 0),
    ):
        hidden = relu(T.dot(relu(T.dot(x, a) + 1) * 0.5, b))
        listing = names_of_kernels(grad(((hidden - y) ** 2).mean(), [a, b]), [x, y])
        assert "where_nonzero" not in listing, listing


def test_a_choice_behind_a_long_chain_is_differentiated_without_recursion():
    expression = v
    for _ in range(5000):
        expression = expression + w
    cost = T.switch(w > 0, T.log(expression), 0.0).sum()
    found = evaluate(grad(cost, v), {v: [4.0, 0.0], w: [0.0, 0.0]})
    np.testing.assert_array_equal(found, [0, 0])


def test_masks_of_choices_cost_no_launch():
    x, y = T.fmatrix("x"), T.ivector("y")
    a, b, c = (shared(np.zeros(s, "float32")) for s in ((5, 4), (4, 4), (4, 3)))
    counts, masks = [], []
    for activation in (T.nnet.softplus, T.nnet.relu):
        hidden = activation(T.dot(activation(T.dot(x, a)), b))
        p = T.nnet.softmax(T.dot(hidden, c))
        cost = -T.log(p)[T.arange(y.shape[0]), y].mean()
        with config.use(floatX="float32", device="null"):
            plan = function([x, y], [cost, *grad(cost, [a, b, c])]).plan
        counts.append(plan.launches())
        masks.append(str(plan).count("where_nonzero"))
    assert counts[0] == counts[1]
    assert masks[0] > masks[1]
