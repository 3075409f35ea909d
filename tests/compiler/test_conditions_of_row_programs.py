"""What programs of rows say of themselves, and their operands, without a kernel."""

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from evaluate import evaluate
from gpuarray.compiler.executor import NativePlan
from gpuarray.compiler.gpukernels.bodies import Steps
from gpuarray.compiler.gpukernels.rows.body import rowwise_steps
from gpuarray.compiler.gpukernels.rows.operands import Operands
from gpuarray.compiler.gpukernels.rows.product import product_of
from gpuarray.compiler.gpukernels.rows.values import divisors, is_share, reached
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.elemwise.elemwise import (
    CompositeStep,
)
from gpuarray.compiler.ops.fused.row_steps import (
    CELL,
    COLUMN,
    COUNT,
    FEW,
    LENGTH,
    ROW,
    TABLE,
    At,
    Head,
    Line,
    Place,
    Taken,
    Total,
    Within,
)
from gpuarray.compiler.ops.fused.rowwise import Program, Rowwise
from gpuarray.compiler.plan import ArrayValue, IntValue
from program_parts import COL, F4, F8, ROW_, X, fold, row

# ---- programs of rows ----


@pytest.mark.parametrize("operands", [(0, 1), (1, 0), (0, -1), (-1, 0), (3, 3)])
def test_a_step_reads_what_was_there_before(operands):
    wanted = (
        rf"step 0 \(add\) reads \({operands[0]}, {operands[1]}\), but only the 1 values"
    )
    with pytest.raises(ValueError, match=wanted):
        Program((X,), (row("add", *operands),), (1,))
    Program((X, X, X, X), (row("add", *map(abs, operands)),), (4,))


SUMS = Program((X, COL), (row("mul", 0, 1), fold("add", 2), row("tanh", 3)), (4,))


@pytest.mark.parametrize(
    ("program", "is_product"),
    [
        (SUMS, True),
        (Program((COL, X), (row("mul", 1, 0), fold("add", 2)), (3,)), True),
        (Program((X, X), (row("mul", 0, 1), fold("add", 2)), (3,)), False),
        (Program((COL, COL), (row("mul", 0, 1), fold("add", 2)), (3,)), False),
        (Program((X, COL), (row("add", 0, 1), fold("add", 2)), (3,)), False),
        (Program((X, COL), (row("mul", 0, 1), fold("maximum", 2)), (3,)), False),
        (Program((X, COL), (row("mul", 0, 1), fold("add", 2)), (3, 2)), False),
        (
            Program(
                (X, COL), (row("mul", 0, 1), fold("add", 2), fold("add", 2)), (3, 4)
            ),
            False,
        ),
        (Program((X,), (row("mul", 0, 0), fold("add", 1)), (2,)), False),
        (Program((X, COL), (row("mul", 0, 0), fold("add", 2)), (3,)), False),
        (
            Program((X, COL, X), (row("mul", 0, 1), fold("add", 3)), (4,)),
            False,
        ),
        (
            Program(
                (X, COL),
                (row("mul", 0, 1), fold("add", 2)),
                (3,),
                (Total("add", 0, F4, F4),),
            ),
            False,
        ),
        (Program((X,), (row("exp", 0), row("exp", 1), fold("add", 2)), (3,)), False),
    ],
)
def test_a_product_is_all_that_a_program_does_with_elements(program, is_product):
    found = product_of(program)
    assert (found is not None) == is_product
    if found is not None:
        assert {program.inputs[v][1] for v in found.operands} == {CELL, COLUMN}
        assert program.inputs[found.matrix][1] == CELL


def test_the_rest_of_a_product_reads_its_results():
    inputs = (ROW_, X, (F4, ROW), COL)
    steps = (
        row("exp", 0),
        row("mul", 1, 3),
        fold("add", 5),
        row("add", 6, 4),
        row("mul", 7, 2),
    )
    product = product_of(Program(inputs, steps, (8, 7)))
    assert product.operands == (1, 3)
    assert str(product.rest) == "{((i2 + exp(i0)) * i1), (i2 + exp(i0))}"
    options = product.without(("array", "array", "1.0f", "array"), (0, -1))
    assert options["sources"] == ("array", "1.0f", "array")
    assert options["over"] == (0, -1)
    assert product.rest.inputs == (ROW_, (F4, ROW), (F4, ROW))


