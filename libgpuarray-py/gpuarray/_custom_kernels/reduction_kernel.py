"""ReductionKernel: custom reductions over any axes, compiled at the first call.

Also helpers that all custom kernels share: for arguments, contexts and names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuarray._core.arguments import axes_numbers
from gpuarray._core.base import BaseArray
from gpuarray._core.context import Context
from gpuarray._kernels.apply import fail, number_in, other_context
from gpuarray._kernels.codegen import digest, once
from gpuarray._kernels.numbers import Number, number_of, number_operand
from gpuarray._kernels.parameters import dtype_of, parse, resolve_types, with_types
from gpuarray._native import ARRAY, check, encoded, ffi, lib, sized
from gpuarray.dtypes import dtype_to_typecode, work_ctype, work_dtype
from gpuarray.errors import BadType, BadValue

DType = np.dtype[Any]


def only_context(name: str, arrays: Sequence[BaseArray]) -> Context:
    """Return the context of all these arrays. Raises BadValue if there are two."""
    for array in arrays:
        if array._context is not arrays[0]._context:
            raise other_context(name, arrays[0], array)
    return arrays[0]._context


def as_argument(name: str, value: Any) -> Any:
    """Return an array or a number. Raises BadType for anything else."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = number_in(name, value)
    if not isinstance(value, BaseArray) and number_operand(value) is None:
        raise BadType(
            f"{name}: an argument is of {type(value).__name__}, expected a gpuarray "
            "array or a number; use gpuarray.asarray(x)"
        )
    return value


def declared(name: str, how: Number) -> str:
    """Return a statement that gives a number its name."""
    ctype = work_ctype(how.dtype)
    value = f"{name}_given" if how.kind == "c" else f"({ctype}){name}_given"
    return f"const {ctype} {name} = {value};"


def unique_name(stem: str, text: str) -> str:
    """Return a name for a kernel or a function, unique to its text."""
    return f"{re.sub(r'[^0-9A-Za-z_]', '_', stem)}_{digest(text.encode())}"


def axes_bits(axis: int | Sequence[int] | None, ndim: int, operation: str) -> int:
    """Return the axes as bits; None: all of them."""
    if axis is None:
        return (1 << ndim) - 1
    return sum(1 << number for number in axes_numbers(axis, ndim, operation))


