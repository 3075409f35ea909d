"""``map_variables``: graphs with variables replaced, also in the bodies of loops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from gpuarray.compiler.errors import GraphTypeError, NotOfferedError
from gpuarray.compiler.function.givens import replacements
from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.graph.traverse import ancestors, clone_replace, inputs_of
from gpuarray.compiler.ops.custom.fromgraph import OpFromGraph
from gpuarray.compiler.ops.scan.body import Body
from gpuarray.compiler.ops.scan.scan import Scan
from gpuarray.compiler.shared import SharedVariable

Replacer = Callable[[Variable], Variable]


def map_variables(
    replacer: Replacer,
    graphs: Iterable[Variable],
    additional_inputs: Iterable[Variable] = (),
) -> list[Variable]:
    """Return ``graphs`` with each variable replaced by what ``replacer`` makes of it.

    ``replacer`` gets each variable of the graphs once, also of the bodies of loops and
    of `OpFromGraph`, and returns it or another one of its type. That may read the
    variable which it replaces; other variables of the graphs are replaced in it. In a
    body it may read variables from outside, but no shared variable that is updated:
    NotImplementedError. ``additional_inputs`` are for Theano's programs.

    >>> from gpuarray.compiler import tensor as T
    >>> x, y = T.dvectors("x", "y")
    >>> (double,) = map_variables(lambda v: y if v is x else v, [x * 2])
    >>> double.eval({y: [1.0, 2.0]}).tolist()
    [2.0, 4.0]
    """
    outputs = list(graphs)
    direct: dict[Variable, Variable] = {}
    inside: dict[Apply, Sequence[Variable]] = {}
    for variable in ancestors(outputs):
        new = _replaced(replacer, variable)
        node = variable.owner
        if node is not None:
            if node not in inside:
                inside[node] = _mapped_inside(replacer, node)
            place = node.outputs.index(variable)
            itself = inside[node][place]
            if new is variable:
                new = itself
            else:  # which reads a variable that is not replaced, but whose inputs are
                if itself is variable:
                    itself = node.clone_with(node.inputs).outputs[place]
                new = clone_replace(new, {variable: itself})
        if new is not variable:
            direct[variable] = new
    return clone_replace(outputs, replacements(direct))


def _replaced(replacer: Replacer, variable: Variable) -> Variable:
    """Return a variable's replacement. Raises TypeError if it is no variable."""
    new = replacer(variable)
    if not isinstance(new, Variable):
        raise GraphTypeError(
            f"map_variables: replacer gives {new!r} for {variable}, expected a variable"
        )
    return new


def _mapped_inside(replacer: Replacer, node: Apply) -> Sequence[Variable]:
    """Return a node's outputs, of a node with another graph inside if that changes."""
    op = node.op
    if isinstance(op, OpFromGraph):
        outputs = map_variables(replacer, op.inner_outputs)
        if outputs == op.inner_outputs:
            return node.outputs
        places = [*op.inner_inputs, *op.captured]
        return clone_replace(outputs, dict(zip(places, node.inputs, strict=True)))
    if isinstance(op, Scan):
        outputs = map_variables(replacer, op.body.outputs)
        if outputs != list(op.body.outputs):
            return _with_body(op, node, outputs)
    return node.outputs


def _with_body(
    loop: Scan, node: Apply, outputs: Sequence[Variable]
) -> Sequence[Variable]:
    """Return the outputs of a loop whose body has other outputs.

    What these read from outside are more constants of the loop.
    """
    inner = loop.body.inputs
    outside = {
        leaf: leaf.type(leaf.name)
        for leaf in inputs_of(outputs, inner)
        if leaf not in inner and not isinstance(leaf, Constant)
    }
    for leaf in outside:
        is_updated = isinstance(leaf, SharedVariable) and (
            leaf.default_update is not None or leaf in node.inputs
        )
        if is_updated:
            raise NotOfferedError(
                f"map_variables: a replacement in the body of {loop} reads {leaf}, a "
                "shared variable that is updated; give its value to the loop as one of "
                "non_sequences"
            )
    body = Body([*inner, *outside.values()], clone_replace(outputs, outside))
    new = loop.like(body, loop.n_sequences, loop.n_states)
    return new.make_node(*node.inputs, *outside).outputs
