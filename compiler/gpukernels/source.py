"""C text of fused scalar operations: statements over named variables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gpuarray._kernels.codegen import (
    as_stored,
    convert,
    identity_text,
    scalar_expression,
    self_contained,
)
from gpuarray.compiler.ops.elemwise.draws import row_named
from gpuarray.compiler.ops.elemwise.elemwise import (
    Cast,
    Composite,
    CompositeStep,
    loop_dtypes,
)
from gpuarray.compiler.plan import ReduceComponent
from gpuarray.dtypes import work_ctype, work_dtype
from gpuarray.scalars import SCALARS, Scalar

Operand = tuple[str, str]
"""C text of a value without side effects, and its dtype."""
_CALL = re.compile(r"\w\(")


def calls_function(op: str) -> bool:
    """Return True if a row of the scalar table calls a function for each element."""
    return op in SCALARS and _CALL.search(SCALARS[op].expression) is not None


@dataclass(frozen=True, slots=True)
class Statements:
    """Statements that name values, the results, and their device functions."""

    text: str
    results: tuple[Operand, ...]
    support: str


def statements(
    scalar: Scalar | Composite | Cast, operands: Sequence[Operand], dtype: str
) -> Statements:
    """Return C statements that compute ``scalar``; ``dtype`` is that of a row's result.

    Each value gets a name of its own type, so no expression depends on precedence.
    """
    if not isinstance(scalar, Composite):
        name = scalar.name if isinstance(scalar, Scalar) else "cast"
        step = CompositeStep(name, tuple(range(len(operands))), dtype)
        scalar = Composite(tuple(d for _, d in operands), (step,), (len(operands),))
    values = list(operands)
    rounded_early = decisive(scalar.steps, [dtype for _, dtype in operands])
    lines: list[str] = []
    supports: dict[str, None] = {}
    for number, step in enumerate(scalar.steps):
        given = [values[i] for i in step.operands]
        text, support = expression(step, given, len(values) in rounded_early)
        name = f"t{number}"
        lines.append(f"const {work_ctype(np.dtype(step.dtype))} {name} = {text};")
        values.append((name, step.dtype))
        if support:
            supports[support] = None
    results = tuple(values[i] for i in scalar.outputs)
    return Statements("\n".join(lines), results, "\n".join(supports))


def decisive(steps: Sequence[Any], dtypes: Sequence[str]) -> frozenset[int]:
    """Return the values of 16 bits that a truth value or an integer is computed of.

    ``dtypes`` are those of the inputs, before the values of ``steps``. Kernels keep
    other values of 16 bits in float until they are stored; these are rounded at once:
    a decision is then the same wherever it is taken, and of what is stored.

    >>> double = CompositeStep("add", (0, 0), "float16")
    >>> equal = CompositeStep("eq", (1, 0), "bool")
    >>> decisive([double, equal], ["float16"])
    frozenset({1})
    """
    known = [*dtypes, *(step.dtype for step in steps)]
    return frozenset(
        value
        for step in steps
        if np.dtype(step.dtype).kind in "biu"
        for value in step.operands
        if value >= len(dtypes)
        and work_dtype(np.dtype(known[value])) != np.dtype(known[value])
    )


def expression(
    step: CompositeStep, operands: Sequence[Operand], is_rounded: bool = False
) -> tuple[str, str]:
    """Return a step's C expression in the step's dtype, and its device functions.

    ``is_rounded``: its value is as memory would hold it, as `decisive` ones are.
    """
    text, support = _expression(step, operands)
    return as_stored(text, np.dtype(step.dtype)) if is_rounded else text, support


def _expression(step: CompositeStep, operands: Sequence[Operand]) -> tuple[str, str]:
    target = np.dtype(step.dtype)
    if step.op == "cast":
        ((text, source),) = operands
        return convert(text, np.dtype(source), target), ""
    row = row_named(step.op)
    loop = loop_dtypes(row, [dtype for _, dtype in operands])
    converted = [
        (convert(text, np.dtype(source), np.dtype(to)), np.dtype(to))
        for (text, source), to in zip(operands, loop, strict=False)
    ]
    result = scalar_expression(row, converted)
    return convert(result.text, result.dtype, target), result.support


def reduction_fields(
    folds: Sequence[tuple[str, Any]], operands: Sequence[Operand], support: str
) -> dict[str, Any]:
    """The fields of a `Reduce` that tell what is folded, of ``operands``, and how.

    ``folds`` are monoids and the dtypes that they are computed in; ``support`` has the
    functions that the operands' texts call.
    """
    supports = dict.fromkeys([support])
    listed = []
    for (monoid, acc_dtype), (text, dtype) in zip(folds, operands, strict=True):
        acc, row = np.dtype(acc_dtype), SCALARS[monoid]
        combine = scalar_expression(row, [("a", acc), ("b", acc)])
        supports[combine.support] = None
        mapped, identity = convert(text, np.dtype(dtype), acc), identity_text(row, acc)
        listed.append(ReduceComponent(mapped, combine.text, identity, str(acc)))
    first, *more = listed
    return {
        "map": first.map,
        "combine": first.combine,
        "identity": first.identity,
        "acc_dtype": first.acc_dtype,
        "more": tuple(more),
        "preamble": self_contained("\n".join(filter(None, supports))),
    }


def extremum_fields(smallest: bool, operand: Operand, support: str) -> dict[str, Any]:
    """The fields of a `Reduce` of the position of an extremum of real numbers.

    A nan goes before every number, and of equal elements the first.
    """
    text, dtype = operand
    acc = np.dtype(dtype)
    row = SCALARS["minimum" if smallest else "maximum"]
    before, after = ("<", ">=") if smallest else (">", "<=")
    order = "{} " + before + " {}"
    if acc.kind == "f":
        order = "!({0} " + after + " {1}) & ({1} == {1})"
    goes_first, is_first = order.format("b0", "a0"), order.format("a0", "b0")
    return {
        "map": convert(text, acc, acc),
        "combine": f"(a1 <= b1 ? !({goes_first}) : ({is_first})) ? a : b",
        "identity": identity_text(row, acc),
        "acc_dtype": str(acc),
        "preamble": self_contained(support),
    }
