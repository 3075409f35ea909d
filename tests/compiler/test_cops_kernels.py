"""Kernels in the sections of C files: their lines, types and errors."""

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from c_ops import FILL, Shaped
from gpuarray.compiler import Apply, function, shared
from gpuarray.compiler.cops import CGpuKernelBase, GpuKernelBaseCOp, Scalar
from gpuarray.compiler.cops.module import build
from gpuarray.compiler.cops.source import TypedOp, module_source
from gpuarray.compiler.gpukernels import Kernel
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


@pytest.mark.usefixtures("on_context")
@pytest.mark.parametrize("spelling", ["k_fill", "APPLY_SPECIFIC(k_fill)"])
def test_a_kernel_has_its_own_name_and_that_of_the_node(file, spelling):
    path = file(FILE.replace("APPLY_SPECIFIC(k_fill)", spelling))
    np.testing.assert_array_equal(run(Steps(path)), run(Steps(file(FILE))))


def test_flags_of_c_are_what_the_kernels_need(file):
    node = Steps(file(FILE, "float32"))(
        gpuarray.compiler.GpuArrayType("int8", (False,))("x")
    )
    kernels = node.owner.op.gpu_kernels(node.owner, "n")
    assert [kernel.objvar for kernel in kernels] == ["k_fill", "k_add_one"]
    assert kernels[0].flags == {"have_small": True, "have_double": True}
    assert kernels[1].flags == {}


TEXT = r"""#define SAID "a\\b ? é"
KERNEL void put(GLOBAL_MEM ga_float *x, ga_size n) {
  for (ga_size i = GID_0 * LDIM_0 + LID_0; i < n; i += GDIM_0 * LDIM_0)
    x[i] = sizeof(SAID);
}"""


LAUNCH = """
%(z)s = pygpu_empty(PyGpuArray_NDIM(%(x)s), PyGpuArray_DIMS(%(x)s), GA_FLOAT,
                    GA_C_ORDER, %(x)s->context, Py_None);
if (%(z)s == NULL) %(fail)s
size_t n = PyGpuArray_SIZE(%(z)s), gs = 1, ls = 32;
void *args[] = {%(z)s->ga.data, &n};
if (GpuKernel_call(&mine, 1, &gs, &ls, 0, args) != GA_NO_ERROR) {
  PyErr_SetString(PyExc_RuntimeError, gpuarray_error_text());
  %(fail)s
}"""


class FromText(GpuKernelBaseCOp):
    """Compiles a kernel itself, from the text that the code has under a name."""

    __props__ = ("codevar",)

    def __init__(self, codevar=None):
        self.codevar = codevar

    def make_node(self, x):
        x = as_gpuarray_variable(x, infer_context_name(x))
        return Apply(self, [x], [x.type()])

    def infer_shape(self, node, shapes):
        return shapes

    def gpu_kernels(self, node, name):
        params = [gpuarray.GpuArray, gpuarray.SIZE]
        return [Kernel(TEXT, params, "put", codevar=self.codevar)]

    def c_support_code_struct(self, node, name):
        return "static GpuKernel mine;"

    def c_init_code_struct(self, node, name, sub):
        text = self.codevar or "kcode_put"
        return f"""
        const int types[] = {{GA_BUFFER, GA_SIZE}};
        if (strlen({text}) != {len(TEXT.encode())}u ||
            GpuKernel_init(&mine, {sub["params"]}->ctx, 1, &{text}, NULL, "put", 2,
                           types, 0, NULL) != GA_NO_ERROR) {{
          PyErr_SetString(PyExc_RuntimeError, gpuarray_error_text());
          {sub["fail"]}
        }}"""

    def c_cleanup_code_struct(self, node, name):
        return "GpuKernel_clear(&mine);"

    def c_code(self, node, name, inputs, outputs, sub):
        return LAUNCH % {"x": inputs[0], "z": outputs[0], **sub}


@pytest.mark.every_case
@pytest.mark.usefixtures("on_context")
@pytest.mark.parametrize("codevar", [None, "my_text"])
def test_c_code_has_the_text_of_a_kernel_under_its_codevar(codevar):
    found = np.asarray(run(FromText(codevar), n=3))
    np.testing.assert_array_equal(found, np.full(3, len("a\\b ? é".encode()) + 1))


def test_a_text_that_c_code_does_not_name_is_no_part_of_it():
    x = gpuarray.compiler.GpuArrayType("float32", (False,), "null")
    named = TypedOp(FromText(), (x, x), 1)
    assert "KERNEL void put" in module_source(named)
    other = TypedOp(Unnamed(), (x, x), 1)
    assert "KERNEL void put" not in module_source(other)


