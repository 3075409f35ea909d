"""Masks that keep the zeros of choices in gradients zeros.

The side of a `where` that is not chosen, and elements that an index leaves out, have a
gradient of 0. It is multiplied by derivatives further back, which may be infinite or
nan, as of a logarithm at 0: the product would be nan. So a gradient that may have such
zeros is multiplied under a mask: the condition if the gradient is a choice itself, else
where the gradient is not 0; a view of a masked gradient has a view of its mask. Other
gradients are multiplied without.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.graph.types import ArrayType
from gpuarray.compiler.living import Living
from gpuarray.compiler.ops.broadcast.broadcast import BroadcastTo
from gpuarray.compiler.ops.creation.joining import Split
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.elemwise.elemwise import Cast, Composite, Elemwise
from gpuarray.compiler.ops.shape.shape import DimShuffle, Reshape
from gpuarray.compiler.ops.slicing.subtensor import IncSubtensor, Subtensor
from gpuarray.scalars import SCALARS, Scalar

Mask = Callable[[Variable], Variable]
Pull = Callable[[Variable], Sequence[Any]]

_CHOICE, _FACTOR = SCALARS["where"], SCALARS["where_nonzero"]
_SUMS = [SCALARS[name] for name in ("add", "sub", "neg")]
_PRODUCTS = [SCALARS[name] for name in ("mul", "true_div")]
_SAMPLES = (0.3, -0.7, 2.5)
_KNOWN: Living[Variable, bool] = Living()

VIEWS = (DimShuffle, BroadcastTo, Reshape, Split, Subtensor)
"""Ops whose result has elements of their first input, at any place."""


def protected(node: Apply, g: Variable, pull: Pull) -> list[Any]:
    """Return an elementwise node's gradients, 0 where a choice left zeros.

    ``pull`` returns the gradient of each input, linear in its argument.
    """
    terms = masked(g, pull, [*node.inputs, *node.outputs])
    return [
        _beside_zeros(node, index, term) if _is_array(term) else term
        for index, term in enumerate(terms)
    ]


def masked(g: Variable, pull: Pull, given: Sequence[Variable]) -> list[Any]:
    """Return ``pull``'s result of a gradient, 0 where a choice left zeros in it.

    ``given`` are the variables that it multiplies with.
    """
    terms = list(pull(g))
    waiting = [
        index
        for index, term in enumerate(terms)
        if _is_array(term) and not _is_finite_multiple(term, g, given)
    ]
    if waiting and holds_zeros(g):
        value, mask = _opened(g)
        inner = terms if value is g else list(pull(value))
        for index in waiting:
            terms[index] = mask(inner[index])
    return terms


def times(g: Variable, slope: Variable) -> Variable:
    """A gradient times a slope, zero where a choice left zeros in the gradient."""
    (product,) = masked(g, lambda value: [value * slope], [slope])
    result: Variable = product
    return result


def over(g: Variable, divisor: Variable) -> Variable:
    """Return a gradient divided, zero where a choice left zeros in it."""
    (quotient,) = masked(g, lambda value: [value / divisor], [divisor])
    result: Variable = quotient
    return result


def chosen(g: Variable) -> Variable:
    """Return ``g`` as a gradient with zeros: that of one element of many."""
    return _where_nonzero(g, g)


def added(a: Variable, b: Variable) -> Variable | None:
    """Return the sum of two gradients under their common mask; else None."""
    if a.type != b.type:
        return None
    for row, name in ((_CHOICE, "where"), (_FACTOR, "where_nonzero")):
        x, y = _operands(a, row), _operands(b, row)
        if x is None or y is None or x[0] is not y[0]:
            continue
        if row is _FACTOR:
            return math.FUNCTIONS[name](x[0], x[1] + y[1])
        for place in (1, 2):
            if is_zeros(x[place]) and is_zeros(y[place]):
                sides = [x[0], x[1] + y[1], x[2] + y[2]]
                sides[place] = x[place]
                return math.FUNCTIONS[name](*sides)
    return None


def pushed(node: Apply, directions: Sequence[Variable | None]) -> Variable | None:
    """Return the derivative of a product under a mask; None for another node.

    It is zero if neither the masking factor nor its direction is there.
    """
    parts = _operands(node.outputs[0], _FACTOR)
    direction = directions[-1]
    if parts is None or direction is None:
        return None
    at = math.FUNCTIONS["ne"](parts[0], 0)
    if directions[0] is not None:
        at = math.FUNCTIONS["logical_or"](at, math.FUNCTIONS["ne"](directions[0], 0))
    return math.FUNCTIONS["where"](at, direction, 0)


def _operands(variable: Variable, row: Scalar) -> Sequence[Variable] | None:
    """Return the operands if this row computes the variable."""
    owner = variable.owner
    return owner.inputs if owner is not None and _scalar(owner) is row else None


def _scalar(node: Apply) -> Scalar | Cast | Composite | None:
    """Return the scalar op of an elementwise node; None for other nodes."""
    return node.op.scalar if isinstance(node.op, Elemwise) else None


def _where_nonzero(factor: Variable, product: Variable) -> Variable:
    is_complex = str(factor.type.dtype).startswith("complex")
    at = math.FUNCTIONS["ne"](factor, 0) if is_complex else factor
    return math.FUNCTIONS["where_nonzero"](at, product)


def _opened(g: Variable) -> tuple[Variable, Mask]:
    """Return a gradient with zeros as a value and its mask.

    One mask serves a whole chain of products, which so remain products. Where the
    chain goes through views, so does the mask: a product may be 0 itself, where it is
    too small for its dtype, and that is no choice. A sum begins a chain of its own.
    """
    sides = _operands(g, _CHOICE)
    if sides is not None:
        condition, a, b = sides
        if is_zeros(b) and not holds_zeros(a):
            return _as(a, g), lambda term: math.where(condition, term, 0)
        if is_zeros(a) and not holds_zeros(b):
            return _as(b, g), lambda term: math.where(condition, 0, term)
    parts = _operands(g, _FACTOR)
    if parts is not None and not _is_masked(parts[1]):
        return _as(parts[1], g), lambda term: _where_nonzero(parts[0], term)
    at = None if _has_mask(g) else _chosen_at(g)
    if at is not None:
        return g, lambda term: math.where(at, term, 0)
    return g, lambda term: _where_nonzero(g, term)


def _has_mask(g: Variable) -> bool:
    """Return True if a gradient is a product under a mask, or a choice with zeros."""
    sides = _operands(g, _CHOICE)
    is_choice = sides is not None and any(map(is_zeros, sides[1:]))
    return is_choice or _operands(g, _FACTOR) is not None


def _opened_mask(g: Variable) -> tuple[Variable, Variable]:
    """Return the condition of such a mask, and the value under it."""
    parts = _operands(g, _FACTOR)
    if parts is not None:
        return math.FUNCTIONS["ne"](parts[0], 0), parts[1]
    condition, a, b = g.owner.inputs  # type: ignore[union-attr]
    if is_zeros(b):
        return condition, a
    return math.FUNCTIONS["logical_not"](condition), b


def _viewed(node: Apply) -> int | None:
    """Return the place of the input whose elements a node returns; None for others."""
    if isinstance(node.op, VIEWS):
        return 0
    if isinstance(node.op, IncSubtensor):
        return 1 if is_zeros(node.inputs[0]) else None
    scalar = _scalar(node)
    if isinstance(scalar, Cast) or scalar is SCALARS["neg"]:
        return 0
    values = _values(node) if isinstance(scalar, Scalar) and scalar.joins else ()
    return node.inputs.index(values[0]) if len(values) == 1 else None


def _chosen_at(g: Variable) -> Variable | None:
    """Return where no choice left a zero in a gradient; None if no mask tells that."""
    owner = g.owner
    if owner is None:
        return None
    if _has_mask(g):
        at, value = _opened_mask(g)
        if at.type.broadcastable != g.type.broadcastable:  # views need all elements
            at = math.FUNCTIONS["second"](g, at)
        is_factor = _operands(g, _FACTOR) is not None
        if not (_is_masked(value) if is_factor else holds_zeros(value)):
            return at
        inner = _chosen_at(value)
        return None if inner is None else math.FUNCTIONS["logical_and"](at, inner)
    place = _viewed(owner)
    inner = None if place is None else _chosen_at(owner.inputs[place])
    if inner is None or place is None:
        return None
    if isinstance(owner.op, IncSubtensor):
        zeros = math.zeros_like(owner.inputs[0], "bool")
        spread: Variable = owner.op.as_set(True)(zeros, inner, *owner.inputs[2:])
        return spread
    if isinstance(owner.op, VIEWS):
        return owner.op.make_node(inner, *owner.inputs[1:]).outputs[g.index or 0]
    if len(owner.inputs) == 1:
        return inner
    inputs = [inner if i == place else x for i, x in enumerate(owner.inputs)]
    repeated: Variable = owner.op(*inputs)
    return repeated


def _is_masked(variable: Variable) -> bool:
    """Return True if a term of it has a mask, but for signs and numbers."""
    waiting, visited = [variable], {variable}
    while waiting:
        current = waiting.pop()
        if _operands(current, _CHOICE) or _operands(current, _FACTOR):
            return True
        new = [term for term in _terms(current) if term not in visited]
        visited.update(new)
        waiting += new
    return False


def _terms(variable: Variable) -> Sequence[Variable]:
    """Return the terms of a sum, a multiple or a view; nothing for others."""
    owner = variable.owner
    if owner is None:
        return ()
    if isinstance(owner.op, DimShuffle):
        return owner.inputs
    row = _scalar(owner)
    parts = [operand for operand in owner.inputs if _number(operand) is None]
    is_sum = row in _SUMS or isinstance(row, Cast)
    return parts if is_sum or (row in _PRODUCTS and len(parts) == 1) else ()


def _as(value: Variable, g: Variable) -> Variable:
    return math.cast(value, g.type.dtype)


def _is_finite_multiple(
    term: Variable, g: Variable, operands: Sequence[Variable]
) -> bool:
    """Return True if a term is the gradient but for signs, numbers and choices."""
    if term is g:
        return True
    if isinstance(term, Constant):
        return bool(np.all(np.isfinite(term.data)))
    owner = term.owner
    if owner is None or any(term is operand for operand in operands):
        return False
    if isinstance(owner.op, DimShuffle):
        values: Sequence[Variable] = owner.inputs
    elif isinstance(owner.op, Elemwise) and not isinstance(owner.op.scalar, Composite):
        values = _values(owner)
    else:
        return False
    return all(_is_finite_multiple(value, g, operands) for value in values)


def _values(node: Apply) -> Sequence[Variable]:
    """Return the operands of an elementwise node that its results' values are from."""
    scalar = _scalar(node)
    if scalar is _CHOICE and (truth := _settled(node.inputs[0])) is not None:
        return [node.inputs[1 if truth else 2]]
    if isinstance(scalar, Scalar) and scalar.joins:
        return [node.inputs[place] for place in scalar.joins]
    return node.inputs


