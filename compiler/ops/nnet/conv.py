"""Convolution and its two gradients over one to three spatial axes: one op, by role.

The classes have Theano's names. Each is linear in both of its arrays, and the gradient
of one role is made of the other two, so derivatives of any order are convolutions.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, ClassVar

from gpuarray._nn.convolution import (
    MOST_AXES,
    MOST_GROUPS,
    Geometry,
    numbers_of,
    padding_of,
)
from gpuarray.compiler.errors import GraphArgumentError, GraphValueError
from gpuarray.compiler.graph.core import Apply, Constant, Op, Variable
from gpuarray.compiler.graph.requirements import Requirement, equal
from gpuarray.compiler.graph.types import TensorType, promoted
from gpuarray.compiler.ops.creation.joining import as_length
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.nnet import conv_reference as reference
from gpuarray.compiler.ops.shape.shape import shape_i
from gpuarray.compiler.ops.variables.basic import as_tensor_variable, known_integer
from gpuarray.errors import BadValue

FLOATS = ("float16", "bfloat16", "float32", "float64")


class BaseAbstractConv(Op):
    """The base of the three roles: geometry, and checks of the operands.

    ``border_mode`` is ``"valid"``, ``"half"``, ``"full"``, or for each spatial axis the
    zeros before and after; ``imshp`` and ``kshp`` are the shapes of image and filters
    as far as they are known, with None for the rest.
    """

    __props__: ClassVar[tuple[str, ...]] = (
        "convdim",
        "imshp",
        "kshp",
        "border_mode",
        "subsample",
        "filter_flip",
        "filter_dilation",
        "num_groups",
        "unshared",
    )

    def __init__(
        self,
        convdim: int,
        imshp: Any = None,
        kshp: Any = None,
        border_mode: Any = "valid",
        subsample: Any = None,
        filter_flip: bool = True,
        filter_dilation: Any = None,
        num_groups: int = 1,
        unshared: bool = False,
    ) -> None:
        name = type(self).__name__
        if convdim not in range(1, MOST_AXES + 1):
            raise GraphValueError(
                f"{name}: convdim is {convdim!r}, expected 1 to {MOST_AXES}"
            )
        try:
            padding = padding_of(border_mode, convdim, name, "border_mode")
            self.subsample = numbers_of(
                1 if subsample is None else subsample, convdim, name, "subsample", 1
            )
            self.filter_dilation = numbers_of(
                1 if filter_dilation is None else filter_dilation,
                convdim,
                name,
                "filter_dilation",
                1,
            )
            (self.num_groups,) = numbers_of(
                num_groups, 1, name, "num_groups", 1, MOST_GROUPS
            )
        except BadValue as error:
            raise GraphValueError(str(error)) from None
        self.convdim = convdim
        self.border_mode = "valid" if not any(map(any, padding)) else padding
        self.filter_flip = bool(filter_flip)
        self.unshared = bool(unshared)
        self.imshp = known_shape(name, "imshp", imshp, 2 + convdim)
        self.kshp = known_shape(name, "kshp", kshp, self.geometry.filter_ndim)
        if self.imshp is not None and self.kshp is not None and not self.unshared:
            self._check_shapes()

    def _check_shapes(self) -> None:
        """Refuse shapes that do not fit; what is not known of one is as it may be."""
        groups, ndim = self.num_groups, 2 + self.convdim
        image, filters = list(self.imshp), list(self.kshp)
        filters[0] = groups if filters[0] is None else filters[0]
        channels = None if filters[1] is None else filters[1] * groups
        image[1] = (channels or groups) if image[1] is None else image[1]
        filters[1] = image[1] // groups if filters[1] is None else filters[1]
        filters[2:] = [1 if n is None else n for n in filters[2:]]
        axes = zip(image[2:], filters[2:], self.filter_dilation, strict=True)
        image[2:] = [n if k is None else k for k, n, d in axes for n in [n * d]]
        try:
            self.geometry.result_shape([image[0] or 1, *image[1:ndim]], filters)
        except BadValue as error:
            raise GraphValueError(
                f"{error}; imshp is {self.imshp}, kshp is {self.kshp}"
            ) from None

    @property
    def geometry(self) -> Geometry:
        """The convolution, as the array package describes it."""
        padding = self.border_mode
        if padding == "valid":
            padding = ((0, 0),) * self.convdim
        return Geometry(
            self.subsample,
            self.filter_dilation,
            padding,
            self.num_groups,
            self.filter_flip,
            self.unshared,
        )

    def role(self, kind: type[BaseAbstractConv]) -> Any:
        """Return the op of another role of the same convolution."""
        options = {name: getattr(self, name) for name in BaseAbstractConv.__props__}
        cls = kind.of_axes.get(options.pop("convdim"))
        return kind(self.convdim, **options) if cls is None else cls(**options)

    def of_filters(self, kshp: Any) -> Any:
        """Return the same op for filters of another shape, and any image."""
        options = {name: getattr(self, name) for name in self.__props__}
        return type(self)(**{**options, "imshp": None, "kshp": kshp})

    of_axes: ClassVar[dict[int, type[BaseAbstractConv]]] = {}
    """Theano's classes for a number of spatial axes, which take no ``convdim``."""

    def operands(self, *arrays: tuple[str, Any, int]) -> list[Variable]:
        """Return operands, given as name, value and axes, in one dtype of floats."""
        variables = [as_tensor_variable(value) for _, value, _ in arrays]
        for (what, _, ndim), variable in zip(arrays, variables, strict=True):
            kind = variable.type
            if getattr(kind, "ndim", None) != ndim or kind.dtype[0] == "c":
                raise GraphArgumentError(
                    f"{type(self).__name__}: the {what} is {variable} of {kind}, "
                    f"expected floats of {ndim} axes"
                )
        dtype = promoted(*(variable.type.dtype for variable in variables))
        if dtype not in FLOATS:
            raise GraphArgumentError(
                f"{type(self).__name__}: the arrays are {dtype}, expected floats; cast "
                "them"
            )
        return [math.cast(variable, dtype) for variable in variables]

    def lengths(self, shapes: Sequence[Any]) -> list[Variable]:
        """Return a spatial shape, a vector or a sequence, as scalars.

        It may be given as so many scalars, as the inputs of a node are.
        """
        name = type(self).__name__
        is_split = len(shapes) > 1 or getattr(shapes[0], "ndim", None) == 0
        shape = list(shapes) if is_split else shapes[0]
        if isinstance(shape, Variable) and shape.type.ndim == 1:
            shape = [shape[i] for i in range(self.convdim)]
        if isinstance(shape, Variable) or len(shape) != self.convdim:
            raise GraphArgumentError(
                f"{name}: the shape is {shape}, expected {self.convdim} spatial lengths"
            )
        return [as_length(name, length) for length in shape]


