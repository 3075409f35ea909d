"""The state of a checkpoint: a tree of values, and its arrays by name."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gpuarray._core.base import BaseArray
from gpuarray.array import Array
from gpuarray.dtypes import as_dtype, bfloat16, kind_of
from gpuarray.errors import BadType, BadValue

Host = npt.NDArray[Any]
Tree = Any
"""A state as JSON has it: an array is {"$array": name}, a tuple {"$tuple": [...]}."""

_ARRAY, _TUPLE = "$array", "$tuple"


class Shard:
    """This rank's part of an array that is split along ``axis``, in the order of ranks.

    ``array`` is one of gpuarray's or of NumPy's. Parts of ranks may have different
    lengths along the axis. ``length`` is that of the whole where the parts are longer
    together: what is behind it is not saved, and is zeros when it is loaded.

    >>> part = gpuarray.distributed.Shard(np.zeros((3, 4)), axis=-1)
    >>> part
    <shard of float64 (3, 4) along axis 1>
    """

    __slots__ = ("array", "axis", "length")

    def __init__(
        self, array: Array | Host, axis: int = 0, length: int | None = None
    ) -> None:
        if not isinstance(array, BaseArray | np.ndarray):
            raise BadType(
                f"Shard: got {type(array).__name__}, expected an array of gpuarray or "
                "of NumPy"
            )
        if not -array.ndim <= axis < array.ndim:
            raise BadValue(f"Shard: axis {axis} is out of bounds for {array.ndim} axes")
        if length is not None and (type(length) is not int or length < 0):
            raise BadValue(f"Shard: length is {length!r}, expected 0, 1, ... or None")
        self.array, self.axis, self.length = array, axis % array.ndim, length

    def __repr__(self) -> str:
        return (
            f"<shard of {self.array.dtype} {self.array.shape} along axis {self.axis}>"
        )


class Checkpoint(NamedTuple):
    """What ``load_checkpoint`` found.

    ``step`` is that of ``save_checkpoint``, ``state`` what this rank has of its state.

    >>> with gpuarray.distributed.init("null") as comm:
    ...     gpuarray.distributed.save_checkpoint(comm, "run", {"rate": 0.1}, step=3)
    ...     gpuarray.distributed.load_checkpoint(comm, "run")
    Checkpoint(step=3, state={'rate': 0.1})
    """

    step: int
    state: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Description:
    """An array as ranks compare it: ``axis`` is None for one that all of them have.

    ``shape`` is that of this rank's part, ``length`` that of the whole if it is said.
    """

    dtype: str
    shape: tuple[int, ...]
    axis: int | None
    is_on_device: bool
    length: int | None = None

    def as_json(self) -> list[Any]:
        """Return it as it is sent."""
        shape = list(self.shape)
        return [self.dtype, shape, self.axis, self.is_on_device, self.length]

    @classmethod
    def from_json(cls, said: list[Any]) -> Description:
        """Return the description that ``as_json`` gave on another rank."""
        return cls(said[0], tuple(said[1]), *said[2:])

    def as_named(self) -> dict[str, Any]:
        """Return it as the manifest has it."""
        place = "device" if self.is_on_device else "host"
        shape = list(self.shape)
        return {"dtype": self.dtype, "shape": shape, "axis": self.axis, "on": place}

    @classmethod
    def named(cls, said: dict[str, Any]) -> Description:
        """Return the description of an array in a manifest."""
        shape, place = tuple(said["shape"]), said["on"]
        return cls(said["dtype"], shape, said["axis"], place == "device")

    def __str__(self) -> str:
        kind = "replicated" if self.axis is None else f"a shard along axis {self.axis}"
        place = "on a device" if self.is_on_device else "on the host"
        length = "" if self.length is None else f", of length {self.length}"
        return f"{self.dtype} {self.shape}, {kind}{length}, {place}"

    def fits(self, other: Description) -> bool:
        """Return True if both are of one array: lengths along its axis may differ."""
        if self.axis is None or self.axis >= len(other.shape):
            return self == other
        shape = list(self.shape)
        shape[self.axis] = other.shape[self.axis]
        return replace(self, shape=tuple(shape)) == other

    def whole(self, parts: Sequence[Description]) -> Description:
        """Return the description of the whole, of those of all ranks' parts."""
        if self.axis is None:
            return self
        shape = list(self.shape)
        shape[self.axis] = sum(length for _, length in extents(parts))
        return replace(self, shape=tuple(shape), length=None)


def extents(parts: Sequence[Description]) -> list[tuple[int, int]]:
    """Return start and length of each rank's part, up to the length of the whole.

    >>> extents([Description("<f4", (3,), 0, True, 4) for rank in range(3)])
    [(0, 3), (3, 1), (6, 0)]
    """
    found, start = [], 0
    for one in parts:
        stop = start + one.shape[one.axis or 0]
        end = stop if one.length is None else min(stop, one.length)
        found.append((start, max(end - start, 0)))
        start = stop
    return found


# ---- dtypes ----


def name_of(dtype: np.dtype[Any]) -> str:
    """Return a dtype's name in the manifest: NumPy's text with the order of bytes.

    >>> name_of(np.dtype("float32"))
    '<f4'
    """
    return dtype.name if kind_of(dtype) != dtype.kind else dtype.str


