"""What saved linear algebra refuses, and what no file runs without Python.

`test_clients` runs saved functions of every family at shapes that Python never saw.
"""

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function
from gpuarray.compiler.tensor import fft, nlinalg, slinalg

F64 = "float64"


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
        "rfft": ([a], fft.rfft(a)),
        "cholesky": ([t], slinalg.Cholesky(on_error="nan")(t)),
    }
    with config.use(device=first_context.name):
        for name, (inputs, outputs) in alone.items():
            with pytest.warns(UserWarning, match=name):
                function(inputs, outputs).save(tmp_path / "f", graph=False)
