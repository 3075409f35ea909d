"""`kernel_op`: a decorator that makes an op of one kernel's text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from gpuarray._kernels.codegen import digest
from gpuarray.array import Array
from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.gpukernels.custom.kernel_base import (
    GpuKernelBase,
    Kernel,
    Launch,
    source_of,
)
from gpuarray.compiler.gpukernels.custom.signature import (
    ALL,
    FUNCTIONS,
    Operand,
    Signature,
    bound_lengths,
    check_count,
    compiled,
    evaluated,
    parsed,
)
from gpuarray.compiler.gpukernels.custom.symbolic import (
    greatest,
    is_host_array,
    least,
    product,
    same,
)
from gpuarray.compiler.gpukernels.fp16_help import load_w, work_dtype, write_w
from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.graph.op import Gradients, Variables
from gpuarray.compiler.graph.types import TensorType, promoted
from gpuarray.compiler.ops.custom.decorated import another, found
from gpuarray.compiler.ops.custom.own import meaning_of
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.variables.basic import as_tensor_variable
from gpuarray.compiler.ops.variables.transfer import gpu_contiguous
from gpuarray.dtypes import INPUT, OFFSET, as_dtype, dtype_to_ctype, kind_of

RANKS = {"b": 0, "i": 0, "u": 0, "f": 1, "c": 2}
"""The order of dtype kinds: a cast to a lower one loses fractions or imaginary
parts."""

Geometry = int | str | Sequence[int | str] | None


class KernelOp(GpuKernelBase):
    """An op of one kernel, made by `kernel_op`.

    Two are equal if they have the same name, text, signature and geometry, and were
    decorated with the same gradient and reference.
    """

    __props__ = ("name", "signature", "body", "support", "geometry", "zeroed")
    _f16_ok = True

    def __init__(
        self,
        gradient: Callable[..., Any],
        signature: Signature,
        body: str,
        support: str,
        geometry: tuple[tuple[str, Any], ...],
        zeroed: Collection[int],
        numpy_reference: Callable[..., Any],
    ) -> None:
        self.name = gradient.__name__
        self.gradient = gradient
        self.signature = signature
        self.body = body
        self.support = support
        self.geometry = geometry
        self.zeroed = tuple(zeroed)
        self.numpy_reference = numpy_reference
        self.__doc__ = gradient.__doc__

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, KernelOp):
            return self is other
        return super().__eq__(other) is True and all(
            meaning_of(getattr(self, name)) == meaning_of(getattr(other, name))
            for name in ("gradient", "numpy_reference")
        )

    __hash__ = GpuKernelBase.__hash__

    # ---- the op ----

    def make_node(self, *inputs: Any) -> Apply:
        """Return a node over the operands, cast to their letters' dtypes."""
        check_count(self.signature, len(inputs), self.name)
        variables = [as_tensor_variable(value) for value in inputs]
        dtypes = self.dtypes([variable.type.dtype for variable in variables])
        for triple in zip(variables, self.signature.inputs, dtypes, strict=False):
            self._check(*triple)
        cast = [
            math.cast(variable, dtype)
            for variable, dtype in zip(variables, dtypes, strict=False)
        ]
        operands = [
            gpu_contiguous(variable) if operand.lengths is not None else variable
            for variable, operand in zip(cast, self.signature.inputs, strict=True)
        ]
        outputs = [
            TensorType(dtype, self._pattern(operand, operands))()
            for operand, dtype in zip(
                self.signature.outputs, dtypes[len(operands) :], strict=True
            )
        ]
        return Apply(self, operands, outputs)

    def _check(self, variable: Variable, operand: Operand, dtype: str) -> None:
        """Raise for other axes, or a cast that loses fractions or imaginary parts."""
        mismatch = f"{self.name}: given {variable.type} for {operand}"
        ndim = len(operand.lengths or ())
        if not operand.is_any_shape and variable.type.ndim != ndim:
            raise GraphTypeError(
                f"{mismatch}, expected {ndim} axes; the signature is {self.signature}"
            )
        kinds = [kind_of(as_dtype(name)) for name in (variable.type.dtype, dtype)]
        if RANKS[kinds[0]] > RANKS[kinds[1]]:
            raise GraphTypeError(
                f"{mismatch}; cast it if that is meant; the signature is "
                f"{self.signature}"
            )

    def dtypes(self, input_dtypes: Sequence[str]) -> list[str]:
        """Return the dtypes of all operands, inputs first, for the inputs' dtypes."""
        letters: dict[str, str] = {}
        for operand, dtype in zip(self.signature.inputs, input_dtypes, strict=True):
            if operand.dtype in self.signature.letters:
                known = letters.get(operand.dtype, dtype)
                letters[operand.dtype] = promoted(known, dtype)
        operands = (*self.signature.inputs, *self.signature.outputs)
        return [letters.get(argument.dtype, argument.dtype) for argument in operands]

    def _pattern(
        self, output: Operand, variables: Sequence[Variable]
    ) -> tuple[bool, ...]:
        inputs = list(zip(self.signature.inputs, variables, strict=True))
        if output.is_any_shape:
            return next(v.type.broadcastable for o, v in inputs if o.is_any_shape)
        ones = {
            name
            for operand, variable in inputs
            if operand.lengths is not None and not operand.is_any_shape
            for name, flag in zip(
                operand.lengths, variable.type.broadcastable, strict=True
            )
            if flag
        }
        return tuple(length in ones or length == "1" for length in output.lengths or ())

    def infer_shape(
        self, node: Apply, input_shapes: Sequence[Sequence[Any]]
    ) -> list[tuple[Any, ...]]:
        """Return the outputs' lengths, by the arithmetic of the signature."""
        known = bound_lengths(self.signature, input_shapes, self.name)
        pairs = list(zip(self.signature.inputs, node.inputs, strict=True))
        integers = {o.name: v for o, v in pairs if o.lengths is None}
        whole = next(
            (
                tuple(shape)
                for operand, shape in zip(
                    self.signature.inputs, input_shapes, strict=True
                )
                if operand.is_any_shape
            ),
            (),
        )
        functions = dict(zip(FUNCTIONS, (_smaller, _larger), strict=True))
        return [
            whole
            if output.is_any_shape
            else tuple(
                math.cast(evaluated(length, known | integers, functions), "int64")
                for length in output.lengths or ()
            )
            for output in self.signature.outputs
        ]

    def reference(self, *arrays: Any) -> Any:
        """Return the outputs with NumPy; half precision is computed in float32."""
        dtypes = self.dtypes([np.asarray(array).dtype.name for array in arrays])
        operands = [
            np.asarray(array).astype(work_dtype(dtype))
            for array, dtype in zip(arrays, dtypes, strict=False)
        ]
        result = self.numpy_reference(*operands)
        results = result if isinstance(result, tuple) else (result,)
        outputs = tuple(
            np.asarray(array).astype(as_dtype(dtype))
            for array, dtype in zip(results, dtypes[len(operands) :], strict=True)
        )
        return outputs if len(outputs) > 1 else outputs[0]

    def pull_back(
        self, m: Any, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> list[Variable | None]:
        """Return the decorated function's gradients; None for host integers."""
        gs: list[Variable] = [
            math.zeros_like(output) if g is None else g
            for output, g in zip(outputs, output_gradients, strict=True)
        ]
        is_one = len(outputs) == 1
        gradients = self.gradient(
            m, gs[0] if is_one else gs, outputs[0] if is_one else outputs, *inputs
        )
        terms = list(gradients) if isinstance(gradients, (tuple, list)) else [gradients]
        arrays = [
            i for i, o in enumerate(self.signature.inputs) if o.lengths is not None
        ]
        if len(terms) == len(inputs):
            return terms
        if len(terms) != len(arrays) and terms != [None]:
            raise GraphTypeError(
                f"{self.name}: the gradient gives {len(terms)} terms, expected one for "
                f"each of {len(arrays)} arrays"
            )
        result: list[Variable | None] = [None] * len(inputs)
        for place, term in zip(arrays, terms, strict=False):
            result[place] = term
        return result

    # ---- the kernel ----

    def gpu_kernels(self, node: Apply, name: str) -> list[Kernel]:
        """Return the kernel, with parameters and macros for these dtypes."""
        dtypes = [variable.type.dtype for variable in (*node.inputs, *node.outputs)]
        operands = (*self.signature.inputs, *self.signature.outputs)
        of = dict(zip(operands, dtypes, strict=True))
        words = dict(_words(self.signature, of))
        head = "".join(f"#define {word} {text}\n" for word, text in words.items())
        tail = "".join(f"#undef {word.partition('(')[0]}\n" for word in words)
        head += f"{self.support}\n"
        called = f"{self.name}_{digest((head + self.body).encode(), 4)}"
        params, kinds, begins = _parameters(self.signature, of)
        code = (
            f"{head}KERNEL void {called}({', '.join(params)}) {{\n  KERNEL_BEGIN;\n"
            f"{''.join(begins)}{self.body}\n}}\n{tail}"
        )
        return [Kernel(code=code, name=called, params=kinds)]

    def gpu_launches(
        self, node: Apply, inputs: Sequence[Any], outputs: Sequence[Array]
    ) -> Iterable[Launch]:
        """Yield the launch; none for a grid without blocks."""
        (kernel,) = self.gpu_kernels(node, self.name)
        shapes = [value.shape if isinstance(value, Array) else () for value in inputs]
        known = bound_lengths(self.signature, shapes, self.name, inputs)
        known |= _sizes(self.signature, inputs, self.name)
        integers = {
            operand.name: value
            for operand, value in zip(self.signature.inputs, inputs, strict=True)
            if operand.lengths is None
        }
        arguments: list[Any] = []
        for argument in (*inputs, *outputs):
            arguments += (
                [argument, argument.offset] if isinstance(argument, Array) else []
            )
        arguments += [known[name] for name in self.signature.lengths]
        arguments += integers.values()
        values = known | integers
        grid = {word: _whole(value, values) for word, value in self.geometry}
        shared = grid.pop("shared")
        items = product(_flat(grid.values()))
        yield Launch(kernel.name, arguments, shared=shared, when=items != 0, **grid)

    def label(self) -> str:
        """Return the name."""
        return self.name

    def described(self) -> str:
        """Return the name with the file and line of the decorated function."""
        return f"{self.name}{source_of(self.gradient)}"

    def __str__(self) -> str:
        return self.name

    def pretty(self, *texts: str) -> str:
        """Return a call by the op's name."""
        return f"{self.name}({', '.join(texts)})"

    def __copy__(self) -> KernelOp:
        return another(self)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str, str, str]]:
        gradient = self.gradient
        return found, ("kernel_op", gradient.__module__, gradient.__qualname__)


