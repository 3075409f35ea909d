"""How far values may be off because of the roundings before them.

Where two ways to compute one value differ, both are computed again with every rounded
result moved by a few last digits, up and down: what that changes, another order of
computing may change, too. So does what no rule settles:

- a float that is cast to an integer too small for it, or a nan;
- the reciprocal of an integer 0;
- the place of the greatest of what is all nan, as the softmax of a nan is;
- whether the tangent is at its pole, which is between two floats: it may be infinite;
- whether a BLAS skips a factor 0, so that inf * 0 or nan * 0 adds nothing;
- the sign of a nan, or of a 0, that is computed;
- what float16 rounds away: kernels compute in float32 and round what they store, so an
  inf or a 0 may be another number, and a whole number none.
"""

from __future__ import annotations

import numpy as np
from gpuarray.compiler.graph.core import Constant
from gpuarray.compiler.ops.elemwise.elemwise import Cast, Composite, Elemwise
from gpuarray.compiler.ops.linalg.linalg import Dot
from gpuarray.compiler.ops.nnet.nnet import LogSoftmax
from gpuarray.compiler.ops.reduce.argmax import Argmax
from gpuarray.scalars import SCALARS, Scalar
from random_drawing import Values

SMOOTH = {"add", "sub", "mul", "neg", "abs", "square", "maximum", "minimum", "where"}
SMOOTH |= {"cast", "true_div"}
ROUNDING = {"add": np.add, "sub": np.subtract, "mul": np.multiply}
ROUNDING |= {"square": np.square, "true_div": np.divide}
PRODUCTS = {"mul", "square", "power"}
WIDER = {"float16": np.float32, "float32": np.float64, "float64": np.longdouble}
MOVES = {"float16": 2, "float32": 16, "float64": 64}
WAYS = 10
WIDE_WAYS = 2
ROUNDED = {
    "Elemwise", "Reduce", "MapReduce", "Dot", "Gemm", "Gemv", "Ger", "BatchedDot",
    "Softmax", "LogSoftmax", "CumOp", "IncSubtensor", "AdvancedIncSubtensor1",
    "AdvancedIncSubtensor", "Sum", "Prod",
}  # fmt: skip


class Broken(Exception):
    """A value that does not exist once roundings go another way, such as an index."""


