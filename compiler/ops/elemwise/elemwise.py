"""Elemwise: one op for every row of the scalar table, and for fused rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np
from gpuarray._kernels.argument_conversion import converted
from gpuarray._kernels.codegen import resolve
from gpuarray.compiler.config import config
from gpuarray.compiler.errors import (
    GraphArgumentError,
    GraphTypeError,
    GraphValueError,
)
from gpuarray.compiler.graph.core import Apply, Op, Variable
from gpuarray.compiler.graph.op import Gradients, Variables
from gpuarray.compiler.graph.requirements import Requirement, equal
from gpuarray.compiler.graph.types import TensorType, dtype_name, is_integer_name
from gpuarray.compiler.ops.elemwise.draws import is_row, row_named
from gpuarray.compiler.ops.elemwise.steps import ProgramStep, check_operands
from gpuarray.compiler.ops.shape.shape import shape_padleft
from gpuarray.compiler.ops.variables.basic import as_tensor_variable
from gpuarray.scalars import SCALARS, Scalar

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Cast:
    """The conversion of each element to ``dtype``."""

    dtype: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", dtype_name(self.dtype))

    @property
    def arity(self) -> int:
        """One operand."""
        return 1

    def __str__(self) -> str:
        return f"Cast{{{self.dtype}}}"


@dataclass(frozen=True, slots=True)
class CompositeStep(ProgramStep):
    """A row ``op`` of the scalar table, or ``"cast"``, applied to earlier values."""

    op: str
    operands: tuple[int, ...]
    dtype: str

    @property
    def label(self) -> str:
        """The row's name."""
        return self.op

    def reading(self, operands: Sequence[int]) -> CompositeStep:
        """Return the step with other operands."""
        return replace(self, operands=tuple(operands))

    def value(self, values: Sequence[Any], shape: Sequence[int] = ()) -> Any:
        """Return the row of its operands among ``values``, by NumPy."""
        return evaluate_row(self.op, [values[i] for i in self.operands], self.dtype)

    def graph(
        self, values: Sequence[Variable], cell: Variable | None = None
    ) -> Variable:
        """Return the row as a node, with a cast where its dtype is another."""
        scalar = Cast(self.dtype) if self.op == "cast" else row_named(self.op)
        operands = [values[operand] for operand in self.operands]
        result: Variable = Elemwise(scalar)(*operands)
        if result.type.dtype != self.dtype:
            result = Elemwise(Cast(self.dtype))(result)
        return result

    def text(self, operands: Sequence[str]) -> str:
        """Return the formula of the row for these texts."""
        return formula(self.op, operands, self.dtype)


