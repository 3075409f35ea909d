"""Kernels of one's own, from Python: whole sources, expressions, reductions."""

import os
import pickle
from pathlib import Path

import gpuarray
import numpy as np
import pytest
from gpuarray import ElementwiseKernel, RawKernel, ReductionKernel
from gpuarray._kernels.kernel import REPORT_TYPES, index_report
from gpuarray._kernels.parameters import of_kernel, parse
from gpuarray.errors import BadType, BadValue, KernelError
from judge import assert_same
from layouts import LAYOUTS, pair, values

SCALE = """
KERNEL void scale(GLOBAL_MEM float *x, ga_size x_off, /* of x */ float a, ga_uint n) {
  x = (GLOBAL_MEM float *)((GLOBAL_MEM char *)x + x_off);
  const ga_uint i = GID_0 * LDIM_0 + LID_0;
  if (i < n)
    x[i] *= a;
}
"""


def on(context, host):
    return gpuarray.asarray(host, context=context)


# ---- whole sources ----


@pytest.mark.oclgrind
def test_an_offset_is_that_of_the_array_before_it(context):
    types = [gpuarray.Array, gpuarray.OFFSET, "float32", "uint32"]
    scale = gpuarray.GpuKernel(SCALE, "scale", types, context)
    host = values("float32", (9,))
    device = on(context, host)
    view = device[3:7]
    scale(view, view.offset, 2, 4, n=4)
    host[3:7] *= 2
    assert_same(device, host)
    with pytest.raises(BadValue, match=r"argument 0 is an offset .* no GA_BUFFER"):
        gpuarray.GpuKernel(SCALE, "scale", types[1:], context)


def test_integer_arguments_are_whole_and_in_range(first_context):
    types = [gpuarray.Array, gpuarray.OFFSET, "float32", "uint32"]
    scale = gpuarray.GpuKernel(SCALE, "scale", types, first_context)
    x = on(first_context, np.ones(4, "f4"))
    for whole in (3, 3.0, np.int8(3), np.float32(3), True):
        x[...] = 1
        scale(x, x.offset, 2, whole, n=4)
        assert x.sum() == 4 + int(whole)
    for part in (2.5, np.float32(0.5), float("nan"), float("inf")):
        with pytest.raises(BadValue, match=r"argument 3 is .*expected a whole number"):
            scale(x, x.offset, 2, part, n=4)
    for large in (-1, 2**32, 1 << 70, 1e300):
        with pytest.raises(OverflowError, match=r"'scale': argument 3 is .* not fit"):
            scale(x, x.offset, 2, large, n=4)
    for other in ("3", b"3", [1, 2], []):
        with pytest.raises(BadType, match=r"'scale': argument 3 is .*a number"):
            scale(x, x.offset, 2, other, n=4)


ADD_ONE = """
KERNEL void add_one(GLOBAL_MEM ga_float *out, GLOBAL_MEM const ga_float *x,
                    ga_size x_off) {
  x = (GLOBAL_MEM const ga_float *)((GLOBAL_MEM const char *)x + x_off);
  out[LID_0] = x[LID_0] + 1;
}
"""


@pytest.mark.oclgrind
def test_an_input_is_an_array_that_has_an_offset(context):
    types = [gpuarray.Array, gpuarray.INPUT, gpuarray.OFFSET]
    add_one = gpuarray.GpuKernel(ADD_ONE, "add_one", types, context)
    host = values("float32", (9,))
    x, out = on(context, host)[3:], gpuarray.zeros(4, "float32", context)
    add_one(out, x, x.offset, blocks=1, threads=4)
    assert_same(out, host[3:7] + 1)
    with pytest.raises(BadType, match="argument 1 is int, expected a gpuarray array"):
        add_one(out, 3, 0, n=4)


def test_a_raw_kernel_only_reads_what_its_source_calls_const(context):
    add_one = RawKernel(ADD_ONE, "add_one")
    x, out = (gpuarray.zeros(4, "float32", context) for _ in range(2))
    add_one(out, x, blocks=1, threads=4)
    (types,) = {types for _, types in add_one._kernels}
    assert types == (gpuarray.Array.__base__, gpuarray.INPUT, gpuarray.OFFSET)


TAKE = """
KERNEL void take_one(GLOBAL_MEM ga_float *x, ga_long index, ga_long length,
                     GLOBAL_MEM ga_uint *word, ga_size word_off, ga_uint site) {
  if (index < 0 || index >= length)
    ga_report_index(word, word_off, site, index, length);
  else
    x[index] = 1;
}
"""


