"""Gradients of one node's inputs, in the types of these.

Complex numbers: the gradient of a real cost by ``z = a + ib`` is the cost's derivative
by ``a`` plus ``i`` times that by ``b``, the direction of steepest ascent. Ops define
holomorphic derivatives, whose conjugates are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from gpuarray.compiler.derivatives import choices
from gpuarray.compiler.errors import (
    GraphTypeError,
    GraphValueError,
    NoGradientError,
    NotOfferedError,
    made_at,
)
from gpuarray.compiler.graph.core import (
    Apply,
    Variable,
    is_float,
    literal_floats_are,
    traced_as,
)
from gpuarray.compiler.graph.disconnected import DisconnectedType, NullType
from gpuarray.compiler.ops.broadcast import broadcast
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.elemwise.elemwise import Composite, Elemwise
from gpuarray.compiler.ops.linalg import linalg
from gpuarray.compiler.ops.random.draws import draw_at, gamma_slope
from gpuarray.compiler.ops.reduce import reduce
from gpuarray.compiler.ops.scan.products import slope_of_product
from gpuarray.compiler.ops.shape import shape
from gpuarray.compiler.ops.sparse import matrix
from gpuarray.compiler.ops.variables.basic import as_tensor_variable
from gpuarray.compiler.ops.variables.transfer import like
from gpuarray.scalars import Scalar

M = SimpleNamespace()
"""The namespace for writing gradients: the functions of `ops` by name."""


def fill_namespace() -> None:
    """Add every public function of the families, and every row, to ``M``."""
    for family in (shape, broadcast, linalg, reduce, math):
        for name, value in vars(family).items():
            if not name.startswith("_") and callable(value):
                setattr(M, name, value)
    for name, function in math.FUNCTIONS.items():
        setattr(M, name, function)
    M.times, M.over = choices.times, choices.over
    M.slope_of_product = slope_of_product
    M.draw, M.gamma_slope = draw_at, gamma_slope


fill_namespace()


def is_complex(variable: Variable) -> bool:
    """Return True if the variable is complex."""
    return bool(getattr(variable.type, "is_complex", False))


def carries(variable: Variable) -> bool:
    """Return True if the variable has gradients: if it is real or complex."""
    return is_float(variable) or is_complex(variable)


def is_null(variable: Variable) -> bool:
    """Return True if the variable stands for an undefined gradient."""
    return isinstance(variable.type, NullType)


def connections(node: Apply) -> list[list[bool]]:
    """Return, for each input, the outputs that depend on it, as the op declares."""
    declared = getattr(node.op, "connection_pattern", None)
    if declared is None:
        says_all = node.op.has_gradient_of_each_input
        counts = () if says_all else node.op.host_inputs(node)  # lengths and indices
        return [[i not in counts] * len(node.outputs) for i in range(len(node.inputs))]
    pattern: list[list[bool]] = declared(node)
    shape_is_right = len(pattern) == len(node.inputs) and all(
        len(row) == len(node.outputs) for row in pattern
    )
    if not shape_is_right:
        raise GraphValueError(
            made_at(
                f"grad: connection_pattern of {node.op} gives {pattern}; expected "
                f"{len(node.inputs)} rows, one for each input, of {len(node.outputs)} "
                "flags, one for each output",
                node.trace,
            )
        )
    return pattern


def connections_told(node: Apply) -> list[list[bool]]:
    """Return the connections, without inputs that the op's gradient disconnects."""
    pattern = connections(node)
    dummies = [
        variable.type() if carries(variable) else None for variable in node.outputs
    ]
    is_still = all(dummy is None for dummy in dummies)
    if is_still or isinstance(node.op, Elemwise):
        return pattern
    try:
        terms = _of_op(node, dummies)
    except (NotImplementedError, TypeError, ValueError):
        return pattern  # an error only where the gradient is needed
    return [
        [False] * len(row) if is_absent(term) else row
        for row, term in zip(pattern, terms, strict=False)
    ]


def is_absent(term: Any) -> bool:
    """Return True if an op's gradient of an input is disconnected."""
    return isinstance(term, Variable) and isinstance(term.type, DisconnectedType)


def pulled_back(
    node: Apply,
    gradients: Sequence[Variable | None],
    wanted: Sequence[bool],
    asked_by: str = "grad",
) -> list[Variable | None]:
    """Return the gradients of the wanted inputs from those of the outputs.

    None is disconnected.
    """
    nulls = [g for g in gradients if g is not None and is_null(g)]
    pattern = connections(node)
    reached = [
        is_wanted
        and any(
            flag and gradient is not None
            for flag, gradient in zip(row, gradients, strict=True)
        )
        for is_wanted, row in zip(wanted, pattern, strict=True)
    ]
    if nulls:  # further gradients are undefined, too
        return [nulls[0] if is_reached else None for is_reached in reached]
    terms = _terms(node, gradients, asked_by)
    return [
        _checked(node, index, term, asked_by) if is_reached else None
        for index, (term, is_reached) in enumerate(zip(terms, reached, strict=True))
    ]


def _terms(
    node: Apply, gradients: Sequence[Variable | None], asked_by: str
) -> Sequence[Any]:
    """Return the gradients of the inputs by the op."""
    with traced_as(node.trace), literal_floats_are(_literal(gradients)):
        try:
            terms = _of_op(node, gradients)
        except NotImplementedError as error:
            raise NoGradientError(
                made_at(f"{asked_by}: {node.op}: {error}", node.trace)
            ) from error
    if len(terms) != len(node.inputs):
        raise GraphValueError(
            made_at(
                f"{asked_by}: {node.op} gives {len(terms)} gradients for "
                f"{len(node.inputs)} inputs",
                node.trace,
            )
        )
    return terms