def dtype_of(name: str) -> np.dtype[Any]:
    """Return the dtype of a name."""
    return as_dtype(bfloat16()) if name == "bfloat16" else np.dtype(name)


# ---- from a state to its tree and arrays ----


class Flattened:
    """A state as a tree that JSON has, and the arrays in it by name."""

    def __init__(self, state: Any, operation: str) -> None:
        self._operation = operation
        if not isinstance(state, Mapping):
            raise BadType(
                f"{operation}: the state is a {type(state).__name__}, expected a "
                "mapping of names to values"
            )
        self.arrays: dict[str, Array | Host] = {}
        self.descriptions: dict[str, Description] = {}
        self.tree: Tree = self._encoded(state, "")

    def _encoded(self, value: Any, name: str) -> Tree:
        if isinstance(value, Shard):
            return self._array(value.array, value.axis, name, value.length)
        if isinstance(value, BaseArray | np.ndarray | np.generic):
            host = np.asarray(value) if isinstance(value, np.generic) else value
            return self._array(host, None, name)
        if isinstance(value, Mapping):
            return {
                self._key(key, name): self._encoded(
                    one, f"{name}/{key}" if name else key
                )
                for key, one in value.items()
            }
        if isinstance(value, list | tuple):
            several = [self._encoded(one, f"{name}/{i}") for i, one in enumerate(value)]
            return {_TUPLE: several} if isinstance(value, tuple) else several
        if value is None or type(value) in (bool, int, float, str):
            return value
        raise BadType(
            f"{self._operation}: {name!r} is a {type(value).__name__}, expected an "
            "array, a Shard, a number, a text, None, or a mapping, list or tuple of "
            "them"
        )

    def _key(self, key: Any, name: str) -> str:
        if type(key) is not str or not key or key.startswith("$"):
            raise BadType(
                f"{self._operation}: a key of {name or 'the state'!r} is {key!r}, "
                "expected a text that does not begin with $"
            )
        return key

    def _array(
        self, array: Any, axis: int | None, name: str, length: int | None = None
    ) -> Tree:
        if name in self.arrays:
            raise BadValue(f"{self._operation}: two arrays have the name {name!r}")
        dtype = array.dtype
        if dtype.kind in "OV" and kind_of(dtype) == dtype.kind:
            raise BadType(
                f"{self._operation}: {name!r} is of {dtype}, expected numbers, bools "
                "or texts"
            )
        self.arrays[name] = array
        self.descriptions[name] = Description(
            name_of(dtype),
            tuple(array.shape),
            axis,
            isinstance(array, BaseArray),
            length,
        )
        return {_ARRAY: name}


def decoded(tree: Tree, array: Callable[[str], Any]) -> Any:
    """Return the state of a tree, with what ``array`` gives for the arrays' names.

    >>> decoded({"a": [1, {"$array": "a/1"}], "b": {"$tuple": [2]}}, str.upper)
    {'a': [1, 'A/1'], 'b': (2,)}
    """
    if isinstance(tree, list):
        return [decoded(one, array) for one in tree]
    if not isinstance(tree, dict):
        return tree
    if _ARRAY in tree:
        return array(tree[_ARRAY])
    if _TUPLE in tree:
        return tuple(decoded(one, array) for one in tree[_TUPLE])
    return {key: decoded(one, array) for key, one in tree.items()}


def difference(one: Tree, other: Tree, name: str = "") -> tuple[str, str, str] | None:
    """Return the first name whose values differ, and both as texts; None: equal.

    >>> difference({"a": [1, 2]}, {"a": [1, 3]})
    ('a/1', '2', '3')
    >>> difference({"a": 1}, {"b": 1})
    ('a', '1', 'nothing')
    """
    if isinstance(one, dict) and isinstance(other, dict):
        keys = [*one, *(key for key in other if key not in one)]
        pairs = [
            (key, one.get(key, _NOTHING), other.get(key, _NOTHING)) for key in keys
        ]
    elif isinstance(one, list) and isinstance(other, list):
        several = enumerate(zip_longest(one, other, fillvalue=_NOTHING))
        pairs = [(str(i), *pair) for i, pair in several]
    else:
        texts = _text(one), _text(other)
        return None if texts[0] == texts[1] else (name, *texts)
    for key, a, b in pairs:
        inner = f"{name}/{key}" if name else key
        if found := difference(a, b, inner):
            return found
    return None


_NOTHING = object()


def _text(value: Tree) -> str:
    if value is _NOTHING:
        return "nothing"
    if isinstance(value, dict) and _ARRAY in value:
        return "an array"
    return json.dumps(value)


# ---- parts of ranks ----


def even_lengths(length: int, ranks: int) -> list[int]:
    """Return the lengths of the ranks' parts, which differ by one at most.

    >>> even_lengths(7, 3)
    [3, 2, 2]
    """
    return [length // ranks + (rank < length % ranks) for rank in range(ranks)]


def row_bytes(shape: tuple[int, ...], itemsize: int) -> int:
    """Return the bytes of one row along axis 0."""
    return math.prod(shape[1:]) * itemsize
