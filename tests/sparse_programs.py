"""Programs of sparse matrices: what they compute, by SciPy and by the package.

By NumPy a matrix is its stored values with their places, which may repeat. Its numbers
may be complex: a slope is the imaginary part of a value, moved by an imaginary step.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from gpuarray.compiler import (
    shared,
    sparse as S,
    tensor as T,
)


@dataclass
class Stored:
    """Values at rows and columns of a matrix."""

    rows: Any
    columns: Any
    values: Any
    shape: tuple[int, int]

    def with_values(self, values):
        return Stored(self.rows, self.columns, values, self.shape)

    def dense(self):
        made = np.zeros(self.shape, self.values.dtype)
        np.add.at(made, (self.rows, self.columns), self.values)
        return made

    def turned(self):
        return Stored(self.columns, self.rows, self.values, self.shape[::-1])

    def chosen(self, which):
        return Stored(
            self.rows[which], self.columns[which], self.values[which], self.shape
        )

    def places(self):
        """An array that is 1 where a value is stored."""
        return self.with_values(np.ones(len(self.rows))).dense() > 0

    def taken(self, rows):
        """Some rows."""
        found = [np.flatnonzero(self.rows == row) for row in rows]
        which = np.concatenate([*found, np.zeros(0, int)]).astype(int)
        at = np.repeat(np.arange(len(rows)), [len(each) for each in found])
        return Stored(
            at, self.columns[which], self.values[which], (len(rows), self.shape[1])
        )


def at_places(dense, places):
    rows, columns = np.nonzero(places)
    return Stored(rows, columns, dense[rows, columns], dense.shape)


def not_zero(dense):
    return at_places(dense, dense.real != 0)


def stored_of(matrix, values=None):
    """A matrix of scipy, with other values."""
    lengths = np.diff(matrix.indptr)
    major = np.repeat(np.arange(len(lengths)), lengths)
    pair = (major, matrix.indices)
    rows, columns = pair if matrix.format == "csr" else pair[::-1]
    return Stored(
        rows, columns, matrix.data if values is None else values, matrix.shape
    )


@dataclass
class Value:
    """An expression, its place in the program, its shape; a matrix if it is sparse."""

    symbol: Any
    place: int
    shape: tuple[int, ...]

    @property
    def kind(self):
        if self.symbol.is_sparse:
            return "sparse"
        return ("scalar", "vector", "dense")[len(self.shape)]


@dataclass
class Leaf:
    """A variable that is moved: its value, and how the judge reads its numbers.

    A shared variable has no argument.
    """

    symbol: Any
    value: Any
    place: int
    read: Any
    is_argument: bool = True

    @property
    def numbers(self):
        data = self.value.data if sp.issparse(self.value) else self.value
        return np.asarray(data, "float64").ravel()

    def of(self, gradient):
        """A gradient's numbers, in the order of the leaf's."""
        if not sp.issparse(self.value):
            return np.asarray(gradient).ravel()
        dense = gradient.toarray() if sp.issparse(gradient) else np.asarray(gradient)
        own = stored_of(self.value)
        return dense[own.rows, own.columns]

    def weights(self, rng):
        """Weights of the gradient: an array of its shape, and those of the numbers."""
        if not sp.issparse(self.value):
            drawn = rng.normal(size=np.shape(self.value))
            return drawn, drawn.ravel()
        own = stored_of(self.value, rng.normal(size=self.value.nnz))
        return own.dense(), own.values


@dataclass
class Program:
    """An expression while it is drawn: leaves, steps by NumPy, values so far."""

    rng: np.random.Generator
    leaves: list[Leaf] = field(default_factory=list)
    steps: list[Any] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    is_smooth: bool = True

    def run(self, numbers):
        """The last step's value, of the leaves' numbers."""
        known: list[Any] = []
        moved = {
            leaf.place: part for leaf, part in zip(self.leaves, numbers, strict=True)
        }
        for place, (function, operands) in enumerate(self.steps):
            if place in moved:
                known.append(function(moved[place]))
            else:
                known.append(function(*(known[each.place] for each in operands)))
        return known[-1]

    def put(self, name, symbol, function, operands, shape):
        """One more value."""
        places = " ".join(str(each.place) for each in operands)
        self.log.append(f"{len(self.steps)}: {name} {places}{tuple(shape)}")
        self.steps.append((function, operands))
        return Value(symbol, len(self.steps) - 1, tuple(shape))

    # ---- leaves ----

    def numbers(self, *shape):
        signs = self.rng.choice([-1, 1], shape)
        return signs * self.rng.uniform(0.3, 1.2, shape)

    def length(self):
        return int(
            self.rng.choice([0, 1, 2, 3, 4, 5], p=[0.04, 0.1, 0.2, 0.3, 0.2, 0.16])
        )

    def array(self, *shape):
        """A dense leaf."""
        value = self.numbers(*shape)
        symbol = T.TensorType("float64", (False,) * len(shape))()

        def read(part):
            return part.reshape(shape)

        made = self.put("array", symbol, read, (), shape)
        self.leaves.append(Leaf(symbol, value, made.place, read))
        return made

    def places(self, rows, columns, repeats=False):
        """Rows and columns of values, in no order."""
        share = self.rng.choice([0.0, 0.3, 0.6, 1.0], p=[0.05, 0.4, 0.4, 0.15])
        chosen = np.flatnonzero(self.rng.random(rows * columns) < share)
        if repeats and chosen.size:
            chosen = np.append(chosen, self.rng.choice(chosen, 2))
        self.rng.shuffle(chosen)
        return chosen // max(columns, 1), chosen % max(columns, 1)

    def host_matrix(self, rows, columns, repeats=False):
        """A matrix of scipy, in order or not; a value in ten is a stored zero."""
        at, across = self.places(rows, columns, repeats)
        format = str(self.rng.choice(["csr", "csc"]))
        values = self.numbers(len(at))
        if self.rng.random() < 0.2 and values.size:
            values[self.rng.random(values.size) < 0.3] = 0
            self.is_smooth = False
        major, minor = (at, across) if format == "csr" else (across, at)
        if self.rng.random() < 0.5:
            order = np.lexsort((minor, major))
        else:
            order = np.argsort(major, kind="stable")
        count = rows if format == "csr" else columns
        starts = np.searchsorted(major[order], np.arange(count + 1))
        make = {"csr": sp.csr_matrix, "csc": sp.csc_matrix}[format]
        arrays = values[order], minor[order].astype("int32"), starts.astype("int32")
        return make(arrays, shape=(rows, columns))

    def matrix(self, rows, columns):
        """A sparse leaf: an argument, a shared one, a constant, or one of arrays."""
        way = self.rng.choice(["argument", "shared", "constant", "arrays"])
        value = self.host_matrix(rows, columns, repeats=way == "arrays")
        shape = (rows, columns)
        if way == "constant":
            kept = stored_of(value)
            return self.put("constant", S.constant(value), lambda: kept, (), shape)
        if way == "arrays":
            symbol = T.dvector()
            make = {"csr": S.CSR, "csc": S.CSC}[value.format]
            made = make(symbol, value.indices, value.indptr, shape)
        elif way == "shared":
            made = symbol = shared(value)
        else:
            made = symbol = S.matrix(value.format, dtype="float64")

        def read(part):
            return stored_of(value, part)

        found = self.put(f"{way} {value.format}", made, read, (), shape)
        of_leaf = value.data if way == "arrays" else value
        self.leaves.append(Leaf(symbol, of_leaf, found.place, read, way != "shared"))
        return found
