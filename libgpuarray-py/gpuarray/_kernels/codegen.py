"""C text of scalar operations: pure functions of a row and its operands' dtypes.

Eager ufuncs and fused kernels are generated with these. NumPy determines the dtypes: an
operand is a dtype, or the Python type ``int``, ``float`` or ``complex`` of a constant,
which is weak: it takes the other operands' dtype (NEP 50). Values of float16 and
bfloat16 are float in all texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from gpuarray.dtypes import (
    Casting as Casting,
    as_dtype,
    as_numpy_knows,
    dtype_to_ctype,
    kind_of,
    parts_dtype,
    result_type,
    work_ctype,
    work_dtype,
)
from gpuarray.errors import BadType, BadValue
from gpuarray.scalars import Scalar

DType = np.dtype[Any]
Operand = DType | type[int] | type[float] | type[complex]

FOREIGN = "/* of a program's own */\n"
"""A marker in the support of a row that a program has added."""


class UfuncLoop(NamedTuple):
    """The dtypes that operands are converted to, and the result's dtype."""

    operands: tuple[DType, ...]
    result: DType

    @property
    def kind(self) -> str:
        """The key of ``Scalar.by_kind``: one letter, or one each if they differ."""
        kinds = "".join(kind_of(dtype) for dtype in self.operands)
        return kinds[0] if len(set(kinds)) == 1 else kinds

    @property
    def stored_kind(self) -> str:
        """``f16`` or ``bf16`` if the result is stored narrower than computed."""
        if work_dtype(self.result) == self.result:
            return ""
        return "f16" if self.result.kind == "f" else "bf16"


class Expression(NamedTuple):
    """A C expression without side effects, its dtype and its device functions.

    ``text`` is not parenthesised: give its value a name of the type
    ``work_ctype(dtype)`` before using it in another expression. ``support`` is the text
    of device functions to put before the kernel, once for all expressions.
    """

    text: str
    dtype: DType
    support: str


@cache
def resolve(
    row: Scalar,
    operands: tuple[Operand, ...],
    dtype: DType | None = None,
    casting: Casting = "same_kind",
) -> UfuncLoop:
    """Return the loop that NumPy would run for these operands.

    ``dtype`` sets the result's, and ``casting`` is the rule for the operands' casts, as
    in a call of NumPy's ufunc.

    >>> from gpuarray.scalars import SCALARS
    >>> resolve(SCALARS["true_div"], (np.dtype("int8"), int)).result
    dtype('float64')

    Raises BadType if NumPy has no loop for them, or a device none.
    """
    if len(operands) != row.arity:
        raise BadType(f"{row.name}: {len(operands)} operands, expected {row.arity}")
    ufunc = row.loops
    if row.gives_complex and dtype is not None:
        dtype = parts_dtype(dtype)
    try:
        if ufunc is None:
            dtypes = _joined(row, operands, dtype)
        elif ufunc.nin == len(operands):
            dtypes = _ufunc_loop(ufunc, operands, dtype, casting)
            dtypes = (*dtypes[: ufunc.nin], dtypes[ufunc.nin + row.output])
        else:
            raise TypeError(f"{ufunc.__name__} takes {ufunc.nin} operands")
    except TypeError as error:
        raise _no_loop(row, operands, str(error)) from None
    *inputs, result = (as_dtype(dtype, row.name) for dtype in dtypes)
    if row.gives_parts:
        result = parts_dtype(result)
    if row.gives_complex:
        result = result_type(work_dtype(result), complex)
    loop = UfuncLoop(tuple(inputs), result)
    if "c" in loop.kind and "c" not in row.by_kind and not row.joins:
        raise _no_loop(row, operands, "it is not defined for complex numbers")
    return loop


def _ufunc_loop(
    ufunc: np.ufunc,
    operands: tuple[Operand, ...],
    dtype: DType | None,
    casting: Casting,
) -> tuple[DType, ...]:
    """Return the dtypes of NumPy's loop, operands and results."""
    outs = (None,) * ufunc.nout
    options: dict[str, Any] = {}
    promoted = operands if dtype is None else (*operands, dtype)
    known, back = as_numpy_knows(promoted)
    if dtype is not None:
        options["signature"] = ((None,) * ufunc.nin) + (known[-1],) * ufunc.nout
        options["casting"] = casting
    # NumPy's own types mean weak; its annotations have dtypes only.
    loop = ufunc.resolve_dtypes((*known[: ufunc.nin], *outs), **options)
    return tuple(back.get(kind, kind) for kind in loop)


