"""Profiles as text: tables of functions, classes, operations, nodes, memory; tips."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from gpuarray.compiler.config import config
from gpuarray.compiler.graph.core import Apply, Op
from gpuarray.compiler.printing.tree import debugprint
from gpuarray.compiler.profiling.loops import loop_lines
from gpuarray.compiler.profiling.memory import MemoryProfile
from gpuarray.compiler.profiling.tips import tips

if TYPE_CHECKING:
    from gpuarray.compiler.profiling.stats import ProfileStats

IMPORTED = time.perf_counter()
ProfilePrinter = Callable[..., None]

_PRINTERS: list[ProfilePrinter] = []


def register_profiler_printer(printer: ProfilePrinter) -> ProfilePrinter:
    """Call ``printer(stats, file)`` at the end of each profile that is printed."""
    _PRINTERS.append(printer)
    return printer


@contextmanager
def destination(file: TextIO | None) -> Iterator[TextIO]:
    """Yield the file of a profile: ``file``, or that of ``profiling.destination``."""
    name = config.profiling.destination
    if file is not None:
        yield file
    elif name in ("stderr", "stdout"):
        yield sys.stderr if name == "stderr" else sys.stdout
    else:
        with Path(name).open("a") as opened:
            yield opened


def write_summary(
    stats: ProfileStats,
    file: TextIO | None = None,
    n_ops: int | None = None,
    n_apply: int | None = None,
) -> None:
    """Print all tables of a profile."""
    flags = config.profiling
    n_ops = flags.n_ops if n_ops is None else n_ops
    n_apply = flags.n_apply if n_apply is None else n_apply
    lines = [
        *headline(stats.message or "Function profiling"),
        *times(stats),
        *_functions(stats),
        *_classes(stats, n_ops),
        *_ops(stats, n_ops),
        *_applies(stats, n_apply),
        *loop_lines(stats.loops, stats.apply_time, n_apply),
        *_split(stats),
        *_compiling(stats, n_ops),
        *(
            line
            for name, memory in stats.memory.items()
            for line in _memory(name, memory)
        ),
        *_graphs(stats),
        *tips(stats),
    ]
    width = flags.output_line_width
    with destination(file) as stream:
        stream.writelines(f"{line[:width]}\n" for line in lines)
        for printer in _PRINTERS:
            printer(stats, stream)


def headline(text: str) -> list[str]:
    """Return a line with a rule under it."""
    return [text, "=" * len(text)]


def percent(part: float, whole: float) -> str:
    """Return a share: ``12.3%``."""
    return f"{100 * part / whole if whole else 0:5.1f}%"


def times(stats: ProfileStats) -> Iterator[str]:
    """Return the header: since the import, compiling, calls, nodes, overhead, rest."""
    whole = time.perf_counter() - IMPORTED
    called, ran = stats.fct_call_time, stats.local_time
    compiled, count = stats.compile_time, stats.fct_callcount
    per_call = called / count if count else 0.0
    over = max(called - ran, 0.0)
    rest = max(whole - compiled - called, 0.0)
    yield f"Time since import {whole:.3f}s"
    yield (
        f"Compile time: {compiled:.3f}s ({percent(compiled, whole).strip()} since "
        "import)"
    )
    yield f"    Optimization time: {stats.optimizer_time:.3f}s"
    yield f"    Linker time: {stats.linker_time:.3f}s"
    yield f"Function call {called:.3f}s ({percent(called, whole).strip()} since import)"
    yield (
        f"    Op time {ran:.3f}s {percent(ran, whole).strip()}(since import) "
        f"{percent(ran, called).strip()}(of function call)"
    )
    yield (
        f"    Function overhead {over:.3f}s {percent(over, whole).strip()}(since "
        f"import) {percent(over, called).strip()}(of function call)"
    )
    yield f"{count} function calls, {per_call:.3g}s per call"
    yield (f"Rest of the time since import {rest:.3f}s {percent(rest, whole).strip()}")
    if stats.lost:
        yield (
            f"{stats.lost} commands have no device time: the host did them, or there "
            "were too many"
        )
    yield ""


def _functions(stats: ProfileStats) -> Iterator[str]:
    yield "Function summary"
    yield "----------------"
    yield "<% total fct time> <total time> <time per call> <nb call> <fct name>"
    rows = sorted(stats.calls.items(), key=lambda row: -row[1][1])
    for name, (count, seconds) in rows:
        yield (
            f"  {percent(seconds, stats.fct_call_time)} {seconds:9.3f}s "
            f"{seconds / count:9.2e}s {count:7d} {name}"
        )
    yield ""


def _table(
    rows: Sequence[tuple[float, str, str]], whole: float, most: int, what: str
) -> Iterator[str]:
    """Return rows of seconds, columns and a name; those past ``most`` as one line."""
    before = 0.0
    rows = sorted(rows, key=lambda row: -row[0])
    for seconds, columns, name in rows[:most]:
        before += seconds
        yield (
            f"  {percent(seconds, whole)} {percent(before, whole)} "
            f"{seconds:8.3f}s {before:8.3f}s {columns} {name}"
        )
    if len(rows) > most:
        rest = sum(seconds for seconds, _, _ in rows[most:])
        yield (
            f"  ... (remaining {len(rows) - most} {what} account for "
            f"{percent(rest, whole).strip()}({rest:.2f}s) of the runtime)"
        )


def _columns(seconds: float, calls: int, is_on_device: bool, *counts: int) -> str:
    """Return the time of a call, ``*`` on the device, and counts."""
    mean = seconds / calls if calls else 0.0
    numbers = " ".join(f"{count:4d}" for count in counts)
    star = "*" if is_on_device else " "
    return f"{mean:8.2e}s {star} {calls:7d} {numbers}".rstrip()


STAR = "  (*) Op is running on the device"


def _classes(stats: ProfileStats, most: int) -> Iterator[str]:
    yield "Class"
    yield "---"
    yield (
        "<% of local_time spent on this kind of Op> <cumulative %> <self seconds> "
        "<cumulative seconds> <time per call> [*] <nb_call> <nb_op> <nb_apply> "
        "<Op name>"
    )
    grouped: dict[type[Op], list[Apply]] = {}
    for node in stats.apply_time:
        grouped.setdefault(type(node.op), []).append(node)
    rows = [
        (*_summed(stats, nodes, len({n.op for n in nodes}), len(nodes)), kind.__name__)
        for kind, nodes in grouped.items()
    ]
    yield from _table(rows, stats.local_time, most, "Classes")
    yield from (STAR, "")


def _ops(stats: ProfileStats, most: int) -> Iterator[str]:
    yield "Ops"
    yield "---"
    yield (
        "<% of local_time spent on this kind of Op> <cumulative %> <self seconds> "
        "<cumulative seconds> <time per call> [*] <nb_call> <nb_apply> <Op name>"
    )
    grouped: dict[Op, list[Apply]] = {}
    for node in stats.apply_time:
        grouped.setdefault(node.op, []).append(node)
    rows = [
        (*_summed(stats, nodes, len(nodes)), str(op)) for op, nodes in grouped.items()
    ]
    yield from _table(rows, stats.local_time, most, "Ops")
    yield from (STAR, "")


def _summed(
    stats: ProfileStats, nodes: Sequence[Apply], *counts: int
) -> tuple[float, str]:
    """Return the seconds of several nodes, and their columns."""
    seconds = sum(stats.apply_time[node] for node in nodes)
    calls = sum(stats.apply_callcount.get(node, 0) for node in nodes)
    is_on_device = all(stats.kind(node) == "device" for node in nodes)
    return seconds, _columns(seconds, calls, is_on_device, *counts)


def _applies(stats: ProfileStats, most: int) -> Iterator[str]:
    yield "Apply"
    yield "------"
    yield (
        "<% of local_time spent at this position> <cumulative %> <apply time> "
        "<cumulative seconds> <time per call> [*] <nb_call> <Apply position> "
        "<Apply Op name>"
    )
    rows = [
        (*_summed(stats, [node], stats.position[node]), _applied(stats, node))
        for node in stats.apply_time
    ]
    yield from _table(rows, stats.local_time, most, "Apply instances")
    yield from (STAR, "")


def _applied(stats: ProfileStats, node: Apply) -> str:
    """Return a node's text; of a loop with the number of its iterations."""
    loop = stats.loops.get(node)
    return f"{node}" if loop is None else f"{node}  [{loop.text()}]"


