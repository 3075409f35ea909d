"""References in NumPy of rows that NumPy has no function for."""

# A row's function is typed by its place in the table.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

TINY = 5e-324
"""The least number above 0: for the logarithm of a quotient that is too small."""


def real_only(x):
    """Return ``x``; TypeError if it is complex, as of a ufunc without that loop."""
    if x.dtype.kind == "c":
        raise TypeError("it is not defined for complex numbers")
    return x


def floating(function, typed_as=np.exp):
    """Return a reference in NumPy for real dtypes, with the result dtypes of ``exp``.

    Of several operands: those of ``typed_as``.
    """

    def reference(*operands):
        arrays = [real_only(np.asarray(x)) for x in operands]
        signature = (*(x.dtype for x in arrays), None)
        dtype = typed_as.resolve_dtypes(signature)[-1]
        work = np.float32 if dtype.itemsize == 2 else dtype
        return np.asarray(function(*(x.astype(work) for x in arrays))).astype(dtype)

    return reference


def by_element(function, typed_as=np.exp):
    """Return a reference in NumPy of a function of Python floats."""
    apply = np.frompyfunc(function, typed_as.nin, 1)
    return floating(lambda *xs: apply(*(x.astype(np.float64) for x in xs)), typed_as)
