"""Reverse mode: the gradients of each node's inputs, from the cost back."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, get_args, overload

from gpuarray.compiler.config import config
from gpuarray.compiler.derivatives.branches import Branches
from gpuarray.compiler.derivatives.forms import FiniteForm, form_of
from gpuarray.compiler.derivatives.node import (
    M,
    carries,
    conjugates,
    connections,
    connections_told,
    fitted,
    is_complex,
    is_null,
    total,
)
from gpuarray.compiler.errors import (
    DisconnectedInputError,
    GraphTypeError,
    GraphValueError,
    NullTypeGradError,
    made_at,
)
from gpuarray.compiler.graph.core import (
    Apply,
    Constant,
    Variable,
    constant,
    derived,
    sources_of,
    traced_as,
)
from gpuarray.compiler.graph.disconnected import disconnected_type
from gpuarray.compiler.graph.ordering import arranged
from gpuarray.compiler.graph.traverse import clone_replace, toposort
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.sparse import matrix
from gpuarray.compiler.ops.variables.basic import as_tensor_variable

Disconnected = Literal["raise", "warn", "ignore"]
ReturnDisconnected = Literal["zero", "None", "Disconnected"]
GradientOf = dict[Variable, Variable]


@overload
def grad(
    cost: Variable | None,
    wrt: Variable,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: Disconnected = "raise",
    add_names: bool = True,
    known_grads: Mapping[Variable, Any] | None = None,
    return_disconnected: ReturnDisconnected = "zero",
    null_gradients: Literal["raise", "return"] = "raise",
) -> Variable: ...
@overload
def grad(
    cost: Variable | None,
    wrt: Sequence[Variable],
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: Disconnected = "raise",
    add_names: bool = True,
    known_grads: Mapping[Variable, Any] | None = None,
    return_disconnected: ReturnDisconnected = "zero",
    null_gradients: Literal["raise", "return"] = "raise",
) -> list[Variable]: ...
def grad(
    cost: Variable | None,
    wrt: Any,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: Disconnected = "raise",
    add_names: bool = True,
    known_grads: Mapping[Variable, Any] | None = None,
    return_disconnected: ReturnDisconnected = "zero",
    null_gradients: Literal["raise", "return"] = "raise",
) -> Any:
    """Return the gradient of ``cost``, a scalar, by each variable of ``wrt``.

    ``wrt`` is a variable, or a list or tuple of them; so is the result. Each gradient
    has its variable's type, that of integers is real. Integers have no gradient through
    them: a cost of integers has the gradient 1.0 by itself. By a complex variable it is
    the derivative by the real part plus i times that by the imaginary part.

    ``consider_constant`` are constants. ``known_grads`` has gradients of further
    variables (then ``cost`` may be None). Where the cost depends on a variable by
    integers, comparisons or indices only, the gradient is zeros, and so is that of a
    derivative which is the same for all values. A variable that the cost does not
    depend on is an error unless ``disconnected_inputs`` is ``"warn"`` or ``"ignore"``;
    its gradient is then what ``return_disconnected`` says: zeros, None, or a variable
    of ``DisconnectedType``. With ``null_gradients="return"`` an undefined gradient is a
    variable of ``NullType``, not an error. ``add_names`` calls the gradient of ``c`` by
    ``x`` ``(dc/dx)`` where both have names.

    Raises TypeError for a cost that is no scalar or complex, DisconnectedInputError,
    NullTypeGradError, and NotImplementedError where an operation on the way has no
    gradient.

    >>> from gpuarray.compiler import tensor as T
    >>> x = T.dscalar("x")
    >>> print(grad(x ** 3, x).type)
    TensorType(float64, scalar)
    """
    policy = choice("grad: disconnected_inputs", disconnected_inputs, Disconnected)
    form = choice("grad: return_disconnected", return_disconnected, ReturnDisconnected)
    nulls = choice("grad: null_gradients", null_gradients, Literal["raise", "return"])
    variables = listed(wrt, "grad: wrt")
    seeds = _seeds(cost, gradients_known(known_grads or {}, "grad: known_grads"))
    constants = listed(consider_constant or (), "grad: constants")
    gradient_of = flow(seeds, variables, constants)
    results: list[Any] = []
    for variable in variables:
        gradient = gradient_of.get(variable)
        if gradient is None and is_connected(seeds, variable, constants):
            zeros = math.zeros_like(variable, None if carries(variable) else "floatX")
            results.append(derived(zeros, *seeds))
            continue
        if gradient is None:
            _complain(cost, variable, policy)
            results.append(absent(variable, form))
            continue
        if nulls == "raise":
            _check_not_null(gradient, variable)
        if _is_new(gradient, seeds, known_grads):
            derived(gradient, *seeds)
            if add_names:
                _name(gradient, cost, variable)
        results.append(gradient)
    return shaped_as(wrt, results)


def choice(name: str, value: Any, choices: Any) -> Any:
    """Return an option's Literal text, in capitals or not; ``"none"``: None.

    Raises ValueError for another.
    """
    texts = {text.lower(): text for text in get_args(choices)}
    if str(value).lower() not in texts:
        listed = " or ".join(map(repr, texts.values()))
        raise GraphValueError(f"{name}={value!r}; it takes {listed}")
    return texts[str(value).lower()]


def listed(argument: Any, what: str) -> list[Variable]:
    """Return one variable or several as a list. Raises TypeError for others."""
    several = isinstance(argument, Iterable) and not isinstance(argument, Variable)
    variables = list(argument) if several else [argument]
    for variable in variables:
        if not isinstance(variable, Variable):
            raise GraphTypeError(
                f"{what} holds {variable!r}, a {type(variable).__name__}; expected "
                "variables"
            )
    return variables


def points_for(
    variables: Sequence[Variable], eval_points: Any, operation: str, what: str
) -> list[Any]:
    """Return as many ``eval_points`` as variables, as a list."""
    several = isinstance(eval_points, list | tuple)
    points = list(eval_points) if several else [eval_points]
    if len(points) != len(variables):
        raise GraphValueError(
            f"{operation}: given {len(points)} eval_points for {len(variables)} {what}"
        )
    return points


def gradients_known(given: Any, what: str) -> Mapping[Variable, Any]:
    """Return a mapping of variables to gradients. Raises TypeError for others."""
    if not isinstance(given, Mapping):
        raise GraphTypeError(
            f"{what} is {given!r}, a {type(given).__name__}; expected a mapping of "
            "variables to their gradients"
        )
    return given


def shaped_as(given: Any, results: list[Any]) -> Any:
    """Return the results as ``given`` is: one, a tuple, or a list."""
    if isinstance(given, Variable):
        return results[0]
    return tuple(results) if isinstance(given, tuple) else results


def Lop(
    f: Any,
    wrt: Any,
    eval_points: Any,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: Disconnected = "raise",
) -> Any:
    """Return ``eval_points`` times the Jacobian of ``f`` with respect to ``wrt``.

    ``f`` is a variable or several, ``eval_points`` as many, of their shapes. The result
    is a variable for each of ``wrt``, of its type. Raises as `grad` does, and
    ValueError where the numbers of variables differ.
    """
    outputs = listed(f, "Lop: f")
    points = points_for(outputs, eval_points, "Lop", "expressions")
    known = Seeds(zip(outputs, points, strict=True))
    return grad(
        None, wrt, consider_constant, disconnected_inputs, False, known_grads=known
    )


def gradients_within(
    graph: Callable[[Sequence[Variable]], Sequence[Variable]],
    gradients: Sequence[Variable | None],
    inputs: Sequence[Variable],
) -> list[Variable | None]:
    """Return the gradient of each input of a graph; None if disconnected.

    As in an op's own gradient, those of complex numbers are conjugates of `grad`'s.
    A variable may be given for several inputs, or be computed from another: so each
    input is a variable of its own until its gradient is known. But integer constants,
    which have no gradient, are used directly.
    """
    places = [
        variable
        if isinstance(variable, Constant) and not carries(variable)
        else variable.type()
        for variable in inputs
    ]
    seeds: GradientOf = {}
    for output, gradient in zip(graph(places), conjugates(gradients), strict=True):
        if gradient is not None:
            seeds[output] = total(seeds.get(output), fitted(gradient, output), output)
    terms = flow(seeds, places, places)
    final = {gradient: gradient for gradient in gradients if gradient is not None}
    final |= zip(places, inputs, strict=True)  # nothing before a gradient has places
    filled = clone_replace(list(terms.values()), final)
    gradient_of = dict(zip(terms, filled, strict=True))
    return conjugates([gradient_of.get(place) for place in places])


M.gradients_within = gradients_within


def subgraph_grad(
    wrt: Sequence[Variable],
    end: Sequence[Variable],
    start: Mapping[Variable, Any] | None = None,
    cost: Variable | None = None,
    details: bool = False,
) -> Any:
    """Return the gradients of a part of a graph, between ``start`` and ``end``.

    ``start`` maps variables to their gradients, ``cost`` is a further scalar to begin
    with; ``end`` stops the gradients. The result is two lists, the gradients of ``wrt``
    and of ``end``; the second with ``end`` is the ``start`` of the next part. With
    ``details`` there follow the lists of the contributions of ``start`` and of
    ``cost``, None for one not given.
    """
    if start is None and cost is None:
        raise GraphValueError("subgraph_grad: give start, or cost, or both")
    variables = [*listed(wrt, "subgraph_grad: wrt"), *listed(end, "subgraph_grad: end")]
    known = gradients_known(start or {}, "subgraph_grad: start")
    from_start = _part(None, variables, end, known) if known else None
    from_cost = _part(cost, variables, end, None) if cost is not None else None
    parts = [part for part in (from_start, from_cost) if part is not None]
    sums = [sum(terms[1:], start=terms[0]) for terms in zip(*parts, strict=True)]
    split = len(variables) - len(end)
    if details:
        return sums[:split], sums[split:], from_start, from_cost
    return sums[:split], sums[split:]


def _part(
    cost: Variable | None,
    variables: list[Variable],
    end: Sequence[Variable],
    known: Mapping[Variable, Any] | None,
) -> list[Variable]:
    return grad(cost, variables, end, "ignore", known_grads=known)


class Seeds(dict[Variable, Any]):
    """Known gradients, of which those of a variable named twice add up."""

    def __init__(self, pairs: Iterable[tuple[Variable, Any]]) -> None:
        super().__init__()
        for variable, gradient in pairs:
            point = as_tensor_variable(gradient)
            self[variable] = self[variable] + point if variable in self else point


def _seeds(cost: Variable | None, known: Mapping[Variable, Any]) -> GradientOf:
    """Return the gradients that reverse mode starts from."""
    seeds: GradientOf = {}
    if cost is not None:
        if not isinstance(cost, Variable):
            raise GraphTypeError(
                f"grad: cost is a {type(cost).__name__}, expected a variable"
            )
        _check_cost(cost)
        seeds[cost] = constant(1, cost.type.dtype if carries(cost) else config.floatX)
    elif not known:
        raise GraphValueError("grad: cost is None; give a cost, or known_grads")
    for variable, gradient in known.items():
        point = _known(variable, gradient)
        seeds[variable] = total(seeds.get(variable), point, variable)
    return seeds


def _known(variable: Variable, gradient: Any) -> Variable:
    """Return a known gradient in the type of its variable, checked to have its axes."""
    (checked,) = listed(variable, "grad: known_grads")
    point = matrix.as_either(gradient)
    if point.type.ndim != checked.type.ndim:
        raise GraphTypeError(
            f"grad: the known gradient of {checked} of {checked.type} is {point} of "
            f"{point.type}; expected {checked.type.ndim} axes"
        )
    return fitted(point, checked)


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
    if is_complex(cost):
        raise GraphTypeError(
            made_at(
                f"grad: cost must be of real numbers, given {cost} of {cost.type}; "
                "take the real part, or the absolute value",
                trace,
            )
        )


def _complain(cost: Variable | None, variable: Variable, policy: Disconnected) -> None:
    """Raise, warn or be silent about a variable that the cost does not depend on."""
    if policy == "ignore":
        return
    reason = (
        "the cost does not depend on it through differentiable operations"
        if carries(variable)
        else f"it is of {variable.type}, and no gradient flows to it"
    )
    end = "the outputs" if cost is None else str(cost)
    message = made_at(
        f"grad: {variable} is disconnected from {end}: "
        f"{reason}; leave it out, or pass disconnected_inputs='ignore' for zeros",
        getattr(variable.tag, "trace", None),
    )
    if policy == "raise":
        raise DisconnectedInputError(message)
    warnings.warn(message, stacklevel=4)


def absent(variable: Variable, form: ReturnDisconnected) -> Variable | None:
    """Return the placeholder of a gradient that is disconnected."""
    if form == "None":
        return None
    if form == "Disconnected":
        return disconnected_type()
    return math.zeros_like(variable, None if carries(variable) else "floatX")


def _check_not_null(gradient: Variable, variable: Variable) -> None:
    if is_null(gradient):
        raise NullTypeGradError(
            made_at(
                f"grad: the gradient by {variable} is undefined: "
                f"{gradient.type.why_null}; leave the variable out, or pass "
                "null_gradients='return'",
                getattr(variable.tag, "trace", None),
            )
        )


def is_connected(
    results: Iterable[Variable], variable: Variable, stops: Sequence[Variable] = ()
) -> bool:
    """Return True if results depend on a variable by ways that ops do not exclude.

    The gradient may be zero, through integers or as the derivative of a linear one.
    """
    visited = set(stops) - {variable}
    stack = list(results)
    patterns: dict[Apply, list[list[bool]]] = {}
    while stack:
        current = stack.pop()
        if current is variable:
            return True
        if current in visited:
            continue
        visited.add(current)
        stack += sources_of(current)
        node = current.owner
        if node is None:
            continue
        if node not in patterns:
            patterns[node] = connections_told(node)
        stack += [
            operand
            for operand, row in zip(node.inputs, patterns[node], strict=True)
            if row[current.index or 0]
        ]
    return False


def _is_new(gradient: Variable, seeds: GradientOf, known: Any) -> bool:
    """Return True if a gradient was built here, not given by the program."""
    if gradient.owner is None:
        return isinstance(gradient, Constant) and not known
    return gradient not in seeds.values()


def _name(gradient: Variable, cost: Variable | None, variable: Variable) -> None:
    """Name a new gradient ``(dcost/dx)``."""
    names = None if cost is None else cost.name, variable.name
    if all(names) and gradient.owner is not None and gradient.name is None:
        gradient.name = f"(d{names[0]}/d{names[1]})"


def flow(
    seeds: GradientOf, wrt: Sequence[Variable], stops: Sequence[Variable]
) -> GradientOf:
    """Return the gradients of ``wrt``, for those that the seeds' variables depend on.

    A variable of ``wrt`` among ``stops`` gets its gradient, but passes nothing on.
    """
    # Of two ranks' messages the gradients are sent in the reverse order, on both.
    order = arranged(toposort(seeds, blockers=stops), {})
    branches = Branches(order, [*seeds, *wrt])
    reached = _depends_on(order, wrt) - (set(stops) - set(wrt))
    known = {seed: gradient for seed, gradient in seeds.items() if seed in reached}
    graph = {variable for node in order for variable in (*node.inputs, *node.outputs)}
    kept = {*wrt, *stops}
    for node in reversed(order):
        gradients = [
            known.get(variable) if carries(variable) else None
            for variable in node.outputs
        ]
        needed = [variable in reached for variable in node.inputs]
        if any(needed) and any(gradient is not None for gradient in gradients):
            form = form_of(node, graph, kept)
            if form is None:
                terms = branches.pulled_back(node, gradients, needed)
                pairs = list(zip(node.inputs, terms, strict=True))
            else:
                pairs = _through(form, node, gradients[0], reached, branches)
            for variable, term in pairs:
                if term is not None:
                    known[variable] = total(known.get(variable), term, variable)
    return {target: known[target] for target in wrt if target in known}


def _through(
    form: FiniteForm,
    node: Apply,
    gradient: Variable | None,
    reached: Collection[Variable],
    branches: Branches,
) -> list[tuple[Variable, Variable | None]]:
    """Return what the form of a node reads, with the gradients by it."""
    assert gradient is not None
    leaves = [variable for variable in form.leaves if variable in reached]
    with traced_as(node.trace):
        if is_null(gradient):
            return [(variable, gradient) for variable in leaves]
        terms = flow({form.expression: gradient}, leaves, form.leaves)
        return [(v, branches.left(node, terms[v], v)) for v in leaves if v in terms]


def _depends_on(order: Sequence[Apply], wrt: Sequence[Variable]) -> set[Variable]:
    """Return ``wrt``, and the variables that carry gradients to them."""
    reached = set(wrt)
    for node in order:
        if not any(variable in reached for variable in node.inputs):
            continue
        pattern = connections(node)
        for index, output in enumerate(node.outputs):
            if carries(output) and any(
                row[index] and variable in reached
                for row, variable in zip(pattern, node.inputs, strict=True)
            ):
                reached.add(output)
    return reached
