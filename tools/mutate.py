"""Mutation testing: the package is changed in one place, and tests are to fail.

Not a part of the suite. First ``map``: the tests run once, and which blocks of code
each of them enters is noted. Then ``run``: of the mutants of the files named a sample
is drawn by a seed, and each meets the tests that enter its block, first those that have
noticed others of the file, then the quick ones, until one fails. Tests that fail
without a change are left out. Tests are collected once; a mutant is a fork of that
process with the changed functions' code put in place, so it costs no more than its
tests. What is changed outside of functions (tables, defaults) is imported anew in a
process of its own.

python tools/mutate.py map tests/compiler tests/gpuarray
python tools/mutate.py run compiler/rewrites --sample 100 --seed 1
python tools/mutate.py run compiler/rewrites --again  # those that survived, once more
python tools/mutate.py list compiler/rewrites  # what is known, counted and listed

A mutant is killed by a test that fails, and by nothing else: one that takes too long or
whose process tells nothing is counted apart, as neither noticed nor survived. --control
runs the same tests on the code as it is; whatever fails there says nothing of mutants.

What was found is kept in --state, under the text of the function and the change; a
survivor is either a change of nothing that can be seen, or a test that is missing.
"""

from __future__ import annotations

import argparse
import ast
import base64
import copy
import gc
import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {"compiler": "gpuarray.compiler", "libgpuarray-py/gpuarray": "gpuarray"}
ORDER = "GPUARRAY_MUTATE"
"""The environment variable that tells the plugin, this file, what to do."""
SECONDS_BEFORE = 20.0
"""What a mutant may take beyond ten times what its tests took."""
PROGRESS = 60.0
"""The seconds from one line of progress of a map to the next."""
TABLES = {"libgpuarray-py/gpuarray/scalars/": "SCALARS"}
"""Files that fill a table when imported, and its name in the tests that read it."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
SCOPES = (*FUNCTIONS, ast.ClassDef)

# ---- what is changed: a node of a syntax tree becomes another ----

COMPARED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
COMPUTED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
CALLED = {"min": "max", "max": "min", "any": "all", "all": "any"}
CHECKS = ("strict", "frozen", "slots")
"""Keywords that refuse what is wrong, as an assertion does, and change nothing else."""
WRITTEN = {" < ": " <= ", " > ": " >= ", " <= ": " < ", " >= ": " > ", " == ": " != "}
WRITTEN |= {" + ": " - ", " - ": " + ", " * ": " / ", " / ": " * ", " && ": " || "}


def changes(node: ast.AST) -> Iterator[ast.AST]:  # noqa: C901 (a case for each)
    """The nodes that one may become."""
    if isinstance(node, ast.Compare):
        for place, op in enumerate(node.ops):
            if type(op) in COMPARED:
                made = copy.deepcopy(node)
                made.ops[place] = COMPARED[type(op)]()
                yield made
    elif isinstance(node, ast.BoolOp):
        for place in range(len(node.values)):
            left = node.values[:place] + node.values[place + 1 :]
            yield left[0] if len(left) == 1 else ast.BoolOp(node.op, left)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield node.operand
    elif isinstance(node, ast.BinOp) and type(node.op) in COMPUTED:
        if not isinstance(node.left, ast.Constant | ast.JoinedStr) or not isinstance(
            getattr(node.left, "value", None), str
        ):
            yield ast.BinOp(node.left, COMPUTED[type(node.op)](), node.right)
    elif isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load):
        for place in range(len(node.elts) if len(node.elts) > 1 else 0):
            yield ast.Tuple(node.elts[:place] + node.elts[place + 1 :], node.ctx)
    elif isinstance(node, ast.Call):
        yield from changed_calls(node)
    elif isinstance(node, ast.If | ast.IfExp):
        for value in (True, False):
            chosen = copy.copy(node)
            chosen.test = ast.Constant(value)
            yield chosen
    elif isinstance(node, ast.Constant):
        yield from changed_constants(node)


def changed_calls(node: ast.Call) -> Iterator[ast.AST]:
    """A call without one of its keywords, or of the opposite function."""
    if isinstance(node.func, ast.Name) and node.func.id in CALLED:
        name = ast.Name(CALLED[node.func.id], ast.Load())
        yield ast.Call(name, node.args, node.keywords)
    for place, keyword in enumerate(node.keywords):
        if keyword.arg in CHECKS:
            continue
        left = node.keywords[:place] + node.keywords[place + 1 :]
        yield ast.Call(node.func, node.args, left)


def changed_constants(node: ast.Constant) -> Iterator[ast.AST]:
    """Another number, or a kernel's text with another operator in one of its lines."""
    value = node.value
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        yield ast.Constant(value + 1)
    elif isinstance(value, float):
        yield ast.Constant(value + 1.0)
    elif isinstance(value, str) and ("{0}" in value or " = " in value):
        lines = value.split("\n")
        for place, line in enumerate(lines):
            if line.lstrip().startswith(("/*", "* ", "//")):
                continue
            for old, new in WRITTEN.items():
                if old in line:
                    made = line.replace(old, new, 1)
                    rest = lines[place + 1 :]
                    yield ast.Constant("\n".join([*lines[:place], made, *rest]))


