"""Lanczos iterations, for eigenvalues and for singular values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from gpuarray._creation.filled import zeros
from gpuarray._linalg.norms import vector_norm
from gpuarray._manipulation.joining import concatenate
from gpuarray._sparse.base import is_sparse
from gpuarray._sparse.operators import LinearOperator
from gpuarray._sparse.solvers import orthogonal
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray.array import Array
from gpuarray.dtypes import kind_of, parts_dtype
from gpuarray.random import Generator, default_rng

where = FUNCTIONS["where"]


def generator_of(rng: Generator | int | None, A: Any, v0: Any) -> Generator:
    """Return random numbers where a matrix is, an operator, or the first vector."""
    if isinstance(rng, Generator):
        return rng
    place = A.context if is_sparse(A) else getattr(v0, "context", None)
    place = getattr(A, "context", place)
    return default_rng(0 if rng is None else rng, context=place)


class Lanczos:
    """Steps: vectors as rows of the arrays in ``grows``, two numbers of each step.

    ``grows`` tells how many rows an array has beyond the ``count`` steps that are done;
    ``steps`` has the numbers.
    """

    grows: ClassVar[dict[str, int]]

    def __init__(self, operator: LinearOperator, rng: Generator) -> None:
        self.operator, self.rng = operator, rng
        dtype = operator.dtype
        self.dtype = dtype if kind_of(dtype) in "fc" else np.dtype(np.float64)
        self.real = parts_dtype(self.dtype)
        self.steps = zeros((0, 2), self.real, rng.context)
        self.count = 0

    def on_device(self, host: Any, dtype: np.dtype[Any]) -> Any:
        """Return numbers of the host as an array."""
        return Array.from_host(host.astype(dtype), self.rng.context)

    def near(self, tol: float) -> float:
        """Return how near values shall be, relative to the largest."""
        return max(tol, 4 * float(np.finfo(self.real).eps))

    def grow(self, count: int) -> None:
        """Make room for as many steps."""
        for name, more in (*self.grows.items(), ("steps", 0)):
            array = getattr(self, name)
            shape = count + more - array.shape[0], array.shape[1]
            rest = zeros(shape, array.dtype, array.context)
            setattr(self, name, concatenate([array, rest]))

    def blocks(self, k: int, limit: int) -> Iterator[Any]:
        """Take steps up to ``limit``; after each block give the numbers of all."""
        block = max(2 * k + 1, 20)
        while self.count < limit:
            stop = min(self.count + block, limit)
            self.grow(stop)
            for j in range(self.count, stop):
                self.take(j)
            self.count = stop
            yield self.steps._read().astype(np.float64)

    def take(self, j: int) -> None:
        """Take step ``j``: its vectors, and its two numbers."""
        raise NotImplementedError

    def measure(self, first: Any) -> None:
        """Note how large rounding errors are, by the first product."""
        size = vector_norm(first) * np.finfo(self.real).eps
        self.small = where(size == 0, size.dtype.type(1), size)

    def apart(self, w: Any, basis: Any) -> Any:
        """Return a vector made orthogonal to rows.

        Where they span all that A maps to, rounding errors would be left, or zeros;
        random numbers as small as these lead on.
        """
        noise = self.random(w.size) * (self.small * float(w.size) ** -0.5)
        w = orthogonal(w, basis)[0] + noise
        return w - (basis.conj() @ w) @ basis

    def random(self, size: int) -> Any:
        """Return a vector of random numbers."""
        numbers: Any = self.rng.random(size, dtype=self.real)
        numbers = numbers - 0.5
        return numbers.astype(self.dtype, copy=False)
