"""Neighbourhoods of images as rows of a matrix (im2col), and back."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from gpuarray.compiler.errors import GraphArgumentError, GraphValueError
from gpuarray.compiler.graph.core import Apply, Constant, Op, Variable
from gpuarray.compiler.graph.op import Gradients, Variables
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.shape.shape import shape_i
from gpuarray.compiler.ops.variables.basic import as_tensor_variable

MODES = ("valid", "ignore_borders", "wrap_centered", "half", "full")


class OfNeighbours(Op):
    """The base of ops between images and their neighbourhoods, by the mode."""

    __props__ = ("mode",)

    def __init__(self, mode: str = "valid") -> None:
        if mode not in MODES:
            raise GraphValueError(
                f"{type(self).__name__}: given mode {mode!r}, expected one of "
                f"{', '.join(MODES)}"
            )
        self.mode = mode

    def host_inputs(self, node: Apply) -> Collection[int]:
        """All but the array: integers."""
        return range(1, len(node.inputs))

    def places(self, lengths: Any, shape: Any, step: Any) -> tuple[Any, Any, Any]:
        """Return row and column of each element of a channel, and which are inside.

        All are matrices, a neighbourhood a row.
        """
        axes = []
        for image, extent, stride in zip(lengths, shape, step, strict=True):
            zeros = {"half": extent // 2, "full": extent - 1}.get(self.mode, 0)
            room = image + 2 * zeros - extent
            is_whole = self.mode in ("ignore_borders", "wrap_centered")
            if self.mode == "wrap_centered":
                fits = extent % 2 == 1 and extent <= image
                zeros, number = extent // 2, -(-image // stride)
            else:
                fits = is_whole or (room >= 0 and room % stride == 0)
                number = max(0, room // stride + 1)
            if not fits:
                raise GraphValueError(
                    f"{self}: a neighbourhood of {int(extent)} in steps of "
                    f"{int(stride)} does not fit in images of {int(image)}"
                )
            at = np.arange(number)[:, None] * stride + np.arange(extent) - zeros
            axes.append(at % image if self.mode == "wrap_centered" else at)
        rows, columns = axes
        grid = len(rows), len(columns), rows.shape[1], columns.shape[1]
        matrix = len(rows) * len(columns), rows.shape[1] * columns.shape[1]
        i = np.broadcast_to(rows[:, None, :, None], grid).reshape(matrix)
        j = np.broadcast_to(columns[:, None], grid).reshape(matrix)
        is_inside = (i >= 0) & (i < lengths[0]) & (j >= 0) & (j < lengths[1])
        return i, j, is_inside


class Images2Neibs(OfNeighbours):
    """The neighbourhoods of images as rows of a matrix, see `images2neibs`."""

    def make_node(
        self, ten4: Any, neib_shape: Any, neib_step: Any = None, *flat: Any
    ) -> Apply:
        """Return a node over images, and lengths and steps: two pairs, or four."""
        images = as_tensor_variable(ten4)
        if images.type.ndim != 4:
            raise GraphArgumentError(
                f"{self}: given ten4 {images} of {images.type}, expected 4 axes: "
                "batch, channels, rows, columns"
            )
        step = neib_shape if neib_step is None else neib_step
        lengths = [neib_shape, neib_step, *flat] if flat else _lengths(neib_shape, step)
        inputs = [images, *map(as_tensor_variable, lengths)]
        result = TensorType(images.type.dtype, (False, False))
        return Apply(self, inputs, [result()])

    def reference(self, x: Any, *numbers: Any) -> Any:
        """Return the matrix with NumPy."""
        i, j, is_inside = self.places(x.shape[2:], numbers[:2], numbers[2:])
        out = np.zeros((*x.shape[:2], *i.shape), x.dtype)
        out[..., is_inside] = x[..., i[is_inside], j[is_inside]]
        columns = i.shape[1]
        return out.reshape(-1, columns) if out.size else np.zeros((0, columns), x.dtype)

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return the sums of the copies of each element."""
        x, *numbers = inputs
        (g,) = output_gradients
        assert g is not None
        lengths = [shape_i(x, axis) for axis in range(4)]
        back = Neibs2Images(self.mode)(g, *lengths, *numbers)
        return [back, *(None for _ in numbers)]


