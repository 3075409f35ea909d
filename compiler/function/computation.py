"""The expressions of a function: outputs and next values, with givens replaced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from gpuarray.compiler.function.givens import Replacements, check_computable, replaced
from gpuarray.compiler.function.interface import In, Unused, Wanted, check_used
from gpuarray.compiler.function.updates import default_updates, update_value
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.graph.traverse import ancestors, inputs_of
from gpuarray.compiler.ops.custom.fromgraph import inlined
from gpuarray.compiler.shared import SharedVariable

Final = Callable[[Sequence[Variable]], list[Variable]]
"""Replaces givens in expressions and inlines the graphs of ops."""


@dataclass(frozen=True, eq=False)
class Computation:
    """The expressions of a function: outputs, then the next values of what it updates.

    These are first the next values of the shared variables ``updated``, then those of
    the inputs whose indices are in ``carried``.
    """

    inputs: list[In]
    outputs: Wanted
    expressions: list[Variable]
    updated: list[SharedVariable]
    carried: list[int]
    final: Final

    @property
    def variables(self) -> list[Variable]:
        """The variables of the inputs."""
        return [spec.variable for spec in self.inputs]

    @property
    def n_outputs(self) -> int:
        """The number of outputs; the expressions after them are next values."""
        return len(self.outputs.variables)

    @property
    def become(self) -> dict[int, Variable]:
        """The variable that each next value updates, by the value's index."""
        carried = (self.inputs[i].variable for i in self.carried)
        return dict(enumerate([*self.updated, *carried], self.n_outputs))

    @property
    def stay(self) -> frozenset[int]:
        """The indices of the expressions that stay on the context."""
        next_values = range(self.n_outputs, len(self.expressions))
        return frozenset({*self.outputs.on_device, *next_values})

    @cached_property
    def computed(self) -> list[Variable]:
        """The variables that the expressions are computed from, and they themselves."""
        return list(ancestors(self.expressions))

    @cached_property
    def shared(self) -> list[SharedVariable]:
        """The shared variables whose values the plan takes."""
        read = [v for v in inputs_of(self.expressions) if isinstance(v, SharedVariable)]
        if any(v.owner is not None and v.owner.op.reports for v in self.computed):
            read += [v for v in self.updated if v not in read]  # their old values
        return read

    def check(self, on_unused_input: Unused) -> None:
        """Raise TypeError or ValueError for what cannot be compiled."""
        for index, variable in self.become.items():  # givens may have changed the type
            update_value(variable, self.expressions[index])
        needed = (spec for spec in self.inputs if spec.update is None)
        check_used(needed, self.expressions, on_unused_input, self.final)
        check_computable([*self.computed, *self.variables])


def computation_of(
    inputs: list[In],
    outputs: Wanted,
    updates: Sequence[tuple[SharedVariable, Variable]],
    known: Replacements,
    no_default_updates: bool | Sequence[SharedVariable],
) -> Computation:
    """Return the expressions of a function, with givens and default updates."""

    def final(expressions: Sequence[Variable]) -> list[Variable]:
        return inlined(replaced(expressions, known))

    carried = [i for i, spec in enumerate(inputs) if spec.update is not None]
    next_inputs = [update_value(inputs[i].variable, inputs[i].update) for i in carried]
    next_shared = [value for _, value in updates]
    expressions = final([*outputs.variables, *next_shared, *next_inputs])
    updated = [variable for variable, _ in updates]
    defaults = default_updates(expressions, updated, no_default_updates, final)
    split = len(expressions) - len(carried)
    expressions[split:split] = [value for _, value in defaults]
    updated += [variable for variable, _ in defaults]
    return Computation(inputs, outputs, expressions, updated, carried, final)
