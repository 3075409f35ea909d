"""Convolutions and their gradients over one to three spatial axes."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from gpuarray._core.base import BaseArray, require_all
from gpuarray._native import check, ffi, lib
from gpuarray.errors import BadType, BadValue

Padding = str | int | Sequence[int | tuple[int, int]]

MOST_AXES = 3
LONGEST = 1 << 40
"""The longest axis, stride, dilation and padding that the library takes."""
MOST_GROUPS = (1 << 32) - 1


@dataclass(frozen=True)
class Geometry:
    """A convolution without its arrays; a tuple has a number for each spatial axis.

    ``padding`` is ``"half"`` or ``"full"``, by the extent of the filters, or the zeros
    before and after each axis. Unless ``is_deterministic``, sums may be in any order.
    """

    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    padding: str | tuple[tuple[int, int], ...]
    groups: int = 1
    is_flipped: bool = False
    is_unshared: bool = False
    is_deterministic: bool = True

    @property
    def ndim(self) -> int:
        """The number of spatial axes."""
        return len(self.stride)

    @property
    def filter_ndim(self) -> int:
        """The number of axes of the filters."""
        return 2 + self.ndim * (2 if self.is_unshared else 1)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The parameters of the library's routine, for three axes."""
        pairs = ((0, 0),) * self.ndim
        if not isinstance(self.padding, str):
            pairs = self.padding
        flags = lib.GA_CONV_FLIP * self.is_flipped
        flags |= lib.GA_CONV_UNSHARED * self.is_unshared
        flags |= lib.GA_CONV_HALF * (self.padding == "half")
        flags |= lib.GA_CONV_FULL * (self.padding == "full")
        flags |= lib.GA_CONV_ANY_ORDER * (not self.is_deterministic)
        before, after = zip(*pairs, strict=True)
        lists = (self.stride, 1), (self.dilation, 1), (before, 0), (after, 0)
        padded = [(*each, *(fill,) * (MOST_AXES - self.ndim)) for each, fill in lists]
        return (self.ndim, self.groups, flags, *chain.from_iterable(padded))

    def struct(self) -> Any:
        """The library's description, a ``gpuconv *``."""
        struct = ffi.new("gpuconv *")
        lib.gpuconv_init(struct, self.ndim)
        _, struct.groups, struct.flags, *rest = self.numbers
        for i in range(MOST_AXES):
            struct.stride[i], struct.dilation[i] = rest[i], rest[3 + i]
            struct.before[i], struct.after[i] = rest[6 + i], rest[9 + i]
        return struct

    def result_shape(
        self, image: Sequence[int], filters: Sequence[int]
    ) -> tuple[int, ...]:
        """The shape of the result. Raises BadValue where the shapes do not fit."""
        out = ffi.new("size_t[]", 2 + MOST_AXES)
        lengths = ffi.new("size_t[]", list(image)), ffi.new("size_t[]", list(filters))
        check(lib.gpuconv_shape(out, self.struct(), *lengths))
        return tuple(ffi.unpack(out, 2 + self.ndim))


def numbers_of(
    value: Any, ndim: int, operation: str, name: str, least: int, most: int = LONGEST
) -> tuple[int, ...]:
    """Return a number for each spatial axis, from one number or a sequence of them."""
    listed = value if isinstance(value, Sequence) else (value,) * ndim
    try:
        numbers = tuple(map(operator.index, listed))
    except TypeError:
        numbers = ()
    if len(numbers) != ndim or min(numbers) < least:
        raise BadValue(
            f"{operation}: {name} is {value!r}, expected an integer of at least "
            f"{least}, or a sequence of {ndim}, one for each spatial axis"
        )
    if max(numbers) > most:
        raise BadValue(
            f"{operation}: {name} is {value!r}, expected no integer above {most}"
        )
    return numbers


