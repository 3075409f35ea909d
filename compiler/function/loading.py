"""Compiled functions from files: called as they were, with or without the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuarray._core.context import Context
from gpuarray._core.opening import context as find_context
from gpuarray._files import function_files
from gpuarray._files.native_functions import Native, names_in, read_function
from gpuarray.array import Array
from gpuarray.compiler import plan as p
from gpuarray.compiler.contexts import get_context
from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.executor import NativePlan, contexts_of
from gpuarray.compiler.function.former_names import Unpickler
from gpuarray.compiler.function.pickled import untrusted
from gpuarray.compiler.function.saved_matrices import OfMatrices
from gpuarray.compiler.function.saving import (
    DIGEST,
    PICKLED,
    File,
    add_bodies,
    digest,
    kept_values,
    native_function,
    native_plan,
)
from gpuarray.compiler.shared import Container
from gpuarray.errors import GpuArrayError, Unsupported

if TYPE_CHECKING:
    from gpuarray.compiler.function.call import Function

Contexts = Mapping[str, str | Context] | None
"""Devices or contexts by their names in a file."""


def _read_pickle(
    content: bytes, path: File, context: Any, contexts: Contexts, trusted: bool
) -> Function:
    if contexts:
        raise GraphValueError(
            f"load: {path}: contexts= names contexts of a file that runs without "
            "Python; this one is a pickle, whose contexts have the program's names: "
            "map them with the setting contexts=dev0->cuda0, or reg_context"
        )
    reason = content[: content.find(b"\n")].decode(errors="replace")
    start = content.find(b"\n") + 1
    stored, data = content[start : start + DIGEST], content[start + DIGEST :]
    if digest(content[:start], data) != stored:
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

    def __init__(self, native: Native, path: File = "", trusted: bool = False) -> None:
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
        self._check_contexts(contexts_of(function.plan, self.context))
        return function

    def _check_contexts(self, named: Mapping[str | None, Context]) -> None:
        """Raise ValueError where the graph's names are other contexts here."""
        for name, context in named.items():
            if name is not None and self._native.named.get(name) is not context:
                raise GraphValueError(
                    f"{self.name}: a graph is compiled for the program's contexts, and "
                    f"there {name!r} is {context.name}, which the function was not "
                    "loaded with: use the setting contexts instead of contexts="
                )

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
            add_bodies(self._source, self._plan)
        super().save(path)

    def _compile(self) -> NativePlan:
        """Compile the plan with its steps in Python, for inputs of any shape."""
        function = self._unpickled()
        plan = native_plan(function)
        states = kept_values(function)
        note = function_files.packed(self.interface, self._graph)
        self._native = native_function(plan, states, self.interface, note)
        self._source = function
        self._plan = plan  # kept alive here: the GpuFunction does not own it
        return plan


def load(
    path: File,
    context: str | Context | None = None,
    *,
    contexts: Contexts = None,
    trusted: bool = False,
) -> Any:
    """Load a function that ``f.save(path)`` wrote, on a context.

    It is called as the function that was saved; the values of its shared variables are
    its own: ``f["w"]``. On the device and driver it was saved on, nothing is compiled.
    ``context`` is by default the one that functions are compiled for.

    A function of several contexts has the program's names for them. ``contexts`` maps
    such a name to a device or a context, two names to the same one if it is to be;
    another name means what it does in this program: the setting ``contexts`` or
    `reg_context` says so, or it is a device's. ``context`` is the function's own one.

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
    if not isinstance(path, str | PathLike):
        raise GraphTypeError(
            f"load: path is {path!r}, a {type(path).__name__}; expected a path"
        )
    with Path(path).open("rb") as file:
        is_pickled = file.read(len(PICKLED)) == PICKLED
        if is_pickled:
            return _read_pickle(file.read(), path, context, contexts, trusted)
    if context is None and not names_in(path)[0]:
        context = get_context()
    native = read_function(path, context, contexts, get_context)
    return SavedFunction(native, path, trusted)
