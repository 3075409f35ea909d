"""Saved functions tell of arguments that do not fit, without the compiler.

`test_clients` runs saved functions of every family at shapes that Python never saw.
"""

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from families import small as drawn
from gpuarray.compiler import config, function

F32 = "float32"


def test_lengths_that_do_not_fit_are_told(first_context, tmp_path):
    x, v, i = T.fmatrix("x"), T.fvector("v"), T.lvector("i")
    functions = {
        "mis-match": ([x, v], T.inc_subtensor(x[:, 1], v), [drawn(3, 5), drawn(4)]),
        "topk: kth": ([v], T.topk(v, 7), [drawn(3)]),
        "split: sizes": ([v], T.split(v, [2, 2], 2), [drawn(3)]),
    }
    with config.use(floatX=F32, device=first_context.name):
        for text, (inputs, outputs, arguments) in functions.items():
            function(inputs, outputs).save(tmp_path / "f", graph=False)
            g = gpuarray.load_function(tmp_path / "f", first_context)
            with pytest.raises(ValueError, match=text):
                g(*arguments)
        function([x, i], x[i]).save(tmp_path / "f", graph=False)
        g = gpuarray.load_function(tmp_path / "f", first_context)
        with pytest.raises(IndexError, match="index 9"):
            g(drawn(3, 5), np.array([0, 9]))
            first_context.sync()
