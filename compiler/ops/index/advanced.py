"""Advanced indexing by arrays of integers and masks: copies, and changes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from gpuarray.compiler.errors import GraphIndexError, GraphTypeError, GraphValueError
from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Apply, Constant, Op, Variable
from gpuarray.compiler.graph.requirements import Requirement, equal, within
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.creation.creation import arange
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.shape.shape import reshape, shape, size
from gpuarray.compiler.ops.slicing.subtensor import (
    Change,
    Entries,
    Entry,
    Slice,
    as_integers,
    check_bounds,
    check_form,
    keeps_the_only_one,
    length_of_slice,
    pretty_index,
    too_many,
)
from gpuarray.compiler.ops.variables.basic import as_tensor_variable

ARRAY, MASK = "array", "mask"
"""Entries of an index's form that stand for arrays of integers and masks."""


def as_index(kind: str, value: Any) -> Variable:
    """Return a part of an index, of the kind in its form."""
    if kind not in (ARRAY, MASK):
        return as_integers("indexing", [value])[0]
    index = as_tensor_variable(value)
    kinds = "b" if kind == MASK else "iu"
    if index.type.dtype[0] not in kinds or (index.type.ndim == 0 and kind == MASK):
        raise GraphIndexError(
            f"indexing: {index} of {index.type}; arrays used as indices must be of "
            "integer or boolean type"
        )
    return index


class Picks(Entries, Op):
    """The base of ops that gather elements at arrays of indices.

    ``idx_list`` has an entry for each of the first axes: the dtype of an integer, the
    form of a slice, `ARRAY`, or `MASK` for as many axes as the mask has.
    """

    reports = True

    def make_node(self, x: Any, *index: Any) -> Apply:
        """A node over the array and the parts of the index, in order."""
        array = as_tensor_variable(x)
        check_form(self.idx_list, index)
        parts = [
            as_index(entry, part)
            for entry, part in zip(flat(self.idx_list), index, strict=True)
        ]
        layout = Layout(self, array, parts)
        pattern = layout.arranged(layout.array_flags(), layout.slice_flags())
        return Apply(self, [array, *parts], [array.type.clone(broadcastable=pattern)()])

    def reference(self, x: Any, *index: Any) -> Any:
        """Return a copy of the indexed elements."""
        return np.asarray(x[self.key(index)])

    def changer(self, is_set: bool, inplace: bool = False) -> Change:
        """Return the op that changes the elements that this one gathers."""
        raise NotImplementedError

    def grad(self, m: Any, g: Any, y: Any, x: Variable, *index: Variable) -> list[Any]:
        """Return ``g`` added into zeros at the indices."""
        zeros = math.zeros_like(x, g.dtype)
        return [self.changer(False)(zeros, g, *index), *(None for _ in index)]

    def host_inputs(self, node: Apply) -> Collection[int]:
        """Return the scalar integers, and those of slices."""
        return integers_of(self.idx_list, 1)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Disconnect the indices."""
        return [[number == 0] for number in range(len(node.inputs))]

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """Return the lengths of the arrays in place of the axes that they index.

        The number of true elements of a mask is not known, nor is a length that several
        arrays have.
        """
        x, *parts = node.inputs
        layout = Layout(self, x, parts)
        input_lengths = input_shapes[0]
        slices = [
            length_of_slice(part, input_lengths[axis]) for axis, part in layout.slices()
        ]
        return [
            layout.arranged(
                layout.array_lengths(input_shapes[1:]),
                [*slices, *input_lengths[layout.rank :]],
            )
        ]

    def requirements(self, node: Apply, input_shapes: Any) -> Iterable[Requirement]:
        """Require integers within their axes, and masks of their axes' lengths."""
        x, *parts = node.inputs
        layout = Layout(self, x, parts)
        by_input = dict(zip(parts, input_shapes[1:], strict=True))
        for axis, part in zip(layout.axes, layout.parts, strict=True):
            if isinstance(part, tuple):
                continue
            if part.type.dtype == "bool":
                for i, length in enumerate(by_input[part]):
                    yield from equal(input_shapes[0][axis + i], length)
            else:
                yield from _within_axis(part, input_shapes[0][axis])

    def pretty(self, *texts: str) -> str:
        """``x[i, :]``."""
        return f"{texts[0]}[{pretty_index(self.idx_list, texts[1:])}]"


