"""Ops that stand under the name of the function that they decorate."""

from __future__ import annotations

import sys
from functools import reduce
from typing import Any, TypeVar

from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.graph.core import Op

AnyOp = TypeVar("AnyOp", bound=Op)


def another(op: AnyOp) -> AnyOp:
    """A copy of an op, which a pickle would find by its name: then it were the same."""
    copied: AnyOp = object.__new__(type(op))
    vars(copied).update(vars(op))
    return copied


def found(decorator: str, module: str, name: str) -> Any:
    """The op that a module has by this name: a pickle holds nothing else of it."""
    __import__(module)
    try:
        return reduce(getattr, name.split("."), sys.modules[module])
    except AttributeError:
        raise GraphValueError(
            f"{decorator}: {module} has no {name}; a pickled op is found by the name "
            "it was decorated under, so define it at the top of a module"
        ) from None
