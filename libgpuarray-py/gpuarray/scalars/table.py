"""The rows of the table of scalar operations, and their registration.

A row is a decorated function. Its decorator gives the C expression and the NumPy
reference; the function itself is the gradient: of the math namespace ``m``, the
gradient ``g`` of the output ``y``, and the inputs, it returns the gradient of each
input (``None``: none).
"""

# A row's function is typed by its place in the table.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, Literal, NamedTuple

import numpy as np

Result = Literal["same", "bool", "float"]

SYMBOLS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "and": "&",
    "or": "|",
    "xor": "^",
    "lshift": "<<",
    "rshift": ">>",
    "neg": "-",
    "invert": "~",
}
"""Python's symbols of operators, by their names without underscores."""

_HERE = f"{__name__.rpartition('.')[0]}."


@dataclass(frozen=True, slots=True, eq=False)
class Scalar:
    """A scalar operation: its C expression, its NumPy reference, its gradient.

    ``expression`` holds ``{0}``, ``{1}``, ... for the operands; ``{t}``, the C type
    that is computed in (of the last operand); ``{r}``, the C type of the result;
    ``{f}``, the suffix that makes a literal of that type (``f`` or nothing); ``{p}``,
    the C type of the parts of a complex ``{t}``. ``by_kind`` overrides it for operands
    of a kind (``b i u f c``, NumPy's letters; ``iu`` where the operands are of two
    kinds; ``f16`` and ``bf16`` where the stored type matters); a row is defined for
    complex numbers where it has a text for ``c``. ``support`` is the text of the device
    functions the expression calls, by kind (``""``: every kind), with ``{t}``, ``{p}``
    and ``{f}`` as above; C's other braces stand as they are.

    Which dtypes come in and out is NumPy's to say: the loops of ``reference``, or of
    ``typed_as`` where the reference is no ufunc. Where there is neither, the operands
    in ``joins`` are promoted to the result's dtype and the others are taken as they
    come. ``gives_parts``: where that dtype is complex, the result has its parts' dtype;
    ``gives_complex``: the result is the complex dtype of such parts.
    ``result``: a truth value (``bool``), a float, of integers too (``float``), or of
    the operands' kind (``same``). ``output``: which of the ufunc's results this row is.
    ``floats_integers``: where NumPy gives integers of integers, the compiler gives
    floats, as Theano does; it gives float16 only of float16, too.

    The gradient's docstring is the line that describes the row, and ``example`` has
    operands that show it: lists for arrays.

    ``operator`` is the Python operator of this meaning (``add`` for ``__add__``);
    ``aliases`` are further names of the function, as in the array API standard; a row
    that is not ``public`` is the compiler's alone, since its name would be taken for
    something else among the package's.
    ``reduction`` names the reduction that folds this row over axes. ``is_bare``: the
    compiler prints it by its name alone, as Theano does.
    ``undone_by`` names the row that inverts this one for every input of its ``domain``,
    which is the interval in which all operands of a float op give a finite result and
    gradient; ``undone_complex`` says that it does for every complex number as well: no
    other one has the same image. There is one row of a name: rows compare by identity,
    and a pickled row is found again by its name. ``identity`` is what leaves the other
    operand as it is, but for the sign of a 0; ``integer_identity`` what does among
    integers, if that is another. ``increases_in`` are operands in which the row of
    floats never decreases, whatever the others are, to rounding.
    """

    name: str
    expression: str
    reference: Callable[..., Any]
    gradient: Callable[..., Any]
    arity: int
    result: Result = "same"
    by_kind: Mapping[str, str] = field(default_factory=dict)
    support: Mapping[str, str] = field(default_factory=dict)
    typed_as: np.ufunc | None = None
    joins: tuple[int, ...] = ()
    gives_parts: bool = False
    gives_complex: bool = False
    output: int = 0
    floats_integers: bool = False
    operator: str | None = None
    aliases: tuple[str, ...] = ()
    public: bool = True
    identity: float | None = None
    integer_identity: float | None = None
    commutes: bool = False
    associates: bool = False
    reduction: str | None = None
    is_bare: bool = False
    undone_by: str | None = None
    undone_complex: bool = False
    example: tuple[Any, ...] = ()
    domain: tuple[float, float] = (-np.inf, np.inf)
    increases_in: tuple[int, ...] = ()

    @property
    def is_ours(self) -> bool:
        """True for a row of the package, False for one that a program added."""
        return type(self) is Scalar and self.gradient.__module__.startswith(_HERE)

    @property
    def summary(self) -> str:
        """The description of the result, in the operands ``x``, or ``a`` and ``b``."""
        return self.gradient.__doc__ or ""

    @property
    def symbol(self) -> str:
        """The symbol of the Python operator of this meaning; empty without one."""
        return SYMBOLS.get(self.operator or "", "")

    def c_text(self, kind: str) -> str:
        """Return the C expression for operands of ``kind``."""
        return self.by_kind.get(kind, self.expression)

    def support_text(self, kind: str) -> str:
        """Return the device functions that the C expression for ``kind`` calls."""
        return self.support.get(kind, self.support.get("", ""))

    def device_functions(self, kind: str, words: Mapping[str, str]) -> str:
        """Return the device functions with words such as ``t`` for their meanings."""
        text = self.support_text(kind)
        for word, meaning in words.items():
            text = text.replace(f"{{{word}}}", meaning)
        return text

    @property
    def ufunc(self) -> np.ufunc | None:
        """NumPy's ufunc that this row stands for, if there is one."""
        known = self.reference, getattr(np, self.name, None)
        return next((f for f in known if isinstance(f, np.ufunc)), None)

    @property
    def loops(self) -> np.ufunc | None:
        """The ufunc whose loops are the dtypes that this row takes and returns."""
        return self.reference if isinstance(self.reference, np.ufunc) else self.typed_as

    def __reduce__(self) -> tuple[Callable[..., Scalar], tuple[str, ...]]:
        return _row, (self.name,)


