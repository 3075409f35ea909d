"""Theano's ``sparse.basic``: all names of `sparse`."""

from __future__ import annotations

from typing import Any

from gpuarray.compiler import sparse as _sparse


def __getattr__(name: str) -> Any:
    return getattr(_sparse, name)


def __dir__() -> list[str]:
    return dir(_sparse)
