"""Collectives in expressions, with gradients.

All ranks run one program, so the function of each has the same collectives in the same
order. The cost of the whole program is the sum of the ranks' costs: gradients of a
result that each rank uses in its own way are summed over ranks. Where all ranks compute
the same from a result, which is ``replicated``, the cost is counted once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from gpuarray._creation.conversion import asarray
from gpuarray._native import check, lib
from gpuarray.array import Array
from gpuarray.compiler.errors import GraphTypeError, GraphValueError, NoGradientError
from gpuarray.compiler.graph.core import Apply, Op, Variable
from gpuarray.compiler.graph.op import Gradients, Variables
from gpuarray.compiler.graph.ordering import next_place
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.index.indexing import index
from gpuarray.compiler.ops.shape.shape import shape_i
from gpuarray.compiler.ops.variables.basic import as_tensor_variable, normalise_axis

if TYPE_CHECKING:
    from gpuarray.distributed import Communicator

FOLDS = ("sum", "prod", "min", "max", "mean")


class Collective(Op):
    """The base of operations among the ranks of a communicator.

    ``program_order`` counts them as the program makes them. Two are never equal: ranks
    that merge them where operands are alike would call other sequences.
    """

    __props__: ClassVar[tuple[str, ...]] = ("comm",)
    fold: str = "sum"
    """The reduction over ranks, in collectives that reduce."""
    deferred: Any = None
    """The call of a run, for engines whose work cannot be recorded."""

    def __init__(self, comm: Communicator) -> None:
        if not hasattr(comm, "reduce_scatter"):
            raise GraphTypeError(
                f"{type(self).__name__}: given {comm!r}, a {type(comm).__name__}; "
                "expected a communicator: gpuarray.distributed.init()"
            )
        self.comm = comm
        self.program_order = next_place()

    @property
    def properties(self) -> tuple[Any, ...]:
        """The values of ``__props__``, and the place in the program."""
        return (*(super().properties or ()), self.program_order)

    def __getstate__(self) -> dict[str, Any]:
        """Return a pickle's content, with the communicator's name in its place."""
        return {**vars(self), "comm": self.comm.name, "deferred": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        calls: Any = import_module("gpuarray._distributed.ordered_calls")
        vars(self).update(state, comm=calls.communicator_of(state["comm"]))
        if self.comm is None:
            raise GraphValueError(
                f"{type(self).__name__}: a pickle of the communicator "
                f"{state['comm']!r}, which this process has not; call "
                "gpuarray.distributed.init() before, and split as the program did"
            )

    def make_node(self, x: Any) -> Apply:
        """Return a node over an array."""
        variable = as_tensor_variable(x)
        return Apply(self, [variable], [self.infer(variable.type)])

    def infer(self, x: Any) -> Any:
        """A variable of the operand's dtype and shape."""
        return TensorType(x.dtype, x.broadcastable)()

    def run(self, x: Array, out: Array) -> None:
        """Write the result for this rank's array, on the communicator's context."""
        raise NotImplementedError

    def result_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of the result for an array of this shape."""
        return shape

    def reference(self, x: Any) -> Any:
        """The result, computed among the ranks."""
        given = asarray(x, context=self.comm.context)
        out = Array.allocate(self.result_shape(given.shape), given.dtype, given.context)
        self.run(given, out)
        return np.asarray(out)

    def do_constant_folding(self, node: Apply) -> bool:
        """Return False: ranks meet when the function runs."""
        return False

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """The shape of the operand."""
        return [tuple(input_shapes[0])]

    def check_is_linear(self) -> None:
        """Raise NotImplementedError for a fold that is no sum or mean."""
        if self.fold not in ("sum", "mean"):
            raise NoGradientError(
                f"{type(self).__name__} of {self.fold} has no gradient; expected sum "
                "or mean"
            )

    def R_op(self, inputs: Any, eval_points: Any) -> list[Variable | None]:
        """The same of the direction, of what is linear."""
        self.check_is_linear()
        (direction,) = eval_points
        return [None if direction is None else self.again()(direction)]

    def again(self) -> Collective:
        """Return the same, made now."""
        return type(self)(**{name: getattr(self, name) for name in self.__props__})

    def __str__(self) -> str:
        said = [f"{k}={getattr(self, k)}" for k in self.__props__ if k != "comm"]
        name = type(self).__name__
        return f"{name}{{{', '.join(said)}}}" if said else name


def known_fold(operation: str, fold: str) -> str:
    """Return the name of a fold. Raises ValueError for another."""
    if fold not in FOLDS:
        raise GraphValueError(
            f"{operation}: op is {fold!r}, expected one of {', '.join(FOLDS)}"
        )
    return fold


class AllReduce(Collective):
    """The fold of all ranks' arrays, on every rank."""

    __props__ = ("comm", "fold", "replicated")

    def __init__(
        self, comm: Communicator, fold: str = "sum", replicated: bool = False
    ) -> None:
        super().__init__(comm)
        self.fold, self.replicated = known_fold("all_reduce", fold), replicated

    def run(self, x: Array, out: Array) -> None:
        """Write the fold."""
        self.comm.all_reduce(x, self.fold, out)

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return the sum of the ranks' gradients; of a replicated result its own."""
        (g,) = output_gradients
        assert g is not None
        self.check_is_linear()
        if not self.replicated:
            return [AllReduce(self.comm, self.fold)(g)]
        return [g / self.comm.size if self.fold == "mean" else g]