class AbstractConv(BaseAbstractConv):
    """The convolution of an image (batch, channels, ...) by filters.

    Filters are (results, channels / groups, ...), or unshared (results, ..., channels /
    groups, ...) with the result's spatial axes first; the result is (batch, results,
    ...).
    """

    def make_node(self, img: Any, kern: Any) -> Apply:
        """Return a node over the image and the filters."""
        ndim = 2 + self.convdim
        image, filters = self.operands(
            ("image", img, ndim), ("filters", kern, self.geometry.filter_ndim)
        )
        outer = image.type.broadcastable[0], filters.type.broadcastable[0]
        pattern = (*outer, *(False,) * self.convdim)
        kind = TensorType(image.type.dtype, pattern)
        return Apply(self, [image, filters], [kind()])

    def reference(self, img: Any, kern: Any) -> Any:
        """The sum over filter elements, one after the other."""
        try:
            self.geometry.result_shape(img.shape, kern.shape)
        except BadValue as error:
            raise GraphValueError(str(error)) from None
        return reference.conv(self.geometry, img, kern)

    def grad(
        self, m: Any, g: Variable, y: Variable, img: Variable, kern: Variable
    ) -> tuple[Variable, Variable]:
        """Return the other two roles."""
        return (
            self.role(AbstractConv_gradInputs)(kern, g, spatial_shape(img, self)),
            self.role(AbstractConv_gradWeights)(img, g, spatial_shape(kern, self)),
        )

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """Return batch, results, and the lengths that the formula gives."""
        image, filters = input_shapes
        lengths = (
            reference.result_length(
                self.geometry, axis, image[2 + axis], filters[axis - self.convdim]
            )
            for axis in range(self.convdim)
        )
        return [(image[0], filters[0], *lengths)]

    def requirements(self, node: Apply, input_shapes: Any) -> list[Requirement]:
        """Require filters of the image's channels; gradients do not read the image."""
        image, filters = input_shapes
        channels = filters[-1 - self.convdim]
        if channels is not None and self.num_groups > 1:
            channels = channels * self.num_groups
        return equal(image[1], channels)


