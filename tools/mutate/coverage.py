"""The map of tests to the blocks of code that they enter."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import sys
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import zip_longest
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from .importing import Finder
from .orders import say
from .package import ROOT, TABLES, files_of
from .state import write
from .trees import FUNCTIONS, Mutant, Tree, tree_of

DEFAULTS = "signature("
"""What tests call that read defaults, which no block of a function is entered for."""
PROGRESS = 60.0
"""The seconds from one line of progress of a map to the next."""


class Map:
    """Runs the tests as they are; notes of each the blocks entered and the seconds."""

    def __init__(self, order: dict[str, Any]) -> None:
        self.order = order
        self.entered = bytearray(200_000)
        self.names: list[str] = []
        self.found: dict[str, Any] = {}
        finder = Finder(self.noting)
        finder.more["__entered__"] = self.entered
        sys.meta_path.insert(0, finder)
        self.failed: set[str] = set()
        self.told = time.monotonic()

    def noting(self, file: str) -> CodeType:
        """Number the blocks of a file; the code that notes them."""
        code, names = Tree(file).noting(len(self.names))
        self.names += [f"{file} {name}" for name in names]
        return code

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        """Note what a test enters, and how long it takes, with no plan kept before."""
        shutil.rmtree(Path(os.environ["GPUARRAY_CACHE_DIR"], "plans"), True)
        self.entered[:] = bytes(len(self.entered))
        start = time.monotonic()
        result = yield
        seconds = time.monotonic() - start
        blocks = [i for i, each in enumerate(self.entered[: len(self.names)]) if each]
        self.found[item.nodeid] = [round(seconds, 3), blocks]
        if time.monotonic() > self.told + PROGRESS:
            self.told = time.monotonic()
            say(f"{len(self.found)} of {item.session.testscollected} tests mapped")
            self.save()
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test that fails without a change says nothing of one."""
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Write the map."""
        self.save()

    def save(self) -> None:
        """What is noted so far, beside what is known of other tests."""
        path = Path(self.order["map"])
        known = json.loads(path.read_text()) if path.exists() else {}
        names: list[str] = known.get("names", [])
        numbers = {name: i for i, name in enumerate(names)}
        for name in self.names:
            numbers.setdefault(name, len(numbers))
        tests = known.get("tests", {})
        for test, (seconds, blocks) in self.found.items():
            if test in self.failed:
                tests.pop(test, None)
                continue
            tests[test] = [seconds, packed(numbers[self.names[i]] for i in blocks)]
        write(path, {"names": list(numbers), "tests": tests})


def packed(numbers: Iterable[int]) -> str:
    """A set of numbers as a short text."""
    bits = sum(1 << each for each in numbers)
    content = bits.to_bytes((bits.bit_length() + 7) // 8, "little")
    return base64.b85encode(zlib.compress(content)).decode()


def unpacked(text: str) -> Iterator[int]:
    """The numbers of a set."""
    for place, byte in enumerate(zlib.decompress(base64.b85decode(text))):
        if byte:
            yield from (8 * place + bit for bit in range(8) if byte >> bit & 1)


class Covers:
    """Which tests enter a block, and how long they take."""

    def __init__(self, path: Path, collected: set[str]) -> None:
        known = json.loads(path.read_text())
        names = known["names"]
        self.seconds: dict[str, float] = {}
        self.by_block: dict[str, list[str]] = defaultdict(list)
        self.by_file: dict[str, list[str]] = defaultdict(list)
        for test, (seconds, text) in known["tests"].items():
            if test not in collected:
                continue
            blocks = list(unpacked(text))
            self.seconds[test] = seconds
            for each in blocks:
                self.by_block[names[each]].append(test)
            for file in {names[each].partition(" ")[0] for each in blocks}:
                self.by_file[file].append(test)
        for tests in (*self.by_block.values(), *self.by_file.values()):
            tests.sort(key=lambda test: (self.seconds[test], test))

    def tests(
        self, mutant: Mutant, budget: float, known: Counter[str]
    ) -> tuple[list[str], float]:
        """The tests of a mutant within seconds, and these.

        First those that have noticed a mutant of its file, by how many; then a spread
        of the others, the quick ones first.
        Of the rows of a table: first those that have a row's name in their own, and
        beside those that enter the file all that read the table; not those of others.
        Of a default also those that read signatures; of what else is outside of
        functions also those of modules that import the file.
        """
        if mutant.is_outside:
            tests = self.by_file.get(mutant.file, [])
            places = [each for each in TABLES if mutant.file.startswith(each)]
            readers = self._readers([TABLES[each] for each in places] + [DEFAULTS])
            readers += self._importers(Path(mutant.file).stem)
            tests = [*dict.fromkeys([*tests, *readers])]
        else:
            tests = self.by_block.get(f"{mutant.file} {mutant.block}", [])
        named: list[str] = []
        if mutant.rows:
            table = {row for place in places for row in rows_in(place)}
            named = [each for each in tests if is_of(each, mutant.rows)]
            tests = [each for each in tests if not is_of(each, table)]
        chosen, total = self._spread(named, budget)
        first = sorted({*tests} & {*known}, key=lambda each: (-known[each], each))
        more, seconds = self._within(first, (budget - total) / 2)
        chosen, total = chosen + more, total + seconds
        rest = [each for each in tests if each not in {*chosen}]
        more, seconds = self._spread(rest, budget - total)
        if mutant.is_outside or not tests:
            return chosen + more, total + seconds
        # What is kept from test to test hides that others enter the block, too.
        nearby = [x for x in self.by_file.get(mutant.file, []) if x not in {*tests}]
        others, last = self._spread(nearby, budget - total - seconds)
        return chosen + more + others, total + seconds + last

    def _within(self, tests: list[str], budget: float) -> tuple[list[str], float]:
        """Those of the tests, in order, that fit into so many seconds."""
        chosen, total = [], 0.0
        for each in tests:
            if total + self.seconds[each] <= budget:
                chosen.append(each)
                total += self.seconds[each]
        return chosen, total

    def _spread(self, tests: list[str], budget: float) -> tuple[list[str], float]:
        """Of each function the quickest case, then the next of each, within seconds."""
        groups: dict[str, list[str]] = defaultdict(list)
        for each in sorted(tests, key=lambda test: (self.seconds[test], test)):
            groups[each.partition("[")[0]].append(each)
        rounds = zip_longest(*groups.values())
        return self._within([x for each in rounds for x in each if x], budget)

    def _readers(self, words: list[str]) -> list[str]:
        """The tests of the modules that have a word in their or their helpers' text."""
        return self._of_modules(lambda text: any(word in text for word in words))

    def _importers(self, name: str) -> list[str]:
        """The tests of the modules that import one of this name, or from it."""
        imported = re.compile(rf"^(?:from|import) .*\b{name}\b", re.M)
        return self._of_modules(lambda text: imported.search(text) is not None)

    def _of_modules(self, is_wanted: Callable[[str], bool]) -> list[str]:
        """The tests of the modules whose texts are wanted."""
        files = {test.partition("::")[0] for test in self.seconds}
        reading = {x for x in files if is_wanted(source_of(x))}
        return [x for x in self.seconds if x.partition("::")[0] in reading]


@cache
def rows_in(place: str) -> frozenset[str]:
    """The names of a table's rows, which are decorated functions of these files."""
    found = [x for file in files_of([place]) for x in tree_of(file).nodes]
    rows = [x for x in found if isinstance(x, FUNCTIONS[:2]) and x.decorator_list]
    return frozenset(row.name.rstrip("_") for row in rows)


@cache
def source_of(file: str) -> str:
    """The text of a module of tests, and those of the helpers that it imports."""
    text = (ROOT / file).read_text()
    places = [ROOT / "tests", (ROOT / file).parent]
    names = re.findall(r"^(?:from|import) (\w+)", text, re.M)
    helpers = {place / f"{name}.py" for name in names for place in places}
    return "\n".join([text, *(x.read_text() for x in helpers if x.exists())])


def is_of(test: str, rows: Iterable[str]) -> bool:
    """Whether a case of a test is named after one of the rows."""
    return not set(rows).isdisjoint(test.partition("[")[2].rstrip("]").split("-"))
