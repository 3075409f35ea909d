"""Programs of Theano as they are: ``import theano`` finds the compiler.

In a program, before it or a library on top of Theano imports Theano:

>>> from gpuarray.compiler import as_theano
>>> as_theano.install()
>>> import theano.tensor as T
>>> T.__name__
'gpuarray.compiler.tensor'
>>> as_theano.remove()

or for a whole program, with its arguments::

    python -m gpuarray.compiler.as_theano program.py --epochs 3

Each module is the compiler's own, so an object has one class under both names. The
setting ``protocols`` is "theano" meanwhile: such programs write ``if not input:``.
"""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import gpuarray.compiler
from gpuarray.compiler import compat
from gpuarray.compiler.config import config
from gpuarray.compiler.errors import MissingModuleError, NotOfferedError
from gpuarray.compiler.names import suggest_names

__all__ = ["install", "remove"]

_OURS, _THEIRS = gpuarray.compiler.__name__, "theano"


class _Refusal(MetaPathFinder):
    """Says which modules there are, when one is imported that is not."""

    protocols = ""  # the setting before `install`

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        parent, _, name = fullname.rpartition(".")
        if parent.split(".")[0] == _THEIRS:
            _refuse(parent, name)


def _refuse(parent: str, name: str) -> NoReturn:
    known = ", ".join(part for part, _ in _within(sys.modules[parent]))
    raise MissingModuleError(
        f"as_theano: the compiler has no module {parent}.{name}; "
        f"modules of {parent}: {known or 'none'}",
        name=f"{parent}.{name}",
    )


_REFUSAL = _Refusal()


def _loaded() -> Iterator[tuple[str, ModuleType]]:
    """Yield the compiler's modules, each by Theano's name of it."""
    for name, module in list(sys.modules.items()):
        if name == _OURS or name.startswith(f"{_OURS}."):
            yield _THEIRS + name.removeprefix(_OURS), module


def _within(module: ModuleType) -> Iterator[tuple[str, ModuleType]]:
    """Yield the modules among a module's public names."""
    for name in getattr(module, "__all__", ()):
        inner = getattr(module, name)
        if isinstance(inner, ModuleType):
            yield name, inner


def _public(name: str, module: ModuleType) -> Iterator[tuple[str, ModuleType]]:
    """Yield the modules among a module's public names, and those among theirs."""
    for part, inner in _within(module):
        yield f"{name}.{part}", inner
        if inner is not module:
            yield from _public(f"{name}.{part}", inner)


def install() -> None:
    """Have ``import theano`` and ``import theano.tensor`` find the compiler's modules.

    It sets ``config.protocols`` for the program, too. Doing it twice changes nothing.
    Raises NotImplementedError if a Theano is imported already: the program has objects
    of both then.
    """
    imported = sys.modules.get(_THEIRS)
    if imported is gpuarray.compiler:
        return
    if imported is not None:
        raise NotOfferedError(
            f"as_theano: another theano is imported already, from "
            f"{getattr(imported, '__file__', None)}; call install() before that import"
        )
    sys.modules.update(_loaded())
    sys.modules.update(_public(_THEIRS, gpuarray.compiler))
    if hasattr(compat, "six"):
        sys.modules[f"{_THEIRS}.compat.six"] = compat.six
        sys.modules[f"{_THEIRS}.compat.six.moves"] = compat.six.moves
    sys.meta_path.insert(0, _REFUSAL)
    _REFUSAL.protocols, config.protocols = config.protocols, "theano"


def remove() -> None:
    """Undo `install`: later imports of Theano find Theano, if it is there."""
    if sys.modules.get(_THEIRS) is not gpuarray.compiler:
        return
    config.protocols = _REFUSAL.protocols
    sys.meta_path.remove(_REFUSAL)
    for name in [name for name in sys.modules if name.split(".")[0] == _THEIRS]:
        del sys.modules[name]


def main(arguments: Sequence[str]) -> None:
    """Run a program in which Theano is the compiler, with its arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m gpuarray.compiler.as_theano",
        description="Run a program of Theano's on the compiler of gpuarray.",
    )
    parser.add_argument("program", help="a file of Python")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the program's own")
    given = parser.parse_args(arguments)
    program = Path(given.program)
    if not program.is_file():
        parser.error(f"program: {given.program!r} is no file")
    install()
    sys.argv = [given.program, *given.arguments]
    sys.path[0] = str(program.resolve().parent)
    runpy.run_path(given.program, run_name="__main__")


suggest_names(__name__)

if __name__ == "__main__":
    main(sys.argv[1:])
