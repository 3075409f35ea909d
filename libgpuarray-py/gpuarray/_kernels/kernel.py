"""GpuKernel: a user's own kernel, written in CLUDA, on any device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuarray._core.base import BaseArray
from gpuarray._core.context import Context
from gpuarray._core.opening import context as find_context
from gpuarray._kernels.parameters import misreads, pointed_dtypes
from gpuarray._native import check, encoded, ffi, lib, text
from gpuarray.dtypes import INPUT, OF_TYPECODE, OFFSET, SIZE, SSIZE, dtype_to_typecode
from gpuarray.errors import BadType, BadValue, KernelError, NotPicklable, TooLarge

_BUFFER = -1
_POINTERS = (_BUFFER, INPUT)
_FLAGS = {"have_double", "have_small", "have_complex", "have_half", "cuda", "opencl"}


class GpuKernel:
    """A compiled kernel, called with its arguments and a grid.

    ``types`` has, for each argument of the kernel, the class ``Array`` for a pointer,
    or a dtype, ``gpuarray.SIZE`` or ``gpuarray.SSIZE`` for a number. An array passes
    the pointer to its buffer: where arrays may be views, take their ``offset`` (bytes)
    after them as an argument of type ``gpuarray.OFFSET``, in the kernel a ``ga_size``.
    A compiled function then runs for views of any offset without a new binding. An
    OFFSET is of the nearest array before it; without one it is refused (BadValue).
    ``gpuarray.INPUT`` in place of ``Array`` promises that the kernel only reads there:
    then it may run beside other readers. An array whose elements have another size than
    the kernel's pointer is refused (BadType); bytes may point to anything. libgpuarray
    0.7's flags (``have_double=True``) are accepted, and change nothing.

    Raises KernelError, with the compiler's log and the source, if it does not compile.
    ``context`` and ``name`` are those it was made with.

    >>> source = (
    ...     "KERNEL void twice(GLOBAL_MEM ga_float *x, ga_size n) {"
    ...     "  if (LID_0 < n) x[LID_0] *= 2; }"
    ... )
    >>> kernel = gpuarray.GpuKernel(source, "twice", [gpuarray.Array, gpuarray.SIZE])
    >>> x = gpuarray.arange(3, dtype="float32")
    >>> kernel(x, 3, gs=1, ls=32)
    >>> print(x)
    [0. 2. 4.]

    For views too:

    >>> source = (
    ...     "KERNEL void fill(GLOBAL_MEM ga_float *x, ga_size x_off, ga_float value) {"
    ...     "  x = (GLOBAL_MEM ga_float *)((GLOBAL_MEM char *)x + x_off);"
    ...     "  x[LID_0] = value; }"
    ... )
    >>> types = [gpuarray.Array, gpuarray.OFFSET, "float32"]
    >>> kernel = gpuarray.GpuKernel(source, "fill", types)
    >>> last = x[2:]
    >>> kernel(last, last.offset, 7, blocks=1, threads=1)
    >>> print(x)
    [0. 2. 7.]
    """

    __slots__ = ("_codes", "_handle", "_pointed", "context", "name")

    def __init__(
        self,
        source: str | bytes,
        name: str | bytes,
        types: Sequence[Any],
        context: Context | str | None = None,
        *flags: bool,
        **named_flags: bool,
    ) -> None:
        if len(flags) > len(_FLAGS) or not _FLAGS.issuperset(named_flags):
            raise BadType(
                f"GpuKernel: got the options {[*flags, *named_flags]}, not all known"
            )
        source = source.decode() if isinstance(source, bytes) else source
        name = name.decode() if isinstance(name, bytes) else name
        self.context = find_context(context)
        self.name = name
        self._codes = [_argument_code(kind) for kind in types]
        pointed = pointed_dtypes(source, name) or ()
        fits = len(pointed) == len(self._codes)
        self._pointed = pointed if fits else (None,) * len(self._codes)
        body = ffi.new("char[]", encoded(source, "kernel"))
        strings = ffi.new("const char *[1]", [body])
        log = ffi.new("char **")
        handle = ffi.new("GpuKernel *")
        status = lib.GpuKernel_init(
            handle,
            self.context.pointer,
            1,
            strings,
            ffi.NULL,
            encoded(name, "kernel"),
            len(self._codes),
            self._codes,
            0,
            log,
        )
        if log[0]:
            messages = text(log[0])
            lib.host_free(log[0])
            raise KernelError(
                f"kernel {name!r} does not compile on {self.context.name}:\n{messages}"
            )
        check(status, f"kernel {name!r} on {self.context.name}")
        self._handle = ffi.gc(handle, lib.GpuKernel_clear)

    @property
    def max_threads(self) -> int:
        """The most threads of a block, as compiled for the device."""
        return self._size(lib.GA_KERNEL_PROP_MAXLSIZE)

    maxlsize = max_threads  # libgpuarray's name

    @property
    def preflsize(self) -> int:
        """The best divisor of a block's number of threads: a warp, or more."""
        return self._size(lib.GA_KERNEL_PROP_PREFLSIZE)

    def _size(self, number: int) -> int:
        size = ffi.new("size_t *")
        check(lib.gpukernel_property(self._handle.k, number, size))
        return int(size[0])

    def __reduce__(self) -> Any:
        raise NotPicklable(
            f"kernel {self.name!r} is of one device and cannot be pickled; pickle its "
            "source, or a RawKernel"
        )

    def __call__(
        self,
        *arguments: Any,
        n: int | None = None,
        blocks: int | Sequence[int] | None = None,
        threads: int | Sequence[int] | None = None,
        shared: int = 0,
        gs: int | Sequence[int] | None = None,
        ls: int | Sequence[int] | None = None,
    ) -> None:
        """Queue a launch: over ``n`` work items, or of ``blocks`` of ``threads`` each.

        ``shared`` is the bytes of local memory that a LOCAL_MEM_ARG gets. ``gs`` and
        ``ls`` are libgpuarray 0.7's names of ``blocks`` and ``threads``.
        """
        blocks = gs if blocks is None else blocks
        threads = ls if threads is None else threads
        if len(arguments) != len(self._codes):
            raise BadType(
                f"kernel {self.name!r}: {len(arguments)} arguments, expected "
                f"{len(self._codes)}"
            )
        pointers = [
            self._pointer(i, code, value)
            for i, (code, value) in enumerate(zip(self._codes, arguments, strict=True))
        ]
        grid, block = self._geometry(n, blocks, threads)
        listed = ffi.new("void *[]", pointers)
        check(
            lib.GpuKernel_call(self._handle, len(grid), grid, block, shared, listed),
            f"kernel {self.name!r} on {self.context.name}",
        )

    @property
    def numargs(self) -> int:
        """The number of the kernel's arguments."""
        return len(self._codes)

    def _geometry(
        self, n: int | None, blocks: Any, threads: Any
    ) -> tuple[list[int], list[int]]:
        if n is None:
            if blocks is None or threads is None:
                raise BadValue(
                    f"kernel {self.name!r}: give n, or both blocks and threads"
                )
            grid, block = _lengths(blocks), _lengths(threads)
            if len(grid) != len(block) or not 1 <= len(grid) <= 3:
                raise BadValue(
                    f"kernel {self.name!r}: blocks {grid} and threads {block} must "
                    "have the same 1 to 3 dimensions"
                )
            return grid, block
        grid_size = ffi.new("size_t *", self._one_length("blocks", blocks))
        block_size = ffi.new("size_t *", self._one_length("threads", threads))
        check(lib.GpuKernel_sched(self._handle, n, grid_size, block_size))
        return [grid_size[0]], [block_size[0]]

    def _one_length(self, what: str, lengths: Any) -> int:
        """The length along the only axis of a launch over n work items; 0: any."""
        listed = [0] if lengths is None else _lengths(lengths)
        if len(listed) != 1:
            raise BadValue(
                f"kernel {self.name!r}: {what} {listed} beside n, expected one length"
            )
        return listed[0]

    def _pointer(self, position: int, code: int, value: Any) -> Any:
        if code in _POINTERS:
            if isinstance(value, ReportWord) and value.context is self.context:
                return value.pointer
            if not isinstance(value, BaseArray):
                raise BadType(
                    f"kernel {self.name!r}: argument {position} is "
                    f"{type(value).__name__}, expected a gpuarray array"
                )
            if value.context is not self.context:
                raise BadValue(
                    f"kernel {self.name!r}: argument {position} is on "
                    f"{value.context.name}, the kernel on {self.context.name}"
                )
            if misreads(self._pointed[position], value.dtype):
                raise BadType(
                    f"kernel {self.name!r}: argument {position} is an array of "
                    f"{value.dtype}, its text declares a pointer to "
                    f"{self._pointed[position]}; convert it with astype"
                )
            return value._struct.data
        ctype = _INTEGERS.get(code)
        try:
            if ctype is not None and type(value) is int:
                return ffi.new(ctype, value)
            number = np.asarray(
                self._checked(position, code, value), _number_dtype(code)
            )
        except OverflowError:
            raise TooLarge(
                f"kernel {self.name!r}: argument {position} is {value}, which does not "
                f"fit {_number_dtype(code)}"
            ) from None
        return ffi.from_buffer("char[]", number.reshape(1).view("u1"))

    def _checked(self, position: int, code: int, value: Any) -> Any:
        """Return a number argument. Raises BadType and BadValue."""
        dtype = _number_dtype(code)
        what = f"kernel {self.name!r}: argument {position} is {value!r}, expected a"
        if isinstance(value, str | bytes) or np.size(value) != 1:
            raise BadType(f"{what} number ({dtype})")
        is_float = isinstance(value, float | np.floating)
        if code in _INTEGERS and is_float and not value.is_integer():
            raise BadValue(f"{what} whole number ({dtype}); round it first")
        return value


