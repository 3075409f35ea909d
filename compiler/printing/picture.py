"""Pictures of graphs: boxes and edges, with labels and colours.

It is independent of the format: `dot` writes Graphviz's, `view` a page for a browser.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.printing import graph_of
from gpuarray.compiler.graph.traverse import ancestors
from gpuarray.compiler.ops.scan.scan import Scan
from gpuarray.compiler.ops.variables.transfer import Transfer
from gpuarray.compiler.printing.groups import inner_graph
from gpuarray.compiler.shared import SharedVariable

COLORS = {
    "GpuFromHost": "red",
    "HostFromGpu": "red",
    "GpuToGpu": "red",
    "Scan": "yellow",
    "Shape": "brown",
    "IfElse": "magenta",
    "Elemwise": "#FFAABB",
    "MapReduce": "#FFAABB",
    "Subtensor": "#FFAAFF",
    "Alloc": "#FFAA22",
    "BroadcastTo": "#FFAA22",
}
"""The colours of nodes by the prefix of their class, after ``Gpu``."""

SHARED, INPUT, OUTPUT, UNUSED, CONSTANT = "cyan", "green", "blue", "grey", "#DDDDDD"


@dataclass
class Box:
    """A node (``kind`` apply) or a variable: its label, colour, and further facts.

    ``place`` is the node's in the order of execution; ``group`` the graph inside it,
    with ``is_loop`` that of an iteration.
    """

    id: str
    label: str
    kind: str
    color: str | None = None
    place: int | None = None
    facts: dict[str, str] = field(default_factory=dict)
    seconds: float | None = None
    group: Picture | None = None
    is_loop: bool = False


@dataclass
class Edge:
    """From a box to a box; ``mark`` is destroy, view, update, or empty."""

    source: str
    target: str
    label: str = ""
    mark: str = ""


@dataclass
class Picture:
    """Boxes, sources before their readers, and edges."""

    boxes: list[Box] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)


@dataclass
class Style:
    """The options of a picture: see `pydotprint`."""

    compact: bool = True
    with_ids: bool = False
    colors: Mapping[str, str] = field(default_factory=lambda: COLORS)
    max_label_size: int = 70
    var_with_name_simple: bool = False


def shorten(text: str, size: int) -> str:
    """Return the text, its middle left out if it is longer than ``size``."""
    if len(text) <= size:
        return text
    half = (size - 3) // 2
    return f"{text[:half]}...{text[len(text) - half :]}"


class Painter:
    """Draws the picture of a graph; it numbers boxes in the order of traversal."""

    def __init__(
        self,
        fgraph: FunctionGraph,
        style: Style,
        times: Mapping[Apply, float] | None = None,
        shapes: Mapping[Variable, str] | None = None,
        kept: Collection[Variable] = (),
        prefix: str = "",
    ) -> None:
        self.fgraph = fgraph
        self.style = style
        self.times = times or {}
        self.shapes = shapes or {}
        self.kept = frozenset(kept)
        self.prefix = prefix
        self.picture = Picture()
        self.ids: dict[Any, str] = {}
        self.outputs = set(fgraph.outputs)

    def paint(self, updates: Mapping[int, int] | None = None) -> Picture:
        """Return the picture; ``updates`` maps outputs to the inputs they become."""
        order = self.fgraph.toposort()
        for variable in self.fgraph.inputs:
            self.leaf(variable)
        for place, node in enumerate(order):
            self.node(node, place)
        for index, output in enumerate(self.fgraph.outputs):
            target = (updates or {}).get(index)
            if target is None:
                self.output(output)
            else:
                self.edge(
                    self.source(output),
                    self.ids[self.fgraph.inputs[target]],
                    "UPDATE",
                    "update",
                )
        return self.picture

    def new_id(self, key: Any, letter: str) -> str:
        """Return the id of a new box."""
        self.ids[key] = f"{self.prefix}{letter}{len(self.ids)}"
        return self.ids[key]

    def facts(self, variable: Variable) -> dict[str, str]:
        """Return the known facts of a variable."""
        facts = {"type": str(variable.type)}
        if variable in self.shapes:
            facts["shape"] = self.shapes[variable]
        if isinstance(variable, Constant):
            facts["value"] = str(variable)
        return facts

    def leaf(self, variable: Variable) -> str:
        """Return the box of an input or a constant."""
        if variable in self.ids:
            return self.ids[variable]
        if isinstance(variable, Constant):
            color = CONSTANT
        elif isinstance(variable, SharedVariable) or variable in self.kept:
            color = SHARED
        elif not self.fgraph.clients.get(variable):
            color = UNUSED
        else:
            color = INPUT
        self.picture.boxes.append(
            Box(
                self.new_id(variable, "v"),
                self.variable_label(variable),
                "variable",
                color,
                facts=self.facts(variable),
            )
        )
        return self.ids[variable]

    def variable_label(self, variable: Variable) -> str:
        """Return the name of a variable, with its type unless names suffice."""
        text = str(variable)
        if not (self.style.var_with_name_simple and variable.name) and (
            variable.name is not None or variable.owner is not None
        ):
            name = f"name={variable.name} " if variable.name else ""
            text = f"{name}{variable.type}"
        return shorten(text, self.style.max_label_size)

    def node(self, node: Apply, place: int) -> None:
        """Return the box of a node, and draw the edges that lead to it."""
        number = f"id={place} " if self.style.with_ids else ""
        label = shorten(f"{number}{node.op}", self.style.max_label_size)
        facts = {"op": str(node.op)}
        facts |= {f"input {i}": str(v.type) for i, v in enumerate(node.inputs)}
        for i, output in enumerate(node.outputs):
            facts |= {
                f"output {i}" + ("" if name == "type" else f" {name}"): text
                for name, text in self.facts(output).items()
            }
        if node.trace is not None:
            facts["made at"] = str(node.trace)
        seconds = self.times.get(node)
        box = Box(
            self.new_id(node, "n"),
            label,
            "apply",
            self.color(node),
            place,
            facts,
            seconds,
        )
        inner = inner_graph(node)
        if inner is not None:
            prefix = f"{box.id}."
            box.group = Painter(inner, self.style, self.times, prefix=prefix).paint()
            box.is_loop = isinstance(node.op, Scan)
        sources = [
            self.leaf(v) if v.owner is None else self.source(v) for v in node.inputs
        ]
        self.picture.boxes.append(box)
        destroyed = {i for indices in node.op.destroy_map.values() for i in indices}
        viewed = {i for indices in node.op.view_map.values() for i in indices}
        for i, (variable, source) in enumerate(zip(node.inputs, sources, strict=True)):
            mark = "destroy" if i in destroyed else "view" if i in viewed else ""
            if isinstance(node.op, Transfer):
                mark = ""  # other memory
            self.edge(source, box.id, self.edge_label(node, i, variable), mark)

    def edge_label(self, node: Apply, index: int, variable: Variable) -> str:
        """Return the number of the input, and the type if no box has it."""
        number = f"{index} " if len(node.inputs) > 1 else ""
        is_boxed = variable.owner is None or not self.style.compact
        text = number if is_boxed else f"{number}{variable.type}"
        return shorten(text.strip(), self.style.max_label_size)

    def color(self, node: Apply) -> str | None:
        """Return the colour of the node's class, if it has one."""
        name = type(node.op).__name__
        for start, color in self.style.colors.items():
            if name.startswith((start, f"Gpu{start}")):
                return color
        return None

    def source(self, variable: Variable) -> str:
        """Return the box that an edge from a variable begins at."""
        node = variable.owner
        if node is None:
            return self.leaf(variable)
        if self.style.compact and variable.name is None:
            return self.ids[node]
        if variable not in self.ids:
            facts = self.facts(variable)
            label = self.variable_label(variable)
            color = OUTPUT if variable in self.outputs else None
            box = Box(self.new_id(variable, "v"), label, "variable", color, facts=facts)
            self.picture.boxes.append(box)
            number = str(variable.index) if len(node.outputs) > 1 else ""
            self.edge(self.ids[node], box.id, number)
        return self.ids[variable]

    def output(self, variable: Variable) -> None:
        """Mark a variable as an output."""
        if variable.owner is None:
            name = self.leaf(variable)
            box = next(
                candidate for candidate in self.picture.boxes if candidate.id == name
            )
            box.color = OUTPUT
            return
        begin = self.source(variable)
        if begin != self.ids[variable.owner] or (variable, "output") in self.ids:
            return
        facts = self.facts(variable)
        label = shorten(str(variable.type), self.style.max_label_size)
        name = self.new_id((variable, "output"), "v")
        self.picture.boxes.append(Box(name, label, "variable", OUTPUT, facts=facts))
        number = str(variable.index) if len(variable.owner.outputs) > 1 else ""
        self.edge(begin, name, number)

    def edge(self, source: str, target: str, label: str = "", mark: str = "") -> None:
        """Draw a new edge."""
        self.picture.edges.append(Edge(source, target, label, mark))


