"""``debugprint``: graphs as trees of lines, one for each node."""

from __future__ import annotations

import sys
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass, field
from typing import Any, TextIO

from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.graph.core import Apply, Constant, Variable, short_op
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.printing import graph_of, letters
from gpuarray.compiler.graph.types import GpuArrayType
from gpuarray.compiler.ops.scan.scan import Scan
from gpuarray.compiler.printing.groups import body_graph, fused_graph

STYLES = ("CHAR", "int", "id", "")


class Ids:
    """Names nodes and leaves in the order of traversal.

    Equal constants share a name.
    """

    def __init__(self, style: str, numbers: MutableMapping[Any, int]) -> None:
        if style not in STYLES:
            raise GraphValueError(
                f"debugprint: ids={style!r}; it takes {', '.join(map(repr, STYLES))}"
            )
        self.style = style
        self.numbers = numbers

    def text(self, variable: Variable) -> str:
        """Return the name of the variable's node, or of a leaf."""
        key: Any = variable.owner or variable
        if isinstance(variable, Constant):
            key = variable.signature
        number = self.numbers.setdefault(key, len(self.numbers))
        if self.style == "":
            return ""
        names = {"CHAR": letters(number), "int": number, "id": id(key)}
        return f" [id {names[self.style]}]"


@dataclass
class Tree:
    """Prints graphs as trees of lines; each node is spelled out once.

    ``order`` has the positions of a function's nodes, ``clients`` a variable's readers,
    ``outer`` the arguments of a loop's body.
    """

    ids: Ids
    order: dict[Apply, int]
    clients: dict[Variable, Any]
    done: MutableMapping[Apply, str]
    print_type: bool
    print_device: bool
    print_destroy_map: bool
    print_view_map: bool
    print_clients: bool
    stop_on_name: bool
    fused: list[Apply] = field(default_factory=list)
    loops: list[Apply] = field(default_factory=list)
    outer: dict[Variable, Variable] = field(default_factory=dict)

    def lines(self, root: Variable, depth: int, prefix: str = "") -> Iterator[str]:
        """Return the lines of a variable's ancestors, ``depth`` levels of them."""
        stack = [(root, prefix, prefix, depth)]
        while stack:
            variable, start, below, left = stack.pop()
            if left == 0:
                continue
            yield f"{start}{self.describe(variable)}".rstrip()
            node = variable.owner
            named = self.stop_on_name and variable.name is not None
            if node is None or node in self.done or named:
                continue
            self.done[node] = self.ids.text(variable)
            self.fused += [node] if fused_graph(node) is not None else []
            self.loops += [node] if isinstance(node.op, Scan) else []
            last = len(node.inputs) - 1
            for index in range(last, -1, -1):
                under = below + (" |" if index < last else "  ")
                stack.append((node.inputs[index], below + " |", under, left - 1))

    def describe(self, variable: Variable) -> str:
        """Return one line: the op or leaf, its id, name, marks and position."""
        kind = f" <{variable.type}>" if self.print_type else ""
        kind += f" on {place_of(variable)}" if self.print_device else ""
        node = variable.owner
        if node is None:
            source = self.outer.get(variable)
            link = "" if source is None else f" ->{self.ids.text(source)}"
            return f"{variable}{self.ids.text(variable)}{kind}{link}"
        op = self.operation(node)
        op += f".{variable.index}" if len(node.outputs) > 1 else ""
        head = f"{op}{self.ids.text(variable)}{kind} '{variable.name or ''}'"
        destroyed = mark("d", node.op.destroy_map) if self.print_destroy_map else ""
        viewed = mark("v", node.op.view_map) if self.print_view_map else ""
        readers = ""
        if self.print_clients and len(self.clients.get(variable, ())) > 1:
            readers = f" clients: {self.readers(variable)}"
        return f"{head} {destroyed} {viewed} {self.order.get(node, '')}{readers}"

    def operation(self, node: Apply) -> str:
        """Return the op; if it was spelled out before, a long one in short."""
        return short_op(node.op) if node in self.done else str(node.op)

    def readers(self, variable: Variable) -> list[Any]:
        """Return the positions of the nodes that read a variable, or ``output``."""
        return [
            self.order[reader] if isinstance(reader, Apply) else reader
            for reader, _ in self.clients[variable]
        ]


def mark(letter: str, mapping: Any) -> str:
    """Return ``d={0: [1]}`` for the inputs that an op overwrites, ``v=`` for views."""
    inputs_of = {output: list(inputs) for output, inputs in mapping.items()}
    return f"{letter}={inputs_of}" if inputs_of else ""