@dataclass(frozen=True)
class Mutant:
    """A change of a file: the node's place in the tree, which of its changes."""

    file: str
    place: int
    choice: int
    line: int = field(compare=False)
    block: str = field(compare=False)
    text: str = field(compare=False)
    key: str = field(compare=False)
    rows: frozenset[str] = field(compare=False)
    """The decorated functions, the rows of a table, that a change outside is of."""

    @property
    def is_outside(self) -> bool:
        """Whether the change is of what runs when the module is imported."""
        return self.block.endswith("@")


class Tree:
    """The syntax tree of a file, with the block that each node is in."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.path = ROOT / file
        self.source = self.path.read_text()
        self.tree = ast.parse(self.source)
        self.nodes: list[ast.AST] = []
        self.blocks: list[str] = []
        self.fields: list[tuple[ast.AST, str, int | None] | None] = []
        self.parents: list[int] = []
        self.first: dict[str, list[ast.stmt]] = {}
        self._count: Counter[str] = Counter()
        self._walk(self.tree, "@", None, 0)

    def _walk(
        self,
        node: ast.AST,
        block: str,
        at: tuple[ast.AST, str, int | None] | None,
        parent: int,
    ) -> None:
        place = len(self.nodes)
        self.nodes.append(node)
        self.blocks.append(block)
        self.fields.append(at)
        self.parents.append(parent)
        scope = block.rpartition(":")[0] if ":" in block else block.removesuffix("@")
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "type_comment", "keywords_"):
                continue
            if name == "body" and isinstance(node, ast.ClassDef):
                inner = f"{scope}.{node.name}@".lstrip(".")
            elif name == "body" and isinstance(node, FUNCTIONS[:2]):
                self._count[f"{scope}.{node.name}"] += 1
                times = self._count[f"{scope}.{node.name}"]
                twice = f"#{times}" if times > 1 else ""
                inner = self._block(f"{scope}.{node.name}{twice}".lstrip("."), value)
            elif isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                inner = block if block.endswith("@") else self._block(scope, value)
            elif name == "body" and isinstance(node, ast.Lambda) and "@" in block:
                inner = block
            else:
                inner = block
            for index, each in enumerate(value if isinstance(value, list) else [value]):
                if isinstance(each, ast.AST):
                    where = index if isinstance(value, list) else None
                    self._walk(each, inner, (node, name, where), place)

    def _block(self, scope: str, body: list[ast.stmt]) -> str:
        number = self._count[scope + ":"]
        self._count[scope + ":"] += 1
        name = f"{scope}:{number}"
        self.first[name] = body
        return name

    def mutants(self) -> Iterator[Mutant]:
        """All changes of this file."""
        for place, node in enumerate(self.nodes):
            if self._is_text(place) or self._is_of_types(place):
                continue
            for choice, made in enumerate(changes(node)):
                before, after = shown(node), shown(made)
                if before == after:
                    continue
                line = getattr(node, "lineno", 0)
                block = self.blocks[place]
                text = "  ->  ".join(differing(before, after))
                said = f"{self.file} {block} {self._index(place)} {before}  ->  {after}"
                key = hashlib.blake2b(said.encode(), digest_size=8).hexdigest()
                rows = self._rows(place) if block.endswith("@") else frozenset[str]()
                yield Mutant(self.file, place, choice, line, block, text, key, rows)

    def _rows(self, place: int) -> frozenset[str]:
        """The functions whose decorators hold a node, or read what it is a part of."""
        while place and not isinstance(self.nodes[self.parents[place]], ast.Module):
            if isinstance(self.nodes[place], FUNCTIONS[:2]):
                break
            place = self.parents[place]
        return self._read_by(self.nodes[place])

    @cached_property
    def _reads(self) -> list[tuple[ast.AST, set[str], set[str]]]:
        """The statements of a module: what each makes, and the names that it reads."""
        found: list[tuple[ast.AST, set[str], set[str]]] = []
        for each in self.tree.body:
            parts: list[ast.AST] = [each]
            if isinstance(each, FUNCTIONS[:2]) and each.decorator_list:
                parts = [*each.decorator_list]
            names = [x for part in parts for x in ast.walk(part)]
            known = [x for x in names if isinstance(x, ast.Name)]
            made = {x.id for x in known if isinstance(x.ctx, ast.Store)}
            made |= {each.name} if isinstance(each, FUNCTIONS[:2]) else set()
            found.append((each, made, {x.id for x in known}))
        return found

    def _read_by(self, node: ast.AST) -> frozenset[str]:
        """The decorated functions that a statement is, or that read what it makes."""
        waiting, seen = [node], [node]
        while waiting:
            made = {
                x for one, names, _ in self._reads if one is waiting[0] for x in names
            }
            waiting.pop(0)
            for each, _, read in self._reads:
                if made & read and each not in seen:
                    seen.append(each)
                    waiting.append(each)
        return frozenset(
            each.name.rstrip("_")
            for each in seen
            if isinstance(each, FUNCTIONS[:2]) and each.decorator_list
        )

    def _is_text(self, place: int) -> bool:
        """Whether a node is of a docstring's, an example's or a message's text."""
        at = self.fields[place]
        while at is not None:
            parent, name, _ = at
            if isinstance(parent, ast.Expr) and isinstance(
                self.nodes[place], ast.Constant
            ):
                return True
            if isinstance(parent, ast.Raise | ast.Assert):
                return True
            if isinstance(parent, ast.keyword) and parent.arg in ("example", *CHECKS):
                return True
            if isinstance(parent, ast.If) and name == "test":
                test = ast.unparse(parent.test)
                if "TYPE_CHECKING" in test:
                    return True
            place = self.parents[place]
            at = self.fields[place]
            if isinstance(parent, ast.stmt):
                return False
        return False

    def _is_of_types(self, place: int) -> bool:
        """Whether a node is of an alias of types, or of what only a checker reads."""
        node = self.nodes[place]
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return True
        while place and not isinstance(node, ast.stmt):
            place = self.parents[place]
            node = self.nodes[place]
        if isinstance(node, ast.FunctionDef):
            return any(ast.unparse(x) == "overload" for x in node.decorator_list)
        is_outside = self.blocks[place].endswith("@")
        return is_outside and isinstance(node, ast.Assign) and is_type(node.value)

    def _index(self, place: int) -> int:
        """Which of its block's nodes one is: what does not move with lines above."""
        first = place
        while first > 0 and self.blocks[first - 1] == self.blocks[place]:
            first -= 1
        return place - first

    def changed(self, mutant: Mutant) -> ast.Module:
        """A copy of the tree, with a change."""
        made = list(changes(self.nodes[mutant.place]))[mutant.choice]
        at = self.fields[mutant.place]
        assert at is not None
        parent, name, index = at
        ast.copy_location(made, self.nodes[mutant.place])
        old = getattr(parent, name)
        if index is None:
            setattr(parent, name, made)
        else:
            setattr(parent, name, [*old[:index], made, *old[index + 1 :]])
        result = ast.fix_missing_locations(copy.deepcopy(self.tree))
        setattr(parent, name, old)
        return result

    def code(self, mutant: Mutant | None = None) -> CodeType:
        """The compiled module, changed or as it is."""
        tree = self.tree if mutant is None else self.changed(mutant)
        found: CodeType = compile(tree, self.path, "exec", dont_inherit=True)
        return found

    def noting(self, first: int) -> tuple[CodeType, list[str]]:
        """The module that notes the blocks that it enters, and their names."""
        names = list(self.first)
        for number, body in enumerate(self.first.values(), first):
            start = 1 if ast.get_docstring(ast.Module(body, [])) is not None else 0
            note = ast.parse(f"__entered__[{number}] = 1").body[0]
            anchor = body[start] if start < len(body) else body[-1]
            for each in ast.walk(note):
                ast.copy_location(each, anchor)
            body.insert(start, note)
        return self.code(), names


