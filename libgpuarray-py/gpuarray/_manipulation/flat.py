"""``x.flat``: the elements of an array in C order, by one index."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuarray._core.base import BaseArray
from gpuarray._indexing.indexing import assign, get
from gpuarray._manipulation.tiling import resize


class Flat:
    """The elements of an array as a vector in C order, whatever its layout.

    >>> a = gpuarray.zeros((2, 2))
    >>> a.flat[1:3] = 5
    >>> print(a.tolist(), a.flat[2], len(a.flat))
    [[0.0, 5.0], [5.0, 0.0]] 5.0 4
    """

    __slots__ = ("base",)

    def __init__(self, base: BaseArray) -> None:
        self.base = base

    def __len__(self) -> int:
        return self.base.size

    def __getitem__(self, index: Any) -> Any:
        return get(self.base.ravel(), index).copy()

    def __setitem__(self, index: Any, value: Any) -> None:
        if self.base.flags.c_contiguous:
            assign(self.base.ravel(), index, value)
            return
        elements = self.base.copy("C").ravel()
        assign(elements, index, value)
        assign(self.base, (), elements.reshape(self.base.shape))

    def __iter__(self) -> Iterator[Any]:
        elements = self.base.ravel()
        return (get(elements, i) for i in range(len(self)))

    def copy(self) -> Any:
        """Return a new vector of the elements."""
        return self.base.reshape(self.base.size, copy=True)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.base.ravel().__array__(dtype, copy)


def flat(array: BaseArray) -> Flat:
    """Return the elements of the array as a vector in C order."""
    return Flat(array)


def set_flat(array: BaseArray, value: Any) -> None:
    """Set the elements in C order to those of ``value``, repeated as needed."""
    if isinstance(value, BaseArray) and value.size != 1:
        value = resize(value, array.shape)
    assign(array, (), value)
