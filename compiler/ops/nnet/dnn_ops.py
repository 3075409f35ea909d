"""Theano's classes of cuDNN's operations: instances are called, and give graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from gpuarray.compiler.errors import GraphValueError, NotOfferedError
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.nnet import conv_functions as functions
from gpuarray.compiler.ops.nnet.dnn import (
    dnn_batch_normalization_test,
    dnn_batch_normalization_train,
    dnn_pool,
)
from gpuarray.compiler.ops.reduce import reduce
from gpuarray.compiler.ops.reduce.argmax import argmax, argmin
from gpuarray.compiler.ops.shape.shape import shape
from gpuarray.compiler.ops.variables.basic import as_tensor_variable

# ---- convolution ----


@dataclass(frozen=True)
class ConvolutionDescription:
    """What a convolution does, as `GpuDnnConvDesc` gives it."""

    border_mode: Any
    subsample: Sequence[int]
    dilation: Sequence[int]
    flips: bool
    num_groups: int

    def options(self) -> dict[str, Any]:
        """Return the arguments of `T.nnet.conv2d` and its gradients."""
        return {
            "border_mode": self.border_mode,
            "subsample": tuple(self.subsample),
            "filter_flip": self.flips,
            "filter_dilation": tuple(self.dilation),
            "num_groups": self.num_groups,
        }


class GpuDnnConvDesc:
    """``GpuDnnConvDesc(border_mode, ...)(kern_shape)``: what a convolution does.

    ``conv_mode`` is ``"conv"``, where filters are turned around, or ``"cross"``;
    ``precision`` has no effect: 16-bit types add in float32.
    """

    def __init__(
        self,
        border_mode: Any,
        subsample: Sequence[int] = (1, 1),
        dilation: Sequence[int] = (1, 1),
        conv_mode: str = "conv",
        precision: str = "float32",
        num_groups: int = 1,
    ) -> None:
        if conv_mode not in ("conv", "cross"):
            raise GraphValueError(
                f"GpuDnnConvDesc: conv_mode is {conv_mode!r}, expected 'conv' or "
                "'cross'"
            )
        self._description = ConvolutionDescription(
            border_mode, subsample, dilation, conv_mode == "conv", num_groups
        )

    def __call__(self, kern_shape: Any = None) -> ConvolutionDescription:
        """Return the description; the shape of the filters is not needed."""
        return self._description


class _Convolution:
    """The base of the three roles; ``algo`` has no effect."""

    def __init__(
        self, algo: str | None = None, inplace: bool = False, num_groups: int = 1
    ) -> None:
        self.num_groups = num_groups

    def _described(self, desc: Any, ndim: int) -> tuple[dict[str, Any], bool]:
        """Return the options, and whether there are three spatial axes."""
        name = type(self).__name__
        if not isinstance(desc, ConvolutionDescription):
            raise GraphValueError(
                f"{name}: desc is {desc!r}, expected what GpuDnnConvDesc(...)(shape) "
                "gives"
            )
        if ndim not in (4, 5) or len(desc.subsample) != ndim - 2:
            raise GraphValueError(
                f"{name}: arrays of {ndim} axes and a description of "
                f"{len(desc.subsample)}, expected 4 and 2, or 5 and 3"
            )
        options = desc.options()
        options["num_groups"] = max(self.num_groups, desc.num_groups)
        return options, ndim == 5

    def _gradient(
        self,
        of: tuple[Callable[..., Variable], Callable[..., Variable]],
        first: Any,
        second: Any,
        output: Any,
        desc: Any,
        alpha: Any,
        beta: Any,
    ) -> Variable:
        """Return the gradient of ``output``'s shape by a function of 2 or 3 axes."""
        x, out = as_tensor_variable(first), as_tensor_variable(output)
        options, is_deep = self._described(desc, x.type.ndim)
        gradient = of[is_deep](x, second, _lengths(out), **options)
        return self._added(gradient, out, alpha, beta)

    @staticmethod
    def _added(result: Variable, output: Any, alpha: Any, beta: Any) -> Variable:
        """Return ``alpha * result + beta * output``."""
        dtype = result.type.dtype
        if not _is_number(alpha, 1):
            result = math.mul(result, math.cast(as_tensor_variable(alpha), dtype))
        if not _is_number(beta, 0):
            more = math.mul(math.cast(as_tensor_variable(beta), dtype), output)
            result = math.add(result, more)
        return result


