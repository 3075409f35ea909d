"""Sparse matrices as arguments and results of functions from files.

A file's inputs are the arrays of a matrix, ``x.data``, ``x.indices``, ``x.indptr``, and
``x.minor``, the length of the axis that is not compressed; so a program in another
language calls it. Here they are matrices again.
"""

from __future__ import annotations

from typing import Any

from gpuarray._files.function_files import LoadedFunction
from gpuarray.compiler.function.interface import In
from gpuarray.compiler.function.packing import Packing
from gpuarray.compiler.graph.types import Type, generic
from gpuarray.compiler.ops.sparse.types import SparseType


def described(packing: Packing | None) -> dict[str, Any] | None:
    """Return the JSON of a function's sparse matrices; None where there are none."""
    if packing is None:
        return None
    inputs = []
    for index, spec in enumerate(packing.inputs):
        kind = spec.variable.type
        entry: dict[str, Any] = {"name": spec.called, "implicit": bool(spec.implicit)}
        entry["optional"] = spec.value is not None
        if isinstance(kind, SparseType):
            entry |= {"format": kind.format, "dtype": kind.dtype}
            entry |= {"strict": spec.strict, "downcast": packing.downcast_of(spec)}
            entry["canonical"] = index in packing.canonical
        inputs.append(entry)
    form: Any = packing.form
    return {"inputs": inputs, "outputs": packing.formats, "form": form}


def packing_of(told: dict[str, Any]) -> Packing:
    """Return the packing from a file's JSON."""
    inputs = []
    for entry in told["inputs"]:
        kind: Type = generic
        if "format" in entry:
            kind = SparseType(entry["format"], entry["dtype"])
        spec = In(
            kind(entry["name"]),
            entry["name"],
            value=True if entry["optional"] else None,
            strict=entry.get("strict", False),
            allow_downcast=entry.get("downcast"),
            implicit=entry["implicit"],
        )
        inputs.append(spec)
    form = told["form"]
    return Packing(
        tuple(inputs),
        tuple(told["outputs"]),
        tuple(form) if isinstance(form, list) else form,
        frozenset(
            i for i, entry in enumerate(told["inputs"]) if entry.get("canonical")
        ),
    )


class OfMatrices(LoadedFunction):
    """A function from a file that takes and gives matrices where the saved one did."""

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run on ``args``; named inputs may be keyword arguments."""
        told = self.interface.matrices
        if told is None:
            return super().__call__(*args, **named)
        packing = packing_of(told)
        flat, by_name = packing.arguments(self.name, args, named)
        return packing.returned(super().__call__(*flat, **by_name))
