"""An op's launches as steps: its Python is run on symbols for the numbers.

A file has the kernels' texts, and the geometry and arguments as integers that the plan
computes. Where the Python needs the value of a number, the step stays in Python.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from gpuarray._native import lib
from gpuarray.compiler import plan as p
from gpuarray.compiler.gpukernels.bodies import Steps, body_of, reason_of
from gpuarray.compiler.gpukernels.custom.kernel import POINTERS, Kernel
from gpuarray.compiler.gpukernels.custom.kernel_base import (
    GpuKernelBase,
    Launch,
    check_arguments,
    kernels_of,
    listed,
)
from gpuarray.compiler.gpukernels.custom.symbolic import (
    ArrayPart,
    HostArray,
    HostInteger,
    Unrecordable,
    integer_of,
    is_host_array,
    number_of,
)
from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.graph.types import TensorType
from gpuarray.dtypes import as_dtype, dtype_to_typecode

OF_ARRAY, OF_INTEGER, OF_OFFSET, OF_STRIDE, OF_BITS = range(5)
"""Sources of an argument: enum ga_argument_source, ``c/routines/kernel_routine.h``."""
MOST_BITS = 8
"""Largest literal argument of a launch in a file, in bytes."""


@body_of("kernels")
def kernels_steps(
    s: Steps, *values: int, op: GpuKernelBase, types: tuple[Any, ...]
) -> Sequence[int] | None:
    """Add the launches; None where Python needs the value of a number."""
    try:
        return recorded(s, values, op, types)
    except Exception:  # the op's code expects numbers
        return None


@reason_of("kernels")
def why_in_python(step: p.Call, values: Sequence[p.Value]) -> str:
    """Return the reason and the line where a launch needs the value of a number."""
    s = Steps([values[n] for n in step.ins], [values[n] for n in step.outs])
    try:
        recorded(s, range(len(step.ins)), **dict(step.options))
    except Exception as error:  # as above
        reason = str(error) or type(error).__name__
        frames = traceback.extract_tb(error.__traceback__)
        place = next((f for f in reversed(frames) if not is_ours(f.filename)), None)
        return f"{reason} at {place.filename}:{place.lineno}" if place else reason
    return ""


def is_ours(path: str) -> bool:
    """True if a file is of this package, or of Python's own library."""
    folders = Path(__file__).parent.parent, Path(traceback.__file__).parent
    return any(Path(path).is_relative_to(folder) for folder in folders)


def recorded(
    s: Steps, values: Sequence[int], op: GpuKernelBase, types: Sequence[Any]
) -> Sequence[int]:
    """Add the steps of ``gpu_launches``, called with symbols; return the outputs."""
    variables = [kind() for kind in types]
    node = Apply(op, variables[: len(values)], variables[len(values) :])
    inputs = [
        HostArray(s, number) if s.is_array(number) else HostInteger(s, number)
        for number in values
    ]
    numbers = new_outputs(s, op, node, inputs)
    outputs = [HostArray(s, number) for number in numbers]
    kernels = {kernel.name: kernel for kernel in kernels_of(op, node)}
    # The outputs come first: the step takes the first one over.
    arrays = [*numbers, *(number for number in values if s.is_array(number))]
    launches = op.gpu_launches(node, inputs, outputs)  # type: ignore[arg-type]
    for launch in listed(op, "gpu_launches", launches, Launch):
        add_launch(s, launch, kernels[launch.kernel], arrays, op)
    return numbers


def new_outputs(
    s: Steps, op: GpuKernelBase, node: Apply, inputs: Sequence[Any]
) -> list[int]:
    """Allocate the outputs; copy the inputs that the op overwrites."""
    shapes = shapes_of(s, op, node, inputs)
    numbers = []
    for index, (shape, output) in enumerate(zip(shapes, node.outputs, strict=True)):
        over = op.destroy_map.get(index)
        if over:
            numbers.append(s.copy(inputs[over[0]].number))
            continue
        name = "zeros" if index in op.zeroed else "empty"
        value = p.ArrayValue(output.type.dtype, output.type.broadcastable)
        lengths = [number_of(s, length) for length in shape]
        numbers.append(s.routines(name, lengths, [value]))
    return numbers


