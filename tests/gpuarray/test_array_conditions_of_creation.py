"""Both sides of conditions where arrays are made, in operators and kernels of text."""

import gpuarray
import numpy as np
import pytest
from calls import assert_as_numpys, label, moved, ours
from gpuarray.errors import (
    BadArgument,
    BadType,
    BadValue,
    KernelError,
    TooLarge,
    Unsupported,
)
from judge import assert_same

RANDOM = np.random.default_rng(15)
A = RANDOM.normal(size=(2, 3, 4))
M = RANDOM.normal(size=(3, 5))
V = np.array([3.0, -1.0, 2.0])
COUNTS = np.arange(12).reshape(3, 4) % 7 - 3
C = M + 1j * M[::-1]
INFINITE = np.array([-np.inf, -0.0, 0.0, 4.0, np.inf, np.nan])

# ---- made of numbers ----

MADE = [
    *(("arange", *ends) for ends in ((5,), (0,), (-3,), (2, 7), (7, 2), (7, 2, -2),
                                    (0, 1, 0.25), (2.0,), (1, 2, 0.3), (5, 5))),
    ("arange", 5, {"dtype": "float32"}), ("arange", 1, 4, {"dtype": "uint8"}),
    *(("linspace", 0, 3, num) for num in (0, 1, 2, 5)), ("linspace", 1, 2),
    *(("linspace", 0, 3, 4, {"endpoint": end, "retstep": step})
      for end in (True, False) for step in (True, False)),
    ("linspace", V, 1.0, 3, {"axis": 1}), ("linspace", V, V * 2, 3, {"axis": -1}),
    ("linspace", 0, 9, 4, {"dtype": "int32"}), ("linspace", 1j, 2, 3),
    ("logspace", 0, 2, 4), ("logspace", 0, 2, 4, {"endpoint": False, "base": 2}),
    ("logspace", 0, 2), ("logspace", V, 1, 3, {"axis": 1, "dtype": "float32"}),
    ("geomspace", 1, 16, 5), ("geomspace", 1, 16, 4, False), ("geomspace", 1, 16),
    ("geomspace", V + 2, 9.0, 3, {"axis": 1, "dtype": "float32"}),
    *((name, shape, dtype) for name in ("zeros", "ones")
     for shape in (3, (), (2, 0), [2])
      for dtype in ("float32", "bool", "complex64")),
    *(("full", (2, 3), value) for value in (1, 2.5, True, 1j, V)),
    ("full", 2, 300, {"dtype": "int16"}), ("full", 3, V, {"dtype": "int8"}),
    *((name, x, *value) for name, *value in (("zeros_like",), ("ones_like",),
                                            ("full_like", 3))
      for x in (A, COUNTS, M.T)),
    ("full_like", COUNTS, 2.7), ("zeros_like", A, {"shape": (2, 2)}),
    ("ones_like", A, {"dtype": "int8"}),
    ("ones_like", A, {"shape": 4, "dtype": "bool"}),
    *(("eye", *sizes) for sizes in ((3,), (2, 4), (4, 2), (3, 3, 1), (3, 4, -1),
     (2, 2, 5),
                                   (0,), (3, None, 2))),
    ("eye", 2, {"dtype": "int8"}), ("identity", 3), ("identity", 2, "complex64"),
    *(("tri", *sizes) for sizes in ((3,), (2, 4), (4, 2), (3, 3, 1), (3, 4, -1))),
    ("tri", 2, {"dtype": "bool"}),
    *(("indices", (2, 3), {"dtype": dtype, "sparse": sparse})
      for dtype in (int, "float32", "int8") for sparse in (True, False)),
    ("indices", (4,)), ("indices", ()), ("diag_indices", 3), ("diag_indices", 2, 3),
    *((f"{name}_indices", 3, *more) for name in ("tril", "triu")
      for more in ((), (1,), (-1,), (0, 5), (1, 2))),
    *(("asarray", x) for x in ([1, 2], [1.5, 2], [[True], [False]], 3, 2.5, 1j, (1, 2),
                               V.astype("float32"), A.T, [], [[]], np.int8(3))),
    ("asarray", [1, 2], "float32"), ("asarray", V, {"dtype": "complex64"}),
    ("array", V, {"ndmin": 3}), ("array", [[1, 2]], {"ndmin": 1}),
    ("array", A, {"dtype": "int32"}), ("ascontiguousarray", A.T),
    ("asfortranarray", A), ("copy", A.T),
]  # fmt: skip


