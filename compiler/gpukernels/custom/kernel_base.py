"""GpuKernelBase: ops with kernels of their own, and the launches of these.

An op gives its kernels, `gpu_kernels`, and their launches with geometry and arguments,
`gpu_launches`. The launches are recorded when a plan is bound and replayed in C. An op
without `gpu_launches` launches its kernels itself: in `perform` or a thunk.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any, TypeVar

import numpy as np
from gpuarray._core.context import Context
from gpuarray._core.opening import current_context
from gpuarray._creation.filled import empty, zeros
from gpuarray._kernels.kernel import GpuKernel
from gpuarray._kernels.parameters import misreads
from gpuarray.array import Array
from gpuarray.compiler.errors import (
    GraphTypeError,
    GraphValueError,
    NotOfferedError,
    made_at,
)
from gpuarray.compiler.gpukernels.calls import Needs, needs_of, step_function
from gpuarray.compiler.gpukernels.custom.kernel import (
    POINTERS,
    Kernel,
    pointed,
)
from gpuarray.compiler.gpukernels.python import lower_python, own_types
from gpuarray.compiler.gpukernels.registry import (
    LOWERINGS,
    Lowerer,
    LowerFunction,
    has_reference,
    is_python,
    lowers,
)
from gpuarray.compiler.graph.core import Apply, Constant, Op, Variable, constant
from gpuarray.compiler.graph.types import (
    GpuArrayType,
    TensorType,
    gpu_context_type,
    is_integer_name,
)
from gpuarray.errors import GpuArrayError, HostNotice, Unsupported

__all__ = ["GpuKernelBase", "Kernel", "Launch"]

T = TypeVar("T")


@dataclass(frozen=True)
class Launch:
    """One launch: the kernel's name, its arguments in order, and the geometry.

    An array passes its pointer; where a kernel takes views, ``x.offset`` follows it.
    Numbers are integers or floats of the host. Give ``n``, the number of work items of
    a kernel with a grid-stride loop, or ``blocks`` and ``threads``, integers or tuples
    of up to three. ``shared`` is in bytes. A launch whose ``when`` is 0 or False is
    skipped: an op may give several kernels and select one.

    >>> Launch("eye", (4, 5), blocks=1, threads=256).blocks
    1
    """

    kernel: str
    arguments: Sequence[Any]
    blocks: int | Sequence[int] | None = None
    threads: int | Sequence[int] | None = None
    n: int | None = None
    shared: int = 0
    when: int = 1


class WrittenOp(Op):
    """The base of ops whose kernels or C code the program wrote."""

    @classmethod
    def own_class(cls) -> type:
        """Return the class as written, also for its twin on a device."""
        return next(c for c in cls.__mro__ if not c.__module__.endswith(".placement"))

    def label(self) -> str:
        """Return the op's name in listings."""
        return self.own_class().__name__

    def described(self) -> str:
        """Return the op's name with the file and line of its class, for errors."""
        return f"{self.label()}{source_of(self.own_class())}"

    def host_inputs(self, node: Apply) -> Collection[int]:
        """Return the indices of the inputs that are host integers.

        They are known when a plan is bound, and another value binds it anew.
        """
        return [
            index
            for index, variable in enumerate(node.inputs)
            if isinstance(variable.type, TensorType)
            and variable.type.ndim == 0
            and is_integer_name(variable.type.dtype)
        ]