class AlongAxis(Collective):
    """The base of collectives of parts along an axis."""

    __props__: ClassVar[tuple[str, ...]] = ("comm", "axis")

    def __init__(self, comm: Communicator, axis: int = 0) -> None:
        super().__init__(comm)
        self.axis = axis

    def infer(self, x: Any) -> Any:
        """A variable of the operand's dtype, of any length along the axis."""
        pattern = list(x.broadcastable)
        if pattern:
            pattern[self.axis] = False
        return TensorType(x.dtype, tuple(pattern))()

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """The shape with another length along the axis."""
        return [self.result_shape(input_shapes[0])]

    def result_shape(self, shape: Any) -> Any:
        """Return the shape with another length along the axis."""
        lengths = list(shape)
        if lengths:
            lengths[self.axis] = self.length(lengths[self.axis])
        return tuple(lengths)

    def length(self, length: Any) -> Any:
        """Return the length of the result along the axis."""
        return length


class AllGather(AlongAxis):
    """All ranks' arrays, joined along an axis in the order of ranks."""

    __props__ = ("comm", "axis", "replicated")

    def __init__(
        self, comm: Communicator, axis: int = 0, replicated: bool = False
    ) -> None:
        super().__init__(comm, axis)
        self.replicated = replicated

    def length(self, length: Any) -> Any:
        """As many times the length as ranks."""
        return length * self.comm.size

    def run(self, x: Array, out: Array) -> None:
        """Write the joined arrays."""
        self.comm.all_gather(x, self.axis, out)

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return this rank's part of the gradients, summed unless replicated."""
        (x,), (g,) = inputs, output_gradients
        assert g is not None
        if not self.replicated:
            return [ReduceScatter(self.comm, axis=self.axis)(g)]
        length = shape_i(x, self.axis)
        start = length * self.comm.rank
        whole = (slice(None),) * self.axis
        return [index(g, (*whole, slice(start, start + length)))]


class ReduceScatter(AlongAxis):
    """This rank's part, along an axis, of the sum or mean of all ranks' arrays."""

    __props__ = ("comm", "fold", "axis")

    def __init__(self, comm: Communicator, fold: str = "sum", axis: int = 0) -> None:
        super().__init__(comm, axis)
        self.fold = known_fold("reduce_scatter", fold)

    def length(self, length: Any) -> Any:
        """A share of the length."""
        return length // self.comm.size

    def run(self, x: Array, out: Array) -> None:
        """Write the part."""
        self.comm.reduce_scatter(x, self.fold, self.axis, out)

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return all ranks' gradients, joined."""
        (g,) = output_gradients
        assert g is not None
        self.check_is_linear()
        every = AllGather(self.comm, self.axis)(g)
        return [every / self.comm.size if self.fold == "mean" else every]


