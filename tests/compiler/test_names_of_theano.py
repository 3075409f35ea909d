"""Names that programs of Theano find in its namespaces."""

import gpuarray
import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import Mode, function
from gpuarray.compiler.compile.mode import get_default_mode
from gpuarray.compiler.compile.nanguardmode import NanGuardMode
from gpuarray.compiler.tensor import inplace
from gpuarray.compiler.tensor.xlogx import xlogy0
from gpuarray.scalars import SCALARS
from judge import assert_same

pytestmark = pytest.mark.usefixtures("on_context")


def test_every_public_name_is_there():
    for space in (theano, T, theano.compile, theano.compile.ops, inplace):
        assert not [name for name in space.__all__ if not hasattr(space, name)]


def test_dtypes_are_in_groups_by_what_they_hold():
    assert {"int8", "int16", "int32", "int64"} == set(T.int_dtypes)
    assert {"uint8", "uint16", "uint32", "uint64"} == set(T.uint_dtypes)
    assert {"float16", "float32", "float64"} <= set(T.float_dtypes)
    assert {"complex64", "complex128"} == set(T.complex_dtypes)
    assert {*T.int_dtypes, *T.uint_dtypes} == set(T.integer_dtypes)
    assert {"bool", *T.integer_dtypes} == set(T.discrete_dtypes)
    assert {*T.float_dtypes, *T.complex_dtypes} == set(T.continuous_dtypes)
    assert {*T.discrete_dtypes, *T.continuous_dtypes} == set(T.all_dtypes)
    for name in T.all_dtypes:
        assert T.TensorType(name, ())().dtype == name


def test_types_are_in_groups():
    assert T.int_types == T.int_scalar_types
    assert T.int_types == (T.bscalar, T.wscalar, T.iscalar, T.lscalar)
    assert T.float_vector_types == (T.fvector, T.dvector)
    assert T.complex_matrix_types == (T.cmatrix, T.zmatrix)
    assert [kind("x").dtype for kind in T.float_types] == ["float32", "float64"]


def test_conjugates_have_a_short_name():
    z, x = T.cvector("z"), T.vector("x")
    given = np.array([1 + 2j, -3j], "complex64")
    found, same = function([z, x], [T.conj(z), T.conj(x)])(given, [1, 2])
    assert_same(found, given.conj())
    assert_same(same, np.array([1, 2], "float32"))


def test_xlogx_is_a_function_and_the_space_of_both():
    x, y = T.vector("x"), T.vector("y")
    outputs = [T.xlogx(x), T.xlogx.xlogx(x), T.xlogx.xlogy0(x, y), xlogy0(x, y)]
    first, again, both, same = function([x, y], outputs)([0, 2], [0, 3])
    expected = np.array([0, 2 * np.log(2)], "float32")
    assert_same(first, expected)
    assert_same(again, expected)
    assert_same(both, np.array([0, 2 * np.log(3)], "float32"))
    assert_same(same, both)


# ---- in place ----


@pytest.mark.parametrize("name", [*SCALARS, "chi2sf", "conj", "sqr", "int_div"])
def test_each_row_has_a_name_in_place(name):
    assert getattr(T.inplace, f"{name}_inplace").__name__ == f"{name}_inplace"


@pytest.mark.parametrize("mode", [None, "FAST_COMPILE", Mode(optimizer=None)])
def test_a_result_in_place_has_the_type_of_the_first_operand(mode):
    x, y, i = T.vector("x"), T.scalar("y"), T.ivector("i")
    added, raised = inplace.add_inplace(x, y), inplace.true_div_inplace(i, y)
    assert added.type == x.type and raised.type == i.type
    f = function([x, y, i], [added, raised, x + i, inplace.exp_inplace(x)], mode=mode)
    given, numbers = np.array([1, 2], "float32"), np.array([7, -7], "int32")
    total, quotient, before, powers = f(given, 2, numbers)
    assert_same(total, given + 2)
    assert_same(quotient, np.array([3, -3], "int32"))
    np.testing.assert_allclose(before, [8, -5])
    assert_same(powers, np.exp(given))
    assert given.tolist() == [1, 2]
    gradient = T.grad(added.sum(), x)
    found = function([x, y], gradient, on_unused_input="ignore")(given, 2)
    assert_same(found, np.ones(2, "float32"))


