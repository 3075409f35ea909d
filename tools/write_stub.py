"""Writes the list of public names that type checkers and editors read.

    python tools/write_stub.py              prints it
    python tools/write_stub.py --refresh    writes libgpuarray-py/gpuarray/__init__.pyi

The package loads most modules when a name of them is first asked for, which checkers do
not follow. The names are those of the installed package: ``gpuarray/_names.py``, the
functions of the scalar table, NumPy's dtypes. A test fails where the file is not what
this program prints.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import gpuarray
from gpuarray._names import MODULES, OF_NUMPY, PLACES
from gpuarray._ufunc.elementwise import FUNCTIONS

STUB = Path(__file__).parent.parent / "libgpuarray-py" / "gpuarray" / "__init__.pyi"
UFUNCS = "BinaryUfunc", "PairUfunc", "UnaryUfunc", "Ufunc"


def stub() -> str:
    """The text of the stub."""
    lines = [
        '"""The public names; written by tools/write_stub.py --refresh."""',
        "",
        "# ruff: noqa",
        "from typing import Any",
        "",
        "import numpy as np",
        "",
        "from gpuarray._ufunc.elementwise import (",
        *(f"    {name}," for name in UFUNCS),
        ")",
        "from gpuarray import (",
        *(f"    {module} as {module}," for module in MODULES),
        ")",
    ]
    placed = set(MODULES)
    for module, names in PLACES.items():
        lines.append(f"from gpuarray.{module} import (")
        lines += [f"    {name} as {name}," for name in names]
        lines.append(")")
        placed.update(names)
    lines += ["", "bfloat16: Any"]
    for name in gpuarray.__all__:
        if name not in placed:
            lines.append(_declared(name))
    return "\n".join([*lines, "__all__: list[str]", ""])


def _declared(name: str) -> str:
    """A function of the table, a dtype or a constant."""
    value = getattr(gpuarray, name)
    if name in FUNCTIONS:
        return f"{name}: {type(value).__name__}"
    if name in OF_NUMPY and not isinstance(value, float | None):
        return f"{name} = np.{name}"
    if isinstance(value, type):
        return f"{name} = np.{value.__name__.replace('bool', 'bool_')}"
    assert not isinstance(value, ModuleType)
    return f"{name}: {'None' if value is None else type(value).__name__}"


if __name__ == "__main__":
    if "--refresh" in sys.argv[1:]:
        STUB.write_text(stub())
    else:
        sys.stdout.write(stub())
