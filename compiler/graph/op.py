"""Operations, which nodes apply to their inputs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from types import FunctionType
from typing import Any, ClassVar

from gpuarray.compiler.config import config
from gpuarray.compiler.errors import GraphTypeError, NoGradientError, NotOfferedError
from gpuarray.compiler.graph.constants import as_variable
from gpuarray.compiler.graph.disconnected import disconnected_type
from gpuarray.compiler.graph.requirements import Requirement
from gpuarray.compiler.graph.trace import TRACE, user_line
from gpuarray.compiler.graph.types import Type
from gpuarray.compiler.graph.variable import Apply, Variable

Variables = Sequence[Variable]
Gradients = Sequence[Variable | None]
"""Gradients; None is a disconnected one."""


class Op:
    """An operation on inputs: its meaning, not its implementation.

    A subclass lists in ``__props__`` the attributes that distinguish its instances: two
    ops of one class and equal properties are the same operation. It defines

    - ``infer(*types)``: the type, or list of types, of the outputs; or else its own
      ``make_node(*inputs)``; or Theano's ``itypes`` and ``otypes``, the types of its
      inputs and outputs;
    - ``reference(*arrays)``: the result with NumPy, an array or a tuple of them; or
      else Theano's ``perform(node, inputs, output_storage)``;
    - ``grad(m, g, y, *inputs)``: the gradient of each input, by the gradient ``g`` of
      the only output ``y`` and the functions ``m``; or ``lop(inputs, outputs,
      output_gradients)``, in which a disconnected gradient is None; Theano's
      ``grad(inputs, output_gradients)`` works too; or, for an op that stands for a
      graph, ``unfold(inputs)``, the outputs by nodes that have gradients;
    - ``infer_shape(node, input_shapes)``: a tuple of lengths for each output, None
      for a length that depends on values.

    ``view_map`` and ``destroy_map`` map the index of an output to the inputs that it
    may alias or that it overwrites. ``undetermined`` has the indices of outputs that
    the inputs do not determine: memory as it is found, factors up to signs.
    """

    __props__: ClassVar[tuple[str, ...]]

    view_map: Mapping[int, Sequence[int]] = {}
    destroy_map: Mapping[int, Sequence[int]] = {}
    undetermined: Collection[int] = ()

    fails_late: bool = False
    """True if it may fail during a run, after other steps have written."""

    reports: bool = False
    """True if its kernels may report an index out of bounds or a singular matrix."""

    follows_reports: bool = False
    """True if it runs after all reporting nodes."""

    gives_lengths: bool = False
    """True if results are lengths of arrays, known wherever the arrays are."""

    leaves_zeros: bool = False
    """True if results may have zeros where no value was set."""

    program_order: int | None = None
    """The place among ops that run as often as the program has them, and in its order,
    for other ranks wait for that; None for an op that may be moved and merged."""

    is_graph: bool = False
    """True if a function first replaces it by the graph ``expand(inputs)``."""

    is_holomorphic: bool = True
    """True if the gradient, written for real numbers, holds for complex ones."""
    _test_values: ClassVar[list[Callable[[Apply], None]]] = []

    @property
    def properties(self) -> tuple[Any, ...] | None:
        """The values of ``__props__``, or None for an op that does not list them."""
        names = getattr(self, "__props__", None)
        return None if names is None else tuple([getattr(self, name) for name in names])

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other) or not isinstance(other, Op):
            return NotImplemented
        properties = self.properties
        return properties is not None and properties == other.properties

    def __hash__(self) -> int:
        properties = self.properties
        return (
            object.__hash__(self)
            if properties is None
            else hash((type(self), properties))
        )

    def __str__(self) -> str:
        names = getattr(self, "__props__", ())
        values = ", ".join(f"{name}={getattr(self, name)}" for name in names)
        return f"{type(self).__name__}{{{values}}}" if names else type(self).__name__

    __repr__ = __str__

    def pretty(self, *texts: str) -> str:
        """Return the op's formula of its operands' texts."""
        name = str(self).partition("{")[0]
        return f"{name}({', '.join(texts)})"

    def infer(self, *types: Any) -> Type | Sequence[Type]:
        """The type of the output for inputs of these types, or a list of types.

        By default those of ``otypes``, which Theano's ops declare beside ``itypes``.
        """
        if not (hasattr(self, "itypes") and hasattr(self, "otypes")):
            raise NotOfferedError(
                f"{self}: the op defines neither infer nor make_node, nor itypes and "
                "otypes"
            )
        expected = declared_types(f"{self}: itypes", self.itypes)
        if len(types) != len(expected):
            raise GraphTypeError(
                f"{self}: given {len(types)} inputs, expected {len(expected)}"
            )
        for i, (kind, declared) in enumerate(zip(types, expected, strict=True)):
            if kind != declared:
                raise GraphTypeError(
                    f"{self}: input {i} is given of {kind}, expected {declared}; "
                    "convert it with astype, or declare another type in itypes"
                )
        return declared_types(f"{self}: otypes", self.otypes)

    def make_node(self, *inputs: Any) -> Apply:
        """Return a node that applies the op; values become constants."""
        variables = [
            value if isinstance(value, Variable) else as_variable(value, str(self))
            for value in inputs
        ]
        types = self.infer(*(variable.type for variable in variables))
        several = types if isinstance(types, Sequence) else [types]
        return Apply(self, variables, [kind() for kind in several])

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        """Return the output of a new node, or the list of its outputs."""
        token = TRACE.set(user_line())  # not a line of the op's own make_node
        try:
            node = self.make_node(*inputs, **options)
        finally:
            TRACE.reset(token)
        if not isinstance(node, Apply):
            raise GraphTypeError(
                f"{self}: make_node gave {node!r}, expected Apply(self, inputs, "
                "outputs)"
            )
        if config.current().compute_test_value != "off":
            for compute in self._test_values:
                compute(node)
        return node.outputs[0] if len(node.outputs) == 1 else node.outputs

    @classmethod
    def learn_test_values(cls, compute: Callable[[Apply], None]) -> None:
        """Let ``compute`` set the test values of a new node's outputs."""
        cls._test_values.append(compute)

    def reference(self, *arrays: Any) -> Any:
        """Return the result computed with NumPy."""
        raise NotOfferedError(
            f"{self}: no reference; define reference(self, *arrays), or "
            "perform(self, node, inputs, output_storage)"
        )

    def evaluate(self, node: Apply, arrays: Sequence[Any]) -> list[Any]:
        """Return the outputs of ``node`` for these inputs, computed on the host."""
        if hasattr(self, "perform"):
            return self.performed(node, self.brought(node, arrays))
        is_compared = type(self).reference is not Op.reference
        if hasattr(self, "make_thunk") and not is_compared:
            return self.thunked(node, self.brought(node, arrays))
        result = self.reference(*arrays)
        return list(result) if isinstance(result, (tuple, list)) else [result]

    def brought(self, node: Apply, arrays: Sequence[Any]) -> list[Any]:
        """Return host arrays in the memories that the node's inputs are in."""
        return [
            variable.type.on_context(array)
            if hasattr(variable.type, "on_context")
            else array
            for variable, array in zip(node.inputs, arrays, strict=True)
        ]

    def thunked(self, node: Apply, values: Sequence[Any]) -> list[Any]:
        """Run a thunk on the values, on the context of the first that has one.

        Raises NotOfferedError without one, for a thunk takes arrays of a device.
        """
        context = next((v.context for v in values if hasattr(v, "context")), None)
        if context is None:
            raise NotOfferedError(
                f"{self}: make_thunk takes arrays of a device; define reference(self, "
                "*arrays), or give the node's inputs as_gpuarray_variable(x, ctx)"
            )
        inputs, outputs = set(node.inputs), set(node.outputs)
        cells: dict[Variable, list[Any]] = {output: [None] for output in outputs}
        cells |= {v: [value] for v, value in zip(node.inputs, values, strict=True)}
        computed = {cell: [cell in inputs] for cell in cells}
        with context:
            self.make_thunk(node, cells, computed, [])()  # type: ignore[attr-defined]
        return [cells[variable][0] for variable in node.outputs]

    def performed(self, node: Apply, values: Sequence[Any]) -> list[Any]:
        """Run ``perform`` on the values; one with ``params`` gets those too."""
        perform: Callable[..., Any] = self.perform  # type: ignore[attr-defined]
        storage: list[list[Any]] = [[None] for _ in node.outputs]
        arguments: list[Any] = [node, list(values), storage]
        if _n_parameters(getattr(perform, "__func__", None)) == 5:
            arguments.append(self.get_params(node))  # type: ignore[attr-defined]
        perform(*arguments)
        return [cell[0] for cell in storage]

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return the gradient of each input, None if disconnected."""
        raise NoGradientError(
            f"{self}: the operation has no gradient; define grad or lop, or stop the "
            "gradient with consider_constant"
        )

    def pull_back(
        self, m: Any, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> list[Variable | None]:
        """Return the gradient of each input, by whichever method the op defines."""
        unfold: Callable[..., Any] | None = getattr(self, "unfold", None)
        if unfold is not None:
            return list(m.gradients_within(unfold, output_gradients, inputs))
        gradients = [disconnected_type() if g is None else g for g in output_gradients]
        l_op: Callable[..., Any] | None = getattr(self, "L_op", None)
        if l_op is not None:
            return list(l_op(list(inputs), list(outputs), gradients))
        grad: Callable[..., Any] | None = getattr(self, "grad", None)
        if grad is None:
            return list(self.lop(inputs, outputs, output_gradients))
        if self.has_gradient_of_each_input:
            return list(grad(list(inputs), gradients))
        (y,), (g,) = outputs, output_gradients
        terms = grad(m, g, y, *inputs)
        return list(terms) if isinstance(terms, (tuple, list)) else [terms]

    @property
    def has_gradient_of_each_input(self) -> bool:
        """True if the op has gradients of lengths and indices too, as Theano's do."""
        grad: Callable[..., Any] | None = getattr(self, "grad", None)
        return hasattr(self, "L_op") or (grad is not None and _n_arguments(grad) == 2)

    def host_inputs(self, node: Apply) -> Collection[int]:
        """Return the indices of integer inputs, or vectors of them, that decide shapes.

        The host must know their values before the node can run on a device.
        """
        return ()

    def homes(
        self, node: Apply, places: Mapping[Variable, str | None]
    ) -> Iterable[str | None]:
        """Return the contexts of a node's operands, the one where it runs first.

        ``places`` has those that are known. Empty if the node may be anywhere.
        """
        return [places[operand] for operand in node.inputs if operand in places]

    def lazy_inputs(self, node: Apply) -> Mapping[int, bool]:
        """The inputs that are needed only if the first is true, or else false."""
        return {}

    def infer_shape(
        self, node: Apply, input_shapes: Sequence[Sequence[Any]]
    ) -> list[tuple[Any, ...]]:
        """Return the lengths of each output's axes; None if they depend on values."""
        return [(None,) * getattr(output.type, "ndim", 0) for output in node.outputs]

    def requirements(
        self, node: Apply, input_shapes: Sequence[Sequence[Any]]
    ) -> Iterable[Requirement]:
        """Return the node's requirements of lengths, by its inputs' lengths.

        A rewrite may remove a node: its requirements are checked all the same.
        """
        return ()

    def output_shapes(
        self, node: Apply, input_shapes: Sequence[Any]
    ) -> list[Sequence[Any]]:
        """Return the shapes by ``infer_shape``, of whichever signature."""
        infer: Callable[..., Any] = self.infer_shape
        if _n_parameters(infer.__func__) == 4:  # type: ignore[attr-defined]
            return list(infer(None, node, input_shapes))
        return list(infer(node, input_shapes))