class GpuKernelBase(WrittenOp):
    """The base of ops with kernels in CLUDA, one text for CUDA and OpenCL.

    A subclass gives

    - ``gpu_kernels(node, name)``: a list of `Kernel`; ``name`` is unique to the node;
    - ``gpu_launches(node, inputs, outputs)``: a list of `Launch`, made from arrays that
      have shapes but, while a plan is recorded, no elements, and from integers; the
      outputs have the shapes that ``infer_shape`` gives, and those whose indices are in
      ``zeroed`` hold zeros;
    - or else ``perform`` or ``make_thunk``, which launch `compiled_kernels` themselves.

    Integer scalars on the host among its inputs are known when the launches are made.
    ``_f16_ok`` says that the kernels support float16 and bfloat16 (`fp16_help`);
    without it ``perform`` or ``reference`` computes these, or the op is refused.
    """

    _f16_ok: bool = False
    params_type: Any = gpu_context_type
    zeroed: Collection[int] = ()

    def get_params(self, node: Apply) -> Any:
        """Return the context that the node runs on."""
        return context_of(node)

    def gpu_kernels(self, node: Apply, name: str) -> list[Kernel]:
        """Return the kernels for the types of a node."""
        raise NotOfferedError(
            f"{self.described()}: no kernels; define gpu_kernels(self, node, name)"
        )

    def gpu_launches(
        self, node: Apply, inputs: Sequence[Any], outputs: Sequence[Array]
    ) -> Iterable[Launch]:
        """Return the launches that write the outputs, in order."""
        raise NotOfferedError(
            f"{self.described()}: no launches; define gpu_launches(self, node, inputs, "
            "outputs)"
        )

    def evaluate(self, node: Apply, arrays: Sequence[Any]) -> list[Any]:
        """Return the outputs by the NumPy reference, or else by `perform`."""
        if not has_reference(self):
            return super().evaluate(node, arrays)
        result = self.reference(*arrays)
        return list(result) if isinstance(result, (tuple, list)) else [result]

    def compiled_kernels(
        self, node: Apply, context: Context | None = None
    ) -> dict[str, GpuKernel]:
        """Return the node's kernels by name, compiled for a context.

        Raises KernelError with the op's class and file if one does not compile.
        """
        place = context or current_context() or context_of(node)
        who = self.described()
        return {
            kernel.name: kernel.compiled(place, who)
            for kernel in kernels_of(self, node)
        }


def context_of(node: Apply) -> Context:
    """Return the context of the first of a node's variables that has one."""
    kinds = [variable.type for variable in (*node.inputs, *node.outputs)]
    place: Context = next(
        (kind for kind in kinds if isinstance(kind, GpuArrayType)),
        GpuArrayType("int8", ()),
    ).context
    return place


def source_of(code: Any) -> str:
    """Return file and line of a function, or a class's first method, in brackets."""
    members = [code] if isinstance(code, FunctionType) else vars(code).values()
    codes = [member.__code__ for member in members if isinstance(member, FunctionType)]
    first = min(codes, key=lambda code: code.co_firstlineno, default=None)
    return "" if first is None else f" ({first.co_filename}:{first.co_firstlineno})"


# ---- lowering ----


def kernels_of(op: GpuKernelBase, node: Apply) -> list[Kernel]:
    """Return the node's ``gpu_kernels``. Raises TypeError unless it is a list."""
    return listed(op, "gpu_kernels", op.gpu_kernels(node, op.label()), Kernel)


def listed(op: GpuKernelBase, method: str, result: Any, kind: type[T]) -> list[T]:
    """Return a method's result as a list. Raises TypeError for wrong items."""
    is_list = isinstance(result, Iterable)
    items = list(result) if is_list else [result]
    wrong = [item for item in items if not (is_list and isinstance(item, kind))]
    if wrong:
        within = "a list with " if is_list else ""
        raise GraphTypeError(
            f"{op.described()}: {method} gives {within}{type(wrong[0]).__name__}, "
            f"expected a list of {kind.__name__}"
        )
    return items


def declares_launches(op: GpuKernelBase) -> bool:
    """True if the op gives the launches of its kernels."""
    return type(op).gpu_launches is not GpuKernelBase.gpu_launches


def narrow_dtype(node: Apply) -> str | None:
    """Return float16 or bfloat16 if the node has arrays of it, else None."""
    names = (v.type.dtype for v in (*node.inputs, *node.outputs))
    return next((name for name in names if name in ("float16", "bfloat16")), None)


