"""``map``, ``reduce``, ``foldl`` and ``foldr``, special cases of `scan`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpuarray.compiler.function.updates import OrderedUpdates
from gpuarray.compiler.ops.index.indexing import index
from gpuarray.compiler.ops.scan.scan import ALL
from gpuarray.compiler.scan_module.scan import scan


def map(
    fn: Callable[..., Any],
    sequences: Any,
    non_sequences: Any = None,
    truncate_gradient: int = ALL,
    go_backwards: bool = False,
    mode: Any = None,
    name: str | None = None,
) -> tuple[Any, OrderedUpdates]:
    """Return the results of ``fn`` on each row of the sequences, in rows, and updates.

    Arguments and updates are those of `scan`.

    >>> from gpuarray.compiler import tensor as T
    >>> x = T.dmatrix("x")
    >>> sums, _ = map(lambda row: row.sum(), x)
    >>> print(sums.eval({x: [[1, 2], [3, 4]]}))
    [3. 7.]
    """
    return scan(
        fn,
        sequences,
        None,
        non_sequences,
        truncate_gradient=truncate_gradient,
        go_backwards=go_backwards,
        mode=mode,
        name=name,
    )


def reduce(
    fn: Callable[..., Any],
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = None,
    go_backwards: bool = False,
    mode: Any = None,
    name: str | None = None,
    checkpoint: int | str = "all",
) -> tuple[Any, OrderedUpdates]:
    """Return the outputs of the last iteration over the sequences, and updates.

    ``fn`` gets the rows of the sequences, then its own outputs of the iteration before,
    which start as ``outputs_info``. Arguments and updates are those of `scan`.

    >>> from gpuarray.compiler import tensor as T
    >>> x = T.dvector("x")
    >>> total, _ = reduce(lambda row, sofar: sofar + row, x, T.as_tensor_variable(0.0))
    >>> print(total.eval({x: [1, 2, 3.5]}))
    6.5
    """
    outputs, updates = scan(
        fn,
        sequences,
        outputs_info,
        non_sequences,
        go_backwards=go_backwards,
        mode=mode,
        name=name,
        checkpoint=checkpoint,
    )
    if isinstance(outputs, list):
        return [index(trace, -1) for trace in outputs], updates
    return (None if outputs is None else index(outputs, -1)), updates


def foldl(
    fn: Callable[..., Any],
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = None,
    mode: Any = None,
    name: str | None = None,
    checkpoint: int | str = "all",
) -> tuple[Any, OrderedUpdates]:
    """Return `reduce` from the first rows to the last.

    >>> from gpuarray.compiler import tensor as T
    >>> left, _ = foldl(lambda a, b: a - b, T.arange(4), T.constant(0, dtype="int64"))
    >>> print(left.eval())
    2
    """
    return reduce(
        fn, sequences, outputs_info, non_sequences, False, mode, name, checkpoint
    )


def foldr(
    fn: Callable[..., Any],
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = None,
    mode: Any = None,
    name: str | None = None,
    checkpoint: int | str = "all",
) -> tuple[Any, OrderedUpdates]:
    """Return `reduce` from the last rows to the first.

    >>> from gpuarray.compiler import tensor as T
    >>> right, _ = foldr(lambda a, b: a - b, T.arange(4), T.constant(0, dtype="int64"))
    >>> print(right.eval())
    -2
    """
    return reduce(
        fn, sequences, outputs_info, non_sequences, True, mode, name, checkpoint
    )
