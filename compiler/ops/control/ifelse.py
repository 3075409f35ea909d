"""Conditionals: one of two expressions, of which only that one is computed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.graph.core import Apply, Constant, Op, Variable, constant
from gpuarray.compiler.graph.op import Gradients, Variables
from gpuarray.compiler.graph.traverse import same_graph
from gpuarray.compiler.graph.types import ArrayType, GpuArrayType
from gpuarray.compiler.ops.broadcast.broadcast import broadcast_to, patternbroadcast
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.shape.lengths import is_free, settled
from gpuarray.compiler.ops.variables.basic import as_tensor_variable
from gpuarray.compiler.ops.variables.transfer import host_from_gpu, like
from gpuarray.dtypes import kind_of, result_type


class IfElse(Op):
    """The inputs 1 to ``n_outs`` where the first input is true, else those after them.

    Nodes that only the other branch needs are not computed.
    """

    __props__ = ("n_outs", "name")

    def __init__(self, n_outs: int, name: str | None = None) -> None:
        self.n_outs = n_outs
        self.name = name
        self.view_map: Mapping[int, Sequence[int]] = {
            index: self.places(index) for index in range(n_outs)
        }

    def places(self, index: int) -> tuple[int, int]:
        """Return the indices of the two inputs that an output is one of."""
        return 1 + index, 1 + index + self.n_outs

    def make_node(self, condition: Any, *branches: Any) -> Apply:
        """A node of a condition and the variables of both branches, of equal types."""
        truth = as_condition(condition)
        sides = [as_tensor_variable(branch) for branch in branches]
        if len(sides) != 2 * self.n_outs:
            raise GraphTypeError(
                f"{self}: given {len(sides)} variables for two branches of "
                f"{self.n_outs}"
            )
        pairs = list(zip(sides[: self.n_outs], sides[self.n_outs :], strict=True))
        for a, b in pairs:
            if a.type != b.type:
                raise GraphTypeError(f"{self}: the branches are {a.type} and {b.type}")
        return Apply(self, [truth, *sides], [a.type() for a, _ in pairs])

    def reference(self, condition: Any, *branches: Any) -> Any:
        """The arrays of the branch that is taken."""
        n = self.n_outs
        return tuple(branches[:n] if condition else branches[n:])

    def lazy_inputs(self, node: Apply) -> Mapping[int, bool]:
        """Return for each input of a branch the condition's value that needs it."""
        n = self.n_outs
        return {index: index <= n for index in range(1, 1 + 2 * n)}

    def host_inputs(self, node: Apply) -> Collection[int]:
        """Return the condition's index: the host selects the branch."""
        return (0,)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Connect an output to its own two inputs and, flatly, to the condition."""
        outputs = range(self.n_outs)
        pattern = [[True] * self.n_outs]
        pattern += [[i == o for o in outputs] for _ in range(2) for i in outputs]
        return pattern

    def through(self, output_gradients: Gradients) -> list[Variable | None]:
        """Return the gradient of each input if its branch is taken."""
        return [None, *output_gradients, *output_gradients]

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """The gradient to the branch that is taken, zeros to the other."""
        return [
            None
            if g is None
            else only_where(inputs[0], index <= self.n_outs, g, operand)
            for index, (g, operand) in enumerate(
                zip(self.through(output_gradients), inputs, strict=True)
            )
        ]

    def R_op(
        self, inputs: Sequence[Variable], eval_points: Sequence[Variable | None]
    ) -> list[Variable | None]:
        """The direction of the branch that is taken."""
        condition, *branches = inputs
        moved = [
            math.zeros_like(branch) if point is None else point
            for branch, point in zip(branches, eval_points[1:], strict=True)
        ]
        n = self.n_outs
        return [
            ifelse(condition, moved[i], moved[i + n])
            if any(eval_points[place] is not None for place in self.places(i))
            else None
            for i in range(n)
        ]

    def infer_shape(
        self, node: Apply, input_shapes: Sequence[Sequence[Any]]
    ) -> list[tuple[Any, ...]]:
        """The lengths that both branches have, or that are known without computing."""
        return [
            tuple(
                _length(node.inputs[0], settled(a), settled(b))
                for a, b in zip(*(input_shapes[i] for i in self.places(o)), strict=True)
            )
            for o in range(self.n_outs)
        ]

    def __str__(self) -> str:
        return f"if{{{self.name or ''}}}"

    def pretty(self, *texts: str) -> str:
        """As a call: ``ifelse(c, a, b)``."""
        return f"ifelse({', '.join(texts)})"


def ifelse(
    condition: Any, then_branch: Any, else_branch: Any, name: str | None = None
) -> Any:
    """Return ``then_branch`` if ``condition``, a scalar, is true, else ``else_branch``.

    Only the branch that is taken is computed, with all that nothing else needs; for a
    choice element by element see `switch`. The branches are variables or lists of one
    length; so is the result. Their types must agree: constants take the other side's
    dtype if they fit it, and an axis that broadcasts on one side only no longer does.
    ``name`` is for printing. A condition computed on the device is read there: the call
    waits for it.

    Raises TypeError for a condition with axes or branches of different types,
    ValueError for lists of different lengths.

    >>> from gpuarray.compiler import tensor as T
    >>> x, y = T.dvector("x"), T.dvector("y")
    >>> print(ifelse(T.iscalar("n"), x, y).type)
    TensorType(float64, vector)
    """
    is_list = (
        isinstance(then_branch, list | tuple),
        isinstance(else_branch, list | tuple),
    )
    if is_list[0] != is_list[1]:
        raise GraphValueError(
            "ifelse: one branch is a list and the other is none; give both as lists"
        )
    if not is_list[0]:
        (result,) = _chosen(condition, [then_branch], [else_branch], name)
        return result
    if len(then_branch) != len(else_branch):
        raise GraphValueError(
            f"ifelse: the branches have {len(then_branch)} and {len(else_branch)} "
            "variables; expected equally many"
        )
    return _chosen(condition, then_branch, else_branch, name)


def _chosen(
    condition: Any, a: Sequence[Any], b: Sequence[Any], name: str | None
) -> list[Variable]:
    if not a:
        return []
    if any(getattr(x, "is_sparse", False) for x in (*a, *b)):
        return _chosen_matrices(condition, a, b, name)
    pairs = [_alike(*pair, place) for place, pair in enumerate(zip(a, b, strict=True))]
    firsts, seconds = zip(*pairs, strict=True)
    result = IfElse(len(pairs), name)(condition, *firsts, *seconds)
    return result if isinstance(result, list) else [result]


def _chosen_matrices(
    condition: Any, a: Sequence[Any], b: Sequence[Any], name: str | None
) -> list[Variable]:
    """Choose among variables some of which are sparse matrices, by their arrays.

    Arrays that both sides share are no choice, nor are indices of the same places.
    """
    firsts: list[Any] = []
    seconds: list[Any] = []
    places: list[Any] = []
    for place, (x, y) in enumerate(zip(a, b, strict=True)):
        kinds = [getattr(side, "type", None) for side in (x, y)]
        if not any(getattr(side, "is_sparse", False) for side in (x, y)):
            places.append(len(firsts))
            firsts.append(x)
            seconds.append(y)
            continue
        if kinds[0] != kinds[1]:
            raise GraphTypeError(
                f"ifelse: the branches have {x} of {kinds[0]} and {y} of {kinds[1]} in "
                f"place {place}; expected matrices of one format and dtype"
            )
        own: list[Any] = []
        are_same = x.has_places_of(y)
        for at, (p, q) in enumerate(zip(x.arrays(), y.arrays(), strict=True)):
            if same_graph(p, q) or (are_same and at in (1, 2)):
                own.append(p)
            else:
                own.append(len(firsts))
                firsts.append(p)
                seconds.append(q)
        places.append((x, own))
    chosen = _chosen(condition, firsts, seconds, name)
    return [
        chosen[at]
        if isinstance(at, int)
        else at[0].of_arrays([chosen[p] if isinstance(p, int) else p for p in at[1]])
        for at in places
    ]


def as_condition(value: Any) -> Variable:
    """Return a scalar condition as an integer of the host."""
    condition = host_from_gpu(as_tensor_variable(value))
    if condition.type.ndim != 0:
        raise GraphTypeError(
            f"ifelse: the condition {condition} is of {condition.type}, expected a "
            "scalar; use switch(...) to choose element by element"
        )
    if (
        kind_of(condition.type.numpy_dtype) in "biu"
        and condition.type.dtype != "uint64"
    ):
        return condition
    zero = constant(0, condition.type.dtype)
    truth: Variable = math.FUNCTIONS["neq"](condition, zero)
    return truth


def _alike(a: Any, b: Any, place: int) -> tuple[Variable, Variable]:
    """Return both sides of an output in one type. Raises TypeError if there is none."""
    x, y = as_tensor_variable(a), as_tensor_variable(b)
    if x.type.dtype != y.type.dtype:
        x, y = _of_dtype(x, y.type.dtype), _of_dtype(y, x.type.dtype)
    if x.type.dtype != y.type.dtype or x.type.ndim != y.type.ndim:
        raise GraphTypeError(
            f"ifelse: the branches have {x} of {x.type} and {y} of {y.type} in place "
            f"{place}; expected equal types: use T.cast(...) or .dimshuffle(...)"
        )
    flags = tuple(
        p and q for p, q in zip(x.type.broadcastable, y.type.broadcastable, strict=True)
    )
    x, y = (patternbroadcast(side, flags) for side in (x, y))
    kinds = [side.type for side in (x, y)]
    place_of: ArrayType = next(
        (k for k in kinds if isinstance(k, GpuArrayType)), kinds[0]
    )
    return like(x, place_of), like(y, place_of)


def _of_dtype(x: Variable, dtype: str) -> Variable:
    """A constant as one of a dtype that holds it; else as it is."""
    if isinstance(x, Constant) and result_type(x.type.dtype, dtype) == dtype:
        return constant(x.data, dtype)
    return x


def only_where(
    condition: Variable, side: bool, value: Variable, shaped: Variable
) -> Variable:
    """``value`` on one side of a condition, else zeros of the shape of ``shaped``."""
    dtype = value.type.dtype
    if shaped.is_sparse and not value.is_sparse:
        zeros = broadcast_to(constant(0, dtype), shaped.shape)
    else:
        zeros = math.zeros_like(shaped, dtype)
    a, b = (value, zeros) if side else (zeros, value)
    result: Variable = ifelse(condition, a, b)
    return result


def _length(condition: Variable, a: Variable, b: Variable) -> Variable | None:
    """The length that is chosen; None where telling it would compute a branch."""
    if same_graph(a, b):
        return a
    if not all(map(is_free, (condition, a, b))):
        return None
    truth = math.cast(math.FUNCTIONS["neq"](condition, 0), "int64")
    length: Variable = b + truth * (a - b)
    return length
