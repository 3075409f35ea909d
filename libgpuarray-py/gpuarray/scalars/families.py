"""Decorators of rows that are alike but for a name and what is computed."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from gpuarray.scalars.references import by_element
from gpuarray.scalars.table import scalar


def float_function(name, reference, **properties):
    """A row of C's function of a float, which is ``ga_c<name>`` of a complex number."""
    of_complex = f"ga_c{name}({{0}})"
    return scalar(
        f"{name}({{0}})",
        reference,
        kinds={"c": of_complex},
        result="float",
        **properties,
    )


def special_function(expression, function, typed_as=np.exp, **properties):
    """A row of floats whose reference takes Python's floats, one place at a time.

    Its dtypes are those of ``typed_as``.
    """
    reference = by_element(function, typed_as)
    return scalar(
        expression, reference, result="float", typed_as=typed_as, **properties
    )