def shapes_of(
    s: Steps, op: GpuKernelBase, node: Apply, inputs: Sequence[Any]
) -> list[list[Any]]:
    """Return the outputs' lengths, by ``infer_shape``."""
    known: dict[Variable, Any] = dict(zip(node.inputs, inputs, strict=True))
    input_shapes = []
    for value in inputs:
        lengths = value.shape if is_host_array(value) else ()
        variables = [TensorType("int64", ())() for _ in lengths]
        known.update(zip(variables, lengths, strict=True))
        input_shapes.append(tuple(variables))
    inferred = op.output_shapes(node, input_shapes)
    shapes = [[integer_of(s, size, known) for size in lengths] for lengths in inferred]
    for shape, output in zip(shapes, node.outputs, strict=True):
        for length, flag in zip(shape, output.type.broadcastable, strict=True):
            if flag and not isinstance(length, int):
                raise Unrecordable("infer_shape gives a length for an axis of 1")
    return shapes


# ---- one launch ----


def add_launch(
    s: Steps, launch: Launch, kernel: Kernel, arrays: Sequence[int], op: GpuKernelBase
) -> None:
    """Add a step that launches a kernel, under the launch's condition."""
    if not isinstance(launch.when, HostInteger) and not launch.when:
        return
    check_arguments(kernel, tuple(launch.arguments), op.described())
    geometry, ndim = geometry_of(launch)
    integers = [number_of(s, part) for part in geometry]
    params = [ndim]
    first = len(integers)
    for kind, code, value in zip(
        kernel.params, codes_of(kernel), launch.arguments, strict=True
    ):
        source = source_of_argument(kind, value, arrays, integers, first)
        params += [code, *source]
    ins, results = [*arrays, *integers], [s.array(arrays[0])]
    texts = kernel.code, kernel.name
    when: Any = launch.when
    is_chosen = isinstance(when, HostInteger)
    with s.under(when.number, True) if is_chosen else nullcontext():
        s.routines("kernel", ins, results, *params, texts=texts)


def geometry_of(launch: Launch) -> tuple[list[Any], int]:
    """Return a launch's numbers in the order of the step, and its grid's dimensions.

    0 dimensions mean a number of work items, where 0 blocks are as many as fit.
    """
    blocks, threads = axes_of(launch.blocks), axes_of(launch.threads)
    if launch.n is not None:
        if len(blocks) > 1 or len(threads) > 1:
            raise Unrecordable("its launch has several axes beside n")
        return [launch.n, *(blocks or [0]), *(threads or [0]), launch.shared], 0
    if len(blocks) != len(threads) or not 1 <= len(blocks) <= 3:
        raise Unrecordable("its blocks and threads have no common 1 to 3 axes")
    return [*blocks, *threads, launch.shared], len(blocks)


def axes_of(lengths: Any) -> list[Any]:
    """Return one to three lengths as a list; an empty one for None."""
    if lengths is None:
        return []
    return list(lengths) if isinstance(lengths, (tuple, list)) else [lengths]


def codes_of(kernel: Kernel) -> list[int]:
    """Return the typecodes of a kernel's parameters."""
    pairs = zip(kernel.params, kernel.types, strict=True)
    return [
        int(lib.GA_BUFFER) if kind == "*" else dtype_to_typecode(dtype)
        for kind, dtype in pairs
    ]


def source_of_argument(
    kind: str,
    value: Any,
    arrays: Sequence[int],
    integers: list[int],
    first: int,
) -> tuple[int, int]:
    """Return an argument's source and number; integers join the list."""
    if kind in POINTERS:
        if not is_host_array(value):
            raise Unrecordable("it passes an array that is none of the op's")
        return OF_ARRAY, arrays.index(value.number)
    if isinstance(value, ArrayPart):
        place = arrays.index(value.array)
        if value.axis is None:
            return OF_OFFSET, place
        return OF_STRIDE, place * int(lib.GA_MAX_NDIM) + value.axis
    if isinstance(value, HostInteger):
        integers.append(value.number)
        return OF_INTEGER, len(integers) - 1 - first
    return OF_BITS, bits_of(kind, value)


SIZES: Mapping[str, str] = {"offset": "uint64", "size": "uint64", "ssize": "int64"}


def bits_of(kind: str, value: Any) -> int:
    """Return a number as the bytes of an argument, in an integer."""
    dtype = as_dtype(SIZES.get(kind, kind))
    is_float = isinstance(value, (float, np.floating))
    if dtype.kind in "iub" and is_float and not value.is_integer():
        raise Unrecordable(f"it passes {value} as a whole number")
    data = np.asarray(value, dtype).tobytes()
    if len(data) > MOST_BITS:
        raise Unrecordable(f"it passes a number of {kind}")
    bits = int.from_bytes(data, "little")
    return bits - (bits >> 63 << 64)
