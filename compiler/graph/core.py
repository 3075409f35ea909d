"""Variables, the nodes that compute them, and the operations that nodes apply.

Nothing here knows an operation. What a variable's operators mean is handed in by `ops`
(`Variable.learn`), so that `x + y` can be written on every variable.
"""

from __future__ import annotations

import hashlib
import inspect
import linecache
import sys
import weakref
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from types import CodeType, FrameType, FunctionType, SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from gpuarray.compiler.config import config
from gpuarray.compiler.errors import (
    GraphArgumentError,
    GraphTypeError,
    NoGradientError,
    NotOfferedError,
)
from gpuarray.compiler.graph.disconnected import disconnected_type
from gpuarray.compiler.graph.requirements import Requirement
from gpuarray.compiler.graph.types import (
    ArrayType,
    GpuArrayType,
    TensorType,
    Type,
    dtype_name,
)
from gpuarray.dtypes import as_dtype, kind_of

if TYPE_CHECKING:
    from gpuarray.compiler.ops.operators import Operators
else:

    class Operators:
        """The base of Variable that `ops` fills with operators and methods."""


Array = np.ndarray[Any, Any]


class Trace(NamedTuple):
    """A line of the user's program; ``outer`` has those that called it, if kept."""

    file: str
    line: int
    function: str
    outer: tuple[Any, ...] = ()

    def __str__(self) -> str:
        text = linecache.getline(self.file, self.line).strip()
        place = f"{self.file}:{self.line} in {self.function}"
        return f"{place}: {text}" if text else place


_TRACE: ContextVar[Trace | str | None] = ContextVar("trace", default="caller")


@contextmanager
def traced_as(trace: Trace | None) -> Iterator[None]:
    """Nodes made in the block remember ``trace`` instead of the line that runs."""
    token = _TRACE.set(trace)
    try:
        yield
    finally:
        _TRACE.reset(token)


def user_line() -> Trace | None:
    """The innermost line on the stack that is not of this package.

    With the setting ``exception_verbosity=high`` it has the lines around it too.
    """
    fixed = _TRACE.get()
    if not isinstance(fixed, str):
        return fixed
    frame = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith("gpuarray.") and module != "gpuarray":
            line = _line(frame)
            if config.current().exception_verbosity == "high":
                line = line._replace(outer=tuple(_callers(frame)))
            return line
        frame = frame.f_back  # type: ignore[assignment]
    return None


_LINES: dict[tuple[int, int], tuple[CodeType, Trace]] = {}
"""Lines by place in their code, which is found by going through all of that."""
_MOST_LINES = 4096


def _line(frame: FrameType) -> Trace:
    code = frame.f_code
    place = id(code), frame.f_lasti  # what is kept keeps its identity
    known = _LINES.get(place)
    if known is None:
        if len(_LINES) >= _MOST_LINES:
            _LINES.clear()
        found = Trace(code.co_filename, frame.f_lineno, code.co_name)
        known = _LINES[place] = code, found
    return known[1]


def _callers(frame: FrameType) -> Iterator[Trace]:
    """The lines that called a frame, as many as ``traceback.limit`` says."""
    outer = frame.f_back
    for _ in range(config.traceback.limit):
        if outer is None:
            return
        yield _line(outer)
        outer = outer.f_back


