"""Arrays in files of NumPy's formats: .npy for one, .npz for several by name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, Any

import numpy as np

from gpuarray._core.arguments import require_file
from gpuarray._core.base import BaseArray
from gpuarray._core.context import Context
from gpuarray._core.file_write import whole_file
from gpuarray._core.opening import context as find_context
from gpuarray.array import Array
from gpuarray.dtypes import as_dtype, bfloat16, kind_of
from gpuarray.errors import BadType

File = str | os.PathLike[str] | IO[bytes]
Place = str | Context | None
_UNNAMED = np.dtype("V2")  # the formats' dtype of bfloat16


def host_of(array: Any, operation: str) -> Any:
    """Return an array's elements as NumPy's, of a dtype that the formats have."""
    if not isinstance(array, BaseArray):
        raise BadType(
            f"{operation}: got {type(array).__name__}, expected an array of gpuarray; "
            f"numpy.{operation} takes others"
        )
    host = array._read()
    return host.view(_UNNAMED) if kind_of(host.dtype) != host.dtype.kind else host


def device_array(host: Any, operation: str, context: Context) -> Array:
    """Return the array of a file's elements on a context."""
    if host.dtype == _UNNAMED:
        host = host.view(bfloat16())
    as_dtype(host.dtype, operation)
    return Array.from_host(host, context)


def save(file: File, arr: Array) -> None:
    """Write an array to a .npy file, which ``numpy.load`` reads as well.

    A name without ``.npy`` gets it. The file is replaced atomically. bfloat16, which
    the format has no name for, is written as two bytes an element, which ``load`` reads
    as bfloat16.

    >>> gpuarray.save("one.npy", gpuarray.arange(3))
    >>> print(gpuarray.load("one.npy"))
    [0 1 2]
    """
    host = host_of(arr, "save")
    with opened_file(file, ".npy") as opened:
        np.save(opened, host, allow_pickle=False)


def savez(file: File, *args: Array, **kwds: Array) -> None:
    """Write arrays to a .npz file, under their keywords or ``arr_0``, ``arr_1``, ...

    >>> gpuarray.savez("arrays.npz", gpuarray.arange(3), ones=gpuarray.ones(2))
    >>> sorted(np.load("arrays.npz"))
    ['arr_0', 'ones']
    """
    hosts, named = _hosts(args, "savez"), _named(kwds, "savez")
    with opened_file(file, ".npz") as opened:
        np.savez(opened, *hosts, **named)


def savez_compressed(file: File, *args: Array, **kwds: Array) -> None:
    """As ``savez``, compressed.

    >>> gpuarray.savez_compressed("arrays.npz", gpuarray.arange(3))
    >>> print(gpuarray.load("arrays.npz")["arr_0"])
    [0 1 2]
    """
    operation = "savez_compressed"
    hosts, named = _hosts(args, operation), _named(kwds, operation)
    with opened_file(file, ".npz") as opened:
        np.savez_compressed(opened, *hosts, **named)


def opened_file(file: File, suffix: str) -> AbstractContextManager[IO[bytes]]:
    """Open a file by its name, to be replaced atomically, or use the caller's."""
    if not isinstance(file, str | bytes | os.PathLike):
        return nullcontext(file)
    path = os.fsdecode(file)
    return whole_file(path if path.endswith(suffix) else path + suffix)


def _hosts(arrays: tuple[Array, ...], operation: str) -> list[Any]:
    return [host_of(array, operation) for array in arrays]


def _named(arrays: dict[str, Array], operation: str) -> dict[str, Any]:
    return {name: host_of(array, operation) for name, array in arrays.items()}


class Archive(Mapping[str, Array]):
    """The arrays of a .npz file by name, each read on access.

    To be closed, or used in a ``with`` block.
    """

    def __init__(self, opened: Any, context: Context) -> None:
        self._opened = opened
        self.context = context

    @property
    def files(self) -> list[str]:
        """The names."""
        return list(self._opened.files)

    def __getitem__(self, name: str) -> Array:
        return device_array(self._opened[name], "load", self.context)

    def __iter__(self) -> Iterator[str]:
        return iter(self._opened.files)

    def __len__(self) -> int:
        return len(self._opened.files)

    def close(self) -> None:
        """Close the file."""
        self._opened.close()

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<archive of {', '.join(self.files)} for {self.context.name!r}>"


def load(file: File, context: Place = None) -> Array | Archive:
    """The array of a .npy file, or the arrays of a .npz file by name, on a context.

    Files that hold Python objects are refused, as ``numpy.load`` does by default.

    >>> gpuarray.savez("two.npz", a=gpuarray.arange(3), b=gpuarray.zeros(2))
    >>> found = gpuarray.load("two.npz")
    >>> print(found["a"], found["b"])
    [0 1 2] [0. 0.]
    """
    require_file(file, "load")
    place = find_context(context)
    opened = np.load(Path(file) if isinstance(file, str) else file, allow_pickle=False)
    if isinstance(opened, np.ndarray):
        return device_array(opened, "load", place)
    return Archive(opened, place)
