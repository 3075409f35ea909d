"""The rewriting engine: rules by operation, phases, a fixpoint with a budget, a log.

A rule is a small function of a node: it reads the graph behind it and returns
replacements of its outputs, or ``None``. A pass works on the whole graph. Neither
casts: a replacement has the variable's type, or the engine raises.
"""

from __future__ import annotations

import functools
import inspect
import re
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple

from gpuarray.compiler.derivatives.forms import register
from gpuarray.compiler.errors import CompilerError
from gpuarray.compiler.graph.core import Apply, Op, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.rewrites.engine.merging import Interner
from gpuarray.compiler.rewrites.engine.rows import row_of_op
from gpuarray.dtypes import as_dtype, kind_of

Result = Variable | Sequence[Variable] | None
Transform = Callable[..., Result]
Pass = Callable[[FunctionGraph, "Log"], bool]
Key = str | type[Op]

_EXAMPLE = re.compile(
    r"^\s*(?P<before>\S.*?)\s+->\s+(?P<after>[^#]*?)\s*(?:#\s*(?P<note>.*))?$"
)


class RewriteError(CompilerError):
    """A rule broke its contract, or the rules of a phase do not terminate."""


class RestlessError(RewriteError):
    """Rules fire without end; the graph is correct at any time.

    ``rules`` are the names of those that fire about as often as the most frequent one.
    """

    def __init__(self, message: str, rules: Collection[str]) -> None:
        super().__init__(message)
        self.rules = rules


@dataclass(frozen=True, slots=True)
class Example:
    """A ``before -> after`` line of a rule's docstring; ``note`` is its comment."""

    before: str
    after: str
    note: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its phase, the ops it applies to, its function and examples.

    ``kinds`` are those of the results' dtype that it holds for; empty: any.
    """

    name: str
    phase: str
    ops: tuple[Key, ...]
    transform: Transform
    examples: tuple[Example, ...]
    wants_graph: bool
    kinds: str = ""

    @property
    def module(self) -> str:
        """The name of the module that it is written in."""
        return self.transform.__module__

    @property
    def tags(self) -> frozenset[str]:
        """The names it is chosen by: its own, its phase's, its file's."""
        return tags_of(self.name, self.phase, self.module)


@dataclass(frozen=True, slots=True)
class GraphPass:
    """A pass over the whole graph; it returns whether it changed anything."""

    name: str
    phase: str
    run: Pass

    @property
    def tags(self) -> frozenset[str]:
        """The names it is chosen by: its own, its phase's, its file's."""
        return tags_of(self.name, self.phase, self.run.__module__)


@cache
def tags_of(name: str, phase: str, module: str) -> frozenset[str]:
    """Return the names that a rule or pass is chosen by."""
    return frozenset({name, phase, module.rpartition(".")[2]})


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One replacement: the rule and the printed nodes, before and after."""

    rule: str
    before: str
    after: str


@dataclass(slots=True)
class Tried:
    """The calls of a rule and their time."""

    calls: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Log:
    """The rewrites that fired, in order; texts are kept only with ``keep_text``."""

    keep_text: bool = False
    entries: list[LogEntry] = field(default_factory=list)
    fired: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)
    """The time of each phase."""
    tried: dict[str, Tried] | None = None
    """The calls of each rule and pass, and their time, if they are measured."""
    restless: set[str] = field(default_factory=set)
    """Rules that did not terminate: later phases leave them out."""

    def note(self, rule: str, before: Variable, after: Variable) -> None:
        """Count the rule, and keep both sides if texts are wanted."""
        self.fired[rule] += 1
        if self.keep_text:
            self.entries.append(LogEntry(rule, _text(before), _text(after)))


def rewrite(
    *,
    phase: str,
    ops: Iterable[Key] | None = None,
    kinds: str = "",
    forms: Iterable[str] = (),
) -> Callable[[Transform], Rule]:
    """Make a rule of a function; its docstring must hold a ``before -> after`` line.

    ``ops`` are rows of the scalar table (by name; ``"cast"`` and ``"composite"`` too)
    or classes of ops; ``None`` is every node. ``kinds`` are NumPy's letters of the
    kinds of numbers that the rule holds for: ``"f"`` excludes complex ones; the kind is
    that of the node's first output. The rule takes the node, or the node and its graph.
    Of nodes of the rows ``forms`` the derivatives are those of the rule's result.
    """

    def as_rule(transform: Transform) -> Rule:
        name = transform.__name__
        examples = examples_of(transform.__doc__ or "")
        if not examples:
            raise RewriteError(
                f"{name}: a rule needs a 'before -> after' line in its docstring"
            )
        keys = tuple(ops) if ops is not None else ()
        for row in forms:
            register(row, transform)
        wants_graph = len(inspect.signature(transform).parameters) == 2
        return Rule(name, phase, keys, transform, examples, wants_graph, kinds)

    return as_rule


