"""Cases of functions: products, linear algebra, transforms, what is made of them."""

from __future__ import annotations

import numpy as np
from functions import CASES, COMPLEX, EVERY, FLOATS, INTEGERS, Case, case

# ---- products ----


def _factors(d, dtypes=FLOATS[1:] + COMPLEX):
    dtype = d.pick(*dtypes)
    m, k, n = (d.length(1, 6) for _ in range(3))
    return dtype, m, k, n


@case("matmul", rtol=50)
def _(d):
    dtype, m, k, n = _factors(d, (*INTEGERS, *FLOATS, *COMPLEX))
    stack = d.pick((), (3,), (2, 1))
    left = d.pick((*stack, m, k), (m, k), (k,))
    right = d.pick((k, n), (k,), (*stack, k, n))
    one, other = (d.array((dtype,), shape=s, special=False) for s in (left, right))
    return (one, other), {}


@case("dot", rtol=50)
def _(d):
    dtype, m, k, n = _factors(d)
    left = d.pick((), (k,), (m, k), (2, m, k))
    right = d.pick((), (k,), (k, n), (3, k, n))
    return tuple(d.array((dtype,), shape=s, special=False) for s in (left, right)), {}


@case("vdot", rtol=50)
def _(d):
    dtype, m, k, _ = _factors(d)
    left, right = d.pick((k,), (m, k)), d.pick((k,), (m, k))
    return tuple(d.array((dtype,), shape=s, special=False) for s in (left, right)), {}


@case("inner", rtol=50)
def _(d):
    dtype, m, k, n = _factors(d)
    left, right = d.pick((), (k,), (m, k), (2, m, k)), d.pick((), (k,), (n, k))
    return tuple(d.array((dtype,), shape=s, special=False) for s in (left, right)), {}


@case("vecdot", "linalg.vecdot", rtol=50)
def _(d):
    dtype, m, k, _ = _factors(d)
    shape = d.pick((k,), (m, k), (2, m, k))
    operands = [d.array((dtype,), shape=shape, special=False) for _ in "ab"]
    return tuple(operands), {"axis": d.number(-len(shape), -1)}


@case("outer", rtol=50)
def _(d):
    dtype, m, _, n = _factors(d)
    left, right = d.pick((m,), (2, m)), d.pick((n,), (n, 2), ())
    return tuple(d.array((dtype,), shape=s, special=False) for s in (left, right)), {}


@case("kron", rtol=50)
def _(d):
    dtype, m, k, n = _factors(d)
    left, right = d.pick((m,), (m, k)), d.pick((n,), (n, 2), (2, n, 2))
    return tuple(d.array((dtype,), shape=s, special=False) for s in (left, right)), {}


@case("tensordot", rtol=50)
def _(d):
    dtype, m, k, n = _factors(d)
    a = d.array((dtype,), shape=(m, k, n), special=False)
    b = d.array((dtype,), shape=(k, n, m), special=False)
    return (a, b), {"axes": d.pick(2, ([1, 2], [0, 1]), ([1], [0]), ([0], [2]))}


@case("einsum", rtol=50)
def _(d):
    dtype, m, k, n = _factors(d)
    texts = ("ij,jk->ik", "ij,jk", "ij,jk->ki", "ij,jk->", "ij,jk->ijk")
    a = d.array((dtype,), shape=(m, k), special=False)
    b = d.array((dtype,), shape=(k, n), special=False)
    return (d.pick(*texts), a, b), {"optimize": d.pick(False, True, "greedy")}


@case("linalg.cross", rtol=50)
def _(d):
    dtype, axis = d.pick(*FLOATS[1:]), d.pick(-1, 0, 1)
    shape = (3, 4) if axis == 0 else (4, 3)
    operands = [d.array((dtype,), shape=shape, special=False) for _ in "ab"]
    return tuple(operands), {"axis": axis}


# ---- linear algebra: matrices far from singular ----


