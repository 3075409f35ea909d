"""libgpuarray 0.7's elementwise kernels: ``GpuElemwise`` and the helpers on top of it.

A new expression is written for each call; compiled kernels are cached.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._core.base import BaseArray
from gpuarray._core.context import Context
from gpuarray._custom_kernels.reduction_kernel import declared
from gpuarray._kernels.apply import call_elemwise, fail, new_elemwise
from gpuarray._kernels.codegen import convert, scalar_expression
from gpuarray._kernels.numbers import number_of
from gpuarray._native import ffi, lib
from gpuarray.array import Array
from gpuarray.dtypes import (
    as_dtype,
    dtype_to_typecode,
    get_common_dtype,
    work_ctype,
)
from gpuarray.errors import BadType, BadValue, Unsupported
from gpuarray.scalars import SCALARS

__all__ = [
    "GpuElemwise",
    "arg",
    "as_argument",
    "compare",
    "elemwise1",
    "elemwise2",
    "ielemwise2",
]


def __dir__() -> list[str]:
    return __all__


DType = np.dtype[Any]


class arg:
    """An argument of a ``GpuElemwise``: name, dtype, whether it is read and written.

    >>> one = gpuarray.elemwise.arg("x", np.dtype("float32"), read=True)
    >>> one.name, one.type
    ('x', dtype('float32'))
    """

    def __init__(
        self,
        name: str,
        type: npt.DTypeLike,
        read: bool = False,
        write: bool = False,
        scalar: bool = False,
    ) -> None:
        if not (read or write or scalar):
            raise BadValue(f"arg {name!r}: none of read, write and scalar is set")
        self.name = name
        self.type = as_dtype(type, f"arg {name!r}")
        self.read, self.write, self.scalar = bool(read), bool(write), bool(scalar)


class GpuElemwise:
    """C statements over arrays of any layout, where each argument is a variable.

    Called with all arguments, outputs included.

    >>> from gpuarray.elemwise import GpuElemwise, arg
    >>> context = gpuarray.get_default_context()
    >>> f4 = np.dtype("float32")
    >>> arguments = [arg("y", f4, write=True), arg("x", f4, read=True)]
    >>> twice = GpuElemwise(context, "y = 2 * x", arguments)
    >>> x = gpuarray.arange(3, dtype=f4)
    >>> y = gpuarray.empty_like(x)
    >>> twice(y, x)
    >>> print(y)
    [0. 2. 4.]
    """

    def __init__(
        self,
        ctx: Context,
        expr: str | bytes,
        args: Sequence[arg],
        nd: int = 0,
        preamble: str | bytes = "",
        convert_f16: bool = False,
    ) -> None:
        if not all(isinstance(spec, arg) for spec in args):
            raise BadType("GpuElemwise: args must be a list of elemwise.arg")
        self.context = ctx
        self.args = list(args)
        self._numbers: list[Any] = [
            number_of(None, 0, spec.type) if spec.scalar else None for spec in args
        ]
        described, lines = [], []
        for spec, number in zip(self.args, self._numbers, strict=True):
            if number is None:
                flags = lib.GE_READ * spec.read | lib.GE_WRITE * spec.write
                described.append((spec.name, dtype_to_typecode(spec.type), flags))
            else:
                described.append((f"{spec.name}_given", number.typecode, lib.GE_SCALAR))
                lines.append(declared(spec.name, number))
        lines.append(_text(expr))
        text = "\n".join(lines)
        self._handle = new_elemwise(
            ctx, _text(preamble), text, described, "GpuElemwise"
        )

    def __call__(
        self, *args: Any, broadcast: bool = True, padshape: bool = True
    ) -> None:
        """Run it; ``broadcast`` lets inputs stretch, ``padshape`` lower their rank."""
        if len(args) != len(self.args):
            raise BadType(
                f"GpuElemwise: {len(args)} arguments, expected {len(self.args)}"
            )
        listed = []
        for spec, number, value in zip(self.args, self._numbers, args, strict=True):
            if number is not None:
                listed.append(number.pointer(_number(spec.name, value)))
            elif isinstance(value, BaseArray):
                listed.append(value._struct)
            else:
                raise BadType(
                    f"GpuElemwise: {spec.name} is {type(value).__name__}, expected "
                    "a gpuarray array"
                )
        if broadcast and padshape:
            status = call_elemwise(self._handle, listed)
        else:
            flags = lib.GE_BROADCAST * broadcast | lib.GE_PADSHAPE * padshape
            pointers = ffi.new("void *[]", listed)
            status = lib.GpuElemwise_call(self._handle, pointers, flags)
        if status:
            fail(status, "GpuElemwise", self.context, args)


def _number(name: str, value: Any) -> Any:
    host = np.asarray(value)
    if host.size != 1:
        raise BadType(
            f"GpuElemwise: {name} is {type(value).__name__} of shape {host.shape}, "
            "expected a number"
        )
    return host.item()


def _text(text: str | bytes) -> str:
    return text.decode() if isinstance(text, bytes) else text


def as_argument(o: Any, name: str, read: bool = False, write: bool = False) -> arg:
    """Return the argument of an array or a number.

    >>> a = gpuarray.zeros(2, "float32")
    >>> gpuarray.elemwise.as_argument(a, "x", read=True).type
    dtype('float32')
    """
    if isinstance(o, BaseArray):
        return arg(name, o.dtype, read=read, write=write)
    return arg(name, np.asarray(o).dtype, scalar=True)


# ---- C's operators ----

_OF_ONE = "res = %(op)sa"
_OF_TWO = "res = (%(out_t)s)a %(op)s (%(out_t)s)b"
_IN_PLACE = "a = a %(op)s b"


def _statement(operation: str, op: str, args: Sequence[arg], plain: str) -> str:
    """Return the C statement that stores an operator's result; ``plain``: real numbers.

    C lacks operators of complex numbers, which take the expression of the operator's
    row. Raises Unsupported if there is none, BadType for a complex result in a real
    array.
    """
    result, *operands = args
    if all(operand.type.kind != "c" for operand in args):
        return plain
    pattern = op + "{0}" if len(operands) == 1 else f"{{0}} {op} {{1}}"
    rows = (
        row
        for row in SCALARS.values()
        if row.expression.replace("({r})", "") == pattern and "c" in row.by_kind
    )
    row = next(rows, None)
    if row is None:
        raise Unsupported(
            f"{operation}: C's operator {op!r} is not offered for complex numbers"
        )
    computed = scalar_expression(
        row, [(operand.name, operand.type) for operand in operands]
    )
    if computed.dtype.kind == "c" and result.type.kind != "c":
        raise BadType(
            f"{operation}: a result of {computed.dtype} is not stored as {result.type}"
        )
    return f"{result.name} = {convert(computed.text, computed.dtype, result.type)}"


def elemwise1(
    a: Array,
    op: str,
    oper: str | None = None,
    op_tmpl: str = _OF_ONE,
    out: Array | None = None,
    convert_f16: bool = True,
) -> Array:
    """C's operator ``op`` of each element of ``a``; ``oper`` is a whole statement.

    >>> print(gpuarray.elemwise.elemwise1(gpuarray.arange(3), "-"))
    [ 0 -1 -2]
    """
    if out is None:
        out = a.allocate(a.shape, a.dtype, a.context, operation="elemwise1")
    args = [as_argument(out, "res", write=True), as_argument(a, "a", read=True)]
    text = oper or op_tmpl % {"op": op}
    if oper is None and op_tmpl == _OF_ONE:
        text = _statement("elemwise1", op, args, text)
    GpuElemwise(a.context, text, args)(out, a)
    return out


def _operand(x: Any) -> Any:
    """Return an array, or a number, which is weak if it is Python's."""
    if isinstance(x, BaseArray | bool | int | float | complex):
        return x
    number = np.asarray(x)
    if number.ndim:
        raise BadType(
            f"elemwise: got {type(x).__name__} of shape {number.shape}, expected a "
            "gpuarray array or a number; use gpuarray.asarray(x)"
        )
    return number[()]


