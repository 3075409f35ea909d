"""Basic indexing by integers and slices: views, and changes of parts.

The op has the form of the index, `idx_list`; its integers are inputs of the node.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from gpuarray.compiler.errors import (
    GraphArgumentError,
    GraphIndexError,
    GraphTypeError,
    GraphValueError,
)
from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Apply, Constant, Op, SameShapeOp, Variable
from gpuarray.compiler.graph.requirements import Requirement, equal, within
from gpuarray.compiler.ops.broadcast.broadcast import addbroadcast
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.slicing.counts import is_count
from gpuarray.compiler.ops.variables.basic import as_tensor_variable, is_constant


class Slice(NamedTuple):
    """The form of a slice: the dtype of each part, None for a missing one."""

    start: str | None = None
    stop: str | None = None
    step: str | None = None

    def __str__(self) -> str:
        return ":".join("" if part is None else part for part in self)


FULL = Slice()

Entry = str | Slice
"""The dtype of an integer, or the form of a slice."""

Part = Variable | None


class Entries:
    """The base of indexing ops: the form of an index and its inputs."""

    idx_list: tuple[Entry, ...]

    def key(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Return NumPy's index of these integers and arrays, in input order."""
        return key_of(
            self.idx_list,
            [
                int(value) if np.ndim(value) == 0 else np.asarray(value)
                for value in values
            ],
        )

    def parts(self, variables: Sequence[Variable]) -> list[Any]:
        """Return for each entry its variable, or a slice's three parts."""
        rest = iter(variables)
        return [
            tuple(None if part is None else next(rest) for part in entry)
            if isinstance(entry, Slice)
            else next(rest)
            for entry in self.idx_list
        ]

    @property
    def form(self) -> str:
        """The index as it prints: ``int64, ::, int64:int64:``."""
        return ", ".join(map(str, self.idx_list))


def key_of(idx_list: Sequence[Entry], values: Sequence[Any]) -> tuple[Any, ...]:
    """The index of this form with ``values`` for integers and arrays, in order."""
    rest = iter(values)
    key: list[Any] = []
    for entry in idx_list:
        if isinstance(entry, Slice):
            key.append(slice(*[part and next(rest) for part in entry]))
        else:
            key.append(next(rest))
    return tuple(key)


def form_of(parts: Sequence[Any]) -> tuple[list[Entry], list[Variable]]:
    """Return the form of an index, and its variables."""
    form: list[Entry] = []
    variables: list[Variable] = []
    for part in parts:
        if isinstance(part, tuple):
            form.append(Slice(*map(_dtype_of, part)))
            variables += [scalar for scalar in part if scalar is not None]
        else:
            form.append(part.type.dtype)
            variables.append(part)
    return form, variables


def _dtype_of(part: Variable | None) -> str | None:
    return None if part is None else part.type.dtype


def check_form(idx_list: Sequence[Entry], inputs: Any) -> None:
    """Raise TypeError unless ``inputs`` are as many as the form of the index has."""
    count = sum(
        sum(part is not None for part in entry) if isinstance(entry, Slice) else 1
        for entry in idx_list
    )
    if count != len(inputs):
        raise GraphTypeError(
            f"indexing: given {len(inputs)} inputs for the index, expected {count}"
        )


def as_integers(operation: str, values: Sequence[Any]) -> list[Variable]:
    """Return integer scalars on the host. Raises IndexError for anything else."""
    scalars = [as_tensor_variable(value) for value in values]
    for scalar in scalars:
        if scalar.type.ndim or scalar.type.dtype[0] not in "iu":
            raise GraphIndexError(
                f"{operation}: {scalar} of {scalar.type} is no integer scalar"
            )
    return scalars