def _matrix(d, rows=None, columns=None, dtypes=("float32", "float64", *COMPLEX)):
    dtype, n = d.pick(*dtypes), d.length(1, 6)
    stack = d.pick((), (), (3,), (2, 2))
    shape = (*stack, n if rows is None else rows, n if columns is None else columns)
    found = d.values(shape, dtype, special=False)
    if shape[-1] == shape[-2]:
        found = found + 12 * np.eye(shape[-1], dtype=dtype)
    return found.astype(dtype)


@case("linalg.inv", "linalg.det", "linalg.slogdet", rtol=2000, waits="solver")
@case("linalg.svdvals", rtol=2000, waits="solver")
def _(d):
    return (_matrix(d),), {}


@case("linalg.cond", rtol=2000, waits="solver")
def _(d):
    return (_matrix(d),), {"p": d.pick(None, 2, -2, 1, -1, np.inf, -np.inf, "fro")}


@case("linalg.matrix_norm", rtol=2000)
def _(d):
    orders = ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
    return (_matrix(d, d.pick(None, 3)),), {
        "ord": d.pick(*orders),
        "keepdims": d.flag(),
    }


def _of_low_rank(d, hermitian):
    """Matrices, some of them with rows that are others' sums."""
    a = _matrix(d, None if hermitian else d.pick(None, 3))
    if hermitian:
        return a + a.swapaxes(-1, -2).conj()
    if d.flag():
        a[..., -1, :] = a[..., 0, :]
    return a


@case("linalg.matrix_rank", rtol=2000, waits="solver")
def _(d):
    hermitian = d.flag()
    how = d.pick({}, {"tol": 0.5}, {"rtol": 0.1}, {"tol": np.array(4.0)})
    return (_of_low_rank(d, hermitian),), {"hermitian": hermitian, **how}


@case("linalg.pinv", rtol=2000, waits="solver")
def _(d):
    hermitian = d.flag()
    a = _matrix(d, None if hermitian else d.pick(None, 3))
    if d.flag():  # its least singular value is one that some limits leave out
        a[..., -1, :] *= a.dtype.type(1e-4)
    a = a + a.swapaxes(-1, -2).conj() if hermitian else a
    how = d.pick({}, {"rcond": 1e-2}, {"rtol": 1e-2})
    return (a,), {"hermitian": hermitian, **how}


@case("linalg.matrix_transpose", rtol=20)
def _(d):
    return (d.array(FLOATS, low=2, special=False),), {}


@case("linalg.diagonal", "linalg.trace", rtol=20)
def _(d):
    return (d.array(FLOATS, low=2, special=False),), {"offset": d.number(-2, 2)}


@case("linalg.outer", rtol=50)
def _(d):
    dtype, m, _, n = _factors(d)
    return tuple(d.array((dtype,), shape=(s,), special=False) for s in (m, n)), {}


@case("linalg.matmul", rtol=50)
def _(d):
    dtype, m, k, n = _factors(d)
    left, right = d.pick((k,), (m, k), (2, m, k)), d.pick((k,), (k, n), (2, k, n))
    return tuple(d.array((dtype,), shape=s, special=False) for s in (left, right)), {}


@case("matvec", "vecmat", rtol=50)
def _(d):
    dtype, m, k, _ = _factors(d)
    stack = d.pick((m, m), (m, k), (2, m, k), (2, 1, m, m))
    vector = d.pick((m,), (k,), (2, m), (3, 1, k), (m, m))
    return (stack, vector, dtype), {}


def _drawn_factors(draw, is_left):
    """A stack of matrices and one of vectors, in the order of the function."""

    def both(d):
        (*shapes, dtype), options = draw(d)
        operands = [d.array((dtype,), shape=s, special=False) for s in shapes]
        return tuple(operands if is_left else operands[::-1]), options

    return both


for _name in ("matvec", "vecmat"):
    CASES[_name] = Case(
        _name, _drawn_factors(CASES[_name].draw, _name == "matvec"), rtol=50
    )


