"""Convolutions with NumPy: lengths, the convolution and its two gradients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from gpuarray._nn.convolution import Geometry


def ends_of(geometry: Geometry, axis: int, extent: Any) -> tuple[Any, Any]:
    """Return the zeros before and after an axis."""
    if geometry.padding == "half":
        return extent // 2, extent // 2
    if geometry.padding == "full":
        return extent - 1, extent - 1
    return geometry.padding[axis]  # type: ignore[return-value]


def result_length(geometry: Geometry, axis: int, image: Any, filters: Any) -> Any:
    """Return the length of the result's axis; None where one is not known."""
    if image is None or filters is None:
        return None
    extent = extent_of(filters, geometry.dilation[axis])
    before, after = ends_of(geometry, axis, extent)
    room = image - extent + (before + after)
    return _in_steps(room, geometry.stride[axis]) + 1


def extent_of(filters: Any, dilation: int) -> Any:
    """Return the length of an axis that filters reach over."""
    return filters if dilation == 1 else (filters - 1) * dilation + 1


def _in_steps(length: Any, stride: int) -> Any:
    return length if stride == 1 else length // stride


def _meetings(
    geometry: Geometry, image: Sequence[int], filters: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """The elements of filters, each with the places of the padded image it meets."""
    results = [
        result_length(geometry, axis, image[axis], filters[axis])
        for axis in range(geometry.ndim)
    ]
    for element in product(*map(range, filters)):
        places = []
        for axis, at in enumerate(element):
            start = at * geometry.dilation[axis]
            step = geometry.stride[axis]
            places.append(slice(start, start + (results[axis] - 1) * step + 1, step))
        if geometry.is_flipped:
            element = tuple(n - 1 - at for n, at in zip(filters, element, strict=True))
        yield element, tuple(places)


def _ends(geometry: Geometry, filters: Sequence[int]) -> list[tuple[int, int]]:
    extents = map(extent_of, filters, geometry.dilation)
    return [ends_of(geometry, axis, extent) for axis, extent in enumerate(extents)]


def _padded(geometry: Geometry, image: Any, filters: Sequence[int]) -> Any:
    return np.pad(_wide(image), [(0, 0), (0, 0), *_ends(geometry, filters)])


def _wide(x: Any) -> Any:
    """Return 16-bit floats as float32, which sums are in."""
    return x if x.dtype.itemsize > 2 else x.astype("float32")


def _grouped(x: Any, groups: int, axis: int) -> Any:
    """Split an axis into groups."""
    shape = x.shape[:axis], (groups, x.shape[axis] // groups), x.shape[axis + 1 :]
    return x.reshape([n for part in shape for n in part])


def _letters(geometry: Geometry) -> tuple[str, str, str]:
    """The axes of image, filters' element and result, in groups, for einsum."""
    places = "xyz"[: geometry.ndim]
    return (
        f"ngc{places}",
        f"gr{places}c" if geometry.is_unshared else "grc",
        f"ngr{places}",
    )


def conv(geometry: Geometry, image: Any, kern: Any) -> Any:
    """The convolution."""
    filters = kern.shape[-geometry.ndim :]
    x = _grouped(_padded(geometry, image, filters), geometry.groups, 1)
    w = _grouped(_wide(kern), geometry.groups, 0)
    of_image, of_filters, of_result = _letters(geometry)
    total: Any = 0
    for element, places in _meetings(geometry, image.shape[2:], filters):
        part = x[(..., *places)], w[(..., *element)]
        total = total + np.einsum(f"{of_image},{of_filters}->{of_result}", *part)
    shape = image.shape[0], kern.shape[0], *total.shape[3:]
    return total.reshape(shape).astype(image.dtype)


def grad_image(geometry: Geometry, kern: Any, grad: Any, shape: Any) -> Any:
    """The gradient by the image."""
    filters = kern.shape[-geometry.ndim :]
    channels = kern.shape[-1 - geometry.ndim] * geometry.groups
    w = _grouped(_wide(kern), geometry.groups, 0)
    g = _grouped(_wide(grad), geometry.groups, 1)
    ends = _ends(geometry, filters)
    padded = [n + sum(both) for n, both in zip(shape, ends, strict=True)]
    out = np.zeros((grad.shape[0], channels, *padded), g.dtype)
    x = _grouped(out, geometry.groups, 1)
    of_image, of_filters, of_result = _letters(geometry)
    for element, places in _meetings(geometry, shape, filters):
        part = w[(..., *element)], g
        x[(..., *places)] += np.einsum(f"{of_filters},{of_result}->{of_image}", *part)
    inside = [slice(b, b + n) for (b, _), n in zip(ends, shape, strict=True)]
    image: Any = out[(slice(None), slice(None), *inside)]
    return image.astype(grad.dtype)


def grad_filters(geometry: Geometry, image: Any, grad: Any, shape: Any) -> Any:
    """The gradient by the filters."""
    x = _grouped(_padded(geometry, image, shape), geometry.groups, 1)
    g = _grouped(_wide(grad), geometry.groups, 1)
    places_of = grad.shape[2:] if geometry.is_unshared else ()
    results, channels = grad.shape[1], image.shape[1] // geometry.groups
    out = np.zeros((results, *places_of, channels, *shape), g.dtype)
    w = _grouped(out, geometry.groups, 0)
    of_image, of_filters, of_result = _letters(geometry)
    for element, places in _meetings(geometry, image.shape[2:], shape):
        part = x[(..., *places)], g
        w[(..., *element)] = np.einsum(f"{of_image},{of_result}->{of_filters}", *part)
    return out.astype(grad.dtype)
