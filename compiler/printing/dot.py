"""Pictures of graphs by Graphviz: text, and with its program PNG, SVG or PDF."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gpuarray._core.file_write import write_file
from gpuarray.compiler.errors import CompilerError, GraphValueError, MissingProgramError
from gpuarray.compiler.printing.picture import (
    COLORS,
    Box,
    Edge,
    Picture,
    Style,
    picture_of,
)

FORMATS = ("png", "svg", "pdf", "dot")
DARK = ("blue", "brown", "grey")  # white letters are more legible on these
EDGES = {"destroy": "red", "view": "blue", "update": "grey"}


def quoted(text: str) -> str:
    """Return a quoted text for Graphviz."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def attributes(**texts: str | None) -> str:
    """Return a list of attributes: ``[label="x" color="red"]``."""
    pairs = (f"{name}={quoted(text)}" for name, text in texts.items() if text)
    return f"[{' '.join(pairs)}]"


def dot_text(
    picture: Picture, high_contrast: bool = True, scan_graphs: bool = False
) -> str:
    """Return the picture in Graphviz's language, if wanted with the bodies of loops."""
    lines = _lines(picture, high_contrast, scan_graphs)
    return "\n".join(["digraph graph_ {", *lines, "}", ""])


def _lines(picture: Picture, high_contrast: bool, scan_graphs: bool) -> Iterator[str]:
    whole = sum(box.seconds or 0.0 for box in picture.boxes)
    for box in picture.boxes:
        yield f"  {_id(box.id)} {_box(box, high_contrast, whole)};"
        if scan_graphs and box.is_loop and box.group is not None:
            yield f"  subgraph {quoted(f'cluster_{box.id}')} {{"
            yield f"  label={quoted(f'an iteration of {box.label}')};"
            yield from _lines(box.group, high_contrast, scan_graphs)
            yield "  }"
    for edge in picture.edges:
        yield f"  {_id(edge.source)} -> {_id(edge.target)} {_edge(edge)};"


def _id(name: str) -> str:
    """Return the id of a box: one of a box in a group has a dot, so it is quoted."""
    return quoted(name) if "." in name else name


def _box(box: Box, high_contrast: bool, whole: float) -> str:
    label = box.label
    if box.seconds is not None and whole > 0:
        label += f"\n{box.seconds:.3g}s {100 * box.seconds / whole:.1f}%"
    shape = "ellipse" if box.kind == "apply" else "box"
    if high_contrast and box.color:
        return attributes(
            label=label,
            shape=shape,
            style="filled",
            fillcolor=box.color,
            fontcolor="white" if box.color in DARK else None,
        )
    return attributes(label=label, shape=shape, color=box.color)


def _edge(edge: Edge) -> str:
    style = "dashed" if edge.mark == "update" else None
    return attributes(label=edge.label, color=EDGES.get(edge.mark), style=style)


def pydotprint(
    fct: Any,
    outfile: str | Path | None = None,
    compact: bool = True,
    format: str = "png",
    with_ids: bool = False,
    high_contrast: bool = True,
    colorCodes: Mapping[str, str] | None = None,
    max_label_size: int = 70,
    var_with_name_simple: bool = False,
    print_output_file: bool = True,
    return_image: bool = False,
    scan_graphs: bool = False,
) -> bytes | str | None:
    """Draw a function, a graph, a variable or a list of variables with Graphviz.

    Ellipses are nodes, boxes variables: cyan those that are shared, green inputs, blue
    outputs, grey unused ones. Blue edges lead to nodes that view an input, red ones to
    nodes that overwrite it; the edge ``UPDATE`` leads from a new value to its shared
    variable. Nodes of a profiled function show their times.

    The picture is written to ``outfile``, by default ``pydotprint.png`` in the current
    folder; its extension, or else ``format``, is the format: ``png``, ``svg``, ``pdf``,
    or ``dot``, the text. With ``return_image`` it is returned instead, a text for
    ``dot`` and ``svg``. With ``compact`` the variables between nodes that have no name
    are left out. ``with_ids`` adds the positions in the order of execution,
    ``high_contrast`` fills the shapes, ``colorCodes`` maps prefixes of classes of ops
    to colours, ``max_label_size`` truncates labels, and with ``var_with_name_simple``
    variables that have names show these only.

    Raises TypeError for objects without a graph, ValueError for another format, and
    RuntimeError if Graphviz's program ``dot`` is missing; the text is written in this
    case, too.
    """
    style = Style(
        compact,
        with_ids,
        COLORS if colorCodes is None else colorCodes,
        max_label_size,
        var_with_name_simple,
    )
    path = Path("pydotprint" if outfile is None else outfile)
    if path.suffix[1:] in FORMATS:
        format = path.suffix[1:]
    elif format in FORMATS:
        path = path.with_name(f"{path.name}.{format}")
    if format not in FORMATS:
        raise GraphValueError(
            f"pydotprint: format={format!r}; it takes {', '.join(FORMATS)}"
        )
    text = dot_text(picture_of(fct, style, "pydotprint"), high_contrast, scan_graphs)
    if return_image:
        if format == "dot":
            return text
        image = drawn(text, format, None)
        return image.decode() if format == "svg" else image
    if format == "dot":
        write_file(path, text)
    else:
        write_file(path, drawn(text, format, path.with_suffix(".dot")))
    if print_output_file:
        print(f"The output file is available at {path}")  # noqa: T201
    return None


def drawn(text: str, format: str, beside: Path | None) -> bytes:
    """Return a text drawn by Graphviz; without it the text is written to ``beside``."""
    program = shutil.which("dot")
    if program is None:
        where = ""
        if beside is not None:
            write_file(beside, text)
            where = f"; the graph is in {beside} as text"
        raise MissingProgramError(
            f"pydotprint: the program `dot` is not there, so there is no {format}; "
            "install Graphviz (apt install graphviz, brew install graphviz, "
            f"conda install graphviz), or ask for format='dot'{where}"
        )
    process = subprocess.run(
        [program, f"-T{format}"], input=text.encode(), capture_output=True, check=False
    )
    if process.returncode != 0:
        raise CompilerError(
            f"pydotprint: dot failed: {process.stderr.decode().strip()}"
        )
    return process.stdout


def pydotprint_variables(vars: Any, outfile: Any = None, **options: Any) -> Any:
    """`pydotprint` of variables, by its older name."""
    return pydotprint(vars, outfile, **options)
