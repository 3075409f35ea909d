"""Indexing ``x[...]`` by NumPy's rules, and functions that set or add to a part."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from types import EllipsisType
from typing import Any

import numpy as np
from gpuarray.compiler.errors import (
    GraphArgumentError,
    GraphIndexError,
    GraphIndexKindError,
    GraphTypeError,
    GraphValueError,
)
from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.ops.broadcast.broadcast import addbroadcast
from gpuarray.compiler.ops.index.advanced import (
    ARRAY,
    MASK,
    AdvancedBooleanSubtensor,
    AdvancedSubtensor,
    AdvancedSubtensor1,
    Layout,
    Picks,
    place_of_arrays,
)
from gpuarray.compiler.ops.shape.shape import DimShuffle, dimshuffle, elements, shape_i
from gpuarray.compiler.ops.slicing.subtensor import (
    FULL,
    Change,
    Entry,
    IncSubtensor,
    Subtensor,
    form_of,
    numbers_of,
    too_many,
)
from gpuarray.compiler.ops.variables.basic import MakeVector, as_tensor_variable

_KINDS = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer "
    "or boolean arrays are valid indices"
)

Plain = None | EllipsisType | slice | Variable
"""An entry of an index: Python's objects, or an array as a variable."""


# ---- parsing an index ----


def index(x: Any, key: Any) -> Variable:
    """Return ``x[key]``: a view for integers and slices, a copy for arrays or masks.

    Integers, parts of slices, arrays of integers and masks may be variables. Raises
    IndexError for what is no index, for more indices than axes, and for a constant out
    of bounds of a known length; others out of bounds raise when the function runs.
    """
    variable = core.as_variable(x, "indexing")
    entries = [as_entry(part) for part in entries_of(key)]
    if any(map(_is_array, entries)):
        return _by_arrays(as_tensor_variable(variable), entries)
    known = _known_part(variable, entries)
    return _by_view(variable, entries) if known is None else known


def entries_of(key: Any) -> Sequence[Any]:
    """Return the parts of an index: a tuple's, or a list's that cannot be an array.

    A list with a slice, an Ellipsis or None in it is read as a tuple, as programs for
    Theano and for older NumPy write it.
    """
    if isinstance(key, tuple):
        return key
    is_index = isinstance(key, list) and any(
        part is None or part is Ellipsis or isinstance(part, slice) for part in key
    )
    return key if is_index else (key,)


def as_entry(entry: Any) -> Plain:
    """Return one part of an index; all but slices and new axes become variables.

    Raises IndexError for what is no index.
    """
    if entry is None or entry is Ellipsis or isinstance(entry, slice):
        return entry
    if isinstance(entry, Apply):
        entry = entry.out
    if not isinstance(entry, Variable):
        entry = _constant_index(entry)
    dtype, ndim = entry.type.dtype, entry.type.ndim
    if dtype[0] not in "iub" or (dtype == "bool" and ndim == 0):
        raise GraphIndexKindError(f"indexing: given {entry} of {entry.type}; {_KINDS}")
    return as_tensor_variable(entry)


def _constant_index(value: Any) -> Variable:
    """An integer, an array, or a list, which may hold variables, as a variable."""
    if isinstance(value, Sequence) and any(isinstance(v, Variable) for v in value):
        return as_tensor_variable(value)
    try:
        if not isinstance(value, bool):  # NumPy's new axis, not the index 0 or 1
            return core.constant(operator.index(value), "int64")
    except TypeError:
        pass
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise GraphIndexError(f"indexing: given {value!r}: {error}") from None
    if array.size == 0 and not isinstance(value, np.ndarray):
        array = array.astype("int64")
    if array.dtype.kind not in "iub":
        raise GraphIndexKindError(
            f"indexing: given {value!r}, a {type(value).__name__}; {_KINDS}"
        )
    return core.constant(array)


def _is_array(entry: Plain) -> bool:
    return isinstance(entry, Variable) and entry.type.ndim > 0


def _axes_of(entry: Plain) -> int:
    """Return the number of the array's axes that an entry indexes."""
    if entry is None or entry is Ellipsis:
        return 0
    is_mask = isinstance(entry, Variable) and entry.type.dtype == "bool"
    return int(entry.type.ndim) if isinstance(entry, Variable) and is_mask else 1


def _expanded(ndim: int, entries: Sequence[Plain]) -> list[Plain]:
    """Return the entries with slices for an Ellipsis or missing entries at the end."""
    gaps = [place for place, entry in enumerate(entries) if entry is Ellipsis]
    if len(gaps) > 1:
        raise GraphIndexError("an index can only have a single ellipsis ('...')")
    n_axes = sum(map(_axes_of, entries))
    if n_axes > ndim:
        raise too_many(ndim, n_axes)
    if not gaps:
        return list(entries)
    rest = [slice(None)] * (ndim - n_axes)
    return [*entries[: gaps[0]], *rest, *entries[gaps[0] + 1 :]]


