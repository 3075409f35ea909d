"""The graph under rewriting: it owns its nodes, tracks uses, and replaces variables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

from gpuarray.compiler.errors import GraphTypeError, MissingInputError, made_at
from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.graph.lazy import (
    ALWAYS,
    Guard,
    any_lazy,
    excludes,
    guards,
    leaves_alone,
)
from gpuarray.compiler.graph.traverse import clone, toposort

Client = tuple["Apply | str", int]


class Replacement(NamedTuple):
    """One replacement: its rule, the variable before, the variable after."""

    reason: str
    before: Variable
    after: Variable

    def __str__(self) -> str:
        return f"{self.reason}: {self.before} -> {self.after}"


class FunctionGraph:
    """A graph from ``inputs`` to ``outputs`` whose nodes may be changed.

    The nodes are copies, so the user's expression stays; leaves (inputs, constants,
    shared variables) are the user's own objects. An input that is computed by a node
    gets a fresh leaf. ``memo`` maps the user's variables to those of this graph.
    ``clients[variable]`` has ``(node, index)`` for each use, or ``("output", index)``,
    in the order of insertion. ``log`` lists the changes, and each function of
    ``listeners`` is called with a change after it was made. ``kept`` maps new values of
    shared variables that equal the old ones, if an index was wrong, to these.
    ``destroyable`` are the inputs that may be overwritten; a mapping also gives the
    output that is the new value of each. Of the body of a loop, ``moving_inputs`` are
    the inputs that are others in each iteration, and ``owns_inputs`` is true: what an
    iteration overwrites is the loop's own copy.

    Raises MissingInputError if a leaf is neither an input nor a constant.
    """

    def __init__(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> None:
        self.memo: dict[Variable, Variable] = {
            variable: variable if variable.owner is None else variable.clone()
            for variable in inputs
        }
        self.inputs = [self.memo[variable] for variable in inputs]
        self.outputs = clone(outputs, self.memo)
        self.clients: dict[Variable, dict[Client, None]] = {
            variable: {} for variable in self.inputs
        }
        computed = ", ".join(
            str(variable) for variable in inputs if variable.owner is not None
        )
        self._about_computed_inputs = (
            f"; of {computed}, given as computed, the operands are no inputs"
            if computed
            else ""
        )
        self.apply_nodes: set[Apply] = set()
        self._order: list[Apply] | None = None  # cached until a change
        self.log: list[Replacement] = []
        self.listeners: list[Callable[[Replacement], Any]] = []
        self.several_contexts = False
        self.kept: dict[Variable, Variable] = {}
        self.destroyable: Collection[Variable] = ()
        self.moving_inputs: Collection[Variable] = ()
        self.owns_inputs = False
        for index, output in enumerate(self.outputs):
            self._import(output)
            self.clients[output][("output", index)] = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the graph without its log and listeners."""
        return FunctionGraph, (self.inputs, self.outputs)

    @property
    def variables(self) -> list[Variable]:
        """Every variable of the graph."""
        return list(self.clients)

    def _import(self, variable: Variable) -> list[Apply]:
        """Add the nodes behind ``variable``; return the new ones."""
        new = toposort([variable], blockers=self.clients)
        for leaf in [variable, *(source for node in new for source in node.inputs)]:
            if leaf.owner is None and leaf not in self.clients:
                self._import_leaf(leaf)
        for node in new:
            self.apply_nodes.add(node)
            for output in node.outputs:
                self.clients.setdefault(output, {})
            for index, operand in enumerate(node.inputs):
                self.clients[operand][(node, index)] = None
        return new

    def _import_leaf(self, leaf: Variable) -> None:
        if not isinstance(leaf, Constant):
            raise MissingInputError(
                made_at(
                    f"graph: {leaf} is needed, but it is no input and has no value; "
                    "add it to the inputs, or give it a value with givens"
                    + self._about_computed_inputs,
                    getattr(leaf.tag, "trace", None),
                )
            )
        self.clients[leaf] = {}

    def replace(self, old: Variable, new: Variable, reason: str = "") -> None:
        """Let every user of ``old`` use ``new``; unused nodes are removed.

        The nodes that ``new`` adds remember the user's line of ``old``. Raises
        TypeError if the types differ.
        """
        if new is old:
            return
        if new.type != old.type:
            raise GraphTypeError(
                made_at(
                    f"{reason or 'replace'}: {old} of {old.type} cannot become {new} "
                    f"of {new.type}; a replacement has the type of what it replaces",
                    getattr(old.tag, "trace", None),
                )
            )
        if old not in self.clients:
            return
        self._order = None
        users = list(self.clients[old])
        self._inherit_trace(old, self._import(new))
        for client, index in users:
            self._change_input(client, index, new)
        if old in self.kept:
            self.kept[new] = self.kept[old]
        self._note(Replacement(reason, old, new))

    def redirect(
        self, client: Apply | str, index: int, new: Variable, reason: str = ""
    ) -> None:
        """Let one user of a variable, a node or ``"output"``, use ``new``."""
        read = client.inputs if isinstance(client, Apply) else self.outputs
        old = read[index]
        self._order = None
        self._inherit_trace(old, self._import(new))
        self._change_input(client, index, new)
        self._note(Replacement(reason, old, new))

    def _note(self, change: Replacement) -> None:
        self.log.append(change)
        self._prune([change.before, change.after])
        for listener in self.listeners:
            listener(change)

    def _inherit_trace(self, old: Variable, nodes: Iterable[Apply]) -> None:
        trace = getattr(old.tag, "trace", None)
        if trace is not None:
            for node in nodes:
                for output in node.outputs:
                    output.tag.trace = trace

    def _change_input(self, client: Apply | str, index: int, new: Variable) -> None:
        if isinstance(client, Apply):
            old, client.inputs[index] = client.inputs[index], new
        else:
            old, self.outputs[index] = self.outputs[index], new
        del self.clients[old][(client, index)]
        self.clients[new][(client, index)] = None

    def _prune(self, candidates: list[Variable]) -> None:
        stack = list(candidates)
        while stack:
            variable = stack.pop()
            if self.clients.get(variable, True):
                continue
            node = variable.owner
            if node is None:
                if variable not in self.inputs:
                    del self.clients[variable]
                continue
            if any(self.clients[output] for output in node.outputs):
                continue
            self.apply_nodes.discard(node)
            for output in node.outputs:
                del self.clients[output]
            for index, operand in enumerate(node.inputs):
                del self.clients[operand][(node, index)]
                stack.append(operand)

    def toposort(self) -> list[Apply]:
        """Return the nodes in an order in which they can run.

        A node that overwrites an input comes after all others that read its memory; one
        that is conditional comes after its conditions.
        """
        if self._order is None:
            self._order = toposort(self.outputs, also_after=self.orderings())
        return list(self._order)

    def guards(self) -> dict[Apply, Guard]:
        """Return the conditions under which nodes are needed, if there are any."""
        if not any_lazy(self.apply_nodes):
            return {}
        return guards(toposort(self.outputs), self.outputs)

    def orderings(self) -> dict[Apply, list[Apply]]:
        """Return, for each node, others to run before it without being its inputs.

        They read memory that it overwrites, or compute a condition that it runs under.
        """
        guarded = self.guards()
        before: dict[Apply, list[Apply]] = {
            node: [
                condition.owner for condition, _ in guard if condition.owner is not None
            ]
            for node, guard in guarded.items()
        }
        for node in self.apply_nodes:
            for indices in node.op.destroy_map.values():
                for index in indices:
                    root = self.view_root(node.inputs[index])
                    guard = guarded.get(node, ALWAYS)
                    before.setdefault(node, []).extend(
                        reader
                        for reader in self.readers(root, guard)
                        if reader is not node
                        and not excludes(guarded.get(reader, ALWAYS), guard)
                    )
        for node, others in self.reporters().items():
            before.setdefault(node, []).extend(others)
        return before

    def may_report(self) -> bool:
        """Return True if a node may report a bad index or a singular matrix."""
        return any(node.op.reports for node in self.apply_nodes)

    def reporters(self) -> dict[Apply, list[Apply]]:
        """Return, for each node that follows reporting ones, those.

        The ones that need the node are left out.
        """
        late = {node for node in self.apply_nodes if node.op.follows_reports}
        if not late:
            return {}
        order = toposort(self.outputs)
        needs: set[Apply] = set(late)
        for node in order:
            if any(variable.owner in needs for variable in node.inputs):
                needs.add(node)
        early = [node for node in order if node.op.reports and node not in needs]
        return {node: early for node in late}

    def view_root(self, variable: Variable) -> Variable:
        """Return the variable whose memory ``variable`` is a view of, or itself."""
        while variable.owner is not None:
            viewed = variable.owner.op.view_map.get(variable.index or 0)
            if not viewed:
                break
            variable = variable.owner.inputs[viewed[0]]
        return variable

    def seen_through(self, variable: Variable) -> list[Variable]:
        """Return the variable, and all whose memory it may be a view of."""
        variables, stack = [], [variable]
        while stack:
            current = stack.pop()
            variables.append(current)
            if current.owner is not None:
                viewed = current.owner.op.view_map.get(current.index or 0, ())
                stack.extend(current.owner.inputs[index] for index in viewed)
        return variables

    def views_of(self, root: Variable, guard: Guard = ALWAYS) -> list[Variable]:
        """Return ``root`` and every view of its memory, wherever a guard holds."""
        views, stack = [], [root]
        while stack:
            variable = stack.pop()
            views.append(variable)
            for client, index in self.clients.get(variable, ()):
                if isinstance(client, Apply) and not leaves_alone(client, index, guard):
                    stack.extend(
                        client.outputs[output]
                        for output, inputs in client.op.view_map.items()
                        if index in inputs
                    )
        return views

    def readers(self, root: Variable, guard: Guard = ALWAYS) -> list[Apply]:
        """Return the nodes that read the memory of ``root`` wherever a guard holds."""
        return [
            client
            for variable in self.views_of(root, guard)
            for client, index in self.clients[variable]
            if isinstance(client, Apply) and not leaves_alone(client, index, guard)
        ]

    def check(self) -> None:
        """Raise AssertionError unless clients and nodes agree (for tests)."""
        nodes = set(toposort(self.outputs))
        if nodes != self.apply_nodes:
            raise AssertionError(f"nodes differ: {nodes ^ self.apply_nodes}")
        uses: set[tuple[Client, Variable]] = {
            ((node, index), variable)
            for node in nodes
            for index, variable in enumerate(node.inputs)
        }
        uses |= {(("output", i), output) for i, output in enumerate(self.outputs)}
        known = {
            (use, variable) for variable, users in self.clients.items() for use in users
        }
        if uses != known:
            raise AssertionError(f"clients differ: {uses ^ known}")

    def __str__(self) -> str:
        inputs = ", ".join(map(str, self.inputs))
        return f"FunctionGraph({inputs} -> {', '.join(map(str, self.outputs))})"
