"""C texts that rows are made of."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import re
from pathlib import Path


def device_functions(name, **parts):
    """The text of ``kernels/<name>.cl.h``, for the ``support`` of rows.

    The file is written for ``T``, with literals that end in ``f``: both become those of
    the type that is computed in. Each of ``parts`` is put in where its name stands.
    """
    path = Path(__file__).with_name("kernels") / f"{name}.cl.h"
    text = re.sub(r"(?<=[\d.])f\b", "{f}", path.read_text("utf-8"))
    words = {"T": "{t}", **parts}
    return re.sub(r"\w+", lambda word: words.get(word[0], word[0]), text)


def horner(coefficients, variable):
    """C text of a polynomial, of the constant term first."""
    first, *others = coefficients
    if not others:
        return f"{first}{{f}}"
    return f"{first}{{f}} + {variable} * ({horner(others, variable)})"
