"""The values that a function keeps: of shared variables, and of optional inputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from gpuarray.compiler.errors import CompilerError, GraphKeyError, made_at
from gpuarray.compiler.function.interface import In, Interface
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.graph.types import ArrayType, GpuArrayType, TensorType
from gpuarray.compiler.ops.sparse.types import SparseType, parts_of_value
from gpuarray.compiler.ops.sparse.values import assembled, canonical_value
from gpuarray.compiler.shared import Container


def host_type(kind: ArrayType) -> TensorType:
    """Return the host type of the values that a user gives for a variable."""
    host: Any = kind.host if isinstance(kind, GpuArrayType) else kind
    return host  # type: ignore[no-any-return]


def starting_value(spec: In) -> Container | None:
    """Return the container of an input's default value; None if it has none.

    A container of another function is shared.
    """
    if spec.value is None or isinstance(spec.value, Container):
        return spec.value
    kind = host_type(spec.variable.type)
    try:
        value = kind.filter(spec.value, allow_downcast=spec.allow_downcast)
    except CompilerError as error:
        message = f"function: the value of the input {spec}: {error}"
        raise type(error)(made_at(message, spec.variable.tag.trace)) from None
    return Container(np.array(value))


class Containers:
    """A function's containers, by variable or name."""

    def __init__(self, interface: Interface, defaults: list[Container | None]) -> None:
        self._entries: dict[Any, tuple[Container, ArrayType]] = {}
        pairs: list[tuple[str | None, Variable, Container | None]] = [
            (v.name, v, v.container) for v in (*interface.shared, *interface.updated)
        ]
        pairs += [
            (spec.called, spec.variable, container)
            for spec, container in zip(interface.inputs, defaults, strict=True)
        ]
        for name, variable, container in pairs:
            if container is not None:
                self._entries[variable] = container, variable.type
                if name is not None:
                    self._entries[name] = container, variable.type
        self._matrices: dict[Any, tuple[SparseType, list[Container]]] = {}
        for spec, container in zip(interface.inputs, defaults, strict=True):
            if spec.part_of is not None and container is not None:
                whole = spec.part_of
                kind: Any = whole.variable.type
                entry = self._matrices.setdefault(whole.variable, (kind, []))
                entry[1].append(container)
                if whole.called is not None:
                    self._matrices[whole.called] = entry

    def matrix(self, key: Any) -> tuple[SparseType, list[Container]] | None:
        """Return the type of a sparse input and the containers of its arrays.

        None for anything else.
        """
        try:
            return self._matrices.get(key)
        except TypeError:
            return None

    def entry(self, key: Any) -> tuple[Container, ArrayType]:
        """Return a container and the type of its values. Raises KeyError for none."""
        try:
            return self._entries[key]
        except (KeyError, TypeError):
            names = [repr(known) for known in self if isinstance(known, str)]
            raise GraphKeyError(
                f"function: nothing is kept for {key!r}; there are values of "
                f"{', '.join(names) or 'nothing'}"
            ) from None

    def __getitem__(self, key: Any) -> Container:
        return self.entry(key)[0]

    def __contains__(self, key: Any) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[Any]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


class Values:
    """The kept values as NumPy arrays, by variable or name; they can be set.

    That of a sparse input is a matrix of scipy.
    """

    def __init__(self, containers: Containers) -> None:
        self._containers = containers

    def __getitem__(self, key: Any) -> Any:
        if (whole := self._containers.matrix(key)) is not None:
            kind, containers = whole
            return assembled(kind.format, [part.host_value() for part in containers])
        return self._containers[key].host_value()

    def __setitem__(self, key: Any, value: Any) -> None:
        if (whole := self._containers.matrix(key)) is not None:
            matrix, containers = whole
            parts = parts_of_value(canonical_value(matrix.filter(value)))
            for part, array in zip(containers, parts, strict=True):
                part.value = np.array(array)
            return
        container, kind = self._containers.entry(key)
        container.value = np.array(host_type(kind).filter(value))

    def __contains__(self, key: Any) -> bool:
        return self._containers.matrix(key) is not None or key in self._containers
