"""Compile expressions to a function: checks, givens, rewrites, placement, plan."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpuarray._core.file_write import write_file
from gpuarray.compiler.config import config
from gpuarray.compiler.debug import Mode
from gpuarray.compiler.function.call import Function
from gpuarray.compiler.function.compiling import Maker, Placed, Task
from gpuarray.compiler.function.computation import Computation, computation_of
from gpuarray.compiler.function.givens import Pairs, replacements
from gpuarray.compiler.function.host_fallback import tell_of_host_steps
from gpuarray.compiler.function.interface import (
    In,
    Interface,
    Unused,
    checked_inputs,
    wanted_outputs,
)
from gpuarray.compiler.function.modes import mode_of
from gpuarray.compiler.function.packing import unpacked, with_canonical
from gpuarray.compiler.function.plan_cache import Finished, find, keep, key_of
from gpuarray.compiler.function.profiled import ProfiledFunction
from gpuarray.compiler.function.updates import update_pairs
from gpuarray.compiler.function.used_contexts import (
    UsedContexts,
    context_name,
    context_names,
)
from gpuarray.compiler.graph.core import Variable, check_name, user_line
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.profiling import CompileTimes, ProfileStats, marked
from gpuarray.compiler.profiling.registry import profile_of
from gpuarray.compiler.shared import SharedVariable


def function(
    inputs: Sequence[Variable | In],
    outputs: Any = None,
    mode: Any = None,
    updates: Pairs | None = None,
    givens: Pairs | None = None,
    no_default_updates: bool | Sequence[SharedVariable] = False,
    accept_inplace: bool = False,
    name: str | None = None,
    rebuild_strict: bool = True,
    allow_input_downcast: bool | None = None,
    profile: Any = None,
    on_unused_input: Unused | None = None,
    *,
    on_device: bool = False,
) -> Function:
    """Compile ``outputs`` of ``inputs`` into a Function.

    ``outputs`` is an expression, a list of them, a dictionary of them by name, or None;
    a call returns its results in the same form, a list for None. Results are copied to
    the host; those that are transferred to a context or wrapped in ``Out(x,
    on_device=True)``, or all with ``on_device``, stay on the context as arrays.

    ``updates``, a mapping or pairs, gives shared variables new values after each call,
    all of which are computed before any is stored; a shared variable's own
    ``default_update`` counts as one unless ``no_default_updates`` is True or lists it.
    A call that raises stores none. Threads may call functions at once: calls that read
    or update a variable which some function updates take turns, from reading its value
    to storing the next, so no update is lost, whether of one function or of several. An
    index out of bounds on the device raises at the next wait; until then updates of its
    call, and of later ones with such indices, leave the values as they are. Where no
    step can do that (a new value of another shape, several contexts) the call itself
    waits and raises.

    ``givens`` replaces variables in the graph, with ``rebuild_strict`` only by
    expressions of their types.

    ``mode``, a `Mode` or its name, selects the rewrites. ``name`` is the function's, by
    default the line that makes it. ``allow_input_downcast`` lets inputs lose digits
    (True), never (False), or, for None, only where a Python float meets floatX.
    ``on_unused_input`` is ``"raise"``, ``"warn"`` or ``"ignore"``, by default the
    setting's value. ``accept_inplace`` changes nothing: operations in place are always
    accepted, and ordered.

    Raises TypeError or ValueError for what cannot be compiled, with the user's line
    that made the node.
    """
    check_name(name, "function")
    made_by = name or line_name()
    stats = asked_profile(profile, mode, made_by)
    times = CompileTimes()
    compile_mode = mode_of(mode)
    arrays = unpacked(
        checked_inputs(inputs),
        wanted_outputs(outputs, on_device),
        update_pairs(updates),
    )
    computation = computation_of(
        arrays.inputs,
        arrays.outputs,
        arrays.updates,
        replacements(givens, rebuild_strict),
        no_default_updates,
    )
    computation.check(on_unused_input or config.on_unused_input)
    names = context_names(
        [*computation.variables, *computation.updated, *computation.computed],
        computation.expressions,
    )
    times.lap("graph")
    used = UsedContexts(names, context_name(computation.expressions))
    times.lap("opening the context")
    task = task_of(computation, name or "function", compile_mode, used)
    with uncollected():
        finished, placed, key = finish(task, compile_mode, stats, times)
        source = task.source if compile_mode.needs_source else None
        maker = Maker(placed, compile_mode, source, used.home, task.as_written)
        interface = interface_of(computation, finished, allow_input_downcast)
        packing = with_canonical(
            arrays.packing, allow_input_downcast, computation.expressions
        )
        interface = replace(interface, packing=packing)
        parts = interface, maker, finished.plan, used.context, made_by
        if stats is None:
            compiled = Function(*parts)
            if key is not None:
                keep(key, finished)  # while its kernels are compiled
            return compiled
        profiled = ProfiledFunction(*parts, profile=stats)
        times.lap("loading")
        stats.compile.add(times)
        return profiled


def asked_profile(profile: Any, mode: Any, name: str) -> ProfileStats | None:
    """Return the profile that ``profile`` or the mode of `function` asks for."""
    is_asked = (config.mode if mode is None else mode) == "ProfileMode"
    return profile_of(is_asked or None if profile is None else profile, name)


def task_of(
    computation: Computation, name: str, mode: Mode, used: UsedContexts
) -> Task:
    """Return the compile task of a computation."""
    return Task(
        name=name,
        variables=computation.variables,
        shared=computation.shared,
        expressions=computation.expressions,
        selection=mode.selection,
        become=computation.become,
        stay=computation.stay,
        home=used.home,
        names=used.names,
        contexts=used.contexts,
        settings=config.current(),
    )


def interface_of(
    computation: Computation, finished: Finished, allow_downcast: bool | None
) -> Interface:
    """Return the function's interface."""
    return Interface(
        inputs=tuple(computation.inputs),
        shared=tuple(computation.shared),
        updated=tuple(computation.updated),
        carried=tuple(computation.carried),
        to_host=finished.to_host[: computation.n_outputs],
        form=computation.outputs.form,
        allow_downcast=allow_downcast,
    )


