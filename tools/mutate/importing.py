"""Modules are changed as they are imported."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
from collections.abc import Callable
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from .package import ROOT


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the files given with the code given."""

    def __init__(self, codes: Callable[[str], CodeType | None]) -> None:
        self.codes = codes
        self.more: dict[str, Any] = {}

    def find_spec(self, name: str, within: Any, target: Any = None) -> Any:
        """Find a file of the package that is to be changed."""
        if name.partition(".")[0] != "gpuarray":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, within)
        if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
            return None
        path = Path(spec.origin).resolve()
        if not path.is_relative_to(ROOT):
            return None
        code = self.codes(str(path.relative_to(ROOT)))
        if code is None:
            return None
        self.found = {**getattr(self, "found", {}), name: code}
        spec.loader = self
        return spec

    def create_module(self, spec: Any) -> None:
        """Leave the module to the import system."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the code that was made for the module."""
        vars(module).update(self.more)
        exec(self.found[module.__name__], vars(module))