class Variable(Operators):
    """A value of the graph: an input, or output ``index`` of the node ``owner``.

    ``tag`` is a scratchpad; ``tag.trace`` is the user's line that made the variable,
    ``tag.derived_from`` what it is a derivative of, on which it depends, although of
    what is linear in a variable no derivative holds that variable.
    Variables are equal only to themselves: symbolic equality is ``eq``.
    """

    def __init__(
        self,
        type: Any,
        owner: Apply | None = None,
        index: int | None = None,
        name: str | None = None,
    ) -> None:
        self.type = type
        self.owner = owner
        self.index = index
        self.name = name
        fixed = _TRACE.get()
        trace = user_line() if isinstance(fixed, str) else fixed
        self.tag = SimpleNamespace(trace=trace)

    @classmethod
    def learn(cls, methods: Mapping[str, Any]) -> None:
        """Give every variable these operators and methods."""
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
        """The node that computes the variable, in a list; none of an input."""
        return [] if self.owner is None else [self.owner]

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: not the functions that `eval` has compiled.

        Nor what a derivative was derived from.
        """
        state = {k: value for k, value in vars(self).items() if k != "_functions"}
        if hasattr(self.tag, "derived_from"):  # which may be deep
            tag = {k: v for k, v in vars(self.tag).items() if k != "derived_from"}
            state["tag"] = SimpleNamespace(**tag)
        return state

    def clone(self, name: str | None = None) -> Variable:
        """A fresh variable of the same type, name and tag, with no owner."""
        copy = Variable(self.type, name=self.name if name is None else name)
        copy.tag = SimpleNamespace(**vars(self.tag))
        return copy


def derived(result: Variable, *sources: Variable) -> Variable:
    """A new variable, said to be a derivative of others."""
    result.tag.derived_from = sources
    return result


def sources_of(variable: Variable) -> Sequence[Variable]:
    """What a variable is said to be a derivative of."""
    sources: Sequence[Variable] = getattr(variable.tag, "derived_from", ())
    return sources


class Constant(Variable):
    """A variable whose value is known; the value must not be written."""

    def __init__(self, type: Any, data: Any, name: str | None = None) -> None:
        super().__init__(type, name=name)
        self.data = type.filter(data)
        self._signature: tuple[Any, ...] | None = None

    @property
    def value(self) -> Any:
        """The value."""
        return self.data

    @property
    def signature(self) -> tuple[Any, ...]:
        """Hashable: two constants of one signature are interchangeable."""
        if self._signature is None:
            data = np.asarray(self.data)
            content = data.tobytes()
            if len(content) > 64:
                content = hashlib.blake2b(content, digest_size=16).digest()
            self._signature = (self.type, data.shape, content)
        return self._signature

    def equals(self, other: object) -> bool:
        """Whether ``other`` is a constant of the same type and value, bit by bit."""
        return isinstance(other, Constant) and self.signature == other.signature

    def clone(self, name: str | None = None) -> Constant:
        """A constant of the same value."""
        return Constant(self.type, self.data, self.name if name is None else name)

    def __str__(self) -> str:
        kind = type(self.type).__name__.removesuffix("Type")
        return f"{self.name or kind + 'Constant'}{{{short_value(self.data)}}}"

    __repr__ = __str__


def short_value(data: Any) -> str:
    """How a constant's value prints: long or uniform arrays are abbreviated."""
    array = np.asarray(data)
    if array.dtype == object or array.ndim == 0:
        return str(array)
    if array.size and (array == array.flat[0]).all():
        return f"{array.shape} of {array.flat[0]!s}"
    text = str(array).replace("\n", " ")
    return text if len(text) <= 24 else f"{text[:10]}..{text[-10:]}"


LONG = 60
"""Characters of an op beyond which what it gives is told by its kind."""


def short_op(op: Any) -> str:
    """An op as its results are called: a long one without what is in its braces."""
    text = str(op)
    return text if len(text) <= LONG else f"{type(op).__name__}{{...}}"


