"""The disk cache of plans: a program that runs again rewrites nothing.

An entry is the text of a plan, under a hash of all that determines it: the graph as the
program wrote it, the settings, the devices, this package's files. Reading one runs
nothing but the constructors of `RECORDS`. See ADR 0015.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import gpuarray
import numpy as np
from gpuarray._core.context import Context
from gpuarray.compiler import plan as p
from gpuarray.compiler.encoding import Encoding, Unencodable
from gpuarray.compiler.function.compiling import Task
from gpuarray.compiler.function.plan_key import GraphWriter, Unknown, is_ours
from gpuarray.compiler.gpukernels import LOWERINGS, STEP_FUNCTIONS
from gpuarray.compiler.ops.elemwise import elemwise
from gpuarray.compiler.ops.fused import multi_tensor, row_steps, rowwise
from gpuarray.compiler.ops.slicing import subtensor
from gpuarray.compiler.rewrites.engine.engine import Rule
from gpuarray.compiler.rewrites.passes import all_rewrites
from gpuarray.compiler.store import Store

PLANS = Store("plans", ".plan")
MOST_BYTES = 16 << 20
"""Size limit of an entry; a longer one holds large constants."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The result of compiling: the plan, and which outputs are copied to the host."""

    plan: p.Plan
    to_host: tuple[bool, ...]


RECORDS = (
    Finished, p.Plan, p.ArrayValue, p.IntValue, p.HostInt, p.DeviceInt, p.Dim, p.IntOp,
    p.LaunchStep, p.ReduceStep, p.ReduceComponent, p.Library, p.View, p.ReshapeStep,
    p.Broadcast, p.Index, p.Copy, p.TransferStep, p.Choose, p.Call, p.Routine,
    p.ReportsStep, p.Read, p.BodyPlan, p.LoopStep,
    elemwise.Composite, elemwise.CompositeStep, subtensor.Slice, multi_tensor.Part,
    multi_tensor.MappedTotal,
    rowwise.Program, row_steps.Fold, row_steps.Place, row_steps.Within, row_steps.At,
    row_steps.Head, row_steps.Line, row_steps.Taken, row_steps.Total,
)  # fmt: skip
"""The classes in a plan and in its steps' options, besides plain values."""
ENCODING = Encoding(RECORDS)


def key_of(task: Task) -> str | None:
    """Return the key of a plan in the cache; None for one that is not cached.

    That is so where the program wrote a part of it itself: an op, a rewrite.
    """
    if task.settings.profile_optimizer or not is_all_ours():
        return None
    writer = GraphWriter()
    try:
        leaves = [writer.number(leaf) for leaf in task.leaves]
        outputs = writer.graph(task.expressions)
        become = [
            (out, writer.number(variable)) for out, variable in task.become.items()
        ]
    except Unknown:
        return None
    rewrites = task.selection
    selection = (
        rewrites.phases,
        sorted(rewrites.including),
        sorted(rewrites.excluding),
    )
    names = [] if task.names is None else sorted(task.names.items(), key=repr)
    parts = (
        gpuarray.__version__,
        package(),
        sys.version,
        np.__version__,
        repr(task.settings),
        selection,
        [(name, *about(context)) for name, context in task.contexts.items()],
        (task.name, task.home, names, len(task.variables), sorted(task.stay)),
        (leaves, outputs, become),
        "\n".join(writer.lines),
    )
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()


def find(key: str) -> Finished | None:
    """Return the cached plan of a key; None if there is none."""
    content = PLANS.find(key)
    if content is None:
        return None
    try:
        finished = ENCODING.decode(content)
    except Unencodable:
        return None
    return (
        finished if isinstance(finished, Finished) and is_sound(finished.plan) else None
    )


def is_sound(plan: p.Plan) -> bool:
    """True if all value numbers and step functions that a plan names exist."""
    count = len(plan.values)
    numbers = [*plan.outputs, *(number for number, _ in plan.constants)]
    bodies = []
    for step in plan.steps:
        numbers += (*step.outs, *step.reads)
        if isinstance(step, p.Call | p.LoopStep) and step.body is not None:
            bodies.append(step.body)
    return (
        0 <= plan.n_inputs <= count
        and all([0 <= number < count for number in numbers])
        and calls(plan) <= set(STEP_FUNCTIONS)
        and all([is_sound(body.plan) for body in bodies])
    )


def keep(key: str, finished: Finished) -> None:
    """Cache a plan, but not one with steps on the host or with large constants.

    Steps on the host give a notice each time that they are compiled.
    """
    try:
        content = ENCODING.encode(finished)
    except Unencodable:  # an op in the options of a step, as of those on the host
        return
    if len(content) <= MOST_BYTES:
        PLANS.keep(key, content)


def calls(plan: p.Plan) -> set[str]:
    """Return the step functions that a plan calls."""
    steps = (step for step in plan.steps if isinstance(step, p.Call))
    return {step.function for step in steps if step.body is None}


def is_all_ours() -> bool:
    """True if the program has replaced no rewrite and no lowering of our ops."""
    rewriting = (
        rewrite.transform if isinstance(rewrite, Rule) else rewrite.run
        for rewrite in all_rewrites()
    )
    lowering = (LOWERINGS[op] for op in LOWERINGS if is_ours(op))
    return all(map(is_ours, (*rewriting, *lowering)))


def about(context: Context) -> tuple[object, ...]:
    """Return the properties of a context that a plan may depend on."""
    return context.bin_id, context.name, context.is_cpu


@cache
def package() -> str:
    """Return a hash of this package's files, to tell its versions apart."""
    return hashlib.blake2b(repr(package_files()).encode(), digest_size=16).hexdigest()


def package_files() -> list[tuple[str, int, int]]:
    """Return paths, sizes and times of the code; the compiler may lie elsewhere."""
    folders = {str(Path(gpuarray.__file__).parent), str(Path(__file__).parents[1])}
    return sorted({file for folder in folders for file in _files(folder)})


def _files(folder: str) -> Iterator[tuple[str, int, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _files(entry.path)
            elif entry.name.endswith((".py", ".so")):
                stat = entry.stat()
                yield entry.path, stat.st_size, stat.st_mtime_ns