def _argument(x: Any, name: str, dtype: DType) -> arg:
    """Return the argument of an operand; a Python number has the result's dtype."""
    if isinstance(x, BaseArray | np.generic):
        return as_argument(x, name, read=True)
    return arg(name, dtype, scalar=True)


def elemwise2(
    a: Any,
    op: str,
    b: Any,
    ary: Array,
    odtype: npt.DTypeLike | None = None,
    oper: str | None = None,
    op_tmpl: str = _OF_TWO,
    broadcast: bool = False,
    convert_f16: bool = True,
) -> Array:
    """C's operator ``op`` of ``a`` and ``b``, arrays or numbers; made like ``ary``.

    >>> a = gpuarray.arange(3)
    >>> print(gpuarray.elemwise.elemwise2(a, "*", 2, a))
    [0 2 4]
    """
    a, b = _operand(a), _operand(b)
    dtype = get_common_dtype(a, b, True) if odtype is None else odtype
    dtype = as_dtype(dtype, "elemwise2")
    shapes = [x.shape for x in (a, b) if isinstance(x, BaseArray)] or [ary.shape]
    shape = np.broadcast_shapes(*shapes) if broadcast else shapes[0]
    out: Array = ary.allocate(shape, dtype, ary.context, operation="elemwise2")
    args = [
        arg("res", dtype, write=True),
        _argument(a, "a", dtype),
        _argument(b, "b", dtype),
    ]
    text = oper or op_tmpl % {"op": op, "out_t": work_ctype(dtype)}
    if oper is None and op_tmpl == _OF_TWO:
        text = _statement("elemwise2", op, args, text)
    kernel = GpuElemwise(ary.context, text, args)
    kernel(out, a, b, broadcast=broadcast)
    return out


