"""The C library's table of distributions, and its device code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._native import check, ffi, lib, text
from gpuarray.dtypes import as_dtype, dtype_to_typecode

__all__ = [
    "DISTRIBUTIONS",
    "Distribution",
    "DrawParameter",
    "count",
    "device_code",
    "real_dtype",
]


@dataclass(frozen=True, slots=True)
class DrawParameter:
    """A parameter's name and range."""

    name: str
    least: float
    greatest: float
    above: bool  # `least` itself is not allowed
    below: bool  # nor is `greatest`
    whole: bool  # an integer

    def allows(self, values: Any) -> Any:
        """Return where numbers are allowed.

        >>> DISTRIBUTIONS["bernoulli"].parameters[0].allows(np.array([0.5, -1.0]))
        array([ True, False])
        """
        low = values > self.least if self.above else values >= self.least
        high = values < self.greatest if self.below else values <= self.greatest
        return low & high & ((values == np.floor(values)) | (not self.whole))

    @property
    def range(self) -> str:
        """Return the allowed numbers as text.

        >>> DISTRIBUTIONS["bernoulli"].parameters[0].range
        'a number from 0 to 1'
        """
        finite = self.below and np.isinf(self.greatest)
        noun = (
            "an integer" if self.whole else "a finite number" if finite else "a number"
        )
        if np.isinf(self.least):
            return noun
        low = f"{noun} {'above' if self.above else 'from'} {self.least:g}"
        if np.isinf(self.greatest):
            return low if self.above else f"{low} on"
        if not (self.above or self.below):
            return f"{low} to {self.greatest:g}"
        return f"{low}, {'below' if self.below else 'at most'} {self.greatest:g}"


@dataclass(frozen=True, slots=True)
class Distribution:
    """A row of the table."""

    name: str
    kind: str  # 'f': results are floats; 'i': also integers; 'b': also booleans
    form: int  # lib.GA_RANDOM_BY_...
    counts: int  # counts of an element, if it has counts of its own
    relation: int  # lib.GA_RANDOM_UNRELATED, RISING or WITHIN_SUM
    related: int  # the number of parameters that it is about, the last ones
    parameters: tuple[DrawParameter, ...]


def _parameter(p: Any) -> DrawParameter:
    above, below, whole = (
        bool(p.flags & flag)
        for flag in (lib.GA_RANDOM_ABOVE, lib.GA_RANDOM_BELOW, lib.GA_RANDOM_WHOLE)
    )
    return DrawParameter(text(p.name), p.least, p.greatest, above, below, whole)


def _rows() -> Iterator[Distribution]:
    number = 0
    while row := lib.gpurandom_table(number):
        parameters = tuple(_parameter(row.parameters[k]) for k in range(row.n))
        yield Distribution(
            text(row.name),
            chr(row.kind),
            row.form,
            row.counts,
            row.relation,
            row.related,
            parameters,
        )
        number += 1


DISTRIBUTIONS = {row.name: row for row in _rows()}
"""All distributions, by name."""


def real_dtype(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """Return the dtype of a draw's parameters: float64 for results of 8 bytes.

    >>> real_dtype("int32"), real_dtype("int64")
    (dtype('float32'), dtype('float64'))
    """
    return np.dtype(np.float64 if as_dtype(dtype).itemsize == 8 else np.float32)


def count(distribution: str, dtype: npt.DTypeLike, n: int) -> int:
    """Return by how much a draw of ``n`` elements advances a generator's position.

    >>> count("normal", "float32", 9)
    3
    """
    number = ffi.new("uint64_t *")
    code = dtype_to_typecode(as_dtype(dtype))
    check(lib.gpurandom_counts(number, distribution.encode(), code, n))
    return int(number[0])


def device_code(distribution: str, dtype: npt.DTypeLike) -> str:
    """Return the text of ``ga_draw_NAME`` for results of a dtype, in CLUDA.

    >>> "ga_double ga_draw" in device_code("normal", "float64")
    False
    >>> "REAL ga_draw_normal(" in device_code("normal", "float64")
    True
    """
    code, size = dtype_to_typecode(as_dtype(dtype)), ffi.new("size_t *")
    name = distribution.encode()
    check(lib.gpurandom_device_code(ffi.NULL, size, name, code))
    buffer = ffi.new("char[]", size[0])
    check(lib.gpurandom_device_code(buffer, size, name, code))
    return text(buffer)
