"""Elementwise functions, made from the rows of the table: ``gpuarray.add`` and so on.

Each is an object like NumPy's ufuncs. A call of arrays and numbers alone takes the same
short way as an operator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuarray import folding
from gpuarray.apply import apply_row
from gpuarray.base import BaseArray
from gpuarray.codegen import Casting
from gpuarray.errors import BadType, BadValue
from gpuarray.operators import binary_operator, store_operator, unary_operator
from gpuarray.scalars import PAIRS, SCALARS, Pair, Scalar
from gpuarray.symbol import Symbol, record

_CHARACTERS = frozenset("?bBhHiIlLqQefdFD")


class Ufunc:
    """A function of each element of arrays and numbers that broadcast.

    Called as NumPy's are, with ``out=`` (an array, or a tuple of one), ``where=`` (a
    bool array, which broadcasts with the operands; a new array has 0 where it is
    false), ``dtype=`` and ``casting=``. Functions of two operands also have ``reduce``,
    ``accumulate``, ``reduceat``, ``outer`` and ``at``.

    >>> import gpuarray
    >>> gpuarray.add
    <gpuarray ufunc 'add'>
    >>> gpuarray.add.nin, gpuarray.add.nout, gpuarray.add.identity
    (2, 1, 0)
    """

    nout = 1
    signature = None

    def __init__(self, row: Scalar) -> None:
        self.row = row
        theirs = isinstance(row.reference, np.ufunc)
        name = row.reference.__name__ if theirs else row.name
        self.__name__ = self.__qualname__ = name
        self.__doc__ = _document(name, row.arity, row.reference)
        self.nin = row.arity
        self.nargs = row.arity + 1

    @property
    def identity(self) -> Any:
        """What a reduction of no elements gives; None: it fails."""
        return getattr(self.row.reference, "identity", None)

    @property
    def types(self) -> list[str]:
        """NumPy's loops that there are here, by their characters: ``'ff->f'``."""
        loops = self.row.loops
        found = [] if loops is None else loops.types
        return [
            text for text in found if _CHARACTERS.issuperset(text.replace("->", ""))
        ]

    @property
    def ntypes(self) -> int:
        """How many loops there are."""
        return len(self.types)

    def __call__(self, *operands: Any, **options: Any) -> Any:
        """The function of ``operands``; see the class for the options."""
        return self._apply(operands, options.pop("out", None), **options)

    def _apply(
        self,
        operands: tuple[Any, ...],
        out: Any = None,
        *,
        where: Any = True,
        dtype: Any = None,
        casting: Casting = "same_kind",
        order: str = "K",
        subok: bool = True,
    ) -> Any:
        """The general way; ``order`` and ``subok`` are NumPy's, and change nothing."""
        if len(operands) == self.nargs and out is None:
            *given, out = operands
            operands = tuple(given)
        if isinstance(out, tuple):
            (out,) = _outputs(self.__name__, out, 1)
        if any(isinstance(x, Symbol) for x in (*operands, out, where)):
            plain = out is None and where is True and dtype is None
            return record(self.row, operands, plain)
        return apply_row(
            self.row, operands, out, where=where, dtype=dtype, casting=casting
        )

    def __repr__(self) -> str:
        return f"<gpuarray ufunc {self.__name__!r}>"

    def __reduce__(self) -> Any:
        return _by_name, (self.__name__,)

    # ---- what NumPy's ufuncs of two operands have ----

    def _two(self, method: str) -> Scalar:
        if self.nin != 2 or self.nout != 1:
            raise _only_for_two(self.__name__, method)
        return self.row

    def reduce(
        self,
        array: Any,
        axis: folding.Axis = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        """Fold ``array`` over ``axis`` (None: all; several, if the order is free).

        Begins with ``initial`` if it is given; leaves out what the mask ``where`` does.
        Raises BadValue for no elements where the function has no identity.
        """
        row = self._two("reduce")
        return folding.reduce(row, array, axis, dtype, out, keepdims, initial, where)

    def accumulate(
        self, array: Any, axis: int = 0, dtype: Any = None, out: Any = None
    ) -> Any:
        """The folds of the elements up to each one along ``axis``."""
        return folding.accumulate(self._two("accumulate"), array, axis, dtype, out)

    def reduceat(
        self,
        array: Any,
        indices: Any,
        axis: int = 0,
        dtype: Any = None,
        out: Any = None,
    ) -> Any:
        """Folds of ``array[indices[i]:indices[i + 1]]`` along ``axis``.

        As NumPy's: where a slice is empty its first element is taken.
        """
        row = self._two("reduceat")
        return folding.reduceat(row, array, indices, axis, dtype, out)

    def outer(self, a: Any, b: Any, /, **options: Any) -> Any:
        """The function of each element of ``a`` with each one of ``b``."""
        self._two("outer")
        rank = getattr(b, "ndim", 0)
        if isinstance(a, BaseArray) and rank:
            a = a.reshape(*a.shape, *[1] * rank)
        return self(a, b, **options)

    def at(self, array: Any, indices: Any, b: Any = None, /) -> None:
        """``array[indices] = f(array[indices], b)``, once for each time in ``indices``.

        What belongs to one place is done in the order of the indices.
        """
        if self.nin > 2 or self.nout != 1 or (b is None) != (self.nin == 1):
            raise BadType(
                f"{self.__name__}.at: takes an array, indices and "
                f"{self.nin - 1} more operands, of functions of one or two operands"
            )
        folding.at(self.row, array, indices, b)


class UnaryUfunc(Ufunc):
    """A function of one operand."""

    def __init__(self, row: Scalar) -> None:
        super().__init__(row)
        self._method = unary_operator(row)

    def __call__(
        self,
        a: Any,
        /,
        out: Any = None,
        where: Any = True,
        dtype: Any = None,
        casting: Casting = "same_kind",
        order: str = "K",
        subok: bool = True,
    ) -> Any:
        """The function of ``a``; see the class for the options."""
        if out is None and where is True and dtype is None and isinstance(a, BaseArray):
            return self._method(a)
        return self._apply((a,), out, where=where, dtype=dtype, casting=casting)


class BinaryUfunc(Ufunc):
    """A function of two operands."""

    def __init__(self, row: Scalar) -> None:
        super().__init__(row)
        self._method = binary_operator(row)
        self._reflected = binary_operator(row, reflected=True)
        self._store = store_operator(row)

    def __call__(
        self,
        a: Any,
        b: Any,
        /,
        out: Any = None,
        where: Any = True,
        dtype: Any = None,
        casting: Casting = "same_kind",
        order: str = "K",
        subok: bool = True,
    ) -> Any:
        """The function of ``a`` and ``b``; see the class for the options."""
        if where is True and dtype is None and casting == "same_kind":
            result: Any = NotImplemented
            if isinstance(a, BaseArray):
                if out is None:
                    result = self._method(a, b)
                elif isinstance(b, BaseArray) and isinstance(out, BaseArray):
                    return self._store(a, b, out)
            elif out is None and isinstance(b, BaseArray):
                result = self._reflected(b, a)
            if result is not NotImplemented:
                return result
        return self._apply((a, b), out, where=where, dtype=dtype, casting=casting)


class PairUfunc(Ufunc):
    """A function with two results, each of which is a row of the table."""

    nout = 2

    def __init__(self, pair: Pair) -> None:
        super().__init__(pair.rows[0])
        self.rows = pair.rows
        self.reference = pair.reference
        self.__name__ = self.__qualname__ = pair.reference.__name__
        self.__doc__ = _document(self.__name__, self.nin, pair.reference)
        self.nargs = self.nin + 2

    @property
    def identity(self) -> Any:
        """None: it cannot be reduced with."""
        return None

    @property
    def types(self) -> list[str]:
        """NumPy's loops that there are here, by their characters."""
        return [
            text
            for text in self.reference.types
            if _CHARACTERS.issuperset(text.replace("->", ""))
        ]

    def _apply(
        self, operands: tuple[Any, ...], out: Any = None, **options: Any
    ) -> tuple[Any, Any]:
        given = (*operands[self.nin :], *(out or ()))
        outs = _outputs(self.__name__, given, 2) if given else (None, None)
        operands = operands[: self.nin]
        if any(x is not None and y is x for x in outs for y in operands):
            # The first result must not be stored over an operand of the second.
            made = [self._one(row, operands, None, options) for row in self.rows]
            for result, target in zip(made, outs, strict=True):
                if target is not None:
                    apply_row(SCALARS["second"], (target, result), target)
            first, second = (
                result if target is None else target
                for result, target in zip(made, outs, strict=True)
            )
            return first, second
        first, second = (
            self._one(row, operands, target, options)
            for row, target in zip(self.rows, outs, strict=True)
        )
        return first, second

    def _one(
        self, row: Scalar, operands: tuple[Any, ...], out: Any, options: dict[str, Any]
    ) -> Any:
        return FUNCTIONS[row.name](*operands, out=out, **options)


def _outputs(name: str, out: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    if len(out) != count:
        raise BadType(f"{name}: {len(out)} outputs, expected a tuple of {count}")
    return out


def _only_for_two(name: str, method: str) -> BadValue:
    return BadValue(
        f"{name}.{method}: only functions of two operands and one result have it"
    )


def _document(name: str, arity: int, reference: Callable[..., Any]) -> str:
    names = ("x",) if arity == 1 else ("a", "b", "c")[:arity]
    given = ", ".join(names)
    theirs = getattr(reference, "__doc__", None) or ""
    lines = [line.strip() for line in theirs.splitlines()]
    said = [line for line in lines if line and not line.startswith(f"{name}(")]
    is_numpy = isinstance(reference, np.ufunc)
    first = said[0] if is_numpy and said and "(" not in said[0] else f"``{name}``."
    return (
        f"{name}({given}, /, out=None, *, where=True, dtype=None, "
        f"casting='same_kind')\n\n{first}\n\n"
        "Of each element of arrays and numbers that broadcast; the result's dtype is "
        "NumPy's.\n\n"
        f"    gpuarray.{name}({given})\n"
        f"    gpuarray.{name}({given}, out=y, where=mask)\n"
    )


def _by_name(name: str) -> Ufunc:
    return FUNCTIONS[name]


def _ufunc(row: Scalar) -> Ufunc:
    kinds: Sequence[type[Ufunc]] = (UnaryUfunc, BinaryUfunc)
    return kinds[row.arity - 1](row) if row.arity <= 2 else Ufunc(row)


def _public_names(row: Scalar) -> set[str]:
    """A row's own names, and NumPy's where the reference is a function of NumPy."""
    theirs = getattr(row.reference, "__name__", "")
    return {row.name, *row.aliases} | (
        {theirs} if getattr(np, theirs, None) is row.reference else set()
    )


FUNCTIONS: dict[str, Ufunc] = {}
"""Every elementwise function by its names: ``mul`` and ``multiply`` are the same."""
for _row in SCALARS.values():
    FUNCTIONS.update(dict.fromkeys(_public_names(_row), _ufunc(_row)))
for _pair in PAIRS:
    FUNCTIONS[_pair.reference.__name__] = PairUfunc(_pair)

BY_REFERENCE: dict[Any, Ufunc] = {
    found.row.ufunc or found.row.reference: found
    for found in FUNCTIONS.values()
    if found.nout == 1
} | {pair.reference: FUNCTIONS[pair.reference.__name__] for pair in PAIRS}
"""Our function for NumPy's."""