def place_of(variable: Variable) -> str:
    """Return the memory of a variable's values: ``host``, ``device``, or a context."""
    if not isinstance(variable.type, GpuArrayType):
        return "host"
    return variable.type.context_name or "device"


def _roots(item: Any) -> tuple[list[Variable], FunctionGraph | None]:
    """Return the variables to print of one item, and its graph if it has one."""
    if isinstance(item, Variable):
        return [item], None
    if isinstance(item, Apply):
        return list(item.outputs), None
    fgraph = graph_of(item, "debugprint")
    return fgraph.outputs, fgraph


def debugprint(
    obj: Any,
    depth: int = -1,
    print_type: bool = False,
    file: TextIO | str | None = None,
    ids: str = "CHAR",
    stop_on_name: bool = False,
    done: MutableMapping[Apply, str] | None = None,
    print_storage: bool = False,
    print_clients: bool = False,
    used_ids: MutableMapping[Any, int] | None = None,
    *,
    print_destroy_map: bool = False,
    print_view_map: bool = False,
    print_device: bool = False,
    print_fused: bool = False,
) -> str | None:
    """Print the tree of a variable, a function, or a list of them; a node comes once.

    A line has the op, the node's id, the variable's name, and, in a function, the
    node's position in the order of execution. ``ids`` is ``"CHAR"``, ``"int"``,
    ``"id"`` or ``""``; ``file="str"`` returns the text instead of printing it;
    ``depth`` limits the levels. ``print_type`` adds types, ``print_device`` the values'
    memory, ``print_clients`` the readers of variables that are read more than once,
    ``print_destroy_map`` and ``print_view_map`` the inputs that are overwritten
    (``d={0: [1]}``: output 0 takes the memory of input 1) and viewed. With
    ``print_fused`` the graph of each fused kernel comes after the trees, and with
    ``print_storage`` the values that a function keeps. The bodies of loops come after
    the trees, with ``->`` from a body's input to its source. ``done`` and ``used_ids``,
    dictionaries, share printed nodes and names between calls.

    Raises TypeError for objects without a graph.
    """
    items = obj if isinstance(obj, list | tuple) else [obj]
    trees = [_roots(item) for item in items]
    graphs = [graph for _, graph in trees if graph is not None]
    tree = Tree(
        ids=Ids(ids, {} if used_ids is None else used_ids),
        order={n: i for graph in graphs for i, n in enumerate(graph.toposort())},
        clients={v: users for graph in graphs for v, users in graph.clients.items()},
        done={} if done is None else done,
        print_type=print_type,
        print_device=print_device,
        print_destroy_map=print_destroy_map,
        print_view_map=print_view_map,
        print_clients=print_clients,
        stop_on_name=stop_on_name,
    )
    lines = [
        line for roots, _ in trees for root in roots for line in tree.lines(root, depth)
    ]
    if tree.loops:
        lines += _loop_lines(tree)
    if print_fused and tree.fused:
        lines += _fused_lines(tree)
    if print_storage:
        lines += [line for item in items for line in _kept_lines(item)]
    text = "\n".join(lines)
    if file == "str":
        return text
    stream = sys.stdout if file is None or isinstance(file, str) else file
    stream.write(text + "\n")
    return None


def _fused_lines(tree: Tree) -> Iterator[str]:
    """Return the lines of fused nodes, after a headline and the node's own line."""
    yield ""
    yield "Fused groups:"
    tree.print_device = False  # the same as the group's
    for node in tree.fused:
        graph = fused_graph(node)
        assert graph is not None
        yield ""
        yield tree.describe(node.outputs[0]).rstrip()
        for output in graph.outputs:
            yield from (f" >{line}" for line in tree.lines(output, -1))


def _loop_lines(tree: Tree) -> Iterator[str]:
    """Return the lines of the bodies of loops, those of loops within them last."""
    yield ""
    yield "Inner graphs of the scan ops:"
    for node in tree.loops:  # grows
        assert isinstance(node.op, Scan)
        body = body_graph(node.op)
        tree.outer |= dict(zip(body.inputs, node.inputs[1:], strict=True))
        yield ""
        yield tree.describe(node.outputs[0]).rstrip()
        for output in body.outputs:
            yield from (f" >{line}" for line in tree.lines(output, -1))


def _kept_lines(item: Any) -> Iterator[str]:
    """Return the values of the shared variables that a function reads or updates."""
    for variable in getattr(item, "get_shared", list)():
        yield f"{variable} = {variable.get_value()}"
