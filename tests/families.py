"""Functions of every family of ops, to be saved and run by programs that know them not.

For each its inputs, its outputs, the arguments of a call of some size, and what NumPy
says of them: a function of its own, or the references of the ops. Factors that are not
determined are multiplied first. `family_files` writes them; the programs in ``clients``
run them.
"""

from functools import partial

import gpuarray.compiler.tensor as T
import numpy as np
from family_rows import of_rows
from family_values import (
    DTYPES,
    F32,
    F32_THREE,
    F64,
    SIZES,
    Family,
    adjoint,
    counts,
    drawn,
    exponential,
    made,
    mixed,
    positive,
    regular,
    repeated,
    small,
    squares,
    unique,
)
from gpuarray.compiler import In, grad, scan, scan_checkpoints, shared
from gpuarray.compiler.ifelse import ifelse
from gpuarray.compiler.scan_module import until
from gpuarray.compiler.tensor import fft, nlinalg, slinalg
from gpuarray.dtypes import as_dtype
from layouts import values


def of_matrices() -> dict[str, Family]:
    """Linear algebra, searches and repeats, in float64."""
    a, b, v = T.dmatrix("a"), T.dmatrix("b"), T.dvector("v")
    t = T.TensorType(F64, (False,) * 3)("t")
    u = T.TensorType(F64, (False,) * 3)("u")
    n = T.lvector("n")
    lin = np.linalg

    def product(*factors):
        found = factors[0]
        for each in factors[1:]:
            found = T.batched_dot(found, each) if found.ndim == 3 else found @ each
        return found

    def unit(x):
        return x.T @ x

    narrow = a.astype("float32")
    q, r = nlinalg.qr(a)
    q2, r2 = nlinalg.qr(a, "complete")
    s_u, s, s_vh = nlinalg.svd(a, full_matrices=False)
    f_u, _, f_vh = nlinalg.svd(a)
    w, vectors = nlinalg.eigh(a)
    eye = np.eye

    def high(size):
        return [drawn(size + 2, size)]

    def wide(size):
        return [drawn(size, size + 3)]

    def square(size):
        return [regular(size, size)]

    def symmetric(size):
        x = drawn(size, size)
        return [x + x.T]

    def thin(x):
        return [x, eye(min(x.shape))]

    return made({
        "inv": ([a], nlinalg.matrix_inverse(a), square, lin.inv),
        "inv of stacks": ([t], nlinalg.matrix_inverse(t),
                          lambda n: [regular(n, 3, 3)], lin.inv),
        "inv of float32": ([a], T.all(abs(
                              narrow @ nlinalg.matrix_inverse(narrow)
                              - T.eye(a.shape[0], dtype="float32")) < 1e-4),
                          square, lambda x: np.True_),
        "solve": ([a, b], slinalg.solve(a, b),
                  lambda n: [regular(n, n), drawn(n, 4)], lin.solve),
        "solve of a vector": ([a, v], slinalg.solve(a, v),
                              lambda n: [regular(n, n), drawn(n)], lin.solve),
        "solve of stacks": ([t, u], slinalg.solve(t, u),
                            lambda n: [regular(n, 3, 3), drawn(1, 3, 2)], lin.solve),
        "lower triangle": ([a, b], slinalg.solve_triangular(a, b, lower=True),
                           lambda n: [regular(n, n), drawn(n, 2)],
                           lambda x, y: lin.solve(np.tril(x), y)),
        "upper triangle": ([a, b], slinalg.solve_triangular(a, b),
                           lambda n: [regular(n, n), drawn(n, 2)],
                           lambda x, y: lin.solve(np.triu(x), y)),
        "det": ([a], nlinalg.det(a), lambda n: [drawn(n, n)], lin.det),
        "det of stacks": ([t], nlinalg.det(t), lambda n: [drawn(n, 4, 4)], lin.det),
        "cholesky": ([a], slinalg.cholesky(a), lambda n: [positive(n, n)],
                     lin.cholesky),
        "upper cholesky": ([t], slinalg.Cholesky(lower=False)(t),
                           lambda n: [positive(n, 3, 3)],
                           lambda x: adjoint(lin.cholesky(x))),
        "cholesky or nan": ([a], slinalg.Cholesky(on_error="nan")(a),
                            lambda n: [-positive(n, n)],
                            lambda x: np.full_like(x, np.nan)),
        "cholesky or nan of stacks": ([t], [
                                          slinalg.Cholesky(on_error="nan")(t),
                                          slinalg.Cholesky(False, "nan")(t[:2])],
                                      lambda n: [mixed(n)],
                                      lambda x: [
                                          lin.cholesky(x) if len(x) < 3
                                          else np.full_like(x, np.nan),
                                          adjoint(lin.cholesky(x[:2]))]),
        "qr": ([a], [q @ r, unit(q), nlinalg.qr(a, "r")], high,
               lambda x: [*thin(x), lin.qr(x, "r")]),
        "qr of wide matrices": ([a], [q @ r, unit(q)], wide, thin),
        "complete qr": ([a], [q2 @ r2, unit(q2)], high,
                        lambda x: [x, eye(x.shape[0])]),
        "raw qr": ([a], nlinalg.qr(a, "raw"), wide, lambda x: lin.qr(x, "raw")),
        "svd": ([a], [(s_u * s) @ s_vh, s, unit(s_u)], high,
                lambda x: [x, lin.svd(x, compute_uv=False), eye(x.shape[1])]),
        "svd of wide matrices": ([a], [(s_u * s) @ s_vh, unit(s_vh.T)], wide, thin),
        "svd of low rank": ([a], [(s_u * s) @ s_vh, unit(s_u)],
                            lambda n: [np.ones((n + 2, n))],
                            lambda x: [x, eye(x.shape[1])]),
        "full svd": ([a], [unit(f_u), unit(f_vh)], wide,
                     lambda x: [eye(x.shape[0]), eye(x.shape[1])]),
        "singular values": ([t], nlinalg.svd(t, compute_uv=False),
                            lambda n: [drawn(n, 3, 4)],
                            lambda x: lin.svd(x, compute_uv=False)),
        "pinv": ([a], nlinalg.pinv(a), wide, lin.pinv),
        "pinv of stacks": ([t], nlinalg.pinv(t), lambda n: [drawn(n, 4, 3)], lin.pinv),
        "eigh": ([a], [(vectors * w) @ vectors.T, w, unit(vectors)], symmetric,
                 lambda x: [x, lin.eigvalsh(x), eye(len(x))]),
        "upper eigh": ([a], nlinalg.eigh(a, "U")[0], square,
                       lambda x: lin.eigvalsh(x, "U")),
        "eigvalsh": ([a], slinalg.eigvalsh(a, None), square, lin.eigvalsh),
        "expm": ([a], slinalg.expm(a), lambda n: [drawn(n, n)], exponential),
        "searchsorted": ([v, b], [T.extra_ops.searchsorted(v, b),
                                  T.extra_ops.searchsorted(v, b, "right")],
                         lambda n: [np.sort(drawn(n).round(1)), drawn(n, 2).round(1)],
                         lambda x, y: [np.searchsorted(x, y),
                                       np.searchsorted(x, y, "right")]),
        "searchsorted by a sorter": ([v, b], T.extra_ops.searchsorted(
                                        v, b, sorter=T.argsort(v)),
                                     lambda n: [drawn(n), drawn(3, n)],
                                     lambda x, y: np.searchsorted(np.sort(x), y)),
        "lstsq": ([a, v], nlinalg.lstsq(a, v, None), lambda n: [*high(n), drawn(n + 2)],
                  squares),
        "lstsq of several": ([a, b], nlinalg.Lstsq(0.1)(a, b),
                             lambda n: [np.outer(drawn(n + 1), drawn(n + 3))
                                        + 1e-4 * drawn(n + 1, n + 3), drawn(n + 1, 2)],
                             lambda x, y: squares(x, y, 0.1)),
        "unique": ([b], T.extra_ops.Unique(True, True, True)(b),
                   lambda n: [repeated(n)], unique),
        "unique values": ([b], T.extra_ops.Unique()(b), lambda n: [repeated(n)],
                          np.unique),
        "unique numbers of runs": ([n], T.extra_ops.Unique(False, False, True)(n),
                                   lambda n: [counts(n)],
                                   lambda x: np.unique(x, return_counts=True)),
        "repeat": ([a, n], [T.repeat(a, n, 0), T.repeat(a.T, n, 1)],
                   lambda k: [drawn(k, 3), counts(k)],
                   lambda x, y: [np.repeat(x, y, 0), np.repeat(x.T, y, 1)]),
    }, rtol=1e-7, atol=1e-8)  # fmt: skip


