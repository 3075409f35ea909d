"""Ops with C code: their interface, and their lowering to steps."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from gpuarray._core.context import Context
from gpuarray._core.opening import current_context
from gpuarray._creation.conversion import asarray
from gpuarray._creation.filled import empty
from gpuarray.array import Array
from gpuarray.compiler.contexts import get_context
from gpuarray.compiler.cops.module import build, module_of
from gpuarray.compiler.cops.source import TypedOp
from gpuarray.compiler.errors import (
    CCodeError,
    CFileError,
    NoCompilerError,
    NotOfferedError,
    made_at,
)
from gpuarray.compiler.gpukernels.calls import (
    FAILURES,
    Needs,
    needs_of,
    step_function,
)
from gpuarray.compiler.gpukernels.custom.kernel_base import (
    GpuKernelBase,
    WrittenOp,
    narrow_dtype,
    shapes_of,
)
from gpuarray.compiler.gpukernels.python import (
    has_own_types,
    lower_python,
    own_types,
)
from gpuarray.compiler.gpukernels.registry import (
    Lowerer,
    has_reference,
    is_python,
    lowers,
)
from gpuarray.compiler.graph.core import Apply, Constant, Op, Variable, constant
from gpuarray.compiler.graph.types import TensorType
from gpuarray.errors import HostNotice


class COp(WrittenOp):
    """The base of ops with C code, which the system's C compiler compiles.

    A subclass defines ``c_code``, and others of the methods below as needed. Arrays of
    the host are ``PyArrayObject *`` in C, arrays of a context ``PyGpuArrayObject *``,
    under the names that the methods get; outputs are NULL before the code runs. The
    code can use NumPy's and pygpu's C interfaces (compiler/cops/include), which work
    without Python.

    ``params_type`` and ``get_params(node)`` pass values to the code, as
    ``sub["params"]``. ``_f16_ok`` allows float16 and bfloat16. Numbers of
    ``host_inputs`` that differ from run to run are read at each run if it is (). Where
    the code cannot be used (no compiler, float16, ``c_code`` that raises
    NotImplementedError) ``perform`` or ``reference`` computes if there is one.

    >>> class Doubled(COp):
    ...     __props__ = ()
    ...     def make_node(self, x):
    ...         x = T.as_tensor_variable(x)
    ...         return compiler.Apply(self, [x], [x.type()])
    ...     def c_code(self, node, name, inputs, outputs, sub):
    ...         (x,), (y,), fail = inputs, outputs, sub["fail"]
    ...         return f'''
    ...             {y} = (PyArrayObject *)PyArray_NewCopy({x}, NPY_CORDER);
    ...             if ({y} == NULL) {fail}
    ...             for (npy_intp i = 0; i < PyArray_SIZE({y}); i++)
    ...                 ((dtype_{y} *)PyArray_DATA({y}))[i] *= 2;'''
    >>> x = T.fvector("x")
    >>> compiler.function([x], Doubled()(x))([1, 2])
    array([2., 4.], dtype=float32)
    """

    _f16_ok: bool = False
    fails_late = True
    params_type: Any = None

    def get_params(self, node: Apply) -> Any:
        """Return the values of ``params_type``: by default attributes of the op."""
        return self.params_type.get_params(self)

    def c_code(
        self, node: Apply, name: str, inputs: list[str], outputs: list[str], sub: Any
    ) -> str:
        """Return C statements that compute the outputs; ``sub["fail"]`` ends them."""
        raise NotOfferedError(f"{self.described()}: no C code; define c_code")

    def c_code_cleanup(
        self, node: Apply, name: str, inputs: list[str], outputs: list[str], sub: Any
    ) -> str:
        """Return C statements after those, whether they failed or not."""
        return ""

    def c_support_code(self) -> str:
        """Return C text of functions and types."""
        return ""

    def c_support_code_apply(self, node: Apply, name: str) -> str:
        """Return the same for a node."""
        return ""

    def c_support_code_struct(self, node: Apply, name: str) -> str:
        """Return variables of the loaded code's lifetime, and their functions."""
        return ""

    def c_init_code(self) -> Sequence[str]:
        """Return C statements that run when the code is loaded."""
        return []

    def c_init_code_apply(self, node: Apply, name: str) -> str:
        """Return the same for a node."""
        return ""

    def c_init_code_struct(self, node: Apply, name: str, sub: Any) -> str:
        """Return C statements that initialize c_support_code_struct's variables."""
        return ""

    def c_cleanup_code_struct(self, node: Apply, name: str) -> str:
        """Return C statements that release them."""
        return ""

    def c_headers(self) -> Sequence[str]:
        """Return headers to include, as ``<math.h>`` or ``mine.h``."""
        return []

    def c_header_dirs(self) -> Sequence[str]:
        """Return folders with headers."""
        return []

    def c_libraries(self) -> Sequence[str]:
        """Return libraries to link, as ``m``."""
        return []

    def c_lib_dirs(self) -> Sequence[str]:
        """Return folders with libraries."""
        return []

    def c_compile_args(self) -> Sequence[str]:
        """Return further options for the compiler."""
        return []

    def c_no_compile_args(self) -> Sequence[str]:
        """Return options that the compiler is not to get."""
        return []

    def c_code_cache_version(self) -> tuple[Any, ...]:
        """Return a part of the cache key, besides all of the text.

        Change it with what the text does not show, such as a header of one's own.
        """
        return ()

    def c_code_cache_version_apply(self, node: Apply) -> tuple[Any, ...]:
        """Return the same for a node."""
        return self.c_code_cache_version()

    def types_of(self, node: Apply) -> tuple[Any, ...]:
        """The types that the op made a node with, inputs first, placed or not."""
        if type(self) is not self.own_class() or has_own_types(node):
            return own_types(node)
        return tuple(variable.type for variable in (*node.inputs, *node.outputs))

    def evaluate(self, node: Apply, arrays: Sequence[Any]) -> list[Any]:
        """Return the outputs on the host: by Python if the op has that, else by C."""
        if computes_in_python(self):
            return super().evaluate(node, arrays)
        context = get_context(None)
        kinds = self.types_of(node)
        module = module_of(TypedOp(self, kinds, len(node.inputs)), context)
        inputs = [
            asarray(kind.filter(np.asarray(array)), context=context)
            for kind, array in zip(kinds, arrays, strict=False)
        ]
        return [result.get() for result in module(inputs)]


