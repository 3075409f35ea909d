"""What pytest does in place of its own run, or beside it."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from .coverage import Map
from .importing import Finder
from .orders import received
from .package import module_of
from .patching import functions_here
from .running import Run, drawn
from .trees import Tree


class Server:
    """Collects the tests once; each mutant is a fork of it."""

    def __init__(self, order: dict[str, Any]) -> None:
        self.order = order

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the mutants in place of the tests."""
        items = {item.nodeid: item for item in session.items}
        for file in {mutant.file for mutant in drawn(self.order)}:
            with suppress(ImportError):  # of what an optional package lacks
                import_module(module_of(file))  # as names of the package are, when used
        gc.unfreeze()  # what the tests' conftest.py froze is not listed otherwise
        functions = functions_here()
        gc.collect()
        gc.freeze()
        session.config.pluginmanager.getplugin("capturemanager").suspend(True)
        Run(self.order, session, items, functions).all()
        return True


class One:
    """Imports one file with a change, and reports which test failed."""

    def __init__(self, order: dict[str, Any]) -> None:
        self.report = Path(order["report"])
        self.tests = Path(order["tests"]).read_text().split("\n")
        tree = Tree(order["file"])
        (mutant,) = [each for each in tree.mutants() if each.key == order["key"]][:1]
        code = tree.code(mutant)
        sys.meta_path.insert(0, Finder(lambda f: code if f == tree.file else None))
        try:
            import_module(module_of(tree.file))
        except Exception as error:
            self.report.write_text(f"killed by {type(error).__name__} when imported")
            raise

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the tests chosen; some may have gone with the change."""
        found = {item.nodeid: item for item in items}
        items[:] = [found[each] for each in self.tests if each in found]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A module of tests that cannot be imported is a failure, too."""
        if report.failed:
            self.report.write_text(f"killed {report.nodeid}")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write down the first failure."""
        if report.failed:
            self.report.write_text(f"killed {report.nodeid}")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """As a plugin, before anything of the package is imported: do what was ordered."""
    order = received()
    kinds: dict[str, Callable[[dict[str, Any]], Any]] = {
        "map": Map,
        "run": Server,
        "one": One,
    }
    early_config.pluginmanager.register(kinds[order["do"]](order))
