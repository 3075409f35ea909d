"""The text of a graph, key of the plan cache: equal texts give the same plan.

The text has all that rewriting, placing and lowering read of a graph: operations with
their properties, types, constants, names, contexts, and the user's lines, which errors
show. A program's own classes and functions have no text: their code may be another one
in the next process.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np
from gpuarray.compiler.graph.core import Apply, Constant, Op, Trace, Variable
from gpuarray.compiler.graph.traverse import toposort
from gpuarray.compiler.graph.types import Type
from gpuarray.compiler.ops.scan.body import Body
from gpuarray.compiler.shared import SharedVariable
from gpuarray.scalars import SCALARS

PACKAGE = "gpuarray."
PLAIN = (bool, int, float, complex, bytes, type(None), type(Ellipsis))
"""Types whose ``repr`` is the whole value."""


class Unknown(Exception):
    """A value has no text."""


def is_ours(code: Any) -> bool:
    """True if a class or function is this package's: its version tells its code."""
    name = getattr(code, "__qualname__", "<")
    return str(getattr(code, "__module__", "")).startswith(PACKAGE) and "<" not in name


def foreign_rows() -> frozenset[str]:
    """Return the names of the scalar operations that the program has added."""
    return frozenset(name for name, row in SCALARS.items() if not row.is_ours)


def numbers(value: np.ndarray[Any, Any] | np.generic | np.dtype[Any]) -> str:
    """Return the text of a NumPy value or dtype."""
    if isinstance(value, np.dtype):
        return f"dtype {value.str} {value.name}"
    array = np.asarray(value)
    if array.dtype == object:
        raise Unknown(value)
    digest = hashlib.blake2b(array.tobytes(), digest_size=16).hexdigest()
    return f"{array.dtype.str} {array.dtype.name} {array.shape} {digest}"


class GraphWriter:
    """Writes graphs as text; variables that are written already are numbers."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._numbers: dict[Variable, int] = {}
        self._containers: dict[int, int] = {}
        self._ops: dict[int, tuple[Op, str]] = {}  # by id, which a living op keeps
        self._known: dict[Any, str] = {}
        self._foreign = foreign_rows()

    def number(self, variable: Variable) -> int:
        """Return a variable's number; a variable without one is written as a leaf."""
        known = self._numbers.get(variable)
        if known is None:
            known = self._numbers[variable] = len(self._numbers)
            self.lines.append(self._leaf(variable))
        return known

    def graph(self, outputs: Sequence[Variable]) -> list[int]:
        """Write the nodes that the outputs need; return the outputs' numbers."""
        for node in toposort(outputs):
            self._node(node)
        return [self.number(output) for output in outputs]

    def _node(self, node: Apply) -> None:
        ins = [self.number(variable) for variable in node.inputs]
        for variable in node.outputs:
            self._numbers[variable] = len(self._numbers)
        outs = [self._variable(variable) for variable in node.outputs]
        self.lines.append(f"{self._op(node.op)} {ins} {outs}")

    def _leaf(self, variable: Variable) -> str:
        text = self._variable(variable)
        if isinstance(variable, Constant):
            return f"{text} = {self.value(variable.data)}"
        if isinstance(variable, SharedVariable):
            container = variable.container
            same = self._containers.setdefault(id(container), len(self._containers))
            return f"{text} shared {same} {container.context_name!r}"
        if variable.owner is not None:
            raise Unknown(variable)
        return text

    def _variable(self, variable: Variable) -> str:
        """Return a variable's type, line, name and contexts as text."""
        tag = vars(variable.tag)
        trace = tag.get("trace")
        known = self._known.get((variable.type, trace))
        if known is None:
            known = f"{self.value(variable.type)} {self._line(trace)}"
            self._known[variable.type, trace] = known
        if variable.name is not None:
            known += f" {variable.name!r}"
        if len(tag) > 1:
            known += f" {tag.get('target')!r} {tag.get('context_name')!r}"
        return known

    def _line(self, trace: Trace | None) -> str:
        return "" if trace is None else f"{trace} {trace.outer}"

    def _op(self, op: Op) -> str:
        written = self._ops.get(id(op))
        if written is None:
            written = self._ops[id(op)] = op, self.value(op)
        return written[1]

    def value(self, value: Any) -> str:
        """Return the text of a property. Raises Unknown where it has none."""
        if isinstance(value, str):
            if value in self._foreign:
                raise Unknown(value)
            return repr(str(value))
        if type(value) in PLAIN:
            return repr(value)
        if isinstance(value, Op):
            properties = value.properties
            if properties is None:
                raise Unknown(value)
            return self._parts(value, properties)
        if isinstance(value, np.ndarray | np.generic | np.dtype):
            return numbers(value)
        if isinstance(value, type | FunctionType):
            if not is_ours(value):
                raise Unknown(value)
            return f"{value.__module__}.{value.__qualname__}"
        return self._record(value)

    def _record(self, value: Any) -> str:
        """Return the text of a container or record."""
        if isinstance(value, Body):
            return self._parts(value, (graph_text(value.inputs, value.outputs),))
        if isinstance(value, slice):
            return self._parts(value, (value.start, value.stop, value.step))
        if isinstance(value, tuple | list):
            return self._parts(value, value)
        if isinstance(value, frozenset | set):
            return f"{{{sorted(map(self.value, value))}}}"
        if isinstance(value, Mapping):
            return self._parts(value, [x for pair in value.items() for x in pair])
        is_kind = isinstance(value, Type) or is_ours(type(value))
        if dataclasses.is_dataclass(value) and is_kind:
            fields = dataclasses.fields(value)
            return self._parts(value, [getattr(value, field.name) for field in fields])
        raise Unknown(value)

    def _parts(self, value: Any, parts: Iterable[Any]) -> str:
        kind = type(value)
        if kind.__module__ != "builtins" and not is_ours(kind):
            raise Unknown(value)
        name = f"{kind.__module__}.{kind.__qualname__}"
        return f"{name}({', '.join(map(self.value, parts))})"


def graph_text(inputs: Sequence[Variable], outputs: Sequence[Variable]) -> str:
    """The text of a graph by itself."""
    writer = GraphWriter()
    ends = [writer.number(variable) for variable in inputs], writer.graph(outputs)
    return "\n".join([*writer.lines, str(ends)])