def is_type(node: ast.expr) -> bool:
    """Whether an expression is written as types are: `Callable[[int], str] | None`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return is_type(node.left) and (is_none(node.right) or is_type(node.right))
    named = node.value if isinstance(node, ast.Subscript) else node
    return isinstance(named, ast.Name) and named.id[0].isupper()


def is_none(node: ast.expr) -> bool:
    """Whether an expression is written `None`."""
    return isinstance(node, ast.Constant) and node.value is None


def shown(node: ast.AST) -> str:
    """A node in a line."""
    if isinstance(node, ast.If):
        return f"if {ast.unparse(node.test)}"
    return " ".join(ast.unparse(ast.fix_missing_locations(copy.copy(node))).split())


def differing(before: str, after: str) -> tuple[str, str]:
    """Of long texts what is around the place where they differ."""
    if len(before) < 200:
        return before, after
    start = alike(before, after)
    end = alike(before[:start:-1], after[:start:-1])
    first = max(0, start - 60)
    return before[first : len(before) - end + 40], after[first : len(after) - end + 40]


def alike(one: str, other: str) -> int:
    """How many characters two texts have in common before they differ."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


@cache
def tree_of(file: str) -> Tree:
    """The tree of a file."""
    return Tree(file)


def files_of(paths: Sequence[str]) -> list[str]:
    """The Python files that are named, or lie in the folders that are."""
    found: list[Path] = []
    for each in paths:
        path = ROOT / each
        found += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return [str(each.relative_to(ROOT)) for each in found if each.stem != "_build"]


