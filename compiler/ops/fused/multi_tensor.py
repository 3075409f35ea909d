"""MultiTensor: several elementwise operations, each of its own shape, in one launch.

No user writes it: fusion makes it of elementwise results of a function, such as the new
values of many parameters. Their operands may be sums over the first axes of arrays, as
the gradients of biases are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.graph.core import Apply, Op, Variable
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.elemwise.elemwise import Composite
from gpuarray.compiler.ops.reduce.reduce import NAMES, Reduce

Given = TypeVar("Given")


@dataclass(frozen=True, slots=True)
class MappedTotal:
    """``map`` of arrays of one shape, folded over their first ``axes`` axes.

    ``is_one`` marks the inputs that are one number for all elements, ``is_row`` those
    that have one for each row of a matrix, whose rows are folded: the other axis has
    length 1. The fold, by row ``monoid`` of the table, has a value for no elements.
    """

    map: Composite
    is_one: tuple[bool, ...]
    monoid: str
    axes: int
    dtype: str
    acc_dtype: str
    is_row: tuple[bool, ...] = ()

    @property
    def is_product(self) -> bool:
        """True if it is a product of a matrix and the second input, as by a BLAS."""
        return any(self.is_row)

    @property
    def is_part(self) -> tuple[bool, ...]:
        """The inputs that have fewer elements than are folded, as flags."""
        if not self.is_product:
            return self.is_one
        return tuple(map(any, zip(self.is_one, self.is_row, strict=True)))

    def reduce(self) -> Reduce:
        """Return the fold as a reduction."""
        return Reduce(self.monoid, range(self.axes), self.dtype, self.acc_dtype, True)

    def reference(self, *arrays: Any) -> Any:
        """Return the fold of the mapped arrays, with NumPy."""
        shape = shape_of(arrays, self.is_part)
        (mapped,) = self.map.reference(*arrays)
        return self.reduce().reference(np.broadcast_to(mapped, shape))

    def __str__(self) -> str:
        return f"{NAMES[self.monoid]} of {self.map}"


@dataclass(frozen=True)
class Part:
    """One of the operations.

    ``is_one`` marks the inputs that are one number for all elements. A ``total`` is the
    first input, and in the list of arrays its inputs replace it.
    """

    scalar: Composite
    is_one: tuple[bool, ...]
    total: MappedTotal | None = None

    def __reduce__(self) -> tuple[Any, ...]:  # without the cached hash
        return Part, (self.scalar, self.is_one, self.total)

    @cached_property
    def _hash(self) -> int:
        return hash((self.scalar, self.is_one, self.total))

    def __hash__(self) -> int:  # a key of kernels wherever a plan is bound
        return self._hash

    @property
    def given(self) -> tuple[str, ...]:
        """The dtypes of the part's input arrays."""
        if self.total is None:
            return self.scalar.inputs
        return (*self.total.map.inputs, *self.scalar.inputs[1:])

    def is_own(self, index: int) -> bool:
        """True if an input array has an element for each of the results."""
        if self.total is None:
            return not self.is_one[index]
        at = index - self.total.map.arity
        return at >= 0 and not self.is_one[at + 1]

    def split(self, inputs: Sequence[Given]) -> tuple[Sequence[Given], Sequence[Given]]:
        """Return the inputs of the total, and the rest."""
        count = 0 if self.total is None else self.total.map.arity
        return inputs[:count], inputs[count:]

    def statements(self, texts: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return the listing for texts of the inputs, as of a `Composite`."""
        if self.total is None:
            return self.scalar.statements(texts)
        count = self.total.map.arity
        before, (mapped,) = self.total.map.statements(texts[:count])
        fold = f"{NAMES[self.total.monoid].lower()}({mapped})"
        named, results = self.scalar.statements([fold, *texts[count:]])
        return [*before, *named], results

    def __str__(self) -> str:
        return f"{self.scalar}" + ("" if self.total is None else f" of {self.total}")


class MultiTensor(Op):
    """The parts, each on its share of the inputs, one after the other.

    The inputs of a part have one shape and are not repeated, save numbers.
    ``inplace_pattern`` maps an output to the input that it overwrites.
    """

    __props__ = ("parts", "inplace_items")

    def __init__(
        self, parts: Sequence[Part], inplace_pattern: Mapping[int, int] | None = None
    ) -> None:
        self.parts = tuple(parts)
        self.inplace_pattern = dict(inplace_pattern or {})
        self.destroy_map = {o: [i] for o, i in self.inplace_pattern.items()}

    @property
    def inplace_items(self) -> tuple[tuple[int, int], ...]:
        """The pairs of output and input that share memory, in order."""
        return tuple(sorted(self.inplace_pattern.items()))

    def shares(self) -> Iterator[tuple[Part, slice, slice]]:
        """Yield each part with its inputs and its outputs."""
        first = n_outputs = 0
        for part in self.parts:
            ends = first + len(part.given), n_outputs + len(part.scalar.outputs)
            yield part, slice(first, ends[0]), slice(n_outputs, ends[1])
            first, n_outputs = ends

    def may_overwrite(self, output: int, index: int) -> bool:
        """True if an input is of the output's part and has as many elements."""
        for part, ins, outs in self.shares():
            if outs.start <= output < outs.stop:
                is_in_part = ins.start <= index < ins.stop
                return is_in_part and part.is_own(index - ins.start)
        return False

    def make_node(self, *inputs: Variable) -> Apply:
        """Return a node over the inputs of all parts."""
        outputs: list[Variable] = []
        for part, ins, _ in self.shares():
            types = [variable.type for variable in inputs[ins]]
            if tuple(kind.dtype for kind in types) != part.given:
                raise GraphTypeError(
                    f"{self}: given {', '.join(map(str, types))}, expected "
                    f"{', '.join(part.given)}"
                )
            folded, rest = part.split(types)
            if part.total is None:
                pattern = rest[part.is_one.index(False)].broadcastable
            else:
                first = folded[part.total.is_part.index(False)]
                pattern = first.broadcastable[part.total.axes :]
            dtypes = part.scalar.output_dtypes
            outputs += [TensorType(dtype, pattern)() for dtype in dtypes]
        return Apply(self, inputs, outputs)

    def evaluate(self, node: Apply, arrays: Sequence[Any]) -> list[Any]:
        """The outputs with NumPy. Raises ValueError where shapes of a part differ."""
        results: list[Any] = []
        for part, ins, _ in self.shares():
            inputs = known(part, [np.asarray(array) for array in arrays[ins]])
            shape = shape_of(inputs, part.is_one)
            results += [
                np.array(np.broadcast_to(result, shape))
                for result in part.scalar.reference(*inputs)
            ]
        for output, index in self.inplace_pattern.items():
            arrays[index][...] = results[output]
            results[output] = arrays[index]
        return results

    def reference(self, *arrays: Any) -> tuple[Any, ...]:
        """The results with NumPy."""
        results: list[Any] = []
        for part, ins, _ in self.shares():
            results += part.scalar.reference(*known(part, arrays[ins]))
        return tuple(results)

    def unfold(self, inputs: Sequence[Variable]) -> list[Variable]:
        """Return the parts as nodes of their own."""
        results: list[Variable] = []
        for part, ins, _ in self.shares():
            folded, rest = part.split(inputs[ins])
            if part.total is not None:
                (mapped,) = part.total.map.unfold(folded)
                rest = [part.total.reduce()(mapped), *rest]
            results += part.scalar.unfold(rest)
        return results

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """Return the shape of each part's first full input, or of its total."""
        shapes: list[tuple[Any, ...]] = []
        for part, ins, _ in self.shares():
            folded, rest = part.split(input_shapes[ins])
            if part.total is None:
                shape = rest[part.is_one.index(False)]
            else:
                first = folded[part.total.is_part.index(False)]
                shape = first[part.total.axes :]
            shapes += [tuple(shape)] * len(part.scalar.outputs)
        return shapes

    def __str__(self) -> str:
        places = f"{list(self.inplace_items)}" if self.inplace_pattern else ""
        scalars = "; ".join(map(str, self.parts))
        return f"{type(self).__name__}{{{scalars}}}{places}"


def known(part: Part, inputs: Sequence[Any]) -> Sequence[Any]:
    """Return the operands of a part's elements, its total computed."""
    folded, rest = part.split(inputs)
    return rest if part.total is None else [part.total.reference(*folded), *rest]


def shape_of(arrays: Sequence[Any], is_one: Sequence[bool]) -> tuple[int, ...]:
    """The shape of the inputs but numbers. Raises ValueError where they differ."""
    pairs = zip(arrays, is_one, strict=True)
    shapes = dict.fromkeys(
        np.shape(array) for array, is_number in pairs if not is_number
    )
    first, *others = shapes
    if others:
        raise GraphValueError(
            f"MultiTensor: Input dimension mis-match: {first} and {others[0]}"
        )
    return tuple(first)
