"""The contexts that variables name, those in the bodies of loops, too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.graph.traverse import ancestors
from gpuarray.compiler.ops.scan.scan import Scan
from gpuarray.compiler.ops.variables.transfer import meant_for


def named_contexts(variables: Iterable[Variable]) -> Iterator[str | None]:
    """Return the name of the context of each variable that is on one or meant for it.

    The variables of a loop's body follow the first of its results.
    """
    seen: set[Apply] = set()
    for variable in variables:
        is_meant, name = meant_for(variable)
        if is_meant:
            yield name
        owner = variable.owner
        if owner is not None and isinstance(owner.op, Scan) and owner not in seen:
            seen.add(owner)
            yield from within(owner.op)


def within(loop: Scan) -> Iterator[str | None]:
    """Return the names in the body of a loop."""
    return named_contexts(ancestors(loop.body.outputs))
