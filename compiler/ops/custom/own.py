"""Custom elementwise operations: rows that a program adds to the scalar table."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from itertools import chain, count
from types import CodeType
from typing import Any, NamedTuple

import numpy as np
from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.ops.elemwise.math import function_of
from gpuarray.scalars import SCALARS
from gpuarray.scalars.references import floating
from gpuarray.scalars.table import Scalar, scalar

PLAIN = (int, float, complex, str, bytes, type(None))
"""Types of closed-over objects that are compared by value."""

_DEFINED = re.compile(r"\b(\w+)\s*\([^()]*\)\s*\{")
_PRAGMA = re.compile(
    r"^\s*(?:\#|%:|\?\?=)\s*(?:pragma\b(?!\s+unroll\b)|include\b).*"
    r"|\b_Pragma\b(?!\s*\(\s*\"unroll\b).*",
    re.M,
)
_MACRO = re.compile(r"^(\s*(?:#|%:|\?\?=)\s*(define|undef)\s+(\w+).*)", re.M)
_FLOAT = re.compile(
    r"(?<![\w.])(\d+\.\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)(?![\w.])"
)


class Own(NamedTuple):
    """The definition of a custom operation, and its line."""

    called: str
    expression: str
    support: str
    reference: Callable[..., Any]
    gradient: Callable[..., Any]
    place: str

    def is_same(self, other: Own) -> bool:
        """True if two definitions are equal: of the same texts and equal code."""
        return self[:3] == other[:3] and all(
            meaning_of(own) == meaning_of(others)
            for own, others in zip(self[3:5], other[3:5], strict=True)
        )


OWN: dict[str, Own] = {}
"""The custom operations by the names of their rows.

A redefinition, by another text or other code, is another row: expressions of the first
stay as they are.
"""


class OwnRow(Scalar):
    """A row of the program, which a pickle finds by its definition."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Callable[..., Scalar], tuple[str, ...]]:
        return own_row, OWN[self.name][:3]


def own_row(called: str, expression: str, support: str) -> Scalar:
    """The row of an operation of this name and these texts. Raises ValueError."""
    for name, own in reversed(OWN.items()):
        if own[:3] == (called, expression, support):
            return SCALARS[name]
    others = [own.expression for own in OWN.values() if own.called == called]
    known = f"that one is {others[-1]!r}" if others else "there is none"
    raise GraphValueError(
        f"elementwise_op: a pickle needs the operation {called!r} of {expression!r}, "
        f"but {known}; import the module that defines it, or write the pickle anew"
    )


def meaning_of(function: Any) -> Any:
    """Return a key that is equal for functions that do the same.

    It has the code, defaults and closure; for what is no Python function it is the
    object.
    """
    code = getattr(function, "__code__", None)
    if code is None:
        return id(function)
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    captured = [*cells, *(function.__defaults__ or ())]
    values = [value if isinstance(value, PLAIN) else id(value) for value in captured]
    return code_text(code), tuple((type(value), value) for value in values)


def code_text(code: CodeType) -> tuple[Any, ...]:
    """Return the text of code, independent of its position."""
    parts = [
        code_text(constant) if isinstance(constant, CodeType) else repr(constant)
        for constant in code.co_consts
    ]
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, *parts


def elementwise_op(
    expression: str, reference: Callable[..., Any], *, support: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Variable]]:
    """Make an operation on each element of a C expression and its gradient.

    The decorated function is the gradient: given the functions of ops ``m``, the
    gradient ``g`` of the output ``y`` and the operands, it returns the gradient of each
    operand, or None. Its name is the operation's, its parameters name the operands in
    ``expression``, which is C for any real type: a number such as ``0.5`` has the
    operands' type. ``reference`` is the same with NumPy. ``support`` is the text of
    device functions that the expression calls, in which ``{t}`` is the work type; as
    other operations are fused with it, it must ``#undef`` a macro that it defines.

    The result of one or two operands has a float dtype, for integers that of NumPy's
    quotient; that of more has their common dtype. It broadcasts, fuses with its
    neighbours, and works in half precision, like all rows.

    >>> from gpuarray.compiler import function, grad, tensor as T
    >>> @elementwise_op("x / (1 + exp(-x))", lambda x: x / (1 + np.exp(-x)))
    ... def own_swish(m, g, y, x):
    ...     s = m.sigmoid(x)
    ...     return g * (s + y * (1 - s))
    >>> x = T.fvector("x")
    >>> print(own_swish(x).type, grad(own_swish(x).sum(), x).type)
    TensorType(float32, vector) TensorType(float32, vector)

    A redefinition, in an edited cell of a notebook, is another operation: expressions
    of the first stay as they are. Raises ValueError if the package has an operation of
    the name, and for a directive that would still hold after ``support``.
    """
    refuse_directives(expression, support)

    def make(gradient: Callable[..., Any]) -> Callable[..., Variable]:
        operands = operands_of(gradient)
        code = getattr(gradient, "__code__", None)
        place = f"{code.co_filename}:{code.co_firstlineno}" if code else "unknown"
        text = row_text(expression, operands)
        called = gradient.__name__
        own = Own(called, text, support, reference, gradient, place)
        name = name_for(own)
        OWN[name] = own
        support_text = support
        if name != called:
            text, support_text = with_suffix(name.removeprefix(called), text, support)
        loops: dict[str, Any] = {"joins": tuple(range(len(operands)))}
        by_numpy = in_common_dtype(reference)
        if len(operands) <= 2:
            loops = {"typed_as": np.exp if len(operands) == 1 else np.true_divide}
            by_numpy = floating(reference, **loops)  # type: ignore[no-untyped-call]
        register = scalar(
            text, by_numpy, support=support_text, name=name, kind=OwnRow, **loops
        )
        function = function_of(register(gradient))
        function.__name__ = function.__qualname__ = called
        return function

    return make


