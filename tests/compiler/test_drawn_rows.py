"""Programs of rows, drawn: values of every rank meet the rows of arrays of every rank.

Each draw is of one set of axes, as a program of rows is: elements, values for each row
with and without the last axis, for each place in a row, and numbers of all ranks. What
becomes of them stands beside what fits no program: other axes, totals, products.
"""

import random

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import rewrites
from gpuarray.compiler.errors import CompilerError
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.elemwise.elemwise import CompositeStep
from gpuarray.compiler.ops.fused import row_steps
from gpuarray.compiler.ops.fused.rowwise import Rowwise
from gpuarray.compiler.ops.nnet.nnet import FirstRows
from random_drawing import quiet
from run_graph import run_graph

LEADS = [(), (False,), (True,), (False, False), (True, False), (False, True)]
LENGTHS = (3, 4, 5)
STEPS = 14
LONGEST = 600
DRAWS = 300


class Rows:
    """Inputs, values and results of one draw; ``pool`` has what is there to read."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        self.lead = LEADS[seed % len(LEADS)]
        ndim = len(self.lead) + 1
        ones = (True,) * len(self.lead)
        patterns = {
            "x": (*self.lead, False), "y": (*self.lead, False),
            "row": (*self.lead, True), "lean": self.lead, "column": (*ones, False),
            "vector": (False,), "number": (), "one": (True,) * ndim,
            "far": (True,) * (ndim + 1),
        }  # fmt: skip
        self.values = {
            self.variable(name, pattern): self.array(pattern, ndim)
            for name, pattern in patterns.items()
        }
        self.places = TensorType("int64", (False,))("places")
        self.values[self.places] = self.rng.integers(0, LENGTHS[-1], LENGTHS[0])
        self.inputs = list(self.values)
        self.pool = self.inputs[:-1]
        with quiet():
            for _ in range(STEPS):
                self.grow()
        made = [each for each in self.pool if each.owner is not None]
        self.outputs = [*made[-3:], *self.random.sample(made, 2)]

    def variable(self, name, pattern):
        dtype = self.random.choice(["float64"] * 5 + ["float32", "int64"])
        return TensorType(dtype, pattern)(name)

    def array(self, pattern, ndim):
        """Values of the lengths that the axes of elements have, which are the last."""
        lengths = (*LENGTHS[: ndim - 1], LENGTHS[-1])
        if len(pattern) < ndim and pattern == self.lead:
            lengths = lengths[:-1]
        lengths = (1, *lengths)[len(lengths) + 1 - len(pattern) :]
        pairs = zip(pattern, lengths, strict=True)
        shape = [1 if flag else length for flag, length in pairs]
        return np.round(self.rng.uniform(0.5, 3, shape), 2)

    def grow(self):
        """One more value, if it is one and not too large."""
        for _ in range(8):
            try:
                made = self.random.choice(KINDS)(self)
                FunctionGraph(self.inputs, [made])
                (value,) = run_graph(FunctionGraph(self.inputs, [made]), self.given())
            except (CompilerError, ValueError, TypeError, IndexError):
                continue  # not for these axes or dtypes
            if value.size <= LONGEST and value.ndim <= 4:
                self.pool.append(made)
                return

    def given(self):
        return {v: a.astype(v.dtype) for v, a in self.values.items()}

    def pick(self):
        return self.random.choice(self.random.choice([self.pool, self.pool[-5:]]))

    def cells(self):
        """An array of elements."""
        pattern = (*self.lead, False)
        return self.random.choice(
            [v for v in self.pool if v.type.broadcastable == pattern]
        )

    def rows(self):
        """A value for each row."""
        patterns = ((*self.lead, True), self.lead)
        return self.random.choice(
            [v for v in self.pool if v.type.broadcastable in patterns]
        )


def unary(d):
    return d.random.choice([T.tanh, T.sqr, T.neg, T.abs, T.floor, T.sqrt])(d.pick())


def met(d):
    x, y = d.random.choice([(d.cells(), d.pick()), (d.pick(), d.pick())])
    return d.random.choice([T.add, T.sub, T.mul, T.maximum, T.true_div, T.gt])(x, y)


def scaled(d):
    return d.pick() * d.random.choice([2, 0.5, -1.0])


def fold(d):
    name = d.random.choice(["sum", "max", "min", "mean", "prod"])
    return getattr(T, name)(d.cells(), axis=-1, keepdims=d.random.random() < 0.6)


def other_fold(d):
    x = d.pick()
    axis = d.random.choice([None, 0, *range(x.ndim)])
    return d.random.choice([T.sum, T.max, T.argmax])(x, axis=axis)


def total(d):
    return T.sum(d.cells(), axis=tuple(range(len(d.lead))))


def last_axis(d):
    x = d.rows()
    axes = list(range(x.ndim))
    return x.dimshuffle(*(axes[:-1] if x.ndim > len(d.lead) else [*axes, "x"]))


def new_axes(d):
    x = d.pick()
    order = list(range(x.ndim))
    order.insert(d.random.choice([0, x.ndim]), "x")
    return x.dimshuffle(*order)


def fewer_axes(d):
    x = d.pick()
    kept = [i for i, flag in enumerate(x.type.broadcastable) if not flag]
    return x.dimshuffle(*kept, *d.random.choice([(), ("x",)]))


def turned(d):
    x = d.pick()
    return x.dimshuffle(*reversed(range(x.ndim)))


def repeated(d):
    x, like = d.pick(), d.pick()
    return T.broadcast_to(x, [like.shape[i] for i in range(like.ndim)])


def softmax(d):
    return T.nnet.softmax(d.cells())


def picked(d):
    """One element of each of the first rows; of an array of two axes."""
    x, places = d.cells(), d.random.choice([d.places, d.places[:2]])
    return x[T.arange(places.shape[0]), places]


def taken(d):
    """Rows of a matrix, by a vector that is an input or computed of rows."""
    x = d.cells()
    places = d.random.choice([d.places, T.cast(d.rows(), "int64")])
    return x[T.mod(places, x.shape[0])]


def first_rows(d):
    """A value for each of the first rows, beside one for each row."""
    x = d.cells()
    given = d.random.choice([v for v in d.pool if v.type.broadcastable == (False,)])
    given = d.random.choice([given, T.exp(-given), given + 1])
    first = FirstRows()(given, given.shape[0], x.shape[0]).dimshuffle(0, "x")
    return d.random.choice([first, x * first, x * given.dimshuffle(0, "x") + first])


def placed(d):
    x = d.cells()
    axis = d.random.randrange(x.ndim)
    return x * T.arange(x.shape[axis])


def product(d):
    x = d.cells()
    return d.random.choice([T.dot(x, x[0]), T.dot(x, d.pick()), T.dot(d.pick(), x)])


KINDS = [unary] * 3 + [met] * 8 + [fold] * 4 + [scaled, other_fold, total, total]
KINDS += [last_axis, last_axis, new_axes, fewer_axes, turned, repeated, softmax]
KINDS += [picked, picked, taken, taken, placed, product, first_rows]


def checked(seed, phases):
    """The graph of a draw after some phases, its values being those as written."""
    drawn = Rows(seed)
    values = drawn.given()
    with quiet():
        wanted = run_graph(FunctionGraph(drawn.inputs, drawn.outputs), values)
        fgraph = FunctionGraph(drawn.inputs, drawn.outputs)
        rewrites.optimize(fgraph, phases)
        fgraph.check()
        found = run_graph(fgraph, values)
    for left, right in zip(wanted, found, strict=True):
        assert left.shape == right.shape
        np.testing.assert_allclose(right, left, 2e-4, 1e-6, err_msg=f"seed {seed}")
    return fgraph


@pytest.mark.parametrize("phases", [["fuse"], None], ids=["fused", "all"])
def test_values_of_every_rank_meet_rows(phases):
    found = [
        node.op.program
        for seed in range(DRAWS)
        for node in checked(seed, phases).toposort()
        if isinstance(node.op, Rowwise)
    ]
    kinds = {kind for each in found for _, kind in each.inputs}
    steps = {type(step) for each in found for step in each.steps}
    assert kinds >= {row_steps.CELL, row_steps.ROW, row_steps.COLUMN, row_steps.ONE}
    assert steps >= {CompositeStep, row_steps.Fold, row_steps.Taken, row_steps.Place}
    assert any(each.totals for each in found)