# ---- modules that are changed as they are imported ----


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


# ---- the plugin: notes what tests enter, or runs mutants ----


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


def write(path: Path, value: Any) -> None:
    """Write JSON, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(f".{os.getpid()}")
    beside.write_text(json.dumps(value))
    beside.replace(path)


class Outcome:
    """Tells through a pipe which test failed first, and ends the process."""

    def __init__(self, pipe: int) -> None:
        self.pipe = pipe

    def tell(self, text: str) -> None:
        """Tell, and end."""
        os.write(self.pipe, text.encode()[:4000])
        os._exit(0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Tell of the first failure."""
        if report.failed:
            self.tell(f"killed {report.nodeid}")


class Server:
    """Collects the tests once; each mutant is a fork of it."""

    def __init__(self, order: dict[str, Any]) -> None:
        self.order = order

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the mutants in place of the tests."""
        items = {item.nodeid: item for item in session.items}
        functions: dict[tuple[str, str, int], list[FunctionType]] = defaultdict(list)
        for each in gc.get_objects():
            if isinstance(each, FunctionType):
                functions[place_of(each.__code__)].append(each)
        gc.collect()
        gc.freeze()
        session.config.pluginmanager.getplugin("capturemanager").suspend(True)
        Run(self.order, session, items, functions).all()
        return True


def place_of(code: CodeType) -> tuple[str, str, int]:
    """What tells apart the functions of a program."""
    return resolved(code.co_filename), code.co_qualname, code.co_firstlineno


@cache
def resolved(name: str) -> str:
    """A file's path without links."""
    return str(Path(name).resolve())


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


