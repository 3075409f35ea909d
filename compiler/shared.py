"""Shared variables: values on the host or a context, which functions may update."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from threading import Lock, RLock
from types import SimpleNamespace
from typing import Any

import numpy as np
from gpuarray import Array, asarray
from gpuarray._kernels.argument_conversion import has_dtype
from gpuarray.compiler.errors import CompilerError, GraphTypeError, GraphValueError
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.graph.types import TensorType, dtype_name, generic
from gpuarray.compiler.ops.shape.shape import shape_i
from gpuarray.compiler.ops.sparse.types import (
    FORMATS,
    PARTS,
    SparseType,
    SparseVariable,
    is_sparse_value,
    parts_of_value,
)
from gpuarray.compiler.ops.sparse.values import assembled, canonical_value

Value = Any  # np.ndarray | Array
Turn = Any  # threading.RLock, which is no type

_GIVING_TURNS = Lock()


def give_turn(containers: Sequence[Container]) -> None:
    """Give the containers that a function updates one lock for all calls."""
    with _GIVING_TURNS:
        turn = None
        for container in containers:
            if container.turn is None:
                turn = container.turn = turn or RLock()


@contextmanager
def turns(containers: Iterable[Container]) -> Iterator[None]:
    """Hold the locks of all these, in an order that everybody takes them in."""
    locks = {
        id(container.turn): container.turn
        for container in containers
        if container.turn is not None
    }
    with ExitStack() as stack:
        for _, turn in sorted(locks.items()):
            stack.enter_context(turn)
        yield


class Container:
    """The cell that holds the value of a shared variable.

    ``value`` is a NumPy array, or an `Array` once it was needed on a context, where it
    then stays. ``context_name`` names the context that functions are to move it to:
    ``"cpu"`` for none, None for the default one. A pickle has a NumPy array wherever
    the value is, so that it loads where that context is not.

    Readers and writers of the value hold its lock ``turn``, if functions update it.
    """

    __slots__ = ("context_name", "turn", "value")

    def __init__(self, value: Value, context_name: str | None = None) -> None:
        self.value = value
        self.context_name = context_name
        self.turn: Turn | None = None

    def device_value(self, context: Any) -> Array:
        """Return the value on ``context``; moved there once, and kept there."""
        if not isinstance(self.value, Array) or self.value.context is not context:
            self.value = asarray(self.host_value(), context=context)
        return self.value

    def host_value(self) -> np.ndarray[Any, Any]:
        """Return the value as a NumPy array; a copy if it is on a device."""
        if isinstance(self.value, np.ndarray):
            return self.value
        return np.asarray(self.value)

    def __reduce__(self) -> tuple[type[Container], tuple[Any, str | None]]:
        return Container, (self.host_value(), self.context_name)


class SharedVariable(Variable):
    """A variable whose value outlives the calls of the functions that use it.

    ``default_update`` is an expression that becomes its value after each call of a
    function that reads it and has no other update of it. If ``strict``, it takes values
    of its own dtype only; ``allow_downcast`` says whether they may lose digits.
    """

    default_update: Any = None
    """The default until one is set, and again where it is deleted."""

    def __init__(
        self,
        type: Any,
        name: str | None,
        container: Container,
        strict: bool = False,
        allow_downcast: bool | None = None,
    ) -> None:
        super().__init__(type, name=name)
        self.container = container
        self.strict = strict
        self.allow_downcast = allow_downcast

    def get_value(
        self, borrow: bool = False, return_internal_type: bool = False
    ) -> Any:
        """Return the value as a NumPy array that is the caller's own.

        With ``borrow`` it may be the variable's own memory, which must not be written.
        With ``return_internal_type`` a value that is on a context is returned as the
        `Array` it is.
        """
        with turns([self.container]):
            value = self.container.value
            if isinstance(value, Array):
                if return_internal_type:
                    return value if borrow else value.copy()
                return self.container.host_value()
            return value if borrow else value.copy()

    def set_value(self, new_value: Any, borrow: bool = False) -> None:
        """Set the value to another, of the same dtype and number of axes.

        With ``borrow`` the variable may keep ``new_value`` itself. Raises TypeError for
        a value of another type.
        """
        if isinstance(new_value, Array):
            self._check_device_value(new_value)
            self._become(new_value if borrow else new_value.copy())
            return
        if self.strict and not has_dtype(new_value, self.type.numpy_dtype):
            raise GraphTypeError(
                f"set_value: {self} is strict: given a {type(new_value).__name__}, "
                f"expected an array of {self.type.dtype}"
            )
        try:
            array = self.type.filter(new_value, allow_downcast=self.allow_downcast)
        except CompilerError as error:
            raise type(error)(f"set_value: {self}: {error}") from None
        is_own = borrow or array is not new_value
        self._become(array if is_own else array.copy())

    def _become(self, value: Value) -> None:
        with turns([self.container]):
            self.container.value = value

    def _check_device_value(self, value: Array) -> None:
        kind = self.type
        is_fit = (
            value.dtype == kind.numpy_dtype
            and value.ndim == kind.ndim
            and all(
                length == 1 or not flag
                for length, flag in zip(value.shape, kind.broadcastable, strict=True)
            )
        )
        if not is_fit:
            raise GraphTypeError(
                f"set_value: given an array of {value.dtype}, shape "
                f"{tuple(value.shape)}, expected {kind}"
            )

    def zero(self, borrow: bool = False) -> None:
        """Set every element to 0; the shape stays."""
        value = self.container.value
        self._become(np.zeros(tuple(value.shape), self.type.numpy_dtype))

    def clone(self, name: str | None = None) -> SharedVariable:
        """Return a variable over the same container."""
        copy = type(self)(
            self.type,
            self.name if name is None else name,
            self.container,
            self.strict,
            self.allow_downcast,
        )
        copy.tag = SimpleNamespace(**vars(self.tag))
        return copy


class SharedObject(SharedVariable):
    """A shared variable with a Python object, which no function reads."""

    def get_value(
        self, borrow: bool = False, return_internal_type: bool = False
    ) -> Any:
        """Return a copy of the object; itself with ``borrow``."""
        value = self.container.value
        return value if borrow else deepcopy(value)

    def set_value(self, new_value: Any, borrow: bool = False) -> None:
        """Store a copy of an object; itself with ``borrow``."""
        self.container.value = new_value if borrow else deepcopy(new_value)

    def zero(self, borrow: bool = False) -> None:
        """Raise TypeError: objects have no elements."""
        raise GraphTypeError(f"zero: {self} is {self.type}, expected an array")


class SparseSharedVariable(SparseVariable, SharedVariable):
    """A shared variable with a sparse matrix, kept as its arrays.

    Its values are canonical: indices in order, and none twice in a row.
    """

    def __init__(
        self,
        type: SparseType,
        name: str | None,
        stored: Sequence[SharedVariable],
        strict: bool = False,
        allow_downcast: bool | None = None,
    ) -> None:
        self.stored = tuple(stored)
        container = stored[0].container
        super().__init__(type, name, container, strict, allow_downcast)
        for variable in stored[1:3]:
            variable.tag.is_canonical = True
        stored[3].tag.is_extent = True

    @property
    def parts(self) -> Sequence[Variable]:
        """The shared variables of its arrays, and its other length.

        That is the length of the last one, which the host knows without waiting.
        """
        *arrays, extent = self.stored
        return [*arrays, shape_i(extent, 0)]

    def get_value(
        self, borrow: bool = False, return_internal_type: bool = False
    ) -> Any:
        """Return the matrix, of scipy; with ``return_internal_type`` of the device.

        That is a `gpuarray.sparse.csr_array` (or csc_array) where the arrays are on a
        context.
        """
        arrays = [v.get_value(borrow, return_internal_type) for v in self.stored]
        return assembled(self.type.format, arrays)

    def set_value(self, new_value: Any, borrow: bool = False) -> None:
        """Set the value to another matrix, of the same dtype and any shape.

        Raises TypeError for another dtype, or what is no sparse matrix.
        """
        try:
            value = self.type.filter(new_value, self.strict, self.allow_downcast)
        except CompilerError as error:
            raise type(error)(f"set_value: {self}: {error}") from None
        *arrays, minor = parts_of_value(canonical_value(value))
        for variable, array in zip(self.stored, arrays, strict=False):
            variable.set_value(array, borrow=borrow and value is new_value)
        self.stored[3].set_value(np.zeros(minor, "int8"), borrow=True)

    def zero(self, borrow: bool = False) -> None:
        """Set every stored value to 0; the places stay."""
        self.stored[0].zero(borrow)

    def clone(self, name: str | None = None) -> SparseSharedVariable:
        """Return a variable over the same containers."""
        named = self.name if name is None else name
        options = (self.strict, self.allow_downcast)
        copy = SparseSharedVariable(self.type, named, self.stored, *options)
        copy.tag = SimpleNamespace(**vars(self.tag))
        return copy


def shared_matrix(
    value: Any,
    name: str | None,
    strict: bool,
    allow_downcast: bool | None,
    borrow: bool,
    target: str | None,
) -> SparseSharedVariable:
    """Return a shared variable of a sparse matrix."""
    matrix = value if value.format in FORMATS else value.tocsr()
    kind = SparseType(matrix.format, matrix.dtype)
    *kinds, _ = kind.part_types
    stored = [
        SharedVariable(
            part, f"{name}.{what}" if name else None, Container(None, target)
        )
        for part, what in zip(
            (*kinds, TensorType("int8", (False,))), PARTS, strict=True
        )
    ]
    variable = SparseSharedVariable(kind, name, stored, strict, allow_downcast)
    variable.set_value(matrix, borrow=borrow or matrix is not value)
    return variable


def is_object(value: Any, array: Any) -> bool:
    """Return True if a value, converted to ``array``, is no array, number or list."""
    if isinstance(value, (np.ndarray, np.generic, list, tuple)):
        return False
    return array.dtype.kind in "OUS"


def shared(
    value: Any,
    name: str | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    *,
    borrow: bool = False,
    broadcastable: tuple[bool, ...] | None = None,
    target: str | None = None,
) -> SharedVariable:
    """Return a shared variable of the value: a number, NumPy array or `Array`.

    Its type has the value's dtype and number of axes, none of which broadcasts unless
    ``broadcastable`` says so. If ``strict``, later values must have its dtype;
    ``allow_downcast`` lets them lose digits. The value is copied unless ``borrow``.
    Functions move it to the context ``target`` when they first need it there: None is
    the default context, ``"cpu"`` keeps it on the host.

    For a sparse matrix, of scipy.sparse or gpuarray.sparse, it is a sparse variable.
    For any other object, such as a text or a dict, it is a variable of the type
    `Generic`, which no function computes with.
    """
    if isinstance(value, Variable):
        raise GraphTypeError(
            f"shared: given the variable {value}, expected a value: a number or an "
            "array"
        )
    if is_sparse_value(value):
        if broadcastable is not None:
            raise GraphValueError("shared: a sparse matrix has no broadcastable axes")
        return shared_matrix(value, name, strict, allow_downcast, borrow, target)
    try:
        array = value if isinstance(value, Array) else np.asarray(value)
    except ValueError as error:
        raise GraphValueError(
            f"shared: given {value!r:.60}, expected a number or an array: {error}"
        ) from None
    if is_object(value, array) and broadcastable is None and target is None:
        holder = SharedObject(generic, name, Container(None, "cpu"))
        holder.set_value(value, borrow)
        return holder
    try:
        dtype = dtype_name(array.dtype)
    except CompilerError as error:
        raise GraphTypeError(
            f"shared: given {value!r}, a {type(value).__name__}; expected a number or "
            f"an array of numbers: {error}"
        ) from error
    pattern = (False,) * array.ndim if broadcastable is None else broadcastable
    if len(pattern) != array.ndim:
        raise GraphValueError(
            f"shared: broadcastable={pattern} for a value of {array.ndim} axes"
        )
    variable = SharedVariable(
        TensorType(dtype, pattern),
        name,
        Container(None, target),
        strict,
        allow_downcast,
    )
    variable.set_value(array, borrow=borrow or array is not value)
    return variable