def finish(
    task: Task, mode: Mode, stats: Any, times: CompileTimes
) -> tuple[Finished, Callable[[], Placed], str | None]:
    """Return the plan, from the disk cache if it is there, its graph, a key to keep it.

    Profiles and modes that look at each step need the graph, so for them all passes
    run.
    """
    key = key_of(task) if stats is None and type(mode) is Mode else None
    cached = None if key is None else find(key)
    if cached is not None:
        return cached, task.placed, None
    placed = task.placed(times)
    lowered = task.lowered(placed)
    tell_of_host_steps(lowered)
    outputs = placed.fgraph.outputs
    finished = Finished(
        lowered.plan if stats is None else marked(lowered, placed.fgraph),
        tuple(isinstance(v.type, TensorType) for v in outputs),
    )
    times.lap("lowering")
    return finished, lambda: placed, key


@contextmanager
def uncollected() -> Iterator[None]:
    """Disable garbage collection in the block.

    Objects of compiling live until its end, and each collection scans all that the
    program has imported.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def line_name() -> str:
    """Return the user's line that makes a function, as ``file.py:12``."""
    line = user_line()
    return "function" if line is None else f"{Path(line.file).name}:{line.line}"


def function_dump(
    filename: str | Path,
    inputs: Sequence[Variable | In],
    outputs: Any = None,
    **options: Any,
) -> None:
    """Write the arguments of `function` to a file, for a bug report.

    It is a pickle of a dictionary: ``function(**pickle.load(file))`` makes the
    function.
    """
    arguments = {"inputs": list(inputs), "outputs": outputs, **options}
    write_file(filename, pickle.dumps(arguments))
