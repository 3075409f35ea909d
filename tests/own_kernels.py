"""Ops with kernels and launches of their own, for the tests of files."""

import gpuarray
import numpy as np
from gpuarray.compiler.gpukernels.basic_ops import (
    GpuKernelBase,
    Kernel,
    Launch,
    as_gpuarray_variable,
    gpu_contiguous,
    infer_context_name,
    least,
    same,
)
from gpuarray.compiler.graph.core import Apply

POINTER, OFFSET, SSIZE = gpuarray.GpuArray, gpuarray.OFFSET, gpuarray.SSIZE

SCALED = """
KERNEL void scaled(GLOBAL_MEM const ga_float *x, ga_size x_off, ga_ssize down,
                   ga_int right, GLOBAL_MEM ga_float *y, ga_size y_off, ga_ssize n,
                   ga_ushort m, ga_float factor, ga_double more) {
  const ga_ssize i = GID_0 * LDIM_0 + LID_0, j = GID_1 * LDIM_1 + LID_1;
  x = (GLOBAL_MEM const ga_float *)((GLOBAL_MEM const char *)x + x_off);
  y = (GLOBAL_MEM ga_float *)((GLOBAL_MEM char *)y + y_off);
  if (i < n && j < m)
    y[i * m + j] = factor *
      *(GLOBAL_MEM const ga_float *)((GLOBAL_MEM const char *)x + i * down + j * right)
      + more;
}"""

SUMS = """
KERNEL void by_items(GLOBAL_MEM const ga_float *x, ga_size x_off,
                     GLOBAL_MEM ga_float *y, GLOBAL_MEM ga_float *way, ga_ssize n,
                     ga_ssize m) {
  x = (GLOBAL_MEM const ga_float *)((GLOBAL_MEM const char *)x + x_off);
  for (ga_ssize i = GID_0 * LDIM_0 + LID_0; i < n; i += GDIM_0 * LDIM_0) {
    ga_float sum = 0;
    for (ga_ssize j = 0; j < m; j++) sum += x[i * m + j];
    y[i] = sum;
    way[i] += 1;
  }
}
"""
BY_BLOCKS = SUMS.replace("by_items", "by_blocks").replace("+= 1", "+= 2")


class Scaled(GpuKernelBase):
    """``2.5 x - 1`` of a matrix of float32, a view or not, in blocks of two axes."""

    __props__ = ()

    def make_node(self, x):
        x = as_gpuarray_variable(x, infer_context_name(x))
        return Apply(self, [x], [x.type()])

    def infer_shape(self, node, input_shapes):
        return input_shapes

    def gpu_kernels(self, node, name):
        params = [POINTER, OFFSET, SSIZE, "int32", POINTER, OFFSET, SSIZE, "uint16"]
        return [Kernel(SCALED, [*params, "float32", "float64"], "scaled")]

    def gpu_launches(self, node, inputs, outputs):
        (x,), (y,) = inputs, outputs
        n, m = x.shape
        grid = (n + 3) // 4, (m + 7) // 8
        arguments = x, x.offset, *x.strides, y, y.offset, n, m, np.float32(2.5), -1
        yield Launch("scaled", arguments, blocks=grid, threads=(4, 8), when=n * m != 0)


class Sums(GpuKernelBase):
    """Sums of rows by one of two kernels, and by which: 1 up to 4 elements, else 2."""

    __props__ = ()
    zeroed = (1,)

    def make_node(self, x):
        x = gpu_contiguous(as_gpuarray_variable(x, infer_context_name(x)))
        kind = x.type.clone(broadcastable=(False,))
        return Apply(self, [x], [kind(), kind()])

    def infer_shape(self, node, input_shapes):
        ((n, _),) = input_shapes
        return [(n,), (n,)]

    def gpu_kernels(self, node, name):
        params = [POINTER, OFFSET, POINTER, POINTER, SSIZE, SSIZE]
        texts = {"by_items": SUMS, "by_blocks": BY_BLOCKS}
        return [Kernel(text, params, name) for name, text in texts.items()]

    def gpu_launches(self, node, inputs, outputs):
        (x,), (y, way) = inputs, outputs
        n, m = x.shape
        same(n * m, least(x.size, n * m), x, "no whole rows")
        given = x, x.offset, y, way, n, m
        return [
            Launch("by_items", given, n=n, when=m <= 4),
            Launch("by_blocks", given, blocks=n, threads=2, when=m > 4),
        ]


class Branching(Scaled):
    """A launch that Python chooses."""

    def gpu_launches(self, node, inputs, outputs):
        return super().gpu_launches(node, inputs, outputs) if inputs[0].size else []