class Moved(Values):
    """Values with each rounded one some last digits off.

    All down in way 0, all up in way 1, each its own way in others; in the last ones
    elementwise rows hand on in float32 what is of float16.
    """

    def __init__(self, known, way):
        super().__init__(known)
        self.way = way
        self.number = 0

    def is_wide(self, node):
        """Whether a node takes and gives float32 for float16."""
        is_last = self.way >= WAYS - WIDE_WAYS
        is_row = isinstance(node.op, Elemwise) and isinstance(node.op.scalar, Scalar)
        return is_last and is_row

    def operands(self, node):
        arrays = [np.asarray(each) for each in super().operands(node)]
        if self.is_wide(node):
            halves = [each.dtype == np.float16 for each in arrays]
            return [
                each.astype(np.float32) if is_half else each
                for each, is_half in zip(arrays, halves, strict=True)
            ]
        kinds = [each.type.dtype for each in node.inputs]
        return [
            each.astype(kind) if kind == "float16" else each
            for each, kind in zip(arrays, kinds, strict=True)
        ]

    def computed(self, node, arrays):
        """The results of a node; of float16 in float32 where it is wide."""
        if not self.is_wide(node):
            return node.op.evaluate(node, arrays)
        kind = node.outputs[0].type.dtype
        result = np.asarray(node.op.scalar.reference(*arrays))
        return [result.astype("float32" if kind == "float16" else kind)]

    def run(self, node):
        arrays = [np.asarray(each) for each in self.operands(node)]
        self.number += 1
        given = [np.array(each) for each in arrays]
        if not isinstance(node.op, Elemwise):  # it adds in order
            given = [self.moved(node, each, arrays) for each in given]
        try:
            results = self.computed(node, given)
        except (ValueError, IndexError) as error:
            raise Broken from error
        for output, result in zip(node.outputs, results, strict=True):
            result = self.settled(node, np.asarray(result), arrays)
            result = self.moved(node, result, arrays)
            self.known.setdefault(output, self.signed(node, result))

    def up(self, value):
        """Which elements are moved up, the others down."""
        if self.way < 2:
            return np.full(value.shape, self.way == 1)
        rng = np.random.default_rng((self.number, self.way))
        return rng.random(value.shape) < 0.5

    def settled(self, node, value, arrays):
        """A result with one of the values that it may have where no rule says which."""
        if isinstance(node.op, Elemwise) and isinstance(node.op.scalar, Cast):
            return self.cast(value, arrays[0])
        if isinstance(node.op, Elemwise) and node.op.scalar == SCALARS["reciprocal"]:
            return self.cast(value, 1 / arrays[0].astype(float))
        if name_of(node) == "tan":
            return self.pole(value)
        if isinstance(node.op, Dot):
            return self.product(value, *arrays)
        if isinstance(node.op, Argmax):
            return self.place(value, arrays[0], node.op.axes)
        if isinstance(node.op, Elemwise) and value.dtype == np.float16:
            return self.stored(node.op.scalar, value, arrays)
        return value

    def cast(self, value, given):
        """Integers of floats, any where one is out of their range."""
        if value.dtype.kind not in "iu" or given.dtype.kind != "f":
            return value
        range_ = np.iinfo(value.dtype)
        whole = np.trunc(given.astype(np.longdouble))
        is_one = (whole >= range_.min) & (whole <= range_.max)
        any_ = [range_.min, range_.max, range_.max // 2, range_.max // 3][self.way % 4]
        return np.where(is_one, value, np.asarray(any_, value.dtype))

    def pole(self, value):
        """Tangents, infinite where the operand's last digits leave nothing of them."""
        if value.dtype.name not in MOVES:
            return value
        largest = 1 / (MOVES[value.dtype.name] * np.finfo(value.dtype).eps)
        infinity = np.where(self.up(value), np.inf, -np.inf).astype(value.dtype)
        return np.where(np.abs(value) > largest, infinity, value)

    def product(self, value, a, b):
        """Sums of products, where a factor 0 of inf or nan may have been skipped."""
        if value.dtype.kind not in "fc" or self.way % 2 == 0:
            return value
        skipped = np.dot(~np.isfinite(a) * 1.0, (b == 0) * 1.0)
        skipped += np.dot((a == 0) * 1.0, ~np.isfinite(b) * 1.0)
        other = np.where(np.isnan(value), 0, np.nan).astype(value.dtype)
        return np.where(skipped > 0, other, value)

    def place(self, value, array, axes):
        """Places of the greatest, where all are nan any."""
        if array.dtype.kind != "f" or self.way % 2 == 0:
            return value
        last = np.prod([array.shape[axis] for axis in axes], dtype=int) - 1
        return np.where(np.isnan(array).all(axis=tuple(axes)), last, value)

    def stored(self, scalar, value, arrays):
        """A result in float16, a number where it is inf or 0 but not in float32."""
        if not isinstance(scalar, Scalar) or self.way % 2 == 0:
            return value
        wide = np.asarray(scalar.reference(*(each.astype("f4") for each in arrays)))
        least, large = np.finfo(np.float16).smallest_subnormal, np.float16(3e4)
        is_large = np.isinf(value) & np.isfinite(wide)
        value = np.where(is_large, np.copysign(large, value), value)
        is_small = (value == 0) & (wide != 0) & ~np.isnan(wide)
        return np.where(is_small, np.copysign(least, value), value)

    def signed(self, node, value):
        """A result whose nans and zeros have either sign, if they are computed."""
        name = type(node.op).__name__
        if value.dtype.name not in MOVES or name not in ROUNDED or "Subtensor" in name:
            return value
        sign = np.where(self.up(value), 1, -1).astype(value.dtype)
        is_open = np.isnan(value) | (value == 0)
        return np.where(is_open, np.copysign(value, sign), value)

    def moved(self, node, value, arrays):
        """A value some last digits off, save where it is exact."""
        if value.dtype.name not in MOVES or type(node.op).__name__ not in ROUNDED:
            return value
        up = self.up(value)
        size = np.abs(value)
        if isinstance(node.op, LogSoftmax):  # of x - max(x)
            size = np.maximum(size, np.abs(arrays[0]))
        step = np.spacing(size) * MOVES[value.dtype.name]
        rest = unrounded(node, value, arrays)
        step = np.maximum(step, rest)
        step = np.where(up, step, -step).astype(value.dtype)
        exact = ~np.isfinite(value)
        if is_arithmetic(node):
            whole = (np.abs(value) < 1000) & (value == np.rint(value))
            exact |= whole & (rest == 0) & is_exact(node, value, arrays)
        return np.where(exact, value, value + step).astype(value.dtype)


def name_of(node):
    """The name of an elementwise row, such as cast; empty if the node is no row."""
    scalar = node.op.scalar if isinstance(node.op, Elemwise) else None
    return "cast" if isinstance(scalar, Cast) else getattr(scalar, "name", "")


def is_arithmetic(node):
    if not isinstance(node.op, Elemwise):
        return not isinstance(node.op, LogSoftmax)
    return isinstance(node.op.scalar, Composite) or name_of(node) in SMOOTH


def is_exact(node, value, arrays):
    """Where an elementwise row rounds nothing away, as a wider dtype tells."""
    row = ROUNDING.get(name_of(node))
    if row is None:
        return True
    wider = WIDER[value.dtype.name]
    return row(*(each.astype(wider) for each in arrays)) == value


def unrounded(node, value, arrays):
    """What a sum with a product may have more: the product need not be rounded first.

    So ``x * x - x * x`` may be what the first product was rounded by.
    """
    rest = np.zeros_like(value)
    if name_of(node) in ("add", "sub"):
        for operand, array in zip(node.inputs, arrays, strict=True):
            if operand.owner is not None and name_of(operand.owner) in PRODUCTS:
                with np.errstate(all="ignore"):
                    wide = np.spacing(np.abs(array.astype(value.dtype)))
                rest = np.maximum(rest, np.where(array == 0, 0, wide))
    return np.where(np.isfinite(rest), rest, 0)


class Uncertain:
    """How far values may be off, given those of some variables."""

    def __init__(self, known):
        self.known = known
        self.ways = [Moved(known, way) for way in range(WAYS)]

    def spread(self, variable, base):
        """How far a variable moves from ``base``; infinite where it may do anything.

        One number, infinity, where its shape may be another as well.
        """
        spread = np.zeros(np.shape(base))
        if isinstance(variable, Constant):
            return spread
        for way in self.ways:
            try:
                value = way.of(variable)
            except Broken:
                return np.array(np.inf)
            if np.shape(value) != np.shape(base):
                return np.array(np.inf)
            with np.errstate(all="ignore"):
                off = np.abs(wide(value) - wide(base))
            off = np.where(same(value, base), 0, off)
            spread = np.maximum(spread, np.where(np.isnan(off), np.inf, off))
        return spread


def most(*spreads):
    """The larger spread, of each element where all have the shape."""
    anything = [each for each in spreads if each.ndim == 0 and np.isinf(each)]
    return anything[0] if anything else np.maximum.reduce(spreads)


def wide(array):
    array = np.asarray(array)
    return array.astype(complex if array.dtype.kind == "c" else float)


def same(a, b):
    with np.errstate(all="ignore"):
        return (a == b) | ((a != a) & (b != b))
