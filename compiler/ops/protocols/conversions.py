"""Conversions of variables: to known numbers, copies, and arrays from files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gpuarray.compiler.errors import (
    GraphArgumentError,
    GraphIndexError,
    GraphTypeError,
    NotScalarConstantError,
)
from gpuarray.compiler.graph.core import Apply, Constant, Op, Variable, constant
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.broadcast.broadcast import BroadcastTo, Rebroadcast
from gpuarray.compiler.ops.creation.joining import Join
from gpuarray.compiler.ops.elemwise.elemwise import Cast, Elemwise
from gpuarray.compiler.ops.elemwise.math import cast
from gpuarray.compiler.ops.shape.shape import DimShuffle, Reshape, Shape_i, elements
from gpuarray.compiler.ops.slicing.subtensor import Subtensor
from gpuarray.compiler.ops.variables.basic import as_tensor_variable

_DEPTH = 10
_VIEWS = (BroadcastTo, DimShuffle, Rebroadcast, Reshape)


def get_scalar_constant_value(
    v: Any, elemwise: bool = True, only_process_constants: bool = False
) -> Any:
    """Return the number that every element of ``v`` is, as an array without axes.

    It is found through copies, casts, new axes, repetition, indices by constants,
    vectors made of scalars or of such vectors, and, with ``elemwise``, arithmetic of
    numbers; with ``only_process_constants`` only a constant counts. Raises
    NotScalarConstantError for anything else.
    """
    variable = as_tensor_variable(v)
    depth = 0 if only_process_constants else _DEPTH
    number = _number(variable, elemwise, depth)
    if number is None:
        raise NotScalarConstantError(
            f"get_scalar_constant_value: {variable} of {variable.type} is no number "
            "that is known before the program runs"
        )
    return number


def _number(variable: Variable, elemwise: bool, depth: int) -> Any:
    if isinstance(variable, Constant):
        data = np.asarray(variable.data)
        is_uniform = data.size and bool((data == data.flat[0]).all())
        return np.array(data.flat[0]) if data.size == 1 or is_uniform else None
    node = variable.owner
    if node is None or depth == 0:
        return None
    op = node.op
    if isinstance(op, _VIEWS):
        return _number(node.inputs[0], elemwise, depth - 1)
    if isinstance(op, Shape_i):
        x = node.inputs[0]
        known = np.shape(x.data)[op.i] if isinstance(x, Constant) else 1
        is_known = isinstance(x, Constant) or x.type.broadcastable[op.i]
        return np.array(known, "int64") if is_known else None
    if isinstance(op, Subtensor):
        return _element(node, elemwise, depth - 1)
    if isinstance(op, Elemwise):
        return _computed(node, elemwise, depth - 1)
    return None


def _element(node: Apply, elemwise: bool, depth: int) -> Any:
    """Return an indexed part that is one number, of a constant or a known vector."""
    op, (x, *places) = node.op, node.inputs
    everywhere = _number(x, elemwise, depth)
    if everywhere is not None:
        return everywhere
    if not all(isinstance(place, Constant) for place in places):
        return None
    numbers = [place.data.item() for place in places if isinstance(place, Constant)]
    if isinstance(x, Constant):
        return _number(constant(op.reference(x.data, *numbers)), elemwise, depth)
    scalars = _scalars(x)
    if scalars is None or node.out.type.ndim:
        return None
    if not -len(scalars) <= numbers[0] < len(scalars):
        raise GraphIndexError(
            f"index {numbers[0]} is out of bounds for axis 0 with size {len(scalars)}"
        )
    number = _number(scalars[numbers[0]], elemwise, depth)
    return None if number is None else number.astype(x.type.dtype)


def _scalars(vector: Variable) -> list[Variable] | None:
    """Return the scalars of a vector, or of the vectors that it joins."""
    if vector.type.ndim != 1:
        return None
    node = vector.owner
    if node is not None and isinstance(node.op, Elemwise):
        inner = _scalars(node.inputs[0]) if isinstance(node.op.scalar, Cast) else None
        return inner and [cast(scalar, vector.type.dtype) for scalar in inner]
    if node is None or not isinstance(node.op, Join):
        return elements(vector)
    parts = [_scalars(variable) for variable in node.inputs]
    if any(part is None for part in parts):
        return None
    return [scalar for part in parts for scalar in part or ()]


def _computed(node: Apply, elemwise: bool, depth: int) -> Any:
    """Return a cast or filled value; if asked for, the result of arithmetic."""
    assert isinstance(node.op, Elemwise)
    if len(node.outputs) != 1:
        return None
    dtype = node.out.type.dtype
    if node.op.key == "second":
        fill = _number(node.inputs[1], elemwise, depth)
        return None if fill is None else fill.astype(dtype)
    if not elemwise and not isinstance(node.op.scalar, Cast):
        return None
    numbers = [_number(variable, elemwise, depth) for variable in node.inputs]
    if any(number is None for number in numbers):
        return None
    with np.errstate(all="ignore"):
        return np.asarray(node.op.reference(*numbers)).astype(dtype)


def extract_constant(
    x: Any, elemwise: bool = True, only_process_constants: bool = False
) -> Any:
    """Return the number of ``x``, as `get_scalar_constant_value`; else ``x`` itself."""
    try:
        return get_scalar_constant_value(x, elemwise, only_process_constants)
    except NotScalarConstantError:
        return x


def _scalar(name: str, argument: Any) -> Variable:
    scalar = as_tensor_variable(argument)
    if scalar.type.ndim:
        raise GraphArgumentError(
            f"{name}: given {scalar} of {scalar.type}, expected a scalar"
        )
    return scalar


def scalar_from_tensor(s: Any) -> Variable:
    """Return ``s``: scalars are arrays without axes here. Raises TypeError."""
    return _scalar("scalar_from_tensor", s)


def tensor_from_scalar(s: Any) -> Variable:
    """``s``, a scalar: scalars are arrays without axes here. Raises TypeError."""
    return _scalar("tensor_from_scalar", s)


def default(x: Any, d: Any) -> Variable:
    """``x``, or ``d`` where ``x`` is None."""
    return as_tensor_variable(d if x is None else x)


def tensor_copy(x: Any) -> Variable:
    """Return another variable of the same values, which computes no copy."""
    variable = as_tensor_variable(x)
    copied: Variable = Elemwise(Cast(variable.type.dtype))(variable)
    return copied


class LoadFromDisk(Op):
    """The array of a file that ``numpy.save`` wrote, read at each run."""

    __props__ = ("path", "dtype", "broadcastable", "mmap_mode")

    def __init__(
        self,
        path: str,
        dtype: Any,
        broadcastable: Sequence[bool],
        mmap_mode: str | None = None,
    ) -> None:
        if mmap_mode not in (None, "c", "r"):
            raise GraphTypeError(
                f"load: mmap_mode is {mmap_mode!r}, expected None, 'c' or 'r'"
            )
        kind = TensorType(dtype, tuple(broadcastable))
        self.path = str(path)
        self.dtype, self.broadcastable = kind.dtype, kind.broadcastable
        self.mmap_mode = mmap_mode

    def make_node(self) -> Apply:
        """A node without inputs."""
        return Apply(self, [], [TensorType(self.dtype, self.broadcastable)()])

    def reference(self) -> Any:
        """The file's array. Raises TypeError if it is of another type."""
        mode: Any = self.mmap_mode
        array = np.asarray(np.load(self.path, mmap_mode=mode, allow_pickle=False))
        kind = TensorType(self.dtype, self.broadcastable)
        if array.dtype != self.dtype:
            raise GraphTypeError(
                f"load: {self.path} holds {array.dtype}, expected {self.dtype}"
            )
        return kind.filter(array)

    def grad(self, m: Any, g: Variable, y: Variable) -> list[Any]:
        """Nothing: there is no input."""
        return []


def load(
    path: Any, dtype: Any, broadcastable: Sequence[bool], mmap_mode: str | None = None
) -> Variable:
    """Return the array of the file ``path``, read at each run; it has the type given.

    ``mmap_mode`` is as of ``numpy.load``. Raises TypeError, when the program runs, for
    an array of another type.
    """
    loaded: Variable = LoadFromDisk(path, dtype, broadcastable, mmap_mode)()
    return loaded