@pytest.mark.parametrize("call", MADE, ids=label)
def test_what_is_made_is_numpys(first_context, call):
    before = gpuarray.get_default_context()
    gpuarray.set_default_context(first_context)
    try:
        assert_as_numpys(call, first_context)
    finally:
        gpuarray.set_default_context(before)


NOT_MADE = [
    (BadValue, "arange", "arange", 0, 1, 0),
    (BadValue, "linspace", "linspace", 0, 1, -1),
    (BadType, "arange", "arange", "a"), (BadType, "linspace", "linspace", 0, 1, 1.5),
    (BadValue, "negative length", "zeros", -1), (BadType, "shape", "ones", 1.5),
    (BadValue, "33 dimensions", "zeros", (1,) * 33),
    (BadType, "dtypes", "zeros", 1, "x"),
    (BadArgument, "dtype .* is not offered", "zeros", 1, "U3"),
    (BadValue, "", "full", (2, 2), V), (BadType, "asarray", "asarray", "text"),
    (BadValue, "geomspace", "geomspace", 0, 1),
]  # fmt: skip


@pytest.mark.parametrize("case", NOT_MADE, ids=lambda case: label(case[2:]))
def test_what_is_not_made_says_why(first_context, case):
    kind, fact, *call = case
    with pytest.raises(kind, match=fact or None):
        ours(call, first_context)


# ---- operators ----


def test_powers_that_numpy_takes_by_themselves(first_context):
    for dtype in ("float64", "float32", "complex64"):
        host = INFINITE.astype(dtype)
        for power in (0.5, 2, 2.0, 1.5, 3):
            with np.errstate(all="ignore"):
                told = host**power
            if dtype != "complex64" or power == 2:
                assert_same(moved(host, first_context) ** power, told)
    counts = moved(COUNTS, first_context)
    assert_same(counts**2, COUNTS**2)
    assert_same(moved(COUNTS + 3, first_context) ** 0.5, (COUNTS + 3) ** 0.5)
    assert_same(moved(COUNTS.astype("uint8") % 9, first_context) ** 2,
                (COUNTS.astype("uint8") % 9) ** 2)  # fmt: skip