class Apply:
    """A node: ``op`` applied to ``inputs`` gives ``outputs``.

    ``depth`` is the number of nodes on the longest way from a leaf, when it was made.
    """

    __slots__ = ("__weakref__", "_written", "depth", "inputs", "op", "outputs")

    def __init__(
        self, op: Op, inputs: Sequence[Variable], outputs: Sequence[Variable]
    ) -> None:
        self.op = op
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        for given in (*self.inputs, *self.outputs):
            if not isinstance(given, Variable):
                raise GraphTypeError(
                    f"{op}: given {given!r}, a {type(given).__name__}; a node takes "
                    "and gives variables"
                )
        depth = 0
        for given in self.inputs:
            owner = given.owner
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
        """What a pickle holds: first the nodes below, so that it need not recurse.

        But not if it is this node's turn in such an order: then they are written.
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
        kinds = [each.type for each in inputs]
        if kinds == [each.type for each in self.inputs]:
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
        """A list of the nodes, each of which learns when its turn comes."""
        return list, ([Step(self, node) for node in self.nodes],)


class Step:
    """A node in an order. A pickle reduces it right before it writes the node."""

    __slots__ = ("node", "order")

    def __init__(self, order: Order, node: Apply) -> None:
        self.order = order
        self.node = node

    def __reduce__(self) -> tuple[Any, ...]:
        """The node, whose turn it is."""
        self.order.turn = self.node
        self.node._written = weakref.ref(self.order)
        return _itself, (self.node,)


def _itself(node: Apply) -> Apply:
    return node


def nodes_below(node: Apply, all_of_them: bool = False) -> list[Apply]:
    """The nodes that a node needs, each after those that it needs itself.

    Without those that a living pickle has, and what is below them: it is taken for the
    one that asks. That was wrong if it has the node, too, for a pickle asks once; then
    give ``all_of_them``.
    """
    found: list[Apply] = []
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
            found.append(current)
            stack.pop()
    return found[:-1]


class Op:
    """What is done to inputs. An op says what, never how.

    A subclass lists in ``__props__`` the attributes that tell its instances apart: two
    ops of one class and equal properties are the same operation. It gives

    - ``infer(*types)``: the type, or list of types, of the outputs; or else its own
      ``make_node(*inputs)``;
    - ``reference(*arrays)``: the result with NumPy, an array or a tuple of them; or
      else Theano's ``perform(node, inputs, output_storage)``;
    - ``grad(m, g, y, *inputs)``: what flows to each input, given the gradient ``g`` of
      the only output ``y`` and the functions ``m``; or ``lop(inputs, outputs,
      output_gradients)``, in which a gradient that does not exist is None; Theano's
      ``grad(inputs, output_gradients)`` is understood too; or, for an op that stands
      for a graph, ``unfold(inputs)``, the outputs by nodes that have gradients;
    - ``infer_shape(node, input_shapes)``: a tuple of lengths for each output, None
      where the length is known by running only.

    ``view_map`` and ``destroy_map`` map the index of an output to the inputs that it
    may alias or that it overwrites. ``undetermined`` has the indices of outputs that
    the inputs do not determine: memory as it is found, factors up to signs.
    """

    __props__: ClassVar[tuple[str, ...]]

    view_map: Mapping[int, Sequence[int]] = {}
    destroy_map: Mapping[int, Sequence[int]] = {}
    undetermined: Collection[int] = ()

    fails_late: bool = False
    """Whether it may fail in the middle of a run, when other steps have written."""

    reports: bool = False
    """Whether its kernels may find an index out of bounds, or a matrix singular."""

    follows_reports: bool = False
    """Whether it comes after all that reports."""

    leaves_zeros: bool = False
    """Whether results may have zeros where nothing was put."""

    is_holomorphic: bool = True
    """Whether the gradient, written as for real numbers, holds for complex ones."""
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
        mine = self.properties
        return mine is not None and mine == other.properties

    def __hash__(self) -> int:
        mine = self.properties
        return object.__hash__(self) if mine is None else hash((type(self), mine))

    def __str__(self) -> str:
        names = getattr(self, "__props__", ())
        values = ", ".join(f"{name}={getattr(self, name)}" for name in names)
        return f"{type(self).__name__}{{{values}}}" if names else type(self).__name__

    __repr__ = __str__

    def pretty(self, *texts: str) -> str:
        """How the op reads in a formula, given its operands' texts."""
        name = str(self).partition("{")[0]
        return f"{name}({', '.join(texts)})"

    def infer(self, *types: Any) -> Type | Sequence[Type]:
        """The type of the output for inputs of these types, or a list of types."""
        raise NotOfferedError(f"{self}: the op defines neither infer nor make_node")

    def make_node(self, *inputs: Any) -> Apply:
        """A node that applies the op; what is no variable becomes a constant."""
        variables = [
            value if isinstance(value, Variable) else as_variable(value, str(self))
            for value in inputs
        ]
        types = self.infer(*(variable.type for variable in variables))
        several = types if isinstance(types, Sequence) else [types]
        return Apply(self, variables, [each() for each in several])

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        """The output of a new node, or the list of its outputs."""
        token = _TRACE.set(user_line())  # not a line of the op's own make_node
        try:
            node = self.make_node(*inputs, **options)
        finally:
            _TRACE.reset(token)
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
        """What gives a new node's outputs their test values."""
        cls._test_values.append(compute)

    def reference(self, *arrays: Any) -> Any:
        """The result computed with NumPy."""
        raise NotOfferedError(
            f"{self}: no reference; define reference(self, *arrays), or "
            "perform(self, node, inputs, output_storage)"
        )

    def evaluate(self, node: Apply, arrays: Sequence[Any]) -> list[Any]:
        """The outputs of ``node`` for these inputs, computed on the host."""
        if hasattr(self, "perform"):
            return self.performed(node, self.brought(node, arrays))
        is_compared = type(self).reference is not Op.reference
        if hasattr(self, "make_thunk") and not is_compared:
            return self.thunked(node, self.brought(node, arrays))
        result = self.reference(*arrays)
        return list(result) if isinstance(result, (tuple, list)) else [result]

    def brought(self, node: Apply, arrays: Sequence[Any]) -> list[Any]:
        """Arrays of the host in the memories that the node's inputs are in."""
        return [
            each.type.on_context(array) if hasattr(each.type, "on_context") else array
            for each, array in zip(node.inputs, arrays, strict=True)
        ]

    def thunked(self, node: Apply, values: Sequence[Any]) -> list[Any]:
        """What a thunk makes of the values, on the context of the first that has one.

        Raises NotOfferedError where none has, for a thunk takes arrays of a device.
        """
        context = next((v.context for v in values if hasattr(v, "context")), None)
        if context is None:
            raise NotOfferedError(
                f"{self}: make_thunk takes arrays of a device; define reference(self, "
                "*arrays), or give the node's inputs as_gpuarray_variable(x, ctx)"
            )
        inputs, outputs = set(node.inputs), set(node.outputs)
        cells: dict[Variable, list[Any]] = {each: [None] for each in outputs}
        cells |= {v: [value] for v, value in zip(node.inputs, values, strict=True)}
        computed = {each: [each in inputs] for each in cells}
        with context:
            self.make_thunk(node, cells, computed, [])()  # type: ignore[attr-defined]
        return [cells[each][0] for each in node.outputs]

    def performed(self, node: Apply, values: Sequence[Any]) -> list[Any]:
        """What ``perform`` makes of the values; one with ``params`` gets those too."""
        perform: Callable[..., Any] = self.perform  # type: ignore[attr-defined]
        storage: list[list[Any]] = [[None] for _ in node.outputs]
        arguments: list[Any] = [node, list(values), storage]
        if _n_parameters(getattr(perform, "__func__", None)) == 5:
            arguments.append(self.get_params(node))  # type: ignore[attr-defined]
        perform(*arguments)
        return [cell[0] for cell in storage]

    def lop(
        self,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        output_gradients: Sequence[Variable | None],
    ) -> Sequence[Variable | None]:
        """What flows to each input, None where nothing does."""
        raise NoGradientError(
            f"{self}: the operation has no gradient; define grad or lop, or stop the "
            "gradient with consider_constant"
        )

    def pull_back(
        self,
        m: Any,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        output_gradients: Sequence[Variable | None],
    ) -> list[Variable | None]:
        """What flows to each input, by whichever way the op defines its gradient."""
        unfold: Callable[..., Any] | None = getattr(self, "unfold", None)
        if unfold is not None:
            return list(m.gradients_within(unfold, output_gradients, inputs))
        given = [disconnected_type() if g is None else g for g in output_gradients]
        l_op: Callable[..., Any] | None = getattr(self, "L_op", None)
        if l_op is not None:
            return list(l_op(list(inputs), list(outputs), given))
        grad: Callable[..., Any] | None = getattr(self, "grad", None)
        if grad is None:
            return list(self.lop(inputs, outputs, output_gradients))
        if self.has_gradient_of_each_input:
            return list(grad(list(inputs), given))
        (y,), (g,) = outputs, output_gradients
        terms = grad(m, g, y, *inputs)
        return list(terms) if isinstance(terms, (tuple, list)) else [terms]

    @property
    def has_gradient_of_each_input(self) -> bool:
        """Whether the op says what flows to lengths and indices too, as Theano's do."""
        grad: Callable[..., Any] | None = getattr(self, "grad", None)
        return hasattr(self, "L_op") or (grad is not None and _n_arguments(grad) == 2)

    def host_inputs(self, node: Apply) -> Collection[int]:
        """The inputs, integers or vectors of them, that settle shapes: by index.

        The host must know their values before the node can run on a device.
        """
        return ()

    def lazy_inputs(self, node: Apply) -> Mapping[int, bool]:
        """The inputs that are needed only if the first is true, or else false."""
        return {}

    def infer_shape(
        self, node: Apply, input_shapes: Sequence[Sequence[Any]]
    ) -> list[tuple[Any, ...]]:
        """The lengths of each output's axes; None where only running tells."""
        return [(None,) * output.type.ndim for output in node.outputs]

    def requirements(
        self, node: Apply, input_shapes: Sequence[Sequence[Any]]
    ) -> Iterable[Requirement]:
        """What must hold of lengths for the node to run, by its inputs' lengths.

        A rewrite may drop a node: what it required is then looked at all the same.
        """
        return ()

    def output_shapes(
        self, node: Apply, input_shapes: Sequence[Any]
    ) -> list[Sequence[Any]]:
        """What ``infer_shape`` says, also where it takes (fgraph, node, shapes)."""
        infer: Callable[..., Any] = self.infer_shape
        if _n_parameters(infer.__func__) == 4:  # type: ignore[attr-defined]
            return list(infer(None, node, input_shapes))
        return list(infer(node, input_shapes))


