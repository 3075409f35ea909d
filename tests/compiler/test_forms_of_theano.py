"""Forms of calls that programs of Theano use: indices, keywords, constants, costs."""

import inspect
import itertools

import gpuarray.compiler as compiler
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import DebugMode, Mode, OpFromGraph, config, function, shared
from gpuarray.compiler.gradient import DisconnectedType, GradientError, verify_grad
from gpuarray.compiler.tensor import extra_ops, nlinalg, nnet, slinalg
from judge import assert_same

pytestmark = pytest.mark.usefixtures("on_context")

X = np.arange(12, dtype="float32").reshape(3, 4)


def computed(expression, *pairs, mode=None):
    """What a function of the variables gives for the values."""
    inputs, values = [v for v, _ in pairs], [value for _, value in pairs]
    return function(inputs, expression, mode=mode, on_unused_input="ignore")(*values)


# ---- what is given ----

GIVEN = [
    np.array([[2.0, 1.0], [1.0, 4.0]], "float32"),
    np.array([0.25, 0.5], "float32"),
    np.array([0, 1]),
    np.array([True, False]),
    [0.25, 0.5],
    [[1.0, 0.0], [0.0, 1.0]],
    0.5,
    1,
]

# What is asked of a graph, and what is no function of arrays.
ASKING = {"extract_constant", "get_scalar_constant_value", "get_vector_length"}
ASKING |= {"is_flat", "is_part", "entries_of"}


def of_arrays(family):
    """The public functions of a family by name, but for those in ``ASKING``."""
    return [
        pytest.param(getattr(family, name), id=f"{family.__name__}.{name}")
        for name in sorted(set(family.__all__) - ASKING)
        if inspect.isfunction(getattr(family, name))
    ]


def parts(result):
    if not isinstance(result, list | tuple):
        return [result]
    return [each for part in result for each in parts(part)]


@pytest.mark.parametrize(
    "made",
    [
        each
        for family in (T, nnet, nlinalg, slinalg, extra_ops)
        for each in of_arrays(family)
    ],
)
def test_of_plain_arrays_lists_and_numbers_a_function_gives_variables(made):
    pairs = [*zip(GIVEN, GIVEN, strict=True), *itertools.product(GIVEN, GIVEN[-2:])]
    for values in (*zip(GIVEN, strict=True), *pairs):
        try:
            result = made(*values)
        except (TypeError, ValueError, NotImplementedError):
            continue  # not of such, or not of so many
        except Exception as error:
            raise AssertionError(f"{values}: {error!r}") from error
        for each in parts(result):
            assert isinstance(each, T.Variable), (values, each)


def test_an_index_may_be_a_list_of_slices():
    x, k = T.matrix("x"), T.iscalar("k")
    indices = [
        [slice(0, 2), slice(1, 3)],
        [slice(None), 1],
        [2, slice(None, None, -1)],
        [Ellipsis, 0],
        [slice(1, 3), None],
        [slice(0, 2), [0, 3]],
    ]
    for each in indices:
        assert_same(computed(x[each], (x, X)), X[tuple(each)], exact=True)
    assert_same(computed(x[[slice(0, k), k]], (k, 2), (x, X)), X[0:2, 2])
    rows = computed(T.set_subtensor(x[[slice(1), slice(2)]], 7), (x, X))
    expected = X.copy()
    expected[:1, :2] = 7
    assert_same(rows, expected)
    assert_same(computed(x[[0, 2]], (x, X)), X[[0, 2]])  # an array, as ever


# ---- functions ----


