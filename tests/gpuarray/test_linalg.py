"""Products of matrices and vectors against NumPy."""

import itertools

import gpuarray
import numpy as np
import pytest
from judge import assert_same
from layouts import values
from simulated import is_simulated

SHAPES = [
    ((3, 4), (4, 5)),
    ((1, 1), (1, 1)),
    ((67, 33), (33, 129)),
    ((3, 4), (4,)),
    ((4,), (4, 5)),
    ((131,), (131,)),
    ((0, 4), (4, 2)),
    ((3, 0), (0, 2)),
    ((2, 3, 4), (4, 5)),
    ((2, 3, 4), (2, 4, 5)),
    ((2, 1, 3, 4), (5, 4, 2)),
    ((4,), (2, 4, 3)),
    ((2, 3, 4), (4,)),
]


def operands(context, a, b, dtype, other=None):
    left, right = values(dtype, a), values(other or dtype, b, seed=1)
    on = [gpuarray.asarray(x, context=context) for x in (left, right)]
    return left, right, *on


@pytest.mark.parametrize(("a", "b"), SHAPES, ids=str)
def test_matmul(context, a, b):
    left, right, x, y = operands(context, a, b, "float32")
    assert_same(x @ y, left @ right, rtol=1e-4)


@pytest.mark.parametrize(
    "dtype", ["float64", "float16", "complex64", "int8", "int64", "bool"]
)
def test_every_kind_of_dtype(context, dtype):
    if dtype == "float64" and not context.has_double:
        pytest.skip("the device lacks float64")
    for a, b in SHAPES[:6]:
        left, right, x, y = operands(context, a, b, dtype)
        if dtype == "float16":
            expected = (left.astype("f4") @ right.astype("f4")).astype("f2")
            assert_same(x @ y, expected, rtol=4e-3)
        else:
            assert_same(x @ y, left @ right)


@pytest.mark.oclgrind
def test_every_layout_of_matrices(context):
    views = {
        "c_order": lambda a: a[:6, :6].copy(),
        "fortran_order": lambda a: a[:6, :6].T,
        "gaps": lambda a: a[1:7, 2:8],
        "step": lambda a: a[::2, ::2],
        "negative_step": lambda a: a[5::-1, 11:5:-1],
        "repeated": lambda a: a[:1, :6] if a is None else a[:6, 3:9],
    }
    left, right, x, y = operands(context, (12, 12), (12, 12), "float32")
    for one in views.values():
        for other in views.values():
            assert_same(one(x) @ other(y), one(left) @ other(right), rtol=1e-4)
            if is_simulated() and one is not other:
                continue
            assert_same(one(x) @ other(y)[0], one(left) @ other(right)[0], rtol=1e-4)
            assert_same(
                one(x)[:, 1] @ other(y), one(left)[:, 1] @ other(right), rtol=1e-4
            )


def test_mixed_dtypes_promote(context):
    left, right, x, y = operands(context, (3, 4), (4, 2), "float32", "int8")
    assert_same(x @ y, left @ right)


def test_dot(context):
    left, right, x, y = operands(context, (5,), (5,), "float32")
    assert_same(gpuarray.dot(x, y), np.dot(left, right))
    assert_same(x.dot(y[0]), np.dot(left, right[0]))


@pytest.mark.parametrize(
    ("a", "b"), [((3, 4), (3, 4)), ((3,), (4,)), ((2, 3, 4), (3, 4, 5))], ids=str
)
def test_shapes_that_do_not_fit_are_refused(null, a, b):
    x, y = gpuarray.zeros(a, context=null), gpuarray.zeros(b, context=null)
    with pytest.raises(ValueError, match="matmul"):
        x @ y


def test_a_number_is_no_matrix(null):
    x = gpuarray.zeros((3, 3), context=null)
    with pytest.raises(ValueError, match="0-d operand"):
        gpuarray.matmul(x, gpuarray.zeros((), context=null))
    with pytest.raises(TypeError, match="unsupported operand"):
        x @ 3
    with pytest.raises(TypeError, match=r"gpuarray.asarray"):
        x @ np.eye(3)


