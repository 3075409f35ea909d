"""Graphs as text: a formula, or a few lines for an error message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpuarray.compiler.errors import GraphTypeError
from gpuarray.compiler.graph.core import Apply, Op, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.traverse import toposort


def letters(number: int) -> str:
    """Return the ``number``-th name of a node: A, B, ..., Z, BA, ...

    >>> letters(0), letters(27)
    ('A', 'BB')
    """
    text = ""
    while True:
        number, digit = divmod(number, 26)
        text = chr(ord("A") + digit) + text
        if number == 0:
            return text


def graph_of(function: Any, asked_by: str) -> FunctionGraph:
    """Return the graph of a compiled function, or the graph given. Raises TypeError."""
    fgraph = getattr(getattr(function, "maker", function), "fgraph", function)
    if not isinstance(fgraph, FunctionGraph):
        raise GraphTypeError(
            f"{asked_by}: given {function!r}, a {type(function).__name__}; expected a "
            "variable, a node, a graph, a compiled function, or a list of them"
        )
    return fgraph


Printer = Callable[..., str]
"""Returns the text of a node, from those of its inputs."""

Condition = Op | type[Op] | Callable[[Apply], bool]


class PrettyPrinter:
    r"""A printer of formulas: ``(a + (x \dot w))``.

    Called with a variable, a compiled function (for its outputs), or a list. An op's
    text is its ``pretty``, unless `assign` overrides it.
    """

    def __init__(self) -> None:
        self._printers: list[tuple[Condition, Printer]] = []

    def assign(self, condition: Condition, printer: Printer) -> None:
        """Override the text of an op, of a class of ops, or of nodes by a predicate.

        ``printer`` gets the texts of the inputs: ``pprint.assign(dot, lambda a, b:
        f"{a} @ {b}")``. The latest that fits a node is used.
        """
        self._printers.insert(0, (condition, printer))

    def _text(self, node: Apply, operands: Sequence[str]) -> str:
        for condition, printer in self._printers:
            if _fits(condition, node):
                return printer(*operands)
        return node.op.pretty(*operands)

    def __call__(self, variable: Any) -> str:
        """Return the formula."""
        if isinstance(variable, list | tuple):
            return f"[{', '.join(map(self, variable))}]"
        if not isinstance(variable, Variable):
            outputs = graph_of(variable, "pprint").outputs
            return self(outputs[0] if len(outputs) == 1 else outputs)
        texts: dict[Variable, str] = {}
        for node in toposort([variable]):
            operands = [texts.get(operand) or str(operand) for operand in node.inputs]
            text = self._text(node, operands)
            for index, output in enumerate(node.outputs):
                texts[output] = text if len(node.outputs) == 1 else f"{text}.{index}"
        return texts.get(variable) or str(variable)


def _fits(condition: Condition, node: Apply) -> bool:
    if isinstance(condition, Op):
        return node.op == condition
    if isinstance(condition, type):
        return isinstance(node.op, condition)
    return bool(condition(node))


pprint = PrettyPrinter()


def FunctionPrinter(name: str) -> Printer:
    """Return a printer of ``name(a, b)``."""
    return lambda *texts: f"{name}({', '.join(texts)})"


def OperatorPrinter(symbol: str, *binding: Any) -> Printer:
    """Return a printer of ``(a symbol b)``; the parentheses replace precedence."""
    return lambda *texts: f"({f' {symbol} '.join(texts)})"


def PatternPrinter(pattern: str) -> Printer:
    """Return a printer of ``pattern``, in which ``%(0)s`` is the first input."""
    return lambda *texts: pattern % {str(i): text for i, text in enumerate(texts)}


def IgnorePrinter() -> Printer:
    """Return a printer of the first input, without the node."""
    return lambda first, *rest: first


def min_informative_str(variable: Variable, depth: int = 4) -> str:
    """Return the top of a graph in a few lines; ``<A>`` is node A again."""
    names: dict[Variable, str] = {}
    lines: list[str] = []
    stack = [(variable, 0)]
    while stack:
        current, level = stack.pop()
        indent = " " * level
        if current in names:
            lines.append(f"{indent}<{names[current]}>")
            continue
        names[current] = letters(len(names))
        inner = current.owner is not None and current.name is None and level < depth
        label = str(current.owner.op) if inner and current.owner else str(current)
        lines.append(f"{indent}{names[current]}. {label}")
        if inner and current.owner:
            stack.extend(
                (operand, level + 1) for operand in reversed(current.owner.inputs)
            )
    return "\n".join(lines)


def listing(nodes: Sequence[Apply]) -> str:
    """Return one line a node, in order: ``0: Elemwise{exp,no_inplace}(x)``."""
    return "\n".join(f"{index}: {node}" for index, node in enumerate(nodes))
