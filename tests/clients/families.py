"""Runs saved functions without the compiler; compares with what NumPy wrote.

    python families.py FOLDER DEVICE...

``tests/family_files.py`` tells what the folder has. The last line says how many results
and values were right.
"""

import sys
from pathlib import Path

import gpuarray
import numpy as np
from gpuarray.dtypes import as_dtype


class Client:
    """One run through the calls, on a device."""

    def __init__(self, folder, device):
        self.folder = Path(folder)
        self.data = np.fromfile(self.folder / "data", np.float64)
        self.context = gpuarray.context(device)
        self.right = 0
        self.arguments = self.made = None

    def run(self):
        for line in (self.folder / "calls").read_text().splitlines():
            word, *words = line.split()
            getattr(self, word)(*words)
        self._end()
        return self.right

    def function(self, file, rtol, atol, *name):
        self._end()
        self.name = " ".join(name)
        self.rtol, self.atol = float(rtol), float(atol)
        self.f = gpuarray.load_function(self.folder / file, self.context)

    def call(self):
        self._end()
        self.arguments = []

    def given(self, kind, *words):
        if kind == "int":
            self.arguments.append(int(words[0]))
        elif kind == "none":
            self.arguments.append(None)
        else:
            self.arguments.append(self._described(kind, *words))

    def result(self, *words):
        self._compare(self._results().pop(0), words)

    def value(self, name, *words):
        self._results()
        self._compare(self.f[name], words)

    def _results(self):
        """Of the call, which is made when they are first asked for."""
        if self.made is None:
            while self.arguments and self.arguments[-1] is None:
                self.arguments.pop()
            made = self.f(*self.arguments)
            self.made = made if isinstance(made, list) else [made]
        return self.made

    def _end(self):
        if self.arguments is not None:
            assert not self._results(), f"{self.name}: more results than NumPy's"
        self.arguments = self.made = None

    def _described(self, dtype, offset, _, *shape):
        dtype = as_dtype(dtype)
        shape = tuple(map(int, shape))
        size = int(np.prod(shape)) * (2 if dtype.kind == "c" else 1)
        numbers = self.data[int(offset) :][:size]
        if dtype.kind == "c":
            numbers = numbers.view(np.complex128)
        return numbers.astype(dtype).reshape(shape)

    def _compare(self, found, words):
        wanted = self._described(*words)
        found = np.asarray(found)
        said = f"{self.name} on {self.context.name}"
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), said
        np.testing.assert_allclose(
            found.astype(wide(found)),
            wanted.astype(wide(wanted)),
            rtol=self.rtol,
            atol=self.atol,
            err_msg=said,
        )
        self.right += 1


def wide(a):
    return np.complex128 if a.dtype.kind == "c" else np.float64


if __name__ == "__main__":
    sys.modules["gpuarray.compiler"] = None  # an import of it fails
    folder, *devices = sys.argv[1:]
    print(sum(Client(folder, device).run() for device in devices))