@case("linalg.tensordot", rtol=50)
def _(d):
    dtype, m, k, _ = _factors(d)
    a, b = (d.array((dtype,), shape=s, special=False) for s in ((m, k), (k, m)))
    return (a, b), {"axes": d.pick(1, 2, ([1], [0]))}


@case("linalg.multi_dot", rtol=50)
def _(d):
    dtype, m, k, n = _factors(d)
    shapes = ((m, k), (k, n), (n, m))
    return ([d.array((dtype,), shape=s, special=False) for s in shapes],), {}


@case("linalg.tensorinv", rtol=2000, waits="solver")
def _(d):
    a = d.values((6, 2, 3), d.pick("float32", "float64"), special=False)
    eye = np.eye(6, dtype=a.dtype).reshape(6, 2, 3)
    return (a + 12 * eye,), {"ind": 1}


@case("linalg.tensorsolve", rtol=2000, waits="solver")
def _(d):
    a = d.values((6, 2, 3), d.pick("float32", "float64"), special=False)
    a = a + 12 * np.eye(6, dtype=a.dtype).reshape(6, 2, 3)
    b = d.values((6,), a.dtype.name, special=False)
    if d.flag():
        return (a.transpose(1, 0, 2), b), {"axes": (0,)}
    return (a, b), {}


@case("linalg.lstsq", rtol=2000, waits="values")
def _(d):
    a = _matrix(d, dtypes=("float32", "float64"))
    a = a.reshape(-1, *a.shape[-2:])[0]
    a = d.pick(a, a, a, a[:0], a[:, :0])
    b = d.values(d.pick(a.shape[:1], (a.shape[0], 2)), a.dtype.name, special=False)
    if d.number(0, 5) == 0:  # which is refused
        a, b = d.pick((a[None], b), (a, b[..., None, None]))
    return (a, b), d.pick({}, {"rcond": 1e-3}, {"rcond": None})


def _definite(d):
    a = _matrix(d)
    return a @ a.swapaxes(-1, -2).conj()


@case("linalg.cholesky", rtol=2000, waits="solver")
def _(d):
    return (_definite(d),), {"upper": d.flag()}


@case("linalg.eigvalsh", rtol=2000, waits="solver")
def _(d):
    """Of one triangle: in the other is something else."""
    a, part = _definite(d), d.pick("L", "U")
    return ((np.tril if part == "L" else np.triu)(a),), {"UPLO": part}


@case("linalg.solve", rtol=2000, waits="solver")
def _(d):
    a = _matrix(d)
    b = d.values((*a.shape[:-1], 2), a.dtype.name, special=False)
    return (a, b), {}


@case("linalg.matrix_power", rtol=2000, waits="solver")
def _(d):
    return (_matrix(d), d.pick(0, 1, 2, 3, -1)), {}


@case("linalg.norm", rtol=200)
def _(d):
    a = d.array(FLOATS[1:] + COMPLEX, low=1, high=3, special=False, least=1)
    orders = (None, None, 1, np.inf, 2, "fro", -1, -np.inf, 3, 0)
    options = {"ord": d.pick(*orders), "keepdims": d.flag()}
    return (a,), options | d.pick({}, {"axis": d.axis(a)})


@case("linalg.vector_norm", rtol=200)
def _(d):
    a = d.array(FLOATS[1:] + COMPLEX, low=1, special=False, least=1)
    options = {"axis": d.axis(a), "ord": d.pick(2, 1, 0, np.inf, 3, -np.inf)}
    return (a,), options | {"keepdims": d.flag()}


# ---- Fourier transforms ----


@case(*(f"fft.{name}" for name in ("fft", "ifft", "rfft", "hfft", "ihfft")), rtol=200)
@case("fft.irfft", rtol=200)
def _(d):
    real = ("float32", "float64")
    a = d.array(real, low=1, high=3, special=False, least=2)
    options = {"axis": d.axis(a, False, False), "n": d.pick(None, None, 3, 8, 13)}
    return (a,), {**options, "norm": d.pick(None, "ortho", "forward", "backward")}


