"""``einsum`` against NumPy's."""

import gpuarray
import numpy as np
import pytest
from gpuarray._products.einsum import einsum, einsum_path
from judge import assert_same
from layouts import values

# Subscripts, and the shapes of the operands.
CASES = [
    ("ii", [(4, 4)]),
    ("ii->i", [(4, 4)]),
    ("iii->i", [(3, 3, 3)]),
    ("iij->ji", [(3, 3, 4)]),
    ("ij->ji", [(3, 4)]),
    ("ij", [(3, 4)]),
    ("ba", [(3, 4)]),
    ("ij->", [(3, 4)]),
    ("ij->j", [(3, 4)]),
    ("i,i", [(5,), (5,)]),
    ("i,j", [(5,), (4,)]),
    ("i,i->i", [(5,), (5,)]),
    ("ij,j", [(3, 4), (4,)]),
    ("ij,jk", [(3, 4), (4, 5)]),
    ("ij,jk->ki", [(3, 4), (4, 5)]),
    ("ij,kj->ik", [(3, 4), (5, 4)]),
    ("ij,ij->i", [(3, 4), (3, 4)]),
    ("ij,ij->", [(3, 4), (3, 4)]),
    ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
    ("bij,bkj->kbi", [(2, 3, 4), (2, 5, 4)]),
    ("bhid,bhjd->bhij", [(2, 3, 4, 5), (2, 3, 6, 5)]),
    ("ijk,ljm->iklm", [(2, 3, 4), (5, 3, 2)]),
    ("ijk,jil->kl", [(3, 4, 5), (4, 3, 2)]),
    ("ij,k->ik", [(3, 4), (5,)]),
    ("ij,jk,kl", [(3, 4), (4, 5), (5, 2)]),
    ("ij,jk,kl->il", [(3, 4), (4, 5), (5, 2)]),
    ("a,ab,abc->abc", [(2,), (2, 3), (2, 3, 4)]),
    ("ea,fb,abcd,gc,hd->efgh", [(2, 3)] * 2 + [(3, 3, 3, 3)] + [(2, 3)] * 2),
    ("...ij,...jk->...ik", [(2, 3, 4), (4, 5)]),
    ("...ij,...jk", [(2, 1, 3, 4), (3, 4, 5)]),
    ("i...->...", [(3, 4, 5)]),
    ("...i->i...", [(3, 4, 5)]),
    ("ii...->...i", [(3, 3, 2)]),
    ("ij,ij->ij", [(1, 4), (3, 1)]),
    ("ij,jk->ik", [(3, 1), (4, 5)]),
    ("i,i->", [(1,), (5,)]),
    ("ij->ij", [(0, 4)]),
    ("ij,jk->ik", [(3, 0), (0, 5)]),
    (",", [(), ()]),
    (",i->i", [(), (4,)]),
    ("i j , j k -> i k", [(3, 4), (4, 5)]),
]
TOLERANCE = {"float16": 4e-3, "float32": 1e-4, "complex64": 1e-4}


def operands(context, shapes, dtype):
    hosts = [values(dtype, shape, seed) for seed, shape in enumerate(shapes)]
    if dtype == "float16":
        hosts = [np.round(host) for host in hosts]
    return hosts, [gpuarray.asarray(host, context=context) for host in hosts]


# What labels mean is the same for every dtype: each other one takes a case in four.
TYPED = [(*case, "float32") for case in CASES] + [
    (*case, dtype)
    for first, dtype in enumerate(("complex64", "int32", "bool", "float16"))
    for case in CASES[first::4]
]


@pytest.mark.parametrize(("subscripts", "shapes", "dtype"), TYPED, ids=str)
def test_subscripts(context, subscripts, shapes, dtype):
    hosts, arrays = operands(context, shapes, dtype)
    expected = np.einsum(subscripts, *hosts)
    got = einsum(subscripts, *arrays)
    assert_same(got, expected, rtol=TOLERANCE.get(dtype))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_double_precision(context, dtype):
    if not context.has_double:
        pytest.skip("the device lacks float64")
    for subscripts, shapes in CASES[13:28]:
        hosts, arrays = operands(context, shapes, dtype)
        assert_same(einsum(subscripts, *arrays), np.einsum(subscripts, *hosts))


