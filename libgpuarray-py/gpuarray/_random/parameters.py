"""Parameters of distributions: numbers and arrays, checked against the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._core.arguments import as_shape
from gpuarray._core.context import Context
from gpuarray._native import lib
from gpuarray._random.table import DISTRIBUTIONS, Distribution, DrawParameter
from gpuarray.array import Array
from gpuarray.errors import BadType, BadValue

__all__ = ["Size", "as_parameters", "broadcast_shape", "on_context"]

Size = int | Sequence[int] | None

_MOST_EXACT = {np.dtype(np.float32): 2.0**24, np.dtype(np.float64): 2.0**53}


def as_parameters(
    distribution: str, given: Sequence[Any], real: np.dtype[Any], context: Context
) -> list[float | Array]:
    """Return numbers, and arrays of ``real`` on the context.

    Raises BadValue for a number that is out of range, on the host; BadType for what is
    no number. What is on a device is not read.
    """
    row = DISTRIBUTIONS[distribution]
    pairs = zip(row.parameters, given, strict=True)
    taken = [_taken(row.name, p, value, context) for p, value in pairs]
    for p, value in zip(row.parameters, taken, strict=True):
        if isinstance(value, np.ndarray):
            _check_host(row.name, p, value.astype(real), real)
    _check_relation(row, taken)
    return [_on_device(value, real, context) for value in taken]


def _taken(operation: str, p: DrawParameter, value: Any, context: Context) -> Any:
    """Return a float, a NumPy array of one axis or more, or an array of ours."""
    if isinstance(value, Array):
        return on_context(value, context, operation, p.name)
    try:
        host = np.asarray(value)
    except (TypeError, ValueError):
        host = np.empty(0, object)
    if host.dtype.kind not in "biuf":
        raise BadType(f"{operation}: got {p.name} {value!r}, expected {p.range}")
    return float(host) if host.ndim == 0 else host


def on_context(value: Array, context: Context, operation: str, name: str) -> Array:
    """Return an array of numbers that is on the context; else BadValue or BadType."""
    if value.context is not context:
        raise BadValue(
            f"{operation}: {name} is on {value.context.name}, the generator on "
            f"{context.name}; use x.transfer(rng.context)"
        )
    if value.dtype.kind == "c":
        raise BadType(f"{operation}: {name} is {value.dtype}, expected real numbers")
    return value


def _check_host(
    operation: str, p: DrawParameter, values: npt.NDArray[Any], real: np.dtype[Any]
) -> None:
    allowed = p.allows(values)
    if not allowed.all():
        wrong = values[~allowed].flat[0]
        raise BadValue(f"{operation}: got {p.name} {wrong:g}, expected {p.range}")
    if p.whole and values.size and values.max() > _MOST_EXACT[real]:
        raise BadValue(
            f"{operation}: got {p.name} {values.max():g}, expected at most "
            f"{_MOST_EXACT[real]:g} for results computed in {real}"
        )


def _check_relation(row: Distribution, values: Sequence[Any]) -> None:
    """Refuse arrays on the host that do not fit each other; of numbers C does."""
    first = len(values) - row.related
    names, about = [p.name for p in row.parameters[first:]], values[first:]
    on_host = all(isinstance(value, float | np.ndarray) for value in about)
    if not on_host or all(isinstance(value, float) for value in about):
        return
    if row.relation == lib.GA_RANDOM_RISING:
        for k in range(1, len(about)):
            if np.any(about[k] < about[k - 1]):
                raise BadValue(
                    f"{row.name}: got {names[k]} {_shown(about[k])}, expected at least "
                    f"{names[k - 1]}, {_shown(about[k - 1])}"
                )
    if row.relation == lib.GA_RANDOM_WITHIN_SUM and np.any(
        about[2] > about[0] + about[1]
    ):
        raise BadValue(
            f"{row.name}: got {names[2]} {_shown(about[2])}, expected at most "
            f"{names[0]} + {names[1]}, {_shown(about[0] + about[1])}"
        )


def _shown(value: Any) -> str:
    text = np.array2string(np.asarray(value), threshold=4, edgeitems=2)
    return text.replace("\n", "")


def _on_device(value: Any, real: np.dtype[Any], context: Context) -> float | Array:
    if isinstance(value, float):
        return value
    if isinstance(value, np.ndarray):
        return Array.from_host(value.astype(real), context)
    array: Array = value if value.dtype == real else value.astype(real)
    return array


def broadcast_shape(
    operation: str, names: Sequence[str], parameters: Sequence[Any], size: Size
) -> tuple[int, ...]:
    """Return ``size``, to which all must broadcast, or the shape that they give.

    >>> broadcast_shape("normal", ["loc"], [gpuarray.zeros(3)], (2, 3))
    (2, 3)
    """
    shapes = [getattr(value, "shape", ()) for value in parameters]
    try:
        common = np.broadcast_shapes(*shapes)
    except ValueError:
        listed = ", ".join(f"{n} {s}" for n, s in zip(names, shapes, strict=True))
        raise BadValue(f"{operation}: shapes do not broadcast: {listed}") from None
    if size is None:
        return common
    asked = as_shape(size, operation)
    for name, shape in zip(names, shapes, strict=True):
        pairs = zip(reversed(shape), reversed(asked), strict=False)
        if len(shape) > len(asked) or any(a not in (1, b) for a, b in pairs):
            raise BadValue(
                f"{operation}: {name} of shape {shape} does not broadcast to size "
                f"{asked}"
            )
    return asked
