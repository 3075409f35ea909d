"""Batch normalisation: less the mean, over the standard deviation, of a batch.

`BatchNormalization` stands for its graph, so that what is around it joins its passes,
and has a gradient of its own: two sums, then one elementwise pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gpuarray.compiler.errors import GraphArgumentError, GraphValueError
from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Apply, Op, Variable, is_float
from gpuarray.compiler.graph.op import Gradients, Variables
from gpuarray.compiler.graph.requirements import Requirement, equal
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.broadcast.broadcast import addbroadcast
from gpuarray.compiler.ops.control.gradient_markers import disconnected_grad
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.reduce import reduce
from gpuarray.compiler.ops.shape.shape import dimshuffle
from gpuarray.compiler.ops.variables.basic import (
    as_tensor_variable,
    known_integer,
    known_real,
)
from gpuarray.dtypes import work_dtype


class BatchNormalization(Op):
    """``x`` normalised over ``axes``, times ``gamma`` plus ``beta``; mean and variance.

    All inputs but the number ``epsilon``, which is added to the variance, have the rank
    of ``x``; ``gamma``, ``beta`` and the statistics have length 1 along ``axes``. The
    statistics are float64 for float64, else float32, and so is the computation.
    """

    __props__ = ("axes",)

    is_graph = True

    def __init__(self, axes: Sequence[int]) -> None:
        self.axes = tuple(axes)

    def make_node(self, x: Any, gamma: Any, beta: Any, epsilon: Any) -> Apply:
        """Return a node over an array of floats, its parameters, and a number."""
        inputs = [as_tensor_variable(value) for value in (x, gamma, beta, epsilon)]
        array = inputs[0].type
        pattern = tuple(
            axis in self.axes or flag for axis, flag in enumerate(array.broadcastable)
        )
        statistic = TensorType(work_of(inputs[0]), pattern)
        return Apply(self, inputs, [array.clone()(), statistic(), statistic()])

    def expand(self, inputs: Sequence[Variable]) -> list[Variable]:
        """Return the results as a graph that reads the array twice.

        Both sums are of differences to the first element of each batch: those of the
        numbers and of their squares would lose the variance beside a large mean. So its
        relative error is below that of a sum times the number of elements.
        """
        x, gamma, beta, epsilon = (math.cast(v, work_of(inputs[0])) for v in inputs)
        first = x[tuple(0 if i in self.axes else slice(None) for i in range(x.ndim))]
        order = iter(range(x.ndim))
        kept = ["x" if i in self.axes else next(order) for i in range(x.ndim)]
        shift = disconnected_grad(dimshuffle(first, *kept))
        difference = x - shift
        offset = self._mean(difference)
        spread = self._mean(math.square(difference)) - math.square(offset)
        variance = math.maximum(spread, core.constant(0, spread.type.dtype))
        mean = offset + shift
        scale = gamma * (1 / math.sqrt(variance + epsilon))  # as the gradient has it
        out = (x - mean) * scale + beta
        return [math.cast(out, inputs[0].type.dtype), mean, variance]

    def _mean(self, x: Variable) -> Variable:
        return reduce.mean(x, self.axes, keepdims=True)

    def reference(self, x: Any, gamma: Any, beta: Any, epsilon: Any) -> Any:
        """Return the results with NumPy, computed in float64."""
        wide = x.astype("float64")
        mean = wide.mean(self.axes, keepdims=True)
        variance = wide.var(self.axes, keepdims=True)
        scale = gamma.astype("float64") / np.sqrt(variance + np.float64(epsilon))
        out = (wide - mean) * scale + beta.astype("float64")
        work = work_dtype(x.dtype)
        return out.astype(x.dtype), mean.astype(work), variance.astype(work)

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return the gradients: sums of ``g`` and ``g * normalised``, then one pass."""
        x, gamma, beta, epsilon = (math.cast(v, work_of(inputs[0])) for v in inputs)
        _, mean, variance = outputs
        of_out, of_mean, of_variance = output_gradients
        deviation = 1 / math.sqrt(variance + epsilon)
        normalised = (x - mean) * deviation
        count = math.cast(reduce.count(x, self.axes), x.type.dtype)
        terms, total, product = [], None, None
        if of_out is not None:
            g = math.cast(of_out, x.type.dtype)
            total = reduce.sum(g, self.axes, keepdims=True)
            product = reduce.sum(g * normalised, self.axes, keepdims=True)
            scale = gamma * deviation
            means = total / count, product / count
            terms.append(scale * (g - means[0] - normalised * means[1]))
        if of_variance is not None:
            terms.append(normalised * (2 * of_variance / (deviation * count)))
        if of_mean is not None:
            terms.append(of_mean / count)
        gradients = [
            math.add(*terms) if terms[1:] else terms[0],
            None if product is None else reduce.sum_to(product, gamma),
            None if total is None else reduce.sum_to(total, beta),
            None if product is None else _by_epsilon(gamma, deviation, product),
        ]
        return [
            None if gradient is None else math.cast(gradient, v.type.dtype)
            for gradient, v in zip(gradients, inputs, strict=True)
        ]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Return that the statistics depend on the array only."""
        return [[True] * 3, *([True, False, False] for _ in node.inputs[1:])]

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """Return the array's shape, and that with length 1 along the axes."""
        lengths = input_shapes[0]
        one = core.constant(1, "int64")
        kept = tuple(
            one if axis in self.axes else length for axis, length in enumerate(lengths)
        )
        return [tuple(lengths), kept, kept]

    def requirements(self, node: Apply, input_shapes: Any) -> Iterable[Requirement]:
        """Require parameters that have a value for each batch, or one for all."""
        for parameter, shape in zip(node.inputs[1:3], input_shapes[1:3], strict=True):
            for axis, length in enumerate(shape):
                if not parameter.type.broadcastable[axis]:
                    yield from equal(length, input_shapes[0][axis])


