"""Draws: nodes of random numbers, and the states that they move on.

A state is a vector of three uint64: seed, stream and position, those of the array
package's generators. Element i of a draw depends on these and on i alone. A draw leaves
the position behind the counts that it used.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
from gpuarray._native import lib
from gpuarray._random.table import DISTRIBUTIONS, Distribution, real_dtype
from gpuarray.compiler.errors import GraphArgumentError, GraphTypeError, GraphValueError
from gpuarray.compiler.graph.core import Constant, Variable, constant
from gpuarray.compiler.graph.types import dtype_name
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.elemwise.draws import (
    BITS,
    CAPS,
    DRAWS,
    INTEGERS,
    PREFIX,
    WIDE_INTEGERS,
)
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.elemwise.gamma_slope import GAMMA_SLOPE
from gpuarray.compiler.ops.index.indexing import index
from gpuarray.compiler.ops.random.positions import DTYPE, Positions
from gpuarray.compiler.ops.shape.shape import as_shape, elements, shape
from gpuarray.compiler.ops.variables.basic import as_tensor_variable
from gpuarray.scalars import Scalar

STATE = "uint64"
_ADVANCE = np.array([0, 0, 1], STATE)
_WORD = 2**64


def draw_at(name: str, *operands: Any) -> Variable:
    """Return a draw at places: seed, stream, position, numbers, then parameters."""
    return _element(DRAWS[PREFIX + name], *operands)


def gamma_slope(shape: Any, number: Any) -> Variable:
    """Return the slope by its shape of the logarithm ``number`` of a gamma number."""
    return _element(GAMMA_SLOPE, shape, number)


def _element(row: Scalar, *operands: Any) -> Variable:
    drawn: Variable = Elemwise(row)(*operands)
    return drawn


# ---- arguments ----


def check_state(name: str, state: Any) -> Variable:
    """Return the state. Raises TypeError for another type."""
    is_state = (
        isinstance(state, Variable)
        and getattr(state.type, "dtype", None) == STATE
        and state.type.ndim == 1
    )
    if not is_state:
        kind = state.type if isinstance(state, Variable) else type(state).__name__
        raise GraphTypeError(
            f"{name}: the state is {kind}, expected a vector of three uint64: seed, "
            "stream and position, as gpuarray.random.Generator.state"
        )
    found: Variable = state
    return found


def lengths_of(
    name: str, size: Any, ndim: int | None, parameters: Sequence[Variable]
) -> Sequence[Variable]:
    """Return the lengths of a draw, those of the parameters if ``size`` is None.

    Raises TypeError for lengths that are no integers, ValueError for negative ones.
    """
    if size is None:
        arrays = [value for value in parameters if value.type.ndim > 0]
        if not arrays:
            lengths: Sequence[Variable] = []
        else:
            lengths = elements(shape(reduce(math.add, arrays))) or []
        if ndim is not None and ndim != len(lengths):
            raise GraphValueError(
                f"{name}: ndim is {ndim}, and without a size the parameters give "
                f"{len(lengths)} axes"
            )
        return lengths
    lengths = _given_lengths(name, size, ndim)
    for value in parameters:
        if value.type.ndim > len(lengths):
            raise GraphValueError(
                f"{name}: size has {len(lengths)} lengths, and a parameter, {value}, "
                f"{value.type.ndim} axes; the size is that of the whole result"
            )
    return lengths


def _given_lengths(name: str, size: Any, ndim: int | None) -> Sequence[Variable]:
    listed = size if isinstance(size, (tuple, list)) else [size]
    for length in () if isinstance(size, Variable) else listed:
        is_number = isinstance(length, (int, np.integer, Variable))
        if not is_number or isinstance(length, (bool, np.bool_)):
            is_array = isinstance(length, np.ndarray) and length.dtype.kind in "iu"
            if not is_array:
                raise GraphTypeError(
                    f"{name}: size is {size!r}, expected an integer, a tuple of "
                    "integers or scalars, or a vector of integers"
                )
        elif not isinstance(length, Variable) and length < 0:
            raise GraphValueError(
                f"{name}: size is {size!r}, expected lengths of 0 or more"
            )
    vector = as_shape(name, size)
    known = elements(vector)
    if known is None:
        if ndim is None:
            raise GraphValueError(
                f"{name}: how many lengths {vector} holds is not known; give ndim"
            )
        known = [index(vector, axis) for axis in range(ndim)]
    if ndim is not None and ndim != len(known):
        raise GraphValueError(f"{name}: ndim is {ndim}, and size has {len(known)}")
    return known


def parameters_of(
    name: str, row: Distribution, given: Sequence[Any], dtype: str
) -> list[Variable]:
    """Return the parameters as the reals that a draw of ``dtype`` is computed in.

    Raises ValueError for a constant out of range.
    """
    real = real_dtype(dtype).name
    found = []
    for parameter, value in zip(row.parameters, given, strict=True):
        is_literal = isinstance(value, (int, float))  # exact, whatever floatX is
        variable = constant(value, real) if is_literal else as_tensor_variable(value)
        if variable.type.dtype.startswith("complex"):
            raise GraphTypeError(
                f"{name}: {parameter.name} is {variable.type}, expected real numbers"
            )
        if isinstance(variable, Constant):
            numbers = np.asarray(variable.data, "float64")
            wrong = numbers[~np.asarray(parameter.allows(numbers))]
            if wrong.size:
                raise GraphValueError(
                    f"{name}: {parameter.name} is {wrong.flat[0]:g}, expected "
                    f"{parameter.range}"
                )
            variable = constant(variable.data, real)
        found.append(math.cast(variable, real))
    _check_order(name, row, found)
    return found


def _check_order(name: str, row: Distribution, given: Sequence[Variable]) -> None:
    """Raise ValueError for constants that should not fall and do, or are too many."""
    if row.relation == lib.GA_RANDOM_WITHIN_SUM:
        _check_sum(name, row, given)
    if row.relation != lib.GA_RANDOM_RISING:
        return
    pairs = list(zip(row.parameters, given, strict=True))[-row.related :]
    for (first, a), (second, b) in pairwise(pairs):
        if not (isinstance(a, Constant) and isinstance(b, Constant)):
            continue
        if (np.asarray(a.data) > np.asarray(b.data)).any():
            raise GraphValueError(
                f"{name}: {second.name} is {b.data}, expected at least {first.name}, "
                f"{a.data}"
            )


def _check_sum(name: str, row: Distribution, given: Sequence[Variable]) -> None:
    """Raise ValueError for constants of which the last is above the sum of others."""
    known = [np.asarray(value.data) for value in given if isinstance(value, Constant)]
    if len(known) < len(given):
        return
    first, second, last = known
    if (last > first + second).any():
        a, b, c = (parameter.name for parameter in row.parameters)
        raise GraphValueError(
            f"{name}: {c} is {last}, expected at most {a} + {b}, {first + second}"
        )


# ---- states ----


def count_of(lengths: Sequence[Variable]) -> Variable:
    """Return the number of elements, an int64."""
    total: Variable = constant(1, "int64")
    for length in lengths:
        total = total * math.cast(length, "int64")
    return total


def _share(total: Variable, per_count: int) -> Variable:
    """Return the counts of so many elements, several to one."""
    counts: Variable = (total + (per_count - 1)) // per_count
    return counts


def counts_of(row: Distribution, dtype: str, total: Variable) -> Variable:
    """Return the counts that a draw of ``total`` elements uses."""
    if row.form == lib.GA_RANDOM_BY_COUNTS:
        counts: Variable = total * row.counts
        return counts
    is_pair = row.form != lib.GA_RANDOM_BY_WORD and real_dtype(dtype) == np.float64
    return _share(total, 2 if is_pair else 4)


def advanced(state: Variable, counts: Any) -> Variable:
    """Return the state behind so many counts."""
    step = math.cast(counts, STATE)
    after: Variable = math.add(state, math.mul(constant(_ADVANCE), step))
    return after


def parts_of(state: Variable) -> list[Variable]:
    """Return seed, stream and position."""
    return [index(state, i) for i in range(3)]


def places_of(lengths: Sequence[Variable]) -> Variable:
    """Return the numbers of the elements."""
    if not lengths:
        return constant(0, DTYPE)
    numbers: Variable = Positions()(as_shape("size", list(lengths)))
    return numbers


# ---- draws ----


def draw(
    distribution: str,
    state: Any,
    parameters: Sequence[Any],
    size: Any = None,
    ndim: int | None = None,
    dtype: Any = "floatX",
    name: str | None = None,
) -> tuple[Variable, Variable]:
    """Return the next state and a draw from a distribution of the library's table.

    ``size`` is the shape of the whole result, by default that which the parameters
    broadcast to; ``ndim`` the number of lengths in a vector that does not tell. The
    numbers are those that a generator in this state draws.
    """
    row, called = DISTRIBUTIONS[distribution], name or distribution
    kind = dtype_name(dtype)
    check_kind(called, row.kind, kind)
    values = parameters_of(called, row, parameters, kind)
    before = check_state(called, state)
    lengths = lengths_of(called, size, ndim, values)
    place = [*parts_of(before), places_of(lengths)]
    drawn = draw_at(distribution, *place, *values)
    if distribution == "uniform" and kind in CAPS:
        drawn = _element(CAPS[kind], drawn, *values)
    if row.kind != "f" and kind[0] in "iu" and not _are_known(values):
        nothing = constant(-1, drawn.type.dtype)
        drawn = math.where(math.isnan(drawn), nothing, drawn)
    after = advanced(before, counts_of(row, kind, count_of(lengths)))
    is_whole = row.kind == "i" and kind[0] in "iu"
    return after, _fitting(drawn, kind) if is_whole else math.cast(drawn, kind)


def _fitting(drawn: Variable, dtype: str) -> Variable:
    """Return whole numbers as integers; those that do not fit become the greatest."""
    greatest = int(np.iinfo(dtype).max)
    end = constant(float(greatest + 1), drawn.type.dtype)
    held, most = math.cast(drawn, dtype), constant(greatest, dtype)
    fitting: Variable = math.where(math.ge(drawn, end), most, held)
    return fitting


def check_kind(name: str, of: str, dtype: str) -> None:
    """Raise TypeError for a dtype that a draw of floats or integers cannot have."""
    kinds = {"f": ("float",), "i": ("float", "int", "uint")}.get(of)
    if dtype.startswith("complex") or (
        kinds is not None and not dtype.removeprefix("b").startswith(kinds)
    ):
        raise GraphTypeError(
            f"{name}: dtype is {dtype}, expected "
            + ("a float" if of == "f" else "an integer or float type")
        )


def _are_known(values: Sequence[Variable]) -> bool:
    """True if all parameters are constants, which are in range."""
    return all(isinstance(value, Constant) for value in values)


def draw_bits(
    state: Any, lengths: Sequence[Variable], name: str
) -> tuple[Variable, Variable]:
    """Return the next state and numbers of 64 random bits."""
    before = check_state(name, state)
    drawn = _element(BITS, *parts_of(before), places_of(lengths))
    return advanced(before, _share(count_of(lengths), 2)), drawn


def draw_integers(
    state: Any,
    low: Any,
    high: Any,
    size: Any = None,
    ndim: int | None = None,
    dtype: Any = "int64",
    name: str = "integers",
) -> tuple[Variable, Variable]:
    """Return the next state and integers from ``low`` up to, without, ``high``.

    Raises ValueError where constants leave none, or the dtype does not hold them.
    """
    kind = dtype_name(dtype)
    first, end = _whole(low), _whole(high)
    if first is not None and end is not None:
        return _integers_from(name, state, first, end, size, ndim, kind)
    for word, value in (("low", first), ("high", end)):
        if value is not None and not -(2**63) <= value < _WORD:
            raise GraphArgumentError(
                f"{name}: {word} is {value}, expected an integer from -2**63 to "
                "2**64 - 1"
            )
    bounds = [as_tensor_variable(low), as_tensor_variable(high)]
    for word, bound in zip(("low", "high"), bounds, strict=True):
        if bound.type.dtype[0] not in "iu":
            raise GraphTypeError(f"{name}: {word} is {bound.type}, expected integers")
    _check_bounds(name, bounds, kind)
    before = check_state(name, state)
    lengths = lengths_of(name, size, ndim, bounds)
    least, beyond = (math.cast(bound, "int64") for bound in bounds)
    count = math.cast(beyond - least, STATE)
    place = [*parts_of(before), places_of(lengths)]
    drawn = _element(INTEGERS, *place, count, least)
    after = advanced(before, _share(count_of(lengths), 2))
    drawn, allowed = math.cast(drawn, kind), _allowed(bounds, kind)
    if allowed is not None:
        nothing = np.asarray(-1).astype(kind) if kind[0] in "iu" else np.nan
        drawn = math.where(allowed, drawn, constant(nothing, kind))
    return after, drawn


def _whole(bound: Any) -> int | None:
    """Return an integer that is known; None for arrays, variables and other values."""
    if isinstance(bound, Constant) and bound.type.ndim == 0:
        bound = np.asarray(bound.data)[()]
    is_whole = isinstance(bound, (int, np.integer)) and not isinstance(bound, bool)
    return int(bound) if is_whole else None


def _integers_from(
    name: str, state: Any, low: int, high: int, size: Any, ndim: Any, dtype: str
) -> tuple[Variable, Variable]:
    """Return the next state and integers between two that are known.

    They are those of a generator, which takes 128 bits for a range above 2**32.
    """
    _check_integers(name, dtype)
    limits = np.iinfo(dtype if dtype[0] in "iu" else "int64")
    least, greatest = (0, 1) if dtype == "bool" else (limits.min, limits.max)
    for word, value, beyond in (("low", low, 0), ("high", high, 1)):
        if not int(least) <= value - beyond <= int(greatest) and low < high:
            raise GraphArgumentError(
                f"{name}: {word} is {value}, out of bounds for {dtype}, which has "
                f"{least} to {greatest}"
            )
    if low >= high:
        raise GraphArgumentError(
            f"{name}: low is {low}, expected less than high, {high}"
        )
    if dtype == "bool":
        p = (low + high - 1) / 2
        return draw("bernoulli", state, (p,), size, ndim, dtype, name)
    before, lengths = check_state(name, state), lengths_of(name, size, ndim, [])
    is_wide = high - low > 2**32
    count = constant(np.uint64((high - low) % _WORD), STATE)
    first = constant(np.uint64(low % _WORD).astype("int64"), "int64")
    place = [*parts_of(before), places_of(lengths)]
    drawn = _element(WIDE_INTEGERS if is_wide else INTEGERS, *place, count, first)
    total = count_of(lengths)
    after = advanced(before, total if is_wide else _share(total, 2))
    return after, math.cast(drawn, dtype)


def _check_integers(name: str, dtype: str) -> None:
    if dtype[0] not in "iuf" and dtype != "bool":
        raise GraphTypeError(f"{name}: dtype is {dtype}, expected integers or floats")


def _allowed(bounds: Sequence[Variable], dtype: str) -> Variable | None:
    """Return where variable bounds leave integers of the dtype; None: everywhere."""
    if all(isinstance(bound, Constant) for bound in bounds):
        return None
    low, high = bounds
    allowed: Variable = math.lt(low, high)
    if dtype[0] not in "iu":
        return allowed
    limits = np.iinfo(dtype)
    if not isinstance(low, Constant) and np.iinfo(low.type.dtype).min < limits.min:
        least = constant(limits.min, low.type.dtype)
        allowed = math.and_(allowed, math.ge(low, least))
    if not isinstance(high, Constant) and np.iinfo(high.type.dtype).max > limits.max:
        # Its last integer is one below it.
        end = constant(int(limits.max) + 1, high.type.dtype)
        allowed = math.and_(allowed, math.le(high, end))
    return allowed


def _check_fit(name: str, word: str, bound: Variable, dtype: str, beyond: int) -> None:
    """Raise ValueError for a constant out of range, ``beyond`` the last number."""
    if not isinstance(bound, Constant) or bound.data.size == 0:
        return
    limits, known = np.iinfo(dtype), np.asarray(bound.data)
    least, greatest = int(known.min()), int(known.max()) - beyond
    if least < limits.min or greatest > limits.max:
        raise GraphArgumentError(
            f"{name}: {word} is {known}, out of bounds for {dtype}, which has "
            f"{limits.min} to {limits.max}"
        )


def _check_bounds(name: str, bounds: Sequence[Variable], dtype: str) -> None:
    if dtype == "bool":
        raise GraphTypeError(
            f"{name}: dtype is bool, expected integers or floats where low or high is "
            "an array or a variable"
        )
    _check_integers(name, dtype)
    first, end = bounds
    if dtype[0] in "iu":
        _check_fit(name, "low", first, dtype, 0)
        _check_fit(name, "high", end, dtype, 1)
    if not (isinstance(first, Constant) and isinstance(end, Constant)):
        return
    low, high = np.asarray(first.data), np.asarray(end.data)
    if low.size == 0 or high.size == 0:
        return
    if not (low < high).all():
        raise GraphArgumentError(
            f"{name}: low is {low}, expected less than high, {high}"
        )