def _within_axis(part: Variable, length: Any) -> Iterator[Requirement]:
    """Require an integer, or a known array of them, to be within an axis."""
    if part.type.ndim == 0:
        yield from within(part, length)
    elif isinstance(part, Constant) and part.data.size:
        for value in {int(part.data.min()), int(part.data.max())}:
            yield from within(core.constant(value, "int64"), length)


def flat(idx_list: Sequence[Entry]) -> Iterator[str]:
    """Return the kind of each input of an index: a dtype, `ARRAY` or `MASK`."""
    for entry in idx_list:
        if isinstance(entry, Slice):
            yield from (part for part in entry if part is not None)
        else:
            yield entry


def integers_of(idx_list: Sequence[Entry], first: int) -> list[int]:
    """Return the numbers of the inputs that are integers, counted from ``first``."""
    return [
        number
        for number, entry in enumerate(flat(idx_list), first)
        if entry not in (ARRAY, MASK)
    ]


class Layout:
    """The origin of the result's axes, as NumPy arranges them.

    It has state because its methods share the walk over the index: the axes of each
    part, and the position of the arrays' axes.
    """

    def __init__(self, op: Entries, x: Variable, inputs: Sequence[Variable]) -> None:
        self.x = x
        self.inputs = inputs
        self.parts = op.parts(inputs)
        self.place = place_of_arrays([isinstance(part, tuple) for part in self.parts])
        self.axes: list[int] = []  # the first axis of each entry
        self.rank = 0
        for entry, part in zip(op.idx_list, self.parts, strict=True):
            self.axes.append(self.rank)
            self.rank += part.type.ndim if entry == MASK else 1
        if self.rank > x.type.ndim:
            raise too_many(x.type.ndim, self.rank)
        for entry, axis, part in zip(op.idx_list, self.axes, self.parts, strict=True):
            if isinstance(part, Variable) and entry != MASK:
                check_bounds(x, axis, part)

    def slices(self) -> list[tuple[int, tuple[Any, ...]]]:
        """The slices with their axes."""
        pairs = zip(self.axes, self.parts, strict=True)
        return [(axis, part) for axis, part in pairs if isinstance(part, tuple)]

    def slice_flags(self) -> list[bool]:
        """Return which kept axes have length 1 for sure."""
        flags = self.x.type.broadcastable
        sliced = [
            flags[axis] and keeps_the_only_one(part) for axis, part in self.slices()
        ]
        return [*sliced, *flags[self.rank :]]

    def arrays(self) -> list[Variable]:
        """Return the arrays and integers, broadcast with each other."""
        return [part for part in self.parts if isinstance(part, Variable)]

    def array_flags(self) -> list[bool]:
        """Return which axes of the broadcast arrays have length 1 for sure."""
        patterns = [
            (False,) if part.type.dtype == "bool" else part.type.broadcastable
            for part in self.arrays()
        ]
        ndim = max(map(len, patterns))
        padded = [(True,) * (ndim - len(pattern)) + pattern for pattern in patterns]
        return [all(flags) for flags in zip(*padded, strict=True)]

    def array_lengths(self, shapes: Sequence[Any]) -> list[Any]:
        """Return the lengths of the broadcast arrays; None where they are not known."""
        by_input = dict(zip(self.inputs, shapes, strict=True))
        lengths: list[Any] = []
        for axis, flag in enumerate(reversed(self.array_flags()), 1):
            known = [
                None if part.type.dtype == "bool" else by_input[part][-axis]
                for part in self.arrays()
                if part.type.dtype == "bool" or not _repeats(part, axis)
            ]
            same = bool(known) and all(length is known[0] for length in known)
            one = core.constant(1, "int64")
            lengths.append(one if flag else known[0] if same else None)
        return lengths[::-1]

    def arranged(
        self, of_arrays: Sequence[Any], kept: Sequence[Any]
    ) -> tuple[Any, ...]:
        """Return one item for each axis of the result, the arrays' together."""
        return (*kept[: self.place], *of_arrays, *kept[self.place :])


