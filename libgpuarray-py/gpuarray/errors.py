"""One exception class per status; each is also a builtin of the same kind."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from types import ModuleType
from typing import NoReturn

import numpy as np


class GpuArrayError(Exception):
    """The base of every error of this package.

    >>> try:
    ...     gpuarray.zeros(2) + gpuarray.zeros(3)
    ... except gpuarray.GpuArrayError as error:
    ...     print(type(error).__name__, isinstance(error, ValueError))
    BadValue True
    """


class OutOfMemory(GpuArrayError, MemoryError):
    """The device or the host is out of memory.

    >>> gpuarray.empty(2**60, "int8", "null")
    Traceback (most recent call last):
        ...
    gpuarray.errors.OutOfMemory: empty: null: cannot allocate 11529...
    """


class BadValue(GpuArrayError, ValueError):
    """A value or a shape does not fit.

    >>> gpuarray.zeros((2, -1))
    Traceback (most recent call last):
        ...
    gpuarray.errors.BadValue: zeros: negative length in shape (2, -1)
    """


class DeviceLimit(BadValue):
    """A launch asks for more than this device allows: threads, blocks, local memory.

    >>> text = "KERNEL void nothing(ga_int n) {}"
    >>> kernel = gpuarray.GpuKernel(text, "nothing", ["int32"], context="null")
    >>> kernel(1, gs=1, ls=2**20)
    Traceback (most recent call last):
        ...
    gpuarray.errors.DeviceLimit: ... got 1048576 threads in dimension 0 of a block...
    """


class DivisionByZero(BadValue, ZeroDivisionError):
    """A step is 0.

    >>> gpuarray.arange(0, 3, 0)
    Traceback (most recent call last):
        ...
    gpuarray.errors.DivisionByZero: arange: division by zero
    """


class BadIndex(BadValue, IndexError):
    """An index is out of range or not of a kind that is offered.

    >>> gpuarray.zeros(3)[3]
    Traceback (most recent call last):
        ...
    gpuarray.errors.BadIndex: index: 3 is out of bounds for axis 0 of length 3
    """


class BadType(GpuArrayError, TypeError):
    """A dtype, or the kind of an argument, does not fit.

    >>> gpuarray.sum([1, 2, 3])
    Traceback (most recent call last):
        ...
    gpuarray.errors.BadType: sum: got list, expected a gpuarray array; use ...
    """


class BadArgument(BadType, BadValue):
    """An argument of the wrong kind: a dtype, a context or a name.

    >>> gpuarray.context("nowhere")
    Traceback (most recent call last):
        ...
    gpuarray.errors.BadArgument: "nowhere" is not a device name; expected ...
    """


class Unsupported(GpuArrayError, NotImplementedError):
    """The arguments, or this device, are not supported.

    >>> gpuarray.zeros(3).to_device("null", stream=1)
    Traceback (most recent call last):
        ...
    gpuarray.errors.Unsupported: to_device: got stream 1, expected None: ...
    """


class BackendError(GpuArrayError, RuntimeError):
    """A vendor's function failed; the message has its name."""


class SystemRefusal(GpuArrayError, OSError):
    """The operating system refused."""


class KernelFailure(GpuArrayError, RuntimeError):
    """A kernel failed while it ran."""


class ReadOnly(BadValue):
    """The array must not be written.

    >>> gpuarray.broadcast_to(gpuarray.zeros(3), (2, 3))[0] = 1
    Traceback (most recent call last):
        ...
    gpuarray.errors.ReadOnly: setitem: the array is read-only, as broadcast ...
    """


class NeedsCopy(BadValue):
    """A copy would be needed, and none was allowed.

    >>> gpuarray.asarray([1, 2], copy=False)
    Traceback (most recent call last):
        ...
    gpuarray.errors.NeedsCopy: asarray: host values cannot be used without a copy
    """


class NotInPlace(NeedsCopy, AttributeError):
    """An array cannot take a shape without a copy.

    >>> gpuarray.zeros((2, 3)).T.shape = 6
    Traceback (most recent call last):
        ...
    gpuarray.errors.NotInPlace: shape: ...
    """


class NotConstructible(BadType, RuntimeError):
    """Objects of a class come from functions, not from a call of the class.

    >>> gpuarray.Array()
    Traceback (most recent call last):
        ...
    gpuarray.errors.NotConstructible: arrays are made by gpuarray.asarray, ...
    """


class NotPicklable(BadType, RuntimeError):
    """An object stands for a device or its code, and cannot be pickled.

    >>> import pickle
    >>> pickle.dumps(gpuarray.get_default_context())
    Traceback (most recent call last):
        ...
    gpuarray.errors.NotPicklable: a context cannot be pickled; pickle its name
    """