def padding_of(
    value: Any, ndim: int, operation: str, name: str = "padding"
) -> str | tuple[tuple[int, int], ...]:
    """Return ``"half"``, ``"full"`` or a pair for each axis, from any way to say it."""
    if isinstance(value, str) and value in ("valid", "half", "full"):
        return value if value != "valid" else ((0, 0),) * ndim
    listed = value if isinstance(value, Sequence) else (value,) * ndim
    try:
        pairs = tuple(numbers_of(one, 2, operation, name, 0) for one in listed)
    except BadValue:
        pairs = ()
    if isinstance(value, str) or len(pairs) != ndim:
        raise BadValue(
            f"{operation}: {name} is {value!r}, expected 'valid', 'half' (of the "
            "filters, so that odd ones keep lengths), 'full', an integer, or "
            f"{ndim} integers or pairs, one for each spatial axis"
        )
    return tuple((before, after) for before, after in pairs)


def geometry_of(operation: str, ndim: int, **options: Any) -> Geometry:
    """Return the geometry of a function's options, checked."""
    if not 1 <= ndim <= MOST_AXES:
        raise BadValue(
            f"{operation}: an image of {ndim + 2} axes, expected batch, channels and "
            f"one to {MOST_AXES} spatial axes"
        )
    (groups,) = numbers_of(options["groups"], 1, operation, "groups", 1, MOST_GROUPS)
    return Geometry(
        numbers_of(options["stride"], ndim, operation, "stride", 1),
        numbers_of(options["dilation"], ndim, operation, "dilation", 1),
        padding_of(options["padding"], ndim, operation),
        groups,
        bool(options["flip"]),
        bool(options["unshared"]),
        bool(options.get("deterministic", True)),
    )


# ---- of a geometry ----


def _floats(operation: str, *arrays: Any) -> list[Any]:
    for array in require_all(operation, *arrays):
        if array.dtype != arrays[0].dtype:
            raise BadType(
                f"{operation}: arrays of {arrays[0].dtype} and {array.dtype}, expected "
                "one dtype"
            )
    return list(arrays)


def convolve(image: BaseArray, filters: BaseArray, geometry: Geometry) -> Any:
    """Return the convolution of an image: batch, results, and spatial axes."""
    _floats("conv", image, filters)
    if len(image.shape) != 2 + geometry.ndim or filters.ndim != geometry.filter_ndim:
        raise BadValue(
            f"conv: an image of shape {image.shape} and filters of {filters.shape}, "
            f"expected {2 + geometry.ndim} and {geometry.filter_ndim} axes"
        )
    shape = geometry.result_shape(image.shape, filters.shape)
    out = image.allocate(shape, image.dtype, image.context, operation="conv")
    description = geometry.struct()
    check(lib.GpuArray_conv(out.struct, image.struct, filters.struct, description))
    return out


def grad_image(
    grad: BaseArray, filters: BaseArray, shape: Sequence[int], geometry: Geometry
) -> Any:
    """Return the gradient by an image whose spatial axes have these lengths."""
    _floats("conv_grad_image", grad, filters)
    channels = filters.shape[-1 - geometry.ndim] * geometry.groups
    lengths = grad.shape[0], channels, *shape
    if min(shape) < 0:
        raise BadValue(
            f"conv_grad_image: an image of shape {lengths}, expected no negative length"
        )
    out = grad.allocate(lengths, grad.dtype, grad.context, operation="conv_grad_image")
    description = geometry.struct()
    check(
        lib.GpuArray_conv_grad_image(
            out.struct, grad.struct, filters.struct, description
        )
    )
    return out


def grad_filters(
    image: BaseArray, grad: BaseArray, shape: Sequence[int], geometry: Geometry
) -> Any:
    """Return the gradient by filters whose spatial axes have these lengths."""
    _floats("conv_grad_filters", image, grad)
    places = grad.shape[2:] if geometry.is_unshared else ()
    channels = image.shape[1] // geometry.groups
    lengths = grad.shape[1], *places, channels, *shape
    out = image.allocate(
        lengths, image.dtype, image.context, operation="conv_grad_filters"
    )
    description = geometry.struct()
    check(
        lib.GpuArray_conv_grad_filters(
            out.struct, image.struct, grad.struct, description
        )
    )
    return out


