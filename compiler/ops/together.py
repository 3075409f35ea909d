"""Together: several elementwise operations, each of its own shape, in one launch.

No user writes it: fusion makes it of the results of a function that are computed
element by element, such as the new values of many parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.graph.core import Apply, Op, Variable
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.elemwise import Composite


@dataclass(frozen=True, slots=True)
class Part:
    """One of the operations.

    ``is_one`` marks the inputs that are one number for all elements.
    """

    scalar: Composite
    is_one: tuple[bool, ...]


class Together(Op):
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
        """Each part with its inputs and its outputs."""
        first = made = 0
        for part in self.parts:
            ends = first + part.scalar.arity, made + len(part.scalar.outputs)
            yield part, slice(first, ends[0]), slice(made, ends[1])
            first, made = ends

    def may_overwrite(self, output: int, index: int) -> bool:
        """Whether an input is of the output's part and has as many elements."""
        for part, ins, outs in self.shares():
            if outs.start <= output < outs.stop:
                mine = ins.start <= index < ins.stop
                return mine and not part.is_one[index - ins.start]
        return False

    def make_node(self, *inputs: Variable) -> Apply:
        """A node over the inputs of all parts."""
        outputs: list[Variable] = []
        for part, ins, _ in self.shares():
            given = [variable.type for variable in inputs[ins]]
            if tuple(each.dtype for each in given) != part.scalar.inputs:
                raise GraphTypeError(
                    f"{self}: given {', '.join(map(str, given))}, expected "
                    f"{', '.join(part.scalar.inputs)}"
                )
            pattern = next(
                each.broadcastable
                for each, is_one in zip(given, part.is_one, strict=True)
                if not is_one
            )
            dtypes = part.scalar.output_dtypes
            outputs += [TensorType(dtype, pattern)() for dtype in dtypes]
        return Apply(self, inputs, outputs)

    def evaluate(self, node: Apply, arrays: Sequence[Any]) -> list[Any]:
        """The outputs with NumPy. Raises ValueError where shapes of a part differ."""
        results: list[Any] = []
        for part, ins, _ in self.shares():
            given = [np.asarray(array) for array in arrays[ins]]
            (shape, *others) = {
                array.shape
                for array, is_one in zip(given, part.is_one, strict=True)
                if not is_one
            }
            if others:
                raise GraphValueError(
                    f"{self}: Input dimension mis-match: {shape} and {others[0]}"
                )
            results += [
                np.array(np.broadcast_to(each, shape))
                for each in part.scalar.reference(*given)
            ]
        for output, index in self.inplace_pattern.items():
            arrays[index][...] = results[output]
            results[output] = arrays[index]
        return results

    def reference(self, *arrays: Any) -> tuple[Any, ...]:
        """The results with NumPy."""
        results: list[Any] = []
        for part, ins, _ in self.shares():
            results += part.scalar.reference(*arrays[ins])
        return tuple(results)

    def unfold(self, inputs: Sequence[Variable]) -> list[Variable]:
        """The parts as nodes of their own."""
        return [
            result
            for part, ins, _ in self.shares()
            for result in part.scalar.unfold(inputs[ins])
        ]

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """The shape of the first input of each part that is no number."""
        found: list[tuple[Any, ...]] = []
        for part, ins, _ in self.shares():
            shape = input_shapes[ins][part.is_one.index(False)]
            found += [tuple(shape)] * len(part.scalar.outputs)
        return found

    def __str__(self) -> str:
        places = f"{list(self.inplace_items)}" if self.inplace_pattern else ""
        scalars = "; ".join(str(part.scalar) for part in self.parts)
        return f"{type(self).__name__}{{{scalars}}}{places}"