class _ConvGradient(BaseAbstractConv):
    """The base of the gradients by an input, whose spatial lengths are inputs."""

    def host_inputs(self, node: Apply) -> Collection[int]:
        """The lengths."""
        return range(2, len(node.inputs))


class AbstractConv_gradInputs(_ConvGradient):
    """The gradient by the image, of these spatial lengths: a transposed convolution."""

    def make_node(self, kern: Any, topgrad: Any, *shape: Any) -> Apply:
        """Return a node over the filters, the result's gradient, and the lengths."""
        ndim = 2 + self.convdim
        filters, grad = self.operands(
            ("filters", kern, self.geometry.filter_ndim), ("gradient", topgrad, ndim)
        )
        pattern = (grad.type.broadcastable[0], *(False,) * (ndim - 1))
        kind = TensorType(grad.type.dtype, pattern)
        return Apply(self, [filters, grad, *self.lengths(shape)], [kind()])

    def reference(self, kern: Any, topgrad: Any, *shape: Any) -> Any:
        """The sum over filter elements, one after the other."""
        return reference.grad_image(
            self.geometry, kern, topgrad, tuple(map(int, shape))
        )

    def grad(
        self,
        m: Any,
        g: Variable,
        y: Variable,
        kern: Variable,
        topgrad: Variable,
        *shape: Variable,
    ) -> tuple[Variable | None, ...]:
        """Return the other two roles: ``g`` is an image."""
        return (
            self.role(AbstractConv_gradWeights)(g, topgrad, spatial_shape(kern, self)),
            self.role(AbstractConv)(g, kern),
            *(None,) * len(shape),
        )

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """Return batch, channels, and the lengths."""
        filters, grad, *_ = input_shapes
        channels = filters[-1 - self.convdim]
        if channels is not None and self.num_groups > 1:
            channels = channels * self.num_groups
        return [(grad[0], channels, *node.inputs[2:])]


class AbstractConv_gradWeights(_ConvGradient):
    """The gradient by the filters, of these spatial lengths."""

    def make_node(self, img: Any, topgrad: Any, *shape: Any) -> Apply:
        """Return a node over the image, the result's gradient, and the lengths."""
        ndim = 2 + self.convdim
        image, grad = self.operands(("image", img, ndim), ("gradient", topgrad, ndim))
        places = grad.type.broadcastable[2:] if self.unshared else ()
        more = (False,) * (1 + self.convdim)
        kind = TensorType(
            image.type.dtype, (grad.type.broadcastable[1], *places, *more)
        )
        return Apply(self, [image, grad, *self.lengths(shape)], [kind()])

    def reference(self, img: Any, topgrad: Any, *shape: Any) -> Any:
        """The products of every filter element, one after the other."""
        return reference.grad_filters(
            self.geometry, img, topgrad, tuple(map(int, shape))
        )

    def grad(
        self,
        m: Any,
        g: Variable,
        y: Variable,
        img: Variable,
        topgrad: Variable,
        *shape: Variable,
    ) -> tuple[Variable | None, ...]:
        """Return the other two roles: ``g`` are filters."""
        return (
            self.role(AbstractConv_gradInputs)(g, topgrad, spatial_shape(img, self)),
            self.role(AbstractConv)(img, g),
            *(None,) * len(shape),
        )

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """Return results, the places of unshared filters, channels, and the lengths."""
        image, grad, *_ = input_shapes
        channels = image[1]
        if channels is not None and self.num_groups > 1:
            channels = channels // self.num_groups
        places = grad[2:] if self.unshared else ()
        return [(grad[1], *places, channels, *node.inputs[2:])]