def _is_number(value: Any, number: float) -> bool:
    return isinstance(value, int | float) and value == number


class GpuDnnConv(_Convolution):
    """``GpuDnnConv()(img, kern, output, desc, alpha=1, beta=0)``: a convolution.

    The result is ``alpha`` times the convolution, plus ``beta * output``.
    """

    def __call__(
        self, img: Any, kern: Any, output: Any, desc: Any, alpha: Any = 1, beta: Any = 0
    ) -> Variable:
        """Return the images (batch, results, ...)."""
        x = as_tensor_variable(img)
        options, is_deep = self._described(desc, x.type.ndim)
        convolve = functions.conv3d if is_deep else functions.conv2d
        result: Variable = convolve(x, kern, **options)
        return self._added(result, output, alpha, beta)


class GpuDnnConvGradW(_Convolution):
    """``GpuDnnConvGradW()(img, topgrad, output, desc, alpha=1, beta=0)``.

    The gradient by the filters, whose shape ``output`` has.
    """

    def __call__(
        self,
        img: Any,
        topgrad: Any,
        output: Any,
        desc: Any,
        alpha: Any = 1,
        beta: Any = 0,
    ) -> Variable:
        """Return filters (results, channels / groups, ...)."""
        of = functions.conv2d_grad_wrt_weights, functions.conv3d_grad_wrt_weights
        return self._gradient(of, img, topgrad, output, desc, alpha, beta)


class GpuDnnConvGradI(_Convolution):
    """``GpuDnnConvGradI()(kern, topgrad, output, desc, alpha=1, beta=0)``.

    The gradient by the images, whose shape ``output`` has.
    """

    def __call__(
        self,
        kern: Any,
        topgrad: Any,
        output: Any,
        desc: Any,
        alpha: Any = 1,
        beta: Any = 0,
    ) -> Variable:
        """Return images (batch, channels, ...)."""
        of = functions.conv2d_grad_wrt_inputs, functions.conv3d_grad_wrt_inputs
        return self._gradient(of, topgrad, kern, output, desc, alpha, beta)


def _lengths(x: Variable) -> list[Variable]:
    """Return the shape, axis by axis."""
    lengths = shape(x)
    return [lengths[axis] for axis in range(x.type.ndim)]


# ---- pooling ----


class GpuDnnPool:
    """``GpuDnnPool(mode)(img, ws, stride, pad)``: pooling; see `dnn_pool`."""

    def __init__(self, mode: str = "max") -> None:
        self.mode = mode

    def __call__(self, img: Any, ws: Any, stride: Any, pad: Any) -> Variable:
        """Return maxima, sums or averages of windows."""
        return dnn_pool(img, ws, stride, self.mode, pad)


# ---- reductions ----


def _norm(x: Variable, axis: Any) -> Variable:
    return math.sqrt(reduce.sum(math.square(x), axis))


_REDUCTIONS: dict[str, Callable[[Variable, Any], Variable]] = {
    "add": reduce.sum,
    "mul": reduce.prod,
    "maximum": reduce.max,
    "minimum": reduce.min,
    "absmax": lambda x, axis: reduce.max(math.abs(x), axis),
    "avg": reduce.mean,
    "norm1": lambda x, axis: reduce.sum(math.abs(x), axis),
    "norm2": _norm,
}


