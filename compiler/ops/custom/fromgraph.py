"""An op made of a graph: used like any other, with a gradient of its own if wanted."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from gpuarray.compiler.errors import (
    GraphTypeError,
    GraphValueError,
    MissingInputError,
    UnusedInputError,
)
from gpuarray.compiler.flags import Reaction
from gpuarray.compiler.graph.core import (
    Apply,
    Constant,
    Op,
    Variable,
    as_variable,
    derived,
    sources_of,
)
from gpuarray.compiler.graph.op import Gradients, Variables
from gpuarray.compiler.graph.traverse import (
    ancestors,
    clone_replace,
    evaluated,
    inputs_of,
    replace_nodes,
    toposort,
)
from gpuarray.compiler.graph.types import ArrayType
from gpuarray.compiler.ops.elemwise import math

Overrides = Any


class OpFromGraph(Op):
    """The op that computes ``outputs`` of ``inputs``.

    A function replaces it by its graph before anything else, so that rewrites see
    through it, whatever ``inline`` says. Shared variables in the graph are inputs, too.

    ``lop_overrides(inputs, outputs, output_gradients)`` replaces the graph's gradients
    of the inputs, ``grad_overrides(inputs, output_gradients)`` the same without the
    outputs, ``rop_overrides(inputs, eval_points)`` the directions of the outputs. Each
    is a function or an `OpFromGraph` of these variables in a row, or a list with for
    each input (output) such a function, ``"default"``, None, or a variable such as
    ``DisconnectedType()()``. An input that no output needs is ignored unless
    ``on_unused_input`` is ``"warn"`` or ``"raise"``.

    >>> from gpuarray.compiler import tensor as T
    >>> x, y = T.dscalar("x"), T.dscalar("y")
    >>> op = OpFromGraph([x, y], [x * y], name="product")
    >>> print(op(T.dscalar(), T.dscalar()).owner.op)
    product
    """

    is_graph = True

    def __init__(
        self,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        inline: bool = False,
        lop_overrides: Overrides = "default",
        grad_overrides: Overrides = "default",
        rop_overrides: Overrides = "default",
        connection_pattern: Sequence[Sequence[bool]] | None = None,
        name: str | None = None,
        on_unused_input: Reaction = "ignore",
    ) -> None:
        self.inner_inputs, self.inner_outputs = list(inputs), list(outputs)
        self._check()
        self._mind_unused(on_unused_input)
        self.inline = inline
        if lop_overrides != "default" and grad_overrides != "default":
            raise GraphValueError(
                "OpFromGraph: given lop_overrides and grad_overrides; expected one"
            )
        self.lop_overrides = lop_overrides
        self.grad_overrides = grad_overrides
        self.rop_overrides = rop_overrides
        self.name = name
        leaves = inputs_of(self.inner_outputs, blockers=self.inner_inputs)
        self.captured = [
            leaf
            for leaf in leaves
            if leaf not in self.inner_inputs and not isinstance(leaf, Constant)
        ]
        for leaf in self.captured:
            if not hasattr(leaf, "container"):
                raise MissingInputError(
                    f"OpFromGraph: {leaf} is needed, but it is no input and has no "
                    "value; add it to the inputs"
                )
        self._pattern = connection_pattern

    def _check(self) -> None:
        for variable in (*self.inner_inputs, *self.inner_outputs):
            if not isinstance(variable, Variable):
                raise GraphTypeError(
                    f"OpFromGraph: given {variable!r}, expected lists of variables"
                )
        if len(set(self.inner_inputs)) < len(self.inner_inputs):
            raise GraphValueError("OpFromGraph: a variable is an input twice")

    def _mind_unused(self, reaction: Reaction) -> None:
        """Raise, warn or be silent about an input that no output needs."""
        if reaction == "ignore":
            return
        needed = set(ancestors(self.inner_outputs, blockers=self.inner_inputs))
        for variable in self.inner_inputs:
            if variable not in needed:
                message = (
                    f"OpFromGraph: the input {variable} is not used; leave it out, or "
                    "pass on_unused_input='ignore'"
                )
                if reaction == "raise":
                    raise UnusedInputError(message)
                warnings.warn(message, stacklevel=3)

    def make_node(self, *inputs: Any) -> Apply:
        """A node over inputs of the types of the graph's inputs."""
        if len(inputs) != len(self.inner_inputs):
            raise GraphTypeError(
                f"{self}: given {len(inputs)} inputs, expected {len(self.inner_inputs)}"
            )
        cast = [
            _of_type(as_variable(value, str(self)), inner, str(self))
            for value, inner in zip(inputs, self.inner_inputs, strict=True)
        ]
        outputs = [output.type() for output in self.inner_outputs]
        return Apply(self, [*cast, *self.captured], outputs)

    def expand(self, inputs: Sequence[Variable]) -> list[Variable]:
        """Return the graph on these inputs, including captured ones."""
        places = [*self.inner_inputs, *self.captured]
        known = dict(zip(places, inputs, strict=True))
        return clone_replace(self.inner_outputs, known)

    def evaluate(self, node: Apply, arrays: Sequence[Any]) -> list[Any]:
        """Return the graph's outputs, computed node by node with NumPy."""
        places = [*self.inner_inputs, *self.captured]
        return evaluated(self.inner_outputs, dict(zip(places, arrays, strict=True)))

    def connection_pattern(self, node: Apply) -> Sequence[Sequence[bool]]:
        """Return which inputs each output depends on in the graph."""
        count = len(self.inner_outputs)
        if self._pattern is None:
            behind = [
                set(inputs_of([output], blockers=self.inner_inputs))
                for output in self.inner_outputs
            ]
            self._pattern = [
                [variable in needed for needed in behind]
                for variable in self.inner_inputs
            ]
        return [*self._pattern, *([True] * count for _ in self.captured)]

    def pull_back(
        self, m: Any, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> list[Variable | None]:
        """Return the gradients: overrides, and the graph's for the rest."""
        overrides, arguments = self.lop_overrides, [inputs, outputs]
        if overrides == "default":
            overrides, arguments = self.grad_overrides, [inputs]
        count = len(self.inner_inputs)
        filled = [
            math.zeros_like(output) if g is None else g
            for output, g in zip(outputs, output_gradients, strict=True)
        ]
        arguments = [list(arguments[0][:count]), *map(list, arguments[1:]), filled]
        overridden = _overridden(overrides, arguments, count)
        if "default" not in overridden:
            return [*overridden, *(None for _ in self.captured)]
        defaults = m.gradients_within(self.expand, output_gradients, inputs)
        return [
            default if i >= count or overridden[i] == "default" else overridden[i]
            for i, default in enumerate(defaults)
        ]

    def R_op(
        self, inputs: Sequence[Variable], eval_points: Sequence[Variable | None]
    ) -> list[Variable | None]:
        """Return the overrides' results, or raise NotImplementedError."""
        if self.rop_overrides == "default":
            raise NotImplementedError(f"{self}: no rop_overrides")
        count = len(self.inner_inputs)
        points = [
            math.zeros_like(variable) if point is None else point
            for variable, point in zip(inputs, eval_points, strict=True)
        ]
        return _overridden(
            self.rop_overrides,
            [list(inputs[:count]), points[:count]],
            len(self.inner_outputs),
        )

    def __str__(self) -> str:
        return self.name or "OpFromGraph"


def _of_type(variable: Variable, inner: Variable, op: str) -> Variable:
    """The variable, cast if its dtype differs. Raises TypeError for other axes."""
    kind, expected = variable.type, inner.type
    if kind == expected or not isinstance(expected, ArrayType):
        return variable
    fits = kind.ndim == expected.ndim and all(
        is_one or not must_be_one
        for is_one, must_be_one in zip(
            kind.broadcastable, expected.broadcastable, strict=True
        )
    )
    if not fits:
        raise GraphTypeError(f"{op}: given {kind} for {inner}, expected {expected}")
    return math.cast(variable, expected.dtype)


def _overridden(overrides: Overrides, arguments: list[Any], count: int) -> list[Any]:
    """Return the overrides of all places, ``"default"`` where there is none."""
    if isinstance(overrides, str):
        return [overrides] * count
    if isinstance(overrides, Variable):
        return [overrides] * count
    if isinstance(overrides, OpFromGraph):
        flat = [argument for part in arguments for argument in part]
        return list(overrides.make_node(*flat).outputs)
    if callable(overrides):
        results = list(overrides(*arguments))
    else:
        results = [_one(override, arguments) for override in overrides]
    if len(results) != count:
        raise GraphValueError(
            f"OpFromGraph: the overrides give {len(results)} variables, expected "
            f"{count}"
        )
    return results


def _one(override: Callable[..., Any] | Any, arguments: list[Any]) -> Any:
    return override(*arguments) if callable(override) else override


def inlined(outputs: Sequence[Variable]) -> list[Variable]:
    """Return the outputs with each op that stands for a graph replaced by it."""
    order = toposort(outputs)
    if not any(node.op.is_graph for node in order):
        return list(outputs)
    return inlined(replace_nodes(outputs, order, _expanded))


def _expanded(node: Apply, inputs: list[Variable]) -> list[Variable] | None:
    """Return the graph that a node's op stands for; None for other ops."""
    if not node.op.is_graph:
        return None
    expand: Callable[..., list[Variable]] = node.op.expand  # type: ignore[attr-defined]
    return _named(expand(inputs), node)


def _named(results: list[Variable], node: Apply) -> list[Variable]:
    """Return the results of a graph, with the names of its node's results.

    What those are derivatives of, the results are, too.
    """
    for result, output in zip(results, node.outputs, strict=True):
        if sources := sources_of(output):
            derived(result, *sources_of(result), *sources)
        if result.name is None and output.name is not None and result.owner:
            result.name = output.name
    return results
