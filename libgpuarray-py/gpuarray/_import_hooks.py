"""Hooks of imports: a call once a module is loaded, and modules under former names.

The calls are for libraries that are told about arrays by a call and not asked for:
nobody needs to load them for that, and the order of imports makes no difference.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any


def after_import(name: str, call: Callable[[Any], None]) -> None:
    """Call with the module of a name: now if it is loaded, else when it will be.

    One call for each name.
    """
    if name in sys.modules:
        call(sys.modules[name])
        return
    if _watcher not in sys.meta_path:
        sys.meta_path.insert(0, _watcher)
    _watcher.calls[name] = call


class _Watcher:
    """Stands in ``sys.meta_path`` while modules are waited for; finds none itself."""

    def __init__(self) -> None:
        self.calls: dict[str, Callable[[Any], None]] = {}

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """The spec that the others find, whose module calls back when it is loaded."""
        call = self.calls.pop(name, None)
        if call is None:
            return None
        found = find_spec(name)  # which asks here, too: the name is gone by now
        if found is None or not hasattr(found.loader, "exec_module"):
            self.calls[name] = call
            return found
        if not self.calls:
            sys.meta_path.remove(self)
        _call_behind(found.loader, call)
        return found


_watcher: Any = _Watcher()


def _call_behind(loader: Any, call: Callable[[Any], None]) -> None:
    """Have a loader, which is of one module, call with it when it has run."""
    run = loader.exec_module

    def run_and_call(module: Any) -> None:
        del loader.exec_module
        run(module)
        call(module)

    loader.exec_module = run_and_call


def find_under(places: dict[str, tuple[str, ...]]) -> None:
    """Have modules found under the names that are the keys, too: the same modules.

    A module that became several has what is in any of them. What is loaded is there at
    once, so that no attribute of a package changes.
    """
    for name, found in places.items():
        if sys.modules.keys() >= set(found):
            sys.modules[name] = _module_of(name, found)
    sys.meta_path.append(_FormerNames(places))


class _FormerNames:
    """Stands last in ``sys.meta_path``: loads a module under a name it had before."""

    def __init__(self, places: dict[str, tuple[str, ...]]) -> None:
        self.places = places

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """The spec of a module that moved; none of any other."""
        return ModuleSpec(name, self) if name in self.places else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Nothing: the module is elsewhere."""

    def exec_module(self, module: ModuleType) -> None:
        """Put what the module became here."""
        name = module.__name__
        sys.modules[name] = _module_of(name, self.places[name])


def _module_of(name: str, places: tuple[str, ...]) -> ModuleType:
    """Return the module at the only place, else one that looks in all of them."""
    found = [import_module(place) for place in places]
    if len(found) == 1:
        return found[0]

    def get(attribute: str) -> Any:
        for module in found:
            if attribute in vars(module):
                return vars(module)[attribute]
        raise AttributeError(f"module {name!r} has no attribute {attribute!r}")

    several = ModuleType(name)
    vars(several)["__getattr__"] = get
    return several
