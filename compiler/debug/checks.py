"""DebugMode's run: every rewrite and every step compared with NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gpuarray._core.context import Context
from gpuarray.array import Array
from gpuarray.compiler import rewrites
from gpuarray.compiler.config import config
from gpuarray.compiler.debug.failing import evaluation_text
from gpuarray.compiler.debug.stepwise import Stepwise, Values, Watcher
from gpuarray.compiler.errors import (
    BadDestroyMap,
    BadOptimization,
    BadThunkOutput,
    BadViewMap,
    InvalidValueError,
    made_at,
)
from gpuarray.compiler.explain import note
from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph, Replacement
from gpuarray.compiler.graph.lazy import is_lazy
from gpuarray.compiler.graph.traverse import ancestors, inputs_of
from gpuarray.compiler.graph.types import GpuArrayType, TensorType, Type
from gpuarray.compiler.iterations import Iterations
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.random.positions import ImpliedPositions, positions_in
from gpuarray.compiler.ops.scan.scan import Scan
from gpuarray.compiler.ops.variables.transfer import Transfer
from gpuarray.compiler.schedule import Lowered

HostArray = np.ndarray[Any, Any]

TOLERANCE = {
    "float16": 2e-2,
    "bfloat16": 1e-1,
    "float32": 1e-4,
    "complex64": 1e-4,
    "float64": 1e-7,
    "complex128": 1e-7,
}
"""The tolerances of two computations of a value, for numbers near 1."""


class Source:
    """The graph before any rewrite, whose values rewriting must not change."""

    def __init__(
        self,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        selection: rewrites.Selection,
        destroyable: Mapping[Variable, int],
    ) -> None:
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self.selection = selection
        self.destroyable = dict(destroyable)


class DebugExecutable:
    """Runs a function step by step and raises at the first difference.

    First the original graph is computed with NumPy, each op checked to keep its
    contract. Then the graph is rewritten again, and each change must keep the value.
    Then each step of the plan, and in each iteration of a loop each step of its body,
    must have its node's reference result of the same inputs.
    Of outputs that an op leaves `undetermined`, and those that depend on them, only
    type and shape are compared.
    """

    def __init__(self, source: Source, lowered: Lowered, context: Context) -> None:
        self.source = source
        self.lowered = lowered
        self.plan = lowered.plan
        self.context = context
        self._stepwise = Stepwise(lowered, context, NodeChecks(lowered, context))

    def info(self) -> dict[str, int]:
        """Return counts, as far as they are known."""
        return self._stepwise.info()

    def run(self, values: Sequence[Any]) -> list[Array]:
        """Run with all checks."""
        inputs = [np.asarray(value) for value in values]
        expected = check_rewrites(self.source, inputs)
        results = self._stepwise.run(values)
        for output, result, right in zip(
            self.source.outputs, results, expected, strict=True
        ):
            array = np.asarray(result)
            if difference := (
                compare_shapes(array, right)
                if is_undetermined(output)
                else compare(array, right, is_finite_expected=True)
            ):
                raise BadThunkOutput(
                    made_at(
                        f"DebugMode: the output {output} is not what the expression "
                        f"gives: {difference}",
                        output.tag.trace,
                    )
                )
        return results


class NodeChecks(Watcher):
    """Compares the results of each node of a plan with its reference.

    It keeps the values on the host, since steps may overwrite them on the device.
    """

    def __init__(self, lowered: Lowered, context: Context) -> None:
        self.lowered = lowered
        self.plan = lowered.plan
        self.context = context
        self._host: dict[int, Any] = {}
        self._last = {
            node: step for step, node in enumerate(lowered.nodes) if node is not None
        }

    def inside(self, body: Lowered, loop: Iterations) -> Watcher:
        """Return the checks of a loop's body; its errors get notes on the iteration."""
        return NodeChecks(body, self.context)

    def begin(self, known: Values) -> None:
        """Copy the inputs to the host."""
        inputs = range(self.plan.n_inputs)
        self._host = {number: np.array(known[number]) for number in inputs}
        self._host |= dict(self.plan.constants)

    def after(self, number: int, known: Values) -> None:
        """Check the step's node, if the step is its last."""
        results = {v: np.array(known[v]) for v in self.plan.steps[number].outs}
        node = self.lowered.nodes[number]
        if node is not None and self._last[node] == number:
            # The value of an earlier step may have been overwritten since.
            values = [self.lowered.numbers.get(v) for v in node.outputs]
            results |= {v: np.array(known[v]) for v in values if v in known}
            self._check_node(node, results)
        if node is not None and isinstance(node.op, ImpliedPositions):
            results = {v: positions_in(x.shape) for v, x in results.items()}
        self._host |= results

    def _check_node(self, node: Apply, results: Mapping[int, HostArray]) -> None:
        numbers = self.lowered.numbers
        is_unread = isinstance(node.op, Transfer | ImpliedPositions)
        if is_unread or not isinstance(node.outputs[0].type, GpuArrayType):
            return
        # An integer of the host is 0-d.
        ndim = max(v.type.ndim for v in (*node.inputs, *node.outputs))
        kinds = [
            v.type
            if v.type.ndim == ndim or not isinstance(node.op, Elemwise)
            else TensorType(v.type.dtype, (True,) * ndim)
            for v in node.inputs
        ]
        arrays = []
        for variable, kind in zip(node.inputs, kinds, strict=True):
            if isinstance(variable, Constant):
                value = np.asarray(variable.data)
            elif variable in numbers and numbers[variable] in self._host:
                value = np.asarray(self._host[numbers[variable]])
            else:
                return  # lengths, which the executor has checked
            if value.ndim < kind.ndim:
                value = value.reshape((1,) * kind.ndim)
            arrays.append(value.astype(kind.dtype))
        like = Apply(node.op, [k() for k in kinds], [v.type() for v in node.outputs])
        wanted = checked_evaluation(like, arrays)
        outputs = [results[numbers[variable]] for variable in node.outputs]
        if isinstance(node.op, Scan):
            wanted, outputs = map(node.op.determined, (wanted, outputs))
        for variable, expected, actual in zip(
            node.outputs, wanted, outputs, strict=True
        ):
            if difference := (
                compare_shapes(actual, expected)
                if variable.index in node.op.undetermined
                else compare(actual, expected, is_finite_expected=False)
            ):
                raise BadThunkOutput(
                    made_at(
                        f"DebugMode: {node} gives on {self.context.name} "
                        f"what its reference does not: {difference}",
                        node.trace,
                    )
                )


