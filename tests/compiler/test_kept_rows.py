"""Rows that one launch keeps in registers: what is kept, and the same values."""

from dataclasses import dataclass

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, grad
from gpuarray.compiler.gpukernels.rows import launched as launched_steps
from gpuarray.compiler.gpukernels.rows.persistent import kept_values
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.elemwise.elemwise import CompositeStep
from gpuarray.compiler.ops.fused.row_steps import CELL, COLUMN, Fold
from gpuarray.compiler.ops.fused.rowwise import Program

pytestmark = pytest.mark.usefixtures("one_launch")

LENGTHS = [2049, 8192]


def layer_norm(x, scale):
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = T.sqr(centred).mean(axis=-1, keepdims=True)
    return centred / T.sqrt(variance + 1e-3) * scale


def its_slope(x, scale):
    y = layer_norm(x, scale)
    return grad(None, x, known_grads={y: T.tanh(x)})


def picked(x, y):
    cost = -T.log(T.nnet.softmax(x))[T.arange(y.shape[0]), y]
    return [cost, grad(cost.sum(), x)]


PROGRAMS = {
    "softmax": lambda x, u, y: T.nnet.softmax(x * u),
    "logsoftmax": lambda x, u, y: T.nnet.logsoftmax(x),
    "layer norm": lambda x, u, y: layer_norm(x, u),
    "its slope": lambda x, u, y: its_slope(x, u),
    "statistics": lambda x, u, y: [
        x.max(1),
        T.sqr(x - x.mean(1, keepdims=True)).sum(1),
    ],
    "picked": lambda x, u, y: picked(x, y),
}


@dataclass
class Kernel:
    """The form of a kernel that was launched."""

    is_unit: bool
    kept: int
    lanes: int
    pack: int


def launched(f, *values):
    """The results of a function of one row program, and its kernel."""
    (step,) = (s for s in f.plan.steps if getattr(s, "body", None) is not None)
    (rows,) = (s for s in step.body.plan.steps if getattr(s, "name", "") == "rows")
    names = rows.texts[3::2]
    with gpuarray.profile(f.context) as profile:
        found = f(*values)
    (name,) = (row.name for row in profile.table() if row.name.startswith("rowwise"))
    stem, _, numbers = name.rpartition("k") if "x" in name else (name, "", "0x0")
    index = names.index(stem)
    kept, lanes = map(int, numbers.split("x"))
    pack = 4 if index == len(names) - 1 else 1
    return found, Kernel(index in (1, 3, 4), kept, lanes, pack)


def results(name, dtype, context, values):
    x, u = (TensorType(dtype, (False,) * n)(k) for n, k in ((2, "x"), (1, "u")))
    y = T.lvector("y")
    with config.use(device=str(context.name)):
        outputs = PROGRAMS[name](x, u, y)
        f = function([x, u, y], outputs, on_unused_input="ignore")
    found, kernel = launched(f, *values)
    listed = found if isinstance(found, list) else [found]
    return [np.asarray(each) for each in listed], kernel


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        *((name, "float32") for name in PROGRAMS),
        ("softmax", "float16"),
        ("its slope", "float64"),
    ],
)
def test_kept_rows_have_the_values_of_rows_that_are_read_again(
    name, dtype, first_context, monkeypatch
):
    rng = np.random.default_rng(0)
    for length in LENGTHS:
        values = [rng.normal(size=n).astype(dtype) for n in ((3, length), length)]
        values.append(np.array([5, length - 1, -7]))
        got, form = results(name, dtype, first_context, values)
        assert form.lanes * form.kept >= length
        has_doubles = np.dtype("f8") in {given.dtype for given in [*values[:2], *got]}
        assert form.pack == (1 if has_doubles or length % 4 else 4)
        with monkeypatch.context() as patched:
            patched.setattr(launched_steps, "most_words", lambda program: 0)
            expected, plain = results(name, dtype, first_context, values)
        assert plain.kept == 0
        # Other items add in another order, and GPUs contract products and sums.
        exact = form.lanes == 256 and form.pack == 1 and first_context.is_cpu
        for ours, theirs in zip(got, expected, strict=True):
            tolerance = 0 if exact else 1e-5
            np.testing.assert_allclose(ours, theirs, tolerance, tolerance)


def test_rows_of_any_strides_are_kept(first_context):
    x = TensorType("float32", (False, False))("x")
    with config.use(device=str(first_context.name)):
        f = function([x], T.nnet.softmax(x))
    host = np.random.default_rng(1).normal(size=(6, 6000)).astype("f4")
    given = gpuarray.asarray(host, context=first_context)
    forms = []
    for place in (np.s_[::2, ::2], np.s_[::-1, ::-1], np.s_[1:, :3001]):
        wide = np.exp(host[place].astype("f8"))
        expected = wide / wide.sum(1, keepdims=True)
        found, form = launched(f, given[place])
        np.testing.assert_allclose(np.asarray(found), expected, 1e-5)
        forms.append(form)
    assert [form.kept for form in forms] == [12, 24, 12]
    assert [form.is_unit for form in forms] == [False, False, True]


def test_rows_are_read_in_packs_where_all_of_them_lie_so(first_context):
    x, u = TensorType("float32", (False, False))("x"), T.fvector("u")
    with config.use(device=str(first_context.name)):
        f = function([x, u], T.nnet.softmax(x * u))
    host = np.random.default_rng(2).normal(size=(5, 6008)).astype("f4")
    given = gpuarray.asarray(host, context=first_context)
    scale = np.linspace(0.5, 1.5, 6001).astype("f4")
    scales = gpuarray.asarray(scale, context=first_context)
    packs = []
    for rows, left, right in (
        (np.s_[:, 4:6004], 0, 6000),
        (np.s_[::-2, 4:6004], 0, 6000),
        (np.s_[:, 4:6004], 1, 6001),
        (np.s_[:, 3:6003], 0, 6000),
        (np.s_[:, :5999], 0, 5999),
    ):
        wide = np.exp(host[rows].astype("f8") * scale[left:right])
        expected = wide / wide.sum(1, keepdims=True)
        found, form = launched(f, given[rows], scales[left:right])
        np.testing.assert_allclose(np.asarray(found), expected, 1e-5)
        packs.append(form.pack)
    assert packs == [4, 4, 1, 1, 1]


def program(*steps, outputs, inputs=(("float32", CELL),)):
    return Program(inputs, steps, outputs)


def test_what_is_kept_after_each_walk():
    total = Fold("add", 0, "float32", "float32")
    centred, squared = (
        CompositeStep("sub", (0, 1), "float32"),
        CompositeStep("sqr", (2,), "float32"),
    )
    spread = Fold("add", 3, "float32", "float32")
    scaled = CompositeStep("mul", (2, 4), "float32")
    norm = (total, centred, squared, spread, scaled)
    assert kept_values(program(*norm, outputs=(5,))) == ({0}, {2})
    # With both stored, the input makes the other anew.
    both = program(*norm, CompositeStep("mul", (0, 4), "float32"), outputs=(5, 6))
    assert kept_values(both) == ({0}, {0})
    assert kept_values(program(total, outputs=(1,))) == (set(),)


def test_values_of_columns_are_read_again():
    steps = (
        CompositeStep("mul", (0, 1), "float32"),
        Fold("add", 2, "float32", "float32"),
    )
    inputs = (("float32", CELL), ("float32", COLUMN))
    last = (
        CompositeStep("sub", (1, 3), "float32"),
        CompositeStep("mul", (0, 4), "float32"),
    )
    assert kept_values(program(*steps, *last, outputs=(5,), inputs=inputs)) == ({0},)