def refuse_directives(expression: str, support: str) -> None:
    """Raise ValueError for a directive that would change other operations' text.

    >>> refuse_directives("f(x)", "#define TWO 2\\n{t} f({t} x) { return TWO * x; }")
    Traceback (most recent call last):
    ...
    gpuarray.compiler.errors.GraphValueError: elementwise_op: '#define TWO 2' of \
'f(x)' would hold for what is fused with the operation, too; expected '#undef TWO' \
behind it
    """
    text = f"{expression}\n{support}"
    wrong = {line: "only '#pragma unroll'" for line in _PRAGMA.findall(text)}
    defined: dict[str, str] = {}
    for line, word, name in _MACRO.findall(text):
        if word == "define":
            defined[name] = line
        elif defined.pop(name, None) is None:
            wrong[line] = f"'#define {name}' before it"
    wrong |= {line: f"'#undef {name}' behind it" for name, line in defined.items()}
    for line, expected in wrong.items():
        raise GraphValueError(
            f"elementwise_op: {line.strip()!r} of {expression!r} would hold for what "
            f"is fused with the operation, too; expected {expected}"
        )


def own_within(label: str, text: str = "") -> list[str]:
    """Return the custom operations that a step contains, with their lines.

    They are in its label, or their words are in its text.
    """
    names = set(re.findall(r"\w+", label))
    words = set(re.findall(r"[^\W\d]\w+", text))
    return [
        f"{name} ({place})"
        for name, (_, row, *_, place) in OWN.items()
        if name in names or set() < _words(row) <= words
    ]


def _words(row: str) -> set[str]:
    """Return the identifiers of an expression besides its operands."""
    return set(re.findall(r"[^\W\d]\w+", row))


def in_common_dtype(reference: Callable[..., Any]) -> Callable[..., Any]:
    """Return the reference on arrays in their common dtype, halves as float32."""

    def computed(*operands: Any) -> Any:
        dtype = np.result_type(*operands)
        work = np.dtype("float32") if dtype.name == "float16" else dtype
        arrays = [np.asarray(operand).astype(work, copy=False) for operand in operands]
        return np.asarray(reference(*arrays)).astype(dtype)

    return computed


def operands_of(gradient: Callable[..., Any]) -> list[str]:
    """Return the names of the operands: the gradient's parameters after ``m, g, y``."""
    names = list(inspect.signature(gradient).parameters)
    if names[:2] != ["m", "g"] or len(names) < 4:
        raise GraphTypeError(
            f"{gradient.__name__}: the gradient takes ({', '.join(names)}), expected "
            "(m, g, y, ...) and a name for each operand"
        )
    return names[3:]


def row_text(expression: str, operands: list[str]) -> str:
    """Return the expression as a row's: operands by position, literals of their type.

    >>> row_text("0.5 * x + fmax(x, y)", ["x", "y"])
    '0.5{f} * {0} + fmax({0}, {1})'
    """
    text = expression.replace("{", "{{").replace("}", "}}")
    text = _FLOAT.sub(r"\1{f}", text)
    places = {name: f"{{{place}}}" for place, name in enumerate(operands)}
    names = "|".join(map(re.escape, operands))
    replaced = re.sub(rf"\b({names})\b", lambda match: places[match[0]], text)
    unused = [name for name in operands if places[name] not in replaced]
    if unused:
        raise GraphValueError(
            f"elementwise_op: {expression!r} does not use {', '.join(unused)}"
        )
    return replaced


def name_for(own: Own) -> str:
    """Return the name of an operation's row, which a reloaded module keeps.

    Raises ValueError if it is the name of something else.
    """
    versions = [name for name, other in OWN.items() if other.called == own.called]
    for name in versions:
        if OWN[name].is_same(own):
            return name
    row = SCALARS.get(own.called)
    if row is not None and own.called not in OWN:
        raise GraphValueError(
            f"elementwise_op: the name {own.called!r} is taken by {row.expression!r}; "
            "choose another"
        )
    names = chain([own.called], (f"{own.called}_{n}" for n in count(2)))
    return next(name for name in names if name not in SCALARS)


def with_suffix(suffix: str, expression: str, support: str) -> tuple[str, str]:
    """Return the texts with the functions that ``support`` defines renamed.

    So one kernel may have them beside those of another definition.

    >>> with_suffix("_2", "twice({0})", "{t} twice({t} x) { return 2 * x; }")
    ('twice_2({0})', '{t} twice_2({t} x) { return 2 * x; }')
    """
    names = "|".join(_DEFINED.findall(support))
    if not names:
        return expression, support
    word = re.compile(rf"\b({names})\b")
    return word.sub(rf"\1{suffix}", expression), word.sub(rf"\1{suffix}", support)