class BadExchange(GpuArrayError, BufferError):
    """A tensor of DLPack cannot be exported or imported as asked."""


class Unshared(BadType, AttributeError):
    """The array has no such handle for another library: it is on another vendor's.

    >>> gpuarray.zeros(3, context="null").as_pycuda()
    Traceback (most recent call last):
        ...
    gpuarray.errors.Unshared: as_pycuda: the array is on null; only arrays of ...
    """


class UnknownName(GpuArrayError, AttributeError):
    """The name is unknown; the message has the nearest one that exists.

    ``owner`` is its object, and ``instead`` what to do; without that the message, when
    it is asked for, suggests one of ``dir(among)``.

    >>> gpuarray.zeross(3)
    Traceback (most recent call last):
        ...
    gpuarray.errors.UnknownName: module 'gpuarray' has no attribute 'zeross'; did ...
    """

    def __init__(
        self, owner: str, name: str, among: object = None, instead: str = ""
    ) -> None:
        # Without an ``obj`` Python adds no suggestion of its own.
        super().__init__(owner, name, name=name, obj=None)
        self._among = among
        self._instead = instead

    def __str__(self) -> str:
        owner, name = self.args
        if self._among is not None:
            self._instead = _nearest(name, self._among)
            self._among = None
        return f"{owner} has no attribute {name!r}{self._instead}"

    def __reduce__(self) -> tuple[type, tuple[str, str, None, str]]:
        str(self)  # looks up the name to suggest
        owner, name = self.args
        return type(self), (owner, name, None, self._instead)


def suggest_names(module: str, elsewhere: Mapping[str, str] | None = None) -> None:
    """Have a module list its public names, and suggest the nearest of them in errors.

    ``elsewhere`` says for names that it lacks what to use. Set at run time, so that
    type checkers know that the module has no other names.
    """

    def refuse(name: str) -> NoReturn:
        if elsewhere and name in elsewhere:
            use = f"; use {elsewhere[name]}"
            raise UnknownName(f"module {module!r}", name, instead=use)
        raise UnknownName(f"module {module!r}", name, sys.modules[module])

    space = vars(sys.modules[module])
    names = space.setdefault("__all__", public_names(module))
    space.update(__getattr__=refuse, __dir__=lambda: names)


def public_names(module: str, modules: str = "") -> list[str]:
    """Return the names of a module that begin with no underscore.

    Of its modules only those that are listed, as Python adds others: its submodules.
    """
    return sorted(
        name
        for name, value in vars(sys.modules[module]).items()
        if not name.startswith("_")
        and (name in modules.split() or not isinstance(value, ModuleType))
    )


def _nearest(name: str, among: object) -> str:
    """The name of an object's that may have been meant, as the end of a sentence."""
    offered = [attribute for attribute in dir(among) if not attribute.startswith("_")]
    near = get_close_matches(name, offered, 1)
    return f"; did you mean {near[0]!r}?" if near else ""


class DeviceNotFound(GpuArrayError, LookupError):
    """There is no such device."""


class TooLarge(BadValue, OverflowError):
    """A size is over what can be addressed."""


class LibraryMissing(GpuArrayError, ImportError):
    """A vendor's library is missing or lacks a function; see the doctor."""


class KernelError(GpuArrayError, RuntimeError):
    """A kernel does not compile: the message has the first error and its line.

    ``details`` has the compiler's whole log and the whole source, numbered.

    >>> gpuarray.ElementwiseKernel("T x", "T y", "y = no_such(x)")(gpuarray.zeros(3))
    Traceback (most recent call last):
        ...
    gpuarray.errors.KernelError: kernel(float64[3]) on ...
    """

    def __init__(self, details: str = "") -> None:
        super().__init__(_excerpt(details))
        self.details = details


class ContextLost(GpuArrayError, RuntimeError):
    """The context failed earlier; the message has the first cause."""


class ContextClosed(BadValue):
    """The context was closed.

    >>> context = gpuarray.context("null")
    >>> context.close()
    >>> gpuarray.zeros(2, context=context)
    Traceback (most recent call last):
        ...
    gpuarray.errors.ContextClosed: context 'null' is closed; ...
    """


class ForkedContext(GpuArrayError, RuntimeError):
    """The context was opened before a fork; start processes with spawn instead."""


_MOST_LINES = 15
_NUMBERED = r" *(\d+)  "
_PLACES = (  # Clang's and NVRTC's
    r"(\d+):\d+: (?:fatal )?error",
    r"\((\d+)\): (?:catastrophic )?error",
    r"error: .*?:(\d+):\d+:",
)


