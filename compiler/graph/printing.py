"""Graphs as text: a tree of nodes, a formula, or a few lines for an error message."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from gpuarray.compiler.errors import GraphTypeError
from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.traverse import toposort


def letters(number: int) -> str:
    """The ``number``-th name of a node: A, B, ..., Z, BA, ...

    >>> letters(0), letters(27)
    ('A', 'BB')
    """
    text = ""
    while True:
        number, digit = divmod(number, 26)
        text = chr(ord("A") + digit) + text
        if number == 0:
            return text


class _Ids:
    """Names nodes and leaves in the order in which they are met.

    Equal constants share a name.
    """

    def __init__(self, style: str) -> None:
        self.style = style
        self.numbers: dict[Any, int] = {}

    def text(self, variable: Variable) -> str:
        key: Any = variable.owner or variable
        if isinstance(variable, Constant):
            key = variable.signature
        number = self.numbers.setdefault(key, len(self.numbers))
        styles = {
            "CHAR": f" [id {letters(number)}]",
            "int": f" [id {number}]",
            "id": f" [id {id(key)}]",
            "": "",
        }
        return styles[self.style]


class _TreePrinter:
    """Walks a graph and gives its lines; each node is spelled out once."""

    def __init__(
        self, order: dict[Apply, int], ids: str, print_type: bool, stop_on_name: bool
    ) -> None:
        self.order = order
        self.ids = _Ids(ids)
        self.print_type = print_type
        self.stop_on_name = stop_on_name
        self.done: set[Apply] = set()

    def lines(self, root: Variable, depth: int) -> Iterator[str]:
        stack = [(root, "", "", depth)]
        while stack:
            variable, prefix, child_prefix, left = stack.pop()
            if left == 0:
                continue
            yield f"{prefix}{self.describe(variable)}".rstrip()
            node = variable.owner
            named = self.stop_on_name and variable.name is not None
            if node is None or node in self.done or named:
                continue
            self.done.add(node)
            last = len(node.inputs) - 1
            for index in range(last, -1, -1):
                below = child_prefix + (" |" if index < last else "  ")
                stack.append((node.inputs[index], child_prefix + " |", below, left - 1))

    def describe(self, variable: Variable) -> str:
        kind = f" <{variable.type}>" if self.print_type else ""
        node = variable.owner
        if node is None:
            return f"{variable}{self.ids.text(variable)}{kind}"
        op = f"{node.op}.{variable.index}" if len(node.outputs) > 1 else f"{node.op}"
        place = self.order.get(node, "")
        name = variable.name or ""
        return f"{op}{self.ids.text(variable)}{kind} '{name}'   {place}"


def _roots(item: Any) -> tuple[list[Variable], dict[Apply, int]]:
    """The variables to print of one item, and the order of nodes where there is one."""
    if isinstance(item, Variable):
        return [item], {}
    if isinstance(item, Apply):
        return list(item.outputs), {}
    fgraph = item if isinstance(item, FunctionGraph) else _graph_of(item)
    return fgraph.outputs, {node: i for i, node in enumerate(fgraph.toposort())}


def _graph_of(function: Any) -> FunctionGraph:
    fgraph = getattr(getattr(function, "maker", function), "fgraph", None)
    if not isinstance(fgraph, FunctionGraph):
        raise GraphTypeError(
            f"debugprint: given {function!r}, a {type(function).__name__}; expected a "
            "variable, a node, a graph, a compiled function, or a list of them"
        )
    return fgraph


def debugprint(
    obj: Any,
    depth: int = -1,
    print_type: bool = False,
    file: TextIO | str | None = None,
    ids: str = "CHAR",
    stop_on_name: bool = False,
) -> str | None:
    """Print the tree of a variable, a function, or a list of them; a node comes once.

    A function's nodes end with their place in the order of computing. ``ids`` is
    ``"CHAR"``, ``"int"``, ``"id"`` or ``""``; ``file="str"`` returns the text instead
    of printing it.
    """
    items = obj if isinstance(obj, (list, tuple)) else [obj]
    found = [_roots(item) for item in items]
    order = {node: place for _, places in found for node, place in places.items()}
    printer = _TreePrinter(order, ids, print_type, stop_on_name)
    lines = [
        line
        for roots, _ in found
        for root in roots
        for line in printer.lines(root, depth)
    ]
    text = "\n".join(lines)
    if file == "str":
        return text
    stream = sys.stdout if file is None or isinstance(file, str) else file
    stream.write(text + "\n")
    return None


def pprint(variable: Any) -> str:
    r"""The formula that a variable computes: ``(a + (x \dot w))``."""
    if isinstance(variable, (list, tuple)):
        return f"[{', '.join(map(pprint, variable))}]"
    if not isinstance(variable, Variable):
        (variable,) = _graph_of(variable).outputs
    texts: dict[Variable, str] = {}
    for node in toposort([variable]):
        operands = [texts.get(each) or str(each) for each in node.inputs]
        text = node.op.pretty(*operands)
        for index, output in enumerate(node.outputs):
            texts[output] = text if len(node.outputs) == 1 else f"{text}.{index}"
    return texts.get(variable) or str(variable)


def min_informative_str(variable: Variable, depth: int = 4) -> str:
    """A few lines that show the top of a graph; ``<A>`` is node A once more."""
    names: dict[Variable, str] = {}
    lines: list[str] = []
    stack = [(variable, 0)]
    while stack:
        each, level = stack.pop()
        indent = " " * level
        if each in names:
            lines.append(f"{indent}<{names[each]}>")
            continue
        names[each] = letters(len(names))
        inner = each.owner is not None and each.name is None and level < depth
        label = str(each.owner.op) if inner and each.owner else str(each)
        lines.append(f"{indent}{names[each]}. {label}")
        if inner and each.owner:
            stack.extend((given, level + 1) for given in reversed(each.owner.inputs))
    return "\n".join(lines)


def listing(nodes: Sequence[Apply]) -> str:
    """One line a node, in order: ``0: Elemwise{exp,no_inplace}(x)``."""
    return "\n".join(f"{index}: {node}" for index, node in enumerate(nodes))