def test_quotients_by_what_all_of_a_row_have():
    def found(by, dtype=F4, op="true_div", operands=None, inputs=(X, ROW_, COL)):
        step = CompositeStep(op, operands or (0, by), dtype)
        return divisors(Program(inputs, (step,), (len(inputs),)))

    assert found(1) == {3: 1}
    assert found(2) == {}
    assert found(0) == {}
    assert found(1, F8) == {}
    assert found(1, op="mul") == {}
    assert found(1, operands=(1, 1)) == {}
    assert found(1, inputs=((F8, CELL), ROW_)) == {}
    assert found(1, inputs=(X, (F8, ROW))) == {}
    program = Program((X, ROW_), (fold("add", 0), row("true_div", 0, 2)), (3,))
    assert divisors(program) == {3: 2}


def test_shares_are_one_by_a_whole_number():
    def shares(steps, inputs=(("int64", LENGTH),)):
        program = Program(inputs, steps, (len(inputs) + len(steps) - 1,))
        return [is_share(program, v) for v in range(len(program.dtypes))]

    cast, divided = row("cast", 0), row("reciprocal", 1)
    assert shares((cast, divided)) == [False, False, True]
    assert shares((cast, divided), (("uint32", ROW),)) == [False, False, True]
    assert shares((cast, divided), ((F8, ROW),)) == [False, False, False]
    assert shares((cast, divided), (("bool", ROW),)) == [False, False, False]
    wide = row("cast", 0, dtype=F8), row("reciprocal", 1, dtype=F8)
    assert shares(wide) == [False, False, False]
    assert shares((wide[0], divided)) == [False, False, False]
    assert shares((cast, row("sqrt", 1))) == [False, False, False]
    assert shares((row("reciprocal", 0), row("cast", 1))) == [False, False, False]
    assert shares((row("cast", 0), fold("add", 1))) == [False, False, False]


def test_which_elements_are_computed_for_others():
    steps = (row("exp", 0), row("add", 2, 1), fold("add", 3), row("sub", 3, 4))
    program = Program((X, COL), steps, (5,))
    assert reached(program, [5], {0, 1}) == ({5, 3, 2}, {0, 1})
    assert reached(program, [5], {0, 1, 3}) == ({5}, {3})
    assert reached(program, [4], {0, 1}) == (set(), set())
    assert reached(program, [2], ()) == ({2, 0}, set())


def test_what_a_program_says_of_its_values():
    inputs = (X, ROW_, COL, ("int64", LENGTH), (F4, FEW), ("int64", COUNT))
    steps = (
        Place(3, "int64"),
        row("add", 0, 6),
        fold("maximum", 7),
        row("sub", 7, 8),
        row("add", 1, 8),
        Head(5),
        Within(1),
        At(9, 12, F4),
        fold("add", 9),
    )
    program = Program(inputs, steps, (9, 10), (Total("add", 9, F4, F4),))
    assert program.kinds[4] == ROW
    assert program.kinds[6:] == (
        *(COLUMN, CELL, ROW, CELL, ROW),
        *(ROW, ROW, ROW, ROW),
    )
    assert program.levels == (*(0,) * 8, 1, 1, 1, 0, 0, 1, 2)
    assert list(program.folds) == [8, 14]
    assert program.wanted == (9, 9)
    assert program.reports and not SUMS.reports
    assert program.storing().outputs == (9, 10) and program.storing().totals == ()
    other = Program(inputs, steps, (10,), program.totals)
    assert other.storing().outputs == (10, 9)
    of_input = Program((X,), (fold("add", 0),), (1,), (Total("add", 0, F4, F4),))
    assert of_input.storing().outputs == (1,)
    for wrong in ((row("exp", 3),), (row("exp", -1),), (row("exp", 0), row("exp", 3))):
        with pytest.raises(
            ValueError, match=r"step \d \(exp\) reads \(-?\d,\), but only"
        ):
            Program((X, ROW_), wrong, (0,))
    Program((X, ROW_), (row("exp", 1), row("exp", 2)), (0,))
    twin = Program(inputs, steps, (9, 10), (Total("add", 9, F4, F4),))
    assert twin == program and hash(twin) == hash(program)
    assert Program(inputs, steps, (9, 10)) != program


