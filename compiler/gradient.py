"""Reverse mode: asks each node, from the cost back, what flows to its inputs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Literal, overload

from gpuarray.compiler.errors import (
    DisconnectedInputError,
    GraphTypeError,
    GraphValueError,
    NoGradientError,
    made_at,
)
from gpuarray.compiler.graph.core import (
    Apply,
    Variable,
    constant,
    is_float,
    literal_floats_are,
    traced_as,
)
from gpuarray.compiler.graph.traverse import toposort
from gpuarray.compiler.ops import broadcast, linalg, math, reduce, shape
from gpuarray.compiler.ops.basic import as_tensor_variable
from gpuarray.compiler.ops.transfer import like

Disconnected = Literal["raise", "warn", "ignore"]
Gradients = dict[Variable, Variable]


def _namespace() -> SimpleNamespace:
    """What a gradient is written with: the functions of `ops` by name."""
    families = (shape, broadcast, linalg, reduce, math)
    found: dict[str, Any] = {}
    for family in families:
        public = {k: v for k, v in vars(family).items() if not k.startswith("_")}
        found |= {k: v for k, v in public.items() if callable(v)}
    return SimpleNamespace(**found | math.FUNCTIONS, known_gradients=known_gradients)


@overload
def grad(
    cost: Variable | None,
    wrt: Variable,
    consider_constant: Sequence[Variable] | None = None,
    known_grads: Mapping[Variable, Any] | None = None,
    disconnected_inputs: Disconnected = "raise",
) -> Variable: ...
@overload
def grad(
    cost: Variable | None,
    wrt: Sequence[Variable],
    consider_constant: Sequence[Variable] | None = None,
    known_grads: Mapping[Variable, Any] | None = None,
    disconnected_inputs: Disconnected = "raise",
) -> list[Variable]: ...
def grad(
    cost: Variable | None,
    wrt: Any,
    consider_constant: Sequence[Variable] | None = None,
    known_grads: Mapping[Variable, Any] | None = None,
    disconnected_inputs: Disconnected = "raise",
) -> Any:
    """The gradient of ``cost``, a scalar, with respect to each variable of ``wrt``.

    ``wrt`` is a variable, or a list or tuple of them; so is the result. Nothing flows
    through ``consider_constant``. ``known_grads`` gives gradients of further variables
    (then ``cost`` may be None). Raises TypeError for a cost that is no scalar of real
    numbers, and, unless ``disconnected_inputs`` says to warn or to ignore,
    DisconnectedInputError for a variable that the cost does not depend on; its gradient
    is zero then.

    >>> from gpuarray.compiler import tensor as T
    >>> x = T.dscalar("x")
    >>> print(grad(x ** 3, x).type)
    TensorType(float64, scalar)
    """
    if disconnected_inputs not in ("raise", "warn", "ignore"):
        raise GraphValueError(
            f"grad: disconnected_inputs={disconnected_inputs!r}; it takes 'raise', "
            "'warn' or 'ignore'"
        )
    variables = [wrt] if isinstance(wrt, Variable) else list(wrt)
    for variable in variables:
        if not isinstance(variable, Variable):
            raise GraphTypeError(
                f"grad: wrt holds {variable!r}, a {type(variable).__name__}; expected "
                "variables"
            )
    seeds = _seeds(cost, known_grads or {})
    found = _flow(seeds, variables, consider_constant or ())
    results = [
        found[variable]
        if variable in found
        else _disconnected(cost, variable, disconnected_inputs)
        for variable in variables
    ]
    if isinstance(wrt, Variable):
        return results[0]
    return tuple(results) if isinstance(wrt, tuple) else results


def Lop(f: Any, wrt: Any, eval_points: Any, consider_constant: Any = None) -> Any:
    """``eval_points`` times the Jacobian of ``f`` with respect to ``wrt``."""
    outputs = [f] if isinstance(f, Variable) else list(f)
    points = [eval_points] if isinstance(f, Variable) else list(eval_points)
    known = dict(zip(outputs, points, strict=True))
    return grad(None, wrt, consider_constant, known)


def known_gradients(
    outputs: Sequence[Variable],
    gradients: Sequence[Variable | None],
    wrt: Sequence[Variable],
) -> list[Variable | None]:
    """What flows to ``wrt`` from outputs of known gradients; None: nothing."""
    pairs = zip(outputs, gradients, strict=True)
    seeds: Gradients = {}
    for output, gradient in pairs:
        if gradient is not None:
            _add(seeds, output, gradient)
    found = _flow(seeds, wrt, ())
    return [found.get(variable) for variable in wrt]


def _seeds(cost: Variable | None, known: Mapping[Variable, Any]) -> Gradients:
    """The gradients that the flow starts from."""
    seeds: Gradients = {}
    if cost is not None:
        if not isinstance(cost, Variable):
            raise GraphTypeError(
                f"grad: cost is a {type(cost).__name__}, expected a variable"
            )
        _check_cost(cost)
        _add(seeds, cost, constant(1, cost.type.dtype))
    elif not known:
        raise GraphValueError("grad: cost is None; give a cost, or known_grads")
    for variable, gradient in known.items():
        _add(seeds, variable, as_tensor_variable(gradient))
    return seeds


def _check_cost(cost: Variable) -> None:
    trace = getattr(cost.tag, "trace", None)
    if cost.type.ndim != 0:
        raise GraphTypeError(
            made_at(
                f"grad: cost must be a scalar, given {cost} of {cost.type}; sum it, "
                "or take its mean",
                trace,
            )
        )
    if not is_float(cost):
        raise GraphTypeError(
            made_at(
                f"grad: cost must be of real numbers, given {cost} of {cost.type}; "
                "integers have no gradient",
                trace,
            )
        )


def _disconnected(
    cost: Variable | None, variable: Variable, policy: Disconnected
) -> Variable:
    """Zeros for a variable that the cost does not depend on, or the error."""
    reason = (
        "the cost does not depend on it through differentiable operations"
        if is_float(variable)
        else f"it is of {variable.type}, and gradients flow through real numbers only"
    )
    end = "the outputs" if cost is None else str(cost)
    message = made_at(
        f"grad: {variable} is disconnected from {end}: "
        f"{reason}; leave it out, or pass disconnected_inputs='ignore' for zeros",
        getattr(variable.tag, "trace", None),
    )
    if policy == "raise":
        raise DisconnectedInputError(message)
    if policy == "warn":
        warnings.warn(message, stacklevel=3)
    return math.zeros_like(variable, None if is_float(variable) else "floatX")


def _flow(
    seeds: Gradients, wrt: Sequence[Variable], stops: Sequence[Variable]
) -> Gradients:
    """The gradients of ``wrt``, for those that the seeds' variables depend on."""
    order = toposort(seeds, blockers=stops)
    reached = _depends_on(order, wrt, stops)
    found = {each: gradient for each, gradient in seeds.items() if each in reached}
    for node in reversed(order):
        gradients = [found.get(output) for output in node.outputs]
        if any(each in reached for each in node.inputs) and any(
            gradient is not None for gradient in gradients
        ):
            for each, term in zip(node.inputs, _ask(node, gradients), strict=True):
                if term is not None and each in reached:
                    _add(found, each, term)
    return {each: found[each] for each in wrt if each in found}


