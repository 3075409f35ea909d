"""libgpuarray 0.7's reductions: ``reduction.ReductionKernel`` and what goes with it.

The package's own reductions are here, too, since pickles refer to them by this module.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from gpuarray._core.base import BaseArray, require
from gpuarray._core.context import Context
from gpuarray._custom_kernels.reduction_kernel import axes_bits, declared, new_reduction
from gpuarray._kernels.apply import fail
from gpuarray._kernels.numbers import number_of
from gpuarray._names import PLACES
from gpuarray._native import ARRAY, check, ffi, lib
from gpuarray._ufunc import reduction
from gpuarray.dtypes import (
    as_dtype,
    dtype_to_typecode,
    parse_c_arg_backend,
    work_dtype,
)
from gpuarray.errors import BadArgument, BadType, BadValue
from gpuarray.tools import Argument, ArrayArg, ScalarArg

__all__ = ["ReductionKernel", "massage_op", "parse_c_args", "reduce1"]

INDEX_RE = re.compile(r"\b(\w+)\s*\[\s*i\s*\]")


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    """Return a reduction of the package."""
    if name in PLACES["_ufunc.reduction"]:
        return getattr(reduction, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def massage_op(operation: str) -> str:
    """Return an expression of elements ``x[i]`` as one of values ``x``.

    >>> gpuarray.reduction.massage_op("a[i] * b[i]")
    'a * b'
    """
    return INDEX_RE.sub(r"\1", operation)


def parse_c_args(arguments: str) -> tuple[Argument, ...]:
    """Return the arguments of a C declaration.

    >>> arguments = gpuarray.reduction.parse_c_args("float *x, int n")
    >>> [(one.name, one.isarray) for one in arguments]
    [('x', True), ('n', False)]
    """
    return tuple(
        parse_c_arg_backend(declaration, ScalarArg, ArrayArg)
        for declaration in arguments.split(",")
    )


class ReductionKernel:
    """A reduction over the axes for which ``redux`` is true; libgpuarray 0.7's class.

    ``reduce_expr`` combines ``a`` and ``b``; ``map_expr`` is of elements ``x[i]`` of
    the ``arguments``, a C declaration or a list of ``tools.as_argument``'s. Called with
    the arguments, and ``out=``.

    >>> a = gpuarray.asarray([[1.0, 2.0], [3.0, 4.0]])
    >>> rows = gpuarray.reduction.ReductionKernel(
    ...     a.context, "float64", "0", "a + b", [False, True], arguments="double *x"
    ... )
    >>> print(rows(a))
    [3. 7.]
    """

    def __init__(
        self,
        context: Context,
        dtype_out: npt.DTypeLike,
        neutral: str | float,
        reduce_expr: str,
        redux: Sequence[bool],
        map_expr: str | None = None,
        arguments: str | Sequence[Argument] | None = None,
        preamble: str = "",
        init_nd: int | None = None,
    ) -> None:
        self.context = context
        self.redux = [bool(argument) for argument in redux]
        if not any(self.redux):
            raise BadValue("ReductionKernel: redux reduces no axis")
        self.dtype_out = as_dtype(dtype_out, "ReductionKernel")
        if arguments is None:
            arguments = [ArrayArg(self.dtype_out, "_reduce_input")]
        elif isinstance(arguments, str):
            arguments = parse_c_args(arguments)
        self.arguments = list(arguments)
        for argument in self.arguments:
            if not isinstance(argument, Argument):
                raise BadType(
                    f"ReductionKernel: an argument is {argument!r}, expected one that "
                    "tools.as_argument gives"
                )
        arrays = [argument for argument in self.arguments if argument.isarray]
        if not arrays:
            raise BadValue("ReductionKernel: no argument is an array")
        if map_expr is None:
            if len(self.arguments) != 1:
                raise BadValue("ReductionKernel: several arguments need a map_expr")
            map_expr = f"{arrays[0].name}[i]"
        self._numbers = [
            number_of(None, 0, argument.dtype)
            for argument in self.arguments
            if not argument.isarray
        ]
        self._handle = self._compile(str(neutral), reduce_expr, map_expr, preamble)

    def _compile(self, neutral: str, reduce_expr: str, mapped: str, before: str) -> Any:
        inputs, lines, numbers = [], [], iter(self._numbers)
        for argument in self.arguments:
            if argument.isarray:
                code = dtype_to_typecode(argument.dtype)
                inputs.append((argument.name, code, lib.GE_READ))
            else:
                number = next(numbers)
                inputs.append(
                    (f"{argument.name}_given", number.typecode, lib.GE_SCALAR)
                )
                lines.append(declared(argument.name, number))
        texts = before, "\n".join(lines), massage_op(mapped), reduce_expr, neutral
        return new_reduction(
            self.context,
            "ReductionKernel",
            inputs,
            texts,
            dtype_to_typecode(work_dtype(self.dtype_out)),
            dtype_to_typecode(self.dtype_out),
            None,
        )

    def __call__(
        self, *args: Any, broadcast: bool | None = None, out: BaseArray | None = None
    ) -> Any:
        """Return the reduction; inputs broadcast."""
        if len(args) != len(self.arguments):
            raise BadType(
                f"ReductionKernel: {len(args)} arguments, expected "
                f"{len(self.arguments)}"
            )
        arrays, listed, numbers = [], [], iter(self._numbers)
        for argument, value in zip(self.arguments, args, strict=True):
            if argument.isarray:
                arrays.append(require(value, "ReductionKernel"))
                listed.append(value._struct)
            else:
                listed.append(next(numbers).pointer(value))
        ndim = max(x.ndim for x in arrays)
        if ndim != len(self.redux):
            raise BadValue(
                f"ReductionKernel: arrays of {ndim} axes, expected {len(self.redux)}"
            )
        axes = [i for i, argument in enumerate(self.redux) if argument]
        mask = axes_bits(axes, ndim, "ReductionKernel")
        struct = ffi.new(ARRAY)
        status = lib.GpuReduction_apply(
            self._handle, struct, ffi.new("void *[]", listed), mask, 0
        )
        if status:
            fail(status, "ReductionKernel", self.context, args)
        code = dtype_to_typecode(self.dtype_out)
        result = arrays[0].wrap(struct, self.context, self.dtype_out, code)
        if out is None:
            return result
        if out.shape != result.shape or out.dtype != result.dtype:
            raise BadArgument(
                f"ReductionKernel: out is {out.dtype}{list(out.shape)}, expected "
                f"{result.dtype}{list(result.shape)}"
            )
        check(lib.GpuArray_move(out._struct, result._struct), "ReductionKernel")
        return out


def reduce1(
    ary: Any,
    op: str,
    neutral: str | float,
    out_type: npt.DTypeLike,
    axis: int | Sequence[int] | None = None,
    out: BaseArray | None = None,
    oper: str | None = None,
) -> Any:
    """Return ``ary`` reduced over ``axis`` with C's operator ``op``, or ``oper``.

    >>> a = gpuarray.asarray([[1.0, 2.0], [3.0, 4.0]])
    >>> print(gpuarray.reduction.reduce1(a, "*", "1", "float64", axis=1))
    [ 2. 12.]
    """
    source = require(ary, "reduce1")
    mask = axes_bits(axis, source.ndim, "reduce1")
    if not mask:
        return source.copy()
    kernel = ReductionKernel(
        source.context,
        out_type,
        neutral,
        f"a {op} b" if oper is None else oper,
        [bool(mask >> i & 1) for i in range(source.ndim)],
        arguments=[ArrayArg(source.dtype, "x")],
    )
    return kernel(source, out=out)
