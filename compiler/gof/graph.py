"""Theano's ``gof.graph``: what a graph consists of, by its inputs and outputs.

>>> import gpuarray.compiler.tensor as T
>>> x, y = T.dvectors("x", "y")
>>> inputs([x + 2 * y])
[x, TensorConstant{2}, y]
>>> io_toposort([x, y], [x * y])
[Elemwise{mul,no_inplace}(x, y)]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.graph import traverse
from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.names import suggest_names

__all__ = [
    "Apply",
    "Constant",
    "Variable",
    "ancestors",
    "clone",
    "clone_get_equiv",
    "equal_computations",
    "inputs",
    "io_toposort",
    "is_in_ancestors",
    "is_same_graph",
    "list_of_nodes",
    "ops",
    "orphans",
    "variables",
    "variables_and_orphans",
]


def ancestors(
    variable_list: Iterable[Variable], blockers: Iterable[Variable] | None = None
) -> list[Variable]:
    """Return the variables and each one they need, once; not past ``blockers``.

    As Theano's, the last variable's come first.
    """
    return list(traverse.ancestors(list(variable_list)[::-1], blockers or ()))


def inputs(
    variable_list: Iterable[Variable], blockers: Iterable[Variable] | None = None
) -> list[Variable]:
    """Return the `ancestors` that no node computes, constants among them."""
    found = ancestors(variable_list, blockers)
    return [variable for variable in found if variable.owner is None]


def variables(i: Sequence[Variable], o: Iterable[Variable]) -> set[Variable]:
    """Return the variables that ``o`` needs down to ``i``, with those of ``i``.

    With the outputs of the nodes between, also those that nothing reads.
    """
    between = list_of_nodes(i, o)
    beside = {output for node in between for output in node.outputs}
    return {*i, *traverse.ancestors(o, i)} | beside


def orphans(i: Sequence[Variable], o: Iterable[Variable]) -> set[Variable]:
    """Return the leaves that ``o`` needs beside ``i``: constants, shared variables."""
    return set(traverse.inputs_of(o, i)) - set(i)


def variables_and_orphans(
    i: Sequence[Variable], o: Iterable[Variable]
) -> tuple[set[Variable], set[Variable]]:
    """Return `variables` and `orphans`."""
    given = list(o)
    return variables(i, given), orphans(i, given)


def list_of_nodes(i: Sequence[Variable], o: Iterable[Variable]) -> list[Apply]:
    """Return the nodes that compute ``o`` of ``i``, each after those that it needs."""
    return traverse.toposort(o, i)


def ops(i: Sequence[Variable], o: Iterable[Variable]) -> set[Apply]:
    """Return the nodes that compute ``o`` of ``i``; Theano calls these ops."""
    return set(list_of_nodes(i, o))


def io_toposort(
    inputs: Sequence[Variable],
    outputs: Iterable[Variable],
    orderings: Mapping[Apply, Sequence[Apply]] | None = None,
) -> list[Apply]:
    """Return the nodes that compute ``outputs``, each after those that it needs.

    ``orderings`` has, of a node, the nodes that it shall follow as well.
    """
    return traverse.toposort(outputs, inputs, orderings)


def clone_get_equiv(
    inputs: Iterable[Variable],
    outputs: Sequence[Variable],
    copy_inputs: bool = True,
    copy_orphans: bool = True,
    memo: dict[Variable, Variable] | None = None,
) -> dict[Variable, Variable]:
    """Copy the nodes between; return ``memo``, which maps each variable to its copy.

    Leaves are new variables, too, where ``copy_inputs`` and ``copy_orphans`` ask for
    it; shared variables have no copies.
    """
    known = {} if memo is None else memo
    given, results = list(inputs), list(outputs)
    leaves = [(variable, copy_inputs) for variable in given]
    leaves += [(leaf, copy_orphans) for leaf in traverse.inputs_of(results, given)]
    for leaf, copied in leaves:
        is_copied = copied and not hasattr(leaf, "get_value")
        known.setdefault(leaf, leaf.clone() if is_copied else leaf)
    traverse.clone(results, known)
    return known


def clone(
    i: Sequence[Variable],
    o: Sequence[Variable],
    copy_inputs: bool = True,
    copy_orphans: bool | None = None,
) -> tuple[list[Variable], list[Variable]]:
    """Return copies of the inputs and of the outputs, by new nodes.

    ``copy_orphans`` is ``copy_inputs`` by default.
    """
    orphans_too = copy_inputs if copy_orphans is None else copy_orphans
    equivalents = clone_get_equiv(i, o, copy_inputs, orphans_too)
    return [equivalents[one] for one in i], [equivalents[one] for one in o]


def is_in_ancestors(l_node: Apply, f_node: Apply) -> bool:
    """Return True if ``l_node`` is ``f_node``, or needs it."""
    return any(found.owner is f_node for found in traverse.ancestors(l_node.outputs))


def is_same_graph(
    var1: Variable, var2: Variable, givens: Mapping[Variable, Variable] | None = None
) -> bool:
    """Return True if both are the same operations on the same leaves.

    ``givens`` says what a leaf of either stands for in the other.
    """
    pairs = dict(givens or {})
    pairs |= {new: old for old, new in pairs.items() if new not in pairs}
    return traverse.same_graph(var1, var2, pairs)


def equal_computations(
    xs: Sequence[Variable],
    ys: Sequence[Variable],
    in_xs: Sequence[Variable] | None = None,
    in_ys: Sequence[Variable] | None = None,
) -> bool:
    """Return True if each of ``xs`` is the same operations as that of ``ys``.

    ``in_xs`` are taken for ``in_ys``. Raises GraphValueError if the lengths differ.
    """
    for name, left, right in (("xs", xs, ys), ("in_xs", in_xs or (), in_ys or ())):
        if len(left) != len(right):
            raise GraphValueError(
                f"equal_computations: {len(left)} {name} and {len(right)} "
                f"{name.replace('x', 'y')}, expected as many"
            )
    pairs = dict(zip(in_xs or (), in_ys or (), strict=True))
    return all(traverse.same_graph(x, y, pairs) for x, y in zip(xs, ys, strict=True))


suggest_names(__name__)
