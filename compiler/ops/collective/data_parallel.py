"""Data parallel training: gradients averaged over ranks, in buckets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.graph.core import Variable, sources_of
from gpuarray.compiler.graph.traverse import ancestors_until, clone_replace
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.collective.collectives import all_reduce, with_axis
from gpuarray.compiler.ops.creation.joining import join
from gpuarray.compiler.ops.index.indexing import index
from gpuarray.compiler.ops.shape.shape import flatten, reshape, shape_i
from gpuarray.compiler.ops.variables.basic import normalise_axis

if TYPE_CHECKING:
    from gpuarray.distributed import Communicator

BUCKET = 25 * 2**20
"""Bytes of gradients that are reduced at once, as of PyTorch's."""


def averaged(
    gradients: Sequence[Variable],
    comm: Communicator,
    sizes: Sequence[int] | None = None,
    bucket_bytes: int = BUCKET,
) -> list[Variable]:
    """Return the means over ranks, of buckets of gradients of one dtype.

    Buckets are filled from the last gradient on, which is the first to be known.
    ``sizes`` are their bytes; without it those of a dtype are one bucket.
    """
    if bucket_bytes < 1:
        raise GraphValueError(
            f"data_parallel: bucket_bytes is {bucket_bytes}, expected 1 or more"
        )
    for gradient in gradients:
        if not isinstance(gradient.type, TensorType):
            raise GraphTypeError(
                f"data_parallel: the gradient {gradient} is of {gradient.type}; ranks "
                "have elements at other places, so that parts cannot be added as they "
                "are. Make it dense: theano.sparse.dense_from_sparse(gradient)"
            )
    results: dict[int, Variable] = {}
    for bucket in _buckets(gradients, sizes, bucket_bytes):
        parts = [gradients[i] for i in bucket]
        if len(parts) == 1:
            results[bucket[0]] = all_reduce(parts[0], comm, "mean", replicated=True)
            continue
        flat = join(0, *(flatten(part) for part in parts))
        means = all_reduce(flat, comm, "mean", replicated=True)
        start: Any = np.int64(0)
        for i, part in zip(bucket, parts, strict=True):
            lengths = [shape_i(part, axis) for axis in range(part.type.ndim)]
            count: Any = np.int64(1)
            for length in lengths:
                count = count * length
            stop = start + count
            results[i] = reshape(
                index(means, slice(start, stop)), lengths, len(lengths)
            )
            start = stop
    return [results[i] for i in range(len(gradients))]


def _buckets(
    gradients: Sequence[Variable], sizes: Sequence[int] | None, most: int
) -> list[list[int]]:
    open_ones: dict[str, tuple[list[int], int]] = {}
    buckets: list[list[int]] = []
    for i in range(len(gradients) - 1, -1, -1):
        dtype = gradients[i].type.dtype
        size = 0 if sizes is None else sizes[i]
        bucket, filled = open_ones.get(dtype, ([], 0))
        if bucket and filled + size > most:
            bucket, filled = [], 0
        if not bucket:
            buckets.append(bucket)
        bucket.append(i)
        open_ones[dtype] = bucket, filled + size
    return buckets


def data_parallel(
    target: Any, comm: Communicator, bucket_bytes: int = BUCKET, root: int | None = 0
) -> Any:
    """Return gradients, or the updates that are made of them, averaged over ranks.

    ``target`` is a list of gradients, or updates: a mapping or pairs of shared
    variables and their next values. In updates each gradient that `grad` has made is
    replaced by the mean of all ranks', and the values of the shared variables become
    those of the rank ``root`` at once, unless that is None. Gradients are reduced in
    buckets of ``bucket_bytes``. Each rank then takes its share of the batch, of equal
    size, and all ranks' parameters stay the same.

    Raises ValueError for updates without a gradient.
    """
    if isinstance(target, Mapping):
        return dict(_updates(list(target.items()), comm, bucket_bytes, root))
    listed = list(target)
    if listed and isinstance(listed[0], tuple):
        return _updates(listed, comm, bucket_bytes, root)
    for gradient in listed:
        if not isinstance(gradient, Variable):
            raise GraphTypeError(
                f"data_parallel: given {gradient!r}, a {type(gradient).__name__}; "
                "expected gradients, or updates: pairs of a shared variable and its "
                "next value"
            )
    return averaged(listed, comm, None, bucket_bytes)


def _updates(
    pairs: Sequence[tuple[Any, Any]],
    comm: Communicator,
    bucket_bytes: int,
    root: int | None,
) -> list[tuple[Any, Any]]:
    values = [value for _, value in pairs if isinstance(value, Variable)]
    found = gradients_in(values)
    if not found:
        raise GraphValueError(
            "data_parallel: the updates have no gradient that grad() has made; give "
            "the list of gradients: data_parallel(grads, comm)"
        )
    if root is not None:
        broadcast_values([variable for variable, _ in pairs], comm, root)
    sizes = [_bytes_like(gradient, pairs) for gradient in found]
    means = averaged(found, comm, sizes, bucket_bytes)
    known = dict(zip(found, means, strict=True))
    replaced = iter(clone_replace(values, known))
    return [
        (variable, next(replaced) if isinstance(value, Variable) else value)
        for variable, value in pairs
    ]


def _bytes_like(gradient: Variable, pairs: Sequence[tuple[Any, Any]]) -> int:
    """Return the bytes of the largest parameter of a gradient's type."""
    kind = gradient.type
    same = [
        variable.container.value.nbytes
        for variable, _ in pairs
        if variable.type.dtype == kind.dtype and variable.type.ndim == kind.ndim
    ]
    return max(same, default=0)


def gradients_in(values: Sequence[Variable]) -> list[Variable]:
    """Return the gradients that expressions are made of, in order; none within one."""
    return [x for x in ancestors_until(values, is_gradient) if is_gradient(x)]


def is_gradient(variable: Variable) -> bool:
    """True for a derivative."""
    return bool(sources_of(variable))


def shard(x: Any, comm: Communicator, axis: int = 0) -> Variable:
    """Return this rank's part, along ``axis``, of what all ranks compute alike.

    Parts are in the order of ranks and as even as may be. Of a random draw only the
    part is drawn: all ranks' together are the draw of one rank from the same seed.

    >>> import gpuarray
    >>> from gpuarray.compiler import distributed, function
    >>> from gpuarray.compiler.random import RandomStreams
    >>> with gpuarray.distributed.init(by="none") as comm:
    ...     noise = RandomStreams(3).uniform(size=(4, 2))
    ...     function([], distributed.shard(noise, comm))().shape
    (4, 2)
    """
    array = with_axis("shard", x)
    axis = normalise_axis("shard", axis, array.type.ndim)
    length = shape_i(array, axis)
    start = length * comm.rank // comm.size
    stop = length * (comm.rank + 1) // comm.size
    return index(array, (*(slice(None),) * axis, slice(start, stop)))


def broadcast_values(
    variables: Sequence[Any], comm: Communicator, root: int = 0
) -> None:
    """Give shared variables on every rank the values of the rank ``root``."""
    for variable in variables:
        value = variable.container.device_value(comm.context)
        variable.set_value(comm.broadcast(value.copy(), root), borrow=True)
