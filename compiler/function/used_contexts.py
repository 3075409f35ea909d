"""The contexts that a function uses, and the program's names for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpuarray._core.context import Context
from gpuarray.compiler.contexts import get_context
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.graph.traverse import ancestors, inputs_of, toposort
from gpuarray.compiler.ops.scan.named_contexts import named_contexts
from gpuarray.compiler.ops.variables.context_assignment import places_of
from gpuarray.compiler.ops.variables.transfer import GpuFromHost


class UsedContexts:
    """The contexts of a function, with the names that the program has for them.

    Its own ``context`` is the default one if a variable is assigned to that, else the
    first; ``home`` is its name in the placed graph. ``names`` maps each name of the
    program to one name per context, not None if another one is there; it is None where
    there is only one context. ``contexts`` has those that the program names, and the
    default one if it is used.
    """

    def __init__(self, names: Sequence[str | None], shown: str | None) -> None:
        opened = {name: get_context(name) for name in names or [None]}
        default = opened.get(None)
        self.contexts = opened
        self.context: Context = default or next(iter(opened.values()))
        self.home = shown
        self.names: dict[str | None, str | None] | None = None
        if len({*opened.values()}) > 1:
            first: dict[Context, str | None] = {}
            for name in sorted(opened, key=lambda name: name is None):
                first.setdefault(opened[name], name)
            self.home = first[self.context]
            self.names = {name: first[context] for name, context in opened.items()}


def context_names(
    variables: Iterable[Variable], expressions: Sequence[Variable]
) -> list[str | None]:
    """Return the names of contexts that variables are on or assigned to, each once.

    None, the default one, is among them if an operation of the expressions has no
    context: neither its inputs nor the readers of its results have one.
    """
    names = list(dict.fromkeys(named_contexts(variables)))
    if names and None not in names and has_free_operations(expressions):
        names.append(None)
    return names


def has_free_operations(expressions: Sequence[Variable]) -> bool:
    """Return True if an operation on arrays has no context."""
    nodes = toposort(expressions)
    places = places_of(inputs_of(expressions), nodes)
    return any(
        not node.op.gives_lengths and node.outputs[0] not in places for node in nodes
    )


def context_name(outputs: Sequence[Variable]) -> str | None:
    """Return the context's name in the placed graph: the program's, if it has one."""
    names = {
        v.owner.op.context_name
        for v in ancestors(outputs)
        if v.owner is not None and isinstance(v.owner.op, GpuFromHost)
    }
    return min((n for n in names if n is not None), default=None)