def check_rewrites(source: Source, values: Sequence[HostArray]) -> list[HostArray]:
    """Return the outputs' values as rewritten; BadOptimization if one has changed."""
    fgraph = FunctionGraph(source.inputs, source.outputs)
    inputs: dict[Variable, HostArray] = {
        variable: np.asarray(value).astype(variable.type.dtype, copy=False)
        for variable, value in zip(fgraph.inputs, values, strict=True)
    }
    known = dict(inputs)
    for variable in fgraph.outputs:
        value_of(variable, known)

    has_branches = any(is_lazy(node.op) for node in fgraph.apply_nodes)

    def check(change: Replacement) -> None:
        if has_branches and change.before not in known:
            return  # in a branch not taken
        before = value_of(change.before, known)
        after = value_of(change.after, known)
        difference = compare(after, before, is_finite_expected=True)
        if difference and not rewrites.is_exact(change.reason):
            difference = moderate_difference(change, known)
            known.clear()  # the rest is computed from better values now
            known.update(inputs)
            for variable in fgraph.outputs if has_branches else ():
                value_of(variable, known)
        if difference:
            raise BadOptimization(
                made_at(
                    f"DebugMode: the rewrite {change.reason} changes a value: "
                    f"{_shown(change.before)} became {_shown(change.after)}; "
                    f"{difference}",
                    change.before.tag.trace,
                )
            )

    fgraph.listeners.append(check)
    rewrites.optimize(fgraph, source.selection, destroyable=source.destroyable)
    return [value_of(variable, known) for variable in fgraph.outputs]


def moderate_difference(
    change: Replacement, known: Mapping[Variable, HostArray]
) -> str:
    """Return the difference of a change's sides on moderate numbers.

    A stabilizing rewrite may be better where numbers are large, so the values that both
    sides are computed from are scaled to moderate numbers here.
    """
    sides = [change.before, change.after]
    shared = set(ancestors([change.before])) - {change.before}
    leaves = {
        *inputs_of([change.after], blockers=shared),
        *inputs_of([change.before], blockers=inputs_of([change.after], shared)),
    } - {change.before, change.after}
    leaves = {leaf for leaf in leaves if not isinstance(leaf, Constant)}
    if not leaves <= known.keys():
        return "and what it is computed from is not known"
    moderate = {
        variable: np.clip(known[variable], -2, 2).astype(known[variable].dtype)
        if known[variable].dtype.kind == "f"
        else known[variable]
        for variable in leaves
    }
    before, after = (value_of(side, dict(moderate)) for side in sides)
    return compare(after, before, is_finite_expected=True)


def _shown(variable: Variable) -> str:
    return str(variable.owner) if variable.owner is not None else str(variable)


def value_of(variable: Variable, known: dict[Variable, HostArray]) -> HostArray:
    """Return the variable's value, computed from known ones and cached."""
    if isinstance(variable, Constant):
        return np.asarray(variable.data)
    stack = [variable]
    while stack:
        node = stack[-1].owner
        if stack[-1] in known or node is None:
            stack.pop()
            continue
        waiting = [
            operand for operand in needed_inputs(node, known) if operand not in known
        ]
        if waiting:
            stack.extend(reversed(waiting))
            continue
        arrays = [host_value(operand, known) for operand in node.inputs]
        for output, result in zip(
            node.outputs, checked_evaluation(node, arrays), strict=True
        ):
            known.setdefault(output, result)
    return known[variable]