class _NoPythonOp(Op):
    """Marks an op that only its C code computes."""


class GpuKernelBaseCOp(GpuKernelBase, COp):
    """The base of ops whose C code launches the op's kernels.

    For each `Kernel` of ``gpu_kernels(node, name)`` the C code has its ``objvar``, a
    GpuKernel, and two functions to launch it: ``<name>_call(nd, blocks, threads,
    shared, ...)`` and ``<name>_scall(1, &n, shared, ...)`` for n work items, followed
    by the kernel's arguments. Both return a status of libgpuarray. Its ``codevar`` is
    the text, a ``const char *``.

    >>> class Doubled(GpuKernelBaseCOp):
    ...     __props__ = ()
    ...     def make_node(self, x):
    ...         x = as_gpuarray_variable(x, None)
    ...         return compiler.Apply(self, [x], [x.type()])
    ...     def gpu_kernels(self, node, name):
    ...         code = (
    ...             "KERNEL void twice(GLOBAL_MEM ga_float *x, ga_size n) {"
    ...             "  for (ga_size i = GID_0 * LDIM_0 + LID_0; i < n;"
    ...             "       i += GDIM_0 * LDIM_0) x[i] *= 2; }"
    ...         )
    ...         return [Kernel(code, [gpuarray.GpuArray, gpuarray.SIZE], "twice")]
    ...     def c_code(self, node, name, inputs, outputs, sub):
    ...         (x,), (y,), fail = inputs, outputs, sub["fail"]
    ...         return f'''
    ...             {y} = pygpu_copy({x}, GA_C_ORDER);
    ...             if ({y} == NULL) {fail}
    ...             size_t n = PyGpuArray_SIZE({y});
    ...             if (twice_scall(1, &n, 0, {y}->ga.data, n) != GA_NO_ERROR) {{
    ...                 PyErr_SetString(PyExc_RuntimeError, gpuarray_error_text());
    ...                 {fail}
    ...             }}'''
    >>> x = T.fvector("x")
    >>> compiler.function([x], T.as_tensor_variable(Doubled()(x)))([1, 2])
    array([2., 4.], dtype=float32)
    """

    def kernel_version(self, node: Apply) -> tuple[Any, ...]:
        """Return the kernels' part of the version: none, they are kept by text."""
        return ()


# ---- lowering ----


