"""Shape inference: lengths of computed arrays in terms of a graph's leaves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpuarray.compiler.graph.core import Apply, Constant, Variable, constant
from gpuarray.compiler.graph.traverse import ancestors_until, toposort
from gpuarray.compiler.living import Living
from gpuarray.compiler.ops.shape.shape import Shape_i, shape_i
from gpuarray.dtypes import kind_of

Lengths = tuple[Variable, ...]

# Lengths known from the leaves, which later changes behind an array do not affect.
_TOLD: Living[Variable, Lengths] = Living()


def settled(length: Any) -> Variable:
    """Return a length in terms of leaves' lengths, if it is a computed array's."""
    variable = _as_variable(length)
    if variable.owner is None or not isinstance(variable.owner.op, Shape_i):
        return variable
    return lengths_of(variable.owner.inputs[0])[variable.owner.op.i]


def lengths_of(x: Variable) -> Lengths:
    """Return the length of each axis; where an op does not infer it, `shape_i`.

    Each array behind ``x`` is visited once, however many paths lead to it.
    """
    known: dict[Variable, Lengths] = {}
    for node in toposort([x], blockers=_TOLD):
        known |= told_of(node, known)
        for output in node.outputs:
            if output in known and all(map(is_free, known[output])):
                _TOLD[output] = known[output]
    return _known(x, known) or ()


def told_of(node: Apply, known: Mapping[Variable, Lengths]) -> dict[Variable, Lengths]:
    """Return the lengths of a node's results, given those of its inputs."""
    input_lengths = [_known(variable, known) for variable in node.inputs]
    output_lengths = node.op.output_shapes(node, input_lengths)
    return {
        output: _complete(output, lengths)
        for output, lengths in zip(node.outputs, output_lengths, strict=True)
        if hasattr(output.type, "ndim")
    }


def _known(
    x: Variable, lengths_of_inputs: Mapping[Variable, Lengths]
) -> Lengths | None:
    """Return the lengths of a leaf, or those found before; None without axes."""
    if x in lengths_of_inputs:
        return lengths_of_inputs[x]
    if x.owner is not None and x in _TOLD:
        return _TOLD[x]
    return own_lengths(x)


def own_lengths(x: Variable) -> Lengths | None:
    """Return `shape_i` of each axis of an array; None without axes."""
    ndim = getattr(x.type, "ndim", None)
    return None if ndim is None else tuple(shape_i(x, axis) for axis in range(ndim))


def _complete(x: Variable, lengths: Any) -> Lengths:
    """The lengths that an op infers, and `shape_i` of the result for the rest."""
    inferred = (None,) * x.type.ndim if lengths is None else lengths
    flags = x.type.broadcastable
    return tuple(
        shape_i(x, axis) if length is None or flag else _as_variable(length)
        for axis, (length, flag) in enumerate(zip(inferred, flags, strict=True))
    )


def _as_variable(length: Any) -> Variable:
    return length if isinstance(length, Variable) else constant(length, "int64")


def is_free(length: Variable) -> bool:
    """True if a number is known from leaves' lengths and integers without computing."""
    return all(map(_is_free_part, parts_of(length)))


def _is_free_part(part: Variable) -> bool:
    if isinstance(part, Constant):
        return True
    if part.type.ndim != 0 or kind_of(part.type.numpy_dtype) not in "biu":
        return False
    if part.owner is None or not isinstance(part.owner.op, Shape_i):
        return True
    return part.owner.inputs[0].owner is None


def parts_of(length: Variable) -> Iterator[Variable]:
    """Return the numbers that a number is computed from, down to lengths."""
    return ancestors_until([length], _is_length)


def _is_length(number: Variable) -> bool:
    return number.owner is not None and isinstance(number.owner.op, Shape_i)