def test_an_operator_has_a_kernel_for_each_dtype_and_side(first_context):
    for dtype in ("int32", "float32", "float64", "int8"):
        host = COUNTS.astype(dtype)
        a = moved(host, first_context)
        assert_same(-a, -host)
        assert_same(abs(a), abs(host))
        assert_same(5 - a, 5 - host)
        assert_same(a - 5, host - 5)
        assert_same(a - 1.5, host - 1.5)
        assert_same(1.5 - a, 1.5 - host)
        assert_same(a < 2, host < 2)
        assert_same(a > 2, host > 2)
        assert_same(divmod(a, 2)[0], host // 2)
        assert_same(divmod(a, 2)[1], host % 2)
        assert_same(divmod(7, a + 4)[0], 7 // (host + 4))
        assert_same(divmod(7, a + 4)[1], 7 % (host + 4))
        a -= 1
        host -= 1
        assert_same(a, host)
    z = moved(C, first_context)
    z += 1j
    z *= 2 + 1j
    z -= 1
    assert_same(z, (C + 1j) * (2 + 1j) - 1)
    a = moved(COUNTS, first_context)
    for name in ("and", "or", "xor", "lshift", "rshift"):
        method, reflected = f"__{name}__", f"__r{name}__"
        assert_same(getattr(a, method)(2), getattr(COUNTS, method)(2))
        if "shift" not in name:
            assert_same(getattr(a, reflected)(6), getattr(COUNTS, reflected)(6))
    assert_same(~a, ~COUNTS)
    assert_same(+a, +COUNTS)
    small = moved(COUNTS.astype("float32"), first_context)
    assert np.isinf(np.asarray(small + 1e300)).all()  # without a warning
    half = moved(np.array([2048.0, 1.0], "float16"), first_context)
    assert_same(half + 0.3333, np.array([2048.0, 1.0], "float16") + 0.3333)
    with pytest.raises(BadValue, match="shape"):
        a + moved(V[:2], first_context)
    with pytest.raises(TooLarge, match="integer 300 is out of bounds for int8"):
        moved(COUNTS.astype("int8"), first_context) + 300
    with pytest.raises(TypeError):
        a + "x"
    assert_same(a == None, np.zeros(a.shape, bool))  # noqa: E711
    assert_same(a != None, np.ones(a.shape, bool))  # noqa: E711
    with pytest.raises(BadType, match="got a list, expected an array or a number"):
        a == [1]  # noqa: B015
    assert (a == np.array(2)).dtype == bool
    assert_same(a + np.array(2), COUNTS + np.array(2))


def test_products_with_arrays_of_the_host(first_context):
    a = moved(M, first_context)
    with pytest.raises(TypeError, match="unsupported operand"):
        a @ 3
    with pytest.raises(TypeError, match="unsupported operand"):
        3 @ a
    with pytest.raises(BadType, match="matmul: an operand is a NumPy array of shape"):
        a @ M.T
    with pytest.raises(BadType, match="an operand is a NumPy array of shape"):
        M.T @ a
    with pytest.raises(BadType, match="an operand is a NumPy array of shape"):
        a.__rmatmul__(M.T)
    with pytest.raises(TypeError, match="unsupported operand"):
        a @= 3
    before = gpuarray.set_implicit_conversion(True)
    try:
        assert_same(a @ M.T, M @ M.T)
        assert_same(M.T @ a, M.T @ M)
        assert_same(a.__rmatmul__(M.T), M.T @ M)
        assert_same(a + M, M + M)
    finally:
        gpuarray.set_implicit_conversion(before)
    square = moved(M[:, :3], first_context)
    square @= square
    assert_same(square, M[:, :3] @ M[:, :3])


def test_methods_and_parts(first_context):
    a, z = moved(M, first_context), moved(C, first_context)
    assert a.real is a
    assert_same(a.imag, np.zeros(M.shape))
    assert_same(z.real, C.real)
    assert_same(z.imag, C.imag)
    z.real, z.imag = 5, a
    assert_same(z, 5 + 1j * M)
    with pytest.raises(BadType, match="imag: an array of float64 has no imaginary"):
        a.imag = 3
    a.real = 7
    assert_same(a, np.full(M.shape, 7.0))
    assert_same(z.conj(), 5 - 1j * M)
    a = moved(M, first_context)
    assert_same(a.compress([True, False, True], 0), M.compress([True, False, True], 0))
    for order in ("C", "F"):
        assert_same(a.flatten(order), M.flatten(order))
        assert a.tobytes(order) == M.tobytes(order)
    flat = a.flatten()
    flat.fill(2)
    assert_same(flat, np.full(15, 2.0))
    assert_same(a, M)
    assert M[1, 2] in a
    assert 17.0 not in a
    assert [x.shape for x in a] == [(5,)] * 3
    with pytest.raises(TooLarge):
        moved(COUNTS.astype("int8"), first_context).fill(300)


def test_an_array_prints_as_numpys(first_context):
    for host in (
        M,
        COUNTS,
        np.array(3.5),
        np.zeros((2, 0)),
        np.zeros(0),
        COUNTS > 0,
        np.arange(2000),
        np.arange(40000.0).reshape(200, 200),
        np.arange(9000).reshape(3000, 3),
        np.arange(8 * 200).reshape(8, 200),
    ):
        a = moved(host, first_context)
        if host.size:
            assert str(a) == str(host)
            told = np.array2string(host, separator=", ", prefix="array(")
            assert repr(a).startswith(f"array({told}, dtype={host.dtype}, context=")
    assert repr(moved(np.zeros((2, 0)), first_context)).startswith(
        "array([], shape=(2, 0)"
    )
    assert repr(moved(np.zeros(0), first_context)).startswith("array([], dtype=float64")
    assert f"{moved(np.array(3.14159), first_context):.2f}" == "3.14"
    assert f"{moved(V, first_context)}" == str(V)
    for edge in (1, 2):
        with np.printoptions(threshold=8, edgeitems=edge):
            for host in (np.arange(9), np.arange(40).reshape(5, 8), COUNTS):
                assert str(moved(host, first_context)) == str(host)


# ---- libgpuarray's elementwise helpers ----


def test_operators_by_their_text(first_context):
    from gpuarray import elemwise as e

    a, b = moved(COUNTS, first_context), moved(COUNTS[0] + 5, first_context)
    assert_same(e.elemwise1(a, "-"), -COUNTS)
    assert_same(e.elemwise1(a, "-", oper="res = a * 3"), COUNTS * 3)
    assert_same(e.elemwise1(a, "2 *", op_tmpl="res = %(op)s (a + 1)"), 2 * (COUNTS + 1))
    out = gpuarray.zeros(COUNTS.shape, "float32", first_context)
    assert e.elemwise1(a, "-", out=out) is out
    assert_same(out, -COUNTS.astype("float32"))
    assert_same(e.elemwise2(a, "*", b, a, broadcast=True), COUNTS * (COUNTS[0] + 5))
    assert_same(e.elemwise2(b, "-", a, a, broadcast=True), COUNTS[0] + 5 - COUNTS)
    assert_same(e.elemwise2(a, "*", 2.5, a), COUNTS * 2.5)
    assert_same(e.elemwise2(2, "-", a, a), 2 - COUNTS)
    assert_same(e.elemwise2(a, "/", a, a, odtype="float32", oper="res = a + b"),
                (COUNTS * 2).astype("float32"))  # fmt: skip
    assert_same(e.elemwise2(a, "+", 1, a, op_tmpl="res = a %(op)s 2 * b"), COUNTS + 2)
    with pytest.raises(BadValue):
        e.elemwise2(a, "*", b, a)
    with pytest.raises(BadType, match=r"elemwise: got ndarray of shape \(3,\)"):
        e.elemwise2(a, "*", V, a)
    assert_same(e.compare(a, "<", b, broadcast=True), COUNTS[0] + 5 > COUNTS)
    assert_same(e.compare(b, "<", a, broadcast=True), COUNTS[0] + 5 < COUNTS)
    assert_same(e.compare(a, "<=", 0), COUNTS <= 0)
    assert e.ielemwise2(a, "+", 10) is a
    assert_same(a, COUNTS + 10)
    e.ielemwise2(a, "", 0, oper="a = a * 2")
    e.ielemwise2(a, "-", b, broadcast=True)
    assert_same(a, (COUNTS + 10) * 2 - COUNTS[0] - 5)
    for refused in (b, b[None]):
        with pytest.raises(BadValue):
            e.ielemwise2(a, "-", refused)
    e.ielemwise2(a, "-", 1, op_tmpl="a = b %(op)s a")
    assert_same(a, 1 - ((COUNTS + 10) * 2 - COUNTS[0] - 5))
    z = moved(C, first_context)
    assert_same(e.elemwise1(z, "-"), -C)
    assert_same(e.elemwise2(z, "*", z, z), C * C)
    assert_same(e.compare(z, "==", z), C == C)
    with pytest.raises(Unsupported, match="'%' is not offered for complex numbers"):
        e.elemwise2(z, "%", z, z)
    for how in ({"oper": "res = a"}, {"op_tmpl": "res = a"}):
        assert_same(e.elemwise1(z, "%", **how), C)
        assert_same(e.elemwise2(z, "%", z.conj(), z, **how), C)
    for how in ({"oper": "a = b"}, {"op_tmpl": "a = b"}):
        assert_same(e.ielemwise2(z.copy(), "%", z.conj(), **how), C.conj())
    with pytest.raises(BadType, match="complex128 is not stored as float64"):
        e.elemwise2(z, "+", z, z, odtype="float64")
    with pytest.raises(BadValue, match="none of read, write and scalar is set"):
        e.arg("x", "float32")
    with pytest.raises(BadType, match="args must be a list of"):
        e.GpuElemwise(first_context, "y = 1", ["y"])
    f8 = np.dtype("float64")
    args = [e.arg("y", f8, write=True), e.arg("x", f8, read=True)]
    args.append(e.arg("s", f8, scalar=True))
    scaled = e.GpuElemwise(first_context, b"y = TWICE(s) * x", args,
                           preamble=b"#define TWICE(x) (2 * (x))")  # fmt: skip
    y, x = gpuarray.zeros(M.shape, "float64", first_context), moved(M, first_context)
    scaled(y, x, np.array([3.0]))
    assert_same(y, 6 * M)
    scaled(y, x[:1], 0.5)
    assert_same(y, np.broadcast_to(M[:1], M.shape))
    for wrong, how, kind, fact in (
        ((y, x), {}, BadType, "2 arguments, expected 3"),
        ((y, M, 1.0), {}, BadType, "x is ndarray, expected a gpuarray array"),
        ((y, x, V), {}, BadType, r"s is ndarray of shape \(3,\), expected a number"),
        ((y, x[:1], 1.0), {"broadcast": False}, BadValue, "GpuElemwise"),
        ((y, x[0], 1.0), {"padshape": False}, BadValue, "GpuElemwise"),
    ):
        with pytest.raises(kind, match=fact):
            scaled(*wrong, **how)
    scaled(y, x, 1.0, broadcast=False)
    assert_same(y, 2 * M)


def test_kernels_of_each_element(first_context):
    make = gpuarray.ElementwiseKernel
    x = moved(M, first_context)
    kernel = make("T x", "T y", "x += 1; y = x * 2", "shift")
    assert_same(kernel(x), (M + 1) * 2)
    assert_same(x, M)  # an input that the text changes stays as it is
    out = gpuarray.zeros(M.shape, "float64", first_context)
    assert kernel(x, out) is out
    placed = make("T x", "T y", "x += 1; y = x * 2 + i", "shift")
    assert_same(placed(x), (M + 1) * 2 + np.arange(15).reshape(3, 5))
    assert_same(x, M)
    strided = gpuarray.zeros((5, 3), "float64", first_context).T
    placed(x, strided)
    assert_same(strided, (M + 1) * 2 + np.arange(15).reshape(3, 5))
    assert_same(placed(x.T), (M.T + 1) * 2 + np.arange(15).reshape(5, 3))
    assert_same(make("int32 s", "float32 y", "y = s * i")(3, size=4),
                np.arange(0, 12, 3, dtype="float32"))  # fmt: skip
    assert_same(make("raw T x, int32 s", "T y", "y = x[n - 1 - i] * s", "back")(
        x[0].copy(), 2, size=5), M[0, ::-1] * 2)  # fmt: skip
    pair = make("T x, T y", "T a, T b", "a = x + y; b = x - y", "pair")
    made = pair(x, 2.5)
    assert_same(made[0], M + 2.5)
    assert_same(made[1], M - 2.5)
    assert isinstance(make("T x", "T y", "y = x", return_tuple=True)(x), tuple)
    assert make("T x", "T y", "y = x", no_return=True)(x, out) is None
    scale = make("double a, double *x, double *y", "y[i] = a * x[i]", "scale")
    assert scale(3.0, x, out) is None
    assert_same(out, 3 * M)
    for call, kind, fact in (
        (lambda: make("T x", "T y"), BadType, "no operation is given"),
        (
            lambda: kernel(),
            BadType,
            "0 arguments, expected 1 inputs, and then no output",
        ),
        (lambda: kernel(x, M), BadType, "an output is of"),
        (lambda: placed(1.0), BadValue, "nothing says how many elements"),
        (lambda: scale(3.0, x.T, out), BadValue, "x is not contiguous; give x.copy"),
        (lambda: make("T x", "T y", "y = nothing(x)")(x), KernelError, "nothing"),
    ):
        with pytest.raises(kind, match=fact):
            call()


def test_fused_functions_see_numbers_as_numpy_does(first_context):
    flags = COUNTS > 0
    for function, host in (
        (lambda x: x + True, flags), (lambda x: x + True, COUNTS),
        (lambda x: np.logical_and(x, 5), COUNTS), (lambda x: x * 2.5 + 1, COUNTS),
        (lambda x: x + np.float32(1.5), COUNTS.astype("float32")),
        (lambda x: (x + 1).astype("float16") * 2, M), (lambda x: 1 - x / 3, M),
        (lambda x: np.maximum(x, 0) + 1j, M), (lambda x: x * 2**40, COUNTS),
        (lambda x: x - x.sum(), M), (lambda x: x.mean(0) + x, M),
    ):  # fmt: skip
        fused = gpuarray.fuse(function)
        assert_same(fused(moved(host, first_context)), np.asarray(function(host)))
        assert_same(
            fused(moved(host[:1], first_context)), np.asarray(function(host[:1]))
        )
