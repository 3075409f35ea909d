"""Ops that replace the function that they decorate, and pickle by its name."""

from __future__ import annotations

import sys
from functools import reduce
from typing import Any, TypeVar

from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.graph.core import Op

AnyOp = TypeVar("AnyOp", bound=Op)


def another(op: AnyOp) -> AnyOp:
    """A copy of an op; a pickle, which finds it by name, would be the same op."""
    copied: AnyOp = object.__new__(type(op))
    vars(copied).update(vars(op))
    return copied


def found(decorator: str, module: str, name: str) -> Any:
    """Return a module's op by name: a pickle holds nothing else of it."""
    __import__(module)
    try:
        return reduce(getattr, name.split("."), sys.modules[module])
    except AttributeError:
        raise GraphValueError(
            f"{decorator}: {module} has no {name}; a pickled op is found by the name "
            "it was decorated under, so define it at the top of a module"
        ) from None