# ---- functions ----


def conv(
    image: Any,
    filters: Any,
    *,
    stride: int | Sequence[int] = 1,
    padding: Padding = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    flip: bool = False,
    unshared: bool = False,
    deterministic: bool = True,
) -> Any:
    """Convolve an image of batch, channels and one to three spatial axes.

    ``filters`` are (results, channels / groups, ...); the result is (batch, results,
    ...). Filters are not turned around, as in other packages for networks; with
    ``flip`` they are, as in mathematics. ``padding`` are zeros at both ends of each
    axis: a number, one for each axis or a pair, ``"valid"`` (none), ``"half"`` of the
    filters' extent, or ``"full"``: all places where one element meets. ``unshared``
    filters have a filter for each place: (results, ..., channels / groups, ...).

    Types are float16, bfloat16, float32 or float64, sums float32 at least. The same
    arrays give the same bits; unless ``deterministic``, cuDNN may use its engines that
    add in another order each time.

    >>> image = gpuarray.ones((1, 1, 4, 4), "float32")
    >>> filters = gpuarray.ones((1, 1, 3, 3), "float32")
    >>> print(gpuarray.nn.conv(image, filters, padding="half")[0, 0, 0])
    [4. 6. 6. 4.]
    """
    require_all("conv", image, filters)
    options = {"stride": stride, "padding": padding, "dilation": dilation}
    options |= {"groups": groups, "flip": flip, "unshared": unshared}
    options["deterministic"] = deterministic
    geometry = geometry_of("conv", image.ndim - 2, **options)
    return convolve(image, filters, geometry)


def conv_transpose(
    image: Any,
    filters: Any,
    *,
    stride: int | Sequence[int] = 1,
    padding: Padding = 0,
    output_padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    flip: bool = False,
    deterministic: bool = True,
) -> Any:
    """Return the gradient of `conv` by its image, whose result would be ``image``.

    ``filters`` are (channels of ``image``, results / groups, ...). A result is (n - 1)
    * stride - padding + extent + ``output_padding`` long where ``image`` is n; the
    last, less than the stride, says which of the lengths that `conv` makes alike.

    >>> image = gpuarray.ones((1, 1, 2), "float32")
    >>> filters = gpuarray.ones((1, 1, 2), "float32")
    >>> print(gpuarray.nn.conv_transpose(image, filters, stride=2)[0, 0])
    [1. 1. 1. 1.]
    """
    require_all("conv_transpose", image, filters)
    options = {"stride": stride, "padding": padding, "dilation": dilation}
    options |= {"groups": groups, "flip": flip, "unshared": False}
    options["deterministic"] = deterministic
    ndim = image.ndim - 2
    geometry = geometry_of("conv_transpose", ndim, **options)
    more = numbers_of(output_padding, ndim, "conv_transpose", "output_padding", 0)
    if filters.ndim != geometry.filter_ndim:
        raise BadValue(
            f"conv_transpose: filters of shape {filters.shape}, expected "
            f"{geometry.filter_ndim} axes"
        )
    lengths = tuple(
        transposed_length(
            geometry, axis, image.shape[2 + axis], filters.shape[2 + axis]
        )
        + more[axis]
        for axis in range(ndim)
    )
    return grad_image(image, filters, lengths, geometry)


def transposed_length(geometry: Geometry, axis: int, result: Any, filters: Any) -> Any:
    """The least length of an image's axis whose result has this length."""
    extent = (filters - 1) * geometry.dilation[axis] + 1
    both = {"half": extent // 2 * 2, "full": (extent - 1) * 2}
    padding = geometry.padding
    ends = both[padding] if isinstance(padding, str) else sum(padding[axis])
    return (result - 1) * geometry.stride[axis] + extent - ends
