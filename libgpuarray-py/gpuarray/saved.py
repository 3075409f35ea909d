"""Compiled functions from files: called, and their values read, without a compiler."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuarray import dtypes
from gpuarray._native import ARRAY, check, ffi, lib, text
from gpuarray.array import Array
from gpuarray.context import Context
from gpuarray.context import context as find_context
from gpuarray.creation import asarray
from gpuarray.errors import BadType, GpuArrayError, Unsupported

_SHOWN = 8
"""Inputs that a message lists."""


@dataclass(frozen=True)
class Input:
    """An input of a saved function: the ``place``-th array or integer of a call in C.

    ``dtype`` is None for an integer. ``value`` is that of an integer that has one; an
    array that is ``optional`` has one, too, which the function keeps.
    """

    name: str | None
    place: int
    dtype: str | None
    ndim: int = 0
    optional: bool = False
    value: int | None = None
    strict: bool = False
    downcast: bool | None = None

    def __str__(self) -> str:
        return self.name or ("an array" if self.dtype else "an integer")


@dataclass(frozen=True)
class Interface:
    """How a saved function is called: its inputs, and what becomes of its outputs.

    ``name`` is the function's. ``to_host`` says which outputs are read; ``form`` is
    None for a single one, ``"list"``, or the keys of a dictionary.
    """

    name: str
    inputs: tuple[Input, ...]
    to_host: tuple[bool, ...]
    form: str | tuple[str, ...] | None


def packed(interface: Interface, graph: bytes) -> bytes:
    """The note of a file: the interface as JSON, and the pickled graph or nothing."""
    fields = dict(vars(interface), inputs=[vars(each) for each in interface.inputs])
    head = json.dumps(fields).encode()
    return len(head).to_bytes(8, "little") + head + graph


def unpacked(note: bytes) -> tuple[Interface, bytes]:
    """What `packed` was given."""
    start = 8 + int.from_bytes(note[:8], "little")
    fields = json.loads(note[8:start])
    fields["inputs"] = tuple(Input(**each) for each in fields["inputs"])
    fields["to_host"] = tuple(fields["to_host"])
    if isinstance(fields["form"], list):
        fields["form"] = tuple(fields["form"])
    return Interface(**fields), note[start:]


class Native:
    """A ``GpuFunction`` of the C library, on a context.

    ``plan`` is kept as long as this, where the function is of a plan of another's.
    """

    def __init__(self, pointer: Any, context: Context, plan: Any = None) -> None:
        self.pointer = ffi.gc(pointer, lib.GpuFunction_free)
        self.plan = plan
        self.context = context
        self.inputs = self.items(lib.GF_INPUTS)
        self.integers = self.items(lib.GF_INTS)
        self.outputs = [
            (dtypes.OF_TYPECODE[code], code)
            for _, code, _, _ in self.items(lib.GF_OUTPUTS)
        ]
        self.values = {
            name: item for item in self.items(lib.GF_VALUES) if (name := item[0])
        }

    def items(self, which: int) -> list[tuple[str | None, int, int, bool]]:
        """The name, typecode, rank of each of a list, and whether it is optional."""
        count = ffi.new("unsigned int *")
        item = ffi.new("gpufunction_item *")
        check(lib.GpuFunction_count(self.pointer, which, count))
        found = []
        for i in range(count[0]):
            check(lib.GpuFunction_item(self.pointer, which, i, item))
            name = text(item.name) if item.name else None
            found.append((name, item.typecode, item.nd, bool(item.optional)))
        return found

    def note(self) -> bytes:
        """The bytes that the file has for Python."""
        place, size = ffi.new("void **"), ffi.new("size_t *")
        check(lib.GpuFunction_note(self.pointer, place, size))
        return bytes(ffi.buffer(place[0], size[0]))

    def call(
        self, arrays: Sequence[Array | None], integers: Sequence[int]
    ) -> list[Any]:
        """The outputs for arrays of the context; None leaves an optional one out."""
        structs = [ffi.new(ARRAY) for _ in self.outputs]
        given = [ffi.NULL if a is None else a.struct for a in arrays]
        ints = ffi.new("long long[]", list(integers)) if integers else ffi.NULL
        outs = ffi.new("GpuArray *[]", structs)
        check(lib.GpuFunction_call(self.pointer, outs, given, ints))
        return [
            Array.wrap(struct, self.context, dtype, code)
            for struct, (dtype, code) in zip(structs, self.outputs, strict=True)
        ]

    def get(self, name: str) -> Array:
        """A copy of a kept value."""
        struct = ffi.new(ARRAY)
        check(lib.GpuFunction_get(self.pointer, name.encode(), struct))
        code = self.values[name][1]
        return Array.wrap(struct, self.context, dtypes.OF_TYPECODE[code], code)

    def set(self, name: str, value: Array) -> None:
        """Keep a copy of another value."""
        check(lib.GpuFunction_set(self.pointer, name.encode(), value.struct))

    def info(self) -> dict[str, int]:
        """Counts of the latest call and of the bindings kept."""
        found = ffi.new("gpuplan_info *")
        check(lib.GpuPlan_info(lib.GpuFunction_plan(self.pointer), found))
        names = (
            "n_steps", "n_bindings", "n_binds", "n_launches", "n_allocs", "workspace",
        )  # fmt: skip
        return {name: getattr(found, name) for name in names}


def fitted(value: Any, kind: Input) -> np.ndarray[Any, Any]:
    """A host value in the dtype of an input. Raises TypeError where digits are lost.

    As where functions are compiled, numbers and lists narrow where nothing is lost.
    """
    array = np.asarray(value)
    wanted = dtypes.as_dtype(kind.dtype)
    if array.dtype == wanted:
        return array
    is_plain = not hasattr(value, "dtype") and not kind.strict
    known = dtypes.kind_of(array.dtype) in "biufc"
    if known and not kind.strict:
        if kind.downcast or dtypes.result_type(array.dtype, wanted) == wanted:
            return array.astype(wanted)
        if is_plain:
            narrow = array.astype(wanted)
            is_float = type(value) is float and dtypes.kind_of(wanted) == "f"
            if (is_float and kind.downcast is None) or np.array_equal(narrow, array):
                return narrow
    raise BadType(
        f"input {kind}: given {array.dtype}, expected {wanted}: convert it with "
        f"numpy.asarray(value, {wanted.name!r})"
    )


class LoadedFunction:
    """A compiled function that was saved to a file; it runs without the compiler.

    It is called as the function that was saved: inputs by position or name, NumPy
    arrays or arrays of its context; results as that gave them. Shared variables that
    it updates are its own here: ``f["w"]`` is the value of ``w``, and can be set.

    ``interface`` tells of inputs and outputs, ``values`` the names of what is kept,
    ``context`` where it runs.

    >>> from gpuarray.compiler import function, shared
    >>> count = shared(0.0, name="count")
    >>> function([], count, updates={count: count + 1}).save("count.plan")
    >>> count = gpuarray.load_function("count.plan")
    >>> print(count(), count(), count["count"])
    0.0 1.0 2.0
    """

    def __init__(self, native: Native) -> None:
        self.context = native.context
        self._native = native
        note = native.note()
        self.interface, self._graph = unpacked(note) if note else (_plain(native), b"")
        self.name = self.interface.name

    @property
    def values(self) -> tuple[str, ...]:
        """The names of the values that are kept between calls."""
        return tuple(self._native.values)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run on ``args``; inputs that have names may be given by name."""
        arrays: list[Array | None] = [None] * len(self._native.inputs)
        integers = [0] * len(self._native.integers)
        for each, value in self._by_name(args, named):
            if each.dtype is None:
                integers[each.place] = _integer(each, value)
            else:
                arrays[each.place] = self._array(each, value)
        try:
            results = self._run(arrays, integers)
        except (GpuArrayError, ValueError, TypeError) as error:
            error.add_note(self._given(arrays))
            raise
        for i, is_read in enumerate(self.interface.to_host):
            if is_read:
                results[i] = np.asarray(results[i])
        form = self.interface.form
        if form is None:
            return results[0]
        if isinstance(form, tuple):
            return dict(zip(form, results, strict=True))
        return results

    def _given(self, arrays: Sequence[Array | None]) -> str:
        """The arrays of a call, for a message."""
        lines = [
            f"  input {each}: {array.dtype} of shape {array.shape}"
            for each in self.interface.inputs
            if each.dtype is not None and (array := arrays[each.place]) is not None
        ]
        more = [f"  and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
        return "\n".join([f"  in function {self.name}", *lines[:_SHOWN], *more])

    def _run(
        self, arrays: Sequence[Array | None], integers: Sequence[int]
    ) -> list[Any]:
        try:
            return self._native.call(arrays, integers)
        except Unsupported as error:
            error.add_note("gpuarray.compiler.load can compile it for such inputs")
            raise

    def _by_name(
        self, args: Sequence[Any], named: Mapping[str, Any]
    ) -> list[tuple[Input, Any]]:
        """The inputs that are given, with their values. Raises TypeError."""
        inputs = self.interface.inputs
        places = {each.name: i for i, each in enumerate(inputs) if each.name}
        found: dict[int, Any] = dict(enumerate(args))
        unknown = [name for name in named if name not in places]
        twice = [name for name in named if places.get(name, -1) in found]
        found.update((places[n], named[n]) for n in named if n in places)
        missing = [
            str(each)
            for i, each in enumerate(inputs)
            if i not in found and not each.optional and each.value is None
        ]
        if unknown or twice or missing or len(args) > len(inputs):
            raise BadType(
                f"{self.name}: given {len(args)} inputs by position"
                f"{' and ' + ', '.join(sorted(named)) + ' by name' if named else ''}, "
                f"expected {len(inputs)}: {', '.join(map(str, inputs))}"
            )
        for i, each in enumerate(inputs):
            if each.value is not None:
                found.setdefault(i, each.value)
        return [(inputs[i], value) for i, value in sorted(found.items())]

    def _array(self, kind: Input, value: Any) -> Array:
        """An input on the context; the library looks at its rank and axes."""
        if isinstance(value, Array):
            return value
        array = fitted(value, kind)
        if array.ndim != kind.ndim:
            raise BadType(
                f"{self.name}: input {kind} has {array.ndim} axes, expected {kind.ndim}"
            )
        return asarray(array, context=self.context)

    def get_value(self, name: str) -> np.ndarray[Any, Any]:
        """The value that is kept under a name, as a NumPy array; KeyError for none.

        >>> from gpuarray.compiler import function, shared
        >>> count = shared(0.0, name="count")
        >>> function([], count, updates={count: count + 1}).save("count.plan")
        >>> count = gpuarray.load_function("count.plan")
        >>> print(count.get_value("count"))
        0.0
        """
        return np.asarray(self._native.get(self._known(name)))

    def set_value(self, name: str, value: Any) -> None:
        """Keep another value under a name, of the same dtype and number of axes.

        >>> from gpuarray.compiler import function, shared
        >>> count = shared(0.0, name="count")
        >>> function([], count, updates={count: count + 1}).save("count.plan")
        >>> count = gpuarray.load_function("count.plan")
        >>> count.set_value("count", 7.0)
        >>> print(count())
        7.0
        """
        _, code, ndim, _ = self._native.values[self._known(name)]
        kind = Input(name, 0, dtypes.OF_TYPECODE[code].name, ndim)
        self._native.set(name, self._array(kind, value))

    def _known(self, name: str) -> str:
        if name in self._native.values:
            return name
        raise KeyError(
            f"{self.name}: nothing is kept for {name!r}; there are values of "
            f"{', '.join(self.values) or 'nothing'}"
        )

    __getitem__ = get_value
    __setitem__ = set_value

    def __contains__(self, name: object) -> bool:
        return name in self._native.values

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the function to a file, with its values as they are now.

        >>> from gpuarray.compiler import function, shared
        >>> count = shared(0.0, name="count")
        >>> function([], count, updates={count: count + 1}).save("count.plan")
        >>> count = gpuarray.load_function("count.plan")
        >>> _ = count()
        >>> count.save("count.plan")
        >>> print(gpuarray.load_function("count.plan")["count"])
        1.0
        """
        check(lib.GpuFunction_save(self._native.pointer, os.fsencode(path)))

    def info(self) -> dict[str, int]:
        """Counts of the latest call (launches, buffers, bytes) and of bindings kept.

        >>> from gpuarray.compiler import function, shared
        >>> count = shared(0.0, name="count")
        >>> function([], count, updates={count: count + 1}).save("count.plan")
        >>> count = gpuarray.load_function("count.plan")
        >>> _ = count()
        >>> count.info()["n_bindings"]
        1
        """
        return self._native.info()

    def __repr__(self) -> str:
        inputs = ", ".join(map(str, self.interface.inputs))
        return f"<loaded function {self.name}({inputs}) on {self.context.name}>"


def _plain(native: Native) -> Interface:
    """The interface of a function that a program in another language saved."""
    inputs = [
        Input(name, i, dtypes.OF_TYPECODE[code].name, ndim, optional)
        for i, (name, code, ndim, optional) in enumerate(native.inputs)
    ]
    inputs += [Input(item[0], i, None) for i, item in enumerate(native.integers)]
    return Interface("function", tuple(inputs), (True,) * len(native.outputs), "list")


def _integer(kind: Input, value: Any) -> int:
    array = np.asarray(value)
    if array.ndim == 0 and (array.dtype.kind in "iub" or float(array).is_integer()):
        return int(array)
    raise BadType(f"input {kind}: given {value!r}, expected an integer")


def read_function(
    path: str | os.PathLike[str], context: str | Context | None
) -> Native:
    """The function of a file, on a context, with its kernels."""
    found = find_context(context)
    pointer = ffi.new("GpuFunction **")
    check(lib.GpuFunction_load(pointer, found.pointer, os.fsencode(path)))
    return Native(pointer[0], found)


def load_function(
    path: str | os.PathLike[str], context: str | Context | None = None
) -> LoadedFunction:
    """A function that ``f.save(path)`` wrote, on a context, without the compiler.

    On the device and driver it was saved on nothing is compiled, else the kernels are.
    Files of functions with steps in Python need `gpuarray.compiler.load`. Compiled
    kernels are code: load files that you trust. Raises OSError for a file that cannot
    be read, ValueError for one that is damaged or holds no function.

    >>> gpuarray.load_function("train.plan")
    Traceback (most recent call last):
        ...
    gpuarray.errors.SystemRefusal: plan: cannot read train.plan: No such file ...
    """
    return LoadedFunction(read_function(path, context))
