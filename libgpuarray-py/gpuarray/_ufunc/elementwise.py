"""Elementwise functions, made from the rows of the table: ``gpuarray.add`` and so on.

Each is an object like NumPy's ufuncs. A call of arrays and numbers alone takes the same
short way as an operator.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuarray._core.base import BaseArray
from gpuarray._kernels.apply import apply_row
from gpuarray._kernels.codegen import Casting
from gpuarray._kernels.monoids import Axis
from gpuarray._ufunc import ufunc_methods
from gpuarray._ufunc.operators import binary_operator, store_operator, unary_operator
from gpuarray.errors import BadType, BadValue, host_errors
from gpuarray.scalars import PAIRS, SCALARS, Pair, Scalar

_CHARACTERS = frozenset("?bBhHiIlLqQefdFD")

recorders: list[tuple[type, Callable[..., Any]]] = []
"""Classes of operands that stand for arrays, and the function that records a row."""


class Ufunc:
    """An elementwise function of arrays and numbers that broadcast.

    Called as NumPy's are, with ``out=`` (an array, or a tuple of one), ``where=`` (a
    bool array, which broadcasts with the operands; a new array has 0 where it is
    false), ``dtype=`` and ``casting=``. Functions of two operands also have ``reduce``,
    ``accumulate``, ``reduceat``, ``outer`` and ``at``. Of numbers alone the result is
    NumPy's number.

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
        is_numpys = isinstance(row.reference, np.ufunc)
        name = row.reference.__name__ if is_numpys else row.name
        self.__name__ = self.__qualname__ = name
        self.nin = row.arity
        self.nargs = row.arity + 1

    @property
    def identity(self) -> Any:
        """The result of a reduction of no elements; None: it fails."""
        return getattr(self.row.reference, "identity", None)

    @property
    def types(self) -> list[str]:
        """The supported ones of NumPy's loops, by their characters: ``'ff->f'``."""
        loops = self.row.loops
        texts = [] if loops is None else loops.types
        offered = _CHARACTERS if "c" in self.row.by_kind else _CHARACTERS - {"F", "D"}
        loops_of_ours = [
            text for text in texts if offered.issuperset(text.replace("->", ""))
        ]
        if not self.row.gives_complex:
            return loops_of_ours
        return [text[:-1] + ("D" if text[-1] == "d" else "F") for text in loops_of_ours]

    @property
    def ntypes(self) -> int:
        """The number of loops."""
        return len(self.types)

    def __call__(self, *operands: Any, **options: Any) -> Any:
        """Return the function of ``operands``; see the class for the options."""
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
        """Return the result in the general way; ``order``, ``subok`` change nothing."""
        if len(operands) == self.nargs and out is None:
            *inputs, out = operands
            operands = tuple(inputs)
        if isinstance(out, tuple):
            (out,) = _outputs(self.__name__, out, 1)
        if out is None and where is True and are_numbers(self.nin, operands):
            return _of_numbers(self.row, operands, dtype)
        for symbol, record in recorders:
            if any(isinstance(x, symbol) for x in (*operands, out, where)):
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
        axis: Axis = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        """Return the fold of ``array`` over ``axis`` (None: all).

        Several axes, if it is commutative. Begins with ``initial`` if given; leaves out
        what the mask ``where`` does. Raises BadValue for no elements without an
        identity.

        >>> print(gpuarray.maximum.reduce(gpuarray.asarray([[1, 5], [7, 3]]), axis=1))
        [5 7]
        """
        row = self._two("reduce")
        return ufunc_methods.reduce(
            row, array, axis, dtype, out, keepdims, initial, where
        )

    def accumulate(
        self, array: Any, axis: int = 0, dtype: Any = None, out: Any = None
    ) -> Any:
        """Return the folds of the elements up to each one along ``axis``.

        >>> print(gpuarray.add.accumulate(gpuarray.asarray([1, 2, 3])))
        [1 3 6]
        """
        return ufunc_methods.accumulate(
            self._two("accumulate"), array, axis, dtype, out
        )

    def reduceat(
        self,
        array: Any,
        indices: Any,
        axis: int = 0,
        dtype: Any = None,
        out: Any = None,
    ) -> Any:
        """Return folds of ``array[indices[i]:indices[i + 1]]`` along ``axis``.

        As NumPy's: where a slice is empty its first element is taken.

        >>> print(gpuarray.add.reduceat(gpuarray.arange(6), [0, 2, 5]))
        [1 9 5]
        """
        row = self._two("reduceat")
        return ufunc_methods.reduceat(row, array, indices, axis, dtype, out)

    def outer(self, a: Any, b: Any, /, **options: Any) -> Any:
        """Return the function of each element of ``a`` with each one of ``b``.

        >>> print(gpuarray.subtract.outer(gpuarray.arange(2), gpuarray.arange(3)))
        [[ 0 -1 -2]
         [ 1  0 -1]]
        """
        self._two("outer")
        rank = getattr(b, "ndim", 0)
        if isinstance(a, BaseArray) and rank:
            a = a.reshape(*a.shape, *[1] * rank)
        return self(a, b, **options)

    def at(self, array: Any, indices: Any, b: Any = None, /) -> None:
        """``array[indices] = f(array[indices], b)``, repeated for repeated indices.

        The values of one index are applied in order.

        >>> a = gpuarray.zeros(3)
        >>> gpuarray.add.at(a, [0, 0, 2], 1)
        >>> print(a)
        [2. 0. 1.]
        """
        if self.nin > 2 or self.nout != 1 or (b is None) != (self.nin == 1):
            raise BadType(
                f"{self.__name__}.at: takes an array, indices and "
                f"{self.nin - 1} more operands, of functions of one or two operands"
            )
        ufunc_methods.at(self.row, array, indices, b)


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
        """Return the function of ``a``; see the class for the options."""
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
        """Return the function of ``a`` and ``b``; see the class for the options."""
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
        self.nargs = self.nin + 2

    @property
    def __signature__(self) -> inspect.Signature:
        """The signature, for ``help`` and editors."""
        place = inspect.Parameter.POSITIONAL_ONLY
        operands = ["x"] if self.nin == 1 else [f"x{i + 1}" for i in range(self.nin)]
        options = list(inspect.signature(super()._apply).parameters.values())[1:]
        return inspect.Signature(
            [
                *(inspect.Parameter(name, place) for name in operands),
                *(inspect.Parameter(f"out{i}", place, default=None) for i in (1, 2)),
                *options,
            ]
        )

    @property
    def identity(self) -> Any:
        """None: it cannot be reduced with."""
        return None

    @property
    def types(self) -> list[str]:
        """The supported ones of NumPy's loops, by their characters."""
        return [
            text
            for text in self.reference.types
            if _CHARACTERS.issuperset(text.replace("->", ""))
        ]

    def _apply(
        self, operands: tuple[Any, ...], out: Any = None, **options: Any
    ) -> tuple[Any, Any]:
        if out is not None and not isinstance(out, tuple | list):
            raise BadType(
                f"{self.__name__}: out is {type(out).__name__}, expected a tuple of 2 "
                "gpuarray arrays"
            )
        listed = (*operands[self.nin :], *(out or ()))
        outs = _outputs(self.__name__, listed, 2) if listed else (None, None)
        operands = operands[: self.nin]
        if any(x is not None and y is x for x in outs for y in operands):
            # The first result must not be stored over an operand of the second.
            results = [self._one(row, operands, None, options) for row in self.rows]
            for result, target in zip(results, outs, strict=True):
                if target is not None:
                    apply_row(SCALARS["second"], (target, result), target)
            first, second = (
                result if target is None else target
                for result, target in zip(results, outs, strict=True)
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


_NUMBERS = bool | int | float | complex | np.generic


def are_numbers(count: int, operands: Sequence[Any]) -> bool:
    """Return True if all of so many operands are numbers, Python's or NumPy's."""
    return len(operands) == count and all(isinstance(x, _NUMBERS) for x in operands)


def _of_numbers(row: Scalar, operands: Sequence[Any], dtype: Any) -> Any:
    """Return NumPy's result of numbers: there is no array whose context it were on."""
    reference: Any = row.ufunc or row.reference
    with host_errors(row.name):
        if dtype is not None:
            operands = [np.asarray(x).astype(dtype)[()] for x in operands]
        if not isinstance(reference, np.ufunc):  # which knows Python's numbers
            operands = [np.asarray(x) for x in operands]
        return np.asarray(reference(*operands))[()]


def _outputs(name: str, out: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    if len(out) != count:
        raise BadType(f"{name}: {len(out)} outputs, expected a tuple of {count}")
    for array in out:
        if array is not None and not isinstance(array, BaseArray):
            raise BadType(
                f"{name}: out is {type(array).__name__}, expected a gpuarray array"
            )
    return out


def _only_for_two(name: str, method: str) -> BadValue:
    return BadValue(
        f"{name}.{method}: only functions of two operands and one result have it"
    )


class _Document:
    """The docstring of a class, or of one of its functions, written on first use."""

    def __init__(self, text: str | None) -> None:
        self.text = text

    def __get__(self, ufunc: Ufunc | None, kind: type) -> str | None:
        return self.text if ufunc is None else _document(ufunc)


for _kind in (Ufunc, UnaryUfunc, BinaryUfunc, PairUfunc):
    _kind.__doc__ = _Document(_kind.__doc__)  # type: ignore[assignment]


def _document(ufunc: Ufunc) -> str:
    """Return a row's docstring, and the example with the values that NumPy gives."""
    is_pair = isinstance(ufunc, PairUfunc)
    rows = ufunc.rows if isinstance(ufunc, PairUfunc) else (ufunc.row,)
    reference = ufunc.reference if isinstance(ufunc, PairUfunc) else rows[0].reference
    operands = rows[0].example
    with np.errstate(all="ignore"):
        values = reference(*(np.array(x) if type(x) is list else x for x in operands))
    printed = " ".join(map(str, values if is_pair else [np.asarray(values)]))
    call = f"gpuarray.{ufunc.__name__}({', '.join(map(_operand_text, operands))})"
    return (
        f"{' '.join(row.summary for row in rows)}\n\n"
        "For each element of arrays and numbers that broadcast; the result's dtype is\n"
        "NumPy's. Options are those of ``Ufunc``.\n\n"
        f">>> print({'*' * is_pair}{call})\n{printed}\n"
    )


def _operand_text(operand: Any) -> str:
    text = re.sub(r"\b(nan|inf)\b", r"np.\1", repr(operand))
    return f"gpuarray.asarray({text})" if isinstance(operand, list) else text


def _by_name(name: str) -> Ufunc:
    return FUNCTIONS[name]


def _ufunc(row: Scalar) -> Ufunc:
    kinds: Sequence[type[Ufunc]] = (UnaryUfunc, BinaryUfunc)
    return kinds[row.arity - 1](row) if row.arity <= 2 else Ufunc(row)


def _public_names(row: Scalar) -> set[str]:
    """Return a row's own names, and NumPy's where the reference is a NumPy function."""
    numpy_name = getattr(row.reference, "__name__", "")
    return {row.name, *row.aliases} | (
        {numpy_name} if getattr(np, numpy_name, None) is row.reference else set()
    )


FUNCTIONS: dict[str, Ufunc] = {}
"""Every elementwise function by its names: ``mul`` and ``multiply`` are the same."""
for _row in SCALARS.values():
    if _row.public:
        FUNCTIONS.update(dict.fromkeys(_public_names(_row), _ufunc(_row)))
for _pair in PAIRS:
    FUNCTIONS[_pair.reference.__name__] = PairUfunc(_pair)

BY_REFERENCE: dict[Any, Ufunc] = {
    function.row.ufunc or function.row.reference: function
    for function in FUNCTIONS.values()
    if function.nout == 1
} | {pair.reference: FUNCTIONS[pair.reference.__name__] for pair in PAIRS}
"""Our function for NumPy's."""
