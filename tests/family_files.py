"""Saved families as files that a program in any language reads.

A folder has the functions and two files more. ``data`` has the elements of all arrays
in C order, each as a float64, a complex one as two. ``calls`` has lines of words:

    function FILE RTOL ATOL NAME...    the calls that follow are of it, in this order
    call                               what it is given and what comes of it follows
    given ARRAY                        an input: DTYPE OFFSET AXES and the lengths
    given int VALUE                    an input that is an integer of the host
    given none                         an input that is left out
    result ARRAY                       what NumPy says of a result
    value NAME ARRAY                   what the function keeps after the call

An offset counts float64 from the start of ``data``.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from evaluate import evaluate
from families import Family
from gpuarray._core.info import finfo
from gpuarray.compiler import In, function, plan as p
from gpuarray.dtypes import as_dtype


def write_families(
    families: Mapping[str, Family], folder: Path, is_called: bool = False
) -> int:
    """Save each family and write its calls; how many results and values there are.

    A function is called before it is saved only where ``is_called`` says so: then the
    file has what the call recorded, its bindings, and values are as they were before.
    """
    data = bytearray()
    lines = []
    for number, (name, family) in enumerate(families.items()):
        file = f"{number:03}.plan"
        f = function(
            family.inputs, family.outputs, name="f", updates=dict(family.updates)
        )
        if is_called:
            kept = {each: each.get_value() for each in family.updates}
            f(*family.arguments(family.sizes[-1]))
            for variable, value in kept.items():
                variable.set_value(value)
        f.save(folder / file, graph=False)
        lines.append(f"function {file} {_rtol(family)} {family.atol} {name}")
        for size in family.sizes:
            lines += _call(family, f, family.arguments(size), data)
    (folder / "data").write_bytes(data)
    (folder / "calls").write_text("\n".join(lines) + "\n")
    return sum(line.startswith(("result", "value")) for line in lines)


def _rtol(family: Family) -> float:
    """The family's, at least what the dtypes of its results tell apart."""
    dtypes = [as_dtype(each.type.dtype) for each in _outputs(family)]
    halves = [each for each in dtypes if each.name in ("float16", "bfloat16")]
    widths = [2 * float(finfo(each).eps) for each in halves]
    return max(family.rtol, *widths, 0.0)


def _outputs(family: Family) -> list[Any]:
    return family.outputs if isinstance(family.outputs, list) else [family.outputs]


def _call(family: Family, f: Any, arguments: list[Any], data: bytearray) -> list[str]:
    """The lines of a call, after which shared variables are as NumPy has them."""
    lines = ["call"]
    kinds = [isinstance(each, p.IntValue) for each in f.plan.values]
    for i, is_int in zip(range(len(family.inputs)), kinds, strict=False):
        if i >= len(arguments):
            lines.append("given none")
        elif is_int:
            lines.append(f"given int {arguments[i]}")
        else:
            lines.append("given " + _array(np.asarray(arguments[i]), data))
    results, values = _judged(family, arguments)
    lines += ["result " + _array(each, data) for each in results]
    for variable, value in values.items():
        variable.set_value(value)
        lines.append(f"value {variable.name} " + _array(value, data))
    return lines


def _judged(family: Family, arguments: list[Any]) -> tuple[list[Any], dict[Any, Any]]:
    """NumPy's results, and what becomes of shared variables."""
    if family.judge is not None:
        found = family.judge(*arguments)
        listed = found if isinstance(found, (list, tuple)) else [found]
        return [np.asarray(each) for each in listed], {}
    known = {}
    for i, each in enumerate(family.inputs):
        variable = each.variable if isinstance(each, In) else each
        known[variable] = arguments[i] if i < len(arguments) else each.value
    listed = _outputs(family)
    with np.errstate(all="ignore"):
        found = evaluate([*listed, *family.updates.values()], known)
    n = len(listed)
    return found[:n], dict(zip(family.updates, found[n:], strict=True))


def _array(a: np.ndarray, data: bytearray) -> str:
    """The words of an array, whose elements go to the data."""
    words = [a.dtype.name, len(data) // 8, a.ndim, *a.shape]
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    data += np.ascontiguousarray(a, wide).tobytes()
    return " ".join(map(str, words))