def test_a_row_op_takes_what_it_was_made_for():
    add = Program((X, ROW_, COL), (row("add", 0, 1), row("mul", 3, 2)), (4,))
    x, r, c = (
        TensorType(F4, flags)()
        for flags in ((False,) * 2, (False, True), (True, False))
    )
    op = Rowwise(add)
    assert op(x, r, c).type.broadcastable == (False, False)
    assert op(T.fcol(), r, c).type.broadcastable == (False, False)
    assert op(T.fcol(), r, T.patternbroadcast(c, (True, True))).broadcastable == (
        *(False, True),
    )
    with pytest.raises(TypeError, match="given float64, float32, float32, expected"):
        op(T.dmatrix(), r, c)
    assert op != Rowwise(add, {0: 0}) and op == Rowwise(add)
    assert str(Rowwise(add, {0: 0})).endswith("[(0, 0)]") and str(op)[-1] == "}"
    assert Rowwise(add, {0: 0}).destroy_map == {0: [0]}
    assert op.may_overwrite(0, 0) and not op.may_overwrite(0, 1)
    assert not op.may_overwrite(1, 0)
    totals = Program((X,), (row("exp", 0),), (1,), (Total("add", 0, F4, F4),))
    assert not Rowwise(totals).may_overwrite(0, 0)
    node = Rowwise(totals).make_node(x)
    assert [out.type.broadcastable for out in node.outputs] == [
        *((False, False), (True, False))
    ]
    assert node.op.infer_shape(node, [(3, 4)]) == [(3, 4), (1, 4)]
    sums = Rowwise(Program((X, COL), SUMS.steps, (4,))).make_node(x, c)
    assert sums.op.infer_shape(sums, [(3, 4), (1, 4)]) == [(3, 1)]
    wide = Rowwise(add).make_node(T.frow(), r, c)
    assert wide.op.infer_shape(wide, [(1, 4), (3, 1), (1, 4)]) == [(3, 4)]
    a, b, d = (np.full(s, 2, F4) for s in ((3, 4), (3, 1), (1, 4)))
    given = a.copy()
    (made,) = Rowwise(add, {0: 0}).evaluate(None, [given, b, d])
    assert made is given and made.tolist() == np.full((3, 4), 8.0).tolist()


def test_places_and_tables_with_numpy():
    inputs = (("int64", ROW), (F4, TABLE))
    steps = (Line(0, 1), Taken(1, 2, F4), fold("add", 3))
    program = Program(inputs, steps, (3, 4))
    table = np.arange(6, dtype=F4).reshape(3, 2)
    places = np.array([[2], [0], [-1], [1]])
    taken, sums = program.evaluate([places, table])
    assert taken.tolist() == table[[2, 0, -1, 1]].tolist()
    assert sums.tolist() == table[[2, 0, -1, 1]].sum(1, keepdims=True).tolist()
    p, t = TensorType("int64", (False, True))(), T.fmatrix()
    for made, told in zip(program.unfold([p, t]), (taken, sums), strict=True):
        assert evaluate(made, {p: places, t: table}).tolist() == told.tolist()
    for wrong in (3, -4):
        with pytest.raises(IndexError):
            program.evaluate([places * 0 + wrong, table])
    node = Rowwise(program).make_node(p, t)
    assert [out.type.broadcastable for out in node.outputs] == [
        *((False, False), (False, True))
    ]
    assert node.op.infer_shape(node, [(4, 1), (3, 2)]) == [(4, 2), (4, 1)]


@pytest.mark.parametrize("shape", [(2, 4), (2, 3, 4)])
def test_an_element_of_each_row_with_numpy(shape):
    program = Program((X, ("int64", ROW)), (Within(1), At(0, 2, F4)), (3,))
    given = np.arange(np.prod(shape), dtype=F4).reshape(shape)
    places = np.arange(np.prod(shape[:-1])).reshape(*shape[:-1], 1) % 4
    (found,) = program.evaluate([given, places])
    assert found.tolist() == np.take_along_axis(given, places, -1).tolist()


# ---- operands ----


def value_of(given, kind):
    """What a plan knows of an input of a kind."""
    if isinstance(given, int):
        return IntValue()
    outer = (kind == COLUMN,) * (given.ndim - 1)
    return ArrayValue(str(given.dtype), (*outer, kind == ROW))