# ---- BLAS's own ----

FLOATS = ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
TRANS = {"N": lambda a: a, "T": lambda a: a.T, "C": lambda a: a.conj().T}
FACTORS = [(1, 0), (-1, 1), (0.6, -1), (0, 0.6)]
# How a matrix of some shape is cut from a larger one, which begins with NaN where it is
# an output that is not read.
CUTS = {
    "c_order": lambda a, m, n: a[:m, :n].copy(),
    "fortran_order": lambda a, m, n: a[:n, :m].copy().T,
    "gaps": lambda a, m, n: a[1 : m + 1, 2 : n + 2],
    "gaps_of_columns": lambda a, m, n: a[1 : n + 1, 2 : m + 2].T,
    "steps": lambda a, m, n: a[: 2 * m : 2, : 3 * n : 3],
    "backwards": lambda a, m, n: a[m - 1 :: -1, n - 1 :: -1] if m * n else a[:m, :n],
}


def known(context, dtype):
    """The dtype, or a skip where the device or NumPy lacks it."""
    if dtype == "bfloat16":
        return np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    if dtype in ("float64", "complex128") and not context.has_double:
        pytest.skip("the device lacks float64")
    return np.dtype(dtype)


def wide(a):
    return a.astype("complex128" if a.dtype.kind == "c" else "float64")


def cut(name, context, dtype, m, n, seed):
    """The same matrix in NumPy and on the device."""
    is_turned = name in ("fortran_order", "gaps_of_columns")
    rows, columns = (n, m) if is_turned else (m, n)
    room = (2 * rows, 3 * columns) if name == "steps" else (rows + 2, columns + 3)
    host = values("float32", room, seed)
    if dtype.kind == "c":
        host = host + 1j * values("float32", room, seed + 100)
    host = host.astype(dtype)
    return CUTS[name](host, m, n), CUTS[name](
        gpuarray.asarray(host, context=context), m, n
    )


def assert_near(device, host, scale=1):
    """Near the exact value, by the dtype's rounding of sums of that size."""
    got = np.asarray(device)
    assert got.shape == host.shape
    name = got.dtype.name
    eps = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 3e-6, "complex64": 3e-6}
    scale = np.abs(host).max(initial=scale)
    np.testing.assert_allclose(wide(got), host, atol=eps.get(name, 1e-14) * 4 * scale)


@pytest.mark.parametrize("dtype", FLOATS)
def test_gemm(context, dtype):
    dtype = known(context, dtype)
    ways = itertools.product("NTC", "NTC", [(5, 7, 3), (66, 33, 17), (1, 9, 4)])
    cuts = itertools.cycle(itertools.product(CUTS, CUTS, CUTS))
    for (ta, tb, (m, n, k)), (alpha, beta) in zip(ways, itertools.cycle(FACTORS)):
        for la, lb, lc in itertools.islice(cuts, 8):
            a, x = cut(la, context, dtype, *((m, k) if ta == "N" else (k, m)), 1)
            b, y = cut(lb, context, dtype, *((k, n) if tb == "N" else (n, k)), 2)
            c, z = cut(lc, context, dtype, m, n, 3)
            if dtype.kind == "c":
                alpha = alpha * (1 - 2j)
            want = alpha * TRANS[ta](wide(a)) @ TRANS[tb](wide(b)) + beta * wide(c)
            assert_near(gpuarray.gemm(alpha, x, y, beta, z, ta, tb), want)
            got = gpuarray.gemm(alpha, x, y, beta, z, ta, tb, overwrite_c=True)
            assert got is z
            assert_near(z, want)


