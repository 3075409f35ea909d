"""Conditionals: settled at compile time, split, or merged."""

from __future__ import annotations

from collections.abc import Sequence

from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.traverse import same_graph
from gpuarray.compiler.ops.control.ifelse import IfElse
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.rewrites.engine.engine import rewrite


def choice(variable: Variable) -> tuple[Variable, Variable, Variable] | None:
    """Return the condition and both sides of a conditional of one array; else None."""
    node = variable.owner
    if node is None or not isinstance(node.op, IfElse) or node.op.n_outs != 1:
        return None
    condition, a, b = node.inputs
    return condition, a, b


@rewrite(phase="canonicalize", ops=[IfElse])
def take_the_known_branch(node: Apply) -> Sequence[Variable] | None:
    """Take the branch of a constant condition.

    ifelse(constant(1), X, Y) -> X
    ifelse(constant(0), X, Y) -> Y
    """
    condition, *branches = node.inputs
    if not isinstance(condition, Constant):
        return None
    n = node.op.n_outs  # type: ignore[attr-defined]
    return branches[:n] if condition.data else branches[n:]


@rewrite(phase="canonicalize", ops=[IfElse])
def choose_each_alone(node: Apply) -> Sequence[Variable] | None:
    """Split a conditional of several values, so that unused ones can be dropped.

    ifelse(a, [X, x], [Y, y])[0] -> ifelse(a, X, Y)
    """
    op = node.op
    assert isinstance(op, IfElse)
    condition, *branches = node.inputs
    alone = IfElse(1, op.name)
    return [
        alone(condition, a, b)
        for a, b in zip(branches[: op.n_outs], branches[op.n_outs :], strict=True)
    ]


@rewrite(phase="canonicalize", ops=[IfElse])
def drop_equal_branches(node: Apply) -> Variable | None:
    """Drop a conditional with two equal branches.

    ifelse(a, X, X) -> X
    """
    if len(node.inputs) != 3:
        return None
    _, a, b = node.inputs
    is_same = a is b or (isinstance(a, Constant) and a.equals(b))
    return a if is_same else None


@rewrite(phase="canonicalize", ops=[IfElse])
def drop_the_same_question(node: Apply) -> Variable | None:
    """Within a branch, settle a conditional by the same condition.

    ifelse(a, ifelse(a, X, Y), C) -> ifelse(a, X, C)
    ifelse(a, X, ifelse(a, Y, C)) -> ifelse(a, X, C)
    """
    if len(node.inputs) != 3:
        return None
    condition, *sides = node.inputs
    changed = list(sides)
    for index, side in enumerate(sides):
        inner = choice(side)
        if inner is not None and same_graph(inner[0], condition):
            changed[index] = inner[1 + index]
    if changed == sides:
        return None
    result: Variable = node.op(condition, *changed)
    return result


@rewrite(phase="canonicalize", ops=[Elemwise])
def compute_in_the_branch(node: Apply, fgraph: FunctionGraph) -> Variable | None:
    """Compute in the branches of conditionals that nothing else reads.

    ifelse(a, X, Y) + ifelse(a, Y, C) -> ifelse(a, X + Y, Y + C)
    """
    if len(node.outputs) != 1:
        return None
    choices = [choice(variable) for variable in node.inputs]
    conditions = [pair[0] for pair in choices if pair is not None]
    if len(conditions) < 2:
        return None
    if not all(same_graph(conditions[0], condition) for condition in conditions[1:]):
        return None
    for variable, known in zip(node.inputs, choices, strict=True):
        if known is None and not isinstance(variable, Constant):
            return None
        if known is not None and len(fgraph.clients[variable]) != 1:
            return None
    sides = [
        node.op(
            *(
                operand if known is None else known[side]
                for operand, known in zip(node.inputs, choices, strict=True)
            )
        )
        for side in (1, 2)
    ]
    result: Variable = IfElse(1)(conditions[0], *sides)
    return result