class SameShapeOp(Op):
    """An op whose only result has the shape of the first input."""

    def infer_shape(
        self, node: Apply, input_shapes: Sequence[Sequence[Any]]
    ) -> list[tuple[Any, ...]]:
        """Return the shape of the first input."""
        return [tuple(input_shapes[0])]


@lru_cache(maxsize=1024)
def _n_parameters(method: Callable[..., Any] | None) -> int:
    """Return the number of parameters of a method's function, self included."""
    if method is None:
        return 0
    if not isinstance(method, FunctionType) or hasattr(method, "__wrapped__"):
        return len(inspect.signature(method).parameters)
    code = method.__code__  # ten times as fast as a signature
    rest = bool(code.co_flags & inspect.CO_VARARGS)
    named = bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_argcount + code.co_kwonlyargcount + rest + named


def _n_arguments(method: Callable[..., Any]) -> int:
    """Return the number of arguments that a method takes from its caller."""
    function = getattr(method, "__func__", None)
    if function is None:
        return len(inspect.signature(method).parameters)
    return _n_parameters(function) - 1


def declared_types(what: str, argument: Any) -> tuple[Type, ...]:
    """Return types from one or several of them, or of constructors of variables."""
    several = isinstance(argument, (list, tuple))
    types = []
    for item in argument if several else [argument]:
        if isinstance(item, Type):
            kind: Any = item
        else:
            variable = item() if callable(item) else item
            kind = variable.type if isinstance(variable, Variable) else None
        if not isinstance(kind, Type):
            raise GraphTypeError(
                f"{what} holds {item!r}; expected types, such as T.fmatrix"
            )
        types.append(kind)
    return tuple(types)
