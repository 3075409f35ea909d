"""Neighbourhoods of images as rows of a matrix, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuarray._core.base import require_all
from gpuarray._native import check, ffi, lib
from gpuarray.errors import BadValue

LONGEST = 1 << 30
"""The longest neighbourhood and step."""

MODES = ("valid", "ignore_borders", "wrap_centered", "half", "full")
"""The border modes of neighbourhoods, by the library's number."""


def description_of(
    operation: str,
    image: Sequence[int],
    shape: Sequence[int],
    step: Sequence[int],
    mode: str,
) -> Any:
    """Return the library's ``gpuneighbours *`` for an image's last two lengths.

    Raises BadValue where lengths and steps do not fit.
    """
    for name, numbers in (("shape", shape), ("step", step)):
        if len(numbers) != 2 or min(numbers) < 1 or max(numbers) > LONGEST:
            raise BadValue(
                f"{operation}: {name} is {tuple(numbers)}, expected two integers, 1 to "
                f"{LONGEST}"
            )
    if mode not in MODES:
        raise BadValue(
            f"{operation}: mode is {mode!r}, expected one of {', '.join(MODES)}"
        )
    struct = ffi.new("gpuneighbours *")
    lists = [ffi.new("size_t[]", list(lengths)) for lengths in (image, shape, step)]
    check(lib.gpuneighbours_init(struct, MODES.index(mode), *lists))
    return struct


def images_to_neighbours(
    images: Any, shape: Sequence[int], step: Sequence[int], mode: str = "valid"
) -> Any:
    """Return the neighbourhoods of images as the rows of a matrix."""
    name = "images_to_neighbours"
    require_all(name, images)
    if images.ndim != 4:
        raise BadValue(f"{name}: images of shape {images.shape}, expected 4 axes")
    struct = description_of(name, images.shape[2:], shape, step, mode)
    rows = images.shape[0] * images.shape[1] * struct.count[0] * struct.count[1]
    out = images.allocate(
        (rows, shape[0] * shape[1]), images.dtype, images.context, operation=name
    )
    check(lib.GpuArray_images_to_neighbours(out.struct, images.struct, struct))
    return out


def neighbours_to_images(
    neighbours: Any,
    lengths: Sequence[int],
    shape: Sequence[int],
    step: Sequence[int],
    mode: str = "valid",
) -> Any:
    """Return images whose elements are the sums of their copies in neighbourhoods."""
    name = "neighbours_to_images"
    require_all(name, neighbours)
    struct = description_of(name, lengths[2:], shape, step, mode)
    out = neighbours.allocate(
        tuple(lengths), neighbours.dtype, neighbours.context, operation=name
    )
    check(lib.GpuArray_neighbours_to_images(out.struct, neighbours.struct, struct))
    return out