class GpuDnnReduction:
    """``GpuDnnReduction(red_op, axis, acc_dtype, dtype, return_indices)(x)``.

    ``red_op`` is ``"add"``, ``"mul"``, ``"maximum"``, ``"minimum"``, ``"absmax"``,
    ``"avg"``, ``"norm1"`` or ``"norm2"``, over the axes; all of them for None.
    ``acc_dtype`` has no effect. With ``return_indices`` a maximum or a minimum over one
    axis comes with its places.
    """

    def __init__(
        self,
        red_op: str,
        axis: Any,
        acc_dtype: str | None,
        dtype: str | None,
        return_indices: bool = False,
    ) -> None:
        if red_op not in _REDUCTIONS:
            raise GraphValueError(
                f"GpuDnnReduction: red_op is {red_op!r}, expected one of "
                f"{', '.join(_REDUCTIONS)}"
            )
        if return_indices and red_op not in ("maximum", "minimum"):
            raise GraphValueError(
                f"GpuDnnReduction: return_indices of {red_op!r}, expected 'maximum' or "
                "'minimum'"
            )
        self.red_op, self.axis, self.dtype = red_op, axis, dtype
        self.return_indices = return_indices

    def __call__(self, x: Any) -> Any:
        """Return the reduction, with the places if they are asked for."""
        array = as_tensor_variable(x)
        result = _REDUCTIONS[self.red_op](array, self.axis)
        if self.dtype is not None:
            result = math.cast(result, self.dtype)
        if not self.return_indices:
            return result
        places = argmax if self.red_op == "maximum" else argmin
        return [result, places(array, self.axis)]


# ---- batch normalisation ----


class GpuDnnBatchNorm:
    """``GpuDnnBatchNorm(mode)(x, scale, bias, ...)``: of a batch, with statistics."""

    def __init__(
        self, mode: str = "per-activation", running_averages: bool = False
    ) -> None:
        self.mode, self.running_averages = mode, running_averages

    def __call__(
        self,
        x: Any,
        scale: Any,
        bias: Any,
        epsilon: Any = 1e-4,
        running_average_factor: Any = 0.1,
        running_mean: Any = None,
        running_var: Any = None,
    ) -> tuple[Variable, ...]:
        """Return the result, mean, inverse deviation, and new averages if given."""
        averages = running_average_factor, running_mean, running_var
        return dnn_batch_normalization_train(
            x, scale, bias, self.mode, epsilon, *averages
        )


class GpuDnnBatchNormInference:
    """``GpuDnnBatchNormInference(mode)(x, scale, bias, mean, variance)``."""

    def __init__(self, mode: str = "per-activation") -> None:
        self.mode = mode

    def __call__(
        self,
        x: Any,
        scale: Any,
        bias: Any,
        estimated_mean: Any,
        estimated_variance: Any,
        epsilon: Any = 1e-4,
    ) -> Variable:
        """Return the normalised array."""
        statistics = estimated_mean, estimated_variance
        return dnn_batch_normalization_test(
            x, scale, bias, *statistics, self.mode, epsilon
        )


# ---- what is not there ----


def _not_offered(name: str, instead: str) -> NoReturn:
    raise NotOfferedError(f"{name} is not offered: {instead}")


def dropout(x: Any, dropout: Any = 0.0, seed: int = 4242) -> NoReturn:
    """Raise NotOfferedError: cuDNN's dropout has states that only cuDNN reads."""
    _not_offered(
        "dropout",
        "write x * streams.bernoulli(keep, size=x.shape, dtype=x.dtype) / keep with "
        "streams = gpuarray.compiler.random.RandomStreams(seed); it is computed in the "
        "kernel that reads it, on every device",
    )


class RNNBlock:
    """Raises NotOfferedError: cuDNN's recurrent layers have their own parameters."""

    def __init__(self, *args: Any, **options: Any) -> None:
        _not_offered(
            "RNNBlock",
            "write the layers with scan, which records them once; the page "
            "'Recurrent networks' has an LSTM and a GRU",
        )
