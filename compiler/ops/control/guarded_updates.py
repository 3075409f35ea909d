"""The count of index errors not raised yet: while it is not 0, updates are void.

No user writes it: rewriting puts it beside updates of shared variables.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from gpuarray.compiler.graph.core import Apply, Op
from gpuarray.compiler.graph.types import TensorType


class Reports(Op):
    """The count, a uint32 scalar. Nodes that may add to it run before."""

    __props__: ClassVar[tuple[str, ...]] = ()

    follows_reports = True

    def make_node(self) -> Apply:
        """A node without inputs."""
        return Apply(self, [], [TensorType("uint32", ())()])

    def reference(self) -> Any:
        """Return 0: with NumPy an index error is raised at once."""
        return np.zeros((), "uint32")

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """Return no lengths."""
        return [()]
