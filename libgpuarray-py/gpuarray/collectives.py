"""Collectives: reductions and exchanges among devices, by NCCL on CUDA.

Each rank is a process, or a thread, with a context of its own. One rank makes a
``GpuCommCliqueId`` and sends its bytes to the others, and each makes a ``GpuComm`` of
it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuarray._core.base import BaseArray
from gpuarray._core.context import Context
from gpuarray._core.opening import context as find_context
from gpuarray._native import check, ffi, lib
from gpuarray.array import Array
from gpuarray.errors import BadType, BadValue

__all__ = ["COMM_ID_BYTES", "GpuComm", "GpuCommCliqueId"]


def __dir__() -> list[str]:
    return __all__


COMM_ID_BYTES = 128
"""The length of a clique's id."""

_MARKS = 512  # that are read at once

_OPERATIONS = {
    name: code
    for names, code in (
        (("+", "sum", "add"), 0),
        (("*", "prod", "product", "mul"), 1),
        (("max", "maximum"), 2),
        (("min", "minimum"), 3),
    )
    for name in names
}


def _operation(name: Any) -> int:
    code = _OPERATIONS.get(name.lower()) if isinstance(name, str) else None
    if code is None:
        raise BadValue(
            f"collectives: got the operation {name!r}, expected one of "
            f"{', '.join(_OPERATIONS)}"
        )
    return code


@functools.total_ordering
class GpuCommCliqueId:
    """The id of a clique: 128 bytes by which its ranks find each other.

    A new one is made unless ``comm_id`` has the bytes of another rank's. ``context`` is
    that of the rank. Raises Unsupported where the device has no NCCL.
    """

    __slots__ = ("_bytes", "context")

    def __init__(
        self, context: Context | str | None = None, comm_id: Any = None
    ) -> None:
        self.context = find_context(context)
        self._bytes = b""
        if comm_id is None:
            clique = ffi.new("gpucommCliqueId *")
            check(lib.gpucomm_gen_clique_id(self.context.pointer, clique))
            comm_id = ffi.buffer(clique)[:]
        self.comm_id = comm_id

    @property
    def comm_id(self) -> bytearray:
        """The bytes of the id; may be set from a buffer of at least 128 bytes."""
        return bytearray(self._bytes)

    @comm_id.setter
    def comm_id(self, value: Any) -> None:
        content = bytes(memoryview(value))
        if len(content) < COMM_ID_BYTES:
            raise BadValue(
                f"comm_id: got {len(content)} bytes, expected at least {COMM_ID_BYTES}"
            )
        self._bytes = content[:COMM_ID_BYTES]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GpuCommCliqueId):
            return NotImplemented
        return self._bytes == other._bytes

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, GpuCommCliqueId):
            return NotImplemented
        return self._bytes < other._bytes

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __reduce__(self) -> Any:
        raise BadType("a GpuCommCliqueId cannot be pickled; send bytes(id.comm_id)")