def _no_loop(row: Scalar, operands: tuple[Operand, ...], why: str) -> BadType:
    names = ", ".join(_name(operand) for operand in operands)
    return BadType(f"{row.name}: no loop for ({names}): {why}")


def _joined(
    row: Scalar, operands: tuple[Operand, ...], dtype: DType | None
) -> tuple[DType, ...]:
    """The loop of a row that promotes the operands in ``joins`` to its result."""
    result = dtype or result_type(*(operands[i] for i in row.joins))
    loop = [
        result if i in row.joins else _as_condition(v) for i, v in enumerate(operands)
    ]
    return (*loop, result)


def _as_condition(operand: Operand) -> DType:
    """Return an operand that is only compared with 0; devices compare no complex."""
    if isinstance(operand, type) or operand.kind == "c":
        return np.dtype(bool)
    return operand


def _name(operand: Operand) -> str:
    return f"Python {operand.__name__}" if isinstance(operand, type) else str(operand)


def convert(text: str, source: Operand, target: DType) -> str:
    """Return C text of the value of ``text`` cast as by NumPy's ``astype``.

    >>> convert("x", np.dtype("int32"), np.dtype("float16"))
    '(ga_float)(x)'
    """
    if source is target:
        return text
    if not isinstance(source, type) and work_dtype(source) == work_dtype(target):
        return text
    is_complex = not isinstance(source, type) and source.kind == "c"
    if target == np.bool_:
        if is_complex:
            return f"(ga_bool)(({text}).x != 0 || ({text}).y != 0)"
        return f"(ga_bool)(({text}) != 0)"
    real = work_ctype(parts_dtype(target))
    if target.kind != "c":
        return f"({real})({text}).x" if is_complex else f"({real})({text})"
    if is_complex:
        return f"ga_complex(({real})({text}).x, ({real})({text}).y)"
    return f"ga_complex(({real})({text}), ({real})0)"


@cache
def _expression(row: Scalar, operands: tuple[tuple[str, Operand], ...]) -> Expression:
    loop = resolve(row, tuple(operand for _, operand in operands))
    texts = [
        convert(text, source, target)
        for (text, source), target in zip(operands, loop.operands, strict=True)
    ]
    work = work_dtype(loop.operands[-1])
    result = work_ctype(loop.result)
    parts = parts_dtype(work)
    words = {"t": work_ctype(work), "f": "f" if parts == np.float32 else ""}
    words["p"] = work_ctype(parts)
    kind = loop.stored_kind if loop.stored_kind in row.by_kind else loop.kind
    text = row.c_text(kind).format(*texts, r=result, **words)
    support = row.device_functions(kind, words)
    support = once(support) if support else ""
    return Expression(text, loop.result, support if row.is_ours else FOREIGN + support)


def digest(content: Any, size: int = 8) -> str:
    """Return ``2 * size`` hexadecimal digits of a hash of the bytes."""
    # Loaded late: it opens a library of cryptography.
    hasher = import_module("hashlib").blake2b(content, digest_size=size)
    digits: str = hasher.hexdigest()
    return digits


def self_contained(text: str) -> str:
    """Mark the text of a kernel, or its preamble, as safe to compile with others.

    It must be made of rows. With a row of the program the text is returned as it is, to
    be compiled by itself: it may define anything.

    >>> self_contained("KERNEL void f() {}")
    'GA_SELF_CONTAINED\\nKERNEL void f() {}'
    """
    return text if FOREIGN in text else f"GA_SELF_CONTAINED\n{text}"


def once(support: str) -> str:
    """Return device functions with an include guard, so that they may be repeated.

    >>> print(once("int f(void);"), end="")
    #ifndef GA_ONCE_1f163201
    #define GA_ONCE_1f163201
    int f(void);
    #endif
    """
    guard = f"GA_ONCE_{digest(support.encode(), 4)}"
    return f"#ifndef {guard}\n#define {guard}\n{support}\n#endif\n"