class AllToAll(AlongAxis):
    """Part ``rank`` of each rank's array, split and joined along an axis."""

    def run(self, x: Array, out: Array) -> None:
        """Write the parts, joined."""
        self.comm.all_to_all(x, self.axis, out)

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return the parts of the gradients, sent back."""
        (g,) = output_gradients
        return [None if g is None else self.again()(g)]


class Rooted(Collective):
    """The base of collectives with a root."""

    __props__: ClassVar[tuple[str, ...]] = ("comm", "root")

    def __init__(self, comm: Communicator, root: int = 0) -> None:
        super().__init__(comm)
        if not 0 <= root < comm.size:
            raise GraphValueError(
                f"{type(self).__name__}: the root is {root}, expected 0 to "
                f"{comm.size - 1}"
            )
        self.root = root

    @property
    def is_root(self) -> bool:
        """True on the root."""
        return self.comm.rank == self.root


class BroadcastFrom(Rooted):
    """The root's array, on every rank; the other ranks' have its shape."""

    __props__ = ("comm", "root", "replicated")

    def __init__(
        self, comm: Communicator, root: int = 0, replicated: bool = False
    ) -> None:
        super().__init__(comm, root)
        self.replicated = replicated

    def run(self, x: Array, out: Array) -> None:
        """Write a copy of the root's."""
        if self.is_root:
            out[...] = x
        self.comm.broadcast(out, self.root)

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return to the root the sum of the gradients, to others zeros."""
        (g,) = output_gradients
        assert g is not None
        if not self.replicated:
            return [ReduceTo(self.comm, self.root)(g)]
        return [g if self.is_root else math.zeros_like(g)]


class ReduceTo(Rooted):
    """The sum of all ranks' arrays on the root, zeros on others."""

    def run(self, x: Array, out: Array) -> None:
        """Write the sum, or zeros."""
        self.comm.reduce(x, "sum", self.root, out if self.is_root else None)
        if not self.is_root:
            clear(out)

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return the root's gradient, on every rank."""
        (g,) = output_gradients
        return [None if g is None else BroadcastFrom(self.comm, self.root)(g)]


def clear(out: Array) -> None:
    """Set the elements of a new array to 0, on its device."""
    check(lib.GpuArray_memset(out.struct, 0), "collective")


COLLECTIVES = (AllGather, AllReduce, AllToAll, BroadcastFrom, ReduceTo, ReduceScatter)


def all_reduce(
    x: Any, comm: Communicator, op: str = "sum", replicated: bool = False
) -> Variable:
    """Return the elementwise fold of all ranks' ``x``, on every rank.

    ``op`` is "sum", "prod", "min", "max" or "mean"; sums and means have a gradient. It
    is the sum of the ranks' gradients; if ``replicated``, ranks compute the same from
    the result, and it is the gradient itself.
    """
    result: Variable = AllReduce(comm, op, replicated)(x)
    return result


def all_gather(
    x: Any, comm: Communicator, axis: int = 0, replicated: bool = False
) -> Variable:
    """Return all ranks' ``x``, joined along ``axis`` in the order of ranks.

    Its gradient is this rank's part of the sum of the ranks' gradients; of its own if
    the result is ``replicated``.
    """
    array = with_axis("all_gather", x)
    axis = normalise_axis("all_gather", axis, array.type.ndim)
    result: Variable = AllGather(comm, axis, replicated)(array)
    return result


def reduce_scatter(
    x: Any, comm: Communicator, op: str = "sum", axis: int = 0
) -> Variable:
    """Return this rank's part, along ``axis``, of the fold of all ranks' ``x``."""
    array = with_axis("reduce_scatter", x)
    axis = normalise_axis("reduce_scatter", axis, array.type.ndim)
    result: Variable = ReduceScatter(comm, op, axis)(array)
    return result


def all_to_all(x: Any, comm: Communicator, axis: int = 0) -> Variable:
    """Return part ``rank`` of each rank's ``x``, split and joined along ``axis``."""
    array = with_axis("all_to_all", x)
    axis = normalise_axis("all_to_all", axis, array.type.ndim)
    result: Variable = AllToAll(comm, axis)(array)
    return result


def broadcast(
    x: Any, comm: Communicator, root: int = 0, replicated: bool = False
) -> Variable:
    """Return the root's ``x`` on every rank; the other ranks' has its shape.

    Its gradient is on the root the sum of the ranks' gradients, or, if the result is
    ``replicated``, the root's own; on other ranks zeros.
    """
    result: Variable = BroadcastFrom(comm, root, replicated)(x)
    return result


def reduce(x: Any, comm: Communicator, root: int = 0) -> Variable:
    """Return the sum of all ranks' ``x`` on the root, zeros on other ranks."""
    result: Variable = ReduceTo(comm, root)(x)
    return result


def with_axis(name: str, x: Any) -> Variable:
    """Return an operand as a variable. Raises TypeError if it has no axis."""
    variable = as_tensor_variable(x)
    if variable.type.ndim == 0:
        raise GraphTypeError(
            f"{name}: given {variable} of {variable.type}, expected an axis to split "
            "or join: x.dimshuffle('x')"
        )
    return variable