def graph_pass(*, phase: str) -> Callable[[Pass], GraphPass]:
    """Make a pass of a function; it runs when no rule of the phase fires."""

    def as_pass(run: Pass) -> GraphPass:
        return GraphPass(run.__name__, phase, run)

    return as_pass


def examples_of(docstring: str) -> tuple[Example, ...]:
    """Return the ``before -> after`` lines of a docstring."""
    matches = (_EXAMPLE.match(line) for line in docstring.splitlines())
    return tuple(
        Example(m["before"].strip(), m["after"].strip(), m["note"] or "")
        for m in matches
        if m
    )


class Fixpoint:
    """Applies rules to a graph until none fires.

    A rule reads its node and the graph behind it, so it is tried again only where that
    has changed; one that reads the whole graph, after any change. ``rested`` are rules
    that do not fire in the graph as it is given.
    """

    def __init__(
        self,
        fgraph: FunctionGraph,
        rules: Sequence[Rule],
        log: Log,
        rested: Collection[Rule] = (),
    ) -> None:
        self.fgraph = fgraph
        self.log = log
        self.interner = Interner(fgraph)
        self.index: dict[Key | None, list[Rule]] = {}
        for rule in rules:
            for key in rule.ops or (None,):
                self.index.setdefault(key, []).append(rule)
        self.rested = frozenset(map(id, rested))
        self.by_op: dict[tuple[type[Op], str | None, str], Choice] = {}
        self.left = max(2000, 50 * len(fgraph.apply_nodes))
        self.fired: Counter[str] = Counter()
        self.queue: deque[Apply] = deque()
        self.waiting: set[Apply] = set()
        self.changes = 0
        self.behind: dict[Apply, int] = {}
        """The number of the latest change behind a node, as far as is known yet."""
        self.asked: dict[Apply, tuple[int, int]] = {}
        """``behind`` and ``changes`` of a node when its rules were last tried."""

    def run(self) -> bool:
        """Sweep until a sweep changes nothing; return whether anything changed."""
        changed = False
        while self.sweep():
            changed = True
        return changed

    def sweep(self) -> bool:
        """Visit every node, inputs first, and those that change meanwhile."""
        changed = False
        self.push(self.fgraph.toposort())
        while self.queue:
            node = self.queue.popleft()
            self.waiting.discard(node)
            if node in self.fgraph.apply_nodes:
                changed |= self.visit(node)
        return changed

    def push(self, nodes: Iterable[Apply]) -> None:
        """Queue nodes that are not queued yet."""
        for node in nodes:
            if node not in self.waiting:
                self.waiting.add(node)
                self.queue.append(node)

    def visit(self, node: Apply) -> bool:
        """Apply the first rule that fires on the node; return whether one did."""
        behind = self.latest_behind(node)
        before = self.asked.get(node)
        if before == (behind, self.changes):
            return False
        choice = self.rules_for(node)
        if before is not None and behind == before[0]:
            rules = choice.seeing
        else:
            same = self.interner.known(node)
            if same is not None:
                self.put("merge_equal_nodes", node, list(same.outputs), [])
                return True
            unchanged = choice.fresh_or_seeing if self.changes else choice.fresh
            rules = choice.every if behind else unchanged
        at = behind, self.changes
        for rule in rules:
            result = (
                rule.transform(node, self.fgraph)
                if rule.wants_graph
                else rule.transform(node)
            )
            if result is None:
                continue
            results = [result] if isinstance(result, Variable) else list(result)
            if self.replace(rule, node, results):
                return True
        self.asked[node] = at
        return False

    def latest_behind(self, node: Apply) -> int:
        """Return the number of the latest change behind the node; or 0.

        A sweep without changes visits all nodes in order, so it finds all.
        """
        known = self.behind
        latest = known.get(node, 0)
        for operand in node.inputs:
            owner = operand.owner
            if owner is not None and known.get(owner, 0) > latest:
                latest = known[owner]
        known[node] = latest
        return latest

    def replace(self, rule: Rule, node: Apply, results: list[Variable]) -> bool:
        """Replace the node's outputs by a rule's results; return if they differ."""
        if len(results) != len(node.outputs):
            raise RewriteError(
                f"{rule.name}: {len(results)} results for {len(node.outputs)} outputs"
            )
        new: list[Apply] = []
        results = [self.interner.intern(result, new) for result in results]
        pairs = list(zip(node.outputs, results, strict=True))
        for old, result in pairs:
            if result.type != old.type:
                raise RewriteError(
                    f"{rule.name}: put {result.type} in place of {old.type}: {node}"
                )
        if all(old is result for old, result in pairs):
            return False
        if not rule.wants_graph:
            self.interner.means(node, results)
        self.put(rule.name, node, results, new)
        return True

    def put(
        self, rule: str, node: Apply, results: list[Variable], new: list[Apply]
    ) -> None:
        """Replace in the graph, log it, and queue nodes that may change now."""
        self.left -= 1
        self.fired[rule] += 1
        if self.left < 0:
            most = self.fired.most_common(6)
            fired = ", ".join(f"{name} {n}x" for name, n in most)
            raise RestlessError(
                f"rewriting does not come to rest; the rules that fired: {fired}",
                [name for name, n in most if 2 * n >= most[0][1]],
            )
        self.interner.replaced(node, results)
        clients = self.fgraph.clients
        users = [
            client
            for old in node.outputs
            for client, _ in clients.get(old, ())
            if isinstance(client, Apply)
        ]
        for old, result in zip(node.outputs, results, strict=True):
            if old is not result:
                self.log.note(rule, old, result)
                self.fgraph.replace(old, result, reason=rule)
        others = [
            created for created in new if created in self.fgraph.apply_nodes
        ] + users
        self.changes += 1
        self.behind.update(dict.fromkeys(others, self.changes))
        self.push(others)

    def rules_for(self, node: Apply) -> Choice:
        """Return the rules for such an op with such a result."""
        op, kind = node.op, kind_of_result(node)
        key = (type(op), row_of_op(op), kind)
        choice = self.by_op.get(key)
        if choice is None:
            keys: list[Key | None] = (
                [key[1], *type(op).__mro__] if key[1] else [*type(op).__mro__]
            )
            rules = [
                rule
                for entry in (*keys, None)
                for rule in self.index.get(entry, [])
                if not rule.kinds or (kind and kind in rule.kinds)
            ]
            choice = self.by_op[key] = choice_of(rules, self.rested)
        return choice


