"""Dask's backend "gpuarray": chunks that Dask creates or converts on devices.

``dask.config.set({"array.backend": "gpuarray"})`` has ``dask.array.ones``, ``zeros``,
``full``, ``empty``, ``arange`` and ``random`` make them, ``x.to_backend("gpuarray")``
copies those of NumPy. Dask finds the class by an entry point of the package.
"""

from __future__ import annotations

from typing import Any

import dask
import dask.array
import numpy as np
from dask.array.backends import ArrayBackendEntrypoint
from dask.utils import Dispatch

import gpuarray
from gpuarray.random import BitGenerator, Generator

to_gpuarray: Any = Dispatch("to_gpuarray")
"""Copy a chunk to the device of this process."""
to_gpuarray.register(np.ndarray, lambda chunk, **_: gpuarray.asarray(chunk))
to_gpuarray.register(gpuarray.Array, lambda chunk, **_: chunk)


class GpuArrayBackend(ArrayBackendEntrypoint):  # type: ignore[misc]
    """The functions that Dask calls while ``array.backend`` is "gpuarray"."""

    @classmethod
    def to_backend_dispatch(cls) -> Any:
        """Return what converts a chunk."""
        return to_gpuarray

    @classmethod
    def to_backend(cls, data: Any, **kwargs: Any) -> Any:
        """Return Dask's array with chunks on devices."""
        if isinstance(data._meta, gpuarray.Array):
            return data
        return data.map_blocks(to_gpuarray, meta=to_gpuarray(data._meta), **kwargs)

    @property
    def RandomState(self) -> type[RandomState]:
        """What ``dask.array.random``'s functions draw with."""
        return RandomState

    @property
    def default_bit_generator(self) -> type[BitGenerator]:
        """What ``dask.array.random.default_rng`` makes of a seed."""
        return BitGenerator

    @staticmethod
    def ones(*args: Any, meta: Any = None, **kwargs: Any) -> Any:
        """See ``dask.array.ones``."""
        return _created("ones", args, kwargs, meta)

    @staticmethod
    def zeros(*args: Any, meta: Any = None, **kwargs: Any) -> Any:
        """See ``dask.array.zeros``."""
        return _created("zeros", args, kwargs, meta)

    @staticmethod
    def empty(*args: Any, meta: Any = None, **kwargs: Any) -> Any:
        """See ``dask.array.empty``."""
        return _created("empty", args, kwargs, meta)

    @staticmethod
    def full(*args: Any, meta: Any = None, **kwargs: Any) -> Any:
        """See ``dask.array.full``."""
        return _created("full", args, kwargs, meta)

    @staticmethod
    def arange(*args: Any, like: Any = None, **kwargs: Any) -> Any:
        """See ``dask.array.arange``."""
        like = gpuarray.empty(()) if like is None else like
        with dask.config.set({"array.backend": "numpy"}):
            return dask.array.arange(*args, like=like, **kwargs)


def _created(name: str, args: Any, kwargs: Any, meta: Any) -> Any:
    """Return the array that Dask creates of chunks like ``meta``."""
    meta = gpuarray.empty(()) if meta is None else meta
    with dask.config.set({"array.backend": "numpy"}):
        return getattr(dask.array, name)(*args, meta=meta, **kwargs)


class RandomState(Generator):
    """A generator with the names of NumPy's, for Dask's functions."""

    __slots__ = ()

    def __init__(self, seed: Any = None) -> None:
        """``seed``: numbers from 0 on, such as the words that Dask draws."""
        super().__init__(np.random.SeedSequence(seed))

    def random_sample(self, size: Any = None) -> Any:
        """Return numbers from [0, 1)."""
        return self.random(size)

    def randint(
        self, low: int, high: int | None = None, size: Any = None, dtype: Any = int
    ) -> Any:
        """Return integers from ``low``, below ``high``."""
        return self.integers(low, high, size, dtype)

    def random_integers(
        self, low: int, high: int | None = None, size: Any = None
    ) -> Any:
        """Return integers from ``low`` to ``high``; of one bound, from 1 to it."""
        low, high = (1, low) if high is None else (low, high)
        return self.integers(low, high, size, endpoint=True)