# ---- Theano's classes ----


class _Axes2(BaseAbstractConv):
    __props__ = BaseAbstractConv.__props__[1:]

    def __init__(
        self,
        imshp: Any = None,
        kshp: Any = None,
        border_mode: Any = "valid",
        subsample: Any = (1, 1),
        filter_flip: bool = True,
        filter_dilation: Any = (1, 1),
        num_groups: int = 1,
        unshared: bool = False,
    ) -> None:
        options = (subsample, filter_flip, filter_dilation, num_groups, unshared)
        super().__init__(2, imshp, kshp, border_mode, *options)


class _Axes3(BaseAbstractConv):
    __props__ = BaseAbstractConv.__props__[1:]

    def __init__(
        self,
        imshp: Any = None,
        kshp: Any = None,
        border_mode: Any = "valid",
        subsample: Any = (1, 1, 1),
        filter_flip: bool = True,
        filter_dilation: Any = (1, 1, 1),
        num_groups: int = 1,
        unshared: bool = False,
    ) -> None:
        options = (subsample, filter_flip, filter_dilation, num_groups, unshared)
        super().__init__(3, imshp, kshp, border_mode, *options)


class AbstractConv2d(_Axes2, AbstractConv):
    """`AbstractConv` over two spatial axes."""


class AbstractConv3d(_Axes3, AbstractConv):
    """`AbstractConv` over three spatial axes."""


class AbstractConv2d_gradInputs(_Axes2, AbstractConv_gradInputs):
    """`AbstractConv_gradInputs` over two spatial axes."""


class AbstractConv3d_gradInputs(_Axes3, AbstractConv_gradInputs):
    """`AbstractConv_gradInputs` over three spatial axes."""


class AbstractConv2d_gradWeights(_Axes2, AbstractConv_gradWeights):
    """`AbstractConv_gradWeights` over two spatial axes."""


class AbstractConv3d_gradWeights(_Axes3, AbstractConv_gradWeights):
    """`AbstractConv_gradWeights` over three spatial axes."""


AbstractConv.of_axes = {2: AbstractConv2d, 3: AbstractConv3d}
AbstractConv_gradInputs.of_axes = {
    2: AbstractConv2d_gradInputs,
    3: AbstractConv3d_gradInputs,
}
AbstractConv_gradWeights.of_axes = {
    2: AbstractConv2d_gradWeights,
    3: AbstractConv3d_gradWeights,
}


# ---- shapes ----


def known_shape(name: str, what: str, shape: Any, ndim: int) -> Any:
    """Return a shape with None where it is not a constant; None if nothing is known."""
    if shape is None or (isinstance(shape, Variable) and shape.type.ndim == 1):
        return None
    if not isinstance(shape, Sequence) or len(shape) != ndim:
        raise GraphValueError(
            f"{name}: {what} is {shape!r}, expected {ndim} lengths, None for one "
            "that is not known"
        )
    lengths = tuple(
        None
        if length is None or is_symbolic(length)
        else known_integer(name, what, length)
        for length in shape
    )
    return None if all(length is None for length in lengths) else lengths


def is_symbolic(length: Any) -> bool:
    """True for a variable whose value is not in the graph."""
    return isinstance(length, Variable) and not isinstance(length, Constant)


def spatial_shape(x: Variable, op: BaseAbstractConv) -> list[Variable]:
    """Return the lengths of the spatial axes, the last ones."""
    ndim: int = x.type.ndim
    return [shape_i(x, axis) for axis in range(ndim - op.convdim, ndim)]
