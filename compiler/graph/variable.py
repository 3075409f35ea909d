"""Variables, and the nodes that compute them.

Nothing here knows an operation. `ops` adds the operators and methods of variables
(`Variable.learn`), such as `x + y`.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from gpuarray.compiler.errors import GraphTypeError
from gpuarray.compiler.graph.trace import TRACE, Trace, user_line
from gpuarray.compiler.graph.types import GpuArrayType, Type

if TYPE_CHECKING:
    from gpuarray.compiler.graph.op import Op
    from gpuarray.compiler.ops.protocols.operators import Operators
else:
    Operators = object  # `ops` gives variables its methods, by `Variable.learn`


def check_name(name: Any, what: object) -> None:
    """Raise TypeError for a name that is neither None nor a string.

    ``what`` says what is named.
    """
    if name is not None and not isinstance(name, str):
        raise GraphTypeError(f"{what}: the name is {name!r}, expected a string")


class Variable(Operators):
    """A value of the graph: an input, or output ``index`` of the node ``owner``.

    ``tag`` is a scratchpad; ``tag.trace`` is the user's line that made the variable,
    ``tag.derived_from`` the variables that it is a derivative of, on which it depends
    even if it is constant.
    Variables are equal only to themselves: symbolic equality is ``eq``.
    """

    is_sparse = False
    """True for a matrix that is stored sparse."""

    def __init__(
        self,
        type: Any,
        owner: Apply | None = None,
        index: int | None = None,
        name: str | None = None,
    ) -> None:
        check_name(name, type)
        self.type = type
        self.owner = owner
        self.index = index
        self.name = name
        fixed = TRACE.get()
        trace = user_line() if isinstance(fixed, str) else fixed
        self.tag = SimpleNamespace(trace=trace)

    @classmethod
    def learn(cls, methods: Mapping[str, Any]) -> None:
        """Add these operators and methods to every variable."""
        for name, method in methods.items():
            setattr(cls, name, method)

    def __str__(self) -> str:
        if self.name is not None:
            return self.name
        if self.owner is not None:
            return f"{short_op(self.owner.op)}.{self.index}"
        return f"<{self.type}>"

    __repr__ = __str__

    def get_parents(self) -> list[Apply]:
        """Return the node that computes the variable, in a list; none for an input."""
        return [] if self.owner is None else [self.owner]

    def __getstate__(self) -> dict[str, Any]:
        """Return a pickle's content, without the functions that `eval` has compiled.

        And without the variables that it is a derivative of.
        """
        state = {k: value for k, value in vars(self).items() if k != "_functions"}
        if hasattr(self.tag, "derived_from"):  # which may be deep
            tag = {k: v for k, v in vars(self.tag).items() if k != "derived_from"}
            state["tag"] = SimpleNamespace(**tag)
        return state

    def clone(self, name: str | None = None) -> Variable:
        """Return a fresh variable of the same type, name and tag, with no owner."""
        copy = Variable(self.type, name=self.name if name is None else name)
        copy.tag = SimpleNamespace(**vars(self.tag))
        return copy


def derived(result: Variable, *sources: Variable) -> Variable:
    """Return a new variable, marked as a derivative of others."""
    result.tag.derived_from = sources
    return result


def sources_of(variable: Variable) -> Sequence[Variable]:
    """Return the variables that a variable is a derivative of."""
    sources: Sequence[Variable] = getattr(variable.tag, "derived_from", ())
    return sources


LONG = 60
"""The number of characters beyond which an op's text is shortened."""


def short_op(op: Any) -> str:
    """Return an op's text for its results: a long one without its braces."""
    text = str(op)
    return text if len(text) <= LONG else f"{type(op).__name__}{{...}}"