@dataclass(frozen=True, slots=True)
class Composite:
    """Several rows as one scalar operation with one output or more.

    Value ``k`` is input ``k``, and after the inputs the result of each step. ``inputs``
    are the inputs' dtypes, ``outputs`` the values that are results.

    >>> square = CompositeStep("mul", (0, 0), "float32")
    >>> steps = (square, CompositeStep("exp", (1,), "float32"))
    >>> print(Composite(("float32",), steps, (2,)))
    Composite{exp((i0 * i0))}
    """

    inputs: tuple[str, ...]
    steps: tuple[CompositeStep, ...]
    outputs: tuple[int, ...]

    def __post_init__(self) -> None:
        check_operands("Composite", self.steps, len(self.inputs))
        for step in self.steps:
            if step.op != "cast" and not is_row(step.op):
                raise GraphValueError(f"Composite: no row is named {step.op!r}")

    @property
    def arity(self) -> int:
        """The number of inputs."""
        return len(self.inputs)

    def value_dtype(self, value: int) -> str:
        """Return the dtype of a value: an input's, or a step's."""
        count = len(self.inputs)
        return self.inputs[value] if value < count else self.steps[value - count].dtype

    @property
    def output_dtypes(self) -> tuple[str, ...]:
        """The dtypes of the outputs."""
        return tuple(self.value_dtype(output) for output in self.outputs)

    def reference(self, *arrays: Any) -> tuple[Any, ...]:
        """Return the outputs computed with NumPy, step by step."""
        values = list(arrays)
        for step in self.steps:
            values.append(step.value(values))
        return tuple(values[output] for output in self.outputs)

    def unfold(self, inputs: Sequence[Variable]) -> list[Variable]:
        """Return the outputs as a graph of single rows."""
        values = list(inputs)
        for step in self.steps:
            values.append(step.graph(values))
        return [values[output] for output in self.outputs]

    def statements(self, input_texts: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return the listing for texts of the inputs: ``t0 = ...``, and the outputs."""
        named, texts = listing(self.steps, input_texts, self.outputs)
        return named, [texts[output] for output in self.outputs]

    def __str__(self) -> str:
        named, results = self.statements([f"i{i}" for i in range(len(self.inputs))])
        return f"Composite{{{'; '.join([*named, ', '.join(results)])}}}"


def listing(
    steps: Iterable[Any], input_texts: Sequence[str], read: Iterable[int]
) -> tuple[list[str], list[str]]:
    """Return names of values used twice, ``t0 = ...``, and the text of each value.

    ``read`` are values that are used besides the steps.
    """
    steps, texts = list(steps), list(input_texts)
    uses = Counter([*read, *(i for step in steps for i in step.operands)])
    named: list[str] = []
    for number, step in enumerate(steps, len(texts)):
        text = step.text([texts[operand] for operand in step.operands])
        if uses[number] > 1:
            named.append(f"t{len(named)} = {text}")
            text = f"t{len(named) - 1}"
        texts.append(text)
    return named, texts


def formula(op: str, texts: Sequence[str], dtype: str = "") -> str:
    """Return the formula of a row, or ``"cast"``: ``(a + b)``, ``(-a)``, ``exp(a)``."""
    if op == "cast":
        return f"Cast{{{dtype}}}({texts[0]})"
    symbol = row_named(op).symbol
    if not symbol:
        return f"{op}({', '.join(texts)})"
    return (
        f"({symbol}{texts[0]})" if len(texts) == 1 else f"({f' {symbol} '.join(texts)})"
    )


def loop_dtypes(row: Scalar, inputs: Sequence[str]) -> tuple[str, ...]:
    """Return the dtypes that a row computes in: one for each operand, and the result's.

    They are NumPy's for arrays of the inputs' dtypes, but integers become Theano's
    floats: float32 where they have 16 bits or less, else float64, and no float16. Under
    the cast policy ``numpy+floatX`` with floatX=float32, float64 that NumPy promotes to
    without need is float32.
    """
    dtypes = _numpy_loop(row, tuple(inputs))
    is_needed = "float64" in inputs or config.cast_policy != "numpy+floatX"
    if is_needed or config.floatX != "float32":
        return dtypes
    return tuple("float32" if dtype == "float64" else dtype for dtype in dtypes)


@lru_cache(maxsize=4096)
def _numpy_loop(row: Scalar, inputs: tuple[str, ...]) -> tuple[str, ...]:
    operands = tuple(np.dtype(name) for name in inputs)
    if row.floats_integers and all(is_integer_name(name) for name in inputs):
        operands = tuple(
            resolve(SCALARS["exp"], (operand,)).result for operand in operands
        )
    try:
        loop = resolve(row, operands)
    except TypeError as error:
        raise GraphTypeError(
            f"{row.name}: not offered for {' and '.join(inputs)}; cast an operand first"
        ) from error
    dtypes = tuple(map(_name, (*loop.operands, loop.result)))
    if "float16" in inputs:
        return dtypes
    return tuple("float32" if dtype == "float16" else dtype for dtype in dtypes)


def evaluate_row(op: str, arrays: Sequence[Any], dtype: str) -> Any:
    """Return a row, or ``"cast"``, of arrays, with NumPy, in ``dtype``."""
    with np.errstate(all="ignore"):
        if op == "cast":
            return converted(np.asarray(arrays[0]), np.dtype(dtype))
        row = row_named(op)
        inputs = [np.asarray(array) for array in arrays]
        loop = loop_dtypes(row, [_name(array.dtype) for array in inputs])
        operands = [
            array.astype(to, copy=False)
            for array, to in zip(inputs, loop, strict=False)
        ]
        return np.asarray(row.reference(*operands)).astype(dtype, copy=False)


@cache
def _name(dtype: np.dtype[Any]) -> str:
    return dtype.name


class Elemwise(Op):
    """A scalar operation applied to each element of inputs that broadcast.

    The node's inputs all have the same number of axes: new axes that broadcast are put
    on the left of those that have fewer. ``inplace_pattern`` maps an output to the
    input that it overwrites. The operation may be given by what has it as its
    ``scalar_op``: a function of ``scalar``. ``name`` is taken and not used.
    """

    __props__ = ("key", "inplace_items")

    def __init__(
        self,
        scalar: Any,
        inplace_pattern: Mapping[int, int] | None = None,
        name: str | None = None,
    ) -> None:
        operation = getattr(scalar, "scalar_op", scalar)
        if not isinstance(operation, Scalar | Composite | Cast):
            raise GraphArgumentError(
                f"Elemwise: given {scalar!r} as the operation, expected a function "
                "of scalar, as scalar.exp, or a row of gpuarray.scalars"
            )
        self.settle(operation, inplace_pattern or {})

    def settle(
        self, scalar: Scalar | Composite | Cast, inplace_pattern: Mapping[int, int]
    ) -> None:
        """Set the scalar operation and overwritten inputs of a new op or a copy.

        ``row_name`` is the row's name, ``"cast"``, or ``"composite"``.
        """
        self.scalar = scalar
        self.row_name = "cast" if isinstance(scalar, Cast) else "composite"
        if isinstance(scalar, Scalar):
            self.row_name = scalar.name
        self.inplace_pattern = dict(inplace_pattern)
        self.destroy_map = {o: [i] for o, i in self.inplace_pattern.items()}

    @property
    def name(self) -> str:
        """Theano's name of what is printed."""
        return str(self)

    @property
    def scalar_op(self) -> Scalar | Composite | Cast:
        """Theano's name of ``scalar``."""
        return self.scalar

    @property
    def key(self) -> str | Composite | Cast:
        """The identity of the scalar operation: the row's name, or the data."""
        return self.scalar.name if isinstance(self.scalar, Scalar) else self.scalar

    @property
    def inplace_items(self) -> tuple[tuple[int, int], ...]:
        """The pairs of output and input that share memory, in order."""
        return tuple(sorted(self.inplace_pattern.items()))

    def output_dtypes(self, inputs: Sequence[str]) -> tuple[str, ...]:
        """Return the dtypes of the outputs for inputs of these dtypes."""
        if isinstance(self.scalar, Cast):
            return (self.scalar.dtype,)
        if isinstance(self.scalar, Scalar):
            return (loop_dtypes(self.scalar, inputs)[-1],)
        if tuple(inputs) != self.scalar.inputs:
            raise GraphTypeError(
                f"{self}: given {', '.join(inputs)}, expected "
                f"{', '.join(self.scalar.inputs)}"
            )
        return self.scalar.output_dtypes

    def make_node(self, *inputs: Any) -> Apply:
        """Return a node over the inputs, aligned to the largest rank."""
        variables = [as_tensor_variable(value) for value in inputs]
        if len(variables) != self.scalar.arity:
            raise GraphArgumentError(
                f"{self}: given {len(variables)} operands, expected {self.scalar.arity}"
            )
        ndim = max((variable.type.ndim for variable in variables), default=0)
        aligned = [
            shape_padleft(variable, ndim - variable.type.ndim) for variable in variables
        ]
        patterns = [variable.type.broadcastable for variable in aligned]
        pattern = tuple(map(all, zip(*patterns, strict=True)))
        dtypes = self.output_dtypes([variable.type.dtype for variable in aligned])
        self._check_inplace(aligned, pattern, dtypes)
        return Apply(self, aligned, [TensorType(dtype, pattern)() for dtype in dtypes])

    def _check_inplace(
        self,
        inputs: Sequence[Variable],
        pattern: tuple[bool, ...],
        dtypes: Sequence[str],
    ) -> None:
        for output, index in self.inplace_pattern.items():
            kind = inputs[index].type
            if kind.broadcastable != pattern or kind.dtype != dtypes[output]:
                raise GraphTypeError(
                    f"{self}: output {output} ({dtypes[output]}, {pattern}) cannot "
                    f"overwrite input {index}, {kind}"
                )

    def evaluate(self, node: Apply, arrays: Sequence[Any]) -> list[Any]:
        """The outputs with NumPy. Raises ValueError where lengths differ.

        An axis of length 1 repeats only if its type says that it broadcasts.
        """
        for axis in range(node.outputs[0].type.ndim):
            lengths = {
                array.shape[axis]
                for array, variable in zip(arrays, node.inputs, strict=True)
                if not variable.type.broadcastable[axis]
            }
            if len(lengths) > 1:
                shapes = " and ".join(str(array.shape) for array in arrays)
                raise GraphValueError(
                    f"{self}: Input dimension mis-match: shapes {shapes} differ on "
                    f"axis {axis}; an axis repeats only where its type says that it "
                    "broadcasts"
                )
        dtypes = [output.type.dtype for output in node.outputs]
        results = self._results(arrays, dtypes)
        for output, index in self.inplace_pattern.items():
            arrays[index][...] = results[output]
            results[output] = arrays[index]
        return results

    def _results(self, arrays: Sequence[Any], dtypes: Sequence[str]) -> list[Any]:
        if isinstance(self.scalar, Composite):
            shape = np.broadcast_shapes(*(np.shape(array) for array in arrays))
            return [
                np.array(np.broadcast_to(result, shape))
                for result in self.scalar.reference(*arrays)
            ]
        name = self.scalar.name if isinstance(self.scalar, Scalar) else "cast"
        return [evaluate_row(name, arrays, dtypes[0])]

    def reference(self, *arrays: Any) -> Any:
        """The result with NumPy, a tuple where there are several."""
        dtypes = self.output_dtypes([np.asarray(array).dtype.name for array in arrays])
        results = self._results(arrays, dtypes)
        return results[0] if len(results) == 1 else tuple(results)

    def pull_back(
        self, m: Any, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> list[Variable | None]:
        """Return the rows' gradients before the sum over broadcast axes."""
        if isinstance(self.scalar, Composite):
            graph = self.scalar.unfold
            return list(m.gradients_within(graph, output_gradients, inputs))
        (g,) = output_gradients
        if isinstance(self.scalar, Cast):
            return [g]
        terms = self.scalar.gradient(m, g, outputs[0], *inputs)
        return list(terms) if isinstance(terms, tuple) else [terms]

    def infer_shape(
        self, node: Apply, input_shapes: Sequence[Sequence[Any]]
    ) -> list[tuple[Any, ...]]:
        """Return on each axis the length of the first input that has the axis."""
        lengths = []
        for axis in range(node.outputs[0].type.ndim):
            candidates = [
                shape[axis]
                for shape, variable in zip(input_shapes, node.inputs, strict=True)
                if not variable.type.broadcastable[axis]
            ]
            lengths.append(candidates[0] if candidates else input_shapes[0][axis])
        return [tuple(lengths) for _ in node.outputs]

    def requirements(
        self, node: Apply, input_shapes: Sequence[Sequence[Any]]
    ) -> Iterable[Requirement]:
        """Require equal lengths of inputs that do not broadcast on an axis."""
        for axis in range(node.outputs[0].type.ndim):
            lengths = [
                shape[axis]
                for shape, variable in zip(input_shapes, node.inputs, strict=True)
                if not variable.type.broadcastable[axis]
            ]
            for length in lengths[1:]:
                yield from equal(lengths[0], length)

    def pretty(self, *texts: str) -> str:
        """Return the formula of a row; a call of anything else."""
        if isinstance(self.scalar, Scalar):
            return formula(self.scalar.name, texts)
        return f"{self.scalar}({', '.join(texts)})"

    def __str__(self) -> str:
        if not self.inplace_pattern:
            if not isinstance(self.scalar, Scalar):
                return f"{type(self).__name__}{{{self.key}}}"
            if self.scalar.is_bare and type(self) is Elemwise:
                return self.row_name
            return f"{type(self).__name__}{{{self.key},no_inplace}}"
        return f"{type(self).__name__}{{{self.key}}}{list(self.inplace_items)}"
