"""RawKernel: a whole source in the kernel language, called with arrays and numbers.

One source serves CUDA and OpenCL. It is compiled at the first call for the arguments'
types, and cached on disk as all kernels are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuarray._core.base import BaseArray
from gpuarray._core.context import Context
from gpuarray._core.opening import context as find_context
from gpuarray._custom_kernels.reduction_kernel import only_context
from gpuarray._interop import pickling
from gpuarray._kernels.kernel import GpuKernel
from gpuarray._kernels.parameters import of_kernel
from gpuarray.dtypes import INPUT, OFFSET
from gpuarray.errors import BadType, BadValue


class RawKernel:
    """A kernel written in CLUDA, called with its arguments and ``n``, its work items.

    The types of the arguments are those of the kernel's parameters; a parameter of an
    unknown type takes a NumPy scalar's. ``types`` overrides them, as for GpuKernel. A
    parameter ``ga_size x_off`` after an array ``x`` is left out of the call, which
    passes the offset: the bytes from the start of the buffer to the array's first
    element. An array with an offset is refused by a kernel without such a parameter.

    >>> twice = gpuarray.RawKernel('''
    ... KERNEL void twice(GLOBAL_MEM float *x, ga_size x_off, ga_uint n) {
    ...   x = (GLOBAL_MEM float *)((GLOBAL_MEM char *)x + x_off);
    ...   const ga_uint i = GID_0 * LDIM_0 + LID_0;
    ...   if (i < n) x[i] *= 2;
    ... }''', "twice")
    >>> x = gpuarray.arange(3, dtype="float32")
    >>> twice(x, x.size, n=x.size)
    >>> print(x)
    [0. 2. 4.]

    Called as ``twice(x, x.size, n=x.size)``: the array, the kernel's own ``n``, and the
    number of work items. Raises KernelError at the first call if it does not compile,
    with the vendor's first error and the lines of the source around it.
    """

    def __init__(
        self,
        source: str,
        name: str,
        types: Sequence[Any] | None = None,
        context: Context | str | None = None,
    ) -> None:
        self.source = source
        self.name = name
        self.types = None if types is None else tuple(types)
        self.context = None if context is None else find_context(context)
        self._parameters = of_kernel(source, name)
        self._kernels: dict[Any, GpuKernel] = {}

    def __call__(
        self,
        *arguments: Any,
        n: int | None = None,
        blocks: int | Sequence[int] | None = None,
        threads: int | Sequence[int] | None = None,
        shared: int = 0,
    ) -> None:
        """Queue a launch over ``n`` work items, or of ``blocks`` of ``threads``."""
        full = self._with_offsets(list(arguments))
        arrays = [x for x in full if isinstance(x, BaseArray)]
        if arrays:
            context = only_context(self.name, arrays)
        else:
            context = find_context(None) if self.context is None else self.context
        types = self.types or tuple(map(self._type, range(len(full)), full))
        key = context, types
        kernel = self._kernels.get(key)
        if kernel is None:
            compiled = GpuKernel(self.source, self.name, types, context)
            kernel = self._kernels[key] = compiled
        kernel(*full, n=n, blocks=blocks, threads=threads, shared=shared)

    def _with_offsets(self, full: list[Any]) -> list[Any]:
        """Return the arguments with the offsets that the call leaves out."""
        parameters, count = self._parameters, len(full)
        if len(full) < len(parameters):
            for i in range(len(parameters)):
                if self._is_offset(i) and i <= len(full):
                    full.insert(i, getattr(full[i - 1], "offset", 0))
        if len(full) != len(parameters):
            expected = [
                parameter.name
                for i, parameter in enumerate(parameters)
                if not self._is_offset(i)
            ]
            raise BadType(
                f"{self.name}: {count} arguments, expected {len(expected)}: "
                f"{', '.join(expected)}"
            )
        for i, (parameter, value) in enumerate(zip(parameters, full, strict=True)):
            rest = parameters[i + 1 : i + 2]
            takes_offset = bool(rest) and not rest[0].is_array and rest[0].dtype == "u8"
            offset = value.offset if isinstance(value, BaseArray) else 0
            if parameter.is_array and not takes_offset and offset:
                raise BadValue(
                    f"{self.name}: {parameter.name} is a view that begins {offset} "
                    f"bytes into its buffer; let the kernel take a ga_size "
                    f"{parameter.name}_off behind it, or give {parameter.name}.copy()"
                )
        return full

    def _is_offset(self, i: int) -> bool:
        """True if a parameter is the offset of the array before it."""
        before = self._parameters[i - 1]
        is_named = self._parameters[i].name == f"{before.name}_off"
        return i > 0 and before.is_array and is_named

    def _type(self, i: int, value: Any) -> Any:
        parameter = self._parameters[i]
        if parameter.is_array:
            return INPUT if parameter.is_const else BaseArray
        if self._is_offset(i) and parameter.dtype == "u8":
            return OFFSET
        if parameter.dtype is not None:
            return parameter.dtype
        if isinstance(value, np.generic):
            return value.dtype
        raise BadType(
            f"{self.name}: the type {parameter.generic!r} of {parameter.name} is not "
            "known; give a NumPy scalar, such as numpy.int32(3), or say types="
        )

    def __repr__(self) -> str:
        return f"<gpuarray kernel {self.name!r}>"

    def __reduce__(self) -> Any:
        place = None if self.context is None else self.context.name
        return _restore, (self.source, self.name, self.types, place)


def _restore(source: str, name: str, types: Any, context: str | None) -> RawKernel:
    """Return the kernel of a pickle, compiled at its first call."""
    place = None if context is None else pickling.place(context)
    return RawKernel(source, name, types, place)
