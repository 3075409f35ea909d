"""Step functions: steps of a plan that are Python functions on arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from gpuarray._core.context import Context
from gpuarray._core.opening import current_context
from gpuarray._creation.conversion import asarray
from gpuarray._native import check, lib
from gpuarray.array import Array
from gpuarray.compiler.errors import (
    CompilerError,
    GraphTypeError,
    GraphValueError,
)
from gpuarray.compiler.graph.core import Apply, Op, Variable

StepFunction = Callable[..., Any]

STEP_FUNCTIONS: dict[str, StepFunction] = {}

_BITS = 32  # width of the mask of inputs that have one element


def step_function(name: str) -> Callable[[StepFunction], StepFunction]:
    """Register the decorated function under the name that plans call it by.

    It takes arrays and integers, and the step's options by name; it returns an array or
    a tuple of them. The plan's context is the current one while it runs. A recorded
    function is called with arrays of no elements.
    """
    return _registered_in(STEP_FUNCTIONS, name, "step_function")


def _registered_in(
    functions: dict[str, Callable[..., Any]], name: str, caller: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds a function to a table. Refuses a name once more."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        if name in functions:
            raise GraphValueError(f"{caller}: {name!r} is registered already")
        functions[name] = function
        return function

    return register


class Needs:
    """The kernels that a step will launch, which its plan compiles in advance.

    It has state because the plan, ``native``, has the list.
    """

    def __init__(self, native: Any, context: Context) -> None:
        self.native = native
        self.context = context

    def kernel(self, source: str, name: str) -> None:
        """Declare a kernel that will be made as ``GpuKernel(source, name, ...)``."""
        check(lib.GpuPlan_needs_kernel(self.native, source.encode(), name.encode()))

    def elemwise(self, kernel: Any, ndim: int, singles: Iterable[int] = ()) -> None:
        """Declare a ``GpuElemwise *`` for arrays of ``ndim`` axes.

        ``singles`` are the inputs that always have one element.
        """
        bits = sum(1 << index for index in singles if index < _BITS)
        check(lib.GpuPlan_needs_elemwise(self.native, kernel, ndim, bits))

    def reduction(self, kernel: Any, ndim: int, axes: Iterable[int]) -> None:
        """Declare a ``GpuReduction *`` for arrays of ``ndim`` axes, over ``axes``."""
        bits = sum(1 << axis for axis in axes)
        check(lib.GpuPlan_needs_reduction(self.native, kernel, ndim, bits))


NeedsFunction = Callable[..., None]

NEEDS_OF: dict[str, NeedsFunction] = {}


def needs_of(name: str) -> Callable[[NeedsFunction], NeedsFunction]:
    """Register the function that declares the kernels of the step function ``name``.

    It takes a `Needs`; then for each argument of the step function the plan's value,
    which has dtype and rank, or a tuple of integers' values; and the options by name. A
    kernel that it does not declare is compiled at the first launch.
    """
    return _registered_in(NEEDS_OF, name, "needs_of")


FAILURES: dict[str, Callable[..., Exception | None]] = {}
"""Functions that return the error of a step with code of its own, by step function.

They get the context and the step's options by name; None where nothing is known.
"""


@step_function("reference")
def reference(*arrays: Any, op: Op, types: tuple[Any, ...]) -> tuple[Array, ...]:
    """Compute the op with NumPy on the host: arrays are read and copied back.

    ``types`` are the host types of the inputs and then of the outputs.
    """
    inputs = [kind() for kind in types[: len(arrays)]]
    node = Apply(op, inputs, [kind() for kind in types[len(arrays) :]])
    values = [
        kind.filter(np.asarray(array))
        for kind, array in zip(types, arrays, strict=False)
    ]
    results = op.evaluate(node, values)
    if len(results) != len(node.outputs):
        raise GraphValueError(
            f"{op}: computed {len(results)} results, its node announces "
            f"{len(node.outputs)}"
        )
    context = current_context()
    return tuple(
        asarray(result_of(op, variable, result), context=context)
        for variable, result in zip(node.outputs, results, strict=True)
    )


def result_of(op: Op, variable: Variable, result: Any) -> np.ndarray[Any, Any]:
    """Return an op's result converted to the output's type.

    Raises TypeError for a result of another type.
    """
    if result is None:
        raise GraphTypeError(
            f"{op}: output {variable.index} was not computed; put it in "
            f"output_storage[{variable.index}][0]"
        )
    try:
        return np.asarray(variable.type.filter(result))
    except CompilerError as error:
        message = f"{op}: output {variable.index}, as computed: {error}"
        raise type(error)(message) from None