def _split(stats: ProfileStats) -> Iterator[str]:
    """Return the shares of the host, the device, and transfers."""
    spent = {"host": 0.0, "device": 0.0, "transfer": 0.0}
    for node, seconds in stats.apply_time.items():
        spent[stats.kind(node)] += seconds
    whole = stats.local_time
    cpu, gpu, moved = (
        f"{spent[kind]:.3f}s({percent(spent[kind], whole).strip()})"
        for kind in ("host", "device", "transfer")
    )
    yield f"Spent {cpu} in cpu op, {gpu} in gpu op and {moved} in transfer op"
    yield ""


def _compiling(stats: ProfileStats, most: int) -> Iterator[str]:
    """Return compile time by part, by phase of the rewriting, and by rule."""
    times = stats.compile
    if not times.parts:
        return
    yield "Compile time"
    yield "------------"
    for name, seconds in times.parts.items():
        yield f"  {percent(seconds, times.total)} {seconds:8.4f}s {name}"
        if name == "rewriting":
            for phase, spent in times.phases.items():
                yield f"      {percent(spent, times.total)} {spent:8.4f}s {phase}"
    if times.rules:
        yield "Rewrites: <seconds> <times asked> <times fired> <name>"
        rows = sorted(times.rules.items(), key=lambda row: -row[1][1])
        for name, (calls, seconds) in rows[:most]:
            yield f"  {seconds:8.4f}s {calls:7d} {times.fired[name]:5d} {name}"
        if len(rows) > most:
            rest = sum(seconds for _, (_, seconds) in rows[most:])
            yield f"  ... (remaining {len(rows) - most} rewrites: {rest:.4f}s)"
    yield ""


