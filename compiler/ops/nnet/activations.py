"""Activations of neural networks, composed of rows of the scalar table."""

from __future__ import annotations

from typing import Any

from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Variable, is_float
from gpuarray.compiler.ops.creation.joining import join
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.linalg.linalg import dot, tensordot
from gpuarray.compiler.ops.linalg.products import batched_dot
from gpuarray.compiler.ops.nnet.nnet import pick, softmax
from gpuarray.compiler.ops.shape.shape import dimshuffle, flatten, reshape
from gpuarray.compiler.ops.variables.basic import as_tensor_variable

ALPHA = 1.6732632423543772848170429916717
SCALE = 1.0507009873554804934193349852946


def _number(value: Any, like: Variable) -> Variable:
    """Return ``value``; a number in the dtype of the floats ``like``."""
    if isinstance(value, Variable) or not is_float(like):
        return as_tensor_variable(value)
    return core.constant(value, like.type.dtype)


def relu(x: Any, alpha: Any = 0) -> Variable:
    """``x`` where it is above zero, ``alpha * x`` elsewhere.

    ``alpha`` is a number or broadcasts. The slope at zero is ``(1 + alpha) / 2``.
    """
    variable = as_tensor_variable(x)
    if not isinstance(alpha, Variable) and alpha == 0:
        return math.relu(variable)
    scaled = _number(alpha, variable) * math.relu(-variable)
    return math.relu(variable) - scaled


def elu(x: Any, alpha: Any = 1) -> Variable:
    """``x`` where it is above zero, ``alpha * (exp(x) - 1)`` elsewhere."""
    variable = as_tensor_variable(x)
    below = math.expm1(math.minimum(variable, _number(0, variable)))
    return math.where(math.gt(variable, 0), variable, _number(alpha, variable) * below)


def selu(x: Any) -> Variable:
    """``elu``, scaled so that a network keeps its mean and variance."""
    variable = as_tensor_variable(x)
    return _number(SCALE, variable) * elu(variable, ALPHA)


def softsign(x: Any) -> Variable:
    """``x / (1 + abs(x))``."""
    variable = as_tensor_variable(x)
    return variable / (1 + math.abs(variable))


def hard_sigmoid(x: Any) -> Variable:
    """``0.2 * x + 0.5``, not below 0 and not above 1."""
    variable = as_tensor_variable(x)
    line = variable * _number(0.2, variable) + _number(0.5, variable)
    return math.clip(line, _number(0.0, variable), _number(1.0, variable))


def ultra_fast_sigmoid(x: Any) -> Variable:
    """Return a sigmoid approximated piecewise: off by 0.02 at most."""
    variable = as_tensor_variable(x)
    half = _number(0.5, variable)
    size = math.abs(half * variable)
    curve = _number(1.5, variable) * size / (1 + size)
    line = _number(0.0458812946797165, variable) * (size - _number(1.7, variable))
    line = line + _number(0.935409070603099, variable)
    flat = _number(0.99505475368673, variable)
    outer = math.where(math.lt(size, _number(3.0, variable)), line, flat)
    positive = math.where(math.lt(size, _number(1.7, variable)), curve, outer)
    signed = math.where(math.ge(variable, 0), positive, -positive)
    return half * (signed + 1)


def h_softmax(
    x: Any,
    batch_size: Any,
    n_outputs: Any,
    n_classes: Any,
    n_outputs_per_class: Any,
    W1: Any,
    b1: Any,
    W2: Any,
    b2: Any,
    target: Any = None,
) -> Variable:
    """Return a softmax of two levels: of classes, and of the outputs of each class.

    ``x`` is (batch_size, n_in), ``W1`` (n_in, n_classes), ``b1`` (n_classes,), ``W2``
    (n_classes, n_in, n_outputs_per_class) and ``b2`` (n_classes, n_outputs_per_class).
    With ``target``, an output for each row, only the probabilities of these are
    computed: (batch_size,); else all: (batch_size, n_outputs).
    """
    rows, W2, b2 = (as_tensor_variable(array) for array in (x, W2, b2))
    of_class = softmax(dot(rows, W1) + b1)
    if target is None:
        inner = softmax(tensordot(rows, W2, ([1], [1])) + dimshuffle(b2, "x", 0, 1))
        joint = dimshuffle(of_class, 0, 1, "x") * inner
        return reshape(joint, (batch_size, -1), ndim=2)[:, :n_outputs]
    labels = flatten(as_tensor_variable(target))
    class_, place = math.divmod(labels, n_outputs_per_class)
    inner = softmax(batched_dot(rows, W2[class_]) + b2[class_])
    return pick(of_class, class_) * pick(inner, place)


def prepend_scalar_to_each_row(val: Any, x: Any) -> Variable:
    """The matrix ``x`` with a first column of the scalar ``val``."""
    matrix = as_tensor_variable(x)
    value = math.cast(as_tensor_variable(val), matrix.type.dtype)
    column = math.second(dimshuffle(matrix[:, :1], 0, 1), dimshuffle(value, "x", "x"))
    return join(1, column, matrix)


def prepend_0_to_each_row(x: Any) -> Variable:
    """The matrix ``x`` with a first column of zeros."""
    return prepend_scalar_to_each_row(0, x)


def prepend_1_to_each_row(x: Any) -> Variable:
    """The matrix ``x`` with a first column of ones."""
    return prepend_scalar_to_each_row(1, x)
