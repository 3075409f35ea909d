"""Mistakes in ops of a program's own: what is said, and where it was made."""

import os
import re
import subprocess
import sys
from pathlib import Path

import gpuarray
import numpy as np
import pytest
from gpuarray.compiler import elementwise_op, function, kernel_op, tensor as T
from gpuarray.compiler.gpukernels.custom.signature import parsed
from gpuarray.compiler.gradient import grad

OCLGRIND = Path("/usr/lib/oclgrind/liboclgrind-rt.so")


def made(signature, **options):
    given = {"blocks": 1, "reference": lambda *arrays: arrays[0], **options}

    @kernel_op(signature, "", **given)
    def nothing(m, g, y, *inputs):
        return None

    return nothing


@pytest.mark.parametrize(
    ("signature", "said"),
    [
        ("T x[n]", "expected inputs -> outputs"),
        ("T x[n] -> ", "no operand"),
        ("T[n] -> T y[n]", "no operand"),
        ("float31 x[n] -> T y[n]", "float31"),
        ("T x[n] -> U y[n]", "no input has the dtype U"),
        ("T x[n], T x[m] -> T y[n]", "'x' stands for two things"),
        ("T x[x] -> T y[x]", "'x' stands for two things"),
        ("T x[n + 1] -> T y[n]", "no name of a length"),
        ("T x[n] -> T y[m]", "not made of n, whole numbers"),
        ("T x[n] -> T y[n.real]", "not made of n"),
        ("T x[n] -> T y[n +]", "no expression"),
        ("T x[n] -> T y", "outputs are arrays"),
        ("float32 x -> float32 y[2]", "write float32 x\\[\\]"),
        ("T x[n] -> T y[...]", "no input is of any shape"),
    ],
)
def test_a_signature_that_means_nothing(signature, said):
    with pytest.raises((ValueError, TypeError), match=said):
        made(signature)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"blocks": None}, "give either n"),
        ({"n": 3}, "give either n"),
        ({"blocks": "rows"}, "'rows' is not made of"),
        ({"zeroed": ["z"]}, "zeroed=\\('z',\\), the outputs are y"),
    ],
)
def test_a_geometry_that_means_nothing(options, said):
    with pytest.raises(ValueError, match=said):
        made("T x[n] -> T y[n]", **options)


def test_an_op_has_a_name():
    make = kernel_op("T x[n] -> T y[n]", "", blocks=1, reference=np.abs)
    with pytest.raises(ValueError, match="'<lambda>' is no name"):
        make(lambda m, g, y, x: g)


def test_operands_that_do_not_fit(on_context):
    op = made("T x[n], T y[n] -> T z[n]")
    x, y = T.dvectors("x", "y")
    with pytest.raises(TypeError, match="given 1 operands, expected 2: T x"):
        op(x)
    with pytest.raises(TypeError, match=r"for T y\[n\], expected 1 axes"):
        op(x, T.dmatrix("m"))
    assert op(x, T.fvector("f")).type.dtype == "float64"
    shifted = made("int32 x[n], int64 k -> int32 z[n]")
    assert shifted(T.lvector("i"), T.iscalar("k")).type.dtype == "int32"
    for given in ((T.ivector("i"), 2.5), (x, 2)):
        with pytest.raises(TypeError, match="cast it if that is meant; the signature"):
            shifted(*given)
    f = function([x, y], op(x, y))
    with pytest.raises(ValueError, match="n is 3 in x and 2 in y"):
        f(np.ones(3), np.ones(2))
    several = made("T x[...], T y[...] -> T z[...]", blocks="size")
    f = function([x, y], several(x, y))
    with pytest.raises(ValueError, match=r"have one shape, given are x \(3,\), y"):
        f(np.ones(3), np.ones(2))


