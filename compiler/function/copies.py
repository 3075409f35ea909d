"""The interface and plan of a function's copies, which may have fewer results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.function.interface import Interface
from gpuarray.compiler.function.pruning import pruned
from gpuarray.compiler.plan import Plan


def chosen_outputs(
    interface: Interface, selected: Iterable[Any], name: str
) -> tuple[int, ...]:
    """Return the places of the outputs of ``output_subset``: indices, or keys.

    Raises ValueError for one that the function ``name`` lacks, or that comes twice.
    """
    form = interface.form
    keys: tuple[Any, ...] = (
        form if isinstance(form, tuple) else tuple(range(len(interface.to_host)))
    )
    places: list[int] = []
    for output in selected:
        if output not in keys or keys.index(output) in places:
            raise GraphValueError(
                f"{name}: output_subset={selected!r}; expected some of {list(keys)}, "
                "each once"
            )
        places.append(keys.index(output))
    return tuple(places)


def with_outputs(
    interface: Interface, plan: Plan, places: tuple[int, ...]
) -> tuple[Interface, Plan]:
    """Return the interface and the plan of some outputs, and of all updates."""
    form = interface.form
    changed = replace(
        interface,
        to_host=tuple(interface.to_host[i] for i in places),
        form=tuple(form[i] for i in places) if isinstance(form, tuple) else "list",
        is_part=True,
        packing=None,
    )
    updates = range(len(interface.to_host), len(plan.outputs))
    return changed, pruned(plan, [*places, *updates])


def without_updates(interface: Interface, plan: Plan) -> tuple[Interface, Plan]:
    """Return the interface and the plan of a function that updates nothing."""
    changed = replace(
        interface, updated=(), carried=(), guarded=interface.updated, is_part=True
    )
    return changed, pruned(plan, range(len(interface.to_host)))


def next_values(interface: Interface) -> dict[int, int]:
    """Return the updates: the input of the graph that each output becomes."""
    n_inputs, n_outputs = len(interface.inputs), len(interface.to_host)
    places = {v: n_inputs + i for i, v in enumerate(interface.shared)}
    becomes = {
        n_outputs + i: places[variable]
        for i, variable in enumerate(interface.updated)
        if variable in places
    }
    first = n_outputs + len(interface.updated)
    return becomes | {first + i: place for i, place in enumerate(interface.carried)}
