"""From expressions to a function: checks, replacements, rewrites, placement, plan."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gpuarray.compiler.config import config
from gpuarray.compiler.contexts import get_context
from gpuarray.compiler.debug import Mode
from gpuarray.compiler.function.call import Function
from gpuarray.compiler.function.compiling import Maker, Placed, Task
from gpuarray.compiler.function.givens import (
    Pairs,
    check_computable,
    replaced,
    replacements,
)
from gpuarray.compiler.function.hosted import tell_of_host_steps
from gpuarray.compiler.function.interface import (
    In,
    Interface,
    Unused,
    check_used,
    checked_inputs,
    wanted_outputs,
)
from gpuarray.compiler.function.modes import mode_of
from gpuarray.compiler.function.profiled import ProfiledFunction
from gpuarray.compiler.function.remembered import Finished, find, keep, key_of
from gpuarray.compiler.function.updates import (
    default_updates,
    update_pairs,
    update_value,
)
from gpuarray.compiler.graph.core import Variable, user_line
from gpuarray.compiler.graph.traverse import ancestors, inputs_of
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.fromgraph import inlined
from gpuarray.compiler.ops.transfer import GpuFromHost, meant_for
from gpuarray.compiler.profiling import CompileTimes, marked
from gpuarray.compiler.profiling.report import profile_of
from gpuarray.compiler.shared import SharedVariable
from gpuarray.context import Context
from gpuarray.file_write import write_file


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

    ``outputs`` is an expression, a list of them, a dictionary of them by name, or None:
    so is the result of a call, a list for None. They come to the host; those that are
    transferred to a context, wrapped in ``Out(x, on_device=True)``, or all with
    ``on_device``, stay on the context as arrays.

    ``updates``, a mapping or pairs, gives shared variables new values after each call,
    all of which are computed before any is stored; a shared variable's own
    ``default_update`` counts as one unless ``no_default_updates`` is True or lists it.
    A call that raises stores none. Threads may call functions at once: calls that read
    or update a variable which some function updates take turns, from reading its value
    to storing the next, so no update is lost, whether of one function or of several.
    An index out of bounds that the device finds is told
    of when somebody waits; updates of its call, and of later ones with such indices,
    leave the values as they are until then. Where no step can see to that (a new value
    of another shape, several contexts) the call itself waits and raises.

    ``givens`` replaces variables in the graph, with ``rebuild_strict`` only by what has
    their types.

    ``mode`` says which rewrites are done: a `Mode` or its name. ``name`` is the
    function's, by default the line that makes it. ``allow_input_downcast`` lets inputs
    lose digits (True), never (False), or, for None, only where a Python float meets
    floatX. ``on_unused_input`` is ``"raise"``, ``"warn"`` or ``"ignore"``, the
    setting's value by default. ``accept_inplace`` changes nothing: what overwrites
    memory is put in order.

    Raises TypeError or ValueError for what cannot be compiled, with the user's line
    that made the node.
    """
    made_by = name or line_name()
    is_asked = (config.mode if mode is None else mode) == "ProfileMode"
    stats = profile_of(is_asked or None if profile is None else profile, made_by)
    times = CompileTimes()
    chosen = mode_of(mode)
    given = checked_inputs(inputs)
    variables = [each.variable for each in given]
    wanted = wanted_outputs(outputs, on_device)
    pairs = update_pairs(updates)
    carried = [i for i, each in enumerate(given) if each.update is not None]
    next_values = [update_value(given[i].variable, given[i].update) for i in carried]
    known = replacements(givens, rebuild_strict)

    def final(several: Sequence[Variable]) -> list[Variable]:
        return inlined(replaced(several, known))

    firsts = final([*wanted.variables, *(e for _, e in pairs), *next_values])
    updated_otherwise = (v for v, _ in pairs)
    brought = default_updates(firsts, updated_otherwise, no_default_updates, final)
    lasts = [expression for _, expression in brought]
    # The outputs, the updates, those that variables bring along, the inputs' next.
    count, split = len(wanted.variables), len(wanted.variables) + len(pairs)
    expressions = [*firsts[:split], *lasts, *firsts[split:]]
    updated = [*(v for v, _ in pairs), *(v for v, _ in brought)]
    kept = [*updated, *(variables[i] for i in carried)]
    _check_again(kept, expressions[count:])
    needed = (each for each in given if each.update is None)
    policy = on_unused_input or config.on_unused_input
    check_used(needed, expressions, policy, final)
    shared = [v for v in inputs_of(expressions) if isinstance(v, SharedVariable)]
    computed = list(ancestors(expressions))
    check_computable(computed)
    if any(v.owner is not None and v.owner.op.reports for v in computed):
        shared += [v for v in updated if v not in shared]  # they may have to stay
    names = context_names([*variables, *updated, *computed])
    times.lap("graph")
    used = UsedContexts(names, context_name(expressions))
    context = used.context
    times.lap("opening the context")

    task = Task(
        name=name or "function",
        variables=variables,
        shared=shared,
        expressions=expressions,
        selection=chosen.selection,
        become={count + i: variable for i, variable in enumerate(kept)},
        stay=frozenset({*wanted.on_device, *range(count, len(expressions))}),
        home=used.home,
        names=used.names,
        contexts=used.contexts,
        settings=config.current(),
    )
    with uncollected():
        finished, made, key = finish(task, chosen, stats, times)
        interface = Interface(
            inputs=tuple(given),
            shared=tuple(shared),
            updated=tuple(updated),
            carried=tuple(carried),
            to_host=finished.to_host[:count],
            form=wanted.form,
            allow_downcast=allow_input_downcast,
        )
        plan = finished.plan
        source = task.source if chosen.needs_source else None
        maker = Maker(made, chosen, source, used.home, task.as_written)
        if stats is None:
            function = Function(interface, maker, plan, context, made_by)
            if key is not None:
                keep(key, finished)  # while its kernels are compiled
            return function
        function = ProfiledFunction(
            interface, maker, plan, context, made_by, profile=stats
        )
        times.lap("loading")
        stats.compile.add(times)
        return function