def _memory(name: str, profile: MemoryProfile) -> Iterator[str]:
    least = config.profiling.min_memory_size
    yield "Memory profile"
    yield "--------------"
    yield "(The results of each node on the device, not what it needs meanwhile.)"
    yield f"Function: {name}"
    for text, size in (
        ("Max without gc, inplace and view", profile.without_any),
        ("Max FAST_RUN_NO_GC", profile.without_gc),
        ("Max FAST_RUN", profile.peak),
        *([("Max in a better order", profile.least)] if profile.least >= 0 else []),
        ("Memory saved by view", profile.saved_by_view),
        ("Memory saved by inplace", profile.saved_by_inplace),
        ("Memory saved by GC", profile.saved_by_gc),
        ("Results on the host", profile.on_host),
    ):
        yield f"    {text} (KB) {round(size / 1024)}"
    yield (
        "    <Sum apply outputs (bytes)> <Apply outputs shape> "
        "<created/inplace/view> <Apply node>"
    )
    yield "    <created/inplace/view> is taken from the op declaration"
    small = 0
    for entry in sorted(profile.nodes, key=lambda row: -sum(row.sizes)):
        if sum(entry.sizes) < least:
            small += 1
            continue
        shapes = ", ".join(map(str, entry.shapes))
        flags = " ".join(entry.flags)
        sizes = ", ".join(map(str, entry.sizes))
        yield f"    {sum(entry.sizes)}B  [{sizes}] [{shapes}] {flags} {entry.node}"
    if small:
        yield f"    ... (remaining {small} Apply have results of less than {least}B)"
    yield ""


def _graphs(stats: ProfileStats) -> Iterator[str]:
    """Return the graphs, if the setting ``profiling.debugprint`` is on."""
    if not config.profiling.debugprint:
        return
    for graph in stats.graphs:
        yield from str(debugprint(graph, file="str")).splitlines()
        yield ""