def test_a_gradient_with_a_wrong_number_of_terms():
    @kernel_op("T x[n], T y[n] -> T z[n]", "", blocks=1, reference=lambda x, y: x)
    def op(m, g, z, x, y):
        return g, g, g

    x, y = T.dvectors("x", "y")
    with pytest.raises(TypeError, match="gives 3 terms, expected one for each of 2"):
        grad(op(x, y).sum(), x)


def test_a_kernel_that_does_not_compile_names_op_and_file(on_context):
    @kernel_op("T x[n] -> T y[n]", "STORE(y, 0, no_such(x));", blocks=1,
               reference=lambda x: x)  # fmt: skip
    def broken(m, g, y, x):
        return g

    x = T.fvector("x")
    with pytest.raises(RuntimeError, match="no_such") as caught:
        function([x], broken(x))
    assert f"broken ({__file__}:" in str(caught.value)


@pytest.mark.parametrize("wrap", [lambda y: y + 1, lambda y: y.sum()])
def test_an_expression_that_does_not_compile_names_op_and_file(
    on_context, restored_rows, wrap
):
    @elementwise_op("no_such(x)", np.exp)
    def unknown_word(m, g, y, x):
        return g

    x = T.fvector("x")
    with pytest.raises(RuntimeError, match="no_such") as caught:
        function([x], wrap(unknown_word(x)))
    (note,) = caught.value.__notes__
    assert note.startswith(f"  with unknown_word ({__file__}:")
    assert f"made at {__file__}:" in note


BEYOND = """
from gpuarray.compiler import function, kernel_op, tensor as T

@kernel_op("float32 x[n] -> float32 y[n]", "STORE(y, GID_0 + 9999, LOAD(x, 0));",
           blocks="n", threads=1, reference=lambda x: x)
def beyond(m, g, y, x):
    return g

x = T.fvector("x")
function([x], beyond(x))([1, 2])
"""


@pytest.mark.skipif(not OCLGRIND.exists(), reason="the simulator is not installed")
def test_a_write_out_of_bounds_is_found_by_the_simulator(tmp_path):
    """In a process of its own, as the documentation has it."""
    log = tmp_path / "log"
    environment = os.environ | {
        "GPUARRAY_OPENCL": str(OCLGRIND),
        "OCLGRIND_LOG": str(log),
        "GPUARRAY_DEVICE": "opencl0:0",
    }
    subprocess.run([sys.executable, "-c", BEYOND], env=environment, check=True)
    said = log.read_text()
    assert "Invalid write of size 4" in said
    assert "Kernel: beyond_" in said


def test_expressions_that_mean_nothing(restored_rows):
    with pytest.raises(ValueError, match="does not use y"):
        elementwise_op("x", np.abs)(lambda m, g, z, x, y: None)
    with pytest.raises(TypeError, match=r"expected \(m, g, y, ...\)"):
        elementwise_op("x", np.abs)(lambda x: None)

    def tanh(m, g, y, x):
        return g

    with pytest.raises(ValueError, match="the name 'tanh' is taken by"):
        elementwise_op("x", np.abs)(tanh)
    assert restored_rows["tanh"].expression == "tanh({0})"


def test_a_signature_prints():
    text = "T x[n, m], int64 k -> T y[m, k], float32 s[n]"
    assert str(parsed(text)) == text


def test_the_limit_of_threads_that_is_told_is_the_devices(on_context):
    too_many = 1 << 16

    @kernel_op(
        "T x[n] -> T y[n]",
        "STORE(y, 0, LOAD(x, 0));",
        blocks=1,
        threads=too_many,
        reference=lambda x: x,
    )
    def wide(m, g, y, x):
        return g

    x = T.fvector("x")
    f = function([x], wide(x))
    with pytest.raises(gpuarray.DeviceLimit, match=f"{too_many} threads") as told:
        f(np.ones(3, "float32"))
    assert isinstance(told.value, gpuarray.errors.BadValue)
    assert "null" not in str(told.value)
    assert re.search(rf"expected 1 to \d+ on {on_context.name}", str(told.value))