def ran(program, given, context):
    """The outputs by a body of steps, on a context."""
    sources = tuple("int" if isinstance(x, int) else "array" for x in given)
    values = [
        value_of(x, kind) for x, (_, kind) in zip(given, program.inputs, strict=True)
    ]
    s, over = Steps(values, []), (-1,) * len(program.outputs)
    places = range(len(given))
    made = rowwise_steps(s, *places, program=program, sources=sources, over=over)
    native = NativePlan(s.plan("rows", made), context)
    listed = [x if isinstance(x, int) else gpuarray.asarray(x) for x in given]
    return [np.asarray(result) for result in native.run(listed)]


def ones(*shape, dtype=F4):
    return np.ones(shape, dtype)


def test_inputs_of_rows_have_shapes_that_fit(first_context):
    add = row("add", 0, 1)
    program = Program((X, ROW_, COL, ("int64", LENGTH)), (add,), (4,))
    two, deep = Program((X, X), (add,), (2,)), Program((X, ROW_, COL), (add,), (3,))
    rows_ = Program((ROW_,), (row("exp", 0),), (1,))
    taking = Program(
        (("int64", ROW), (F4, TABLE), COL), (Line(0, 1), Taken(1, 3, F4)), (4,)
    )
    fits = [ones(3, 4), ones(3, 1), ones(1, 4), 4]
    taken = [np.zeros((5, 1), "i8"), ones(3, 2), ones(1, 2)]
    with gpuarray.context(first_context):
        for each, given, shape in (
            (program, fits, (3, 4)),
            (two, [fits[0], fits[0]], (3, 4)),
            (deep, [ones(2, 3, 4), ones(2, 3, 1), ones(1, 1, 4)], (2, 3, 4)),
            (rows_, [ones(3, 1)], (3, 1)),
            (taking, taken, (5, 2)),
        ):
            (found,) = ran(each, given, first_context)
            assert found.shape == shape
        for each, given, place, wrong, text in (
            (program, fits, 1, ones(3, 4), "axis 1 was declared broadcastable"),
            (program, fits, 1, ones(2, 1), "input 1 .* axis 0 .* 2, expected 3"),
            (program, fits, 2, ones(1, 3), "input 2 .* axis 1 .* 3, expected 4"),
            (program, fits, 2, ones(3, 4), "axis 0 was declared broadcastable"),
            (program, fits, 3, 5, "mis-match: places in rows up to 5, expected 4"),
            (two, fits[:1] * 2, 1, ones(2, 4), "mis-match: .* 2, expected 3"),
            (taking, taken, 2, ones(1, 3), "input 2 .* axis 1 .* 3, expected 2"),
        ):
            given = [*given[:place], wrong, *given[place + 1 :]]
            with pytest.raises(ValueError, match=text):
                ran(each, given, first_context)
        counted = Program((X, ("int64", COUNT)), (Head(1),), (2,))
        ran(counted, [ones(3, 4), 3], first_context)
        with pytest.raises(IndexError, match="index 3 is out of bounds"):
            ran(counted, [ones(3, 4), 4], first_context)


def test_operands_of_rows_and_what_they_overwrite():
    program = Program((X, ROW_, X), (row("add", 0, 1), fold("add", 3)), (3, 4))
    whole, column = ArrayValue(F4, (False, False)), ArrayValue(F4, (False, True))
    s, sources = Steps([whole, column], []), ("array", "array", "2.0f")
    found = Operands.of(s, program, sources, (0, -1), [0, 1])
    assert found.numbers == (0, 1, None)
    assert found.overwritten == [0, None]
    assert found.of_kind(ROW) == [1]
    assert found.of_kind(CELL) == [0]
    assert found.rows(s) == found.shape[0]
    assert found.length == found.shape[1]
    late = Operands.of(s, program, ("array", "1.0f", "array"), (1, -1), [0, 0])
    assert late.overwritten == [2, None]
    cells = Program((X,), (row("exp", 0),), (0,), (Total("add", 1, F4, F4),))
    stored = Operands.of(s, cells, ("array",), (0, -1), [0]).storing()
    assert stored.program.outputs == (0, 1)
    assert stored.overwritten == [0, None]
