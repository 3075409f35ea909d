"""Names that a pickle would import and call, read without running it."""

from __future__ import annotations

import builtins
import os
import pickletools
from collections.abc import Iterator
from pathlib import Path

from gpuarray.compiler.errors import UntrustedFileError

_SHOWN = 12
"""Names that a message lists."""
_OURS = ("gpuarray.", "numpy.")


def named(data: bytes) -> list[str]:
    """Return the functions and classes that a pickle names, once, as ``module.name``.

    A pickle can hide names by computing them: this informs people, and proves nothing.
    """
    try:
        return list(dict.fromkeys(_named(data)))
    except ValueError:  # no pickle
        return []


def _named(data: bytes) -> Iterator[str]:
    memo: dict[int, str | None] = {}
    texts: list[str] = []
    latest: str | None = None
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name in ("GLOBAL", "INST"):
            yield str(argument).replace(" ", ".")
        elif opcode.name == "STACK_GLOBAL" and len(texts) > 1:
            yield ".".join(texts[-2:])
        if opcode.name == "MEMOIZE":
            memo[len(memo)] = latest
            continue
        if opcode.name in ("BINPUT", "LONG_BINPUT", "PUT"):
            memo[int(str(argument))] = latest
            continue
        is_memo = opcode.name in ("BINGET", "LONG_BINGET", "GET")
        latest = memo.get(int(str(argument))) if is_memo else argument
        latest = latest if isinstance(latest, str) else None
        if latest is not None:
            texts.append(latest)


def _is_plain(name: str) -> bool:
    """True if it is gpuarray's or numpy's, or a class of Python such as list."""
    module, _, called = name.rpartition(".")
    is_class = module == "builtins" and isinstance(vars(builtins).get(called), type)
    return is_class or name.startswith(_OURS)


def untrusted(path: str | os.PathLike[str], data: bytes, why: str) -> Exception:
    """Return the error for an untrusted pickle: what would run, and the remedy."""
    names = named(data)
    others = [name for name in names if not _is_plain(name)]
    listed = ", ".join(others[:_SHOWN])
    more = len(others) - _SHOWN
    contents = (
        f"{listed}{f' and {more} more' if more > 0 else ''}, besides gpuarray's and "
        "numpy's"
        if others
        else "functions of gpuarray and numpy alone"
    )
    name = Path(os.fsdecode(path))
    return UntrustedFileError(
        f"load: {name}: {why}, and that is a pickle: to read it runs what it names, "
        f"which can be any code ({contents}). If you trust whoever wrote the file, "
        "load it with trusted=True"
    )
