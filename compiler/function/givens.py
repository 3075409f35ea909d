"""Givens: copies of expressions in which variables are replaced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpuarray.compiler.errors import (
    CompilerError,
    GraphTypeError,
    GraphValueError,
    made_at,
)
from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.graph.traverse import (
    ancestors,
    clone as copy_nodes,
    clone_replace,
)
from gpuarray.compiler.graph.types import ArrayType, Generic, GpuArrayType, fits
from gpuarray.compiler.ops.sparse.matrix import as_sparse_variable, is_sparse
from gpuarray.compiler.ops.variables.basic import as_tensor_variable

Pairs = Mapping[Any, Any] | Iterable[tuple[Any, Any]]
Replacements = dict[Variable, Variable]


def variable_pairs(pairs: Pairs | None, what: str) -> list[tuple[Variable, Any]]:
    """Return pairs of variable and expression, from a mapping or a list of pairs.

    ``what`` names the function and its argument. Raises TypeError for what is no pair,
    ValueError for a variable given twice.
    """
    if pairs is not None and not isinstance(pairs, Iterable):
        raise GraphTypeError(
            f"{what} is {pairs!r}, a {type(pairs).__name__}; expected a mapping of "
            "variables to expressions, or a list of pairs"
        )
    listed = list(pairs.items() if isinstance(pairs, Mapping) else pairs or ())
    variables: set[Variable] = set()
    for pair in listed:
        if not (isinstance(pair, list | tuple) and len(pair) == 2):
            raise GraphTypeError(
                f"{what} holds {pair!r}; expected pairs of a variable and "
                "its expression"
            )
        variable = pair[0]
        if not isinstance(variable, Variable):
            raise GraphTypeError(
                f"{what} has an expression for {variable!r}, a "
                f"{type(variable).__name__}; expected a variable"
            )
        if variable in variables:
            raise GraphValueError(
                f"{what} names {variable} twice; give one expression for it"
            )
        variables.add(variable)
    return [(variable, expression) for variable, expression in listed]


def check_computable(variables: Iterable[Variable]) -> None:
    """Raise TypeError for a variable of the type Generic, a Python object."""
    for variable in variables:
        if isinstance(variable.type, Generic):
            raise GraphTypeError(
                made_at(
                    f"function: {variable} is of the type Generic, an object of "
                    "Python; functions compute with arrays: give it to the op when "
                    "that is made, or make an array of it",
                    getattr(variable.tag, "trace", None),
                )
            )


def value_for(variable: Variable, value: Any) -> Variable:
    """Return an expression; a number or an array becomes a constant of the type.

    Raises TypeError for a value that the type cannot hold.
    """
    if isinstance(value, Apply):
        return value.out
    if isinstance(value, Variable):
        return value
    has_variables = isinstance(value, list | tuple) and any(
        isinstance(item, Variable | Apply) for item in value
    )
    if is_sparse(variable):
        matrix: Variable = as_sparse_variable(value)
        return matrix
    if has_variables or not isinstance(variable.type, ArrayType):
        constant: Variable = as_tensor_variable(value)
        return constant
    kind = variable.type
    host = kind.host if isinstance(kind, GpuArrayType) else kind
    return Constant(host, host.filter(value))


def fits_either(kind: ArrayType, place: ArrayType) -> bool:
    """True if values of a type fit the type ``place``: arrays or sparse matrices."""
    is_alike = getattr(kind, "format", None) == getattr(place, "format", None)
    return is_alike and fits(kind, place)


def is_same_kind(kind: ArrayType, place: ArrayType) -> bool:
    """True if types are the same but for the context."""
    return fits_either(kind, place) and kind.broadcastable == place.broadcastable


def replacement(
    variable: Variable,
    value: Any,
    strict: bool,
    caller: str = "function",
    option: str = "rebuild_strict",
) -> Variable:
    """Return the replacement of a variable; if ``strict``, of the same type.

    Errors name the caller, and its option that makes it ``strict``.
    """
    try:
        expression = value_for(variable, value)
    except CompilerError as error:
        raise type(error)(
            f"{caller}: {variable} of {variable.type} is given: {error}"
        ) from error
    if strict and not fits_either(expression.type, variable.type):
        raise GraphTypeError(
            made_at(
                f"{caller}: {variable} of {variable.type} is given {expression} of "
                f"{expression.type}, which does not fit; convert it, or pass "
                f"{option}=False to infer the types anew",
                getattr(expression.tag, "trace", None),
            )
        )
    return expression


def replacements(pairs: Pairs | None, strict: bool = True) -> Replacements:
    """Return the replacement of each variable, with the others replaced in it.

    In its own expression a variable stays: ``{a: a + 10}``. Raises ValueError for a
    cycle of givens.
    """
    given = variable_pairs(pairs, "function: givens")
    direct = {v: replacement(v, e, strict) for v, e in given}
    final: Replacements = {}
    for variable in direct:
        _resolve(variable, direct, final)
    return final


def _resolve(variable: Variable, direct: Replacements, final: Replacements) -> None:
    """Resolve the replacements that a replacement needs, then itself."""
    stack = [variable]
    while stack:
        current = stack[-1]
        needed = _needed(current, direct)
        waiting = [other for other in needed if other not in final]
        if not waiting:
            known = {other: final[other] for other in needed}
            expression = direct[current]
            final[current] = clone_replace(expression, known) if known else expression
            stack.pop()
            continue
        if waiting[0] in stack:
            circle = [*stack[stack.index(waiting[0]) :], waiting[0]]
            raise GraphValueError(
                "function: givens go in a circle: "
                f"{' needs '.join(map(str, circle))}; replace by expressions of other "
                "variables"
            )
        stack.append(waiting[0])


def _needed(variable: Variable, direct: Replacements) -> list[Variable]:
    """Return the other given variables that a variable's expression needs, in order."""
    behind = ancestors([direct[variable]], blockers=direct)
    return [other for other in behind if other in direct and other is not variable]


def replaced(outputs: Sequence[Variable], known: Replacements) -> list[Variable]:
    """Return the expressions with variables replaced."""
    return clone_replace(outputs, known) if known else list(outputs)


def clone(
    output: Any,
    replace: Pairs | None = None,
    strict: bool = True,
    share_inputs: bool = True,
    copy_inputs: bool | None = None,
) -> Any:
    """Return a copy of an expression, or of a list of them, with variables replaced.

    The copy has nodes of its own. Its inputs are those of the expression, or with
    ``share_inputs=False`` copies of them; ``copy_inputs`` is an older name of that.
    ``replace`` is a mapping or a list of pairs; if ``strict``, a replacement has the
    variable's type. All are replaced at once, so an expression may hold the variable
    that it replaces. None gives None.

    >>> from gpuarray.compiler import tensor as T
    >>> x, y = T.dvectors("x", "y")
    >>> str(clone(x, replace={x: y}))
    'y'
    """
    if output is None:
        return None
    single = isinstance(output, Variable)
    is_one = single or not isinstance(output, Iterable)
    outputs = [output] if is_one else list(output)
    for expression in outputs:
        if not isinstance(expression, Variable):
            raise GraphTypeError(f"clone: given {expression!r}, expected variables")
    substitutes = {
        v: replacement(v, e, strict, "clone", "strict")
        for v, e in variable_pairs(replace, "clone: replace")
    }
    changed = replaced(outputs, substitutes)
    memo: Replacements = {}
    if not (share_inputs if copy_inputs is None else copy_inputs):
        for leaf in ancestors(changed):
            if leaf.owner is None:
                memo[leaf] = leaf.clone()
    copies = copy_nodes(changed, memo)
    return copies[0] if single else copies