def place_of_arrays(is_kept: list[bool]) -> int:
    """Return the kept axis before which NumPy puts those of an index's arrays.

    ``is_kept`` has for each entry whether it is a slice or a new axis. It is their own
    position if the arrays and integers are neighbours, else the first.
    """
    first = is_kept.index(False)
    last = len(is_kept) - 1 - is_kept[::-1].index(False)
    return 0 if any(is_kept[first:last]) else first


def _repeats(part: Variable, axis: int) -> bool:
    """True if the array lacks the axis, counted from the right, or broadcasts on it."""
    flags = part.type.broadcastable
    return len(flags) < axis or bool(flags[-axis])


class AdvancedSubtensor(Picks):
    """Elements at arrays of integers, beside integers and slices: a copy."""

    __props__ = ("idx_list",)

    def __init__(self, idx_list: Sequence[Entry]) -> None:
        self.idx_list = tuple(idx_list)

    def changer(self, is_set: bool, inplace: bool = False) -> Change:
        """Return the op that changes the elements that this one gathers."""
        return AdvancedIncSubtensor(self.idx_list, inplace, is_set)

    def __str__(self) -> str:
        return type(self).__name__


class AdvancedBooleanSubtensor(AdvancedSubtensor):
    """Elements under masks, beside arrays, integers and slices: a copy.

    Its shape depends on values.
    """

    def changer(self, is_set: bool, inplace: bool = False) -> Change:
        """Return the op that changes the elements that this one gathers."""
        return AdvancedBooleanIncSubtensor(self.idx_list, inplace, is_set)


class AdvancedSubtensor1(Picks):
    """The rows of an array at a vector of integers: a copy."""

    __props__ = ()

    idx_list = (ARRAY,)

    def changer(self, is_set: bool, inplace: bool = False) -> Change:
        """Return the op that changes the rows."""
        return AdvancedIncSubtensor1(inplace, is_set)

    def make_node(self, x: Any, *index: Any) -> Apply:
        """A node over an array and a vector."""
        node = super().make_node(x, *index)
        if node.inputs[1].type.ndim != 1:
            raise GraphTypeError(
                f"{self}: given an index of {node.inputs[1].type}, expected a vector"
            )
        return node