class Apply:
    """A node: ``outputs`` are ``op`` applied to ``inputs``.

    ``depth`` is the number of nodes on the longest path from a leaf, when it was made.
    """

    __slots__ = ("__weakref__", "_written", "depth", "inputs", "op", "outputs")

    def __init__(
        self, op: Op, inputs: Sequence[Variable], outputs: Sequence[Variable]
    ) -> None:
        self.op = op
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        for variable in (*self.inputs, *self.outputs):
            if not isinstance(variable, Variable):
                raise GraphTypeError(
                    f"{op}: given {variable!r}, a {type(variable).__name__}; a node "
                    "takes and gives variables"
                )
        depth = 0
        for variable in self.inputs:
            owner = variable.owner
            if owner is not None and owner.depth > depth:
                depth = owner.depth
        self.depth: int = depth + 1
        self._written: weakref.ref[Order] | None = None
        for index, output in enumerate(self.outputs):
            if output.owner is not None:
                raise GraphTypeError(
                    f"{op}: output {index} is already computed by {output.owner}; give "
                    "a fresh variable"
                )
            output.owner = self
            output.index = index

    @property
    def out(self) -> Variable:
        """The only output."""
        (output,) = self.outputs
        return output

    @property
    def trace(self) -> Trace | None:
        """The user's line that made the node."""
        trace: Trace | None = getattr(self.outputs[0].tag, "trace", None)
        return trace

    def __getstate__(self) -> tuple[Any, ...]:
        """A pickle's content: nodes below come first, so that it need not recurse.

        Except if it is this node's turn in such an order: then they are written.
        """
        order = self._living_order()
        if order is not None and order.turn is self:
            order.turn = below = None
        else:
            below = Order(nodes_below(self, all_of_them=order is not None))
            self._written = weakref.ref(below)
        return below, self.depth, self.op, self.inputs, self.outputs

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, self.depth, self.op, self.inputs, self.outputs = state
        self._written = None

    def _living_order(self) -> Order | None:
        """The order in which a pickle has the node, while there is that pickle."""
        return None if self._written is None else self._written()

    def clone_with(self, inputs: Sequence[Variable]) -> Apply:
        """The same operation on other inputs, with the tags and names of this node.

        The output types stay where the input types do; else the op infers them anew.
        """
        kinds = [operand.type for operand in inputs]
        if kinds == [operand.type for operand in self.inputs]:
            node = Apply(self.op, inputs, [output.type() for output in self.outputs])
        else:
            node = self.op.make_node(*inputs)
        for new, old in zip(node.outputs, self.outputs, strict=True):
            new.tag = SimpleNamespace(**vars(old.tag))
            new.name = old.name
        return node

    def __str__(self) -> str:
        return f"{self.op}({', '.join(map(str, self.inputs))})"

    __repr__ = __str__


class Order:
    """The nodes below one, in the order in which a pickle writes them.

    A pickler keeps all that it has seen, and so does `copy.deepcopy`. So an order lives
    as long as one knows the nodes that refer to it, which they do weakly.
    """

    __slots__ = ("__weakref__", "nodes", "turn")

    def __init__(self, nodes: Sequence[Apply]) -> None:
        self.nodes = nodes
        self.turn: Apply | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a list of the nodes, each of which is told its turn."""
        return list, ([NodeInOrder(self, node) for node in self.nodes],)


class NodeInOrder:
    """A node in an order. A pickle reduces it right before it writes the node."""

    __slots__ = ("node", "order")

    def __init__(self, order: Order, node: Apply) -> None:
        self.order = order
        self.node = node

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the node, whose turn it is."""
        self.order.turn = self.node
        self.node._written = weakref.ref(self.order)
        return _itself, (self.node,)


def _itself(node: Apply) -> Apply:
    return node


def nodes_below(node: Apply, all_of_them: bool = False) -> list[Apply]:
    """Return the nodes that a node needs, each after those that it needs itself.

    Without those that a living pickle has, and those below: it is taken for the one
    that asks. That was wrong if it has the node, too, for a pickle asks once; then give
    ``all_of_them``.
    """
    below: list[Apply] = []
    met = {node}
    stack = [(node, iter(node.inputs))]
    while stack:
        current, rest = stack[-1]
        for variable in rest:
            owner = variable.owner
            if owner is None or owner in met:
                continue
            met.add(owner)
            if all_of_them or owner._living_order() is None:
                stack.append((owner, iter(owner.inputs)))
                break
        else:
            below.append(current)
            stack.pop()
    return below[:-1]


def is_device_node(node: Apply) -> bool:
    """Return True if the op itself takes or returns arrays of a context."""
    for variable in (*node.inputs, *node.outputs):
        if isinstance(variable.type, GpuArrayType):
            return True
    return False


def is_float(variable: Variable) -> bool:
    """Return True if the variable is of real floats, so that it has gradients."""
    return bool(getattr(variable.type, "is_float", False))


Type.variable_class = Variable
