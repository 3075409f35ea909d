"""Moving arrays between the host and contexts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpuarray.compiler.errors import GraphTypeError
from gpuarray.compiler.graph.core import Op, Variable, as_variable
from gpuarray.compiler.graph.types import ArrayType, GpuArrayType, TensorType


class Transfer(Op):
    """The same values in another memory, or in the same one where they are there."""

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


class GpuFromHost(Transfer):
    """An array of the host, copied to a context; None is the default one."""

    __props__ = ("context_name",)

    def __init__(self, context_name: str | None = None) -> None:
        self.context_name = context_name

    def infer(self, x: Any) -> GpuArrayType:
        """The type of ``x`` on the context."""
        if not isinstance(x, TensorType):
            raise GraphTypeError(f"{self}: given {x}, expected an array of the host")
        return GpuArrayType(x.dtype, x.broadcastable, self.context_name)

    def __str__(self) -> str:
        return f"GpuFromHost<{self.context_name}>"


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


class GpuToGpu(Transfer):
    """An array of a context, copied to another context."""

    __props__ = ("context_name",)

    def __init__(self, context_name: str | None = None) -> None:
        self.context_name = context_name

    def infer(self, x: Any) -> GpuArrayType:
        """The type of ``x`` on the context."""
        if not isinstance(x, GpuArrayType):
            raise GraphTypeError(f"{self}: given {x}, expected an array of a context")
        return GpuArrayType(x.dtype, x.broadcastable, self.context_name)

    def __str__(self) -> str:
        return f"GpuToGpu<{self.context_name}>"


def host_from_gpu(x: Variable) -> Variable:
    """``x`` on the host; ``x`` itself where it is there."""
    if isinstance(x.type, TensorType):
        return x
    moved: Variable = HostFromGpu()(x)
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
    """``x`` on ``target``: ``"cpu"`` the host, None the default context, or a name."""
    variable = as_variable(x, "transfer")
    if target == "cpu":
        return host_from_gpu(variable)
    return gpu_from_host(variable, target)


def like(x: Variable, type: ArrayType) -> Variable:
    """``x`` in the memory that ``type`` names."""
    if isinstance(type, GpuArrayType):
        return gpu_from_host(x, type.context_name)
    return host_from_gpu(x)