class Run:
    """The mutants of an order, each against its tests."""

    def __init__(
        self,
        order: dict[str, Any],
        session: pytest.Session,
        items: dict[str, pytest.Item],
        functions: dict[tuple[str, str, int], list[FunctionType]],
    ) -> None:
        self.order, self.session = order, session
        self.items, self.functions = items, functions
        self.state = State(Path(order["state"]))
        self.covers = Covers(Path(order["map"]), set(items))
        self.cache = Path(os.environ["GPUARRAY_CACHE_DIR"])

    def all(self) -> None:
        """Run them, several at a time, and tell how far it is."""
        waiting = self.asked()
        total, start = len(waiting), time.monotonic()
        running: dict[int, Child] = {}
        counts: Counter[str] = Counter()
        say(f"{total} mutants, {len(self.items)} tests")
        while waiting or running:
            is_late = time.monotonic() > start + self.order["seconds"]
            while waiting and not is_late and len(running) < self.order["jobs"]:
                child = self.started(waiting.pop(0))
                running[child.pid] = child
            if is_late and not running:
                break
            time.sleep(0.02)
            for pid, child in list(running.items()):
                outcome = child.outcome()
                if outcome is None:
                    continue
                del running[pid]
                if not self.order["control"]:
                    self.state.note(child.mutant, outcome)
                elif not outcome.startswith("survived"):
                    say(f"CONTROL {outcome}")
                counts[outcome.partition(" ")[0]] += 1
                done = counts.total()
                left = (time.monotonic() - start) / done * (total - done)
                if outcome.startswith("survived") and not self.order["control"]:
                    mutant = child.mutant
                    say(f"SURVIVED {mutant.file}:{mutant.line} {mutant.text}")
                if done % 10 == 0:
                    say(f"{done} of {total}, {left:.0f} s left: {dict(counts)}")
        say(f"{counts.total()} of {total}: {dict(counts)}")

    def asked(self) -> list[Mutant]:
        """The mutants of the order that are to run."""
        found = drawn(self.order)
        if self.order["control"]:
            return found
        wanted = "survived" if self.order["again"] else None
        return [each for each in found if self.state.outcome(each) == wanted]

    def started(self, mutant: Mutant) -> Child:
        """A process that runs a mutant's tests."""
        tests, seconds = self.covers.tests(
            mutant, self.order["budget"], self.state.noticed_by(mutant.file)
        )
        limit = SECONDS_BEFORE + 20 * mutant.is_outside + 10 * seconds
        folder = Path(tempfile.mkdtemp(prefix="mutant-"))
        take, give = os.pipe()
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, 0)
            os.close(take)
            try:
                self.child(mutant, tests, folder, give)
            except BaseException as error:
                os.write(give, f"failed {type(error).__name__} {error}".encode())
            finally:
                os._exit(0)
        os.close(give)
        return Child(mutant, pid, take, folder, self.cache, len(tests), limit)

    def child(self, mutant: Mutant, tests: list[str], folder: Path, pipe: int) -> None:
        """The mutant's process: its tests, quick ones first, until one fails."""
        outcome = Outcome(pipe)
        if not tests:
            outcome.tell("uncovered")
        shared = self.cache
        for path in [each for each in shared.rglob("*") if each.is_file()]:
            relative = path.relative_to(shared)
            if relative.parts[0] not in ("plans", "ops"):
                (folder / relative).parent.mkdir(
                    parents=True, exist_ok=True, mode=0o700
                )
                os.link(path, folder / relative)
        os.environ["GPUARRAY_CACHE_DIR"] = str(folder)
        empty = os.open(os.devnull, os.O_RDWR)
        for each in (0, 1, 2):
            os.dup2(empty, each)
        try:
            if not self.order["control"] and not self.put_texts(mutant):
                self.put(mutant)
        except (Cannot, ValueError):
            self.anew(mutant, tests, outcome)
        self.session.config.pluginmanager.register(outcome)
        chosen = [self.items[each] for each in tests]
        hook = self.session.config.hook
        for item, following in zip(chosen, [*chosen[1:], None], strict=True):
            hook.pytest_runtest_protocol(item=item, nextitem=following)
        outcome.tell("survived")

    def put_texts(self, mutant: Mutant) -> bool:
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
        for each in gc.get_objects():
            if hasattr(each, "cache_clear") and each.__module__.startswith("gpuarray"):
                each.cache_clear()
        return is_changed

    def put(self, mutant: Mutant) -> None:
        """Put the changed code into the functions of this process."""
        tree = tree_of(mutant.file)
        pairs = list(changed_codes(tree.code(), tree.code(mutant)))
        if not pairs:
            raise Cannot
        for old, new in pairs:
            for function in self.functions.get(place_of(old), ()):
                function.__code__ = new

    def anew(self, mutant: Mutant, tests: list[str], outcome: Outcome) -> None:
        """Import everything in a process of its own, the mutant with the change."""
        order = {"do": "one", "file": mutant.file, "key": mutant.key}
        report = Path(os.environ["GPUARRAY_CACHE_DIR"], "report")
        names = report.with_name("tests")
        names.write_text("\n".join(tests))
        order |= {"report": str(report), "tests": str(names)}
        python = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "mutate"]
        contexts = [x for each in self.order["contexts"] for x in ("--context", each)]
        files = dict.fromkeys(each.partition("::")[0] for each in tests)
        command = [*python, "-p", "no:cacheprovider", *contexts, *files]
        environment = {
            **os.environ,
            ORDER: json.dumps(order),
            "PYTEST_XDIST_WORKER": "mutant",
        }
        done = subprocess.run(command, cwd=ROOT, env=environment, check=False)
        text = report.read_text() if report.exists() else "unreported"
        outcome.tell(text if done.returncode else "survived")


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