def finish(
    task: Task, mode: Mode, stats: Any, times: CompileTimes
) -> tuple[Finished, Callable[[], Placed], str | None]:
    """The plan, from disk if it is kept there, what gives its graph, a key to keep it.

    Modes that look at each step and profiles have use for the graph, so for them all
    passes run.
    """
    key = key_of(task) if stats is None and type(mode) is Mode else None
    found = None if key is None else find(key)
    if found is not None:
        return found, task.placed, None
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
    """Look for no cycles of garbage in the block.

    What compiling makes lives until its end, and a search goes through all that the
    program has imported.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _check_again(variables: Sequence[Variable], values: Sequence[Variable]) -> None:
    """Raise TypeError for updates that givens have made of another type."""
    for variable, value in zip(variables, values, strict=True):
        update_value(variable, value)


def line_name() -> str:
    """The user's line that makes a function, as ``file.py:12``."""
    line = user_line()
    return "function" if line is None else f"{Path(line.file).name}:{line.line}"


class UsedContexts:
    """The contexts of a function: its own, which names mean it, and the others' names.

    Its own is the default one where a variable is meant for that, else that of the
    first. ``home`` is what the placed graph calls it. ``names`` maps each name of the
    program to one for each context; None where there is only one context. ``contexts``
    has those that the program names, and the default one if it is used.
    """

    def __init__(self, names: Sequence[str | None], shown: str | None) -> None:
        opened = {name: get_context(name) for name in names or [None]}
        default = opened.get(None)
        self.contexts = opened
        self.context: Context = default or next(iter(opened.values()))
        self.home = shown
        self.names: dict[str | None, str | None] | None = None
        if len({*opened.values()}) > 1:
            first: dict[Context, str | None] = {}
            for name, each in opened.items():
                first.setdefault(each, name)
            self.home = first[self.context]
            self.names = {name: first[each] for name, each in opened.items()}


def context_names(variables: Iterable[Variable]) -> list[str | None]:
    """The names of the contexts that variables live on or are meant for, each once."""
    found = (meant_for(variable) for variable in variables)
    return list(dict.fromkeys(name for is_meant, name in found if is_meant))


def context_name(outputs: Sequence[Variable]) -> str | None:
    """The name that the placed graph shows: the one that the program uses, if any."""
    names = {
        v.owner.op.context_name
        for v in ancestors(outputs)
        if v.owner is not None and isinstance(v.owner.op, GpuFromHost)
    }
    return min((n for n in names if n is not None), default=None)


def function_dump(
    filename: str | Path,
    inputs: Sequence[Variable | In],
    outputs: Any = None,
    **options: Any,
) -> None:
    """Write what `function` is called with to a file, for a report of a problem.

    It is a pickle of a dictionary by argument: ``function(**pickle.load(file))`` makes
    the function.
    """
    arguments = {"inputs": list(inputs), "outputs": outputs, **options}
    write_file(filename, pickle.dumps(arguments))