class AdvancedChange(Change):
    """The base of ops that change elements at arrays of indices."""

    reports = True

    def change(self, x: Any, key: Any, y: Any) -> None:
        """Set, or add once for each time that an index occurs."""
        if self.set_instead_of_inc:
            x[key] = y
        elif x.dtype.kind == "V":  # bfloat16, which ufuncs do not add at
            wide = x.astype(np.float32)
            np.add.at(wide, key, y.astype(np.float32))
            x[...] = wide.astype(x.dtype)
        else:
            np.add.at(x, key, y)

    def host_inputs(self, node: Apply) -> Collection[int]:
        """Return the scalar integers, and those of slices."""
        return integers_of(self.idx_list, 2)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Disconnect the indices."""
        return [[number <= 1] for number in range(len(node.inputs))]

    def grad(
        self, m: Any, g: Any, out: Any, x: Variable, y: Variable, *index: Variable
    ) -> list[Any]:
        """Return ``g`` without the set elements, and the part of ``g`` for the values.

        Where several values were set at one index, it flows to the last.
        """
        selected = self.getter()(g, *index)
        if not self.set_instead_of_inc:
            return [g, m.sum_to(selected, y), *(None for _ in index)]
        of_x = self.as_set(True)(g, core.constant(0, g.dtype), *index)
        if not are_distinct(self.idx_list, index):
            selected = math.where(self.stayed(g, selected, index), selected, 0)
        return [of_x, m.sum_to(selected, y), *(None for _ in index)]

    def stayed(self, x: Variable, taken: Variable, index: Sequence[Variable]) -> Any:
        """Return a mask of the values that are the last ones set at their index."""
        numbers = reshape(arange(size(taken)), shape(taken), ndim=taken.type.ndim)
        last_numbers = self.as_set(True)(math.zeros_like(x, "int64"), numbers, *index)
        return math.eq(self.getter()(last_numbers, *index), numbers)


def are_distinct(idx_list: Sequence[Entry], index: Sequence[Variable]) -> bool:
    """True if the graph shows that no index occurs twice."""
    arrays = [
        (entry, part)
        for entry, part in zip(flat(idx_list), index, strict=True)
        if entry in (ARRAY, MASK)
    ]
    if all(entry == MASK for entry, _ in arrays):
        return len(arrays) == 1
    if not all(isinstance(part, Constant) and entry == ARRAY for entry, part in arrays):
        return False
    values = np.broadcast_arrays(*(part.data for _, part in arrays))  # type: ignore[attr-defined]
    places = np.stack([value.ravel() for value in values])
    is_one_sided = bool((places >= 0).all() or (places < 0).all())
    return is_one_sided and np.unique(places, axis=1).shape == places.shape


class AdvancedIncSubtensor(AdvancedChange):
    """The array with indexed elements set, or added to for each index."""

    def getter(self) -> Op:
        """Return the op that gathers the changed elements."""
        return AdvancedSubtensor(self.idx_list)

    def __str__(self) -> str:
        flags = f"inplace={self.inplace},  set_instead_of_inc={self.set_instead_of_inc}"
        return f"{type(self).__name__}{{{flags}}}"


class AdvancedBooleanIncSubtensor(AdvancedIncSubtensor):
    """The array with the elements under masks set or added to."""

    def getter(self) -> Op:
        """Return the op that gathers the changed elements."""
        return AdvancedBooleanSubtensor(self.idx_list)


class AdvancedIncSubtensor1(AdvancedChange):
    """The array with rows set, or added to for each index of a vector."""

    __props__ = ("inplace", "set_instead_of_inc")

    def __init__(self, inplace: bool = False, set_instead_of_inc: bool = False) -> None:
        super().__init__((ARRAY,), inplace, set_instead_of_inc)

    def getter(self) -> Op:
        """Return the op that gathers the rows."""
        return AdvancedSubtensor1()

    def __str__(self) -> str:
        where = "inplace" if self.inplace else "no_inplace"
        what = "set" if self.set_instead_of_inc else "inc"
        return f"{type(self).__name__}{{{where},{what}}}"


class Nonzero(Op):
    """The indices of nonzero elements: a matrix of int64, a row for each axis."""

    __props__: ClassVar[tuple[str, ...]] = ()

    def infer(self, x: Any) -> TensorType:
        """A matrix of int64."""
        if x.ndim == 0:
            raise GraphValueError(
                "nonzero: given a scalar, expected an array of at least one axis"
            )
        return TensorType("int64", (x.ndim == 1, False))

    def reference(self, x: Any) -> Any:
        """Return the indices in C order."""
        return np.array(np.nonzero(x), dtype="int64").reshape(x.ndim, -1)

    def grad(self, m: Any, g: Variable, y: Variable, x: Variable) -> None:
        """Return None: indices are integers."""

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """Return as many rows as axes; the number of columns depends on values."""
        return [(core.constant(node.inputs[0].type.ndim, "int64"), None)]
