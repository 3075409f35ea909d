"""Sums over rows of what a row program computes: in its kernel, or after it."""

import pickle
from types import SimpleNamespace

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, grad
from gpuarray.compiler.gpukernels.rows import launch, lowering, persistent, totals
from gpuarray.compiler.gpukernels.rows.launch import Given, totals_form
from gpuarray.compiler.gpukernels.rows.operands import Operands
from gpuarray.compiler.gpukernels.rows.persistent import kept_block
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.elemwise.elemwise import CompositeStep
from gpuarray.compiler.ops.fused.rowwise import (
    CELL,
    COLUMN,
    Fold,
    Program,
    Rowwise,
    Total,
)

LENGTH = 2100
WHOLE = (False, False)


def layer_norm(x, gain, bias):
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = T.sqr(centred).mean(axis=-1, keepdims=True)
    return centred / T.sqrt(variance + 1e-3) * gain + bias


def with_gradients(x, upstream, gain, bias):
    y = layer_norm(x, gain, bias)
    return [y, *grad((y * upstream).sum(), [x, gain, bias])]


def by_hand(x, upstream, gain, bias):
    """The same in double precision."""
    x, upstream, gain, bias = (each.astype("f8") for each in (x, upstream, gain, bias))
    centred = x - x.mean(-1, keepdims=True)
    scale = 1 / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-3)
    unit, flowing = centred * scale, upstream * gain
    inner = flowing - flowing.mean(-1, keepdims=True)
    inner -= unit * (flowing * unit).mean(-1, keepdims=True)
    axes = tuple(range(x.ndim - 1))
    totals = (upstream * unit).sum(axes), upstream.sum(axes)
    return [unit * gain + bias, inner * scale, *totals]


def values(shape, dtype="float32"):
    rng = np.random.default_rng(0)
    shapes = (shape, shape, shape[-1:], shape[-1:])
    return [rng.normal(size=each).astype(dtype) for each in shapes]


def compiled(context, dtype="float32", ndim=2):
    whole = (False,) * ndim
    inputs = [
        TensorType(dtype, flags)(name)
        for name, flags in zip("xugb", (whole, whole, (False,), (False,)), strict=True)
    ]
    with config.use(device=str(context.name), floatX=dtype):
        return function(inputs, with_gradients(*inputs))


def program_of(f):
    """The row program of a function that has one call."""
    (found,) = [
        dict(step.options)["program"]
        for step in f.plan.steps
        if getattr(step, "function", "") == "rowwise"
    ]
    return found


@pytest.fixture
def forms(monkeypatch):
    """The forms of the kernels launched; always one launch, of however few rows."""
    found = []
    real = launch.kernel_of

    def kernel_of(program, form, context):
        found.append((form, bool(program.totals)))
        return real(program, form, context)

    monkeypatch.setattr(launch, "kernel_of", kernel_of)
    monkeypatch.setattr(lowering, "prefers_walks", lambda *_: False)
    monkeypatch.setattr(totals, "FEWEST_ROWS", 0)
    return found


@pytest.fixture(params=["local memory", "both", "registers"])
def way(request, monkeypatch):
    """Where totals so far are: of an item's first elements, or of all, in registers."""

    def own_elements(program, form, length, memory):
        own = {"local memory": 0, "both": form.pack, "registers": form.kept}
        return own[request.param]

    monkeypatch.setattr(launch, "own_elements", own_elements)
    return request.param


def is_close(found, expected, tolerance=1e-4):
    for ours, theirs in zip(found, expected, strict=True):
        ours = np.asarray(ours)
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, tolerance, tolerance)


@pytest.mark.parametrize("shape", [(70, 9), (1, 40), (0, 5), (3, 2, 6)])
def test_totals_of_what_is_stored(context, shape):
    f = compiled(context, ndim=len(shape))
    assert len(program_of(f).totals) == 2
    given = values(shape)
    with np.errstate(all="ignore"):
        is_close(f(*given), by_hand(*given))