def needed_inputs(node: Apply, known: Mapping[Variable, HostArray]) -> list[Variable]:
    """Return the inputs that a node is computed from, of branches those that are taken.

    Of one that may leave inputs alone the condition comes first, and alone.
    """
    sides = node.op.lazy_inputs(node)
    condition = node.inputs[0] if sides else None
    if condition is None or isinstance(condition, Constant) or condition in known:
        is_true = condition is not None and bool(host_value(condition, known))
        needed = [
            v for i, v in enumerate(node.inputs) if sides.get(i, is_true) == is_true
        ]
        return [operand for operand in needed if not isinstance(operand, Constant)]
    return [condition]


def host_value(variable: Variable, known: Mapping[Variable, HostArray]) -> HostArray:
    """Return a known value; one element for an input of a branch that is not taken."""
    if isinstance(variable, Constant):
        return np.asarray(variable.data)
    if variable in known:
        return known[variable]
    return np.zeros((1,) * variable.type.ndim, variable.type.numpy_dtype)


def checked_evaluation(node: Apply, arrays: Sequence[HostArray]) -> list[HostArray]:
    """Return the node's outputs with NumPy, its contract checked.

    Raises InvalidValueError, BadDestroyMap or BadViewMap.
    """
    op = node.op
    inputs = [np.array(array) for array in arrays]
    try:
        results = [np.asarray(value) for value in op.evaluate(node, inputs)]
    except Exception as error:
        note(error, evaluation_text(node, arrays))
        raise
    if len(results) != len(node.outputs):
        raise InvalidValueError(
            made_at(
                f"DebugMode: {node} gives {len(results)} results, its node announces "
                f"{len(node.outputs)}",
                node.trace,
            )
        )
    for output, result in zip(node.outputs, results, strict=True):
        if problem := type_problem(output.type, result):
            raise InvalidValueError(
                made_at(f"DebugMode: {node} gives {problem}", node.trace)
            )
    destroyed = {i for indices in op.destroy_map.values() for i in indices}
    for i, (array, before) in enumerate(zip(inputs, arrays, strict=True)):
        if i not in destroyed and not np.array_equal(
            array, before, equal_nan=array.dtype.kind in "fc"
        ):
            raise BadDestroyMap(
                made_at(
                    f"DebugMode: {node} changes its input {i}; its destroy_map, "
                    f"{dict(op.destroy_map)}, does not say so",
                    node.trace,
                )
            )
    _check_views(node, inputs, results)
    return [np.array(result) for result in results]


def _check_views(
    node: Apply, inputs: Sequence[HostArray], results: Sequence[HostArray]
) -> None:
    op = node.op
    for o, result in enumerate(results):
        allowed = {*op.view_map.get(o, ()), *op.destroy_map.get(o, ())}
        for i, array in enumerate(inputs):
            if i not in allowed and np.shares_memory(result, array):
                raise BadViewMap(
                    made_at(
                        f"DebugMode: output {o} of {node} shares memory with its input "
                        f"{i}; its view_map, {dict(op.view_map)}, does not say so",
                        node.trace,
                    )
                )


def type_problem(kind: Type, result: HostArray) -> str:
    """Return how a result differs from the type; empty if it does not."""
    dtype, flags = kind.dtype, kind.broadcastable  # type: ignore[attr-defined]
    if result.dtype.name != dtype or result.ndim != len(flags):
        return f"{result.dtype} of {result.ndim} axes, its node announces {kind}"
    if any(
        flag and length != 1 for flag, length in zip(flags, result.shape, strict=True)
    ):
        return f"shape {result.shape}, its node announces {kind}"
    return ""


def is_undetermined(variable: Variable) -> bool:
    """Return True if the value depends on one that its op leaves undetermined."""
    return any(
        ancestor.owner is not None and ancestor.index in ancestor.owner.op.undetermined
        for ancestor in ancestors([variable])
    )


def compare_shapes(actual: HostArray, right: HostArray) -> str:
    """Return how the shape and the dtype of an array differ from the expected one's."""
    if actual.shape != right.shape:
        return f"shape {actual.shape}, expected {right.shape}"
    return "" if actual.dtype == right.dtype else f"{actual.dtype}, not {right.dtype}"


def compare(actual: HostArray, right: HostArray, *, is_finite_expected: bool) -> str:
    """Return how an array differs from the expected one; empty if it is near enough.

    With ``is_finite_expected``, any value will do where the expected one is not finite,
    as it is without a stabilizing rewrite.
    """
    if actual.shape != right.shape:
        return f"shape {actual.shape}, expected {right.shape}"
    tolerance = TOLERANCE.get(right.dtype.name)
    if tolerance is None:
        wrong = actual != right
    else:
        a, b = _wide(actual), _wide(right)
        with np.errstate(all="ignore"):
            close = np.isclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
        wrong = ~close
        if is_finite_expected:
            wrong &= np.isfinite(b)
            if not config.DebugMode.check_finite:
                wrong &= np.isfinite(a)
    if not wrong.any():
        return ""
    place = tuple(int(i) for i in np.argwhere(wrong)[0]) if wrong.ndim else ()
    return (
        f"at {place} {actual[place]}, expected {right[place]} "
        f"({int(wrong.sum())} of {wrong.size} elements differ)"
    )


def _wide(array: HostArray) -> HostArray:
    wide = np.complex128 if array.dtype.kind == "c" else np.float64
    return array.astype(wide)