class ReportWord(NamedTuple):
    """The word of a context's index errors; see `index_report`."""

    context: Context
    pointer: Any


REPORT_TYPES = (BaseArray, OFFSET, np.dtype(np.uint32))
"""The types of the arguments from `index_report`."""


def index_report(operation: str, context: Context) -> tuple[ReportWord, int, int]:
    """Return three arguments, in order, by which a kernel reports an index error.

    They are ``GLOBAL_MEM ga_uint *word, ga_size word_off, ga_uint site``, of
    `REPORT_TYPES`; the kernel calls ``ga_report_index(word, word_off, site, index,
    length)``. The next wait for the context then raises IndexError with ``operation``,
    the index and the length.
    """
    word, site = ffi.new("gpudata **"), ffi.new("unsigned int *")
    check(
        lib.gpukernel_report_site(word, site, context.pointer, operation.encode()),
        operation,
    )
    return ReportWord(context, word[0]), 0, int(site[0])


def _number_dtype(code: int) -> np.dtype[Any]:
    if code in (OFFSET, SIZE, SSIZE):
        return np.dtype(np.int64 if code == SSIZE else np.uint64)
    return OF_TYPECODE[code]


_INTEGERS = {
    code: ffi.typeof(f"{_number_dtype(code).name}_t *")
    for code in (*OF_TYPECODE, OFFSET, SIZE, SSIZE)
    if _number_dtype(code).kind in "iu"
}
"""The types of integer arguments in C."""


def _argument_code(kind: Any) -> int:
    if isinstance(kind, type) and issubclass(kind, BaseArray):
        return _BUFFER
    return dtype_to_typecode(kind)


def _lengths(lengths: int | Sequence[int]) -> list[int]:
    """Return one to three lengths; NumPy's integers, too."""
    if type(lengths) is int:
        return [lengths]
    return [int(length) for length in np.atleast_1d(lengths)]
