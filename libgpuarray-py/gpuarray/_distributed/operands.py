"""Operands of collectives: checks, copies in C order, and where results go."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuarray._core.base import require
from gpuarray._core.context import Context
from gpuarray._distributed.engine import OPERATIONS
from gpuarray.array import Array
from gpuarray.dtypes import kind_of
from gpuarray.errors import BadArgument, BadType, BadValue, ReadOnly

DType = np.dtype[Any]
Shape = tuple[int, ...]

# ---- checks ----


def check_operand(x: Any, context: Context, operation: str) -> None:
    """Raise BadType or BadValue unless ``x`` is an array of the context."""
    if require(x, operation).context is not context:
        raise BadValue(
            f"{operation}: the array is on {x.context.name}, the communicator on "
            f"{context.name}; bring it over first: x.transfer(comm.context)"
        )


def check_operation(op: str, dtype: DType, operation: str) -> None:
    """Raise BadArgument or BadType unless ``op`` folds such elements."""
    if op not in OPERATIONS:
        raise BadArgument(
            f"{operation}: got the operation {op!r}, expected one of "
            f"{', '.join(OPERATIONS)}"
        )
    if op == "mean" and kind_of(dtype) not in "fc":
        raise BadType(
            f"{operation}: the mean of {dtype} is no {dtype}; use op='sum', or "
            "x.astype('float64')"
        )


def check_axis(x: Array, axis: int, operation: str) -> int:
    """Return the axis, counted from the front."""
    most = max(x.ndim, 1)
    if not -most <= axis < most:
        raise BadValue(f"{operation}: axis {axis} is out of bounds for {x.ndim} axes")
    return axis % most


def divided(shape: Shape, axis: int, ranks: int, operation: str) -> Shape:
    """Return the shape of a rank's part."""
    if not shape or shape[axis] % ranks:
        raise BadValue(
            f"{operation}: shape {shape} is not divisible among {ranks} ranks along "
            f"axis {axis}"
        )
    return (*shape[:axis], shape[axis] // ranks, *shape[axis + 1 :])


def joined(shape: Shape, axis: int, ranks: int) -> Shape:
    """Return the shape of what all ranks have; scalars become a vector."""
    shape = shape or (1,)
    return (*shape[:axis], shape[axis] * ranks, *shape[axis + 1 :])


# ---- copies in C order, the axis that is split or joined first ----


def in_order(x: Array, axis: int = 0) -> Array:
    """Return the array, or a copy, with ``axis`` first, contiguous in C order."""
    if axis:
        x = x.transpose([axis, *(i for i in range(x.ndim) if i != axis)])
    return x if x.flags.c_contiguous else x.copy()


class Target:
    """The destination of a result: ``block``, in C order, then the user's array."""

    __slots__ = ("_axis", "_copies", "_out", "block")

    def __init__(
        self, out: Array | None, block: Array, axis: int = 0, copies: bool = False
    ) -> None:
        self._out, self.block, self._axis, self._copies = out, block, axis, copies

    @classmethod
    def of(
        cls,
        shape: Shape,
        dtype: DType,
        context: Context,
        out: Array | None,
        operation: str,
        axis: int = 0,
    ) -> Target:
        """Return the target for a result of this shape: a new array, or ``out``."""
        if out is not None:
            check_operand(out, context, operation)
            if out.shape != shape or out.dtype != dtype:
                raise BadValue(
                    f"{operation}: out is {out.dtype} {out.shape}, expected {dtype} "
                    f"{shape}"
                )
            if not out.flags.writeable:
                raise ReadOnly(f"{operation}: the array to write is read-only")
            if axis == 0 and out.flags.c_contiguous:
                return cls(out, out)
        moved = (shape[axis], *shape[:axis], *shape[axis + 1 :]) if shape else ()
        block = Array.allocate(moved, dtype, context)
        return cls(out, block, axis, out is not None)

    def finish(self) -> Array:
        """Return the array that the user gets, written."""
        if self._out is not None and not self._copies:
            return self._out
        result = self.block
        if self._axis:
            behind = range(self._axis + 1, result.ndim)
            result = result.transpose([*range(1, self._axis + 1), 0, *behind])
        if self._out is None:
            return result if result.flags.c_contiguous else result.copy()
        self._out[...] = result
        return self._out


def finished(target: Target | None) -> Array | None:
    """Return the result of a rank that has one."""
    return None if target is None else target.finish()


def block_of(target: Target | None) -> Array | None:
    """Return the block of a rank that receives a result."""
    return None if target is None else target.block
