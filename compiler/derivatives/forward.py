"""Forward mode: the directional derivatives of outputs, node by node.

An op needs no rule: its gradient is linear in the gradients of its outputs, so the
derivative of that, along the direction, is the direction at its outputs. Two reverse
passes make a forward one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from gpuarray.compiler.derivatives import choices
from gpuarray.compiler.derivatives.forms import form_of
from gpuarray.compiler.derivatives.node import (
    carries,
    fitted,
    is_null,
    pulled_back,
    total,
)
from gpuarray.compiler.derivatives.reverse import (
    ReturnDisconnected,
    absent,
    choice,
    flow,
    is_connected,
    listed,
    points_for,
    shaped_as,
)
from gpuarray.compiler.errors import (
    DisconnectedInputError,
    GraphTypeError,
    GraphValueError,
    NoGradientError,
    NullTypeGradError,
    made_at,
)
from gpuarray.compiler.graph.core import (
    Apply,
    Constant,
    Variable,
    derived,
    literal_floats_are,
    traced_as,
)
from gpuarray.compiler.graph.disconnected import DisconnectedType
from gpuarray.compiler.graph.traverse import (
    ancestors,
    clone_replace,
    inputs_of,
    toposort,
)
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.sparse import matrix

Directions = dict[Variable, Variable]
DisconnectedOutputs = Literal["raise", "ignore"]


def Rop(
    f: Any,
    wrt: Any,
    eval_points: Any,
    disconnected_outputs: DisconnectedOutputs = "raise",
    return_disconnected: ReturnDisconnected = "zero",
) -> Any:
    """Return the Jacobian of ``f`` with respect to ``wrt`` times ``eval_points``.

    ``f`` is a variable, or a list or tuple of them; so is the result, each of the type
    of its expression. ``eval_points`` has a direction for each of ``wrt``, of its
    shape; None is no movement. An expression that depends on none of ``wrt`` is an
    error unless ``disconnected_outputs`` is ``"ignore"``; the result is then what
    ``return_disconnected`` says, as of `grad`. That of a constant is zeros.

    Raises ValueError where numbers of variables or of axes differ,
    DisconnectedInputError, and NotImplementedError where an operation on the way has no
    gradient.
    """
    policy = choice(
        "Rop: disconnected_outputs", disconnected_outputs, DisconnectedOutputs
    )
    form = choice("Rop: return_disconnected", return_disconnected, ReturnDisconnected)
    outputs = listed(f, "Rop: f")
    variables = listed(wrt, "Rop: wrt")
    starts = _directions(wrt, eval_points)
    directed = [*variables, *starts.values()]
    directions = pushed(outputs, starts)
    results: list[Any] = []
    for output in outputs:
        if output in directions:
            direction = _defined(output, directions[output])
            if direction.owner is not None:
                derived(direction, output, *directed)
            results.append(direction)
            continue
        if _is_still(output, variables):
            results.append(derived(math.zeros_like(output), output, *directed))
            continue
        if policy == "raise":
            raise DisconnectedInputError(
                made_at(
                    f"Rop: {output} depends on none of the variables, or not through "
                    "differentiable operations; leave it out, or pass "
                    "disconnected_outputs='ignore' for zeros",
                    getattr(output.tag, "trace", None),
                )
            )
        results.append(absent(output, form))
    return shaped_as(f, results)


def _is_still(output: Variable, variables: Sequence[Variable]) -> bool:
    """Return True if the derivative is zero: of constants, or by integers."""
    if not carries(output):
        return False
    leaves = inputs_of([output])
    return all(isinstance(leaf, Constant) for leaf in leaves) or any(
        is_connected([output], variable) for variable in variables
    )


def _directions(wrt: Any, eval_points: Any) -> Directions:
    """Return the direction of each variable that moves, in the variable's type."""
    variables = listed(wrt, "Rop: wrt")
    points = points_for(variables, eval_points, "Rop", "variables")
    directions: Directions = {}
    for variable, point in zip(variables, points, strict=True):
        if point is None:
            continue
        direction = matrix.as_either(point)
        if direction.type.ndim != variable.type.ndim:
            raise GraphValueError(
                f"Rop: the direction of {variable} of {variable.type} is {direction} "
                f"of {direction.type}; expected {variable.type.ndim} axes"
            )
        if not carries(variable):
            raise GraphTypeError(
                f"Rop: {variable} is of {variable.type}; only real numbers move"
            )
        directions[variable] = fitted(direction, variable)
    return directions


def _defined(output: Variable, direction: Variable) -> Variable:
    if is_null(direction):
        raise NullTypeGradError(
            made_at(
                f"Rop: the derivative of {output} is undefined: "
                f"{direction.type.why_null}",
                getattr(output.tag, "trace", None),
            )
        )
    return direction


