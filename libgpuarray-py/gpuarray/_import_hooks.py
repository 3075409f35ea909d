"""Import hooks: callbacks after a module is loaded, and modules under former names.

The callbacks register arrays with libraries once these are imported, in any order, and
import none of them.
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
    """Call with the module of a name: now if it is loaded, else once it is.

    One call for each name.
    """
    if name in sys.modules:
        call(sys.modules[name])
        return
    if _watcher not in sys.meta_path:
        sys.meta_path.insert(0, _watcher)
    _watcher.calls[name] = call


class _Watcher:
    """A finder in ``sys.meta_path`` that hooks the loaders of the awaited modules."""

    def __init__(self) -> None:
        self.calls: dict[str, Callable[[Any], None]] = {}

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """The other finders' spec, whose loader calls back after the module ran."""
        call = self.calls.pop(name, None)
        if call is None:
            return None
        spec = find_spec(name)  # asks this finder, too, which no longer has the name
        if spec is None or not hasattr(spec.loader, "exec_module"):
            self.calls[name] = call
            return spec
        if not self.calls:
            sys.meta_path.remove(self)
        _call_behind(spec.loader, call)
        return spec


_watcher: Any = _Watcher()


def _call_behind(loader: Any, call: Callable[[Any], None]) -> None:
    """Wrap a loader, which is of one module, to call with it when it has run."""
    run = loader.exec_module

    def run_and_call(module: Any) -> None:
        del loader.exec_module
        run(module)
        call(module)

    loader.exec_module = run_and_call


def find_under(places: dict[str, tuple[str, ...]]) -> None:
    """Have modules found under the names that are the keys, too: the same modules.

    A module that was split has the attributes of all its parts. Loaded ones are aliased
    at once, so that no attribute of a package changes.
    """
    for name, current in places.items():
        if sys.modules.keys() >= set(current):
            sys.modules[name] = _module_of(name, current)
    sys.meta_path.append(_FormerNames(places))


class _FormerNames:
    """The last finder in ``sys.meta_path``: loads a module under its former name."""

    def __init__(self, places: dict[str, tuple[str, ...]]) -> None:
        self.places = places

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """Return the spec of a module that moved; None for any other."""
        return ModuleSpec(name, self) if name in self.places else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Return None: the module is elsewhere."""

    def exec_module(self, module: ModuleType) -> None:
        """Put the current module in this one's place."""
        name = module.__name__
        sys.modules[name] = _module_of(name, self.places[name])


def _module_of(name: str, places: tuple[str, ...]) -> ModuleType:
    """Return the module at the only place, else one that looks in all of them."""
    modules = [import_module(place) for place in places]
    if len(modules) == 1:
        return modules[0]

    def get(attribute: str) -> Any:
        for module in modules:
            if attribute in vars(module):
                return vars(module)[attribute]
        raise AttributeError(f"module {name!r} has no attribute {attribute!r}")

    several = ModuleType(name)
    vars(several)["__getattr__"] = get
    return several
