"""What elementwise ops say of themselves: one, fused ones, several at once."""

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from evaluate import evaluate
from gpuarray.compiler.gpukernels.multi_tensor.lowering import shape_of
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.custom import own
from gpuarray.compiler.ops.elemwise.elemwise import (
    Cast,
    Composite,
    Elemwise,
    formula,
)
from gpuarray.compiler.ops.fused.multi_tensor import MappedTotal, MultiTensor, Part
from gpuarray.scalars import SCALARS
from program_parts import F4, row

# ---- several tensors at once ----

DOUBLED = Composite((F4, F4), (row("mul", 0, 1),), (2,))
TOTAL = MappedTotal(DOUBLED, (False, True), "add", 1, F4, F4)
ADDED = Composite((F4, F4), (row("add", 0, 1),), (2,))


def test_parts_of_several_tensors_say_what_they_read():
    plain, summed = Part(DOUBLED, (False, True)), Part(ADDED, (False, False), TOTAL)
    one = Part(ADDED, (False, True), TOTAL)
    assert plain.given == (F4, F4) and summed.given == (F4, F4, F4)
    assert [plain.is_own(i) for i in (0, 1)] == [True, False]
    assert [summed.is_own(i) for i in (0, 1, 2)] == [False, False, True]
    assert [one.is_own(i) for i in (0, 1, 2)] == [False, False, False]
    assert plain.split("ab") == ("", "ab") and summed.split("abc") == ("ab", "c")
    assert summed.statements("abc") == ([], ["(sum((a * b)) + c)"])
    assert plain.statements("ab") == ([], ["(a * b)"])
    assert str(summed) == (
        "Composite{(i0 + i1)} of Sum of Composite{(i0 * i1)}"
    ) and " of " not in str(plain)
    assert hash(plain) == hash(Part(DOUBLED, (False, True)))
    assert plain != Part(DOUBLED, (True, False))
    matrix = MappedTotal(DOUBLED, (False, False), "add", 1, F4, F4, (False, True))
    assert matrix.is_product and not TOTAL.is_product
    assert matrix.is_part == (False, True) and TOTAL.is_part == (False, True)
    assert TOTAL.reduce().axes == (0,) and TOTAL.reduce().of_none


def test_several_tensors_are_computed_each_of_its_own_inputs():
    op = MultiTensor([Part(DOUBLED, (False, True)), Part(ADDED, (False, False), TOTAL)])
    x, two = T.fmatrix("x"), T.fscalar("two")
    y, v = T.fmatrix("y"), T.fvector("v")
    node = op.make_node(x, two, y, two, v)
    assert [out.type.ndim for out in node.outputs] == [2, 1]
    shapes = [(2, 3), (), (4, 5), (), (5,)]
    assert op.infer_shape(node, shapes) == [(2, 3), (5,)]
    a, b = np.ones((2, 3), F4), np.ones((4, 5), F4)
    w = np.arange(5, dtype=F4)
    half = np.float32(0.5)
    first, second = op.evaluate(node, [a, half, b, half, w])
    assert first.tolist() == (a / 2).tolist() and second.tolist() == (w + 2).tolist()
    again = op.reference(a, half, b, half, w)
    assert [each.tolist() for each in again] == [first.tolist(), second.tolist()]
    parts_ = dict(zip((x, two, y, v), (a, half, b, w), strict=True))
    for made, told in zip(op.unfold([x, two, y, two, v]), (first, second), strict=True):
        assert evaluate(made, parts_).tolist() == told.tolist()
    for output, index, may in (
        (0, 0, True),
        (0, 1, False),
        (0, 2, False),
        (0, 4, False),
        (1, 0, False),
        (1, 2, False),
        (1, 3, False),
        (1, 4, True),
        (2, 4, False),
    ):
        assert op.may_overwrite(output, index) == may, (output, index)
    over = MultiTensor(op.parts, {1: 4, 0: 0})
    assert over.inplace_items == ((0, 0), (1, 4)) and over != op
    assert over.destroy_map == {1: [4], 0: [0]}
    results = over.evaluate(node, [a, half, b, half, w])
    assert results[0] is a and results[1] is w and w.tolist() == [2, 3, 4, 5, 6]
    assert str(over).endswith("[(0, 0), (1, 4)]") and str(op)[-1] == "}"
    with pytest.raises(TypeError, match="float64"):
        op.make_node(T.dmatrix(), two, y, two, v)
    pair = MultiTensor([Part(ADDED, (False, False))])
    with pytest.raises(ValueError, match=r"\(2, 3\) and \(3, 2\)"):
        pair.evaluate(pair.make_node(x, y), [a, np.ones((3, 2), F4)])


