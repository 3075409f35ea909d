"""Sums over rows of what a row program computes: in its kernel, or after it."""

import pickle
import re
from dataclasses import dataclass

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, grad
from gpuarray.compiler.gpukernels.folds import accumulator
from gpuarray.compiler.gpukernels.rows import launched as launched_steps
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.elemwise.elemwise import CompositeStep
from gpuarray.compiler.ops.fused.row_steps import CELL, COLUMN, Fold, Total
from gpuarray.compiler.ops.fused.rowwise import Program, Rowwise
from simulated import is_simulated

pytestmark = pytest.mark.usefixtures("one_launch")

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


@dataclass
class Kernel:
    """The form of a kernel that was launched, of a program with totals or without."""

    kept: int
    lanes: int
    own: int
    pack: int
    has_totals: bool

    @property
    def way(self):
        """Where it has totals."""
        if self.own == 0:
            return "local memory"
        return "both" if self.own < self.kept else "registers"


def launched(f, *values):
    """The results of a function of one row program, and its kernel."""
    (step,) = (s for s in f.plan.steps if getattr(s, "body", None) is not None)
    routines = {getattr(s, "name", ""): s for s in step.body.plan.steps}
    packed = {routines[name].texts[-2] for name in ("rows", "row_totals")}
    with gpuarray.profile(f.context) as profile:
        found = f(*values)
    (name,) = (row.name for row in profile.table() if row.name.startswith("rowwise"))
    form = re.search(r"k(\d+)x(\d+)(o(\d+))?$", name)
    if form is None:
        return found, Kernel(0, 0, 0, 1, has_totals=False)
    kept, lanes, has_totals, own = form.groups()
    pack = 4 if name[: form.start()] in packed else 1
    return found, Kernel(int(kept), int(lanes), int(own or 0), pack, bool(has_totals))


def enough(context):
    """So many rows that what blocks store is worth it."""
    return 12 * context.processors + 1


@pytest.fixture(params=["local memory", "both", "registers"])
def way(request, monkeypatch, first_context):
    """Where totals so far are: of an item's first elements, or of all, in registers.

    It follows from how much of a block's local memory is left.
    """

    def limit(length):
        def taken(program):
            sizes = [accumulator(total).itemsize for total in program.totals]
            places = {"local memory": length + 32, "both": length - 200}
            left = places.get(request.param, 0) * sum(sizes)
            return (first_context.local_memory - 1024 - left) // 256

        monkeypatch.setattr(launched_steps, "fold_bytes", taken)
        return request.param

    limit(LENGTH)
    return limit


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
def test_totals_in_the_kernel(first_context, way, dtype):
    f = compiled(first_context, dtype)
    given = values((enough(first_context), LENGTH), dtype)
    tolerance = 1e-4 if dtype == "float32" else 2e-2
    found, kernel = launched(f, *given)
    assert kernel.has_totals
    assert kernel.way == way(LENGTH)
    is_close(found, by_hand(*given), tolerance)
    for ours, again in () if is_simulated() else zip(found, f(*given), strict=True):
        np.testing.assert_array_equal(np.asarray(ours), np.asarray(again))


@pytest.mark.parametrize(
    ("length", "dtype", "pack"),
    [(4088, "float32", 4), (LENGTH + 1, "float32", 1), (LENGTH, "float64", 1)],
)
def test_totals_of_rows_of_any_length(first_context, way, length, dtype, pack):
    wanted = way(length)
    given = values((enough(first_context), length), dtype)
    found, kernel = launched(compiled(first_context, dtype), *given)
    is_close(found, by_hand(*given))
    assert kernel.has_totals
    assert (kernel.pack, kernel.way) == (pack, wanted)


