"""C texts that rows contain."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import re
from pathlib import Path


def device_functions(name, **parts):
    """Return the text of ``kernels/<name>.cl.h``, for the ``support`` of rows.

    The file is written for ``T``, with literals that end in ``f``: both become those of
    the computation's type. Each of ``parts`` replaces its name.
    """
    path = Path(__file__).with_name("kernels") / f"{name}.cl.h"
    text = re.sub(r"(?<=[\d.])f\b", "{f}", path.read_text("utf-8"))
    words = {"T": "{t}", **parts}
    return re.sub(r"\w+", lambda word: words.get(word[0], word[0]), text)


def horner(coefficients, variable):
    """Return the C text of a polynomial, of the constant term first."""
    first, *others = coefficients
    if not others:
        return f"{first}{{f}}"
    return f"{first}{{f}} + {variable} * ({horner(others, variable)})"
