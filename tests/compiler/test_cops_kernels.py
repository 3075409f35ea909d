"""Kernels in the sections of C files: their lines, types and errors."""

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from c_ops import FILL, Shaped
from gpuarray.compiler import Apply, function, shared
from gpuarray.compiler.cops import CGpuKernelBase, Scalar
from gpuarray.compiler.gpukernels.basic_ops import (
    as_gpuarray_variable,
    infer_context_name,
)
from gpuarray.errors import KernelError

FILE = """\
#section kernels

#kernel fill : *, size, size, ssize, DTYPE : GA_USE_SMALL | GA_USE_DOUBLE
KERNEL void fill(GLOBAL_MEM DTYPE_OUTPUT_0 *a, ga_size a_off, ga_size n, ga_ssize from,
                 DTYPE_INPUT_0 step) {
  a = (GLOBAL_MEM DTYPE_OUTPUT_0 *)((GLOBAL_MEM char *)a + a_off);
  for (ga_size i = GID_0 * LDIM_0 + LID_0; i < n; i += GDIM_0 * LDIM_0)
    a[i] = from + (ga_ssize)i * step;
}

#kernel add_one : *, size, size :
KERNEL void add_one(GLOBAL_MEM DTYPE_OUTPUT_0 *a, ga_size a_off, ga_size n) {
  a = (GLOBAL_MEM DTYPE_OUTPUT_0 *)((GLOBAL_MEM char *)a + a_off);
  for (ga_size i = GID_0 * LDIM_0 + LID_0; i < n; i += GDIM_0 * LDIM_0)
    a[i] += 1;
}

#section support_code_struct
int APPLY_SPECIFIC(steps)(PyGpuArrayObject *like, PyGpuArrayObject **z,
                          PARAMS_TYPE from) {
  size_t n = PyGpuArray_SIZE(like);
  if (theano_prep_output(z, PyGpuArray_NDIM(like), PyGpuArray_DIMS(like),
                         TYPENUM_OUTPUT_0, GA_C_ORDER, like->context))
    return 1;
  int err = fill_scall(1, &n, 0, (*z)->ga.data, (*z)->ga.offset, n, from, 2);
  if (err == GA_NO_ERROR)
    err = add_one_scall(1, &n, 0, (*z)->ga.data, (*z)->ga.offset, n);
  if (err != GA_NO_ERROR) {
    PyErr_Format(PyExc_RuntimeError, "fill: %s",
                 GpuKernel_error(&APPLY_SPECIFIC(k_fill), err));
    return 1;
  }
  return 0;
}
"""


class Steps(CGpuKernelBase):
    __props__ = ("func_files", "start")
    params_type = Scalar("int64")

    def __init__(self, path, start=3):
        super().__init__([str(path)], "APPLY_SPECIFIC(steps)")
        self.start = start

    def get_params(self, node):
        return self.start

    def make_node(self, x):
        x = as_gpuarray_variable(x, infer_context_name(x))
        return Apply(self, [x], [x.type()])

    def infer_shape(self, node, shapes):
        return shapes


@pytest.fixture
def file(tmp_path):
    def write(text, dtype="float32"):
        path = tmp_path / "steps.c"
        path.write_text(text.replace("DTYPE :", f"{dtype} :"))
        return path

    return write


def run(op, dtype="float32", n=5):
    x = T.TensorType(dtype, (False,))("x")
    return function([x], op(x))(np.zeros(n, dtype))


@pytest.mark.every_case
@pytest.mark.usefixtures("on_context")
@pytest.mark.parametrize("dtype", ["float32", "int16"])
def test_kernels_of_a_file_have_the_types_of_the_node(file, dtype):
    for n in (1, 1000):
        found = run(Steps(file(FILE, dtype), start=-2), dtype, n)
        np.testing.assert_array_equal(np.asarray(found), -1 + 2 * np.arange(n))


@pytest.mark.usefixtures("on_context")
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("#kernel", r"steps.c:3: #kernel: expected #kernel name : params : flags"),
        ("#kernel 2x : * :", r"steps.c:3: #kernel 2x : \* :: expected #kernel name"),
        ("#kernel fill : * : 0 : 1", "expected #kernel name : params : flags"),
        ("#kernel fill : *, siz :", "params holds 'siz'; expected"),
        ("#kernel fill : * : GA_USE_ALL", "'GA_USE_ALL' is no flag; known are GA_USE"),
        ("#kernel other : * :", "'other': the text holds no function of this name"),
        ("#kernel fill : *, size :", "params has 2 entries, the text declares 5"),
        ("int x;", "steps.c:2: a section of kernels begins with a line #kernel name"),
    ],
)
def test_a_bad_kernel_line_is_named_with_its_place(file, line, said):
    lines = FILE.splitlines()
    lines[2] = line
    with pytest.raises(ValueError, match=said):
        run(Steps(file("\n".join(lines))))


@pytest.mark.usefixtures("on_context")
def test_a_kernel_that_does_not_compile_is_shown_with_the_op(file, context):
    if context.name == "null":
        pytest.skip("the null device compiles no kernel")
    path = file(FILE.replace("a[i] += 1;", "a[i] += undeclared;"))
    with pytest.raises(KernelError) as error:
        run(Steps(path))
    text = str(error.value)
    assert text.startswith("Steps (") and "test_cops_kernels.py" in text
    assert "undeclared" in text


@pytest.mark.usefixtures("on_context")
def test_a_kernel_called_with_too_few_arguments_does_not_compile(file):
    path = file(FILE.replace("(*z)->ga.offset, n, from, 2)", "(*z)->ga.offset, n)"))
    with pytest.raises(RuntimeError, match="too few arguments") as error:
        run(Steps(path))
    assert f"{path}:" in str(error.value)  # the line of the file


def test_flags_of_c_are_what_the_kernels_need(file):
    node = Steps(file(FILE, "float32"))(
        gpuarray.compiler.GpuArrayType("int8", (False,))("x")
    )
    kernels = node.owner.op.gpu_kernels(node.owner, "n")
    assert [kernel.objvar for kernel in kernels] == ["k_fill_n", "k_add_one_n"]
    assert kernels[0].flags == {"have_small": True, "have_double": True}
    assert kernels[1].flags == {}


@pytest.mark.usefixtures("on_context")
def test_code_that_fails_leaves_shared_values_as_they_are():
    refuse = """if (*(dtype_%(x)s *)PyArray_DATA(%(x)s) > 100) {
      PyErr_SetString(PyExc_ValueError, "too large"); %(fail)s }"""
    op = Shaped(f"{refuse}{FILL}(npy_double)i;")
    before, after = (shared(np.ones(3), name=name) for name in ("before", "after"))
    x = T.dvector("x")
    updates = [(before, before + 1), (after, after + op(x))]
    f = function([x], op(before + x).sum(), updates=updates)
    f(np.ones(3))
    with pytest.raises(ValueError, match="too large"):
        f(np.full(3, 1000.0))
    assert before.get_value().tolist() == [2, 2, 2]
    assert after.get_value().tolist() == [1, 2, 3]