class Pair(NamedTuple):
    """A NumPy function with two results, by the row of each."""

    reference: np.ufunc
    rows: tuple[Scalar, Scalar]


SCALARS: dict[str, Scalar] = {}


def _row(name: str) -> Scalar:
    return SCALARS[name]


def scalar(
    expression: str,
    reference: Callable[..., Any],
    *,
    kinds: Mapping[str, str] | None = None,
    support: str | Mapping[str, str] = "",
    name: str | None = None,
    kind: type[Scalar] = Scalar,
    **properties: Any,
) -> Callable[[Callable[..., Any]], Scalar]:
    """Register the decorated gradient function as a row.

    A key of ``kinds`` may stand for several kinds: ``"i|u"``. The row's ``name`` is by
    default the function's, and ``kind`` its class. Raises TypeError for a row without
    dtypes.
    """

    def register(gradient: Callable[..., Any]) -> Scalar:
        assert isinstance(gradient, FunctionType)
        arity = gradient.__code__.co_argcount - 3
        row = kind(
            name=name or gradient.__name__.rstrip("_"),
            expression=expression,
            reference=reference,
            gradient=gradient,
            arity=arity,
            by_kind=_split_kinds(kinds or {}),
            support=_split_kinds(
                {"": support} if isinstance(support, str) else support
            ),
            **properties,
        )
        if row.loops is None and not row.joins:
            raise TypeError(
                f"{row.name}: nothing says its dtypes: the reference is no ufunc; give "
                "typed_as, a ufunc whose dtypes it has (such as np.exp), or joins"
            )
        SCALARS[row.name] = row
        return row

    return register


def _split_kinds(texts: Mapping[str, str]) -> dict[str, str]:
    return {kind: text for kinds, text in texts.items() for kind in kinds.split("|")}
