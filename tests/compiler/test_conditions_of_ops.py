"""Both sides of conditions in ops: defaults, lengths known or not, patterns."""

import inspect

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import Out, config, function
from gpuarray.compiler.graph.core import constant
from gpuarray.compiler.ifelse import ifelse
from gpuarray.compiler.ops.creation.joining import Split
from gpuarray.compiler.ops.custom.own import elementwise_op
from gpuarray.compiler.ops.linalg.linalg import Dot, Gemm, Gemv
from gpuarray.compiler.ops.variables.basic import is_constant

METHODS = [
    name
    for name, method in inspect.getmembers(type(T.vector()), inspect.isfunction)
    if not name.startswith("_") and inspect.isfunction(getattr(T, name, None))
]


@pytest.mark.parametrize("name", METHODS)
def test_a_method_takes_the_defaults_of_its_function(name):
    taken = inspect.signature(getattr(T, name)).parameters
    for own in inspect.signature(getattr(type(T.vector()), name)).parameters.values():
        if own.name in taken and own.default is not own.empty:
            assert own.default == taken[own.name].default, own.name


@pytest.mark.parametrize("num", [0, 1, 2, 3])
@pytest.mark.parametrize("endpoint", [True, False])
def test_linspace_of_few(context, num, endpoint):
    made = function([], T.linspace(1.0, 3.0, num, endpoint=endpoint))()
    np.testing.assert_allclose(made, np.linspace(1.0, 3.0, num, endpoint=endpoint))


def test_full_has_the_dtype_of_its_value_or_the_one_asked_for(context):
    value = np.int16(3)
    assert T.full((2,), value).dtype == "int16"
    assert T.full((2,), value, "float32").dtype == "float32"


def test_out_alone_says_what_stays_on_the_device(context):
    x = T.fvector()
    given = np.ones(3, "float32")
    assert isinstance(function([x], Out(x * 2, borrow=True))(given), np.ndarray)


def test_a_constant_of_several_elements_is_no_number():
    assert not is_constant(constant([1, 1]), 1)
    assert is_constant(constant([1]), 1)


def test_the_length_of_a_vector_of_one_is_known():
    one = T.TensorType("float32", (True,))("one")
    assert T.get_vector_length(one) == 1


def test_specify_shape_takes_lengths_that_are_computed(context):
    x, lengths = T.fmatrix(), T.lvector()
    same = function([x, lengths], T.specify_shape(x, lengths))
    given = np.ones((2, 3), "float32")
    np.testing.assert_array_equal(same(given, np.array([2, 3])), given)
    with pytest.raises((ValueError, AssertionError)):
        same(given, np.array([2, 4]))


def test_rounding_leaves_integers_as_they_are(context):
    x = T.ivector()
    rounded = np.round(x)
    assert rounded.dtype == "int32"
    given = np.array([-3, 5], "int32")
    np.testing.assert_array_equal(function([x], rounded)(given), np.round(given))


@pytest.mark.parametrize(
    ("fold", "values", "told"),
    [(T.sum, [6e4, 6e4, -6e4], 6e4), (T.prod, [256, 256, 2**-10], 64)],
)
def test_folds_of_halves_have_room_for_what_is_between(context, fold, values, told):
    x = T.vector(dtype="float16")
    given = np.array(values, "float16")
    assert function([x], fold(x))(given) == told
    assert fold(x).owner.op.reference(given) == told


def test_only_running_sums_and_products_accumulate():
    with pytest.raises(TypeError, match="subtract"):
        np.subtract.accumulate(T.vector())


def test_places_need_an_index_for_each_axis():
    with pytest.raises(ValueError, match="2 index arrays"):
        T.ravel_multi_index([T.lvector(), T.lvector()], (2, 3, 4))


@pytest.mark.parametrize(
    "index", [np.s_[0, ..., 1], np.s_[..., 1], np.s_[1, 0, ...], np.s_[0, ..., 1:, 2]]
)
def test_an_ellipsis_stands_for_the_axes_between(context, index):
    x = T.TensorType("float32", (False,) * 4)()
    given = np.arange(120, dtype="float32").reshape(2, 3, 4, 5)
    np.testing.assert_array_equal(function([x], x[index])(given), given[index])


@pytest.mark.parametrize("floatx", ["float32", "float64"])
def test_what_is_joined_follows_the_policy_of_floatx(floatx):
    with config.use(cast_policy="numpy+floatX", floatX=floatx):
        assert T.concatenate([T.ivector(), T.fvector()]).dtype == floatx


