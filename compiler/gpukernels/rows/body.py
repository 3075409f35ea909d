"""A row program as steps of the library: its kernel, or one reduction per walk.

The library binds these at each new shape, in a compiled function and in one from a
file. Which of the two runs depends on the device and the lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from gpuarray.compiler.gpukernels.bodies import Steps, body_of
from gpuarray.compiler.gpukernels.rows.launched import in_shape, launch, shaped
from gpuarray.compiler.gpukernels.rows.operands import Operands
from gpuarray.compiler.gpukernels.rows.persistent import most_words
from gpuarray.compiler.gpukernels.rows.product import product_of
from gpuarray.compiler.gpukernels.rows.walked import by_reductions
from gpuarray.compiler.ops.fused.row_steps import TABLE, Fold, Total
from gpuarray.compiler.ops.fused.rowwise import Program

NARROW = 2**31 - 2**20
"""Row length from which indices take 64 bits."""
LONG = 16384
"""Row length beyond which a few rows are not left to one block each."""

Way = Callable[[Steps, Operands], list[int]]
"""Returns the outputs of a program without totals."""


@body_of("rowwise")
def rowwise_steps(
    s: Steps,
    *values: int,
    program: Program,
    sources: tuple[str, ...],
    over: tuple[int, ...],
) -> list[int]:
    """Add a program's computation, by walks along the rows or by a kernel."""
    operands = Operands.of(s, program, sources, over, values)
    is_product = product_of(program) is not None
    is_walked = needs_walks(s, operands)
    with s.under(is_walked, True):
        walk = product_by_walks if is_product else by_walks
        walked = walk(s, operands)
    with s.under(is_walked, False):
        launch_all = product_by_kernel if is_product else by_kernel
        launched = launch_all(s, operands)
    return chosen(s, is_walked, walked, launched)


def chosen(s: Steps, condition: int, a: Sequence[int], b: Sequence[int]) -> list[int]:
    """Return the first of each pair where the integer is true, else the second."""
    return [s.choose(condition, *pair) for pair in zip(a, b, strict=True)]


def needs_walks(s: Steps, operands: Operands) -> int:
    """Return 1 for walks, where one launch is slower or impossible, else 0."""
    tables = operands.of_kind(TABLE)
    reasons = [
        prefers_walks(s, operands.rows(s), operands.length),
        s.arithmetic("le", s.integer(NARROW), operands.length),
        *(s.arithmetic("eq", s.length(table, 0), s.integer(0)) for table in tables),
    ]
    return s.any(reasons)


def prefers_walks(s: Steps, rows: int, length: int) -> int:
    """Return 1 where separate kernels are faster than one launch for all of it.

    Those of processors vectorize better; and a few long rows leave a GPU idle.
    """
    twice = s.arithmetic("mul", s.integer(2), s.device("processors"))
    is_long = s.arithmetic("lt", s.integer(LONG), length)
    is_few = s.arithmetic("lt", rows, twice)
    is_better = s.arithmetic("bitwise_and", is_long, is_few)
    return s.arithmetic("bitwise_or", s.device("is_processor"), is_better)


# ---- totals ----


def by_walks(s: Steps, operands: Operands) -> list[int]:
    """Return the outputs by a reduction for each walk, and totals of stored values."""
    return of_stored(by_reductions, s, operands)


def by_kernel(s: Steps, operands: Operands) -> list[int]:
    """The outputs by one launch, and totals of its blocks, or of stored values."""
    program = operands.program
    if not program.totals or most_words(program) == 0:  # no persistent rows
        return of_stored(in_shape, s, operands)
    whole, axes = len(program.outputs), len(operands.shape) - 1
    results = launch(s, operands, "row_totals")
    blocks = s.length(results[whole], 0)  # 0 where storing is faster
    with s.under(blocks, False):
        stored = of_stored(in_shape, s, operands)
    with s.under(blocks, True):
        outputs = shaped(s, operands, results[:whole])
        folded = folds_of(s, program.totals, results[whole:])
        totals = [s.view(total, (*(-1,) * axes, 0)) for total in folded]
    return chosen(s, blocks, [*outputs, *totals], stored)


def of_stored(way: Way, s: Steps, arguments: Operands) -> list[int]:
    """Return the outputs, and totals of stored elements."""
    program = arguments.program
    if not program.totals:
        return way(s, arguments)
    plain = arguments.storing()
    outputs = way(s, plain)
    there = dict(enumerate(arguments.numbers)) | dict(
        zip(plain.program.outputs, outputs, strict=True)
    )
    operands = (there[total.operand] for total in program.totals)
    stored = [number for number in operands if number is not None]
    axes = len(arguments.shape) - 1
    folded = totals_of(s, program.totals, stored)
    totals = (s.view(total, (*(-1,) * axes, 0)) for total in folded)
    return [*outputs[: len(program.outputs)], *totals]


def totals_of(s: Steps, totals: Sequence[Total], stored: Sequence[int]) -> list[int]:
    """Return stored elements folded over all rows: on GPUs all totals at once."""
    alone = s.device("is_processor")
    pairs = list(zip(totals, stored, strict=True))
    if len(pairs) == 1:
        return folds_of(s, totals, stored)
    with s.under(alone, True):
        single = [folds_of(s, [total], [array])[0] for total, array in pairs]
    with s.under(alone, False):
        together = folds_of(s, totals, stored)
    return chosen(s, alone, single, together)


def folds_of(s: Steps, totals: Sequence[Total], arrays: Sequence[int]) -> list[int]:
    """Return arrays folded over all axes but the last one, in one launch."""
    folds = [Fold(t.monoid, 0, t.dtype, t.acc_dtype, of_none=True) for t in totals]
    texts = [(f"v{i}", s.array(array).dtype) for i, array in enumerate(arrays)]
    axes = tuple(range(s.array(arrays[0]).ndim - 1))
    first = s.reduction(folds, texts, [name for name, _ in texts], arrays, axes)
    return [first + i for i in range(len(totals))]


# ---- products ----


def product_by_walks(s: Steps, operands: Operands) -> list[int]:
    """Return the product by the BLAS, followed by elementwise operations."""
    return by_blas(by_reductions, s, operands)


def product_by_kernel(s: Steps, operands: Operands) -> list[int]:
    """Return the product and its readers in one launch, unless the BLAS is faster."""
    results = launch(s, operands, "row_products")
    is_left = s.arithmetic("eq", s.length(results[0], 0), s.integer(0))
    with s.under(is_left, True):
        left = by_blas(in_shape, s, operands)
    with s.under(is_left, False):
        outputs = shaped(s, operands, results)
    return chosen(s, is_left, left, outputs)


def by_blas(way: Way, s: Steps, operands: Operands) -> list[int]:
    """Return a program's product by the BLAS, and the rest of it after that."""
    product = product_of(operands.program)
    assert product is not None
    matrix, vector = (operands.numbers[place] for place in product.operands)
    assert matrix is not None
    assert vector is not None
    scaled = s.multiply(matrix, s.reshape(vector, [operands.length]))
    shape = operands.shape[0], s.integer(1)
    others = (x for i, x in enumerate(operands.numbers) if i not in product.operands)
    numbers = *others, s.reshape(scaled, shape)
    rest = product.without(operands.sources, operands.over)
    return way(s, replace(operands, **rest, numbers=numbers, shape=shape))
