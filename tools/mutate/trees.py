"""The mutants of a file, and its code with one of them."""

from __future__ import annotations

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from types import CodeType

from .changes import CHECKS, SHOWN, changes, differing, shown
from .package import ROOT, files_of

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
BUILTIN_TYPES = {"bool", "bytes", "complex", "dict", "float", "frozenset", "int",
                 "list", "set", "str", "tuple", "type"}  # fmt: skip


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
        times: Counter[str] = Counter()  # of decorators alike, one after the other
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
                times[said] += 1
                said += f" {times[said]}" if times[said] > 1 else ""
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
            if isinstance(parent, ast.keyword) and parent.arg in (*SHOWN, *CHECKS):
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
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "TypeVar"
    named = node.value if isinstance(node, ast.Subscript) else node
    return isinstance(named, ast.Name) and (
        named.id[0].isupper() or named.id in BUILTIN_TYPES
    )


def is_none(node: ast.expr) -> bool:
    """Whether an expression is written `None`."""
    return isinstance(node, ast.Constant) and node.value is None


@cache
def tree_of(file: str) -> Tree:
    """The tree of a file."""
    return Tree(file)


def mutants_of(paths: Sequence[str]) -> Iterator[Mutant]:
    """Those of files, folders, or lines of a file: ``file.py:12`` or ``:12-30``."""
    for path in paths:
        name, _, lines = path.partition(":")
        first, _, last = lines.partition("-")
        for file in files_of([name]):
            for mutant in tree_of(file).mutants():
                if not lines or int(first) <= mutant.line <= int(last or first):
                    yield mutant
