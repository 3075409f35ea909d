"""Subnormal floats, which NumPy keeps; a context of OpenCL may flush them to 0."""

import os
import subprocess
import sys

import gpuarray
import numpy as np
import pytest

PROGRAM = """
import sys
import gpuarray
import numpy as np
x = gpuarray.asarray(np.float32([2e-38, 2.0]), context=gpuarray.context(sys.argv[1]))
print(np.asarray(x * np.float32(0.25)).tolist())
"""


def test_subnormals_are_kept(context):
    x = np.float32([2e-38, 1e-45, -1e-40, 2.0])
    given = gpuarray.asarray(x, context=context)
    for factor in np.float32([0.25, 1, 1e30]):
        result = np.asarray(given * factor)
        assert result.tolist() == (x * factor).tolist()


def test_a_context_of_opencl_flushes_them_if_asked(context):
    if not (context.is_cpu and context.name.startswith("opencl")):
        pytest.skip("the option is OpenCL's, and a GPU need not follow it")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, context.name],
        env=os.environ | {"GPUARRAY_OPENCL_FLUSH": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[0.0, 0.5]\n"
