"""Windows for the spectra of samples: vectors that fall towards their ends.

NumPy computes them on the host, as it does ranges.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuarray._creation.arguments import Place
from gpuarray._creation.ranges import counted, steps
from gpuarray.array import Array


def bartlett(M: int, context: Place = None) -> Array:
    """Return the triangular window of ``M`` points, whose ends are 0.

    >>> print(gpuarray.bartlett(5))
    [0.  0.5 1.  0.5 0. ]
    """
    return _window("bartlett", M, context)


def blackman(M: int, context: Place = None) -> Array:
    """Return the Blackman window of ``M`` points, of three cosines.

    >>> print(abs(gpuarray.blackman(5).round(2)))
    [0.   0.34 1.   0.34 0.  ]
    """
    return _window("blackman", M, context)


def hamming(M: int, context: Place = None) -> Array:
    """Return the Hamming window of ``M`` points, a raised cosine that ends above 0.

    >>> print(gpuarray.hamming(5))
    [0.08 0.54 1.   0.54 0.08]
    """
    return _window("hamming", M, context)


def hanning(M: int, context: Place = None) -> Array:
    """Return the Hann window of ``M`` points, a raised cosine.

    >>> print(gpuarray.hanning(5))
    [0.  0.5 1.  0.5 0. ]
    """
    return _window("hanning", M, context)


def kaiser(M: int, beta: float, context: Place = None) -> Array:
    """Return the Kaiser window of ``M`` points, narrower for a greater ``beta``.

    >>> print(gpuarray.kaiser(5, 14).round(2))
    [0.   0.16 1.   0.16 0.  ]
    """
    return _window("kaiser", M, context, beta)


def _window(operation: str, M: int, context: Place, *beta: float) -> Array:
    def make(*numbers: float, dtype: None) -> Any:
        return getattr(np, operation)(*numbers)

    def count(points: float, *_: float) -> int:
        return steps(1 - points, points, 2) if isinstance(points, int | float) else 0

    ends, how = (M, *beta), (None, context, None)
    result: Array = counted(operation, make, ends, *how, count=count)
    return result