def picture_of(obj: Any, style: Style, asked_by: str) -> Picture:
    """Return the picture of a function, a graph, a variable, or a list of variables."""
    if isinstance(obj, Variable | Apply | list | tuple):
        listed = list(obj) if isinstance(obj, list | tuple) else [obj]
        roots: list[Variable] = []
        for item in listed:
            if isinstance(item, Apply):
                roots += item.outputs
            elif isinstance(item, Variable):
                roots.append(item)
            else:
                graph_of(item, asked_by)  # raises, unless it is a function
                return picture_of(item, style, asked_by)
        leaves = [
            v
            for v in ancestors(roots)
            if v.owner is None and not isinstance(v, Constant)
        ]
        graph = FunctionGraph(dict.fromkeys(leaves), roots)  # type: ignore[arg-type]
        return Painter(graph, style).paint()
    fgraph = graph_of(obj, asked_by)
    profile = getattr(obj, "profile", None)
    times = dict(getattr(profile, "apply_time", {}))
    for loop in getattr(profile, "loops", {}).values():
        times |= loop.seconds
    shapes: dict[Variable, str] = {}
    for memory in getattr(profile, "memory", {}).values():
        for node in memory.nodes:
            shapes |= zip(node.node.outputs, map(str, node.shapes), strict=True)
    updates = getattr(obj, "next_values", None)
    count = len(getattr(obj, "inputs", fgraph.inputs))
    shared = fgraph.inputs[count:]  # shared variables come after what is given
    return Painter(fgraph, style, times, shapes, shared).paint(updates)
