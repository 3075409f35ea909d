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
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuarray._core.context import Context
from gpuarray._core.file_write import write_file
from gpuarray._core.opening import context as find_context
from gpuarray._files import function_files
from gpuarray._native import check, ffi, lib
from gpuarray.array import Array
from gpuarray.compiler import plan as p
from gpuarray.compiler.config import config
from gpuarray.compiler.contexts import get_context
from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.executor import Executable, NativePlan
from gpuarray.compiler.function.anywhere import (
    bodies_of,
    name_of,
    pausing_labels,
    with_bodies,
)
from gpuarray.compiler.function.former_names import Unpickler
from gpuarray.compiler.function.pickled import untrusted
from gpuarray.compiler.function.saved_matrices import OfMatrices, described
from gpuarray.compiler.function.values import host_type
from gpuarray.compiler.gpukernels.bodies import inlined, named_with_reason, written
from gpuarray.compiler.plan_stages import is_called
from gpuarray.compiler.schedule import Lowered, lowered, without_pauses
from gpuarray.compiler.shared import Container
from gpuarray.errors import GpuArrayError, Unsupported

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
            names = " and ".join(dict.fromkeys(pausing_labels(step.body.plan)))
            reason = f", for {names}" if names else ": its body is of several contexts"
            return f"its loop {step.label} needs Python in each iteration{reason}"
    if inlined(function.plan, for_files=True) is None:
        plan = function.plan
        labels = [
            name_of(step)
            for step in plan.steps
            if isinstance(step, p.Call)
            and is_called(step)
            and written(step, plan.values) is None
        ]
        if labels:
            names = " and ".join(dict.fromkeys(labels))
            return f"its step {names} is computed in Python"
        return "it is of several contexts"
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


def _handle(function: Function) -> NativePlan:
    """Return the executor's plan, with its compiled kernels and bindings.

    The calls in its loops have their bodies.
    """
    native = getattr(function._executable or function._load(), "whole", None)
    has_loops = any(isinstance(step, p.LoopStep) for step in function.plan.steps)
    complete = with_bodies(_lowered(function)) if has_loops else None
    if native is None or complete is not None:  # or it pauses, or its mode looks at all
        whole = inlined(complete or function.plan, for_files=True)
        assert whole is not None
        native = Executable(whole.plan, function.context).whole
    assert isinstance(native, NativePlan)
    return native


def _described(
    plan: NativePlan,
    states: Sequence[KeptValue],
    interface: function_files.SavedInterface,
    note: bytes,
) -> function_files.Native:
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
        arrays.append(state.container.device_value(plan.context))
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
    spec = ffi.new("gpufunction_spec *")
    spec.size = ffi.sizeof("gpufunction_spec")
    lists = [ffi.new("char *[]", [text(n) for n in state] or [ffi.NULL])
             for state in (inputs, integers, outputs)]  # fmt: skip
    spec.inputs, spec.ints, spec.outputs = lists
    spec.n_values, spec.values = len(states), values
    buffer = ffi.from_buffer(note)
    spec.note, spec.note_size = buffer, len(note)
    pointer = ffi.new("GpuFunction **")
    check(lib.GpuFunction_new(pointer, plan.pointer, spec))
    return function_files.Native(pointer[0], plan.context, plan.pointer)


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
    plan = _handle(function)
    _tell_of_python(function, plan, _add_bodies(function, plan))
    native = _described(plan, states, interface, note)
    check(lib.GpuFunction_save(native.pointer, os.fsencode(path)))


def _add_bodies(function: Function, plan: NativePlan) -> tuple[p.Call, ...]:
    """Add the bodies of calls to the native plan; return the calls without one."""
    bodies = bodies_of(_lowered(function), plan.plan.steps)
    plan.add_bodies(bodies.bodies)
    return bodies.without


def _lowered(function: Function) -> Lowered:
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
    write_file(path, PICKLED + header + _digest(header, data) + data)


def _digest(header: bytes, data: bytes) -> bytes:
    return hashlib.blake2b(header + data, digest_size=DIGEST).digest()


def _read_pickle(content: bytes, path: File, context: Any, trusted: bool) -> Function:
    reason = content[: content.find(b"\n")].decode(errors="replace")
    start = content.find(b"\n") + 1
    digest, data = content[start : start + DIGEST], content[start + DIGEST :]
    if _digest(content[:start], data) != digest:
        raise GraphValueError(f"load: {path}: the file is damaged: save it again")
    if not trusted:
        raise untrusted(path, data, f"only Python runs this function, for {reason}")
    function: Function = Unpickler(data).load()
    if context is not None:
        function._place = find_context(context)
    return function