def _smaller(a: Any, b: Any) -> Variable:
    return math.minimum(a, b)


def _larger(a: Any, b: Any) -> Variable:
    return math.maximum(a, b)


def _whole(value: Any, known: Mapping[str, int]) -> Any:
    """Return a part of the geometry as integers."""
    if isinstance(value, tuple):
        return tuple(_whole(part, known) for part in value)
    return evaluated(value, known, {"min": least, "max": greatest})


def _flat(values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        yield from value if isinstance(value, tuple) else (value,)


def _sizes(signature: Signature, inputs: Sequence[Any], who: str) -> dict[str, Any]:
    """Return the number of elements of ``[...]`` arrays, which must have one shape."""
    pairs = zip(signature.inputs, inputs, strict=True)
    arrays = [(operand.name, x) for operand, x in pairs if operand.is_any_shape]
    for name, x in arrays[1:]:
        first, shape = arrays[0][1].shape, x.shape
        wrong = f"{who}: arrays written [...] have one shape, given are "
        if is_host_array(x):
            wrong += f"others for {arrays[0][0]} and {name}"
        else:
            wrong += ", ".join(f"{name} {x.shape}" for name, x in arrays)
        if len(first) != len(shape):
            raise GraphValueError(wrong)
        for a, b in zip(first, shape, strict=True):
            same(a, b, x, wrong)
    return {ALL: arrays[0][1].size} if arrays else {}


def _words(
    signature: Signature, of: Mapping[Operand, str]
) -> Iterable[tuple[str, str]]:
    """Yield the macros that a kernel's text may use, with their definitions."""
    for letter in signature.letters:
        dtype = next(
            of[operand] for operand in signature.inputs if operand.dtype == letter
        )
        yield letter, dtype_to_ctype(dtype)
        yield f"{letter}_work", dtype_to_ctype(work_dtype(dtype))
    for array in signature.arrays:
        dtype = of[array]
        stored = f"{write_w(dtype) or f'({dtype_to_ctype(dtype)})'}(v)"
        if kind_of(as_dtype(dtype)) == "c":
            stored = "(v)"
        yield f"GA_LOAD_{array.name}(v)", f"{load_w(dtype)}(v)"
        yield f"GA_STORE_{array.name}(v)", stored
    yield "LOAD(a, i)", "GA_LOAD_##a(a[i])"
    yield "STORE(a, i, v)", "a[i] = GA_STORE_##a(v)"


def _parameters(
    signature: Signature, of: Mapping[Operand, str]
) -> tuple[list[str], list[Any], list[str]]:
    """Return the parameters' texts, their kinds, and the kernel's first statements."""
    texts: list[str] = []
    kinds: list[Any] = []
    begins: list[str] = []
    for array in signature.arrays:
        const = "const " if array in signature.inputs else ""
        pointer = f"GLOBAL_MEM {const}{dtype_to_ctype(of[array])} *"
        texts += [f"{pointer}GA_APART {array.name}", f"ga_size {array.name}_off"]
        kinds += [INPUT if const else Array, OFFSET]
        start = f"(GLOBAL_MEM {const}char *){array.name} + {array.name}_off"
        begins.append(f"  {array.name} = ({pointer})({start});\n")
    for name in (*signature.lengths, *(integer.name for integer in signature.integers)):
        texts.append(f"ga_ssize {name}")
        kinds.append("ssize")
    return texts, kinds, begins


def kernel_op(
    signature: str,
    body: str,
    *,
    reference: Callable[..., Any],
    n: Geometry = None,
    blocks: Geometry = None,
    threads: Geometry = 256,
    shared: int | str = 0,
    zeroed: Sequence[str] = (),
    support: str = "",
) -> Callable[[Callable[..., Any]], KernelOp]:
    """Make an op of a kernel's text in CLUDA, a signature, and a gradient.

    ``signature`` is ``"T x[n, m], int64 k -> T y[n, m], float32 s[n]"``: a capital
    letter is a dtype of the inputs, ``T`` in the text, with ``T_work`` to compute in;
    names of lengths and of integers are ``ga_ssize`` in the text; ``[...]`` is an array
    of any shape, of ``size`` elements. Inputs come in C order. Elements are read by
    ``LOAD(x, i)`` and written by ``STORE(y, i, value)``, also in half precision.
    Outputs in ``zeroed`` begin as zeros. ``support`` is text of device functions.

    The grid is ``blocks`` of ``threads``, numbers, arithmetic on the names in texts, or
    tuples of up to three; or ``n`` items, for a kernel with a grid-stride loop.

    The decorated function is the gradient: given the functions of ops ``m``, the
    gradient ``g`` of the output ``y`` and the inputs, it returns the gradient of each
    array. With several outputs ``g`` and ``y`` are lists. ``reference`` is the op with
    NumPy; DebugMode compares the two.

    >>> from gpuarray.compiler import function, tensor as T
    >>> @kernel_op(
    ...     "T x[n, m] -> T y[n]",
    ...     '''T_work most = LOAD(x, GID_0 * m);
    ...     for (ga_ssize j = 1; j < m; j++) most = fmax(most, LOAD(x, GID_0 * m + j));
    ...     STORE(y, GID_0, most);''',
    ...     blocks="n", threads=1, reference=lambda x: x.max(1))
    ... def row_max(m, g, y, x):
    ...     return g[:, None] * m.eq(x, y[:, None])
    >>> x = T.fmatrix("x")
    >>> function([x], row_max(x))([[1, 3], [5, 4]])
    array([3., 5.], dtype=float32)

    Raises ValueError for a wrong signature or geometry.
    """
    parsed_signature = parsed(signature)
    grid = {"n": n} if n is not None else {"blocks": blocks, "threads": threads}
    if (n is None) == (blocks is None):
        raise GraphValueError(
            "kernel_op: give either n, the number of work items, or blocks"
        )
    geometry = tuple((word, _frozen(value)) for word, value in grid.items())
    geometry += (("shared", shared),)
    lengths = frozenset(
        {
            *parsed_signature.lengths,
            *(integer.name for integer in parsed_signature.integers),
        }
    )
    for value in _flat(value for _, value in geometry):
        if isinstance(value, str):
            compiled(value, lengths)
    names = [output.name for output in parsed_signature.outputs]
    if not {*zeroed} <= {*names}:
        raise GraphValueError(
            f"kernel_op: zeroed={tuple(zeroed)}, the outputs are {', '.join(names)}"
        )
    places = [names.index(name) for name in zeroed]

    def make(gradient: Callable[..., Any]) -> KernelOp:
        if not gradient.__name__.isidentifier():
            raise GraphValueError(
                f"kernel_op: {gradient.__name__!r} is no name for an op; decorate a "
                "function that has one"
            )
        return KernelOp(
            gradient, parsed_signature, body, support, geometry, places, reference
        )

    return make


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, (list, tuple)) else value
