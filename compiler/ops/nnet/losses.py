"""Costs of classifiers, stable after the rewrites."""

from __future__ import annotations

from typing import Any

from gpuarray.compiler.errors import GraphArgumentError, GraphTypeError
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.ops.creation.joining import concatenate
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.linalg.linalg import dot
from gpuarray.compiler.ops.nnet.nnet import logsoftmax, pick, softmax
from gpuarray.compiler.ops.reduce import reduce
from gpuarray.compiler.ops.reduce.argmax import argmax
from gpuarray.compiler.ops.shape.shape import dimshuffle
from gpuarray.compiler.ops.sorting.extra_ops import unique
from gpuarray.compiler.ops.variables.basic import as_tensor_variable


def binary_crossentropy(output: Any, target: Any) -> Variable:
    """Return ``-(t log(o) + (1 - t) log(1 - o))``, for probabilities ``o``.

    If they are ``sigmoid(x)``, the rewrites make it stable for small probabilities.
    """
    o, t = as_tensor_variable(output), as_tensor_variable(target)
    return -(t * math.log(o) + (1 - t) * math.log(1 - o))


def sigmoid_binary_crossentropy(output: Any, target: Any) -> Variable:
    """``binary_crossentropy`` of ``sigmoid(output)``, for values of any size."""
    x, t = as_tensor_variable(output), as_tensor_variable(target)
    return t * math.softplus(-x) + (1 - t) * math.softplus(x)


def categorical_crossentropy(coding_dist: Any, true_dist: Any) -> Variable:
    """Return the cross-entropy of each row of probabilities with the true distribution.

    ``true_dist`` has the same rank, or holds a class for each row. If the probabilities
    are ``softmax(x)``, the rewrites make it stable for small ones.
    """
    coding, true = as_tensor_variable(coding_dist), as_tensor_variable(true_dist)
    if true.type.ndim == coding.type.ndim:
        return -reduce.sum(true * math.log(coding), axis=coding.type.ndim - 1)
    if true.type.ndim == coding.type.ndim - 1:
        return crossentropy_categorical_1hot(coding, true)
    raise GraphTypeError(
        f"categorical_crossentropy: given {coding.type} and {true.type}; expected a "
        "distribution for each row, or a class"
    )


def crossentropy_categorical_1hot(coding_dist: Any, true_one_of_n: Any) -> Variable:
    """Minus the logarithm of the probability of the true class of each row."""
    return -pick(math.log(as_tensor_variable(coding_dist)), true_one_of_n)


def crossentropy_softmax_argmax_1hot_with_bias(
    x: Any, b: Any, y_idx: Any
) -> list[Variable]:
    """Return the cross-entropy of ``softmax(x + b)``, the softmax, and its argmax."""
    total = math.add(x, b)
    last = total.type.ndim - 1
    return [-pick(logsoftmax(total), y_idx), softmax(total), argmax(total, last)]


def crossentropy_softmax_1hot_with_bias(x: Any, b: Any, y_idx: Any) -> list[Variable]:
    """Return the cross-entropy of ``softmax(x + b)`` with classes, and the softmax."""
    return crossentropy_softmax_argmax_1hot_with_bias(x, b, y_idx)[:2]


def crossentropy_softmax_1hot(x: Any, y_idx: Any) -> list[Variable]:
    """Return the cross-entropy of ``softmax(x)`` with classes, and the softmax."""
    rows = as_tensor_variable(x)
    return [-pick(logsoftmax(rows), y_idx), softmax(rows)]


def crossentropy_softmax_max_and_argmax_1hot_with_bias(
    x: Any, b: Any, y_idx: Any
) -> list[Variable]:
    """Return cross-entropy and softmax of ``x + b``, the softmax's max and argmax."""
    results = crossentropy_softmax_argmax_1hot_with_bias(x, b, y_idx)
    return [*results[:2], reduce.max(results[1], axis=-1), results[2]]


def crossentropy_softmax_max_and_argmax_1hot(x: Any, y_idx: Any) -> list[Variable]:
    """Return cross-entropy and softmax of ``x``, the softmax's max and argmax."""
    nll, shares = crossentropy_softmax_1hot(x, y_idx)
    last = shares.type.ndim - 1
    return [nll, shares, reduce.max(shares, axis=last), argmax(x, last)]


def confusion_matrix(actual: Any, pred: Any) -> list[Variable]:
    """Return the counts of each actual class predicted as each, and the sorted classes.

    Rows and columns are indices into the second result; int64.
    """
    true, guess = as_tensor_variable(actual), as_tensor_variable(pred)
    for labels in (true, guess):
        if labels.type.ndim != 1:
            raise GraphArgumentError(
                f"confusion_matrix: given {labels} of {labels.type}, expected a vector"
            )
    order = unique(concatenate([true, guess]))
    of_true, of_guess = (
        math.cast(
            math.eq(dimshuffle(vector, 0, "x"), dimshuffle(order, "x", 0)), "int64"
        )
        for vector in (true, guess)
    )
    return [dot(of_true.T, of_guess), order]
