"""A graph as a page for a browser: one file without dependencies."""

from __future__ import annotations

import html
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from gpuarray._core.file_write import write_file
from gpuarray.compiler.printing.picture import Picture, Style, picture_of


def data_of(picture: Picture) -> dict[str, Any]:
    """Return the picture as plain data, groups within groups."""
    boxes = []
    for box in picture.boxes:
        entry: dict[str, Any] = {
            "id": box.id,
            "label": box.label,
            "kind": box.kind,
            "facts": box.facts,
        }
        if box.color is not None:
            entry["color"] = box.color
        if box.place is not None:
            entry["place"] = box.place
        if box.seconds is not None:
            entry["seconds"] = box.seconds
        if box.group is not None:
            entry["group"] = data_of(box.group)
        boxes.append(entry)
    edges = [
        {"from": e.source, "to": e.target, "label": e.label, "mark": e.mark}
        for e in picture.edges
    ]
    return {"boxes": boxes, "edges": edges}


def page(picture: Picture, title: str) -> str:
    """Return the page that shows a picture."""
    template = files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    # A script must not contain its end tag.
    data = json.dumps(data_of(picture)).replace("<", "\\u003c")
    return template.replace("@TITLE@", html.escape(title)).replace("@DATA@", data)


def viz(
    fct: Any,
    outfile: str | Path,
    compact: bool = True,
    with_ids: bool = True,
    max_label_size: int = 48,
) -> None:
    """Write a page that shows a function, a graph, a variable, or a list of variables.

    The page is one file that works from disk, without a network. The wheel zooms,
    dragging moves, a click opens a group: a fused kernel, the body of a loop, an
    `OpFromGraph`. Hovering over a box shows its types, the line that made it, and, for
    a profiled function, shapes and times. Options are as for `pydotprint`.
    """
    style = Style(compact, with_ids, max_label_size=max_label_size)
    title = getattr(fct, "name", None) or str(fct)
    write_file(outfile, page(picture_of(fct, style, "viz"), title))


def d3viz(
    fct: Any, outfile: str | Path, copy_deps: bool = True, **options: Any
) -> None:
    """`viz` by Theano's name; there is nothing else to copy."""
    viz(fct, outfile, **options)
