"""Gradients through branches, computed only if the branch is taken."""

from __future__ import annotations

from collections.abc import Sequence

from gpuarray.compiler.derivatives.node import is_null, pulled_back
from gpuarray.compiler.graph.core import Apply, Variable, traced_as
from gpuarray.compiler.graph.lazy import ALWAYS, Guard, guards, use
from gpuarray.compiler.ops.control.ifelse import IfElse, only_where


class Branches:
    """The conditions of a graph, for the gradients through it.

    Gradients that leave a branch, for a variable outside of it, are zeros unless it is
    taken. So the gradient through a branch is needed under its condition only.
    """

    def __init__(self, order: Sequence[Apply], results: Sequence[Variable]) -> None:
        self._guards = guards(order, results)

    def pulled_back(
        self,
        node: Apply,
        gradients: Sequence[Variable | None],
        wanted: Sequence[bool],
    ) -> list[Variable | None]:
        """Return the gradients of the wanted inputs; None where nothing flows."""
        if isinstance(node.op, IfElse):
            pairs = zip(node.op.through(gradients), wanted, strict=True)
            terms = [term if is_wanted else None for term, is_wanted in pairs]
        else:
            terms = pulled_back(node, gradients, wanted)
        if not self._guards and not isinstance(node.op, IfElse):
            return terms
        guard = self._guards.get(node, ALWAYS)
        with traced_as(node.trace):
            return [
                None
                if term is None
                else self._leaving(term, variable, use(node, index, guard))
                for index, (term, variable) in enumerate(
                    zip(terms, node.inputs, strict=True)
                )
            ]

    def left(self, node: Apply, term: Variable, variable: Variable) -> Variable:
        """Return a node's term for a variable that it reads, outside of its branch."""
        return self._leaving(term, variable, self._guards.get(node, ALWAYS))

    def _leaving(self, term: Variable, variable: Variable, guard: Guard) -> Variable:
        """Return a term outside of the branch; it was computed under ``guard``."""
        if is_null(term):
            return term
        left = guard - self._of(variable)
        for condition, side in sorted(left, key=self._depth, reverse=True):
            term = only_where(condition, side, term, variable)
        return term

    def _of(self, variable: Variable) -> Guard:
        return self._guards.get(variable.owner, ALWAYS) if variable.owner else ALWAYS

    def _depth(self, pair: tuple[Variable, bool]) -> int:
        """Return the number of conditions under which a condition is computed."""
        return len(self._of(pair[0]))
