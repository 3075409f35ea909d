"""Unknown names of the compiler's modules: errors that suggest similar names."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import NoReturn

from gpuarray.compiler.errors import UnknownNameError
from gpuarray.errors import public_names


def suggest_names(
    module: str, modules: str = "", elsewhere: Mapping[str, str] | None = None
) -> None:
    """Have a module list its public names, and suggest similar ones in errors.

    Public are what it says in ``__all__``, else all names that begin with no
    underscore; of modules only those of ``modules``. ``elsewhere`` says for names that
    it lacks what to use. Set at run time, so that type checkers know that the module
    has no other names.
    """

    def refuse(name: str) -> NoReturn:
        if elsewhere and name in elsewhere:
            use = f"; use {elsewhere[name]}"
            raise UnknownNameError(f"module {module!r}", name, instead=use)
        raise unknown_name(module, name)

    space = vars(sys.modules[module])
    space.setdefault("__all__", public_names(module, modules))
    space["__getattr__"] = refuse


def unknown_name(module: str, name: str) -> UnknownNameError:
    """Return the error for a missing name, with similar names."""
    return UnknownNameError(f"module {module!r}", name, sys.modules[module])