@pytest.mark.parametrize("order", [np.inf, -np.inf])
def test_infinite_orders_of_norms_may_be_texts(order):
    x, v = T.matrix("x"), T.vector("v")
    text = "inf" if order > 0 else "-inf"
    of_matrix, of_all, of_vector, method = computed(
        [
            nlinalg.norm(x, text),
            x.norm(text),
            nlinalg.norm(v, text),
            v.norm(text, axis=0),
        ],
        (x, X - 5),
        (v, [1, -3, 2]),
    )
    assert of_matrix == np.linalg.norm(X - 5, order)
    assert of_all == np.linalg.norm((X - 5).ravel(), order)
    assert of_vector == method == (3 if order > 0 else 1)
    with pytest.raises(ValueError, match="the order is 'infinite'"):
        nlinalg.norm(x, "infinite")


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint8", "int64"])
def test_ceil_intdiv_takes_floats(dtype):
    a, b = T.vector("a", dtype), T.vector("b", dtype)
    given = np.array([7, 6, 1, 0, 100], dtype), np.array([2, 3, 5, 4, 7], dtype)
    if dtype.startswith(("f", "i")):
        given = (np.append(given[0], -7).astype(dtype), np.append(given[1], 2))
        given = given[0], given[1].astype(dtype)
    expected = -(-given[0].astype("float64") // given[1])
    assert_same(
        computed(T.ceil_intdiv(a, b), (a, given[0]), (b, given[1])),
        expected.astype(dtype),
    )


def test_ceil_intdiv_of_a_fraction():
    a = T.vector("a")
    got = computed(T.ceil_intdiv(a, 2.0), (a, [3.5, 4, 0.5, -3.5]))
    assert got.tolist() == [2, 2, 1, -1]


@pytest.mark.parametrize("mode", [None, "FAST_COMPILE", DebugMode()])
def test_lengths_of_raveled_places_may_be_a_vector(mode):
    dims, i, j = T.lvector("dims"), T.lvector("i"), T.lvector("j")
    both = T.lmatrix("both")
    raveled = T.ravel_multi_index((i, j), dims)
    stacked = T.ravel_multi_index(T.stack([i, j]), (dims[0], dims[1]), order="F")
    f = function([i, j, dims], [raveled, stacked], mode=mode)
    places = np.array([0, 2, 1]), np.array([3, 0, 1])
    for order, got in zip("CF", f(*places, [3, 4]), strict=True):
        assert_same(got, np.ravel_multi_index(places, (3, 4), order=order))
    with pytest.raises(ValueError, match="specify_shape"):
        f(*places, [3, 4, 5])
    back = T.unravel_index(i, dims, ndim=2)
    g = function([i, dims], back, mode=mode)
    flat = np.array([0, 11, 5])
    for got, expected in zip(
        g(flat, [3, 4]), np.unravel_index(flat, (3, 4)), strict=True
    ):
        assert_same(got, expected)
    with pytest.raises(ValueError, match="specify_shape"):
        g(flat, [12])
    with pytest.raises(ValueError, match="give a list of them, or ndim"):
        T.unravel_index(i, dims)
    with pytest.raises(TypeError, match="the length of both is not known"):
        T.ravel_multi_index(both, dims)
    with pytest.raises(ValueError, match="given 2 lengths in dims, expected 3"):
        T.unravel_index(i, (3, 4), ndim=3)


# ---- keywords ----


def test_a_type_may_have_a_name():
    kind = T.TensorType("float32", (False,), name="points", sparse_grad=False)
    plain = T.TensorType("float32", (False,))
    assert kind == plain and hash(kind) == hash(plain)
    assert str(kind) == kind.name == "points" and plain.name is None
    assert kind("x").type is kind and str(kind.clone()) == "TensorType(float32, vector)"
    x = kind("x")
    assert_same(computed(x * 2, (x, X[0])), X[0] * 2)


def test_as_tensor_variable_takes_a_number_of_axes():
    x, row = T.vector("x"), T.tensor("float32", (True, True, False), "row")
    assert T.as_tensor_variable(1.5, ndim=2).type.broadcastable == (True, True)
    named = T.as_tensor([1, 2], name="q", ndim=2)
    assert named.name == "q" and named.data.tolist() == [[1, 2]]
    assert T.as_tensor_variable(x, ndim=1) is x
    wide = T.as_tensor_variable(x, ndim=3)
    assert wide.type.broadcastable == (True, True, False)
    narrow = T.as_tensor_variable(row, ndim=1)
    assert narrow.type == x.type
    assert_same(computed(narrow, (row, X[None, :1])), X[0])
    assert T.as_tensor_variable(np.ones((1, 2)), ndim=1).data.shape == (2,)
    for given in (T.matrix(), np.ones((2, 1))):
        with pytest.raises(ValueError, match="more than ndim=1 axes"):
            T.as_tensor_variable(given, ndim=1)


def test_flatten_knows_the_older_name_of_ndim():
    x = T.tensor3("x")
    assert T.flatten(x, outdim=2).ndim == x.flatten(outdim=2).ndim == 2
    assert x.flatten().ndim == x.flatten(ndim=1).ndim == T.flatten(x).ndim == 1
    given = np.arange(24, dtype="float32").reshape(2, 3, 4)
    assert_same(computed(x.flatten(outdim=2), (x, given)), given.reshape(2, 12))
    with pytest.raises(TypeError, match="its older name"):
        T.flatten(x, 2, outdim=2)
    with pytest.raises(ValueError, match="ndim=0"):
        T.flatten(x, outdim=0)


@pytest.mark.filterwarnings("ignore::gpuarray.HostNotice")
def test_solve_takes_what_theano_has_besides_the_structure():
    a, b = T.matrix("a"), T.vector("b")
    matrix = np.array([[2, 1], [1, 3]], "float32")
    lower = slinalg.Solve("lower_triangular", lower=True)
    plain = slinalg.Solve(lower=True, overwrite_A=True, overwrite_b=True)
    assert plain == slinalg.Solve()
    found, all_of_it = computed([lower(a, b), plain(a, b)], (a, matrix), (b, [2, 5]))
    assert_same(found, np.linalg.solve(np.tril(matrix), [2, 5]).astype("float32"))
    assert_same(all_of_it, np.linalg.solve(matrix, [2, 5]).astype("float32"))


def test_an_op_may_declare_its_types_and_define_no_nodes():
    class Scaled(compiler.Op):
        __props__ = ("by",)
        itypes, otypes = [T.fmatrix, T.fscalar], [T.fmatrix]

        def __init__(self, by):
            self.by = by

        def perform(self, node, inputs, outputs):
            outputs[0][0] = self.by * inputs[0] + inputs[1]

        def grad(self, inputs, gradients):
            return [self.by * gradients[0], gradients[0].sum()]

    x, s = T.fmatrix("x"), T.fscalar("s")
    y = Scaled(2)(x, s)
    found = computed([y, *T.grad(y.sum(), [x, s])], (x, X), (s, 1))
    for given, wanted in zip(
        found, [2 * X + 1, X * 0 + 2, np.float32(12)], strict=True
    ):
        assert_same(given, wanted)
    with pytest.raises(TypeError, match="given 1 inputs, expected 2"):
        Scaled(2)(x)
    with pytest.raises(TypeError, match=r"input 1 is given of .*; convert it with ast"):
        Scaled(2)(x, T.dscalar())
    Scaled.otypes = [3]
    with pytest.raises(TypeError, match="otypes holds 3; expected types, such as"):
        Scaled(2)(x, s)


def test_an_elementwise_operation_has_a_name():
    assert (T.matrix() * 2).owner.op.name == "Elemwise{mul,no_inplace}"


def test_an_op_of_a_graph_tells_of_unused_inputs_if_asked():
    x, y = T.vectors("x", "y")
    for quiet in ({}, {"on_unused_input": "ignore"}):
        op = OpFromGraph([x, y], [x + 1], **quiet)
        assert_same(computed(op(x, y), (x, X[0]), (y, X[1])), X[0] + 1)
    with pytest.raises(ValueError, match="OpFromGraph: the input y is not used"):
        OpFromGraph([x, y], [x + 1], on_unused_input="raise")
    with pytest.warns(UserWarning, match="the input y is not used"):
        OpFromGraph([x, y], [x + 1], on_unused_input="warn")


def test_a_variable_may_be_given_by_an_expression_of_itself():
    a, b = T.scalars("a", "b")
    assert function([a], a * 2, givens={a: a + 10})(1) == 22
    w = shared(np.float32(3), "w")
    assert function([], w * 2, givens=[(w, w + 1)])() == 8
    assert function([a, b], a * b, givens={a: a + 1, b: a * b})(2, 5) == 45
    y = a * 3
    assert function([a], y + a, givens={y: y + 1})(2) == 9
    with pytest.raises(ValueError, match="givens go in a circle"):
        function([a, b], a * b, givens={a: b + 1, b: a + 1})


# ---- derivatives ----


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "bool"])
def test_the_gradient_of_integers_by_themselves_is_one(dtype):
    k = T.scalar("k", dtype)
    gradient = T.grad(k, k)
    assert gradient.type == T.scalar().type
    assert_same(computed(gradient, (k, 1)), np.float32(1))


