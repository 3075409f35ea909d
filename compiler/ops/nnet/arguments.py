"""Arguments of layers: names of other packages, and declared shapes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec

from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.graph.core import Constant, Variable
from gpuarray.compiler.ops.broadcast.axes import SpecifyShape
from gpuarray.compiler.ops.broadcast.broadcast import patternbroadcast
from gpuarray.compiler.ops.shape.shape import shape_i
from gpuarray.compiler.ops.variables.basic import as_tensor_variable

P = ParamSpec("P")
Layer = Callable[P, Variable]


def called_elsewhere(**names: str) -> Callable[[Layer[P]], Layer[P]]:
    """Return a decorator: a keyword that other packages use raises an error.

    ``names`` says the name here of each such keyword; the error is a GraphTypeError.
    """

    def decorated(function: Layer[P]) -> Layer[P]:
        @functools.wraps(function)
        def checked(*args: P.args, **options: P.kwargs) -> Variable:
            for name in options.keys() & names.keys():
                raise GraphTypeError(
                    f"{function.__name__}: got {name}, whose name here is {names[name]}"
                )
            return function(*args, **options)

        return checked

    return decorated


def declared(
    name: str, what: str, value: Any, shape: Sequence[int | None] | None
) -> Variable:
    """Return an array whose lengths must be those of ``shape``, None for any.

    Lengths that are known here raise GraphValueError, others a ValueError when the
    program runs. The type stays. An array of another number of axes is returned as it
    is: its op refuses it.
    """
    x: Variable = as_tensor_variable(value)
    if shape is None or len(shape) != getattr(x.type, "ndim", None):
        return x
    called = f"{name}: the {what} by its declared shape"
    flags = x.type.broadcastable
    known = (
        x.data.shape if isinstance(x, Constant) else [1 if f else None for f in flags]
    )
    if any(None not in (a, b) and a != b for a, b in zip(known, shape, strict=True)):
        raise GraphValueError(
            f"{called}: given shape {tuple(known)}, expected {tuple(shape)}"
        )
    if isinstance(x, Constant):
        return x
    lengths = [shape_i(x, i) if n is None else n for i, n in enumerate(shape)]
    result: Variable = SpecifyShape(called)(x, lengths)
    return patternbroadcast(result, flags)