class Neibs2Images(OfNeighbours):
    """Images whose elements are the sums of their copies in neighbourhoods.

    This is the gradient of `Images2Neibs`.
    """

    def make_node(self, neibs: Any, *numbers: Any) -> Apply:
        """Return a node over a matrix, and four lengths of axes, two and two."""
        matrix = as_tensor_variable(neibs)
        if matrix.type.ndim != 2:
            raise GraphArgumentError(
                f"{self}: given neibs {matrix} of {matrix.type}, expected a matrix"
            )
        inputs = [matrix, *map(as_tensor_variable, numbers)]
        result = TensorType(matrix.type.dtype, (False,) * 4)
        return Apply(self, inputs, [result()])

    def reference(self, x: Any, *numbers: Any) -> Any:
        """Return the images with NumPy."""
        lengths, shape, step = numbers[:4], numbers[4:6], numbers[6:]
        images = np.zeros(tuple(map(int, lengths)), x.dtype)
        rows = x.reshape(*images.shape[:2], -1, x.shape[1]) if x.size else x
        i, j, is_inside = self.places(images.shape[2:], shape, step)
        if x.size:
            row, column = is_inside.nonzero()
            at: Any = (slice(None), slice(None), i[is_inside], j[is_inside])
            np.add.at(images, at, rows[:, :, row, column])
        return images

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return the neighbourhoods of the gradient."""
        (g,) = output_gradients
        forth = Images2Neibs(self.mode)(g, *inputs[5:])
        return [forth, *(None for _ in inputs[1:])]

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """Return the given lengths."""
        return [tuple(node.inputs[1:5])]


def _lengths(shape: Any, step: Any) -> list[Variable]:
    """Return rows and columns of a neighbourhood, and of a step."""
    return [*_numbers("neib_shape", shape, 2), *_numbers("neib_step", step, 2)]


def _numbers(name: str, value: Any, count: int) -> list[Variable]:
    """Return integers as scalars. Raises GraphArgumentError for others."""
    vector = as_tensor_variable(value)
    is_short = isinstance(vector, Constant) and vector.data.size != count
    if vector.type.ndim != 1 or vector.type.dtype[0] not in "iu" or is_short:
        raise GraphArgumentError(
            f"Images2Neibs: given {name} {vector} of {vector.type}, expected {count} "
            "integers"
        )
    numbers = math.cast(vector, "int64")
    return [numbers[i] for i in range(count)]


def images2neibs(
    ten4: Any, neib_shape: Any, neib_step: Any = None, mode: str = "valid"
) -> Variable:
    """Return the neighbourhoods of images as the rows of a matrix.

    ``ten4`` is (batch, channels, rows, columns), of any dtype; a neighbourhood has
    ``neib_shape`` rows and columns, and the next one is ``neib_step`` further, by
    default the same. Rows of the result go over batch, channels, and places.

    ``mode`` is ``"valid"``: the neighbourhoods fill the images; ``"ignore_borders"``:
    what is left at the end is ignored; ``"wrap_centered"``: they are around each place,
    over the edges to the other side; ``"half"`` and ``"full"``: as valid, with zeros
    around the images, half a neighbourhood or all of it but one element.
    """
    result: Variable = Images2Neibs(mode)(ten4, neib_shape, neib_step)
    return result


def neibs2images(
    neibs: Any, neib_shape: Any, original_shape: Any, mode: str = "valid"
) -> Variable:
    """Return the images of neighbourhoods that do not overlap.

    This undoes `images2neibs` with steps of ``neib_shape``, for images of
    ``original_shape``, four lengths. ``mode`` is ``"valid"``, or ``"ignore_borders"``:
    then zeros are where no neighbourhood was.
    """
    if mode not in ("valid", "ignore_borders"):
        raise GraphValueError(
            f"neibs2images: given mode {mode!r}, expected 'valid' or 'ignore_borders'"
        )
    lengths = _numbers("original_shape", original_shape, 4)
    both = _lengths(neib_shape, neib_shape)
    result: Variable = Neibs2Images(mode)(neibs, *lengths, *both)
    return result