@lru_cache(maxsize=1024)
def _n_parameters(method: Callable[..., Any] | None) -> int:
    """How many parameters a method's function has, self included."""
    if method is None:
        return 0
    if not isinstance(method, FunctionType) or hasattr(method, "__wrapped__"):
        return len(inspect.signature(method).parameters)
    code = method.__code__  # which a signature takes ten times as long to read
    rest = bool(code.co_flags & inspect.CO_VARARGS)
    named = bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_argcount + code.co_kwonlyargcount + rest + named


def _n_arguments(method: Callable[..., Any]) -> int:
    """How many arguments a method takes from its caller."""
    function = getattr(method, "__func__", None)
    if function is None:
        return len(inspect.signature(method).parameters)
    return _n_parameters(function) - 1


def is_device_node(node: Apply) -> bool:
    """Whether the op itself takes or gives arrays of a context."""
    for each in (*node.inputs, *node.outputs):
        if isinstance(each.type, GpuArrayType):
            return True
    return False


def as_variable(value: Any, asked_by: str = "as_variable") -> Variable:
    """``value`` if it is a variable, the output of a node, or else a constant."""
    if isinstance(value, Variable):
        return value
    if isinstance(value, Apply):
        return value.out
    if hasattr(value, "context") and hasattr(value, "dtype"):
        raise GraphTypeError(
            f"{asked_by}: given a device array, expected a variable; make it a "
            "variable with shared(array)"
        )
    return constant(value, asked_by=asked_by)