def module_of(file: str) -> str:
    """The name of a file's module."""
    (place,) = [each for each in PACKAGES if file.startswith(f"{each}/")]
    parts = Path(file).relative_to(place).with_suffix("").parts
    return ".".join((PACKAGES[place], *(x for x in parts if x != "__init__")))


@dataclass
class Child:
    """A process that runs a mutant's tests."""

    mutant: Mutant
    pid: int
    pipe: int
    folder: Path
    cache: Path
    tests: int
    limit: float
    start: float = field(default_factory=time.monotonic)

    def outcome(self) -> str | None:
        """How it ended; None where it has not."""
        ended, _ = os.waitpid(self.pid, os.WNOHANG)
        if not ended:
            if time.monotonic() < self.start + self.limit:
                return None
            os.killpg(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            text = "timeout"
        else:
            text = os.read(self.pipe, 4000).decode() or "killed by a crash"
        os.close(self.pipe)
        self._keep_kernels()
        return f"{text} ({self.tests} tests, {time.monotonic() - self.start:.1f} s)"

    def _keep_kernels(self) -> None:
        """What was compiled is there for the next ones: it is kept by its source."""
        for path in [each for each in self.folder.rglob("*") if each.is_file()]:
            relative = path.relative_to(self.folder)
            other = self.cache / relative
            if path.suffix == ".kernel" and not other.exists():
                other.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                path.replace(other)
        shutil.rmtree(self.folder, ignore_errors=True)


# ---- which tests, which mutants, what was found ----


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
        """
        if mutant.is_outside:
            tests = self.by_file.get(mutant.file, [])
            places = [each for each in TABLES if mutant.file.startswith(each)]
            readers = self._readers([TABLES[each] for each in places])
            tests = [*dict.fromkeys([*tests, *readers])]
        else:
            tests = self.by_block.get(f"{mutant.file} {mutant.block}", [])
        if mutant.rows:
            others = {row for place in places for row in rows_in(place)}
            named = [each for each in tests if is_of(each, mutant.rows)]
            rest = [each for each in tests if not is_of(each, others)]
            chosen, total = self._spread(named, budget)
            more, seconds = self._spread(rest, budget - total)
            return chosen + more, total + seconds
        first = sorted({*tests} & {*known}, key=lambda each: (-known[each], each))
        chosen, total = self._within(first, budget / 2)
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
        """The tests of the modules that have one of the words in their text."""
        files = {test.partition("::")[0] for test in self.seconds}
        reading = {x for x in files if any(w in source_of(x) for w in words)}
        return [x for x in self.seconds if x.partition("::")[0] in reading]


@cache
def rows_in(place: str) -> frozenset[str]:
    """The names of a table's rows, which are decorated functions of these files."""
    found = [x for file in files_of([place]) for x in tree_of(file).nodes]
    rows = [x for x in found if isinstance(x, FUNCTIONS[:2]) and x.decorator_list]
    return frozenset(row.name.rstrip("_") for row in rows)


@cache
def source_of(file: str) -> str:
    """The text of a file."""
    return (ROOT / file).read_text()


def is_of(test: str, rows: Iterable[str]) -> bool:
    """Whether a case of a test is named after one of the rows."""
    return not set(rows).isdisjoint(test.partition("[")[2].rstrip("]").split("-"))


class State:
    """What became of mutants, in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: dict[str, Any] = (
            json.loads(path.read_text()) if path.exists() else {}
        )

    def note(self, mutant: Mutant, outcome: str) -> None:
        """Keep what became of one."""
        self.found[mutant.key] = [mutant.file, outcome, mutant.text]
        write(self.path, self.found)

    def outcome(self, mutant: Mutant) -> str | None:
        """The first word of what became of one."""
        found = self.found.get(mutant.key)
        return found[1].partition(" ")[0] if found else None

    def noticed_by(self, file: str) -> Counter[str]:
        """The tests that noticed mutants of a file, and how many."""
        return Counter(
            outcome.removeprefix("killed ").rpartition(" (")[0]
            for other, outcome, _ in self.found.values()
            if other == file and outcome.startswith("killed ")
        )


def drawn(order: dict[str, Any]) -> list[Mutant]:
    """A sample of the mutants of an order, the same for the same seed."""
    found = [m for file in files_of(order["paths"]) for m in tree_of(file).mutants()]
    random.Random(order["seed"]).shuffle(found)
    return found[: order["sample"]]


def say(text: str) -> None:
    """Print a line at once, whatever captures."""
    assert sys.__stderr__ is not None
    os.write(sys.__stderr__.fileno(), f"{text}\n".encode())


def tell(text: str) -> None:
    """Print a line of the result."""
    sys.stdout.write(f"{text}\n")


# ---- the program ----


def list_known(order: dict[str, Any]) -> None:
    """Print what is known of the mutants of some files."""
    state = State(Path(order["state"]))
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for file in files_of(order["paths"]):
        for mutant in tree_of(file).mutants():
            outcome = state.outcome(mutant)
            package = str(Path(file).parent)
            counts[package][outcome or "not run"] += 1
            if outcome in ("survived", "uncovered"):
                tell(f"{file}:{mutant.line} {outcome}: {mutant.text} [{mutant.key}]")
    for package, found in counts.items():
        tell(f"{package} {dict(found)}")


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("do", choices=["map", "run", "list"])
    parser.add_argument("paths", nargs="+", help="of tests to map, or of the package")
    parser.add_argument("--tests", nargs="+", default=["tests/compiler"])
    parser.add_argument("--context", dest="contexts", action="append", default=[])
    parser.add_argument("--state", default=".mutants/state.json")
    parser.add_argument("--map", default=".mutants/map.json")
    parser.add_argument("--sample", type=int, default=1000, help="of all mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget", type=float, default=20.0, help="a mutant's seconds")
    parser.add_argument("--seconds", type=float, default=1e9, help="of all together")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--control", action="store_true", help="change nothing: all are to survive"
    )
    parser.add_argument("--again", action="store_true", help="those that survived")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Map tests, run mutants, or list what is known."""
    options = parsed(arguments)
    order = vars(options) | {
        "state": str(Path(options.state).resolve()),
        "map": str(Path(options.map).resolve()),
    }
    if options.do == "list":
        list_known(order)
        return 0
    above = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = f"{Path(__file__).parent}:{above}"
    os.environ[ORDER] = json.dumps(order)
    kernels = Path(order["map"]).with_name("kernels")  # kept from run to run
    kernels.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.environ["GPUARRAY_CACHE_DIR"] = str(kernels)
    os.environ["PYTEST_XDIST_WORKER"] = "mutate"  # who brings a cache
    contexts = [x for each in options.contexts for x in ("--context", each)]
    tests = options.paths if options.do == "map" else options.tests
    command = [sys.executable, "-m", "pytest", "-q", "-p", "mutate", *contexts]
    command += ["-p", "no:cacheprovider", "-p", "no:randomly", *tests]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """As a plugin, before anything of the package is imported: do what was ordered."""
    order = json.loads(os.environ.pop(ORDER))
    kinds: dict[str, Callable[[dict[str, Any]], Any]] = {
        "map": Map,
        "run": Server,
        "one": One,
    }
    early_config.pluginmanager.register(kinds[order["do"]](order))


if __name__ == "__main__":
    sys.exit(main())
