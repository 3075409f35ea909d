"""Changed code is put into a process that runs."""

from __future__ import annotations

import ast
import gc
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from .package import TABLES, module_of
from .trees import Mutant, tree_of

Functions = dict[tuple[str, str, int], list[FunctionType]]
"""The functions of a process, by the places of their code."""


def place_of(code: CodeType) -> tuple[str, str, int]:
    """What tells apart the functions of a program."""
    return resolved(code.co_filename), code.co_qualname, code.co_firstlineno


@cache
def resolved(name: str) -> str:
    """A file's path without links."""
    return str(Path(name).resolve())


Cached: Any = type(resolved)
"""Functions that keep their results; other objects are not asked what they have."""


class Cannot(Exception):
    """A change that cannot be put into a program that runs."""


def changed_codes(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """The functions that differ, outermost ones that are not the module itself."""
    olds = [each for each in old.co_consts if isinstance(each, CodeType)]
    news = [each for each in new.co_consts if isinstance(each, CodeType)]
    rest = [each for each in old.co_consts if not isinstance(each, CodeType)]
    also = [each for each in new.co_consts if not isinstance(each, CodeType)]
    if old.co_code != new.co_code or rest != also or len(olds) != len(news):
        raise Cannot
    for one, other in zip(olds, news, strict=True):
        if one != other:
            if one.co_flags & 2:  # a function: its locals are in fast slots
                yield one, other
                yield from nested(one, other)
            else:
                yield from changed_codes(one, other)


def nested(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """The functions within a function, where they stand for one another."""
    olds = [each for each in old.co_consts if isinstance(each, CodeType)]
    news = [each for each in new.co_consts if isinstance(each, CodeType)]
    for one, other in zip(olds, news, strict=False):
        if one != other and one.co_name == other.co_name:
            yield one, other
            yield from nested(one, other)


def functions_here() -> Functions:
    """The functions of this process."""
    found: Functions = defaultdict(list)
    for each in objects_here():
        if isinstance(each, FunctionType):
            found[place_of(each.__code__)].append(each)
    return found


def objects_here() -> list[object]:
    """The objects of this process, those too that the tests have frozen."""
    gc.unfreeze()
    return gc.get_objects()


def put(mutant: Mutant, functions: Functions) -> None:
    """Put the changed code into the functions of this process that have it."""
    tree = tree_of(mutant.file)
    pairs = list(changed_codes(tree.code(), tree.code(mutant)))
    if not any(functions.get(place_of(old)) for old, _ in pairs):
        raise Cannot
    for old, new in pairs:
        for function in functions.get(place_of(old), ()):
            function.__code__ = new


def put_texts(mutant: Mutant) -> bool:
    """Put a changed kernel text into the rows of a table; whether it is in some.

    All else of rows is read as modules are imported, by tests as well.
    """
    tree = tree_of(mutant.file)
    node = tree.nodes[mutant.place]
    if not mutant.rows or not isinstance(node, ast.Constant | ast.JoinedStr):
        return False
    if not isinstance(getattr(node, "value", ""), str):
        return False
    (place,) = [at for at in TABLES if mutant.file.startswith(at)]
    name = module_of(mutant.file)
    table = getattr(sys.modules[name.rpartition(".")[0]], TABLES[place])
    before = dict(table)
    exec(tree.code(mutant), {"__name__": name})
    after = dict(table)
    table.update(before)
    is_changed = False
    for name, row in before.items():
        for part in ("expression", "by_kind", "support"):
            value = getattr(after[name], part)
            is_changed |= value != getattr(row, part)
            object.__setattr__(row, part, value)
    for each in objects_here():
        if type(each) is Cached and each.__module__.startswith("gpuarray"):
            each.cache_clear()
    return is_changed
