"""Functions of the C library, and their contexts by the names in a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gpuarray import dtypes
from gpuarray._core.context import Context
from gpuarray._core.opening import context as find_context
from gpuarray._native import ARRAY, check, encoded, ffi, lib, text
from gpuarray.array import Array
from gpuarray.errors import BadValue, GpuArrayError


class Native:
    """A ``GpuFunction`` of the C library, on its ``contexts``, its own first.

    ``named`` has them by their names. ``plan`` is kept alive with it, where it is not
    the function's own.
    """

    def __init__(
        self, pointer: Any, named: Mapping[str | None, Context], plan: Any = None
    ) -> None:
        self.pointer = ffi.gc(pointer, lib.GpuFunction_free)
        self.plan = plan
        self.named = named
        self.contexts = tuple(dict.fromkeys(named.values()))
        self.context = self.contexts[0]
        self.inputs = self.items(lib.GF_INPUTS)
        self.integers = self.items(lib.GF_INTS)
        self.outputs = [
            (dtypes.OF_TYPECODE[code], code)
            for _, code, _, _ in self.items(lib.GF_OUTPUTS)
        ]
        self.values = {
            name: item for item in self.items(lib.GF_VALUES) if (name := item[0])
        }
        self.input_contexts = self._places(lib.GF_INPUTS, len(self.inputs))
        self.output_contexts = self._places(lib.GF_OUTPUTS, len(self.outputs))
        self.value_contexts = dict(
            zip(self.values, self._places(lib.GF_VALUES, len(self.values)), strict=True)
        )

    def _places(self, which: int, count: int) -> list[Context]:
        """Return the context of each item of a list of arrays."""
        known = {_address(context.pointer): context for context in self.contexts}
        there = ffi.new("gpucontext **")
        places = []
        for i in range(count):
            check(lib.GpuFunction_context(self.pointer, which, i, there))
            places.append(known[_address(there[0])])
        return places

    def items(self, which: int) -> list[tuple[str | None, int, int, bool]]:
        """Return name, typecode, rank and whether it is optional, for each item."""
        count = ffi.new("unsigned int *")
        item = ffi.new("gpufunction_item *")
        check(lib.GpuFunction_count(self.pointer, which, count))
        listed = []
        for i in range(count[0]):
            check(lib.GpuFunction_item(self.pointer, which, i, item))
            name = text(item.name) if item.name else None
            listed.append((name, item.typecode, item.nd, bool(item.optional)))
        return listed

    def note(self) -> bytes:
        """Return the bytes that the file has for Python."""
        place, size = ffi.new("void **"), ffi.new("size_t *")
        check(lib.GpuFunction_note(self.pointer, place, size))
        return bytes(ffi.buffer(place[0], size[0]))

    def call(
        self, arrays: Sequence[Array | None], integers: Sequence[int]
    ) -> list[Any]:
        """Return the outputs for arrays, each on the context of its input.

        None omits an optional one.
        """
        structs = [ffi.new(ARRAY) for _ in self.outputs]
        pointers = [ffi.NULL if a is None else a.struct for a in arrays]
        ints = ffi.new("long long[]", list(integers)) if integers else ffi.NULL
        outs = ffi.new("GpuArray *[]", structs)
        check(lib.GpuFunction_call(self.pointer, outs, pointers, ints))
        return [
            Array.wrap(struct, place, dtype, code)
            for struct, place, (dtype, code) in zip(
                structs, self.output_contexts, self.outputs, strict=True
            )
        ]

    def use_bodies(self, on: bool) -> None:
        """Allow or forbid bodies of step functions in calls that were not recorded."""
        check(lib.GpuPlan_use_bodies(lib.GpuFunction_plan(self.pointer), on))

    def get(self, name: str) -> Array:
        """Return a copy of a kept value."""
        struct = ffi.new(ARRAY)
        check(lib.GpuFunction_get(self.pointer, encoded(name, "get"), struct))
        code = self.values[name][1]
        place = self.value_contexts[name]
        return Array.wrap(struct, place, dtypes.OF_TYPECODE[code], code)

    def set(self, name: str, value: Array) -> None:
        """Store a copy as a kept value."""
        key = encoded(name, "set")
        check(lib.GpuFunction_set(self.pointer, key, value.struct))

    def info(self) -> dict[str, int]:
        """Return counts of the latest call and of the bindings kept."""
        return plan_info(lib.GpuFunction_plan(self.pointer))


def plan_info(pointer: Any) -> dict[str, int]:
    """Return counts of the latest run of a ``GpuPlan *`` and of its bindings."""
    counts = ffi.new("gpuplan_info *")
    check(lib.GpuPlan_info(pointer, counts))
    names = (
        "n_steps", "n_bindings", "n_binds", "n_launches", "n_allocs", "workspace",
    )  # fmt: skip
    return {name: getattr(counts, name) for name in names}


def _address(pointer: Any) -> int:
    return int(ffi.cast("uintptr_t", pointer))


# ---- files ----


def names_in(path: str | os.PathLike[str]) -> list[str]:
    """Return the names of the contexts in a function's file, its own first.

    That is "" where the function has no name for it, as in any file of one context.
    """
    name = ffi.new("char[]", lib.GPUPLAN_NAME)
    count = ffi.new("unsigned int *", 1)
    names: list[str] = []
    while len(names) < count[0]:
        place = len(names)
        check(lib.GpuPlan_file_context(os.fsencode(path), place, name, count))
        names.append(text(name))
    return names


def read_function(
    path: str | os.PathLike[str],
    context: str | Context | None,
    contexts: Mapping[str, str | Context] | None = None,
    find: Callable[[str], Context] = find_context,
) -> Native:
    """Return a file's function on its contexts, with its kernels.

    ``contexts`` and ``context`` are those of `load_function`; ``find`` returns the
    context of a name that is in neither. Raises ValueError for a name without one, and
    for one that the file lacks.
    """
    names = names_in(path)
    given = dict(contexts or {})
    _check_names(path, names, given, context)
    if context is not None or not names[0]:
        given.setdefault(names[0], find_context(context))
    chosen = [_found(path, names, name, given, find) for name in names]
    texts = [ffi.new("char[]", name.encode()) if name else ffi.NULL for name in names]
    pairs = ffi.new("gpuplan_context[]", len(names))
    for pair, name, place in zip(pairs, texts, chosen, strict=True):
        pair.name, pair.context = name, place.pointer
    pointer = ffi.new("GpuFunction **")
    check(lib.GpuFunction_load_on(pointer, len(names), pairs, os.fsencode(path)))
    return Native(pointer[0], dict(zip(names, chosen, strict=True)))


def _check_names(
    path: str | os.PathLike[str],
    names: Sequence[str],
    given: Mapping[str, Any],
    context: str | Context | None,
) -> None:
    unknown = [name for name in given if name not in names or not name]
    if unknown:
        raise BadValue(
            f"{os.fspath(path)!r}: contexts= names {_listed(unknown)}; the function is "
            f"{_of(names)}"
        )
    if context is not None and names[0] in given:
        raise BadValue(
            f"{os.fspath(path)!r}: the function's own context is {names[0]!r}, which "
            "both context= and contexts= give; give one of them"
        )


def _found(
    path: str | os.PathLike[str],
    names: Sequence[str],
    name: str,
    given: Mapping[str, str | Context],
    find: Callable[[str], Context],
) -> Context:
    if name in given:
        return find_context(given[name])
    try:
        return find(name)
    except (GpuArrayError, ValueError) as error:
        raise BadValue(
            f"{os.fspath(path)!r}: the function is {_of(names)}, and nothing here is "
            f"{name!r}: say which device it stands for, contexts={{{name!r}: "
            "'opencl0:0'}; several names may have the same device"
        ) from error


def _of(names: Sequence[str]) -> str:
    if len(names) == 1:
        return "of one context, without a name: context= gives it"
    own = [] if names[0] else ["its own, without a name: context= gives it"]
    return f"of the contexts {', '.join([*map(repr, filter(None, names)), *own])}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