class SavedFunction(OfMatrices):
    """A function from a file, whose graph is read only when it is asked for.

    It runs without the graph. ``function()`` is the compiled function that was saved,
    with values of its own; ``maker`` and ``plan`` are that one's. The graph is a
    pickle, which is read only where the file was loaded with ``trusted=True``.
    """

    def __init__(
        self, native: function_files.Native, path: File = "", trusted: bool = False
    ) -> None:
        super().__init__(native)
        self._path = path
        self._trusted = trusted
        if trusted and self._graph:  # its step functions launch the kernels of the file
            native.use_bodies(False)
        self._plan: NativePlan | None = None
        self._source: Function | None = None  # the plan's function
        self._function: Function | None = None

    def function(self) -> Function:
        """Return the compiled function that was saved, with the values as they are now.

        Raises ValueError for a file without its graph, and UntrustedFileError for one
        that was not loaded with ``trusted=True``.
        """
        if self._function is None:
            self._function = self._unpickled()
        return self._function

    @property
    def maker(self) -> Any:
        """The `Maker` of the function: its placed graph, its mode."""
        return self.function().maker

    @property
    def plan(self) -> p.Plan:
        """The plan that runs."""
        return self.function().plan

    def _unpickled(self) -> Function:
        if not self._graph:
            raise GraphValueError(
                f"{self.name}: the file has no graph; save it with graph=True"
            )
        if not self._trusted:
            raise untrusted(self._path, self._graph, "the graph is asked for")
        containers = {n: Container(self._native.get(n)) for n in self.values}
        function: Function = Unpickler(self._graph, containers).load()
        function._place = self.context
        return function

    def _run(
        self, arrays: Sequence[Array | None], integers: Sequence[int]
    ) -> list[Any]:
        if self._plan is None:
            try:
                return self._native.call(arrays, integers)
            except Unsupported as error:
                if not self._graph:
                    raise
                if not self._trusted:
                    error.add_note(
                        "load(..., trusted=True) compiles it for such inputs, from the "
                        "graph in the file: a pickle, which is code"
                    )
                    raise
        plan = self._plan or self._compile()
        try:
            return self._native.call(arrays, integers)
        except GpuArrayError as error:
            failure = plan.recorded()
            if failure is None:
                raise
            raise failure from error.__cause__

    def save(self, path: File) -> None:
        """Write the function to a file, with its values as they are now."""
        if self._plan is not None and self._source is not None:
            _add_bodies(self._source, self._plan)
        super().save(path)

    def _compile(self) -> NativePlan:
        """Compile the plan with its steps in Python, for inputs of any shape."""
        function = self._unpickled()
        plan = _handle(function)
        states = kept_values(function)
        note = function_files.packed(self.interface, self._graph)
        self._native = _described(plan, states, self.interface, note)
        self._source = function
        self._plan = plan  # kept alive here: the GpuFunction does not own it
        return plan


def load(
    path: File, context: str | Context | None = None, *, trusted: bool = False
) -> Any:
    """Load a function that ``f.save(path)`` wrote, on a context.

    It is called as the function that was saved; the values of its shared variables are
    its own: ``f["w"]``. On the device and driver it was saved on, nothing is compiled.
    ``context`` is by default the one that functions are compiled for.

    The graph in a file is a pickle, and so is a function with steps in Python: reading
    a pickle runs the code that it names. Nothing is unpickled without ``trusted=True``:
    asking for the graph, or loading a function with steps in Python, is then an
    UntrustedFileError that says what would run. Compiled kernels are code, too, which
    on a processor runs in this process: load no file of somebody whom you do not trust.
    The hash in a file tells damage, not who wrote it.

    Raises OSError for a file that cannot be read, ValueError for one that is damaged or
    no function.

    >>> from gpuarray.compiler import function, load, shared
    >>> import gpuarray.compiler.tensor as T
    >>> x = T.dvector("x")
    >>> total = shared(0.0, name="total")
    >>> f = function([x], x.shape[0], updates={total: total + x.sum()})
    >>> f.save("sum.plan")
    >>> sums = load("sum.plan")
    >>> print(sums([1, 2, 3.5]), sums["total"])
    3 6.5
    """
    with Path(path).open("rb") as file:
        is_pickled = file.read(len(PICKLED)) == PICKLED
        if is_pickled:
            return _read_pickle(file.read(), path, context, trusted)
    place = get_context() if context is None else context
    native = function_files.read_function(path, place)
    return SavedFunction(native, path, trusted)