class Subtensor(Entries, Op):
    """A view: integers drop an axis, slices keep a part of it."""

    __props__ = ("idx_list",)

    view_map: Mapping[int, Sequence[int]] = {0: [0]}

    def __init__(self, idx_list: Sequence[Entry]) -> None:
        self.idx_list = tuple(idx_list)

    def make_node(self, x: Any, *integers: Any) -> Apply:
        """A node over the array and the integers of the index, in order."""
        variable = core.as_variable(x, "indexing")
        check_form(self.idx_list, integers)
        scalars = as_integers("indexing", integers)
        kind = variable.type
        if len(self.idx_list) > kind.ndim:
            raise too_many(kind.ndim, len(self.idx_list))
        pattern = tuple(self.flags(variable, self.parts(scalars)))
        output = kind.clone(broadcastable=pattern + kind.broadcastable[self.rank :])()
        return Apply(self, [variable, *scalars], [output])

    @property
    def rank(self) -> int:
        """The number of axes that the index covers."""
        return len(self.idx_list)

    def flags(self, x: Variable, parts: Sequence[Any]) -> Iterator[bool]:
        """Return which axes that the slices keep have length 1 for sure."""
        for axis, part in enumerate(parts):
            flag = x.type.broadcastable[axis]
            if isinstance(part, tuple):
                yield flag and keeps_the_only_one(part)
            else:
                check_bounds(x, axis, part)

    def reference(self, x: Any, *integers: Any) -> Any:
        """The view."""
        return np.asarray(x[self.key(integers)])

    def grad(self, m: Any, g: Any, y: Any, x: Variable, *integers: Any) -> list[Any]:
        """Return ``g`` at the indices among zeros."""
        spread = IncSubtensor(self.idx_list)(math.zeros_like(x, g.dtype), g, *integers)
        return [spread, *(None for _ in integers)]

    def host_inputs(self, node: Apply) -> Collection[int]:
        """The index."""
        return range(1, len(node.inputs))

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """Return the lengths that the slices leave.

        If the array is a leaf and the slice is not constant, it is the view's
        `shape_i`, which costs nothing and does not bring the index into other
        computations.
        """
        x, *integers = node.inputs
        lengths = input_shapes[0]
        sliced = [
            None
            if x.owner is None and numbers_of(part) is None
            else length_of_slice(part, length)
            for part, length in zip(self.parts(integers), lengths, strict=False)
            if isinstance(part, tuple)
        ]
        return [(*sliced, *lengths[self.rank :])]

    def requirements(self, node: Apply, input_shapes: Any) -> Iterable[Requirement]:
        """Require each integer within its axis."""
        for part, length in zip(
            self.parts(node.inputs[1:]), input_shapes[0], strict=False
        ):
            if not isinstance(part, tuple):
                yield from within(part, length)

    def pretty(self, *texts: str) -> str:
        """``x[0, :n]``."""
        return f"{texts[0]}[{pretty_index(self.idx_list, texts[1:])}]"

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self.form}}}"


def pretty_index(idx_list: Sequence[Entry], texts: Sequence[str]) -> str:
    """Return an index as a program writes it."""
    rest = map(_bare, texts)
    entries: list[str] = []
    for entry in idx_list:
        if isinstance(entry, Slice):
            pieces = ["" if part is None else next(rest) for part in entry]
            entries.append(":".join(pieces if pieces[2] else pieces[:2]))
        else:
            entries.append(next(rest))
    return ", ".join(entries)


def _bare(text: str) -> str:
    """Return a constant's value, another text as it is."""
    start = "TensorConstant{"
    return text[len(start) : -1] if text.startswith(start) else text


def too_many(ndim: int, count: int) -> GraphIndexError:
    """Return the error of an index with more entries than there are axes."""
    return GraphIndexError(
        f"too many indices for array: array is {ndim}-dimensional, but {count} were "
        "indexed"
    )


def check_bounds(x: Variable, axis: int, index: Variable) -> None:
    """Raise IndexError for a constant that is out of bounds of a length known now."""
    length = None
    if x.type.broadcastable[axis]:
        length = 1
    elif isinstance(x, Constant):
        length = x.data.shape[axis]
    if length is None or not isinstance(index, Constant) or not index.data.size:
        return
    check_range(int(index.data.min()), int(index.data.max()), axis, length)


def check_range(low: int, high: int, axis: int, length: int) -> None:
    """Raise NumPy's IndexError unless all from low to high are within bounds."""
    if low < -length or high >= length:
        raise out_of_bounds(high if high >= length else low, axis, length)


def out_of_bounds(index: int, axis: int, length: int) -> GraphIndexError:
    """Return NumPy's error."""
    return GraphIndexError(
        f"index {index} is out of bounds for axis {axis} with size {length}"
    )


def keeps_the_only_one(parts: tuple[Part, ...]) -> bool:
    """True if a slice surely keeps the element of an axis of length 1."""
    numbers = numbers_of(parts)
    return numbers is not None and len(range(1)[slice(*numbers)]) == 1


