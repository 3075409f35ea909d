"""Parts of complex numbers; a real one has the imaginary part 0."""

# A row's function is typed by its place in the table.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from gpuarray.scalars.references import real_only
from gpuarray.scalars.table import scalar


@scalar(
    "{0}",
    lambda x: np.array(np.real(x)),
    kinds={"c": "{0}.x"},
    typed_as=np.absolute,
    example=([1 + 2j, 3.0],),
)
def real(m, g, y, x):
    """The real part."""
    return g


@scalar(
    "({t})0",
    lambda x: np.array(np.imag(x)),
    kinds={"c": "{0}.y"},
    typed_as=np.absolute,
    example=([1 + 2j, 3.0],),
)
def imag(m, g, y, x):
    """The imaginary part."""
    return None  # of a real number constant


@scalar(
    "{0}",
    np.conjugate,
    kinds={"c": "ga_conj({0})"},
    undone_by="conjugate",
    undone_complex=True,
    aliases=("conj",),
    example=([1 + 2j, 3.0],),
)
def conjugate(m, g, y, x):
    """The complex conjugate."""
    return g


@scalar(
    "atan2(({t})0, {0})",
    lambda x: np.arctan2(np.imag(x), np.real(x)),
    kinds={"c": "ga_carg({0})"},
    result="float",
    typed_as=np.exp,
    gives_parts=True,
    example=([1j, -1.0],),
)
def angle(m, g, y, x):
    """The angle of a complex number, from -pi to pi."""
    return None  # of a real number piecewise constant


def _complex(a, b):
    dtype = np.arctan2.resolve_dtypes((real_only(a).dtype, real_only(b).dtype, None))[
        -1
    ]
    result = np.empty(np.broadcast(a, b).shape, np.result_type(dtype, np.complex64))
    result.real, result.imag = a, b
    return result


@scalar(
    "ga_complex({0}, {1})",
    lambda a, b: _complex(np.asarray(a), np.asarray(b)),
    result="float",
    typed_as=np.arctan2,
    gives_complex=True,
    public=False,
    example=([1.0, 2.0], [0.0, -1.0]),
)
def complex_(m, g, y, a, b):
    """The complex number of these parts."""
    return m.real(g), -m.imag(g)