def _settled(condition: Variable) -> bool | None:
    """Return the value of a condition of constants; None for others."""
    number = _number(condition)
    owner = condition.owner
    if number is None and owner is not None and isinstance(owner.op, Elemwise):
        row, numbers = owner.op.scalar, [_number(operand) for operand in owner.inputs]
        if isinstance(row, Scalar) and all(value is not None for value in numbers):
            return bool(row.reference(*numbers))
    return None if number is None else bool(number)


def _beside_zeros(node: Apply, index: int, term: Variable) -> Variable:
    """Return a term under the masks of the other operands that make the result 0."""
    row = _scalar(node)
    if not isinstance(row, Scalar) or row.arity == 1 or row.joins:
        return term
    for place, operand in enumerate(node.inputs):
        if place == index or not annihilates(row, place):
            continue
        if holds_zeros(operand):
            term = _where_nonzero(operand, term)
    return term


@lru_cache(maxsize=4096)
def annihilates(row: Scalar, place: int) -> bool:
    """Return True if a row is 0 where an operand is, for finite others."""
    return all(
        _is_zero(row, [0.0 if i == place else sample for i in range(row.arity)])
        for sample in _SAMPLES
    )


def _is_zero(row: Scalar, operands: Sequence[Any]) -> bool:
    """Return True if a row is 0 for numbers."""
    try:
        with np.errstate(all="ignore"):
            value = row.reference(
                *(np.asarray(operand, "float64") for operand in operands)
            )
    except (TypeError, ValueError):  # integers only
        return False
    return bool(np.all(np.asarray(value) == 0))