def pushed(
    outputs: Sequence[Variable],
    directions: Mapping[Variable, Variable],
    stops: Sequence[Variable] = (),
) -> Directions:
    """Return the directions of all variables between ``directions`` and ``outputs``.

    ``stops`` are further variables that do not move.
    """
    known = dict(directions)
    order = toposort(outputs, blockers={*directions, *stops})
    read = {*outputs, *(variable for node in order for variable in node.inputs)}
    kept = set(directions)
    graph = read | {variable for node in order for variable in node.outputs}
    for node in order:
        inputs = [known.get(variable) for variable in node.inputs]
        if all(direction is None for direction in inputs):
            continue
        form = form_of(node, graph, kept)
        if form is not None and node.outputs[0] not in known:
            starts = {v: known[v] for v in form.leaves if v in known}
            with traced_as(node.trace):
                moved = pushed([form.expression], starts, form.leaves)
            if form.expression in moved:
                known[node.outputs[0]] = moved[form.expression]
            continue
        needed = [variable in read for variable in node.outputs]
        results = push_forward(node, inputs, needed)
        for output, result in zip(node.outputs, results, strict=True):
            if result is not None and output not in known:
                known[output] = result
    return known


def push_forward(
    node: Apply, directions: Sequence[Variable | None], wanted: Sequence[bool]
) -> list[Variable | None]:
    """Return the directions of a node's outputs, None for zero.

    ``wanted`` flags the outputs that are needed.
    """
    nulls = [
        direction
        for direction in directions
        if direction is not None and is_null(direction)
    ]
    if nulls:
        return [nulls[0] if carries(output) else None for output in node.outputs]
    own = getattr(node.op, "R_op", None)
    if own is not None:
        try:
            return _of_op(node, own, directions)
        except NotImplementedError:  # two reverse passes instead
            pass
    moved = choices.pushed(node, directions)
    if moved is not None:
        return [_result(moved, node.outputs[0])]
    return by_two_passes(node, directions, wanted)


def _of_op(
    node: Apply, own: Any, directions: Sequence[Variable | None]
) -> list[Variable | None]:
    """Return the op's own derivative, in the types of its outputs."""
    dtype = next(
        direction.type.dtype for direction in directions if direction is not None
    )
    with traced_as(node.trace), literal_floats_are(dtype):
        results = own(list(node.inputs), list(directions))
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        if len(results) != len(node.outputs):
            raise GraphValueError(
                made_at(
                    f"Rop: {node.op} gives {len(results)} directions for "
                    f"{len(node.outputs)} outputs",
                    node.trace,
                )
            )
        return [
            _result(result, output)
            for result, output in zip(results, node.outputs, strict=True)
        ]


def _result(result: Any, output: Variable) -> Variable | None:
    if result is None or not carries(output):
        return None
    if isinstance(result, Variable):
        if isinstance(result.type, DisconnectedType):
            return None
        if is_null(result):
            return result
    return fitted(result, output)


def by_two_passes(
    node: Apply, directions: Sequence[Variable | None], wanted: Sequence[bool]
) -> list[Variable | None]:
    """Return the directions of the wanted outputs by the gradient of the op's gradient.

    With ``u`` in place of the outputs' gradients, the inputs' gradients are linear in
    ``u``; their derivative by ``u`` along the directions is the result. ``u`` itself is
    gone then, but for its shape, which is that of the output.
    """
    dummies = [
        output.type(f"u{i}") if is_wanted and carries(output) else None
        for i, (output, is_wanted) in enumerate(zip(node.outputs, wanted, strict=True))
    ]
    moved = [direction is not None for direction in directions]
    if all(dummy is None for dummy in dummies):
        return list(dummies)
    terms = pulled_back(node, dummies, moved, "Rop")
    for term in terms:
        if term is not None and is_null(term):
            return [None if dummy is None else term for dummy in dummies]
    seeds: Directions = {}
    for term, direction in zip(terms, directions, strict=True):
        if term is not None and direction is not None:
            direction = matrix.stored_as(direction, term)
            known = seeds.get(term)
            seeds[term] = direction if known is None else total(known, direction, term)
    edge = [*node.inputs, *node.outputs, *seeds.values()]
    with traced_as(node.trace):
        try:
            flows = flow(seeds, [dummy for dummy in dummies if dummy is not None], edge)
        except NoGradientError as error:
            raise NoGradientError(
                made_at(
                    f"Rop: {node.op} has no R_op, and its gradient cannot be "
                    f"differentiated: {error}",
                    node.trace,
                )
            ) from error
        pairs = zip(dummies, node.outputs, strict=True)
        places = {dummy: output for dummy, output in pairs if dummy is not None}
        flows = _with_zeros(flows, places, edge)
    return [None if dummy is None else flows.get(dummy) for dummy in dummies]


def _with_zeros(
    terms: Directions, places: Directions, edge: Sequence[Variable]
) -> Directions:
    """Return the derivatives with zeros of the outputs' shapes in place of dummies.

    Nothing past ``edge`` is changed.
    """
    behind = ancestors(terms.values(), blockers=edge)
    zeros = {
        variable: fitted(math.zeros_like(places[variable]), variable)
        for variable in behind
        if variable in places
    }
    if not zeros:
        return terms
    fixed = {variable: variable for variable in edge}
    clean = clone_replace(list(terms.values()), fixed | zeros)
    return dict(zip(terms, clean, strict=True))