def test_what_does_not_fit_in_place_is_refused():
    x, m, row = T.vector("x"), T.matrix("m"), T.row("row")
    with pytest.raises(TypeError, match=r"mul_inplace: the result is .*matrix"):
        inplace.mul_inplace(x, m)
    with pytest.raises(TypeError, match="does not fit into row"):
        inplace.add_inplace(row, m)
    transposed = function([m], inplace.transpose_inplace(m))(np.ones((2, 3), "f4"))
    assert transposed.shape == (3, 2)
    with pytest.raises(AttributeError):
        _ = inplace.nothing_inplace


# ---- elementwise operations of scalar functions ----


def test_an_elementwise_operation_is_made_of_a_scalar_function():
    scalar, given = theano.scalar, np.array([1, 2], "float32")
    x = T.vector("x")
    outputs = [
        T.Elemwise(scalar.exp)(x),
        T.Elemwise(scalar.true_div, name="ratio")(x, x + 1),
        T.Elemwise(scalar.identity)(x),
        T.Elemwise(SCALARS["square"])(x),
    ]
    assert T.Elemwise(scalar.exp) == T.exp(x).owner.op
    expected = [np.exp(given), given / (given + 1), given, given**2]
    for found, wanted in zip(function([x], outputs)(given), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    for wrong in ("exp", 3, T.sum):
        with pytest.raises(TypeError, match=r"given .* expected a function of scalar"):
            T.Elemwise(wrong)


# ---- what stands in other namespaces, too ----


def test_gradients_are_verified_by_the_tensors_function_too():
    rng = np.random.default_rng(3)
    assert T.verify_grad is theano.gradient.verify_grad
    T.verify_grad(lambda x: x**2, [np.array([1.0, 2.0])], rng=rng)
    with pytest.raises(T.verify_grad.E_grad):
        T.verify_grad(
            lambda x: theano.gradient.consider_constant(x) * x,
            [np.array([1.0, 2.0])],
            rng=rng,
        )


def test_types_of_the_first_way_to_a_gpu_are_those_of_contexts():
    cuda = theano.sandbox.cuda
    held = cuda.basic_ops.as_cuda_ndarray_variable(T.vector())
    assert isinstance(held.type, cuda.CudaNdarrayType)
    assert cuda.type.CudaNdarrayType is cuda.CudaNdarrayType
    assert not isinstance(T.vector().type, cuda.CudaNdarrayType)


def test_names_of_both_pythons():
    compat = theano.compat
    assert list(compat.imap(sum, compat.izip([1, 2], [3, 4]))) == [4, 6]
    assert (
        list(compat.ifilter(None, [0, 1])) == [1] and dict(compat.OrderedDict()) == {}
    )
    assert [compat.cmp(1, 2), compat.cmp(2, 2), compat.cmp("b", "a")] == [-1, 0, 1]
    assert compat.exc_message(ValueError("text")) == "text"
    assert compat.decode(b"text") == "text" and compat.operator_div(1, 2) == 0.5
    assert compat.get_unbound_function(T.TensorType("int8", ()).make_variable) is (
        T.TensorType.make_variable
    )
    assert compat.get_unbound_function(abs) is abs and compat.PY3
    with pytest.raises(AttributeError, match="did you mean 'ifilter'"):
        getattr(compat, "ifiltr")  # noqa: B009


# ---- what compiles ----


def test_what_compiles_is_in_compile_too():
    x = T.vector("x")
    f = theano.compile.function([x], x + 1, mode=theano.compile.get_mode("FAST_RUN"))
    assert f([1]).tolist() == [2]
    assert theano.compile.Mode is Mode and NanGuardMode is theano.NanGuardMode
    assert get_default_mode() == theano.compile.get_default_mode()
    assert theano.predefined_modes["FAST_RUN"] == Mode()
    assert theano.compile.shared is theano.shared
    assert theano.as_op is theano.compile.ops.as_op
    assert theano.__version__ == gpuarray.__version__
    assert isinstance(theano.generic, theano.Generic)


def test_asarray_gives_exactly_the_dtype():
    assert theano._asarray([1, 2], dtype="floatX").dtype == np.float32
    given = np.arange(3)
    assert theano._asarray(given, given.dtype) is given
    assert theano._asarray([[1, 2], [3, 4]], "int8", order="F").flags.f_contiguous