def is_zeros(variable: Variable) -> bool:
    """Return True if all elements are 0 by construction: a number, repeated or cast."""
    while not isinstance(variable, Constant):
        owner = variable.owner
        if owner is None:
            return False
        if isinstance(owner.op, (DimShuffle, BroadcastTo)):
            variable = owner.inputs[0]
        elif isinstance(owner.op, Elemwise) and len(values := _values(owner)) == 1:
            if not isinstance(owner.op.scalar, Cast) and len(owner.inputs) == 1:
                return False
            variable = values[0]
        else:
            return False
    return not np.any(variable.data)


def holds_zeros(variable: Variable) -> bool:
    """Return True if elements may be zeros because something else is chosen.

    It is a choice with 0 on one side, a comparison as a number, elements among zeros,
    or computed from such by operations that keep zeros.
    """
    waiting = [variable]
    while waiting:
        current = waiting[-1]
        new = [operand for operand in _asked(current) if operand not in _KNOWN]
        if current in _KNOWN or not new:
            waiting.pop()
            _KNOWN.setdefault(current, _holds(current))
        else:
            waiting += new
    return _KNOWN[variable]


def _asked(variable: Variable) -> Sequence[Variable]:
    """Return the variables that decide whether another has zeros."""
    owner = variable.owner
    if owner is None or _is_truth(variable):
        return ()
    if isinstance(owner.op, Elemwise):
        return _values(owner)
    if len(owner.inputs) == 1:
        return owner.inputs
    return [operand for operand in owner.inputs if _is_number(operand)]