def _depends_on(
    order: Sequence[Apply], wrt: Sequence[Variable], stops: Sequence[Variable]
) -> set[Variable]:
    """The variables of real numbers that ``wrt`` flows into, themselves included."""
    reached = {each for each in wrt if is_float(each)}
    for node in order:
        if any(each in reached for each in node.inputs):
            reached.update(each for each in node.outputs if is_float(each))
    return reached - set(stops)


def _ask(
    node: Apply, gradients: Sequence[Variable | None]
) -> Sequence[Variable | None]:
    """What the node says flows to its inputs, in the inputs' types."""
    dtype = next(each.type.dtype for each in gradients if each is not None)
    with traced_as(node.trace), literal_floats_are(dtype):
        try:
            terms = node.op.pull_back(M, node.inputs, node.outputs, gradients)
        except NotImplementedError as error:
            raise NoGradientError(
                made_at(f"grad: {node.op}: {error}", node.trace)
            ) from error
        if len(terms) != len(node.inputs):
            raise GraphValueError(
                made_at(
                    f"grad: {node.op} gives {len(terms)} gradients for "
                    f"{len(node.inputs)} inputs",
                    node.trace,
                )
            )
        return [
            None if term is None or not is_float(each) else _fit(term, each)
            for term, each in zip(terms, node.inputs, strict=True)
        ]


def _add(gradients: Gradients, variable: Variable, term: Variable) -> None:
    """Let ``term`` flow to ``variable`` too."""
    term = _fit(term, variable)
    before = gradients.get(variable)
    with traced_as(getattr(variable.tag, "trace", None)):
        gradients[variable] = term if before is None else _fit(before + term, variable)


def _fit(term: Any, variable: Variable) -> Variable:
    """A gradient in the type of the variable: what was broadcast is summed."""
    if isinstance(term, Variable) and term.type == variable.type:
        return term
    found = as_tensor_variable(term)
    missing = variable.type.ndim - found.type.ndim
    if missing > 0:
        found = shape.shape_padleft(found, missing)
    elif missing < 0:
        raise GraphTypeError(
            f"grad: the gradient of {variable} of {variable.type} has "
            f"{found.type.ndim} axes"
        )
    found = reduce.sum_to(found, variable)
    if found.type.broadcastable != variable.type.broadcastable:
        found = math.second(variable, found)
    return like(math.cast(found, variable.type.dtype), variable.type)


M = _namespace()
