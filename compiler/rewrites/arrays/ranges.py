"""Slices as ranges of numbers, where they lie between multiples of one length."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise

from gpuarray.compiler.graph.core import Variable, constant
from gpuarray.compiler.ops.slicing.counts import is_count
from gpuarray.compiler.ops.slicing.subtensor import integer_of
from gpuarray.compiler.rewrites.engine.patterns import match, same

Slice = tuple[Variable | None, Variable | None, Variable | None]
"""A slice as start, stop and step."""

Range = tuple[int, int]

END = sys.maxsize


def ranges_of(slices: Sequence[Slice]) -> list[Range] | None:
    """Return the range of each slice, counted in one unit: elements or a length.

    None if they count from the end, have steps, or are not multiples of one unit. A
    slice without stop ends at `END`.
    """
    counted = counted_slices(slices)
    return None if counted is None else counted[0]


def counted_slices(
    slices: Sequence[Slice],
) -> tuple[list[Range], Variable | None] | None:
    """Return the range of each slice and their unit, None for elements; or None."""
    bounds = [_multiple(v) for slice_ in slices for v in slice_[:2] if v is not None]
    units = [bound[1] for bound in bounds if bound is not None and bound[0] != 0]
    if None in bounds or any(step is not None for _, _, step in slices):
        return None
    if not all(_is_one_unit(*pair) for pair in pairwise(units)):
        return None
    numbers = iter(bound[0] for bound in bounds if bound is not None)
    ranges = [
        (0 if start is None else next(numbers), END if stop is None else next(numbers))
        for start, stop, _ in slices
    ]
    return ranges, next(iter(units), None)


def slice_of(range_: Range, unit: Variable | None) -> Slice:
    """Return the slice with a range in a unit."""
    start, stop = range_
    return (
        _times(start, unit) if start else None,
        _times(stop, unit) if stop != END else None,
        None,
    )


def _times(number: int, unit: Variable | None) -> Variable:
    if unit is None or number == 0:
        return constant(number, "int64")
    product: Variable = unit if number == 1 else number * unit
    return product


def within(of_array: Range, of_slice: Range) -> Range:
    """Return the range in an array of a range in one of its slices."""
    (first, end), (start, stop) = of_array, of_slice
    return first + start, min(end, stop if stop == END else first + stop)


def _is_one_unit(a: Variable | None, b: Variable | None) -> bool:
    return a is b if a is None or b is None else same(a, b)


def _multiple(variable: Variable) -> tuple[int, Variable | None] | None:
    """Return ``n`` and ``length`` of ``n * length``; None for a number's ``length``."""
    number = integer_of(variable)
    if number is not None:
        return (number, None) if number >= 0 else None
    factors = match(variable, "mul") or [variable]
    numbers = [n for n in map(integer_of, factors) if n is not None]
    lengths = [v for v in factors if integer_of(v) is None]
    if len(lengths) != 1 or len(numbers) > 1 or min(numbers, default=1) < 0:
        return None
    (length,) = lengths
    return ((*numbers, 1)[0], length) if is_count(length) else None


def are_apart(slices: Sequence[Slice]) -> bool:
    """True if slices have no element in common."""
    ranges = ranges_of(slices)
    return ranges is not None and all(
        end <= begin for (_, end), (begin, _) in pairwise(sorted(ranges))
    )