def _is_array(term: Any) -> bool:
    """Return True if a term exists and is defined."""
    return isinstance(term, Variable) and isinstance(term.type, ArrayType)


def _is_truth(variable: Variable) -> bool:
    return _is_array(variable) and variable.type.dtype == "bool"


def _is_number(variable: Variable) -> bool:
    return _is_array(variable) and variable.type.dtype.startswith(
        ("float", "bfloat", "complex")
    )


def _holds(variable: Variable) -> bool:
    """Return True if it has zeros, by its operands."""
    if _is_truth(variable):
        return True
    if isinstance(variable, Constant):
        return not variable.is_sparse and not np.all(variable.data)
    owner = variable.owner
    if owner is None:
        return False
    operands = _asked(variable)
    flags = [_KNOWN[operand] for operand in operands]
    if not isinstance(owner.op, Elemwise):
        return owner.op.leaves_zeros or any(flags)
    row = owner.op.scalar
    if row is _FACTOR:
        return True
    if not isinstance(row, Scalar) or row.joins:
        return any(flags)
    return any(
        flag and annihilates(row, place) for place, flag in enumerate(flags)
    ) or _keeps_zero(row, operands, flags)


def _keeps_zero(
    row: Scalar, operands: Sequence[Variable], flags: Sequence[bool]
) -> bool:
    """Return True if a row is 0 where all operands but numbers are zeros of choices."""
    if not any(flags):
        return False
    values: list[Any] = []
    for operand, flag in zip(operands, flags, strict=True):
        number = _number(operand)
        if number is None and not flag:
            return False
        values.append(0.0 if number is None else number)
    return _is_zero(row, values)


def _number(variable: Variable) -> Any:
    """Return the real number that all elements are, or None."""
    while variable.owner is not None and isinstance(variable.owner.op, DimShuffle):
        variable = variable.owner.inputs[0]
    if not isinstance(variable, Constant) or np.iscomplexobj(variable.data):
        return None
    return variable.data.reshape(-1)[0] if variable.data.size == 1 else None
