"""Pickles of arrays: host values, and the name of the context as a hint."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from gpuarray.base import BaseArray
from gpuarray.context import Context, context, current_context
from gpuarray.errors import DeviceNotFound, GpuArrayError

Parts = tuple[Callable[..., BaseArray], tuple[type[BaseArray], npt.NDArray[Any], str]]

when_asked: list[Callable[[], None]] = []
"""What is called before an array is pickled, unpickled or named for Dask."""


def reduce(array: BaseArray, protocol: SupportsIndex = 4) -> Parts:
    """What ``pickle`` keeps of an array: a NumPy array, so that protocol 5 can pass the
    elements out of band, and the context's name.
    """
    for call in tuple(when_asked):
        call()
    return restore, (type(array), array._read(), array.context.name)


def dask_token(array: BaseArray) -> tuple[str, ...]:
    """What Dask names an array by: its elements and where they are."""
    for call in tuple(when_asked):
        call()
    host = np.ascontiguousarray(array._read())
    digest = hashlib.sha256(host.view(np.uint8).reshape(-1).data).hexdigest()
    where = array.context.name
    return ("gpuarray", where, str(array.dtype), str(array.shape), digest)


def restore(cls: type[BaseArray], host: npt.NDArray[Any], name: str) -> BaseArray:
    """The array of a pickle.

    On the context of the innermost ``with context:``, if there is one; else on the
    context it came from; else, on a machine without that, on the default one.
    """
    for call in tuple(when_asked):
        call()
    return cls.from_host(host, current_context() or _find(name))


def _find(name: str) -> Context:
    try:
        return context(name)
    except GpuArrayError as error:
        first = error
    try:
        return context(None)
    except GpuArrayError:
        raise DeviceNotFound(
            f"unpickle: the array was on {name}, which cannot be opened here, and "
            "there is no other device. pip install intel-opencl-rt "
            "intel-cmplr-lib-rt brings one; within `with gpuarray.context('null'):` "
            "its elements can be read without any. "
            f"What {name} said: {first}"
        ) from None
