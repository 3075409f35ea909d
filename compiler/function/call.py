"""A compiled function: a call converts arguments, runs the plan, returns results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any, SupportsIndex
from weakref import ref

import numpy as np
from gpuarray._core.context import Context
from gpuarray._creation.conversion import asarray
from gpuarray.array import Array
from gpuarray.compiler.contexts import context_or_default, get_context, sync_all
from gpuarray.compiler.debug import late
from gpuarray.compiler.executor import Straight, contexts_of
from gpuarray.compiler.function.arguments import (
    by_position,
    check_array,
    checked,
    takes,
    wrong_arguments,
)
from gpuarray.compiler.function.copies import (
    chosen_outputs,
    next_values,
    with_outputs,
    without_updates,
)
from gpuarray.compiler.function.former_names import with_current_names
from gpuarray.compiler.function.interface import In, Interface, swapped
from gpuarray.compiler.function.packing import arrays_of
from gpuarray.compiler.function.saving import File, save
from gpuarray.compiler.function.values import (
    Containers,
    Values,
    starting_value,
)
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.plan import IntValue, Plan
from gpuarray.compiler.shared import Container, SharedVariable, give_turn, turns
from gpuarray.errors import GpuArrayError

_SIGNATURE = signature(lambda *args, **named: None)


class Function(Straight):
    """A compiled function; calling it runs its plan.

    ``maker.fgraph`` is the placed graph, ``plan`` what runs, ``context`` where. A call
    takes NumPy arrays or arrays of the context and gives NumPy arrays, or, for outputs
    that stay there, arrays of the context, without waiting. Inputs may be given by
    name; ``output_subset=[...]`` computes these outputs only, by index or by key.

    ``f[name]`` is the value that is kept for an input or a shared variable. With
    ``trust_input`` true values are taken as they are, without a check.
    """

    def __init__(
        self,
        interface: Interface,
        maker: Any,
        plan: Plan,
        context: Context | str,
        name: str | None = None,
        defaults: list[Container | None] | None = None,
    ) -> None:
        self.__signature__ = _SIGNATURE
        self.name = name or plan.name
        self.maker = maker
        self.plan = plan
        self.trust_input = False
        self.profile: Any = None
        self._interface = interface
        self._place = context
        self._executable: Any = None
        self._fast: Any = None  # the runner in C: the plan and the updates
        self._subsets: dict[tuple[int, ...], Function] = {}
        if defaults is None:
            defaults = [starting_value(spec) for spec in interface.inputs]
        self._defaults = defaults
        self._prepare()
        late.remember(self)
        if isinstance(context, Context):
            self._load()

    def _prepare(self) -> None:
        """Compute once what each call needs."""
        interface = self._interface
        count = len(interface.to_host)
        self._n_inputs = len(interface.inputs)
        self._n_outputs = count
        self._explicit = [
            i for i, spec in enumerate(interface.inputs) if not spec.implicit
        ]
        has_all = len(self._explicit) == self._n_inputs
        self._n_given = self._n_inputs if has_all else -1
        self._integers = [
            i
            for i, value in enumerate(self.plan.values[: self._n_inputs])
            if isinstance(value, IntValue)
        ]
        self._shared = [v.container for v in interface.shared]
        self._places = [
            getattr(value, "place", None)
            for value in self.plan.values[: self.plan.n_inputs]
        ]
        self._is_spread = any(place is not None for place in self.plan.places())
        self._guarded = [
            self._n_inputs + i
            for i, v in enumerate(interface.shared)
            if v in interface.guarded
        ]
        states = [v.container for v in interface.updated]
        states += [self._kept(i) for i in interface.carried]
        self._updated = [(spec, count + i) for i, spec in enumerate(states)]
        give_turn(states)
        self._turned = [*self._shared, *states]
        self._read = [i for i, is_read in enumerate(interface.to_host) if is_read]
        self._single = interface.form is None
        self._keys = interface.form if isinstance(interface.form, tuple) else None

    def _kept(self, index: int) -> Container:
        container = self._defaults[index]
        assert container is not None  # checked_inputs has made sure
        return container

    def _load(self) -> Any:
        """Load the plan on its context; a function from a pickle does so when called.

        A pickled function whose context is missing here loads on the default one.
        """
        if not isinstance(self._place, Context):
            self._place = context_or_default(self._place)
        self._executable = self.maker.load(
            self.plan, self._place, self._interface.is_part
        )
        self._fast = self._fast_runner()
        if self._n_given >= 0 and self._keys is None and not self._interface.packing:
            self._straight = self._fast
        return self._executable

    def _fast_runner(self) -> Any:
        """Return the runner of whole calls in C; None where the plan pauses."""
        whole = getattr(self._executable, "whole", None)
        if whole is None or self._guarded:
            return None
        interface = self._interface
        known = {
            i: takes(interface, i, self.plan.values[i]) for i in range(self._n_inputs)
        }
        itself = ref(self)

        def examine(args: Sequence[Any]) -> None:
            function = itself()
            if function is not None:
                function._check_arrays(args)

        return whole.runner(
            self._n_outputs,
            known,
            self._shared,
            self._updated,
            self._single,
            self._read,
            examine,
        )

    @property
    def context(self) -> Context:
        """The context on which the function runs."""
        if self._executable is None:
            self._load()
        assert isinstance(self._place, Context)
        return self._place

    def _call(self, *args: Any, **named: Any) -> Any:
        """Run on ``args``; named inputs may be keyword arguments."""
        packing = self._interface.packing
        if packing is None:
            return self._call_arrays(args, named)
        rest = dict(named)
        chosen = rest.pop("output_subset", None)
        flat, by_name = packing.arguments(self.name, args, rest)
        if chosen is None:
            return packing.returned(self._call_arrays(flat, by_name))
        places, formats = packing.subset(chosen)
        results = self._call_arrays(flat, {**by_name, "output_subset": places})
        return packing.results(results, formats)

    def _call_arrays(self, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """Run on arrays, and return arrays."""
        if not named and len(args) == self._n_given:
            if self._straight is not None:  # C has tried these arguments already
                return self._run_slowly(args, self._executable)
            return self._run(args)
        if "output_subset" in named:
            return self._call_subset(args, named)
        if not self._interface.carried:
            return self._run(self._by_name(args, named))
        with turns(self._turned):  # kept values are inputs, too
            return self._run(self._by_name(args, named))

    def _run(self, args: Sequence[Any]) -> Any:
        """Return the results for a value of each input."""
        executable = self._executable or self._load()
        results = self._fast(*args) if self._fast else NotImplemented
        if results is NotImplemented:
            results = self._run_slowly(args, executable)
        if self._keys is not None:
            return dict(zip(self._keys, results, strict=True))
        return results

    def _run_slowly(self, args: Sequence[Any], executable: Any) -> Any:
        """Return the results after Python has copied arguments to the device."""
        arrays = self._arrays(args)
        with turns(self._turned):
            values = [
                shared.device_value(self._context_of(self._n_inputs + i))
                for i, shared in enumerate(self._shared)
            ]
            if self._fast:
                results = self._fast(*arrays)
                if results is not NotImplemented:
                    return results
            results = self._results(arrays, values, executable)
            for container, i in self._updated:
                container.value = results[i]
            del results[self._n_outputs :]
            self._bring_back(results)  # in this turn: the next call may overwrite them
        return results[0] if self._single else results

    def _results(
        self, arrays: list[Any], values: list[Array], executable: Any
    ) -> list[Any]:
        """Run the plan on the inputs and the values of shared variables."""
        values = arrays + values
        for i in self._guarded:
            values[i] = values[i].copy()
        try:
            results: list[Any] = executable.run(values)
            self._confirm()
        except GpuArrayError:
            self._check_arrays(arrays)  # its messages say more than the executor's
            raise
        return results

    def _confirm(self) -> None:
        """Wait for index errors before updates are stored, if the plan asks for it."""
        if self.plan.confirms:
            sync_all(contexts_of(self.plan, self.context).values())

    def _bring_back(self, results: list[Any]) -> None:
        """Copy to the host the results that are read there."""
        try:
            for i in self._read:
                results[i] = np.asarray(results[i])
        except GpuArrayError as error:  # an asynchronous error of a step
            late.is_of(error, self.plan)
            raise

    def _arrays(self, args: Sequence[Any]) -> list[Any]:
        """Return the inputs' values converted for the plan."""
        arrays = list(args)
        for i, arg in enumerate(args):
            if type(arg) is not Array:
                arrays[i] = self._bring(i, arg)
            elif self._is_spread:
                arrays[i] = self._moved(i, arg)
        for i in self._integers:
            if type(arrays[i]) is Array:
                arrays[i] = self._bring(i, np.asarray(arrays[i]))
        return arrays

    def _bring(self, index: int, value: Any) -> Array | int:
        """Return a host value, checked against its input's type and converted."""
        if not self.trust_input:
            value = checked(self._interface, index, value, self.name)
        if isinstance(self.plan.values[index], IntValue):
            return int(value)
        return asarray(value, context=self._context_of(index))

    def _moved(self, index: int, array: Array) -> Array:
        """Return an input on its context, if it is on another of the function's."""
        place = self._context_of(index)
        others = contexts_of(self.plan, self.context).values()
        is_there = array.context is place or array.context not in others
        return array if is_there else array.transfer(place)

    def _context_of(self, index: int) -> Context:
        """Return the context of an input of the plan."""
        name = self._places[index]
        return self.context if name is None else get_context(name)

    def _check_arrays(self, args: Sequence[Any]) -> None:
        """Raise TypeError or ValueError for an array that does not fit its input."""
        for index, arg in enumerate(args):
            if isinstance(arg, Array | np.ndarray):
                place = self._context_of(index)
                check_array(self._interface, index, arg, place, self.name)

    def _by_name(self, args: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """Return the arguments in input order, with defaults."""
        values = by_position(self._interface, self._explicit, args, named)
        for i, container in enumerate(self._defaults):
            if values is not None and container is not None and i not in values:
                values[i] = container.device_value(self._context_of(i))
        if values is None or len(values) != self._n_inputs:
            inputs = [self._interface.inputs[i] for i in self._explicit]
            raise wrong_arguments(self.name, inputs, args, named)
        return [values[i] for i in range(self._n_inputs)]

    def _call_subset(self, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """Run a call with ``output_subset``: some outputs, and the updates."""
        rest = dict(named)
        selected = rest.pop("output_subset")
        if selected is None:
            return self(*args, **rest)
        subset = chosen_outputs(self._interface, selected, self.name)
        if subset not in self._subsets:
            self._subsets[subset] = self._with_outputs(subset)
        self._subsets[subset].trust_input = self.trust_input
        return self._subsets[subset](*args, **rest)

    def _with_outputs(self, places: tuple[int, ...]) -> Function:
        """Return a function of some outputs, with the same containers."""
        changed, plan = with_outputs(self._interface, self.plan, places)
        return Function(
            changed, self.maker, plan, self.context, self.name, self._defaults
        )

    def copy(
        self,
        share_memory: bool = False,
        swap: Mapping[SharedVariable, SharedVariable] | None = None,
        delete_updates: bool = False,
        name: str | None = None,
        profile: Any = None,
    ) -> Function:
        """Return another function of the same plan, without optimizing again.

        It reads and updates the same shared variables, but ``swap`` maps some to others
        of the same type. With ``delete_updates`` a call updates nothing. The values
        kept for its inputs are its own. With ``share_memory`` both use one memory
        for what lies between inputs and outputs. ``profile`` is as of `function`; by
        default the copy of a function that is profiled has a profile of its own.
        """
        interface = swapped(self._interface, arrays_of(swap or {}))
        plan = self.plan
        if delete_updates:
            interface, plan = without_updates(interface, plan)
        defaults = [
            None if default is None else Container(default.value, default.context_name)
            for default in self._defaults
        ]
        place = self._place.name if isinstance(self._place, Context) else self._place
        make = self.maker.factory(self.profile is not None, profile)
        other: Function = make(
            interface, self.maker, plan, place, name or self.name, defaults
        )
        other.trust_input = self.trust_input
        other._place = self._place
        is_same = plan is self.plan and type(other) is type(self) is Function
        if share_memory and is_same:
            other._executable = self._executable
        return other

    @property
    def container(self) -> Containers:
        """The containers of kept values, by a variable or its name."""
        return Containers(self._interface, self._defaults)

    @property
    def value(self) -> Values:
        """The kept values, by a variable or its name."""
        return Values(self.container)

    def __getitem__(self, key: Any) -> Any:
        return self.value[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.value[key] = value

    def __contains__(self, key: Any) -> bool:
        return key in self.value

    def get_shared(self) -> list[SharedVariable]:
        """The shared variables that the function reads or updates."""
        variables = dict.fromkeys((*self._interface.shared, *self._interface.updated))
        return list(variables)

    @property
    def inputs(self) -> tuple[In, ...]:
        """The inputs, in the order of the call."""
        packing = self._interface.packing
        given: tuple[In, ...] = (packing or self._interface).inputs
        return given

    @property
    def variables(self) -> list[Variable]:
        """The symbolic inputs."""
        return [spec.variable for spec in self.inputs]

    @property
    def next_values(self) -> dict[int, int]:
        """The updates after a call: the input of the graph that each output becomes."""
        return next_values(self._interface)

    def sync(self) -> None:
        """Wait for the work of all calls; raise its asynchronous errors.

        >>> import gpuarray.compiler.tensor as T
        >>> from gpuarray.compiler import function
        >>> x = T.dvector("x")
        >>> f = function([x], x + 1, on_device=True)
        >>> result = f([1.0, 2.0])
        >>> f.sync()
        """
        contexts = {self.context} | {
            get_context(step.place)
            for step in self.plan.steps
            if step.place is not None
        }
        try:
            sync_all(contexts)
        except GpuArrayError as error:
            late.is_of(error, self.plan)
            raise

    def sync_shared(self) -> None:
        """Wait until the updates of all calls are computed."""
        self.sync()

    def free(self) -> None:
        """Free the memory that is kept between calls."""
        self._subsets.clear()
        if self._executable is not None:
            self._load()

    def info(self) -> dict[str, int]:
        """Return counts of the latest call: launches, buffers, bytes, bindings kept."""
        counts: dict[str, int] = (self._executable or self._load()).info()
        return counts

    def save(self, path: File, graph: bool = True) -> None:
        """Write the function to a file, which appears whole or not at all.

        `load` reads it in another process, without compiling; C, Ruby and R programs
        run it without Python. It has the plan, the values of shared variables as they
        are, and the kernels for this device, those too that calls so far needed; on
        other devices these are compiled when they are wanted. With ``graph`` it has
        the graph, for printing and for steps that only Python knows. A UserWarning
        names such steps: without the compiler they run on this device alone, with the
        shapes of calls so far.

        Of a function of several contexts the file has the program's names for them;
        `load` maps them to devices.

        A function whose plan pauses for what Python computes (an op on the host, a
        Fourier transform) is written as a pickle, which only Python reads; a
        UserWarning names these steps.
        """
        save(self, path, graph)

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        return super().__reduce_ex__(2)  # the base class is in C

    def __getstate__(self) -> dict[str, Any]:
        place = self._place
        return {
            "name": self.name,
            "maker": self.maker,
            "plan": self.plan,
            "place": place.name if isinstance(place, Context) else place,
            "interface": self._interface,
            "defaults": self._defaults,
            "trust_input": self.trust_input,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        Function.__init__(
            self,
            state["interface"],
            state["maker"],
            with_current_names(state["plan"]),
            state["place"],
            state["name"],
            state["defaults"],
        )
        self.trust_input = state["trust_input"]

    def __repr__(self) -> str:
        inputs = ", ".join(map(str, self.inputs))
        place = self._place
        where = place.name if isinstance(place, Context) else place
        return f"<function {self.name}({inputs}) on {where}>"