def test_shapes_of_several_tensors_fit_their_totals():
    null = gpuarray.context("null")

    def array(*shape):
        return gpuarray.zeros(shape, F4, context=null)

    plain, summed = Part(ADDED, (False, False)), Part(ADDED, (False, False), TOTAL)
    both = Part(
        ADDED, (False, False), MappedTotal(DOUBLED, (False, False), "add", 1, F4, F4)
    )
    number = array()
    for part, given, told in (
        (plain, [array(2, 3), array(2, 3)], (2, 3)),
        (plain, [array(2, 3), array(3, 2)], None),
        (summed, [array(4, 5), number, array(5)], (5,)),
        (summed, [array(4, 5), number, array(4)], None),
        (both, [array(4, 5), array(4, 5), array(5)], (5,)),
        (both, [array(4, 5), array(3, 5), array(5)], None),
    ):
        if told is not None:
            assert shape_of(part, given) == told
            continue
        with pytest.raises(ValueError, match="Input dimension mis-match"):
            shape_of(part, given)


# ---- single rows ----


def test_rows_read_as_formulas():
    for op, texts, told in (
        ("add", "ab", "(a + b)"),
        ("neg", "a", "(-a)"),
        ("exp", "a", "exp(a)"),
        ("maximum", "ab", "maximum(a, b)"),
        ("cast", "a", "Cast{int8}(a)"),
    ):
        assert formula(op, texts, "int8") == told
    twice = Composite(
        (F4,), (row("exp", 0), row("mul", 1, 1), row("add", 2, 1)), (3, 2)
    )
    assert twice.statements(["x"]) == (
        ["t0 = exp(x)", "t1 = (t0 * t0)"],
        ["(t1 + t0)", "t1"],
    )
    assert (twice.arity, twice.output_dtypes) == (1, (F4, F4))
    assert [twice.value_dtype(v) for v in range(4)] == [F4] * 4


def test_some_rows_are_called_by_their_name_alone():
    class Sub(Elemwise):
        pass

    for kind, row_name, places, told in (
        (Elemwise, "sigmoid", {}, "sigmoid"),
        (Elemwise, "tanh", {}, "Elemwise{tanh,no_inplace}"),
        (Sub, "sigmoid", {}, "Sub{sigmoid,no_inplace}"),
        (Elemwise, "sigmoid", {0: 0}, "Elemwise{sigmoid}[(0, 0)]"),
    ):
        assert str(kind(SCALARS[row_name], places)) == told


def test_an_elementwise_op_checks_what_it_is_given():
    composite = Elemwise(DOUBLED)
    for op, given, fact in (
        (composite, (T.dvector(), T.fvector()), "given float64, float32, expected"),
        (composite, (T.fvector(),), "given 1 operands, expected 2"),
        (Elemwise(Cast("int8")), (T.fvector(), T.fvector()), "given 2 operands"),
        (
            Elemwise(SCALARS["add"], {0: 1}),
            (T.fvector(), TensorType(F4, (True,))()),
            "overwrite",
        ),
        (Elemwise(SCALARS["add"], {0: 0}), (T.fvector(), T.dvector()), "overwrite"),
        (Elemwise(SCALARS["lt"], {0: 0}), (T.fvector(), T.fvector()), "overwrite"),
    ):
        with pytest.raises((TypeError, ValueError), match=fact):
            op(*given)
    for wrong, fact in (
        ((row("exp", 2),), r"step 0 \(exp\) reads \(2,\), but only the 2 values"),
        ((row("exp", -1),), r"step 0 \(exp\) reads"),
        ((row("exp", 1), row("exp", 3)), r"step 1 \(exp\) reads \(3,\)"),
        ((row("none", 0),), "no row is named 'none'"),
    ):
        with pytest.raises(ValueError, match=fact):
            Composite((F4, F4), wrong, (0,))
    Composite((F4, F4), (row("exp", 1), row("exp", 2)), (3,))
    several = Elemwise(Composite((F4,), (row("exp", 0),), (1, 0)))
    made = several.reference(np.zeros(2, F4))
    assert isinstance(made, tuple) and [each.tolist() for each in made] == [
        [1, 1],
        [0, 0],
    ]
    assert isinstance(composite.reference(np.zeros(2, F4), np.ones(2, F4)), np.ndarray)


