"""Linear algebra, searches and repeats run from files without the compiler.

Each function is saved without a call, and run by `gpuarray.load_function` in a process
in which the compiler cannot be imported, at ten shapes that it was never run at; NumPy
is the judge. Factors that are not determined are multiplied first.
"""

import os
import pickle
import subprocess
import sys

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, grad
from gpuarray.compiler.tensor import fft, nlinalg, slinalg

SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 13, 33)
F64 = "float64"

CHILD = """
import pickle, sys
import numpy as np
sys.modules["gpuarray.compiler"] = None  # an import of it fails
import gpuarray
folder, count = sys.argv[1], 0
for device in sys.argv[2:]:
    context = gpuarray.context(device)
    with open(f"{folder}/calls", "rb") as file:
        calls = pickle.load(file)
    for name, (path, given) in calls.items():
        f = gpuarray.load_function(path, context)
        for arguments, expected in given:
            results = f(*arguments)
            results = results if isinstance(results, list) else [results]
            for result, wanted in zip(results, expected, strict=True):
                found = np.asarray(result)
                said = f"{name} on {device} of {[x.shape for x in arguments]}"
                assert found.dtype == wanted.dtype, said
                np.testing.assert_allclose(
                    found, wanted, rtol=1e-7, atol=1e-8, err_msg=said
                )
                count += 1
print(count)
"""


def drawn(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape)


def regular(*shape):
    """Matrices that are far from singular."""
    return drawn(*shape) + 3 * np.sqrt(shape[-1]) * np.eye(shape[-1])


def positive(*shape):
    x = drawn(*shape)
    return x @ np.swapaxes(x, -1, -2) + np.eye(shape[-1])


def counts(n):
    return np.random.default_rng(n).integers(0, 4, n)


def parts(x):
    return np.stack([x.real, x.imag], -1)


def whole(x):
    return x[..., 0] + 1j * x[..., 1]


def gradient(x):
    """Of the sum of squares of the half of a transform: twice what it is of."""
    found, n = np.fft.rfft(x), x.shape[1]
    return 2 * np.fft.fft(found.conj(), n).real


def adjoint(x):
    return np.swapaxes(x, -1, -2)


def cases():
    """For each function its inputs and results, arguments of a size, and NumPy's."""
    a, b, v = T.dmatrix("a"), T.dmatrix("b"), T.dvector("v")
    t = T.TensorType(F64, (False,) * 3)("t")
    u = T.TensorType(F64, (False,) * 3)("u")
    spectra = T.TensorType(F64, (False,) * 4)("spectra")
    # A prime length beyond 61 is a convolution.
    lengths = {size: 67 if size == 8 else 97 if size == 33 else size + 1
               for size in SIZES}  # fmt: skip
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

    return {
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
                                    lambda n: [drawn(2, lengths[n])], gradient),
        "repeat": ([a, n], [T.repeat(a, n, 0), T.repeat(a.T, n, 1)],
                   lambda k: [drawn(k, 3), counts(k)],
                   lambda x, y: [np.repeat(x, y, 0), np.repeat(x.T, y, 1)]),
    }  # fmt: skip


def exponential(x):
    """By eigenvalues."""
    w, v = np.linalg.eig(x)
    return (v * np.exp(w) @ np.linalg.inv(v)).real


@pytest.fixture
def contexts(request, first_context):
    """The devices tested, the first one first."""
    names = request.config.gpuarray_contexts
    return [first_context, *(gpuarray.context(name) for name in names[1:])]


def without_compiler(folder, contexts):
    """How many results were right in a process that lacks the compiler."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(folder), *(each.name for each in contexts)],
        env={**os.environ, "GPUARRAY_CACHE_DIR": str(folder / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.filterwarnings("error")
def test_families_run_from_files(contexts, tmp_path):
    calls, results = {}, 0
    with config.use(device=contexts[0].name), contexts[0]:
        for name, (inputs, outputs, arguments, judge) in cases().items():
            path = str(tmp_path / str(len(calls)))
            function(inputs, outputs, name="f").save(path, graph=False)
            given = []
            for size in SIZES:
                found = judge(*arguments(size))
                listed = found if isinstance(found, (list, tuple)) else [found]
                given.append((arguments(size), [np.asarray(each) for each in listed]))
                results += len(listed)
            calls[name] = path, given
    with (tmp_path / "calls").open("wb") as file:
        pickle.dump(calls, file)
    assert without_compiler(tmp_path, contexts) == results * len(contexts)


def test_matrices_that_fail_are_told(first_context, tmp_path):
    a = T.dmatrix("a")
    failing = {
        "singular": (nlinalg.matrix_inverse(a), np.ones((3, 3))),
        "positive definite": (slinalg.cholesky(a), -np.eye(2)),
        "solve": (slinalg.solve(a, a), np.zeros((2, 2))),
        "eigh": (nlinalg.eigh(a)[0], np.full((2, 2), np.nan)),
        "svd": (nlinalg.svd(a, compute_uv=False), np.full((2, 2), np.nan)),
    }
    with config.use(device=first_context.name):
        for text, (output, argument) in failing.items():
            function([a], output).save(tmp_path / "f", graph=False)
            f = gpuarray.load_function(tmp_path / "f", first_context)
            with pytest.raises(np.linalg.LinAlgError, match=text):
                np.asarray(f(argument))
                first_context.sync()
        function([a], nlinalg.matrix_inverse(a)).save(tmp_path / "f", graph=False)
        f = gpuarray.load_function(tmp_path / "f", first_context)
        with pytest.raises(ValueError, match="square"):
            f(np.ones((2, 3)))


def test_what_only_python_does_is_told(first_context, tmp_path):
    """By name, when the function is saved."""
    a, v = T.dmatrix("a"), T.dvector("v")
    t = T.TensorType(F64, (False,) * 3)("t")
    alone = {
        "eig": ([a], nlinalg.eig(a)[0]),
        "lstsq": ([a, v], nlinalg.lstsq(a, v, -1)[0]),
        "unique": ([v], T.extra_ops.Unique()(v)),
        "cholesky": ([t], slinalg.Cholesky(on_error="nan")(t)),
    }
    with config.use(device=first_context.name):
        for name, (inputs, outputs) in alone.items():
            with pytest.warns(UserWarning, match=name):
                function(inputs, outputs).save(tmp_path / "f", graph=False)