def scalar_expression(
    row: Scalar, operands: Sequence[tuple[str, Operand]]
) -> Expression:
    """Return the C expression of ``row`` on operands given as (text, dtype or weak
    type).

    The text of an operand is a name or a literal, of the type ``work_ctype(dtype)``; a
    weak operand may have any arithmetic type. The expression casts operands to the
    dtypes of NumPy's loop, so that mixed dtypes give NumPy's result.

    >>> from gpuarray.scalars import SCALARS
    >>> f4, i4 = np.dtype("float32"), np.dtype("int32")
    >>> scalar_expression(SCALARS["add"], [("x", f4), ("n", i4)]).text
    '(ga_double)(x) + (ga_double)(n)'
    >>> scalar_expression(SCALARS["mul"], [("x", f4), ("2", int)]).text
    'x * (ga_float)(2)'
    """
    return _expression(row, tuple(operands))


def identity_text(row: Scalar, dtype: DType) -> str:
    """Return C text of the row's identity in ``dtype``, where a reduction starts.

    >>> from gpuarray.scalars import SCALARS
    >>> identity_text(SCALARS["maximum"], np.dtype("float32"))
    '(ga_float)(-INFINITY)'
    >>> identity_text(SCALARS["maximum"], np.dtype("uint8"))
    '(ga_ubyte)(0)'
    """
    identity = row.identity
    if row.integer_identity is not None and dtype.kind in "biu":
        identity = row.integer_identity
    if identity is None:  # NumPy's is no identity: hypot(0, -3) is 3
        identity = getattr(row.reference, "identity", None)
    if identity is None:
        raise BadValue(f"{row.name} has no identity")
    value: float = identity
    if dtype.kind == "c" and np.isinf(value):
        return literal(complex(value, value), dtype)
    if dtype.kind == "b":
        value = max(0, min(abs(value), 1)) if value != -np.inf else 0
    elif np.isinf(value) and dtype.kind in "iu":
        value = int(np.iinfo(dtype).min if value < 0 else np.iinfo(dtype).max)
    return literal(value, dtype)


def literal(value: Any, dtype: DType) -> str:
    """Return C text of a constant in the work type of ``dtype``, exact to the bit.

    >>> literal(0.1, np.dtype("float32"))
    '(ga_float)(0x1.99999a0000000p-4f)'
    """
    ctype = work_ctype(dtype)
    if dtype.kind == "c":
        number, parts = dtype.type(value), parts_dtype(dtype)
        x, y = (literal(part, parts) for part in (number.real, number.imag))
        return f"ga_complex({x}, {y})"
    if dtype.kind in "biu":
        return f"({ctype})({_integer(int(value))})"
    real = float(dtype.type(value))
    if np.isnan(real):
        return f"({ctype})(NAN)"
    if np.isinf(real):
        return f"({ctype})({'-' if real < 0 else ''}INFINITY)"
    suffix = "f" if ctype == "ga_float" else ""
    return f"({ctype})({real.hex()}{suffix})"


def _integer(value: int) -> str:
    """Return an integer as a C constant; the smallest one has no literal of its own."""
    if value == -(2**63):
        return f"(-{2**63 - 1}L - 1)"
    if value > 2**63 - 1:
        return f"{value}UL"
    return f"{value}" if abs(value) < 2**31 else f"{value}L"


def loaded(text: str, dtype: DType) -> str:
    """Return C text of an array's element in its work type.

    >>> loaded("x[0]", np.dtype("float16")), loaded("x[0]", np.dtype("float32"))
    ('ga_half2float(x[0])', 'x[0]')
    """
    if work_dtype(dtype) == dtype:
        return text
    return f"{dtype_to_ctype(dtype)}2float({text})"


def rounded(text: str, dtype: DType) -> str:
    """Return C text of a value in its storage type.

    >>> rounded("v", np.dtype("float16")), rounded("v", np.dtype("float32"))
    ('ga_float2half(v)', 'v')
    """
    if work_dtype(dtype) == dtype:
        return text
    return f"ga_float2{dtype_to_ctype(dtype).removeprefix('ga_')}({text})"


def as_stored(text: str, dtype: DType) -> str:
    """Return C text of a value as memory would hold it, in its work type.

    >>> as_stored("v", np.dtype("float16"))
    'ga_half2float(ga_float2half(v))'
    """
    return loaded(rounded(text, dtype), dtype)