def work_of(x: Variable) -> str:
    """Return the dtype that kernels compute in with the elements of an array."""
    return str(work_dtype(x.type.dtype).name)


def _by_epsilon(gamma: Variable, deviation: Variable, product: Variable) -> Variable:
    """Return the gradient by what is added to the variances."""
    return reduce.sum(math.square(deviation) * gamma * product) / -2


Results = tuple[Variable, ...]


def batch_normalization_train(
    inputs: Any,
    gamma: Any,
    beta: Any,
    axes: Any = "per-activation",
    epsilon: Any = 1e-4,
    running_average_factor: Any = 0.1,
    running_mean: Any = None,
    running_var: Any = None,
) -> Results:
    """Normalise ``inputs`` by the mean and the variance over ``axes``.

    Return ``(inputs - mean) * invstd * gamma + beta``, ``mean`` and ``invstd``, which
    is ``1 / sqrt(var + epsilon)``; with running averages also their new values:
    ``running_mean * (1 - f) + mean * f`` for ``f = running_average_factor``, and the
    same for ``running_var`` and the unbiased variance, ``var * m / (m - 1)`` of ``m``
    elements.

    ``axes`` are ``"per-activation"`` (the first), ``"spatial"`` (all but the second),
    or numbers, negative ones from the last. Parameters and averages have the other
    axes, or all with length 1 along ``axes``; so have then ``mean``, ``invstd`` and the
    new averages. The result has the dtype of ``inputs``, the statistics too, but at
    least float32. A batch of no elements raises IndexError when the program runs.
    """
    name = "batch_normalization_train"
    x = _floats(name, inputs)
    places = _axes_of(name, axes, x.type.ndim)
    weight, bias = (
        _placed(name, role, value, x, places)
        for role, value in (("gamma", gamma), ("beta", beta))
    )
    small = _epsilon_of(name, epsilon, x)
    out, mean, variance = BatchNormalization(places)(x, weight, bias, small)
    statistics = [mean, 1 / math.sqrt(variance + math.cast(small, work_of(x)))]
    if (running_mean is None) != (running_var is None):
        raise GraphArgumentError(
            f"{name}: given one of running_mean and running_var; expected both, or none"
        )
    if running_mean is not None:
        factor = as_tensor_variable(running_average_factor)
        averages = [
            _placed(name, role, value, x, places)
            for role, value in (
                ("running_mean", running_mean),
                ("running_var", running_var),
            )
        ]
        m = math.cast(reduce.count(x, places), variance.type.dtype)
        for old, new in zip(averages, (mean, variance * (m / (m - 1))), strict=True):
            share = math.cast(factor, new.type.dtype)
            moved = math.cast(old, new.type.dtype) * (1 - share) + new * share
            statistics.append(math.cast(moved, old.type.dtype))
    if as_tensor_variable(gamma).type.ndim < x.type.ndim:
        kept = [axis for axis in range(x.type.ndim) if axis not in places]
        statistics = [dimshuffle(each, *kept) for each in statistics]
    return (out, *statistics)


