"""Which kernels a row program will need where it runs by walks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuarray.compiler.gpukernels.calls import Needs
from gpuarray.compiler.gpukernels.creation import count_source
from gpuarray.compiler.gpukernels.rowwalks import Walks
from gpuarray.compiler.ops.rowwise import ONE, Program

_ARRAY: Any = object()
"""Stands for an array."""


class Forecast(Walks):
    """A run of which only the kernels are taken down: there are no arrays yet."""

    def __init__(
        self,
        needs: Needs,
        program: Program,
        sources: Sequence[str],
        ndim: int,
    ) -> None:
        self.needs = needs
        values = [{"array": _ARRAY, "int": 0}.get(source) for source in sources]
        super().__init__(program, sources, values, (1,) * ndim, needs.context)

    def take_down(self, over: Sequence[int]) -> None:
        """Tell what the run needs."""
        self.run([_ARRAY] * len(self.program.outputs), over)

    def place(self, dtype: str) -> Any:
        """Nothing is kept."""
        return _ARRAY

    def is_whole(self, array: Any) -> bool:
        """Nothing has a shape."""
        return False

    def count_places(self, dtype: str) -> Any:
        """The kernel that counts."""
        self.needs.kernel(*count_source(dtype))
        return _ARRAY

    def head(self, count: int) -> Any:
        """As where all rows are among the first."""
        return 1

    def within(self, labels: Any) -> Any:
        """Places are taken from a count of them."""
        return self.count_places("int64")

    def taken(self, table: Any, places: Any) -> Any:
        """What takes them is made where it is first wanted."""
        return _ARRAY

    def new_array(self, shape: Sequence[int], dtype: str) -> Any:
        """None is made."""
        return _ARRAY

    def elementwise(self, roots: Sequence[int], outs: Sequence[Any]) -> None:
        """The kernels of a launch."""
        kernel, used = self.map_kernel(roots)
        kinds = self.program.kinds
        singles = [i for i, value in enumerate(used) if kinds[value] == ONE]
        self.needs.elemwise(kernel, len(self.shape), singles)

    def reduce(self, folds: Sequence[int]) -> None:
        """The kernels of a walk."""
        kernel, _ = self.fold_kernel(folds)
        ndim = len(self.shape)
        self.needs.reduction(kernel, ndim, (ndim - 1,))
        self.known.update(dict.fromkeys(folds, _ARRAY))
