"""Kernels of functions: for other layouts, and while a program ends."""

import os
import re
import subprocess
import sys

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import function

pytestmark = pytest.mark.usefixtures("on_context")


def kernels_of(context, do):
    """How many kernels a context makes or finds for something, and what that gives."""

    def count():
        info = context.cache_info()
        return info.compiled + info.disk_hits

    before = count()
    made = do()
    return count() - before, made


def test_kernels_for_other_layouts_come_with_the_first_array_of_one(on_context):
    x = T.matrix("x")
    count, f = kernels_of(on_context, lambda: function([x], x * 3.25 + 1.5))
    assert count == 1
    values = gpuarray.asarray(
        np.arange(12, dtype="f4").reshape(3, 4), context=on_context
    )
    for given, expected in ((values, 0), (values[:, ::-2], 1), (values.T, 1)):
        for more in (expected, 0):
            count, found = kernels_of(on_context, lambda given=given: f(given))
            assert count <= more
            np.testing.assert_allclose(found, np.asarray(given) * 3.25 + 1.5, rtol=1e-6)


def test_what_steps_make_has_no_kernel_for_other_layouts(on_context):
    x, y = T.matrix("x"), T.matrix("y")
    function([x, y], T.dot(x, y))  # which may have kernels of its own
    outputs = T.dot(x, y) ** 3 - 7.75
    count, f = kernels_of(on_context, lambda: function([x, y], outputs))
    assert count == int(on_context.is_cpu)  # a GPU's product may do it, by its sizes
    values = np.arange(6, dtype="float32").reshape(2, 3)
    for a, b in ((values, values.T), (values.T, values[:, ::-1])):
        np.testing.assert_allclose(f(a, b), (a @ b) ** 3 - 7.75, rtol=1e-5)


UNUSED = """
import numpy as np
import gpuarray.compiler.tensor as T
from gpuarray.compiler import function
x = T.fmatrix("x")
f = function([x], [T.nnet.softmax(T.tanh(x)), x.sum(0), x.sum(1), T.dot(x, x.T)])
if {calls}:
    f(np.ones((3, 4), "float32"))
"""


@pytest.mark.parametrize("calls", [False, True])
def test_a_program_may_end_while_its_kernels_are_compiled(calls, on_context, tmp_path):
    flags = f"device={on_context.name}"
    new = {"GPUARRAY_FLAGS": flags, "GPUARRAY_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", UNUSED.format(calls=calls)],
        env=os.environ | new,
        capture_output=True,
        text=True,
        check=False,
    )
    # PoCL's compiler may count its warnings aloud where a program ends while it runs.
    errors = re.sub(r"^\d+ warnings? generated\.\n", "", done.stderr, flags=re.M)
    assert (done.returncode, errors) == (0, "")
