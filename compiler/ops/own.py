"""Operations of a program's own on each element: a row of the table, by a decorator."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.ops.math import function_of
from gpuarray.scalars import SCALARS
from gpuarray.scalars.references import floating
from gpuarray.scalars.table import scalar

_FLOAT = re.compile(
    r"(?<![\w.])(\d+\.\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)(?![\w.])"
)


OWN: dict[str, tuple[str, str]] = {}
"""Where the operations of a program's own are decorated, and their texts, by name."""


def elementwise_op(
    expression: str, reference: Callable[..., Any], *, support: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Variable]]:
    """Make an operation on each element of a C expression and its gradient.

    The decorated function is the gradient: given the functions of ops ``m``, the
    gradient ``g`` of the output ``y`` and the operands, it returns what flows to each
    operand, None where nothing does. Its name is the operation's, its parameters name
    the operands in ``expression``, which is C for any real type: a number such as
    ``0.5`` has the operands' type. ``reference`` is the same with NumPy. ``support`` is
    the text of device functions that the expression calls, in which ``{t}`` is the type
    that is computed in.

    The result of one or two operands has a float dtype, for integers that of NumPy's
    quotient; that of more has their common dtype. It broadcasts, fuses with what is
    around it, and works in half precision, like all rows.

    >>> from gpuarray.compiler import function, grad, tensor as T
    >>> @elementwise_op("x / (1 + exp(-x))", lambda x: x / (1 + np.exp(-x)))
    ... def own_swish(m, g, y, x):
    ...     s = m.sigmoid(x)
    ...     return g * (s + y * (1 - s))
    >>> x = T.fvector("x")
    >>> print(own_swish(x).type, grad(own_swish(x).sum(), x).type)
    TensorType(float32, vector) TensorType(float32, vector)

    Raises ValueError where another operation has the name.
    """

    def make(gradient: Callable[..., Any]) -> Callable[..., Variable]:
        operands = operands_of(gradient)
        name = gradient.__name__
        text = row_text(expression, operands)
        check_free(name, text)
        code = getattr(gradient, "__code__", None)
        place = f"{code.co_filename}:{code.co_firstlineno}" if code else "unknown"
        OWN[name] = place, text
        loops: dict[str, Any] = {"joins": tuple(range(len(operands)))}
        by_numpy = in_common_dtype(reference)
        if len(operands) <= 2:
            loops = {"typed_as": np.exp if len(operands) == 1 else np.true_divide}
            by_numpy = floating(reference, **loops)  # type: ignore[no-untyped-call]
        register = scalar(text, by_numpy, support=support, **loops)
        return function_of(register(gradient))

    return make


def own_within(label: str, text: str = "") -> list[str]:
    """The operations of a program's own that a step has, with their places.

    They are named by its label, or the words of theirs are in its text.
    """
    names = set(re.findall(r"\w+", label))
    words = set(re.findall(r"[^\W\d]\w+", text))
    return [
        f"{name} ({place})"
        for name, (place, row) in OWN.items()
        if name in names or set() < _words(row) <= words
    ]


def _words(row: str) -> set[str]:
    """The names that an expression has besides its operands'."""
    return set(re.findall(r"[^\W\d]\w+", row))


def in_common_dtype(reference: Callable[..., Any]) -> Callable[..., Any]:
    """The reference on arrays of their common dtype, half precision as float32."""

    def computed(*operands: Any) -> Any:
        dtype = np.result_type(*operands)
        work = np.dtype("float32") if dtype.name == "float16" else dtype
        arrays = [np.asarray(each).astype(work, copy=False) for each in operands]
        return np.asarray(reference(*arrays)).astype(dtype)

    return computed


def operands_of(gradient: Callable[..., Any]) -> list[str]:
    """The names of the operands: the gradient's parameters behind ``m, g, y``."""
    names = list(inspect.signature(gradient).parameters)
    if names[:2] != ["m", "g"] or len(names) < 4:
        raise GraphTypeError(
            f"{gradient.__name__}: the gradient takes ({', '.join(names)}), expected "
            "(m, g, y, ...) and a name for each operand"
        )
    return names[3:]


def row_text(expression: str, operands: list[str]) -> str:
    """The expression as rows have it: operands by place, literals of their type.

    >>> row_text("0.5 * x + fmax(x, y)", ["x", "y"])
    '0.5{f} * {0} + fmax({0}, {1})'
    """
    text = expression.replace("{", "{{").replace("}", "}}")
    text = _FLOAT.sub(r"\1{f}", text)
    places = {name: f"{{{place}}}" for place, name in enumerate(operands)}
    names = "|".join(map(re.escape, operands))
    found = re.sub(rf"\b({names})\b", lambda match: places[match[0]], text)
    unused = [name for name in operands if places[name] not in found]
    if unused:
        raise GraphValueError(
            f"elementwise_op: {expression!r} does not use {', '.join(unused)}"
        )
    return found


def check_free(name: str, text: str) -> None:
    """Raise where the name is taken by something else; a module may be loaded again."""
    row = SCALARS.get(name)
    if row is not None and row.expression != text:
        raise GraphValueError(
            f"elementwise_op: the name {name!r} is taken by {row.expression!r}; choose "
            "another"
        )
