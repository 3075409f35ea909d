"""Sparse matrices at a function's interface: arguments and results made of arrays.

The plan of a function takes and gives arrays. An input that is a sparse matrix stands
for four of the plan's inputs, a result for four of its results.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpuarray.compiler.errors import CompilerError, GraphTypeError, made_at
from gpuarray.compiler.function.arguments import wrong_arguments
from gpuarray.compiler.function.interface import In, Wanted
from gpuarray.compiler.graph.core import Variable, derived, sources_of
from gpuarray.compiler.ops.sparse import matrix
from gpuarray.compiler.ops.sparse.canonical import canonical
from gpuarray.compiler.ops.sparse.matrix import MatrixParts, SparseOp, is_sparse
from gpuarray.compiler.ops.sparse.transferring import Extent, Transferred
from gpuarray.compiler.ops.sparse.types import PARTS, parts_of_value
from gpuarray.compiler.ops.sparse.values import assembled, canonical_value
from gpuarray.compiler.shared import SharedVariable, SparseSharedVariable

N_PARTS = len(PARTS)


@dataclass(frozen=True, eq=False)
class Packing:
    """The packing of a call: its arguments and results in terms of the plan's.

    ``inputs`` are the program's; ``formats`` has for each of its outputs the format of
    a matrix, or None for an array. ``form`` and ``allow_downcast`` are as in
    `Interface`. ``canonical`` are the inputs whose values must be: indices in order,
    and none twice; ``known`` the results that are so.
    """

    inputs: tuple[In, ...]
    formats: tuple[str | None, ...]
    form: str | tuple[str, ...] | None
    canonical: frozenset[int] = frozenset()
    allow_downcast: bool | None = None
    known: frozenset[int] = frozenset()

    def arguments(
        self, function: str, args: Sequence[Any], named: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Return the plan's arguments, by position and by name."""
        explicit = [i for i, spec in enumerate(self.inputs) if not spec.implicit]
        self._check_given(function, explicit, args, named)
        flat: list[Any] = []
        for place, value in enumerate(args):
            if place < len(explicit) and self._is_matrix(explicit[place]):
                flat += self._parts(function, explicit[place], value)
            else:
                flat.append(value)
        by_name: dict[str, Any] = {}
        for name, value in named.items():
            at = [i for i in explicit if self.inputs[i].called == name]
            if len(at) == 1 and self._is_matrix(at[0]):
                values = self._parts(function, at[0], value)
                names = [f"{name}.{part}" for part in PARTS]
                by_name.update(zip(names, values, strict=True))
            else:
                by_name[name] = value
        return flat, by_name

    def _check_given(
        self,
        function: str,
        explicit: Sequence[int],
        args: Sequence[Any],
        named: Mapping[str, Any],
    ) -> None:
        """Raise TypeError for a missing or surplus argument."""
        specs = [self.inputs[i] for i in explicit]
        rest = [spec.called for spec in specs[len(args) :]]
        is_unknown = any(name not in rest for name in named)
        is_missing = any(
            spec.value is None and spec.called not in named
            for spec in specs[len(args) :]
        )
        if len(args) > len(specs) or is_unknown or is_missing:
            raise wrong_arguments(function, specs, args, named)

    def downcast_of(self, spec: In) -> bool | None:
        """Return True for an input that may lose digits, as it or the function says."""
        own = spec.allow_downcast
        return self.allow_downcast if own is None else own

    def _is_matrix(self, index: int) -> bool:
        return is_sparse(self.inputs[index].variable)

    def _parts(self, function: str, index: int, value: Any) -> Sequence[Any]:
        """Return the arrays of a matrix, checked against its input's type."""
        spec = self.inputs[index]
        kind = spec.variable.type
        try:
            fit = kind.filter(value, spec.strict, self.downcast_of(spec))
            if index in self.canonical:
                fit = canonical_value(fit)
            return parts_of_value(fit, is_written=False)
        except CompilerError as error:
            message = f"{function}: input {index} ({spec}): {error}"
            raise type(error)(made_at(message, spec.variable.tag.trace)) from None

    def results(
        self,
        flat: Any,
        formats: Sequence[str | None],
        known: frozenset[int] = frozenset(),
    ) -> list[Any]:
        """Return the program's results, matrices made of arrays; canonical if known."""
        values = iter(flat)
        return [
            next(values)
            if format is None
            else assembled(format, [next(values) for _ in PARTS], place in known)
            for place, format in enumerate(formats)
        ]

    def returned(self, flat: Any) -> Any:
        """Return the results of a call in the form that the program asked for."""
        results = self.results(flat, self.formats, self.known)
        if isinstance(self.form, tuple):
            return dict(zip(self.form, results, strict=True))
        return results if self.form is not None else results[0]

    @property
    def starts(self) -> list[int]:
        """The first of the plan's results that each of the program's is made of."""
        counts = [1 if format is None else N_PARTS for format in self.formats]
        return [sum(counts[:i]) for i in range(len(counts))]

    def subset(self, chosen: Sequence[Any]) -> tuple[list[int], list[str | None]]:
        """Return the plan's results for some of the program's, and their formats."""
        keys: Any = self.form if isinstance(self.form, tuple) else None
        places = [keys.index(key) if keys and key in keys else key for key in chosen]
        starts = self.starts
        flat: list[int] = []
        formats: list[str | None] = []
        for place in places:
            if place not in range(len(self.formats)):
                flat.append(place)  # the function says what is wrong
                formats.append(None)
                continue
            count = 1 if self.formats[place] is None else N_PARTS
            flat += range(starts[place], starts[place] + count)
            formats.append(self.formats[place])
        return flat, formats


