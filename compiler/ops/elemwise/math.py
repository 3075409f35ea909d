"""Functions of variables: one for each row of the scalar table, and composed ones.

The rows' functions are made below: `math.exp(x)` exists because the table has a row
`exp`. `ALIASES` has other names of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce as fold
from typing import Any

from gpuarray.compiler.config import config
from gpuarray.compiler.errors import GraphTypeError
from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.graph.disconnected import NullType
from gpuarray.compiler.graph.types import dtype_name, is_integer_name
from gpuarray.compiler.ops.elemwise.elemwise import Cast, Elemwise
from gpuarray.compiler.ops.variables.basic import as_tensor_variable
from gpuarray.scalars import SCALARS, Scalar

Function = Callable[..., Variable]

ALIASES = {
    "abs_": "abs",
    "and_": "bitwise_and",
    "bitwise_not": "invert",
    "conj": "conjugate",
    "fill": "second",
    "floor_div": "floor_divide",
    "int_div": "floor_divide",
    "inv": "reciprocal",
    "neq": "ne",
    "or_": "bitwise_or",
    "pow": "power",
    "round": "rint",
    "round_half_to_even": "rint",
    "sgn": "sign",
    "sqr": "square",
    "switch": "where",
    "xor": "bitwise_xor",
}


def function_of(row: Scalar) -> Function:
    """Return the function that applies a row to variables, numbers and arrays."""
    op = Elemwise(row)

    def apply(*operands: Any) -> Variable:
        if row.associates and len(operands) > row.arity:
            folded: Variable = fold(apply, operands)
            return folded
        result: Variable = op(*operands)
        return result

    apply.scalar_op = row  # type: ignore[attr-defined]
    apply.__name__ = apply.__qualname__ = row.name
    apply.__doc__ = f"`{row.name}` of each element, as NumPy's; operands broadcast."
    return apply


ROWS: dict[str, Function] = {name: function_of(row) for name, row in SCALARS.items()}


def true_div(a: Any, b: Any) -> Variable:
    """Return ``a / b``; the quotient of integers has dtype floatX.

    ``config.int_division`` may ask for ``a // b`` instead, or for TypeError.
    """
    operands = [as_tensor_variable(a), as_tensor_variable(b)]
    if all(is_integer_name(operand.type.dtype) for operand in operands):
        if config.int_division == "int":
            return ROWS["floor_divide"](*operands)
        if config.int_division == "raise":
            raise GraphTypeError(
                f"true_div: {operands[0]} and {operands[1]} are integers, whose / "
                "int_division='raise' forbids; write //, or cast one of them"
            )
        operands[0] = cast(operands[0], "floatX")
        operands[1] = cast(operands[1], "floatX")
    return ROWS["true_div"](*operands)


def cast(x: Any, dtype: Any) -> Variable:
    """Return ``x`` as ``dtype``, or ``x`` itself; ``"floatX"``: the configured float.

    To bool, a number is whether it is not 0. Raises TypeError for a cast of complex
    numbers to real ones.
    """
    variable = as_tensor_variable(x)
    target = dtype_name(dtype)
    if variable.type.dtype == target:
        return variable
    is_to_be_real = target != "bool" and not target.startswith("complex")
    if variable.type.dtype.startswith("complex") and is_to_be_real:
        raise GraphTypeError(
            f"cast: given {variable} of {variable.type}, expected real numbers for "
            f"{target}; take real(x), imag(x) or abs(x)"
        )
    result: Variable = Elemwise(Cast(target))(variable)
    return result


def unknown(what: str) -> Variable:
    """Return the gradient of an operand for which a row offers none."""
    return NullType(f"the gradient of {what} is not implemented")()


def zeros_like(model: Any, dtype: Any = None, opt: bool = False) -> Variable:
    """Zeros in the shape of ``model``, of its dtype or another.

    ``opt`` is Theano's and changes nothing.
    """
    return _filled_like(model, 0, dtype)


def ones_like(model: Any, dtype: Any = None, opt: bool = False) -> Variable:
    """Ones in the shape of ``model``, of its dtype or another, as ``zeros_like``."""
    return _filled_like(model, 1, dtype)


def _filled_like(model: Any, value: int, dtype: Any) -> Variable:
    if getattr(model, "is_sparse", False):  # a matrix, with the same places
        sparse: Variable = model.ones_like(dtype) if value else model.zeros_like(dtype)
        return sparse
    variable = as_tensor_variable(model)
    result_dtype = variable.type.dtype if dtype is None else dtype_name(dtype)
    return ROWS["second"](variable, core.constant(value, result_dtype))


def divmod(a: Any, b: Any) -> tuple[Variable, Variable]:
    """The pair ``(a // b, a % b)``."""
    return ROWS["floor_divide"](a, b), ROWS["mod"](a, b)


def largest(*operands: Any) -> Variable:
    """The greatest of the operands at each element."""
    return fold(ROWS["maximum"], operands[1:], as_tensor_variable(operands[0]))


def smallest(*operands: Any) -> Variable:
    """The least of the operands at each element."""
    return fold(ROWS["minimum"], operands[1:], as_tensor_variable(operands[0]))


def isclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Variable:
    """Return a mask of elements equal within ``atol + rtol * |b|``."""
    row = ROWS
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    bound = row["add"](atol, row["mul"](rtol, row["abs"](b)))
    near = row["le"](row["abs"](row["sub"](a, b)), bound)
    close = row["where"](row["isfinite"](b), near, row["eq"](a, b))
    if not equal_nan:
        return close
    return row["logical_or"](
        close, row["logical_and"](row["isnan"](a), row["isnan"](b))
    )


true_div.scalar_op = SCALARS["true_div"]  # type: ignore[attr-defined]

FUNCTIONS: dict[str, Function] = {**ROWS, "true_div": true_div}
FUNCTIONS |= {alias: FUNCTIONS[name] for alias, name in ALIASES.items()}


def __getattr__(name: str) -> Function:
    try:
        return FUNCTIONS[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> Sequence[str]:
    return sorted({*globals(), *FUNCTIONS})