def test_nothing_flows_back_through_integers():
    x, k = T.scalar("x"), T.iscalar("k")
    cost = k * 2
    by_cost, by_k = T.grad(cost, [cost, k], disconnected_inputs="ignore")
    assert computed([by_cost, by_k], (k, 3)) == [1, 0]
    rounded = T.cast(x, "int64") * 3
    assert computed(T.grad(rounded, x, disconnected_inputs="ignore"), (x, 1.5)) == 0
    mixed = k * x
    assert computed(T.grad(mixed, k), (k, 3), (x, 1.5)) == 1.5


@pytest.mark.parametrize("given", ["none", "None", "NONE", None])
def test_return_disconnected_is_read_in_any_case(given):
    x, y = T.scalars("x", "y")
    options = {"disconnected_inputs": "ignore", "return_disconnected": given}
    assert T.grad(x**2, [x, y], **options)[1] is None
    assert (
        T.Rop([x, y], x, y, disconnected_outputs="ignore", return_disconnected=given)[1]
        is None
    )
    zero = T.grad(x**2, [x, y], disconnected_inputs="IGNORE")[1]
    assert computed(zero, (y, 3)) == 0
    nothing = T.grad(
        x**2, y, disconnected_inputs="ignore", return_disconnected="disconnected"
    )
    assert isinstance(nothing.type, DisconnectedType)
    with pytest.raises(ValueError, match="it takes 'zero' or 'None' or 'Disconn"):
        T.grad(x, x, return_disconnected="nil")


