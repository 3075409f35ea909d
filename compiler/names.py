"""Unknown names of the compiler's modules: similar names, and planned ones.

`TO_COME` is the one list of Theano's names that are planned. A module that calls
``suggest_names(__name__)`` raises errors for them; an import of one as a module is
refused by the last finder.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn

from gpuarray.compiler.errors import ToComeError, UnknownNameError
from gpuarray.errors import public_names

ROOT = "gpuarray.compiler"
PAGE = "docs/compiler/for-those-who-know-theano.md"

_TO_COME = {
    "sparse matrices": "sparse",
}

TO_COME = {name: what for what, names in _TO_COME.items() for name in names.split()}
"""The topic of a planned name of Theano's, by its path in the package."""


def suggest_names(module: str, modules: str = "") -> None:
    """Have a module list its public names, and suggest similar ones in errors.

    Public are what it says in ``__all__``, else all names that begin with no
    underscore; of modules only those of ``modules``. Set at run time, so that type
    checkers know that the module has no other names.
    """

    def refuse(name: str) -> NoReturn:
        raise unknown_name(module, name)

    space = vars(sys.modules[module])
    space.setdefault("__all__", public_names(module, modules))
    space["__getattr__"] = refuse


def unknown_name(module: str, name: str) -> UnknownNameError:
    """Return the error for a missing name: similar names, or the plan."""
    owner, plan = f"module {module!r}", _to_come(f"{module}.{name}")
    if plan is not None:
        return UnknownNameError(owner, name, instead=f" yet: {plan}")
    return UnknownNameError(owner, name, sys.modules[module])


def _to_come(path: str) -> str | None:
    """Return the message for a name that is planned, or one within it."""
    parts = path.removeprefix(f"{ROOT}.").split(".")
    for count in range(1, len(parts) + 1):
        what = TO_COME.get(".".join(parts[:count]))
        if what is not None:
            return f"it comes with {what}; see {PAGE}"
    return None


class Refusing:
    """A finder for `sys.meta_path` that refuses planned modules."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: object = None
    ) -> None:
        """Return None, but raise ImportError for a planned module."""
        plan = _to_come(name) if name.startswith(f"{ROOT}.") else None
        if plan is not None:
            raise ToComeError(f"{name} is not offered yet: {plan}", name=name)


def refuse_what_is_to_come() -> None:
    """Add the finder of planned modules as the last one."""
    if not any(isinstance(finder, Refusing) for finder in sys.meta_path):
        sys.meta_path.append(Refusing())