class GpuComm:
    """One rank of a clique. Making it waits until all ``ndev`` ranks have.

    All ranks call the same methods in the same order, with arrays of the same dtypes
    and sizes. The work is queued on the ``context`` of the id and not waited for.
    Operations are "sum", "prod", "max" and "min"; BadValue for any other::

        context = gpuarray.context(f"cuda{rank}")
        clique = GpuCommCliqueId(context, comm_id=received)
        comm = GpuComm(clique, ranks, rank)
        total = comm.all_reduce(gpuarray.ones(3, context=context), "sum")
    """

    __slots__ = ("__weakref__", "_comm", "_marks", "context")

    def __init__(self, cid: GpuCommCliqueId, ndev: int, rank: int) -> None:
        handle = ffi.new("gpucomm **")
        clique = ffi.new("gpucommCliqueId *")
        ffi.buffer(clique)[:] = bytes(cid.comm_id)
        self.context = cid.context
        check(lib.gpucomm_new(handle, self.context.pointer, clique[0], ndev, rank))
        self._comm = ffi.gc(handle[0], lib.gpucomm_free)
        self._marks = ffi.new("unsigned int[]", _MARKS)

    def _number(self, question: Any) -> int:
        answer = ffi.new("int *")
        check(question(self._comm, answer))
        return int(answer[0])

    @property
    def count(self) -> int:
        """The clique's number of ranks."""
        return self._number(lib.gpucomm_get_count)

    @property
    def rank(self) -> int:
        """The number of this rank."""
        return self._number(lib.gpucomm_get_rank)

    def reduce(
        self, src: Array, op: str, dest: Array | None = None, root: int = -1
    ) -> Array | None:
        """Reduce the elements of every rank's ``src``, on the rank ``root``.

        ``root=-1`` is this rank. The result goes to ``dest``; where that is None, to a
        new array that is returned. On other ranks nothing is returned.
        """
        code, receiver = _operation(op), self.rank if root == -1 else root
        if receiver != self.rank:
            check(lib.GpuArray_reduce_from(_of(src), code, receiver, self._comm))
            return None
        out = _like(src) if dest is None else dest
        check(lib.GpuArray_reduce(_of(src), _of(out), code, receiver, self._comm))
        return out if dest is None else None

    def all_reduce(self, src: Array, op: str, dest: Array | None = None) -> Any:
        """Reduce the elements of every rank's ``src``, on every rank."""
        code = _operation(op)
        out = _like(src) if dest is None else dest
        check(lib.GpuArray_all_reduce(_of(src), _of(out), code, self._comm))
        return out if dest is None else None

    def reduce_scatter(self, src: Array, op: str, dest: Array | None = None) -> Any:
        """Reduce the elements of every rank's ``src``; return this rank's part.

        Without ``dest`` the outermost axis of ``src`` (of the largest stride) is
        divided among the ranks, and dropped where its length becomes 1.
        """
        code = _operation(op)
        out = self._part_of(src) if dest is None else dest
        check(lib.GpuArray_reduce_scatter(_of(src), _of(out), code, self._comm))
        return out if dest is None else None

    def broadcast(self, array: Array, root: int = -1) -> None:
        """Copy the elements of rank ``root`` (-1: this one) to everyone's ``array``."""
        sender = self.rank if root == -1 else root
        check(lib.GpuArray_broadcast(_of(array), sender, self._comm))

    def all_gather(self, src: Array, dest: Array | None = None, nd_up: int = 1) -> Any:
        """The elements of every rank's ``src``, in the order of ranks, on every rank.

        Without ``dest`` the result has ``nd_up`` axes more, the outermost of which are
        1 and then the number of ranks; with ``nd_up=0`` the outermost axis of ``src``
        grows.
        """
        out = self._all_of(src, nd_up) if dest is None else dest
        check(lib.GpuArray_all_gather(_of(src), _of(out), self._comm))
        return out if dest is None else None

    def all_to_all(self, src: Array, dest: Array | None = None) -> Any:
        """Send part i of ``src`` to rank i; part i of the result is from rank i."""
        out = _like(src) if dest is None else dest
        check(lib.GpuArray_all_to_all(_of(src), _of(out), self._comm))
        return out if dest is None else None

    def gather(self, src: Array, dest: Array | None, root: int) -> None:
        """Write the elements of every rank's ``src`` to the ``dest`` of rank ``root``.

        Other ranks give None.
        """
        out = ffi.NULL if dest is None else _of(dest)
        check(lib.GpuArray_gather(_of(src), out, root, self._comm))

    def scatter(self, src: Array | None, dest: Array, root: int) -> None:
        """Write part i of the ``src`` of rank ``root`` to rank i's ``dest``.

        Other ranks give None.
        """
        source = ffi.NULL if src is None else _of(src)
        check(lib.GpuArray_scatter(source, _of(dest), root, self._comm))

    def send(self, src: Array, rank: int) -> None:
        """Send the elements of ``src`` to a rank, which receives them."""
        check(lib.GpuArray_send(_of(src), rank, self._comm))

    def receive(self, dest: Array, rank: int) -> None:
        """Receive the elements of ``dest`` from a rank, which sends them."""
        check(lib.GpuArray_receive(_of(dest), rank, self._comm))

    def mark(self, number: int) -> None:
        """Log this number whenever one of the next calls is queued; 0: nothing.

        A call that a plan has recorded is queued by each of its runs.
        """
        check(lib.gpucomm_mark(self._comm, number))

    def logged(self) -> list[int]:
        """Return the numbers that were logged since the latest call, in order."""
        found: list[int] = []
        count = ffi.new("size_t *", 1)
        while count[0]:
            check(lib.gpucomm_log(self._comm, self._marks, _MARKS, count))
            found += ffi.unpack(self._marks, count[0])
        return found

    def progress(self) -> tuple[int, int, int]:
        """Return how many calls were begun, were queued, and are done on the device."""
        numbers = ffi.new("size_t[3]")
        check(
            lib.gpucomm_progress(self._comm, numbers, numbers + 1, numbers + 2),
            "collective",
        )
        begun, queued, done = numbers
        return begun, queued, done

    def check_state(self) -> None:
        """Raise BackendError if work that was queued has failed, or was aborted."""
        check(lib.gpucomm_state(self._comm))

    def abort(self) -> None:
        """End the clique for this rank, when another one will never answer.

        What is queued ends, with results undefined; later calls raise BackendError.
        """
        check(lib.gpucomm_abort(self._comm))

    def _part_of(self, src: Array) -> Array:
        if not src.shape:
            raise BadType("reduce_scatter: a 0-d array cannot be divided among ranks")
        fortran, shape = _is_fortran(src), list(src.shape)
        axis = len(shape) - 1 if fortran else 0
        part, rest = divmod(shape[axis], self.count)
        if rest:
            raise BadType(
                f"reduce_scatter: axis {axis} of shape {src.shape} is not divisible by "
                f"{self.count} ranks"
            )
        shape[axis : axis + 1] = [] if part == 1 else [part]
        return _new(src, shape, fortran)

    def _all_of(self, src: Array, nd_up: int) -> Array:
        if nd_up < 0:
            raise BadValue(f"all_gather: nd_up is {nd_up}, expected 0 or more")
        fortran, shape = _is_fortran(src), list(src.shape)
        if nd_up > 0:
            grown = [1] * (nd_up - 1) + [self.count]
            shape = shape + grown[::-1] if fortran else grown + shape
        elif not shape:
            raise BadType("all_gather: a 0-d array has no axis to grow (nd_up=0)")
        else:
            shape[-1 if fortran else 0] *= self.count
        return _new(src, shape, fortran)


def _of(array: Any) -> Any:
    if not isinstance(array, BaseArray):
        raise BadType(
            f"collectives: got {type(array).__name__}, expected a gpuarray array"
        )
    return array.struct


def _is_fortran(array: BaseArray) -> bool:
    return array.flags.f_contiguous and not array.flags.c_contiguous


def _new(src: Array, shape: Sequence[int], fortran: bool) -> Array:
    order = lib.GA_F_ORDER if fortran else lib.GA_C_ORDER
    dtype: np.dtype[Any] = src.dtype
    return Array.allocate(tuple(shape), dtype, src.context, order)


def _like(src: Array) -> Array:
    _of(src)
    return _new(src, src.shape, _is_fortran(src))