@pytest.mark.oclgrind
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_totals_in_the_kernel(first_context, forms, way, dtype):
    f = compiled(first_context, dtype)
    given = values((9, LENGTH), dtype)
    tolerance = 1e-4 if dtype == "float32" else 2e-2
    found = f(*given)
    assert {total for _, total in forms} == {True}
    assert ways(forms[-1][0]) == way
    is_close(found, by_hand(*given), tolerance)
    for ours, again in zip(found, f(*given), strict=True):
        np.testing.assert_array_equal(np.asarray(ours), np.asarray(again))


def ways(form):
    """Where a form has totals."""
    if form.own == 0:
        return "local memory"
    return "both" if form.own < form.kept else "registers"


@pytest.mark.parametrize(
    ("length", "dtype", "pack"),
    [(4088, "float32", 4), (LENGTH + 1, "float32", 1), (LENGTH, "float64", 1)],
)
def test_totals_of_rows_of_any_length(first_context, forms, way, length, dtype, pack):
    given = values((5, length), dtype)
    is_close(compiled(first_context, dtype)(*given), by_hand(*given))
    form, has_totals = forms[-1]
    assert has_totals
    assert form.pack == pack
    assert ways(form) == way


def test_outputs_too_wide_for_packs(first_context, forms, way):
    x, g = TensorType("float32", (False, False))("x"), T.fvector("g")
    with config.use(device=str(first_context.name)):
        y = T.nnet.softmax(x) * g
        f = function([x, g], [T.cast(y, "float64"), y.sum(0)])
    host = np.random.default_rng(3).normal(size=(9, LENGTH)).astype("f4")
    scale = np.linspace(0, 1, LENGTH).astype("f4")
    wide, total = (np.asarray(each) for each in f(host, scale))
    expected = np.exp(host.astype("f8"))
    expected *= scale / expected.sum(1, keepdims=True)
    np.testing.assert_allclose(wide, expected, 1e-4, 1e-7)
    np.testing.assert_allclose(total, expected.sum(0), 1e-4, 1e-7)
    assert forms[-1][0].pack == 1
    assert ways(forms[-1][0]) == way


def test_totals_of_different_width(first_context, forms, way):
    x, g = TensorType("float32", (False, False))("x"), T.fvector("g")
    with config.use(device=str(first_context.name)):
        y = T.nnet.softmax(x) * g
        wide = T.cast(y, "float64").sum(0)
        f = function([x, g], [y * 2, y.sum(0), wide, (y > 1).any(0)])
    host = np.random.default_rng(3).normal(size=(9, LENGTH)).astype("f4")
    scale = np.linspace(0, 9999, LENGTH).astype("f4")
    _, *found = (np.asarray(each) for each in f(host, scale))
    expected = np.exp(host.astype("f8"))
    expected *= scale / expected.sum(1, keepdims=True)
    is_close(found, [expected.sum(0), expected.sum(0), (expected > 1).any(0)])
    assert forms[-1][1]
    assert ways(forms[-1][0]) == way


def test_totals_of_any_strides_and_axes(first_context, forms, way):
    f = compiled(first_context, ndim=3)
    x, u, gain, bias = values((2, 6, 2 * LENGTH))
    given = [x[:, ::2, ::2], u[:, ::-2, ::-2], gain[::2], bias[::-2]]
    is_close(f(*given), by_hand(*given))
    assert {total for _, total in forms} == {True}


def test_totals_without_room_are_in_registers(first_context, forms, monkeypatch):
    given = values((5, LENGTH))
    room = 8 * LENGTH + (1 << 10) + 4 * 256 * 4
    per_pack = 4 * 256 * 8  # of an item's elements
    for memory, own in (
        (room, 0),
        (room - 1, 4),
        (room - per_pack, 4),
        (room - per_pack - 1, 8),
        (room - 2 * per_pack, 8),
        (room - 2 * per_pack - 1, 12),
        (1, 12),
    ):
        monkeypatch.setattr(type(first_context), "local_memory", memory)
        is_close(compiled(first_context)(*given), by_hand(*given))
        form, has_totals = forms[-1]
        assert has_totals
        assert (form.kept, form.own) == (12, own)