def numbers_of(parts: Sequence[Part]) -> tuple[int | None, ...] | None:
    """Return the parts of a slice as integers; None if one of them is not known."""
    if not all(part is None or isinstance(part, Constant) for part in parts):
        return None
    return tuple(None if part is None else integer_of(part) for part in parts)


def integer_of(variable: Variable) -> int | None:
    """Return the integer of a constant, else None."""
    return int(variable.data) if isinstance(variable, Constant) else None


# ---- lengths ----


def length_of_slice(parts: tuple[Part, ...], length: Any) -> Any:
    """Return the number of elements that a slice keeps; None if it is not known."""
    start, stop, step = parts
    stride = 1 if step is None else integer_of(step)
    if length is None or stride is None:
        return None
    zero = core.constant(0, "int64")
    if stride > 0:
        first = zero if start is None else place(start, length, zero, length)
        end = length if stop is None else place(stop, length, zero, length)
        count = end if is_constant(first, 0) else math.maximum(end - first, zero)
        return count if stride == 1 else (count + (stride - 1)) // stride
    before, last = core.constant(-1, "int64"), length - 1
    first = last if start is None else place(start, length, before, last)
    end = before if stop is None else place(stop, length, before, last)
    return (math.maximum(first - end, zero) + (-stride - 1)) // -stride


def place(part: Variable, length: Any, low: Any, high: Any) -> Any:
    """Return a slice's bound counted from the left, between low and high."""
    number = integer_of(part)
    part = math.cast(part, "int64")
    if is_count(part):
        return math.minimum(part, high)
    if number is not None:
        return math.maximum(part + length, low)
    counted = math.where(math.lt(part, 0), part + length, part)
    return math.minimum(math.maximum(counted, low), high)


# ---- changes ----


class Change(Entries, SameShapeOp):
    """The base of ops that set or add to the elements of an index.

    The inputs are the array, the values, and the index. With ``inplace`` the array is
    overwritten.
    """

    __props__: ClassVar[tuple[str, ...]] = ("idx_list", "inplace", "set_instead_of_inc")

    def __init__(
        self,
        idx_list: Sequence[Entry],
        inplace: bool = False,
        set_instead_of_inc: bool = False,
    ) -> None:
        self.idx_list = tuple(idx_list)
        self.inplace = bool(inplace)
        self.set_instead_of_inc = bool(set_instead_of_inc)
        if self.inplace:
            self.destroy_map: Mapping[int, Sequence[int]] = {0: [0]}

    @property
    def operation(self) -> str:
        """The name of the function that a user has called."""
        return "set_subtensor" if self.set_instead_of_inc else "inc_subtensor"

    def as_set(self, is_set: bool) -> Any:
        """Return the op that sets or adds at the same index, not in place."""
        twin = copy.copy(self)
        twin.set_instead_of_inc, twin.inplace = is_set, False
        twin.destroy_map = {}
        return twin

    def getter(self) -> Op:
        """Return the op that reads the changed elements."""
        raise NotImplementedError

    def make_node(self, x: Any, y: Any, *index: Any) -> Apply:
        """A node over the array, the values as its dtype, and the index."""
        array, values = as_tensor_variable(x), as_tensor_variable(y)
        target = self.getter().make_node(array, *index)
        values = fitting(self.operation, values, target.out)
        inputs = [array, values, *target.inputs[1:]]
        return Apply(self, inputs, [array.type()])

    def evaluate(self, node: Apply, arrays: Sequence[Any]) -> list[Any]:
        """The array with the change, in its own memory where ``inplace``."""
        x, y, *index = arrays
        result = x if self.inplace else x.copy()
        key = self.key(index)
        flags = node.inputs[1].type.broadcastable
        check_lengths(self.operation, np.shape(result[key]), y.shape, flags)
        self.change(result, key, y)
        return [result]

    def change(self, x: Any, key: Any, y: Any) -> None:
        """Set or add to ``x[key]``."""
        raise NotImplementedError

    def host_inputs(self, node: Apply) -> Collection[int]:
        """The integers of the index."""
        return range(2, len(node.inputs))

    def requirements(self, node: Apply, input_shapes: Any) -> Iterable[Requirement]:
        """Require valid indices, and values that fill the part."""
        x, y, *index = node.inputs
        getter = self.getter()
        part = getter.make_node(x, *index)
        shapes = [input_shapes[0], *input_shapes[2:]]
        yield from getter.requirements(part, shapes)
        target = self.target_lengths(part, shapes)
        for axis in range(1, y.type.ndim + 1):
            if not y.type.broadcastable[-axis]:
                yield from equal(target[-axis], input_shapes[1][-axis])

    def target_lengths(self, taken: Apply, input_shapes: Any) -> Sequence[Any]:
        """Return the lengths of the changed part, None where they are not known."""
        lengths: Sequence[Any] = taken.op.infer_shape(taken, input_shapes)[0]
        return lengths

    def pretty(self, *texts: str) -> str:
        """``inc_subtensor(x[0], y)``."""
        index = pretty_index(self.idx_list, texts[2:])
        return f"{self.operation}({texts[0]}[{index}], {texts[1]})"


