"""Hash consing: equal nodes and equal constants become one, by an Interner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gpuarray.compiler.graph.core import Apply, Constant, Op, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.traverse import toposort
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.scalars import Scalar

_HASHED_BYTES = 4096


def merge_constants(fgraph: FunctionGraph) -> None:
    """Merge equal constants, which makes nodes that read them equal, too."""
    interner = Interner(fgraph)
    for constant in [v for v in fgraph.clients if isinstance(v, Constant)]:
        fgraph.replace(
            constant, interner.constant(constant), reason="merge_equal_constants"
        )


class Interner:
    """One node for equal ops on the same inputs, one constant for equal ones."""

    def __init__(self, fgraph: FunctionGraph) -> None:
        self.fgraph = fgraph
        self.nodes: dict[Any, Apply] = {}
        self.constants: dict[Any, Constant] = {}
        self.numbers: dict[Op, int] = {}
        self.numbered: dict[int, tuple[Op, tuple[int, bool]]] = {}
        self.became: dict[Any, tuple[list[Variable], list[Variable]]] = {}
        """Replacements by local rules, by the key of the node, with its inputs.

        The inputs are held so that no other object gets their ids.
        """
        self.moved: dict[Variable, Variable] = {}
        """The replacement of each variable."""

    def key(self, node: Apply, inputs: Sequence[Variable]) -> Any:
        """Return a key that two nodes share if and only if they compute the same."""
        number, commutes = self.meaning(node.op)
        if commutes and len(inputs) == 2:
            return number, *sorted(map(id, inputs))
        return number, *map(id, inputs)

    def meaning(self, op: Op) -> tuple[int, bool]:
        """Return one number for all equal ops, and whether their operands commute.

        Hashing is slow, so each op is hashed once.
        """
        entry = self.numbered.get(id(op))
        if entry is None:
            scalar = op.scalar if isinstance(op, Elemwise) else None
            number = self.numbers.setdefault(op, len(self.numbers))
            commutes = isinstance(scalar, Scalar) and scalar.commutes
            entry = op, (number, commutes)
            self.numbered[id(op)] = entry
        return entry[1]

    def constant(self, constant: Constant) -> Constant:
        """Return the one constant of these bytes; long ones are not shared."""
        if np.asarray(constant.data).nbytes > _HASHED_BYTES:
            return constant
        return self.constants.setdefault(constant.signature, constant)

    def known(self, node: Apply) -> Apply | None:
        """Return another live node that computes the same; else remember this one."""
        if node.op.destroy_map:
            return None
        key = self.key(node, node.inputs)
        other = self.nodes.get(key)
        if other is None or other is node or not self.is_live(other, key):
            self.nodes[key] = node
            return None
        pairs = zip(node.outputs, other.outputs, strict=True)
        if any(out.type != same.type for out, same in pairs):
            return None  # what makes a length was found to be 1 between the two
        return other

    def is_live(self, node: Apply, key: Any) -> bool:
        """True if a remembered node is still in the graph and still has the key."""
        return node in self.fgraph.apply_nodes and self.key(node, node.inputs) == key

    def intern(self, variable: Variable, new: list[Apply]) -> Variable:
        """The variable on the graph's nodes where they exist; `new` gets the others.

        A node that was replaced before is replaced again.
        """
        replacements: dict[Variable, Variable] = {}
        for node in toposort([variable], blockers=self.fgraph.clients):
            inputs = [self._placed(operand, replacements) for operand in node.inputs]
            replacements.update(
                zip(node.outputs, self._node(node, inputs, new), strict=True)
            )
        return self._placed(variable, replacements)

    def _placed(
        self, variable: Variable, replacements: dict[Variable, Variable]
    ) -> Variable:
        """Return the variable's equivalent: of the graph, a leaf or new."""
        if variable not in self.fgraph.clients and isinstance(variable, Constant):
            return self.constant(variable)
        return replacements.get(variable, variable)

    def _node(
        self, node: Apply, inputs: list[Variable], new: list[Apply]
    ) -> list[Variable]:
        """Return the outputs of an equal node."""
        key = self.key(node, inputs)
        other = None if node.op.destroy_map else self.nodes.get(key)
        if other is not None and self.is_live(other, key):
            return other.outputs
        known = self._became(key)
        if known is not None:
            return known
        changed = any(a is not b for a, b in zip(inputs, node.inputs, strict=True))
        other = node.clone_with(inputs) if changed else node
        self.nodes[key] = other
        new.append(other)
        return other.outputs

    def replaced(self, node: Apply, results: Sequence[Variable]) -> None:
        """Remember the replacement of a node that is still in the graph."""
        for old, result in zip(node.outputs, results, strict=True):
            self.moved[old] = result
            self.moved.pop(result, None)

    def means(self, node: Apply, results: Sequence[Variable]) -> None:
        """Remember that every equal node may be replaced in the same way."""
        if not node.op.destroy_map:
            key = self.key(node, node.inputs)
            self.became[key] = list(node.inputs), list(results)

    def _became(self, key: Any) -> list[Variable] | None:
        """Return the replacement of such a node in the graph; None if there is none."""
        if key not in self.became:
            return None
        replacement = []
        for result in self.became[key][1]:
            while result not in self.fgraph.clients and result in self.moved:
                result = self.moved[result]
            if result not in self.fgraph.clients:
                return None
            replacement.append(result)
        return replacement
