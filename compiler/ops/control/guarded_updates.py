"""How many wrong indices nobody was told of yet: while there are, updates are void.

No user writes it: rewriting puts it beside what overwrites shared variables.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from gpuarray.compiler.graph.core import Apply, Op
from gpuarray.compiler.graph.types import TensorType


class Reports(Op):
    """The count, uint32 without axes. What may add to it runs before."""

    __props__: ClassVar[tuple[str, ...]] = ()

    follows_reports = True

    def make_node(self) -> Apply:
        """A node without inputs."""
        return Apply(self, [], [TensorType("uint32", ())()])

    def reference(self) -> Any:
        """None: with NumPy a wrong index is told at once."""
        return np.zeros((), "uint32")

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """It has no axes."""
        return [()]
