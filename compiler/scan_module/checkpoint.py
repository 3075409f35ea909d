"""The argument ``checkpoint`` of loops."""

from __future__ import annotations

import operator
import re
from typing import Any

from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.ops.scan.segments import Checkpoint

UNITS = {"B": 1} | {
    f"{prefix}{infix}B": base**power
    for infix, base in (("", 1000), ("i", 1024))
    for power, prefix in enumerate("kMGT", 1)
}
"""The bytes of each unit of memory."""


def checkpoint_of(checkpoint: Any, label: str) -> Checkpoint | None:
    """Return which states a gradient keeps; None for all.

    Raises TypeError for what is neither an integer nor a string, ValueError for a
    number that is not positive or a string that says no checkpoint.
    """
    if isinstance(checkpoint, str):
        return _by_name(checkpoint, label)
    try:
        every = operator.index(checkpoint)
    except TypeError:
        raise GraphTypeError(
            f"{label}: checkpoint is {checkpoint!r}, expected {_EXPECTED}"
        ) from None
    if every < 1 or isinstance(checkpoint, bool):
        raise GraphValueError(
            f"{label}: checkpoint is {checkpoint!r}, expected {_EXPECTED}"
        )
    return Checkpoint("every", every)


_EXPECTED = (
    "'all', 'sqrt', a positive number of iterations, or memory as in '64 MB' or '1GiB'"
)


def _by_name(name: str, label: str) -> Checkpoint | None:
    if name == "all":
        return None
    if name == "sqrt":
        return Checkpoint("sqrt")
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?([kMGT]?i?B)", name)
    if match is None or match[2] not in UNITS:
        raise GraphValueError(f"{label}: checkpoint is {name!r}, expected {_EXPECTED}")
    number = int(float(match[1]) * UNITS[match[2]])
    return Checkpoint("bytes", number)
