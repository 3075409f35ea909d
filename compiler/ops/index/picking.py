"""NumPy's functions that select elements: take, choose, nonzero and others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gpuarray.compiler.errors import (
    GraphArgumentError,
    GraphTypeError,
    GraphValueError,
    NotOfferedError,
)
from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.ops.creation.creation import arange
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.index.advanced import Nonzero
from gpuarray.compiler.ops.index.indexing import as_entry, index, set_subtensor
from gpuarray.compiler.ops.shape.shape import (
    dimshuffle,
    flatten,
    shape_i,
    shape_padleft,
)
from gpuarray.compiler.ops.variables.basic import as_tensor_variable, normalise_axis


def take(
    a: Any, indices: Any, axis: int | None = None, mode: str = "raise"
) -> Variable:
    """Return elements of ``a`` at ``indices`` along ``axis``, or of raveled ``a``.

    ``mode`` is for indices out of bounds: ``"raise"`` an error, ``"wrap"`` takes them
    modulo the length, ``"clip"`` clips them to the ends.
    """
    array = as_tensor_variable(a)
    if axis is None:
        array, axis = flatten(array), 0
    axis = normalise_axis("take", axis, array.type.ndim)
    positions = as_entry(indices)
    if not isinstance(positions, Variable) or positions.type.dtype == "bool":
        raise GraphTypeError(f"take: given indices {indices!r}, expected integers")
    positions = _within("take", positions, shape_i(array, axis), mode)
    return index(array, (slice(None),) * axis + (positions,))


def _within(name: str, places: Variable, length: Variable, mode: str) -> Variable:
    """Return indices brought into bounds by ``mode``."""
    if mode == "raise":
        return places
    if mode == "wrap":
        return math.mod(math.cast(places, "int64"), length)
    if mode == "clip":
        return math.clip(math.cast(places, "int64"), 0, length - 1)
    raise GraphValueError(
        f"{name}: mode is {mode!r}, expected 'raise', 'wrap' or 'clip'"
    )


def compress(condition: Any, x: Any, axis: int | None = None) -> Variable:
    """The parts of ``x`` along ``axis`` where the vector ``condition`` is not zero.

    The length of the result depends on values.
    """
    return take(x, flatnonzero(condition), axis)


def nonzero(a: Any, return_matrix: bool = False) -> Any:
    """Return the indices of nonzero elements of ``a``: a vector of int64 for each axis.

    With ``return_matrix`` they are the rows of one matrix. The lengths depend on
    values.
    """
    places: Variable = Nonzero()(as_tensor_variable(a))
    if return_matrix:
        return places
    return tuple(index(places, axis) for axis in range(_rank_of(places)))


def _rank_of(places: Variable) -> int:
    assert places.owner is not None
    return int(places.owner.inputs[0].type.ndim)


def flatnonzero(a: Any) -> Variable:
    """Return the indices of nonzero elements of raveled ``a``: a vector of int64."""
    array = as_tensor_variable(a)
    if array.type.ndim == 0:
        raise GraphValueError(
            "flatnonzero: given a scalar, expected an array of at least one axis"
        )
    places: Variable = nonzero(flatten(array))[0]
    return places


def nonzero_values(a: Any) -> Variable:
    """The elements of ``a`` that are not zero, in C order, as a vector."""
    array = as_tensor_variable(a)
    return index(flatten(array), flatnonzero(array))


def choose(a: Any, choices: Any, out: None = None, mode: str = "raise") -> Variable:
    """Return for each element of ``a`` the element of ``choices[a]`` at its position.

    ``choices`` is a list of arrays, or one array with a first axis of choices; they and
    ``a`` broadcast. ``mode`` is as in `take`, but negative indices are out of bounds.
    """
    if out is not None:
        raise NotOfferedError(
            "choose: out is not offered; the result is a new variable"
        )
    places = as_tensor_variable(a)
    if places.type.dtype[0] not in "iu":
        raise GraphTypeError(
            f"choose: given {places} of {places.type}, expected integers"
        )
    if isinstance(choices, (list, tuple)):
        return _switched(
            places, [as_tensor_variable(choice) for choice in choices], mode
        )
    table = as_tensor_variable(choices)
    if table.type.ndim == 0:
        raise GraphArgumentError("choose: choices is a scalar, expected arrays")
    selector = _choosable(places, shape_i(table, 0), mode)
    ndim = max(places.type.ndim, table.type.ndim - 1)
    selector = shape_padleft(selector, ndim - places.type.ndim)
    return index(table, (selector, *_positions(table, range(1, table.type.ndim), ndim)))


def _choosable(places: Variable, length: Any, mode: str) -> Variable:
    """Return indices within bounds; negative ones are out of bounds."""
    if mode == "raise":
        return math.where(math.lt(places, 0), length, places)
    return _within("choose", places, length, mode)


def _switched(places: Variable, choices: list[Variable], mode: str) -> Variable:
    """Return one of several arrays for each element: a chain of elementwise choices."""
    if not choices:
        raise GraphValueError("choose: choices is empty, expected at least one array")
    count = len(choices)
    places = _choosable(places, core.constant(count, "int64"), mode)
    if mode == "raise":
        places = index(core.constant(np.arange(count)), places)
    result = choices[-1]
    for number in reversed(range(count - 1)):
        result = math.where(math.eq(places, number), choices[number], result)
    return math.second(places, result) if count == 1 else result


def _positions(x: Variable, axes: Sequence[int], ndim: int) -> list[Variable]:
    """Return the positions along each axis, shaped to broadcast in ``ndim`` axes."""
    results: list[Variable] = []
    for axis in axes:
        is_one = x.type.broadcastable[axis]
        counts = core.constant([0]) if is_one else arange(shape_i(x, axis))
        place = ndim - x.type.ndim + axis
        order: list[int | str] = ["x"] * ndim
        order[place] = 0
        results.append(dimshuffle(counts, *order))
    return results


def inverse_permutation(perm: Any) -> Variable:
    """The permutation that undoes ``perm``; of a matrix, for each row."""
    places = as_tensor_variable(perm)
    ndim = places.type.ndim
    if ndim == 0 or places.type.dtype[0] not in "iu":
        raise GraphArgumentError(
            f"inverse_permutation: given {places.type}, expected integers of at least "
            "one axis"
        )
    rows = _positions(places, range(ndim - 1), ndim)
    numbers = math.cast(arange(shape_i(places, ndim - 1)), places.type.dtype)
    return set_subtensor(index(math.zeros_like(places), (*rows, places)), numbers)


def permute_row_elements(x: Any, y: Any, inverse: bool = False) -> Variable:
    """Return the elements of each row of ``x`` permuted by the row of ``y``.

    Rows are along the last axis; the axes before broadcast. ``inverse`` undoes it.
    """
    array, places = as_tensor_variable(x), as_tensor_variable(y)
    if array.type.ndim == 0 or places.type.ndim == 0:
        raise GraphArgumentError(
            f"permute_row_elements: given {array.type} and {places.type}, expected at "
            "least one axis"
        )
    if inverse:
        places = inverse_permutation(places)
    ndim = max(array.type.ndim, places.type.ndim)
    places = shape_padleft(places, ndim - places.type.ndim)
    array = shape_padleft(array, ndim - array.type.ndim)
    return index(array, (*_positions(array, range(ndim - 1), ndim), places))