def _transformed(d, axes):
    """Lengths, axes and the norm of a transform over several axes."""
    options = {"norm": d.pick(None, "ortho", "forward", "backward")}
    if axes is None or not d.flag():
        return options
    options["axes"] = axes
    return options | d.pick({}, {"s": [d.pick(3, 4, 5) for _ in axes]})


@case("fft.fftn", "fft.ifftn", "fft.rfftn", "fft.irfftn", rtol=200)
def _(d):
    a = d.array(("float32", "float64"), low=1, high=3, special=False, least=2)
    count = d.number(1, a.ndim)
    axes = [int(i) for i in d.random.permutation(a.ndim)[:count]]
    return (a,), _transformed(d, axes)


@case("fft.fft2", "fft.ifft2", "fft.rfft2", "fft.irfft2", rtol=200)
def _(d):
    a = d.array(("float32", "float64"), 2, 3, least=2, special=False)
    axes = [int(i) - a.ndim for i in d.random.permutation(a.ndim)[:2]]
    return (a,), _transformed(d, axes)


@case("fft.fftshift", "fft.ifftshift")
def _(d):
    a = d.array(low=1)
    return (a,), {"axes": d.axis(a)}


# ---- what is composed of others ----


@case("isposinf", "isneginf")
def _(d):
    return (d.array(),), {}


@case("spacing")
def _(d):
    return (d.array(FLOATS),), {}


@case("bitwise_count")
def _(d):
    return (d.array(("bool", *INTEGERS)),), {}


@case("ldexp")
def _(d):
    a = d.array(FLOATS)
    return (a, d.values(d.broadcast_to(a.shape), d.pick("int32", "int64", "int8"))), {}


# NumPy 2.5 refuses vectors of two elements, which test_any_argument.py has.
CROSSED = [(3, 3), (3, 3), (2, 3), (3, 2), (2, 2)]
if np.lib.NumpyVersion(np.__version__) >= "2.5.0":
    CROSSED = [(3, 3)]


@case("cross", rtol=50)
def _(d):
    dtype, front = d.pick(*INTEGERS, *FLOATS, *COMPLEX), d.pick((), (2,), (3,))
    shapes = ((*front, n) for n in d.pick(*CROSSED))
    a, b = (d.array((dtype,), shape=each, special=False) for each in shapes)
    ends = {"axisa": -1, "axisb": -1, "axisc": d.pick(-1, 0)}
    return (a, b), d.pick({}, ends, {"axis": -1})


@case("block")
def _(d):
    dtype, (m, n) = d.pick(*EVERY), (d.number(1, 4), d.number(1, 4))
    a, b, c = (d.array((dtype,), shape=s) for s in ((m, n), (m, 2), (3, n + 2)))
    vector = d.array((dtype,), shape=(n,))
    return (d.pick([[a, b], [c]], [a, b], [vector, vector], [[vector], [a]], a),), {}


@case("polyval", rtol=50)
def _(d):
    p = d.array(FLOATS[1:], shape=(d.number(0, 5),), special=False)
    return (p, d.array(FLOATS[1:], high=2, special=False)), {}


@case("polyfit", rtol=2000, waits="values")
def _(d):
    dtype, n = d.pick("float32", "float64"), d.number(6, 20)
    x = np.linspace(-1, 2, n).astype(dtype)
    y = d.array((dtype,), shape=d.pick((n,), (n, 2)), special=False)
    weights = np.linspace(1, 2, n).astype(dtype)
    more = {"rcond": 0.3, "full": True}, {"full": True}, {"cov": "unscaled"}
    options = d.pick({}, {"w": weights}, {"cov": True}, *more)
    return (x, y, d.number(0, 3)), options


@case("tril_indices_from", "triu_indices_from")
def _(d):
    return (d.array(low=2, high=2), d.number(-2, 2)), {}


@case("diag_indices_from")
def _(d):
    n = d.number(1, 4)
    return (d.array(shape=d.pick((n, n), (n, n, n), (n, n + 1), (n,))),), {}
