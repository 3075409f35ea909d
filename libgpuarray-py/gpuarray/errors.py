"""One exception class per status; each is also a builtin of the same kind."""

from __future__ import annotations

import numpy as np


class GpuArrayError(Exception):
    """The base of every error of this package."""


class OutOfMemory(GpuArrayError, MemoryError):
    """The device or the host has no memory for what was asked."""


class BadValue(GpuArrayError, ValueError):
    """A value or a shape does not fit."""


class BadIndex(BadValue, IndexError):
    """An index is out of range or not of a kind that is offered."""


class BadType(GpuArrayError, TypeError):
    """A dtype, or the kind of an argument, does not fit."""


class BadArgument(BadType, BadValue):
    """An argument of the wrong kind: a dtype, a context or a name."""


class Unsupported(GpuArrayError, NotImplementedError):
    """What was asked is not offered for these arguments or on this device."""


class BackendError(GpuArrayError, RuntimeError):
    """A vendor's function failed; the text has its name."""


class SystemRefusal(GpuArrayError, OSError):
    """The operating system refused."""


class KernelFailure(GpuArrayError, RuntimeError):
    """A kernel failed while it ran."""


class ReadOnly(BadValue):
    """The array must not be written."""


class NeedsCopy(BadValue):
    """A copy would be needed, and none was allowed."""


class BadExchange(GpuArrayError, BufferError):
    """A tensor of DLPack cannot be given or taken as asked."""


class Unshared(BadType, AttributeError):
    """The array has no such handle for another library: it is on another vendor's."""


class DeviceNotFound(GpuArrayError, LookupError):
    """There is no such device."""


class TooLarge(BadValue, OverflowError):
    """A size is over what can be addressed."""


class LibraryMissing(GpuArrayError, ImportError):
    """A vendor's library is missing or lacks a function; see the doctor."""


class KernelError(GpuArrayError, RuntimeError):
    """A kernel does not compile; the text has the compiler's log and the source."""


class ContextLost(GpuArrayError, RuntimeError):
    """The context failed earlier; the text has the first cause."""


class ContextClosed(BadValue):
    """The context was closed."""


class ForkedContext(GpuArrayError, RuntimeError):
    """The context was opened before a fork; start processes with spawn instead."""


class LinAlgError(BadValue, np.linalg.LinAlgError):
    """No square matrix, or one that lacks what was asked: an inverse, a factor.

    On a device that factorizes itself a matrix without it is told of by the next wait,
    since nothing else waits; what was computed from it is undefined.
    """


class HostNotice(UserWarning):
    """A function is computed on the host, since the device's vendor lacks it."""


# By the numbers of enum ga_error; a test holds the table against the header.
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
}