def _excerpt(details: str) -> str:
    """The head of the compiler's log, its first error, and the source around it."""
    lines = details.rstrip().splitlines()
    if len(lines) <= _MOST_LINES:
        return details.rstrip()
    start = len(lines)
    while start and re.match(_NUMBERED, lines[start - 1]):
        start -= 1
    log, source = lines[:start], lines[start:]
    errors = [i for i, line in enumerate(log) if re.search("error|fatal", line)]
    first = errors[0] if errors else 0
    heads = [line for line in log[:first] if line.endswith(":")][:2]
    matches = (re.search(place, log[first]) for place in _PLACES) if log else ()
    number = next((int(place[1]) for place in matches if place), 0)
    around = [
        line
        for line in source
        if (place := re.match(_NUMBERED, line)) and abs(int(place[1]) - number) <= 2
    ]
    message = [line for line in log[first : min([first + 4, *errors[1:]])] if line]
    rest = f"(KernelError.details has all {len(lines)} lines of the log and the source)"
    return "\n".join([*heads, *message, *around, rest])


class LinAlgError(BadValue, np.linalg.LinAlgError):
    """A matrix is not square, or singular, or not positive definite.

    On a device that factorizes itself such a matrix is reported by the next wait, since
    nothing else waits; results computed from it are undefined.

    >>> gpuarray.linalg.inv(gpuarray.zeros((2, 3)))
    Traceback (most recent call last):
        ...
    gpuarray.errors.LinAlgError: inv: matrices of (2, 3), expected square ones
    """


class FailedAssertion(GpuArrayError, AssertionError):
    """A condition that a saved function asserts does not hold.

    >>> from gpuarray.compiler import function, tensor as T
    >>> x = T.dvector("x")
    >>> f = function([x], T.opt.Assert("x is positive")(x, T.all(x > 0)))
    >>> f.save("checked.plan")
    >>> try:
    ...     gpuarray.load_function("checked.plan")([1.0, -1.0])
    ... except gpuarray.FailedAssertion as error:
    ...     print(error)
    assert: x is positive
    """


class DistributedError(GpuArrayError, RuntimeError):
    """Ranks called different collectives, or one of them has ended, or is late.

    Every rank raises it. ``rank`` is the one that raises, ``operation``, ``number`` and
    ``line`` are those of its call: empty, or 0, where it was in none.

    >>> comm = gpuarray.distributed.init("null", by="none")
    >>> comm.close()
    >>> comm.barrier()
    Traceback (most recent call last):
        ...
    gpuarray.errors.DistributedError: barrier() at ...: the communicator is closed
    """

    rank: int = -1
    number: int | str = 0
    operation: str = ""
    line: str = ""


class HostNotice(UserWarning):
    """A function is computed on the host, since the device's vendor lacks it."""


@contextmanager
def host_errors(operation: str) -> Iterator[None]:
    """Raise what NumPy refuses on the host as errors of this package, of one kind."""
    try:
        yield
    except GpuArrayError:
        raise
    except (ArithmeticError, MemoryError, TypeError, ValueError) as error:
        for kind, own in _OF_NUMPY.items():
            if isinstance(error, kind):
                raise own(f"{operation}: {error}") from None
        raise


def renamed(error: GpuArrayError, called: str, operation: str) -> GpuArrayError:
    """Return the error of the function ``called`` with the name of its caller.

    >>> renamed(BadType("normal: dtype"), "normal", "standard_normal")
    BadType('standard_normal: dtype')
    """
    text = str(error)
    if not text.startswith(f"{called}:"):
        return error
    return type(error)(operation + text.removeprefix(called))


# By the numbers of enum ga_error; a test compares the table with the header.
OF_STATUS: dict[int, type[GpuArrayError]] = {
    1: OutOfMemory,
    2: BadValue,
    3: BackendError,
    4: BadArgument,
    5: Unsupported,
    6: SystemRefusal,
    7: KernelFailure,
    8: Unsupported,
    9: ReadOnly,
    10: BadValue,
    11: BackendError,
    12: BadValue,
    13: NeedsCopy,
    14: DeviceNotFound,
    15: GpuArrayError,
    16: BackendError,
    17: TooLarge,
    18: LibraryMissing,
    19: KernelError,
    20: ContextLost,
    21: ForkedContext,
    22: BadIndex,
    23: LinAlgError,
    24: FailedAssertion,
    25: DeviceLimit,
}


_OF_NUMPY: dict[type[Exception], type[GpuArrayError]] = {
    ZeroDivisionError: DivisionByZero,
    OverflowError: TooLarge,
    MemoryError: OutOfMemory,
    TypeError: BadType,
    ValueError: BadValue,
}
"""The errors for those of NumPy on the host."""


# libgpuarray's names.
GpuArrayException = GpuArrayError
UnsupportedException = Unsupported