def test_a_kernel_reports_an_index_to_the_next_wait(context):
    types = [gpuarray.Array, "int64", "int64", *REPORT_TYPES]
    take_one = gpuarray.GpuKernel(TAKE, "take_one", types, context)
    x = gpuarray.zeros(4, "float32", context=context)
    take_one(x, 3, 4, *index_report("mine", context), blocks=1, threads=1)
    assert np.asarray(x).tolist() == [0, 0, 0, 1]
    take_one(x, 7, 4, *index_report("mine", context), blocks=1, threads=1)
    with pytest.raises(IndexError, match=r"mine: index 7 .* an axis of length 4"):
        np.asarray(x)
    assert np.asarray(x).tolist() == [0, 0, 0, 1]


@pytest.mark.oclgrind
def test_a_raw_kernel_takes_its_types_from_the_source(context):
    host = values("float32", (9,))
    device = on(context, host)
    scale = RawKernel(SCALE, "scale")
    scale(device, 2, 9, n=9)
    assert_same(device, host * 2)
    scale(device[3:], 0.5, 6, blocks=1, threads=8)  # the offset is given by the call
    host[3:] *= 0.5
    host[:3] *= 1
    assert_same(device[3:], host[3:] * 2)
    scale(device, device.offset, 3.0, 9, n=9)
    assert_same(device[:3], host[:3] * 6)


def test_types_of_one_s_own_come_from_the_call_or_are_declared(context):
    source = """
typedef float real;
KERNEL void put(GLOBAL_MEM real *x, ga_size x_off, real a) {
  x = (GLOBAL_MEM real *)((GLOBAL_MEM char *)x + x_off);
  x[0] = a;
}
"""
    x = gpuarray.zeros(2, "float32", context)
    put = RawKernel(source, "put")
    put(x, np.float32(2.5), n=1)
    assert x.tolist() == [2.5, 0]
    with pytest.raises(BadType, match="the type 'real' of a is not known"):
        put(x, 2.5, n=1)
    types = [gpuarray.Array, gpuarray.SIZE, "float32"]
    RawKernel(source, "put", types)(x, 4.5, n=1)
    assert x.tolist() == [4.5, 0]


def test_bad_calls_of_a_raw_kernel(context):
    x = gpuarray.zeros(4, "float32", context)
    scale = RawKernel(SCALE, "scale")
    with pytest.raises(BadType, match="1 arguments, expected 3: x, a, n"):
        scale(x, n=4)
    with pytest.raises(BadValue, match="there is no kernel 'other'"):
        RawKernel(SCALE, "other")
    first = RawKernel("KERNEL void f(GLOBAL_MEM float *x) { x[0] = 1; }", "f")
    with pytest.raises(BadValue, match=r"4 bytes into its buffer.*x.copy\(\)"):
        first(x[1:], n=1)


@pytest.mark.parametrize("threads", [32, 512])
def test_a_kernel_of_one_size_has_its_threads(first_context, threads):
    text = f"KERNEL_SIZED({threads}, 1) void nothing(GLOBAL_MEM float *x) {{}}"
    kernel = gpuarray.GpuKernel(text, "nothing", [gpuarray.Array], first_context)
    assert kernel.max_threads == threads


def test_what_does_not_compile_shows_the_log_and_numbered_lines(context):
    x = gpuarray.zeros(4, "float32", context)
    bad = RawKernel(SCALE.replace("*= a", "*= nowhere"), "scale")
    with pytest.raises(KernelError) as caught:
        bad(x, 1, 4, n=4)
    text = str(caught.value)
    assert "scale" in text and context.name in text
    assert "nowhere" in text.split("\n\n")[0]  # the vendor's log
    assert "   6      x[i] *= nowhere;" in text
    for kernel in (
        ElementwiseKernel("T x", "T z", "z = nowhere(x)", "elem_bad"),
        ReductionKernel("T x", "T z", "nowhere(x)", "a + b", "z = a", "0", "red_bad"),
    ):
        with pytest.raises(KernelError, match=f"{kernel.name}(.|\n)*nowhere"):
            kernel(x)


# ---- expressions ----


@pytest.mark.oclgrind
@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_expression_of_every_layout(context, layout):
    host, device = pair(layout, "float32", context)
    kernel = ElementwiseKernel("T x, float32 a", "T z", "z = x * x + a", "poly")
    assert_same(kernel(device, 2.5), host * host + np.float32(2.5))


