"""Compiled functions from files: calls and kept values, without a compiler."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuarray import dtypes
from gpuarray._core.context import Context
from gpuarray._creation.conversion import asarray
from gpuarray._files.native_functions import Native, read_function
from gpuarray._kernels.argument_conversion import (
    check_array,
    check_strict,
    fitted as fit,
)
from gpuarray._native import check, lib
from gpuarray.array import Array
from gpuarray.errors import BadType, GpuArrayError, Unsupported

INTEGER = "int64"
"""The dtype of an integer argument in C."""
_SHOWN = 8
"""The most inputs that a message lists."""


@dataclass(frozen=True)
class SavedInput:
    """An input of a saved function: the ``place``-th array or integer of a call in C.

    ``value`` is an ``integer``'s default; an ``optional`` array has a default, too,
    which the function keeps. ``kind`` is its type in messages. ``strict``, ``downcast``
    and ``rounds`` are the rules of conversion of `argument_conversion.fitted`.
    """

    name: str | None
    place: int
    dtype: str
    ndim: int = 0
    optional: bool = False
    value: int | None = None
    strict: bool = False
    downcast: bool | None = None
    integer: bool = False
    broadcastable: tuple[bool, ...] = ()
    rounds: bool = False
    kind: str = ""

    @property
    def pattern(self) -> tuple[bool, ...]:
        """For each axis whether it has length 1."""
        return self.broadcastable or (False,) * self.ndim

    @property
    def described(self) -> str:
        """The type for messages."""
        return self.kind or f"{self.dtype} of {self.ndim} axes"

    def __str__(self) -> str:
        return self.name or ("an integer" if self.integer else "an array")


@dataclass(frozen=True)
class SavedInterface:
    """The interface of a saved function: its inputs, and the form of its outputs.

    ``name`` is the function's. ``to_host`` marks the outputs that are copied to the
    host; ``form`` is None for a single one, ``"list"``, or the keys of a dictionary.
    ``matrices`` tells which of them are the arrays of sparse matrices; the compiler's
    `load` makes matrices of these.
    """

    name: str
    inputs: tuple[SavedInput, ...]
    to_host: tuple[bool, ...]
    form: str | tuple[str, ...] | None
    matrices: dict[str, Any] | None = None


def packed(interface: SavedInterface, graph: bytes) -> bytes:
    """The note of a file: the interface as JSON, and the pickled graph or nothing."""
    fields = dict(
        vars(interface), inputs=[vars(parameter) for parameter in interface.inputs]
    )
    head = json.dumps(fields).encode()
    return len(head).to_bytes(8, "little") + head + graph


def unpacked(note: bytes) -> tuple[SavedInterface, bytes]:
    """Return the arguments of `packed`."""
    start = 8 + int.from_bytes(note[:8], "little")
    fields = json.loads(note[8:start])
    fields["inputs"] = tuple(map(_input, fields["inputs"]))
    fields["to_host"] = tuple(fields["to_host"])
    if isinstance(fields["form"], list):
        fields["form"] = tuple(fields["form"])
    return SavedInterface(**fields), note[start:]


def _input(fields: dict[str, Any]) -> SavedInput:
    """Return an input of a file; in older ones integers are those without a dtype."""
    dtype = fields["dtype"]
    if "integer" not in fields:
        fields["integer"] = dtype is None
        fields["dtype"] = dtype or INTEGER
        fields["rounds"] = _is_float(fields["dtype"])
    fields["broadcastable"] = tuple(fields.get("broadcastable", ()))
    return SavedInput(**fields)


def _is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


def fitted(value: Any, kind: SavedInput) -> np.ndarray[Any, Any]:
    """Return a host value in the dtype of an input. Raises TypeError for another type.

    It follows the conversion rules of the saved function.
    """
    dtype = dtypes.as_dtype(kind.dtype)
    if kind.strict:
        check_strict(value, dtype)
    return fit(value, dtype, kind.pattern, kind.described, kind.downcast, kind.rounds)


class LoadedFunction:
    """A compiled function that was saved to a file; it runs without the compiler.

    It is called as the saved function: inputs by position or name, NumPy arrays or
    arrays of its context; results in the same form. Shared variables that it updates
    are its own: ``f["w"]`` is the value of ``w``, and can be set.

    ``interface`` has inputs and outputs, ``values`` the names of kept values,
    ``context`` the device, of several contexts the function's own.

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
        """Run on ``args``; named inputs may be keyword arguments."""
        arrays: list[Array | None] = [None] * len(self._native.inputs)
        integers = [0] * len(self._native.integers)
        for index, value in self._by_name(args, named):
            parameter = self.interface.inputs[index]
            try:
                if parameter.integer:
                    integers[parameter.place] = int(fitted(on_host(value), parameter))
                else:
                    place = self._native.input_contexts[parameter.place]
                    arrays[parameter.place] = self._array(parameter, value, place)
            except GpuArrayError as error:
                raise self._input_error(index, error) from None
        try:
            results = self._run(arrays, integers)
        except (GpuArrayError, ValueError, TypeError) as error:
            self._check_arrays(arrays)  # its messages say more
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

    def _input_error(self, index: int, error: GpuArrayError) -> GpuArrayError:
        """Return the error with the input that it is about."""
        spec = self.interface.inputs[index]
        return type(error)(f"{self.name}: input {index} ({spec}): {error}")

    def _check_arrays(self, arrays: Sequence[Array | None]) -> None:
        """Raise TypeError or ValueError for an array that does not fit its input."""
        for index, parameter in enumerate(self.interface.inputs):
            array = None if parameter.integer else arrays[parameter.place]
            if array is None:
                continue
            dtype = dtypes.as_dtype(parameter.dtype)
            place = self._native.input_contexts[parameter.place]
            try:
                check_array(array, place, dtype, parameter.pattern, parameter.described)
            except GpuArrayError as error:
                raise self._input_error(index, error) from None

    def _given(self, arrays: Sequence[Array | None]) -> str:
        """Return the arrays of a call, for a message."""
        lines = [
            f"  input {parameter}: {array.dtype} of shape {array.shape}"
            for parameter in self.interface.inputs
            if not parameter.integer and (array := arrays[parameter.place]) is not None
        ]
        more = [f"  and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
        return "\n".join([f"  in function {self.name}", *lines[:_SHOWN], *more])

    def _run(
        self, arrays: Sequence[Array | None], integers: Sequence[int]
    ) -> list[Any]:
        try:
            return self._native.call(arrays, integers)
        except Unsupported as error:
            error.add_note(
                "gpuarray.compiler.load, with trusted=True, compiles it for such inputs"
            )
            raise

    def _by_name(
        self, args: Sequence[Any], named: Mapping[str, Any]
    ) -> list[tuple[int, Any]]:
        """Return the inputs that are given, with their values. Raises TypeError."""
        inputs = self.interface.inputs
        places = {
            parameter.name: i for i, parameter in enumerate(inputs) if parameter.name
        }
        arguments: dict[int, Any] = dict(enumerate(args))
        unknown = [name for name in named if name not in places]
        twice = [name for name in named if places.get(name, -1) in arguments]
        arguments.update((places[n], named[n]) for n in named if n in places)
        missing = [
            str(parameter)
            for i, parameter in enumerate(inputs)
            if i not in arguments and not parameter.optional and parameter.value is None
        ]
        if unknown or twice or missing or len(args) > len(inputs):
            raise BadType(
                f"{self.name}: given {len(args)} inputs by position"
                f"{' and ' + ', '.join(sorted(named)) + ' by name' if named else ''}, "
                f"expected {len(inputs)}: {', '.join(map(str, inputs))}"
            )
        for i, parameter in enumerate(inputs):
            if parameter.value is not None:
                arguments.setdefault(i, np.array(parameter.value, parameter.dtype))
        return sorted(arguments.items())

    def _array(self, kind: SavedInput, value: Any, place: Context) -> Array:
        """Return a value on its context; the library checks device arrays.

        One of another of the function's contexts is copied.
        """
        if not isinstance(value, Array):
            return asarray(fitted(value, kind), context=place)
        is_there = value.context is place or value.context not in self._native.contexts
        return value if is_there else value.transfer(place)

    def get_value(self, name: str) -> np.ndarray[Any, Any]:
        """Return a kept value by name, as a NumPy array. Raises KeyError.

        >>> from gpuarray.compiler import function, shared
        >>> count = shared(0.0, name="count")
        >>> function([], count, updates={count: count + 1}).save("count.plan")
        >>> count = gpuarray.load_function("count.plan")
        >>> print(count.get_value("count"))
        0.0
        """
        return np.asarray(self._native.get(self._known(name)))

    def set_value(self, name: str, value: Any) -> None:
        """Set a kept value by name, of the same dtype and rank.

        >>> from gpuarray.compiler import function, shared
        >>> count = shared(0.0, name="count")
        >>> function([], count, updates={count: count + 1}).save("count.plan")
        >>> count = gpuarray.load_function("count.plan")
        >>> count.set_value("count", 7.0)
        >>> print(count())
        7.0
        """
        _, code, ndim, _ = self._native.values[self._known(name)]
        dtype = dtypes.OF_TYPECODE[code].name
        kind = SavedInput(name, 0, dtype, ndim, rounds=_is_float(dtype))
        try:
            array = self._array(kind, value, self._native.value_contexts[name])
        except BadType as error:
            raise BadType(f"{self.name}: the value of {name}: {error}") from None
        self._native.set(name, array)

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
        """Return counts of the latest call: launches, buffers, bytes, bindings kept.

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
        places = " and ".join(place.name for place in self._native.contexts)
        return f"<loaded function {self.name}({inputs}) on {places}>"


def _plain(native: Native) -> SavedInterface:
    """Return the interface of a function saved by a program in another language."""
    inputs = []
    for i, (name, code, ndim, optional) in enumerate(native.inputs):
        dtype = dtypes.OF_TYPECODE[code].name
        inputs.append(
            SavedInput(name, i, dtype, ndim, optional, rounds=_is_float(dtype))
        )
    inputs += [
        SavedInput(item[0], i, INTEGER, integer=True)
        for i, item in enumerate(native.integers)
    ]
    return SavedInterface(
        "function", tuple(inputs), (True,) * len(native.outputs), "list"
    )


def on_host(value: Any) -> Any:
    """Return a device array as NumPy's; another value as it is."""
    return np.asarray(value) if isinstance(value, Array) else value


def load_function(
    path: str | os.PathLike[str],
    context: str | Context | None = None,
    contexts: Mapping[str, str | Context] | None = None,
) -> LoadedFunction:
    """Load a function that ``f.save(path)`` wrote, without the compiler.

    On the device and driver it was saved on nothing is compiled, else the kernels are.
    Files of functions with steps in Python need `gpuarray.compiler.load`.

    A function of several contexts has names for them. ``contexts`` says which device or
    context each name stands for, several names the same one if it says so; ``context``
    is that of the function's own. What neither says is the device of that name.

    No pickle is ever read: only the file's kernels and this library run. Sizes, offsets
    and numbers of a file are checked against its arrays, so that a wrong file gives an
    error or wrong results; but kernels, compiled or as text, are code, which on a
    processor runs in this process, and the file has the kernel arguments of a recorded
    step in Python. So load files of people whom you trust: the hash in a file tells
    damage, not who wrote it. Raises OSError for a file that cannot be read, ValueError
    for one that is damaged or holds no function.

    >>> gpuarray.load_function("train.plan")
    Traceback (most recent call last):
        ...
    gpuarray.errors.SystemRefusal: plan: cannot read train.plan: No such file ...
    """
    if not isinstance(path, str | os.PathLike):
        raise BadType(f"load_function: path is {path!r:.60}, expected a path")
    return LoadedFunction(read_function(path, context, contexts))