def batch_normalization_test(
    inputs: Any,
    gamma: Any,
    beta: Any,
    mean: Any,
    var: Any,
    axes: Any = "per-activation",
    epsilon: Any = 1e-4,
) -> Variable:
    """Return ``(inputs - mean) * gamma / sqrt(var + epsilon) + beta``.

    Axes and shapes are those of ``batch_normalization_train``, whose
    running averages are ``mean`` and ``var``.
    """
    name = "batch_normalization_test"
    x = _floats(name, inputs)
    places = _axes_of(name, axes, x.type.ndim)
    weight, bias, centre, spread = (
        math.cast(_placed(name, role, value, x, places), work_of(x))
        for role, value in (
            ("gamma", gamma),
            ("beta", beta),
            ("mean", mean),
            ("var", var),
        )
    )
    small = math.cast(_epsilon_of(name, epsilon, x), work_of(x))
    scale = weight / math.sqrt(spread + small)
    out = (math.cast(x, work_of(x)) - centre) * scale + bias
    return math.cast(out, x.type.dtype)


def batch_normalization(
    inputs: Any, gamma: Any, beta: Any, mean: Any, std: Any, mode: str = "low_mem"
) -> Variable:
    """Return ``(inputs - mean) * gamma / std + beta``; all broadcast to ``inputs``.

    ``mode`` is ``"low_mem"`` or ``"high_mem"``, as in Theano: here they are the same.
    """
    name = "batch_normalization"
    if mode not in ("low_mem", "high_mem"):
        raise GraphValueError(
            f"{name}: given mode {mode!r}, expected 'low_mem' or 'high_mem'"
        )
    x = _floats(name, inputs)
    weight, bias, centre, deviation = (
        math.cast(as_tensor_variable(value), work_of(x))
        for value in (gamma, beta, mean, std)
    )
    out = (math.cast(x, work_of(x)) - centre) * (weight / deviation) + bias
    return math.cast(out, x.type.dtype)


def _floats(name: str, inputs: Any) -> Variable:
    """Return the inputs. Raises GraphArgumentError if they are no array of floats."""
    x = as_tensor_variable(inputs)
    if not is_float(x) or x.type.ndim == 0:
        raise GraphArgumentError(
            f"{name}: given inputs {x} of {x.type}, expected floats of at least 1 axis"
        )
    return x


def _axes_of(name: str, axes: Any, ndim: int) -> tuple[int, ...]:
    """Return the axes in order. Raises GraphValueError for none, or unknown ones."""
    if isinstance(axes, str):
        spatial = (0, *range(2, ndim))
        known = {"per-activation": (0,), "spatial": spatial}
        places = known.get(axes, ())
    else:
        given = axes if isinstance(axes, (list, tuple, set, np.ndarray)) else [axes]
        numbers = [known_integer(name, "axis", axis) for axis in given]
        inside = all(-ndim <= axis < ndim for axis in numbers)
        places = tuple(sorted({axis % ndim for axis in numbers})) if inside else ()
        places = places if len(places) == len(numbers) else ()
    if not places:
        raise GraphValueError(
            f"{name}: given axes {axes!r}, expected 'per-activation', 'spatial', or "
            f"numbers of axes from {-ndim} to {ndim - 1}, each once"
        )
    return places


def _placed(
    name: str, role: str, value: Any, x: Variable, axes: Sequence[int]
) -> Variable:
    """Return a parameter with the rank of ``x``, of length 1 along ``axes``."""
    variable, ndim = as_tensor_variable(value), x.type.ndim
    if variable.type.ndim == ndim:
        wide = [axis for axis in axes if not variable.type.broadcastable[axis]]
        return addbroadcast(variable, *wide) if wide else variable
    if variable.type.ndim != ndim - len(axes):
        raise GraphArgumentError(
            f"{name}: given {role} {variable} of {variable.type.ndim} axes, expected "
            f"{ndim}, or {ndim - len(axes)}: without axes {', '.join(map(str, axes))}"
        )
    order = iter(range(variable.type.ndim))
    return dimshuffle(
        variable, *("x" if axis in axes else next(order) for axis in range(ndim))
    )


def _epsilon_of(name: str, epsilon: Any, x: Variable) -> Variable:
    """Return the number. Raises GraphValueError if it is known to be no such number."""
    if isinstance(epsilon, Variable):
        if epsilon.type.ndim:
            raise GraphArgumentError(
                f"{name}: given epsilon {epsilon} of {epsilon.type}, expected a number"
            )
        return epsilon
    number = known_real(name, "epsilon", epsilon)
    if not number > 0:
        raise GraphValueError(
            f"{name}: given epsilon {epsilon}, expected a number above 0"
        )
    return core.constant(number, work_of(x))
