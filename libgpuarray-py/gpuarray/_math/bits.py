"""``packbits`` and ``unpackbits``: truth values as bits of bytes."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from gpuarray._core.arguments import axis_number
from gpuarray._core.base import BaseArray, require
from gpuarray._manipulation.shaping import moveaxis
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray._ufunc.reduction import sum as sum_of
from gpuarray.errors import BadType, BadValue

BitOrder = Literal["big", "little"]
_BYTE = np.dtype(np.uint8)


def packbits(a: Any, /, axis: int | None = None, bitorder: BitOrder = "big") -> Any:
    """Return bytes, each of eight elements along ``axis``: a bit is 1 for one not 0.

    Of the raveled array if ``axis`` is None. Zeros fill the last byte. The first
    element is the highest bit, with ``bitorder='little'`` the lowest.

    >>> print(gpuarray.packbits(gpuarray.asarray([1, 0, 0, 0, 0, 0, 1, 1, 1])))
    [131 128]
    """
    source = require(a, "packbits")
    if source.dtype.kind not in "biu":
        raise BadType(
            f"packbits: an array of {source.dtype}, expected integers or truth values; "
            "compare first, as in a != 0"
        )
    weights = _weights(source, bitorder, "packbits")
    source, at = _along(source, axis, "packbits")
    truths = moveaxis(source, at, -1).astype(np.bool_, copy=False)
    *rest, length = truths.shape
    count = -(-length // 8)
    if length % 8:
        padded = truths.allocate((*rest, count * 8), truths.dtype, truths.context)
        padded[..., :length] = truths
        padded[..., length:] = False
        truths = padded
    bits = truths.reshape(*rest, count, 8)
    return moveaxis(sum_of(bits * weights, -1, _BYTE), -1, at)


def unpackbits(
    a: Any,
    /,
    axis: int | None = None,
    count: int | None = None,
    bitorder: BitOrder = "big",
) -> Any:
    """Return the bits of bytes along ``axis``, each as a uint8 that is 0 or 1.

    Of the raveled array if ``axis`` is None. ``count`` is the number of elements along
    the axis: zeros follow where there are fewer bits, and a negative one leaves out so
    many at the end.

    >>> print(gpuarray.unpackbits(gpuarray.asarray([131], "uint8"), count=7))
    [1 0 0 0 0 0 1]
    """
    source = require(a, "unpackbits")
    if source.dtype != _BYTE:
        raise BadType(f"unpackbits: an array of {source.dtype}, expected uint8")
    weights = _weights(source, bitorder, "unpackbits")
    source, at = _along(source, axis, "unpackbits")
    octets = moveaxis(source, at, -1)
    *rest, length = octets.shape
    bits = FUNCTIONS["not_equal"](octets[..., None] & weights, 0).view(_BYTE)
    bits = bits.reshape(*rest, length * 8)
    if count is not None:
        bits = _counted(bits, count)
    return moveaxis(bits, -1, at)


def _counted(bits: Any, count: int) -> Any:
    *rest, length = bits.shape
    if count < -length:
        raise BadValue(f"unpackbits: count is {count}, but there are {length} bits")
    if count <= length:
        return bits[..., : count if count >= 0 else length + count]
    padded = bits.allocate((*rest, count), _BYTE, bits.context, zeroed=True)
    padded[..., :length] = bits
    return padded


def _along(array: Any, axis: int | None, operation: str) -> tuple[Any, int]:
    if axis is None:
        return array.ravel(), 0
    array = array if array.ndim else array.reshape(1)
    return array, axis_number(axis, array.ndim, operation)


def _weights(array: BaseArray, bitorder: str, operation: str) -> Any:
    if bitorder not in ("big", "little"):
        raise BadValue(
            f"{operation}: bitorder is {bitorder!r}, expected 'big' or 'little'"
        )
    weights = np.uint8(1) << np.arange(8, dtype=_BYTE)
    host = weights[::-1] if bitorder == "big" else weights
    return array.from_host(host, array.context)