@lowers(COp)
def lower_c_code(op: COp, node: Apply, k: Lowerer) -> None:
    """Lower the C code to a step, or Python where it cannot be used.

    The plan calls the code at each run if the op's ``infer_shape`` returns the results'
    shapes; else it pauses for the code to allocate them.
    """
    narrow = None if op._f16_ok else narrow_dtype(node)
    if narrow is not None:
        refuse_narrow(op, node, narrow)
        lower_python(op, node, k)
        return
    written = TypedOp(op, op.types_of(node), len(node.inputs))
    try:
        build(written)
    except (CCodeError, CFileError) as error:
        raise type(error)(made_at(str(error), node.trace)) from None
    except NotImplementedError as error:
        if computes_in_python(op):
            lower_python(op, node, k)
            return
        raise refusal(op, node, error) from None
    recorded = knows_shapes(written)
    options = {"written": written, "recorded": recorded}
    k.call(node, "c_code", node.inputs, options, recorded=recorded, label=op.label())


def refuse_narrow(op: COp, node: Apply, dtype: str) -> None:
    """Warn that C code without float16 is not used; raise if there is nothing else."""
    message = f"Disabling C code for {op.described()} due to unsupported {dtype}"
    mend = "read and write its bits with care for the type, and set _f16_ok = True"
    if not computes_in_python(op):
        text = f"{message}, and it has no perform; {mend}"
        raise NotOfferedError(made_at(text, node.trace))
    warnings.warn(f"{message}: it runs in Python; {mend}", HostNotice, stacklevel=2)


def computes_in_python(op: Op) -> bool:
    """Return True if the op has an implementation besides its C code."""
    return is_python(op) or has_reference(op)


def refusal(op: COp, node: Apply, error: NotImplementedError) -> Exception:
    """Return the error for an op whose C code cannot be compiled."""
    if isinstance(error, NoCompilerError):
        message = f"{op.described()}: {error}; or give the op a perform"
        return NoCompilerError(made_at(message, node.trace))
    reason = str(error)
    message = reason if op.label() in reason else f"{op.described()}: {reason}"
    return NotOfferedError(made_at(message, node.trace))


def knows_shapes(written: TypedOp) -> bool:
    """Return True if ``infer_shape`` computes all lengths before a run.

    These are the inputs' lengths, and the integers of the host among them.
    """
    op, node = written.op, written.node
    if type(op).infer_shape is Op.infer_shape:
        return False
    kinds = [variable.type for variable in node.inputs]
    lengths = [
        tuple(TensorType("int64", ())() for _ in kind.broadcastable) for kind in kinds
    ]
    known = {length for of_input in lengths for length in of_input}
    known |= {node.inputs[i] for i in op.host_inputs(node)}
    try:
        shapes = op.output_shapes(node, lengths)
    except NotImplementedError:
        return False
    return all(is_known(length, known) for shape in shapes for length in shape)


def is_known(length: Any, known: Collection[Variable]) -> bool:
    """Return True if a length is a number, or is computed from known variables."""
    if not isinstance(length, Variable):
        return length is not None
    if length in known or isinstance(length, Constant):
        return True
    owner = length.owner
    return owner is not None and all(
        is_known(operand, known) for operand in owner.inputs
    )


@step_function("c_code")
def run_c_code(*values: Any, written: TypedOp, recorded: bool) -> Any:
    """Run the C code on arrays and integers; recorded, it runs later."""
    context = current_context()
    assert context is not None
    module = module_of(written, context)
    if not recorded:
        return module(values)
    inputs = [
        kind() if isinstance(value, Array) else constant(value, kind.dtype)
        for kind, value in zip(written.types, values, strict=False)
    ]
    node = Apply(
        written.op, inputs, [variable.type() for variable in written.node.outputs]
    )
    outs = [
        empty(shape, variable.type.dtype, context)
        for shape, variable in zip(
            shapes_of(written.op, node, values), node.outputs, strict=True
        )
    ]
    module.defer(values, outs)
    return tuple(outs)


@needs_of("c_code")
def open_early(needs: Needs, *values: Any, written: TypedOp, recorded: bool) -> None:
    """Load the code and its kernels with the plan, so that errors are raised then."""
    module_of(written, needs.context)


def failure_of(context: Context, written: TypedOp, recorded: bool) -> Exception | None:
    """The exception that the C code ended a run with."""
    return module_of(written, context).failure()


FAILURES["c_code"] = failure_of