def kind_of_result(node: Apply) -> str:
    """Return NumPy's letter of the kind of a node's first output; "" for no array."""
    dtype = getattr(node.outputs[0].type, "dtype", None) if node.outputs else None
    return kind_of_name(dtype) if isinstance(dtype, str) else ""


@cache
def kind_of_name(dtype: str) -> str:
    """Return NumPy's letter of the kind of a dtype: ``"f"`` for ``"bfloat16"``."""
    return kind_of(as_dtype(dtype))


class Choice(NamedTuple):
    """The rules of an op, by the changes since they were tried.

    ``every`` one, those that did not rest at the start, these and those that read the
    whole graph, and the latter alone.
    """

    every: list[Rule]
    fresh: list[Rule]
    fresh_or_seeing: list[Rule]
    seeing: list[Rule]


def choice_of(rules: list[Rule], rested: Collection[int]) -> Choice:
    """Return the rules to try in each case; ``rested`` has the identities of some."""
    fresh = [rule for rule in rules if id(rule) not in rested]
    to_try = [rule for rule in rules if rule.wants_graph or id(rule) not in rested]
    return Choice(rules, fresh, to_try, [rule for rule in rules if rule.wants_graph])


def run_phase(
    fgraph: FunctionGraph,
    rules: Iterable[Rule],
    passes: Sequence[GraphPass],
    log: Log,
    rested: Collection[Rule] = (),
) -> Collection[Rule]:
    """Apply the rules and passes of a phase until none fires.

    ``rested`` are rules that do not fire now. Returns those that do not fire
    afterwards.
    """
    active = [rule for rule in rules if rule.name not in log.restless]
    rules, known = active, rested
    if log.tried is not None:
        rules = [
            replace(rule, transform=measured(rule.name, rule.transform, log.tried))
            for rule in rules
        ]
        known = ()  # each phase is measured as if it were alone
        passes = [
            replace(
                graph_pass, run=measured(graph_pass.name, graph_pass.run, log.tried)
            )
            for graph_pass in passes
        ]
    while True:
        try:
            is_changed = bool(rules) and Fixpoint(fgraph, rules, log, known).run()
        except RestlessError as error:
            warnings.warn(f"{error}; it goes on with what there is", stacklevel=2)
            log.restless.update(error.rules)
            is_changed, rules, active = True, [], []
        is_changed_again = any([graph_pass.run(fgraph, log) for graph_pass in passes])
        if not is_changed_again:
            return active if is_changed else [*rested, *active]
        rested = known = ()
        if not rules:
            return ()


def measured(name: str, function: Any, tried: dict[str, Tried]) -> Any:
    """Return the function of a rule or pass, with its calls counted and timed."""
    times = tried.setdefault(name, Tried())

    @functools.wraps(function)
    def timed(*args: Any) -> Any:
        start = time.perf_counter()
        result = function(*args)
        times.seconds += time.perf_counter() - start
        times.calls += 1
        return result

    return timed


def _text(variable: Variable) -> str:
    return f"{variable.owner}" if variable.owner is not None else f"{variable}"
