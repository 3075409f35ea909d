"""Pickles of arrays: host values, and the name of the context as a hint."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from gpuarray._core.base import BaseArray
from gpuarray._core.context import Context
from gpuarray._core.opening import context, current_context
from gpuarray._kernels.codegen import digest
from gpuarray.errors import DeviceNotFound, GpuArrayError

Parts = tuple[Callable[..., BaseArray], tuple[type[BaseArray], npt.NDArray[Any], str]]


def reduce(array: BaseArray, protocol: SupportsIndex = 4) -> Parts:
    """An array's pickle: a NumPy array, for out-of-band data, and the context."""
    return restore, (type(array), array._read(), array.context.name)


def dumps(array: BaseArray) -> bytes:
    """Return the array's pickle, as ``pickle.dumps`` does.

    >>> import pickle
    >>> print(pickle.loads(gpuarray.arange(3).dumps()))
    [0 1 2]
    """
    return pickle.dumps(array)


def dump(array: BaseArray, file: Any) -> None:
    """Write the array's pickle to a file, open or by name.

    >>> import pickle
    >>> gpuarray.arange(3).dump("counts.pickle")
    >>> with open("counts.pickle", "rb") as file:
    ...     print(pickle.load(file))
    [0 1 2]
    """
    if hasattr(file, "write"):
        pickle.dump(array, file)
        return
    Path(file).write_bytes(pickle.dumps(array))


def dask_token(array: BaseArray) -> tuple[str, ...]:
    """Return Dask's name of an array: its elements and its context."""
    host = np.ascontiguousarray(array._read())
    content = digest(host.view(np.uint8).reshape(-1).data, 32)
    where = array.context.name
    return ("gpuarray", where, str(array.dtype), str(array.shape), content)


def restore(cls: type[BaseArray], host: npt.NDArray[Any], name: str) -> BaseArray:
    """Return the array of a pickle, on the context that ``place`` finds."""
    return cls.from_host(host, place(name))


def unpickle_at_default(chosen: bool) -> None:
    """Have this process put unpickled objects on its default context, or by name."""
    _at_default[:] = [chosen]


def unpickles_at_default() -> bool:
    """Return True if ``unpickle_at_default`` says so."""
    return _at_default[0]


_at_default = [False]


def place(name: str) -> Context:
    """Return the context for a pickled object of the context of this name.

    It is that of the innermost ``with context:``, if there is one; else the default one
    in a process that has one device for all; else the one by name; else, on a machine
    without that, the default one.
    """
    inner = current_context()
    if inner is not None:
        return inner
    if unpickles_at_default():
        return context(None)
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
