"""Compiled functions in files: written whole, read again with or without the graph.

A function whose plan runs in one go becomes a file of the C library (a GpuFunction),
which needs no Python; one that pauses in Python becomes a pickle of the function.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from gpuarray._core.context import Context
from gpuarray._core.file_write import write_file
from gpuarray._files import function_files
from gpuarray._files.native_functions import Native
from gpuarray._native import check, ffi, lib, sized
from gpuarray.compiler import plan as p
from gpuarray.compiler.config import config
from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.executor import Executable, NativePlan
from gpuarray.compiler.function.anywhere import (
    bodies_of,
    called_labels,
    name_of,
    with_bodies,
)
from gpuarray.compiler.function.saved_matrices import described
from gpuarray.compiler.function.values import host_type
from gpuarray.compiler.gpukernels.bodies import inlined, named_with_reason, written
from gpuarray.compiler.plan_stages import is_called
from gpuarray.compiler.schedule import Lowered, lowered, without_pauses
from gpuarray.compiler.shared import Container

if TYPE_CHECKING:
    from gpuarray.compiler.function.call import Function

File = str | os.PathLike[str]

PICKLED = b"gpufunc\n"
"""The first bytes of a file that only Python runs; the reason on a line, a digest and
the pickle follow."""
DIGEST = 16


class KeptValue:
    """A value kept between calls: its name, container, and input and output index."""

    def __init__(
        self, name: str, container: Container, place: int, output: int, optional: bool
    ) -> None:
        self.name = name
        self.container = container
        self.place = place
        self.output = output
        self.optional = optional


def kept_values(function: Function) -> list[KeptValue]:
    """Return the values that the function keeps between calls, with unique names."""
    interface, plan = function._interface, function.plan
    arrays = _places(plan)
    count = len(interface.to_host)
    updated = {v.container: count + i for i, v in enumerate(interface.updated)}
    first = count + len(updated)
    carried = {index: first + i for i, index in enumerate(interface.carried)}
    names: set[str] = set()
    states = []
    for i, variable in enumerate(interface.shared):
        place = arrays[len(interface.inputs) + i]
        output = updated.pop(variable.container, -1)
        name = _name(variable.name, "value", names)
        states.append(KeptValue(name, variable.container, place, output, False))
    for variable in interface.updated:
        if variable.container in updated:
            name = _name(variable.name, "value", names)
            output = updated[variable.container]
            states.append(KeptValue(name, variable.container, -1, output, False))
    pairs = zip(interface.inputs, function._defaults, strict=True)
    for i, (spec, container) in enumerate(pairs):
        if container is not None and i in arrays:
            name = _name(spec.called, "input", names)
            optional = not spec.implicit
            states.append(
                KeptValue(name, container, arrays[i], carried.get(i, -1), optional)
            )
    return states


def _places(plan: p.Plan) -> dict[int, int]:
    """Return the position among the arrays of each array input, by its number."""
    inputs = enumerate(plan.values[: plan.n_inputs])
    arrays = [i for i, value in inputs if isinstance(value, p.ArrayValue)]
    return {number: place for place, number in enumerate(arrays)}


def _name(name_hint: str | None, otherwise: str, names: set[str]) -> str:
    """Return the name, with a number added where it is taken."""
    base = name = name_hint or otherwise
    number = 1
    while name in names:
        number += 1
        name = f"{base}_{number}"
    names.add(name)
    return name


def interface_of(function: Function) -> function_files.SavedInterface:
    """Return the interface of a call in another process."""
    interface, plan = function._interface, function.plan
    arrays = integers = 0
    inputs = []
    for i, spec in enumerate(interface.inputs):
        value, container = plan.values[i], function._defaults[i]
        is_int = isinstance(value, p.IntValue)
        hidden = bool(spec.implicit) and container is not None
        kind = host_type(spec.variable.type)
        if not hidden:
            inputs.append(
                function_files.SavedInput(
                    name=spec.called,
                    place=integers if is_int else arrays,
                    dtype=kind.dtype,
                    ndim=kind.ndim,
                    optional=container is not None and not is_int,
                    value=int(container.host_value()) if is_int and container else None,
                    strict=spec.strict,
                    downcast=spec.allow_downcast
                    if spec.allow_downcast is not None
                    else interface.allow_downcast,
                    integer=is_int,
                    broadcastable=kind.broadcastable,
                    rounds=kind.dtype == config.floatX,
                    kind=str(kind),
                )
            )
        integers += is_int
        arrays += not is_int and not hidden
    return function_files.SavedInterface(
        function.name,
        tuple(inputs),
        interface.to_host,
        interface.form,
        described(interface.packing),
    )


def collective_in(plan: p.Plan) -> p.Call | None:
    """Return a step among ranks, whose communicator no file has, if there is one."""
    for step in plan.steps:
        if isinstance(step, p.LoopStep):
            found = collective_in(step.body.plan)
            if found is not None:
                return found
        elif isinstance(step, p.Call) and step.function == "collective":
            return step
    return None


def only_in_python(function: Function) -> str:
    """Return the reason why a plan needs Python at each call; "" if it does not."""
    among_ranks = collective_in(function.plan)
    if among_ranks is not None:
        return f"its step {name_of(among_ranks)} needs a communicator"
    for step in function.plan.steps:
        if isinstance(step, p.LoopStep) and not step.recorded:
            names = " and ".join(dict.fromkeys(called_labels(step.body.plan)))
            return f"its loop {step.label} needs Python in each iteration, for {names}"
    if inlined(function.plan, for_files=True) is None:
        plan = function.plan
        labels = [
            name_of(step)
            for step in plan.steps
            if isinstance(step, p.Call)
            and is_called(step)
            and written(step, plan.values) is None
        ]
        names = " and ".join(dict.fromkeys(labels))
        return f"its step {names} is computed in Python"
    for i, spec in enumerate(function._interface.inputs):
        is_int = isinstance(function.plan.values[i], p.IntValue)
        if is_int and (spec.implicit or spec.update is not None):
            return f"the input {spec}, an integer, is kept"
    return ""


# ---- the graph ----


class _Pickler(pickle.Pickler):
    """Writes a function without the values that the file holds itself."""

    def __init__(self, file: io.BytesIO, states: Iterable[KeptValue]) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._names = {id(state.container): state.name for state in states}

    def persistent_id(self, value: Any) -> Any:
        return self._names.get(id(value)) if isinstance(value, Container) else None


def _pickled(function: Function, states: Iterable[KeptValue]) -> bytes:
    file = io.BytesIO()
    _Pickler(file, states).dump(function)
    return file.getvalue()


# ---- native files ----


def native_plan(function: Function) -> NativePlan:
    """Return the executor's plan, with its compiled kernels and bindings.

    The calls in its loops have their bodies, and its contexts the program's names.
    """
    native = getattr(function._executable or function._load(), "whole", None)
    has_loops = any(isinstance(step, p.LoopStep) for step in function.plan.steps)
    complete = with_bodies(lowered_for_file(function)) if has_loops else None
    if native is None or complete is not None:  # or it pauses, or its mode looks at all
        whole = inlined(complete or function.plan, for_files=True)
        assert whole is not None
        native = Executable(whole.plan, function.context).whole
    assert isinstance(native, NativePlan)
    _name_contexts(native, function.maker.home)
    return native


def native_function(
    plan: NativePlan,
    states: Sequence[KeptValue],
    interface: function_files.SavedInterface,
    note: bytes,
) -> Native:
    """Return a GpuFunction of the plan with these values and names."""
    texts: list[Any] = []

    def text(name: str | None) -> Any:
        if name is None:
            return ffi.NULL
        texts.append(ffi.new("char[]", name.encode()))
        return texts[-1]

    values = ffi.new("gpufunction_value[]", max(len(states), 1))
    arrays = []
    for value, state in zip(values, states, strict=False):
        arrays.append(state.container.device_value(_context_of(plan, state)))
        value.name, value.start = text(state.name), arrays[-1].struct
        value.input, value.output, value.optional = (
            state.place,
            state.output,
            state.optional,
        )
    hidden = {state.place for state in states if not state.optional}
    names = {e.place: e.name for e in interface.inputs if not e.integer}
    order = iter(range(len(names)))
    n_arrays = len(_places(plan.plan))
    inputs = [None if i in hidden else names[next(order)] for i in range(n_arrays)]
    integers = [state.name for state in interface.inputs if state.integer]
    keys = interface.form if isinstance(interface.form, tuple) else ()
    outputs = [*keys, *[None] * (len(plan.plan.outputs) - len(keys))]
    spec = sized("gpufunction_spec")
    lists = [ffi.new("char *[]", [text(n) for n in state] or [ffi.NULL])
             for state in (inputs, integers, outputs)]  # fmt: skip
    spec.inputs, spec.ints, spec.outputs = lists
    spec.n_values, spec.values = len(states), values
    buffer = ffi.from_buffer(note)
    spec.note, spec.note_size = buffer, len(note)
    pointer = ffi.new("GpuFunction **")
    check(lib.GpuFunction_new(pointer, plan.pointer, spec))
    return Native(pointer[0], plan.contexts, plan.pointer)


def _context_of(plan: NativePlan, state: KeptValue) -> Context:
    """Return the context of a kept value: of its input, else of its output."""
    inputs = {place: number for number, place in _places(plan.plan).items()}
    number = (
        inputs[state.place] if state.place >= 0 else plan.plan.outputs[state.output]
    )
    return plan.contexts[plan.plan.places()[number]]


def _name_contexts(plan: NativePlan, home: str | None) -> None:
    """Tell the native plan the program's names of its contexts, if it has several."""
    if len(plan.contexts) == 1:
        return
    place = ffi.new("unsigned int *")
    for name, context in plan.contexts.items():
        called = home if name is None else name
        if called is not None:
            check(lib.GpuPlan_add_context(plan.pointer, place, context.pointer))
            check(lib.GpuPlan_name_context(plan.pointer, place[0], called.encode()))