def ielemwise2(
    a: Array,
    op: str,
    b: Any,
    oper: str | None = None,
    op_tmpl: str = _IN_PLACE,
    broadcast: bool = False,
    convert_f16: bool = True,
) -> Array:
    """Store C's operator ``op`` of ``a`` and ``b`` into ``a``, and return it.

    >>> a = gpuarray.arange(3)
    >>> gpuarray.elemwise.ielemwise2(a, "+", 10) is a
    True
    >>> print(a)
    [10 11 12]
    """
    b = _operand(b)
    args = [as_argument(a, "a", read=True, write=True), _argument(b, "b", a.dtype)]
    text = oper or op_tmpl % {"op": op}
    if oper is None and op_tmpl == _IN_PLACE:
        text = _statement("ielemwise2", op, [args[0], *args], text)
    kernel = GpuElemwise(a.context, text, args)
    kernel(a, b, broadcast=broadcast)
    return a


def compare(
    a: Array, op: str, b: Any, broadcast: bool = False, convert_f16: bool = True
) -> Array:
    """Return C's comparison ``op`` of ``a`` and ``b``: an array of bool.

    >>> a = gpuarray.arange(3)
    >>> print(gpuarray.elemwise.compare(a, "<", a[::-1]))
    [ True False False]
    """
    b = _operand(b)
    dtype = get_common_dtype(a, b, True)
    shape = b.shape if broadcast and isinstance(b, BaseArray) else a.shape
    shape = np.broadcast_shapes(a.shape, shape)
    out: Array = a.allocate(shape, np.dtype(np.bool_), a.context, operation="compare")
    args = [
        as_argument(out, "res", write=True),
        _argument(a, "a", dtype),
        _argument(b, "b", dtype),
    ]
    text = _statement("compare", op, args, f"res = (a {op} b)")
    GpuElemwise(a.context, text, args)(out, a, b, broadcast=broadcast)
    return out
