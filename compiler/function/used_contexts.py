"""The contexts that a function uses, and the names that a program has for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpuarray._core.context import Context
from gpuarray.compiler.contexts import get_context
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.graph.traverse import ancestors
from gpuarray.compiler.ops.variables.transfer import GpuFromHost, meant_for


class UsedContexts:
    """The contexts of a function: its own, which names mean it, and the others' names.

    Its own is the default one where a variable is meant for that, else that of the
    first. ``home`` is what the placed graph calls it. ``names`` maps each name of the
    program to one for each context; None where there is only one context. ``contexts``
    has those that the program names, and the default one if it is used.
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
            for name, each in opened.items():
                first.setdefault(each, name)
            self.home = first[self.context]
            self.names = {name: first[each] for name, each in opened.items()}


def context_names(variables: Iterable[Variable]) -> list[str | None]:
    """The names of the contexts that variables live on or are meant for, each once."""
    meant = (meant_for(variable) for variable in variables)
    return list(dict.fromkeys(name for is_meant, name in meant if is_meant))


def context_name(outputs: Sequence[Variable]) -> str | None:
    """The name that the placed graph shows: the one that the program uses, if any."""
    names = {
        v.owner.op.context_name
        for v in ancestors(outputs)
        if v.owner is not None and isinstance(v.owner.op, GpuFromHost)
    }
    return min((n for n in names if n is not None), default=None)
