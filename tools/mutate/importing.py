"""Modules are changed as they are imported."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
from collections.abc import Callable
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from .package import ROOT


class Changed(importlib.machinery.SourceFileLoader):
    """Loads a file with other code than its own; files beside it are found as ever."""

    def __init__(
        self, name: str, path: str, code: CodeType, more: dict[str, Any]
    ) -> None:
        super().__init__(name, path)
        self.code, self.more = code, more

    def get_code(self, fullname: str) -> CodeType:
        """What runs in place of the file."""
        return self.code

    def exec_module(self, module: ModuleType) -> None:
        """Run the code with the names that it is given besides."""
        vars(module).update(self.more)
        super().exec_module(module)


class Finder(importlib.abc.MetaPathFinder):
    """Finds the files that are to be changed: codes gives the code of each, or None."""

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
        spec.loader = Changed(name, spec.origin, code, self.more)
        return spec
