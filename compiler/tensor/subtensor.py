"""The namespace ``T.subtensor``: indexing, and changes of parts of arrays."""

from __future__ import annotations

from gpuarray.compiler.names import suggest_names
from gpuarray.compiler.ops.index.advanced import (
    AdvancedBooleanIncSubtensor,
    AdvancedBooleanSubtensor,
    AdvancedIncSubtensor,
    AdvancedIncSubtensor1,
    AdvancedSubtensor,
    AdvancedSubtensor1,
)
from gpuarray.compiler.ops.index.indexing import inc_subtensor, set_subtensor
from gpuarray.compiler.ops.index.picking import take
from gpuarray.compiler.ops.slicing.subtensor import IncSubtensor, Subtensor

__all__ = [
    "AdvancedBooleanIncSubtensor",
    "AdvancedBooleanSubtensor",
    "AdvancedIncSubtensor",
    "AdvancedIncSubtensor1",
    "AdvancedSubtensor",
    "AdvancedSubtensor1",
    "IncSubtensor",
    "Subtensor",
    "inc_subtensor",
    "set_subtensor",
    "take",
]

suggest_names(__name__)