def save(function: Function, path: File, graph: bool = True) -> None:
    """Write a compiled function to a file, which appears whole or not at all.

    The file has the plan, the values of shared variables as they are, and the kernels
    compiled for this device. `load` reads it, as do C, Ruby and R programs, on every
    device, and it runs for all shapes. With ``graph`` it has the graph, too, for
    printing and for steps that only Python can bind. A UserWarning names these: without
    Python they run on this device alone, with the shapes and layouts of calls so far.

    A function whose plan pauses in Python is written as a pickle, which only Python
    with the compiler reads, by ``load(path, trusted=True)``; a UserWarning names the
    steps.
    """
    reason = only_in_python(function)
    if reason:
        warnings.warn(
            f"save: {function.name}: {reason}: the file is a pickle, which only Python "
            "with the compiler reads (gpuarray.compiler.load(path, trusted=True))",
            stacklevel=3,
        )
        _write_pickle(function, path, reason)
        return
    states = kept_values(function)
    interface = interface_of(function)
    note = function_files.packed(
        interface, _pickled(function, states) if graph else b""
    )
    plan = native_plan(function)
    _tell_of_python(function, plan, add_bodies(function, plan))
    native = native_function(plan, states, interface, note)
    check(lib.GpuFunction_save(native.pointer, os.fsencode(path)))


