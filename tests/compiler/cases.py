"""One row for each op beside the table of scalars: how to build it, what to feed it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gpuarray.compiler.tensor as T
import numpy as np
from gpuarray.compiler.ops.elemwise.elemwise import (
    Cast,
    Composite,
    CompositeStep,
    Elemwise,
)
from gpuarray.compiler.ops.linalg.linalg import Gemm, Gemv
from gpuarray.compiler.ops.nnet.conv import (
    AbstractConv2d,
    AbstractConv2d_gradInputs,
    AbstractConv2d_gradWeights,
    AbstractConv3d,
)
from gpuarray.compiler.ops.variables.transfer import GpuFromHost, GpuToGpu, HostFromGpu
from gpuarray.compiler.tensor.nnet.abstract_conv import conv2d_grad_wrt_weights


@dataclass(frozen=True)
class Case:
    """`build` of variables like `arrays` must compute `expected(*arrays)`."""

    name: str
    build: Callable[..., Any]
    expected: Callable[..., Any]
    arrays: tuple[Any, ...]
    patterns: tuple[tuple[bool, ...], ...] = ()
    has_gradient: bool = True

    def variables(self):
        patterns = self.patterns or tuple((False,) * a.ndim for a in self.arrays)
        return [
            T.tensor(array.dtype, pattern, f"x{index}")
            for index, (array, pattern) in enumerate(
                zip(self.arrays, patterns, strict=True)
            )
        ]


CASES: list[Case] = []


def case(name, build, expected, *arrays, patterns=(), has_gradient=True):
    CASES.append(Case(name, build, expected, arrays, patterns, has_gradient))


def f64(*shape):
    """Distinct numbers, none of them near 0 or near another."""
    count = int(np.prod(shape))
    values = (np.arange(count) * 0.37 + 0.21) * np.where(np.arange(count) % 3, 1, -1)
    return np.random.default_rng(3).permutation(values).reshape(shape)


def f32(*shape):
    return f64(*shape).astype("float32")


def i32(*shape):
    return np.random.default_rng(5).integers(-9, 9, shape).astype("int32")


M, V, S = (False, False), (False,), ()
ROW, COL = (True, False), (False, True)

# Axes and lengths.
case("transpose", lambda x: x.T, np.transpose, f64(3, 4))
case(
    "dimshuffle_new", lambda x: x.dimshuffle(0, "x", 1), lambda x: x[:, None], f64(3, 4)
)
case(
    "dimshuffle_3",
    lambda x: x.dimshuffle(2, 0, 1),
    lambda x: x.transpose(2, 0, 1),
    f64(2, 3, 4),
)
case(
    "dimshuffle_drop",
    lambda x: x.dimshuffle(1),
    lambda x: x[0],
    f64(1, 4),
    patterns=(ROW,),
)
case(
    "dimshuffle_drop_last",
    lambda x: x.dimshuffle("x", 0),
    lambda x: x.T,
    f64(3, 1),
    patterns=(COL,),
)
case("squeeze", lambda x: x.squeeze(), lambda x: x[:, 0], f64(3, 1), patterns=(COL,))
case("swapaxes", lambda x: x.swapaxes(0, 2), lambda x: x.swapaxes(0, 2), f64(2, 3, 4))
case("reshape", lambda x: x.reshape((2, 6)), lambda x: x.reshape(2, 6), f64(3, 4))
case("reshape_one", lambda x: x.reshape((12, 1)), lambda x: x.reshape(12, 1), f64(3, 4))
case(
    "reshape_rest", lambda x: x.reshape((-1, 2)), lambda x: x.reshape(-1, 2), f64(3, 4)
)
case(
    "reshape_like",
    lambda x, y: x.reshape(y.shape),
    lambda x, y: x.reshape(y.shape),
    f64(3, 4),
    f64(2, 6),
    has_gradient=False,
)
case(
    "reshape_symbolic",
    lambda x: x.reshape((x.shape[1], x.shape[0])),
    lambda x: x.reshape(4, 3),
    f64(3, 4),
)
case("reshape_empty", lambda x: x.reshape((0, 4)), lambda x: x.reshape(0, 4), f64(0, 2))
case("flatten", lambda x: x.flatten(), np.ravel, f64(3, 4))
case("flatten_2", lambda x: x.flatten(2), lambda x: x.reshape(2, 12), f64(2, 3, 4))
case(
    "shape",
    lambda x: x.shape,
    lambda x: np.array(x.shape),
    f64(3, 4),
    has_gradient=False,
)
case(
    "shape_i",
    lambda x: x.shape[1],
    lambda x: np.array(4),
    f64(3, 4),
    has_gradient=False,
)
case("size", lambda x: x.size, lambda x: np.array(12), f64(3, 4), has_gradient=False)
case(
    "make_vector",
    lambda x, y: T.as_tensor_variable([x, y, 2.0]),
    lambda x, y: np.array([x, y, 2.0]),
    f64(),
    f64(),
)
case(
    "broadcast_to",
    lambda x: T.broadcast_to(x, (2, 3, 4)),
    lambda x: np.broadcast_to(x, (2, 3, 4)),
    f64(1, 4),
    patterns=(ROW,),
)
case(
    "broadcast_scalar",
    lambda x: T.broadcast_to(x, (2, 3)),
    lambda x: np.full((2, 3), x),
    f64(),
)
case("addbroadcast", lambda x: T.addbroadcast(x, 0), lambda x: x, f64(1, 4))
case(
    "unbroadcast",
    lambda x: T.unbroadcast(x, 0),
    lambda x: x,
    f64(1, 4),
    patterns=(ROW,),
)

# Elementwise, beside the rows.
case(
    "row_plus_matrix",
    lambda x, y: x + y,
    np.add,
    f64(1, 4),
    f64(3, 4),
    patterns=(ROW, M),
)
case(
    "col_times_vector",
    lambda x, y: x * y,
    np.multiply,
    f64(3, 1),
    f64(4),
    patterns=(COL, V),
)
case("scalar_minus_matrix", lambda x, y: x - y, np.subtract, f64(), f64(3, 4))
case(
    "cast",
    lambda x: T.cast(x, "float32"),
    lambda x: x.astype("f4"),
    f64(3, 4),
    has_gradient=False,
)
case(
    "cast_to_int",
    lambda x: T.cast(x, "int32"),
    lambda x: x.astype("i4"),
    f64(3, 4),
    has_gradient=False,
)
case("cast_op", Elemwise(Cast("float64")), lambda x: x.astype("f8"), f32(3))
case(
    "switch",
    lambda c, x, y: T.switch(c, x, y),
    lambda c, x, y: np.where(c, x, y),
    i32(3, 4) % 2,
    f64(3, 4),
    f64(3, 4),
)
case("zeros_like", T.zeros_like, np.zeros_like, f64(3, 4), has_gradient=False)
case("ones_like", T.ones_like, np.ones_like, f64(3, 4), has_gradient=False)
case(
    "largest",
    lambda x, y: T.largest(x, y, 0.5),
    lambda x, y: np.maximum(np.maximum(x, y), 0.5),
    f64(5),
    f64(5) * 1.1 - 0.1,
)
case("isclose", T.isclose, np.isclose, f64(5), f64(5) * (1 + 1e-6), has_gradient=False)
case("add_many", lambda x, y: T.add(x, y, x), lambda x, y: x + y + x, f64(5), f64(5))

COMPOSITE = Composite(
    ("float64", "float64"),
    (
        CompositeStep("mul", (0, 1), "float64"),
        CompositeStep("tanh", (2,), "float64"),
        CompositeStep("cast", (3,), "float32"),
        CompositeStep("add", (3, 2), "float64"),
    ),
    (5, 4),
)


def composite_values(x, y):
    t = np.tanh(x * y)
    return t + x * y, t.astype("f4")


case(
    "composite",
    Elemwise(COMPOSITE),
    composite_values,
    f64(3, 4),
    f64(1, 4),
    patterns=(M, ROW),
)

# Reductions.
for name, function in {
    "sum": np.sum,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
}.items():
    for axis in (None, 0, 1, (0, 2), -1):
        case(
            f"{name}_{axis}",
            lambda x, name=name, axis=axis: getattr(T, name)(x, axis=axis),
            lambda x, function=function, axis=axis: function(x, axis=axis),
            f64(2, 3, 4) / 4,
        )
    case(
        f"{name}_keepdims",
        lambda x, name=name: getattr(x, name)(axis=0, keepdims=True),
        lambda x, function=function: function(x, axis=0, keepdims=True),
        f64(3, 4),
    )
    case(
        f"{name}_int",
        lambda x, name=name: getattr(T, name)(x),
        lambda x, function=function: function(x),
        i32(7),
        has_gradient=False,
    )
case(
    "sum_bool",
    lambda x: T.gt(x, 0).sum(),
    lambda x: np.sum(x > 0),
    f64(3, 4),
    has_gradient=False,
)
case(
    "max_bool",
    lambda x: T.gt(x, 0).max(),
    lambda x: np.max(x > 0),
    f64(3, 4),
    has_gradient=False,
)
case(
    "any",
    lambda x: T.any(x, axis=0),
    lambda x: np.any(x, axis=0),
    i32(3, 4),
    has_gradient=False,
)
case("all", lambda x: T.all(x), lambda x: np.all(x), i32(3, 4), has_gradient=False)
case("sum_of_nothing", lambda x: x.sum(), np.sum, f64(0, 3))
case("sum_row", lambda x: x.sum(axis=0), lambda x: x.sum(0), f64(1, 4), patterns=(ROW,))
case(
    "sum_f2",
    lambda x: x.sum(),
    lambda x: x.astype("f4").sum().astype("f2"),
    f64(300).astype("f2"),
    has_gradient=False,
)
case(
    "prod_one_zero",
    lambda x: x.prod(axis=0),
    lambda x: x.prod(0),
    np.array([[0.0, 1.5], [2.0, 3.0], [3.0, -1.0]]),
)
case("prod_two_zeros", lambda x: x.prod(), np.prod, np.array([0.0, 0.0, 3.0]))
case("mean", lambda x: x.mean(), np.mean, f64(3, 4))
case(
    "mean_axis",
    lambda x: x.mean(axis=1, keepdims=True),
    lambda x: x.mean(1, keepdims=True),
    f64(3, 4),
)
case(
    "mean_int",
    lambda x: x.mean(axis=0),
    lambda x: x.mean(0),
    i32(3, 4),
    has_gradient=False,
)
case("mean_f4", lambda x: x.mean(), np.mean, f32(3, 4), has_gradient=False)
case("var", lambda x: x.var(axis=0), lambda x: x.var(0), f64(3, 4))
case("var_ddof", lambda x: x.var(axis=0, ddof=1), lambda x: x.var(0, ddof=1), f64(3, 4))
case("std", lambda x: x.std(), np.std, f64(3, 4))
case("ptp", lambda x: x.ptp(axis=1), lambda x: np.ptp(x, 1), f64(3, 4))

# Products.
case("dot_11", T.dot, np.dot, f64(4), f64(4))
case("dot_21", T.dot, np.dot, f64(3, 4), f64(4))
case("dot_12", T.dot, np.dot, f64(3), f64(3, 4))
case("dot_22", T.dot, np.dot, f64(3, 4), f64(4, 2))
case("dot_0", T.dot, np.dot, f64(), f64(4, 2))
case("dot_mixed", T.dot, np.dot, f64(3, 4), i32(4), has_gradient=False)
case("dot_empty", T.dot, np.dot, f64(3, 0), f64(0, 2))
case("matmul", lambda a, b: a @ b, np.matmul, f64(3, 4), f64(4, 2))
case("outer", T.outer, np.outer, f64(3), f64(4))
case(
    "gemv",
    Gemv(0.5, 2.0),
    lambda y, a, x: 2 * y + 0.5 * a @ x,
    f64(3),
    f64(3, 4),
    f64(4),
)
case(
    "gemv_transposed",
    Gemv(-1.0, 1.0, True),
    lambda y, a, x: y - a.T @ x,
    f64(4),
    f64(3, 4),
    f64(3),
)
for ta in (False, True):
    for tb in (False, True):
        case(
            f"gemm_{ta}_{tb}",
            Gemm(0.5, 3.0, ta, tb),
            lambda c, a, b, ta=ta, tb=tb: (
                3 * c + 0.5 * (a.T if ta else a) @ (b.T if tb else b)
            ),
            f64(3, 2),
            f64(4, 3) if ta else f64(3, 4),
            f64(2, 4) if tb else f64(4, 2),
        )

# Transfers.
case(
    "transfer",
    lambda x: HostFromGpu()(GpuToGpu("b")(GpuFromHost("a")(x))),
    lambda x: x,
    f64(3),
)
case(
    "transfer_method",
    lambda x: x.transfer(None).transfer("cpu") * 2,
    lambda x: x * 2,
    f64(3),
)

import cases_convolution  # noqa: E402, F401  (its cases join the table)
import cases_diagonals  # noqa: E402, F401
import cases_index  # noqa: E402, F401
import cases_joins  # noqa: E402, F401
import cases_layers  # noqa: E402, F401
import cases_lazy  # noqa: E402, F401
import cases_linalg  # noqa: E402, F401
import cases_loops  # noqa: E402, F401
import cases_nn  # noqa: E402, F401  (its cases join the table)
import cases_pooling  # noqa: E402, F401
import cases_products  # noqa: E402, F401
import cases_random  # noqa: E402, F401
import cases_seeing  # noqa: E402, F401
import cases_sorting  # noqa: E402, F401
import cases_sparse_arrays  # noqa: E402, F401
import cases_special  # noqa: E402, F401

# Convolutions.
case(
    "conv2d",
    lambda x, w: T.nnet.conv2d(x, w, border_mode=((1, 0), 2), subsample=(2, 1)),
    AbstractConv2d(border_mode=((1, 0), 2), subsample=(2, 1)).reference,
    f64(2, 3, 5, 4),
    f64(2, 3, 2, 3),
)
case(
    "conv2d_groups",
    lambda x, w: T.nnet.conv2d(
        x, w, border_mode="half", filter_dilation=(1, 2), num_groups=2
    ),
    AbstractConv2d(border_mode="half", filter_dilation=(1, 2), num_groups=2).reference,
    f32(2, 4, 5, 4),
    f32(6, 2, 3, 3),
)
case(
    "conv2d_unshared",
    lambda x, w: T.nnet.conv2d(x, w, unshared=True),
    AbstractConv2d(unshared=True).reference,
    f64(2, 2, 3, 4),
    f64(3, 2, 3, 2, 2, 2),
)
case(
    "conv2d_transpose",
    lambda x, w: T.nnet.conv2d_transpose(
        x, w, (2, 3, 6, 5), input_dilation=(2, 1), border_mode="half"
    ),
    lambda x, w: AbstractConv2d_gradInputs(
        subsample=(2, 1), border_mode="half"
    ).reference(w, x, 6, 5),
    f64(2, 2, 3, 5),
    f64(2, 3, 3, 3),
)
case(
    "conv2d_grad_wrt_weights",
    lambda x, g: conv2d_grad_wrt_weights(x, g, (2, 3, 2, 3), border_mode="full"),
    lambda x, g: AbstractConv2d_gradWeights(border_mode="full").reference(x, g, 2, 3),
    f64(2, 3, 3, 4),
    f64(2, 2, 4, 6),
)
case(
    "conv3d",
    lambda x, w: T.nnet.conv3d(x, w, subsample=(1, 2, 1), filter_flip=False),
    AbstractConv3d(subsample=(1, 2, 1), filter_flip=False).reference,
    f64(1, 2, 3, 4, 3),
    f64(2, 2, 2, 2, 2),
)
case(
    "causal_conv1d",
    lambda x, w: T.nnet.causal_conv1d(x, w, (None, None, 3)),
    lambda x, w: AbstractConv2d(border_mode=(0, 2)).reference(
        x[:, :, None], w[:, :, None]
    )[:, :, 0, : x.shape[2]],
    f64(2, 2, 5),
    f64(3, 2, 3),
)