def test_a_product_of_cubes_is_no_dot():
    with pytest.raises(TypeError, match="expected 1 or 2 axes"):
        Dot()(T.tensor3(), T.matrix())


def test_the_square_root_of_minus_zero_is_numpys(context):
    x = T.fvector()
    given = np.array([-0.0, 4.0], "float32")
    made = function([x], x**0.5)(given)
    np.testing.assert_array_equal(np.signbit(made), np.signbit(given**0.5))


def test_widths_of_padding_may_be_an_array(context):
    x = T.fmatrix()
    given = np.arange(6, dtype="float32").reshape(2, 3)
    widths = np.array([[1, 0], [2, 1]])
    padded = function([x], T.pad(x, widths))(given)
    np.testing.assert_array_equal(padded, np.pad(given, widths))


def test_what_is_taken_along_an_axis_may_be_one_long_on_others(context):
    x = T.TensorType("float32", (True, False))()
    places = T.TensorType("int64", (True, False))()
    given, chosen = np.array([[3.0, 1.0, 2.0]], "float32"), np.array([[2, 0]])
    made = function([x, places], T.take_along_axis(x, places, 1))(given, chosen)
    np.testing.assert_array_equal(made, np.take_along_axis(given, chosen, 1))


def test_a_batch_that_does_not_fit_is_told_with_both_shapes(context):
    x, y = T.tensor4(dtype="float32"), T.tensor4(dtype="float32")
    product = function([x, y], T.matmul(x, y))
    with pytest.raises(ValueError, match=r"\(2, 3, 4, 5\) and \(2, 7, 5, 6\)"):
        product(np.ones((2, 3, 4, 5), "float32"), np.ones((2, 7, 5, 6), "float32"))


def test_what_is_transposed_has_a_name_of_its_own():
    x, one = T.matrix("x"), T.vector("one")
    assert x.T.name == "x.T"
    assert one.T.name == "one"
    assert (x + 1).T.name is None


def test_split_is_along_the_first_axis_if_none_is_given():
    assert Split(2).axis == 0


@pytest.mark.parametrize("op", [Gemv, Gemm])
def test_an_op_differs_in_each_of_its_properties(op):
    properties = inspect.signature(op).parameters
    assert tuple(properties) == op.__props__
    usual = {name: parameter.default for name, parameter in properties.items()}
    for name, value in usual.items():
        other = (not value) if isinstance(value, bool) else value + 1
        assert op(**usual) != op(**{**usual, name: other}), name


def test_a_gradient_names_every_operand():
    with pytest.raises(TypeError, match="a name for each operand"):

        @elementwise_op("1", lambda: 1)
        def no_operand(m, g, y):
            return []


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("second", [0, 1])
def test_choices_by_different_conditions_stay_apart(context, first, second):
    a, b, x, y = T.iscalar(), T.iscalar(), T.fvector(), T.fvector()
    total = function([a, b, x, y], ifelse(a, x, y) + ifelse(b, y, x) + ifelse(a, y, x))
    u, v = np.array([1.0, 2.0], "float32"), np.array([10.0, 30.0], "float32")
    told = (u if first else v) + (v if second else u) + (v if first else u)
    np.testing.assert_array_equal(total(first, second, u, v), told)


@pytest.mark.parametrize("value", [np.inf, np.nan, 2.0])
def test_the_sum_of_no_copies_is_zero(context, value):
    x = T.fscalar()
    assert function([x], T.alloc(x, 2, 0).sum())(np.float32(value)) == 0


def test_a_reciprocal_of_a_sum_is_a_sigmoid_for_one_alone(context):
    x = T.fvector()
    given = np.array([-1.0, 0.5, 3.0], "float32")
    for top in (1.0, 2.0, 0.5):
        made = function([x], top / (1 + T.exp(-x)))(given)
        np.testing.assert_allclose(made, top / (1 + np.exp(-given)), rtol=1e-6)


def test_an_element_behind_the_end_of_a_slice_is_refused(context):
    x = T.fvector()
    given = np.arange(9, dtype="float32")
    with pytest.raises(IndexError):
        function([x], x[1:4][3])(given)
    assert function([x], x[1:4][2])(given) == given[1:4][2]
    assert function([x], x[1:8:3][2])(given) == given[1:8:3][2]