def add_bodies(function: Function, plan: NativePlan) -> tuple[p.Call, ...]:
    """Add the bodies of calls to the native plan; return the calls without one."""
    bodies = bodies_of(lowered_for_file(function), plan.plan.steps)
    plan.add_bodies(bodies.bodies)
    return bodies.without


def lowered_for_file(function: Function) -> Lowered:
    """Return the plan in the function's file, with the nodes of its steps."""
    maker = function.maker
    with_pauses = lowered(maker.fgraph, function.plan.name, maker.home)
    return without_pauses(with_pauses, for_files=True)


def _tell_of_python(
    function: Function, plan: NativePlan, without: Sequence[p.Call]
) -> None:
    """Warn of steps that only Python can bind: a file has their recorded launches."""
    if not without:
        return
    was_called = plan.info()["n_bindings"] > 0
    listed = (named_with_reason(step, plan.plan.values) for step in without)
    names = ", ".join(dict.fromkeys(listed))
    origin = without[0].origin
    where = f", made at {origin}" if origin else ""
    limit = (
        "only on this device, with the shapes and layouts of calls before it was saved"
        if was_called
        else "nowhere: the function was not called before it was saved"
    )
    warnings.warn(
        f"save: {function.name} has steps that only Python can say anew for other "
        f"shapes and devices ({names}{where}): without the graph and Python's "
        f"compiler they run {limit}",
        stacklevel=4,
    )


def _write_pickle(function: Function, path: File, reason: str) -> None:
    try:
        data = pickle.dumps(function, protocol=pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise GraphValueError(
            f"save: {function.name}: {reason}, and it cannot be pickled: {error}; "
            "define what it calls in a module, under the name that it has"
        ) from error
    header = reason.encode() + b"\n"
    write_file(path, PICKLED + header + digest(header, data) + data)


def digest(header: bytes, data: bytes) -> bytes:
    """Return the digest of a pickle in a file with its header."""
    return hashlib.blake2b(header + data, digest_size=DIGEST).digest()