def check_narrow(context, dtype, shape, ways, factors=FACTORS):
    """A product of each way to lie of a, b and c, with the factors in turn."""
    m, n, k = shape
    for (la, lb, lc), (alpha, beta) in zip(ways, itertools.cycle(factors)):
        a, x = cut(la, context, dtype, m, k, 1)
        b, y = cut(lb, context, dtype, k, n, 2)
        c, z = cut(lc, context, dtype, m, n, 3)
        want = alpha * wide(a) @ wide(b) + beta * wide(c)
        scale = np.abs(wide(a)).max() * np.abs(wide(b)).max() * k**0.5
        gpuarray.gemm(alpha, x, y, beta, z, overwrite_c=True)
        assert_near(z, want, scale)
        if not is_simulated():
            once, again = (np.asarray(gpuarray.gemm(1, x, y)) for _ in range(2))
            assert once.tobytes() == again.tobytes()


# m, n and k where GPUs have kernels for the narrow side: few columns, few rows, few
# terms, whole groups and not, more terms than local memory holds, and many for few.
NARROW = [
    (60, 10, 500),
    (10, 130, 33),
    (2, 40, 700),
    (300, 16, 64),
    (40, 16, 700),
    (2500, 10, 33),
    (33, 3, 4200),
    (500, 10, 60),
    (10, 50, 2500),
    (60, 500, 10),
    (70, 33, 1),
    (40, 300, 16),
    (129, 65, 3),
]


@pytest.mark.optimized
@pytest.mark.parametrize("shape", NARROW, ids=str)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_narrow_sides(context, dtype, shape):
    ways = itertools.islice(itertools.product(CUTS, CUTS, CUTS), shape[0] % 7, None, 7)
    check_narrow(context, known(context, dtype), shape, ways)


@pytest.mark.oclgrind
@pytest.mark.parametrize("shape", [(33, 3, 40), (2, 40, 70), (33, 40, 5)], ids=str)
def test_small_narrow_sides(context, shape):
    ways = [("c_order", "gaps", "c_order"), ("gaps_of_columns", "backwards", "steps")]
    check_narrow(context, np.dtype("float32"), shape, ways)