def test_totals_without_registers_are_of_what_is_stored(
    first_context, forms, monkeypatch
):
    given = values((5, LENGTH))
    monkeypatch.setattr(type(first_context), "local_memory", 1)
    packed, single = (4 * kept + persistent.OTHERS for kept in (12, 9))
    for most, kept in ((packed, 12), (packed - 1, 9), (single, 9), (single - 1, 0)):
        monkeypatch.setattr(persistent, "MOST", most)
        is_close(compiled(first_context)(*given), by_hand(*given))
        form, has_totals = forms[-1]
        assert has_totals == (kept > 0)
        assert form.own == kept


def test_totals_of_long_rows_with_little_local_memory(
    first_context, forms, monkeypatch
):
    monkeypatch.setattr(type(first_context), "local_memory", 48 << 10)
    given = values((3, 16384))
    is_close(compiled(first_context)(*given), by_hand(*given))
    form, has_totals = forms[-1]
    assert has_totals
    assert (form.kept, form.lanes, form.own, form.pack) == (64, 256, 44, 4)


def test_where_totals_are_by_length_and_local_memory():
    fold = Fold("add", 0, "float32", "float32")
    steps = (fold, CompositeStep("sub", (0, 1), "float32"))
    totals = tuple(Total("add", value, "float32", "float32") for value in (2, 0))
    program = Program((("float32", CELL),), steps, (2,), totals)

    def chosen(length, memory):
        row = SimpleNamespace(
            shape=(1, length), offset=0, strides=(4 * length, 4), dtype=np.dtype("f4")
        )
        context = SimpleNamespace(max_threads=1024, local_memory=memory << 10)
        given = Given([row], is_unit=True, rows=1 << 20, length=length)
        operands = Operands(
            program, ("array",), (-1,), [row], [None], (1 << 20, length), context
        )
        form = totals_form(operands, given)
        return form.kept, form.lanes, form.own

    few, much = (
        [chosen(n, memory) for n in (2048, 4096, 8192, 16384, 24576, 32768)]
        for memory in (48, 227)
    )
    assert few == [
        (0, 0, 0),
        (16, 256, 0),
        (32, 256, 12),
        (64, 256, 44),
        (0, 0, 0),
        (0, 0, 0),
    ]
    assert much == [
        (0, 0, 0),
        (16, 256, 0),
        (32, 256, 0),
        (64, 256, 0),
        (48, 512, 0),
        (128, 256, 16),
    ]


def test_items_keep_more_where_there_are_totals():
    fold = Fold("add", 0, "float32", "float32")
    steps = (fold, CompositeStep("sub", (0, 1), "float32"))
    total = Total("add", 2, "float32", "float32")
    inputs = (("float32", CELL),)
    plain, folded = (Program(inputs, steps, (2,), t) for t in ((), (total,)))
    lengths = (8192, 16384, 32768, 32769)
    of = [[kept_block(p, n, 1024) for n in lengths] for p in (plain, folded)]
    assert of == [
        [(32, 256), (32, 512), (32, 1024), (0, 0)],
        [(32, 256), (64, 256), (64, 512), (0, 0)],
    ]


def test_few_rows_are_stored(first_context, forms, monkeypatch):
    monkeypatch.setattr(totals, "FEWEST_ROWS", 1 << 20)
    given = values((9, LENGTH))
    is_close(compiled(first_context)(*given), by_hand(*given))
    assert not forms[-1][1]


def test_nan_and_inf_stay_in_their_columns(first_context, forms, way):
    x, u = (TensorType("float32", WHOLE)(name) for name in "xu")
    with config.use(device=str(first_context.name)):
        f = function([x, u], [T.nnet.softmax(x), u.sum(0), (u * x).sum(0)])
    given = np.random.default_rng(0).normal(size=(2, 7, LENGTH)).astype("f4")
    given[1, 2, 5], given[1, 3, 6], given[1, 4, 6] = np.nan, np.inf, -np.inf
    given[1, 5, 7] = np.inf
    _, total, product = (np.asarray(each) for each in f(*given))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(total, given[1].sum(0), 1e-5, 1e-5)
        expected = (given[0] * given[1]).sum(0)
    np.testing.assert_allclose(product, expected, 1e-5, 1e-5)