def _slice_parts(entry: slice) -> list[Variable | None]:
    """Return the parts of a slice as integer scalars. Raises TypeError, ValueError."""
    parts: list[Variable | None] = []
    for part in (entry.start, entry.stop, entry.step):
        if part is None:
            parts.append(None)
            continue
        try:
            scalar = (
                part
                if isinstance(part, Variable)
                else core.constant(operator.index(part), "int64")
            )
        except TypeError:
            scalar = None
        if scalar is None or scalar.type.ndim or scalar.type.dtype[0] not in "iu":
            raise GraphTypeError(
                f"indexing: the slice {entry} has {part!r}; its parts must be "
                "integers, scalar variables of integers, or None"
            )
        parts.append(as_tensor_variable(scalar))
    if isinstance(parts[2], Constant) and parts[2].data == 0:
        raise GraphValueError("indexing: slice step cannot be zero")
    return parts


def _form(entries: Sequence[Plain]) -> tuple[list[Entry], list[Variable]]:
    """Return the form of an index without new axes, and its variables."""
    form: list[Entry] = []
    variables: list[Variable] = []
    for entry in entries:
        if isinstance(entry, slice):
            parts = tuple(_slice_parts(entry))
            form += form_of([parts])[0]
            variables += [part for part in parts if part is not None]
        elif isinstance(entry, Variable):
            kind = MASK if entry.type.dtype == "bool" else ARRAY
            form.append(kind if entry.type.ndim else entry.type.dtype)
            variables.append(entry)
    return form, variables


def _known_part(x: Variable, entries: Sequence[Plain]) -> Variable | None:
    """Return elements at constants of an integer vector made of scalars, as a shape."""
    if x.type.ndim != 1 or x.type.dtype[0] not in "iu" or len(entries) != 1:
        return None
    known = elements(x)
    if known is None or isinstance(x, Constant):
        return None
    (entry,) = entries
    if isinstance(entry, Constant):
        place = int(entry.data)
        if not -len(known) <= place < len(known):
            raise GraphIndexError(
                f"index {place} is out of bounds for axis 0 with size {len(known)}"
            )
        element = known[place]  # a part of another array is no part of this one
        return None if is_part(element) else element
    if not isinstance(entry, slice):
        return None
    numbers = numbers_of(_slice_parts(entry))
    if numbers is None:
        return None
    selected = known[slice(*numbers)]
    if not selected:
        return core.constant(np.zeros(0, x.type.dtype))
    vector: Variable = MakeVector(x.type.dtype)(*selected)
    return vector


def _by_view(x: Variable, entries: Sequence[Plain]) -> Variable:
    """Return the view by integers, slices and new axes."""
    expanded = _expanded(x.type.ndim, entries)
    form, variables = _form(expanded)
    # New axes of a whole array are a dimshuffle; those of a part stay in its index, so
    # that a change finds the array of the part.
    is_whole = None in expanded and all(entry == FULL for entry in form)
    view = x if is_whole and not is_part(x) else Subtensor(form)(x, *variables)
    if None not in expanded:
        return view
    rest = iter(range(view.type.ndim))
    order: list[int | str] = [
        "x" if entry is None else next(rest)
        for entry in expanded
        if entry is None or isinstance(entry, slice)
    ]
    return dimshuffle(view, *order, *rest)


def _by_arrays(x: Variable, entries: Sequence[Plain]) -> Variable:
    """Return the elements at arrays and masks, beside integers, slices and new axes."""
    expanded = _expanded(x.type.ndim, entries)
    form, variables = _form(expanded)
    while form[-1] == FULL:
        form.pop()
    op: Picks
    if MASK in form:
        op = AdvancedBooleanSubtensor(form)
    elif form == [ARRAY] and variables[0].type.ndim == 1:
        op = AdvancedSubtensor1()
    else:
        op = AdvancedSubtensor(form)
    picked: Variable = op(x, *variables)
    if None not in expanded:
        return picked
    return _with_new_axes(picked, Layout(op, x, variables), expanded)


def _with_new_axes(
    picked: Variable, layout: Layout, entries: Sequence[Plain]
) -> Variable:
    """Return the elements of an index without its new axes, with these put in.

    A new axis between arrays parts them, so that their axes come first.
    """
    count = len(layout.array_flags())
    of_arrays = range(layout.place, layout.place + count)
    rest = (axis for axis in range(picked.type.ndim) if axis not in of_arrays)
    is_kept = [entry is None or isinstance(entry, slice) for entry in entries]
    order: list[int | str] = [
        "x" if entry is None else next(rest)
        for entry, keeps in zip(entries, is_kept, strict=True)
        if keeps
    ]
    order += rest
    place = place_of_arrays(is_kept)
    return dimshuffle(picked, *order[:place], *of_arrays, *order[place:])


# ---- setting and adding ----


