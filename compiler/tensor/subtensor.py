"""The namespace ``T.subtensor``: indexing, and changes of parts of arrays."""

from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.ops.index.advanced import (
    AdvancedBooleanIncSubtensor as AdvancedBooleanIncSubtensor,
    AdvancedBooleanSubtensor as AdvancedBooleanSubtensor,
    AdvancedIncSubtensor as AdvancedIncSubtensor,
    AdvancedIncSubtensor1 as AdvancedIncSubtensor1,
    AdvancedSubtensor as AdvancedSubtensor,
    AdvancedSubtensor1 as AdvancedSubtensor1,
)
from gpuarray.compiler.ops.index.indexing import (
    inc_subtensor as inc_subtensor,
    set_subtensor as set_subtensor,
)
from gpuarray.compiler.ops.index.picking import take as take
from gpuarray.compiler.ops.slicing.subtensor import (
    IncSubtensor as IncSubtensor,
    Subtensor as Subtensor,
)

_suggest_names(__name__)