# GPUs sum these in parts: whole ones and not, from packs and not.
@pytest.mark.oclgrind
@pytest.mark.parametrize("shape", [(52, 56, 160), (33, 42, 129)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_many_terms_of_few_results(context, dtype, shape):
    ways = [("c_order", "fortran_order", "c_order"), ("gaps", "backwards", "steps")]
    check_narrow(context, known(context, dtype), shape, ways)


# Whole tiles of 32 and not, in packs and not, with each way to read both factors.
@pytest.mark.oclgrind
@pytest.mark.parametrize("shape", [(64, 32, 32), (36, 44, 20), (35, 38, 18)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_small_tiles(context, dtype, shape):
    lies = "c_order", "fortran_order"
    ways = [*itertools.product(lies, lies, ["c_order"]), ("gaps", "gaps", "steps")]
    ways += [("c_order", "c_order", "fortran_order")] * 2
    check_narrow(context, known(context, dtype), shape, ways)


@pytest.mark.parametrize("m", [4000, 9000])
def test_many_rows_of_few_columns(context, m):
    """Rows from which a GPU's item has several."""
    a, b = values("float32", (m, 300)), values("float32", (300, 6), seed=1)
    x, y = (gpuarray.asarray(v, context=context) for v in (a, b))
    want = wide(a) @ wide(b)
    scale = np.abs(wide(a)).max() * np.abs(wide(b)).max() * 300**0.5
    assert_near(x @ y, want, scale)
    assert_near(y.T @ x.T, want.T, scale)


@pytest.mark.parametrize("dtype", FLOATS)
def test_gemv(context, dtype):
    dtype = known(context, dtype)
    vectors = [slice(None), slice(None, None, -1), slice(None, None, 3)]
    for (m, n), ta, la in itertools.product([(9, 40), (70, 3), (4, 1)], "NTC", CUTS):
        a, x = cut(la, context, dtype, m, n, 1)
        terms, results = (n, m) if ta == "N" else (m, n)
        for part in vectors:
            v, dv = cut("c_order", context, dtype, 1, 3 * terms, 2)
            w, dw = cut("c_order", context, dtype, 1, 3 * results, 3)
            v, dv, w, dw = v[0], dv[0], w[0], dw[0]
            v, dv = v[part][:terms], dv[part][:terms]
            w, dw = w[part][:results], dw[part][:results]
            for alpha, beta in FACTORS:
                want = alpha * TRANS[ta](wide(a)) @ wide(v) + beta * wide(w)
                assert_near(gpuarray.gemv(alpha, x, dv, beta, dw, ta), want)


@pytest.mark.parametrize("dtype", FLOATS)
def test_ger_and_dots(context, dtype):
    dtype = known(context, dtype)
    for la in CUTS:
        c, z = cut(la, context, dtype, 13, 21, 1)
        x, dx = cut("c_order", context, dtype, 13, 1, 2)
        y, dy = cut("c_order", context, dtype, 1, 21, 3)
        x, dx, y, dy = x[::-1, 0], dx[::-1, 0], y[0], dy[0]
        for conjugate in (False, True):
            other = wide(y).conj() if conjugate else wide(y)
            want = 0.6 * np.outer(wide(x), other) + wide(c)
            assert_near(gpuarray.ger(0.6, dx, dy, z, conjugate=conjugate), want)
        assert_near(gpuarray.ger(1, dx, dy), np.outer(wide(x), wide(y)))
    for n in (0, 1, 100, 70000):
        v = values(dtype if dtype.name != "bfloat16" else "float32", n)
        v = (v / 16).astype(dtype)
        dv = gpuarray.asarray(v, context=context)
        scale = np.vdot(wide(v), wide(v)).real
        assert_near(dv @ dv[::-1], np.dot(wide(v), wide(v)[::-1]), scale)
        assert_near(gpuarray.vdot(dv, dv), np.vdot(wide(v), wide(v)), scale)


@pytest.mark.parametrize("dtype", FLOATS)
def test_batches(context, dtype):
    dtype = known(context, dtype)
    for ta, tb, turned in itertools.product("NTC", "NT", [False, True]):
        a, x = cut("c_order", context, dtype, 6 * 5, 4, 1)
        b, y = cut("c_order", context, dtype, 6 * 4, 3, 2)
        a, x = a.reshape(6, 5, 4), x.reshape(6, 5, 4)
        b, y = b.reshape(6, 4, 3), y.reshape(6, 4, 3)
        if turned:
            a, x, b, y = a[::-2], x[::-2], b[:1], y[:1]
        if ta != "N":
            a, x = a.transpose(0, 2, 1), x.transpose(0, 2, 1)
        if tb != "N":
            b, y = b.transpose(0, 2, 1), y.transpose(0, 2, 1)
        left = {"N": wide(a), "T": wide(a).swapaxes(1, 2)}.get(
            ta, wide(a).conj().swapaxes(1, 2)
        )
        want = left @ (wide(b) if tb == "N" else wide(b).swapaxes(1, 2))
        got = gpuarray.gemmBatch_3d(1, x, y, trans_a=ta, trans_b=tb)
        assert_near(got, want)
        gpuarray.gemmBatch_3d(0.5, x, y, -1, got, ta, tb, overwrite_c=True)
        assert_near(got, -0.5 * want)


@pytest.mark.optimized
@pytest.mark.parametrize(("m", "n"), [(1664, 1668), (2304, 2308)])
def test_large_tiles_of_every_layout(context, m, n):
    """Sizes from which a GPU takes its large tiles, whole ones and not."""
    rng = np.random.default_rng(0)
    k = 44
    for dtype in ("float32", "float16", "complex64"):
        a = rng.standard_normal((k, m)).astype(dtype)
        b = rng.standard_normal((k, n)).astype(dtype)
        x, y = (
            gpuarray.asarray(a, context=context),
            gpuarray.asarray(b, context=context),
        )
        want = wide(a).T @ wide(b)
        rows, columns = x.T.copy(), y.T.copy().T
        for left, right in itertools.product((x.T, rows), (y, columns)):
            assert_near(left @ right, want)
        assert_near(x.T[1:, 1:] @ y[1:], wide(a).T[1:, 1:] @ wide(b)[1:])


def test_long_vectors(context):
    """Sizes from which a GPU reads packs."""
    rng = np.random.default_rng(0)
    for dtype, (m, n) in itertools.product(
        ("float32", "float16", "complex64"), [(1030, 4100), (9000, 260)]
    ):
        a = rng.standard_normal((m, n)).astype(dtype)
        v = rng.standard_normal(n).astype(dtype)
        x, dv = (
            gpuarray.asarray(a, context=context),
            gpuarray.asarray(v, context=context),
        )
        assert_near(x @ dv, wide(a) @ wide(v))
        assert_near(x.T.copy().T @ dv, wide(a) @ wide(v))
        assert_near(x[1:, 1:] @ dv[1:], wide(a)[1:, 1:] @ wide(v)[1:])


def test_what_is_not_read_may_be_nan(context):
    x = gpuarray.asarray(np.ones((3, 4), "f4"), context=context)
    c = gpuarray.full((3, 3), np.nan, "float32", context=context)
    gpuarray.gemm(1, x, x, 0, c, "N", "T", overwrite_c=True)
    assert_same(c, np.full((3, 3), 4, "f4"))
    c = gpuarray.full((3, 3), np.nan, "float32", context=context)
    gpuarray.gemm(1, x[:, :0], x[:, :0], 0, c, "N", "T", overwrite_c=True)
    assert_same(c, np.zeros((3, 3), "f4"))
    y = gpuarray.full((3,), np.nan, "float32", context=context)
    gpuarray.gemv(1, x[:, :0], x[0, :0], 0, y, overwrite_y=True)
    assert_same(y, np.zeros(3, "f4"))


def test_tf32_is_a_choice(context):
    """Whole numbers below 1024 are exact in tf32 too."""
    host = np.arange(64, dtype="f4").reshape(8, 8)
    x = gpuarray.asarray(host, context=context)
    for on in (True, False):
        gpuarray.allow_tf32(on, context)
        assert_same(x @ x, host @ host)


def test_inputs_that_overlap_the_output(context):
    host = np.arange(16, dtype="f4").reshape(4, 4)
    x = gpuarray.asarray(host, context=context)
    gpuarray.gemm(1, x, x, 0, x, overwrite_c=True)
    assert_same(x, host @ host)
    x = gpuarray.asarray(host, context=context)
    gpuarray.gemv(1, x, x[0], 0, x[1], overwrite_y=True)
    assert_same(x[1], host @ host[0])
    x = gpuarray.asarray(host, context=context)
    gpuarray.ger(1, x[0], x[1], x, overwrite_a=True)
    assert_same(x, host + np.outer(host[0], host[1]))


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_bias_and_relu(context, dtype):
    a, b = values(dtype, (5, 7)), values(dtype, (7, 6), 1)
    bias = values(dtype, (6,), 2)
    x, y, v = (gpuarray.asarray(h, context=context) for h in (a, b, bias))
    want = wide(a) @ wide(b) + wide(bias)
    assert_near(gpuarray.gemm_bias(x, y, v), want)
    assert_near(gpuarray.gemm_bias(x, y, v, relu=True), np.maximum(want, 0))
    assert_near(
        gpuarray.gemm_bias(y, x, v[:5][::-1], True, "T", "T"),
        np.maximum(wide(b).T @ wide(a).T + wide(bias)[:5][::-1], 0),
    )


@pytest.mark.parametrize("shapes", [(1, 7, 6), (5, 7, 1), (1, 7, 1), (5, 1, 6)])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_bias_of_a_single_row_or_column(context, dtype, shapes):
    if dtype == "float64" and not gpuarray.context(context).has_double:
        pytest.skip(f"{context} has no float64")
    m, k, n = shapes
    a, b = values(dtype, (m, k)), values(dtype, (k, n), 1)
    bias = values(dtype, (n,), 2)
    x, y, v = (gpuarray.asarray(h, context=context) for h in (a, b, bias))
    want = wide(a) @ wide(b) + wide(bias)
    assert_near(gpuarray.gemm_bias(x, y, v), want)
    assert_near(gpuarray.gemm_bias(x, y, v, relu=True), np.maximum(want, 0))


def test_stacks_that_broadcast(context):
    for a, b in [
        ((4, 1, 2, 3), (5, 3, 2)),
        ((2, 3, 2, 3), (2, 1, 3, 4)),
        ((1, 1, 2, 3), (2, 3, 3, 4)),
        ((0, 2, 3), (3, 4)),
        ((2, 0, 3), (2, 3, 4)),
        ((2, 2, 0), (2, 0, 4)),
    ]:
        left, right, x, y = operands(context, a, b, "float32")
        assert_same(x @ y, left @ right, rtol=1e-4)
    left, right, x, y = operands(context, (4, 3, 2, 3), (3, 4, 3, 2), "float32")
    left, x = left[::2, ::-1], x[::2, ::-1]
    right, y = right[:, ::2].transpose(1, 0, 2, 3), y[:, ::2].transpose(1, 0, 2, 3)
    assert_same(x @ y, left @ right, rtol=1e-4)


def test_wrong_calls_say_what_is_wrong(null):
    x = gpuarray.zeros((3, 4), context=null)
    v = gpuarray.zeros((4,), context=null)
    n = gpuarray.zeros((3, 4), "int32", null)
    wrong = [
        (lambda: gpuarray.gemm(1, x, x), ValueError, "inner dimensions 4 and 3"),
        (lambda: gpuarray.gemm(1, x, x, 1, None, "N", "T"), ValueError, "beta is 1"),
        (lambda: gpuarray.gemm(1, x, v), TypeError, "expected 2 axes"),
        (lambda: gpuarray.gemm(1, x, x, trans_a="X"), ValueError, "got 'X'"),
        (lambda: gpuarray.gemm(1j, x, x, 0, None, "N", "T"), ValueError, "imaginary"),
        (lambda: gpuarray.gemv(1, x, x[:, 0]), ValueError, "expected X of 4"),
        (lambda: gpuarray.ger(1, v, v, x), ValueError, "expected A of"),
        (lambda: gpuarray.vdot(x, v), ValueError, "elements"),
        (lambda: gpuarray.gemm(1, x, n), ValueError, "int32"),
        (
            lambda: gpuarray.gemm(
                1, x, x, 0, v[:3].broadcast_to((3, 3)), "N", "T", overwrite_c=True
            ),
            ValueError,
            "written|writeable|read-only|repeats",
        ),
    ]
    for call, kind, text in wrong:
        with pytest.raises(kind, match=text):
            call()


def test_a_product_into_an_output(context):
    host = np.arange(6.0).reshape(2, 3)
    a = gpuarray.asarray(host, context=context)
    out = gpuarray.zeros((2, 2), context=context)
    assert gpuarray.matmul(a, a.T, out=out) is out
    assert_same(out, host @ host.T)
    assert np.matmul(a, a.T, out=out) is out
    with pytest.raises(ValueError, match="matmul: out has shape"):
        gpuarray.matmul(a, a.T, out=out[0])


def test_a_product_in_place(context):
    """Stored into the array itself, which others see; refused where NumPy refuses."""
    host = np.arange(9.0).reshape(3, 3)
    for row in (np.s_[:], np.s_[1], np.s_[:, ::-1]):
        judged, a = host.copy(), gpuarray.asarray(host, context=context)
        part, seen = judged[row], a[row]
        part @= host
        seen @= a.copy()
        assert_same(a, judged)
    whole = gpuarray.asarray(host, context=context)
    same = whole
    whole @= whole
    assert same is whole
    assert_same(same, host @ host)
    with pytest.raises(ValueError, match="out has shape"):
        whole @= whole[0]
    integers = gpuarray.asarray(host.astype(int), context=context)
    with pytest.raises(TypeError, match="float64 cannot be stored as int64"):
        integers @= whole