class ReductionKernel:
    """A reduction of an expression over any axes; CuPy's class.

    ``ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")``:
    ``map_expr`` of each element, ``reduce_expr`` of two such values ``a`` and ``b``,
    which must be associative, ``post_map_expr`` stores the result, and ``identity`` is
    the initial value. ``reduce_type`` is the accumulator's type; None: the output's.
    ``_in_ind.size()``, or ``n``, in ``post_map_expr`` is the number of reduced
    elements.

    >>> norm = gpuarray.ReductionKernel(
    ...     "T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm"
    ... )
    >>> print(norm(gpuarray.asarray([3.0, 4.0])))
    5.0
    """

    def __init__(
        self,
        in_params: str,
        out_params: str,
        map_expr: str,
        reduce_expr: str,
        post_map_expr: str,
        identity: str | float,
        name: str = "reduce_kernel",
        reduce_type: str | None = None,
        preamble: str = "",
    ) -> None:
        self.name = name
        self._ins = parse(in_params, name)
        outs = parse(out_params, name)
        if len(outs) != 1 or not self._ins:
            raise BadValue(f"{name}: expected inputs, and one output; got {out_params}")
        (self._out,) = outs
        if any(parameter.is_array for parameter in (*self._ins, self._out)):
            raise BadValue(f"{name}: raw parameters and pointers are not offered here")
        self._texts = map_expr, reduce_expr, post_map_expr, str(identity), preamble
        self._accumulator = f"{reduce_type or ''}"
        self._kernels: dict[Any, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_kernels": {}}  # to be compiled again

    def __call__(
        self,
        *arguments: Any,
        out: BaseArray | None = None,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
    ) -> Any:
        """Return the reduction over ``axis`` (None: all) of inputs that broadcast."""
        if len(arguments) == len(self._ins) + 1 and out is None:
            *arguments, out = arguments  # type: ignore[assignment]
        if len(arguments) != len(self._ins):
            raise BadType(
                f"{self.name}: {len(arguments)} arguments, expected {len(self._ins)}"
            )
        ins = [as_argument(self.name, x) for x in arguments]
        arrays = [x for x in ins if isinstance(x, BaseArray)]
        if not arrays:
            raise BadType(f"{self.name}: no argument is a gpuarray array")
        context = only_context(self.name, arrays if out is None else [*arrays, out])
        dtypes = [x.dtype if isinstance(x, BaseArray) else None for x in ins]
        stored = None if out is None else out.dtype
        types = resolve_types([*self._ins, self._out], [*dtypes, stored], self.name)
        is_array = tuple(isinstance(x, BaseArray) for x in ins)
        key = context, tuple(types.values()), is_array
        kernel = self._kernels.get(key)
        if kernel is None:
            kernel = self._kernels[key] = self._compile(context, types, is_array)
        handle, numbers = kernel
        places = iter(numbers)
        listed = [
            x._struct if isinstance(x, BaseArray) else next(places).pointer(x)
            for x in ins
        ]
        ndim = max(x.ndim for x in arrays)
        mask = axes_bits(axis, ndim, self.name)
        struct = ffi.new(ARRAY)
        status = lib.GpuReduction_apply(
            handle, struct, ffi.new("void *[]", listed), mask, int(keepdims)
        )
        if status:
            fail(status, self.name, context, ins)
        dtype = dtype_of(self._out, types, self.name)
        result = arrays[0].wrap(struct, context, dtype, dtype_to_typecode(dtype))
        if out is None:
            return result
        if out.shape != result.shape:
            raise BadValue(
                f"{self.name}: out has shape {out.shape}, expected {result.shape}"
            )
        check(lib.GpuArray_move(out._struct, result._struct), self.name)
        return out

    def _compile(
        self, context: Context, types: dict[str, DType], is_array: Sequence[bool]
    ) -> tuple[Any, list[Number]]:
        mapped, reduced, post, identity, preamble = (
            with_types(text, types) for text in self._texts
        )
        out = dtype_of(self._out, types, self.name)
        accumulator = work_dtype(out)
        if self._accumulator:
            (parameter,) = parse(f"{self._accumulator} a", self.name)
            accumulator = work_dtype(dtype_of(parameter, types, self.name))
        numbers, lines, inputs = [], [], []
        for parameter, array in zip(self._ins, is_array, strict=True):
            dtype = dtype_of(parameter, types, self.name)
            if array:
                inputs.append((parameter.name, dtype_to_typecode(dtype), lib.GE_READ))
                continue
            number = number_of(None, 0, dtype)
            numbers.append(number)
            inputs.append((f"{parameter.name}_given", number.typecode, lib.GE_SCALAR))
            lines.append(declared(parameter.name, number))
        result, acc = work_ctype(out), work_ctype(accumulator)
        post = re.sub(r"_in_ind\s*\.\s*size\s*\(\s*\)", "n", post)
        body = f"({acc} a, ga_size n) {{ {result} {self._out.name}; {post}; "
        body += f"return {self._out.name}; }}"
        name = unique_name("ga_post", preamble + body)
        support = once(f"{preamble}\nGA_INLINE {result} {name}{body}")
        handle = new_reduction(
            context,
            self.name,
            inputs,
            (support, "\n".join(lines), f"({mapped})", reduced, identity),
            dtype_to_typecode(accumulator),
            dtype_to_typecode(out),
            f"{name}(v, n)",
        )
        return handle, numbers

    def __repr__(self) -> str:
        return f"<gpuarray kernel {self.name!r}>"


def new_reduction(
    context: Context,
    operation: str,
    inputs: Sequence[tuple[str, int, int]],
    texts: tuple[str, str, str, str, str],
    accumulator: int,
    out: int,
    epilogue: str | None,
) -> Any:
    """Return a ``GpuReduction *`` that is freed with its last reference.

    ``inputs`` are (name, typecode, GE_ flags); ``texts`` the preamble, the prologue,
    the map, the combination of two, and the identity.
    """
    buffers = [ffi.new("char[]", encoded(text, operation)) for text in texts]
    names = [ffi.new("char[]", encoded(name, operation)) for name, _, _ in inputs]
    described = ffi.new("gpuelemwise_arg[]", len(names))
    for slot, name, source in zip(described, names, inputs, strict=True):
        slot.name, slot.typecode, slot.flags = name, source[1], source[2]
    spec = sized("gpureduction_spec")
    spec.preamble, spec.prologue, spec.map, spec.combine, spec.identity = buffers
    spec.acc_typecode, spec.out_typecode = accumulator, out
    spec.n, spec.inputs = len(names), described
    last = (
        ffi.NULL
        if epilogue is None
        else ffi.new("char[]", encoded(epilogue, operation))
    )
    spec.epilogue = last
    status = ffi.new("int *")
    handle = lib.GpuReduction_new(context.pointer, spec, status)
    if not handle:
        check(status[0], operation)
    return ffi.gc(handle, lib.GpuReduction_free)
