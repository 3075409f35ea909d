"""Judges a random expression on the host: each rewrite, and what is left at the end.

NumPy's own values are uncertain by the roundings before them; `random_rounding.py` says
how far. What is overwritten is looked at for every way in which conditions may turn
out: two sides of an `ifelse` may overwrite what both read, since one of them runs.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from gpuarray.compiler import rewrites
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.lazy import ALWAYS, leaves_alone
from gpuarray.compiler.graph.traverse import clone
from gpuarray.compiler.rewrites.passes import RULES
from random_drawing import Values, quiet
from random_rounding import Uncertain, most, same, wide

RTOL = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-9}
RTOL |= {"complex64": 1e-4, "complex128": 1e-9}
# What may be better than NumPy where NumPy has inf or nan.
STABILIZING = {rule.name for rule in RULES["stabilize"]}


def unlike(got, expected, spread, is_stabilized=False):
    """How a result differs; empty if it does not, or if it is better.

    ``spread()`` gives how far it may be off; it is asked only where something differs.
    """
    got, expected = np.asarray(got), np.asarray(expected)
    if got.dtype != expected.dtype:
        return f"dtype {got.dtype}, NumPy: {expected.dtype}"
    if got.shape != expected.shape:
        is_open = spread().shape != expected.shape
        return "" if is_open else f"shape {got.shape}, NumPy: {expected.shape}"
    alike = same(got, expected) | same_infinity(got, expected)
    if alike.all():
        return ""
    rtol = RTOL.get(got.dtype.name, 0)
    with np.errstate(all="ignore"):
        a, b = wide(got), wide(expected)
        distance, allowed = np.abs(a - b), rtol * np.abs(b) + rtol * 1e-3
        alike |= (distance <= allowed) & np.isfinite(b)
        if got.dtype.name == "float16":
            alike |= (np.abs(b) > 6e4) & (np.abs(a) > 6e4)  # where it overflows
        if is_stabilized:
            alike |= ~np.isfinite(b)
        if alike.all():
            return ""
        off = spread()
        alike |= (distance <= allowed + 10 * off) & np.isfinite(b)
        alike |= ~np.isfinite(off)
    if alike.all():
        return ""
    place = tuple(int(n) for n in np.argwhere(~alike)[0])
    return f"{got[place]!r}, NumPy: {expected[place]!r} at {place} of {got.shape}"


def same_infinity(got, expected):
    """Where NumPy has a complex inf beside a nan, and what is no nan is alike."""
    if expected.dtype.kind != "c":
        return np.zeros(expected.shape, bool)
    parts = [(got.real, expected.real), (got.imag, expected.imag)]
    alike = [same(a, b) | np.isnan(b) for a, b in parts]
    return np.isinf(expected) & alike[0] & alike[1]


class Judged:
    """An expression rewritten, both sides of each change compared.

    ``found`` is the first rewrite that changes a value, or what is wrong at the end;
    empty if nothing is. ``outputs`` are the values that the function should give: those
    of NumPy, or of the stabilized graph where that is better.
    """

    def __init__(self, drawn):
        self.drawn = drawn
        self.found = ""
        with quiet():
            self.fgraph = FunctionGraph(drawn.inputs, drawn.outputs)
            self.outputs = [drawn.values.of(each) for each in drawn.outputs]
            arrays = [drawn.values.of(each) for each in drawn.inputs]
            self.as_drawn = Uncertain(dict(zip(drawn.inputs, arrays, strict=True)))
            self.given = dict(zip(self.fgraph.inputs, arrays, strict=True))
            self.stabilized = None
            self.forget()
            self.fgraph.listeners.append(self.check)
            self.rewrite()
            if not self.found:
                self.check_end()

    def rewrite(self):
        """All rewrites, each followed by `check`."""
        rewrites.optimize(self.fgraph)

    def forget(self):
        """Compute everything anew, from a graph that has changed."""
        self.values = Values(self.given)
        self.uncertain = Uncertain(self.given)

    def check(self, change):
        """Compare both sides of a change."""
        if self.found:
            return
        before, after = self.values.of(change.before), self.values.of(change.after)
        is_stabilized = change.reason in STABILIZING

        def spread():
            return most(
                self.uncertain.spread(change.before, before),
                self.uncertain.spread(change.after, after),
            )

        if text := unlike(after, before, spread, is_stabilized):
            self.found = f"{change.reason} of {change.before.owner}: {text}"
        elif is_stabilized and not same(after, before).all():
            self.forget()
            self.outputs = [self.values.of(each) for each in self.fgraph.outputs]
            self.stabilized = clone(self.fgraph.outputs)

    def check_end(self):
        """Run the graph in its final order, fused and in place, and compare."""
        values = Values(self.given)
        order = self.fgraph.toposort()
        for node in order:
            values.run(node)
        for truths in every_way(order):
            self.check_memory(order, truths)
        for index, output in enumerate(self.fgraph.outputs):
            text = self.difference(index, values.of(output))
            if text and not self.found:
                self.found = f"at the end, {text}"

    def check_memory(self, order, truths):
        """Find what reads memory that was overwritten, if conditions are so."""
        needed, dead = self.fgraph.guards(), set()
        guard = frozenset(truths.items())
        for node in order:
            if not needed.get(node, ALWAYS) <= guard:
                continue  # a side of a choice that is not taken
            read = [
                each
                for index, each in enumerate(node.inputs)
                if not leaves_alone(node, index, guard)
            ]
            self.find(dead, read, f"{node} reads")
            for indices in node.op.destroy_map.values():
                for index in indices:
                    root = self.fgraph.view_root(node.inputs[index])
                    dead |= set(self.fgraph.views_of(root, guard))
        self.find(dead, self.fgraph.outputs, "the function gives")

    def difference(self, index, got, is_optimized=True):
        """How a value of an output differs from what it should be; empty if not."""
        drawn, last = self.drawn.outputs[index], self.fgraph.outputs[index]
        first, right = self.drawn.values.of(drawn), self.outputs[index]

        def spread():
            return self.as_drawn.spread(drawn, first)

        def any_spread():
            found = [spread(), self.uncertain.spread(last, right)]
            if self.stabilized is not None:  # before rows were fused
                before = self.stabilized[index]
                found.append(Uncertain(self.given).spread(before, right))
            return most(*found)

        text = unlike(got, first, spread)
        if text and is_optimized:
            text = unlike(got, right, any_spread)
        return text and f"{drawn.owner}: {text}"

    def find(self, dead, variables, text):
        lost = [each for each in variables if each in dead]
        if lost and not self.found:
            self.found = f"{text} {lost[0]}, which was overwritten"


def every_way(order):
    """Each way in which the conditions of lazy nodes may turn out."""
    conditions = {node.inputs[0]: None for node in order if node.op.lazy_inputs(node)}
    for truths in product([False, True], repeat=len(conditions)):
        yield dict(zip(conditions, truths, strict=True))


def rewritten(drawn):
    """The first rewrite that changes a value, judged with NumPy; empty if none does."""
    return Judged(drawn).found
