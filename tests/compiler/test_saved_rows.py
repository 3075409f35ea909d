"""Row programs from files: one launch on GPUs, the same numbers as the function's."""

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray import load_function
from gpuarray.compiler import config, function
from gpuarray.compiler.graph.types import TensorType

SHAPES = [(3, 5), (0, 4), (7, 1000), (2, 8188), (3, 5001), (2, 40000)]
"""Rows that items walk along, that they keep with packs and without, and long ones."""
SHOWN = [(3, 5), (2, 2052), (1, 4101)]
"""For the simulator: rows that are walked, kept in packs, and kept in part."""


def softmax(x, t, c, i):
    return T.nnet.softmax(x)


def layer_norm(x, t, c, i):
    away = x - x.mean(1, keepdims=True)
    return away / T.sqrt(x.var(1, keepdims=True) + 1e-5) * c


def several(x, t, c, i):
    e = T.exp(x)
    return [T.log(e.sum(1)), x.max(1), e / e.sum(1, keepdims=True)]


def picked(x, t, c, i):
    return T.nnet.softmax(x)[T.arange(i.shape[0]), i]


def of_a_table(x, t, c, i):
    return T.nnet.softmax(t[i])


def with_totals(x, t, c, i):
    y = T.nnet.softmax(x)
    return [y, y.sum(0)]


FUNCTIONS = [softmax, layer_norm, several, picked, of_a_table, with_totals]


def given(shape, dtype):
    rng = np.random.default_rng(7)
    rows, length = shape
    return [
        rng.normal(size=shape).astype(dtype),
        rng.normal(size=(4, length)).astype(dtype),
        rng.normal(size=length).astype(dtype),
        rng.integers(0, 4, rows).astype("i4"),
    ]


def compiled(context, make, dtype="float32"):
    x, t = (TensorType(dtype, (False, False))(name) for name in "xt")
    c, i = TensorType(dtype, (False,))("c"), T.ivector("i")
    with config.use(device=str(context.name)):
        made = make(x, t, c, i)
        return function([x, t, c, i], made, on_unused_input="ignore")


def from_file(f, path, context):
    f.save(path, graph=False)
    return load_function(path, context=context.name)


def listed(results):
    each = results if isinstance(results, list | tuple) else [results]
    return [np.asarray(x) for x in each]


def are_alike(ours, theirs):
    for a, b in zip(listed(ours), listed(theirs), strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype


def launches(context, f, *values):
    """What a call queues besides transfers."""
    f(*values)  # binds
    with gpuarray.profile(context) as found:
        f(*values)
    return [
        n for n in str(found).split() if n.startswith(("rowwise", "reduce", "elem"))
    ]


@pytest.mark.parametrize("make", FUNCTIONS, ids=lambda f: f.__name__)
def test_the_numbers_of_the_function(context, make, tmp_path):
    f = compiled(context, make)
    loaded = from_file(f, tmp_path / "f.plan", context)
    for shape in SHAPES[:4] if context.is_cpu else SHAPES:
        values = given(shape, "float32")
        expected = f(*values)
        are_alike(loaded(*values), expected)


def wider(rows, context):
    """The rows in a matrix whose rows begin where packs do, whatever their length."""
    length = rows.shape[1]
    whole = np.zeros((rows.shape[0], length // 4 * 4 + 4), rows.dtype)
    whole[:, :length] = rows
    return gpuarray.asarray(whole, context=context)[:, :length]


@pytest.mark.oclgrind
@pytest.mark.parametrize(
    "make", [several, of_a_table, layer_norm], ids=lambda f: f.__name__
)
def test_rows_from_a_file(first_context, make, tmp_path):
    f = compiled(first_context, make)
    loaded = from_file(f, tmp_path / "f.plan", first_context)
    for shape in SHOWN:
        x, t, c, i = given(shape, "float32")
        are_alike(loaded(x, t, c, i), f(x, t, c, i))
        x, t = (gpuarray.asarray(a, context=first_context)[:, ::-1] for a in (x, t))
        are_alike(loaded(x, t, c, i), f(x, t, c, i))
        are_alike(loaded(x[:, 1:], t[:, 1:], c[1:], i), f(x[:, 1:], t[:, 1:], c[1:], i))
        x, t = x[:, ::-1][:, 1:], t[:, ::-1][:, 1:]  # neighbours, but in no packs
        are_alike(loaded(x, t, c[1:], i), f(x, t, c[1:], i))
        x, t = (wider(a, first_context) for a in given(shape, "float32")[:2])
        are_alike(loaded(x, t, c, i), f(x, t, c, i))


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_rows_of_other_dtypes(context, dtype, tmp_path):
    f = compiled(context, layer_norm, dtype)
    loaded = from_file(f, tmp_path / "f.plan", context)
    for shape in [(5, 9), (2, 4100)]:
        values = given(shape, dtype)
        are_alike(loaded(*values), f(*values))


def test_views_of_any_layout(context, tmp_path):
    f = compiled(context, layer_norm)
    loaded = from_file(f, tmp_path / "f.plan", context)
    x, t, c, i = given((6, 8192), "float32")
    whole = gpuarray.asarray(x, context=context)
    factors = gpuarray.asarray(c, context=context)
    for a, b in [
        (whole[::2], factors),
        (whole[:, 1:], factors[1:]),
        (whole[:, 1:8189], factors[1:8189]),  # whole packs, which begin between packs
        (whole[:, ::-1], factors[::-1]),
        (whole[:, :5].T[:, :3], factors[:3]),
    ]:
        are_alike(
            loaded(a, t[:, : a.shape[1]], b, i[:1]), f(a, t[:, : a.shape[1]], b, i)
        )


def test_rows_are_one_launch_on_a_gpu(context, tmp_path):
    f = compiled(context, several)
    loaded = from_file(f, tmp_path / "f.plan", context)
    found = launches(context, loaded, *given((30, 600), "float32"))
    assert len(found) > 0
    if not context.is_cpu:
        assert [name.split("_")[0] for name in found] == ["rowwise"]


def test_a_wrong_index_is_told_of(context, tmp_path):
    f = compiled(context, of_a_table)
    loaded = from_file(f, tmp_path / "f.plan", context)
    x, t, c, i = given((5, 6), "float32")
    i[3] = 4
    with pytest.raises(IndexError, match="index 4 is out of bounds"):
        listed(loaded(x, t, c, i))
    i[3] = 0
    are_alike(loaded(x, t, c, i), f(x, t, c, i))


def test_rows_that_do_not_fit_are_told_of(context, tmp_path):
    f = compiled(context, layer_norm)
    loaded = from_file(f, tmp_path / "f.plan", context)
    x, t, c, i = given((5, 6), "float32")
    with pytest.raises(ValueError, match="Input dimension mis-match"):
        loaded(x, t, c[:5], i)
    are_alike(loaded(x, t, c, i), f(x, t, c, i))
