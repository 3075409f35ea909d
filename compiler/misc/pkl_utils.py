"""Pickles in a zip file, beside the arrays in them, which `numpy.load` reads as well.

The array of a shared variable goes by the variable's name.
"""

from __future__ import annotations

import io
import pickle
import zipfile
from typing import IO, Any

import numpy as np
from gpuarray.compiler.names import suggest_names
from gpuarray.compiler.shared import Container, SharedVariable

__all__ = ["dump", "load"]

_PICKLE = "pkl"


class _ArchivePickler(pickle.Pickler):
    """Writes each array to a file of its own in an archive."""

    def __init__(
        self, file: IO[bytes], archive: zipfile.ZipFile, protocol: int
    ) -> None:
        super().__init__(file, protocol)
        self.archive = archive
        self.name_of: dict[int, str] = {}
        self.stored: dict[int, str] = {}
        self.kept: list[Any] = []  # no other object may get the id of one of these

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, SharedVariable) and obj.name:
            self.name_of[id(obj.container)] = obj.name
        if not isinstance(obj, Container) or id(obj) not in self.name_of:
            return NotImplemented
        made = obj.__reduce__()
        self.name_of[id(made[1][0])] = self.name_of[id(obj)]
        self.kept.append(made)
        return made

    def persistent_id(self, obj: Any) -> str | None:
        if type(obj) is not np.ndarray or obj.dtype.hasobject:
            return None
        if id(obj) not in self.stored:
            self.kept.append(obj)
            self.stored[id(obj)] = self._free_name(id(obj))
            with self.archive.open(self.stored[id(obj)], "w") as file:
                np.lib.format.write_array(file, obj, allow_pickle=False)
        return self.stored[id(obj)]

    def _free_name(self, key: int) -> str:
        used = {_PICKLE, *self.archive.namelist()}
        name = self.name_of.get(key, f"array_{len(self.stored)}")
        return name if name not in used else f"{name}_{len(self.stored)}"


class _ArchiveUnpickler(pickle.Unpickler):
    """Reads arrays from an archive, each once."""

    def __init__(self, file: IO[bytes], archive: zipfile.ZipFile) -> None:
        super().__init__(file)
        self.archive = archive
        self.found: dict[str, Any] = {}

    def persistent_load(self, pid: Any) -> Any:
        if pid not in self.found:
            with self.archive.open(pid) as file:
                self.found[pid] = np.lib.format.read_array(file, allow_pickle=False)
        return self.found[pid]


def dump(
    obj: Any, file_handler: IO[bytes], protocol: int = pickle.DEFAULT_PROTOCOL
) -> None:
    """Write an object to a zip file: its pickle, and the arrays in it beside that.

    >>> import io, numpy
    >>> from gpuarray.compiler import shared
    >>> from gpuarray.compiler.misc import pkl_utils
    >>> file = io.BytesIO()
    >>> pkl_utils.dump([shared(numpy.ones(2), name="w")], file)
    >>> _ = file.seek(0)
    >>> print(numpy.load(file)["w"])
    [1. 1.]
    >>> pkl_utils.load(file)[0].get_value()
    array([1., 1.])
    """
    with zipfile.ZipFile(file_handler, "w", zipfile.ZIP_DEFLATED) as archive:
        text = io.BytesIO()  # a zip file takes one member after another
        _ArchivePickler(text, archive, protocol).dump(obj)
        archive.writestr(_PICKLE, text.getvalue())


def load(file: IO[bytes] | str) -> Any:
    """Return what `dump` wrote. A pickle is code: load files of people you trust."""
    with zipfile.ZipFile(file) as archive, archive.open(_PICKLE) as text:
        return _ArchiveUnpickler(text, archive).load()


suggest_names(__name__)
