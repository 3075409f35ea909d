"""Arrays split into views."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np

from gpuarray._core.arguments import as_integer, axis_number
from gpuarray._core.base import require
from gpuarray._manipulation.shaping import moveaxis
from gpuarray.errors import BadType, BadValue


def unstack(x: Any, *, axis: int = 0) -> tuple[Any, ...]:
    """Return views of the parts along ``axis``, without that axis.

    >>> [part.tolist() for part in gpuarray.unstack(gpuarray.arange(4).reshape(2, 2))]
    [[0, 1], [2, 3]]
    """
    if require(x, "unstack").ndim == 0:
        raise BadValue("unstack: a 0-d array has no axis")
    front = moveaxis(x, axis, 0)
    return tuple(front[i] for i in range(front.shape[0]))


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Return views of parts along ``axis``: a number of them, or split at indices.

    The first ones are longer by one where the number does not divide the length.

    >>> [part.tolist() for part in gpuarray.array_split(gpuarray.arange(5), 2)]
    [[0, 1, 2], [3, 4]]
    """
    source = require(ary, "array_split")
    axis = axis_number(axis, source.ndim, "array_split")
    length = source.shape[axis]
    if _is_many(indices_or_sections):
        places = (as_integer(i, "an index", "array_split") for i in indices_or_sections)
        cuts = [0, *places, length]
    else:
        parts = _count(indices_or_sections, "array_split")
        short, longer = divmod(length, parts)
        sizes = [short + 1] * longer + [short] * (parts - longer)
        cuts = [0, *np.cumsum(sizes).tolist()]
    before = (slice(None),) * axis
    return [
        source[(*before, slice(start, stop))]
        for start, stop in itertools.pairwise(cuts)
    ]


def _is_many(sections: Any) -> bool:
    """Return True for indices to split at, False for a number of parts."""
    return hasattr(sections, "__len__") and getattr(sections, "ndim", 1) > 0


def _count(sections: Any, operation: str) -> int:
    try:
        parts = operator.index(sections)
    except TypeError:
        raise BadType(
            f"{operation}: got {type(sections).__name__}, expected a number of parts "
            "or a list of places"
        ) from None
    if parts <= 0:
        raise BadValue(f"{operation}: {parts} parts, expected at least 1")
    return parts


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Return views of parts along ``axis``: equal ones by number, or split at indices.

    Raises BadValue if the number of parts does not divide the length.

    >>> [part.tolist() for part in gpuarray.split(gpuarray.arange(5), [2, 3])]
    [[0, 1], [2], [3, 4]]
    >>> gpuarray.split(gpuarray.arange(5), 2)
    Traceback (most recent call last):
        ...
    gpuarray.errors.BadValue: split: axis 0 of length 5 is not cut into 2 ...
    """
    source = require(ary, "split")
    axis = axis_number(axis, source.ndim, "split")
    if not _is_many(indices_or_sections):
        parts = _count(indices_or_sections, "split")
        if source.shape[axis] % parts:
            raise BadValue(
                f"split: axis {axis} of length {source.shape[axis]} is not cut into "
                f"{parts} parts of one length; use array_split"
            )
    return array_split(source, indices_or_sections, axis)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """``split`` along the second axis; of a vector along its only one.

    Raises BadValue for a 0-d array.

    >>> a = gpuarray.arange(4).reshape(2, 2)
    >>> [part.tolist() for part in gpuarray.hsplit(a, 2)]
    [[[0], [2]], [[1], [3]]]
    """
    if require(ary, "hsplit").ndim == 0:
        raise BadValue("hsplit: a 0-d array has no axis")
    return split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """``split`` along the first of at least two axes.

    Raises BadValue for fewer axes.

    >>> a = gpuarray.arange(4).reshape(2, 2)
    >>> [part.tolist() for part in gpuarray.vsplit(a, 2)]
    [[[0, 1]], [[2, 3]]]
    """
    if require(ary, "vsplit").ndim < 2:
        raise BadValue(f"vsplit: an array of shape {ary.shape}, expected 2 axes")
    return split(ary, indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """``split`` along the third of at least three axes.

    Raises BadValue for fewer axes.

    >>> [part.shape for part in gpuarray.dsplit(gpuarray.zeros((1, 2, 4)), 2)]
    [(1, 2, 2), (1, 2, 2)]
    """
    if require(ary, "dsplit").ndim < 3:
        raise BadValue(f"dsplit: an array of shape {ary.shape}, expected 3 axes")
    return split(ary, indices_or_sections, 2)