def test_points_of_length_one_broadcast_where_gradients_are_verified():
    kinds = []

    def spread(a, b):
        kinds.append((a.type.broadcastable, b.type.broadcastable))
        return a * b

    rng = np.random.RandomState(1)
    verify_grad(spread, [rng.rand(1, 3), rng.rand(2, 1)], rng=rng)
    assert set(kinds) == {((True, False), (False, True))}
    assert verify_grad.E_grad is GradientError is compiler.gradient.GradientError

    def wrong(a):
        return compiler.gradient.grad_scale(a, 2.0)

    with pytest.raises(verify_grad.E_grad):
        verify_grad(wrong, [rng.rand(3)], rng=rng)


# ---- numbers known before a program runs ----


def test_numbers_are_known_through_indices():
    x, s = T.matrix("x"), T.scalar("s")
    table = T.constant([[1, 2, 2], [4, 4, 4]])
    known = [
        (T.constant([1, 2, 3])[1], 2),
        (T.constant([1, 2, 3])[-1], 3),
        (table[0, 1], 2),
        (table[1], 4),
        (table[0, 1:], 2),
        (T.stack([s, T.constant(2.0)])[1], 2),
        (T.alloc(3, x.shape[0])[1], 3),
        (T.zeros_like(x)[0, 1], 0),
        (T.ones((x.shape[0], 4))[1:], 1),
        (T.row().shape[0], 1),
        (T.join(0, T.constant([1, 2]), T.stack([s, T.constant(5.0)]))[3], 5),
        (T.concatenate([[1], [2, 3]])[-1] + 1, 4),
    ]
    for expression, number in known:
        found = T.get_scalar_constant_value(expression)
        assert found == number and found.shape == ()
    for expression in (x[0, 0], table[0], T.stack([s, s + 1])[0], table[T.iscalar()]):
        with pytest.raises(ValueError, match="get_scalar_constant_value"):
            T.get_scalar_constant_value(expression)
    with pytest.raises(IndexError, match="index 2 is out of bounds"):
        T.get_scalar_constant_value(T.stack([s, T.constant(2.0)])[2])


def test_plain_programs_are_as_those_that_are_rewritten():
    x, k = T.matrix("x"), T.iscalar("k")
    outputs = [x[[slice(0, k)]], T.ceil_intdiv(k, 2), nlinalg.norm(x, "inf")]
    for mode in (Mode(optimizer=None), DebugMode()):
        plain = computed(outputs, (x, X), (k, 3), mode=mode)
        for got, same in zip(plain, computed(outputs, (x, X), (k, 3)), strict=True):
            assert_same(got, same)
    assert config.floatX == "float32"