class IncSubtensor(Change):
    """The array with a part at integers and slices set or added to."""

    def getter(self) -> Op:
        """Return the view of the changed part."""
        return Subtensor(self.idx_list)

    def target_lengths(self, taken: Apply, input_shapes: Any) -> Sequence[Any]:
        """The lengths that slices leave, and those of the other axes."""
        lengths = input_shapes[0]
        parts = self.parts(taken.inputs[1:])
        sliced = [
            length_of_slice(part, length)
            for part, length in zip(parts, lengths, strict=False)
            if isinstance(part, tuple)
        ]
        return (*sliced, *lengths[len(parts) :])

    def change(self, x: Any, key: Any, y: Any) -> None:
        """Set or add to the view."""
        if self.set_instead_of_inc:
            x[key] = y
        else:
            x[key] += y

    def grad(
        self, m: Any, g: Any, out: Any, x: Variable, y: Variable, *integers: Variable
    ) -> list[Any]:
        """Return ``g`` without the set part, and the part of ``g`` for the values."""
        to_x = self.as_set(True)(g, core.constant(0, g.dtype), *integers)
        of_x = to_x if self.set_instead_of_inc else g
        of_y = m.sum_to(self.getter()(g, *integers), y)
        return [of_x, of_y, *(None for _ in integers)]

    def __str__(self) -> str:
        where = "Inplace" if self.inplace else ""
        what = "Set" if self.set_instead_of_inc else "Inc"
        return f"{type(self).__name__}{{{where}{what};{self.form}}}"


def fitting(operation: str, y: Variable, target: Variable) -> Variable:
    """Return the values in the dtype of their target, with its axes of length 1.

    Raises TypeError for values of more axes, or of a dtype that cannot be stored.
    """
    kind = target.type
    if y.type.ndim > kind.ndim:
        raise GraphArgumentError(
            f"{operation}: given values of {y.type.ndim} axes for a part of "
            f"{kind.ndim} axes"
        )
    if _order(y.type.dtype) > _order(kind.dtype):
        raise GraphTypeError(
            f"{operation}: given values of {y.type.dtype} for an array of {kind.dtype};"
            f" cast one of them, as values.astype({kind.dtype!r})"
        )
    extra = kind.ndim - y.type.ndim
    flags = zip(kind.broadcastable[extra:], y.type.broadcastable, strict=True)
    ones = [axis for axis, (of_x, of_y) in enumerate(flags) if of_x and not of_y]
    if ones:
        y = addbroadcast(y, *ones)
    return math.cast(y, kind.dtype)


def _order(dtype: str) -> int:
    """Return the rank of a dtype's kind: each kind stores those of lower rank."""
    kinds = {"bool": 0, "int": 1, "uint": 1, "float": 2, "bfloat": 2, "complex": 3}
    return kinds[dtype.rstrip("0123456789")]


def check_lengths(
    operation: str,
    target: Sequence[int],
    lengths: Sequence[int],
    flags: Sequence[bool],
) -> None:
    """Raise ValueError unless values of these lengths fill the changed part."""
    extra = len(target) - len(lengths)
    for axis, (length, flag) in enumerate(zip(lengths, flags, strict=True)):
        if not flag and length != target[extra + axis]:
            raise GraphValueError(
                f"{operation}: Input dimension mis-match: values of shape "
                f"{tuple(lengths)} for a part of shape {tuple(target)}; an axis of "
                "length 1 repeats only where its type says that it broadcasts"
            )