# ---- operations of a program's own ----


def test_operations_of_a_programs_own_are_found_by_their_names(monkeypatch):
    monkeypatch.setattr(own, "OWN", {})
    for called, expression in (
        ("plain", "{0} * 2"),
        ("calls", "fancy({0}) + log({0})"),
    ):
        own.OWN[called] = own.Own(called, expression, "", len, len, f"{called}.py:1")
    for label, text, told in (
        ("exp", "", []),
        ("plain", "", ["plain (plain.py:1)"]),
        ("exp+plain", "", ["plain (plain.py:1)"]),
        ("exp", "x * 2", []),
        ("exp", "t0 = fancy(x) + log(x);", ["calls (calls.py:1)"]),
        ("exp", "t0 = fancy(x);", []),
        ("calls", "", ["calls (calls.py:1)"]),
    ):
        assert own.own_within(label, text) == told


def test_what_a_function_does_tells_it_from_others():
    def made(k, scale=2.0):
        def function(x, power=scale):
            return x * k**power

        return function

    assert own.meaning_of(made(1)) == own.meaning_of(made(1))
    assert own.meaning_of(made(1)) != own.meaning_of(made(2))
    assert own.meaning_of(made(1)) != own.meaning_of(made(1.0))
    assert own.meaning_of(made(1)) != own.meaning_of(made(1, 3.0))
    values = [1], [1]
    assert own.meaning_of(made(values[0])) != own.meaning_of(made(values[1]))
    assert own.meaning_of(made(values[0])) == own.meaning_of(made(values[0]))
    assert own.meaning_of(np.exp) == own.meaning_of(np.exp) != own.meaning_of(np.log)
    twins = eval("lambda x: [y for y in x]"), eval("lambda x: [y for y in x]")
    assert own.meaning_of(twins[0]) == own.meaning_of(twins[1])
    assert own.meaning_of(lambda x: x.a) != own.meaning_of(lambda x: x.b)
    assert own.meaning_of(lambda x: x + 1) != own.meaning_of(lambda x: x + 2)
    one = own.Own("f", "x", "", made(1), made(1), "a:1")
    assert one.is_same(one._replace(place="b:2"))
    for field, value in (
        ("called", "g"),
        ("expression", "y"),
        ("support", "s"),
        ("reference", made(2)),
        ("gradient", made(2)),
    ):
        assert not one.is_same(one._replace(**{field: value}))


def test_a_reference_is_computed_in_the_dtype_that_its_operands_have_in_common():
    seen = []

    def reference(*operands):
        seen.append([each.dtype.name for each in operands])
        return sum(operands)

    computed = own.in_common_dtype(reference)
    half, single = np.ones(2, "float16"), np.ones(2, "float32")
    assert computed(half, half).dtype == "float16"
    assert computed(half, single, np.ones(2)).dtype == "float64"
    assert seen == [["float32"] * 2, ["float64"] * 3]
    assert own.with_suffix("_2", "f({0})", "") == ("f({0})", "")
    assert own.row_text("1.5 + x1 * 2 - .5e3 * x", ["x", "x1"]) == (
        "1.5{f} + {1} * 2 - .5e3{f} * {0}"
    )
    for text, fact in (
        ("#pragma once", "only '#pragma unroll'"),
        ("#include <a>", "only '#pragma unroll'"),
        ('_Pragma("once")', "only '#pragma unroll'"),
        ("#define A 1", "expected '#undef A' behind it"),
        ("#undef A", "expected '#define A' before it"),
    ):
        with pytest.raises(ValueError, match=fact):
            own.refuse_directives("x", text)
    own.refuse_directives("x", '#pragma unroll\n_Pragma("unroll 4")\n')
    own.refuse_directives("x", "#define A 1\nA\n#undef A")