class Unnamed(FromText):
    def c_init_code_struct(self, node, name, sub):
        return ""


@pytest.mark.usefixtures("on_null")
def test_both_versions_are_part_of_what_code_is_kept_by(tmp_path, monkeypatch):
    monkeypatch.setenv("GPUARRAY_CACHE_DIR", str(tmp_path))
    x = gpuarray.compiler.GpuArrayType("float32", (False,), "null")

    class Versioned(FromText):
        __props__ = ("versions",)
        versions = (1, 1)

        def c_code_cache_version(self):
            return self.versions[:1]

        def c_code_cache_version_apply(self, node):
            of_kernels = self.kernel_version(node)
            return (
                *super().c_code_cache_version_apply(node),
                self.versions,
                of_kernels,
            )

    paths = set()
    for versions in ((1, 1), (2, 1), (2, 2), (2, 2)):
        op = Versioned()
        op.versions = versions
        paths.add(build(TypedOp(op, (x, x), 1)))
    assert len(paths) == 3


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


# ---- the helpers of Theano's own ops ----

INCREMENT = r"""
#section support_code_struct

/* out = x; out[1:, i] += y, as Theano's ops that increment are written. */
int APPLY_SPECIFIC(increment)(PyGpuArrayObject *x, PyGpuArrayObject *y,
                              PyGpuArrayObject **out, PyGpuContextObject *c) {
  ssize_t starts[2] = {1, 0}, stops[2], steps[2] = {1, 2};
  gpuelemwise_arg described[2] = {
      {"a", TYPENUM_OUTPUT_0, GE_READ | GE_WRITE}, {"b", TYPENUM_INPUT_1, GE_READ}};
  PyGpuArrayObject *part = NULL;
  GpuElemwise *add = NULL;
  int err = 1;
  *out = theano_try_copy(*out, x);
  if (*out == NULL)
    return 1;
  if (!GpuArray_CHKFLAGS(&(*out)->ga, GA_CARRAY) || PyGpuArray_DEV_DATA(*out) == NULL ||
      !theano_size_check(*out, PyGpuArray_NDIM(x), PyGpuArray_DIMS(x),
                         TYPENUM_OUTPUT_0)) {
    PyErr_SetString(PyExc_RuntimeError, "the copy is not as it should be");
    return 1;
  }
  stops[0] = (ssize_t)PyGpuArray_DIM(x, 0);
  stops[1] = (ssize_t)PyGpuArray_DIM(x, 1);
  part = pygpu_index(*out, starts, stops, steps);
  add = GpuElemwise_new(c->ctx, "", "a = a + b", 2, described, 2, GE_CONVERT_F16);
  if (part != NULL && add != NULL) {
    void *arguments[2] = {&part->ga, &y->ga};
    err = GpuElemwise_call(add, arguments, GE_BROADCAST | GE_PADSHAPE);
  }
  if (err != GA_NO_ERROR && !PyErr_Occurred())
    PyErr_Format(PyExc_RuntimeError, "increment: %s",
                 GpuArray_error(&(*out)->ga, err));
  GpuElemwise_free(add);
  Py_XDECREF(part);
  return err != GA_NO_ERROR;
}
"""


class Increment(CGpuKernelBase):
    __props__ = ("func_files",)
    _f16_ok = True

    def __init__(self, path):
        super().__init__([str(path)], "APPLY_SPECIFIC(increment)")

    def make_node(self, x, y):
        name = infer_context_name(x, y)
        x, y = as_gpuarray_variable(x, name), as_gpuarray_variable(y, name)
        return Apply(self, [x, y], [x.type()])


@pytest.mark.usefixtures("on_context")
@pytest.mark.parametrize("dtype", ["float16", "float32", "int64"])
def test_the_helpers_of_theanos_own_ops(file, dtype):
    x, y = T.TensorType(dtype, (False, False))("x"), T.TensorType(dtype, (False,))("y")
    f = function([x, y], Increment(file(INCREMENT))(x, y))
    for n in (4, 3, 4):
        host = np.arange(5 * n).reshape(5, n).astype(dtype)
        more = np.arange(1, (n + 1) // 2 + 1).astype(dtype)
        expected = host.copy()
        expected[1:, ::2] += more
        np.testing.assert_array_equal(np.asarray(f(host, more)), expected)
        np.testing.assert_array_equal(np.asarray(f(host.T.copy().T, more)), expected)