def of_complex_matrices() -> dict[str, Family]:
    """Complex matrices, and the eigenvalues of matrices without symmetry.

    These are in no order; they are judged by the matrix that they take apart.
    """
    z, c = T.zmatrix("z"), T.zmatrix("c")
    a, t = T.dmatrix("a"), T.TensorType(F64, (False,) * 3)("t")
    lin = np.linalg
    q, r = nlinalg.qr(z)
    s_u, s, s_vh = nlinalg.svd(z, full_matrices=False)
    f_u, _, f_vh = nlinalg.svd(z)
    w, vectors = nlinalg.eigh(z)
    of_real, of_complex, of_stack = (nlinalg.eig(each) for each in (a, z, t))

    square = square_complex

    def high(n):
        return [drawn(n + 2, n) + 1j * drawn(n + 3, n)[1:]]

    def wide(n):
        return [high(n)[0].T.copy()]

    def hermitian(n):
        (x,) = high(n)
        return [adjoint(x).conj() @ x + np.eye(n)]

    def both(n):
        return [*square(n), *high(n)[0][None, :n]]

    def eye(n):
        return np.eye(n, dtype="complex128")

    def unit(x):
        return T.conj(x).T @ x

    def thin(x):
        return [x, eye(min(x.shape))]

    stack, lengths = of_stack
    done = T.batched_dot(t, lengths) - lengths * stack.dimshuffle(0, "x", 1)
    return made({
        "complex inv": ([z], nlinalg.matrix_inverse(z), square, lin.inv),
        "complex solve": ([z, c], slinalg.solve(z, c), both, lin.solve),
        "complex det": ([z], nlinalg.det(z), square, lin.det),
        "complex cholesky": ([z], slinalg.cholesky(z), hermitian, lin.cholesky),
        "complex qr": ([z], [q @ r, unit(q)], high, thin),
        "complex raw qr": ([z], nlinalg.qr(z, "raw"), high, lambda x: lin.qr(x, "raw")),
        "complex svd": ([z], [(s_u * s) @ s_vh, unit(s_u), s], high,
                        lambda x: [*thin(x), lin.svd(x, compute_uv=False)]),
        "wide complex svd": ([z], [(s_u * s) @ s_vh, unit(T.conj(s_vh).T)], wide, thin),
        "full complex svd": ([z], [unit(f_u), unit(f_vh)], wide,
                             lambda x: [eye(n) for n in x.shape]),
        "complex pinv": ([z], nlinalg.pinv(z), wide, lin.pinv),
        "complex eigh": ([z], [(vectors * w) @ T.conj(vectors).T, w, unit(vectors)],
                         hermitian, lambda x: [x, lin.eigvalsh(x), eye(len(x))]),
        "upper complex eigvalsh": ([z], slinalg.eigvalsh(z, None, lower=False), square,
                                   lambda x: lin.eigvalsh(x, "U")),
        "complex expm": ([z], slinalg.expm(z), lambda n: [square(n)[0] / (n + 1)],
                         powers),
        "eig": ([a], apart(a, of_real), lambda n: [drawn(n + 1, n + 1)], is_apart),
        "complex eig": ([z], apart(z, of_complex), lambda n: square(n + 1), is_apart),
        "eig of stacks": ([t], abs(done) < 1e-9, lambda n: [drawn(n, 4, 4)],
                          lambda x: np.ones(x.shape, bool)),
        "eig of triangles": ([a], of_real[0], lambda n: [np.triu(regular(n, n))],
                             lambda x: np.diag(x).astype("c16")),
        "eig of turns": ([a], T.sort(of_real[0].imag), lambda n: [shift(n + 1)],
                         lambda x: np.sort(lin.eigvals(x).imag)),
    }, rtol=1e-7, atol=1e-8)  # fmt: skip