@lowers(GpuKernelBase)
def lower_kernels(op: GpuKernelBase, node: Apply, k: Lowerer) -> None:
    """Lower to a step of launches, or else to C code or Python."""
    narrow = None if op._f16_ok else narrow_dtype(node)
    if narrow is not None:
        refuse_narrow(op, node, narrow)
        lower_python(op, node, k)
    elif declares_launches(op):
        options = {"op": op, "types": own_types(node)}
        k.call(node, "kernels", node.inputs, options, label=op.label())
    else:
        lowering_behind(op, node)(op, node, k)


def refuse_narrow(op: GpuKernelBase, node: Apply, dtype: str) -> None:
    """Warn that kernels lack half precision; raise if nothing else computes it."""
    text = (
        f"Disabling C code for {op.described()} due to unsupported {dtype}: its "
        f"kernels are not marked as ready for it"
    )
    mend = "read with load_w, write with write_w (fp16_help), and set _f16_ok = True"
    if not (is_python(op) or has_reference(op)):
        raise NotOfferedError(
            made_at(f"{text}, and it has no perform; {mend}", node.trace)
        )
    warnings.warn(f"{text}, so it runs in Python; {mend}", HostNotice, stacklevel=2)


def lowering_behind(op: GpuKernelBase, node: Apply) -> LowerFunction:
    """Return the lowering of the classes behind GpuKernelBase: C code, or Python."""
    classes = type(op).__mro__
    for cls in classes[classes.index(GpuKernelBase) + 1 :]:
        if cls in LOWERINGS and cls is not Op:
            return LOWERINGS[cls]
    if is_python(op) or has_reference(op):
        return lower_python
    raise NotOfferedError(
        made_at(
            f"{op.described()}: nothing launches its kernels; define "
            "gpu_launches(self, node, inputs, outputs), or perform or make_thunk",
            node.trace,
        )
    )


# ---- running ----


@step_function("kernels")
def run_kernels(
    *values: Any, op: GpuKernelBase, types: tuple[Any, ...]
) -> tuple[Array, ...]:
    """Return the outputs that the op's launches write."""
    context = current_context()
    assert context is not None
    inputs = [
        kind() if isinstance(value, Array) else constant(value, kind.dtype)
        for kind, value in zip(types, values, strict=False)
    ]
    node = Apply(op, inputs, [kind() for kind in types[len(values) :]])
    outputs = new_outputs(op, node, values, context)
    kernels: dict[str, tuple[Kernel, GpuKernel]] = {}
    who = op.described()
    for kernel in kernels_of(op, node):
        kernels[kernel.name] = kernel, kernel.compiled(context, who)
    for launch in launches_of(op, node, values, outputs):
        if launch.when:
            queue(launch, kernels, who)
    return tuple(outputs)


def launches_of(
    op: GpuKernelBase, node: Apply, values: Sequence[Any], outputs: Sequence[Array]
) -> list[Launch]:
    """Return ``gpu_launches``; errors say that arrays have no elements there."""
    try:
        launches = op.gpu_launches(node, list(values), outputs)
        return listed(op, "gpu_launches", launches, Launch)
    except Unsupported as error:
        raise Unsupported(
            f"{op.described()}: gpu_launches: {error}; arrays have shapes but no "
            "elements there: take what it needs as an integer scalar, or use perform"
        ) from None


@needs_of("kernels")
def compile_kernels(
    needs: Needs, *values: Any, op: GpuKernelBase, types: tuple[Any, ...]
) -> None:
    """Compile the kernels, and raise their errors, when the function is made."""
    variables = [kind() for kind in types]
    count = len(values)
    node = Apply(op, variables[:count], variables[count:])
    op.compiled_kernels(node, needs.context)


def queue(
    launch: Launch, kernels: Mapping[str, tuple[Kernel, GpuKernel]], who: str
) -> None:
    """Queue one launch; errors name the op."""
    if launch.kernel not in kernels:
        names = ", ".join(map(repr, kernels)) or "none"
        raise GraphValueError(
            f"{who}: gpu_launches names the kernel {launch.kernel!r}; gpu_kernels "
            f"gives {names}"
        )
    kernel, compiled = kernels[launch.kernel]
    arguments = tuple(launch.arguments)
    check_arguments(kernel, arguments, who)
    try:
        compiled(
            *arguments,
            n=launch.n,
            blocks=launch.blocks,
            threads=launch.threads,
            shared=launch.shared,
        )
    except GpuArrayError as error:
        raise type(error)(f"{who}: {error}") from None


