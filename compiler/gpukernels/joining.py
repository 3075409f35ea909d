"""Join, split, repeat, and checks of shapes."""

from __future__ import annotations

from collections.abc import Sequence

from gpuarray._indexing.advanced_indexing import take_at
from gpuarray._sorting.searching import searchsorted
from gpuarray._ufunc.scanning import cumsum
from gpuarray.array import Array
from gpuarray.compiler import plan
from gpuarray.compiler.errors import GraphValueError, SpecifiedShapeError
from gpuarray.compiler.gpukernels.bodies import Steps, body_of
from gpuarray.compiler.gpukernels.calls import step_function
from gpuarray.compiler.gpukernels.creation import counted
from gpuarray.compiler.gpukernels.registry import Lowerer, lowered_by_call, lowers
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.ops.broadcast.axes import SpecifyShape
from gpuarray.compiler.ops.creation.joining import Join, Split
from gpuarray.compiler.ops.manipulation.repeating import Repeat


@lowers(Join)
def lower_join(op: Join, node: Apply, k: Lowerer) -> None:
    """Lower to one array, in which elementwise steps write the parts they make."""
    ins = tuple(map(k.number, node.inputs))
    outs, params = k.outputs(node), (op.axis,)
    k.add(plan.Routine("join", k.origin(node), outs, ins, "join", params))


@step_function("split")
def split(x: Array, sizes: Sequence[int], *, axis: int) -> tuple[Array, ...]:
    """Return views of the array."""
    if min(sizes) < 0 or sum(sizes) != x.shape[axis]:
        raise GraphValueError(
            f"split: sizes {list(sizes)} for axis {axis} of length {x.shape[axis]}; "
            "expected lengths that sum up to it"
        )
    views, start = [], 0
    for size in sizes:
        views.append(x[(slice(None),) * axis + (slice(start, start + size),)])
        start += size
    return tuple(views)


@body_of("split")
def split_steps(s: Steps, x: int, sizes: Sequence[int], *, axis: int) -> list[int]:
    """Add one view after the other."""
    start = zero = s.integer(0)
    views, conditions = [], []
    for size in sizes:
        conditions.append(s.arithmetic("le", zero, size))
        stop = s.arithmetic("add", start, size)
        form = *((),) * axis, ("start", "stop")
        views.append(s.index(x, form, [start, stop]))
        start = stop
    conditions.append(s.arithmetic("eq", start, s.length(x, axis)))
    text = f"split: sizes that do not sum up to the length of axis {axis}"
    s.require(x, conditions, text)
    return views


@lowers(Split)
def lower_split(op: Split, node: Apply, k: Lowerer) -> None:
    """Lower to views, fixed when the plan is bound: nothing is launched."""
    k.integers(node.inputs[1], op.n_splits)  # reads so many
    k.call(node, "split", node.inputs, {"axis": op.axis})


@step_function("repeat")
def repeat(x: Array, repeats: Array, total: int, *, axis: int) -> Array:
    """Return the elements gathered at repeated positions."""
    if total < 0 or repeats.shape != (x.shape[axis],):
        raise GraphValueError(
            f"repeat: {repeats.size} repeats for axis {axis} of length "
            f"{x.shape[axis]}; expected a number, 0 or more, for each element"
        )
    places = searchsorted(cumsum(repeats), counted(total, "int64"), "right")
    gathered: Array = take_at(x, [places], axis)
    return gathered


@body_of("repeat")
def repeat_steps(s: Steps, x: int, repeats: int, total: int, *, axis: int) -> int:
    """Add a running sum, a search and a gather at the positions."""
    ndim = s.array(x).ndim
    zero = s.integer(0)
    conditions = [
        s.arithmetic("le", zero, total),
        s.arithmetic("eq", s.length(repeats, 0), s.length(x, axis)),
    ]
    text = f"repeat: the repeats do not fit axis {axis}, or one is below 0"
    s.require(x, conditions, text)
    ends = s.routine("scan", [s.cast(repeats, "int64")], "int64", 1, 0, 0, 0)
    numbers = s.routine("arange", [total], "int64", 1)
    places = s.routine("searchsorted", [ends, numbers], "int64", 1, 1)
    view = s.view(x, (*range(ndim),))
    return s.routine("take", [view, places], s.array(x).dtype, ndim, axis)


lowered_by_call(Repeat, "repeat", "axis")


@step_function("specify_shape")
def specify_shape(x: Array, lengths: Sequence[int], *, called: str) -> Array:
    """Return the array itself, with its shape checked."""
    if x.shape != tuple(lengths):
        raise SpecifiedShapeError(
            f"{called}: given shape {x.shape}, expected {tuple(lengths)}"
        )
    view: Array = x[...]
    return view


@body_of("specify_shape")
def specify_shape_steps(
    s: Steps, x: int, lengths: Sequence[int], *, called: str
) -> int:
    """Check the shape; return the array itself."""
    conditions = [
        s.arithmetic("eq", s.length(x, axis), length)
        for axis, length in enumerate(lengths)
    ]
    s.require(x, conditions, f"{called}: the array has another shape")
    return x


lowered_by_call(SpecifyShape, "specify_shape", "called")
