"""What saved linear algebra refuses.

`test_clients` runs saved functions of every family at shapes that Python never saw.
"""

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function
from gpuarray.compiler.tensor import nlinalg, slinalg


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