def set_subtensor(
    x: Variable,
    y: Any,
    inplace: bool = False,
    tolerate_inplace_aliasing: bool = False,
) -> Variable:
    """Return the array of which ``x`` is a part, with that part set to ``y``.

    ``x`` is written as an index: ``new = set_subtensor(a[:2], 0)``; ``a`` stays as it
    is, unless ``inplace``. If an index occurs twice, the last value stays. ``y`` is
    cast to the dtype of ``x``, and broadcasts. Raises TypeError for ``x`` that is no
    index, or ``y`` of too many axes or a dtype that cannot be stored.

    ``inplace`` is for graphs that are written after optimization: functions overwrite
    an array after its last use anyway. ``tolerate_inplace_aliasing`` is accepted so
    that programs of Theano run; ``y`` may always be a part of the array.
    """
    return _changed(x, y, True, inplace)


def inc_subtensor(
    x: Variable,
    y: Any,
    inplace: bool = False,
    set_instead_of_inc: bool = False,
    tolerate_inplace_aliasing: bool = False,
    ignore_duplicates: bool = False,
) -> Variable:
    """Return the array of which ``x`` is a part, with ``y`` added to that part.

    As `set_subtensor`; if an index occurs several times all its values are added, or
    only the last with ``ignore_duplicates``, as ``a[index] += y`` does.
    """
    if ignore_duplicates and not set_instead_of_inc:
        return _changed(x, x + y, True, inplace)
    return _changed(x, y, set_instead_of_inc, inplace)


def is_part(x: Variable) -> bool:
    """True if the variable is an index's result."""
    return x.owner is not None and isinstance(x.owner.op, Subtensor | Picks)


def _changed(x: Any, y: Any, is_set: bool, inplace: bool) -> Variable:
    name = "set_subtensor" if is_set else "inc_subtensor"
    owner = x.owner if isinstance(x, Variable) else None
    op = None if owner is None else owner.op
    values = as_tensor_variable(y)
    if owner is not None and isinstance(op, DimShuffle):
        (inner,) = owner.inputs
        if not is_part(inner):
            inner = Subtensor(())(inner)  # new axes of a whole array
        return _changed(inner, _moved_back(name, x, op, values), is_set, inplace)
    array, *index = [x] if owner is None else owner.inputs
    if isinstance(op, Subtensor):
        changer: Change = IncSubtensor(op.idx_list, inplace, is_set)
    elif isinstance(op, Picks):
        changer = op.changer(is_set, inplace)
    else:
        raise GraphTypeError(
            f"{name}: given {x}, expected a part of an array, written as an index: "
            f"{name}(a[:2], values)"
        )
    changed: Variable = changer(array, values, *index)
    return changed


def _moved_back(name: str, x: Variable, op: DimShuffle, y: Variable) -> Variable:
    """Return values for a part whose axes were moved, with the axes moved back."""
    ndim = x.type.ndim
    if y.type.ndim > ndim:
        raise GraphArgumentError(
            f"{name}: given values of {y.type.ndim} axes for a part of {ndim} axes"
        )
    y = dimshuffle(y, *("x",) * (ndim - y.type.ndim), *range(y.type.ndim))
    new = [axis for axis, old in enumerate(op.new_order) if old == "x"]
    y = addbroadcast(y, *new) if new else y
    return dimshuffle(
        y,
        *(
            op.new_order.index(axis) if axis in op.new_order else "x"
            for axis in range(len(op.input_broadcastable))
        ),
    )


def known_length(x: Variable) -> int | None:
    """Return the length of the first axis, if known. Raises TypeError."""
    if x.type.ndim == 0:
        raise GraphTypeError(f"len: {x} is a scalar")
    if x.type.broadcastable[0]:
        return 1
    known = elements(x) if x.type.ndim == 1 else None
    if known is not None:
        return len(known)
    length = shape_i(x, 0)
    return int(length.data) if isinstance(length, Constant) else None


def elements_of(x: Variable) -> Iterator[Variable]:
    """Return ``x[0], x[1], ...`` of a variable whose first length is known."""
    if x.type.ndim == 0:
        raise GraphTypeError(f"iteration: {x} is a scalar")
    known = elements(x) if x.type.ndim == 1 else None
    if known is not None:
        return iter(known)
    length = known_length(x)
    if length is None:
        raise GraphTypeError(
            f"iteration: the length of {x} is not known before the program runs; "
            f"take elements by their index, such as {x}[0], or fold with T.sum, T.max "
            "and their kin"
        )
    return (index(x, place) for place in range(length))


def sparse_grad(var: Variable) -> Variable:
    """Return rows taken by a vector of integers, ``W[i]``, as they are.

    For programs of Theano, where the gradient of a marked ``W[i]`` by ``W`` was a
    sparse matrix. Here it is an array in any case, and an update ``W - c * gradient``
    changes the rows that were taken alone. Raises TypeError for anything else.
    """
    node = getattr(var, "owner", None)
    if node is None or not isinstance(node.op, AdvancedSubtensor1):
        raise GraphTypeError(
            f"sparse_grad: given {var}, expected rows of an array by a vector of "
            "integers: sparse_grad(W[i])"
        )
    return var
