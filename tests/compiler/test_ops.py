"""Every op against NumPy: value, types, shape, how it prints and compares."""

import copy
import pickle

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from cases import CASES, f32, f64
from evaluate import evaluate
from gpuarray.compiler import config
from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.graph.traverse import toposort
from gpuarray.compiler.ops.elemwise.elemwise import (
    Cast,
    Composite,
    CompositeStep,
    Elemwise,
    loop_dtypes,
)
from gpuarray.compiler.tensor.constructors import PATTERNS, PREFIXES
from gpuarray.scalars import SCALARS
from written import assert_shapes_are_told

DTYPES = [
    "bool",
    "int8",
    "uint8",
    "int32",
    "uint32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


def outputs_of(case, variables):
    built = case.build(*variables)
    return list(built) if isinstance(built, (list, tuple)) else [built]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_op_computes_what_numpy_does(case):
    variables = case.variables()
    outputs = outputs_of(case, variables)
    expected = case.expected(*case.arrays)
    expected = expected if isinstance(expected, tuple) else (expected,)
    found = evaluate(outputs, dict(zip(variables, case.arrays, strict=True)))
    for value, right in zip(found, expected, strict=True):
        assert value.shape == np.shape(right)
        assert value.dtype == np.asarray(right).dtype
        np.testing.assert_allclose(value, right, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_op_tells_the_shape_of_its_result(case):
    variables = case.variables()
    outputs = outputs_of(case, variables)
    values = dict(zip(variables, case.arrays, strict=True))
    assert_shapes_are_told(outputs, values)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_op_is_a_value(case):
    for node in toposort(outputs_of(case, case.variables())):
        twin = pickle.loads(pickle.dumps(node.op))
        assert twin == node.op == copy.deepcopy(node.op)
        assert hash(twin) == hash(node.op)
        assert str(twin) == str(node.op)


@pytest.mark.parametrize("name", sorted(SCALARS))
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_row_gives_numpys_dtype_and_values(name, dtype):
    row = SCALARS[name]
    low, high = max(row.domain[0], -3), min(row.domain[1], 3)
    base = np.linspace(low + 0.1, high - 0.1, 5)
    arrays = [np.roll(base, k).astype(dtype) for k in range(row.arity)]
    if name == "power":
        arrays[1] = np.abs(arrays[1])
    variables = [T.tensor(dtype, (False,)) for _ in arrays]
    try:
        loop = loop_dtypes(row, [dtype] * row.arity)
    except GraphTypeError:
        # Nor does NumPy offer it, or our row has no text for complex numbers.
        if not dtype.startswith("complex") or "c" in row.by_kind:
            with np.errstate(all="ignore"), pytest.raises(TypeError):
                row.loops(*arrays)
        return
    found = evaluate(
        Elemwise(row)(*variables), dict(zip(variables, arrays, strict=True))
    )
    with np.errstate(all="ignore"):
        expected = np.asarray(
            row.reference(*(a.astype(t) for a, t in zip(arrays, loop, strict=False)))
        )
    assert found.dtype == loop[-1]
    expected = expected.astype(loop[-1])
    if "bfloat16" in loop[-1]:  # whose nan NumPy does not know as such
        found, expected = found.astype("float32"), expected.astype("float32")
    np.testing.assert_array_equal(found, expected)


def test_python_numbers_do_not_widen_floats():
    x = T.fvector()
    assert (x + 1).dtype == (1 + x).dtype == (x * 1.5).dtype == "float32"
    assert (x * 0.1).dtype == "float64"
    with config.use(floatX="float32"):
        assert (x * 0.1).dtype == "float32"
        assert (T.vector() / 3).dtype == "float32"


def test_constants_take_the_smallest_dtype():
    kinds = {1: "int8", 300: "int16", 70000: "int32", 2**40: "int64", 1.5: "float32"}
    for value, dtype in kinds.items():
        assert T.constant(value).dtype == dtype
    assert T.constant(0.1).dtype == "float64"
    assert T.constant(2**63).dtype == "uint64"
    assert T.constant([1, 2]).dtype == "int64"
    assert T.constant(1, dtype="floatX").dtype == "float64"
    assert T.constant(1.0, ndim=2).broadcastable == (True, True)


def test_int32_with_float32_is_float64_unless_the_policy_says_otherwise():
    x, y = T.ivector(), T.fvector()
    assert (x + y).dtype == "float64"
    with config.use(floatX="float32", cast_policy="numpy+floatX"):
        assert (x + y).dtype == "float32"
        sum_ = x + y
        a, b = np.array([1, 2], "i4"), np.array([0.5, 1], "f4")
        np.testing.assert_array_equal(evaluate(sum_, {x: a, y: b}), a + b)
        assert (x + T.dvector()).dtype == "float64"


def test_the_quotient_of_integers_is_floatx():
    x, y = T.ivector(), T.ivector()
    assert (x / y).dtype == "float64"
    assert (x // y).dtype == "int32"
    with config.use(floatX="float32"):
        assert (x / y).dtype == "float32"


def test_operators_mean_what_python_says():
    x, y = T.lvector("x"), T.lvector("y")
    a, b = np.array([7, -7, 5]), np.array([2, 3, -2])
    for sign in ["+", "-", "*", "//", "%", "&", "|", "^", "<", "<=", ">", ">="]:
        found = evaluate(eval(f"x {sign} y"), {x: a, y: b})
        np.testing.assert_array_equal(found, eval(f"a {sign} b"), err_msg=sign)
        found = evaluate(eval(f"5 {sign} y"), {y: b})
        np.testing.assert_array_equal(found, eval(f"5 {sign} b"), err_msg=sign)
    for text in ("-{}", "~{}", "abs({})", "+{}", "{} << 2", "{} >> 1", "{} ** 2"):
        found = evaluate(eval(text.format("x")), {x: a})
        np.testing.assert_array_equal(found, eval(text.format("a")))
    quotient, rest = divmod(x, y)
    np.testing.assert_array_equal(evaluate(quotient * y + rest, {x: a, y: b}), a)


def test_a_numpy_array_on_the_left_leaves_the_operator_to_the_variable():
    x = T.dvector()
    total = np.arange(3.0) + x
    assert total.type == x.type
    np.testing.assert_array_equal(evaluate(total, {x: np.ones(3)}), [1, 2, 3])


def test_equality_of_variables_is_identity():
    x, y = T.vector("x"), T.vector("y")
    assert x == x
    assert x != y
    assert y not in [x]
    assert T.eq(x, y).dtype == "bool"


def test_a_row_or_col_repeats_and_a_matrix_of_one_row_does_not():
    m, r, one = T.dmatrix(), T.drow(), T.dmatrix()
    a, b = f64(3, 4), f64(1, 4)
    np.testing.assert_array_equal(evaluate(m + r, {m: a, r: b}), a + b)
    with pytest.raises(ValueError, match="Input dimension mis-match"):
        evaluate(m + one, {m: a, one: b})


def test_every_row_is_a_function_of_the_namespace():
    for name in SCALARS:
        assert callable(getattr(T, name))
    for alias in (
        "sqr",
        "inv",
        "neg",
        "pow",
        "abs_",
        "and_",
        "or_",
        "invert",
        "sgn",
        "neq",
        "switch",
    ):
        assert callable(getattr(T, alias))
    assert T.vector().exp().owner.op == Elemwise(SCALARS["exp"])


def test_constructors_make_variables_of_every_dtype_and_pattern():
    assert T.scalar().type == T.TensorType("float64", ())
    assert T.vector("x", dtype="float16").dtype == "float16"
    for prefix, dtype in PREFIXES.items():
        for kind, pattern in PATTERNS.items():
            variable = getattr(T, prefix + kind)("v")
            assert variable.type == T.TensorType(dtype, pattern)
            assert variable.name == "v"
    assert [v.name for v in T.dmatrices("ab")] == ["a", "b"]
    assert [v.name for v in T.vectors("first", "second")] == ["first", "second"]
    assert len(T.iscalars(3)) == 3
    with config.use(floatX="float32"):
        assert T.matrix().dtype == "float32"


def test_constructors_of_a_fixed_dtype_are_types():
    for prefix, dtype in PREFIXES.items():
        for kind, pattern in PATTERNS.items():
            made = getattr(T, prefix + kind)
            assert isinstance(made, T.TensorType)
            assert made == T.TensorType(dtype, pattern)
            assert pickle.loads(pickle.dumps(made)) == made
    x = T.dvector("x")
    assert x.type == T.dvector
    assert x.type != T.fvector
    assert hash(x.type) == hash(T.dvector)
    assert repr(T.dvector) == "TensorType(float64, vector)"
    assert T.dvector().name is None
    assert T.dvector(name="y").name == "y"
    assert T.TensorType("float64", (False,))("x").type == T.dvector
    assert (T.drow.ndim, T.drow.dtype, T.drow.broadcastable) == (
        *(2, "float64"),
        (True, False),
    )


@pytest.mark.parametrize("make", [T.dvector, T.vector, T.TensorType("int8", ())])
def test_the_name_of_a_variable_is_a_string(make):
    with pytest.raises(TypeError, match="the name is 3, expected a string"):
        make(3)


def test_a_type_makes_variables_constants_and_zeros():
    assert T.dvector.make_variable("x").name == "x"
    one = T.dvector.make_constant([1, 2], name="one")
    assert (one.type, one.name, list(one.data)) == (T.dvector, "one", [1.0, 2.0])
    zeros = T.fmatrix.value_zeros((2, 3))
    assert (zeros.dtype, zeros.shape, zeros.any()) == (np.float32, (2, 3), False)
    assert T.fscalar.is_valid_value(np.float32(1))
    assert not T.fscalar.is_valid_value(1.0)
    assert not T.fvector.is_valid_value(np.float32(1))


def test_a_type_filters_values_as_theanos_does():
    value = np.zeros(3, np.float32)
    assert T.fvector.filter(value) is value
    assert T.fvector.filter(value, True) is value
    assert T.fvector.filter([1, 2], strict=False).dtype == np.float32
    with pytest.raises(TypeError, match="strict"):
        T.fvector.filter(np.zeros(3), strict=True)
    with pytest.raises(TypeError, match="float64"):
        T.fvector.filter(np.zeros(3))
    assert T.fvector.filter(np.zeros(3), allow_downcast=True).dtype == np.float32


def test_a_composite_checks_what_it_reads():
    with pytest.raises(GraphValueError, match="reads"):
        Composite(("float32",), (CompositeStep("exp", (1,), "float32"),), (1,))
    with pytest.raises(GraphValueError, match="no row"):
        Composite(("float32",), (CompositeStep("nonsense", (0,), "float32"),), (1,))


def test_a_composite_prints_as_a_formula():
    mul, add = (
        CompositeStep("mul", (0, 0), "float32"),
        CompositeStep("add", (1, 1), "float32"),
    )
    composite = Composite(("float32",), (mul, add), (2,))
    assert str(Elemwise(composite)) == (
        "Elemwise{Composite{t0 = (i0 * i0); (t0 + t0)}}"
    )
    assert str(Elemwise(SCALARS["exp"])) == "Elemwise{exp,no_inplace}"
    assert str(Elemwise(SCALARS["exp"], {0: 0})) == "Elemwise{exp}[(0, 0)]"
    assert str(Elemwise(Cast("float32"))) == "Elemwise{Cast{float32}}"


def test_an_inplace_op_overwrites_its_input():
    x = T.fvector("x")
    op = Elemwise(SCALARS["exp"], {0: 0})
    assert op.destroy_map == {0: [0]}
    node = op.make_node(x)
    value = f32(3)
    expected = np.exp(value)
    (result,) = op.evaluate(node, [value])
    assert result is value
    np.testing.assert_array_equal(value, expected)
    with pytest.raises(GraphTypeError, match="overwrite"):
        Elemwise(SCALARS["add"], {0: 0})(T.fvector(), T.fmatrix())


def test_a_user_op_needs_infer_and_reference_only():
    class Double(T.math.core.Op):
        __props__ = ()

        def infer(self, x):
            return x

        def reference(self, x):
            return 2 * x

    x = T.dvector()
    np.testing.assert_array_equal(evaluate(Double()(x), {x: np.ones(3)}), [2, 2, 2])


def test_a_user_op_in_theanos_style_runs():
    from gpuarray.compiler import Apply, Op

    class DoubleOp(Op):
        def __eq__(self, other):
            return type(self) is type(other)

        def __hash__(self):
            return hash(type(self))

        def __str__(self):
            return self.__class__.__name__

        def make_node(self, x):
            x = T.as_tensor_variable(x)
            return Apply(self, [x], [x.type()])

        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = inputs[0] * 2

        def grad(self, inputs, output_gradients):
            return [output_gradients[0] * 2]

    x = T.matrix()
    a = np.random.default_rng(0).random((5, 5))
    out = DoubleOp()(x)
    np.testing.assert_array_equal(evaluate(out, {x: a}), 2 * a)
    np.testing.assert_array_equal(evaluate(T.grad(out.sum(), x), {x: a}), 2 + 0 * a)


def test_complex_numbers_are_not_cast_to_real_ones():
    z = T.zvector("z")
    for dtype in ("float64", "float32", "int8", "floatX"):
        with pytest.raises(TypeError, match=r"cast: given z .* take real"):
            T.cast(z, dtype)
        with pytest.raises(TypeError, match="take real"):
            z.astype(dtype)
    assert T.cast(z, "complex64").dtype == "complex64"
    assert T.cast(T.fvector(), "complex64").dtype == "complex64"
