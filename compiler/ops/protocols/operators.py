"""Operators, attributes and methods of variables.

Python's operators come from the rows of the scalar table; importing this file adds them
to every variable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from gpuarray.compiler.config import config
from gpuarray.compiler.errors import GraphTypeError
from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.types import is_integer_name
from gpuarray.compiler.ops.broadcast import axes
from gpuarray.compiler.ops.creation import diagonals
from gpuarray.compiler.ops.elemwise import math, special
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.index import indexing, picking
from gpuarray.compiler.ops.linalg import linalg, norms, products
from gpuarray.compiler.ops.manipulation import repeating
from gpuarray.compiler.ops.protocols import conversions, dispatch
from gpuarray.compiler.ops.protocols.dispatch import unknown as _unknown
from gpuarray.compiler.ops.reduce import argmax, reduce
from gpuarray.compiler.ops.shape import shape
from gpuarray.compiler.ops.sorting import extra_ops, scanning, sorting
from gpuarray.compiler.ops.variables import transfer
from gpuarray.scalars import SCALARS, Scalar

if TYPE_CHECKING:
    from gpuarray.compiler.graph.core import Variable

# Python compares variables by identity, so that they can be kept in dicts and lists.
IDENTITY = ("eq", "ne")
_COMPARISONS = ("lt", "le", "gt", "ge")


def _compares(variable: Any) -> bool:
    """Return True for ``a < b`` and its like, of which ``a < b < c`` asks the truth."""
    op = getattr(variable.owner, "op", None)
    scalar = op.scalar if isinstance(op, Elemwise) else None
    return isinstance(scalar, Scalar) and scalar.operator in _COMPARISONS


class Operators:
    """The attributes and methods of every variable."""

    __array_priority__ = 1000

    type: Any
    tag: Any

    # Functions whose first operand is the variable. They come first: below, `shape`
    # and others are properties here, no longer the modules.
    astype = math.cast
    transfer = transfer.transfer
    dimshuffle = shape.dimshuffle
    swapaxes = shape.swapaxes
    squeeze = axes.squeeze
    flatten = shape.flatten
    repeat = repeating.repeat
    sum = reduce.sum
    prod = reduce.prod
    mean = reduce.mean
    var = reduce.var
    std = reduce.std
    max = reduce.max
    min = reduce.min
    argmin = argmax.argmin
    argmax = argmax.argmax
    any = reduce.any
    all = reduce.all
    ptp = reduce.ptp
    norm = norms.norm_of_all
    cumsum = scanning.cumsum
    cumprod = scanning.cumprod
    sort = sorting.sort
    argsort = sorting.argsort
    searchsorted = extra_ops.searchsorted
    take = picking.take
    choose = picking.choose
    nonzero = picking.nonzero
    nonzero_values = picking.nonzero_values
    diagonal = diagonals.diagonal
    trace = diagonals.trace
    round = special.round
    __getitem__ = indexing.index
    __array_ufunc__ = dispatch.array_ufunc
    __array_function__ = dispatch.array_function
    __array__ = dispatch.as_array

    if TYPE_CHECKING:

        def __add__(self, other: Any) -> Variable: ...
        def __radd__(self, other: Any) -> Variable: ...
        def __sub__(self, other: Any) -> Variable: ...
        def __rsub__(self, other: Any) -> Variable: ...
        def __mul__(self, other: Any) -> Variable: ...
        def __rmul__(self, other: Any) -> Variable: ...
        def __truediv__(self, other: Any) -> Variable: ...
        def __rtruediv__(self, other: Any) -> Variable: ...
        def __floordiv__(self, other: Any) -> Variable: ...
        def __rfloordiv__(self, other: Any) -> Variable: ...
        def __mod__(self, other: Any) -> Variable: ...
        def __rmod__(self, other: Any) -> Variable: ...
        def __rpow__(self, other: Any) -> Variable: ...
        def __and__(self, other: Any) -> Variable: ...
        def __rand__(self, other: Any) -> Variable: ...
        def __or__(self, other: Any) -> Variable: ...
        def __ror__(self, other: Any) -> Variable: ...
        def __xor__(self, other: Any) -> Variable: ...
        def __rxor__(self, other: Any) -> Variable: ...
        def __lshift__(self, other: Any) -> Variable: ...
        def __rlshift__(self, other: Any) -> Variable: ...
        def __rshift__(self, other: Any) -> Variable: ...
        def __rrshift__(self, other: Any) -> Variable: ...
        def __lt__(self, other: Any) -> Variable: ...
        def __le__(self, other: Any) -> Variable: ...
        def __gt__(self, other: Any) -> Variable: ...
        def __ge__(self, other: Any) -> Variable: ...
        def __neg__(self) -> Variable: ...
        def __abs__(self) -> Variable: ...
        def __invert__(self) -> Variable: ...

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return int(self.type.ndim)

    @property
    def dtype(self) -> str:
        """The name of the dtype."""
        return str(self.type.dtype)

    @property
    def broadcastable(self) -> tuple[bool, ...]:
        """For each axis whether it has length 1 for sure, and so broadcasts."""
        return tuple(self.type.broadcastable)

    @property
    def shape(self) -> Variable:
        """The lengths of the axes, a vector of int64; ``x.shape[0]`` is one of them."""
        return shape.shape(self)

    @property
    def size(self) -> Variable:
        """The number of elements, int64."""
        return shape.size(self)

    @property
    def T(self) -> Variable:
        """The axes reversed."""
        return shape.transpose(self)

    @property
    def real(self) -> Variable:
        """The real parts."""
        return math.FUNCTIONS["real"](self)

    @property
    def imag(self) -> Variable:
        """The imaginary parts; zeros for real numbers."""
        return math.FUNCTIONS["imag"](self)

    def conj(self) -> Variable:
        """The complex conjugates."""
        return math.FUNCTIONS["conjugate"](self)

    def __pos__(self) -> Variable:
        return core.as_variable(self)

    def __divmod__(self, other: Any) -> tuple[Variable, Variable]:
        return math.divmod(self, other)

    def __rdivmod__(self, other: Any) -> tuple[Variable, Variable]:
        return math.divmod(other, self)

    def __pow__(self, other: Any) -> Variable:
        power = math.FUNCTIONS["power"](self, other)
        is_half = other.__class__ is float and other == 0.5
        if is_half and power.type == self.type and not is_integer_name(self.dtype):
            return math.FUNCTIONS["sqrt"](self)  # as an array's operator, and NumPy's
        return power

    def __matmul__(self, other: Any) -> Variable:
        if hasattr(other, "__rdot__"):
            return linalg.dot(self, other)
        return products.matmul(self, other)

    def __rmatmul__(self, other: Any) -> Variable:
        return products.matmul(other, self)

    def __bool__(self) -> bool:
        truth = getattr(self.tag, "truth", None)
        if truth is None:
            if config.protocols == "theano" and not _compares(self):
                return True
            raise _unknown(
                self,
                "bool",
                "choose between values with T.switch(condition, a, b) or "
                "ifelse(condition, a, b), join conditions with & and |, and ask for a "
                "variable's presence with `is not None`",
            )
        return bool(truth)

    def __int__(self) -> int:
        raise _unknown(self, "int", 'for another dtype use T.cast(x, "int64")')

    def __float__(self) -> float:
        raise _unknown(
            self,
            "float",
            'for another dtype use T.cast(x, "float64"); functions of variables are '
            "T's (T.exp, T.sqrt), those of math are for numbers",
        )

    def __complex__(self) -> complex:
        raise _unknown(self, "complex", 'for another dtype use T.cast(x, "complex128")')

    def __index__(self) -> int:
        raise _unknown(
            self,
            "index",
            "T.arange takes symbolic lengths, T.zeros symbolic shapes, and "
            "T.as_tensor_variable(array)[i] symbolic places",
        )

    def __len__(self) -> int:
        length = indexing.known_length(core.as_variable(self))
        if length is None:
            raise _unknown(self, "len", "use x.shape[0]")
        return length

    def __contains__(self, value: Any) -> bool:
        raise _unknown(
            self, "in", "use T.any(T.eq(x, value)); among variables put them in a list"
        )

    def __round__(self, digits: int | None = None) -> Variable:
        return dispatch.rounded(self, digits or 0)

    def __setitem__(self, key: Any, value: Any) -> None:
        raise GraphTypeError(
            f"assignment: {self} is symbolic and stays as it is; make a new variable: "
            "new = T.set_subtensor(old[...], values), or T.inc_subtensor"
        )

    def __iter__(self) -> Iterator[Variable]:
        return indexing.elements_of(core.as_variable(self))

    def compress(self, condition: Any, axis: int | None = None) -> Variable:
        """Return the parts along ``axis`` where ``condition`` is not zero."""
        return picking.compress(condition, self, axis)

    def __ceil__(self) -> Variable:
        return math.FUNCTIONS["ceil"](self)

    def __floor__(self) -> Variable:
        return math.FUNCTIONS["floor"](self)

    def __trunc__(self) -> Variable:
        return math.FUNCTIONS["trunc"](self)

    def transpose(self, *axes: Any) -> Variable:
        """Return the axes reversed, or in this order."""
        listed = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return shape.transpose(self, listed or None)

    def reshape(self, *lengths: Any, ndim: int | None = None) -> Variable:
        """Return another shape: a tuple, numbers, or a vector and ``ndim``."""
        return shape.reshape(self, lengths[0] if len(lengths) == 1 else lengths, ndim)

    def ravel(self) -> Variable:
        """All axes merged into one."""
        return shape.flatten(self)

    def dot(self, other: Any) -> Variable:
        """The product with ``other``."""
        return linalg.dot(self, other)

    def clip(self, low: Any, high: Any) -> Variable:
        """The values, none below ``low`` or above ``high``."""
        return math.clip(self, low, high)

    def fill(self, value: Any) -> Variable:
        """``value`` in the shape of the variable."""
        return math.second(self, value)

    def copy(self, name: str | None = None) -> Variable:
        """Return another variable of the same values, with this name."""
        copied = conversions.tensor_copy(self)
        copied.name = name
        return copied

    def get_scalar_constant_value(self) -> Any:
        """Return the variable's number. Raises NotScalarConstantError."""
        return conversions.get_scalar_constant_value(self)

    def zeros_like(self, dtype: Any = None) -> Variable:
        """Zeros in the shape of the variable."""
        return math.zeros_like(self, dtype)

    def ones_like(self, dtype: Any = None) -> Variable:
        """Ones in the shape of the variable."""
        return math.ones_like(self, dtype)


def _operator(row: Scalar, reflected: bool = False) -> Callable[..., Variable]:
    function = math.FUNCTIONS[row.name]

    def apply(self: Any, *other: Any) -> Variable:
        if other and getattr(other[0], "is_sparse", False):
            return NotImplemented  # type: ignore[no-any-return]  # it has its own
        return function(*other, self) if reflected else function(self, *other)

    return apply


def _of_rows() -> dict[str, Callable[..., Variable]]:
    """Return Python's operators, and a method for each unary row."""
    methods: dict[str, Callable[..., Variable]] = {}
    for row in SCALARS.values():
        if row.arity == 1:
            methods[row.name] = _operator(row)
        if row.operator is not None and row.operator not in IDENTITY:
            methods[f"__{row.operator}__"] = _operator(row)
            if row.arity == 2 and row.result != "bool":
                methods[f"__r{row.operator}__"] = _operator(row, reflected=True)
    return methods


_OF_ANY_CLASS = {*vars(type("Any", (), {})), "__annotations__"}

core.Variable.learn(_of_rows())
core.Variable.learn(
    {
        name: member
        for name, member in vars(Operators).items()
        if name not in _OF_ANY_CLASS
    }
)