def test_outputs_too_wide_for_packs(first_context, way):
    x, g = TensorType("float32", (False, False))("x"), T.fvector("g")
    with config.use(device=str(first_context.name)):
        y = T.nnet.softmax(x) * g
        f = function([x, g], [T.cast(y, "float64"), y.sum(0)])
    shape = enough(first_context), LENGTH
    host = np.random.default_rng(3).normal(size=shape).astype("f4")
    scale = np.linspace(0, 1, LENGTH).astype("f4")
    found, kernel = launched(f, host, scale)
    wide, total = map(np.asarray, found)
    expected = np.exp(host.astype("f8"))
    expected *= scale / expected.sum(1, keepdims=True)
    np.testing.assert_allclose(wide, expected, 1e-4, 1e-7)
    np.testing.assert_allclose(total, expected.sum(0), 1e-4, 1e-7)
    assert (kernel.pack, kernel.way) == (1, way(LENGTH))


def test_totals_of_different_width(first_context, way):
    x, g = TensorType("float32", (False, False))("x"), T.fvector("g")
    with config.use(device=str(first_context.name)):
        y = T.nnet.softmax(x) * g
        wide = T.cast(y, "float64").sum(0)
        f = function([x, g], [y * 2, y.sum(0), wide, (y > 1).any(0)])
    shape = enough(first_context), LENGTH
    host = np.random.default_rng(3).normal(size=shape).astype("f4")
    scale = np.linspace(0, 9999, LENGTH).astype("f4")
    (_, *found), kernel = launched(f, host, scale)
    expected = np.exp(host.astype("f8"))
    expected *= scale / expected.sum(1, keepdims=True)
    is_close(found, [expected.sum(0), expected.sum(0), (expected > 1).any(0)])
    assert kernel.has_totals
    assert kernel.way == way(LENGTH)


def test_totals_of_any_strides_and_axes(first_context, way):
    f = compiled(first_context, ndim=3)
    x, u, gain, bias = values((2, 12 * first_context.processors + 2, 2 * LENGTH))
    given = [x[:, ::2, ::2], u[:, ::-2, ::-2], gain[::2], bias[::-2]]
    found, kernel = launched(f, *given)
    is_close(found, by_hand(*given))
    assert kernel.has_totals


def test_few_rows_are_stored(first_context):
    given = values((3, LENGTH))
    found, kernel = launched(compiled(first_context), *given)
    is_close(found, by_hand(*given))
    assert kernel.kept > 0
    assert not kernel.has_totals


def test_nan_and_inf_stay_in_their_columns(first_context, way):
    x, u = (TensorType("float32", WHOLE)(name) for name in "xu")
    with config.use(device=str(first_context.name)):
        f = function([x, u], [T.nnet.softmax(x), u.sum(0), (u * x).sum(0)])
    shape = 2, enough(first_context), LENGTH
    given = np.random.default_rng(0).normal(size=shape).astype("f4")
    given[1, 2, 5], given[1, 3, 6], given[1, 4, 6] = np.nan, np.inf, -np.inf
    given[1, 5, 7] = np.inf
    (_, total, product), kernel = launched(f, *given)
    assert kernel.has_totals
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(total, given[1].sum(0), 1e-5, 1e-4)
        expected = (given[0] * given[1]).sum(0)
    np.testing.assert_allclose(product, expected, 1e-5, 1e-4)


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


def test_totals_of_picked_rows(first_context, way):
    x, u = (TensorType("float32", WHOLE)(name) for name in "xu")
    y = T.lvector("y")
    with config.use(device=str(first_context.name)):
        cost = T.nnet.categorical_crossentropy(T.nnet.softmax(x), y)
        slope = grad(cost.sum(), x)
        f = function([x, u, y], [cost, (slope * u).sum(0)])
    rows = enough(first_context)
    rng = np.random.default_rng(0)
    given = rng.normal(size=(2, rows, LENGTH)).astype("f4")
    labels = np.concatenate([[0, 5, LENGTH - 1, -1], rng.integers(0, 9, rows - 4)])
    wide = np.exp(given[0].astype("f8"))
    wide /= wide.sum(1, keepdims=True)
    costs = -np.log(wide[np.arange(rows), labels])
    wide[np.arange(rows), labels] -= 1
    found, kernel = launched(f, *given, labels)
    is_close(found, [costs, (wide * given[1]).sum(0)])
    assert kernel.has_totals


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