@pytest.mark.oclgrind
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_long_expression_of_every_layout(context, layout):
    host, device = pair(layout, "float32", context)
    steps = "\n".join(f"T t{k + 1} = t{k} + ({k % 7} - t0) * 2;" for k in range(120))
    long = ElementwiseKernel("T x", "T z", f"T t0 = x;\n{steps}\nz = t120;", "long")
    expected = host.copy()
    for k in range(120):
        expected += (np.float32(k % 7) - host) * 2
    assert_same(long(device), expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float16", "float32", "complex64"])
def test_letters_stand_for_the_arguments_dtypes(context, dtype):
    host = values(dtype, (3, 4))
    device = on(context, host)
    kernel = ElementwiseKernel("T x, S y", "T z, S w", "T t = x; z = t; w = y", "pass")
    z, w = kernel(device, on(context, np.arange(4, dtype="int16")))
    assert_same(z, host)
    assert_same(w, np.broadcast_to(np.arange(4, dtype="int16"), (3, 4)))


def test_outputs_may_be_given_and_read(context):
    host = values("float32", (3, 4))
    x, out = on(context, host), on(context, np.ones((4, 3), "float32")).T
    add = ElementwiseKernel("T x", "T z", "z += x", "accumulate")
    assert add(x, out) is out
    assert_same(out, host + 1)
    twice = ElementwiseKernel("T x", "T y, T z", "y = x; z = 2 * x", "twice")
    assert isinstance(twice(x), tuple)
    alone = ElementwiseKernel("T x", "T y", "y = x", "alone", return_tuple=True)
    assert len(alone(x)) == 1


def test_raw_parameters_are_indexed(context):
    host = values("float32", (7,))
    x = on(context, host)
    kernel = ElementwiseKernel("raw T x, T y", "T z", "z = x[n - 1 - i] + y", "turned")
    assert_same(kernel(x, x), host[::-1] + host)
    assert_same(kernel(x[::-1], x), host + host)
    count = ElementwiseKernel("T y", "T z", "z = y + i", "counted")
    half = on(context, host.astype("float16").reshape(7, 1))
    expected = host.astype("float16").reshape(7, 1) + np.arange(7).reshape(7, 1)
    assert_same(count(half), expected.astype("float16"))
    scaled = ElementwiseKernel("T y, T a", "T z", "z = a * i", "scaled")
    assert_same(scaled(half[:, 0], 0.5), (np.arange(7) * 0.5).astype("float16"))
    reversed_half = kernel(half[:, 0], half[:, 0])
    assert_same(reversed_half, half.get()[::-1, 0] + half.get()[:, 0])
    with context.as_default():
        made = ElementwiseKernel("", "float32 z", "z = i * 2", "made")(size=5)
    assert made.tolist() == [0, 2, 4, 6, 8]


def test_pointers_as_in_pycuda(context):
    host = values("float32", (2, 5))
    x, y = on(context, host), gpuarray.zeros((2, 5), "float32", context)
    kernel = ElementwiseKernel(
        "float a, const float *x, float *y", "y[i] = a * x[i] + 1", "axpy"
    )
    assert kernel(2, x, y) is None
    assert_same(y, host * 2 + 1)
    kernel(3, x[1], y[0])
    assert_same(y[0], host[1] * 3 + 1)
    with pytest.raises(BadValue, match=r"x is not contiguous; give x.copy\(\)"):
        kernel(3, x[:, 1], y[:, 1])


def test_bad_expressions_and_arguments(context):
    x = gpuarray.zeros(4, "float32", context)
    kernel = ElementwiseKernel("T x, T y", "T z", "z = x * y", "product")
    with pytest.raises(BadType, match="y is of int8, expected float32"):
        kernel(x, x.astype("int8"))
    with pytest.raises(BadType, match="1 arguments, expected 2 inputs"):
        kernel(x)
    with pytest.raises(BadType, match="argument is of ndarray"):
        kernel(x, np.zeros(4))
    with pytest.raises(BadType, match="an output is of"):
        kernel(x, x, np.zeros(4))
    with pytest.raises(ValueError):
        kernel(x, x[:3])
    with pytest.raises(BadValue, match="give an array, or size="):
        ElementwiseKernel("", "float32 z", "z = i", "iota")()
    with pytest.raises(BadType, match="nothing says what T is"):
        ElementwiseKernel("", "T z", "z = i", "iota")(size=3)
    with pytest.raises(BadValue, match="'foo' of the parameter 'x' is no type"):
        ElementwiseKernel("foo x", "T z", "z = x")
    with pytest.raises(BadValue, match="a name stands twice"):
        ElementwiseKernel("T x, T x", "T z", "z = x")
    with pytest.raises(BadValue, match="is not understood"):
        ElementwiseKernel("x", "T z", "z = x")


def test_parameters_are_read():
    x, n = of_kernel("KERNEL void f(GLOBAL_MEM const ga_half *x,\n ga_uint n) {}", "f")
    assert (x.name, x.dtype, x.is_array) == ("x", "float16", True)
    assert (n.name, n.dtype, n.is_array) == ("n", "uint32", False)
    raw, number = parse("raw T x, unsigned long long n", "test")
    assert raw.is_raw and raw.generic == "T" and number.dtype == "uint64"
    assert (raw.name, number.name) == ("x", "n")
    for text in ("unsigned long 3", "float32", "raw T", "3"):
        with pytest.raises(BadValue, match=f"the parameter '{text}' is not understood"):
            parse(text, "test")


# ---- reductions ----


def norm():
    return ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_reduction_of_every_layout(context, layout):
    host, device = pair(layout, "float32", context)
    assert_same(norm()(device), np.sqrt((host * host).sum()))
    for axis in range(host.ndim):
        expected = np.sqrt((host * host).sum(axis, keepdims=True))
        assert_same(norm()(device, axis=axis, keepdims=True), expected)


def test_a_reduction_of_several_inputs_and_the_count(context):
    host, weights = values("float32", (6, 5)), np.abs(values("float32", (5,), seed=1))
    x, w = on(context, host), on(context, weights)
    mean = ReductionKernel(
        "T x, T w", "float32 y", "x * w", "a + b", "y = a / _in_ind.size()", "0", "mean"
    )
    assert_same(mean(x, w, axis=1), (host * weights).mean(1))
    assert_same(mean(x, 2.0), np.float32((host * 2).mean()))
    largest = ReductionKernel(
        "int8 x", "int8 y", "x", "a > b ? a : b", "y = a", "-128", reduce_type="int32"
    )
    small = values("int8", (40,))
    assert_same(largest(on(context, small)), small.max())
    out = gpuarray.empty(5, "float32", context)
    assert norm()(x, axis=0, out=out) is out
    assert_same(out, np.sqrt((host * host).sum(0)))
    with pytest.raises(BadValue, match="out has shape"):
        norm()(x, axis=1, out=out)
    with pytest.raises(BadValue, match="raw parameters and pointers"):
        ReductionKernel("raw T x", "T y", "x[i]", "a + b", "y = a", "0")


def test_kernels_are_pickled_after_they_were_used(context):
    x = gpuarray.asarray(np.arange(4, dtype="float32"), context=context)
    double = RawKernel(
        "KERNEL void f(GLOBAL_MEM float *x, ga_size x_off) { x[GID_0] *= 2; }", "f"
    )
    bound = RawKernel(double.source, "f", context=context)
    for kernel in (double, bound):
        kernel(x, blocks=4, threads=1)
        pickle.loads(pickle.dumps(kernel))(x, blocks=4, threads=1)
    assert_same(x, np.arange(4, dtype="float32") * 16)
    for kernel in (
        ElementwiseKernel("T x", "T y", "y = x + 1"),
        gpuarray.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0"),
    ):
        expected = kernel(x).get()
        assert_same(pickle.loads(pickle.dumps(kernel))(x), expected)


@pytest.mark.every_case
def test_a_compiled_kernel_takes_little_memory(context):
    """Intel's runtime keeps 3 MB of each program that it compiled from a source."""
    name = f"grows_{context.name.replace(':', '_')}"
    count = 6

    def make(number):
        text = f"x[GID_0] = sin(x[GID_0]) + {number};"
        source = f"KERNEL void {name}(GLOBAL_MEM ga_float *x) {{ {text} }}"
        return gpuarray.GpuKernel(source, name, [gpuarray.Array], context)

    kernels = [make(0)]  # the compiler itself
    before = resident()
    kernels += [make(number + 1) for number in range(count)]
    assert resident() - before < count * 1.5e6


def resident():
    """Bytes of this process in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("make", [gpuarray.GpuKernel, gpuarray.RawKernel])
def test_a_kernel_refuses_elements_of_another_size(context, make):
    source = "KERNEL void one(GLOBAL_MEM ga_float *x) { x[LID_0] = 1; }"
    kernel = make(source, "one", [gpuarray.Array], context)
    said = (
        "'one': argument 0 is an array of int64, its text declares a pointer to float32"
    )
    with pytest.raises(gpuarray.errors.BadType, match=said):
        kernel(gpuarray.zeros(4, "int64", context), blocks=1, threads=4)
    x = gpuarray.zeros(4, "float32", context)
    kernel(x, blocks=1, threads=4)
    assert x.tolist() == [1.0] * 4
