"""Sparse arrays in scipy's .npz files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gpuarray._core.arguments import require_file
from gpuarray._core.opening import context as find_context
from gpuarray._creation.arguments import Place
from gpuarray._files.npyio import File, device_array, host_of, opened_file
from gpuarray._sparse.arrays import coo_array, csc_array, csr_array
from gpuarray._sparse.base import require
from gpuarray.errors import BadValue, Unsupported

_CLASSES = {"csr": csr_array, "csc": csc_array}


def save_npz(file: File, matrix: Any, compressed: bool = True) -> None:
    """Write a sparse array to a .npz file, which ``scipy.sparse.load_npz`` reads.

    A name without ``.npz`` gets it; the file is replaced atomically.

    >>> A = gpuarray.sparse.csr_array([[0, 1], [2, 0]])
    >>> gpuarray.sparse.save_npz("one.npz", A)
    >>> print(gpuarray.sparse.load_npz("one.npz").toarray())
    [[0 1]
     [2 0]]
    """
    a = require(matrix, "save_npz")
    pattern = a._pattern
    first, second = (
        host_of(part, "save_npz") for part in (pattern.indices, pattern.indptr)
    )
    if a.format != "coo":
        parts = {"indices": first, "indptr": second}
    elif a.ndim == 2:
        parts = {"row": second, "col": first}
    else:
        parts = {"coords": first[None]}
    data = host_of(a._values, "save_npz")
    shape, format = np.array(a.shape), np.array(a.format.encode())
    write = np.savez_compressed if compressed else np.savez
    with opened_file(file, ".npz") as opened:
        write(opened, **parts, format=format, shape=shape, data=data, _is_array=True)


def load_npz(file: File, context: Place = None) -> Any:
    """Return the sparse array of a .npz file of ours or of scipy's; waits.

    Its indices are checked. Formats other than CSR, CSC and COO: Unsupported.

    >>> A = gpuarray.sparse.coo_array(([1.0], ([0], [1])), shape=(1, 2))
    >>> gpuarray.sparse.save_npz("two.npz", A)
    >>> gpuarray.sparse.load_npz("two.npz").format
    'coo'
    """
    require_file(file, "load_npz")
    place = find_context(context)
    with np.load(Path(file) if isinstance(file, str) else file) as loaded:
        if "format" not in loaded:
            raise BadValue(f"load_npz: {file} has no sparse array; use gpuarray.load")
        format = loaded["format"].item()
        format = format.decode() if isinstance(format, bytes) else format
        shape = tuple(loaded["shape"].tolist())
        if format not in ("csr", "csc", "coo"):
            raise Unsupported(
                f"load_npz: format {format!r} is not offered; use gpuarray.sparse."
                "csr_array(scipy.sparse.load_npz(file))"
            )
        values = device_array(loaded["data"], "load_npz", place)
        if format != "coo":
            three = values, loaded["indices"], loaded["indptr"]
            return _CLASSES[format](three, shape=shape)
        is_listed = "coords" in loaded
        coords = loaded["coords"] if is_listed else (loaded["row"], loaded["col"])
        return coo_array((values, tuple(coords)), shape=shape)
