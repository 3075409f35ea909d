"""Draws choices between elementwise expressions, and judges their derivatives.

Two rules judge them. At every point, also where a side is inf or nan, the derivative of
a choice is that of the side that is chosen: the other adds exactly nothing. Where a
choice is smooth, its derivative is the quotient of differences.
"""

from __future__ import annotations

from functools import partial

import gpuarray.compiler.tensor as T
import numpy as np
from gpuarray.compiler.errors import CompilerError
from gpuarray.compiler.ifelse import ifelse
from gpuarray.scalars import SCALARS
from random_drawing import ROWS, Drawn, Values
from random_edges import has_edge
from random_judging import Judged, unlike
from random_rounding import Uncertain, most

SHAPE = (3, 4)
INPUTS = {"x": SHAPE, "y": SHAPE, "v": (1, 4), "c": (3, 1), "s": (1, 1)}
STEPS = (1e-4, 1e-5)
PLACES = 4


class DrawnChoice(Drawn):
    """The derivatives of a choice between two elementwise expressions of float64.

    ``outputs`` are the derivatives of ``cost`` by ``variables``. ``condition`` says
    where the first of two sides is chosen; ``sides`` has the derivatives of each alone,
    by a matrix in place of each variable, ``known`` the values of the matrices.
    """

    def draw(self):
        matrices = [T.dmatrix(name) for name in INPUTS]
        while True:
            seed = self.random.random()
            try:
                self.condition, self.cost, *_ = self.drawn(seed, self.variables)
                self.outputs = gradients(self.cost, self.variables)
                _, _, *costs = self.drawn(seed, matrices)
                self.sides = [gradients(cost, matrices) for cost in costs]
                break
            except (NotImplementedError, CompilerError):
                continue  # a row without a derivative
        self.known = {self.flags: self.values.of(self.flags)}
        for matrix, variable in zip(matrices, self.variables, strict=True):
            whole = np.broadcast_to(self.values.of(variable), SHAPE)
            self.known[matrix] = whole.copy()

    def draw_inputs(self):
        self.flags = T.tensor("bool", (False, False), "b")
        self.values.known[self.flags] = self.rng.random(SHAPE) < 0.5
        for name, shape in INPUTS.items():
            variable = T.tensor("float64", tuple(n == 1 for n in shape), name)
            self.values.known[variable] = self.array("float64", shape)
        self.flags, *self.variables = self.inputs = list(self.values.known)

    def drawn(self, seed, variables):
        """The condition, the cost, and those of the sides; alike for a seed."""
        self.random.seed(seed)
        self.pool = [*variables, self.flags]
        for _ in range(self.random.randrange(1, 8)):
            self.pool.append(self.row())
        sides = [T.second(variables[0], self.side()) for _ in range(2)]
        condition, choice = self.random.choice(CHOICES)(self, *sides)
        weight = np.random.default_rng(int(seed * 2**32)).normal(1, 1, SHAPE)
        costs = [(weight * each).sum() for each in (choice, *sides)]
        return T.second(variables[0], condition), *costs

    def row(self):
        """One more elementwise expression."""
        while True:
            scalar = SCALARS[self.random.choice(ROWS)]
            operands = self.random.choices([*self.pool, 2, -0.5], k=scalar.arity)
            try:
                made = getattr(T, scalar.name)(*operands)
            except (CompilerError, ValueError, TypeError):
                continue  # not for these dtypes
            if made.dtype in ("float64", "bool"):
                return made

    def side(self):
        return self.random.choice([e for e in self.pool if e.dtype == "float64"][-5:])

    def test(self, one):
        """A condition."""
        x, y = self.side(), self.side()
        return self.random.choice(
            [
                T.gt(x, y),
                T.le(x, 0),
                T.isnan(one),
                ~T.isinf(one),
                self.flags,
                T.eq(x, y),
            ]
        )


def gradients(cost, variables):
    return T.grad(cost, variables, disconnected_inputs="ignore")


def switched(d, one, other):
    condition = d.test(one)
    return condition, T.switch(condition, one, other)


def added(d, one, other):
    condition = d.test(one)
    return condition, T.switch(condition, one, 0) + T.where(condition, 0.0, other)


def put(d, one, other):
    condition = T.second(one, d.test(one)) > 0
    return condition, T.set_subtensor(other[condition], one[condition])


def greater(d, one, other):
    return T.ge(one, other), T.maximum(one, other)