def apart(x, found):
    """Whether the matrix stretches its vectors, and how long they are."""
    values, columns = found
    done = x.dot(columns) - columns * values
    return [abs(done).max() < 1e-9, T.sqr(abs(columns)).sum(-2)]


def is_apart(x):
    return [np.True_, np.ones(len(x))]


def square_complex(n):
    return [regular(n, n) + 1j * drawn(n, n + 1)[:, 1:]]


def shift(n):
    """A matrix whose eigenvalues are the roots of 1, which have one absolute value."""
    return np.roll(np.eye(n), 1, 0)


def powers(x):
    """The exponential by its series, of a small matrix squared."""
    term = total = np.eye(len(x)) + 0j
    for k in range(1, 25):
        term = term @ x / 32 / k
        total = total + term
    return np.linalg.matrix_power(total, 32)


def parts(x):
    return np.stack([x.real, x.imag], -1)


def whole(x):
    return x[..., 0] + 1j * x[..., 1]


def gradient_of_rfft(x):
    """Of the sum of squares of the half of a transform: twice what it is of."""
    return 2 * np.fft.fft(np.fft.rfft(x).conj(), x.shape[1]).real


def of_transforms() -> dict[str, Family]:
    """Fourier transforms, in float64."""
    a, t = T.dmatrix("a"), T.TensorType(F64, (False,) * 3)("t")
    spectra = T.TensorType(F64, (False,) * 4)("spectra")
    # A prime length beyond 61 is a convolution.
    lengths = {size: {8: 67, 33: 97}.get(size, size + 1) for size in SIZES}
    return made({
        "rfft": ([a], fft.rfft(a), lambda n: [drawn(3, lengths[n])],
                 lambda x: parts(np.fft.rfft(x))),
        "rfft over axes": ([t], fft.rfft(t, "ortho"), lambda n: [drawn(2, n + 1, 6)],
                           lambda x: parts(np.fft.rfft2(x, norm="ortho"))),
        "irfft": ([t], [fft.irfft(t), fft.irfft(t, is_odd=True)],
                  lambda n: [drawn(2, lengths[n] // 2 + 2, 2)],
                  lambda x: [np.fft.irfft(whole(x)),
                             np.fft.irfft(whole(x), 2 * x.shape[1] - 1)]),
        "irfft over axes": ([spectra], fft.irfft(spectra),
                            lambda n: [drawn(2, n + 1, 4, 2)],
                            lambda x: np.fft.irfft2(whole(x))),
        "gradient of a transform": ([a], grad(T.sqr(fft.rfft(a)).sum(), a),
                                    lambda n: [drawn(2, lengths[n])],
                                    gradient_of_rfft),
    }, rtol=1e-7, atol=1e-8)  # fmt: skip


def gate(row, s, w):
    """The next state of a turn whose product has two gates."""
    sums = T.dot(s, w) + row
    return T.nnet.sigmoid(sums[:, :3]) * s + T.tanh(sums[:, 3:6])


def of_loops() -> dict[str, Family]:
    """Loops in one kernel and recorded, which end, in loops, and their gradients.

    Calls have as many turns as their size says, which no turn of Python has seen.
    """
    x, w, v, k = T.fmatrix("x"), T.fmatrix("w"), T.fvector("v"), T.lscalar("k")
    t = T.ftensor3("t")
    mean, _ = scan(lambda r, s: s * np.float32(0.5) + r, x, v)
    power, _ = scan(lambda s, v: s * v, None, T.ones_like(v), v, n_steps=k)
    ranks, _ = scan(lambda r, a, b: [a + r.sum(), b * np.float32(0.5) + r - a], x,
                    [v.sum(), v])  # fmt: skip
    root, _ = scan(
        lambda p: (
            (p + v / p) / 2,
            until(T.all(abs(p * p - v) <= np.float32(1e-3) * v)),
        ),
        outputs_info=T.ones_like(v),
        n_steps=40,
    )
    ended, _ = scan(lambda s: (s * 2, until(s > 50)), None, v.sum(), n_steps=k)
    state = T.zeros_like(t[0])
    network, _ = scan(lambda r, s, w: T.tanh(T.dot(s, w) + r), t, state, w)
    gates, _ = scan(gate, t, state[:, :3], w)
    nested, _ = scan(
        lambda r, s: scan(lambda e, s: s * np.float32(0.9) + e, r, s)[0][-1], x, v[0]
    )
    some, _ = scan_checkpoints(lambda r, s: T.tanh(s * r), x, v, save_every_N=4)
    root_of_all, _ = scan(lambda r, s: T.tanh(s * r), x, v, checkpoint="sqrt")
    return made({
        "loop of elements": ([x, v], [mean, mean[-1]],
                             lambda n: [small(n, 5), small(5)]),
        "loop of turns": ([v, k], power[-1], lambda n: [small(6) / 2, n]),
        "loop of ranks": ([x, v], ranks, lambda n: [small(n, 5), small(5)]),
        "loop until all": ([v], root[-1], lambda n: [abs(small(n)) + np.float32(1)]),
        "loop until": ([v, k], ended, lambda n: [abs(small(3)) + np.float32(1), n]),
        "recurrent network": ([t, w], [network, network[-1]],
                              lambda n: [small(n, 2, 4), small(4, 4) / 4]),
        "gates": ([t, w], gates[-1], lambda n: [small(n, 2, 6), small(3, 6) / 4]),
        "gradient of a loop": ([t, w], grad(T.sqr(network[-1]).sum(), [t, w]),
                               lambda n: [small(n, 2, 4), small(4, 4) / 4]),
        "loop in a loop": ([x, v], nested, lambda n: [small(n, 3), small(2)]),
        "checkpoints": ([x, v], [some, *grad(T.sqr(some[-1]).sum(), [x, v])],
                        lambda n: [small(n, 5), small(5)]),
        "checkpoints by the root": ([x, v], grad(T.sqr(root_of_all[-1]).sum(), [x, v]),
                                    lambda n: [small(n, 5), small(5)]),
    }, without_0=(
        *("loop of elements", "loop of turns", "loop until", "recurrent network"),
        *("gates", "gradient of a loop", "checkpoints", "checkpoints by the root"),
    ))  # fmt: skip


def all_families() -> dict[str, Family]:
    """All of this module; no name is there twice."""
    tables = (
        of_rows(),
        of_matrices(),
        of_complex_matrices(),
        of_transforms(),
        of_loops(),
        of_dtypes(),
        with_values(),
    )
    found = {name: family for table in tables for name, family in table.items()}
    assert len(found) == sum(map(len, tables))
    return found


def of_dtypes() -> dict[str, Family]:
    """Inputs and results of each dtype, at lengths of 0, too."""
    found = {}
    for dtype in DTYPES:
        x = T.TensorType(dtype, (False, False))("x")
        outputs = [x * x, x[::-1].T, T.neq(x, T.zeros_like(x))]
        found[dtype] = Family([x], outputs, partial(drawn_of, dtype), rtol=1e-6)
    return found


def drawn_of(dtype, n):
    return [values(as_dtype(dtype), (n, 3), seed=n)]


def with_values() -> dict[str, Family]:
    """What is kept between calls, inputs left out, host integers, branches."""
    x, v, k, n = T.fmatrix("x"), T.fvector("v"), T.lscalar("k"), T.lscalar("n")
    c, s = T.lscalar("c"), T.fscalar("s")
    total = shared(np.zeros(5, F32), name="total")
    calls = shared(np.int64(0), name="calls")
    by = In(s, value=np.float32(2), name="by")
    return made({
        "kept values": ([x], [x.sum(), total * 2], lambda i: [small(i, 5)], None,
                        {total: total + x.sum(0), calls: calls + 1}),
        "kept alone": ([v], [], lambda i: [small(i)], None, {calls: calls + v.size}),
        "an input left out": ([v, by], v * s,
                              lambda i: [small(i), F32_THREE][: 1 + i % 2]),
        "host integers": ([k, v, n], [v[:k] * k, v.reshape((n, -1)), k - 2 * n],
                          lambda i: [i // 2, small(4 * i + 4), 4]),
        "lengths": ([k], [T.zeros((k, 2)), T.arange(k), T.eye(k)], lambda i: [i]),
        "branches": ([c, v], ifelse(c > 3, v.sum(), T.exp(v).max() * 2),
                     lambda i: [i, small(i + 1)]),
        "branches of the device": ([v], ifelse(v.sum() > 0, v * 2, T.sqr(v)),
                                   lambda i: [small(i)]),
        "elementwise functions": ([x], [T.exp(x) - T.expm1(x), T.log1p(T.sqr(x)),
                                        T.sqrt(abs(x)) * T.sgn(x), T.tanh(x) + T.erf(x),
                                        T.gammaln(abs(x) + 1), T.maximum(x, 0.5),
                                        T.switch(x > 0, x, T.sin(x)), T.floor(x),
                                        T.isnan(T.log(x)), x.astype("int8") // 2],
                                  lambda i: [small(i, 5)]),
        "products and outer products": ([x, v], [T.dot(x, x.T) + 2 * x[:, 0],
                                                 T.dot(v, x), T.outer(v, v)],
                                        lambda i: [small(i, 5), small(i)]),
    })  # fmt: skip
