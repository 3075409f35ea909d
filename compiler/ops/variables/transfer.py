"""Transfers between the host and contexts, and inference of an op's context."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from gpuarray.compiler.contexts import check_name
from gpuarray.compiler.errors import GraphTypeError
from gpuarray.compiler.graph.core import Apply, Op, Variable, as_variable
from gpuarray.compiler.graph.types import ArrayType, GpuArrayType, TensorType


class Transfer(Op):
    """The same values in another memory, or in the same one if they are there."""

    view_map: Mapping[int, Sequence[int]] = {0: [0]}

    def reference(self, x: Any) -> Any:
        """``x``: NumPy has one memory."""
        return x

    def grad(self, m: Any, g: Variable, y: Variable, x: Variable) -> Variable:
        """``g``, moved to where ``x`` is."""
        return like(g, x.type)

    def infer_shape(self, node: Any, input_shapes: Any) -> list[Any]:
        """The shape of the input."""
        return [input_shapes[0]]


class GpuContiguous(Op):
    """The same values in C order: the array itself if it has it, else a copy."""

    __props__ = ()

    view_map: Mapping[int, Sequence[int]] = {0: [0]}

    def make_node(self, x: Any) -> Apply:
        """A node over an array, which stays where it is."""
        variable = as_variable(x, "gpu_contiguous")
        return Apply(self, [variable], [variable.type()])

    def reference(self, x: Any) -> Any:
        """``x`` in C order."""
        return np.require(x, requirements="C")

    def grad(self, m: Any, g: Variable, y: Variable, x: Variable) -> Variable:
        """``g``."""
        return g

    def infer_shape(self, node: Any, input_shapes: Any) -> list[Any]:
        """The shape of the input."""
        return [input_shapes[0]]


gpu_contiguous = GpuContiguous()
"""An array itself if it is in C order, else a copy that is."""


class ToContext(Transfer):
    """The base of copies to a context; None is the default one."""

    __props__ = ("context_name",)

    source: ClassVar[tuple[type[ArrayType], str]]
    """The type of what is copied, and the memory's name in messages."""

    def __init__(self, context_name: str | None = None) -> None:
        self.context_name = context_name

    def infer(self, x: Any) -> GpuArrayType:
        """The type of ``x`` on the context."""
        kind, memory = self.source
        if not isinstance(x, kind):
            raise GraphTypeError(f"{self}: given {x}, expected an array of {memory}")
        return GpuArrayType(x.dtype, x.broadcastable, self.context_name)

    def __str__(self) -> str:
        return f"{type(self).__name__}<{self.context_name}>"


class GpuFromHost(ToContext):
    """An array of the host, copied to a context."""

    source = TensorType, "the host"


class HostFromGpu(Transfer):
    """An array of a context, copied to the host."""

    __props__ = ()

    def infer(self, x: Any) -> TensorType:
        """The type of ``x`` on the host."""
        if not isinstance(x, GpuArrayType):
            raise GraphTypeError(f"{self}: given {x}, expected an array of a context")
        return x.host

    def __str__(self) -> str:
        return "HostFromGpu(gpuarray)"


class GpuToGpu(ToContext):
    """An array of a context, copied to another context."""

    source = GpuArrayType, "a context"


def host_from_gpu(x: Any) -> Variable:
    """``x`` on the host; ``x`` itself where it is there."""
    variable = as_variable(x, "host_from_gpu")
    if isinstance(variable.type, TensorType):
        return variable
    moved: Variable = HostFromGpu()(variable)
    return moved


def gpu_from_host(x: Any, context_name: str | None = None) -> Variable:
    """``x`` on the context; ``x`` itself where it is there."""
    variable = as_variable(x, "gpu_from_host")
    if not isinstance(variable.type, GpuArrayType):
        moved: Variable = GpuFromHost(context_name)(variable)
    elif variable.type.context_name != context_name:
        moved = GpuToGpu(context_name)(variable)
    else:
        return variable
    return moved


def transfer(x: Any, target: str | None) -> Variable:
    """Return ``x`` on ``target``: ``"cpu"``, None (the default context), or a name."""
    variable = as_variable(x, "transfer")
    if target == "cpu":
        return host_from_gpu(variable)
    check_name(target, "transfer")
    return gpu_from_host(variable, target)


def like(x: Variable, type: ArrayType) -> Variable:
    """Return ``x`` in the memory of ``type``."""
    if isinstance(type, GpuArrayType):
        return gpu_from_host(x, type.context_name)
    return host_from_gpu(x)


def as_gpuarray_variable(x: Any, context_name: str | None) -> Variable:
    """Return ``x``, a variable or a value, as a variable of a context.

    It is ``x`` itself if it is there. A transferred variable is replaced by its source,
    if that is there. Raises ValueError for a name of no context.

    >>> from gpuarray.compiler import tensor as T
    >>> as_gpuarray_variable(T.fvector("x"), "null").type
    GpuArrayType<null>(float32, vector)
    """
    check_name(context_name, "as_gpuarray_variable")
    variable = as_variable(x, "as_gpuarray_variable")
    source = variable
    while source.owner is not None and isinstance(source.owner.op, Transfer):
        (source,) = source.owner.inputs
        kind = source.type
        if isinstance(kind, GpuArrayType) and kind.context_name == context_name:
            return source
    return gpu_from_host(variable, context_name)


def infer_context_name(*variables: Any) -> str | None:
    """Return the name of the context that an op over these variables is to run on.

    It is that of the first one that is on a context, is meant for one (``tag.target``,
    ``tag.context_name``, a shared variable's ``target``), or is computed, by unary
    operations, from one that is; else None, the default context.

    >>> from gpuarray.compiler import tensor as T
    >>> x, y = T.fvector("x"), T.fvector("y").transfer("null")
    >>> infer_context_name(x, T.exp(y)), infer_context_name(x)
    ('null', None)
    """
    queue = deque(value for value in variables if isinstance(value, Variable))
    while queue:
        variable = queue.popleft()
        is_known, name = meant_for(variable)
        if is_known:
            return name
        owner = variable.owner
        if owner is not None and len(owner.inputs) == 1:
            queue.append(owner.inputs[0])
    return None


def meant_for(variable: Variable) -> tuple[bool, str | None]:
    """Return whether a variable itself has a context, and its name."""
    if isinstance(variable.type, GpuArrayType):
        return True, variable.type.context_name
    container = getattr(variable, "container", None)
    for name in (
        getattr(variable.tag, "target", None),
        getattr(variable.tag, "context_name", None),
        getattr(container, "context_name", None),
    ):
        if name is not None and name != "cpu":
            check_name(name, str(variable))
            return True, name
    return False, None