def clipped(d, one, other):
    return ~T.lt(one, other), T.clip(one, other, np.inf)


def joined(d, one, other):
    rows = T.arange(SHAPE[0]).dimshuffle(0, "x")
    return T.lt(rows, 2), T.join(0, one[:2], other[2:])


def taken(d, one, other):
    rows = T.arange(SHAPE[0]).dimshuffle(0, "x")
    return T.eq(rows, 1), T.stack([other[0], one[1], other[-1]])


def lazy(d, one, other):
    condition = d.test(one).max()
    return condition.dimshuffle("x", "x"), ifelse(condition, one, other)


CHOICES = [switched, switched, added, put, greater, clipped, joined, taken, lazy]


class JudgedChoice(Judged):
    """Derivatives that are rewritten, then judged by the two rules."""

    def check_end(self):
        super().check_end()
        self.found = self.found or self.of_sides() or self.of_differences()

    def of_sides(self):
        """How a derivative differs from that of the chosen sides; empty if not."""
        drawn = self.drawn
        first = drawn.values.of(drawn.condition) != 0
        known, uncertain = Values(drawn.known), Uncertain(drawn.known)
        for place, variable in enumerate(drawn.variables):
            one, other = (side[place] for side in drawn.sides)
            a, b = known.of(one), known.of(other)
            right, got = summed(np.where(first, a, b), variable), self.outputs[place]

            def spread(one=one, other=other, a=a, b=b, variable=variable, place=place):
                off = np.where(
                    first, uncertain.spread(one, a), uncertain.spread(other, b)
                )
                output = drawn.outputs[place]
                whole = self.as_drawn.spread(output, drawn.values.of(output))
                return most(summed(off, variable), whole)

            if text := unlike(got, right, spread, is_stabilized=True):
                return f"of the chosen sides by {variable}: {text}"
        return ""

    def of_differences(self):
        """How a derivative differs from the quotient of differences; empty if not."""
        drawn = self.drawn
        for place, variable in enumerate(drawn.variables):
            array = drawn.values.of(variable)
            for _ in range(PLACES):
                index = tuple(drawn.random.randrange(n) for n in array.shape)
                got = self.outputs[place][index]
                if not (np.isfinite(got) and abs(array[index]) < 1000):
                    continue  # a step is lost in it, or slopes have overflowed
                right, error = slope(partial(self.cost, variable, index))
                off = abs(got - right)
                if not off <= error and not self.is_open(place, index, off - error):
                    return f"of differences by {variable} at {index}: {got}, {right}"
        return ""

    def is_open(self, place, index, off):
        """Whether a derivative need not be the quotient of differences.

        The cost has an edge within the steps, or the derivative is rounded that far.
        """
        drawn = self.drawn
        variable, output = drawn.variables[place], drawn.outputs[place]
        points = [
            self.point(variable, index, side * step)
            for step in (0, *STEPS)
            for side in (1, -1)
        ]
        if has_edge(drawn.cost, points):
            return True
        spread = self.as_drawn.spread(output, drawn.values.of(output))
        return not off > 10 * spread[index]

    def cost(self, variable, index, step):
        return Values(self.point(variable, index, step)).of(self.drawn.cost)

    def point(self, variable, index, step):
        """The values of the inputs with a step in one of them."""
        given = {each: self.drawn.values.of(each) for each in self.drawn.inputs}
        given[variable] = given[variable].copy()
        given[variable][index] += step
        return given


def summed(array, variable):
    """A matrix summed to the shape of a variable that is repeated to it."""
    axes = tuple(axis for axis, flag in enumerate(variable.broadcastable) if flag)
    return array.sum(axis=axes, keepdims=True)


@np.errstate(invalid="ignore")  # a cost may be infinite
def slope(cost):
    """The derivative of a function of a step by differences; how far it may be off."""
    middle = cost(0)
    quotients = []
    for step in STEPS:
        up, down = cost(step), cost(-step)
        quotients += [(up - middle) / step, (middle - down) / step]
    noise = 1e-14 * abs(middle) / STEPS[-1]
    error = np.ptp(quotients)
    right = (quotients[2] + quotients[3]) / 2
    if not error <= 1e-2 * abs(right) + 1e-3 or abs(middle) > 1e9:
        return 0.0, np.inf  # an edge, no number, or a step is lost in the cost
    return right, 10 * (error + noise) + 1e-5 * abs(right) + 1e-6