def _literal(gradients: Sequence[Variable | None]) -> str | None:
    """Return the dtype of the Python floats that meet these gradients."""
    dtype = next(
        str(gradient.type.dtype) for gradient in gradients if gradient is not None
    )
    parts = {"complex64": "float32", "complex128": "float64"}
    return parts.get(dtype, dtype)


def _of_op(node: Apply, gradients: Sequence[Variable | None]) -> Sequence[Any]:
    """Return the op's gradients; for rows of the table, 0 where a choice left zeros."""
    op, g = node.op, gradients[0]
    if not isinstance(op, Elemwise) or isinstance(op.scalar, Composite) or g is None:
        return _said(node, gradients)
    return choices.protected(node, g, lambda gradient: _said(node, [gradient]))


def _said(node: Apply, gradients: Sequence[Variable | None]) -> Sequence[Any]:
    """Return the op's gradients, of complex results the conjugates."""
    op = node.op
    if not any(map(is_complex, (*node.inputs, *node.outputs))):
        return op.pull_back(M, node.inputs, node.outputs, gradients)
    scalar = op.scalar if isinstance(op, Elemwise) else None
    if isinstance(scalar, Scalar) and scalar.name in COMPLEX_ROWS:
        (g,), (x,) = gradients, node.inputs
        return [COMPLEX_ROWS[scalar.name](g, x)]
    if not op.is_holomorphic:
        raise NotOfferedError("the gradient of complex numbers is not offered")
    terms = op.pull_back(M, node.inputs, node.outputs, conjugates(gradients))
    return [conjugate(term) if isinstance(term, Variable) else term for term in terms]


def conjugate(x: Variable) -> Variable:
    """Return the complex conjugate; a real variable itself."""
    return math.FUNCTIONS["conjugate"](x) if is_complex(x) else x


def conjugates(gradients: Sequence[Variable | None]) -> list[Variable | None]:
    """Return the conjugates of gradients: of an op's for `grad`'s, or the reverse."""
    return [None if g is None else conjugate(g) for g in gradients]


def _turned(g: Variable, x: Variable) -> Variable:
    """Return ``ig``, of the dtype of ``x``."""
    return math.cast(g, x.type.dtype) * as_tensor_variable(1j)


def _through_angle(g: Any, x: Any) -> Any:
    size = math.FUNCTIONS["abs"](x)
    return _turned(g / size, x) * (x / size)


def _through_sign(g: Any, x: Any) -> Any:
    """The part of ``g`` across the direction of ``x``, which keeps its length."""
    row = math.FUNCTIONS
    sign = row["sign"](x)
    along = row["real"](conjugate(sign) * g)
    return (math.cast(g, x.type.dtype) - sign * along) / row["abs"](x)


COMPLEX_ROWS: dict[str, Any] = {
    "abs": lambda g, x: math.cast(g, x.type.dtype) * math.FUNCTIONS["sign"](x),
    "angle": _through_angle,
    "conjugate": lambda g, x: conjugate(g),
    "imag": _turned,
    "real": lambda g, x: g,
    "sign": _through_sign,
}
"""The gradients of the rows that are not holomorphic."""


def _checked(node: Apply, index: int, term: Any, asked_by: str) -> Variable | None:
    """Return a term in the type of its input; None for one that is absent."""
    variable = node.inputs[index]
    if term is None:
        return None
    if isinstance(term, Variable):
        if is_absent(term):
            return None
        if is_null(term) or term.type == variable.type:
            return term
    with traced_as(node.trace):
        try:
            return fitted(term, variable)
        except (TypeError, ValueError) as error:
            raise GraphTypeError(
                made_at(
                    f"{asked_by}: what {node.op} gives for its input {index} does not "
                    f"fit: {error}",
                    node.trace,
                )
            ) from error


def fitted(term: Any, variable: Variable) -> Variable:
    """Return a gradient in the type of the variable: broadcast axes are summed.

    That of integers is real, of the dtype that it comes in.
    """
    if isinstance(term, Variable) and term.type == variable.type:
        return term
    if variable.is_sparse:
        return matrix.gradient_of_kind(term, variable)
    g = as_tensor_variable(term)
    missing = variable.type.ndim - g.type.ndim
    if missing > 0:
        g = shape.shape_padleft(g, missing)
    elif missing < 0:
        raise GraphTypeError(
            f"the gradient of {variable} of {variable.type} has {g.type.ndim} axes"
        )
    g = reduce.sum_to(g, variable)
    if g.type.broadcastable != variable.type.broadcastable:
        g = math.FUNCTIONS["second"](variable, g)
    return like(math.cast(_of_kind(g, variable), _dtype(g, variable)), variable.type)


def _of_kind(gradient: Variable, variable: Variable) -> Variable:
    """Return the real part of a complex gradient of real numbers."""
    if is_complex(gradient) and not is_complex(variable):
        return math.FUNCTIONS["real"](gradient)
    return gradient


def _dtype(term: Variable, variable: Variable) -> str:
    if carries(variable):
        return str(variable.type.dtype)
    return str(term.type.dtype) if is_float(term) else "floatX"


def total(before: Variable | None, term: Variable, variable: Variable) -> Variable:
    """Return the gradient of a variable with ``term`` added to it."""
    if before is None or is_null(term):
        return term
    if is_null(before):
        return before
    with traced_as(getattr(variable.tag, "trace", None)):
        if variable.is_sparse:
            return matrix.gradient_sum(before, term, variable)
        together = choices.added(before, term)
        return fitted(before + term if together is None else together, variable)