def check_arguments(kernel: Kernel, arguments: tuple[Any, ...], who: str) -> None:
    """Raise TypeError where arguments do not match the kernel's params."""
    if len(arguments) != len(kernel.params):
        raise GraphTypeError(
            f"{who}: the launch of {kernel.name!r} has {len(arguments)} arguments, "
            f"params has {len(kernel.params)}: {', '.join(kernel.params)}"
        )
    types = pointed(kernel)
    for place, (kind, value) in enumerate(zip(kernel.params, arguments, strict=True)):
        is_array = isinstance(value, Array)
        if is_array and misreads(types[place], value.dtype):
            raise GraphTypeError(
                f"{who}: argument {place} of the launch of {kernel.name!r} is an array "
                f"of {value.dtype}, its text declares a pointer to {types[place]}; "
                "dtype_to_ctype(dtype) gives the type for the text"
            )
        if is_array != (kind in POINTERS):
            actual = f"an array of {value.dtype}" if is_array else repr(value)
            expected = "an array" if kind in POINTERS else f"a number ({kind})"
            raise GraphTypeError(
                f"{who}: argument {place} of the launch of {kernel.name!r} is "
                f"{actual}, expected {expected}"
            )


def new_outputs(
    op: GpuKernelBase, node: Apply, values: Sequence[Any], context: Context
) -> list[Array]:
    """Allocate the outputs; copy the inputs that the op overwrites."""
    shapes = shapes_of(op, node, values)
    outputs = []
    for index, (shape, output) in enumerate(zip(shapes, node.outputs, strict=True)):
        over = op.destroy_map.get(index)
        if over:
            outputs.append(values[over[0]].copy())
        else:
            make = zeros if index in op.zeroed else empty
            outputs.append(make(shape, output.type.dtype, context))
    return outputs


def shapes_of(
    op: GpuKernelBase, node: Apply, values: Sequence[Any]
) -> list[tuple[int, ...]]:
    """Return the outputs' shapes for these inputs, by ``infer_shape``."""
    input_shapes = [
        tuple(constant(n, "int64") for n in getattr(value, "shape", ()))
        for value in values
    ]
    inferred = op.output_shapes(node, input_shapes)
    if len(inferred) != len(node.outputs) or not all(
        isinstance(lengths, (tuple, list)) for lengths in inferred
    ):
        raise GraphTypeError(
            f"{op.described()}: infer_shape gives {inferred}, expected a list with a "
            f"tuple of lengths for each of {len(node.outputs)} outputs"
        )
    shapes = [tuple(_length(length, op) for length in lengths) for lengths in inferred]
    for shape, output in zip(shapes, node.outputs, strict=True):
        flags = output.type.broadcastable
        wrong = len(shape) != len(flags) or any(
            flag and length != 1 for flag, length in zip(flags, shape, strict=True)
        )
        if wrong or any(length < 0 for length in shape):
            raise GraphValueError(
                f"{op.described()}: infer_shape gives {shape} for output "
                f"{output.index}, {output.type}"
            )
    return shapes


def _length(length: Any, op: GpuKernelBase) -> int:
    """Return a length of ``infer_shape`` as a number, computed from its constants."""
    if isinstance(length, Constant):
        return int(length.data)
    if not isinstance(length, Variable):
        if length is None:
            raise NotOfferedError(
                f"{op.described()}: infer_shape does not know the outputs' lengths; "
                "define infer_shape(self, node, input_shapes)"
            )
        return int(length)
    owner = length.owner
    if owner is None:
        raise GraphValueError(
            f"{op.described()}: infer_shape needs the value of {length}, which is on "
            "the device; add its index to host_inputs(self, node)"
        )
    arrays = [
        np.asarray(_length(operand, op), operand.type.dtype) for operand in owner.inputs
    ]
    return int(owner.op.evaluate(owner, arrays)[length.index or 0])