@dataclass(frozen=True, eq=False)
class Unpacked:
    """The arguments of `function` with arrays in place of matrices."""

    inputs: list[In]
    outputs: Wanted
    updates: list[tuple[SharedVariable, Variable]]
    packing: Packing | None


def unpacked(
    inputs: list[In],
    outputs: Wanted,
    updates: Sequence[tuple[SharedVariable, Variable]],
) -> Unpacked:
    """Return the arguments with the arrays of matrices; as they are without any."""
    has_matrix = any(is_sparse(spec.variable) for spec in inputs) or any(
        map(is_sparse, outputs.variables)
    )
    changes = list(_changes(updates))
    if not has_matrix:
        return Unpacked(inputs, outputs, changes, None)
    arrays = [part for spec in inputs for part in _inputs(spec)]
    variables: list[Variable] = []
    stay: set[int] = set()
    for i, variable in enumerate(outputs.variables):
        first = len(variables)
        is_kept = i in outputs.on_device or _is_transferred(variable)
        if is_sparse(variable):
            variables += _results(variable, is_kept)
        else:
            variables.append(variable)
        if is_kept and (i in outputs.on_device or is_sparse(variable)):
            stay.update(range(first, len(variables)))
    formats = tuple(v.type.format if is_sparse(v) else None for v in outputs.variables)
    made = [is_sparse(v) and isinstance(_op(v), SparseOp) for v in outputs.variables]
    known = frozenset(place for place, is_made in enumerate(made) if is_made)
    packing = Packing(tuple(inputs), formats, outputs.form, known=known)
    wanted = Wanted(variables, "list", frozenset(stay))
    return Unpacked(arrays, wanted, changes, packing)


def _op(variable: Variable) -> Any:
    return None if variable.owner is None else variable.owner.op


def _is_transferred(variable: Variable) -> bool:
    op = _op(variable)
    return isinstance(op, Transferred) and op.target != "cpu"


def _inputs(spec: In) -> list[In]:
    """Return the inputs of the plan that an input stands for."""
    variable = spec.variable
    if not is_sparse(variable):
        return [spec]
    if variable.owner is not None:
        raise GraphTypeError(
            made_at(
                f"function: the input {spec} is computed; a sparse input is a variable "
                "of its own, given for the expression by givens",
                variable.tag.trace,
            )
        )
    values: Sequence[Any] = [None] * N_PARTS
    changes: Sequence[Any] = [None] * N_PARTS
    if spec.value is not None:
        values = parts_of_value(canonical_value(variable.type.filter(spec.value)))
    if spec.update is not None:
        own = matrix.parts(canonical(spec.update))
        changes = [*own.storage, own.minor]
    named = spec.called
    return [
        In(
            part,
            f"{named}.{what}" if named else None,
            value,
            change,
            allow_downcast=spec.allow_downcast,
            autoname=False,
            implicit=spec.implicit,
            part_of=spec,
        )
        for part, what, value, change in zip(
            variable.parts, PARTS, values, changes, strict=True
        )
    ]


def _results(variable: Variable, is_kept: bool) -> list[Variable]:
    """Return the results that a matrix is made of.

    One that stays on the device has an array for its other length, which is known
    without waiting.
    """
    own = matrix.parts(variable)
    length = _extent(own) if is_kept else own.minor
    if sources := sources_of(variable):
        derived(own.data, *sources)
    return [*own.storage, length]


def _extent(own: MatrixParts) -> Variable:
    """Return an array as long as the axis that is not compressed."""
    extent: Variable = Extent()(own.minor)
    return extent


def _changes(
    updates: Iterable[tuple[SharedVariable, Variable]],
) -> Iterable[tuple[SharedVariable, Variable]]:
    """Return the updates, of matrices those of their arrays."""
    for variable, value in updates:
        if not isinstance(variable, SparseSharedVariable):
            yield variable, value
            continue
        own = matrix.parts(canonical(value))
        yield from zip(variable.stored, (*own.storage, _extent(own)), strict=True)


def with_canonical(
    packing: Packing | None,
    allow_downcast: bool | None,
    expressions: Sequence[Variable],
) -> Packing | None:
    """Return the packing with the matrices that are to be canonical, and that are.

    The former are inputs of which the graph asks it, the latter results of operations
    whose indices are in order and none twice; ``expressions`` are the plan's results.
    """
    if packing is None:
        return None
    asked = {
        i
        for i, spec in enumerate(packing.inputs)
        if is_sparse(spec.variable)
        and getattr(spec.variable.tag, "is_canonical", False)
    }
    starts = packing.starts
    known = {
        place
        for place in packing.known
        if getattr(_op(expressions[starts[place] + 1]), "is_canonical", False)
    }
    return replace(
        packing,
        canonical=frozenset(asked),
        allow_downcast=allow_downcast,
        known=frozenset(known),
    )


def arrays_of(
    swap: Mapping[SharedVariable, SharedVariable],
) -> dict[SharedVariable, SharedVariable]:
    """Return exchanges of shared variables, for matrices those of their arrays."""
    pairs: dict[SharedVariable, SharedVariable] = {}
    for old, new in swap.items():
        if not isinstance(old, SparseSharedVariable):
            pairs[old] = new
        elif isinstance(new, SparseSharedVariable) and new.type == old.type:
            pairs.update(zip(old.stored, new.stored, strict=True))
        else:
            raise GraphTypeError(
                f"copy: {old} of {old.type} cannot be swapped for {new}; expected a "
                f"shared variable of {old.type}"
            )
    return pairs
