"""Lengths of computed arrays, in terms of those of a graph's leaves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpuarray.compiler.graph.core import Apply, Constant, Variable, constant
from gpuarray.compiler.graph.traverse import toposort
from gpuarray.compiler.living import Living
from gpuarray.compiler.ops.shape.shape import Shape_i, shape_i
from gpuarray.dtypes import kind_of

Lengths = tuple[Variable, ...]

# Those that the graph's leaves tell: what may be behind an array does not change them.
_TOLD: Living[Variable, Lengths] = Living()


def settled(length: Any) -> Variable:
    """A length, said by those of leaves where it is one of a computed array."""
    asked = _as_variable(length)
    if asked.owner is None or not isinstance(asked.owner.op, Shape_i):
        return asked
    return lengths_of(asked.owner.inputs[0])[asked.owner.op.i]


def lengths_of(x: Variable) -> Lengths:
    """The length of each axis; that of an op which does not tell is asked of its array.

    Each array behind ``x`` is asked once, however many ways lead to it.
    """
    found: dict[Variable, Lengths] = {}
    for node in toposort([x], blockers=_TOLD):
        found |= told_of(node, found)
        for output in node.outputs:
            if output in found and all(map(is_free, found[output])):
                _TOLD[output] = found[output]
    return _known(x, found) or ()


def told_of(node: Apply, found: Mapping[Variable, Lengths]) -> dict[Variable, Lengths]:
    """The lengths of a node's results, by those that were found of its inputs."""
    given = [_known(variable, found) for variable in node.inputs]
    said = node.op.output_shapes(node, given)
    return {
        output: _complete(output, lengths)
        for output, lengths in zip(node.outputs, said, strict=True)
        if hasattr(output.type, "ndim")
    }


def _known(x: Variable, found: Mapping[Variable, Lengths]) -> Lengths | None:
    """The lengths of a leaf, or of what was asked before; None for what has no axes."""
    if x in found:
        return found[x]
    if x.owner is not None and x in _TOLD:
        return _TOLD[x]
    return own_lengths(x)


def own_lengths(x: Variable) -> Lengths | None:
    """The lengths asked of an array itself; None for what has no axes."""
    ndim = getattr(x.type, "ndim", None)
    return None if ndim is None else tuple(shape_i(x, axis) for axis in range(ndim))


def _complete(x: Variable, lengths: Any) -> Lengths:
    """Return the lengths that an op infers, and those of the result for the rest."""
    said = (None,) * x.type.ndim if lengths is None else lengths
    flags = x.type.broadcastable
    return tuple(
        shape_i(x, axis) if length is None or flag else _as_variable(length)
        for axis, (length, flag) in enumerate(zip(said, flags, strict=True))
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
    """Return the numbers that a number is made of, itself first, down to lengths."""
    stack, seen = [length], set[Variable]()
    while stack:
        each = stack.pop()
        if each in seen:
            continue
        seen.add(each)
        yield each
        if each.owner is not None and not isinstance(each.owner.op, Shape_i):
            stack += each.owner.inputs