def test_a_total_that_something_reads_stays_a_reduction(on_null):
    x, u = (TensorType("float32", WHOLE)(name) for name in "xu")
    f = function([x, u], [T.nnet.softmax(x), T.exp((x * u).sum(0))])
    assert not program_of(f).totals


def test_totals_of_what_is_stored_anyway_stay_reductions(on_null):
    x, u = (TensorType("float32", WHOLE)(name) for name in "xu")
    y = T.nnet.softmax(x * u)
    assert not program_of(function([x, u], [y, y.sum(0), x.sum(0)])).totals
    total = T.sqr(y).sum(0)
    assert len(program_of(function([x, u], [y, total, x.sum(0)])).totals) == 2


def test_totals_of_picked_rows(first_context, forms, way):
    x, u = (TensorType("float32", WHOLE)(name) for name in "xu")
    y = T.lvector("y")
    with config.use(device=str(first_context.name)):
        cost = T.nnet.categorical_crossentropy(T.nnet.softmax(x), y)
        slope = grad(cost.sum(), x)
        f = function([x, u, y], [cost, (slope * u).sum(0)])
    given = np.random.default_rng(0).normal(size=(2, 7, LENGTH)).astype("f4")
    labels = np.array([0, 5, LENGTH - 1, -1, 7, 8, 9])
    wide = np.exp(given[0].astype("f8"))
    wide /= wide.sum(1, keepdims=True)
    costs = -np.log(wide[np.arange(7), labels])
    wide[np.arange(7), labels] -= 1
    is_close(f(*given, labels), [costs, (wide * given[1]).sum(0)])
    assert forms[-1][1]


def test_maxima_of_columns_are_totals_only_where_none_is_no_error(on_null):
    x = TensorType("float32", WHOLE)("x")
    f = function([x], [T.nnet.softmax(x), (x * x).max(0), T.exp(x).sum(0)])
    assert [total.monoid for total in program_of(f).totals] == ["add"]


def test_an_input_that_is_folded_is_not_overwritten():
    inputs = (("float32", CELL), ("float32", COLUMN))
    steps = (
        Fold("add", 0, "float32", "float32"),
        CompositeStep("sub", (0, 2), "float32"),
    )
    plain = Rowwise(Program(inputs, steps, (3,)))
    folded = Rowwise(Program(inputs, steps, (3,), (Total("add", 0, *["float32"] * 2),)))
    assert plain.may_overwrite(0, 0)
    assert not folded.may_overwrite(0, 0)
    assert not folded.may_overwrite(1, 1)
    assert str(folded.program).endswith("sum of columns(i0)}")


def test_totals_with_numpy_and_as_nodes_of_their_own(on_context):
    steps = (
        Fold("add", 0, "float32", "float32"),
        CompositeStep("sub", (0, 2), "float32"),
    )
    inputs = (("float32", CELL), ("float32", COLUMN))
    steps = (*steps, CompositeStep("mul", (3, 1), "float32"))
    totals = (
        Total("add", 4, "float32", "float32"),
        Total("mul", 0, "float32", "float32"),
    )
    op = Rowwise(Program(inputs, steps, (3,), totals))
    x, column = (
        TensorType("float32", WHOLE)("x"),
        TensorType("float32", (True, False))("c"),
    )
    node = op.make_node(x, column)
    assert [out.type.broadcastable for out in node.outputs][1:] == [(True, False)] * 2
    host = np.random.default_rng(0).normal(size=(4, 6)).astype("f4")
    given = [host, host[:1]]
    centred = host - host.sum(1, keepdims=True)
    expected = [
        centred,
        (centred * host[:1]).sum(0, keepdims=True),
        host.prod(0, keepdims=True),
    ]
    is_close(op.reference(*given), expected)
    is_close(function([x, column], op.unfold([x, column]))(*given), expected)
    is_close(function([x, column], node.outputs)(*given), expected)
    shapes = function([x, column], [out.shape for out in node.outputs])
    assert [tuple(map(int, s)) for s in shapes(*given)] == [e.shape for e in expected]
    assert pickle.loads(pickle.dumps(op.program)) == op.program