_LITERAL_FLOAT: ContextVar[str | None] = ContextVar("literal float", default=None)


@contextmanager
def literal_floats_are(dtype: str | None) -> Iterator[None]:
    """Python floats that meet variables in the block become constants of ``dtype``."""
    token = _LITERAL_FLOAT.set(dtype)
    try:
        yield
    finally:
        _LITERAL_FLOAT.reset(token)


def literal_dtype(value: Any, float_x: str) -> str | None:
    """The dtype of a Python number as a constant; None for anything else.

    Integers take the smallest signed dtype that holds them. Floats take floatX where
    that is narrower than float64, else float32 or float64, the smallest that keeps the
    value; complex numbers take the dtype whose parts are so.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        for dtype in ("int8", "int16", "int32", "int64"):
            if (
                -(2 ** (8 * np.dtype(dtype).itemsize - 1))
                <= value
                < 2 ** (8 * np.dtype(dtype).itemsize - 1)
            ):
                return dtype
        return "uint64"
    if isinstance(value, float) and not isinstance(value, np.floating):
        if float_x != "float64":
            return float_x
        with np.errstate(all="ignore"):
            exact = float(np.float32(value)) == value or value != value
        return "float32" if exact else "float64"
    if isinstance(value, complex) and not isinstance(value, np.complexfloating):
        parts = {literal_dtype(part, float_x) for part in (value.real, value.imag)}
        return "complex128" if "float64" in parts else "complex64"
    return None


def constant(
    value: Any,
    dtype: Any = None,
    name: str | None = None,
    asked_by: str = "constant",
) -> Constant:
    """A constant of the value; its axes of length 1 broadcast."""
    from_literal = literal_dtype(value, _LITERAL_FLOAT.get() or config.floatX)
    try:
        wanted = from_literal if dtype is None else dtype_name(dtype)
        array = np.array(value, dtype=None if wanted is None else as_dtype(wanted))
    except (TypeError, ValueError, OverflowError) as error:
        raise GraphArgumentError(
            f"{asked_by}: {value!r} is no number or array: {error}"
        ) from error
    if kind_of(array.dtype) not in "biufc":
        raise GraphArgumentError(
            f"{asked_by}: given {value!r}, a {type(value).__name__}; expected a "
            "variable, a number or an array of numbers"
        )
    array.setflags(write=False)
    pattern = tuple(length == 1 for length in array.shape)
    return Constant(TensorType(array.dtype.name, pattern), array, name)


def is_float(variable: Variable) -> bool:
    """Whether the variable holds real numbers, so that gradients flow through it."""
    return isinstance(variable.type, ArrayType) and variable.type.is_float


Type.variable_class = Variable
Type.constant_class = Constant