@pytest.mark.parametrize("optimize", [False, True, "greedy", "optimal"])
def test_orders_of_products(context, optimize):
    for subscripts, shapes in CASES[24:28]:
        hosts, arrays = operands(context, shapes, "float32")
        got = einsum(subscripts, *arrays, optimize=optimize)
        assert_same(got, np.einsum(subscripts, *hosts), rtol=1e-4)
    path = np.einsum_path(subscripts, *hosts, optimize="greedy")[0]
    assert einsum_path(subscripts, *arrays)[0] == path


def test_a_given_path(context):
    hosts, arrays = operands(context, [(3, 4), (4, 5), (5, 2)], "float32")
    path = ["einsum_path", (1, 2), (0, 1)]
    got = einsum("ij,jk,kl", *arrays, optimize=path)
    assert_same(got, np.einsum("ij,jk,kl", *hosts), rtol=1e-4)


def test_lists_of_subscripts(context):
    hosts, arrays = operands(context, [(2, 3, 4), (4, 5)], "float32")
    (a, b), (x, y) = hosts, arrays
    for lists in (
        lambda a, b: (a, [0, 1, 2], b, [2, 3], [0, 3, 1]),
        lambda a, b: (a, [0, 1, 2], b, [2, 3]),
        lambda a, b: (a, [Ellipsis, 2], b, [2, 3], [Ellipsis, 3]),
    ):
        assert_same(einsum(*lists(x, y)), np.einsum(*lists(a, b)), rtol=1e-4)


def test_layouts(context):
    host = values("float32", (6, 8, 10))
    x = gpuarray.asarray(host, context=context)
    views = [
        lambda a: a[::2, ::-1, 1:5],
        lambda a: a.transpose(2, 0, 1)[:4, ::2, :],
        lambda a: a[:3, :, :4].transpose(0, 1, 2),
    ]
    for view in views:
        got = einsum("ijk,ijl->ikl", view(x), view(x))
        assert_same(got, np.einsum("ijk,ijl->ikl", view(host), view(host)), rtol=1e-4)
        got = einsum("ijk,ijk->j", view(x), view(x))
        assert_same(got, np.einsum("ijk,ijk->j", view(host), view(host)), rtol=1e-4)


def test_mixed_dtypes_and_a_chosen_one(context):
    if not context.has_double:
        pytest.skip("the device lacks float64")
    a, b = values("int8", (3, 4)), values("float32", (4, 2))
    x, y = (gpuarray.asarray(host, context=context) for host in (a, b))
    assert_same(einsum("ij,jk", x, y), np.einsum("ij,jk", a, b), rtol=1e-5)
    got = einsum("ij,jk", x, y, dtype="float64")
    assert_same(got, np.einsum("ij,jk", a, b, dtype="float64"))
    with pytest.raises(TypeError, match="cannot be cast"):
        einsum("ij,jk", x, y, dtype="int8")


def test_an_output(context):
    hosts, (x, y) = operands(context, [(3, 4), (4, 5)], "float32")
    out = gpuarray.zeros((3, 5), "float32", context=context)
    assert einsum("ij,jk", x, y, out=out) is out
    assert_same(out, hosts[0] @ hosts[1], rtol=1e-4)
    assert einsum("ij,jk->ki", x, y, order="C").flags.c_contiguous


def test_a_view_where_nothing_is_computed(context):
    x = gpuarray.asarray(values("float32", (4, 4)), context=context)
    assert gpuarray.may_share_memory(einsum("ii->i", x), x)
    assert gpuarray.may_share_memory(einsum("ij->ji", x), x)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (lambda x: (), "no subscripts"),
        (lambda x: ("ij,jk", x), "2 operands for 1"),
        (lambda x: ("i", x), "2 axes and 1"),
        (lambda x: ("ijk...", x), "expected no more"),
        (lambda x: ("i1", x), "no letter"),
        (lambda x: ("ij->k", x), "of no operand"),
        (lambda x: ("ij->ii", x), "twice"),
        (lambda x: ("...->", x), "leave out"),
        (lambda x: ("......", x), "more than one ellipsis"),
        (lambda x: ("ij,ij", x, x[:, :2]), "has length 2"),
    ],
)
def test_subscripts_that_do_not_fit_are_refused(null, arguments, match):
    x = gpuarray.zeros((3, 4), "float32", context=null)
    with pytest.raises(ValueError, match=match):
        einsum(*arguments(x))


def test_what_is_no_array_is_refused(null):
    x = gpuarray.zeros((3, 4), "float32", context=null)
    with pytest.raises(TypeError, match=r"gpuarray\.asarray"):
        einsum("ij,jk", x, np.zeros((4, 2)))
    with pytest.raises(TypeError, match="subscripts"):
        einsum(x, "ij")
